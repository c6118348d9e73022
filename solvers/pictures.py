"""Frontiers and value functions as pictures, by matplotlib."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..seqform.interchange.pictures import COLOURS, legend, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .parametric.frontier import Frontier
    from .parametric.sensitivity import ParametricValue
    from .parametric.trade_off import TradeOff

# Prices that differ by a larger factor are drawn on a logarithmic axis.
_STEEP = 100.0


def draw_frontier(frontier: "Frontier") -> "Figure":
    """Draw what responses gain against what they may lose, and both against p.

    Parameters
    ----------
    frontier : Frontier

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from treeplex import Strategy, load_game, restricted_nash_frontier
    >>> from treeplex.solvers.pictures import draw_frontier
    >>> game = load_game("kuhn")
    >>> figure = draw_frontier(restricted_nash_frontier(game, Strategy.uniform(game, 1)))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['exploitability', 'p']
    """
    figure, (curve, steps) = panels(1, 2, (8.6, 3.6))
    size = _dot_size(len(frontier.gains))
    curve.plot(frontier.exploitabilities, frontier.gains, "o-", color=COLOURS["blue"], markersize=size, linewidth=1.4)
    curve.set(xlabel="exploitability", ylabel="gain against the model")
    knots = np.concatenate([[0.0], frontier.breakpoints, [1.0]])
    look: dict[str, Any] = {"baseline": None, "linewidth": 1.6}
    steps.stairs(frontier.gains, knots, color=COLOURS["blue"], label="gain", **look)
    steps.stairs(frontier.exploitabilities, knots, color=COLOURS["red"], linestyle="--", label="exploitability", **look)
    steps.set(xlabel="p", xlim=(0.0, 1.0))
    legend(steps, "upper left")
    return figure


def draw_value_function(function: "ParametricValue") -> "Figure":
    """Draw the optimum against a constraint's bound, with its breakpoints, and the price below it.

    Bounds that are infeasible are shaded.

    Parameters
    ----------
    function : ParametricValue

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from treeplex import EpsilonSafeResponse, Strategy, load_game, parametric_value
    >>> from treeplex.solvers.pictures import draw_value_function
    >>> game = load_game("kuhn")
    >>> problem = EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=0)
    >>> figure = draw_value_function(parametric_value(problem, "safety", 0, 0.5))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['objective', 'price']
    """
    figure, (values, prices) = panels(2, 1, (5.6, 5.0), sharex=True, height_ratios=(3, 2))
    size = _dot_size(len(function.values))
    values.plot(
        function.knots, function.values, "o-", color=COLOURS["blue"], markersize=size, linewidth=1.4, clip_on=False
    )
    values.set(ylabel="objective", xlim=(function.lower, function.upper))
    prices.stairs(function.prices, function.knots, baseline=None, color=COLOURS["red"], linewidth=1.6)
    prices.set(xlabel=f"bound of {function.name}", ylabel="price")
    sizes = np.abs(function.prices[function.prices != 0.0])
    if len(sizes) and sizes.max() > _STEEP * sizes.min():
        prices.set_yscale("symlog", linthresh=float(sizes.min()))
    prices.margins(y=0.1)
    first, last = function.feasible
    for start, end in ((function.lower, first), (last, function.upper)):
        if end > start:
            for axes in (values, prices):
                axes.axvspan(start, end, color=COLOURS["pale"], linewidth=0)
            values.annotate(
                "infeasible", ((start + end) / 2, 0.5), xycoords=("data", "axes fraction"), ha="center", va="center",
                rotation=90, color=COLOURS["slate"],
            )  # fmt: skip
    return figure


def draw_trade_off(
    curve: "TradeOff",
    target: str = "",
    asked: float | None = None,
    max_loss: float | None = None,
    reached: tuple[float, float] | None = None,
) -> "Figure":
    """Draw the least loss against the value of a functional, with its breakpoints; equilibria are shaded.

    Parameters
    ----------
    curve : TradeOff
    target : str
        What is asked for.
    asked : float, optional
        The value that is asked for, as an upright line.
    max_loss : float, optional
        What may be lost, as a level line.
    reached : tuple of float, optional
        A strategy's value and loss, as a dot.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from treeplex import frequency, load_game, trade_off
    >>> from treeplex.solvers.pictures import draw_trade_off
    >>> game = load_game("kuhn")
    >>> draw_trade_off(trade_off(game, frequency(game, 0, "b", first=True))).axes[0].get_ylabel()
    'least loss'
    """
    figure, axes = panels(1, 1, (5.6, 3.8))
    size = _dot_size(len(curve.knots))
    axes.plot(curve.knots, curve.losses, "o-", color=COLOURS["blue"], markersize=size, linewidth=1.4, clip_on=False)
    low, high = curve.free
    axes.axvspan(low, high, color=COLOURS["pale"], linewidth=1.0)
    middle = ((low + high) / 2, 0.98)
    axes.annotate(
        "equilibria", middle, xycoords=("data", "axes fraction"), ha="center", va="top", color=COLOURS["slate"]
    )
    if max_loss is not None:
        axes.axhline(max_loss, color=COLOURS["slate"], linestyle=":", linewidth=1.2, label=f"loss {max_loss:g}")
    if asked is not None:
        axes.axvline(asked, color=COLOURS["red"], linestyle="--", linewidth=1.2, label=target)
    if reached is not None:
        label = f"{reached[0]:.4g} for {reached[1]:.4g}"
        axes.plot(*reached, "o", color=COLOURS["red"], markersize=8, zorder=3, clip_on=False, label=label)
    if asked is not None or max_loss is not None:
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
    axes.set(xlabel=curve.description, ylabel="least loss", xlim=(curve.knots[0], curve.knots[-1]))
    axes.set_ylim(bottom=0.0)
    return figure


def _dot_size(count: int) -> float:
    return 4.5 if count <= 30 else 2.5
