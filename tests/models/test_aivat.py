"""Results without luck: unbiased for any value function and any opponent, and far less variable."""

import itertools
import math

import numpy as np
import pytest
from effort import either, thorough
from random_profiles import random_profile

from treeplex import (
    Game,
    InvalidGameError,
    InvalidStrategyError,
    Nash,
    Profile,
    UnsupportedProblemError,
    expected_payoffs,
    load_game,
    observer_tree,
    read_play_log,
    simulate,
    solve,
    write_play_log,
)
from treeplex.models.play import Aivat, LuckFree, PublicGames, leaf_probabilities
from treeplex.models.play.public_games import draw_public, simulate_public
from treeplex.seqform.histories import walk
from treeplex.seqform.public_form import PublicForm
from treeplex.seqform.rules import CHANCE, TERMINAL

GAMES = (
    "kuhn",
    "leduc",
    "liars_dice:sides=3",
    "goofspiel:cards=3",
    "kuhn:players=3",
    "leduc:players=3,ranks=4,suits=1",
)
KINDS = ("chance", "decisions", "imaginary")


def odd_values(state):
    """A value function that has nothing to do with the game, but is the same on every machine."""
    return sum(map(ord, str(state))) % 7 - 3.0


def played(game, known, others):
    """The profile that is played: known strategies, and others' for the rest."""
    own = {each.player: each for each in known}
    return Profile([own.get(each, others[each]) for each in range(game.num_players)])


def exactly(game, estimator, profile):
    """The exact expectation and deviation of raw and adjusted results, over all leaves that play can reach."""
    likely = leaf_probabilities(profile)
    leaves = np.flatnonzero(likely > 0.0)
    found = estimator.estimate(leaves, by_kind=True)
    return measured(found, likely[leaves])


def measured(found, likely):
    means = [float(likely @ one) for one in (found.raw, found.adjusted)]
    spread = [
        math.sqrt(max(likely @ one**2 - mean**2, 0.0))
        for one, mean in zip((found.raw, found.adjusted), means, strict=True)
    ]
    return means, spread, {kind: float(likely @ one) for kind, one in found.corrections.items()}


@pytest.mark.parametrize("spec", GAMES)
def test_the_expectation_over_all_histories_is_exact(spec):
    game = load_game(spec)
    others, assumed = random_profile(game, 1), random_profile(game, 2)
    seats = range(either(min(game.num_players, 2), game.num_players))
    for player, values in itertools.product(seats, (None, assumed, odd_values)):
        subsets = [[], [assumed[player]], [assumed[each] for each in range(game.num_players) if each != player]]
        for known, observer in itertools.product(subsets, (None, player)):
            if observer is not None and callable(values):
                continue
            estimator = Aivat(game, known, values, player=player, observer=observer)
            profile = played(game, known, others)
            (raw, adjusted), _, kinds = exactly(game, estimator, profile)
            assert raw == pytest.approx(expected_payoffs(game, profile)[player], abs=1e-12)
            assert adjusted == pytest.approx(raw, abs=1e-12)
            divided = observer is None or estimator.unknown == (observer,)
            assert kinds == pytest.approx(dict.fromkeys(KINDS if divided else (), 0.0), abs=1e-12)


def public_game(spec):
    game = load_game(spec)
    return game if game.public_form is not None else Game.from_public_form(PublicForm.from_rules(game.rules), spec)


def all_public_games(game, profile):
    """All pairs of states at all leaves, with their probabilities."""
    form = game.public_form
    nodes, states, likely = [], [], []
    for node in np.flatnonzero(form.players == TERMINAL).tolist():
        pairs = form.pairs(node).toarray() * np.outer(*form.weights)
        for player, strategy in enumerate(profile):
            sequences = form.sequences(player, node)
            reach = np.where(sequences >= 0, strategy.plan[sequences], 0.0)
            pairs = pairs * (reach[:, None] if player == 0 else reach)
        found = np.nonzero(pairs)
        nodes.append(np.full(len(found[0]), node))
        states.append(np.stack(found, axis=1))
        likely.append(pairs[found])
    likely = np.concatenate(likely)
    return PublicGames(np.concatenate(nodes), np.concatenate(states)), likely / likely.sum()


