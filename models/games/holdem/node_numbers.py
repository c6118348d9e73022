"""Sources of the numbers at a solved spot's nodes: a profile in memory, or a file that is only partly read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from .hand_tables import weighted_means
from .places import WHOLE, Place
from .situation import Situation
from .spot_tree import SpotTree

#: Values are stored at nodes whose subtree has more nodes than this, including the node itself. Values at other nodes
#: are found by a sweep over their subtree. An all-in on the turn has 49 nodes, each on another board.
SWEPT = 48
#: Larger subtrees are not swept: their values come from the file.
_MOST_SWEPT = 1_000
#: Larger values indicate damage: a hand's value is in chips, divided at most by the probability of the rarest hand.
_MOST_VALUE = 1e100


class NodeNumbers(ABC):
    """The strategies, reach, EV and equity of hands at the nodes of a spot.

    Parameters
    ----------
    spot : Situation
    """

    def __init__(self, spot: Situation) -> None:
        self.spot = spot

    @property
    @abstractmethod
    def profile(self) -> PublicProfile:
        """The whole profile, computed from the behaviour."""

    @abstractmethod
    def behaviour(self, place: Place) -> Floats:
        """Return the probability of each action for each hand of the mover, shape (actions, hands)."""

    @abstractmethod
    def values(self, seat: int, place: Place) -> Floats:
        """Return a player's counterfactual values, as :meth:`PublicProfile.counterfactual_values` does."""

    def means(self, place: Place) -> Floats | None:
        """Return both players' mean EV and equity if they are known without computing the values of each hand."""
        return None

    def reach(self, seat: int, place: Place) -> Floats:
        """Return, for each hand, a player's weight times the player's action probabilities on the way."""
        found = np.array(self.spot.weights[seat])
        for before, index in place.steps:
            if before.player == seat:
                found *= self.behaviour(before)[index]
        return found

    def arrival(self, seat: int, place: Place, reach: Floats) -> Floats:
        """Return the probability that each hand reaches a place if its player plays towards it, apart from its weight.

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
        """Return the share of the pot that each hand wins without further betting; NaN if it meets no hand."""
        return self.showdowns(place.board, [self.reach(seat, place) for seat in (0, 1)])[1]

    def showdowns(self, board: Sequence[int], reaches: Sequence[Floats]) -> tuple[list[Floats], tuple[Floats, Floats]]:
        """Return the weight of the hands that each hand meets on a board, and the share of the pot that it wins.

        Parameters
        ----------
        board : sequence of int
        reaches : two ndarrays of float64, shapes (…, hands)
            Both players'.

        Returns
        -------
        met, equities : two ndarrays of float64 each, shapes (…, hands)
            Equities without further betting; NaN if a hand meets none.
        """
        mine, theirs = (reach.T for reach in reaches)
        together = self.spot.together(board)
        met = [together.times(theirs).T, together.transposed_times(mine).T]
        if len(board) == WHOLE:  # also used to find values
            showdown = self.spot.showdown(board)
            won, lost = showdown.times(theirs), showdown.transposed_times(mine)
        else:
            shares = self.spot.won(board)
            won, lost = shares @ theirs, shares.T @ mine
        first, second = (PublicProfile.conditional(*both) for both in zip((won.T, -lost.T), met, strict=True))
        return met, (0.5 + first / 2, 0.5 + second / 2)


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
        """Return the probability of each action for each hand of the mover."""
        return self._profile.behaviour(self._node(place))

    def values(self, seat: int, place: Place) -> Floats:
        """Return a player's counterfactual values."""
        return self._profile.counterfactual_values(seat, self._node(place))


