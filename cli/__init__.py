"""The command ``treeplex``: one file per command, and the code that commands share.

Exit statuses are 0 (success), 1 (a check failed, a model is infeasible or a result does not prove what its method
claims), 2 (bad input: one line on standard error, nothing on standard output), 130 (Ctrl-C), 129, 131 and 143 (signals
HUP, QUIT and TERM) and 141 (the reader of standard output has closed it).
"""

import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..seqform.limits import held_numbers, stopwatch
from ..seqform.standard_error import StandardError
from .errors import (
    CommandLineError,
    ExitStatus,
    begin_command,
    close_standard_output,
    debugging,
    deferring_interrupts,
    describe,
    end_with,
    heeding_signals,
    is_full,
    outliving_its_terminal,
    print_error,
    print_interrupted,
    print_note,
)

if TYPE_CHECKING:
    from .limits import Keeper


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit status. Exceptions propagate only if ``TREEPLEX_DEBUG`` is set.
    """
    try:
        return _main(argv)
    except KeyboardInterrupt:  # before or after a signal handler was active
        print_interrupted()
        return ExitStatus.INTERRUPTED


def _main(argv: Sequence[str] | None) -> int:
    """Run the command line on the current streams, and handle signals."""
    if sys.stderr is None:  # closed before the start: its output has no reader
        sys.stderr = StandardError()
    if sys.stdout is None:
        print_error("cannot write to standard output: it is closed")
        return ExitStatus.BAD_INPUT
    sys.stdout, sys.stderr = outliving_its_terminal(sys.stdout), outliving_its_terminal(sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        # Print a question mark for characters that the terminal cannot show.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    begun = len(held_numbers())
    with heeding_signals(for_good=argv is None) as came:
        try:
            status = _kept(argv)
        except KeyboardInterrupt:  # before or after a keeper was active
            print_interrupted()
            status = ExitStatus.INTERRUPTED
        numbers = came or held_numbers()[begun:]  # a command that held a signal reports the interruption itself
        status = 128 + numbers[-1] if status == ExitStatus.INTERRUPTED and numbers else status
        if argv is None:
            end_with(status)
    return status


def _kept(argv: Sequence[str] | None) -> int:
    """Run a command within its limits."""
    from .limits import kept

    with kept(may_exit=argv is None) as keeper, stopwatch("loading") as watch:
        if argv is None:
            watch.add("loading", _since_start())
        return _ended(list(sys.argv[1:] if argv is None else argv), keeper)


def _since_start() -> float:
    """Return the age of the process: wall-clock time on Linux, processor time elsewhere."""
    try:
        ticks = int(Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (AttributeError, IndexError, OSError, ValueError):
        return time.process_time()


def _ended(arguments: list[str], keeper: "Keeper | None") -> int:
    """Run a command, and convert any exception that ends it into an exit status."""
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        if keeper is not None and keeper.reached:
            print_error(keeper.message)
            return keeper.status
        print_interrupted()
        return ExitStatus.INTERRUPTED
    except BrokenPipeError:
        close_standard_output()
        return ExitStatus.CLOSED_PIPE
    except Exception as error:
        if isinstance(error, OSError) and is_full(error):
            close_standard_output()
            print_error(f"cannot write to standard output: {(error.strerror or str(error)).lower()}")
            return ExitStatus.BAD_INPUT
        if debugging():
            raise
        print_error(describe(error))
        return ExitStatus.FAILURE
    return status


def _run(arguments: list[str]) -> int:
    """Run a command, and report bad input in one line."""
    begin_command()
    with deferring_interrupts():
        from ..seqform.errors import SolverError, TreeplexError
        from ..seqform.registry import ExtensionWarning
        from .application import UsageError, invoke, usage_message

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", ExtensionWarning)
            warnings.showwarning = lambda message, *where, **others: print_note(str(message))
            return invoke(arguments)
    except UsageError as error:
        print_error(usage_message(error))
    except (CommandLineError, TreeplexError) as error:
        print_error(str(error))
        return ExitStatus.FAILURE if isinstance(error, SolverError) else ExitStatus.BAD_INPUT
    return ExitStatus.BAD_INPUT
