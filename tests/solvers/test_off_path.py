"""Behaviour where strategies do not go: plans stay, dominated actions go, and bad input is refused."""

import numpy as np
import pytest
from effort import examples, thorough
from hypothesis import given
from random_trees import to_game, trees

from treeplex import InvalidGameError, InvalidStrategyError, Nash, Profile, Strategy, exploitability, load_game, solve
from treeplex.solvers.opponents.off_path import REACHED, trembling_off_path

KUHN, LEDUC = load_game("kuhn"), load_game("leduc")


def test_plans_and_what_they_prove_stay():
    profile = solve(Nash(LEDUC)).profile
    refined = trembling_off_path(LEDUC, profile)
    assert isinstance(refined, Profile)
    for before, after in zip(profile, refined, strict=True):
        np.testing.assert_allclose(before.plan, after.plan, atol=1e-9)
        assert (before.behaviour != after.behaviour).any()
    assert exploitability(LEDUC, refined) == pytest.approx(exploitability(LEDUC, profile), abs=1e-9)


def test_a_king_calls_a_bet_that_it_never_meets():
    always_bets = Strategy.from_dict(KUHN, 0, {"K_": {"b": 1.0}})
    refined = trembling_off_path(KUHN, always_bets, tremble=0.02)
    assert refined["K_pb"]["b"] == pytest.approx(0.98)
    assert refined["J_pb"] == always_bets["J_pb"]


@thorough
def test_mistakes_of_the_opponent_are_punished_where_the_plan_leaves_them_alone():
    """Between unreached infosets of Leduc, refined play earns more against an opponent who trembles."""
    first = solve(Nash(LEDUC)).profile[0]
    refined = trembling_off_path(LEDUC, first, tremble=0.05)
    treeplex = first.treeplex
    everywhere = [treeplex.plan(0.95 * one.behaviour + 0.05 * treeplex.uniform_behaviour()) for one in (first, refined)]
    rival = trembling_off_path(LEDUC, Strategy.uniform(LEDUC, 1), tremble=0.05).plan
    earned = [plan @ LEDUC.sequence_form.gradient(0, [plan, rival]) for plan in everywhere]
    assert earned[1] > earned[0]


@examples(25)
@given(trees(size=10))
def test_only_infosets_that_are_not_reached_change(root):
    game = to_game(root)
    profile = solve(Nash(game)).profile
    for before, after in zip(profile, trembling_off_path(game, profile, tremble=0.05), strict=True):
        reached = np.repeat(before.treeplex.reach(before.plan) > REACHED, before.treeplex.num_actions)
        np.testing.assert_array_equal(before.behaviour[1:][reached], after.behaviour[1:][reached])
        assert (after.behaviour[1:][~reached] >= 0.05 - 1e-6).all()


@pytest.mark.parametrize("tremble", [0.0, 0.6, -1, float("nan"), "much", True])
def test_trembles_that_are_none_are_refused(tremble):
    with pytest.raises(InvalidGameError, match="tremble is"):
        trembling_off_path(KUHN, Strategy.uniform(KUHN, 0), tremble)


def test_strategies_of_other_games_are_refused():
    with pytest.raises(InvalidStrategyError):
        trembling_off_path(LEDUC, Strategy.uniform(KUHN, 0))
    with pytest.raises(InvalidStrategyError, match="expected a Strategy or a Profile"):
        trembling_off_path(LEDUC, 3)
