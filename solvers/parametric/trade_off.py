"""The cost of a style: the least possible loss of a player for each value of a linear functional of its plan."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from ...models.constraints import functional_bound
from ...models.problems import ConstrainedNash, EpsilonSafeStyle
from ...seqform.arrays import Floats
from ...seqform.checks import check_number, explained
from ...seqform.display import Displayed, Drawn
from ...seqform.errors import InvalidConstraintError, InvalidOptionError, shown
from ...seqform.functional import Functional
from ...seqform.game import Game
from ...seqform.interchange.page import Content, emphasis, prose, sheet_blocks
from ...seqform.interchange.page import figure as drawn
from ...seqform.interchange.pictures import COLOURS, Figure, cut, dot_size, panels
from ...seqform.polytope import best_response_value
from ...seqform.sheet import Column, Sheet, Table, error, payoff, price
from ..solve import with_game_value
from .sensitivity import ParametricValue, parametric_value

# Pieces over which the value changes by less than this fraction of the largest payoff are horizontal.
_LEVEL = 1e-9
# The name of bounds in the problems that are solved; not visible to users.
_NAME = "style"


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff(Drawn, Displayed):
    """The least loss at which a linear functional of a player's plan takes each value.

    The loss of a strategy is the value of the game minus its guarantee: its largest expected loss to any opponent. As a
    function of the functional's value, the least loss is convex, piecewise linear, and 0 between the ends of
    :attr:`free`, the range over equilibrium strategies.

    Attributes
    ----------
    description : str
        The description of the functional.
    player : int
    knots : ndarray of float64, shape (k + 1,)
        The values of the functional at which the slope changes, from its minimum to its maximum over all strategies.
    losses : ndarray of float64, shape (k + 1,)
        The least loss at the knots, in payoff units.
    slopes : ndarray of float64, shape (k,)
        The slopes between knots, in payoff per unit of the functional, ascending.
    free : tuple of float
        The smallest and the largest value without loss.
    game_value : float
        The value of the game to the player.
    gap : float
        The largest possible error of this function, for any value. Strategies and multipliers prove it at the
        knots, and convexity proves it in between.
    solves : int
        The number of linear programs solved.

    Examples
    --------
    How often player 0 of Kuhn poker bets at its first decision:

    >>> from treeplex import frequency, load_game, trade_off
    >>> game = load_game("kuhn")
    >>> bets = trade_off(game, frequency(game, 0, "b", first=True))
    >>> bets
    TradeOff('how often player 0 takes b at its first decision', free 0 to 0.444444, 3 pieces, gap=...)
    >>> bets.knots.round(6) + 0.0, bets.losses.round(6) + 0.0
    (array([0.      , 0.444444, 0.777778, 1.      ]), array([0.      , 0.      , 0.055556, 0.277778]))
    >>> round(bets.loss(0.6), 6), [round(end, 6) + 0.0 for end in bets.range(0.02)]
    (0.025926, [0.0, 0.564444])
    """

    description: str
    player: int
    knots: Floats
    losses: Floats
    slopes: Floats
    free: tuple[float, float]
    game_value: float
    gap: float
    solves: int

    def _html_blocks(self) -> Iterator[Content]:
        yield prose(emphasis(f"Least loss as a function of {self.description}"), f", proven within {error(self.gap)}")
        yield drawn(self.figure)
        yield from sheet_blocks(Sheet([], [self.pieces]), "the arrays knots, losses and slopes contain all")

    @property
    def pieces(self) -> Table:
        """The least loss at both ends of each piece, and its slope."""
        columns = [*(Column(key, payoff) for key in ("from", "to", "loss_from", "loss_to")), Column("slope", price)]
        numbers = zip(pairwise(self.knots.tolist()), pairwise(self.losses.tolist()), self.slopes.tolist(), strict=True)
        title = f"least loss as a function of {self.description}; proven within {error(self.gap)}"
        return Table(columns, [(*ends, *losses, slope) for ends, losses, slope in numbers], title)

    def loss(self, value: float) -> float:
        """Return the least loss at which the functional has a given value.

        Raises
        ------
        InvalidConstraintError
            If no strategy has this value.
        """
        low, high = self.knots[[0, -1]].tolist()
        # A value that exceeds an end only by round-off counts as the end.
        slack = 1e-9 * max(1.0, abs(low), abs(high))
        if isinstance(value, bool) or not isinstance(value, Real) or not low - slack <= value <= high + slack:
            raise InvalidConstraintError(
                f"{self.description}: received {shown(value)}, expected a number from {low:.9g} to {high:.9g}, the "
                "range over all strategies"
            )
        return float(np.interp(float(value), self.knots, self.losses))

    def range(self, max_loss: float) -> tuple[float, float]:
        """Return the smallest and the largest value of the functional within a given loss.

        Raises
        ------
        InvalidOptionError
            If the loss is negative or not a number.
        """
        allowed = check_number(max_loss, "max_loss", InvalidOptionError, "[0, inf]")
        first, last = self.free
        left = self.knots <= first
        right = self.knots >= last
        # Losses fall on the left side, and rise on the right.
        low = np.interp(-allowed, -self.losses[left], self.knots[left])
        high = np.interp(allowed, self.losses[right], self.knots[right])
        return float(low), float(high)

    def figure(
        self,
        target: str = "",
        asked: float | None = None,
        max_loss: float | None = None,
        reached: tuple[float, float] | None = None,
    ) -> "Figure":
        """Draw the least loss against the functional's value, with its breakpoints; the range of equilibria is shaded.

        Parameters
        ----------
        target : str
            The label of the requested value.
        asked : float, optional
            The requested value, as a vertical line.
        max_loss : float, optional
            The allowed loss, as a horizontal line.
        reached : tuple of float, optional
            A strategy's value and loss, as a dot.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        figure, axes = panels(1, 1, (5.6, 3.8))
        size = dot_size(len(self.knots))
        axes.plot(self.knots, self.losses, "o-", color=COLOURS["blue"], markersize=size, linewidth=1.4, clip_on=False)
        low, high = self.free
        axes.axvspan(low, high, color=COLOURS["pale"], linewidth=1.0)
        middle = ((low + high) / 2, 0.98)
        axes.annotate(
            "equilibria", middle, xycoords=("data", "axes fraction"), ha="center", va="top", color=COLOURS["slate"]
        )
        if max_loss is not None:
            label = f"loss of {max_loss:g} allowed"
            axes.axhline(max_loss, color=COLOURS["slate"], linestyle=":", linewidth=1.2, label=label)
        if asked is not None:
            axes.axvline(asked, color=COLOURS["red"], linestyle="--", linewidth=1.2, label=target)
        if reached is not None:
            # Ignore round-off.
            label = f"{reached[0]:.4g}, losing {reached[1] if abs(reached[1]) > 1e-12 else 0.0:.4g}"
            axes.plot(*reached, "o", color=COLOURS["red"], markersize=8, zorder=3, clip_on=False, label=label)
        if asked is not None or max_loss is not None:
            figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8, columnspacing=1.2)
        axes.set(ylabel=f"least loss of player {self.player}, payoff units", xlim=(self.knots[0], self.knots[-1]))
        axes.set_xlabel(f"{cut(self.description, 60)}, expected per game", parse_math=False)
        axes.set_ylim(bottom=0.0)
        return figure

    def to_dict(self) -> dict[str, Any]:
        """Return the curve in the JSON form of ``treeplex style``: pieces with the least loss at both ends."""
        return {
            "functional": self.description,
            "free": list(self.free),
            "pieces": self.pieces.records,
            "gap": self.gap,
        }

    def __repr__(self) -> str:
        low, high = (end + 0.0 for end in self.free)
        return (
            f"TradeOff({self.description!r}, free {low:.6g} to {high:.6g}, {len(self.slopes)} pieces, "
            f"gap={self.gap:.3g})"
        )


