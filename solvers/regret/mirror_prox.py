"""Mirror prox on treeplexes with a dilated Euclidean distance, the longest valid steps, and restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...models.problems import Problem
from ...seqform.arrays import Floats
from ...seqform.polytope import Treeplex, best_response_value
from ..outcome import Options, Outcome
from .first_order import FIRST_LOOK, PlanStepper, begins_anew, on_simplices, run_plans

if TYPE_CHECKING:
    from ..methods import MirrorProx

#: Steps grow by this factor after each iteration, and are halved until they are short enough.
LONGER = 1.2
#: The round-off in the test of a step, relative to its terms.
ROUNDING = 1e-12


def weights_of(treeplex: Treeplex) -> Floats:
    """Return the weight of squared distances at each infoset: 1 plus the largest sum of weights below an action.

    Examples
    --------
    >>> from treeplex.seqform.polytope import Treeplex
    >>> from treeplex.solvers.regret.mirror_prox import weights_of
    >>> weights_of(Treeplex([0, 1, 1], [2, 2, 2])).tolist()
    [3.0, 1.0, 1.0]
    """
    weights, below = np.ones(treeplex.num_infosets), np.zeros(treeplex.num_sequences)
    for level in reversed(treeplex.levels):
        weights[level.infosets] = 1.0 + np.maximum.reduceat(below[level.sequences], level.starts)
        level.pass_up(weights[level.infosets], below)
    return weights


def nearest(treeplex: Treeplex, weights: Floats, centre: Floats, gradient: Floats) -> Floats:
    """Return the behaviour whose plan x maximises g · x − D(x ‖ c), computed bottom-up.

    Parameters
    ----------
    treeplex : Treeplex
    weights : ndarray of float64, shape (num_infosets,)
    centre : ndarray of float64, shape (num_sequences,)
        The behaviour of c.
    gradient : ndarray of float64, shape (num_sequences,)
    """
    values, behaviour = gradient.copy(), centre.copy()
    for level in reversed(treeplex.levels):
        own, old = values[level.sequences], centre[level.sequences]
        weight = np.repeat(weights[level.infosets], level.counts)
        new = on_simplices(old + own / weight, level.starts, level.counts)
        behaviour[level.sequences] = new
        level.pass_up(np.add.reduceat(new * own - 0.5 * weight * (new - old) ** 2, level.starts), values)
    return behaviour


class MirrorProxStepper(PlanStepper):
    """A stepper on both players' behaviour, with the length of the next step to try."""

    def __init__(self, method: MirrorProx, problem: Problem, options: Options) -> None:
        super().__init__(method, problem, options)
        self.weights = [weights_of(treeplex) for treeplex in self.treeplexes]
        self.centres = [treeplex.uniform_behaviour() for treeplex in self.treeplexes]
        self._rate = np.array([1.0 / (self.form.payoff_scale or 1.0)])
        self._restarts = np.array([np.inf, np.inf, FIRST_LOOK])
        self._begun = np.zeros(1, dtype=np.int64)

    def move(self) -> None:
        """Step from the centre by its gradients, then again from there by the gradients at the first step's end."""
        first = self._gradients(
            [treeplex.plan(each) for treeplex, each in zip(self.treeplexes, self.centres, strict=True)]
        )
        while True:
            rate = float(self._rate[0])
            between = self._nearest(first, rate)
            plans = [treeplex.plan(each) for treeplex, each in zip(self.treeplexes, between, strict=True)]
            second = self._gradients(plans)
            after = self._nearest(second, rate)
            ends = [treeplex.plan(each) for treeplex, each in zip(self.treeplexes, after, strict=True)]
            terms = np.concatenate([
                rate * (new - old) * (end - plan)
                for new, old, end, plan in zip(second, first, ends, plans, strict=True)
            ])  # fmt: skip
            room = self._distance(plans, between, self.centres) + self._distance(ends, after, between)
            if terms.sum() <= room + ROUNDING * np.abs(terms).sum():
                break
            self._rate /= 2.0
        self.centres, self._plans = after, ends
        for player, plan in enumerate(plans):
            self._sums[player] += rate * plan
        self._rate *= LONGER
        if self.method.restarts and self._iterations >= self._restarts[2]:
            self._look()

    def _look(self) -> None:
        """Restart from the averages or the last iterates if the better ones have improved enough."""
        choices = [self.average(), self._plans]
        errors = [
            sum(best_response_value(*each) for each in zip(self.treeplexes, self._gradients(plans), strict=True))
            for plans in choices
        ]
        if begins_anew(self._restarts, float(min(errors)), self._iterations - int(self._begun[0]), self._iterations):
            self._plans = choices[int(np.argmin(errors))]
            self.centres = [
                treeplex.behaviour(np.maximum(plan, 0.0))
                for treeplex, plan in zip(self.treeplexes, self._plans, strict=True)
            ]
            self._sums = [np.zeros(treeplex.num_sequences) for treeplex in self.treeplexes]
            self._begun[0] = self._iterations

    def lasting(self) -> dict[str, Any]:
        """Return the centres, the step length, and the data for the next restart."""
        return {"centres": self.centres, "rate": self._rate, "restarts": self._restarts, "begun": self._begun}

    def _gradients(self, plans: list[Floats]) -> list[Floats]:
        return [self.form.gradient(player, plans) for player in (0, 1)]

    def _nearest(self, gradients: list[Floats], rate: float) -> list[Floats]:
        return [
            nearest(treeplex, weights, centre, rate * gradient)
            for treeplex, weights, centre, gradient in zip(
                self.treeplexes, self.weights, self.centres, gradients, strict=True
            )
        ]

    def _distance(self, plans: list[Floats], behaviours: list[Floats], others: list[Floats]) -> float:
        """Return the distance D of plans, with their behaviours, from other behaviours."""
        total = 0.0
        for treeplex, weights, plan, one, other in zip(
            self.treeplexes, self.weights, plans, behaviours, others, strict=True
        ):
            for level in treeplex.levels:
                squares = np.add.reduceat((one - other)[level.sequences] ** 2, level.starts)
                total += 0.5 * float((level.reach(plan) * weights[level.infosets]) @ squares)
        return total


def run(method: MirrorProx, problem: Problem, options: Options) -> Outcome:
    """Iterate until the certificate of averages, or of the last iterates, meets the tolerance or a limit is reached."""
    return run_plans(MirrorProxStepper, method, problem, options)
