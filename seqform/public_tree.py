"""What everybody knows: the public states of a game as a tree, with its levels."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Integers
from .errors import InvalidGameError, UnsupportedProblemError, shown
from .sequence_form import SequenceForm


@dataclass(frozen=True, eq=False)
class PublicTree:
    """The public states of a game, which form a tree; all arrays are read-only.

    A *public state* is a class of histories that all players can tell from every other class, and know of each other
    that they can: common knowledge. Every infoset of every player lies in one class, and all histories of a class have
    their predecessors in one class. Subgames are rooted in public states.

    The *level* of a public state is its depth in this tree: the number of player actions and of public chance events
    on the way. A chance event is public if it leads from one public state to more than one. Private chance events (a
    deal that each player sees a part of) neither count nor make a public state of their own: a history before the deal
    lies in the same public state as those after it.

    :attr:`Game.public_tree <treeplex.Game.public_tree>` makes it. Public states are numbered in the order in which a
    depth-first walk first meets them, so that a state comes after its parent.

    Attributes
    ----------
    parents : ndarray of int32, shape (num_states,)
        The public state before each one; −1 for the root, state 0.
    levels : ndarray of int32, shape (num_states,)
        0 for the root.
    players : tuple of tuple of int
        Who acts in each public state, in rising order; nobody where chance alone does. More than one player only
        where it is not publicly known whose turn it is.
    infoset_states : tuple of ndarray of int32, shape (num_infosets,)
        For each player, the public state of each infoset, in the order of the sequence form.
    leaf_states : ndarray of int32, shape (num_leaves,)
        The public state of the last history before each leaf, in the order of the sequence form's leaf table; −1 if
        the root is a leaf.
    labels : tuple of hashable, optional
        The label of each public state, where the game's rules give them.

    Notes
    -----
    Public states are those of V. Kovařík, M. Schmid, N. Burch, M. Bowling, V. Lisý, "Rethinking formal models of
    partially observable multiagent decision making", Artificial Intelligence 303 (2022), 103645. How they are found:
    :func:`~treeplex.seqform.public_from_rules.public_tree_from_rules` where rules give labels,
    :func:`~treeplex.seqform.public_from_tree.public_tree_from_infosets` otherwise.

    Examples
    --------
    >>> from treeplex import load_game
    >>> public = load_game("kuhn").public_tree
    >>> public
    PublicTree(states=4, levels=3)
    >>> public.labels
    ('', 'p', 'pb', 'b')
    >>> public.parents.tolist(), public.levels.tolist(), public.players
    ([-1, 0, 1, 0], [0, 1, 2, 1], ((0,), (1,), (0,), (1,)))
    >>> public.infoset_levels(0).tolist()  # three cards, at the start and facing a bet
    [0, 2, 0, 2, 0, 2]
    """

    parents: Integers
    levels: Integers
    players: tuple[tuple[int, ...], ...]
    infoset_states: tuple[Integers, ...]
    leaf_states: Integers
    labels: tuple[Hashable, ...] | None = None

    def __post_init__(self) -> None:
        for array in self._arrays():
            array.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in self._arrays():
            array.flags.writeable = False  # stored arrays come back writeable

    def __repr__(self) -> str:
        return f"PublicTree(states={self.num_states}, levels={self.num_levels})"

    def _arrays(self) -> tuple[Integers, ...]:
        return self.parents, self.levels, self.leaf_states, *self.infoset_states

    @property
    def num_states(self) -> int:
        """Number of public states."""
        return len(self.parents)

    @cached_property
    def num_levels(self) -> int:
        """Number of levels: one more than the largest."""
        return int(self.levels.max(initial=-1)) + 1

    def infoset_levels(self, player: int) -> Integers:
        """Return the level of each of a player's infosets.

        Parameters
        ----------
        player : int

        Returns
        -------
        ndarray of int32, shape (num_infosets,)

        Raises
        ------
        InvalidGameError
            If there is no such player.
        """
        count = len(self.infoset_states)
        if not isinstance(player, Integral) or isinstance(player, bool) or player not in range(count):
            raise InvalidGameError(f"player {shown(player)} is none of the game's: it has players 0 to {count - 1}")
        return _frozen(self.levels[self.infoset_states[int(player)]])

    def ancestors_at(self, level: int) -> Integers:
        """Return the public state of a level that each public state lies in or below: the root of its subgame.

        Parameters
        ----------
        level : int
            From 0 on.

        Returns
        -------
        ndarray of int32, shape (num_states,)
            −1 for states above the level.

        Raises
        ------
        InvalidGameError
            If the level is no whole number from 0 on.

        Examples
        --------
        >>> from treeplex import load_game
        >>> load_game("kuhn").public_tree.ancestors_at(1).tolist()
        [-1, 1, 1, 3]
        """
        if not isinstance(level, Integral) or isinstance(level, bool) or level < 0:
            raise InvalidGameError(f"level {shown(level)} of a public tree: expected a whole number from 0 on")
        ancestors = np.arange(self.num_states, dtype=np.int32)
        ancestors[self.levels < level] = -1
        order = np.argsort(self.levels, kind="stable")
        bounds = np.searchsorted(self.levels[order], np.arange(level + 1, self.num_levels + 1))
        for start, end in pairwise(bounds.tolist()):
            below = order[start:end]
            ancestors[below] = ancestors[self.parents[below]]
        return _frozen(ancestors)


def check_order(walked: Sequence[Iterable[Hashable]], form: SequenceForm | None) -> None:
    """Refuse a sequence form that numbers infosets otherwise than a walk over the rules meets them.

    Parameters
    ----------
    walked : sequence of iterables of hashable
        The labels of each player's infosets.
    form : SequenceForm or None
        Nothing is checked without one.

    Raises
    ------
    UnsupportedProblemError
    """
    if form is not None and [tuple(labels) for labels in walked] != [each.infoset_labels for each in form.treeplexes]:
        raise UnsupportedProblemError(
            "the sequence form was given beside the rules and has other infosets, or in another order: public states "
            "need the one that follows from the rules"
        )


def contracted(
    parents: Sequence[int],
    players: Sequence[set[int]],
    infoset_states: Sequence[npt.ArrayLike],
    leaf_states: npt.ArrayLike,
    labels: Sequence[Hashable] | None = None,
) -> PublicTree:
    """Make a public tree of states among which there still are private chance events.

    A state in which nobody acts and that only one state follows tells nobody anything: it becomes part of the one that
    follows, whose label is kept.

    Parameters
    ----------
    parents : sequence of int
        The state before each one, which comes earlier in order; −1 for the root.
    players : sequence of set of int
        Who acts in each state, chance not counted.
    infoset_states, leaf_states : array_like of int
        As in :class:`PublicTree`, by the numbers of the given states.
    labels : sequence of hashable, optional

    Returns
    -------
    PublicTree
    """
    followers = [0] * len(parents)
    for parent in parents:
        if parent >= 0:
            followers[parent] += 1
    number: list[int] = []  # of each given state, among those that are left
    kept: list[int] = []  # the last of the given states that each is made of
    above: list[int] = []
    levels: list[int] = []
    for state, parent in enumerate(parents):
        if parent >= 0 and not players[parent] and followers[parent] == 1:
            number.append(number[parent])
            kept[number[parent]] = state
        else:
            number.append(len(kept))
            kept.append(state)
            above.append(number[parent] if parent >= 0 else -1)
            levels.append(levels[above[-1]] + 1 if parent >= 0 else 0)
    numbers = np.asarray([*number, -1], dtype=np.int32)  # the last is for a leaf without a state before it
    return PublicTree(
        parents=np.asarray(above, dtype=np.int32),
        levels=np.asarray(levels, dtype=np.int32),
        players=tuple(tuple(sorted(players[state])) for state in kept),
        infoset_states=tuple(numbers[np.asarray(states, dtype=np.int32)] for states in infoset_states),
        leaf_states=numbers[np.asarray(leaf_states, dtype=np.int32)],
        labels=None if labels is None else tuple(labels[state] for state in kept),
    )


def _frozen(array: Integers) -> Integers:
    array.flags.writeable = False
    return array
