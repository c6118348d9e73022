"""Depth-limited responses by regret minimisation, held against the linear program of each step."""

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from effort import examples, few, soaked
from hypothesis import given
from hypothesis import strategies as st
from interruptions import own_clock
from problem_cases import Drawing
from random_trees import seeded_tree, to_game

from treeplex import CDBR, CDBRNE, CDRNR, SES, CFRPlus, Nash, Status, Strategy, UnknownMethodError, load_game, solve
from treeplex.models.depth_limited import GADGETS
from treeplex.models.problems import LBR
from treeplex.seqform.errors import InvalidGameError, UnsupportedProblemError
from treeplex.solvers.depth_limited.linear_programs import ProgramStepSolver
from treeplex.solvers.depth_limited.regret_steps import BestIterateLoop, RegretStepSolver, best_iterate_bound
from treeplex.solvers.depth_limited.resolving import equilibrium_of
from treeplex.solvers.iteration import iterate
from treeplex.solvers.methods import find_method
from treeplex.solvers.opponents.strategies import opponent_strategy
from treeplex.solvers.outcome import Options

ITERATIONS = 100_000


def limits(iterations, tolerance=0.0):
    return Options(tol=tolerance, violation=tolerance, max_iterations=iterations, time_limit=math.inf)


def solved_both_ways(problem, method, tolerance, iterations=ITERATIONS):
    """Yield what regret minimisation proves of each step, and the optimum of the same program."""
    steps = problem.start(equilibrium_of(problem) if problem.needs_equilibrium else None)
    solver, options = RegretStepSolver(find_method(method), problem.view()), limits(iterations, tolerance)
    exact = ProgramStepSolver("simplex", interruptible=False)
    for number, step in enumerate(steps.steps):
        program = steps.program(number)
        answer = solver.solve(program, options)
        optimum = exact.solve(program, options)
        lower, upper = program.guaranteed(answer.plan), program.allowed(answer.reply)
        yield step, lower, upper, program.guaranteed(optimum.plan)
        assert np.isclose(program.own.residual(answer.plan), 0.0, atol=1e-12)
        steps.decide(number, program, answer)


def check_steps(problem, method, share=1e-3):
    tolerance = share * span(problem.game)
    for _, lower, upper, optimum in solved_both_ways(problem, method, tolerance):
        assert upper - lower <= tolerance
        assert lower - 1e-9 <= optimum <= upper + 1e-9


def span(game):
    """The range of payoffs; matrices hold them times the probabilities of chance."""
    leaves = game.sequence_form.leaves
    return float(np.ptp(game.sequence_form.A.data if leaves is None else leaves.payoffs[:, 0]))


def opponents(game, player, full=False):
    texts = ["uniform", "random:seed=3", "cfr:iterations=5"] if full else ["uniform", "random:seed=3"]
    return [opponent_strategy(text, game, 1 - player) for text in texts]


@few
@pytest.mark.parametrize("method", ["cfr+", "pcfr+", "dcfr", "cfr"])
@pytest.mark.parametrize("lookahead", [1, 3])
@pytest.mark.parametrize("player", [0, 1])
def test_steps_in_kuhn_are_those_of_the_linear_programs(player, lookahead, method):
    game = load_game("kuhn")
    for opponent in opponents(game, player):
        for p in (0, 0.5, 0.9, 1):
            check_steps(CDRNR(game, opponent, p=p, lookahead=lookahead), method)


@few
@pytest.mark.parametrize("spec", ["leduc", "goofspiel:cards=4", "liars_dice"])
@pytest.mark.parametrize("method", ["cfr+", "pcfr+"])
def test_steps_in_larger_games_are_those_of_the_linear_programs(spec, method):
    game = load_game(spec)
    check_steps(CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=1), method)


