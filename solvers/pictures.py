"""Frontiers and value functions as pictures, by matplotlib."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..seqform.interchange.drawing import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .frontier import Frontier
    from .sensitivity import ValueFunction

# Colours of Okabe and Ito, which colour-blind readers can tell apart.
_BLUE, _RED, _GREY = "#0072B2", "#D55E00", "#e5e5e5"
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
    curve.plot(frontier.exploitabilities, frontier.gains, "o-", color=_BLUE, markersize=size, linewidth=1.4)
    curve.set(xlabel="exploitability", ylabel="gain against the model")
    knots = np.concatenate([[0.0], frontier.breakpoints, [1.0]])
    look: dict[str, Any] = {"baseline": None, "linewidth": 1.6}
    steps.stairs(frontier.gains, knots, color=_BLUE, label="gain", **look)
    steps.stairs(frontier.exploitabilities, knots, color=_RED, linestyle="--", label="exploitability", **look)
    steps.set(xlabel="p", xlim=(0.0, 1.0))
    steps.legend(frameon=False, loc="upper left")
    return figure


def draw_value_function(function: "ValueFunction") -> "Figure":
    """Draw the optimum against a constraint's bound, with its breakpoints, and the price below it.

    Bounds that are infeasible are shaded.

    Parameters
    ----------
    function : ValueFunction

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from treeplex import EpsilonSafeResponse, Strategy, load_game, value_function
    >>> from treeplex.solvers.pictures import draw_value_function
    >>> game = load_game("kuhn")
    >>> problem = EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=0)
    >>> figure = draw_value_function(value_function(problem, "safety", 0, 0.5))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['objective', 'price']
    """
    figure, (values, prices) = panels(2, 1, (5.6, 5.0), sharex=True, height_ratios=(3, 2))
    size = _dot_size(len(function.values))
    values.plot(function.knots, function.values, "o-", color=_BLUE, markersize=size, linewidth=1.4, clip_on=False)
    values.set(ylabel="objective", xlim=(function.lower, function.upper))
    prices.stairs(function.prices, function.knots, baseline=None, color=_RED, linewidth=1.6)
    prices.set(xlabel=f"bound of {function.name}", ylabel="price")
    sizes = np.abs(function.prices[function.prices != 0.0])
    if len(sizes) and sizes.max() > _STEEP * sizes.min():
        prices.set_yscale("symlog", linthresh=float(sizes.min()))
    prices.margins(y=0.1)
    first, last = function.feasible
    for start, end in ((function.lower, first), (last, function.upper)):
        if end > start:
            for axes in (values, prices):
                axes.axvspan(start, end, color=_GREY, linewidth=0)
            values.annotate(
                "infeasible", ((start + end) / 2, 0.5), xycoords=("data", "axes fraction"), ha="center", va="center",
                rotation=90, color="#666666",
            )  # fmt: skip
    return figure


def panels(rows: int, columns: int, size: tuple[float, float], **how: Any) -> "tuple[Figure, Any]":
    """Return a figure that belongs to no window, and its axes, with a pale grid and no frame.

    Parameters
    ----------
    rows, columns : int
        Of axes.
    size : tuple of float
        Width and height in inches.
    **how
        As ``matplotlib.figure.Figure.subplots`` takes it.

    Returns
    -------
    figure : matplotlib.figure.Figure
    axes : matplotlib.axes.Axes or ndarray of them

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, **how)
    for one in figure.axes:
        one.spines[["top", "right"]].set_visible(False)
        one.grid(color=_GREY, linewidth=0.7)
        one.set_axisbelow(True)
    return figure, axes


def _dot_size(count: int) -> float:
    return 4.5 if count <= 30 else 2.5
