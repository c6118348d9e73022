"""What every method declares of itself, and checks of hyper-parameters."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ...models.preferences import UNITS, wishes_of
from ...seqform.errors import UnknownMethodError

if TYPE_CHECKING:
    from ..outcome import Outcome

#: Depth-limited problems, which are solved step by step.
STEPPED = frozenset({"cdbr", "cdrnr", "cdbr-ne", "ses"})


class Method:
    """A way to solve some problems: hyper-parameters, and what they serve.

    A method is a frozen dataclass. It says who runs it, and does nothing itself.

    Attributes
    ----------
    name : str
        What the command line calls it.
    problems : frozenset of str
        Names of the problems that it serves.
    is_conic : bool
        Whether it solves what has no linear program too.
    is_exact : bool
        Whether its answers are fractions, and its problems need a rational program.
    default_tolerance : float
        Of the certificate where none is asked for, relative to the largest payoff.
    default_iterations : int
        Iteration limit where none is given.
    backend : str or callable
        Who runs it: one of those in :mod:`treeplex.solvers.dispatch`, or a function that takes a problem and
        :class:`~treeplex.solvers.outcome.Options` and returns an :class:`~treeplex.solvers.outcome.Outcome`.
    """

    name: ClassVar[str] = ""
    problems: ClassVar[frozenset[str]] = frozenset()
    is_conic: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False
    default_tolerance: ClassVar[float] = 1e-6
    default_iterations: ClassVar[int] = 2**31 - 1
    backend: ClassVar["str | Callable[..., Outcome]"] = ""


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
    """Refuse an option that is not a finite number of at least so much.

    Raises
    ------
    UnknownMethodError
    """
    value = getattr(method, option)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
        raise UnknownMethodError(f"{method.name} got {option}={value!r}, expected a number of at least {least:g}")


def settle_preferences(method: Any) -> None:
    """Check the options of a method that is biased to a style, and keep its preferences as a tuple."""
    check_choice(method, "units", UNITS)
    check_choice(method, "rule", ("rm", "br"))
    check_number(method, "vulnerability", 0.0)
    object.__setattr__(method, "prefer", tuple(wishes_of(method.prefer)))
    if method.vulnerability and not method.prefer:
        raise UnknownMethodError(f"{method.name} got vulnerability={method.vulnerability!r} without anything preferred")
