"""Depth-limited responses step by step: what each step decides, and the program that it solves."""

from .border import Border
from .continual import Continual
from .decision_steps import DecisionStep, decision_steps
from .depth_limit import DepthLimit, depth_limit
from .gadgets import GADGETS, Found, Gadget
from .local import Local, folds_and_calls
from .search import Search
from .step_program import StepAnswer, StepProgram
from .subgame_roots import SubgameRoots, roots_after_chance, roots_at_level

__all__ = [
    "GADGETS",
    "Border",
    "Continual",
    "DecisionStep",
    "DepthLimit",
    "Found",
    "Gadget",
    "Local",
    "Search",
    "StepAnswer",
    "StepProgram",
    "SubgameRoots",
    "decision_steps",
    "depth_limit",
    "folds_and_calls",
    "roots_after_chance",
    "roots_at_level",
]
