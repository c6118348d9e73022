"""``treeplex fit``: from a log of games to a strategy against the observed opponent."""

import inspect
import shlex
import sys
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import nearest, one_of
from ..seqform.errors import shown as quoted
from ..seqform.limits import answering
from ..seqform.sheet import Column, Row, Sheet, Table, count, counted, error, payoff, price, setting, several, short
from .errors import CommandLineError, deferring_interrupts, exit_status
from .files import STANDARD_OUTPUT, Record, check_files
from .nodes import spot_of
from .options import (
    BOUNDS,
    GAME_HELP,
    METHOD,
    OPPONENT_HELP,
    Checkpointing,
    HtmlOption,
    JsonOption,
    Limits,
    choice_of,
    choose_method,
    declared,
    method_options,
    reader,
    seat,
    tolerance,
)
from .outputs import Output, Outputs, page, pages
from .progress import building, filling, solving, waiting
from .solution import message_of
from .tables import console, ending, print_rows, print_sheet, print_table, seconds_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..models.games.holdem import HoldemSpot
    from ..models.matches import Hand
    from ..models.observations import LineObservations, Observations
    from ..models.play import BadLines
    from ..seqform.game import Game
    from ..seqform.strategy import Strategy
    from ..solvers.opponents.counter_strategies import CounterStrategy

#: The keys of the JSON.
KEYS = (
    *("game", "parameters", "log", "seat", "player", "against", "games", "lines", "skipped", "left_out"),
    *("mean_result",),
    *("confidence", "interval", "bonferroni", "probe", "events", "constraints", "method", "p", "penalty", "status"),
    *("message", "guaranteed", "expected", "game_value", "exploitability", "objective", "lower", "upper", "violation"),
    *("recommended", "games_needed", "hedged", "least_violation", "conflict", "informative"),
    *("iterations", "seconds", "build_seconds", "time", "frequencies", "locks", "quantal"),
)
#: The columns of the table of observations, and of the table of a spot's lines.
_EVIDENCE = (
    Column("event", heading="observation"),
    Column("count", count, "games"),
    Column("lower", error, "from"),
    Column("upper", error, "to"),
    Column("side", heading="binding bound"),
    Column("price", price),
    Column("worth", price),
)
_WORTH = "most valuable observations: what each adds to the gain over the game value; prices are per unit of the bound"
_TAKEN = (
    *(Column("at"), Column("action"), Column("count", count, "taken"), Column("times", count, "of")),
    *(Column("lower", error, "from"), Column("upper", error, "to")),
)
#: Suggestions for a misspelt name are sought in at most this many names.
_NAMES = 10_000
#: Hyper-parameters of methods that have options here; others are set in the method's text.
_HYPERPARAMETERS = ("step",)


def _methods() -> list[str]:
    """Return the methods of fit: those for equilibria under constraints, including one for public forms."""
    from ..models.problems import ConstrainedNash
    from ..solvers.methods import DCFR, methods_for

    return [*methods_for(ConstrainedNash.always_needs), DCFR.name]


def _options() -> list[inspect.Parameter]:
    names = _methods()
    declared = [each for each in method_options(names) if each.name in _HYPERPARAMETERS]
    said = f"The method: {', '.join(names)}. By default highs, and dcfr before the flop."
    return [choice_of("method", None, said), *declared]


@dataclass(frozen=True)
class _Log:
    """The log, the game, and the player to model."""

    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="A log written by 'treeplex play'; for preflop games and spots, also hand histories (PHH, "
            "PokerStars, ACPC, Slumbot, or a folder of them), possibly compressed. - reads standard input.",
        ),
    ]
    game: Annotated[str, typer.Option(metavar="GAME", help=f"The game of the log: {GAME_HELP}")]
    player: Annotated[
        int,
        typer.Option(
            "--seat",
            metavar="0|1",
            parser=seat,
            help="The seat whose view the log records, and for which a strategy is computed.",
        ),
    ]
    name: Annotated[
        str | None,
        typer.Option("--player", metavar="NAME", help="The name of the player at --seat, for hand histories."),
    ] = None
    against: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The player to model from hand histories; by default all opponents."),
    ] = None
    quantal: Annotated[
        str | None,
        typer.Option(
            metavar="BELIEF",
            help="Fit a quantal-response opponent instead of bounds, and respond to it. BELIEF is what it believes "
            "about --seat: probe (its play in the log), or an opponent such as nash or uniform.",
        ),
    ] = None


