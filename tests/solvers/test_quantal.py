"""Quantal response equilibria against Gambit, plain recursion, and what is known in simple games."""

import math

import networkx as nx
import numpy as np
import pytest
from effort import few
from gambit_judge import read_by_gambit
from random_trees import Chance, Leaf, expected, infosets, matrix_game, seeded_tree, to_game

from treeplex import (
    CHANCE,
    Game,
    InvalidGameError,
    InvalidOptionError,
    Profile,
    QuantalResponse,
    SequenceForm,
    Status,
    Strategy,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.seqform.interchange import profile_from_gambit
from treeplex.solvers import PathFollowing

#: The rationalities at which answers are held against Gambit's.
TEN = (0.05, 0.2, 0.5, 1, 2, 4, 8, 15, 30, 60)
#: Battle of the sexes with payoffs that no symmetry exchanges, and with ones that a symmetry exchanges.
UNEVEN = matrix_game([[3, 0], [0, 1]], [[1, 0], [0, 2]])
EVEN = matrix_game([[2, 0], [0, 1]], [[1, 0], [0, 2]])
TREES = {seed: seeded_tree(seed, num_players, zero_sum=False) for seed, num_players in ((2, 2), (5, 3), (7, 3), (8, 2))}
GAMES = {
    "battle of the sexes": UNEVEN,
    "kuhn": load_game("kuhn"),
    "three players": load_game("kuhn:players=3"),
    **{f"tree {seed}": to_game(tree) for seed, tree in TREES.items()},
}


@few
@pytest.mark.parametrize("name", GAMES)
def test_answers_are_gambits_at_ten_rationalities(name, tmp_path):
    pygambit = pytest.importorskip("pygambit")
    if not hasattr(pygambit, "qre"):
        pytest.skip("this pygambit has no qre")
    judge = read_by_gambit(GAMES[name], tmp_path)
    game = load_game(str(tmp_path / "judged.efg"))
    if not all(treeplex.num_infosets for treeplex in game.sequence_form.treeplexes):
        pytest.skip("Gambit leaves out players without decisions")
    for rationality in TEN:
        solution = solve(QuantalResponse(game, rationality=rationality))
        assert solution.status is Status.OPTIMAL
        found = profile_from_gambit(game, pygambit.qre.logit_solve_lambda(judge, [rationality])[0].profile)
        for one, other in zip(solution.profile, found, strict=True):
            np.testing.assert_allclose(one.behaviour, other.behaviour, atol=1e-7)


def test_the_whole_branch_is_gambits(tmp_path):
    pygambit = pytest.importorskip("pygambit")
    if not hasattr(pygambit, "qre"):
        pytest.skip("this pygambit has no qre")
    judge = read_by_gambit(UNEVEN, tmp_path)
    game = load_game(str(tmp_path / "judged.efg"))
    points = pygambit.qre.logit_solve_branch(judge)
    for point in points[1 :: max(1, len(points) // 10)]:
        if point.lam < 60:
            solution = solve(QuantalResponse(game, rationality=point.lam))
            other = profile_from_gambit(game, point.profile)
            assert QuantalResponse(game, rationality=point.lam).certify(other).logit_distance < 1e-6
            np.testing.assert_allclose(solution.profile[0].behaviour, other[0].behaviour, atol=1e-6)


def test_a_branch_that_passes_a_bifurcation_says_so(tmp_path):
    for rationality, bifurcations in ((1, 0), (10, 1)):
        solution = solve(QuantalResponse(EVEN, rationality=rationality))
        first, second = solution.profile
        # The symmetry exchanges the players and the places.
        np.testing.assert_allclose(first.behaviour[1:], second.behaviour[:0:-1], atol=1e-9)
        assert solution.state.bifurcations == bifurcations
        assert ("past 1 bifurcation" in solution.message) == bool(bifurcations)
    assert solution.certificate.logit_distance < 1e-9


def conditional(root, strategies, player, infoset):
    """Return a player's expected payoff after each action at an infoset, given that it is reached, by recursion."""
    reached, paid = 0.0, {}

    def visit(node, probability):
        nonlocal reached
        if isinstance(node, Leaf):
            return
        if isinstance(node, Chance):
            for _, share, child in node.outcomes:
                visit(child, probability * float(share))
            return
        if node.player == player and node.infoset == infoset:
            reached += probability
            for label, child in node.moves:
                paid[label] = paid.get(label, 0.0) + probability * float(expected(child, strategies)[player])
            return
        for label, child in node.moves:
            visit(child, probability * strategies[node.player][node.infoset][label])

    visit(root, 1.0)
    return {label: one / reached for label, one in paid.items()}


@few
@pytest.mark.parametrize("seed", TREES)
def test_probabilities_are_logit_choices_of_conditional_payoffs(seed):
    root = TREES[seed]
    game = to_game(root)
    solution = solve(QuantalResponse(game, rationality=3))
    strategies = [strategy.to_dict() for strategy in solution.profile]
    for player in range(game.num_players):
        for infoset in infosets(root, player):
            weights = {
                label: math.exp(3 * one) for label, one in conditional(root, strategies, player, infoset).items()
            }
            for label, weight in weights.items():
                played = solution.profile[player][infoset][label]
                assert played == pytest.approx(weight / sum(weights.values()), abs=1e-10)


def test_derivatives_are_those_of_differences():
    choices = QuantalResponse(load_game("kuhn"), rationality=1).choices
    source = np.random.default_rng(0)
    logs = -source.uniform(0.2, 2.0, choices.ways.shape[0])
    step = 1e-6
    jacobian = choices.jacobian(logs, 1.7)
    for place in range(len(logs)):
        moved = np.zeros(len(logs))
        moved[place] = step
        change = (choices.residual(logs + moved, 1.7) - choices.residual(logs - moved, 1.7)) / (2 * step)
        np.testing.assert_allclose(jacobian[:, place], change, atol=1e-7)
    change = (choices.residual(logs, 1.7 + step) - choices.residual(logs, 1.7 - step)) / (2 * step)
    np.testing.assert_allclose(jacobian[:, -1], change, atol=1e-7)


def test_players_without_rationality_play_uniformly_and_rational_ones_an_equilibrium():
    game = load_game("kuhn")
    uniform = solve(QuantalResponse(game, rationality=0))
    for one, other in zip(uniform.profile, Profile.uniform(game), strict=True):
        np.testing.assert_allclose(one.behaviour, other.behaviour, atol=1e-15)
    regrets = [solve(QuantalResponse(game, rationality=one)).certificate.epsilon for one in (1, 10, 100)]
    assert regrets[0] > regrets[1] > regrets[2]
    assert regrets[2] < 0.01


def test_the_certificate_sees_a_profile_that_is_no_fixed_point():
    game = load_game("matching_pennies")
    problem = QuantalResponse(game, rationality=1)
    uniform = Profile.uniform(game)
    assert problem.certify(uniform).logit_distance == 0.0
    labels = game.sequence_form.treeplexes[0]
    first = Strategy.from_dict(
        game, 0, {labels.infoset_labels[0]: {labels.action_labels[0][0]: 0.75, labels.action_labels[0][1]: 0.25}}
    )
    found = problem.certify(Profile([first, uniform[1]]))
    # Player 1 then earns 1/2 more by one action than by the other, up to its sign.
    assert found.logit_distance == pytest.approx(max(0.25, abs(1 / (1 + math.exp(-1)) - 0.5)))
    assert problem.error(found) == found.logit_distance
    assert found.regrets == (0.0, pytest.approx(0.5))


def test_matrices_without_leaves_are_solved():
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[3, 0], [0, 1]], [[1, 0], [0, 2]]))
    one, other = (solve(QuantalResponse(each, rationality=4)).profile for each in (game, UNEVEN))
    np.testing.assert_allclose(one[0].behaviour, other[0].behaviour, atol=1e-10)


