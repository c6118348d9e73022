"""What a finished run of constrained CFR has measured: the regrets of players and of multipliers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...models.problems import ConstrainedNash
from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.evaluate import best_response_value
from ...seqform.polytope import Treeplex
from ..methods import CCFR
from ..solution import Solution
from .ccfr_constants import function_range, largest_reaches
from .ccfr_theorems import BoundConstants, multiplier_regret_bound
from .constraints import KernelConstraints
from .driver import RegretState
from .kernel import kernel_of


class MeasuredRun:
    """A run that the theorems on constrained CFR cover, and what it has measured.

    Parameters
    ----------
    solution : Solution
    beta : float, optional
        As :func:`~treeplex.solvers.regret.ccfr_bounds.ccfr_bounds` takes them.

    Attributes
    ----------
    problem : ConstrainedNash
    iterations : int
        T, those that are averaged.
    plans : list of ndarray of float64
        Their averages.
    profile : Profile
    beta : float
        What has bounded the multipliers, payoff units.
    fresh : bool
        Whether regrets began at zero, so that bounds on their growth are bounds on them.

    Raises
    ------
    UnsupportedProblemError
        If the theorems do not cover the run.
    """

    def __init__(self, solution: Solution, beta: float | None = None) -> None:
        _check_covered(solution)
        self.problem: ConstrainedNash = solution.problem  # type: ignore[assignment]
        self.method: CCFR = solution.method
        kept: RegretState = solution.state
        self.kernel, self.state = kept.kernel, kept.state
        layout = self.kernel.layout
        self.rows = KernelConstraints.of(self.problem, layout)
        self.treeplexes = self.problem.game.sequence_form.treeplexes
        self.iterations = round(float(self.state.sums[layout.bases[0]]))
        if self.iterations < 1:
            raise UnsupportedProblemError("the run has averaged no iterations yet: run at least one")
        average = self.kernel.average(self.state)
        self.plans = [layout.to_user(player, average) for player in range(2)]
        self.profile = solution.profile
        self.beta = self._beta(kept, beta)
        self.fresh = self.state.origin is None

    def _beta(self, kept: RegretState, beta: float | None) -> float:
        """Return what has bounded the multipliers."""
        penalty = self.problem.penalty
        known = float(penalty) if penalty is not None else kept.bound.beta if kept.bound is not None else None
        if known is None and beta is None:
            raise UnsupportedProblemError(
                "the multipliers of this run are free, and the theorems are about bounded ones: pose the problem with "
                "a penalty, solve it by CCFR(beta=…), or give here a beta that they did not exceed"
            )
        if beta is not None and (
            isinstance(beta, bool) or not isinstance(beta, int | float) or not 0.0 < beta < math.inf
        ):
            raise UnsupportedProblemError(f"beta is {shown(beta)}, expected a number above 0")
        if known is not None and beta is not None and beta != known:
            raise UnsupportedProblemError(f"beta is {beta:g}, but the multipliers of this run are bounded by {known:g}")
        chosen = known if known is not None else float(beta or 0.0)
        if not chosen > 0.0:
            raise UnsupportedProblemError(f"the multipliers are bounded by {chosen:g}, and the theorems divide by that")
        peak = max(self.rows.multipliers(self.state.multipliers.tallies[2]).values(), default=0.0)
        if peak > chosen * (1.0 + 1e-9):
            raise UnsupportedProblemError(
                f"a multiplier has come to {peak:g} in this run, above beta {chosen:g}: give a larger beta"
            )
        return chosen

    def of_player(self, player: int) -> slice:
        """Return which rows are a player's."""
        first, last = self.rows.arrays.ranges[player : player + 2].tolist()
        return slice(first, last)

    def cumulative_regrets(self, player: int) -> Floats:
        """Return R(I, a) of the averaged iterations, by sequence, payoff units."""
        regrets = self.state.arrays.regrets
        if self.state.origin is not None:
            regrets = regrets - self.state.origin
        return self.kernel.layout.to_user(player, regrets) * self.kernel.layout.unit

    def cumulative_gradient(self, player: int) -> Floats:
        """Return Σ_t of a player's payoff per sequence, less what its multipliers took, payoff units."""
        gradient = self.problem.game.sequence_form.gradient(player, self.plans).copy()
        multipliers = self.rows.multipliers(self.kernel.average_multipliers(self.state))
        for one in self.problem.of_player(player):
            slope, _ = one.minorant(self.plans[player])
            gradient -= multipliers[one.name] * slope
        return self.iterations * gradient

    def regret(self, player: int) -> float:
        """Return a player's regret over the run: what its best plan would have got, less what it got."""
        gradient = self.cumulative_gradient(player)
        got = _value_got(self.treeplexes[player], gradient, self.cumulative_regrets(player))
        return best_response_value(self.treeplexes[player], gradient) - got

    def infoset_regret(self, player: int) -> float:
        """Return Σ over infosets of max_a R(I, a)⁺, each times the most that a plan brings there."""
        treeplex, regrets = self.treeplexes[player], self.cumulative_regrets(player)
        if not treeplex.num_infosets:
            return 0.0
        largest = np.maximum.reduceat(np.maximum(regrets, 0.0), treeplex.offsets[:-1])
        return float(largest @ largest_reaches(treeplex))

    def multiplier_regret(self, player: int) -> float:
        """Return max over λ* from 0 to β of Σ_t Σ_i (λ*_i − λ_i,t) f_i(x_t), of a player's constraints."""
        part = self.of_player(player)
        totals = (self.state.multipliers.tallies[0] * self.rows.units)[part]
        charges = (self.state.multipliers.tallies[1] * self.rows.unit)[part]
        return float(self.beta * np.maximum(totals, 0.0).sum() - charges.sum())

    def step_regret_bound(self, player: int) -> float:
        """Return what the sizes of steps say that the multipliers' regret is at most."""
        total = 0.0
        units = self.rows.units[self.of_player(player)].tolist()
        for one, unit in zip(self.problem.of_player(player), units, strict=True):
            low, high = function_range(one, self.treeplexes[player])
            alone = BoundConstants(0.0, 0, 1, constraints=1, largest=max(abs(low), abs(high)))
            step = self.method.step * self.rows.unit / unit**2
            decreasing = self.method.steps == "decreasing"
            total += multiplier_regret_bound(alone, self.beta, self.iterations, step, decreasing)
        return total


