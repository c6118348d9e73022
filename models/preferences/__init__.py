"""Preferences for actions: how much a method should lean towards a style, and what that may cost."""

from .prefer import Prefer, PreferStrategy, parse_preference
from .preference import UNITS, Preference, preference_on, wishes_of

__all__ = ["UNITS", "Prefer", "PreferStrategy", "Preference", "parse_preference", "preference_on", "wishes_of"]
