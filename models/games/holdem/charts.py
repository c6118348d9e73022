"""Charts of hands as pictures: 13 × 13 classes, with cells divided by action, or shaded by EV or equity."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from textwrap import wrap
from typing import Any, ClassVar, Self

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.display import Drawn
from ....seqform.errors import InvalidGameError, UnsupportedProblemError, nearest, one_of, shown
from ....seqform.interchange.encoding import json_ready
from ....seqform.interchange.pictures import COLOURS, Figure, Look, blank_figure, panels
from .cards import Range
from .classes import CLASS_OF_HAND
from .hand_tables import SpotTable, told, weighted_mean
from .units import Unit

#: The possible contents of a chart: action frequencies, EV or equity.
SHOWN = ("action", "ev", "equity")
#: Colours on which black text is readable and which colour-blind readers can distinguish; bets from small to large.
_PASSIVE = {"fold": COLOURS["sky"], "check": "#44AA8B", "call": "#44AA8B"}
_ALL_IN, _HELD, _EMPTY = COLOURS["pink"], "#a8b4c0", "#f1f1f1"
_BETS = ("#F6DC85", "#E69F00", "#D55E00")
_SUITS = {"s": ("♠", "#222222"), "h": ("♥", "#C62828"), "d": ("♦", "#1565C0"), "c": ("♣", "#2E7D32")}
#: The styles of the players' curves in graphs; each differs in colour and line.
_LOOKS = (Look("blue"), Look("red", line=(0, (5, 2))), Look("green", line=(0, (1, 1))))
#: The size of a chart in inches, which fits a page of A4 or US letter with its margins.
_SIZE = (7.2, 7.68)
#: Shades of hand values, from low to high.
SHADES = ("#F9BE7C", "#EEEBD3", "#5AA9E0")


def action_colours(actions: Sequence[str]) -> dict[str, str]:
    """Return the colour of each action: folds blue, checks and calls green, bets from yellow to red, all-in pink.

    Examples
    --------
    >>> from treeplex.models.games.holdem.charts import action_colours
    >>> action_colours(["fold", "call", "raise 300", "all-in"])
    {'fold': '#56B4E9', 'call': '#44AA8B', 'raise 300': '#E69F00', 'all-in': '#CC79A7'}
    """
    sizes = [action for action in actions if action not in _PASSIVE and action != "all-in"]
    places = {action: (number / (len(sizes) - 1) if len(sizes) > 1 else 0.5) for number, action in enumerate(sizes)}
    return {
        action: _PASSIVE.get(action) or (_ALL_IN if action == "all-in" else _between(places[action]))
        for action in actions
    }


def _between(place: float) -> str:
    """Return a colour for bets: 0 is the smallest."""
    low = min(int(2 * place), 1)
    ends = [[int(colour[digit : digit + 2], 16) for digit in (1, 3, 5)] for colour in _BETS[low : low + 2]]
    part = 2 * place - low
    return "#" + "".join(f"{round((1 - part) * one + part * other):02X}" for one, other in zip(*ends, strict=True))


class ChartedNode(Drawn):
    """A node of a solved game whose hands can be drawn as a chart.

    Parameters
    ----------
    solved : SolvedSpot, SolvedPreflop or SolvedThreeHanded
    path : tuple of str
        The line that leads there.
    mover : str
        The seat that moves; empty if nobody does.
    actions : tuple of str

    Attributes
    ----------
    board : tuple of str
    pot : float
    unit : Unit
        The unit in which EVs are shown; arrays and averages are in the game's payoffs.
    native : Unit
        The unit of the game's payoffs.
    has_classes_only : bool
        Whether all hands of a class are played the same way, as before the flop.
    seats : tuple of str
    """

    board: tuple[str, ...] = ()
    has_classes_only: ClassVar[bool] = False
    pot: float
    unit: Unit
    native: ClassVar[Unit]
    seats: ClassVar[tuple[str, ...]]
    # For all seats, by hand or class: the probability of reaching the node, EVs, and equities.
    likely: Any
    evs: Any
    equities: Any

    def __init__(self, solved: Any, path: tuple[str, ...], mover: str, actions: tuple[str, ...]) -> None:
        self.solved, self.path, self.mover, self.actions = solved, path, mover, actions
        self.unit = self.native

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.path)!r})"

    def __str__(self) -> str:
        mean = self.averages
        lines = [self.title]
        if self.actions:
            lines.append(", ".join(f"{action} {told(mean[action])}" for action in self.actions))
        ev = ", ".join(f"{seat} {told(mean[f'{seat} ev'], self.worth_text)}" for seat in self.seats)
        equity = ", ".join(f"{seat} {told(mean[f'{seat} equity'])}" for seat in self.seats)
        return "\n".join([*lines, f"EV {ev}; equity {equity}"])

    def worth_text(self, payoff: float) -> str:
        """Format an EV in the unit of the node, which is named unless it is chips."""
        return (self.unit.text if self.unit.name == "chips" else self.unit.named)(payoff, self.pot)

    @property
    def pot_text(self) -> str:
        """The pot, in the unit of the node, or in that of the game if the node's unit is a share of the pot."""
        return (self.native if self.unit.name == "pot" else self.unit).pot_text(self.pot)

    def in_unit(self, unit: str | Unit) -> Self:
        """Return the node with EVs shown in another unit.

        Parameters
        ----------
        unit : str or Unit
            ``"chips"``, ``"bb"``, ``"bb=2"`` for a spot whose big blind is 2 chips, or ``"pot"`` for per cent of the
            pot at the node.

        Raises
        ------
        InvalidOptionError
            If there is no such unit, or the game does not determine its size.
        """
        same = copy(self)
        same.unit = Unit.parse(unit, self.native.name) if isinstance(unit, str) else unit
        return same

    @property
    def title(self) -> str:
        """The player who moves, the line, the board if there is one, and the pot, in one line."""
        return self._title(self.mover and f"{self.mover} to act")

    @abstractmethod
    def _title(self, who: str) -> str:
        """Return the title of a seat's hands, or of the node."""

    @property
    @abstractmethod
    def strategy(self) -> Floats:
        """The frequency of each action for each hand or class of the mover, shape (actions, hands)."""

    @cached_property
    def averages(self) -> dict[str, float | None]:
        """Mean EV and equity of all seats, and mean action frequencies; ``None`` if the node is not reached."""
        return self.means | self.frequencies

    @property
    def means(self) -> dict[str, float | None]:
        """Mean EV and equity of all seats; ``None`` if the node is not reached."""
        found: dict[str, float | None] = {}
        for name, both in (("ev", self.evs), ("equity", self.equities)):
            for seat, numbers, likely in zip(self.seats, both, self.likely, strict=True):
                found[f"{seat} {name}"] = weighted_mean(numbers, likely)
        return found

    @property
    def frequencies(self) -> dict[str, float | None]:
        """Mean action frequencies, which need no sweep over the tree."""
        return {
            action: weighted_mean(numbers, self.likely[self.seats.index(self.mover)])
            for action, numbers in zip(self.actions, self.strategy if self.actions else (), strict=True)
        }

    def index_of(self, seat: str) -> int:
        """Return the index of a seat: by default the mover, or the first seat if nobody moves."""
        if seat not in ("", *self.seats):
            raise InvalidGameError(f"seat is {shown(seat)}, expected {one_of(self.seats)}{nearest(seat, self.seats)}")
        return self.seats.index(seat or self.mover or self.seats[0])

    def _table(self, seat: int, rows: Iterable[dict[str, Any]]) -> SpotTable:
        """Return rows on a seat's hands as a table."""
        return SpotTable(self._title(self.seats[seat]), tuple(rows), self.unit, self.pot)

    @abstractmethod
    def hands(self, seat: str = "", only: str | Range | None = None) -> SpotTable:
        """Return the strategy and earnings of each hand of a seat, by default the mover's, best first."""

    def classes(self, seat: str = "", only: str | Range | None = None) -> SpotTable:
        """Return the strategy and earnings of each of the 169 classes of a seat, in chart order.

        Parameters
        ----------
        seat : str, optional
            One of :attr:`seats`; by default the mover.
        only : str or Range, optional
            Show only the classes of these hands, such as ``"77+, AKs"``.

        Returns
        -------
        SpotTable
            By class: ``combinations``, the number of hands at the node; ``reach``, their share of those possible on the
            board; ``weight``, the class's share of the range; EV and equity; and the mover's action frequencies.
            Classes that do not occur at the node have no numbers.
        """
        who = self.index_of(seat)
        rows = self._class_rows(who)
        if only is not None:
            asked = set(CLASS_OF_HAND[Range.parse(only).weights > 0.0].tolist())
            rows = [row for number, row in enumerate(rows) if number in asked]
        return self._table(who, rows)

    @abstractmethod
    def _class_rows(self, seat: int) -> list[dict[str, Any]]:
        """Return a row for each of the 169 classes of a seat."""

    def to_dict(self, by: str = "hand") -> dict[str, Any]:
        """Return the node as plain data: its place, averages, and the hands of all seats.

        EVs are in the payoffs of the game, whatever the unit of the node.

        Parameters
        ----------
        by : {"hand", "class"}
            Whether to list hands or classes; before the flop there are only classes.
        """
        found: dict[str, Any] = {
            "at": ", ".join(self.path),
            "board": "".join(self.board),
            "pot": self.pot,
            "mover": self.mover or None,
            "actions": list(self.actions),
            "probability": self.probability,
            "averages": self.averages,
        }
        listed = {seat: list(self.hands(seat) if by == "hand" else self.classes(seat)) for seat in self.seats}
        plain: dict[str, Any] = json_ready(found | {"hands" if by == "hand" else "classes": listed})
        return plain

    @property
    def probability(self) -> float:
        """The probability of the node."""
        return float(self.likely[0].sum())

    def graph(self) -> Figure:
        """Draw the equity and the EV of all players over their ranges, with hands sorted by equity.

        Raises
        ------
        UnsupportedProblemError
            If no hands of two players reach the node.
        MissingExtraError
            If matplotlib is not installed.
        """
        unit, pot, drawn = self.unit, self.pot, 0
        figure, (equity, worth) = panels(2, 1, (7.2, 7.6), sharex=True)
        averages = self.averages
        for seat, name in enumerate(self.seats):
            likely, equities, evs = self.likely[seat], self.equities[seat], self.evs[seat]
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
            raise UnsupportedProblemError(f"there is no graph of {self.title}: no hands of two players reach this node")
        equity.set(xlim=(0, 100), ylim=(0, 100), ylabel="equity, % of the pot")
        worth.set(xlabel="share of the range in %, hands sorted by equity, weakest first", ylabel=f"EV, {unit.label}")
        equity.set_title(self.title, loc="left", fontsize=10.5, fontweight="bold", wrap=True, parse_math=False)
        for axes in (equity, worth):
            axes.legend(loc="best", frameon=False, fontsize=9)
        return figure

    def figure(self, seat: str = "", by: str = "action") -> Figure:
        """Draw the 13 × 13 chart of a seat's hands.

        Parameters
        ----------
        seat : str, optional
            One of :attr:`seats`; by default the mover.
        by : {"action", "ev", "equity"}
            The content of the cells. The filled height of a cell is the share of its combinations present; for a seat
            other than the mover's, ``action`` shows only that.

        Raises
        ------
        InvalidGameError
            If there is no such seat, or nothing to show for it.
        MissingExtraError
            If matplotlib is not installed.
        """
        if by not in SHOWN:
            raise InvalidGameError(f"by is {shown(by)}, expected action, ev or equity")
        number = self.index_of(seat)
        who = self.seats[number]
        moves = by == "action" and who == self.mover
        figure = blank_figure(_SIZE)
        axes = figure.add_axes((0.035, 0.03, 0.93, 0.93 * _SIZE[0] / _SIZE[1]))
        rows = self._class_rows(number)
        if by == "ev":
            rows = [row | {"ev": row["ev"] if row["ev"] is None else self.unit.of(row["ev"], self.pot)} for row in rows]
        scale: Any = None
        if by != "action":
            from matplotlib.cm import ScalarMappable
            from matplotlib.colors import LinearSegmentedColormap, Normalize

            numbers = [row[by] for row in rows if row[by] is not None and row["weight"] > 0.0]
            low, high = (0.0, 1.0) if by == "equity" else (min(numbers, default=0.0), max(numbers, default=1.0))
            scale = ScalarMappable(
                Normalize(low, high if high > low else low + 1.0), LinearSegmentedColormap.from_list(by, SHADES)
            )
        colours = action_colours(self.actions)
        draw_cells(axes, rows, colours if moves else {}, by, scale)
        _heading(figure, self, who)
        _key(figure, self, colours if moves else {}, by, scale, who)
        return figure


