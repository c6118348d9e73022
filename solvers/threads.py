"""How many threads solve a game."""

import multiprocessing
import os

from ..seqform.budget import available_cores
from ..seqform.errors import UnknownMethodError, shown

#: This environment variable says how many threads work at most; by default as many as there are cores to run on, and
#: one in a process that another one has started to share its work.
THREADS_VARIABLE = "TREEPLEX_THREADS"


def most_threads() -> int:
    """Return how many threads may work at once.

    Raises
    ------
    UnknownMethodError
        If the environment variable is not a whole number of at least 1.
    """
    asked = os.environ.get(THREADS_VARIABLE, "").strip()
    if asked and not (asked.isascii() and asked.isdigit() and int(asked) > 0):
        raise UnknownMethodError(f"{THREADS_VARIABLE} is {shown(asked, 40)}, expected a whole number of at least 1")
    shares = multiprocessing.parent_process() is not None
    return min(int(asked or (1 if shares else available_cores())), available_cores())
