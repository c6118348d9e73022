"""The theorems on constrained CFR, compared with the measurements of a finished run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...models.problems import ConstrainedNash
from ...seqform.arrays import Floats
from ...seqform.checks import check_number
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.interchange.encoding import json_ready
from ...seqform.polytope import Treeplex, best_response_value
from ...seqform.sheet import Column, Table
from ..constrained_exploitability import constrained_exploitability, least_violation
from ..methods import CCFR
from ..solution import Solution
from ..solve import solve_part
from .ccfr_theorems import (
    BoundConstants,
    bound_constants,
    exploitability_bound,
    function_extent,
    largest_reaches,
    multiplier_regret_bound,
    player_regret_bound,
    refuse_opaque,
    violation_bound,
    violation_bound_above_price,
)
from .constraints import KernelConstraints
from .driver import RegretState
from .kernel import kernel_of


class MeasuredRun:
    """A run that the theorems on constrained CFR cover, with its measurements.

    Parameters
    ----------
    solution : Solution
    beta : float, optional
        As for :func:`~treeplex.solvers.regret.ccfr_bounds.ccfr_bounds`.

    Attributes
    ----------
    problem : ConstrainedNash
    iterations : int
        T, the number of averaged iterations.
    plans : list of ndarray of float64
        The average plans.
    profile : Profile
    beta : float
        The bound on the multipliers, in payoff units.
    fresh : bool
        Whether regrets began at zero, so that bounds on their growth are bounds on the regrets.

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
        self.rows = KernelConstraints.of(self.problem.canonical, layout)
        self.treeplexes = self.problem.game.sequence_form.treeplexes
        for one in self.problem.constraints:
            refuse_opaque(one)
        self.iterations = round(float(self.state.sums[layout.bases[0]]))
        if self.iterations < 1:
            raise UnsupportedProblemError("the run has not averaged any iterations yet: run at least one")
        average = self.kernel.average(self.state)
        self.plans = [layout.to_user(player, average) for player in range(2)]
        self.profile = solution.profile
        self.beta = self._beta(kept, beta)
        self.fresh = self.state.origin is None

    def _beta(self, kept: RegretState, beta: float | None) -> float:
        """Return the bound on the multipliers."""
        penalty = self.problem.penalty
        known = float(penalty) if penalty is not None else kept.bound.beta if kept.bound is not None else None
        if known is None and beta is None:
            raise UnsupportedProblemError(
                "the multipliers of this run are unbounded, but the theorems need a bound: pose the problem with "
                "a penalty, solve it with CCFR(beta=…), or pass a beta that the multipliers did not exceed"
            )
        if beta is not None:
            beta = check_number(beta, "beta", UnsupportedProblemError, "(0, inf)")
        if known is not None and beta is not None and beta != known:
            raise UnsupportedProblemError(f"beta is {beta:g}, but the multipliers of this run are bounded by {known:g}")
        chosen = known if known is not None else beta or 0.0
        if not chosen > 0.0:
            raise UnsupportedProblemError(f"the bound on the multipliers is {chosen:g}, expected more than 0")
        peak = max(self.rows.multipliers(self.state.multipliers.tallies[2]).values(), default=0.0)
        if peak > chosen * (1.0 + 1e-9):
            raise UnsupportedProblemError(
                f"a multiplier reached {peak:g} in this run, above beta {chosen:g}: pass a larger beta"
            )
        return chosen

    def of_player(self, player: int) -> slice:
        """Return the rows of a player."""
        first, last = self.rows.arrays.ranges[player : player + 2].tolist()
        return slice(first, last)

    def cumulative_regrets(self, player: int) -> Floats:
        """Return R(I, a) of the averaged iterations, by sequence, in payoff units."""
        regrets = self.state.arrays.regrets
        if self.state.origin is not None:
            regrets = regrets - self.state.origin
        return self.kernel.layout.to_user(player, regrets) * self.kernel.layout.unit

    def cumulative_gradient(self, player: int) -> Floats:
        """Return Σ_t of a player's payoff per sequence minus the cost of its multipliers, in payoff units."""
        gradient = self.iterations * self.problem.game.sequence_form.gradient(player, self.plans)
        multipliers = self.rows.multipliers(self.state.multipliers.sums)
        for one in self.problem.of_player(player):
            gradient[one.function.indices] -= multipliers[one.name] * one.function.coefficients
        curves, slopes = self.rows.curves, self.state.multipliers.slopes
        ends = iter(pairwise(curves.arrays.places.tolist()))
        for row in curves.rows:
            # The loop sums slopes of the function, divided by the row's unit, times multipliers.
            for term, scale, (first, last) in zip(row.terms, row.scales, ends, strict=False):
                if row.constraint.player == player:
                    gradient -= self.rows.unit * scale * (term.matrix.T @ slopes[first:last])
        return gradient

    def regret(self, player: int) -> float:
        """Return a player's regret over the run: the payoff of its best plan minus its actual payoff."""
        gradient = self.cumulative_gradient(player)
        got = _value_got(self.treeplexes[player], gradient, self.cumulative_regrets(player))
        return best_response_value(self.treeplexes[player], gradient) - got

    def infoset_regret(self, player: int) -> float:
        """Return Σ over infosets of max_a R(I, a)⁺, each times the largest reach of a plan."""
        treeplex, regrets = self.treeplexes[player], self.cumulative_regrets(player)
        if not treeplex.num_infosets:
            return 0.0
        largest = np.maximum.reduceat(np.maximum(regrets, 0.0), treeplex.offsets[:-1])
        return float(largest @ largest_reaches(treeplex))

    def multiplier_regret(self, player: int) -> float:
        """Return max over λ* from 0 to β of Σ_t Σ_i (λ*_i − λ_i,t) f_i(x_t), for a player's constraints.

        For a nonlinear f_i, the tangent of iteration t replaces f_i. If T f_i(x̄) exceeds the sum of the tangents, it
        replaces the sum. This happens only where slopes are learned, at kinks, and the difference is the regret of the
        slopes.
        """
        part = self.of_player(player)
        totals = (self.state.multipliers.tallies[0] * self.rows.units)[part]
        averages = [one.value(self.plans[player]) for one in self.problem.of_player(player)]
        charges = (self.state.multipliers.tallies[1] * self.rows.unit)[part]
        worst = np.maximum(totals, self.iterations * np.array(averages))
        return float(self.beta * np.maximum(worst, 0.0).sum() - charges.sum())

    def step_regret_bound(self, player: int) -> float:
        """Return the bound on the multipliers' regret that follows from the step sizes.

        The bound is infinite if a function has kinks, where slopes have their own regret, or if no bound is known on
        its tangents.
        """
        total = 0.0
        rates = 1.0 if self.method.step_unit == "plain" else 1.0 / self.rows.rates
        steps = np.broadcast_to(self.method.step * rates, self.rows.units.shape)[self.of_player(player)].tolist()
        for one, step in zip(self.problem.of_player(player), steps, strict=True):
            low, high, spread = function_extent(one, self.treeplexes[player])
            largest = max(abs(low), abs(high))
            if not one.function.is_affine and self.method.tangents == "average":
                largest += spread
            if largest == math.inf or any(term.is_linear for term in one.function.terms):
                return math.inf
            alone = BoundConstants(0.0, 0, 1, constraints=1, largest=largest)
            decreasing = self.method.steps == "decreasing"
            total += multiplier_regret_bound(alone, self.beta, self.iterations, step, decreasing)
        return total


