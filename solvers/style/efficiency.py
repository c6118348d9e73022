"""How far a style came: what a solution does of an action, beside the most that linear programs allow at that price."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...seqform.errors import InvalidStrategyError, UnsupportedProblemError, shown
from ...seqform.evaluate import nash_conv, worst_case
from ...seqform.functional import Functional
from ..parametric.trade_off import TradeOff, trade_off

if TYPE_CHECKING:
    from ..solution import Solution

#: Which end of a functional's values a style leans to.
Towards = Literal["high", "low"]


@dataclass(frozen=True)
class StyleEfficiency:
    """The style of a strategy, and the best style possible at the same price.

    Attributes
    ----------
    achieved : float
        The functional's value at the strategy.
    towards : {"high", "low"}
        Which end the style leans to.
    nash_conv : float
        Of the profile, payoff units.
    loss : float
        Of the strategy alone: the value of the game minus what it guarantees, payoff units.
    equilibrium : tuple of float
        The least and the greatest value that equilibrium strategies have.
    allowed : tuple of float
        The same for all strategies that lose `nash_conv` at most; the strategy is one of them.
    allowed_by_loss : tuple of float
        The same for all strategies that lose `loss` at most, which is never more.
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
        """The furthest that a strategy of this NashConv can go."""
        return self.allowed[self._end]

    @property
    def bound_by_loss(self) -> float:
        """The furthest that a strategy of this loss can go."""
        return self.allowed_by_loss[self._end]

    @property
    def ratio(self) -> float | None:
        """The way gone towards :attr:`bound`, from the equilibrium that is farthest from it; ``None`` if there is none.

        Between 0, also for what went the other way, and 1.
        """
        return share_of_way(self.achieved, self.equilibrium[1 - self._end], self.bound)

    @property
    def ratio_by_loss(self) -> float | None:
        """The same towards :attr:`bound_by_loss`."""
        return share_of_way(self.achieved, self.equilibrium[1 - self._end], self.bound_by_loss)

    @property
    def excess(self) -> float:
        """By how much the value is outside of what its loss allows: 0 but for round-off."""
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
    """Return what a solution has of a style, and how much of what its price would have bought.

    Parameters
    ----------
    solution : Solution
        Of a zero-sum game of two players; only its profile counts.
    functional : Functional
        Of one player's plan, such as :func:`~treeplex.frequency` returns.
    towards : {"high", "low"}, optional
        Which end the style leans to; by default that on whose side of the equilibria's middle the value is.
    curve : TradeOff, optional
        Of the same functional; computed if it is not given. For many solutions compute it once.

    Returns
    -------
    StyleEfficiency

    Raises
    ------
    InvalidGameError, InvalidStrategyError, UnsupportedProblemError
        As for :class:`~treeplex.EpsilonSafeStyle`; also if the curve is of the other player.
    SolverError
        If HiGHS does not find the curve.

    Notes
    -----
    A strategy of a profile loses NashConv at most, v − min over y of u(x̄, y) ≤ NashConv(x̄, ȳ), since the other player's
    best response gains the rest. So the linear programs' range for a loss of NashConv holds always, and that for the
    strategy's own loss is the sharper one. Regret minimisation by preferences (Ju et al., "Preference-CFR", ICML 2025)
    optimises neither: the ratios say how much of the style that the loss would have bought it found.

    Examples
    --------
    Preference-CFR for bets in Kuhn poker goes most of the way at no loss to speak of:

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
    """Return the same as :func:`style_efficiency` from numbers alone.

    Parameters
    ----------
    curve : TradeOff
    achieved : float
        The functional's value.
    nash_conv, loss : float
        Of the profile and of the strategy, payoff units.
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
    # What the curve itself may be off counts for the strategy.
    allowed, allowed_by_loss = (curve.range(max(0.0, price) + curve.gap) for price in (nash_conv, loss))
    return StyleEfficiency(achieved, towards, nash_conv, loss, curve.free, allowed, allowed_by_loss)


def share_of_way(achieved: float, start: float, end: float) -> float | None:
    """Return the part of the way from start to end that was gone, from 0 to 1; ``None`` if start and end are one."""
    if start == end:
        return None
    return min(1.0, max(0.0, (achieved - start) / (end - start)))
