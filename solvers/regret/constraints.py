"""Constraints in the form of the compiled loop, and their multipliers.

Each row belongs to one player. The row of a nonlinear constraint is a tangent of its function. The loop computes the
tangents of terms that it knows, and asks Python for the others.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...models.constraints import Constraint
from ...models.convex import MAXIMUM, OPAQUE, SQUARES, Opaque, Term
from ...models.saddle import Saddle
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.polytope import Treeplex, best_response_plan
from ..methods.rules import DualRule
from .arrays import ConstraintArrays, CurveArrays, DualNumbers, LimitArrays, MultiplierArrays
from .layout import KernelLayout
from .placement import starts_of, unsigned

Floats = NDArray[np.float64]

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)


@dataclass(frozen=True, eq=False)
class Row:
    """A constraint, and the unit by which its row is divided.

    Attributes
    ----------
    constraint : Constraint
    unit : float
    plans : tuple of ndarray
        The plan of uniform play, and a plan that favours first actions.
    """

    constraint: Constraint
    unit: float
    plans: tuple[Floats, Floats]

    @classmethod
    def of(cls, constraint: Constraint, treeplex: Treeplex) -> Row:
        """Return a constraint's row, with its own unit.

        Raises
        ------
        UnsupportedProblemError
            If cvxpy has no gradient of the function.
        """
        function, uniform = constraint.function, treeplex.uniform_plan()
        if function.is_affine:
            return cls(constraint, float(np.abs(function.coefficients).max(initial=0.0)) or 1.0, (uniform, uniform))
        behaviour = treeplex.uniform_behaviour()
        behaviour[treeplex.offsets[:-1]] *= 2.0
        uneven = treeplex.plan(treeplex.behaviour(treeplex.plan(behaviour)))
        if not np.isfinite(function.minorant(uniform)[1]):
            raise UnsupportedProblemError(
                f"constraint {shown(constraint.name)} has no gradient in cvxpy: use method cvxpy"
            )
        return cls(constraint, _unit(constraint, treeplex, (uniform, uneven)), (uniform, uneven))

    @property
    def is_curved(self) -> bool:
        """Whether the row is a tangent."""
        return not self.constraint.function.is_affine

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the function."""
        return self.constraint.function.terms

    @functools.cached_property
    def support(self) -> NDArray[np.int64]:
        """The sequences on which the function depends, ascending."""
        parts = [self.constraint.function.indices, *(term.matrix.indices for term in self.terms)]
        return np.unique(np.concatenate(parts)).astype(np.int64) if self.is_curved else parts[0].astype(np.int64)

    @property
    def coefficients(self) -> Floats:
        """The linear part of the function on its support, divided by the unit."""
        function = self.constraint.function
        coefficients = np.zeros(len(self.support))
        coefficients[np.searchsorted(self.support, function.indices)] = function.coefficients
        return coefficients / self.unit

    @property
    def scales(self) -> list[float]:
        """The factor of each term's arguments that has the effect of dividing the function by the unit."""
        # Python divides its own results, and all other terms are positively homogeneous.
        by_code = {SQUARES: self.unit**-0.5, OPAQUE: 1.0}
        return [by_code.get(term.code, 1.0 / self.unit) for term in self.terms]

    @property
    def rates(self) -> Floats:
        """The inverse of the largest coefficient of each term, after division by the unit."""
        largest = [np.abs(term.matrix.data).max(initial=0.0) or 1.0 for term in self.terms]
        return self.unit / np.array(largest)

    def certificate(self, averages: Floats) -> Floats:
        """Return slopes of the function from the averages of the compiled loop's sums."""
        ends = np.cumsum([0, *(len(term.shifts) for term in self.terms)]).tolist()
        parts = zip(self.terms, pairwise(ends), strict=True)
        factors = {SQUARES: self.unit**0.5}
        return np.concatenate(
            [term.from_loop(averages[first:last] * factors.get(term.code, 1.0)) for term, (first, last) in parts]
        )

    def respond(self, term: Term, arguments: Floats, exactly: bool) -> tuple[Floats, float]:
        """Return slopes and offset of a term that the loop does not know; with ``exactly``, the offset is its value."""
        if not isinstance(term, Opaque):
            slopes = term.slopes(arguments)
            return slopes, float(slopes @ arguments) if exactly else 0.0
        tangent = None if exactly else term.minorant(term.slopes_at(arguments))
        # Without a gradient the row only gives the violation of the constraint.
        slope, constant = (np.zeros(len(arguments)), term.value(arguments)) if tangent is None else tangent
        return slope / self.unit, constant / self.unit

    @property
    def identity(self) -> tuple[Any, ...]:
        """A key that is equal for equal constraints; it contains values and slopes of cvxpy functions at two plans."""
        one, function = self.constraint, self.constraint.function
        affine = function.indices.tobytes(), function.coefficients.tobytes(), float(function.constant)
        if not self.is_curved:
            return one.name, one.player, *affine
        plans = self.plans[0], self.plans[0] * np.linspace(0.5, 1.0, len(self.plans[0]))
        return one.name, one.player, self.unit, *affine, *(term.identity(plans) for term in self.terms)


