"""The pieces of constraints that are written as text: symbols, labels, numbers and names."""

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from ...seqform.errors import InvalidConstraintError, TreeplexError, one_line, shown
from ...seqform.names import SPECIAL
from .constraint import check_name

#: What may stand between terms and bounds, longer ones first.
_SYMBOLS = ("<=", ">=", "==", "+", "/", ":", "(", ")", "<", ">", "=")
_COMPARISONS = ("<=", ">=", "==")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_FRACTION = re.compile(r"[+-]?[0-9]+/[0-9]+")
#: Numbers of more characters, or further from 1 by more powers of ten, are no bounds.
_LONGEST, _FARTHEST = 1000, 300


def parse_number(text: str) -> Fraction:
    """Read a number exactly: ``3``, ``-0.25``, ``1e-3`` or ``1/18``.

    Raises
    ------
    ValueError
        If it is none, or one of thousands of digits.

    Examples
    --------
    >>> from treeplex.models.constraints.tokens import parse_number
    >>> parse_number("0.1"), parse_number("1/18")
    (Fraction(1, 10), Fraction(1, 18))
    """
    if len(text) > _LONGEST:
        raise ValueError("the number is too long")
    if _FRACTION.fullmatch(text):
        numerator, denominator = text.split("/")
        if not int(denominator):
            raise ValueError("the denominator is zero")
        number = Fraction(int(numerator), int(denominator))
        if number and not 10.0**-_FARTHEST <= abs(number) <= 10.0**_FARTHEST:
            raise ValueError("the number is too large or too small")
        return number
    if not _DECIMAL.fullmatch(text):
        raise ValueError("it is no number")
    exponent = re.split("[eE]", text)[-1] if re.search("[eE]", text) else "0"
    if len(exponent) > len("+0001") or abs(int(exponent)) > _FARTHEST:
        raise ValueError("the number is too large or too small")
    decimal = Decimal(text)
    if decimal and abs(decimal.adjusted()) > _FARTHEST:
        raise ValueError("the number is too large or too small")
    return Fraction(decimal)


@dataclass(frozen=True)
class Token:
    """A piece of the text.

    Attributes
    ----------
    kind : str
        ``symbol``, ``word``, ``quoted`` or ``end``.
    text : str
        Without its quotes.
    start, stop : int
        Where in the text.
    """

    kind: str
    text: str
    start: int
    stop: int

    @property
    def shown(self) -> str:
        """What messages call it."""
        return "the end" if self.kind == "end" else shown(self.text, 60)


