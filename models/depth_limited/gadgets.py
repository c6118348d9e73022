"""Gadgets above a subgame that is solved again, each as a program."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats, Integers
from ...seqform.polytope import infoset_values, sequence_values
from ..saddle import PlayerView
from .decision_steps import Along, DecisionStep, Flags
from .step_program import StepProgram
from .subgame_roots import Form, Numbers, SubgameRoots, histories_of, sequence_masses


@dataclass(frozen=True)
class Gadget:
    """The choices that a gadget gives the other player above a subgame.

    Attributes
    ----------
    name : str
    form : {"stops", "choice", "path"}, optional
        The other player's decision: whether to stop at each way in and keep its former value there, which way in to
        take, or its actions on the way.
    gifts : bool
        Whether the gifts made on the way are subtracted from the former value.
    promises : bool
        Whether steps pass on the permitted loss at each way in, divided among their subgames.
    safe : tuple of str
        The values of `along` for which exploitability is at most p / (1 − p) times the gain, if steps have no gap.
    source : str
    """

    name: str
    form: Form | None = None
    gifts: bool = False
    promises: bool = False
    safe: tuple[Along, ...] = ()
    source: str = ""


#: The gadgets by name.
GADGETS: dict[str, Gadget] = {
    gadget.name: gadget
    for gadget in (
        Gadget("full", safe=("level",), source="Milec, Kubíček and Lisý (2021): all play so far stays in the game"),
        Gadget("none", source="unsafe resolving: the other player's play above the subgame is kept as found"),
        Gadget("resolving", form="stops", source="Burch, Johanson and Bowling, AAAI 2014"),
        Gadget(
            "reach-resolving",
            form="path",
            promises=True,
            safe=("level", "path"),
            source="resolving with the gifts of Brown and Sandholm, NeurIPS 2017, each divided once among all subgames",
        ),
        Gadget("max-margin", form="choice", source="Moravčík, Schmid, Ha, Hladík and Gaukrodger, AAAI 2016"),
        Gadget("reach-max-margin", form="choice", gifts=True, source="Brown and Sandholm, NeurIPS 2017"),
    )
}


@dataclass(frozen=True, eq=False)
class TrunkSolution:
    """Strategies for both players in the whole game, from which subgames are solved again.

    Attributes
    ----------
    plan : ndarray of float64
        The player's realization plan, including below the depth limit.
    free : ndarray of float64
        The plan of the other player where it is free.
    """

    plan: Floats
    free: Floats


@dataclass(frozen=True, eq=False)
class SequenceRates:
    """A rate for each of several sequences of the other player.

    Attributes
    ----------
    sequences : ndarray of int64
        Rising.
    rates : ndarray of float64
        Payoff units per unit of mass, as defined by :meth:`SubgameRoots.masses`.
    """

    sequences: Numbers
    rates: Floats

    def at(self, sequences: Numbers) -> Floats:
        """Return the rates of given sequences, each of which must have a rate."""
        return self.rates[np.searchsorted(self.sequences, sequences)]


def whole_game_program(
    view: PlayerView, matrix: sp.csr_array, model: Floats, p: float, step: DecisionStep, plan: Floats
) -> StepProgram:
    """Return a step's program in the whole game: for the trunk or, with the full gadget, for any step.

    max over x of p times the payoff of x if the other player follows the model above the depth limit and is rational
    below, plus (1 − p) times its payoff if that player is rational throughout. Both parts have the same values below
    the limit, because best responses there depend only on x; no part of the game appears twice.

    Parameters
    ----------
    view : PlayerView
    matrix : csr_array
        M, the player's payoff for each pair of sequences.
    model : ndarray of float64
        The model's realization plan ŷ.
    p : float
    step : DecisionStep
    plan : ndarray of float64
        Used only at settled infosets.
    """
    other = view.other
    above = np.append(True, np.repeat(step.modelled, other.num_actions))
    held = np.where(above, p * model, 0.0)
    held[0] += 1.0 - p
    # The model brings its weight to the first infosets below the limit, whereas a free player comes from the root.
    inflow = np.where(step.modelled, 0.0, np.where(above, p * model, 0.0)[other.parents])
    inflow += (1.0 - p) * (other.parents == 0)
    return StepProgram(
        own=view.own,
        plan=plan,
        settled=step.settled,
        linear=view.own_gradient(held),
        matrix=matrix,
        reply=other,
        inflow=inflow,
        bonus=np.zeros(other.num_sequences),
        held=held,
    )


def subgame_program(
    view: PlayerView,
    model: Floats,
    p: float,
    step: DecisionStep,
    plan: Floats,
    gadget: Gadget,
    roots: SubgameRoots,
    found: Floats,
    free: Floats | None = None,
    rates: SequenceRates | None = None,
) -> StepProgram:
    """Return a step's program restricted to its subgames, with a gadget above them.

    The cost depends only on the subgames and the part above them, not on the size of the game.

    Parameters
    ----------
    view, model, p, step
        As for :func:`whole_game_program`.
    plan : ndarray of float64, shape (num_sequences of roots.own,)
        Used only at settled infosets.
    gadget : Gadget
        Any gadget except ``full``.
    roots : SubgameRoots
        For the step's public states.
    found : ndarray of float64, shape (num_sequences of roots.own,)
        The plan without the step.
    free : ndarray of float64, shape (num_ways,), optional
        The weight with which the other player, where it is free, comes in along each way; used by the gadget ``none``.
    rates : SequenceRates, optional
        Rates subtracted from the other player's kept value at each way: gifts, or allowances.
    """
    program = _Subgames(view, roots, gadget.form or "choice")
    modelled = step.modelled[view.other.sequence_infosets[roots.sequences]]
    weights = np.where(modelled, p * model[roots.sequences], 0.0)
    program.add_inflow(p * model[roots.way_sequences], weights, step.modelled[roots.infosets])
    if gadget.form:
        kept = program.kept(found)
        if rates is not None:
            kept -= roots.masses(view.game, found) * rates.at(roots.way_sequences)
        program.add_choice(1.0 - p, kept)
    else:
        assert free is not None
        program.add_inflow((1.0 - p) * free)
    return program.program(plan, step.settled[roots.own_infosets])


def gift_rates(view: PlayerView, plan: Floats) -> SequenceRates:
    """Return the gifts on the way to each of the other player's sequences, from that player's values against a plan.

    Parameters
    ----------
    view : PlayerView
    plan : ndarray of float64, shape (num_sequences of the player,)
    """
    other = view.other
    gradient = view.game.sequence_form.gradient(1 - view.player, [plan, plan])
    values, best = sequence_values(other, gradient), infoset_values(other, gradient)
    given = np.append(0.0, np.maximum(np.repeat(best, other.num_actions) - values[1:], 0.0))
    masses = sequence_masses(view.game, view.player, plan)
    # Each gift is divided among subgames in proportion to their probabilities after it.
    rates = np.divide(given, masses, out=np.zeros_like(given), where=masses > 0.0)
    for level in other.levels:
        rates[level.sequences] += np.repeat(rates[level.sources], level.counts)
    return SequenceRates(np.arange(other.num_sequences), rates)


def allowances(
    view: PlayerView, program: StepProgram, plan: Floats, later: Integers, roots: SubgameRoots | None = None
) -> SequenceRates:
    """Return by how much later subgames may fall short of a step's plan without a loss in the worst case.

    If the other player's action is not a best response to the plan, the following subgames may get worse by its gift
    plus the allowance from above. The public states that follow share each allowance by their masses, as defined by
    :meth:`SubgameRoots.masses`. Alternative actions of the other player each receive all of it, because the player
    takes only one.

    Parameters
    ----------
    view : PlayerView
    program : StepProgram
        The step's program.
    plan : ndarray of float64, shape (num_sequences of program.own,)
        The plan found.
    later : ndarray of int32
        The roots of subgames of later steps; parts that lead to none of them may not get worse, and receive no
        allowance.
    roots : SubgameRoots, optional
        The single subgame of the step; without it the program is that of the whole game.

    Returns
    -------
    SequenceRates
        At each sequence from which a way in can continue.
    """
    (table, public), reply = histories_of(view.game), program.reply
    # Sequences of the game with their positions in the reply, and last sequences before leaves.
    if roots is None:
        game = place = np.arange(reply.num_sequences)
        leaves, rows, columns = np.arange(len(table.chance)), *table.sequences[:, [view.player, 1 - view.player]].T
    else:
        game = np.concatenate([roots.way_sequences, roots.sequences])
        place = roots.numbers(reply.num_sequences - len(roots.sequences), roots.above("path")[1])
        leaves, rows, columns = roots.leaves, roots.leaf_rows, place[roots.leaf_sources]
    # By public states, like ways: a leaf may share its state with the next decision, although no sequence leads from it
    # there.
    follows = public.subgames_of(later, public.leaf_states[leaves]) >= 0
    reach = table.chance[leaves] * plan[rows] * follows
    masses: Floats = np.bincount(columns, reach, minlength=reply.num_sequences).astype(np.float64)
    rates = np.zeros(reply.num_sequences)
    for level in reversed(reply.levels):
        level.pass_up(np.maximum.reduceat(masses[level.sequences], level.starts), masses)
    values = program.sequence_values(plan)
    for level in reply.levels:
        own, after = values[level.sequences], masses[level.sequences]
        above = rates[level.sources] * np.maximum.reduceat(after, level.starts)
        allowed = own + np.repeat(above - np.minimum.reduceat(own, level.starts), level.counts)
        rates[level.sequences] = np.divide(allowed, after, out=np.zeros_like(after), where=after > 0.0)
    order = np.argsort(game)
    return SequenceRates(game[order], rates[place[order]])


def search_program(view: PlayerView, model: Floats, p: float, roots: SubgameRoots, found: TrunkSolution) -> StepProgram:
    """Return the program of safe exploitation search in all subgames at once.

    With probability p chance picks the other player's way in, in proportion to the model's reach. With probability 1 −
    p that player picks it. Below, the player is rational. Payoffs are relative to the other player's payoff without a
    new plan: max over x of p Σ_I r(I) m(I) + (1 − p) min_I m(I), summed over subgames, with m(I) the margin at way I
    and r the model's reach of a subgame's ways, normalised.
    """
    program = _Subgames(view, roots, "choice")
    reach = model[roots.way_sequences]
    totals = np.bincount(roots.way_subgames, weights=reach, minlength=roots.num_subgames)[roots.way_subgames]
    shares = np.divide(reach, totals, out=np.zeros_like(reach), where=totals > 0.0)
    plan = found.plan[roots.own_sequences]
    kept = program.kept(plan)
    program.add_inflow(p * shares)
    program.constant -= float(p * shares @ kept)
    program.add_choice(1.0 - p, kept)
    public = view.game.public_tree
    states = public.infoset_states[view.player][roots.own_infosets]
    return program.program(plan, public.subgames_of(roots.states, states) < 0)


class _Subgames:
    """A program restricted to subgames, built from the other player's ways in."""

    def __init__(self, view: PlayerView, roots: SubgameRoots, form: Form) -> None:
        self.view, self.roots, self.form = view, roots, form
        self.reply, self.matrix, self.entries = roots.reply(form)
        self.first = self.reply.num_infosets - len(roots.infosets)  # of the subgames' own infosets
        self.inflow = np.zeros(self.reply.num_infosets)
        self.bonus = np.zeros(self.reply.num_sequences)
        self.linear = np.zeros(roots.own.num_sequences)
        self.held = np.zeros(self.reply.num_sequences)
        self.constant = 0.0

    def add_inflow(self, ways: Floats, weights: Floats | None = None, modelled: Flags | None = None) -> None:
        """Let the other player come in along each way with a weight, and be rational from there on.

        At modelled infosets it continues with the weights of its sequences, which are 0 elsewhere; both are in the
        order of the roots.
        """
        roots = self.roots
        weights = np.zeros(len(roots.sequences)) if weights is None else weights
        arriving = np.append(ways, weights)
        paid = roots.leaf_payoffs * arriving[roots.leaf_sources]
        self.linear += np.bincount(roots.leaf_rows, paid, minlength=len(self.linear))
        self.held[self.entries] += ways
        self.held[len(self.held) - len(weights) :] += weights
        arriving = arriving[roots.infoset_sources]
        self.inflow[self.first :] += arriving if modelled is None else np.where(modelled, 0.0, arriving)

    def add_choice(self, weight: float, kept: Floats) -> None:
        """Let the other player choose its way in, or choose at each way whether to stop and receive the kept value."""
        self.inflow[: self.first] += weight * (self.reply.parents[: self.first] == 0)
        if self.form == "stops":
            self.bonus[self.entries + 1] = kept
        else:
            self.bonus[self.entries] = -kept

    def kept(self, plan: Floats) -> Floats:
        """Return a plan's counterfactual worst-case payoff at each way in, shape (num_ways,)."""
        kept: Floats = -sequence_values(self.reply, -(self.matrix.T @ plan))[self.entries]
        return kept

    def program(self, plan: Floats, settled: Flags) -> StepProgram:
        return StepProgram(
            own=self.roots.own,
            infosets=self.roots.own_infosets,
            sequences=self.roots.own_sequences,
            plan=plan,
            settled=settled,
            linear=self.linear,
            matrix=self.matrix,
            reply=self.reply,
            inflow=self.inflow,
            bonus=self.bonus,
            constant=self.constant,
            held=self.held,
        )
