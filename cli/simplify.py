"""``treeplex simplify``: the best strategy that is simple to remember, and what it loses."""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.limits import now, settling
from ..seqform.sheet import Column, Row, Sheet, Table, at_least, chips, count, payoff
from . import spots
from .errors import CommandLineError, deferring_interrupts, exit_status
from .files import Record, check_files, command_line
from .nodes import spot_of
from .options import Checkpointing, GameArgument, HtmlOption, JsonOption, PotShare, TimeOption, pot_tolerance, reader
from .outputs import Output, Outputs, page, pages
from .progress import waiting
from .solution import message_of
from .solve import KEYS as _OF_SOLVE
from .solve_options import Curve, Files, OfSpot, SolveLimits, Supplied
from .tables import print_sheet, seconds_text

if TYPE_CHECKING:
    from ..models.games.holdem.spot import HoldemSpot
    from ..seqform.game import Game
    from ..seqform.interchange.page import Page
    from ..solvers import Solution
    from .solve_steps import SolveSteps

#: The grids of ``--frontier``.
GRIDS = (1, 2, 3, 4, 5, 10, 20)
#: The seats of hold'em spots.
_SEATS = {"oop": 0, "ip": 1}
#: The keys of the JSON.
KEYS = (*_OF_SOLVE, "complexity", "loss_share", "frontier", "menus")


def _player(text: str) -> int:
    """Parse a player: a number, or a seat of a spot."""
    if text.strip().lower() not in ("0", "1", *_SEATS):
        raise typer.BadParameter(f"{text!r} is not 0, 1, oop or ip")
    return _SEATS.get(text.strip().lower(), 0) if not text.strip().isdigit() else int(text)


@dataclass(frozen=True)
class _Limits:
    """The limits of the strategy."""

    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=reader(int, minimum=1),
            help="Probabilities are multiples of 1/N: 4 means steps of 25 %, and 1 means a pure strategy.",
        ),
    ] = None
    mixed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=reader(int, minimum=0),
            help="Mix at no more than N infosets (in a spot, N pairs of hand and decision).",
        ),
    ] = None
    sizes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=reader(int, minimum=1),
            help="Use at most N sizes of the same action, such as bets, at each public state.",
        ),
    ] = None
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="C",
            help="Hands of one class play the same at each decision of a spot: ranks (AKs, AKo, 77), suits (ranks and "
            "the suits that matter on the board) or made (the made hand and the draws).",
        ),
    ] = None
    monotone: Annotated[
        str | None,
        typer.Option(
            metavar="ACTIONS",
            help="Actions whose probability is monotone in strength: fold falls with it, others rise. aggression "
            "stands for all bets and raises. In a tree, also give --strength.",
        ),
    ] = None
    strength: Annotated[
        str | None,
        typer.Option(
            metavar="A<B<…",
            help="Prefixes of infoset names from weak to strong, for --monotone in a tree, such as 'J<Q<K'.",
        ),
    ] = None
    loss: Annotated[
        float | None,
        typer.Option(
            metavar="E[%]",
            parser=pot_tolerance,
            help="Find the strategy that loses at most E and mixes at the fewest infosets. E is in payoff units. For a "
            "spot, E is in per cent of the pot, and the strategy with the coarsest grid is found.",
        ),
    ] = None