@dataclass(frozen=True)
class _Intervals:
    """How the intervals of event probabilities are computed."""

    confidence: Annotated[
        float,
        typer.Option(
            metavar="C",
            parser=reader(float, "a number between 0 and 1, such as 0.95", above=0, maximum=1),
            help="Confidence level of each interval, between 0 and 1.",
        ),
    ] = 0.95
    interval: Annotated[
        str | None,
        typer.Option(
            metavar="I",
            rich_help_panel=BOUNDS,
            help=("Confidence interval: wilson (the default) or clopper-pearson (the default with --bonferroni)."),
        ),
    ] = None
    bonferroni: Annotated[
        bool, typer.Option("--bonferroni", help="Apply --confidence to all intervals jointly.", rich_help_panel=BOUNDS)
    ] = False


@dataclass(frozen=True)
class _Trust:
    """How much the response relies on the bounds."""

    p: Annotated[
        Fraction | None,
        typer.Option(
            metavar="P",
            parser=reader(Fraction, "a number from 0 to 1, such as 3/4", minimum=0, maximum=1),
            help="Confidence in the bounds: compute the restricted Nash response to them, which loses at "
            "most P / (1 - P) times its gain to any opponent. By default, the bounds are trusted fully.",
        ),
    ] = None
    penalty: Annotated[
        float | None,
        typer.Option(
            metavar="B",
            rich_help_panel=BOUNDS,
            parser=tolerance,
            help="The opponent's penalty per unit of bound violation. By default bounds are hard; if they are "
            "inconsistent, the penalty is 100 times the largest payoff.",
        ),
    ] = None


@declared(_options)
def fit(
    played: _Log,
    *,
    intervals: _Intervals,
    probe: Annotated[
        str | None,
        typer.Option(
            metavar="OPPONENT",
            rich_help_panel=BOUNDS,
            help=f"The strategy that --seat played in these games; by default estimated from the log: {OPPONENT_HELP}",
        ),
    ] = None,
    method: Annotated[str | None, METHOD] = None,
    trust: _Trust,
    limits: Limits,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip and count unreadable lines instead of stopping at the first one.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the strategy and the worst opponent that fits to FILE (.npz)."),
    ] = None,
    checkpointing: Checkpointing,
    html: HtmlOption = None,
    json: JsonOption = None,
    **options: Any,
) -> int:
    """Find the best strategy against the worst opponent that fits a log of games.

    The log gives bounds on the opponent's strategy: the probability of each event, such as a raise while you hold a
    king, lies in a confidence interval. If no opponent satisfies all bounds, violations are penalised, and the
    conflicting observations are listed.
    """
    files = checkpointing.files
    check_files({"LOG": played.log}, out=out, json=json, html=html, profile=True, **files)
    record = Record(
        json, KEYS, game=played.game, log=played.log, seat=played.player, player=played.name, against=played.against,
        **vars(intervals), probe=probe, method=method, p=None if trust.p is None else float(trust.p),
    )  # fmt: skip
    if trust.p is not None and trust.penalty is not None:
        raise CommandLineError("--penalty cannot be combined with --p, whose bounds are hard; leave one of them out")
    with record.interruptible(limits.time_limit):
        with deferring_interrupts():
            from ..models.observations import OpponentModel
            from ..models.observations.intervals import interval_name
            from ..models.saddle import check_two_players
            from ..solvers.choice import prefers_loop
            from ..solvers.opponents.counter_strategies import counter_strategy

        record["interval"] = interval_name(intervals.interval, intervals.bonferroni)
        loaded = record.load(played.game)
        spot = spot_of(loaded)
        if method is None:  # counting the lines of a spot needs no method, and choosing one would build its tree
            record["method"] = "dcfr" if spot is None and prefers_loop(loaded) else "highs"
        chosen = choose_method(record["method"], options, _methods(), "fit")
        if spot is not None:
            return _fit_lines(record, spot, played.against, skip_bad, {
                "player": played.name, "interval": intervals.interval, "bonferroni": intervals.bonferroni or None,
                "probe": probe, "quantal": played.quantal, "method": method, **vars(trust), "out": out, "html": html,
                "tol": limits.tol, "max_iterations": limits.max_iterations, **files,
            })  # fmt: skip
        check_two_players("fit", loaded)
        own = _probe(probe, loaded, played.player, record.shown)
        found = _read(played, loaded, own, skip_bad, record.shown)
        if played.quantal is not None:
            from .quantal import fit_quantal

            given = {"interval": intervals.interval, "bonferroni": intervals.bonferroni, "penalty": trust.penalty}
            how = vars(limits) | {"checkpoint": checkpointing.read()}
            return fit_quantal(record, loaded, found, chosen, how, played.quantal, given, out, html)
        with waiting("bounds on the opponent", shown=record.shown):
            model = OpponentModel.from_observations(found.observations, **vars(intervals))
            _ = model.constraints
        with solving(f"{chosen.name} on {loaded.spec}", limits.time_limit, shown=record.shown) as progress:
            how = vars(limits) | {"checkpoint": checkpointing.read()}
            response = counter_strategy(model, chosen, **vars(trust), progress=progress, **how)

    outputs = Outputs(record)
    advice = _recommendation(response, outputs, record, vars(limits))

    return outputs.deliver(
        exit_status(response.solution.status),
        lambda: print_fit(record),
        lambda: {**found.to_dict(), **response.summary(), "message": message_of(response.solution), **advice},
        Output("profile", "--out", out, response.profile.save, answers=True),
        page(html, lambda: pages().fitted(loaded, record, fit_sheet(record), response)),
    )


