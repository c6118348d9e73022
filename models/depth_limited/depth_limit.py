"""A step's depth limit: what of its program is above, and how ranges and values at the border belong to it."""

from dataclasses import dataclass

import numpy as np

from ...seqform.arrays import Floats
from .border import Border
from .continual import Continual
from .decision_steps import Flags
from .step_program import StepProgram
from .subgame_roots import Numbers, SubgameRoots, subgames_of


@dataclass(frozen=True, eq=False)
class DepthLimit:
    """The depth limit of a step's program.

    Attributes
    ----------
    border : Border
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

    border: Border
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


def depth_limit(steps: Continual, number: int, program: StepProgram) -> DepthLimit | None:
    """Return the depth limit of a step; ``None`` if it sees the game to its end.

    Parameters
    ----------
    steps : Continual
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
    border = Border.of(view.game, seen)
    if not len(border.states):
        return None
    own = seen[public.infoset_states[player]]
    ways, below = border.way_sequences[1 - player], border.sequences[1 - player]
    if whole:
        return DepthLimit(border, player, own, seen[public.infoset_states[1 - player]], ways, below)
    roots = SubgameRoots.of(view.game, player, step.states.tolist())
    stops = steps.gadget.stops
    _, _, entries = roots.reply(stops)
    sizes = view.other.num_actions[roots.infosets].astype(np.int64)
    first = program.reply.num_sequences - int(sizes.sum())
    moved = np.full(view.other.num_sequences, -1, dtype=np.int64)
    inner = np.repeat(view.other.offsets[roots.infosets] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
    moved[inner] = first + np.arange(len(inner))
    # A way in either goes on from a sequence in the subgame, or leads through the subgame's root.
    subgames = subgames_of(public, roots.states)[border.states][border.way_states[1 - player]]
    keys = roots.way_subgames * view.other.num_sequences + roots.way_sequences
    entry = np.searchsorted(keys, subgames * view.other.num_sequences + ways)
    columns = np.where(moved[ways] >= 0, moved[ways], entries[np.minimum(entry, len(entries) - 1)])
    gadget = program.reply.num_infosets - len(roots.infosets)
    above = np.append(np.ones(gadget, dtype=bool), seen[public.infoset_states[1 - player][roots.infosets]])
    return DepthLimit(border, player, own, above, columns, moved[below])
