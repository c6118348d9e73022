"""The figures of the experiments with constrained CFR, by matplotlib."""

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from ...seqform.interchange.pictures import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .ccfr_figure_2a import CCFRFigure2a, FrontierRow
    from .ccfr_figure_2b import CCFRFigure2b, ConvergenceRow
    from .ccfr_figure_2c import CCFRFigure2c, TimeRow
    from .ccfr_figure_3 import CCFRFigure3, CounterProfileRow

# Colours of Okabe and Ito, which colour-blind readers can tell apart.
_BLACK, _BLUE, _RED, _GREEN, _ORANGE, _GREY = "#333333", "#0072B2", "#D55E00", "#009E73", "#E69F00", "#999999"
_PINK = "#CC79A7"


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
        axes.plot(bounds, most, color=_BLACK, linewidth=1.1, label="exact: linear programs, and chords between")
        axes.fill_between(
            bounds, least, most, color=_ORANGE, alpha=0.6, linewidth=0, label="room left by their tangents"
        )
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
    axes.set_ylim(bottom=0.0)
    return figure


def draw_convergence(experiment: "CCFRFigure2b", rows: "Sequence[ConvergenceRow]") -> "Figure":
    """Draw difference and violation against time, once with linear and once with logarithmic time.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    figure, both = panels(1, 2, (8.8, 4.2), sharey=True)
    looks = {"default": (_BLUE, "defaults here"), "paper": (_RED, "the paper's recipe")}
    for axes in both:
        for recipe, (colour, words) in looks.items():
            points = [row for row in rows if row.recipe == recipe]
            seconds = np.array([row.seconds for row in points])
            difference = np.array([row.difference for row in points])
            violation = np.array([row.violation for row in points])
            axes.plot(seconds, _shown(np.abs(difference)), color=colour, label=f"difference, {words}")
            # What is below the exact optimum is so because it violates its bound.
            for markers, fill in ((difference > 0.0, colour), (difference < 0.0, "white")):
                axes.plot(
                    seconds[markers], np.abs(difference[markers]), "o", color=colour, markerfacecolor=fill, markersize=4
                )
            axes.plot(seconds, _shown(violation), "x", color=colour, markersize=5, label=f"violation, {words}")
        for row in rows:
            if row.recipe == "exact":
                axes.axvline(row.seconds, color=_BLACK, linewidth=1.4, label="time of the linear program")
        axes.set(xlabel="seconds", yscale="log")
    both[0].set_ylabel("difference (payoff units)\nviolation (probability)")
    both[0].set_xlim(left=0.0)
    both[1].set_xscale("log")
    handles, labels = both[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(f"transit game, width {experiment.width}, risk at most {experiment.bound:g}")
    return figure


def draw_times(experiment: "CCFRFigure2c", rows: "Sequence[TimeRow]") -> "Figure":
    """Draw time against width, logarithmic: a line a method, hollow where the time limit came first.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    figure, axes = panels(1, 1, (5.8, 4.2))
    colours, marks = (_GREEN, _BLUE, _RED, _ORANGE, _GREY), ("o", "s", "^", "D", "v")
    methods: list[tuple[float | None, str, str, str]] = [(None, _BLACK, "x", "linear program, HiGHS")]
    methods += [
        (precision, colours[place % 5], marks[place % 5], f"constrained CFR to {precision:g}")
        for place, precision in enumerate(experiment.precisions)
    ]
    for precision, colour, mark, words in methods:
        solved = [row for row in rows if row.precision == precision]
        ended = [row for row in solved if row.status in ("converged", "optimal")]
        axes.plot(
            [row.width for row in ended], [row.seconds for row in ended], f"{mark}-", color=colour, label=words,
            linewidth=1.4, markersize=5,
        )  # fmt: skip
        stopped = [row for row in solved if row not in ended]
        axes.plot(
            [row.width for row in stopped], [row.seconds for row in stopped], mark, color=colour, markerfacecolor="none"
        )
    widths = sorted({row.width for row in rows})
    axes.set(xlabel="width of the transit game", ylabel="seconds", yscale="log", xticks=widths)
    axes.set_title(f"risk at most {experiment.bound:g}")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def draw_counter_profiles(experiment: "CCFRFigure3", rows: "Sequence[CounterProfileRow]") -> "Figure":
    """Draw payoff against observed games: averages by confidence, and how far the extreme ones spread.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    from matplotlib.ticker import FuncFormatter

    figure, (averages, spread) = panels(1, 2, (9.6, 4.9), sharey=True)
    looks = zip(experiment.confidences, cycle((_BLUE, _ORANGE, _GREEN, _RED, _PINK)), cycle("os^Dv"), strict=False)
    for confidence, colour, mark in looks:
        own = [row for row in rows if row.confidence == confidence]
        games, means = [row.games for row in own], [row.expected for row in own]
        averages.plot(
            games, means, f"{mark}-", color=colour, linewidth=1.4, markersize=4.5, label=f"confidence {confidence:g}"
        )
        averages.plot(games, [row.exact for row in own], "x", color=_BLACK, markersize=5, markeredgewidth=0.9)
        if confidence in (experiment.confidences[0], experiment.confidences[-1]):
            low, high = [row.low for row in own], [row.high for row in own]
            spread.fill_between(games, low, high, color=colour, alpha=0.2, linewidth=0)
            spread.plot(games, means, f"{mark}-", color=colour, linewidth=1.4, markersize=4.5)
    first = [row for row in rows if row.confidence == experiment.confidences[0]]
    for axes in (averages, spread):
        axes.plot(
            [row.games for row in first], [row.naive for row in first], "--", color=_GREY, linewidth=1.5,
            label="best response to frequencies",
        )  # fmt: skip
        if rows:
            axes.axhline(rows[0].best_response, color=_BLACK, linewidth=1.0, label="best response")
            axes.axhline(rows[0].equilibrium, color=_BLACK, linewidth=1.0, linestyle=":", label="best equilibrium")
            # What frequencies lose at first would press all else together.
            lowest = min(rows[0].equilibrium, *(row.low for row in rows))
            axes.set_ylim(lowest - 0.03, rows[0].best_response + 0.04)
        axes.set_xscale("log")
        axes.set_xlim(experiment.games[0] / 1.3, experiment.games[-1] * 1.3)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda games, place: f"{games:,.0f}"))
        axes.set_xlabel("observed games in each seat")
    averages.set_ylabel("payoff against the target (antes)")
    averages.set_title("on average; crosses: by linear programs")
    spread.set_title("four of five repetitions")
    handles, labels = averages.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _shown(values: Any) -> Any:
    """Return values with gaps where a logarithmic axis has no place for them."""
    return np.where(values > 0.0, values, np.nan)
