"""Matches of the bot that plays whole hands of hold'em against the other bots: ``python bot.py results.jsonl``.

Deals are played in duplicate, a few at a time against each opponent in turn, and each hand is a line of the file. A
later run with the same file continues where the file ends; ``--minutes 0`` only prints the table. The bot does not
learn from hand to hand, so that a match in parts equals a whole match; bots that learn start again with each part.

Columns: winnings in mBB/hand with 95 % intervals, by actual results and without the luck of the board
(``luck_free_winnings``); and the CPU seconds of the bot's decisions after the flop, mean and longest.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from treeplex.models.matches import Played, Table, luck_free_winnings, match
from treeplex.models.matches.match import half_width
from treeplex.solvers.matches.bots import find_bot

BOT = "resolving:learns=false,gadget=resolving,time=60"
OPPONENTS = (
    *("call", "fold", "random", "raise:pots=1/2", "raise", "threshold:samples=2000"),
    *("defending:(threshold:samples=2000)", "portfolio:call+raise", "resolving:learns=false"),
)
#: Deals per part.
PART = 5


class Timed:
    """A bot whose decisions are timed."""

    def __init__(self, bot: Any) -> None:
        self.bot, self.seconds = bot, []
        self.begin, self.end = bot.begin, bot.end

    def act(self, view: Any, rng: np.random.Generator) -> str:
        begun = time.process_time()
        action: str = self.bot.act(view, rng)
        if view.street:
            self.seconds.append(time.process_time() - begun)
        return action


def hands(bot: Timed, other: Any, table: Table, first: int, seed: int) -> Iterator[dict[str, Any]]:
    """Play a part of a match, and yield its hands."""
    played: list[dict[str, Any]] = []

    def note(one: Played) -> None:
        seat, rng = one.bots.index(0), np.random.default_rng([seed, one.deal, one.rotation, 99])
        free = luck_free_winnings(one.record, rng)[seat]
        lost = [forfeit.seat == seat for forfeit in one.record.forfeits]
        played.append({"deal": one.deal, "won": one.record.won[seat], "free": free, "forfeits": sum(lost)})
        played[-1]["seconds"], bot.seconds = bot.seconds, []

    match([bot, other], table, hands=2 * PART, duplicate=True, seed=seed, first=first, each=note)
    yield from played


def interval(rows: list[dict[str, Any]], name: str, table: Table) -> str:
    """Format the mean of a result with its interval; the two hands of a deal are one observation."""
    deals: dict[int, list[float]] = {}
    for row in rows:
        deals.setdefault(row["deal"], []).append(row[name] * 1000 / table.big_blind)
    means = np.array([np.mean(values) for values in deals.values()])
    return f"{means.mean():+.0f} ± {half_width(means, 0.95):.0f}" if len(means) > 1 else "–"


def main() -> None:
    """Play, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--bot", default=BOT)
    parser.add_argument("--against", nargs="*", default=list(OPPONENTS))
    parser.add_argument("--hands", type=int, default=2_000, help="against each opponent; 2,000 by default")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after this time; 60 by default")
    parser.add_argument("--stack", type=int, default=10_000, help="10,000 by default: 100 big blinds")
    parser.add_argument("--seed", type=int, default=44)
    given = parser.parse_args()
    table, until = Table(stack=given.stack), time.monotonic() + 60 * given.minutes
    key = [given.bot, given.stack, given.seed]
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in given.against}
    if given.file.exists():
        for line in given.file.read_text().splitlines():
            row = json.loads(line)
            if row["key"] == key and row["against"] in rows:
                rows[row["against"]].append(row)
    bot = None
    with given.file.open("a") as file:
        while time.monotonic() < until:
            name = min(given.against, key=lambda each: len(rows[each]))
            if len(rows[name]) >= given.hands:
                break
            bot = bot or Timed(find_bot(given.bot, table))
            for row in hands(bot, find_bot(name, table), table, len(rows[name]) // 2, given.seed):
                rows[name].append(row | {"key": key, "against": name})
                file.write(json.dumps(rows[name][-1]) + "\n")
            file.flush()
    print("| against | hands | won | without luck | seconds, mean | longest | forfeits |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, played in rows.items():
        seconds = [one for row in played for one in row["seconds"]] or [0.0]
        print(
            f"| `{name}` | {len(played):,} | {interval(played, 'won', table)} | {interval(played, 'free', table)} "
            f"| {np.mean(seconds):.2f} | {max(seconds):.2f} | {sum(row['forfeits'] for row in played)} |"
        )


if __name__ == "__main__":
    main()