def best_step(problem: ConstrainedNash, beta: float, iterations: int) -> float:
    """Return the constant ``step`` of :class:`~treeplex.CCFR` that minimises the bound on the regret of multipliers.

    Parameters
    ----------
    problem : ConstrainedNash
    beta : float
        The bound on the multipliers, in payoff units.
    iterations : int
        T, the number of iterations of the run.

    Returns
    -------
    float
        In the method's units: a multiplier moves by step · u / c² times the violation, where u is the largest
        payoff and c the constraint's largest coefficient, or the size of its slopes. With one constraint, or
        several of equal c and G, this is β / (G √T) as in corollary 3.1 of Davis, Waugh and Bowling 2019. Otherwise
        it is a compromise between the constraints.

    Raises
    ------
    UnsupportedProblemError
        If no bound is known on the values of a constraint, or no constraint restricts the plan.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game
    >>> from treeplex.models.constraints import behaviour_bound
    >>> from treeplex.solvers.regret.ccfr_bounds import best_step
    >>> game = load_game("kuhn")
    >>> bluff = behaviour_bound(game, 0, "J_", "b", at_least=0.5, name="bluff")
    >>> best_step(ConstrainedNash(game, [bluff]), beta=1.0, iterations=10_000)
    0.01
    """
    layout = kernel_of(problem.game.sequence_form).layout
    rows = KernelConstraints.of(replace(problem, penalty=None).canonical, layout)
    treeplexes = problem.game.sequence_form.treeplexes
    own = [one for player in range(2) for one in problem.of_player(player)]
    largest = np.array([np.abs(function_extent(one, treeplexes[one.player])[:2]).max() for one in own])
    if not largest.any():
        raise UnsupportedProblemError("no constraint restricts the plan: every function is 0 everywhere")
    for constraint, size in zip(own, largest.tolist(), strict=True):
        if size == math.inf:
            raise UnsupportedProblemError(f"no bound is known for the values of constraint {shown(constraint.name)}")
    spread = (rows.units**2).sum() / ((largest / rows.units) ** 2).sum()
    return float(beta / (layout.unit * math.sqrt(iterations)) * math.sqrt(spread))


