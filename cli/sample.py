"""``treeplex sample``: games too large to enumerate, run by walks over their rules."""

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import nearest
from .arguments import load, seconds, tolerance, whole
from .errors import CommandLineError, ExitStatus, print_error
from .interrupts import deferring_interrupts
from .methods import flag_of, make_method
from .options import BaselineRateOption, ExplorationOption, GameArgument, JsonOption
from .output import STANDARD_OUTPUT, check_distinct, check_writable, console, listed, show_rows, write_json
from .progress import filling, waiting

if TYPE_CHECKING:
    from ..models.play import MeanResult
    from ..seqform.game import Game
    from ..solvers.methods import MCCFR
    from ..solvers.sampling.streamed import StreamedMCCFR, StreamedRun

_METHODS = ("es-mccfr", "os-mccfr", "es-pref-cfr")
#: How sure the intervals of payoffs and gains are.
_CONFIDENCE = 0.95


def sample(
    game: GameArgument,
    method: Annotated[
        str,
        typer.Option(
            metavar="M",
            help="How: es-mccfr takes all actions of a player in a walk, os-mccfr one, which is for games with many in "
            "a row; es-pref-cfr leans towards preferences.",
        ),
    ] = "es-mccfr",
    max_iterations: Annotated[
        int | None, typer.Option(metavar="N", parser=whole, help="Stop after N iterations; in one every player walks.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(metavar="S", parser=seconds, help="Stop after S seconds.")] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="S", parser=whole, help="Equal seeds give equal runs; 0 if not given.")
    ] = None,
    averaging: Annotated[
        str | None, typer.Option(metavar="A", help="How strategies are averaged: simple or sampled.")
    ] = None,
    local_rule: Annotated[
        str | None, typer.Option(metavar="R", help="regret-matching or, but in es-pref-cfr, regret-matching+.")
    ] = None,
    exploration: ExplorationOption = None,
    baselines: Annotated[
        str | None, typer.Option(metavar="B", help="What os-mccfr guesses of values: by infoset, or none.")
    ] = None,
    baseline_rate: BaselineRateOption = None,
    prefer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P", help="A preference, for es-pref-cfr; may be repeated: [SEAT/[INFOSET:]]ACTION[@first]:DELTA."
        ),
    ] = None,
    vulnerability: Annotated[
        float | None, typer.Option(metavar="B", parser=tolerance, help="What preferences may cost, in payoff units.")
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(metavar="R", help="rm plays in proportion to what counts of regrets, br the best alone."),
    ] = None,
    units: Annotated[
        str | None, typer.Option(metavar="U", help="Of --vulnerability: conditional or counterfactual.")
    ] = None,
    games: Annotated[
        int | None,
        typer.Option(metavar="N", parser=whole, help="Play N games at random afterwards, to estimate payoffs."),
    ] = None,
    respond: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            parser=seconds,
            help="Learn a response of each player for S seconds afterwards: what it gains is a lower bound on what the "
            "player could gain.",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the average strategies, JSON Lines, an infoset a line.")
    ] = None,
    json: JsonOption = None,
) -> int:
    """Run a game too large to enumerate, by walks that sample it.

    Infosets take memory when a walk first meets them. Nothing is proven of the strategies: payoffs are those of games
    that are played, and what a response gains is a lower bound. After Ctrl-C the strategies are the latest.
    """
    if out == STANDARD_OUTPUT:
        raise CommandLineError("--out: strategies go to a file; give a file name")
    check_distinct(game=game, out=out, json=json)
    check_writable(out, "--out")
    check_writable(json, "--json")
    if max_iterations is None and time_limit is None:
        raise CommandLineError("a run has no end without --max-iterations or --time-limit; give one of them")
    options = {
        "averaging": averaging, "local_rule": local_rule, "exploration": exploration, "baselines": baselines,
        "baseline_rate": baseline_rate, "prefer": prefer or None, "vulnerability": vulnerability, "rule": rule,
        "units": units,
    }  # fmt: skip
    shown = json != STANDARD_OUTPUT
    known: dict[str, Any] = {"game": game, "method": method, "seed": seed or 0}
    try:
        with deferring_interrupts():
            from ..solvers.sampling.streamed import StreamedMCCFR
            from ..solvers.sampling.streamed_play import streamed_gain, streamed_payoffs

        chosen = _method(method, options)
        loaded = load(game)
        known |= {"game": loaded.spec, "parameters": loaded.parameters}
        sampler = StreamedMCCFR(loaded, chosen, seed=seed)
        run = _run(sampler, loaded, max_iterations, time_limit, shown)
        interrupted = run.stopped == "interrupted"
        profile = sampler.profile
        if out is not None:
            profile.save(out, loaded.spec)
        found: dict[str, Any] = {"payoffs": None, "gains": None}
        if not interrupted and games:
            with waiting(f"playing {games:,} games", shown=shown):
                found["payoffs"] = [_interval(each) for each in streamed_payoffs(loaded, profile, max(games, 2))]
        if not interrupted and respond is not None:
            found["gains"] = []
            for player in range(sampler.num_players):
                with waiting(f"a response of player {player}", shown=shown):
                    gain = streamed_gain(
                        loaded, profile, player, seconds=respond, games=max(games or 10_000, 2), seed=1,
                        sampling="outcome" if method == "os-mccfr" else "external",
                    ).gain  # fmt: skip
                    found["gains"].append(_interval(gain))
    except KeyboardInterrupt:
        print_error("interrupted")
        write_json(_record(known | {"stopped": "interrupted"}), json)
        return ExitStatus.INTERRUPTED
    record = _record(known | found, sampler, run)
    write_json(record, json)
    if shown:
        _print(record, {"strategies": out, "JSON": json})
    return ExitStatus.INTERRUPTED if interrupted else ExitStatus.SUCCESS


