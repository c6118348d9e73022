"""``treeplex review``: the cost of a player's decisions, and the costliest habits."""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import InvalidGameError, PlayLogError, nearest
from ..seqform.errors import shown as quoted
from ..seqform.limits import doing, now
from ..seqform.sheet import Column, Row, Sheet, Table, count, counted, decimals, setting, several
from .errors import CommandLineError, ExitStatus, deferring_interrupts, print_note
from .files import STANDARD_OUTPUT, Record, check_files, write_file
from .fit import expecting
from .match import blinds_of, chips_of
from .options import HtmlOption, JsonOption, TimeOption, reader, whole
from .options import seat as read_seat
from .outputs import Output, Outputs, page, pages
from .progress import waiting
from .tables import print_sheet, seconds_text

if TYPE_CHECKING:
    from ..models.games.holdem import HoldemSpot, SolvedSpot
    from ..models.games.holdem.preflop_solved import SolvedPreflop
    from ..models.matches import Hand, HandHistories
    from ..models.review import Review
    from ..models.review.solved_games import ReviewedGame

#: The keys of the JSON.
KEYS = (
    *("files", "hero", "against", "seat", "streets", "confidence", "games", "read", "hands", "decisions"),
    *(
        "mapped",
        "lost",
        "gap",
        "result",
        "adjusted",
        "habits",
        "costliest",
        "left_out",
        "skipped",
        "status",
        "message",
        "time",
    ),
)
#: The streets that are reviewed, and the word for equilibria computed here.
STREETS, EQUILIBRIUM = ("preflop", "river"), "equilibrium"
#: Stacks of the preflop games that are solved, in big blinds, and the tolerance of solutions: big blinds per hand
#: before the flop, and a share of the pot after it.
_STACKS = (5, 7, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200)
_PREFLOP, _SPOT = 0.005, 0.002
#: The share of the time limit that is spent on rivers.
_PART = 0.7
#: The number of the river among the streets of a hand.
_RIVER = 3
#: With a larger gap, in big blinds per 100 hands, strategies are not an equilibrium.
_GAP = 5.0


def _percent(number: float) -> str:
    return f"{100.0 * number:.0f} %"


def _rate(number: float) -> str:
    return decimals(number, 2)


def _loss(number: float) -> str:
    return decimals(-number, 1) if number else "0.0"


#: The columns of the table of habits, and of the table of decisions.
_HABITS = (
    *(Column("street"), Column("situation"), Column("group", heading="hands"), Column("kind", heading="action")),
    *(Column("frequency", _percent, "often"), Column("usual", _percent), Column("times", count, "of")),
    *(Column("lost", _loss), Column("exploitable", _loss, missing="–"), Column("cost", _loss, "BB/100")),
)
_DECISIONS = (
    *(Column("where", heading="hand"), Column("street"), Column("board"), Column("cards"), Column("line")),
    *(
        Column("played"),
        Column("best"),
        Column("times", count),
        Column("loss", _rate, "BB lost"),
        Column("lower", _rate, "at least", "–"),
    ),
)


def _streets(text: str) -> tuple[str, ...]:
    """Parse a list of streets."""
    found = tuple(part.strip().lower() for part in text.split(","))
    for one in found:
        if one not in STREETS:
            raise typer.BadParameter(f"{quoted(one, 60)}{nearest(one, STREETS)}, expected {' or '.join(STREETS)}")
    return found


