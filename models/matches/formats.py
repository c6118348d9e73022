"""Hand histories of other programs, converted to the fields of PHH: PokerStars, logs of the ACPC, and Slumbot."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from ...seqform.errors import one_line, shown
from ..games.holdem.cards import CARDS
from ..play.lines import BadLineError, decoded
from .table import DEALT, Table

#: The fields of a hand in PHH, or nothing for lines that are not a hand.
Fields = dict[str, Any] | None
#: The kinds of files that are read here, as :mod:`treeplex.seqform.interchange.signatures` calls them.
KINDS = ("a hand history of PokerStars", "a log of the ACPC")
#: By format, the origin of hands, for messages, which use the fields of PHH.
ORIGINS = {
    "pokerstars": "from PokerStars, converted to PHH",
    "acpc": "from a log of the ACPC, converted to PHH",
    "slumbot": "from Slumbot, converted to PHH",
}
#: The names of Slumbot's client and of Slumbot, and its table.
CLIENT, SLUMBOT, _SLUMBOT_TABLE = "client", "Slumbot", Table()

_CARD = re.compile(r"[2-9TJQKA][cdhs]")
_NAMED = frozenset(CARDS)
#: The length of two cards.
_TWO = 4


def format_of(line: bytes) -> str:
    """Return the format of a hand that begins with a line; empty if it is no such line.

    Examples
    --------
    >>> from treeplex.models.matches.formats import format_of
    >>> format_of(b"PokerStars Hand #1:  Hold'em No Limit ($0.50/$1.00 USD)"), format_of(b"STATE:0:f:|:50|-50:A|B")
    ('pokerstars', 'acpc')
    """
    if line[:1] not in _FIRST:
        return ""
    if line.startswith((b"PokerStars ", b"\xef\xbb\xbfPokerStars ")):
        return "pokerstars"
    if line.startswith((b"STATE:", b"SCORE:", b"MATCHSTATE:")):
        return "acpc"
    return "slumbot" if line.startswith(b"{") else ""


_FIRST = frozenset((b"P", b"S", b"M", b"{", b"\xef"))
#: Formats with one hand per line.
BY_LINE = ("acpc", "slumbot")


def fields_of(form: str, lines: Sequence[bytes], table: Table) -> Fields:
    """Return the fields of a hand in PHH; ``None`` for lines that are not a hand.

    Parameters
    ----------
    form : {"pokerstars", "acpc", "slumbot"}
    lines : sequence of bytes
    table : Table
        Stacks and blinds in logs of the ACPC, which do not state them.

    Raises
    ------
    BadLineError
        If the lines do not describe a hand of no-limit hold'em.
    """
    if form == "slumbot":
        return _slumbot(lines[0])
    try:
        text = b"\n".join(lines).decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start + 1} is {error.object[error.start]:#04x}"
        raise BadLineError("malformed", f"{byte}, expected UTF-8 text") from None
    return _acpc(text, table) if form == "acpc" else _PokerStars(text).fields()


# PokerStars

_AMOUNT = r"[^\d\s()]{0,3}([\d,]*\.?\d+)"
_HEADER = re.compile(r"PokerStars .*?#(\d+)")
_STAKES = re.compile(rf"\({_AMOUNT}/{_AMOUNT}")
_BUTTON = re.compile(r"Seat #(\d+) is the button")
_SEAT = re.compile(rf"Seat (\d+): (.+) \({_AMOUNT} in chips.*?\)")
_DEAL = re.compile(r"Dealt to (.+) \[([^\]]*)\]")
_STREET = re.compile(r"\*\*\* (FIRST |SECOND )?(FLOP|TURN|RIVER) \*\*\* (?:\[[^\]]*\] )?\[([^\]]*)\]")
_COLLECTED = re.compile(rf"(.+) collected {_AMOUNT} from (?:.*?)pot")
_MUCKED = re.compile(r"Seat \d+: (.+?) (?:\([a-z ]+\) )*mucked \[([^\]]*)\]")


class _PokerStars:
    """A hand in PokerStars' text, in English."""

    def __init__(self, text: str) -> None:
        self.lines = [line.rstrip() for line in text.split("\n")]
        header = self.lines[0]
        number = _HEADER.match(header)
        if "Hold'em No Limit" not in header:
            raise BadLineError("other variant", f"the header is {shown(header, 80)}, expected Hold'em No Limit")
        stakes = _STAKES.search(header)
        if number is None or stakes is None:
            raise BadLineError("malformed", f"the header is {shown(header, 80)}, expected a number and blinds")
        self.number, self.small, self.big = number[1], _chips(stakes[1]), _chips(stakes[2])
        self.seats: dict[str, int] = {}
        self.stacks: dict[str, str] = {}
        self.posts: dict[str, Decimal] = {}
        self.joining: set[str] = set()
        self.kinds: set[str] = set()
        self.antes: dict[str, Decimal] = {}
        self.cards: dict[str, str] = {}
        self.collected: dict[str, Decimal] = {}
        #: The actions, with names instead of ``p1``; cards of the board have no name.
        self.actions: list[tuple[str, str]] = []
        self.button, self.cashed_out = 0, False

    def fields(self) -> Fields:
        """Return the fields."""
        summary = False
        for line in self.lines[1:]:
            if line.startswith("*** SUMMARY"):
                summary = True
            elif summary:
                mucked = _MUCKED.match(line)
                if mucked and mucked[1] in self.seats:
                    self.cards.setdefault(mucked[1], _cards(mucked[2]))
            else:
                self._read(line)
        return self._fields()

    def _read(self, line: str) -> None:
        if found := _BUTTON.search(line):
            self.button = self.button or int(found[1])
        elif (found := _SEAT.match(line)) and not self.posts:
            self.seats[found[2]] = int(found[1])
            self.stacks[found[2]] = _chips(found[3])
        elif found := _DEAL.match(line):
            self.cards[self._known(found[1])] = _cards(found[2])
        elif found := _STREET.match(line):
            if found[1]:
                raise BadLineError("contradiction", "the board was dealt twice, which is not supported")
            self.actions.append(("", f"d db {_cards(found[3])}"))
        elif found := _COLLECTED.match(line):
            if found[1] in self.seats:
                self.collected[found[1]] = self.collected.get(found[1], Decimal(0)) + Decimal(_chips(found[2]))
        elif "cashed out the hand" in line:
            self.cashed_out = True
        else:
            # A name may contain a colon.
            name = max((one for one in self.seats if line.startswith(f"{one}: ")), key=len, default=None)
            if name is not None:
                self._act(name, line[len(name) + 2 :])

    def _known(self, name: str) -> str:
        if name not in self.seats:
            raise BadLineError("malformed", f"{shown(name, 60)} has no seat, expected one of {len(self.seats)} players")
        return name

    def _act(self, name: str, said: str) -> None:
        """Read what a player did."""
        words = said.removesuffix(" and is all-in")
        verb, _, rest = words.partition(" ")
        if verb == "posts":
            self._post(name, rest, words != said)
        elif verb == "folds":
            self.actions.append((name, "f"))
            if rest.startswith("["):
                self.cards.setdefault(name, _cards(rest))
        elif verb in ("checks", "calls"):
            self.actions.append((name, "cc"))
        elif verb == "bets":
            self.actions.append((name, f"cbr {_chips(rest)}"))
        elif verb == "raises" and " to " in rest:
            self.actions.append((name, f"cbr {_chips(rest.rpartition(' to ')[2])}"))
        elif verb == "shows":
            cards = _cards(rest.partition("]")[0])
            if len(cards) == _TWO:  # a player may show one card
                self.cards[name] = cards
                self.actions.append((name, f"sm {cards}"))
        elif verb == "mucks":
            self.actions.append((name, "sm"))
        elif not said.startswith(("doesn't show", "is ", "has ")):
            raise BadLineError("malformed", f"{shown(one_line(said), 60)} is not an action of PokerStars")

    def _post(self, name: str, rest: str, all_in: bool) -> None:
        """Read a blind, an ante or a straddle; a short blind must still be called in full."""
        what, _, amount = rest.rpartition(" ")
        posted = Decimal(_chips(amount))
        if what == "the ante":
            self.antes[name] = self.antes.get(name, Decimal(0)) + posted
        elif what == "small & big blinds":  # the small one is dead
            self.antes[name] = self.antes.get(name, Decimal(0)) + Decimal(self.small)
            self.posts[name] = posted - Decimal(self.small)
            self.joining.add(name)
        else:
            if what in ("small blind", "big blind") and what in self.kinds:  # a second one is posted to join
                self.joining.add(name)
            elif all_in and what in ("small blind", "big blind"):
                posted = Decimal(self.small if what == "small blind" else self.big)
            self.kinds.add(what)
            self.posts[name] = posted

    def _fields(self) -> Fields:
        acting = {name for name, _ in self.actions if name} | self.posts.keys() | self.antes.keys()
        playing = [name for name in self.seats if name in acting]
        # In the order of play after the flop: the button is last.
        playing.sort(key=lambda name: (self.seats[name] <= self.button, self.seats[name]))
        if len(playing) < 2:
            raise BadLineError("malformed", f"{len(playing)} players post or act, expected at least 2")
        index = {name: f"p{number}" for number, name in enumerate(playing, 1)}
        blinds = [-self.posts[name] if name in self.joining else self.posts.get(name, 0) for name in playing]
        antes = [self.antes.get(name, 0) for name in playing]
        if len(playing) == 2:  # the format lists the small blind first
            blinds, antes = blinds[::-1], antes[::-1]
        deals = [f"d dh {index[name]} {self.cards.get(name) or '????'}" for name in playing]
        told: dict[str, Any] = {}
        if self.collected and not self.cashed_out:
            told["winnings"] = [str(self.collected.get(name, 0)) for name in playing]
        return {
            "variant": "NT",
            "antes": [*map(str, antes)],
            "blinds_or_straddles": [*map(str, blinds)],
            "min_bet": self.big,
            "starting_stacks": [self.stacks[name] for name in playing],
            "actions": [*deals, *(f"{index[name]} {what}" if name else what for name, what in self.actions)],
            "players": playing,
            **told,
        }