def _method(name: str, options: dict[str, Any]) -> "MCCFR":
    """Return a method that samples, with its options."""
    from ..solvers.methods import OutcomeSamplingMCCFR, find_method

    if name not in _METHODS:
        raise CommandLineError(f"--method {name!r}{nearest(name, _METHODS)}; expected one of {', '.join(_METHODS)}")
    given = {option: value for option, value in options.items() if value is not None}
    fields = [entry.name for entry in dataclasses.fields(find_method(name))]  # type: ignore[arg-type]
    for option in given:
        if option not in fields:
            raise CommandLineError(f"{flag_of(option)} is not for --method {name}; leave it out")
    if isinstance(find_method(name), OutcomeSamplingMCCFR):
        given.setdefault("baselines", "infoset")
    method: Any = make_method(name, given)
    return method  # type: ignore[no-any-return]


def _run(
    sampler: "StreamedMCCFR", game: "Game", iterations: int | None, time_limit: float | None, shown: bool
) -> "StreamedRun":
    with filling(f"{sampler.method.name} on {game.spec}", "iterations", shown=shown) as progress:

        def update(run: "StreamedRun") -> None:
            assert progress is not None
            parts = [
                run.iterations / iterations if iterations else 0.0,
                run.seconds / time_limit if time_limit else 0.0,
            ]
            progress(run.iterations, min(1.0, max(parts)))

        return sampler.run(iterations, seconds=time_limit, progress=None if progress is None else update)


def _interval(result: "MeanResult") -> dict[str, float]:
    return {"mean": result.mean, "lower": result.lower, "upper": result.upper}


def _record(
    known: dict[str, Any], sampler: "StreamedMCCFR | None" = None, run: "StreamedRun | None" = None
) -> dict[str, Any]:
    """Return what was found, ready for JSON; what is not known is null."""
    from .. import __version__
    from ..solvers.solution import json_ready

    record: dict[str, Any] = {"schema": 1, "version": __version__, "game": None, "parameters": None}
    record |= dict.fromkeys(("stopped", "message", "iterations", "touched", "infosets", "memory", "seconds"))
    record |= {"payoffs": None, "gains": None, "regret_estimates": None, "confidence": _CONFIDENCE} | known
    if sampler is not None and run is not None:
        record |= {
            "stopped": run.stopped,
            "message": run.message,
            "iterations": run.iterations,
            "touched": run.touched,
            "infosets": list(sampler.infosets),
            "memory": sampler.memory,
            "seconds": run.seconds,
            "regret_estimates": list(sampler.regret_estimates()),
            "unmatched": [str(wish) for wish in sampler.unmatched],
        }
    return json_ready(record)  # type: ignore[no-any-return]


def _print(record: dict[str, Any], files: dict[str, str | None]) -> None:
    from ..seqform.budget import in_words

    rows = {
        "game": record["game"],
        "method": record["method"],
        "stopped": record["message"],
        "iterations": f"{record['iterations']:,}",
        "touched": f"{record['touched']:,} histories",
        "infosets": f"{listed(record['infosets'])}, about {in_words(record['memory'])}",
        "seconds": f"{record['seconds']:.3g}",
    }
    for wish in record["unmatched"]:
        rows[f"preference {wish}"] = "is about no infoset that walks have met"
    for name, heading in (("payoffs", "payoff of player"), ("gains", "a response gains player")):
        for player, found in enumerate(record[name] or []):
            rows[f"{heading} {player}"] = f"{found['mean']:.4g} in [{found['lower']:.4g}, {found['upper']:.4g}]"
    rows["regret, estimated"] = ", ".join(f"{each:.3g}" for each in record["regret_estimates"])
    rows |= {name: file for name, file in files.items() if file is not None and file != STANDARD_OUTPUT}
    show_rows(console(), rows)
