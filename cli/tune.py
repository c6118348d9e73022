"""``treeplex tune``: improves the numbers of a threshold automaton by matches of no-limit hold'em."""

import contextlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.limits import now
from ..seqform.sheet import Column, Row, Sheet, Table, count, counted, seconds, setting, several
from ..seqform.standard_error import StandardError
from .errors import CommandLineError, ExitStatus, deferring_interrupts, print_interrupted
from .files import STANDARD_OUTPUT, Record, check_files
from .match import DrawsOption, Seating, described
from .options import Checkpointing, JsonOption, reader
from .outputs import Output, Outputs
from .progress import filling, waiting
from .tables import print_sheet

if TYPE_CHECKING:
    from ..models.matches import Table as HoldemTable
    from ..models.opponents import ThresholdBot
    from ..solvers.opponents.tuning import Improvement, Tuned, TuningStep

#: Confidence level of the interval, and the ratio of hands in the final check to hands in one comparison.
_CONFIDENCE, _CHECKED = 0.95, 4
_KEYS = (
    *("bot", "opponents", "table", "samples", "rounds", "steps", "matches", "hands", "seed", "tried", "taken"),
    *("of_rounds", "numbers", "mbb_per_hand", "confidence_interval", "confidence", "checked_hands", "out"),
    *("interrupted", "seconds"),
)
_count = reader(int, "a whole number of at least 1, such as 3", minimum=1, maximum=2**31, large=True)
_matches = reader(int, "a whole number of at least 3, such as 5", minimum=3, maximum=2**31, large=True)
_hands = reader(int, "a whole number of at least 4, such as 1000", minimum=4, maximum=2**31, large=True)
_samples = reader(int, "a whole number from 1 to 1,000,000, such as 10000", minimum=1, maximum=10**6, large=True)


