"""Logs of incidents: intervals of the probabilities of types, entries and goals of attackers."""

import csv
import datetime as dt
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ....seqform.checks import check_number
from ....seqform.display import Displayed
from ....seqform.errors import GameFileError, InvalidGameError, nearest, one_of, shown
from ....seqform.interchange.files import naming, read_bytes
from ....seqform.interchange.page import Content, sheet_table
from ....seqform.sheet import Column, Table, count, share
from ...observations import clopper_pearson_intervals
from .declarations import texts
from .patrol import Patrol
from .uncertainty import Uncertainty

#: The names of columns, by what they say.
_COLUMNS = {
    "types": ("type", "attacker"),
    "entries": ("entry", "from"),
    "targets": ("target", "goal", "place", "to"),
    "date": ("date", "day"),
    "time": ("time",),
}
_SINGLE = {"types": "type of attackers", "entries": "entry", "targets": "goal"}
#: A date on which to compare times of day.
_ANY_DAY = dt.date(2000, 1, 1)
#: The digits of learned intervals, which are rounded outwards.
_DIGITS = 4


@dataclass(frozen=True)
class Learned:
    """The probability of a type, an entry or a goal.

    Attributes
    ----------
    table : {"types", "entries", "targets"}
    name : str
    count : int
        The number of its incidents.
    share : float
        The part of all incidents.
    lower, upper : float
        The interval.
    """

    table: str
    name: str
    count: int
    share: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class IncidentLog(Displayed):
    """Intervals of the probabilities of attackers, from a log of incidents.

    Attributes
    ----------
    path : str
    confidence : float
        The joint confidence of all intervals.
    incidents : int
        The number of incidents that count.
    skipped : mapping of str to int
        The number of incidents that do not count, by the reason.
    learned : tuple of Learned
    notes : tuple of str
        Columns that are not read although their names are close to known ones.
    """

    path: str
    confidence: float
    incidents: int
    skipped: Mapping[str, int]
    learned: tuple[Learned, ...]
    notes: tuple[str, ...] = ()

    @property
    def uncertainty(self) -> Uncertainty:
        """The intervals, as a declaration."""
        tables: dict[str, Any] = {}
        for one in self.learned:
            tables.setdefault(one.table, {})[one.name] = (one.lower, one.upper)
        return Uncertainty(**tables)

    @property
    def table(self) -> Table:
        """The intervals."""
        columns = [Column("table", heading=""), Column("name"), Column("count", count, "incidents")]
        columns += [Column("share", share), Column("lower", share, "at least"), Column("upper", share, "at most")]
        return Table.of([vars(one) for one in self.learned], columns)

    def __str__(self) -> str:
        return str(self.table)

    def _html_blocks(self) -> Iterator[Content]:
        yield sheet_table(self.table, fold=None)

    def to_toml(self) -> str:
        """Return the intervals as the tables of a declaration, to be appended to a file."""
        lines = [f"# From {self.incidents:,} incidents in {Path(self.path).name}, joint confidence {self.confidence:g}"]
        previous = ""
        for one in self.learned:
            if one.table != previous:
                lines.append(f"[uncertainty.{one.table}]")
            previous = one.table
            lines.append(f"{json.dumps(one.name, ensure_ascii=False)} = [{one.lower:g}, {one.upper:g}]")
        return "\n".join(lines) + "\n"