@explained
def trade_off(
    game: Game,
    functional: Functional | Any,
    *,
    player: int | None = None,
    game_value: float | None = None,
    accuracy: float = 0.0,
) -> TradeOff:
    """Return the least loss at which a linear functional of a player's plan takes each value.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    functional : Functional or array_like, shape (num_sequences,)
        A functional of one player's plan, such as :func:`~treeplex.frequency` returns, or its coefficients.
    player : int, optional
        The player of the plan; required with coefficients alone.
    game_value : float, optional
        The value of the game to the player; computed if it is not given.
    accuracy : float
        The allowed error of the loss, in payoff units. With 0 all pieces are found; large games have hundreds, and
        a larger number finds fewer.

    Returns
    -------
    TradeOff

    Raises
    ------
    InvalidGameError, InvalidStrategyError, UnsupportedProblemError
        As for :class:`~treeplex.EpsilonSafeStyle`.
    InvalidConstraintError
        If all strategies have the same value.
    SolverError
        If HiGHS finds no optimum of one of the programs.

    Notes
    -----
    With a value of at least t, the best guarantee is max over x with c · x ≥ t of min over y of xᵀ M y. It is concave
    and piecewise linear in t, and :func:`~treeplex.parametric_value` finds all its breakpoints. The same holds with c ·
    x ≤ t. The loss for a value of exactly t is convex in t with minimum 0, so it is the larger of these two losses.

    Examples
    --------
    >>> from treeplex import frequency, load_game, trade_off
    >>> game = load_game("kuhn")
    >>> bets = trade_off(game, frequency(game, 0, "b", first=True))
    >>> [round(bets.loss(value), 6) for value in (0.4, 0.6, 1)]
    [0.0, 0.025926, 0.277778]
    """
    posed = EpsilonSafeStyle(game, epsilon=0, maximise=functional, player=player, game_value=game_value)
    if posed.game_value is None:
        posed = with_game_value(posed)
    value = posed.known_value()
    style: Functional = posed.maximise
    treeplex = game.sequence_form.treeplexes[style.player]
    highest = style.constant + best_response_value(treeplex, style.coefficients)
    lowest = style.constant - best_response_value(treeplex, -style.coefficients)
    if not highest - lowest > _LEVEL * max(abs(lowest), abs(highest)):
        raise InvalidConstraintError(f"{shown(style.description)} is {lowest:g} for every strategy: no trade-off")
    sides: list[ParametricValue] = []
    for bound in ("at_most", "at_least"):
        limit: Any = {bound: lowest}
        problem = ConstrainedNash(game, [functional_bound(style, **limit, name=_NAME)])
        # The bound is on the functional without its constant.
        ends = lowest - style.constant, highest - style.constant
        sides.append(parametric_value(problem, _NAME, *ends, accuracy=accuracy))
    return _joined(sides, value, posed.game.as_paid(value, style.player), style, game.stakes)


