"""What answers prove: strategies what they are worth, multipliers that constraints cannot be met."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..models.constraints import Constraint, LinearConstraint
from ..models.problems import Certificate, Nash, Problem, SaddleProblem, restored
from ..models.saddle import REPLY, Saddle
from ..seqform.arrays import Floats
from ..seqform.best_responses import best_response_value
from ..seqform.errors import SolverError
from ..seqform.game import Game
from ..seqform.hints import Named
from ..seqform.strategy import Profile, Strategy
from .methods import Method
from .outcome import Options, Outcome, nearest_profile
from .solution import RunState, Solution
from .status import Status

#: What counts as zero in a certificate of an exact method, relative to the game's stakes or to penalties paid.
ROUND_OFF = 1e-12
#: How far plans may be from their polytopes.
RESIDUAL = 1e-9
#: The proven violation above which constraints count as infeasible, relative to the size of their functions.
EXCLUDED = 1e-9
#: The largest violation, relative to the constraint's largest coefficient, at which strategies still prove a bound.
MISSED = 1e-9
#: The same of functions that are not linear, which conic solvers meet to fewer digits.
MISSED_CURVED = 1e-6
#: Up to so many nodes best responses in public form take a second at most without compiled loops.
_FEW_NODES = 3_000
#: What stops a method before it is done.
LIMITS = (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED)


def certified(problem: Problem, method: Method, options: Options, outcome: Outcome) -> Solution:
    """Turn plans into strategies, prove what they are worth and judge the status by that alone.

    Raises
    ------
    SolverError
        If there are no plans, or numbers that are not finite.
    """
    remark = ""
    if outcome.plans is None and outcome.stopped in LIMITS:
        # Stopped before it had any strategies: the certificate says how good uniform play is instead.
        remark = "the method had no strategies yet, so these are uniform play"
        outcome = replace(outcome, **_uniform_play(problem), detail=remark)
    if outcome.plans is None:
        raise SolverError(f"{method.name} found no strategies: {outcome.detail}")
    if outcome.stopped in (Status.INFEASIBLE, Status.UNBOUNDED):
        # A solver that says so of numbers too far apart, and hands over strategies: these tell what they are worth.
        outcome = replace(outcome, stopped=Status.OPTIMAL)
    assert outcome.plans is not None
    for player, plan in enumerate(outcome.plans):
        if not np.isfinite(plan).all():
            raise SolverError(
                f"{method.name} returned numbers that are not finite for player {player}: {outcome.detail}"
            )
    if outcome.proof is not None:
        profile, certificate = outcome.proof
        hard = hard_constraints(problem) if outcome.exact is None else ()
        if any(certificate.violations.get(one.name, 0.0) > ROUND_OFF * _size(one) for one in hard):
            profile, certificate = proven(problem, profile, outcome.multipliers, outcome.dual_certificate)
    else:
        profile = nearest_profile(problem.game, outcome.plans)
        profile, certificate = proven(problem, profile, outcome.multipliers, outcome.dual_certificate)
    exact = outcome.exact
    if exact is not None:
        # Fractions prove the optimum; only rounded are they the certificate's, whose other entries are of the floats.
        lower, upper = exact.certificate.lower, exact.certificate.upper
        assert lower is not None
        assert upper is not None
        certificate = replace(certificate, objective=float(exact.objective), lower=float(lower), upper=float(upper))
    error = proven_error(problem, profile, certificate)
    missed = missed_constraints(problem, certificate)
    hidden = hidden_by_penalties(problem, profile) if exact is None else 0.0
    if certificate.lower is not None and certificate.upper is not None:
        lower, upper = certificate.lower - hidden, certificate.upper + hidden
        if 0.0 < lower - upper <= ROUND_OFF * max(abs(lower), abs(upper)):
            lower, upper = upper, lower
        certificate = replace(certificate, lower=lower, upper=upper)
    status = outcome.stopped
    asked = enough(problem, certificate, options) if status is Status.OPTIMAL else options.tol
    is_proven = error <= asked and certificate.residual <= RESIDUAL and not missed
    if status is Status.OPTIMAL and not is_proven and exact is None:
        status = Status.UNCERTIFIED
    elif status in (Status.CONVERGED, Status.ITERATION_LIMIT, Status.TIME_LIMIT):
        if is_proven and options.tol > 0.0 and problem.error_proves:
            status = Status.CONVERGED
        elif status is Status.CONVERGED:
            status = Status.UNCERTIFIED
    message = f"{status.advice}; {remark}" if remark else status.advice
    if exact is not None:
        message = "proven optimal in exact fractions"
    elif status is Status.OPTIMAL and not problem.error_proves:
        message = "an exact method finished; that nothing is better is its word, and not proven by the strategies"
    if status is Status.ITERATION_LIMIT and options.tol == 0.0 and not remark:
        message = "all iterations that were asked for were run"
    if status is Status.UNCERTIFIED:
        message = f"{message} (proven {error:.3g}, asked {options.tol:.3g}; {outcome.detail})"
        if method.is_exact:
            message = f"no exact proof was found, so numbers are floats, proven within {error:.3g} ({outcome.detail})"
    if missed:
        several = f" and {len(missed) - 1} more" if len(missed) > 1 else ""
        message = (
            f"{message}; no strategy near this one was found that meets {missed[0]}{several}, "
            "so it proves no bound, and payoffs alone give that side"
        )
    if isinstance(outcome.state, RunState) and outcome.state.remark:
        message = f"{message}; {outcome.state.remark}"
    # A row that states an objective is not a constraint, and has no price.
    multipliers = Named(
        {name: outcome.multipliers[name] for name in certificate.violations if name in outcome.multipliers},
        f"{problem.name} has no constraint",
    )
    return Solution(
        problem=problem,
        method=method,
        profile=profile,
        status=status,
        message=message,
        certificate=restored(problem, certificate),
        tolerance=options.tol,
        iterations=outcome.iterations,
        seconds=outcome.seconds,
        build_seconds=outcome.build_seconds,
        history=outcome.history,
        multipliers=multipliers,
        dual_multipliers=multipliers,
        state=outcome.state,
        exact=exact and replace(exact, certificate=restored(problem, exact.certificate)),
    )


def _uniform_play(problem: Problem) -> dict[str, Any]:
    """Return uniform play as an outcome has it: of a game in public form without its sequence form."""
    game = problem.game
    if "sequence_form" in vars(game) or game.public_form is None:
        return {"plans": Profile.uniform(game).plans}
    from ..seqform.public_profile import PublicProfile, StrategiesOnDemand

    profile = PublicProfile.uniform(game.public_form)
    certificate = by_best_responses(profile.best_response_values, profile.value(0))
    return {"plans": (), "proof": (StrategiesOnDemand(game, profile), certificate)}


def by_best_responses(best_responses: Sequence[float], value: float) -> Certificate:
    """Return what both players' best responses prove of a zero-sum game.

    Parameters
    ----------
    best_responses : sequence of two floats
        What each player gets at most against the other's strategy.
    value : float
        What player 0 is paid; round-off is taken from it.
    """
    first, second = best_responses
    value = min(max(value, -second), first)
    return Certificate(
        value=(value, -value),
        objective=value,
        lower=-second,
        upper=first,
        exploitability=max(0.0, (first + second) / 2.0),
        residual=0.0,
        violations={},
    )


def has_uniform_play(problem: Problem) -> bool:
    """Whether uniform play can be certified in little time: the game is built, or small and in public form."""
    built = vars(problem.game)
    if "sequence_form" in built:
        return True
    form = built.get("public_form")
    return (
        form is not None and isinstance(problem, Nash) and not problem.constraints and len(form.players) <= _FEW_NODES
    )


def enough(problem: Problem, certificate: Certificate, options: Options) -> float:
    """Return what is asked of an exact method: the tolerance, but not more than arithmetic can give."""
    largest = problem.game.stakes
    if problem.penalty is not None and certificate.objective is not None:
        largest = max(largest, abs(certificate.objective))  # what violations cost may be far beyond payoffs
    return max(options.tol, ROUND_OFF * largest)


def proven_error(problem: Problem, profile: Profile, certificate: Certificate) -> float:
    """Return what the tolerance is held against: the certified error, and what round-off may hide of it."""
    return hidden_by_penalties(problem, profile) + certified_error(problem, certificate)


def hidden_by_penalties(problem: Problem, profile: Profile) -> float:
    """Return by how much round-off may falsify bounds, which is not negligible where penalties are added up."""
    game = problem.game
    in_payoffs = game.public_form is None and problem.unit == game.stakes
    return game.sequence_form.penalty_round_off(profile.plans) if in_payoffs else 0.0


def certified_error(problem: Problem, certificate: Certificate) -> float:
    """Return the problem's error, in payoff units: violations that are no payoffs are not part of it."""
    return problem.error(replace(certificate, violations=_in_payoffs(problem, certificate)))