def read_incidents(
    path: str | PathLike[str],
    patrol: Patrol,
    confidence: float = 0.95,
    *,
    since: dt.date | None = None,
    until: dt.date | None = None,
    skip_unknown: bool = False,
) -> IncidentLog:
    r"""Return intervals of the probabilities of types, entries and goals of attackers, from a log of incidents.

    Parameters
    ----------
    path : path-like
        A table (``.csv``) with a line per incident and a header. The columns ``type``, ``entry`` and ``target`` (or
        ``goal``, ``place``) name a type, an entry and a goal of the patrol's attackers; at least one is needed. The
        columns ``date`` and ``time`` are optional. Empty cells do not count.
    patrol : Patrol
    confidence : float
        The joint confidence of all intervals.
    since, until : date, optional
        The first and the last date that count.
    skip_unknown : bool
        Whether to leave out incidents with unknown names, instead of raising an error.

    Returns
    -------
    IncidentLog

    Raises
    ------
    GameFileError
        If the file cannot be read; the message names the line.
    InvalidGameError
        If the confidence is not between 0 and 1.

    Notes
    -----
    The intervals are those of Clopper and Pearson (1934) with Bonferroni's correction: if k intervals are not
    determined by others, each has the confidence 1 − (1 − γ) / k. If incidents are independent and their
    probabilities do not change, all intervals contain the probabilities with a confidence of at least γ. Of two shares
    that sum to 1, one determines the other, and so do their intervals. Ends are rounded outwards to multiples of
    0.0001.

    If the patrol has a clock, incidents whose time is not between its beginning and its end do not count.

    References
    ----------
    C. J. Clopper, E. S. Pearson (1934), "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26.

    Examples
    --------
    >>> import networkx as nx
    >>> from pathlib import Path
    >>> from treeplex.models.games.patrol import Attacker, Patrol, Unit, read_incidents
    >>> town = nx.Graph([("north", "mill"), ("south", "mill"), ("mill", "bank")])
    >>> patrol = Patrol(town, 3, [Unit(base="mill")], [Attacker(["north", "south"], {"bank": 1.0})])
    >>> _ = Path("log.csv").write_text("date,entry\n" + 6 * "2026-03-01,north\n" + 4 * "2026-03-02,south\n")
    >>> print(read_incidents("log.csv", patrol).to_toml(), end="")
    # From 10 incidents in log.csv, joint confidence 0.95
    [uncertainty.entries]
    "north" = [0.2623, 0.8785]
    "south" = [0.1215, 0.7377]
    """
    confidence = check_number(confidence, "confidence", InvalidGameError, "(0, 1)")
    known, skipped = _known(patrol), Counter[str]()
    found = {table: Counter[str]() for table in known}
    incidents = 0
    with naming(path):
        columns, rows, notes = _rows(path)
        tables = [table for table in known if table in columns and len(known[table]) > 1]
        if not tables:
            told = [words for table, words in _SINGLE.items() if table in columns]
            why = f": the patrol has a single {told[0]}, so its probability is 1" if told else ""
            raise GameFileError(
                f"no column says what is uncertain{why}; expected a column type, entry or target, for several types, "
                "entries or goals of attackers"
            )
        for line, row in rows:
            cells = {name: row[place].strip() for name, place in columns.items()}
            reason = _left_out(patrol, cells, since, until, line)
            names = {} if reason else {table: _named(patrol, table, cells[table], known, line) for table in tables}
            if not reason and None in names.values():
                reason = "names that the patrol does not have"
                if not skip_unknown:
                    table = next(table for table, name in names.items() if name is None)
                    raise GameFileError(
                        f"{_COLUMNS[table][0]} is {shown(cells[table], 60)}{nearest(cells[table], known[table])}, "
                        f"expected {one_of(known[table])}",
                        line=line,
                    )
            if reason:
                skipped[reason] += 1
                continue
            incidents += 1
            for table, name in names.items():
                if name:
                    found[table][name] += 1
    comparisons = sum(len(known[table]) - (len(known[table]) == 2) for table in tables)
    learned = [
        _learned(table, name, found[table][name], found[table].total(), confidence, comparisons)
        for table in tables
        for name in known[table]
    ]
    return IncidentLog(fspath(path), confidence, incidents, dict(skipped), tuple(learned), notes)


def _learned(table: str, name: str, seen: int, total: int, confidence: float, comparisons: int) -> Learned:
    interval = clopper_pearson_intervals(seen, total, confidence, comparisons=comparisons)
    unit = 10**_DIGITS
    lower = max(0.0, math.floor(float(interval.lower) * unit) / unit)
    upper = min(1.0, math.ceil(float(interval.upper) * unit) / unit)
    return Learned(table, name, seen, seen / total if total else 0.0, lower, upper)