@pytest.mark.parametrize("spec", ["kuhn", "preflop:stack=6,continuations=0", "leduc", "preflop:stack=20"])
def test_the_expectation_over_a_public_tree_is_exact(spec):
    game = public_game(spec)
    form = game.public_form
    others, assumed = random_profile(game, 1), random_profile(game, 2)
    folds = [node for node in range(len(form.players)) if str(form.actions[node]) in ("fold", "f")]
    for player, known in itertools.product((0, 1), ([], [assumed[0]], [assumed[1]])):
        profile = played(game, known, others)
        games, likely = all_public_games(game, profile)
        hidden = games.states.copy()
        hidden[np.isin(games.nodes, folds), 1 - player] = -1
        cases = [(player, PublicGames(games.nodes, hidden)), (player, games), *([(None, games)] if known else [])]
        for observer, some in cases:
            found = Aivat(game, known, assumed, player=player, observer=observer).estimate(some, by_kind=True)
            (raw, adjusted), _, kinds = measured(found, likely)
            assert raw == pytest.approx(expected_payoffs(game, profile)[player], abs=1e-12)
            assert adjusted == pytest.approx(raw, abs=1e-12)
            assert kinds == pytest.approx(dict.fromkeys(KINDS, 0.0), abs=1e-12)


def by_definition(game, known, values, player):
    """AIVAT from its definition, leaf by leaf: a sum over what the unknown players cannot distinguish."""
    own = {each.player: each for each in known}
    seen, reach, leaves = {}, {}, []
    steps = {}  # by class and step, the histories that follow
    for history in walk(game.rules):
        before = history.before
        if before is None:
            seen[history.number], reach[history.number] = (), 1.0
        else:
            past, weight = seen[before.number], reach[before.number]
            if before.player == CHANCE:
                weight *= float(history.probability)
            elif before.player in own:
                weight *= own[before.player][game.rules.infoset(before.state)][history.action]
            else:
                past = (*past, (game.rules.infoset(before.state), history.action))
            seen[history.number], reach[history.number] = past, weight
        history.data = (*(before.data if before is not None else ()), history)
        past = seen[history.number]
        if history.player == TERMINAL:
            steps.setdefault(past, {}).setdefault("end", []).append(history)
            leaves.append(history)
        elif history.player != CHANCE and history.player not in own:
            steps.setdefault(past, {}).setdefault(game.rules.infoset(history.state), []).append(history)
    worth = {}
    for following in steps.values():
        for step, those in following.items():
            for one in those:
                end = step == "end"
                worth[one.number] = float(game.rules.payoffs(one.state)[player]) if end else values(one.state)
    mean = {
        (past, step): sum(reach[one.number] * worth[one.number] for one in those)
        / sum(reach[one.number] for one in those)
        for past, following in steps.items()
        for step, those in following.items()
    }
    adjusted = []
    for leaf in leaves:
        past = seen[leaf.number]
        total = mean[past, "end"]
        for place in range(len(past) + 1):
            start, step = past[:place], past[place][0] if place < len(past) else "end"
            masses = {one: sum(reach[each.number] for each in those) for one, those in steps[start].items()}
            expected = sum(mass * mean[start, one] for one, mass in masses.items()) / sum(masses.values())
            total += expected - mean[start, step]
        adjusted.append(total)
    return np.array(adjusted)


@pytest.mark.parametrize("spec", ["kuhn", "kuhn:players=3", "leduc"])
def test_the_estimates_are_those_of_the_definition(spec):
    game = load_game(spec)
    strategies = random_profile(game, 3)
    for known in ([strategies[0]], [strategies[1]], []):
        found = Aivat(game, known, odd_values, player=0).estimate(range(len(game.sequence_form.leaves)))
        np.testing.assert_allclose(found.adjusted, by_definition(game, known, odd_values, 0), atol=1e-10)


def test_leduc_with_equilibrium_values_has_a_small_deviation():
    game = load_game("leduc")
    equilibrium = solve(Nash(game)).profile
    for player in either((0,), (0, 1)):
        other = solve(Nash(game), method="dcfr", max_iterations=300).profile[1 - player]
        profile = played(game, [equilibrium[player]], [other, other])
        # One player known: the luck of the cards and of its own decisions goes; the opponent is close to the values.
        _, (before, after), _ = exactly(game, Aivat(game, equilibrium[player], equilibrium), profile)
        assert before > 80.0 * after > 0.0
        # Against the equilibrium itself nothing is left, and likewise if both strategies are known.
        _, (before, after), _ = exactly(game, Aivat(game, equilibrium[player], equilibrium), equilibrium)
        assert before > 3.0
        assert after < 1e-6
        _, (_, after), _ = exactly(game, Aivat(game, profile, equilibrium, player=player), profile)
        assert after < 1e-6
        # The opponent's card is seen only at a showdown.
        _, (before, after), _ = exactly(game, Aivat(game, equilibrium[player], equilibrium, observer=player), profile)
        assert before > 1.9 * after
        # Only chance known: a person plays.
        _, (before, after), _ = exactly(game, Aivat(game, [], equilibrium, player=player), profile)
        assert before > 2.0 * after


