"""Targets on the worst share of payoffs: what they measure, and what linear programs prove of them."""

import numpy as np
import pytest
from deal_games import random_deal_game, random_model
from effort import either, few, thorough

from treeplex import (
    InvalidConstraintError,
    Nash,
    Profile,
    Status,
    Strategy,
    UnsupportedProblemError,
    load_game,
    reach_style,
    solve,
    worst_case,
)
from treeplex.solvers import calibrate_style
from treeplex.solvers.style.tails import read_styles

KUHN, LEDUC = load_game("kuhn"), load_game("leduc:merge_suits=true")


def target_of(game, text, others):
    _, (found,) = read_styles(text, game, 0, None)
    return found.against(list(others))


def mean_of_the_worst(game, player, level, profile):
    """Return the conditional value at risk leaf by leaf, in the order of payoffs."""
    table = game.sequence_form.leaves
    shares = table.chance * np.prod([each.plan[table.sequences[:, seat]] for seat, each in enumerate(profile)], axis=0)
    left, total = level, 0.0
    for leaf in np.argsort(table.payoffs[:, player], kind="stable"):
        taken = min(left, shares[leaf])
        left, total = left - taken, total + taken * table.payoffs[leaf, player]
    return total / level


@pytest.mark.parametrize("seed", range(8))
def test_the_tail_is_that_of_the_distribution_and_the_largest_of_linear_functions(seed):
    game = random_deal_game(seed, rounds=(2, 3))
    profile = Profile([random_model(game, seat, seed + seat) for seat in (0, 1)])
    for player, level in ((0, 0.1), (1, 0.5), (0, 1.0)):
        found = target_of(game, f"{player}/cvar@{level} >= 0", profile)
        plan = profile[player].plan
        expected = mean_of_the_worst(game, player, level, profile)
        assert found.measured(plan) == pytest.approx(expected, abs=1e-9)
        linear = [threshold - found.shortfall(threshold).coefficients @ plan / level for threshold in found.thresholds]
        assert max(linear) == pytest.approx(expected, abs=1e-9)
        assert found.measure.value(profile[player]) == pytest.approx(expected, abs=1e-9)


@few
@pytest.mark.parametrize(
    ("target", "max_loss", "least"),
    [("cvar@0.5 >= -1", 0.2, 1 / 9), ("cvar@0.5 >= -1", 0.0, 1 / 9), ("cvar@1/2 <= -1.3", 0.01, 1 / 480)],
)
def test_styles_of_kuhn_poker(target, max_loss, least):
    found = reach_style(KUHN, target, max_loss)
    (one,) = found.targets
    assert found.least_loss == pytest.approx(least, abs=1e-9)
    assert found.least_loss_lower <= least + 1e-9
    assert found.is_feasible == (least <= max_loss)
    assert found.loss == pytest.approx(-1 / 18 - worst_case(KUHN, found.strategy), abs=1e-9)
    assert found.loss <= max_loss + 1e-9
    profile = Profile([found.strategy, solve(Nash(KUHN), "highs-simplex").profile[1]])
    assert one.reached == pytest.approx(mean_of_the_worst(KUHN, 0, 0.5, profile), abs=1e-9)
    assert one.low - 1e-9 <= one.reached <= one.high + 1e-9


def test_no_strategy_within_the_loss_has_a_better_tail():
    """Mixtures of equilibrium play and of anything else that lose little never beat the range that is proven."""
    others = Strategy.uniform(KUHN, 1)
    found = reach_style(KUHN, "cvar@0.3 >= 2", 0.1, others=others)
    assert found.status is Status.INFEASIBLE
    (one,) = found.targets
    measured = target_of(KUHN, "cvar@0.3 >= 0", [others])
    calm = solve(Nash(KUHN), "highs-simplex").profile[0]
    tried = 0
    for seed in range(either(100, 1_000)):
        drawn = random_model(KUHN, 0, seed)
        for share in (0.1, 0.3, 1.0):
            mixed = Strategy.from_plan(KUHN, 0, (1 - share) * calm.plan + share * drawn.plan)
            if -1 / 18 - worst_case(KUHN, mixed) <= 0.1:
                tried += 1
                assert one.low - 1e-9 <= measured.measured(mixed.plan) <= one.high + 1e-9
    assert tried > 50


def test_several_targets_at_once():
    both = ["cvar@0.5 >= -1.1", "bet@first >= 0.3"]
    least = [reach_style(KUHN, one, 0.5).least_loss for one in both]
    found = reach_style(KUHN, both, 0.5)
    assert found.is_feasible
    assert found.least_loss >= max(least) - 1e-9
    assert [one.missed_by for one in found.targets] == pytest.approx([0, 0], abs=1e-9)


def test_preference_cfr_comes_near_the_least_loss():
    found = calibrate_style(KUHN, "cvar@0.5 >= -1", 0.2, others=solve(Nash(KUHN), "highs-simplex").profile)
    assert found.status is Status.CONVERGED
    assert found.targets[0].reached >= -1
    assert 1 / 9 - 1e-3 <= found.best.loss <= 0.12
    found = calibrate_style(LEDUC, "cvar@0.1 >= -4.5", 0.2, max_runs=10)
    exact = reach_style(LEDUC, "cvar@0.1 >= -4.5", 0.2, others=found.runs[0].solution.profile)
    assert found.runs[0].reached[0] < -6 < -4.5 <= found.targets[0].reached <= exact.targets[0].high
    assert exact.least_loss_lower - 1e-3 <= found.best.loss <= 0.2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cvar@0 >= 1", "a level above 0"),
        ("cvar@1.5 >= 1", "a level above 0"),
        ("cvar@0.1 == 1", "an equation"),
        ("cvar@0.1", "expected cvar@LEVEL >= NUMBER"),
        ("cvar@x >= 1", "'x' instead of a number"),
        ("cvar@0.1 >= y", "'y' instead of a number"),
        (["cvar@0.1 >= 1", "1/cvar@0.1 >= 1"], "expected one player's"),
        (["cvar@0.1 >= 1", "cvar@0.1 >= 1"], "append 'as NAME' to one"),
    ],
)
def test_texts_that_are_no_targets(text, said):
    with pytest.raises(InvalidConstraintError, match=said):
        reach_style(KUHN, text, 0.1)


@thorough
def test_what_has_no_tail():
    with pytest.raises(UnsupportedProblemError, match="solves in fractions"):
        reach_style(KUHN, "cvar@0.1 >= -1", 0.1, method="rational")
    with pytest.raises(UnsupportedProblemError, match="table of leaves"):
        calibrate_style(load_game("preflop"), "cvar@0.1 >= -1", 0.1)
