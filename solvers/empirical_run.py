"""Runs of an iterative method that record its play in each iteration."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ..models.problems import EpsilonNash, Nash, Problem
from ..seqform.arrays import Floats
from ..seqform.checks import check_whole
from ..seqform.errors import InvalidOptionError, UnknownMethodError, shown
from ..seqform.evaluate import EmpiricalPlay
from ..seqform.game import Game
from .iteration import NEVER
from .methods import MCCFR, RegretMethod, RestartedCFR, find_method
from .methods.rules import Rule
from .outcome import Options

if TYPE_CHECKING:
    from .regret.driver import RegretStepper
    from .regret.joint import JointStepper
    from .sampling.sampler import SamplingStepper


class EmpiricalRun:
    """A running method, with the mixture of the profiles that it has played so far.

    Methods return each player's average separately. This class records the joint play, to which their regrets refer.

    Parameters
    ----------
    game : Game
    method : RegretMethod or MCCFR, or str
        An iterative method for Nash equilibria, or for approximate equilibria if payoffs do not have a constant sum.
    seed : int, optional
        The seed of methods that sample or start from random regrets.

    Attributes
    ----------
    play : EmpiricalPlay
        Profile t is the players' play before iteration t's updates; the first profile is the start. Its weight is
        the weight of iterate t in the method's average.
    iterations : int

    Raises
    ------
    UnknownMethodError
        If the method is not iterative.

    Notes
    -----
    With simultaneous updates and uniform averages, the gains of :attr:`play` are the players' regrets divided by the
    number of iterations. Regret matching makes these go to zero for any number of players and any payoffs. With
    alternating updates players respond partly to the next profile, and with other weights iterates count differently:
    the bound then does not apply.

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
        chosen = find_method(method) if isinstance(method, str) else method
        form, players = game.sequence_form, game.num_players
        is_posed = players == 1 or form.is_zero_sum or (players == 2 and form.constant_sum is not None)
        problem: Problem = Nash(game) if is_posed else EpsilonNash(game)
        if not isinstance(chosen, RegretMethod | MCCFR) or not problem.needs <= chosen.serves:
            raise UnknownMethodError(f"the method is {shown(method)}, expected an iterative method for Nash equilibria")
        if isinstance(chosen, RestartedCFR):
            raise UnknownMethodError(f"the method is {shown(method)}, expected a method without restarts")
        options = Options(tol=0.0, violation=0.0, max_iterations=NEVER, time_limit=0.0, seed=seed)
        self._stepper: RegretStepper | JointStepper | SamplingStepper
        if isinstance(chosen, RegretMethod):
            from .regret.driver import stepper

            self._rule, self._stepper = chosen.local_rule, stepper(chosen, problem, options)
        else:
            from .sampling.sampler import stepper as sampling_stepper

            # Only the average of the recorded play is used. The method's own average is not, and a simple one takes no
            # time.
            simple = replace(chosen, averaging="simple")
            self._rule, self._stepper = Rule(), sampling_stepper(simple, problem, options)
        self._stepper.next_check = NEVER  # certificates are not used
        self.play = EmpiricalPlay(game)
        self.iterations = 0

    @property
    def current_plans(self) -> list[Floats]:
        """The plans that the players play next, one per player."""
        return self._stepper.current_plans()

    @property
    def average_plans(self) -> list[Floats]:
        """The average plans of the method itself, one per player."""
        return self._stepper.answer()

    @property
    def weight(self) -> float:
        """The weight of the next plans in the averages."""
        return self._rule.weight(self.iterations + 1)

    def run(self, iterations: int, every: int = 1) -> None:
        """Do more iterations.

        Parameters
        ----------
        iterations : int
        every : int
            The number of iterations per recorded profile, which is the profile before the first of them. The play then
            consists of these profiles only. Recording a profile takes as long as computing best responses, much longer
            than a sampled iteration.

        Raises
        ------
        UnknownMethodError
            If a number is invalid.
        """
        check_whole(iterations, "iterations", InvalidOptionError)
        check_whole(every, "every", InvalidOptionError, "[1, inf)")
        last = self.iterations + iterations
        while self.iterations < last:
            if self.iterations % every == 0:
                self.play.add_plans(self.current_plans, self.weight)
            steps = min(every - self.iterations % every, last - self.iterations)
            self._stepper.step(steps)
            self.iterations += steps
