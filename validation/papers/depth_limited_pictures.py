"""The figures of the experiments with depth-limited responses, by matplotlib."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...seqform.interchange.pictures import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .cdrnr_figure_4 import RecoveryRow
    from .cdrnr_table_1 import GainRow
    from .depth_limited import ResponseRow

# Colours of Okabe and Ito, which colour-blind readers can tell apart.
_COLOURS = {"ABR": "#999999", "CDBR1": "#56B4E9", "CDBR3": "#0072B2", "CDBR5": "#333333", "BNE": "#E69F00"}


def draw_gains(rows: "Sequence[GainRow]") -> "Figure":
    """Draw a group of bars a game, a bar a method, and a mark at what the paper prints.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    figure, axes = panels(1, 1, (6.4, 3.6))
    games = list(dict.fromkeys(row.game for row in rows))
    methods = list(dict.fromkeys(row.method for row in rows))
    width = 0.8 / max(1, len(methods))
    for place, method in enumerate(methods):
        own = [row for row in rows if row.method == method]
        where = np.array([games.index(row.game) for row in own]) + (place - (len(methods) - 1) / 2) * width
        label = "best response" if method == "ABR" else method
        axes.bar(where, [row.percent for row in own], width, color=_COLOURS.get(method), label=label)
        printed = [float(row.paper) for row in own]
        marked = "printed in the paper (left: learnt)" if method == methods[-1] else None
        axes.plot(where, printed, "_", color="#D55E00", markersize=11, markeredgewidth=1.6, label=marked)
    axes.set_xticks(range(len(games)), games)
    axes.set(
        xlabel="game", ylabel="gain, percent of a best response's", title="responses to the uniform strategy, seat 0"
    )
    axes.set_ylim(0.0, 128.0)
    if rows:
        axes.legend(frameon=False, loc="upper center", ncols=3, fontsize="small")
    return figure


#: How each method looks: colour, marker and line.
_LOOKS = {
    "RNR": ("#333333", ".", "-"),
    "CDRNR1": ("#56B4E9", "v", "-"),
    "CDRNR3": ("#0072B2", "o", "-"),
    "CDRNR5": ("#009E73", "s", "-"),
    "CDBR3-NE": ("#D55E00", "x", "--"),
    "SES": ("#CC79A7", "^", ":"),
    "BNE": ("#E69F00", "*", ""),
    "full": ("#0072B2", "o", "-"),
    "none": ("#56B4E9", "v", "-"),
    "resolving": ("#009E73", "s", "-"),
    "max-margin": ("#E69F00", "d", "-"),
    "reach-max-margin": ("#8C6BB1", "p", "-"),
    "CDBR-NE": ("#D55E00", "x", "--"),
    "second round only": ("#999999", "P", "-."),
    "best response": ("#333333", ".", "-"),
    "CDBR1": ("#56B4E9", "v", "-"),
    "CDBR3": ("#0072B2", "o", "-"),
    "CDBR5": ("#009E73", "s", "-"),
    "LBR": ("#D55E00", "x", "--"),
}


