"""Numbers that are very large, very small or far apart: what is said is proven, or honestly not."""

import itertools
import json
import random
import warnings
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from random_trees import Chance, Decision, Leaf, grow, to_game

from treeplex import (
    CHANCE,
    BestNash,
    ConstrainedNash,
    EpsilonSafeResponse,
    EpsilonSafeStyle,
    Game,
    Nash,
    RestrictedNash,
    SequenceForm,
    Strategy,
    load_game,
    solve,
)
from treeplex.models.constraints import LinearConstraint, behaviour_bound
from treeplex.models.problems import FeasibilityRelaxation


def rare_game(seed, rare):
    """Return a random game in which all outcomes of chance but one are as rare as is asked, by chance's node."""
    source = random.Random(seed)

    def payoffs():
        payoff = Fraction(source.randint(-4000, 4000), 1000)
        return payoff, -payoff

    def made_rare(node):
        if isinstance(node, Leaf):
            return node
        if isinstance(node, Decision):
            return Decision(node.player, node.infoset, tuple((label, made_rare(child)) for label, child in node.moves))
        common, count = source.randrange(len(node.outcomes)), len(node.outcomes)
        return Chance(
            tuple(
                (label, 1 - rare * (count - 1) if place == common else rare, made_rare(child))
                for place, (label, _, child) in enumerate(node.outcomes)
            )
        )

    first, second = (grow(source.randint, payoffs, 2, 5, 30) for _ in range(2))
    return to_game(made_rare(Chance((("a", Fraction(1, 2), first), ("b", Fraction(1, 2), second)))))


@pytest.mark.parametrize("exponent", [6, 8, 10, 12])
def test_floors_at_the_value_can_be_met_where_chance_has_a_rare_outcome(exponent):
    for seed in range(12):
        game = rare_game(seed, Fraction(1, 10**exponent))
        for player in (0, 1):
            model = Strategy.uniform(game, 1 - player)
            for problem in (BestNash(game, model), EpsilonSafeResponse(game, model, epsilon=0)):
                solution = solve(problem)
                assert solution.status.is_success, (seed, player, problem.name, solution.message)


def test_a_floor_takes_what_a_strategy_guarantees_for_the_value():
    game = load_game("leduc:merge_suits=true")
    problem = EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=0)
    nash, found = solve(Nash(game)), solve(problem)
    assert found.game_value == pytest.approx(nash.lower, abs=1e-15)
    assert found.game_value <= nash.upper


def random_rows(game, seed):
    """Return constraints on both players, some of which exclude each other."""
    rng, rows = np.random.default_rng(seed), []
    for number in range(int(rng.integers(2, 7))):
        player = int(rng.integers(2))
        treeplex = game.sequence_form.treeplexes[player]
        places = rng.choice(treeplex.num_sequences, size=5, replace=False)
        slopes = np.round(rng.normal(size=5), 3)
        limit = float(np.round(slopes @ treeplex.uniform_plan()[places] + rng.normal() * 0.1, 3))
        rows.append(
            LinearConstraint(player, dict(zip(places.tolist(), slopes.tolist(), strict=True)), limit, f"{number}")
        )
    return rows


@pytest.mark.parametrize("penalty", [1e5, 1e6, 1e8])
def test_large_penalties_are_solved_to_the_tolerance(penalty):
    game = load_game("leduc:merge_suits=true")
    for seed in range(8):
        solution = solve(ConstrainedNash(game, random_rows(game, seed), penalty=penalty))
        assert solution.status == "optimal", (seed, solution.message)


def test_at_an_enormous_penalty_the_answer_is_proven_or_said_not_to_be():
    game = load_game("leduc:merge_suits=true")
    for seed, penalise in itertools.product(range(4), ("sum", "largest")):
        hard = solve(ConstrainedNash(game, random_rows(game, seed)))
        soft = solve(ConstrainedNash(game, random_rows(game, seed), penalty=1e19, penalise=penalise))
        assert soft.status in ("optimal", "uncertified")
        if hard.status == "optimal":
            assert soft.lower <= hard.value + 1e-9
            assert soft.upper >= hard.value - 1e-9
            assert soft.violation <= 1e-15


def test_a_penalty_is_never_infeasible():
    """An interior point method says "infeasible" of this one."""
    entries = np.array([[1e20, -2e20], [-1e20, 3e20]])
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(entries))
    row = LinearConstraint(0, {1: 1.0, 2: 1.0}, 0.25, "never met")
    for method in ("highs", "highs-ipm", "cvxpy", "rational"):
        solution = solve(ConstrainedNash(game, [row], penalty=0.5), method)
        assert solution.status != "infeasible"
        assert solution.violation == pytest.approx(0.75)


SIZES = (5e-324, 1e-310, 1e-300, 1e-100, 1e-20, 1e-6, 1e6, 1e20, 1e100, 1e300, 1e308)


