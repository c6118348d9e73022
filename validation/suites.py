"""The named suites: which games are solved by which methods, and how closely they have to agree."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ..models.games import load_game
from ..models.problems import find_problem
from ..seqform.errors import SolverError, UnsupportedProblemError
from ..solvers import Solution, Status, find_method, solve
from .comparison import Comparison, compare, compare_with_value
from .report import Report, Row

if TYPE_CHECKING:
    from ..seqform.game import Game

Role = Literal["exact", "compared", "alone"]


@dataclass(frozen=True)
class Case:
    """One row of a suite, before it is run.

    Parameters
    ----------
    game : str
        As :func:`treeplex.load_game` reads it.
    method : str
    tolerance : float
        What the certificate has to prove, and how closely values have to agree, in payoff units.
    role : {"exact", "compared", "alone"}
        The ``exact`` solution of a game is held to the game's reference value, if it has one; what is ``compared`` is
        held to the exact solution, which comes before it; what stands ``alone`` is held to its certificate.
    options : mapping of str to str
        Hyper-parameters that differ from the method's defaults.
    problem : str
    """

    game: str
    method: str
    tolerance: float
    role: Role = "compared"
    options: Mapping[str, str] = field(default_factory=dict)
    problem: str = "nash"

    @property
    def label(self) -> str:
        """The method with its options, as rows show it.

        Examples
        --------
        >>> from treeplex.validation import Case
        >>> Case("kuhn", "cfr+", 1e-3, options={"updates": "simultaneous"}).label
        'cfr+ simultaneous'
        """
        return " ".join([self.method, *self.options.values()])


@dataclass(frozen=True)
class Suite:
    """A named list of cases.

    Parameters
    ----------
    name : str
    summary : str
        What it is for, in a few words.
    cases : tuple of Case
        Those of a game stand together, its exact one first.
    """

    name: str
    summary: str
    cases: tuple[Case, ...]


def _cases(
    game: str,
    *methods: tuple[str, float],
    exact: str | None = "highs-simplex",
    digits: float = 1e-9,
    simultaneous: tuple[tuple[str, float], ...] = (),
) -> tuple[Case, ...]:
    """List a game's cases: how it is solved exactly and to how many digits, and what is compared with that."""
    role: Role = "alone" if exact is None else "compared"
    first = () if exact is None else (Case(game, exact, digits, "exact"),)
    others = [Case(game, method, tolerance, role) for method, tolerance in methods]
    both_at_once = {"updates": "simultaneous"}
    others += [Case(game, method, tolerance, role, both_at_once) for method, tolerance in simultaneous]
    return (*first, *others)


# What interior point methods without crossover, and HiGHS's default tolerance through cvxpy, can be held to.
_INTERIOR = 1e-6

_QUICK = Suite(
    name="quick",
    summary="every method on small games, in well under a minute",
    cases=(
        *_cases("matching_pennies", ("cvxpy", _INTERIOR), ("dcfr", 1e-4)),
        *_cases("rps:rock=3", ("highs-ipm", _INTERIOR), ("cfr", 1e-3), ("pcfr+", 1e-5)),
        *_cases("repeated_rps:rock=3", ("dcfr", 1e-4)),
        *_cases(
            "kuhn",
            ("highs-ipm", _INTERIOR),
            ("cvxpy", _INTERIOR),
            ("cfr", 1e-3),
            ("cfr+", 1e-4),
            ("dcfr", 1e-4),
            ("pcfr+", 1e-5),
            simultaneous=(("cfr", 1e-3), ("cfr+", 1e-3)),
        ),
        # NashConv, three times the exploitability, below 1e-3: with three players not promised, but proven.
        *_cases("kuhn:players=3", ("cfr", 3e-4), ("cfr+", 3e-4), ("dcfr", 3e-4), ("pcfr+", 3e-4), exact=None),
        *_cases(
            "leduc",
            ("highs-ipm", _INTERIOR),
            ("highs-ipm-crossover", 1e-9),
            ("cvxpy", _INTERIOR),
            ("cfr", 1e-3),
            ("cfr+", 1e-4),
            ("dcfr", 1e-4),
            ("pcfr+", 1e-4),
            simultaneous=(("pcfr+", 1e-3),),
        ),
        *_cases("leduc:merge_suits=true", ("highs-pdlp", 1e-4), ("cvxpy", _INTERIOR), ("dcfr", 1e-4), ("pcfr+", 1e-5)),
        *_cases("leduc:ranks=6,merge_suits=true", ("highs-ipm", _INTERIOR), ("cfr+", 1e-4), ("dcfr", 1e-4)),
        *_cases("leduc:suits=4,merge_suits=true", ("highs-ipm", _INTERIOR), ("dcfr", 1e-4), ("pcfr+", 1e-4)),
        *_cases("liars_dice", ("highs-ipm", _INTERIOR), ("cfr", 1e-3), ("dcfr", 1e-4), ("pcfr+", 1e-5)),
        *_cases("liars_dice:wild=false", ("cvxpy", _INTERIOR), ("cfr+", 1e-4)),
        *_cases("goofspiel:cards=4", ("cvxpy", _INTERIOR), ("cfr+", 1e-4), ("pcfr+", 1e-4)),
        *_cases("goofspiel:cards=5", ("highs-ipm", _INTERIOR), ("dcfr", 1e-4), ("pcfr+", 1e-4)),
        *_cases("transit:width=2", ("highs-ipm", _INTERIOR), ("cvxpy", _INTERIOR), ("cfr", 1e-2), ("cfr+", 1e-4)),
        *_cases("transit:width=2,model=A", ("dcfr", 1e-4), ("pcfr+", 1e-4)),
        *_cases("transit:width=3", ("highs-ipm", _INTERIOR), ("dcfr", 1e-3), ("pcfr+", 1e-3)),
        *_cases("depth_limited_figure_2", ("cvxpy", _INTERIOR), ("dcfr", 1e-4)),
        *_cases("coin", ("cvxpy", _INTERIOR), ("dcfr", 1e-4)),
        *_cases("depth_limited_figure_10", ("cvxpy", _INTERIOR), ("dcfr", 1e-4)),
        *_cases("gadget_trap_1", ("cvxpy", _INTERIOR), ("dcfr", 1e-4)),
        *_cases("gadget_trap_2", ("cvxpy", _INTERIOR), ("dcfr", 1e-4)),
    ),
)

