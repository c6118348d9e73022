"""Smooth regret matching+: regrets kept away from zero, with predictive or extragradient steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...models.problems import Problem
from ...seqform.arrays import Floats
from ...seqform.polytope import Treeplex
from ...seqform.sequence_form import SequenceForm
from ..outcome import Options, Outcome
from .first_order import PlanStepper, on_simplices, run_plans

if TYPE_CHECKING:
    from ..methods import SmoothCFRPlus

#: Regrets restart when their movement has fallen to this number, and then each time to half of that.
FIRST_RESIDUAL = 8.0


def kept_away(treeplex: Treeplex, regrets: Floats) -> Floats:
    """Return the point nearest to regrets that is non-negative and sums to at least 1 at every infoset.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.seqform.polytope import Treeplex
    >>> from treeplex.solvers.regret.smooth import kept_away
    >>> kept_away(Treeplex([0, 0], [2, 2]), np.array([0.0, 0.5, -0.5, 3.0, -1.0])).tolist()
    [0.0, 1.0, 0.0, 3.0, 0.0]
    """
    found = np.maximum(regrets, 0.0)
    for level in treeplex.levels:
        own = regrets[level.sequences]
        short = np.add.reduceat(found[level.sequences], level.starts) < 1.0
        if short.any():
            found[level.sequences] = np.where(
                np.repeat(short, level.counts), on_simplices(own, level.starts, level.counts), found[level.sequences]
            )
    return found


def lipschitz(form: SequenceForm) -> float:
    """Return √6 ‖A‖₂ √d, with d the largest number of actions of an infoset: a Lipschitz constant on matrix games.

    ‖A‖₂ is the result of forty steps of the power method.

    Examples
    --------
    >>> from treeplex.seqform import SequenceForm
    >>> from treeplex.solvers.regret.smooth import lipschitz
    >>> round(lipschitz(SequenceForm.from_payoff_matrix([[2.0, 0.0], [0.0, 1.0]])) / 6**0.5 / 2**0.5, 6)
    2.0
    """
    vectors = [np.random.default_rng(0).random(treeplex.num_sequences) for treeplex in form.treeplexes]
    norm = 0.0
    for _ in range(40):
        for player in (0, 1):
            image = form.gradient(player, vectors)
            norm = float(np.linalg.norm(image))
            vectors[player] = image / norm if norm > 0.0 else image
    return float(np.sqrt(6.0 * max(treeplex.num_actions.max(initial=1) for treeplex in form.treeplexes)) * norm)


class SmoothStepper(PlanStepper):
    """A stepper on the players' regrets, with two gradients per iteration for extragradient steps, otherwise one.

    Parameters
    ----------
    method : SmoothCFRPlus
    problem : Problem
        An equilibrium of a two-player zero-sum game.
    options : Options
    """

    def __init__(self, method: SmoothCFRPlus, problem: Problem, options: Options) -> None:
        super().__init__(method, problem, options)
        self._rate = method.step / (lipschitz(self.form) or 1.0)
        self.regrets = [treeplex.uniform_behaviour() for treeplex in self.treeplexes]
        self._forecast = [np.zeros(treeplex.num_sequences) for treeplex in self.treeplexes]
        self._residual = np.array([FIRST_RESIDUAL])

    def move(self) -> None:
        """Update both players' regrets twice."""
        if self.method.gradients == "extragradient":
            self._forecast = self._gains(self.regrets)
        between = self._moved(self._forecast)
        self._forecast = self._gains(between)
        after = self._moved(self._forecast)
        self._plans = [self._plan(player, each) for player, each in enumerate(between)]
        for player, plan in enumerate(self._plans):
            self._sums[player] += plan
        moved = _distance(after, between) + _distance(self.regrets, between)
        self.regrets = after
        if self.method.restarts and moved <= self._residual[0]:
            self.regrets = [self._behaviour(player, each) for player, each in enumerate(after)]
            self._forecast = self._gains(self.regrets)
            self._residual /= 2.0

    def lasting(self) -> dict[str, Any]:
        """Return regrets, forecasts, and the length of a step at the last restart."""
        return {"regrets": self.regrets, "forecast": self._forecast, "residual": self._residual}

    def _behaviour(self, player: int, regrets: Floats) -> Floats:
        behaviour = regrets.copy()
        for level in self.treeplexes[player].levels:
            own = regrets[level.sequences]
            behaviour[level.sequences] = own / np.repeat(np.add.reduceat(own, level.starts), level.counts)
        return behaviour

    def _plan(self, player: int, regrets: Floats) -> Floats:
        return self.treeplexes[player].plan(self._behaviour(player, regrets))

    def _gains(self, regrets: list[Floats]) -> list[Floats]:
        """Return the instantaneous regrets: each action's gain at its infoset against both players' behaviour."""
        behaviours = [self._behaviour(player, each) for player, each in enumerate(regrets)]
        plans = [treeplex.plan(each) for treeplex, each in zip(self.treeplexes, behaviours, strict=True)]
        found = []
        for player, (treeplex, behaviour) in enumerate(zip(self.treeplexes, behaviours, strict=True)):
            values = self.form.gradient(player, plans)
            gains = np.zeros(treeplex.num_sequences)
            for level in reversed(treeplex.levels):
                own = values[level.sequences]
                played = np.add.reduceat(own * behaviour[level.sequences], level.starts)
                gains[level.sequences] = own - np.repeat(played, level.counts)
                level.pass_up(played, values)
            found.append(gains)
        return found

    def _moved(self, gains: list[Floats]) -> list[Floats]:
        return [
            kept_away(treeplex, own + self._rate * each)
            for treeplex, own, each in zip(self.treeplexes, self.regrets, gains, strict=True)
        ]


def _distance(first: list[Floats], second: list[Floats]) -> float:
    return float(np.sqrt(sum(((one - other) ** 2).sum() for one, other in zip(first, second, strict=True))))


def run(method: SmoothCFRPlus, problem: Problem, options: Options) -> Outcome:
    """Iterate until the certificate of the last iterates, or of averages, meets the tolerance or a limit is reached."""
    return run_plans(SmoothStepper, method, problem, options)
