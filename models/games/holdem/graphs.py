"""The graph of a node: equity and EV over each player's range, from its weakest hand to its strongest."""

from typing import TYPE_CHECKING

import numpy as np

from ....seqform.errors import UnsupportedProblemError
from ....seqform.interchange.pictures import Figure, Look, panels

if TYPE_CHECKING:
    from .charts import ChartedNode

#: The styles of the players' curves; each differs in colour and line.
_LOOKS = (Look("blue"), Look("red", line=(0, (5, 2))), Look("green", line=(0, (1, 1))))


def range_graph(node: "ChartedNode") -> Figure:
    """Draw equity and EV over the share of each player's range, with hands sorted by equity.

    Parameters
    ----------
    node : ChartedNode

    Raises
    ------
    UnsupportedProblemError
        If no hands of two players reach the node.
    MissingExtraError
        If matplotlib is not installed.
    """
    unit, pot, drawn = node.unit, node.pot, 0
    figure, (equity, worth) = panels(2, 1, (7.2, 7.6), sharex=True)
    averages = node.averages
    for seat, name in enumerate(node.seats):
        likely, equities, evs = node.likely[seat], node.equities[seat], node.evs[seat]
        there = np.flatnonzero((likely > 0.0) & ~np.isnan(equities) & ~np.isnan(evs))
        if not len(there):
            continue
        drawn += 1
        there = there[np.lexsort((evs[there], equities[there]))]
        ends = 100.0 * np.concatenate([[0.0], np.cumsum(likely[there])]) / likely[there].sum()
        mean_ev, mean_equity = averages[f"{name} ev"], averages[f"{name} equity"]
        assert mean_ev is not None
        assert mean_equity is not None
        look = _LOOKS[seat % len(_LOOKS)]
        for axes, values, mean, text in (
            (equity, 100.0 * equities[there], 100.0 * mean_equity, f"{100.0 * mean_equity:.1f}%"),
            (worth, unit.of(evs[there], pot), unit.of(mean_ev, pot), unit.named(mean_ev, pot)),
        ):
            heights = np.append(values[:1], values)
            look.plot(axes, ends, heights, drawstyle="steps-pre", label=f"{name.upper()}, {text} on average")
            axes.axhline(mean, color=look.hexadecimal, linewidth=0.8, alpha=0.45)
    if drawn < 2:
        raise UnsupportedProblemError(f"there is no graph {node.title}: no hands of two players reach this node")
    equity.set(xlim=(0, 100), ylim=(0, 100), ylabel="equity, % of the pot")
    worth.set(xlabel="share of the range in %, hands sorted by equity, weakest first", ylabel=f"EV, {unit.label}")
    equity.set_title(node.title, loc="left", fontsize=10.5, fontweight="bold", wrap=True, parse_math=False)
    for axes in (equity, worth):
        axes.legend(loc="best", frameon=False, fontsize=9)
    return figure
