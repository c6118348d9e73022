"""Bots that use the text protocol of the Annual Computer Poker Competition (ACPC), version 2, no-limit."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ...seqform.errors import shown
from ..games.holdem.cards import CARDS
from .hand import amounts
from .programs import Program, ProgramError
from .table import DEALT, HandResult, Table, View

_VERSION = re.compile(r"VERSION:2\.\d+\.\d+")


@dataclass
class AcpcBot:
    """A program that uses ACPC's text protocol, and receives all states of a hand in order.

    Parameters
    ----------
    program : Program

    Notes
    -----
    The protocol is "ACPC protocol specification, version 2.0.0", with two differences. States that need no answer are
    sent together with the next one that the program has to answer, or with the last one of the hand. An illegal answer
    forfeits the hand, whereas ACPC's dealer would play another action. Answers to other states are ignored, as by
    ACPC's dealer. Amounts after ``r`` count all chips of the player in the hand.
    """

    program: Program
    _table: Table | None = field(default=None, init=False, repr=False)
    _number: int = field(default=-1, init=False, repr=False)
    _sent: int = field(default=0, init=False, repr=False)

    def begin(self, table: Table, seat: int) -> None:
        """Start the program, and wait for its version."""
        self._table, self._sent = table, 0
        self._number += 1
        if not self.program.running:
            self._number = 0
            self.program.start()
            version = self.program.receive()
            if not _VERSION.fullmatch(version.strip()):
                self.program.close()
                raise ProgramError(f"its first line is {shown(version, 60)}, expected VERSION:2.0.0")

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Send the states since the last one, and return the answer."""
        hands = {view.seat: view.hand}
        state = self._send(view.seat, view.history, hands, view.board, view.street)
        until = time.monotonic() + self.program.seconds
        while True:
            answer = self.program.receive().strip()
            if time.monotonic() > until:
                self.program.close()
                raise ProgramError(f"it took more than {self.program.seconds:g} seconds")
            head, _, action = answer.rpartition(":")
            if not answer.startswith(("MATCHSTATE:", "#", ";")):
                raise ProgramError(f"its answer is {shown(answer, 60)}, expected an answer such as {state}:c")
            if head == state:
                break
        if action == "f":
            return "fold"
        if action == "c":
            return "call" if view.price else "check"
        if not re.fullmatch(r"r\d{1,15}", action):
            raise ProgramError(f"its action is {shown(action, 60)}, expected f, c or r with an amount")
        before = view.table.stack - view.stacks[view.seat] - view.bets[view.seat]
        return f"{view.aggressive} {int(action[1:]) - before}"

    def end(self, result: HandResult) -> None:
        """Send the states since the last one, with the cards shown."""
        hands = {seat: hand for seat, hand in enumerate(result.shown) if hand is not None}
        street = DEALT.index(len(result.board))
        self._send(result.seat, result.history, hands | {result.seat: result.hand}, result.board, street)

    def close(self) -> None:
        """End the program."""
        self.program.close()

    def _send(
        self,
        seat: int,
        history: Sequence[tuple[int, int, str]],
        hands: dict[int, tuple[int, int]],
        board: Sequence[int],
        street: int,
    ) -> str:
        """Send the unsent states, and return the last one."""
        assert self._table is not None
        own = {seat: hands[seat]}
        state = ""
        for count in range(self._sent, len(history) + 1):
            last = count == len(history)
            # The state after a street's last action is sent with the cards of the next street.
            reached = street if last else history[count][0]
            cards = _cards(self._table, hands if last else own, board, reached)
            state = f"MATCHSTATE:{seat}:{self._number}:{betting(self._table, history[:count], reached)}:{cards}"
            self.program.send(state)
        self._sent = len(history) + 1
        return state


def betting(table: Table, history: Sequence[tuple[int, int, str]], street: int) -> str:
    """Return the actions of a hand in ACPC's notation, up to a street.

    Examples
    --------
    >>> from treeplex.models.matches import Table
    >>> from treeplex.models.matches.acpc import betting
    >>> betting(Table(), [(0, 1, "raise 300"), (0, 0, "call"), (1, 0, "check"), (1, 1, "all-in")], 1)
    'r300c/cr20000'
    """
    written = [""] * (street + 1)
    for each in amounts(table.blinds, [table.stack] * table.seats, history):
        written[each.street] += {"fold": "f", "call": "c", "raise": f"r{each.in_all}"}[each.word]
    return "/".join(written)


def _cards(table: Table, hands: dict[int, tuple[int, int]], board: Sequence[int], street: int) -> str:
    """Return the cards in ACPC's notation."""
    named = [CARDS[card] for card in board]
    private = "|".join("".join(CARDS[card] for card in hands.get(seat, ())) for seat in range(table.seats))
    streets = ["".join(named[start:end]) for start, end in pairwise(DEALT)]
    return "/".join([private, *streets[:street]])
