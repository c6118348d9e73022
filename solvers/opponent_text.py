"""How the texts of opponents are taken apart: parameters, and opponents within opponents."""

from collections.abc import Sequence
from fractions import Fraction

from ..models.constraints.tokens import parse_number
from ..seqform.errors import InvalidStrategyError, nearest, shown


def split_outside(text: str, separator: str) -> list[str]:
    """Split a text where a separator stands outside of parentheses.

    Raises
    ------
    InvalidStrategyError
        If a parenthesis is not closed, or was never opened.

    Examples
    --------
    >>> from treeplex.solvers.opponent_text import split_outside
    >>> split_outside("0.5*nash+0.5*(mixture:1*uniform+0*nash)", "+")
    ['0.5*nash', '0.5*(mixture:1*uniform+0*nash)']
    """
    pieces, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
        if character == separator and not depth:
            pieces.append(text[start:place])
            start = place + 1
    if depth:
        wrong = "is closed and was never opened" if depth < 0 else "is not closed"
        raise InvalidStrategyError(f"opponent {shown(text, 60)}: a parenthesis {wrong}")
    return [*pieces, text[start:]]


def without_parentheses(text: str) -> str:
    """Return a text without the parentheses around the whole of it, if there are any.

    Examples
    --------
    >>> from treeplex.solvers.opponent_text import without_parentheses
    >>> without_parentheses(" (cfr:iterations=10) ")
    'cfr:iterations=10'
    """
    text = text.strip()
    return text[1:-1].strip() if text.startswith("(") and text.endswith(")") else text


def read_parameters(
    name: str, items: Sequence[str], required: Sequence[str], optional: Sequence[str], form: str
) -> dict[str, str]:
    """Read ``key=value`` items of an opponent.

    Parameters
    ----------
    name : str
        Of the opponent, for messages, as is `form`.
    items : sequence of str
    required, optional : sequence of str
        The keys that it must and may have.
    form : str
        How the opponent is written.

    Raises
    ------
    InvalidStrategyError
        If an item is none, a key is unknown or there twice, or one is missing.
    """
    values: dict[str, str] = {}
    known = (*required, *optional)
    for item in items:
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value):
            raise InvalidStrategyError(f"opponent {name}: {shown(item, 60)} is no parameter; expected key=value")
        if key not in known:
            raise InvalidStrategyError(
                f"opponent {name}: unknown parameter {shown(key, 60)}{nearest(key, known)}; expected "
                f"{', '.join(known) or 'none'}"
            )
        if key in values:
            raise InvalidStrategyError(f"opponent {name}: {key} is given twice; expected it once")
        values[key] = value
    for key in required:
        if key not in values:
            raise InvalidStrategyError(f"opponent {name} needs {key}; expected {form}")
    return values


def read_number(name: str, key: str, text: str) -> Fraction:
    """Read a number of an opponent: ``3``, ``0.25``, ``1e6`` or ``1/4``.

    Raises
    ------
    InvalidStrategyError
    """
    try:
        return parse_number(text)
    except ValueError:
        raise InvalidStrategyError(
            f"opponent {name}: {key} = {shown(text, 60)}; expected a number, such as 0.25 or 1/4"
        ) from None


def read_whole(name: str, key: str, text: str) -> int:
    """Read a whole number of an opponent, from 0 to 10^15: ``1000`` or ``1e3``.

    Raises
    ------
    InvalidStrategyError
    """
    try:
        number = parse_number(text)
    except ValueError:
        number = Fraction(-1)
    if number.denominator != 1 or not 0 <= number <= 10**15:
        raise InvalidStrategyError(
            f"opponent {name}: {key} = {shown(text, 60)}; expected a whole number from 0 on, such as 1000 or 1e3"
        )
    return int(number)
