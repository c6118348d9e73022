from .board_sets import BoardSet as BoardSet
from .cards import Range as Range
from .cards import read_board as read_board
from .locks import Lock as Lock
from .preflop import Preflop as Preflop
from .rules import SpotRules as SpotRules
from .solved import SolvedSpot as SolvedSpot
from .spot import HoldemSpot as HoldemSpot
