"""``treeplex sample``: sampling methods for games that are too large to enumerate."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.limits import answering, now, timed
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
    processes,
    reader,
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
    *("payoffs", "gains", "local_best_response", "regret_estimates", "constraints", "runs"),
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
class Repeating:
    """The seed, and the number of independent runs."""

    seed: Annotated[int | None, typer.Option(metavar="S", parser=whole, help="Random seed; by default 0.")] = None
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=reader(int, "a whole number from 1 to 1000", minimum=1, maximum=1000),
            help="Do N independent runs, with the seeds S, S+1 and so on, and average their strategies. Each run has "
            "the limits that are given.",
        ),
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=processes,
            help="With --runs, the number of processes, by default 1; -1 for one per core.",
        ),
    ] = None

    def check(self, **others: Any) -> None:
        """Reject options that need a single run.

        Raises
        ------
        CommandLineError
            If one of them is given with several runs, or jobs without.
        """
        if self.runs is None and self.jobs is not None:
            raise CommandLineError("--jobs is the number of processes of --runs; give --runs N")
        given = next((name for name, value in others.items() if value), None)
        if self.runs is not None and given is not None:
            raise CommandLineError(f"--{given} is for a single run; leave out --runs or --{given}")


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
    local_best_response: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole,
            help="In a two-player zero-sum game, play N games with a local best response of each player, to estimate "
            "from below how exploitable the strategies are.",
        ),
    ] = None


@declared(_options)
def sample(
    game: GameArgument,
    method: Annotated[str, METHOD] = "es-mccfr",
    max_iterations: IterationsOption = None,
    time_limit: Annotated[float | None, typer.Option(metavar="S", parser=seconds, help="Stop after S seconds.")] = None,
    *,
    repeating: Repeating,
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
    repeating.check(folder=storing.folder, constrain=limiting.constrain, **checkpointing.files)
    if max_iterations is None and time_limit is None:
        raise CommandLineError("a run without --max-iterations or --time-limit never ends; give one of them")
    seed = repeating.seed or 0
    record = Record(json, _KEYS, game=game, method=method, seed=seed, confidence=_CONFIDENCE)
    shown, games, respond = record.shown, estimating.games, estimating.respond
    with record.interruptible(stopped="interrupted"):
        with deferring_interrupts():
            from ..solvers.sampling.streamed_play import streamed_gain, streamed_payoffs

        chosen = _method(method, options)
        loaded = record.load(game)
        if estimating.local_best_response and loaded.num_players != 2:
            raise CommandLineError(
                f"--local-best-response is for two-player games, but {loaded.spec} has {loaded.num_players} players"
            )
        stopped, profile, found = _sampled(
            loaded, chosen, (max_iterations, time_limit), repeating,
            limiting.limits | {"folder": storing.folder}, checkpointing, shown,
        )  # fmt: skip
    interrupted = stopped == "interrupted"
    outputs = Outputs(record)
    if not interrupted and games:
        with waiting(f"playing {games:,} games", shown=shown), answering("payoffs"):
            record["payoffs"] = outputs.ask(
                "payoffs of the strategies",
                lambda: [vars(each) for each in streamed_payoffs(loaded, profile, max(games, 2))],
                None,
            )
    for player in range(loaded.num_players) if not interrupted and respond is not None else ():
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
    if not interrupted and estimating.local_best_response:
        lbr_games = max(estimating.local_best_response, 2)
        with waiting("local best responses", shown=shown), answering("responses"):
            record["local_best_response"] = outputs.ask(
                "local best responses", lambda: _local_best_response(loaded, profile, lbr_games, seed), None
            )

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


def _sampled(
    game: "Game",
    method: "MCCFR",
    limits: tuple[int | None, float | None],
    repeating: Repeating,
    options: dict[str, Any],
    checkpointing: Checkpointing,
    shown: bool,
) -> tuple[str | None, Any, Callable[[], dict[str, Any]]]:
    """Do one run, or several that are averaged; return how it stopped, the profile, and a function for the results."""
    from ..solvers.sampling.streamed import StreamedMCCFR

    iterations, time_limit = limits
    if repeating.runs is None:
        sampler = StreamedMCCFR(game, method, **options, seed=repeating.seed)
        with timed("solving"):
            run = _run(sampler, game, iterations, time_limit, shown, checkpointing.read())
        return run.stopped, sampler.profile, lambda: _found([(sampler, run)]) | {"message": run.message}
    from ..solvers.sampling.averaging import averaged_runs, finished_runs

    began = now()
    with waiting(f"{repeating.runs} runs of {method.name} on {game.spec}", shown=shown), timed("solving"):
        ended = finished_runs(
            game, method, repeating.runs, repeating.seed, repeating.jobs or 1, (iterations, None, time_limit)
        )
        profile = averaged_runs([sampler for sampler, _ in ended])
    runs = [
        {
            "seed": sampler.seed,
            "stopped": run.stopped,
            "iterations": run.iterations,
            "touched": run.touched,
            "infosets": list(sampler.infosets),
            "seconds": run.seconds,
        }
        for sampler, run in ended
    ]
    taken = now() - began
    # A limit other than the number of iterations is told, with the run that it stopped.
    place = next((place for place, run in enumerate(runs) if run["stopped"] != "iterations"), 0)
    stopped, message = ended[place][1].stopped, ended[place][1].message
    if stopped != "iterations":
        message = f"run with seed {runs[place]['seed']}: {message}"
    if len(ended) < repeating.runs:
        stopped, message = "interrupted", f"interrupted after {len(ended)} of {repeating.runs} runs, which are averaged"
    infosets = [len(profile[player]) for player in range(game.num_players)]
    changed = {"stopped": stopped, "runs": runs, "seconds": taken, "message": message, "infosets": infosets}
    return stopped, profile, lambda: _found(ended) | changed


def _found(ended: "list[tuple[StreamedMCCFR, StreamedRun]]") -> dict[str, Any]:
    """Return the results of runs together; regrets are the means over all iterations of all runs."""
    first, run = ended[0]
    total = sum(each.iterations for _, each in ended)
    shares = [(each.iterations / total if total else 0.0, _regrets(sampler)) for sampler, each in ended]
    return {
        "stopped": next((each.stopped for _, each in ended if each.stopped != "iterations"), "iterations"),
        "iterations": total,
        "touched": sum(each.touched for _, each in ended),
        "infosets": list(first.infosets),
        "memory": sum(sampler.memory for sampler, _ in ended),
        "seconds": run.seconds,
        "regret_estimates": [_mean(player, shares) for player in range(first.num_players)],
        "unmatched": [str(preference) for preference in first.unmatched],
        "constraints": [vars(each) for each in first.constraints],
    }


def _mean(player: int, shares: list[tuple[float, list[float | None]]]) -> float | None:
    """Return the mean of a player's estimates with weights; ``None`` if one is unknown."""
    terms = [None if (one := known[player]) is None else share * one for share, known in shares]
    known_terms = [term for term in terms if term is not None]
    return sum(known_terms) if len(known_terms) == len(terms) else None


def _local_best_response(game: "Game", profile: Any, games: int, seed: int) -> dict[str, Any]:
    """Return an estimate of the exploitability from below."""
    from ..solvers.sampling.local_response import estimate_exploitability

    found = estimate_exploitability(game, profile, games, seed=seed, confidence=_CONFIDENCE)
    payoffs = [{"mean": one.mean, "lower": one.lower, "upper": one.upper} for one in found.payoffs]
    return {"mean": found.mean, "lower": found.lower, "upper": found.upper, "payoffs": payoffs, "games": games}


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
    if record["local_best_response"] is not None:
        estimates.append(
            Row(
                "local_best_response",
                record["local_best_response"],
                estimate,
                "; exploitability is at least the lower end",
                "gain of local best responses",
            )
        )
    return Sheet(
        [
            Row("game", record["game"]),
            Row("method", record["method"]),
            Row("runs", record["runs"], lambda runs: f"{len(runs):,}", ", averaged"),
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
