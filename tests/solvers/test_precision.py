"""Iterations in single precision: when they are chosen, and what they prove."""

import numpy as np
import pytest
from effort import few
from random_trees import seeded_tree, to_game

from treeplex import (
    CCFR,
    CFR,
    DCFR,
    ConstrainedNash,
    Game,
    Nash,
    PCFRPlus,
    SequenceForm,
    load_game,
    solve,
)
from treeplex.models.constraints import LinearConstraint, behaviour_bound, functional_bound
from treeplex.seqform.errors import UnknownMethodError, UnsupportedProblemError
from treeplex.solvers.regret.ccfr_bounds import ccfr_bounds
from treeplex.solvers.regret.kernel import Kernel
from treeplex.solvers.regret.layout import build_layout
from treeplex.solvers.regret.posing import kernel_for


def patrol(width=3):
    game = load_game(f"transit:width={width}")
    return ConstrainedNash(game, [functional_bound(game.functionals["risk"], at_most=0.1, name="risk")])


def number_of(method, problem, tol, curved=False):
    return kernel_for(method, problem.game.sequence_form, tol, curved).layout.number


def test_precision_is_chosen_by_size_and_tolerance():
    large, small = patrol(4), Nash(load_game("kuhn"))
    assert number_of(CCFR(), large, 1e-3) is np.float32
    assert number_of(CCFR(), large, 1e-6) is np.float64
    assert number_of(CCFR(), large, 0.0) is np.float64, "iterations requested by number are exact"
    assert number_of(CCFR(), large, 1e-3, curved=True) is np.float64
    assert number_of(CCFR(precision="single"), large, 1e-3, curved=True) is np.float64
    assert number_of(DCFR(), large, 1e-3) is np.float64
    assert number_of(DCFR(precision="auto"), small, 1e-3) is np.float64
    assert number_of(DCFR(precision="single"), small, 0.0) is np.float32


def test_tolerances_are_in_units_of_the_payoffs():
    form = load_game("transit:width=4").sequence_form
    factored = form.factored
    scaled = SequenceForm(form.treeplexes, factored=type(factored)(factored.left * 1e6, factored.right))
    assert kernel_for(CCFR(), scaled, 1e-3).layout.number is np.float64
    assert kernel_for(CCFR(), scaled, 1e3).layout.number is np.float32


@few
@pytest.mark.parametrize("scale", [1.0, 1e-5])
def test_tolerances_are_of_violations_too(scale):
    """Strategies are mended to meet hard constraints to round-off, in any units; what is paid is of payoffs."""
    game = load_game("transit:width=4")
    form, risk = game.sequence_form, functional_bound(game.functionals["risk"], at_most=0.1, name="risk")
    factored = type(form.factored)(form.factored.left * scale, form.factored.right)
    small = Game.from_sequence_form(SequenceForm(form.treeplexes, factored=factored))
    terms = dict(zip(risk.indices.tolist(), risk.coefficients.tolist(), strict=True))
    problem = ConstrainedNash(small, [LinearConstraint(risk.player, terms, risk.limit, "risk")])
    solution = solve(problem, CCFR(), tol=1e-4 * scale, max_iterations=10)
    assert solution.state.kernel.layout.number is np.float32
    assert solution.violation <= 1e-15
    for penalty, of_paid in ((scale, np.float32), (1e4 * scale, np.float64)):
        paid = ConstrainedNash(small, problem.constraints, penalty=penalty)
        found = solve(paid, CCFR(), tol=1e-4 * scale, max_iterations=10)
        assert found.state.kernel.layout.number is of_paid


