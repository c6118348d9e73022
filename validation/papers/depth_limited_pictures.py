"""The figures of the experiments with depth-limited responses, by matplotlib."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...solvers.pictures import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .cdrnr_table_1 import GainRow

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
