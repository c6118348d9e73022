"""Polytopes of correlation plans: linear programs, random draws and maxima over them."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats, Indices
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.polytope import Treeplex, sequence_values
from ...seqform.sequence_form import SequenceForm
from .pairs import SequencePairs, spans

#: The largest size of the program over pure plans: plans of one player times sequences of the other.
LARGEST = 50_000
#: Weights below this are round-off.
_LEAST = 1e-13
_HUGE = np.finfo(np.float64).max


class CorrelationPolytope(ABC):
    """The correlation plans of a game, as the image of a polytope whose points are built by successive choices.

    Each choice divides the weight of one column among several columns. A point is therefore given by its *shares*, one
    distribution per choice. If each choice takes one of its columns, the point is a pure plan of each player.

    Attributes
    ----------
    pairs : SequencePairs
    members : ndarray of int64
        The columns among which choices divide weight, choice by choice.
    counts : ndarray of int64
        The number of columns of each choice.
    """

    pairs: SequencePairs
    members: Indices
    counts: Indices

    @property
    @abstractmethod
    def equations(self) -> tuple[sp.csr_array, Floats]:
        """The matrix and the right-hand side of the columns' equations."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of columns."""

    @property
    @abstractmethod
    def to_pairs(self) -> sp.csr_array:
        """The matrix from columns to correlation plans, shape (num_pairs, size)."""

    @abstractmethod
    def point(self, shares: Floats) -> Floats:
        """Return the columns with the given shares, shape (size,)."""

    @abstractmethod
    def values(self, gradient: Floats, excluded: npt.NDArray[np.bool_] | None = None) -> Floats:
        """Return the largest value per unit of each column of a linear function over the correlation plans.

        Parameters
        ----------
        gradient : ndarray of float64, shape (num_pairs,)
        excluded : ndarray of bool, shape (size,), optional
            Columns that are zero; their values are −∞.

        Returns
        -------
        ndarray of float64, shape (size,)
            Computed by one pass from the last choices. Entry 0 is the maximum.
        """

    def largest(self, gradient: Floats, excluded: npt.NDArray[np.bool_] | None = None) -> float:
        """Return the maximum of a linear function over the correlation plans; parameters as for :meth:`values`."""
        return float(self.values(gradient, excluded)[0])

    def slacks(self, gradient: Floats, excluded: npt.NDArray[np.bool_] | None = None) -> tuple[float, Floats]:
        """Return the maximum, and how much it decreases per unit of each column.

        Parameters as for :meth:`values`. Each column is zero at the points with the maximum unless its slack is zero.
        """
        values = self.values(gradient, excluded)
        slacks = np.zeros(self.size)
        if len(self.members):
            members = values[self.members]
            best = np.repeat(np.maximum.reduceat(members, self._starts), self.counts)
            slacks[self.members] = np.where(np.isneginf(members), np.inf, best - np.maximum(members, -_HUGE))
        slacks[np.isneginf(values)] = np.inf
        return float(values[0]), slacks

    @property
    def form(self) -> SequenceForm:
        """The sequence form whose infosets get recommendations."""
        return self.pairs.form

    def marginals(self, player: int) -> sp.csr_array:
        """Return the matrix from correlation plans to a player's realization plan, (num_sequences, num_pairs)."""
        places = self.pairs.marginal(player)
        count = len(places)
        return sp.csr_array((np.ones(count), (np.arange(count), places)), shape=(count, self.pairs.num_pairs))

    def independent(self, x: Floats, y: Floats) -> Floats:
        """Return the correlation plan of two players who mix independently, from their realization plans."""
        found: Floats = x[self.pairs.first] * y[self.pairs.second]
        return found

    @abstractmethod
    def of_plans(self, x: Floats, y: Floats) -> Floats:
        """Return the columns of two players who mix independently, from their realization plans."""

    @property
    def _starts(self) -> Indices:
        return np.cumsum(self.counts) - self.counts

    def shares(self, columns: Floats) -> Floats:
        """Return the shares of columns that may contain round-off; equal shares where there is no weight."""
        weights = np.maximum(columns[self.members], 0.0)
        totals = np.add.reduceat(weights, self._starts) if len(weights) else weights
        each, counts = np.repeat(totals, self.counts), np.repeat(self.counts, self.counts)
        shares = np.ones(self.size)
        shares[self.members] = np.where(each > 0.0, weights / np.where(each > 0.0, each, 1.0), 1.0 / counts)
        return shares

    def draw(self, shares: Floats, random: np.random.Generator) -> Floats:
        """Draw a point of zeros and ones whose expected value is the point with the given shares."""
        cumulated = np.cumsum(shares[self.members])
        starts = self._starts
        before = np.concatenate([[0.0], cumulated])[starts]
        sums = cumulated[starts + self.counts - 1] - before
        wanted = before + random.random(len(starts)) * sums
        picked = np.searchsorted(cumulated, wanted, side="right")
        return self._picked(np.clip(picked, starts, starts + self.counts - 1))

    def _picked(self, picked: Indices) -> Floats:
        """Return the point that takes one column per choice, given by its place in ``members``."""
        shares = np.ones(self.size)
        shares[self.members] = 0.0
        shares[self.members[picked]] = 1.0
        return self.point(shares)

    def mixture(self, columns: Floats) -> Iterator[tuple[float, Floats]]:
        """Yield weights and points of zeros and ones whose mixture is a given point, heaviest choices first.

        Each step takes the largest column of every choice, with the largest weight that leaves no column negative. It
        removes a column, so there are at most as many steps as columns.
        """
        rest, starts = columns.copy(), self._starts
        left = 1.0
        places = np.arange(len(self.members))
        while left > _LEAST:
            weights = rest[self.members]
            best = np.repeat(np.maximum.reduceat(weights, starts), self.counts)
            picked = np.minimum.reduceat(np.where(weights == best, places, len(places)), starts)
            point = self._picked(picked)
            used = point > 0.0
            weight = min(left, float(rest[used].min()))
            if weight <= _LEAST:
                return
            rest[used] -= weight
            left -= weight
            yield weight, point


