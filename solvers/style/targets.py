"""Strategies that meet targets: what a style can be at all, at what price it can be had, and what comes nearest."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ...models.constraints import LinearConstraint
from ...models.problems import ConstrainedNash, EpsilonSafeStyle, FeasibilityRelaxation, Nash
from ...models.saddle import check_two_players, zero_sum_of
from ...seqform.checks import check_exact_number, explained
from ...seqform.errors import InvalidGameError, UnsupportedProblemError, shown
from ...seqform.evaluate import worst_case
from ...seqform.functional import Functional
from ...seqform.game import Game
from ...seqform.limits import settling
from ...seqform.polytope import best_response_value
from ...seqform.rationals import to_fraction
from ...seqform.sheet import short
from ...seqform.strategy import Profile, Strategy, checked_player
from ..certification import ROUND_OFF
from ..methods import Method, find_method
from ..outcome import Status
from ..solution import Solution
from ..solve import solve, solve_part, with_game_value
from .answer import StyleAnswer, Target, TargetOutcome, divided, loosened
from .tails import TailTarget, names_once, read_styles, strategies_of


@dataclass(frozen=True, eq=False)
class StyleRange:
    """The least and the greatest that a linear functional can be, with strategies that attain them.

    Attributes
    ----------
    lowest, highest : Solution
        Of :class:`~treeplex.EpsilonSafeStyle`; their certificates prove how far the ends may be off.
    """

    lowest: Solution
    highest: Solution

    @property
    def low(self) -> float:
        """The functional at the strategy of the lower end."""
        assert self.lowest.objective is not None
        return self.lowest.objective

    @property
    def high(self) -> float:
        """The functional at the strategy of the upper end."""
        assert self.highest.objective is not None
        return self.highest.objective

    @property
    def width(self) -> float:
        """The upper end minus the lower one: how much of a style can be chosen."""
        return self.high - self.low

    def __repr__(self) -> str:
        return f"StyleRange(low={self.low + 0.0:.9g}, high={self.high + 0.0:.9g})"


#: What a method must be able to do to answer all that targets ask.
NEEDS = frozenset[str]().union(
    *(kind.always_needs for kind in (Nash, ConstrainedNash, EpsilonSafeStyle, FeasibilityRelaxation))
)


@explained
def style_range(
    game: Game,
    functional: Functional | Any,
    epsilon: float = 0.0,
    *,
    player: int | None = None,
    method: str | Method = "highs-simplex",
    game_value: float | None = None,
) -> StyleRange:
    """Return the range of a linear functional over the strategies that are exploitable by ε at most.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    functional : Functional or array_like, shape (num_sequences,)
        Of one player's plan, such as :func:`~treeplex.frequency` returns, or its coefficients.
    epsilon : float
        Payoff units; with 0 the range over the equilibrium strategies.
    player : int, optional
        Whose plan; needed with coefficients alone.
    method : str or Method
        For both ends.
    game_value : float, optional
        The value of the game to the player; found if it is not given.

    Returns
    -------
    StyleRange

    Raises
    ------
    InvalidGameError, InvalidStrategyError, UnsupportedProblemError
        As for :class:`~treeplex.EpsilonSafeStyle`.
    SolverError
        If the value of the game is not found.

    Examples
    --------
    Player 0 of Kuhn poker may bluff with the jack up to a third of the time:

    >>> from treeplex import load_game, style_range
    >>> game = load_game("kuhn")
    >>> bluffs = game.sequence_form.treeplexes[0].sequence("J_", "b")
    >>> style_range(game, [float(number == bluffs) for number in range(13)], player=0)
    StyleRange(low=0, high=0.333333333)
    """
    chosen = find_method(method) if isinstance(method, str) else method
    least = EpsilonSafeStyle(game, epsilon=epsilon, minimise=functional, player=player, game_value=game_value)
    if least.game_value is None:
        least = with_game_value(least, chosen)
    most = EpsilonSafeStyle(game, epsilon=epsilon, maximise=least.minimise, game_value=least.game_value)
    return StyleRange(lowest=solve(least, chosen), highest=solve(most, chosen))


@explained
def reach_style(
    game: Game,
    targets: str | LinearConstraint | Iterable[str | LinearConstraint],
    max_loss: float | Fraction | str = 0.0,
    *,
    player: int = 0,
    others: Profile | Strategy | None = None,
    method: str | Method = "highs-simplex",
) -> StyleAnswer:
    """Find a strategy that meets targets within a maximum loss, or prove that none exists and find the closest one.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    targets : str, LinearConstraint, or several of them
        Bounds on what one player does, such as ``"raise@first >= 0.6"``; texts as :func:`~treeplex.models.constraints.
        parse_constraint` reads them, or of the form ``"[SEAT/]cvar@LEVEL >= NUMBER"`` (also ``<=``): the mean payoff in
        the worst share LEVEL of all games.
    max_loss : float, Fraction or str
        What the strategy may lose in expectation to anyone, compared with the value of the game; payoff units.
    player : int
        Whose actions are counted where a text names no seat.
    others : Profile or Strategy, optional
        How the others play where it is counted how often an action is taken, uniformly by default; and against whom
        the payoff of ``cvar`` is, by default the equilibrium strategy that the method finds.
    method : str or Method
        One that solves linear programs; ``rational`` decides in fractions, but not on ``cvar``.

    Returns
    -------
    StyleAnswer

    Raises
    ------
    InvalidConstraintError
        If a target cannot be read, is not linear, or is about the other player than another one.
    InvalidGameError
        If the loss is negative or not a number.
    UnsupportedProblemError
        If the game is not constant-sum, or not of two players, or the method is not for it.
    SolverError
        If the value of the game is not found.

    Notes
    -----
    The least loss at which all targets hold is the value of the game minus that of
    :class:`~treeplex.ConstrainedNash` with the targets as constraints, and both values come with certificates. The
    targets are infeasible where the lower bound on that loss is more than `max_loss`.

    If they can be met, the strategy is one that loses least of all that meet them: what is left of `max_loss` is not
    spent. If they cannot, it is the nearest within `max_loss`: for a single functional the extreme
    (:class:`~treeplex.EpsilonSafeStyle`), for several targets one with the least sum of misses
    (:class:`~treeplex.models.problems.FeasibilityRelaxation` with a floor), each divided by the width of what
    strategies can have at all.

    The conditional value at risk is the largest of functions that are linear in the plan, one for each payoff as
    threshold (:class:`~treeplex.solvers.style.tails.TailTarget`). So many linear targets stand for ``<=``, all of which
    have to hold. For ``>=`` one of them does, and the least loss is the least of as many linear programs. With other
    targets beside it, the nearest strategy is that for the threshold at which targets cost least.

    Examples
    --------
    >>> from treeplex import load_game, reach_style
    >>> game = load_game("kuhn")
    >>> print(reach_style(game, "bet@first >= 0.4").message)
    bet@first >= 0.4 costs nothing
    >>> answer = reach_style(game, "bet@first >= 0.6", max_loss="0.02", method="rational")
    >>> print(answer.status, answer.least_loss_exact, round(answer.targets[0].reached, 6))
    infeasible 7/270 0.564444
    >>> print(answer.message)
    bet@first >= 0.6 costs 0.0259259, more than 0.02, which buys 0.564444
    """
    if not isinstance(game, Game):
        raise InvalidGameError(f"targets need a Game, received {shown(game)}")
    check_two_players("a style", game)
    seat = checked_player(game, player)
    read, tails = read_styles(targets, game, seat, others)
    allowed = check_exact_number(max_loss, "max_loss", InvalidGameError, "[0, inf)")
    chosen = find_method(method) if isinstance(method, str) else method
    if tails and chosen.is_exact:
        raise UnsupportedProblemError(
            f"target {shown(tails[0].name)} uses payoffs in floats, but {chosen.name} solves in fractions: expected "
            "highs-simplex or another method in floats"
        )
    with settling() as answer:
        search = _Search(game, read, allowed, chosen)
        if tails:
            search = _with_tails(search, tails, others)
        found = search.run()
        answer.known()
    return found


def _with_tails(search: "_Search", tails: Sequence[TailTarget], others: Profile | Strategy | None) -> "_Search":
    """Return the search for linear targets that stand for targets of tails: of all sets, the one that costs least."""
    against = strategies_of(others, search.given) or list(search.free.profile)
    tails = [one.against(against) for one in tails]
    subjects: tuple[Target | TailTarget, ...] = (*search.targets, *tails)
    searches = []
    for chosen in itertools.product(*(one.choices() for one in tails)):
        linear = (*search.targets, *itertools.chain(*chosen))
        searches.append(_Search(search.given, linear, search.max_loss, search.method, subjects, search.free))
    least = [search.least_loss for search in searches]
    place = min(range(len(searches)), key=lambda one: math.inf if least[one][0] is None else least[one][0])
    # No strategy that meets the targets loses less than the least of all bounds.
    searches[place].elsewhere = min((lower for _, lower, _ in least if lower is not None), default=math.inf)
    return searches[place]


class _Search:
    """Targets on their way to an answer.

    Parameters
    ----------
    targets : tuple of Target
        Linear ones.
    subjects : tuple of Target or TailTarget, optional
        What they stand for; by default themselves.
    free : Solution, optional
        The game without targets, where it is solved already.
    """

    #: What other linear targets that would do as well lose at least.
    elsewhere: Any = math.inf

    def __init__(
        self,
        game: Game,
        targets: tuple[Target, ...],
        max_loss: float | Fraction,
        method: Method,
        subjects: tuple[Target | TailTarget, ...] | None = None,
        free: Solution | None = None,
    ) -> None:
        # Payoffs are those of the zero-sum game until the end.
        self.given, self.game, self.targets, self.method = game, zero_sum_of("a style", game), targets, method
        self.constraints = [target.constraint for target in targets]
        self.subjects = targets if subjects is None else subjects
        self.known = free
        self.exact = method.is_exact
        self.max_loss: Any = to_fraction(max_loss) if self.exact else float(max_loss)
        scale = game.stakes
        # Whole numbers, which leave fractions what they are.
        self.tolerance = 0 if self.exact else method.default_tolerance * scale
        self.round_off = 0 if self.exact else ROUND_OFF * scale

    def run(self) -> StyleAnswer:
        profile, misses = self.best.profile, 0.0
        solutions = {"value": self.free, "targets": self.best}
        status = self.status()
        if status is not Status.OPTIMAL:
            solutions["nearest"] = nearest = self.nearest()
            profile = nearest.profile
            plan = profile[self.player].plan
            misses = sum(target.missed_by(plan) / unit for target, unit in zip(self.subjects, self.units, strict=True))
        strategy = profile[self.player]
        outcomes = tuple(self.outcome(target, strategy) for target in self.subjects)
        least, lower, upper = self.least_loss
        return StyleAnswer(
            game=self.given,
            player=self.player,
            targets=outcomes,
            max_loss=float(self.max_loss),
            status=status,
            message=self.message(status, outcomes),
            game_value=self.paid(float(self.value)),
            least_loss=None if least is None else max(0.0, float(least)),
            least_loss_lower=None if least is None else max(0.0, float(lower)),
            least_loss_upper=None if least is None else max(0.0, float(upper)),
            least_loss_exact=least if isinstance(least, Fraction) else None,
            conflict=self.conflict,
            least_violation=misses,
            units=self.units,
            profile=profile,
            loss=max(0.0, self.loss(self.best if status is Status.OPTIMAL else solutions["nearest"])),
            solutions=solutions,
        )

    @property
    def player(self) -> int:
        """Whose targets they are."""
        return self.subjects[0].player

    @cached_property
    def free(self) -> Solution:
        """The game without targets."""
        return self.known or solve_part(
            Nash(self.game), self.method, needed=f"the value of {self.game.spec} that targets need"
        )

    @cached_property
    def best(self) -> Solution:
        """The best that strategies which meet the targets can guarantee."""
        return solve_part(ConstrainedNash(self.game, self.constraints), self.method)

    @property
    def conflict(self) -> tuple[str, ...]:
        return () if self.best.infeasibility is None else names_once(self.best.infeasibility.conflict)

    def guaranteed(self, solution: Solution) -> tuple[Any, Any]:
        """Return proven bounds on what the player is guaranteed."""
        known = solution.certificate if solution.exact is None else solution.exact.certificate
        assert known.lower is not None
        assert known.upper is not None
        return (known.lower, known.upper) if self.player == 0 else (-known.upper, -known.lower)

    def paid(self, payoff: Any) -> Any:
        """Return a payoff to the player in the payoffs of the game that was given."""
        return self.game.as_paid(payoff, self.player)

    @property
    def value(self) -> Any:
        """The value of the game to the player."""
        lower, upper = self.guaranteed(self.free)
        return (lower + upper) / 2

    @property
    def reachable(self) -> Any:
        """The payoff guaranteed to the player: round-off may make a floor at the value itself infeasible."""
        return self.guaranteed(self.free)[0]

    @property
    def least_loss(self) -> tuple[Any, Any, Any]:
        """The least loss at which the targets hold, and proven bounds on it; nothing where they exclude each other."""
        if self.best.infeasibility is not None:
            return None, None, None
        free, bound = self.guaranteed(self.free), self.guaranteed(self.best)
        lower = free[0] - bound[1]
        return (sum(free) - sum(bound)) / 2, min(lower, self.elsewhere), free[1] - bound[0]

    def status(self) -> Status:
        least, lower, upper = self.least_loss
        if least is None:
            return Status.INFEASIBLE
        met = self.exact or self.best.violation <= self.tolerance
        if met and upper <= self.max_loss + self.tolerance:
            return Status.OPTIMAL
        return Status.INFEASIBLE if lower > self.max_loss + self.round_off else Status.UNCERTIFIED

    @cached_property
    def ranges(self) -> Mapping[int, StyleRange]:
        """The range of each functional within the loss, by its identity."""
        different = {id(one.functional): one.functional for one in self.subjects if one.functional is not None}
        return {
            key: style_range(self.game, one, self.max_loss, method=self.method, game_value=self.paid(self.reachable))
            for key, one in different.items()
        }

    @cached_property
    def units(self) -> tuple[float, ...]:
        """How wide the range of each functional is over all strategies; 1 where it is not known."""
        return self.units_of(self.subjects)

    def units_of(self, targets: Sequence[Target | TailTarget]) -> tuple[float, ...]:
        treeplex = self.game.sequence_form.treeplexes[self.player]
        widths = []
        for target in targets:
            width = 0.0
            if target.functional is not None:
                coefficients = target.functional.coefficients
                width = sum(best_response_value(treeplex, sign * coefficients) for sign in (1.0, -1.0))
            widths.append(width if width > 0.0 else 1.0)
        return tuple(widths)

    @property
    def is_single(self) -> bool:
        """Whether there is one target: one bound, or the two of an equation."""
        if len(self.subjects) == 1:
            return True
        first, *others = self.targets
        return all(
            one.functional is first.functional is not None
            and to_fraction(one.constraint.bound) == to_fraction(first.constraint.bound)
            for one in others
        )

    def nearest(self) -> Solution:
        """Return the strategy within the loss that misses the targets least."""
        subject, first = self.subjects[0], self.targets[0].functional
        if isinstance(subject, TailTarget) and self.is_single:
            found = self.tail_ranges[subject.name]
            return found.highest if subject.sense == ">=" else found.lowest
        if first is not None and self.is_single:
            found = self.ranges[id(first)]
            # An extreme, and for an equation the nearer one.
            asked = self.constraints[0]
            above = float(asked.bound) > found.high if len(self.constraints) > 1 else asked.sense == ">="
            return found.highest if above else found.lowest
        units = self.units_of(self.targets)
        in_units = [divided(one, unit) for one, unit in zip(self.constraints, units, strict=True)]
        floor = self.paid(self.reachable - self.max_loss)
        near = solve_part(FeasibilityRelaxation(self.game, self.player, in_units, floor=floor), self.method)
        # Of all that come as near one that loses least: missed bounds are loosened to what they have there.
        plan = near.profile[self.player].plan if near.exact is None else near.exact.plans[self.player]
        nearer = [loosened(one, plan) for one in self.constraints]
        best = solve_part(ConstrainedNash(self.game, nearer), self.method)
        better = best.status.is_success and self.loss(best) < self.loss(near) - self.round_off
        return best if better else near

    def loss(self, solution: Solution) -> float:
        return float(self.value) - worst_case(self.game, solution.profile[self.player])

    @cached_property
    def tail_ranges(self) -> Mapping[str, StyleRange]:
        """The range of each tail within the loss, by the target's name."""
        found = {}
        for one in self.subjects:
            if isinstance(one, TailTarget):
                how: Any = {"epsilon": self.max_loss, "game_value": self.paid(self.reachable)}
                least = solve_part(EpsilonSafeStyle(self.game, minimise=one.measure, **how), self.method)
                least_short = [
                    solve_part(
                        EpsilonSafeStyle(self.game, minimise=one.shortfall(float(threshold)), **how), self.method
                    )
                    for threshold in one.thresholds
                ]
                most = max(least_short, key=lambda each: one.measured(each.profile[self.player].plan))
                found[one.name] = StyleRange(lowest=least, highest=most)
        return found

    def outcome(self, target: Target | TailTarget, strategy: Strategy) -> TargetOutcome:
        extremes = None
        if isinstance(target, TailTarget):
            known = self.tail_ranges[target.name]
            plans = [each.profile[self.player].plan for each in (known.lowest, known.highest)]
            low, high = (target.measured(plan) for plan in plans)
            # A bound on the tail is α times one on what payoffs fall short of a threshold.
            parts = [price for name, price in self.best.multipliers.items() if names_once([name]) == (target.name,)]
            return target.outcome(strategy, (low, high), target.level * sum(parts))
        if target.functional is not None:
            found = self.ranges[id(target.functional)]
            extremes = found.low, found.high
        return target.outcome(strategy, extremes, self.best.multipliers.get(target.name, 0.0))

    def message(self, status: Status, outcomes: Sequence[TargetOutcome]) -> str:
        """Say in one line what came out."""
        allowed = short(float(self.max_loss))
        single = self.is_single
        name = outcomes[0].name.removesuffix(" (at most)")
        subject = name if single else f"all {len(outcomes)} targets together"
        least, lower, upper = self.least_loss
        if least is None:
            if len(self.conflict) == 1:
                return f"{self.conflict[0]} excludes all strategies, whatever the loss"
            return f"{', '.join(self.conflict)} exclude each other, whatever the loss"
        verb = "costs" if single else "cost"
        if status is Status.UNCERTIFIED:
            return (
                f"{subject} {verb} from {float(lower):.9g} to {float(upper):.9g}, so it is not known whether that is "
                f"at most {allowed}: the method rational decides this"
            )
        if status is Status.OPTIMAL:
            cost = f"{short(float(least))} of {allowed}" if upper > self.tolerance else "nothing"
            return f"{subject} {verb} {cost}"
        told = f"{subject} {verb} {short(float(least))}, more than {allowed}"
        if single:
            return told if outcomes[0].reached is None else f"{told}, which allows {short(outcomes[0].reached)}"
        beyond = [one.name for one in outcomes if one.is_within_reach is False]
        return f"{told}; {', '.join(beyond)} alone costs too much" if beyond else f"{told}; each alone is possible"
