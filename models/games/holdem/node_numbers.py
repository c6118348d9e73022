"""Where the numbers of a solved spot's nodes come from: a profile in memory, or a file of which little is read."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ....seqform.arrays import Floats, Indices
from ....seqform.errors import GameFileError, InvalidGameError, InvalidStrategyError
from ....seqform.public_form import PublicForm
from ....seqform.public_profile import PublicProfile
from ....seqform.rules import CHANCE
from ....seqform.strategy import Profile
from .places import WHOLE, Place
from .situation import Situation
from .spot_tree import SpotTree

#: Values are stored at nodes with more nodes below them than this, themselves counted. The values of others are found
#: by a sweep over what is below them. An all-in on the turn has 49 nodes, each on another board.
SWEPT = 48
#: More nodes are not swept: where there are so many, values have been taken from the file.
_MOST_SWEPT = 1_000
#: Larger values are damage: that of a hand is in chips, divided by how likely the least likely hand is at most.
_MOST_VALUE = 1e100


class NodeNumbers(ABC):
    """The actions of hands at the nodes of a spot, their reach, and what they earn and win.

    Parameters
    ----------
    spot : Situation
    """

    def __init__(self, spot: Situation) -> None:
        self.spot = spot

    @property
    @abstractmethod
    def profile(self) -> PublicProfile:
        """The whole profile, of which everything is computed from the behaviour."""

    @abstractmethod
    def behaviour(self, place: Place) -> Floats:
        """Return how likely each action is for each hand of who moves, shape (actions, hands)."""

    @abstractmethod
    def values(self, seat: int, place: Place) -> Floats:
        """Return a player's counterfactual values, as :meth:`PublicProfile.counterfactual_values` does."""

    def means(self, place: Place) -> Floats | None:
        """Return the average EV of both players and their average equity where that is known without their hands'."""
        return None

    def reach(self, seat: int, place: Place) -> Floats:
        """Return a player's weights times what it plays on the way, by hand."""
        found = np.array(self.spot.weights[seat])
        for before, index in place.steps:
            if before.player == seat:
                found *= self.behaviour(before)[index]
        return found

    def arrival(self, seat: int, place: Place, reach: Floats) -> Floats:
        """Return how likely each hand comes to a place if its player goes there, own weight aside.

        Parameters
        ----------
        seat : {0, 1}
        place : Place
        reach : ndarray of float64
            The other player's.
        """
        together = self.spot.together(place.board)
        met: Floats = together.times(reach) if seat == 0 else together.transposed_times(reach)
        return place.chance / self.spot.pairs * met

    def equities(self, place: Place) -> tuple[Floats, Floats]:
        """Return what part of the pot each hand of both players wins if nobody bets any more; NaN if it meets none."""
        mine, theirs = (self.reach(seat, place) for seat in (0, 1))
        together = self.spot.together(place.board)
        if len(place.board) == WHOLE:  # what values are found with too
            showdown = self.spot.showdown(place.board)
            won, lost = showdown.times(theirs), showdown.transposed_times(mine)
        else:
            shares = self.spot.won(place.board)
            won, lost = shares @ theirs, mine @ shares
        first = PublicProfile.conditional(won, together.times(theirs))
        second = PublicProfile.conditional(-lost, together.transposed_times(mine))
        return 0.5 + first / 2, 0.5 + second / 2


class ComputedNumbers(NodeNumbers):
    """The numbers of a profile in memory, computed on first use.

    Parameters
    ----------
    spot : Situation
    profile : PublicProfile or Profile
    """

    def __init__(self, spot: Situation, profile: PublicProfile | Profile) -> None:
        super().__init__(spot)
        self._profile = PublicProfile.of(spot.public_form, profile)

    @property
    def profile(self) -> PublicProfile:
        """The profile."""
        return self._profile

    def _node(self, place: Place) -> int:
        node, children = 0, self.spot.public_form.children
        for _, index in place.steps:
            node = int(children[node][index])
        return node

    def behaviour(self, place: Place) -> Floats:
        """Return how likely each action is for each hand of who moves."""
        return self._profile.behaviour(self._node(place))

    def values(self, seat: int, place: Place) -> Floats:
        """Return a player's counterfactual values."""
        return self._profile.counterfactual_values(seat, self._node(place))


