"""Certification of answers from their strategies alone."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..models.problems import Certificate, Feature, Problem, restored
from ..seqform.arrays import Floats
from ..seqform.checks import Named
from ..seqform.errors import SolverError
from ..seqform.strategy import Profile
from .methods import Method
from .outcome import Options, Outcome, Status, nearest_profile
from .solution import RunState, Solution

#: An exact method's certificate treats smaller numbers as zero, relative to the game's stakes or to penalties paid.
ROUND_OFF = 1e-12
#: The largest allowed distance of plans from their polytopes.
RESIDUAL = 1e-9
#: The statuses of methods that stopped before they finished.
LIMITS = (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED)


def certified(problem: Problem, method: Method, options: Options, outcome: Outcome) -> Solution:
    """Turn plans into strategies, certify them and derive the status from the certificate alone.

    Raises
    ------
    SolverError
        If there are no plans, or if they contain numbers that are not finite.
    """
    remark = ""
    if outcome.plans is None and outcome.stopped in LIMITS:
        from .uniform_play import uniform_play

        # The method stopped before it had any strategies, so uniform play is certified instead.
        remark = "the method did not find any strategies, so the solution is uniform play"
        outcome = replace(outcome, **uniform_play(problem), detail=remark)
    profile, certificate = _proof(problem, method, outcome)
    error, missed = proven_error(problem, profile, certificate), problem.missed(certificate)
    if outcome.exact is None:
        certificate = _widened(certificate, hidden_by_penalties(problem, profile))
    # A solver may report infeasibility because of bad scaling and still return strategies; their certificate decides.
    finished = outcome.stopped in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)
    asked = enough(problem, certificate, options) if finished else options.tol
    is_proven = error <= asked and certificate.residual <= RESIDUAL and not missed
    status = Status.OPTIMAL if finished else outcome.stopped
    if finished and not is_proven and outcome.exact is None:
        claimed = outcome.stopped is Status.INFEASIBLE and not problem.error_proves
        status = Status.INFEASIBLE if claimed else Status.UNCERTIFIED
    elif status in (Status.CONVERGED, Status.ITERATION_LIMIT, Status.TIME_LIMIT):
        if is_proven and options.tol > 0.0 and problem.error_proves:
            status = Status.CONVERGED
        elif status is Status.CONVERGED and (problem.error_proves or not is_proven):
            status = Status.UNCERTIFIED
    message = _message(problem, method, options, outcome, status, error, remark)
    if missed:
        several = f" and {len(missed) - 1} more" if len(missed) > 1 else ""
        message = f"{message}; found no strategy near this one that meets {missed[0]}{several}"
        if certificate.regrets is None:
            message += ", so its bound follows from the range of payoffs alone"
    if isinstance(outcome.state, RunState) and outcome.state.remark:
        message = f"{message}; {outcome.state.remark}"
    # A row that states an objective is not a constraint and has no price.
    multipliers = Named(
        {name: outcome.multipliers[name] for name in certificate.violations if name in outcome.multipliers},
        f"{problem.name} has no constraint",
    )
    exact = outcome.exact
    if problem.game.constant or problem.game.is_of_one:
        certificate = restored(problem, certificate)
        exact = exact and replace(exact, certificate=restored(problem, exact.certificate))
    return Solution(
        problem=problem,
        method=method,
        profile=profile,
        status=status,
        message=message,
        certificate=certificate,
        tolerance=options.tol,
        iterations=outcome.iterations,
        seconds=outcome.seconds,
        build_seconds=outcome.build_seconds,
        history=outcome.history,
        multipliers=multipliers,
        dual_multipliers=multipliers,
        # Other problems are certified by strategies and multipliers, so their large arrays are not kept.
        dual_certificate=outcome.dual_certificate if Feature.STEPS in problem.needs else {},
        state=outcome.state,
        exact=exact,
    )


def _proof(problem: Problem, method: Method, outcome: Outcome) -> tuple[Profile, Certificate]:
    """Return the strategies of an outcome and their certificate.

    Raises
    ------
    SolverError
        If there are no plans, or if they contain numbers that are not finite.
    """
    if outcome.plans is None:
        raise SolverError(f"{method.name} found no strategies: {outcome.detail}")
    for player, plan in enumerate(outcome.plans):
        if not np.isfinite(plan).all():
            raise SolverError(
                f"{method.name} returned numbers that are not finite for player {player}: {outcome.detail}"
            )
    if outcome.proof is not None:
        profile, certificate = outcome.proof
        hard = problem.hard_constraints if outcome.exact is None else ()
        unmet = any(certificate.violations.get(one.name, 0.0) > ROUND_OFF * one.largest_number for one in hard)
    else:
        profile, unmet = nearest_profile(problem.game, outcome.plans), True
    if unmet:
        profile, certificate = proven(problem, profile, outcome.multipliers, outcome.dual_certificate)
    if outcome.exact is not None:
        certificate = outcome.exact.rounded(certificate)
    return profile, certificate


def _widened(certificate: Certificate, hidden: float) -> Certificate:
    """Return a certificate whose bounds are widened by `hidden`, and uncrossed if they cross only by round-off."""
    if certificate.lower is None or certificate.upper is None:
        return certificate
    lower, upper = certificate.lower - hidden, certificate.upper + hidden
    if 0.0 < lower - upper <= ROUND_OFF * max(abs(lower), abs(upper)):
        lower, upper = upper, lower
    return replace(certificate, lower=lower, upper=upper)


def _message(
    problem: Problem, method: Method, options: Options, outcome: Outcome, status: Status, error: float, remark: str
) -> str:
    """Return the meaning of the status of this solve, in one line."""
    if outcome.exact is not None:
        return f"proven{' optimal' * (outcome.exact.certificate.regrets is None)} in exact fractions"
    if status is Status.OPTIMAL and not problem.proves(outcome.proof):
        return "optimal according to the solver (not certified)"
    if status is Status.ITERATION_LIMIT and options.tol == 0.0 and not remark:
        return "all requested iterations have been run"
    if status is Status.INFEASIBLE:
        return outcome.detail
    message = f"{status.advice}; {remark}" if remark else status.advice
    if status is not Status.UNCERTIFIED:
        return message
    if outcome.stopped is Status.UNCERTIFIED and not method.is_exact:
        return f"{outcome.detail} (proven {error:.3g}, requested {options.tol:.3g})"
    if outcome.stopped is Status.CONVERGED and not problem.error_proves:
        return f"the method finished, but {outcome.detail}"
    if method.is_exact:
        return f"no exact proof was found; the results are floats, proven within {error:.3g} ({outcome.detail})"
    from .methods.advice import or_sharper

    message += or_sharper(problem, method)
    return f"{message} (proven {error:.3g}, requested {options.tol:.3g}; {outcome.detail})"


def enough(problem: Problem, certificate: Certificate, options: Options) -> float:
    """Return the tolerance of an exact method, but at least the accuracy of floating-point arithmetic."""
    largest = problem.game.stakes
    if problem.penalty is not None and certificate.objective is not None:
        largest = max(largest, abs(certificate.objective))  # penalties may be much larger than payoffs
    return max(options.tol, ROUND_OFF * largest)


def proven_error(problem: Problem, profile: Profile, certificate: Certificate) -> float:
    """Return the error that is compared with the tolerance: the certified error plus its possible round-off."""
    return hidden_by_penalties(problem, profile) + certified_error(problem, certificate)


def hidden_by_penalties(problem: Problem, profile: Profile) -> float:
    """Return the possible round-off error of bounds, which is not negligible if the game has penalties."""
    game = problem.game
    in_payoffs = game.public_form is None and problem.unit == game.stakes
    return game.sequence_form.penalty_round_off(profile.plans) if in_payoffs else 0.0


def certified_error(problem: Problem, certificate: Certificate) -> float:
    """Return the problem's error in payoff units, without violations in other units."""
    return problem.error(replace(certificate, violations=_in_payoffs(problem, certificate)))


