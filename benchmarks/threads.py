"""How much faster more threads iterate, game by game, and that they do the same.

    python benchmarks/threads.py [GAME …]

Times are by the clock, of CFR+ after 500 iterations, the least of seven; thread counts take turns. Where bits differ
the script says so and fails.
"""

import sys
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from treeplex import load_game
from treeplex.seqform.budget import available_cores
from treeplex.solvers.methods.rules import CFR_PLUS
from treeplex.solvers.regret.kernel import Kernel, kernel_of

GAMES = "leduc", "leduc:ranks=8", "leduc:ranks=10", "leduc:ranks=13", "liars_dice:sides=6", "goofspiel:cards=6"


def started(layout: Any, threads: int) -> tuple[Kernel, Any]:
    """Return a loop of so many threads, and its state when behaviour has settled."""
    kernel = Kernel(layout, threads)
    state = kernel.initial_state()
    state.next_check = 2**62
    for iterations in (1, 499):
        kernel.run(state, CFR_PLUS, iterations)
    return kernel, state


def measured(layout: Any, counts: list[int]) -> tuple[list[float], bool]:
    """Return the microseconds of an iteration by number of threads, and whether all do the same."""
    runs = [started(layout, threads) for threads in counts]
    begun = time.perf_counter()
    runs[0][0].run(runs[0][1].copy(), CFR_PLUS, 50)
    iterations = max(50, int(50 * 0.2 / (time.perf_counter() - begun)))
    times: list[list[float]] = [[] for _ in counts]
    for _ in range(7):
        for found, (kernel, state) in zip(times, runs, strict=True):
            begun = time.perf_counter()
            kernel.run(state, CFR_PLUS, iterations)
            found.append(1e6 * (time.perf_counter() - begun) / iterations)
    states = {b"".join(array.tobytes() for array in state.lasting.values()) for _, state in runs}
    return [min(found) for found in times], len(states) == 1


def main() -> int:
    counts = sorted({1, 2, available_cores()})
    table = Table("game", "non-zeros", "branches", "trunk", *(f"{n} threads, µs" for n in counts), "times faster")
    all_same = True
    for game in sys.argv[1:] or GAMES:
        form = load_game(game).sequence_form
        layout = kernel_of(form).layout
        times, same = measured(layout, counts)
        all_same &= same
        shares = np.diff(layout.game.polytopes.shares.astype(np.int64)).reshape(layout.num_players, -1)
        table.add_row(
            game,
            f"{form.A.nnz:,}",
            f"{layout.num_branches}",
            f"{shares[:, 0].sum() / shares.sum():.1%}",
            *(f"{one:.1f}" for one in times),
            " ".join(f"{times[0] / one:.2f}" for one in times[1:]) + ("" if same else ", other bits!"),
        )
    Console(width=120).print(table)
    return 0 if all_same else 1


if __name__ == "__main__":
    raise SystemExit(main())
