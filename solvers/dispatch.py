"""The choice of a method and its options, and the call to its backend, which is imported on first use."""

import math
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from ..models.problems import Problem
from ..seqform.checks import check_number
from ..seqform.errors import InvalidOptionError, UnknownMethodError, UnsupportedProblemError, shown
from ..seqform.limits import doing, loading, seconds_left, stopwatches, timed, too_late
from .certification import certified
from .methods import Method, check_served, find_method
from .methods.registry import check_method
from .outcome import Options, Outcome, Status, checked_seed
from .solution import Solution

#: The smallest default tolerance of conic problems, relative to the game's stakes.
CONIC = 1e-5

#: Seconds by which the clocks of solvers may differ from the library's.
_CLOCKS = 0.01


def run_method(method: Method, problem: Problem, options: Options, part: str = "") -> Outcome:
    """Run a method's backend on a problem that it serves.

    If `part` names a part of a run with a checkpoint, the outcome of the part may be read from ``options.checkpoint``.
    """
    built = [watch.seconds["building"] for watch in stopwatches()]
    run = _backend(method, problem)
    with doing(f"{method.name} had no strategies yet on {problem.game.spec}"):
        if part and options.checkpoint is not None:
            from .kept_solves import kept_outcome

            outcome = kept_outcome(options.checkpoint, part, method, lambda: run(problem, options))
        else:
            outcome = run(problem, options)
    for watch, before in zip(stopwatches(), built, strict=True):  # the method's building time, without the game's
        watch.move(max(0.0, outcome.build_seconds - (watch.seconds["building"] - before)), "building")
    return outcome


def _backend(method: Method, problem: Problem) -> Callable[[Problem, Options], Outcome]:
    """Return the method's backend: its own function, or ``run`` of the module that it names."""
    if callable(method.backend):
        return method.backend
    own = next((module for feature, module in method.backends.items() if feature in problem.needs), None)
    with loading():
        module = import_module(own or method.backend)
    return partial(module.run, method)


def chosen_method(method: Any, problem: Any) -> Method:
    """Build the problem's game, and return the method: a given one, a named one or the default.

    Raises
    ------
    UnknownMethodError
        If `method` is not a method.
    UnsupportedProblemError
        If the method does not serve the problem, or `problem` is not a problem.
    """
    check_problem(problem)
    problem.build()
    if method is None:
        from .choice import choose

        method = choose(problem)
    if isinstance(method, str):
        chosen = find_method(method)
    elif isinstance(method, Method):
        check_method(type(method))  # registered classes have been checked already
        chosen = method
    else:
        raise UnknownMethodError(f"expected a method's name or hyper-parameters, such as CFR(), got {shown(method)}")
    check_served(chosen, problem)
    return chosen


def check_problem(problem: Any) -> None:
    """Raise an error unless the argument is a problem.

    Raises
    ------
    UnsupportedProblemError
    """
    if not isinstance(problem, Problem):
        raise UnsupportedProblemError(f"expected a problem posed on a game, such as Nash(game), got {shown(problem)}")


def options_of(
    method: Method,
    problem: Problem,
    *,
    tol: Any = None,
    max_iterations: Any = None,
    time_limit: Any = None,
    **others: Any,
) -> Options:
    """Return the checked options of a solve, with the game's and the method's defaults for missing ones.

    Raises
    ------
    InvalidOptionError
        If an option has an invalid value.
    """
    limit = check_options(tol=tol, max_iterations=max_iterations, time_limit=time_limit, **others)
    if others.get("on") is not None:
        import_module("..distributed.places", __name__).check_place(others["on"], problem.game)
    if tol is None and method.keeps_runs and problem.objective_is_payoff:
        tol = problem.game.learned_to
    # Violations are not in payoff units, and neither are the objectives of some problems: see `Problem.unit`.
    relative = method.default_tolerance
    relative = relative if problem.is_linear else max(relative, CONIC)
    asked = relative * problem.unit if tol is None else float(tol)
    return Options(
        tol=asked,
        violation=relative if tol is None else asked / (problem.unit or 1.0),
        max_iterations=method.default_iterations if max_iterations is None else _checked_count(max_iterations),
        time_limit=limit,
        **others,
    )


def check_options(
    *, tol: Any = None, max_iterations: Any = None, time_limit: Any = None, seed: Any = None, **others: Any
) -> float:
    """Check the values of the options of a solve, whichever method it uses, and return the time limit in seconds.

    Raises
    ------
    InvalidOptionError
    """
    if tol is not None:
        check_number(tol, "tol", InvalidOptionError, "[0, inf]")
    if max_iterations is not None:
        _checked_count(max_iterations)
    checked_seed(seed)
    for name in ("progress", "callback"):
        if not (others.get(name) is None or callable(others[name])):
            raise InvalidOptionError(f"{name} is {shown(others[name])}, expected a function of one argument")
    return math.inf if time_limit is None else check_number(time_limit, "time_limit", InvalidOptionError, "[0, inf]")


def solved(problem: Any, method: str | Method, **limits: Any) -> Solution:
    """Return a certified answer as :func:`~treeplex.solve` does, but do not explain infeasibility.

    Raises
    ------
    SolverError
        If the method returns no strategies.
    """
    chosen = chosen_method(method, problem)
    options = options_of(chosen, problem, **limits)
    outcome = run_method(chosen, problem, options)
    with timed("certifying"):
        return certified(problem, chosen, options, outcome)


def refuse_unfinished(solution: Solution, needed: str = "") -> None:
    """Raise an error if a partial solve was ended by Ctrl-C or by the overall time limit.

    Raises
    ------
    KeyboardInterrupt, TimeLimitError
    """
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.status is Status.TIME_LIMIT and seconds_left() < _CLOCKS:
        sought = needed or f"{solution.problem.name} was being solved on {solution.problem.game.spec}"
        raise too_late(sought)


def _checked_count(number: Any) -> int:
    count = check_number(number, "max_iterations", InvalidOptionError, "[0, inf]")
    if math.isinf(count):
        return 2**62
    if count != int(count):
        raise InvalidOptionError(f"max_iterations is {number!r}, expected a whole number")
    return int(number)