def draw_cells(
    axes: Any, rows: Iterable[Mapping[str, Any]], colours: Mapping[str, str], by: str = "action", scale: Any = None
) -> None:
    """Draw the 169 cells of a chart: rows from ``classes`` of a node, each action in its colour."""
    axes.set(xlim=(0, 13), ylim=(13, 0))
    axes.set_axis_off()
    for number, row in enumerate(rows):
        _cell(axes, number % 13, number // 13, row, colours, by, scale)


def _cell(
    axes: Any, left: int, top: int, row: Mapping[str, Any], colours: Mapping[str, str], by: str, scale: Any
) -> None:
    from matplotlib.patches import Rectangle

    gap = 0.025
    axes.add_patch(Rectangle((left + gap, top + gap), 1 - 2 * gap, 1 - 2 * gap, facecolor=_EMPTY, linewidth=0))
    there, ink = min(1.0, row["reach"]), "#111111"
    height = there * (1 - 2 * gap)
    # A small share of a hand appears as a thin line.
    height = max(height, 0.035) if there > 5e-4 else 0.0
    floor, start = top + 1 - gap - height, left + gap
    width = 1 - 2 * gap
    if height and colours and row["weight"] > 0.0:
        for action in reversed(list(colours)):  # from all-in to fold
            part = width * row[action]
            axes.add_patch(Rectangle((start, floor), part, height, facecolor=colours[action], linewidth=0))
            start += part
    elif height:
        value = None if scale is None else row[by]
        face = _HELD if value is None else scale.to_rgba(value)
        axes.add_patch(Rectangle((start, floor), width, height, facecolor=face, linewidth=0))
        if value is not None:
            digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
            chips = f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")
            text = f"{100 * value:.0f}%" if by == "equity" else chips
            axes.text(
                left + 0.93,
                top + 0.9,
                text,
                fontsize=6.8,
                ha="right",
                va="bottom",
                color=ink,
            )
    faint = "#9a9a9a" if not height else ink
    axes.text(left + 0.08, top + 0.08, row["class"], fontsize=8.2, ha="left", va="top", color=faint)


def _heading(figure: Figure, node: ChartedNode, who: str) -> None:
    """Draw the board as cards, with the owner of the hands, the line that led there, and averages."""
    from matplotlib.patches import FancyBboxPatch

    width, height = figure.get_size_inches()
    left = 0.035
    for card in node.board:
        symbol, colour = _SUITS[card[1]]
        box = FancyBboxPatch(
            (left, 0.957),
            0.37 / width,
            0.3 / height,
            boxstyle="round,pad=0,rounding_size=0.008",
            transform=figure.transFigure,
            facecolor="white",
            edgecolor="#b8b8b8",
            linewidth=0.9,
        )
        figure.add_artist(box)
        middle = left + 0.185 / width, 0.957 + 0.145 / height
        figure.text(*middle, card[0] + symbol, fontsize=11.5, color=colour, ha="center", va="center", fontweight="bold")
        left += 0.42 / width
    left += 0.012 if node.board else 0.0
    moving = "to act" if who == node.mover else "waits" if node.mover else "holds"
    line = f"{who.upper()} {moving}  ·  {', '.join(node.path) or 'at the root'}"
    lines, size = _fitted(line, (0.965 - left) * width)
    look: dict[str, Any] = {"fontsize": size, "fontweight": "bold", "color": "#111111", "parse_math": False}
    figure.text(left, 0.977, "\n".join(lines), va="center", linespacing=1.1, **look)
    averages = node.averages
    said = [f"pot {node.pot_text}"]
    if averages[f"{who} ev"] is not None:
        equity = averages[f"{who} equity"]
        said.append(f"EV {node.worth_text(averages[f'{who} ev'] or 0.0)}")
        said += [] if equity is None else [f"equity {100 * equity:.1f}%"]
    figure.text(0.038, 0.935, "  ·  ".join(said), fontsize=9, va="center", color=COLOURS["slate"])


def _fitted(text: str, width: float) -> tuple[list[str], float]:
    """Return a text on one or two lines that fit a width in inches, and the size of its font."""
    size = 11.0
    while size > 6.0:
        most = int(width / (0.0083 * size))  # the mean width of a bold letter, in inches
        lines = wrap(text, most, break_on_hyphens=False)
        if len(lines) <= (1 if size > 9.0 else 2):
            return lines, size
        size -= 1.0
    return [lines[0], "… " + text[len(text) - most + 2 :].lstrip()], size


def _key(figure: Figure, node: ChartedNode, colours: Mapping[str, str], by: str, scale: Any, who: str) -> None:
    """Draw the legend of colours with the frequency of each action, above the chart."""
    from matplotlib.patches import Patch

    note = "The filled height of a cell is the share of its hands present."
    figure.text(0.5, 0.014, note, fontsize=7.5, ha="center", color=COLOURS["slate"])
    if scale is not None:
        name = {"ev": f"EV in {node.unit.label}", "equity": "equity"}[by]
        place = figure.add_axes((0.6, 0.93, 0.36, 0.012))
        bar = figure.colorbar(scale, cax=place, orientation="horizontal")
        bar.outline.set_visible(False)
        figure.text(0.588, 0.936, name, fontsize=9, ha="right", va="center")
        place.tick_params(labelsize=7.5, length=0, pad=1.5)
        return
    averages = node.averages
    named = [
        (f"{action}  {100 * share:.1f}%" if (share := averages[action]) is not None else action, colour)
        for action, colour in colours.items()
    ]
    patches = [Patch(facecolor=colour, label=name) for name, colour in named or [(f"hands that {who} has here", _HELD)]]
    letters = sum(len(name) + 5 for name, _ in named)
    figure.legend(
        handles=patches,
        loc="center right",
        bbox_to_anchor=(0.965, 0.934),
        ncols=len(patches) if letters <= 110 else (len(patches) + 1) // 2,
        frameon=False,
        fontsize=9.5 if letters <= 62 else 7.5,
        handlelength=1.0,
        handleheight=1.0,
        handletextpad=0.5,
        columnspacing=1.3,
        borderaxespad=0.0,
        borderpad=0.0,
    )
