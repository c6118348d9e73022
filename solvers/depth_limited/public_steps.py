"""Responses along the paths of a game in public form: a trunk with values at its ends, then each subgame.

The trunk and the subgames after each of its ends are games in public form of their own, which the compiled loop solves
without ever listing pairs of private states.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...models.depth_limited import GADGETS
from ...models.depth_limited.public_subgames import PublicCut, Subgames, TrunkAccount
from ...models.problems import CDRNR, RestrictedNash
from ...models.problems.certificate import Certificate, StepBounds
from ...models.problems.stepped import SteppedResponse
from ...seqform.arrays import Floats, Indices
from ...seqform.game import Game
from ...seqform.limits import counted_now, seconds_left
from ...seqform.public_form import PublicForm
from ...seqform.public_profile import PublicProfile
from ...seqform.rules import TERMINAL
from ...seqform.strategy import Profile, Strategy
from ..certification import LIMITS
from ..iteration import NEVER, iterate
from ..methods import CFR, DCFR, CFRPlus, RegretMethod
from ..methods.rules import Rule
from ..outcome import Options, Outcome, Progress, Status, reported
from ..solution import RunState, Solution
from ..solve import solve_part
from .learned_values import LearnedValue
from .method import DepthLimitedCFR
from .public_trunk import LearnedBelow, PlayedBelow, TrunkPlay, states_of

#: The iterations that complete each player's plan of the trunk in the whole game.
COMPLETION = 1000
#: Tolerances of at least this fraction of the largest payoff are met in single precision.
_SINGLE = 1e-6


@runtime_checkable
class PairValue(Protocol):
    """A value function whose values are payoffs of pairs of private states, so that the trunk is a game."""

    @property
    def name(self) -> str:
        """The name in tables and messages."""

    def pairs(self, form: PublicForm, node: int) -> Floats:
        """Return player 0's payoff for each pair of states from a public state on, weighted by chance."""


def _has_values(value: Any, problem: Any) -> bool:
    """Whether a value function has values at the ends of a street: of pairs of states, or learned for ranges."""
    if isinstance(value, PairValue) or not isinstance(value, LearnedValue):
        return isinstance(value, PairValue)
    form = problem.game.public_form
    return form is not None and set(states_of(form, PublicCut(form, problem.player).played)) <= set(value.parameters)


def is_plain(method: Any) -> bool:
    """Whether the compiled loops on public forms have a method's rule."""
    return isinstance(method, CFR | CFRPlus | DCFR)


def serves(method: Any, problem: Any) -> bool:
    """Whether a response is decided on the public form: from a trunk to the subgames after public chance events."""
    form = problem.game.public_form if problem.game.rules is None else None
    return (
        isinstance(problem, CDRNR)
        and method.updates == "alternating"
        and method.iterate == "average"
        and problem.level == "chance"
        and problem.gadget in ("resolving", "reach-resolving")
        and problem.blueprint is None
        and float(problem.p) < 1.0
        and form is not None
        and form.is_whole
        and bool(form.deals)
        and not method.local_rule.prediction
        and PublicCut(form, problem.player).is_last
        and (_has_values(method.value, problem) if isinstance(method, DepthLimitedCFR) else is_plain(method))
    )


@dataclass(frozen=True)
class PathState(RunState):
    """The steps of a run on a public form; only the trunk's values may have errors, which are not measured."""

    steps: int

    @property
    def value_errors(self) -> tuple[float, ...]:
        """The mean error of each step's queries."""
        return (float("nan"), *(0.0 for _ in range(self.steps - 1)))[: self.steps]


def run(method: RegretMethod, problem: SteppedResponse, options: Options) -> Outcome:
    """Decide the trunk, complete its plan, and decide each subgame with promises; see :class:`PublicPath`."""
    assert isinstance(problem, CDRNR)
    begun = counted_now()
    work = PublicPath(method, problem, options, begun)
    account = work.decide_trunk()
    try:
        work.decide_subgames(account)
    except KeyboardInterrupt:  # the completed plan decides in the subgames that are left
        work.stopped = Status.INTERRUPTED
    if options.answered is not None:
        options.answered()
    profile, certificate = work.proof()
    steps = len(certificate.steps)
    return Outcome(
        plans=(),
        stopped=work.stopped,
        detail=f"after {work.iterations} iterations in {steps} of {len(problem.steps)} steps"
        + f", the first with a gap of {work.first_gap:.3g} because of its values" * isinstance(method, DepthLimitedCFR),
        iterations=work.iterations,
        seconds=counted_now() - begun,
        build_seconds=0.0,
        state=PathState(steps) if isinstance(method, DepthLimitedCFR) else None,
        proof=(profile, certificate),
    )


