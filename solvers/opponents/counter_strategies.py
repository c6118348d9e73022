"""Responses to an observed opponent: the best strategy against the worst opponent that fits the observations."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from ...models.observations import OpponentModel, proportion_intervals
from ...models.observations.intervals import interval_name
from ...models.problems import ConstrainedNash, FeasibilityRelaxation, Nash, RestrictedNash
from ...seqform.checks import explained
from ...seqform.errors import InvalidConstraintError, InvalidStrategyError, PlayLogError, UnsupportedProblemError, shown
from ...seqform.evaluate import expected_payoffs, worst_case
from ...seqform.strategy import Profile, Strategy
from ..answer_parts import Infeasibility
from ..checkpoint import Checkpoint, Keeper, asked_of
from ..dispatch import chosen_method
from ..infeasibility import find_infeasibility
from ..methods import DCFR, Method, RegretMethod, check_served
from ..outcome import Progress, Status
from ..solution import Solution
from ..solve import solve, solve_part

#: The default β if observations exclude each other, in units of the game's largest payoff.
DEFAULT_PENALTY = 100.0
#: The tolerance for the value of a game by regret minimisation, in units of the game's largest payoff.
_VALUE = 1e-4
#: The largest multiple of the observed games that is considered if they are too few.
MOST_TIMES = 4096
#: Steps of bisection after the number of games is known up to a factor of 4.
_HALVINGS = 2
#: Iterations for each number of games.
MOST_ITERATIONS = 1000
#: The round-off of a sum of products, relative to their size.
_ROUND_OFF = 16 * float(np.finfo(np.float64).eps)
#: A smaller worth, in units of the game's largest payoff, counts as zero.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Evidence:
    """The worth of one observed event to the response.

    Attributes
    ----------
    name : str
        The name in :attr:`OpponentModel.names <treeplex.OpponentModel.names>`.
    event : str
        The name without the interval.
    count : int or None
        The number of games in which the event happened; ``None`` if its probability is known.
    frequency, lower, upper : float
        The fraction of games, and its bounds.
    side : {"at least", "at most"}
        The bound that restricts the opponent.
    price : float
        Its multiplier: the cost in payoff per unit of probability by which the bound is loosened.
    worth : float
        The price times the violation of the bound by an equilibrium opponent, in payoff units: the observation's
        contribution to the response's gain over the value of the game.
    """

    name: str
    event: str
    count: int | None
    frequency: float
    lower: float
    upper: float
    side: str
    price: float
    worth: float


@dataclass(frozen=True, eq=False)
class CounterStrategy:
    """A response to an opponent model, and its worth.

    Payoffs are the responder's. Results that need further linear programs are computed on first use.

    Attributes
    ----------
    model : OpponentModel
    solution : Solution
        The solution of :class:`~treeplex.ConstrainedNash` with the opponent constrained, with its certificate.
    penalty : float or None
        β, in payoff units per unit of violation; ``None`` if the bounds are met.
    p : float or None
        The confidence in the bounds for a restricted Nash response; ``None`` for full confidence.
    """

    model: OpponentModel
    solution: Solution
    penalty: float | None
    p: float | None = None

    @property
    def player(self) -> int:
        """The seat of the response."""
        return self.model.player

    @property
    def strategy(self) -> Strategy:
        """The response."""
        return self.solution.profile[self.player]

    @property
    def worst_opponent(self) -> Strategy:
        """The solution's opponent: the worst one for the responder among those that fit the observations."""
        return self.solution.profile[1 - self.player]

    @property
    def profile(self) -> Profile:
        """The response and the worst opponent."""
        return self.solution.profile

    @property
    def guaranteed(self) -> float | None:
        """The payoff that the response is proven to earn against every opponent that fits the observations.

        If no opponent fits, the bound holds against every opponent whose violations sum to at most V*. The certificate
        of the penalised problem proves u(x, y) ≥ c − β v(y) for every y with violations v(y). The result is therefore c
        − β V* minus possible round-off, or the guarantee against every opponent if that is larger.
        """
        if self.p is not None:
            value, gain = self.solution.game_value, self.solution.gain
            return None if value is None or gain is None else value + gain
        lower, upper = self.solution.lower, self.solution.upper
        if lower is None or upper is None:
            return None
        proven = self._paid(lower if self.player == 0 else -upper)
        if self.penalty is None:
            return proven
        # A difference of large numbers: subtract the possible round-off.
        size = self.least_violation + sum(abs(one.limit) for one in self.model.constraints)
        proven -= self.penalty * (self.least_violation + _ROUND_OFF * size)
        return max(proven, worst_case(self.model.game, self.strategy))

    @property
    def exploits(self) -> bool:
        """Whether the response provably earns more than the value of the game against every opponent that fits.

        The gain must exceed the tolerance of the solution, so that round-off does not count.
        """
        return self.guaranteed is not None and self.guaranteed > self.game_value + self.solution.tolerance

    @cached_property
    def infeasibility(self) -> Infeasibility | None:
        """The proof that no opponent fits all observations, if there is one; for the conflict see :attr:`conflict`."""
        return find_infeasibility(self.solution.problem, conflict=False) if self.penalty is not None else None

    @property
    def least_violation(self) -> float:
        """V*, the least total violation of the bounds by any opponent; 0 if some opponent meets all bounds."""
        return 0.0 if self.infeasibility is None else float(self.infeasibility.least_violation)

    @cached_property
    def conflict(self) -> tuple[str, ...]:
        """A minimal set of observations that exclude each other; empty if all can be met."""
        if self.infeasibility is None:
            return ()
        found = find_infeasibility(self.solution.problem)
        return () if found is None else found.conflict

    @cached_property
    def fitted_opponent(self) -> Strategy:
        """The opponent whose probabilities of all events differ least, in total, from the observed frequencies.

        It plays uniformly at infosets that no best-fitting opponent reaches. Without games there is nothing to fit, and
        the result is the worst opponent.
        """
        model = self.model
        if model.counts is not None and not model.num_games:
            return self.worst_opponent
        fit = FeasibilityRelaxation(model.game, model.opponent, model.frequency_constraints)
        return solve_part(fit, "highs-simplex").profile[model.opponent]

    @property
    def expected(self) -> float:
        """The payoff of the response against the fitted opponent."""
        return self.payoff_against(self.fitted_opponent)

    def payoff_against(self, opponent: Strategy) -> float:
        """Return the payoff of the response against an opponent.

        Raises
        ------
        InvalidStrategyError
            If it is not a strategy of the other seat.
        """
        if not isinstance(opponent, Strategy) or opponent.player != 1 - self.player:
            raise InvalidStrategyError(f"received {shown(opponent)}, expected a strategy of player {1 - self.player}")
        pair = sorted((self.strategy, opponent), key=lambda one: one.player)
        return float(expected_payoffs(self.model.game, Profile(pair))[self.player])

    @cached_property
    def _equilibrium(self) -> Solution:
        """An equilibrium by linear programming, or by DCFR on a public form if a regret method found the response."""
        game, needed = self.model.game, f"the value of {self.model.game.spec}"
        if game.public_form is not None and isinstance(self.solution.method, RegretMethod):
            return solve_part(Nash(game), DCFR(), tol=_VALUE * game.stakes, needed=needed)
        return solve_part(Nash(game), needed=needed)

    @property
    def game_value(self) -> float:
        """The value of the game to the responder, by linear programming."""
        value = float(self._equilibrium.value)
        return self._paid(value if self.player == 0 else -value)

    def _paid(self, payoff: float) -> float:
        """Convert a payoff of the solved zero-sum game into the responder's payoff in the original game."""
        paid: float = self.solution.problem.game.as_paid(payoff, self.player)
        return paid

    @property
    def exploitability(self) -> float:
        """The loss of game value that the response risks against an arbitrary opponent."""
        return max(0.0, self.game_value - worst_case(self.model.game, self.strategy))

    def mean_gain(self, confidence: float) -> float | None:
        """Return γ g − (1 − γ) e for a confidence γ, the guaranteed gain g over the game value, and exploitability e.

        This is the least mean gain if the opponent fits the observations with probability γ, and is otherwise the worst
        possible. ``None`` if nothing is guaranteed.
        """
        if self.guaranteed is None:
            return None
        return confidence * (self.guaranteed - self.game_value) - (1.0 - confidence) * self.exploitability

    def informative(self, count: int = 10) -> list[Evidence]:
        """Return the observations of greatest worth; fewer than requested if no others have any worth.

        For an equation, the price is the larger multiplier minus the smaller one.

        Notes
        -----
        Let λ be the multipliers of the bounds H y ≤ k that together prove the response (``solution.dual_multipliers``),
        and y* an equilibrium strategy of the opponent, against whom nobody earns more than the value v. Then the
        guarantee of the response x is at most u(x, y*) + λ · (H y* − k) ≤ v + λ · (H y* − k). The worth of each
        observation is its term of the last sum.
        """
        model, multipliers = self.model, self.solution.dual_multipliers
        if self.p:
            multipliers = {name: one / self.p for name, one in multipliers.items()}
        equilibrium = self._equilibrium.profile[model.opponent].plan
        price, worth = np.zeros(len(model.events)), np.zeros(len(model.events))
        for constraint in model.constraints:
            multiplier, event = multipliers.get(constraint.name, 0.0), model.event_of[constraint.name]
            price[event] += multiplier * (-1.0 if constraint.name.endswith("(at least)") else 1.0)
            worth[event] += multiplier * float(constraint.value(equilibrium))
        order = np.argsort(-worth.round(12), kind="stable")[:count]  # equal numbers differ by round-off
        return [
            Evidence(
                name=model.names[event],
                event=model.events.names[event],
                count=None if model.counts is None else int(model.counts[event]),
                frequency=float(model.frequencies[event]),
                lower=float(model.lower[event]),
                upper=float(model.upper[event]),
                side="at most" if price[event] > 0.0 else "at least",
                price=float(abs(price[event])),
                worth=float(worth[event]),
            )
            for event in order.tolist()
            if worth[event] > _NOTHING * model.game.stakes
        ]

    def summary(self) -> dict[str, Any]:
        """Return all results in the JSON form of ``treeplex fit``, after computing missing ones.

        Raises
        ------
        SolverError, TimeLimitError
            If a required linear program has no answer.
        """
        solution = self.solution
        return {
            "events": len(self.model.events),
            "constraints": len(self.model.constraints),
            "penalty": self.penalty,
            "p": self.p,
            "status": str(solution.status),
            "message": solution.message,
            "guaranteed": self.guaranteed,
            "expected": self.expected,
            "game_value": self.game_value,
            "exploitability": self.exploitability,
            "objective": solution.objective,
            "lower": solution.lower,
            "upper": solution.upper,
            "violation": solution.violation,
            "least_violation": self.least_violation,
            "conflict": list(self.conflict),
            "informative": [asdict(evidence) for evidence in self.informative()],
            "iterations": solution.iterations,
            "seconds": solution.seconds,
            "build_seconds": solution.build_seconds,
        }