@dataclass(frozen=True, eq=False)
class _Layer:
    """Choices and sums that depend only on earlier layers."""

    parents: Indices  # the divided pair of each choice
    members: Indices  # choice by choice
    counts: Indices
    targets: Indices  # pairs that are sums: one entry per summand
    summands: Indices


class VonStengelForges(CorrelationPolytope):
    r"""The von Stengel–Forges polytope of a triangle-free game, in the order in which it is built.

    Parameters
    ----------
    pairs : SequencePairs
        Of a triangle-free game.

    Notes
    -----
    The polytope consists of the ξ ≥ 0 on the relevant pairs with ξ(∅, ∅) = 1 and

    .. math:: \sum_a \xi(Ia, \tau) = \xi(\sigma(I), \tau), \qquad \sum_b \xi(\sigma, Jb) = \xi(\sigma, \sigma(J)).

    In a triangle-free game it is the set of correlation plans. At a pair (σ, τ), consider the infosets I of player 0
    that follow σ and the infosets J of player 1 that follow τ, as the nodes of a graph whose edges are connected
    infosets. Without triangles every component is a star. Its centre, say I, divides ξ(σ, τ) among ξ(Ia, τ); each of
    these is then divided further, and ξ(σ, Jb) is the sum of the ξ(Ia, Jb). So ξ is built by choices and sums from the
    top. Independent random choices give ones and zeros with the expected value ξ, because each choice divides a single
    entry and sums are linear: G. Farina and T. Sandholm, "Polynomial-time computation of optimal correlated equilibria
    in two-player extensive-form games with public chance moves and beyond", NeurIPS 2020. For games without chance:
    B. von Stengel and F. Forges (2008).
    """

    def __init__(self, pairs: SequencePairs) -> None:
        self.pairs = pairs
        self._layers = _Construction(pairs).layers()
        self.members = np.concatenate([layer.members for layer in self._layers])
        self.counts = np.concatenate([layer.counts for layer in self._layers])

    @property
    def size(self) -> int:
        """Number of pairs."""
        return self.pairs.num_pairs

    @property
    def equations(self) -> tuple[sp.csr_array, Floats]:
        """One equation for ξ(∅, ∅), for each choice and for each sum; the others of the polytope follow."""
        one = np.zeros(1, dtype=np.int64)
        parts, count = [(one, one, np.ones(1))], 1
        for layer in self._layers:
            choices = count + np.arange(len(layer.counts))
            parts.append((np.repeat(choices, layer.counts), layer.members, np.ones(len(layer.members))))
            parts.append((choices, layer.parents, -np.ones(len(choices))))
            targets, places = np.unique(layer.targets, return_inverse=True)
            sums = count + len(choices) + np.arange(len(targets))
            parts.append((sums, targets, np.ones(len(targets))))
            parts.append((sums[places], layer.summands, -np.ones(len(layer.summands))))
            count += len(choices) + len(sums)
        rows, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
        right = np.zeros(count)
        right[0] = 1.0
        return sp.csr_array((values, (rows, columns)), shape=(count, self.size)), right

    @property
    def to_pairs(self) -> sp.csr_array:
        """The identity."""
        return sp.csr_array(sp.eye_array(self.size, format="csr"))

    def point(self, shares: Floats) -> Floats:
        """Return the correlation plan with the given shares."""
        found = np.zeros(self.size)
        found[0] = 1.0
        for layer in self._layers:
            found[layer.members] = np.repeat(found[layer.parents], layer.counts) * shares[layer.members]
            np.add.at(found, layer.targets, found[layer.summands])
        return found

    def of_plans(self, x: Floats, y: Floats) -> Floats:
        """Return the products of the probabilities of both sequences."""
        found: Floats = x[self.pairs.first] * y[self.pairs.second]
        return found

    def values(self, gradient: Floats, excluded: npt.NDArray[np.bool_] | None = None) -> Floats:
        """Return the largest value per unit of each pair."""
        totals: Floats = gradient.astype(np.float64) if excluded is None else np.where(excluded, -np.inf, gradient)
        for layer in reversed(self._layers):
            np.add.at(totals, layer.summands, totals[layer.targets])
            if len(layer.counts):
                best = np.maximum.reduceat(totals[layer.members], np.cumsum(layer.counts) - layer.counts)
                np.add.at(totals, layer.parents, best)
        return totals


