"""The compiled loop of the counterfactual-regret family.

One iteration, for each player: gradient of the payoff at the opponents' plans; bottom-up pass with the local regret
minimiser at each infoset; top-down pass that adds the plan from before the update to the average and forms the new one.
Which algorithm it is, is a matter of numbers (:class:`Rule`). The compiled functions take arrays, change them in place and
check nothing; :class:`Kernel` is what the library calls. All functions that call each other are in this file, because
numba's cache does not see changes in another one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .layout import KernelLayout

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CONSTANT, POWER = 0, 1  # schedules of the discounts
BLOCK = 256  # infosets handled at a time, so that scratch values stay in the first-level cache
HISTORY_ROWS = 512

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)
STEP = np.uint64(BLOCK)


def compiled(function: Any) -> Any:
    """Compile with a cache on disk or, where no place for one is writable, without."""
    # No reassociation: sums keep their order, so that the same game gives the same iterates everywhere.
    options = {"fastmath": {"contract"}, "error_model": "numpy", "boundscheck": False, "nogil": True}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        return numba.njit(**options)(function)


class GameArrays(NamedTuple):
    """The arrays of a :class:`KernelLayout` that the compiled functions read."""

    bases: Any
    buckets: Any
    bucket_ranges: Any
    parents: Any
    columns: Any
    column_ranges: Any
    column_starts: Any
    rows: Any
    values: Any
    leaf_positions: Any
    leaf_payoffs: Any


class StateArrays(NamedTuple):
    """The vectors over positions that an iteration changes, and the scratch it needs."""

    regrets: Any
    behaviour: Any
    plan: Any
    plan_sums: Any
    gradient: Any
    average: Any
    scratch: Any


@compiled
def _add_gradient(game: Any, player: Any, plan: Any, scale: Any, gradient: Any) -> None:
    """Add ``scale`` times a player's payoff per own sequence, the others playing their part of ``plan``."""
    num_players = np.uint64(len(game.bases)) - ONE
    if num_players == TWO:
        for c in range(np.uint64(game.column_ranges[player]), np.uint64(game.column_ranges[player + ONE])):
            reach = plan[game.columns[c]] * scale
            # Regret matching plays most sequences of a large game with probability exactly zero.
            if reach != 0.0:
                for k in range(np.uint64(game.column_starts[c]), np.uint64(game.column_starts[c + ONE])):
                    gradient[game.rows[k]] += reach * game.values[k]
        return
    for leaf in range(np.uint64(len(game.leaf_payoffs))):
        reach = scale
        for other in range(num_players):
            if other != player:
                reach *= plan[game.leaf_positions[leaf, other]]
        gradient[game.leaf_positions[leaf, player]] += reach * game.leaf_payoffs[leaf, player]


@compiled
def _bottom_up(
    game: Any, player: Any, state: Any, positive: Any, negative: Any, floor: Any, prediction: Any
) -> None:
    """Update regrets and behaviour from the gradient, which is left zero."""
    regrets, behaviour, gradient = state.regrets, state.behaviour, state.gradient
    values, totals, parents = state.scratch[0], state.scratch[1], game.parents
    first_bucket, b = np.uint64(game.bucket_ranges[player]), np.uint64(game.bucket_ranges[player + ONE])
    while b > first_bucket:
        b -= ONE
        start, size = np.uint64(game.buckets[b, 0]), np.uint64(game.buckets[b, 1])
        arity, first = np.uint64(game.buckets[b, 2]), np.uint64(game.buckets[b, 3])
        uniform = 1.0 / np.float64(arity)
        # Short loops over few arrays each: LLVM vectorises a loop only if it needs few overlap tests.
        for low in range(ZERO, size, STEP):
            count = min(STEP, size - low)
            here = start + low
            if arity == TWO:
                there = here + size
                for i in range(count):
                    values[i] = behaviour[here + i] * gradient[here + i] + behaviour[there + i] * gradient[there + i]
            else:
                for i in range(count):
                    values[i] = behaviour[here + i] * gradient[here + i]
                for action in range(ONE, arity):
                    there = here + action * size
                    for i in range(count):
                        values[i] += behaviour[there + i] * gradient[there + i]
            for action in range(arity):
                there = here + action * size
                for i in range(count):
                    instantaneous = gradient[there + i] - values[i]
                    regret = regrets[there + i]
                    regret = max(regret * (positive if regret > 0.0 else negative) + instantaneous, floor)
                    regrets[there + i] = regret
                    behaviour[there + i] = max(regret + prediction * instantaneous, 0.0)
                for i in range(count):
                    gradient[there + i] = 0.0
            if arity == TWO:
                there = here + size
                for i in range(count):
                    total = behaviour[here + i] + behaviour[there + i]
                    behaviour[here + i] = behaviour[here + i] / total if total > 0.0 else 0.5
                    behaviour[there + i] = behaviour[there + i] / total if total > 0.0 else 0.5
            else:
                for i in range(count):
                    totals[i] = behaviour[here + i]
                for action in range(ONE, arity):
                    there = here + action * size
                    for i in range(count):
                        totals[i] += behaviour[there + i]
                for action in range(arity):
                    there = here + action * size
                    for i in range(count):
                        behaviour[there + i] = behaviour[there + i] / totals[i] if totals[i] > 0.0 else uniform
            for i in range(count):
                gradient[parents[first + low + i]] += values[i]
    gradient[game.bases[player]] = 0.0


