"""``treeplex validate``: compares exact and iterative solutions, row by row."""

from typing import TYPE_CHECKING, Annotated

import typer

from .checking import Check
from .errors import deferring_interrupts
from .files import check_files, command_line
from .options import Checkpointing, HtmlOption, JsonOption
from .outputs import page
from .tables import console

if TYPE_CHECKING:
    from rich.text import Text

    from ..seqform.interchange.page import Page
    from ..solvers.checkpoint import Checkpoint
    from ..validation import Report, Row, Suite


def validate(
    suite: Annotated[
        str, typer.Option(metavar="quick|full", help="The suite to run; quick takes less than a minute.")
    ] = "quick",
    json: JsonOption = None,
    html: HtmlOption = None,
    *,
    checkpointing: Checkpointing,
) -> int:
    """Solve a suite of problems exactly and iteratively, and compare the solutions.

    The exit status is 1 if a row fails. After Ctrl-C the rows so far are written, and the suite counts as failed.
    """
    check_files({}, json=json, html=html, **checkpointing.files)
    with deferring_interrupts():
        from ..validation.bank import find_suite

    chosen = find_suite(suite)
    check = Check(json)
    report = _run(chosen, checkpointing.read(), check)

    def make_page() -> "Page":
        from ..validation.html_page import html_page

        return html_page(report, command_line())

    return check.deliver(report, page(html, make_page))


def _run(suite: "Suite", checkpoint: "Checkpoint | None", check: Check) -> "Report":
    """Run a suite, and optionally print its rows."""
    from ..validation.suites import Report, run_suite

    if check.shown:
        console().print(f"suite {suite.name}: {suite.summary}", style="dim")
    questions: set[tuple[str, str]] = set()

    def title(row: "Row") -> "Text | None":
        if (row.game, row.question) in questions:
            return None
        questions.add((row.game, row.question))
        return _question(row)

    return check.run(
        lambda keep, advance: run_suite(
            suite,
            keep,
            advance and (lambda case: advance(f"{case.problem} by {case.label} on {case.game}")),
            checkpoint,
        ),
        lambda rows, seconds: Report(suite.name, rows, seconds, interrupted=True),
        len(suite.cases),
        title,
    )


def _question(row: "Row") -> "Text":
    """Return the line printed above the rows of one game and problem."""
    from rich.text import Text

    if row.exact_value is not None:
        held = f"known value {row.exact_value + 0.0:.12g}"
    elif isinstance(row.value, tuple):
        held = f"{len(row.value)} players: only the certificate is compared"
    else:
        held = "value not known: the exact solution's certificate is compared"
    return Text.assemble((row.game, "bold cyan"), "  ", (row.question, "bold"), (f"  {held}", "dim"))