def _recommendation(
    response: "CounterStrategy", outputs: Outputs, record: Record, limits: dict[str, Any]
) -> dict[str, Any]:
    """Return which strategy to play, and what would make the response better or safer.

    If the log does not prove that the response earns more than an equilibrium strategy, this is about how many games
    would prove it; otherwise, the response that hedges against wrong bounds. Both are ``None`` if they cannot be
    computed.
    """
    from ..solvers.opponents.counter_strategies import games_needed, hedged_response

    advice: dict[str, Any] = {"recommended": None, "games_needed": None, "hedged": None}
    if response.guaranteed is None:
        return advice
    confidence = record["confidence"]
    if response.exploits:
        what = "the hedged response"
        with waiting(what, shown=record.shown), answering("hedged"):
            hedged = outputs.ask(what, lambda: hedged_response(response, confidence, **limits))
        return advice | {"recommended": "response", "hedged": hedged and _hedge(hedged, response, confidence)}
    asked, what = (confidence, record["interval"], record["bonferroni"]), "the number of games needed"
    with waiting(what, shown=record.shown), answering("games_needed"):
        needed = outputs.ask(what, lambda: games_needed(response, *asked))
    return advice | {"recommended": "equilibrium", "games_needed": needed}


def _hedge(hedged: "CounterStrategy", response: "CounterStrategy", confidence: float) -> dict[str, Any]:
    """Return the guarantees of a hedged response, and the mean gains of the response with and without the hedge."""
    return {
        "p": hedged.p,
        "guaranteed": hedged.guaranteed,
        "exploitability": hedged.exploitability,
        "mean_gain": hedged.mean_gain(confidence),
        "response_mean_gain": response.mean_gain(confidence),
    }


def _probe(name: str | None, game: "Game", player: int, shown: bool) -> "Strategy | None":
    from ..solvers.opponents.strategies import opponent_strategy

    if name is None:
        return None
    with waiting(f"the probe, {name}", shown=shown):
        return opponent_strategy(name, game, player)


@dataclass(frozen=True)
class _Found:
    """The contents of a log."""

    observations: "Observations | LineObservations"
    lines: int
    bad: "tuple[BadLines, ...]"
    left_out: dict[str, int] | None = None
    mean_result: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the log's part of the JSON."""
        return {
            "games": self.observations.num_games,
            "lines": self.lines,
            "skipped": [asdict(bad) for bad in self.bad],
            "left_out": self.left_out,
            "mean_result": self.mean_result,
        }


def _read(played: _Log, game: "Game", probe: "Strategy | None", skip_bad: bool, shown: bool) -> _Found:
    """Read a log, with a progress bar: hand histories for preflop games, otherwise a play log."""
    if game.name == "preflop":
        return _read_hands(played, game, probe, skip_bad, shown)
    if played.name is None and played.against is None:
        return _read_play(played, game, probe, skip_bad, shown)
    raise CommandLineError(f"--{'player' if played.name else 'against'} is for hand histories of preflop games only")


