"""Lemke's algorithm in sequence form: exact equilibria of general-sum games of two players, in floats and fractions."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from effort import few
from random_trees import Decision, Leaf, matrix_game, seeded_tree, to_game
from scipy.optimize import linprog

from treeplex import (
    EpsilonNash,
    Game,
    InvalidStrategyError,
    Nash,
    Profile,
    SequenceForm,
    Status,
    Strategy,
    UnsupportedProblemError,
    load_game,
    parse_constraint,
    solve,
)
from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
from treeplex.models.problems.complementarity import Complementarity
from treeplex.seqform.rationals import exact_plan, to_fractions
from treeplex.solvers import Lemke
from treeplex.solvers.exact.lemke_in_fractions import ExactPath
from treeplex.solvers.exact.lemke_path import FloatPath, RayError


def bimatrix(first, second):
    return Game.from_sequence_form(SequenceForm.from_payoff_matrix(first, second))


def drawn_bimatrix(seed, largest=8, ties=True):
    source = np.random.default_rng(seed)
    shape = tuple(source.integers(2, largest, 2))
    return source.integers(-3, 4, size=(2, *shape)) if ties else source.normal(size=(2, *shape))


def program_of(game, exact=False):
    form = game.sequence_form
    payoffs = form.payoff_matrix(0).toarray(), form.payoff_matrix(1).toarray().T
    prior = [treeplex.uniform_plan() for treeplex in form.treeplexes]
    if exact:
        payoffs = [to_fractions(matrix.ravel()).reshape(matrix.shape) for matrix in payoffs]
        prior = [exact_plan(treeplex, treeplex.uniform_behaviour()) for treeplex in form.treeplexes]
    return Complementarity.of(form.treeplexes, payoffs, prior), prior


@few
@pytest.mark.parametrize("seed", range(200))
def test_bimatrix_games(seed):
    game = bimatrix(*drawn_bimatrix(seed, ties=seed % 2 == 0))
    found = solve(EpsilonNash(game), "lemke")
    assert found.status is Status.OPTIMAL
    assert found.certificate.epsilon <= 1e-12 * game.stakes
    proven = solve(EpsilonNash(game), "rational")
    assert proven.exact.certificate.regrets == (0, 0)
    assert proven.regrets == (0.0, 0.0)
    assert all(isinstance(one, Fraction) for one in proven.value)
    assert [float(one) for one in proven.value] == pytest.approx(found.value, abs=1e-9 * game.stakes)


@few
@pytest.mark.parametrize("seed", range(100))
def test_extensive_games(seed):
    game = to_game(seeded_tree(seed, zero_sum=False, depth=7, size=60))
    found = solve(EpsilonNash(game), "lemke")
    assert found.status is Status.OPTIMAL
    assert found.certificate.epsilon <= 1e-9
    proven = solve(EpsilonNash(game), "rational")
    assert proven.exact.certificate.regrets == (0, 0)
    # The proof does not depend on the certificate of the product: best responses by recursion over pure plans.
    for player, (treeplex, plan) in enumerate(zip(game.sequence_form.treeplexes, proven.exact.plans, strict=True)):
        assert plan[0] == 1
        assert min(plan) >= 0
        for infoset, parent in enumerate(treeplex.parents.tolist()):
            assert sum(plan[treeplex.offsets[infoset] : treeplex.offsets[infoset + 1]]) == plan[parent]
        assert proven.values[player] == proven.exact.certificate.value[player]


@few
@pytest.mark.parametrize("seed", range(60))
def test_paths_in_floats_and_fractions_visit_equally_many_bases(seed):
    """Ties are broken lexicographically in both, so that degenerate games do not cycle."""
    game = bimatrix(*drawn_bimatrix(seed, 6)) if seed % 2 else to_game(seeded_tree(seed, zero_sum=False, size=20))
    in_floats, (in_fractions, prior) = program_of(game)[0], program_of(game, exact=True)
    floats, exact = FloatPath(in_floats), ExactPath(in_fractions)
    assert floats.follow(lambda: False)
    assert exact.follow(lambda: False)
    if (in_floats.basic == in_fractions.basic).all():  # round-off may choose another one of several best responses
        assert floats.pivots == exact.pivots
        assert floats.played == exact.played
    plans = exact.plans(prior)
    assert EpsilonNash(game).certify_exact(plans).regrets == (0, 0)


@few
@pytest.mark.parametrize("seed", range(40))
def test_every_point_of_the_path_is_a_pair_of_plans_and_meets_the_conditions(seed):
    game = to_game(seeded_tree(seed, zero_sum=False, size=20))
    for stop in range(6):
        program, prior = program_of(game)
        path = FloatPath(program)
        path.follow(lambda path=path, stop=stop: path.pivots >= stop)
        assert (np.asarray(path.constants) >= -1e-12).all()
        for treeplex, plan in zip(game.sequence_form.treeplexes, path.plans(prior), strict=True):
            assert treeplex.residual(plan) <= 1e-12


def dominating(payoffs, mixed):
    """Return what a mixture of rows gains, summed over columns, at no loss in any column, relative to a mixture."""
    earned = mixed @ payoffs
    rows = payoffs.shape[0]
    found = linprog(
        -payoffs.sum(axis=1), A_ub=-payoffs.T, b_ub=-earned, A_eq=np.ones((1, rows)), b_eq=[1.0], bounds=(0, None)
    )
    return -found.fun - earned.sum()


@few
@pytest.mark.parametrize("seed", range(100))
def test_equilibria_from_a_mixed_prior_are_undominated(seed):
    """From a prior that plays everything, the path ends at a normal-form perfect equilibrium (von Stengel et al.)."""
    source = np.random.default_rng(seed)
    first, second = source.integers(0, 3, size=(2, *source.integers(2, 6, 2)))  # many ties
    profile = solve(EpsilonNash(bimatrix(first, second)), "lemke").profile
    x, y = (strategy.plan[1:] for strategy in profile)
    assert dominating(first.astype(float), x) <= 1e-9
    assert dominating(second.T.astype(float), y) <= 1e-9


def test_a_weakly_dominated_equilibrium_is_not_found():
    game = bimatrix([[1, 0], [0, 0]], [[1, 0], [0, 0]])
    assert solve(EpsilonNash(game), "lemke").value == (1.0, 1.0)


def test_the_start_is_the_prior():
    """In the battle of the sexes the path leads from each player's expectation to the equilibrium that it favours."""
    game = bimatrix([[2, 0], [0, 1]], [[1, 0], [0, 2]])
    found = set()
    for place in (0, 1):
        start = Profile([Strategy.from_plan(game, player, np.eye(3)[place + 1] + np.eye(3)[0]) for player in (0, 1)])
        found.add(solve(EpsilonNash(game), "lemke", start=start).value)
    assert found == {(2.0, 1.0), (1.0, 2.0)}
    mixed = solve(EpsilonNash(game), "lemke")
    assert solve(EpsilonNash(game), "lemke", start=mixed).value == mixed.value


