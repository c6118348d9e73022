"""Nodes of hold'em in commands: the hands of a spot or of play before the flop as rows, charts, graphs and CSV."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import nearest
from .errors import CommandLineError
from .options import SPOT, AtOption, ChartOption, HtmlOption
from .outputs import Output
from .tables import print_table

if TYPE_CHECKING:
    from ..models.games.holdem.charts import ChartedNode
    from ..models.games.holdem.hand_tables import SpotTable
    from ..models.games.holdem.spot import HoldemSpot
    from ..models.games.holdem.units import Unit
    from ..seqform.game import Game
    from ..seqform.strategy import Profile

#: The games before the flop.
PREFLOP = ("preflop", "three_handed", "flops")
#: Hands with a smaller remaining weight are shown only if they are named.
_SHOWN = 5e-5


UnitOption = Annotated[
    str | None,
    typer.Option(
        "--unit",
        metavar="UNIT",
        rich_help_panel=SPOT,
        help="The unit of EV: chips, pot (per cent of the pot at the node), or big blinds: bb before the flop, and "
        "bb=2 in a spot where a big blind is 2 chips. JSON always has the game's own unit.",
    ),
]


@dataclass(frozen=True)
class OfHands:
    """The node to show, and what to show of its hands."""

    at: AtOption = None
    seat: Annotated[
        str | None,
        typer.Option(
            metavar="SEAT",
            rich_help_panel=SPOT,
            help="The player whose hands to show: oop or ip in a spot, sb, bb or button before the flop; by default "
            "the one who moves.",
        ),
    ] = None
    by: Annotated[
        str | None,
        typer.Option(
            metavar="hand|class",
            rich_help_panel=SPOT,
            help="One row per hand (the default in a spot), or one for each of the 169 classes of hands, such as AKs.",
        ),
    ] = None
    hands: Annotated[
        str | None,
        typer.Option(
            metavar="HANDS",
            rich_help_panel=SPOT,
            help="Hands to show, such as QsQh,AdKd or 77+; all also shows those that never reach the node.",
        ),
    ] = None
    unit: UnitOption = None
    chart: ChartOption = None
    cells: Annotated[
        str | None,
        typer.Option(
            metavar="action|ev|equity",
            rich_help_panel=SPOT,
            help="The content of the cells of --chart; by default action, the frequencies of actions.",
        ),
    ] = None
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=SPOT,
            help="Draw equity and EV over the range of each player, with hands sorted by equity, to FILE (.svg, .png "
            "or .pdf).",
        ),
    ] = None
    csv: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", rich_help_panel=SPOT, help="Write the rows shown to FILE (.csv), in full precision."
        ),
    ] = None
    html: HtmlOption = None

    def check(self) -> None:
        """Reject values that no game accepts.

        Raises
        ------
        CommandLineError
        """
        from ..models.games.holdem.charts import SHOWN

        for option, value, known in (("by", self.by, ("hand", "class")), ("cells", self.cells, SHOWN)):
            if value is not None and value not in known:
                expected = f"{', '.join(known[:-1])} or {known[-1]}"
                raise CommandLineError(f"--{option} {value}: expected {expected}{nearest(value, known)}")
        if self.cells is not None and self.chart is None:
            raise CommandLineError(f"--cells {self.cells}: needs --chart FILE, whose cells it sets")
        if self.csv is not None and Path(self.csv).suffix.lower() != ".csv":
            raise CommandLineError(f"--csv {self.csv}: expected a file name that ends with .csv")


def is_all(hands: str) -> bool:
    """Whether ``--hands`` asks for all hands."""
    return hands.strip().lower() == "all"


def spot_of(game: "Game") -> "HoldemSpot | None":
    """Return the spot from which a game was made; ``None`` for other games."""
    from ..seqform.game import Game

    if type(game) is Game:  # before importing what only spots need
        return None
    from ..models.games.holdem.spot import HoldemGame

    return game.spot if isinstance(game, HoldemGame) else None


def has_nodes(game: "Game") -> bool:
    """Whether a game has nodes with hands: a spot, or a game before the flop."""
    return game.name in PREFLOP or spot_of(game) is not None


def view_of(game: "Game", profile: "Profile") -> Any:
    """Return a strategy of a hold'em game as a view with nodes."""
    spot = spot_of(game)
    if spot is not None:
        from ..models.games.holdem.solved import SolvedSpot

        return SolvedSpot(spot, profile)
    if game.name == "preflop":
        from ..models.games.holdem.preflop import Preflop
        from ..models.games.holdem.preflop_solved import SolvedPreflop

        return SolvedPreflop(Preflop(**game.parameters), profile)
    if game.name == "flops":
        from ..models.games.holdem.flops_solved import SolvedFlops

        return SolvedFlops(game.flops, profile)  # type: ignore[attr-defined]
    from ..models.games.holdem.three_handed import ThreeHanded
    from ..models.games.holdem.three_handed_solved import SolvedThreeHanded

    return SolvedThreeHanded(ThreeHanded(**game.parameters), profile)