def draw_recovery(rows: "Sequence[RecoveryRow]") -> "Figure":
    """Draw a row of panels a game: what each gadget plays of the frontier, and for which p it plays it.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    games = list(dict.fromkeys(row.game for row in rows)) or [""]
    gadgets = list(dict.fromkeys(row.gadget for row in rows))
    figure, axes = panels(
        len(games), 2, (8.8, 0.6 + 2.7 * len(games)), squeeze=False, sharex="col", width_ratios=(5, 6)
    )
    for game, (curve, intervals) in zip(games, axes, strict=True):
        own = [row for row in rows if row.game == game]
        frontier = [row for row in own if row.gadget == gadgets[0]]
        curve.plot(
            [row.exploitability for row in frontier],
            [row.gain for row in frontier],
            "-",
            color="#bbbbbb",
            linewidth=1.4,
        )
        for place, gadget in enumerate(gadgets):
            colour = _LOOKS[gadget][0]
            played = [row for row in own if row.gadget == gadget and row.recovered]
            # Rings of growing size, so that those at the same point can all be seen.
            curve.plot(
                [row.exploitability for row in played], [row.gain for row in played], "o", fillstyle="none",
                color=colour, markersize=5 + 4 * place, markeredgewidth=1.8, label=gadget,
            )  # fmt: skip
            for row in played:
                assert row.least_p is not None
                assert row.most_p is not None
                shade = 0.35 + 0.65 * int(row.action[1:]) / 5
                intervals.barh(
                    place, row.most_p - row.least_p, 0.62, row.least_p, color=colour, alpha=shade, edgecolor="white"
                )
                if row.most_p - row.least_p > 0.03:
                    intervals.text(
                        (row.least_p + row.most_p) / 2, place, row.action, ha="center", va="center", fontsize="small"
                    )
        for row in frontier:
            curve.annotate(
                row.action, (row.exploitability, row.gain), (9, -13), textcoords="offset points", fontsize="small"
            )
        # Where the frontier changes: what a gadget's own changes should be.
        for row in frontier[1:]:
            intervals.axvline(row.best_least_p, color="#666666", linewidth=1.0, linestyle=(0, (2, 2)), zorder=0)
        curve.set(xlabel="exploitability", ylabel="gain", title=game, xlim=(-2.5, 27), ylim=(1, 28.5))
        intervals.set_yticks(range(len(gadgets)), gadgets)
        intervals.invert_yaxis()
        intervals.grid(visible=False, axis="y")
        intervals.set(xlim=(0.0, 1.0), xlabel="p", title="action played, by p")
    if rows:
        axes[0][0].legend(frameon=False, loc="lower right", fontsize="small", labelspacing=1.3)
    return figure


def draw_responses(rows: "Sequence[ResponseRow]") -> "Figure":
    """Draw a row of panels a game and kind of opponent: gain by p, exploitability by p, and one against the other.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    groups = list(dict.fromkeys((row.game, row.opponent.partition(":")[0]) for row in rows)) or [("", "")]
    figure, axes = panels(len(groups), 3, (10.4, 0.7 + 2.7 * len(groups)), squeeze=False)
    methods = list(dict.fromkeys(row.method for row in rows))
    for (game, kind), (gains, losses, curve) in zip(groups, axes, strict=True):
        own = [row for row in rows if (row.game, row.opponent.partition(":")[0]) == (game, kind)]
        for method in methods:
            colour, marker, line = _LOOKS[method]
            points = _averages([row for row in own if row.method == method])
            look: dict[str, Any] = {"color": colour, "markersize": 4.5, "linewidth": 1.4}
            if method == "BNE":
                for _, gain, loss in points:
                    gains.axhline(gain, color=colour, linewidth=1.2, linestyle=(0, (4, 2)))
                    curve.plot([loss], [gain], "*", color=colour, markersize=11, label=method, zorder=3)
                continue
            ps, found, lost = ([point[part] for point in points] for part in range(3))
            gains.plot(ps, found, marker + line, **look)
            losses.plot(ps, lost, marker + line, **look)
            curve.plot(lost, found, marker + line, label=method, **look)
            if method.startswith("CDRNR") and method == max(name for name in methods if name.startswith("CDRNR")):
                bounds = [(p, p / (1.0 - p) * gain) for p, gain in zip(ps, found, strict=True) if p < 1.0]
                losses.plot(*zip(*bounds, strict=True), "-", color="#bbbbbb", linewidth=1.2, label=f"bound of {method}")
        opponents = list(dict.fromkeys(row.opponent for row in own))
        named = opponents[0] if len(opponents) == 1 else f"{kind}, mean of {len(opponents)}"
        gains.set(title=f"{game}: {named}", xlabel="p", ylabel="gain", xlim=(0.0, 1.03))
        losses.set(xlabel="p", ylabel="exploitability", xlim=(0.0, 1.03))
        most = max((row.exploitability for row in own), default=1.0)
        losses.set_ylim(-0.04 * most, 1.08 * most)
        curve.set(xlabel="exploitability", ylabel="gain")
        if losses.get_legend_handles_labels()[0]:
            losses.legend(frameon=False, loc="upper left", fontsize="small")
    if rows:
        handles, labels = axes[0][2].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=len(labels), fontsize="small")
    return figure


