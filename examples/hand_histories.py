"""Write hand histories (PHH) in which we play everything against somebody who folds too much, for ``treeplex fit``.

python examples/hand_histories.py hands.phhs --hands 4000 --stack 10

We have the button and any two cards; the nit, in the big blind, calls with its better hands and folds the others. After
the flop both check.
"""

import argparse
from pathlib import Path
from random import Random

RANKS = "23456789TJQKA"
DECK = [rank + suit for rank in RANKS for suit in "cdhs"]


def is_good(cards: list[str]) -> bool:
    """Whether the nit calls a raise with two cards: pairs, and high cards."""
    low, high = sorted(RANKS.index(card[0]) for card in cards)
    return low == high or 2 * high + low >= 26


def actions(random: Random, stack: int) -> list[str]:
    """Return what is dealt and done in a hand; blinds are 1 and 2."""
    cards = random.sample(DECK, 9)
    nit, us, board = cards[:2], cards[2:4], cards[4:]
    found = ["d dh p1 ????", f"d dh p2 {''.join(us)}"]
    total = random.choice([2, 4, 6, stack])
    found.append("p2 cc" if total == 2 else f"p2 cbr {total}")
    if total > 2 and not is_good(nit):
        return [*found, "p1 f"]
    found.append("p1 cc")
    streets = ["".join(board[:3]), *board[3:]]
    shows = [f"p2 sm {''.join(us)}", f"p1 sm {''.join(nit)}"]
    if total == stack:
        return [*found, *shows, *(f"d db {street}" for street in streets)]
    checked = [word for street in streets for word in (f"d db {street}", "p1 cc", "p2 cc")]
    return [*found, *checked, *reversed(shows)]


def hand(number: int, random: Random, stack: int) -> str:
    """Return a hand as the format has it."""
    lines = [
        *(f"[{number}]", "variant = 'NT'", "antes = [0, 0]", "blinds_or_straddles = [1, 2]", "min_bet = 2"),
        *(f"starting_stacks = [{stack}, {stack}]", f"actions = {actions(random, stack)}", "players = ['nit', 'us']"),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description="Write hand histories.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--hands", type=int, default=4000)
    parser.add_argument("--stack", type=int, default=10, help="in big blinds")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random = Random(options.seed)
    options.out.write_text("\n".join(hand(number, random, 2 * options.stack) for number in range(1, options.hands + 1)))


if __name__ == "__main__":
    main()
