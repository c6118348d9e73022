"""A river on which one player has the nuts or air, and the other a hand that beats only air."""

from treeplex import Nash, solve
from treeplex.models.games.holdem import HoldemSpot, SolvedSpot
from treeplex.models.games.holdem.bets import Betting


def toy_spot(first="AcKc, 8h7h", second="QdQh", **how):
    """Return the spot, with pot and stacks of 100."""
    return HoldemSpot("QcJc9c3d2d", [first, second], 100, 100, **({"bets": "100%"} | how))


def solved_toy(first="AcKc, 8h7h", certificate=None):
    """Return the spot solved exactly."""
    spot = HoldemSpot("QcJc9c3d2d", [first, "QdQh"], 100, 100, Betting("100%", "a"))
    return SolvedSpot(spot, solve(Nash(spot.game)).profile, certificate)
