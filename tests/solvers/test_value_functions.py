"""Value functions below the depth limit of steps: what they answer, and what the steps that ask them prove."""

import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from effort import examples, few, some, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_trees import seeded_tree, to_game

from treeplex import CDBR, CDBRNE, CDRNR, SES, Status, Strategy, UnknownMethodError, load_game, solve
from treeplex.models.depth_limited import GADGETS, LeafStates, depth_limit
from treeplex.seqform.errors import (
    GameFileError,
    InvalidGameError,
    MissingExtraError,
    SolverError,
    UnsupportedProblemError,
)
from treeplex.seqform.polytope import infoset_values, sequence_values
from treeplex.solvers import CFRValue, DepthLimitedCFR, LinearValue, NetworkValue
from treeplex.solvers.depth_limited import CallableValue
from treeplex.solvers.depth_limited.learned_values import load_value
from treeplex.solvers.depth_limited.linear_programs import ProgramStepSolver
from treeplex.solvers.depth_limited.regret_steps import best_iterate_bound
from treeplex.solvers.depth_limited.value_steps import TrunkLoop, ValueStepSolver
from treeplex.solvers.iteration import iterate
from treeplex.solvers.methods import find_method
from treeplex.solvers.opponents.strategies import opponent_strategy
from treeplex.solvers.outcome import Options
from treeplex.solvers.regret.ccfr_theorems import payoff_range

KUHN = load_game("kuhn")
LEDUC = load_game("leduc:merge_suits=true")


def nothing(border, ranges):
    return 0.0 * ranges[0], 0.0 * ranges[1]


def border_at(game, level):
    return LeafStates.of(game, game.public_tree.levels <= level)


def value_of_rest(border, ranges):
    """Return what the rest is worth to player 0 by the linear program, and both players' exact values there."""
    from scipy.optimize import linprog

    own, other = border.rest
    ways = border.num_ways[0]
    # max over x of f · q with x the plan, its weights at the ways in given, and q what the other player leaves.
    flow = own.E.toarray()[1 + ways :]
    count, infosets = own.num_sequences, other.num_infosets
    response = np.hstack([-border.payoffs.toarray().T[1:], other.E.toarray().T[1:, 1:]])
    bounds = [(0.0, 0.0), *[(w, w) for w in ranges[0]], *[(0.0, None)] * (count - 1 - ways), *[(None, None)] * infosets]
    costs = np.zeros(count + infosets)
    costs[count : count + border.num_ways[1]] = ranges[1]
    found = linprog(
        -costs,
        A_ub=response,
        b_ub=np.zeros(len(response)),
        A_eq=np.hstack([flow, np.zeros((len(flow), infosets))]) if len(flow) else None,
        b_eq=np.zeros(len(flow)) if len(flow) else None,
        bounds=bounds,
    )
    assert found.success
    return -found.fun


def spans(game):
    return float(np.ptp(game.sequence_form.leaves.payoffs[:, 0]))


@pytest.mark.parametrize("spec", ["kuhn", "leduc:merge_suits=true", "goofspiel:cards=4", "liars_dice"])
def test_a_border_splits_payoffs_into_those_above_and_those_below(spec):
    game = load_game(spec)
    form, public = game.sequence_form, game.public_tree
    generator = np.random.default_rng(0)
    plans = [
        treeplex.plan(treeplex.behaviour(generator.random(treeplex.num_sequences))) for treeplex in form.treeplexes
    ]
    total = plans[0] @ form.A @ plans[1]
    for level in range(public.num_levels - 1):
        border = border_at(game, level)
        rests = []
        for player in (0, 1):
            weights = plans[player][border.way_sequences[player]]
            inner = plans[player][border.sequences[player]]
            rests.append(np.concatenate([[0.0], weights, inner]))
        above = public.levels[public.leaf_states] <= level
        table = form.leaves
        reach = table.chance * plans[0][table.sequences[:, 0]] * plans[1][table.sequences[:, 1]]
        kept = reach[above] @ table.payoffs[above, 0]
        assert kept + rests[0] @ border.payoffs @ rests[1] == pytest.approx(total)


