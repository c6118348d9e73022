"""Hold'em from the blinds to the river: what solving it takes, and what strategies before the flop are worth."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.limits import timed
from ..seqform.memory import in_words
from ..seqform.sheet import Row, Sheet, listed
from .errors import CommandLineError
from .files import Record, write_json
from .options import RUN, Checkpointing, IterationsOption, OnOption, TimeOption, whole
from .progress import solving
from .tables import print_rows

if TYPE_CHECKING:
    from ..models.games.holdem.flops_game import HoldemFlops
    from ..models.games.holdem.flops_plan import FlopsPlan
    from ..seqform.game import Game
    from ..seqform.strategy import Strategy
    from ..solvers.other_parts import WithOtherParts

#: The iterations for which hours are told, and the memory of a worker.
_ITERATIONS, _WORKER = 200, 16 * 2**30


def flops_of(game: "Game") -> "HoldemFlops | None":
    """Return a game as hold'em from the blinds to the river; ``None`` if it is another game."""
    if game.name != "flops":
        return None
    from ..models.games.holdem.flops_game import HoldemFlops

    return game if isinstance(game, HoldemFlops) else None


@dataclass(frozen=True)
class Learning(Checkpointing):
    """How the play after the flop is learnt, to evaluate strategies before the flop."""

    other_flops: Annotated[
        str | None,
        typer.Option(
            metavar="N|FLOPS",
            rich_help_panel=RUN,
            help="Evaluate strategies before the flop on N random flops, or on flops such as 'Kh8h4c:12, 9s5d3c:24' or "
            "flops:25, in place of the game's own.",
        ),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(metavar="S", parser=whole, help="Seed of the random flops; by default 0.", rich_help_panel=RUN),
    ] = None
    max_iterations: IterationsOption = None
    time_limit: TimeOption = None
    on: OnOption = None

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given."""
        given = {one.name.replace("_", "-"): getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in given.items() if value is not None}

    def flops_of(self, game: "HoldemFlops") -> "HoldemFlops":
        """Return a game with the other flops, if there are any.

        Raises
        ------
        CommandLineError, InvalidGameError
        """
        text = self.other_flops
        drawn = text is not None and re.fullmatch("[0-9]+", text)
        if self.seed is not None and not drawn:
            raise CommandLineError(f"--seed {self.seed} is for random flops: give their number with --other-flops")
        if text is None:
            return game
        flops: Any = text if text.startswith("flops") else re.split(r"[,\s]+", text.strip())
        if drawn:
            from ..models.games.holdem.flops import random_flops

            found = random_flops(int(text), self.seed or 0, game.flops.deck)
            flops = [f"{one.board}:{one.weight:g}" for one in found]
        return replace(game.flops, flops=flops, spec="", bets=None).game

    def learn(self, game: "HoldemFlops", found: "Mapping[int, Strategy]", shown: bool) -> "WithOtherParts":
        """Learn the play after the flop with both players' strategies before it."""
        from ..seqform.strategy import Profile
        from ..solvers.other_parts import with_other_parts

        if len(found) != 2:
            raise CommandLineError("--strategy: expected the strategies of both players")
        limits = {name: getattr(self, name) for name in ("max_iterations", "time_limit", "on")}
        with solving(f"both trunks on {game.spec}", self.time_limit, shown=shown) as progress:
            strategies = Profile([found[player] for player in (0, 1)])
            return with_other_parts(strategies, game, progress=progress, checkpoint=self.read(), **limits)


def evaluated(game: "HoldemFlops", learning: Learning, found: "Mapping[int, Strategy]", shown: bool) -> dict[str, Any]:
    """Return the entries of ``evaluate`` for strategies before the flop."""
    measured = learning.flops_of(game)
    with timed("solving"):
        result = learning.learn(measured, found, shown)
    return {
        "players": [0, 1],
        "lower": result.lower,
        "upper": result.upper,
        "exploitability": result.exploitability,
        "least_exploitability": result.least,
        "bounds": [list(pair) for pair in result.bounds],
        "flops": [f"{one.board}:{one.weight:g}" for one in measured.flops.boards],
        "status": str(result.status),
        "message": result.message,
        "iterations": list(result.iterations),
    }


def describe(game: "HoldemFlops", json: str | None) -> int:
    """Show the sizes of a game, and the memory, traffic and hours that solving it takes."""
    from ..models.games.holdem.flops_plan import FlopsPlan as Plan

    flops = game.flops
    plan = Plan.of(flops)
    record = Record(json, ())
    record |= {
        "game": game.spec,
        "parameters": game.parameters,
        "lines": list(flops.lines),
        "trunk_sequences": list(flops.public_form.num_sequences),
        **asdict(plan),
        "iterations": _ITERATIONS,
        "core_hours": plan.hours(_ITERATIONS),
        "workers": plan.workers(_WORKER),
        "worker_memory": _WORKER,
    }
    write_json(record, json)
    if record.shown:
        print_rows(*Sheet(_rows(game, plan)).rows)
    return 0


def _rows(game: "HoldemFlops", plan: "FlopsPlan") -> list[Row]:
    flops = game.flops
    workers = plan.workers(_WORKER)
    most = in_words(plan.most_bytes["half"])
    return [
        Row("game", game.spec),
        Row("flops", f"{plan.flops:,}, which stand for {plan.stands_for:,.6g}: {flops.name}"),
        Row("lines to a flop", "; ".join(flops.lines)),
        Row("sequences", list(flops.public_form.num_sequences), listed, " in the trunk, before the flop"),
        Row("numbers", f"{plan.numbers:,} after the flop, {plan.largest:,} on the largest flop"),
        Row(
            "memory",
            f"{in_words(plan.bytes['half'])} in 16 bits, {in_words(plan.bytes['single'])} in single precision, "
            f"and {in_words(plan.table_bytes)} for tables of hands and boards",
        ),
        Row("largest flop", f"{most} in 16 bits while it is built"),
        Row("traffic", f"{in_words(plan.traffic)} an iteration between the trunk and the flops"),
        Row(
            "time",
            f"about {plan.core_seconds:.3g} core seconds an iteration, {plan.hours(_ITERATIONS):.3g} core hours for "
            f"{_ITERATIONS} iterations (an estimate from one machine)",
        ),
        Row(
            "workers",
            f"{workers:,} with {in_words(_WORKER)} each hold all flops in 16 bits"
            if workers is not None
            else f"a worker needs {most} for the largest flop",
        ),
    ]
