"""Depth-limited responses on one core: the exact table, an agent's decisions, and the cost of a decision by depth.

    python benchmarks/depth_limited.py              all parts, in half a minute
    python benchmarks/depth_limited.py --json FILE

The exact table is the row of Leduc poker in table 1. An agent's first decision is timed separately, because the linear
programs of later decisions start from the previous basis. A time includes a step's program and its solution, to the
default tolerance of a thousandth of the range of payoffs. With the full gadget, a decision considers the public states
on its path and those within its lookahead from each of them. Their number grows linearly along the path, so the total
over all decisions of a path grows quadratically.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import conftest  # noqa: F401  one core
import numpy as np
from rich.console import Console
from rich.table import Table

from treeplex import CDRNR, Agent, Strategy, load_game
from treeplex.validation.papers import CDRNRTable1, reproduce

GAMES = ["kuhn", "leduc", "goofspiel:cards=4", "goofspiel:cards=5", "liars_dice"]
REPEATS = 3
DEEP = "repeated_rps:rounds=4"


def exact_table() -> dict[str, float]:
    """Return the seconds of each cell (the smallest of several runs), and of the whole row including the game."""
    runs = [reproduce(CDRNRTable1(("Leduc",))) for _ in range(REPEATS)]
    cells = {row.method: min(run.rows[place].seconds for run in runs) for place, row in enumerate(runs[0].rows)}
    return cells | {"all": min(run.seconds for run in runs)}


def decisions(spec: str, method: str, lookahead: int, along: Any) -> dict[str, Any]:
    """Return the milliseconds of an agent's decisions: the median over several agents."""
    game = load_game(spec)
    model = Strategy.uniform(game, 1)
    cold, warm, largest = [], [], []
    for _ in range(REPEATS + 1):
        agent = Agent(CDRNR(game, model, p=0.5, lookahead=lookahead, along=along), method)
        agent.strategy()
        cold.append(agent.decisions[0].seconds)
        later = [one.seconds for one in agent.decisions[1:] if one.iterations]
        warm.append(statistics.median(later) if later else 0.0)
        largest.append(max(later, default=0.0))
    # The first agent compiles the loop, or builds the layout of the game.
    milliseconds = [1e3 * statistics.median(times[1:]) for times in (cold, warm, largest)]
    return {
        "game": spec,
        "method": method,
        "lookahead": lookahead,
        "along": along,
        "decisions": agent.num_steps,
        "cold_ms": milliseconds[0],
        "warm_ms": milliseconds[1],
        "slowest_warm_ms": milliseconds[2],
        "worst_gap": max(one.gap for one in agent.decisions),
    }


def looked_at(spec: str, lookahead: int, gadget: str) -> list[int]:
    """Return how many public states each decision of the longest path considers, with or without a full gadget."""
    game = load_game(spec)
    public = game.public_tree
    steps = CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=lookahead, along="path").steps
    path: list[int] = [int(np.argmax([step.level for step in steps]))]
    while (before := steps[path[-1]].before) is not None:
        path.append(before)
    seen, counts = np.zeros(public.num_states, dtype=bool), []
    for number in reversed(path):
        step = steps[number]
        below = public.ancestors_at(step.level) == int(step.states[0])
        here = below & (public.levels <= step.level + lookahead)
        seen |= here
        counts.append(int((seen if gadget == "full" else here).sum()))
    return counts


def main() -> None:
    """Measure, and print or write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    begun = time.perf_counter()
    console = Console(file=sys.stdout, width=120)
    cells = exact_table()
    console.print("exact table 1, Leduc, seconds: " + ", ".join(f"{name} {took:.3f}" for name, took in cells.items()))
    table = Table(
        "game", "method", "lookahead", "along", "decisions", "first, ms", "later, ms", "slowest later, ms", "gap"
    )
    rows = []
    for spec in arguments.games:
        for method, lookahead, along in (
            ("cfr+", 1, "level"), ("cfr+", 3, "level"), ("cfr+", 3, "path"), ("lp", 3, "level")
        ):  # fmt: skip
            rows.append(row := decisions(spec, method, lookahead, along))
            table.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()))
    console.print(table)
    sizes = {
        f"{DEEP}, {gadget}, lookahead {lookahead}": looked_at(DEEP, lookahead, gadget)
        for gadget in ("full", "reach-resolving") for lookahead in (1, 3)
    }  # fmt: skip
    for name, counts in sizes.items():
        console.print(f"{name}: public states considered by decision {counts}, cumulative {np.cumsum(counts).tolist()}")
    if arguments.json:
        record = {"exact": cells, "decisions": rows, "looked_at": sizes, "seconds": time.perf_counter() - begun}
        arguments.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
