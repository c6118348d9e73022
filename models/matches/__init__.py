"""Matches of no-limit hold'em: the table, what a seat sees, what a bot is, and the hands that bots play."""

from .hand import AllIn, Forfeit, HandRecord, play_hand, shuffled_deck
from .table import STREETS, Bot, HandResult, Table, View

__all__ = [
    "STREETS",
    "AllIn",
    "Bot",
    "Forfeit",
    "HandRecord",
    "HandResult",
    "Table",
    "View",
    "play_hand",
    "shuffled_deck",
]