@dataclass(eq=False)
class PublicPath:
    """A response whose steps are games in public form.

    Parameters
    ----------
    method : RegretMethod
        With a value function, or without one: then the subgames learn together with the trunk.
    problem : CDRNR
    options : Options
    begun : float
        When the run began.

    Attributes
    ----------
    own, replies : dict of int to ndarray
        The behaviour of the player, and of the other player against which steps prove their bounds, by node.
    bounds : dict of int to pair of float
        What the plan of each step is worth, and at most is, by the node at which the step begins.
    iterations : int
        Iterations in all games.
    stopped : Status
        The limit that ended a loop; otherwise ``CONVERGED``.

    Notes
    -----
    1. The trunk with the value function's payoffs at its ends is solved as a restricted Nash response.
    2. Its plan is completed: the subgames are solved for the ranges that the trunk leads to. The completed plan and the
       other player's strategies prove the trunk's bounds in the whole game, so that a bad value function shows as a
       gap. Best replies to the completed plan give the promises to each subgame.
    3. In each subgame the other player may stop for its promise (the gadget), and a restricted Nash response is found.
       Its gap is split among the subgames, whose programs are independent.

    This is the scheme of :class:`~treeplex.models.depth_limited.ResolvingRun` with promises, whose theorem it inherits:
    exploitability is at most (p gain + the sum of all gaps) / (1 − p).
    """

    method: RegretMethod
    problem: CDRNR
    options: Options
    begun: float
    own: dict[int, Floats] = field(default_factory=dict)
    replies: dict[int, Floats] = field(default_factory=dict)
    bounds: dict[int, tuple[float, float]] = field(default_factory=dict)
    iterations: int = 0
    stopped: Status = Status.CONVERGED

    def __post_init__(self) -> None:
        form = self.problem.game.public_form
        assert form is not None
        self.form, self.p = form, float(self.problem.p)
        self.cut = PublicCut(form, self.problem.player)
        self.model = self._public(form, self.problem.opponent)
        #: The games that are still to be solved, which share the time.
        self._left = 3 + len(self.cut.exits)

    @property
    def player(self) -> int:
        """The seat of the player who responds."""
        return self.problem.player

    def decide_trunk(self) -> TrunkAccount:
        """Decide the trunk, complete its plan, and return what the other player earns below it and is promised."""
        cut, method = self.cut, self.method
        if not isinstance(method, DepthLimitedCFR):
            # The subgames learn with the trunk; their averages are the completion.
            found: dict[str, TrunkAccount] = {}

            def judge(play: TrunkPlay) -> float:
                self._adopt(play, below)
                found["account"] = self._account()
                return self.first_gap

            below = self._below()
            self._iterate(TrunkPlay(cut, self.model, self.p, below, self._rule, judge=judge), self.options.tol)
            return found["account"]
        played = self._by_pairs(method.value) if isinstance(method.value, PairValue) else self._by_ranges(method.value)
        for player in (cut.player, cut.other):
            # The rest of the game is solved below each player's plan in turn, while the other player is free.
            fixed = {node: one for node, one in played.items() if self.form.players[node] == player}
            below = self._below()
            play = TrunkPlay(cut, self.model, self.p, below, self._rule, fixed)
            self._iterate(play, 0.0, COMPLETION)
            self._adopt(play, below, (player,))
        return self._account()

    @property
    def first_gap(self) -> float:
        """The gap of the trunk's step, which is that of the completed plan in the whole game."""
        worth, upper = self.bounds[0]
        return max(0.0, upper - worth)

    def _by_pairs(self, value: PairValue) -> dict[int, Floats]:
        """Return both players' behaviour in the trunk as a game whose ends pay each pair of states."""
        cut = self.cut
        form = cut.trunk_form({event: value.pairs(self.form, event) for event in cut.events})
        game = Game.from_public_form(form, f"the trunk of {self.problem.game.spec}")
        posed = RestrictedNash(game, self._modelled(game, cut.trunk), p=self.p, game_value=0.0)
        try:
            profile = PublicProfile.of(form, self._solved(posed, self.options.tol / 2).profile)
        except KeyboardInterrupt:
            self.stopped, profile = Status.INTERRUPTED, PublicProfile.uniform(form)
        return {int(cut.trunk[node]): profile.behaviour(node) for node in form.decisions.tolist()}

    def _by_ranges(self, value: Any) -> dict[int, Floats]:
        """Return both players' behaviour in the trunk with a learned value function, queried at each update."""
        cut = self.cut
        play = TrunkPlay(cut, self.model, self.p, LearnedBelow(value, states_of(self.form, cut.played)), self._rule)
        self._iterate(play, 0.0)
        found = PublicProfile(self.form, {**play.averages(0), **play.averages(1)})
        return {node: found.behaviour(node) for node in cut.trunk.tolist() if self.form.players[node] >= 0}

    def _below(self) -> PlayedBelow:
        exactly = self.options.tol < _SINGLE * self.form.payoff_scale
        return PlayedBelow(self.form, self.cut.played, self._rule, np.float64 if exactly else np.float32)

    def _adopt(self, play: TrunkPlay, below: PlayedBelow, players: tuple[int, ...] = (0, 1)) -> None:
        """Adopt averages: the player's own, or the other player's, mixed with the model in the trunk."""
        for player in players:
            mine = {**play.averages(player), **below.behaviours(player)}
            if player == self.player:
                self.own |= mine
                continue
            free = PublicProfile(self.form, mine)
            mixed = _mixed(self.form, player, self.p, self.model, free, self.cut.trunk.tolist())
            self.replies |= {**mine, **mixed}

    def _account(self) -> TrunkAccount:
        """Evaluate the completed plan by best replies, and record the bounds of the trunk's step."""
        form, cut = self.form, self.cut
        earned: dict[int, Floats] = {}
        roots = {root for event in cut.events for root in form.children[event].tolist()}
        both = PublicProfile(form, self._all).walk(see=_noting(roots, earned, cut.other))
        account = TrunkAccount.of(cut, PublicProfile(form, self.own), earned, self.model)
        worth = -(self.p * account.modelled + (1.0 - self.p) * account.best)
        self.bounds[0] = worth, float(form.weights[self.player] @ both[self.player][1])
        return account if GADGETS[self.problem.gadget].promises else replace(account, promises=earned)

    def decide_subgames(self, account: TrunkAccount) -> None:
        """Decide in all subgames; those that a limit leaves out keep the completed plan."""
        form, cut, other = self.form, self.cut, self.cut.other
        plan = PublicProfile(form, dict(self.own))
        for event in cut.exits:
            roots, reach = form.children[event].tolist(), plan.reach(self.player, event)
            if not reach.any():
                self.bounds |= dict.fromkeys(roots, (0.0, 0.0))
                continue
            if self.stopped is Status.INTERRUPTED or self._time() <= 0.0:
                self.stopped = self.stopped if self.stopped is Status.INTERRUPTED else Status.TIME_LIMIT
                return
            weights = [reach, form.weights[other]][:: 1 - 2 * self.player]
            subgames = cut.subgames(event, (weights[0], weights[1]), {root: account.promises[root] for root in roots})
            game = Game.from_public_form(subgames.form, f"a subgame of {self.problem.game.spec}")
            # Where the model has a range of its own, its probability of entering does not include it.
            entering = np.zeros(len(form.states[other]))
            np.divide(
                self.model.reach(other, event), form.weights[other], out=entering, where=form.weights[other] > 0.0
            )
            model = self._modelled(game, subgames.known, np.stack([1.0 - entering, entering]))
            found = self._solved(RestrictedNash(game, model, p=self.p, game_value=0.0), self.options.tol)
            profile = PublicProfile.of(subgames.form, found.profile)
            decided = subgames.behaviours(profile).items()
            self.own |= {node: behaviour for node, behaviour in decided if form.players[node] == self.player}
            self._bound(subgames, profile, self._public(subgames.form, model))

    def proof(self) -> tuple[Profile, Certificate]:
        """Return the response with its certificate, whose steps are those of the problem."""
        problem, form = self.problem, self.form
        response = PublicProfile(form, self._all).to_profile(problem.game)[self.player]
        inner, steps = np.flatnonzero(form.players != TERMINAL), []
        for step in problem.steps:
            nodes = [0] if step.before is None else inner[step.states].tolist()
            if not set(nodes) <= set(self.bounds):
                break
            worth, upper = np.sum([self.bounds[node] for node in nodes], axis=0).tolist()
            steps.append(StepBounds(step.level, worth, max(worth, upper)))
        profile = Profile([response, problem.opponent][:: 1 - 2 * self.player])
        return profile, replace(problem.certify(profile, None, {}), steps=tuple(steps))

    def _bound(self, subgames: Subgames, profile: PublicProfile, model: PublicProfile) -> None:
        """Record the bounds that a solution proves in each of several subgames."""
        form, other, nodes = subgames.form, self.cut.other, set(subgames.roots.values())
        mixed = _mixed(form, other, self.p, model, profile, list(range(len(form.players))))
        replies = PublicProfile(form, mixed)
        seen: list[dict[int, Floats]] = [{}, {}, {}]
        for against, notes in (
            (model, (_noting(nodes, seen[0], other, best=0), _noting(nodes, seen[1], other))),
            (replies, (_noting(nodes, seen[2], self.player),)),
        ):
            both = {
                node: (against if form.players[node] == other else profile).behaviour(node)
                for node in form.decisions.tolist()
            }
            for note in notes:
                PublicProfile(form, both).walk(see=note)
        weights = form.weights
        for root, node in subgames.roots.items():
            modelled, best = (float(weights[other] @ each[node]) for each in seen[:2])
            worth = -(self.p * modelled + (1.0 - self.p) * best)
            self.bounds[root] = worth, float(weights[self.player] @ seen[2][node])

    @property
    def _rule(self) -> Rule:
        return self.method.local_rule

    def _iterate(self, play: TrunkPlay, tol: float, most: int = NEVER) -> None:
        """Run a loop on the trunk within its share of the limits; not at all after an interruption."""
        most = 0 if self.stopped is Status.INTERRUPTED else min(most, self.options.max_iterations)
        limits = replace(
            self.options,
            tol=tol,
            max_iterations=most,
            time_limit=self._share(),
            progress=None,
            callback=self._tell(),
            answered=None,
        )
        found = iterate(play, limits)
        self.iterations += found.iterations
        if found.stopped is Status.INTERRUPTED or tol > 0.0:
            self._stop(found.stopped)

    def _solved(self, posed: RestrictedNash, tol: float) -> Solution:
        """Solve a game of a step within its share of the limits."""
        base = self.method.base_method if isinstance(self.method, DepthLimitedCFR) else self.method
        seconds = self._share()
        found = solve_part(
            posed,
            replace(base, precision="auto"),
            tol=tol,
            max_iterations=self.options.max_iterations,
            callback=self._tell(),
            time_limit=seconds if np.isfinite(seconds) else None,
        )
        self.iterations += found.iterations
        self._stop(found.status)
        return found

    def _stop(self, status: Status) -> None:
        """Record the status of a loop that a limit ended."""
        if status in LIMITS and self.stopped is not Status.INTERRUPTED:
            self.stopped = status

    def _tell(self) -> Callable[[Progress], bool]:
        """Return a callback that reports the progress of a loop as a part of the whole run."""
        done, options = self.iterations, self.options
        return lambda report: reported(
            options, done + report.iterations, counted_now() - self.begun, report.exploitability
        )

    def _time(self) -> float:
        return seconds_left(self.options.time_limit - (counted_now() - self.begun))

    def _share(self) -> float:
        """Return the share of the time that is left for the next game."""
        self._left -= 1
        return self._time() / (1 + max(0, self._left))

    @property
    def _all(self) -> dict[int, Floats]:
        return {**self.replies, **self.own}

    def _modelled(self, game: Game, known: Indices, gadget: Floats | None = None) -> Strategy:
        """Return the model in a game of a step, given its behaviour at a gadget."""
        form = game.public_form
        assert form is not None

        def behaviour(node: int) -> Floats:
            found = gadget if known[node] < 0 else self.model.behaviour(int(known[node]))
            assert found is not None
            return found

        return PublicProfile(form, behaviour).to_profile(game)[self.cut.other]

    def _public(self, form: PublicForm, strategy: Strategy) -> PublicProfile:
        """Return the other player's strategy in public form."""
        pair = [Strategy.uniform(strategy.sequence_form, self.player), strategy][:: 1 - 2 * self.player]
        return PublicProfile.from_profile(form, Profile(pair))


def _noting(nodes: set[int], to: dict[int, Floats], player: int, best: int = 1) -> Callable[..., None]:
    """Return a callback of a walk that notes a player's values at nodes."""

    def see(here: Indices, reaches: Any, values: Any) -> None:
        for place, node in enumerate(here.tolist()):
            if node in nodes:
                to[node] = values[player][best, place].copy()

    return see


def _mixed(
    form: PublicForm, player: int, share: float, first: PublicProfile, second: PublicProfile, nodes: list[int]
) -> dict[int, Floats]:
    """Return the behaviour, not normalised, of the mixture of a player's two plans, by node among those given."""
    reaches = {0: (np.full_like(form.weights[player], share), np.full_like(form.weights[player], 1.0 - share))}
    found: dict[int, Floats] = {}
    for node in nodes:
        here = reaches.pop(node)
        after = form.children[node].tolist()
        if form.players[node] != player:
            reaches |= dict.fromkeys(after, here)
            continue
        played = [each.behaviour(node) * reach for each, reach in zip((first, second), here, strict=True)]
        found[node] = played[0] + played[1]
        reaches |= {child: (played[0][number], played[1][number]) for number, child in enumerate(after)}
    return found