def games_needed(
    response: CounterStrategy, confidence: float, interval: str | None = None, bonferroni: bool = False
) -> int | None:
    """Return the approximate number of games that would prove a gain over the value of the game.

    The opponent is assumed to play like the fitted opponent. The number is at most 1.5 times too large, unless a gain
    that some number of games proves is not proven by more games.

    Parameters
    ----------
    response : CounterStrategy
        The response to the observations.
    confidence, interval, bonferroni
        As for :meth:`OpponentModel.from_observations <treeplex.OpponentModel.from_observations>`.

    Returns
    -------
    int or None
        ``None`` if even :data:`MOST_TIMES` times as many games would not suffice.
    """
    model, solution = response.model, response.solution
    shares = np.clip(model.probabilities(response.fitted_opponent.plan), 0.0, 1.0)
    sign, enough = 1.0 if response.player == 0 else -1.0, response.game_value + solution.tolerance

    def suffices(games: int) -> bool:
        bounds = proportion_intervals(
            interval_name(interval, bonferroni),
            np.rint(games * shares).astype(np.int64),
            games,
            confidence,
            comparisons=max(len(shares), 1) if bonferroni else 1,
        )
        lower, upper = np.minimum(bounds.lower, shares), np.maximum(bounds.upper, shares)
        more = replace(model, num_games=games, frequencies=shares, lower=lower, upper=upper, highest=shares)
        found = solve(
            ConstrainedNash(model.game, more.constraints),
            solution.method,
            tol=solution.tolerance,
            max_iterations=MOST_ITERATIONS,
        )
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        proven = found.lower if response.player == 0 else found.upper
        return proven is not None and found.problem.game.as_paid(sign * proven, response.player) > enough

    few, most = model.num_games, MOST_TIMES * model.num_games
    many = 4 * few
    while 0 < many <= most and not suffices(many):
        few, many = many, 4 * many
    if not 0 < many <= most:
        return None
    for _ in range(_HALVINGS):
        between = round(math.sqrt(few * many))
        few, many = (few, between) if suffices(between) else (between, many)
    return many


