"""What loosening or tightening a constraint is worth: both one-sided derivatives of the optimum, not any multiplier."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ...models.constraints import Constraint, LinearConstraint
from ...models.constraints.constraint import MeasureConstraint
from ...models.problems import ConstrainedNash, Problem, SaddleProblem
from ...models.saddle import SAFETY, linear_program
from ...seqform.errors import SolverError, TreeplexError
from ...seqform.hints import Named
from ...seqform.limits import seconds_left
from ...seqform.rationals import intended_fraction
from ..methods import Exact, HiGHS, Rational
from ..outcome import Options
from ..solution import Price, Solution
from ..status import Status
from .program import ParametricProgram

#: Rows and columns of a linear program, together, up to which prices are looked for, and constraints that bind.
LARGEST, MOST = 12_000, 12
#: The same in fractions.
LARGEST_EXACT = 600
#: A constraint whose function is below this has room, relative to its largest coefficient.
_ROOM = 1e-7
#: By how much a constraint is loosened first, relative to its largest coefficient, and the least by which it is.
_FIRST, _LEAST = Fraction(1, 1024), Fraction(1, 2**24)
#: How near a line has to be to the optimum to count as touching it, relative to the stakes.
_TOUCH = 2e-9
#: How many programs are solved for one price at most.
_ROUNDS = 12

#: The own player's payoff and the constraint's multiplier when it is loosened by a number; ``None`` if infeasible.
Loosened = Callable[[Fraction], tuple[Any, Any] | None]


def one_sided_prices(solution: Solution) -> dict[str, Price]:
    """Return the prices of a solution's constraints, of those for which they are found and proven.

    Parameters
    ----------
    solution : Solution
        Of a problem that has a linear program, by an exact method, with multipliers.

    Returns
    -------
    dict of str to Price
        Constraints that are missing are too many, in too large a program, or have no number to move.

    Notes
    -----
    Let F(h) be the optimum of the constraint's own player when its constraint f(x) ≤ 0 is loosened to f(x) ≤ h. F is
    concave and piecewise linear, and each multiplier at h is one of its supergradients: at a kink h = 0, where the
    linear program is degenerate, they fill the interval from F'(0+), what loosening earns, to F'(0−), what tightening
    costs. A supporting line of F at some h > 0 that meets F(0) has the slope F'(0+). If it passes above F(0), it
    crosses the line through F(0) with a multiplier's slope nearer to 0, and the next supporting line is found there:
    pieces are finitely many, so it ends. The same to the left. In fractions the lines meet exactly; in floats to 2e-9
    of the stakes.
    """
    problem = solution.problem
    found: dict[str, Price] = {}
    if not isinstance(problem, SaddleProblem) or problem.penalty is not None or not problem.is_linear:
        return found
    exact = solution.exact is not None
    binding = 0
    for name in solution.multipliers:
        constraint = next((one for one in problem.constraints if one.name == name), None)
        if constraint is not None and solution.certificate.violations[name] < -_ROOM * _size(constraint):
            found[name] = Price(0.0, 0.0)
            continue
        binding += 1
        if binding > MOST or seconds_left() <= 0.0:
            continue
        try:
            unit = _unit(problem, constraint)
            if exact:
                loosened = _in_fractions(problem, constraint, name)
            else:
                loosened = _in_floats(problem, constraint, name, unit * _FIRST)
            price = None if loosened is None else _price(loosened, solution, unit, exact)
        except (TreeplexError, ArithmeticError):
            continue
        if price is not None:
            found[name] = price
    return found


def _size(constraint: Constraint) -> float:
    if not isinstance(constraint, LinearConstraint):
        return 1.0
    return max(1e-300, float(abs(constraint.coefficients).max(initial=0.0)))


def _unit(problem: Problem, constraint: Constraint | None) -> Fraction:
    """Return the power of two next to a constraint's largest coefficient; the stakes of a bound on losses."""
    size = problem.game.stakes if constraint is None else _size(constraint)
    return Fraction(2) ** round(math.log2(size))


def _price(loosened: Loosened, solution: Solution, unit: Fraction, exact: bool) -> Price | None:
    here = loosened(Fraction(0))
    if here is None:
        return None
    touch = 0 if exact else _TOUCH * max(solution.problem.game.stakes, abs(here[0]))
    known = here[1]
    loosening = _slope(loosened, here[0], known, unit, touch) if known > 0 else known
    tightening = _slope(loosened, here[0], known, -unit, touch)
    if loosening is None or tightening is None:
        return None
    if tightening < loosening:  # they differ by round-off
        loosening = tightening = min(loosening, tightening)
    return Price(float(loosening), None if math.isinf(tightening) else float(tightening))


