"""Questions about games, as data that know their exact formulation."""

from .nash import Nash
from .problem import Certificate, Problem

__all__ = ["Certificate", "Nash", "Problem"]
