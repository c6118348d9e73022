"""Calibration of the vulnerabilities with which Preference-CFR meets targets, by feedback from its runs."""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from os import PathLike
from typing import Any, TypedDict, Unpack

from ...models.constraints import LinearConstraint
from ...models.preferences import Prefer, PreferStrategy
from ...models.problems import EpsilonNash, Nash
from ...models.saddle import zero_sum_of
from ...seqform.checks import check_exact_number, check_type, check_whole
from ...seqform.errors import (
    InvalidConstraintError,
    InvalidGameError,
    TimeLimitError,
    UnsupportedProblemError,
    shown,
)
from ...seqform.game import Game
from ...seqform.joint_form import JointPayoff
from ...seqform.limits import seconds_left, settling, time_limited
from ...seqform.sheet import setting, several, short
from ...seqform.strategy import Profile, Strategy, checked_player
from ..checkpoint import Checkpoint, asked_of, digest
from ..dispatch import check_options
from ..methods import PrefCFR
from ..outcome import Status
from ..solution import Solution
from ..solve import solve_part
from .answer import Target, TargetOutcome
from .preferences import preferences_for
from .tails import TailTarget, read_styles, strategies_of

# The first vulnerability, as a fraction of the loss, and the largest, in units of the largest payoff.
_FIRST_STEP, _LARGEST = 0.5, 4.0
# The accuracy of runs without a preference, as a fraction of the loss, before the first run with one.
_BASIS = 0.1
# The number of doublings of the run length if no run is good, and the factor for the vulnerability then.
_REFINEMENTS, _SMALL_STEP = 2, 1.1
# The fraction of the loss that is not worth another run.
_NO_GAIN = 0.02
# The limits of a search in games where an iteration multiplies millions of numbers: a quarter of a second each before
# the flop with three players, in single precision.
_LONG = {"iterations": 64, "max_iterations": 128, "accuracy": 0.02, "max_runs": 8}


@dataclass(frozen=True, eq=False)
class CalibrationRun:
    """One run of Preference-CFR.

    Attributes
    ----------
    degree : float
        δ of the preferred actions; 1 without a preference.
    vulnerabilities : tuple of float
        β for each target.
    iterations : int
    reached : tuple of float
        The value of each target's functional for the average strategy.
    missed_by : tuple of float
        The violation of each target.
    loss : float
        A proven bound on the loss of the average strategy: an upper bound on the value of the game, from the best
        strategy of the other player in any run, minus its worst case. A game with more players, or payoffs without
        a constant sum, has no value; then it is ε, the largest gain of any player from a best response to the
        others' average strategies.
    solution : Solution
    """

    degree: float
    vulnerabilities: tuple[float, ...]
    iterations: int
    reached: tuple[float, ...]
    missed_by: tuple[float, ...]
    loss: float
    solution: Solution = field(repr=False)

    @property
    def is_met(self) -> bool:
        """Whether all targets are met."""
        return not any(self.missed_by)

    def to_dict(self) -> dict[str, Any]:
        """Return the run in the JSON form of ``treeplex style``."""
        return {
            "degree": self.degree,
            "vulnerabilities": list(self.vulnerabilities),
            "iterations": self.iterations,
            "reached": list(self.reached),
            "loss": self.loss,
        }