@pytest.mark.parametrize("method", ["highs", "highs-ipm", "highs-pdlp", "cvxpy", "rational", "cfr+", "pcfr+", "dcfr"])
def test_payoffs_of_any_size_are_solved_without_a_warning(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in SIZES:
            for spec in (f"rps:paper={size}", f"rps:rock={size},paper={size},scissors={size}"):
                solution = solve(Nash(load_game(spec)), method, max_iterations=2000)
                json.dumps(solution.to_dict(), allow_nan=False)
                assert solution.lower <= 0.0 <= solution.upper
                # Where two of the payoffs are penalties beside the third, methods in floats may not come to its scale.
                fine = (
                    "highs" in method
                    or method == "rational"
                    or solution.problem.game.stakes == solution.problem.game.payoff_scale
                )
                if size >= 1e-300 and fine:
                    assert solution.status.is_success, (size, spec, solution.message)


@pytest.mark.parametrize("size", [1e-200, 1e-20, 1e-6, 1e20, 1e200])
@pytest.mark.parametrize("method", ["highs", "cvxpy"])
def test_payoffs_of_any_size_give_the_same_strategies(size, method):
    """Kuhn poker whose stakes are so large."""
    game = load_game("kuhn")
    first = game.sequence_form.A * size
    treeplexes = game.sequence_form.treeplexes
    scaled = Game.from_sequence_form(SequenceForm(treeplexes, payoff_matrices=[first, -first]))
    model = Strategy.uniform(scaled, 1)
    rows = [LinearConstraint(0, {2: 1.0}, 0.1, "seldom")]
    for problem, value in (
        (Nash(scaled), -1 / 18),
        (RestrictedNash(scaled, model, p=0.5), 5 / 36),
        (EpsilonSafeResponse(scaled, model, epsilon=size / 18), 7 / 18),
        (ConstrainedNash(scaled, rows), solve(ConstrainedNash(game, rows)).value),
        (ConstrainedNash(scaled, rows, penalty=size), solve(ConstrainedNash(game, rows, penalty=1)).value),
    ):
        solution = solve(problem, method)
        assert solution.status.is_success, (problem.name, solution.message)
        assert solution.objective == pytest.approx(value * size, rel=1e-6), problem.name


def test_fractions_say_how_far_constraints_are_from_being_met():
    """The answer has no payoff: it is not about any."""
    game = load_game("kuhn")
    rows = [behaviour_bound(game, 0, "J_", "b", at_least=0.7), behaviour_bound(game, 0, "J_", "b", at_most=0.4)]
    solution = solve(FeasibilityRelaxation(game, 0, rows), "rational")
    assert solution.exact.objective == Fraction(3, 10)
    assert solution.exact.value is None
    assert solution.to_dict()["value_exact"] is None
    assert "least-violation" in repr(solution)


def test_thousands_of_actions_at_one_decision_take_no_time_that_grows_with_their_square():
    payoffs = np.random.default_rng(0).normal(size=(100_000, 3)).round(3)
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(payoffs))
    solution = solve(Nash(game), "highs-simplex")
    assert solution.status == "optimal"


def chain(levels):
    """Return a game of so many levels in which the players may stop in turn."""
    graph = nx.DiGraph()
    for level in range(levels):
        graph.add_node(level, player=level % 2, infoset=f"i{level}")
        graph.add_node(-level - 1, payoffs=((-1) ** level * (level + 1), (-1) ** (level + 1) * (level + 1)))
        graph.add_edge(level, -level - 1, action="stop")
        graph.add_edge(level, level + 1, action="go on")
    graph.add_node(levels, payoffs=(0, 0))
    return Game.from_tree(graph)


@pytest.mark.parametrize("method", ["highs", "highs-ipm", "cvxpy", "cfr+"])
def test_two_thousand_levels(method):
    solution = solve(Nash(chain(2_000)), method)
    assert solution.status.is_success
    assert solution.value == pytest.approx(1.0, abs=0.5)


@pytest.mark.parametrize(
    "method", ["highs", "highs-ipm", "highs-pdlp", "cvxpy", "rational", "cfr", "cfr+", "dcfr", "ccfr"]
)
@pytest.mark.parametrize("mover", [0, 1, CHANCE])
def test_players_without_a_decision(mover, method):
    graph = nx.DiGraph()
    graph.add_node(0, player=mover, **({} if mover == CHANCE else {"infoset": "all"}))
    for place in (1, 2, 3):
        graph.add_node(place, payoffs=(place, -place))
        graph.add_edge(0, place, action=str(place), **({"prob": Fraction(1, 3)} if mover == CHANCE else {}))
    game = Game.from_tree(graph)
    solution = solve(Nash(game), method, max_iterations=5000)
    assert solution.status.is_success
    assert solution.value == pytest.approx({0: 3, 1: 1, CHANCE: 2}[mover], abs=1e-3)
    for player in (0, 1):
        safe = EpsilonSafeResponse(game, Strategy.uniform(game, 1 - player), epsilon=0)
        assert solve(safe).status == "optimal"


def test_a_floor_whose_price_is_beyond_the_largest_float():
    payoffs = np.array([[1e-312, -1e-312], [-2e-312, 3e-312]])
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(payoffs))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in ("highs", "rational", "cfr+"):
            style = EpsilonSafeStyle(game, epsilon=1e-313, maximise=[0.0, 1.0, 0.0], player=0)
            solution = solve(style, method, max_iterations=200)
            json.dumps(solution.to_dict(), allow_nan=False)
            assert 0.0 <= solution.objective <= 1.0
