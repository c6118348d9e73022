"""A game's histories as flat arrays that compiled samplers walk."""

from array import array
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ...seqform.arrays import Floats, Integers
from ...seqform.budget import Budget, Watch, view_bytes
from ...seqform.errors import InvalidGameError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.public_tree import check_order
from ...seqform.rules import CHANCE, TERMINAL, Rules, outcomes_of
from ...seqform.sequence_form import SequenceForm
from ..records import record
from .splitmix import cumulative

#: Columns of the table of histories: the mover, the first child, the number of children, and the place of the data.
MOVER, CHILD, COUNT, PLACE = 0, 1, 2, 3


@record
class TreeArrays(NamedTuple):
    """The arrays of a :class:`HistoryTree` that compiled functions read."""

    nodes: Any
    chance: Any
    payoffs: Any
    infosets: Any
    ranges: Any


@dataclass(frozen=True, eq=False)
class HistoryTree:
    """The histories of a game; all arrays are read-only.

    Sequences of all players are numbered consecutively: sequence ``s`` of player ``i`` has the *position* ``bases[i] +
    s``.

    Attributes
    ----------
    nodes : ndarray of int32, shape (num_nodes, 4)
        For each history: the mover (including :data:`~treeplex.seqform.rules.CHANCE` and
        :data:`~treeplex.seqform.rules.TERMINAL`), its first child, which the others follow, and the number of
        children. Then the position of the infoset's first sequence; at a chance node, the place of the first
        outcome in ``chance``; at a leaf, its number in the leaf table. The root is history 0.
    chance : ndarray of float64
        The cumulative probabilities of each chance node; the last is 1.
    payoffs : ndarray of float64, shape (num_leaves, num_players)
        The payoffs of the leaf table.
    infosets : ndarray of int32, shape (num_infosets, 3)
        For the infosets of each player in turn: the position of the first sequence, the number of sequences, and
        the position of the parent sequence.
    bases : ndarray of int64, shape (num_players + 1,)
        The position of each player's empty sequence, followed by the number of positions.
    ranges : ndarray of int64, shape (num_players + 1,)
        Player ``i`` has the infosets ``ranges[i]:ranges[i + 1]``.
    length : int
        The largest number of moves of a history, including chance's.
    depth, width : int
        The largest number of decisions of one player on a path, and of their actions together.

    Examples
    --------
    >>> from treeplex import load_game
    >>> tree = history_tree(load_game("kuhn"))
    >>> tree.num_nodes, tree.num_positions, tree.depth, tree.width
    (58, 26, 2, 4)
    """

    nodes: Integers
    chance: Floats
    payoffs: Floats
    infosets: Integers
    bases: np.ndarray[tuple[int], np.dtype[np.int64]]
    ranges: np.ndarray[tuple[int], np.dtype[np.int64]]
    length: int
    depth: int
    width: int

    @property
    def num_nodes(self) -> int:
        """Number of histories, including the root and the leaves."""
        return len(self.nodes)

    @property
    def num_players(self) -> int:
        """Number of players, not counting chance."""
        return int(self.payoffs.shape[1])

    @property
    def num_positions(self) -> int:
        """Number of sequences of all players."""
        return int(self.bases[-1])

    @property
    def arrays(self) -> TreeArrays:
        """The arrays that compiled functions read."""
        return TreeArrays(self.nodes, self.chance, self.payoffs, self.infosets, self.ranges)

    def __repr__(self) -> str:
        return f"HistoryTree(histories={self.num_nodes}, positions={self.num_positions})"


def history_tree(game: Game, memory: int | str | None = None) -> HistoryTree:
    """Walk a game once and store its histories in arrays, with 16 bytes per history.

    Parameters
    ----------
    game : Game
    memory : int or str, optional
        The memory budget, as for :func:`~treeplex.seqform.enumeration.enumerate_game`.

    Returns
    -------
    HistoryTree

    Raises
    ------
    InvalidGameError
        If it is not a game.
    UnsupportedProblemError
        If the game has no histories, or its sequence form does not follow from them.
    GameTooLargeError
        If it exceeds the budget.
    """
    if not isinstance(game, Game):
        raise InvalidGameError(f"game is {shown(game)}, expected a Game, such as load_game returns")
    rules = game.rules
    if rules is None:
        raise UnsupportedProblemError(f"{game.spec} has no histories, expected rules or a tree: sampling needs them")
    form = game.sequence_form  # building it checks the rules
    if form.leaves is None or any(not treeplex.single_parent for treeplex in form.treeplexes):
        raise UnsupportedProblemError(f"{game.spec} has no table of leaves: sampling needs one")
    budget = Budget(memory)
    histories = form.num_nodes or len(form.leaves)
    budget.require(view_bytes(form.num_players, histories, 0), f"{game.spec}: {histories:,} histories as arrays")
    nodes, chance, num_leaves, length, labels = _walk(rules, game, budget)
    check_order(labels, form)
    if num_leaves != len(form.leaves):
        _refuse(game)
    sizes = [treeplex.num_sequences for treeplex in form.treeplexes]
    bases = np.cumsum([0, *sizes], dtype=np.int64)
    infosets = np.concatenate(
        [
            np.stack([base + treeplex.offsets[:-1], treeplex.num_actions, base + treeplex.parents], axis=1)
            for base, treeplex in zip(bases[:-1].tolist(), form.treeplexes, strict=True)
        ]
    ).astype(np.int32)
    decisions = nodes[:, MOVER] >= 0
    nodes[decisions, PLACE] += bases[nodes[decisions, MOVER]].astype(np.int32)
    depth, width = _longest(form)
    # numba would compile functions again for arrays with another memory layout.
    payoffs = np.ascontiguousarray(form.leaves.payoffs)
    for table in (nodes, chance, infosets, payoffs):
        table.flags.writeable = False
    return HistoryTree(
        nodes=nodes,
        chance=chance,
        payoffs=payoffs,
        infosets=infosets,
        bases=bases,
        ranges=np.cumsum([0, *(treeplex.num_infosets for treeplex in form.treeplexes)], dtype=np.int64),
        length=length,
        depth=depth,
        width=width,
    )


