"""Linear programs in exact numbers: the vertex of a basis, and whether it is optimal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import highspy
import numpy as np
import numpy.typing as npt

from ...models.programs.rational_program import RationalProgram
from ...seqform.rationals import Fractions
from .rational_linear_algebra import SingularMatrixError, SparseSystem

# HiGHS's status numbers.
LOWER, BASIC, UPPER, ZERO = (
    int(status)
    for status in (
        highspy.HighsBasisStatus.kLower,
        highspy.HighsBasisStatus.kBasic,
        highspy.HighsBasisStatus.kUpper,
        highspy.HighsBasisStatus.kZero,
    )
)

Vector = list[flint.fmpq]


@dataclass(frozen=True)
class Basis:
    """The status of each column and row, basic or at a bound, in HiGHS's numbers."""

    columns: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Point:
    """Exact columns z and row multipliers y, with derived quantities.

    Attributes
    ----------
    columns, activities : list of flint.fmpq
        z and M z.
    multipliers, reduced : list of flint.fmpq
        y, and c − Mᵀ y, of the program that minimises.
    primal_error, dual_error : flint.fmpq
        The largest violation of a bound by z and M z; and the largest multiplier or reduced cost with a wrong sign,
        or of a bound that is not met with equality. Both are zero if and only if z and y are optimal.
    """

    columns: Vector
    activities: Vector
    multipliers: Vector
    reduced: Vector
    primal_error: flint.fmpq
    dual_error: flint.fmpq

    @property
    def optimal(self) -> bool:
        """Whether z and y prove each other optimal."""
        return not self.primal_error and not self.dual_error


class ExactProgram:
    """A rational program in FLINT's numbers, converted to minimisation.

    Parameters
    ----------
    program : RationalProgram
    """

    def __init__(self, program: RationalProgram) -> None:
        self.program = program
        sign = -1 if program.maximise else 1
        self.costs: Vector = [to_flint(cost * sign) for cost in program.objective]
        bounds = (program.column_lower, program.column_upper, program.row_lower, program.row_upper)
        self.column_lower, self.column_upper, self.row_lower, self.row_upper = map(_bounds, bounds)
        matrix = program.matrix
        values = map(to_flint, matrix.values)
        self.entries = list(zip(matrix.rows.tolist(), matrix.columns.tolist(), values, strict=True))

    def point(self, columns: Vector, multipliers: Vector) -> Point:
        """Return the point for columns and row multipliers."""
        activities, reduced = self.times(columns), self.reduced(self.costs, multipliers)
        primal, dual = flint.fmpq(0), flint.fmpq(0)
        for lower, upper, place, price in (
            *zip(self.column_lower, self.column_upper, columns, reduced, strict=True),
            *zip(self.row_lower, self.row_upper, activities, multipliers, strict=True),
        ):
            if lower is not None and place < lower:
                primal = max(primal, lower - place)
            if upper is not None and place > upper:
                primal = max(primal, place - upper)
            # A price needs a binding bound.
            if price > 0 and (lower is None or place > lower):
                dual = max(dual, price)
            if price < 0 and (upper is None or place < upper):
                dual = max(dual, -price)
        return Point(columns, activities, multipliers, reduced, primal, dual)

    def times(self, columns: Vector) -> Vector:
        """Return M z."""
        activities: Vector = [flint.fmpq(0)] * len(self.row_lower)
        for row, column, value in self.entries:
            if columns[column]:
                activities[row] += value * columns[column]
        return activities

    def reduced(self, costs: Vector, multipliers: Vector) -> Vector:
        """Return c − Mᵀ y."""
        reduced = list(costs)
        for row, column, value in self.entries:
            if multipliers[row]:
                reduced[column] -= value * multipliers[row]
        return reduced

    def system(self, basis: Basis) -> "BasicSystem":
        """Return the equations of a basis."""
        return BasicSystem(self, basis)

    def vertex(self, basis: Basis) -> Point:
        """Return the point of a basis: nonbasic variables are at their bounds, or at zero without bounds.

        Raises
        ------
        SingularMatrixError
            If the columns of the basis are linearly dependent.
        """
        places = [
            place_of(*entry)
            for entry in (
                *zip(basis.columns, self.column_lower, self.column_upper, strict=True),
                *zip(basis.rows, self.row_lower, self.row_upper, strict=True),
            )
        ]
        system = self.system(basis)
        return self.point(system.columns(places), system.multipliers())


