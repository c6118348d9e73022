"""What stands above a subgame that is solved anew: gadgets, each as a program of its own."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.polytope import infoset_values, sequence_values
from ..saddle import PlayerView
from .decision_steps import Along, DecisionStep, Flags
from .step_program import StepProgram
from .subgame_roots import Form, SubgameRoots, subgames_of


@dataclass(frozen=True)
class Gadget:
    """What a gadget lets the other player do above a subgame.

    Attributes
    ----------
    name : str
    form : {"stops", "choice", "path"}, optional
        What it decides: whether to stop at each way in and keep what it had there, by which way to come in, or its
        actions on the way.
    gifts : bool
        Whether what it gave away on the way is taken off what it had.
    promises : bool
        Whether steps hand on what their subgames may lose at each way in, divided among them.
    safe : tuple of str
        Along what exploitability is at most p / (1 − p) times the gain, if steps have no gap.
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
        Gadget("full", safe=("level",), source="Milec, Kubíček and Lisý (2021): all that was played stays in the game"),
        Gadget("none", source="unsafe resolving: the other player's play above the subgame is taken as it was found"),
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
    """What a subgame is solved anew from: what both players were found to play in the whole game.

    Attributes
    ----------
    plan : ndarray of float64
        The player's realization plan, below the depth limit too.
    free : ndarray of float64
        The other player's, where it is free.
    allowances : ndarray of float64, shape (num_sequences of the other player,), optional
        See :func:`allowances`.
    """

    plan: Floats
    free: Floats
    allowances: Floats | None = None


def whole_game_program(
    view: PlayerView, matrix: sp.csr_array, model: Floats, p: float, step: DecisionStep, plan: Floats
) -> StepProgram:
    """Return a step in the whole game: of a trunk, and with the full gadget of everything after it.

    max over x of p times what x earns where the other player is held to the model above the depth limit and rational
    below, plus (1 − p) times what it earns where that player is rational throughout. Both parts have the same values
    below the limit, since best replies there depend on x alone; so nothing of the game stands twice.

    Parameters
    ----------
    view : PlayerView
    matrix : csr_array
        M, what pairs of sequences pay the player.
    model : ndarray of float64
        The model's realization plan ŷ.
    p : float
    step : DecisionStep
    plan : ndarray of float64
        Read at settled infosets.
    """
    other = view.other
    above = np.append(True, np.repeat(step.modelled, other.num_actions))
    held = np.where(above, p * model, 0.0)
    held[0] += 1.0 - p
    # The model brings its weight to the first infosets below the limit, a free player comes from the root.
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
    found: TrunkSolution,
) -> StepProgram:
    """Return a step in the subgames alone that it decides in, with a gadget above them.

    Parameters
    ----------
    view, model, p, step, plan
        As for :func:`whole_game_program`.
    gadget : Gadget
        Any but ``full``.
    roots : SubgameRoots
        Of the step's public states.
    found : TrunkSolution
        What is played without the step.
    """
    known = np.append(True, np.repeat(step.modelled, view.other.num_actions))
    program = _Subgames(view, roots, gadget.form or "choice")
    program.add_inflow(p * model[roots.way_sequences], np.where(known, p * model, 0.0), step.modelled)
    free = 1.0 - p
    if gadget.form:
        kept = program.kept(found.plan, gadget.gifts)
        if found.allowances is not None:
            kept -= roots.masses(view.game, found.plan)[0] * found.allowances[roots.way_sequences]
        program.add_choice(free, kept)
    else:
        program.add_inflow(free * found.free[roots.way_sequences])
    return program.program(plan, step.settled)


def allowances(
    view: PlayerView, program: StepProgram, plan: Floats, made: Flags, roots: SubgameRoots | None = None
) -> Floats:
    """Return how much less the subgames after a step may pay than in its plan, with no loss at worst.

    Where the other player's action is not its best reply to the plan, what follows may get worse by as much as it
    gives away, and by what is allowed above. The public states that follow share each allowance by their masses, as
    :meth:`SubgameRoots.masses` counts them; alternatives of the other player have all of it, since it takes only one.

    Parameters
    ----------
    view : PlayerView
    program : StepProgram
        The step's.
    plan : ndarray of float64, shape (num_sequences of the player,)
        What was found.
    made : ndarray of bool, shape (num_infosets of the player,)
        Whose decisions are made: what only they lead to may not get worse, and has no share.
    roots : SubgameRoots, optional
        The one subgame of the step; without it the program is that of the whole game.

    Returns
    -------
    ndarray of float64, shape (num_sequences of the other player,)
        For a unit of mass of a way in that goes on from the sequence.
    """
    form, other, reply = view.game.sequence_form, view.other, program.reply
    table = form.leaves
    assert table is not None
    leaves = np.arange(len(table.chance)) if roots is None else roots.leaves
    sequences = table.sequences[leaves]
    # By public states, as ways are: a leaf may share its state with the next decision, although none leads to it.
    public = view.game.public_tree
    later = subgames_of(public, np.unique(public.infoset_states[view.player][~made])) >= 0
    follows = np.append(later, False)[public.leaf_states[leaves]]
    reach = table.chance[leaves] * plan[sequences[:, view.player]] * follows
    # Sequences of the game, and where they are in the reply.
    game = place = np.arange(other.num_sequences)
    if roots is not None:
        game = np.concatenate([roots.way_sequences, roots.sequences])
        first = reply.num_sequences - len(roots.sequences)
        place = np.append(roots.above("path")[1], np.arange(first, reply.num_sequences))
    masses, rates = np.zeros(reply.num_sequences), np.zeros(reply.num_sequences)
    masses[place] = np.bincount(sequences[:, 1 - view.player], weights=reach, minlength=other.num_sequences)[game]
    for level in reversed(reply.levels):
        level.pass_up(np.maximum.reduceat(masses[level.sequences], level.starts), masses)
    values = program.sequence_values(plan)
    for level in reply.levels:
        own, after = values[level.sequences], masses[level.sequences]
        above = rates[level.sources] * np.maximum.reduceat(after, level.starts)
        allowed = own + np.repeat(above - np.minimum.reduceat(own, level.starts), level.counts)
        rates[level.sequences] = np.divide(allowed, after, out=np.zeros_like(after), where=after > 0.0)
    found = np.zeros(other.num_sequences)
    found[game] = rates[place]
    return found


