"""The compiled loop, begun anew from its averages whenever these have become much better."""

import numpy as np

from ...models.problems import Problem
from ..methods import RegretMethod
from ..outcome import Options, Outcome
from ..status import Status
from .driver import RegretStepper, check_precision, run_steps

#: Whether to begin anew is asked after so many iterations at the earliest, and after a fifth more each time.
FIRST_LOOK, GROWTH = 32, 0.2
#: An error that has fallen to this share is reason enough; one that has fallen to the other if it rises again.
SUFFICIENT, NECESSARY = 0.2, 0.8
#: So is a time that is this share of all iterations.
LONG = 0.6


class RestartedStepper(RegretStepper):
    """The compiled loop, which begins anew at its averages, or at its current plans if these are better."""

    @property
    def room(self) -> int:
        """Not beyond the next look."""
        return min(super().room, max(1, self._due - self.iterations))

    @property
    def _due(self) -> int:
        return int(self.state.restarts[2]) or FIRST_LOOK

    def look(self) -> Status | None:
        """Begin anew if the error has fallen far enough since the last time."""
        found = super().look()
        if found is not None or self.iterations < self._due:
            return found
        reference, before, _ = self.state.restarts
        errors = [self._error(last) for last in (False, True)]
        error, age = min(errors), self.iterations - int(self.state.arrays.clock[2])
        if (
            error <= max(SUFFICIENT * reference, self._tolerance)
            or (error <= NECESSARY * reference and error > before)
            or age >= LONG * self.iterations
        ):
            self.kernel.restart(self.state, last_iterate=errors[1] < errors[0])
            reference, before, age = error, np.inf, 0
        else:
            before = error
        self.state.restarts[:] = reference, before, self.iterations + max(FIRST_LOOK, int(GROWTH * age))
        return None

    def _error(self, last: bool) -> float:
        """Return the error of the averages, or of the current plans."""
        state = self.state.copy()
        state.next_check = self.iterations
        return self.kernel.run(state, self.rule, 0, last_iterate=last).exploitability


def run(method: RegretMethod, problem: Problem, options: Options) -> Outcome:
    """Iterate and begin anew until the certificate meets the tolerance or a limit comes."""
    check_precision(method, problem)
    return run_steps(method, problem, options, RestartedStepper)
