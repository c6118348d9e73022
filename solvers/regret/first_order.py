"""Common parts of steppers in numpy: plans and their averages, projections onto simplices, and restarts."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ...models.problems import Problem
from ...seqform.arrays import Floats, Integers
from ...seqform.limits import counted_now
from ..certification import loop_error
from ..checkpoint import Saved, fill
from ..iteration import Stepper, iterate
from ..outcome import Options, Outcome, nearest_profile

#: Iterations before the first check for a restart; each later check is after a fifth more.
FIRST_LOOK, GROWTH = 32, 0.2
#: The method restarts if the error has fallen to the first fraction, or to the second and rises again.
SUFFICIENT, NECESSARY = 0.2, 0.8
#: It also restarts if the last restart is this fraction of all iterations ago.
LONG = 0.6


def begins_anew(restarts: Floats, error: float, age: int, iterations: int, tolerance: float = 0.0) -> bool:
    """Decide whether to restart, and record the data for the next decision.

    Parameters
    ----------
    restarts : ndarray of float64, shape (3,)
        The error at the last restart, the last error checked, and the iteration of the next check. Changed in place.
    error : float
        The error of the better of averages and last iterates.
    age : int
        Iterations since the last restart.
    iterations : int
    tolerance : float
        An error that is always good enough.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.solvers.regret.first_order import begins_anew
    >>> restarts = np.array([1.0, 0.5, 0.0])
    >>> begins_anew(restarts, 0.4, 100, 1000), begins_anew(restarts, 0.6, 110, 1010)
    (False, True)
    >>> restarts.tolist()
    [0.6, inf, 1042.0]
    """
    reference, before, _ = restarts
    anew = bool(
        error <= max(SUFFICIENT * reference, tolerance)
        or (error <= NECESSARY * reference and error > before)
        or age >= LONG * iterations
    )
    due = iterations + max(FIRST_LOOK, 0 if anew else int(GROWTH * age))
    restarts[:] = (error, np.inf, due) if anew else (reference, error, due)
    return anew


def on_simplices(values: Floats, starts: Integers, counts: Integers) -> Floats:
    """Project runs of numbers onto simplices: subtract a constant from each run and clip at zero.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.solvers.regret.first_order import on_simplices
    >>> on_simplices(np.array([0.5, 0.0, 3.0, 2.5, 1.0]), np.array([0, 2]), np.array([2, 3])).tolist()
    [0.75, 0.25, 0.75, 0.25, 0.0]
    """
    kept = np.ones(len(values), dtype=bool)
    while True:
        sizes = np.add.reduceat(kept, starts, dtype=np.float64)
        lowered = (np.add.reduceat(np.where(kept, values, 0.0), starts) - 1.0) / sizes
        found = values - np.repeat(lowered, counts)
        left = kept & (found > 0.0)
        if (left == kept).all():
            return np.where(kept, found, 0.0)
        kept = left


class PlanStepper(Stepper):
    """Plans that move by the gradients of a game, and their averages.

    Parameters
    ----------
    method : Method
        Its ``iterate`` decides whether last iterates or averages are the answer.
    problem : Problem
        An equilibrium of a two-player zero-sum game, unless a subclass certifies other games.
    options : Options
    """

    first_step = 4

    def __init__(self, method: Any, problem: Problem, options: Options) -> None:
        self.method, self.problem, self.options = method, problem, options
        self.form = problem.game.sequence_form
        self.treeplexes = self.form.treeplexes
        self._iterations = 0
        self._sums = [np.zeros(treeplex.num_sequences) for treeplex in self.treeplexes]
        self._plans = [treeplex.uniform_plan() for treeplex in self.treeplexes]

    @property
    def iterations(self) -> int:
        """Updates of every player."""
        return self._iterations

    def step(self, iterations: int) -> None:
        """Move the players' plans."""
        for _ in range(iterations):
            self._iterations += 1
            self.move()

    @abstractmethod
    def move(self) -> None:
        """Do one iteration."""

    @abstractmethod
    def lasting(self) -> dict[str, Any]:
        """Return the data of a method other than plans and averages, by name: an array, or one per player."""

    def average(self) -> list[Floats]:
        """Return the averages, or the current plans if there are no averages."""
        return [
            total / total[0] if total[0] > 0.0 else plan for total, plan in zip(self._sums, self._plans, strict=True)
        ]

    def check(self) -> float:
        """Return the error of the answer."""
        profile = nearest_profile(self.problem.game, self.answer())
        return loop_error(self.problem, self.problem.certify(profile, {}, {}), self.options)

    def answer(self) -> list[Floats]:
        """Return the last iterates, or the averages."""
        return list(self._plans) if self.method.iterate == "last" else self.average()

    def saved(self) -> Saved:
        """Return the state."""
        return {"iterations": self._iterations, "due": self.next_check, **self._arrays()}

    def restore(self, saved: Saved) -> None:
        """Restore the state."""
        fill(self._arrays(), saved)
        self._iterations, self.next_check = int(saved["iterations"]), int(saved["due"])

    def _arrays(self) -> dict[str, Floats]:
        arrays: dict[str, Floats] = {}
        for name, each in {"sums": self._sums, "plans": self._plans, **self.lasting()}.items():
            arrays |= (
                {name: each} if isinstance(each, np.ndarray) else {f"{name} {i}": one for i, one in enumerate(each)}
            )
        return arrays


def run_plans(kind: type[PlanStepper], method: Any, problem: Problem, options: Options) -> Outcome:
    """Iterate until the certificate of the answer meets the tolerance or a limit is reached."""
    begun = counted_now()
    stepper = kind(method, problem, options)
    build_seconds = counted_now() - begun
    found = iterate(stepper, options)
    return found.outcome(build_seconds, plans=stepper.answer())
