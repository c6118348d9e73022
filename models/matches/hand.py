"""A hand of a match: dealt, played by bots, and recorded."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from ...seqform.checks import check_number
from ...seqform.errors import InvalidGameError, InvalidStrategyError, one_line, shown
from .clock import OutOfTime, patience
from .table import Bot, HandResult, Table, View

if TYPE_CHECKING:
    from .rules import Hand


class IllegalActionError(InvalidStrategyError):
    """An action that the rules do not allow; in a match it causes a forfeit.

    Examples
    --------
    >>> from treeplex.models.matches.hand import IllegalActionError
    >>> issubclass(IllegalActionError, ValueError)
    True
    """


@dataclass(frozen=True)
class Forfeit:
    """A seat's forfeit of a hand, or its failure after the hand, with the reason.

    Attributes
    ----------
    seat : int
    reason : str
        One line.
    folded : bool
        False if the seat failed when it received the result, which changes nothing.
    """

    seat: int
    reason: str
    folded: bool = True


@dataclass(frozen=True)
class AllIn:
    """A hand's state if all betting ended before the river, so that only the rest of the board matters.

    Attributes
    ----------
    board : tuple of int
        The public cards at that point.
    pots : tuple of (int, tuple of int)
        Chips of the main and the side pots, and the seats that can win them.
    paid : tuple of int
        The amount that each seat has put in.
    """

    board: tuple[int, ...]
    pots: tuple[tuple[int, tuple[int, ...]], ...]
    paid: tuple[int, ...]


@dataclass(frozen=True)
class HandRecord:
    """A completed hand.

    Attributes
    ----------
    table : Table
    deck : tuple of int
        Two cards per seat, in the order of the seats, and the five of the board, dealt or not.
    board : tuple of int
        The public cards that were dealt.
    history : tuple of (int, int, str)
        The actions, as in :class:`View`.
    shown : tuple of (tuple of int or None)
        The cards that each seat showed.
    won : tuple of int
        Each seat's win or loss, in chips.
    all_in : AllIn or None
    forfeits : tuple of Forfeit
    mixtures : tuple of (dict or None)
        For each action of the history, the probabilities from which it was drawn, if the bot states them.
    """

    table: Table
    deck: tuple[int, ...]
    board: tuple[int, ...]
    history: tuple[tuple[int, int, str], ...]
    shown: tuple[tuple[int, int] | None, ...]
    won: tuple[int, ...]
    all_in: AllIn | None = None
    forfeits: tuple[Forfeit, ...] = ()
    mixtures: tuple[Mapping[str, float] | None, ...] = ()

    @property
    def hands(self) -> tuple[tuple[int, int], ...]:
        """The cards of each seat, the higher number first."""
        return _hands(self.table, self.deck)

    def of_seat(self, seat: int) -> HandResult:
        """Return a seat's view of the hand at its end."""
        return HandResult(seat, self.hands[seat], self.board, self.history, self.shown, self.won)


@dataclass(frozen=True)
class Amount:
    """The chips that a seat has put in after an action.

    Attributes
    ----------
    street, seat : int
    word : str
        ``fold``, ``call`` (or a check) or ``raise`` (or a bet, or all-in).
    on_street, in_all : int or Decimal
        In chips, including blinds.
    """

    street: int
    seat: int
    word: str
    on_street: Any
    in_all: Any


