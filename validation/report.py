"""What a suite found: one row a solve, plain data ready for JSON."""

from dataclasses import dataclass
from typing import Any

from .table import Row as TableRow


@dataclass(frozen=True)
class Row(TableRow):
    """One solve of a suite and its verdict.

    Attributes
    ----------
    game, problem, method : str
        The method with those of its options that are not defaults: ``cfr+ simultaneous``.
    value : float, tuple of float or None
        What the problem optimises: for ``nash`` player 0's payoff. All payoffs for more than two players; ``None`` if
        the method broke down.
    exact_value : float or None
        What the value is held to: the known one for the exact solution, such as the game's reference value, and the
        exact solution's value for every other row; ``None`` if neither is known.
    difference : float or None
        Of the objectives.
    exploitability, violation : float or None
        What the strategies prove.
    tolerance : float
        What the difference, the proven error and the violation are held to, in payoff units.
    iterations : int or None
    seconds : float or None
        The solve alone.
    question : str
        The problem with what it needs, as it follows ``--problem`` on the command line: ``rnr --opponent uniform --p
        1/2``; by default the problem alone.
    error : float or None
        The error that the certificate proves: the exploitability for ``nash``, for other problems the gap.
    """

    game: str
    problem: str
    method: str
    value: float | tuple[float, ...] | None = None
    exact_value: float | None = None
    difference: float | None = None
    exploitability: float | None = None
    violation: float | None = None
    tolerance: float = 0.0
    iterations: int | None = None
    seconds: float | None = None
    question: str = ""
    error: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "question", self.question or self.problem)


@dataclass(frozen=True)
class Report:
    """All rows of a suite.

    Attributes
    ----------
    suite : str
    rows : tuple of Row
    seconds : float
        From start to end, compilation and building included.
    interrupted : bool
        Whether the suite was stopped, so that rows are missing.
    """

    suite: str
    rows: tuple[Row, ...]
    seconds: float
    interrupted: bool = False

    @property
    def passed(self) -> bool:
        """Whether there are rows, none is missing and every one passed."""
        return bool(self.rows) and not self.interrupted and all(row.passed for row in self.rows)

    @property
    def failed_rows(self) -> tuple[Row, ...]:
        """The rows that did not pass."""
        return tuple(row for row in self.rows if not row.passed)

    @property
    def summary(self) -> str:
        """The outcome in one line.

        Examples
        --------
        >>> from treeplex.validation import Report
        >>> Report("quick", rows=(), seconds=0.0).summary
        'nothing was checked'
        """
        if not self.rows:
            return "interrupted before the first row" if self.interrupted else "nothing was checked"
        games = len({row.game for row in self.rows})
        counted = f"{len(self.rows)} row{'s' * (len(self.rows) > 1)} on {games} game{'s' * (games > 1)}"
        failed = f"{len(self.failed_rows)} failed" if self.failed_rows else "all passed"
        return f"{counted}: {failed}, {'interrupted after' if self.interrupted else 'in'} {self.seconds:.1f} s"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain numbers and strings, ready for JSON."""
        return {"passed": self.passed, "suite": self.suite, "rows": [row.to_dict() for row in self.rows]}
