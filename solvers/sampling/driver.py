"""Monte Carlo CFR at work: the compiled samplers as a stepper, and their starts."""

import functools
import math
import time
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from ...models.games import load_game
from ...models.problems import Certificate, Problem
from ...seqform.arrays import Floats
from ...seqform.errors import InvalidStrategyError, shown
from ...seqform.game import Game
from ...seqform.sequence_form import SequenceForm
from ...seqform.strategy import Profile, Strategy, check_same_game
from ..certification import certified_error
from ..iteration import CHECK_GROWTH, NEVER, Stepper, iterate
from ..methods import MCCFR
from ..methods.rules import LocalBias, SamplingRule
from ..outcome import Options, Outcome, checked_seed
from ..solution import RunState, Solution
from ..style.report import preference_record
from .sampler import LocalPreference, Sampler, SamplerState
from .tree import HistoryTree, history_tree

#: A start's regrets are so many times the game's largest payoff in all at each infoset.
TRUST = 10.0

_trees: WeakKeyDictionary[SequenceForm, HistoryTree] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class SamplingState(RunState):
    """What a method that samples needs to go on where it stopped."""

    method: MCCFR
    state: SamplerState

    def preference_record(self, solution: Solution) -> dict[str, Any] | None:
        """Return how far preferences were followed."""
        return preference_record(solution)


def tree_for(game: Game) -> HistoryTree:
    """Return a game's histories as arrays; built once.

    Raises
    ------
    UnsupportedProblemError, GameTooLargeError
        As :func:`~treeplex.solvers.sampling.tree.history_tree`.
    """
    form = game.sequence_form
    if form not in _trees:
        _trees[form] = history_tree(game)
    return _trees[form]


def preference_of(bias: LocalBias | None, game: Game) -> LocalPreference | None:
    """Return what the local rule is biased to in a game as the compiled samplers take it.

    Raises
    ------
    InvalidPreferenceError
        If a preference is about nothing in the game.
    """
    if bias is None:
        return None
    found = bias.on(game)
    return LocalPreference(found.degrees, found.vulnerability, bias.greedy, bias.is_conditional)


class SamplingStepper(Stepper):
    """The compiled samplers on a game.

    Checks are scheduled by histories touched, from one whole game on: these take equally long, whatever is sampled,
    and do not depend on the clock on the wall, so that equal seeds give equal runs.

    Parameters
    ----------
    problem : Problem
    options : Options
        By which the error is judged.
    sampler : Sampler
    rule : SamplingRule
    state : SamplerState
        Changed in place.

    Attributes
    ----------
    proof : tuple of Profile and Certificate
        Of the averaged strategies at the last check.
    """

    proof: tuple[Profile, Certificate]

    def __init__(
        self, problem: Problem, options: Options, sampler: Sampler, rule: SamplingRule, state: SamplerState
    ) -> None:
        self.problem, self.options = problem, options
        self.sampler, self.rule, self.state = sampler, rule, state
        self.next_check = state.touched  # where a run goes on it may be good enough as it is

    @property
    def iterations(self) -> int:
        """Walks of every player."""
        return self.state.iterations

    @property
    def clock(self) -> int:
        """Histories touched."""
        return self.state.touched

    @property
    def room(self) -> int:
        """Any number: the samplers themselves stop at the next check."""
        return NEVER

    def check_after(self, clock: int) -> int:
        """Return when the certificate is due again after it was computed."""
        return max(self.sampler.tree.num_nodes, math.ceil(clock * CHECK_GROWTH))

    def step(self, iterations: int) -> None:
        """Walk."""
        self.sampler.run(self.state, self.rule, iterations, self.next_check)

    def check(self) -> float:
        """Return the error of the averaged strategies."""
        game = self.problem.game
        profile = Profile(
            [Strategy(game, player, each) for player, each in enumerate(self.sampler.average(self.state))]
        )
        self.proof = profile, self.problem.certify(profile)
        return certified_error(self.problem, self.proof[1], self.options)

    def current_plans(self) -> list[Floats]:
        """Return the plans that the players play now."""
        treeplexes = self.problem.game.sequence_form.treeplexes
        behaviours = self.sampler.policies(self.state)
        return [treeplex.plan(behaviour) for treeplex, behaviour in zip(treeplexes, behaviours, strict=True)]


def stepper(method: MCCFR, problem: Problem, options: Options) -> SamplingStepper:
    """Return the compiled samplers on a problem, ready to begin or to go on."""
    seed, game = checked_seed(options.seed), problem.game
    sampler, rule = Sampler(tree_for(game)), method.sampling_rule(game.num_players)
    preference = preference_of(method.bias, game)
    warm(preference is not None)
    state = _start(method, problem, sampler, rule, preference, options.start, seed)
    return SamplingStepper(problem, options, sampler, rule, state)


def run(method: MCCFR, problem: Problem, options: Options) -> Outcome:
    """Iterate until the certificate meets the tolerance or a limit comes."""
    begun = time.perf_counter()
    loop = stepper(method, problem, options)
    build_seconds = time.perf_counter() - begun
    found = iterate(loop, options)
    return Outcome(
        plans=loop.proof[0].plans,
        stopped=found.stopped,
        detail=f"after {found.iterations} iterations, in which {loop.clock} histories were touched",
        iterations=found.iterations,
        seconds=found.seconds,
        build_seconds=build_seconds,
        history=replace(found.history, touched=found.clocks),
        state=SamplingState(method, loop.state),
        proof=loop.proof,
    )


def _start(
    method: MCCFR,
    problem: Problem,
    sampler: Sampler,
    rule: SamplingRule,
    preference: LocalPreference | None,
    start: Any,
    seed: int,
) -> SamplerState:
    """Return the state to go on from: a copy of a solution's, or a fresh one that plays the profile."""
    if isinstance(start, Solution):
        kept = start.state
        same = start.problem.game.fingerprint == problem.game.fingerprint
        if isinstance(kept, SamplingState) and kept.method == method and same:
            return kept.state.copy()
        start = start.profile
    state = sampler.initial_state(rule, seed, preference)
    if start is None:
        return state
    if not isinstance(start, Profile):
        raise InvalidStrategyError(f"start is {shown(start)}, expected a Profile or a Solution")
    check_same_game(start[0], problem.game)
    trust = TRUST * problem.game.sequence_form.payoff_scale
    sampler.set_behaviour(state, [strategy.behaviour for strategy in start], trust)
    return state


@functools.cache
def warm(preferring: bool = False) -> None:
    """Compile the samplers, or load them from their cache, on a tiny game, so that no solve's seconds hold that."""
    game = load_game("kuhn")
    sampler = Sampler(tree_for(game))
    preference = preference_of(LocalBias(), game) if preferring else None
    sampler.run(sampler.initial_state(SamplingRule(), preference=preference), SamplingRule(), 1)
