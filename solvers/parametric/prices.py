"""The prices of constraints: both one-sided derivatives of the optimum, instead of an arbitrary multiplier."""

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...models.problems import SaddleProblem
from ...models.programs.linear_program import LinearProgram
from ...models.programs.rational_program import RationalProgram
from ...models.saddle import SAFETY, Saddle, linear_program, rational_program
from ...seqform.arrays import Floats
from ...seqform.checks import Named
from ...seqform.errors import SolverError, TimeLimitError
from ...seqform.limits import Answer, seconds_left, time_limited, too_late
from ..answer_parts import Price
from ..exact.highs_models import Attempt, Basis, choose_algorithm, load, objective_factor, run_solver
from ..methods import Exact, HiGHS, Rational
from ..outcome import Options, Status
from ..second_questions import SecondQuestion, second_question
from ..solution import Solution

#: The description of this computation in messages.
_SOUGHT = "the prices of the constraints"
#: The largest number of rows and columns of a linear program with prices, and of binding constraints.
LARGEST, MOST = 40_000, 24
#: The same numbers in fractions.
LARGEST_EXACT = 1_000
#: Rows and columns above which a missing vertex is found by interior point with crossover; always on flow polytopes.
_LARGE = 6_000
#: The limit on entries of the matrix times pivots from the optimal basis, for one side of one price.
_WORK = 300_000_000
#: The number of prices beyond this limit that are found by interior point.
_INTERIOR = 8
#: A constraint has slack if its function is below this, relative to its largest coefficient.
_ROOM = 1e-7
#: The distance up to which a row or column is at its bound, and the reduced cost that counts as zero.
_NEAR = 1e-8

_INFEASIBLE = (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible)
_UNBOUNDED = (highspy.HighsModelStatus.kUnbounded, highspy.HighsModelStatus.kUnboundedOrInfeasible)
_PRIMAL_SIMPLEX = int(highspy.simplex_constants.SimplexStrategy.kSimplexStrategyPrimal)

_Mask = npt.NDArray[np.bool_]


def one_sided_prices(solution: Solution) -> Iterator[tuple[str, Price]]:
    """Yield the prices that are found for a solution's constraints, starting with constraints that have slack.

    Parameters
    ----------
    solution : Solution
        A solution with multipliers, by an exact method, of a problem with a linear program.

    Yields
    ------
    str
        The constraint.
    Price
        A constraint is missing if there are too many, the program is too large, or its price takes too much work.

    Raises
    ------
    SolverError
        If HiGHS or exact arithmetic finds no optimum of the program, although there is one.
    TimeLimitError
        If the time limit is reached before the search ends.

    Notes
    -----
    Let F(h) be the optimum of the constraint's own player when its constraint f(x) ≤ 0 is loosened to f(x) ≤ h. F is
    concave and piecewise linear, and its supergradients at 0 are the multipliers of the constraint in all optimal dual
    solutions. F'(0+), the gain from loosening, is the smallest multiplier, and F'(0−), the cost of tightening, is the
    largest. The optimal dual solutions are complementary to one optimal primal solution z: they give no price to a row
    that is not tight at z, and no reduced cost to a column between its bounds. So they are the multipliers of a program
    for the step d from z, with the same costs and matrix, bounds of 0 where z is at a bound and none elsewhere, and 1
    or −1 for the row of the constraint. The optimal basis of the program is dual feasible in it, and optimal unless z
    is degenerate, so usually few pivots follow. The step program is infeasible if the constraint cannot be tightened.

    The multipliers of the other player's constraints are columns. Their range is computed over the optimal primal
    solutions, which are complementary to one optimal dual solution; the optimal basis is primal feasible there.

    Floats within 1e-8 of a bound count as being at it. Multipliers that differ from the solution's must also meet its
    tolerance. See E. Gal, "Postoptimal Analyses, Parametric Programming, and Related Topics", 2nd edition, de Gruyter
    1995.
    """
    problem = solution.problem
    if not isinstance(problem, SaddleProblem) or problem.penalty is not None or not problem.is_linear:
        return
    binding: list[str] = []
    constraints = {one.name: one for one in problem.constraints}
    for name in solution.multipliers:
        known = constraints.get(name)
        if known is not None and solution.certificate.violations[name] < -_ROOM * known.largest_coefficient:
            yield name, Price(0.0, 0.0)
        else:
            binding.append(name)
    if not binding or len(binding) > MOST:
        return
    optimum = _in_fractions(problem, solution) if solution.exact is not None else _in_floats(problem, solution)
    if optimum is None:
        return
    for name in binding:
        place = _place(optimum.saddle, optimum.program, name)
        if place is None:
            continue
        least, most = (optimum.multiplier(place, largest) for largest in (False, True))
        if least is not None and most is not None:
            least, most = max(0.0, float(least)), float(most)
            yield name, Price(min(least, most), None if math.isinf(most) else most)
        elif seconds_left() <= 0.0:
            raise too_late(f"the price of {name} was being computed")