@dataclass(frozen=True)
class _Hands:
    """The hands, the player, and the strategies to compare with."""

    hands: Annotated[
        list[str],
        typer.Argument(
            metavar="HANDS…",
            help="Files of hand histories, or folders of them: PHH, PokerStars, logs of the ACPC, responses of "
            "Slumbot. - reads standard input.",
        ),
    ]
    hero: Annotated[str, typer.Option(metavar="NAME", help="The player to review.")]
    against: Annotated[
        str,
        typer.Option(
            metavar="equilibrium|FILE",
            help="The strategies to compare with: equilibrium, computed here; a solved spot (.npz) or a "
            "spot (.toml), for hands on its board; or a preflop strategy that 'fit' or 'solve' wrote (.npz).",
        ),
    ] = EQUILIBRIUM
    seat: Annotated[
        int | None,
        typer.Option(
            metavar="0|1",
            parser=read_seat,
            help="Review only hands in this seat: 0 is the small blind, or out of position in a spot. With a file that "
            "'fit' wrote, give the seat that you passed to 'fit'.",
        ),
    ] = None


@dataclass(frozen=True)
class _Scope:
    """The streets and rivers that ``equilibrium`` covers."""

    streets: Annotated[
        Any,
        typer.Option(
            metavar="S,…", parser=_streets, help="With equilibrium, the streets to review: preflop, river, or both."
        ),
    ] = "preflop,river"
    spots: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=whole,
            help="With equilibrium, solve at most N rivers, which takes about a second each; by default 20.",
        ),
    ] = 20
    oop: Annotated[
        str | None,
        typer.Option(metavar="RANGE", help="The range out of position on rivers, and for --spot."),
    ] = None
    ip: Annotated[
        str | None,
        typer.Option(metavar="RANGE", help="The range in position on rivers, and for --spot."),
    ] = None
    bets: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help="Bet sizes on rivers, and for --spot, such as '50%, 100%, a'; by default half of the pot, the pot, "
            "all-in, and the sizes of the hand.",
        ),
    ] = None
    spot: Annotated[
        str | None,
        typer.Option(
            metavar="HAND:STREET",
            help="Instead of a review, print the spot of a hand at a street, as a file for 'solve': for example, "
            "12:river for the river of the twelfth hand.",
        ),
    ] = None


@dataclass(frozen=True)
class _Logs:
    """The stacks and blinds of logs that do not state them, and how to treat unreadable hands."""

    stack: Annotated[
        int, typer.Option(metavar="N", parser=chips_of, help="Stacks in logs of the ACPC; 20,000 by default.")
    ] = 20_000
    blinds: Annotated[
        Any, typer.Option(metavar="S/B", parser=blinds_of, help="Blinds in logs of the ACPC; 50/100 by default.")
    ] = "50/100"
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip and count unreadable hands instead of stopping at the first one.")
    ] = False


@dataclass(frozen=True)
class _Shown:
    """The length of the tables, and the output files."""

    top: Annotated[int, typer.Option(metavar="N", parser=whole, help="Number of decisions and habits to list.")] = 10
    confidence: Annotated[
        float,
        typer.Option(
            metavar="C",
            parser=reader(float, "a number between 0 and 1, such as 0.95", above=0, maximum=1),
            help="Confidence of the intervals of totals, and of those of all habits together.",
        ),
    ] = 0.95
    csv: Annotated[str | None, typer.Option(metavar="FILE", help="Write all decisions to FILE (.csv).")] = None
    html: HtmlOption = None
    json: JsonOption = None


