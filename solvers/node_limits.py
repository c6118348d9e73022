"""Limits between the states of a node: classes played the same, actions monotone in strength, and few mixed states."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from ..seqform.arrays import Floats, Indices

#: The ways to round a node: each state to its nearest point, or with the rounding error passed on to the next state.
WAYS = ("weakest first", "weakest last", "nearest")
#: The same for actions that are monotone in strength: the stronger of equal states are rounded up so that frequencies
#: hardly change, or the fraction of a step that is rounded up.
SHARES = ("balanced", "0.5", "0.3", "0.7", "0.1", "0.9")


def rounded(
    behaviour: Floats,
    steps: int | npt.NDArray[np.int64],
    weights: Floats | None = None,
    order: npt.NDArray[np.int64] | None = None,
) -> Floats:
    """Round probabilities to multiples of 1 / steps; each column still sums to one.

    Parameters
    ----------
    behaviour : ndarray of float64, shape (actions, states)
    steps : int, or ndarray of int, shape (states,)
        The grid, or that of each state: 1 for a pure action, and 0 for any probabilities.
    weights : ndarray of float64, shape (states,), optional
        With weights, the rounding error of each state is passed on to the following states, so that the frequencies
        over all states hardly change (error diffusion). Actions that a state does not play stay unplayed.
    order : ndarray of int, shape (states,), optional
        The order of the states, by default as given.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.solvers.node_limits import rounded
    >>> thirds = np.full((2, 4), 1 / 2)
    >>> rounded(thirds, 1)[0], rounded(thirds, 1, np.ones(4))[0]
    (array([1., 1., 1., 1.]), array([1., 0., 1., 0.]))
    """
    grid = np.broadcast_to(steps, behaviour.shape[1:])
    if weights is None:
        on = np.maximum(grid, 1)
        wanted = behaviour * on
        floors = np.floor(wanted + 1e-9)
        missing = np.rint(on - floors.sum(axis=0)).astype(np.int64)
        ranks = np.argsort(np.argsort(floors - wanted, axis=0, kind="stable"), axis=0, kind="stable")
        return np.asarray(np.where(grid > 0, (floors + (ranks < missing)) / on, behaviour))
    found, owed = np.zeros(behaviour.shape), np.zeros(len(behaviour))
    for state in range(behaviour.shape[1]) if order is None else order.tolist():
        weight, number = float(weights[state]), int(grid[state])
        played = behaviour[:, state] > 1e-6
        due = np.where(played, behaviour[:, state] + (owed / weight if weight > 0.0 else 0.0), -np.inf)
        if number:
            given = np.zeros(len(behaviour))
            for _ in range(number):
                given[np.argmax(number * due - given)] += 1.0
            found[:, state] = given / number
        else:
            kept = np.maximum(due, 0.0)
            found[:, state] = kept / kept.sum() if kept.sum() > 0.0 else behaviour[:, state]
        owed += weight * (behaviour[:, state] - found[:, state])
    return found


@dataclass(frozen=True, eq=False)
class NodeLimits:
    """The limits between the states of a node.

    Parameters
    ----------
    classes : ndarray of int, shape (states,)
        The class of each state, from 0 on.
    strength : ndarray of float64, shape (states,), optional
        Equal within a class; NaN for states that are not compared.
    groups : ndarray of int, shape (actions,), optional
        0 for actions that fall with strength, 2 for those that rise, and 1 for others.
    """

    classes: Indices
    strength: Floats | None = None
    groups: Indices | None = None

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways to round."""
        return WAYS if self.groups is None else SHARES

    @property
    def are_alone(self) -> bool:
        """Whether no state is limited by others."""
        return self.groups is None and self._are_single

    @cached_property
    def count(self) -> int:
        """The number of classes."""
        return int(self.classes.max(initial=-1)) + 1

    @cached_property
    def _are_single(self) -> bool:
        return self.count == len(self.classes) and bool((self.classes == np.arange(self.count)).all())

    @cached_property
    def sizes(self) -> Floats:
        """The number of states of each class."""
        return np.bincount(self.classes, minlength=self.count).astype(np.float64)

    def summed(self, numbers: Floats) -> Floats:
        """Return the sum of numbers over the states of each class, which are on the last axis."""
        if self._are_single:
            return numbers
        rows: list[npt.NDArray[Any]] = [
            np.bincount(self.classes, one, self.count) for one in numbers.reshape(-1, len(self.classes))
        ]
        found: Floats = np.array(rows).reshape(*numbers.shape[:-1], self.count)
        return found

    def together(self, played: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return the weighted mean behaviour of each class, shape (actions, classes), and the classes' weights."""
        if self._are_single:
            return played, weights
        total = self.summed(weights)
        plain = self.summed(played) / self.sizes
        mean = np.divide(self.summed(played * weights), total, out=plain, where=total > 0.0)
        return mean / mean.sum(axis=0), total

    def fitted(self, played: Floats, weights: Floats) -> Floats:
        """Return the nearest behaviour within the limits, without a grid, shape (actions, states)."""
        return self.rounded(played, weights, None, "nearest")

    def rounded(
        self,
        played: Floats,
        weights: Floats,
        steps: int | None,
        way: str,
        values: Floats | None = None,
        mixing: npt.NDArray[np.bool_] | None = None,
    ) -> Floats:
        """Round behaviour to the limits.

        Parameters
        ----------
        played : ndarray of float64, shape (actions, states)
        weights : ndarray of float64, shape (states,)
            The player's reach of each state.
        steps : int, optional
            The grid.
        way : str
            One of :attr:`ways`.
        values : ndarray of float64, shape (states,), optional
            The values of the states; needed to pass on rounding errors.
        mixing : ndarray of bool, shape (classes,), optional
            The classes that may mix; by default all.

        Returns
        -------
        ndarray of float64, shape (actions, states)
        """
        mean, total = self.together(played, weights)
        if self.groups is not None:
            mean = self._in_order(mean, total)
        if steps is not None or mixing is not None:
            grid = np.full(self.count, steps or 0)
            if mixing is not None:
                grid[~mixing] = 1
            if self.groups is not None:
                mean = self._thresholded(mean, total, grid, way, mixing)
            elif way == "nearest" or values is None:
                mean = rounded(mean, grid)
            else:
                mean = rounded(mean, grid, total, self._queue(values, way, mixing))
        return mean if self._are_single else mean[:, self.classes]

    def _queue(self, values: Floats, way: str, mixing: npt.NDArray[np.bool_] | None) -> Indices:
        """Return the classes from the worst to the best, or the other way; those that may mix come last."""
        order = np.argsort(self.summed(values) / self.sizes, kind="stable")
        order = order[::-1] if way == "weakest last" else order
        return order if mixing is None else order[np.argsort(mixing[order], kind="stable")]

    # Order by strength

    @cached_property
    def _levels(self) -> Floats:
        """The strength of each class."""
        assert self.strength is not None
        found = np.full(self.count, np.nan)
        found[self.classes] = self.strength
        return found

    def _groups_of(self, played: Floats) -> tuple[Floats, Floats]:
        """Return the probability of actions that do not fall, and of those that rise, which both rise with strength."""
        rising = played[self.groups == 2].sum(axis=0)
        if not np.any(self.groups == 1):
            return rising, rising
        return 1.0 - played[self.groups == 0].sum(axis=0), rising

    def _in_order(self, played: Floats, weights: Floats) -> Floats:
        """Return the nearest monotone behaviour: a weighted isotonic regression of both probabilities.

        A larger sequence has a larger regression, so that the two regressions leave room for the other actions.
        """
        staying, rising = (one.copy() for one in self._groups_of(played))
        compared = np.flatnonzero(~np.isnan(self._levels))
        order = compared[np.lexsort(((staying + rising)[compared], self._levels[compared]))]
        if len(order):
            least = 1e-9 * max(float(weights.max()), 1e-300)
            for one in (staying, rising):
                one[order] = isotonic_regression(one[order], weights=np.maximum(weights[order], least)).x
        return self._divided(played, weights, staying, rising, np.zeros(self.count, dtype=np.int64))

    def _thresholded(
        self, played: Floats, weights: Floats, grid: Indices, way: str, mixing: npt.NDArray[np.bool_] | None
    ) -> Floats:
        """Round monotone behaviour so that it stays monotone."""
        staying, rising = (self._rounded_in_order(one, weights, grid, way, mixing) for one in self._groups_of(played))
        # The larger of two monotone sequences is monotone.
        return self._divided(played, weights, np.maximum(staying, rising), rising, grid)

    def _rounded_in_order(
        self, given: Floats, weights: Floats, grid: Indices, way: str, mixing: npt.NDArray[np.bool_] | None
    ) -> Floats:
        """Round probabilities that rise with strength; the result rises too."""
        compared = np.flatnonzero(~np.isnan(self._levels))
        order = compared[np.lexsort((given[compared], self._levels[compared]))]
        shares = np.full(self.count, 0.5 if way not in SHARES[1:] else float(way))
        if way == SHARES[0]:
            for number in np.unique(grid[grid > 0]).tolist():
                ordered = order[grid[order] == number]
                wanted = given[ordered] * number
                cells = np.floor(wanted + 1e-9)
                for cell in np.unique(cells).tolist():  # from weak to strong: the strongest are rounded up
                    there = ordered[cells == cell]
                    above = np.cumsum(weights[there][::-1])[::-1] - weights[there] / 2
                    raised = above < float(weights[there] @ (wanted[cells == cell] - cell))
                    shares[there] = np.where(raised, 1.0 - 1e-6, 0.0)
        steps = np.maximum(grid, 1)
        on = np.where(grid > 0, np.clip(np.floor(given * steps + shares + 1e-9), 0.0, steps) / steps, given)
        if mixing is not None:  # states that may mix lie between weaker and stronger ones that do not
            low = np.maximum.accumulate(np.where(mixing, 0.0, on)[order])
            high = np.minimum.accumulate(np.where(mixing, 1.0, on)[order][::-1])[::-1]
            on[order] = np.clip(np.maximum.accumulate(np.where(mixing, on, 0.0)[order]), low, high)
        return on

    def _divided(self, played: Floats, weights: Floats, staying: Floats, rising: Floats, grid: Indices) -> Floats:
        """Return behaviour with given probabilities of the groups, which are divided among their actions as before."""
        found = np.zeros_like(played)
        for group, total in enumerate((1.0 - staying, staying - rising, rising)):
            rows = np.flatnonzero(self.groups == group)
            if len(rows) == 0:
                continue
            inside = played[rows].sum(axis=0)
            usual = played[rows] @ np.maximum(weights, 1e-300)
            usual = usual / usual.sum() if usual.sum() > 0.0 else np.full(len(rows), 1.0 / len(rows))
            shares = np.where(inside > 1e-9, played[rows] / np.maximum(inside, 1e-9), usual[:, None])
            shares = shares / shares.sum(axis=0)
            units = np.rint(total * grid)
            wanted = shares * units
            floors = np.floor(wanted + 1e-9)
            missing = np.rint(units - floors.sum(axis=0)).astype(np.int64)
            ranks = np.argsort(np.argsort(floors - wanted, axis=0, kind="stable"), axis=0, kind="stable")
            on = (floors + (ranks < missing)) / np.maximum(grid, 1)
            found[rows] = np.where(grid > 0, on, shares * np.clip(total, 0.0, 1.0))
        return found