class _Place(NamedTuple):
    """The position of a constraint's multiplier in a linear program, and its unit there.

    Attributes
    ----------
    is_row : bool
        Whether it is the multiplier of a row, in units of the objective; otherwise it is a column.
    number : int
    unit : float or Fraction
    """

    is_row: bool
    number: int
    unit: Any


def _place(saddle: Saddle, program: Any, name: str) -> _Place | None:
    if name == SAFETY and SAFETY in program.rows:
        return _Place(True, program.rows[SAFETY].start, saddle.view.unit)
    for rows, is_row in ((saddle.own, True), (saddle.other, False)):
        if rows is None or rows.penalty is not None or name not in rows.names:
            continue
        matrix = rows.matrix(saddle.view.exact)
        head = int(matrix.heads[matrix.names.index(name)])
        unit = matrix.units[head] if is_row else matrix.units[head] / saddle.view.unit
        return _Place(is_row, (program.rows["constraints"] if is_row else program.columns["prices"]).start + head, unit)
    return None


def _steps(lower: Any, upper: Any, low: _Mask, high: _Mask) -> tuple[Any, Any]:
    """Return bounds on a step from a solution, given the bounds of the solution and which of them it attains."""
    return np.where(low, 0 * np.where(low, lower, 0), -math.inf), np.where(high, 0 * np.where(high, upper, 0), math.inf)


# In floats


