"""Pictures of transit strategies: a player's position at each time, in one picture or as an animation."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidStrategyError, UnsupportedProblemError, one_line, shown
from ...seqform.game import Game
from ...seqform.interchange.files import check_suffix
from ...seqform.interchange.pictures import (
    PICTURE_SUFFIXES,
    Figure,
    blank_figure,
    chosen_times,
    write_animation,
    write_picture,
)
from ...seqform.strategy import Profile, Strategy
from .transit import Transit
from .transit_occupancy import transit_occupancy, transit_rules

#: Suffixes of the files for strategies: pictures, and an animation.
OCCUPANCY_SUFFIXES = (*PICTURE_SUFFIXES, ".gif")
#: More strategies, or times in a picture, are rejected as unreadable.
MAX_STRATEGIES = 12
#: For one strategy, and for several below each other.
MAX_TIMES = (40, 12)

#: Width of a picture in inches, and font size in points.
_WIDTH, _FONT = 8.0, 8.0
# Shades that only get darker keep their order for colour-blind readers and in print; marks differ in shape.
_SHADES, _BASE, _EAST, _GREY = "YlGnBu", "#D55E00", "#000000", "#767676"
# The lower end of the logarithmic scale; cells with less probability are white.
_LEAST = 1e-3
_NUM_SHADES, _NUM_GREYS = 100, 22  # six more make 128 colours
# Inches between grids, at the edges, and below the grids for the scale and the legend.
_GAP, _EDGE, _BELOW = 0.1, 0.06, 1.0
# Number of times shown by default for one strategy, and for several.
_TIMES = (20, 6)
_LINE, _LETTER = 0.24, 0.082  # height of a line of text and width of a letter, in inches
_TICKS = 0.14  # width of the row and column numbers


def draw_occupancy(
    game: Game, strategies: Strategy | Profile | Mapping[str, Strategy], *, times: Sequence[int] | None = None
) -> Figure:
    """Draw a player's position in the transit game: one grid per time, darker for higher probability.

    The base is framed, and a dashed line separates the eastern column. All grids share one scale, which is logarithmic
    from 0.001 to 1 so that small probabilities are visible.

    Parameters
    ----------
    game : Game
        ``transit`` with ``form=flow``.
    strategies : Strategy, Profile or mapping of str to Strategy
        The times of a single strategy fill the picture. If there are several strategies, each has a row with its name;
        a profile consists of the evader and the patroller.
    times : sequence of int, optional
        From 0, before the first step, to the horizon, after the last. By default all times if there are at most 20 (or
        six for several strategies), otherwise that many at equal distances.

    Returns
    -------
    matplotlib.figure.Figure
        It belongs to no window: ``figure.savefig("patrol.png")`` writes it.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a transit game in flow form, it has no such time, or there are too many times.
    InvalidStrategyError
        If a strategy belongs to another game, or there is none.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.models.games.transit_pictures import draw_occupancy
    >>> game = load_game("transit:width=2")
    >>> figure = draw_occupancy(game, {"at random": Strategy.uniform(game, 1)}, times=[0, 4, 8])
    >>> [axes.get_title() for axes in figure.axes[:3]]
    ['t = 0', 't = 4', 't = 8, the end']
    """
    rules = transit_rules(game)
    walks = _walks(game, rules, strategies)
    several = len(walks) > 1
    chosen = chosen_times(times, rules.steps, _TIMES[several], MAX_TIMES[several])
    columns = len(chosen) if several else _columns(len(chosen))
    above = {"top": 2 * _LINE, "below": _LINE} if several else {"top": _LINE, "above": _LINE, "below": _LINE / 2}
    above["below"] += _TICKS
    left = max(_LETTER * len(walk.name) for walk in walks) + 0.1 if several else 0.0
    figure = _grid_panels(len(walks) * len(chosen), columns, _WIDTH, left + _TICKS, **above)
    *grids, scale = figure.axes
    for place, axes in enumerate(grids):
        walk, time = walks[place // len(chosen)], chosen[place % len(chosen)]
        image = _draw_grid(axes, rules, walk.occupancy[time], rows=place % columns == 0)
        if place < len(chosen):
            axes.set_title(_time_text(rules, time), fontsize=_FONT, pad=3)
        if time == rules.steps:
            axes.set_xlabel(walk.state(time), fontsize=_FONT, labelpad=3)
        if several and place % len(chosen) == 0:
            axes.set_ylabel(
                walk.name, fontsize=_FONT + 1, rotation=0, ha="right", va="center", labelpad=6, parse_math=False
            )
    title = _title(game, walks) if several or not walks[0].name else f"{walks[0].name}: {_title(game, walks)}"
    figure.suptitle(title, fontsize=_FONT + 2, y=0.99, va="top", parse_math=False)
    _draw_key(figure, image, scale, {walk.player for walk in walks})
    return figure


def animate_occupancy(
    game: Game,
    strategies: Strategy | Profile | Mapping[str, Strategy],
    path: str | Path,
    *,
    seconds: float = 0.6,
) -> None:
    """Write an animation of a player's position in the transit game: a repeating ``.gif`` with one frame per time.

    Strategies are side by side; colours and marks are those of :func:`draw_occupancy`. Equal strategies give equal
    files with the same release of matplotlib.

    Parameters
    ----------
    game : Game
        ``transit`` with ``form=flow``.
    strategies : Strategy, Profile or mapping of str to Strategy
    path : path-like
        A file name that ends with ``.gif``.
    seconds : float
        Duration of a frame, from 0.02 to 60; the last one takes four times as long.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a transit game in flow form, it has more than 300 steps, or there are too many strategies.
    InvalidStrategyError
        If a strategy belongs to another game, or there is none.
    GameFileError
        If the file has another suffix or cannot be written.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> from treeplex.models.games.transit_pictures import animate_occupancy
    >>> game = load_game("transit:width=2,horizon=2")
    >>> animate_occupancy(game, Profile.uniform(game), "random.gif")
    """
    rules = transit_rules(game)
    walks = _walks(game, rules, strategies)
    frames = _frames(rules, walks, _title(game, walks))
    write_animation(frames, _palette, path, seconds, game.spec, rules.steps)


def write_occupancy(game: Game, strategies: Strategy | Profile | Mapping[str, Strategy], path: str | Path) -> None:
    """Write :func:`draw_occupancy` or :func:`animate_occupancy` to a file: ``.svg``, ``.png``, ``.pdf`` or ``.gif``.

    The file is written atomically. Errors are those of the two functions.

    Raises
    ------
    GameFileError
        If the file has another suffix or cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.models.games.transit_pictures import write_occupancy
    >>> game = load_game("transit:width=2")
    >>> write_occupancy(game, solve(Nash(game)).profile[1], "patrol.svg")
    >>> Path("patrol.svg").stat().st_size > 10_000
    True
    """
    if check_suffix(path, "a picture", OCCUPANCY_SUFFIXES) == ".gif":
        animate_occupancy(game, strategies, path)
    else:
        write_picture(lambda: draw_occupancy(game, strategies), path)


@dataclass(frozen=True)
class _Walk:
    """One strategy: its name, its player, and the player's position."""

    name: str
    player: int
    occupancy: Floats
    arrived: Floats  # the probability of being at the base, or of having escaped, at each time

    def state(self, time: int) -> str:
        """Return a string with the probability that the patroller is at its base, or that the evader has escaped."""
        what = "at the base" if self.player == 1 else "escaped"
        return f"{what}: {_probability_text(float(self.arrived[time]))}"


