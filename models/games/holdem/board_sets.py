"""Sets of boards for a spot: representative flops, the next cards of a board, or a list, and files with such sets."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.errors import InvalidGameError, nearest, one_line, shown
from ....seqform.interchange.files import naming
from ....seqform.interchange.toml_table import Table, read_toml
from ....seqform.number_texts import read_float
from ....seqform.public_form import is_any_card
from ....seqform.sheet import counted
from .bets import SEATS
from .cards import CARDS, DECKS, HANDS, Range, hand_numbers, read_board
from .flops import WeightedBoard, flop_classes, flop_subset
from .showdown import alive
from .spot import KEYS, HoldemSpot

_EXPECTED = (
    '"flops:184" (1 to 1755 flops), "flops:all", "Td9d6h + turn", "Td9d6hQc + river" or a list such as '
    '["Td9d6h", "AsKd2c:2"]'
)
_FLOPS = re.compile(r"(\w+)\s*:\s*(\w+)")
_NEXT = re.compile(r"(.*?)\s*\+\s*(\w*)")
#: The streets of the next card, by the number of cards before it.
_STREETS = {3: "turn", 4: "river"}
#: The most boards of a set.
_MOST = 22_100


@dataclass(frozen=True, eq=False)
class BoardSet:
    """A spot on many boards, with the number of boards that each of them stands for.

    Parameters
    ----------
    spot : HoldemSpot
        Its own board does not matter.
    written : str or sequence of str
        ``"flops:184"`` for that many representative flops (:func:`~treeplex.models.games.holdem.flops.flop_subset`),
        ``"flops:all"`` for one flop of each class up to exchanges of suits, ``"Td9d6h + turn"`` or
        ``"Td9d6hQc + river"`` for all next cards of a board, or a list of boards such as ``["Td9d6h", "AsKd2c:2"]``,
        with weights after colons.

    Raises
    ------
    InvalidGameError
        If there is no such set, or a set of flops is for ranges or locks that distinguish suits.

    Examples
    --------
    >>> from treeplex.models.games.holdem import BoardSet, HoldemSpot
    >>> spot = HoldemSpot("QcJc9c", ["AA, KK", "QQ, JTs"], pot=100, stack=100, bets="100%")
    >>> turns = BoardSet(spot, "QcJc9c + turn")
    >>> len(turns.boards), turns.boards[0], sum(one.weight for one in turns.boards)
    (23, WeightedBoard(board='QcJc9cAs', weight=3.0), 49.0)
    """

    spot: HoldemSpot
    written: str | Sequence[str]

    def __post_init__(self) -> None:
        _ = self.boards  # mistakes are rejected now

    @cached_property
    def boards(self) -> tuple[WeightedBoard, ...]:
        """The boards and their weights."""
        if isinstance(self.written, str):
            return self._named(self.written.strip())
        return self._listed(self.written)

    @property
    def name(self) -> str:
        """The set as written; for a list, the number of its boards."""
        return self.written if isinstance(self.written, str) else counted(len(self.boards), "listed board")

    def on(self, board: str) -> HoldemSpot:
        """Return the spot on a board."""
        return replace(self.spot, bets=None, board=board, ranges=self.spot._ranges)

    @cached_property
    def reach(self) -> Floats:
        """The weight of all pairs of hands that can be dealt together on each board; 0 if there are none.

        Notes
        -----
        A board without the cards of two hands is as likely as any other such board of its size. So the probability of
        a board, given both ranges, is proportional to this weight.
        """
        dealt = HANDS.min(axis=1) >= DECKS[self.spot.deck].start
        first, second = (one.weights * dealt for one in self.spot._ranges)
        found = []
        for one in self.boards:
            free = alive(read_board(one.board), np.arange(len(HANDS)))
            mine, theirs = first * free, second * free
            held = np.bincount(HANDS.ravel(), np.repeat(theirs, 2), 52)
            found.append(mine @ (theirs.sum() - held[HANDS].sum(axis=1) + theirs))
        return np.where(np.array(found) > 1e-12, found, 0.0)

    def _named(self, text: str) -> tuple[WeightedBoard, ...]:
        if found := _NEXT.fullmatch(text):
            return self._next_cards(found[1], found[2])
        found = _FLOPS.fullmatch(text)
        if not found or found[1] != "flops" or not re.fullmatch("all|[0-9]+", found[2]):
            hint = nearest(found[1], ("flops",)) if found and found[1] != "flops" else ""
            raise InvalidGameError(f"boards is {shown(text, 60)}{hint}, expected {_EXPECTED}")
        self._check_suits()
        if found[2] == "all":
            return flop_classes(self.spot.deck)
        if self.spot.deck != "full":
            raise InvalidGameError(f"boards is {shown(text, 60)}, but a short deck has no such subsets: use flops:all")
        try:
            return flop_subset(int(found[2]))
        except (InvalidGameError, ValueError):
            raise InvalidGameError(f"boards is {shown(text, 60)}, expected 1 to 1755 flops, or flops:all") from None

    def _next_cards(self, board: str, street: str) -> tuple[WeightedBoard, ...]:
        """Return all next cards; those that exchanges of suits make equal are one."""
        cards = read_board(board, self.spot.deck)
        expected = _STREETS.get(len(cards))
        if expected is None:
            raise InvalidGameError(f"boards is {shown(self.written, 60)}: no card follows a river")
        if street != expected:
            hint = nearest(street, tuple(_STREETS.values()))
            raise InvalidGameError(
                f'boards is {shown(self.written, 60)}{hint}, expected "{board} + {expected}" after {len(cards)} cards'
            )
        base = self.on("".join(CARDS[card] for card in cards))
        exchanges = [] if any(map(_names_suits, base.locks)) else base.exchanges
        found: dict[int, float] = {}
        for card in reversed(base.unseen):
            same = max(card, *(int(cards[card]) for cards, _ in exchanges)) if exchanges else card
            found[same] = found.get(same, 0.0) + 1.0
        return tuple(WeightedBoard(base.board + CARDS[card], weight) for card, weight in found.items())

    def _listed(self, given: Sequence[str]) -> tuple[WeightedBoard, ...]:
        if not isinstance(given, Sequence) or not given or not all(isinstance(one, str) for one in given):
            raise InvalidGameError(f"boards is {shown(given, 60)}, expected {_EXPECTED}")
        if len(given) > _MOST:
            raise InvalidGameError(f"boards has {len(given):,} boards, expected at most {_MOST:,}")
        found: dict[str, WeightedBoard] = {}
        places: dict[frozenset[int], str] = {}
        for text in given:
            written, colon, weight = text.partition(":")
            cards = read_board(written, self.spot.deck)
            board = "".join(CARDS[card] for card in cards)
            if frozenset(cards) in places:
                raise InvalidGameError(f"boards: {shown(text, 60)} appears twice; write its weight, as in {board}:2")
            if len(cards) != len(read_board(given[0].partition(":")[0], self.spot.deck)):
                raise InvalidGameError(
                    f"boards: {shown(given[0], 60)} and {shown(text, 60)} have different numbers of cards"
                )
            places[frozenset(cards)] = board
            found[board] = WeightedBoard(board, _weight(text, weight) if colon else 1.0)
        return tuple(found.values())

    def _check_suits(self) -> None:
        """Raise an error if ranges or locks distinguish suits: flops of a class then differ."""
        because = [f"the range of {seat}" for seat, one in zip(SEATS, self.spot._ranges, strict=True) if is_uneven(one)]
        because += [f"the lock {shown(str(lock), 60)}" for lock in self.spot.locks if _names_suits(lock)]
        if because:
            raise InvalidGameError(
                f"boards is {shown(self.written, 60)}, but {because[0]} distinguishes suits, so that flops that differ "
                "only in suits are not equal; list the boards instead"
            )


def _weight(text: str, written: str) -> float:
    try:
        weight = read_float(written.strip())
    except ValueError:
        weight = -1.0
    if not 0.0 < weight < 1e9:
        raise InvalidGameError(
            f"boards: {shown(text, 60)}: the weight is {shown(written, 40)}, expected a number above 0"
        )
    return weight


def is_uneven(given: Range) -> bool:
    """Whether a range distinguishes suits."""
    ranks, suits = np.divmod(HANDS, 4)
    for low in range(3):  # exchanging neighbours generates all exchanges
        exchanged = np.arange(4)
        exchanged[[low, low + 1]] = low + 1, low
        if (given.weights[hand_numbers(4 * ranks + exchanged[suits])] != given.weights).any():
            return True
    return False


def _names_suits(lock: Any) -> bool:
    """Whether a lock distinguishes suits, by its hands or by a dealt card."""
    dealt = any("deal" in step.lower() and not is_any_card(step) for step in lock.at.split(","))
    by_hand = [key for key, value in lock.strategy.items() if isinstance(value, Mapping)]
    return dealt or any(is_uneven(Range.parse(text)) for text in (lock.hands, *by_hand))


# The file


@dataclass(frozen=True, eq=False)
class BoardsFile:
    """A spot file with ``boards`` instead of ``board``.

    Attributes
    ----------
    boards : BoardSet
    options : dict
        The table ``[solve]``: options of ``treeplex solve``, by name.
    """

    boards: BoardSet
    options: dict[str, Any]

    @classmethod
    def read(cls, path: str | PathLike[str]) -> "BoardsFile":
        """Read a file.

        Raises
        ------
        GameFileError, InvalidGameError
            The message names the file, the line and the key.
        """
        with naming(path):
            top = read_toml(path)
            if "board" in top and "boards" in top:
                raise top.error("board and boards are given, expected one of the two", "board")
            top.check_keys(["boards", *(key for key in KEYS if key != "board"), "solve"])
            written = top.needs("boards", _EXPECTED)
            options = top.table("solve", '[solve] with tol = "0.5%"').values
            del top.values["boards"]
            top.values.pop("solve", None)
            spot = _first_spot(top, written, one_line(fspath(path)))
            for number, lock in enumerate(spot.locks, 1):
                if not isinstance(lock.strategy, Mapping):
                    raise top.error(f"locks[{number}] is the strategy of one board, expected probabilities", "locks")
            with top.about("boards"):
                return cls(BoardSet(spot, written), options)


def _first_spot(top: Table, written: Any, spec: str) -> HoldemSpot:
    """Return the spot on a board that leaves both ranges a hand, to find mistakes in the rest of the file."""
    errors: list[InvalidGameError] = []
    for board in _disjoint(_cards_of(written)):
        try:
            top.values["board"] = board
            return HoldemSpot.from_table(top, spec)
        except InvalidGameError as error:
            errors.append(error)
    raise errors[0]


def _cards_of(written: Any) -> int:
    """Return the number of cards of the boards; three if the boards are wrong."""
    first = written[0] if isinstance(written, list) and written else written
    text = first if isinstance(first, str) else ""
    letters = re.sub(r"[\s,]|:.*|\+.*", "", text)
    count = len(letters) // 2 + ("+" in text)
    return count if count in (4, 5) and not text.startswith("flops") else 3


def _disjoint(count: int) -> Iterator[str]:
    """Yield five boards without a common card, from cards of both decks: two hands block at most four of them."""
    cards = [CARDS[16 + 5 * place % 36] for place in range(36)]
    for place in range(5):
        yield "".join(cards[place * count : (place + 1) * count])