def _check_covered(solution: Any) -> None:
    """Raise an error if the theorems do not cover a solution."""
    if not isinstance(solution, Solution) or not isinstance(solution.problem, ConstrainedNash):
        raise UnsupportedProblemError(f"{shown(solution)} is not a solution of a constrained problem")
    method = solution.method
    recipe = 'CCFR(base="cfr", updates="simultaneous", averaging="uniform", steps="constant" or "decreasing")'
    if not isinstance(method, CCFR):
        raise UnsupportedProblemError(
            f"the theorems apply to constrained CFR, not to {method.name}: solve with {recipe}"
        )
    asked = {"base": ("cfr",), "updates": ("simultaneous",), "averaging": ("uniform",), "iterate": ("average",)}
    for option, covered in (asked | {"steps": ("constant", "decreasing")}).items():
        if getattr(method, option) not in covered:
            raise UnsupportedProblemError(
                f"the theorems do not cover {option}={getattr(method, option)!r}: solve with {recipe}"
            )
    if isinstance(solution.state, RegretState) and solution.state.kernel.layout.number is not np.float64:
        raise UnsupportedProblemError(
            "the bounds are computed from the regrets of the run, which was in single precision: solve with "
            'precision="double"'
        )
    if solution.problem.penalty is not None and solution.problem.penalise == "largest":
        raise UnsupportedProblemError(
            "the theorems bound each multiplier, but penalise='largest' bounds their sum: use penalise='sum'"
        )
    if not isinstance(solution.state, RegretState):
        raise UnsupportedProblemError(
            f"the run ended as {solution.status} and has no averages: pose the problem with a penalty"
        )


def _value_got(treeplex: Treeplex, gradient: Floats, regrets: Floats) -> float:
    """Return a player's total payoff over a run, from its cumulative gradient and its regrets at infosets.

    R(I, a) = Q(I, a) − V(I), and Q(I, a) is the gradient plus the V of the infosets below.
    """
    values = gradient.copy()
    for level in reversed(treeplex.levels):
        got = values[level.sequences] - regrets[level.sequences]  # the same for all actions at an infoset
        level.pass_up(np.add.reduceat(got, level.starts) / level.counts, values)
    return float(values[0])


#: The error allowed for linear programs, relative to the compared numbers and to the range of payoffs.
ROUND_OFF = 1e-7


