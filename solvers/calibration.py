"""Degrees and vulnerabilities with which Preference-CFR meets a target: found by feedback from its runs."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..models.constraints import LinearConstraint
from ..models.preferences import Prefer, PreferStrategy
from ..models.problems import Nash
from ..models.problems.one_player import checked_number
from ..models.problems.side import check_two_players
from ..seqform.errors import InvalidConstraintError, InvalidGameError, UnsupportedProblemError, shown
from ..seqform.game import Game
from ..seqform.polytope import Treeplex
from ..seqform.strategy import Profile, Strategy, checked_player
from .methods import PrefCFR
from .preferred_actions import preference_for
from .solution import Solution
from .solve import solve
from .status import Status
from .target_bounds import probability, read_targets, target_functionals

# The first vulnerability that is tried, in parts of the loss, and what the largest may be, in largest payoffs.
_FIRST_STEP, _LARGEST = 0.5, 4.0
# Runs without a preference get so near to the value of the game, in parts of the loss, before any with one is made.
_BASIS = 0.1
# How often runs are made twice as long where none was good, and the factor by which the vulnerability then grows.
_REFINEMENTS, _SMALL_STEP = 2, 1.1


@dataclass(frozen=True, eq=False)
class CalibrationRun:
    """One run of Preference-CFR.

    Attributes
    ----------
    degree, vulnerability : float
        δ of the preferred actions, and β; 1 and 0 without a preference.
    iterations : int
    reached : float
        What the average strategy has of the target's functional.
    missed_by : float
        By how much that misses the target.
    loss : float
        What the average strategy is proven to lose at most: an upper bound on the value of the game, by the best
        strategy of the other player that any run found, minus its worst case.
    solution : Solution
    """

    degree: float
    vulnerability: float
    iterations: int
    reached: float
    missed_by: float
    loss: float
    solution: Solution = field(repr=False)


@dataclass(frozen=True, eq=False)
class Calibration:
    """What degrees and vulnerabilities came to.

    Attributes
    ----------
    game : Game
    player : int
    target : str
    sense : {"<=", ">="}
    asked : float
    max_loss : float
    status : Status
        ``converged`` if a run met the target and is proven to lose at most `max_loss`; ``uncertified`` otherwise, for
        that no run did says nothing of other strategies.
    message : str
    best : CalibrationRun
        Of the runs that meet the target within the loss the one that loses least; if there is none, of those within the
        loss the one that misses it least.
    runs : tuple of CalibrationRun
        In the order in which they were made.
    game_value : tuple of float
        Proven bounds on the value of the game to the player.
    """

    game: Game
    player: int
    target: str
    sense: str
    asked: float
    max_loss: float
    status: Status
    message: str
    best: CalibrationRun
    runs: tuple[CalibrationRun, ...]
    game_value: tuple[float, float]

    @property
    def method(self) -> Any:
        """The method of the best run, with its degree and its vulnerability."""
        return self.best.solution.method

    @property
    def prefer(self) -> tuple[Prefer | PreferStrategy, ...]:
        """The preferences of the best run; none if it had none."""
        return tuple(getattr(self.method, "prefer", ()))

    @property
    def profile(self) -> Profile:
        """The average strategies of the best run."""
        return self.best.solution.profile

    @property
    def strategy(self) -> Strategy:
        """The player's strategy."""
        strategy: Strategy = self.profile[self.player]
        return strategy