def hedged_response(response: CounterStrategy, confidence: float, **limits: Any) -> CounterStrategy | None:
    """Return the response with the largest mean gain if the opponent fits with a given probability.

    It lies between an equilibrium strategy, with confidence 0, and the given response, with confidence 1: the
    restricted Nash response to the observations with p = confidence, which maximises
    :meth:`CounterStrategy.mean_gain`. The response's method finds it if it can; otherwise the default method does.

    Parameters
    ----------
    response : CounterStrategy
        A response that trusts the bounds fully.
    confidence : float
        From 0 to 1, such as the joint confidence of the bounds.
    **limits
        ``time_limit`` and other limits of :func:`counter_strategy`.

    Returns
    -------
    CounterStrategy or None
        ``None`` if the response is already hedged, or if no opponent fits all observations.

    Examples
    --------
    >>> from treeplex import OpponentModel, Profile, counter_strategy, load_game
    >>> from treeplex.solvers.opponents.counter_strategies import hedged_response
    >>> game = load_game("kuhn")
    >>> response = counter_strategy(OpponentModel.from_profile(game, 0, Profile.uniform(game)))
    >>> hedged = hedged_response(response, 0.5)
    >>> [(round(one.guaranteed, 4), round(one.exploitability, 4)) for one in (response, hedged)]
    [(0.5, 0.4444), (0.3889, 0.0556)]
    >>> hedged.mean_gain(0.5) > response.mean_gain(0.5)
    True
    """
    if response.p is not None or response.penalty is not None:
        return None
    model, method = response.model, response.solution.method
    try:
        check_served(method, RestrictedNash(model.game, model.constraints, p=confidence))
    except UnsupportedProblemError:
        method = None
    return counter_strategy(model, method, p=confidence, **limits)


