"""Linear programs whose costs and bounds are polynomials in a small ε > 0, solved exactly for all small enough ε."""

from collections.abc import Sequence
from functools import total_ordering
from typing import Any

import flint

from ...models.programs.rational_program import RationalProgram
from ...seqform.rationals import Fractions
from .rational_vertex import BasicSystem, Basis, ExactProgram, place_of, to_flint, to_fractions

Number = Any  # a flint.fmpq, or a Series


@total_ordering
class Series:
    """A polynomial in ε, ordered by its sign for all small enough ε > 0: by its first coefficient that is not zero.

    Parameters
    ----------
    terms : sequence of flint.fmpq
        The coefficients of 1, ε, ε², …; all series of a program have the same number of them.

    Examples
    --------
    >>> import flint
    >>> from treeplex.solvers.exact.series import Series
    >>> small = Series([flint.fmpq(0), flint.fmpq(1)])
    >>> 0 < small < flint.fmpq(1, 1000), abs(-small) == small
    (True, True)
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Sequence[flint.fmpq]) -> None:
        self.terms = tuple(terms)

    def _of(self, other: Number) -> tuple[flint.fmpq, ...]:
        """Return the coefficients of another series, or of a number."""
        if isinstance(other, Series):
            return other.terms
        return (other, *[flint.fmpq(0)] * (len(self.terms) - 1))

    def __add__(self, other: Number) -> "Series":
        return Series([one + two for one, two in zip(self.terms, self._of(other), strict=True)])

    __radd__ = __add__

    def __neg__(self) -> "Series":
        return Series([-term for term in self.terms])

    def __sub__(self, other: Number) -> "Series":
        return Series([one - two for one, two in zip(self.terms, self._of(other), strict=True)])

    def __rsub__(self, other: Number) -> "Series":
        return (-self).__add__(other)

    def __mul__(self, factor: Any) -> "Series":
        return Series([term * factor for term in self.terms])

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> "Series":
        return Series([term / divisor for term in self.terms])

    def __abs__(self) -> "Series":
        return -self if self < 0 else self

    def __bool__(self) -> bool:
        return any(self.terms)

    def __eq__(self, other: object) -> bool:
        return self.terms == self._of(other)

    def __lt__(self, other: Number) -> bool:
        return self.terms < self._of(other)

    __hash__ = None  # type: ignore[assignment]


class PerturbedProgram(ExactProgram):
    """A rational program whose costs and lower bounds of columns are polynomials in ε; its matrix is constant.

    Parameters
    ----------
    program : RationalProgram
        The program for ε = 0.
    costs, lower : sequence of ndarray of Fraction, shape (columns,)
        The coefficients of ε, ε², … of the objective and of the columns' lower bounds.
    """

    def __init__(self, program: RationalProgram, costs: Sequence[Fractions], lower: Sequence[Fractions]) -> None:
        super().__init__(program)
        self._number = 1 + len(costs)
        sign = -1 if program.maximise else 1
        self.costs = self._series(self.costs, [one * sign for one in costs])
        self.column_lower = self._series(self.column_lower, lower)
        self.column_upper, self.row_lower, self.row_upper = (
            self._series(one, []) for one in (self.column_upper, self.row_lower, self.row_upper)
        )

    def _series(self, first: Sequence[flint.fmpq | None], rest: Sequence[Fractions]) -> list[Any]:
        """Return numbers with the given coefficients; a missing bound stays ``None``."""
        missing = [flint.fmpq(0)] * (self._number - 1 - len(rest))
        return [
            None if number is None else Series([number, *(to_flint(one[place]) for one in rest), *missing])
            for place, number in enumerate(first)
        ]

    def series(self, basis: Basis) -> tuple[list[Fractions], list[Fractions]]:
        """Return the columns and the row multipliers of a basis: one array per power of ε."""
        lower, upper = [*self.column_lower, *self.row_lower], [*self.column_upper, *self.row_upper]
        statuses = [*basis.columns, *basis.rows]
        places = [place_of(*entry) for entry in zip(statuses, lower, upper, strict=True)]
        system = self.system(basis)
        found = system.columns(places), system.multipliers(self.costs)
        terms = [list(zip(*map(self._terms, numbers), strict=True)) for numbers in found]
        return [to_fractions(one) for one in terms[0]], [to_fractions(one) for one in terms[1]]

    def system(self, basis: Basis) -> BasicSystem:
        """Return the equations of a basis, which solve for each power of ε apart."""
        system = super().system(basis)
        system.solve, system.solve_transposed = self._apart(system.solve), self._apart(system.solve_transposed)
        return system

    def _apart(self, solve: Any) -> Any:
        def solved(right: Sequence[Number]) -> list[Number]:
            if not any(isinstance(number, Series) for number in right):
                found: list[Number] = solve(right)
                return found
            powers = [Series(self._terms(number)).terms for number in right]
            parts = [solve([terms[power] for terms in powers]) for power in range(self._number)]
            return [Series(terms) for terms in zip(*parts, strict=True)]

        return solved

    def _terms(self, number: Number) -> tuple[flint.fmpq, ...]:
        """Return the coefficients of a series, or of a number."""
        if isinstance(number, Series):
            return number.terms
        return (number, *[flint.fmpq(0)] * (self._number - 1))
