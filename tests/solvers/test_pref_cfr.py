"""Preference-CFR in the compiled loop: its rule, its styles, and what they cost."""

from functools import cache

import numpy as np
import pytest
from effort import either, examples, few, some, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_trees import seeded_tree, to_game
from regret_in_numpy import RULES, Learner, gradient

from treeplex import (
    CFR,
    DCFR,
    CFRPlus,
    Nash,
    PCFRPlus,
    PrefCFR,
    Prefer,
    Profile,
    Strategy,
    UnknownMethodError,
    UnsupportedProblemError,
    exploitability,
    frequency,
    load_game,
    nash_conv,
    solve,
    style_range,
)
from treeplex.models.preferences import PreferStrategy, preference_on
from treeplex.seqform.functional import Functional, reach_matrix, reach_of_others
from treeplex.solvers import CFVFP
from treeplex.solvers.regret.loop import BLOCK, EARLY, LATE_BLOCK
from treeplex.solvers.regret.preference_bounds import preference_bound

ITERATIONS = 10_000
SEEDS = range(either(10, 30))
#: The settings of the paper's figure 2, and in which range the mean of the frequency of the bluff is to be.
KUHN = {
    "cfr": (CFR(updates="simultaneous", initial_regrets=1.0), 0.18, 0.22),
    "(1)": (PrefCFR("0/b@first:10", rule="br", initial_regrets=1.0), 0.27, 0.32),
    "(2)": (PrefCFR("0/b@first:5", rule="br", initial_regrets=1.0), 0.22, 0.32),
    "(3)": (PrefCFR("0/b@first:5", initial_regrets=1.0), 0.21, 0.25),
    "(4)": (PrefCFR("0/p@first:5", initial_regrets=1.0), 0.16, 0.19),
    "(5)": (PrefCFR("0/p@first:5", rule="br", initial_regrets=1.0), 0.09, 0.14),
    "(6)": (PrefCFR("0/p@first:10", rule="br", initial_regrets=1.0), 0.03, 0.11),
}


def run(game, method, iterations, **options):
    return solve(Nash(game), method, tol=0, max_iterations=iterations, **options)


@cache
def kuhn_runs(name):
    game = load_game("kuhn")
    return [run(game, KUHN[name][0], ITERATIONS, seed=seed) for seed in SEEDS]


def bluff(solution):
    return solution.profile[0]["J_"]["b"]


def mean_bluff(name):
    return float(np.mean([bluff(solution) for solution in kuhn_runs(name)]))


# The rule


class Reference:
    """The learners of the readable reference, charged what vulnerabilities cost."""

    def __init__(self, game, preference, greedy, base, alternating):
        self.game, self.form, self.preference, self.alternating = game, game.sequence_form, preference, alternating
        self.learners = [
            Learner(treeplex, RULES[base], preference.degrees[player], preference.fallback(treeplex, player), greedy)
            for player, treeplex in enumerate(self.form.treeplexes)
        ]
        # What vulnerabilities are charged, and sums of plans at the end of the last block.
        self.costs = [np.zeros(treeplex.num_infosets) for treeplex in self.form.treeplexes]
        self.seen = [(np.zeros_like(each.sums), 0.0) for each in reversed(self.learners)]
        self.weights = [0.0] * len(self.learners)
        self.t = 0

    def price(self, player, plans):
        beta = self.preference.vulnerability[player]
        if self.preference.units == "counterfactual":
            return beta
        if len(plans) > 2:
            strategies = [Strategy(self.game, i, each.behaviour) for i, each in enumerate(self.learners)]
            return beta * reach_of_others(self.game, player, Profile(strategies))
        if self.t % (BLOCK if self.t <= EARLY else LATE_BLOCK) == 1:
            other = 1 - player
            weight = self.weights[other]
            total = self.learners[other].average() * weight if weight else np.zeros_like(plans[other])
            (before, then), self.seen[player] = self.seen[player], (total, weight)
            recent = plans[other] if weight == then else (total - before) / (weight - then)
            self.costs[player] = np.maximum(beta * (reach_matrix(self.game, player) @ recent), 0.0)
        return self.costs[player]

    def step(self):
        self.t += 1
        before = [each.plan() for each in self.learners]
        for player, learner in enumerate(self.learners):
            plans = [each.plan() for each in self.learners] if self.alternating else before
            charges = self.price(player, plans)
            learner.learn(gradient(self.form, player, plans), charges)
            if self.alternating:
                self.add(player, before)
        for player in range(0 if self.alternating else len(before)):
            self.add(player, before)

    def add(self, player, plans):
        learner = self.learners[player]
        learner.add(plans[player])
        self.weights[player] += self.t ** learner.rule.averaging(self.t)


