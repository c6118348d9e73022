"""The function :func:`solve`, which solves every problem with every method that serves it."""

import functools
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from ..models.problems import Nash, Problem
from ..seqform.checks import explained
from ..seqform.errors import InvalidOptionError, SolverError, TimeLimitError, shown
from ..seqform.limits import (
    Answer,
    answering,
    counted_now,
    finishing,
    seconds_left,
    settling,
    stopwatch,
    time_limited,
    timed,
    too_late,
)
from ..seqform.strategy import Profile
from .certification import certified
from .dispatch import check_options, check_problem, chosen_method, options_of, refuse_unfinished, run_method
from .methods import Method
from .outcome import Options, Outcome, Progress, Status
from .solution import Solution

if TYPE_CHECKING:
    from .checkpoint import Checkpoint


#: The tolerance for the value of the game if a loop computes it, relative to the problem's tolerance.
_VALUE_SHARE = 0.1
#: The statuses that infeasible constraints may lead to.
_FAILED = (Status.INFEASIBLE, Status.UNBOUNDED, Status.ITERATION_LIMIT)


@explained
def solve(
    problem: Problem,
    method: str | Method | None = None,
    *,
    tol: float | None = None,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    start: Solution | Profile | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
    seed: int | None = None,
    checkpoint: "Checkpoint | str | PathLike[str] | None" = None,
    on: str | None = None,
) -> Solution:
    """Solve a problem and certify the answer.

    Parameters
    ----------
    problem : Problem
    method : str or Method, optional
        A method's name, or its hyper-parameters, such as ``CFR(updates="simultaneous")``. The default is ``highs`` for
        small games and ``exact`` for trees of more than 6,000 sequences of both players; ``dcfr`` (``ccfr`` under
        limits) for large hold'em spots, preflop games and patrols; ``cfr+`` for more than two players; and ``cvxpy``
        for constraints without a linear program. :func:`~treeplex.solvers.choice.choose` makes the choice.
    tol : float, optional
        The largest certified error, in payoff units: the exploitability for ``Nash``. With 0, an iterative method runs
        exactly ``max_iterations``. The default depends on the method and is relative to the game's stakes.
    max_iterations : int, optional
        One iteration updates every player once.
    time_limit : float, optional
        Seconds for the whole call, including building the game if necessary; loading modules and compiling do not
        count.
    start : Solution or Profile, optional
        Strategies to start from. A solution of the same problem by the same iterative method is resumed exactly where
        it stopped, and its iterations are included in the count. Any other profile becomes the first iterate, with
        regrets biased towards it; the time saved depends on the game. In a game in public form, such as a hold'em spot,
        the profile is the answer if it meets the tolerance; otherwise the run starts anew. The simplex method starts
        from the basis of a solution by simplex or crossover whose linear program has the same numbers of rows and
        columns, such as the one for another bound or p. The interior point method solves smaller programs near the
        strategies until their certificate meets the tolerance.
    progress : bool or callable, optional
        ``True`` shows a progress bar on a terminal's standard error or in a notebook. Iterative methods call a function
        about twenty times a second with a :class:`~treeplex.solvers.outcome.Progress`.
    callback : callable, optional
        Called like a function `progress`; it stops the solve by returning ``True``.
    seed : int, optional
        The seed of methods that draw random numbers.
    checkpoint : Checkpoint or path-like, optional
        A file in which iterative methods save the run every minute and at its end. With
        ``Checkpoint(path, resume=True)`` the run is resumed, bit for bit as if it had never stopped; its iterations
        count from the beginning, and the time limit applies to this call.
    on : str, optional
        Where the parts of a game that is cut into parts are: ``"local:2"`` for two processes of this machine,
        ``"dask://host:port"`` or ``"ray://host:port"``. The default is this process; the answer is the same.

    Returns
    -------
    Solution
        After Ctrl-C, it has the status ``interrupted`` and the best strategies so far.

    Raises
    ------
    InvalidOptionError
        If an option has an invalid value; it is checked before the game is built.
    UnknownMethodError
        If the method does not exist.
    UnsupportedProblemError
        If the method does not serve the problem.
    CheckpointError
        If the checkpoint is damaged, belongs to another run, cannot be resumed, or cannot be written.
    SolverError
        If the method failed and returned no strategies.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")), "cfr+", tol=1e-3)
    >>> solution.status
    <Status.CONVERGED: 'converged'>
    >>> solution.exploitability <= 1e-3
    True
    """
    return _timed(
        problem,
        method,
        tol=tol,
        max_iterations=max_iterations,
        time_limit=time_limit,
        start=start,
        progress=progress,
        callback=callback,
        seed=seed,
        checkpoint=checkpoint,
        on=on,
    )