@pytest.mark.parametrize("method", ["cfr+", "pcfr+", "dcfr", "cfr"])
@pytest.mark.parametrize("spec", ["kuhn", "leduc:merge_suits=true"])
def test_values_bracket_the_value_of_the_rest_and_come_to_it(spec, method):
    game = load_game(spec)
    border = border_at(game, 1)
    generator = np.random.default_rng(3)
    for _ in range(3):
        ranges = tuple(generator.dirichlet(np.ones(ways)) for ways in border.num_ways)
        exact = value_of_rest(border, ranges)
        errors = []
        for iterations in (10, 100, 1000):
            answer = CFRValue(iterations, method).query(border, ranges)
            assert ranges[0] @ answer.values[0] >= exact - 1e-9
            assert -(ranges[1] @ answer.values[1]) <= exact + 1e-9
            errors.append(answer.error)
        assert errors[2] < 0.2 * errors[0] + 1e-9
        assert errors[2] < 0.01


def test_values_of_a_way_that_nobody_takes_are_those_of_a_best_reply():
    border = border_at(KUHN, 1)  # passed and bet: player 0 folds or calls
    cards = [[label[0][0] for label in border.way_labels(player)] for player in (0, 1)]
    bets = np.array([{"J": 1.0, "Q": 0.0, "K": 1.0}[card] for card in cards[1]])
    has = np.array([{"J": 1.0, "Q": 0.0, "K": 0.0}[card] for card in cards[0]])
    answer = CFRValue(100).query(border, (has, bets))
    values = dict(zip(cards[0], answer.values[0], strict=True))
    # Each deal has probability 1/6. The queen, which its range has not, wins 2 of the jack and loses 2 to the king by
    # calling, and 1 to both by folding; the king wins 2 of the jack; the jack folds, and loses 1 to the king.
    assert values == pytest.approx({"J": -1 / 6, "Q": 0.0, "K": 2 / 6})


def test_values_scale_with_the_other_players_range():
    border = border_at(LEDUC, 1)
    ranges = tuple(np.linspace(0.1, 1.0, ways) for ways in border.num_ways)
    one = CFRValue(200).query(border, ranges)
    two = CFRValue(200).query(border, (3.0 * ranges[0], 0.5 * ranges[1]))
    # Best replies are ties at the end, and round-off decides them.
    assert np.allclose(two.values[0], 0.5 * one.values[0], atol=one.error)
    assert np.allclose(two.values[1], 3.0 * one.values[1], atol=one.error)
    assert 0.5 < two.error / (1.5 * one.error) < 2.0


def test_a_warm_query_is_better_than_a_cold_one_and_a_known_one_is_remembered():
    border = border_at(LEDUC, 1)
    ranges = tuple(np.linspace(0.1, 1.0, ways) for ways in border.num_ways)
    near = (ranges[0] * 1.01, ranges[1])
    warm, cold = CFRValue(20), CFRValue(20, warm=False)
    for value in (warm, cold):
        for _ in range(20):
            first = value.query(border, ranges)
    assert (warm.queries, warm.answered, warm.iterations_done) == (20, 19, 20)
    assert first is cold.query(border, ranges)
    warm_error = [warm.query(border, (ranges[0] * scale, ranges[1])).error for scale in (1.01, 1.02, 1.03)][-1]
    assert warm_error < 0.5 * cold.query(border, near).error


def test_a_tolerance_ends_a_query_early():
    border = border_at(LEDUC, 1)
    ranges = tuple(np.linspace(0.1, 1.0, ways) for ways in border.num_ways)
    value = CFRValue(5000, tolerance=0.05)
    assert value.query(border, ranges).error <= 0.05
    assert value.iterations_done < 1000


def limits(iterations):
    return Options(tol=0.0, violation=0.0, max_iterations=iterations, time_limit=math.inf)


