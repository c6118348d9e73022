"""Parts of Gambit's ``.efg`` format: tokens and their positions, exact numbers, and distinct labels."""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import chain, count
from numbers import Rational
from typing import NoReturn

from ..errors import GameFileError, InvalidGameError, one_line, shown
from ..number_texts import exact_float
from ..rationals import to_fraction
from ..rules import Number

# After each pattern the next character rules out every alternative, so no input takes long to reject.
# Groups are not repeated possessively ("++"), because early releases of Python 3.11 have bugs there.
#: A string in quotes.
TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*"'
_END_OF_NUMBER = r"(?![\d./eE])"
_NUMBER = rf"[+-]?(?:\d++(?:/\d++|(?:\.\d*+)?(?:[eE][+-]?\d++)?)|\.\d++(?:[eE][+-]?\d++)?){_END_OF_NUMBER}"
_INTEGER = rf"[+-]?\d{{1,10}}{_END_OF_NUMBER}"


def _definition(entry: str) -> str:
    """Return the pattern of a label and a list in braces; either may be missing, as in OpenSpiel's files."""
    entries = rf"\{{(?:\s*+{entry})+\s*+\}}"
    return rf"{TEXT}(?:\s*+{entries}|(?!\s*+\{{))|{entries}"


_ACTIONS = _definition(TEXT)
_OUTCOMES = _definition(rf"{TEXT}\s*+{_NUMBER}")
_PAYOFFS = _definition(rf"{_NUMBER}(?:\s*+,)?")
_FLAGS = re.ASCII | re.DOTALL

#: One node, from its letter to its outcome. Groups: a terminal node's name; a decision's name, player, infoset and
#: the infoset's definition; a chance node's name, number and definition; the outcome and its definition.
NODE = re.compile(
    rf"\s*+(?:t\s*+({TEXT})"
    rf'|p\s*+({TEXT})\s*+({_INTEGER})\s*+({_INTEGER})\s*+(?:({_ACTIONS})|(?!["{{]))'
    rf'|c\s*+({TEXT})\s*+({_INTEGER})\s*+(?:({_OUTCOMES})|(?!["{{])))'
    rf'\s*+({_INTEGER})(?:\s*+({_PAYOFFS})|(?!\s*+["{{]))',
    _FLAGS,
)
STRING = re.compile(TEXT, _FLAGS)
NUMBER = re.compile(_NUMBER, _FLAGS)

_BLANKS = re.compile(r"\s*+", _FLAGS)
_WORD = re.compile(rf'{TEXT}|{_NUMBER}|[{{}},]|[^\s"{{}},]++|"', _FLAGS)
_WHOLE = "(an integer of at most ten digits)"


def fault(text: str, position: int, message: str) -> GameFileError:
    """Return the error for an invalid position in the text."""
    line_start = text.rfind("\n", 0, position) + 1
    return GameFileError(message, line=text.count("\n", 0, position) + 1, column=position - line_start + 1)


def unquote(quoted: str) -> str:
    r"""Return the string between quotes, in which a backslash escapes a quote or a backslash.

    Examples
    --------
    >>> from treeplex.seqform.interchange.efg_text import quote, unquote
    >>> unquote(r'"say \"go\""'), quote('say "go"')
    ('say "go"', '"say \\"go\\""')
    """
    body = quoted[1:-1]
    return re.sub(r'\\([\\"])', r"\1", body) if "\\" in body else body


def quote(text: str) -> str:
    r"""Return a string in quotes.

    A backslash is doubled only where it would be misread: before a quote, before another backslash and at the end.
    Gambit does not support doubled backslashes and reads all others literally.
    """
    if "\\" in text or '"' in text:
        text = re.sub(r'\\(?=[\\"]|\Z)|"', lambda found: "\\" + found.group(), text)
    return f'"{text}"'


class Cursor:
    """A position in a text that moves from word to word, and raises an error at an unexpected word.

    Parameters
    ----------
    text : str
    position : int
        Where to start.
    """

    def __init__(self, text: str, position: int = 0) -> None:
        self.text = text
        #: The position of the last word taken.
        self.start = position
        self._next = position

    @property
    def position(self) -> int:
        """The position of the next word, after whitespace."""
        found = _BLANKS.match(self.text, self._next)
        return found.end() if found else self._next

    def peek(self) -> str:
        """Return the next word; empty at the end of the text."""
        found = _WORD.match(self.text, self.position)
        return found.group() if found else ""

    def take(self, pattern: str, expected: str) -> str:
        """Return the next word and move past it, if a regular expression matches it; otherwise raise an error."""
        word = self.peek()
        self.start = self.position
        self._next = self.start + len(word)
        if not re.fullmatch(pattern, word, _FLAGS):
            received = "a string with no closing quote" if word == '"' else one_line(word, 40) or "the end of the file"
            raise fault(self.text, self.start, f"expected {expected}, received {received}")
        return word


