"""Exact answers: fractions on record, laws on random games, nasty numbers, and what is refused."""

import json
import math
import random
from decimal import Decimal
from fractions import Fraction

import flint
import numpy as np
import pytest
import scipy.sparse as sp
from effort import examples, few, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_trees import grow, to_game, trees

from treeplex import (
    BestResponse,
    EpsilonSafeResponse,
    Game,
    InvalidGameError,
    Nash,
    Rational,
    RestrictedNash,
    SequenceForm,
    SolverError,
    Status,
    Strategy,
    UnknownMethodError,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.programs.linear_program import ProgramBlocks
from treeplex.models.programs.rational_program import RationalProgram
from treeplex.models.programs.triplets import Triplets
from treeplex.seqform.rationals import (
    exact_best_response_value,
    exact_plan,
    exact_residual,
    fraction_text,
    intended_fraction,
    simplest_fraction,
)
from treeplex.solvers.exact.rational_linear_algebra import SingularMatrixError, SparseSystem
from treeplex.solvers.exact.rational_simplex import Ending, ExactSimplex, slack_basis
from treeplex.solvers.exact.rational_vertex import ExactProgram

KUHN, LEDUC = load_game("kuhn"), load_game("leduc")


def proven(problem, **options):
    """Solve exactly, and hold the answer to its own proof."""
    solution = solve(problem, "rational", **options)
    assert solution.status is Status.OPTIMAL
    exact = solution.exact
    assert exact.certificate.lower == exact.certificate.upper == exact.objective
    assert all(type(number) is Fraction for plan in exact.plans for number in plan)
    for player, (plan, strategy) in enumerate(zip(exact.plans, solution.profile, strict=True)):
        assert exact_residual(problem.game.sequence_form.treeplexes[player], plan) == 0
        np.testing.assert_allclose(plan.astype(float), strategy.plan, atol=1e-14)
    assert solution.objective == float(exact.objective)
    assert solution.value == exact.value
    return solution


# Values


@few
@pytest.mark.parametrize(
    ("spec", "value"),
    [
        ("kuhn", Fraction(-1, 18)),
        ("liars_dice", Fraction(1, 16)),
        ("liars_dice:wild=false", Fraction(-1, 8)),
        ("goofspiel:cards=4", 0),
        ("matching_pennies", 0),
        ("rps:rock=0.1,paper=1/3", 0),
        ("depth_limited_figure_2", Fraction(-4, 3)),
        ("depth_limited_figure_10", Fraction(1, 2)),
        ("coin", 0),
        ("gadget_trap_1", 0),
    ],
)
def test_values_are_the_fractions_on_record(spec, value):
    solution = proven(Nash(load_game(spec)))
    assert solution.value == value
    assert type(solution.value) is Fraction
    assert solution.exact.exploitability == 0


@thorough
def test_the_value_of_leduc_is_a_fraction():
    solution = proven(Nash(LEDUC))
    assert float(solution.value) == pytest.approx(-0.0856064240780, abs=5e-14)
    assert solution.value == Fraction(-1454920850547486749701863871533, 16995463438839962469905132501930)
    assert proven(Nash(load_game("leduc:merge_suits=true"))).value == solution.value


@pytest.mark.parametrize(
    ("player", "gained"),
    [pytest.param(0, "0.7076862403", marks=thorough), pytest.param(1, "0.7852484434", marks=pytest.mark.slow)],
)
def test_the_best_equilibrium_strategy_against_uniform_play_gains_what_is_on_record_to_the_last_digit(player, gained):
    solution = proven(EpsilonSafeResponse(LEDUC, Strategy.uniform(LEDUC, 1 - player), epsilon=0))
    assert f"{float(solution.exact.gain):.10f}" == gained
    assert solution.exact.exploitability == 0
    assert solution.exact.multipliers["safety"] > 100
    assert solution.player == player


@pytest.mark.parametrize(
    ("p", "objective", "gain", "exploitability"),
    [
        ("1/10", Fraction(-1, 30), Fraction(2, 9), 0),
        (Fraction(1, 4), Fraction(1, 72), Fraction(4, 9), Fraction(1, 18)),
        (0.5, Fraction(5, 36), Fraction(4, 9), Fraction(1, 18)),
        (Decimal("0.75"), Fraction(7, 24), Fraction(5, 9), Fraction(5, 18)),
        (0.95, Fraction(11, 24), Fraction(5, 9), Fraction(5, 18)),
        (1, Fraction(1, 2), Fraction(5, 9), None),
    ],
)
def test_restricted_nash_responses_in_kuhn_are_exact(p, objective, gain, exploitability):
    solution = proven(RestrictedNash(KUHN, Strategy.uniform(KUHN, 1), p=p))
    assert solution.exact.objective == objective
    assert solution.exact.gain == gain
    assert exploitability is None or solution.exact.exploitability == exploitability
    assert solution.gain == pytest.approx(float(gain), abs=1e-15)


def test_best_and_safe_responses_in_kuhn_are_exact():
    model = Strategy.uniform(KUHN, 1)
    best = proven(BestResponse(KUHN, model))
    assert (best.exact.objective, best.exact.gain) == (Fraction(1, 2), Fraction(5, 9))
    safe = proven(EpsilonSafeResponse(KUHN, model, epsilon="1/18"))
    assert (safe.exact.gain, safe.exact.exploitability) == (Fraction(4, 9), Fraction(1, 18))
    assert safe.exact.certificate.game_value == Fraction(-1, 18)


@pytest.mark.parametrize("seat", [0, 1])
def test_flows_and_factors_are_taken(seat):
    game = load_game("transit:width=2")
    assert float(proven(Nash(game)).value) == pytest.approx(-0.019618671, abs=5e-10)
    model = Strategy.uniform(game, seat)
    solution = proven(RestrictedNash(game, model, p=0.3))
    assert solution.objective == pytest.approx(solve(RestrictedNash(game, model, p=0.3)).objective, abs=1e-9)


def test_matrices_of_rounded_fractions_give_back_the_fractions():
    form = KUHN.sequence_form
    again = Game.from_sequence_form(SequenceForm(form.treeplexes, payoff_matrices=[form.A, -form.A]))
    assert proven(Nash(again)).value == Fraction(-1, 18)


# Laws


def zero_sum(game):
    form = game.sequence_form
    if form.is_zero_sum:
        return game
    return Game.from_sequence_form(SequenceForm(form.treeplexes, payoff_matrices=[form.A, -form.A]))


@examples(30)
@given(trees(num_players=2), st.fractions(0, 1, max_denominator=7), st.integers(0, 1))
def test_random_games_have_the_values_that_floats_find(tree, p, seat):
    game = zero_sum(to_game(tree))
    scale = game.sequence_form.payoff_scale
    nash = proven(Nash(game))
    assert float(nash.value) == pytest.approx(solve(Nash(game), "highs-simplex").value, abs=1e-9 * scale)
    model = Strategy.uniform(game, seat)
    restricted = proven(RestrictedNash(game, model, p=p))
    floats = solve(RestrictedNash(game, model, p=p), "highs-simplex")
    assert float(restricted.exact.objective) == pytest.approx(floats.objective, abs=1e-9 * scale)
    # Exactly, with no tolerance: no response is worth more than the best one, nor less than an equilibrium's.
    best = proven(BestResponse(game, model))
    own_value = nash.value if seat == 1 else -nash.value
    assert own_value <= restricted.exact.objective <= best.exact.objective
    assert (1 - p) * restricted.exact.exploitability <= p * restricted.exact.gain


@examples(30)
@given(trees(num_players=2), st.integers(0, 1), st.integers(1, 9))
def test_every_strategy_bounds_the_value_exactly(tree, seat, weight):
    game = zero_sum(to_game(tree))
    value = proven(Nash(game)).value
    problem = Nash(game)
    plans = []
    for treeplex in game.sequence_form.treeplexes:
        weights = np.arange(treeplex.num_sequences, dtype=float) % weight + 1.0
        plans.append(exact_plan(treeplex, weights))
    certificate = problem.certify_exact(plans, {}, {})
    assert certificate.residual == 0
    assert certificate.lower <= value <= certificate.upper


def noisy_tree(seed, noise, spread):
    """Grow a tree whose payoffs are small integers, give or take one part in ``noise``, times powers of ten."""
    source = random.Random(seed)

    def payoffs():
        payoff = Fraction(source.randint(-2, 2))
        if noise:
            payoff += Fraction(source.randint(-1000, 1000), 1000 * noise)
        if spread:
            payoff *= Fraction(10) ** source.randint(-9, 9)
        return (payoff, -payoff)

    return grow(source.randint, payoffs, 2, 6, 40)


@pytest.mark.parametrize("noise", [0, 10**8, 10**12, 10**17, 10**25])
@pytest.mark.parametrize("spread", [False, True], ids=["alike", "from 1e-9 to 1e9"])
def test_ties_that_floats_cannot_tell_apart_are_settled(noise, spread):
    for seed in range(4):
        proven(Nash(to_game(noisy_tree(seed, noise, spread))))


def test_what_is_not_proven_exactly_is_not_called_exact(monkeypatch):
    from treeplex.solvers.exact import rational_solve

    monkeypatch.setattr(rational_solve, "EXACT_WORK", 0)
    statuses = set()
    for seed in range(10):
        solution = solve(Nash(to_game(noisy_tree(seed, 10**12, spread=False))), "rational")
        statuses.add(solution.status)
        if solution.exact is None:
            assert type(solution.value) is float
            assert solution.to_dict()["value_exact"] is None
            assert solution.exploitability < 1e-7  # the answer in floats is as good as another method's
            assert solution.message.startswith("no exact proof was found")
    assert statuses == {Status.OPTIMAL, Status.UNCERTIFIED}


@pytest.mark.parametrize("above", [1, Fraction(1, 10**20)])
def test_what_is_infeasible_by_a_hair_is_infeasible(above):
    problem = EpsilonSafeResponse(KUHN, Strategy.uniform(KUHN, 1), epsilon=0, game_value=Fraction(-1, 18) + above)
    with pytest.raises(SolverError, match="infeasible, proven in fractions"):
        solve(problem, "rational")


@examples(200)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_simplest_fraction_rounds_to_its_float(number):
    found = simplest_fraction(number)
    assert float(found) == number
    assert found.denominator <= max(1, Fraction(number).denominator)
    assert float(intended_fraction(number)) == number


@examples(200)
@given(st.fractions(-10, 10, max_denominator=10**7))
def test_fractions_come_back_from_floats(fraction):
    assert simplest_fraction(float(fraction)) == fraction


@examples(200)
@given(st.floats(1e-6, 1e6))
def test_no_fraction_of_smaller_denominator_rounds_to_the_float(number):
    found = simplest_fraction(number)
    if found.denominator > 1 and math.frexp(number)[0] != 0.5:  # at powers of two the interval leans to one side
        assert float(Fraction(number).limit_denominator(found.denominator - 1)) != number


# Parts


def test_triplets_do_what_matrices_do():
    rng = np.random.default_rng(1)
    dense = rng.integers(-3, 4, size=(4, 6)) / 4.0
    matrix = Triplets.of(sp.csr_array(dense))
    vector = rng.integers(-3, 4, size=6) / 8.0
    assert (matrix @ vector).astype(float).tolist() == (dense @ vector).tolist()
    assert (matrix.T * Fraction(1, 2)).to_sparse().toarray().tolist() == (dense.T / 2).tolist()
    twice = Triplets((1, 1), np.zeros(2, dtype=int), np.zeros(2, dtype=int), (matrix @ vector)[:2])
    assert twice.compressed().values.tolist() == [sum((matrix @ vector)[:2])]


def test_exact_and_float_programs_are_laid_out_alike():
    blocks = {exact: ProgramBlocks(exact) for exact in (False, True)}
    for one in blocks.values():
        one.add_columns("x", 2, objective=[Fraction(1, 3), 0.5], lower=0)
        one.add_rows("sum", {"x": Triplets.of(np.array([[0.1, 0.0]]))}, upper=Fraction(2, 3))
        one.add_rows("both", {"x": sp.csr_array([[1.0, 2.0]])}, lower=0.1, upper=np.inf)
    floats, exact = blocks[False].program(maximise=True), RationalProgram.of_blocks(blocks[True], maximise=True)
    assert (floats.columns, floats.rows) == (exact.columns, exact.rows)
    assert exact.matrix.values.tolist() == [Fraction(1, 10), 1, 2]
    assert exact.row_lower.tolist() == [-math.inf, Fraction(1, 10)]
    rounded = exact.to_floats()
    for name in ("objective", "row_lower", "row_upper", "column_lower", "column_upper"):
        assert getattr(rounded, name).tolist() == getattr(floats, name).tolist()
    assert (rounded.matrix != floats.matrix).nnz == 0


def test_problems_write_the_same_program_in_floats_and_fractions():
    model = Strategy.uniform(KUHN, 0)
    for problem in (
        Nash(KUHN),
        BestResponse(KUHN, model),
        RestrictedNash(KUHN, model, p=0.25),
        EpsilonSafeResponse(KUHN, model, epsilon=0.1, game_value="1/18"),
    ):
        floats, exact = problem.linear_program(), problem.rational_program()
        assert (floats.shape, floats.columns, floats.rows) == (exact.shape, exact.columns, exact.rows)
        assert floats.matrix.indices.tolist() == exact.matrix.to_sparse().indices.tolist()


@examples(60)
@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_sparse_systems_are_solved_exactly_both_ways(size, seed):
    rng = np.random.default_rng(seed)
    dense = rng.integers(-3, 4, size=(size, size)) * (rng.random((size, size)) < 3 / size)
    rows, columns = np.nonzero(dense)
    right = [flint.fmpq(int(number), 7) for number in rng.integers(-5, 6, size)]
    values = [flint.fmpz(int(number)) for number in dense[rows, columns]]
    singular = flint.fmpz_mat(size, size, dense.ravel().tolist()).det() == 0
    try:
        system = SparseSystem(size, rows, columns, values)
        found, transposed = system.solve(right), system.solve_transposed(right)
    except SingularMatrixError:
        assert singular
        return
    assert not singular
    matrix = flint.fmpq_mat(flint.fmpz_mat(size, size, dense.ravel().tolist()))
    assert (matrix * flint.fmpq_mat(size, 1, found)).entries() == right
    assert (matrix.transpose() * flint.fmpq_mat(size, 1, transposed)).entries() == right


def small_program(rows, *, objective=(1, 1), lower=0, upper=math.inf):
    blocks = ProgramBlocks(exact=True)
    blocks.add_columns("x", 2, objective=list(objective), lower=lower, upper=upper)
    for number, (coefficients, least, most) in enumerate(rows):
        blocks.add_rows(str(number), {"x": sp.csr_array([coefficients])}, lower=least, upper=most)
    return ExactProgram(RationalProgram.of_blocks(blocks, maximise=True))


@pytest.mark.parametrize(
    ("program", "ending"),
    [
        (small_program([([1.0, 3.0], -math.inf, 1)]), Ending.OPTIMAL),
        (small_program([([1.0, 3.0], 2, 2), ([1.0, -1.0], 0, 0)], lower=-math.inf), Ending.OPTIMAL),
        (small_program([([1.0, 1.0], 3, 5)], upper=2, objective=(-1, -2)), Ending.OPTIMAL),
        (small_program([([1.0, -1.0], -math.inf, 1)]), Ending.UNBOUNDED),
        (small_program([([1.0, 1.0], -math.inf, -1)]), Ending.INFEASIBLE),
        (small_program([([1.0, -1.0], 1, 1), ([1.0, -1.0], 2, 2)], lower=-math.inf), Ending.INFEASIBLE),
    ],
)
def test_the_exact_simplex_method_ends_as_it_should(program, ending):
    simplex = ExactSimplex(program, slack_basis(program))
    assert simplex.run(lambda: simplex.iterations > 50) is ending
    if ending is Ending.OPTIMAL:
        assert program.vertex(simplex.basis).optimal


def test_the_exact_simplex_method_solves_games_from_nothing():
    program = Nash(KUHN).rational_program()
    exact = ExactProgram(program)
    simplex = ExactSimplex(exact, slack_basis(exact))
    assert simplex.run(lambda: simplex.iterations > 500) is Ending.OPTIMAL
    point = exact.vertex(simplex.basis)
    assert point.optimal
    assert sum(cost * place for cost, place in zip(exact.costs, point.columns, strict=True)) == flint.fmpq(1, 18)


def test_exact_plans_and_best_responses_are_those_of_floats_rounded():
    game = load_game("transit:width=2")
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        strategy = Strategy.uniform(game, player)
        plan = exact_plan(treeplex, strategy.behaviour)
        assert exact_residual(treeplex, plan) == 0
        np.testing.assert_allclose(plan.astype(float), strategy.plan, atol=1e-15)
    row = exact_plan(KUHN.sequence_form.treeplexes[0], Strategy.uniform(KUHN, 0).behaviour)
    assert exact_best_response_value(KUHN.sequence_form.treeplexes[0], row * 0) == 0


# What is reported, and what is refused


def test_what_is_reported_is_a_number_and_a_fraction():
    solution = solve(Nash(KUHN), Rational())
    record = json.loads(solution.to_json())
    assert record["value"] == pytest.approx(-1 / 18, abs=1e-16)
    assert record["value_exact"] == "-1/18"
    assert "-1/18 = -0.0555555556 to player 0" in str(solution)
    assert "value -1/18" in repr(solution)
    assert json.loads(solve(Nash(KUHN)).to_json())["value_exact"] is None
    assert solve(Nash(KUHN)).exact is None


def test_fractions_of_any_length_are_printed():
    long = Fraction(10**5000 + 1, 3)  # Python's own conversion refuses more than 4,300 digits
    assert len(fraction_text(long)) == 5003
    assert fraction_text(long, 24) == "100000000000…000000000001 (5,001 digits)/3"


def test_limits_are_kept():
    assert solve(Nash(LEDUC), "rational", max_iterations=10).status is Status.ITERATION_LIMIT
    # The game is built by now: no limit holds within that, but for an error.
    assert solve(Nash(LEDUC), "rational", time_limit=0).status is Status.TIME_LIMIT


def test_games_that_are_too_large_are_refused_before_they_are_built():
    with pytest.raises(UnsupportedProblemError, match=r"goofspiel:cards=5 has 3,346 .* too many for method rational"):
        solve(Nash(load_game("goofspiel:cards=5")), Rational(largest=3_000))
    with pytest.raises(UnknownMethodError, match="largest = 0; expected an integer of at least 1"):
        Rational(largest=0)


@pytest.mark.parametrize(
    "p", ["half", "1e999999999", "1/0", "nan", "2/1", Decimal("inf"), Decimal("1e999999999"), True]
)
def test_what_is_no_number_is_refused(p):
    with pytest.raises(InvalidGameError, match="expected a number from 0 to 1"):
        RestrictedNash(KUHN, Strategy.uniform(KUHN, 1), p=p)


def test_three_players_are_refused():
    with pytest.raises(UnsupportedProblemError, match="rational cannot solve nash with more than two players"):
        solve(Nash(load_game("kuhn:players=3")), "rational")