def simplify(
    game: GameArgument,
    *,
    player: Annotated[
        int | None,
        typer.Option(
            "--player",
            "--seat",
            metavar="0|1",
            parser=_player,
            help="The player, by default 0; in a hold'em spot also oop or ip.",
        ),
    ] = None,
    limits: _Limits,
    frontier: Annotated[
        bool,
        typer.Option(
            "--frontier", help="Show for steps of 1/1, 1/2, 1/3, 1/4, 1/5, 1/10 and 1/20 how much the strategy loses."
        ),
    ] = False,
    menus: Annotated[
        str | None,
        typer.Option(
            metavar="MENU;MENU",
            help="Compare menus of the player's bet sizes in a spot, such as '33%; 75%; 33%, 75%, a', by the "
            "share of the EV that each menu keeps.",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="The method: branch-and-bound, the default in small trees, or rounding, the default in spots, in "
            "large trees and for --frontier.",
        ),
    ] = None,
    time_limit: TimeOption = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the profile to FILE (.npz), or for a spot the file that treeplex show reads."
        ),
    ] = None,
    html: HtmlOption = None,
    json: JsonOption = None,
) -> int:
    """Find the best strategy that is simple enough to be remembered, and prove how much it loses.

    The loss is relative to the value of the game, against any opponent. It is computed from the strategy and from the
    other player's equilibrium strategy. Only the solver claims that no equally simple strategy loses less. The exit
    status is 1 if no strategy within the limits is found that loses at most --loss.
    """
    given = {name: value for name, value in vars(limits).items() if value is not None}
    if frontier or menus is not None:
        whole = "--frontier" if menus is None else "--menus"
        refused = {name: given.get(name) for name in ("steps", "mixed", "loss")} | {"out": out}
        if menus is not None:
            refused |= given | {"frontier": frontier or None, "method": method}
        for name, value in refused.items():
            if value is not None:
                raise CommandLineError(f"--{name} cannot be combined with {whole}; leave it out")
    elif not given:
        raise CommandLineError(
            "simplify needs --steps, --mixed, --sizes, --classes, --monotone, --loss, --frontier or --menus, such as "
            "--steps 4"
        )
    check_files({"GAME": game}, out=out, json=json, html=html, profile=True)
    record = Record(json, KEYS, game=game, problem="simplify", method=method, player=player or 0)
    with record.interruptible(time_limit):
        with deferring_interrupts():
            from .solve_steps import SolveSteps

        if menus is not None:
            compared = _compare(record, game, player or 0, menus, time_limit)
            outputs = Outputs(record)
            return outputs.deliver(
                exit_status(compared.status),
                lambda: print_sheet(compared.sheet),
                compared.to_dict,
                page(html, compared.page),
            )
        given = given | ({"steps": GRIDS[-1]} if frontier else {})
        if isinstance(limits.loss, PotShare):
            given["loss"] = _loss_of(limits.loss, record.load(game))
        run = SolveLimits(time_limit=time_limit)
        files = Files(out=out, html=html, json=json)
        steps = SolveSteps(record, game, run, Checkpointing(), Supplied(), Curve(), OfSpot(), files)
        words = {name: str(value) for name, value in given.items()}
        words |= {"player": str(player or 0)}
        named = method or ("rounding" if frontier else None)
        steps.read_question("simplify", named, prefer=None, precision=None, **words)
        steps.read_spot()
        if steps.spot is not None and steps.spot.rake:
            raise CommandLineError(f"simplify: {game} has a rake, and losses are proven only without one; leave it out")
        steps.pose_problem()
        found = _frontier(steps, time_limit) if frontier else _Answer(steps, steps.find_solution())
    outputs = Outputs(record)
    return outputs.deliver(
        exit_status(found.status),
        lambda: print_sheet(found.sheet),
        found.to_dict,
        Output("profile", "--out", out, found.save, answers=True),
        page(html, found.page),
    )


def _loss_of(loss: PotShare, game: "Game") -> float:
    """Return a loss in payoff units, given in per cent of the pot."""
    if game.whole is None:
        raise CommandLineError(
            f"--loss {loss}: a percentage refers to the pot of a spot, but GAME is {game.spec}; expected a number of "
            "at least 0, such as 0.01"
        )
    return float(loss) / 100.0 * float(game.whole[0])


def _share_of(loss: float, game: "Game") -> float | None:
    """Return a loss as a share of the pot; ``None`` without a pot."""
    return None if game.whole is None else loss / float(game.whole[0])