def random_preference(game, seed, units):
    random = np.random.default_rng(seed)
    treeplexes = game.sequence_form.treeplexes
    wishes = []
    for player, treeplex in enumerate(treeplexes):
        for label, actions in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True):
            if random.random() < 0.6:
                chosen = actions[random.integers(len(actions))]
                degree, beta = 1.0 + 5.0 * random.random(), 0.1 * random.random()
                wishes.append(Prefer([chosen], degree, player=player, infosets=[label], vulnerability=beta))
    return wishes


@few
@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("units", ["counterfactual", "conditional"])
@pytest.mark.parametrize("rule", ["rm", "br"])
@pytest.mark.parametrize("base", ["cfr", "cfr+"])
@pytest.mark.parametrize("players", [2, 3])
def test_averages_are_those_of_the_reference(base, rule, units, alternating, players):
    for seed in range(either(1, 3)):
        # Payoffs are never tied, so that round-off does not choose.
        game = to_game(seeded_tree(seed, num_players=players))
        prefer = random_preference(game, seed, units)
        updates = "alternating" if alternating else "simultaneous"
        method = PrefCFR(prefer, units=units, rule=rule, base=base, updates=updates)
        reference = Reference(game, preference_on(game, prefer, 0.0, units), rule == "br", base, alternating)
        for _ in range(3 * BLOCK + 5):
            reference.step()
        solution = run(game, method, reference.t)
        for own, learner in zip(solution.profile.plans, reference.learners, strict=True):
            np.testing.assert_allclose(own, learner.average(), atol=1e-9)


@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
def test_late_averages_are_those_of_the_reference(updates):
    game = to_game(seeded_tree(5, size=12))
    prefer = random_preference(game, 5, "conditional")
    reference = Reference(game, preference_on(game, prefer), False, "cfr+", updates == "alternating")
    for _ in range(EARLY + 2 * LATE_BLOCK + 5):
        reference.step()
    solution = run(game, PrefCFR(prefer, base="cfr+", updates=updates), reference.t)
    for own, learner in zip(solution.profile.plans, reference.learners, strict=True):
        np.testing.assert_allclose(own, learner.average(), atol=1e-7)


@few
@pytest.mark.parametrize(
    "spec", ["kuhn", "leduc", "goofspiel:cards=4", "liars_dice", "kuhn:players=3", "transit:width=2"]
)
@pytest.mark.parametrize("base", [CFR, CFRPlus, DCFR, PCFRPlus])
@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
def test_without_preferences_it_is_the_base_bit_for_bit(spec, base, updates):
    game = load_game(spec)
    if game.num_players > 2 and base is not CFR:
        pytest.skip("one base is enough there")
    plain = run(game, base(updates=updates), 60)
    # A preference that is none goes the way of all preferences.
    action = game.sequence_form.treeplexes[0].action_labels[0][0]
    for prefer in ((), Prefer([action], 1.0)):
        method = PrefCFR(prefer, base=base.name, updates=updates, units="counterfactual")
        for own, other in zip(run(game, method, 60).profile.plans, plain.profile.plans, strict=True):
            assert np.array_equal(own, other)


