"""Simple strategies: against all strategies within the limits of small games, and what is proven of them."""

import itertools

import numpy as np
import pytest
from deal_games import random_deal_game
from effort import either, few
from random_trees import Chance, Decision, Leaf, to_graph
from scipy.optimize import linprog

from treeplex import Game, Nash, Status, load_game, solve
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
from treeplex.models.problems import SimpleStrategy
from treeplex.seqform.errors import GameTooLargeError, InvalidGameError, TimeLimitError, UnsupportedProblemError
from treeplex.seqform.limits import time_limited
from treeplex.solvers.exact.diving import dive
from treeplex.solvers.node_limits import rounded
from treeplex.solvers.rounding import rounded_plan

KUHN = load_game("kuhn")
#: Hands A and K, of which the first may bet one of two sizes: ``sizes`` leaves one.
SIZES = Game.from_tree(
    to_graph(
        Chance(
            tuple(
                (
                    mine + theirs,
                    1 / 4,
                    Decision(
                        0,
                        mine,
                        (
                            ("check", Leaf((wins, -wins))),
                            *(
                                (
                                    f"bet {size}",
                                    Decision(
                                        1,
                                        f"{theirs}|{size}",
                                        (
                                            ("fold", Leaf((1.0, -1.0))),
                                            ("call", Leaf((wins * (1 + size), -wins * (1 + size)))),
                                        ),
                                    ),
                                )
                                for size in (1, 3)
                            ),
                        ),
                    ),
                )
                for mine, theirs, wins in (("A", "Q", 1.0), ("A", "K", 1.0), ("2", "Q", -1.0), ("2", "K", -1.0))
            )
        )
    )
)


def pure_plans(treeplex):
    """Return all pure plans of a player, as rows."""
    counts = np.diff(treeplex.offsets).tolist()
    plans = []
    for chosen in itertools.product(*map(range, counts)):
        behaviour = np.ones(treeplex.num_sequences)
        for infoset, place in enumerate(chosen):
            own = slice(treeplex.offsets[infoset], treeplex.offsets[infoset + 1])
            behaviour[own] = np.arange(counts[infoset]) == place
        plans.append(treeplex.plan(behaviour))
    return np.unique(plans, axis=0)


def replies_paid(game, player):
    """Return what each of the player's sequences earns against each pure plan of the other player."""
    matrix = game.sequence_form.payoff_matrix(0)
    matrix = matrix if player == 0 else -matrix.T
    return matrix @ pure_plans(game.sequence_form.treeplexes[1 - player]).T


def grid_plans(treeplex, steps):
    """Return all plans of a player with two actions at each infoset whose probabilities are on a grid."""
    points = np.arange(steps + 1) / steps
    chosen = np.array(list(itertools.product(points, repeat=treeplex.num_infosets)))
    behaviour = np.ones((len(chosen), treeplex.num_sequences))
    for infoset in range(treeplex.num_infosets):
        first = treeplex.offsets[infoset]
        behaviour[:, first], behaviour[:, first + 1] = chosen[:, infoset], 1.0 - chosen[:, infoset]
    return np.array([treeplex.plan(each) for each in behaviour])


def best_within(game, player, closed):
    """Return the most that a player guarantees without some of its sequences."""
    treeplex = game.sequence_form.treeplexes[player]
    paid, size = replies_paid(game, player), treeplex.num_sequences
    bounds = [(0.0, 0.0 if sequence in closed else 1.0) for sequence in range(size)] + [(None, None)]
    found = linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.column_stack([-paid.T, np.ones(paid.shape[1])]),
        b_ub=np.zeros(paid.shape[1]),
        A_eq=np.column_stack([treeplex.E.toarray(), np.zeros(len(treeplex.e))]),
        b_eq=treeplex.e,
        bounds=bounds,
    )
    return -found.fun if found.status == 0 else -np.inf


def best_mixed(game, player, mixed):
    """Return the most that a player guarantees who mixes at so many infosets at most."""
    treeplex, best = game.sequence_form.treeplexes[player], -np.inf
    infosets = range(treeplex.num_infosets)
    for free in itertools.combinations(infosets, min(mixed, len(infosets))):
        others = [one for one in infosets if one not in free]
        actions = [range(treeplex.offsets[one], treeplex.offsets[one + 1]) for one in others]
        for kept in itertools.product(*actions):
            closed = {sequence for each in actions for sequence in each} - set(kept)
            best = max(best, best_within(game, player, closed))
    return best


