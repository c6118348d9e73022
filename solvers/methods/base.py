"""What every method has: the protocol, and checks of hyper-parameters."""

import math
from typing import TYPE_CHECKING, Any, Protocol

from ...seqform.errors import UnknownMethodError

if TYPE_CHECKING:
    from ...models.problems import Problem
    from ..outcome import Options, Outcome

#: Depth-limited problems, which are solved step by step.
STEPPED = frozenset({"cdbr", "cdrnr", "cdbr-ne", "ses"})


class Method(Protocol):
    """A way to solve some problems.

    Attributes
    ----------
    name : str
        What the command line calls it.
    problems : frozenset of str
        Names of the problems that it serves.
    default_tolerance : float
        Of the certificate, relative to the largest payoff.
    default_iterations : int
    """

    @property
    def name(self) -> str:
        """What the command line calls it."""
        ...

    @property
    def problems(self) -> frozenset[str]:
        """Names of the problems that it serves."""
        ...

    @property
    def default_tolerance(self) -> float:
        """Tolerance on the certificate where none is asked for, relative to the game's largest payoff."""
        ...

    @property
    def default_iterations(self) -> int:
        """Iteration limit where none is given."""
        ...

    def run(self, problem: "Problem", options: "Options") -> "Outcome":
        """Solve a problem that the method serves."""
        ...


def check_choice(method: Any, option: str, choices: tuple[str, ...]) -> None:
    """Refuse an option that is none of its choices.

    Raises
    ------
    UnknownMethodError
    """
    value = getattr(method, option)
    if value not in choices:
        raise UnknownMethodError(f"{method.name} got {option}={value!r}, expected one of {', '.join(choices)}")


def check_number(method: Any, option: str, least: float) -> None:
    """Refuse an option that is no finite number of at least so much.

    Raises
    ------
    UnknownMethodError
    """
    value = getattr(method, option)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
        raise UnknownMethodError(f"{method.name} got {option}={value!r}, expected a number of at least {least:g}")


def settle_preferences(method: Any) -> None:
    """Check the options of a method that leans to a style, and keep its preferences as a tuple."""
    from ...models.preferences import UNITS, wishes_of

    check_choice(method, "units", UNITS)
    check_choice(method, "rule", ("rm", "br"))
    check_number(method, "vulnerability", 0.0)
    object.__setattr__(method, "prefer", tuple(wishes_of(method.prefer)))
    if method.vulnerability and not method.prefer:
        raise UnknownMethodError(f"{method.name} got vulnerability={method.vulnerability!r} without anything preferred")
