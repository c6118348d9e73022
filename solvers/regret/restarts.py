"""The compiled loop with restarts from its averages whenever these have become much better."""

from ...models.problems import Problem
from ..methods import RegretMethod
from ..outcome import Options, Outcome, Status
from .arrays import BEGUN
from .driver import RegretStepper, check_precision, run_steps
from .first_order import FIRST_LOOK, begins_anew
from .warm_start import restart


class RestartedStepper(RegretStepper):
    """The compiled loop, which restarts from its averages, or from its current plans if these are better."""

    @property
    def room(self) -> int:
        """The number of iterations until the next check for a restart."""
        return min(super().room, max(1, self._due - self.iterations))

    @property
    def _due(self) -> int:
        return int(self.state.restarts[2]) or FIRST_LOOK

    def look(self) -> Status | None:
        """Restart if the error has fallen far enough since the last restart."""
        found = super().look()
        if found is not None or self.iterations < self._due:
            return found
        errors = [self._error(last) for last in (False, True)]
        age = self.iterations - int(self.state.arrays.clock[BEGUN])
        if begins_anew(self.state.restarts, min(errors), age, self.iterations, self._tolerance):
            restart(self.kernel, self.state, last_iterate=errors[1] < errors[0])
        return None

    def _error(self, last: bool) -> float:
        """Return the error of the averages, or of the current plans."""
        state = self.state.copy()
        state.next_check = self.iterations
        return self.kernel.run(state, self.rule, 0, last_iterate=last).exploitability


def run(method: RegretMethod, problem: Problem, options: Options) -> Outcome:
    """Iterate and restart until the certificate meets the tolerance or a limit is reached."""
    check_precision(method, problem)
    return run_steps(method, problem, options, RestartedStepper)
