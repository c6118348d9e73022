"""``treeplex match``: hands of no-limit hold'em between bots, and their winnings."""

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import TreeplexError
from ..seqform.parameter_texts import as_typed
from ..seqform.sheet import Row, Sheet, count, error, seconds, setting, several
from ..seqform.standard_error import StandardError
from .errors import CommandLineError, ExitStatus, deferring_interrupts, print_interrupted
from .files import STANDARD_OUTPUT, Record, check_files, writing
from .options import JsonOption, processes, reader, whole
from .outputs import Outputs
from .progress import filling, waiting
from .tables import print_sheet

if TYPE_CHECKING:
    from ..models.matches import Estimate, MatchResult, Played
    from ..models.matches import Table as HoldemTable

#: Confidence level of the intervals, and the number of forfeits listed.
_CONFIDENCE, _LISTED = 0.95, 1_000
_KEYS = (
    *("bots", "table", "hands", "deals", "duplicate", "seed", "mbb_per_hand", "confidence_interval"),
    *("guaranteed_interval", "confidence", "results", "forfeits", "forfeit_log", "variance", "out", "interrupted"),
    *("seconds", "hands_per_second"),
)
_hands = reader(int, "a whole number of at least 1, such as 1000", minimum=1, maximum=2**53, large=True)
chips_of = reader(int, "a whole number of chips, at least 1, such as 20000", minimum=1, maximum=2**53, large=True)
_seconds = reader(float, "a number of seconds above 0, such as 2", above=0)


def _bot(text: str) -> str:
    """Check the name and the parameters of a bot, before a missing option is reported."""
    with deferring_interrupts():
        from ..solvers.matches.bots import declared_bot

    try:
        declared_bot(text)
    except TreeplexError as error:
        raise CommandLineError(str(error)) from None  # typer would wrap a ValueError
    return text


def blinds_of(text: str) -> tuple[int, int]:
    """Read the small and the big blind."""
    parts = [part.strip() for part in text.split("/")]
    if len(parts) != 2 or not all(part.isdecimal() and len(part) < 10 and int(part) for part in parts):
        raise typer.BadParameter(f"{as_typed(text)}, expected two whole numbers of chips, at least 1, such as 50/100")
    small, big = map(int, parts)
    if small > big:
        raise typer.BadParameter(
            f"{as_typed(text)}, expected a small blind of at most the big blind, as in {big}/{small}"
        )
    return small, big


DrawsOption = Annotated[int | None, typer.Option(metavar="S", parser=whole, help="Random seed; 0 by default.")]


@dataclass(frozen=True)
class Seating:
    """The table at which bots play, and the number of processes."""

    stack: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=chips_of,
            help="Chips of each player at the start of every hand; by default 20,000, which is 200 big blinds of 100.",
        ),
    ] = 20_000
    blinds: Annotated[
        Any, typer.Option(metavar="S/B", parser=blinds_of, help="Small and big blind, in chips; 50/100 by default.")
    ] = "50/100"
    jobs: Annotated[
        int, typer.Option(metavar="N", parser=processes, help="Play in N processes, by default 1; -1 for one per core.")
    ] = 1

    def table(self, seats: int = 2) -> "HoldemTable":
        """Return the table.

        Raises
        ------
        CommandLineError
            If the stack is below the big blind.
        """
        if self.stack < self.blinds[1]:
            raise CommandLineError(f"--stack is {self.stack}, expected at least the big blind, {self.blinds[1]} chips")
        with deferring_interrupts():
            from ..models.matches import Table

        return Table(seats, self.stack, *self.blinds)


def described(table: "HoldemTable") -> dict[str, int]:
    """Return a table as JSON."""
    return {name: getattr(table, name) for name in ("seats", "stack", "small_blind", "big_blind")}


def match(
    bots: Annotated[
        list[str],
        typer.Argument(
            metavar="A B [C…]",
            parser=_bot,
            help="Two to six bots: call, fold, random, raise:pots=P, threshold, resolving, portfolio:BOT+BOT, "
            "defending, lbr, python:module=M,object=NAME, json:command=COMMAND, acpc:command=COMMAND, a bot from an "
            "extension, or a bot file (.toml).",
        ),
    ],
    hands: Annotated[
        int,
        typer.Option(metavar="N", parser=_hands, help="Number of hands; with --duplicate, including all rotations."),
    ],
    duplicate: Annotated[
        bool, typer.Option("--duplicate", help="Play every deal in all rotations of the bots, with the same cards.")
    ] = False,
    seed: DrawsOption = None,
    *,
    seating: Seating,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="S", parser=_seconds, help="A bot that takes more than S seconds forfeits the hand."),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the hands to FILE (.phhs) in PHH notation.")
    ] = None,
    json: JsonOption = None,
) -> int:
    """Play no-limit hold'em between bots.

    A bot that crashes, takes too long or acts illegally forfeits the hand, and the match continues. Results are in
    thousandths of a big blind per hand, with a confidence interval. After Ctrl-C, the hands played so far count.
    """
    if out == STANDARD_OUTPUT:
        raise CommandLineError("--out: hand histories cannot be written to standard output; give a file name")
    if not 2 <= len(bots) <= 6:
        count = "one bot is" if len(bots) == 1 else f"{len(bots)} bots are"
        raise CommandLineError(f"{count} given, expected 2 to 6, as in 'treeplex match call random'")
    table = seating.table(len(bots))
    check_files({}, out=out, json=json)
    with deferring_interrupts():
        from ..models.matches import PhhWriter
        from ..models.matches import match as play
        from ..solvers.matches.bots import find_bot

    record = Record(
        json, _KEYS, bots=bots, hands=0, deals=0, duplicate=duplicate, seed=seed or 0, confidence=_CONFIDENCE,
        table=described(table), out=out, interrupted=True,
    )  # fmt: skip
    with record.interruptible(interrupted=True), contextlib.ExitStack() as stack_of_files:
        with waiting("preparing the bots", shown=record.shown):
            playing = [find_bot(text, table) for text in bots]
        writer = None
        if out is not None:
            stack_of_files.enter_context(writing(out, "--out"))
            writer = stack_of_files.enter_context(PhhWriter(out, _names(bots)))
        update = stack_of_files.enter_context(filling(f"playing {' and '.join(bots)}", "hands", shown=record.shown))
        done = 0

        def tell(played: "Played") -> None:
            nonlocal done
            done += 1
            if writer is not None:
                writer.write(played)
            if update is not None and (done % 16 == 0 or done == hands):
                update(done, min(done / hands, 1.0))

        stack_of_files.enter_context(contextlib.redirect_stdout(StandardError()))  # where bots must not print
        found = play(
            playing, table, hands, duplicate, seed or 0, confidence=_CONFIDENCE, time_limit=time_limit,
            jobs=seating.jobs, each=tell,
        )  # fmt: skip
    if found.interrupted:
        print_interrupted()
    return Outputs(record).deliver(
        ExitStatus.INTERRUPTED if found.interrupted else ExitStatus.SUCCESS,
        lambda: _print(record, found),
        lambda: _found(found, bots),
    )


