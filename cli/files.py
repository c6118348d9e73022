"""Where results go: checks before the computation, JSON and other files, and standard output."""

import contextlib
import json
import os
import re
import shlex
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..seqform.errors import TimeLimitError
from ..seqform.limits import Deadline, doing, stopwatches, taking
from .errors import CommandLineError, print_note
from .limits import Held, keeper, time_kept

if TYPE_CHECKING:
    from ..seqform.game import Game

#: The file name for standard output.
STANDARD_OUTPUT = "-"
#: The current command line, in a form that can be typed again.
_COMMAND_LINE: ContextVar[str] = ContextVar("command line", default="treeplex")
#: The formats of pictures.
PICTURES = (".svg", ".png", ".pdf")


def check_files(
    inputs: Mapping[str, str | None],
    *,
    out: str | None = None,
    plot: str | None = None,
    json: str | None = None,
    checkpoint: str | None = None,
    resume: str | None = None,
    profile: bool = False,
    **others: str | None,
) -> None:
    """Reject files that cannot be written or are given twice, before anything is computed.

    Parameters
    ----------
    inputs : dict of str to str
        Input files by argument name; they must not be overwritten.
    out, plot, json : str, optional
        The values of ``--out``, ``--plot`` and ``--json``.
    checkpoint, resume : str, optional
        The values of ``--checkpoint``, without its seconds, and ``--resume``.
    profile : bool
        Whether ``--out`` takes a profile (.npz).
    **others : str
        The values of other options that name output files.

    Raises
    ------
    CommandLineError
    """
    if others.get("html") == STANDARD_OUTPUT:
        raise CommandLineError("--html: a page cannot be written to standard output; give a file name")
    if profile and out == STANDARD_OUTPUT:
        raise CommandLineError("--out: a profile is binary and cannot be written to standard output; give a file name")
    written = {"--out": out, "--plot": plot, "--json": json, "--checkpoint": checkpoint}
    written |= {"--resume": None if resume == checkpoint else resume}
    written |= {f"--{name}": path for name, path in others.items()}
    check_distinct(inputs, written)
    for name, path in (("plot", plot), *((name, others.get(name)) for name in ("chart", "graph"))):
        if path is not None and Path(path).suffix.lower() not in PICTURES:
            raise CommandLineError(f"--{name} {path}: expected a file name that ends with .svg, .png or .pdf")
        if path is not None:
            from ..seqform.interchange.pictures import require_matplotlib

            require_matplotlib()
    for name, path in written.items():
        check_writable(path, name)
    if profile and out is not None and Path(out).suffix.lower() != ".npz":
        raise CommandLineError(f"--out {out}: a profile is written as .npz; use that suffix (--json writes JSON)")


def check_distinct(inputs: Mapping[str, str | None], written: Mapping[str, str | None]) -> None:
    """Reject an output file that is also given for another purpose.

    Raises
    ------
    CommandLineError
    """
    seen: dict[tuple[int, int] | str, tuple[str, str]] = {}
    for name, path in (*inputs.items(), *written.items()):
        if path is None or path == STANDARD_OUTPUT:
            continue
        key = _identity(path)
        if key in seen and name in written:
            other, known = seen[key]
            where = path if path == known else f"{known} and {path}"
            raise CommandLineError(f"{other} and {name} name the same file, {where}")
        seen[key] = name, path


def _identity(path: str) -> tuple[int, int] | str:
    """Return an identity shared by all names of a file: symbolic and hard links, and paths through other folders.

    For anything except a regular file (a device, a pipe) it is the name.
    """
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            return os.path.realpath(path)
        return path
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else path


def check_writable(path: str | None, option: str) -> None:
    """Reject a file that cannot be written, before anything is computed; existing content stays.

    Raises
    ------
    CommandLineError
    """
    if path is None or path == STANDARD_OUTPUT:
        return
    if not path:
        raise CommandLineError(f"{option}: the file name is empty")
    from ..seqform.interchange.files import check_writable as check

    with writing(path, option):
        if path.endswith("/"):
            raise IsADirectoryError(21, "Is a directory")
        check(path)


def command_line() -> str:
    """Return the current command line, in a form that can be typed again."""
    return _COMMAND_LINE.get()


@contextlib.contextmanager
def running(arguments: Sequence[str]) -> Iterator[None]:
    """Remember the command line in the block."""
    token = _COMMAND_LINE.set(shlex.join(["treeplex", *arguments]))
    try:
        yield
    finally:
        _COMMAND_LINE.reset(token)