def test_zero_sum_games_have_their_value():
    for spec in ("kuhn", "goofspiel:cards=3"):
        game = load_game(spec)
        value = solve(Nash(game)).value
        assert solve(EpsilonNash(game), "lemke").value == pytest.approx((value, -value), abs=1e-9)
    assert solve(EpsilonNash(load_game("kuhn")), "rational").value == (Fraction(-1, 18), Fraction(1, 18))


def test_flows():
    town = nx.Graph([("gate", "mill"), ("mill", "bank"), ("gate", "inn"), ("inn", "bank")])
    units, thieves = [Unit(base="mill")], [Attacker(["gate"], {"bank": 2.0})]
    game = PatrolGame(town, steps=3, units=units, attackers=thieves, failure=0.2)
    value = solve(Nash(game)).value
    assert solve(EpsilonNash(game), "lemke").value[0] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_units_of_payoff(scale):
    first, second = np.random.default_rng(3).normal(size=(2, 7, 7))
    found = solve(EpsilonNash(bimatrix(scale * first, scale * second)), "lemke")
    assert found.status is Status.OPTIMAL
    assert found.certificate.epsilon <= 1e-12 * scale


@pytest.mark.parametrize("ratio", [1e-12, 1e12])
def test_players_with_different_units(ratio):
    """The player with the smaller payoffs gains nothing either, in its own unit."""
    for seed in range(20):
        first, second = np.random.default_rng(seed).integers(-3, 4, size=(2, 3, 4)).astype(float)
        found = solve(EpsilonNash(bimatrix(first, ratio * second)), "lemke")
        assert found.regrets[0] <= 1e-9
        assert found.regrets[1] <= 1e-9 * ratio


def test_games_that_an_integer_program_does_not_solve_in_time():
    first, second = np.random.default_rng(1).normal(size=(2, 40, 40))
    found = solve(Nash(bimatrix(first, second)))
    assert (found.method.name, found.status) == ("lemke", Status.OPTIMAL)
    assert found.certificate.epsilon <= 1e-9


