"""Exact equilibria of general-sum games of two players: one of all, and the best one for an objective."""

import itertools
import math
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from effort import few
from gambit_judge import equilibrium_of, payoffs_of_all_equilibria, read_by_gambit
from random_trees import count_pure_strategies, matrix_game, seeded_tree, to_game

from treeplex import (
    ConstrainedNash,
    EpsilonNash,
    Nash,
    Status,
    UnsupportedProblemError,
    expected_payoffs,
    load_game,
    parse_constraint,
    solve,
)
from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
from treeplex.seqform import best_response_values
from treeplex.seqform.interchange import profile_from_gambit

OBJECTIVES = {"welfare": (1, 1), "0": (1, 0), "1": (0, 1)}


def equal_supports(first, second):
    """Return the payoffs in all equilibria of a bimatrix game without ties: both play equally many actions."""
    rows, columns = first.shape
    found = []
    for size in range(1, min(rows, columns) + 1):
        for own in itertools.combinations(range(rows), size):
            for other in itertools.combinations(range(columns), size):
                sides = (first[np.ix_(own, other)], second[np.ix_(own, other)].T)
                mixed = []
                for matrix in sides:  # which strategy of the other player makes the rows equal?
                    system = np.block([[matrix, -np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
                    try:
                        mixed.append(np.linalg.solve(system, np.append(np.zeros(size), 1.0)))
                    except np.linalg.LinAlgError:
                        break
                if len(mixed) < 2 or any((each[:-1] < 0).any() for each in mixed):
                    continue
                x, y = np.zeros(rows), np.zeros(columns)
                x[list(own)], y[list(other)] = mixed[1][:-1], mixed[0][:-1]
                if (first @ y).max() <= x @ first @ y + 1e-9 and (x @ second).max() <= x @ second @ y + 1e-9:
                    found.append((x @ first @ y, x @ second @ y))
    return found


def small_tree(seed):
    """Return a random tree with few pure strategies: Gambit enumerates the vertices of its normal form."""
    drawn = (seeded_tree(attempt, zero_sum=False, depth=4, size=12) for attempt in itertools.count(1000 * seed))
    return next(
        tree for tree in drawn if 4 <= math.prod(count_pure_strategies(tree, player) for player in (0, 1)) <= 40
    )


def check(game, payoffs, accuracy=1e-7):
    """Hold the answers on a game to the payoffs of all its extreme equilibria."""
    stakes = max(1.0, game.stakes)
    found = solve(EpsilonNash(game), "branch-and-bound")
    pivoted, proven = solve(EpsilonNash(game), "lemke"), solve(EpsilonNash(game), "rational")
    assert {one.status for one in (found, pivoted, proven)} == {Status.OPTIMAL}
    assert proven.exact.certificate.regrets == (0, 0)
    assert max(pivoted.regrets) <= 1e-12 * stakes
    for name, weights in OBJECTIVES.items():
        best = solve(EpsilonNash(game, maximise=name))
        assert max(best.regrets) <= 1e-9 * stakes
        assert best.objective == pytest.approx(np.dot(weights, best.value), abs=1e-12 * stakes)
        assert best.objective == pytest.approx(max(np.dot(weights, paid) for paid in payoffs), abs=accuracy * stakes)
        for one in (found, pivoted, proven):
            assert np.dot(weights, [float(paid) for paid in one.value]) <= best.objective + accuracy * stakes
    return found


@pytest.mark.parametrize("seed", range(100))
def test_bimatrix_games_against_the_enumeration_of_supports(seed):
    source = np.random.default_rng(seed)
    shape = tuple(source.integers(1, 6, 2))
    first, second = source.normal(size=(2, *shape))
    payoffs = equal_supports(first, second)
    assert len(payoffs) % 2  # without ties the number of equilibria is odd
    found = check(matrix_game(first.tolist(), second.tolist(), rows="abcdef", columns="abcdef"), payoffs)
    assert min(np.abs(np.subtract(found.value, paid)).max() for paid in payoffs) <= 1e-7
    pivoted = solve(EpsilonNash(matrix_game(first.tolist(), second.tolist())), "lemke").value
    assert min(np.abs(np.subtract(pivoted, paid)).max() for paid in payoffs) <= 1e-9


@few
@pytest.mark.parametrize("seed", range(500))
def test_bimatrix_games_with_ties_against_gambit(seed, tmp_path: Path):
    source = np.random.default_rng(seed)
    first, second = source.integers(-3, 4, size=(2, *source.integers(2, 5, 2)))
    game = matrix_game(first.tolist(), second.tolist())
    check(game, payoffs_of_all_equilibria(game, tmp_path))


@few
@pytest.mark.parametrize("seed", range(200))
def test_extensive_games_against_gambit(seed, tmp_path: Path):
    game = to_game(small_tree(seed))
    check(game, payoffs_of_all_equilibria(game, tmp_path))


@few
@pytest.mark.parametrize("seed", range(100))
def test_gambits_own_answers_have_no_regret_and_are_no_better(seed, tmp_path: Path):
    """Lemke's algorithm in Gambit, and in the smallest games its polynomial equations of all supports."""
    tree = small_tree(seed)
    game = to_game(tree)
    theirs = read_by_gambit(game, tmp_path)
    pygambit = pytest.importorskip("pygambit")
    listed = [equilibrium_of(pygambit.nash.lcp_solve(theirs, rational=False))]
    if math.prod(count_pure_strategies(tree, player) for player in (0, 1)) <= 9:  # larger ones may take minutes
        listed += pygambit.nash.enumpoly_solve(theirs).equilibria
    best = {name: solve(EpsilonNash(game, maximise=name)).objective for name in OBJECTIVES}
    same = load_game(str(tmp_path / "judged.efg"))
    for one in listed:
        certificate = EpsilonNash(same).certify(profile_from_gambit(same, one))
        assert certificate.epsilon <= 1e-4  # enumpoly's own tolerance
        for name, weights in OBJECTIVES.items():
            assert np.dot(weights, certificate.value) <= best[name] + 1e-4


def test_the_regrets_are_those_of_best_responses():
    game = to_game(seeded_tree(7, zero_sum=False))
    found = solve(Nash(game), "branch-and-bound")
    gains = best_response_values(game, found.profile) - expected_payoffs(game, found.profile)
    assert np.abs(gains).max() <= 1e-9
    assert found.problem.name == "epsilon-nash"


def test_textbook_games():
    dilemma = matrix_game([[3, 0], [5, 1]], [[3, 5], [0, 1]])
    assert solve(Nash(dilemma)).value == (1.0, 1.0)
    chicken = matrix_game([[0, -1], [1, -10]], [[0, 1], [-1, -10]])
    assert solve(EpsilonNash(chicken, maximise="0")).value == (1.0, -1.0)
    hunt = matrix_game([[4, 0], [3, 3]], [[4, 3], [0, 3]])
    assert solve(EpsilonNash(hunt, maximise="welfare")).value == (4.0, 4.0)


def test_zero_sum_games_have_one_value_whatever_is_maximised():
    game = load_game("kuhn")
    for objective in (None, *OBJECTIVES):
        found = solve(EpsilonNash(game, maximise=objective), "branch-and-bound")
        assert found.value == pytest.approx((-1 / 18, 1 / 18), abs=1e-9)


def test_flows_have_equilibria_too():
    town = nx.Graph([("gate", "mill"), ("mill", "bank"), ("gate", "inn"), ("inn", "bank")])
    units, thieves = [Unit(base="mill")], [Attacker(["gate"], {"bank": 2.0})]
    game = PatrolGame(town, steps=3, units=units, attackers=thieves, failure=0.2)
    value = solve(Nash(game)).value
    assert solve(EpsilonNash(game), "branch-and-bound").value[0] == pytest.approx(value, abs=1e-7)


def test_defaults():
    small = matrix_game([[3, 0], [5, 1]], [[3, 5], [0, 1]])
    assert solve(EpsilonNash(small)).method.name == "lemke"
    assert solve(EpsilonNash(small, maximise="0")).method.name == "branch-and-bound"
    assert solve(Nash(small), "dcfr", tol=1e-3).status is Status.CONVERGED
    limited = EpsilonNash(small, parse_constraint("0/_:b <= 0.5", small))
    assert limited.usual_method == "dcfr"
    assert EpsilonNash(load_game("leduc:ranks=4")).usual_method == "dcfr"


def test_what_is_refused():
    small, three = matrix_game([[3, 0], [5, 1]], [[3, 5], [0, 1]]), load_game("kuhn:players=3")
    with pytest.raises(UnsupportedProblemError, match="maximise is 'wellfare', expected one of welfare, 0, 1, None"):
        EpsilonNash(small, maximise="wellfare")
    with pytest.raises(UnsupportedProblemError, match="needs two players, but kuhn:players=3 has 3"):
        EpsilonNash(three, maximise="0")
    with pytest.raises(UnsupportedProblemError, match="maximise is given with constraints, expected only one"):
        EpsilonNash(small, parse_constraint("0/_:b <= 0.5", small), maximise="0")
    with pytest.raises(UnsupportedProblemError, match=r"dcfr cannot solve .* a choice among equilibria"):
        solve(EpsilonNash(small, maximise="0"), "dcfr")
    with pytest.raises(UnsupportedProblemError, match="nash needs a zero-sum game"):
        Nash(small).linear_program()
    with pytest.raises(UnsupportedProblemError, match="needs a zero-sum game"):
        solve(ConstrainedNash(small, parse_constraint("0/_:b <= 0.5", small)))
