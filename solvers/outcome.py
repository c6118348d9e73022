"""The data that :func:`~treeplex.solvers.solve` and the methods exchange: options, status, history and outcome."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from ..models.problems import Certificate
from ..seqform.arrays import Floats
from ..seqform.checks import check_whole
from ..seqform.errors import InvalidOptionError
from ..seqform.game import Game
from ..seqform.strategy import Profile, Strategy
from .answer_parts import ExactAnswer

if TYPE_CHECKING:
    from .checkpoint import Keeper


class Status(StrEnum):
    """The status of a solve; ``advice`` explains each member and says what to do next.

    Examples
    --------
    >>> from treeplex import Status
    >>> Status.ITERATION_LIMIT.advice
    'stopped at the iteration limit: raise max_iterations, loosen tol or try another method'
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
        """The meaning of the status and what to do next, in one line."""
        return _ADVICE[self]

    @property
    def is_success(self) -> bool:
        """Whether the certificate meets the tolerance."""
        return self in (Status.OPTIMAL, Status.CONVERGED)


_ADVICE = {
    Status.OPTIMAL: "an exact method finished, and the certificate meets the tolerance",
    Status.CONVERGED: "the certificate meets the requested tolerance",
    Status.ITERATION_LIMIT: "stopped at the iteration limit: raise max_iterations, loosen tol or try another method",
    Status.TIME_LIMIT: "stopped at the time limit: raise time_limit, loosen tol or try another method",
    Status.INFEASIBLE: "no strategy meets the constraints: loosen one of them",
    Status.UNBOUNDED: "the objective is unbounded: add a constraint",
    Status.UNCERTIFIED: "the method finished, but the certificate does not meet the tolerance: loosen tol",
    Status.INTERRUPTED: "stopped by the user: the solution contains the latest strategies",
}


@dataclass(frozen=True, eq=False)
class History:
    """The errors of the answers during a run of an iterative method.

    Attributes
    ----------
    iterations : ndarray of int64, shape (k,)
    seconds : ndarray of float64, shape (k,)
        Seconds of solving so far.
    exploitability : ndarray of float64, shape (k,)
        Exploitability of the strategies that the method would have returned, in payoff units.
    touched : ndarray of int64, shape (k,), optional
        For sampling methods: the number of histories visited so far.
    """

    iterations: np.ndarray[tuple[int], np.dtype[np.int64]]
    seconds: Floats
    exploitability: Floats
    touched: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None

    @classmethod
    def empty(cls) -> "History":
        """Return the history of a method that has none."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))

    def __len__(self) -> int:
        return len(self.iterations)

    def to_dict(self) -> dict[str, list[int] | list[float]]:
        """Return the existing columns as lists, by name."""
        return {name: column.tolist() for name, column in vars(self).items() if column is not None}


@dataclass(frozen=True)
class Progress:
    """The progress of a running solve.

    Attributes
    ----------
    iterations : int
    seconds : float
    exploitability : float or None
        Exploitability of the current strategies, in payoff units; ``None`` if the method does not know it.
    tolerance : float
    max_iterations : int
    """

    iterations: int
    seconds: float
    exploitability: float | None
    tolerance: float
    max_iterations: int


@dataclass(frozen=True)
class Options:
    """The arguments of :func:`~treeplex.solvers.solve`, checked and with defaults filled in.

    Attributes
    ----------
    answered : callable
        Called when the method has the strategies of its answer; ``None`` if the answer is only a part of another one.
    on : str or None
        Where the parts of a cut game are; ``None`` for this process.
    """

    tol: float
    violation: float  # in units of the constraints; below it, a loop certifies nearby feasible plans
    max_iterations: int
    time_limit: float
    start: Any = None
    progress: Callable[[Progress], None] | None = None
    callback: Callable[[Progress], bool | None] | None = None
    seed: int | None = None
    checkpoint: "Keeper | None" = None
    answered: Callable[[], None] | None = None
    on: str | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a method: plans, which are certified later, and data about the run.

    Attributes
    ----------
    plans : sequence of ndarray of float64 or None
        One per player, near the polytopes; ``None`` if there is no answer. Empty if the proof contains the strategies
        and making plans of a large game would be wasteful.
    stopped : Status
        ``OPTIMAL`` if the method claims to have finished; the certificate decides the final status.
    detail : str
        The method's own report, for the message.
    exact : ExactAnswer, optional
        The answer in fractions, if the method proved it.
    proof : tuple of Profile and Certificate, optional
        The :func:`nearest_profile` of the plans and its certificate, if the method computed them.
    """

    plans: Sequence[Floats] | None
    stopped: Status
    detail: str
    iterations: int
    seconds: float
    build_seconds: float
    history: History = field(default_factory=History.empty)
    multipliers: Mapping[str, float] = field(default_factory=dict)
    dual_certificate: Mapping[str, Floats] = field(default_factory=dict)
    state: Any = None
    exact: ExactAnswer | None = None
    proof: tuple[Profile, Certificate] | None = None


def reported(options: Options, iterations: int, seconds: float, error: float | None) -> bool:
    """Report progress to the listeners; return whether one of them wants to stop the solve."""
    if options.progress is None and options.callback is None:
        return False
    report = Progress(iterations, seconds, error, options.tol, options.max_iterations)
    if options.progress is not None:
        options.progress(report)
    return options.callback is not None and bool(options.callback(report))


def checked_seed(seed: Any) -> int:
    """Return a checked seed for random numbers; 0 by default."""
    return 0 if seed is None else check_whole(seed, "seed", InvalidOptionError)


def nearest_profile(game: Game, plans: Sequence[Floats]) -> Profile:
    """Return the strategies with the proportions of a solver's vectors, which may contain round-off."""
    treeplexes = game.sequence_form.treeplexes
    return Profile(
        [
            Strategy(game, player, treeplex.behaviour(np.maximum(plan, 0.0)))
            for player, (treeplex, plan) in enumerate(zip(treeplexes, plans, strict=True))
        ]
    )
