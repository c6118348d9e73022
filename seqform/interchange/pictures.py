"""Common parts of all pictures: files and formats, colours, panels, lines with their bands, and legends.

Matplotlib is imported only for drawing.
"""

import functools
import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import check_number, is_whole
from ..errors import UnsupportedProblemError, needing, one_line, shown
from .files import check_suffix, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Figure  # noqa: PLC0414 (modules that draw import it from here)
else:
    Figure = Any  # for annotations without matplotlib

#: The formats of pictures, by suffix.
PICTURE_SUFFIXES = (".svg", ".png", ".pdf")
#: The largest number of steps of an animation; nobody could watch a longer one.
MAX_STEPS = 300
_DOTS_PER_INCH = 100  # of animations

#: Okabe and Ito's colours, which colour-blind readers can distinguish, one between their blue and pink, and greys.
COLOURS = {
    "blue": "#0072B2",
    "red": "#D55E00",
    "green": "#009E73",
    "orange": "#E69F00",
    "pink": "#CC79A7",
    "sky": "#56B4E9",
    "purple": "#8C6BB1",
    "black": "#333333",
    "slate": "#666666",
    "grey": "#999999",
    "silver": "#bbbbbb",
    "pale": "#e5e5e5",
}


def require_matplotlib() -> None:
    """Raise an error if matplotlib is not installed.

    Raises
    ------
    MissingExtraError
    """
    with needing("a picture needs matplotlib", "plot"):
        import matplotlib.figure  # noqa: F401


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress matplotlib's warnings about characters that its font lacks; it shows boxes for them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph ")
        yield


def picture(figure: "Figure", kind: str, *, text: bool = False) -> bytes:
    """Return a figure as the bytes of an ``svg``, ``png`` or ``pdf`` file, without a date.

    Letters of an SVG file are drawn as shapes, so that they look the same everywhere; with `text` they remain text.
    """
    import matplotlib as mpl

    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": None}
    stream = io.BytesIO()
    # Identifiers in an SVG file are random unless a salt is set.
    with quietly(), mpl.rc_context({"svg.hashsalt": "treeplex", "svg.fonttype": "none" if text else "path"}):
        figure.savefig(stream, format=kind, dpi=150, metadata=dates[kind])
    return stream.getvalue()


def write_picture(make: Callable[[], "Figure"], path: str | PathLike[str]) -> None:
    """Write a figure to a file, atomically: ``.svg``, ``.png`` or ``.pdf`` by the suffix.

    Parameters
    ----------
    make : callable
        Creates the figure; called only if the suffix is valid.
    path : path-like

    Raises
    ------
    GameFileError
        If the suffix is not one of these, or the file cannot be written.
    """
    suffix = check_suffix(path, "a picture", PICTURE_SUFFIXES)
    write_bytes(path, picture(make(), suffix[1:]))


def write_animation(
    frames: "Iterator[Figure]",
    palette: Callable[[], Sequence[int]],
    path: str | PathLike[str],
    seconds: float,
    name: str,
    steps: int,
) -> None:
    """Write figures as an animation that repeats, the last frame four times as long; the write is atomic.

    Parameters
    ----------
    frames : iterator of matplotlib.figure.Figure
        One figure per frame, possibly the same object redrawn; frames are drawn after all other arguments are checked.
    palette : callable
        Returns the common colours of all frames, up to 256, as three numbers from 0 to 255 each, so that nothing
        flickers.
    path : path-like
        A file name that ends with ``.gif``.
    seconds : float
        The duration of a frame, from 0.02 to 60.
    name : str
        The subject of the animation, for messages.
    steps : int
        The number of steps, at most 300.

    Raises
    ------
    GameFileError
        If the suffix is not ``.gif``, or the file cannot be written.
    UnsupportedProblemError
        If `seconds` is out of range, or there are too many steps.
    MissingExtraError
        If matplotlib is not installed.
    """
    check_suffix(path, "an animation", (".gif",))
    length = round(1000 * check_number(seconds, "seconds", UnsupportedProblemError, "[0.02, 60]"))
    if steps > MAX_STEPS:
        raise UnsupportedProblemError(
            f"{name} has {steps} steps, too many for an animation: expected at most {MAX_STEPS}"
        )
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    colours = Image.new("P", (1, 1))
    colours.putpalette(palette())
    images, stream = [], io.BytesIO()
    with quietly():
        for figure in frames:
            figure.set_dpi(_DOTS_PER_INCH)
            canvas: Any = FigureCanvasAgg(figure)  # without type annotations
            canvas.draw()
            image = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
            images.append(image.quantize(palette=colours, dither=Image.Dither.NONE))
    images[0].save(
        stream,
        "GIF",
        save_all=True,
        append_images=images[1:],
        duration=[length] * (len(images) - 1) + [4 * length],
        loop=0,
        optimize=False,  # optimising would give each frame its own palette
        disposal=1,
    )
    write_bytes(path, stream.getvalue())