@dataclass(frozen=True, eq=False)
class CounterProfile:
    """Responses for both seats to the observations from each seat.

    Attributes
    ----------
    responses : tuple of CounterStrategy
        The responses of seat 0 and of seat 1.
    """

    responses: tuple[CounterStrategy, CounterStrategy]

    @property
    def profile(self) -> Profile:
        """The two responses as a profile, although they do not respond to each other."""
        return Profile([response.strategy for response in self.responses])

    @property
    def guaranteed(self) -> float | None:
        """The payoff that the responses are proven to earn, averaged over both seats."""
        first, second = (response.guaranteed for response in self.responses)
        return None if first is None or second is None else (first + second) / 2.0

    @property
    def expected(self) -> float:
        """The payoff of the responses against the fitted opponents, averaged over both seats."""
        return sum(response.expected for response in self.responses) / 2.0

    def payoff_against(self, opponents: Profile) -> float:
        """Return the payoff of the responses against a player of a profile, averaged over both seats."""
        return sum(response.payoff_against(opponents[1 - response.player]) for response in self.responses) / 2.0


@explained
def counter_strategy(
    model: OpponentModel,
    method: str | Method | None = "highs",
    *,
    p: float | Fraction | None = None,
    penalty: float | None = None,
    tol: float | None = None,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | str | PathLike[str] | None = None,
) -> CounterStrategy:
    """Return the best strategy against the worst opponent that fits the observations.

    Parameters
    ----------
    model : OpponentModel
        The model from the observations of the player whose strategy is returned.
    method : str, Method or None
        A method that serves :class:`~treeplex.ConstrainedNash`: ``highs``, ``cvxpy``, ``rational`` or ``ccfr``.
        ``None`` chooses one as :func:`~treeplex.solve` does.
    p : float, optional
        From 0 to 1: the confidence in the bounds. The result is then the :class:`~treeplex.RestrictedNash` response
        to them, which loses at most p / (1 − p) of its gain to any opponent. Its bounds have no penalty.
    penalty : float, optional
        β: the opponent may violate bounds and pays β per unit. By default bounds are met if some opponent meets all
        of them; otherwise β is 100 times the game's largest payoff.
    tol, max_iterations, time_limit, progress, checkpoint
        As for :func:`~treeplex.solve`.

    Returns
    -------
    CounterStrategy

    Raises
    ------
    PlayLogError
        If it is not an opponent model.
    UnknownMethodError, UnsupportedProblemError
        If there is no such method, or it does not serve the problem.
    InvalidConstraintError
        If p is given with a penalty, or no opponent fits the observations.

    Notes
    -----
    With the model's bounds H y ≤ k on the opponent's plan, the objective is max over x of

        min over y with H y ≤ k of u(x, y),  or, with β,  min over y of u(x, y) + β Σ (H y − k)⁺.

    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019, section
    5.2. As the number of games grows, the bounds converge to the opponent, and the result to a best response (theorem 6
    there).

    Examples
    --------
    >>> from treeplex import OpponentModel, Profile, counter_strategy, load_game
    >>> game = load_game("kuhn")
    >>> model = OpponentModel.from_profile(game, 0, Profile.uniform(game))
    >>> response = counter_strategy(model)  # known exactly, so this is a best response to uniform play
    >>> round(response.guaranteed, 6), round(response.expected, 6), round(response.game_value, 6)
    (0.5, 0.5, -0.055556)
    """
    if not isinstance(model, OpponentModel):
        raise PlayLogError(
            f"received {shown(model)}, expected an OpponentModel, such as OpponentModel.from_observations"
        )
    limits: dict[str, Any] = {
        "tol": tol, "max_iterations": max_iterations, "time_limit": time_limit, "progress": progress,
    }  # fmt: skip
    met = ConstrainedNash(model.game, model.constraints)
    if checkpoint is not None and not isinstance(checkpoint, Keeper):
        asked = asked_of(met, chosen_method(method, met), penalty=penalty, **({} if p is None else {"p": str(p)}))
        with Checkpoint.of(checkpoint).kept(asked) as keeper:
            return counter_strategy(model, method, p=p, penalty=penalty, checkpoint=keeper, **limits)  # type: ignore[arg-type]
    limits["checkpoint"] = checkpoint
    if p is not None and penalty is not None:
        raise InvalidConstraintError(f"penalty is {shown(penalty)}, expected none: with p, bounds are hard")
    if p is not None and model.constraints:  # without bounds the confidence does not matter
        restricted = solve(RestrictedNash(model.game, model.constraints, p=p), method, **limits)
        if restricted.infeasibility is not None:
            raise InvalidConstraintError(f"{restricted.message}; use bounds that some opponent meets, or omit p")
        return CounterStrategy(model, restricted, None, float(p))
    excluded = None
    if penalty is None:
        excluded = find_infeasibility(met, conflict=False)
        if excluded is None:
            solution = solve(met, method, **limits)
            excluded = solution.infeasibility  # only slightly, according to the solver
            if excluded is None:
                return CounterStrategy(model, solution, None)
        penalty = DEFAULT_PENALTY * model.game.payoff_scale
    priced = ConstrainedNash(model.game, model.constraints, penalty=penalty)
    response = CounterStrategy(model, solve(priced, method, **limits), float(penalty))
    if excluded is not None:
        response.__dict__["infeasibility"] = excluded
    return response