def _read_play(played: _Log, game: "Game", probe: "Strategy | None", skip_bad: bool, shown: bool) -> _Found:
    """Read a play log."""
    from ..models.observations import Observations
    from ..models.play import read_play_log
    from ..seqform.observer import observer_tree

    log, player = played.log, played.player
    with building(game, shown=shown):
        view = observer_tree(game, player)
    with filling(f"reading {log}", "lines", shown=shown) as progress:
        found = read_play_log(_source(log), game, player, view=view, skip_bad=skip_bad, progress=progress)
    return _Found(Observations.from_log(game, found, probe), found.num_lines, found.bad, mean_result=found.mean_result)


def _read_hands(played: _Log, game: "Game", probe: "Strategy | None", skip_bad: bool, shown: bool) -> _Found:
    """Read hand histories."""
    from ..models.matches import HandHistories
    from ..models.observations import hand_observations

    log, name, against = played.log, played.name, played.against
    if name is None and against is None:
        raise CommandLineError("hand histories need --player NAME or --against NAME, the name of a player in the file")
    with building(game, shown=shown):
        _ = game.public_form
    with filling(f"reading {log}", "lines", shown=shown) as progress:
        hands = HandHistories(_source(log), skip_bad=skip_bad, progress=progress)
        met = expecting(hands, log, name, against)
        seen = hand_observations(met, game, played.player, name=name, opponent=against, probe=probe)
    return _Found(seen, hands.num_lines, hands.bad, dict(seen.left_out))


def expecting(hands: "Iterable[Hand]", log: str, *names: str | None) -> "Iterator[Hand]":
    """Yield hands; raise an error if a requested name occurs in none of them."""
    missing, others = {name for name in names if name is not None}, dict[str, None]()
    if any(not name.strip() for name in missing):
        raise CommandLineError(
            "a name is empty, expected the name of a player; players without a name are p1, p2 …, by seat"
        )
    for hand in hands:
        missing.difference_update(hand.players)
        if missing and len(others) < _NAMES:
            others |= dict.fromkeys(hand.players)
        yield hand
    for name in missing if others else ():
        hint = nearest(name, others) or f"; expected {one_of(others)}"
        origin = getattr(hands, "origin", "")
        place = f"{log} ({origin})" if origin else log
        raise CommandLineError(f"{place} has no player named {quoted(name, 60)}{hint}")


def _fit_lines(record: Record, spot: "HoldemSpot", against: str | None, skip_bad: bool, others: dict[str, Any]) -> int:
    """Count a player's actions on the first street of a spot, on similar boards, and convert them to locks."""
    from ..models.games.holdem.bets import SEATS
    from ..models.matches import HandHistories
    from ..models.observations import spot_frequencies
    from ..models.observations.spots import board_class

    log, theirs = record["log"], SEATS[1 - record["seat"]]
    if against is None:
        raise CommandLineError(f"line counts of {spot.spec} need --against NAME, the player to observe")
    for name, given in others.items():
        if given is not None:
            option = f"--{name.replace('_', '-')}"
            raise CommandLineError(f"{option} does not apply to {spot.spec}, where fit only counts lines; leave it out")
    record.update(interval="clopper-pearson", bonferroni=True, method=None)
    with filling(f"reading {log}", "lines", shown=record.shown) as progress:
        hands = HandHistories(_source(log), skip_bad=skip_bad, progress=progress)
        met = expecting(hands, log, against)
        found = spot_frequencies(met, spot, theirs, against, confidence=record["confidence"])
    locks = [str(lock) for one in found for lock in one.locks]
    record.write(
        lines=hands.num_lines,
        skipped=[asdict(bad) for bad in hands.bad],
        frequencies=[asdict(one) for one in found],
        locks=locks,
    )
    if not record.shown:
        return 0
    board = board_class(spot.cards)
    print_rows(
        Row("game", spot.spec),
        Row("log", log),
        Row("lines", f"played by {against}, {theirs}, on boards of the class {board}, with a similar pot"),
        Row("confidence", record["confidence"], setting, " for all intervals together, clopper-pearson"),
    )
    if not found:
        console().print(f"\nno hand of {against} reaches this street with such a board and pot", style="dim")
        return 0
    taken = [asdict(one) | {"at": one.at or "root"} for one in found]
    print_table(Table.of(taken, _TAKEN, "how often each action was taken"))
    words = ["treeplex", "solve", spot.spec, *(word for lock in locks for word in ("--lock", lock))]
    console().print(f"\n{shlex.join(words)}", soft_wrap=True, highlight=False, markup=False)
    return 0