def chosen_times(times: Any, last: int, usual: int, most: int) -> list[int]:
    """Return the times at which a picture shows a game.

    Parameters
    ----------
    times : sequence of int, int or None
        By default all times if there are at most `usual`, otherwise `usual` equidistant times.
    last : int
        The last time; the first is 0.
    usual, most : int
        The number of times shown by default, and the largest number.

    Raises
    ------
    UnsupportedProblemError
        If a time does not exist, or there are too many.

    Examples
    --------
    >>> from treeplex.seqform.interchange.pictures import chosen_times
    >>> chosen_times(None, 10, 6, 24), chosen_times(3, 10, 6, 24)
    ([0, 2, 4, 6, 8, 10], [3])
    """
    if times is None:
        return [int(time) for time in np.linspace(0, last, min(usual, last + 1)).round()]
    chosen = list(times) if isinstance(times, Sequence | np.ndarray) else [times]
    for time in chosen:
        if not is_whole(time) or int(time) not in range(last + 1):
            raise UnsupportedProblemError(f"times contains {shown(time)}, expected whole numbers from 0 to {last}")
    if not 1 <= len(chosen) <= most:
        raise UnsupportedProblemError(f"times has {len(chosen)} entries, expected 1 to {most}")
    return [int(time) for time in chosen]


@functools.cache
def _shown_figure() -> "type[Figure]":
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A figure that notebooks show without pyplot."""

        def _repr_svg_(self) -> str:
            return picture(self, "svg").decode()

    return ShownFigure


def blank_figure(size: tuple[float, float], **how: Any) -> "Figure":
    """Return a figure that opens no window, and that notebooks display.

    Parameters
    ----------
    size : tuple of float
        Width and height in inches.
    **how
        Arguments of ``matplotlib.figure.Figure``.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    require_matplotlib()
    return _shown_figure()(figsize=size, **how)


def dot_size(count: int) -> float:
    """Return the size of a curve's dots, in points: smaller for more dots."""
    return 4.5 if count <= 30 else 2.5