def steps_with_value(problem, method, iterations, value):
    """Yield what each step proves with a value function, its measured error, and the optimum of the same program."""
    steps = problem.start()
    solver = ValueStepSolver(find_method(method), problem.view(), value)
    exact = ProgramStepSolver("simplex", interruptible=False)
    for number in range(len(steps.steps)):
        program = steps.program(number)
        answer = solver.solve_to(depth_limit(steps, number, program), program, limits(iterations))
        optimum = exact.solve(program, limits(10**6))
        yield program.guaranteed(answer.plan), program.allowed(answer.reply), program.guaranteed(optimum.plan), solver
        assert np.isclose(program.own.residual(answer.plan), 0.0, atol=1e-12)
        steps.decide(number, program, answer)


def check_steps(game, p, iterations, value, share, **options):
    model = Strategy.uniform(game, 1)
    problem = CDRNR(game, model, p=p, lookahead=1, **options)
    for lower, upper, optimum, solver in steps_with_value(problem, "cfr+", iterations, value):
        # Within the measured error, which is small.
        assert lower - 1e-9 <= optimum <= upper + 1e-9
        assert upper - lower <= share * spans(game)
        assert solver.errors[-1] <= 10 * share * spans(game)


@few
@pytest.mark.parametrize(
    ("case", "p"),
    some(
        itertools.product(
            [("kuhn", 500, 2e-3), ("leduc:merge_suits=true", 20, 4e-3), ("goofspiel:cards=4", 20, 5e-3)], [0, 0.5, 1]
        ),
        2,
    ),
)
def test_steps_are_within_their_measured_error(case, p):
    spec, queried, share = case
    check_steps(load_game(spec), p, 400 if spec == "kuhn" else 100, CFRValue(queried), share)


@pytest.mark.slow
@pytest.mark.parametrize("p", [0, 0.5, 1])
@pytest.mark.parametrize("spec", ["kuhn", "leduc", "goofspiel:cards=4"])
def test_steps_with_queries_of_500_iterations_are_within_their_measured_error(spec, p):
    check_steps(load_game(spec), p, 1000, CFRValue(500), 1e-3)


@few
@pytest.mark.parametrize("along", ["level", "path"])
@pytest.mark.parametrize("gadget", list(GADGETS))
def test_value_functions_stand_below_any_gadget(gadget, along):
    check_steps(KUHN, 0.5, 100, CFRValue(50), 2e-3, gadget=gadget, along=along)
    if along == "level" and gadget in some(GADGETS, 3):
        check_steps(LEDUC, 0.5, 50, CFRValue(10), 4e-3, gadget=gadget)


@few
@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
@pytest.mark.parametrize("base", ["cfr+", "pcfr+", "dcfr", "cfr"])
def test_any_base_and_order_of_updates(base, updates):
    problem = CDRNR(KUHN, Strategy.uniform(KUHN, 1), p=0.5, lookahead=1)
    method = DepthLimitedCFR(base, CFRValue(100), updates=updates)
    solution = solve(problem, method, tol=0, max_iterations=300)
    exact = solve(problem)
    assert solution.iterations == 300 * len(solution.steps)
    assert max(step.gap for step in solution.certificate.steps) < 0.03
    assert solution.steps[0] == pytest.approx(exact.steps[0], abs=0.03)


def test_a_step_is_as_good_as_its_regrets_and_queries():
    """The gap is at most the mean error of the queries plus what regrets leave, which shrinks."""
    problem = CDRNR(LEDUC, Strategy.uniform(LEDUC, 1), p=0.5, lookahead=1)
    for queried in (3, 30):
        lower, upper, _, solver = next(steps_with_value(problem, "cfr+", 100, CFRValue(queried, warm=False)))
        assert upper - lower <= solver.errors[0] + 0.05
        assert (solver.errors[0] > 0.1) == (queried == 3)


