"""The canonical program: its certificate, its two seats, and what problems declare of it."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from treeplex import (
    BestNash,
    BestResponse,
    ConstrainedNash,
    DataBiasedResponse,
    EpsilonSafeResponse,
    EpsilonSafeStyle,
    Nash,
    RestrictedNash,
    Strategy,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.distances import L1Distance
from treeplex.models.problems import FeasibilityRelaxation, RobustResponse
from treeplex.models.problems.features import Feature
from treeplex.models.saddle import SAFETY, ConicProgram, linear_program

KUHN = load_game("kuhn")
VALUE = -1 / 18


def problems():
    """Every problem that is one saddle program."""
    model, own = Strategy.uniform(KUHN, 1), Strategy.uniform(KUHN, 0)
    bound = {"less": KUHN.plan(0)[1] <= 0.5}
    return [
        Nash(KUHN),
        ConstrainedNash(KUHN, bound),
        ConstrainedNash(KUHN, {"near": cp.norm2(KUHN.plan(1)[1:5] - 0.5) <= 0.5}),
        BestResponse(KUHN, model, game_value=VALUE),
        RestrictedNash(KUHN, model, p=0.5, game_value=VALUE),
        EpsilonSafeResponse(KUHN, model, epsilon=0.05, game_value=VALUE),
        BestNash(KUHN, model, game_value=VALUE),
        DataBiasedResponse(KUHN, model, p=0.5, game_value=VALUE),
        RobustResponse(KUHN, [model, model], p=0.5, game_value=VALUE),
        EpsilonSafeStyle(KUHN, nearest=L1Distance(own), game_value=VALUE),
        FeasibilityRelaxation(KUHN, 0, ConstrainedNash(KUHN, bound).constraints),
    ]


@pytest.mark.parametrize("problem", problems(), ids=lambda problem: problem.name)
def test_a_problem_needs_what_its_program_holds(problem):
    saddle = problem.canonical
    held = {
        Feature.TILT: saddle.tilt is not None and saddle.weight is not None,
        Feature.FLOOR: saddle.floor is not None,
        Feature.CONSTRAINTS: bool(saddle.constraints),
        Feature.CONVEX: not saddle.is_linear,
        Feature.REPLIES: saddle.view.replies is not None,
    }
    assert {feature for feature, holds in held.items() if holds} <= problem.needs


@pytest.mark.parametrize("seats", [(0,), (1,), (0, 1)])
def test_the_value_of_the_program_in_cvxpy_is_the_objective(seats):
    near = {f"near {seat}": cp.norm2(KUHN.plan(seat)[1:5] - 0.5) <= 0.5 for seat in seats}
    problem = ConstrainedNash(KUHN, near)
    program = problem.to_cvxpy()
    program.solve(solver=cp.CLARABEL)
    expected = solve(problem, "cvxpy").objective if len(seats) == 1 else 0.0
    assert program.value == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("factor", [0.0, 1.0, 100.0, -1.0])
def test_what_is_no_plan_proves_no_wrong_bound_of_a_floor(factor):
    problem = EpsilonSafeResponse(KUHN, Strategy.uniform(KUHN, 1), epsilon=0.05, game_value=VALUE)
    solution = solve(problem)
    given = factor * solution.profile[1].plan
    bounds = problem.canonical.bounds(*solution.profile.plans, {SAFETY: 1.0}, {SAFETY: given})
    assert bounds.upper >= solution.objective - 1e-9


def test_curved_constraints_of_the_other_player_need_its_weight_to_be_one():
    problem = ConstrainedNash(KUHN, {"near": cp.norm2(KUHN.plan(1)[1:5] - 0.5) <= 0.5})
    with pytest.raises(UnsupportedProblemError, match="weight other than 1"):
        ConicProgram.of(replace(problem.canonical, weight=0.5))


@pytest.mark.parametrize("game", ["kuhn", "leduc:merge_suits=true"])
def test_rows_and_images_state_the_same_opponents(game):
    game = load_game(game)
    problem = DataBiasedResponse(game, Strategy.uniform(game, 1), p=0.4, game_value=0.0)
    saddle = problem.canonical
    replies = saddle.view.replies
    rng = np.random.default_rng(0)
    for _ in range(20):
        behaviour = rng.dirichlet(np.ones(4), size=replies.treeplex.num_sequences)[:, 0]
        behaviour = replies.treeplex.behaviour(replies.treeplex.plan(behaviour))
        image = replies.image(replies.treeplex.plan(behaviour))
        assert (replies.rows @ image).max() <= 1e-12
        np.testing.assert_allclose(replies.image(replies.preimage(image)), image, atol=1e-12)
    program = linear_program(saddle)
    assert "reply prices" in program.columns
