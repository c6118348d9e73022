"""Depth-limited responses step by step: what each step decides, and the program that it solves."""

from .decision_steps import DecisionStep, decision_steps
from .gadgets import GADGETS, Gadget, TrunkSolution
from .leaf_states import DepthLimit, LeafStates, depth_limit
from .runs import LocalRun, ResolvingRun, SearchRun, folds_and_calls
from .step_program import StepAnswer, StepProgram
from .subgame_roots import SubgameRoots, roots_after_chance, roots_at_level

__all__ = [
    "GADGETS",
    "DecisionStep",
    "DepthLimit",
    "Gadget",
    "LeafStates",
    "LocalRun",
    "ResolvingRun",
    "SearchRun",
    "StepAnswer",
    "StepProgram",
    "SubgameRoots",
    "TrunkSolution",
    "decision_steps",
    "depth_limit",
    "folds_and_calls",
    "roots_after_chance",
    "roots_at_level",
]
