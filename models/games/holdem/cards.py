"""Cards, hands and ranges of hold'em in the notation of players."""

import contextlib
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, combinations_with_replacement

import numpy as np

from ....seqform.arrays import Floats, Indices, frozen
from ....seqform.errors import InvalidGameError, shown
from ....seqform.number_texts import read_float

RANKS, SUITS = "23456789TJQKA", "cdhs"
#: The characters between commas, without surrounding spaces.
ITEMS = re.compile(r"[^,\s](?:[^,]*[^,\s])?")
#: The cards in the order of their numbers: rank by rank, suits c, d, h, s.
CARDS = tuple(rank + suit for rank in RANKS for suit in SUITS)
#: The cards of each deck; a short deck has no ranks below six.
DECKS = {"full": range(52), "short": range(16, 52)}
_NUMBERS = {card: number for number, card in enumerate(CARDS)}

#: The two cards of each of the 1,326 hands, the higher first, shape (1326, 2).
HANDS: Indices = frozen(np.array([(high, low) for low, high in combinations(range(52), 2)], dtype=np.int64))
#: The name of each hand.
HAND_NAMES = tuple(CARDS[high] + CARDS[low] for high, low in HANDS.tolist())
_HAND_NUMBERS = {(high, low): number for number, (high, low) in enumerate(HANDS.tolist())}


def hand_numbers(cards: Indices) -> Indices:
    """Return the numbers of hands, given their two cards in any order, shape (n, 2)."""
    low, high = cards.min(axis=1), cards.max(axis=1)
    numbers: Indices = low * (103 - low) // 2 + high - low - 1
    return numbers


def read_cards(text: str, what: str = "cards") -> list[int]:
    """Return the numbers of cards written in sequence, such as ``"Td9d6h"``; spaces and commas may separate them.

    Raises
    ------
    InvalidGameError
        If a string is not a card, or a card appears twice.
    """
    if not isinstance(text, str):
        raise InvalidGameError(f"{what} is {shown(text, 60)}, expected a string such as 'Td9d6h'")
    letters = [(place, one) for place, one in enumerate(text, 1) if not one.isspace() and one != ","]
    found: list[int] = []
    for first in range(0, len(letters), 2):
        written = "".join(one for _, one in letters[first : first + 2])
        card = written[:1].upper() + written[1:].lower()
        where = f"{what} {shown(text, 60)} at character {letters[first][0]}"
        if card not in _NUMBERS:
            raise InvalidGameError(
                f"{where}: {shown(written)} is not a card, expected a rank of {RANKS} and a suit of {SUITS}"
                f"{_meant(''.join(one for _, one in letters))}"
            )
        if _NUMBERS[card] in found:
            raise InvalidGameError(f"{where}: {card} appears twice")
        found.append(_NUMBERS[card])
    return found


#: Other notations of ranks, suits and dashes, by the notation used here.
_SPELLINGS = {"T": "10", "c": "[♣♧]", "d": "[♦♢]", "h": "[♥♡❤]", "s": "[♠♤]", "-": "[–—−]", "": "[\ufe0f\\s]"}


def _in_our_letters(text: str) -> str:
    """Return a string in the notation of ranks, suits and dashes used here."""
    for ours, theirs in _SPELLINGS.items():
        text = re.sub(theirs, ours, text)
    return text


def _meant(letters: str) -> str:
    """Return a suggestion for misspelt cards."""
    for plain in (_in_our_letters(letters[:60]), "".join(two[::-1] for two in re.findall("..?", letters[:60]))):
        if plain != letters and re.fullmatch(f"(?:[{RANKS}][{SUITS}])+", plain, re.IGNORECASE):
            return f"; write {plain}"
    return ""


def read_board(text: str, deck: str = "full") -> list[int]:
    """Parse a board of three to five cards of a deck, ``full`` or ``short``.

    Examples
    --------
    >>> from treeplex.models.games.holdem.cards import read_board
    >>> read_board("QsJh2h")
    [43, 38, 2]
    """
    board = read_cards(text, "board")
    if not 3 <= len(board) <= 5:
        raise InvalidGameError(f"board {shown(text, 60)}: {len(board)} cards, expected a flop, turn or river: 3 to 5")
    for card in board:
        if card not in DECKS[deck]:
            raise InvalidGameError(
                f"board {shown(text, 60)}: {CARDS[card]} is not in a {deck} deck, expected ranks of 6 or higher"
            )
    return board


