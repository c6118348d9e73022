"""A game in public form: a public tree with one number per node, action and private state."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .arrays import Floats, Indices, ReadOnly, equal_runs, frozen
from .budget import Budget, Watch
from .card_payoff import CardPayoff
from .errors import InvalidGameError, UnsupportedProblemError, nearest, one_of, shown
from .factored import FactoredPayoff
from .fingerprint import digest_of
from .histories import walk
from .payoffs import LeafTable, Payoff
from .polytope import Treeplex
from .public_payoff import Leaves, PublicPayoff
from .public_tree import PublicTree
from .rules import CHANCE, TERMINAL, Rules
from .sequence_form import SequenceForm

#: The largest number of entries of factored payoffs that are searched for penalties.
_MOST_ENTRIES = 2**17


@dataclass(frozen=True, eq=False)
class Symmetry:
    """An exchange, for example of two suits, that leaves a game unchanged.

    The nodes of a board map to those of its image in order.

    Attributes
    ----------
    states : pair of ndarray of int
        The image of each private state of a player.
    boards : ndarray of int
        The image of each board.
    """

    states: tuple[Indices, Indices]
    boards: Indices

    @property
    def inverse(self) -> "Symmetry":
        """The inverse symmetry."""
        mine, theirs = self.states
        return Symmetry((np.argsort(mine), np.argsort(theirs)), np.argsort(self.boards))


def is_any_card(step: str) -> bool:
    """Whether a step of a line matches any outcome of public chance: ``deal *``, or ``*`` alone.

    Examples
    --------
    >>> from treeplex.seqform.public_form import is_any_card
    >>> [is_any_card(step) for step in ("deal *", "*", "any", "deal 7s")]
    [True, True, True, False]
    """
    return step.strip().removeprefix("deal").strip() in ("*", "any")


@dataclass(frozen=True, eq=False)
class Boards:
    """The outcomes of public chance, which do not depend on the players' actions.

    Parameters
    ----------
    nodes : array_like of int, shape (num_nodes,)
        The board of each node of a public tree. The root's board is 0. If one node of a board lies
        below another board, all nodes of the former do.
    present : sequence of pairs of array_like of int
        For each board, the numbers of each player's states that are possible there; other states have no infosets
        there.
    """

    nodes: npt.ArrayLike
    present: Sequence[Sequence[npt.ArrayLike]]


def steps_of(line: str) -> list[str]:
    """Return the actions and cards of a line, in the notation of :meth:`PublicForm.find`; ``root`` has none.

    Raises
    ------
    InvalidGameError
        If the line is not a string.
    """
    if not isinstance(line, str):
        raise InvalidGameError(f"received {shown(line)}, expected actions as a string, such as 'check, bet 120'")
    return [" ".join(step.split()) for step in line.split(",")] if line.strip().casefold() not in ("", "root") else []


def place_of(steps: Sequence[str], number: int, names: Sequence[str], dealt: bool) -> int:
    """Return the index of the action or card at a public state that a step of a line names.

    Parameters
    ----------
    steps : sequence of str
    number : int
        The index of the step; the steps before it lead to the public state.
    names : sequence of str
        The actions or cards at the public state.
    dealt : bool
        Whether these are cards, which may be preceded by ``deal``.

    Raises
    ------
    InvalidGameError
        If the step matches none of them; the message lists them.
    """
    step = steps[number]
    wanted = step.casefold().removeprefix("deal ") if dealt else step.casefold()
    folded = {name.casefold(): place for place, name in enumerate(names)}
    if wanted not in folded:
        where = f"after {', '.join(steps[:number])}" if number else "at the root"
        follows = f"expected {one_of(names, 60)}" if names else "no action follows there"
        raise InvalidGameError(f"there is no {shown(step, 60)} {where}{nearest(step, names)}; {follows}")
    return folded[wanted]


def _runs(firsts: Indices, ends: Indices) -> Indices:
    """Return the integers of several intervals, one interval after another."""
    counts = ends - firsts
    return np.repeat(firsts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())


#: Bytes of the sequence form per infoset, including its label, and per sequence, including its entry of E.
_INFOSET_BYTES, _SEQUENCE_BYTES = 130, 60
#: Bytes of a leaf table per entry, while it is built.
_HISTORY_BYTES = 120


class PublicForm(ReadOnly):
    """A game of two players whose private information is all dealt at the root.

    After the private deal everything is public. A public state therefore has one decision for each private state of the
    player who moves, all with the same actions. A player's payoff is a sum over the leaves of the public tree of
    bilinear forms in the players' reaches, xᵀ A y = Σ_z r₀(z)ᵀ U_z r₁(z); A itself is never built. Usually
    one player's payoff is the opposite of the other's; if both may lose, for example to a rake, leaves have an amount
    for each player.

    Parameters
    ----------
    players : array_like of int, shape (num_nodes,)
        The player to move at each public state, ``CHANCE`` or ``TERMINAL``. Parents come before their children.
    parents : array_like of int, shape (num_nodes,)
        The parent of each public state; −1 at the root.
    actions : sequence of hashable, length num_nodes
        The action or card that leads to each public state; any value at the root.
    states : two sequences of hashable
        Each player's private states, such as hands.
    leaves : sequence of Leaves
        The payoffs of leaves. A leaf in several of them pays the sum; a leaf in none of them pays 0.
    weights : two array_like of float, optional
        The reach of each player's private states at the root. The default is 1, for payoffs that include the
        probabilities of the deal.
    scale : float, optional
        The largest absolute payoff without probabilities; by default the largest entry of leaves' payoffs.
    labels : mapping of (node, state number) to hashable, optional
        The labels of infosets; by default pairs of the path of actions and the private state.
    boards : Boards, optional
        The outcomes of public chance at each node; by default all nodes share one board, with all states.
    deals : sequence of Leaves, optional
        The probability that each pair of states reaches a leaf, including public chance but not the players' reaches:
        :meth:`arrival` needs them.
    symmetries : sequence of Symmetry, optional
        All symmetries except the identity; with it they form a group. Loops visit equivalent boards once.

    Attributes
    ----------
    players, parents, boards : ndarray of int
        By node.
    present : tuple of pairs of ndarray of int
        By board, each player's states that reach it.
    children : tuple of ndarray of int
        The children of each public state, in order.

    Examples
    --------
    >>> from treeplex import load_game, solve, Nash, Game
    >>> from treeplex.seqform.public_form import PublicForm
    >>> form = PublicForm.from_rules(load_game("kuhn").rules)
    >>> form
    PublicForm(decisions=4, leaves=5, states=(3, 3))
    >>> game = Game("kuhn in public form", sequence_form=form.sequence_form())
    >>> round(solve(Nash(game)).value, 12)
    -0.055555555556
    """

    def __init__(
        self,
        players: npt.ArrayLike,
        parents: npt.ArrayLike,
        actions: Sequence[Hashable],
        states: Sequence[Sequence[Hashable]],
        leaves: Sequence[Leaves],
        weights: Sequence[npt.ArrayLike] | None = None,
        scale: float | None = None,
        labels: dict[tuple[int, int], Hashable] | None = None,
        boards: Boards | None = None,
        deals: Sequence[Leaves] = (),
        symmetries: Sequence[Symmetry] = (),
    ) -> None:
        self.players = frozen(np.array(players, dtype=np.int64))
        self.parents = frozen(np.array(parents, dtype=np.int64))
        self.actions = tuple(actions)
        self.states = tuple(map(tuple, states))
        self.leaves, self.deals = tuple(leaves), tuple(deals)
        self.symmetries = tuple(symmetries)
        self.labels = labels
        self._scale = scale
        count = len(self.players)
        if len(self.parents) != count or len(self.actions) != count:
            raise InvalidGameError(
                f"a public tree has {count} players, {len(self.parents)} parents and {len(self.actions)} actions, "
                "expected one of each per node"
            )
        if count == 0 or self.parents[0] != -1 or not (self.parents[1:] < np.arange(1, count)).all():
            raise InvalidGameError("a public tree must start with its root, with parents before their children")
        if (self.parents[1:] < 0).any() or (self.players[self.parents[1:]] == TERMINAL).any():
            raise InvalidGameError("a public tree must have one root and no nodes after its leaves")
        if boards is None:
            boards = Boards(np.zeros(count), [[np.arange(len(one)) for one in self.states]])
        self.boards = frozen(np.array(boards.nodes, dtype=np.int64))
        self.present: tuple[tuple[Indices, ...], ...] = tuple(
            tuple(frozen(np.array(one, dtype=np.int64)) for one in here) for here in boards.present
        )
        if self.boards.shape != (count,) or self.boards.min() < 0 or self.boards.max() >= len(self.present):
            raise InvalidGameError(f"expected one board for each of {count} nodes, a number below {len(self.present)}")
        if weights is None:
            weights = [np.ones(len(one)) for one in self.states]
        self.weights = tuple(frozen(np.array(one, dtype=np.float64)) for one in weights)
        for weight, own in zip(self.weights, self.states, strict=True):
            if weight.shape != (len(own),) or not (np.isfinite(weight).all() and (weight >= 0.0).all()):
                raise InvalidGameError(f"expected one finite weight of at least 0 for each of {len(own)} states")

    def __repr__(self) -> str:
        sizes = tuple(map(len, self.states))
        return f"PublicForm(decisions={len(self.decisions)}, leaves={self.num_leaves}, states={sizes})"

    @classmethod
    def from_rules(cls, rules: Rules, memory: int | str | None = None) -> "PublicForm":
        """Return a game in public form.

        Parameters
        ----------
        rules : Rules
            The rules of a game of two players, with the methods ``private_information`` and ``public_history``.
        memory : int or str, optional
            As in :meth:`SequenceForm.from_rules <treeplex.SequenceForm.from_rules>`.

        Raises
        ------
        UnsupportedProblemError
            If private information changes after the deal, or the rules do not define public information.
        GameTooLargeError
        """
        return _Collected(rules, Budget(memory)).form()

    @cached_property
    def children(self) -> tuple[Indices, ...]:
        """The children of each public state."""
        return tuple(frozen(self.by_parent[start:end]) for start, end in pairwise(self.ends.tolist()))

    @cached_property
    def decisions(self) -> Indices:
        """The public states at which a player moves."""
        return frozen(np.flatnonzero(self.players >= 0))

    @property
    def num_leaves(self) -> int:
        """Number of leaves of the public tree."""
        return int((self.players == TERMINAL).sum())

    @property
    def num_infosets(self) -> tuple[int, ...]:
        """The number of each player's infosets in the sequence form, computed without building the form."""
        return tuple(int(here.sum()) for here, _ in self._decided)

    @property
    def num_sequences(self) -> tuple[int, ...]:
        """The number of each player's sequences in the sequence form, including the empty one.

        Examples
        --------
        >>> from treeplex import load_game
        >>> form = PublicForm.from_rules(load_game("kuhn").rules)
        >>> form.num_sequences, form.num_infosets
        ((13, 13), (6, 6))
        """
        return tuple(1 + int((here * moves).sum()) for here, moves in self._decided)

    @property
    def _decided(self) -> Iterator[tuple[Indices, Indices]]:
        """For each player, the states that reach each of its nodes, and the actions there."""
        moves = np.bincount(self.parents[1:], minlength=len(self.parents))
        for player in range(len(self.states)):
            nodes = np.flatnonzero(self.players == player)
            count = np.array([len(pair[player]) for pair in self.present], dtype=np.int64)
            yield count[self.boards[nodes]], moves[nodes]

    @cached_property
    def is_zero_sum(self) -> bool:
        """Whether the players' payoffs sum to zero at all leaves."""
        return all(one.is_zero_sum for one in self.leaves)

    @cached_property
    def payoff_scale(self) -> float:
        """The largest absolute payoff at a leaf."""
        if self._scale is not None:
            return self._scale
        return max((one.payoff.largest * np.abs(one.amounts).max() for one in self.leaves), default=0.0) or 1.0

    @cached_property
    def stakes(self) -> float:
        """The largest absolute payoff apart from penalties, which are detected in small forms without showdowns.

        For other forms it is :attr:`payoff_scale`.
        """
        return self.sequence_form().stakes if self.is_small else self.payoff_scale

    #: Whatever else identifies the game.
    _known_as: tuple[str, ...] = ()
    #: Whether all payoffs are here; otherwise it is a :class:`~treeplex.seqform.cut_form.CutForm`.
    is_whole: bool = True

    @property
    def is_small(self) -> bool:
        """Whether the payoffs have no showdowns and can quickly be converted to a matrix."""
        entries = 0
        for one in self.leaves:
            if not isinstance(one.payoff, FactoredPayoff):
                return False
            entries += len(one.nodes) * one.payoff.nnz
        return 0 < entries <= _MOST_ENTRIES

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify the game, as for a sequence form."""
        labels = None if self.labels is None else tuple(sorted(self.labels.items(), key=lambda item: item[0]))
        parts: list[Any] = [self.players, self.parents, self.boards, self.actions, self.states, labels, *self.weights]
        parts += [self._scale, *(states for board in self.present for states in board)]
        for leaves in self.leaves:
            payoff = leaves.payoff
            parts += [leaves.nodes, leaves.amounts]
            if isinstance(payoff, CardPayoff):
                parts += [*payoff.cards, *payoff.alive, *(payoff.strengths or (None,))]
            else:
                for factor in (payoff.left, payoff.right):
                    parts += [factor.indptr, factor.indices, factor.data]
                parts.append(payoff.chained)
        return digest_of([*parts, *self._known_as])

    def path(self, node: int) -> tuple[Hashable, ...]:
        """Return the actions and cards that lead to a public state."""
        path = []
        while node > 0:
            path.append(self.actions[node])
            node = int(self.parents[node])
        return tuple(reversed(path))

    def after(self, nodes: Indices) -> Indices:
        """Return the children of public states, grouped by state."""
        return self.by_parent[_runs(self.ends[nodes], self.ends[nodes + 1])]

    def alike(self, nodes: Indices) -> Iterator[Indices]:
        """Yield groups of positions of public states that have equal boards, movers and numbers of children."""
        counts = self.ends[nodes + 1] - self.ends[nodes]
        return equal_runs(np.stack([self.boards[nodes], self.players[nodes], counts]))

    def on_board(
        self, roots: Indices, whole: bool = True
    ) -> tuple[Indices, list[tuple[int, Indices, Indices]], list[Indices]]:
        """Return public states on one board with their descendants, up to the first ones on other boards.

        Parameters
        ----------
        roots : ndarray of int
        whole : bool
            Whether to go on to the ends of the board; otherwise to the children of the roots alone.

        Returns
        -------
        nodes : ndarray of int, shape (k,)
            The roots first.
        steps : list of (int, ndarray of int, ndarray of int)
            From parents to children, level by level: the mover, the parents' positions in ``nodes``, shape (m,), and
            their children's, shape (m, actions).
        beyond : list of ndarray of int
            The positions of the last states: for the whole board, of those on each other board, otherwise of each one.
        """
        nodes, rows, board = roots, np.arange(len(roots)), self.boards[roots[0]]
        steps, last = [], [rows[:0]]
        while len(rows := rows[self.players[nodes[rows]] != TERMINAL]):
            parents, end = nodes[rows], len(nodes)
            counts = self.ends[parents + 1] - self.ends[parents]
            firsts = end + np.cumsum(counts) - counts
            for some in self.alike(parents):
                below = firsts[some, None] + np.arange(counts[some[0]])
                steps.append((int(self.players[parents[some[0]]]), rows[some], below))
            nodes = np.concatenate([nodes, self.after(parents)])
            inside = (self.boards[nodes[end:]] == board) & whole
            last.append(end + np.flatnonzero(~inside))
            rows = end + np.flatnonzero(inside)
        past = np.concatenate(last)
        keys = self.boards[nodes[past]] if whole else past
        return nodes, steps, [past[some] for some in equal_runs(keys[None])]

    def below(self, node: int) -> Indices:
        """Return a public state and all its descendants, level by level."""
        levels = [np.array([node])]
        while len(levels[-1]):
            levels.append(self.after(levels[-1]))
        return np.concatenate(levels)

    @cached_property
    def by_parent(self) -> Indices:
        """All nodes, ordered by their parents."""
        return np.argsort(self.parents, kind="stable")

    @cached_property
    def ends(self) -> Indices:
        """The start of each node's children in :attr:`by_parent`, followed by the end of the last group."""
        return np.searchsorted(self.parents[self.by_parent], np.arange(len(self.parents) + 1))

    @cached_property
    def _paid(self) -> tuple[Indices, Indices, Floats]:
        """The payoffs by leaf: the start of each node's entries; their groups, and the amounts of both players."""
        none, number = np.zeros(0, dtype=np.int64), len(self.leaves) or 1
        nodes = np.concatenate([group.nodes for group in self.leaves] or [none])
        groups = np.repeat(np.arange(len(self.leaves)), [len(group.nodes) for group in self.leaves])
        amounts = np.concatenate([group.paid for group in self.leaves] or [np.zeros((2, 0))], axis=1)
        # A leaf that is twice in a group has one entry, with the sum.
        entries, places = np.unique(nodes * number + groups, return_inverse=True)
        starts = np.searchsorted(entries, np.arange(len(self.players) + 1) * number)
        return starts, entries % number, np.array([np.bincount(places, one, len(entries)) for one in amounts])

    def leaves_among(self, nodes: Indices) -> Iterator[tuple[Indices, Leaves]]:
        """Yield, for each group of leaves, the leaves among ``nodes``, with their positions in ``nodes``."""
        starts, groups, amounts = self._paid
        places = np.repeat(np.arange(len(nodes)), starts[nodes + 1] - starts[nodes])
        entries = _runs(starts[nodes], starts[nodes + 1])
        for some in equal_runs(groups[None, entries]):
            group, at = self.leaves[groups[entries[some[0]]]], places[some]
            yield at, replace(group, nodes=nodes[at], amounts=amounts[:, entries[some]])

    @cached_property
    def _nearest(self) -> tuple[Indices, Indices]:
        """For each public state, the least number of leaves that hold its whole probability, and the child to take."""
        costs, choices = np.ones(len(self.players), dtype=np.int64), np.zeros(len(self.players), dtype=np.int64)
        for node in np.flatnonzero(self.players != TERMINAL)[::-1].tolist():
            after = self.children[node]
            choices[node] = after[costs[after].argmin()]
            costs[node] = costs[after].sum() if self.players[node] == CHANCE else costs[choices[node]]
        return costs, choices

    @cached_property
    def _dealt(self) -> dict[int, tuple[int, float]]:
        """For each leaf, the index of its deal and its probability."""
        return {
            node: (number, amount)
            for number, group in enumerate(self.deals)
            for node, amount in zip(group.nodes.tolist(), group.amounts.tolist(), strict=True)
        }

    def arrival(self, player: int, node: int, reach: Floats) -> Floats:
        """Return the probability that each of a player's states reaches a public state if the player plays towards it.

        Parameters
        ----------
        player : {0, 1}
        node : int
        reach : ndarray of float64, shape (number of the other player's states,)
            The other player's reach.

        Returns
        -------
        ndarray of float64, shape (number of the player's states,)
            The weight of the player's own state is not included.

        Raises
        ------
        UnsupportedProblemError
            If the form does not have the probabilities of pairs of states (`deals`).
        """
        total = np.zeros(len(self.states[player]))
        for number, amount in self._dealt_at(node).items():
            group = self.deals[number]
            total += Leaves(group.nodes[:1], np.array([amount]), group.payoff).gradient(player, reach[None])[0]
        return total if player == 0 else -total

    def pairs(self, node: int) -> sp.csr_array:
        """Return the probability that each pair of states arrives at a public state if both players play towards it.

        Parameters
        ----------
        node : int

        Returns
        -------
        csr_array, shape (states of player 0, states of player 1)
            Weights of the states are not included.

        Raises
        ------
        UnsupportedProblemError
            If the form does not have the probabilities of pairs of states (`deals`).
        """
        total = sp.csr_array((len(self.states[0]), len(self.states[1])))
        for number, amount in self._dealt_at(node).items():
            total = total + amount * self.deals[number].factored.matrix
        return total

    def _dealt_at(self, node: int) -> dict[int, float]:
        """Return the weight of each deal in the pairs of states at a public state."""
        if not self.deals:
            raise UnsupportedProblemError("this public form has no probabilities of pairs of states (deals)")
        _, choices = self._nearest
        # Whatever both players do from here on, the leaves reached have the same total probability: use the fewest
        # leaves.
        found: dict[int, float] = {}
        nodes = [node]
        while nodes:
            one = nodes.pop()
            if self.players[one] == TERMINAL:
                number, amount = self._dealt[one]
                found[number] = found.get(number, 0.0) + amount
            elif self.players[one] == CHANCE:
                nodes += self.children[one].tolist()
            else:
                nodes.append(int(choices[one]))
        return found

    def find(self, at: str) -> int:
        """Return the public state that actions lead to.

        Parameters
        ----------
        at : str
            The actions and cards from the root, separated by commas, such as ``"check, bet 120"``; an empty string for
            the root. A card may be preceded by ``deal``.

        Raises
        ------
        InvalidGameError
            If there is no such state; the message lists the possible next actions or cards.

        Examples
        --------
        >>> from treeplex import load_game
        >>> form = PublicForm.from_rules(load_game("kuhn").rules)
        >>> form.path(form.find("p, b"))
        ('p', 'b')
        """
        node = 0
        steps = steps_of(at)
        for number in range(len(steps)):
            after = self.children[node]
            names = [str(self.actions[child]) for child in after.tolist()]
            node = int(after[place_of(steps, number, names, self.players[node] == CHANCE)])
        return node

    @cached_property
    def _sequences(self) -> tuple[tuple[Indices, ...], ...]:
        """For each player, the sequence of each state that leads to each node: 0 before the player has moved."""
        return tuple(self._sequences_of(player) for player in range(len(self.states)))

    def sequences(self, player: int, node: int) -> Indices:
        """Return the sequence of each of a player's states that leads to a public state; −1 if it never does."""
        return self._sequences[player][node]

    def _sequences_of(self, player: int) -> tuple[Indices, ...]:
        count = len(self.states[player])
        found: list[Any] = [None] * len(self.players)
        found[0] = np.zeros(count, dtype=np.int64)
        end = 1
        for node, mover in enumerate(self.players.tolist()):
            here, after = found[node], self.children[node]
            for place, child in enumerate(after.tolist()):
                found[child] = here
                if mover == player:
                    numbers = np.full(count, -1, dtype=np.int64)
                    present = self.present[self.boards[node]][player]
                    numbers[present] = end + np.arange(len(present)) * len(after) + place
                    found[child] = numbers
            if mover == player:
                end += len(present) * len(after)
        return tuple(found)

    def _treeplex(self, player: int) -> Treeplex:
        parents, counts, actions = [], [], []
        labels: list[Hashable] = []
        known = self.labels or {}
        for node in np.flatnonzero(self.players == player).tolist():
            present = self.present[self.boards[node]][player]
            moves = tuple(self.actions[child] for child in self.children[node].tolist())
            parents.append(self.sequences(player, node)[present])
            counts.append(np.full(len(present), len(moves)))
            path = self.path(node)
            labels += [known.get((node, state), (path, self.states[player][state])) for state in present.tolist()]
            actions += [moves] * len(present)
        none = [np.zeros(0, dtype=np.int64)]
        return Treeplex(np.concatenate(parents or none), np.concatenate(counts or none), labels, actions)

    def sequence_form(self) -> SequenceForm:
        """Return the game in sequence form, whose payoffs are a :class:`PublicPayoff`.

        Infosets and sequences follow the order of the nodes, and of the states at each node.

        Raises
        ------
        GameTooLargeError
            If its infosets and sequences take more memory than the budget.

        Examples
        --------
        >>> from treeplex import load_game
        >>> form = PublicForm.from_rules(load_game("leduc").rules).sequence_form()
        >>> form.factored.shape, form.factored.chained is None
        ((1093, 1093), True)
        """
        Budget().require(self.sequence_form_bytes, "the infosets and sequences of a game in public form")
        treeplexes = [self._treeplex(player) for player in range(len(self.states))]
        return SequenceForm(treeplexes, factored=self._payoff, known_as=self.fingerprint)

    @cached_property
    def histories(self) -> tuple[LeafTable, PublicTree]:
        """Every pair of private states at every leaf as a leaf table, and the public tree with the leaves' states.

        The table has an entry for each pair that is dealt together, so it is far larger than the form.

        Raises
        ------
        UnsupportedProblemError
            If the form does not have the probabilities of pairs of states (`deals`).
        GameTooLargeError
            If the table takes more memory than the budget.

        Examples
        --------
        >>> from treeplex import load_game
        >>> table, public = PublicForm.from_rules(load_game("kuhn").rules).histories
        >>> len(table), sorted(set(public.leaf_states.tolist()))  # six deals, five ways to bet
        (30, [1, 2, 3])
        """
        self._dealt_at(0)
        Budget().require(
            _HISTORY_BYTES * sum(len(group.nodes) * group.factored.matrix.nnz for group in self.deals),
            "the leaf table of a game in public form",
        )
        starts, groups, amounts = self._paid
        first, second = self.weights
        sequences, chances, payoffs, nodes = [], [], [], []
        for dealt in self.deals:
            together = dealt.factored.matrix.tocoo()
            pair, weights = (together.row, together.col), first[together.row] * second[together.col]
            units: dict[int, Floats] = {}
            for node, share in zip(dealt.nodes.tolist(), dealt.amounts.tolist(), strict=True):
                paid = np.zeros((len(weights), 2))
                for entry in range(starts[node], starts[node + 1]):
                    number = int(groups[entry])
                    if number not in units:
                        units[number] = self.leaves[number].factored.matrix.toarray()[pair]
                    paid += units[number][:, None] * amounts[:, entry]
                likely = share * together.data
                sequences.append(np.stack([self.sequences(player, node)[pair[player]] for player in (0, 1)], axis=1))
                chances.append(weights * likely)
                payoffs.append(paid / likely[:, None])
                nodes.append(np.full(len(weights), self.parents[node]))
        table = LeafTable.of_arrays(
            frozen(np.concatenate(sequences).astype(np.int32)),
            frozen(np.concatenate(chances)),
            frozen(np.concatenate(payoffs)),
        )
        inner = np.cumsum(self.players != TERMINAL) - 1
        return table, replace(self.public_tree(), leaf_states=frozen(inner[np.concatenate(nodes)].astype(np.int32)))

    def public_tree(self) -> PublicTree:
        """Return the public states at which a player or chance moves, in the order of the nodes, without a leaf table.

        Examples
        --------
        >>> from treeplex import load_game
        >>> PublicForm.from_rules(load_game("leduc").rules).public_tree()
        PublicTree(states=191, levels=9)
        """
        inner = np.flatnonzero(self.players != TERMINAL)
        number = np.full(len(self.players) + 1, -1, dtype=np.int32)  # the last entry is for the parent of the root
        number[inner] = np.arange(len(inner))
        parents = number[self.parents[inner]]
        levels = np.zeros(len(inner), dtype=np.int32)
        for state, parent in enumerate(parents[1:].tolist(), 1):
            levels[state] = levels[parent] + 1
        movers = self.players[inner].tolist()
        present = [np.array([len(pair[player]) for pair in self.present]) for player in range(len(self.states))]
        return PublicTree(
            parents=parents,
            levels=levels,
            players=tuple((mover,) if mover != CHANCE else () for mover in movers),
            infoset_states=tuple(
                np.repeat(number[nodes], counts[self.boards[nodes]])
                for player, counts in enumerate(present)
                for nodes in [np.flatnonzero(self.players == player)]
            ),
            leaf_states=np.zeros(0, dtype=np.int32),
            labels=tuple(", ".join(map(str, self.path(node))) for node in inner.tolist()),
        )

    @property
    def sequence_form_bytes(self) -> int:
        """The size of infosets and sequences in the sequence form, without payoffs."""
        return _INFOSET_BYTES * sum(self.num_infosets) + _SEQUENCE_BYTES * sum(self.num_sequences)

    @property
    def _payoff(self) -> Payoff:
        return PublicPayoff(self)