@compiled
def _top_down(game: Any, player: Any, state: Any, weight: Any) -> None:
    """Add ``weight`` times the plan to the sums, then replace it by the plan of the behaviour."""
    behaviour, plan, plan_sums = state.behaviour, state.plan, state.plan_sums
    reach, parents = state.scratch[0], game.parents
    plan_sums[game.bases[player]] += weight
    for b in range(np.uint64(game.bucket_ranges[player]), np.uint64(game.bucket_ranges[player + ONE])):
        start, size = np.uint64(game.buckets[b, 0]), np.uint64(game.buckets[b, 1])
        arity, first = np.uint64(game.buckets[b, 2]), np.uint64(game.buckets[b, 3])
        for low in range(ZERO, size, STEP):
            count = min(STEP, size - low)
            for i in range(count):
                reach[i] = plan[parents[first + low + i]]
            for action in range(arity):
                offset = start + action * size + low
                for i in range(count):
                    plan_sums[offset + i] += weight * plan[offset + i]
                    plan[offset + i] = reach[i] * behaviour[offset + i]


@compiled
def _best_response(game: Any, player: Any, gradient: Any, scratch: Any) -> Any:
    """Return the value of a best response to a gradient, which is left zero."""
    values, parents = scratch[0], game.parents
    first_bucket, b = np.uint64(game.bucket_ranges[player]), np.uint64(game.bucket_ranges[player + ONE])
    while b > first_bucket:
        b -= ONE
        start, size = np.uint64(game.buckets[b, 0]), np.uint64(game.buckets[b, 1])
        arity, first = np.uint64(game.buckets[b, 2]), np.uint64(game.buckets[b, 3])
        for low in range(ZERO, size, STEP):
            count = min(STEP, size - low)
            for i in range(count):
                values[i] = -np.inf
            for action in range(arity):
                offset = start + action * size + low
                for i in range(count):
                    values[i] = max(values[i], gradient[offset + i])
                    gradient[offset + i] = 0.0
            for i in range(count):
                gradient[parents[first + low + i]] += values[i]
    value = gradient[game.bases[player]]
    gradient[game.bases[player]] = 0.0
    return value


@compiled
def _exploitability(game: Any, plan: Any, gradient: Any, scratch: Any, row: Any) -> Any:
    """Return NashConv / n of the plans; write best-response values and payoffs of the players into ``row``."""
    num_players = np.uint64(len(game.bases)) - ONE
    nash_conv = 0.0
    for player in range(num_players):
        _add_gradient(game, player, plan, 1.0, gradient)
        payoff = 0.0
        for s in range(np.uint64(game.bases[player]), np.uint64(game.bases[player + ONE])):
            payoff += plan[s] * gradient[s]
        value = _best_response(game, player, gradient, scratch)
        row[player] = value
        row[player + num_players] = payoff
        nash_conv += value - payoff
    return nash_conv / np.float64(num_players)


@compiled
def _average(game: Any, state: Any) -> None:
    """Normalise the plan sums; a player without any weight yet averages to the current plan."""
    for player in range(np.uint64(len(game.bases)) - ONE):
        base = np.uint64(game.bases[player])
        weight = state.plan_sums[base]
        for s in range(base, np.uint64(game.bases[player + ONE])):
            state.average[s] = state.plan_sums[s] / weight if weight > 0.0 else state.plan[s]


