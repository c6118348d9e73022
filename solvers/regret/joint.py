"""Regret minimisation for payoffs that are an operator on the plans of several players."""

import functools
from typing import Any

import numpy as np

from ...models.problems import Problem
from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError
from ...seqform.joint_form import JointPayoff
from ...seqform.limits import compiling
from ..compilation import compiled
from ..methods import RegretMethod
from ..outcome import Options, Outcome
from .first_order import PlanStepper, run_plans


class JointStepper(PlanStepper):
    """A stepper on the players' regrets at all infosets, with the operator that evaluates their sequences.

    Parameters
    ----------
    method : RegretMethod
        A method that returns averages.
    problem : Problem
        A Nash equilibrium of a game whose payoffs are a :class:`~treeplex.seqform.joint_form.JointPayoff`.
    options : Options
    """

    first_step = 1

    def __init__(self, method: RegretMethod, problem: Problem, options: Options) -> None:
        super().__init__(method, problem, options)
        assert isinstance(self.form.payoffs, JointPayoff)
        self.rule, self.payoff = method.local_rule, self.form.payoffs
        self._number = np.float64 if method.precision == "double" else np.float32
        sizes = [treeplex.num_sequences for treeplex in self.treeplexes]
        self._degrees, self._fallback = [np.ones(size) for size in sizes], [_uniform(one) for one in self.treeplexes]
        self._beta = [np.zeros(treeplex.num_infosets) for treeplex in self.treeplexes]
        self._is_conditional = True
        self._is_greedy = method.bias is not None and method.bias.greedy
        if method.bias is not None:
            preference = method.bias.on(problem.game)
            self._degrees, self._beta = list(preference.degrees), list(preference.vulnerability)
            self._fallback = [preference.fallback(one, player) for player, one in enumerate(self.treeplexes)]
            self._is_conditional = method.bias.is_conditional
        self.regrets, self.recent = ([np.zeros(size) for size in sizes] for _ in range(2))
        self.behaviour = [fallback.copy() for fallback in self._fallback]
        for player in range(len(sizes)):
            self._play(player)

    def move(self) -> None:
        """Update every player, one after the other or all at once."""
        weight = self.rule.weight(self._iterations)
        for player, plan in enumerate(self._plans):
            self._sums[player] += weight * plan
        played = list(self._plans)
        for player in range(len(played)):
            plans = played if self.method.updates == "simultaneous" else self._plans
            self._update(player, plans)
            self._play(player)

    def current_plans(self) -> list[Floats]:
        """Return the players' current plans."""
        return list(self._plans)

    def lasting(self) -> dict[str, Any]:
        """Return the regrets, the last instantaneous regrets and the behaviour."""
        return {"regrets": self.regrets, "recent": self.recent, "behaviour": self.behaviour}

    def _update(self, player: int, plans: list[Floats]) -> None:
        """Add the regrets of the behaviour against plans, and compute the next behaviour."""
        treeplex, costs = self.treeplexes[player], self._beta[player]
        values = self.payoff.gradient(player, plans, self._number)
        if self._is_conditional and costs.any():
            costs = costs * self._arrival(player, plans)
        add_regrets(
            treeplex.parents, treeplex.offsets, values, costs, self.behaviour[player], self.regrets[player],
            self.recent[player], *self.rule.discounts(self._iterations - 1), self.rule.floor,
        )  # fmt: skip
        match_regrets(
            treeplex.offsets, self.regrets[player] + self.rule.forecast(self._iterations) * self.recent[player],
            self._degrees[player], self._fallback[player], self._is_greedy, self.behaviour[player],
        )  # fmt: skip

    def _arrival(self, player: int, plans: list[Floats]) -> Floats:
        """Return the probability that chance and the others lead to each infoset with a possible cost; 0 for others."""
        treeplex, form = self.treeplexes[player], self.payoff.form
        nodes = np.flatnonzero(form.players == player)
        states = len(form.states[player])
        costly = self._beta[player].reshape(len(nodes), states).any(axis=1)
        found = np.zeros((len(nodes), states))
        found[costly] = self.payoff.arrival(player, nodes[costly].tolist(), plans)
        assert found.size == treeplex.num_infosets
        return found.ravel()

    def _play(self, player: int) -> None:
        treeplex = self.treeplexes[player]
        plan = np.ones(treeplex.num_sequences)
        make_plan(treeplex.parents, treeplex.offsets, self.behaviour[player], plan)
        self._plans[player] = plan


