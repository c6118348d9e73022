"""The answer of ``treeplex info`` for hold'em from the blinds to the river: what solving it takes."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from ..seqform.memory import in_words
from ..seqform.sheet import Row, Sheet, listed
from .files import Record, write_json
from .tables import print_rows

if TYPE_CHECKING:
    from ..models.games.holdem.flops_game import HoldemFlops
    from ..models.games.holdem.flops_plan import FlopsPlan
    from ..seqform.game import Game

#: The iterations for which hours are told, and the memory of a worker.
_ITERATIONS, _WORKER = 200, 16 * 2**30


def flops_of(game: "Game") -> "HoldemFlops | None":
    """Return a game as hold'em from the blinds to the river; ``None`` if it is another game."""
    if game.name != "flops":
        return None
    from ..models.games.holdem.flops_game import HoldemFlops

    return game if isinstance(game, HoldemFlops) else None


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
