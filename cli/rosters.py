"""``treeplex patrol roster``: routes and crews for the units of a patrol, for many days."""

import datetime as dt
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import InvalidStrategyError, one_of
from ..seqform.sheet import Column, Row, Sheet, Table, count, error, payoff, plain, several
from .errors import CommandLineError, ExitStatus, deferring_interrupts
from .files import STANDARD_OUTPUT, Record, check_files
from .options import JsonOption, reader, whole
from .outputs import Output, Outputs
from .patrol import moment, note_unused
from .progress import waiting
from .tables import print_sheet

if TYPE_CHECKING:
    from ..models.games.patrol import Roster

#: The file formats of rosters.
_ROSTERS = (".csv", ".ics", ".html")
_WORK = (
    Column("name", heading="work"),
    Column("least", plain, "least of a crew"),
    Column("most", plain, "most of a crew"),
    Column("difference", plain),
    Column("bound", plain, "proven least difference"),
)
#: The option for each argument named in the library's messages.
_OPTIONS = {
    "shifts_per_week": "--shifts-per-week",
    "same_street": "--same-street",
    "stratify": "--stratify",
    "crews": "--crews",
    "days": "--days",
    "crew ": "--crew ",
    "fair": "--fair",
}


@dataclass(frozen=True)
class _Rules:
    """The rules for crews."""

    fair: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORK",
            help="Work that crews share equally in addition to shifts: a functional such as travel or 'visits(bank)', "
            "or nights; may be repeated; by default travel.",
        ),
    ] = None
    shifts_per_week: Annotated[
        int | None,
        typer.Option(metavar="K", parser=whole, help="The most shifts of a crew in any seven days in a row."),
    ] = None
    same_street: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            parser=whole,
            help="No crew drives the same street with the same unit on K days in a row.",
        ),
    ] = None


@dataclass(frozen=True)
class _Files:
    """The crew and the file to write."""

    crew: Annotated[
        str | None, typer.Option(metavar="NAME", help="Write only the shifts of this crew; by default of all crews.")
    ] = None
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the roster to FILE: a table (.csv), a calendar (.ics) or a page (.html)."
        ),
    ] = None
    begin: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="When day 1 begins, such as 2026-05-04T08:00 (.ics, and dates in .csv and .html)."
        ),
    ] = None
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="M",
            parser=reader(float, "a number greater than 0, such as 5", minimum=0),
            help="Minutes per step (.ics); by default those of the patrol's clock, or 1.",
        ),
    ] = None

    def check(self) -> None:
        """Raise an error for an output that cannot be a roster."""
        if self.out == STANDARD_OUTPUT:
            raise CommandLineError(
                "--out: a roster cannot be written to standard output; give a file name (or use --json -)"
            )
        if self.out is not None and Path(self.out).suffix.lower() not in _ROSTERS:
            raise CommandLineError(f"--out {self.out}: expected a file name that ends with {one_of(list(_ROSTERS))}")