def calibrate_style(
    game: Game,
    target: str | LinearConstraint,
    max_loss: float | Fraction | str,
    *,
    player: int = 0,
    others: Profile | Strategy | None = None,
    degree: float = 10.0,
    method: PrefCFR | None = None,
    iterations: int = 2_000,
    max_iterations: int = 100_000,
    accuracy: float = 0.005,
    max_runs: int = 40,
    progress: Callable[[CalibrationRun], None] | None = None,
) -> Calibration:
    """Find a degree and a vulnerability with which Preference-CFR meets a target within a loss.

    No linear program is solved: it is for games that are too large for one. Where they are not,
    :func:`~treeplex.reach_style` finds the least loss itself, and proves what cannot be had.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    target : str or LinearConstraint
        One bound, such as ``"top@first >= 0.5"``.
    max_loss : float, Fraction or str
        What the strategy may lose in expectation to anyone, compared with the value of the game; payoff units.
    player, others
        As for :func:`~treeplex.reach_style`.
    degree : float
        δ of the preferred actions, above 1.
    method : PrefCFR, optional
        What is run, but for its preferences and its vulnerability; by default DCFR's regrets with alternating updates
        and the rule in proportion.
    iterations : int
        Of a run; doubled until a run without a preference is within a tenth of `max_loss` of an equilibrium, and up to
        twice more where no run was good.
    max_iterations : int
        The most that a run may take.
    accuracy : float
        By how much a target may be exceeded without looking for a smaller vulnerability, in its units.
    max_runs : int
    progress : callable, optional
        Called with each run.

    Returns
    -------
    Calibration

    Raises
    ------
    InvalidConstraintError
        If the target cannot be read, is not linear or not one bound, or depends on no action.
    InvalidGameError
        If a number is none, or out of range.
    UnsupportedProblemError
        If the game is not zero-sum, or not of two players.

    Notes
    -----
    Preferred are the actions that add to the target, or for an upper bound those that do not; where these are several
    at an infoset, in the shares in which the last run within the loss played them
    (:func:`~treeplex.solvers.preferred_actions.preference_for`). A run without a preference comes first, then one with
    δ alone, and then β is raised: it doubles until the target is met or the loss is more than allowed, and is bisected
    from there. More vulnerability means more of the preferred actions and more loss, as measurements say; a theorem
    that they rise together is not known, so that what is returned is judged by what its own run reached. Runs begin
    anew: to start from the last strategies was not quicker.

    Examples
    --------
    >>> from treeplex import calibrate_style, load_game
    >>> found = calibrate_style(load_game("leduc:merge_suits=true"), "raise@first >= 0.6", 0.05)
    >>> found.status, bool(0.6 <= found.best.reached < 0.62), bool(found.best.loss < 0.05)
    (<Status.CONVERGED: 'converged'>, True, True)
    """
    if not isinstance(game, Game):
        raise InvalidGameError(f"a target needs a Game, received {shown(game)}")
    check_two_players("a style", game)
    constraints = read_targets(target, game, checked_player(game, player), others)
    if len(constraints) != 1:
        raise InvalidConstraintError(
            f"{shown(target)} is {len(constraints)} bounds: calibration is to one; reach_style takes several"
        )
    allowed = float(checked_number("a style", "max_loss", max_loss, 0.0))
    search = _Search(
        game=game,
        constraint=constraints[0],
        max_loss=allowed,
        degree=_above_one(degree),
        method=PrefCFR(base="dcfr", updates="alternating") if method is None else method,
        iterations=_count("iterations", iterations),
        max_iterations=_count("max_iterations", max_iterations),
        accuracy=float(checked_number("a style", "accuracy", accuracy, 0.0)),
        max_runs=_count("max_runs", max_runs),
        progress=progress,
    )
    if not isinstance(search.method, PrefCFR):
        raise UnsupportedProblemError(f"method is {shown(method)}, expected a PrefCFR")
    return search.run()


