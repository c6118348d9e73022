"""Trigger-regret minimisation against gains that are computed from the recorded strategies."""

import numpy as np
import pytest
from effort import either
from random_trees import seeded_tree, to_game

from treeplex import InvalidOptionError, UnsupportedProblemError, load_game
from treeplex.models.correlation import Deviations, SequencePairs, Triggers
from treeplex.seqform.polytope import sequence_values
from treeplex.solvers import CorrelatedRun


def trigger_gains(run, player):
    """Return the gain of the best deviation from each trigger on, one infoset and recommendation at a time."""
    form = run.game.sequence_form
    treeplex = form.treeplexes[player]
    gains = []
    for infoset in range(treeplex.num_infosets):
        here = range(int(treeplex.offsets[infoset]), int(treeplex.offsets[infoset + 1]))
        for told in here:
            against, obeyed = np.zeros(treeplex.num_sequences), 0.0
            for plans in run._played:
                gradient = form.gradient(player, plans)
                against += plans[player][told] * gradient
                obeyed += sum(plans[player][one] * gradient[one] for one in from_on(treeplex, told))
            gains.append((max(sequence_values(treeplex, against)[list(here)]) - obeyed) / run.iterations)
    return np.array(gains)


def from_on(treeplex, sequence):
    """Return a sequence and all that follow it."""
    found = [sequence]
    for infoset in np.flatnonzero(treeplex.parents == sequence):
        for one in range(int(treeplex.offsets[infoset]), int(treeplex.offsets[infoset + 1])):
            found += from_on(treeplex, one)
    return found


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_regrets_are_gains_of_best_deviations(seed, players):
    game = to_game(seeded_tree(seed, num_players=players, zero_sum=False, depth=5, size=20))
    if game.num_players < 2:
        pytest.skip("the tree has one player")
    run = CorrelatedRun(game)
    run.run(20)
    for player, regret in enumerate(run.regrets):
        gains = trigger_gains(run, player)
        triggers = Triggers(game.sequence_form.treeplexes[player], "efce")
        assert regret == pytest.approx(triggers.combined(gains), abs=1e-12)
        assert gains.max(initial=0.0) - 1e-12 <= regret <= np.maximum(gains, 0.0).sum() + 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_the_mixture_of_two_players_is_a_correlation_plan(seed):
    game = to_game(seeded_tree(seed, zero_sum=False, depth=5, size=20))
    run = CorrelatedRun(game)
    run.run(30)
    pairs = SequencePairs(game.sequence_form)
    plan = sum(x[pairs.first] * y[pairs.second] for x, y in run._played) / run.iterations
    paid = [pairs.payoffs(player) @ plan for player in (0, 1)]
    assert run.payoffs == pytest.approx(paid, abs=1e-12)
    for player, regret in enumerate(run.regrets):
        assert regret == pytest.approx(Deviations(pairs, player, "efce").regret(plan), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_each_strategy_is_a_fixed_point_of_the_weighted_deviations(seed):
    game = to_game(seeded_tree(seed, num_players=3, zero_sum=False, depth=6, size=30))
    run = CorrelatedRun(game)
    run.run(10)
    for learner in run._learners:
        own, triggers = learner.own, learner.triggers
        deviations, weights, plan = learner.deviations.plan(learner.behaviour), learner.weights, learner.next_plan()
        moved = np.zeros(own.num_sequences)
        infosets, told = triggers.copies
        for copy, (infoset, trigger) in enumerate(zip(infosets, told, strict=True)):
            here = slice(int(own.offsets[infoset]), int(own.offsets[infoset + 1]))
            places = slice(int(learner.deviations.offsets[copy]), int(learner.deviations.offsets[copy + 1]))
            moved[here] += weights[trigger] * plan[trigger + 1] * deviations[places]
        for trigger, weight in enumerate(weights):
            moved[from_on(own, trigger + 1)] -= weight * plan[from_on(own, trigger + 1)]
        assert np.abs(moved).max() <= 1e-7
        assert own.residual(plan) <= 1e-12


@pytest.mark.parametrize("name", ["kuhn:players=3", "sheriff:items=5", "signalling", "battleship", "goofspiel:cards=3"])
def test_regrets_decrease(name):
    run = CorrelatedRun(load_game(name))
    run.run(50)
    before = max(run.regrets)
    run.run(450)
    assert run.iterations == 500
    assert max(run.regrets) <= max(before / 2, 1e-9)


def test_recommendations_have_the_probabilities_of_the_mixture():
    game = load_game("kuhn:players=3")
    run = CorrelatedRun(game)
    run.run(40)
    assert run.recommend(3) == run.recommend(3)
    random, draws = np.random.default_rng(1), either(500, 2_000)
    counted = [np.zeros(treeplex.num_sequences) for treeplex in game.sequence_form.treeplexes]
    for _ in range(draws):
        for total, treeplex, chosen in zip(counted, game.sequence_form.treeplexes, run.recommend(random), strict=True):
            total[[treeplex.sequence(at, do) for at, do in chosen.items()]] += 1.0
    for player, total in enumerate(counted):
        mean = np.mean([plans[player] for plans in run._played], axis=0)[1:]
        error = np.abs(total[1:] / draws - mean)
        assert (error <= 5.0 * np.sqrt(np.maximum(mean * (1 - mean), 0.0) / draws) + 1e-9).all()


def test_what_does_not_fit_is_refused():
    with pytest.raises(UnsupportedProblemError, match="two or more players with perfect recall, which transit:width=2"):
        CorrelatedRun(load_game("transit:width=2"))
    run = CorrelatedRun(load_game("kuhn"))
    for asked in (lambda: run.regrets, lambda: run.payoffs, run.recommend):
        with pytest.raises(InvalidOptionError, match="before the first iteration"):
            asked()
    with pytest.raises(InvalidOptionError, match="iterations"):
        run.run(-1)