class _Construction:
    """The order of choices and sums that builds the correlation plans of a triangle-free game."""

    def __init__(self, pairs: SequencePairs) -> None:
        treeplexes = pairs.form.treeplexes
        self._children = [_children(treeplex) for treeplex in treeplexes]
        self._offsets = [treeplex.offsets.tolist() for treeplex in treeplexes]
        self._infosets = [treeplex.sequence_infosets.tolist() for treeplex in treeplexes]
        self._starts = pairs.starts.tolist()
        # By infoset of player 0: the place of each connected infoset's first sequence among the relevant ones.
        self._places: list[dict[int, int]] = []
        counts, linked = treeplexes[1].num_actions.tolist(), pairs.connected
        for start, stop in itertools.pairwise(linked.indptr.tolist()):
            place, found = 1, {}
            for infoset in linked.indices[start:stop].tolist():
                found[infoset] = place
                place += counts[infoset]
            self._places.append(found)
        self._level = [-1] * pairs.num_pairs
        self._seen = bytearray(pairs.num_pairs)
        self._choices: list[tuple[int, int, int, int, int]] = []  # level, divided pair, first pair, distance, number
        self._sums: list[tuple[int, int, int, int, int]] = []  # level, sum, first summand, distance, number

    def _block(self, player: int, infoset: int, opposite: int) -> tuple[int, int, int]:
        """Return the first pair of an infoset with a sequence of the other player, the distance and the number."""
        first, last = self._offsets[player][infoset : infoset + 2]
        if player == 1:
            above = self._infosets[0][opposite]
            place = first if above < 0 else self._places[above][infoset]
            return self._starts[opposite] + place, 1, last - first
        place = 0
        if opposite:
            above = self._infosets[1][opposite]
            place = self._places[infoset][above] + opposite - self._offsets[1][above]
        start = self._starts[first]
        return start + place, self._starts[first + 1] - start, last - first

    def layers(self) -> list[_Layer]:
        """Return choices and sums, those first on which others depend."""
        self._level[0] = 0
        waiting = [self._visit(0, 0, 0)]
        while waiting:  # recursion, without Python's limit
            try:
                waiting.append(self._visit(*next(waiting[-1])))
            except StopIteration:
                waiting.pop()
        assert min(self._level) >= 0
        choices, sums = (np.array(each, dtype=np.int64).reshape(-1, 5) for each in (self._choices, self._sums))
        return [
            _layer(choices[choices[:, 0] == level], sums[sums[:, 0] == level])
            for level in range(1, max(1, *self._level) + 1)  # one, even if nobody moves
        ]

    def _visit(self, pair: int, first: int, second: int) -> Iterator[tuple[int, int, int]]:
        """Build what follows a pair of sequences; yield the pairs that must be built before the next step."""
        if self._seen[pair]:
            return
        self._seen[pair] = 1
        above, beside = self._infosets[0][first], self._infosets[1][second]
        own = [one for one in self._children[0][first] if not second or beside in self._places[one]]
        other = [one for one in self._children[1][second] if not first or one in self._places[above]]
        near = (
            {one: [to for to in other if to in self._places[one]] for one in own},
            {one: [to for to in own if one in self._places[to]] for one in other},
        )
        sequences = first, second
        for player in (0, 1):
            for centre, leaves in near[player].items():
                if not self._is_leaf(player, centre, near, first):
                    yield from self._star(player, centre, leaves, pair, sequences)

    def _is_leaf(self, player: int, infoset: int, near: tuple[dict[int, list[int]], ...], first: int) -> bool:
        """Whether an infoset is a leaf of a star; of a single edge, the end that is built already is the centre."""
        if len(near[player][infoset]) != 1:
            return False
        (centre,) = near[player][infoset]
        if len(near[1 - player][centre]) > 1:
            return True
        block, _, _ = self._block(1, infoset if player else centre, first)
        return (self._level[block] >= 0) == (player == 0)

    def _star(
        self, player: int, centre: int, leaves: list[int], pair: int, sequences: tuple[int, int]
    ) -> Iterator[tuple[int, int, int]]:
        """Divide a pair among the actions of the centre of a star; then the pairs of its leaves are sums."""
        opposite = sequences[1 - player]
        start, distance, count = self._block(player, centre, opposite)
        if self._level[start] < 0:
            level = self._level[pair] + 1
            self._choices.append((level, pair, start, distance, count))
            for action in range(count):
                self._level[start + action * distance] = level
        begin = self._offsets[player][centre]
        for action in range(count):
            yield _ordered(player, start + action * distance, begin + action, opposite)
        for leaf in leaves:
            into, step, several = self._block(1 - player, leaf, sequences[player])
            begins = self._offsets[1 - player][leaf]
            if self._level[into] < 0:
                for action in range(several):
                    summand, apart, number = self._block(player, centre, begins + action)
                    level = 1 + max(self._level[summand + one * apart] for one in range(number))
                    self._sums.append((level, into + action * step, summand, apart, number))
                    self._level[into + action * step] = level
            for action in range(several):
                yield _ordered(1 - player, into + action * step, begins + action, sequences[player])