def _walks(game: Game, rules: Transit, strategies: Any) -> list[_Walk]:
    """Return the strategies with their names."""
    if isinstance(strategies, Strategy):
        named: dict[str, Any] = {"": strategies}
    elif isinstance(strategies, Profile):
        named = {"evader": strategies[0], "patroller": strategies[1]}
    elif isinstance(strategies, Mapping):
        named = {str(name): strategy for name, strategy in strategies.items()}
    else:
        raise InvalidStrategyError(
            f"strategies is {shown(strategies)}, expected a Strategy, a Profile or a mapping of names to strategies"
        )
    if not named:
        raise InvalidStrategyError("strategies is an empty mapping: expected at least one strategy")
    if len(named) > MAX_STRATEGIES:
        raise UnsupportedProblemError(
            f"there are {len(named)} strategies, too many for one picture: expected at most {MAX_STRATEGIES}"
        )
    walks = []
    for name, strategy in named.items():
        occupancy = transit_occupancy(game, strategy)
        row, column = divmod(rules.base_cell, rules.grid.columns)
        arrived = occupancy[:, row, column] if strategy.player == 1 else occupancy[:, :, -1].sum(axis=1)
        walks.append(_Walk(one_line(name, 40), strategy.player, occupancy, arrived))
    return walks


def _columns(count: int) -> int:
    """Return the number of grids side by side: 4 to 6, chosen to fill the last row."""
    return count if count <= 4 else min((4, 5, 6), key=lambda columns: -count % columns)


def _frames(rules: Transit, walks: list[_Walk], title: str) -> Iterator[Figure]:
    """Draw the frames of an animation."""
    columns = len(walks) if len(walks) <= 3 else math.ceil(math.sqrt(len(walks)))
    width = _WIDTH if columns > 1 else 0.7 * _WIDTH
    named = any(walk.name for walk in walks)
    figure = _grid_panels(len(walks), columns, width, _TICKS, 0.4 + _LINE, 1.2 * _LINE * named, 1.4 * _LINE + _TICKS)
    *grids, scale = figure.axes
    images = [
        _draw_grid(axes, rules, walk.occupancy[0], rows=place % columns == 0)
        for place, (axes, walk) in enumerate(zip(grids, walks, strict=True))
    ]
    for axes, walk in zip(grids, walks, strict=True):
        axes.set_title(walk.name, fontsize=_FONT + 2, pad=4, parse_math=False)
    _draw_key(figure, images[0], scale, {walk.player for walk in walks})
    high = figure.get_figheight()
    look: dict[str, Any] = {"ha": "center", "va": "top"}
    figure.text(0.5, 1.0 - 0.12 / high, title, fontsize=_FONT + 2, parse_math=False, **look)
    heading = figure.text(0.5, 1.0 - (0.12 + _LINE) / high, "", fontsize=_FONT + 3, **look)
    for time in range(rules.steps + 1):
        for axes, image, walk in zip(grids, images, walks, strict=True):
            image.set_data(walk.occupancy[time])
            axes.set_xlabel(walk.state(time), fontsize=_FONT + 1, labelpad=3)
        heading.set_text(_time_text(rules, time))
        yield figure