class Witness(TrunkLoop):
    """Keeps what each iteration was paid above the limit."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.own, self.reply, self.earned = 0.0, 0.0, 0.0

    def add(self, answer, weight):
        super().add(answer, weight)
        program, limit, placed = self.program, self.limit, self.placed
        layout, plan = placed.kernel.layout, self.state.arrays.plan
        below, below_reply = (
            ~np.append(True, np.repeat(above, treeplex.num_actions))
            for above, treeplex in ((limit.own, program.own), (limit.reply, program.reply))
        )
        own = np.where(below, 0.0, layout.to_user(placed.own, plan))
        reply = np.where(below_reply, 0.0, layout.to_user(placed.reply, plan))
        reply[0] = 0.0
        # What each sequence is paid, the values of the ways in included; below the limit nothing is.
        pays = np.where(below, 0.0, program.linear + program.matrix @ reply)
        np.add.at(pays, limit.own_ways, answer.values[limit.player])
        costs = np.where(below_reply, 0.0, -(program.matrix.T @ own) - program.bonus)
        costs[0] = 0.0
        np.add.at(costs, limit.reply_ways, answer.values[1 - limit.player])
        self.own, self.reply = self.own + pays, self.reply + costs
        self.earned += pays @ own + costs[1:] @ reply[1:]

    def regrets(self, program):
        """Return the sum of both players' regrets."""
        best = sequence_values(program.own, self.own)[0]
        return best + program.inflow @ infoset_values(program.reply, self.reply) - self.earned


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.4, 1.0]), st.integers(1, 3), st.sampled_from([2, 20]))
@examples(25)
def test_the_gap_of_averages_is_at_most_their_regrets_and_the_errors_of_queries(seed, p, lookahead, queried):
    game = to_game(seeded_tree(seed))
    try:
        game.public_tree  # noqa: B018 - some games have none
    except (InvalidGameError, UnsupportedProblemError):
        return
    problem = CDRNR(game, opponent_strategy(f"random:seed={seed}", game, 1), p=p, lookahead=lookahead, game_value=0.0)
    check_regrets(problem, queried)


@pytest.mark.parametrize("game", [KUHN, LEDUC], ids=str)
@pytest.mark.parametrize("queried", [2, 50])
def test_the_same_in_the_library_s_games(game, queried):
    assert check_regrets(CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=1), queried) > 0.0


def check_regrets(problem, queried):
    steps = problem.start()
    if not steps.steps:
        return None
    program = steps.program(0)
    limit = depth_limit(steps, 0, program)
    if limit is None:
        return None
    iterations = 40
    method = find_method("cfr", updates="simultaneous")
    solver = ValueStepSolver(method, problem.view(), CFRValue(queried, warm=False))
    witness = Witness(solver, program, limit)
    answer = solver.work_on(witness, limits(iterations))
    gap = program.allowed(answer.reply) - program.guaranteed(answer.plan)
    assert gap <= witness.regrets(program) / iterations + witness.mean_error + 1e-9
    return gap


@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([2, 20]), st.sampled_from(["cfr", "cfr+"]))
@examples(40)
def test_the_best_current_plan_is_within_the_lemma_s_bound_and_the_errors_of_queries(seed, lookahead, queried, name):
    game, player = to_game(seeded_tree(seed)), seed % 2
    try:
        game.public_tree  # noqa: B018 - some games have none
    except (InvalidGameError, UnsupportedProblemError):
        return
    opponent = opponent_strategy(f"random:seed={seed}", game, 1 - player)
    problem = CDBR(game, opponent, lookahead=lookahead, game_value=0.0)
    steps, round_off = problem.start(), 1e-9 * (1.0 + payoff_range(game.sequence_form))
    for number in range(len(steps.steps)):
        program = steps.program(number)
        limit = depth_limit(steps, number, program)
        if limit is None:
            return
        errors = []

        class Measured(CFRValue):
            def query(self, border, ranges, found=errors):
                answer = super().query(border, ranges)
                found.append(answer.error)
                return answer

        method = find_method(f"{name}:iterate=best")
        solver = ValueStepSolver(method, problem.view(), Measured(queried, warm=False))
        optimum = ProgramStepSolver("simplex", interruptible=False).solve(program, limits(10**6))
        loop = TrunkLoop(solver, program, limit)
        for iterations in (1, 10, 60):
            iterate(loop, limits(iterations - loop.iterations))
            worth = program.guaranteed(loop.answer.plan)
            missed = program.guaranteed(optimum.plan) - worth
            bound = best_iterate_bound(program, payoff_range(game.sequence_form), iterations, limit.own)
            assert -round_off <= missed <= bound + max(errors) + round_off
            # The value function takes its plan to be worth more than it is proven to be, by an error at most.
            assert -round_off <= loop.worth - worth <= max(errors) + round_off
            assert len(errors) == iterations
        steps.decide(number, program, loop.answer)


