"""Matches of no-limit hold'em: the table, what a seat sees, and what a bot is."""

from .table import STREETS, Bot, HandResult, Table, View

__all__ = ["STREETS", "Bot", "HandResult", "Table", "View"]