class StoredNumbers(NodeNumbers):
    """The numbers of a file, read on demand.

    Nodes are numbered as in the spot's public form, which is built only for the whole :attr:`profile`: a node's
    children lie side by side, so that one number a node leads from the root to any of them.

    Parameters
    ----------
    spot : Situation
    arrays : mapping of str to ndarray
        As :func:`stored_arrays` returns them.
    file : str
        The file, for messages.

    Raises
    ------
    GameFileError
        If they do not fit each other, or when a node is read that does not fit the spot.
    """

    def __init__(self, spot: Situation, arrays: Mapping[str, npt.NDArray[Any]], file: str) -> None:
        super().__init__(spot)
        self._arrays, self._file = arrays, file
        self._behaviour = arrays["behaviour"]
        self._children = self._array("children", np.int64)
        self._blocks = self._array("blocks", np.int64, len(self._children))
        self._kept = np.array(self._array("kept", np.int64))
        if len(self._children) < 2 or self._blocks[-1] != len(self._behaviour):
            ends = int(self._blocks[-1]) if len(self._blocks) else 0
            raise self._damaged(f"its behaviour has {len(self._behaviour):,} numbers, and the spot's tree {ends:,}")
        self._values, self._equities = (
            [self._array(f"{name} {seat}", np.float64, len(self._kept), len(spot.hands[seat])) for seat in (0, 1)]
            for name in ("values", "equities")
        )
        self._dealt = np.array(self._array("dealt", np.int64))
        self._means = self._array("means", np.float64, len(self._dealt), 4)
        self._swept: dict[int, tuple[Floats, Floats]] = {}

    @cached_property
    def profile(self) -> PublicProfile:
        """The whole profile, for which the spot's tree is built; stored values are not looked at."""
        form = self.spot.public_form
        return PublicProfile(form, behaviour_blocks(form, self._behaviour))

    def _damaged(self, why: str) -> GameFileError:
        return GameFileError(f"{self._file} is a damaged file of a solved spot: {why}")

    def _array(self, name: str, dtype: Any, *shape: int) -> npt.NDArray[Any]:
        """Return an array, which must be of a type and a shape, or have one dimension if none is given."""
        found = self._arrays.get(name)
        if found is None or found.dtype != dtype or (found.shape != shape if shape else found.ndim != 1):
            raise self._damaged(f"its {name} are missing, or not as many as its tree needs")
        return found

    def _after(self, node: int) -> range:
        """Return the numbers of a node's children."""
        first, end = self._children[node : node + 2].tolist()
        if not node < first <= end < len(self._children):
            raise self._damaged(f"the children of node {node} are {first} to {end}")
        return range(first, end)

    def _node(self, place: Place) -> int:
        node = 0
        for before, index in place.steps:
            children = self._after(node)
            if len(children) != len(before.names):
                raise self._damaged(f"node {node} has {len(children)} children, expected {len(before.names)}")
            node = children[index]
        return node

    def _block(self, node: int, player: int, count: int) -> Any:
        """Return the behaviour at a node as it is stored."""
        start, end = self._blocks[node : node + 2].tolist()
        shape = count, len(self.spot.hands[player])
        if not 0 <= start <= end <= len(self._behaviour) or end - start != count * shape[1]:
            raise self._damaged(f"its behaviour at node {node} has {end - start} numbers, expected {count * shape[1]}")
        return self._behaviour[start:end].reshape(shape)

    def behaviour(self, place: Place) -> Floats:
        """Return how likely each action is for each hand of who moves."""
        node = self._node(place)
        with self._naming():
            return PublicProfile.normalised(self._block(node, place.player, len(place.names)), node)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Let an error about what is read say which file it is about."""
        try:
            yield
        except GameFileError:
            raise
        except (InvalidGameError, InvalidStrategyError) as error:
            raise self._damaged(str(error)) from None

    def values(self, seat: int, place: Place) -> Floats:
        """Return a player's counterfactual values: those that are stored, or of a sweep over what is below."""
        node = self._node(place)
        row = _row(self._kept, node)
        if row is not None:
            return self._read(self._values[seat], row, _MOST_VALUE)
        if node not in self._swept:
            self._sweep(place, node)
        return self._swept[node][seat]

    def equities(self, place: Place) -> tuple[Floats, Floats]:
        """Return the equities that are stored, or computed ones."""
        row = _row(self._kept, self._node(place))
        if row is None:
            return super().equities(place)
        first, second = (self._read(equities, row, 1.0 + 1e-9) for equities in self._equities)
        return first, second

    def means(self, place: Place) -> Floats | None:
        """Return the averages that are stored for a place after a card."""
        row = _row(self._dealt, self._node(place))
        return None if row is None else self._read(self._means, row, _MOST_VALUE)

    def _read(self, stored: npt.NDArray[Any], row: int, most: float) -> Floats:
        found: Floats = np.array(stored[row])
        if (np.abs(found) > most).any():
            raise self._damaged(f"values of its nodes are over {most:g}")
        return found

    def _sweep(self, place: Place, node: int) -> None:
        """Find the values of both players at a node and at all nodes below it, and keep those of the last sweep."""
        numbers = list(self._below(node))
        with self._naming():
            form = SpotTree(self.spot, place, len(numbers)).form([self.reach(seat, place) for seat in (0, 1)])
            if len(form.players) != len(numbers):
                raise self._damaged(f"there are {len(numbers)} nodes from {node} on, expected {len(form.players)}")
            counts = np.diff(form.ends).tolist()
            played = {
                local: self._block(numbers[local], int(form.players[local]), counts[local])
                for local in form.decisions.tolist()
            }
            profile = PublicProfile(form, played)
            (nodes, first), (_, second) = (profile.all_values(seat) for seat in (0, 1))
        self._swept = {numbers[local]: (first[row], second[row]) for row, local in enumerate(nodes.tolist())}

    def _below(self, node: int) -> Iterator[int]:
        """Yield a node and all below it, level by level; there are few where its values are not stored."""
        level, count = [node], 0
        while level:
            count += len(level)
            if count > _MOST_SWEPT:
                raise self._damaged(f"the values of its node {node} are missing")
            yield from level
            level = [child for one in level for child in self._after(one)[: _MOST_SWEPT + 1]]


