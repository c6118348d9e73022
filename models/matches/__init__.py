"""Matches of no-limit hold'em: the table, what a seat sees, what a bot is, and what bots earn from each other."""

from .equity import expected_winnings
from .hand import AllIn, Forfeit, HandRecord, IllegalActionError, play_hand, shuffled_deck
from .match import Estimate, MatchForfeit, MatchResult, Played, Variance, match
from .phh import PhhWriter, phh_text
from .table import STREETS, Bot, HandResult, Table, View

__all__ = [
    "STREETS",
    "AllIn",
    "Bot",
    "Estimate",
    "Forfeit",
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