def best_step(problem: ConstrainedNash, beta: float, iterations: int) -> float:
    """Return the constant ``step`` of :class:`~treeplex.CCFR` that promises the least regret of multipliers.

    Parameters
    ----------
    problem : ConstrainedNash
        With linear constraints.
    beta : float
        What bounds the multipliers, payoff units.
    iterations : int
        T, how long the run is going to be.

    Returns
    -------
    float
        In the method's units: a constraint moves by step · u / c² times its violation, with u the largest payoff and c
        its largest coefficient. With one constraint that is β / (G √T), as corollary 3.1 of Davis, Waugh and Bowling
        2019 wants it, and so it is with several of equal c and G; else it is a compromise between them.

    Raises
    ------
    UnsupportedProblemError
        If a constraint is not linear, or there is none.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game
    >>> from treeplex.models.constraints import behaviour_bound
    >>> from treeplex.solvers.regret.ccfr_run import best_step
    >>> game = load_game("kuhn")
    >>> bluff = behaviour_bound(game, 0, "J_", "b", at_least=0.5, name="bluff")
    >>> best_step(ConstrainedNash(game, [bluff]), beta=1.0, iterations=10_000)
    0.01
    """
    layout = kernel_of(problem.game.sequence_form).layout
    rows = KernelConstraints.of(replace(problem, penalty=None), layout)
    treeplexes = problem.game.sequence_form.treeplexes
    own = [one for player in range(2) for one in problem.of_player(player)]
    largest = np.array([np.abs(function_range(one, treeplexes[one.player])).max() for one in own])
    if not largest.any():
        raise UnsupportedProblemError("no constraint of the problem has a function that is not 0 everywhere")
    spread = (rows.units**2).sum() / ((largest / rows.units) ** 2).sum()
    return float(beta / (layout.unit * math.sqrt(iterations)) * math.sqrt(spread))


def _check_covered(solution: Any) -> None:
    """Refuse what the theorems are not about."""
    if not isinstance(solution, Solution) or not isinstance(solution.problem, ConstrainedNash):
        raise UnsupportedProblemError(f"{shown(solution)} is no solution of a constrained problem")
    method = solution.method
    recipe = 'CCFR(base="cfr", updates="simultaneous", averaging="uniform", steps="constant" or "decreasing")'
    if not isinstance(method, CCFR):
        raise UnsupportedProblemError(f"the theorems are about constrained CFR, not {method.name}: solve by {recipe}")
    asked = {"base": ("cfr",), "updates": ("simultaneous",), "averaging": ("uniform",), "iterate": ("average",)}
    for option, covered in (asked | {"steps": ("constant", "decreasing")}).items():
        if getattr(method, option) not in covered:
            raise UnsupportedProblemError(
                f"the theorems do not cover {option}={getattr(method, option)!r}: solve by {recipe}"
            )
    if isinstance(solution.state, RegretState) and solution.state.kernel.layout.number is not np.float64:
        raise UnsupportedProblemError(
            "the run was in single precision, and the theorems' bounds are computed from its regrets: solve with "
            'precision="double"'
        )
    if solution.problem.penalty is not None and solution.problem.penalise == "largest":
        raise UnsupportedProblemError(
            "the theorems bound each multiplier, and penalise='largest' bounds their sum: penalise the sum"
        )
    if not isinstance(solution.state, RegretState):
        raise UnsupportedProblemError(
            f"the run ended as {solution.status} and has left no averages: pose the problem with a penalty"
        )


def _value_got(treeplex: Treeplex, gradient: Floats, regrets: Floats) -> float:
    """Return what a player got over a run: its cumulative gradient and its regrets at infosets determine it.

    R(I, a) = Q(I, a) − V(I), and Q(I, a) is the gradient there and what comes from the V of infosets further on.
    """
    values = gradient.copy()
    for level in reversed(treeplex.levels):
        got = values[level.sequences] - regrets[level.sequences]  # the same for all actions at an infoset
        level.pass_up(np.add.reduceat(got, level.starts) / level.counts, values)
    return float(values[0])