@pytest.mark.parametrize(
    ("game", "steps"), [(UNEVEN, 100), (GAMES["kuhn"], 150), (load_game("signalling"), 100)], ids=str
)
def test_a_large_rationality_is_reached_in_few_steps(game, steps):
    solution = solve(QuantalResponse(game, rationality=1e6))
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.logit_distance <= 1e-9
    assert solution.iterations <= steps  # the length of a step grows with the rationality


def test_probabilities_too_small_for_floats_are_certified_by_their_logarithms():
    game = GAMES["three players"]
    solution = solve(QuantalResponse(game, rationality=3e4))
    assert solution.status is Status.OPTIMAL
    assert min(strategy.behaviour.min() for strategy in solution.profile) == 0.0
    assert solution.problem.certify(solution.profile).logit_distance > 0.1  # zeros do not tell which leaf is likelier
    for one, strategy in zip(solution.state.logarithms, solution.profile, strict=True):
        np.testing.assert_allclose(np.exp(one), strategy.behaviour, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_long_steps_stay_on_the_branch(seed):
    source = np.random.default_rng(seed)
    shape = source.integers(2, 5, size=2)
    draw = (
        (lambda: source.integers(-3, 4, shape).tolist()) if seed % 2 else (lambda: source.normal(size=shape).tolist())
    )
    for game in (matrix_game(draw(), draw()), to_game(seeded_tree(40 + seed, 2 + seed % 2, zero_sum=False))):
        for rationality in (5, 100):
            problem = QuantalResponse(game, rationality=rationality)
            found, fine = solve(problem), solve(problem, PathFollowing(longest=0.5))
            assert fine.iterations > found.iterations
            for one, other in zip(found.profile, fine.profile, strict=True):
                np.testing.assert_allclose(one.behaviour, other.behaviour, atol=1e-7)


def test_games_without_decisions():
    single = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[3]], [[2]]))
    tree = nx.DiGraph()
    tree.add_node("coin", player=CHANCE)
    for side, paid in (("heads", (1, 5)), ("tails", (4, 5))):
        tree.add_edge("coin", side, action=side, prob=0.5)
        tree.add_node(side, payoffs=paid)
    for game, value in ((single, (3.0, 2.0)), (Game.from_tree(tree), (2.5, 5.0))):
        solution = solve(QuantalResponse(game, rationality=2))
        assert solution.status is Status.OPTIMAL
        assert solution.value == value


