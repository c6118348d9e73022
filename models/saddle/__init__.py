"""The canonical saddle program, its translations to linear and conic programs, and its certificate."""

from .conic import ConicProgram
from .linear import linear_program, rational_program, read_solution
from .program import REPLY, SAFETY, Answer, Bounds, Saddle
from .rows import ConstraintMatrix, Rows
from .view import PlayerView, Replies, check_player_count, check_two_players, check_zero_sum, zero_sum_of

__all__ = [
    "REPLY",
    "SAFETY",
    "Answer",
    "Bounds",
    "ConicProgram",
    "ConstraintMatrix",
    "PlayerView",
    "Replies",
    "Rows",
    "Saddle",
    "check_player_count",
    "check_two_players",
    "check_zero_sum",
    "linear_program",
    "rational_program",
    "read_solution",
    "zero_sum_of",
]
