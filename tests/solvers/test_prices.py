"""Prices of constraints are one-sided derivatives: held to exact differences in fractions, and to values by hand."""

import random
from fractions import Fraction

import numpy as np
import pytest
from effort import soaked
from random_trees import grow, to_game

from treeplex import (
    ConstrainedNash,
    EpsilonSafeResponse,
    Game,
    SequenceForm,
    SolverError,
    Status,
    Strategy,
    load_game,
    solve,
)
from treeplex.models.constraints import LinearConstraint, parse_constraint
from treeplex.solvers.parametric import prices
from treeplex.solvers.solve import solve_part

METHODS = ("rational", "highs", "exact")
STEPS = (Fraction(1, 10**5), Fraction(1, 10**6))


def constrained(seed):
    """Return a random tree of coarse payoffs, whose optima are degenerate, with one or two constraints."""
    source = random.Random(seed)

    def payoffs():
        paid = Fraction(source.randint(-3, 3))
        return (paid, -paid)

    game = to_game(grow(source.randint, payoffs, 2, 4, 12))
    constraints = []
    for number in range(source.randint(1, 2)):
        player = source.randint(0, 1)
        size = game.sequence_form.treeplexes[player].num_sequences
        if size == 1:
            continue
        terms = {one: Fraction(source.randint(-2, 2)) for one in source.sample(range(1, size), min(size - 1, 3))}
        plan = game.sequence_form.treeplexes[player].uniform_plan()
        here = sum(share * intended(plan[one]) for one, share in terms.items())
        bound = here + source.choice((0, 0, Fraction(1, 8)))
        if any(terms.values()):
            constraints.append(LinearConstraint(player, terms, bound, name=f"limit {number}"))
    return game, constraints


def intended(number):
    return Fraction(float(number)).limit_denominator(10**6)


def moved(game, constraints, name, amount):
    """Return what the constraint's own player is paid at the optimum when it is loosened, in fractions."""
    changed = [
        LinearConstraint(one.player, one.terms, one.bound + amount, name=one.name) if one.name == name else one
        for one in constraints
    ]
    found = solve_part(ConstrainedNash(game, changed), "rational")
    if found.status is Status.INFEASIBLE:
        return None
    player = next(one.player for one in constraints if one.name == name)
    return found.exact.objective * (1 if player == 0 else -1)


def slope(game, constraints, name, side):
    """Return the exact difference quotient over two short steps, if it is the same over both: then it is the slope."""
    here = moved(game, constraints, name, 0)
    there = [moved(game, constraints, name, side * step) for step in STEPS]
    if None in there:
        return None
    found = [side * (each - here) / step for each, step in zip(there, STEPS, strict=True)]
    return found[0] if found[0] == found[1] else "curved"


@pytest.mark.soak
def test_prices_are_one_sided_differences():
    compared = 0
    for seed in range(soaked(3)):
        compared += compare(*constrained(seed), seed)
    assert compared


def compare(game, constraints, seed):
    """Hold the prices of every exact method to exact differences; return how many constraints had a slope."""
    compared, slopes = 0, {}
    for method in METHODS if constraints else ():
        found = solve(ConstrainedNash(game, constraints), method)
        if found.status is not Status.OPTIMAL:
            continue
        assert set(found.prices) == set(found.multipliers), (seed, method, found.message)
        for name, price in found.prices.items():
            if name not in slopes:
                slopes[name] = [slope(game, constraints, name, side) for side in (1, -1)]
            earned, cost = slopes[name]
            if "curved" in (earned, cost):
                continue
            compared += 1
            assert found.multipliers[name] == price.loosening
            assert price.loosening == pytest.approx(float(earned), abs=1e-6, rel=1e-6), (seed, name, method)
            if cost is None:
                assert price.tightening is None, (seed, name, method)
            else:
                assert price.tightening == pytest.approx(float(cost), abs=1e-6, rel=1e-6), (seed, name, method)
    return compared


