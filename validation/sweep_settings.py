"""Settings of a sweep: fixed values, a grid and a list, from Python or from a TOML file, with their keys."""

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence, Sized
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..seqform.checks import check_choice, check_number, check_whole, is_number
from ..seqform.errors import GameFileError, UnsupportedProblemError, nearest, one_line, shown
from ..seqform.interchange.files import naming
from ..seqform.interchange.toml_table import read_toml

#: A setting: the arguments of a function or a command, by name.
Setting = Mapping[str, Any]

#: The largest number of settings in a sweep.
MAX_SETTINGS = 100_000
_SPAN = ("from", "to", "steps", "scale")


def expand(
    fixed: Setting | None = None, grid: Mapping[str, Any] | None = None, listed: Sequence[Setting] | None = None
) -> list[dict[str, Any]]:
    """Return all settings: each entry of a list with each combination of a grid's values; the last name varies fastest.

    Parameters
    ----------
    fixed : mapping of str, optional
        Values shared by all settings, unless a setting of the list overrides them.
    grid : mapping of str to values, optional
        Each a list of values, or ``{"from": 0, "to": 1, "steps": 11}``, with ``"scale": "log"`` for equal ratios.
    listed : sequence of mapping, optional

    Raises
    ------
    UnsupportedProblemError
        If a name is given twice, or values are invalid; the message names it.

    Examples
    --------
    >>> from treeplex.validation.sweep_settings import expand
    >>> expand({"game": "kuhn"}, {"p": {"from": 0, "to": 1, "steps": 3}})
    [{'game': 'kuhn', 'p': 0}, {'game': 'kuhn', 'p': 0.5}, {'game': 'kuhn', 'p': 1}]
    """
    fixed, grid, listed = fixed or {}, grid or {}, [{}] if listed is None else listed
    if not listed:
        raise UnsupportedProblemError("list is empty, expected at least one setting")
    sizes = [
        given.get("steps") if isinstance(given, Mapping) else len(given)
        for given in grid.values()
        if isinstance(given, Sized)
    ]
    count = len(listed) * math.prod(size for size in sizes if isinstance(size, int) and size > 0)
    if count > MAX_SETTINGS:
        raise UnsupportedProblemError(f"there are {count:,} settings, expected at most {MAX_SETTINGS:,}")
    axes = {name: _values(f"grid.{name}", given) for name, given in grid.items()}
    for name, value in fixed.items():
        _check_value(name, value)
    for place, one in enumerate(listed, 1):
        for name, value in one.items():
            _check_value(f"list, setting {place}: {name}", value)
    for name in axes:
        owners = ["a fixed setting"] * (name in fixed) + ["the list"] * any(name in one for one in listed)
        if owners:
            raise UnsupportedProblemError(f"grid.{name}: {owners[0]} also sets {name}, expected it only once")
    return [
        {**fixed, **one, **dict(zip(axes, values, strict=True))}
        for one in listed
        for values in itertools.product(*axes.values())
    ]


def read_settings(path: str | PathLike[str]) -> list[dict[str, Any]]:
    """Return the settings of a TOML file: fixed values, and the tables ``[grid]`` and ``[[list]]``.

    Raises
    ------
    GameFileError
        If the file cannot be read, is not TOML, or does not contain settings; the message names the file and the key.
    """
    with naming(path):
        top = read_toml(path)
        grid = top.table("grid", "[grid] with p = [0.1, 0.2]").values
        listed = [one.values for one in top.tables("list", '[[list]] with method = "cfr+"')] if "list" in top else None
        fixed = {name: value for name, value in top.values.items() if name not in ("grid", "list")}
        for name, value in fixed.items():
            if isinstance(value, dict):
                hint = nearest(name, ("grid", "list"))
                raise top.error(f"unknown table {shown(name, 60)}{hint}; expected [grid] and [[list]]", name)
        try:
            return expand(fixed, grid, listed)
        except UnsupportedProblemError as error:
            raise GameFileError(str(error)) from None


def _values(owner: str, given: Any) -> list[Any]:
    """Return the values of a name in a grid."""
    if isinstance(given, Mapping):
        return _span(owner, given)
    values = given.tolist() if isinstance(given, np.ndarray) else given
    if isinstance(values, str) or not isinstance(values, Sequence):
        example = "[0.1, 0.2] or {from = 0, to = 1, steps = 11}"
        raise UnsupportedProblemError(f"{owner} is {shown(given, 60)}, expected several values, such as {example}")
    if not values:
        raise UnsupportedProblemError(f"{owner} is empty, expected at least one value")
    for value in values:
        _check_value(owner, value)
    return list(values)


