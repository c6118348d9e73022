"""The random numbers of the compiled samplers, in Python: the same seed gives the same numbers."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

_MASK = 2**64 - 1
_UNIT = 1.0 / 9007199254740992.0  # 2 to the power of -53


def first_random_state(seed: int, *branch: int) -> int:
    """Return the initial 64-bit state of a seed's random numbers; it differs in each branch."""
    return int(np.random.SeedSequence(seed, spawn_key=branch).generate_state(1, np.uint64)[0])


class SplitMix64:
    """Random numbers in [0, 1), whose state is a counter.

    Parameters
    ----------
    state : int
        A 64-bit integer; :func:`first_random_state` computes one from a seed.

    Notes
    -----
    G. L. Steele Jr., D. Lea and C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

    Examples
    --------
    >>> from treeplex.solvers.sampling.splitmix import SplitMix64
    >>> numbers = SplitMix64(0)
    >>> round(numbers.random(), 6), round(numbers.random(), 6)
    (0.883311, 0.431528)
    """

    __slots__ = ("state",)

    def __init__(self, state: int) -> None:
        self.state = state

    def random(self) -> float:
        """Return the next number."""
        state = self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((state ^ (state >> 31)) >> 11) * _UNIT


def cumulative(probabilities: Sequence[float]) -> list[float]:
    """Return cumulative sums such that a number below 1 never selects an outcome of probability 0."""
    sums = list(accumulate(probabilities))
    last = sums[-1]
    return [1.0 if each >= last else each / last for each in sums]