def loop_error(problem: Problem, certificate: Certificate, options: Options) -> float:
    """Return the error by which a loop goes on: of the bounds, and of violations relative to a tolerance of their own.

    It only says when :func:`proven` is worth asking.
    """
    if not problem.constraints or options.violation in (0.0, options.tol):
        return problem.error(certificate)
    ratio, paid = options.tol / options.violation, _in_payoffs(problem, certificate)
    violations = {name: one if name in paid else one * ratio for name, one in certificate.violations.items()}
    return problem.error(replace(certificate, violations=violations))


def _in_payoffs(problem: Problem, certificate: Certificate) -> dict[str, float]:
    """Return the violations that are in payoff units, such as that of a floor."""
    own = {one.name for one in hard_constraints(problem)}
    return {name: one for name, one in certificate.violations.items() if name not in own}


def hard_constraints(problem: Problem) -> tuple[Constraint, ...]:
    """Return the constraints of a program that must be met: strategies that miss them prove nothing."""
    if not problem.constraints or not isinstance(problem, SaddleProblem):
        return ()
    saddle = problem.canonical
    hard = [rows.constraints for rows in (saddle.own, saddle.other) if rows is not None and rows.penalty is None]
    return sum(hard, ())


def proves(problem: Problem, certificate: Certificate, tolerance: float) -> bool:
    """Whether a certificate meets a tolerance, in payoff units, and its strategies meet their constraints."""
    return certified_error(problem, certificate) <= tolerance and not missed_constraints(problem, certificate)