def amounts(blinds: Sequence[Any], stacks: Sequence[Any], history: Sequence[tuple[int, int, str]]) -> Iterator[Amount]:
    """Yield the amount after each action of a history.

    Parameters
    ----------
    blinds, stacks : sequence
        Each seat's post and stack in chips, without antes.
    history : sequence of tuple
        The street, the seat and the action.

    Examples
    --------
    >>> from treeplex.models.matches.hand import amounts
    >>> history = [(0, 1, "raise 300"), (0, 0, "call"), (1, 0, "check"), (1, 1, "all-in")]
    >>> [(each.on_street, each.in_all) for each in amounts((100, 50), (20_000, 20_000), history)]
    [(300, 300), (300, 300), (0, 300), (19700, 20000)]
    """
    before, bets, street = [0] * len(blinds), list(blinds), 0
    for when, seat, action in history:
        if when > street:
            before = [one + other for one, other in zip(before, bets, strict=True)]
            bets, street = [0] * len(blinds), when
        word, _, number = action.partition(" ")
        word = {"check": "call", "bet": "raise", "all-in": "raise"}.get(word, word)
        left = stacks[seat] - before[seat]
        if word == "call":
            bets[seat] = min(max(bets), left)
        elif word == "raise" and number:
            bets[seat] = int(number) if number.isdigit() else Decimal(number)
        elif word == "raise":
            bets[seat] = left
        yield Amount(when, seat, word, bets[seat], before[seat] + bets[seat])


def shuffled_deck(table: Table, rng: np.random.Generator) -> tuple[int, ...]:
    """Return the cards of a hand: two per seat, in the order of the seats, and the five of the board.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.matches import Table, shuffled_deck
    >>> len(shuffled_deck(Table(seats=3), np.random.default_rng(1)))
    11
    """
    return tuple(rng.choice(52, 2 * table.seats + 5, replace=False).tolist())


def play_hand(
    table: Table,
    deck: Sequence[int],
    bots: Sequence[Bot],
    rngs: Sequence[np.random.Generator],
    time_limit: float | None = None,
) -> HandRecord:
    """Play a hand.

    Parameters
    ----------
    table : Table
    deck : sequence of int
        See :func:`shuffled_deck`.
    bots : sequence of Bot
        One per seat.
    rngs : sequence of numpy.random.Generator
        Each seat's random generator.
    time_limit : float, optional
        Seconds for each call of a bot; see :func:`~treeplex.models.matches.clock.patience`.

    Returns
    -------
    HandRecord

    Raises
    ------
    InvalidGameError
        If the numbers of bots and seats differ, or the deck is invalid.
    MissingExtraError
        If pokerkit is not installed.

    Notes
    -----
    The rules are pokerkit's. A bot that raises an exception, takes too long or acts illegally forfeits. Its seat folds,
    so its chips stay in the pot, and the others play on. A bot that fails when the hand begins folds at its first turn,
    and does not receive the result. A bot that fails when it receives the result keeps its winnings; the reason is
    logged all the same.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.matches import Table, play_hand
    >>> class Caller:
    ...     def begin(self, table, seat): ...
    ...     def act(self, view, rng):
    ...         return "call" if view.price else "check"
    ...
    ...     def end(self, result): ...
    >>> record = play_hand(Table(), range(9), [Caller(), Caller()], [np.random.default_rng(0)] * 2)
    >>> record.won, record.history[0]
    ((0, 0), (0, 1, 'call'))
    """
    from .rules import Hand

    deck = tuple(map(int, deck))
    if len(bots) != table.seats or len(rngs) != table.seats:
        raise InvalidGameError(f"received {len(bots)} bots and {len(rngs)} rngs, expected {table.seats}: one per seat")
    if len(deck) < 2 * table.seats + 5 or len(set(deck)) < len(deck) or not set(deck) <= set(range(52)):
        raise InvalidGameError(f"deck is {shown(deck)}, expected {2 * table.seats + 5} different cards from 0 to 51")
    if time_limit is not None:
        check_number(time_limit, "time_limit", InvalidGameError, "(0, inf)")
    forfeits: list[Forfeit] = []
    out = set()

    def ask(seat: int, call: Any, *arguments: Any, folds: bool = True) -> Any:
        """Return a bot's answer; ``None`` if it fails."""
        try:
            with patience(time_limit):
                return call(*arguments)
        except OutOfTime:
            reason = f"it took more than {time_limit:g} seconds"
        except (Exception, SystemExit) as error:  # foreign code may raise any exception
            reason = one_line(f"{type(error).__name__}: {error}", 400)
        if seat not in out:
            forfeits.append(Forfeit(seat, reason, folds))
        out.add(seat)
        return None

    for seat, bot in enumerate(bots):
        ask(seat, bot.begin, table, seat)
    begun = set(range(table.seats)) - out
    state = Hand(table, deck[: 2 * table.seats + 5])
    hands = _hands(table, deck)
    history: list[tuple[int, int, str]] = []
    mixtures: list[Mapping[str, float] | None] = []
    all_in = None
    while state.status:
        if state.actor_index is None:
            if state.all_in_status and all_in is None:
                pots = tuple((pot.amount, tuple(pot.player_indices)) for pot in state.pots)
                all_in = AllIn(_board(state, deck), pots, tuple(-paid for paid in state.payoffs))
            state.deal_street()
            continue
        seat, street = state.actor_index, state.street_index or 0
        action = None
        if seat not in out:
            least = state.min_completion_betting_or_raising_to_amount
            view = View(
                table, seat, hands[seat], _board(state, deck), street, tuple(state.bets), tuple(state.stacks),
                tuple(not alive for alive in state.statuses), table.seats * table.stack - sum(state.stacks),
                tuple(history), least or 0, 0 if least is None else state.bets[seat] + state.stacks[seat],
            )  # fmt: skip
            answer = ask(seat, bots[seat].act, view, rngs[seat])
            if seat not in out:
                action = ask(seat, _legal, view, answer)
        if action is None or action == "fold":
            state.fold()
        elif action in ("check", "call"):
            state.check_or_call()
        else:
            state.complete_bet_or_raise_to(view.most if action == "all-in" else int(action.split()[1]))
        history.append((street, seat, action or "fold"))
        mixtures.append(_stated(bots[seat], action))
    record = HandRecord(
        table, deck[: 2 * table.seats + 5], _board(state, deck), tuple(history),
        tuple(hand if state.shows(seat) else None for seat, hand in enumerate(hands)),
        tuple(map(int, state.payoffs)), all_in, mixtures=tuple(mixtures),
    )  # fmt: skip
    for seat in begun:
        ask(seat, bots[seat].end, record.of_seat(seat), folds=False)
    return replace(record, forfeits=tuple(forfeits)) if forfeits else record