def _known(patrol: Patrol) -> dict[str, list[str]]:
    """Return the names of types, entries and goals."""
    roads = patrol.map
    entries = (name for one in patrol.attackers for name in texts(list(one.entries), "entries"))
    goals = (name for one in patrol.attackers for name in one.goals)
    return {
        "types": [one.name for one in patrol.attackers],
        "entries": list(dict.fromkeys(roads.shown_nodes[roads.node(name, "entries")] for name in entries)),
        "targets": list(dict.fromkeys(roads.shown_nodes[roads.node(name, "goals")] for name in goals)),
    }


def _rows(path: str | PathLike[str]) -> tuple[dict[str, int], Iterator[tuple[int, list[str]]], tuple[str, ...]]:
    """Return the place of each known column, the rows with their lines, and notes on columns that are not read."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise GameFileError("the file is not a text in UTF-8, expected a table (.csv)") from None
    first = text.partition("\n")[0]
    reader = csv.reader(text.splitlines(), delimiter=max(",;\t", key=first.count))
    header = [cell.strip().casefold() for cell in next(reader, [])]
    columns: dict[str, int] = {}
    for name, called in _COLUMNS.items():
        places = [place for place, cell in enumerate(header) if cell in called]
        if len(places) > 1:
            raise GameFileError(f"two columns are called {one_of([header[place] for place in places])}", line=1)
        if places:
            columns[name] = places[0]
    if not {"types", "entries", "targets"} & columns.keys():
        names = [each for table in ("types", "entries", "targets") for each in _COLUMNS[table]]
        hint = next((nearest(cell, names) for cell in header if nearest(cell, names)), "")
        raise GameFileError(
            f"the header is {shown(first.strip(), 80)}{hint}; expected a column type, entry or target", line=1
        )

    def rows() -> Iterator[tuple[int, list[str]]]:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                raise GameFileError(f"the row has {len(row)} cells, expected {len(header)}", line=reader.line_num)
            yield reader.line_num, row

    known = [name for table, called in _COLUMNS.items() if table not in columns for name in called]
    hints = {cell: nearest(cell, known) for place, cell in enumerate(header) if place not in columns.values()}
    notes = tuple(f"the column {shown(cell, 60)} is not read{hint}" for cell, hint in hints.items() if hint)
    return columns, rows(), notes


def _left_out(patrol: Patrol, cells: Mapping[str, str], since: dt.date | None, until: dt.date | None, line: int) -> str:
    """Return the reason why an incident does not count; empty if it counts."""
    given = " ".join(filter(None, (cells.get("date", ""), cells.get("time", "")))).replace("T", " ")
    date, _, time = given.rpartition(" ") if ":" in given else (given, "", "")
    try:
        day = dt.date.fromisoformat(date.strip()) if date else None
        moment = dt.time.fromisoformat(time.zfill(5)) if time else None
    except ValueError:
        raise GameFileError(
            f"the moment is {shown(given, 60)}, expected a date such as 2026-05-04 and a time such as 22:30", line=line
        ) from None
    if day is not None and ((since is not None and day < since) or (until is not None and day > until)):
        return "other dates"
    if (since is not None or until is not None) and day is None:
        raise GameFileError("the incident has no date, which --since and --until need", line=line)
    if moment is not None and patrol.clock is not None:
        at = dt.datetime.combine(_ANY_DAY, moment.replace(tzinfo=None))
        after = (at - patrol.clock.moment(_ANY_DAY)).total_seconds() % 86_400
        if after > patrol.steps * patrol.clock.seconds:
            return "times outside the patrol"
    return ""


def _named(patrol: Patrol, table: str, given: str, known: Mapping[str, Sequence[str]], line: int) -> str | None:
    """Return the name in the patrol that a cell means; empty for an empty cell, ``None`` for an unknown name."""
    if not given or given in known[table]:
        return given
    if table != "types" and given in patrol.map:
        name = patrol.map.shown_nodes[patrol.map.node(given, table)]
        return name if name in known[table] else None
    return None
