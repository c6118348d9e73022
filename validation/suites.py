"""Runs a suite: every case is solved, compared with the exact or the known answer, and judged."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..models.games import load_game
from ..seqform.errors import SolverError
from ..solvers import Solution, Status, find_method, solve
from .bank import Case, Suite, find_suite
from .comparison import Comparison, compare, compare_with_value, unpaid_violation
from .report import Report, Row

if TYPE_CHECKING:
    from ..seqform.game import Game


def run_suite(
    name: str | Suite,
    on_row: Callable[[Row], None] | None = None,
    on_case: Callable[[Case], None] | None = None,
) -> Report:
    """Solve every case of a suite and judge it.

    Parameters
    ----------
    name : str or Suite
    on_row : callable, optional
        Called with each :class:`Row` when it is finished.
    on_case : callable, optional
        Called with each :class:`Case` before it is run.

    Returns
    -------
    Report

    Raises
    ------
    UnsupportedProblemError
        If there is no such suite.
    KeyboardInterrupt
        After Ctrl-C, between solves as within one.

    Examples
    --------
    >>> from treeplex.validation import Case, Suite, run_suite
    >>> cases = (Case("kuhn", "highs", 1e-9, "exact"), Case("kuhn", "pcfr+", 1e-4))
    >>> report = run_suite(Suite("two rows", "an example", cases))
    >>> report.passed
    True
    """
    suite = find_suite(name) if isinstance(name, str) else name
    begun = time.perf_counter()
    rows: list[Row] = []
    game: Game | None = None
    asked = ""
    problem: Any = None
    exact: Solution | None = None
    for case in suite.cases:
        if on_case is not None:
            on_case(case)
        if game is None or case.game != rows[-1].game:
            game, asked = load_game(case.game), ""
        if case.asked != asked:
            asked, problem, exact = case.asked, None, None
        try:
            problem = case.pose(game) if problem is None else problem
            solution = solve(problem, find_method(case.method, **case.options), tol=case.tolerance)
        except SolverError as error:
            row = _broken(case, str(error))
        else:
            row = _judged(case, solution, exact)
            exact = solution if case.role == "exact" and row.value is not None else exact
        rows.append(row)
        if on_row is not None:
            on_row(row)
    return Report(suite.name, tuple(rows), time.perf_counter() - begun)


def _judged(case: Case, solution: Solution, exact: Solution | None) -> Row:
    """Return a case's row: what was found, what it is held to, and the verdict."""
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.infeasibility is not None:
        return _broken(case, solution.message)
    game = solution.problem.game
    known = game.reference_value if case.reference is None and case.problem == "nash" else case.reference
    comparison: Comparison | None = None
    failures: tuple[str, ...] = ()
    if case.role == "exact" and known is not None:
        comparison = compare_with_value(solution, float(known), case.tolerance, case.digits)
    elif case.role == "compared" and exact is not None:
        comparison = compare(exact, solution, case.tolerance)
    elif case.role == "compared":
        failures = ("there is no exact solution to compare with",)
    if comparison is not None:
        failures = comparison.failures
    proven = max(solution.problem.error(solution.certificate), unpaid_violation(solution))
    if comparison is None and not proven <= case.tolerance:
        failures = (*failures, f"proven error {proven:.3g} above {case.tolerance:.3g}")
    return Row(
        game=case.game,
        problem=case.problem,
        question=case.asked,
        method=case.label,
        value=solution.value if solution.objective is None else float(solution.objective),
        exact_value=None if comparison is None else comparison.exact_objective,
        difference=None if comparison is None else comparison.difference,
        error=solution.problem.error(solution.certificate),
        exploitability=solution.exploitability,
        violation=solution.violation,
        tolerance=case.tolerance,
        iterations=solution.iterations,
        seconds=solution.seconds,
        failure="; ".join(failures),
    )


def _broken(case: Case, message: str) -> Row:
    return Row(
        game=case.game,
        problem=case.problem,
        question=case.asked,
        method=case.label,
        tolerance=case.tolerance,
        failure=message,
    )
