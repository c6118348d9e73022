"""Losses by infoset: they are what hybrid strategies lose, they sum to regret, and a spoilt infoset is found."""

import numpy as np
import pytest
from random_flows import flow_game, random_flow, random_walk
from random_profiles import random_profile
from spoilt_profiles import spoilt

from treeplex import InvalidStrategyError, Nash, Profile, load_game, solve
from treeplex.seqform import best_response_values, expected_payoffs, infoset_losses, largest_losses
from treeplex.seqform.polytope import best_response_plan

GAMES = ["kuhn", "kuhn:players=3", "liars_dice:sides=2", "transit:width=2", "leduc"]


def general_sum_flows(seed):
    rng = np.random.default_rng(seed)
    return flow_game(rng, (random_flow(rng, 6), random_walk(rng, 5)), zero_sum=False)


def regrets(game, profile):
    return best_response_values(game, profile) - expected_payoffs(game, profile)


def assert_losses_sum_to_regrets(game, profile):
    for player, regret in enumerate(regrets(game, profile)):
        losses = infoset_losses(game, profile, player)
        assert losses.shape == (game.sequence_form.treeplexes[player].num_infosets,)
        assert losses.min(initial=0.0) >= 0.0
        assert losses.sum() == pytest.approx(regret, rel=1e-12, abs=1e-13 * game.payoff_scale)


@pytest.mark.parametrize("spec", GAMES)
def test_losses_sum_to_the_regret(spec):
    game = load_game(spec)
    for seed, concentration in enumerate((1.0, 0.05)):
        assert_losses_sum_to_regrets(game, random_profile(game, seed, concentration))


@pytest.mark.parametrize("seed", range(8))
def test_losses_sum_to_the_regret_on_flow_polytopes(seed):
    game = general_sum_flows(seed)
    assert_losses_sum_to_regrets(game, random_profile(game, seed))


@pytest.mark.parametrize("spec", [*GAMES[:4], "a flow"])
def test_a_loss_is_what_the_infoset_costs_between_two_hybrids(spec):
    """Play the profile at the first k infosets, and the best response at all others: each k costs the loss of one.

    Infosets come after those above them, so both hybrids come to the k-th one alike, and best-respond below it.
    """
    game = general_sum_flows(11) if spec == "a flow" else load_game(spec)
    profile, form = random_profile(game, seed=3), game.sequence_form
    for player, treeplex in enumerate(form.treeplexes):
        gradient = form.gradient(player, profile.plans)
        hybrid, paid = best_response_plan(treeplex, gradient).behaviour, []
        for first, last in [(0, 0), *zip(treeplex.offsets[:-1], treeplex.offsets[1:], strict=True)]:
            hybrid[first:last] = profile[player].behaviour[first:last]
            paid.append(float(gradient @ treeplex.plan(hybrid)))
        losses = infoset_losses(game, profile, player)
        np.testing.assert_allclose(losses, -np.diff(paid), rtol=0, atol=1e-12 * game.payoff_scale)


@pytest.mark.parametrize(("player", "infoset"), [(1, "Kh_r"), (0, "Ks_rr"), (0, "Kh_cr")])
def test_a_spoilt_infoset_is_the_first_row(player, infoset):
    game = load_game("leduc")
    equilibrium = solve(Nash(game)).profile
    assert largest_losses(game, equilibrium) == []
    folds = spoilt(game, equilibrium, player, infoset, {"f": 1.0})
    worst, *others = largest_losses(game, folds, top=1000)
    assert (worst["player"], worst["infoset"]) == (player, infoset)
    assert (worst["action"], worst["probability"]) == ("f", 1.0)
    assert worst["better"] == max(equilibrium[player][infoset], key=equilibrium[player][infoset].get)
    assert worst["loss"] == pytest.approx(regrets(game, folds)[player], abs=1e-8)
    # all that is left is what the other player gains from knowing it
    assert {row["player"] for row in others} == {1 - player}
    assert sum(row["loss"] for row in others) == pytest.approx(regrets(game, folds)[1 - player], abs=1e-8)
    assert [row["loss"] for row in others] == sorted((row["loss"] for row in others), reverse=True)


def test_rows_are_of_the_players_that_are_asked_for_and_no_more_than_asked_for():
    game = load_game("kuhn:players=3")
    uniform = Profile.uniform(game)
    rows = largest_losses(game, uniform, top=4)
    assert len(rows) == 4
    assert {row["player"] for row in largest_losses(game, uniform, [1])} == {1}
    assert largest_losses(game, uniform, top=0) == []
    everything = largest_losses(game, uniform, top=10**6)
    assert everything[:4] == rows
    assert sum(row["loss"] for row in everything) == pytest.approx(regrets(game, uniform).sum())


def test_units_of_payoffs_change_no_order():
    small, large = (
        load_game(f"rps:rock={each},paper={each},scissors={each}") for each in ("1/1000000000", "1000000000")
    )
    mixed = {"_": {"R": 0.5, "P": 0.3, "S": 0.2}}
    rows, others = (largest_losses(game, Profile.from_dict(game, [mixed, mixed])) for game in (small, large))
    assert [(row["player"], row["action"], row["better"]) for row in rows] == [(0, "R", "P"), (1, "R", "P")]
    assert [row["loss"] * 1e18 for row in rows] == pytest.approx([row["loss"] for row in others])


def test_a_profile_of_another_game_is_refused():
    with pytest.raises(InvalidStrategyError, match="belongs to another game"):
        infoset_losses(load_game("kuhn"), Profile.uniform(load_game("leduc")), 0)
    with pytest.raises(InvalidStrategyError, match="player"):
        infoset_losses(load_game("kuhn"), Profile.uniform(load_game("kuhn")), 2)