def _names(bots: list[str]) -> list[str]:
    """Return unique names of the bots for hand histories."""
    return [f"{bot} #{bots[:place].count(bot) + 1}" if bots.count(bot) > 1 else bot for place, bot in enumerate(bots)]


def _estimate(found: "Estimate") -> dict[str, Any]:
    ends = None if None in (found.lower, found.upper) else [found.lower, found.upper]
    return {"mbb_per_hand": found.mean, "confidence_interval": ends}


def _shown(found: dict[str, Any]) -> str:
    """Format an estimate with its interval."""
    ends, mean = found["confidence_interval"], found["mbb_per_hand"]
    interval = "" if ends is None else f" in [{ends[0]:+.1f}, {ends[1]:+.1f}]"
    return ("no hands" if mean is None else f"{mean:+.1f} mBB/hand") + interval


def _found(found: "MatchResult", bots: list[str]) -> dict[str, Any]:
    """Return the results of a match, for the JSON."""
    intervals = [_estimate(each)["confidence_interval"] for each in found.estimates]
    lost, failed = [0] * len(bots), [0] * len(bots)
    for each in found.forfeits:
        (lost if each.folded else failed)[each.bot] += 1
    variance, free = found.variance, found.luck_free_estimates
    return {
        "hands": found.hands,
        "deals": found.deals,
        "mbb_per_hand": found.mbb_per_hand,
        "confidence_interval": intervals[0],
        "guaranteed_interval": found.guaranteed_interval,
        "results": [
            {
                "bot": bot,
                "mbb_per_hand": each.mean,
                "confidence_interval": ends,
                "raw": _estimate(found.raw_estimates[number]),
                "luck_free": None if free is None else _estimate(free[number]),
                "forfeits": lost[number],
                "failures": failed[number],
            }
            for number, (bot, each, ends) in enumerate(zip(bots, found.estimates, intervals, strict=True))
        ],
        "forfeits": sum(lost),
        "forfeit_log": [vars(each) for each in found.forfeits[:_LISTED]],
        "variance": None if variance is None else vars(variance) | {"saved": variance.saved},
        "interrupted": found.interrupted,
        "seconds": found.seconds,
        "hands_per_second": found.hands / found.seconds if found.seconds > 0.0 else None,
    }


def _print(record: dict[str, Any], found: "MatchResult") -> None:
    each = f" ({count(found.deals)} deals in all rotations)" if found.duplicate else ""
    rows = [Row("hands", found.hands, count, each)]
    for name, result in zip(_names(record["bots"]), record["results"], strict=True):
        forfeits = f", {count(result['forfeits'])} forfeited" if result["forfeits"] else ""
        failures = f", failed at the end of {count(result['failures'])}" if result["failures"] else ""
        rows.append(Row("results", f"{_shown(result)}{forfeits}{failures}", label=name))
    for label, kind in (("first bot, raw", "raw"), ("first bot, luck-free", "luck_free")):
        if found.deals and record["results"][0][kind] is not None:
            rows.append(Row("results", _shown(record["results"][0][kind]), label=label))
    for label, folded in (("first forfeit", True), ("first failure", False)):
        first = next((each for each in found.forfeits if each.folded == folded), None)
        if first is not None:
            rows.append(Row("forfeit_log", f"{record['bots'][first.bot]}: {first.reason}", label=label))
    if found.variance is not None:
        saved = [
            f"{name.replace('_', '-')} {part:.0%}" for name, part in found.variance.saved.items() if part is not None
        ]
        rows += [
            Row("variance", found.variance.plain**0.5 / 1000, error, " big blinds per hand", "standard deviation"),
            Row("variance", saved, several(str), label="variance saved"),
            Row("confidence", found.confidence, setting, " for each interval, by the normal approximation"),
        ]
    rows += [Row("out", record["out"], label="hand histories"), Row("seconds", found.seconds, seconds)]
    print_sheet(Sheet(rows))