def _chips(text: str) -> str:
    """Return an amount without its currency and separators of thousands."""
    found = re.search(r"[\d,]*\.?\d+", text)
    if found is None:
        raise BadLineError("malformed", f"{shown(text, 60)} is not an amount")
    return found[0].replace(",", "")


def _cards(text: str) -> str:
    """Return the cards of a text, without brackets or blanks."""
    cards: str = "".join(_CARD.findall(text))
    left = re.sub(r"[\[\]\s]", "", text)
    if cards != left:
        raise BadLineError("malformed", f"has the cards {shown(text, 40)}, expected cards such as As Td")
    return cards


# The ACPC, and Slumbot


def _acpc(text: str, table: Table) -> Fields:
    """Return the fields of a line ``STATE:number:actions:cards:results:players``."""
    parts = text.strip().split(":")
    if parts[0] == "SCORE":
        return None
    if parts[0] != "STATE" or len(parts) != 6:
        raise BadLineError("malformed", f"it is {shown(text, 60)}, expected STATE:number:actions:cards:results:players")
    names = parts[5].split("|")
    private, *board = parts[3].split("/")
    held = [_cards(one) for one in private.split("|")]
    results = parts[4].split("|")
    if not len(names) == len(held) == len(results) or len(names) < 2:
        raise BadLineError("malformed", f"has {len(names)} players, {len(held)} hands and {len(results)} results")
    blinds = (table.small_blind, table.big_blind)
    try:
        ended = [str(table.stack + Decimal(one)) for one in results]
    except ArithmeticError:
        raise BadLineError("malformed", f"has the results {shown(parts[4], 60)}, expected amounts of chips") from None
    actions = _turns(parts[2], len(names), table.stack, blinds, of_hand=True)
    return _hand_fields(names, table, held, "".join(map(_cards, board)), actions, ended)