class StoredNumbers(NodeNumbers):
    """The numbers of a file, read on demand.

    Nodes are numbered as in the spot's public form, which is built only for the whole :attr:`profile`. A node's
    children are contiguous, so one number per node suffices to find any of them from the root.

    Parameters
    ----------
    spot : Situation
    arrays : mapping of str to ndarray
        As returned by :func:`stored_arrays`.
    file : str
        The file name, for messages.

    Raises
    ------
    GameFileError
        If they are inconsistent, or when a node is read that does not fit the spot.
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
            raise self._damaged(f"its behaviour has {len(self._behaviour):,} numbers, but its tree needs {ends:,}")
        self._values, self._equities = (
            [self._array(f"{name} {seat}", np.float64, len(self._kept), len(spot.hands[seat])) for seat in (0, 1)]
            for name in ("values", "equities")
        )
        self._dealt = np.array(self._array("dealt", np.int64))
        self._means = self._array("means", np.float64, len(self._dealt), 4)
        self._swept: dict[int, tuple[Floats, Floats]] = {}

    @cached_property
    def profile(self) -> PublicProfile:
        """The whole profile, for which the spot's tree is built; stored values are ignored."""
        form = self.spot.public_form
        return PublicProfile(form, behaviour_blocks(form, self._behaviour))

    def _damaged(self, why: str) -> GameFileError:
        return GameFileError(f"{self._file} is a damaged file of a solved spot: {why}")

    def _array(self, name: str, dtype: Any, *shape: int) -> npt.NDArray[Any]:
        """Return an array after checking its type and its shape; if no shape is given, it must have one dimension."""
        found = self._arrays.get(name)
        if found is None or found.dtype != dtype or (found.shape != shape if shape else found.ndim != 1):
            raise self._damaged(f"its {name} are missing, or their number does not fit its tree")
        return found

    def _after(self, node: int) -> range:
        """Return the indices of a node's children."""
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
        """Return the stored behaviour at a node."""
        start, end = self._blocks[node : node + 2].tolist()
        shape = count, len(self.spot.hands[player])
        if not 0 <= start <= end <= len(self._behaviour) or end - start != count * shape[1]:
            raise self._damaged(f"its behaviour at node {node} has {end - start} numbers, expected {count * shape[1]}")
        return self._behaviour[start:end].reshape(shape)

    def behaviour(self, place: Place) -> Floats:
        """Return the probability of each action for each hand of the mover."""
        node = self._node(place)
        with self._naming():
            block: Floats = PublicProfile.normalised(
                self._block(node, place.player, len(place.names))[None], np.array([node])
            )[0]
            return block

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Add the file's name to an error about its content."""
        try:
            yield
        except GameFileError:
            raise
        except (InvalidGameError, InvalidStrategyError) as error:
            raise self._damaged(str(error)) from None

    def values(self, seat: int, place: Place) -> Floats:
        """Return a player's counterfactual values: stored ones, or from a sweep over the subtree."""
        node = self._node(place)
        row = _row(self._kept, node)
        if row is not None:
            return self._read(self._values[seat], row, _MOST_VALUE)
        if node not in self._swept:
            self._sweep(place, node)
        return self._swept[node][seat]

    def equities(self, place: Place) -> tuple[Floats, Floats]:
        """Return the stored equities, or compute them."""
        row = _row(self._kept, self._node(place))
        if row is None:
            return super().equities(place)
        first, second = (self._read(equities, row, 1.0 + 1e-9) for equities in self._equities)
        return first, second

    def means(self, place: Place) -> Floats | None:
        """Return the stored averages for a place after a card."""
        row = _row(self._dealt, self._node(place))
        return None if row is None else self._read(self._means, row, _MOST_VALUE)

    def _read(self, stored: npt.NDArray[Any], row: int, most: float) -> Floats:
        found: Floats = np.array(stored[row])
        if (np.abs(found) > most).any():
            raise self._damaged(f"values of its nodes exceed {most:g}")
        return found

    def _sweep(self, place: Place, node: int) -> None:
        """Find the values of both players at a node and at all nodes below it; keep those of the last sweep."""
        numbers = list(self._below(node))
        with self._naming():
            form = SpotTree(self.spot, place, len(numbers)).form([self.reach(seat, place) for seat in (0, 1)])
            if len(form.players) != len(numbers):
                raise self._damaged(f"the subtree of {node} has {len(numbers)} nodes, expected {len(form.players)}")
            counts = np.diff(form.ends).tolist()
            played = {
                local: self._block(numbers[local], int(form.players[local]), counts[local])
                for local in form.decisions.tolist()
            }
            profile = PublicProfile(form, played)
            first, second = (
                [profile.counterfactual_values(seat, local) for local in range(len(numbers))] for seat in (0, 1)
            )
        self._swept = dict(zip(numbers, zip(first, second, strict=True), strict=True))

    def _below(self, node: int) -> Iterator[int]:
        """Yield a node and all nodes below it, level by level; a node without stored values has few below it."""
        level, count = [node], 0
        while level:
            count += len(level)
            if count > _MOST_SWEPT:
                raise self._damaged(f"the values of node {node} are missing")
            yield from level
            level = [child for one in level for child in self._after(one)[: _MOST_SWEPT + 1]]


# The content of a file


def _row(nodes: Indices, node: int) -> int | None:
    """Return the position of a node in an increasing list; ``None`` if it is missing."""
    row = int(np.searchsorted(nodes, node))
    return row if row < len(nodes) and nodes[row] == node else None