def _joined(sides: list[ParametricValue], value: float, paid: float, style: Functional, scale: float) -> TradeOff:
    """Join the losses on both sides of the cost-free range: from upper bounds below it, from lower bounds above it.

    `value` is the value of the game as the problem is posed, `paid` as the game pays it.
    """
    own = 1.0 if style.player == 0 else -1.0
    below, above = ([own * number for number in side.values.tolist()] for side in sides)
    level = _LEVEL * scale
    # For upper bounds the pieces below the best guarantee count, for lower bounds those above it.
    falling = [place for place in range(1, len(below)) if below[place] - below[place - 1] > level]
    rising = [place for place in range(1, len(above)) if above[place - 1] - above[place] > level]
    left = list(zip(sides[0].knots.tolist(), below, strict=True))[: (falling[-1] if falling else 0) + 1]
    right = list(zip(sides[1].knots.tolist(), above, strict=True))[(rising[0] - 1 if rising else len(above) - 1) :]
    free = left[-1][0], right[0][0]
    width = sides[0].upper - sides[0].lower
    if free[1] - free[0] <= _LEVEL * width:
        # Only one value is free; both sides end there up to round-off.
        right = right[1:]
        free = free[0], free[0]
    points = left + right
    knots = np.array([place for place, _ in points]) + style.constant
    losses = np.array([max(0.0, value - guaranteed) for _, guaranteed in points])
    return TradeOff(
        description=style.description,
        player=style.player,
        knots=knots,
        losses=losses,
        slopes=np.diff(losses) / np.diff(knots),
        free=(free[0] + style.constant, free[1] + style.constant),
        game_value=paid,
        gap=max(side.gap for side in sides),
        solves=sum(side.solves for side in sides),
    )
