"""The figures of the experiments, by matplotlib."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...solvers.pictures import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .ccfr_figure_2a import CCFRFigure2a, FrontierRow

# Colours of Okabe and Ito, which colour-blind readers can tell apart.
_BLACK, _BLUE, _RED, _GREEN, _ORANGE, _GREY = "#333333", "#0072B2", "#D55E00", "#009E73", "#E69F00", "#999999"


def draw_frontier(experiment: "CCFRFigure2a", rows: "Sequence[FrontierRow]") -> "Figure":
    """Draw risk against exploitability: the exact frontier, and constrained CFR's dots.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    from .ccfr_figure_2a import band

    figure, axes = panels(1, 1, (5.8, 4.0))
    if rows:
        bounds, least, most = band(rows)
        axes.fill_between(bounds, least, most, color=_ORANGE, alpha=0.45, linewidth=0, label="exact: tangents to chords")
        exact = sorted((row.frontier_risk, row.frontier_exploitability) for row in rows)
        axes.plot(*zip(*exact, strict=True), "+", color=_BLACK, markersize=11, markeredgewidth=1.2, label="exact: linear program")
        dots = [(row.risk, row.exploitability) for row in rows]
        axes.plot(
            *zip(*dots, strict=True), "o", color=_BLUE, markersize=5,
            label=f"constrained CFR, {rows[0].iterations:,} iterations",
        )  # fmt: skip
        axes.legend(frameon=False, loc="upper right")
    axes.set(
        xlabel="risk: probability that the patroller is not back at its base",
        ylabel="exploitability (payoff units)",
        title=f"transit game, width {experiment.width}",
    )
    axes.set_xlim(left=0.0)
    return figure