def stored_arrays(
    numbers: ComputedNumbers, precision: str, progress: Callable[[float], None] | None = None
) -> tuple[dict[str, npt.NDArray[Any]], PublicProfile]:
    """Return the arrays of a file, and the profile in it, whose probabilities are rounded.

    Parameters
    ----------
    numbers : ComputedNumbers
    precision : {"single", "half"}
    progress : callable, optional
        Called with the share of the nodes that are done.

    Returns
    -------
    arrays : dict of str to ndarray
        ``behaviour``; ``children`` and ``blocks``, where the children and the behaviour of each node begin, and after
        the last node where they end; ``kept``, the nodes with stored values, and ``values`` and ``equities`` of both
        players there; ``dealt``, the other nodes after a card, and their ``means``: EV and equity of both players.
    profile : PublicProfile
    """
    form, spot, done = numbers.spot.public_form, numbers.spot, 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(min(1.0, done / (len(form.decisions) + len(form.players))))

    blocks = np.concatenate([[0], np.cumsum(_sizes(form))])
    stored: Any = np.empty(blocks[-1], dtype=np.uint16 if precision == "half" else np.float32)
    for some in form.alike(form.decisions):
        nodes = form.decisions[some]
        played = numbers.profile.behaviours(nodes)
        for start, one in zip(blocks[nodes].tolist(), played, strict=True):
            stored[start : start + one.size] = np.rint(one.ravel() * 65535) if precision == "half" else one.ravel()
        tell(len(nodes))
    rounded = PublicProfile(form, behaviour_blocks(form, stored))
    is_kept = _nodes_below(form) > SWEPT
    is_read = is_kept | (form.players[np.maximum(form.parents, 0)] == CHANCE) & (form.players >= 0)
    kept, dealt = np.flatnonzero(is_kept), np.flatnonzero(is_read & ~is_kept)
    rows = np.zeros(len(form.players), dtype=np.int64)
    rows[kept], rows[dealt] = np.arange(len(kept)), np.arange(len(dealt))
    means = np.empty((len(dealt), 4))
    values, equities = ([np.empty((len(kept), len(held))) for held in spot.hands] for _ in range(2))

    def see(nodes: Indices, reaches: Sequence[Floats], paid: Sequence[Floats]) -> None:
        board = form.boards[nodes[0]]
        own = form.boards[nodes] == board
        tell(int(own.sum()))
        here = np.flatnonzero(own & is_read[nodes])
        if not len(here):
            return
        nodes, reaches, cards = nodes[here], [reach[here] for reach in reaches], spot.boards[board]
        met, won = numbers.showdowns(cards, reaches)
        whole, at = is_kept[nodes], rows[nodes]
        for seat in (0, 1):
            earned, arrival = paid[seat][0, here], met[seat] * (spot.chance(cards) / spot.pairs)
            values[seat][at[whole]], equities[seat][at[whole]] = earned[whole], won[seat][whole]
            evs = PublicProfile.conditional(earned, arrival) + (spot.pot / 2 + spot.paid[nodes, seat])[:, None]
            for column, found in ((seat, evs), (2 + seat, won[seat])):
                means[at[~whole], column] = weighted_means(found, reaches[seat] * arrival)[~whole]

    rounded.keep([], see)
    arrays = {
        "behaviour": stored,
        "children": form.ends,  # nodes are numbered in the order of their parents
        "blocks": blocks,
        "kept": kept,
        "dealt": dealt,
        "means": means,
    }
    for name, both in (("values", values), ("equities", equities)):
        arrays |= {f"{name} {seat}": found for seat, found in enumerate(both)}
    return arrays, rounded


def _nodes_below(form: PublicForm) -> Indices:
    """Return the number of nodes in each subtree, including its root."""
    counts = np.ones(len(form.players), dtype=np.int64)
    for node, parent in zip(range(len(counts) - 1, 0, -1), form.parents[:0:-1].tolist(), strict=True):
        counts[parent] += counts[node]
    return counts


def _sizes(form: PublicForm) -> Indices:
    """Return the size of each node's behaviour."""
    hands = np.array([*map(len, form.states), 0])  # the last entry is for nodes without a mover
    sizes: Indices = np.diff(form.ends) * hands[np.maximum(form.players, CHANCE)]
    return sizes


def behaviour_blocks(form: PublicForm, stored: Any) -> dict[int, Any]:
    """Return the behaviour at each node as views of one array.

    Raises
    ------
    ValueError
        If the size of the array does not fit the form.
    """
    sizes = _sizes(form)
    ends = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    if len(stored) != ends[-1]:
        raise ValueError(f"its behaviour has {len(stored):,} numbers, but its tree needs {ends[-1]:,}")
    return {
        node: stored[ends[node] : ends[node + 1]].reshape(-1, len(form.states[form.players[node]]))
        for node in form.decisions.tolist()
    }
