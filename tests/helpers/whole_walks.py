"""What samplers estimate, found by walking a whole game over its rules; and how sure a difference is."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import stats

from treeplex import CHANCE, TERMINAL, Game
from treeplex.solvers.sampling.kernel import PreferringStateArrays
from treeplex.solvers.sampling.sampler import SamplerState


class WholeWalk(NamedTuple):
    """Payoffs, a player's counterfactual regrets, and its infosets' reaches.

    The reaches are those of chance alone, of chance with everybody else playing uniformly, and of chance with
    everybody else playing as they do.
    """

    payoffs: np.ndarray
    regrets: np.ndarray
    by_chance: np.ndarray
    by_uniform: np.ndarray
    by_others: np.ndarray


def whole_walk(game: Game, behaviours: list, player: int) -> WholeWalk:
    """Return by recursion over the rules what there is to know of a player when all play behaviours."""
    rules, treeplexes = game.rules, game.sequence_form.treeplexes
    regrets = np.zeros(treeplexes[player].num_sequences)
    by_chance, by_uniform, by_others = (np.zeros(treeplexes[player].num_infosets) for _ in range(3))

    def value(state, others, chance, uniform):
        who = rules.player(state)
        if who == TERMINAL:
            return np.array([float(payoff) for payoff in rules.payoffs(state)])
        if who == CHANCE:
            branches = [(float(p), rules.child(state, label)) for label, p in rules.chance_outcomes(state)]
            return sum(p * value(child, others * p, chance * p, uniform * p) for p, child in branches)
        actions = rules.actions(state)
        label = rules.infoset(state)
        places = [treeplexes[who].sequence(label, action) for action in actions]
        policy = behaviours[who][places]
        mine = who == player
        values = [
            value(
                rules.child(state, action),
                others if mine else others * p,
                chance,
                uniform if mine else uniform / len(actions),
            )
            for action, p in zip(actions, policy, strict=True)
        ]
        mean = policy @ np.array(values)
        if mine:
            regrets[places] += others * (np.array(values)[:, player] - mean[player])
            infoset = treeplexes[player].find_infoset(label)
            by_chance[infoset] += chance
            by_uniform[infoset] += uniform
            by_others[infoset] += others
        return mean

    payoffs = value(rules.initial_state(), 1.0, 1.0, 1.0)
    return WholeWalk(payoffs, regrets, by_chance, by_uniform, by_others)


def least_p_value(batches: np.ndarray, expected: np.ndarray) -> float:
    """Return the least p-value of t tests of means of batches, times their number."""
    error = batches.std(axis=0, ddof=1) / math.sqrt(len(batches))
    same = error == 0.0
    np.testing.assert_allclose(batches.mean(axis=0)[same], expected[same], atol=1e-12)
    t = np.abs(batches.mean(axis=0) - expected)[~same] / error[~same]
    return float(2 * stats.t.sf(t, len(batches) - 1).min() * len(t))


def sampled(sampler, state, rule, player: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of a player's sampled regrets and of its visits to infosets, all policies staying as they are.

    The state's random numbers and baselines go on, its regrets and averages stay. In expectation the regrets are
    π₋ᵢ(I) (u(I, a) − u(I)), and visits, at the first sequence of each infoset, π₋ᵢ(I); they need a preference to count.
    """
    target, visits = np.zeros(sampler.tree.num_positions), np.zeros(sampler.tree.num_positions)
    arrays = state.arrays
    counting = arrays._replace(visits=visits) if isinstance(arrays, PreferringStateArrays) else arrays
    sampler._run(SamplerState(counting), replace(rule, floor=-np.inf), target, samples, None, player)
    return target / samples, visits / samples
