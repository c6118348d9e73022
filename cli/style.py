"""``treeplex style``: a strategy in a style given by targets, and the cost of the style."""

import inspect
import re
import shlex
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.limits import answering, now, timed
from ..seqform.sheet import Column, Row, Sheet, Table, between, count, error, payoff, price, setting, several, short
from .errors import CommandLineError, deferring_interrupts, exit_status, print_note
from .files import Record, check_files
from .options import (
    METHOD,
    OPPONENT_HELP,
    Checkpointing,
    GameArgument,
    HtmlOption,
    JsonOption,
    choice_of,
    choose_method,
    declared,
    flag_of,
    reader,
    seconds,
    whole,
)
from .outputs import Output, Outputs, page, pages
from .progress import building, waiting
from .spots import is_large
from .tables import ending, print_sheet, print_table, seconds_text

if TYPE_CHECKING:
    from ..seqform.game import Game
    from ..seqform.strategy import Strategy
    from ..solvers.parametric.trade_off import TradeOff
    from ..solvers.style.answer import StyleAnswer
    from ..solvers.style.calibration import Calibration, CalibrationRun

#: The search method, for games that are too large for exact methods.
_SEARCHES = "pref-cfr"
#: The keys of the JSON.
KEYS = (
    *("game", "parameters", "player", "max_loss", "reference", "method", "status", "message"),
    *("feasible", "least_loss", "least_loss_lower", "least_loss_upper", "least_loss_exact", "exploitability", "value"),
    *("epsilon", "regrets"),
    *("game_value", "targets", "violation", "violations", "multipliers", "least_violation", "conflict", "trade_off"),
    *("preference", "runs", "iterations", "seconds", "time", "sizes"),
)


def _methods() -> list[str]:
    """Return the methods for targets: those that solve all parts of an exact answer, and one that searches."""
    from ..solvers.methods import methods_for
    from ..solvers.style.targets import NEEDS

    return [*methods_for(NEEDS), _SEARCHES]


def _options() -> list[inspect.Parameter]:
    *exact, search = _methods()
    text = (
        f"The method: {', '.join(exact)}; or {search}, for games that are too large for these, which searches for "
        "vulnerabilities that meet the targets."
    )
    return [choice_of("method", "highs-simplex", text)]


@dataclass(frozen=True)
class _Asked:
    """The targets for the player, and the largest loss allowed."""

    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="T",
            help='What the player should do, such as "raise@first >= 0.6"; may be repeated. The form is TERM+… >= '
            "NUMBER, also with <= or ==, optionally followed by 'as NAME'. TERM is ACTION@first (how often at the "
            "player's first decisions), ACTION@all (how often anywhere), ACTION@INFOSET, or a term of solve "
            "--constrain. A target may also be cvar@LEVEL >= NUMBER, or with <=: the mean payoff in the worst "
            "fraction LEVEL of games.",
        ),
    ] = None
    max_loss: Annotated[
        Fraction,
        typer.Option(
            metavar="E",
            parser=reader(Fraction, minimum=0),
            help="The largest loss against any opponent, relative to the value of the game; with more than two "
            "players, the largest gain of any player from a best response.",
        ),
    ] = Fraction(0)
    player: Annotated[
        int | None,
        typer.Option(metavar="SEAT", parser=whole, help="The player for targets without a seat; by default 0."),
    ] = None
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="OPPONENT",
            help="The other player's strategy: by default uniform when counting frequencies of actions, and the "
            f"equilibrium found when computing cvar. It does not affect the loss: {OPPONENT_HELP}",
        ),
    ] = None


@dataclass(frozen=True)
class _Search:
    """The search for vulnerabilities."""

    degree: Annotated[
        Fraction | None,
        typer.Option(
            metavar="D",
            parser=reader(Fraction, above=1),
            help="Degree δ of the preferred actions (pref-cfr only), above 1; by default 10.",
        ),
    ] = None
    max_iterations: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole,
            help="Iteration limit of each run (pref-cfr only); 100,000 by default, 128 in three_handed.",
        ),
    ] = None

    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="S", parser=seconds, help="Stop after S seconds with the best run so far (pref-cfr only)."
        ),
    ] = None


