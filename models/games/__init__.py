"""Games by name: rules with parameters, and one registry."""

from ...seqform.parameters import Parameter
from .family import Family, Reference
from .goofspiel import Goofspiel
from .kuhn import Kuhn
from .leduc import Leduc
from .liars_dice import LiarsDice
from .matrix_games import MatchingPennies, RepeatedRockPaperScissors, RockPaperScissors
from .registry import GAMES, families, load_game, register_game
from .small_trees import Coin, DepthLimitedFigure2, DepthLimitedFigure10, GadgetTrap1, GadgetTrap2

__all__ = [
    "GAMES",
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
    "register_game",
]
