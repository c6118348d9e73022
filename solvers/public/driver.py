"""Regret minimisation on games in public form, as a stepper, and what it answers."""

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
from ...seqform.game import Game
from ...seqform.limits import compiling, counted_now
from ...seqform.public_form import PublicForm
from ...seqform.public_profile import PublicProfile, StrategiesOnDemand
from ...seqform.rules import TERMINAL
from ...seqform.strategy import Profile, check_same_game
from ..certification import loop_error, proven, proves
from ..checkpoint import Saved, fill
from ..iteration import Stepper, iterate
from ..methods import CFR, DCFR, CFRPlus, PCFRPlus, RegretMethod
from ..outcome import Options, Outcome, Status
from ..solution import RunState, Solution
from ..uniform_play import by_best_responses
from .arrays import PlayArrays
from .kernel import PublicKernel
from .storage import converted, named
from .terms import PublicTerms, takes

#: Single precision is chosen, where it is left to the library, for tolerances of this much of the largest payoff.
_SINGLE_TOLERANCE = 1e-6
#: Iterations after which it is first asked whether stakes hold multipliers back; then after twice as many each time.
FIRST_LOOK = 32


def serves(method: RegretMethod, problem: Problem, start: Any) -> bool:
    """Whether the loop takes a problem on a public form: one program for all of it, found by turns and averaged."""
    return (
        method.bias is None
        and method.updates == "alternating"
        and method.iterate == "average"
        and not method.initial_regrets
        and isinstance(method, CFR | CFRPlus | DCFR | PCFRPlus)
        and (_is_plain(problem) or (method.precision != "half" and _is_taken(problem)))
        and (start is None or _starts(problem, start))
    )


def _starts(problem: Problem, start: Any) -> bool:
    """Whether a start is one of the problem's game, as plans of it: the loop on games with types has none."""
    if isinstance(problem, SaddleProblem) and not _is_plain(problem) and problem.canonical.view.replies is not None:
        return isinstance(start, Solution) and isinstance(start.state, PublicState)
    return isinstance(start, Solution | Profile)


def _is_plain(problem: Problem) -> bool:
    """Whether a problem is an equilibrium of the game as it is."""
    return isinstance(problem, Nash | EpsilonNash)


def _is_taken(problem: Problem) -> bool:
    """Whether a problem is a program that the loop can state."""
    return isinstance(problem, SaddleProblem) and Feature.PROGRAM in problem.needs and takes(problem.canonical)


@dataclass(frozen=True, eq=False)
class PublicState(RunState):
    """The state that a run on a public form needs to continue."""

    method: RegretMethod
    problem: tuple[object, ...]  # what identifies it: regrets and multipliers are of that alone
    arrays: PlayArrays

    @property
    def remark(self) -> str:
        """That 16 bits were chosen, if they were."""
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
        self._answer: tuple[int, dict[str, Any]] | None = None  # after how many iterations it was found

    @property
    def iterations(self) -> int:
        """Updates of both players."""
        return int(self.state.clock[0])

    @property
    def room(self) -> int:
        """Not beyond the next look: what is found there is not to depend on the clock."""
        return super().room if self.kernel.terms is None else min(super().room, self._next_look - self.iterations)

    def step(self, iterations: int) -> None:
        """Run the compiled loop."""
        self.kernel.run(self.state, self._rule, iterations)

    def check(self) -> float:
        """Return the error of the averages, in payoff units.

        Of an equilibrium it is half of what both players' best responses to the averages earn, or where payoffs do not
        sum to zero the more that one of them gains.
        """
        if self.kernel.terms is not None:
            certificate = self._bounds(self.kernel.terms)
            # Averages that miss a constraint may earn more than the bound, and what they prove is seen in confirms().
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
        """Return the bounds of :meth:`Saddle.bounds`, at the averages, by the compiled loop.

        They are valid as far as the averages meet their constraints.
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

    def look(self) -> Status | None:
        """Raise the stakes of rows that are violated though their multipliers are near to them.

        Bounds beyond what anybody could earn prove that constraints cannot be met.
        """
        terms = self.kernel.terms
        if terms is None or self.iterations < self._next_look:
            return None
        self._next_look = _next_look(self.iterations)
        found = self._bounds(terms)
        terms.raise_stakes(self.state.calls, found.violations, self._options)
        beyond = max(found.lower or 0.0, -(found.upper or 0.0)) > terms.most
        return Status.INFEASIBLE if beyond and found.violation > self._options.violation else None

    def behaviour(self, node: int) -> Floats:
        """Return the average behaviour at a public state, shape (actions, states)."""
        return self.kernel.behaviour(self.state, node)

    def values(self, player: int) -> dict[int, Floats]:
        """Return a player's counterfactual values under the averages, by node of the root's board."""
        return self.kernel.values(self.state, player)

    @property
    def _profile(self) -> PublicProfile:
        """The averages of now."""
        return PublicProfile(self.kernel.layout.form, self.behaviour, self.values if self.evaluates else None)

    def saved(self) -> Saved:
        """Return where it stands."""
        return {"due": [self.next_check, self._next_look], **named(self.state)}

    def restore(self, saved: Saved) -> None:
        """Go on from there, in this run's precision: the tolerance, or the memory, may have changed it."""
        arrays = {name: found for name, found in saved.items() if name != "due" and isinstance(found, np.ndarray)}
        fill(named(self.state), converted(self.kernel.layout, arrays, self.state))
        self.next_check, self._next_look = (int(each) for each in saved["due"])

    def answer(self) -> dict[str, Any]:
        """Return the averages, what they prove, in double precision, and what helps, as :class:`Outcome` has them."""
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
        """Return what the averages prove: of the value to player 0, or of both regrets."""
        if isinstance(self.problem, EpsilonNash):
            return self.problem.proven([self._paid(player) for player in (0, 1)], self.best_responses)
        return by_best_responses(self.best_responses, self._paid(0))

    def _paid(self, player: int) -> float:
        """Return what a player earns where both play the averages."""
        if not self.evaluates:
            return self._profile.value(player)
        return self.kernel.evaluate(self.state, player, best=False)


