"""Regret minimisation on games in public form, as a stepper, and its answers."""

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...models.constraints import LinearConstraint
from ...models.problems import Certificate, EpsilonNash, Feature, Nash, Problem, SaddleProblem
from ...models.problems.robust import PartlyFree
from ...models.saddle import SAFETY, PlayerView, Saddle
from ...seqform.arrays import Floats
from ...seqform.budget import Budget
from ...seqform.cut_form import CutForm
from ...seqform.game import Game
from ...seqform.limits import compiling, counted_now
from ...seqform.polytope import best_response_plan
from ...seqform.public_form import PublicForm
from ...seqform.public_payoff import PublicPayoff
from ...seqform.public_profile import PublicProfile, StrategiesOnDemand
from ...seqform.rules import TERMINAL
from ...seqform.strategy import Profile, Strategy, check_same_game
from ..certification import loop_error, proven, proves
from ..checkpoint import Saved, fill
from ..iteration import Stepper, iterate
from ..methods import CFR, DCFR, CFRPlus, PCFRPlus, RegretMethod
from ..outcome import Options, Outcome, Status
from ..solution import RunState, Solution
from ..uniform_play import by_best_responses
from .arrays import PlayArrays
from .kernel import PublicKernel
from .limits import Limits
from .storage import converted, named
from .terms import PublicTerms, takes

#: ``auto`` chooses single precision for tolerances of at least this fraction of the largest payoff.
_SINGLE_TOLERANCE = 1e-6
#: Iterations before the first check of whether stakes limit multipliers; each later check is after twice as many.
FIRST_LOOK = 32


def serves(method: RegretMethod, problem: Problem, start: Any) -> bool:
    """Whether the loop on a public form takes a problem: a single program, with alternating updates and averages."""
    return (
        (not isinstance(problem.game.public_form, CutForm) or (isinstance(problem, Nash) and start is None))
        and method.bias is None
        and method.updates == "alternating"
        and method.iterate == "average"
        and not method.initial_regrets
        and isinstance(method, CFR | CFRPlus | DCFR | PCFRPlus)
        and (_is_plain(problem) or (method.precision != "half" and (_is_taken(problem) or _is_locked(problem))))
        and (start is None or _starts(problem, start))
    )


def _starts(problem: Problem, start: Any) -> bool:
    """Whether a start can be used as plans of the problem's game; the loop on games with types has no start."""
    if isinstance(problem, SaddleProblem) and not _is_plain(problem) and problem.canonical.view.replies is not None:
        return isinstance(start, Solution) and isinstance(start.state, PublicState)
    return isinstance(start, Solution | Profile)


def _is_plain(problem: Problem) -> bool:
    """Whether a problem is an equilibrium of the game itself."""
    return isinstance(problem, Nash) or (isinstance(problem, EpsilonNash) and not problem.constraints)


def _is_locked(problem: Problem) -> bool:
    """Whether a problem is an ε-equilibrium under constraints, whose payoffs need not sum to zero."""
    return isinstance(problem, EpsilonNash) and bool(problem.constraints)


def _is_taken(problem: Problem) -> bool:
    """Whether a problem is a program that the loop can express."""
    return isinstance(problem, SaddleProblem) and Feature.PROGRAM in problem.needs and takes(problem.canonical)


@dataclass(frozen=True, eq=False)
class PublicState(RunState):
    """The state that a run on a public form needs to continue."""

    method: RegretMethod
    problem: tuple[object, ...]  # identifies the problem; regrets and multipliers are valid only for it
    arrays: PlayArrays

    @property
    def remark(self) -> str:
        """The remark that 16 bits were chosen, if they were."""
        if self.method.precision == "half" or self.arrays.scales is None:
            return ""
        return "regrets and averages were kept in 16 bits, because they do not fit in memory in single precision"