def _refuse(game: Game) -> NoReturn:
    raise UnsupportedProblemError(
        f"{game.spec}: the histories of its sequence form differ from those of its rules; sampling needs the sequence "
        "form that follows from the rules"
    )


def _walk(rules: Rules, game: Game, budget: Budget) -> tuple[Integers, Floats, int, int, list[list[Hashable]]]:
    """Return the table of histories, cumulative probabilities, number of leaves, longest history and infosets.

    Leaves and infosets are met in the order of :func:`~treeplex.seqform.enumeration.enumerate_game`.
    """
    player_at, child, treeplexes = rules.player, rules.child, game.sequence_form.treeplexes
    outcomes_at = outcomes_of(rules)
    numbers: list[dict[Hashable, int]] = [{} for _ in treeplexes]
    offsets = [treeplex.offsets.tolist() for treeplex in treeplexes]
    sizes = [treeplex.num_actions.tolist() for treeplex in treeplexes]
    movers, children, counts, places = array("i", [TERMINAL]), array("i", [0]), array("i", [0]), array("i", [0])
    columns = (movers, children, counts, places)
    chance = array("d")
    watch = Watch(budget, lambda: view_bytes(len(treeplexes), len(movers), 0))
    visited, num_leaves = 0, 0
    root = rules.initial_state()
    who = player_at(root)
    longest = 0
    stack: list[tuple[Any, int, int, int]] = []
    if who == TERMINAL:
        num_leaves = 1
    else:
        stack.append((root, who, 0, 1))
    while stack:
        if visited + num_leaves + len(stack) >= watch.next:
            watch.look(visited + num_leaves, len(stack), num_leaves)
        state, who, here, level = stack.pop()
        longest = max(longest, level)
        visited += 1
        if who == CHANCE:
            outcomes = outcomes_at(state)
            labels = [label for label, _ in outcomes]
            places[here] = len(chance)
            chance.extend(cumulative([float(probability) for _, probability in outcomes]))
        else:
            labels = list(rules.actions(state))
            known = numbers[who]
            infoset = known.setdefault(rules.infoset(state), len(known))
            if infoset >= treeplexes[who].num_infosets or len(labels) != sizes[who][infoset]:
                _refuse(game)
            places[here] = offsets[who][infoset]
        first = len(movers)
        movers[here], children[here], counts[here] = who, first, len(labels)
        for column in columns:
            column.extend([0] * len(labels))
        for number in range(len(labels) - 1, -1, -1):
            follower = child(state, labels[number])
            following = player_at(follower)
            if following == TERMINAL:
                movers[first + number], places[first + number] = TERMINAL, num_leaves
                num_leaves += 1
            else:
                stack.append((follower, following, first + number, level + 1))
    table = np.stack([np.frombuffer(column, dtype=np.intc) for column in columns], axis=1).astype(np.int32)
    return table, np.array(chance, dtype=np.float64), num_leaves, longest, [list(known) for known in numbers]


def _longest(form: SequenceForm) -> tuple[int, int]:
    """Return the largest number of decisions of a player on a path, and the largest total number of their actions."""
    depth, width = 0, 0
    for treeplex in form.treeplexes:
        if not treeplex.num_infosets:
            continue
        actions_before = np.zeros(treeplex.num_sequences, dtype=np.int64)
        for level in treeplex.levels:
            parents = treeplex.parents[level.infosets]
            here = actions_before[parents] + treeplex.num_actions[level.infosets]
            actions_before[level.sequences] = np.repeat(here, level.counts)
        depth = max(depth, len(treeplex.levels))
        width = max(width, int(actions_before.max()))
    return depth, width
