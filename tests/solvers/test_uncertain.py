"""Robust strategies for uncertain payoffs and chance against cvxpy programs over pure strategies."""

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from effort import few
from random_trees import (
    Chance,
    Decision,
    Leaf,
    count_pure_strategies,
    expected,
    grow,
    matrix_game,
    pure_strategies,
    to_game,
)

from treeplex import (
    Game,
    InvalidGameError,
    InvalidStrategyError,
    Nash,
    SequenceForm,
    Strategy,
    UnknownGameError,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.problems import UncertainPayoffs


def changed(root, source, width):
    """The same tree with other payoffs and other probabilities of chance."""
    if isinstance(root, Leaf):
        moved = root.payoffs[0] + source.uniform(-width, width)
        return Leaf((moved, -moved))
    if isinstance(root, Chance):
        weights = [Fraction(source.randint(1, 5)) for _ in root.outcomes]
        shares = [weight / sum(weights) for weight in weights]
        return Chance(
            tuple(
                (label, share, changed(child, source, width))
                for (label, _, child), share in zip(root.outcomes, shares, strict=True)
            )
        )
    return replace(root, moves=tuple((label, changed(child, source, width)) for label, child in root.moves))


def draw(seed, count=2):
    """A random game, games that differ from it in payoffs and chance, and player 0's payoffs by pure strategies."""
    source = random.Random(seed)

    def payoffs():
        paid = source.uniform(-1, 1)
        return paid, -paid

    while True:
        root = grow(source.randint, payoffs, 2, 5, 14)
        counts = [count_pure_strategies(root, player) for player in (0, 1)]
        if min(counts) > 1 and max(counts) <= 16:
            break
    roots = [root, *(changed(root, source, 0.5) for _ in range(count))]
    own = [pure_strategies(root, player) for player in (0, 1)]
    tables = [np.array([[float(expected(one, [a, b])[0]) for b in own[1]] for a in own[0]]) for one in roots]
    return [to_game(one) for one in roots], tables, own


def by_cvxpy(tables, uncertainty, budget, mixture=None):
    """The worst case that a mixture of rows earns at most: the columns' player, or a mixture of columns, replies."""
    nominal, *others = tables
    mixed, worst = cp.Variable(nominal.shape[0], nonneg=True), cp.Variable()
    columns = np.eye(nominal.shape[1]) if mixture is None else mixture[None]
    limits = [cp.sum(mixed) == 1]
    for column in columns:
        if uncertainty == "scenarios":
            limits += [worst <= mixed @ (one @ column) for one in others]
            continue
        moved = cp.hstack([mixed @ ((one - nominal) @ column) for one in others])
        lost = cp.norm(moved) if uncertainty == "ellipsoid" else cp.sum_largest(cp.abs(moved), budget)
        limits.append(worst <= mixed @ (nominal @ column) - lost)
    problem = cp.Problem(cp.Maximize(worst), limits)
    if uncertainty == "ellipsoid":
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    else:
        problem.solve(solver="HIGHS")
    return float(problem.value)


def as_strategy(game, player, pure, weights):
    """The strategy of a mixture of pure strategies."""
    tree = game.sequence_form.treeplexes[player]
    plan = np.zeros(tree.num_sequences)
    for weight, one in zip(weights, pure, strict=True):
        behaviour = np.zeros(tree.num_sequences)
        behaviour[0] = 1.0
        for infoset, chosen in one.items():
            for action in chosen:
                behaviour[tree.sequence(infoset, action)] = 1.0
        plan += weight * tree.plan(behaviour)
    return Strategy.from_plan(game, player, plan)


KINDS = [("scenarios", None), ("intervals", 1), ("intervals", 2), ("intervals", None), ("ellipsoid", None)]


@few
@pytest.mark.parametrize(("uncertainty", "budget"), KINDS)
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("has_model", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_robust_strategies_against_cvxpy(seed, has_model, player, uncertainty, budget):
    games, tables, own = draw(seed)
    seen = tables if player == 0 else [-one.T for one in tables]
    mixture = np.random.default_rng(seed).dirichlet(np.ones(len(own[1 - player]))) if has_model else None
    model = as_strategy(games[0], 1 - player, own[1 - player], mixture) if has_model else None
    best = by_cvxpy(seen, uncertainty, budget or len(games) - 1, mixture)
    problem = UncertainPayoffs(
        games[0],
        dict(zip("ab", games[1:], strict=True)),
        uncertainty=uncertainty,
        budget=budget,
        opponent=model,
        player=player,
    )
    solution = solve(problem)
    assert solution.status == "optimal"
    accuracy = 1e-6 if uncertainty == "ellipsoid" else 1e-8
    for number in (solution.objective, solution.lower, solution.upper):
        assert number == pytest.approx(best, abs=accuracy)
    assert solution.lower <= solution.upper
    # The worst scenario of the strategy pays the lower bound.
    worst = problem.outcomes(solution.strategy)[0]
    assert worst.payoff == pytest.approx(solution.lower, abs=1e-9)
    assert worst.name in str(solution)
    assert solution.to_dict()["scenarios"][0] == {"name": worst.name, "payoff": worst.payoff}


@pytest.mark.parametrize("method", ["rational", "cvxpy", "highs-ipm"])
@pytest.mark.parametrize("player", [0, 1])
def test_exact_methods_agree(method, player):
    usual, other = load_game("leduc:ranks=2,bet1=1"), load_game("leduc:ranks=2,bet2=6")
    problem = UncertainPayoffs(usual, [usual, other], player=player)
    found = solve(problem, method)
    assert found.objective == pytest.approx(solve(problem).objective, abs=1e-7)


def test_iterative_methods_prove_their_bounds():
    usual, other = load_game("leduc:ranks=2,bet1=1"), load_game("leduc:ranks=2,bet2=6")
    problem = UncertainPayoffs(usual, [usual, other], player=1)
    exact = solve(problem).objective
    found = solve(problem, "cfr+", tol=2e-2)
    assert found.status == "converged"
    assert found.lower - 1e-9 <= exact <= found.upper + 1e-9


@pytest.mark.parametrize("uncertainty", ["scenarios", "intervals", "ellipsoid"])
def test_without_any_difference_the_answer_is_the_equilibrium(uncertainty):
    kuhn = load_game("kuhn")
    solution = solve(UncertainPayoffs(kuhn, ["kuhn", "kuhn"], uncertainty=uncertainty))
    assert solution.objective == pytest.approx(-1 / 18, abs=1e-6)
    assert solution.exploitability == pytest.approx(0.0, abs=1e-6)


def test_more_uncertainty_never_pays():
    games, _, _ = draw(3)
    named = dict(zip("ab", games[1:], strict=True))
    paid = [
        solve(UncertainPayoffs(games[0], named, uncertainty="intervals", budget=budget)).objective
        for budget in range(3)
    ]
    assert paid[0] == pytest.approx(solve(Nash(games[0])).value, abs=1e-9)
    assert paid == sorted(paid, reverse=True)
    ellipsoid = solve(UncertainPayoffs(games[0], named, uncertainty="ellipsoid")).objective
    assert paid[2] - 1e-7 <= ellipsoid <= paid[1] + 1e-7


@pytest.mark.parametrize("has_model", [False, True])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("mover", [0, 1])
def test_a_player_may_never_move(mover, player, has_model):
    """An action pays player 0 1, the other one 2; in the other scenario 4 and 1."""
    games = [
        to_game(Decision(mover, "choice", tuple(zip("ab", (Leaf((one, -one)) for one in table), strict=True))))
        for table in ((1, 2), (4, 1))
    ]
    given = {"opponent": Strategy.uniform(games[0], 1 - player)} if has_model else {"player": player}
    sign = 1 - 2 * player
    tables = [np.array([[1.0], [2.0]]), np.array([[4.0], [1.0]])]
    if mover != player:  # the other player, or its model, chooses the action
        tables = [one.mean(axis=0, keepdims=True) if has_model else one.T for one in tables]
    tables = [sign * one for one in tables]
    solution = solve(UncertainPayoffs(games[0], dict(zip("ab", games, strict=True)), **given))
    assert solution.objective == pytest.approx(by_cvxpy([tables[0], *tables], "scenarios", None), abs=1e-7)


def test_a_constant_sum_keeps_its_constant():
    first, second = np.array([[3.0, 0.0], [0.0, 3.0]]), np.array([[4.0, 0.0], [0.0, 1.0]])
    games = [Game.from_sequence_form(SequenceForm.from_payoff_matrix(one, 5.0 - one)) for one in (first, second)]
    for uncertainty in ("scenarios", "ellipsoid"):
        problem = UncertainPayoffs(games[0], {"a": games[0], "b": games[1]}, uncertainty=uncertainty, player=1)
        solution = solve(problem)
        shifted = [5.0 - one.T for one in (first, first, second)]
        assert solution.objective == pytest.approx(by_cvxpy(shifted, uncertainty, 2), abs=1e-6)
        assert problem.outcomes(solution.strategy)[0].payoff == pytest.approx(solution.lower, abs=1e-8)


def test_files_of_scenarios(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text('[scenarios]\nusual = "leduc:ranks=2"\ndear = "leduc:ranks=2,bet2=6"\n')
    problem = UncertainPayoffs(load_game("leduc:ranks=2"), "own.toml")
    assert list(problem.scenarios) == ["usual", "dear"]
    (tmp_path / "own.toml").write_text("[scenarios]\nusual = 3\n")
    with pytest.raises(InvalidGameError, match="scenario 'usual' is 3, expected a game"):
        UncertainPayoffs(load_game("kuhn"), "own.toml")
    (tmp_path / "own.toml").write_text('[scenarios]\nusual = "kuhn"\n[more]\n')
    with pytest.raises(InvalidGameError, match="unknown key 'more'"):
        UncertainPayoffs(load_game("kuhn"), "own.toml")
    with pytest.raises(InvalidGameError, match=r"none\.toml cannot be read"):
        UncertainPayoffs(load_game("kuhn"), "none.toml")
    (tmp_path / "own.toml").write_text("[scenarios\n")
    with pytest.raises(InvalidGameError, match=r"own\.toml is not a TOML file"):
        UncertainPayoffs(load_game("kuhn"), "own.toml")


def test_what_does_not_fit_is_refused():
    kuhn, larger = load_game("kuhn"), load_game("kuhn:cards=4")
    with pytest.raises(InvalidGameError, match="information sets or actions of player 0 in scenario 'kuhn:cards=4'"):
        solve(UncertainPayoffs(kuhn, [larger]))
    with pytest.raises(UnsupportedProblemError, match="there are no scenarios"):
        UncertainPayoffs(kuhn, [])
    with pytest.raises(UnknownGameError, match=r"scenario 'kunh': unknown game 'kunh' \(did you mean kuhn\?\)"):
        UncertainPayoffs(kuhn, ["kunh"])
    with pytest.raises(InvalidGameError, match="scenario '3' is 3, expected a Game"):
        UncertainPayoffs(kuhn, [3])
    with pytest.raises(InvalidGameError, match="expected games as scenarios, got 3"):
        UncertainPayoffs(kuhn, 3)
    with pytest.raises(UnsupportedProblemError, match="budget is given without intervals"):
        UncertainPayoffs(kuhn, [kuhn], budget=1)
    with pytest.raises(UnsupportedProblemError, match="expected one of scenarios, intervals, ellipsoid"):
        UncertainPayoffs(kuhn, [kuhn], uncertainty="box")
    with pytest.raises(UnsupportedProblemError, match="the intervals have 1,024 corners, expected at most 1,000"):
        solve(UncertainPayoffs(kuhn, [kuhn] * 10, uncertainty="intervals"))
    leduc = load_game("leduc:ranks=2")
    with pytest.raises(UnsupportedProblemError, match="more than 500 pure plans"):
        solve(UncertainPayoffs(leduc, [leduc], uncertainty="ellipsoid"))
    with pytest.raises(InvalidStrategyError, match="expected a strategy of player 0, got one of player 1"):
        UncertainPayoffs(kuhn, [kuhn]).outcomes(Strategy.uniform(kuhn, 1))
    sums = [matrix_game([[one]], [[1.0 - one]]) for one in (0.0, 2.0)]
    other = matrix_game([[0.0]], [[2.0]])
    solve(UncertainPayoffs(sums[0], [sums[1]]))
    with pytest.raises(UnsupportedProblemError, match=r"sum to 2, and those of .* to 1; expected equal sums"):
        solve(UncertainPayoffs(sums[0], {"other": other}))


def test_scenarios_of_the_same_name_are_kept_apart():
    problem = UncertainPayoffs(load_game("kuhn"), ["kuhn", "kuhn", "kuhn"])
    assert len(problem.scenarios) == len(set(problem.scenarios)) == 3
    assert all(isinstance(one, Game) for one in itertools.chain(problem.scenarios.values()))
