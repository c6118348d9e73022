"""Running suites: every case is solved, compared with the exact or the known answer, and judged.

Two answers to one question are compared by objectives and certificates, never by strategies. Depth-limited responses
are compared step by step, each step with the linear program that contains the decisions before it. Styles by
Preference-CFR are compared with the range that linear programs prove for the same exploitability.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any

from ..models.games import load_game
from ..models.problems import EpsilonSafeStyle, Nash
from ..seqform.checks import check_number, check_type, explained
from ..seqform.errors import SolverError, UnsupportedProblemError
from ..seqform.evaluate import nash_conv, worst_case
from ..seqform.functional import Functional
from ..seqform.limits import now
from ..seqform.sheet import counted, decimals, magnitude
from ..solvers import PrefCFR, Solution, Status, solve, style_range
from ..solvers.checkpoint import Checkpoint, Keeper, digest
from ..solvers.methods.declarations import PreferringMethod
from ..solvers.regret.preference_bounds import preference_bound
from .bank import Case, Suite, find_suite
from .steps import broken_guarantees, compare_steps
from .table import Column, Findings
from .table import Row as TableRow

if TYPE_CHECKING:
    from ..seqform.game import Game


def _paid(solution: Solution) -> Any:
    """Return the value of a solution, or all players' payoffs in floats."""
    return tuple(map(float, solution.value)) if isinstance(solution.value, tuple) else solution.value


def _value(row: "Row") -> str:
    """Format a row's value; values of several players lose their leading zeros."""
    if isinstance(row.value, tuple):
        return " ".join(f"{one:.3f}".replace("0.", ".", 1) for one in row.value)
    return decimals(row.value or 0.0, 9)


def _difference(row: "Row") -> str:
    return magnitude(row.difference)


def _error(row: "Row") -> str:
    return magnitude(row.error)


@dataclass(frozen=True)
class Row(TableRow):
    """One solve of a suite and its verdict.

    Attributes
    ----------
    game, problem, method : str
        The method with its non-default options: ``cfr+ simultaneous``.
    value : float, tuple of float or None
        The problem's objective: for ``nash`` player 0's payoff. With more than two players, all payoffs; ``None`` if
        the method failed.
    exact_value : float or None
        The reference for the value. For the exact solution it is a known value, such as the game's reference value; for
        every other row it is the exact solution's value. ``None`` if it is not known.
    difference : float or None
        The difference of the objectives. For a response in steps, the largest difference between a step's value and the
        step's optimum.
    exploitability, violation : float or None
        Quantities computed from the strategies.
    tolerance : float
        The bound on the difference, the proven error and the violation, in payoff units.
    iterations : int or None
    seconds : float or None
        Solving time.
    question : str
        The problem with its inputs, as written after ``--problem`` on the command line: ``rnr --opponent uniform --p
        1/2``; by default only the problem.
    error : float or None
        The error proven by the certificate: the exploitability for ``nash``, the largest regret for ``epsilon-nash``,
        and the gap for other problems.
    """

    game: str
    problem: str
    method: Annotated[str, Column("method", width=19)]
    value: Annotated[float | tuple[float, ...] | None, Column("value", _value, missing="none", width=12)] = None
    exact_value: float | None = None
    difference: Annotated[float | None, Column("difference", _difference, short="differs")] = None
    exploitability: float | None = None
    violation: float | None = None
    tolerance: Annotated[
        float, Column("proven error", _error, short="error"), Column("tolerance", ".0e", short="at most")
    ] = 0.0
    iterations: Annotated[int | None, Column("iterations", ",", short="iter.")] = None
    seconds: Annotated[float | None, Column("seconds", ".3f", short="s")] = None
    question: str = ""
    error: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "question", self.question or self.problem)