@dataclass(frozen=True)
class Bound:
    """One bound of a theorem, and the actual value.

    Attributes
    ----------
    name : str
        The theorem.
    quantity : str
        The bounded quantity.
    actual, bound : float
        In payoff units; violations in the units of their constraints.
    measured : bool
        Whether the bound uses the run's own regrets. Otherwise it uses constants of the problem and, in theorems 1
        to 3 and 5, the measured regret of the multipliers.
    slack : float
        The allowance for round-off.
    """

    name: str
    quantity: str
    actual: float
    bound: float
    measured: bool
    slack: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the actual value is at most the bound."""
        return self.actual <= self.bound + self.slack


@dataclass(frozen=True, eq=False)
class CCFRBounds:
    """The result of a run of constrained CFR, with the bounds of the theorems.

    Attributes
    ----------
    iterations : int
        T, the number of averaged iterations.
    beta : float
        The bound on the multipliers, in payoff units.
    constants : BoundConstants
    regrets : tuple of float
        Each player's regret over the run, in the payoff that includes the cost of its multipliers.
    infoset_regrets : tuple of float
        The sums over infosets of max_a R(I, a)⁺, which bound the regrets.
    multiplier_regrets : tuple of float
        The regret of each player's multipliers, equation 12.
    total_regret : float
        ρ, the sum of these regrets divided by T.
    exploitability : float
        The constrained exploitability of the averages.
    violations : mapping of str to float
        By constraint.
    bounds : tuple of Bound
    """

    iterations: int
    beta: float
    constants: BoundConstants
    regrets: tuple[float, ...]
    infoset_regrets: tuple[float, ...]
    multiplier_regrets: tuple[float, ...]
    total_regret: float
    exploitability: float
    violations: Mapping[str, float]
    bounds: tuple[Bound, ...]

    @property
    def holds(self) -> bool:
        """Whether all bounds hold."""
        return all(bound.holds for bound in self.bounds)

    def __str__(self) -> str:
        numbers = [Column(name, "{:.4g}".format) for name in ("actual", "at most")]
        rows = [
            (one.name + ", measured" * one.measured, one.quantity, one.actual + 0.0, one.bound, one.holds)
            for one in self.bounds
        ]
        holds = Column("holds", lambda holds: "yes" if holds else "no")
        return str(Table([Column("bound"), Column("on"), *numbers, holds], rows))

    def to_dict(self) -> dict[str, Any]:
        """Return the data as plain numbers and strings, ready for JSON."""
        record = {one.name: getattr(self, one.name) for one in fields(self)}
        bounds = [
            {name: value for name, value in asdict(one).items() if name != "slack"} | {"holds": one.holds}
            for one in self.bounds
        ]
        return json_ready(record | {"constants": asdict(self.constants), "bounds": bounds})  # type: ignore[no-any-return]


def ccfr_bounds(solution: Solution, beta: float | None = None) -> CCFRBounds:
    """Compare a run of constrained CFR with the bounds of its theorems.

    Parameters
    ----------
    solution : Solution
        A solution of :class:`~treeplex.ConstrainedNash` by ``CCFR(base="cfr", updates="simultaneous",
        steps="constant")`` or with ``steps="decreasing"``. Nonlinear constraints may be linearised at the iterates,
        as in the paper, or at the averages.
    beta : float, optional
        The bound on the multipliers, if the problem has no penalty and the method no ``beta``. They must not have
        exceeded it in the run.

    Returns
    -------
    CCFRBounds
        Its ``bounds`` list each theorem's bounded quantity, its bound and its actual value. Bounds from a problem's
        constants are omitted if a constant is infinite, or if the run began with regrets: after a doubling of beta,
        or from a profile.

    Raises
    ------
    UnsupportedProblemError
        If the theorems do not cover the run.
    SolverError
        If a linear or conic program fails; the constrained exploitability, the least violation and the prices λ*
        need one program each.

    Notes
    -----
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), theorems 1 to 5 and corollary 3.1. If both players are constrained, each has multipliers, and
    regrets and violations include those of both players. With ρ the sum of all regrets divided by T, the proofs give
    more than the theorems state: exploitability is at most ρ, and so is Σ (β − λ*_i) f_i(x̄)⁺. A player's own regret is
    computed without storing iterates: the averages determine its cumulative gradient, and together with its regrets at
    infosets the gradient determines its total payoff.

    A convex f_i is charged by a tangent f_i,t of each iteration, whose subgradient tilts the player's payoffs. The
    proofs need two properties of these tangents: no tangent is above f_i, and Σ_t f_i,t(x_t) ≥ T f_i(x̄). With these
    properties

    - lemma 3 and theorem 4 bound the regret against f_i,t, and, because f_i,t ≤ f_i, also the gain of any x* in f_i;
    - theorems 1, 2, 3 and 5 follow from the sum of regrets as for linear constraints, with f_i,t(x_t) in place of
      f_i(x_t) in the regret of the multipliers;
    - corollary 3.1 bounds that regret if abs(f_i,t(x_t)) ≤ G.

    Tangents at the iterates, f_i,t(x_t) = f_i(x_t), have the second property by Jensen's inequality. Tangents at the
    averages so far have it by theorem 1 of A. Cutkosky, "Anytime online-to-batch, optimism and acceleration", ICML
    2019. At the kinks of ℓ1 and ℓ∞ norms and of maxima, slopes are learned. The second property then holds up to their
    regret, which is added to that of the multipliers; the corollary does not cover it. Subgradients of relative
    entropies are unbounded, so theorem 4 and all bounds from constants are then omitted.

    Examples
    --------
    >>> from treeplex import CCFR, ConstrainedNash, load_game, solve
    >>> from treeplex.models.constraints import behaviour_bound
    >>> from treeplex.solvers.regret.ccfr_bounds import ccfr_bounds
    >>> game = load_game("kuhn")
    >>> bluff = behaviour_bound(game, 0, "J_", "b", at_least=0.5, name="bluff")
    >>> method = CCFR(base="cfr", updates="simultaneous", steps="constant")
    >>> solution = solve(ConstrainedNash(game, [bluff], penalty=1), method, tol=0, max_iterations=1000)
    >>> found = ccfr_bounds(solution)
    >>> found.holds
    True
    >>> 0 <= found.exploitability <= found.total_regret < 0.02
    True
    >>> [(one.name, one.measured) for one in found.bounds][:2]
    [('theorem 1', True), ('theorem 1', False)]
    """
    run = MeasuredRun(solution, beta)
    problem, both = run.problem, range(2)
    regrets = tuple(run.regret(player) for player in both)
    multiplier_regrets = tuple(run.multiplier_regret(player) for player in both)
    found = CCFRBounds(
        iterations=run.iterations,
        beta=run.beta,
        constants=bound_constants(problem),
        regrets=regrets,
        infoset_regrets=tuple(run.infoset_regret(player) for player in both),
        multiplier_regrets=multiplier_regrets,
        total_regret=(sum(regrets) + sum(multiplier_regrets)) / run.iterations,
        exploitability=constrained_exploitability(problem, run.profile),
        violations={one.name: max(0.0, one.value(run.plans[one.player])) for one in problem.constraints},
        bounds=(),
    )
    least = [least_violation(problem, player) for player in both]
    steps = [run.step_regret_bound(player) for player in both]
    bounds = [
        *_of_exploitability(found, max(least), sum(steps)),
        *_of_violations(found, problem, least),
        *_of_prices(found, *_prices(problem, least), sum(steps)),
        *_of_regrets(found, problem, steps),
    ]
    # Bounds from constants apply to runs that began without regrets, and need finite constants.
    told = [one for one in bounds if one.measured or (run.fresh and one.bound < math.inf)]
    return replace(found, bounds=tuple(told))


def bounds_of_regrets(found: CCFRBounds, problem: ConstrainedNash) -> list[Bound]:
    """Return the theorems' bounds on exploitability and violations for given regrets.

    Parameters
    ----------
    found : CCFRBounds
        The regrets, or bounds on them; its ``bounds`` are ignored.
    problem : ConstrainedNash
    """
    least = [least_violation(problem, player) for player in range(2)]
    told = (
        *_of_exploitability(found, max(least), 0.0),
        *_of_violations(found, problem, least),
        *_of_prices(found, *_prices(problem, least), 0.0),
    )
    return [one for one in told if one.measured]


def _bound(
    found: CCFRBounds, name: str, quantity: str, actual: float, bound: float, measured: bool, unit: float = 1.0
) -> Bound:
    """Return a bound; ``unit`` is the value of one payoff unit in the bound's unit."""
    slack = ROUND_OFF * (abs(actual) + unit * (found.constants.payoff_range or 1.0))
    return Bound(name, quantity, actual, bound, measured, slack)


