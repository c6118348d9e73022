from .decisions import Decision as Decision
from .habits import Habit as Habit
from .hand_spots import ranges_after_preflop as ranges_after_preflop
from .hand_spots import spot_of_hand as spot_of_hand
from .review import Review as Review
from .review import review as review
from .solved_games import ReviewedPreflop as ReviewedPreflop
from .solved_games import ReviewedSpot as ReviewedSpot