def _ordered(player: int, pair: int, own: int, other: int) -> tuple[int, int, int]:
    """Return a pair's number and its sequences, player 0's first."""
    return (pair, own, other) if player == 0 else (pair, other, own)


def _layer(choices: Indices, sums: Indices) -> _Layer:
    _, parents, firsts, distances, counts = choices.T
    _, targets, summands, apart, numbers = sums.T
    return _Layer(
        parents,
        _steps(firsts, distances, counts),
        counts,
        np.repeat(targets, numbers),
        _steps(summands, apart, numbers),
    )


def _steps(firsts: Indices, distances: Indices, counts: Indices) -> Indices:
    """Return numbers at equal distances from each of several numbers, one run after another."""
    found: Indices = np.repeat(firsts, counts) + spans(np.zeros_like(counts), counts) * np.repeat(distances, counts)
    return found


def _children(treeplex: Treeplex) -> list[list[int]]:
    """Return the infosets that follow each sequence."""
    found: list[list[int]] = [[] for _ in range(treeplex.num_sequences)]
    for infoset, parent in enumerate(treeplex.parents.tolist()):
        found[parent].append(infoset)
    return found


class PurePlans(CorrelationPolytope):
    r"""The correlation plans of any small game: a pure plan of one player, and a plan of the other for each.

    Parameters
    ----------
    pairs : SequencePairs
    player : {0, 1}
        The player with pure plans.

    Notes
    -----
    A distribution over pairs of pure plans is a distribution over one player's pure plans π and, for each, a
    realization plan y_π of the other player with the weight λ_π of π:

    .. math::

        \xi(s, t) = \sum_{\pi \ni s} y_\pi(t), \qquad y_\pi(\emptyset) = \lambda_\pi, \qquad
        \sum_\pi \lambda_\pi = 1.

    These are the realization plans of a player who chooses π and then, knowing it, plays for the other. Such plans are
    drawn exactly by drawing an action at each infoset.
    """

    def __init__(self, pairs: SequencePairs, player: int) -> None:
        self.pairs = pairs
        own, other = pairs.form.treeplexes[player], pairs.form.treeplexes[1 - player]
        plans = pure_plans(own)
        self._player, self._plans = player, plans
        number = len(plans)
        # A first infoset chooses π; each choice leads to a copy of the other player's infosets.
        roots = 1 + np.arange(number)[:, None]
        shift = 1 + number + (roots - 1) * (other.num_sequences - 1)
        parents = np.where(other.parents == 0, roots, shift + other.parents - 1)
        counts = np.concatenate([[number], np.tile(other.num_actions, number)])
        self._tree = Treeplex(np.concatenate([[0], parents.ravel()]), counts)
        columns = np.concatenate([roots, shift + np.arange(other.num_sequences - 1)], axis=1)
        chosen, sequences = np.nonzero(plans)
        mine, theirs = (pairs.first, pairs.second) if player == 0 else (pairs.second, pairs.first)
        order = np.argsort(mine, kind="stable")
        begins = np.searchsorted(mine[order], np.arange(own.num_sequences + 1))
        lengths = (begins[1:] - begins[:-1])[sequences]
        rows = order[spans(begins[sequences], lengths)]
        places = columns[np.repeat(chosen, lengths), theirs[rows]]
        shape = pairs.num_pairs, self._tree.num_sequences
        self._to_pairs = sp.csr_array((np.ones(len(rows)), (rows, places)), shape=shape)
        self.members = np.arange(1, self._tree.num_sequences)
        self.counts = self._tree.num_actions.astype(np.int64)

    @property
    def size(self) -> int:
        """Number of sequences of the player who chooses for both."""
        return self._tree.num_sequences

    @property
    def equations(self) -> tuple[sp.csr_array, Floats]:
        """The equations of that player's realization plans."""
        return self._tree.E, self._tree.e

    @property
    def to_pairs(self) -> sp.csr_array:
        """The sums in the notes of the class."""
        return self._to_pairs

    def point(self, shares: Floats) -> Floats:
        """Return the realization plan with the given shares."""
        return self._tree.plan(shares)

    def of_plans(self, x: Floats, y: Floats) -> Floats:
        """Return the probability of each pure plan of one player, and the other's plan with this weight."""
        mine, theirs = (y, x) if self._player else (x, y)
        weights = mixed_strategy(self.pairs.form.treeplexes[self._player], self._plans, mine)
        return np.concatenate([[1.0], weights, np.outer(weights, theirs[1:]).ravel()])

    def values(self, gradient: Floats, excluded: npt.NDArray[np.bool_] | None = None) -> Floats:
        """Return the largest value per unit of each sequence."""
        paid = self._to_pairs.T @ gradient
        return sequence_values(self._tree, paid if excluded is None else np.where(excluded, -np.inf, paid))