def test_chance_in_thirds_is_exact():
    drawn = nx.DiGraph()
    drawn.add_node("root", player=-1)
    for card in range(3):
        drawn.add_node(card, player=0, infoset=f"card {card}")
        drawn.add_edge("root", card, action=str(card), prob=Fraction(1, 3))
        for bet in (0, 1):
            drawn.add_node((card, bet), player=1, infoset=f"bet {bet}")
            drawn.add_edge(card, (card, bet), action=str(bet))
            for call in (0, 1):
                drawn.add_node((card, bet, call), payoffs=(bet * (card - 1) * (1 + call), call * (1 - card) - bet))
                drawn.add_edge((card, bet), (card, bet, call), action=str(call))
    solution = solve(Nash(Game.from_tree(drawn)), "rational")
    assert solution.exact.certificate.regrets == (0, 0)
    assert solution.message == "proven in exact fractions"
    record = solution.to_dict()
    assert record["values_exact"] == [str(one) for one in solution.value]
    assert record["value"] == [float(one) for one in solution.value]
    assert record["objective_exact"] is None
    assert record["regrets"] == [0.0, 0.0]
    assert "ExactAnswer(value=" in repr(solution.exact)


def test_a_limit_leaves_the_strategies_of_the_path():
    first, second = np.random.default_rng(1).normal(size=(2, 100, 100))
    game = bimatrix(first, second)
    found = solve(EpsilonNash(game), "lemke", max_iterations=3)
    assert (found.status, found.iterations) == (Status.ITERATION_LIMIT, 3)
    assert found.certificate.epsilon > 1e-9
    assert solve(EpsilonNash(game), "rational", max_iterations=3).status is Status.ITERATION_LIMIT


def test_a_path_that_round_off_leads_astray_is_followed_in_fractions(monkeypatch):
    def lost(path, stop):
        raise RayError("no variable bounds the path")

    monkeypatch.setattr(FloatPath, "follow", lost)
    for method in ("lemke", "rational"):
        found = solve(EpsilonNash(bimatrix(*drawn_bimatrix(4))), method)
        assert found.status is Status.OPTIMAL
        assert found.certificate.epsilon <= 1e-12


@pytest.mark.slow
def test_a_path_that_is_lost_in_a_large_game_proves_nothing(monkeypatch):
    def lost(path, stop):
        raise RayError("no variable bounds the path")

    monkeypatch.setattr(FloatPath, "follow", lost)
    large = bimatrix(*np.random.default_rng(0).normal(size=(2, 210, 210)))
    assert solve(EpsilonNash(large), "lemke").status is Status.UNCERTIFIED


def test_degenerate_games_too_large_for_a_path_in_fractions_have_an_exact_equilibrium():
    node = Leaf((0, 0))
    for turn in reversed(range(200)):
        paid = (turn, turn - 3) if turn % 2 == 0 else (turn - 3, turn)
        node = Decision(turn % 2, str(turn), (("take", Leaf(paid)), ("pass", node)))
    solution = solve(EpsilonNash(to_game(node)), "rational")
    assert solution.status is Status.OPTIMAL
    assert solution.exact.certificate.epsilon == 0


def test_games_of_a_single_outcome():
    for spec in ([[3.0]], [[0.0]]):
        game = bimatrix(spec, [[1.0]])
        assert solve(EpsilonNash(game), "lemke").value == (spec[0][0], 1.0)
        assert solve(EpsilonNash(game), "rational").value == (spec[0][0], 1)


def test_what_is_refused():
    small = matrix_game([[3, 0], [5, 1]], [[3, 5], [0, 1]])
    with pytest.raises(UnsupportedProblemError, match=r"lemke cannot solve epsilon-nash with more than two players"):
        solve(EpsilonNash(load_game("kuhn:players=3")), "lemke")
    with pytest.raises(UnsupportedProblemError, match=r"rational cannot solve epsilon-nash with a choice among equil"):
        solve(EpsilonNash(small, maximise="0"), "rational")
    with pytest.raises(UnsupportedProblemError, match=r"rational cannot solve epsilon-nash with constraints in a gen"):
        solve(EpsilonNash(small, parse_constraint("0/_:b <= 0.5", small)), "rational")
    with pytest.raises(UnsupportedProblemError, match=r"6 sequences, too many for method lemke, .* at most 5: use dcf"):
        solve(EpsilonNash(small), Lemke(largest=5))
    with pytest.raises(InvalidStrategyError, match="start is 3, expected a Profile or a Solution"):
        solve(EpsilonNash(small), "lemke", start=3)
    with pytest.raises(UnsupportedProblemError, match="lemke cannot solve nash"):
        solve(Nash(load_game("kuhn")), "lemke")