@dataclass(frozen=True, eq=False)
class Calibration:
    """The result of a calibration.

    Attributes
    ----------
    game : Game
    player : int
    targets : tuple of TargetOutcome
        The outcome of each target in the best run; its feasible range and price are not known.
    max_loss : float
    status : Status
        ``converged`` if a run met all targets and is proven to lose at most `max_loss`, otherwise ``uncertified``:
        other strategies may still meet them.
    message : str
    best : CalibrationRun
        The run with the least loss among those that meet the targets within the loss. If there is none, the run
        within the loss with the least sum of violations.
    runs : tuple of CalibrationRun
        All runs, in order.
    game_value : tuple of float or None
        Proven bounds on the value of the game to the player; ``None`` in a game without one.
    """

    game: Game
    player: int
    targets: tuple[TargetOutcome, ...]
    max_loss: float
    status: Status
    message: str
    best: CalibrationRun
    runs: tuple[CalibrationRun, ...]
    game_value: tuple[float, float] | None

    @property
    def method(self) -> Any:
        """The method of the best run, with the vulnerability of a single target; for several, see `prefer`."""
        return self.best.solution.method

    @property
    def prefer(self) -> tuple[Prefer | PreferStrategy, ...]:
        """The preferences of the best run; empty if it had none."""
        return tuple(self.method.prefer) if self.best.degree > 1.0 else ()

    @property
    def profile(self) -> Profile:
        """The average strategies of the best run."""
        return self.best.solution.profile

    @property
    def strategy(self) -> Strategy:
        """The player's strategy."""
        return self.profile[self.player]

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration in the JSON form of ``treeplex style --method pref-cfr``."""
        best = self.best
        preference = {
            "prefer": [str(one) for one in self.prefer],
            "degree": best.degree,
            "vulnerabilities": list(best.vulnerabilities),
            "iterations": best.iterations,
        }
        if self.prefer:
            preference |= {
                name: getattr(self.method, name) for name in ("units", "rule", "base", "updates", "precision")
            }
        return {
            "player": self.player,
            "max_loss": self.max_loss,
            "status": str(self.status),
            "message": self.message,
            "feasible": True if self.status.is_success else None,
            **self._values(),
            "targets": [target.to_dict() for target in self.targets],
            "violation": max(best.missed_by),
            "violations": {target.name: target.missed_by for target in self.targets},
            "multipliers": {},
            "preference": preference,
            "runs": [run.to_dict() for run in self.runs],
            "iterations": sum(run.iterations for run in self.runs),
        }

    def _values(self) -> dict[str, Any]:
        """Return the value and loss of the strategy or, in a game without a value, all payoffs of the profile."""
        best = self.best
        if self.game_value is None:
            certificate, paid = best.solution.certificate, best.solution.values
            assert certificate.regrets is not None
            assert paid is not None
            return {
                "exploitability": certificate.exploitability,
                "epsilon": best.loss,
                "regrets": list(certificate.regrets),
                "value": list(paid),
                "game_value": None,
            }
        lower, upper = self.game_value
        worst = upper - best.loss
        return {
            "exploitability": best.loss,
            "value": worst if self.player == 0 else best.solution.problem.game.constant - worst,
            "game_value": (lower + upper) / 2.0,
        }


class _Effort(TypedDict, total=False):
    """The options of :func:`calibrate_style` that limit its search."""

    iterations: int
    max_iterations: int
    accuracy: float
    max_runs: int


@dataclass(frozen=True)
class _Limits:
    """The limits of a search; see :func:`calibrate_style`."""

    iterations: int = 2_000
    max_iterations: int = 100_000
    accuracy: float = 0.005
    max_runs: int = 40

    @classmethod
    def of(cls, effort: _Effort, *, is_long: bool) -> "_Limits":
        """Return the checked options, with defaults for omitted ones."""
        for name in effort.keys() - {one.name for one in fields(cls)}:
            raise TypeError(f"calibrate_style() got an unexpected keyword argument {name!r}")
        asked = cls(**({**_LONG, **effort} if is_long else effort))
        return cls(
            check_whole(asked.iterations, "iterations", InvalidGameError, "[1, inf)"),
            check_whole(asked.max_iterations, "max_iterations", InvalidGameError, "[1, inf)"),
            float(check_exact_number(asked.accuracy, "accuracy", InvalidGameError, "[0, inf)")),
            check_whole(asked.max_runs, "max_runs", InvalidGameError, "[1, inf)"),
        )


def calibrate_style(
    game: Game,
    targets: str | LinearConstraint | Iterable[str | LinearConstraint],
    max_loss: float | Fraction | str,
    *,
    player: int = 0,
    others: Profile | Strategy | None = None,
    degree: float = 10.0,
    method: PrefCFR | None = None,
    progress: Callable[[CalibrationRun], None] | None = None,
    checkpoint: Checkpoint | str | PathLike[str] | None = None,
    time_limit: float | None = None,
    **effort: Unpack[_Effort],
) -> Calibration:
    """Find vulnerabilities with which Preference-CFR meets targets within a loss.

    No linear program is solved, because the function is for games that are too large for one. For smaller games,
    :func:`~treeplex.reach_style` computes the least loss itself, and proves infeasibility.

    Parameters
    ----------
    game : Game
        A game of at least two players.
    targets : str or LinearConstraint, or several of them
        Bounds on one player's actions, such as ``"top@first >= 0.5"``, or on the mean of its worst payoffs, such as
        ``"cvar@0.1 >= -2"``. Equations are not targets: give both bounds.
    max_loss : float, Fraction or str
        The allowed expected loss of the strategy to any opponent, relative to the value of the game, in payoff
        units. A game with more players, or payoffs without a constant sum, has no value; then it is ε, the allowed
        gain of any player from a best response to the others' strategies.
    player : int
        The player whose actions count if a string names no seat.
    others : Profile or Strategy, optional
        The others' strategies for counting actions, by default uniform; and for the payoff of ``cvar``, by default
        the average strategies of the runs without a preference.
    degree : float
        δ of the preferred actions, above 1.
    method : PrefCFR, optional
        The method of the runs, except for its preferences and its vulnerability. The default has DCFR's regrets,
        alternating updates and the rule ``rm``.
    progress : callable, optional
        Called with each run.
    checkpoint : Checkpoint or path-like, optional
        As for :func:`~treeplex.solve`.
    time_limit : float, optional
        Seconds; the answer is the best of the runs that ended by then.
    iterations : int
        The length of a run, by default 2,000. It is doubled until a run without a preference is within a tenth of
        `max_loss` of an equilibrium, and up to twice more if no run is good.
    max_iterations : int
        The largest length of a run, by default 100,000.
    accuracy : float
        The amount by which a target may be exceeded before a smaller vulnerability is tried, in its units; by
        default 0.005.
    max_runs : int
        The largest number of runs, by default 40.

    Returns
    -------
    Calibration

    Raises
    ------
    InvalidConstraintError
        If a target cannot be parsed, is not linear, is an equation, or does not depend on an action.
    InvalidGameError
        If a number is invalid or out of range.
    CheckpointError
        If the checkpoint is damaged, belongs to another calibration, cannot be resumed, or cannot be written.
    TimeLimitError
        If no run ended within `time_limit`.
    UnsupportedProblemError
        If the game has one player, or has no table of leaves but ``cvar`` needs one.

    Notes
    -----
    The preferred actions are those that increase a target's functional or, for an upper bound, those that do not.
    Several such actions at an infoset are preferred in the proportions of the last run within the loss
    (:func:`~treeplex.solvers.style.preferences.preferences_for`). The first run has no preference, the second only δ.
    Then each target's β is raised: it doubles until the target is met or the loss is too large, and is then bisected,
    for all targets at once. If other targets make a target fail again, its β is raised again. For ``cvar`` the actions
    are those of its gradient at the last run within the loss: the actions after which payoffs fall short of that run's
    value at risk least. The reached value is computed from the distribution of the payoff. In measurements, more
    vulnerability means more of the preferred actions and more loss, but no theorem states this. So each returned value
    comes from its own run. Runs start from scratch: starting from the last strategies was not faster.

    Where payoffs of several players are an operator, as in ``three_handed``, an iteration takes a long time. By
    default, runs then have 64 iterations in single precision, and 128 at most, there are at most 8, and `accuracy` is
    0.02.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers import calibrate_style
    >>> found = calibrate_style(load_game("leduc:merge_suits=true"), "raise@first >= 0.6", 0.05)
    >>> found.status, bool(0.6 <= found.targets[0].reached < 0.62), bool(found.best.loss < 0.05)
    (<Status.CONVERGED: 'converged'>, True, True)
    """
    if not isinstance(game, Game):
        raise InvalidGameError(f"a target needs a Game, received {shown(game)}")
    read, tails = read_styles(targets, game, checked_player(game, player), others)
    _check_no_equations(read)
    has_value = game.num_players == 2 and game.constant is not None
    is_long = isinstance(game.sequence_form.payoffs, JointPayoff)
    if method is None:
        method = PrefCFR(base="dcfr", updates="alternating", precision="single" if is_long else "double")
    limits = _Limits.of(effort, is_long=is_long)
    seconds = check_options(time_limit=time_limit)
    search = _Search(
        given=game,
        game=zero_sum_of("a style", game) if has_value else EpsilonNash(game).game,
        has_value=has_value,
        targets=(*read, *tails),
        others=strategies_of(others, game),
        max_loss=float(check_exact_number(max_loss, "max_loss", InvalidGameError, "[0, inf)")),
        degree=float(check_exact_number(degree, "degree", InvalidGameError, "(1, inf)")),
        method=check_type(method, "method", UnsupportedProblemError, PrefCFR),
        limits=limits,
        iterations=limits.iterations,
        progress=progress,
    )
    if checkpoint is None:
        with time_limited(seconds):
            return search.run()
    asked = (
        *(read, [(one.name, one.level, one.sense, one.asked) for one in tails], search.max_loss, search.degree),
        *(limits.iterations, limits.max_iterations, limits.accuracy, limits.max_runs),
    )
    problem = Nash(game) if has_value else EpsilonNash(game)
    named = asked_of(problem, search.method, calibration=digest(asked))
    with time_limited(seconds), Checkpoint.of(checkpoint).kept(named) as keeper:
        keeper.keeps_loops = False  # finished runs need only their strategies
        return replace(search, keeper=keeper).run()


@dataclass
class _Search:
    """A search by repeated runs; until it ends, payoffs are those of the zero-sum game."""

    given: Game
    game: Game
    has_value: bool
    targets: tuple[Target | TailTarget, ...]
    others: list[Strategy] | None
    max_loss: float
    degree: float
    method: PrefCFR
    limits: _Limits
    iterations: int
    progress: Callable[[CalibrationRun], None] | None
    keeper: Any = None
    runs: list[CalibrationRun] = field(default_factory=list)
    lower: float = -math.inf
    upper: float = math.inf
    ended: Status | None = None

    def run(self) -> Calibration:
        self.player = self.targets[0].player
        # Raises an error now if a target does not depend on an action.
        linear = [target.constraint for target in self.targets if isinstance(target, Target)]
        preferences_for(self.game, linear, self.degree, Strategy.uniform(self.game, self.player))
        self.iterations = min(self.iterations, self.limits.max_iterations)
        with settling() as answer:
            try:
                self.approach()
                if not self.is_good(self.runs[-1]):
                    self.raise_vulnerability()
                answer.known()
            except (KeyboardInterrupt, TimeLimitError):
                answer.known()
                if not self.runs:
                    raise
                self.ended = Status.INTERRUPTED if seconds_left() else Status.TIME_LIMIT
            return self.answer()

    def approach(self) -> None:
        """Run without a preference until the value of the game is accurate enough."""
        while True:
            found = self.attempt(1.0, self.nothing)
            near = (self.upper - self.lower if self.has_value else found.loss) <= _BASIS * self.max_loss
            if near or self.iterations >= self.limits.max_iterations or self.is_spent:
                return
            self.iterations = min(2 * self.iterations, self.limits.max_iterations)

    @property
    def nothing(self) -> tuple[float, ...]:
        return (0.0,) * len(self.targets)

    @property
    def first_step(self) -> float:
        """The first vulnerability that is tried."""
        return max(_FIRST_STEP * self.max_loss, 1e-4 * self.game.sequence_form.payoff_scale)

    def raise_vulnerability(self) -> None:
        """Raise the vulnerability until the targets are met or the loss is used up."""
        if not self.is_spent:
            self.climb(self.attempt(self.degree, self.nothing), 2.0)
        for _ in range(_REFINEMENTS):
            if any(map(self.is_good, self.runs)) or self.is_spent or self.iterations >= self.limits.max_iterations:
                return
            within = [run.vulnerabilities for run in self.runs if run.degree > 1.0 and run.loss <= self.max_loss]
            # Longer runs lose less, so the vulnerability may grow; start slightly below, because runs differ.
            self.iterations = min(2 * self.iterations, self.limits.max_iterations)
            near = tuple(beta / _SMALL_STEP**2 for beta in max(within, key=sum, default=self.nothing))
            self.climb(self.attempt(self.degree, near), _SMALL_STEP if within else 2.0)

    def climb(self, run: CalibrationRun, factor: float) -> None:
        """Raise targets' vulnerabilities from those of a run until they suffice or are too large; then bisect."""
        if self.is_good(run) or run.loss > self.max_loss:
            return
        places = range(len(self.targets))
        lows, highs = [run for _ in places], [run if self.is_enough(run, place) else None for place in places]
        factors, good = [factor for _ in places], math.inf
        most, before = _LARGEST * self.game.sequence_form.payoff_scale, {run.vulnerabilities}
        while not self.is_spent:
            tried = tuple(self.next(lows[place], highs[place], place, factors[place]) for place in places)
            if tried in before or max(tried) > most:
                return
            before.add(tried)
            run = self.attempt(self.degree, tried)
            if self.is_good(run):
                if run.loss >= good - _NO_GAIN * self.max_loss:
                    return
                good = run.loss
            for place in places:
                if self.is_enough(run, place):
                    highs[place] = run
                else:
                    # A sufficient vulnerability may no longer suffice after another target's has grown.
                    known = highs[place]
                    if known is not None and known.vulnerabilities[place] <= tried[place]:
                        highs[place], factors[place] = None, _SMALL_STEP
                    lows[place] = run

    def next(self, low: CalibrationRun, high: CalibrationRun | None, place: int, factor: float) -> float:
        """Return the next vulnerability for a target."""
        beta = low.vulnerabilities[place]
        if high is None:
            return factor * beta or self.first_step
        most = high.vulnerabilities[place]
        return most if self.is_close(low, high, place) else (beta + most) / 2.0

    def attempt(self, degree: float, vulnerabilities: tuple[float, ...]) -> CalibrationRun:
        method: Any = replace(self.method.base_method, precision=self.method.precision)
        if degree > 1.0:
            within = [run for run in self.runs if run.loss <= self.max_loss] or self.runs[:1]
            shares = within[-1].solution.profile[self.player]
            # For a single target β is an option of the method, which users can type.
            alone = len(vulnerabilities) == 1
            asked = [each.leaning(shares) if isinstance(each, TailTarget) else each.constraint for each in self.targets]
            prefer = preferences_for(self.game, asked, self.degree, shares, None if alone else vulnerabilities)
            method = replace(self.method, prefer=prefer, vulnerability=vulnerabilities[0] if alone else 0.0)
        limits: Any = {"tol": 0.0, "max_iterations": self.iterations, "checkpoint": self.keeper}
        solution = solve_part(Nash(self.game) if self.has_value else EpsilonNash(self.game), method, **limits)
        if self.has_value:
            worst, most = self.guarantees(solution)
            self.lower, self.upper = max(self.lower, worst), min(self.upper, most)
        if degree == 1.0:
            against = self.others or list(solution.profile)
            self.targets = tuple(
                each.against(against) if isinstance(each, TailTarget) else each for each in self.targets
            )
        outcomes = self.outcomes(solution)
        found = CalibrationRun(
            degree=degree,
            vulnerabilities=vulnerabilities,
            iterations=self.iterations,
            reached=tuple(math.nan if one.reached is None else one.reached for one in outcomes),
            missed_by=tuple(one.missed_by for one in outcomes),
            loss=self.loss(solution),
            solution=solution,
        )
        self.runs.append(found)
        if self.progress is not None:
            self.progress(found)
        return found

    def outcomes(self, solution: Solution) -> tuple[TargetOutcome, ...]:
        """Return the outcomes of the targets in a run; feasible ranges are not known."""
        strategy = solution.profile[self.player]
        return tuple(target.outcome(strategy) for target in self.targets)

    def loss(self, solution: Solution) -> float:
        """Return the currently known bound on the loss of a run's strategies."""
        if self.has_value:
            return max(0.0, self.upper - self.guarantees(solution)[0])
        epsilon = solution.certificate.epsilon
        assert epsilon is not None
        return max(0.0, epsilon)

    def guarantees(self, solution: Solution) -> tuple[float, float]:
        """Return the worst case of the player's strategy, and the player's best payoff against the other's strategy."""
        assert solution.lower is not None
        assert solution.upper is not None
        return (solution.lower, solution.upper) if self.player == 0 else (-solution.upper, -solution.lower)

    @property
    def is_spent(self) -> bool:
        return len(self.runs) >= self.limits.max_runs

    def is_good(self, run: CalibrationRun) -> bool:
        return run.is_met and run.loss <= self.max_loss

    def is_enough(self, run: CalibrationRun, place: int) -> bool:
        """Whether a target needs no more vulnerability."""
        return run.missed_by[place] <= 0.0 or run.loss > self.max_loss

    def is_close(self, low: CalibrationRun, high: CalibrationRun, place: int) -> bool:
        """Whether two vulnerabilities of a target are close enough."""
        least, most = low.vulnerabilities[place], high.vulnerabilities[place]
        if most - least <= 1e-3 * max(most, self.first_step):
            return True
        over = self.targets[place].excess(high.solution.profile[self.player].plan)
        if high.loss <= self.max_loss:
            return over <= self.limits.accuracy
        missed = high.missed_by[place]
        return missed > 0.0 and low.missed_by[place] - missed <= self.limits.accuracy

    def judged(self, run: CalibrationRun) -> CalibrationRun:
        """Return a run with its final loss and reached values, computed from the final bounds and opponents."""
        outcomes = self.outcomes(run.solution)
        reached = tuple(math.nan if one.reached is None else one.reached for one in outcomes)
        missed = tuple(one.missed_by for one in outcomes)
        return replace(run, loss=self.loss(run.solution), reached=reached, missed_by=missed)

    def answer(self) -> Calibration:
        # The value of the game is more accurate now than at the first runs.
        runs = [self.judged(run) for run in self.runs]
        good = [run for run in runs if self.is_good(run)]
        within = [run for run in runs if run.loss <= self.max_loss]
        if good:
            best = min(good, key=lambda run: run.loss)
        elif within:
            best = min(within, key=lambda run: (sum(run.missed_by), run.loss))
        else:
            best = min(runs, key=lambda run: run.loss)
        names = ", ".join(target.name for target in self.targets)
        betas = several(short)(best.vulnerabilities)
        price = "for a loss of at most" if self.has_value else "with ε ="
        had = f"{several(short)(best.reached)} {price} {short(best.loss)}"
        how = f"δ = {setting(best.degree)} and β = {betas} achieve"
        if best.degree == 1.0:
            how = "without a preference, the strategy achieves"
        is_, was = ("is", "was") if len(self.targets) == 1 else ("are", "were")
        if good:
            told = f"{names} {is_} met"
        elif best.is_met:
            told = f"{names} {is_} met, but no run is proven to lose at most {self.max_loss:g}"
        else:
            told = f"{names} {was} not met within {self.max_loss:g}"
        status = Status.CONVERGED if good else Status.UNCERTIFIED
        if self.ended and not good:
            at = "by the user" if self.ended is Status.INTERRUPTED else "at the time limit"
            status, told = self.ended, f"stopped {at} after {len(runs)} run{'s'[: len(runs) - 1]}; so far {told}"
        return Calibration(
            game=self.given,
            player=self.player,
            targets=self.outcomes(best.solution),
            max_loss=self.max_loss,
            status=status,
            message=f"{told}: {how} {had}",
            best=best,
            runs=tuple(runs),
            game_value=(
                (self.game.as_paid(self.lower, self.player), self.game.as_paid(self.upper, self.player))
                if self.has_value
                else None
            ),
        )


# The suffixes in the names of an equation's two bounds.
_EITHER_END = re.compile(r" \(at (most|least)\)$")


def _check_no_equations(targets: Sequence[Target]) -> None:
    """Raise an error for the two bounds of an equation, which runs approach but never meet exactly."""
    for first, second in itertools.combinations([target.constraint for target in targets], 2):
        if first.terms == second.terms and first.bound == second.bound and first.sense != second.sense:
            raise InvalidConstraintError(
                f"target {shown(_EITHER_END.sub('', second.name))} is an equation, which no run meets exactly: "
                "give a range, such as x >= 0.39 and x <= 0.41"
            )