@pytest.mark.parametrize("method", ["highs", "highs-ipm", "exact", "rational"])
def test_a_bound_that_an_equilibrium_meets_at_a_corner_has_no_price(method):
    # Kuhn poker has an equilibrium in which the jack never bets, so that forbidding it costs nothing.
    game = load_game("kuhn")
    found = solve(ConstrainedNash(game, parse_constraint("0/J_:b <= 0", game)), method)
    assert found.multipliers["0/J_:b <= 0"] == pytest.approx(0.0, abs=1e-9)
    assert found.prices["0/J_:b <= 0"].tightening is None
    assert "not possible" in str(found)
    assert found.to_dict()["prices"]["0/J_:b <= 0"]["tightening"] is None


def test_both_ends_of_a_kink_are_told():
    # By hand: rows pay 0 and 1 in the first column and 1 and 0 in the second. Bounded by x(row 0) <= h, player 0
    # is sure of min(h, 1 - h) at best: h up to 1/2, and 1/2 beyond. At 1/2 loosening earns 0, tightening costs 1.
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[1, 0], [0, 1]]))
    for method in ("highs", "rational"):
        found = solve(ConstrainedNash(game, [LinearConstraint(0, {1: 1}, Fraction(1, 2), name="top")]), method)
        assert found.prices["top"].loosening == pytest.approx(0.0, abs=1e-9)
        assert found.prices["top"].tightening == pytest.approx(1.0)


def test_the_price_of_safety_has_two_ends_where_it_changes():
    # The value function of this example is in the docstring of parametric_value: it bends at 1/18 from 4 to 1/2.
    game = load_game("kuhn")
    found = solve(EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=Fraction(1, 18)), "rational")
    assert (found.prices["safety"].loosening, found.prices["safety"].tightening) == (0.5, 4.0)


def test_a_multiplier_of_an_iterative_method_is_called_one():
    game = load_game("kuhn")
    found = solve(ConstrainedNash(game, parse_constraint("0/K_:b <= 0.5", game)), "ccfr", tol=1e-2)
    assert not found.prices
    assert "a multiplier, which may not be unique" in str(found)


def test_multipliers_that_prove_the_bounds_are_kept():
    game = load_game("kuhn")
    texts = ("0/J_:b <= 0", "0/K_:b <= 0.5", "0/Q_pb:b >= 0.6")
    problem = ConstrainedNash(game, [each for text in texts for each in parse_constraint(text, game)])
    found = solve(problem)
    again = problem.certify(found.profile, found.dual_multipliers)
    assert np.isclose(again.upper, found.upper)
    assert again.gap <= found.tolerance


def test_prices_of_both_players_agree_with_the_swapped_seat():
    """A constraint of player 1 is a column of the program, and a row of that from the other seat: one range."""
    game = load_game("kuhn")
    bounds = [*parse_constraint("1/J_p:b <= 0.2", game), *parse_constraint("1/Q_b:b <= 1/3", game)]
    found = solve(ConstrainedNash(game, bounds))
    exact = solve(ConstrainedNash(game, bounds), "rational")
    for name, price in found.prices.items():
        assert price.loosening == pytest.approx(exact.prices[name].loosening, abs=1e-9)
        assert price.tightening == pytest.approx(exact.prices[name].tightening, abs=1e-9)
        for side, end in ((1, price.loosening), (-1, price.tightening)):
            assert float(slope(game, bounds, name, side)) == pytest.approx(end, abs=1e-9)


@pytest.mark.parametrize("interior", [True, False])
def test_interior_point_and_simplex_find_the_same_prices(monkeypatch, interior):
    game = load_game("kuhn")
    texts = ("0/J_:b <= 0", "0/K_:b <= 0.5", "1/J_p:b <= 0.2", "1/Q_b:b <= 0.3")
    problem = ConstrainedNash(game, [each for text in texts for each in parse_constraint(text, game)])
    expected = solve(problem).prices
    if interior:
        monkeypatch.setattr(prices._Optimum, "_run", lambda self, solver: None)
    else:
        monkeypatch.setattr(prices, "_INTERIOR", 0)
    found = solve(problem).prices
    assert set(found) == set(expected)
    for name, price in expected.items():
        assert found[name].loosening == pytest.approx(price.loosening, abs=1e-6)
        assert found[name].tightening == (price.tightening and pytest.approx(price.tightening, abs=1e-6))


