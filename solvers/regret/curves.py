"""Convex constraints as the compiled loop takes them: terms that it knows itself, and terms that it asks Python for."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...models.constraints import ConvexConstraint, DistanceConstraint, PolyhedralConstraint
from ...models.constraints.composition import MAXIMUM, SQUARES, Composition
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.evaluate import best_response_plan
from ...seqform.polytope import Treeplex
from .loop import OPAQUE, OPAQUE_LINEAR, CurveArrays
from .placement import starts_of, unsigned

Floats = NDArray[np.float64]
Curved = ConvexConstraint | DistanceConstraint

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)


@dataclass(frozen=True, eq=False)
class CurvedRow:
    """A convex constraint, the function that its row is a tangent of, and the unit that both are divided by.

    Attributes
    ----------
    constraint : ConvexConstraint or DistanceConstraint
    form : Composition
        Of the function as it is given, not divided by the unit.
    unit : float
    uniform : ndarray of float64, shape (num_sequences,)
        The plan of uniform play.
    """

    constraint: Curved
    form: Composition
    unit: float
    uniform: Floats

    @classmethod
    def of(cls, constraint: Curved, treeplex: Treeplex) -> CurvedRow:
        """Return a constraint's row, with a unit of its own.

        Raises
        ------
        UnsupportedProblemError
            If cvxpy has no gradient of its function.
        """
        uniform = treeplex.uniform_plan()
        form = constraint.composition
        if form is None:
            if not np.isfinite(constraint.minorant(uniform)[1]):
                raise UnsupportedProblemError(
                    f"cvxpy has no gradient for constraint {shown(constraint.name)}: use cvxpy"
                )
            size = treeplex.num_sequences
            kind = OPAQUE_LINEAR if isinstance(constraint, PolyhedralConstraint) else OPAQUE
            form = Composition.of(kind, sp.eye_array(size, format="csr"), np.zeros(size), np.zeros(size), 0.0)
        return cls(constraint, form, _unit(constraint, treeplex), uniform)

    @property
    def support(self) -> NDArray[np.int64]:
        """The sequences on which the function depends."""
        used = self.form.linear != 0.0
        used[self.form.matrix.indices] = True
        return np.flatnonzero(used)

    @property
    def factors(self) -> Floats:
        """What each argument is multiplied by, so that the function is divided by the unit."""
        # Python divides what it is asked for itself, and all other terms are positively homogeneous.
        by_kind = {SQUARES: self.unit**-0.5, OPAQUE: 1.0, OPAQUE_LINEAR: 1.0}
        factors = [by_kind.get(kind, 1.0 / self.unit) for kind in self.form.kinds.tolist()]
        return np.repeat(factors, np.diff(self.form.starts))

    @property
    def rates(self) -> Floats:
        """One over the largest coefficient of each term, as divided by the unit."""
        matrix, starts = self.form.matrix, self.form.matrix.indptr[self.form.starts]
        largest = [np.abs(matrix.data[slice(*ends)]).max(initial=0.0) or 1.0 for ends in pairwise(starts.tolist())]
        return self.unit / np.array(largest)

    def evidence(self, slopes: Floats) -> Floats:
        """Return evidence for the constraint from averages of what the compiled loop sums up."""
        by_kind = {SQUARES: self.unit**0.5, OPAQUE_LINEAR: self.unit}
        factors = [by_kind.get(kind, 1.0) for kind in self.form.kinds.tolist()]
        return self.constraint.evidence_from(slopes * np.repeat(factors, np.diff(self.form.starts)))

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for equal constraints; of what cvxpy alone knows, as far as values and slopes at two plans say."""
        form, kinds = self.form, tuple(self.form.kinds.tolist())
        said = (self.constraint.name, self.constraint.player, kinds, self.unit, form.limit)
        if not {OPAQUE, OPAQUE_LINEAR}.isdisjoint(kinds):
            plans = self.uniform, self.uniform * np.linspace(0.5, 1.0, len(self.uniform))
            looks = [(self.constraint.value(plan), self.constraint.minorant(plan)) for plan in plans]
            return *said, *((value, slope.tobytes(), constant) for value, (slope, constant) in looks)
        arrays = form.starts, form.matrix.indptr, form.matrix.indices, form.matrix.data, form.shifts, form.linear
        return *said, *(array.tobytes() for array in arrays)


