"""Random hands of no-limit hold'em, played by pokerkit and written in the PHH format."""

import warnings
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from pokerkit import Automation, HandHistory, NoLimitTexasHoldem

_AUTOMATIONS = (
    *(Automation.ANTE_POSTING, Automation.BET_COLLECTION, Automation.BLIND_OR_STRADDLE_POSTING),
    *(Automation.CARD_BURNING, Automation.HAND_KILLING, Automation.CHIPS_PUSHING, Automation.CHIPS_PULLING),
)
_CARDS = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]
ANTES = ("none", "all", "big blind", "button", "some")
BLINDS = ("plain", "one", "none", "straddle", "straddles", "button straddle", "posts", "short posts")


@dataclass(frozen=True)
class Decision:
    """Before an action: the street, who acts, and what each player has bet on it and has left."""

    street: int
    seat: int
    bets: tuple[Any, ...]
    stacks: tuple[Any, ...]


@dataclass(frozen=True)
class Played:
    """A hand: pokerkit's state at its end, its history, and its decisions."""

    state: Any
    history: HandHistory
    decisions: tuple[Decision, ...]


def random_antes(source: Random, seats: int, kind: str) -> list[int]:
    """Return antes as they are listed: of two players, that of the small blind first."""
    antes = [0] * seats
    if kind == "all":
        antes = [source.choice([5, 25, 100])] * seats
    elif kind == "big blind":
        antes[1] = source.choice([20, 100, 130])
    elif kind == "button":
        antes[0 if seats == 2 else -1] = source.choice([20, 100, 130])
    elif kind == "some":
        antes = [source.choice([0, 10, 35]) for _ in antes]
    return antes


def random_blinds(source: Random, seats: int, kind: str) -> list[int]:
    """Return blinds, straddles and, as negative numbers, posts of players who come in, as they are listed."""
    blinds = [50, 100, *[0] * (seats - 2)]
    if kind in ("one", "none"):
        blinds[0], blinds[1] = 0, 100 * (kind == "one")
    elif kind == "straddle" and seats > 2:
        blinds[2] = 200
    elif kind == "straddles":
        blinds[2:5] = [200, 400, 800][: max(0, seats - 2)]
    elif kind == "button straddle":
        blinds[-1] = 200
    elif kind in ("posts", "short posts"):
        sizes = [-100] if kind == "posts" else [-30, -50, -100, -150]
        blinds[2:] = [source.choice([*sizes, 0]) for _ in blinds[2:]]
    return blinds


def random_hand(
    source: Random, number: int, *, seats: int = 0, ante: str = "", blind: str = "", stack: int = 0
) -> Played:
    """Play one hand at random, with chips of 1 or of 0.01; with a stack, all have it, in chips of 1."""
    seats = seats or source.randint(2, 10)
    ante = ante or source.choice(ANTES)
    antes = random_antes(source, seats, ante)
    blinds = random_blinds(source, seats, blind or source.choice(BLINDS))
    if not any(blinds) and not any(antes):
        antes = [10] * seats
    stacks = [source.choice([1, 7, 40, 90, 103, 160, 260, 700, 2_000, 20_000]) for _ in range(seats)]
    unit: Any = source.choice([1, 1, Decimal("0.01")])
    if stack:
        stacks, unit = [stack] * seats, 1
    # Of trimmed antes that differ, pokerkit finds no winner of what players have put in who folded.
    trimmed = ante != "some" and source.random() < 0.5
    game = NoLimitTexasHoldem(
        _AUTOMATIONS, trimmed, *([unit * one for one in each] for each in (antes, blinds)), unit * 100
    )
    state = game([unit * stack for stack in stacks], seats)
    decisions = []
    deck = source.sample(_CARDS, len(_CARDS))
    while state.status:
        if state.can_deal_hole():
            state.deal_hole(deck.pop() + deck.pop())
        elif state.can_deal_board():
            state.deal_board("".join(deck.pop() for _ in range(state.street.board_dealing_count)))
        elif state.can_show_or_muck_hole_cards():
            state.show_or_muck_hole_cards()
        else:
            decisions.append(Decision(state.street_index, state.actor_index, tuple(state.bets), tuple(state.stacks)))
            drawn, least = source.random(), state.min_completion_betting_or_raising_to_amount
            if drawn < 0.2 and state.can_fold() and state.checking_or_calling_amount:
                state.fold()
            elif drawn < 0.45 and least is not None and state.can_complete_bet_or_raise_to():
                most = state.max_completion_betting_or_raising_to_amount
                between = least + unit * source.randint(0, int((most - least) / unit))
                state.complete_bet_or_raise_to(source.choice([least, most, between]))
            else:
                state.check_or_call()
    names = [f"player {seat}" for seat in range(seats)]
    history = HandHistory.from_game_state(game, state, players=names, hand=number, ante_trimming_status=trimmed)
    return Played(state, history, tuple(decisions))


def random_hands(count: int, seed: int, **options: Any) -> list[Played]:
    """Play many hands at random, of 2 to 10 players."""
    source = Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pokerkit warns of cards that it thinks were burned
        return [random_hand(source, number, **options) for number in range(count)]
