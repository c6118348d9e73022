"""The command ``treeplex``: one file a command, and what they share.

Exit statuses are 0; 1 if a check failed, a model is infeasible or a result does not prove what its method claims; 2 for
bad input, with one line on standard error and nothing on standard output; 130 after Ctrl-C, 129, 131 and 143 after HUP,
QUIT and TERM; 141 if whoever reads standard output has gone.
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
    close_standard_output,
    debugging,
    deferring_interrupts,
    describe,
    end_with,
    forget_interrupts,
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
        The exit status. Nothing is raised, unless ``TREEPLEX_DEBUG`` is set.
    """
    try:
        return _main(argv)
    except KeyboardInterrupt:  # before anybody heeded it, or after
        print_interrupted()
        return ExitStatus.INTERRUPTED


def _main(argv: Sequence[str] | None) -> int:
    """Run the command line on the streams as they are, and heed signals."""
    if sys.stderr is None:  # closed before the start; what would go there has no reader
        sys.stderr = StandardError()
    if sys.stdout is None:
        print_error("cannot write to standard output: it is closed")
        return ExitStatus.BAD_INPUT
    sys.stdout, sys.stderr = outliving_its_terminal(sys.stdout), outliving_its_terminal(sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a question mark.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    begun = len(held_numbers())
    with heeding_signals(for_good=argv is None) as came:
        try:
            status = _kept(argv)
        except KeyboardInterrupt:  # before anybody watched over the command, or after
            print_interrupted()
            status = ExitStatus.INTERRUPTED
        numbers = came or held_numbers()[begun:]  # an answer that held a signal says itself that it was interrupted
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
    """Return for how long the process has run: on Linux by the clock, elsewhere by its processor time."""
    try:
        ticks = int(Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (AttributeError, IndexError, OSError, ValueError):
        return time.process_time()


def _ended(arguments: list[str], keeper: "Keeper | None") -> int:
    """Run a command, and turn whatever ends it into an exit status."""
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
    """Run a command and turn bad input into one line."""
    forget_interrupts()
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
