"""``treeplex show``, ``evaluate`` and ``compare``: strategies, their certificates and their differences."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import nearest
from ..seqform.limits import now, timed
from ..seqform.sheet import (
    Column,
    Row,
    Sheet,
    Table,
    between,
    count,
    counted,
    error,
    estimate,
    payoff,
    setting,
    several,
    share,
)
from .errors import CommandLineError, ExitStatus, exit_status, print_note
from .files import STANDARD_OUTPUT, Record, check_files
from .flops import Learning, evaluated, flops_of
from .nodes import OfHands, has_nodes
from .options import GameArgument, HtmlOption, JsonOption, reader, seat, tolerance, whole
from .outputs import Output, Outputs, page, pages
from .progress import waiting
from .tables import print_rows, print_sheet, print_table

if TYPE_CHECKING:
    from ..models.games.holdem.flops_game import HoldemFlops
    from ..seqform.game import Game
    from ..seqform.strategy import Profile, Strategy

StrategyFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A strategy file (.npz, .json, .csv or Gambit's); with --game also nash, uniform and so on.",
    ),
]
TopOption = Annotated[
    int, typer.Option(metavar="N", parser=whole, help="Number of infosets to list, the most valuable first.")
]
NormaliseOption = Annotated[
    bool,
    typer.Option(
        "--normalise", help="Divide the probabilities at each infoset by their sum, for rounded probabilities."
    ),
]
GameOption = Annotated[
    str | None, typer.Option("--game", metavar="GAME", help="The game of the strategies, if the file does not name it.")
]


# show


@dataclass(frozen=True)
class _Selection:
    """The game, and the strategies and infosets to show."""

    game: GameOption = None
    player: Annotated[
        int | None,
        typer.Option(
            metavar="0|1|…",
            parser=reader(int, "the number of a player, such as 0", minimum=0),
            help="Show only the strategy of one player.",
        ),
    ] = None
    infoset: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Show the infosets that match, such as K* or *_b; * stands for any text."),
    ] = None
    against: Annotated[
        str | None,
        typer.Option(metavar="S", help="Show another strategy beside it: a file, or nash, uniform and so on."),
    ] = None

    def has(self, infoset: Any) -> bool:
        """Whether to show an infoset."""
        return self.infoset is None or fnmatchcase(str(infoset), self.infoset)


def show(
    file: StrategyFile,
    *,
    selection: _Selection,
    long: Annotated[bool, typer.Option("--long", help="Print one line per action.")] = False,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the strategies in another format: .npz, .json or .csv.")
    ] = None,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw the strategies (.svg, .png or .pdf): one bar per infoset.")
    ] = None,
    of_hands: OfHands,
    json: JsonOption = None,
) -> int:
    """Print the action probabilities of strategies, or the hands at a node of hold'em and their EV.

    A solved spot shows one node: that of --at, by default the first one. So do strategies for preflop and
    three_handed with any of the options for hold'em.
    """
    of_hands.check()
    of = of_hands
    check_files({"FILE": file}, out=out, plot=plot, json=json, chart=of.chart, graph=of.graph, csv=of.csv, html=of.html)
    if _is_solved_spot(file):
        others = vars(selection) | {"out": out, "plot": plot, "long": long or None}
        refuse_options(others, f"{file} is a solved spot")
        from .spots import show_file

        return show_file(file, of_hands, json)
    if any(value is not None for value in vars(of_hands).values()):
        others = {name: value for name, value in vars(selection).items() if name != "game"}
        return _show_node(
            file, selection.game, of_hands, json, others | {"out": out, "plot": plot, "long": long or None}
        )
    _check_suffix(out)
    against = selection.against
    record = Record(json, ("game", "parameters", "file", "against", "infosets"), file=file, against=against)
    shown = _selected(file, selection, record)

    def report() -> None:
        print_rows(*Sheet([Row("strategies", f"{file}, for {shown.game.spec}"), *_left_out(shown.left_out)]).rows)
        for number in shown.strategies:
            own = [row for row in shown.rows if row["player"] == number]
            if own:
                print_table(_strategy_table(number, own, long or against is not None, against))

    return Outputs(record).deliver(
        ExitStatus.SUCCESS,
        report,
        lambda: {"infosets": shown.rows},
        Output("strategies", "--out", out, shown.save, answers=True),
        Output("picture", "--plot", plot, lambda path: shown.draw(path, selection, (file, against or ""))),
    )


def _show_node(file: str, game: str | None, of: OfHands, json: str | None, others: Mapping[str, Any]) -> int:
    """Show the hands at a node of strategies for a hold'em game."""
    from ..seqform.strategy import Profile
    from .nodes import HandsAt, view_of

    asked = next(f"--{name}" for name, value in vars(of).items() if value is not None)
    if file.lower().endswith(".npz") and not Path(file).exists():
        from ..seqform.interchange.files import absence

        raise CommandLineError(f"{asked}: {file}: {absence(file)}")
    refuse_options(others, f"cannot be combined with {asked}, which shows the hands at a node")
    record = Record(json, ("game", "parameters", "file", "at"), file=file)
    loaded = record.load(game_of_file(file, game))
    if not has_nodes(loaded):
        raise CommandLineError(
            f"{asked}: {file} is for {loaded.spec}, expected a solved spot, or strategies for a spot, preflop or "
            "three_handed"
        )
    if of.html is not None:
        raise CommandLineError(f"--html: {file} is not a solved spot, as treeplex solve SPOT --out writes them")
    with waiting(f"{file} on {loaded.spec}", shown=record.shown):
        found, left_out = _strategies(file, loaded, tuple(range(loaded.num_players)))
        missing = [player for player in range(loaded.num_players) if player not in found]
        if missing:
            raise CommandLineError(
                f"{asked}: {file} has no strategy of player {missing[0]}, expected strategies of all players: ranges "
                "and EVs depend on all of them"
            )
        chosen = HandsAt.read(view_of(loaded, Profile(list(found.values()))), of)

    def report() -> None:
        print_rows(*Sheet([Row("strategies", f"{file}, for {loaded.spec}"), *_left_out(left_out)]).rows)
        chosen.print()

    return Outputs(record).deliver(ExitStatus.SUCCESS, report, chosen.to_dict, *chosen.outputs)


