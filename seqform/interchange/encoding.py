"""Labels and numbers as JSON: values with a JSON type are written directly, all others as an object with one key.

=====================  ==================================================================
value                  JSON
=====================  ==================================================================
string, ``True``,      unchanged; a float always has a point or an exponent, an integer
``None``, 1, 0.5       never does
tuple                  array
frozenset              ``{"set": […]}``, in the order of its elements' JSON
``Fraction(1, 3)``     ``{"fraction": "1/3"}``
``Decimal("0.10")``    ``{"decimal": "0.10"}``
infinite float         ``{"float": "inf"}``, ``{"float": "-inf"}``
enormous integer       ``{"int": "0x…"}``, beyond about 4,000 decimal digits
=====================  ==================================================================

Payoffs and probabilities are always numbers, so exact values can be written as text: ``"1/3"`` is a fraction (as is
``"2/1"``), and ``"0.10"`` a decimal.

Reading restores the value that was written, including its type: ``1``, ``1.0`` and ``True`` are distinct.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any

import numpy as np

from ..errors import GameFileError, InvalidGameError, one_line, shown
from ..number_texts import TooLargeError, TooSmallError, exact_float, read_float

#: Integers of more bits, about 4,000 decimal digits, are written in hexadecimal, because Python does not read longer
#: ones.
MAX_BITS = 13_288
#: The largest nesting depth of tuples and sets.
MAX_DEPTH = 100
#: The largest number of labels with the same hash. A file can contain many such labels, and looking them up is slow.
MAX_ALIKE = 100
#: Decimals beyond ten to this power, or below its inverse, are rejected: as fractions they would fill the memory.
MAX_EXPONENT = 10_000

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_FRACTION = re.compile(r"\s*([+-]?(?:0x[0-9a-fA-F]+|[0-9]+))\s*/\s*(0x[0-9a-fA-F]+|[0-9]+)\s*")


def encode(label: Hashable, depth: int = 0) -> Any:
    """Return a label as a value that :mod:`json` can write.

    Raises
    ------
    InvalidGameError
        If it contains anything but strings, numbers, ``True``, ``False``, ``None``, tuples and frozensets.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from treeplex.seqform.interchange.encoding import decode, encode
    >>> encode(("bet", 2, Fraction(1, 2)))
    ['bet', 2, {'fraction': '1/2'}]
    >>> decode(_)
    ('bet', 2, Fraction(1, 2))
    """
    kind = type(label)
    if kind is str:
        try:
            label.encode()  # type: ignore[attr-defined]
        except UnicodeEncodeError:
            said = "contains a lone surrogate, which cannot be written to a file"
            raise InvalidGameError(f"string {shown(label)} {said}") from None
        return label
    if kind is bool or label is None:
        return label
    if kind is int:
        return label if _is_short(label) else {"int": f"{label:#x}"}
    if kind is float:
        return _encode_float(label)
    if depth >= MAX_DEPTH and kind in (tuple, frozenset):
        raise InvalidGameError(f"a label is nested more than {MAX_DEPTH} levels deep, the limit for files")
    if kind is tuple:
        return [encode(part, depth + 1) for part in label]  # type: ignore[attr-defined]
    if kind is frozenset:
        return {"set": sorted((encode(part, depth + 1) for part in label), key=to_json)}  # type: ignore[attr-defined]
    if kind is Fraction:
        return {"fraction": _fraction_text(label)}
    if kind is Decimal:
        return {"decimal": _decimal_text(label)}
    if isinstance(label, np.generic) and type(label.item()) is not kind:
        return encode(label.item(), depth)
    raise InvalidGameError(
        f"label {shown(label)} is a {one_line(kind.__name__)}: a file can contain strings, numbers, True, False, "
        "None, and tuples and frozensets of these"
    )


def decode(data: Any, depth: int = 0) -> Hashable:
    """Return the label that :func:`encode` wrote.

    Raises
    ------
    GameFileError
        If it is not a label.
    """
    if data is None or isinstance(data, str | int):
        return data
    if isinstance(data, float):
        return _finite(data)
    if depth >= MAX_DEPTH:
        raise GameFileError(f"a label is nested more than {MAX_DEPTH} levels deep")
    if isinstance(data, list):
        return tuple([decode(part, depth + 1) for part in data])
    if len(data) == 1:
        ((tag, content),) = data.items()
        if tag == "set" and isinstance(content, list):
            parts = [decode(part, depth + 1) for part in content]
            if len(parts) - len(set(map(hash, parts))) >= MAX_ALIKE:
                raise GameFileError(f"a set has at least {MAX_ALIKE} elements with the same hash")
            return frozenset(parts)
        if tag == "fraction" and isinstance(content, str) and _FRACTION.fullmatch(content):
            return _fraction(content)
        if tag == "decimal" and isinstance(content, str):
            return _decimal(content)
        if tag == "float" and content in ("inf", "-inf"):
            return float(content)
        if tag == "int" and isinstance(content, str) and re.fullmatch(r"-?0x[0-9a-fA-F]+", content):
            return int(content, 16)
    raise GameFileError(
        f"{shown(data)} is not a label: expected a string, a number, true, false, null, an array, or an object with "
        "one key (set, fraction, decimal, float or int)"
    )


def encode_number(number: Any) -> Any:
    """Return a payoff or a probability as a value that :mod:`json` can write; exact ones become strings.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from treeplex.seqform.interchange.encoding import encode_number
    >>> encode_number(0.5), encode_number(Fraction(1, 3))
    (0.5, '1/3')
    """
    if isinstance(number, np.generic):
        number = number.item()
    if isinstance(number, bool):
        return int(number)
    if isinstance(number, Integral):
        return encode(int(number))
    if isinstance(number, Rational):
        return _fraction_text(number)
    return _decimal_text(number) if isinstance(number, Decimal) else _encode_float(float(number))


def decode_number(data: Any) -> int | float | Fraction | Decimal:
    """Return the number that :func:`encode_number` wrote.

    Raises
    ------
    GameFileError
        If it is not a number, or not a finite one.
    """
    if isinstance(data, int) and not isinstance(data, bool):
        return data
    if isinstance(data, float):
        return _finite(data)
    if isinstance(data, str):
        exact = _fraction(data) if _FRACTION.fullmatch(data) else _decimal(data)
        try:
            exact_float(exact)
        except TooSmallError:
            raise GameFileError(f"{shown(data)} is too small for a float") from None
        except OverflowError:
            raise GameFileError(f"{shown(data)} is too large for a float") from None
        return exact
    if isinstance(data, dict) and list(data) == ["int"]:
        return decode(data)  # type: ignore[return-value]
    raise GameFileError(f'{shown(data)} is not a number: expected a number such as 1, 0.5 or "1/3"')


def decode_payoffs(data: Any) -> tuple[int | float | Fraction | Decimal, ...]:
    """Return payoffs from an array of numbers, or from a string such as ``1, -1`` or ``(1/3, -1/3)``.

    A number with a point but without quotes is a float.

    Raises
    ------
    GameFileError
        If they are not payoffs.

    Examples
    --------
    >>> from treeplex.seqform.interchange.encoding import decode_payoffs
    >>> decode_payoffs([1, "1/3"]), decode_payoffs("(1, -1/3, 0.5)")
    ((1, Fraction(1, 3)), (1, Fraction(-1, 3), 0.5))
    """
    if isinstance(data, list):
        return tuple([decode_number(number) for number in data])
    if not isinstance(data, str):
        raise GameFileError(f"payoffs are {shown(data)}, expected an array of one number per player, such as [1, -1]")
    text = data.strip()
    for first, last in ("[]", "()"):
        if text.startswith(first) and text.endswith(last):
            text = text[1:-1]
            break
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 1 and not parts[-1]:  # Python writes a tuple of one number as (1,)
        del parts[-1]
    return tuple([_plain_number(part, data) for part in parts])


def _plain_number(text: str, whole: str) -> int | float | Fraction | Decimal:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    try:
        if quoted or "/" in text:
            return decode_number(text.strip("'\""))
        if re.fullmatch(r"[+-]?[0-9]+", text):
            return int(text)
        number = read_float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise GameFileError(f"payoffs are {shown(whole)}, expected one finite number per player, such as [1, -1]")
    return number


def to_json(data: Any) -> str:
    """Return encoded data as JSON on one line, with printable characters unescaped."""
    return _ENCODER.encode(data)


def from_json(text: str | bytes) -> Any:
    """Read JSON from an untrusted source.

    Raises
    ------
    GameFileError
        If it is not JSON, contains NaN, Infinity or the same key twice, is nested too deeply, or has integers that are
        too long or floats that are too small; with line and column if they are known.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        return json.loads(text, parse_float=_read_number, parse_constant=_refuse_constant, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        raise GameFileError(f"not JSON: {one_line(error.msg)}", error.lineno, error.colno) from None
    except UnicodeDecodeError as error:
        raise GameFileError(f"not UTF-8: byte {error.start} is {error.object[error.start]:#04x}") from None
    except GameFileError:
        raise
    except ValueError:  # Python's limit on the digits of an integer
        raise GameFileError('an integer has too many digits: write it in hexadecimal, {"int": "0x…"}') from None
    except RecursionError:
        raise GameFileError("arrays or objects are nested too deeply") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise GameFileError(f"an object has the key {shown(twice)} twice")
    return found


def _read_number(text: str) -> float:
    try:
        return read_float(text)
    except (TooSmallError, TooLargeError) as error:
        raise GameFileError(f"{shown(text)} is {error}") from None


def _refuse_constant(name: str) -> Any:
    raise GameFileError(f"{name} is not allowed, expected a finite number")


def _is_short(number: Any) -> bool:
    return bool(number.bit_length() <= MAX_BITS)


def _encode_float(number: Any) -> Any:
    if math.isnan(number):
        raise InvalidGameError("nan cannot be written to a file, either as a label or as a number")
    return {"float": "inf" if number > 0 else "-inf"} if math.isinf(number) else number


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise GameFileError("a number is too large for a float")
    return number


def _fraction_text(fraction: Any) -> str:
    parts = (int(fraction.numerator), int(fraction.denominator))
    return "/".join(str(part) if _is_short(part) else hex(part) for part in parts)


def _fraction(text: str) -> Fraction:
    match = _FRACTION.fullmatch(text)
    assert match is not None
    _check_length(text)
    try:
        numerator, denominator = (int(part, 16 if "0x" in part else 10) for part in match.groups())
        return Fraction(numerator, denominator)
    except ZeroDivisionError:
        raise GameFileError(f"{shown(text)} is not a fraction: its denominator is 0") from None
    except ValueError:
        raise GameFileError(f"{shown(text)} has too many digits: write it in hexadecimal") from None


def _decimal_text(number: Any) -> str:
    text = str(number)
    _decimal(text)
    return text


def _decimal(text: str) -> Decimal:
    _check_length(text)
    try:
        number = Decimal(text)
    except (InvalidOperation, ValueError):
        number = Decimal("nan")
    if not number.is_finite():
        raise GameFileError(f'{shown(text)} is not a number: expected a number such as 1, 0.5 or "1/3"')
    if abs(number.as_tuple().exponent) > MAX_EXPONENT:  # type: ignore[arg-type]  # an integer in a finite number
        raise GameFileError(
            f"{shown(text)} is out of range, expected an exponent from -{MAX_EXPONENT:,} to {MAX_EXPONENT:,}"
        )
    return number


def _check_length(text: str) -> None:
    if len(text) > MAX_EXPONENT:
        raise GameFileError(f"{shown(text)} has {len(text):,} characters, expected at most {MAX_EXPONENT:,}")


def json_ready(value: Any) -> Any:
    """Return a value made of plain JSON types: fractions as strings or integers, ``None`` for inf and nan."""
    if isinstance(value, Mapping):
        return {str(key): json_ready(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value if value is None or isinstance(value, bool | int | str) else str(value)