def review(played: _Hands, *, scope: _Scope, logs: _Logs, time_limit: TimeOption = None, shown: _Shown) -> int:
    """Review the decisions of a player: what they cost, and the costliest habits.

    A decision's loss is the EV of the best action minus the EV of the action that was taken, against the other player's
    strategy in the solved game. A habit is how often an action is taken in a class of situations. It costs what it
    loses against that strategy, or what an opponent who knows it gains, whichever is more.
    """
    check_files(
        {f"HANDS {number}": one for number, one in enumerate(played.hands, 1)}, csv=shown.csv, html=shown.html,
        json=shown.json,
    )  # fmt: skip
    if shown.csv is not None and Path(shown.csv).suffix.lower() != ".csv":
        raise CommandLineError(f"--csv {shown.csv}: expected a file name that ends with .csv")
    record = Record(
        shown.json, KEYS, files=played.hands, hero=played.hero, against=played.against, seat=played.seat,
        streets=list(scope.streets) if played.against == EQUILIBRIUM else None, confidence=shown.confidence,
    )  # fmt: skip
    _check_spots(scope)
    if scope.spot is not None:
        return _print_spot(played, scope, logs)
    with record.interruptible(time_limit):
        with deferring_interrupts():
            from ..models.review import review as reviewed
            from ..models.review.solved_games import UNKNOWN
        end = math.inf if time_limit is None else now() + _PART * time_limit
        with waiting("reviewing", shown=record.shown) as tell:
            games = _Games(played, scope, tell, end)
            hands = _reader(played.hands, logs, lambda lines, _: tell(f"{lines:,} lines read"))
            met = expecting(hands, played.hands[0], played.hero)
            found = reviewed(met, played.hero, games.of_hand, confidence=shown.confidence, where=hands.place)
    for reason, number in games.left_out.items():
        found.left_out[reason] = found.left_out.get(reason, 0) + number
    if not found.decisions:
        raise CommandLineError(f"no decision of {played.hero} was reviewed; left out: {_reasons(found.left_out)}")
    if Path(played.against).suffix == ".npz" and played.seat is None and (found.gap or 0.0) > _GAP:
        print_note(
            f"the strategies of {played.against} are not an equilibrium: best responses gain {found.gap:.1f} BB/100; "
            "if fit wrote the file, pass the seat that you passed to fit as --seat"
        )
    hidden = found.left_out.get(UNKNOWN, 0)
    if hidden:
        print_note(
            f"the cards of {played.hero} are unknown in {hidden:,} hands; if only some hands are shown, the others are "
            "not a fair sample, and frequencies and totals are wrong"
        )
    skipped = [asdict(bad) for bad in hands.bad]
    return Outputs(record).deliver(
        ExitStatus.SUCCESS,
        lambda: print_sheet(review_sheet(record)),
        lambda: {**_plain(found, shown.top), "skipped": skipped, "status": "reviewed"},
        Output("decisions", "--csv", shown.csv, lambda path: write_file(path, _csv(found), "--csv"), answers=True),
        page(shown.html, lambda: pages().reviewed(record, review_sheet(record))),
    )


def _check_spots(scope: _Scope) -> None:
    """Raise an error if ranges or bet sizes cannot be read, before reading any hand."""
    from ..models.games.holdem.bets import Betting
    from ..models.games.holdem.cards import Range
    from ..seqform.errors import InvalidGameError

    for option, text, parse in (
        ("--oop", scope.oop, Range.parse),
        ("--ip", scope.ip, Range.parse),
        ("--bets", scope.bets, Betting),
    ):
        try:
            if text is not None:
                parse(text)
        except InvalidGameError as error:
            raise CommandLineError(f"{option}: {error}") from None


def _reader(
    paths: list[str], logs: _Logs, progress: Callable[[int, float | None], None] | None = None
) -> "HandHistories":
    from ..models.matches import HandHistories, Table

    source: Any = sys.stdin.buffer if paths == [STANDARD_OUTPUT] else paths
    table = Table(2, max(logs.stack, logs.blinds[1]), *logs.blinds)
    return HandHistories(source, skip_bad=logs.skip_bad, progress=progress, table=table)