@dataclass
class _Search:
    """Runs on their way to a target."""

    game: Game
    constraint: LinearConstraint
    max_loss: float
    degree: float
    method: PrefCFR
    iterations: int
    max_iterations: int
    accuracy: float
    max_runs: int
    progress: Callable[[CalibrationRun], None] | None
    runs: list[CalibrationRun] = field(default_factory=list)
    lower: float = -math.inf
    upper: float = math.inf

    def run(self) -> Calibration:
        self.player = self.constraint.player
        self.functional = target_functionals([self.constraint], self.treeplex.num_sequences)[0]
        # Says now if the target depends on nothing.
        preference_for(self.game, self.constraint, self.degree, Strategy.uniform(self.game, self.player))
        self.iterations = min(self.iterations, self.max_iterations)
        self.approach()
        if not self.is_good(self.runs[-1]):
            self.raise_vulnerability()
        return self.answer()

    @property
    def treeplex(self) -> Treeplex:
        return self.game.sequence_form.treeplexes[self.player]

    def approach(self) -> None:
        """Run without a preference until the value of the game is known well enough."""
        while True:
            self.attempt(1.0, 0.0)
            near = self.upper - self.lower <= _BASIS * self.max_loss
            if near or self.iterations >= self.max_iterations or self.is_spent:
                return
            self.iterations = min(2 * self.iterations, self.max_iterations)

    def raise_vulnerability(self) -> None:
        """Prefer the actions, at a rising price, and find where the target is met or the loss is spent."""
        scale = self.game.sequence_form.payoff_scale
        self.climb(self.attempt(self.degree, 0.0), max(_FIRST_STEP * self.max_loss, 1e-4 * scale), 2.0)
        for _ in range(_REFINEMENTS):
            within = [run.vulnerability for run in self.runs if run.degree > 1.0 and run.loss <= self.max_loss]
            if any(map(self.is_good, self.runs)) or not within or self.iterations >= self.max_iterations:
                return
            # Longer runs lose less, which may be spent; from a little below, for they differ.
            self.iterations = min(2 * self.iterations, self.max_iterations)
            near = max(within) / _SMALL_STEP**2
            if not self.is_spent:
                self.climb(self.attempt(self.degree, near), _SMALL_STEP * near, _SMALL_STEP)

    def climb(self, low: CalibrationRun, beta: float, factor: float) -> None:
        """Raise the vulnerability from that of a run until it is enough or too much, and bisect from there."""
        high = None
        while not self.is_end(low) and not self.is_spent and beta <= _LARGEST * self.game.sequence_form.payoff_scale:
            tried = self.attempt(self.degree, beta)
            if self.is_end(tried):
                high = tried
                break
            low, beta = tried, factor * beta
        while high is not None and not self.is_spent and not self.is_close(low, high):
            tried = self.attempt(self.degree, (low.vulnerability + high.vulnerability) / 2.0)
            low, high = (low, tried) if self.is_end(tried) else (tried, high)

    def attempt(self, degree: float, beta: float) -> CalibrationRun:
        preferred = degree > 1.0
        method: Any = self.method.base_method
        if preferred:
            within = [run for run in self.runs if run.loss <= self.max_loss] or self.runs[:1]
            shares = within[-1].solution.profile[self.player]
            wishes = preference_for(self.game, self.constraint, self.degree, shares)
            method = replace(self.method, prefer=wishes, vulnerability=beta)
        solution = solve(Nash(self.game), method, tol=0.0, max_iterations=self.iterations)
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        worst, most = self.guarantees(solution)
        self.lower, self.upper = max(self.lower, worst), min(self.upper, most)
        strategy = solution.profile[self.player]
        if self.functional is None:
            _, known = probability(self.constraint, strategy)
            reached = math.nan if known is None else known
        else:
            reached = self.functional.value(strategy)
        found = CalibrationRun(
            degree=degree,
            vulnerability=beta,
            iterations=self.iterations,
            reached=reached,
            missed_by=max(0.0, self.constraint.value(strategy.plan)),
            loss=max(0.0, self.upper - worst),
            solution=solution,
        )
        self.runs.append(found)
        if self.progress is not None:
            self.progress(found)
        return found

    def guarantees(self, solution: Solution) -> tuple[float, float]:
        """Return the worst case of the player's strategy, and what the other's leaves it at most."""
        assert solution.lower is not None
        assert solution.upper is not None
        return (solution.lower, solution.upper) if self.player == 0 else (-solution.upper, -solution.lower)

    @property
    def is_spent(self) -> bool:
        return len(self.runs) >= self.max_runs

    def is_good(self, run: CalibrationRun) -> bool:
        return run.missed_by <= 0.0 and run.loss <= self.max_loss

    def is_end(self, run: CalibrationRun) -> bool:
        """Whether no more vulnerability is wanted."""
        return run.missed_by <= 0.0 or run.loss > self.max_loss

    def is_close(self, low: CalibrationRun, high: CalibrationRun) -> bool:
        """Whether nothing is to be gained between two vulnerabilities."""
        if high.vulnerability - low.vulnerability <= 1e-3 * high.vulnerability:
            return True
        over = -self.constraint.value(high.solution.profile[self.player].plan)
        if self.is_good(high):
            return over <= self.accuracy
        return high.missed_by > 0.0 and low.missed_by - high.missed_by <= self.accuracy

    def answer(self) -> Calibration:
        # The value of the game is known better than when the first runs were made.
        runs = [replace(run, loss=max(0.0, self.upper - self.guarantees(run.solution)[0])) for run in self.runs]
        good = [run for run in runs if self.is_good(run)]
        within = [run for run in runs if run.loss <= self.max_loss]
        if good:
            best = min(good, key=lambda run: run.loss)
        elif within:
            best = min(within, key=lambda run: (run.missed_by, run.loss))
        else:
            best = min(runs, key=lambda run: run.loss)
        strategy = best.solution.profile[self.player]
        name, had = self.constraint.name, f"{best.reached:.6g} for a loss of at most {best.loss:.6g}"
        how = f"δ = {best.degree:g} and β = {best.vulnerability:.6g} come to"
        if best.degree == 1.0:
            how = "without a preference it comes to"
        told = f"{name} is met" if good else f"{name} was not met within {self.max_loss:g}"
        return Calibration(
            game=self.game,
            player=self.player,
            target=name,
            sense=self.constraint.sense,
            asked=probability(self.constraint, strategy)[0]
            if self.functional is None
            else float(self.constraint.bound),
            max_loss=self.max_loss,
            status=Status.CONVERGED if good else Status.UNCERTIFIED,
            message=f"{told}: {how} {had}",
            best=best,
            runs=tuple(runs),
            game_value=(self.lower, self.upper),
        )


def _above_one(degree: Any) -> float:
    number = float(checked_number("a style", "degree", degree))
    if not number > 1.0:
        raise InvalidGameError(f"degree is {shown(degree)}, expected a number above 1")
    return number


def _count(name: str, number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
        raise InvalidGameError(f"{name} is {shown(number)}, expected a whole number from 1 on")
    return int(number)
