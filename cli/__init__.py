"""The command ``treeplex``: one file a command, and what they share.

Exit statuses are 0; 1 if a check failed, a model is infeasible or a result does not prove what its method claims; 2 for
bad input, with one line on standard error and nothing on standard output; 130 after Ctrl-C; 141 if whoever reads
standard output has gone.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import (
    CommandLineError,
    ExitStatus,
    close_standard_output,
    debugging,
    deferring_interrupts,
    describe,
    forget_interrupts,
    is_full,
    print_error,
)


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
    if sys.stderr is None:  # closed before the start; what would go there has no reader
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        print_error("cannot write to standard output: it is closed")
        return ExitStatus.BAD_INPUT
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a question mark.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        status = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        print_error("interrupted")
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
        from .application import UsageError, invoke, usage_message

    try:
        return invoke(arguments)
    except UsageError as error:
        print_error(usage_message(error))
    except (CommandLineError, TreeplexError) as error:
        print_error(str(error))
        return ExitStatus.FAILURE if isinstance(error, SolverError) else ExitStatus.BAD_INPUT
    return ExitStatus.BAD_INPUT
