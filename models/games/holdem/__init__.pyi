from .cards import Range as Range
from .cards import read_board as read_board
from .likely import with_likely_locks as with_likely_locks
from .locks import Lock as Lock
from .preflop import Preflop as Preflop
from .rules import SpotRules as SpotRules
from .solved import SolvedSpot as SolvedSpot
from .spot import HoldemSpot as HoldemSpot