@dataclass(frozen=True)
class _Shown:
    """The strategies of a file, and those shown beside them."""

    game: "Game"
    strategies: "dict[int, Strategy]"
    beside: "Mapping[int, Strategy]"
    left_out: dict[int, int]
    rows: list[dict[str, Any]]

    def save(self, path: str) -> None:
        """Write the strategies in the format of the file's suffix."""
        from ..seqform.strategy_files import write_strategies

        vectors = {number: strategy.behaviour for number, strategy in self.strategies.items()}
        write_strategies(path, self.game.spec, self.game.sequence_form, vectors)

    def draw(self, path: str, selection: _Selection, names: tuple[str, str]) -> None:
        """Draw the selected infosets."""
        from ..seqform.interchange.pictures import write_picture
        from ..seqform.interchange.strategy_display import strategies_figure

        drawn = tuple(self.strategies.values())
        labels = [label for each in drawn for label in each.treeplex.infoset_labels if selection.has(label)]
        write_picture(lambda: strategies_figure(drawn, labels, self.beside, names=names), path)


def _selected(file: str, selection: _Selection, record: Record) -> _Shown:
    """Read the strategies of a file, and select what the options ask for."""
    player, infoset, against = selection.player, selection.infoset, selection.against
    loaded = record.load(game_of_file(file, selection.game))
    found, left_out = _strategies(file, loaded, tuple(range(loaded.num_players)))
    if player is not None:
        if player not in found:
            whose = " and ".join(map(str, sorted(found)))
            raise CommandLineError(f"--player {player}: {file} has only the strategies of {whose}; expected {whose}")
        found = {player: found[player]}
    beside: Mapping[int, Strategy] = {}
    if against is not None:
        with waiting(f"{against} on {loaded.spec}", shown=record.shown):
            beside, _ = _strategies(against, loaded, tuple(found))
    rows = [
        row
        for strategy in found.values()
        for row in _infosets(strategy, beside.get(strategy.player))
        if selection.has(row["infoset"])
    ]
    if infoset is not None and not rows:
        known = [str(label) for each in loaded.sequence_form.treeplexes for label in each.infoset_labels]
        raise CommandLineError(
            f"--infoset {infoset}: no infoset of {loaded.spec} matches{nearest(infoset, known)}; * stands for any "
            f"text: --infoset '{infoset.strip('*')}*' shows those that begin with this text"
        )
    return _Shown(loaded, found, beside, left_out, rows)