def test_bad_input_is_refused_in_one_line():
    kuhn = load_game("kuhn")
    with pytest.raises(InvalidGameError, match=r"qre: rationality is -1"):
        QuantalResponse(kuhn, rationality=-1)
    with pytest.raises(InvalidGameError, match=r"qre: rationality is inf"):
        QuantalResponse(kuhn, rationality=math.inf)
    with pytest.raises(UnsupportedProblemError, match="path-following"):
        solve(QuantalResponse(kuhn, rationality=1), "highs")
    with pytest.raises(UnsupportedProblemError, match="qre needs realization plans"):
        solve(QuantalResponse(load_game("transit:width=3"), rationality=1))
    with pytest.raises(InvalidOptionError, match="does not accept a start"):
        solve(QuantalResponse(kuhn, rationality=1), start=Profile.uniform(kuhn))
    with pytest.raises(UnsupportedProblemError, match="expected at most"):
        solve(QuantalResponse(load_game("leduc:ranks=6"), rationality=1))


def test_limits_end_a_walk_where_it_is():
    game = load_game("kuhn")
    solution = solve(QuantalResponse(game, rationality=50), max_iterations=3)
    assert solution.status is Status.ITERATION_LIMIT
    assert 0 < solution.state.rationality[-1] < 50
    assert solve(QuantalResponse(game, rationality=50), time_limit=0).status is Status.TIME_LIMIT
    stopped = solve(QuantalResponse(game, rationality=50), callback=lambda progress: progress.iterations > 4)
    assert stopped.status is Status.INTERRUPTED
    longer = solve(QuantalResponse(game, rationality=5), PathFollowing(longest=0.1))
    assert longer.iterations > solve(QuantalResponse(game, rationality=5)).iterations