@dataclass
class _Found:
    """The solution found so far, which is kept after Ctrl-C."""

    answer: Answer
    solution: Solution | None = None


def _timed(problem: Any, method: Any, *, prices: bool = True, **how: Any) -> Solution:
    """Solve a problem, compute the prices of its constraints unless `prices` is false, and measure the time."""
    before = problem.given_game.build_seconds if isinstance(problem, Problem) else 0.0
    with settling(part=not prices) as answer, stopwatch() as watch:
        found = _Found(answer)
        try:
            with timed("solving"):
                begun = counted_now()
                solution = _ask(found, problem, method, **how)
                if prices and solution.multipliers:
                    from .parametric.prices import priced_within  # this module solves problems itself

                    limit = how.get("time_limit")
                    left = math.inf if limit is None else limit - (counted_now() - begun)
                    found.solution = priced_within(left, solution, answer)
        except KeyboardInterrupt:
            if found.solution is None:
                raise
            found.solution = _interrupted(found.solution)
        seconds = watch.seconds
        assert found.solution is not None
        solution = replace(found.solution, time=seconds, build_seconds=before + seconds["building"])
    return _interrupted(solution) if answer.interrupted else solution


def _interrupted(solution: Solution) -> Solution:
    return replace(solution, status=Status.INTERRUPTED, message=Status.INTERRUPTED.advice)


def _ask(
    found: _Found,
    problem: Any,
    method: Any,
    *,
    tol: Any = None,
    max_iterations: Any = None,
    time_limit: Any = None,
    progress: Any = None,
    checkpoint: Any = None,
    **others: Any,
) -> Solution:
    """Check the arguments, choose the method and solve the problem."""
    check_problem(problem)
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise InvalidOptionError(f"progress is {shown(progress)}, expected True or a function")
    # Before the game is built, and whichever method is chosen.
    limit = check_options(tol=tol, max_iterations=max_iterations, time_limit=time_limit, **others)
    named = method if isinstance(method, str) else getattr(method, "name", None)
    title = f"{problem.name} on {problem.given_game.spec}{f' by {named}' if named else ''}"
    with time_limited(limit), _listening(progress, title, time_limit) as listener:
        problem, chosen = _chosen(method, problem)
        options = options_of(
            chosen, problem, tol=tol, max_iterations=max_iterations, time_limit=time_limit, progress=listener, **others
        )
        if checkpoint is None:
            return _solved(found, problem, chosen, options)
        from .kept_solves import keeping

        with keeping(checkpoint, problem, chosen, options) as (kept, part):
            return _solved(found, problem, chosen, kept, part)


def _chosen(method: Any, problem: Problem) -> tuple[Problem, Method]:
    """Build the game; return the problem to solve and its method. An expired limit is reported with the stakes."""
    try:
        resolved = problem.resolved()
        return resolved, chosen_method(method, resolved)
    except TimeLimitError as ending:
        raise TimeLimitError(f"{ending}; {problem.given_game.payoff_words}") from None


def _listening(progress: Any, title: str, time_limit: Any) -> AbstractContextManager[Any]:
    """Return a progress bar if `progress` is true, otherwise the given function, if any."""
    if progress is True:
        from .progress import watched

        return watched(title, time_limit)
    return nullcontext(progress or None)