def test_fictitious_play_is_the_best_response_rule_without_preferences():
    game = load_game("leduc")
    play, same = run(game, CFVFP(), 300), run(game, PrefCFR(rule="br", updates="alternating"), 300)
    for own, other in zip(play.profile.plans, same.profile.plans, strict=True):
        assert np.array_equal(own, other)
    last = run(game, CFVFP(iterate="last"), 300)
    assert set(np.unique(np.concatenate(last.profile.plans))) <= {0.0, 1.0, *np.unique(last.profile[0].behaviour)}
    assert run(game, CFVFP(), 20_000).exploitability < 0.05


def test_fictitious_play_plays_pure_plans_once_it_has_regrets():
    game = to_game(seeded_tree(3))
    for strategy in run(game, CFVFP(iterate="last"), 200).profile:
        counts = np.repeat(strategy.treeplex.num_actions, strategy.treeplex.num_actions)
        pure = (strategy.behaviour[1:] == 0.0) | (strategy.behaviour[1:] == 1.0)
        assert (pure | np.isclose(strategy.behaviour[1:], 1.0 / counts)).all()
        assert pure.any()


@pytest.mark.parametrize("units", ["counterfactual", "conditional"])
def test_a_run_in_parts_is_the_run_in_one(units):
    game = load_game("leduc")
    method = PrefCFR("r:5", vulnerability=0.05, units=units)
    whole = run(game, method, 137)
    parts = run(game, method, 37)
    for iterations in (1, 50, 49):
        parts = run(game, method, iterations, start=parts)
    assert parts.iterations == 137
    for own, other in zip(parts.profile.plans, whole.profile.plans, strict=True):
        assert np.array_equal(own, other)


@few
@pytest.mark.parametrize(("precision", "accuracy"), [("double", 1e-9), ("single", 1e-5)])
@pytest.mark.parametrize("parts", [(176, 124), (192, 108), (40, 60, 200)])
def test_prices_go_on_on_another_kernel_and_over_checks(precision, accuracy, parts):
    method = PrefCFR("r@first:5", vulnerability=0.1, precision=precision)
    whole, found = run(load_game("leduc"), method, 300), None
    for iterations in parts:
        # A game of its own has a kernel of its own; each part ends with a look at the certificate.
        found = run(load_game("leduc"), method, iterations, start=found)
    for own, other in zip(found.profile.plans, whole.profile.plans, strict=True):
        np.testing.assert_allclose(own, other, atol=accuracy)


@thorough
def test_single_precision_comes_near():
    game = load_game("leduc")
    method = PrefCFR("r@first:5", vulnerability=0.1)
    double = run(game, method, 300)
    single = run(game, PrefCFR("r@first:5", vulnerability=0.1, precision="single"), 300)
    raises = frequency(game, 0, "r", first=True)
    assert raises.value(single.profile[0]) == pytest.approx(raises.value(double.profile[0]), abs=0.05)