def patrol_roster(
    plan: Annotated[
        str, typer.Argument(metavar="PLAN", help="The plan of a patrol (.npz), written by treeplex patrol … --out.")
    ],
    days: Annotated[int, typer.Option(metavar="N", parser=whole, help="Number of days.")] = 365,
    crews: Annotated[
        str,
        typer.Option(metavar="N|NAMES", help="The number of crews, or their names separated by commas."),
    ] = "2",
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="S",
            parser=whole,
            help="Random seed that determines the roster; keep it secret. By default, it is random and printed.",
        ),
    ] = None,
    stratify: Annotated[
        str,
        typer.Option(
            metavar="all|month|week|none",
            help="The days among which counts of moves follow the plan; none draws each day independently.",
        ),
    ] = "all",
    *,
    rules: _Rules,
    files: _Files,
    json: JsonOption = None,
) -> int:
    """Draw routes and crews for the units of a plan, for many days.

    Each day has the plan's probabilities, and every move is made on its expected number of days, rounded down or up.
    Crews share the work as equally as possible. The exit status is 1 if `--same-street` cannot be kept.
    """
    check_files({"PLAN": plan}, out=files.out, json=json)
    files.check()
    begins = moment(files.begin)
    note_unused(files.out, {"--begin": files.begin, "--minutes": files.minutes}, {"--crew": files.crew})
    with deferring_interrupts():
        from ..models.games.patrol.plan_file import PatrolPlan
        from ..models.games.patrol.rosters import roster
    keys = ("plan", "days", "crews", "seed", "stratify", "units", "work", "deviation", "repeated", "foresight", "out")
    record = Record(json, keys, plan=plan, out=files.out)
    with record.interruptible(), waiting(f"a roster of {days:,} days", shown=record.shown):
        loaded = PatrolPlan.load(plan)
        names = int(crews) if crews.strip().isdecimal() else [name.strip() for name in crews.split(",")]
        try:
            drawn = roster(
                loaded.game,
                loaded.profile,
                days=days,
                crews=names,
                seed=secrets.randbelow(2**48) if seed is None else seed,  # by default one that nobody can guess
                stratify=stratify,
                fair=rules.fair or "travel",
                shifts_per_week=rules.shifts_per_week,
                same_street=rules.same_street,
            )
            drawn.clock(begins, files.minutes)  # checks both now
            written = drawn if files.crew is None else drawn.of(files.crew)
        except InvalidStrategyError as problem:
            raise CommandLineError(_as_option(str(problem))) from None
        _ = drawn.foresight  # computed before the answer is printed
    if begins is None and loaded.patrol.clock is not None and not str(files.out).lower().endswith(".csv"):
        begins = loaded.patrol.clock.moment(dt.date.today())
    return Outputs(record).deliver(
        ExitStatus.FAILURE if drawn.repeated else ExitStatus.SUCCESS,
        lambda: print_sheet(_sheet(drawn, plan, rules.same_street)),
        lambda: _record(drawn),
        Output(
            "roster",
            "--out",
            files.out,
            lambda path: written.save(path, first=begins, minutes=files.minutes),
            answers=True,
        ),
    )


def _sheet(drawn: "Roster", plan: str, same_street: int | None) -> Sheet:
    """Return the answer sheet of a roster."""
    seen = drawn.foresight
    facts = [
        Row("plan", plan),
        Row("units", drawn.units, several(str)),
        Row("days", len(drawn.days), count),
        Row("crews", drawn.crews, several(str)),
        Row("seed", drawn.seed),
        Row("counts", f"every move within {error(drawn.deviation)} days of its expected number"),
        Row("yesterday", f"today's moves are within {error(seen.yesterday)} of the plan, given yesterday's route"),
        Row("information", f"yesterday's move tells at most {error(seen.bits)} bits about today's in the same step"),
        Row("foresight", f"attackers who also know counts and earlier days earn {payoff(float(seen.earnings.mean()))}"),
        Row("planned", f"attackers who know only the plan earn {payoff(seen.planned)}"),
    ]
    if same_street is not None:
        facts.append(Row("repeated", f"{count(drawn.repeated)} runs of {same_street} days with one street"))
    rows = [
        {"name": one.name, "least": min(one.amounts), "most": max(one.amounts), "difference": one.difference}
        | {"bound": one.bound}
        for one in drawn.work
    ]
    return Sheet(facts, [Table.of(rows, _WORK)])


def _record(drawn: "Roster") -> dict[str, Any]:
    """Return a roster as JSON."""
    seen = drawn.foresight
    return {
        "days": len(drawn.days),
        "crews": list(drawn.crews),
        "seed": drawn.seed,
        "stratify": drawn.stratify,
        "units": list(drawn.units),
        "work": [vars(one) | {"difference": one.difference} for one in drawn.work],
        "deviation": drawn.deviation,
        "repeated": drawn.repeated,
        "foresight": {
            "yesterday": seen.yesterday,
            "bits": seen.bits,
            "distance": float(seen.distances.mean()),
            "earnings": float(seen.earnings.mean()),
            "planned": seen.planned,
        },
    }


def _as_option(text: str) -> str:
    """Return a message that names the option instead of the argument."""
    for argument, option in _OPTIONS.items():
        if text.startswith(argument):
            return option + text[len(argument) :]
    return text