def test_the_best_current_plan_needs_an_opponent_who_is_held_to_the_model():
    model = Strategy.uniform(LEDUC, 1)
    method = DepthLimitedCFR("cfr+", CFRValue(50), iterate="best")
    exact = solve(CDBR(LEDUC, model, lookahead=1))
    for problem in (CDBR(LEDUC, model, lookahead=1), CDRNR(LEDUC, model, p=1, lookahead=1)):
        found = solve(problem, method, tol=0, max_iterations=60)
        assert found.steps[0] == pytest.approx(exact.steps[0], abs=0.01)
    with pytest.raises(UnknownMethodError, match="iterate is best, expected average: with best"):
        solve(CDRNR(LEDUC, model, p=0.5, lookahead=1), method)
    with pytest.raises(UnknownMethodError, match="expected average or best"):
        DepthLimitedCFR("cfr+", iterate="last")


def test_values_without_strategies_are_completed_for_the_certificate():
    problem = CDRNR(LEDUC, Strategy.uniform(LEDUC, 1), p=0.5, lookahead=1)
    solved = CFRValue(20)

    def known(border, ranges):
        return solved.query(border, ranges).values

    gaps = []
    for function in (known, nothing):
        lower, upper, optimum, solver = next(steps_with_value(problem, "cfr+", 100, CallableValue(function)))
        assert lower - 1e-9 <= optimum <= upper + 1e-9
        assert math.isnan(solver.errors[0])
        gaps.append(upper - lower)
    assert gaps[0] < 0.05
    assert gaps[1] > 3 * gaps[0]


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.integers(1, 3), st.integers(0, 1))
@examples(12)
def test_gain_and_safety_hold_up_to_measured_errors(seed, p, lookahead, player):
    game = to_game(seeded_tree(seed))
    try:
        game.public_tree  # noqa: B018 - some games have none
    except (InvalidGameError, UnsupportedProblemError):
        return
    opponent = opponent_strategy(f"random:seed={seed}", game, 1 - player)
    problem = CDRNR(game, opponent, p=p, lookahead=lookahead)
    solution = solve(problem, DepthLimitedCFR("cfr+", CFRValue(20)), tol=0, max_iterations=40)
    # The theorems' errors of value functions and regrets, measured: the gaps of the steps.
    errors = sum(step.gap for step in solution.certificate.steps) + 1e-9
    if solution.steps:
        assert p * solution.gain - (1 - p) * solution.exploitability >= -errors
        if p > 0:
            assert solution.gain >= -errors / p
        if p < 1:
            assert solution.exploitability <= (p * solution.gain + errors) / (1 - p)
        exact = solve(problem)
        first = solution.certificate.steps[0]
        assert first.objective - 1e-7 <= exact.steps[0] <= first.upper + 1e-7


def test_other_problems_in_steps():
    model = Strategy.uniform(LEDUC, 1)
    method = DepthLimitedCFR("cfr+", CFRValue(20))
    for problem in (CDBR(LEDUC, model, lookahead=1), CDBRNE(LEDUC, model, p=0.5, lookahead=1)):
        solution, exact = solve(problem, method, tol=0, max_iterations=50), solve(problem)
        assert solution.steps[0] == pytest.approx(exact.steps[0], abs=0.05)
        assert solution.gain > 0.95 * exact.gain
    with pytest.raises(UnsupportedProblemError, match="cannot solve ses"):
        solve(SES(LEDUC, model, p=0.5), method)