def _slope(loosened: Loosened, value: Any, known: Any, unit: Fraction, touch: Any) -> Any:
    """Return F'(0+), or F'(0−) if the unit is negative, from F(0) and a supergradient there.

    Infinite if F ends at 0, and ``None`` if it is not found.
    """
    place, far, least, side = unit * _FIRST, None, abs(unit) * _LEAST, 1 if unit > 0 else -1
    while far is None:
        far = loosened(place)
        if far is None:
            place /= 64
            if abs(place) < least:
                return math.inf if side < 0 else None
    for _ in range(_ROUNDS):
        reached, slope = far
        exact = isinstance(value, Fraction)
        step = place if exact else float(place)
        if reached - slope * step - value <= touch:
            return slope
        if slope == known:
            return None
        crossing = (reached - slope * step - value) / (known - slope)
        if not 0 < side * crossing < abs(step):
            return None
        place = Fraction(crossing)
        if abs(place) < least * _LEAST:
            return None
        far = loosened(place)
        if far is None:
            return None
        if value + known * crossing - far[0] <= touch:
            return known
    return None


def _moved(problem: Any, constraint: Constraint | None, name: str, amount: Fraction, exact: bool) -> Any:
    """Return the problem with a constraint loosened by a number; ``None`` if it has none to move."""
    if constraint is None:
        if name != SAFETY or not hasattr(problem, "epsilon"):
            return None
        bound = intended_fraction(problem.epsilon) + amount
        return None if bound < 0 else problem.with_bound(SAFETY, bound if exact else float(bound))
    if not isinstance(problem, ConstrainedNash):
        return None
    if isinstance(constraint, LinearConstraint):
        bound = intended_fraction(constraint.bound) + (amount if constraint.sense == "<=" else -amount)
        moved: Constraint = LinearConstraint(
            constraint.player,
            constraint.terms,
            bound if exact else float(bound),
            name,
            constraint.sense,
            fixed=constraint.fixed,
            fingerprint=constraint.fingerprint,
        )
    elif isinstance(constraint, MeasureConstraint):
        moved = constraint.with_bound(float(constraint.bound) + float(amount))
    else:
        return None
    return replace(problem, constraints=tuple(moved if one.name == name else one for one in problem.constraints))


def _sign(problem: SaddleProblem, constraint: Constraint | None) -> int:
    """Return 1 if the constraint's own player wants the objective large, −1 if small."""
    of_other = constraint is not None and problem.player is None and constraint.player == 1
    return problem.canonical.sign * (-1 if of_other else 1)


def _in_floats(problem: Any, constraint: Constraint | None, name: str, most: Fraction) -> Loosened | None:
    of_other = any(one.name == name for one in problem.canonical.other_rows.constraints)

    def program(amount: Fraction) -> Any:
        moved = _moved(problem, constraint, name, amount, exact=False)
        if moved is None:
            return None
        return linear_program(moved.canonical.swapped if of_other else moved.canonical)

    last = program(most)
    if last is None or sum(last.shape) > LARGEST:
        return None
    least = -most
    if constraint is None:  # a floor at the best that can be guaranteed is not raised
        least = max(least, -intended_fraction(problem.epsilon))
    first = program(least)
    parametric = ParametricProgram(first, last, float(least), float(most))
    sign = 1 if first.maximise else -1

    def solved(amount: Fraction) -> tuple[float, float] | None:
        if amount < least or seconds_left() <= 0.0:
            return None
        try:
            optimum = parametric.solve(float(amount))
        except SolverError:
            return None
        value = sum(float(first.objective[part] @ optimum.primal[name]) for name, part in first.columns.items())
        return sign * value, max(0.0, sign * optimum.slope)

    return solved


def _in_fractions(problem: Any, constraint: Constraint | None, name: str) -> Loosened | None:
    from ..exact.rational import run  # FLINT takes its time to load

    if _moved(problem, constraint, name, Fraction(0), exact=True) is None:
        return None
    if sum(linear_program(problem.canonical).shape) > LARGEST_EXACT:
        return None
    sign = _sign(problem, constraint)
    method = Rational()

    def solved(amount: Fraction) -> tuple[Fraction, Fraction] | None:
        moved = _moved(problem, constraint, name, amount, exact=True)
        if moved is None:
            return None
        options = Options(0.0, 0.0, method.default_iterations, seconds_left())
        found = run(method, moved, options)
        if found.stopped in (Status.INFEASIBLE, Status.UNBOUNDED):  # unbounded: the other player's cannot be met
            return None
        if found.exact is None:
            raise SolverError("no proof in fractions")
        return sign * Fraction(found.exact.objective), Fraction(found.exact.multipliers[name])

    return solved


def priced(solution: Solution) -> Solution:
    """Return a solution whose multipliers are what loosening earns, where that is proven."""
    proves = isinstance(solution.method, HiGHS | Rational | Exact)
    if not (proves and solution.multipliers and solution.status is Status.OPTIMAL):
        return solution
    prices = one_sided_prices(solution)
    if not prices:
        return solution
    loosening = {name: price.loosening for name, price in prices.items()}
    multipliers = Named({**solution.multipliers, **loosening}, f"{solution.problem.name} has no constraint")
    return replace(solution, multipliers=multipliers, prices=Named(prices, "no price was proven of"))