def _slumbot(line: bytes) -> Fields:
    """Return the fields of a response of Slumbot that ends a hand; ``None`` for others."""
    found = decoded(line)
    if not isinstance(found, dict) or not {"action", "client_pos", "hole_cards"} <= found.keys():
        raise BadLineError("malformed", "is not a response of Slumbot, expected action, client_pos and hole_cards")
    if found.get("winnings") is None:
        return None
    place, won = found["client_pos"], found["winnings"]
    lists = [found["hole_cards"], found.get("bot_hole_cards") or [], found.get("board") or []]
    if place not in (0, 1) or type(won) is not int or not isinstance(found["action"], str):
        raise BadLineError("malformed", "has a client_pos, an action or winnings of another type")
    if not all(isinstance(one, list) and _NAMED.issuperset(map(str, one)) for one in lists):
        raise BadLineError("malformed", f"has the cards {shown(lists, 60)}, expected lists of cards such as Ac")
    own, other, board = ("".join(one) for one in lists)
    table = _SLUMBOT_TABLE
    # The client is the big blind in place 0, which is the first player here.
    names, held, ended = [CLIENT, SLUMBOT], [own, other], [str(table.stack + won), str(table.stack - won)]
    if place:
        names, held, ended = names[::-1], held[::-1], ended[::-1]
    blinds = (table.small_blind, table.big_blind)
    actions = _turns(found["action"], 2, table.stack, blinds, of_hand=False)
    return _hand_fields(names, table, held, board, actions, ended)


