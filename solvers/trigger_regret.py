"""The backend of ``trigger-regret``: joint play that approaches a correlated equilibrium, as an answer of ``solve``."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..models.correlation import CorrelationPlan, CorrelationPolytope, StrategyMixture
from ..models.problems.correlated import STRATEGIES, Correlated
from ..seqform.arrays import Floats
from ..seqform.errors import InvalidOptionError
from ..seqform.limits import counted_now
from ..seqform.sheet import counted
from .checkpoint import Saved
from .correlated_run import CorrelatedRun
from .iteration import Stepper, iterate
from .outcome import Options, Outcome, nearest_profile
from .solution import RunState

if TYPE_CHECKING:
    from .methods import TriggerRegret

#: The number of sequences of all players up to which the first step has several iterations.
_SMALL = 1_000
#: The number of pairs of two players' sequences up to which pairs of pure plans are listed.
_LISTED = 100_000


def _remark(iterations: int) -> str:
    return f"the plan is the mixture of {counted(iterations, 'iteration')} of trigger-regret minimisation"


@dataclass(frozen=True, eq=False, repr=False)
class MixedPlan(CorrelationPlan, RunState):
    """The correlation plan of a run of trigger-regret minimisation of two players.

    Attributes
    ----------
    iterations : int
        The number of iterations of the run.
    moved : str
        Why the plan was moved away from the mixture; empty if it was not.
    """

    iterations: int = 0
    moved: str = ""

    @classmethod
    def of_columns(
        cls, polytope: CorrelationPolytope, columns: Floats, iterations: int, moved: str = ""
    ) -> "MixedPlan":
        """Return the plan at a point of the polytope, without round-off."""
        return cls(polytope, polytope.point(polytope.shares(columns)), iterations, moved)

    @property
    def remark(self) -> str:
        """The origin of the plan, for the message."""
        return _remark(self.iterations) + f", moved {self.moved}" * bool(self.moved)


@dataclass(frozen=True, eq=False, repr=False)
class MixedProfiles(StrategyMixture, RunState):
    """The profiles of a run of trigger-regret minimisation, from which a mediator draws one."""

    @property
    def remark(self) -> str:
        """The origin of the mixture, for the message."""
        return _remark(self.num_profiles)


class TriggerStepper(Stepper):
    """A :class:`CorrelatedRun` as a stepper.

    The check uses the gains of deviations at recommendations, as for ``efce``; deviators of other concepts gain at most
    as much.
    """

    def __init__(self, run: CorrelatedRun) -> None:
        self.run = run
        form = run.game.sequence_form
        self.first_step = 16 if sum(each.num_sequences for each in form.treeplexes) <= _SMALL else 1

    @property
    def iterations(self) -> int:
        """Number of iterations done."""
        return self.run.iterations

    def step(self, iterations: int) -> None:
        """Do more iterations."""
        self.run.run(iterations)

    def check(self) -> float:
        """Return the largest gain of a player from deviations."""
        return max(self.mixture.regrets("efce") if not self.iterations else self.run.regrets)

    @property
    def mixture(self) -> StrategyMixture:
        """The recommendations so far; before the first iteration, uniform play."""
        if self.iterations:
            return self.run.mixture
        form = self.run.game.sequence_form
        return StrategyMixture(form, tuple(treeplex.uniform_plan()[None] for treeplex in form.treeplexes))

    def saved(self) -> Saved:
        """Return the strategies of all iterations, the state of the players, and the time of the next check."""
        return {**self.run.saved(), "due": self.next_check}

    def restore(self, saved: Saved) -> None:
        """Restore the state that :meth:`saved` returned."""
        self.run.restore(saved)
        self.next_check = saved["due"]


def run(method: "TriggerRegret", problem: Correlated, options: Options) -> Outcome:
    """Iterate until no deviation gains more than the tolerance; see :class:`~treeplex.solvers.TriggerRegret`."""
    if options.start is not None:
        raise InvalidOptionError(f"{method.name} does not accept a start for {problem.name}: omit the start")
    built = counted_now()
    stepper = TriggerStepper(CorrelatedRun(problem.game))
    begun = counted_now()
    found = iterate(stepper, options)
    took: dict[str, Any] = {"iterations": found.iterations, "seconds": found.seconds, "build_seconds": begun - built}
    if not found.iterations:
        return Outcome(plans=None, stopped=found.stopped, detail="", history=found.history, **took)
    mixture = stepper.mixture
    profile = nearest_profile(problem.game, [mixture.marginal(player) for player in range(len(mixture.plans))])
    given = {STRATEGIES.format(player): plans for player, plans in enumerate(mixture.plans)}
    return Outcome(
        plans=profile.plans,
        stopped=found.stopped,
        detail=f"after {found.iterations:,} iterations",
        history=found.history,
        dual_certificate=given,
        state=_recommendations(problem, mixture),
        proof=(profile, problem.certify(profile, {}, given)),
        **took,
    )


def _recommendations(problem: Correlated, mixture: StrategyMixture) -> RunState:
    """Return the recommendations; as pairs of pure plans if there are two players and few pairs of sequences."""
    counts = [plans.shape[1] for plans in mixture.plans]
    if len(counts) == 2 and math.prod(counts) <= _LISTED and problem.has_program:
        polytope = problem.polytope
        columns = np.zeros(polytope.size)
        for x, y in zip(*mixture.plans, strict=True):
            columns += polytope.of_plans(x, y)
        plan = MixedPlan.of_columns(polytope, columns / mixture.num_profiles, mixture.num_profiles)
        if plan.is_short:
            return plan
    return MixedProfiles(mixture.form, mixture.plans)