@pytest.mark.parametrize("spec", ["kuhn", "leduc", pytest.param("preflop:stack=8,continuations=0", marks=thorough)])
def test_intervals_of_two_hundred_matches_contain_the_value(spec):
    game, matches, length = load_game(spec), 200, 250
    known, values = random_profile(game, 4), random_profile(game, 5)
    profile = played(game, [known[1]], random_profile(game, 6))
    estimator = Aivat(game, known[1], values)
    true = expected_payoffs(game, profile)[1]
    found = []
    for seed in range(matches):
        if game.public_form is None:
            found.append(estimator.estimate(np.concatenate(list(simulate(profile, length, seed)))))
        else:
            found.append(estimator.estimate(draw_public(game.public_form, profile, length, seed)))
    means = np.array([one.mean for one in found])
    error = means.std(ddof=1) / math.sqrt(matches)
    assert abs(means.mean() - true) < 3.5 * error
    covered = np.mean([one.interval[0] <= true <= one.interval[1] for one in found])
    assert 0.9 <= covered <= 0.99
    # The standard errors are those of the means, and smaller than those of the money won.
    assert np.mean([one.standard_error for one in found]) == pytest.approx(means.std(ddof=1), rel=0.2)
    assert np.mean([one.reduction for one in found]) > 1.3


def test_the_kinds_of_luck_add_up_and_logs_give_the_same_as_leaves(tmp_path):
    game = load_game("leduc")
    known, values = random_profile(game, 1), random_profile(game, 2)
    leaves = np.concatenate(list(simulate(known, 2_000, 1)))
    for observer in (0, 1):
        log = tmp_path / f"{observer}.jsonl"
        write_play_log(log, game, observer_tree(game, observer), [leaves])
        estimator = Aivat(game, known[0], values, observer=observer)
        found = estimator.estimate(leaves, by_kind=True)
        logged = estimator.estimate(read_play_log(log, game, observer))
        assert logged.num_games == found.num_games == 2_000
        for name in ("mean", "standard_error", "raw_mean", "raw_standard_error", "reduction"):
            assert getattr(logged, name) == pytest.approx(getattr(found, name), rel=1e-9)
        assert found.luck.keys() == (set(KINDS) if observer == 1 else set())
    # The unknown player's log has all that is needed: it gives the same as the leaves themselves.
    whole = Aivat(game, known[0], values).estimate(leaves, by_kind=True)
    assert whole.mean == pytest.approx(logged.mean, abs=1e-12)
    np.testing.assert_allclose(whole.raw - sum(whole.corrections.values()), whole.adjusted, atol=1e-12)
    assert whole.raw_mean - sum(whole.luck.values()) == pytest.approx(whole.mean)
    assert whole.scaled(100.0).mean == pytest.approx(100.0 * whole.mean)
    assert whole.scaled(100.0).reduction == pytest.approx(whole.reduction)


def test_all_in_hands_are_averaged_over_boards_and_hands_may_end_at_the_flop():
    game = load_game("preflop:stack=6,continuations=0")
    form, profile = game.public_form, random_profile(game, 1)
    node, flop = form.find("all-in, call"), form.find("raise 2, call")
    aces, kings = form.states[0].index("AA"), form.states[1].index("KK")
    states = np.array([[aces, kings], [aces, kings], [aces, -1]])
    games = PublicGames(np.array([node, node, flop]), states, np.array([6.0, -6.0, 2.5]))
    found = Aivat(game, (), profile, player=0, observer=0).estimate(games, by_kind=True)
    assert found.raw.tolist() == [6.0, -6.0, 2.5]
    assert found.adjusted[0] == pytest.approx(found.adjusted[1])  # the board was luck
    luck = found.corrections["chance"]
    assert luck[0] - luck[1] == pytest.approx(12.0)
    assert found.adjusted[2] == pytest.approx(2.5 - luck[2])  # the rest of the hand is as it was
    both = Aivat(game, profile, profile, player=0).estimate(PublicGames(games.nodes[:2], states[:2]))
    assert both.adjusted == pytest.approx(expected_payoffs(game, profile)[0])