class PublicStepper(Stepper):
    """The loop on the public form of a game.

    Parameters
    ----------
    method : RegretMethod
    problem : Problem
    kernel : PublicKernel
    state : PlayArrays
        Changed in place.
    options : Options
    """

    first_step = 4

    def __init__(
        self, method: RegretMethod, problem: Problem, kernel: PublicKernel, state: PlayArrays, options: Options
    ) -> None:
        self._rule, self.problem, self.kernel, self.state, self._options = (
            method.local_rule,
            problem,
            kernel,
            state,
            options,
        )
        self.evaluates = kernel.evaluates(state)
        self.best_responses = (np.inf, np.inf)
        self._next_look = _next_look(self.iterations)
        self._answer: tuple[int, dict[str, Any]] | None = None  # the iterations at which it was computed

    @property
    def iterations(self) -> int:
        """The number of iterations, each of which updates both players."""
        return int(self.state.clock[0])

    @property
    def room(self) -> int:
        """The number of iterations until the next check, whose result must not depend on the clock."""
        return super().room if self.kernel.terms is None else min(super().room, self._next_look - self.iterations)

    def step(self, iterations: int) -> None:
        """Run the compiled loop."""
        self.kernel.run(self.state, self._rule, iterations)

    def check(self) -> float:
        """Return the error of the averages, in payoff units.

        For an equilibrium it is half of the sum of both players' gains from best responses to the averages or, if
        payoffs do not sum to zero, the larger gain.
        """
        if self.kernel.terms is not None:
            if _is_locked(self.problem):
                return loop_error(self.problem, self._regrets(self.kernel.terms), self._options)
            certificate = self._bounds(self.kernel.terms)
            # Averages that violate a constraint may earn more than the bound; confirms() computes what they prove.
            raised = replace(certificate, upper=max(certificate.lower or 0.0, certificate.upper or 0.0))
            return loop_error(self.problem, raised, self._options)
        if not self.evaluates:
            self.best_responses = self._profile.best_response_values
        else:
            first, second = (self.kernel.evaluate(self.state, player, best=True) for player in (0, 1))
            self.best_responses = first, second
        first, second = self.best_responses
        if isinstance(self.problem, EpsilonNash):
            return self.problem.error(self._certificate())
        return max(0.0, (first + second) / 2.0)

    def confirms(self) -> bool:
        """Whether feasible strategies near the averages meet the tolerance in double precision."""
        if self.kernel.terms is None:
            return True
        found = self.answer()
        agrees = proves(self.problem, found["proof"][1], self._options.tol)
        self._answer = (self.iterations, found) if agrees else None
        return agrees

    def _bounds(self, terms: PublicTerms) -> Certificate:
        """Compute the bounds of :meth:`Saddle.bounds` at the averages, with the compiled loop.

        They are valid if the averages meet their constraints.
        """
        saddle, kernel, state, player = terms.saddle, self.kernel, self.state, terms.player
        prices = terms.average_prices(state.calls)
        kernel.price(prices)
        own = np.array([row.player == player for row in terms.rows], dtype=bool)
        weight, price = float(saddle.weight or 0.0), float(prices[-1])
        limits = np.array([terms.limit(row) for row in terms.rows])
        upper = kernel.evaluate(state, player, best=True, scale=weight + price)
        excesses = kernel.excesses()[:-1]
        reply = kernel.evaluate(state, 1 - player, best=True)
        excesses[own] = kernel.excesses()[:-1][own]
        tilted = 0.0
        if saddle.tilt is not None:
            kernel.price(np.zeros(len(prices)))
            tilted = kernel.evaluate(state, player, best=False, scale=0.0)
        floor = 0.0 if saddle.floor is None else float(saddle.floor)
        paid = [
            (terms.penalty(seat) or 0.0) * float(np.maximum(excesses[own == (seat == player)], 0.0).sum())
            for seat in (player, 1 - player)
        ]
        upper += float(prices[:-1][own] @ limits[own]) - price * floor + weight * paid[1]
        lower = tilted - paid[0] - weight * (reply + float(prices[:-1][~own] @ limits[~own]))
        violations = dict(zip((row.name for row in terms.rows), excesses.tolist(), strict=True))
        if saddle.floor is not None:
            violations[SAFETY] = floor + reply
        return Certificate(
            value=(0.0, 0.0),
            objective=lower,
            lower=lower,
            upper=upper,
            exploitability=0.0,
            residual=0.0,
            violations=violations,
        )

    def _regrets(self, terms: PublicTerms) -> Certificate:
        """Return the regrets that multipliers prove at the averages, by the compiled loop; see :class:`EpsilonNash`.

        They are valid if the averages meet their constraints.
        """
        kernel, state = self.kernel, self.state
        prices, players = terms.average_prices(state.calls), np.array([row.player for row in terms.rows], dtype=int)
        paid = prices[:-1] * np.array([terms.limit(row) for row in terms.rows])
        kernel.price(prices)
        best, excesses = [], np.zeros(len(paid))
        for player in (0, 1):
            best.append(kernel.evaluate(state, player, best=True) + float(paid[players == player].sum()))
            # An evaluation of one player walks the averages of the other one.
            excesses[players != player] = kernel.excesses()[:-1][players != player]
        kernel.price(np.zeros(len(prices)))
        self.best_responses = best[0], best[1]
        found = Certificate.of_regrets(map(self._paid, (0, 1)), best)
        return replace(found, violations=dict(zip((row.name for row in terms.rows), excesses.tolist(), strict=True)))

    def look(self) -> Status | None:
        """Raise the stakes of violated rows if their multipliers are near the stakes.

        Bounds beyond any possible payoff prove that constraints cannot be met.
        """
        terms = self.kernel.terms
        if terms is None or self.iterations < self._next_look:
            return None
        self._next_look = _next_look(self.iterations)
        locked = _is_locked(self.problem)
        found = self._regrets(terms) if locked else self._bounds(terms)
        terms.raise_stakes(self.state.calls, found.violations, self._options)
        # A player that has plans earns at least the lowest payoff by one of them.
        least = min(self.best_responses) if locked else min(-(found.lower or 0.0), found.upper or 0.0)
        beyond = -least > terms.most
        return Status.INFEASIBLE if beyond and found.violation > self._options.violation else None

    def behaviour(self, node: int) -> Floats:
        """Return the average behaviour at a public state, shape (actions, states), before it is normalised."""
        return self.kernel.layout.sums(self.state.sums, node)

    def values(self, player: int) -> dict[int, Floats]:
        """Return a player's counterfactual values under the averages, by node of the root's board."""
        return self.kernel.values(self.state, player)

    @property
    def _profile(self) -> PublicProfile:
        """The current averages."""
        return PublicProfile(self.kernel.layout.form, self.behaviour, self.values if self.evaluates else None)

    def saved(self) -> Saved:
        """Return the state."""
        return {"due": [self.next_check, self._next_look], **named(self.state)}

    def restore(self, saved: Saved) -> None:
        """Restore the state in this run's precision, which the tolerance or memory may have changed."""
        arrays = {name: found for name, found in saved.items() if name != "due" and isinstance(found, np.ndarray)}
        fill(named(self.state), converted(self.kernel.layout, arrays, self.state))
        self.next_check, self._next_look = (int(each) for each in saved["due"])

    def answer(self) -> dict[str, Any]:
        """Return the averages, their proof in double precision, and multipliers, as fields of :class:`Outcome`."""
        if self._answer is not None and self._answer[0] == self.iterations:
            return self._answer[1]
        game, terms = self.problem.game, self.kernel.terms
        form = self.kernel.layout.form
        if terms is None:
            return {"proof": (StrategiesOnDemand(game, self._profile), self._certificate())}
        played = StrategiesOnDemand(terms.saddle.view.game, PublicProfile(form, self.behaviour))
        multipliers = terms.multipliers(self.state.calls, played.plans)
        found, dual = terms.answer(played)
        proof = proven(self.problem, found, multipliers, dual)
        return {"proof": proof, "multipliers": multipliers, "dual_certificate": dual}

    def _certificate(self) -> Certificate:
        """Return the certificate of the averages: of the value to player 0, or of both regrets."""
        if isinstance(self.problem, EpsilonNash):
            return Certificate.of_regrets(map(self._paid, (0, 1)), self.best_responses)
        return by_best_responses(self.best_responses, self._paid(0))

    def _paid(self, player: int) -> float:
        """Return a player's payoff if both play the averages."""
        if not self.evaluates:
            return self._profile.value(player)
        return self.kernel.evaluate(self.state, player, best=False)