@dataclass(frozen=True)
class Report(Findings):
    """All rows of a suite.

    Attributes
    ----------
    suite : str
    rows : tuple of Row
    seconds : float
        The time from start to end, including compilation and building.
    interrupted : bool
        Whether the suite was stopped before all rows were computed.

    Examples
    --------
    >>> from treeplex.validation import Report
    >>> Report("quick", rows=(), seconds=0.0).summary
    'nothing was checked'
    """

    suite: str
    rows: tuple[Row, ...]
    seconds: float
    interrupted: bool = False

    @property
    def scope(self) -> str:  # type: ignore[override]
        """The number of games in the rows."""
        return f" on {counted(len({row.game for row in self.rows}), 'game')}"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain numbers and strings, ready for JSON."""
        return {"passed": self.passed, "suite": self.suite, "rows": [row.to_dict() for row in self.rows]}


def run_suite(
    name: str | Suite,
    on_row: Callable[[Row], None] | None = None,
    on_case: Callable[[Case], None] | None = None,
    checkpoint: Checkpoint | str | PathLike[str] | None = None,
) -> Report:
    """Solve every case of a suite and judge it.

    Parameters
    ----------
    name : str or Suite
    on_row : callable, optional
        Called with each :class:`Row` when it is finished.
    on_case : callable, optional
        Called with each :class:`Case` before it is run.
    checkpoint : Checkpoint or path-like, optional
        As for :func:`~treeplex.solve`.

    Returns
    -------
    Report

    Raises
    ------
    UnsupportedProblemError
        If there is no such suite.
    CheckpointError
        If the checkpoint is damaged, belongs to another suite, cannot be resumed, or cannot be written.
    KeyboardInterrupt
        After Ctrl-C, both during and between solves.

    Examples
    --------
    >>> from treeplex.validation import Case, Suite, run_suite
    >>> cases = (Case("kuhn", "highs", 1e-9, "exact"), Case("kuhn", "pcfr+", 1e-4))
    >>> report = run_suite(Suite("two rows", "an example", cases))
    >>> report.passed
    True
    """
    suite = find_suite(name) if isinstance(name, str) else name
    if checkpoint is not None and not isinstance(checkpoint, Keeper):
        with Checkpoint.of(checkpoint).kept({"suite": f"{suite.name} ({digest(suite)})"}) as keeper:
            keeper.keeps_loops = False
            return run_suite(suite, on_row, on_case, keeper)  # type: ignore[arg-type]
    begun = now()
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
            limits: dict[str, Any] = {"tol": case.tolerance, "checkpoint": checkpoint}
            method = case.chosen_method()
            styled = isinstance(method, PreferringMethod) and isinstance(problem, EpsilonSafeStyle)
            solution = solve(Nash(game) if styled else problem, method, **limits)
            row = _judged(case, solution, exact)
        except SolverError as error:
            row = _row(case, failure=str(error))
        else:
            if case.role == "exact" and row.value is not None:
                exact = solution
                # It has the value of the game, so other methods do not compute it again.
                problem = exact.problem if exact.certificate.steps else problem
        rows.append(row)
        if on_row is not None:
            on_row(row)
    return Report(suite.name, tuple(rows), now() - begun)


def _judged(case: Case, solution: Solution, exact: Solution | None) -> Row:
    """Return a case's row: the result, the reference, and the verdict."""
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.infeasibility is not None:
        return _row(case, failure=solution.message)
    game = solution.problem.game
    known = game.reference_value if case.reference is None and case.problem == "nash" else case.reference
    comparison: Comparison | None = None
    failures: tuple[str, ...] = ()
    if case.role == "exact" and known is not None:
        comparison = compare_with_value(solution, float(known), case.tolerance, case.digits)
    elif case.role == "compared" and exact is not None:
        compared = compare if exact.problem.name == solution.problem.name else compare_with_style
        comparison = compared(exact, solution, case.tolerance)
    elif case.role == "compared":
        failures = ("there is no exact solution to compare with",)
    if comparison is not None:
        failures = comparison.failures
    proven = max(solution.problem.error(solution.certificate), unpaid_violation(solution))
    if comparison is None and not proven <= case.tolerance:
        failures = (*failures, f"proven error {proven:.3g} above {case.tolerance:.3g}")
    failures = (*failures, *_against_theory(case, solution))
    objective = solution.objective if comparison is None else comparison.objective
    return _row(
        case,
        value=_paid(solution) if objective is None else float(objective),
        exact_value=None if comparison is None else comparison.exact_objective,
        difference=None if comparison is None else comparison.difference,
        error=solution.problem.error(solution.certificate),
        exploitability=solution.exploitability,
        violation=solution.violation,
        iterations=solution.iterations,
        seconds=solution.seconds,
        failure="; ".join(failures),
    )


