"""The page of a report over boards: averages by texture, and tables of boards with filters."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..models.games.holdem.cards import RANKS
from ..models.games.holdem.flops import TEXTURES
from ..seqform.interchange import page
from ..seqform.sheet import chips, count, error, share, typeset
from .board_reports import AVERAGED

if TYPE_CHECKING:
    from .board_reports import BoardReport

#: The largest size of a table of boards, in bytes: 1,755 boards with many sizes.
_ROOM = 4_000_000


def board_page(report: "BoardReport", command: str) -> page.Page:
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


def _facts(report: "BoardReport") -> dict[str, str]:
    mean = report.averages[0]
    worst = max(row["exploitability_percent"] or 0.0 for row in report.records() if row["failure"] is None)
    facts = {
        "pot": f"{count(report.pot)} chips",
        "EV": f"oop {chips(mean['oop_ev'])}, ip {chips(mean['ip_ev'])} chips",
        "equity": f"oop {share(mean['oop_equity'])}, ip {share(mean['ip_equity'])}",
    }
    actions = ", ".join(f"{name} {share(mean[name])}" for name in report.actions)
    return facts | {"oop": actions, "exploitability": f"at most {error(worst)}% of the pot on each board"}


def _textures(report: "BoardReport") -> Iterator[page.Content]:
    """Yield the averages by texture, and for each line."""
    yield page.heading("By texture")
    yield page.prose(
        "A board counts with the number of boards that it stands for, times the weight of all pairs of hands that can "
        "be dealt on it. Frequencies and EVs after a line also count with the probability of the line on each board.",
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
            rows.append([row["value"] or "all", count(row["boards"]), page.share(row["share"]), *cells])
        if line:
            yield page.heading(f"After {line}", 3)
        headings = ["boards", "number", "share", *(_heading(name, line) for name in names)]
        yield page.table(headings, rows, sortable=False, fold=None)


def _boards(report: "BoardReport", solved: Sequence[Mapping[str, Any]]) -> Iterator[page.Content]:
    """Yield the tables of boards, with filters by texture."""
    ordered = sorted(solved, key=lambda record: sorted(map(RANKS.index, record["board"][::2]), reverse=True))[::-1]
    mean, total = report.averages[0], f"mean of {len(ordered)}"
    for line in ("", *report.lines):
        names = _columns(report, line)
        textures = range(2 + len(names), 2 + len(names) + len(TEXTURES))
        rows = [
            [record["board"], page.share(record["share"]), *(_cell(name, record[name]) for name in names)]
            + [record[part] for part in TEXTURES]
            for record in ordered
        ]
        series: dict[int, Sequence[float] | None] = {1: None}
        for place, name in enumerate(names, 2):
            by = report.frequencies.get(name)
            series[place] = [record["share"] * ((record[by] or 0.0) if by else 1.0) for record in ordered]
        headings = ["board", "share", *(_heading(name, line) for name in names)]
        headings += [part.replace("_", " ") for part in TEXTURES]
        made = page.table(
            headings, rows, words=(0, *textures), room=_ROOM, fold=None, more="results.csv contains all boards"
        )
        cells = [
            total,
            page.share(mean["share"]),
            *(_cell(name, mean[name]) for name in names),
            *[None] * len(TEXTURES),
        ]
        yield page.heading(f"Boards, after {line}" if line else "Boards")
        yield page.filtered(made, textures, cells, series, (0, *textures))


def _columns(report: "BoardReport", line: str) -> list[str]:
    """Return the columns of the root, or of a line."""
    if line:
        return [name for name in report.frequencies if name.startswith(f"{line}: ")]
    return [*AVERAGED[:3], *report.actions, AVERAGED[-1]]


def _heading(name: str, line: str) -> str:
    plain = name.removeprefix(f"{line}: ") if line else name
    return _HEADINGS.get(plain, plain)


_HEADINGS = {
    "oop_ev": "EV oop",
    "ip_ev": "EV ip",
    "oop_equity": "equity oop",
    "exploitability_percent": "exploitability %",
}


def _cell(name: str, value: float | None) -> page.Content:
    if value is None:
        return None
    if name.endswith("_ev"):
        return typeset(chips(value))
    return f"{value:.3f}" if name == "exploitability_percent" else page.share(value)