class RangeWarning(UserWarning):
    """A warning that items of a range give a hand different weights.

    Examples
    --------
    >>> import warnings
    >>> from treeplex.models.games.holdem import Range
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = Range.parse("QQ+:0.5, KsKh")
    >>> print(caught[0].message)
    range at character 10, 'KsKh': KsKh has the weight 0.5 from an earlier item and 1 from this one, which applies
    """


class Range:
    """The possible hands of a player, each with a weight.

    Parameters
    ----------
    weights : array_like of float, shape (1326,)
        From 0 to 1, in the order of :data:`HANDS`.

    Examples
    --------
    >>> from treeplex.models.games.holdem import Range
    >>> Range.parse("QQ+, AKs, A5s-A2s:0.5").combinations
    30.0
    """

    def __init__(self, weights: Floats) -> None:
        self.weights: Floats = frozen(np.array(weights, dtype=np.float64))
        if self.weights.shape != (len(HANDS),) or not ((self.weights >= 0.0) & (self.weights <= 1.0)).all():
            raise InvalidGameError(f"a range needs {len(HANDS):,} weights from 0 to 1")

    @property
    def combinations(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    @classmethod
    def parse(cls, text: "str | Range | Mapping[str, float]") -> "Range":
        """Parse a range.

        Parameters
        ----------
        text : str
            Items separated by commas: ``AA``, ``66+``, ``QQ-22``, ``AKs``, ``AKo``, ``AK``, ``A2s+``, ``A5s-A2s``,
            ``98s-65s``, ``AsKh`` or ``random``. The ends of an interval are two pairs, two hands with the same higher
            card, or two hands with the same gap: in ``98s-65s`` both ranks fall together. An item has a weight if it is
            followed by ``:0.5`` or, in per cent, ``@50``, or if ``[50]`` and ``[/50]`` enclose it, possibly with
            others.

        Raises
        ------
        InvalidGameError

        Warns
        -----
        RangeWarning
            If items give a hand different weights. The last one applies, whereas other programs use the first.
        """
        if isinstance(text, Range):
            return text
        if isinstance(text, Mapping):
            text = ",".join(f"{item}:{weight}" for item, weight in text.items())
        if not isinstance(text, str):
            raise InvalidGameError(f"the range is {shown(text, 60)}, expected a string such as 'QQ+, AKs, A5s-A2s:0.5'")
        weights = np.zeros(len(HANDS))
        for item in range_items(text):
            weights[list(item.hands)] = item.weight
        return cls(weights)

    def __str__(self) -> str:
        """Return the range in the format of :meth:`parse`: groups of hands with the same weight, and single hands."""
        items = []
        for high, low in combinations_with_replacement(range(12, -1, -1), 2):
            for kind in ("",) if high == low else ("s", "o"):
                hands = list(_combinations([(high, low)], kind))
                found = self.weights[hands].tolist()
                alike = len(set(found)) == 1
                names = [RANKS[high] + RANKS[low] + kind] if alike else [HAND_NAMES[hand] for hand in hands]
                for name, weight in zip(names, found, strict=False):
                    if weight > 0.0:
                        items.append(name if weight == 1.0 else f"{name}:{weight!r}")
        return ",".join(items)


@dataclass(frozen=True)
class RangeItem:
    """An item of a range.

    Attributes
    ----------
    written : str
        Its hands as written.
    where : str
        Its position, for errors.
    hands : tuple of int
        The numbers of its hands.
    weight : float
    """

    written: str
    where: str
    hands: tuple[int, ...]
    weight: float


def _note_clash(where: str, hands: list[int], before: float, now: float) -> None:
    """Warn that an item and an earlier item give hands different weights."""
    more = f", and {len(hands) - 1:,} more hands" if len(hands) > 1 else ""
    warnings.warn(
        f"{where}: {HAND_NAMES[hands[0]]} has the weight {before:g} from an earlier item and {now:g} from this one, "
        f"which applies{more}",
        RangeWarning,
        stacklevel=1,
    )


def range_items(text: str) -> Iterator[RangeItem]:
    """Yield the items of a range, as parsed by :meth:`Range.parse`.

    Raises
    ------
    InvalidGameError

    Warns
    -----
    RangeWarning
        Once, if items give a hand different weights; see :meth:`Range.parse`.

    Examples
    --------
    >>> from treeplex.models.games.holdem.cards import range_items
    >>> [(item.written, len(item.hands), item.weight) for item in range_items("[50]QQ+, AKs[/50], 98s-65s")]
    [('QQ+', 18, 0.5), ('AKs', 4, 0.5), ('98s-65s', 16, 1.0)]
    """
    enclosing, opened = "", ""
    given: dict[int, float] | None = {}  # until a clash is found
    for item in ITEMS.finditer(text):
        written = item[0]
        where = f"range at character {item.start() + 1}, {shown(written, 60)}"
        found = _ENCLOSED.fullmatch(written)
        if found is None:
            raise InvalidGameError(f"{where}: expected a weight around hands, such as [50]AA, KK[/50]")
        begin, name, end = (part or "" for part in found.groups())
        if begin:
            if enclosing:
                raise InvalidGameError(f"{where}: {shown(opened, 60)} is still open, expected [/{enclosing}] first")
            enclosing, opened = begin, written
        name, mark, weight = _WEIGHTED.fullmatch(name.strip()).groups()  # type: ignore[union-attr]
        hands, value = tuple(_hands(name.strip(), where)), 1.0
        if mark and enclosing:
            raise InvalidGameError(f"{where}: the weight is {shown(weight)} and [{enclosing}], expected only one")
        if enclosing or mark:
            value = _percent(enclosing, where, f"[{enclosing}]") if enclosing else _weight(weight, where, mark)
        if given is not None:
            clashes = [hand for hand in hands if given.get(hand, value) != value]
            if clashes:
                _note_clash(where, clashes, given[clashes[0]], value)
                given = None
            else:
                given.update(dict.fromkeys(hands, value))
        yield RangeItem(name.strip(), where, hands, value)
        if end:
            if not enclosing or _percent(end, where, f"[/{end}]") != value:
                expected = f"[/{enclosing}]" if enclosing else "a weight before it, such as [50]AA[/50]"
                raise InvalidGameError(f"{where}: [/{end}] closes nothing, expected {expected}")
            enclosing = ""
    if enclosing:
        raise InvalidGameError(f"range: [{enclosing}] is not closed, expected [/{enclosing}] after its hands")


#: An item that a weight in brackets may precede and follow, and one that a weight may follow.
_ENCLOSED = re.compile(r"(?:\[([^\[\]/]*)\])?([^\[\]]*)(?:\[/([^\[\]]*)\])?")
_WEIGHTED = re.compile(r"([^:@]*)(?:([:@])(.*))?", re.DOTALL)


def _percent(text: str, where: str, written: str) -> float:
    """Parse a weight in per cent."""
    if not re.fullmatch(r"\d{1,3}(?:\.\d{1,12})?\s*%?", text) or Decimal(text.rstrip("% ")) > 100:
        raise InvalidGameError(f"{where}: the weight is {written}, expected a percentage from 0 to 100")
    return float(Decimal(text.rstrip("% ")) / 100)


def _weight(text: str, where: str, mark: str = ":") -> float:
    """Parse the weight after a colon, or in per cent after an @."""
    text = text.strip()
    if mark == "@":
        if re.fullmatch(r"0*(?:1|0?\.\d+|1\.0+)", text):
            raise InvalidGameError(
                f"{where}: @{text} may be a fraction or a percentage; write :{float(text):g} or @{text}%"
            )
        return _percent(text, where, f"@{text}")
    try:
        value = read_float(text)
    except ValueError:
        value = np.nan
    if not 0.0 <= value <= 1.0:
        percent = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)\s*%?", text)
        hint = f"; write {float(percent[1]) / 100:g}" if percent and float(percent[1]) <= 100.0 else ""
        raise InvalidGameError(f"{where}: the weight is {shown(text, 40)}, expected a number from 0 to 1{hint}")
    return value