def _of_exploitability(found: CCFRBounds, least: float, steps: float) -> Iterator[Bound]:
    known, actual = (found.constants, found.beta, found.iterations), found.exploitability
    name = "theorem 5" if least > 0.0 else "theorem 1"
    yield _bound(found, name, "exploitability", actual, found.total_regret, measured=True)
    a_priori = exploitability_bound(*known, sum(found.multiplier_regrets))
    yield _bound(found, name, "exploitability", actual, a_priori, measured=False)
    if not least > 0.0:
        a_priori = exploitability_bound(*known, steps)
        yield _bound(found, "corollary 3.1", "exploitability", actual, a_priori, measured=False)


def _of_violations(found: CCFRBounds, problem: ConstrainedNash, least: Sequence[float]) -> Iterator[Bound]:
    for player in range(2):
        own = problem.of_player(player)
        if not own:
            continue
        constants, regret = bound_constants(problem, player), found.multiplier_regrets[player]
        actual = sum(found.violations[one.name] for one in own)
        name, what = "theorem 5" if least[player] > 0.0 else "theorem 2", f"violations of player {player}"
        spent = (found.regrets[player] + regret) / found.iterations + constants.payoff_range
        yield _bound(found, name, what, actual, least[player] + spent / found.beta, True, 1.0 / found.beta)
        a_priori = violation_bound(constants, found.beta, found.iterations, regret, least[player])
        yield _bound(found, name, what, actual, a_priori, False, 1.0 / found.beta)


