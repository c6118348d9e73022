"""The compiled loop on one game: its state, and calls with arguments of the right types."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...seqform.budget import most_threads
from ...seqform.sequence_form import SequenceForm
from ..compilation import PATIENCE, is_ready
from ..methods.rules import CFR, Rule
from ..team import in_company
from .arrays import (
    DONE,
    DUE,
    LoopArrays,
    MultiplierArrays,
    PartArrays,
    PreferenceArrays,
    RunArrays,
    StateArrays,
)
from .constraints import KernelConstraints
from .layout import KernelLayout, build_layout
from .local_rule import no_discounts, rule_numbers
from .loop import ON_ONE, run_loop
from .preferences import biases

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

HISTORY_ROWS = 512
CACHE_LINE = 64  # bytes
#: The largest length of vectors at which the loop is interpreted.
TINY = 256


@dataclass(frozen=True, eq=False)
class Report:
    """The result of one call of :meth:`Kernel.run`.

    Attributes
    ----------
    iterations : int
        Updates done since the start, including earlier calls.
    exploitability : float
        NashConv / n at the last check of this call, in payoff units; NaN without a check.
    converged : bool
        Whether the exploitability is within the tolerance.
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


def _zeros(shape: tuple[int, ...], number: Any = np.float64) -> Any:
    """Return zeros aligned to a cache line, so that aligned vector loads do not straddle two lines."""
    bytes_each = np.dtype(number).itemsize
    size, line = math.prod(shape), CACHE_LINE // bytes_each
    room = np.zeros(size + line, dtype=number)
    start = -(room.ctypes.data // bytes_each) % line
    return room[start : start + size].reshape(shape)


def _no_multipliers() -> MultiplierArrays:
    """Return empty multipliers, for a problem without constraints."""
    return MultiplierArrays._make(np.zeros((3, 0) if name == "tallies" else 0) for name in MultiplierArrays._fields)


@dataclass(eq=False)
class KernelState:
    """The state that an iteration changes. Its vectors are indexed by position; see :class:`KernelLayout`.

    Attributes
    ----------
    arrays : StateArrays
        Cumulative regrets, behaviour, plan, sums of plans, and the clock.
    multipliers : MultiplierArrays
        The multipliers of constraints; empty without constraints.
    origin : ndarray of float64, optional
        The regrets when averaging began, if they were not zero.
    preferences : PreferenceArrays, optional
        The bias of the local rule, if there is one.
    restarts : ndarray of float64, shape (3,)
        For methods that restart: the error at the last restart, the error at the last look, and the iteration of the
        next look.
    """

    arrays: StateArrays
    multipliers: MultiplierArrays
    origin: Floats | None = None
    preferences: PreferenceArrays | None = None
    restarts: Floats = field(default_factory=lambda: np.array([np.inf, np.inf, 0.0]))

    @property
    def sums(self) -> Floats:
        """The weighted sums of plans, as a kernel vector of float64."""
        arrays = self.arrays
        if not len(arrays.older):
            return np.asarray(arrays.plan_sums)
        return np.asarray(arrays.older * arrays.lag + arrays.plan_sums)

    @property
    def iteration(self) -> int:
        """Number of updates done."""
        return int(self.arrays.clock[DONE])

    @property
    def next_check(self) -> int:
        """The number of updates at which the certificate is computed next."""
        return int(self.arrays.clock[DUE])

    @next_check.setter
    def next_check(self, updates: int) -> None:
        self.arrays.clock[DUE] = updates

    def copy(self) -> KernelState:
        """Return an independent copy."""
        *numbers, clock = self.arrays
        copies = StateArrays._make([*(_zeros(array.shape, array.dtype) for array in numbers), clock.copy()])
        for copied, array in zip(copies[:-1], numbers, strict=True):
            copied[...] = array
        multipliers = MultiplierArrays._make([array.copy() for array in self.multipliers])
        preferences = self.preferences
        if preferences is not None:
            local, pricing = preferences.local, preferences.pricing
            preferences = preferences._replace(
                local=local._replace(costs=local.costs.copy()),
                pricing=pricing._replace(
                    seen=pricing.seen.copy(), kept=pricing.kept.copy(), recent=pricing.recent.copy()
                ),
            )
        origin = None if self.origin is None else self.origin.copy()
        return KernelState(copies, multipliers, origin, preferences, self.restarts.copy())

    @property
    def lasting(self) -> dict[str, Any]:
        """The arrays that persist between iterations, by name; each iteration recomputes the others."""
        arrays = self.arrays._asdict() | {
            f"multipliers_{name}": each for name, each in self.multipliers._asdict().items()
        }
        if self.preferences is not None:
            pricing = self.preferences.pricing
            arrays |= {"costs": self.preferences.local.costs, "seen": pricing.seen}
            arrays |= {"kept": pricing.kept, "recent": pricing.recent}
        arrays["restarts"] = self.restarts
        return {name: array for name, array in arrays.items() if name not in ("gradient", "average", "factors")}

    def average_anew(self) -> None:
        """Restart the averages without changing strategies, regrets or multipliers."""
        self.origin = np.array(self.arrays.regrets)
        self.arrays.plan_sums[:] = 0.0
        self.arrays.older[:] = 0.0
        multipliers = self.multipliers
        for sums in (multipliers.sums, multipliers.tallies, multipliers.slopes, multipliers.offsets):
            sums[:] = 0.0
        multipliers.average[:] = multipliers.values
        if self.preferences is not None:
            self.preferences.pricing.seen[:] = 0.0
        self.next_check = self.iteration + 1


@dataclass(eq=False)
class Kernel:
    """The compiled loop on one game.

    Parameters
    ----------
    layout : KernelLayout
    threads : int, optional
        Number of threads, which does not change any bit of the result; by default
        :func:`~treeplex.seqform.budget.most_threads`, or one if the game has no branches.

    Notes
    -----
    Every argument of a compiled function gets its type here, because numba silently recompiles for seconds if it
    receives an ``int`` instead of a ``float``, or a read-only array instead of a writable one.
    """

    layout: KernelLayout
    threads: int = 0
    _compiled: set[tuple[bool, ...]] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.threads == 0:
            self.threads = min(most_threads(), max(1, self.layout.num_branches))

    def initial_state(
        self,
        constraints: KernelConstraints | None = None,
        preferences: PreferenceArrays | None = None,
        regrets: Floats | None = None,
    ) -> KernelState:
        """Return the state before the first update, with multipliers of zero.

        Parameters
        ----------
        constraints : KernelConstraints, optional
        preferences : PreferenceArrays, optional
        regrets : ndarray of float64, shape (layout.size,), optional
            The first regrets, in payoff units; by default zero. Behaviour is then uniform unless actions are preferred.
        """
        multipliers = _no_multipliers() if constraints is None else constraints.initial_multipliers()
        number, size = self.layout.number, self.layout.size
        vectors = [_zeros((size,), number) for _ in range(6)]
        arrays = StateArrays._make([
            *vectors,
            _zeros((self.layout.num_factors,), number),
            _zeros((size if number is np.float32 else 0,)),
            np.ones(1),
            np.array([0, 1, 0], dtype=np.int64),
        ])  # fmt: skip
        state = KernelState(arrays, multipliers, preferences=preferences)
        if regrets is not None:
            state.arrays.regrets[:] = regrets / self.layout.unit
            state.origin = np.array(state.arrays.regrets)
        self.set_behaviour(state, self._chosen(state))
        return state

    def _chosen(self, state: KernelState) -> Floats:
        """Return the behaviour, as a kernel vector, that the local rule derives from a state's regrets."""
        behaviour: Floats = np.ones(self.layout.size)
        preferences = state.preferences
        weights = np.maximum(state.arrays.regrets, 0.0)
        if preferences is not None:
            degrees, fallback = biases(preferences.local, self.layout)
            weights = weights * degrees
        for start, count, arity, _ in self.layout.buckets.tolist():
            place = slice(start, start + count * arity)
            shares = weights[place].reshape(arity, count)
            chosen = np.full((arity, count), 1.0 / arity)
            if preferences is not None:
                chosen[:] = fallback[place].reshape(arity, count)
                if preferences.bias[0] == ON_ONE:
                    shares = np.where(np.arange(arity)[:, None] == shares.argmax(axis=0), shares, 0.0)
            totals = shares.sum(axis=0)
            behaviour[place] = np.divide(shares, totals, out=chosen, where=totals > 0.0).ravel()
        return behaviour

    def set_behaviour(self, state: KernelState, behaviour: Floats) -> None:
        """Set the behaviour of a state to a kernel vector, without changing regrets and averages."""
        arrays, layout = state.arrays, self.layout
        arrays.behaviour[:] = behaviour
        arrays.plan[:] = 0.0
        flow = not len(layout.parents)
        for base in layout.bases[:-1].tolist():
            arrays.plan[base : base + (layout.width if flow else 1)] = 1.0
        for start, count, arity, first in layout.buckets.tolist():
            above = layout.reach(arrays.plan, first, count)
            place = slice(start, start + count * arity)
            arrays.plan[place] = (arrays.behaviour[place].reshape(arity, count) * above).ravel()
            if flow:  # a reach is stored like an additional action that is always taken
                reaches = slice(place.stop, place.stop + count)
                arrays.plan[reaches], arrays.behaviour[reaches] = above, 1.0

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
        constraints: KernelConstraints | None = None,
        part: PartArrays | None = None,
    ) -> Report:
        """Do up to `iterations` more updates; stop when a certificate meets the tolerance.

        Ctrl-C takes effect when the call returns, so callers request updates for a fraction of a second at a time.
        Splitting a run into several calls does not change its result.

        Parameters
        ----------
        state : KernelState
            Changed in place.
        rule : Rule
        iterations : int
        tolerance : float
            Exploitability (NashConv / n) at which to stop, in payoff units.
        growth : float
            The next check is due after ``growth`` times the updates done, or sooner within twice the tolerance;
            infinity means no further check.
        alternating : bool
            Whether each player responds to the new plans of the players before it, or all respond to the old plans.
        last_iterate : bool
            Whether to certify the current plans instead of the averages.
        tilt : ndarray of float64, shape (layout.size,), optional
            Added to the gradient of every iteration, but not to the certificate's.
        scales : array_like of float, shape (num_players,), optional
            Factor of each player's gradient, applied before the tilt, but not to the certificate's.
        constraints : KernelConstraints, optional
            For two players. Their multipliers are in the state. The certificate is then that of the constrained
            problem: the exploitability is the larger of the gap and the largest violation.
        part : PartArrays, optional
            The part of the game that is solved, in trees; by default the whole game. The certificate is always of the
            whole game.

        Returns
        -------
        Report
        """
        layout, unit = self.layout, self.layout.unit
        checked = np.zeros(HISTORY_ROWS, dtype=np.int64)
        values = np.zeros((HISTORY_ROWS, 1 + 2 * layout.num_players))
        # Divide before rounding, since the unit may exceed the range of 32-bit floats.
        tilts = np.array(np.zeros(0) if tilt is None else tilt, dtype=np.float64) / unit
        loop = LoopArrays(
            game=layout.game,
            state=state.arrays,
            run=RunArrays(
                iterations=int(iterations),
                alternating=bool(alternating),
                last_iterate=bool(last_iterate),
                tilt=tilts.astype(layout.number),
                scales=np.array(np.ones(layout.num_players) if scales is None else scales, dtype=np.float64),
                tolerance=float(tolerance) / unit,
                growth=float(min(growth, 1e6)),
                checked=checked,
                values=values,
            ),
            rule=rule_numbers(rule, unit),
            now=no_discounts(),
            limits=None if constraints is None else constraints.limits(state.multipliers, last_iterate),
            preferences=state.preferences,
            part=part,
            branches=layout.branches(),
        )

        curved = constraints is not None and bool(constraints.curves.rows)
        exploitability, rows = self._run(loop, curved)
        if constraints is not None:
            constraints.curves.raise_error()
        converged = bool(exploitability <= tolerance / unit)
        values = values[:rows] * unit
        return Report(
            iterations=state.iteration,
            exploitability=float(exploitability) * unit,
            converged=converged,
            checked=checked[:rows],
            exploitabilities=values[:, 0],
            best_responses=values[:, 1 : 1 + layout.num_players],
            payoffs=values[:, 1 + layout.num_players :],
        )

    def _run(self, loop: LoopArrays, curved: bool) -> tuple[float, int]:
        """Return the exploitability at the last certificate and the number of certificates."""
        rows = 0
        signature = loop.limits is None, curved, loop.preferences is None, loop.part is None
        may_interpret = self.is_interpreted and not curved and signature not in self._compiled
        if may_interpret and not is_ready(run_loop, loop, True, np.uint64(0)):
            from .interpreted import interpret

            exploitability, rows, left = interpret(loop)
            if not left:
                return exploitability, rows
            run = loop.run
            loop = loop._replace(
                run=run._replace(iterations=left, checked=run.checked[rows:], values=run.values[rows:])
            )

        def call(leads: bool, first: int) -> tuple[float, int]:
            found: tuple[float, int] = run_loop(loop, leads, np.uint64(first))
            return found

        # Use one thread if the loop may have to be compiled first.
        threads = self.threads if signature in self._compiled else 1
        found, more = call(True, 0) if loop.branches is None else in_company(call, loop.branches.team, threads)
        self._compiled.add(signature)
        return found if more or not rows else exploitability, rows + more

    @property
    def is_interpreted(self) -> bool:
        """Whether Python may run the loop while it is not compiled yet."""
        return self.layout.size <= TINY and self.layout.number is np.float64 and PATIENCE.left > 0

    def average(self, state: KernelState) -> Floats:
        """Return the average plans as a kernel vector of float64; before the first update, the current plans."""
        average: Floats = state.arrays.plan.astype(np.float64)
        sums = state.sums
        for base, end in pairwise(self.layout.bases.tolist()):
            if sums[base] > 0.0:
                average[base:end] = sums[base:end] / sums[base]
        return average

    def average_multipliers(self, state: KernelState) -> Floats:
        """Return the average multipliers of rows; before the first update, the current ones."""
        weight = float(state.sums[self.layout.bases[0]])
        average: Floats = state.multipliers.sums / weight if weight > 0.0 else state.multipliers.values.copy()
        return average

    def certificate(self, plan: Floats) -> Report:
        """Return the certificate of a kernel vector of plans: exploitability, best-response values and payoffs."""
        state = self.initial_state()
        state.arrays.plan[:] = plan
        self.layout.fill_reaches(state.arrays.plan)
        state.next_check = 0
        return self.run(state, CFR, 0, last_iterate=True)

    def exploitability(self, plan: Floats) -> float:
        """Return NashConv / n of a kernel vector of plans."""
        return self.certificate(plan).exploitability


_kernels: WeakKeyDictionary[SequenceForm, dict[type, Kernel]] = WeakKeyDictionary()


def kernel_of(form: SequenceForm, number: type = np.float64) -> Kernel:
    """Return the compiled loop for a game and a number type; it is built once."""
    kernels = _kernels.setdefault(form, {})
    if number not in kernels:
        kernels[number] = Kernel(build_layout(form, number))
    return kernels[number]