@pytest.mark.slow
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("lookahead", [1, 3, 5])
@pytest.mark.parametrize("p", [0, 0.25, 0.5, 0.75, 0.9, 1])
@pytest.mark.parametrize("spec", ["kuhn", "leduc", "goofspiel:cards=4", "goofspiel:cards=5", "liars_dice"])
def test_steps_of_the_whole_grid(spec, p, lookahead, player):
    game = load_game(spec)
    for opponent in opponents(game, player, full=True):
        for method in ("cfr+", "pcfr+"):
            check_steps(CDRNR(game, opponent, p=p, lookahead=lookahead), method)


@pytest.mark.parametrize("gadget", list(GADGETS))
def test_gadgets_are_solved_too(gadget):
    game = load_game("leduc:merge_suits=true")
    opponent = Strategy.uniform(game, 1)
    check_steps(CDRNR(game, opponent, p=0.5, lookahead=2, gadget=gadget), "cfr+")


@pytest.mark.parametrize("method", ["cfr", "cfr+", "dcfr", "pcfr+"])
def test_steps_do_not_suffer_from_those_before_them(method):
    """Each used to begin with the regrets of the one before: 1,000 iterations of cfr gained 1.1 for 1.6162."""
    game = load_game("leduc:merge_suits=true")
    problem = CDBR(game, Strategy.uniform(game, 1), lookahead=1)
    found = solve(problem, method, tol=0, max_iterations=400)
    assert len(found.steps) > 3
    # The bound of regret matching falls with the square root of the iterations, and is loose.
    assert max(step.gap for step in found.certificate.steps) < 2e-3 * span(game)
    assert found.gain == pytest.approx(solve(problem).gain, abs=2e-3 * span(game))


class Stepped(Drawing):
    """Problems in steps on small random games and named ones."""

    kinds = {"cdbr": 3, "cdrnr": 6, "cdbr-ne": 1, "ses": 2}  # noqa: RUF012


@pytest.mark.soak
def test_random_steps_are_those_of_the_linear_programs():
    """The simplex method is the oracle, of the very program that regret minimisation solves."""
    wrong, steps = [], 0
    for seed in range(soaked(3)):
        problem = Stepped(seed, {}, 0).case().problem
        if isinstance(problem, CDRNR | CDBR) and seed % 3 == 0:
            problem = dataclasses.replace(problem, along="path")
        method = ("cfr", "cfr+", "dcfr", "pcfr+", "cfr:updates=simultaneous", "cfr+:iterate=last")[seed % 6]
        exact_gap = 5e-3 * span(problem.game)
        for step, lower, upper, optimum in solved_both_ways(problem, method, exact_gap, iterations=20_000):
            steps += 1
            round_off = 1e-9 * (1.0 + span(problem.game))
            # Last iterates need not converge, but what they prove holds.
            is_near = upper - lower <= exact_gap or "last" in method
            if not (is_near and lower - round_off <= optimum <= upper + round_off):
                wrong.append(f"seed {seed}: {problem.name} by {method}, {step}: {lower}, {optimum}, {upper}")
    assert not wrong, "\n".join(wrong)
    assert steps >= soaked(3)


@pytest.mark.parametrize("along", ["level", "path"])
def test_paths_are_solved_too(along):
    game = load_game("goofspiel:cards=4")
    check_steps(CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=1, along=along), "pcfr+")


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.integers(1, 4), st.integers(0, 1))
@examples(30)
def test_steps_of_random_games_are_those_of_the_linear_programs(seed, p, lookahead, player):
    game = to_game(seeded_tree(seed))
    try:
        game.public_tree  # noqa: B018 - some games have none
    except (InvalidGameError, UnsupportedProblemError):
        return
    opponent = opponent_strategy(f"random:seed={seed}", game, 1 - player)
    problem = CDRNR(game, opponent, p=p, lookahead=lookahead, game_value=0.0)
    check_steps(problem, "pcfr+", 1e-2)


# The best of the current plans


class Plans(BestIterateLoop):
    """The loop, which notes what each current plan is worth."""

    def step(self, iterations):
        for _ in range(iterations):
            self.__dict__.setdefault("worths", []).append(self.program.guaranteed(self.plans[0]))
            super().step(1)