def _next_look(iterations: int) -> int:
    """Return the iteration after which stakes are checked next."""
    look = FIRST_LOOK
    while look <= iterations:
        look *= 2
    return look


@dataclass(frozen=True, eq=False)
class OnlyPlay(RunState):
    """The state after an answer that needed no iterations, because constraints leave a player only one plan."""

    players: tuple[int, ...]

    @property
    def remark(self) -> str:
        """Which players have only one plan."""
        if len(self.players) == 2:
            return "the constraints leave both players only one plan"
        (player,) = self.players
        return (
            f"the constraints leave player {player} only one plan, so one evaluation found the best response of player "
            f"{1 - player}"
        )


def _dependence(game: Game, player: int) -> Floats:
    """Return a number for each of a player's sequences that is 0 if no payoff depends on it."""
    payoffs, treeplexes = game.sequence_form.payoffs, game.sequence_form.treeplexes
    assert isinstance(payoffs, PublicPayoff)
    # Against play at random, payoffs that depend on a sequence do not cancel.
    behaviour = np.random.default_rng(0).random(treeplexes[1 - player].num_sequences) + 0.1
    other = treeplexes[1 - player].plan(treeplexes[1 - player].behaviour(behaviour))
    found: Floats = np.abs(payoffs.gradient(player, [other, other])) + np.abs(payoffs.exposure(1 - player, other))
    return found


