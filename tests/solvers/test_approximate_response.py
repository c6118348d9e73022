"""Approximate best responses: what they find, how sure their intervals are, and that runs can be broken off."""

import numpy as np
import pytest
from effort import either

from treeplex import (
    Checkpoint,
    CheckpointError,
    GameTooLargeError,
    InvalidGameError,
    InvalidStrategyError,
    Profile,
    StreamedMCCFR,
    UnknownMethodError,
    UnsupportedProblemError,
    load_game,
)
from treeplex.seqform.evaluate import best_response_values, expected_payoffs
from treeplex.seqform.rules import CHANCE, TERMINAL
from treeplex.solvers import ApproximateBestResponse, SearchSettings
from treeplex.solvers.opponents.strategies import opponent_strategy
from treeplex.solvers.sampling.grown_tree import GrownTree
from treeplex.solvers.sampling.label_features import features_of

QUICK = SearchSettings(decision_simulations=1000, buckets=2**16)


def uniform(spec):
    game = load_game(spec)
    return game, Profile.uniform(game)


def paid(game, profile, response):
    """Return exactly what a response is paid."""
    strategies = list(profile)
    strategies[response.player] = response.strategy().to_strategy(game)
    return float(expected_payoffs(game, Profile(strategies))[response.player])


@pytest.mark.parametrize(
    ("spec", "player", "games", "share"),
    [
        ("kuhn", 0, 200, 1.0),
        ("kuhn", 1, 200, 1.0),
        ("leduc", 0, 3000, 0.95),
        ("goofspiel:cards=4", 1, 1000, 0.95),
        ("leduc:players=3,ranks=2,suits=2,raises=1", 2, 1000, 0.85),
    ],
)
def test_it_is_paid_nearly_what_a_best_response_is(spec, player, games, share):
    game, profile = uniform(spec)
    best = best_response_values(game, profile)[player]
    response = ApproximateBestResponse(game, profile, player, QUICK, seed=1)
    response.run(games=games)
    value = paid(game, profile, response)
    assert share * best <= value + 1e-9
    assert value <= best + 1e-9


def test_intervals_by_fresh_games_hold_what_is_paid():
    """Every interval of 95 % may miss one time in twenty, and those for any number of games miss far less often."""
    game, _ = uniform("leduc")
    model = opponent_strategy("random:seed=3", game, 1)
    profile = Profile([opponent_strategy("uniform", game, 0), model])
    response = ApproximateBestResponse(game, profile, 0, QUICK, seed=2)
    response.run(games=300)
    value = paid(game, profile, response)
    intervals = [response.payoff(2000, seed=seed, bounds=(-13, 13)) for seed in range(100)]
    assert sum(each.lower <= value <= each.upper for each in intervals) >= 95
    usual = [response.payoff(2000, seed=seed) for seed in range(100)]
    assert 88 <= sum(each.lower <= value <= each.upper for each in usual) <= 100
    assert np.mean([each.mean for each in usual]) == pytest.approx(value, abs=0.06)


def test_histories_of_infosets_have_the_probabilities_that_bayes_gives_them():
    game, _ = uniform("leduc:merge_suits=true")
    model = opponent_strategy("random:seed=5", game, 1)
    rules = game.rules

    expected = {}

    def walk(state, weight):
        who = rules.player(state)
        if who == 0:
            expected.setdefault(rules.infoset(state), {})[state] = weight
        if who >= 0:
            shares = model[rules.infoset(state)] if who == 1 else dict.fromkeys(rules.actions(state), 1.0)
        elif who == CHANCE:
            shares = dict(rules.chance_outcomes(state))
        else:
            return
        for action, share in shares.items():
            walk(rules.child(state, action), weight * float(share))

    walk(rules.initial_state(), 1.0)
    tree = GrownTree(rules, 0, {1: lambda label, _: list(model[label].values())}, 4096, 2**10)
    ahead, states = list(tree.following(-1)), {}
    find = tree.expand
    tree.expand = lambda node: (states.__setitem__(node, tree._ways[node]), find(node))
    while ahead:
        infoset = ahead.pop()
        ahead += [each for place in tree.places(infoset) for each in tree.following(place)]
        first, end = tree._infosets.array[infoset, 4:].tolist()
        found = np.diff(tree._shares.array[first:end], prepend=0.0)
        weights = expected.pop(tree.label(infoset))
        assert sorted(found) == pytest.approx(sorted(np.array(list(weights.values())) / sum(weights.values())))
    assert not expected


class Improbable:
    """Chance deals one of two cards; the other player then goes on n times, each time with a probability of 1 / 10.

    Then the searcher moves, without having seen the card; with the higher one the last step is three times as likely.
    """

    num_players = 2

    def __init__(self, steps):
        self.steps = steps

    def initial_state(self):
        return ()

    def player(self, state):
        if not state:
            return CHANCE
        _, step = state
        return TERMINAL if step < 0 or step > self.steps else 0 if step == self.steps else 1

    def chance_outcomes(self, state):
        return [("low", 0.5), ("high", 0.5)]

    def actions(self, state):
        return ("on", "stop")

    def infoset(self, state):
        return "searcher" if state[1] == self.steps else state

    def child(self, state, action):
        if not state:
            return action, 0
        return state[0], -1 if action == "stop" else state[1] + 1

    def payoffs(self, state):
        return 1.0, -1.0


