"""The public states directly below a depth limit, and the remaining game: the input of a value function."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats, Integers
from ...seqform.game import Game
from ...seqform.polytope import Treeplex, sequence_values
from .decision_steps import Flags
from .step_program import StepProgram
from .subgame_roots import Numbers, SubgameRoots, histories_of, placed

if TYPE_CHECKING:
    from .runs import ResolvingRun


@dataclass(frozen=True, eq=False)
class LeafStates:
    """The public states directly below a depth limit, the ways into them, and the rest of the game.

    A *way in* is a public state with one sequence of a player that leads to histories there, that is, the player's
    augmented infoset. A player's *range* gives the weight of each of its ways in. Given both ranges, the rest of the
    game is a game of its own, and its value is bilinear in their sizes. Tuples are by seat.

    Attributes
    ----------
    game : Game
        Two players, zero-sum.
    states : ndarray of int32, shape (num_states,)
        The public states, none below another.
    way_states : tuple of ndarray of int64, shape (num_ways,)
        The index in ``states`` of each way in, in increasing order.
    way_sequences : tuple of ndarray of int64, shape (num_ways,)
        The last sequence on each way in, in the game's numbering.
    sequences : tuple of ndarray of int64
        The game's indices of the sequences in the rest, in the order of ``rest`` after the ways.
    rest : tuple of Treeplex
        Each player's part of the rest: for each way in an infoset with one action, then the infosets below. Sequence 1
        + w is the way w.
    payoffs : csr_array, shape (sequences of rest[0], sequences of rest[1])
        Player 0's payoff for each pair of sequences, multiplied by the probability of chance. Leaves without a
        preceding decision below the limit are not part of the rest.
    """

    game: Game
    states: Numbers
    way_states: tuple[Numbers, Numbers]
    way_sequences: tuple[Numbers, Numbers]
    sequences: tuple[Numbers, Numbers]
    rest: tuple[Treeplex, Treeplex]
    payoffs: sp.csr_array

    @classmethod
    def of(cls, game: Game, seen: Flags, roots: Integers | None = None) -> "LeafStates":
        """Return the border directly below the visible public states.

        Parameters
        ----------
        game : Game
            Two players, zero-sum, with histories or in public form.
        seen : ndarray of bool, shape (num_states of the public tree,)
            Contains all ancestors of its states.
        roots : ndarray of int32, optional
            The public states of the subgames to which the border belongs, all visible and none below another; by
            default the border is that of the whole game.

        Raises
        ------
        UnsupportedProblemError, GameTooLargeError
            As for :func:`~treeplex.models.depth_limited.subgame_roots.histories_of`.

        Examples
        --------
        >>> from treeplex import load_game
        >>> from treeplex.models.depth_limited import LeafStates
        >>> kuhn = load_game("kuhn")
        >>> LeafStates.of(kuhn, kuhn.public_tree.levels <= 1)
        LeafStates(states=1, ways=(3, 3), sequences=(6, 0))
        """
        table, public = histories_of(game)
        within = np.arange(public.num_states, dtype=np.int32) if roots is None else public.below(roots)
        parents = public.parents[within]
        states = within[~seen[within] & np.where(parents >= 0, seen[parents], True)]
        # For each seat the roots give the other player's ways in.
        sides = SubgameRoots.of(game, 1, states), SubgameRoots.of(game, 0, states)
        leaves = sides[0].leaves
        below = np.logical_or(*(each.leaf_sources >= each.num_ways for each in sides))
        one_a_way = [np.ones(each.num_ways, dtype=np.int64) for each in sides]
        rest, places = zip(
            *(each.below(ones, np.cumsum(ones)) for each, ones in zip(sides, one_a_way, strict=True)), strict=True
        )
        weights = table.chance[leaves] * table.payoffs[leaves, 0]
        shape = rest[0].num_sequences, rest[1].num_sequences
        payoffs = sp.csr_array((weights[below], (places[0][below], places[1][below])), shape=shape)
        return cls(
            game=game,
            states=states.astype(np.int64),
            way_states=(sides[0].way_subgames, sides[1].way_subgames),
            way_sequences=(sides[0].way_sequences, sides[1].way_sequences),
            sequences=(sides[0].sequences, sides[1].sequences),
            rest=(rest[0], rest[1]),
            payoffs=payoffs,
        )

    def __repr__(self) -> str:
        ways = tuple(map(len, self.way_sequences))
        return f"LeafStates(states={len(self.states)}, ways={ways}, sequences={tuple(map(len, self.sequences))})"

    @property
    def num_ways(self) -> tuple[int, int]:
        """Number of each player's ways in."""
        return len(self.way_sequences[0]), len(self.way_sequences[1])

    @cached_property
    def _losses(self) -> sp.csr_array:
        """Player 1's payoffs for pairs of sequences, with its own sequences as rows."""
        return sp.csr_array(-self.payoffs.T)

    def way_labels(self, player: int) -> list[Hashable]:
        """Return the label of the last sequence of each of a player's ways in: infoset and action.

        Parameters
        ----------
        player : int

        Examples
        --------
        >>> from treeplex import load_game
        >>> from treeplex.models.depth_limited import LeafStates
        >>> kuhn = load_game("kuhn")
        >>> LeafStates.of(kuhn, kuhn.public_tree.levels <= 1).way_labels(1)
        [('Q_p', 'b'), ('K_p', 'b'), ('J_p', 'b')]
        """
        treeplex = self.game.sequence_form.treeplexes[player]
        return [treeplex.sequence_label(sequence) for sequence in self.way_sequences[player].tolist()]

    def plan(self, player: int, behaviour: Floats, weights: Floats) -> Floats:
        """Return the weights of a player's sequences in the rest, given its range.

        Parameters
        ----------
        player : int
        behaviour : ndarray of float64, shape (num_sequences of rest[player],)
        weights : ndarray of float64, shape (num_ways,)

        Returns
        -------
        ndarray of float64, shape (num_sequences of rest[player],)
            0 for the empty sequence.
        """
        plan = np.array(behaviour, dtype=np.float64)
        plan[0] = 0.0
        plan[1 : 1 + len(weights)] = weights
        for level in self.rest[player].levels[1:]:
            plan[level.sequences] *= np.repeat(level.reach(plan), level.counts)
        return plan

    def best_values(self, player: int, plan: Floats) -> Floats:
        """Return a player's value of each way in if the player best-responds to the other's plan in the rest.

        Parameters
        ----------
        player : int
        plan : ndarray of float64, shape (num_sequences of rest[1 - player],)

        Returns
        -------
        ndarray of float64, shape (num_ways,)
            Counterfactual values in payoff units, multiplied by the probabilities of chance and of the other player's
            range.
        """
        gradient = self.payoffs @ plan if player == 0 else self._losses @ plan
        values = sequence_values(self.rest[player], gradient)
        return values[1 : 1 + self.num_ways[player]]


