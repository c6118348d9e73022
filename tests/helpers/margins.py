"""Attacks on bounds: random cases, how far each is from breaking a bound, and the worst of them in print."""

import math
import time
from collections.abc import Callable, Iterable

from effort import soaked

#: By how much round-off may break a bound, in units of the largest payoff.
ROUND_OFF = 1e-9


def attacked(cases: int, margins: Callable[[int], Iterable[tuple[str, float]]], allowed: float = ROUND_OFF) -> None:
    """Try bounds on cases that are made from seeds, and print by how much the worst of them keeps to each.

    Parameters
    ----------
    cases : int
        How many by default, before ``TREEPLEX_SOAK``.
    margins : callable
        From a seed to bounds by name, with what each says less the truth, in units of the largest payoff. A case may
        tell nothing of a bound.
    allowed : float
        What may be missing from a margin.
    """
    begun, count = time.perf_counter(), soaked(cases)
    worst: dict[str, tuple[float, int]] = {}
    tried: dict[str, int] = {}
    for seed in range(count):
        for bound, margin in margins(seed):
            tried[bound] = tried.get(bound, 0) + 1
            found = -math.inf if math.isnan(margin) else margin
            worst[bound] = min(worst.get(bound, (math.inf, -1)), (found, seed))
    print(f"\nseeds 0 to {count - 1:,}, {time.perf_counter() - begun:.0f} s")
    for bound, (margin, seed) in worst.items():
        print(f"  {bound}: {tried[bound]:,} times, worst margin {margin:.2g} at seed {seed}")
    assert worst, "no case tells anything"
    broken = [bound for bound, (margin, _) in worst.items() if margin < -allowed]
    assert not broken, f"broken: {broken}"