def _is_solved_spot(file: str) -> bool:
    if not file.lower().endswith(".npz") or not Path(file).is_file():
        return False
    from ..models.games.holdem import SolvedSpot

    return SolvedSpot.recognises(file)


def refuse_options(options: Mapping[str, Any], why: str) -> None:
    """Reject options that have no effect.

    Raises
    ------
    CommandLineError
    """
    for name, value in options.items():
        if value is not None:
            raise CommandLineError(f"--{name}: {why}")


def _infosets(strategy: "Strategy", other: "Strategy | None") -> Iterator[dict[str, Any]]:
    """Return a strategy infoset by infoset: its reach and action probabilities, and those of another strategy."""
    reach = strategy.treeplex.reach(strategy.plan).tolist()
    beside = iter(() if other is None else other.to_dict().values())
    for number, (label, played) in enumerate(strategy.to_dict().items()):
        row: dict[str, Any] = {"player": strategy.player, "infoset": str(label), "reach": reach[number]}
        row["actions"] = {str(action): share for action, share in played.items()}
        if other is not None:
            row["against"] = {str(action): share for action, share in next(beside).items()}
        yield row


def _strategy_table(player: int, rows: list[dict[str, Any]], long: bool, against: str | None) -> Table:
    """Return a player's infosets with a column per action, or a line per action."""
    columns = [Column("infoset"), Column("reach", share)]
    if long:
        columns += [Column("action"), Column("probability", share)]
        columns += [] if against is None else [Column("against", share, against)]
        lines = [
            (row["infoset"], row["reach"], action, played, *([] if against is None else [row["against"][action]]))
            for row in rows
            for action, played in row["actions"].items()
        ]
    else:
        actions = list(dict.fromkeys(action for row in rows for action in row["actions"]))
        columns += [Column(action, share, action) for action in actions]
        lines = [(row["infoset"], row["reach"], *map(row["actions"].get, actions)) for row in rows]
    return Table(columns, lines, f"player {player}; reach is the player's own probability of playing to the infoset")


# evaluate


def _checked_refinement(text: str) -> str:
    """Return the name of the refinement that can be checked."""
    if text != "quasi-perfect":
        raise typer.BadParameter(f"{text}{nearest(text, ['quasi-perfect'])}, expected quasi-perfect")
    return text


#: The entries of a refinement's check that name infosets and actions.
_NAMED = ("infoset", "action", "better")
#: The keys of the JSON of ``evaluate``.
_EVALUATED = (
    *("game", "parameters", "strategies", "players", "value", "payoffs", "best_response_values", "exploitability"),
    *(
        "nash_conv",
        "lower",
        "upper",
        "game_value",
        "repairs",
        "repairs_elsewhere",
        "repairs_complete",
        "losses",
        "violations",
        "left_out",
        "log",
        "refinement",
        "least_exploitability",
        "bounds",
        "flops",
        "status",
        "message",
        "iterations",
        "tolerance",
        "passed",
        "seconds",
        "time",
    ),
)


