"""What the theorems on constrained CFR promise, as functions of a problem's constants.

They are of T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
(arXiv:1809.07893). Δ is ``payoff_range``, M ``infosets``, A ``actions``, k ``constraints``, F ``slope`` and G
``largest`` of :class:`BoundConstants`; β bounds the multipliers, T is the number of iterations, and R is the regret of
the multipliers, max over λ* in [0, β]^k of Σ_t Σ_i (λ*_i − λ_i,t) f_i(x_t) (equation 12).

Where both players are constrained, the constants are of both together, and so are violations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...seqform.errors import InvalidConstraintError, shown


@dataclass(frozen=True)
class BoundConstants:
    """What the bounds know of a game and its constraints.

    Parameters
    ----------
    payoff_range : float
        Δ: the largest payoff minus the smallest, payoff units.
    infosets : int
        M: the number of infosets of the player who has more. The paper's M may be as small as its square root.
    actions : int
        A: the most actions at an infoset.
    constraints : int
        k.
    slope : float
        F: by how much a constraint's linear part may differ between two plans. The sum of absolute values of the
        coefficients bounds it, which is the paper's F.
    largest : float
        G: the largest absolute value that a constraint's function may have at a plan.
    """

    payoff_range: float
    infosets: int
    actions: int
    constraints: int = 0
    slope: float = 0.0
    largest: float = 0.0


def player_regret_bound(constants: BoundConstants, beta: float, iterations: int) -> float:
    """Return what a player's regret, divided by T, is at most: (Δ + k β F) M √A / √T.

    Parameters
    ----------
    constants : BoundConstants
        Of that player: without constraints, plain CFR's bound.
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
    """Return what the multipliers' regret R is at most where they move by projected gradient.

    Parameters
    ----------
    constants : BoundConstants
    beta : float
    iterations : int
    step : float, optional
        α, in λ + α f(x): payoff units per squared unit of violation. By default β / (G √T), or β / G where steps
        decrease.
    decreasing : bool
        Whether steps are α / √t, not α.

    Returns
    -------
    float
        Payoff units, summed over iterations. By default k β G √T; where steps decrease 3/2 of it.

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
    """Return what the constrained exploitability of the averages is at most.

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
    Davis, Waugh and Bowling 2019, theorem 1, equation 13; with the default R corollary 3.1, equation 16. Where the
    constraints cannot be met it holds for deviations to plans of least violation: theorem 5, equation 37.

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
    """Return what violations of a player's constraints by its average plan sum up to at most.

    Σ_i f_i(x̄)⁺ ≤ V* + Δ / β + (Δ + k β F) M √A / (β √T) + R / (β T).

    Parameters
    ----------
    constants : BoundConstants
        Of that player.
    beta : float
    iterations : int
    multiplier_regret : float, optional
        R, of that player's constraints. By default :func:`multiplier_regret_bound`.
    least_violation : float
        V*, the least sum that there is: 0 where the constraints can be met.

    Returns
    -------
    float
        Units of violation.

    Notes
    -----
    Davis, Waugh and Bowling 2019, theorem 2, equation 14, which is about one violation and V* = 0, and theorem 5,
    equation 36. A violation that is to be δ at most needs β ≥ Δ / δ, however long the run.

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
    """Return what the violation of one constraint by the average plan is at most, β being above all multipliers.

    f_i(x̄) ≤ ((2 Δ + k β F) M √A / √T + R / T) / (β − λ*_i); infinite if β ≤ λ*_i. It holds only if no multiplier at the
    optimum is above β, those of the other constraints included.

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
    Davis, Waugh and Bowling 2019, theorem 3, equation 15; with the default R corollary 3.1, equation 17. The violations
    of all constraints, each times its β − λ*_i, sum to the numerator at most.

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
    """Return (2 Δ + k β F) M √A / √T + R / T, which the regrets of all, divided by T, sum to at most."""
    regret = _multiplier_regret(constants, beta, iterations, multiplier_regret)
    other = constants.payoff_range * _rate(constants, iterations)
    return player_regret_bound(constants, beta, iterations) + other + regret / iterations


def _multiplier_regret(constants: BoundConstants, beta: float, iterations: int, given: float | None) -> float:
    return multiplier_regret_bound(constants, beta, iterations) if given is None else float(given)


def _rate(constants: BoundConstants, iterations: int) -> float:
    """Return M √A / √T."""
    return constants.infosets * math.sqrt(constants.actions) / math.sqrt(iterations)


def _check(beta: Any, iterations: Any) -> None:
    if isinstance(beta, bool) or not isinstance(beta, int | float) or not 0.0 <= beta < math.inf:
        raise InvalidConstraintError(f"beta is {shown(beta)}, expected a finite number of at least 0")
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise InvalidConstraintError(f"iterations is {shown(iterations)}, expected a whole number from 1 on")
