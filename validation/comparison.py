"""Two answers to one question side by side: objectives and certificates, never strategies."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..seqform.errors import UnsupportedProblemError

if TYPE_CHECKING:
    from ..solvers import Solution

#: Round-off, relative to the largest payoff, by which proven bounds may miss each other and still be consistent.
ROUND_OFF = 1e-9


@dataclass(frozen=True)
class Comparison:
    """How an answer stands beside the one that it is held to.

    Attributes
    ----------
    objective : float
        Of the answer under test, in payoff units.
    exact_objective : float
        Of the exact solution, or a value known from elsewhere.
    difference : float
        The absolute difference of the two.
    error : float
        What the certificate of the answer under test proves: the exploitability for ``nash``.
    exact_error : float
        The same of the exact solution; 0 for a value known from elsewhere.
    violation : float
        The larger of both answers' largest violations of a constraint; 0 where violations are paid for.
    consistent : bool
        Whether the bounds proven by the two answers on the optimal objective overlap. Bounds that do not overlap cannot
        both be right, whatever the tolerance.
    gap : float
        Upper minus lower bound that the answer under test proves; 0 where it proves none. What violations of
        constraints are worth at their prices is added.
    tolerance : float
        What both errors and the violation are held to, in payoff units; the difference to the larger of this and the
        gap, since within its proven gap an objective may differ: for ``nash`` the gap is twice the exploitability.
    digits : float
        How far the value known from elsewhere may be off: so much more the objectives may differ.
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
        """Whether nothing is above what it is held to and the proven bounds are consistent."""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """What is wrong, in words; empty if the comparison passed."""
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


def compare(exact: "Solution", iterative: "Solution", tolerance: float) -> Comparison:
    """Compare an iterative solution with an exact one of the same problem.

    Strategies are not compared: optima are rarely unique.

    Parameters
    ----------
    exact, iterative : Solution
    tolerance : float
        On both certificates and on violations, in payoff units, and on the difference of objectives; see
        :class:`Comparison`.

    Returns
    -------
    Comparison

    Raises
    ------
    UnsupportedProblemError
        If the two answer different questions, or one that has no objective.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.validation import compare
    >>> problem = Nash(load_game("kuhn"))
    >>> compare(solve(problem, "highs"), solve(problem, "dcfr", tol=1e-4), tolerance=1e-4).passed
    True
    """
    first, second = exact.problem, iterative.problem
    if first.name != second.name or first.game.fingerprint != second.game.fingerprint:
        raise UnsupportedProblemError(
            f"the solutions answer different questions: {first.name} on {first.game.spec} and {second.name} on "
            f"{second.game.spec}; expected one problem on one game"
        )
    return _compare(iterative, tolerance, exact=exact)


def compare_with_value(solution: "Solution", value: float, tolerance: float, digits: float = 0.0) -> Comparison:
    """Compare a solution with an objective known from elsewhere, such as a game's reference value.

    Parameters
    ----------
    solution : Solution
    value : float
        Payoff units.
    tolerance : float
        On the difference, on the certificate and on violations, in payoff units.
    digits : float
        How far the value itself may be off, in payoff units: half a unit of its last digit.

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


def _compare(
    solution: "Solution", tolerance: float, exact: "Solution | None" = None, value: float = 0.0, digits: float = 0.0
) -> Comparison:
    """Hold a solution against an exact one, or without it against a value."""
    problem, objective = solution.problem, _objective(solution)
    target = value if exact is None else _objective(exact)
    lower, upper = (value, value) if exact is None else (exact.lower, exact.upper)
    owed = _owed(solution, solution) if exact is None else _owed(solution, exact) + _owed(exact, solution)
    slack = digits + owed + ROUND_OFF * problem.game.sequence_form.payoff_scale
    return Comparison(
        objective=objective,
        exact_objective=target,
        difference=abs(objective - target),
        error=problem.error(solution.certificate),
        exact_error=0.0 if exact is None else problem.error(exact.certificate),
        violation=max(unpaid_violation(solution), 0.0 if exact is None else unpaid_violation(exact)),
        consistent=_below(solution.lower, upper, slack) and _below(lower, solution.upper, slack),
        gap=float(solution.gap or 0.0) + owed,
        tolerance=tolerance,
        digits=digits,
    )


def unpaid_violation(solution: "Solution") -> float:
    """Return a solution's largest violation; 0 where the problem sets a price on violations and counts it."""
    return solution.violation if solution.problem.penalty is None else 0.0


def _owed(solution: "Solution", priced: "Solution") -> float:
    """Return what a solution's violations are worth at another's prices: by so much its bounds may be beside the point.

    Bounds hold as far as strategies meet their constraints, and an objective profits from what they do not meet.
    """
    if solution.problem.penalty is not None:
        return 0.0
    violations = solution.certificate.violations
    return float(sum(price * max(0.0, violations.get(name, 0.0)) for name, price in priced.multipliers.items()))


def _below(lower: float | None, upper: float | None, slack: float) -> bool:
    """Whether a lower bound lies below an upper one; what is not known contradicts nothing."""
    return lower is None or upper is None or lower <= upper + slack


def _objective(solution: "Solution") -> float:
    if solution.objective is None:
        problem = solution.problem
        raise UnsupportedProblemError(
            f"{problem.name} on {problem.game.spec} has no objective to compare: its certificate alone can be judged"
        )
    return solution.objective