def _hands(table: Table, deck: Sequence[int]) -> tuple[tuple[int, int], ...]:
    pairs = (deck[2 * seat : 2 * seat + 2] for seat in range(table.seats))
    return tuple((max(pair), min(pair)) for pair in pairs)


def _board(state: "Hand", deck: Sequence[int]) -> tuple[int, ...]:
    start = 2 * state.player_count
    return tuple(deck[start : start + len(state.board_cards)])


def _stated(bot: Bot, action: str | None) -> Mapping[str, float] | None:
    """Return the probabilities from which a bot says to have drawn its action, if it says so."""
    stated: Mapping[str, float] | None = getattr(bot, "mixture", None)
    return stated if stated and action in stated else None


def _legal(view: View, action: object) -> str:
    """Return a legal action in the notation of the history.

    Raises
    ------
    IllegalActionError
    """
    word, _, amount = (action.strip() if isinstance(action, str) else "").partition(" ")
    price, own = view.price, view.bets[view.seat]
    everything = own + view.stacks[view.seat]
    if word == "fold" and not amount:
        return "fold"
    if (word == "call" and not amount) or (word == "check" and not amount and not price):
        return "call" if price else "check"
    total = -1
    if word == "all-in" and not amount:
        total = everything
    elif word in ("bet", "raise") and amount.isdecimal() and len(amount) < 16:
        total = int(amount)
    if total == everything and price == view.stacks[view.seat]:
        return "call"
    if not view.most or not view.least <= total <= view.most:
        raise IllegalActionError(f"the action is {shown(action, 60)}, expected {_allowed(view)}")
    return "all-in" if total == everything else f"{view.aggressive} {total}"


def _allowed(view: View) -> str:
    """Return a description of a seat's legal actions."""
    words = ["fold", "call" if view.price else "check"]
    if view.least < view.most:
        words.append(f"{view.aggressive} N with N from {view.least} to {view.most}")
    if view.most:
        words.append("all-in")
    return f"{', '.join(words[:-1])} or {words[-1]}"