def make_folder(path: str, option: str) -> None:
    """Create a folder for results before anything is computed; reject folders that are not writable.

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
    """The JSON of a command: what is known so far.

    All other keys are present too, and null.

    Parameters
    ----------
    path : str or None
        The value of ``--json``.
    keys : sequence of str
    **known
    """

    def __init__(self, path: str | None, keys: Sequence[str], **known: Any) -> None:
        from .. import __version__

        super().__init__(dict.fromkeys(("schema", "version", *keys)) | {"schema": 1, "version": __version__} | known)
        self.path = path
        #: Whether the command writes something else to standard output, such as a log.
        self.taken = False
        self._game: Game | None = None
        #: Holds Ctrl-C while an answer is written.
        self.held = Held()
        #: The time limit of the command, once it is known.
        self.deadline: Deadline | None = None

    @property
    def shown(self) -> bool:
        """Whether standard output is for people."""
        return self.path != STANDARD_OUTPUT and not self.taken

    def load(self, spec: str, *, constrained: bool = False) -> "Game":
        """Return the game named by ``GAME``, and record it.

        Parameters
        ----------
        spec : str
        constrained : bool
            Whether the command applies constraints stated in the game's file; otherwise it prints a note that it does
            not.

        Raises
        ------
        TreeplexError
            If the game does not exist or cannot be read.
        """
        from ..models.games import load_game

        with doing(f"{spec} was read"):
            game = load_game(spec)
        return self.take(game, constrained=constrained)

    def take(self, game: "Game", *, constrained: bool = False) -> "Game":
        """Record a game, print its notes, and return it; see :meth:`load`."""
        if not constrained and game.constraints:
            print_note(f"the constraints of {game.spec} are left out; treeplex solve applies them")
        for note in game.notes:
            print_note(note)
        self.update(game=game.spec, parameters=game.parameters)
        self._game = game
        return game

    def _late(self, message: str) -> tuple[str, dict[str, Any]]:
        """Return what is known at a time limit without any strategy: bounds that follow from the payoffs alone.

        Returns
        -------
        str
            The message with this information.
        dict
            Additional keys of the JSON.
        """
        told = re.sub(r"raise it(?=;|$)", "raise --time-limit", message)
        if "lower" not in self:
            return told, {}
        if self._game is None:
            return f"{told}; the value of {self['game']} has no bounds before the game is built", {}
        words, known = self._game.payoff_words, self._game.payoff_range
        if words not in told:
            told = f"{told}; {words}"
        if known is None or self.get("problem") != "nash":
            return told, {}
        return told, dict(zip(("lower", "upper"), known, strict=True))

    @contextlib.contextmanager
    def interruptible(
        self, time_limit: float | None = None, *, answers: bool = True, **stopped: Any
    ) -> "Iterator[None]":
        """On Ctrl-C or the time limit in the block, write what is known so far and end the command.

        Parameters
        ----------
        time_limit : float, optional
        answers : bool
            Whether the block computes the command's answer: Ctrl-C then waits until the answer is written.
        **stopped
            The entries of the record in that case; by default its status and a message.
        """

        def write(status: str, message: str) -> str:
            known: dict[str, Any] = {}
            if status == "time_limit":
                message, known = self._late(message)
            self.write(**stopped or {"status": status, "message": message, **known})
            return message

        watching = keeper()
        try:
            taken = taking(self.held.begin) if answers else contextlib.nullcontext()
            with time_kept(time_limit, write) as deadline, taken:
                if time_limit is not None:
                    self.deadline = deadline
                yield
                if answers:
                    self.held.begin()
            if watching is not None:
                watching.reached = ""  # the interrupted block has an answer
        except TimeLimitError as error:
            self.held.begin()
            raise TimeLimitError(write("time_limit", str(error))) from None
        except KeyboardInterrupt:
            self.held.begin()
            if watching is not None and watching.reached == "time":
                watching.tell(write("time_limit", watching.message))
            elif watching is not None and watching.reached:
                write("interrupted", watching.message)
            else:
                write("interrupted", "stopped by the user before a strategy was found")
            raise
        except BaseException:
            self.held.release()
            raise

    def write(self, **found: Any) -> None:
        """Write the record with the results and the time spent, if ``--json`` asks for it."""
        from ..seqform.interchange.encoding import json_ready

        self.update(json_ready(self | found))
        if "time" in self and stopwatches():
            self["time"] = stopwatches()[-1].seconds
        write_json(self, self.path)


#: The destination of JSON for standard output in a command that runs within another one.
_recorded: ContextVar[list[Any] | None] = ContextVar("recorded", default=None)


@contextlib.contextmanager
def recording() -> Iterator[list[Any]]:
    """Collect JSON for standard output in a list in the block, and yield the list."""
    records: list[Any] = []
    token = _recorded.set(records)
    try:
        yield records
    finally:
        _recorded.reset(token)


def write_json(record: Any, path: str | None) -> None:
    """Write a record as one JSON object to a file or to standard output (``-``); without a path, do nothing.

    Raises
    ------
    CommandLineError
        If the file cannot be written.
    """
    if path is None:
        return
    records = _recorded.get()
    if records is not None and path == STANDARD_OUTPUT:
        records.append(record)
        return
    text = json.dumps(record, allow_nan=False, indent=2) + "\n"
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_file(path, text, "--json")


def write_file(path: str, text: str, option: str) -> None:
    """Write a text file atomically.

    Raises
    ------
    CommandLineError
        If it cannot be written.
    """
    from ..seqform.interchange.files import writing_whole

    with writing(path, option), writing_whole(path) as passing:
        passing.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def writing(path: str, option: str) -> Iterator[None]:
    """Report a failure to write a file in one line."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise _unwritable(path, option, error) from None


def _unwritable(path: str, option: str, error: Exception) -> CommandLineError:
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return CommandLineError(f"{option}: cannot write {path!r}: {reason.lower()}")
