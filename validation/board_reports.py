"""Reports over boards: the results of a spot on many boards, by texture, and weighted over all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from ..models.games.holdem.cards import RANKS
from ..models.games.holdem.flops import TEXTURES, Texture, WeightedBoard
from ..seqform.checks import is_number
from ..seqform.interchange import page
from ..seqform.interchange.encoding import json_ready
from ..seqform.interchange.files import csv_text
from ..seqform.sheet import chips, count, error, share, typeset
from .sweeps import Sweep, SweepRow

if TYPE_CHECKING:
    from ..models.games.holdem.board_sets import BoardSet

#: The columns of every board before the frequencies, with the key of a solve's JSON and the place in its list.
_NUMBERS: Mapping[str, tuple[str, int | None]] = {
    "oop_ev": ("ev", 0),
    "ip_ev": ("ev", 1),
    "oop_equity": ("equity", 0),
    "ip_equity": ("equity", 1),
}
#: The columns after the frequencies.
_LAST = ("exploitability", "exploitability_percent", "gap", "status", "method", "iterations", "bytes")
#: The statuses of solves that meet the tolerance.
_MET = ("converged", "optimal")
#: The columns that are averaged over boards besides frequencies.
AVERAGED = (*_NUMBERS, "exploitability_percent")

#: The largest size of a table of boards, in bytes: 1,755 boards with many sizes.
_ROOM = 4_000_000
#: The headings of columns on the page, if they differ from their names.
_HEADINGS = {
    "oop_ev": "EV oop",
    "ip_ev": "EV ip",
    "oop_equity": "equity oop",
    "exploitability_percent": "exploitability %",
}
#: The averages on the page after the frequencies.
_AFTER = ("oop_ev", "ip_ev", "oop_equity")


@dataclass(frozen=True, eq=False)
class BoardReport(Sweep):
    """The results of a spot on many boards.

    A board's weight in averages is the number of boards that it stands for, times the weight of all pairs of hands that
    can be dealt together on it: its probability, given both ranges, up to a factor. A line's frequencies and EVs are
    also weighted by the probability of the line on each board.

    Attributes
    ----------
    name : str
        The set of boards, as written.
    boards : tuple of WeightedBoard
        The boards, in the order of the settings.
    reach : tuple of float
        For each board, the weight of all pairs of hands.
    deck : str
    pot : int
        In chips.
    unreached : tuple of str
        Boards on which a range has no hand; they are not solved.
    """

    name: str = ""
    boards: tuple[WeightedBoard, ...] = ()
    reach: tuple[float, ...] = ()
    deck: str = "full"
    pot: int = 0
    unreached: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Sweep, boards: "BoardSet") -> Self:
        """Return the report of a sweep over the boards of a set that its ranges can reach."""
        known = {each.name: getattr(found, each.name) for each in fields(Sweep)}
        pairs = list(zip(boards.boards, boards.reach.tolist(), strict=True))
        reached = [one for one in pairs if one[1] > 0.0]
        return cls(
            **known,
            name=boards.name,
            boards=tuple(one for one, _ in reached),
            reach=tuple(weight for _, weight in reached),
            deck=boards.spot.deck,
            pot=boards.spot.pot,
            unreached=tuple(one.board for one, weight in pairs if weight <= 0.0),
        )

    @property
    def noun(self) -> str:
        """The word for a setting."""
        return "board"

    @property
    def summary(self) -> str:
        """The outcome in one line."""
        missed = f"; {len(self.unreached):,} not reached by the ranges" if self.unreached else ""
        short = sum((row.result or {}).get("status") not in (None, *_MET) for row in self.rows)
        return f"{super().summary}{f'; {short:,} above the tolerance' if short else ''}{missed}"

    @property
    def title(self) -> str:
        """A short title."""
        return f"Report over boards: {self.name}"

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The probability of each board, given both ranges, among the boards of the set."""
        weights = [one.weight * reach for one, reach in zip(self.boards, self.reach, strict=True)]
        return tuple(weight / sum(weights) for weight in weights)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines after which frequencies are reported, besides the root."""
        return tuple(dict.fromkeys(line for row in self.rows for line in (row.result or {}).get("lines", {})))

    def mover(self, line: str) -> str:
        """Return the seat that acts after a line."""
        nodes = ((row.result or {}).get("lines", {}).get(line) for row in self.rows)
        return next((node["mover"] for node in nodes if node and node["mover"]), "no one acts")

    @property
    def actions(self) -> list[str]:
        """The actions at the root."""
        return list(dict.fromkeys(action for row in self.rows for action in (row.result or {}).get("root", {})))

    @cached_property
    def frequencies(self) -> dict[str, str | None]:
        """The columns of frequencies and of EVs after lines, and the column of the line's probability, if any."""
        found: dict[str, str | None] = {}
        for row in self.rows:
            result = row.result or {}
            found |= dict.fromkeys(result.get("root", {}))
            for line, node in result.get("lines", {}).items():
                reached = f"{line}: probability"
                found |= {reached: None} | dict.fromkeys((f"{line}: {name}" for name in _of_line(node)), reached)
        return found

    def records(self) -> list[dict[str, Any]]:
        """Return a flat row for each board: weight, texture, EV, equity, frequencies, certificate, time and memory."""
        by_number = {row.number: row for row in self.rows}
        found = []
        for number, (one, of) in enumerate(zip(self.boards, self.shares, strict=True), 1):
            row = by_number.get(number)
            if row is not None:
                found.append(self._record(one, of, row))
        return found

    def _record(self, one: WeightedBoard, of: float, row: SweepRow) -> dict[str, Any]:
        result: Mapping[str, Any] = row.result or {}
        numbers = dict(result.get("root", {}))
        for line, node in result.get("lines", {}).items():
            numbers |= {f"{line}: probability": node["probability"]}
            numbers |= {f"{line}: {name}": value for name, value in _of_line(node).items()}
        return json_ready(  # type: ignore[no-any-return]
            {"board": one.board, "weight": one.weight, "share": of}
            | asdict(Texture.of(one.board, self.deck))
            | {name: _part(result, key, place) for name, (key, place) in _NUMBERS.items()}
            | {name: numbers.get(name) for name in self.frequencies}
            | {name: result.get(name) for name in _LAST}
            | {"seconds": row.seconds, "failure": row.failure or None, "strategies": row.strategies}
        )

    @cached_property
    def averages(self) -> list[dict[str, Any]]:
        """The averages over all boards, then over those of each texture: a row for each, with their share."""
        records = [record for record in self.records() if record["failure"] is None]
        found = [self._mean("all", "", records)]
        for part in TEXTURES:
            values = {record[part]: [one for one in records if one[part] == record[part]] for record in records}
            found += [self._mean(part, value, values[value]) for value in _in_order(part, values)]
        return found

    def _mean(self, texture: str, value: str, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        row: dict[str, Any] = {"texture": texture, "value": value, "boards": len(records)}
        row["share"] = sum(record["share"] for record in records)
        weighted = dict.fromkeys(AVERAGED) | self.frequencies
        return row | {name: weighted_mean(records, name, by) for name, by in weighted.items()}

    def averages_csv(self) -> str:
        """Return :attr:`averages` as comma-separated values with a header."""
        return csv_text(list(self.averages[0]), self.averages)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain numbers and strings, ready for JSON."""
        found = super().to_dict()
        own = {"boards": self.name, "unreached": list(self.unreached), "averages": json_ready(self.averages)}
        rows = [
            {
                "board": one.board,
                "weight": one.weight,
                "share": share,
                "texture": asdict(Texture.of(one.board, self.deck)),
            }
            for one, share in zip(self.boards, self.shares, strict=True)
        ]
        by_number = {row.number: row.to_dict() for row in self.rows}
        found["rows"] = [rows[number - 1] | row for number, row in sorted(by_number.items())]
        return found | own

    def report(self, x: str | None = None, y: str | None = None, command: str = "") -> page.Page:
        """Return the page of the report: averages by texture, and a table of boards with filters.

        Parameters
        ----------
        x, y : str, optional
            Ignored.
        command : str
            The command that recreates the report.
        """
        return _page(self, command)


def _of_line(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the frequencies and EVs of a node, by the names of their columns after the line."""
    return {**node["actions"], "oop_ev": node["ev"][0], "ip_ev": node["ev"][1]}


def _part(result: Mapping[str, Any], key: str, place: int | None) -> Any:
    value = result.get(key)
    return value if place is None or value is None else value[place]


def weighted_mean(records: Iterable[Mapping[str, Any]], name: str, by: str | None = None) -> float | None:
    """Return the mean of a column, weighted by the share of each board, and by another column if named."""
    total = weight = 0.0
    for record in records:
        value, factor = record[name], 1.0 if by is None else record[by]
        if is_number(value) and is_number(factor):
            total += record["share"] * factor * value
            weight += record["share"] * factor
    return total / weight if weight > 0.0 else None


def _in_order(part: str, values: Iterable[str]) -> Iterator[str]:
    """Yield values of a texture: ranks from aces down, others by their first board."""
    yield from sorted(values, key=RANKS.index, reverse=True) if part == "high_card" else sorted(values)


# The page


def _page(report: BoardReport, command: str) -> page.Page:
    """Return the page of a report over boards."""
    failures = [(row.label, row.failure) for row in report.rows if row.failure]
    solved = [record for record in report.records() if record["failure"] is None]
    blocks: list[page.Content] = [
        page.heading(f"How does the spot play on {report.name}?", 1),
        page.callout(f"{report.summary}.", cls="bad" if failures else "good"),
    ]
    if solved:
        blocks += [page.facts(_facts(report)), *_textures(report), *_boards(report, solved)]
    if failures:
        blocks += [page.heading("Failed"), page.table(["board", "message"], failures, words=(0, 1))]
    if report.unreached:
        blocks += [page.heading("Not reached"), page.prose(", ".join(report.unreached))]
        blocks.append(page.prose("On these boards a range has no hand left.", cls="dim"))
    if command:
        blocks += [page.heading("Again"), page.code_block(command)]
        blocks.append(page.prose("It solves the missing boards, and repeats nothing.", cls="dim"))
    return page.Page(report.title, (*blocks, page.footer()))


def _facts(report: BoardReport) -> dict[str, str]:
    mean, results = report.averages[0], [row.result for row in report.rows if row.result is not None]
    if any(result["problem"] == "constrained" for result in results):
        proven = {
            "gap": f"at most {error(max(result['gap'] for result in results))} chips on each board, with the locks"
        }
    else:
        worst = max(result["exploitability_percent"] for result in results)
        proven = {"exploitability": f"at most {error(worst)}% of the pot on each board"}
    facts = {
        "pot": f"{count(report.pot)} chips",
        "EV": f"oop {chips(mean['oop_ev'])}, ip {chips(mean['ip_ev'])} chips",
        "equity": f"oop {share(mean['oop_equity'])}, ip {share(mean['ip_equity'])}",
    }
    actions = ", ".join(f"{name} {share(mean[name])}" for name in report.actions)
    return facts | {"oop": actions} | proven


def _textures(report: BoardReport) -> Iterator[page.Content]:
    """Yield the averages by texture, and for each line."""
    yield page.heading("By texture")
    yield page.prose(
        "A board's weight is the number of boards that it stands for, times the weight of all pairs of hands that can "
        "be dealt on it. Frequencies and EVs after a line are also weighted by the line's probability on each board.",
        cls="dim",
    )
    for line in ("", *report.lines):
        names = _columns(report, line)
        rows: list[Any] = []
        for row, before in zip(report.averages, [None, *report.averages], strict=False):
            if before and row["texture"] != before["texture"]:
                heading = page.element("td", row["texture"].replace("_", " "), colspan=3 + len(names))
                rows.append(page.element("tr", heading, cls="group"))
            cells = (_cell(name, row[name]) for name in names)
            rows.append([row["value"] or "all", *cells, count(row["boards"]), page.share(row["share"])])
        if line:
            yield page.heading(f"After {line}: {report.mover(line)}", 3)
        headings = ["boards", *(_heading(name, line) for name in names), "number", "share"]
        yield page.pinned(page.table(headings, rows, sortable=False, fold=None))


def _boards(report: BoardReport, solved: Sequence[Mapping[str, Any]]) -> Iterator[page.Content]:
    """Yield the tables of boards, with filters by texture; those after lines are folded."""
    ordered = sorted(solved, key=lambda record: sorted(map(RANKS.index, record["board"][::2]), reverse=True))[::-1]
    mean = report.averages[0]
    for line in ("", *report.lines):
        names = [*_columns(report, line), "share", *(() if line else AVERAGED[-1:])]
        textures = range(1 + len(names), 1 + len(names) + len(TEXTURES))
        rows = [
            [record["board"], *(_cell(name, record[name]) for name in names), *map(record.get, TEXTURES)]
            for record in ordered
        ]
        series: dict[int, Sequence[float] | None] = {}
        for place, name in enumerate(names, 1):
            by = report.frequencies.get(name)
            series[place] = [record["share"] * ((record[by] or 0.0) if by else 1.0) for record in ordered]
        series[1 + names.index("share")] = None
        headings = ["board", *(_heading(name, line) for name in names), *(part.replace("_", " ") for part in TEXTURES)]
        words = (0, *textures)
        made = page.table(headings, rows, words=words, room=_ROOM, fold=None, more="results.csv contains all boards")
        cells = [f"mean of {len(ordered)}", *(_cell(name, mean[name]) for name in names), *[None] * len(TEXTURES)]
        made = page.pinned(page.filtered(made, textures, cells, series, words))
        if line:
            yield page.folded(f"Boards after {line}: {report.mover(line)}", made)
        else:
            yield from (page.heading("Boards"), made)


def _columns(report: BoardReport, line: str) -> list[str]:
    """Return the columns of the root, or of a line."""
    if line:
        return [name for name in report.frequencies if name.startswith(f"{line}: ")]
    return [*report.actions, *_AFTER]


def _heading(name: str, line: str) -> str:
    plain = name.removeprefix(f"{line}: ") if line else name
    return _HEADINGS.get(plain, plain)


def _cell(name: str, value: float | None) -> page.Content:
    if value is None:
        return None
    if name.endswith("_ev"):
        return typeset(chips(value))
    return f"{value:.3f}" if name == "exploitability_percent" else page.share(value)