def _against_theory(case: Case, solution: Solution) -> Iterator[str]:
    """Yield a message for each part of a certificate that contradicts theory."""
    game, method = solution.problem.game, solution.method
    slack = ROUND_OFF * game.sequence_form.payoff_scale
    # Other methods are compared with the exact solution's first step, so that step itself is compared with HiGHS.
    if case.role == "exact" and solution.certificate.steps and not compare_steps(solution, slack, slice(1))[1]:
        yield "the optimum of the first step is outside its proven bounds"
    yield from broken_guarantees(solution, slack)
    bound = preference_bound(solution).nash_conv if isinstance(method, PrefCFR) else None
    if bound is not None and not (found := float(nash_conv(game, solution.profile))) <= bound + slack:
        yield f"NashConv {found:.3g} above {bound:.3g}, the bound for these preferences"


def _row(case: Case, **found: Any) -> Row:
    return Row(case.game, case.problem, case.label, tolerance=case.tolerance, question=case.asked, **found)


#: The round-off, relative to the largest payoff, by which consistent proven bounds may fail to overlap.
ROUND_OFF = 1e-9


@dataclass(frozen=True)
class Comparison:
    """The comparison of an answer with its reference.

    Attributes
    ----------
    objective : float
        The objective of the answer under test, in payoff units.
    exact_objective : float
        The objective of the exact solution, or a value from another source.
    difference : float
        The absolute difference of the two. If the answer under test claims no optimum (it has a lower but no upper
        bound, like equilibria by trigger-regret minimisation), only an excess counts. For a response in steps, the
        largest difference between the value of a step's plan and the optimum of the step. The exact solution provides
        the optimum of the first step, which is the same for all methods. For later steps, a linear program with the
        decisions of the answer under test does.
    error : float
        The error proven for the answer under test; for ``nash``, the exploitability.
    exact_error : float
        The error proven for the exact solution; 0 for a value from another source.
    violation : float
        The larger of the two answers' largest violations of a constraint; 0 if the objective includes the price of
        violations.
    consistent : bool
        Whether the bounds proven by the two answers on the optimal objective overlap, and the optimum of each step lies
        within its bounds. Bounds that do not overlap cannot both be correct, whatever the tolerance.
    gap : float
        The proven upper minus lower bound of the answer under test (0 if it proves none), plus the value of violations
        of constraints at their prices.
    tolerance : float
        The bound on both errors and on the violation, in payoff units. The difference may be as large as the gap if
        that is larger, because an objective may differ within its proven gap; for ``nash`` the gap is twice the
        exploitability.
    digits : float
        The error of a value from another source, which is added to the permitted difference of the objectives.
    """

    objective: float
    exact_objective: float
    difference: float
    error: float
    exact_error: float
    violation: float
    consistent: bool
    gap: float
    tolerance: float
    digits: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether all quantities are within their bounds and the proven bounds are consistent."""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """The failures in words; empty if the comparison passed."""
        measured = (
            ("difference", self.difference, max(self.tolerance, self.gap) + self.digits),
            ("proven error", self.error, self.tolerance),
            ("proven error of the exact solution", self.exact_error, self.tolerance),
            ("violation", self.violation, self.tolerance),
        )
        # "not <=", so that a NaN fails.
        found = [f"{name} {number:.3g} above {limit:.3g}" for name, number, limit in measured if not number <= limit]
        if not self.consistent:
            found.append("the proven bounds exclude each other")
        return tuple(found)


@explained
def compare(exact: Solution, iterative: Solution, tolerance: float) -> Comparison:
    """Compare an iterative solution with an exact one of the same problem.

    Strategies are not compared: optima are rarely unique.

    Parameters
    ----------
    exact, iterative : Solution
    tolerance : float
        The bound on both certificates and on violations, in payoff units, and on the difference of objectives; see
        :class:`Comparison`.

    Returns
    -------
    Comparison

    Raises
    ------
    UnsupportedProblemError
        If the solutions answer different questions, or one without an objective.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.validation import compare
    >>> problem = Nash(load_game("kuhn"))
    >>> compare(solve(problem, "highs"), solve(problem, "dcfr", tol=1e-4), tolerance=1e-4).passed
    True
    """
    for solution, name in ((exact, "exact"), (iterative, "iterative")):
        check_type(solution, name, UnsupportedProblemError, Solution)
    tolerance = check_number(tolerance, "tolerance", UnsupportedProblemError, "[0, inf)")
    first, second = exact.problem, iterative.problem
    if first.name != second.name or first.game.fingerprint != second.game.fingerprint:
        raise UnsupportedProblemError(
            f"the solutions answer different questions: {first.name} on {first.game.spec} and {second.name} on "
            f"{second.game.spec}; expected the same problem on the same game"
        )
    return _compare(iterative, tolerance, exact=exact)


def compare_with_value(solution: Solution, value: float, tolerance: float, digits: float = 0.0) -> Comparison:
    """Compare a solution with an objective from another source, such as a game's reference value.

    Parameters
    ----------
    solution : Solution
    value : float
        Payoff units.
    tolerance : float
        The bound on the difference, on the certificate and on violations, in payoff units.
    digits : float
        The error of the value itself, in payoff units: half a unit in its last digit.

    Returns
    -------
    Comparison

    Raises
    ------
    UnsupportedProblemError
        If the problem has no objective.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.validation import compare_with_value
    >>> game = load_game("kuhn")
    >>> compare_with_value(solve(Nash(game)), float(game.reference_value), tolerance=1e-9).passed
    True
    """
    return _compare(solution, tolerance, value=value, digits=digits)


@explained
def compare_with_style(exact: Solution, preferring: Solution, tolerance: float) -> Comparison:
    """Compare an approximate equilibrium, such as one by Preference-CFR, with the styles that its loss allows.

    Preference-CFR prefers a style but does not optimise it, so theory does not determine how far it goes. It does bound
    the style: two linear programs find the least and the greatest value of the functional among all strategies that
    lose no more. If all equilibrium strategies have the same value, this range shrinks to a point as the loss
    approaches 0.

    Parameters
    ----------
    exact : Solution
        A solution of :class:`~treeplex.EpsilonSafeStyle` with a functional, for any ε.
    preferring : Solution
        A solution of :class:`~treeplex.Nash` on the same game.
    tolerance : float
        The largest exploitability of `preferring`, in payoff units.

    Returns
    -------
    Comparison
        ``objective`` is the value of the functional, ``exact_objective`` the end of the range that `exact` optimises
        towards, and ``gap`` the width of the range. The answers are consistent if the value is in the range.

    Raises
    ------
    UnsupportedProblemError
        If the solutions have other problems or different games.

    Examples
    --------
    >>> from treeplex import EpsilonSafeStyle, Nash, PrefCFR, frequency, load_game, solve
    >>> from treeplex.validation import compare_with_style
    >>> game = load_game("kuhn")
    >>> exact = solve(EpsilonSafeStyle(game, epsilon=0, maximise=frequency(game, 0, "b", first=True)))
    >>> bold = solve(Nash(game), PrefCFR("0/b@first:5"), tol=1e-3)
    >>> found = compare_with_style(exact, bold, tolerance=1e-3)
    >>> found.passed, found.objective < found.exact_objective, 0 < found.difference < found.gap
    (True, True, True)
    """
    for solution, name in ((exact, "exact"), (preferring, "preferring")):
        check_type(solution, name, UnsupportedProblemError, Solution)
    tolerance = check_number(tolerance, "tolerance", UnsupportedProblemError, "[0, inf)")
    style, game = exact.problem, preferring.problem.game
    functional = (style.maximise or style.minimise) if isinstance(style, EpsilonSafeStyle) else None
    if not (
        isinstance(style, EpsilonSafeStyle)
        and isinstance(functional, Functional)
        and isinstance(preferring.problem, Nash)
        and style.game.fingerprint == game.fingerprint
    ):
        raise UnsupportedProblemError(
            f"received {style.name} on {style.game.spec} and {preferring.problem.name} on {game.spec}; expected "
            "problem style with a functional, and problem nash on the same game"
        )
    round_off = ROUND_OFF * game.sequence_form.payoff_scale
    own = preferring.profile[functional.player]
    loss = max(0.0, style.known_value() - worst_case(game, own))
    allowed = style_range(game, functional, loss + round_off, game_value=style.known_value())
    if Status.INTERRUPTED in (allowed.lowest.status, allowed.highest.status):
        raise KeyboardInterrupt
    low, high = allowed.lowest.lower, allowed.highest.upper
    achieved, best = functional.value(own), allowed.high if style.maximises else allowed.low
    slack = ROUND_OFF * style.scale
    return Comparison(
        objective=achieved,
        exact_objective=best,
        difference=abs(achieved - best),
        error=preferring.exploitability,
        exact_error=max(each.problem.error(each.certificate) for each in (allowed.lowest, allowed.highest)),
        violation=0.0,
        consistent=_below(low, achieved, slack) and _below(achieved, high, slack),
        gap=allowed.width + slack,
        tolerance=tolerance,
    )


def _compare(
    solution: Solution, tolerance: float, exact: Solution | None = None, value: float = 0.0, digits: float = 0.0
) -> Comparison:
    """Compare a solution with an exact one, or with a value."""
    problem, objective = solution.problem, _objective(solution)
    target = value if exact is None else _objective(exact)
    lower, upper = (value, value) if exact is None else _comparable(exact)
    own_lower, own_upper = (solution.lower, solution.upper) if exact is None else _comparable(solution)
    owed = _owed(solution, solution) if exact is None else _owed(solution, exact) + _owed(exact, solution)
    slack = digits + owed + ROUND_OFF * problem.game.sequence_form.payoff_scale
    difference, within = abs(objective - target), True
    if exact is not None and not solution.certificate.steps and own_upper is None and own_lower is not None:
        # No optimum is claimed.
        difference, own_lower = max(0.0, objective - target), None  # its lower bound holds for ε-equilibria
    if exact is not None and exact.certificate.steps and solution.certificate.steps:
        first = abs(solution.certificate.steps[0].objective - exact.certificate.steps[0].objective)
        difference, within = compare_steps(solution, slack, slice(1, None))
        difference = max(first, difference)
    return Comparison(
        objective=objective,
        exact_objective=target,
        difference=difference,
        error=problem.error(solution.certificate),
        exact_error=0.0 if exact is None else problem.error(exact.certificate),
        violation=max(unpaid_violation(solution), 0.0 if exact is None else unpaid_violation(exact)),
        consistent=within and _below(own_lower, upper, slack) and _below(lower, own_upper, slack),
        gap=float(solution.gap or 0.0) + owed,
        tolerance=tolerance,
        digits=digits,
    )


def _comparable(solution: Solution) -> tuple[float | None, float | None]:
    """Return bounds that must be consistent with another answer's; for stepwise responses, those of the first step.

    Later steps depend on earlier decisions, which differ if several are optimal.
    """
    steps = solution.certificate.steps
    return (steps[0].objective, steps[0].upper) if steps else (solution.lower, solution.upper)


def unpaid_violation(solution: Solution) -> float:
    """Return a solution's largest violation; 0 if the problem's objective includes a price of violations."""
    return solution.violation if solution.problem.penalty is None else 0.0


def _owed(solution: Solution, priced: Solution) -> float:
    """Return the value of a solution's violations at another one's prices: the possible error of the former's bounds.

    Bounds hold only if strategies meet their constraints, because violations may improve an objective.
    """
    if solution.problem.penalty is not None:
        return 0.0
    violations = solution.certificate.violations
    return float(sum(price * max(0.0, violations.get(name, 0.0)) for name, price in priced.dual_multipliers.items()))


def _below(lower: float | None, upper: float | None, slack: float) -> bool:
    """Whether a lower bound lies below an upper one; an unknown bound always does."""
    return lower is None or upper is None or lower <= upper + slack


def _objective(solution: Solution) -> float:
    if solution.objective is None:
        problem = solution.problem
        raise UnsupportedProblemError(
            f"{problem.name} on {problem.game.spec} has no objective to compare: only its certificate can be compared"
        )
    return solution.objective