def _source(log: str) -> Any:
    return sys.stdin.buffer if log == STANDARD_OUTPUT else log


def fit_sheet(record: dict[str, Any]) -> Sheet:
    """Return the rows on the log, the value of the strategy, and the most valuable observations."""
    player = record["seat"]
    # Wilson's intervals hold only on average, and are wrong for events that depend on an inaccurate probe.
    sure = "at least" if record["interval"] == "clopper-pearson" and record["probe"] else "about"
    together = "for all of them together" if record["bonferroni"] else "for each of them"
    near = "those that fit best" if record["least_violation"] else "every opponent that fits"
    skipped = [
        f"{count(bad['count'])} {bad['kind']}, first in line {count(bad['line'])}: {bad['message']}"
        for bad in record["skipped"] or ()
    ]
    left_out = [f"{count(number)} of {reason}" for reason, number in (record["left_out"] or {}).items()]
    about = f" on player {1 - player}, about {count(record['events'])} events"
    doubted = "; otherwise the opponent may play anything"
    joined = "; ".join
    return Sheet(
        [
            Row("recommended", _advice(record)),
            Row("game", record["game"]),
            Row("log", f"{record['log']}: {counted(record['games'], 'game')}, seen from seat {player}"),
            Row("skipped", skipped, joined),
            Row("left_out", left_out, several(str)),
            Row("probe", record["probe"] or "estimated from the log"),
            Row("intervals", f"{record['interval']}, confidence {sure} {setting(record['confidence'])} {together}"),
            Row("constraints", record["constraints"], count, about, "bounds"),
            Row("method", record["method"]),
            *ending(record),
            Row("p", record["p"], "with probability {:g}".format, doubted, "trusted"),
            Row("penalty", record["penalty"], setting, " for each unit by which a bound is missed"),
            Row("least_violation", record["least_violation"] or None, short, ": no opponent fits all observations"),
            Row("conflict", record["conflict"] if record["least_violation"] else None, joined),
            Row("guaranteed", record["guaranteed"], payoff, f" to player {player}, against {near}"),
            Row("expected", record["expected"], payoff, ", against an opponent that fits the frequencies best"),
            Row("mean_result", record["mean_result"], payoff, ", over the games in the log"),
            Row("game_value", record["game_value"], payoff),
            Row("exploitability", record["exploitability"], payoff, " below the value of the game at worst"),
            Row("hedged", _hedged(record["hedged"])),
            Row("iterations", record["iterations"], count),
            Row("seconds", seconds_text()),
        ],
        [Table.of(record["informative"] or (), _EVIDENCE, _WORTH)],
    )


def _advice(record: dict[str, Any]) -> str | None:
    """Return the strategy to play instead, if the log does not prove that the response earns more."""
    if record["recommended"] != "equilibrium":
        return None
    needed = record["games_needed"]
    enough = (
        f"proving that it does would take about {count(needed)} games against an opponent who plays as estimated"
        if needed is not None
        else "the number of games needed is not known"
    )
    return (
        "an equilibrium (treeplex solve): these games do not prove that the strategy below earns more than the "
        f"value of the game; {enough}"
    )


def _hedged(found: dict[str, Any] | None) -> str | None:
    """Return the description of the hedged response, if it risks less than the response."""
    if found is None or found["guaranteed"] is None or found["mean_gain"] <= found["response_mean_gain"]:
        return None
    return (
        f"with --p {setting(found['p'])}, the strategy guarantees {payoff(found['guaranteed'])} and loses at most "
        f"{payoff(found['exploitability'])}. If the bounds hold with probability {setting(found['p'])} and fail "
        f"against the worst opponent, it gains {payoff(found['mean_gain'])} on average over the value of the game, and "
        f"the strategy above {payoff(found['response_mean_gain'])}"
    )


def print_fit(record: dict[str, Any]) -> None:
    """Print the rows on the log, the value of the strategy, and the most valuable observations."""
    print_sheet(fit_sheet(record))
    if not record["informative"]:
        console().print("\nno observation changes the strategy: there are too few games", style="dim")
