"""Simple strategies: against all strategies within the limits of small games, and what is proven of them."""

import itertools

import numpy as np
import pytest
from deal_games import random_deal_game
from effort import either, few, thorough
from random_trees import Chance, Decision, Leaf, to_graph
from scipy.optimize import linprog

from treeplex import Game, Nash, Status, load_game, solve
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
from treeplex.models.problems import SimpleStrategy
from treeplex.models.problems.simple_limits import Monotone, misplaced
from treeplex.seqform.errors import GameTooLargeError, InvalidGameError, TimeLimitError, UnsupportedProblemError
from treeplex.seqform.limits import time_limited
from treeplex.seqform.public_profile import PublicProfile
from treeplex.solvers.exact import diving
from treeplex.solvers.exact.diving import dive
from treeplex.solvers.node_limits import NodeLimits, rounded
from treeplex.solvers.public import simplification
from treeplex.solvers.public.large_rounding import OFFSETS, RoundedProfile
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


@pytest.mark.parametrize(("player", "loss"), [(0, 0.2), (0, 0.0), (1, 0.03), (1, 0.06), (1, 0.2)])
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


def test_a_dive_in_a_hurry_makes_several_infosets_pure_at_once(monkeypatch):
    game = load_game("leduc")
    problem, equilibrium = SimpleStrategy(game, mixed=10), solve(Nash(game))
    plan, game_value = equilibrium.profile[0].plan, equilibrium.value
    left = itertools.count(120, -1)  # too little for one infoset after another
    monkeypatch.setattr(diving, "seconds_left", lambda: float(next(left)))
    plan = dive(problem, plan)[0]
    assert problem.complexity(plan).mixed <= 10
    assert game_value - problem.view.worst_case(plan) <= 0.2  # if the dive rounds most infosets at its end: 1.2


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


# Classes, and order by strength


def strategies(treeplex, steps):
    """Yield all behaviours with two actions at each infoset on a grid, by label, with their plans."""
    labels = [str(label) for label in treeplex.infoset_labels]
    points = np.arange(steps + 1) / steps
    for chosen in itertools.product(points, repeat=treeplex.num_infosets):
        behaviour = np.ones(treeplex.num_sequences)
        behaviour[treeplex.offsets[:-1]], behaviour[treeplex.offsets[:-1] + 1] = chosen, 1.0 - np.array(chosen)
        yield dict(zip(labels, chosen, strict=True)), treeplex.plan(behaviour)


def best_among(player, steps, allowed):
    """Return the most that a player of Kuhn poker guarantees with an allowed strategy on a grid."""
    treeplex = KUHN.sequence_form.treeplexes[player]
    plans = np.array([plan for shares, plan in strategies(treeplex, steps) if allowed(shares)])
    return (plans @ replies_paid(KUHN, player)).min(axis=1).max()


def history(label):
    return str(label).partition("_")[2]


@pytest.mark.parametrize(("player", "steps"), [(0, 2), (1, 2), (0, 3), (1, 1)])
@pytest.mark.parametrize("weak", ["JQ", "QK"])
def test_classes_against_all_strategies_that_play_alike(player, steps, weak):
    def class_of(label):
        return (history(label), "alike") if label[0] in weak else None

    def allowed(shares):
        found = {}
        return all(class_of(one) is None or found.setdefault(class_of(one), p) == p for one, p in shares.items())

    best = best_among(player, steps, allowed)
    for method in ("branch-and-bound", "rounding"):
        solution = solve(SimpleStrategy(KUHN, player=player, steps=steps, classes=class_of), method)
        assert solution.lower <= best + 1e-9
        assert method == "rounding" or solution.lower == pytest.approx(best, abs=1e-9)
        assert solution.certificate.violations["classes"] <= 1e-12
        assert_proven(solution)


@pytest.mark.parametrize(("player", "steps"), [(0, 2), (1, 2), (0, 1), (1, 3)])
@pytest.mark.parametrize("falls", [False, True])
def test_order_against_all_monotone_strategies(player, steps, falls):
    treeplex = KUHN.sequence_form.treeplexes[player]
    first = str(treeplex.action_labels[0][0])

    def allowed(shares):
        rising = {label: p if (first == "b") != falls else -p for label, p in shares.items()}
        return all(
            rising[low] <= rising[high] + 1e-12
            for low in shares
            for high in shares
            if history(low) == history(high) and "JQK".index(low[0]) < "JQK".index(high[0])
        )

    best = best_among(player, steps, allowed)
    given = {"monotone": "b falls" if falls else "b", "strength": "J<Q<K"}
    for method in ("branch-and-bound", "rounding"):
        solution = solve(SimpleStrategy(KUHN, player=player, steps=steps, **given), method)
        assert solution.lower <= best + 1e-9
        assert method == "rounding" or solution.lower == pytest.approx(best, abs=1e-9)
        assert solution.certificate.violations["monotone"] <= 1e-12
        assert_proven(solution)