def assert_proven(solution):
    """Recompute the loss by what all replies earn, and check that the strategy is within the limits."""
    problem, profile = solution.problem, solution.profile
    game, player = problem.game, problem.player
    plan, other = profile[player].plan, profile[1 - player].plan
    guaranteed = problem.view.worst_case(plan)
    value = solve(Nash(game)).value * (1 if player == 0 else -1)
    assert solution.lower == pytest.approx(guaranteed, abs=1e-9)
    assert solution.lower <= solution.upper
    assert solution.upper == pytest.approx(problem.view.best_case(other), abs=1e-9)
    assert solution.exploitability >= value - guaranteed - 1e-9
    assert solution.exploitability == pytest.approx(value - guaranteed, abs=1e-6)
    assert all(violation <= 1e-7 for violation in solution.certificate.violations.values())


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("steps", [3, 1, 2, 4])
def test_kuhn_against_all_strategies_on_a_grid(steps, player):
    treeplex = KUHN.sequence_form.treeplexes[player]
    best = (grid_plans(treeplex, steps) @ replies_paid(KUHN, player)).min(axis=1).max()
    solution = solve(SimpleStrategy(KUHN, player=player, steps=steps))
    assert (solution.status, solution.method.name) == (Status.OPTIMAL, "branch-and-bound")
    assert solution.lower == pytest.approx(best, abs=1e-9)
    assert_proven(solution)
    by_rounding = solve(SimpleStrategy(KUHN, player=player, steps=steps), "rounding")
    assert by_rounding.status is Status.CONVERGED
    assert by_rounding.lower <= best + 1e-9
    assert_proven(by_rounding)


@pytest.mark.parametrize(("player", "mixed"), [(1, 1), (0, 0), (0, 1), (1, 0), (1, 2)])
def test_kuhn_against_all_choices_of_mixed_infosets(player, mixed):
    solution = solve(SimpleStrategy(KUHN, player=player, mixed=mixed))
    assert solution.lower == pytest.approx(best_mixed(KUHN, player, mixed), abs=1e-8)
    assert solution.state.complexity.mixed <= mixed
    assert_proven(solution)


@pytest.mark.parametrize(("player", "loss"), [(1, 0.03), (0, 0.0), (0, 0.2), (1, 0.06), (1, 0.2)])
def test_the_fewest_mixed_infosets_that_lose_little_enough(player, loss):
    value = solve(Nash(KUHN)).value * (1 if player == 0 else -1)
    fewest = next(mixed for mixed in range(7) if best_mixed(KUHN, player, mixed) >= value - loss - 1e-9)
    solution = solve(SimpleStrategy(KUHN, player=player, loss=loss))
    assert solution.status is Status.OPTIMAL
    assert solution.state.complexity.mixed == fewest
    assert solution.exploitability <= loss + 1e-8
    assert_proven(solution)


def test_sizes_against_both_choices():
    treeplex = SIZES.sequence_form.treeplexes[0]
    labels = [str(label) for each in treeplex.action_labels for label in each]
    best = max(
        best_within(SIZES, 0, {place for place, label in enumerate(labels, 1) if label == left_out})
        for left_out in ("bet 1", "bet 3")
    )
    assert best < solve(Nash(SIZES)).value + 1e-9
    for method in ("branch-and-bound", "rounding"):
        solution = solve(SimpleStrategy(SIZES, sizes=1), method)
        assert solution.state.complexity.sizes == 1
        assert solution.lower == pytest.approx(best, abs=1e-8)
        assert_proven(solution)


LIMITS = [
    {"steps": 2},
    {"mixed": 1},
    {"steps": 3, "mixed": 2},
    {"loss": 0.5},
    {"steps": 4, "loss": 1.0},
    {"sizes": 1, "steps": 1},
]