@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    st.integers(1, 3),
    st.sampled_from(["cfr", "cfr+"]),
)
@examples(60)
def test_the_best_current_plan_is_within_the_lemma_s_bound_of_the_optimum(seed, p, lookahead, method):
    game, player = to_game(seeded_tree(seed)), seed % 2
    try:
        game.public_tree  # noqa: B018 - some games have none
    except (InvalidGameError, UnsupportedProblemError):
        return
    opponent = opponent_strategy(f"random:seed={seed}", game, 1 - player)
    run = CDRNR(game, opponent, p=p, lookahead=lookahead, game_value=0.0).start()
    method, exact = find_method(f"{method}:iterate=best"), ProgramStepSolver("simplex", interruptible=False)
    for number in range(len(run.steps)):
        program = run.program(number)
        optimum, round_off = exact.solve(program, limits(10**6)), 1e-9 * (1.0 + span(game))
        loop = Plans(RegretStepSolver(method, run.view), program)
        for iterations in (1, 10, 100):
            iterate(loop, limits(iterations - loop.iterations))
            missed = program.guaranteed(optimum.plan) - program.guaranteed(loop.answer.plan)
            bound = best_iterate_bound(program, span(game), iterations)
            assert -round_off <= missed <= bound + round_off
            # It is the best of all current plans, and the average of the replies proves how good.
            assert program.guaranteed(loop.answer.plan) == pytest.approx(max(loop.worths), abs=round_off)
            assert len(loop.worths) == iterations
            assert missed <= program.gap(loop.answer) + round_off
            if method.name == "cfr":
                assert program.gap(loop.answer) <= bound + round_off
        run.decide(number, program, loop.answer)


@pytest.mark.parametrize("method", ["cfr", "cfr+", "dcfr", "pcfr+"])
def test_the_current_plan_converges_against_a_fixed_opponent_and_its_average_does_not_as_fast(method):
    """Where the last step sees everything the opponent is fixed: the best plan is a best response."""
    game = load_game("leduc:merge_suits=true")
    problem = CDBR(game, opponent_strategy("random:seed=1", game, 1), lookahead=8)
    exact = solve(problem)
    best, average = (
        solve(problem, f"{method}:iterate={name}", tol=0, max_iterations=60) for name in ("best", "average")
    )
    assert best.gain == pytest.approx(exact.gain, abs=1e-9)
    assert average.gain < exact.gain - 1e-6
    assert best.certificate.steps[0].upper >= exact.steps[0] - 1e-9


def test_the_best_iterate_is_that_of_responses_in_steps():
    game = load_game("kuhn")
    with pytest.raises(UnsupportedProblemError, match="iterate is best, expected average or last for nash"):
        solve(Nash(game), "cfr:iterate=best")
    with pytest.raises(UnknownMethodError, match="best2"):
        find_method("cfr:iterate=best2")
    search = SES(load_game("leduc:merge_suits=true"), Strategy.uniform(load_game("leduc:merge_suits=true"), 1), p=0.5)
    found = solve(search, "cfr+:iterate=best", tol=2e-2)
    assert found.status is Status.CONVERGED
    assert found.steps[0] == pytest.approx(solve(search).steps[0], abs=2e-2)


def test_without_trust_it_is_continual_resolving():
    game = load_game("leduc")
    opponent = Strategy.uniform(game, 1)
    for tolerance in (0.1, 0.01):
        solution = solve(CDRNR(game, opponent, p=0, lookahead=1), "cfr+", tol=tolerance)
        assert solution.status is Status.CONVERGED
        # Each step may lose its gap.
        assert solution.exploitability <= tolerance * len(solution.steps)
    assert solution.exploitability < 0.02


