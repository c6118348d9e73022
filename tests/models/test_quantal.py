"""Quantal-response opponents: logit responses against a recursion on the tree, and fits against simulated logs."""

import math
import random

import numpy as np
import pytest
from effort import either
from random_trees import Chance, Decision, Leaf, random_behaviour, seeded_tree, to_game
from scipy.optimize import minimize_scalar

from treeplex import (
    InvalidConstraintError,
    InvalidStrategyError,
    Observations,
    PlayLogError,
    Profile,
    Strategy,
    expected_payoffs,
    load_game,
    observer_tree,
)
from treeplex.models.observations import fit_quantal_response, logit_response, quantal
from treeplex.seqform import best_response_values


def reached(root, player, belief):
    """Each infoset of a player, with the nodes in it and the probability that the others lead to each."""
    found, stack = {}, [(root, 1.0)]
    while stack:
        node, chance = stack.pop()
        if isinstance(node, Chance):
            stack += [(child, chance * float(share)) for _, share, child in node.outcomes]
        elif isinstance(node, Decision):
            if node.player == player:
                found.setdefault(node.infoset, []).append((node, chance))
            played = belief.get(node.infoset, {}) if node.player != player else {}
            stack += [(child, chance * float(played.get(label, node.player == player))) for label, child in node.moves]
    return found


def worth(node, player, belief, played):
    """The expected payoff of a node to a player."""
    if isinstance(node, Leaf):
        return float(node.payoffs[player])
    if isinstance(node, Chance):
        return sum(float(share) * worth(child, player, belief, played) for _, share, child in node.outcomes)
    chosen = (played if node.player == player else belief)[node.infoset]
    return sum(float(chosen.get(label, 0)) * worth(child, player, belief, played) for label, child in node.moves)


def by_recursion(root, player, belief, precision):
    """The agent logit response, from the last infosets to the first."""
    infosets, played = reached(root, player, belief), {}

    def settle(label):
        for node, _ in infosets[label]:
            below = [child for _, child in node.moves]
            while below:
                one = below.pop()
                if isinstance(one, Decision) and one.player == player and one.infoset not in played:
                    settle(one.infoset)
                if not isinstance(one, Leaf):
                    below += [edge[-1] for edge in (one.outcomes if isinstance(one, Chance) else one.moves)]
        total = sum(chance for _, chance in infosets[label])
        paid = {}
        for action, _ in infosets[label][0][0].moves:
            earned = sum(
                chance * worth(dict(node.moves)[action], player, belief, played) for node, chance in infosets[label]
            )
            paid[action] = earned / total if total else 0.0
        best = max(paid.values())
        weights = {action: math.exp(precision * (one - best)) for action, one in paid.items()}
        played[label] = {action: one / sum(weights.values()) for action, one in weights.items()}

    for label in infosets:
        if label not in played:
            settle(label)
    return played


@pytest.mark.parametrize("seed", range(either(6, 40)))
@pytest.mark.parametrize("player", [0, 1])
def test_logit_responses_against_a_recursion(seed, player):
    root, source = seeded_tree(seed), random.Random(seed)
    belief = random_behaviour(root, 1 - player, source)
    game, precision = to_game(root), source.choice([0.0, 0.5, 3.0, 40.0])
    if not all(tree.num_infosets for tree in game.sequence_form.treeplexes):
        return
    known = {label: {action: float(share) for action, share in one.items()} for label, one in belief.items()}
    response = logit_response(game, Strategy.from_dict(game, 1 - player, known), precision)
    for label, actions in by_recursion(root, player, belief, precision).items():
        for action, share in actions.items():
            assert response[label][action] == pytest.approx(share, abs=1e-9)


def test_precision_leads_from_uniform_play_to_a_best_response():
    game = load_game("leduc:ranks=2")
    belief = Strategy.uniform(game, 0)
    assert logit_response(game, belief, 0.0).behaviour == pytest.approx(Strategy.uniform(game, 1).behaviour)
    earned = [
        expected_payoffs(game, Profile([belief, logit_response(game, belief, one)]))[1] for one in (0, 0.3, 1, 3, 100)
    ]
    assert earned == sorted(earned)
    best = best_response_values(game, Profile([belief, Strategy.uniform(game, 1)]))[1]
    assert earned[-1] == pytest.approx(best, abs=1e-6)


def simulated(spec, precision, seat=0):
    """The view of an observer who plays uniformly, and the probabilities of what it sees at the end of a game."""
    game = load_game(spec)
    view, own = observer_tree(game, seat), Strategy.uniform(game, seat)
    plans = [own.plan, logit_response(game, own, precision).plan]
    return game, view, own, np.where(view.terminal, view.probabilities(plans[:: 1 - 2 * seat]), 0.0)


@pytest.mark.parametrize("seat", [0, 1])
def test_expected_counts_give_the_precision_back(seat):
    game, view, own, shares = simulated("leduc:ranks=2", 0.7, seat)
    counts = np.round(1e12 * shares).astype(np.int64)
    model = fit_quantal_response(Observations(game, seat, counts, own, view=view))
    assert model.precision == pytest.approx(0.7, abs=1e-4)
    assert model.log_likelihood > model.uniform_log_likelihood
    assert model.strategy.player == 1 - seat


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_maximum_is_as_close_in_any_unit_of_payoff(unit):
    """The expected log-likelihood of choices at a precision of 0.73, if payoffs differ by the unit."""
    share = 1.0 / (1.0 + math.exp(-0.73))

    def likelihood(precision):
        x = precision * unit
        return -share * math.log1p(math.exp(-x)) - (1.0 - share) * (x + math.log1p(math.exp(-x)))

    precision, _ = quantal._maximum(likelihood, unit)
    assert precision * unit == pytest.approx(0.73, abs=1e-6)


