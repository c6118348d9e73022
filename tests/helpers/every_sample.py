"""Every sample that a compiled sampler may draw, with its probability: expectations without any statistics."""

import math
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from treeplex.solvers.sampling import kernel

Result = TypeVar("Result")


class Draws:
    """Draws by a script: what each is to be, and the first that is possible after its end."""

    def __init__(self, script: list[int]) -> None:
        self.script, self.options, self.probability = script, [], 1.0

    def draw(self, probabilities: Any) -> int:
        """Return the next draw of the script."""
        possible = np.flatnonzero(np.asarray(probabilities) > 0.0).tolist()
        place = len(self.options)
        if place == len(self.script):
            self.script.append(0)
        self.options.append(len(possible))
        chosen = possible[self.script[place]]
        self.probability *= probabilities[chosen]
        return chosen


def every_sample(walk: Callable[[Draws], Result]) -> Iterator[tuple[float, Result]]:
    """Yield what a walk finds and how probable that is, for all that it may draw."""
    script: list[int] = []
    while True:
        draws = Draws(script)
        found = walk(draws)
        yield draws.probability, found
        while script and script[-1] + 1 == draws.options[len(script) - 1]:
            script.pop()
        if not script:
            return
        script[-1] += 1


def expectation(walk: Callable[[Draws], Any]) -> Any:
    """Return the mean of what a walk finds."""
    samples = list(every_sample(walk))
    assert math.isclose(sum(probability for probability, _ in samples), 1.0, abs_tol=1e-12)
    return sum(probability * found for probability, found in samples)


def drawing(function: Any, draws: Draws) -> Any:
    """Return a compiled function of the samplers as a Python function of the same source that draws by a script."""

    def draw_outcome(chance: Any, first: Any, count: Any, clock: Any) -> Any:
        return np.uint64(draws.draw(np.diff(chance[int(first) : int(first + count)], prepend=0.0)))

    def draw_action(policies: Any, place: Any, count: Any, uniform: Any, clock: Any) -> Any:
        policy = policies[int(place) : int(place + count)]
        return np.uint64(draws.draw(policy * (1.0 - uniform) + uniform / float(count)))

    replaced = {
        kernel.draw_outcome: draw_outcome,
        kernel.draw_action: draw_action,
        kernel.write_policy: kernel._match_regrets,
        kernel.count_walk: kernel._count_nothing,
    }
    written = function.py_func
    names = dict(written.__globals__)
    for name in names.keys() & set(written.__code__.co_names):
        named = names[name]
        try:
            known = replaced.get(named)
        except TypeError:
            known = None
        names[name] = known or (drawing(named, draws) if hasattr(named, "py_func") else named)
    return FunctionType(written.__code__, names, written.__name__, written.__defaults__, written.__closure__)
