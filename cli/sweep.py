"""``treeplex sweep``: many settings of a command, in local processes, on a Dask cluster or on Ray."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import nearest, shown
from ..seqform.sheet import Column, Row, Sheet, Table, count, counted
from .boards import headed, jobs_within_budget, list_boards, names_boards, read_boards, reported, solve_board
from .checking import Check
from .errors import CommandLineError, ExitStatus, deferring_interrupts, set_continuation
from .files import STANDARD_OUTPUT, check_files, command_line, make_folder, write_file, write_json
from .options import HtmlOption, JsonOption, reader
from .outputs import Output, page
from .tables import print_sheet

if TYPE_CHECKING:
    from ..validation.sweeps import Sweep


@dataclass(frozen=True)
class _Where:
    """Where settings are computed, and how many at once."""

    backend: Annotated[
        str, typer.Option(metavar="B", help="Where settings are computed: processes on this machine, dask or ray.")
    ] = "processes"
    address: Annotated[
        str | None,
        typer.Option(
            metavar="A", help="Address of Dask's scheduler or of a Ray cluster; by default one is started here."
        ),
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=reader(int, minimum=1),
            help="Number of settings computed at once; by default one per core.",
        ),
    ] = None
    on: Annotated[
        str | None,
        typer.Option(
            "--on", metavar="W", help="Backend, address and jobs in one: local:N, dask://HOST:PORT or ray://HOST:PORT."
        ),
    ] = None
    retry: Annotated[bool, typer.Option("--retry", help="Try failed settings again.")] = False

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of :func:`~treeplex.validation.sweeps.sweep`.

        Raises
        ------
        CommandLineError
        """
        where = {"backend": self.backend, "address": self.address, "jobs": self.jobs, "retry": self.retry}
        if self.on is None:
            return where
        from ..solvers.distributed.places import read_place

        place = read_place(self.on, "--on")
        given = [name for name in ("backend", "address", "jobs") if where[name] not in (None, "processes")]
        if given and (given != ["jobs"] or place.workers is not None):
            raise CommandLineError(f"--on {self.on} and --{given[0]}: expected one of the two")
        where["jobs"] = place.workers or self.jobs
        if place.engine == "local":
            return where
        scheme = {"dask": "tcp://", "ray": "" if place.address == "auto" else "ray://"}[place.engine]
        return where | {"backend": place.engine, "address": place.address and f"{scheme}{place.address}"}


@dataclass(frozen=True)
class _Drawn:
    """The plot of results: the file and the axes."""

    plot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw a result against a setting (.svg, .png or .pdf).")
    ] = None
    x: Annotated[
        str | None,
        typer.Option(
            "--x", metavar="SETTING", help="The setting on the x-axis; by default the first number that varies."
        ),
    ] = None
    y: Annotated[
        str | None,
        typer.Option(
            "--y", metavar="RESULT", help="The y-axis: a key of the command's JSON; by default the objective."
        ),
    ] = None
    html: HtmlOption = None


def sweep(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The settings (.toml): the command, its options, and the varied settings in [grid] or [[list]]; or a "
            "hold'em spot on many boards.",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Store each result in the folder DIR; existing results are not computed again."
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Print the settings and their number without computing anything.")
    ] = False,
    *,
    where: _Where,
    drawn: _Drawn,
    json: JsonOption = None,
) -> int:
    """Run a command for a grid or a list of settings, and store every result as it arrives.

    A spot file with boards = "flops:49" instead of board = "…" is solved on each board, and reported by texture.

    Run the same command again to compute missing settings: after Ctrl-C, after a kill, or when you have added settings.
    Failed settings are stored with their messages, and the exit status is then 1.
    """
    check_files({"FILE": file}, plot=drawn.plot, json=json, html=drawn.html)
    with deferring_interrupts():
        from ..validation.sweep_settings import label_of, read_settings, varied_names

    boards: Any = None
    if names_boards(file):
        boards, settings = read_boards(context.obj, file)
        _refuse_axes(drawn)
    else:
        settings = read_settings(file)
    varied = varied_names(settings)
    for one in settings if boards is None else ():
        _check(context.obj, file, one, label_of(one, varied))
    if listed:
        write_json({"settings": settings, "varied": varied}, json)
        if json != STANDARD_OUTPUT:
            list_boards(boards) if boards else _list(settings, varied)
        return ExitStatus.SUCCESS
    arguments = where.arguments()
    folder = _folder(out, arguments, drawn, varied)
    set_continuation(command_line())
    if boards is not None and arguments["address"] is None:
        arguments["jobs"] = jobs_within_budget(boards.boards, arguments["jobs"])
    check = Check(json)
    if boards is None:
        found = _run(context.obj.run, settings, folder, arguments, check)
    else:
        found = reported(_run(solve_board, settings, folder, arguments, check, headed), boards, check.shown)
    return check.deliver(
        found,
        Output("results", "--out", folder, lambda path: _save(found, path), answers=True),
        page(drawn.html, lambda: found.report(drawn.x, drawn.y, command_line())),
        Output("picture", "--plot", drawn.plot, lambda path: found.plot(path, drawn.x, drawn.y)),
    )


