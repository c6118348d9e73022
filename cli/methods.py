"""The method that ``--method`` and its options name, and the profile that ``--start`` gives it."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import CommandLineError

if TYPE_CHECKING:
    from ..models.preferences import Prefer
    from ..seqform.game import Game
    from ..seqform.strategy import Profile
    from ..solvers.methods import Method

#: How every zip archive begins, and so every .npz file.
_ARCHIVE = b"PK"
#: Options of a few methods, and what they do to these.
_DOES = {
    "base": "says how regrets accumulate in",
    "steps": "says how multipliers move in",
    "step": "says how far multipliers move in",
    "tangents": "says where tangents are taken in",
    "beta": "bounds the multipliers of",
    "prefer": "says what is preferred in",
    "vulnerability": "says what preferences may cost in",
    "units": "says what vulnerabilities are held against in",
    "rule": "says how actions are chosen in",
    "local_rule": "says how regrets are matched in",
    "exploration": "says how much is explored in",
    "baselines": "says what guesses of values are by in",
    "baseline_rate": "says how fast guesses of values move in",
}


def usual_method(problem: str) -> str:
    """Return the name of the method where none is asked for.

    Parameters
    ----------
    problem : str
        A name; one that there is not is refused elsewhere.
    """
    from ..models.problems import PROBLEMS

    return PROBLEMS[problem].usual_method if problem in PROBLEMS else "highs"


def choose_method(name: str, options: Mapping[str, Any], start: str | None) -> "Method":
    """Return a method with its options.

    Parameters
    ----------
    name : str
    options : mapping of str
        Hyper-parameters; ``None`` where an option was not given.
    start : str or None
        The profile to start from, which exact methods do not take.

    Raises
    ------
    CommandLineError
        If there is no such method, or an option is not for it, or has no such value.
    """
    from ..solvers.methods import MCCFR, RegretMethod, find_method, method_names, method_parameters

    asked, known = name, method_names()
    name = name.partition(":")[0].strip()
    method_parameters(name)  # refuses an unknown method
    given = {option: value for option, value in options.items() if value is not None}
    methods = {one: find_method(one) for one in known}
    for option in [*given, *([] if start is None else ["start"])]:
        if option == "start":
            takers = [one for one, method in methods.items() if isinstance(method, RegretMethod | MCCFR)]
        else:
            takers = [one for one, method in methods.items() if _takes(method, option)]
        if name not in takers:
            flag = flag_of(option)
            if option in _DOES:
                raise CommandLineError(f"{flag} {_DOES[option]} --method {' or '.join(takers)}, and --method is {name}")
            raise CommandLineError(f"{flag} is for iterative methods ({', '.join(takers)}), and --method is {name}")
    return make_method(asked, given)


def make_method(name: str, options: Mapping[str, Any]) -> "Method":
    """Return a method with options that it has; what is wrong with their values is told by their flags.

    Raises
    ------
    CommandLineError
    """
    from ..solvers.methods import find_method, method_parameters

    for each in method_parameters(name.partition(":")[0]):
        if each.name in options:
            received = options[each.name]
            try:
                each.convert(received)
            except (ValueError, OverflowError, ZeroDivisionError):
                raise CommandLineError(f"{flag_of(each.name)} {received!r}: expected {each.expected}") from None
    return find_method(name, **options)


def _takes(method: Any, option: str) -> bool:
    """Whether a method has an option; --beta is what bounds multipliers, not an exponent of discounts."""
    return option in {each.name for each in fields(method)} and (option != "beta" or method.name == "ccfr")


def flag_of(option: str) -> str:
    """Return how an option is written on the command line."""
    return f"--{option.replace('_', '-')}"


def read_preferences(texts: Sequence[str], player: int | None) -> "list[Prefer]":
    """Return what ``--prefer`` says, of ``--player`` where a text names no seat.

    Raises
    ------
    InvalidPreferenceError
        If a text cannot be read.
    """
    from ..models.preferences import parse_preference

    return [parse_preference(text, player) for text in texts]


def check_start(path: str | None) -> None:
    """Refuse a file that cannot be a profile, before anything is computed.

    Raises
    ------
    CommandLineError
    """
    if path is None:
        return
    from ..seqform.interchange.files import regular_size

    try:
        regular_size(path)
        with Path(path).open("rb") as file:
            begins = file.read(len(_ARCHIVE))
    except FileNotFoundError:
        raise CommandLineError(f"--start: {path}: no such file") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise CommandLineError(f"--start: cannot read {path!r}: {reason.lower()}") from None
    if begins != _ARCHIVE:
        raise CommandLineError(f"{path} is no strategy file: it is no .npz archive; --out writes one")


def load_start(path: str | None, game: "Game") -> "Profile | None":
    """Return the profile that ``--start`` gives, if it gives one.

    Raises
    ------
    InvalidStrategyError
        If the file does not hold a profile of the game.
    """
    from ..seqform.strategy import Profile

    return None if path is None else Profile.load(path, game)
