"""Curves of ``treeplex solve``: the frontier of responses, and the optimum as a function of a constraint's bound."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..seqform.errors import shown
from ..seqform.limits import now
from ..seqform.sheet import Row, Sheet, count, counted, error, payoff
from .errors import CommandLineError
from .files import command_line
from .tables import console, ending, print_sheet, print_table, seconds_text

if TYPE_CHECKING:
    from ..seqform.interchange.page import Page
    from ..solvers import Method, Solution
    from ..solvers.parametric.frontier import Frontier
    from ..solvers.parametric.sensitivity import ParametricValue

#: The methods that find a frontier: only the simplex method can continue from one response to the next.
_METHODS = ("highs", "highs-simplex")
#: Problems whose bounds can be varied.
_MOVABLE = ("constrained", "epsilon-safe")


def check_by_simplex(method: str) -> None:
    """Reject methods that cannot find a frontier.

    Raises
    ------
    CommandLineError
    """
    if method not in _METHODS:
        raise CommandLineError(f"--frontier uses highs-simplex, but --method is {method}; leave --method out")


def check_frontier(problem: str, given: Mapping[str, object]) -> None:
    """Reject options that cannot be combined with ``--frontier``.

    Parameters
    ----------
    problem : str
    given : mapping of str to object
        Options that cannot be combined with a frontier; ``None`` if not given.

    Raises
    ------
    CommandLineError
    """
    if problem != "rnr":
        reason = ""
        if problem == "epsilon-nash":
            reason = ": restricted Nash responses need a zero-sum game, such as a spot without a rake"
        raise CommandLineError(f"--frontier is for rnr, but --problem is {problem}{reason}")
    if given.get("p") is not None:
        raise CommandLineError("--frontier finds the responses for all p, so leave --p out")
    for option, value in given.items():
        if value not in (None, [], ()):
            raise CommandLineError(f"--{option.replace('_', '-')} cannot be combined with --frontier; leave it out")


@dataclasses.dataclass(frozen=True)
class Responses:
    """The responses for all p, and the method that found them."""

    problem: Any
    frontier: "Frontier"
    method: Any
    tolerance: float
    value: float
    status: Any
    message: str
    seconds: float

    def page(self) -> "Page":
        """Return the page that ``--html`` writes."""
        from ..solvers.reports import frontier_page

        return frontier_page(self.problem, self.frontier, self.status, self.message, command_line())

    def to_dict(self) -> dict[str, Any]:
        """Return the responses as in the JSON of ``solve``."""
        from ..solvers.answers import sizes_of

        return {
            "method": self.method.name,
            "options": dataclasses.asdict(self.method),
            "tolerance": self.tolerance,
            "player": self.problem.player,
            "status": str(self.status),
            "message": self.message,
            "gap": self.frontier.gap,
            "game_value": self.value,
            "iterations": self.frontier.solves,
            "seconds": self.seconds,
            "sizes": sizes_of(self.problem.game),
            "frontier": self.frontier.pieces.records,
        }


def find_frontier(posed: Any, chosen: "Method", tol: float | None) -> Responses:
    """Return the frontier of restricted Nash responses for a game and an opponent.

    Regret minimisers take a tolerance.
    """
    from ..solvers.methods import RegretMethod, find_method
    from ..solvers.outcome import Status
    from ..solvers.parametric.frontier import restricted_nash_frontier
    from ..solvers.solve import with_game_value

    begun = now()
    learned = isinstance(chosen, RegretMethod)
    method: Any = chosen if learned else find_method("highs-simplex")
    tolerance = tol if learned and tol is not None else method.default_tolerance * posed.game.stakes
    value = float(with_game_value(posed, method, tolerance).game_value)
    how: dict[str, Any] = {"method": method, "tol": tolerance} if learned else {}
    frontier = restricted_nash_frontier(posed.game, posed.opponent, value, **how)
    seconds = now() - begun
    status = Status.OPTIMAL if posed.constraints or frontier.gap <= tolerance else Status.UNCERTIFIED
    status = Status.CONVERGED if learned else status
    found = counted(len(frontier.strategies), "response")
    message = f"{found} for p from 0 to 1, all proven within the gap"
    if learned or posed.constraints:
        message = f"{found} proven; no other response beats them by more than the gap"
    return Responses(posed, frontier, method, tolerance, value, status, message, seconds)


def print_frontier(record: dict[str, Any], frontier: "Frontier") -> None:
    """Print a frontier: the values of p at which the response changes, its gain and its possible loss."""
    solves = "linear programs" if record["method"] in _METHODS else "solves"
    rows = [
        Row("problem", f"{record['question']} on {record['game']}"),
        Row("method", record["method"]),
        *ending(record),
        Row("player", record["player"]),
        Row("game_value", record["game_value"], payoff),
        Row("gap", record["gap"], error, " at most, for every p"),
        Row("iterations", record["iterations"], count, label=solves),
        Row("seconds", seconds_text()),
    ]
    print_sheet(Sheet(rows, [frontier.pieces]))


def check_sensitivity(problem: str) -> None:
    """Reject problems without a bound that can be varied.

    Raises
    ------
    CommandLineError
    """
    if problem not in _MOVABLE:
        raise CommandLineError(f"--sensitivity is for {' and '.join(_MOVABLE)}, but --problem is {problem}")


def read_sensitivity(text: str) -> tuple[str, float, float]:
    """Read ``NAME=LOW:HIGH``; the name may contain equals signs.

    Raises
    ------
    CommandLineError

    Examples
    --------
    >>> from treeplex.cli.curves import read_sensitivity
    >>> read_sensitivity("0/K_:b<=0.5=0:1")
    ('0/K_:b<=0.5', 0.0, 1.0)
    """
    from ..models.constraints.tokens import parse_number

    name, equals, bounds = text.rpartition("=")
    low, colon, high = bounds.partition(":")
    try:
        lower, upper = (float(parse_number(bound.strip())) for bound in (low, high))
    except ValueError:
        lower, upper = 1.0, 0.0
    if not (name.strip() and equals and colon and lower < upper):
        raise CommandLineError(
            f"--sensitivity {shown(text, 60)}: expected NAME=LOW:HIGH, the name of a constraint and two increasing "
            "numbers, such as risk=0:1/2"
        )
    return name.strip(), lower, upper


def find_sensitivity(solution: "Solution", name: str, lower: float, upper: float) -> "ParametricValue | None":
    """Return the optimum as a function of a constraint's bound.

    ``None`` if the solve was interrupted, or no requested bound makes an infeasible problem feasible.
    """
    from ..seqform.errors import InvalidConstraintError
    from ..solvers.parametric.sensitivity import parametric_value

    if str(solution.status) == "interrupted":
        return None
    try:
        return parametric_value(solution.problem, name, lower, upper)
    except InvalidConstraintError:
        if solution.infeasibility is None:
            raise
        return None


def print_sensitivity(found: "ParametricValue") -> None:
    """Print the optimum as a function of a bound, piece by piece; the objective is paid to the player."""
    print_table(found.table)
    least, most = found.feasible
    if (least, most) != (found.lower, found.upper):
        console().print(
            f"no strategy meets the constraints if the bound is outside {least:.9g} to {most:.9g}", style="dim"
        )


def print_no_sensitivity(name: str, lower: float, upper: float) -> None:
    """Print that no strategy meets any of the requested bounds."""
    bounds = f"a bound of {name} from {lower:.9g} to {upper:.9g}"
    console().print(f"\nno strategy meets the constraints with {bounds}", soft_wrap=True)