def check_line(line: str, game: "Game") -> None:
    """Reject a line that leads nowhere in a game before the flop, before it is solved.

    Raises
    ------
    CommandLineError
    """
    from ..seqform.errors import InvalidGameError
    from ..seqform.joint_form import JointPayoff

    form: Any = game.public_form
    if form is None:
        payoffs = game.sequence_form.payoffs
        assert isinstance(payoffs, JointPayoff)
        form = payoffs.form
    try:
        form.find(line)
    except InvalidGameError as error:
        raise CommandLineError(f"--at: {error}") from None


@dataclass(frozen=True)
class HandsAt:
    """The hands of a node that the options select.

    Parameters
    ----------
    node : ChartedNode
    of : OfHands
    only : str, optional
        The range to which the options restrict hands.
    """

    node: "ChartedNode"
    of: OfHands
    only: str | None

    @classmethod
    def read(cls, view: Any, of: OfHands) -> "HandsAt":
        """Return the selected hands of a view, after checking all options.

        Raises
        ------
        CommandLineError
        """
        from ..models.games.holdem.cards import Range
        from ..seqform.errors import TreeplexError

        only = None if of.hands is None else "random" if is_all(of.hands) else of.hands
        try:
            option = "at"
            node = view.at(of.at or "")
            if of.unit is not None:
                option = "unit"
                node = node.in_unit(of.unit)
            if of.seat is not None:
                option = "seat"
                node.index_of(of.seat)
            if only is not None:
                option = "hands"
                Range.parse(only)
        except TreeplexError as error:
            raise CommandLineError(f"--{option}: {error}") from None
        if of.by == "hand" and node.has_classes_only:
            raise CommandLineError("--by hand: before the flop, hands of one class play the same; expected class")
        return cls(node, of, only)

    @property
    def table(self) -> "SpotTable":
        """The rows: those with some weight, or all those named by ``--hands``."""
        node, of, seat = self.node, self.of, self.of.seat or ""
        rows = node.classes(seat, self.only) if of.by == "class" else node.hands(seat, self.only)
        if self.only is None:
            rows = replace(rows, rows=tuple(row for row in rows if row["reach"] >= _SHOWN))
        return rows

    def print(self) -> None:
        """Print the node and the rows."""
        print(f"\n{self.node}")  # noqa: T201
        if self.of.seat not in (None, self.node.mover):
            print(f"hands of {self.of.seat}")  # noqa: T201
        print_table(replace(self.table, title="").table)

    def to_dict(self) -> dict[str, Any]:
        """Return the node for JSON, in the unit of the game."""
        return {"at": self.node.to_dict("class" if self.of.by == "class" or self.node.has_classes_only else "hand")}

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The files that the options ask for."""
        of, seat = self.of, self.of.seat or ""
        return (
            Output("chart", "--chart", of.chart, lambda path: self.node.plot(path, seat, of.cells or "action")),
            Output("graph", "--graph", of.graph, self._draw),
            Output("table", "--csv", of.csv, self._save),
        )

    def _save(self, path: str) -> None:
        self.table.save(path)

    def _draw(self, path: str) -> None:
        from ..seqform.interchange.pictures import write_picture

        write_picture(self.node.graph, path)


def parsed_unit(text: str | None, native: str) -> "Unit":
    """Return the unit of ``--unit``; by default that of the payoffs of the game.

    Raises
    ------
    CommandLineError
    """
    from ..models.games.holdem.units import Unit
    from ..seqform.errors import TreeplexError

    try:
        return Unit.parse(native if text is None else text, native)
    except TreeplexError as error:
        raise CommandLineError(f"--unit: {error}") from None