def test_first_regrets_are_random_by_seed():
    game = load_game("kuhn")
    method = CFR(initial_regrets=1.0)
    first, same, other = (run(game, method, 10, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.profile[0].plan, same.profile[0].plan)
    assert not np.array_equal(first.profile[0].plan, other.profile[0].plan)
    with pytest.raises(UnknownMethodError, match="seed is -1, expected a whole number"):
        run(game, method, 10, seed=-1)


# Styles


@few
@pytest.mark.parametrize("name", KUHN)
def test_kuhn_bluffs_as_often_as_the_paper_says(name):
    _, low, high = KUHN[name]
    assert low - 0.02 <= mean_bluff(name) <= high + 0.02
    assert max(solution.exploitability for solution in kuhn_runs(name)) < 0.005


@thorough
def test_settings_in_kuhn_are_in_the_order_of_the_paper():
    means = [mean_bluff(name) for name in ("(1)", "(2)", "cfr", "(4)", "(5)", "(6)")]
    assert means == sorted(means, reverse=True)


@pytest.mark.parametrize("name", KUHN)
def test_a_bluff_is_within_what_a_linear_program_allows(name):
    game = load_game("kuhn")
    term = Functional(0, np.eye(13)[game.sequence_form.treeplexes[0].sequence("J_", "b")], "bluff")
    for solution in kuhn_runs(name)[:5]:
        found = style_range(game, term, nash_conv(game, solution.profile), game_value=-1 / 18)
        assert found.low - 1e-7 <= bluff(solution) <= found.high + 1e-7


@thorough
def test_without_vulnerability_leduc_has_one_frequency_of_raises():
    game = load_game("leduc")
    raises = frequency(game, 0, "r", first=True)
    for style in some(("0/r@first:10", "0/c@first:10"), 2):
        for rule, base, near in (("rm", "cfr", 0.04), ("rm", "cfr+", 0.01), ("br", "cfr", 0.08)):
            solution = run(game, PrefCFR(style, rule=rule, base=base), 20_000)
            assert raises.value(solution.profile[0]) == pytest.approx(0.52204, abs=near)
            found = style_range(game, raises, 2.0 * solution.exploitability, game_value=float(game.reference_value))
            assert found.low - 1e-6 <= raises.value(solution.profile[0]) <= found.high + 1e-6


@pytest.mark.parametrize("rule", ["rm", "br"])
@pytest.mark.parametrize(("style", "sign"), [("0/r@first:5", 1), ("0/c@first:5", -1)])
def test_more_vulnerability_is_more_style_and_never_beyond_the_linear_program(style, sign, rule):
    game = load_game("leduc")
    raises = frequency(game, 0, "r", first=True)
    shares, losses = [], []
    for beta in (0.0, 0.05, 0.1, 0.2, 0.5):
        solution = run(game, PrefCFR(style, vulnerability=beta, rule=rule), 3000)
        shares.append(sign * raises.value(solution.profile[0]))
        losses.append(2.0 * solution.exploitability)
    assert shares == sorted(shares)
    found = style_range(game, raises, losses[2], game_value=float(game.reference_value))
    assert shares[2] <= sign * (found.high if sign > 0 else found.low) + 1e-6


def test_a_whole_strategy_can_be_preferred():
    game = load_game("leduc")
    treeplex = game.sequence_form.treeplexes[0]
    callers = {
        label: {action: float(action == "c") for action in actions}
        for label, actions in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True)
    }
    cautious = Strategy.from_dict(game, 0, callers)
    raises = frequency(game, 0, "r")
    plain = run(game, PrefCFR(), 2000)
    leaning = run(game, PrefCFR(PreferStrategy(cautious, 20), vulnerability=0.1), 2000)
    assert raises.value(leaning.profile[0]) < raises.value(plain.profile[0]) - 0.05


def test_three_players_can_have_styles():
    game = load_game("kuhn:players=3")
    bets = frequency(game, 0, "b", first=True)
    bold, cautious = (PrefCFR(style, vulnerability=0.05) for style in ("0/b@first:5", "0/p@first:5"))
    methods = [cautious, PrefCFR(), bold]
    shares = [bets.value(run(game, method, 3000).profile[0]) for method in methods]
    assert shares == sorted(shares)
    assert shares[2] > shares[0] + 0.05


# What it costs


@given(
    st.integers(0, 10**6), st.sampled_from(["counterfactual", "conditional"]), st.sampled_from(["cfr", "cfr+"]),
    st.sampled_from([1, 7, 100, 1000]), st.sampled_from(["alternating", "simultaneous"]),
)  # fmt: skip
@examples(60)
def test_nash_conv_is_within_the_bound(seed, units, base, iterations, updates):
    game = to_game(seeded_tree(seed))
    method = PrefCFR(random_preference(game, seed, units), units=units, base=base, updates=updates)
    solution = run(game, method, iterations)
    bound = preference_bound(solution)
    if updates == "simultaneous":
        assert nash_conv(game, solution.profile) <= bound.nash_conv + 1e-9
    else:
        assert bound.finite_run is None