@pytest.mark.parametrize("seed", range(either(3, 20)))
def test_random_games_are_proven(seed):
    game, limits = random_deal_game(seed, (3, 4)), LIMITS[seed % len(LIMITS)]
    problem = SimpleStrategy(game, player=seed % 2, **limits)
    quick, exact = solve(problem, "rounding"), solve(problem, "branch-and-bound", time_limit=20.0)
    assert_proven(exact) if exact.status is Status.OPTIMAL else None
    assert exact.status in (Status.OPTIMAL, Status.TIME_LIMIT, Status.INFEASIBLE)
    if quick.status is Status.CONVERGED:
        assert_proven(quick)
        assert exact.status is not Status.INFEASIBLE
        if problem.loss is None:
            assert exact.lower >= quick.lower - 1e-7
        else:
            assert exact.state.complexity.mixed <= quick.state.complexity.mixed


@few
@pytest.mark.parametrize(
    ("limits", "most"), [({"steps": 1}, 0.25), ({"steps": 4}, 0.08), ({"mixed": 8}, 0.15), ({"sizes": 1}, 1e-6)]
)
def test_a_dive_beats_plain_rounding_on_leduc(limits, most):
    game = load_game("leduc")
    problem, equilibrium = SimpleStrategy(game, **limits), solve(Nash(game))
    problem.build()
    plan = equilibrium.profile[0].plan
    found, finished = dive(problem, plan)
    assert finished
    plain, deep = (problem.view.worst_case(each) for each in (rounded_plan(problem, plan), found))
    assert plain - 1e-9 <= deep
    assert equilibrium.value - deep <= most
    found = problem.complexity(found)
    assert found.off_grid <= 1e-12
    assert problem.mixed is None or found.mixed <= problem.mixed


def test_a_late_dive_still_is_within_the_limits():
    game = load_game("leduc")
    problem, plan = SimpleStrategy(game, steps=3, mixed=5), solve(Nash(game)).profile[0].plan
    problem.build()
    with time_limited(0.05):
        plan, finished = dive(problem, plan)
    assert not finished
    found = problem.complexity(plan)
    assert found.mixed <= 5
    assert found.off_grid <= 1e-12


def test_a_time_limit_keeps_the_best_strategy_so_far():
    solution = solve(SimpleStrategy(load_game("leduc"), steps=5), time_limit=1.0)
    assert solution.status is Status.TIME_LIMIT
    assert solution.certificate.violation <= 1e-9
    assert_proven(solution)
    with pytest.raises(TimeLimitError):
        solve(SimpleStrategy(load_game("leduc"), steps=5), time_limit=0.0)


@pytest.mark.parametrize("method", ["branch-and-bound", "rounding"])
def test_a_loss_that_cannot_be_met_is_said_plainly(method):
    solution = solve(SimpleStrategy(KUHN, steps=1, loss=0.001), method)
    assert solution.status is (Status.INFEASIBLE if method == "branch-and-bound" else Status.UNCERTIFIED)
    assert "no strategy within the limits that loses at most 0.001" in solution.message
    assert solution.certificate.violations["loss"] == pytest.approx(solution.exploitability - 0.001)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {},
            UnsupportedProblemError,
            "simplify needs a limit on the strategy: steps, mixed, sizes, classes, monotone or loss",
        ),
        ({"loss": 0.1, "mixed": 2}, UnsupportedProblemError, "loss minimises the number of mixed infosets"),
        ({"steps": 0}, InvalidGameError, "steps is 0"),
        ({"mixed": -1}, InvalidGameError, "mixed is -1"),
        ({"sizes": 0}, InvalidGameError, "sizes is 0"),
        ({"steps": 2.5}, InvalidGameError, "steps is 2.5"),
        ({"loss": -0.1}, InvalidGameError, "loss"),
        ({"steps": 2, "player": 2}, InvalidGameError, "player"),
    ],
)
def test_limits_that_have_no_meaning_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        SimpleStrategy(KUHN, **given)


def test_games_that_have_no_simple_strategies_are_refused():
    with pytest.raises(UnsupportedProblemError, match="two players"):
        solve(SimpleStrategy(load_game("kuhn:players=3"), steps=2))
    with pytest.raises(GameTooLargeError, match="use the method rounding"):
        solve(SimpleStrategy(load_game("leduc"), steps=60), "branch-and-bound")
    import networkx as nx

    town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank")])
    patrol = PatrolGame(town, steps=3, units=[Unit(start="bank")], attackers=[Attacker(["gate"], {"bank": 2.0})])
    for method in (None, "rounding", "branch-and-bound"):
        with pytest.raises(UnsupportedProblemError, match="flows"):
            solve(SimpleStrategy(patrol, steps=2), method)