def _averages(rows: "Sequence[ResponseRow]") -> list[tuple[float, float, float]]:
    """Return p, mean gain and mean exploitability over opponents, in rising p."""
    return [
        (
            0.0 if p is None else p,
            float(np.mean([row.gain for row in rows if row.p == p])),
            float(np.mean([row.exploitability for row in rows if row.p == p])),
        )
        for p in sorted({row.p for row in rows}, key=lambda p: -1.0 if p is None else p)
    ]


def draw_recovered_sets(rows: "Sequence[ResponseRow]") -> "Figure":
    """Draw gain against exploitability for all p, the whole of it and where exploitability is small.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    figure, axes = panels(1, 2, (9.6, 4.2))
    sets: dict[tuple[tuple[float, float], ...], list[str]] = {}
    for method in dict.fromkeys(row.method for row in rows):
        own = sorted((row for row in rows if row.method == method), key=lambda row: row.p or 0.0)
        # Gadgets that answer alike are drawn once.
        points = tuple((round(row.exploitability, 9) + 0.0, round(row.gain, 9) + 0.0) for row in own)
        sets.setdefault(points, []).append(method)
    for points, methods in sets.items():
        colour, marker, line = _LOOKS[methods[0]]
        look: dict[str, Any] = {"color": colour, "markersize": 5, "linewidth": 1.3, "label": ",\n".join(methods)}
        for one in axes:
            one.plot(*zip(*points, strict=True), marker + line, **look)
    best = [row for row in rows if row.method == "RNR"]
    most, loss = (max((getattr(row, name) for row in best), default=1.0) for name in ("gain", "exploitability"))
    axes[0].set(xlabel="exploitability", ylabel="gain", title="all p")
    axes[1].set(
        xlabel="exploitability", title="small exploitability", xlim=(-0.02 * loss, 0.5 * loss),
        ylim=(-0.03 * most, 1.03 * most),
    )  # fmt: skip
    if rows:
        axes[0].legend(frameon=False, loc="lower right", fontsize="small")
    return figure


def draw_local(rows: "Sequence[ResponseRow]") -> "Figure":
    """Draw gains against opponents of more and more iterations, and against random ones.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    figure, axes = panels(1, 2, (9.6, 3.8), width_ratios=(3, 2), sharey=True)
    best = {row.opponent: row.gain for row in rows if row.method == "best response"}
    for one, kind in zip(axes, ("cfr", "random"), strict=True):
        chosen = [row for row in rows if row.opponent.startswith(kind) and best.get(row.opponent, 0.0) > 0.0]
        for method in dict.fromkeys(row.method for row in rows):
            colour, marker, line = _LOOKS[method]
            own = [row for row in chosen if row.method == method]
            places = [int(row.opponent.partition("=")[2]) for row in own]
            shares = [100.0 * row.gain / best[row.opponent] for row in own]
            style = marker + line if kind == "cfr" else marker
            one.plot(places, shares, style, color=colour, markersize=6, linewidth=1.4, label=method)
        one.axhline(0.0, color="#666666", linewidth=1.0)
    axes[0].set(xlabel="iterations of CFR of the opponent", title="opponents from CFR")
    axes[0].set_ylabel("gain, percent of a best response's")
    if any(row.opponent.startswith("cfr") for row in rows):
        axes[0].set_xscale("log")
    axes[1].set(xlabel="seed of the opponent", title="random opponents")
    axes[1].set_xticks(sorted({int(row.opponent.partition("=")[2]) for row in rows if row.opponent[:6] == "random"}))
    axes[1].margins(x=0.1)
    if rows:
        axes[0].legend(frameon=False, loc="lower left", fontsize="small")
    return figure
