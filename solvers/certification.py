"""What answers prove: strategies what they are worth, multipliers that constraints cannot be met."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..models.constraints import Constraint
from ..models.problems import Certificate, Problem, restored
from ..seqform.arrays import Floats
from ..seqform.errors import SolverError
from ..seqform.hints import Named
from ..seqform.stakes import round_off
from ..seqform.strategy import Profile
from .methods import Method
from .outcome import Options, Outcome, nearest_profile
from .solution import RunState, Solution
from .status import Status

#: What counts as zero in a certificate of an exact method, relative to the game's stakes or to penalties paid.
ROUND_OFF = 1e-12
#: How far plans may be from their polytopes.
RESIDUAL = 1e-9
#: From which proven violation on constraints count as not to be met, relative to the size of their functions.
EXCLUDED = 1e-9
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
        outcome = replace(outcome, plans=Profile.uniform(problem.game).plans, detail=remark)
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
    else:
        profile = nearest_profile(problem.game, outcome.plans)
        certificate = problem.certify(profile, outcome.multipliers, outcome.dual_certificate)
    exact = outcome.exact
    if exact is not None:
        # Fractions prove the optimum; only rounded are they the certificate's, whose other entries are of the floats.
        lower, upper = exact.certificate.lower, exact.certificate.upper
        assert lower is not None
        assert upper is not None
        certificate = replace(certificate, objective=float(exact.objective), lower=float(lower), upper=float(upper))
    error = proven_error(problem, profile, certificate, options)
    hidden = hidden_by_penalties(problem, profile) if exact is None else 0.0
    if certificate.lower is not None and certificate.upper is not None:
        lower, upper = certificate.lower - hidden, certificate.upper + hidden
        if 0.0 < lower - upper <= ROUND_OFF * max(abs(lower), abs(upper)):
            lower, upper = upper, lower
        certificate = replace(certificate, lower=lower, upper=upper)
    status = outcome.stopped
    asked = enough(problem, certificate, options) if status is Status.OPTIMAL else options.tol
    proven = error <= asked and certificate.residual <= RESIDUAL
    if status is Status.OPTIMAL and not proven and exact is None:
        status = Status.UNCERTIFIED
    elif status in (Status.CONVERGED, Status.ITERATION_LIMIT, Status.TIME_LIMIT):
        if proven and options.tol > 0.0 and problem.error_proves:
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
        exact=exact and replace(exact, certificate=restored(problem, exact.certificate, exact=True)),
    )


def enough(problem: Problem, certificate: Certificate, options: Options) -> float:
    """Return what is asked of an exact method: the tolerance, but not more than arithmetic can give."""
    largest = problem.game.stakes
    if problem.penalty is not None and certificate.objective is not None:
        largest = max(largest, abs(certificate.objective))  # what violations cost may be far beyond payoffs
    return max(options.tol, ROUND_OFF * largest)


def proven_error(problem: Problem, profile: Profile, certificate: Certificate, options: Options) -> float:
    """Return what the tolerance is held against: the certified error, and what round-off may hide of it."""
    return hidden_by_penalties(problem, profile) + certified_error(problem, certificate, options)


def hidden_by_penalties(problem: Problem, profile: Profile) -> float:
    """Return by how much round-off may falsify bounds, which is not negligible where penalties are added up."""
    game = problem.game
    in_payoffs = game.public_form is None and problem.unit == game.stakes
    return round_off(game.sequence_form, profile.plans) if in_payoffs else 0.0


def certified_error(problem: Problem, certificate: Certificate, options: Options) -> float:
    """Return the problem's error; violations that are no payoffs have a tolerance of their own."""
    if not problem.constraints or options.violation in (0.0, options.tol):
        return problem.error(certificate)
    ratio = options.tol / options.violation
    violations = {name: violation * ratio for name, violation in certificate.violations.items()}
    return problem.error(replace(certificate, violations=violations))


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
