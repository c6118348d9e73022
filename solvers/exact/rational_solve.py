"""Rational programs solved exactly: HiGHS finds a basis, and rational arithmetic proves it or computes its error."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import flint
import highspy
import numpy as np
import scipy.sparse as sp

from ...models.problems import SaddleProblem
from ...models.programs.linear_program import LinearProgram
from ...models.programs.rational_program import RationalProgram
from ...models.saddle import Answer, read_solution
from ...seqform.arrays import Floats
from ...seqform.limits import counted_now
from ..outcome import Status
from .highs_models import run_solver
from .rational_linear_algebra import SingularMatrixError
from .rational_simplex import Ending, ExactSimplex, slack_basis
from .rational_vertex import Basis, ExactProgram, Point, to_float, to_fractions

#: The number of times the program is shifted and scaled to the remaining error of its solution.
ROUNDS = 6
#: The work limit of the exact simplex method if no proof is found: steps times rows.
EXACT_WORK = 100_000
#: The number of columns from which HiGHS runs interruptibly, which takes slightly longer.
_LARGE = 1_000
#: HiGHS's tolerance for feasibility and optimality.
TOLERANCE = 1e-9

# The zoom for exact numbers, and the largest zoom, beyond which floats cannot distinguish numbers.
_LEAST_ZOOM, _LARGEST_ZOOM = 2.0**10, 2.0**40

_LIMITS = {
    highspy.HighsModelStatus.kTimeLimit: Status.TIME_LIMIT,
    highspy.HighsModelStatus.kIterationLimit: Status.ITERATION_LIMIT,
    highspy.HighsModelStatus.kInterrupt: Status.INTERRUPTED,
}
_STOPPED = {
    **_LIMITS,
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: Status.UNBOUNDED,
    highspy.HighsModelStatus.kUnboundedOrInfeasible: Status.INFEASIBLE,
}


def refined(program: LinearProgram, seconds: float) -> tuple[Floats, Floats] | Status | None:
    """Return columns and row multipliers of a program in floats, solved in fractions; ``None`` if none are found.

    Return ``Status.INFEASIBLE`` if a proof shows that none exist.

    Parameters
    ----------
    program : LinearProgram
    seconds : float
        The time limit.
    """
    solver = Refinement(RationalProgram.of(program), counted_now() + seconds, 2**31 - 1)
    solver.run()
    if solver.stopped is Status.INFEASIBLE:
        return solver.stopped
    if solver.point is None:
        return None
    columns = np.array([to_float(number) for number in solver.point.columns])
    multipliers = np.array([to_float(number) for number in solver.point.multipliers])
    if not (np.isfinite(columns).all() and np.isfinite(multipliers).all()):
        return None
    return columns, -multipliers if program.maximise else multipliers


def optimum(program: RationalProgram, basis: Basis | None, seconds: float) -> Point | Status | None:
    """Return the optimum of a program in fractions, from a basis; ``None`` if none is proven within the time limit.

    Return ``Status.INFEASIBLE`` or ``Status.UNBOUNDED`` if a proof shows that none exists.
    """
    return optimal_basis(program, basis, seconds)[0]


def optimal_basis(
    program: RationalProgram, basis: Basis | None, seconds: float
) -> tuple[Point | Status | None, Basis | None]:
    """Return :func:`optimum` and its basis."""
    solver = Refinement(program, counted_now() + seconds, 2**31 - 1, basis)
    solver.run()
    if solver.stopped in (Status.INFEASIBLE, Status.UNBOUNDED):
        return solver.stopped, None
    return (solver.point if solver.point is not None and solver.point.optimal else None), solver.basis


def read_point(problem: SaddleProblem, program: RationalProgram, point: Point) -> Answer:
    """Return the plans and multipliers of an optimum of a problem's rational program, in fractions."""
    primal, dual = to_fractions(point.columns), to_fractions(point.multipliers, -1 if program.maximise else 1)
    return read_solution(
        problem.exact_canonical,
        {name: primal[part] for name, part in program.columns.items()},
        {name: dual[part] for name, part in program.rows.items()},
    )