def count_pure_plans(treeplex: Treeplex) -> int:
    """Return the number of reduced pure plans, which differ at an infoset that they reach.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.correlation import count_pure_plans
    >>> count_pure_plans(load_game("kuhn").sequence_form.treeplexes[0])
    27
    """
    counts, actions = [1] * treeplex.num_sequences, treeplex.offsets.tolist()
    parents = treeplex.parents.tolist()
    for infoset in reversed(range(treeplex.num_infosets)):
        counts[parents[infoset]] *= sum(counts[actions[infoset] : actions[infoset + 1]])
    return counts[0]


def pure_plans(treeplex: Treeplex) -> npt.NDArray[np.bool_]:
    """Return the reduced pure plans, shape (number, num_sequences).

    Examples
    --------
    >>> from treeplex.models.correlation import pure_plans
    >>> from treeplex.seqform.polytope import Treeplex
    >>> pure_plans(Treeplex([0, 1], [2, 2])).astype(int)
    array([[1, 1, 0, 1, 0],
           [1, 1, 0, 0, 1],
           [1, 0, 1, 0, 0]])
    """
    children, actions = _children(treeplex), treeplex.offsets.tolist()

    def plans_of(sequence: int) -> list[list[int]]:
        found = [[sequence]]
        for infoset in children[sequence]:
            follow = [plan for one in range(actions[infoset], actions[infoset + 1]) for plan in plans_of(one)]
            found = [plan + more for plan in found for more in follow]
        return found

    plans = plans_of(0)
    found = np.zeros((len(plans), treeplex.num_sequences), dtype=bool)
    for plan, sequences in zip(found, plans, strict=True):
        plan[sequences] = True
    return found


