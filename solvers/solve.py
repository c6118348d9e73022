"""One function that solves every problem with every method that serves it."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..models.problems import Nash, Problem
from ..seqform.errors import SolverError, UnknownMethodError, UnsupportedProblemError, shown
from ..seqform.strategy import Profile
from .infeasibility import Infeasibility, find_infeasibility
from .methods import Method, check_served, find_method
from .outcome import Options, Outcome, Progress, certified_error, nearest_profile
from .solution import Solution
from .status import Status

#: What counts as zero in a certificate of an exact method, relative to the game's largest payoff.
ROUND_OFF = 1e-12
#: What conic solvers are held to by default, relative to the game's largest payoff.
CONIC = 1e-5
#: How far plans may be from their polytopes.
RESIDUAL = 1e-9

_LIMITS = (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED)


def solve(
    problem: Problem,
    method: str | Method | None = None,
    *,
    tol: float | None = None,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    start: Solution | Profile | None = None,
    progress: Callable[[Progress], None] | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
    seed: int | None = None,
) -> Solution:
    """Solve a problem and prove how good the answer is.

    Parameters
    ----------
    problem : Problem
    method : str or Method, optional
        A method's name, for its defaults, or its hyper-parameters, such as ``CFR(updates="simultaneous")``. By default
        ``highs``, and ``cvxpy`` for a problem that has no linear program.
    tol : float, optional
        What the certificate must prove, in payoff units: the exploitability for ``Nash``. With 0 an iterative method
        runs exactly ``max_iterations``. The method has a default, relative to the game's largest payoff.
    max_iterations : int, optional
        One iteration updates every player once.
    time_limit : float, optional
        Seconds of solving.
    start : Solution or Profile, optional
        Strategies to start from. A solution of the same problem by the same iterative method goes on exactly where it
        stopped, and its iterations count on. Any other profile is the first iterate, with regrets that lean towards it;
        how much that saves depends on the game. The simplex method goes on from the basis of a solution by simplex or
        crossover whose linear program has as many rows and columns, such as that for another bound or p.
    progress : callable, optional
        Called about twenty times a second, by iterative methods, with a :class:`~treeplex.solvers.outcome.Progress`.
    callback : callable, optional
        The same, and stops the solve by returning ``True``.
    seed : int, optional
        For methods that draw random numbers.

    Returns
    -------
    Solution
        With the status ``interrupted`` and the best strategies so far after Ctrl-C.

    Raises
    ------
    UnknownMethodError
        If the method or one of its options does not exist.
    UnsupportedProblemError
        If the method does not serve the problem.
    SolverError
        If the method broke down without strategies.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")), "cfr+", tol=1e-3)
    >>> solution.status
    <Status.CONVERGED: 'converged'>
    >>> solution.exploitability <= 1e-3
    True
    """
    if not isinstance(problem, Problem):
        raise UnsupportedProblemError(f"expected a problem posed on a game, such as Nash(game), got {shown(problem)}")
    method = problem.default_method if method is None else method
    chosen = find_method(method) if isinstance(method, str) else method
    if isinstance(chosen, type) or not hasattr(chosen, "run"):
        raise UnknownMethodError(f"expected a method's name or hyper-parameters, such as CFR(), got {shown(method)}")
    check_served(chosen, problem)
    options = Options(
        tol=_default_tolerance(chosen, problem) if tol is None else checked_number(tol, "tol"),
        violation=_relative_tolerance(chosen, problem) if tol is None else checked_number(tol, "tol"),
        max_iterations=chosen.default_iterations if max_iterations is None else _checked_count(max_iterations),
        time_limit=math.inf if time_limit is None else checked_number(time_limit, "time_limit"),
        start=start,
        progress=progress,
        callback=callback,
        seed=seed,
    )
    if problem.needs_game_value and problem.game_value is None:
        problem = with_game_value(problem, chosen)
    outcome = chosen.run(problem, options)
    if outcome.plans is None and outcome.stopped in _LIMITS:
        # Stopped before it had any strategies: the certificate says how good uniform play is instead.
        outcome = dataclasses.replace(
            outcome,
            plans=Profile.uniform(problem.game).plans,
            detail="the method had no strategies yet, so these are uniform play",
        )
        return _certified(problem, chosen, options, outcome, remark=outcome.detail)
    if outcome.stopped in (Status.INFEASIBLE, Status.UNBOUNDED) or outcome.plans is None:
        found = find_infeasibility(problem, exact=chosen.name == "rational")
        if found is not None:
            return _infeasible(problem, chosen, options, outcome, found)
    if outcome.plans is None:
        raise SolverError(f"{chosen.name} found no strategies: {outcome.detail}")
    if outcome.stopped in (Status.INFEASIBLE, Status.UNBOUNDED):
        # A solver that says so of numbers too far apart, and hands over strategies: these tell what they are worth.
        outcome = dataclasses.replace(outcome, stopped=Status.OPTIMAL)
    return _certified(problem, chosen, options, outcome)


def _infeasible(problem: Problem, method: Method, options: Options, outcome: Outcome, found: Infeasibility) -> Solution:
    """Report that constraints cannot be met, with the strategy that comes nearest."""
    strategies = list(Profile.uniform(problem.game))
    strategies[found.player] = found.strategy
    profile = Profile(strategies)
    return Solution(
        problem=problem,
        method=method,
        profile=profile,
        status=Status.INFEASIBLE,
        message=f"{Status.INFEASIBLE.advice} ({found})",
        certificate=dataclasses.replace(problem.certify(profile), objective=None, lower=None, upper=None),
        tolerance=options.tol,
        iterations=outcome.iterations,
        seconds=outcome.seconds,
        build_seconds=outcome.build_seconds,
        infeasibility=found,
    )


def _certified(problem: Problem, method: Method, options: Options, outcome: Outcome, remark: str = "") -> Solution:
    """Turn plans into strategies, prove what they are worth and judge the status by that alone."""
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
        certificate = dataclasses.replace(
            certificate, objective=float(exact.objective), lower=float(lower), upper=float(upper)
        )
    error = certified_error(problem, certificate, options)
    status = outcome.stopped
    # An exact method is not asked for more than arithmetic can give.
    floor = ROUND_OFF * problem.game.sequence_form.payoff_scale if status is Status.OPTIMAL else 0.0
    proven = error <= max(options.tol, floor) and certificate.residual <= RESIDUAL
    if status is Status.OPTIMAL and not proven and exact is None:
        status = Status.UNCERTIFIED
    elif status in (Status.CONVERGED, Status.ITERATION_LIMIT, Status.TIME_LIMIT):
        if proven and options.tol > 0.0:
            status = Status.CONVERGED
        elif status is Status.CONVERGED:
            status = Status.UNCERTIFIED
    message = f"{status.advice}; {remark}" if remark else status.advice
    if exact is not None:
        message = "proven optimal in exact fractions"
    if status is Status.ITERATION_LIMIT and options.tol == 0.0 and not remark:
        message = "all iterations that were asked for were run"
    if status is Status.UNCERTIFIED:
        message = f"{message} (proven {error:.3g}, asked {options.tol:.3g}; {outcome.detail})"
        if getattr(method, "is_exact", False):
            message = f"no exact proof was found, so numbers are floats, proven within {error:.3g} ({outcome.detail})"
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
        # A row that states an objective is not a constraint, and has no price.
        multipliers={name: outcome.multipliers[name] for name in certificate.violations if name in outcome.multipliers},
        state=outcome.state,
        exact=exact,
    )


def with_game_value(problem: Any, method: Method | None = None) -> Any:
    """Return a problem about one player's strategy with the value of the game to that player, by linear programming.

    Parameters
    ----------
    problem : Problem
        With a method ``with_game_value``.
    method : Method, optional
        What the problem is going to be solved by: if that is exact, the value is too.

    Raises
    ------
    SolverError
        If it cannot be found and certified.
    """
    exact = getattr(method, "is_exact", False)
    solution = solve(Nash(problem.game), method if exact else problem.value_method)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.status is not Status.OPTIMAL:
        raise SolverError(
            f"the value of {problem.game.spec}, which {problem.name} needs, was not found: {solution.message}"
        )
    if solution.exact is not None:
        return problem.with_game_value(solution.exact.value if problem.player == 0 else -solution.exact.value)
    assert solution.lower is not None
    assert solution.upper is not None
    value = (solution.lower + solution.upper) / 2.0
    value = value if problem.player == 0 else -value
    guaranteed = solution.lower if problem.player == 0 else -solution.upper
    return problem.with_game_value(value, slack=max(0.0, value - guaranteed))


def _relative_tolerance(method: Method, problem: Problem) -> float:
    """Return the default tolerance relative to the largest payoff, which is that of violations too."""
    tolerance = method.default_tolerance
    return tolerance if problem.is_linear else max(tolerance, CONIC)


def _default_tolerance(method: Method, problem: Problem) -> float:
    return _relative_tolerance(method, problem) * problem.unit


def _checked_count(number: Any) -> int:
    count = checked_number(number, "max_iterations")
    if math.isinf(count):
        return 2**62
    if count != int(count):
        raise UnknownMethodError(f"max_iterations is {number!r}, expected a whole number")
    return int(number)


def checked_number(number: Any, name: str) -> float:
    """Return an argument as a float of at least 0, or refuse it.

    Raises
    ------
    UnknownMethodError
    """
    if isinstance(number, bool) or not isinstance(number, int | float | np.number) or not number >= 0:
        raise UnknownMethodError(f"{name} is {number!r}, expected a number of at least 0")
    return float(number)
