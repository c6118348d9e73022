"""Patrols drawn on their maps: positions at several times, and animations."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.errors import one_line
from ....seqform.game import Game
from ....seqform.interchange.pictures import COLOURS, Figure, blank_figure, chosen_times, write_animation, write_picture
from ....seqform.strategy import Profile, Strategy
from .map_view import MapView, map_view

#: More times in a picture are rejected.
MAX_TIMES = 24
_UNITS = ("blue", "green", "purple", "orange", "sky", "pink")
_HUES = {"attacker": "red", "meeting": "black", "limit": "grey"}
_MARKS = {"goal": "D", "entry": "^", "base": "s"}
# Width in inches, and height below the maps for the legend and for prices.
_WIDTH, _KEY, _LINE = 9.0, 0.35, 0.22
# Font size of a name in points, and the area of a disc of probability 1.
_FONT, _DISC = 6.5, 320.0
_LEAST = 2e-3


def draw_map(
    game: Game,
    strategies: Profile | Strategy,
    *,
    times: Sequence[int] | None = None,
    prices: Mapping[str, float] | None = None,
) -> "Figure":
    """Draw the positions of units and attackers on the map of a patrol, at several times.

    Discs are units, rings attackers and crosses meetings, with areas proportional to the probability. The width of a
    street is proportional to the probability of its use in the next step.

    Parameters
    ----------
    game : Game
        A :class:`~treeplex.models.games.patrol.PatrolGame`.
    strategies : Profile or Strategy
        The strategies of both sides, or of one.
    times : sequence of int, optional
        From 0 to the number of steps, at most 24; by default six at equal distances.
    prices : mapping of str to float, optional
        Prices of limits by name, such as ``solution.multipliers``, written below the maps.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol, or has no such time.
    InvalidStrategyError
        If a strategy belongs to another game.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Profile
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.map_pictures import draw_map
    >>> road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    >>> game = PatrolGame(road, steps=2, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 1})])
    >>> figure = draw_map(game, Profile.uniform(game), times=[0, 2])
    >>> [axes.get_title() for axes in figure.axes]
    ['t = 0', 't = 2, the end']
    """
    view = map_view(game, [strategies] if isinstance(strategies, Strategy) else strategies)
    chosen = chosen_times(times, view.steps, 6, MAX_TIMES)
    columns = min(len(chosen), 3)
    rows = -(-len(chosen) // columns)
    figure, panes = _panes(view, rows, columns, prices)
    for axes, time in zip(panes, chosen, strict=False):
        _draw(axes, view, time)
    for axes in panes[len(chosen) :]:
        axes.remove()
    return figure


def animate_map(game: Game, strategies: Profile | Strategy, path: str | PathLike[str], *, seconds: float = 0.6) -> None:
    """Write an animation of positions on the map of a patrol: a repeating ``.gif`` with one frame per time.

    Parameters
    ----------
    game, strategies
        As in :func:`draw_map`.
    path : path-like
        A file name that ends with ``.gif``.
    seconds : float
        Duration of a frame, from 0.02 to 60; the last one takes four times as long.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol, or has more than 300 steps.
    InvalidStrategyError
        If a strategy belongs to another game.
    GameFileError
        If the file has another suffix or cannot be written.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Profile
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.map_pictures import animate_map
    >>> road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    >>> game = PatrolGame(road, steps=2, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 1})])
    >>> animate_map(game, Profile.uniform(game), "road.gif")
    """
    view = map_view(game, [strategies] if isinstance(strategies, Strategy) else strategies)
    write_animation(_frames(view), lambda: _palette(view), path, seconds, view.title, view.steps)


def write_map(
    game: Game,
    strategies: Profile | Strategy,
    path: str | PathLike[str],
    *,
    prices: Mapping[str, float] | None = None,
) -> None:
    """Write :func:`draw_map` or :func:`animate_map` to a file: ``.svg``, ``.png``, ``.pdf`` or ``.gif``.

    Animations have no prices.

    Raises
    ------
    GameFileError
        If the file has another suffix or cannot be written. Other errors are those of the two functions.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Profile
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.map_pictures import write_map
    >>> road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    >>> game = PatrolGame(road, steps=2, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 1})])
    >>> write_map(game, Profile.uniform(game), "road.png")
    """
    if Path(path).suffix.lower() == ".gif":
        animate_map(game, strategies, path)
    else:
        write_picture(lambda: draw_map(game, strategies, prices=prices), path)


def _panes(view: MapView, rows: int, columns: int, prices: Mapping[str, float] | None = None) -> "tuple[Figure, Any]":
    """Return a figure with axes for maps, and a legend below."""
    low, high = view.positions.min(axis=0), view.positions.max(axis=0)
    wide, tall = np.maximum(high - low, 1e-9 * max(*(high - low), 1.0))
    across = _WIDTH / columns
    down = across * min(max(tall / wide, 0.3), 1.2) + 0.3
    below = _LINE * bool(prices)
    height = rows * down + _KEY + below
    figure = blank_figure((_WIDTH, height))
    from matplotlib.lines import Line2D  # after checking that it is installed

    panes = figure.subplots(
        rows, columns, squeeze=False,
        gridspec_kw={
            "left": 0.01, "right": 0.99, "wspace": 0.03, "hspace": 0.12, "bottom": (_KEY + below) / height,
            "top": 1.0 - 0.25 / height,
        },
    )  # fmt: skip
    look: dict[str, dict[str, Any]] = {
        "unit": {"marker": "o"},
        "meeting": {"marker": "x"},
        "attacker": {"marker": "o", "markerfacecolor": "none"},
    }
    handles = [
        Line2D([], [], linestyle="none", color=colour, markersize=7, label=name, **look[kind])
        for name, kind, colour in (
            (layer.name, layer.kind, _colour(view, place)) for place, layer in enumerate(view.layers)
        )
        if kind in look
    ]
    handles += [
        Line2D([], [], linestyle="none", marker=marker, markerfacecolor="none", color="black", label=kind)
        for kind, marker in _MARKS.items()
    ]
    place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, below / height)}
    figure.legend(handles=handles, ncols=len(handles), frameon=False, fontsize=8, **place)
    if prices:
        words = one_line(
            "prices of limits: " + "; ".join(f"{name}: {price:.3g}" for name, price in prices.items()), 150
        )
        figure.text(0.5, 0.5 * below / height, words, fontsize=8, ha="center", va="center", parse_math=False)
    return figure, panes.ravel()


def _frames(view: MapView) -> "Iterator[Figure]":
    figure, (axes,) = _panes(view, 1, 1)
    for time in range(view.steps + 1):
        axes.clear()
        _draw(axes, view, time)
        yield figure


def _colour(view: MapView, place: int) -> str:
    layer = view.layers[place]
    return COLOURS[_HUES.get(layer.kind) or _UNITS[place % len(_UNITS)]]


def _palette(view: MapView) -> list[int]:
    """Return the colours of an animation, three numbers per colour: layers on white and on each other, and greys."""
    from matplotlib.colors import to_rgb

    hues = [np.array(to_rgb(_colour(view, place))) for place in range(len(view.layers))][:8]
    hues += [np.array(to_rgb(COLOURS[name])) for name in ("black", "grey", "silver")]
    shades = [part * hue + (1.0 - part) for hue in hues for part in np.linspace(0.1, 1.0, 12)]
    blends = [(one + other) / 2.0 for place, one in enumerate(hues) for other in hues[:place]]
    colours = np.array([np.ones(3), np.zeros(3), *shades, *blends])[:256]
    return [int(number) for number in np.rint(255 * colours).ravel()]


def _draw(axes: Any, view: MapView, time: int) -> None:
    """Draw one map at one time."""
    from matplotlib.collections import LineCollection

    places = view.positions
    ends: Any = np.array([(places[street.source], places[street.target]) for street in view.streets]).reshape(-1, 2, 2)
    axes.add_collection(LineCollection(ends, colors=COLOURS["silver"], linewidths=0.8, zorder=1))
    axes.scatter(*places.T, s=4, color=COLOURS["grey"], zorder=2)
    for kind, marker in _MARKS.items():
        marked = sorted(view.marks[kind])
        look: dict[str, Any] = {"marker": marker, "facecolors": "none", "edgecolors": "black", "linewidths": 0.8}
        axes.scatter(*places[marked].T, s=60, zorder=5, **look)
    for place, layer in enumerate(view.layers):
        colour = _colour(view, place)
        busy = layer.streets[time] > _LEAST
        if layer.kind in ("unit", "attacker"):
            widths = 5.0 * np.sqrt(np.minimum(layer.streets[time][busy], 1.0))
            axes.add_collection(LineCollection(ends[busy], colors=colour, linewidths=widths, alpha=0.5, zorder=3))
        there = np.flatnonzero(layer.nodes[time] > _LEAST)
        spots: Floats = places[there]
        sizes = _DISC * np.minimum(layer.nodes[time][there], 1.0)
        if layer.kind == "meeting":
            spots = np.vstack([spots, ends[busy].mean(axis=1)])
            sizes = np.append(sizes, _DISC * np.minimum(layer.streets[time][busy], 1.0))
            axes.scatter(*spots.T, s=sizes, marker="x", color=colour, zorder=6)
        elif layer.kind == "attacker":
            axes.scatter(*spots.T, s=sizes, facecolors="none", edgecolors=colour, linewidths=1.5, zorder=4)
        elif layer.kind == "unit":
            axes.scatter(*spots.T, s=sizes, color=colour, alpha=0.6, linewidths=0, zorder=4)
    east = places[:, 0].min() + 0.8 * np.ptp(places[:, 0])  # position beyond which there is no space to the right
    for number in sorted(view.noted):
        side, at = ("right", -5) if places[number, 0] > east else ("left", 5)
        look = {"fontsize": _FONT, "parse_math": False, "zorder": 7, "ha": side, "textcoords": "offset points"}
        axes.annotate(view.names[number], places[number], (at, 4), **look)
    axes.set_axis_off()
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.06)
    axes.set_title(f"t = {time}" + (", the end" if time == view.steps else ""), fontsize=9, pad=2)
