"""Interior point from strategies: programs restricted to what they play or nearly would, and what they prove."""

import numpy as np
import pytest
from random_trees import seeded_tree, to_game

from treeplex import (
    ConstrainedNash,
    EpsilonSafeResponse,
    Game,
    Nash,
    Profile,
    RestrictedNash,
    Status,
    Strategy,
    load_game,
    solve,
)
from treeplex.models.constraints import behaviour_bound
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.holdem.bets import Betting
from treeplex.seqform.errors import InvalidStrategyError, UnknownMethodError
from treeplex.seqform.public_profile import PublicProfile
from treeplex.solvers.exact.restriction import Restriction

RANGES = ["TT+, 87s, A5s:0.5", "99+, T9s, 76s"]


def pure(game: Game) -> Profile:
    """Return the profile in which everyone takes first actions."""
    firsts = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        behaviour = np.zeros(treeplex.num_sequences)
        behaviour[treeplex.offsets[:-1]] = 1.0
        firsts.append(Strategy(game, player, behaviour))
    return Profile(firsts)


@pytest.mark.parametrize("seed", range(20))
def test_what_loses_much_is_hardly_in_optimal_plans(seed):
    """Σ x*(s) r(s) ≤ upper − lower, of both players, whatever the strategies that losses are computed from."""
    game = to_game(seeded_tree(seed))
    problem = Nash(game)
    rng = np.random.default_rng(seed)
    start = Profile(
        [
            Strategy(game, player, treeplex.behaviour(treeplex.plan(rng.random(treeplex.num_sequences))))
            for player, treeplex in enumerate(game.sequence_form.treeplexes)
        ]
    )
    optimal = solve(problem).profile
    gap = problem.certify(start).gap
    assert gap is not None
    own, other = start.plans
    for slack in (0.0, gap / 8, gap / 2, 2 * gap):
        kept = Restriction.near(problem.canonical, own, other, {}, {}, slack)
        for player, mask in enumerate((kept.own, kept.other)):
            assert optimal[player].plan[~mask].sum() * slack <= gap + 1e-9
            firsts = game.sequence_form.treeplexes[player].offsets[:-1]
            assert np.add.reduceat(mask, firsts).all()  # something of each infoset


@pytest.mark.parametrize("method", ["highs-ipm", "highs-ipm-crossover"])
@pytest.mark.parametrize("start", ["dcfr", "uniform", "pure", "exact"])
def test_equilibria_are_found_from_any_strategies(method, start):
    game = load_game("leduc")
    problem = Nash(game)
    first = {
        "dcfr": lambda: solve(problem, "dcfr", tol=1e-3),
        "uniform": lambda: Profile.uniform(game),
        "pure": lambda: pure(game),
        "exact": lambda: solve(problem),
    }[start]()
    solution = solve(problem, method, start=first)
    assert solution.status is Status.OPTIMAL
    assert solution.value == pytest.approx(-0.085606424, abs=1e-7)
    assert solution.iterations > 0


def test_a_good_start_leaves_most_sequences_out():
    game = load_game("leduc")
    problem = Nash(game)
    start = solve(problem, "dcfr", tol=1e-4)
    cut = solve(problem, "highs-ipm", start=start, tol=1e-12, max_iterations=1)
    assert cut.status is Status.ITERATION_LIMIT
    assert cut.exploitability <= start.exploitability + 1e-12  # the start, where that is the best there is
    kept = Restriction.near(problem.canonical, *start.profile.plans, {}, {}, start.exploitability / 4)
    assert kept.size < 0.6 * sum(treeplex.num_sequences for treeplex in game.sequence_form.treeplexes)