def _prices(problem: ConstrainedNash, least: Sequence[float]) -> tuple[Mapping[str, float], float]:
    """Return λ*, the multipliers of an optimum without a penalty, and the distance of their bound from the optimum.

    There are no multipliers if there is no such optimum.
    """
    if not problem.constraints or max(least) > 0.0:
        return {}, 0.0
    exact = solve_part(
        ConstrainedNash(problem.game, problem.constraints)
    )  # multipliers that prove the optimum together
    return (exact.multipliers, max(0.0, exact.gap or 0.0)) if exact.status.is_success else ({}, 0.0)


def _of_prices(found: CCFRBounds, prices: Mapping[str, float], error: float, steps: float) -> Iterator[Bound]:
    # Violating a constraint whose price is above β may pay, which hides the costs of the other constraints.
    if max(prices.values(), default=0.0) > found.beta:
        return
    for name, actual in found.violations.items():
        room = found.beta - prices.get(name, math.inf)
        if room <= 0.0:
            continue
        what, known = f"violation of {name}", (found.constants, found.beta, found.iterations, prices[name])
        yield _bound(found, "theorem 3", what, actual, (found.total_regret + error) / room, True, 1.0 / room)
        for theorem, regret in (("theorem 3", sum(found.multiplier_regrets)), ("corollary 3.1", steps)):
            a_priori = violation_bound_above_price(*known, regret)
            yield _bound(found, theorem, what, actual, a_priori, False, 1.0 / room)


def _of_regrets(found: CCFRBounds, problem: ConstrainedNash, steps: Sequence[float]) -> Iterator[Bound]:
    for player in range(2):
        what, of_infosets = f"regret of player {player}", found.infoset_regrets[player] / found.iterations
        yield _bound(found, "lemma 3", what, found.regrets[player] / found.iterations, of_infosets, measured=True)
        a_priori = player_regret_bound(bound_constants(problem, player), found.beta, found.iterations)
        yield _bound(found, "theorem 4", what, of_infosets, a_priori, measured=False)
    for player in range(2):
        if problem.of_player(player):
            what, actual = f"regret of multipliers {player}", found.multiplier_regrets[player] / found.iterations
            yield _bound(found, "corollary 3.1", what, actual, steps[player] / found.iterations, measured=False)
