"""The theorems on constrained CFR beside what a finished run has measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ...models.problems import ConstrainedNash
from ..constrained_exploitability import constrained_exploitability, least_violation
from ..solution import Solution, json_ready
from .ccfr_constants import bound_constants
from .ccfr_run import MeasuredRun
from .ccfr_theorems import (
    BoundConstants,
    exploitability_bound,
    player_regret_bound,
    violation_bound,
    violation_bound_above_price,
)

#: What linear programs may be wrong by, relative to what is compared and to the range of payoffs.
ROUND_OFF = 1e-7


@dataclass(frozen=True)
class Bound:
    """One promise of a theorem, and what became of it.

    Attributes
    ----------
    name : str
        The theorem.
    quantity : str
        What is bounded.
    actual, bound : float
        Payoff units, violations in units of their constraints.
    measured : bool
        Whether the bound is made of the run's own regrets; else of constants of the problem and, in theorems 1 to 3 and
        5, of the measured regret of the multipliers.
    slack : float
        What round-off may add.
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
    """What a run of constrained CFR has come to, and what the theorems promised.

    Attributes
    ----------
    iterations : int
        T, those that are averaged.
    beta : float
        What bounds the multipliers, payoff units.
    constants : BoundConstants
    regrets : tuple of float
        Each player's regret over the run, in the payoff that takes its multipliers into account.
    infoset_regrets : tuple of float
        The sums over infosets of max_a R(I, a)⁺ that bound them.
    multiplier_regrets : tuple of float
        Of each player's multipliers, equation 12.
    total_regret : float
        All of these regrets, divided by T: ρ.
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
        rows = [("bound", "on", "actual", "at most", "holds")]
        for one in self.bounds:
            holds = "yes" if one.holds else "no"
            name = f"{one.name}, measured" if one.measured else one.name
            rows.append((name, one.quantity, f"{one.actual + 0.0:.4g}", f"{one.bound:.4g}", holds))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        lines = ["  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join(line.rstrip() for line in lines)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain numbers and strings, ready for JSON."""
        record = {one.name: getattr(self, one.name) for one in fields(self)}
        bounds = [
            {name: value for name, value in asdict(one).items() if name != "slack"} | {"holds": one.holds}
            for one in self.bounds
        ]
        return json_ready(record | {"constants": asdict(self.constants), "bounds": bounds})  # type: ignore[no-any-return]