def _refuse_axes(drawn: _Drawn) -> None:
    """Reject options that draw a result against a setting: boards have no order."""
    for name in ("plot", "x", "y"):
        if getattr(drawn, name) is not None:
            raise CommandLineError(f"--{name} draws a result against a setting, but FILE lists boards; use --html")


def _folder(out: str | None, where: dict[str, Any], drawn: _Drawn, varied: list[str]) -> str:
    """Create and return the folder of the results; reject options that do not fit the settings or each other."""
    with deferring_interrupts():
        from ..validation.sweeps import BACKENDS

    x = drawn.x
    if x is not None and x not in varied:
        raise CommandLineError(
            f"--x {x}{nearest(x, varied)}: expected one of the varied settings: {', '.join(varied) or 'nothing'}"
        )
    if out is None:
        raise CommandLineError("--out is missing, expected a folder for the results; --list only prints the settings")
    if where["backend"] not in BACKENDS:
        raise CommandLineError(f"--backend {where['backend']}: expected one of {', '.join(BACKENDS)}")
    if where["address"] is not None and where["backend"] == BACKENDS[0]:
        raise CommandLineError(f"--address {where['address']} requires --backend dask or ray")
    make_folder(out, "--out")
    if (x is not None or drawn.y is not None) and drawn.plot is None and drawn.html is None:
        raise CommandLineError("--x and --y choose the axes of --plot and --html; give --plot or --html too")
    return out


def _save(found: "Sweep", folder: str) -> None:
    """Write the table of the results to the folder of results."""
    write_file(str(Path(folder) / "results.csv"), found.to_csv(), "--out")
    if (averages := found.averages_csv()) is not None:
        write_file(str(Path(folder) / "averages.csv"), averages, "--out")


def _check(within: Any, file: str, setting: dict[str, Any], label: str) -> None:
    """Reject a setting that its command does not have, before anything is computed."""
    if not isinstance(setting.get("command"), str):
        received = shown(setting["command"], 60) if "command" in setting else "missing"
        raise CommandLineError(f'{file}: command is {received}, expected a name such as "solve"')
    try:
        within.check(**setting)
    except CommandLineError as error:
        raise CommandLineError(f"{file}{f', {label}' if label else ''}: {error}") from None


def _list(settings: list[dict[str, Any]], varied: list[str]) -> None:
    """Print the settings."""
    from ..validation.sweep_settings import as_text

    fixed = [Row("fixed", as_text(value), label=name) for name, value in settings[0].items() if name not in varied]
    columns = [Column("", count), *(Column(name, as_text, name) for name in varied)]
    rows = ((number, *map(one.get, varied)) for number, one in enumerate(settings, 1))
    table = Table(columns, list(rows))
    print_sheet(Sheet([*fixed, Row("settings", counted(len(settings), "setting"))], [table]))


def _run(
    run: Any, settings: list[dict[str, Any]], out: str, where: dict[str, Any], check: Check, headed: Any = None
) -> "Sweep":
    """Compute the settings, and print a line with each result, which a function may change."""
    from ..validation.sweeps import Sweep, SweepRow, name_of, sweep

    def compute(keep: "Callable[[SweepRow], None]", advance: "Callable[[str], None] | None") -> Sweep:
        told = advance or (lambda words: None)

        def on_row(row: SweepRow) -> None:
            keep(row if headed is None else headed(row))
            told(row.label)

        told("")
        return sweep(run, out, settings=settings, on_row=on_row, **where)

    def ended(rows: "tuple[SweepRow, ...]", seconds: float) -> Sweep:
        ordered = tuple(sorted(rows, key=lambda row: row.number))
        return Sweep(name_of(run), tuple(settings), ordered, seconds, interrupted=True)

    return check.run(compute, ended, len(settings))