@compiled
def _run(
    game: Any, state: Any, t: Any, iterations: Any, schedule: Any, rule: Any, alternating: Any, last_iterate: Any,
    tilted: Any, tilt: Any, scales: Any, next_check: Any, growth: Any, tolerance: Any,
    history_iterations: Any, history_values: Any,
) -> Any:  # fmt: skip
    """Do up to ``iterations`` updates after the first ``t``; see :meth:`Kernel.run`."""
    num_players = np.uint64(len(game.bases)) - ONE
    positive, negative, floor, prediction, power, delay = rule[0], rule[1], rule[2], rule[3], rule[4], rule[5]
    positive_factor, negative_factor = positive, negative
    last = t + iterations
    rows = 0
    exploitability = np.nan
    while True:
        if t >= next_check and rows < len(history_iterations):
            if not last_iterate:
                _average(game, state)
            plan = state.plan if last_iterate else state.average
            exploitability = _exploitability(game, plan, state.gradient, state.scratch, history_values[rows, 1:])
            history_iterations[rows] = t
            history_values[rows, 0] = exploitability
            rows += 1
            next_check = max(t + 1, np.int64(math.ceil(np.float64(t) * growth)))
            if exploitability <= tolerance:
                break
        if t >= last or rows == len(history_iterations):
            break
        if schedule == POWER:
            # The papers discount after the t-th update; discounting before the next one is the same.
            positive_factor = np.float64(t) ** positive / (np.float64(t) ** positive + 1.0)
            negative_factor = np.float64(t) ** negative / (np.float64(t) ** negative + 1.0)
        t += 1
        age = np.float64(t) - delay
        weight = age**power if age > 0.0 else 0.0
        for player in range(num_players):
            if tilted:
                for s in range(np.uint64(game.bases[player]), np.uint64(game.bases[player + ONE])):
                    state.gradient[s] = tilt[s]
            _add_gradient(game, player, state.plan, scales[player], state.gradient)
            _bottom_up(game, player, state, positive_factor, negative_factor, floor, prediction)
            if alternating:
                _top_down(game, player, state, weight)
        if not alternating:
            for player in range(num_players):
                _top_down(game, player, state, weight)
    return t, exploitability, rows, next_check


@dataclass(frozen=True)
class Rule:
    """The local regret minimiser and the averaging scheme, as numbers.

    At iteration ``t`` an infoset's regrets become ``max(d R + r, floor)`` with ``r`` the instantaneous regrets and ``d`` the
    discount of positive or negative regrets; the next behaviour is proportional to ``(R + prediction r)⁺``, uniform if that is
    zero everywhere. The plan from before update ``t`` counts ``max(t - delay, 0) ** averaging`` in the average.

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
        return KernelState(StateArrays(*(array.copy() for array in self.arrays)), self.iteration, self.next_check)


@dataclass(eq=False)
class Kernel:
    """The compiled loop on one game.

    Parameters
    ----------
    layout : KernelLayout

    Notes
    -----
    Every argument of a compiled function gets its type here: numba compiles anew, silently and for seconds, for an ``int`` in
    place of a ``float`` or a read-only array in place of a writable one.
    """

    layout: KernelLayout
    game: GameArrays = field(init=False, repr=False)

    def __post_init__(self) -> None:
        arrays = (getattr(self.layout, name) for name in GameArrays._fields)
        self.game = GameArrays(*(np.require(array, requirements=["C", "A", "W", "E"]) for array in arrays))

    def initial_state(self) -> KernelState:
        """Return the state before the first update: no regrets, uniform behaviour."""
        size = self.layout.size
        zeros = [np.zeros(size) for _ in range(6)]
        state = KernelState(StateArrays(*zeros, np.zeros((2, BLOCK))))
        state.arrays.behaviour[:] = 1.0
        for start, count, arity, _ in self.layout.buckets.tolist():
            state.arrays.behaviour[start : start + count * arity] = 1.0 / arity
        self.set_behaviour(state, state.arrays.behaviour)
        return state

    def set_behaviour(self, state: KernelState, behaviour: Floats) -> None:
        """Let a state play a behaviour (a kernel vector); regrets and averages stay as they are."""
        arrays = state.arrays
        arrays.behaviour[:] = behaviour
        arrays.plan[self.layout.bases[:-1]] = 1.0
        for player in range(self.layout.num_players):
            _top_down(self.game, np.uint64(player), arrays, 0.0)

    def run(
        self, state: KernelState, rule: Rule, iterations: int, *, tolerance: float = 0.0, growth: float = 1.1,
        alternating: bool = True, last_iterate: bool = False, tilt: Floats | None = None, scales: ArrayLike | None = None,
    ) -> Progress:  # fmt: skip
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
        done, exploitability, rows, next_check = _run(
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
        _average(self.game, state.arrays)
        return np.array(state.arrays.average)

    def exploitability(self, plan: Floats) -> float:
        """Return NashConv / n of plans (a kernel vector)."""
        plan = np.require(plan, dtype=np.float64, requirements=["C", "A", "W", "E"])
        row = np.zeros((1, 1 + 2 * self.layout.num_players))
        gradient, scratch = np.zeros(self.layout.size), np.zeros((2, BLOCK))
        return float(_exploitability(self.game, plan, gradient, scratch, row[0, 1:]))
