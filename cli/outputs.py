"""Writes the results of a command in order, the answer first, so that a later failure loses nothing."""

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..seqform.limits import Deadline, doing, now, timed
from .errors import (
    CommandLineError,
    ExitStatus,
    debugging,
    describe,
    print_error,
    print_interrupted,
    print_note,
)
from .files import Record, write_file, writing
from .limits import keeper, time_kept
from .progress import waiting

if TYPE_CHECKING:
    from ..seqform.interchange.page import Page

#: Seconds after the time limit for writing files.
LATE = 1.0


@dataclass(frozen=True)
class Output:
    """A file that a command writes after its report and its JSON.

    Parameters
    ----------
    name : str
        The description of the file, such as ``profile``.
    option : str
        Such as ``--out``.
    path : str or None
        Without a path, nothing is written.
    write : callable
        Writes the file atomically.
    answers : bool
        Whether the file contains the answer itself: Ctrl-C then waits a few seconds until it is written, and a time
        limit does not interrupt it. Pages and pictures can be recreated.
    measured : bool
        Whether `write` also takes a function `progress`, which it calls with the share of the work that is done.
    """

    name: str
    option: str
    path: str | None
    write: Callable[..., Any]
    answers: bool = False
    measured: bool = False


def page(path: str | None, make: "Callable[[], Page]") -> Output:
    """Return the output for ``--html``."""
    return Output("report", "--html", path, lambda path: write_file(path, make().to_html(), "--html"))


def pages() -> Any:
    """Return the module that makes the pages of commands, which is slow to load."""
    from . import reports

    return reports


class Outputs:
    """Delivers the results of a command: its report, its JSON, then files, and finally pages and pictures.

    A failure does not affect the other outputs; it is reported in one line on standard error and in the exit status.
    From the construction on, Ctrl-C waits until the answer is written.

    Parameters
    ----------
    record : Record
        The JSON.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        self._failed = self._interrupted = False
        self._gone: OSError | None = None  # whether standard output failed, and why
        end = record.deadline
        self._end = math.inf if end is None else max(end.at, now()) + LATE  # the deadline for all remaining outputs
        self._held = record.held
        self._held.begin()

    def ask(self, what: str, question: Callable[[], Any], otherwise: Any = None) -> Any:
        """Return the answer to a further question about the result; interrupting it does not lose the result.

        Parameters
        ----------
        what : str
            The description of the answer, such as ``what locks gain``.
        question : callable
        otherwise : object
            The value returned on failure.
        """
        held = self._held
        if self._interrupted or held.came:
            return otherwise
        try:
            with self._within(f"{what} was computed"):
                held.open_to = 2
                try:
                    return question()
                finally:
                    held.open_to = 0
        except KeyboardInterrupt:
            message = self._cut()
            if not self._interrupted:
                print_note(f"{what}: {message}")
        except Exception as error:
            from ..seqform.errors import TimeLimitError

            if isinstance(error, TimeLimitError):
                print_note(f"{what}: {error}")
            else:
                self._fail(f"{what}: ", error)
        return otherwise

    def deliver(
        self, status: int, report: Callable[[], None] | None, found: Callable[[], dict[str, Any]], *files: Output
    ) -> int:
        """Write all results, in order.

        Parameters
        ----------
        status : int
            The exit status if nothing fails.
        report : callable or None
            Prints the result; not called if standard output is for JSON.
        found : callable
            Returns the entries added to the JSON.
        *files : Output
            In the order of writing.

        Returns
        -------
        int
            The exit status.
        """
        record, held, written = self._record, self._held, dict[str, str | None]()
        with contextlib.ExitStack() as stack:
            stack.callback(held.release)
            stack.enter_context(timed("writing"))
            self._try("", lambda: record.update(found()))
            if record.shown and report is not None:
                self._try("", lambda: _flushed(report))
            if self._try("--json: " if record.shown else "", record.write) and record.path is not None:
                written["JSON"] = record.path
            for each in sorted((one for one in files if one.path is not None), key=lambda one: not one.answers):
                if held.came and not each.answers:
                    self._interrupted = True
                if (each.answers or not self._interrupted) and self._write(each):
                    written[each.name] = each.path
                elif self._interrupted:
                    print_error(f"{each.option}: {each.path} was not written")
            self._interrupted |= bool(held.came)
            if record.shown and written and self._gone is None:
                self._try("", lambda: _flushed(lambda: _print_files(written, [one.name for one in files])))
            if record.shown and "JSON" in written and any(one.path is not None for one in files):
                with contextlib.suppress(CommandLineError):
                    record.write()  # again, now with the time spent on the files
        self._interrupted |= bool(held.came)
        if self._gone is not None:
            raise self._gone
        if self._interrupted:
            print_interrupted()
            return ExitStatus.INTERRUPTED
        return ExitStatus.FAILURE if self._failed and not status else status

    def _write(self, output: Output) -> bool:
        held = self._held
        try:
            with self._within(f"{output.path} was written", unlimited=output.answers) as deadline:
                held.deadline, held.open_to = deadline, 1 if output.answers else 2
                try:
                    assert output.path is not None
                    with (
                        waiting(f"writing {output.path}", shown=self._record.shown) as tell,
                        writing(output.path, output.option),
                    ):
                        how = {"progress": lambda part: tell(f"{part:.0%}")} if output.measured else {}
                        output.write(output.path, **how)
                finally:
                    held.deadline, held.open_to = None, 0
        except KeyboardInterrupt:
            message = self._cut()
            if not self._interrupted and held.came:
                self._interrupted = True
            elif not self._interrupted:
                self._failed = True
                print_error(f"{output.option}: {output.path} was not written: {message}")
            return False
        except Exception as error:
            self._fail(f"{output.option}: ", error)
            return False
        return True

    def _try(self, what: str, step: Callable[[], None]) -> bool:
        """Write a part of the answer, and return whether that succeeded."""
        try:
            step()
        except OSError as error:
            if error.filename is not None:
                self._fail(what, error)
            else:
                self._gone = self._gone or error
            return False
        except KeyboardInterrupt:
            self._interrupted = True
            return False
        except Exception as error:
            self._fail(what, error)
            return False
        return True

    @contextlib.contextmanager
    def _within(self, what: str, unlimited: bool = False) -> Iterator[Deadline]:
        """Enforce the command's time limit plus one second in the block, unless it writes the answer itself."""
        whole = self._record.deadline
        left = None if whole is None or unlimited else max(self._end - now(), 0.0)
        with time_kept(left, lambda status, message: None) as deadline, doing(what):
            if whole is not None and not unlimited:
                deadline.seconds = whole.seconds
            yield deadline

    def _cut(self) -> str:
        """Return the limit that caused an interrupt, and clear it; without one the cause was Ctrl-C."""
        watching = keeper()
        if watching is None or not watching.reached:
            self._interrupted = True
            return "interrupted"
        message, watching.reached = watching.message, ""
        return message

    def _fail(self, what: str, error: Exception) -> None:
        from ..seqform.errors import TreeplexError

        if debugging():
            raise error
        self._failed = True
        text = str(error) if isinstance(error, CommandLineError | TreeplexError) else describe(error)
        print_error(text if text.startswith("--") else f"{what}{text}")


def _flushed(report: Callable[[], None]) -> None:
    report()
    sys.stdout.flush()


def _print_files(written: dict[str, str | None], order: list[str]) -> None:
    from ..seqform.sheet import Row
    from .tables import print_rows

    paths = {name: written.get(name) for name in (*order, "JSON")}
    print_rows(*(Row("file", path, label=f"{name} in") for name, path in paths.items() if path), after=True)
