"""A suite's report as one HTML page that needs no other file."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from ..seqform.interchange.page import Content, Page, code, code_block, element, emphasis, footer, heading, prose, table
from ..seqform.sheet import decimals, magnitude
from .suites import Report, Row
from .table import columns_of


def html_page(report: Report, again: str = "") -> Page:
    """Return a report as a page.

    Parameters
    ----------
    report : Report
    again : str
        The command that recreates the page.

    Returns
    -------
    Page

    Examples
    --------
    >>> from treeplex.validation import Report
    >>> from treeplex.validation.html_page import html_page
    >>> html_page(Report("quick", rows=(), seconds=0.0))
    Page('treeplex: suite quick')
    """
    # Omit a column of zeros: only some problems have constraints.
    violations = any(row.violation for row in report.rows)
    names = ["verdict", *(column.heading for _, column, _ in columns_of(Row))]
    if violations:
        names.insert(names.index("tolerance"), "violation")
    return Page(
        f"treeplex: suite {report.suite}",
        (
            heading(f"Exact against iterative: suite {report.suite}", 1),
            prose(emphasis(report.summary, _verdict(report.passed)[1])),
            prose(
                "Each question about a game, named by the options after ",
                code("--problem"),
                " on the command line, is solved exactly and compared with the known value, if there is one; every "
                "other solution is compared with the exact one. The value is what the problem optimises: for ",
                code("nash"),
                " player 0's payoff. The proven error is the exploitability for ",
                code("nash"),
                ", the largest regret for ",
                code("epsilon-nash"),
                ", and the gap between the proven bounds for every other question. A row passes if the proven error "
                "and the violation of constraints are at most the tolerance, the objectives differ by at most the "
                "tolerance or the proven gap, whichever is larger, and the proven bounds overlap. Responses in steps "
                "are compared step by step, and styles by ",
                code("pref-cfr"),
                " with the best style at the same loss. Certificates are computed from the strategies alone. All "
                "numbers are in payoff units.",
            ),
            table(names, _rows(report, names), words=(0, 1), sortable=False, fold=None),
            *([heading("Recreate this page"), code_block(again)] if again else []),
            footer(),
        ),
    )


def _rows(report: Report, names: list[str]) -> Iterator[Element | list[Content]]:
    """Return the rows of a report, with a line above the rows of each question, and one below each row that failed."""
    question = None
    for row in report.rows:
        if (row.game, row.question) != question:
            question = (row.game, row.question)
            known = None
            if row.exact_value is not None:
                known = element("span", f" known value {row.exact_value + 0.0:.12g}", cls="dim")
            yield _line([f"{row.game} ", code(row.question), known], len(names), "group")
        word, colour = _verdict(row.passed)
        cells: dict[str, Content] = {
            **row.cells(),
            "verdict": emphasis(word, colour),
            "violation": magnitude(row.violation),
        }
        if isinstance(row.value, float):
            cells["value"] = decimals(row.value, 12)
        yield [cells[name] for name in names]
        if row.failure:
            yield _line([row.failure], len(names), "bad")


def _line(content: list[Content], columns: int, cls: str) -> Element:
    return element("tr", element("td", *content, colspan=columns), cls=cls)


def _verdict(passed: bool) -> tuple[str, str]:
    """Return a verdict in words, and its colour."""
    return ("pass", "good") if passed else ("FAIL", "bad")
