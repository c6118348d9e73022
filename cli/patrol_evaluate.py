"""``treeplex patrol evaluate``: an old plan on a changed map."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import InvalidStrategyError
from ..seqform.interchange.files import csv_text, write_bytes
from ..seqform.sheet import Column, Row, Sheet, Table, between, count, error, payoff
from .errors import CommandLineError, ExitStatus, deferring_interrupts
from .files import Record, check_files
from .options import JsonOption
from .outputs import Output, Outputs
from .patrol import with_closures
from .progress import waiting
from .tables import print_sheet

if TYPE_CHECKING:
    from ..models.games.patrol import PatrolGame, PatrolPlan
    from ..solvers import CarriedPlan

_KEYS = ("plan", "map", "against", "earns", "status", "lower", "upper", "lost", "violations", "targets", "hours", "out")
#: The most moves that are printed.
_MOST = 20
#: Smaller violations are round-off.
_ROUND_OFF = 1e-6
_LOST = (
    Column("unit"),
    Column("source", heading="from"),
    Column("target", heading="to"),
    Column("frequency", payoff, "expected moves"),
    Column("reason"),
)
_TARGETS = (
    Column("who"),
    Column("goal"),
    Column("earns", payoff),
    Column("other_earns", payoff, "other: earns"),
    Column("detections", payoff),
    Column("other_detections", payoff, "other: detections"),
)
_LIMITS = (Column("name", heading="limit"), Column("violation", error, "violated by"))
_HOURS = ("goal", "from", "to", "units", "other_units")


def patrol_evaluate(
    plan: Annotated[
        str, typer.Argument(metavar="PLAN", help="The plan of a patrol (.npz), written by treeplex patrol … --out.")
    ],
    *,
    map: Annotated[  # noqa: A002
        str | None,
        typer.Option(
            metavar="FILE",
            help="The changed patrol (.toml), or a changed map for the patrol of PLAN; by default nothing changes.",
        ),
    ] = None,
    close: Annotated[
        list[str] | None,
        typer.Option(metavar="PLACE[@T..T]", help="A node, or an edge as 'A -- B', that is closed; may be repeated."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="PLAN", help="Compare with this plan (.npz); by default with the best plan there."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the expected number of units at each goal, by hour, under both plans (.csv)."
        ),
    ] = None,
    json: JsonOption = None,
) -> int:
    """Evaluate an old plan on a changed map, and compare it with the best plan there.

    Moves are matched by the names of units and nodes, and by times. The exit status is 1 if the plan violates a limit.
    """
    check_files({"PLAN": plan}, out=out, json=json)
    if out is not None and Path(out).suffix.lower() != ".csv":
        raise CommandLineError(f"--out {out}: expected a file name that ends with .csv")
    with deferring_interrupts():
        from ..models.games.patrol.plan_file import PatrolPlan
        from ..solvers.patrol_changes import carry_plan
    record = Record(json, _KEYS, plan=plan, map=map, against=against, out=out)
    with record.interruptible(), waiting(f"{plan} on the changed map", shown=record.shown):
        old = PatrolPlan.load(plan)
        game = _changed(old, map, close or [])
        other = None if against is None else PatrolPlan.load(against)
        try:
            here = carry_plan(old, game)
            compared = None if other is None else carry_plan(other, game).strategy
        except InvalidStrategyError as problem:
            raise CommandLineError(str(problem)) from None
        if compared is None and here.best.infeasibility is None:
            compared = here.best.profile[1]
        found = _record(here) | {
            "targets": None if compared is None else list(here.targets(compared)),
            "hours": None if compared is None else list(here.hours(compared)),
        }
    met = max(here.violations.values(), default=0.0) <= _ROUND_OFF
    return Outputs(record).deliver(
        ExitStatus.SUCCESS if met else ExitStatus.FAILURE,
        lambda: print_sheet(_sheet(found, plan, "the best plan" if against is None else against)),
        lambda: found,
        Output(
            "hours",
            "--out",
            out,
            lambda path: write_bytes(path, csv_text(_HOURS, found["hours"] or ()).encode()),
            answers=True,
        ),
    )


def _changed(old: "PatrolPlan", path: str | None, closed: list[str]) -> "PatrolGame":
    """Return the changed patrol as a game."""
    from ..models.games.patrol import PatrolGame, RoadMap
    from ..models.games.patrol.map_files import read_map
    from ..models.games.patrol.patrol_files import read_patrol

    said = old.patrol
    if path is not None and Path(path).suffix.lower() == ".toml":
        said = read_patrol(path)
    elif path is not None:
        said = replace(said, map=RoadMap.from_graph(read_map(path), **said.map.reading))
    return PatrolGame(with_closures(said, closed))


def _record(here: "CarriedPlan") -> dict[str, Any]:
    best = here.best
    return {
        "earns": here.earns,
        "status": str(best.status),
        "lower": best.lower,
        "upper": best.upper,
        "lost": [vars(one) | {"times": list(one.times)} for one in here.lost],
        "violations": here.violations,
    }


def _sheet(found: dict[str, Any], plan: str, other: str) -> Sheet:
    """Return the answer sheet of an old plan."""
    lost, facts = found["lost"], [Row("plan", plan)]
    facts.append(Row("attackers earn", found["earns"], payoff))
    if found["lower"] is not None and found["upper"] is not None:
        facts.append(Row("best plan", (found["lower"], found["upper"]), between(payoff)))
    else:
        facts.append(Row("best plan", found["status"]))
    facts.append(Row("changed moves", len(lost), count))
    tables = []
    if lost:
        tables.append(Table.of(lost[:_MOST], _LOST, "moves that are not the same, the most frequent first"))
    limits = [{"name": name, "violation": amount} for name, amount in found["violations"].items()]
    if limits:
        tables.append(Table.of(limits, _LIMITS))
    if found["targets"] is not None:
        tables.append(Table.of(found["targets"], _TARGETS, f"the best attack on each goal, beside {other}"))
    return Sheet(facts, tables)
