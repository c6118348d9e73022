"""Generate the page of all papers' claims, ``docs/reference/papers.md``.

    python benchmarks/claims.py                write the page
    python benchmarks/claims.py FILE...        first store the claims in reports of `treeplex reproduce NAME --json
        FILE`

``papers.toml`` lists the contents of the papers, and ``papers.json`` stores settings and claims of one report per
experiment and size.
"""

import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from treeplex.validation.papers import EXPERIMENTS

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
CATALOGUE, STORED, PAGE = (REFERENCE / f"papers.{suffix}" for suffix in ("toml", "json", "md"))
STATUSES = ("met", "not met", "refuted", "open", "no claim")
#: The largest number of cases of a claim that the page lists one by one.
CASES = 12
#: The entries of a report that are stored.
KEPT = ("version", "settings", "rows_passed", "passed")
HEAD = """\
# The papers, claim by claim

This page lists the algorithms, theorems, figures and tables of each paper under the paper's own names.
For each of them it gives the code, the test, and the status of its claims:

| status | means |
|---|---|
| met | the measurement, or a test, agrees with the claim |
| not met | the measurement disagrees; the likely reason follows |
| refuted | the claim is false, and the named test is a counter-example |
| open | not decided here: not measured at this size, or not reproduced |
| no claim | a drawing without results, or a theorem that the paper cites |

The numbers for figures and tables are from the command that is shown above them, in the full size where possible.
An experiment passes if every row meets its criterion and every claim is met or refuted.
Test paths are relative to `tests/`, and Python names to `treeplex`.

<!-- Made by benchmarks/claims.py from papers.toml and papers.json: do not edit. -->
"""


def load() -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the papers, and the reports by experiment."""
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    return tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["papers"], stored


def kept(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored part of a report: the paper's claims, without measurements of other quantities."""
    claims = [claim for claim in report["paper"]["claims"] if claim["status"] != "no claim"]
    return {name: report[name] for name in KEPT} | {"claims": claims}


def tally(claims: Iterable[Mapping[str, Any]]) -> str:
    """Return the number of claims with each status, in words."""
    counts = Counter(claim["status"] for claim in claims)
    return ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status]) or "no claim in the text"


def page(papers: Sequence[Mapping[str, Any]], stored: Mapping[str, Any]) -> str:
    """Return the text of the page."""
    parts, shown = [HEAD], set()
    for paper in papers:
        links = [
            linked(f"experiments/{paper['page']}.md"),
            *(linked(f"../theory/{one}.md") for one in paper.get("theory", ())),
        ]
        parts.append(f"\n## {paper['title']}\n\n{paper['citation']}. Pages: {', '.join(links)}.\n")
        parts.append(
            table(("in the paper", "what", "where", "test", "status"), map(item_cells(stored), paper["items"]))
        )
        for item in paper["items"]:
            name = item.get("experiment")
            if name and name not in shown and largest(stored[name])["claims"]:
                shown.add(name)
                report, option = largest(stored[name]), " --full" if "full" in stored[name] else ""
                command = f"`treeplex reproduce {name}{option}`, {settings(report)}:"
                parts.append(f"\n### {paper['title']}: {item['name']}\n\n{command}\n")
                parts.append(table(("claim", "paper", "measured", "status"), claim_lines(report["claims"])))
    return "\n".join(parts)


def linked(path: str) -> str:
    """Return a link to a page, relative to the folder of the page of claims, with the page's title."""
    lines = (REFERENCE / path).read_text(encoding="utf-8").splitlines()
    title = next(line for line in lines if line.startswith("# "))
    return f"[{title.removeprefix('# ')}]({path})"


