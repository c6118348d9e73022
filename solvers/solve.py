"""One function that solves every problem with every method that serves it."""

import dataclasses
from collections.abc import Callable
from typing import Any

from ..models.problems import Nash, Problem
from ..seqform.errors import SolverError
from ..seqform.strategy import Profile
from .certification import LIMITS, certified
from .dispatch import chosen_method, options_of, run_method
from .infeasibility import find_infeasibility
from .methods import Method
from .outcome import Options, Outcome, Progress
from .solution import Infeasibility, Solution
from .status import Status


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
    chosen = chosen_method(method, problem)
    options = options_of(
        chosen,
        problem,
        tol=tol,
        max_iterations=max_iterations,
        time_limit=time_limit,
        start=start,
        progress=progress,
        callback=callback,
        seed=seed,
    )
    if problem.needs_game_value and problem.game_value is None:
        problem = with_game_value(problem, chosen)
    outcome = run_method(chosen, problem, options)
    if outcome.stopped in (Status.INFEASIBLE, Status.UNBOUNDED) or (
        outcome.plans is None and outcome.stopped not in LIMITS
    ):
        found = find_infeasibility(problem, exact=chosen.is_exact)
        if found is not None:
            return _infeasible(problem, chosen, options, outcome, found)
    return certified(problem, chosen, options, outcome)


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


def solve_part(problem: Any, method: str | Method | None = None, *, needed: str = "", **limits: Any) -> Solution:
    """Solve a problem on the way to something else, as :func:`solve` does; Ctrl-C ends both.

    Parameters
    ----------
    problem : Problem
    method : str or Method, optional
    needed : str
        What the solution is called in the message if there must be one, such as ``the value of kuhn``.
    **limits
        As for :func:`solve`.

    Raises
    ------
    SolverError
        If it is needed and was not found.
    """
    solution = solve(problem, method, **limits)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if needed and not solution.status.is_success:
        raise SolverError(f"{needed} was not found: {solution.message}")
    return solution


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
    exact = method is not None and method.is_exact
    needed = f"the value of {problem.game.spec}, which {problem.name} needs,"
    solution = solve_part(Nash(problem.game), method if exact else problem.value_method, needed=needed)
    if solution.exact is not None:
        return problem.with_game_value(solution.exact.value if problem.player == 0 else -solution.exact.value)
    assert solution.lower is not None
    assert solution.upper is not None
    value = (solution.lower + solution.upper) / 2.0
    value = value if problem.player == 0 else -value
    guaranteed = solution.lower if problem.player == 0 else -solution.upper
    return problem.with_game_value(value, slack=max(0.0, value - guaranteed))