def test_there_is_no_other_precision():
    with pytest.raises(
        UnknownMethodError, match="ccfr: precision = quarter; expected one of double, single, half, auto"
    ):
        CCFR(precision="quarter")


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("method", [CFR, DCFR, PCFRPlus])
def test_single_iterates_follow_double_ones(seed, method):
    """Until round-off has grown: a few iterations, on trees."""
    form = to_game(seeded_tree(seed)).sequence_form
    averages = []
    for number in (np.float64, np.float32):
        kernel = Kernel(build_layout(form, number))
        state = kernel.initial_state()
        kernel.run(state, method().local_rule, 12)
        assert state.arrays.plan.dtype == number
        vector = kernel.average(state)
        assert vector.dtype == np.float64
        averages.append(np.concatenate([kernel.layout.to_user(player, vector) for player in (0, 1)]))
    np.testing.assert_allclose(averages[1], averages[0], atol=2e-3)
    assert np.median(np.abs(averages[1] - averages[0])) < 1e-5


@pytest.mark.parametrize("name", ["leduc", "liars_dice", "goofspiel:cards=4"])
@pytest.mark.parametrize("method", [DCFR, PCFRPlus])
def test_single_precision_proves_its_answers(name, method):
    problem = Nash(load_game(name))
    solution = solve(problem, method(precision="single"), tol=1e-4)
    assert solution.status.is_success
    assert solution.exploitability <= 1e-4
    assert problem.certify(solution.profile).exploitability == solution.exploitability


def test_a_constrained_optimum_in_single_precision():
    exact = solve(patrol())
    for precision in ("single", "double"):
        solution = solve(patrol(), CCFR(precision=precision), tol=1e-4)
        assert solution.status.is_success
        assert solution.lower - 1e-12 <= exact.objective <= solution.upper + 1e-12
        assert solution.multipliers["risk"] == pytest.approx(exact.multipliers["risk"], abs=0.02)


def test_long_sums_do_not_err_to_one_side():
    """Plans added one by one to a sum in single precision left an exploitability of 8e-4 after so many iterations."""
    solution = solve(Nash(load_game("leduc")), PCFRPlus(precision="single"), tol=0.0, max_iterations=50_000)
    assert solution.exploitability < 1e-5


def test_sums_are_complete_at_every_iteration():
    kernel = Kernel(build_layout(load_game("kuhn").sequence_form, np.float32))
    state = kernel.initial_state()
    weights = 0.0
    for iteration in range(1, 200):
        kernel.run(state, PCFRPlus().local_rule, 1, growth=1e9)
        weights = weights * ((iteration - 1) / iteration) ** 2 + 1.0
        assert state.sums[kernel.layout.bases[0]] == pytest.approx(weights, rel=1e-5)


@pytest.mark.parametrize("scale", [1e-200, 1e-42, 1e42, 1e200])
def test_payoffs_may_be_larger_and_smaller_than_32_bits_hold(scale):
    kernel = Kernel(build_layout(SequenceForm.from_payoff_matrix(scale * np.eye(2)), np.float32))
    state = kernel.initial_state()
    tilt = kernel.layout.from_user(0, [0.0, scale, 0.0])
    kernel.run(state, CFR().local_rule, 1, tilt=tilt, scales=[0, 1])
    regrets = kernel.layout.to_user(0, state.arrays.regrets)
    np.testing.assert_allclose(regrets, [0.0, 0.5, -0.5])


def test_a_run_goes_on_in_the_other_precision():
    problem = patrol(4)
    rough = solve(problem, CCFR(), tol=1e-3)
    assert rough.state.kernel.layout.number is np.float32
    fine = solve(problem, CCFR(), tol=1e-6, start=rough, max_iterations=300)
    assert fine.state.kernel.layout.number is np.float64
    assert fine.history.iterations[0] == rough.iterations
    assert fine.history.exploitability[0] == pytest.approx(max(rough.gap, rough.violation), rel=1e-3)


def test_theorems_want_double_precision():
    game = load_game("kuhn")
    bluff = behaviour_bound(game, 0, "J_", "b", at_least=0.5, name="bluff")
    method = CCFR(base="cfr", updates="simultaneous", averaging="uniform", steps="decreasing", precision="single")
    solution = solve(ConstrainedNash(game, [bluff]), method, tol=0.0, max_iterations=100)
    with pytest.raises(UnsupportedProblemError, match='solve with precision="double"'):
        ccfr_bounds(solution, beta=10.0)
