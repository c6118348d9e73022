"""Common knowledge: the public states of a game as a tree, from labels that the rules define."""

from array import array
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Integers, ReadOnly, frozen
from .checks import check_player, check_whole
from .errors import InvalidGameError, UnsupportedProblemError, shown
from .histories import name_history, walk
from .labels import A_LABEL, check_one_label, is_label
from .rules import CHANCE, TERMINAL, Rules, public_labels
from .sequence_form import SequenceForm


@dataclass(frozen=True, eq=False)
class PublicTree(ReadOnly):
    """The public states of a game, which form a tree; all arrays are read-only.

    A *public state* is a class of histories that is common knowledge: all players can distinguish the class from every
    other class, and know that the others can. Every infoset of every player lies in one class, and the predecessors of
    all histories of a class lie in one class. Subgames are rooted in public states.

    The *level* of a public state is its depth in this tree: the number of player actions and of public chance events on
    the path. A chance event is public if it leads from one public state to more than one. A private chance event (a
    deal of which each player sees a part) does not count and does not create a public state: a history before the deal
    is in the same public state as the histories after it.

    :attr:`Game.public_tree <treeplex.Game.public_tree>` builds it. A depth-first walk numbers each public state when it
    first meets it, so a state comes after its parent.

    Attributes
    ----------
    parents : ndarray of int32, shape (num_states,)
        The parent of each public state; −1 for the root, state 0.
    levels : ndarray of int32, shape (num_states,)
        0 for the root.
    players : tuple of tuple of int
        The players who act in each public state, ascending; empty if only chance acts. A state has more than one
        player only if it is not publicly known whose turn it is.
    infoset_states : tuple of ndarray of int32, shape (num_infosets,)
        For each player, the public state of each infoset, in the order of the sequence form.
    leaf_states : ndarray of int32, shape (num_leaves,)
        The public state of the last history before each leaf, in the order of the sequence form's leaf table; −1 if
        the root is a leaf.
    labels : tuple of hashable, optional
        The label of each public state, if the game's rules define labels.

    Notes
    -----
    Public states are those of V. Kovařík, M. Schmid, N. Burch, M. Bowling, V. Lisý, "Rethinking formal models of
    partially observable multiagent decision making", Artificial Intelligence 303 (2022), 103645. If rules define
    labels, :func:`~treeplex.seqform.public_tree.public_tree_from_rules` finds them, otherwise
    :func:`~treeplex.seqform.public_from_tree.public_tree_from_infosets` does.

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

    def __repr__(self) -> str:
        return f"PublicTree(states={self.num_states}, levels={self.num_levels})"

    @property
    def num_states(self) -> int:
        """Number of public states."""
        return len(self.parents)

    @cached_property
    def num_levels(self) -> int:
        """Number of levels: one more than the largest."""
        return int(self.levels.max(initial=-1)) + 1

    @cached_property
    def _preorder(self) -> tuple[Integers, Integers]:
        """The position of each state in a depth-first walk of the tree, and the first position after its subtree."""
        parents, sizes = self.parents.tolist(), [1] * self.num_states
        for state in range(self.num_states - 1, 0, -1):  # a state comes after its parent
            sizes[parents[state]] += sizes[state]
        places, free = [0] * self.num_states, [1] * self.num_states
        for state in range(1, self.num_states):
            above = parents[state]
            places[state], free[state] = free[above], free[above] + 1
            free[above] += sizes[state]
        found = np.array(places, dtype=np.int32)
        return frozen(found), frozen(found + np.array(sizes, dtype=np.int32))

    @cached_property
    def _walked(self) -> tuple[tuple[Integers, Integers], ...]:
        """The states, each player's infosets and the leaves in depth-first order, with their positions in the walk."""
        places = np.append(self._preorder[0], -1)  # the last entry is for a leaf without a state before it
        found = []
        every = np.arange(self.num_states, dtype=np.int32)
        for states in (every, *self.infoset_states, self.leaf_states):
            order = np.argsort(places[states], kind="stable").astype(np.int32)
            found.append((frozen(order), frozen(places[states][order])))
        return tuple(found)

    def subgames_of(self, roots: Integers, states: npt.NDArray[Any] | None = None) -> npt.NDArray[np.int64]:
        """Return the number of the subgame that contains each public state.

        Parameters
        ----------
        roots : ndarray of int
            The root states of the subgames, none below another.
        states : ndarray of int, optional
            Public states, or −1; by default all of them.

        Returns
        -------
        ndarray of int64, shape (number of states,)
            The index in `roots`; −1 above all subgames.

        Examples
        --------
        >>> import numpy as np
        >>> from treeplex import load_game
        >>> load_game("kuhn").public_tree.subgames_of(np.array([1, 3])).tolist()
        [-1, 0, 0, 1]
        """
        places, ends = self._preorder
        here = places if states is None else np.append(places, np.int32(-1))[states]
        order = np.argsort(places[roots], kind="stable")
        at = np.searchsorted(places[roots][order], here, side="right") - 1
        numbers = np.append(order, -1)[at].astype(np.int64)
        numbers[here >= np.append(ends[roots], -1)[numbers]] = -1
        return numbers

    def below(self, roots: Integers, player: int | None = None) -> Integers:
        """Return the numbers of the public states in subgames, or of a player's infosets there, in ascending order.

        The running time depends on the size of the result, not of the whole tree.

        Parameters
        ----------
        roots : ndarray of int
            The root states of the subgames, none below another.
        player : int, optional
        """
        return self._slices(roots, 0 if player is None else 1 + player)

    def leaves_below(self, roots: Integers) -> Integers:
        """Return the leaves in subgames, as :meth:`below` does."""
        return self._slices(roots, len(self._walked) - 1)

    def _slices(self, roots: Integers, kind: int) -> Integers:
        order, walked = self._walked[kind]
        firsts, lasts = (np.searchsorted(walked, bounds[roots]).tolist() for bounds in self._preorder)
        parts = [order[first:last] for first, last in zip(firsts, lasts, strict=True)]
        return np.sort(np.concatenate([order[:0], *parts]))

    def outermost(self, states: Integers) -> Integers:
        """Return the given public states that are not below another given state, in the order of a walk."""
        places, ends = self._preorder
        states = states[np.argsort(places[states], kind="stable")]
        passed = np.maximum.accumulate(np.append(np.int32(0), ends[states]))[:-1]
        return states[places[states] >= passed]

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
        player = check_player(player, len(self.infoset_states), InvalidGameError)
        return frozen(self.levels[self.infoset_states[player]])

    def ancestors_at(self, level: int) -> Integers:
        """Return each public state's ancestor at a level, or the state itself: the root of its subgame.

        Parameters
        ----------
        level : int
            At least 0.

        Returns
        -------
        ndarray of int32, shape (num_states,)
            −1 for states above the level.

        Raises
        ------
        InvalidGameError
            If the level is not a whole number of at least 0.

        Examples
        --------
        >>> from treeplex import load_game
        >>> load_game("kuhn").public_tree.ancestors_at(1).tolist()
        [-1, 1, 1, 3]
        """
        level = check_whole(level, "level", InvalidGameError)
        ancestors = np.arange(self.num_states, dtype=np.int32)
        ancestors[self.levels < level] = -1
        order = np.argsort(self.levels, kind="stable")
        bounds = np.searchsorted(self.levels[order], np.arange(level + 1, self.num_levels + 1))
        for start, end in pairwise(bounds.tolist()):
            below = order[start:end]
            ancestors[below] = ancestors[self.parents[below]]
        return frozen(ancestors)