class _Optimum:
    """An optimal vertex of a linear program that HiGHS minimises, and the faces of optimal solutions that contain it.

    Parameters
    ----------
    problem : SaddleProblem
    program : LinearProgram
    solver : highspy.Highs
        The solver that has solved the program, with a basis.
    tolerance : float
        Payoff units.
    """

    def __init__(self, problem: SaddleProblem, program: LinearProgram, solver: Any, tolerance: float) -> None:
        self.saddle, self.program = problem.canonical, program
        self._problem, self._options = problem, Options(tolerance, 0.0, 1, math.inf)
        self._basis, solution = Basis.of(solver, program.shape), solver.getSolution()
        self._primal, self._reduced = np.array(solution.col_value), np.array(solution.col_dual)
        self._dual, activities = np.array(solution.row_dual), np.array(solution.row_value)
        self._columns = _at(program.column_lower, program.column_upper, self._primal)
        self._rows = _at(program.row_lower, program.row_upper, activities)
        self._pivots = max(50, _WORK // max(1, program.matrix.nnz))
        self._interior = _INTERIOR

    def multiplier(self, place: _Place, largest: bool) -> float | None:
        """Return the smallest or the largest multiplier in all optimal solutions; ``None`` if it was not found."""
        number, side = place.number, -1.0 if largest else 1.0
        index = np.array([number], dtype=np.int32)
        if place.is_row:
            if not self._rows[1][number]:
                return 0.0
            solver, lower = self._stepping, np.array([0.0 if self._rows[0][number] else -np.inf])
            change = partial(solver.changeRowsBounds, 1, index, lower)
        else:
            solver = self._playing
            change = partial(solver.changeColsCost, 1, index)
        change(np.array([side]))
        status = self._run(solver)
        change(np.zeros(1))
        if largest and status in (_INFEASIBLE if place.is_row else _UNBOUNDED):
            return math.inf
        if status == highspy.HighsModelStatus.kOptimal:
            solution = solver.getSolution()
            found = np.array(solution.row_dual if place.is_row else solution.col_value)
        else:
            face, cost = (self._duals, side) if place.is_row else (self._primals, -side)
            status, found = self._by_interior_point(face, number, cost)
            if largest and status in _UNBOUNDED:
                return math.inf
        primal, dual = (self._primal, found) if place.is_row else (found, self._dual)
        if status != highspy.HighsModelStatus.kOptimal or not self._proves(primal, dual):
            return None
        worth = -found[number] * abs(objective_factor(self.program)) if place.is_row else found[number]
        return float(worth) / place.unit  # type: ignore[no-any-return]

    def _proves(self, primal: Floats, dual: Floats) -> bool:
        """Whether an answer meets the tolerance of the solution."""
        numbers = primal, dual * objective_factor(self.program)
        return Attempt.read(self._problem, self._options, self.program, numbers).excess == 0.0

    def _run(self, solver: Any) -> Any:
        """Continue from the optimal basis by the simplex method."""
        assert self._basis is not None
        self._basis.give(solver)
        solver.setOptionValue("time_limit", solver.getRunTime() + seconds_left())
        if run_solver(solver, interruptible=sum(self.program.shape) > _LARGE):
            raise KeyboardInterrupt
        return solver.getModelStatus()

    def _by_interior_point(self, program: LinearProgram, column: int, cost: float) -> tuple[Any, Floats]:
        """Maximise a column, times a cost, over a face for which the simplex method is too slow."""
        self._interior -= 1
        if self._interior < 0 or seconds_left() <= 0.0:
            return None, self._primal
        objective = np.zeros(program.shape[1])
        objective[column] = cost
        solver = load(replace(program, objective=objective, maximise=True))
        choose_algorithm(solver, "ipm")
        solver.setOptionValue("time_limit", seconds_left())
        if run_solver(solver, interruptible=True):
            raise KeyboardInterrupt
        return solver.getModelStatus(), np.array(solver.getSolution().col_value)

    @cached_property
    def _stepping(self) -> Any:
        """The program for a step from the vertex, loaded to start from a step of zero."""
        program = self.program
        lower, upper = _steps(program.row_lower, program.row_upper, *self._rows)
        least, most = _steps(program.column_lower, program.column_upper, *self._columns)
        return self._warm(
            replace(program, row_lower=lower, row_upper=upper, column_lower=least, column_upper=most), program.objective
        )

    @cached_property
    def _playing(self) -> Any:
        """The program of the optimal primal solutions, without an objective."""
        solver = self._warm(self._primals, np.zeros(self.program.shape[1]))
        solver.setOptionValue("simplex_strategy", _PRIMAL_SIMPLEX)
        return solver

    def _warm(self, program: LinearProgram, objective: Floats) -> Any:
        solver = load(replace(program, objective=objective))
        for option, value in {"presolve": "off", "solver": "simplex", "simplex_iteration_limit": self._pivots}.items():
            solver.setOptionValue(option, value)
        return solver

    @cached_property
    def _primals(self) -> LinearProgram:
        """The optimal primal solutions: rows and columns with a price are at their bounds."""
        program = self.program
        lower, upper = _fixed(program.row_lower, program.row_upper, self._dual)
        least, most = _fixed(program.column_lower, program.column_upper, self._reduced)
        return replace(program, row_lower=lower, row_upper=upper, column_lower=least, column_upper=most)

    @cached_property
    def _duals(self) -> LinearProgram:
        """The optimal dual solutions, with one column per row of the program."""
        program = self.program
        costs = program.objective / objective_factor(program)
        (low, high), (at_lower, at_upper) = self._columns, self._rows
        matrix = sp.csc_array(program.matrix.T)
        matrix.sort_indices()
        return LinearProgram(
            objective=np.zeros(program.shape[0]),
            matrix=matrix,
            row_lower=np.where(low, -np.inf, costs),
            row_upper=np.where(high, np.inf, costs),
            column_lower=np.where(at_upper, -np.inf, 0.0),
            column_upper=np.where(at_lower, np.inf, 0.0),
            maximise=False,
        )


def _at(lower: Floats, upper: Floats, places: Floats) -> tuple[_Mask, _Mask]:
    """Return masks of the entries at their lower and at their upper bounds."""
    with np.errstate(invalid="ignore"):
        low = places <= lower + _NEAR * np.maximum(1.0, np.abs(lower))
        high = places >= upper - _NEAR * np.maximum(1.0, np.abs(upper))
    return low & np.isfinite(lower), high & np.isfinite(upper)


def _fixed(lower: Any, upper: Any, prices: Any, near: float = _NEAR) -> tuple[Any, Any]:
    """Return bounds that fix each entry with a nonzero price at its binding bound."""
    return np.where(prices < -near, upper, lower), np.where(prices > near, lower, upper)


def _in_floats(problem: SaddleProblem, solution: Solution) -> _Optimum | None:
    program = linear_program(problem.canonical)
    if sum(program.shape) > LARGEST:
        return None
    solver = load(program)
    basis = solution.state
    if isinstance(basis, Basis) and basis.shape == program.shape:
        solver.setOptionValue("solver", "simplex")
        basis.give(solver)
    else:
        flows = not all(treeplex.single_parent for treeplex in problem.game.sequence_form.treeplexes)
        choose_algorithm(solver, "ipm-crossover" if flows or sum(program.shape) > _LARGE else "simplex")
    solver.setOptionValue("time_limit", seconds_left())
    if run_solver(solver, interruptible=sum(program.shape) > _LARGE):
        raise KeyboardInterrupt
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kTimeLimit:
        raise too_late("prices were being computed")
    if status != highspy.HighsModelStatus.kOptimal or not solver.getBasis().valid:
        said = solver.modelStatusToString(status).lower()
        raise SolverError(f"no optimal vertex of the linear program was found: HiGHS reports {said}")
    return _Optimum(problem, program, solver, solution.tolerance)


# In fractions


class _ExactOptimum:
    """An optimal vertex in fractions; see :class:`_Optimum`.

    Parameters
    ----------
    saddle : Saddle
    program : RationalProgram
    basis : rational_vertex.Basis
        An optimal basis.
    """

    def __init__(self, saddle: Saddle, program: RationalProgram, basis: Any) -> None:
        from ..exact.rational_vertex import ExactProgram, to_fractions  # importing FLINT is slow

        self.saddle, self.program, self._basis = saddle, program, basis
        point = ExactProgram(program).vertex(basis)
        places, activities = to_fractions(point.columns), to_fractions(point.activities)
        self._columns = program.column_lower == places, program.column_upper == places
        self._rows = program.row_lower == activities, program.row_upper == activities
        self._dual, self._reduced = to_fractions(point.multipliers), to_fractions(point.reduced)

    def multiplier(self, place: _Place, largest: bool) -> Fraction | float | None:
        """Return the smallest or the largest multiplier in all optimal solutions; ``None`` if it was not found."""
        from ..exact.rational_solve import optimum
        from ..exact.rational_vertex import Point, to_fractions

        program, index = self.program, place.number
        if place.is_row:
            if not self._rows[1][index]:
                return Fraction(0)
            lower, upper = _steps(program.row_lower, program.row_upper, *self._rows)
            least, most = _steps(program.column_lower, program.column_upper, *self._columns)
            upper[index] = Fraction(-1 if largest else 1)
            changed = replace(program, row_lower=lower, row_upper=upper, column_lower=least, column_upper=most)
        else:
            lower, upper = _fixed(program.row_lower, program.row_upper, self._dual, near=0)
            least, most = _fixed(program.column_lower, program.column_upper, self._reduced, near=0)
            objective = 0 * program.objective
            objective[index] = Fraction(1)
            changed = RationalProgram(objective, program.matrix, lower, upper, least, most, maximise=largest)
        point = optimum(changed, self._basis, seconds_left())
        if point in (Status.INFEASIBLE, Status.UNBOUNDED):
            return math.inf
        if not isinstance(point, Point):
            return None
        found = -to_fractions(point.multipliers)[index] if place.is_row else to_fractions(point.columns)[index]
        return Fraction(found / place.unit)


def _in_fractions(problem: SaddleProblem, solution: Solution) -> _ExactOptimum | None:
    program = rational_program(problem.exact_canonical)
    if sum(program.shape) > LARGEST_EXACT or solution.state is None:
        return None
    return _ExactOptimum(problem.exact_canonical, program, solution.state)


def priced(solution: Solution) -> Solution:
    """Return a solution whose multipliers are the gains from loosening, where these are found.

    If the time limit is reached, the prices found so far are kept, and the message reports it.
    """
    proves = isinstance(solution.method, HiGHS | Rational | Exact)
    if not (proves and solution.multipliers and solution.status is Status.OPTIMAL):
        return solution
    found, asked = dict[str, Price](), SecondQuestion(_SOUGHT)
    try:
        for name, price in one_sided_prices(solution):
            found[name] = price
    except TimeLimitError as error:
        asked.reason, asked.is_late = str(error), True
    solution = replace(solution, message=asked.added_to(solution.message))
    if not found:
        return solution
    prices = {name: found[name] for name in solution.multipliers if name in found}
    loosening = {name: price.loosening for name, price in prices.items()}
    multipliers = Named({**solution.multipliers, **loosening}, f"{solution.problem.name} has no constraint")
    return replace(solution, multipliers=multipliers, prices=Named(prices, "no price was found for"))


def priced_within(seconds: float, solution: Solution, answer: Answer) -> Solution:
    """Return :func:`priced` of an answer, or the answer with the reason for a failure; Ctrl-C ends only this search.

    Parameters
    ----------
    seconds : float
        The remaining time.
    solution : Solution
    answer : Answer
        The answer of the solve.
    """
    found = solution
    with suppress(KeyboardInterrupt):
        with answer.seeking_more(), second_question(_SOUGHT, "prices") as asked, time_limited(seconds):
            found = priced(solution)
        found = replace(found, message=asked.added_to(found.message))
    return found