@dataclass(frozen=True)
class _Answer:
    """A simple strategy."""

    steps: "SolveSteps"
    solution: "Solution"

    @property
    def status(self) -> str:
        """The status of the solve."""
        return self.solution.status

    @property
    def sheet(self) -> Sheet:
        """The strategy's complexity and loss, as rows."""
        solution, game, found = self.solution, self.steps.loaded, self.solution.state.complexity
        return Sheet(
            [
                Row("problem", f"{self.steps.asked} on {game.spec}"),
                Row("method", solution.method.name),
                Row("status", str(solution.status)),
                Row("message", message_of(solution), label=""),
                *(self.paid if self.steps.spot is None else self.earned(self.steps.spot)),
                Row("steps", solution.state.steps, lambda steps: f"1/{steps}"),
                Row("mixed", found.mixed, count, f" of {found.infosets:,} infosets with several actions"),
                Row("sizes", found.sizes or None, count, " at most of an action at a public state"),
                Row("classes", self.steps.posed.classes, str, " play alike"),
                Row("monotone", self.monotone, str, " with strength"),
                Row("seconds", seconds_text()),
            ]
        )

    @property
    def paid(self) -> Iterator[Row]:
        """The guaranteed payoff and the loss, as rows."""
        yield Row("player", self.solution.problem.player)
        yield Row("guaranteed", self.solution.lower, payoff)
        yield Row("loss", self.solution.exploitability, payoff, " at most, against the value of the game")

    def earned(self, spot: "HoldemSpot") -> Iterator[Row]:
        """Yield the seat's guaranteed EV and the loss of a strategy of a spot, in chips, as rows."""
        seat, lost = tuple(_SEATS)[self.steps.posed.player], self.solution.exploitability
        yield spots.pot_row(spot)
        yield Row("seat", seat)
        ev = None if self.solution.lower is None else self.solution.lower + spot.pot / 2
        yield Row("guaranteed", ev, at_least, f" chips, the EV of {seat} against any opponent")
        of_pot = f" chips at most, against an equilibrium ({100.0 * lost / spot.pot:.3g} % of the pot)"
        yield Row("loss", lost, payoff, of_pot)

    @property
    def monotone(self) -> str | None:
        """The actions whose probability falls or rises with strength, in words."""
        found = self.steps.posed.monotone
        if found is None:
            return None
        return ", ".join([f"{one} falls" for one in found.falling] + [f"{one} rises" for one in found.rising])

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON."""
        solution = self.solution
        return solution.to_dict() | {
            "question": self.steps.asked,
            "message": message_of(solution),
            "complexity": asdict(solution.state.complexity) | {"steps": solution.state.steps},
            "loss_share": _share_of(solution.exploitability, self.steps.loaded),
        }

    def save(self, path: str) -> None:
        """Write the profile, or the solved spot."""
        spot = self.steps.spot
        solved = None if spot is None else spots.read(self.solution, spot)
        (self.solution.profile if solved is None else solved).save(path)

    def page(self) -> "Page":
        """Return the page that ``--html`` writes."""
        from ..solvers.reports import solution_page

        return solution_page(self.solution, command_line())


@dataclass(frozen=True)
class _Frontier:
    """The losses of strategies on several grids."""

    steps: "SolveSteps"
    solutions: "list[Solution]"
    status: str

    @property
    def table(self) -> Table:
        """The grid, complexity and loss of each strategy."""
        game, rows = self.steps.loaded, []
        for solution in self.solutions:
            found, loss = solution.state.complexity, solution.exploitability
            rows.append((solution.state.steps, found.mixed, found.infosets, loss, _share_of(loss, game)))
        columns = [
            Column("steps", lambda steps: f"1/{steps}"),
            Column("mixed", count, "mixed infosets"),
            Column("infosets", count, "of"),
            Column("loss", payoff, "loss at most"),
        ]
        if game.whole is None:
            return Table(columns, [row[:-1] for row in rows])
        return Table([*columns, Column("loss_share", lambda part: f"{100.0 * part:.3f} %", "of the pot")], rows)

    @property
    def sheet(self) -> Sheet:
        """The table, under the problem."""
        game = self.steps.loaded
        rows = [
            Row("problem", f"simplify --player {self.steps.posed.player} --frontier on {game.spec}"),
            Row("method", self.steps.chosen.name),
            Row("status", self.status),
            Row("seconds", seconds_text()),
        ]
        return Sheet(rows, [self.table])

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON."""
        return {"status": self.status, "method": self.steps.chosen.name, "frontier": self.table.records}

    def save(self, path: str) -> None:
        """Write nothing: ``--out`` cannot be combined with a frontier."""

    def page(self) -> "Page":
        """Return the page that ``--html`` writes."""
        found: Page = pages().simplified(self.steps.loaded, self.sheet)
        return found


def _frontier(steps: "SolveSteps", time_limit: float | None) -> _Frontier:
    """Find the strategy on each grid, starting on public forms from one equilibrium."""
    from .. import solvers

    found: list[Any] = []
    status = solvers.Status.CONVERGED
    with waiting(f"simple strategies on {steps.loaded.spec}", shown=steps.record.shown) as tell, settling() as answer:
        try:
            if not _solve_grids(steps, math.inf if time_limit is None else now() + time_limit, found, tell):
                status = solvers.Status.TIME_LIMIT
            answer.known()
        except KeyboardInterrupt:
            if not found:
                raise
            answer.known()
            status = solvers.Status.INTERRUPTED
    return _Frontier(steps, found, str(solvers.Status.INTERRUPTED if answer.interrupted else status))


def _solve_grids(steps: "SolveSteps", end: float, found: list[Any], tell: Callable[[str], None]) -> bool:
    """Add the solution on each grid to those found; return whether none of them reached the time limit."""
    from ..models.problems import Nash
    from ..seqform.errors import TimeLimitError
    from ..solvers import DCFR, Status
    from ..solvers.solve import solve_part

    problem, chosen, options = steps.posed, steps.chosen, dict[str, Any]()

    def left(parts: float) -> float | None:
        return None if math.isinf(end) else max(0.0, end - now()) / parts

    if problem.game.public_form is not None and chosen.takes_start:
        precise = chosen.default_tolerance * problem.unit
        options["start"] = solve_part(Nash(problem.game), DCFR(precision="auto"), tol=precise, time_limit=left(2.0))
    for place, grid in enumerate(GRIDS):
        tell(f"steps of 1/{grid}")
        posed = replace(problem, steps=grid, game=problem.given_game)
        try:
            found.append(solve_part(posed, chosen, time_limit=left(len(GRIDS) - place), **options))
        except TimeLimitError:
            if not found:
                raise
            return False
    return all(one.status is not Status.TIME_LIMIT for one in found)


