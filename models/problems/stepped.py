"""Responses that are decided step by step, with a program for each step."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.checks import check_choice, check_whole
from ...seqform.errors import InvalidGameError, UnsupportedProblemError, shown
from ...seqform.strategy import Profile, check_same_game
from ..declarations import Along, Levels, Lookahead
from ..depth_limited import (
    GADGETS,
    DecisionStep,
    ResolvingRun,
    StepAnswer,
    StepProgram,
    TrunkSolution,
    decision_steps,
    partition_roots,
    partition_steps,
)
from .certificate import Certificate, StepBounds
from .features import Feature
from .responses import ResponseProblem
from .strategy_certificate import strategy_certificate


@dataclass(frozen=True, eq=False)
class SteppedResponse(ResponseProblem):
    """Base class of responses that are decided in steps.

    No single linear program expresses the response. Each step has its own program, in which earlier decisions are
    fixed.

    Parameters
    ----------
    game : Game
        Two players, constant-sum, with histories.
    opponent : Strategy
        The model.
    game_value : float or Fraction, optional
        The responder's value of the game; :func:`~treeplex.solve` computes it if not given.
    """

    usual_method: ClassVar[str] = "lp"
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.STEPS})
    #: Whether the steps start from an equilibrium.
    needs_equilibrium: ClassVar[bool] = False

    def check_game(self) -> None:
        """Raise an error if the game has no public tree."""
        _ = self.game.public_tree

    @abstractmethod
    def start(self, equilibrium: TrunkSolution | None = None) -> ResolvingRun:
        """Return the steps, all of them still undecided."""

    def response(self, decided: Floats, equilibrium: TrunkSolution | None) -> Floats:
        """Return the response's realization plan, given the plan that the steps decided."""
        return decided

    def error(self, certificate: Certificate) -> float:
        """Return the quantity compared with the tolerance: the largest gap of a step, infinite if none is proven."""
        if certificate.steps:
            return max(step.gap for step in certificate.steps)
        return math.inf if certificate.gap is None else certificate.gap

    def dual_certificate(
        self, answers: Sequence[StepAnswer], decided: Floats, equilibrium: TrunkSolution | None = None
    ) -> dict[str, Floats]:
        """Return the input of :meth:`certify` that proves the steps: ``plan i`` and ``reply i`` of each."""
        found: dict[str, Floats] = {}
        if equilibrium is not None:
            found |= {"decided": decided, "equilibrium": equilibrium.plan, "free": equilibrium.free}
        for number, answer in enumerate(answers):
            found |= {f"plan {number}": answer.plan, f"reply {number}": answer.reply}
        return found

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        dual_certificate: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute the certificate of the response, with the bounds that each step's plan and reply prove."""
        check_same_game(profile[0], self.game)
        steps = self._proven_steps(profile[self.player].plan, dual_certificate or {})
        certificate = strategy_certificate(self, profile.plans)
        objective, upper = self._objective(certificate, steps)
        return replace(certificate, objective=objective, lower=objective, upper=upper, steps=steps)

    def _objective(self, certificate: Certificate, steps: Sequence[StepBounds]) -> tuple[float, float | None]:
        """Return the objective of the response, and a proven upper bound on it or ``None``."""
        assert certificate.opponent_value is not None
        return certificate.opponent_value, None

    def _proven_steps(self, plan: Floats, dual_certificate: Mapping[str, Floats]) -> tuple[StepBounds, ...]:
        steps = []
        for step, program, answer in self.replayed(plan, dual_certificate):
            objective = program.guaranteed(answer.plan)
            steps.append(StepBounds(step.level, objective, max(objective, program.allowed(answer.reply))))
        return tuple(steps)

    def replayed(
        self, plan: Floats, dual_certificate: Mapping[str, Floats]
    ) -> Iterator[tuple[DecisionStep, StepProgram, StepAnswer]]:
        """Yield each decided step of a response, with its program and its answer.

        Parameters
        ----------
        plan : ndarray of float64, shape (num_sequences,)
            The realization plan of the response.
        dual_certificate : mapping of str to ndarray
            As returned by :meth:`dual_certificate`. The iteration ends before the first step without a plan.
        """
        if "plan 0" not in dual_certificate:
            return
        equilibrium = None
        if "equilibrium" in dual_certificate:
            equilibrium = TrunkSolution(dual_certificate["equilibrium"], dual_certificate["free"])
        run = self.start(equilibrium)
        decided = self.view().own.behaviour(dual_certificate.get("decided", plan))
        for number, step in enumerate(run.steps):
            if f"plan {number}" not in dual_certificate:
                break
            program = run.program(number)
            # Decisions of this step and of earlier ones are taken from the response, even if the plan given differs.
            kept = program.given(step.decided) | program.given(step.settled)
            given, replied = (
                np.maximum(np.nan_to_num(dual_certificate[f"{kind} {number}"]), 0.0) for kind in ("plan", "reply")
            )
            answer = StepAnswer(
                program.own.plan(np.where(kept, decided[program.sequences], program.own.behaviour(given))),
                program.flow(program.reply.behaviour(replied)),
            )
            yield step, program, answer
            run.decide(number, program, answer)


