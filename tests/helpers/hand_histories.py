"""Random hands of no-limit hold'em, played by pokerkit and written in the PHH format."""

import warnings
from random import Random
from typing import Any

from pokerkit import Automation, HandHistory, NoLimitTexasHoldem

_AUTOMATIONS = (
    *(Automation.ANTE_POSTING, Automation.BET_COLLECTION, Automation.BLIND_OR_STRADDLE_POSTING),
    *(Automation.CARD_BURNING, Automation.HAND_KILLING, Automation.CHIPS_PUSHING, Automation.CHIPS_PULLING),
)
_CARDS = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]


def random_state(source: Random, seats: int, ante: int = 0, blinds: tuple[int, ...] = (50, 100)) -> tuple[Any, Any]:
    """Play one hand at random; return pokerkit's game and its state at the end."""
    game = NoLimitTexasHoldem(_AUTOMATIONS, True, ante, blinds, 100)
    state = game([source.choice([60, 150, 700, 2_000, 20_000]) + ante for _ in range(seats)], seats)
    deck = source.sample(_CARDS, len(_CARDS))
    while state.status:
        if state.can_deal_hole():
            state.deal_hole(deck.pop() + deck.pop())
        elif state.can_deal_board():
            count = state.street.board_dealing_count
            state.deal_board("".join(deck.pop() for _ in range(count)))
        elif state.can_show_or_muck_hole_cards():
            state.show_or_muck_hole_cards()
        else:
            drawn, least = source.random(), state.min_completion_betting_or_raising_to_amount
            if drawn < 0.15 and state.can_fold() and state.checking_or_calling_amount:
                state.fold()
            elif drawn < 0.4 and least is not None and state.can_complete_bet_or_raise_to():
                most = state.max_completion_betting_or_raising_to_amount
                state.complete_bet_or_raise_to(
                    source.choice([least, most, source.randint(least, most), least * 2 // 2])
                )
            else:
                state.check_or_call()
    return game, state


def random_histories(count: int, seed: int, **options: Any) -> list[tuple[Any, HandHistory]]:
    """Return states of random hands, and their histories, for 2 to 6 seats."""
    source, found = Random(seed), []
    for number in range(count):
        seats = options.get("seats") or source.randint(2, 6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pokerkit warns of cards that it thinks were burned
            game, state = random_state(source, seats, ante=source.choice([0, 0, 10]))
        names = [f"player {seat}" for seat in range(seats)]
        found.append((state, HandHistory.from_game_state(game, state, players=names, hand=number)))
    return found