def loop_error(problem: Problem, certificate: Certificate, options: Options) -> float:
    """Return the error that decides when a loop stops, with violations scaled so that one tolerance applies to all.

    This error only determines when :func:`proven` is called.
    """
    if not problem.constraints or options.violation in (0.0, options.tol):
        return problem.error(certificate)
    ratio, paid = options.tol / options.violation, _in_payoffs(problem, certificate)
    violations = {name: one if name in paid else one * ratio for name, one in certificate.violations.items()}
    return problem.error(replace(certificate, violations=violations))


def _in_payoffs(problem: Problem, certificate: Certificate) -> dict[str, float]:
    """Return the violations that are in payoff units, such as the violation of a floor."""
    own = {one.name for one in problem.hard_constraints}
    return {name: one for name, one in certificate.violations.items() if name not in own}


def proves(problem: Problem, certificate: Certificate, tolerance: float) -> bool:
    """Whether a certificate meets a tolerance, in payoff units, and its strategies meet their constraints."""
    return certified_error(problem, certificate) <= tolerance and not problem.missed(certificate)


def proven(
    problem: Problem,
    profile: Profile,
    multipliers: Mapping[str, float],
    dual_certificate: Mapping[str, Floats],
) -> tuple[Profile, Certificate]:
    """Return strategies near the given ones that meet the constraints of a problem, and their certificate.

    The bounds of a program hold for strategies that meet its hard constraints. Strategies that violate them are
    replaced by :func:`~treeplex.solvers.feasible_plans.feasible` ones. If none is found and the violation is more than
    round-off, the bound follows from the range of payoffs alone; otherwise the bound is corrected by the violation
    times the multipliers.

    Parameters
    ----------
    problem : Problem
    profile : Profile
    multipliers : mapping of str to float
    dual_certificate : mapping of str to ndarray
    """
    if not problem.hard_constraints:
        return profile, problem.certify(profile, multipliers, dual_certificate)
    from .feasible_profile import proven_within_constraints

    return proven_within_constraints(problem, profile, multipliers, dual_certificate)