@dataclass(frozen=True, eq=False)
class DepthLimitedResponse(SteppedResponse):
    """Base class of depth-limited responses with a lookahead.

    Parameters
    ----------
    game : Game
        Two players, constant-sum, with histories.
    opponent : Strategy
        The model.
    lookahead : int, optional
        Number of levels of the public tree that a step looks beyond its own action, at least 1.
    level : int, str, iterable of int or callable, optional
        Instead of a lookahead, where the subgames of a partition begin, as accepted by
        :func:`~treeplex.models.depth_limited.partition_roots`: a step decides in the trunk, or in subgames.
    along : {"level", "path"}
        Whether a step decides at all public states of a level, or at one, continuing only from its own path. With a
        partition, whether it decides in all subgames at the same depth of subgames, or in one.
    game_value : float or Fraction, optional
        The responder's value of the game; computed if not given.
    """

    lookahead: Lookahead = field(default=None, kw_only=True)
    level: Levels = field(default=None, kw_only=True)
    along: Along = field(default="level", kw_only=True)

    one_of: ClassVar[tuple[str, ...]] = ("lookahead", "level")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.level is None:
            if self.lookahead is None:
                raise InvalidGameError(
                    f"{self.name}: lookahead is missing, expected a whole number of at least 1, or level instead"
                )
            lookahead = check_whole(self.lookahead, f"{self.name}: lookahead", InvalidGameError, "[1, inf)")
            object.__setattr__(self, "lookahead", lookahead)
        elif self.lookahead is not None:
            raise InvalidGameError(
                f"{self.name}: lookahead is {shown(self.lookahead)} and level is {shown(self.level)}, expected one of "
                "the two"
            )
        check_choice(self.along, f"{self.name}: along", UnsupportedProblemError, ("level", "path"))

    def check_game(self) -> None:
        """Raise an error if the game lacks the levels at which subgames begin."""
        super().check_game()
        if self.level is not None:
            partition_roots(self.game.public_tree, self.level, self.name)

    @property
    def sight(self) -> str:
        """A description of how far a step looks ahead."""
        if self.level is None:
            return f"with a lookahead of {self.lookahead}"
        return "by a partition of its own" if callable(self.level) else f"by subgames from level {self.level} on"

    def start(self, equilibrium: TrunkSolution | None = None) -> ResolvingRun:
        """Return the steps of a best response, all of them still undecided."""
        return ResolvingRun(self.view(), self.opponent.plan, 1.0, self.steps, GADGETS["full"])

    def _last_bound(self, objective: float, steps: Sequence[StepBounds]) -> float | None:
        """Return an upper bound for plans that agree with all decisions before the last step; ``None`` if unproven.

        The bound is proven if steps follow levels, all of them were made, and the last one sees the other player's
        decisions to the end. That step then concerns the response itself.
        """
        if not self.steps:
            return objective
        if self.along != "level" or len(steps) != len(self.steps) or not self.steps[-1].modelled.all():
            return None
        return max(steps[-1].upper, objective)

    @cached_property
    def steps(self) -> tuple[DecisionStep, ...]:
        """The steps, each after the one that it continues."""
        public = self.game.public_tree
        if self.level is None:
            assert self.lookahead is not None
            return decision_steps(public, self.player, self.lookahead, *self._order)
        return partition_steps(public, self.player, partition_roots(public, self.level, self.name), *self._order)

    @property
    def _order(self) -> tuple[Along, bool]:
        """The order of the steps: the last arguments of :func:`decision_steps` and :func:`partition_steps`."""
        return self.along, False
