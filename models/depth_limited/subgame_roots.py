"""Subgames rooted in public states, and the other player's ways into them."""

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats, Integers
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.functional import dealt_form_of
from ...seqform.game import Game
from ...seqform.payoffs import LeafTable
from ...seqform.polytope import Treeplex
from ...seqform.public_tree import PublicTree

Numbers = npt.NDArray[np.int64]

#: What the other player decides in a gadget: see :meth:`SubgameRoots.above`.
Form = Literal["stops", "choice", "path"]


@dataclass(frozen=True, eq=False)
class SubgameRoots:
    """The subgames below some public states, none of which lies below another, from one player's seat.

    A *way in* is a subgame with one sequence of the other player that leads to histories at its root, that is, that
    player's augmented infoset there. Ways in are ordered by subgame. All arrays are as large as the subgames and the
    player's infosets above them.

    Attributes
    ----------
    player : int
        The player who resolves the subgames.
    states : ndarray of int32, shape (num_subgames,)
        The public states at their roots.
    own : Treeplex
        The player's decisions in the subgames and on the way to them.
    own_infosets, own_sequences : ndarray of int64
        Their indices in the game, in the order of ``own``, including the empty sequence.
    way_subgames : ndarray of int64, shape (num_ways,)
        The subgame index of each way in.
    way_sequences : ndarray of int64, shape (num_ways,)
        The other player's last sequence.
    infosets : ndarray of int64, shape (k,)
        The other player's infosets in subgames.
    sequences : ndarray of int64, shape (m,)
        The other player's sequences there, in increasing order.
    infoset_sources : ndarray of int64, shape (k,)
        The origin of each infoset: the index of a way in, or of one of ``sequences``, counted after the ways.
    leaves : ndarray of int64, shape (l,)
        The leaves in subgames, by index in the leaf table.
    leaf_sources : ndarray of int64, shape (l,)
        The origin of each leaf, as for infosets.
    leaf_rows : ndarray of int64, shape (l,)
        The last sequence of ``own`` before each leaf.
    leaf_payoffs : ndarray of float64, shape (l,)
        The player's payoff at each leaf, multiplied by the probability of chance.
    other : Treeplex
        The other player's polytope.
    """

    player: int
    states: Integers
    own: Treeplex
    own_infosets: Numbers
    own_sequences: Numbers
    way_subgames: Numbers
    way_sequences: Numbers
    infosets: Numbers
    sequences: Numbers
    infoset_sources: Numbers
    leaves: Numbers
    leaf_sources: Numbers
    leaf_rows: Numbers
    leaf_payoffs: Floats
    other: Treeplex

    @classmethod
    def of(cls, game: Game, player: int, states: Iterable[int]) -> "SubgameRoots":
        """Collect the subgames of a game.

        Parameters
        ----------
        game : Game
            Two players; with histories.
        player : int
        states : iterable of int
            Public states, none below another.

        Returns
        -------
        SubgameRoots

        Raises
        ------
        UnsupportedProblemError, GameTooLargeError
            As for :func:`histories_of`.

        Examples
        --------
        >>> from treeplex import load_game
        >>> from treeplex.models.depth_limited import SubgameRoots
        >>> coin = load_game("coin")
        >>> roots = SubgameRoots.of(coin, 0, coin.public_tree.infoset_states[0])
        >>> [coin.sequence_form.treeplexes[1].sequence_label(s) for s in roots.way_sequences.tolist()]
        [('red_', 'RH'), ('red_', 'RT'), ('green_', 'GH'), ('green_', 'GT')]
        """
        table, public = histories_of(game)
        roots = np.unique(np.fromiter(states, dtype=np.int32))
        own, other = (game.sequence_form.treeplexes[seat] for seat in (player, 1 - player))
        infosets = public.below(roots, 1 - player).astype(np.int64)
        sequences = sequences_at(other, infosets)
        leaves = public.leaves_below(roots).astype(np.int64)
        last = np.concatenate([other.parents[infosets], table.sequences[leaves, 1 - player]]).astype(np.int64)
        states_of = np.concatenate([public.infoset_states[1 - player][infosets], public.leaf_states[leaves]])
        # A single number for a subgame and a sequence, ordered first by subgame.
        keys = public.subgames_of(roots, states_of) * other.num_sequences + last
        places, inner = placed(last, sequences)
        ways = np.unique(keys[~inner])
        sources = np.where(inner, len(ways) + places, np.searchsorted(ways, keys))
        inside, reached = public.below(roots, player), table.sequences[leaves, player]
        own_infosets = infosets_above(own, np.concatenate([own.offsets[inside], reached]))
        own_sequences = np.append(0, sequences_at(own, own_infosets))
        return cls(
            player=player,
            states=roots,
            own=Treeplex(np.searchsorted(own_sequences, own.parents[own_infosets]), own.num_actions[own_infosets]),
            own_infosets=own_infosets,
            own_sequences=own_sequences,
            way_subgames=ways // other.num_sequences,
            way_sequences=ways % other.num_sequences,
            infosets=infosets,
            sequences=sequences,
            infoset_sources=sources[: len(infosets)],
            leaves=leaves,
            leaf_sources=sources[len(infosets) :],
            leaf_rows=np.searchsorted(own_sequences, reached),
            leaf_payoffs=table.chance[leaves] * table.payoffs[leaves, player],
            other=other,
        )

    @property
    def num_subgames(self) -> int:
        """Number of subgames."""
        return len(self.states)

    @property
    def num_ways(self) -> int:
        """Number of ways in."""
        return len(self.way_sequences)

    def reply(self, form: Form) -> tuple[Treeplex, sp.csr_array, Integers]:
        """Return the other player's decisions in a gadget and below.

        Parameters
        ----------
        form : {"stops", "choice", "path"}
            See :meth:`above`.

        Returns
        -------
        reply : Treeplex
            Decisions of the gadget first, then the infosets of the subgames.
        matrix : csr_array, shape (num_sequences of own, num_sequences of reply)
            The player's payoff for each pair of sequences.
        entries : ndarray of int32, shape (num_ways,)
            The sequence of each way; if there are stops, the sequence after it stops.
        """
        counts, entries, parents = self.above(form)
        reply, columns = self.below(counts, entries, parents)
        shape = self.own.num_sequences, reply.num_sequences
        matrix = sp.csr_array((self.leaf_payoffs, (self.leaf_rows, columns)), shape=shape)
        return reply, matrix, entries.astype(np.int32)

    def above(self, form: Form) -> tuple[Numbers, Numbers, Numbers]:
        """Return the other player's decisions in a gadget, which come first in its reply.

        Parameters
        ----------
        form : {"stops", "choice", "path"}
            With ``stops``, each way in is a decision to enter or to stop. With ``choice``, each subgame begins with a
            choice among its ways in. With ``path``, the gadget has the other player's own infosets above, each with its
            actions that lead to a way in and one more if some lead elsewhere, and then a single action for each way.

        Returns
        -------
        counts : ndarray of int64, shape (num_decisions,)
            The number of actions of each decision.
        entries : ndarray of int64, shape (num_ways,)
            The sequence of each way.
        parents : ndarray of int64, shape (num_decisions,)
            The sequence before each decision.
        """
        ways = np.arange(self.num_ways, dtype=np.int64)
        if form == "stops":
            return np.full_like(ways, 2), 1 + 2 * ways, np.zeros_like(ways)
        if form == "choice":
            counts = np.bincount(self.way_subgames, minlength=self.num_subgames)
            return counts, 1 + ways, np.zeros_like(counts)
        other = self.other
        infosets = infosets_above(other, self.way_sequences)
        parents = np.concatenate([other.parents[infosets], self.way_sequences])
        taken = np.unique(parents[parents > 0])
        leading = np.bincount(np.searchsorted(infosets, other.sequence_infosets[taken]), minlength=len(infosets))
        elsewhere = (leading < other.num_actions[infosets]).astype(np.int64)
        # Sequences that lead to ways keep their order; those of an infoset that lead elsewhere follow as a single one.
        places = 1 + np.arange(len(taken)) + np.repeat(np.cumsum(elsewhere) - elsewhere, leading)
        counts = np.concatenate([leading + elsewhere, np.ones_like(ways)])
        entries = 1 + int(counts.sum()) - self.num_ways + ways
        return counts, entries, np.append(0, places)[np.where(parents > 0, 1 + np.searchsorted(taken, parents), 0)]

    def below(self, counts: Numbers, entries: Numbers, above: Numbers | None = None) -> tuple[Treeplex, Numbers]:
        """Return the other player's decisions below given first decisions.

        Parameters
        ----------
        counts : ndarray of int
            The number of actions of each first decision.
        entries : ndarray of int, shape (num_ways,)
            Their sequence that leads along each way in.
        above : ndarray of int, optional
            The sequence before each first decision; by default all are at the root.

        Returns
        -------
        treeplex : Treeplex
        columns : ndarray of int64, shape (l,)
            The last sequence before each leaf.
        """
        numbers = self.numbers(1 + int(counts.sum()), entries)
        first = np.zeros(len(counts), dtype=np.int64) if above is None else above
        treeplex = Treeplex(
            np.concatenate([first, numbers[self.infoset_sources]]),
            np.concatenate([counts, self.other.num_actions[self.infosets]]),
        )
        return treeplex, numbers[self.leaf_sources]

    def numbers(self, first: int, entries: Numbers) -> Numbers:
        """Return the indices of the ways in and of ``sequences`` in a reply, where ``sequences`` begin at ``first``."""
        return np.concatenate([entries, first + np.arange(len(self.sequences), dtype=np.int64)])

    def masses(self, game: Game, plan: Floats) -> Floats:
        """Return the probability with which chance and the player together come along each way in.

        Parameters
        ----------
        game : Game
        plan : ndarray of float64, shape (num_sequences of own,)

        Returns
        -------
        ndarray of float64, shape (num_ways,)
            If the other player takes the way with probability 1.
        """
        table, _ = histories_of(game)
        ways = np.ones(self.num_ways, dtype=np.int64)
        below, columns = self.below(ways, np.cumsum(ways))
        # Everything that comes along a way ends at leaves, for any continuation of the other player; here all actions
        # are equally likely.
        reach = table.chance[self.leaves] * plan[self.leaf_rows] * below.uniform_plan()[columns]
        masses: Floats = np.bincount(columns, weights=reach, minlength=below.num_sequences).astype(np.float64)
        for level in reversed(below.levels):
            level.pass_up(np.add.reduceat(masses[level.sequences], level.starts), masses)
        return masses[1 : 1 + self.num_ways]


