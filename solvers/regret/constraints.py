"""Constraints as the compiled loop takes them, and their multipliers."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...models.constraints import LinearConstraint
from ...models.problems import ConstrainedNash
from .curves import CurvedRow, Curves
from .layout import KernelLayout
from .loop import ConstraintArrays, MultiplierArrays
from .placement import starts_of, unsigned

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KernelConstraints:
    """The constraints of a problem, rows of a player together, each divided by its largest coefficient.

    The row of a constraint that is not linear is a tangent of its function, and is divided by how large its slopes are.
    Where the largest violation is paid for, all rows are divided by the largest of these numbers.

    Attributes
    ----------
    arrays : ConstraintArrays
    order : tuple of str
        The constraints' names, in the order of the rows.
    units : ndarray of float64, shape (k,)
        What rows were divided by.
    unit : float
        Of payoffs.
    total : float
        What multipliers of a player may sum to at most, in the unit; infinite if there is no such bound.
    soft : bool
        Whether violations are paid for.
    curves : Curves
        What the tangents are of.
    identity : tuple
        Equal for equal constraints and penalties, whatever the layout: then a run can go on where another stopped.
    """

    arrays: ConstraintArrays
    order: tuple[str, ...]
    units: Floats
    unit: float
    total: float
    soft: bool
    curves: Curves
    identity: tuple[Any, ...] = ()

    @classmethod
    def of(cls, problem: ConstrainedNash, layout: KernelLayout, weight: float = 1.0) -> KernelConstraints:
        """Return a problem's constraints in a layout.

        Parameters
        ----------
        problem : ConstrainedNash
        layout : KernelLayout
        weight : float
            What a violation counts beside a payoff where both are held against one tolerance.

        Raises
        ------
        UnsupportedProblemError
            If cvxpy has no gradient of a constraint.
        """
        given = (*problem.of_player(0), *problem.of_player(1))
        penalty = None if problem.penalty is None else float(problem.penalty)
        largest = penalty is not None and problem.penalise == "largest"
        treeplexes = problem.game.sequence_form.treeplexes
        rows: list[LinearConstraint | CurvedRow] = [
            one if isinstance(one, LinearConstraint) else CurvedRow.of(one, treeplexes[one.player])  # type: ignore[arg-type]
            for one in given
        ]
        common = 1.0
        if largest:  # multipliers are summed, so that all rows have one unit
            common = max(map(_unit, rows), default=1.0)
            rows = [replace(one, unit=common) if isinstance(one, CurvedRow) else one for one in rows]
        parts = [_linear_part(one, common if largest else _unit(one)) for one in rows]
        units = np.array([part.unit for part in parts])
        counts = np.array([len(part.indices) for part in parts], dtype=np.int64)
        positions = [layout.positions[one.player][part.indices] for one, part in zip(given, parts, strict=True)]
        players = np.array([one.player for one in given], dtype=np.int64)
        caps = np.full(len(rows), np.inf)
        if penalty is not None and not largest:
            caps = penalty * units / layout.unit
        starts = starts_of(counts)
        arrays = ConstraintArrays(
            ranges=unsigned(starts_of(np.bincount(players, minlength=2))),
            starts=unsigned(starts),
            positions=unsigned(np.concatenate([np.zeros(0, dtype=np.int64), *positions])),
            coefficients=np.concatenate([np.zeros(0), *(part.coefficients / part.unit for part in parts)]),
            limits=np.array([part.limit for part in parts], dtype=np.float64) / units,
            units=weight * units / layout.unit,
            caps=caps,
        )
        curved = [place for place, one in enumerate(rows) if isinstance(one, CurvedRow)]
        curves = Curves.of(
            [one for one in rows if isinstance(one, CurvedRow)],
            curved,
            players[curved].tolist(),
            starts,
            arrays.coefficients,
            arrays.limits,
        )
        return cls(
            arrays=arrays,
            order=tuple(one.name for one in given),
            units=units,
            unit=layout.unit,
            total=penalty * common / layout.unit if largest and penalty is not None else math.inf,
            soft=penalty is not None,
            curves=curves,
            identity=(penalty, problem.penalise, *(_identity(one) for one in rows)),
        )

    @property
    def proven(self) -> ConstraintArrays:
        """The rows of a certificate: of convex constraints what the multipliers prove on average."""
        if not self.curves.rows:
            return self.arrays
        curves = self.curves.arrays
        return self.arrays._replace(coefficients=curves.proven_coefficients, limits=curves.proven_limits)

    @classmethod
    @functools.cache  # every call of the loop without constraints asks for it
    def none(cls, num_players: int) -> KernelConstraints:
        """Return no constraints."""
        nothing, numbers = unsigned(np.zeros(0, dtype=np.int64)), np.zeros(0)
        ranges = unsigned(np.zeros(num_players + 1, dtype=np.int64))
        starts = unsigned(np.zeros(1, dtype=np.int64))
        arrays = ConstraintArrays(ranges, starts, nothing, numbers, numbers, numbers, numbers)
        curves = Curves.of([], [], [], starts.astype(np.int64), numbers, numbers, num_players)
        return cls(arrays, (), numbers, 1.0, math.inf, False, curves)

    def bounded(self, beta: float) -> KernelConstraints:
        """Return the same constraints with multipliers of ``beta`` at most, in payoff units."""
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

    def evidence(self, multipliers: MultiplierArrays) -> dict[str, Floats]:
        """Return what the slopes of convex constraints prove, averaged as their multipliers are; by constraint."""
        return self.curves.evidence(multipliers.sums, multipliers.slopes)


class _LinearPart(NamedTuple):
    """A row without its curved terms, not divided by its unit."""

    indices: Any
    coefficients: Floats
    limit: float
    unit: float


def _unit(one: LinearConstraint | CurvedRow) -> float:
    """Return what a row is divided by where it has a unit of its own."""
    return one.unit if isinstance(one, CurvedRow) else float(np.abs(one.coefficients).max(initial=0.0)) or 1.0


def _linear_part(one: LinearConstraint | CurvedRow, unit: float) -> _LinearPart:
    if isinstance(one, CurvedRow):
        return _LinearPart(one.support, one.form.linear[one.support], one.form.limit, unit)
    return _LinearPart(one.indices, one.coefficients, one.limit, unit)


def _identity(one: LinearConstraint | CurvedRow) -> tuple[Any, ...]:
    if isinstance(one, CurvedRow):
        return one.identity
    return one.name, one.player, one.indices.tobytes(), one.coefficients.tobytes(), one.limit