def ccfr_bounds(solution: Solution, beta: float | None = None) -> CCFRBounds:
    """Hold a run of constrained CFR against the theorems about it.

    Parameters
    ----------
    solution : Solution
        Of :class:`~treeplex.ConstrainedNash` with linear constraints, by
        ``CCFR(base="cfr", updates="simultaneous", steps="constant")`` or with ``steps="decreasing"``.
    beta : float, optional
        What bounds the multipliers, where the problem has no penalty and the method no ``beta``. They must not have
        exceeded it in the run.

    Returns
    -------
    CCFRBounds
        Its ``bounds`` say of each theorem what it bounds, by what, and what the value is. Those that start from a
        problem's constants are left out of runs that began with regrets: after a doubling of beta, or from a profile.

    Raises
    ------
    UnsupportedProblemError
        If the theorems do not cover the run.
    SolverError
        If a linear program breaks down; the constrained exploitability, the least violation and the prices λ* need one
        each.

    Notes
    -----
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), theorems 1 to 5 and corollary 3.1; where both players are constrained each has multipliers, and
    regrets and violations are those of both. With ρ the sum of all regrets, divided by T, the proofs give more than the
    theorems say: exploitability is at most ρ, and Σ (β − λ*_i) f_i(x̄)⁺ is. A player's own regret is found without
    keeping iterates: its cumulative gradient follows from the averages, and with it its regrets at infosets tell what
    it was paid.

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
    return _Report(MeasuredRun(solution, beta)).record()


class _Report:
    """What a run has measured, and what bounds it."""

    def __init__(self, run: MeasuredRun) -> None:
        self.run = run
        self.problem, self.beta, self.iterations, self.fresh = run.problem, run.beta, run.iterations, run.fresh
        both = range(2)
        self.constants = bound_constants(self.problem)
        self.of_player = [bound_constants(self.problem, player) for player in both]
        self.regrets = tuple(run.regret(player) for player in both)
        self.infoset_regrets = tuple(run.infoset_regret(player) for player in both)
        self.multiplier_regrets = tuple(run.multiplier_regret(player) for player in both)
        self.total = (sum(self.regrets) + sum(self.multiplier_regrets)) / run.iterations
        self.exploitability = constrained_exploitability(self.problem, run.profile)
        self.violations = {one.name: max(0.0, one.value(run.plans[one.player])) for one in self.problem.constraints}
        self.least = [least_violation(self.problem, player) for player in both]
        self.step_bounds = [run.step_regret_bound(player) for player in both]

    def record(self) -> CCFRBounds:
        """Return all of it."""
        bounds = [*self._of_exploitability(), *self._of_violations(), *self._of_prices(), *self._of_regrets()]
        return CCFRBounds(
            iterations=self.iterations,
            beta=self.beta,
            constants=self.constants,
            regrets=self.regrets,
            infoset_regrets=self.infoset_regrets,
            multiplier_regrets=self.multiplier_regrets,
            total_regret=self.total,
            exploitability=self.exploitability,
            violations=self.violations,
            bounds=tuple(bounds),
        )

    def _bound(self, name: str, quantity: str, actual: float, bound: float, measured: bool, unit: float = 1.0) -> Bound:
        """Return a bound; ``unit`` is what a unit of payoff comes to in it."""
        slack = ROUND_OFF * (abs(actual) + unit * (self.constants.payoff_range or 1.0))
        return Bound(name, quantity, actual, bound, measured, slack)

    def _of_exploitability(self) -> list[Bound]:
        what, actual = "exploitability", self.exploitability
        name, corollary = ("theorem 5", None) if max(self.least) > 0.0 else ("theorem 1", "corollary 3.1")
        found = [self._bound(name, what, actual, self.total, measured=True)]
        if self.fresh:
            known = (self.constants, self.beta, self.iterations)
            a_priori = exploitability_bound(*known, sum(self.multiplier_regrets))
            found.append(self._bound(name, what, actual, a_priori, measured=False))
            if corollary is not None:
                bound = exploitability_bound(*known, sum(self.step_bounds))
                found.append(self._bound(corollary, what, actual, bound, measured=False))
        return found

    def _of_violations(self) -> list[Bound]:
        found = []
        for player in range(2):
            own = self.problem.of_player(player)
            if not own:
                continue
            constants, least = self.of_player[player], self.least[player]
            actual = sum(self.violations[one.name] for one in own)
            name, what = "theorem 5" if least > 0.0 else "theorem 2", f"violations of player {player}"
            unit = 1.0 / self.beta
            regret = self.multiplier_regrets[player]
            spent = (self.regrets[player] + regret) / self.iterations + constants.payoff_range
            found.append(self._bound(name, what, actual, least + spent / self.beta, True, unit))
            if self.fresh:
                bound = violation_bound(constants, self.beta, self.iterations, regret, least)
                found.append(self._bound(name, what, actual, bound, False, unit))
        return found

    def _of_prices(self) -> list[Bound]:
        prices = self._prices()
        found: list[Bound] = []
        # A constraint whose price is above β may be violated at a gain, which hides what the others cost.
        if prices is None or max(prices.values()) > self.beta:
            return found
        for one in self.problem.constraints:
            room = self.beta - prices[one.name]
            if room <= 0.0:
                continue
            what, actual, unit = f"violation of {one.name}", self.violations[one.name], 1.0 / room
            found.append(self._bound("theorem 3", what, actual, self.total / room, True, unit))
            if self.fresh:
                known = (self.constants, self.beta, self.iterations, prices[one.name])
                bound = violation_bound_above_price(*known, sum(self.multiplier_regrets))
                found.append(self._bound("theorem 3", what, actual, bound, False, unit))
                bound = violation_bound_above_price(*known, sum(self.step_bounds))
                found.append(self._bound("corollary 3.1", what, actual, bound, False, unit))
        return found

    def _prices(self) -> Mapping[str, float] | None:
        """Return λ*, the multipliers of an optimum without a penalty; ``None`` where there is none."""
        from ..solve import solve

        if not self.problem.constraints or max(self.least) > 0.0:
            return None
        exact = solve(ConstrainedNash(self.problem.game, self.problem.constraints))
        return exact.multipliers if exact.status.is_success else None

    def _of_regrets(self) -> list[Bound]:
        found = []
        for player in range(2):
            what, of_infosets = f"regret of player {player}", self.infoset_regrets[player] / self.iterations
            actual = self.regrets[player] / self.iterations
            found.append(self._bound("lemma 3", what, actual, of_infosets, measured=True))
            if self.fresh:
                bound = player_regret_bound(self.of_player[player], self.beta, self.iterations)
                found.append(self._bound("theorem 4", what, of_infosets, bound, measured=False))
        for player in range(2):
            if self.problem.of_player(player) and self.fresh:
                what, actual = f"regret of multipliers {player}", self.multiplier_regrets[player] / self.iterations
                bound = self.step_bounds[player] / self.iterations
                found.append(self._bound("corollary 3.1", what, actual, bound, measured=False))
        return found