def histories_of(game: Game) -> tuple[LeafTable, PublicTree]:
    """Return the leaves of a game, and its public tree with the states of the leaves.

    A game in public form, such as a hold'em spot, has no list of histories; its leaf table is expanded.

    Raises
    ------
    UnsupportedProblemError
        If neither its sequence form nor its public form determines the leaves.
    GameTooLargeError
        If the table takes more memory than the budget.
    """
    if game.sequence_form.leaves is not None:
        return game.sequence_form.leaves, game.public_tree
    form = dealt_form_of(game)
    if form is None or not form.is_whole:
        raise UnsupportedProblemError(f"{game.spec} has no leaf table, which gadgets and value functions need")
    found: tuple[LeafTable, PublicTree] = form.histories
    return found


def sequence_masses(game: Game, player: int, plan: Floats) -> Floats:
    """Return chance's and a player's joint reach of the histories after each sequence of the other player.

    Parameters
    ----------
    game : Game
        Two players; with histories.
    player : int
    plan : ndarray of float64, shape (num_sequences of the player,)

    Returns
    -------
    ndarray of float64, shape (num_sequences of the other player,)
        If the other player takes the sequence with probability 1.
    """
    (table, _), other = histories_of(game), game.sequence_form.treeplexes[1 - player]
    reach = table.chance * plan[table.sequences[:, player]]
    last = table.sequences[:, 1 - player]
    masses: Floats = np.bincount(last, weights=reach, minlength=other.num_sequences).astype(np.float64)
    for level in reversed(other.levels):
        level.pass_up(np.add.reduceat(masses[level.sequences], level.starts) / level.counts, masses)
    return masses