def tune(
    bot: Annotated[
        str,
        typer.Argument(metavar="BOT", help="The bot to start from: threshold, or a bot file (.toml)."),
    ] = "threshold",
    opponent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BOT",
            help="The bot to beat, as in 'treeplex match'; several opponents play the same deals. By default, the "
            "bot as it was at the start of each round.",
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option(metavar="N", parser=_count, help="Number of rounds; each tunes every number of the bot.")
    ] = 1,
    steps: Annotated[
        int, typer.Option(metavar="N", parser=_count, help="How many values to try for each number in each round.")
    ] = 6,
    matches: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=_matches,
            help="How many matches evaluate a value; the best and the worst are dropped.",
        ),
    ] = 5,
    hands: Annotated[
        int,
        typer.Option(metavar="N", parser=_hands, help="Hands per match; every deal is played in both seats."),
    ] = 1_000,
    samples: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=_samples,
            help="Number of hands and boards to sample on the flop and turn; by default the bot's number, or 10,000.",
        ),
    ] = None,
    seed: DrawsOption = None,
    *,
    seating: Seating,
    checkpointing: Checkpointing,
    out: Annotated[
        str | None, typer.Option(metavar="FILE.toml", help="Write the tuned bot to FILE, as a bot file.")
    ] = None,
    json: JsonOption = None,
) -> int:
    """Tune a threshold automaton for no-limit hold'em by playing matches.

    Simulated annealing searches one number at a time, as in T. Chen's report (2020). At the end the tuned bot plays
    deals that the search has not used, and the gain over the original bot is reported with a confidence interval;
    nothing is proven. After Ctrl-C the best bot so far is the result; after a second Ctrl-C, the bot from before the
    round.
    """
    if out == STANDARD_OUTPUT or (out is not None and not out.lower().endswith(".toml")):
        raise CommandLineError(f"--out {out}: expected a file name that ends with .toml")
    table = seating.table()
    check_files({"BOT": bot}, out=out, json=json, **checkpointing.files)
    kept = checkpointing.read()
    with deferring_interrupts():
        from ..solvers.opponents.tuning import Annealing, AtTable, MatchJudge, improvement
        from ..solvers.opponents.tuning import tune as search

    begun = now()
    opponents, seed = tuple(opponent or ()), int(seed or 0)
    record = Record(
        json, _KEYS, bot=bot, opponents=list(opponents) or ["itself"], table=described(table), rounds=rounds,
        steps=steps, matches=matches, hands=hands, seed=seed, confidence=_CONFIDENCE, out=out, interrupted=True,
    )  # fmt: skip
    with record.interruptible(interrupted=True), contextlib.redirect_stdout(StandardError()):
        start = _start(bot, table)
        record["samples"] = samples or start.samples
        play = AtTable(table, opponents, record["samples"])
        judge = MatchJudge(play, matches, -(-hands // 2), jobs=seating.jobs)
        settings = Annealing(rounds=rounds, steps=steps)
        of_all = rounds * steps * len(start.automaton.numbers)
        with filling(f"tuning {bot}", f"of {of_all:,} values", shown=record.shown) as update:

            def tell(step: "TuningStep") -> None:
                if update is not None:
                    update(step.before + 1, (step.before + 1) / of_all)

            found = search(judge, start.automaton, settings, seed=seed, on_step=tell, checkpoint=kept)
    if found.interrupted:
        print_interrupted()
    outputs, rise, deals = Outputs(record), None, _CHECKED * matches * judge.deals
    if not found.interrupted:

        def gained() -> "Improvement":
            with (
                waiting(f"{2 * deals:,} hands that the search has not seen", shown=record.shown),
                contextlib.redirect_stdout(StandardError()),
            ):
                return improvement(play, found.automaton, found.start, deals, (seed, 4), _CONFIDENCE)

        rise = outputs.ask("the gain", gained)
    if rise is not None:
        record["checked_hands"] = 2 * deals
    made = type(start)(found.automaton, record["samples"])
    return outputs.deliver(
        ExitStatus.INTERRUPTED if found.interrupted else ExitStatus.SUCCESS,
        lambda: print_sheet(tuned_sheet(record)),
        lambda: _found(found, rise) | {"seconds": now() - begun},
        Output("bot", "--out", out, made.to_toml, answers=True),
    )


def _start(bot: str, table: "HoldemTable") -> "ThresholdBot":
    """Return the automaton to start from."""
    from ..models.opponents import ThresholdBot
    from ..solvers.matches.bots import declared_bot

    declared = declared_bot(bot)
    if declared.name != "threshold":
        raise CommandLineError(
            f"BOT is {bot}, expected a threshold automaton: threshold, or a bot file with [[rounds]]"
        )
    made = declared.bot(table)
    assert isinstance(made, ThresholdBot)
    return made


def _found(found: "Tuned", rise: "Improvement | None") -> dict[str, Any]:
    """Return the results of tuning, for the JSON."""
    checked = {} if rise is None else {
        "mbb_per_hand": 1000.0 * rise.mean, "confidence_interval": [1000.0 * rise.lower, 1000.0 * rise.upper]
    }  # fmt: skip
    return checked | {
        "tried": len(found.steps),
        "taken": sum(one.taken for one in found.steps),
        "of_rounds": [
            {
                "mbb_per_hand": 1000.0 * one.gain.mean,
                "standard_error": 1000.0 * one.gain.error,
                "kept": one.kept,
            }
            for one in found.rounds
        ],
        "numbers": found.automaton.numbers.tolist(),
        "interrupted": found.interrupted,
    }


def tuned_sheet(record: dict[str, Any]) -> Sheet:
    """Return the results of tuning as rows."""
    ends = record["confidence_interval"]
    gain = None if ends is None else f"{record['mbb_per_hand']:+.1f} mBB/hand in [{ends[0]:+.1f}, {ends[1]:+.1f}]"
    of = "" if ends is None else f" over {record['bot']}, in {counted(record['checked_hands'], 'hand')} not seen before"
    signed = "{:+.1f}".format
    return Sheet(
        [
            Row("bot", record["bot"]),
            Row("opponents", record["opponents"], several(str)),
            Row("tried", record["tried"], count, f" values, {count(record['taken'])} taken"),
            Row("mbb_per_hand", gain, meaning=of, label="gain"),
            Row("confidence", record["confidence"] if ends else None, setting, " for the interval, by Student's t"),
            Row("seconds", record["seconds"], seconds),
        ],
        [
            Table(
                [
                    Column("round", count),
                    Column("gain", signed, "mBB/hand, by fresh seeds"),
                    Column("error", "{:.1f}".format, "standard error"),
                    Column("kept"),
                ],
                [
                    (number, one["mbb_per_hand"], one["standard_error"], "yes" if one["kept"] else "no")
                    for number, one in enumerate(record["of_rounds"], 1)
                ],
            )
        ],
    )
