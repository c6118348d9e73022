"""Questions about games, as data that know their exact formulation."""

from .nash import Nash
from .problem import Certificate, Problem
from .registry import PROBLEMS, find_problem

__all__ = ["PROBLEMS", "Certificate", "Nash", "Problem", "find_problem"]