def sequences_at(treeplex: Treeplex, infosets: Numbers) -> Numbers:
    """Return the sequences of several infosets, one infoset after the other."""
    counts = treeplex.num_actions[infosets].astype(np.int64)
    return np.repeat(treeplex.offsets[infosets] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())


def infosets_above(treeplex: Treeplex, sequences: npt.NDArray[Any]) -> Numbers:
    """Return the infosets of given sequences and all those above them, in increasing order."""
    found = [np.zeros(0, dtype=np.int64)]
    while len(sequences):
        infosets = np.unique(treeplex.sequence_infosets[sequences])
        found.append(infosets[infosets >= 0].astype(np.int64))
        sequences = treeplex.parents[found[-1]]
    return np.unique(np.concatenate(found))


def placed(numbers: Numbers, among: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Return the position of each number in an increasing array, and whether it is present."""
    places = np.searchsorted(among, numbers)
    return places, np.append(among, -1)[places] == numbers


def roots_at_level(public: PublicTree, level: int) -> Integers:
    """Return the public states of a level.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.depth_limited import roots_at_level
    >>> roots_at_level(load_game("kuhn").public_tree, 1)
    array([1, 3], dtype=int32)
    """
    return np.flatnonzero(public.levels == level).astype(np.int32)


def roots_after_chance(public: PublicTree, first: bool = True) -> Integers:
    """Return the public states directly after public chance events, such as board cards: the first ones, or all.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.depth_limited import roots_after_chance
    >>> len(roots_after_chance(load_game("leduc:merge_suits=true").public_tree))  # 5 ways of betting, 3 cards
    15
    """
    found, passed = [], [False] * public.num_states
    for state, parent in enumerate(public.parents.tolist()):
        if parent >= 0:
            passed[state] = passed[parent] or not public.players[parent]
            if not public.players[parent] and not (first and passed[parent]):
                found.append(state)
    return np.array(found, dtype=np.int32)


def partition_roots(public: PublicTree, where: Any, owner: str) -> Integers:
    """Return the public states at which the subgames of a partition begin, in increasing order.

    Parameters
    ----------
    public : PublicTree
    where : int, str, iterable of int, or callable
        A level, or several (also as ``"2+5"``); ``"chance"`` for the states after each public chance event; or a
        function that takes the public tree and returns the indices of the states.
    owner : str
        The owner of the partition, for messages.

    Raises
    ------
    UnsupportedProblemError
        If there is no such level or state, or no public chance event.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.depth_limited import partition_roots
    >>> public = load_game("kuhn").public_tree
    >>> partition_roots(public, "1+2", "cdrnr").tolist()
    [1, 2, 3]
    >>> partition_roots(public, lambda tree: [tree.labels.index("pb")], "cdrnr").tolist()
    [2]
    """
    if isinstance(where, str) and where.strip() == "chance":
        found = roots_after_chance(public, first=False)
        if not len(found):
            raise UnsupportedProblemError(f"{owner}: level is chance, but the game has no public chance event")
        return found
    given = where(public) if callable(where) else where.split("+") if isinstance(where, str) else where
    several = given if isinstance(given, Iterable) else [given]
    what, most = ("public state", public.num_states) if callable(where) else ("level", public.num_levels)
    numbers = [_number(one, what, most, owner) for one in several]
    if not numbers:
        raise UnsupportedProblemError(f"{owner}: level is {shown(where)}, expected at least one {what}")
    places = np.arange(public.num_states) if callable(where) else public.levels
    return np.flatnonzero(np.isin(places, numbers)).astype(np.int32)


def _number(given: Any, what: str, most: int, owner: str) -> int:
    """Return the index of a level or of a public state, below `most`."""
    text = given.strip() if isinstance(given, str) else given
    number = int(text) if isinstance(text, str) and text.isdecimal() else text
    if isinstance(number, bool) or not isinstance(number, Integral) or not 0 <= int(number) < most:
        expected = f"expected one from 0 to {most - 1}" + ", several as 2+5, or chance" * isinstance(text, str)
        raise UnsupportedProblemError(f"{owner}: {what} is {shown(number)}, {expected}")
    return int(number)
