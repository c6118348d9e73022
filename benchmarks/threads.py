"""The speed-up of iterations and sampling with more threads, game by game, and a test that results do not change.

    python benchmarks/threads.py [GAME …]
    python benchmarks/threads.py --batches 64,256,1024 [GAME …]
    python benchmarks/threads.py --side-by-side [GAME …]

Times are wall-clock times, the smallest of seven; thread counts take turns. The table is for CFR+ after 500 iterations.
With --batches it is for external sampling, with the time of one walk for each player, in batches and one by one. If any
bits differ, the script reports it and fails.
With --side-by-side it is for external sampling by threads that walk on copies of the regrets, with the CPU time of a
walk too: it rises if the threads wait for each other or for each other's cache lines.
"""

import argparse
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from treeplex import load_game
from treeplex.seqform.budget import available_cores
from treeplex.solvers.iteration import NEVER
from treeplex.solvers.methods.rules import CFR_PLUS, SamplingRule
from treeplex.solvers.regret.kernel import Kernel, kernel_of
from treeplex.solvers.sampling.sampler import Sampler, SamplerState, tree_for

GAMES = "leduc", "leduc:ranks=8", "leduc:ranks=10", "leduc:ranks=13", "liars_dice:sides=6", "goofspiel:cards=6"
#: With --side-by-side: the histories touched before the measurement, and by each thread in a round of it.
SETTLED, TURN = 50_000_000, 5_000_000
SAMPLED = "leduc", "leduc:ranks=10", "liars_dice", "liars_dice:sides=6", "goofspiel:cards=5"


def started(layout: Any, threads: int) -> tuple[Kernel, Any]:
    """Return a loop with a number of threads, and its state once behaviour has settled."""
    kernel = Kernel(layout, threads)
    state = kernel.initial_state()
    state.next_check = 2**62
    for iterations in (1, 499):
        kernel.run(state, CFR_PLUS, iterations)
    return kernel, state


def measured(layout: Any, counts: list[int]) -> tuple[list[float], bool]:
    """Return the microseconds of an iteration by number of threads, and whether all results are equal."""
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


def walked(sampler: Sampler, batch: int, counts: list[int]) -> tuple[list[float], bool]:
    """Return the microseconds of one walk for each player by number of threads, and whether all results are equal."""
    rule = SamplingRule(batch=batch)
    states = [sampler.initial_state(rule, 1) for _ in counts]

    def seconds(threads: int, state: SamplerState, iterations: int) -> float:
        sampler.threads = threads
        begun = time.perf_counter()
        sampler.run(state, rule, iterations)
        return time.perf_counter() - begun

    settled = -(-20_000 // batch)
    iterations = max(1, int(settled * 0.2 / [seconds(1, state, settled) for state in states][-1]))
    times = [
        [seconds(threads, state, iterations) for threads, state in zip(counts, states, strict=True)] for _ in range(7)
    ]
    bits = {b"".join(array.tobytes() for array in state.changing.values()) for state in states}
    return [1e6 * min(found) / (iterations * batch) for found in zip(*times, strict=True)], len(bits) == 1


def beside(sampler: Sampler, threads: int, rounds: int) -> tuple[float, float, float]:
    """Return the least microseconds of one walk for each player, on one thread and on several, and the CPU time."""
    runs = [SamplingRule(), SamplingRule(threads=threads)]
    states = [sampler.initial_state(rule, 1) for rule in runs]
    for rule, state in zip(runs, states, strict=True):
        sampler.run(state, rule, NEVER, SETTLED)
    times = np.empty((rounds, 2, 2))
    for turn in range(rounds):
        for place, (rule, state) in enumerate(zip(runs, states, strict=True)):
            done, begun, used = state.iterations, time.perf_counter(), time.process_time()
            sampler.run(state, rule, NEVER, state.touched + rule.threads * TURN)
            spent = time.perf_counter() - begun, time.process_time() - used
            times[turn, place] = np.array(spent) / (state.iterations - done)
    alone, together = 1e6 * times.min(axis=0)
    return alone[0], together[0], together[1] / alone[1]


def side_by_side(games: list[str], threads: int, rounds: int) -> Table:
    """Return the table of walks side by side."""
    table = Table("game", "one thread, µs", f"threads={threads}, µs", "times faster", "CPU time")
    for game in games:
        alone, together, used = beside(Sampler(tree_for(load_game(game))), threads, rounds)
        table.add_row(game, f"{alone:.2f}", f"{together:.2f}", f"{alone / together:.2f}", f"{used:.2f}")
    return table


def iterating(games: list[str], counts: list[int]) -> tuple[Table, bool]:
    """Return the table of iterations, and whether all results are equal."""
    table = Table("game", "non-zeros", "branches", "trunk", *(f"{n} threads, µs" for n in counts), "times faster")
    all_same = True
    for game in games:
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
    return table, all_same


def sampling(games: list[str], counts: list[int], batches: list[int]) -> tuple[Table, bool]:
    """Return the table of walks, and whether all results are equal."""
    columns = [f"batches of {batch}, {n} threads" for batch in batches for n in counts]
    table, all_same = Table("game", "one by one, µs", *columns, "times faster, batch by batch"), True
    for game in games:
        sampler = Sampler(tree_for(load_game(game)))
        alone = walked(sampler, 1, [1])[0][0]
        cells, ratios = [], []
        for batch in batches:
            times, same = walked(sampler, batch, counts)
            all_same &= same
            cells += [f"{one:.2f}" for one in times]
            ratios.append(" ".join(f"{times[0] / one:.2f}" for one in times[1:]) + ("" if same else ", other bits!"))
        table.add_row(game, f"{alone:.2f}", *cells, "; ".join(ratios))
    return table, all_same


def main() -> int:
    parser = argparse.ArgumentParser(description="How much faster more threads iterate, and sample.")
    parser.add_argument("games", nargs="*", metavar="GAME")
    parser.add_argument("--batches", help="walks of each player in an iteration of sampling, with commas between")
    parser.add_argument("--side-by-side", action="store_true", help="threads that walk on copies of the regrets")
    parser.add_argument("--rounds", type=int, default=50, help="rounds of --side-by-side")
    asked = parser.parse_args()
    counts = sorted({1, 2, available_cores()})
    if asked.side_by_side:
        table, same = side_by_side(asked.games or list(SAMPLED), counts[-1], asked.rounds), True
    elif asked.batches:
        table, same = sampling(asked.games or list(SAMPLED), counts, [int(one) for one in asked.batches.split(",")])
    else:
        table, same = iterating(asked.games or list(GAMES), counts)
    Console(width=160).print(table)
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
