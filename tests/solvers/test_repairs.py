"""Repairs of infosets: what a linear program with one infoset free finds, and all of what a single flaw costs."""

import numpy as np
import pytest
from constant_sums import with_constant
from effort import either
from random_flows import flow_game, random_flow, random_walk
from random_profiles import random_profile
from random_trees import seeded_tree, to_game
from scipy.optimize import linprog
from spoilt_profiles import spoilt

from treeplex import (
    InvalidStrategyError,
    Nash,
    Profile,
    UnsupportedProblemError,
    load_game,
    nash_conv,
    solve,
    worst_case,
)
from treeplex.seqform.polytope import sequence_values
from treeplex.solvers import largest_repairs


def repair_by_program(game, profile, player, infoset):
    """Compute a repair by one linear program: the distribution at the infoset, and the opponent's dual values."""
    form = game.sequence_form
    own, other = form.treeplexes[player], form.treeplexes[1 - player]
    first, last = own.offsets[infoset : infoset + 2]
    paid = []
    for sequence in range(first, last):
        behaviour = profile[player].behaviour.copy()
        behaviour[first:last] = np.arange(first, last) == sequence
        paid.append(form.gradient(1 - player, [own.plan(behaviour)] * 2))
    # min e · p  such that  Eᵀ p ≥ Σ_a λ_a g_a,  λ in the simplex
    found = linprog(
        np.append(np.zeros(last - first), other.e),
        A_ub=np.hstack([np.array(paid).T, -other.E.toarray().T]),
        b_ub=np.zeros(other.num_sequences),
        A_eq=[np.append(np.ones(last - first), np.zeros(len(other.e)))],
        b_eq=[1.0],
        bounds=[(0, None)] * (last - first) + [(None, None)] * len(other.e),
    )
    before = form.gradient(1 - player, [profile[player].plan] * 2)
    return sequence_values(other, before)[0] - found.fun


