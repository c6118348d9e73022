"""The speed of solving hold'em spots: time per iteration, time to fractions of the pot, by threads, and memory.

    python benchmarks/holdem.py [SPOTS] [--quick] [--half]

The program prints Markdown tables: medians of five, with one thread and with two. SPOTS are letters, by default
``abcf``: a and b are rivers, between two ranges and between all hands; c is a turn; f is a flop with one bet size per
street. Numbers are in single precision, or in 16 bits with ``--half``.
"""

import resource
import statistics
import sys
import time
from typing import Any

import numpy as np

from treeplex import DCFR
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.holdem.bets import Betting
from treeplex.solvers.public.driver import warm
from treeplex.solvers.public.kernel import PublicKernel

RANGES = (
    "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s",
    "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+",
)
SPOTS = {
    "a": ("Td9d6hQc2s", RANGES, Betting("60%, e, a", "2.5x")),
    "b": ("Td9d6hQc2s", ("random", "random"), Betting("50%, 100%, a", "2.5x, a")),
    "c": ("Td9d6hQc", RANGES, Betting("60%, e, a", "2.5x", {"river": "50%"})),
    "f": ("Td9d6h", RANGES, Betting("50%", {})),
}
#: Goals in per cent of the pot, by spot.
SHARES = {"a": (0.5, 0.1, 0.01), "b": (0.5, 0.1, 0.01), "c": (0.5, 0.1, 0.01), "f": (0.5, 0.1)}
#: The number of iterations that are timed together.
TIMED = {"a": 400, "b": 100, "c": 40, "f": 2}


def spot_named(name: str) -> HoldemSpot:
    """Return the spot with a letter."""
    board, ranges, betting = SPOTS[name]
    return HoldemSpot(board, list(ranges), 200, 900, betting)


def milliseconds(kernel: PublicKernel, count: int) -> float:
    """Return the milliseconds of an iteration, the median of five runs."""
    rule, state = DCFR().local_rule, kernel.initial_state()
    kernel.run(state, rule, count)
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        kernel.run(state, rule, count)
        times.append((time.perf_counter() - begun) / count)
    return 1e3 * statistics.median(times)


def until(kernel: PublicKernel, goal: float, step: float = 1.03) -> tuple[int, float]:
    """Return the number of iterations until the averages reach a goal, and the seconds of these iterations only."""
    rule, state = DCFR().local_rule, kernel.initial_state()
    done, seconds = 0, 0.0
    while True:
        more = max(4, int(done * (step - 1.0)))
        begun = time.perf_counter()
        kernel.run(state, rule, more)
        seconds += time.perf_counter() - begun
        done += more
        if sum(kernel.evaluate(state, player, best=True) for player in (0, 1)) / 2.0 <= goal:
            return done, seconds


def main(names: str, quick: bool, number: Any) -> None:
    """Print the tables."""
    warm(number, False)
    print("| spot | decision nodes | hands | state | ms per iteration | on two threads |")
    print("|---|---|---|---|---|---|")
    solved = []
    for name in names:
        spot = spot_named(name)
        begun = time.perf_counter()
        kernels = [PublicKernel(spot.public_form, number, threads=threads) for threads in (1, 2)]
        built = time.perf_counter() - begun
        state = kernels[0].taken()
        found = [milliseconds(kernel, TIMED[name]) for kernel in kernels[: kernels[1].threads]]
        hands = " and ".join(f"{len(held):,}" for held in spot.hands)
        nodes = len(spot.public_form.decisions)
        columns = [name, f"{nodes:,}", hands, f"{state / 1e6:.1f} MB", f"{found[0]:.3g}"]
        print("|", " | ".join([*columns, f"{found[1]:.3g}" if len(found) > 1 else "–"]), "|", flush=True)
        for share in SHARES[name][: 1 if quick else None]:
            runs = [
                until(kernels[-1 if name == "f" else 0], share / 100.0 * spot.pot)
                for _ in range(1 if name == "f" else 3)
            ]
            seconds = statistics.median(run[1] for run in runs)
            solved.append(f"| {name} | {share:g}% | {runs[0][0]:,} | {seconds:.3g} |")
        solved.append(f"| {name} | built | | {built:.3g} |")
    print("\n| spot | of the pot | iterations | seconds |\n|---|---|---|---|")
    print("\n".join(solved))
    print(f"\nAt most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB.")


if __name__ == "__main__":
    named = next((one for one in sys.argv[1:] if not one.startswith("-")), "abcf")
    main(named, "--quick" in sys.argv, np.uint16 if "--half" in sys.argv else np.float32)