# What a file holds


def _row(nodes: Indices, node: int) -> int | None:
    """Return where a node stands among some in rising order; ``None`` if it is not one of them."""
    row = int(np.searchsorted(nodes, node))
    return row if row < len(nodes) and nodes[row] == node else None


def stored_arrays(numbers: ComputedNumbers, precision: str) -> tuple[dict[str, npt.NDArray[Any]], PublicProfile]:
    """Return the arrays of a file, and the profile that is in it, whose probabilities are rounded.

    Parameters
    ----------
    numbers : ComputedNumbers
    precision : {"single", "half"}

    Returns
    -------
    arrays : dict of str to ndarray
        ``behaviour``; ``children`` and ``blocks``, of each node where its children and its behaviour begin, and behind
        the last one where they end; ``kept``, the nodes whose values are stored, and ``values`` and ``equities`` of
        both players there; ``dealt``, the other nodes after a card, whose ``means`` are to be added.
    profile : PublicProfile
    """
    form, spot = numbers.spot.public_form, numbers.spot
    behaviours = [numbers.profile.behaviour(node).ravel() for node in form.decisions.tolist()]
    played = np.concatenate(behaviours or [np.zeros(0)])  # with nothing behind, nobody decides
    stored: Any = np.rint(played * 65535).astype(np.uint16) if precision == "half" else played.astype(np.float32)
    del behaviours, played
    rounded = PublicProfile(form, behaviour_blocks(form, stored))
    is_kept = _nodes_below(form) > SWEPT
    kept = np.flatnonzero(is_kept)
    dealt = np.flatnonzero((form.players[np.maximum(form.parents, 0)] == CHANCE) & (form.players >= 0) & ~is_kept)
    rounded.keep([*kept.tolist(), *dealt.tolist()])
    arrays = {
        "behaviour": stored,
        "children": form.ends,  # nodes are numbered in the order of their parents
        "blocks": np.concatenate([[0], np.cumsum(_sizes(form))]),
        "kept": kept,
        "dealt": dealt,
    }
    for seat in (0, 1):
        none = np.zeros((0, len(spot.hands[seat])))
        arrays[f"values {seat}"] = np.array(
            [rounded.counterfactual_values(seat, node) for node in kept.tolist()] or none
        )
    equities = _equities(spot, rounded, kept)
    arrays |= {f"equities {seat}": equities[seat] for seat in (0, 1)}
    return arrays, rounded


def _equities(spot: Situation, profile: PublicProfile, kept: Indices) -> Sequence[Floats]:
    """Return the equities of both players at some nodes, board by board."""
    found = [np.empty((len(kept), len(held))) for held in spot.hands]
    form, numbers = profile.form, ComputedNumbers(spot, profile)
    for row in np.argsort(form.boards[kept], kind="stable").tolist():
        place = Place.at(spot, ", ".join(map(str, form.path(int(kept[row])))))
        for seat, equities in enumerate(numbers.equities(place)):
            found[seat][row] = equities
    return found


def _nodes_below(form: PublicForm) -> Indices:
    """Return how many nodes there are at and below each."""
    counts = np.ones(len(form.players), dtype=np.int64)
    for node, parent in zip(range(len(counts) - 1, 0, -1), form.parents[:0:-1].tolist(), strict=True):
        counts[parent] += counts[node]
    return counts


def _sizes(form: PublicForm) -> Indices:
    """Return how many numbers each node's behaviour has."""
    hands = np.array([*map(len, form.states), 0])  # the last one is where nobody moves
    sizes: Indices = np.diff(form.ends) * hands[np.maximum(form.players, CHANCE)]
    return sizes


def behaviour_blocks(form: PublicForm, stored: Any) -> dict[int, Any]:
    """Return the behaviour at each node, parts of one array.

    Raises
    ------
    ValueError
        If it has another number of numbers than the form.
    """
    sizes = _sizes(form)
    ends = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    if len(stored) != ends[-1]:
        raise ValueError(f"its behaviour has {len(stored):,} numbers, and the spot's tree {ends[-1]:,}")
    return {
        node: stored[ends[node] : ends[node + 1]].reshape(-1, len(form.states[form.players[node]]))
        for node in form.decisions.tolist()
    }