def evaluate(
    game: GameArgument,
    strategy: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="Strategies to evaluate: a file (.npz, .json, .csv or Gambit's), a bot file (.toml), or nash, "
            "uniform and so on; may be repeated, once per player.",
        ),
    ],
    constrain: Annotated[
        list[str] | None,
        typer.Option(metavar='"TERM <= NUMBER"', help="Also report whether a constraint is met; may be repeated."),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            metavar="T",
            parser=tolerance,
            help="Exit with status 1 if the exploitability or a violation exceeds T.",
        ),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Also estimate the result of the games in this log (written by 'treeplex play') without luck.",
        ),
    ] = None,
    observer: Annotated[
        int | None, typer.Option(metavar="0|1", parser=seat, help="The seat of the log; by default the first player's.")
    ] = None,
    refine: Annotated[
        str | None,
        typer.Option(
            metavar="quasi-perfect",
            parser=_checked_refinement,
            help="Also decide whether the strategies are a quasi-perfect equilibrium; exit with status 1 if not.",
        ),
    ] = None,
    top: TopOption = 10,
    normalise: NormaliseOption = False,
    html: HtmlOption = None,
    json: JsonOption = None,
    *,
    learning: Learning,
) -> int:
    """Evaluate strategies from any source: payoffs, exploitability and violated constraints.

    All numbers are computed from the strategies, by best responses. For a single strategy in a two-player zero-sum
    game, the command reports the guaranteed payoff and the exploitability relative to the game value, which it computes
    first. In these games it lists the infosets with the largest repairs: by how much the strategy's worst case rises if
    play changes there alone. In other games it lists those at which a player loses most against the others' strategies.

    With --log, the first player's strategy is taken to be the one that was played, and the result of the games is also
    estimated without the luck of the cards and of that strategy (AIVAT). It is unbiased whatever the others played;
    their strategies, or equilibrium strategies, are used only to reduce its variance.

    In hold'em from the blinds to the river, the strategies before the flop are kept, and the play after it is learnt,
    on the flops of the game or on others (--other-flops).
    """
    given = {"GAME": game} | {f"--strategy {path}": path for path in strategy}
    check_files(given | ({} if log is None else {"--log": log}), json=json, html=html, **learning.files)
    if observer is not None and log is None:
        raise CommandLineError("--observer is the seat of a log; give the log with --log FILE")
    record = Record(json, _EVALUATED, strategies=strategy, tolerance=tol)
    begun = now()
    loaded = record.load(game)
    from ..seqform.losses import largest_losses

    flops = _flops_of(loaded, learning, log=log, refine=refine)
    found: dict[int, Strategy] = {}
    left_out: dict[int, int] = {}
    for text in strategy:
        players = tuple(each for each in range(loaded.num_players) if each not in found)
        if not players and not Path(text).exists():
            raise CommandLineError(f"--strategy {text}: the earlier ones already cover all players; leave it out")
        with waiting(f"{text} on {loaded.spec}", shown=record.shown):
            strategies, missing = _strategies(text, loaded, players, normalise)
        twice = sorted(set(strategies) & set(found))
        if twice:
            raise CommandLineError(f"--strategy {text}: another file contains a strategy of player {twice[0]} too")
        found |= strategies
        left_out |= missing
    if flops is not None:
        judged = evaluated(flops, learning, found, record.shown)
    else:
        with waiting(f"best responses on {loaded.spec}", shown=record.shown), timed("solving"):
            judged, against = _judged(loaded, dict(sorted(found.items())))
            judged["losses"] = largest_losses(loaded, against, sorted(found), top)
            judged |= _repairs(loaded, against, sorted(found), top)
    if log is not None:
        first = next(iter(found))
        with waiting(f"games of {log}", shown=record.shown):
            judged["log"] = _without_luck(log, loaded, found[first], against, first if observer is None else observer)
    violations = _violations(loaded, constrain or [], found)
    refinement = None if refine is None else _refinement(loaded, found, refine)
    passed = _is_within(tol, judged["exploitability"], violations) and (refinement or {}).get("verdict") != "no"
    record.update(
        **judged,
        violations=violations,
        left_out=[left_out.get(each, 0) for each in sorted(found)],
        refinement=refinement,
        passed=passed,
        seconds=now() - begun,
    )

    status = exit_status(judged.get("status", "converged"))
    return Outputs(record).deliver(
        status or (ExitStatus.SUCCESS if passed else ExitStatus.FAILURE),
        lambda: print_sheet(judged_sheet(record)),
        dict,
        page(html, lambda: pages().evaluation(loaded, record, judged_sheet(record), dict(sorted(found.items())))),
    )


def _flops_of(game: "Game", learning: Learning, **others: Any) -> "HoldemFlops | None":
    """Return a game as hold'em from the blinds to the river, if it is, and reject the options of other games."""
    flops = flops_of(game)
    if flops is None:
        refuse_options(learning.given, "expected hold'em from the blinds to the river (.toml with flops)")
    else:
        refuse_options(others, "not for strategies that have only the play before the flop")
    return flops


