"""Monte Carlo CFR: sampled regrets and averages against whole walks, runs from seeds, what solve does with them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from effort import few
from hypothesis import given
from random_trees import Chance, Decision, Leaf, seeded_tree, to_game, trees
from whole_walks import least_p_value, sampled, whole_walk

from treeplex import (
    CHANCE,
    TERMINAL,
    Game,
    InvalidStrategyError,
    Nash,
    Profile,
    SequenceForm,
    Status,
    UnknownMethodError,
    UnsupportedProblemError,
    expected_payoffs,
    exploitability,
    load_game,
    solve,
)
from treeplex.seqform.errors import GameTooLargeError, InvalidGameError
from treeplex.solvers import ExternalSamplingMCCFR, OutcomeSamplingMCCFR
from treeplex.solvers.sampling.sampler import Sampler, SamplingRule
from treeplex.solvers.sampling.tree import CHILD, COUNT, MOVER, PLACE, history_tree

KUHN, THREE, LEDUC = load_game("kuhn"), load_game("kuhn:players=3"), load_game("leduc")
#: The probability that a test of samples fails though there is no bias: by seeds, in fact, it fails always or never.
FALSE_ALARMS = 1e-6
RULES = {
    "external": SamplingRule(),
    "outcome": SamplingRule("outcome", exploration=0.5),
    "outcome with baselines": SamplingRule("outcome", exploration=0.5, rate=0.3),
    "outcome with baselines by history": SamplingRule("outcome", exploration=0.5, rate=0.3, baselines="history"),
}


def sampler_at_a_mixed_policy(game: Game, rule: SamplingRule, seed: int = 0):
    """Return a sampler, and a state in which no probability is small."""
    sampler = Sampler(history_tree(game))
    state = sampler.initial_state(rule, seed)
    state.arrays.regrets[:] = np.random.default_rng(seed).uniform(0.5, 1.5, len(state.arrays.regrets))
    return sampler, state


@few
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("game", [KUHN, THREE, to_game(seeded_tree(11, 3))], ids=["kuhn", "kuhn of three", "tree"])
def test_sampled_regrets_are_unbiased(game, rule):
    sampler, state = sampler_at_a_mixed_policy(game, rule)
    policies = sampler.policies(state)
    for player in range(game.num_players):
        batches = np.array([sampled(sampler, state, rule, player, 1000)[0] for _ in range(100)])
        expected = whole_walk(game, policies, player).regrets
        own = batches[:, sampler.tree.bases[player] : sampler.tree.bases[player + 1]]
        assert least_p_value(own, expected) > FALSE_ALARMS / game.num_players
        assert np.abs(expected).max() > 0.01
        others = np.delete(batches, np.r_[sampler.tree.bases[player] : sampler.tree.bases[player + 1]], axis=1)
        assert not others.any()


@few
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_sampled_regrets_of_leduc_are_unbiased_in_twenty_directions(rule):
    sampler, state = sampler_at_a_mixed_policy(LEDUC, rule)
    policies = sampler.policies(state)
    directions = np.random.default_rng(1).choice([-1.0, 1.0], (20, sampler.tree.num_positions))
    for player in range(2):
        batches = np.array([sampled(sampler, state, rule, player, 2000)[0] for _ in range(50)])
        regrets = whole_walk(LEDUC, policies, player).regrets
        start, stop = sampler.tree.bases[player : player + 2]
        expected = directions[:, start:stop] @ regrets
        assert least_p_value(batches @ directions.T, expected) > FALSE_ALARMS / 2


def test_a_wrong_regret_is_found_to_be_biased():
    sampler, state = sampler_at_a_mixed_policy(KUHN, SamplingRule())
    batches = np.array([sampled(sampler, state, SamplingRule(), 0, 1000)[0] for _ in range(100)])
    expected = whole_walk(KUHN, sampler.policies(state), 0).regrets
    assert least_p_value(batches[:, 1:13], expected[1:] + 0.02) < FALSE_ALARMS


def test_baselines_take_out_noise():
    spread = {}
    for name in list(RULES)[1:]:
        rule = RULES[name]
        sampler, state = sampler_at_a_mixed_policy(THREE, rule)
        sampled(sampler, state, rule, 0, 10_000)  # they learn
        batches = np.array([sampled(sampler, state, rule, 0, 100)[0] for _ in range(300)])
        spread[name] = batches.var(axis=0).sum()
    assert spread["outcome with baselines"] < 0.7 * spread["outcome"]
    assert spread["outcome with baselines by history"] < 0.7 * spread["outcome with baselines"]


@few
@pytest.mark.parametrize("sampling", ["external", "outcome"])
@pytest.mark.parametrize(("game", "averaging"), [(KUHN, "simple"), (KUHN, "sampled"), (THREE, "sampled")])
def test_averages_weigh_infosets_by_their_players_own_reach(game, averaging, sampling):
    rule = SamplingRule(sampling, averaging, exploration=0.5)
    sampler, state = sampler_at_a_mixed_policy(game, rule)
    policies = sampler.policies(state)
    still = np.zeros(sampler.tree.num_positions)  # takes the regrets, so that policies stay
    batches = []
    for _ in range(100):
        state.arrays.sums[:] = 0.0
        sampler._run(state, rule, still, 1000, None, -1)
        batches.append(state.arrays.sums / 1000)
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        walk = whole_walk(game, policies, player)
        reach = walk.by_chance if averaging == "simple" else walk.by_uniform
        expected = treeplex.plan(policies[player])
        expected[0] = 0.0
        expected[1:] *= np.repeat(reach, treeplex.num_actions)
        own = np.array(batches)[:, sampler.tree.bases[player] : sampler.tree.bases[player + 1]]
        assert least_p_value(own, expected) > FALSE_ALARMS / game.num_players


@pytest.mark.parametrize("game", [KUHN, THREE], ids=["kuhn", "kuhn of three"])
def test_full_averages_are_means_of_realization_plans(game):
    rule = SamplingRule(averaging="full")
    sampler = Sampler(history_tree(game))
    state, other = sampler.initial_state(rule, 5), sampler.initial_state(rule, 5)
    treeplexes = game.sequence_form.treeplexes
    sums = [np.zeros(treeplex.num_sequences) for treeplex in treeplexes]
    for _ in range(50):
        # Players walk in turn, so that those whose turn is later average before what they then learn.
        for player, policy in enumerate(sampler.policies(state)):
            sums[player] += treeplexes[player].plan(policy)
        sampler.run(state, rule, 1)
    sampler.run(other, rule, 50)
    for each, treeplex, behaviour, again in zip(
        sums, treeplexes, sampler.average(state), sampler.average(other), strict=True
    ):
        np.testing.assert_allclose(treeplex.plan(behaviour), each / 50, atol=1e-12)
        np.testing.assert_array_equal(behaviour, again)


@given(trees(num_players=3))
def test_the_arrays_hold_the_same_game(root):
    game = to_game(root)
    tree = history_tree(game)
    policies = [treeplex.uniform_behaviour() for treeplex in game.sequence_form.treeplexes]

    def value(node):
        mover, child, count, place = tree.nodes[node].tolist()
        if mover == TERMINAL:
            return tree.payoffs[place]
        if mover == CHANCE:
            weights = np.diff(tree.chance[place : place + count], prepend=0.0)
        else:
            base = int(tree.bases[mover])
            weights = policies[mover][place - base : place - base + count]
        return sum(weight * value(child + action) for action, weight in enumerate(weights))

    assert tree.num_nodes == game.sequence_form.num_nodes
    np.testing.assert_allclose(value(0), expected_payoffs(game, Profile.uniform(game)), atol=1e-12)


def test_an_outcome_of_probability_zero_is_never_sampled():
    leaves = {label: Leaf((payoff, -payoff)) for label, payoff in {"a": 1.0, "b": 1000.0}.items()}
    node = Decision(0, "I", (("x", leaves["a"]), ("y", Leaf((0.5, -0.5)))))
    never = Decision(0, "J", (("x", leaves["b"]), ("y", leaves["b"])))
    root = Chance((("no", Fraction(0), never), ("yes", Fraction(1), node), ("nor", Fraction(0), leaves["b"])))
    game = to_game(root)
    tree = history_tree(game)
    assert tree.chance.tolist() == [0.0, 1.0, 1.0]
    for rule in RULES.values():
        sampler = Sampler(tree)
        state = sampler.initial_state(rule)
        sampler.run(state, rule, 1000)
        assert abs(state.arrays.regrets).max() < 10_000
        place = game.sequence_form.treeplexes[0].sequence("J", "x")
        assert state.arrays.sums[place] == 0.0


def test_samplers_run_on_games_that_are_hardly_any():
    for root in (Leaf((1.0, -1.0)), Decision(0, "I", (("only", Leaf((2.0, -2.0))),))):
        game = to_game(root)
        for method in ("es-mccfr", "os-mccfr"):
            solution = solve(Nash(game), method, tol=0, max_iterations=10)
            assert solution.iterations == 10
            assert solution.exploitability == 0.0


@few
@pytest.mark.parametrize(
    ("game", "method", "tol", "most"),
    [
        (KUHN, ExternalSamplingMCCFR(), 4e-3, 500_000),
        (KUHN, ExternalSamplingMCCFR(local_rule="regret-matching+"), 4e-3, 500_000),
        (KUHN, ExternalSamplingMCCFR(averaging="sampled"), 4e-3, 500_000),
        (KUHN, ExternalSamplingMCCFR(averaging="full"), 4e-3, 500_000),
        (KUHN, OutcomeSamplingMCCFR(), 8e-3, 500_000),
        (KUHN, OutcomeSamplingMCCFR(baselines="none"), 8e-3, 500_000),
        (KUHN, OutcomeSamplingMCCFR(baselines="infoset"), 8e-3, 500_000),
        (THREE, ExternalSamplingMCCFR(), 8e-3, 500_000),
        (THREE, OutcomeSamplingMCCFR(), 1.2e-2, 500_000),
        (LEDUC, ExternalSamplingMCCFR(), 0.1, 500_000),
        (LEDUC, OutcomeSamplingMCCFR(), 0.3, 1_000_000),
    ],
    ids=repr,
)
def test_exploitability_falls(game, method, tol, most):
    solution = solve(Nash(game), method, tol=tol, max_iterations=most, seed=2)
    assert solution.status is Status.CONVERGED
    assert exploitability(game, solution.profile) <= tol
    history = solution.history
    assert history.iterations[0] == 0
    assert history.iterations[-1] == solution.iterations
    assert (np.diff(history.iterations) > 0).all()
    assert (np.diff(history.touched) > 0).all()
    assert (np.diff(history.seconds) >= 0).all()
    assert history.exploitability[-1] == pytest.approx(solution.exploitability)


@pytest.mark.parametrize("method", ["es-mccfr", "os-mccfr"])
def test_equal_seeds_give_equal_runs(method):
    def run(seed, **more):
        return solve(Nash(LEDUC), method, tol=0, max_iterations=3000, seed=seed, **more)

    once, again, other = run(7), run(7, progress=lambda progress: None), run(8)
    for player in range(2):
        np.testing.assert_array_equal(once.profile[player].plan, again.profile[player].plan)
        assert not np.array_equal(once.profile[player].plan, other.profile[player].plan)
    np.testing.assert_array_equal(once.history.touched, again.history.touched)
    np.testing.assert_array_equal(run(None).profile[0].plan, run(0).profile[0].plan)


def test_the_random_numbers_are_those_of_splitmix64():
    game = to_game(Chance(tuple((f"c{i}", Fraction(1, 8), Leaf((1.0, -1.0))) for i in range(8))))
    sampler = Sampler(history_tree(game))
    state = sampler.initial_state(SamplingRule(), 3)
    before = int(state.arrays.clock[2])
    sampler.run(state, SamplingRule(), 5)  # two players, one random number for each
    assert int(state.arrays.clock[2]) == (before + 10 * 0x9E3779B97F4A7C15) % 2**64


def test_runs_are_the_same_on_every_machine():
    counts = {}
    for name, rule in RULES.items():
        sampler = Sampler(history_tree(LEDUC))
        state = sampler.initial_state(rule, 1)
        sampler.run(state, rule, 2000)
        counts[name] = state.touched
    assert counts == {
        "external": 87_771,
        "outcome": 33_322,
        "outcome with baselines": 33_369,
        "outcome with baselines by history": 32_977,
    }


@pytest.mark.parametrize("method", ["es-mccfr", "os-mccfr"])
def test_a_solution_goes_on_exactly_where_it_stopped(method):
    problem = Nash(THREE)
    whole = solve(problem, method, tol=0, max_iterations=2000, seed=4)
    half = solve(problem, method, tol=0, max_iterations=1200, seed=4)
    rest = solve(problem, method, tol=0, max_iterations=800, start=half)
    assert rest.iterations == 2000
    for player in range(3):
        np.testing.assert_array_equal(rest.profile[player].plan, whole.profile[player].plan)
    again = solve(problem, method, tol=0, max_iterations=800, start=half)
    np.testing.assert_array_equal(rest.profile[0].plan, again.profile[0].plan)
    enough = solve(problem, method, tol=whole.exploitability * 1.01, start=whole)
    assert (enough.status, enough.iterations) == (Status.CONVERGED, 2000)


def test_any_profile_is_a_start():
    exact = solve(Nash(LEDUC))
    begun = solve(Nash(LEDUC), "es-mccfr", start=exact.profile, tol=0, max_iterations=0)
    assert begun.exploitability < 1e-9
    for player in range(2):
        np.testing.assert_allclose(begun.profile[player].plan, exact.profile[player].plan, atol=1e-12)
    good = solve(Nash(LEDUC), "es-mccfr", start=exact, tol=0, max_iterations=500)
    cold = solve(Nash(LEDUC), "es-mccfr", tol=0, max_iterations=500)
    assert good.exploitability < 0.5 * cold.exploitability


def test_a_keyboard_interrupt_returns_the_best_so_far():
    def interrupt(progress):
        if progress.iterations > 40:
            raise KeyboardInterrupt

    solution = solve(Nash(LEDUC), "es-mccfr", tol=0, progress=interrupt)
    assert solution.status is Status.INTERRUPTED
    straight = solve(Nash(LEDUC), "es-mccfr", tol=0, max_iterations=solution.iterations)
    np.testing.assert_array_equal(solution.profile[0].plan, straight.profile[0].plan)


def test_limits_and_callbacks_stop_a_run(clock):
    stopped = solve(Nash(KUHN), "os-mccfr", tol=0, callback=lambda progress: progress.iterations > 100)
    assert stopped.status is Status.INTERRUPTED
    late = solve(Nash(KUHN), "es-mccfr", tol=0, time_limit=10)
    assert late.status is Status.TIME_LIMIT
    assert 8 < late.seconds < 12


def test_games_that_cannot_be_sampled_are_refused_in_one_line():
    matrix = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[1, -1], [-1, 1]]))
    for game in (load_game("transit:width=2"), matrix):
        with pytest.raises(UnsupportedProblemError, match="has no histories, expected rules or a tree") as refused:
            solve(Nash(game), "es-mccfr")
        assert "\n" not in str(refused.value)
    with pytest.raises(InvalidGameError, match="expected a Game"):
        history_tree("kuhn")
    with pytest.raises(GameTooLargeError, match=r"leduc: 9,457 histories as arrays would take about .* budget is"):
        history_tree(LEDUC, memory="100kB")
    mixed = Game("mixed", rules=KUHN.rules, sequence_form=load_game("kuhn:cards=4").sequence_form)
    with pytest.raises(UnsupportedProblemError, match=r"that follows from the rules|has other infosets"):
        history_tree(mixed)


@pytest.mark.parametrize("seed", [-1, 0.5, True, "1"])
def test_seeds_are_whole_numbers(seed):
    with pytest.raises(UnknownMethodError, match="expected a whole number of at least 0"):
        solve(Nash(KUHN), "es-mccfr", seed=seed)


def test_options_that_make_no_sense_are_refused():
    for wrong in (0.0, 1.5, math.nan, "half", True):
        with pytest.raises(UnknownMethodError, match=r"os-mccfr: exploration = .*; expected a number above 0 and"):
            OutcomeSamplingMCCFR(exploration=wrong)
    with pytest.raises(UnknownMethodError, match="expected a number above 0 and at most 1"):
        OutcomeSamplingMCCFR(baseline_rate=0.0)
    with pytest.raises(UnknownMethodError, match="expected one of history, infoset, none"):
        OutcomeSamplingMCCFR(baselines="chance")
    with pytest.raises(UnknownMethodError, match="expected one of simple, sampled, full"):
        ExternalSamplingMCCFR(averaging="linear")
    with pytest.raises(UnknownMethodError, match="expected one of regret-matching"):
        ExternalSamplingMCCFR(local_rule="hedge")
    with pytest.raises(InvalidStrategyError, match="expected a Profile or a Solution"):
        solve(Nash(KUHN), "es-mccfr", start="uniform")


def test_the_table_of_histories_is_what_it_says():
    tree = history_tree(KUHN)
    assert not tree.nodes.flags.writeable
    root = tree.nodes[0]
    assert root[MOVER] == CHANCE
    assert tree.chance[root[PLACE] : root[PLACE] + root[COUNT]][-1] == 1.0
    assert root[CHILD] == 1
    leaves = tree.nodes[tree.nodes[:, MOVER] == TERMINAL]
    assert sorted(leaves[:, PLACE]) == list(range(30))