# Menus of bet sizes


@dataclass(frozen=True)
class _Menus:
    """A player's EV with each of several menus of bet sizes."""

    game: "Game"
    player: int
    rows: list[dict[str, Any]]
    status: str

    @property
    def sheet(self) -> Sheet:
        """The table, under the problem, and what it proves."""
        seat = next(name for name, number in _SEATS.items() if number == self.player)
        largest = next(row["menu"] for row in self.rows if row["is_largest"])
        rows = [
            Row("problem", f"simplify --player {seat} --menus on {self.game.spec}"),
            Row("status", self.status),
            Row("largest", largest, str, " is the menu to which shares refer", label="largest menu"),
            Row("proven", _PROVEN.format(seat=seat)),
            Row("seconds", seconds_text()),
        ]
        columns = [
            Column("menu", str, "menu"),
            Column("ev_lower", chips, "EV at least"),
            Column("ev_upper", chips, "at most"),
            Column("share_lower", _percent, "share at least", "–"),
            Column("share_upper", _percent, "at most", "–"),
        ]
        return Sheet(rows, [Table.of(self.rows, columns)])

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON."""
        return {"status": self.status, "player": self.player, "menus": self.rows}

    def page(self) -> "Page":
        """Return the page that ``--html`` writes."""
        found: Page = pages().menus(self.game, self.sheet)
        return found


#: What a comparison of menus proves.
_PROVEN = (
    "the bounds on the EV of {seat} in each game, by best responses; the games differ in the bet sizes of {seat}, and "
    "nothing is proven about other sizes"
)


def _percent(part: float) -> str:
    return f"{100.0 * part:.3f} %"


def _compare(record: Record, name: str, player: int, text: str, time_limit: float | None) -> _Menus:
    """Solve a spot with each menu."""
    from ..models.problems import Nash
    from ..solvers import DCFR, Status
    from ..solvers.solve import solve_part

    game = record.load(name)
    spot = spot_of(game)
    if spot is None:
        raise CommandLineError(f"--menus is for hold'em spots, but GAME is {game.spec}")
    if spot.rake or spot.locks:
        raise CommandLineError(f"--menus needs a spot without {'rake' if spot.rake else 'locks'}")
    menus = [menu.strip() for menu in text.split(";")]
    if len(menus) < 2 or not all(menus) or len(set(menus)) < len(menus):
        raise CommandLineError(
            f"--menus {text!r}: expected two or more different menus of sizes, separated by semicolons, such as "
            "'33%; 75%; 33%, 75%, a'"
        )
    games = [_with_menu(spot, player, menu) for menu in menus]
    end = math.inf if time_limit is None else now() + time_limit
    ends, status = [], Status.CONVERGED
    with waiting(f"menus on {game.spec}", shown=record.shown) as tell:
        for place, (menu, posed) in enumerate(zip(menus, games, strict=True)):
            tell(f"the menu {menu}")
            left = None if math.isinf(end) else max(0.0, end - now()) / (len(menus) - place)
            tol = _MENU_TOLERANCE * spot.pot
            solved = solve_part(Nash(posed), DCFR(precision="auto"), tol=tol, time_limit=left)
            if solved.status is not Status.CONVERGED:
                status = solved.status
            assert solved.lower is not None
            assert solved.upper is not None
            low, high = sorted((1 - 2 * player) * each + spot.pot / 2 for each in (solved.lower, solved.upper))
            ends.append((low, high))
    sizes = [len(menu.split(",")) for menu in menus]
    largest = sizes.index(max(sizes))
    rows = []
    for place, (menu, (low, high)) in enumerate(zip(menus, ends, strict=True)):
        share = ends[largest] if place != largest else None
        known = share is None or share[0] > 0.0
        rows.append(
            {
                "menu": menu,
                "is_largest": place == largest,
                "ev_lower": low,
                "ev_upper": high,
                "share_lower": (1.0 if share is None else low / share[1]) if known else None,
                "share_upper": (1.0 if share is None else high / share[0]) if known else None,
            }
        )
    return _Menus(game, player, rows, str(status))


#: The tolerance of the spots that are compared, as a share of the pot.
_MENU_TOLERANCE = 1e-4


def _with_menu(spot: "HoldemSpot", player: int, menu: str) -> "Game":
    """Return a spot's game with a menu of a player's bet sizes."""
    from ..seqform.errors import InvalidGameError

    try:
        return spot.with_menu(player, menu).game
    except InvalidGameError as error:
        raise CommandLineError(f"--menus: {error}") from None
