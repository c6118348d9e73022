"""No-limit hold'em for two: the game before the flop, and subgames after it between two ranges."""

import lazy_loader

from .cards import Range as Range
from .cards import read_board as read_board
from .locks import Lock as Lock
from .rules import SpotRules as SpotRules
from .solved import SolvedSpot as SolvedSpot
from .spot import HoldemSpot as HoldemSpot

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