def test_simulated_public_games_pay_what_they_did():
    form = PublicForm.from_rules(load_game("leduc").rules)
    game = Game.from_public_form(form)
    profile = random_profile(game, 1)
    games = draw_public(form, profile, 500, 3)
    assert (games.payoffs(form) == simulate_public(form, profile, 500, 3)).all()
    assert len(games) == 500


def test_wrong_arguments_have_one_clear_line():
    game, other = load_game("kuhn"), load_game("leduc")
    profile = Profile.uniform(game)
    folder = profile[0].with_behaviour(np.array([1.0] + 6 * [1.0, 0.0]))
    cases = [
        (lambda: Aivat(game, Profile.uniform(other)), InvalidStrategyError, "leduc"),
        (lambda: Aivat(game, [profile[0], profile[0]]), InvalidStrategyError, "two known strategies"),
        (lambda: Aivat(game, profile[0], "nash"), InvalidStrategyError, "a Profile or a function of a state"),
        (lambda: Aivat(game, player=2), InvalidStrategyError, "player is 2"),
        (lambda: Aivat(game, profile[0]).estimate([30]), InvalidGameError, "expected numbers from 0 to 29"),
        (lambda: Aivat(game, profile[0]).estimate([0.5]), InvalidGameError, "expected numbers from 0 to 29"),
        (lambda: Aivat(game, profile[0], observer=1, player=0).estimate(range(30)), None, ""),
        (lambda: Aivat(game, observer=1, player=0).estimate([0]), UnsupportedProblemError, "seat 1 does not see"),
        (lambda: Aivat(game, folder).estimate(range(30)), InvalidStrategyError, "impossible with the known strategy"),
    ]
    for call, error, message in cases:
        if error is None:
            call()
            continue
        with pytest.raises(error) as raised:
            call()
        assert message in str(raised.value)
        assert "\n" not in str(raised.value)


def test_wrong_public_games_have_one_clear_line():
    game = public_game("kuhn")
    form, profile = game.public_form, Profile.uniform(game)
    ended, folded = form.find("p, p"), form.find("b, p")

    def games(node, *states, won=None):
        return PublicGames(np.array([node]), np.array([states]), None if won is None else np.array([won]))

    cases = [
        (profile[0], None, games(ended, 0, -1), "game 1 has no private state of seat 1: pass observer=0"),
        (profile[0], 0, games(ended, -1, 0), "game 1 has no private state of seat 0"),
        (profile[0], 0, games(ended, 0, -1), "game 1 has no result"),
        (profile[0], 0, games(ended, 0, 5), "game 1 has state 5, expected a number from -1 to 2"),
        (profile[0], 0, games(99, 0, 1), "game 1 ends at node 99"),
        (profile[0], None, games(form.find("p"), 0, 1, won=1.0), "which is not a leaf"),
        (profile[0], None, PublicGames(np.zeros(2), np.zeros((1, 2))), "expected (k,) and (k, 2)"),
        (profile[0], None, [1, 2], "PublicGames"),
    ]
    for known, observer, some, message in cases:
        with pytest.raises(InvalidGameError) as raised:
            Aivat(game, known, observer=observer).estimate(some)
        assert message in str(raised.value)
    with pytest.raises(UnsupportedProblemError, match="no strategy is known: pass observer=0"):
        Aivat(game).estimate(games(ended, 0, 1))
    with pytest.raises(UnsupportedProblemError, match="no states to call a function on"):
        Aivat(game, values=odd_values)
    assert Aivat(game, profile[0], observer=0).estimate(games(folded, 0, -1)).raw.tolist() == [1.0]


def test_few_games_have_no_standard_error():
    found = Aivat(load_game("kuhn")).estimate([])
    assert found.num_games == 0
    assert math.isnan(found.mean)
    assert math.isnan(found.standard_error)
    single = LuckFree(np.array([1.0]), np.array([0.5]), np.ones(1, dtype=np.int64))
    assert single.mean == 0.5
    assert math.isnan(single.standard_error)
    assert math.isnan(single.reduction)