def _unit(constraint: Constraint, treeplex: Treeplex, plans: tuple[Floats, Floats]) -> float:
    """Return the size of a constraint's function: the geometric mean of its slopes' size and its values' spread.

    In measurements, steps that suit functions of single sequences then also suit those of all sequences.
    """
    function, (uniform, uneven) = constraint.function, plans
    slope, _ = function.minorant(uneven)
    is_known = all(term.code < OPAQUE for term in function.terms)
    size = function.steepness(uniform) if is_known else float(np.abs(slope[1:]).max(initial=0.0))
    values = [constraint.value(plan) for plan in (uniform, uneven, best_response_plan(treeplex, slope).plan)]
    values = [value for value in values if np.isfinite(value)]
    spread = float(np.ptp(values)) if len(values) > 1 else 0.0
    return float(np.sqrt((spread or 1.0) * (size or 1.0)))


@dataclass(eq=False)
class Curves:
    """The convex rows of a problem, and Python's answers to the compiled loop.

    Attributes
    ----------
    rows : list of Row
    arrays : CurveArrays
    """

    rows: list[Row]
    arrays: CurveArrays
    error: BaseException | None = None
    _callback: Any = field(init=False, repr=False)
    _asked: list[tuple[Row, Term]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._asked = [(row, term) for row in self.rows for term in row.terms]
        self._callback = _CALLBACK(self._respond)
        if (self.arrays.kinds >= OPAQUE).any():
            self.arrays.calls[0] = ctypes.cast(self._callback, ctypes.c_void_p).value

    @classmethod
    def of(cls, rows: list[Row], constraints: ConstraintArrays) -> Curves:
        """Lay out convex rows.

        Parameters
        ----------
        rows : list of Row
            All rows, including those that are not curved.
        constraints : ConstraintArrays
            The same rows; for curved ones, the linear part of the function.
        """
        curved = np.array([row.is_curved for row in rows], dtype=np.bool_)
        places = np.flatnonzero(curved)
        chosen = [rows[place] for place in places]
        owners = [(row, start) for row, start in zip(rows, constraints.starts, strict=False) for _ in row.terms]
        terms = [term for row in chosen for term in row.terms]
        scales = [scale for row in chosen for scale in row.scales]
        columns = [
            int(start) + np.searchsorted(row.support, term.matrix.indices)
            for (row, start), term in zip(owners, terms, strict=True)
        ]
        anchors = [term.arguments(row.plans[0]) for (row, _), term in zip(owners, terms, strict=True)]
        shifts = _scaled([term.shifts for term in terms], scales)
        return cls(
            chosen,
            CurveArrays(
                ranges=unsigned(np.searchsorted(places, constraints.ranges)),
                rows=unsigned(places),
                curved=curved,
                starts=unsigned(starts_of(np.array([len(row.terms) for row in chosen], dtype=np.int64))),
                kinds=np.array([term.code for term in terms], dtype=np.int64),
                rates=_joined([row.rates for row in chosen]),
                places=unsigned(starts_of(np.array([len(term.shifts) for term in terms], dtype=np.int64))),
                entry_starts=unsigned(starts_of(_joined([np.diff(term.matrix.indptr) for term in terms], np.int64))),
                entries=unsigned(_joined(columns, np.int64)),
                weights=_scaled([term.matrix.data for term in terms], scales),
                shifts=shifts,
                anchors=_scaled(anchors, scales),
                linear=constraints.coefficients.copy(),
                limits=constraints.limits.copy(),
                arguments=np.zeros(len(shifts)),
                slopes=np.zeros(len(shifts)),
                offsets=np.zeros(len(terms)),
                proven_coefficients=constraints.coefficients.copy(),
                proven_limits=constraints.limits.copy(),
                values=np.zeros(len(rows)),
                calls=np.zeros(2, dtype=np.int64),
            ),
        )

    def evidence(self, multipliers: MultiplierArrays) -> dict[str, Floats]:
        """Return, by constraint, the slopes of convex constraints for the certificate, averaged like multipliers."""
        starts = self.arrays.places[self.arrays.starts].tolist()
        sums = multipliers.sums[self.arrays.rows]
        return {
            row.constraint.name: row.certificate(multipliers.slopes[first:last] / total)
            for row, total, (first, last) in zip(self.rows, sums.tolist(), pairwise(starts), strict=True)
            if total > 0.0
        }

    def initial_choices(self) -> Floats:
        """Return initial slopes: zero for norms, equal slopes for maxima."""
        sizes = np.diff(self.arrays.places.astype(np.int64))
        return np.repeat(np.where(self.arrays.kinds == MAXIMUM, 1.0 / np.maximum(sizes, 1), 0.0), sizes)

    def raise_error(self) -> None:
        """Raise the exception that occurred in Python while the compiled loop ran."""
        error, self.error = self.error, None
        self.arrays.calls[1] = 0
        if error is not None:
            raise error

    def _respond(self, term: int, exactly: int) -> None:
        """Answer the compiled loop; make it stop if that fails, because no exception passes through it."""
        try:
            self._answer(term, exactly)
        except BaseException as error:
            self.error = error
            self.arrays.calls[1] = 1
            if isinstance(error, KeyboardInterrupt):
                # The loop finishes the iteration before it stops, so that the state is consistent.
                try:
                    self._answer(term, exactly)
                except BaseException as second:
                    self.error = second

    def _answer(self, number: int, exactly: int) -> None:
        (row, term), arrays = self._asked[number], self.arrays
        place = slice(*arrays.places[number : number + 2].tolist())
        slopes, arrays.offsets[number] = row.respond(term, arrays.arguments[place].copy(), bool(exactly))
        if not exactly:
            arrays.slopes[place] = slopes


@dataclass(frozen=True, eq=False)
class KernelConstraints:
    """The constraints of a problem as rows grouped by player, each divided by its largest coefficient.

    The row of a nonlinear constraint is a tangent of its function, divided by the size of its slopes. If the largest
    violation is paid for, all rows are divided by the largest of these numbers.

    Attributes
    ----------
    arrays : ConstraintArrays
    order : tuple of str
        The constraints' names, in the order of the rows.
    units : ndarray of float64, shape (k,)
        The numbers by which rows were divided.
    unit : float
        The unit of payoffs.
    total : float
        The bound on the sum of a player's multipliers, in the unit; infinite if there is none.
    soft : bool
        Whether violations are paid for.
    curves : Curves
        The functions of the tangents.
    dual : DualRule
        The update rule of the multipliers.
    identity : tuple
        A key that is equal for equal constraints and penalties in any layout: one run can then continue another.
    """

    arrays: ConstraintArrays
    order: tuple[str, ...]
    units: Floats
    unit: float
    total: float
    soft: bool
    curves: Curves
    dual: DualRule = DualRule()  # noqa: RUF009
    identity: tuple[Any, ...] = ()

    @classmethod
    def of(cls, saddle: Saddle, layout: KernelLayout, weight: float = 1.0) -> KernelConstraints:
        """Return the rows of a saddle program, player 0's first, in a layout.

        Parameters
        ----------
        saddle : Saddle
            In floats. If the rows of both players are soft, both have the same price.
        layout : KernelLayout
        weight : float
            The weight of a violation relative to a payoff if both are compared with one tolerance.

        Raises
        ------
        UnsupportedProblemError
            If cvxpy has no gradient for a constraint.
        """
        given = saddle.constraints
        priced = saddle.own or saddle.other_rows
        penalty, treeplexes = priced.penalty, saddle.view.game.sequence_form.treeplexes
        rows = [Row.of(one, treeplexes[one.player]) for one in given]
        caps, total = np.full(len(rows), np.inf), math.inf
        if penalty is not None and priced.shared:  # multipliers are summed: all rows have one unit
            common = max((row.unit for row in rows), default=1.0)
            rows, total = [replace(row, unit=common) for row in rows], penalty * common / layout.unit
        elif penalty is not None:
            with np.errstate(over="ignore"):  # a number beyond the largest float means no bound
                caps = penalty * np.array([row.unit for row in rows]) / layout.unit
        return cls._laid_out(
            rows,
            layout.positions,
            weight,
            layout.unit,
            caps,
            total=total,
            soft=penalty is not None,
            identity=(penalty, priced.shared, *(row.identity for row in rows)),
        )

    @classmethod
    def _laid_out(
        cls,
        rows: list[Row],
        positions: Sequence[NDArray[np.int64]],
        weight: float,
        unit: float,
        caps: Floats,
        **others: Any,
    ) -> KernelConstraints:
        """Return rows grouped by player, over the players' positions."""
        units = np.array([row.unit for row in rows], dtype=np.float64)
        counts = np.array([len(row.support) for row in rows], dtype=np.int64)
        players = np.array([row.constraint.player for row in rows], dtype=np.int64)
        limits = np.array([-float(row.constraint.function.constant) for row in rows], dtype=np.float64)
        arrays = ConstraintArrays(
            ranges=unsigned(starts_of(np.bincount(players, minlength=len(positions)))),
            starts=unsigned(starts_of(counts)),
            positions=unsigned(_joined([positions[row.constraint.player][row.support] for row in rows], np.int64)),
            coefficients=_joined([row.coefficients for row in rows]),
            limits=limits / units,
            units=weight * units / unit,
            caps=caps,
        )
        names = tuple(row.constraint.name for row in rows)
        return cls(arrays=arrays, order=names, units=units, unit=unit, curves=Curves.of(rows, arrays), **others)

    @property
    def proven(self) -> ConstraintArrays:
        """The rows of a certificate; for convex constraints, the average tangents."""
        if not self.curves.rows:
            return self.arrays
        curves = self.curves.arrays
        return self.arrays._replace(coefficients=curves.proven_coefficients, limits=curves.proven_limits)

    @property
    def rates(self) -> Floats:
        """A step of 1 payoff unit per squared unit of violation, converted to the units of each row."""
        return self.units**2 / self.unit

    def limits(self, multipliers: MultiplierArrays, last_iterate: bool = False) -> LimitArrays:
        """Return the constraints for the compiled loop, which changes these multipliers."""
        dual = DualNumbers(
            step=float(self.dual.step),
            rates=self.rates if self.dual.plain else np.ones(len(self.units)),
            power=float(self.dual.power),
            optimism=float(self.dual.optimism),
            total=float(self.total),
            soft=bool(self.soft),
            at_average=self.dual.tangents == "average" and not last_iterate,
        )
        return LimitArrays(
            self.arrays, self.proven, self.curves.arrays if self.curves.rows else None, multipliers, dual
        )

    def bounded(self, beta: float) -> KernelConstraints:
        """Return the same constraints with multipliers of at most ``beta``, in payoff units."""
        return replace(self, arrays=self.arrays._replace(caps=beta * self.units / self.unit))

    def multipliers(self, of_rows: Floats) -> dict[str, float]:
        """Return multipliers by constraint, in payoff units, from those of the rows."""
        return dict(zip(self.order, (of_rows * self.unit / self.units).tolist(), strict=True))

    def initial_multipliers(self) -> MultiplierArrays:
        """Return multipliers of zero."""
        count, curves = len(self.order), self.curves.arrays
        size = len(curves.slopes)
        return MultiplierArrays(
            values=np.zeros(count),
            sums=np.zeros(count),
            average=np.zeros(count),
            violations=np.zeros(count),
            tallies=np.zeros((3, count)),
            slopes=np.zeros(size),
            offsets=np.zeros(len(curves.offsets)),
            choices=self.curves.initial_choices(),
            arguments=np.zeros(size),
        )


def _joined(parts: list[Any], kind: Any = np.float64) -> Any:
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind)


def _scaled(parts: list[Floats], scales: list[float]) -> Floats:
    joined: Floats = _joined([scale * part for scale, part in zip(scales, parts, strict=True)])
    return joined
