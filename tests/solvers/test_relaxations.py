"""Limits that exclude each other: what is attainable, and how much to loosen, against scipy's linear programs."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from constrained_cases import KUHN, X, sequence
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from random_trees import to_game, trees
from scipy.optimize import linprog

from treeplex import ConstrainedNash, InvalidConstraintError, parse_constraint, solve
from treeplex.models.constraints import LinearConstraint, collect_constraints
from treeplex.models.problems import FeasibilityRelaxation
from treeplex.solvers.infeasibility import find_infeasibility
from treeplex.solvers.relaxations import find_relaxations


def least(treeplex, objective, rows, limits):
    """Return min objective · x over plans with rows · x ≤ limits; ``None`` if there are none."""
    given = {"A_ub": rows, "b_ub": limits} if len(rows) else {}
    found = linprog(objective, A_eq=treeplex.E.toarray(), b_eq=treeplex.e, **given)
    assert found.status in (0, 2)
    return found.fun if found.status == 0 else None


def are_met(treeplex, rows, limits):
    """Whether a plan violates no row by more than round-off."""
    slack = [*np.zeros(treeplex.num_sequences), 1.0]
    equal = np.hstack([treeplex.E.toarray(), np.zeros((treeplex.E.shape[0], 1))])
    found = linprog(slack, A_ub=np.hstack([rows, -np.ones((len(rows), 1))]), b_ub=limits, A_eq=equal, b_eq=treeplex.e)
    assert found.status == 0
    return found.fun <= 1e-8


@examples(40)
@given(trees(size=10), st.integers(0, 2**32), st.integers(2, 6))
def test_a_limit_loosened_by_what_is_stated_can_be_met_and_by_less_it_cannot(root, seed, count):
    game = to_game(root)
    rng = np.random.default_rng(seed)
    player = int(rng.integers(2))
    treeplex = game.sequence_form.treeplexes[player]
    sense = ["<=", ">="]
    drawn = [
        LinearConstraint(
            player,
            dict(enumerate(rng.normal(size=treeplex.num_sequences).tolist())),
            float(rng.normal()),
            name=str(place),
            sense=sense[int(rng.integers(2))],
        )
        for place in range(count)
    ]
    rows, limits = np.zeros((count, treeplex.num_sequences)), np.array([one.limit for one in drawn])
    for place, one in enumerate(drawn):
        rows[place, one.indices] = one.coefficients
    found = find_infeasibility(ConstrainedNash(game, drawn), relaxations=True)
    assert (found is None) == are_met(treeplex, rows, limits)
    if found is None:
        return
    conflict = [int(name) for name in found.conflict]
    assert not are_met(treeplex, rows[conflict], limits[conflict])
    for rest in map(list, combinations(conflict, len(conflict) - 1)):
        assert not rest or are_met(treeplex, rows[rest], limits[rest])
    together = np.array([0.0] * count)
    for relaxation in found.relaxations:
        place = int(relaxation.constraint)
        sign = 1.0 if drawn[place].sense == "<=" else -1.0
        others = [other for other in range(count) if other != place]
        assert relaxation.bound == drawn[place].bound
        assert relaxation.alone == pytest.approx(sign * least(treeplex, rows[place], [], []), abs=1e-8)
        together[place] = relaxation.change
        if relaxation.loosen is None:
            assert relaxation.together is None
            assert not are_met(treeplex, rows[others], limits[others])
            continue
        best = least(treeplex, rows[place], rows[others], limits[others])
        assert relaxation.together == pytest.approx(sign * best, abs=1e-6)
        step = relaxation.loosen * np.eye(count)[place]
        assert are_met(treeplex, rows, limits + (1 + 1e-6) * step)
        if relaxation.loosen > 1e-4:
            assert not are_met(treeplex, rows, limits + (1 - 1e-3) * step)
    assert set(found.conflict) <= {one.constraint for one in found.relaxations}
    assert are_met(treeplex, rows, limits + together + 1e-6 * np.abs(limits))
    sizes = np.abs([one.bound for one in drawn])
    soft = np.hstack([rows, -np.diag(sizes)])
    total = linprog(
        [*np.zeros(treeplex.num_sequences), *np.ones(count)],
        A_ub=soft,
        b_ub=limits,
        A_eq=np.hstack([treeplex.E.toarray(), np.zeros((treeplex.E.shape[0], count))]),
        b_eq=treeplex.e,
    )
    assert (together / sizes).sum() == pytest.approx(total.fun, rel=1e-6, abs=1e-6)


def test_two_conflicts_have_no_loosening_of_one_limit_alone():
    jack, king = X[sequence("J_", "b")], X[sequence("K_", "b")]
    limits = {"a": jack >= 0.8, "b": jack <= 0.4, "c": king >= 0.5, "d": king <= 0.4}
    found = solve(ConstrainedNash(KUHN, limits)).infeasibility
    assert len(found.conflict) == 2
    assert all(one.loosen is None and one.together is None for one in found.relaxations)
    changes = {one.constraint: one.change for one in found.relaxations if one.change}
    assert changes == pytest.approx({"a": 0.4, "c": 0.1})  # half of 0.8 is less than all of 0.4


def test_a_convex_limit_is_loosened_to_its_least_value_where_the_others_are_met():
    centre = KUHN.sequence_form.treeplexes[0].uniform_plan()
    limits = {"ball": cp.norm(X - centre) <= 0.1, "jack": X[sequence("J_", "b")] >= 0.9}
    ball, jack = find_relaxations(KUHN, 0, collect_constraints(limits, KUHN), ["ball", "jack"])
    plan = cp.Variable(len(centre), nonneg=True)
    treeplex = KUHN.sequence_form.treeplexes[0]
    nearest = cp.Problem(
        cp.Minimize(cp.norm(plan - centre)), [treeplex.E @ plan == treeplex.e, plan[sequence("J_", "b")] >= 0.9]
    )
    nearest.solve(solver="CLARABEL")
    assert ball.loosen == pytest.approx(nearest.value - 0.1, abs=1e-6)
    assert ball.bound is None
    assert jack.together == pytest.approx(0.9 - jack.loosen)
    assert 0.5 < jack.together < 0.6


def test_fractions_are_exact():
    limits = {"often": X[sequence("J_", "b")] >= 0.8, "seldom": X[sequence("J_", "b")] <= 0.4}
    found = solve(ConstrainedNash(KUHN, limits), "rational").infeasibility
    assert [(one.alone, one.together, one.loosen) for one in found.relaxations] == [(1.0, 0.4, 0.4), (0.0, 0.8, 0.4)]


def test_a_probability_at_an_infoset_that_can_be_avoided_has_no_attainable_value():
    texts = ["0/J_pb:b >= 0.8 as often", "0/J_pb:b <= 0.4 as seldom", "plan(0/J_:p) >= 0.5 as pass"]
    limits = [one for text in texts for one in parse_constraint(text, KUHN, player=0)]
    found = solve(ConstrainedNash(KUHN, limits)).infeasibility
    assert {one.bound for one in found.relaxations} == {None, 0.5}
    assert all(one.loosen > 0.0 for one in found.relaxations)


@pytest.mark.parametrize("given", [{"measure": "largest", "weights": {"a": 2.0}}, {"weights": {"b": 1.0}}])
def test_weights_are_checked(given):
    with pytest.raises(InvalidConstraintError, match="weights"):
        FeasibilityRelaxation(KUHN, 0, {"a": X[2] >= 0.5}, **given)


def test_weights_price_violations():
    limits = {"often": X[2] >= 0.7, "seldom": X[2] <= 0.4}
    soft = solve(FeasibilityRelaxation(KUHN, 0, limits, weights={"often": 3.0}))
    assert (soft.objective, soft.lower) == pytest.approx((0.3, 0.3))
    assert soft.certificate.violations["often"] == pytest.approx(0.0)
    hard = solve(FeasibilityRelaxation(KUHN, 0, limits, weights={"seldom": float("inf")}))
    assert hard.certificate.violations == pytest.approx({"often": 0.3, "seldom": 0.0})