class _Games:
    """The solved games of each hand."""

    def __init__(
        self, played: _Hands, scope: _Scope, tell: Callable[[str], None] = lambda what: None, end: float = math.inf
    ) -> None:
        self.played, self.scope, self.tell, self.end = played, scope, tell, end
        self.left_out: dict[str, int] = {}
        self._preflop: dict[float | Fraction, ReviewedGame] = {}
        self._rivers: dict[str, ReviewedGame] = {}
        self._fixed = None if played.against == EQUILIBRIUM else self._file(played.against)

    def of_hand(self, hand: "Hand") -> "Iterator[ReviewedGame]":
        """Yield the solved games of a hand."""
        if self._fixed is not None:
            yield self._fixed
            return
        needed = "preflop" in self.scope.streets or None in (self.scope.oop, self.scope.ip)
        solved = self.preflop(hand) if needed else None
        if solved is not None and "preflop" in self.scope.streets:
            yield self._reviewed(solved)
        if "river" in self.scope.streets and hand.history and hand.history[-1][0] == _RIVER:
            river = self._river(hand, solved)
            if river is not None:
                yield river

    def preflop(self, hand: "Hand") -> "SolvedPreflop | None":
        """Return the solved preflop game for the stacks of a hand, or the one of the file."""
        if hand.seats != 2 or not hand.big_blind:
            self._leave("more than two players before the flop" if hand.seats != 2 else "other blinds")
            return None
        stack = float(min(hand.stacks) / hand.big_blind)
        nearest_one = min(_STACKS, key=lambda one: abs(stack - one) / one)
        if abs(stack - nearest_one) > 0.25 * nearest_one:
            self._leave(f"stacks far from {_STACKS[0]} to {_STACKS[-1]} big blinds")
            return None
        return _solved_preflop(nearest_one, self.tell)

    @property
    def _river_seat(self) -> int | None:
        """The seat on rivers: the small blind, seat 0 before the flop, is in position."""
        return None if self.played.seat is None else 1 - self.played.seat

    def _leave(self, reason: str) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + 1

    def _reviewed(self, solved: "SolvedPreflop") -> "ReviewedGame":
        from ..models.review import ReviewedPreflop

        stack = solved.rules.stack
        if stack not in self._preflop:
            self._preflop[stack] = ReviewedPreflop(solved, seat=self.played.seat)
        return self._preflop[stack]

    def _river(self, hand: "Hand", solved: "SolvedPreflop | None") -> "ReviewedGame | None":
        """Return the solved river of a hand; hands on the same river share it."""
        from ..models.review import ReviewedSpot

        try:
            spot = _spot(hand, "river", self.scope, solved)
        except (PlayLogError, InvalidGameError) as error:
            self._leave(f"rivers: {error}")
            return None
        key = spot.to_toml()
        if key not in self._rivers:
            if len(self._rivers) >= self.scope.spots:
                self._leave(f"rivers beyond the first {self.scope.spots} (--spots)")
                return None
            if now() >= self.end:
                self._leave("rivers not solved within the time limit")
                return None
            self.tell(f"river {len(self._rivers) + 1} of at most {self.scope.spots}")
            name = f"river {len(self._rivers) + 1}, {spot.board}"
            self._rivers[key] = ReviewedSpot(
                _solved_spot(spot), name, self._river_seat, assumed="the ranges on the river"
            )
        return self._rivers[key]

    def _file(self, name: str) -> "ReviewedGame":
        """Return the game of a file: a spot, solved or not, or a preflop strategy."""
        from ..models.games.holdem import HoldemSpot, SolvedSpot
        from ..models.games.holdem.preflop_solved import SolvedPreflop
        from ..models.review import ReviewedPreflop, ReviewedSpot

        suffix = Path(name).suffix.lower()
        if suffix not in (".toml", ".npz"):
            hint = nearest(name, [EQUILIBRIUM])
            raise CommandLineError(
                f"--against {quoted(name, 60)}{hint}: expected equilibrium, a spot (.toml), a solved spot or a "
                "preflop strategy (.npz)"
            )
        if not Path(name).exists():
            from ..seqform.interchange.files import absence

            raise CommandLineError(f"--against {name}: {absence(name)}")
        self.tell(name)
        with doing(f"{name} was read"):
            if suffix == ".toml":
                return ReviewedSpot(_solved_spot(HoldemSpot.from_file(name)), name, seat=self.played.seat)
            if SolvedSpot.recognises(name):
                return ReviewedSpot(SolvedSpot.load(name), name, seat=self.played.seat)
            rules, profile = _preflop_file(name)
            return ReviewedPreflop(SolvedPreflop(rules, profile), name, seat=self.played.seat)