class _Collected:
    """The public tree of rules, collected from their histories."""

    def __init__(self, rules: Rules, budget: Budget) -> None:
        missing = [name for name in ("private_information", "public_history") if not hasattr(rules, name)]
        if missing:
            raise UnsupportedProblemError(
                f"a public form needs rules with the methods private_information and public_history; "
                f"{type(rules).__name__} has no {missing[0]}"
            )
        if rules.num_players != 2:
            raise UnsupportedProblemError(f"a public form needs two players, but the game has {rules.num_players}")
        budget.admit(rules)
        self._rules: Any = rules
        self._numbers: dict[tuple[Any, ...], int] = {}
        self.players: list[int] = []
        self.parents: list[int] = []
        self.actions: list[Hashable] = []
        self.labels: dict[tuple[int, int], Hashable] = {}
        self.boards: list[int] = []
        self.present: list[tuple[set[int], set[int]]] = []
        self._boards: dict[Hashable, int] = {}
        self.states: tuple[dict[Hashable, int], dict[Hashable, int]] = ({}, {})
        self.payoffs: dict[int, list[tuple[int, int, float, float, float]]] = {}
        self.largest, self.is_zero_sum = 0.0, True
        watch = Watch(budget, lambda: 200 * len(self.labels))
        for history in walk(rules, watch):
            self._add(history)

    def _add(self, history: Any) -> None:
        """Add a history; its data are its public state, the states dealt, and the probability of chance so far."""
        rules, before = self._rules, history.before
        public = rules.public_history(history.state)
        dealt = tuple(rules.private_information(history.state, player) for player in (0, 1))
        parent, _, so_far = (-1, None, 1) if before is None else before.data
        chance = so_far * history.probability
        if not public and history.player == CHANCE:  # the deal
            history.data = -1, dealt, chance
            return
        key = (public, history.player, parent, history.action if parent >= 0 else None)
        node = self._numbers.setdefault(key, len(self.players))
        if node == len(self.players):
            self.players.append(history.player)
            self.parents.append(parent)
            self.actions.append(history.action if parent >= 0 else None)
            self.boards.append(self._board(parent))
        if parent >= 0 and before.data[1] != dealt and history.player != TERMINAL:
            raise UnsupportedProblemError(
                f"a public form needs private information that is dealt only at the root, but at {history} it "
                f"changes to {shown(dealt)}"
            )
        if parent >= 0:
            dealt = before.data[1]
        history.data = node, dealt, chance
        numbers = [known.setdefault(one, len(known)) for known, one in zip(self.states, dealt, strict=True)]
        for here, number in zip(self.present[self.boards[node]], numbers, strict=True):
            here.add(number)
        if history.player >= 0:
            self.labels[node, numbers[history.player]] = rules.infoset(history.state)
        elif history.player == TERMINAL:
            first, second = rules.payoffs(history.state)
            self.is_zero_sum &= abs(first + second) <= 1e-9 * max(1.0, abs(first))
            self.largest = max(self.largest, abs(float(first)), abs(float(second)))
            brought = float(chance), float(chance * first), float(chance * second)
            self.payoffs.setdefault(node, []).append((numbers[0], numbers[1], *brought))

    def _board(self, parent: int) -> int:
        """Return the board of the newest node: its parent's, unless chance has revealed something since."""
        if parent >= 0 and self.players[parent] != CHANCE:
            return self.boards[parent]
        shown_since = (-1, None) if parent < 0 else (self.boards[parent], self.actions[-1])
        board = self._boards.setdefault(shown_since, len(self.present))
        if board == len(self.present):
            self.present.append((set(), set()))
        return board

    def form(self) -> PublicForm:
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent < 0 else depths[parent] + 1)
        order = np.argsort(depths, kind="stable").tolist()
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        parents = [-1 if self.parents[node] < 0 else int(place[self.parents[node]]) for node in order]
        return PublicForm(
            [self.players[node] for node in order],
            parents,
            [self.actions[node] for node in order],
            [list(one) for one in self.states],
            self._leaves(place),
            deals=[Leaves(place[[node]], np.ones(1), self._payoff(node, 2)) for node in sorted(self.payoffs)],
            scale=self.largest or None,
            labels={(int(place[node]), state): label for (node, state), label in self.labels.items()},
            boards=Boards(
                [self.boards[node] for node in order],
                [(sorted(mine), sorted(theirs)) for mine, theirs in self.present],
            ),
        )

    def _leaves(self, place: Indices) -> list[Leaves]:
        """Return the payoffs of leaves: opposite amounts for the two players, or a separate amount for each."""
        amounts = [np.ones(1)] if self.is_zero_sum else [np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])]
        return [
            Leaves(place[[node]], each, self._payoff(node, 3 + player))
            for node in sorted(self.payoffs)
            for player, each in enumerate(amounts)
        ]

    def _payoff(self, node: int, column: int) -> FactoredPayoff:
        """Return a leaf's probability (2) or its payoff to player 0 (3) or 1 (4), one factor per state of player 1.

        Payoffs are multiplied by probabilities.
        """
        columns = [np.array(one) for one in zip(*self.payoffs[node], strict=True)]
        left = sp.coo_array((columns[column], (columns[0], columns[1])), shape=tuple(map(len, self.states)))
        return FactoredPayoff(left, sp.eye_array(left.shape[1]), scale=self.largest or None)
