"""The compiled loop on one game: its rule as numbers, its state, and calls whose arguments have the right types."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .layout import KernelLayout
from .loop import BLOCK, CONSTANT, POWER, GameArrays, StateArrays, run_loop

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

HISTORY_ROWS = 512
CACHE_LINE = 64  # bytes


@dataclass(frozen=True)
class Rule:
    """The local regret minimiser and the averaging scheme, as numbers.

    At iteration ``t`` an infoset's regrets become ``max(d R + r, floor)`` with ``r`` the instantaneous regrets and
    ``d`` the discount of positive or negative regrets; the next behaviour is proportional to ``(R + prediction r)⁺``,
    uniform if that is zero everywhere. The plan from before update ``t`` counts ``max(t - delay, 0) ** averaging`` in
    the average.

    Parameters
    ----------
    positive, negative : float
        The discounts themselves (``power`` false), or exponents p of the discount t^p / (t^p + 1) (``power`` true).
    power : bool
    floor : float
        Lower bound of cumulative regrets, payoff units.
    prediction : float
        How much of the last instantaneous regrets is added as a forecast of the next ones.
    averaging : float
        Exponent of the iteration number in the average's weights.
    delay : float
        Iterations that the average leaves out.
    """

    positive: float = 1.0
    negative: float = 1.0
    power: bool = False
    floor: float = -math.inf
    prediction: float = 0.0
    averaging: float = 0.0
    delay: float = 0.0

    def parameters(self) -> Floats:
        """Return the numbers as the compiled loop wants them."""
        numbers = [self.positive, self.negative, self.floor, self.prediction, self.averaging, self.delay, 0.0, 0.0]
        return np.array(numbers, dtype=np.float64)


CFR = Rule()
CFR_PLUS = Rule(floor=0.0, averaging=1.0)
PCFR_PLUS = Rule(floor=0.0, prediction=1.0, averaging=2.0)
DCFR = Rule(positive=1.5, negative=0.0, power=True, averaging=2.0)


@dataclass(frozen=True, eq=False)
class Progress:
    """What one call of :meth:`Kernel.run` did.

    Attributes
    ----------
    iterations : int
        Updates done since the start, earlier calls included.
    exploitability : float
        NashConv / n at the last check of this call, payoff units; NaN without a check.
    converged : bool
        Whether that is within the tolerance.
    checked : ndarray of int64, shape (checks,)
        Updates done at each check of this call.
    exploitabilities : ndarray of float64, shape (checks,)
    best_responses, payoffs : ndarray of float64, shape (checks, num_players)
        Each player's best-response value and payoff. In a two-player zero-sum game the value lies between
        ``-best_responses[:, 1]`` and ``best_responses[:, 0]``.
    """

    iterations: int
    exploitability: float
    converged: bool
    checked: Integers
    exploitabilities: Floats
    best_responses: Floats
    payoffs: Floats


def _zeros(shape: tuple[int, ...]) -> Floats:
    """Return zeros that begin at a cache line, so that vector loads at multiples of it do not straddle two."""
    size, line = math.prod(shape), CACHE_LINE // 8
    room = np.zeros(size + line)
    start = -(room.ctypes.data // 8) % line
    return room[start : start + size].reshape(shape)


@dataclass(eq=False)
class KernelState:
    """All that an iteration changes. Its vectors are over positions; see :class:`KernelLayout`.

    Attributes
    ----------
    arrays : StateArrays
        Cumulative regrets, behaviour, plan, sums of plans, and scratch.
    iteration : int
        Updates done.
    next_check : int
        The number of updates at which the certificate is computed next.
    """

    arrays: StateArrays
    iteration: int = 0
    next_check: int = 1

    def copy(self) -> KernelState:
        """Return an independent copy."""
        copies = StateArrays._make(_zeros(array.shape) for array in self.arrays)
        for copied, array in zip(copies, self.arrays, strict=True):
            copied[...] = array
        return KernelState(copies, self.iteration, self.next_check)


@dataclass(eq=False)
class Kernel:
    """The compiled loop on one game.

    Parameters
    ----------
    layout : KernelLayout

    Notes
    -----
    Every argument of a compiled function gets its type here: numba compiles anew, silently and for seconds, for an
    ``int`` in place of a ``float`` or a read-only array in place of a writable one.
    """

    layout: KernelLayout
    game: GameArrays = field(init=False, repr=False)

    def __post_init__(self) -> None:
        arrays = (getattr(self.layout, name) for name in GameArrays._fields)
        self.game = GameArrays(*(np.require(array, requirements=["C", "A", "W", "E"]) for array in arrays))

    def initial_state(self) -> KernelState:
        """Return the state before the first update: no regrets, uniform behaviour."""
        vectors = [_zeros((self.layout.size,)) for _ in range(len(StateArrays._fields) - 1)]
        state = KernelState(StateArrays._make([*vectors, _zeros((2, BLOCK))]))
        state.arrays.behaviour[:] = 1.0
        for start, count, arity, _ in self.layout.buckets.tolist():
            state.arrays.behaviour[start : start + count * arity] = 1.0 / arity
        self.set_behaviour(state, state.arrays.behaviour)
        return state

    def set_behaviour(self, state: KernelState, behaviour: Floats) -> None:
        """Let a state play a behaviour (a kernel vector); regrets and averages stay as they are."""
        arrays, layout = state.arrays, self.layout
        arrays.behaviour[:] = behaviour
        arrays.plan[:] = 0.0
        arrays.plan[layout.bases[:-1]] = 1.0
        for start, count, arity, first in layout.buckets.tolist():
            above = arrays.plan[layout.parents[first : first + count]]
            place = slice(start, start + count * arity)
            arrays.plan[place] = np.tile(above, arity) * arrays.behaviour[place]

    def run(
        self,
        state: KernelState,
        rule: Rule,
        iterations: int,
        *,
        tolerance: float = 0.0,
        growth: float = 1.1,
        alternating: bool = True,
        last_iterate: bool = False,
        tilt: ArrayLike | None = None,
        scales: ArrayLike | None = None,
    ) -> Progress:
        """Do up to that many more updates; stop at a certificate within the tolerance.

        Ctrl-C arrives when the call returns, so callers ask for about 0.1 s of updates at a time. Splitting a run into
        several calls changes nothing.

        Parameters
        ----------
        state : KernelState
            Changed in place.
        rule : Rule
        iterations : int
        tolerance : float
            Exploitability (NashConv / n), payoff units, at which to stop.
        growth : float
            The next check comes after ``growth`` times the updates done; infinity for no further check.
        alternating : bool
            Whether each player answers the new plans of the players before it, or all answer the old ones.
        last_iterate : bool
            Whether to certify the current plans, not the averages.
        tilt : ndarray of float64, shape (layout.size,), optional
            Added to the gradient of every iteration, not to the certificate's.
        scales : array_like of float, shape (num_players,), optional
            Factor of each player's gradient, before the tilt; not of the certificate's.

        Returns
        -------
        Progress
        """
        num_players = self.layout.num_players
        rows = HISTORY_ROWS
        checked, values = np.zeros(rows, dtype=np.int64), np.zeros((rows, 1 + 2 * num_players))
        tilted = tilt is not None
        tilt_array = np.require(tilt if tilted else np.zeros(0), dtype=np.float64, requirements=["C", "A", "W", "E"])
        scale_array = np.array(np.ones(num_players) if scales is None else scales, dtype=np.float64)
        no_check = np.iinfo(np.int64).max
        done, exploitability, rows, next_check = run_loop(
            self.game, state.arrays, int(state.iteration), int(iterations), POWER if rule.power else CONSTANT,
            rule.parameters(), bool(alternating), bool(last_iterate), tilted, tilt_array, scale_array,
            int(state.next_check), float(min(growth, 1e6)), float(tolerance), checked, values,
        )  # fmt: skip
        state.iteration, state.next_check = int(done), int(min(next_check, no_check))
        values = values[:rows]
        return Progress(
            iterations=int(done),
            exploitability=float(exploitability),
            converged=bool(exploitability <= tolerance),
            checked=checked[:rows],
            exploitabilities=values[:, 0],
            best_responses=values[:, 1 : 1 + num_players],
            payoffs=values[:, 1 + num_players :],
        )

    def average(self, state: KernelState) -> Floats:
        """Return the average plans so far (a kernel vector): the current ones before the first update."""
        average: Floats = state.arrays.plan.copy()
        for base, end in pairwise(self.layout.bases.tolist()):
            if state.arrays.plan_sums[base] > 0.0:
                average[base:end] = state.arrays.plan_sums[base:end] / state.arrays.plan_sums[base]
        return average

    def certificate(self, plan: Floats) -> Progress:
        """Return the certificate of plans (a kernel vector): exploitability, best-response values and payoffs."""
        vector = np.array(plan, dtype=np.float64)
        gradient, average = np.zeros_like(vector), np.zeros_like(vector)
        arrays = StateArrays(vector, vector, vector, vector, gradient, average, np.zeros((2, BLOCK)))
        return self.run(KernelState(arrays, next_check=0), CFR, 0, last_iterate=True)

    def exploitability(self, plan: Floats) -> float:
        """Return NashConv / n of plans (a kernel vector)."""
        return self.certificate(plan).exploitability