@dataclass(frozen=True, eq=False)
class DepthLimit:
    """The depth limit of a step's program.

    Attributes
    ----------
    border : LeafStates
    player : int
        The seat of the player who decides.
    own : ndarray of bool, shape (num_infosets of the program's own,)
        The player's infosets above the limit.
    reply : ndarray of bool, shape (num_infosets of the program's reply,)
        The reply's infosets above the limit, including decisions of a gadget.
    own_ways, reply_ways : ndarray of int64, shape (num_ways of the player,), (num_ways of the other player,)
        The sequence of the program's own, and of its reply, that leads along each way in.
    own_below, reply_below : ndarray of int64
        The sequences of the program's own, and of its reply, that correspond to ``border.sequences``.
    """

    border: LeafStates
    player: int
    own: Flags
    reply: Flags
    own_ways: Numbers
    own_below: Numbers
    reply_ways: Numbers
    reply_below: Numbers

    def ranges(self, program: StepProgram, plan: Floats, reply: Floats) -> tuple[Floats, Floats]:
        """Return both players' ranges, by seat: the model's part and the reply's part are added."""
        own, ways = plan[self.own_ways], self.reply_ways
        other = program.held[ways] + np.where(ways == 0, 0.0, reply[ways])
        return (own, other) if self.player == 0 else (other, own)


def depth_limit(steps: "ResolvingRun", number: int, program: StepProgram) -> DepthLimit | None:
    """Return the depth limit of a step; ``None`` if it sees the game to its end.

    Parameters
    ----------
    steps : ResolvingRun
    number : int
        The index of the step.
    program : StepProgram
        The step's program.
    """
    step, view = steps.steps[number], steps.view
    public = view.game.public_tree
    seen, player = step.seen, view.player
    if seen is None or seen.all():
        return None
    whole = program.reply is view.other
    border = LeafStates.of(view.game, seen, None if whole else step.states)
    if not len(border.states):
        return None
    ways, below = border.way_sequences[1 - player], border.sequences[1 - player]
    own_ways, own_below = border.way_sequences[player], border.sequences[player]
    own, reply = (seen[public.infoset_states[seat]] for seat in (player, 1 - player))
    if whole:
        return DepthLimit(border, player, own, reply, own_ways, own_below, ways, below)
    roots = steps.subgames(step)
    own_states = public.infoset_states[player][roots.own_infosets]
    own = seen[own_states] | (public.subgames_of(roots.states, own_states) < 0)
    first, gadget = program.reply.num_sequences - len(roots.sequences), program.reply.num_infosets - len(roots.infosets)
    numbers = roots.numbers(first, roots.above(steps.gadget.form or "choice")[1])
    # A way in either continues from a sequence in the subgame, or leads through the subgame's root.
    places, inner = placed(ways, roots.sequences)
    subgames = public.subgames_of(roots.states, border.states)[border.way_states[1 - player]]
    keys = roots.way_subgames * view.other.num_sequences + roots.way_sequences
    entries = np.searchsorted(keys, subgames * view.other.num_sequences + ways)
    return DepthLimit(
        border=border,
        player=player,
        own=own,
        reply=np.append(np.ones(gadget, dtype=bool), reply[roots.infosets]),
        own_ways=np.searchsorted(roots.own_sequences, own_ways),
        own_below=np.searchsorted(roots.own_sequences, own_below),
        reply_ways=numbers[np.where(inner, roots.num_ways + places, entries)],
        reply_below=first + np.searchsorted(roots.sequences, below),
    )
