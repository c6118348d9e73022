"""Grids of the transit game on a picture: where they stand, their shades and marks, and what explains them."""

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from ...seqform.arrays import Floats
from .transit import Transit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

#: Inches across a picture, and points of its text.
WIDTH, FONT = 8.0, 8.0
# Shades that only get darker keep their order for colour-blind readers and in print; marks differ from them in shape.
_SHADES, _BASE, _EAST, _GREY = "YlGnBu", "#D55E00", "#000000", "#767676"
# What the logarithmic scale begins at; cells of less probability are white.
_LEAST = 1e-3
_NUM_SHADES, _NUM_GREYS = 100, 22  # and six more make 128 colours
# Inches between grids, at the edges, and below the grids for the scale and the legend.
_GAP, _EDGE, _BELOW = 0.1, 0.06, 1.0


def panels(
    count: int, columns: int, width: float, left: float = 0.0, top: float = 0.0, above: float = 0.0, below: float = 0.0
) -> "Figure":
    """Return a figure, which belongs to no window, with places for grids and below them one for the scale.

    Everything has its place beforehand: no engine has to measure text, which takes longer than to draw it.

    Parameters
    ----------
    count, columns : int
        How many grids there are, and how many stand side by side.
    width : float
        Of the figure, in inches.
    left, top : float
        Inches kept free before and above all grids.
    above, below : float
        Inches kept free above and below each row of grids.

    Returns
    -------
    matplotlib.figure.Figure
        Its ``axes`` are those of the grids, row by row, and at the end that of the scale.
    """
    from matplotlib.figure import Figure

    rows = math.ceil(count / columns)
    across = (width - left - 2 * _EDGE - (columns - 1) * _GAP) / columns
    pitch = above + across / 2 + below
    height = top + rows * pitch + _BELOW
    figure = Figure(figsize=(width, height))

    def place(x: float, y: float, wide: float, high: float) -> None:
        figure.add_axes((x / width, y / height, wide / width, high / height))

    for number in range(count):
        row, column = divmod(number, columns)
        x, y = left + _EDGE + column * (across + _GAP), height - top - row * pitch - above - across / 2
        place(x, y, across, across / 2)
    long = 0.6 * width
    place((width - long) / 2, 0.72, long, 0.1)
    return figure


def draw_grid(axes: "Axes", rules: Transit, occupancy: Floats) -> "AxesImage":
    """Draw one grid, with its marks."""
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle

    shades = colormaps[_SHADES].with_extremes(under="white")
    image = axes.imshow(occupancy, cmap=shades, norm=LogNorm(_LEAST, 1.0), interpolation="none")
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color=_GREY, linewidth=0.6)
    east = rules.grid.columns - 1.5
    axes.plot([east, east], [-0.5, rules.grid.rows - 0.5], color=_EAST, linewidth=0.9, linestyle=(0, (2, 2)))
    row, column = divmod(rules.base_cell, rules.grid.columns)
    axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=_BASE, linewidth=2.0))
    return image


def explain(figure: "Figure", image: "AxesImage", place: "Axes", players: Collection[int]) -> None:
    """Draw the scale at its place, and say what the marks are and whose probabilities these are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    who = "the player" if len(players) > 1 else ("the evader", "the patroller")[next(iter(players))]
    bar = figure.colorbar(image, cax=place, orientation="horizontal", extend="min")
    bar.set_label(f"probability that {who} is there", fontsize=FONT)
    bar.set_ticks([_LEAST, 0.01, 0.1, 1.0], labels=["0.001", "0.01", "0.1", "1"], fontsize=FONT)
    bar.minorticks_off()
    bar.outline.set(color=_GREY, linewidth=0.6)
    figure.legend(
        [
            Rectangle((0, 0), 1, 1, fill=False, edgecolor=_BASE, linewidth=2.0),
            Line2D([], [], color=_EAST, linewidth=0.9, linestyle=(0, (2, 2))),
        ],
        ["the patroller's base", "east of it the evader has escaped"],
        loc="lower center",
        borderaxespad=0.2,
        ncols=2,
        frameon=False,
        fontsize=FONT,
    )


def palette() -> list[int]:
    """Return the colours of an animation, three numbers a colour: shades, greys, and the base's between the two."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    shades = colormaps[_SHADES](np.linspace(0.0, 1.0, _NUM_SHADES))[:, :3]
    greys = np.repeat(np.linspace(0.0, 1.0, _NUM_GREYS)[:, None], 3, axis=1)
    base = np.array(to_rgb(_BASE))
    blends = [(1.0 - part) * base + part * end for end in (np.ones(3), shades[-1]) for part in (0.0, 1 / 3, 2 / 3)]
    return [int(number) for number in np.rint(255 * np.concatenate([shades, greys, blends])).ravel()]
