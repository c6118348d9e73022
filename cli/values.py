"""The value function that ``--value`` names."""

from typing import TYPE_CHECKING, Any

from ..seqform.errors import nearest
from .errors import CommandLineError

if TYPE_CHECKING:
    from ..seqform.game import Game
    from ..solvers.methods import Method

#: Methods whose steps may end at a depth limit.
_BASES = ("cfr", "cfr+", "dcfr", "pcfr+")
_EXPECTED = "expected exact, cfr+ or another of cfr, dcfr and pcfr+ with or without :iterations=N, or a file (.npz)"


def check_value(text: str | None, method: str, problem: str) -> None:
    """Refuse a value function that is not one, or that the method or the problem has no use for.

    Raises
    ------
    CommandLineError
    """
    if text is None:
        return
    from ..models.problems import PROBLEMS
    from ..solvers.depth_limited.method import DepthLimitedCFR

    problems = sorted(name for name, each in PROBLEMS.items() if each.always_needs <= DepthLimitedCFR.serves)
    if problem not in problems:
        raise CommandLineError(f"--value is for --problem {', '.join(problems)}, and --problem is {problem}")
    if text != "exact" and method not in _BASES:
        raise CommandLineError(f"--value {text} is for --method {', '.join(_BASES)}, and --method is {method}")
    if not text.endswith(".npz"):
        _parsed(text)


def with_value(chosen: "Method", text: str | None, game: "Game") -> "Method":
    """Return a method with the value function that a text names, itself where that is the exact one.

    Raises
    ------
    CommandLineError, GameFileError, InvalidGameError
        If there is no such value function, or it is not of the game.
    """
    if text is None or text == "exact":
        return chosen
    from ..solvers.depth_limited.cfr_value import CFRValue
    from ..solvers.depth_limited.learned_values import load_value
    from ..solvers.depth_limited.method import DepthLimitedCFR
    from ..solvers.methods import RegretMethod

    assert isinstance(chosen, RegretMethod)
    if text.endswith(".npz"):
        value: Any = load_value(text, game)
    else:
        method, iterations = _parsed(text)
        value = CFRValue(iterations, method)
    base: Any = chosen.name
    if chosen.iterate != "average":
        raise CommandLineError(f"--iterate {chosen.iterate}: steps with --value {text} take their average")
    return DepthLimitedCFR(base, value, updates=chosen.updates, averaging=chosen.averaging, precision=chosen.precision)


def _parsed(text: str) -> tuple[str, int]:
    """Return the method and the iterations of ``cfr+:iterations=500``."""
    method, _, options = text.partition(":")
    if method == "exact" and not options:
        return method, 0
    if method not in _BASES:
        raise CommandLineError(f"--value {text}: {_EXPECTED}{nearest(method, (*_BASES, 'exact'))}")
    if not options:
        return method, 500
    name, _, number = options.partition("=")
    whole = number.isascii() and number.isdecimal() and len(number) <= 9
    if name != "iterations" or not whole or not int(number):
        raise CommandLineError(f"--value {text}: expected {method}:iterations=N, N a whole number from 1 to 999999999")
    return method, int(number)