def test_a_mixed_class_counts_once():
    classes = {"J_p": 1, "Q_p": 1, "K_p": 1, "J_b": 2, "Q_b": 2, "K_b": 2}
    solution = solve(SimpleStrategy(KUHN, player=1, steps=2, mixed=1, classes=classes))
    assert solution.state.complexity.infosets == 2
    assert solution.state.complexity.mixed <= 1
    assert_proven(solution)


@pytest.mark.parametrize("seed", range(either(2, 20)))
@pytest.mark.parametrize("way", ["balanced", "0.3"])
def test_rounding_keeps_order_and_frequencies(seed, way):
    rng = np.random.default_rng(seed)
    strength, weights = rng.integers(0, 12, 40) / 12.0, rng.uniform(0.1, 1.0, 40)
    groups, played = np.array([0, 1, 2, 2]), rng.dirichlet(np.ones(4), 40).T
    limits = NodeLimits(np.arange(40), strength, groups)
    fitted = limits.fitted(played, weights)
    assert misplaced(fitted, strength, groups) == 0.0
    assert misplaced(played, strength, groups) > 0.1
    for steps in (1, 4):
        found = limits.rounded(played, weights, steps, way)
        assert misplaced(found, strength, groups) == 0.0
        assert found.sum(axis=0) == pytest.approx(np.ones(40))
        assert np.abs(found * steps - np.rint(found * steps)).max() <= 1e-9
        few = rng.uniform(size=40) < 0.2
        mixed = limits.rounded(played, weights, steps if seed % 2 else None, way, mixing=few)
        assert misplaced(mixed, strength, groups) == 0.0
        assert (mixed.max(axis=0)[~few] == pytest.approx(1.0)) or not (~few).any()
    # The fit keeps the weighted frequencies of both groups.
    assert (fitted @ weights)[0] == pytest.approx((played @ weights)[0])
    assert (fitted @ weights)[2:].sum() == pytest.approx((played @ weights)[2:].sum())


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"monotone": "b"}, UnsupportedProblemError, "monotone needs steps in a tree"),
        ({"classes": {"J_p": 1}}, UnsupportedProblemError, "classes needs steps in a tree"),
        ({"steps": 2, "monotone": "b"}, UnsupportedProblemError, "monotone needs the strength of the infosets"),
        ({"steps": 2, "strength": "J<Q"}, UnsupportedProblemError, "strength is for monotone"),
        ({"steps": 2, "monotone": "bet", "strength": "J<Q"}, InvalidGameError, "did you mean b?"),
        ({"steps": 2, "monotone": "b, b falls", "strength": "J<Q"}, InvalidGameError, "names b twice"),
        ({"steps": 2, "monotone": "b", "strength": "JQK"}, InvalidGameError, "expected prefixes of infoset names"),
        ({"steps": 2, "monotone": 3}, InvalidGameError, "monotone is 3"),
        ({"steps": 2, "monotone": "b", "strength": {"X_": 1}}, InvalidGameError, "expected labels of the player"),
        ({"steps": 2, "classes": {"J": 1}}, InvalidGameError, "expected labels of the player"),
        ({"steps": 2, "classes": "ranks"}, UnsupportedProblemError, "has no classes named 'ranks'"),
    ],
)
def test_classes_and_orders_that_have_no_meaning_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        solve(SimpleStrategy(KUHN, **given))


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


@thorough
def test_a_river_with_one_size_and_with_little_loss(monkeypatch):
    monkeypatch.setattr(simplification, "_MOVES", 20)
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


SMALL = ("QcJc9c3d2d", ["AcKc, 8h7h, AsAh, KsQs, JdTd, 8s7s", "QdQh, KsKh, JsTs, AsQs, 9h8h"], 100, 200)


def small_river():
    """Return a small spot on the river."""
    pytest.importorskip("phevaluator")
    return HoldemSpot(*SMALL, bets="50%, 100%")


