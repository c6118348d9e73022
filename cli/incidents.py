"""``treeplex patrol learn``: intervals of the probabilities of attackers from a log of incidents."""

import datetime as dt
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import shown
from ..seqform.sheet import Row, Sheet, count, plain
from .errors import CommandLineError, ExitStatus, deferring_interrupts, print_note
from .files import STANDARD_OUTPUT, Record, check_distinct, check_writable
from .options import JsonOption, reader
from .outputs import Output, Outputs
from .progress import waiting
from .tables import print_sheet

if TYPE_CHECKING:
    from ..models.games.patrol import IncidentLog, Patrol

_inside = reader(float, "a number between 0 and 1, such as 0.95", minimum=0, maximum=1)


def patrol_learn(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG", help="A table of incidents (.csv) with a column type, entry or target, or several of them."
        ),
    ],
    *,
    map: Annotated[  # noqa: A002
        str | None, typer.Option(metavar="FILE", help="The declaration of the patrol (.toml).")
    ] = None,
    confidence: Annotated[
        float, typer.Option(metavar="C", parser=_inside, help="The joint confidence of all intervals; by default 0.95.")
    ] = 0.95,
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="The first date that counts, such as 2026-01-01.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="DATE", help="The last date that counts, such as 2026-12-31.")
    ] = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out incidents with names that the declaration does not have.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the declaration with the intervals to FILE (.toml), in the same folder."
        ),
    ] = None,
    json: JsonOption = None,
) -> int:
    """Learn intervals of the probabilities of attackers from a log of incidents.

    The intervals are Clopper and Pearson's, and hold jointly. Without --out, the tables are printed for the file.
    `treeplex patrol FILE --robust worst` then plans for all probabilities within them.
    """
    if map is None:
        raise CommandLineError("--map is missing, expected one such as --map town.toml")
    check_distinct({"LOG": log, "--map": map}, {"--out": out, "--json": json})
    check_writable(out, "--out")
    if out is not None and (out == STANDARD_OUTPUT or Path(out).suffix.lower() != ".toml"):
        raise CommandLineError(f"--out {out}: expected a file name that ends with .toml")
    if out is not None and Path(out).resolve().parent != Path(map).resolve().parent:
        raise CommandLineError(
            f"--out {out}: expected a file in the folder of {map}, which names its map relative to it"
        )
    dates = [_date(text, option) for text, option in ((since, "--since"), (until, "--until"))]
    with deferring_interrupts():
        from ..models.games.patrol.incidents import read_incidents
        from ..models.games.patrol.patrol_files import read_patrol
    keys = ("log", "map", "confidence", "incidents", "skipped", "intervals", "out")
    record = Record(json, keys, log=log, map=map, confidence=confidence, out=out)
    with record.interruptible(), waiting(f"the incidents of {log}", shown=record.shown):
        patrol = read_patrol(map)
        learned = read_incidents(log, patrol, confidence, since=dates[0], until=dates[1], skip_unknown=skip_unknown)
        written = None if out is None else _joined(map, patrol, learned)
    for reason, number in learned.skipped.items():
        print_note(f"{number:,} of {number + learned.incidents:,} incidents do not count: {reason}")
    for note in learned.notes:
        print_note(note)
    if not learned.incidents:
        print_note("no incident counts: the intervals say nothing")

    def report() -> None:
        rows = [Row("log", log), Row("incidents", learned.incidents, count), Row("confidence", confidence, plain)]
        print_sheet(Sheet(rows, [learned.table]))
        if written is None:
            typer.echo(f"\n{learned.to_toml()}", nl=False)

    def found() -> dict[str, Any]:
        return {
            "incidents": learned.incidents,
            "skipped": dict(learned.skipped),
            "intervals": [vars(one) for one in learned.learned],
        }

    def write(path: str) -> None:
        from ..seqform.interchange.files import write_bytes

        write_bytes(path, (written or "").encode())

    return Outputs(record).deliver(
        ExitStatus.SUCCESS, report, found, Output("declaration", "--out", out, write, answers=True)
    )


def _joined(path: str, patrol: "Patrol", learned: "IncidentLog") -> str:
    """Return a declaration with learned intervals."""
    for table in dict.fromkeys(one.table for one in learned.learned):
        if patrol.uncertainty is not None and getattr(patrol.uncertainty, table):
            raise CommandLineError(f"{path} already has uncertainty.{table}; delete it, so that it can be learned")
    from ..seqform.interchange.files import read_bytes
    from ..seqform.interchange.toml_table import parse_toml

    text = f"{read_bytes(path).decode().rstrip()}\n\n{learned.to_toml()}"
    parse_toml(text.encode())
    return text


def _date(text: str | None, option: str) -> dt.date | None:
    """Parse a date."""
    if text is None:
        return None
    with suppress(ValueError):
        return dt.date.fromisoformat(text)
    raise CommandLineError(f"{option} {shown(text, 60)}: expected a date such as 2026-05-04")