def counter_profile(
    first: OpponentModel, second: OpponentModel, method: str | Method = "highs", **options: Any
) -> CounterProfile:
    """Return the responses for both seats, each to the observations of that seat.

    Parameters
    ----------
    first, second : OpponentModel
        The models from the observations of seat 0 and of seat 1.
    method : str or Method
    **options
        Options of :func:`counter_strategy`.

    Returns
    -------
    CounterProfile

    Raises
    ------
    PlayLogError
        If they are not models of seat 0 and of seat 1, in this order.
    InvalidStrategyError
        If they belong to different games.

    Examples
    --------
    >>> from treeplex import OpponentModel, Profile, load_game
    >>> from treeplex.solvers import counter_profile
    >>> game = load_game("kuhn")
    >>> uniform = Profile.uniform(game)
    >>> both = counter_profile(*(OpponentModel.from_profile(game, seat, uniform) for seat in (0, 1)))
    >>> round(both.payoff_against(uniform), 6)
    0.458333
    """
    for seat, model in enumerate((first, second)):
        if not isinstance(model, OpponentModel) or model.player != seat:
            raise PlayLogError(f"received {shown(model)}, expected an OpponentModel observed by seat {seat}")
    if first.game is not second.game and first.game.fingerprint != second.game.fingerprint:
        raise InvalidStrategyError(f"the models belong to different games, {first.game.spec} and {second.game.spec}")
    return CounterProfile((counter_strategy(first, method, **options), counter_strategy(second, method, **options)))
