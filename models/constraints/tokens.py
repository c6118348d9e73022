"""The tokens of constraint strings: symbols, labels, numbers and names."""

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ...seqform.checks import check_type
from ...seqform.errors import InvalidConstraintError, TreeplexError, one_line, shown
from ...seqform.names import SPECIAL
from .constraint import check_name

_COMPARISONS = ("<=", ">=", "==")
#: Other ways to write comparisons, and what is meant.
_MEANT = {"=": "==", "===": "==", "<": "<=", "=<": "<=", "≤": "<=", ">": ">=", "=>": ">=", "≥": ">="}
#: The symbols between terms and bounds, longer ones first.
SYMBOLS = (*_COMPARISONS, "+", "/", ":", "(", ")", "<", ">", "=")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+/[0-9]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE](?P<exponent>[+-]?[0-9]+))?)")
#: Numbers with more characters, or further from 1 in powers of ten, are not valid bounds.
_LONGEST, _FARTHEST = 1000, 300


def parse_number(text: str) -> Fraction:
    """Parse a number exactly: ``3``, ``-0.25``, ``1e-3`` or ``1/18``.

    Raises
    ------
    ValueError
        If it is not a number, or has thousands of digits.

    Examples
    --------
    >>> from treeplex.models.constraints.tokens import parse_number
    >>> parse_number("0.1"), parse_number("1/18")
    (Fraction(1, 10), Fraction(1, 18))
    """
    if len(text) > _LONGEST:
        raise ValueError("the number is too long")
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError("it is not a number")
    try:
        is_near = abs(int(found["exponent"] or 0)) <= _FARTHEST
        number = Fraction(text) if is_near else Fraction(0)
    except ZeroDivisionError:
        raise ValueError("the denominator is zero") from None
    if not is_near or (number and not 10.0**-_FARTHEST <= abs(number) < 10.0 ** (_FARTHEST + 1)):
        raise ValueError("the number is too large or too small")
    return number


