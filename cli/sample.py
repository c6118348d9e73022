"""``treeplex sample``: sampling methods for games that are too large to enumerate."""

import inspect
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.limits import answering, timed
from ..seqform.sheet import Row, Sheet, count, error, estimate, listed, setting, several
from .errors import CommandLineError, ExitStatus, deferring_interrupts
from .files import STANDARD_OUTPUT, Record, check_files
from .options import (
    METHOD,
    Checkpointing,
    GameArgument,
    HtmlOption,
    IterationsOption,
    JsonOption,
    choice_of,
    choose_method,
    declared,
    method_options,
    seconds,
    tolerance,
    whole,
)
from .outputs import Output, Outputs, page, pages
from .progress import filling, waiting
from .tables import print_sheet, seconds_text

if TYPE_CHECKING:
    from ..seqform.game import Game
    from ..solvers.checkpoint import Checkpoint
    from ..solvers.methods import MCCFR
    from ..solvers.sampling.streamed import StreamedMCCFR, StreamedRun

#: Confidence level of the intervals of payoffs and gains.
_CONFIDENCE = 0.95
_KEYS = (
    *("game", "parameters", "stopped", "message", "iterations", "touched", "infosets", "memory", "seconds", "time"),
    *("payoffs", "gains", "regret_estimates", "constraints"),
)


def _options() -> list[inspect.Parameter]:
    from ..solvers.methods import sampling_methods

    names = sampling_methods()
    text = (
        f"The method: {', '.join(names)}. es-mccfr follows all actions of one player in each sample; os-mccfr follows "
        "a single action, for games with many decisions in a row; es-pref-cfr favours preferred actions; es-ccfr and "
        "os-ccfr apply constraints."
    )
    return [choice_of("method", "es-mccfr", text), *method_options(names)]


@dataclass(frozen=True)
class Limiting:
    """The constraints on strategies, and the largest multiplier of a violation."""

    constrain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TERM<=BOUND",
            help="A constraint on a player's strategy, for es-ccfr and os-ccfr; may be repeated. TERM is "
            "SEAT/INFOSET:ACTION, plan(SEAT/INFOSET:ACTION), reach(SEAT/INFOSET), [SEAT/]ACTION@first, "
            "ACTION@all or ACTION@INFOSET.",
        ),
    ] = None
    penalty: Annotated[
        float | None,
        typer.Option(
            metavar="B",
            parser=tolerance,
            help="The largest price per unit of violation, in payoff units; by default unbounded.",
        ),
    ] = None

    @property
    def limits(self) -> dict[str, Any]:
        """The limits in the form that samplers take."""
        return {"constraints": self.constrain or (), "penalty": self.penalty}


@dataclass(frozen=True)
class Storing:
    """The files of the strategies and of the infosets."""

    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the average strategies to FILE as JSON Lines, one infoset per line."),
    ] = None
    folder: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Keep infosets in memory-mapped files in DIR instead of memory, and continue the run in DIR if there "
            "is one; for es-mccfr and os-mccfr.",
        ),
    ] = None


@dataclass(frozen=True)
class Estimating:
    """The estimates computed from the strategies afterwards."""

    games: Annotated[
        int | None,
        typer.Option(metavar="N", parser=whole, help="Play N games afterwards to estimate the payoffs."),
    ] = None
    respond: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            parser=seconds,
            help="Learn a response of each player for S seconds; on average its gain is a lower bound on the "
            "player's possible gain.",
        ),
    ] = None