def explain(text: str, position: int) -> NoReturn:
    """Raise an error at the first wrong word of a node that :data:`NODE` does not match."""
    cursor = Cursor(text, position)
    kind = cursor.take("[cpt]", "a node: c (chance), p (a player's decision) or t (terminal)")
    cursor.take(TEXT, "the node's name in quotes")
    before = ""
    if kind == "p":
        cursor.take(_INTEGER, f"the player's number {_WHOLE}")
    if kind != "t":
        cursor.take(_INTEGER, f"the infoset's number {_WHOLE}")
        before = "the infoset's label in quotes, its actions in braces, or "
        if cursor.peek().startswith('"'):
            cursor.take(TEXT, "the infoset's label in quotes")
            before = "the infoset's actions in braces, or "
        if cursor.peek() == "{":
            _explain_list(cursor, "an action's label in quotes", "the action's probability" if kind == "c" else "")
            before = ""
    cursor.take(_INTEGER, f"{before}the outcome's number {_WHOLE}")
    if cursor.peek().startswith('"'):
        cursor.take(TEXT, "the outcome's label in quotes")
    if cursor.peek() == "{":
        _explain_list(cursor, number="a payoff")
    raise fault(text, position, "this node is not valid")


def _explain_list(cursor: Cursor, text: str = "", number: str = "") -> None:
    """Check a list in braces of strings, of strings each with a number, or of numbers optionally with commas."""
    cursor.take(r"\{", "{")
    end = ""
    while not end or cursor.peek() != "}":
        if text:
            cursor.take(TEXT, text + end)
        if number:
            cursor.take(_NUMBER, number if text else number + end)
        if not text and cursor.peek() == ",":
            cursor.take(",", ",")
        end = ", or }"
    cursor.take("}", "}")


#: The longest number that is read or written, in digits of a numerator or a denominator; every float is much shorter.
MAX_DIGITS = 600
#: How far the sum of a chance node's probabilities may differ from one: decimals in files are often truncated.
PROBABILITY_TOLERANCE = 1e-5

_MAX_BITS = 2000  # 602 digits
_TOO_LONG = f"a fraction of more than {MAX_DIGITS} digits"
_TOO_LARGE, _TOO_SMALL = "is larger than every float", "is too small for a float"
# A number with an exponent beyond this is too large or too long, whatever its digits are.
_FARTHEST = 2 * MAX_DIGITS


def parse_number(text: str) -> int | Fraction:
    """Return an integer, a decimal or a fraction as an exact number.

    Parameters
    ----------
    text : str
        In one of the forms of the format: ``-3``, ``1/3``, ``.25`` or ``1.5e-3``.

    Raises
    ------
    InvalidGameError
        If the denominator is zero, the number is not a finite float, or it has more than :data:`MAX_DIGITS` digits; the
        message is the predicate of a sentence about the number.

    Examples
    --------
    >>> from treeplex.seqform.interchange.efg_text import parse_number
    >>> parse_number("-2.50"), parse_number("10.0"), parse_number("2/6")
    (Fraction(-5, 2), 10, Fraction(1, 3))
    """
    numerator, slash, denominator = text.partition("/")
    mantissa, _, exponent = numerator.lower().partition("e")
    if max(len(mantissa), len(denominator)) > MAX_DIGITS or len(exponent) > 6:
        raise InvalidGameError(f"has more than {MAX_DIGITS} digits")
    if slash and not int(denominator):
        raise InvalidGameError("divides by zero")
    if not mantissa.strip("+-0."):
        return 0
    if abs(int(exponent or 0)) > _FARTHEST:  # the number itself would fill the memory
        raise InvalidGameError(_TOO_LARGE if int(exponent) > 0 else f"is {_TOO_LONG}")
    return _checked(Fraction(text))


def add(first: int | Fraction, second: int | Fraction) -> int | Fraction:
    """Return the sum of two payoffs.

    Raises
    ------
    InvalidGameError
        If it is not a finite float, or has more than :data:`MAX_DIGITS` digits; the message is the predicate of a
        sentence about the sum.
    """
    total = first + second
    return total if isinstance(total, int) and -(10**9) < total < 10**9 else _checked(Fraction(total))


def _checked(value: Fraction) -> int | Fraction:
    """Return a value, as an ``int`` if it is whole; raise an error if it is too large or too long."""
    try:
        exact_float(value)
    except OverflowError:
        raise InvalidGameError(_TOO_LARGE) from None
    except ValueError:
        raise InvalidGameError(_TOO_SMALL) from None
    if value.numerator.bit_length() > _MAX_BITS or value.denominator.bit_length() > _MAX_BITS:
        raise InvalidGameError(f"is {_TOO_LONG}")
    return value.numerator if value.denominator == 1 else value


def normalised(probabilities: Sequence[int | Fraction]) -> tuple[int | Fraction, ...]:
    """Return probabilities whose sum is exactly one.

    Parameters
    ----------
    probabilities : sequence of int or Fraction
        Non-negative. Their sum may differ from one by :data:`PROBABILITY_TOLERANCE`; they are divided by it.

    Raises
    ------
    InvalidGameError
        If their sum differs by more, or the quotients have more than :data:`MAX_DIGITS` digits; the message is the
        predicate of a sentence about the probabilities.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from treeplex.seqform.interchange.efg_text import normalised
    >>> normalised([Fraction("0.333333")] * 3)
    (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
    """
    about = sum(map(float, probabilities))
    if not abs(about - 1.0) <= PROBABILITY_TOLERANCE:
        raise InvalidGameError(f"sum to {about:.12g}, expected 1")
    total = Fraction(0)
    for probability in probabilities:
        total += probability
        if total.denominator.bit_length() > _MAX_BITS:  # every further sum would be even longer
            raise InvalidGameError(f"sum to {_TOO_LONG}")
    if total == 1:
        return tuple(probabilities)
    return tuple(_checked(probability / total) for probability in probabilities)


