"""The simplex method in exact numbers, for the last steps that floats cannot distinguish."""

from collections.abc import Callable
from enum import Enum

import flint

from .rational_vertex import BASIC, LOWER, UPPER, ZERO, Basis, ExactProgram, Vector


class Ending(Enum):
    """The status of the simplex method."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    STOPPED = "stopped"


class ExactSimplex:
    """The simplex method on a program's columns and rows; rows are variables M z with bounds.

    Parameters
    ----------
    program : ExactProgram
    basis : Basis
        The starting basis; its columns are linearly independent.

    Attributes
    ----------
    iterations : int

    Raises
    ------
    SingularMatrixError
        If the basis is singular.

    Notes
    -----
    Bounds that the first basis violates are moved to the current values of its columns and rows. The primal simplex
    method makes the basis optimal, the bounds are moved back, and the dual simplex method makes it feasible. Steps are
    chosen by the largest error and, after steps that did not change the objective, by the rule of R. G. Bland, "New
    finite pivoting rules for the simplex method", Mathematics of Operations Research 2, 1977, so that both methods
    terminate. Every step solves its systems again.
    """

    def __init__(self, program: ExactProgram, basis: Basis) -> None:
        self._program = program
        self._count = len(program.costs)
        self._costs = program.costs
        self._lower = [*program.column_lower, *program.row_lower]
        self._upper = [*program.column_upper, *program.row_upper]
        self.iterations = 0
        self._statuses = [*basis.columns, *basis.rows]
        self._solve()

    @property
    def basis(self) -> Basis:
        """The current basis."""
        return Basis(tuple(self._statuses[: self._count]), tuple(self._statuses[self._count :]))

    def run(self, stop: Callable[[], bool]) -> Ending:
        """Run the method until it ends or is stopped.

        Parameters
        ----------
        stop : callable
            Called before every iteration; a true result stops the run.
        """
        lower, upper = self._lower, self._upper
        self._lower, self._upper = list(lower), list(upper)
        for variable, place in enumerate(self._places):
            least, most = lower[variable], upper[variable]
            if least is not None and place < least:
                self._lower[variable] = place
            if most is not None and place > most:
                self._upper[variable] = place
        ending = self._primal(stop)
        self._lower, self._upper = lower, upper
        if ending is Ending.STOPPED:
            return ending
        if ending is Ending.OPTIMAL:
            self._solve()
            return self._dual(stop)
        # A ray along which the objective falls forever starts from any feasible point, if there is one. Without costs
        # every basis is dual feasible, so the dual simplex method finds a point or proves that there is none.
        self._costs = [flint.fmpq(0)] * self._count
        self._solve()
        ending = self._dual(stop)
        return Ending.UNBOUNDED if ending is Ending.OPTIMAL else ending

    def _solve(self) -> None:
        """Compute the values of all columns and rows, and their prices: the gain in the objective per unit."""
        program = self._program
        self._statuses = [_status(*entry) for entry in zip(self._statuses, self._lower, self._upper, strict=True)]
        self._system = program.system(self.basis)
        bounds = zip(self._statuses, self._lower, self._upper, strict=True)
        columns = self._system.columns([_place(*entry) for entry in bounds])
        multipliers = self._system.multipliers(self._costs)
        self._places = [*columns, *program.times(columns)]
        self._prices = [*program.reduced(self._costs, multipliers), *multipliers]

    def _pivot(self, entering: int, leaving: int, status: int) -> None:
        self._statuses[entering] = BASIC
        self._statuses[leaving] = status
        self._solve()
        self.iterations += 1

    def _movable(self) -> list[tuple[int, int]]:
        """Return nonbasic columns and rows that may move, with their directions: 1 up, -1 down, 0 either."""
        directions = {LOWER: 1, UPPER: -1, ZERO: 0}
        return [
            (variable, directions[status])
            for variable, status in enumerate(self._statuses)
            if status != BASIC and (self._lower[variable] is None or self._lower[variable] != self._upper[variable])
        ]

    def _primal(self, stop: Callable[[], bool]) -> Ending:
        careful = False
        while not stop():
            wrong = []
            for variable, direction in self._movable():
                price = self._prices[variable]
                if (price < 0 and direction >= 0) or (price > 0 and direction <= 0):
                    wrong.append((abs(price), variable))
            if not wrong:
                return Ending.OPTIMAL
            entering = min(variable for _, variable in wrong) if careful else max(wrong)[1]
            sign = 1 if self._prices[entering] < 0 else -1
            changes = self._changes(entering, sign)
            steps = []
            for variable, change in enumerate(changes):
                bound = self._upper[variable] if change > 0 else self._lower[variable]
                if change and bound is not None and self._statuses[variable] == BASIC:
                    steps.append(((bound - self._places[variable]) / change, variable))
            least, most = self._lower[entering], self._upper[entering]
            if least is not None and most is not None:
                steps.append((most - least, entering))
            if not steps:
                return Ending.UNBOUNDED
            step, leaving = min(steps)
            careful = not step
            if leaving == entering:
                self._statuses[entering] = UPPER if sign > 0 else LOWER
                self._solve()
                self.iterations += 1
            else:
                self._pivot(entering, leaving, UPPER if changes[leaving] > 0 else LOWER)
        return Ending.STOPPED

    def _changes(self, entering: int, sign: int) -> Vector:
        """Return the change of all columns and rows if one nonbasic variable moves by one and the others stay."""
        places = [flint.fmpq(0)] * len(self._statuses)
        places[entering] = flint.fmpq(sign)
        columns = self._system.columns(places)
        return [*columns, *self._program.times(columns)]

    def _dual(self, stop: Callable[[], bool]) -> Ending:
        careful = False
        while not stop():
            wrong = []
            for variable, place in enumerate(self._places):
                least, most = self._lower[variable], self._upper[variable]
                if least is not None and place < least:
                    wrong.append((least - place, variable))
                elif most is not None and place > most:
                    wrong.append((place - most, variable))
            if not wrong:
                return Ending.OPTIMAL
            leaving = min(variable for _, variable in wrong) if careful else max(wrong)[1]
            least = self._lower[leaving]
            rises = least is not None and self._places[leaving] < least
            effects = self._effects(leaving)
            ratios = []
            for variable, direction in self._movable():
                effect = effects[variable] if rises else -effects[variable]
                if (effect > 0 and direction >= 0) or (effect < 0 and direction <= 0):
                    ratios.append((abs(self._prices[variable] / effect), variable))
            if not ratios:
                return Ending.INFEASIBLE
            ratio, entering = min(ratios)
            careful = not ratio
            self._pivot(entering, leaving, LOWER if rises else UPPER)
        return Ending.STOPPED

    def _effects(self, leaving: int) -> Vector:
        """Return the change of a basic variable per unit of each nonbasic one."""
        costs = [flint.fmpq(0)] * self._count
        if leaving < self._count:
            costs[leaving] = flint.fmpq(1)
        else:
            for row, column, value in self._program.entries:
                if row == leaving - self._count:
                    costs[column] = value
        multipliers = self._system.multipliers(costs)
        return [*self._program.reduced(costs, multipliers), *multipliers]


def slack_basis(program: ExactProgram) -> Basis:
    """Return the basis of all rows, which is always valid."""
    return Basis((LOWER,) * len(program.costs), (BASIC,) * len(program.row_lower))


def _status(status: int, lower: flint.fmpq | None, upper: flint.fmpq | None) -> int:
    """Return a status; if it is at a missing bound, return that at an existing bound instead."""
    if status == BASIC or (status == UPPER and upper is not None) or (status == LOWER and lower is not None):
        return status
    return LOWER if lower is not None else UPPER if upper is not None else ZERO


def _place(status: int, lower: flint.fmpq | None, upper: flint.fmpq | None) -> flint.fmpq:
    bound = {LOWER: lower, UPPER: upper}.get(status)
    return flint.fmpq(0) if bound is None else bound
