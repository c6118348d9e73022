"""Strategies that meet targets: the range of a style, its price, and the closest strategy."""

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
    """The smallest and the largest value of a linear functional, with strategies that attain them.

    Attributes
    ----------
    lowest, highest : Solution
        Solutions of :class:`~treeplex.EpsilonSafeStyle`; their certificates bound the error of the ends.
    """

    lowest: Solution
    highest: Solution

    @property
    def low(self) -> float:
        """The functional's value for the strategy at the lower end."""
        assert self.lowest.objective is not None
        return self.lowest.objective

    @property
    def high(self) -> float:
        """The functional's value for the strategy at the upper end."""
        assert self.highest.objective is not None
        return self.highest.objective

    @property
    def width(self) -> float:
        """The upper end minus the lower end."""
        return self.high - self.low

    def __repr__(self) -> str:
        return f"StyleRange(low={self.low + 0.0:.9g}, high={self.high + 0.0:.9g})"


#: The features that a method needs for all questions about targets.
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
    """Return the range of a linear functional over the strategies with an exploitability of at most ε.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    functional : Functional or array_like, shape (num_sequences,)
        A functional of one player's plan, such as :func:`~treeplex.frequency` returns, or its coefficients.
    epsilon : float
        ε in payoff units; with 0, the range over equilibrium strategies.
    player : int, optional
        The player of the plan; required with coefficients alone.
    method : str or Method
        The method for both ends.
    game_value : float, optional
        The value of the game to the player; computed if it is not given.

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
        Bounds on one player's actions, such as ``"raise@first >= 0.6"``. Strings are parsed by
        :func:`~treeplex.parse_constraint`, or have the form ``"[SEAT/]cvar@LEVEL >= NUMBER"``
        (or ``<=``): the mean payoff in the worst fraction LEVEL of all games.
    max_loss : float, Fraction or str
        The allowed expected loss of the strategy to any opponent, relative to the value of the game, in payoff units.
    player : int
        The player whose actions count if a string names no seat.
    others : Profile or Strategy, optional
        The others' strategies for counting actions, by default uniform; and for the payoff of ``cvar``, by default
        the equilibrium strategy that the method finds.
    method : str or Method
        A method that solves linear programs; ``rational`` decides in fractions, but does not support ``cvar``.

    Returns
    -------
    StyleAnswer

    Raises
    ------
    InvalidConstraintError
        If a target cannot be parsed or is not linear, or targets concern different players.
    InvalidGameError
        If the loss is negative or not a number.
    UnsupportedProblemError
        If the game is not constant-sum or does not have two players, or the method does not serve the problem.
    SolverError
        If the value of the game is not found.

    Notes
    -----
    The least loss at which all targets hold is the value of the game minus the value of
    :class:`~treeplex.ConstrainedNash` with the targets as constraints. Both values come with certificates. The targets
    are infeasible if the lower bound on that loss is more than `max_loss`.

    If the targets can be met, the strategy has the least loss of all strategies that meet them; it does not use up
    `max_loss`. Otherwise it is the nearest strategy within `max_loss`. For a single functional this is the extreme
    (:class:`~treeplex.EpsilonSafeStyle`). For several targets it has the least sum of violations
    (:class:`~treeplex.models.problems.FeasibilityRelaxation` with a floor), each divided by the width of the target's
    range over all strategies.

    The conditional value at risk is the maximum of functions that are linear in the plan, one for each payoff as
    threshold (:class:`~treeplex.solvers.style.tails.TailTarget`). A target ``<=`` is therefore equivalent to all of
    these linear targets. A target ``>=`` is equivalent to any one of them, and the least loss is the minimum over as
    many linear programs. With other targets, the nearest strategy is the one for the threshold at which targets cost
    least.

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
    bet@first >= 0.6 costs 0.0259259, more than 0.02, which allows 0.564444
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
    """Return the search with the least cost among the sets of linear targets that can replace the tail targets."""
    against = strategies_of(others, search.given) or list(search.free.profile)
    tails = [one.against(against) for one in tails]
    subjects: tuple[Target | TailTarget, ...] = (*search.targets, *tails)
    searches = []
    for chosen in itertools.product(*(one.choices() for one in tails)):
        linear = (*search.targets, *itertools.chain(*chosen))
        searches.append(_Search(search.given, linear, search.max_loss, search.method, subjects, search.free))
    least = [search.least_loss for search in searches]
    place = min(range(len(searches)), key=lambda one: math.inf if least[one][0] is None else least[one][0])
    # No strategy that meets the targets loses less than the smallest of all bounds.
    searches[place].elsewhere = min((lower for _, lower, _ in least if lower is not None), default=math.inf)
    return searches[place]


class _Search:
    """The search for a strategy that meets targets.

    Parameters
    ----------
    targets : tuple of Target
        Linear targets.
    subjects : tuple of Target or TailTarget, optional
        The targets that they represent; by default themselves.
    free : Solution, optional
        The solution without targets, if it is already known.
    """

    #: The least loss of alternative sets of linear targets.
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
        # Integers, so that fractions stay exact.
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
        """The player of the targets."""
        return self.subjects[0].player

    @cached_property
    def free(self) -> Solution:
        """The solution without targets."""
        return self.known or solve_part(
            Nash(self.game), self.method, needed=f"the value of {self.game.spec} that targets need"
        )

    @cached_property
    def best(self) -> Solution:
        """The best guarantee of strategies that meet the targets."""
        return solve_part(ConstrainedNash(self.game, self.constraints), self.method)

    @property
    def conflict(self) -> tuple[str, ...]:
        return () if self.best.infeasibility is None else names_once(self.best.infeasibility.conflict)

    def guaranteed(self, solution: Solution) -> tuple[Any, Any]:
        """Return proven bounds on the player's guarantee."""
        known = solution.certificate if solution.exact is None else solution.exact.certificate
        assert known.lower is not None
        assert known.upper is not None
        return (known.lower, known.upper) if self.player == 0 else (-known.upper, -known.lower)

    def paid(self, payoff: Any) -> Any:
        """Convert a payoff of the player to the given game."""
        return self.game.as_paid(payoff, self.player)

    @property
    def value(self) -> Any:
        """The value of the game to the player."""
        lower, upper = self.guaranteed(self.free)
        return (lower + upper) / 2

    @property
    def reachable(self) -> Any:
        """The guaranteed payoff, slightly reduced if necessary: round-off may make a floor at the value infeasible."""
        return self.guaranteed(self.free)[0]

    @property
    def least_loss(self) -> tuple[Any, Any, Any]:
        """The least loss at which the targets hold, and proven bounds on it; ``None`` if they exclude each other."""
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
        """The width of each functional's range over all strategies; 1 if it is not known."""
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
        """Whether there is one target: one bound, or the two bounds of an equation."""
        if len(self.subjects) == 1:
            return True
        first, *others = self.targets
        return all(
            one.functional is first.functional is not None
            and to_fraction(one.constraint.bound) == to_fraction(first.constraint.bound)
            for one in others
        )

    def nearest(self) -> Solution:
        """Return the strategy within the loss that violates the targets least."""
        subject, first = self.subjects[0], self.targets[0].functional
        if isinstance(subject, TailTarget) and self.is_single:
            found = self.tail_ranges[subject.name]
            return found.highest if subject.sense == ">=" else found.lowest
        if first is not None and self.is_single:
            found = self.ranges[id(first)]
            # An extreme; for an equation, the nearer one.
            asked = self.constraints[0]
            above = float(asked.bound) > found.high if len(self.constraints) > 1 else asked.sense == ">="
            return found.highest if above else found.lowest
        units = self.units_of(self.targets)
        in_units = [divided(one, unit) for one, unit in zip(self.constraints, units, strict=True)]
        floor = self.paid(self.reachable - self.max_loss)
        near = solve_part(FeasibilityRelaxation(self.game, self.player, in_units, floor=floor), self.method)
        # Of all equally near strategies, find one with the least loss: violated bounds are loosened to their values
        # there.
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
            # A bound on the tail is α times a bound on the shortfall below a threshold.
            parts = [price for name, price in self.best.multipliers.items() if names_once([name]) == (target.name,)]
            return target.outcome(strategy, (low, high), target.level * sum(parts))
        if target.functional is not None:
            found = self.ranges[id(target.functional)]
            extremes = found.low, found.high
        return target.outcome(strategy, extremes, self.best.multipliers.get(target.name, 0.0))

    def message(self, status: Status, outcomes: Sequence[TargetOutcome]) -> str:
        """Return the result in one line."""
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