def mixed_strategy(treeplex: Treeplex, plans: npt.NDArray[np.bool_], plan: Floats) -> Floats:
    """Return the probability of each reduced pure plan under a realization plan, shape (number,)."""
    found: Floats = np.where(plans, treeplex.behaviour(plan), 1.0).prod(axis=1)
    return found


def correlation_polytope(pairs: SequencePairs) -> CorrelationPolytope:
    """Return the correlation plans of a game, if a linear program of moderate size has exactly these.

    Parameters
    ----------
    pairs : SequencePairs

    Raises
    ------
    UnsupportedProblemError
        If the game has a triangle and more than :data:`LARGEST` combinations of pure plans and sequences.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.correlation import SequencePairs, correlation_polytope
    >>> for name in ("battleship", "kuhn"):
    ...     print(type(correlation_polytope(SequencePairs(load_game(name).sequence_form))).__name__)
    VonStengelForges
    PurePlans
    """
    triangle = pairs.triangle
    if triangle is None:
        return VonStengelForges(pairs)
    treeplexes = pairs.form.treeplexes
    sizes = [count_pure_plans(treeplexes[one]) * treeplexes[1 - one].num_sequences for one in (0, 1)]
    player = int(sizes[1] < sizes[0])
    if sizes[player] <= LARGEST:
        return PurePlans(pairs, player)
    names = ", ".join(
        f"{shown(treeplex.infoset_labels[one])} and {shown(treeplex.infoset_labels[two])} of player {who}"
        for who, (treeplex, (one, two)) in enumerate(zip(treeplexes, triangle, strict=True))
    )
    raise UnsupportedProblemError(
        f"correlated equilibria: the infosets {names} form a triangle, and the game has {short_number(sizes[player])} "
        f"combinations of a pure plan and a sequence; expected a triangle-free game, or at most {LARGEST:,} "
        "combinations"
    )


def short_number(number: int) -> str:
    """Return a number for a message; a very large one as a power of ten."""
    return f"{number:,}" if number < 10**9 else f"about 10^{len(str(number)) - 1}"
