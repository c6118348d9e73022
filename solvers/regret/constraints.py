"""Linear constraints as the compiled loop takes them, and the rule that moves their multipliers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...models.constraints import LinearConstraint
from ...models.problems import ConstrainedNash
from ...seqform.errors import UnsupportedProblemError, shown
from .layout import KernelLayout
from .loop import ConstraintArrays, MultiplierArrays
from .placement import starts_of, unsigned

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DualRule:
    """How multipliers move: along the violations of a plan, by projected gradient.

    λ becomes λ + a t^(−power) (v + optimism (v − v')), not below 0 nor above its cap, with v the violation of the plan
    that it answers and v' that of the one before.

    Parameters
    ----------
    step : float
        a, in units of the largest payoff, for rows whose largest coefficient is 1.
    power : float
        0 for constant steps, 1/2 for decreasing ones.
    optimism : float
        1 for optimistic steps, 0 for plain ones.
    """

    step: float = 1.0
    power: float = 0.0
    optimism: float = 1.0


@dataclass(frozen=True, eq=False)
class KernelConstraints:
    """The linear constraints of a problem, rows of a player together, each divided by its largest coefficient.

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
    identity : tuple
        Equal for equal constraints and penalties, whatever the layout: then a run can go on where another stopped.
    """

    arrays: ConstraintArrays
    order: tuple[str, ...]
    units: Floats
    unit: float
    total: float
    soft: bool
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
            If a constraint is not linear.
        """
        rows: list[LinearConstraint] = []
        for constraint in (*problem.of_player(0), *problem.of_player(1)):
            if not isinstance(constraint, LinearConstraint):
                raise UnsupportedProblemError(
                    f"constraint {shown(constraint.name)} is not linear: use highs for piecewise linear constraints, "
                    "cvxpy for others"
                )
            rows.append(constraint)
        penalty = None if problem.penalty is None else float(problem.penalty)
        largest = penalty is not None and problem.penalise == "largest"
        units = np.array([1.0 if largest else np.abs(one.coefficients).max(initial=0.0) or 1.0 for one in rows])
        counts = np.array([len(one.indices) for one in rows], dtype=np.int64)
        coefficients = [one.coefficients / unit for one, unit in zip(rows, units, strict=True)]
        positions = [layout.positions[one.player][one.indices] for one in rows]
        players = np.array([one.player for one in rows], dtype=np.int64)
        caps = np.full(len(rows), np.inf)
        if penalty is not None and not largest:
            caps = penalty * units / layout.unit
        arrays = ConstraintArrays(
            ranges=unsigned(starts_of(np.bincount(players, minlength=2))),
            starts=unsigned(starts_of(counts)),
            positions=unsigned(np.concatenate([np.zeros(0, dtype=np.int64), *positions])),
            coefficients=np.concatenate([np.zeros(0), *coefficients]),
            limits=np.array([one.limit for one in rows], dtype=np.float64) / units,
            units=weight * units / layout.unit,
            caps=caps,
        )
        total = penalty / layout.unit if largest and penalty is not None else math.inf
        said = ((one.name, one.player, one.indices.tobytes(), one.coefficients.tobytes(), one.limit) for one in rows)
        return cls(
            arrays=arrays,
            order=tuple(one.name for one in rows),
            units=units,
            unit=layout.unit,
            total=total,
            soft=penalty is not None,
            identity=(penalty, problem.penalise, *said),
        )

    @classmethod
    def none(cls, num_players: int) -> KernelConstraints:
        """Return no constraints."""
        nothing, numbers = unsigned(np.zeros(0, dtype=np.int64)), np.zeros(0)
        ranges = unsigned(np.zeros(num_players + 1, dtype=np.int64))
        starts = unsigned(np.zeros(1, dtype=np.int64))
        arrays = ConstraintArrays(ranges, starts, nothing, numbers, numbers, numbers, numbers)
        return cls(arrays, (), numbers, 1.0, math.inf, False)

    def bounded(self, beta: float) -> KernelConstraints:
        """Return the same constraints with multipliers of ``beta`` at most, in payoff units."""
        return replace(self, arrays=self.arrays._replace(caps=beta * self.units / self.unit))

    def multipliers(self, of_rows: Floats) -> dict[str, float]:
        """Return multipliers by constraint, in payoff units, from those of the rows."""
        return dict(zip(self.order, (of_rows * self.unit / self.units).tolist(), strict=True))

    def initial_multipliers(self) -> MultiplierArrays:
        """Return multipliers of zero."""
        count = len(self.order)
        return MultiplierArrays._make([*(np.zeros(count) for _ in range(4)), np.zeros((3, count))])
