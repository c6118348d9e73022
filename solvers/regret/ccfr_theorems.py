"""The bounds of the theorems on constrained CFR as functions of constants, and the constants of a problem.

The theorems are from T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints",
AAAI 2019 (arXiv:1809.07893). Δ is ``payoff_range``, M ``infosets``, A ``actions``, k ``constraints``, F ``slope`` and G
``largest`` of :class:`BoundConstants`; β bounds the multipliers, T is the number of iterations, and R is the regret of
the multipliers, max over λ* in [0, β]^k of Σ_t Σ_i (λ*_i − λ_i,t) f_i(x_t) (equation 12).

If both players are constrained, constants and violations are those of both together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...models.constraints import Constraint
from ...models.convex import OPAQUE
from ...models.problems import ConstrainedNash
from ...seqform.arrays import Floats
from ...seqform.checks import check_number, check_whole
from ...seqform.errors import InvalidConstraintError, UnsupportedProblemError, shown
from ...seqform.polytope import Treeplex, best_response_value
from ...seqform.sequence_form import SequenceForm


@dataclass(frozen=True)
class BoundConstants:
    """The constants of a game and its constraints that appear in the regret bounds.

    Parameters
    ----------
    payoff_range : float
        Δ: the largest payoff minus the smallest, in payoff units.
    infosets : int
        M: the larger number of infosets of a player. The paper's M may be as small as its square root.
    actions : int
        A: the largest number of actions at an infoset.
    constraints : int
        k, the number of constraints.
    slope : float
        F: the largest difference of a constraint's linear part, or of a tangent of a convex function, between two
        plans. The paper's F, the sum of absolute values of the subgradient, bounds it. F is infinite for entropies,
        whose subgradients are unbounded: the paper's footnote 3, that a continuous function on a compact set has
        such a bound, does not hold for x log x at 0. Bounds with F then have no content.
    largest : float
        G: the largest absolute value of a constraint's function over all plans.
    """

    payoff_range: float
    infosets: int
    actions: int
    constraints: int = 0
    slope: float = 0.0
    largest: float = 0.0


def player_regret_bound(constants: BoundConstants, beta: float, iterations: int) -> float:
    """Return the bound on a player's regret divided by T: (Δ + k β F) M √A / √T.

    Parameters
    ----------
    constants : BoundConstants
        The constants of that player; without constraints, the result is plain CFR's bound.
    beta : float
    iterations : int

    Returns
    -------
    float
        Payoff units.

    Notes
    -----
    Davis, Waugh and Bowling 2019, theorem 4.

    Examples
    --------
    >>> from treeplex.solvers.regret.ccfr_theorems import BoundConstants, player_regret_bound
    >>> player_regret_bound(BoundConstants(4.0, 6, 4, 1, 1.0, 1.0), beta=2.0, iterations=10_000)
    0.72
    """
    _check(beta, iterations)
    tilted = constants.payoff_range + constants.constraints * beta * constants.slope
    return tilted * _rate(constants, iterations)


def multiplier_regret_bound(
    constants: BoundConstants,
    beta: float,
    iterations: int,
    step: float | None = None,
    decreasing: bool = False,
) -> float:
    """Return the bound on the multipliers' regret R if they move by projected gradient steps.

    Parameters
    ----------
    constants : BoundConstants
    beta : float
    iterations : int
    step : float, optional
        α, in λ + α f(x): payoff units per squared unit of violation. By default β / (G √T), or β / G if steps
        decrease.
    decreasing : bool
        Whether steps are α / √t instead of α.

    Returns
    -------
    float
        Payoff units, summed over iterations. By default k β G √T, or 3/2 of it if steps decrease.

    Notes
    -----
    M. Zinkevich, "Online convex programming and generalized infinitesimal gradient ascent", ICML 2003: a multiplier's
    regret is at most β² / (2 α_T) + G² / 2 Σ_t α_t.

    Examples
    --------
    >>> from treeplex.solvers.regret.ccfr_theorems import BoundConstants, multiplier_regret_bound
    >>> kuhn = BoundConstants(4.0, 6, 4, constraints=2, slope=1.0, largest=0.5)
    >>> multiplier_regret_bound(kuhn, beta=2.0, iterations=100)
    20.0
    >>> multiplier_regret_bound(kuhn, beta=2.0, iterations=100, decreasing=True)
    30.0
    >>> multiplier_regret_bound(kuhn, beta=2.0, iterations=100, step=0.1)
    42.5
    """
    _check(beta, iterations)
    root, largest = math.sqrt(iterations), constants.largest
    if step is None:
        if largest == 0.0:
            return 0.0
        step = beta / largest if decreasing else beta / (largest * root)
    if not step > 0.0:
        raise InvalidConstraintError(f"the step of multipliers is {shown(step)}, expected a number above 0")
    # Σ_t t^(−1/2) is at most 2 √T.
    one = beta**2 * root / (2 * step) + step * largest**2 * root
    if not decreasing:
        one = beta**2 / (2 * step) + step * largest**2 * iterations / 2
    return constants.constraints * one


def exploitability_bound(
    constants: BoundConstants, beta: float, iterations: int, multiplier_regret: float | None = None
) -> float:
    """Return the bound on the constrained exploitability of the averages.

    max over x that meets the constraints of u(x, ȳ) − min over y of u(x̄, y) ≤ (4 Δ + 2 k β F) M √A / √T + 2 R / T.

    Parameters
    ----------
    constants : BoundConstants
    beta : float
    iterations : int
    multiplier_regret : float, optional
        R. By default :func:`multiplier_regret_bound`, for the paper's constant steps.

    Returns
    -------
    float
        Payoff units.

    Notes
    -----
    Davis, Waugh and Bowling 2019, theorem 1, equation 13; with the default R, corollary 3.1, equation 16. If the
    constraints cannot be met, it holds for deviations to plans of least violation: theorem 5, equation 37.

    Examples
    --------
    >>> from treeplex.solvers.regret.ccfr_theorems import BoundConstants, exploitability_bound
    >>> kuhn = BoundConstants(4.0, 6, 4, constraints=1, slope=1.0, largest=1.0)
    >>> round(exploitability_bound(kuhn, beta=2.0, iterations=10_000, multiplier_regret=100.0), 9)
    2.42
    >>> round(exploitability_bound(kuhn, beta=2.0, iterations=10_000), 9)
    2.44
    """
    return 2.0 * _total_regret(constants, beta, iterations, multiplier_regret)


def violation_bound(
    constants: BoundConstants,
    beta: float,
    iterations: int,
    multiplier_regret: float | None = None,
    least_violation: float = 0.0,
) -> float:
    """Return the bound on the sum of violations of a player's constraints by its average plan.

    Σ_i f_i(x̄)⁺ ≤ V* + Δ / β + (Δ + k β F) M √A / (β √T) + R / (β T).

    Parameters
    ----------
    constants : BoundConstants
        The constants of that player.
    beta : float
    iterations : int
    multiplier_regret : float, optional
        R for that player's constraints. By default :func:`multiplier_regret_bound`.
    least_violation : float
        V*, the least possible sum: 0 if the constraints can be met.

    Returns
    -------
    float
        Units of violation.

    Notes
    -----
    Davis, Waugh and Bowling 2019, theorem 2, equation 14, for one violation and V* = 0, and theorem 5, equation 36. A
    violation of at most δ requires β ≥ Δ / δ, for any length of the run.

    Examples
    --------
    >>> from treeplex.solvers.regret.ccfr_theorems import BoundConstants, violation_bound
    >>> kuhn = BoundConstants(4.0, 6, 4, constraints=1, slope=1.0, largest=1.0)
    >>> round(violation_bound(kuhn, beta=40.0, iterations=10**8, multiplier_regret=0.0), 9)
    0.10132
    """
    least = least_violation + constants.payoff_range / beta if beta > 0.0 else math.inf
    regret = _multiplier_regret(constants, beta, iterations, multiplier_regret)
    total = player_regret_bound(constants, beta, iterations) + regret / iterations
    return least + total / beta if beta > 0.0 else math.inf


def violation_bound_above_price(
    constants: BoundConstants, beta: float, iterations: int, price: float, multiplier_regret: float | None = None
) -> float:
    """Return the bound on the violation of one constraint by the average plan, if β is above all multipliers.

    f_i(x̄) ≤ ((2 Δ + k β F) M √A / √T + R / T) / (β − λ*_i); infinite if β ≤ λ*_i. It holds only if no multiplier at
    the optimum is above β, including those of the other constraints.

    Parameters
    ----------
    constants : BoundConstants
    beta : float
    iterations : int
    price : float
        λ*_i, the constraint's multiplier at an optimum of the problem without a penalty.
    multiplier_regret : float, optional
        R. By default :func:`multiplier_regret_bound`.

    Returns
    -------
    float
        Units of violation.

    Notes
    -----
    Davis, Waugh and Bowling 2019, theorem 3, equation 15; with the default R, corollary 3.1, equation 17. The
    violations of all constraints, each times its β − λ*_i, sum to at most the numerator.

    Examples
    --------
    >>> from treeplex.solvers.regret.ccfr_theorems import BoundConstants, violation_bound_above_price
    >>> kuhn = BoundConstants(4.0, 6, 4, constraints=1, slope=1.0, largest=1.0)
    >>> round(violation_bound_above_price(kuhn, beta=2.0, iterations=10**8, price=1 / 3, multiplier_regret=0.0), 9)
    0.0072
    """
    total = _total_regret(constants, beta, iterations, multiplier_regret)
    return total / (beta - price) if beta > price else math.inf


def _total_regret(constants: BoundConstants, beta: float, iterations: int, multiplier_regret: float | None) -> float:
    """Return (2 Δ + k β F) M √A / √T + R / T, the bound on the sum of all regrets divided by T."""
    regret = _multiplier_regret(constants, beta, iterations, multiplier_regret)
    other = constants.payoff_range * _rate(constants, iterations)
    return player_regret_bound(constants, beta, iterations) + other + regret / iterations


def _multiplier_regret(constants: BoundConstants, beta: float, iterations: int, given: float | None) -> float:
    return multiplier_regret_bound(constants, beta, iterations) if given is None else float(given)


def _rate(constants: BoundConstants, iterations: int) -> float:
    """Return M √A / √T."""
    return constants.infosets * math.sqrt(constants.actions) / math.sqrt(iterations)


def _check(beta: Any, iterations: Any) -> None:
    check_number(beta, "beta", InvalidConstraintError, "[0, inf)")
    check_whole(iterations, "iterations", InvalidConstraintError, "[1, inf)")


#: The size of a block of vectors that are maximised over a polytope at once, in numbers.
_BLOCK = 2**21
#: The product of the numbers of sequences above which payoffs are bounded entry by entry.
_LARGEST = 10**9

_ranges: WeakKeyDictionary[SequenceForm, float] = WeakKeyDictionary()


def bound_constants(problem: ConstrainedNash, player: int | None = None) -> BoundConstants:
    """Return the constants of a problem for bounds on constrained CFR.

    Parameters
    ----------
    problem : ConstrainedNash
        Its penalty is ignored.
    player : int, optional
        For bounds on one player's regret: only its infosets, actions and constraints. By default the larger number of
        infosets and of actions, and the constraints of both players.

    Returns
    -------
    BoundConstants

    Raises
    ------
    UnsupportedProblemError
        If a constraint's cvxpy function is not composed of norms, maxima, squares and relative entropies.

    Notes
    -----
    For linear constraints F and G are exact: the maximum and the minimum of a linear function over a polytope take one
    pass each. For convex constraints they are bounds from the ranges of the terms' arguments. For Δ see
    :func:`payoff_range`.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game
    >>> from treeplex.models.constraints import behaviour_bound
    >>> from treeplex.solvers.regret.ccfr_theorems import bound_constants
    >>> game = load_game("kuhn")
    >>> jack = behaviour_bound(game, 0, "J_", "b", at_least=0.3, name="jack")
    >>> bound_constants(ConstrainedNash(game, [jack]))
    BoundConstants(payoff_range=4.0, infosets=6, actions=2, constraints=1, slope=1.0, largest=0.7)
    """
    form = problem.game.sequence_form
    players = range(form.num_players) if player is None else (player,)
    treeplexes = [form.treeplexes[one] for one in players]
    own = [one for one in problem.constraints if one.player in players]
    extents = [function_extent(one, form.treeplexes[one.player]) for one in own]
    return BoundConstants(
        payoff_range=_payoff_range_of(form),
        infosets=max(treeplex.num_infosets for treeplex in treeplexes),
        actions=max(int(treeplex.num_actions.max(initial=1)) for treeplex in treeplexes),
        constraints=len(own),
        slope=max((spread for *_, spread in extents), default=0.0),
        largest=max((max(abs(low), abs(high)) for low, high, _ in extents), default=0.0),
    )


def _payoff_range_of(form: SequenceForm) -> float:
    """Return :func:`payoff_range`, computed once."""
    if form not in _ranges:
        _ranges[form] = payoff_range(form)
    return _ranges[form]


def function_extent(constraint: Constraint, treeplex: Treeplex) -> tuple[float, float, float]:
    """Return bounds on a constraint's function over its player's plans, and on the range of its tangents.

    Returns
    -------
    least, largest : float
        Bounds on f; exact if f is linear.
    spread : float
        The largest difference of a tangent between two plans.

    Raises
    ------
    UnsupportedProblemError
        If only cvxpy can evaluate the function.
    """
    function = constraint.function
    refuse_opaque(constraint)
    slope = np.zeros(treeplex.num_sequences)
    slope[function.indices] = function.coefficients
    low, high = -best_response_value(treeplex, -slope), best_response_value(treeplex, slope)
    extents = [(low + float(function.constant), high + float(function.constant), high - low)]
    for term in function.terms:
        ends = [sign * maxima(treeplex, sign * term.matrix) - term.shifts for sign in (-1, 1)]
        extents.append(term.extent(*ends))
    least, largest, spread = np.sum(extents, axis=0).tolist()
    return least, largest, spread


def refuse_opaque(constraint: Constraint) -> None:
    """Raise an error for a constraint whose function only cvxpy can evaluate."""
    if any(term.code >= OPAQUE for term in constraint.function.terms):
        raise UnsupportedProblemError(
            f"constraint {shown(constraint.name)} has a function that only cvxpy can evaluate: these bounds need "
            "functions composed of norms, maxima, squares and relative entropies"
        )


def payoff_range(form: SequenceForm) -> float:
    """Return the largest difference of player 0's payoffs between two pairs of plans.

    Parameters
    ----------
    form : SequenceForm
        Two players, zero-sum.

    Returns
    -------
    float
        Payoff units. For payoffs at leaves, the largest payoff minus the smallest. Otherwise max over x of Σ_s x(s)
        max over y of (A y)(s), minus the same with minima: this is exact for a matrix game, and at least the range
        for any other game. For factored payoffs, each factor is maximised separately. In games with more than 10⁹ pairs
        of sequences, each entry of A is maximised separately, which gives a coarse bound.

    Examples
    --------
    >>> from treeplex import SequenceForm
    >>> from treeplex.solvers.regret.ccfr_theorems import payoff_range
    >>> payoff_range(SequenceForm.from_payoff_matrix([[3, 1], [-1, 0]]))
    4.0
    """
    if form.leaves is not None:
        payoffs = form.leaves.payoffs[:, 0]
        return float(payoffs.max() - payoffs.min())
    own, other = form.treeplexes
    if form.factored is not None and form.factored.chained is None:
        left, right = form.factored.left, form.factored.right
        low, high = -maxima(other, -right), maxima(other, right)
        positive, negative = left.maximum(0.0), left.minimum(0.0)
        most, least = positive @ high + negative @ low, positive @ low + negative @ high
    elif own.num_sequences * other.num_sequences <= _LARGEST:
        most, least = maxima(other, form.A), -maxima(other, -form.A)
    else:
        reach = np.append(1.0, largest_reaches(other)[other.sequence_infosets[1:]])
        most, least = form.A.maximum(0.0) @ reach, form.A.minimum(0.0) @ reach
    return best_response_value(own, most) + best_response_value(own, -least)


def largest_reaches(treeplex: Treeplex) -> Floats:
    """Return the largest flow into each infoset under any plan, shape (num_infosets,): 1 in a tree.

    In a flow polytope, the payoff of a plan counts an infoset's regret at most this many times.
    """
    if treeplex.single_parent:
        return np.ones(treeplex.num_infosets)
    return maxima(treeplex, treeplex.inflow)


def maxima(treeplex: Treeplex, rows: Any) -> Floats:
    """Return the maximum over a polytope of each of many linear functions, the rows of a sparse matrix.

    Parameters
    ----------
    treeplex : Treeplex
    rows : csr_array, shape (k, num_sequences)

    Returns
    -------
    ndarray of float64, shape (k,)
    """
    found = np.zeros(rows.shape[0])
    step = max(1, _BLOCK // treeplex.num_sequences)
    for first in range(0, len(found), step):
        values = rows[first : first + step].toarray().T.copy()
        for level in reversed(treeplex.levels):
            level.pass_up(np.maximum.reduceat(values[level.sequences], level.starts, axis=0), values)
        found[first : first + step] = values[0]
    return found