def missed_constraints(problem: Problem, certificate: Certificate) -> list[str]:
    """Return the hard constraints that the strategies miss by more than round-off, in the constraints' own units."""
    hard = hard_constraints(problem)
    return [one.name for one in hard if certificate.violations.get(one.name, 0.0) > _allowed(one)]


def _allowed(constraint: Constraint) -> float:
    if not isinstance(constraint, LinearConstraint):
        return MISSED_CURVED
    return MISSED * _size(constraint)


def _size(constraint: Constraint) -> float:
    """Return the largest number of a linear constraint, and 1 of others."""
    if not isinstance(constraint, LinearConstraint):
        return 1.0
    return max(float(np.abs(constraint.coefficients).max(initial=0.0)), abs(constraint.limit))


def proven(
    problem: Problem,
    profile: Profile,
    multipliers: Mapping[str, float],
    dual_certificate: Mapping[str, Floats],
) -> tuple[Profile, Certificate]:
    """Return strategies that meet the constraints of a problem, near those given, and what they prove.

    Bounds of a program hold for strategies that meet its hard constraints. Those that miss them are replaced by
    :func:`~treeplex.solvers.feasible_plans.feasible` ones. Where none is found, the bound is what payoffs alone say, if
    more than :data:`MISSED` is missed; else it pays the multipliers for what is missed.

    Parameters
    ----------
    problem : Problem
    profile : Profile
    multipliers : mapping of str to float
    dual_certificate : mapping of str to ndarray
    """
    certify = problem.certify
    if not hard_constraints(problem):
        return profile, certify(profile, multipliers, dual_certificate)
    from .feasible_plans import feasible

    assert isinstance(problem, SaddleProblem)
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
    return profile, _withdrawn(problem, saddle, certify(profile, multipliers, dual_certificate), multipliers, missing)


def _played(game: Game, strategy: Strategy, plan: Floats) -> Strategy:
    """Return a strategy with another plan, that plays as before where the plan does not come."""
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
    """Return a certificate without the bounds that strategies prove which do not meet their constraints."""
    missed = missed_constraints(problem, certificate)
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
    """Return more than the objective of a program without penalties can be, in either direction."""
    tilted = 0.0 if saddle.tilt is None else best_response_value(saddle.view.own, np.abs(saddle.tilt))
    return tilted + float(saddle.weight or 0.0) * saddle.view.game.payoff_scale


def excluded(constraints: Sequence[Constraint], multipliers: Mapping[str, float], lower: float, plan: Floats) -> bool:
    """Whether a bound that multipliers prove of a player's least violation is more than round-off.

    Parameters
    ----------
    constraints : sequence of Constraint
    multipliers : mapping of str to float
        By constraint.
    lower : float
        The bound, as :meth:`FeasibilityRelaxation.certify <treeplex.models.problems.FeasibilityRelaxation.certify>`
        computes it.
    plan : ndarray of float64
        The player's, at which slopes are taken.
    """
    return bool(lower > EXCLUDED * max(proof_weights(constraints, multipliers, plan)))


def proof_weights(constraints: Sequence[Constraint], multipliers: Mapping[str, float], plan: Floats) -> list[float]:
    """Return how much of the proof each constraint makes up: its multiplier times the largest slope of its function.

    A function without slopes, such as that of 0 x ≤ −1, counts by its constant.
    """
    weights = []
    for constraint in constraints:
        multiplier = multipliers[constraint.name]
        slope, constant = constraint.minorant(plan) if multiplier else (np.zeros(1), 0.0)
        size = float(np.abs(slope).max()) or (abs(constant) if np.isfinite(constant) else 0.0)
        weights.append(multiplier * size)
    return weights
