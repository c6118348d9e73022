"""The random numbers of the compiled samplers, in Python: the same seed gives the same numbers."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

_MASK = 2**64 - 1
_UNIT = 1.0 / 9007199254740992.0  # 2 to the power of -53


def first_random_state(seed: int, *branch: int) -> int:
    """Return the state in which the random numbers of a seed begin, of 64 bits; other ones in each branch."""
    return int(np.random.SeedSequence(seed, spawn_key=branch).generate_state(1, np.uint64)[0])


class SplitMix64:
    """Random numbers of [0, 1), from a state that is a counter.

    Parameters
    ----------
    state : int
        Of 64 bits; :func:`first_random_state` makes one of a seed.

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
    """Return the sums up to each outcome, such that a number below 1 never falls on an outcome of probability 0."""
    sums = list(accumulate(probabilities))
    last = sums[-1]
    return [1.0 if each >= last else each / last for each in sums]
