"""Fictitious play: every player answers the others' average strategies."""

import time
from dataclasses import dataclass
from typing import Annotated, ClassVar

from treeplex import Profile, best_response
from treeplex.models.problems import Feature
from treeplex.seqform import About
from treeplex.solvers import Method, Outcome, Stepper, iterate
from treeplex.solvers.outcome import nearest_profile


@dataclass(frozen=True)
class FictitiousPlay(Method):
    """Fictitious play: in each iteration all players best-respond to the others' averages.

    G. W. Brown, "Iterative solution of games by fictitious play", 1951.
    """

    power: Annotated[float, About("iterate t has weight t to this power in the average", minimum=0)] = 0.0

    name: ClassVar[str] = "fictitious-play"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.PLAYERS})
    default_tolerance: ClassVar[float] = 1e-2
    default_iterations: ClassVar[int] = 100_000

    def backend(self, problem, options):
        """Run the method. treeplex then computes the certificate of the returned plans and determines the status."""
        begun = time.perf_counter()
        play = Play(problem, self.power)
        built = time.perf_counter() - begun
        run = iterate(play, options)  # limits, checks, history, progress and Ctrl-C
        return Outcome(play.plans, run.stopped, "", run.iterations, run.seconds, built, run.history)


class Play(Stepper):
    """A run of fictitious play on one problem."""

    def __init__(self, problem, power):
        self.problem, self.power = problem, power
        self.plans = list(Profile.uniform(problem.game).plans)
        self.done, self.weights = 0, 1.0

    @property
    def iterations(self):
        return self.done

    @property
    def profile(self):
        return nearest_profile(self.problem.game, self.plans)

    def step(self, iterations):
        game = self.problem.game
        for _ in range(iterations):
            average = self.profile
            answers = [best_response(game, average, player).plan for player in range(game.num_players)]
            self.done += 1
            weight = self.done**self.power
            self.weights += weight
            share = weight / self.weights
            self.plans = [plan + share * (answer - plan) for plan, answer in zip(self.plans, answers, strict=True)]

    def check(self):
        return self.problem.error(self.problem.certify(self.profile))
