"""A solution on the terminal."""

import re
from typing import TYPE_CHECKING

from .tables import print_sheet, seconds_text

if TYPE_CHECKING:
    from ..solvers import Solution

#: The command-line names of library arguments.
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in ("tol", "max_iterations", "time_limit")}


def message_of(solution: "Solution") -> str:
    """Return the message of a solution with command-line names for options.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.cli.solution import message_of
    >>> message_of(solve(Nash(load_game("kuhn")), "cfr", tol=1e-9, max_iterations=10))
    'stopped at the iteration limit: raise --max-iterations, loosen --tol or try another method'
    """
    return re.sub(r"\b(tol|max_iterations|time_limit)\b", lambda found: _OPTIONS[found[0]], solution.message)


def print_solution(solution: "Solution", asked: str) -> None:
    """Print a solution."""
    from ..solvers.answers import solution_sheet

    print_sheet(solution_sheet(solution, asked, message_of(solution), seconds_text()))