def test_histories_behind_many_improbable_moves_have_their_relative_probabilities():
    for steps in (3, 700):  # 10 ** -700 is no float
        on = {("high", steps - 1): 0.3}

        def played(label, _, on=on):
            return on.get(label, 0.1), 1.0 - on.get(label, 0.1)

        tree = GrownTree(Improbable(steps), 0, {1: played}, 4096, 2**10)
        (infoset,) = tree.following(-1)
        first, end = tree._infosets.array[infoset, 4:].tolist()
        assert sorted(np.diff(tree._shares.array[first:end], prepend=0.0)) == pytest.approx([0.25, 0.75])


def test_too_many_histories_are_replaced_by_a_sample():
    game, profile = uniform("leduc")
    settings = SearchSettings(decision_simulations=500, buckets=2**16, particles=3)
    response = ApproximateBestResponse(game, profile, 0, settings, seed=1)
    response.run(games=500)
    assert response._tree._infosets.array[: response.infosets, 4:] @ [-1, 1] == pytest.approx(3, abs=3)
    assert paid(game, profile, response) > 1.5  # of 2.0875


def test_a_run_in_parts_is_the_run_in_one_and_goes_on_from_a_checkpoint(tmp_path):
    game, profile = uniform("kuhn")

    def made():
        return ApproximateBestResponse(game, profile, 0, QUICK, seed=3)

    whole, parts = made(), made()
    whole.run(games=60)
    parts.run(games=20)
    parts.strategy()
    parts.run(games=40)
    path = tmp_path / "run.npz"
    made().run(games=25, checkpoint=path)
    resumed = made()
    assert resumed.run(games=60, checkpoint=Checkpoint(path, resume=True)).iterations == 60
    for other in (parts, resumed):
        for mine, theirs in zip(whole._learner, other._learner, strict=True):
            assert np.array_equal(mine, theirs)
        assert dict(other.strategy()) == dict(whole.strategy())
    with pytest.raises(CheckpointError, match="has already learned"):
        parts.run(games=70, checkpoint=Checkpoint(path, resume=True))
    with pytest.raises(CheckpointError):
        ApproximateBestResponse(game, profile, 1, QUICK, seed=3).run(games=70, checkpoint=Checkpoint(path, resume=True))


def test_a_game_that_is_broken_off_leaves_no_trace(monkeypatch):
    game, profile = uniform("leduc")
    whole, broken = (ApproximateBestResponse(game, profile, 1, QUICK, seed=4) for _ in range(2))
    whole.run(games=30)
    expand, calls = GrownTree.expand, iter(range(10**9))

    def interrupted(tree, node):
        if next(calls) == 700:
            raise KeyboardInterrupt
        expand(tree, node)

    monkeypatch.setattr(GrownTree, "expand", interrupted)
    run = broken.run(games=30)
    assert run.stopped == "interrupted"
    assert run.iterations < 30
    monkeypatch.undo()
    broken.run(games=30 - run.iterations)
    assert all(np.array_equal(*each) for each in zip(whole._learner, broken._learner, strict=True))


def test_limits_and_progress():
    game, profile = uniform("leduc")
    response = ApproximateBestResponse(game, profile, 0, QUICK)
    told = []
    assert response.run(seconds=1e4, progress=lambda run: told.append(run) or len(told) >= 2).stopped == "interrupted"
    assert told[0].iterations < told[1].iterations
    assert told[0].touched > 0
    assert response.run(seconds=0.0).stopped == "time"


def test_rules_that_nobody_enumerates():
    """Of goofspiel with 8 cards a search meets a small part of the 10^9 histories, and beats uniform play."""
    game = load_game("goofspiel:cards=8")
    profile = StreamedMCCFR(game, "os-mccfr").profile  # knows no infoset: uniform
    settings = SearchSettings(simulations=32, decision_simulations=200, particles=20, buckets=2**16)
    response = ApproximateBestResponse(game, profile, 0, settings, seed=1)
    response.run(games=either(15, 40))
    found = response.payoff(either(40, 100))
    assert found.lower > 2.0
    assert sorted(response.decided[next(iter(response.decided))].values())[-2:] == [0.0, 1.0]


def test_labels_have_features_of_their_parts():
    first, second = (set(features_of((("check", "bet 200"), hand), 2**20)) for hand in ("AsKs", "AsKh"))
    assert 5 <= len(first & second) < len(first)


def test_what_makes_no_sense_is_refused():
    game, profile = uniform("kuhn")
    with pytest.raises(InvalidStrategyError, match="profile is None, expected a profile of 2 players"):
        ApproximateBestResponse(game, None, 0)
    with pytest.raises(InvalidGameError):
        ApproximateBestResponse(game, profile, 2)
    with pytest.raises(UnsupportedProblemError, match="no histories"):
        ApproximateBestResponse(load_game("transit"), profile, 0)
    with pytest.raises(UnknownMethodError, match="buckets = 3; expected a power of two"):
        SearchSettings(buckets=3)
    with pytest.raises(UnknownMethodError, match="simulations = 1"):
        SearchSettings(simulations=1)
    response = ApproximateBestResponse(game, profile, 0, QUICK)
    with pytest.raises(UnknownMethodError, match="no limit"):
        response.run()
    with pytest.raises(InvalidStrategyError, match="games"):
        response.payoff(1)
    with pytest.raises(GameTooLargeError, match="the part of the game that a search has visited"):
        ApproximateBestResponse(game, profile, 0, QUICK, memory=10_000).run(games=5)