_TOKEN = re.compile(r"f|k|c\d*|[rb](\d+)|/")


def _turns(text: str, count: int, stack: int, blinds: tuple[int, int], *, of_hand: bool) -> Iterator[tuple[int, str]]:
    """Yield the actions of a line with the seats that act, and −1 for each next street.

    Parameters
    ----------
    text : str
    count, stack : int
    blinds : (int, int)
        The small and the big one.
    of_hand : bool
        Whether amounts are totals of the hand, and not of the street.
    """
    paid = [*blinds, *[0] * (count - 2)] if count > 2 else [blinds[1], blinds[0]]
    folded = [False] * count
    seat, before, position = (2 % count if count > 2 else 1), 0, 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise BadLineError(
                "malformed", f"has the actions {shown(text, 80)}, invalid from {shown(text[position:], 20)} on"
            )
        position, token = found.end(), found[0]
        if token == "/":
            seat, before = 0, max(paid)
            yield -1, ""
            continue
        for _ in range(count):
            if not folded[seat] and paid[seat] < stack:
                break
            seat = (seat + 1) % count
        if token == "f":
            folded[seat] = True
            yield seat, "f"
        elif found[1] is None:
            paid[seat] = min(max(paid), stack)
            yield seat, "cc"
        else:
            total = int(found[1]) + (0 if of_hand else before)
            paid[seat] = total
            yield seat, f"cbr {total - before}"
        seat = (seat + 1) % count


def _hand_fields(
    names: Sequence[str],
    table: Table,
    held: Sequence[str],
    board: str,
    turns: Iterator[tuple[int, str]],
    ended: Sequence[str],
) -> dict[str, Any]:
    """Return the fields of a hand with the given turns."""
    actions = [f"d dh p{seat} {cards or '????'}" for seat, cards in enumerate(held, 1)]
    dealt, left = 0, set(range(len(names)))
    for seat, what in turns:
        if seat < 0:
            actions += _deal(board, dealt, dealt + 1)
            dealt += 1
        else:
            actions.append(f"p{seat + 1} {what}")
            left -= {seat} if what == "f" else set()
    streets = DEALT.index(len(board) // 2) if len(board) // 2 in DEALT else None
    if streets is None:
        raise BadLineError("malformed", f"has {len(board) // 2} cards on the board, expected {DEALT}")
    actions += _deal(board, dealt, streets)
    if len(left) > 1:
        actions += [f"p{seat + 1} sm {held[seat]}" for seat in sorted(left) if held[seat]]
    return {
        "variant": "NT",
        "blinds_or_straddles": [table.small_blind, table.big_blind, *[0] * (len(names) - 2)],
        "min_bet": table.big_blind,
        "starting_stacks": [table.stack] * len(names),
        "actions": actions,
        "players": list(names),
        "finishing_stacks": list(ended),
    }


def _deal(board: str, start: int, end: int) -> list[str]:
    """Return the deals of the streets after one street up to another, as far as the board has cards."""
    ends = [(2 * DEALT[one], 2 * DEALT[one + 1]) for one in range(start, min(end, len(DEALT) - 1))]
    return [f"d db {board[first:last]}" for first, last in ends if len(board) >= last]