@dataclass(frozen=True)
class _Curve:
    """Whether to compute the trade-off curve of a target, and where to draw it."""

    curve: Annotated[
        bool,
        typer.Option(
            "--curve", help="Compute the whole trade-off curve of a single target: the loss at each of its values."
        ),
    ] = False
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the trade-off curve (.svg, .png or .pdf), with or without --curve."),
    ] = None

    @property
    def option(self) -> str | None:
        """The option that asks for the curve; ``None`` if none does."""
        return "--curve" if self.curve else "--plot" if self.plot else None


@declared(_options)
def style(
    game: GameArgument,
    *,
    asked: _Asked,
    method: Annotated[str, METHOD] = "highs-simplex",
    search: _Search,
    curve: _Curve,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a profile with the strategy to FILE (.npz).")
    ] = None,
    checkpointing: Checkpointing,
    html: HtmlOption = None,
    json: JsonOption = None,
) -> int:
    """Find a strategy in a given style that loses little to any opponent, or prove that none exists.

    A target sets how often the player should take an action. If all targets can be met within --max-loss, the result is
    the strategy with the smallest loss. Otherwise (exit status 1) it is the strategy within that loss that comes
    closest to the targets. Either way, lower and upper bounds on the smallest loss that meets the targets are proven.
    For games that are too large for linear programs, --method pref-cfr searches for a vulnerability for each target,
    and proves a bound on the strategy's loss.
    """
    if not asked.target:
        raise CommandLineError('style needs --target, such as --target "raise@first >= 0.6"')
    files = checkpointing.files
    check_files({"GAME": game}, out=out, plot=curve.plot, json=json, html=html, profile=True, **files)
    if curve.option and len(asked.target) > 1:
        raise CommandLineError(f"{curve.option} takes a single target, got {len(asked.target)}")
    chosen = choose_method(method, {}, _methods(), "style")
    _check_method(chosen.name, vars(search) | files, curve)
    player, reference = asked.player or 0, asked.reference or _usual_reference(asked.target)
    record = Record(
        json, KEYS, game=game, player=player, max_loss=float(asked.max_loss), reference=reference, method=method
    )
    with record.interruptible(search.time_limit):
        with deferring_interrupts():
            from ..models.saddle import check_two_players
            from ..seqform.strategy import checked_player
            from ..solvers.answers import sizes_of
            from ..solvers.style.calibration import calibrate_style
            from ..solvers.style.targets import reach_style

        loaded = record.load(game)
        with building(loaded, shown=record.shown):
            if chosen.name != _SEARCHES:
                _check_players(method, loaded)
                check_two_players("style", loaded)
        player = checked_player(loaded, player)
        _note_time(chosen.name, loaded, game, asked.target[0])
        others = _reference(asked.reference, loaded, player)
        if curve.option:
            _check_curve(asked.target, loaded, player, others)
        begun = now()
        how: dict[str, Any] = {"player": player, "others": others}
        answer: StyleAnswer | Calibration
        with waiting(f"targets on {loaded.spec}", shown=record.shown) as tell, timed("solving"):
            if chosen.name == _SEARCHES:
                how |= {name: value for name, value in vars(search).items() if value is not None}
                how |= {"checkpoint": checkpointing.read(), "progress": lambda run: tell(_standing(run))}
                # Without parameters it is the default of the search, which differs from that of the method.
                how |= {"method": chosen} if ":" in method else {}
                answer = calibrate_style(loaded, asked.target, asked.max_loss, **how)
            else:
                answer = reach_style(loaded, asked.target, asked.max_loss, method=chosen, **how)
        record["seconds"] = now() - begun
    outputs = Outputs(record)
    found: TradeOff | None = None
    if curve.option:
        what = f"the trade-off on {loaded.spec}"
        with waiting(what, shown=record.shown), answering("trade_off"):
            found = outputs.ask(what, answer.trade_off, None)  # type: ignore[union-attr]

    def told() -> dict[str, Any]:
        curve_found = {} if found is None else {"trade_off": found.to_dict()}
        return {**answer.to_dict(), "sizes": sizes_of(loaded), **curve_found}

    return outputs.deliver(
        exit_status(answer.status),
        lambda: print_style(record, found if curve.curve else None),
        told,
        Output("profile", "--out", out, answer.profile.save, answers=True),
        page(html, lambda: pages().styled(loaded, record, style_sheet(record), answer, found)),
        Output("picture", "--plot", curve.plot, lambda path: answer.plot(path, found)),  # type: ignore[union-attr]
    )