@pytest.mark.parametrize("start", ["ccfr", "uniform", "pure"])
def test_constraints_and_their_prices(start):
    game = load_game("kuhn")
    king = behaviour_bound(game, 0, "K_", "b", at_most=0.5, name="king")
    jack = behaviour_bound(game, 0, "J_", "b", at_least=0.3, name="jack")
    problem = ConstrainedNash(game, [king, jack])
    first = {
        "ccfr": lambda: solve(problem, "ccfr", tol=1e-3),
        "uniform": lambda: Profile.uniform(game),
        "pure": lambda: pure(game),
    }[start]()
    solution = solve(problem, "highs-ipm", start=first)
    assert solution.status is Status.OPTIMAL
    assert solution.value == pytest.approx(-0.1, abs=1e-6)
    assert solution.multipliers["king"] == pytest.approx(1 / 9, abs=1e-5)
    assert solution.multipliers["jack"] == pytest.approx(1 / 3, abs=1e-5)


def test_constraints_that_cannot_be_met_are_named():
    game = load_game("kuhn")
    most = behaviour_bound(game, 0, "K_", "b", at_most=0.2, name="most")
    least = behaviour_bound(game, 0, "K_", "b", at_least=0.3, name="least")
    problem = ConstrainedNash(game, [most, least])
    found = solve(problem, "highs-ipm", start=Profile.uniform(game))
    assert found.status is Status.INFEASIBLE
    assert found.infeasibility is not None


def test_a_response_starts_from_strategies_too():
    game = load_game("leduc")
    problem = RestrictedNash(game, Strategy.uniform(game, 1), p=0.5)
    expected = solve(problem)
    solution = solve(problem, "highs-ipm", start=solve(problem, "dcfr", tol=1e-3))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(expected.objective, abs=1e-6)


@pytest.mark.parametrize("locks", [(), ("oop at root: bet <= 10%", 'ip at "bet 100": fold >= 40%')], ids=len)
def test_a_river_spot_from_the_loop(locks):
    spot = HoldemSpot("Td9d6hQc2s", RANGES, 200, 900, Betting("50%, a", "2.5x"), locks=locks)
    problem = ConstrainedNash(spot.game, spot.constraints) if locks else Nash(spot.game)
    expected = solve(problem)
    solution = solve(problem, "highs-ipm", start=solve(problem, "dcfr", tol=0.02))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(expected.objective, abs=1e-5)
    for name, price in expected.multipliers.items():
        assert solution.multipliers[name] == pytest.approx(price, abs=1e-3)


def test_what_is_no_start():
    game, other = load_game("kuhn"), load_game("kuhn:cards=4")
    with pytest.raises(InvalidStrategyError, match="belongs to another game"):
        solve(Nash(game), "highs-ipm", start=Profile.uniform(other))
    with pytest.raises(InvalidStrategyError, match="start is 'uniform', expected a Profile or a Solution"):
        solve(Nash(game), "highs-ipm", start="uniform")
    floored = EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=0.01)
    with pytest.raises(UnknownMethodError, match=r"accepts a start only for \(constrained\) equilibria"):
        solve(floored, "highs-ipm", start=Profile.uniform(game))


def test_a_time_limit_leaves_the_start():
    game = load_game("leduc")
    start = solve(Nash(game), "dcfr", tol=1e-2)
    solution = solve(Nash(game), "highs-ipm", start=start, time_limit=0)
    assert solution.status is Status.TIME_LIMIT
    assert solution.exploitability <= start.exploitability + 1e-12


@pytest.mark.slow
def test_a_river_of_all_hands_is_proven_to_a_millionth_of_the_pot():
    """24 decisions of 1,081 hands each: without a start no algorithm of HiGHS has an answer in five minutes."""
    spot = HoldemSpot("Td9d6hQc2s", ["random", "random"], 200, 900, Betting("50%, 100%, a", "2.5x, a"))
    problem = Nash(spot.game)
    start = solve(problem, "dcfr", tol=2e-3)
    solution = solve(problem, "highs", start=start, tol=2e-6)
    assert solution.status is Status.OPTIMAL
    assert solution.value + spot.pot / 2 == pytest.approx(93.7973750, abs=1e-5)
    assert PublicProfile.of(spot.public_form, solution.profile).exploitability <= 1e-8 * spot.pot
    assert start.certificate.lower <= solution.value <= start.certificate.upper  # what the loop had proven