def assert_repairs_are_those_of_programs(game, profile):
    value = solve(Nash(game)).value
    found = largest_repairs(game, profile, top=10**6)
    assert found.complete
    repairs = {(row["player"], row["infoset"]): row for row in found.rows}
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        least = worst_case(game, profile[player])
        exploitability = (value if player == 0 else (game.sequence_form.constant_sum or 0.0) - value) - least
        for infoset, label in enumerate(map(str, treeplex.infoset_labels)):
            row = repairs.get((player, label), {"repair": 0.0, "repair_upper": 0.0})
            exact = repair_by_program(game, profile, player, infoset)
            assert row["repair"] == pytest.approx(exact, abs=1e-7)
            assert 0.0 <= row["repair"] <= row["repair_upper"] <= row["repair"] + 1e-8
            assert row["repair"] <= exploitability + 1e-8
            if "strategy" in row:  # is what achieves it
                changed = profile[player].behaviour.copy()
                changed[slice(*treeplex.offsets[infoset : infoset + 2])] = list(row["strategy"].values())
                repaired = type(profile[player])(game, player, changed)
                assert worst_case(game, repaired) - least == pytest.approx(row["repair"], abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_repairs_are_what_a_program_with_one_infoset_free_finds(seed):
    game = to_game(seeded_tree(seed))
    assert_repairs_are_those_of_programs(game, random_profile(game, seed, (1.0, 0.1)[seed % 2]))


@pytest.mark.parametrize("seed", range(8))
def test_repairs_on_flow_polytopes(seed):
    rng = np.random.default_rng(seed)
    game = flow_game(rng, (random_flow(rng, 6), random_walk(rng, 5)))
    assert_repairs_are_those_of_programs(game, random_profile(game, seed))


@pytest.mark.parametrize("spec", ["kuhn", "rps", "liars_dice:sides=2", "goofspiel:cards=3", "transit:width=2"])
def test_repairs_in_known_games(spec):
    game = load_game(spec)
    assert_repairs_are_those_of_programs(game, random_profile(game, 5))


def test_a_constant_sum_changes_nothing():
    game = load_game("kuhn")
    shifted = with_constant(game, 3)
    behaviour = [each.to_dict() for each in random_profile(game, 1)]
    one, other = (largest_repairs(each, Profile.from_dict(each, behaviour)).rows for each in (game, shifted))
    assert [row["infoset"] for row in one] == [row["infoset"] for row in other]
    assert [row["repair"] for row in one] == pytest.approx([row["repair"] for row in other])


def flaws(game, equilibrium):
    """Yield the infosets to which an equilibrium plays, each with the action that is worst against it."""
    form = game.sequence_form
    for player, treeplex in enumerate(form.treeplexes):
        values = sequence_values(treeplex, form.gradient(player, equilibrium.plans))
        reach = treeplex.reach(equilibrium[player].plan)
        for infoset in np.flatnonzero(reach > 1e-12).tolist():
            first, last = treeplex.offsets[infoset : infoset + 2]
            worst = int(np.argmin(values[first:last]))
            yield player, treeplex.infoset_labels[infoset], treeplex.action_labels[infoset][worst]


def single_flaws_found(game, every):
    """Spoil one infoset of an equilibrium after another; return how often it is the first row, and of how many.

    None has a larger repair, and few an equal one.
    """
    equilibrium = solve(Nash(game)).profile
    first = costly = 0
    for player, infoset, action in list(flaws(game, equilibrium))[::every]:
        profile = spoilt(game, equilibrium, player, infoset, {action: 1.0})
        cost = nash_conv(game, profile)  # of this player alone: the other's strategy is optimal
        if cost < 1e-9:
            continue
        rows = largest_repairs(game, profile, top=2).rows
        costly += 1
        assert rows[0]["repair"] == pytest.approx(cost, abs=1e-9)
        assert rows[0]["player"] == player
        (row,) = (row for row in rows if row["infoset"] == str(infoset))  # one of the two, if another one ties with it
        assert row["repair"] == pytest.approx(cost, abs=1e-9)
        first += rows[0] is row
    return first, costly


def test_a_single_flaw_of_an_equilibrium_ranks_first():
    first, costly = single_flaws_found(load_game("leduc"), either(160, 10))
    assert first >= costly - 1 >= 3


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_single_flaw_in_leduc_ranks_first():
    """Some flaws can be repaired as well at another infoset, such as that of the same card of the other suit."""
    first, costly = single_flaws_found(load_game("leduc"), 1)
    assert costly > 700
    assert first > 0.98 * costly


def test_infosets_that_own_play_does_not_reach_repair_nothing():
    game = load_game("kuhn")
    bets = spoilt(game, Profile.uniform(game), 0, "J_", {"b": 1.0})
    found = largest_repairs(game, bets, [0], top=99)
    assert "J_pb" not in {row["infoset"] for row in found.rows}
    assert found.elsewhere == pytest.approx(0.0, abs=1e-12)


def test_limits_leave_bounds_that_hold():
    game = load_game("leduc")
    profile = random_profile(game, 2)
    whole = largest_repairs(game, profile, top=10**6)
    assert whole.complete
    for passes in (0, 5, 20, 40):
        found = largest_repairs(game, profile, passes=passes)
        assert not found.complete
        assert found.passes <= passes + 10
        listed = {(row["player"], row["infoset"]): row for row in found.rows}
        for row in whole.rows:
            known = listed.get((row["player"], row["infoset"]), {"repair": 0.0, "repair_upper": found.elsewhere})
            assert known["repair"] - 1e-9 <= row["repair"] <= known["repair_upper"] + 1e-9


def test_rows_are_those_that_are_asked_for():
    game = load_game("liars_dice:sides=2")
    profile = random_profile(game, 4)
    whole = largest_repairs(game, profile, top=99).rows
    assert [row["repair"] for row in whole] == sorted((row["repair"] for row in whole), reverse=True)
    found = largest_repairs(game, profile, top=3)
    assert [row["repair"] for row in found.rows] == pytest.approx([row["repair"] for row in whole[:3]])
    assert whole[3]["repair"] - 1e-9 <= found.elsewhere <= found.rows[-1]["repair"] + 1e-9
    assert {row["player"] for row in largest_repairs(game, profile, [1]).rows} == {1}
    assert largest_repairs(game, profile, top=0).rows == ()
    assert largest_repairs(game, profile, []).rows == ()


def test_units_of_payoffs_change_no_order():
    small, large = (
        load_game(f"rps:rock={each},paper={each},scissors={each}") for each in ("1/1000000000", "1000000000")
    )
    mixed = {"_": {"R": 0.5, "P": 0.3, "S": 0.2}}
    rows, others = (largest_repairs(game, Profile.from_dict(game, [mixed, mixed])).rows for game in (small, large))
    assert [row["repair"] * 1e18 for row in rows] == pytest.approx([row["repair"] for row in others])
    assert [row["strategy"] for row in rows] == [pytest.approx(row["strategy"]) for row in others]
    assert rows[0]["strategy"] == pytest.approx(dict.fromkeys("RPS", 1 / 3))


def test_other_games_are_refused():
    with pytest.raises(UnsupportedProblemError, match="constant sum"):
        largest_repairs(load_game("kuhn:players=3"), Profile.uniform(load_game("kuhn:players=3")))
    with pytest.raises(InvalidStrategyError, match="belongs to another game"):
        largest_repairs(load_game("kuhn"), Profile.uniform(load_game("leduc")))
    with pytest.raises(InvalidStrategyError, match="player"):
        largest_repairs(load_game("kuhn"), Profile.uniform(load_game("kuhn")), [2])
