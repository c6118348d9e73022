"""A writer of hand histories in PHH notation, many hands per file, for pokerkit and other programs."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from os import PathLike
from typing import IO, Self

from ...seqform.interchange.files import writing_whole
from ..games.holdem.cards import CARDS
from .hand import HandRecord, amounts
from .match import Played
from .table import DEALT


def phh_text(record: HandRecord, number: int, players: Sequence[str], **more: object) -> str:
    """Return a hand as a table of a PHHS file.

    Parameters
    ----------
    record : HandRecord
    number : int
        Index of the hand in its file, from 1.
    players : sequence of str
        The name of each seat.
    **more
        Additional fields, whose names begin with an underscore in the notation.

    Returns
    -------
    str

    Notes
    -----
    J. Kim, "Recording and describing poker hands", IEEE Conference on Games, 2024. The notation has TOML's syntax;
    player p1 is seat 0.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.games.holdem.cards import read_cards
    >>> from treeplex.models.matches import Table, phh_text, play_hand
    >>> from treeplex.models.matches.simple import CallBot, FoldBot
    >>> rng = np.random.default_rng(1)
    >>> record = play_hand(Table(), read_cards("AsAh KsKh 2c7d9hJsQd"), [CallBot(), FoldBot()], [rng, rng])
    >>> print(phh_text(record, 1, ["Ada", "Bob"]))
    [1]
    variant = "NT"
    antes = [0, 0]
    blinds_or_straddles = [50, 100]
    min_bet = 100
    starting_stacks = [20000, 20000]
    actions = ["d dh p1 AsAh", "d dh p2 KsKh", "p2 f"]
    hand = 1
    players = ["Ada", "Bob"]
    finishing_stacks = [20050, 19950]
    <BLANKLINE>
    """
    table = record.table
    fields: dict[str, object] = {
        "variant": "NT",
        "antes": [0] * table.seats,
        "blinds_or_straddles": [table.small_blind, table.big_blind, *[0] * (table.seats - 2)],
        "min_bet": table.big_blind,
        "starting_stacks": [table.stack] * table.seats,
        "actions": _actions(record),
        "hand": number,
        "players": list(players),
        "finishing_stacks": [table.stack + won for won in record.won],
        **{f"_{name}": value for name, value in more.items()},
    }
    # Numbers, strings and lists of them have the same notation in TOML and JSON, except for one control character.
    lines = [
        f"{name} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f") for name, value in fields.items()
    ]
    return "\n".join([f"[{number}]", *lines, ""])


class PhhWriter:
    """A writer of the hands of a match to a PHHS file; use it in a ``with`` statement.

    Parameters
    ----------
    path : path-like
        An existing file is replaced at the end of the ``with`` statement.
    names : sequence of str
        The names of the bots.

    Examples
    --------
    >>> from treeplex.models.matches import PhhWriter, match
    >>> from treeplex.models.matches.simple import CallBot, RandomBot
    >>> with PhhWriter("match.phhs", ["Ada", "Bob"]) as writer:
    ...     found = match([CallBot(), RandomBot()], hands=10, each=writer.write)
    >>> from pokerkit import HandHistory
    >>> with open("match.phhs", "rb") as file:
    ...     len(list(HandHistory.load_all(file)))
    10
    """

    def __init__(self, path: str | PathLike[str], names: Sequence[str]) -> None:
        self._path = path
        self._names = names
        self._number = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            passing = stack.enter_context(writing_whole(self._path))
            self._file: IO[str] = stack.enter_context(
                passing.open("w", encoding="utf-8", errors="replace", newline="\n")
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)  # type: ignore[arg-type]

    def write(self, played: Played) -> None:
        """Write a hand with its deal, its rotation, and forfeits or failures with their reasons."""
        self._number += 1
        more: dict[str, object] = {"deal": played.deal, "rotation": played.rotation}
        for name, folded in (("forfeits", True), ("failures", False)):
            found = [f"p{one.seat + 1}: {one.reason}" for one in played.record.forfeits if one.folded == folded]
            more |= {name: found} if found else {}
        players = [self._names[bot] for bot in played.bots]
        self._file.write(phh_text(played.record, self._number, players, **more) + "\n")


def _actions(record: HandRecord) -> list[str]:
    """Return the actions of a hand, including the dealer's."""
    table, deck = record.table, record.deck
    written = [f"d dh p{seat + 1} {CARDS[deck[2 * seat]]}{CARDS[deck[2 * seat + 1]]}" for seat in range(table.seats)]
    left = set(range(table.seats))
    street = 0
    for each in amounts(table.blinds, [table.stack] * table.seats, record.history):
        written += _board(record, street, each.street)
        street = each.street
        action = {"fold": "f", "call": "cc", "raise": f"cbr {each.on_street}"}[each.word]
        written.append(f"p{each.seat + 1} {action}")
        left -= {each.seat} if each.word == "fold" else set()
    if len(left) == 1:
        return written
    shows = [f"p{seat + 1} sm" + _shown(record.shown[seat]) for seat in sorted(left)]
    # Hands are shown after all betting is over.
    end = DEALT.index(len(record.board))
    return [*written, *shows, *_board(record, street, end)]


def _board(record: HandRecord, street: int, until: int) -> list[str]:
    """Return the cards dealt to the board between two streets."""
    dealt = (record.board[DEALT[each] : DEALT[each + 1]] for each in range(street, until))
    return [f"d db {''.join(CARDS[card] for card in cards)}" for cards in dealt]


def _shown(hand: tuple[int, int] | None) -> str:
    return "" if hand is None else f" {CARDS[hand[0]]}{CARDS[hand[1]]}"