@few
@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
@pytest.mark.parametrize("units", ["counterfactual", "conditional"])
@pytest.mark.parametrize("spec", ["kuhn", "leduc", "goofspiel:cards=4"])
def test_long_runs_come_below_the_vulnerabilities(spec, units, updates):
    game = load_game(spec)
    action = game.sequence_form.treeplexes[0].action_labels[0][-1]
    for degree, beta in ((2, 0.02), (10, 0.1)):
        method = PrefCFR([Prefer([action], degree)], vulnerability=beta, units=units, updates=updates)
        solution = run(game, method, 4000)
        assert nash_conv(game, solution.profile) <= preference_bound(solution).asymptotic + 0.01


def test_counterexample_exploitability_is_not_below_the_vulnerability():
    """In extensive games the paper's ε (NashConv / 2) may be above β: only the sum over infosets bounds it."""
    game = load_game("kuhn")
    for beta, found in ((0.01, 0.0219), (0.02, 0.0415), (0.05, 0.1338), (0.1, 0.196)):
        method = PrefCFR("0/b@first:5", vulnerability=beta, units="counterfactual")
        solution = run(game, method, 20_000)
        bound = preference_bound(solution)
        assert bound.vulnerability == pytest.approx((3 * beta, 0.0))
        assert nash_conv(game, solution.profile) == pytest.approx(found, abs=1e-3)
        assert nash_conv(game, solution.profile) <= bound.asymptotic
        if beta == 0.05:
            assert exploitability(game, solution.profile) > beta


def test_vulnerability_at_first_decisions_bounds_the_loss_by_itself():
    game = load_game("leduc")
    solution = run(game, PrefCFR("0/r@first:5", vulnerability=0.05), 40_000)
    assert preference_bound(solution).vulnerability == pytest.approx((0.05, 0.0))
    assert nash_conv(game, solution.profile) <= 0.05 + 0.01


def test_what_is_not_proven_is_not_said():
    game = load_game("kuhn")
    for method in (PrefCFR("b:5", rule="br"), PrefCFR("b:5", base="dcfr"), PrefCFR("b:5", averaging="linear")):
        bound = preference_bound(run(game, method, 50))
        assert bound.nash_conv is None
        assert bound.asymptotic == 0.0
    with pytest.raises(
        UnsupportedProblemError, match="need a solution by pref-cfr, received a solution of kuhn by cfr"
    ):
        preference_bound(run(game, CFR(), 50))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "best"}, "pref-cfr: rule = best; expected one of rm, br"),
        ({"vulnerability": -0.1}, "pref-cfr: vulnerability = -0.1; expected a number of at least 0"),
        ({"units": "chips"}, "pref-cfr: units = chips; expected one of conditional, counterfactual"),
        (
            {"base": "ccfr"},
            "pref-cfr: base = ccfr \\(did you mean cfr\\?\\); expected one of cfr, cfr\\+, dcfr, pcfr\\+",
        ),
        ({"initial_regrets": np.inf}, "pref-cfr: initial_regrets = inf; expected a number of at least 0"),
    ],
)
def test_bad_options_are_one_line(options, message):
    with pytest.raises(UnknownMethodError, match=message):
        PrefCFR("b:5", **options)


@thorough
def test_conditional_units_need_leaves():
    game = load_game("transit:width=2")
    action = game.sequence_form.treeplexes[0].action_labels[0][0]
    with pytest.raises(UnsupportedProblemError, match="use units='counterfactual'"):
        run(game, PrefCFR(Prefer([action], 2), vulnerability=0.1), 10)
    run(game, PrefCFR(Prefer([action], 2), vulnerability=0.1, units="counterfactual"), 10)
