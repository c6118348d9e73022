"""The efficiency of a style: a solution's value of a functional, compared with the best possible at the same price."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...seqform.errors import InvalidStrategyError, UnsupportedProblemError, shown
from ...seqform.evaluate import nash_conv, worst_case
from ...seqform.functional import Functional
from ..parametric.trade_off import TradeOff, trade_off

if TYPE_CHECKING:
    from ..solution import Solution

#: The end of a functional's range that a style prefers.
Towards = Literal["high", "low"]


@dataclass(frozen=True)
class StyleEfficiency:
    """The style of a strategy, and the best style possible at the same price.

    Attributes
    ----------
    achieved : float
        The functional's value for the strategy.
    towards : {"high", "low"}
        The end of the range that the style prefers.
    nash_conv : float
        NashConv of the profile, in payoff units.
    loss : float
        The loss of the strategy alone: the value of the game minus its guarantee, in payoff units.
    equilibrium : tuple of float
        The smallest and the largest value over equilibrium strategies.
    allowed : tuple of float
        The same range over strategies that lose at most `nash_conv`, which include this one.
    allowed_by_loss : tuple of float
        The same range over strategies that lose at most `loss`; it is never wider.
    """

    achieved: float
    towards: Towards
    nash_conv: float
    loss: float
    equilibrium: tuple[float, float]
    allowed: tuple[float, float]
    allowed_by_loss: tuple[float, float]

    @property
    def bound(self) -> float:
        """The furthest value that a strategy with this NashConv can have."""
        return self.allowed[self._end]

    @property
    def bound_by_loss(self) -> float:
        """The furthest value that a strategy with this loss can have."""
        return self.allowed_by_loss[self._end]

    @property
    def ratio(self) -> float | None:
        """The fraction of the way to :attr:`bound` from the farthest equilibrium; ``None`` if both are equal.

        The ratio is between 0 (also for the opposite direction) and 1.
        """
        return share_of_way(self.achieved, self.equilibrium[1 - self._end], self.bound)

    @property
    def ratio_by_loss(self) -> float | None:
        """Like :attr:`ratio`, but on the way to :attr:`bound_by_loss`."""
        return share_of_way(self.achieved, self.equilibrium[1 - self._end], self.bound_by_loss)

    @property
    def excess(self) -> float:
        """The distance of the value from the range that its loss allows: 0 up to round-off."""
        low, high = self.allowed_by_loss
        return max(0.0, low - self.achieved, self.achieved - high)

    @property
    def _end(self) -> int:
        return 1 if self.towards == "high" else 0


def style_efficiency(
    solution: "Solution",
    functional: Functional,
    *,
    towards: Towards | None = None,
    curve: TradeOff | None = None,
) -> StyleEfficiency:
    """Return how far a solution follows a style, relative to the best possible at its price.

    Parameters
    ----------
    solution : Solution
        A solution of a two-player zero-sum game; only its profile is used.
    functional : Functional
        A functional of one player's plan, such as :func:`~treeplex.frequency` returns.
    towards : {"high", "low"}, optional
        The end that the style prefers; by default the end on the value's side of the equilibria's midpoint.
    curve : TradeOff, optional
        The curve of the same functional; computed if it is not given. Compute it only once for many solutions.

    Returns
    -------
    StyleEfficiency

    Raises
    ------
    InvalidGameError, InvalidStrategyError, UnsupportedProblemError
        As for :class:`~treeplex.EpsilonSafeStyle`; also if the curve belongs to the other player.
    SolverError
        If HiGHS does not find the curve.

    Notes
    -----
    A strategy of a profile loses at most NashConv: v − min over y of u(x̄, y) ≤ NashConv(x̄, ȳ), because the other
    player's best response gains the rest. So the range for a loss of NashConv always holds, and the range for the
    strategy's own loss is sharper. Regret minimisation with preferences (Ju et al., "Preference-CFR", ICML 2025)
    optimises neither: the ratios give the fraction of the style possible at that loss that it reached.

    Examples
    --------
    Preference-CFR for bets in Kuhn poker goes most of the way at almost no loss:

    >>> from treeplex import Nash, PrefCFR, frequency, load_game, solve
    >>> from treeplex.solvers import style_efficiency
    >>> game = load_game("kuhn")
    >>> bold = solve(Nash(game), PrefCFR("0/b@first:5"), tol=0, max_iterations=2_000)
    >>> found = style_efficiency(bold, frequency(game, 0, "b", first=True))
    >>> [round(end, 4) + 0.0 for end in found.equilibrium], found.towards
    ([0.0, 0.4444], 'high')
    >>> found.equilibrium[0] < found.achieved < found.bound_by_loss < found.bound
    True
    >>> 0.5 < found.ratio < found.ratio_by_loss < 1
    True
    """
    game = solution.problem.game
    if towards not in (None, "high", "low"):
        raise UnsupportedProblemError(f"towards is {shown(towards)}, expected high or low")
    if curve is None:
        curve = trade_off(game, functional)
    if curve.player != functional.player:
        raise InvalidStrategyError(f"the curve belongs to player {curve.player}, expected player {functional.player}")
    achieved = functional.value(solution.profile)
    loss = max(0.0, curve.game_value - worst_case(game, solution.profile[functional.player]))
    return efficiency_at(curve, achieved, float(nash_conv(game, solution.profile)), loss, towards)


def efficiency_at(
    curve: TradeOff, achieved: float, nash_conv: float, loss: float, towards: Towards | None = None
) -> StyleEfficiency:
    """Return the result of :func:`style_efficiency` from numbers.

    Parameters
    ----------
    curve : TradeOff
    achieved : float
        The functional's value.
    nash_conv, loss : float
        NashConv of the profile and the loss of the strategy, in payoff units.
    towards : {"high", "low"}, optional

    Examples
    --------
    >>> from treeplex import frequency, load_game, trade_off
    >>> from treeplex.solvers.style.efficiency import efficiency_at
    >>> game = load_game("kuhn")
    >>> curve = trade_off(game, frequency(game, 0, "b", first=True))
    >>> found = efficiency_at(curve, achieved=0.6, nash_conv=0.05, loss=0.03)
    >>> round(found.allowed[1], 6), round(found.allowed_by_loss[1], 6)
    (0.744444, 0.624444)
    """
    if towards is None:
        towards = "high" if achieved >= sum(curve.free) / 2 else "low"
    # The error of the curve counts in favour of the strategy.
    allowed, allowed_by_loss = (curve.range(max(0.0, price) + curve.gap) for price in (nash_conv, loss))
    return StyleEfficiency(achieved, towards, nash_conv, loss, curve.free, allowed, allowed_by_loss)


def share_of_way(achieved: float, start: float, end: float) -> float | None:
    """Return the fraction of the way from start to end, from 0 to 1; ``None`` if start and end are equal."""
    if start == end:
        return None
    return min(1.0, max(0.0, (achieved - start) / (end - start)))