_ITEM = re.compile(r"^([2-9TJQKA])([2-9TJQKA])([so]?)$", re.IGNORECASE)
_EXPECTED = "expected AA, 66+, QQ-22, AKs, AKo, AK, A2s+, A5s-A2s, 98s-65s, AsKh or random"


def _hands(text: str, where: str) -> Iterator[int]:
    """Yield the numbers of the hands of a range's item."""
    if text.lower() in ("random", "any", "all", "100%"):
        yield from range(len(HANDS))
        return
    if re.fullmatch(r"([2-9TJQKA][cdhs]){2}", text, re.IGNORECASE):
        first, second = (_NUMBERS[card[0].upper() + card[1].lower()] for card in (text[:2], text[2:]))
        if first == second:
            raise InvalidGameError(f"{where}: {CARDS[first]} appears twice")
        yield _HAND_NUMBERS[max(first, second), min(first, second)]
        return
    start, dash, end = text.partition("-")
    plus = start.endswith("+")
    high, low, kind = _item(start.removesuffix("+"), where, text)
    if dash:
        if plus:
            raise InvalidGameError(f"{where}: + and - cannot be combined; {_EXPECTED}")
        other_high, other_low, other_kind = _item(end, where, text)
        fall = high - other_high
        if kind != other_kind or (high == low) != (other_high == other_low) or (fall and fall != low - other_low):
            raise InvalidGameError(
                f"{where}: the ends of an interval must be two pairs, or have the same higher card or gap and the "
                "same s or o, as in QQ-22, A5s-A2s and 98s-65s"
            )
        steps = range(abs(low - other_low) + 1)
        bottom = min(high, other_high), min(low, other_low)
        yield from _combinations(((bottom[0] + step * (fall != 0), bottom[1] + step) for step in steps), kind)
    elif plus and high == low:
        yield from _combinations(((one, one) for one in range(high, len(RANKS))), kind)
    elif plus:
        if low == high - 1:
            one = RANKS[high] + RANKS[low] + kind
            raise InvalidGameError(
                f"{where}: + raises the lower card, but no rank lies between {RANKS[low]} and {RANKS[high]}; write "
                f"{one}, or list the hands"
            )
        yield from _combinations(((high, one) for one in range(low, high)), kind)
    else:
        yield from _combinations([(high, low)], kind)


