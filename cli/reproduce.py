"""``treeplex reproduce``: a figure or table of a paper, its data and its picture."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import nearest, shown
from ..seqform.sheet import Column, Table, count, error
from .checking import Check
from .errors import CommandLineError, ExitStatus, deferring_interrupts
from .files import STANDARD_OUTPUT, check_distinct, check_files, make_folder, write_json
from .options import Checkpointing, JsonOption
from .outputs import Output
from .tables import console, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from ..solvers.checkpoint import Checkpoint
    from ..validation.papers import Claim, Experiment, Reproduction


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A figure or table, as listed by --list; without NAME, the list is shown."),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick",
            help="Size of the run: that of the paper or close to it, or a size that takes a minute or two.",
        ),
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the figures and tables.")] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Write NAME.json, NAME.csv, NAME.svg and NAME.png to the folder DIR."),
    ] = None,
    *,
    checkpointing: Checkpointing,
    json: JsonOption = None,
) -> int:
    """Compute a figure or table of a paper, check it, and draw it.

    Each row has its own criterion. Each claim of the paper gets a verdict: met, not met, refuted by a test, or open if
    the run cannot decide. The exit status is 1 if a row misses its criterion, or a claim is not met or open. After
    Ctrl-C the rows so far are written, and the check counts as failed. Pictures need matplotlib.
    """
    check_distinct({}, {"--out": out, "--json": json})
    with deferring_interrupts():
        from ..validation.papers import EXPERIMENTS

    if name is None or listed:
        if name is not None or full or out is not None or checkpointing != Checkpointing():
            raise CommandLineError("--list (or no NAME) only lists figures and tables; leave the other arguments out")
        check_files({}, json=json)
        _list(list(EXPERIMENTS.values()), json)
        return ExitStatus.SUCCESS
    if name not in EXPERIMENTS:
        hint = nearest(name, EXPERIMENTS)
        known = ", ".join(EXPERIMENTS)
        raise CommandLineError(f"unknown experiment {shown(name, 60)}{hint}; expected one of {known}")
    if out is not None:
        with deferring_interrupts():
            from ..seqform.interchange.pictures import require_matplotlib

            require_matplotlib()
        make_folder(out, "--out")
    check_files({}, json=json, **checkpointing.files)
    kind = EXPERIMENTS[name]
    kept = checkpointing.read()
    check = Check(json)
    found = _run(kind.full() if full else kind.quick(), kept, check)
    return check.deliver(found, Output("results", "--out", out, found.write, answers=True))


def _list(kinds: "list[type[Experiment[Any]]]", json: str | None) -> None:
    """List the experiments."""
    entries = [
        {"name": one.name, "title": one.title, "paper": one.paper.citation, "figure": one.figure} for one in kinds
    ]
    write_json({"experiments": entries}, json)
    if json == STANDARD_OUTPUT:
        return
    rows = [(one.name, one.figure, one.title) for one in kinds]
    print_table(Table([Column(heading) for heading in ("name", "figure", "shows")], rows))
    out = console()
    for citation in dict.fromkeys(one.paper.citation for one in kinds):
        out.print(citation, style="dim", soft_wrap=True)


def _run(experiment: "Experiment[Any]", checkpoint: "Checkpoint | None", check: Check) -> "Reproduction":
    """Run an experiment, and optionally print its rows and the paper's numbers beside ours."""
    from ..validation.papers import Reproduction, reproduce

    out = console()
    if check.shown:
        out.print(f"{experiment.name}: {experiment.title}", style="dim", soft_wrap=True)
        kind = "" if experiment.figure.startswith("table") else "figure "
        out.print(f"{kind}{experiment.figure} of {experiment.paper.citation}", style="dim", soft_wrap=True)
    found = check.run(
        lambda keep, advance: reproduce(experiment, keep, advance, checkpoint),
        lambda rows, seconds: Reproduction(experiment, rows, seconds, interrupted=True),
        experiment.num_rows,
    )
    for claim in found.claims if check.shown else ():
        _print_claim(out, claim)
    return found


#: The style of each verdict.
_COLOURS = {"met": "green", "not met": "bold red", "refuted": "yellow", "open": "yellow"}


def _print_claim(out: "Console", claim: "Claim") -> None:
    """Print the paper's claim, the measured value, the verdict, and below it the reason."""
    from rich.text import Text

    line = Text(f"  {claim.quantity}: {_beside(claim)}")
    if claim.paper is not None:
        line.append(f" {claim.status}", style=_COLOURS[claim.status])
    out.print(line, soft_wrap=True)
    why = f"{claim.reason} ({claim.counterexample})" if claim.counterexample else claim.reason
    if why:
        out.print(Text(f"    {why}", style="dim"), soft_wrap=True)


def _beside(claim: "Claim") -> str:
    measured = "not measured" if claim.measured is None else _number(claim.measured)
    return f"{measured} ({'the paper has no number' if claim.paper is None else f'paper: {_number(claim.paper)}'})"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else count(value) if isinstance(value, int) else error(value)
