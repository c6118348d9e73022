"""``treeplex warmup``: compiles the loops in advance, for example when a container image is built."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import nearest, shown
from ..seqform.limits import now
from ..seqform.sheet import Column, Table
from .errors import CommandLineError, ExitStatus, deferring_interrupts
from .files import Record, check_files
from .options import JsonOption
from .progress import waiting
from .tables import print_table

if TYPE_CHECKING:
    from ..solvers import Solution


def warmup(
    loops: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LOOP]...", help="The loops to compile; by default all.", show_default=False),
    ] = None,
    json: JsonOption = None,
) -> int:
    """Compile the loops of iterative methods in advance, so that later solves start at once.

    Each loop is compiled once per machine and cached in the folder shown by `treeplex doctor`. Otherwise a loop is
    compiled on its first use.
    """
    for name in loops or ():
        if name not in _LOOPS:
            hint, known = nearest(name, _LOOPS), ", ".join(_LOOPS)
            raise CommandLineError(f"unknown loop {shown(name, 60)}{hint}; expected one of {known}")
    check_files({}, json=json)
    record = Record(json, ("loops",))
    done: list[dict[str, Any]] = []
    with record.interruptible():
        with deferring_interrupts():
            from ..solvers.compilation import compiled_at_once
            from ..solvers.progress import showing
        for name in dict.fromkeys(loops or _LOOPS):
            waited: list[str] = []
            begun = now()
            with waiting(name, shown=record.shown), showing(waited.append), compiled_at_once():
                _LOOPS[name]()
            done.append({"name": name, "compiled": bool(waited), "seconds": now() - begun})
            record.update(loops=done)
        record.write()
    if record.shown:
        words = {True: "compiled", False: "already compiled"}
        rows = [(one["name"], words[one["compiled"]], f"{one['seconds']:.1f} s") for one in done]
        print_table(Table([Column(heading) for heading in ("loop", "", "took")], rows))
    return ExitStatus.SUCCESS


def trial(method: str, game: str = "kuhn", constraint: str = "", **limits: Any) -> "Solution":
    """Return the equilibrium of a small game, possibly under a constraint."""
    from .. import ConstrainedNash, Nash, load_game, solve
    from ..models.constraints import parse_constraint

    loaded = load_game(game)
    problem = ConstrainedNash(loaded, parse_constraint(constraint, loaded)) if constraint else Nash(loaded)
    return solve(problem, method, **limits)


_once = partial(trial, max_iterations=1, tol=0.0)


def _in_curves() -> None:
    from .. import ConstrainedNash, Strategy, load_game, solve
    from ..models.constraints import DistanceConstraint
    from ..models.distances import L2Distance

    game = load_game("kuhn")
    ball = DistanceConstraint(L2Distance(Strategy.uniform(game, 0)), 1.0, "ball")
    solve(ConstrainedNash(game, [ball]), "ccfr", max_iterations=1, tol=0.0)


def _in_parts() -> None:
    from .. import CDBR, Strategy, load_game, solve

    game = load_game("kuhn")
    solve(CDBR(game, Strategy.uniform(game, 1), lookahead=1), "cfr+", max_iterations=1, tol=0.0)


def _searches() -> None:
    from .. import Profile, load_game
    from ..solvers import ApproximateBestResponse

    game = load_game("kuhn")
    response = ApproximateBestResponse(game, Profile.uniform(game), player=0, seed=0)
    response.run(games=1)
    response.payoff(games=2)


def _several() -> None:
    from ..solvers.regret.joint import warm

    warm()


def _on_cores(how: str) -> None:
    _once(f"es-mccfr:{how}=2")
    _once(f"es-pref-cfr:{how}=2")


def _spots(*numbers: str, adding: bool = False) -> None:
    import numpy as np

    from ..solvers.public.driver import warm

    for number in numbers:
        warm(getattr(np, number), adding=adding)


#: The trials that compile the loops, by name.
_LOOPS: dict[str, Callable[[], Any]] = {
    "regret": partial(_once, "cfr+"),
    "regret-branches": partial(_once, "cfr+", "leduc:ranks=7"),
    "regret-single": partial(_once, "cfr+:precision=single"),
    "regret-players": partial(_once, "cfr+", "kuhn:players=3"),
    "regret-operator": _several,
    "flows": partial(_once, "cfr+", "transit:width=2"),
    "flows-constraints": partial(_once, "ccfr", "transit:width=2", "risk <= 0.1"),
    "constraints": partial(_once, "ccfr", "kuhn", "0/K_:b <= 1/2"),
    "preferences": partial(_once, "pref-cfr"),
    "curves": _in_curves,
    "depth-limited": _in_parts,
    "sampling": partial(_once, "es-mccfr"),
    "sampling-preferences": partial(_once, "es-pref-cfr"),
    "sampling-constraints": partial(_once, "es-ccfr", "kuhn", "0/K_:b <= 1/2"),
    "sampling-batches": partial(_on_cores, "batch"),
    "sampling-threads": partial(_on_cores, "threads"),
    "search": _searches,
    "spots": partial(_spots, "float32"),
    "spots-double": partial(_spots, "float64"),
    "spots-half": partial(_spots, "uint16"),
    "spots-rows": partial(_spots, "float32", adding=True),
}