def _preflop_file(name: str) -> tuple[Any, Any]:
    """Return the rules and the profile of a preflop strategy's file."""
    from ..models.games import load_game
    from ..models.games.holdem import Preflop
    from ..seqform.strategy import Profile
    from .strategies import game_of_file

    spec = game_of_file(name, None)
    game = load_game(spec)
    if game.name != "preflop":
        raise CommandLineError(f"--against {name}: its game is {spec}, expected a spot or preflop:stack=…")
    return Preflop(**game.parameters), Profile.load(name, game)


#: The preflop games that were solved, by stack.
_known_preflop: "dict[int, SolvedPreflop]" = {}


def _solved_preflop(stack: int, tell: Callable[[str], None]) -> "SolvedPreflop":
    """Return an equilibrium of the preflop game with a stack in big blinds."""
    from ..models.games.holdem import Preflop
    from ..models.games.holdem.preflop_solved import SolvedPreflop
    from ..models.problems import Nash
    from ..solvers.methods import DCFR
    from ..solvers.solve import solve_part

    if stack not in _known_preflop:
        rules = Preflop(stack=stack, continuations=1)
        tell(f"an equilibrium of {rules.game.spec}")
        solution = solve_part(Nash(rules.game), DCFR(), tol=_PREFLOP)
        _known_preflop[stack] = SolvedPreflop(rules, solution.profile)
    return _known_preflop[stack]


def _solved_spot(spot: "HoldemSpot") -> "SolvedSpot":
    """Solve a spot."""
    from ..models.games.holdem import SolvedSpot
    from ..models.problems import EpsilonNash, Nash
    from ..solvers.methods import DCFR
    from ..solvers.solve import solve_part

    problem = (EpsilonNash if spot.rake else Nash)(spot.game)
    return SolvedSpot(spot, solve_part(problem, DCFR(precision="auto"), tol=_SPOT * spot.pot).profile)


def _spot(hand: "Hand", street: str, scope: _Scope, solved: "SolvedPreflop | None") -> "HoldemSpot":
    """Return the spot at a street of a hand, with the ranges given or those after the preflop line."""
    from ..models.review import ranges_after_preflop, spot_of_hand

    ranges: tuple[Any, Any] = (scope.oop, scope.ip)
    if None in ranges:
        if solved is None:
            raise PlayLogError("no preflop game has these players and stacks; --oop and --ip give the ranges")
        known = ranges_after_preflop(hand, solved)
        ranges = tuple(mine or theirs for mine, theirs in zip(ranges, known, strict=True))  # type: ignore[assignment]
    return spot_of_hand(hand, street, ranges, scope.bets)


def _print_spot(played: _Hands, scope: _Scope, logs: _Logs) -> int:
    """Print the spot at a street of a hand as a file."""
    from ..models.review import ReviewedPreflop

    text, _, street = str(scope.spot).partition(":")
    streets = ("flop", "turn", "river")
    if not text.strip().isdigit() or street.strip().lower() not in streets:
        raise CommandLineError(
            f"--spot {quoted(str(scope.spot), 60)}{nearest(street.strip().lower(), streets)}: expected the number of "
            "a hand and flop, turn or river, such as 12:river"
        )
    wanted, street = int(text), street.strip().lower()
    hands = _reader(played.hands, logs)
    hand = next((one for number, one in enumerate(hands, 1) if number == wanted), None)
    if hand is None:
        raise CommandLineError(f"--spot {scope.spot}: expected a hand from 1 to {hands.num_hands:,}")
    games = _Games(played, scope)
    solved: SolvedPreflop | None = None
    if None in (scope.oop, scope.ip):
        fixed = games._fixed
        solved = fixed.solved if isinstance(fixed, ReviewedPreflop) else games.preflop(hand)
    try:
        spot = _spot(hand, street, scope, solved)
    except (PlayLogError, InvalidGameError) as error:
        raise CommandLineError(f"--spot {scope.spot}: {error}") from None
    names = " and ".join(hand.players)
    print(f"# The {street} of hand {wanted} of {names}, {hands.place(hand)}.\n{spot.to_toml()}", end="")  # noqa: T201
    return ExitStatus.SUCCESS