def _solved(found: _Found, problem: Any, chosen: Method, options: Options, part: str = "") -> Solution:
    """Solve a problem by a method and certify the answer; `part` names a part of a run with a checkpoint."""
    reason = ""
    with time_limited(options.time_limit):
        try:
            if problem.needs_game_value and problem.game_value is None:
                problem = with_game_value(problem, chosen, options.tol)
            outcome = run_method(chosen, problem, replace(options, answered=found.answer.known), part)
        except (KeyboardInterrupt, TimeLimitError) as ending:
            outcome = _unfinished(problem, ending)
        if outcome.stopped is Status.INTERRUPTED and not seconds_left():
            outcome = replace(outcome, stopped=Status.TIME_LIMIT)  # the deadline caused the interruption
        if problem.constraints and (outcome.plans is None or outcome.stopped in _FAILED):
            from .infeasibility import judged

            outcome, infeasible, reason = judged(problem, chosen, options, outcome, found.answer)
            if infeasible is not None:
                found.solution = infeasible
                return infeasible
    found.answer.known()
    with finishing(), timed("certifying"):
        try:
            solution = found.solution = certified(problem, chosen, options, outcome)
        except KeyboardInterrupt:  # keep the answer
            outcome = replace(outcome, stopped=Status.INTERRUPTED)
            solution = found.solution = certified(problem, chosen, options, outcome)
    if reason and reason not in solution.message:
        solution = found.solution = replace(solution, message=f"{solution.message}; {reason}")
    return solution


def _unfinished(problem: Any, ending: BaseException) -> Outcome:
    """Return the outcome of a method that found no strategies in time, if uniform play can be certified instead.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C ended the method.
    TimeLimitError
        If the limit expired before the game was built, or before a required value of the game was found.
    """
    if isinstance(ending, KeyboardInterrupt) and seconds_left():
        raise ending
    from .uniform_play import has_uniform_play

    if has_uniform_play(problem) and not (problem.needs_game_value and problem.game_value is None):
        return Outcome(None, Status.TIME_LIMIT, "", iterations=0, seconds=0.0, build_seconds=0.0)
    told = ending if isinstance(ending, TimeLimitError) else too_late()
    raise TimeLimitError(f"{told}; {problem.given_game.payoff_words}") from None


def solve_part(problem: Any, method: str | Method | None = None, *, needed: str = "", **limits: Any) -> Solution:
    """Solve a problem as a part of another computation; Ctrl-C ends both.

    Parameters
    ----------
    problem : Problem
    method : str or Method, optional
        By default the method for exact answers.
    needed : str
        The description of a required solution for messages, such as ``the value of kuhn``.
    **limits
        As for :func:`solve`.

    Raises
    ------
    SolverError
        If the solution is required but was not found.
    TimeLimitError
        If a time limit of the whole computation expired.
    """
    if method is None:
        from .choice import choose

        problem.build()
        method = choose(problem, exactly=True)
    solution = _timed(problem, method, prices=False, **limits)
    refuse_unfinished(solution, needed and f"{needed} was being computed")
    if needed and not solution.status.is_success:
        raise SolverError(f"{needed} was not found: {solution.message}")
    return solution


def with_game_value(problem: Any, method: Method | None = None, tol: float = 0.0) -> Any:
    """Return a problem about one player's strategy with the value of the game to that player filled in.

    The value is found by linear programming, or by a loop if the problem will be solved by a loop on a public form.

    Parameters
    ----------
    problem : Problem
        A problem with a method ``with_game_value``.
    method : Method, optional
        The method for the problem; if it is exact, the value is exact too.
    tol : float
        The tolerance for the problem, in payoff units.

    Raises
    ------
    SolverError
        If the value cannot be found and certified.
    """
    exact = method is not None and method.is_exact
    needed = f"the value of {problem.game.spec} that {problem.name} needs"
    nash = Nash(problem.game)
    with answering("game_value"):
        from .methods import DCFR, RegretMethod

        if isinstance(method, RegretMethod) and tol > 0.0 and problem.game.public_form is not None:
            solution = solve_part(nash, DCFR(precision="auto"), tol=tol * _VALUE_SHARE, needed=needed)
        else:
            solution = solve_part(nash, method if exact else problem.value_method, needed=needed)
    paid = functools.partial(problem.game.as_paid, player=problem.player)
    if solution.exact is not None:
        return problem.with_game_value(paid(solution.value if problem.player == 0 else -solution.value))
    assert solution.lower is not None
    assert solution.upper is not None
    value = (solution.lower + solution.upper) / (2.0 if problem.player == 0 else -2.0)
    guaranteed = solution.lower if problem.player == 0 else -solution.upper
    return problem.with_game_value(paid(value), slack=max(0.0, value - guaranteed))
