"""Runs the compiled samplers in short calls: limits, progress, interruption, starts."""

import functools
import math
import time
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ...models.preferences import preference_on
from ...models.problems import Certificate, Problem
from ...seqform.errors import InvalidStrategyError, shown
from ...seqform.game import Game
from ...seqform.sequence_form import SequenceForm
from ...seqform.strategy import Profile, Strategy, check_same_game
from ..methods import MCCFR, ESPrefCFR, OutcomeSamplingMCCFR
from ..certification import certified_error
from ..outcome import Options, Outcome, checked_seed, reported
from ..solution import History, Solution
from ..status import Status
from .sampler import LocalPreference, Sampler, SamplerState, SamplingRule
from .tree import HistoryTree, history_tree

#: Seconds that one call of the compiled samplers should take: Ctrl-C arrives, and limits are looked at, between calls.
CALL_SECONDS = 0.05
#: The certificate is computed each time the histories touched have grown by this factor, from one whole game on.
CHECK_GROWTH = 1.2
#: A start's regrets are so many times the game's largest payoff in all at each infoset.
TRUST = 10.0
_FIRST_CALL = 32

_trees: "WeakKeyDictionary[SequenceForm, HistoryTree]" = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class SamplingState:
    """What a method that samples needs to go on where it stopped."""

    method: MCCFR
    state: SamplerState


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


def rule_of(method: MCCFR, num_players: int) -> SamplingRule:
    """Return what a method samples as the compiled samplers take it."""
    averaging = method.averaging or ("simple" if num_players <= 2 else "sampled")
    floor = 0.0 if method.local_rule == "regret-matching+" else -math.inf
    if isinstance(method, OutcomeSamplingMCCFR):
        baselines = "infoset" if method.baselines == "none" else method.baselines
        rate = None if method.baselines == "none" else float(method.baseline_rate)
        return SamplingRule("outcome", averaging, floor, float(method.exploration), rate, baselines)
    return SamplingRule("external", averaging, floor)


def preference_of(method: MCCFR, game: Game) -> LocalPreference | None:
    """Return what a method prefers in a game as the compiled samplers take it; nothing if it knows no preferences.

    Raises
    ------
    InvalidPreferenceError
        If a preference is about nothing in the game.
    """
    if not isinstance(method, ESPrefCFR):
        return None
    found = preference_on(game, method.prefer, method.vulnerability, method.units)
    return LocalPreference(found.degrees, found.vulnerability, method.rule == "br", method.units == "conditional")


def run(method: MCCFR, problem: Problem, options: Options) -> Outcome:
    """Iterate until the certificate meets the tolerance or a limit comes; see :class:`~treeplex.solvers.methods.MCCFR`.

    When the certificate is computed depends on histories touched, not on the clock, so that equal seeds give equal
    runs.
    """
    begun = time.perf_counter()
    seed = checked_seed(options.seed)
    tree = tree_for(problem.game)
    sampler, rule = Sampler(tree), rule_of(method, tree.num_players)
    preference = preference_of(method, problem.game)
    _warm(preference is not None)
    state = _start(method, problem, sampler, rule, preference, options, seed)
    build_seconds = time.perf_counter() - begun

    begun = time.perf_counter()
    first = state.iterations
    stopped = Status.ITERATION_LIMIT
    chunk = _FIRST_CALL
    rows: list[tuple[int, float, float, int]] = []  # iterations, seconds, exploitability, histories touched
    proof: tuple[Profile, Certificate] | None = None  # that of the last row
    try:
        while True:
            if state.touched >= state.next_check:
                proof = _proof(problem, sampler, state)
                rows.append(_row(state, begun, proof))
                state.next_check = max(tree.num_nodes, math.ceil(state.touched * CHECK_GROWTH))
                if options.tol > 0.0 and certified_error(problem, proof[1], options) <= options.tol:
                    stopped = Status.CONVERGED
                    break
            remaining = options.max_iterations - (state.iterations - first)
            if remaining <= 0:
                break
            now = time.perf_counter()
            if now - begun >= options.time_limit:
                stopped = Status.TIME_LIMIT
                break
            if reported(options, state.iterations, now - begun, rows[-1][2] if rows else None):
                stopped = Status.INTERRUPTED
                break
            before = state.iterations
            sampler.run(state, rule, min(chunk, remaining), state.next_check)
            took = max(time.perf_counter() - now, 1e-9)
            left = max(options.time_limit - (now + took - begun), 0.0)
            fit = (state.iterations - before) * min(CALL_SECONDS, left) / took
            chunk = max(1, min(4 * chunk, int(fit)))
    except KeyboardInterrupt:
        stopped = Status.INTERRUPTED
    ended = time.perf_counter()
    if proof is None or not rows or rows[-1][0] != state.iterations:
        # The history ends with the strategies that are returned.
        proof = _proof(problem, sampler, state)
        rows.append(_row(state, begun, proof))
    return Outcome(
        plans=proof[0].plans,
        stopped=stopped,
        detail=f"after {state.iterations} iterations, in which {state.touched} histories were touched",
        iterations=state.iterations,
        seconds=ended - begun,
        build_seconds=build_seconds,
        history=_history(rows),
        state=SamplingState(method, state),
        proof=proof,
    )


def _proof(problem: Problem, sampler: Sampler, state: SamplerState) -> tuple[Profile, Certificate]:
    """Return the averaged strategies and their certificate."""
    strategies = [Strategy(problem.game, player, each) for player, each in enumerate(sampler.average(state))]
    profile = Profile(strategies)
    return profile, problem.certify(profile)


def _row(state: SamplerState, begun: float, proof: tuple[Profile, Certificate]) -> tuple[int, float, float, int]:
    return state.iterations, time.perf_counter() - begun, proof[1].exploitability, state.touched


def _history(rows: list[tuple[int, float, float, int]]) -> History:
    iterations, seconds, errors, touched = zip(*rows, strict=True)
    return History(
        np.array(iterations, dtype=np.int64), np.array(seconds), np.array(errors), np.array(touched, dtype=np.int64)
    )


def _start(
    method: MCCFR,
    problem: Problem,
    sampler: Sampler,
    rule: SamplingRule,
    preference: LocalPreference | None,
    options: Options,
    seed: int,
) -> SamplerState:
    """Return the state to go on from: a copy of a solution's, or a fresh one that plays the profile."""
    start = options.start
    if isinstance(start, Solution):
        kept = start.state
        same = start.problem.game.fingerprint == problem.game.fingerprint
        if isinstance(kept, SamplingState) and kept.method == method and same:
            state = kept.state.copy()
            state.next_check = state.touched  # it may be good enough as it is
            return state
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
def _warm(preferring: bool = False) -> None:
    """Compile the samplers, or load them from their cache, on a tiny game, so that no solve's seconds hold that."""
    from ...models.games import load_game

    game = load_game("kuhn")
    sampler = Sampler(tree_for(game))
    preference = preference_of(ESPrefCFR(), game) if preferring else None
    sampler.run(sampler.initial_state(SamplingRule(), preference=preference), SamplingRule(), 1)
