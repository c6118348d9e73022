"""The layout of a game in public form in the compiled loop's arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...seqform.arrays import Floats, Indices
from ...seqform.card_payoff import CardPayoff
from ...seqform.public_form import PublicForm, Symmetry
from ...seqform.public_payoff import Leaves
from ...seqform.rules import CHANCE, TERMINAL
from ..regret.local_rule import no_discounts
from .arrays import (
    BOARD_COLUMNS,
    CALL_COLUMNS,
    CARDS,
    EXIT,
    LANE_MATRIX,
    LEAF,
    LIKE,
    MOST,
    PlayArrays,
    PublicArrays,
    RoomArrays,
)
from .arrays import FULL as REGISTER

#: States and leaves are padded to multiples of this, a register of the shorter numbers.
FULL = int(REGISTER)
#: The number of groups into which the boards after the root's are divided, if there are as many. One thread walks each
#: group, and sums over groups are taken in order, so that results do not depend on the number of threads.
GROUPS = 16
#: The kinds of groups of leaves, in the order of the lanes of a shape.
_FOLDS, _SHOWDOWNS, _OTHERS = 0, 1, 2


def rounded_up(count: Any) -> Any:
    """Return the next multiple of the size of a register."""
    return -(-count // FULL) * FULL


@dataclass(frozen=True, eq=False)
class _Shape:
    """The common structure of boards."""

    kinds: Indices
    firsts: Indices
    arities: Indices
    rows: Indices
    entries: Indices
    reaches: tuple[Indices, Indices]
    #: For each kind of leaves: their nodes, the amounts of both players, and the board's matrices that pay them, in
    #: order. Leaves that are both folds and showdowns are in both kinds.
    leaves: tuple[tuple[Indices, Floats, Indices], ...]

    @property
    def num_rows(self) -> list[int]:
        """The number of actions of each player."""
        return [int(self.arities[self.kinds == player].sum()) for player in (0, 1)]

    @property
    def twice(self) -> Indices:
        """The leaves that are both folds and showdowns; their payoffs as folds have rows after those of all nodes."""
        return np.intersect1d(self.leaves[_FOLDS][0], self.leaves[_SHOWDOWNS][0])

    @property
    def num_values(self) -> int:
        """The number of rows of values: for nodes, dummy leaves that fill registers, and leaves paid twice."""
        return len(self.kinds) + 1 + len(self.twice)

    @property
    def columns(self) -> Indices:
        """The nodes in the form of the loop."""
        entries = np.zeros(len(self.kinds), dtype=np.int64)
        entries[: len(self.entries)] = self.entries
        return np.column_stack([self.kinds, self.firsts, self.arities, self.rows, entries, *self.reaches])


class PublicLayout:
    """A game in public form as the compiled loop's arrays.

    Parameters
    ----------
    form : PublicForm
    symmetries : sequence of Symmetry, optional
        The symmetries to use; by default the form's.

    Attributes
    ----------
    boards : ndarray of int
        The form's boards in the order of the layout: each before those that follow it.
    orders : list of pairs of ndarray of int
        For each board, a player's states in the order of the layout.
    nodes : list of ndarray of int
        For each board, the form's nodes.
    """

    def __init__(self, form: PublicForm, symmetries: Sequence[Symmetry] | None = None) -> None:
        self.form = form
        self._symmetries = form.symmetries if symmetries is None else symmetries
        count = len(form.players)
        self._leaf_groups = self._grouped_leaves()
        self._cards = next((one.payoff.cards for one in form.leaves if isinstance(one.payoff, CardPayoff)), None)
        self._order_boards()
        self.orders: list[tuple[Indices, Indices]] = []
        self.nodes: list[Indices] = []
        self.shapes: list[_Shape] = []
        self.shape_of: list[int] = []
        #: The place of each node on its board; −1 on images until one is read.
        self._places = np.full(count, -1)
        #: The last board that was read, and for each player where its numbers are.
        self._near: tuple[int, list[tuple[int, Indices]]] = -1, []
        self._tables: list[Any] = []  # small numbers
        self._above: list[Any] = []
        self._matrices: list[list[Floats]] = []
        known: dict[bytes, int] = {}
        for place, board in enumerate(self.boards.tolist()):
            self._add_board(place, board, known)

    def _grouped_leaves(self) -> list[tuple[Indices, Floats]]:
        """Return each node's first group of leaves (−1 if there is none) with its amounts, then the second, etc."""
        count = len(self.form.players)
        layers = [(np.full(count, -1), np.zeros((2, count)))]
        for number, leaves in enumerate(self.form.leaves):
            left = np.arange(len(leaves.nodes))
            for depth in range(len(self.form.leaves)):
                if depth == len(layers):
                    layers.append((np.full(count, -1), np.zeros((2, count))))
                groups, amounts = layers[depth]
                nodes, firsts = np.unique(leaves.nodes[left], return_index=True)
                fresh = np.zeros(len(left), dtype=bool)
                fresh[firsts] = groups[nodes] < 0
                groups[leaves.nodes[left[fresh]]] = number
                amounts[:, leaves.nodes[left[fresh]]] = leaves.paid[:, left[fresh]]
                left = left[~fresh]
                if not len(left):
                    break
        return layers

    def _order_boards(self) -> None:
        """Find the board before each one, and put the boards in the order of a walk."""
        form = self.form
        entries = np.flatnonzero(np.append(True, form.boards[1:] != form.boards[form.parents[1:]]))
        parents = np.full(len(form.present), -1)
        parents[form.boards[entries[1:]]] = form.boards[form.parents[entries[1:]]]
        self._before = parents.tolist()
        children: list[list[int]] = [[] for _ in form.present]
        for board, parent in enumerate(parents.tolist()):
            if parent >= 0:
                children[parent].append(board)
        order, depths = [], []
        #: For each walked board: the symmetries that leave it unchanged, and those that map it to its images.
        self._kept: list[list[Symmetry]] = []
        self._images: list[list[Symmetry | None]] = []
        #: For each other board: the board of which it is an image, and the symmetry.
        self._image_of: dict[int, tuple[int, Symmetry]] = {}
        stack: list[tuple[int, int, list[Symmetry], list[Symmetry | None]]] = [(0, 0, list(self._symmetries), [None])]
        while stack:
            board, depth, kept, images = stack.pop()
            order.append(board)
            depths.append(depth)
            self._kept.append(kept)
            self._images.append(images)
            after = []
            for child in children[board]:
                if child not in self._image_of:
                    others: list[Symmetry | None] = [None]
                    for symmetry in kept:
                        image = int(symmetry.boards[child])
                        if image != child and image not in self._image_of:
                            self._image_of[image] = child, symmetry
                            others.append(symmetry)
                    same = [symmetry for symmetry in kept if symmetry.boards[child] == child]
                    after.append((child, depth + 1, same, others))
            stack += reversed(after)
        self.boards = np.array(order)
        self.depths = np.array(depths)
        # The place of each of the form's boards; −1 for images.
        self.numbers = np.full(len(form.present), -1)
        self.numbers[self.boards] = np.arange(len(order))
        self.parents = np.where(self.boards == 0, 0, self.numbers[parents[self.boards]])
        self.ends = np.arange(1, len(order) + 1)
        for place in range(len(order) - 1, 0, -1):
            self.ends[self.parents[place]] = max(self.ends[self.parents[place]], self.ends[place])
        by_board = np.argsort(form.boards, kind="stable")
        self._nodes_of = np.split(by_board, np.searchsorted(form.boards[by_board], np.arange(1, len(form.present))))

    def _walked(self, board: int) -> tuple[Indices, Indices]:
        """Return a board's nodes in the order of a walk, level by level, and its roots."""
        form, nodes = self.form, self._nodes_of[board]
        roots = nodes[(form.parents[nodes] < 0) | (form.boards[form.parents[nodes]] != board)]
        level, levels = roots, [roots]
        while True:
            level = level[form.players[level] >= 0]
            if not len(level):
                return np.concatenate(levels), roots
            level = form.after(level)
            levels.append(level)

    def _add_board(self, place: int, board: int, known: dict[bytes, int]) -> None:
        form = self.form
        nodes, roots = self._walked(board)
        entries = np.zeros(1, dtype=np.int64) if place == 0 else self._places[form.parents[roots]]
        self.nodes.append(nodes)
        self._places[nodes] = np.arange(len(nodes))
        layers = [(groups[nodes], amounts[:, nodes]) for groups, amounts in self._leaf_groups]
        of_kinds = np.array([self._kinds_of_groups[groups] for groups, _ in layers])
        strengths = self._strengths([groups for groups, _ in layers], of_kinds)
        # Leaves without payoffs, or of kinds other than folds and showdowns, are paid by matrices.
        unpaid = (form.players[nodes] == TERMINAL) & (layers[0][0] < 0)
        of_kinds[:, unpaid | (of_kinds == _OTHERS).any(axis=0)] = _OTHERS
        found, matrices = self._by_matrix(np.flatnonzero((of_kinds == _OTHERS).any(axis=0)), layers)
        leaves = (*(self._of_kind(kind, of_kinds, layers) for kind in (_FOLDS, _SHOWDOWNS)), found)
        arities = np.where(form.players[nodes] >= 0, form.ends[nodes + 1] - form.ends[nodes], 0)
        alike = [form.players[nodes], arities, entries, *(part for pair in leaves for part in pair)]
        number = known.setdefault(b"|".join(array.tobytes() for array in alike), len(self.shapes))
        if number == len(self.shapes):
            self.shapes.append(self._shape(nodes, arities, entries, leaves))
        self.shape_of.append(number)
        present = form.present[board]
        orders = [
            states if strengths is None else states[np.argsort(strengths[player][states], kind="stable")]
            for player, states in enumerate(present)
        ]
        self.orders.append((orders[0], orders[1]))
        above = self.orders[int(self.parents[place])]
        self._tables += [_short(self._table(player, orders, strengths, self._kept[place])) for player in (0, 1)]
        self._above += [
            _short(self._up(orders[player] if image is None else image.states[player][orders[player]], above[player]))
            for image in self._images[place]
            for player in (0, 1)
        ]
        self._matrices.append([pair[:, orders[0][:, None], orders[1]] for pair in matrices])

    def _by_matrix(
        self, here: Indices, layers: Sequence[tuple[Indices, Floats]]
    ) -> tuple[tuple[Indices, Floats, Indices], list[Floats]]:
        """Return a board's leaves that are paid by matrices, and both players' matrices, shape (2, states, states).

        Leaves of one group share its matrix, so that they can be paid together; a leaf of several groups has its own.
        """
        form, amounts = self.form, np.ones((2, len(here)))
        pairs: list[Floats] = []
        which: list[int] = []
        known: dict[int, int] = {}
        for number, at in enumerate(here.tolist()):
            paid = [(int(groups[at]), each[:, at]) for groups, each in layers if groups[at] >= 0]
            key = paid[0][0] if len(paid) == 1 else -1 - (number + 1) * bool(paid)
            which.append(known.setdefault(key, len(pairs)))
            if len(paid) == 1:
                amounts[:, number] = paid[0][1]
            if which[-1] == len(pairs):
                pair = np.zeros((2, *map(len, form.states)))
                for group, amount in paid:
                    scale = 1.0 if len(paid) == 1 else amount[:, None, None]
                    pair += scale * form.leaves[group].factored.matrix.toarray()
                pairs.append(pair)
        order = np.argsort(which, kind="stable")
        return (here[order], amounts[:, order], np.array(which, dtype=np.int64)[order]), pairs

    @staticmethod
    def _of_kind(
        kind: int, of_kinds: Indices, layers: Sequence[tuple[Indices, Floats]]
    ) -> tuple[Indices, Floats, Indices]:
        """Return a board's leaves of a kind, their amounts, and matrix numbers that are all 0."""
        here = np.flatnonzero((of_kinds == kind).any(axis=0))
        paid = [
            np.where(kinds[here] == kind, amounts[:, here], 0.0)
            for kinds, (_, amounts) in zip(of_kinds, layers, strict=True)
        ]
        return here, np.sum(paid, axis=0), np.zeros(len(here), dtype=np.int64)

    def _strengths(self, layers: Sequence[Indices], of_kinds: Indices) -> Any:
        """Return the strengths of a board's showdowns; those with other strengths are not treated as showdowns."""
        found = None
        groups = np.array(layers)
        for group in np.unique(groups[of_kinds == _SHOWDOWNS]).tolist():
            payoff = self.form.leaves[group].payoff
            assert isinstance(payoff, CardPayoff)
            assert payoff.strengths is not None
            if found is None:
                found = payoff.strengths
            elif not all(np.array_equal(one, other) for one, other in zip(found, payoff.strengths, strict=True)):
                of_kinds[groups == group] = _OTHERS
        return found

    @cached_property
    def _kinds_of_groups(self) -> Indices:
        """The kind of each group of leaves; the last entry is for nodes in no group."""
        cards = self._cards
        kinds = []
        for leaves in self.form.leaves:
            payoff = leaves.payoff
            if not isinstance(payoff, CardPayoff) or cards is None or not self._is_whole(leaves):
                kinds.append(_OTHERS)
            elif all(one is two or np.array_equal(one, two) for one, two in zip(payoff.cards, cards, strict=True)):
                kinds.append(_FOLDS if payoff.strengths is None else _SHOWDOWNS)
            else:
                kinds.append(_OTHERS)
        return np.array([*kinds, -1])

    def _is_whole(self, leaves: Leaves) -> bool:
        """Whether all states that reach the leaves are alive there."""
        payoff = leaves.payoff
        assert isinstance(payoff, CardPayoff)
        boards = np.unique(self.form.boards[leaves.nodes]).tolist()
        for player, states in enumerate(self.form.states):
            there = np.zeros(len(states), dtype=bool)
            there[payoff.alive[player]] = True
            if not all(there[self.form.present[board][player]].all() for board in boards):
                return False
        return True

    def _shape(
        self, nodes: Indices, arities: Indices, entries: Indices, leaves: tuple[tuple[Indices, Floats, Indices], ...]
    ) -> _Shape:
        form = self.form
        players = form.players[nodes]
        firsts = len(entries) + np.cumsum(arities) - arities
        kinds = np.where(players >= 0, players, np.where(players == CHANCE, int(EXIT), int(LEAF)))
        rows = np.zeros(len(nodes), dtype=np.int64)
        reaches = []
        for player in (0, 1):
            own = np.where(players == player, arities, 0)
            before = np.cumsum(own) - own
            rows[players == player] = before[players == player]
            reach = np.arange(len(nodes))
            for node in range(len(nodes)):
                after = slice(int(firsts[node]), int(firsts[node] + arities[node]))
                moves = players[node] == player
                reach[after] = len(entries) + before[node] + np.arange(arities[node]) if moves else reach[node]
            reaches.append(reach)
        return _Shape(kinds, firsts, arities, rows, entries, (reaches[0], reaches[1]), leaves)

    def _table(self, player: int, orders: Sequence[Indices], strengths: Any, kept: Sequence[Symmetry]) -> Indices:
        """Return the loop's table of a player's states on a board."""
        own, other = orders[player], orders[1 - player]
        zeros = np.zeros(len(own), dtype=np.int64)
        first = second = weaker = upto = zeros
        same = twin = np.full(len(own), rounded_up(len(other)))
        if self._cards is not None:
            mine, theirs = self._cards[player][own], self._cards[1 - player][other]
            first, second = mine[:, 0], mine[:, 1]
            numbers, found = (np.maximum(*one.T) * int(CARDS) + np.minimum(*one.T) for one in (mine, theirs))
            # The other player's hand with each pair of cards: the last one, and the first one if hands occur twice.
            last, first_one = (np.full(int(CARDS) ** 2, rounded_up(len(other))) for _ in range(2))
            last[found] = np.arange(len(other))
            first_one[found[::-1]] = np.arange(len(other))[::-1]
            same, twin = first_one[numbers], last[numbers]
            twin = np.where(twin == same, rounded_up(len(other)), twin)
        if strengths is not None:
            ranked, strong = strengths[1 - player][other], strengths[player][own]
            weaker, upto = (np.searchsorted(ranked, strong, side=side) for side in ("left", "right"))
        like = np.arange(len(own))
        if kept:
            like = self._up(np.min([own, *(symmetry.states[player][own] for symmetry in kept)], axis=0), own)
        return np.column_stack([first, second, weaker, upto, same, twin, like])

    @staticmethod
    def _up(states: Indices, before: Indices) -> Indices:
        """Return the positions of private states in a list of such states."""
        order = np.argsort(before, kind="stable")
        found: Indices = order[np.searchsorted(before, states, sorter=order)]
        return found

    @cached_property
    def counts(self) -> Indices:
        """The number of each player's states on each board, shape (num_boards, 2)."""
        return np.array([[len(one) for one in order] for order in self.orders])

    @cached_property
    def bases(self) -> Indices:
        """The place where each board's numbers begin in each player's array, shape (num_boards + 1, 2)."""
        rows = np.array([self.shapes[shape].num_rows for shape in self.shape_of])
        return np.concatenate([np.zeros((1, 2), dtype=np.int64), np.cumsum(rows * rounded_up(self.counts), axis=0)])

    @cached_property
    def widths(self) -> Indices:
        """The padded :attr:`counts`."""
        found: Indices = rounded_up(self.counts)
        return found

    def stands_for(self, player: int) -> Indices:
        """Return, for each of a player's numbers, the one that represents it if states of a board are equivalent."""
        found = []
        for board, shape in enumerate(self.shape_of):
            wide, count = int(self.widths[board, player]), int(self.counts[board, player])
            like = np.arange(wide)
            like[:count] = self._tables[2 * board + player][:, int(LIKE)]
            rows = self.shapes[shape].num_rows[player]
            found.append(int(self.bases[board, player]) + np.arange(rows)[:, None] * wide + like)
        return np.concatenate([one.ravel() for one in found])

    @cached_property
    def scales(self) -> Indices:
        """The place where each board's scales begin in each player's array, shape (num_boards + 1, 2)."""
        rows = np.array([self.shapes[shape].num_rows for shape in self.shape_of])
        return np.concatenate([np.zeros((1, 2), dtype=np.int64), np.cumsum(rows, axis=0)])

    @property
    def sizes(self) -> tuple[int, int]:
        """The lengths of regrets and of sums, by player."""
        return int(self.bases[-1, 0]), int(self.bases[-1, 1])

    def arrays(self, number: Any) -> PublicArrays:
        """Return the arrays for the compiled functions, with numbers of a type."""
        numbers = {name: getattr(self._arrays, name).astype(number) for name in ("amounts", "matrices", "weights")}
        return self._arrays._replace(**numbers)

    @cached_property
    def _arrays(self) -> PublicArrays:
        lanes, amounts, places = self._lanes()
        matrices = [of_player for board in self._matrices for of_player in self._of_players(board)]
        return PublicArrays(
            boards=_wide(self._board_columns()),
            shapes=_wide(self._shape_columns(places)),
            nodes=_short(np.concatenate([shape.columns for shape in self.shapes])),
            states=np.concatenate(self._tables),
            above=np.concatenate(self._above),
            lanes=_short(lanes),
            amounts=amounts,
            matrices=np.concatenate([np.zeros(0), *matrices]),
            weights=self._weights,
            layout=_wide(self._room[0]),
            groups=_wide(self.groups),
        )

    @staticmethod
    def _of_players(matrices: list[Floats]) -> list[Floats]:
        """Return the concatenated matrices of a board: player 0's states by player 1's, and the transposed ones."""
        return [
            np.concatenate([np.zeros(0), *(one.ravel() for one in each)])
            for each in ([pair[0] for pair in matrices], [pair[1].T for pair in matrices])
        ]

    def _board_columns(self) -> Indices:
        counts, shapes = self.counts, np.array(self.shape_of)
        entries = np.cumsum(counts.ravel()).reshape(-1, 2) - counts
        sizes = np.array([[sum(pair[0].size for pair in board)] * 2 for board in self._matrices])
        matrices = np.cumsum(sizes.ravel()).reshape(-1, 2) - sizes
        images = np.cumsum([0, *(sum(counts[at]) * len(each) for at, each in enumerate(self._images))])
        alike = [len(kept) > 0 for kept in self._kept]
        before = [shapes, self.depths, self.parents, self.ends, images[:-1], counts, rounded_up(counts)]
        found = np.column_stack([*before, self.bases[:-1], entries, matrices, alike, self.scales[:-1]])
        last = np.zeros((1, BOARD_COLUMNS), dtype=np.int64)
        last[0, 4] = images[-1]
        return np.concatenate([found, last])

    @cached_property
    def _weights(self) -> Floats:
        weights = np.zeros((2, int(rounded_up(self.counts[0]).max())))
        for player, order in enumerate(self.orders[0]):
            weights[player, : len(order)] = self.form.weights[player][order]
        return weights

    def _shape_columns(self, lanes: Indices) -> Indices:
        sizes = np.array([len(shape.kinds) for shape in self.shapes])
        roots = [len(shape.entries) for shape in self.shapes]
        return np.column_stack([np.cumsum(sizes) - sizes, roots, sizes, lanes])

    def _lanes(self) -> tuple[Indices, Floats, Indices]:
        """Return the leaves of all shapes, each player's payoffs there, and the position of each shape's leaves.

        Payoffs of leaves that are both folds and showdowns are added last, from their own rows.
        """
        lanes: list[Indices] = []
        amounts: list[Floats] = []
        places = np.zeros((len(self.shapes), 8), dtype=np.int64)
        end = 0
        for at, shape in enumerate(self.shapes):
            twice, filler = shape.twice, len(shape.kinds)
            apart = filler + 1 + np.arange(len(twice))
            for kind, (here, paid, which) in enumerate(shape.leaves):
                # A register holds leaves of one matrix.
                counts = np.bincount(which)
                begins = np.cumsum(rounded_up(counts)) - rounded_up(counts)
                wide = int(rounded_up(counts).sum())
                at_lane = np.arange(len(here)) + np.repeat(begins - np.cumsum(counts) + counts, counts)
                rows = here.copy()
                if kind == _FOLDS:
                    rows[np.isin(here, twice)] = apart
                lane = np.tile([filler, 0, 0, 0], (wide, 1))
                lane[:, LANE_MATRIX] = np.repeat(np.arange(len(counts)), rounded_up(counts))
                lane[at_lane, :3] = np.column_stack([rows, shape.reaches[0][here], shape.reaches[1][here]])
                own = np.zeros((2, wide))
                # Comparisons are from each player's own side.
                own[:, at_lane] = np.stack([paid[0], -paid[1] if kind == _SHOWDOWNS else paid[1]])
                lanes.append(lane)
                amounts.append(own)
                places[at, kind], places[at, 4 + kind] = end, wide // FULL
                end += wide
            lanes.append(np.column_stack([twice, apart, apart, 0 * apart]))
            amounts.append(np.zeros((2, len(twice))))
            places[at, 3], places[at, 7] = end, len(twice)
            end += len(twice)
        return np.concatenate(lanes), np.concatenate(amounts, axis=1), places

    @cached_property
    def _room(self) -> tuple[Indices, int, int]:
        """The starts of the parts of the scratch arrays at each depth, and the lengths of the top and of the rest."""
        depths = int(self.depths.max()) + 1
        needed = np.zeros((depths, 2), dtype=np.int64)
        widths = rounded_up(self.counts)
        for board, depth in enumerate(self.depths.tolist()):
            shape = self.shapes[self.shape_of[board]]
            rows = np.array(shape.num_rows)
            wide = widths[board]
            own = [((rows + len(shape.entries)) * wide).max(), shape.num_values * wide.max()]
            needed[depth] = np.maximum(needed[depth], own)
        layout = np.zeros_like(needed)
        layout[0] = np.cumsum(needed[0]) - needed[0]
        layout[1:] = (np.cumsum(needed[1:]) - needed[1:].ravel()).reshape(-1, 2)
        return layout, int(needed[0].sum()), int(needed[1:].sum())

    def slim(self) -> None:
        """Free what the compiled loop does not need: afterwards strategies and values of nodes cannot be read.

        The rest is about a third of a large game's tables.
        """
        _ = self._arrays, self.bases, self.widths, self.scales
        self._tables, self._above, self._matrices, self.nodes = [], [], [], self.nodes[:1]
        self.orders = self.orders[:1]
        self._nodes_of, self._leaf_groups, self._places = [], [], self._places[:0]
        del self.form

    @property
    def top(self) -> tuple[int, int]:
        """Where reaches and values begin in the scratch array of the root's board."""
        reaches, values = self._room[0][0]
        return int(reaches), int(values)

    @cached_property
    def groups(self) -> Indices:
        """The starts of the groups of the boards after the root's, and the end of the last group."""
        firsts = np.flatnonzero(self.depths == 1)
        if not len(firsts):
            return np.array([1])
        weights = self.ends[firsts] - firsts
        number = min(GROUPS, len(firsts))
        group = (np.cumsum(weights) - weights) * number // weights.sum()
        begins = firsts[np.append(True, np.diff(group) > 0)]
        return np.append(begins, len(self.boards))

    def rooms(self, number: Any, threads: int = 1, num_rows: int = 0) -> list[RoomArrays]:
        """Return scratch arrays for a number of threads; those of the root's board, groups and rows are shared."""
        _, top, rest = self._room
        widest = int(rounded_up(self.counts).max()) + FULL
        longest = int(MOST) * FULL
        lanes = len(self._arrays.lanes)
        span = len(self.shapes[self.shape_of[0]].kinds) * int(rounded_up(self.counts[0]).max())
        tally = np.zeros((len(self.groups), num_rows + 1))
        shared = np.zeros(top, dtype=number), np.zeros((len(self.groups) - 1, span), dtype=number)
        return [
            RoomArrays(
                top=shared[0],
                room=np.zeros(rest, dtype=number),
                found=shared[1],
                tally=tally,
                turned=np.zeros(widest * longest, dtype=number),
                paid=np.zeros(widest * longest, dtype=number),
                sums=np.zeros(int(CARDS) * longest, dtype=number),
                starts=np.zeros((2, lanes), dtype=np.uint64),
                now=no_discounts(),
            )
            for _ in range(threads)
        ]

    def state(self, number: Any, predicting: bool = False, num_rows: int = 0) -> PlayArrays:
        """Return regrets and sums of zero."""
        kept = self.sizes, self.sizes, self.sizes if predicting else (0, 0)
        regrets, sums, forecast = (tuple(np.zeros(size, dtype=number) for size in sizes) for sizes in kept)
        scales = None
        if number is np.uint16:
            scales = tuple(np.zeros(int(count), dtype=np.float32) for count in self.scales[-1])
        calls = np.zeros((num_rows + 1, CALL_COLUMNS))
        return PlayArrays(
            np.zeros(1, dtype=np.int64), calls, regrets, forecast if predicting else regrets, forecast, sums, scales
        )

    def places(self, node: int) -> Indices:
        """Return the positions of a public state's numbers by action and private state, shape (actions, states).

        The position is −1 for states that do not occur there. Boards that are walked once share their numbers.
        """
        first, arity, wide, states = self._block(node)
        found = np.full((arity, len(self.form.states[self.form.players[node]])), -1)
        found[:, states] = first + wide * np.arange(arity)[:, None] + np.arange(len(states))
        return found

    def _block(self, node: int) -> tuple[int, int, int, Indices]:
        """Return a public state's first number, number of actions, distance between actions' numbers, and states."""
        player, own = int(self.form.players[node]), int(self.form.boards[node])
        last, sources = self._near
        if last != own:
            found = [self._source(own, each) for each in (0, 1)]
            boards = [int(self.numbers[walked]) for walked, _ in found]
            sources = [(board, found[each][1][self.orders[board][each]]) for each, board in enumerate(boards)]
            self._near = own, sources
        if self._places[node] < 0:
            nodes, _ = self._walked(own)
            self._places[nodes] = np.arange(len(nodes))
        (board, states), place = sources[player], int(self._places[node])
        shape, wide = self.shapes[self.shape_of[board]], int(self.widths[board, player])
        return int(self.bases[board, player]) + int(shape.rows[place]) * wide, int(shape.arities[place]), wide, states

    def behaviour(self, sums: Sequence[Any], node: int) -> Floats:
        """Return a player's behaviour at a node from sums of reaches, shape (actions, states).

        The behaviour is 0 for states that do not occur there.
        """
        found = self.sums(sums, node)
        totals, (_, arity, _, states) = found.sum(axis=0), self._block(node)
        found[:, states[totals[states] == 0.0]] = 1.0 / arity
        np.divide(found, totals, out=found, where=totals > 0.0)
        return found

    def sums(self, sums: Sequence[Any], node: int) -> Floats:
        """Return the sums of reaches at a node, shape (actions, states), to which play there is proportional."""
        first, arity, wide, states = self._block(node)
        player = int(self.form.players[node])
        found = np.zeros((arity, len(self.form.states[player])))
        found[:, states] = sums[player][first : first + arity * wide].reshape(arity, wide)[:, : len(states)]
        return found

    def values(self, top: Any, player: int) -> dict[int, Floats]:
        """Return a player's values at the nodes of the root's board after a walk, indexed by the form's nodes."""
        wide, begin, order = int(rounded_up(self.counts[0, player])), int(self._room[0][0, 1]), self.orders[0][player]
        found = {}
        for place, node in enumerate(self.nodes[0].tolist()):
            values = np.zeros(len(self.form.states[player]))
            values[order] = top[begin + place * wide :][: len(order)]
            found[node] = values
        return found

    def _source(self, board: int, player: int) -> tuple[int, Indices]:
        """Return the board that is walked in place of a board, and the corresponding states of a player."""
        states = np.arange(len(self.form.states[player]))
        while self.numbers[board] < 0:
            at = board
            while at not in self._image_of:
                at = self._before[at]
            symmetry = self._image_of[at][1]
            board, states = int(symmetry.inverse.boards[board]), states[symmetry.states[player]]
        return board, states


def _wide(values: Any) -> Any:
    return np.ascontiguousarray(values, dtype=np.uint64)


def _short(values: Any) -> Any:
    return np.ascontiguousarray(values, dtype=np.uint32)
