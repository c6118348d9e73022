"""How a solve ended."""

from enum import StrEnum


class Status(StrEnum):
    """How a solve ended; each member's ``advice`` says what it means and what to do next.

    Examples
    --------
    >>> from treeplex import Status
    >>> Status.ITERATION_LIMIT.advice
    'the iteration limit came first: raise max_iterations, loosen tol or try another method'
    """

    OPTIMAL = "optimal"
    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration_limit"
    TIME_LIMIT = "time_limit"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    UNCERTIFIED = "uncertified"
    INTERRUPTED = "interrupted"

    @property
    def advice(self) -> str:
        """What the status means and what to do next, in one line."""
        return _ADVICE[self]

    @property
    def is_success(self) -> bool:
        """Whether the strategies are proven to be as good as was asked."""
        return self in (Status.OPTIMAL, Status.CONVERGED)


_ADVICE = {
    Status.OPTIMAL: "an exact method finished and the strategies prove it within the tolerance",
    Status.CONVERGED: "the strategies prove the tolerance that was asked for",
    Status.ITERATION_LIMIT: "the iteration limit came first: raise max_iterations, loosen tol or try another method",
    Status.TIME_LIMIT: "the time limit came first: raise time_limit, loosen tol or try another method",
    Status.INFEASIBLE: "no strategy meets the constraints: loosen one of them",
    Status.UNBOUNDED: "the objective has no bound: a constraint is missing",
    Status.UNCERTIFIED: "the method finished, but its strategies do not prove the tolerance: "
    "loosen tol, or use highs-simplex where it serves the problem",
    Status.INTERRUPTED: "stopped by the user: the strategies are the latest",
}