def check_order(walked: Sequence[Iterable[Hashable]], form: SequenceForm | None) -> None:
    """Raise an error if a sequence form numbers infosets in a different order from a walk over the rules.

    Parameters
    ----------
    walked : sequence of iterables of hashable
        The labels of each player's infosets.
    form : SequenceForm or None
        If it is ``None``, nothing is checked.

    Raises
    ------
    UnsupportedProblemError
    """
    if form is not None and [tuple(labels) for labels in walked] != [each.infoset_labels for each in form.treeplexes]:
        raise UnsupportedProblemError(
            "the infosets of the given sequence form and of the rules differ, or their order does: public states "
            "need the sequence form that follows from the rules"
        )


def contracted(
    parents: Sequence[int],
    players: Sequence[set[int]],
    infoset_states: Sequence[npt.ArrayLike],
    leaf_states: npt.ArrayLike,
    labels: Sequence[Hashable] | None = None,
) -> PublicTree:
    """Make a public tree from states that may still include private chance events.

    A state in which no player acts and that has only one successor is merged into this successor, whose label is kept.

    Parameters
    ----------
    parents : sequence of int
        The parent of each state, which comes earlier in the order; −1 for the root.
    players : sequence of set of int
        The players who act in each state, not counting chance.
    infoset_states, leaf_states : array_like of int
        As in :class:`PublicTree`, with the numbers of the given states.
    labels : sequence of hashable, optional

    Returns
    -------
    PublicTree
    """
    followers = [0] * len(parents)
    for parent in parents:
        if parent >= 0:
            followers[parent] += 1
    number: list[int] = []  # the new number of each given state
    kept: list[int] = []  # the last given state that was merged into each new state
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
    numbers = np.asarray([*number, -1], dtype=np.int32)  # the last entry is for a leaf without a state before it
    return PublicTree(
        parents=np.asarray(above, dtype=np.int32),
        levels=np.asarray(levels, dtype=np.int32),
        players=tuple(tuple(sorted(players[state])) for state in kept),
        infoset_states=tuple(numbers[np.asarray(states, dtype=np.int32)] for states in infoset_states),
        leaf_states=numbers[np.asarray(leaf_states, dtype=np.int32)],
        labels=None if labels is None else tuple(labels[state] for state in kept),
    )


