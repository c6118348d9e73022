"""What all pictures share: files and formats, colours, panels, lines with their bands, and legends.

Matplotlib is imported when something is drawn.
"""

import io
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import GameFileError, MissingExtraError, one_line, shown
from .files import refusing_unwritable, writing_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The formats that a picture is written in, by suffix.
PICTURE_SUFFIXES = (".svg", ".png", ".pdf")

#: Colours of Okabe and Ito, which colour-blind readers can tell apart, one between their blue and pink, and greys.
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
    """Refuse to draw without matplotlib.

    Raises
    ------
    MissingExtraError
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("a picture needs matplotlib: pip install 'treeplex[plot]'") from None


@contextmanager
def quietly() -> Iterator[None]:
    """Keep matplotlib from warning of characters that its font does not have: it shows a box for them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph ")
        yield


def picture(figure: "Figure", kind: str) -> bytes:
    """Return a figure as the bytes of an ``svg``, ``png`` or ``pdf`` file, without the date."""
    import matplotlib as mpl

    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": None}
    stream = io.BytesIO()
    # Identifiers in an SVG file are random without a salt.
    with quietly(), mpl.rc_context({"svg.hashsalt": "treeplex"}):
        figure.savefig(stream, format=kind, dpi=150, metadata=dates[kind])
    return stream.getvalue()


def write_picture(make: Callable[[], "Figure"], path: str | Path) -> None:
    """Write a figure to a file: ``.svg``, ``.png`` or ``.pdf`` by the suffix; whole or not at all.

    Parameters
    ----------
    make : callable
        Makes the figure, once the suffix is known to be one of those.
    path : path-like

    Raises
    ------
    GameFileError
        If the suffix is another one, or the file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in PICTURE_SUFFIXES:
        raise GameFileError(f"{one_line(str(path))}: a picture of suffix {shown(suffix)}, expected .svg, .png or .pdf")
    content = picture(make(), suffix[1:])
    with refusing_unwritable(path), writing_whole(path) as passing:
        passing.write_bytes(content)


class Drawn:
    """A result with a picture of its own."""

    @abstractmethod
    def figure(self) -> "Figure":
        """Draw it.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """

    def plot(self, path: str | Path) -> None:
        """Write :meth:`figure` to a file: ``.svg``, ``.png`` or ``.pdf`` by the suffix.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        GameFileError
            If the suffix is another one, or the file cannot be written.
        """
        write_picture(self.figure, path)


def dot_size(count: int) -> float:
    """Return the size of a curve's dots, in points: smaller where there are many."""
    return 4.5 if count <= 30 else 2.5


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
        one.grid(color=COLOURS["pale"], linewidth=0.7)
        one.set_axisbelow(True)
    return figure, axes


@dataclass(frozen=True)
class Look:
    """How the points of one curve are drawn.

    Parameters
    ----------
    colour : str
        One of :data:`COLOURS`.
    marker, line : str
        As matplotlib has them; nothing is drawn where they are empty.
    """

    colour: str
    marker: str = ""
    line: str | tuple[int, tuple[int, int]] = "-"

    @property
    def hexadecimal(self) -> str:
        """The colour as matplotlib takes it."""
        return COLOURS[self.colour]

    def plot(self, axes: Any, x: Any, y: Any, **how: Any) -> None:
        """Draw a curve; what is said by name goes before the look's own."""
        own: dict[str, Any] = {"color": self.hexadecimal, "marker": self.marker, "linestyle": self.line}
        axes.plot(x, y, **own | {"linewidth": 1.5, "markersize": 5} | how)

    def shade(self, axes: Any, x: Any, low: Any, high: Any, *, alpha: float = 0.15, **how: Any) -> None:
        """Shade the band between two curves."""
        axes.fill_between(x, low, high, color=self.hexadecimal, alpha=alpha, linewidth=0, **how)

    def level(self, axes: Any, height: float, **how: Any) -> None:
        """Draw a level line."""
        axes.axhline(height, color=self.hexadecimal, linestyle=self.line, **{"linewidth": 1.0} | how)

    def upright(self, axes: Any, place: float, **how: Any) -> None:
        """Draw an upright line."""
        axes.axvline(place, color=self.hexadecimal, linestyle=self.line, **{"linewidth": 1.0} | how)


def log_scale_of_few(axes: Any) -> None:
    """Make a vertical axis logarithmic, with labels at 1, 2 and 5 of each decade where these are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(10.0, (1.0, 2.0, 5.0) if high < 1e3 * low else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def legend(axes: Any, place: str = "best", **how: Any) -> None:
    """Write a legend within a panel, without a frame, if anything in it has a name."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc=place, frameon=False, **how)


def legend_below(figure: "Figure", columns: int, *panes: Any, **how: Any) -> None:
    """Write the names of everything in some panels, the first one by default, below a figure."""
    handles = [handle for axes in panes or figure.axes[:1] for handle in axes.get_legend_handles_labels()[0]]
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, **how)