class Refinement:
    """The solve of a rational program in rounds, each of which solves for the remaining error in floats, then exactly.

    Attributes
    ----------
    point : Point or None
        The best solution so far; optimal if it proves itself.
    basis : Basis or None
        The basis of the point; without a point, HiGHS's final basis or the starting basis.
    stopped : Status
    detail : str
    iterations : int
        The simplex iterations in all rounds.
    """

    def __init__(
        self, program: RationalProgram, deadline: float, max_iterations: int, basis: Basis | None = None
    ) -> None:
        self._exact = ExactProgram(program)
        self.point: Point | None = None
        self.stopped = Status.UNCERTIFIED
        self.detail = ""
        self.iterations = 0
        self.basis = basis
        self._deadline, self._max_iterations = deadline, max_iterations
        floats = program.to_floats()
        self._row_scales, self._column_scales = _scales(floats.matrix)
        rows, columns = sp.diags_array(self._row_scales), sp.diags_array(self._column_scales)
        self._matrix = sp.csc_array(rows @ floats.matrix @ columns)
        self._matrix.sort_indices()
        with np.errstate(over="ignore"):
            scaled = replace(floats, objective=floats.objective * self._column_scales)
        self._costs = min(scaled.objective_unit, 1e300)

    def run(self) -> None:
        """Solve until a point is optimal, or the time or iteration limit is reached."""
        zero = flint.fmpq(0)
        point = self._exact.point([zero] * len(self._exact.costs), [zero] * len(self._exact.row_lower))
        zooms = 1.0, 1.0 / _power_of_two(self._costs)
        tried: set[Basis] = set()
        for number in range(ROUNDS):
            found = self._solve(point, *zooms, self.basis)
            if self.stopped in _LIMITS.values():
                return
            if found is None:
                break
            basis, point = found
            if basis in tried:
                break
            tried.add(basis)
            with contextlib.suppress(SingularMatrixError):
                point = self._exact.vertex(basis)
            if self.point is not None and _error(point) >= _error(self.point):
                break
            self.point, self.basis = point, basis
            if point.optimal:
                self.stopped, self.detail = Status.OPTIMAL, f"proven in round {number + 1}"
                return
            if counted_now() > self._deadline:
                self.stopped, self.detail = Status.TIME_LIMIT, "the time limit was reached before a basis was proven"
                return
            zooms = _zoom(point.primal_error), _zoom(point.dual_error)
        self._finish()

    def _finish(self) -> None:
        """Continue in exact arithmetic from the best basis found."""
        told, detail = self.stopped, self.detail
        simplex = self._simplex()
        most = min(EXACT_WORK // (1 + len(simplex.basis.rows)), self._max_iterations - self.iterations)
        late = False

        def stop() -> bool:
            nonlocal late
            late = counted_now() > self._deadline
            return late or simplex.iterations >= most

        ending = simplex.run(stop)
        self.iterations += simplex.iterations
        self.detail = f"{ending.value}, proven in fractions after {simplex.iterations} exact steps"
        if ending is Ending.STOPPED:
            # HiGHS's status of the whole program is as reliable as in other methods. Its status of a program for the
            # remaining error is not.
            self.stopped = Status.TIME_LIMIT if late else Status.UNCERTIFIED if self.point is not None else told
            self.detail = f"{detail}; no proof was found in {simplex.iterations} exact steps"
            return
        self.stopped = {
            Ending.OPTIMAL: Status.OPTIMAL,
            Ending.INFEASIBLE: Status.INFEASIBLE,
            Ending.UNBOUNDED: Status.UNBOUNDED,
        }[ending]
        self.point = self._exact.vertex(simplex.basis) if ending is Ending.OPTIMAL else None
        self.basis = simplex.basis

    def _simplex(self) -> ExactSimplex:
        with contextlib.suppress(SingularMatrixError):
            if self.basis is not None:
                return ExactSimplex(self._exact, self.basis)
        return ExactSimplex(self._exact, slack_basis(self._exact))

    def _solve(self, point: Point, primal: float, dual: float, basis: Basis | None) -> tuple[Basis, Point] | None:
        """Solve, in floats, for the distance of a point from the optimum.

        Parameters
        ----------
        point : Point
        primal, dual : float
            The factors of distances to bounds, and of costs: powers of two.
        basis : Basis, optional
            The starting basis.

        Returns
        -------
        tuple of Basis and Point, or None
            HiGHS's final basis, and the point moved by its solution; ``None`` if there is none.
        """
        exact = self._exact
        rows, columns = self._row_scales, self._column_scales
        # Beyond the largest float HiGHS has no answer, and exact arithmetic continues alone.
        with np.errstate(over="ignore", invalid="ignore"):
            program = LinearProgram(
                objective=_scaled(point.reduced, columns) * dual,
                matrix=self._matrix,
                row_lower=_distances(exact.row_lower, point.activities, primal * rows, -np.inf),
                row_upper=_distances(exact.row_upper, point.activities, primal * rows, np.inf),
                column_lower=_distances(exact.column_lower, point.columns, primal / columns, -np.inf),
                column_upper=_distances(exact.column_upper, point.columns, primal / columns, np.inf),
                maximise=False,
            )
        solver = highspy.Highs()
        solver.silent()
        solver.setOptionValue("solver", "simplex")
        solver.setOptionValue("presolve", "off")  # it may end without a basis
        for kind in ("primal_feasibility", "dual_feasibility"):
            solver.setOptionValue(f"{kind}_tolerance", TOLERANCE)
        solver.setOptionValue("time_limit", max(0.0, self._deadline - counted_now()))
        solver.setOptionValue("simplex_iteration_limit", max(0, min(self._max_iterations - self.iterations, 2**31 - 1)))
        solver.passModel(program.to_highs())
        if basis is not None:
            solver.setBasis(_to_highs(basis))
        if run_solver(solver, interruptible=len(exact.costs) > _LARGE):
            raise KeyboardInterrupt
        self.iterations += max(0, int(solver.getInfo().simplex_iteration_count))
        status, solution, final = solver.getModelStatus(), solver.getSolution(), solver.getBasis()
        self.stopped = _STOPPED.get(status, Status.UNCERTIFIED)
        self.detail = f"HiGHS reports {solver.modelStatusToString(status).lower()}"
        if final.valid and self.basis is None:
            self.basis = _from_highs(final)
        valid = solution.value_valid and solution.dual_valid and final.valid
        if not valid or (status in _STOPPED and status not in _LIMITS):
            return None
        with np.errstate(over="ignore"):
            moves = np.array(solution.col_value) * self._column_scales / primal
            prices = np.array(solution.row_dual) * self._row_scales / dual
        if not (np.isfinite(moves).all() and np.isfinite(prices).all()):
            return None
        moved = self._exact.point(_moved(point.columns, moves), _moved(point.multipliers, prices))
        if status in _LIMITS:
            self.point = self.point or moved
            return None
        return _from_highs(final), moved


def _error(point: Point) -> flint.fmpq:
    return max(point.primal_error, point.dual_error)


def _scaled(numbers: Sequence[flint.fmpq], scales: Floats) -> Floats:
    """Return numbers in floats, scaled."""
    return np.array([to_float(number) for number in numbers]) * scales


def _distances(bounds: Sequence[Any], places: Sequence[flint.fmpq], scales: Floats, infinite: float) -> Floats:
    """Return the scaled distances of bounds from columns or rows."""
    return np.array(
        [
            infinite if bound is None else to_float(bound - place) * scale
            for bound, place, scale in zip(bounds, places, scales.tolist(), strict=True)
        ]
    )


def _moved(numbers: Sequence[flint.fmpq], steps: Floats) -> list[flint.fmpq]:
    return [
        number if not step else number + flint.fmpq(*step.as_integer_ratio())
        for number, step in zip(numbers, steps.tolist(), strict=True)
    ]


def _zoom(error: flint.fmpq) -> float:
    """Return the power of two that makes an error about one."""
    return _power_of_two(min(1.0 / to_float(error), _LARGEST_ZOOM)) if to_float(error) else _LEAST_ZOOM


def _power_of_two(number: float) -> float:
    return 2.0 ** round(math.log2(number))


def _scales(matrix: sp.csc_array) -> tuple[Floats, Floats]:
    """Return powers of two for rows and columns that scale the largest entry of each column, then row, to about one.

    No scaled entry is larger than HiGHS accepts, for any payoffs.
    """
    entries = matrix.tocoo()
    entries.eliminate_zeros()  # fractions below the least float
    logs = [np.zeros(matrix.shape[0]), np.zeros(matrix.shape[1])]
    for axis in (0, 1):
        own, other = entries.coords[axis], entries.coords[1 - axis]
        most = np.full(len(logs[axis]), -np.inf)
        np.maximum.at(most, own, np.log2(np.abs(entries.data)) + logs[1 - axis][other])
        logs[axis] = np.where(np.isfinite(most), np.clip(-np.round(most), -1000.0, 1000.0), 0.0)
    return np.exp2(logs[0]), np.exp2(logs[1])


def _to_highs(basis: Basis) -> highspy.HighsBasis:
    given = highspy.HighsBasis()
    given.col_status = [highspy.HighsBasisStatus(status) for status in basis.columns]
    given.row_status = [highspy.HighsBasisStatus(status) for status in basis.rows]
    given.valid = True
    return given


def _from_highs(basis: highspy.HighsBasis) -> Basis:
    return Basis(tuple(map(int, basis.col_status)), tuple(map(int, basis.row_status)))
