"""Charts of hands as pictures: 13 × 13 classes, with cells divided by action, or shaded by EV or equity."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from ....seqform.arrays import Floats
from ....seqform.display import Drawn
from ....seqform.errors import InvalidGameError, shown
from ....seqform.interchange.pictures import COLOURS, Figure, blank_figure
from .hand_tables import SpotTable, weighted_mean

#: The possible contents of a chart: action frequencies, EV or equity.
SHOWN = ("action", "ev", "equity")
#: Colours on which black text is readable and which colour-blind readers can distinguish; bets from small to large.
_PASSIVE = {"fold": COLOURS["sky"], "check": "#44AA8B", "call": "#44AA8B"}
_ALL_IN, _HELD, _EMPTY = COLOURS["pink"], "#a8b4c0", "#f1f1f1"
_BETS = ("#F6DC85", "#E69F00", "#D55E00")
_SUITS = {"s": ("♠", "#222222"), "h": ("♥", "#C62828"), "d": ("♦", "#1565C0"), "c": ("♣", "#2E7D32")}
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
    solved : SolvedSpot or SolvedPreflop
    path : tuple of str
        The line that leads there.
    mover : str
        The seat that moves; empty if nobody does.
    actions : tuple of str

    Attributes
    ----------
    board : tuple of str
    pot : float
    unit : str
        The unit of EVs and the pot.
    seats : tuple of str
    """

    board: tuple[str, ...] = ()
    pot: float
    unit: ClassVar[str]
    seats: ClassVar[tuple[str, str]]
    # For both seats, by hand or class: the probability of reaching the node, EVs, and equities.
    likely: Any
    evs: Any
    equities: Any

    def __init__(self, solved: Any, path: tuple[str, ...], mover: str, actions: tuple[str, ...]) -> None:
        self.solved, self.path, self.mover, self.actions = solved, path, mover, actions

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.path)!r})"

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
        """Mean EV and equity of both seats, and mean action frequencies; ``None`` if the node is not reached."""
        return self.means | self.frequencies

    @property
    def means(self) -> dict[str, float | None]:
        """Mean EV and equity of both seats; ``None`` if the node is not reached."""
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

    def _seat(self, seat: str) -> int:
        """Return the index of a seat: by default the mover, or the first seat if nobody moves."""
        if seat not in ("", *self.seats):
            raise InvalidGameError(f"seat is {shown(seat)}, expected {' or '.join(self.seats)}")
        return self.seats.index(seat or self.mover or self.seats[0])

    @abstractmethod
    def classes(self, seat: str = "") -> SpotTable:
        """Return the strategy and earnings of each of the 169 classes of a seat, by default the mover's."""

    def figure(self, seat: str = "", by: str = "action") -> Figure:
        """Draw the 13 × 13 chart of a seat's hands.

        Parameters
        ----------
        seat : {"oop", "ip"} or {"sb", "bb"}, optional
            By default the mover.
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
        table = self.classes(seat)
        who = table.title.split()[0]
        moves = by == "action" and who == self.mover
        figure = blank_figure((7.2, 7.95))
        axes = figure.add_axes((0.035, 0.08, 0.93, 0.93 * 7.2 / 7.95))
        rows = list(table)
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
            digits = 0 if abs(value) >= 100 else 1
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
    """Draw the board as cards, with the owner of the hands and the line that led there."""
    from matplotlib.patches import FancyBboxPatch

    width, height = figure.get_size_inches()
    left = 0.035
    for card in node.board:
        symbol, colour = _SUITS[card[1]]
        box = FancyBboxPatch(
            (left, 0.948),
            0.37 / width,
            0.3 / height,
            boxstyle="round,pad=0,rounding_size=0.008",
            transform=figure.transFigure,
            facecolor="white",
            edgecolor="#b8b8b8",
            linewidth=0.9,
        )
        figure.add_artist(box)
        middle = left + 0.185 / width, 0.948 + 0.145 / height
        figure.text(*middle, card[0] + symbol, fontsize=11.5, color=colour, ha="center", va="center", fontweight="bold")
        left += 0.42 / width
    line = ", ".join(node.path) or "at the root"
    moving = "to act" if who == node.mover else "waits" if node.mover else "holds"
    figure.text(
        left + 0.012,
        0.971,
        f"{who.upper()} {moving}  ·  {line}",
        fontsize=11,
        fontweight="bold",
        va="center",
        parse_math=False,
        color="#111111",
    )
    averages = node.averages
    said = [f"pot {node.pot:,}" + (" BB" if node.unit == "BB" else "")]
    if averages[f"{who} ev"] is not None:
        said += [f"EV {averages[f'{who} ev']:,.2f}", f"equity {100 * (averages[f'{who} equity'] or 0.0):.1f}%"]
    figure.text(left + 0.012, 0.951, "  ·  ".join(said), fontsize=9, va="center", color=COLOURS["slate"])


def _key(figure: Figure, node: ChartedNode, colours: Mapping[str, str], by: str, scale: Any, who: str) -> None:
    """Draw the legend of colours below the chart."""
    from matplotlib.patches import Patch

    if scale is not None:
        name = {"ev": f"EV in {node.unit}", "equity": "equity"}[by]
        place = figure.add_axes((0.3, 0.045, 0.4, 0.014))
        bar = figure.colorbar(scale, cax=place, orientation="horizontal")
        bar.outline.set_visible(False)
        bar.set_label(name, fontsize=8.5)
        place.tick_params(labelsize=8, length=0)
        return
    averages = node.averages
    named = [
        (f"{action}  {100 * share:.1f}%" if (share := averages[action]) is not None else action, colour)
        for action, colour in colours.items()
    ]
    patches = [Patch(facecolor=colour, label=name) for name, colour in named or [(f"hands that {who} has here", _HELD)]]
    figure.legend(
        handles=patches,
        loc="lower center",
        bbox_to_anchor=(0.5, 0.022),
        ncols=min(len(patches), 6),
        frameon=False,
        fontsize=9.5,
        handlelength=1.0,
        handleheight=1.0,
        columnspacing=1.6,
    )
    note = "The filled height of a cell is the share of its hands present."
    figure.text(0.5, 0.012, note, fontsize=7.5, ha="center", color=COLOURS["slate"])
