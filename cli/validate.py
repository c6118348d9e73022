"""``treeplex validate``: exact against iterative, row by row."""

import contextlib
import time
from typing import TYPE_CHECKING, Annotated

import typer

from ..seqform.errors import nearest
from ..validation.table import decimals, magnitude
from .errors import CommandLineError, ExitStatus, deferring_interrupts, print_error
from .files import STANDARD_OUTPUT, check_files, write_file, write_json
from .options import JsonOption
from .progress import counting
from .tables import RowLines, console, verdict

if TYPE_CHECKING:
    from rich.console import Console

    from ..validation import Case, Report, Row, Suite


def validate(
    suite: Annotated[
        str, typer.Option(metavar="quick|full", help="Which suite: quick takes under a minute.")
    ] = "quick",
    json: JsonOption = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write a page that needs no other file.")] = None,
) -> int:
    """Solve a suite of games exactly and iteratively, answer other questions about them, and compare.

    Exit status 1 if a row fails. After Ctrl-C the rows so far are written, and the suite has not passed.
    """
    if html == STANDARD_OUTPUT:
        html = "./-"
    check_files({}, json=json, html=html)
    with deferring_interrupts():
        from ..validation.bank import SUITES

    if suite not in SUITES:
        raise CommandLineError(f"unknown suite {suite!r}{nearest(suite, SUITES)}; expected one of {', '.join(SUITES)}")
    chosen = SUITES[suite]
    report = _run(chosen, shown=json != STANDARD_OUTPUT)
    if report.interrupted:
        print_error("interrupted")
    write_json(report.to_dict(), json)
    if html is not None:
        from ..validation.html_page import html_page

        write_file(html, html_page(report), "--html")
    if report.interrupted:
        return ExitStatus.INTERRUPTED
    return ExitStatus.SUCCESS if report.passed else ExitStatus.FAILURE


def _run(suite: "Suite", *, shown: bool) -> "Report":
    """Run a suite, a line a row if it is to be shown; after Ctrl-C return the rows so far."""
    from ..validation.report import Report
    from ..validation.suites import run_suite

    out = console()
    lines = _SuiteLines(out)
    rows: list[Row] = []

    def keep(row: "Row") -> None:
        rows.append(row)
        if shown:
            lines.print_row(row)

    if shown:
        out.print(f"suite {suite.name}: {suite.summary}", style="dim")
    begun = time.perf_counter()
    try:
        with counting(out, len(suite.cases)) if shown else contextlib.nullcontext() as advance:

            def begin(case: "Case") -> None:
                if advance is not None:
                    advance(f"{case.problem} by {case.label} on {case.game}")

            report = run_suite(suite, on_row=keep, on_case=begin)
    except KeyboardInterrupt:
        report = Report(suite.name, tuple(rows), time.perf_counter() - begun, interrupted=True)
    if shown:
        out.print(verdict(report.summary, report.passed), soft_wrap=True)
    return report


class _SuiteLines:
    """Prints a suite's rows, those of one game and problem below a line for these.

    Parameters
    ----------
    out : rich.console.Console
        From 100 columns on, names are in full and there are more figures.
    """

    def __init__(self, out: "Console") -> None:
        self.lines = RowLines(out)
        self.question = ("", "")
        wide = out.width >= 100
        names = ("value", "difference", "proven error", "tolerance", "iterations", "seconds")
        self.headings = names if wide else ("value", "differs", "error", "at most", "iter.", "s")
        self.widths = (16, 10, 14, 9, 10, 8) if wide else (12, 8, 8, 7, 7, 6)

    def print_row(self, row: "Row") -> None:
        """Print a row, below a line for its game and problem if it is the first of them."""
        titles = " ".join(f"{name:>{width}}" for name, width in zip(self.headings, self.widths, strict=True))
        self.lines.print_headings(f"{'method':<19} {titles}")
        if (row.game, row.question) != self.question:
            self._print_question(row)
        value, difference = self.widths[:2]
        if isinstance(row.value, tuple):  # takes the room of the difference, which there is none of
            cells = [f"{_value(row):>{value + 1 + difference}}"]
        else:
            cells = [f"{_value(row):>{value}}", f"{magnitude(row.difference):>{difference}}"]
        figures = (
            magnitude(row.error),
            f"{row.tolerance:.0e}",
            "" if row.iterations is None else f"{row.iterations:,}",
            "" if row.seconds is None else f"{row.seconds:.2f}",
        )
        cells += [f"{figure:>{width}}" for figure, width in zip(figures, self.widths[2:], strict=True)]
        self.lines.print_row(" ".join((f"{row.method:<19}", *cells)), row.passed, row.failure)

    def _print_question(self, row: "Row") -> None:
        from rich.text import Text

        self.question = (row.game, row.question)
        heading = Text.assemble((row.game, "bold cyan"), "  ", (row.question, "bold"))
        if row.exact_value is not None:
            heading.append(f"  known value {row.exact_value + 0.0:.12g}", style="dim")
        elif isinstance(row.value, tuple):
            heading.append(f"  {len(row.value)} players: the certificate alone is judged", style="dim")
        else:
            heading.append("  value not known: the exact solution's certificate is judged", style="dim")
        self.lines.out.print(heading, soft_wrap=True)


def _value(row: "Row") -> str:
    if row.value is None:
        return "none"
    if isinstance(row.value, tuple):
        return " ".join(f"{one:.3f}".replace("0.", ".", 1) for one in row.value)
    return decimals(row.value, 9)
