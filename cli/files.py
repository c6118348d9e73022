"""Where results go: checks before anything is computed, JSON and other files, and standard output."""

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import CommandLineError

if TYPE_CHECKING:
    from ..seqform.game import Game

#: The file name that means standard output.
STANDARD_OUTPUT = "-"
#: What pictures are drawn as.
PICTURES = (".svg", ".png", ".pdf")


def check_files(
    inputs: Mapping[str, str | None],
    *,
    out: str | None = None,
    plot: str | None = None,
    json: str | None = None,
    profile: bool = False,
    **others: str | None,
) -> None:
    """Refuse files that cannot be written, or are given twice, before anything is computed.

    Parameters
    ----------
    inputs : dict of str to str
        What is read, by the names of arguments: nothing may be written there.
    out, plot, json : str, optional
        What ``--out``, ``--plot`` and ``--json`` say.
    profile : bool
        Whether ``--out`` takes a profile (.npz).
    **others : str
        What other options say that are written to.

    Raises
    ------
    CommandLineError
    """
    if profile and out == STANDARD_OUTPUT:
        raise CommandLineError("--out: a profile is binary and cannot go to standard output; give a file name")
    written = {"--out": out, "--plot": plot, "--json": json} | {f"--{name}": path for name, path in others.items()}
    check_distinct(inputs, written)
    if plot is not None and Path(plot).suffix.lower() not in PICTURES:
        raise CommandLineError(f"--plot {plot}: expected a file name that ends with .svg, .png or .pdf")
    for name, path in written.items():
        check_writable(path, name)
    if profile and out is not None and Path(out).suffix.lower() != ".npz":
        raise CommandLineError(f"--out {out}: a profile is written as .npz; name it so (--json writes JSON)")


def check_distinct(inputs: Mapping[str, str | None], written: Mapping[str, str | None]) -> None:
    """Refuse a file that is written to and given for another purpose too.

    Raises
    ------
    CommandLineError
    """
    seen: dict[Path, str] = {}
    for name, path in (*inputs.items(), *written.items()):
        if path is None or path == STANDARD_OUTPUT:
            continue
        key = Path(path).absolute()
        if key in seen and name in written:
            raise CommandLineError(f"{seen[key]} and {name} name the same file, {path}")
        seen[key] = name


def check_writable(path: str | None, option: str) -> None:
    """Refuse a file that cannot be written, before anything is computed; what is there stays as it is.

    Raises
    ------
    CommandLineError
    """
    if path is None or path == STANDARD_OUTPUT:
        return
    if not path:
        raise CommandLineError(f"{option}: the file name is empty")
    target = Path(path)
    try:
        if target.is_dir() or path.endswith("/"):
            raise IsADirectoryError(21, "Is a directory")
        new = not target.exists()
        if new or target.is_file():
            with target.open("ab"):
                pass
        if new:
            target.resolve().unlink()  # a symbolic link stays one
    except (OSError, ValueError) as error:
        raise _unwritable(path, option, error) from None


def make_folder(path: str, option: str) -> None:
    """Make a folder for results, before anything is computed; refuse one in which no file can be written.

    Raises
    ------
    CommandLineError
    """
    import tempfile

    if not path:
        raise CommandLineError(f"{option}: the folder name is empty")
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except FileExistsError:
        raise CommandLineError(f"{option}: expected a folder, got the file {path!r}") from None
    except (OSError, ValueError) as error:
        raise _unwritable(path, option, error) from None


class Record(dict[str, Any]):
    """The JSON of a command: what is known so far. Every other of its keys is there too, and null.

    Parameters
    ----------
    path : str or None
        What ``--json`` says.
    keys : sequence of str
    **known
    """

    def __init__(self, path: str | None, keys: Sequence[str], **known: Any) -> None:
        from .. import __version__

        super().__init__(dict.fromkeys(("schema", "version", *keys)) | {"schema": 1, "version": __version__} | known)
        self.path = path

    @property
    def shown(self) -> bool:
        """Whether standard output is for people."""
        return self.path != STANDARD_OUTPUT

    def load(self, spec: str) -> "Game":
        """Return the game that ``GAME`` names, and note it.

        Raises
        ------
        TreeplexError
            If there is no such game, or it cannot be read.
        """
        from ..models.games import load_game

        game = load_game(spec)
        self.update(game=game.spec, parameters=game.parameters)
        return game

    @contextlib.contextmanager
    def interruptible(self, **stopped: Any) -> "Iterator[None]":
        """After Ctrl-C in the block, write what is known by then, and let the command end.

        Parameters
        ----------
        **stopped
            What the record says then; by default its status and a message.
        """
        try:
            yield
        except KeyboardInterrupt:
            message = "stopped by the user before there was a strategy"
            self.write(**stopped or {"status": "interrupted", "message": message})
            raise

    def write(self, **found: Any) -> None:
        """Write the record with what was found, if it is to be written."""
        from ..solvers.solution import json_ready

        self.update(json_ready(self | found))
        write_json(self, self.path)


def write_json(record: Any, path: str | None) -> None:
    """Write a record as one JSON object, to a file or to standard output (``-``); nothing if there is no path.

    Raises
    ------
    CommandLineError
        If the file cannot be written.
    """
    if path is None:
        return
    text = json.dumps(record, allow_nan=False, indent=2) + "\n"
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_file(path, text, "--json")


def write_file(path: str, text: str, option: str) -> None:
    """Write a text file.

    Raises
    ------
    CommandLineError
        If it cannot be written.
    """
    with writing(path, option):
        Path(path).write_text(text, encoding="utf-8")


@contextlib.contextmanager
def writing(path: str, option: str) -> Iterator[None]:
    """Turn the failure to write a file into one line."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise _unwritable(path, option, error) from None


def _unwritable(path: str, option: str, error: Exception) -> CommandLineError:
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return CommandLineError(f"{option}: cannot write {path!r}: {reason.lower()}")