_FULL = Suite(
    name="full",
    summary="the quick suite, and games of up to 37,039 sequences a player, in minutes",
    cases=(
        *_QUICK.cases,
        *_cases("kuhn:cards=13", ("cfr", 1e-4), ("cfr+", 1e-5), ("dcfr", 1e-5), ("pcfr+", 1e-6)),
        *_cases("goofspiel:order=random", ("pcfr+", 1e-4), exact="highs-ipm", digits=_INTERIOR),
        *_cases("liars_dice:sides=5", ("dcfr", 1e-4), ("pcfr+", 1e-5), exact="highs-ipm", digits=_INTERIOR),
        *_cases("leduc:ranks=6", ("cfr+", 1e-4), ("dcfr", 1e-4), exact="highs-ipm", digits=_INTERIOR),
        *_cases("leduc:suits=4", ("dcfr", 1e-4), ("pcfr+", 1e-4), exact="highs-ipm", digits=_INTERIOR),
        *_cases("leduc:players=3,ranks=4,merge_suits=true", ("cfr+", 1e-2), ("dcfr", 1e-2), exact=None),
        *_cases("liars_dice:sides=6", ("dcfr", 1e-4), ("pcfr+", 1e-4), exact="highs-ipm", digits=_INTERIOR),
        *_cases("goofspiel:cards=6", ("dcfr", 1e-3), ("pcfr+", 1e-3), exact="highs-ipm", digits=_INTERIOR),
        *_cases("transit:width=3,model=A", ("cfr+", 1e-3), ("dcfr", 1e-3)),
        *_cases("transit:width=4", ("dcfr", 1e-3), ("pcfr+", 1e-4), exact="highs-ipm-crossover"),
        *_cases("transit:width=4,model=A", ("dcfr", 1e-3), ("pcfr+", 1e-3), exact="highs-ipm-crossover"),
        *_cases("transit:width=6", ("dcfr", 1e-3), ("pcfr+", 1e-3), exact="highs-ipm", digits=_INTERIOR),
    ),
)

#: The suites by name.
SUITES: Mapping[str, Suite] = {suite.name: suite for suite in (_QUICK, _FULL)}


def find_suite(name: str) -> Suite:
    """Return a suite by its name.

    Raises
    ------
    UnsupportedProblemError
        If there is no such suite.
    """
    if name not in SUITES:
        raise UnsupportedProblemError(f"unknown suite {name!r}; expected one of {', '.join(SUITES)}")
    return SUITES[name]


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
    spec = ""
    exact: Solution | None = None
    for case in suite.cases:
        if on_case is not None:
            on_case(case)
        if game is None or case.game != spec:
            game, spec, exact = load_game(case.game), case.game, None
        row, solution = _run_case(case, game, exact)
        if case.role == "exact":
            exact = solution
        rows.append(row)
        if on_row is not None:
            on_row(row)
    return Report(suite.name, tuple(rows), time.perf_counter() - begun)


def _run_case(case: Case, game: "Game", exact: Solution | None) -> tuple[Row, Solution | None]:
    """Solve one case; the solution is ``None`` if the method broke down."""
    method = find_method(case.method, **case.options)
    try:
        solution = solve(find_problem(case.problem)(game), method, tol=case.tolerance)
    except SolverError as error:
        return _broken(case, str(error)), None
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    comparison: Comparison | None = None
    failures: tuple[str, ...] = ()
    if case.role == "exact" and game.reference_value is not None:
        comparison = compare_with_value(solution, float(game.reference_value), case.tolerance)
    elif case.role == "compared" and exact is not None:
        comparison = compare(exact, solution, case.tolerance)
    elif case.role == "compared":
        failures = ("there is no exact solution to compare with",)
    if comparison is not None:
        failures = comparison.failures
    proven = max(solution.problem.error(solution.certificate), solution.violation)
    if comparison is None and not proven <= case.tolerance:
        failures = (*failures, f"proven error {proven:.3g} above {case.tolerance:.3g}")
    row = Row(
        game=case.game,
        problem=case.problem,
        method=case.label,
        value=solution.value,
        exact_value=None if comparison is None else comparison.exact_objective,
        difference=None if comparison is None else comparison.difference,
        exploitability=solution.exploitability,
        violation=solution.violation,
        tolerance=case.tolerance,
        iterations=solution.iterations,
        seconds=solution.seconds,
        passed=not failures,
        failure="; ".join(failures),
    )
    return row, solution


def _broken(case: Case, message: str) -> Row:
    return Row(
        game=case.game,
        problem=case.problem,
        method=case.label,
        value=None,
        exact_value=None,
        difference=None,
        exploitability=None,
        violation=None,
        tolerance=case.tolerance,
        iterations=None,
        seconds=None,
        passed=False,
        failure=message,
    )
