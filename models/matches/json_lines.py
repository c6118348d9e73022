"""Bots that are programs and exchange JSON, one object per line."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...seqform.errors import GameFileError, shown
from ...seqform.interchange.encoding import from_json
from ..games.holdem.cards import CARDS
from .programs import Program, ProgramError
from .table import STREETS, HandResult, Table, View


@dataclass
class JsonBot:
    """A program that receives hands as JSON and answers with its actions; the protocol is documented on its own page.

    Parameters
    ----------
    program : Program

    Examples
    --------
    >>> from treeplex.models.matches import match
    >>> from treeplex.models.matches.json_lines import JsonBot
    >>> from treeplex.models.matches.programs import Program
    >>> from treeplex.models.matches.simple import CallBot
    >>> code = '''
    ... import json, sys
    ... for line in sys.stdin:
    ...     if json.loads(line)["type"] == "act":
    ...         print('{"action": "call"}', flush=True)
    ... '''
    >>> from pathlib import Path
    >>> written = Path("caller.py").write_text(code)
    >>> bot = JsonBot(Program("{python} caller.py"))
    >>> found = match([bot, CallBot()], hands=2)
    >>> found.mbb_per_hand, found.forfeits
    (0.0, ())
    """

    program: Program

    def begin(self, table: Table, seat: int) -> None:
        """Start the program if necessary, and send it the seats."""
        self.program.start()
        blinds = {"small_blind": table.small_blind, "big_blind": table.big_blind}
        self._send("begin", protocol=1, seats=table.seats, stack=table.stack, **blinds, seat=seat)

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Ask for an action."""
        self._send(
            "act", seat=view.seat, hand=_named(view.hand), board=_named(view.board), street=STREETS[view.street],
            bets=view.bets, stacks=view.stacks, folded=view.folded, pot=view.pot, price=view.price, least=view.least,
            most=view.most, history=_told(view.history), seed=int(rng.integers(2**32)),
        )  # fmt: skip
        return read_action(self.program.receive())

    def end(self, result: HandResult) -> None:
        """Send the result of the hand."""
        hands = [None if hand is None else _named(hand) for hand in result.shown]
        cards = {"hand": _named(result.hand), "board": _named(result.board), "shown": hands}
        self._send("end", seat=result.seat, **cards, history=_told(result.history), won=result.won)

    def close(self) -> None:
        """End the program."""
        self.program.close()

    def _send(self, kind: str, **told: Any) -> None:
        self.program.send(json.dumps({"type": kind, **told}))


def read_action(answer: str) -> str:
    """Return the action in a line of JSON.

    Raises
    ------
    ProgramError
        If there is none.

    Examples
    --------
    >>> from treeplex.models.matches.json_lines import read_action
    >>> read_action('{"action": "raise 300"}')
    'raise 300'
    """
    try:
        action = from_json(answer)["action"]
    except (GameFileError, TypeError, KeyError):
        action = None
    if not isinstance(action, str):
        raise ProgramError(f'its answer is {shown(answer, 60)}, expected an answer such as {{"action": "call"}}')
    return action


def _named(cards: tuple[int, ...]) -> list[str]:
    return [CARDS[card] for card in cards]


def _told(history: tuple[tuple[int, int, str], ...]) -> list[tuple[str, int, str]]:
    return [(STREETS[street], seat, action) for street, seat, action in history]
