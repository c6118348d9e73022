"""The public states right below a depth limit, and the game left below: what a value function is asked about."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.game import Game
from ...seqform.polytope import Treeplex, sequence_values
from .decision_steps import Flags
from .step_program import StepProgram
from .subgame_roots import Numbers, SubgameRoots, subgames_of

if TYPE_CHECKING:
    from .runs import ResolvingRun


@dataclass(frozen=True, eq=False)
class LeafStates:
    """The public states right below a depth limit, the ways in to them, and the rest of the game below.

    A *way in* is a public state with one sequence of a player that leads to histories there, the player's augmented
    infoset. A player's *range* says with how much weight it comes along each of its ways in. The rest of the game is a
    game of its own once both ranges are given, and its value is bilinear in their sizes. Tuples are by seat.

    Attributes
    ----------
    game : Game
        Two players, zero-sum.
    states : ndarray of int32, shape (num_states,)
        The public states, none below another.
    way_states : tuple of ndarray of int64, shape (num_ways,)
        The number in ``states`` of each way in; rising.
    way_sequences : tuple of ndarray of int64, shape (num_ways,)
        The last sequence on each way in, in the game's numbering.
    sequences : tuple of ndarray of int64
        The game's numbers of the sequences in the rest, in the order of ``rest`` after the ways.
    rest : tuple of Treeplex
        Each player's part of the rest: for each way in an infoset of one action, then the infosets below. Sequence
        1 + w is the way w.
    payoffs : csr_array, shape (sequences of rest[0], sequences of rest[1])
        What pairs of sequences pay player 0, chance multiplied in. A leaf before which nobody decides below the limit
        is none of the rest's.
    """

    game: Game
    states: Numbers
    way_states: tuple[Numbers, Numbers]
    way_sequences: tuple[Numbers, Numbers]
    sequences: tuple[Numbers, Numbers]
    rest: tuple[Treeplex, Treeplex]
    payoffs: sp.csr_array

    @classmethod
    def of(cls, game: Game, seen: Flags) -> "LeafStates":
        """Return the border below the public states that are seen.

        Parameters
        ----------
        game : Game
            Two players, zero-sum, with histories.
        seen : ndarray of bool, shape (num_states of the public tree,)
            With a state those above it are.

        Raises
        ------
        UnsupportedProblemError
            If the game brings a sequence form without leaves.

        Examples
        --------
        >>> from treeplex import load_game
        >>> from treeplex.models.depth_limited import LeafStates
        >>> kuhn = load_game("kuhn")
        >>> LeafStates.of(kuhn, kuhn.public_tree.levels <= 1)
        LeafStates(states=1, ways=(3, 3), sequences=(6, 0))
        """
        public = game.public_tree
        parents = public.parents
        states = np.flatnonzero(~seen & np.where(parents >= 0, seen[parents], True))
        # From each seat the roots tell the ways in of the other one.
        roots = SubgameRoots.of(game, 1, states), SubgameRoots.of(game, 0, states)
        table = game.sequence_form.leaves
        assert table is not None
        leaves = roots[0].leaves
        below = (roots[0].leaf_ways < 0) | (roots[1].leaf_ways < 0)
        one_a_way = [np.ones(each.num_ways, dtype=np.int64) for each in roots]
        rest, places = zip(
            *(each.below(ones, np.cumsum(ones)) for each, ones in zip(roots, one_a_way, strict=True)), strict=True
        )
        weights = table.chance[leaves] * table.payoffs[leaves, 0]
        shape = rest[0].num_sequences, rest[1].num_sequences
        payoffs = sp.csr_array((weights[below], (places[0][below], places[1][below])), shape=shape)
        return cls(
            game=game,
            states=states,
            way_states=(roots[0].way_subgames, roots[1].way_subgames),
            way_sequences=(roots[0].way_sequences, roots[1].way_sequences),
            sequences=(roots[0].sequences, roots[1].sequences),
            rest=(rest[0], rest[1]),
            payoffs=payoffs,
        )

    def __repr__(self) -> str:
        ways = tuple(map(len, self.way_sequences))
        return f"LeafStates(states={len(self.states)}, ways={ways}, sequences={tuple(map(len, self.sequences))})"

    @property
    def num_ways(self) -> tuple[int, int]:
        """The number of each player's ways in."""
        return len(self.way_sequences[0]), len(self.way_sequences[1])

    @cached_property
    def _losses(self) -> sp.csr_array:
        """What pairs of sequences pay player 1, in its own rows."""
        return sp.csr_array(-self.payoffs.T)

    def way_labels(self, player: int) -> list[Hashable]:
        """Return the label of the last sequence on each of a player's ways in: infoset and action.

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
        """Return what each way in is worth to a player who replies best to the other one's plan in the rest.

        Parameters
        ----------
        player : int
        plan : ndarray of float64, shape (num_sequences of rest[1 - player],)

        Returns
        -------
        ndarray of float64, shape (num_ways,)
            Counterfactual: chance and the other player's range multiplied in, payoff units.
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
        Those of the reply, decisions of a gadget included.
    columns : ndarray of int64, shape (num_ways of the other player,)
        The sequence of the reply that leads along each of its ways in.
    below : ndarray of int64
        The sequence of the reply for each of ``border.sequences`` of the other player.
    """

    border: LeafStates
    player: int
    own: Flags
    reply: Flags
    columns: Numbers
    below: Numbers

    def ranges(self, program: StepProgram, plan: Floats, reply: Floats) -> tuple[Floats, Floats]:
        """Return both players' ranges, by seat: what the model does and what the reply adds come in together."""
        own = plan[self.border.way_sequences[self.player]]
        other = program.held[self.columns] + np.where(self.columns == 0, 0.0, reply[self.columns])
        return (own, other) if self.player == 0 else (other, own)


def depth_limit(steps: "ResolvingRun", number: int, program: StepProgram) -> DepthLimit | None:
    """Return the depth limit of a step; ``None`` if it sees the game to its end.

    Parameters
    ----------
    steps : ResolvingRun
    number : int
        Of the step.
    program : StepProgram
        The step's.
    """
    step, view = steps.steps[number], steps.view
    public = view.game.public_tree
    seen, player = step.seen, view.player
    if seen is None or seen.all():
        return None
    whole = program.reply is view.other
    if not whole:
        seen = seen | (subgames_of(public, step.states) < 0)  # elsewhere the program has nothing
    border = LeafStates.of(view.game, seen)
    if not len(border.states):
        return None
    own = seen[public.infoset_states[player]]
    ways, below = border.way_sequences[1 - player], border.sequences[1 - player]
    if whole:
        return DepthLimit(border, player, own, seen[public.infoset_states[1 - player]], ways, below)
    roots = steps.subgames(step)
    _, entries, _ = roots.above(steps.gadget.form or "choice")
    places = roots.places(program.reply.num_sequences - len(roots.sequences))
    # A way in either goes on from a sequence in the subgame, or leads through the subgame's root.
    subgames = subgames_of(public, roots.states)[border.states][border.way_states[1 - player]]
    keys = roots.way_subgames * view.other.num_sequences + roots.way_sequences
    entry = np.searchsorted(keys, subgames * view.other.num_sequences + ways)
    columns = np.where(places[ways] >= 0, places[ways], entries[np.minimum(entry, len(entries) - 1)])
    gadget = program.reply.num_infosets - len(roots.infosets)
    above = np.append(np.ones(gadget, dtype=bool), seen[public.infoset_states[1 - player][roots.infosets]])
    return DepthLimit(border, player, own, above, columns, places[below])
