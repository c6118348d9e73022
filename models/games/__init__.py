"""Games by name: one file a family, one registry."""

from ...seqform.parameters import Parameter
from .coin import Coin
from .depth_limited_figure_2 import DepthLimitedFigure2
from .depth_limited_figure_10 import DepthLimitedFigure10
from .family import Family, Reference
from .gadget_trap_1 import GadgetTrap1
from .gadget_trap_2 import GadgetTrap2
from .goofspiel import Goofspiel
from .kuhn import Kuhn
from .leduc import Leduc
from .liars_dice import LiarsDice
from .matching_pennies import MatchingPennies
from .registry import families, load_game
from .repeated_rps import RepeatedRockPaperScissors
from .rps import RockPaperScissors

__all__ = [
    "Coin",
    "DepthLimitedFigure2",
    "DepthLimitedFigure10",
    "Family",
    "GadgetTrap1",
    "GadgetTrap2",
    "Goofspiel",
    "Kuhn",
    "Leduc",
    "LiarsDice",
    "MatchingPennies",
    "Parameter",
    "Reference",
    "RepeatedRockPaperScissors",
    "RockPaperScissors",
    "families",
    "load_game",
]