def _check_method(method: str, tuning: dict[str, Any], curve: _Curve) -> None:
    """Reject search options for methods that do not search, and curve options for the method that does."""
    given = [name for name, value in tuning.items() if value is not None]
    if given and method != _SEARCHES:
        raise CommandLineError(f"{flag_of(given[0])} is for --method {_SEARCHES} only; leave it out")
    if curve.option and method == _SEARCHES:
        raise CommandLineError(f"{curve.option} cannot be combined with --method {_SEARCHES}; leave --method out")


def _note_time(method: str, loaded: "Game", game: str, target: str) -> None:
    """Name a faster method if linear programs may take a long time."""
    from ..solvers.choice import prefers_loop

    if method != _SEARCHES and prefers_loop(loaded) and is_large(loaded):
        constrained = shlex.join(["treeplex", "solve", game, "--problem", "constrained", "--constrain", target])
        print_note(f"linear programs of {loaded.spec} may take many minutes; {constrained} needs none")


def _standing(run: "CalibrationRun") -> str:
    """Describe the result of a run."""
    betas, reached = several(short)(run.vulnerabilities), several(short)(run.reached)
    how = f"β = {betas}" if run.degree > 1.0 else "without a preference"
    return f"{count(run.iterations)} iterations {how} reach {reached}, loss {short(run.loss)}"


def _check_curve(target: list[str], game: "Game", player: int, others: "Strategy | None") -> None:
    """Reject targets without a curve, before anything is solved."""
    from ..solvers.style.answer import curve_functional
    from ..solvers.style.tails import read_styles

    read, tails = read_styles(target, game, player, others)
    if tails:
        raise CommandLineError(f"{tails[0].name} has no trade-off curve, because it is not linear; leave out the curve")
    curve_functional(read)


def _check_players(method: str, game: "Game") -> None:
    """Reject games of more than two players for methods that solve linear programs."""
    if game.num_players > 2:
        raise CommandLineError(
            f"style with --method {method} needs two players, but {game.spec} has {game.num_players}; "
            f"--method {_SEARCHES} takes any number"
        )


def _usual_reference(targets: list[str]) -> str:
    """Return the name of the default reference."""
    return "equilibrium" if any("cvar" in target.partition("@")[0] for target in targets) else "uniform"


def _reference(name: str | None, game: "Game", player: int) -> "Strategy | None":
    """Return the other player's strategy for counting actions; ``None`` if not given."""
    from ..solvers.opponents.strategies import opponent_strategy

    if name is None:
        return None
    if game.num_players > 2:
        raise CommandLineError(f"--reference is for two players, but {game.spec} has {game.num_players}; leave it out")
    with waiting(f"the reference, {name}"):
        return opponent_strategy(name, game, 1 - player)