def test_solves_do_not_depend_on_those_before():
    problem = CDRNR(KUHN, Strategy.uniform(KUHN, 1), p=0.25, lookahead=1)
    method = DepthLimitedCFR("cfr+", CFRValue(5))
    first, second = (solve(problem, method, tol=0, max_iterations=20) for _ in range(2))
    assert first.steps == second.steps


def test_limits_and_listeners(clock):
    problem = CDRNR(LEDUC, Strategy.uniform(LEDUC, 1), p=0.5, lookahead=1)
    method = DepthLimitedCFR("cfr+", CFRValue(20))
    solution = solve(problem, method, tol=0.5)
    assert solution.status is Status.CONVERGED
    hurried = solve(problem, method, tol=0, time_limit=50)
    assert not hurried.status.is_success
    assert hurried.seconds < 100
    assert hurried.iterations < 3000
    heard = []

    def listen(progress):
        heard.append(progress.iterations)
        return len(heard) == 2

    assert solve(problem, method, tol=0, callback=listen).status is Status.INTERRUPTED
    assert len(heard) == 2


@pytest.fixture(scope="module")
def learned():
    linear = LinearValue.train(KUHN, 1, player=0, examples=300, iterations=100)
    network = NetworkValue.train(KUHN, 1, player=0, examples=300, iterations=100, updates=600, hidden=32)
    return linear, network


@thorough
def test_learned_values_say_how_far_they_are_off(learned):
    border = border_at(KUHN, 1)
    generator = np.random.default_rng(77)
    for value in learned:
        errors = []
        for _ in range(50):
            ranges = tuple(generator.dirichlet(np.ones(3)) for _ in range(2))
            exact = CFRValue(1000).query(border, ranges)
            answer = value.query(border, ranges)
            assert answer.error is None
            # Both players' values sum to zero, weighted by ranges.
            assert ranges[0] @ answer.values[0] + ranges[1] @ answer.values[1] == pytest.approx(0.0)
            errors.append(np.abs(np.concatenate(answer.values) - np.concatenate(exact.values)))
        assert np.mean(errors) < 2.0 * value.mean_error
        assert 0.0 < value.mean_error < 0.03
        assert value.mean_error < value.worst_error < 1.0
        assert value.label_error < 0.01


def test_steps_with_learned_values_are_near_the_exact_ones(learned):
    problem = CDRNR(KUHN, Strategy.uniform(KUHN, 1), p=0.5, lookahead=1)
    exact = solve(problem)
    for value in learned:
        solution = solve(problem, DepthLimitedCFR("cfr+", value), tol=0, max_iterations=200)
        first = solution.certificate.steps[0]
        assert first.objective - 1e-9 <= exact.steps[0] <= first.upper + 1e-9
        assert first.gap < 0.1


