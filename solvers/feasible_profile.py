"""Profiles that meet hard constraints, and their certificates."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..models.problems import Certificate, EpsilonNash, Problem, SaddleProblem
from ..models.saddle import REPLY, Saddle
from ..seqform.arrays import Floats
from ..seqform.game import Game
from ..seqform.polytope import best_response_value
from ..seqform.strategy import Profile, Strategy
from .feasible_plans import feasible


def proven_within_constraints(
    problem: Problem,
    profile: Profile,
    multipliers: Mapping[str, float],
    dual_certificate: Mapping[str, Floats],
) -> tuple[Profile, Certificate]:
    """Return a profile that meets the hard constraints of a problem, and its certificate; see :func:`proven`."""
    assert isinstance(problem, SaddleProblem | EpsilonNash)
    saddle = problem.canonical
    view, plans, replies = saddle.view, profile.plans, saddle.view.replies
    own, other = plans[view.player], plans[1 - view.player]
    met = feasible(saddle.own_rows, view.own, own)
    if replies is None:
        reply = feasible(saddle.other_rows, view.other, other)
    else:
        other = replies.chosen(other, dual_certificate.get(REPLY))
        reply = other
        if replies.constrained is not None and saddle.other is not None:
            count = replies.constrained.num_sequences
            part = feasible(saddle.other_rows, replies.constrained, other[:count])
            reply = None if part is None else other if part is other[:count] else np.concatenate([part, other[count:]])
    missing = met is None, reply is None
    met, reply = own if met is None else met, other if reply is None else reply
    if not (met is own and reply is other):
        found = list(profile)
        for seat, plan in enumerate(saddle.seated(met, reply)):
            if plan is not plans[seat]:
                found[seat] = _played(problem.game, found[seat], plan)
        profile = Profile(found)
        if replies is not None:
            dual_certificate = {**dual_certificate, REPLY: reply}
    return profile, _withdrawn(
        problem, saddle, problem.certify(profile, multipliers, dual_certificate), multipliers, missing
    )


def _played(game: Game, strategy: Strategy, plan: Floats) -> Strategy:
    """Return a strategy with another plan; its behaviour is unchanged where the plan does not reach."""
    treeplex = strategy.treeplex
    reached = np.concatenate([[True], np.repeat(treeplex.reach(plan) > 0.0, treeplex.num_actions)])
    return Strategy(game, strategy.player, np.where(reached, treeplex.behaviour(plan), strategy.behaviour))


def _withdrawn(
    problem: Problem,
    saddle: Saddle,
    certificate: Certificate,
    multipliers: Mapping[str, float],
    missing: tuple[bool, bool],
) -> Certificate:
    """Return a certificate without the bounds of strategies that violate their constraints."""
    missed = problem.missed(certificate)
    for lower, rows in zip((True, False), (saddle.own, saddle.other), strict=True):
        if rows is None or not missing[1 - lower] or certificate.lower is None or certificate.upper is None:
            continue
        if any(one.name in missed for one in rows.constraints):
            most = _most(saddle)
            low, high = min(-most, certificate.upper), max(most, certificate.lower)
        else:
            paid = sum(
                multipliers.get(one.name, 0.0) * max(0.0, certificate.violations[one.name]) for one in rows.constraints
            )
            low, high = certificate.lower - paid, certificate.upper + paid
        certificate = replace(certificate, lower=low) if lower else replace(certificate, upper=high)
    return certificate


def _most(saddle: Saddle) -> float:
    """Return a bound on the absolute value of the objective of a program without penalties."""
    tilted = 0.0 if saddle.tilt is None else best_response_value(saddle.view.own, np.abs(saddle.tilt))
    return tilted + float(saddle.weight or 0.0) * saddle.view.game.payoff_scale
