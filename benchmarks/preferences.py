"""The cost of preferences in an iteration of CFR, on one core.

    python benchmarks/preferences.py              Kuhn, Leduc, liar's dice and goofspiel, in a minute
    python benchmarks/preferences.py --games leduc
    python benchmarks/preferences.py --json FILE

A preference of degree 1 with a vulnerability near zero does not affect play, but its loop does the same work as for any
other preference, so all compared loops have the same plans. They take turns, and each is compared with the preceding
turn of CFR: the printed number is the median of these ratios.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import conftest  # noqa: F401  one core
import numpy as np
from rich.console import Console
from rich.table import Table

from treeplex import Game, Prefer, load_game
from treeplex.models.preferences import Preference, preference_on
from treeplex.solvers.methods.rules import CFR
from treeplex.solvers.regret.kernel import kernel_of
from treeplex.solvers.regret.loop import LATE_BLOCK
from treeplex.solvers.regret.preferences import kernel_preferences

GAMES = ["kuhn", "leduc", "leduc:ranks=6", "liars_dice", "goofspiel:cards=5", "goofspiel:cards=6"]
#: How often the arrays are moved to other addresses, and how many turns the loops take at each address.
PLACES, TURNS = 6, 40
TURN_SECONDS = 0.003
WARM_UP = 200
#: So small that no charge affects a regret.
NOTHING = 1e-100


def preferences(game: Game) -> dict[str, Preference]:
    """Return preferences that prefer nothing, by their scope."""
    form = game.sequence_form
    labels = [treeplex.action_labels for treeplex in form.treeplexes]
    every = sorted({action for rows in labels for row in rows for action in row}, key=str)
    opening = sorted(
        {
            action
            for treeplex in form.treeplexes
            for row, parent in zip(treeplex.action_labels, treeplex.parents.tolist(), strict=True)
            for action in row
            if parent == 0
        },
        key=str,
    )
    return {
        "one player, everywhere": preference_on(game, Prefer(every, 1, player=0), NOTHING, "counterfactual"),
        "one player, first, conditional": preference_on(game, Prefer(opening, 1, player=0, first=True), NOTHING),
        "both, everywhere": preference_on(game, Prefer(every, 1), NOTHING, "counterfactual"),
        "both, everywhere, conditional": preference_on(game, Prefer(every, 1), NOTHING),
    }


def measure(spec: str) -> dict[str, Any]:
    """Return the microseconds of an iteration of CFR, and the ratios of iterations with preferences to it."""
    game = load_game(spec)
    kernel = kernel_of(game.sequence_form)
    arrays = {"cfr": None} | {
        name: kernel_preferences(game, one, kernel.layout, on_one=False) for name, one in preferences(game).items()
    }
    states = {name: kernel.initial_state(preferences=each) for name, each in arrays.items()}
    for state in states.values():
        kernel.run(state, CFR, WARM_UP, growth=np.inf)
    begun = time.perf_counter()
    kernel.run(states["cfr"].copy(), CFR, WARM_UP, growth=np.inf)
    seconds = (time.perf_counter() - begun) / WARM_UP
    # Whole blocks, so that each turn computes the reaches that scale β equally often.
    iterations = LATE_BLOCK * max(1, int(TURN_SECONDS / seconds) // LATE_BLOCK)
    turns: dict[str, list[float]] = {name: [] for name in states}
    random = np.random.default_rng(0)
    for _ in range(PLACES):
        room = np.zeros(random.integers(1, 4096))
        placed = {name: state.copy() for name, state in states.items()}
        for _ in range(TURNS):
            for name, state in placed.items():
                begun = time.perf_counter()
                kernel.run(state, CFR, iterations, growth=np.inf)
                turns[name].append((time.perf_counter() - begun) / iterations)
        del room
    beside = np.array(turns["cfr"])
    ratios = {name: float(np.median(np.array(each) / beside)) for name, each in turns.items() if name != "cfr"}
    return {"game": spec, "microseconds": 1e6 * float(np.median(beside)), "ratios": ratios}


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", default=GAMES, metavar="GAME")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    measure("kuhn")  # compiles
    rows = [measure(spec) for spec in arguments.games]
    table = Table(title="an iteration with preferences, in iterations of CFR")
    table.add_column("game")
    table.add_column("CFR, µs", justify="right")
    for name in rows[0]["ratios"]:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(row["game"], f"{row['microseconds']:.1f}", *(f"{ratio:.2f}" for ratio in row["ratios"].values()))
    Console(width=140).print(table)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