def search_program(view: PlayerView, model: Floats, p: float, roots: SubgameRoots, found: TrunkSolution) -> StepProgram:
    """Return the program of safe exploitation search, in all subgames at once.

    With probability p chance picks by which way the other player comes in, in proportion to the model's reach, and with
    1 − p that player does; below it is rational. Payoffs count from what the player would have without a new plan:
    max over x of p Σ_I r(I) m(I) + (1 − p) min_I m(I) with m(I) the margin at way I, r the model's reach of a subgame's
    ways divided by their sum; summed over subgames.
    """
    program = _Subgames(view, roots, "choice")
    reach = model[roots.way_sequences]
    totals = np.bincount(roots.way_subgames, weights=reach, minlength=roots.num_subgames)[roots.way_subgames]
    shares = np.divide(reach, totals, out=np.zeros_like(reach), where=totals > 0.0)
    kept = program.kept(found.plan, gifts=False)
    program.add_inflow(p * shares)
    program.constant -= float(p * shares @ kept)
    program.add_choice(1.0 - p, kept)
    public = view.game.public_tree
    return program.program(found.plan, subgames_of(public, roots.states)[public.infoset_states[view.player]] < 0)


class _Subgames:
    """A program in subgames alone, put together from what brings the other player there."""

    def __init__(self, view: PlayerView, roots: SubgameRoots, form: Form) -> None:
        self.view, self.roots, self.form = view, roots, form
        self.reply, self.matrix, self.entries = roots.reply(form)
        self.first = self.reply.num_infosets - len(roots.infosets)  # of the subgames' own infosets
        self.inflow = np.zeros(self.reply.num_infosets)
        self.bonus = np.zeros(self.reply.num_sequences)
        self.linear = np.zeros(view.own.num_sequences)
        self.held = np.zeros(self.reply.num_sequences)
        self.constant = 0.0

    def add_inflow(self, ways: Floats, weights: Floats | None = None, modelled: Flags | None = None) -> None:
        """Let the other player come in along each way with a weight, and be rational from there on.

        At infosets where it is modelled it goes on with the weights of its sequences, which are 0 elsewhere.
        """
        roots, other = self.roots, self.view.other
        if weights is None or modelled is None:
            weights, modelled = np.zeros(other.num_sequences), np.zeros(other.num_infosets, dtype=bool)
        by_way = np.append(ways, 0.0)
        self.linear += roots.payoffs @ np.where(
            roots.leaf_ways >= 0, by_way[roots.leaf_ways], weights[roots.leaf_sequences]
        )
        self.held[self.entries] += ways
        self.held[len(self.held) - len(roots.sequences) :] += weights[roots.sequences]
        arriving = np.where(roots.infoset_ways >= 0, by_way[roots.infoset_ways], weights[other.parents[roots.infosets]])
        self.inflow[self.first :] += np.where(modelled[roots.infosets], 0.0, arriving)

    def add_choice(self, weight: float, kept: Floats) -> None:
        """Let the other player decide by which way it comes in, or whether to stop at each and pay what is kept."""
        self.inflow[: self.first] += weight * (self.reply.parents[: self.first] == 0)
        if self.form == "stops":
            self.bonus[self.entries + 1] = kept
        else:
            self.bonus[self.entries] = -kept

    def kept(self, plan: Floats, gifts: bool) -> Floats:
        """Return what a plan gets at each way in, counterfactually and at worst, shape (num_ways,)."""
        kept: Floats = -sequence_values(self.reply, -(self.matrix.T @ plan))[self.entries]
        return kept - self._gifts(plan) if gifts else kept

    def _gifts(self, plan: Floats) -> Floats:
        """Return what the other player gave away on each way in, by its own values against a plan."""
        view, roots, other = self.view, self.roots, self.view.other
        gradient = view.game.sequence_form.gradient(1 - view.player, [plan, plan])
        values = sequence_values(other, gradient)
        best = infoset_values(other, gradient)
        given = np.append(0.0, np.maximum(np.repeat(best, other.num_actions) - values[1:], 0.0))
        ways, sequences = roots.masses(view.game, plan)
        # Each gift is shared out among subgames by how likely they are after it.
        rates = np.divide(given, sequences, out=np.zeros_like(given), where=sequences > 0.0)
        for level in other.levels:
            rates[level.sequences] += np.repeat(rates[level.sources], level.counts)
        gifts: Floats = ways * rates[roots.way_sequences]
        return gifts

    def program(self, plan: Floats, settled: Flags) -> StepProgram:
        return StepProgram(
            own=self.view.own,
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