@dataclass(eq=False)
class Curves:
    """The convex rows of a problem, and what Python answers when the compiled loop asks.

    Attributes
    ----------
    rows : list of CurvedRow
    places : list of int
        Which of all rows these are.
    arrays : CurveArrays
    """

    rows: list[CurvedRow]
    places: list[int]
    arrays: CurveArrays
    error: BaseException | None = None
    _callback: Any = field(init=False, repr=False)
    _asked: dict[int, CurvedRow] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        kinds, starts = self.arrays.kinds.tolist(), self.arrays.starts.tolist()
        self._asked = {int(start): row for start, row in zip(starts[:-1], self.rows, strict=True)}
        self._callback = _CALLBACK(self._respond)
        if any(kind >= OPAQUE for kind in kinds):
            self.arrays.calls[0] = ctypes.cast(self._callback, ctypes.c_void_p).value

    @classmethod
    def of(
        cls,
        rows: list[CurvedRow],
        places: list[int],
        players: list[int],
        starts: NDArray[np.int64],
        coefficients: Floats,
        limits: Floats,
        num_players: int = 2,
    ) -> Curves:
        """Lay convex rows out.

        Parameters
        ----------
        rows : list of CurvedRow
        places : list of int
            Which of all rows these are.
        players : list of int
        starts : ndarray of int64
            Where the entries of each of all rows begin.
        coefficients, limits : ndarray of float64
            Of all rows, divided by their units; of curved ones those of the linear part of the function.
        num_players : int
        """
        columns, weights = [], []
        for row, place in zip(rows, places, strict=True):
            matrix = sp.csr_array(sp.diags_array(row.factors) @ row.form.matrix)
            columns.append(starts[place] + np.searchsorted(row.support, matrix.indices))
            weights.append(matrix.data)
        lengths = [np.diff(row.form.matrix.indptr) for row in rows]
        sizes = [np.diff(row.form.starts) for row in rows]
        curved = np.zeros(len(limits), dtype=np.bool_)
        curved[places] = True
        shifts = _joined([row.factors * row.form.shifts for row in rows])
        anchors = _joined([row.factors * row.form.arguments(row.uniform) for row in rows])
        terms = np.array([len(row.form.kinds) for row in rows], dtype=np.int64)
        counts = np.bincount(np.array(players, dtype=np.int64), minlength=num_players)
        return cls(
            rows,
            places,
            CurveArrays(
                ranges=unsigned(starts_of(counts)),
                rows=unsigned(np.array(places, dtype=np.int64)),
                curved=curved,
                starts=unsigned(starts_of(terms)),
                kinds=_joined([row.form.kinds for row in rows], np.int64),
                rates=_joined([row.rates for row in rows]),
                places=unsigned(starts_of(_joined(sizes, np.int64))),
                entry_starts=unsigned(starts_of(_joined(lengths, np.int64))),
                entries=unsigned(_joined(columns, np.int64)),
                weights=_joined(weights),
                shifts=shifts,
                anchors=anchors,
                linear=coefficients.copy(),
                limits=limits.copy(),
                arguments=np.zeros(len(shifts)),
                slopes=np.zeros(len(shifts)),
                offsets=np.zeros(int(terms.sum())),
                proven_coefficients=coefficients.copy(),
                proven_limits=limits.copy(),
                values=np.zeros(len(limits)),
                calls=np.zeros(2, dtype=np.int64),
            ),
        )

    def evidence(self, sums: Floats, slopes: Floats) -> dict[str, Floats]:
        """Return what average slopes prove, by constraint.

        Parameters
        ----------
        sums : ndarray, shape (rows,)
            Of the multipliers of all rows.
        slopes : ndarray
            Sums of multipliers times slopes.
        """
        places = self.arrays.places.astype(np.int64)
        starts = places[self.arrays.starts.astype(np.int64)].tolist()
        parts = zip(self.rows, self.places, pairwise(starts), strict=True)
        return {
            row.constraint.name: row.evidence(slopes[first:last] / sums[place])
            for row, place, (first, last) in parts
            if sums[place] > 0.0
        }

    def initial_choices(self) -> Floats:
        """Return slopes of norms and maxima before the first iteration: none, or of maxima all alike."""
        sizes = np.diff(self.arrays.places.astype(np.int64))
        return np.repeat(np.where(self.arrays.kinds == MAXIMUM, 1.0 / np.maximum(sizes, 1), 0.0), sizes)

    def raise_error(self) -> None:
        """Raise what went wrong in Python while the compiled loop ran."""
        error, self.error = self.error, None
        self.arrays.calls[1] = 0
        if error is not None:
            raise error

    def _respond(self, term: int, exactly: int) -> None:
        """Do what the compiled loop asks; let it stop if that fails, since no exception passes through it."""
        try:
            self._answer(term, exactly)
        except BaseException as error:
            self.error = error
            self.arrays.calls[1] = 1
            if isinstance(error, KeyboardInterrupt):
                # The iteration is finished before the loop stops, so that the state is whole.
                try:
                    self._answer(term, exactly)
                except BaseException as second:
                    self.error = second

    def _answer(self, term: int, exactly: int) -> None:
        row, arrays = self._asked[term], self.arrays
        place = slice(*arrays.places[term : term + 2].tolist())
        plan = arrays.arguments[place].copy()
        if exactly:
            arrays.offsets[term] = row.constraint.value(plan) / row.unit
            return
        slope, constant = row.constraint.minorant(plan)
        if not np.isfinite(constant):
            # Nothing is known here: the row says by how much the constraint is violated, and no more.
            slope, constant = np.zeros(len(plan)), row.constraint.value(plan)
        arrays.slopes[place] = slope / row.unit
        arrays.offsets[term] = constant / row.unit


def _unit(constraint: Curved, treeplex: Treeplex) -> float:
    """Return how large a constraint's function is: the geometric mean of its slopes' size and its values' spread.

    As measured, steps that suit functions of single sequences then suit those of all sequences too.
    """
    uniform, behaviour = treeplex.uniform_plan(), treeplex.uniform_behaviour()
    behaviour[treeplex.offsets[:-1]] *= 2.0
    uneven = treeplex.plan(treeplex.behaviour(treeplex.plan(behaviour)))
    form = constraint.composition
    slope, _ = constraint.minorant(uneven) if form is None else form.minorant(form.slopes_at(uneven))
    size = float(np.abs(slope[1:]).max(initial=0.0)) if form is None else form.scale(uniform)
    plans = uniform, uneven, best_response_plan(treeplex, slope).plan
    values = [value for value in map(constraint.value, plans) if np.isfinite(value)]
    spread = float(np.ptp(values)) if len(values) > 1 else 0.0
    return float(np.sqrt((spread or 1.0) * (size or 1.0)))


def _joined(parts: list[Any], kind: Any = np.float64) -> Any:
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind)