def _next_look(iterations: int) -> int:
    """Return the iteration after which stakes are checked next."""
    look = FIRST_LOOK
    while look <= iterations:
        look *= 2
    return look


def run(method: RegretMethod, problem: Problem, options: Options) -> Outcome:
    """Iterate on the public form until the certificate meets the tolerance or a limit comes."""
    number = _number(method, problem, options)
    begun = counted_now()
    loop = stepper(method, problem, number, options)
    build_seconds = counted_now() - begun
    warm(loop.kernel.number, adding=not _is_plain(problem), evaluating=loop.evaluates)
    found = iterate(loop, options)
    return Outcome(
        plans=(),
        stopped=found.stopped,
        detail=f"after {found.iterations} iterations",
        iterations=found.iterations,
        seconds=found.seconds,
        build_seconds=build_seconds,
        history=found.history,
        state=PublicState(method, _identity(problem), loop.state),
        **loop.answer(),
    )


def stepper(method: RegretMethod, problem: Problem, number: Any, options: Options) -> PublicStepper:
    """Return the loop where a start says: in the state of a solution, or fresh."""
    form = problem.game.public_form
    assert form is not None
    terms = None
    if not _is_plain(problem):
        assert isinstance(problem, SaddleProblem)
        terms = PublicTerms.of(problem.canonical)
    kernel = PublicKernel(form, number, terms=terms)
    predicting = bool(method.local_rule.prediction)
    # Rows and limits are not met to the digits that 16 bits keep.
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
    """Return what tells problems apart whose regrets and multipliers are not the same."""
    if isinstance(problem, Nash) or not isinstance(problem, SaddleProblem):
        return (problem.game.fingerprint,)
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
    """Return the strategies that a run starts from; their game's sequence form is not made if they are public.

    Raises
    ------
    InvalidStrategyError
        If they are of another game.
    """
    profile = start.profile if isinstance(start, Solution) else start
    if not isinstance(profile, StrategiesOnDemand) or profile.game is not problem.game:
        check_same_game(profile[0], problem.game)
    assert problem.game.public_form is not None
    return PublicProfile.of(problem.game.public_form, profile)


def _number(method: RegretMethod, problem: Problem, options: Options) -> Any:
    """Return the type of the numbers that are kept."""
    if method.precision == "auto":
        return np.float32 if options.tol >= _SINGLE_TOLERANCE * problem.unit else np.float64
    return {"half": np.uint16, "single": np.float32, "double": np.float64}[method.precision]


@functools.cache
def warm(number: Any, *, adding: bool = False, evaluating: bool = True) -> None:
    """Compile the loop, or load it from its cache, on a tiny game, so that no solve's seconds hold that."""
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