def _plain(found: "Review", top: int) -> dict[str, Any]:
    """Return a review as JSON."""
    times = Counter(one.same for one in found.decisions)
    return {
        "read": found.read,
        "hands": found.hands,
        "games": found.games,
        "decisions": len(found.decisions),
        "mapped": sum(one.mapped for one in found.decisions),
        "lost": asdict(found.lost),
        "gap": found.gap,
        "result": None if found.result is None else asdict(found.result),
        "adjusted": None if found.adjusted is None else asdict(found.adjusted),
        "habits": [asdict(one) | {"cost": one.cost} for one in found.habits[:top]],
        "costliest": [asdict(one) | {"times": times[one.same]} for one in found.costliest(top)],
        "left_out": found.left_out,
    }


def _csv(found: "Review") -> str:
    from ..seqform.interchange.files import csv_text

    rows = [asdict(one) | {"usual": one.usual.get(one.kind, 0.0)} for one in found.decisions]
    return csv_text(tuple(rows[0]), rows)


def _reasons(left_out: dict[str, int]) -> str:
    return ", ".join(f"{count(number)} {reason}" for reason, number in left_out.items()) or "nothing"


def _interval(found: dict[str, float | None]) -> str:
    """Format a rate with its interval."""
    mean = f"{_rate(found['mean'] or 0.0)} BB/100"
    if found["lower"] is None or found["upper"] is None:
        return mean
    return f"{mean} in [{_rate(found['lower'])}, {_rate(found['upper'])}]"


def review_sheet(record: dict[str, Any]) -> Sheet:
    """Return the totals of a review, the habits and the costliest decisions."""
    skipped = [f"{count(bad['count'])} {bad['kind']}, first {bad['message']}" for bad in record["skipped"] or ()]
    left_out = [f"{count(number)} {reason}" for reason, number in (record["left_out"] or {}).items()]
    near, gap = record["against"] == EQUILIBRIUM, record["gap"]
    judged = "equilibria computed here: " + ", ".join(record["games"]) if near else record["against"]
    proven = not near and gap is not None and not any(record["games"].values()) and gap < record["lost"]["mean"]
    others = "against an opponent who plays as in the file"
    proof = f"all but {_rate(gap)} BB/100 of it, as a loss of the value of the game {others}" if proven else None
    is_spot = not near and any(one["board"] for one in record["costliest"] or ())
    reach = ", if the spot is reached with its range" if is_spot else ""
    mapped = f", {count(record['mapped'])} of them with the nearest size of the game" if record["mapped"] else ""
    return Sheet(
        [
            Row("hero", record["hero"], meaning=f", {counted(record['hands'], 'hand')} of {count(record['read'])}"),
            Row("against", judged),
            Row("decisions", record["decisions"], count, mapped),
            Row("lost", record["lost"], _interval, f", confidence {setting(record['confidence'])}"),
            Row("gap", proof, label="proven"),
            Row("result", record["result"], _interval, ", as played"),
            Row("adjusted", record["adjusted"], _interval, f", without the luck of the deal{reach}", "without luck"),
            Row("left_out", left_out, several(str)),
            Row("skipped", skipped, "; ".join),
            Row("seconds", seconds_text()),
        ],
        [
            Table.of(record["habits"] or (), _HABITS, "costliest habits, in BB/100"),
            Table.of(record["costliest"] or (), _DECISIONS, "costliest decisions, in big blinds"),
        ],
    )
