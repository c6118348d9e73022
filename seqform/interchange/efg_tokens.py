"""The words of Gambit's ``.efg`` files: patterns, positions in the text, and what to say of a wrong word."""

import re
from typing import NoReturn

from ..errors import GameFileError, one_line

# Wherever a pattern ends another way to go on is ruled out by the next character, so that no text takes long to refuse.
# Groups are not repeated possessively ("++"): early releases of Python 3.11 have bugs there.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*"'
_END_OF_NUMBER = r"(?![\d./eE])"
_NUMBER = rf"[+-]?(?:\d++(?:/\d++|(?:\.\d*+)?(?:[eE][+-]?\d++)?)|\.\d++(?:[eE][+-]?\d++)?){_END_OF_NUMBER}"
_INTEGER = rf"[+-]?\d{{1,10}}{_END_OF_NUMBER}"
_ACTIONS = rf"{_STRING}\s*+\{{(?:\s*+{_STRING})+\s*+\}}"
_OUTCOMES = rf"{_STRING}\s*+\{{(?:\s*+{_STRING}\s*+{_NUMBER})+\s*+\}}"
_PAYOFFS = rf"{_STRING}\s*+\{{(?:\s*+{_NUMBER}(?:\s*+,)?)+\s*+\}}"
_FLAGS = re.ASCII | re.DOTALL

#: One node, from its letter to its outcome. Groups: a terminal node's name; a decision's name, player, infoset and
#: what defines the infoset; a chance node's name, number and what defines it; the outcome and what defines it.
NODE = re.compile(
    rf"\s*+(?:t\s*+({_STRING})"
    rf'|p\s*+({_STRING})\s*+({_INTEGER})\s*+({_INTEGER})\s*+(?:({_ACTIONS})|(?!"))'
    rf'|c\s*+({_STRING})\s*+({_INTEGER})\s*+(?:({_OUTCOMES})|(?!")))'
    rf'\s*+({_INTEGER})(?:\s*+({_PAYOFFS})|(?!\s*+"))',
    _FLAGS,
)
STRING = re.compile(_STRING, _FLAGS)
NUMBER = re.compile(_NUMBER, _FLAGS)

_BLANKS = re.compile(r"\s*+", _FLAGS)
_WORD = re.compile(rf'{_STRING}|{_NUMBER}|[{{}},]|[^\s"{{}},]++|"', _FLAGS)
_WHOLE = re.compile(_INTEGER, _FLAGS)


def fault(text: str, position: int, message: str) -> GameFileError:
    """Return the error that something is wrong at a position in the text."""
    line_start = text.rfind("\n", 0, position) + 1
    return GameFileError(message, line=text.count("\n", 0, position) + 1, column=position - line_start + 1)


def unquote(quoted: str) -> str:
    r"""Return what stands between quotes: a backslash stands before a quote or a backslash that belongs to the text.

    Examples
    --------
    >>> from treeplex.seqform.interchange.efg_tokens import quote, unquote
    >>> unquote(r'"say \"go\""'), quote('say "go"')
    ('say "go"', '"say \\"go\\""')
    """
    body = quoted[1:-1]
    return re.sub(r'\\([\\"])', r"\1", body) if "\\" in body else body


def quote(text: str) -> str:
    r"""Return a text in quotes.

    A backslash is doubled only where it would be misread: before a quote, before another one and at the end. Gambit,
    which knows of no doubled ones, reads the others as they are.
    """
    if "\\" in text or '"' in text:
        text = re.sub(r'\\(?=[\\"]|\Z)|"', lambda found: "\\" + found.group(), text)
    return f'"{text}"'


class Cursor:
    """A place in a text that moves on word by word, and refuses a word that does not belong there.

    Parameters
    ----------
    text : str
    position : int
        Where to begin.
    """

    def __init__(self, text: str, position: int = 0) -> None:
        self.text = text
        #: Where the last word that was taken begins.
        self.start = position
        self._next = position

    @property
    def position(self) -> int:
        """Where the next word begins, blanks left out."""
        found = _BLANKS.match(self.text, self._next)
        return found.end() if found else self._next

    def peek(self) -> str:
        """Return the next word, empty at the end of the text."""
        found = _WORD.match(self.text, self.position)
        return found.group() if found else ""

    def take(self) -> str:
        """Return the next word and move on."""
        word = self.peek()
        self.start = self.position
        self._next = self.start + len(word)
        return word

    def refuse(self, expected: str) -> NoReturn:
        """Refuse the word that was taken last."""
        word = self.text[self.start : self._next]
        if not word:
            raise fault(self.text, self.start, f"expected {expected}, received the end of the file")
        if word == '"':
            raise fault(self.text, self.start, f"expected {expected}, received a text without a closing quote")
        raise fault(self.text, self.start, f"expected {expected}, received {one_line(word, 40)}")

    def word(self, choices: tuple[str, ...], expected: str) -> str:
        """Take one of some words."""
        word = self.take()
        if word not in choices:
            self.refuse(expected)
        return word

    def string(self, expected: str) -> str:
        """Take a text in quotes; return it with them."""
        word = self.take()
        if len(word) < 2 or word[0] != '"':
            self.refuse(expected)
        return word

    def number(self, expected: str) -> str:
        """Take a number."""
        word = self.take()
        if not NUMBER.fullmatch(word):
            self.refuse(expected)
        return word

    def integer(self, expected: str) -> str:
        """Take an integer."""
        word = self.take()
        if not _WHOLE.fullmatch(word):
            self.refuse(f"{expected} (an integer of at most ten digits)")
        return word

    def expect_end(self, after: str) -> None:
        """Refuse anything but blanks up to the end of the text."""
        if self.take():
            self.refuse(f"nothing after {after}")


def explain(text: str, position: int) -> NoReturn:
    """Refuse the node that begins at a position, which :data:`NODE` does not match, at its first wrong word."""
    cursor = Cursor(text, position)
    kind = cursor.word(("c", "p", "t"), "a node: c (chance), p (a player's decision) or t (terminal)")
    cursor.string("the node's name in quotes")
    or_definition = ""
    if kind == "p":
        cursor.integer("the player's number")
    if kind != "t":
        cursor.integer("the infoset's number")
        if cursor.peek().startswith('"'):
            cursor.string("the infoset's label in quotes")
            _explain_list(cursor, "an action's label in quotes", "the action's probability" if kind == "c" else "")
        else:
            or_definition = "the infoset's label and actions, or "
    cursor.integer(or_definition + "the outcome's number")
    if cursor.peek().startswith('"'):
        cursor.string("the outcome's label in quotes")
        _explain_list(cursor, number="a payoff")
    raise fault(text, position, "this node cannot be read")


def _explain_list(cursor: Cursor, text: str = "", number: str = "") -> None:
    """Go through a list in braces of texts, of texts each with a number, or of numbers that commas may follow."""
    cursor.word(("{",), "{")
    end = ""
    while not end or cursor.peek() != "}":
        if text:
            cursor.string(text + end)
        if number:
            cursor.number(number if text else number + end)
        if not text and cursor.peek() == ",":
            cursor.take()
        end = ", or }"
    cursor.take()