class Tokens:
    """Reads one text from its beginning to its end.

    Parameters
    ----------
    what : str
        What messages call the text.
    text : str
    """

    #: What is raised for a text that cannot be read.
    failure: ClassVar[type[TreeplexError]] = InvalidConstraintError
    example: ClassVar[str] = "0/K_:b <= 0.5"
    #: What stands for itself, longer ones first, and which special characters are parts of words.
    symbols: ClassVar[tuple[str, ...]] = _SYMBOLS
    plain: ClassVar[str] = "@"

    def __init__(self, what: str, text: str) -> None:
        if not isinstance(text, str):
            raise self.failure(f"the {what} is {shown(text)}, expected text such as '{self.example}'")
        self._what = what
        self._text = text
        self._position = 0
        self._pieces: list[str] = []

    def error(self, column: int, message: str) -> TreeplexError:
        """Return the error that says where in the text something is wrong."""
        return self.failure(f"{self._what} {shown(self._text)}, column {column + 1}: {message}")

    def peek(self) -> Token:
        """Return the next piece without taking it."""
        text, start = self._text, self._position
        while start < len(text) and text[start].isspace():
            start += 1
        if start == len(text):
            return Token("end", "", start, start)
        if text[start] == '"':
            try:
                value, stop = json.JSONDecoder(strict=False).raw_decode(text, start)
            except ValueError as error:
                reason = one_line(str(error).partition(":")[0]).lower().removesuffix(" starting at")
                raise self.error(start, f"{reason}; expected a JSON string in double quotes") from None
            return Token("quoted", value, start, stop)
        for symbol in self.symbols:
            if text.startswith(symbol, start):
                return Token("symbol", symbol, start, start + len(symbol))
        if text[start] in SPECIAL and text[start] not in self.plain:
            raise self.error(start, f"received {shown(text[start])}; labels are quoted with double quotes")
        stop = start
        special = SPECIAL.difference(self.plain)
        while stop < len(text) and not text[stop].isspace() and text[stop] not in special:
            stop += 1
        return Token("word", text[start:stop], start, stop)

    def take(self) -> Token:
        """Return the next piece, and go on behind it."""
        token = self.peek()
        if token.start > self._position and self._pieces:
            self._pieces.append(" ")
        piece = self._text[token.start : token.stop]
        self._pieces.append(piece if piece.isprintable() else json.dumps(token.text))
        self._position = token.stop
        return token

    def follows(self, symbol: str) -> bool:
        """Whether a symbol is next."""
        token = self.peek()
        return token.kind == "symbol" and token.text == symbol

    def take_symbol(self, symbol: str, after: str) -> None:
        """Take a symbol, or refuse anything else."""
        token = self.peek()
        if not self.follows(symbol):
            raise self.error(token.start, f"received {token.shown}, expected {symbol} after {after}")
        self.take()

    def take_label(self, expected: str) -> Token:
        """Take a word or a quoted text, or refuse anything else."""
        token = self.peek()
        if token.kind not in ("word", "quoted"):
            raise self.error(token.start, f"received {token.shown}, expected {expected}")
        return self.take()

    @property
    def title(self) -> str:
        """What has been read, blanks in a row as one."""
        return "".join(self._pieces)

    def read_comparison(self) -> str:
        """Read ``<=``, ``>=`` or ``==``."""
        token = self.peek()
        if token.kind != "symbol" or token.text not in _COMPARISONS:
            raise self.error(token.start, f"received {token.shown}, expected +, <=, >= or ==")
        return self.take().text

    def read_number(self) -> Fraction:
        """Read the bound: digits, and what follows them without a blank; blanks around the bar of a fraction."""
        first = self.peek()
        expected = "a number, such as 0.25 or 1/4"
        text = ""
        while True:
            token = self.peek()
            if token.kind == "symbol" and token.text == "/" and text and "/" not in text:
                text += self.take().text
                continue
            adjacent = not text or text.endswith("/") or token.start == self._position
            sign = token.kind == "symbol" and token.text == "+"
            if not adjacent or not (token.kind == "word" or sign):
                break
            text += self.take().text
        try:
            return parse_number(text)
        except ValueError as error:
            received = first.shown if not text else shown(text, 60)
            reason = "" if "no number" in str(error) else f" ({error})"
            raise self.error(first.start, f"received {received}{reason}, expected {expected}") from None

    def read_name(self) -> str:
        """Read what follows ``as``, a quoted text or all the rest; without it the name is the text itself."""
        title = self.title
        token = self.peek()
        if token.kind == "end":
            return title
        if token.kind != "word" or token.text != "as":
            raise self.error(token.start, f"received {token.shown}, expected the end, or as NAME")
        self.take()
        rest = self._text[self._position :]
        if rest.lstrip().startswith('"'):
            quoted = self.take()
            self.read_end()
            name = quoted.text
        else:
            name = " ".join(rest.split())
        if not name:
            raise self.error(len(self._text), "received the end, expected a name after as")
        try:
            check_name(name)
        except InvalidConstraintError as error:
            raise self.error(token.stop, str(error)) from None
        return name

    def read_end(self) -> None:
        """Refuse what follows."""
        token = self.peek()
        if token.kind != "end":
            also = "" if self._what == "constraint" else "+ or "
            raise self.error(token.start, f"received {token.shown}, expected {also}the end")