class BasicSystem:
    """The equations of a basis: K, the nonbasic rows by the basic columns.

    A row with a basic slack does not restrict z, and its multiplier is zero. So the system is only as large as the
    number of basic columns.

    Parameters
    ----------
    program : ExactProgram
    basis : Basis

    Raises
    ------
    SingularMatrixError
        If its columns are linearly dependent; raised here or when a system is solved.
    """

    def __init__(self, program: ExactProgram, basis: Basis) -> None:
        self._program = program
        self.unknowns = [column for column, status in enumerate(basis.columns) if status == BASIC]
        self.equations = [row for row, status in enumerate(basis.rows) if status != BASIC]
        if len(self.unknowns) != len(self.equations):
            raise SingularMatrixError(f"{len(self.unknowns)} basic columns for {len(self.equations)} rows")
        of_column = {column: number for number, column in enumerate(self.unknowns)}
        of_row = {row: number for number, row in enumerate(self.equations)}
        entries = [
            (of_row[row], of_column[column], value)
            for row, column, value in program.entries
            if row in of_row and column in of_column
        ]
        # Rows are scaled to integers: the system is diag(scales) K.
        self._scales = [flint.fmpz(1)] * len(self.equations)
        for equation, _, value in entries:
            self._scales[equation] = self._scales[equation].lcm(value.q)
        system = SparseSystem(
            len(self.unknowns),
            np.array([entry[0] for entry in entries], dtype=np.int64),
            np.array([entry[1] for entry in entries], dtype=np.int64),
            [(value * self._scales[equation]).p for equation, _, value in entries],
        )
        self.solve, self.solve_transposed = system.solve, system.solve_transposed

    def columns(self, places: Vector) -> Vector:
        """Return all columns z, given the values of nonbasic columns, followed by those of nonbasic rows."""
        count = len(self._program.costs)
        columns, right = list(places[:count]), list(places[count:])
        for column in self.unknowns:
            columns[column] = flint.fmpq(0)
        for row, column, value in self._program.entries:
            if columns[column]:
                right[row] -= value * columns[column]
        scaled = [right[row] * scale for row, scale in zip(self.equations, self._scales, strict=True)]
        for column, place in zip(self.unknowns, self.solve(scaled), strict=True):
            columns[column] = place
        return columns

    def multipliers(self, costs: Vector | None = None) -> Vector:
        """Return all row multipliers y with Kᵀ y = c for the basic columns; c is the program's if none is given."""
        costs = self._program.costs if costs is None else costs
        prices = self.solve_transposed([costs[column] for column in self.unknowns])
        multipliers: Vector = [flint.fmpq(0)] * len(self._program.row_lower)
        for row, price, scale in zip(self.equations, prices, self._scales, strict=True):
            multipliers[row] = price * scale
        return multipliers


def to_flint(number: Any) -> flint.fmpq:
    """Return a fraction in FLINT's numbers."""
    return flint.fmpq(number.numerator, number.denominator)


def to_float(number: flint.fmpq) -> float:
    """Return the nearest float; infinity beyond the largest."""
    try:
        return int(number.p) / int(number.q)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def to_fractions(numbers: Sequence[flint.fmpq], sign: int = 1) -> Fractions:
    """Return FLINT's numbers, all multiplied by a sign, as an array of fractions."""
    result = np.empty(len(numbers), dtype=object)
    for place, number in enumerate(numbers):
        result[place] = Fraction(sign * int(number.p), int(number.q))
    return result


def _bounds(numbers: npt.NDArray[Any]) -> list[flint.fmpq | None]:
    return [None if isinstance(number, float) else to_flint(number) for number in numbers]


def place_of(status: int, lower: flint.fmpq | None, upper: flint.fmpq | None) -> flint.fmpq:
    """Return the value of a nonbasic column or row; zero for basic ones."""
    if status == BASIC:
        return flint.fmpq(0)
    first, second = (upper, lower) if status == UPPER else (lower, upper)
    if first is not None:
        return first
    return second if second is not None else flint.fmpq(0)