def pattern_of(symbols: tuple[str, ...], special: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of the next token of a string, after spaces: the end, a quote, a symbol or a word."""
    one_of, none_of = "|".join(map(re.escape, symbols)), re.escape("".join(sorted(special)))
    return re.compile(rf'\s*(?:(?P<end>\Z)|(?P<quoted>")|(?P<symbol>{one_of})|(?P<word>[^\s{none_of}]+)|)')


# Brackets around any characters except brackets, which may occur inside quotes and, in pairs, once inside the brackets.
_INSIDE = r'[^()"]|"(?:[^"\\]|\\.)*"'
_BRACKETS = re.compile(rf"\((?:{_INSIDE}|\((?:{_INSIDE})*\))*\)")
# A number with the characters that follow it without a space; spaces are allowed around the bar of a fraction.
_PART = r"""[^\s"':/()<>=@]*"""
_WITH_BAR = re.compile(rf"{_PART}(?:\s*/\s*{_PART})?")


@dataclass(frozen=True)
class Token:
    """A token of a string.

    Attributes
    ----------
    kind : str
        ``symbol``, ``word``, ``quoted`` or ``end``.
    text : str
        Without its quotes.
    start, stop : int
        Its position in the string.
    """

    kind: str
    text: str
    start: int
    stop: int

    @property
    def shown(self) -> str:
        """The name of the token in messages."""
        return "the end" if self.kind == "end" else shown(self.text, 60)


class Tokens:
    """A parser that consumes one string from its beginning to its end.

    Parameters
    ----------
    what : str
        The kind of string, for messages.
    text : str
    """

    #: The exception for a string that cannot be parsed.
    failure: ClassVar[type[TreeplexError]] = InvalidConstraintError
    example: ClassVar[str] = "0/K_:b <= 0.5"
    #: The pattern of a token: here ``@`` may be a part of a word.
    pattern: ClassVar[re.Pattern[str]] = pattern_of(SYMBOLS, SPECIAL - {"@"})

    def __init__(self, what: str, text: str) -> None:
        check_type(text, f"the {what}", self.failure, str, f"a string such as '{self.example}'")
        self._what = what
        self._text = text
        self._position = 0
        self._pieces: list[str] = []

    def error(self, column: int, message: str) -> TreeplexError:
        """Return an error that reports the position of a problem in the string."""
        return self.failure(f"{self._what} {shown(self._text)}, column {column + 1}: {message}")

    def peek(self) -> Token:
        """Return the next token without consuming it."""
        found = self.pattern.match(self._text, self._position)
        assert found is not None
        kind = found.lastgroup
        start, stop = found.span(kind or 0)
        if kind is None:
            raise self.error(stop, f"received {shown(self._text[stop])}; labels are quoted with double quotes")
        if kind != "quoted":
            return Token(kind, self._text[start:stop], start, stop)
        try:
            value, stop = json.JSONDecoder(strict=False).raw_decode(self._text, start)
        except ValueError as error:
            reason = one_line(str(error).partition(":")[0]).lower().removesuffix(" starting at")
            raise self.error(start, f"{reason}; expected a JSON string in double quotes") from None
        return Token(kind, value, start, stop)

    def take(self) -> Token:
        """Return the next token and move past it."""
        token = self.peek()
        piece = self._text[token.start : token.stop]
        self._pass(piece if piece.isprintable() else json.dumps(token.text), token.start, token.stop)
        return token

    def _pass(self, piece: str, start: int, stop: int) -> None:
        """Append a token to the title as it is written, and move past it."""
        if start > self._position and self._pieces:
            self._pieces.append(" ")
        self._pieces.append(piece)
        self._position = stop

    def follows(self, symbol: str) -> bool:
        """Return whether a symbol is next."""
        token = self.peek()
        return token.kind == "symbol" and token.text == symbol

    def take_if(self, symbol: str) -> bool:
        """Consume a symbol if it is next, and return whether it was."""
        found = self.follows(symbol)
        if found:
            self.take()
        return found

    def take_symbol(self, symbol: str, after: str) -> None:
        """Consume a symbol, or raise an error."""
        token = self.peek()
        if not self.take_if(symbol):
            raise self.error(token.start, f"received {token.shown}, expected {symbol} after {after}")

    def take_brackets(self) -> str:
        """Consume a bracket and everything up to its closing bracket; collapse runs of spaces."""
        start = self.peek().start
        found = _BRACKETS.match(self._text, start)
        if found is None:
            raise self.error(start, "received the end, expected ) to close the bracket")
        piece = " ".join(found[0].split())
        self._pass(piece, *found.span())
        return piece

    def take_label(self, expected: str) -> Token:
        """Consume a word or a quoted string, or raise an error."""
        token = self.peek()
        if token.kind not in ("word", "quoted"):
            raise self.error(token.start, f"received {token.shown}, expected {expected}")
        return self.take()

    @property
    def title(self) -> str:
        """The part parsed so far, with runs of spaces collapsed."""
        return "".join(self._pieces)

    def read_comparison(self) -> str:
        """Parse ``<=``, ``>=`` or ``==``."""
        token = self.peek()
        if token.kind != "symbol" or token.text not in _COMPARISONS:
            written = re.match("[=<>!≤≥]*", self._text[token.start :])
            meant = _MEANT.get(written[0]) if written else None
            hint = f" (did you mean {meant}?)" if meant else ""
            raise self.error(token.start, f"received {token.shown}{hint}, expected +, <=, >= or ==")
        return self.take().text

    def read_number(self) -> Fraction:
        """Parse the bound: a number without spaces, except around the bar of a fraction."""
        first = self.peek()
        found = _WITH_BAR.match(self._text, first.start)
        assert found is not None
        parts = found[0].split()
        self._pass(" ".join(parts), *found.span())
        text = "".join(parts)
        try:
            return parse_number(text)
        except ValueError as error:
            received = shown(text, 60) if text else first.shown
            reason = "" if "not a number" in str(error) else f" ({error})"
            expected = "a number, such as 0.25 or 1/4"
            raise self.error(first.start, f"received {received}{reason}, expected {expected}") from None

    def read_name(self) -> str:
        """Parse the name after ``as``: a quoted string or all of the rest. Without ``as``, return :attr:`title`."""
        title = self.title
        token = self.peek()
        if token.kind == "end":
            return title
        if token.kind != "word" or token.text != "as":
            raise self.error(token.start, f"received {token.shown}, expected the end, or 'as NAME'")
        self.take()
        rest = self._text[self._position :]
        if rest.lstrip().startswith('"'):
            quoted = self.take()
            self.read_end()
            name = quoted.text
        else:
            name = " ".join(rest.split())
        if not name:
            raise self.error(len(self._text), "received the end, expected a name after 'as'")
        try:
            check_name(name)
        except InvalidConstraintError as error:
            raise self.error(token.stop, str(error)) from None
        return name

    def read_end(self) -> None:
        """Raise an error if anything follows."""
        token = self.peek()
        if token.kind != "end":
            also = "" if self._what == "constraint" else "+ or "
            raise self.error(token.start, f"received {token.shown}, expected {also}the end")