def public_tree_from_rules(rules: Rules, form: SequenceForm | None = None) -> PublicTree:
    """Collect the public states of a game whose rules define ``public_state``, in one walk without building a tree.

    Parameters
    ----------
    rules : Rules
        Already checked by :func:`~treeplex.seqform.enumeration.enumerate_game`.
    form : SequenceForm, optional
        The sequence form of the rules, to check that it has the same infosets.

    Returns
    -------
    PublicTree

    Raises
    ------
    InvalidGameError
        If the rules have no public states, a label is not hashable, or labels violate a requirement below. The
        message names the infoset, and histories by their action paths.
    UnsupportedProblemError
        If the sequence form belongs to another game.

    Notes
    -----
    ``public_state(state)`` labels every history that is not a leaf. Two histories are in one public state if their
    labels are equal. Labels form a public tree if

    - all histories of an infoset have one label;
    - a player's action changes the label;
    - a chance event changes the label at all of its outcomes, or at none if it is a private deal;
    - histories with one label were in one public state before the label last changed.

    Labels may be coarser than common knowledge, which makes subgames larger. For example, if there are so few cards
    that all players can infer the others' cards, labels of the shown cards are not the finest public states.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.public_tree import public_tree_from_rules
    >>> public_tree_from_rules(load_game("leduc:merge_suits=true").rules)
    PublicTree(states=101, levels=9)
    """
    label_of = public_labels(rules)
    if label_of is None:
        raise InvalidGameError(f"{shown(rules)} has no method public_state: its public states follow from infosets")
    numbers: dict[Hashable, int] = {}  # the public state of each label
    labels: list[Hashable] = []
    parents: list[int] = []
    first_met: list[int] = []  # the number of one history of each state
    players: list[set[int]] = []
    infosets: list[dict[Hashable, tuple[int, int]]] = [{} for _ in range(rules.num_players)]
    leaf_states = array("i")
    for history in walk(rules):
        # The data of a history: its public state and, at a chance node, the effect of its outcomes on the label: True
        # if an outcome has changed it, False if an outcome has not.
        before, changes = (-1, None) if history.before is None else history.before.data
        if history.player == TERMINAL:
            leaf_states.append(before)
            continue
        label = label_of(history.state)
        try:
            here = numbers.get(label, -1)
        except TypeError:
            here = -1
        if here >= 0:
            check_one_label(label, labels[here], "two public states")
        if here < 0:
            if not is_label(label):
                raise InvalidGameError(f"{history} has the public state {shown(label)}, expected {A_LABEL}")
            here = len(parents)
            numbers[label] = here
            labels.append(label)
            parents.append(before)
            players.append(set())
            first_met.append(history.number)
        elif here == before:
            if changes is None:
                raise InvalidGameError(
                    f"{history} has the public state {shown(label)}, the same as before its last action, expected "
                    "another: a player's action always changes the public state, because it shows who has moved"
                )
        elif parents[here] != before:
            raise InvalidGameError(
                f"{name_history(rules, first_met[here])} and {history} have the public state {shown(label)}, but came "
                "from different public states: public states must form a tree"
            )
        if changes is not None:
            changes.append(here != before)
            if changes[0] != changes[-1]:
                raise InvalidGameError(
                    f"{history} is an outcome of a chance node with the public state {shown(labels[before])}, "
                    "which some outcomes change and others do not: expected all to change it, or none if it is private"
                )
        if history.player == CHANCE:
            history.data = here, []
            continue
        history.data = here, None
        players[here].add(int(history.player))
        infoset = rules.infoset(history.state)
        state, first = infosets[history.player].setdefault(infoset, (here, history.number))
        if state != here:
            raise InvalidGameError(
                f"infoset {shown(infoset)} of player {history.player} lies in two public states: "
                f"{name_history(rules, first)} has {shown(labels[state])} and {history} has {shown(labels[here])}, "
                "expected the same"
            )
    check_order(infosets, form)
    return contracted(
        parents,
        players,
        [[state for state, _ in found.values()] for found in infosets],
        leaf_states,
        labels,
    )
