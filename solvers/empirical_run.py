"""Runs an iterative method and records what it plays, iteration by iteration."""

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..models.problems import Nash
from ..seqform.arrays import Floats
from ..seqform.errors import UnknownMethodError, shown
from ..seqform.evaluate import EmpiricalPlay
from ..seqform.game import Game
from .methods import CCFR, MCCFR, RegretMethod, find_method
from .outcome import Options, checked_seed


class _Stepper(Protocol):
    """A method at work: plans before the next iteration, and what they weigh in its average."""

    def plans(self) -> list[Floats]: ...
    def weight(self, iteration: int) -> float: ...
    def step(self, iterations: int) -> None: ...


class EmpiricalRun:
    """A method at work, with the mixture of the profiles that it has played so far.

    What methods return is each player's average by itself. This is for what their regrets are about: the joint play.

    Parameters
    ----------
    game : Game
    method : RegretMethod or MCCFR, or str
        An iterative one for Nash equilibria.
    seed : int, optional
        Of methods that sample, or start from random regrets.

    Attributes
    ----------
    play : EmpiricalPlay
        Profile t is what the players played before iteration t's updates, the first one the start; its weight is that
        of iterate t in the method's average.
    iterations : int

    Raises
    ------
    UnknownMethodError
        If the method is no iterative one.
    UnsupportedProblemError
        If the game is not zero-sum.

    Notes
    -----
    With simultaneous updates and uniform averages the gains of :attr:`play` are the players' regrets over the number of
    iterations, which regret matching makes go to zero in games of any number of players. With alternating updates
    players answer plans of the next profile in part, and the bound is not theirs; nor is it with weights.

    Examples
    --------
    >>> from treeplex import CFR, load_game
    >>> from treeplex.solvers import EmpiricalRun
    >>> run = EmpiricalRun(load_game("kuhn:players=3"), CFR(updates="simultaneous"))
    >>> run.run(200)
    >>> run.play.num_profiles, run.play.cce_gap < 0.03
    (200, True)
    """

    def __init__(self, game: Game, method: RegretMethod | MCCFR | str = "cfr", *, seed: int | None = None) -> None:
        chosen: Any = find_method(method) if isinstance(method, str) else method
        Nash(game)  # refuses what is no zero-sum game
        self._stepper: _Stepper
        if isinstance(chosen, RegretMethod) and not isinstance(chosen, CCFR):
            self._stepper = _Whole(game, chosen, seed)
        elif isinstance(chosen, MCCFR):
            self._stepper = _Sampled(game, chosen, seed)
        else:
            raise UnknownMethodError(f"the method is {shown(method)}, expected an iterative one for Nash equilibria")
        self.play = EmpiricalPlay(game)
        self.iterations = 0

    def run(self, iterations: int, every: int = 1) -> None:
        """Do more iterations.

        Parameters
        ----------
        iterations : int
        every : int
            Record one profile in so many iterations, before the first of them: the play is then that of those alone. A
            profile takes as long as best responses to it, much longer than an iteration that samples.

        Raises
        ------
        UnknownMethodError
            If a number makes no sense.
        """
        for name, number in (("iterations", iterations), ("every", every)):
            if isinstance(number, bool) or not isinstance(number, int) or number < (name == "every"):
                raise UnknownMethodError(f"{name} is {shown(number)}, expected a whole number")
        last = self.iterations + iterations
        while self.iterations < last:
            if self.iterations % every == 0:
                self.play.add_plans(self._stepper.plans(), self._stepper.weight(self.iterations + 1))
            steps = min(every - self.iterations % every, last - self.iterations)
            self._stepper.step(steps)
            self.iterations += steps


class _Whole:
    """A method that walks the whole game."""

    def __init__(self, game: Game, method: RegretMethod, seed: int | None) -> None:
        from .regret.driver import first_regrets, kernel_of, preferences_of, rule_of

        self._kernel = kernel_of(game.sequence_form)
        self._rule, self._power = rule_of(method), method.averaging_power
        self._alternating = method.updates == "alternating"
        preferences = preferences_of(method, game, self._kernel)
        options = Options(tol=0.0, violation=0.0, max_iterations=0, time_limit=0.0, seed=seed)
        self._state = self._kernel.initial_state(None, preferences, first_regrets(method, self._kernel, options))
        self._state.next_check = 2**62  # nobody looks at the loop's own certificates

    def plans(self) -> list[Floats]:
        layout, plan = self._kernel.layout, self._state.arrays.plan
        return [np.array(layout.to_user(player, plan)) for player in range(layout.num_players)]

    def weight(self, iteration: int) -> float:
        return float(iteration**self._power)

    def step(self, iterations: int) -> None:
        self._kernel.run(self._state, self._rule, iterations, growth=np.inf, alternating=self._alternating)


class _Sampled:
    """A method that walks samples of the game."""

    def __init__(self, game: Game, method: MCCFR, seed: int | None) -> None:
        from .sampling.driver import preference_of, rule_of, tree_for
        from .sampling.sampler import Sampler

        self._game = game
        # The average is that of the play: the sampler's own is not asked for, and simple ones take no time.
        self._rule = replace(rule_of(method, game.num_players), averaging="simple")
        self._sampler = Sampler(tree_for(game))
        self._state = self._sampler.initial_state(self._rule, checked_seed(seed), preference_of(method, game))

    def plans(self) -> list[Floats]:
        behaviours = self._sampler.policies(self._state)
        treeplexes = self._game.sequence_form.treeplexes
        return [treeplex.plan(behaviour) for treeplex, behaviour in zip(treeplexes, behaviours, strict=True)]

    def weight(self, iteration: int) -> float:
        return 1.0

    def step(self, iterations: int) -> None:
        self._sampler.run(self._state, self._rule, iterations)
