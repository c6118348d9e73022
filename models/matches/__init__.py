"""Matches of no-limit hold'em: what a seat sees, what a bot is and earns from others, and hands that were played."""

from .equity import expected_winnings
from .hand import AllIn, Forfeit, HandRecord, IllegalActionError, play_hand, shuffled_deck
from .histories import HandHistories
from .match import Estimate, MatchForfeit, MatchResult, Played, Variance, match
from .phh import PhhWriter, phh_text
from .replay import Hand
from .table import STREETS, Bot, HandResult, Table, View

__all__ = [
    "STREETS",
    "AllIn",
    "Bot",
    "Estimate",
    "Forfeit",
    "Hand",
    "HandHistories",
    "HandRecord",
    "HandResult",
    "IllegalActionError",
    "MatchForfeit",
    "MatchResult",
    "PhhWriter",
    "Played",
    "Table",
    "Variance",
    "View",
    "expected_winnings",
    "match",
    "phh_text",
    "play_hand",
    "shuffled_deck",
]
