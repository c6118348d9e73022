"""Writes hands that pokerkit played as other programs write them: PokerStars, the ACPC's dealer, and Slumbot."""

import json
from decimal import Decimal
from typing import Any

from hand_histories import Played

#: Names as players choose them.
NAMES = ["Ann", "a: b", "$$Top Boy$$ [OG]", "x (y)", "Seat 3", "posts big blind", "zoë", "12", "folds", "d"]
_STREETS = ("FLOP", "TURN", "RIVER")


def _amount(number: Any) -> str:
    return f"${Decimal(number):,f}"


def _spaced(cards: str) -> str:
    return " ".join(cards[place : place + 2] for place in range(0, len(cards), 2))


def as_pokerstars(played: Played, hero: int = 0) -> str:
    """Return a hand as PokerStars shows it to a player; cards of others are hidden unless they show them."""
    history, state = played.history, played.state
    count = len(history.players)
    names = NAMES[:count]
    small, big, *_ = history.blinds_or_straddles
    lines = [
        "*********** # 7 **************",
        f"PokerStars Hand #{100 + history.hand}:  Hold'em No Limit ({_amount(small)}/{_amount(big)} USD) - 2026/11/28",
        f"Table 'Iota: III' 9-max Seat #{count + 1} is the button",
    ]
    stacks = state.starting_stacks
    lines += [f"Seat {seat + 2}: {name} ({_amount(stacks[seat])} in chips)" for seat, name in enumerate(names)]
    lines += ["Seat 1: Nobody ($500 in chips) is sitting out", f'{names[0]} said, "hello: folds"']
    antes, blinds = list(history.antes), list(history.blinds_or_straddles)
    if count == 2:
        antes, blinds = antes[::-1], blinds[::-1]
    left, total, bets = list(stacks), [0] * count, [0] * count
    posted = [0] * count
    for seat in range(count):
        ante = min(antes[seat], left[seat])
        if ante:
            left[seat] -= ante
            posted[seat] = ante
            lines.append(f"{names[seat]}: posts the ante {_amount(ante)}" + " and is all-in" * (not left[seat]))
    for seat in sorted(range(count), key=lambda one: (abs(blinds[one]), blinds[one] < 0)):
        blind = min(abs(blinds[seat]), left[seat])
        if blind:
            left[seat] -= blind
            bets[seat] = total[seat] = blind
            kind = "small blind" if blinds[seat] == small and blinds[seat] != big else "big blind"
            kind = "straddle" if blinds[seat] > big else kind
            lines.append(f"{names[seat]}: posts {kind} {_amount(blind)}" + " and is all-in" * (not left[seat]))
    lines.append("*** HOLE CARDS ***")
    shows, board, street = [], "", 0
    for action in history.actions:
        words = action.split()
        if words[:2] == ["d", "dh"]:
            if words[2] == f"p{hero + 1}":
                lines.append(f"Dealt to {names[hero]} [{_spaced(words[3])}]")
            continue
        if words[:2] == ["d", "db"]:
            known = f" [{_spaced(board)}]" if board else ""
            lines.append(f"*** {_STREETS[street]} ***{known} [{_spaced(words[2])}]")
            board, street, bets = board + words[2], street + 1, [0] * count
            continue
        seat, what = int(words[0][1:]) - 1, words[1]
        name, high = names[seat], max(bets)
        if what == "sm":
            shows.append(f"{name}: shows [{_spaced(words[2])}] (a pair)" if len(words) > 2 else f"{name}: mucks hand")
            continue
        said = "folds"
        if what != "f":
            new = high if what == "cc" else Decimal(words[2])
            added = min(new - bets[seat], left[seat])
            said = f"calls {_amount(added)}" if added else "checks"
            if what == "cbr":
                said = f"raises {_amount(new - high)} to {_amount(new)}" if high else f"bets {_amount(new)}"
            left[seat] -= added
            total[seat] += added
            bets[seat] += added
            said += " and is all-in" * (not left[seat] and added > 0)
        lines.append(f"{name}: {said}")
    returned = [0] * count
    second, first = sorted(total)[-2:]
    if first > second:
        top = total.index(first)
        returned[top] = first - second
        lines.append(f"Uncalled bet ({_amount(first - second)}) returned to {names[top]}")
    lines += ["*** SHOW DOWN ***", *shows] if shows else []
    for seat, payoff in enumerate(state.payoffs):
        collected = payoff + posted[seat] + total[seat] - returned[seat]
        if collected:
            lines.append(f"{names[seat]} collected {_amount(collected)} from pot")
    lines += ["*** SUMMARY ***", "Total pot $1 | Rake $0", "Seat 2: Ann (button) folded on the Flop", "", ""]
    return "\n".join(lines)


def _betting(played: Played, *, of_hand: bool, names: dict[str, str]) -> tuple[str, list[str], list[str]]:
    """Return the actions by street, the cards dealt to players, and those of the board."""
    history, high, before, written = played.history, played.history.blinds_or_straddles[1], 0, ""
    held, board = [""] * len(history.players), list[str]()
    for action in history.actions:
        words = action.split()
        if words[:2] == ["d", "dh"]:
            held[int(words[2][1:]) - 1] = words[3]
        elif words[:2] == ["d", "db"]:
            board.append(words[2])
            written, before, high = written + "/", before + high, 0
        elif words[1] == "cbr":
            high = int(words[2])
            written += f"{names['cbr']}{high + (before if of_hand else 0)}"
        elif words[1] in names:
            called = words[1] == "cc" and not high
            written += names["check" if called else words[1]]
    return written, held, board


def as_acpc(played: Played) -> str:
    """Return the line of a hand in a log of the ACPC's dealer."""
    names = {"f": "f", "cc": "c", "check": "c", "cbr": "r"}
    written, held, board = _betting(played, of_hand=True, names=names)
    cards = "/".join(["|".join(held), *board])
    results = "|".join(map(str, played.state.payoffs))
    players = "|".join(f"p {seat}" for seat in range(len(held)))
    return f"STATE:{played.history.hand}:{written}:{cards}:{results}:{players}\n"


def as_slumbot(played: Played, place: int) -> str:
    """Return the responses of Slumbot to a client that plays a hand, as lines of JSON."""
    names = {"f": "f", "cc": "c", "check": "k", "cbr": "b"}
    written, held, board = _betting(played, of_hand=False, names=names)
    cards = [[text[at : at + 2] for at in range(0, len(text), 2)] for text in held]
    dealt = [text[at : at + 2] for text in board for at in range(0, len(text), 2)]
    known = {"client_pos": place, "hole_cards": cards[place], "token": "t"}
    begun = known | {"old_action": "", "action": "", "board": []}
    ended = begun | {"action": written, "board": dealt, "bot_hole_cards": cards[1 - place]}
    ended["winnings"] = int(played.state.payoffs[place])
    return "".join(json.dumps(one) + "\n" for one in (begun, ended))