def style_sheet(record: dict[str, Any]) -> Sheet:
    """Return whether the targets can be met, the cost, and the strategy's behaviour as rows."""
    other, counted = 1 - record["player"], record["reference"] != "uniform"
    met = record["violation"] <= 0.0 if record["runs"] else record["feasible"]
    most = " at most" if record["runs"] else ""
    has_epsilon = record["epsilon"] is not None
    what = "this strategy" if met else "the closest strategy"
    allowed = f"{most} of {setting(record['max_loss'])} allowed, for {what}"
    return Sheet(
        [
            Row("game", record["game"]),
            Row("player", record["player"]),
            *ending(record),
            Row("reference", f"with player {other} as {record['reference']}" if counted else None, label="counted"),
            *(_preference_rows(record) if record["runs"] else [_least_loss(record)]),
            Row("exploitability", None if has_epsilon else record["exploitability"], payoff, allowed, "loss"),
            Row("epsilon", record["epsilon"], payoff, allowed),
            Row("game_value", record["game_value"], payoff, f" to player {record['player']}"),
            Row("seconds", seconds_text()),
        ],
        [_targets(record)],
    )


def _least_loss(record: dict[str, Any]) -> Row:
    if record["least_loss"] is None:
        return Row("least_loss", "none: no strategy meets the targets")
    exact, gap = record["least_loss_exact"], record["least_loss_upper"] - record["least_loss_lower"]
    found = record["least_loss"] if exact is None else Fraction(exact)
    return Row("least_loss", found, payoff, f", proven within {error(gap)}")


def print_style(record: dict[str, Any], curve: "TradeOff | None") -> None:
    """Print whether the targets can be met, the cost, and the strategy's behaviour."""
    print_sheet(style_sheet(record))
    if curve is not None:
        print_table(curve.pieces)


def _preference_rows(record: dict[str, Any]) -> list[Row]:
    """Return which actions were preferred, and how strongly."""
    chosen = record["preference"]
    # Preferences for single actions can be typed as options; those for several actions or several targets cannot.
    alone = len(chosen["vulnerabilities"]) == 1
    listed = (
        ", ".join(chosen["prefer"]) if alone else f"the actions that help each target, δ = {setting(chosen['degree'])}"
    )
    rows = [
        Row("prefer", listed if chosen["prefer"] else "nothing: no preference is needed"),
        Row("vulnerability", _betas(record), several(str)),
        Row("runs", len(record["runs"]), count, f" with {count(record['iterations'])} iterations in total"),
    ]
    if chosen["prefer"] and alone and all(re.fullmatch(r".+:[^:]+", text) for text in chosen["prefer"]):
        words = ["solve", record["game"], "--method", "pref-cfr"]
        words += [word for text in chosen["prefer"] for word in ("--prefer", text)]
        words += ["--vulnerability", repr(chosen["vulnerabilities"][0]), "--base", chosen["base"]]
        words += ["--precision", chosen["precision"]] if chosen["precision"] != "double" else []
        words += ["--updates", chosen["updates"], "--tol", "0", "--max-iterations", str(chosen["iterations"])]
        rows.append(Row("repeat_with", shlex.join(["treeplex", *words])))
    return rows


def _betas(record: dict[str, Any]) -> list[str]:
    """Return the vulnerability for each target, with its name if there are several."""
    betas = [short(beta) for beta in record["preference"]["vulnerabilities"]]
    names = [one["target"] for one in record["targets"]]
    return betas if len(betas) == 1 else [f"{beta} for {name}" for beta, name in zip(betas, names, strict=True)]


def _targets(record: dict[str, Any]) -> Table:
    """Return a row per target: the value reached, the range attainable without other targets, and the cost per unit."""
    rows = [
        one | {"alone": None if one["low"] is None else (one["low"], one["high"]), "price": prices.get(one["target"])}
        for prices in [record["multipliers"]]
        for one in record["targets"]
    ]
    columns = (
        Column("target"),
        Column("reached", short, missing="not met with"),
        Column("missed_by", short),
        Column("alone", between(short), "alone, within the loss", "not known"),
        Column("price", price, "price of more"),
    )
    return Table.of(rows, columns)