@declared(_options)
def sample(
    game: GameArgument,
    method: Annotated[str, METHOD] = "es-mccfr",
    max_iterations: IterationsOption = None,
    time_limit: Annotated[float | None, typer.Option(metavar="S", parser=seconds, help="Stop after S seconds.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="S", parser=whole, help="Random seed; by default 0.")] = None,
    *,
    storing: Storing,
    estimating: Estimating,
    limiting: Limiting,
    checkpointing: Checkpointing,
    html: HtmlOption = None,
    json: JsonOption = None,
    **options: Any,
) -> int:
    """Run a sampling method on a game that is too large to enumerate.

    An infoset uses memory only after a sample first reaches it. Nothing is proven about the strategies. Payoffs are
    estimated by playing games. The gain of a learned response is estimated too, and the best response gains at least as
    much. After Ctrl-C the latest strategies are kept.
    """
    out = storing.out
    if out == STANDARD_OUTPUT:
        raise CommandLineError("--out: strategies cannot be written to standard output; give a file name")
    check_files({"GAME": game}, out=out, json=json, html=html, **checkpointing.files)
    if max_iterations is None and time_limit is None:
        raise CommandLineError("a run without --max-iterations or --time-limit never ends; give one of them")
    record = Record(json, _KEYS, game=game, method=method, seed=seed or 0, confidence=_CONFIDENCE)
    shown, games, respond = record.shown, estimating.games, estimating.respond
    with record.interruptible(stopped="interrupted"):
        with deferring_interrupts():
            from ..solvers.sampling.streamed import StreamedMCCFR
            from ..solvers.sampling.streamed_play import streamed_gain, streamed_payoffs

        chosen = _method(method, options)
        loaded = record.load(game)
        sampler = StreamedMCCFR(loaded, chosen, **limiting.limits, seed=seed, folder=storing.folder)
        with timed("solving"):
            run = _run(sampler, loaded, max_iterations, time_limit, shown, checkpointing.read())
    interrupted, profile = run.stopped == "interrupted", sampler.profile
    outputs = Outputs(record)
    if not interrupted and games:
        with waiting(f"playing {games:,} games", shown=shown), answering("payoffs"):
            record["payoffs"] = outputs.ask(
                "payoffs of the strategies",
                lambda: [vars(each) for each in streamed_payoffs(loaded, profile, max(games, 2))],
                None,
            )
    for player in range(sampler.num_players) if not interrupted and respond is not None else ():
        with waiting(f"a response of player {player}", shown=shown), answering("responses"):
            gain = outputs.ask(
                f"a response of player {player}",
                partial(
                    streamed_gain, loaded, profile, player, seconds=respond, games=max(games or 10_000, 2), seed=1,
                    sampling=chosen.sampling_rule(loaded.num_players).sampling,
                ),
            )  # fmt: skip
            if gain is not None:
                record["gains"] = [*(record["gains"] or ()), vars(gain.gain)]

    def found() -> dict[str, Any]:
        return {
            "stopped": run.stopped,
            "message": run.message,
            "iterations": run.iterations,
            "touched": run.touched,
            "infosets": list(sampler.infosets),
            "memory": sampler.memory,
            "seconds": run.seconds,
            "regret_estimates": _regrets(sampler),
            "unmatched": [str(preference) for preference in sampler.unmatched],
            "constraints": [vars(each) for each in sampler.constraints],
        }

    return outputs.deliver(
        ExitStatus.INTERRUPTED if interrupted else ExitStatus.SUCCESS,
        lambda: print_sheet(sample_sheet(record)),
        found,
        Output("strategies", "--out", out, lambda path: profile.save(path, loaded.spec), answers=True),
        page(html, lambda: pages().sampled(loaded, record, sample_sheet(record))),
    )


def _method(text: str, options: dict[str, Any]) -> "MCCFR":
    """Return a sampling method with its options."""
    from ..solvers.methods import OutcomeSamplingMCCFR, sampling_methods

    method: Any = choose_method(text, options, sampling_methods(), "sample")
    if isinstance(method, OutcomeSamplingMCCFR) and "baselines" not in text and options["baselines"] is None:
        method = replace(method, baselines="infoset")  # following every history takes the whole game
    return method  # type: ignore[no-any-return]


def _run(
    sampler: "StreamedMCCFR",
    game: "Game",
    iterations: int | None,
    time_limit: float | None,
    shown: bool,
    checkpoint: "Checkpoint | None",
) -> "StreamedRun":
    with filling(f"{sampler.method.name} on {game.spec}", "iterations", shown=shown) as progress:

        def update(run: "StreamedRun") -> None:
            assert progress is not None
            parts = [
                run.iterations / iterations if iterations else 0.0,
                run.seconds / time_limit if time_limit else 0.0,
            ]
            progress(run.iterations, min(1.0, max(parts)))

        told = None if progress is None else update
        return sampler.run(iterations, seconds=time_limit, progress=told, checkpoint=checkpoint)


def _regrets(sampler: "StreamedMCCFR") -> list[float | None]:
    """Return estimates of regrets; ``None`` for one that exceeds the range of payoffs, or before any walk."""
    return [
        estimate if sampler.iterations and estimate <= high - low else None
        for estimate, (low, high) in zip(sampler.regret_estimates(), sampler.payoff_ranges, strict=True)
    ]


def _constraint_row(found: dict[str, Any]) -> Row:
    """Return the row of a constraint."""
    label = f"constraint {found['name']}"
    if found["value"] is None:
        return Row("constraints", "names an infoset that no walk has reached", label=label)
    missed = max(0.0, found["value"])
    how = ", estimated" if found["is_estimate"] else ""
    return Row("constraints", missed, error, f" violation{how}; multiplier {found['multiplier']:.4g}", label)


def sample_sheet(record: dict[str, Any]) -> Sheet:
    """Return the progress of the run and the estimates as rows."""
    from ..seqform.memory import in_words

    known = ["unknown" if one is None else error(one) for one in record["regret_estimates"]]
    doubt = "; unknown where there are too few samples" if "unknown" in known else ""
    sure = f"about {setting(record['confidence'])}"
    estimates = [
        Row(name, found, estimate, label=f"{heading} {player}")
        for name, heading in (("payoffs", "payoff of player"), ("gains", "gain of a response by player"))
        for player, found in enumerate(record[name] or ())
    ]
    return Sheet(
        [
            Row("game", record["game"]),
            Row("method", record["method"]),
            Row("stopped", record["message"]),
            Row("iterations", record["iterations"], count),
            Row("touched", record["touched"], count, " histories"),
            Row("infosets", record["infosets"], listed, f", about {in_words(record['memory'])}"),
            Row("seconds", seconds_text()),
            *(
                Row("unmatched", "matches no infoset that walks have reached", label=f"preference {preference}")
                for preference in record["unmatched"]
            ),
            *(_constraint_row(each) for each in record["constraints"]),
            *estimates,
            Row("confidence", sure if estimates else None, meaning=" for each interval, if there are many games"),
            Row("regret_estimates", known, several(str), doubt, "regret, estimated"),
        ]
    )