def _judged(game: "Game", found: dict[int, "Strategy"]) -> "tuple[dict[str, Any], Profile]":
    """Return the evaluation of strategies, and the profile in which losses are measured.

    The strategies are those of all players, or one player's in a two-player constant-sum game, whose opponent then
    plays an equilibrium strategy.
    """
    from ..seqform.evaluate import best_response_values, expected_payoffs, worst_case
    from ..seqform.strategy import Profile

    form = game.sequence_form
    constant = form.constant_sum if game.num_players == 2 else None
    if len(found) == game.num_players:
        # Player 0's equilibrium payoff lies between what its strategy guarantees and what the other one concedes.
        profile = Profile(list(found.values()))
        payoffs, best = expected_payoffs(game, profile), best_response_values(game, profile)
        gap = float((best - payoffs).sum())
        bounds = {} if constant is None else {"lower": constant - best[1], "upper": best[0]}
        worth = {"value": payoffs[0], "payoffs": payoffs.tolist(), "best_response_values": best.tolist()}
        worth |= {"nash_conv": gap, "exploitability": gap / game.num_players, **bounds}
        return {"players": list(found), **worth}, profile
    if constant is None or not found:
        missing = next(each for each in range(game.num_players) if each not in found)
        raise CommandLineError(
            f"--strategy: there is no strategy of player {missing}; a single strategy can be evaluated only in a "
            "two-player constant-sum game"
        )
    from ..models.problems import Nash
    from ..solvers.solve import solve_part

    ((player, strategy),) = found.items()
    guaranteed = worst_case(game, strategy)
    solution = solve_part(Nash(game), needed="for the value of the game")
    low, high = solution.lower, solution.upper
    assert low is not None
    assert high is not None
    loss = high - guaranteed if player == 0 else constant - low - guaranteed
    bound = {"lower": guaranteed} if player == 0 else {"upper": constant - guaranteed}
    worth = {"game_value": solution.value, "exploitability": max(loss, 0.0)}
    return {"players": [player], **bound, **worth}, Profile(
        [strategy if each == player else solution.profile[each] for each in range(2)]
    )


def _without_luck(path: str, game: "Game", strategy: "Strategy", values: "Profile", observer: int) -> dict[str, Any]:
    """Return the result of a strategy in a play log, as it was and without luck."""
    from ..models.play import Aivat, read_play_log

    log = read_play_log(path, game, observer)
    found = Aivat(game, strategy, values, observer=observer).estimate(log, by_kind=True)
    return {"file": path, "observer": observer, "player": strategy.player, **found.to_dict()}


def _repairs(game: "Game", profile: "Profile", players: list[int], top: int) -> dict[str, Any]:
    """Return the infosets with the largest repairs; nothing if repairs are not defined for the game."""
    if game.num_players != 2 or game.sequence_form.constant_sum is None:
        return {}
    from ..solvers.repairs import largest_repairs

    found = largest_repairs(game, profile, players, top)
    return {
        "repairs": list(found.rows),
        "repairs_elsewhere": found.elsewhere,
        "repairs_complete": found.complete,
    }


def _is_within(tol: float | None, exploitability: float, violations: Mapping[str, float]) -> bool:
    """Whether the exploitability and all violations are at most the tolerance, if there is one."""
    return tol is None or max([exploitability, *violations.values()]) <= tol


def _refinement(game: "Game", found: Mapping[int, "Strategy"], refine: str) -> dict[str, Any]:
    """Return whether a profile is a quasi-perfect equilibrium."""
    from ..seqform.strategy import Profile
    from ..solvers.exact.quasi_perfect import is_quasi_perfect

    if len(found) != game.num_players:
        raise CommandLineError(f"--refine {refine}: expected strategies of all players, got {count(len(found))}")
    with timed("solving"):
        verdict = is_quasi_perfect(game, Profile([found[player] for player in sorted(found)]))
    names = {name: None if one is None else str(one) for name, one in vars(verdict).items() if name in _NAMED}
    return {"refine": refine, **vars(verdict), **names, "message": str(verdict)}


def _violations(game: "Game", texts: list[str], found: Mapping[int, "Strategy"]) -> dict[str, float]:
    """Return the violation of each constraint, by name."""
    from ..models.constraints import parse_constraint

    violations: dict[str, float] = {}
    for constraint in (each for text in texts for each in parse_constraint(text, game)):
        if constraint.player not in found:
            raise CommandLineError(
                f"--constrain: {constraint.name} constrains player {constraint.player}, for whom there is no strategy"
            )
        violations[constraint.name] = max(float(constraint.value(found[constraint.player].plan)), 0.0)
    return violations