def _by_evaluation(problem: EpsilonNash) -> Outcome | None:
    """Return the equilibrium if constraints leave a player only one plan, and the other one has no constraints.

    The other player's best response is then an equilibrium. ``None`` in other cases.
    """
    begun = counted_now()
    game, treeplexes = problem.game, problem.game.sequence_form.treeplexes
    limited = [Limits.among([one for one in problem.constraints if one.player == player], treeplex)
               for player, treeplex in enumerate(treeplexes)]  # fmt: skip
    build_seconds, begun = counted_now() - begun, counted_now()
    played = [None if limits is None else limits.only_behaviour(_dependence(game, player))
              for player, (limits, _) in enumerate(limited)]  # fmt: skip
    players = tuple(player for player, one in enumerate(played) if one is not None)
    if (
        not players
        or any(rows for _, rows in limited)
        or any(limits is not None and player not in players for player, (limits, _) in enumerate(limited))
    ):
        return None
    plans = [treeplex.plan(treeplex.uniform_behaviour() if one is None else one)
             for treeplex, one in zip(treeplexes, played, strict=True)]  # fmt: skip
    for player, one in enumerate(played):
        if one is None:
            best = best_response_plan(treeplexes[player], game.sequence_form.gradient(player, plans))
            played[player], plans[player] = best.behaviour, best.plan
    prices: dict[str, float] = {}
    for player, (limits, _) in enumerate(limited):
        if limits is not None:
            prices |= limits.prices(game.sequence_form.gradient(player, plans))
    profile = Profile([Strategy(game, player, one) for player, one in enumerate(played) if one is not None])
    return Outcome(
        plans=(),
        stopped=Status.ITERATION_LIMIT,  # if the certificate meets the tolerance, the run has converged
        detail="after one evaluation",
        iterations=0,
        seconds=counted_now() - begun,
        build_seconds=build_seconds,
        state=OnlyPlay(players),
        multipliers=prices,
        proof=proven(problem, profile, prices, {}),
    )


def run(method: RegretMethod, problem: Problem, options: Options) -> Outcome:
    """Iterate on the public form until the certificate meets the tolerance or a limit is reached."""
    if isinstance(problem.game.public_form, CutForm):
        from . import cut_loop

        return cut_loop.run(method, problem, options, number_of(method, problem, options))
    if isinstance(problem, EpsilonNash) and problem.constraints:
        at_once = _by_evaluation(problem)
        if at_once is not None:
            return at_once
    number = number_of(method, problem, options)
    begun = counted_now()
    loop = stepper(method, problem, number, options)
    build_seconds = counted_now() - begun
    warm(loop.kernel.number, adding=not _is_plain(problem), evaluating=loop.evaluates)
    found = iterate(loop, options)
    return found.outcome(build_seconds, state=PublicState(method, _identity(problem), loop.state), **loop.answer())


