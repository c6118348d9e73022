"""A suite's report as one HTML page that needs no other file."""

import html
import platform
from importlib import metadata

from .suites import Report, Row
from .table import columns_of, decimals, magnitude

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #777; --good: #18794e; --bad: #c62828; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 80rem; margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.5rem; margin-bottom: .25rem; }
p { max-width: 46rem; }
.dim { color: var(--dim); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .55rem; text-align: right; white-space: nowrap; }
th:nth-child(2), td:nth-child(2) { text-align: left; }
th { font-weight: 600; border-bottom: 2px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
tr.game td { text-align: left; font-weight: 600; padding: .8rem 0 .2rem; border-bottom: 1px solid var(--line); }
tr.game td span, tr.game td code { font-weight: 400; }
tr.failure td { text-align: left; color: var(--bad); white-space: normal; }
.pass { color: var(--good); font-weight: 600; }
.FAIL { color: var(--bad); font-weight: 700; }
@media (prefers-color-scheme: dark) { :root { --good: #4cc38a; --bad: #ff6369; --dim: #999; } }
"""

_LIBRARIES = ("numpy", "scipy", "numba", "highspy", "cvxpy")


def html_page(report: Report) -> str:
    """Return a report as a page.

    Parameters
    ----------
    report : Report

    Returns
    -------
    str
        A whole document, styles included, for light and dark screens.

    Examples
    --------
    >>> from treeplex.validation import Report
    >>> from treeplex.validation.html_page import html_page
    >>> html_page(Report("quick", rows=(), seconds=0.0)).startswith("<!doctype html>")
    True
    """
    # A column of zeros says nothing: only some problems have constraints.
    violations = any(row.violation for row in report.rows)
    names = ["verdict", *(column.heading for _, column, _ in columns_of(Row))]
    if violations:
        names.insert(names.index("tolerance"), "violation")
    headings = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = []
    question = None
    for row in report.rows:
        if (row.game, row.question) != question:
            question = (row.game, row.question)
            body.append(_question_line(row, len(names)))
        body.append(_row(row, names))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>treeplex: suite {html.escape(report.suite)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Exact against iterative: suite {html.escape(report.suite)}</h1>
<p class="{_verdict(report.passed)}">{html.escape(report.summary)}</p>
<p>Each question about a game, named by what follows <code>--problem</code> on the command line, is solved exactly and
compared with the known value, if there is one; every other solution is compared with the exact one. The value is what
the problem optimises: for <code>nash</code> what player 0 is paid. The proven error is the exploitability for
<code>nash</code>, and the gap between the proven bounds for every other question. A row passes if the proven error and
the violation of constraints are at most the tolerance, the objectives differ by at most the tolerance or the
proven gap, whichever is larger, and the proven bounds overlap. Certificates are computed from the strategies alone. All
in payoff units.</p>
<div class="scroll">
<table>
<thead><tr>{headings}</tr></thead>
<tbody>
{"".join(body)}</tbody>
</table>
</div>
<p class="dim">{html.escape(_versions())}</p>
</body>
</html>
"""


def _question_line(row: Row, columns: int) -> str:
    known = "" if row.exact_value is None else f' <span class="dim">known value {row.exact_value + 0.0:.12g}</span>'
    asked = f"{html.escape(row.game)} <code>{html.escape(row.question)}</code>"
    return f'<tr class="game"><td colspan="{columns}">{asked}{known}</td></tr>\n'


def _row(row: Row, names: list[str]) -> str:
    verdict = _verdict(row.passed)
    cells = {name: html.escape(text) for name, text in row.cells().items()}
    cells |= {"verdict": f'<span class="{verdict}">{verdict}</span>', "violation": magnitude(row.violation)}
    if isinstance(row.value, float):
        cells["value"] = decimals(row.value, 12)
    line = "".join(f"<td>{cells[name]}</td>" for name in names)
    failure = ""
    if row.failure:
        failure = f'<tr class="failure"><td colspan="{len(names)}">{html.escape(row.failure)}</td></tr>\n'
    return f"<tr>{line}</tr>\n{failure}"


def _verdict(passed: bool) -> str:
    return "pass" if passed else "FAIL"


def _versions() -> str:
    from .. import __version__

    found = [f"treeplex {__version__}", f"Python {platform.python_version()}"]
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found) + f" on {platform.system()} {platform.machine()}"
