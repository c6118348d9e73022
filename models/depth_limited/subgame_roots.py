"""Subgames that are rooted in public states, and how the other player comes to them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats, Integers
from ...seqform.errors import UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.polytope import Treeplex
from ...seqform.public_tree import PublicTree

Numbers = npt.NDArray[np.int64]

#: What the other player decides in a gadget: see :meth:`SubgameRoots.above`.
Form = Literal["stops", "choice", "path"]


@dataclass(frozen=True, eq=False)
class SubgameRoots:
    """The subgames below some public states, none of which lies below another, from one player's seat.

    A *way in* is a subgame with one sequence of the other player that leads to histories at its root: that player's
    augmented infoset there. Ways in stand subgame after subgame.

    Attributes
    ----------
    player : int
        The player who resolves the subgames.
    states : ndarray of int32, shape (num_subgames,)
        The public states at which they are rooted.
    way_subgames : ndarray of int64, shape (num_ways,)
        The subgame of each way in, by number.
    way_sequences : ndarray of int64, shape (num_ways,)
        The other player's last sequence.
    infosets : ndarray of int64, shape (k,)
        The other player's infosets in subgames.
    infoset_ways : ndarray of int64, shape (k,)
        The way in that leads to each; −1 where another infoset of the subgame stands above it.
    leaves : ndarray of int64, shape (l,)
        The leaves in subgames, by their numbers in the leaf table.
    leaf_ways : ndarray of int64, shape (l,)
        The way in to each leaf above which the other player has no infoset in the subgame; −1 otherwise.
    leaf_sequences : ndarray of int64, shape (l,)
        The other player's last sequence.
    payoffs : csr_array, shape (num_sequences of the player, l)
        What the player is paid at each leaf, chance multiplied in, in the row of its own last sequence.
    other : Treeplex
        The other player's polytope.
    """

    player: int
    states: Integers
    way_subgames: Numbers
    way_sequences: Numbers
    infosets: Numbers
    infoset_ways: Numbers
    leaves: Numbers
    leaf_ways: Numbers
    leaf_sequences: Numbers
    payoffs: sp.csr_array
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
        UnsupportedProblemError
            If the game brings a sequence form without leaves.

        Examples
        --------
        >>> from treeplex import load_game
        >>> from treeplex.models.depth_limited import SubgameRoots
        >>> coin = load_game("coin")
        >>> roots = SubgameRoots.of(coin, 0, coin.public_tree.infoset_states[0])
        >>> [coin.sequence_form.treeplexes[1].sequence_label(s) for s in roots.way_sequences.tolist()]
        [('red_', 'RH'), ('red_', 'RT'), ('green_', 'GH'), ('green_', 'GT')]
        """
        form, public = game.sequence_form, game.public_tree
        if form.leaves is None:
            raise UnsupportedProblemError(f"{game.spec} has no leaf table, which gadgets need")
        roots = np.unique(np.fromiter(states, dtype=np.int32))
        inside = subgames_of(public, roots)
        other, table = form.treeplexes[1 - player], form.leaves
        infosets = np.flatnonzero(inside[public.infoset_states[1 - player]] >= 0)
        is_inside = np.zeros(other.num_infosets + 1, dtype=bool)  # the last is for the empty sequence
        is_inside[infosets] = True
        parents = other.parents[infosets].astype(np.int64)
        states_of_leaves = np.where(public.leaf_states >= 0, inside[public.leaf_states], -1)
        leaves = np.flatnonzero(states_of_leaves >= 0)
        sequences = table.sequences[leaves, 1 - player].astype(np.int64)
        outer_infosets = ~is_inside[other.sequence_infosets[parents]]
        outer_leaves = ~is_inside[other.sequence_infosets[sequences]]
        # One number for a subgame and a sequence: subgames come first in the order.
        infoset_keys = inside[public.infoset_states[1 - player][infosets]] * other.num_sequences + parents
        leaf_keys = states_of_leaves[leaves] * other.num_sequences + sequences
        keys = np.unique(np.concatenate([infoset_keys[outer_infosets], leaf_keys[outer_leaves]]))
        weights = table.chance[leaves] * table.payoffs[leaves, player]
        own_sequences = table.sequences[leaves, player]
        shape = (form.treeplexes[player].num_sequences, len(leaves))
        return cls(
            player=player,
            states=roots,
            way_subgames=keys // other.num_sequences,
            way_sequences=keys % other.num_sequences,
            infosets=infosets,
            infoset_ways=np.where(outer_infosets, np.searchsorted(keys, infoset_keys), -1),
            leaves=leaves,
            leaf_ways=np.where(outer_leaves, np.searchsorted(keys, leaf_keys), -1),
            leaf_sequences=sequences,
            payoffs=sp.csr_array((weights, (own_sequences, np.arange(len(leaves)))), shape=shape),
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
        matrix : csr_array, shape (num_sequences of the player, num_sequences of reply)
            What pairs of sequences pay the player.
        entries : ndarray of int32, shape (num_ways,)
            The sequence by which each way is taken; where there are stops, the sequence after it stops.
        """
        counts, entries, parents = self.above(form)
        reply, columns = self.below(counts, entries, parents)
        places = sp.csr_array(
            (np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), reply.num_sequences)
        )
        return reply, sp.csr_array(self.payoffs @ places), entries.astype(np.int32)

    def above(self, form: Form) -> tuple[Numbers, Numbers, Numbers]:
        """Return the other player's decisions in a gadget, which come first in its reply.

        Parameters
        ----------
        form : {"stops", "choice", "path"}
            Whether each way in is a decision to enter or to stop; or each subgame begins with a choice among its ways
            in; or the gadget has the other player's own infosets above, each with its actions that lead to a way in
            and another one if some lead elsewhere, and then a single action for each way.

        Returns
        -------
        counts : ndarray of int64, shape (num_decisions,)
            The actions of each.
        entries : ndarray of int64, shape (num_ways,)
            The sequence by which each way is taken.
        parents : ndarray of int64, shape (num_decisions,)
            The sequence before each.
        """
        ways = np.arange(self.num_ways, dtype=np.int64)
        if form == "stops":
            return np.full_like(ways, 2), 1 + 2 * ways, np.zeros_like(ways)
        if form == "choice":
            counts = np.bincount(self.way_subgames, minlength=self.num_subgames)
            return counts, 1 + ways, np.zeros_like(counts)
        other = self.other
        leads = np.zeros(other.num_sequences)
        leads[self.way_sequences] = 1.0
        for level in reversed(other.levels):
            level.pass_up(np.maximum.reduceat(leads[level.sequences], level.starts), leads)
        taken = leads > 0.0
        leading = np.add.reduceat(taken[1:], other.offsets[:-1] - 1, dtype=np.int64) if other.num_infosets else ways[:0]
        infosets = np.flatnonzero(leading)
        leading, elsewhere = leading[infosets], (leading < other.num_actions)[infosets].astype(np.int64)
        # Sequences that lead to ways keep their order; those of an infoset that lead elsewhere follow, as one.
        places = np.zeros(other.num_sequences, dtype=np.int64)
        places[1:][taken[1:]] = 1 + np.arange(leading.sum()) + np.repeat(np.cumsum(elsewhere) - elsewhere, leading)
        counts = np.concatenate([leading + elsewhere, np.ones_like(ways)])
        entries = 1 + int(counts.sum()) - self.num_ways + ways
        return counts, entries, places[np.concatenate([other.parents[infosets], self.way_sequences])]

    @cached_property
    def sequences(self) -> Numbers:
        """The other player's sequences at its infosets in subgames, rising, shape (num_sequences in subgames,)."""
        inside = np.zeros(self.other.num_infosets, dtype=bool)
        inside[self.infosets] = True
        return np.flatnonzero(np.append(False, np.repeat(inside, self.other.num_actions)))

    def places(self, first: int) -> Numbers:
        """Return the other player's sequences, renumbered: :attr:`sequences` from `first` on, others −1."""
        places = np.full(self.other.num_sequences, -1, dtype=np.int64)
        places[self.sequences] = first + np.arange(len(self.sequences))
        return places

    def below(self, counts: Numbers, entries: Numbers, above: Numbers | None = None) -> tuple[Treeplex, Numbers]:
        """Return the other player's decisions below others that come first.

        Parameters
        ----------
        counts : ndarray of int
            The actions of each of those that come first.
        entries : ndarray of int, shape (num_ways,)
            The sequence of theirs that leads along each way in.
        above : ndarray of int, optional
            The sequence before each of those that come first; by default all are at the root.

        Returns
        -------
        treeplex : Treeplex
        columns : ndarray of int64, shape (l,)
            The last sequence before each leaf.
        """
        places = self.places(1 + int(counts.sum()))
        by_way = np.append(entries, 0)  # where no way leads, the last number stands for none
        parents = np.where(self.infoset_ways >= 0, by_way[self.infoset_ways], places[self.other.parents[self.infosets]])
        first = np.zeros(len(counts), dtype=np.int64) if above is None else above
        treeplex = Treeplex(
            np.concatenate([first, parents]), np.concatenate([counts, self.other.num_actions[self.infosets]])
        )
        return treeplex, np.where(self.leaf_ways >= 0, by_way[self.leaf_ways], places[self.leaf_sequences])

    def masses(self, game: Game, plan: Floats) -> tuple[Floats, Floats]:
        """Return how likely chance and the player together come along each way in, and to each sequence's histories.

        Parameters
        ----------
        game : Game
        plan : ndarray of float64, shape (num_sequences of the player,)

        Returns
        -------
        ways : ndarray of float64, shape (num_ways,)
            The other player taking the way with certainty.
        sequences : ndarray of float64, shape (num_sequences of the other player,)
            The other player taking the sequence with certainty.
        """
        table, other = game.sequence_form.leaves, self.other
        assert table is not None
        reach = table.chance * plan[table.sequences[:, self.player]]
        uniform = other.uniform_plan()
        # Of what comes to a sequence all ends at leaves, however the player goes on: here all actions alike.
        last = table.sequences[:, 1 - self.player]
        ended = np.bincount(last, weights=reach, minlength=other.num_sequences)
        sequences = ended.astype(np.float64)
        for level in reversed(other.levels):
            level.pass_up(np.add.reduceat(sequences[level.sequences], level.starts) / level.counts, sequences)
        inner = reach[self.leaves] * uniform[self.leaf_sequences]
        ways = np.zeros(self.num_ways)
        np.add.at(ways, self.leaf_ways[self.leaf_ways >= 0], inner[self.leaf_ways >= 0])
        weights = np.zeros(other.num_sequences)
        deeper = self.leaf_ways < 0
        np.add.at(weights, self.leaf_sequences[deeper], inner[deeper])
        for level in reversed(other.levels):
            level.pass_up(np.add.reduceat(weights[level.sequences], level.starts), weights)
        totals = np.add.reduceat(weights[1:], other.offsets[:-1] - 1)[self.infosets]
        np.add.at(ways, self.infoset_ways[self.infoset_ways >= 0], totals[self.infoset_ways >= 0])
        return ways / uniform[self.way_sequences], sequences


def subgames_of(public: PublicTree, roots: Integers) -> Numbers:
    """Return the number of the subgame in which each public state lies; −1 above all roots.

    Parameters
    ----------
    public : PublicTree
    roots : ndarray of int32
        Public states, none below another, in rising order.

    Returns
    -------
    ndarray of int64, shape (num_states,)
    """
    inside = np.full(public.num_states, -1, dtype=np.int64)
    inside[roots] = np.arange(len(roots))
    parents = public.parents.tolist()
    numbers = inside.tolist()
    for state, parent in enumerate(parents):  # a state comes after its parent
        if numbers[state] < 0 <= parent:
            numbers[state] = numbers[parent]
    return np.array(numbers, dtype=np.int64)


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


def roots_after_chance(public: PublicTree) -> Integers:
    """Return the public states right after the first public chance event on each path, such as a board card.

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
            if passed[state] and not passed[parent]:
                found.append(state)
    return np.array(found, dtype=np.int32)
