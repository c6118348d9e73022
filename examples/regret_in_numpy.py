"""Regret minimisation on treeplexes in numpy, written for readability: the algorithms of the library's compiled loops.

    python examples/regret_in_numpy.py      print the exploitability in Kuhn poker by rule and iteration

It supports trees and flow polytopes, any number of players, alternating and simultaneous updates, and preferred
actions. ``docs/theory/regret-minimisation.md`` has the equations; the tests compare every compiled rule with this file.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treeplex import Profile, SequenceForm, Strategy, Treeplex, exploitability, load_game

Floats = NDArray[np.float64]
Schedule = Callable[[int], float]  # maps the number of completed updates to a number


def always(number: float) -> Schedule:
    """Return a constant schedule."""
    return lambda updates: number


def power(exponent: float, rise: float = 0.0, horizon: int = 1000) -> Schedule:
    """Return the discounts t^p / (t^p + 1), where the exponent p changes until the horizon."""

    def discount(updates: int) -> float:
        grown = max(updates, 1) ** (exponent + rise * min(updates / horizon, 1.0))
        return grown / (grown + 1.0)

    return discount


FULLY, UNIFORMLY = always(1.0), always(0.0)


@dataclass(frozen=True)
class Rule:
    """The differences between the methods."""

    positive: Schedule = FULLY  # weight of positive regrets in the next update
    negative: Schedule = FULLY  # weight of negative regrets
    floor: float = -np.inf  # lower bound on regrets
    forecast: float = 0.0  # weight with which the last regrets are expected again
    averaging: Schedule = UNIFORMLY  # γ: plan t has weight t^γ in the average


RULES = {
    "cfr": Rule(),
    "cfr+": Rule(floor=0.0, averaging=always(1.0)),
    "dcfr": Rule(power(1.5), power(0.0), averaging=always(2.0)),
    "pcfr+": Rule(floor=0.0, forecast=1.0, averaging=always(2.0)),
    "sapcfr+": Rule(floor=0.0, forecast=1 / 3, averaging=always(2.0)),
    "pdcfr+": Rule(power(2.3), floor=0.0, forecast=1.0, averaging=always(5.0)),
    "hs-dcfr": Rule(power(1.0, 3.0), power(-1.0, -2.0), averaging=lambda t: 30.0 - 5.0 * min(t / 1000, 1.0)),
    "hs-pcfr+": Rule(floor=0.0, forecast=1.0, averaging=lambda t: 30.0 - 5.0 * min(t / 1000, 1.0)),
}


class Learner:
    """A player who minimises regret at every infoset.

    With degrees δ an action's regrets are multiplied by δ (Preference-CFR), and charges β are subtracted from them. If
    no regret is positive, the fallback is played. A greedy learner plays only the action with the largest δ R.
    """

    def __init__(
        self,
        treeplex: Treeplex,
        rule: Rule,
        degrees: Floats | None = None,
        fallback: Floats | None = None,
        greedy: bool = False,
    ) -> None:
        self.treeplex, self.rule, self.greedy = treeplex, rule, greedy
        self.inflow = treeplex.inflow.toarray()  # sequences that lead to each infoset; one in a tree
        self.degrees = np.ones(treeplex.num_sequences) if degrees is None else degrees
        self.fallback = treeplex.uniform_behaviour() if fallback is None else fallback
        self.behaviour = self.fallback.copy()
        self.regrets, self.sums = np.zeros(treeplex.num_sequences), np.zeros(treeplex.num_sequences)
        self.updates = self.averaged = 0

    def plan(self) -> Floats:
        """Return the realization plan of the behaviour: x(I, a) = b(I, a) times the inflow of I."""
        plan = np.zeros(self.treeplex.num_sequences)
        plan[0] = 1.0
        for infoset, inflow in enumerate(self.inflow):
            own = self.sequences(infoset)
            plan[own] = (inflow @ plan) * self.behaviour[own]
        return plan

    def learn(self, gradient: Floats, charges: Sequence[float] | None = None) -> None:
        """Update with the payoff gradient at the others' plans, from the last infosets up to the first."""
        rule, values = self.rule, gradient.copy()
        positive, negative = rule.positive(self.updates), rule.negative(self.updates)
        self.updates += 1
        for infoset in reversed(range(self.treeplex.num_infosets)):
            own = self.sequences(infoset)
            value = self.behaviour[own] @ values[own]
            instantaneous = values[own] - value - (0.0 if charges is None else charges[infoset])
            kept = self.regrets[own] * np.where(self.regrets[own] > 0.0, positive, negative)
            self.regrets[own] = np.maximum(kept + instantaneous, rule.floor)
            self.behaviour[own] = self.match(own, instantaneous)
            values += self.inflow[infoset] * value

    def match(self, own: slice, instantaneous: Floats) -> Floats:
        """Return the next behaviour at an infoset, in proportion to its forecast regrets if any is positive."""
        expected = self.rule.positive(self.updates) * self.regrets[own] + self.rule.forecast * instantaneous
        weights = self.degrees[own] * np.maximum(expected, 0.0)
        if not weights.any():
            return self.fallback[own]
        return np.eye(len(weights))[weights.argmax()] if self.greedy else weights / weights.sum()

    def add(self, plan: Floats) -> None:
        """Add a plan to the average: the sums decay by (t / (t + 1))^γ, so plan t has weight t^γ."""
        self.sums *= (self.averaged / (self.averaged + 1)) ** self.rule.averaging(self.averaged)
        self.sums += plan
        self.averaged += 1

    def average(self) -> Floats:
        """Return the average plan."""
        return self.sums / self.sums[0]

    def sequences(self, infoset: int) -> slice:
        """Return the sequences of an infoset's actions."""
        return slice(self.treeplex.offsets[infoset], self.treeplex.offsets[infoset + 1])


def gradient(form: SequenceForm, player: int, plans: Sequence[Floats]) -> Floats:
    """Return the payoff of each of a player's sequences against the others' plans."""
    if form.num_players == 2:
        matrix = form.payoff_matrix(player)
        return np.asarray(matrix @ plans[1] if player == 0 else matrix.T @ plans[0])
    leaves = form.leaves
    reach = leaves.chance * leaves.payoffs[:, player]
    for other in set(range(form.num_players)) - {player}:
        reach = reach * plans[other][leaves.sequences[:, other]]
    return np.bincount(leaves.sequences[:, player], weights=reach, minlength=len(plans[player]))


def play(form: SequenceForm, learners: Sequence[Learner], alternating: bool = True) -> Iterator[list[Floats]]:
    """Update all players once per iteration, forever, and yield the average plans.

    With alternating updates a player sees this iteration's plans of the players before it.
    """
    while True:
        plans = [learner.plan() for learner in learners]
        for player, learner in enumerate(learners):
            learner.add(plans[player])
            seen = [each.plan() for each in learners] if alternating else plans
            learner.learn(gradient(form, player, seen))
        yield [learner.average() for learner in learners]


if __name__ == "__main__":
    game = load_game("kuhn")
    form = game.sequence_form
    for name, rule in RULES.items():
        averages = play(form, [Learner(treeplex, rule) for treeplex in form.treeplexes])
        errors = []
        for iteration in range(1, 101):
            plans = next(averages)
            if iteration in (10, 100):
                profile = Profile([Strategy.from_plan(game, player, plan) for player, plan in enumerate(plans)])
                errors.append(f"{exploitability(game, profile):.1e}")
        print(f"{name:8}", *errors, sep="   ")
