"""The view that unknown players have of a game, and the values of their decisions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...seqform.arrays import Floats, Indices
from ...seqform.errors import UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.histories import walk
from ...seqform.polytope import Treeplex
from ...seqform.public_form import PublicForm
from ...seqform.public_payoff import Leaves, PublicPayoff
from ...seqform.public_tree import check_order
from ...seqform.rules import CHANCE, TERMINAL
from ...seqform.sequence_form import SequenceForm
from ...seqform.strategy import Profile, Strategy


@dataclass(frozen=True, eq=False)
class Evidence:
    """The view of the unknown players, as one tree, and where games end in it.

    For a single unknown player it is that player's own tree. Several unknown players count as a team: their decisions
    in the order of play.

    Attributes
    ----------
    treeplex : Treeplex
    paid, mass : ndarray of float64, shape (num_sequences,)
        For each sequence of the unknown players, over the leaves with this last sequence: the sum of the probabilities
        of chance and the known players, multiplied by the payoff and alone.
    ended : ndarray of int, shape (num_leaves,)
        The last sequence of the unknown players at each leaf; empty in public form.
    """

    treeplex: Treeplex
    paid: Floats
    mass: Floats
    ended: Indices

    @cached_property
    def masses(self) -> tuple[Floats, Floats]:
        """The probability by known play of each sequence and of each infoset."""
        mass, mass_at = self.mass.copy(), np.zeros(self.treeplex.num_infosets)
        for level in reversed(self.treeplex.levels):
            # Known play reaches all actions of an infoset equally often, except for round-off.
            mass_at[level.infosets] = np.maximum.reduceat(mass[level.sequences], level.starts)
            level.pass_up(mass_at[level.infosets], mass)
        return mass, mass_at


@dataclass(frozen=True, eq=False)
class Differences:
    """How much better the decisions of one tree are than the value function expects.

    Attributes
    ----------
    value : float
        The value of the game by the value function.
    sums : ndarray of float64, shape (num_sequences,)
        For each sequence, the sum over its actions of the value after the action minus the value of the infoset, in
        payoff units.
    """

    value: float
    sums: Floats


def differences(seen: Evidence, shares: Floats, worth: Floats | None = None) -> Differences:
    """Return the value of each decision of the unknown players, relative to the value function.

    Parameters
    ----------
    seen : Evidence
    shares : ndarray of float64, shape (num_sequences,)
        The behaviour that defines the value function.
    worth : ndarray of float64, shape (num_infosets,), optional
        Instead of `shares`, the value of each infoset, multiplied by its probability by known play.

    Notes
    -----
    Let N be the probability by known play of a sequence or an infoset, and B the payoffs at the leaves with a last
    sequence. The value of sequence σ is Q(σ) = (B(σ) + Σ N(I) u(I)) / N(σ) over the infosets I after σ, and that of an
    infoset is u(I) = Σ_a shares(a) Q(Ia). Infosets that known play does not reach count as 0.
    """
    treeplex = seen.treeplex
    paid, paid_at = seen.paid.copy(), np.zeros(treeplex.num_infosets)
    mass, mass_at = seen.masses
    for level in reversed(treeplex.levels):
        expected = np.add.reduceat(shares[level.sequences] * paid[level.sequences], level.starts)
        paid_at[level.infosets] = expected if worth is None else worth[level.infosets]
        level.pass_up(paid_at[level.infosets], paid)
    sums = np.zeros(len(paid))
    after = np.divide(paid, mass, out=np.zeros(len(paid)), where=mass > 0.0)
    before = np.divide(paid_at, mass_at, out=np.zeros(len(paid_at)), where=mass_at > 0.0)
    for level in treeplex.levels:
        infosets = np.repeat(level.infosets, level.counts)
        gained = after[level.sequences] - before[infosets]
        sums[level.sequences] = sums[treeplex.parents[infosets]] + gained
    return Differences(float(after[0]), sums)


def of_leaves(form: SequenceForm, unknown: int, reach: Floats, player: int) -> Evidence:
    """Return the view that one unknown player has of an enumerated game.

    Parameters
    ----------
    form : SequenceForm
        With a table of leaves.
    unknown : int
    reach : ndarray of float64, shape (num_leaves,)
        The probability of chance and the known players at each leaf.
    player : int
        The player who is paid.
    """
    treeplex = form.treeplexes[unknown]
    if not treeplex.single_parent or form.leaves is None:
        raise UnsupportedProblemError(f"player {unknown} forgets its own past, so results without luck are unknown")
    ended = form.leaves.sequences[:, unknown].astype(np.int64)
    return _evidence(treeplex, ended, reach, form.leaves.payoffs[:, player])


def _evidence(treeplex: Treeplex, ended: Indices, reach: Floats, paid: Floats) -> Evidence:
    size = treeplex.num_sequences
    sums: list[Floats] = [np.bincount(ended, each, size).astype(np.float64) for each in (reach * paid, reach)]
    return Evidence(treeplex, sums[0], sums[1], ended)


class _OtherLeaves:
    """A public form with other amounts at its leaves."""

    def __init__(self, form: PublicForm, leaves: tuple[Leaves, ...]) -> None:
        self.leaves, self.weights, self.sequences = leaves, form.weights, form.sequences
        self.num_sequences, self.payoff_scale, self.is_zero_sum = form.num_sequences, form.payoff_scale, False


def of_public_form(game: Game, unknown: int, plan: Floats, player: int) -> Evidence:
    """Return the view that one player has of a game in public form.

    Parameters
    ----------
    game : Game
    unknown : {0, 1}
    plan : ndarray of float64
        The other player's realization plan.
    player : {0, 1}
        The player who is paid.

    Raises
    ------
    UnsupportedProblemError
        If the form has no probabilities of pairs of states (`deals`).
    """
    form = game.public_form
    assert form is not None
    if not form.deals:
        raise UnsupportedProblemError(f"{game.spec} has no probabilities of pairs of private states (deals)")
    plans = [plan, plan]
    sums = []
    for leaves, row in ((form.leaves, player), (form.deals, 0)):
        both = tuple(replace(one, amounts=np.stack([one.paid[row]] * 2)) for one in leaves)
        sums.append(PublicPayoff(_OtherLeaves(form, both)).gradient(unknown, plans))
    return Evidence(game.sequence_form.treeplexes[unknown], sums[0], sums[1], np.zeros(0, dtype=np.int64))


class Histories:
    """The histories of an enumerated game as arrays, in the order of a walk.

    Parameters
    ----------
    game : Game

    Raises
    ------
    UnsupportedProblemError
        If the game has no rules, or its sequence form does not follow from them.
    """

    def __init__(self, game: Game) -> None:
        if game.rules is None or game.sequence_form.leaves is None:
            raise UnsupportedProblemError(f"{game.spec} has no histories to walk")
        self._game, form = game, game.sequence_form
        labels: list[dict[Any, tuple[int, int]]] = [{} for _ in range(game.num_players)]
        ends = [1] * game.num_players
        parents, movers, sequences, chances, firsts, infosets, leaves = [], [], [], [], [], [], []
        self.states: list[Any] = []
        for history in walk(game.rules):
            before, mover, first, infoset = history.before, history.player, 0, -1
            if mover >= 0:
                known = labels[mover]
                label = game.rules.infoset(history.state)
                if label not in known:
                    known[label] = len(known), ends[mover]
                    ends[mover] += len(tuple(game.rules.actions(history.state)))
                infoset, first = known[label]
            elif mover == TERMINAL:
                leaves.append(history.number)
            history.data = first
            parents.append(-1 if before is None else before.number)
            sequences.append(before.data + history.place if before is not None and before.player >= 0 else 0)
            chances.append(float(history.probability))
            movers.append(mover)
            firsts.append(first)
            infosets.append(infoset)
            self.states.append(history.state)
        check_order(labels, form)
        self.parents, self.movers = np.array(parents), np.array(movers)
        self.sequences, self.chances = np.array(sequences), np.array(chances)
        self.infosets, self.leaves = np.array(infosets), np.array(leaves)
        self._counts = [np.diff(treeplex.offsets) for treeplex in form.treeplexes]

    def _shares(self, profile: Profile) -> Floats:
        """Return the probability of the last step to each history."""
        found = self.chances.copy()
        for player, strategy in enumerate(profile):
            own = self._after(player)
            found[own] = strategy.behaviour[self.sequences[own]]
        return found

    def _after(self, player: int) -> Indices:
        return 1 + np.flatnonzero(self.movers[self.parents[1:]] == player)

    def evidence(
        self, unknown: tuple[int, ...], reach: Floats, player: int, profile: Profile
    ) -> tuple[Evidence, Floats]:
        """Return the view of several unknown players as a team, and the behaviour of a profile in their tree."""
        table = self._game.sequence_form.leaves
        assert table is not None
        numbers: dict[tuple[int, int, int], int] = {}
        parents: list[int] = []
        counts: list[int] = []
        starts: list[int] = [1]
        own: list[tuple[int, int]] = []  # the mover and its first sequence, by decision of the team
        at: list[int] = []  # the team's sequence at each history
        self._decisions = np.full(len(self.parents), -1)
        offsets = [self._game.sequence_form.treeplexes[each].offsets for each in range(self._game.num_players)]
        movers, infosets = self.movers.tolist(), self.infosets.tolist()
        for number, (before, sequence) in enumerate(zip(self.parents.tolist(), self.sequences.tolist(), strict=True)):
            here = 0 if before < 0 else at[before]
            if before >= 0 and movers[before] in unknown:
                decision = int(self._decisions[before])
                here = starts[decision] + sequence - own[decision][1]
            at.append(here)
            mover, infoset = movers[number], infosets[number]
            if mover in unknown:
                key = here, mover, infoset
                if key not in numbers:
                    numbers[key] = len(parents)
                    parents.append(here)
                    counts.append(int(self._counts[mover][infoset]))
                    own.append((mover, int(offsets[mover][infoset])))
                    starts.append(starts[-1] + counts[-1])
                self._decisions[number] = numbers[key]
        treeplex = Treeplex(np.array(parents, dtype=np.int64), np.array(counts, dtype=np.int64))
        parts = [profile[who].behaviour[first : first + count] for (who, first), count in zip(own, counts, strict=True)]
        shares = np.concatenate([np.ones(1), *parts])
        return _evidence(treeplex, np.array(at)[self.leaves], reach, table.payoffs[:, player]), shares

    def worth(self, values: Callable[[Any], float], known: Mapping[int, Strategy], seen: Evidence) -> Floats:
        """Return a function's value at each decision of the unknown players, weighted by known play."""
        reach = np.ones(len(self.parents))
        steps = self.chances.copy()
        for player, strategy in known.items():
            own = self._after(player)
            steps[own] = strategy.behaviour[self.sequences[own]]
        for number, before in enumerate(self.parents.tolist()):
            if before >= 0:
                reach[number] = reach[before] * steps[number]
        found = np.zeros(seen.treeplex.num_infosets)
        for number in np.flatnonzero(self._decisions >= 0).tolist():
            if reach[number] > 0.0:
                found[self._decisions[number]] += reach[number] * float(values(self.states[number]))
        return found

    def luck(
        self,
        player: int,
        profile: Profile,
        known: Mapping[int, Strategy],
        values: Callable[[Any], float] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return the luck of chance and of the known players' decisions at each leaf, at the actual histories."""
        table = self._game.sequence_form.leaves
        assert table is not None
        steps, parents, movers = self._shares(profile).tolist(), self.parents.tolist(), self.movers.tolist()
        worth = np.zeros(len(parents))
        worth[self.leaves] = table.payoffs[:, player]
        expected = np.zeros(len(parents))
        for number in range(len(parents) - 1, -1, -1):
            if movers[number] != TERMINAL:
                worth[number] = expected[number] if values is None else float(values(self.states[number]))
            if number:
                expected[parents[number]] += steps[number] * worth[number]
        chance, decisions = np.zeros(len(parents)), np.zeros(len(parents))
        for number, before in enumerate(parents[1:], 1):
            chance[number], decisions[number] = chance[before], decisions[before]
            if movers[before] == CHANCE:
                chance[number] += worth[number] - expected[before]
            elif movers[before] in known:
                decisions[number] += worth[number] - expected[before]
        return chance[self.leaves], decisions[self.leaves]