def _span(owner: str, given: Mapping[str, Any]) -> list[Any]:
    """Return numbers between two ends, inclusive, in equal steps or ratios; decimals stay short."""
    for name in given:
        if name not in _SPAN:
            hint = nearest(name, _SPAN)
            raise UnsupportedProblemError(
                f"{owner}: unknown key {shown(name, 60)}{hint}; expected the keys from, to and steps"
            )
    for name in _SPAN[:3]:
        if name not in given:
            raise UnsupportedProblemError(f"{owner}: {name} is missing; expected the keys from, to and steps")
    steps = check_whole(given["steps"], f"{owner}.steps", UnsupportedProblemError, f"[2, {MAX_SETTINGS}]")
    scale = check_choice(given.get("scale", "linear"), f"{owner}.scale", UnsupportedProblemError, ("linear", "log"))
    interval = "(0, inf)" if scale == "log" else "(-inf, inf)"
    for name in ("from", "to"):
        check_number(given[name], f"{owner}.{name}", UnsupportedProblemError, interval)
    if scale == "log":
        low, high = math.log10(given["from"]), math.log10(given["to"])
        inner = [float(f"{10 ** (low + (high - low) * place / (steps - 1)):.12g}") for place in range(1, steps - 1)]
        return [_short(given["from"]), *map(_short, inner), _short(given["to"])]
    # 0.1 means one tenth, so the third of ten steps from 0 to 1 is 0.3.
    first, last = (Fraction(Decimal(repr(given[name]))) for name in ("from", "to"))
    return [_short(float(first + (last - first) * Fraction(place, steps - 1))) for place in range(steps)]


def _short(number: float) -> float | int:
    return int(number) if float(number).is_integer() and abs(number) <= 2**53 else float(number)


def _check_value(owner: str, value: Any) -> None:
    """Raise an error unless a value is a number, a string, a boolean, or a list of these."""
    for one in value if isinstance(value, list | tuple) else (value,):
        if not (isinstance(one, bool | str) or one is None or (is_number(one) and abs(one) < 1e300)):
            raise UnsupportedProblemError(
                f"{owner} is {shown(one, 60)}, expected a finite number, a string, true or false, or a list of these"
            )


def as_text(value: Any) -> str:
    """Return a value as it would be typed; 1 and 1.0 give the same string.

    Examples
    --------
    >>> from treeplex.validation.sweep_settings import as_text
    >>> as_text(1.0), as_text(0.1), as_text(True), as_text(["a", "b"])
    ('1', '0.1', 'true', 'a, b')
    """
    if isinstance(value, list | tuple):
        return ", ".join(map(as_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    return str(_short(value)) if isinstance(value, float) else str(value)


def varied_names(settings: Sequence[Setting]) -> list[str]:
    """Return the names whose values differ between settings, or that some settings lack."""
    names = dict.fromkeys(name for one in settings for name in one)
    return [name for name in names if len({_canonical(one[name]) if name in one else "" for one in settings}) > 1]


def label_of(setting: Setting, names: Sequence[str]) -> str:
    """Return a short string that distinguishes a setting from the others.

    Examples
    --------
    >>> from treeplex.validation.sweep_settings import label_of
    >>> label_of({"game": "kuhn", "p": 0.5, "method": "highs"}, ["p", "method"])
    'p=0.5 method=highs'
    """
    return one_line(" ".join(f"{name}={as_text(setting[name])}" for name in names if name in setting))


def keys_of(run: str, settings: Sequence[Setting]) -> list[str]:
    """Return sixteen hexadecimal digits for each setting, the key of its result.

    Keys depend on the function or command, the setting, the contents of files that it names, and the version of the
    library. If one of these changes, the setting is computed again.
    """
    from .. import __version__

    contents: dict[str, str | None] = {}
    keys = []
    for setting in settings:
        texts = [text for value in setting.values() for text in (value if isinstance(value, list | tuple) else [value])]
        for text in texts:
            if isinstance(text, str) and text not in contents:
                contents[text] = _content(text)
        files = {text: contents[text] for text in texts if isinstance(text, str) and contents[text]}
        asked = [run, {name: _canonical(value) for name, value in setting.items()}, files, __version__]
        keys.append(hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16])
    return keys


def _canonical(value: Any) -> str:
    return json.dumps([as_text(one) for one in value] if isinstance(value, list | tuple) else as_text(value))


def _content(name: str) -> str | None:
    """Return the digest of the file that a string names; ``None`` if there is no such file."""
    try:
        path = Path(name)
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None


def flat(result: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the numbers and strings of a result by dotted names; histories, tables and long lists are omitted.

    Examples
    --------
    >>> from treeplex.validation.sweep_settings import flat
    >>> flat({"value": 0.5, "sizes": {"infosets": [6, 6]}, "rows": [{}]})
    {'value': 0.5, 'sizes.infosets.0': 6, 'sizes.infosets.1': 6}
    """
    found: dict[str, Any] = {}
    for name, value in result.items():
        if name == "history":  # the history of a run, with its times
            continue
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            if len(value) <= 16 and not any(isinstance(one, Mapping | list | tuple) for one in value):
                found |= {f"{prefix}{name}.{place}": one for place, one in enumerate(value)}
        else:
            found[f"{prefix}{name}"] = value
    return found