def test_learned_values_are_written_and_read(learned, tmp_path):
    border = border_at(KUHN, 1)
    ranges = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.1, 0.3])
    for value in learned:
        value.save(tmp_path / "value.npz")
        read = load_value(tmp_path / "value.npz", KUHN)
        assert type(read) is type(value)
        assert (read.mean_error, read.worst_error, read.label_error) == (
            value.mean_error, value.worst_error, value.label_error
        )  # fmt: skip
        for one, two in zip(value.query(border, ranges).values, read.query(border, ranges).values, strict=True):
            assert np.array_equal(one, two)
    for name, array in (("weights", np.zeros((2, 2))), ("weights", np.full((15, 6), np.nan)), ("other", np.zeros(1))):
        LinearValue(KUHN, {1: {name: array}, 2: {name: array}, 3: {name: array}}, 0.0, 0.0, 0.0).save(
            tmp_path / "bad.npz"
        )
        with pytest.raises(SolverError, match="does not fit the depth limit"):
            load_value(tmp_path / "bad.npz", KUHN).query(border, ranges)
    with pytest.raises(InvalidGameError, match="is a value function of a game other than leduc"):
        load_value(tmp_path / "value.npz", LEDUC)
    (tmp_path / "text.npz").write_text("nothing")
    with pytest.raises(GameFileError, match="does not contain a value function"):
        load_value(tmp_path / "text.npz", KUHN)
    with pytest.raises(GameFileError, match="no such file"):
        load_value(tmp_path / "none.npz", KUHN)
    Strategy.uniform(KUHN, 0).save(tmp_path / "strategy.npz")
    with pytest.raises(GameFileError, match="does not contain a value function"):
        load_value(tmp_path / "strategy.npz", KUHN)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            LinearValue,
            [
                [-0.23726577748617633, 0.11216806157352956, 0.5958765732930601],
                [-0.13522843083283725, 0.12323231151760014, -0.24417982487578163],
            ],
        ),
        (
            NetworkValue,
            [
                [-0.2593191067193153, 0.08173155429571384, 0.4978917635822847],
                [-0.08900371324662967, 0.1753305834987714, -0.24977197923298688],
            ],
        ),
    ],
)
def test_files_of_earlier_releases_answer_as_they_did(kind, expected):
    read = load_value(Path(__file__).parents[1] / "stored" / f"{kind.name}-value.npz", KUHN)
    assert type(read) is kind
    ranges = np.array([0.2, 0.3, 0.5]), np.array([1.2, 0.2, 0.6])
    assert np.array(read.query(border_at(KUHN, 1), ranges).values) == pytest.approx(np.array(expected), abs=1e-14)
    if kind is LinearValue:  # ridge regression has one solution, whoever finds it
        again = LinearValue.train(KUHN, 1, player=0, examples=100, iterations=50)
        assert np.array(again.query(border_at(KUHN, 1), ranges).values) == pytest.approx(np.array(expected), abs=1e-9)


def test_training_is_reproducible_by_its_seed():
    options = {"player": 0, "examples": 20, "iterations": 5, "updates": 10, "hidden": 4}
    first, second, other = (NetworkValue.train(KUHN, 1, seed=seed, **options) for seed in (3, 3, 4))
    states = sorted(first.parameters)
    for name, array in first.parameters[states[0]].items():
        assert np.array_equal(array, second.parameters[states[0]][name])
    assert not np.array_equal(first.parameters[states[0]]["weight 0"], other.parameters[states[0]]["weight 0"])


def test_training_without_scikit_learn_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'treeplex\[learning\]'"):
        LinearValue.train(KUHN, 1)


def test_what_cannot_be_done_is_one_line(learned):
    border = border_at(KUHN, 1)
    ranges = np.ones(3), np.ones(3)
    for wrong in (0, 1.5, True, "many"):
        with pytest.raises(UnknownMethodError, match="CFRValue: iterations is"):
            CFRValue(wrong)
    with pytest.raises(UnknownMethodError, match="expected cfr, cfr\\+, dcfr or pcfr\\+"):
        CFRValue(10, "highs")
    with pytest.raises(UnknownMethodError, match="tolerance is nan"):
        CFRValue(10, tolerance=float("nan"))
    with pytest.raises(UnknownMethodError, match="expected a value function, or a callable"):
        DepthLimitedCFR("cfr+", 3)
    with pytest.raises(UnknownMethodError, match="base = pref-cfr"):
        DepthLimitedCFR("pref-cfr")
    for answer in (3, ([1.0], [1.0]), (np.full(3, np.nan), np.zeros(3))):
        with pytest.raises(SolverError, match="value function guess returned"):
            CallableValue(lambda border, ranges, answer=answer: answer, "guess").query(border, ranges)
    with pytest.raises(SolverError, match="was not trained on public state"):
        learned[0].query(border_at(KUHN, 0), tuple(np.ones(ways) for ways in border_at(KUHN, 0).num_ways))
    with pytest.raises(SolverError, match="was trained on kuhn, not on leduc"):
        learned[1].query(border_at(LEDUC, 1), tuple(np.ones(ways) for ways in border_at(LEDUC, 1).num_ways))
    with pytest.raises(UnknownMethodError, match="examples is 2, expected a whole number of at least 5"):
        LinearValue.train(KUHN, 1, examples=2)
    with pytest.raises(UnknownMethodError, match="LinearValue has no option 'hidden'"):
        LinearValue.train(KUHN, 1, examples=5, iterations=1, hidden=3)
