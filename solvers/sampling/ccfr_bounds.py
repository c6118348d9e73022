"""The theorems on constrained CFR for sampled runs, with bounds that hold with a given probability."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...models.problems import ConstrainedNash
from ...seqform.arrays import Floats
from ...seqform.checks import check_number
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.polytope import Treeplex, best_response_value
from ..constrained_exploitability import constrained_exploitability
from ..methods import CCFRSampling
from ..regret.ccfr_bounds import CCFRBounds, bounds_of_regrets
from ..regret.ccfr_theorems import BoundConstants, bound_constants, multiplier_regret_bound
from ..solution import Solution
from .constrained import ConstrainedSamplingState
from .sampler import Sampler, tree_for


def deviation_bound(width: float, choices: float, iterations: int, failure: float) -> float:
    """Return the bound w √(T/2 · (ln N + ln 1/p)) on the deficit of sums of samples below their expectations.

    Parameters
    ----------
    width : float
        w: the range of a sample, for any earlier samples.
    choices : float
        ln N: the logarithm of the number of sums that the bound covers.
    iterations : int
        T.
    failure : float
        p: the probability that a sum violates the bound.

    Returns
    -------
    float
        In the unit of the samples.

    Notes
    -----
    The inequality of Azuma and Hoeffding for martingales whose differences lie in an interval of the width w, and the
    union bound. W. Hoeffding, "Probability inequalities for sums of bounded random variables", Journal of the American
    Statistical Association 58 (1963), theorem 2 and section 2; for regrets of sampled gradients G. Farina, C. Kroer and
    T. Sandholm, "Stochastic regret minimization in extensive-form games", ICML 2020.

    Examples
    --------
    >>> from treeplex.solvers.sampling.ccfr_bounds import deviation_bound
    >>> round(deviation_bound(width=8.0, choices=0.0, iterations=10_000, failure=0.05), 1)
    979.1
    """
    check_number(failure, "failure", UnsupportedProblemError, "(0, 1)")
    return width * math.sqrt(iterations / 2.0 * (choices - math.log(failure)))


def pure_plans(treeplex: Treeplex) -> float:
    """Return the natural logarithm of the number of a player's pure plans.

    Examples
    --------
    >>> import math
    >>> from treeplex import load_game
    >>> from treeplex.solvers.sampling.ccfr_bounds import pure_plans
    >>> round(math.exp(pure_plans(load_game("kuhn").sequence_form.treeplexes[0])))  # for each card bp, pb or pp
    27
    """
    values = np.zeros(treeplex.num_sequences)
    for level in reversed(treeplex.levels):
        level.pass_up(np.logaddexp.reduceat(values[level.sequences], level.starts), values)
    return float(values[0])


@dataclass(frozen=True)
class SampledConstants:
    """The constants of a problem and a method that bound a player's sampled regret.

    Attributes
    ----------
    payoffs : float
        The width of the interval of a plan's sampled payoffs, in payoff units.
    costs : float
        The same for the costs of constraints at multipliers of β, exact or sampled.
    noise : float
        The part of ``payoffs`` + ``costs`` that is sampled: without exact costs.
    plans : float
        ln N: the logarithm of the number of pure plans.
    infosets, actions : int
        M and A.
    """

    payoffs: float
    costs: float
    noise: float
    plans: float
    infosets: int
    actions: int

    def regret_bound(self, iterations: int) -> float:
        """Return the bound D M √(A T) on the sum of sampled regrets for any samples, in payoff units."""
        return (self.payoffs + self.costs) * self.infosets * math.sqrt(self.actions * iterations)

    def deviation(self, iterations: int, failure: float) -> float:
        """Return the bound that a regret minus its sample exceeds with a probability of at most ``failure``.

        A regret is a difference of two plans' payoffs, so its interval is twice as wide as that of payoffs.
        """
        return deviation_bound(2.0 * self.noise, self.plans, iterations, failure)


@dataclass(frozen=True, eq=False)
class SampledCCFRBounds(CCFRBounds):
    """The state of a sampled run of constrained CFR, and the bounds that hold with a given probability.

    Attributes
    ----------
    failure : float
        p: all ``bounds`` hold with a probability of at least 1 − p.
    deviations : tuple of float
        The part of each player's ``regrets`` beyond the sampled regrets.
    multiplier_deviations : tuple of float
        The same for ``multiplier_regrets``.
    sampled : tuple of SampledConstants
        The constants of each player.
    """

    failure: float
    deviations: tuple[float, ...]
    multiplier_deviations: tuple[float, ...]
    sampled: tuple[SampledConstants, ...]


def sampled_ccfr_bounds(solution: Solution, failure: float = 0.05, beta: float | None = None) -> SampledCCFRBounds:
    """Compare a sampled run of constrained CFR with bounds that hold with a probability of 1 − p.

    Parameters
    ----------
    solution : Solution
        A solution of :class:`~treeplex.ConstrainedNash` by ``ExternalSamplingCCFR(averaging="full")``, or by
        ``OutcomeSamplingCCFR(averaging="full", baselines="none")``.
    failure : float
        p, the probability that a bound fails.
    beta : float, optional
        β: the bound on the multipliers, if the problem has no penalty. They must not have exceeded it in the run.

    Returns
    -------
    SampledCCFRBounds
        Its ``regrets`` are bounds on the regrets of the run. Those that are ``measured`` use its sampled regrets,
        the others constants of the problem.

    Raises
    ------
    UnsupportedProblemError
        If the theorems do not cover the run.
    SolverError
        If a linear program fails.

    Notes
    -----
    In iteration t all samples depend on the plans x_t, y_t and the multipliers λ_t from before it. Given these, the
    sampled gradient ĝ_t of a player is unbiased, and so are the sampled values f̂_t of its constraints. For a pure plan
    x* the difference ⟨ĝ_t, x* − x_t⟩ lies in an interval of width 2 D. With probability 1 − p/3, all N pure plans, and
    so all plans, satisfy

        R_T(x*) ≤ R̂_T(x*) + 2 D √(T/2 · (ln N + ln 3/p)),   max R̂_T ≤ Σ_I max_a R̂_T(I, a)⁺ ≤ D' M √(A T),

    where R̂_T is known after the run, and D' is D plus exact costs. D is the sum of two parts. The first is the range
    of payoffs for external samples; for outcome samples it is this range over the least probability Π ε / abs(A(I)) of
    the player's own part of a path, and includes 0. The second is Σ_i β w_i if costs are sampled, where w_i is the
    range of f̂_i. With probability 1 − p/3 the multipliers' regret is at most Σ_i (β (Σ_t f̂_i,t)⁺ − Σ_t λ_i,t f̂_i,t)
    + Σ_i β w_i √(T/2 · ln(6 k/p)) over the k constraints with sampled values. The sum of all these, over T, replaces ρ
    in theorems 1 to 3 and 5 of Davis, Waugh and Bowling 2019: :func:`~treeplex.solvers.regret.ccfr_bounds.ccfr_bounds`.

    Theorems 4 and 5 of Lanctot, Waugh, Zinkevich and Bowling, NeurIPS 2009, have the factor 1 + √(2/p) in place of the
    term added here, which grows only with ln 1/p.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game, parse_constraint, solve
    >>> from treeplex.solvers import ExternalSamplingCCFR
    >>> from treeplex.solvers.sampling.ccfr_bounds import sampled_ccfr_bounds
    >>> game = load_game("kuhn")
    >>> problem = ConstrainedNash(game, parse_constraint("0/J_:b >= 1/2 as bluff", game), penalty=1)
    >>> method = ExternalSamplingCCFR(averaging="full")
    >>> solution = solve(problem, method, tol=0, max_iterations=100_000, seed=1)
    >>> found = sampled_ccfr_bounds(solution)
    >>> found.holds, bool(found.exploitability < found.total_regret < 0.2)
    (True, True)
    """
    run = _SampledRun(solution, beta)
    check_number(failure, "failure", UnsupportedProblemError, "(0, 1)")
    both, share = range(2), failure / 3.0
    constants = tuple(run.constants(player) for player in both)
    deviations = tuple(one.deviation(run.iterations, share) for one in constants)
    lost, gained, promised = run.multipliers(share)
    moves = tuple(float(each.sum()) for each in run.by_player(lost))
    found = SampledCCFRBounds(
        iterations=run.iterations,
        beta=run.beta,
        constants=bound_constants(run.problem),
        regrets=tuple(run.regret(player) + deviations[player] for player in both),
        infoset_regrets=tuple(run.infoset_regret(player) for player in both),
        multiplier_regrets=tuple(
            float(each.sum()) + move for each, move in zip(run.by_player(gained), moves, strict=True)
        ),
        total_regret=0.0,
        exploitability=constrained_exploitability(run.problem, run.profile),
        violations={one.name: max(0.0, one.value(run.profile[one.player].plan)) for one in run.problem.constraints},
        bounds=(),
        failure=failure,
        deviations=deviations,
        multiplier_deviations=moves,
        sampled=constants,
    )
    at_most = replace(
        found,
        regrets=tuple(one.regret_bound(run.iterations) + more for one, more in zip(constants, deviations, strict=True)),
        multiplier_regrets=tuple(
            float(each.sum()) + move for each, move in zip(run.by_player(promised), moves, strict=True)
        ),
    )
    found, at_most = _with_total(found), _with_total(at_most)
    bounds = bounds_of_regrets(found, run.problem)
    if run.fresh:
        bounds += [replace(one, measured=False) for one in bounds_of_regrets(at_most, run.problem)]
    return replace(found, bounds=tuple(bounds))


def _with_total(found: SampledCCFRBounds) -> SampledCCFRBounds:
    return replace(found, total_regret=(sum(found.regrets) + sum(found.multiplier_regrets)) / found.iterations)


class _SampledRun:
    """A run that the theorems cover, with its measurements."""

    def __init__(self, solution: Solution, beta: float | None) -> None:
        method = _checked_method(solution)
        kept: Any = solution.state
        self.problem: ConstrainedNash = solution.problem  # type: ignore[assignment]
        self.method, self.rows, self.fresh = method, kept.rows, kept.fresh
        self.sampler, self.state, self.duals = (
            Sampler(tree_for(self.problem.game)),
            kept.state.sampler,
            kept.state.duals,
        )
        self.treeplexes, self.iterations = self.problem.game.sequence_form.treeplexes, self.state.iterations
        if not self.iterations:
            raise UnsupportedProblemError("the run has not done any iterations yet: run at least one")
        self.profile = self.sampler.profile(self.problem.game, self.state)
        self.beta = self._beta(beta)
        rule = method.sampling_rule(2)
        self.exploration = rule.exploration if rule.sampling == "outcome" else None

    def _beta(self, given: float | None) -> float:
        """Return the bound on the multipliers."""
        penalty = self.problem.penalty
        if penalty is None and given is None:
            raise UnsupportedProblemError(
                "the multipliers of this run are unbounded, but the theorems need a bound: pose the problem with "
                "a penalty, or pass a beta that the multipliers did not exceed"
            )
        beta = check_number(given if penalty is None else float(penalty), "beta", UnsupportedProblemError, "(0, inf)")
        if penalty is not None and given is not None and given != beta:
            raise UnsupportedProblemError(f"beta is {given:g}, but the multipliers of this run are bounded by {beta:g}")
        largest = float(self.duals.tallies[2].max(initial=0.0))
        if largest > beta:
            raise UnsupportedProblemError(
                f"a multiplier reached {largest:g} in this run, above beta {beta:g}: pass a larger beta"
            )
        return float(beta)

    def by_player(self, of_rows: Floats) -> list[Floats]:
        """Return the numbers of each player's rows."""
        owners = np.array([one.player for one in self.rows.constraints], dtype=np.int64)
        return [of_rows[owners == player] for player in range(2)]

    def _regrets(self, player: int) -> Floats:
        first, last = self.sampler.tree.bases[player : player + 2].tolist()
        regrets: Floats = self.state.arrays.regrets[first:last]
        return regrets

    def regret(self, player: int) -> float:
        """Return the largest sampled regret of a plan, summed over iterations."""
        return best_response_value(self.treeplexes[player], self._regrets(player))

    def infoset_regret(self, player: int) -> float:
        """Return Σ_I max_a R̂(I, a)⁺."""
        treeplex, regrets = self.treeplexes[player], np.maximum(self._regrets(player), 0.0)
        return float(np.maximum.reduceat(regrets, treeplex.offsets[:-1]).sum()) if treeplex.num_infosets else 0.0

    def constants(self, player: int) -> SampledConstants:
        """Return the constants for bounds on a player's regret."""
        treeplex, own = self.treeplexes[player], self.rows.of_players[player]
        costs = self.beta * sum(float(np.ptp(own.extent(one))) for one in own.rows)
        payoffs = self._payoff_width(player)
        return SampledConstants(
            payoffs=payoffs,
            costs=costs,
            noise=payoffs + (0.0 if own.exact else costs),
            plans=pure_plans(treeplex),
            infosets=treeplex.num_infosets,
            actions=int(treeplex.num_actions.max(initial=1)),
        )

    def _payoff_width(self, player: int) -> float:
        """Return the width of the interval of a plan's sampled payoffs."""
        leaves = self.problem.game.sequence_form.leaves
        assert leaves is not None  # there is a tree of histories
        payoffs = leaves.payoffs[:, player]
        if self.exploration is not None:
            treeplex = self.treeplexes[player]
            weights = np.ones(treeplex.num_sequences)
            for level in treeplex.levels:
                factors = weights[treeplex.parents[level.infosets]] * level.counts / self.exploration
                weights[level.sequences] = np.repeat(factors, level.counts)
            payoffs = np.append(payoffs * weights[leaves.sequences[:, player]], 0.0)  # other leaves are not sampled
        return float(np.ptp(payoffs))

    def multipliers(self, failure: float) -> tuple[Floats, Floats, Floats]:
        """Return each multiplier's deviation by chance, its sampled regret, and a bound on the latter."""
        tallies, iterations, decreasing = self.duals.tallies, self.iterations, self.method.steps == "decreasing"
        extents = [self.rows.of_players[one.player].extent(one) for one in self.rows.constraints]
        noisy = np.array([not self.rows.of_players[one.player].exact for one in self.rows.constraints], dtype=np.bool_)
        choices = math.log(2.0 * max(1, int(noisy.sum())))
        widths = np.array([self.beta * float(np.ptp(extent)) for extent in extents], dtype=np.float64)
        lost = noisy * np.array([deviation_bound(width, choices, iterations, failure) for width in widths.tolist()])
        promised = [
            multiplier_regret_bound(
                BoundConstants(0.0, 1, 1, constraints=1, largest=max(map(abs, extent))),
                self.beta,
                iterations,
                step=self.method.step * float(rate),
                decreasing=decreasing,
            )
            for extent, rate in zip(extents, self.rows.arrays.rates, strict=True)
        ]
        return lost, self.beta * np.maximum(tallies[0], 0.0) - tallies[1], np.array(promised, dtype=np.float64)


def _checked_method(solution: Any) -> CCFRSampling:
    """Return the method of a run that the theorems cover.

    Raises
    ------
    UnsupportedProblemError
        If the theorems do not cover it.
    """
    if not isinstance(solution, Solution) or not isinstance(solution.problem, ConstrainedNash):
        raise UnsupportedProblemError(f"{shown(solution)} is not a solution of a constrained problem")
    method, recipe = solution.method, "es-ccfr:averaging=full or os-ccfr:averaging=full,baselines=none"
    if not isinstance(method, CCFRSampling):
        raise UnsupportedProblemError(
            f"these theorems apply to es-ccfr and os-ccfr, not to {method.name}: solve with {recipe}"
        )
    if method.averaging != "full":
        raise UnsupportedProblemError(
            f"the theorems apply to averages of realization plans, but averaging={method.averaging!r} samples them: "
            f"solve with {recipe}"
        )
    if method.sampling_rule(2).rate is not None:
        raise UnsupportedProblemError(f"the theorems do not cover baselines: solve with {recipe}")
    if not isinstance(solution.state, ConstrainedSamplingState):
        raise UnsupportedProblemError(
            f"the run ended as {solution.status} and has no averages: pose the problem with a penalty"
        )
    return method
