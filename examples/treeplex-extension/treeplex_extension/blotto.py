"""Colonel Blotto."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from treeplex import TERMINAL
from treeplex.seqform import About


@dataclass(frozen=True)
class Blotto:
    """Colonel Blotto: both players divide soldiers among fields, and the player with more soldiers on a field wins it.

    Player 0 moves first in the tree, and player 1 does not see the move. An action is a string of the soldiers on each
    field, such as ``2-1-0``, and a state is the tuple of the actions so far. There is no chance, so the method
    ``chance_outcomes`` is not needed. The payoff is the number of fields won minus that of fields lost.
    """

    soldiers: Annotated[int, About("soldiers of each player", minimum=1, maximum=30)] = 5
    fields: Annotated[int, About("number of fields", minimum=2, maximum=6)] = 3

    name: ClassVar[str] = "blotto"
    num_players: ClassVar[int] = 2

    def initial_state(self):
        return ()

    def player(self, state):
        return TERMINAL if len(state) == 2 else len(state)

    def actions(self, state):
        return ["-".join(map(str, division)) for division in divisions(self.soldiers, self.fields)]

    def child(self, state, action):
        return (*state, action)

    def infoset(self, state):
        return "start"

    def payoffs(self, state):
        mine, theirs = ([int(count) for count in action.split("-")] for action in state)
        won = sum((a > b) - (a < b) for a, b in zip(mine, theirs, strict=True))
        return won, -won


def divisions(soldiers, fields):
    """Return all ways to divide soldiers among fields."""
    if fields == 1:
        return [(soldiers,)]
    return [(first, *rest) for first in range(soldiers, -1, -1) for rest in divisions(soldiers - first, fields - 1)]
