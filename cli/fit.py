"""``treeplex fit``: from a log of games to a strategy against whoever was played."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import GAME_HELP, OPPONENT_HELP, confidence_level, load, seat, seconds, tolerance, whole
from .errors import CommandLineError, ExitStatus, print_error
from .fit_table import fit_record, print_fit
from .interrupts import deferring_interrupts
from .methods import choose_method
from .options import JsonOption
from .output import STANDARD_OUTPUT, check_distinct, check_writable, write_json, writing
from .progress import filling, solving, waiting
from .solve import exit_status

if TYPE_CHECKING:
    from ..models.play import PlayLog
    from ..seqform.game import Game
    from ..seqform.strategy import Strategy

#: What fit can be done by: methods that serve equilibria under constraints.
_METHODS = ("highs", "highs-simplex", "highs-ipm", "highs-ipm-crossover", "cvxpy", "rational", "ccfr")


def fit(
    log: Annotated[
        str, typer.Argument(metavar="LOG", help="A log as play writes it, compressed or not; - is standard input.")
    ],
    game: Annotated[str, typer.Option(metavar="GAME", help=f"The game that was played: {GAME_HELP}")],
    player: Annotated[
        int, typer.Option("--seat", metavar="0|1", parser=seat, help="Whose log it is, and whose strategy is sought.")
    ],
    confidence: Annotated[
        float,
        typer.Option(metavar="C", parser=confidence_level, help="Of each interval, between 0 and 1."),
    ] = 0.95,
    interval: Annotated[
        str, typer.Option(metavar="I", help="How intervals are made: wilson or clopper-pearson.")
    ] = "wilson",
    bonferroni: Annotated[
        bool, typer.Option("--bonferroni", help="Let the confidence be that of all intervals together.")
    ] = False,
    probe: Annotated[
        str | None,
        typer.Option(
            metavar="OPPONENT",
            help=f"What SEAT played in these games; estimated from the log if not given: {OPPONENT_HELP}",
        ),
    ] = None,
    method: Annotated[str, typer.Option(metavar="M", help=f"How: {', '.join(_METHODS[:-1])} or ccfr.")] = "highs",
    penalty: Annotated[
        float | None,
        typer.Option(
            metavar="B",
            parser=tolerance,
            help="What the opponent pays for each unit by which it misses a bound. By default bounds are met; where "
            "they exclude each other, it is 100 times the largest payoff.",
        ),
    ] = None,
    tol: Annotated[
        float | None, typer.Option(metavar="T", parser=tolerance, help="What the certificate must prove.")
    ] = None,
    step: Annotated[
        float | None,
        typer.Option(metavar="S", parser=tolerance, help="How far multipliers move in ccfr; 3 is good with penalties."),
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(metavar="N", parser=whole, help="Limit of iterations, for ccfr.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(metavar="S", parser=seconds, help="Seconds of solving.")] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Count lines that cannot be read, and go on; the first is an error else.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the strategy, and the worst opponent that fits, to FILE (.npz)."),
    ] = None,
    json: JsonOption = None,
) -> int:
    """Find the best strategy against the worst opponent that fits a log of games.

    What was seen bounds what the opponent may do: each event, such as a raise while we hold a king, by an interval for
    its probability. Where no opponent fits all of it, missing a bound is paid for, and what clashes is named.
    """
    _check_files(log, out, json)
    shown = json != STANDARD_OUTPUT
    known: dict[str, Any] = {
        "game": game, "log": log, "seat": player, "confidence": confidence, "interval": interval,
        "bonferroni": bonferroni, "probe": probe, "method": method,
    }  # fmt: skip
    limits: dict[str, Any] = {"tol": tol, "max_iterations": max_iterations, "time_limit": time_limit}
    try:
        with deferring_interrupts():
            from ..models.observations import Observations, OpponentModel
            from ..models.observations.intervals import find_intervals
            from ..models.saddle import check_two_players
            from ..solvers.opponents.counter_strategies import counter_strategy

        find_intervals(interval)
        if method not in _METHODS:
            choose_method(method, {"step": step}, None)  # says so, if there is no such method at all
            raise CommandLineError(f"--method {method} is not for fit; expected one of {', '.join(_METHODS)}")
        chosen = choose_method(method, {"step": step}, None)
        loaded = load(game)
        known |= {"game": loaded.spec, "parameters": loaded.parameters}
        check_two_players("fit", loaded)
        own = _probe(probe, loaded, player)
        found = _read(log, loaded, player, skip_bad, shown)
        with waiting("bounds on the opponent", shown=shown):
            observations = Observations.from_log(loaded, found, own)
            model = OpponentModel.from_observations(observations, confidence, interval=interval, bonferroni=bonferroni)
            _ = model.constraints
        with solving(f"{chosen.name} on {loaded.spec}", time_limit, shown=shown) as progress:
            response = counter_strategy(model, chosen, penalty=penalty, progress=progress, **limits)
        with waiting("what it is worth", shown=shown):
            record = fit_record(known, found, response)
    except KeyboardInterrupt:
        print_error("interrupted")
        write_json(fit_record(known), json)
        return ExitStatus.INTERRUPTED
    if out is not None:
        with writing(out, "--out"):
            response.profile.save(out)
    write_json(record, json)
    if shown:
        print_fit(record, {"profile": out, "JSON": json})
    return exit_status(response.solution.status)


def _check_files(log: str, out: str | None, json: str | None) -> None:
    if out == STANDARD_OUTPUT:
        raise CommandLineError("--out: a profile is binary and cannot go to standard output; give a file name")
    check_distinct(log=log, out=out, json=json)
    check_writable(out, "--out")
    check_writable(json, "--json")
    if out is not None and Path(out).suffix.lower() != ".npz":
        raise CommandLineError(f"--out {out}: a profile is written as .npz; name it so (--json writes JSON)")


def _probe(name: str | None, game: "Game", player: int) -> "Strategy | None":
    from ..solvers.opponents.strategies import opponent_strategy

    if name is None:
        return None
    with waiting(f"the probe, {name}"):
        return opponent_strategy(name, game, player)


def _read(log: str, game: "Game", player: int, skip_bad: bool, shown: bool) -> "PlayLog":
    """Read the log, with a bar."""
    from ..models.play import read_play_log
    from ..seqform.observer import observer_tree

    with waiting(f"building {game.spec}", shown=shown):
        view = observer_tree(game, player)
    source: Any = sys.stdin.buffer if log == STANDARD_OUTPUT else log
    with filling(f"reading {log}", "lines", shown=shown) as progress:
        return read_play_log(source, game, player, view=view, skip_bad=skip_bad, progress=progress)