def stepper(method: RegretMethod, problem: Problem, number: Any, options: Options) -> PublicStepper:
    """Return the loop at its start: in the state of a solution, or fresh."""
    form = problem.game.public_form
    assert form is not None
    terms = None
    if not _is_plain(problem):
        assert isinstance(problem, SaddleProblem | EpsilonNash)
        terms = PublicTerms.of(problem.canonical)
    kernel = PublicKernel(form, number, terms=terms)
    predicting = bool(method.local_rule.prediction)
    # 16 bits are not accurate enough for rows and limits.
    may_shorten = method.precision == "auto" and number is np.float32 and terms is None
    if may_shorten and Budget().left(kernel.taken(predicting)) < 0:
        kernel.number = np.uint16
    state = kernel.initial_state(predicting)
    reached = _reached(method, problem, options.start)
    if reached is not None:
        fill(named(state), converted(kernel.layout, named(reached), state))
    elif options.start is not None:
        begun = kernel.start_from(_public_start(problem, options.start), predicting)
        fill(named(state), converted(kernel.layout, named(begun), state))
    loop = PublicStepper(method, problem, kernel, state, options)
    loop.begins_with_check = options.start is not None
    return loop


def _identity(problem: Problem) -> tuple[object, ...]:
    """Return the identity of a problem: regrets and multipliers are valid only for problems with equal identities."""
    if _is_plain(problem):
        return (problem.game.fingerprint,)
    assert isinstance(problem, SaddleProblem | EpsilonNash)
    saddle = problem.canonical
    rows = [
        (one.name, one.player, one.indices.tobytes(), one.coefficients.tobytes(), one.limit)
        for one in saddle.constraints
        if isinstance(one, LinearConstraint)
    ]
    penalties = [None if each is None else each.penalty for each in (saddle.own, saddle.other)]
    tilt = None if saddle.tilt is None else saddle.tilt.tobytes()
    replies = saddle.view.replies
    share = replies.share if isinstance(replies, PartlyFree) else None
    return problem.game.fingerprint, saddle.view.player, tilt, saddle.weight, saddle.floor, share, *penalties, *rows


def _reached(method: RegretMethod, problem: Problem, start: Any) -> PlayArrays | None:
    """Return the state in which a solution of the same problem by the same method ended; ``None`` without one."""
    kept = start.state if isinstance(start, Solution) else None
    if isinstance(kept, PublicState) and kept.method == method and kept.problem == _identity(problem):
        return kept.arrays
    return None


def _public_start(problem: Problem, start: Any) -> PublicProfile:
    """Return the strategies that a run starts from; the game's sequence form is not built if they are in public form.

    Raises
    ------
    InvalidStrategyError
        If they belong to another game.
    """
    profile = start.profile if isinstance(start, Solution) else start
    if not isinstance(profile, StrategiesOnDemand) or profile.game is not problem.game:
        check_same_game(profile[0], problem.game)
    assert problem.game.public_form is not None
    return PublicProfile.of(problem.game.public_form, profile)


def number_of(method: RegretMethod, problem: Problem, options: Options) -> Any:
    """Return the type of the stored numbers."""
    if method.precision == "auto":
        return np.float32 if options.tol >= _SINGLE_TOLERANCE * problem.unit else np.float64
    return {"half": np.uint16, "single": np.float32, "double": np.float64}[method.precision]


@functools.cache
def warm(number: Any, *, adding: bool = False, evaluating: bool = True) -> None:
    """Compile the loop on a tiny game, or load it from its cache, so that this does not count as solving time."""
    from ...seqform.factored import FactoredPayoff
    from ...seqform.public_payoff import Leaves
    from ..methods.rules import CFR as RULE

    with compiling():
        leaves = Leaves(np.array([1]), np.ones(1), FactoredPayoff(np.ones((1, 1)), np.ones((1, 1))))
        form = PublicForm([0, TERMINAL], [-1, 0], ["", "end"], [["one"], ["one"]], [leaves])
        game = Game.from_public_form(form)
        terms = PublicTerms(Saddle(PlayerView(game, 0), weight=1.0)) if adding else None
        kernel = PublicKernel(form, number, terms=terms)
        state = kernel.initial_state()  # predictions have the same types
        kernel.run(state, RULE, 1)
        if evaluating:
            kernel.evaluate(state, 0, best=True)
