"""Leduc poker against an opponent who sees few of the cards: the target, the probe, games between them, and answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...models.games import load_game
from ...models.observations import Observations, OpponentModel, frequency_model
from ...models.opponents import uniform_without
from ...models.play import simulate
from ...models.problems import BestNash, ConstrainedNash
from ...seqform.evaluate import best_response, best_response_values, expected_payoffs
from ...seqform.game import Game
from ...seqform.observer import observer_tree
from ...seqform.strategy import Profile, Strategy
from ...solvers import CCFR, HiGHS
from ...solvers.opponents.strategies import abstraction_profile
from .transit import completed

#: What the opponent sees of the cards (Waugh et al. 2009).
TARGET = "JQ.K/pair.nopair"
#: Multipliers are at most so many times the largest payoff: the price of a unit of violation.
PENALTY = 100.0
#: How far constrained CFR may be from its optimum, in payoff units, by its own certificate.
PRECISION = 0.02
#: Violations of linear programs up to this are none.
_ROUNDING = 1e-9


@lru_cache(maxsize=1)
def leduc() -> Game:
    """Return Leduc poker by ranks: suits never matter."""
    return load_game("leduc:merge_suits=true")


@lru_cache(maxsize=1)
def target_profile() -> Profile:
    """Return what the opponent plays in either seat."""
    return abstraction_profile(TARGET, leduc())


@lru_cache(maxsize=2)
def probe(player: int) -> Strategy:
    """Return what is played to observe the opponent: every action alike, but no folds."""
    return uniform_without(leduc(), player, "f")


def payoff(strategy: Strategy) -> float:
    """Return what a strategy earns against the target."""
    profile = list(target_profile())
    profile[strategy.player] = strategy
    return float(expected_payoffs(leduc(), Profile(profile))[strategy.player])


@lru_cache(maxsize=1)
def best_response_line() -> float:
    """Return what best responses to the target earn, on the average of both seats."""
    return float(np.mean(best_response_values(leduc(), target_profile())))


@lru_cache(maxsize=1)
def equilibrium_line() -> float:
    """Return the most that equilibrium strategies earn against the target, on the average of both seats."""
    game, target = leduc(), target_profile()
    best = [completed(BestNash(game, target[1 - seat]), HiGHS()).profile[seat] for seat in (0, 1)]
    return float(np.mean([payoff(strategy) for strategy in best]))


@lru_cache(maxsize=4)
def _unobserved(player: int, known_probe: bool) -> Observations:
    """Return observations of no game, which share what does not depend on counts."""
    view = observer_tree(leduc(), player)
    counts = np.zeros(view.num_classes, dtype=np.int64)
    return Observations(leduc(), player, counts, probe(player) if known_probe else None, view=view)


def observed(player: int, games: int, seed: int, repetition: int, known_probe: bool) -> Observations:
    """Return what one seat sees of so many games of the probe against the target.

    The first games of a longer log are those of a shorter one.

    Parameters
    ----------
    player : int
        The observer's seat, in which the probe sits.
    games : int
    seed, repetition : int
        Which log.
    known_probe : bool
        Whether the observer's own part in probabilities is known, or estimated from the same games.
    """
    blank = _unobserved(player, known_probe)
    profile = list(target_profile())
    profile[player] = probe(player)
    number = int(np.random.SeedSequence([seed, repetition, player]).generate_state(1)[0])
    leaves = np.concatenate(list(simulate(Profile(profile), games, number)))
    return blank.with_counts(np.bincount(blank.view.leaf_classes[leaves], minlength=blank.view.num_classes))


@dataclass(frozen=True)
class Answer:
    """The responses to one log of each seat, at one confidence; payoffs are averages of both seats.

    Attributes
    ----------
    iterative, exact, naive : float
        What constrained CFR's, the linear program's and the frequency model's responses earn against the target.
    difference : float
        The larger difference of the objectives of constrained CFR and the linear program, in payoff units.
    violation : float
        By how much the opponents of the linear program miss their constraints in total; 0 if somebody meets them.
    iterations : int
        Of constrained CFR, the larger number.
    """

    iterative: float
    exact: float
    naive: float
    difference: float
    violation: float
    iterations: int


def answers(
    games: int, repetition: int, confidences: Sequence[float], seed: int, known_probe: bool, iterations: int
) -> list[Answer]:
    """Return the responses to the first so many games of one log of each seat, one answer a confidence.

    Parameters
    ----------
    games, repetition : int
    confidences : sequence of float
    seed : int
    known_probe : bool
    iterations : int
        The most that constrained CFR may take.
    """
    logs = [observed(seat, games, seed, repetition, known_probe) for seat in (0, 1)]
    naive = float(np.mean([_naive(log) for log in logs]))
    return [_answer(logs, confidence, naive, iterations) for confidence in confidences]


def _naive(log: Observations) -> float:
    profile = list(target_profile())
    profile[log.opponent] = frequency_model(log)
    return payoff(best_response(leduc(), Profile(profile), log.player))


def _answer(logs: Sequence[Observations], confidence: float, naive: float, iterations: int) -> Answer:
    exact, iterative, differences, violations, counts = [], [], [], [], []
    for log in logs:
        model = OpponentModel.from_observations(log, confidence)
        problem = ConstrainedNash(leduc(), model.constraints, penalty=PENALTY * leduc().sequence_form.payoff_scale)
        program = completed(problem, HiGHS())
        solution = completed(problem, CCFR(), tol=PRECISION, max_iterations=iterations)
        assert solution.objective is not None
        assert program.objective is not None
        exact.append(payoff(program.profile[log.player]))
        iterative.append(payoff(solution.profile[log.player]))
        differences.append(abs(solution.objective - program.objective))
        missed = sum(max(0.0, one) for one in program.certificate.violations.values())
        violations.append(missed if missed > _ROUNDING else 0.0)
        counts.append(solution.iterations)
    return Answer(
        iterative=float(np.mean(iterative)),
        exact=float(np.mean(exact)),
        naive=naive,
        difference=max(differences),
        violation=max(violations),
        iterations=max(counts),
    )