def item_cells(stored: Mapping[str, Any]) -> Any:
    """Return a function that makes the table cells of an entry of the catalogue."""

    def cells(item: Mapping[str, Any]) -> tuple[str, ...]:
        name = item.get("experiment")
        where = [f"`treeplex reproduce {name}`"] if name else []
        tests = [item["counterexample"]] if "counterexample" in item else item.get("tests", [])
        status = item.get("status") or tally(largest(stored[name])["claims"])
        words = "; ".join(item[key] for key in ("measured", "reason", "full") if key in item)
        return (
            item["name"],
            item.get("says", "see below" if name else ""),
            "<br>".join([*where, *(f"`{one.removeprefix('treeplex.')}`" for one in item.get("where", ()))]),
            "<br>".join(f"`{one.removeprefix('tests/')}`" for one in tests),
            f"**{status}**: {words}" if words else f"**{status}**",
        )

    return cells


def claim_lines(claims: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return a line of the table for each claim; a claim about more than :data:`CASES` cases has one line.

    The quantity of such a claim is ``case: quantity``, with the same words for each case.
    """
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for claim in claims:
        groups.setdefault((claim["quantity"].partition(": ")[2] or claim["quantity"], claim["paper"]), []).append(claim)
    if max(map(len, groups.values())) <= CASES:
        return [claim_cells(claim) for claim in claims]
    return [summary_cells(what, own) for (what, _), own in groups.items()]


def summary_cells(what: str, claims: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the table cells of a claim about several cases, with the cases in which it is not met."""
    unmet = [claim for claim in claims if claim["status"] != "met"]
    listed = unmet if len(unmet) < len(claims) else []
    cases = "; ".join(f"{claim['quantity'].partition(': ')[0]}: {number(claim['measured'])}" for claim in listed)
    numbers = [float(part) for claim in claims for part in str(claim["measured"]).split(" to ")]
    words = [*dict.fromkeys(map(why, unmet)), *filter(None, [cases])]
    return (
        f"{what} ({len(claims)} cases)",
        number(claims[0]["paper"]),
        f"{number(min(numbers))} to {number(max(numbers))}",
        ": ".join([f"**{tally(claims)}**", *filter(None, ["; ".join(words)])]),
    )


def claim_cells(claim: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the table cells of a claim that an experiment judges."""
    words = why(claim)
    status = f"**{claim['status']}**: {words}" if words else f"**{claim['status']}**"
    return claim["quantity"], number(claim["paper"]), number(claim["measured"]), status


def why(claim: Mapping[str, Any]) -> str:
    """Return the reason of a verdict and the test that contains a counter-example, in words."""
    test = claim["counterexample"].removeprefix("tests/")
    return "; ".join(filter(None, (claim["reason"], test and f"`{test}`")))


def number(value: Any) -> str:
    """Format a value with four digits."""
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def largest(reports: Mapping[str, Any]) -> Any:
    """Return the report of the full size if there is one, otherwise that of the quick size."""
    return reports.get("full", reports["quick"])


def size(report: Mapping[str, Any]) -> str:
    """Return the size of a report: full or quick."""
    experiment = EXPERIMENTS[report["name"]]
    for name, one in (("quick", experiment.quick()), ("full", experiment.full())):
        if {**one.settings(), "jobs": None} == {**report["settings"], "jobs": None}:
            if len(report.get("rows", ())) not in (0, one.num_rows):
                raise SystemExit(
                    f"{report['name']}: {len(report['rows'])} of {one.num_rows} rows; the run was interrupted"
                )
            return name
    raise SystemExit(f"{report['name']}: the settings are neither those of the quick size nor those of the full size")


def settings(report: Mapping[str, Any]) -> str:
    """Return the settings of a run in words."""
    return ", ".join(
        f"{name} {' '.join(map(str, value)) or 'none' if isinstance(value, list) else value}"
        for name, value in report["settings"].items()
        if name != "jobs" and value is not None
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines) + "\n"


def main(files: Sequence[str]) -> None:
    """Store the claims of reports, and write the page."""
    papers, stored = load()
    for file in files:
        report = json.loads(Path(file).read_text(encoding="utf-8"))
        stored.setdefault(report["name"], {})[size(report)] = kept(report)
    if files:
        STORED.write_text(
            json.dumps(dict(sorted(stored.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    PAGE.write_text(page(papers, stored), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
