"""Constraints on players' realization plans: linear ones, convex ones, and builders of the usual ones."""

from .builders import behaviour_bound, distance_bound, functional_bound, payoff_bound, reach_bound, risk_bound
from .collect import collect_constraints
from .constraint import Constraint, DistanceConstraint, LinearConstraint, RiskConstraint
from .text import parse_constraint, parse_term

__all__ = [
    "Constraint",
    "DistanceConstraint",
    "LinearConstraint",
    "RiskConstraint",
    "behaviour_bound",
    "collect_constraints",
    "distance_bound",
    "functional_bound",
    "parse_constraint",
    "parse_term",
    "payoff_bound",
    "reach_bound",
    "risk_bound",
]