def test_with_full_trust_it_is_the_best_response_of_so_many_levels():
    game = load_game("leduc")
    opponent = Strategy.uniform(game, 1)
    tolerance = 1e-3
    response = solve(CDRNR(game, opponent, p=1, lookahead=3), "pcfr+", tol=tolerance)
    best = solve(CDBR(game, opponent, lookahead=3), "pcfr+", tol=tolerance)
    exact = solve(CDBR(game, opponent, lookahead=3))
    assert response.steps == best.steps
    assert best.steps[0] == pytest.approx(exact.steps[0], abs=tolerance)


@pytest.mark.parametrize("p", [0.25, 0.5, 0.9])
def test_safety_and_gain_hold_up_to_the_gaps(p):
    game = load_game("leduc")
    opponent = opponent_strategy("random:seed=1", game, 1)
    solution = solve(CDRNR(game, opponent, p=p, lookahead=1), "cfr+", tol=5e-3)
    gaps = sum(step.gap for step in solution.certificate.steps)
    assert solution.gain >= -gaps / p
    assert solution.exploitability <= (p * solution.gain + gaps) / (1 - p)

    assert all(after >= before - 5e-3 for before, after in pairwise(solution.steps))
    assert solution.steps[0] >= solution.game_value - 5e-3


def test_other_responses_in_steps():
    game = load_game("leduc:merge_suits=true")
    opponent = Strategy.uniform(game, 1)
    tolerance = 2e-3
    for problem in (CDBRNE(game, opponent, p=0.5, lookahead=1), SES(game, opponent, p=0.5), LBR(game, opponent)):
        solution, exact = solve(problem, "cfr+", tol=tolerance), solve(problem)
        assert solution.status is Status.CONVERGED
        assert solution.steps[0] == pytest.approx(exact.steps[0], abs=tolerance)


@pytest.mark.parametrize("method", ["lp", "dcfr"])
def test_a_solution_has_the_proof_of_its_steps(method):
    game = load_game("leduc:merge_suits=true")
    opponent = Strategy.uniform(game, 1)
    for problem in (CDRNR(game, opponent, p=0.5, lookahead=2, gadget="max-margin"), SES(game, opponent, p=0.5)):
        solution = solve(problem, method, tol=1e-2)
        again = solution.problem.certify(solution.profile, None, solution.dual_certificate)
        assert again == solution.certificate
        assert len(again.steps) == len(solution.steps)
    assert not solve(Nash(game)).dual_certificate


def test_limits_end_steps_and_gaps_say_how_good_they_are():
    game = load_game("leduc")
    problem = CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=1, game_value=0.0)
    few = solve(problem, "cfr+", tol=0, max_iterations=20)
    assert few.status is Status.ITERATION_LIMIT
    assert few.iterations == 20 * len(few.steps)
    many = solve(problem, "cfr+", tol=0, max_iterations=500)
    assert max(step.gap for step in many.certificate.steps) < max(step.gap for step in few.certificate.steps) / 5
    with own_clock(tick=60.0):
        hurried = solve(problem, "cfr+", tol=1e-9, time_limit=1000.0)
    assert hurried.status is Status.TIME_LIMIT
    assert len(hurried.steps) == len(few.steps)


def test_a_listener_ends_the_run():
    game = load_game("leduc")
    problem = CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=1)
    heard = []

    def listen(progress):
        heard.append(progress.iterations)
        return len(heard) == 3

    solution = solve(problem, "cfr+", tol=1e-9, callback=listen)
    assert solution.status is Status.INTERRUPTED
    assert len(heard) == 3
    assert heard == sorted(heard)


def test_what_cannot_be_done_is_one_line():
    game = load_game("kuhn")
    problem = CDBR(game, Strategy.uniform(game, 1), lookahead=1)
    with pytest.raises(UnknownMethodError, match="cfr\\+ does not accept a start for cdbr"):
        solve(problem, "cfr+", start=solve(problem).profile)
    with pytest.raises(UnknownMethodError, match="got precision='single' for cdbr, expected double"):
        solve(problem, CFRPlus(precision="single"))
    with pytest.raises(UnsupportedProblemError, match="method pref-cfr cannot solve cdbr"):
        solve(problem, "pref-cfr")