def test_the_maximum_and_its_curvature_are_those_of_the_likelihood():
    """Kuhn poker, with the likelihood computed by the probabilities of the view."""
    game, view, own, shares = simulated("kuhn", 2.0)
    counts = np.random.default_rng(1).multinomial(400, shares / shares.sum())
    model = fit_quantal_response(Observations(game, 0, counts, own, view=view), confidence=0.9)

    def likelihood(precision):
        found = view.probabilities([own.plan, logit_response(game, own, precision).plan])
        return float(counts[counts > 0] @ np.log(found[counts > 0]))

    found = minimize_scalar(lambda one: -likelihood(one), bounds=(0.1, 20), method="bounded", options={"xatol": 1e-9})
    assert model.precision == pytest.approx(found.x, abs=1e-5)
    step = 1e-2
    curvature = (2 * likelihood(found.x) - likelihood(found.x - step) - likelihood(found.x + step)) / step**2
    assert model.standard_error == pytest.approx(curvature**-0.5, rel=1e-3)
    assert model.interval[1] - model.precision == pytest.approx(1.6448536 * model.standard_error, rel=1e-6)
    assert model.log_likelihood - model.uniform_log_likelihood == pytest.approx(
        likelihood(model.precision) - likelihood(0.0), abs=1e-9
    )


COVERED = [("kuhn", 2.0, 300), ("kuhn", 0.5, 1000), ("leduc:ranks=2", 0.5, 500), ("liars_dice:sides=2", 3.0, 300)]


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "precision", "games"), COVERED)
def test_intervals_cover_the_precision_as_often_as_they_say(spec, precision, games):
    game, view, own, shares = simulated(spec, precision)
    rng, logs = np.random.default_rng(0), either(40, 1000)
    seen = Observations(game, 0, np.zeros(view.num_classes, dtype=np.int64), own, view=view)
    covered, distances = 0, []
    for _ in range(logs):
        model = fit_quantal_response(seen.with_counts(rng.multinomial(games, shares / shares.sum())))
        assert model.interval is not None
        covered += model.interval[0] <= precision <= model.interval[1]
        distances.append((model.precision - precision) / model.standard_error)
    # Within four standard deviations of the binomial distribution.
    assert abs(covered / logs - 0.95) <= 4 * (0.95 * 0.05 / logs) ** 0.5
    assert np.std(distances) == pytest.approx(1.0, abs=either(0.4, 0.1))


def test_a_few_intervals_cover_the_precision():
    game, view, own, shares = simulated("kuhn", 2.0)
    rng = np.random.default_rng(5)
    seen = Observations(game, 0, np.zeros(view.num_classes, dtype=np.int64), own, view=view)
    models = [fit_quantal_response(seen.with_counts(rng.multinomial(300, shares))) for _ in range(20)]
    assert sum(model.interval[0] <= 2.0 <= model.interval[1] for model in models) >= 16


def test_a_precision_at_an_end_of_its_range_has_no_error():
    game, view, own, shares = simulated("kuhn", 0.0)
    counts = np.random.default_rng(4).multinomial(50, shares / shares.sum())
    contrary = fit_quantal_response(Observations(game, 0, counts, own, view=view), Strategy.uniform(game, 0))
    flat = fit_quantal_response(Observations(game, 0, np.round(1e9 * shares).astype(np.int64), own, view=view))
    for model in (contrary, flat):
        if model.precision < 1e-3:
            assert (model.standard_error, model.interval) == (None, None)
            assert len(model.strategies) == 1
    assert flat.precision < 1e-2


def test_beliefs_default_to_the_probe_or_the_observed_play():
    game, view, own, shares = simulated("kuhn", 2.0)
    counts = np.random.default_rng(2).multinomial(3000, shares / shares.sum())
    known = fit_quantal_response(Observations(game, 0, counts, own, view=view))
    stated = fit_quantal_response(Observations(game, 0, counts, view=view), own)
    estimated = fit_quantal_response(Observations(game, 0, counts, view=view))
    assert known.precision == stated.precision != estimated.precision
    assert estimated.precision == pytest.approx(known.precision, rel=0.1)
    assert [one.player for one in known.strategies] == [1, 1, 1]


def test_what_does_not_fit_is_refused():
    game, view, own, _ = simulated("kuhn", 2.0)
    none = Observations(game, 0, np.zeros(view.num_classes, dtype=np.int64), own, view=view)
    with pytest.raises(PlayLogError, match="the log has no games"):
        fit_quantal_response(none)
    with pytest.raises(PlayLogError, match="expected Observations"):
        fit_quantal_response(3)
    some = none.with_counts(view.terminal.astype(np.int64))
    with pytest.raises(InvalidStrategyError, match="belief is a strategy of player 1, expected one of the observer"):
        fit_quantal_response(some, Strategy.uniform(game, 1))
    with pytest.raises(InvalidConstraintError, match="confidence"):
        fit_quantal_response(some, confidence=1.0)
    with pytest.raises(InvalidConstraintError, match="precision"):
        logit_response(game, own, -1.0)
    with pytest.raises(InvalidStrategyError):
        logit_response(load_game("kuhn:cards=4"), own, 1.0)