def judged_sheet(record: Mapping[str, Any]) -> Sheet:
    """Return the evaluation of strategies as rows."""
    low, high, tol = record["lower"], record["upper"], record["tolerance"]
    within = _is_within(tol, record["exploitability"], record["violations"])
    alone = low is None or high is None
    columns = [Column("player", count), *(Column(key, payoff) for key in ("is_paid", "could_be_paid", "could_gain"))]
    earned = zip(record["payoffs"] or (), record["best_response_values"] or (), strict=True)
    paid = [(player, one, best, best - one) for player, (one, best) in enumerate(earned)]
    return Sheet(
        [
            Row("game", record["game"]),
            Row("strategies", record["strategies"], several(str)),
            *_left_out(dict(zip(record["players"], record["left_out"], strict=True))),
            Row("proven_bounds", None if alone else (low, high), between(payoff), label="value of the game"),
            Row("lower", low if alone else None, payoff, " at least, paid to player 0", "guaranteed"),
            Row("upper", high if alone else None, payoff, " at most, paid to player 0", "guaranteed"),
            Row("game_value", record["game_value"], payoff, label="value of the game"),
            Row("exploitability", record["exploitability"], payoff),
            Row("least_exploitability", record["least_exploitability"], payoff, " whatever the play after the flop"),
            Row("flops", record["flops"], several(str)),
            Row("message", record["message"]),
            Row("iterations", record["iterations"], several(count)),
            *(
                Row("violations", one, payoff, label=f"violation of {name}")
                for name, one in record["violations"].items()
            ),
            *_log_rows(record["log"]),
            Row("refinement", (record["refinement"] or {}).get("message")),
            Row("tolerance", tol, setting, ": within" if within else ": exceeded"),
        ],
        [Table(columns, paid), _ranked(record)],
    )


def _log_rows(log: Mapping[str, Any] | None) -> Iterator[Row]:
    """Yield the rows about the games of a log."""
    if log is None or not log["games"]:
        return
    whose = f" per game, paid to player {log['player']}"
    yield Row("games", log["games"], count, f" in {log['file']}")
    for label, key in (("money won", "raw_"), ("without luck", "")):
        ends = log[f"{key}interval"]
        if ends is not None:
            mean = {"mean": log[f"{key}mean"], "lower": ends[0], "upper": ends[1]}
            yield Row(f"{key}mean", mean, estimate, whose, label)
    if log["reduction"] is not None:
        yield Row("reduction", log["reduction"], error, " times smaller without luck", "standard deviation")


def _ranked(record: Mapping[str, Any]) -> Table:
    """Return the infosets with the largest repairs as a table; if there are none, with the largest losses."""
    from ..seqform.losses import losses_table

    whose = "the others' strategies"
    if record["payoffs"] is None:
        whose = f"the computed equilibrium strategy of player {1 - record['players'][0]}"
    if not record["repairs"]:
        return losses_table(record["losses"] or (), f"largest losses against {whose}")
    from ..solvers.repairs import repairs_table

    stopped = "" if record["repairs_complete"] else " found before the search reached its limit"
    others = f"at most {payoff(record['repairs_elsewhere'])} at any other infoset"
    return repairs_table(record["repairs"], f"largest repairs{stopped}; {others}; loss against {whose}")


# compare

#: Smaller differences of probabilities, and smaller losses in units of the game's stakes, count as zero.
_ALIKE = 1e-6


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A strategy file.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another strategy file, or nash, uniform and so on.")],
    game: GameOption = None,
    top: TopOption = 10,
    normalise: NormaliseOption = False,
    html: HtmlOption = None,
    json: JsonOption = None,
) -> int:
    """Compare two strategies or profiles: where they differ most, and their payoffs against each other.

    If B has the strategies of all other players, as nash does, the command also reports the cost of the differences:
    at each infoset, how much a player's strategy in A loses when the others play B's strategies. Differences from an
    equilibrium often cost nothing against it.
    """
    check_files({"A": first, "B": second}, json=json, html=html)
    keys = ("game", "parameters", "a", "b", "players", "losses", "payoffs", "exploitability")
    record = Record(json, keys, a=first, b=second)
    spot = None if game is not None else _game_of_spot(first)
    loaded = record.load(game_of_file(first, game)) if spot is None else record.take(spot)
    one, _ = _strategies(first, loaded, tuple(range(loaded.num_players)), normalise)
    with waiting(f"{second} on {loaded.spec}", shown=record.shown):
        other, _ = _strategies(second, loaded, tuple(range(loaded.num_players)), normalise)
    shared = sorted(set(one) & set(other))
    if not shared:
        raise CommandLineError(f"{first} is for players {sorted(one)}, but {second} is for players {sorted(other)}")
    rows = [_difference(one[player], other[player]) for player in shared]
    found: dict[str, Any] = {"players": rows}
    if len(other) == loaded.num_players:
        found["losses"] = _costs(loaded, one, other, rows, top)
    if len(shared) == loaded.num_players == 2:
        found |= _matches(loaded, one, other)

    return Outputs(record).deliver(
        ExitStatus.SUCCESS,
        lambda: print_sheet(compared_sheet(record)),
        lambda: found,
        page(html, lambda: pages().comparison(loaded, record, compared_sheet(record), one, other)),
    )


