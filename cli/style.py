"""``treeplex style``: a strategy in a style that is given as targets, and what the style costs."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import OPPONENT_HELP, fraction, load, seat, whole
from .errors import CommandLineError, ExitStatus, print_error
from .interrupts import deferring_interrupts
from .methods import choose_method
from .options import GameArgument, JsonOption
from .output import STANDARD_OUTPUT, check_distinct, check_writable, write_json, writing
from .progress import waiting
from .solve import exit_status
from .style_table import print_style, style_record, trade_off_record

if TYPE_CHECKING:
    from ..seqform.game import Game
    from ..seqform.strategy import Strategy
    from ..solvers.parametric.trade_off import TradeOff
    from ..solvers.style.answer import StyleAnswer
    from ..solvers.style.calibration import Calibration

#: What targets can be met by: methods that solve linear programs, and one for games too large for these.
_METHODS = ("highs-simplex", "highs", "highs-ipm-crossover", "cvxpy", "rational", "pref-cfr")


def style(
    game: GameArgument,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="T",
            help='What the player is to do, such as "raise@first >= 0.6"; may be repeated: TERM+… >= NUMBER, also <= '
            "and ==, and 'as NAME' after it. TERM is ACTION@first (how often at the player's first decisions), "
            "ACTION@all (how often anywhere), ACTION@INFOSET, or what solve --constrain takes.",
        ),
    ] = None,
    max_loss: Annotated[
        str,
        typer.Option(metavar="E", help="What the strategy may lose to anyone, compared with the value of the game."),
    ] = "0",
    player: Annotated[
        int | None,
        typer.Option(metavar="0|1", parser=seat, help="Whose actions, where a target names no seat: 0 by default."),
    ] = None,
    reference: Annotated[
        str,
        typer.Option(
            metavar="OPPONENT",
            help="How the other player plays where it is counted how often an action is taken, and not in what may "
            f"be lost: {OPPONENT_HELP}",
        ),
    ] = "uniform",
    method: Annotated[
        str,
        typer.Option(
            metavar="M",
            help=f"How: {', '.join(_METHODS[:-2])}; rational, which decides in fractions; or pref-cfr, for games too "
            "large for linear programs: it finds vulnerabilities that meet the targets.",
        ),
    ] = "highs-simplex",
    degree: Annotated[
        str | None, typer.Option(metavar="D", help="Of the preferred actions in pref-cfr, above 1; 10 by default.")
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(metavar="N", parser=whole, help="The most that a run of pref-cfr may take: 100,000.")
    ] = None,
    curve: Annotated[
        bool, typer.Option("--curve", help="Find the whole trade-off of one target: what every value of it costs.")
    ] = False,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the trade-off (.svg, .png or .pdf); with --curve or without."),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the strategy, in a profile, to FILE (.npz).")
    ] = None,
    json: JsonOption = None,
) -> int:
    """Find a strategy in a style that loses at most so much to anyone, or prove that there is none.

    Targets say how often the player is to do what. If all of them can be met within the loss, the answer is the
    strategy that loses least; if not (exit status 1), the one that comes nearest within it. Either way the least loss
    at which the targets hold is proven from both sides. In games that are too large for that --method pref-cfr finds
    how vulnerable to be for each target, and proves what the strategy may lose.
    """
    if not target:
        raise CommandLineError('style needs --target, such as --target "raise@first >= 0.6"')
    chosen_seat = 0 if player is None else player
    allowed = fraction("--max-loss", max_loss)
    _check_files(game, out, json, plot)
    if (curve or plot) and len(target) > 1:
        raise CommandLineError(f"--{'curve' if curve else 'plot'} is of one target, and there are {len(target)}")
    if method not in _METHODS:
        choose_method(method, {}, None)  # says so, if there is no such method at all
        raise CommandLineError(f"--method {method} is not for style; expected one of {', '.join(_METHODS)}")
    iterative = method == "pref-cfr"
    tuning = _tuning(iterative, degree, max_iterations)
    if iterative and (curve or plot):
        raise CommandLineError(
            f"--{'curve' if curve else 'plot'} does not go with --method pref-cfr; leave --method out"
        )
    shown = json != STANDARD_OUTPUT
    known: dict[str, Any] = {
        "game": game, "player": chosen_seat, "max_loss": float(allowed), "reference": reference, "method": method,
    }  # fmt: skip
    try:
        with deferring_interrupts():
            from ..models.saddle import check_two_players
            from ..solvers.style.calibration import calibrate_style
            from ..solvers.style.targets import reach_style

        loaded = load(game)
        known |= {"game": loaded.spec, "parameters": loaded.parameters}
        with waiting(f"building {loaded.spec}", shown=shown):
            check_two_players("style", loaded)
        others = _reference(reference, loaded, chosen_seat)
        begun = time.perf_counter()
        found: TradeOff | None = None
        answer: StyleAnswer | Calibration
        with waiting(f"targets on {loaded.spec}", shown=shown):
            if iterative:
                answer = calibrate_style(loaded, target, allowed, player=chosen_seat, others=others, **tuning)
            else:
                answer = reach_style(loaded, target, allowed, player=chosen_seat, others=others, method=method)
        known["seconds"] = time.perf_counter() - begun
        if not iterative and (curve or plot):
            with waiting(f"trade-off on {loaded.spec}", shown=shown):
                found = answer.trade_off()  # type: ignore[union-attr]
                known["trade_off"] = trade_off_record(found)
    except KeyboardInterrupt:
        print_error("interrupted")
        write_json(style_record(known), json)
        return ExitStatus.INTERRUPTED
    if plot is not None:
        answer.plot(plot, found)  # type: ignore[union-attr]
    if out is not None:
        with writing(out, "--out"):
            answer.profile.save(out)
    record = style_record(known, answer)
    write_json(record, json)
    if shown:
        print_style(record, {"profile": out, "picture": plot, "JSON": json}, curve=curve)
    return exit_status(answer.status)


def _check_files(game: str, out: str | None, json: str | None, plot: str | None) -> None:
    if out == STANDARD_OUTPUT:
        raise CommandLineError("--out: a profile is binary and cannot go to standard output; give a file name")
    check_distinct(game=game, out=out, json=json, plot=plot)
    if plot is not None and Path(plot).suffix.lower() not in (".svg", ".png", ".pdf"):
        raise CommandLineError(f"--plot {plot}: expected a file name that ends with .svg, .png or .pdf")
    if out is not None and Path(out).suffix.lower() != ".npz":
        raise CommandLineError(f"--out {out}: a profile is written as .npz; name it so (--json writes JSON)")
    for path, option in ((out, "--out"), (plot, "--plot"), (json, "--json")):
        check_writable(path, option)


def _tuning(iterative: bool, degree: str | None, max_iterations: int | None) -> dict[str, Any]:
    """Return what is said of runs of pref-cfr."""
    given: dict[str, Any] = {"degree": degree, "max_iterations": max_iterations}
    given = {name: value for name, value in given.items() if value is not None}
    if given and not iterative:
        raise CommandLineError(f"--{next(iter(given)).replace('_', '-')} is for --method pref-cfr alone; leave it out")
    if degree is not None:
        given["degree"] = fraction("--degree", degree)
        if given["degree"] <= 1:
            raise CommandLineError(f"--degree {degree!r}: expected a number above 1, such as 10")
    return given


def _reference(name: str, game: "Game", player: int) -> "Strategy | None":
    """Return the strategy of the other player with which actions are counted; nothing for uniform play."""
    from ..solvers.opponents.strategies import opponent_strategy

    if name.strip() == "uniform":
        return None
    with waiting(f"the reference, {name}"):
        return opponent_strategy(name, game, 1 - player)