def _uniform(treeplex: Any) -> Floats:
    return np.append(1.0, np.repeat(1.0 / treeplex.num_actions, treeplex.num_actions))


def _add_regrets(
    parents: Any, offsets: Any, values: Any, costs: Any, behaviour: Any, regrets: Any, recent: Any,
    up: Any, down: Any, floor: Any,
) -> None:  # fmt: skip
    """Pass values up, from the lowest infosets, and add each action's gain to the discounted regrets.

    The cost of the infoset is subtracted from the gain.
    """
    for infoset in range(len(parents) - 1, -1, -1):
        first, last = offsets[infoset], offsets[infoset + 1]
        value = 0.0
        for s in range(first, last):
            value += behaviour[s] * values[s]
        for s in range(first, last):
            recent[s] = values[s] - value - costs[infoset]
            old = regrets[s]
            regrets[s] = max(old * (up if old > 0.0 else down) + recent[s], floor)
        values[parents[infoset]] += value


def _match_regrets(offsets: Any, regrets: Any, degrees: Any, fallback: Any, greedy: Any, behaviour: Any) -> None:
    """Set behaviour in proportion to δ R⁺, or to the first action with the largest δ R⁺."""
    for infoset in range(len(offsets) - 1):
        first, last = offsets[infoset], offsets[infoset + 1]
        total, best, most = 0.0, first, 0.0
        for s in range(first, last):
            behaviour[s] = degrees[s] * max(regrets[s], 0.0)
            total += behaviour[s]
            if behaviour[s] > most:
                best, most = s, behaviour[s]
        for s in range(first, last):
            if total <= 0.0:
                behaviour[s] = fallback[s]
            else:
                behaviour[s] = (1.0 if s == best else 0.0) if greedy else behaviour[s] / total


def _make_plan(parents: Any, offsets: Any, behaviour: Any, plan: Any) -> None:
    for infoset in range(len(parents)):
        for s in range(offsets[infoset], offsets[infoset + 1]):
            plan[s] = plan[parents[infoset]] * behaviour[s]


add_regrets, match_regrets, make_plan = (
    compiled(one, cache=True) for one in (_add_regrets, _match_regrets, _make_plan)
)


@functools.cache
def warm() -> None:
    """Compile the functions or load them from the cache, so that this does not count as solving time."""
    with compiling():
        two, one, numbers = np.zeros(1, np.int32), np.array([1, 2], np.int32), np.zeros(2)
        add_regrets(two, one, numbers.copy(), np.zeros(1), numbers, numbers.copy(), numbers.copy(), 1.0, 1.0, 0.0)
        match_regrets(one, numbers, numbers, numbers, False, numbers.copy())
        make_plan(two, one, numbers, numbers.copy())


def run(method: RegretMethod, problem: Problem, options: Options) -> Outcome:
    """Iterate until NashConv of the averages meets the tolerance or a limit is reached.

    Raises
    ------
    UnsupportedProblemError
        If the options request anything other than averages from a fresh start.
    """
    if method.iterate == "last" or options.start is not None or method.initial_regrets or method.precision == "half":
        raise UnsupportedProblemError(
            f"{problem.game.spec} has several players and payoffs as an operator: methods must start from scratch, "
            "without random regrets, in single or double precision, and return averages"
        )
    return run_plans(JointStepper, method, problem, options)