@pytest.mark.parametrize("error", [ValueError("a bug"), ZeroDivisionError(), MemoryError(), SolverError("stuck")])
def test_whatever_fails_about_prices_leaves_the_answer_and_is_told(monkeypatch, error):
    def fails(solution):
        raise error

    monkeypatch.setattr(prices, "one_sided_prices", fails)
    game = load_game("kuhn")
    found = solve(ConstrainedNash(game, parse_constraint("0/J_:b <= 0", game)))
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(-1 / 18)
    assert not found.prices
    assert "could not determine the prices of the constraints: " in found.message
    assert (str(error) or {MemoryError: "out of memory"}.get(type(error), type(error).__name__)) in found.message


@pytest.mark.parametrize("method", METHODS)
def test_prices_that_the_time_did_not_suffice_for_are_told(monkeypatch, method):
    game = load_game("kuhn")
    bounds = [*parse_constraint("0/J_:b >= 0.4", game), *parse_constraint("1/J_p:b >= 0.5", game)]
    problem = ConstrainedNash(game, bounds)
    whole = solve(problem, method)
    sought = []
    for optimum in (prices._Optimum, prices._ExactOptimum):
        monkeypatch.setattr(optimum, "multiplier", until(2, optimum.multiplier, sought))
    monkeypatch.setattr(prices, "seconds_left", lambda: 0.0 if len(sought) > 2 else 60.0)
    found = solve(problem, method)
    missing = set(whole.prices) - set(found.prices)
    assert len(missing) == 1
    assert found.status is Status.OPTIMAL
    assert {name: whole.prices[name] for name in found.prices} == dict(found.prices)
    assert "could not determine the prices of the constraints: time limit reached" in found.message
    assert f"the price of {missing.pop()} was being computed" in found.message
    assert not whole.message or "not known" not in whole.message


def until(count, ask, asked):
    """Return a function that answers so many times, and then finds nothing."""

    def answer(*arguments):
        asked.append(arguments)
        return ask(*arguments) if len(asked) <= count else None

    return answer


def test_what_fails_about_infeasibility_leaves_the_strategies_and_is_told(monkeypatch):
    def fails(*arguments, **options):
        raise ValueError("a bug")

    monkeypatch.setattr("treeplex.solvers.infeasibility.find_infeasibility", fails)
    game = load_game("kuhn")
    bounds = [*parse_constraint("0/J_:b >= 0.501", game), *parse_constraint("0/J_:b <= 0.5", game)]
    found = solve(ConstrainedNash(game, bounds), "ccfr", tol=1e-4, max_iterations=100)
    assert found.status is Status.ITERATION_LIMIT
    assert "could not determine whether the constraints can be met: unexpected ValueError: a bug" in found.message


def test_prices_of_several_constraints_are_not_multipliers_of_one_proof():
    # By hand: x1 + x2 = 1 in the first row's place of both columns. Of two rows that say the same, each is worth
    # nothing when it alone is loosened; together they are worth 1.
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[1, 1], [0, 0]]))
    twins = [LinearConstraint(0, {1: 1}, Fraction(1, 4), name=name) for name in ("one", "two")]
    problem = ConstrainedNash(game, twins)
    for method in ("highs", "rational", "exact"):
        found = solve(problem, method)
        assert found.multipliers == {"one": pytest.approx(0.0), "two": pytest.approx(0.0)}
        assert sum(found.dual_multipliers.values()) == pytest.approx(1.0)
        assert [found.prices[name].tightening for name in ("one", "two")] == pytest.approx([1.0, 1.0])
        assert problem.certify(found.profile, found.dual_multipliers).upper == pytest.approx(0.25)
        assert problem.certify(found.profile, found.multipliers).upper == pytest.approx(1.0)
        assert found.to_dict()["dual_multipliers"] == dict(found.dual_multipliers)
