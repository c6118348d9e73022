"""Matches of no-limit hold'em: the table, what a seat sees, what a bot is, and hands that were played."""

from .histories import HandHistories
from .replay import Hand
from .table import STREETS, Bot, HandResult, Table, View

__all__ = ["STREETS", "Bot", "Hand", "HandHistories", "HandResult", "Table", "View"]