def _item(text: str, where: str, whole: str) -> tuple[int, int, str]:
    """Return the higher and the lower rank of a group of hands, and ``s``, ``o`` or an empty string."""
    found = _ITEM.match(text.strip())
    if found is None:
        raise InvalidGameError(f"{where}: {_EXPECTED}{_other_spelling(whole)}")
    first, second = (RANKS.index(one.upper()) for one in found.groups()[:2])
    kind = found.group(3).lower()
    if first == second and kind:
        raise InvalidGameError(f"{where}: a pair is neither suited nor offsuit; write {text.strip()[:2]}")
    return max(first, second), min(first, second), kind


#: Items in other notations, and their form here.
_OTHERS = [
    (r"\d+(\.\d+)?%", "a percentage of hands does not say which; list them, such as 66+, ATs+, AJo+"),
    (r"\d+(\.\d+)?%?[x*]?[2-9TJQKA]{2}[so]?\+?|.+[@*=(]\s*\d*\.?\d+%?\)?", "a weight follows its hands, AA:0.5"),
    (r"[2-9TJQKA][X*?]([so]?)\+?", "any lower card is 2+, as in A2+, A2s+ and K2o+"),
    (r"[2-9TJQKA]{2}([cdhs]{2})", "hands of two suits are listed card by card, AdKd"),
    (r"\d*\.?\d+", "a weight follows its hands and has a point, AA:0.5"),
    (r"[2-9TJQKA]{2}[so]?-[2-9TJQKA][so]?", "both ends of an interval are written in full, A5s-A2s"),
    (r"ATC|any ?two", "any two cards are random"),
    (r"[2-9TJQKA]{3,4}", "suited hands are AKs, others AKo, and both AK"),
    (r"[2-9TJQKA]", "any hand with an ace is A2+,AA"),
    (r"10[cdhso]?", "a ten is T, as in TT and ATs"),
    (r"[2-9TJQKA]{2}[so]?\+{2,}|\+.*", "a single + follows the hands, 66+"),
    (r"[2-9TJQKA]{2}[so]?\.\..*|.*\bto\b.*", "intervals have a hyphen, QQ-22"),
    (r"\S+\s*[\s;|/&]\s*\S.*", "separate items with commas"),
]


def _other_spelling(text: str) -> str:
    """Return this library's form of an item in another program's notation."""
    text = text[:60]
    plain = _in_our_letters(text)
    with contextlib.suppress(InvalidGameError):
        if plain != text and list(_hands(plain, "")):
            return f"; write {plain}"
    hint = next((hint for pattern, hint in _OTHERS if re.fullmatch(pattern, text, re.IGNORECASE)), "")
    return hint and f"; {hint}"


def _combinations(ranks: Iterable[tuple[int, int]], kind: str) -> Iterator[int]:
    for high, low in ranks:
        for first in range(4):
            for second in range(first if high == low else 4):
                if kind == "" or (first == second) == (kind == "s"):
                    cards = 4 * high + first, 4 * low + second
                    yield _HAND_NUMBERS[max(cards), min(cards)]