@pytest.mark.parametrize(
    "limits",
    [
        {"mixed": 4},
        {"classes": "made", "steps": 4},
        {"monotone": "fold", "steps": 2},
        {"monotone": "fold, aggression", "classes": "ranks"},
        {"mixed": 0},
        {"mixed": 2, "steps": 4, "classes": "suits", "monotone": "fold", "sizes": 1},
        {"classes": lambda hand: hand[0]},
    ],
)
def test_limits_between_hands_hold_and_the_loss_is_proven(limits, monkeypatch):
    for name, few_of in (("_TIED", 40), ("_TIED_AGAIN", 10), ("_MOVES", 60)):
        monkeypatch.setattr(simplification, name, few_of)
    spot, player = small_river(), 1
    solution = solve(SimpleStrategy(spot.game, player=player, **limits))
    assert solution.status is Status.CONVERGED
    public = solution.profile.public
    form, mixed = public.form, 0
    for node in np.flatnonzero(form.players == player).tolist():
        played, reached = public.behaviour(node), public.reach(player, node) > 1e-7
        if len(played) < 2:
            continue
        classes = solution.problem.classes_at(node)
        mixed += len(set(classes[reached & (played.max(axis=0) < 1.0 - 1e-7)].tolist()))
        for number in set(classes[reached].tolist()):
            assert np.ptp(played[:, reached & (classes == number)], axis=1).max() <= 1e-12
        if solution.problem.monotone is not None:
            strength = solution.problem.strengths_at(public, node)
            names = [str(form.actions[child]) for child in form.children[node].tolist()]
            groups = solution.problem.monotone.groups(names)
            assert misplaced(played[:, reached], strength[reached], groups) <= 1e-9
    assert mixed == solution.state.complexity.mixed
    assert mixed <= limits.get("mixed", np.inf)
    assert max(solution.certificate.violations.values()) <= 1e-9
    again = PublicProfile(form, public.behaviour)
    assert solution.lower == pytest.approx(-again.best_response_values[1 - player], abs=1e-9)
    assert solution.upper == pytest.approx(again.best_response_values[player], abs=1e-9)
    certified = solution.problem.certify(solution.profile)
    assert certified.lower == pytest.approx(solution.lower, abs=1e-9)
    assert certified.violation <= 1e-9


def test_strength_is_equity_against_the_range_at_the_node():
    spot = small_river()
    public = PublicProfile.of(spot.public_form, solve(Nash(spot.game)).profile)
    node = spot.public_form.find("check")
    found = spot.game.state_strengths(public, 1, node)
    reach = public.reach(0, node)
    won, meets = -spot.won(spot.cards), spot.public_form.pairs(0).toarray() > 0.0
    for hand in range(len(found)):
        weights = reach * meets[:, hand]
        assert found[hand] == pytest.approx(0.5 + (won[:, hand] @ weights) / weights.sum() / 2)


@pytest.mark.parametrize("offset", OFFSETS[:2])
def test_a_large_tree_is_rounded_while_it_is_walked(offset):
    spot = small_river()
    public = PublicProfile.of(spot.public_form, solve(Nash(spot.game)).profile)
    found = RoundedProfile(public, 0, 4, offset)
    replies, paid, complexity = found.evaluated
    plain = PublicProfile(found.form, {node: found.behaviour(node) for node in found.form.decisions.tolist()})
    assert replies == pytest.approx(plain.best_response_values)
    assert paid == pytest.approx(plain.value(0))
    problem = SimpleStrategy(spot.game, steps=4)
    counted = problem.complexity(plain.to_profile(spot.game)[0].plan)
    assert (complexity.infosets, complexity.mixed) == (counted.infosets, counted.mixed)
    assert counted.off_grid <= 1e-12


def test_large_spots_keep_their_time_limit(monkeypatch):
    monkeypatch.setattr(simplification, "_SEARCHED", 0)
    spot = small_river()
    solution = solve(SimpleStrategy(spot.game, steps=4), time_limit=20.0)
    assert solution.status is Status.CONVERGED
    assert solution.certificate.violations == {"steps": 0.0}
    again = PublicProfile(spot.public_form, solution.profile.public.behaviour)
    assert solution.lower == pytest.approx(-again.best_response_values[1], abs=1e-9)
    loose = solve(SimpleStrategy(spot.game, loss=20.0))
    assert loose.exploitability <= 20.0
    monkeypatch.setattr(simplification, "walk_seconds", lambda form: 60.0)
    with pytest.raises(TimeLimitError, match=r"evaluating one rounded strategy of .* takes about 132 s"):
        solve(SimpleStrategy(spot.game, steps=4), time_limit=20.0)


def test_names_of_actions_leave_out_sizes():
    names = ["fold", "call", "raise 300", "all-in"]
    assert Monotone.parse("fold, aggression").groups(names).tolist() == [0, 1, 2, 2]
    assert Monotone.parse("raise falls").groups(names).tolist() == [1, 1, 0, 1]
