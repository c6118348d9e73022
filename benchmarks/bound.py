"""The memory traffic of a CFR+ iteration, and how close the compiled loop comes to the time that it needs.

    python benchmarks/bound.py [GAME …]

The first table counts the pieces in which the loop stores the payoffs: diagonal runs, tiles and blocks of several
cells, which the loop detects itself, and single cells.

The second table counts, in the state after 1,000 iterations and for both players, the loads at indexed addresses
(columns of the payoff without reach are skipped, as in the loop) and the bytes of the vectors that the passes over the
treeplexes read and write. The cost of each is measured in the same run by loops that do nothing else: independent
indexed loads from a vector as long as the game's, and a pass that reads two such vectors and writes one. The bound is
the sum of the two costs. It does not include arithmetic, mainly divisions, or the payoffs' patterns, which stay in the
first-level cache.
"""

import sys
import time
from typing import Any

import conftest  # noqa: F401  one core
import numba
import numpy as np
from peers import TREEPLEX
from rich.console import Console
from rich.table import Table

from treeplex import load_game
from treeplex.solvers.methods.rules import CFR_PLUS
from treeplex.solvers.regret.kernel import Kernel, KernelState, kernel_of
from treeplex.solvers.regret.layout import KernelLayout

#: The arrays that the passes read and write for each position: regrets, behaviour, gradient twice, plan and its sums.
VECTOR_PASSES = 11
BYTES = 8

GAMES = "leduc", "leduc:ranks=10", "liars_dice", "liars_dice:sides=6", "goofspiel:cards=5", "goofspiel:cards=6"


def touched(kernel: Kernel, state: KernelState) -> dict[str, int]:
    """Return the memory traffic of one iteration for both players together."""
    layout, plan = kernel.layout, state.arrays.plan
    cells, payoffs = layout.game.cells, layout.game.payoffs
    num_runs, num_columns = 0, 0
    for runs in (layout.game.runs, layout.game.tiles):
        columns = runs.columns.astype(np.int64)
        in_runs = sum(plan[columns + lane] for lane in range(layout.width)) != 0.0
        num_runs += int((np.diff(runs.starts.astype(np.int64))[in_runs] // 2).sum())
        num_columns += len(columns)
    pairs = payoffs.block_columns.astype(np.int64)
    in_blocks = plan[pairs[:, 0]] + plan[pairs[:, 1]] != 0.0
    num_blocks = int((np.diff(payoffs.block_starts.astype(np.int64))[in_blocks] // 2).sum())
    in_cells = plan[cells.columns.astype(np.int64)] != 0.0
    num_cells = int(np.diff(cells.starts.astype(np.int64))[in_cells].sum())
    checks = num_columns + 2 * len(pairs) + len(in_cells)
    return {
        "pieces": num_runs + num_blocks + num_cells,
        # The rows of each piece (two in a block), the reach of each column, and each infoset's parent, up and down.
        "indexed_loads": num_runs + 2 * num_blocks + num_cells + checks + 2 * len(layout.parents),
        "payoff_bytes": 8 * (num_runs + num_blocks) + 12 * num_cells,
        "vector_bytes": VECTOR_PASSES * BYTES * layout.size,
    }


@numba.njit
def _gather(values: Any, index: Any, repeats: Any) -> Any:
    # Four sums, so that no addition waits for the previous one.
    sums = np.zeros(4)
    for _ in range(repeats):
        for i in range(np.uint64(0), np.uint64(len(index)) - np.uint64(3), np.uint64(4)):
            for lane in range(np.uint64(4)):
                sums[lane] += values[index[i + lane]]
    return sums.sum()


@numba.njit
def _stream(first: Any, second: Any, out: Any, repeats: Any) -> None:
    for r in range(repeats):
        for i in range(np.uint64(len(out))):
            out[i] = first[i] + r * second[i]


def _cpu(function: Any, *arguments: Any) -> float:
    function(*arguments)
    times = []
    for _ in range(5):
        started = time.process_time()
        function(*arguments)
        times.append(time.process_time() - started)
    return min(times)


def unit_costs(size: int) -> tuple[float, float]:
    """Return the nanoseconds of an indexed load from a vector of a given length, and of accessing a byte of one."""
    rng = np.random.default_rng(0)
    values = rng.random(size)
    index = rng.integers(0, size, size=max(size, 4096)).astype(np.uint32)
    repeats = max(1, int(2e7 / len(index)))
    load = _cpu(_gather, values, index, repeats) / repeats / len(index)
    repeats = max(1, int(2e7 / size))
    byte = _cpu(_stream, values, rng.random(size), np.zeros(size), repeats) / repeats / size / (3 * BYTES)
    return load * 1e9, byte * 1e9


def measured(game: str) -> tuple[dict[str, int], float]:
    """Return the memory traffic of an iteration and the CPU microseconds that it takes."""
    run, _ = TREEPLEX.start(game)
    kernel = kernel_of(load_game(game).sequence_form)
    state = kernel.initial_state()
    state.next_check = 2**62
    kernel.run(state, CFR_PLUS, 1000)
    run(1000)
    started = time.process_time()
    run(10)
    iterations = max(10, int(0.1 / ((time.process_time() - started) / 10)))
    return touched(kernel, state), _cpu(run, iterations) / iterations * 1e6


def pieces(layout: KernelLayout) -> dict[str, int]:
    """Return the number of pieces of each kind in which one player's payoffs are stored, and their size in bytes."""
    game = layout.game
    kinds = {
        "runs": game.runs.cells[::2],
        "tiles": game.tiles.cells[::2],
        "blocks": game.payoffs.blocks[::2],
        "cells": game.cells.rows,
    }
    arrays = [array for part in (game.runs, game.tiles, game.payoffs, game.cells) for array in part]
    return {name: len(kept) // 2 for name, kept in kinds.items()} | {"bytes": sum(array.nbytes for array in arrays)}


def print_pieces(games: list[str]) -> None:
    table = Table("game", "non-zeros", "runs", "tiles", "blocks", "cells", "non-zeros a piece", "bytes a non-zero")
    for game in games:
        form = load_game(game).sequence_form
        kept = pieces(kernel_of(form).layout)
        size = kept.pop("bytes")
        table.add_row(
            game,
            f"{form.A.nnz:,}",
            *(f"{count:,}" for count in kept.values()),
            f"{form.A.nnz / sum(kept.values()):.1f}",
            f"{size / form.A.nnz / 2:.1f}",
        )
    Console(width=120).print(table)


def main() -> None:
    games = sys.argv[1:] or GAMES
    print_pieces([*games])
    table = Table(
        "game", "pieces of A", "indexed loads", "bytes of A", "bytes of vectors", "bound, µs", "loop, µs", "×"
    )
    for game in games:
        counts, microseconds = measured(game)
        load, byte = unit_costs(kernel_of(load_game(game).sequence_form).layout.size)
        bound = (counts["indexed_loads"] * load + counts["vector_bytes"] * byte) / 1e3
        table.add_row(
            game,
            *(f"{counts[name]:,}" for name in ("pieces", "indexed_loads", "payoff_bytes", "vector_bytes")),
            f"{bound:.1f}",
            f"{microseconds:.1f}",
            f"{microseconds / bound:.2f}",
        )
        Console().print(f"{game}: {load:.2f} ns per indexed load, {1 / byte:.0f} GB/s of vectors")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
