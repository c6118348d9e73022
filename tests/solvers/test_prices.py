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
    Status,
    Strategy,
    load_game,
    solve,
)
from treeplex.models.constraints import LinearConstraint, parse_constraint

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
    found = solve(ConstrainedNash(game, changed), "rational")
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
@pytest.mark.parametrize("method", ["rational", "highs", "exact"])
def test_prices_are_one_sided_differences(method):
    compared = 0
    for seed in range(soaked(3)):
        game, constraints = constrained(seed)
        if not constraints:
            continue
        found = solve(ConstrainedNash(game, constraints), method)
        if found.status is not Status.OPTIMAL:
            continue
        assert set(found.prices) == set(found.multipliers), seed
        for name, price in found.prices.items():
            earned, cost = (slope(game, constraints, name, side) for side in (1, -1))
            if "curved" in (earned, cost):
                continue
            compared += 1
            assert found.multipliers[name] == price.loosening
            assert price.loosening == pytest.approx(float(earned), abs=1e-6, rel=1e-6), (seed, name)
            if cost is None:
                assert price.tightening is None, (seed, name)
            else:
                assert price.tightening == pytest.approx(float(cost), abs=1e-6, rel=1e-6), (seed, name)
    assert compared


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
    assert "a multiplier, which need not be unique" in str(found)


def test_multipliers_that_prove_the_bounds_are_kept():
    game = load_game("kuhn")
    texts = ("0/J_:b <= 0", "0/K_:b <= 0.5", "0/Q_pb:b >= 0.6")
    problem = ConstrainedNash(game, [each for text in texts for each in parse_constraint(text, game)])
    found = solve(problem)
    again = problem.certify(found.profile, found.dual_multipliers)
    assert np.isclose(again.upper, found.upper)
    assert again.gap <= found.tolerance
