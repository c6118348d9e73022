"""Games by name: one file a family, one registry."""

from .family import Family, Reference
from .goofspiel import Goofspiel
from .kuhn import Kuhn
from .leduc import Leduc
from .liars_dice import LiarsDice
from .matching_pennies import MatchingPennies
from .parameters import Parameter
from .registry import families, load_game
from .repeated_rps import RepeatedRockPaperScissors
from .rps import RockPaperScissors

__all__ = [
    "Family",
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