def _time_text(rules: Transit, time: int) -> str:
    return f"t = {time}" + (", the end" if time == rules.steps else "")


def _title(game: Game, walks: Collection[_Walk]) -> str:
    """Return a title with the game and the player."""
    return f"where {_whose(walk.player for walk in walks)} is in {game.spec}, by row and column"


def _whose(players: Iterable[int]) -> str:
    """Return the name of the player, if there is only one."""
    known = set(players)
    return "the player" if len(known) > 1 else ("the evader", "the patroller")[known.pop()]


def _probability_text(probability: float) -> str:
    """Return a probability with two digits, or with up to four if needed to distinguish it from 0 and 1."""
    nearest = min(probability, 1.0 - probability)
    digits = -int(f"{nearest:.0e}".partition("e")[2]) if nearest >= 5e-5 else 2
    return f"{probability:.{max(2, digits)}f}"


def _grid_panels(
    count: int, columns: int, width: float, left: float = 0.0, top: float = 0.0, above: float = 0.0, below: float = 0.0
) -> Figure:
    """Return a figure without a window, with axes for the grids and below them for the scale.

    All positions are fixed in advance, because measuring text takes longer than drawing it.

    Parameters
    ----------
    count, columns : int
        Number of grids, and number of grids side by side.
    width : float
        Width of the figure in inches.
    left, top : float
        Inches kept free to the left of and above all grids.
    above, below : float
        Inches kept free above and below each row of grids.

    Returns
    -------
    matplotlib.figure.Figure
        Its ``axes`` are those of the grids, row by row, and at the end that of the scale.
    """
    rows = math.ceil(count / columns)
    across = (width - left - 2 * _EDGE - (columns - 1) * _GAP) / columns
    pitch = above + across / 2 + below
    height = top + rows * pitch + _BELOW
    figure = blank_figure((width, height))

    places = figure.add_gridspec(
        rows,
        columns,
        left=(left + _EDGE) / width,
        right=1.0 - _EDGE / width,
        top=1.0 - (top + above) / height,
        bottom=(_BELOW + below) / height,
        wspace=_GAP / across,
        hspace=2.0 * (above + below) / across,
    )
    for number in range(count):
        figure.add_subplot(places[divmod(number, columns)])
    figure.add_axes((0.2, 0.72 / height, 0.6, 0.1 / height))
    return figure


def _draw_grid(axes: Any, rules: Transit, occupancy: Floats, *, rows: bool = True) -> Any:
    """Draw one grid with its marks, the numbers of its columns, and optionally those of its rows."""
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle

    shades = colormaps[_SHADES].with_extremes(under="white")
    image = axes.imshow(occupancy, cmap=shades, norm=LogNorm(_LEAST, 1.0), interpolation="none")
    across, down = (range(0, count, math.ceil(count / 10)) for count in (rules.grid.columns, rules.grid.rows))
    axes.set(xticks=across, yticks=down if rows else [])
    axes.tick_params(length=0, labelsize=_FONT - 1, pad=1, labelcolor=_GREY)
    for spine in axes.spines.values():
        spine.set(color=_GREY, linewidth=0.6)
    east = rules.grid.columns - 1.5
    axes.plot([east, east], [-0.5, rules.grid.rows - 0.5], color=_EAST, linewidth=0.9, linestyle=(0, (2, 2)))
    row, column = divmod(rules.base_cell, rules.grid.columns)
    axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=_BASE, linewidth=2.0))
    return image


def _draw_key(figure: Figure, image: Any, place: Any, players: Collection[int]) -> None:
    """Draw the scale, and the legend of marks and probabilities."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    bar = figure.colorbar(image, cax=place, orientation="horizontal", extend="min")
    bar.set_label(f"probability that {_whose(players)} is there", fontsize=_FONT)
    bar.set_ticks([_LEAST, 0.01, 0.1, 1.0], labels=["0.001", "0.01", "0.1", "1"], fontsize=_FONT)
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
        fontsize=_FONT,
    )


def _palette() -> list[int]:
    """Return the colours of an animation, three numbers per colour: shades, greys, and blends with the base colour."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    shades = colormaps[_SHADES](np.linspace(0.0, 1.0, _NUM_SHADES))[:, :3]
    greys = np.repeat(np.linspace(0.0, 1.0, _NUM_GREYS)[:, None], 3, axis=1)
    base = np.array(to_rgb(_BASE))
    blends = [(1.0 - part) * base + part * end for end in (np.ones(3), shades[-1]) for part in (0.0, 1 / 3, 2 / 3)]
    return [int(number) for number in np.rint(255 * np.concatenate([shades, greys, blends])).ravel()]