def _difference(one: "Strategy", other: "Strategy") -> dict[str, Any]:
    """Return the distance between two strategies: in their plans, and in behaviour at infosets that both reach."""
    import numpy as np

    treeplex = one.treeplex
    apart = np.abs(one.plan - other.plan)
    reach = np.minimum(treeplex.reach(one.plan), treeplex.reach(other.plan))
    shares = np.abs(one.behaviour - other.behaviour) * np.append(0.0, np.repeat(reach > 0, treeplex.num_actions))
    place = int(np.argmax(shares))
    labels = treeplex.sequence_label(place) if shares[place] > 0 else None
    return {
        "player": one.player,
        "largest_plan_difference": float(apart.max()),
        "largest_probability_difference": float(shares[place]),
        "at": None if labels is None else {"infoset": str(labels[0]), "action": str(labels[1])},
    }


def _costs(
    game: "Game", one: Mapping[int, "Strategy"], other: Mapping[int, "Strategy"], rows: list[dict[str, Any]], top: int
) -> list[dict[str, Any]]:
    """Return where A's strategies lose most against B's; add the number of infosets with no-cost differences to `rows`.

    An infoset counts only if A reaches it and differs there from B by more than :data:`_ALIKE`.
    """
    import numpy as np

    from ..seqform.losses import infoset_losses, largest_losses
    from ..seqform.strategy import Profile

    found = []
    for row in rows:
        player = row["player"]
        mixed = Profile([one[player] if each == player else other[each] for each in range(game.num_players)])
        losses, treeplex = infoset_losses(game, mixed, player), one[player].treeplex
        apart = np.maximum.reduceat(np.abs(one[player].behaviour - other[player].behaviour), treeplex.offsets[:-1])
        differs = (apart > _ALIKE) & (treeplex.reach(one[player].plan) > 0.0)
        row["differing"], row["loss"] = int(differs.sum()), float(losses.sum())
        row["costless"] = int((differs & (losses <= _ALIKE * game.stakes)).sum())
        found += largest_losses(game, mixed, [player], top)
    return sorted(found, key=lambda row: -row["loss"])[:top]


def _matches(game: "Game", one: Mapping[int, "Strategy"], other: Mapping[int, "Strategy"]) -> dict[str, Any]:
    """Return player 0's payoff in each of the four pairings, and the exploitability of each profile."""
    from ..seqform.evaluate import expected_payoffs, exploitability
    from ..seqform.strategy import Profile

    sides = {"a": one, "b": other}
    payoffs = {
        first + second: float(expected_payoffs(game, Profile([sides[first][0], sides[second][1]]))[0])
        for first in sides
        for second in sides
    }
    found = {name: exploitability(game, Profile([side[0], side[1]])) for name, side in sides.items()}
    return {"payoffs": payoffs, "exploitability": found}


