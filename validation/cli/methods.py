"""The method that ``--method`` and its options name, and the profile that ``--start`` gives it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...seqform.errors import nearest
from .errors import CommandLineError

if TYPE_CHECKING:
    from ...seqform.game import Game
    from ...seqform.strategy import Profile
    from ...solvers.methods import Method

#: How every zip archive begins, and so every .npz file.
_ARCHIVE = b"PK"
#: Options of constrained CFR alone, and what they do to it.
_CONSTRAINED = {
    "base": "says how regrets accumulate in",
    "steps": "says how multipliers move in",
    "step": "says how far multipliers move in",
    "tangents": "says where tangents are taken in",
    "beta": "bounds the multipliers of",
}


#: Options of methods that sample alone.
_SAMPLING = ("local_rule", "exploration", "baselines", "baseline_rate")


def choose_method(name: str, options: Mapping[str, str | float | None], start: str | None) -> "Method":
    """Return a method with its options.

    Parameters
    ----------
    name : str
    options : mapping of str to str, float or None
        Hyper-parameters; ``None`` where an option was not given.
    start : str or None
        The profile to start from, which exact methods do not take.

    Raises
    ------
    CommandLineError
        If there is no such method, or an option is not for it, or has no such value.
    """
    from ...solvers.methods import MCCFR, OutcomeSamplingMCCFR, RegretMethod, find_method, method_names

    known = method_names()
    if name not in known:
        # Names hold a plus, which some write as a word.
        spelled = re.sub(r"[-_ ]*plus$", "+", name.casefold()).replace("_", "-")
        raise CommandLineError(f"unknown method {name!r}{nearest(spelled, known)}; expected one of {', '.join(known)}")
    given = {option: value for option, value in options.items() if value is not None}
    for option, does in _CONSTRAINED.items():
        if option in given and name != "ccfr":
            raise CommandLineError(f"--{option} {does} --method ccfr, and --method is {name}")
    sampling = dict.fromkeys(_SAMPLING, OutcomeSamplingMCCFR) | {"local_rule": MCCFR}
    for option in [*given, *([] if start is None else ["start"])]:
        takers = (RegretMethod, MCCFR) if option in ("averaging", "start") else sampling.get(option, RegretMethod)
        if not isinstance(find_method(name), takers):
            able = ", ".join(one for one in known if isinstance(find_method(one), takers))
            kind = "methods that sample" if option in sampling else "iterative methods"
            raise CommandLineError(f"{flag_of(option)} is for {kind} ({able}), and --method is {name}")
    return make_method(name, given)


def make_method(name: str, options: Mapping[str, Any]) -> "Method":
    """Return a method with options that it has; what is wrong with their values is told by their flags.

    Raises
    ------
    CommandLineError
    """
    from ...seqform.errors import UnknownMethodError
    from ...solvers.methods import find_method

    try:
        return find_method(name, **options)
    except UnknownMethodError as error:
        pattern = r"\b(\w+)=('[^']*'|[-+.\w]+)"
        spelled = re.sub(pattern, lambda found: f"{flag_of(found[1])} {found[2]}", str(error), count=1)
        raise CommandLineError(spelled.removesuffix(", or None")) from None


def flag_of(option: str) -> str:
    """Return how an option is written on the command line."""
    return f"--{option.replace('_', '-')}"


def check_start(path: str | None) -> None:
    """Refuse a file that cannot be a profile, before anything is computed.

    Raises
    ------
    CommandLineError
    """
    if path is None:
        return
    from ...seqform.interchange.files import regular_size

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
    from ...seqform.strategy import Profile

    return None if path is None else Profile.load(path, game)