def test_rounding_keeps_frequencies():
    rng = np.random.default_rng(1)
    behaviour, weights = rng.dirichlet([0.5, 1.0, 2.0], 50).T, rng.uniform(0.5, 1.0, 50)
    nearest, diffused = rounded(behaviour, 4), rounded(behaviour, 4, weights)
    for found in (nearest, diffused):
        assert np.abs(found * 4 - np.rint(found * 4)).max() <= 1e-12
        assert found.sum(axis=0) == pytest.approx(np.ones(50))
    drift = [np.abs((found - behaviour) @ weights).max() for found in (diffused, nearest)]
    assert drift[0] <= 0.5
    assert drift[0] < drift[1]


# Public forms

WIDE = (
    "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s",
    "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+",
)
RIVERS = [
    ("Td9d6hQc2s", WIDE, 200, 900, "60%, e, a"),
    (
        "KsKd7c4h4s",
        ("22+,A2s+,KTs+,QTs+,ATo+,KQo", "22-JJ,A2s-AQs,K9s+,Q9s+,T9s,A9o+,KTo+"),
        100,
        450,
        "33%, 75%, 150%",
    ),
    (
        "9s8s7d2c3h",
        ("22+,A2s+,K8s+,Q9s+,J8s+,97s+,86s+", "22+,A5s+,K9s+,QTs+,T9s,98s,87s,A9o+,KJo+"),
        60,
        300,
        "50%, 100%",
    ),
]


def river(place):
    """Return a spot on the river."""
    pytest.importorskip("phevaluator")
    board, ranges, pot, stack, bets = RIVERS[place]
    return HoldemSpot(board, list(ranges), pot, stack, bets=bets)


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("place", range(3))
def test_rivers_in_steps_of_a_quarter_lose_little(place, player, monkeypatch):
    spot = river(place)
    monkeypatch.setattr(type(spot.game), "_form", lambda game: pytest.fail("the sequence form was built"))
    solution = solve(SimpleStrategy(spot.game, player=player, steps=4))
    assert (solution.status, solution.method.name) == (Status.CONVERGED, "rounding")
    assert 0.0 <= solution.exploitability <= 0.003 * spot.pot
    assert solution.certificate.violations == {"steps": 0.0}
    public = solution.profile.public
    for node in np.flatnonzero(public.form.players == player).tolist():
        played = 4.0 * public.behaviour(node)
        assert np.abs(played - np.rint(played)).max() <= 1e-12
    # What the strategy guarantees is what the other player's best response leaves.
    assert solution.lower == pytest.approx(-public.best_response_values[1 - player], abs=1e-9)
    assert solution.upper == pytest.approx(public.best_response_values[player], abs=1e-9)


def test_a_river_with_one_size_and_with_little_loss():
    spot = river(1)
    one = solve(SimpleStrategy(spot.game, player=1, sizes=1))
    assert one.state.complexity.sizes == 1
    assert one.exploitability <= 0.01 * spot.pot
    loose = solve(SimpleStrategy(spot.game, player=1, loss=0.5))
    assert loose.status is Status.CONVERGED
    assert loose.exploitability <= 0.5
    assert loose.state.steps in (1, 2, 3)
    strict = solve(SimpleStrategy(spot.game, player=1, steps=2, loss=1e-6))
    assert strict.status is Status.UNCERTIFIED
    assert "rounding found no strategy within the limits that loses at most" in strict.message


def test_a_public_form_agrees_with_its_sequence_form():
    pytest.importorskip("phevaluator")
    spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh, AsKs"], 100, 100, bets="50%, 100%")
    for limits in ({"steps": 1}, {"steps": 3}, {"sizes": 1}):
        problem = SimpleStrategy(spot.game, **limits)
        public, exact = solve(problem), solve(problem, "branch-and-bound")
        assert exact.lower >= public.lower - 1e-6
        again = problem.certify(public.profile)
        assert again.lower == pytest.approx(public.lower, abs=1e-9)
        assert again.upper == pytest.approx(public.upper, abs=1e-9)
        assert again.violation <= 1e-9
