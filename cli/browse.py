"""``treeplex browse``: a solved spot in the browser, served to this machine only."""

import socket
import sys
import threading
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.sheet import Row
from .errors import CommandLineError, ExitStatus, deferring_interrupts, held_by
from .files import check_files
from .nodes import UnitOption, parsed_unit
from .options import reader
from .spots import pot_row
from .tables import print_rows

if TYPE_CHECKING:
    from ..models.games.holdem import SolvedSpot

#: The loopback address, which other machines cannot reach.
_HERE = "127.0.0.1"


def browse(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A solved spot written by 'solve SPOT --out' (.npz).")],
    *,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address without opening a browser.")] = False,
    port: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=reader(int, "a port from 1 to 65535, or 0 for a free one", minimum=0, maximum=65535),
            help="The port of the page; by default any free port.",
        ),
    ] = 0,
    unit: UnitOption = None,
) -> int:
    """Browse a solved spot in the browser: charts of hands, EV and equity by action and card."""
    check_files({"FILE": file})
    shown_in = parsed_unit(unit, "chips")
    with deferring_interrupts():
        from ..models.games.holdem import SolvedSpot
        from ..models.games.holdem.server import application, new_token
        from ..seqform.errors import needing

        with needing("browse needs starlette and uvicorn", "browse"):
            import starlette  # noqa: F401
            import uvicorn
    solved, token = SolvedSpot.load(file), new_token()
    with _listening(port) as listening:
        number = listening.getsockname()[1]
        address = f"http://{_HERE}:{number}/{token}/"
        app = application(solved, file, token, {f"{_HERE}:{number}", f"localhost:{number}"}, shown_in)
        _tell(file, solved, address)
        if not no_open:
            _open(address)
        server = _server(uvicorn, app)
        with held_by(lambda: setattr(server, "should_exit", True)):
            server.run([listening])
    return ExitStatus.SUCCESS


def _listening(port: int) -> socket.socket:
    """Return a listening socket of this machine; clients that connect before the server runs wait for it."""
    listening = socket.socket()
    try:
        if sys.platform != "win32":  # otherwise another program could take the port too
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((_HERE, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise CommandLineError(f"--port {port}: {(error.strerror or str(error)).lower()}") from None
    return listening


def _server(uvicorn: Any, app: Any) -> Any:
    """Return a server that leaves signals to the command line and writes no log."""
    from contextlib import nullcontext

    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", server_header=False)
    server = uvicorn.Server(config)
    server.capture_signals = nullcontext
    return server


def _tell(file: str, solved: "SolvedSpot", address: str) -> None:
    """Print what is served, and the address on one line, however long it is."""
    print_rows(Row("file", file, label="solved spot"), pot_row(solved.spot))
    print(f"\n{address}\n\nAnyone on this machine with the address can read the spot. Stop with Ctrl-C.", flush=True)  # noqa: T201


def _open(address: str) -> None:
    """Open the browser; a text browser in the terminal returns only when it is closed."""
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