def panels(rows: int, columns: int, size: tuple[float, float], **how: Any) -> "tuple[Figure, Any]":
    """Return a figure that opens no window, and its axes, with a pale grid and no frame.

    Parameters
    ----------
    rows, columns : int
        Numbers of rows and columns of axes.
    size : tuple of float
        Width and height in inches.
    **how
        Arguments of ``matplotlib.figure.Figure.subplots``.

    Returns
    -------
    figure : matplotlib.figure.Figure
    axes : matplotlib.axes.Axes or ndarray of them

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    figure = blank_figure(size, layout="constrained")
    axes = figure.subplots(rows, columns, **how)
    for one in figure.axes:
        one.spines[["top", "right"]].set_visible(False)
        one.grid(color=COLOURS["pale"], linewidth=0.7)
        one.set_axisbelow(True)
    return figure, axes


@dataclass(frozen=True)
class Look:
    """The style of one curve's points and line.

    Parameters
    ----------
    colour : str
        One of :data:`COLOURS`.
    marker, line : str
        In matplotlib's notation; empty to draw none.
    """

    colour: str
    marker: str = ""
    line: str | tuple[int, tuple[int, int]] = "-"

    @property
    def hexadecimal(self) -> str:
        """The colour as a hexadecimal string for matplotlib."""
        return COLOURS[self.colour]

    def plot(self, axes: Any, x: Any, y: Any, **how: Any) -> None:
        """Draw a curve; keyword arguments override those of the style."""
        own: dict[str, Any] = {"color": self.hexadecimal, "marker": self.marker, "linestyle": self.line}
        axes.plot(x, y, **own | {"linewidth": 1.5, "markersize": 5} | how)

    def shade(self, axes: Any, x: Any, low: Any, high: Any, *, alpha: float = 0.15, **how: Any) -> None:
        """Shade the band between two curves."""
        axes.fill_between(x, low, high, color=self.hexadecimal, alpha=alpha, linewidth=0, **how)

    def level(self, axes: Any, height: float, **how: Any) -> None:
        """Draw a horizontal line."""
        axes.axhline(height, color=self.hexadecimal, linestyle=self.line, **{"linewidth": 1.0} | how)

    def upright(self, axes: Any, place: float, **how: Any) -> None:
        """Draw a vertical line."""
        axes.axvline(place, color=self.hexadecimal, linestyle=self.line, **{"linewidth": 1.0} | how)


#: The colours of actions, in order, and those of text on them.
_ACTIONS = ("blue", "orange", "green", "pink", "sky", "red", "purple", "grey")
_ON = dict.fromkeys(("orange", "pink", "sky", "grey"), "black")


def draw_shares(
    axes: Any,
    rows: Sequence[tuple[str, Sequence[Mapping[str, float]]]],
    actions: Sequence[str],
    notes: Sequence[str] = (),
    title: str = "",
) -> None:
    """Draw distributions as stacked bars, from top to bottom.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    rows : sequence of (name, distributions)
        Each distribution maps actions to probabilities. The first one of a row is drawn thick, and the others, for
        comparison, are drawn thin below it.
    actions : sequence of str
        All actions, in the order of their colours.
    notes : sequence of str, optional
        The heading of a column to the right, followed by its entries, row by row.
    title : str
    """
    from matplotlib.patches import Patch

    colours = {action: _ACTIONS[place % len(_ACTIONS)] for place, action in enumerate(actions)}
    few = len(actions) <= len(_ACTIONS)
    for place, (_, bars) in enumerate(rows):
        thick = 0.8 / (1 + 0.5 * (len(bars) - 1))
        top = place - 0.4
        for number, bar in enumerate(bars):
            height, left = thick if number == 0 else thick / 2, 0.0
            for action, part in bar.items():
                look: dict[str, Any] = {
                    "color": COLOURS[colours[action]],
                    "alpha": 1.0 if number == 0 else 0.55,
                    "linewidth": 0,
                }
                axes.barh(top + height / 2, part, height, left, **look)
                if number == 0 and part >= 0.1:
                    text = f"{part:.2f}" if few else cut(action, int(30 * part))
                    look = {"color": _ON.get(colours[action], "white"), "fontsize": 7, "ha": "center", "va": "center"}
                    axes.text(left + part / 2, top + height / 2, text, parse_math=False, **look)
                left += part
            top += height
    axes.set_yticks(range(len(rows)), [cut(name, 28) for name, _ in rows], fontsize=8, parse_math=False)
    axes.set(xlim=(0.0, 1.0), ylim=(len(rows) - 0.4, -0.6), xlabel="probability")
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    for place, note in enumerate(notes, -1):
        beside = axes.get_yaxis_transform()
        axes.text(1.02, place, note, transform=beside, fontsize=7, va="center", color=COLOURS["slate"])
    axes.set_title(title, loc="left", fontsize=9, pad=14 if few else 6, parse_math=False)
    if few:
        handles = [Patch(color=COLOURS[colours[action]]) for action in actions]
        how: dict[str, Any] = {"ncols": len(actions), "fontsize": 8, "frameon": False, "handlelength": 0.8}
        how |= {"columnspacing": 1.2, "loc": "lower left", "bbox_to_anchor": (-0.02, 0.995), "borderaxespad": 0.0}
        _names(axes.legend(handles, [""] * len(actions), **how), [cut(action, 16) for action in actions])


def name_bars(figure: "Figure", first: str, other: str) -> None:
    """Label the thick and the thin bars below a figure of :func:`draw_shares`."""
    from matplotlib.patches import Patch

    handles = [Patch(color=COLOURS["slate"], alpha=alpha, linewidth=0) for alpha in (1.0, 0.55)]
    how: dict[str, Any] = {"loc": "outside lower center", "ncols": 2, "fontsize": 8, "frameon": False}
    _names(figure.legend(handles, ["", ""], **how), [f"thick: {cut(first, 40)}", f"thin and pale: {cut(other, 40)}"])


def _names(legend: Any, names: Sequence[str]) -> None:
    """Set a legend's names literally: matplotlib would omit names with a leading underscore and interpret dollars."""
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=name, parse_math=False)


def cut(text: str, most: int) -> str:
    """Return a string on one line with at most `most` characters."""
    line = one_line(text)
    return line if len(line) <= most else line[: max(most - 1, 0)] + "…"


def log_scale_of_few(axes: Any) -> None:
    """Make a vertical axis logarithmic, with labels at 1, 2 and 5 of each decade if there are few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(10.0, (1.0, 2.0, 5.0) if high < 1e3 * low else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def legend(axes: Any, place: str = "best", **how: Any) -> None:
    """Draw a legend within a panel, without a frame, if anything in it has a name."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc=place, frameon=False, **how)


def legend_below(figure: "Figure", columns: int, *panes: Any, **how: Any) -> None:
    """Draw a legend below a figure for everything in some panels, by default in the first one."""
    handles = [handle for axes in panes or figure.axes[:1] for handle in axes.get_legend_handles_labels()[0]]
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, **how)


def number_text(number: Any) -> str:
    """Return a number as a short string, with a minus sign instead of a hyphen.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from treeplex.seqform.interchange.pictures import number_text
    >>> number_text(Fraction(-1, 3)), number_text(0.123456)
    ('−1/3', '0.1235')
    """
    exact = isinstance(number, Integral | Fraction)
    short = exact and abs(number.numerator) < 10**6 and number.denominator < 10**6
    return (str(number) if short else f"{float(number):.4g}").replace("-", "−")