def format_payoff(value: Number) -> str:
    """Return a payoff as a string: an integer, the shortest decimal that rounds to a float, or a fraction.

    A fraction that equals the shortest decimal of a float is written as this decimal, so the string depends only on the
    value.

    Raises
    ------
    InvalidGameError
        If the number has more than :data:`MAX_DIGITS` digits.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from treeplex.seqform.interchange.efg_text import format_payoff
    >>> format_payoff(2.0), format_payoff(0.1), format_payoff(Fraction(1, 2)), format_payoff(Fraction(1, 3))
    ('2', '0.1', '0.5', '1/3')
    """
    exact = exact_number(value)
    if exact.denominator == 1:
        return str(exact.numerator)
    decimal = repr(float(exact))
    return decimal if Fraction(decimal) == exact else f"{exact.numerator}/{exact.denominator}"


def exact_number(value: Number) -> Fraction:
    """Return a number as a fraction; a float becomes the shortest decimal that rounds to it.

    Raises
    ------
    InvalidGameError
        If it has more than :data:`MAX_DIGITS` digits.
    """
    if isinstance(value, Decimal):  # 1e-999999999 is short, but its fraction would fill the memory
        parts = value.as_tuple()
        if len(parts.digits) > MAX_DIGITS or (value and abs(value.adjusted()) > MAX_DIGITS):
            raise InvalidGameError(_refusal(value))
        value = value or Decimal(0)  # zero has an exponent too
    elif not isinstance(value, Rational):
        value = float(value)  # even numpy's float32, whose value is the one used in the game
    exact = to_fraction(value)
    if exact.numerator.bit_length() > _MAX_BITS or exact.denominator.bit_length() > _MAX_BITS:
        raise InvalidGameError(_refusal(value))
    return exact


def _refusal(value: Number) -> str:
    return f"{shown(value)} has more than {MAX_DIGITS} digits, which an .efg file does not support"


def distinct_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return distinct labels: those that are empty or occur more than once get ``_1``, ``_2``, … appended.

    A number is skipped if it would give an existing label. Gambit has done the same since version 16.6.

    Parameters
    ----------
    labels : sequence of str

    Returns
    -------
    tuple of str
        Distinct and non-empty. Labels that already were stay unchanged.

    Examples
    --------
    >>> from treeplex.seqform.interchange.efg_text import distinct_labels
    >>> distinct_labels(["call", "raise", "raise", ""])
    ('call', 'raise_1', 'raise_2', '_1')
    """
    used = set(labels)
    if len(used) == len(labels) and "" not in used:
        return tuple(labels)
    counts = Counter(labels)
    numbered = {label: _numbered(label) for label in counts}
    return tuple(_first_free(numbered[label], used) if not label or counts[label] > 1 else label for label in labels)


def infoset_labels(labels: Sequence[str], numbers: Sequence[int]) -> list[str]:
    """Return distinct labels for a player's infosets.

    Parameters
    ----------
    labels, numbers : sequence of str, sequence of int
        One per infoset, in the order of a depth-first walk; numbers are distinct.

    Returns
    -------
    list of str
        A label that is not empty and occurs once stays unchanged. Any other infoset is named by its number, with
        ``_1``, ``_2``, … appended if that label exists already.

    Examples
    --------
    >>> from treeplex.seqform.interchange.efg_text import infoset_labels
    >>> infoset_labels(["Jack", "Queen", "Queen", ""], [1, 2, 3, 7])
    ['Jack', '2', '3', '7']
    """
    counts = Counter(labels)
    used = {label for label, times in counts.items() if times == 1}
    distinct = []
    for label, number in zip(labels, numbers, strict=True):
        candidates = chain([str(number)], _numbered(str(number)))
        distinct.append(_first_free(candidates, used) if not label or counts[label] > 1 else label)
    return distinct


def _numbered(label: str) -> Iterator[str]:
    return (f"{label}_{number}" for number in count(1))


def _first_free(candidates: Iterator[str], used: set[str]) -> str:
    """Return the first unused candidate, and add it to the used ones."""
    found = next(candidate for candidate in candidates if candidate not in used)
    used.add(found)
    return found


def label_text(label: Hashable) -> str:
    """Return any label as a string that a file can contain.

    Raises
    ------
    InvalidGameError
        If the label cannot be converted to a string.
    """
    try:
        text = label if isinstance(label, str) else str(label)
    except ValueError:  # an integer of thousands of digits
        raise InvalidGameError(f"label {shown(label)} cannot be written as text") from None
    return text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate becomes a question mark
