"""Where results go: checks before anything is computed, JSON and other files, and standard output."""

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

#: The file name that means standard output.
STANDARD_OUTPUT = "-"
#: The command line that runs, as it can be typed again.
_COMMAND_LINE: ContextVar[str] = ContextVar("command line", default="treeplex")
#: What pictures are drawn as.
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
    """Refuse files that cannot be written, or are given twice, before anything is computed.

    Parameters
    ----------
    inputs : dict of str to str
        What is read, by the names of arguments: nothing may be written there.
    out, plot, json : str, optional
        What ``--out``, ``--plot`` and ``--json`` say.
    checkpoint, resume : str, optional
        What ``--checkpoint``, without its seconds, and ``--resume`` say.
    profile : bool
        Whether ``--out`` takes a profile (.npz).
    **others : str
        What other options say that are written to.

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
    for name, path in (("plot", plot), ("chart", others.get("chart"))):
        if path is not None and Path(path).suffix.lower() not in PICTURES:
            raise CommandLineError(f"--{name} {path}: expected a file name that ends with .svg, .png or .pdf")
        if path is not None:
            from ..seqform.interchange.pictures import require_matplotlib

            require_matplotlib()
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
    """Return what is the same for all names of a file: symbolic and hard links, and ways through other folders.

    Of what is not a regular file (a device, a pipe) it is the name.
    """
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            return os.path.realpath(path)
        return path
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else path


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
    from ..seqform.interchange.files import check_writable as check

    with writing(path, option):
        if path.endswith("/"):
            raise IsADirectoryError(21, "Is a directory")
        check(path)


def command_line() -> str:
    """Return the command line that runs, as it can be typed again."""
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
        #: Whether standard output holds something else that a command writes there, such as a log.
        self.taken = False
        self._game: Game | None = None
        #: Ctrl-C, once there is an answer.
        self.held = Held()
        #: The time limit of the command, once there is one.
        self.deadline: Deadline | None = None

    @property
    def shown(self) -> bool:
        """Whether standard output is for people."""
        return self.path != STANDARD_OUTPUT and not self.taken

    def load(self, spec: str, *, constrained: bool = False) -> "Game":
        """Return the game that ``GAME`` names, and note it.

        Parameters
        ----------
        spec : str
        constrained : bool
            Whether the command keeps to constraints that the game's file states; otherwise it says that it does not.

        Raises
        ------
        TreeplexError
            If there is no such game, or it cannot be read.
        """
        from ..models.games import load_game

        with doing(f"{spec} was read"):
            game = load_game(spec)
        if game.constraints and not constrained:
            print_note(f"the constraints of {game.spec} are left out; treeplex solve keeps to them")
        for note in game.notes:
            print_note(note)
        self.update(game=game.spec, parameters=game.parameters)
        self._game = game
        return game

    def _late(self, message: str) -> tuple[str, dict[str, Any]]:
        """Return what a time limit leaves that came before there was a strategy: what payoffs alone say.

        Returns
        -------
        str
            The message with it.
        dict
            Keys of the JSON.
        """
        told = re.sub(r"raise it(?=;|$)", "raise --time-limit", message)
        if "lower" not in self:
            return told, {}
        if self._game is None:
            return f"{told}; nothing bounds the value of {self['game']} before it is built", {}
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
        """After Ctrl-C in the block, or so many seconds, write what is known by then, and let the command end.

        Parameters
        ----------
        time_limit : float, optional
        answers : bool
            Whether the block finds the answer of the command: then Ctrl-C waits from when it is known.
        **stopped
            What the record says then; by default its status and a message.
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
                watching.reached = ""  # what it ended has an answer
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
                write("interrupted", "stopped by the user before there was a strategy")
            raise
        except BaseException:
            self.held.release()
            raise

    def write(self, **found: Any) -> None:
        """Write the record with what was found, if it is to be written, and where the seconds went."""
        from ..seqform.interchange.encoding import json_ready

        self.update(json_ready(self | found))
        if "time" in self and stopwatches():
            self["time"] = stopwatches()[-1].seconds
        write_json(self, self.path)


#: Where JSON goes that is for standard output, in a command that runs within another one.
_recorded: ContextVar[list[Any] | None] = ContextVar("recorded", default=None)


@contextlib.contextmanager
def recording() -> Iterator[list[Any]]:
    """Let JSON that is for standard output go to a list in the block, and yield it."""
    records: list[Any] = []
    token = _recorded.set(records)
    try:
        yield records
    finally:
        _recorded.reset(token)


def write_json(record: Any, path: str | None) -> None:
    """Write a record as one JSON object, to a file or to standard output (``-``); nothing if there is no path.

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
    """Write a text file, whole or not at all.

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
    """Turn the failure to write a file into one line."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise _unwritable(path, option, error) from None


def _unwritable(path: str, option: str, error: Exception) -> CommandLineError:
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return CommandLineError(f"{option}: cannot write {path!r}: {reason.lower()}")