def compared_sheet(record: Mapping[str, Any]) -> Sheet:
    """Return the largest differences of strategies, and their payoffs against each other, as rows."""
    apart = [
        (
            row["player"],
            row["largest_plan_difference"],
            row["largest_probability_difference"],
            None if row["at"] is None else f"{row['at']['infoset']}:{row['at']['action']}",
        )
        for row in record["players"]
    ]
    from ..seqform.losses import losses_table

    pays, exploited = record["payoffs"] or {}, record["exploitability"]
    earned = [(one.upper(), pays[f"{one}a"], pays[f"{one}b"], exploited[one]) for one in "ab" if pays]
    numbers = ("in the plan", "in a probability")
    differences = [Column("player", count), *(Column(heading, payoff) for heading in numbers), Column("at")]
    worths = ("against A", "against B", "exploitability")
    pairings = [Column("player 0 plays"), *(Column(heading, payoff) for heading in worths)]
    lost = losses_table(record["losses"] or (), "largest losses of A if the others play B")
    costs = [Row("cost", _cost_text(row), label=f"player {row['player']}") for row in record["players"]]
    return Sheet(
        [Row("game", record["game"]), Row("A", record["a"]), Row("B", record["b"]), *costs],
        [Table(differences, apart, "largest differences"), lost, Table(pairings, earned, "payoffs of player 0")],
    )


def _cost_text(row: Mapping[str, Any]) -> str | None:
    """Return the cost of the differences of a player's strategies; ``None`` if B does not have all strategies."""
    if "differing" not in row:
        return None
    if not row["differing"]:
        return "plays the same at every infoset that A reaches"
    differs = f"differs at {counted(row['differing'], 'infoset')}"
    if row["costless"] == row["differing"]:
        return f"{differs}, which costs nothing against B"
    free = f", at no cost at {count(row['costless'])} of them" if row["costless"] else ""
    return f"{differs}{free}; A loses {payoff(row['loss'])} against B"


# Shared functions


def game_of_file(file: str, game: str | None) -> str:
    """Return the game named by the option or by the file."""
    if game is not None:
        return game
    from ..seqform.strategy_files import game_of

    if not Path(file).exists():
        from ..seqform.interchange.files import absence

        raise CommandLineError(f"{file}: {absence(file)}; names such as nash and uniform need --game GAME")
    named = game_of(file)
    if not named:
        from ..seqform.interchange.files import other_kind

        hint = other_kind(file, "strategies")
        raise CommandLineError(f"{file} does not name its game; give it with --game GAME{hint}")
    return named


def _game_of_spot(file: str) -> "Game | None":
    """Return the game in the file of a solved spot, without locks; ``None`` for other files and names."""
    if not (file.lower().endswith(".npz") and Path(file).is_file()):
        return None
    from ..models.games.holdem.solved import SolvedSpot

    return replace(SolvedSpot.load(file).spot, bets=None, locks=()).game if SolvedSpot.recognises(file) else None


def _strategies(
    text: str, game: "Game", players: tuple[int, ...] = (), normalise: bool = False
) -> "tuple[dict[int, Strategy], dict[int, int]]":
    """Return the strategies in a file and the number of infosets it leaves out, or the strategies named by a string."""
    from ..seqform.strategy import load_strategies
    from ..seqform.strategy_files import SUFFIXES, numbered

    path = Path(numbered(text)[0])
    looks_like_a_file = ":" not in text and ("/" in text or "." in text)
    is_strategy_file = looks_like_a_file or path.suffix.lower() in SUFFIXES or path.is_file()
    if players and (not is_strategy_file or text.lower().endswith(".toml")):  # including a bot file
        from ..solvers.opponents.strategies import opponent_strategy

        return {player: opponent_strategy(text, game, player) for player in players}, {}
    profile = game.own_profile(text)
    if profile is not None:
        return dict(enumerate(profile)), {}
    found, read = load_strategies(text, game, normalise)
    if read.equilibria > 1:
        print_note(f"{text} contains {read.equilibria} equilibria; the first one is used. {text}:2 is the second")
    if normalise:
        print_note(f"{text}: normalised probabilities whose sums were up to {read.corrected:.2g} away from 1")
    return found, read.left_out


def _left_out(counts: Mapping[int, int]) -> list[Row]:
    """Print a note if infosets are missing from a file."""
    said = [f"{count(number)} of player {player}" for player, number in counts.items() if number]
    return [Row("left_out", said, several(str), ": infosets missing in the file are played uniformly")]


def _check_suffix(out: str | None) -> None:
    from ..seqform.strategy_files import SUFFIXES

    if out == STANDARD_OUTPUT or (out is not None and Path(out).suffix.lower() not in SUFFIXES):
        raise CommandLineError(
            f"--out {out}: expected a file name that ends with {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        )
