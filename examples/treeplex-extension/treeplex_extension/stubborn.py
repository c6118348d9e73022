"""An opponent who always takes the same action."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from treeplex import Strategy
from treeplex.seqform import About
from treeplex.solvers.opponents.strategies import Opponent


@dataclass(frozen=True)
class Stubborn(Opponent):
    """Bets wherever it can, for ``stubborn:b``, and plays uniformly elsewhere."""

    action: Annotated[str, About("the action it always takes", form="ACTION", first=True)]

    name: ClassVar[str] = "stubborn"

    def strategy(self, seat):
        treeplex = seat.game.sequence_form.treeplexes[seat.player]
        behaviour = {}
        for infoset, actions in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True):
            chosen = [action for action in actions if str(action) == self.action] or actions
            behaviour[infoset] = {action: 1 / len(chosen) for action in chosen}
        return Strategy.from_dict(seat.game, seat.player, behaviour)
