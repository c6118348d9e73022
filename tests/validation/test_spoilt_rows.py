"""Rows of suites fail if a step solver, a certificate, a program or a style is spoilt on purpose."""

import dataclasses

import numpy as np
import pytest
from constant_sums import with_constant
from effort import few

from treeplex import EpsilonSafeStyle, Nash, PrefCFR, SolverError, Strategy, UnsupportedProblemError, load_game, solve
from treeplex.models.depth_limited import GADGETS, StepProgram, runs
from treeplex.models.problems import CDBR, CDBRNE, CDRNR, LBR, SES
from treeplex.solvers.depth_limited.linear_programs import ProgramStepSolver
from treeplex.solvers.depth_limited.regret_steps import RegretStepSolver
from treeplex.validation import Suite, compare, compare_with_style, run_suite, steps, suites
from treeplex.validation.bank import ask
from treeplex.validation.steps import broken_guarantees, compare_steps, step_optima

GAME = "leduc:merge_suits=true"
METHODS = ("cfr@1e-2", "cfr+@1e-3", "dcfr@1e-3", "pcfr+@1e-3")
#: Depth-limited responses of every kind, and the number of their steps in Leduc poker.
KINDS = {
    "cdbr --opponent uniform --lookahead 1": 7,
    "cdbr-ne --opponent uniform --p 1/2 --lookahead 3": 7,
    "ses --opponent uniform --p 1/2": 1,
    "lbr --opponent uniform": 7,
} | {f"cdrnr --opponent uniform --p 1/2 --lookahead 1 --gadget {gadget}": 7 for gadget in GADGETS}


def rows_of(question, methods, game=GAME, known=""):
    return run_suite(Suite("spoilt", "", ask(game, question, methods, known=known))).rows


# --- steps ------------------------------------------------------------------------------------------------------------


def spoilt_plan(program, answer):
    """Return an answer whose plan is in part uniform."""
    mixed = 0.8 * program.own.behaviour(answer.plan) + 0.2 * program.own.uniform_behaviour()
    return dataclasses.replace(answer, plan=program.completed(mixed))


def spoilt_reply(program, answer):
    """Return an answer whose reply is in part uniform."""
    mixed = 0.8 * program.reply.behaviour(answer.reply) + 0.2 * program.reply.uniform_behaviour()
    return dataclasses.replace(answer, reply=program.flow(mixed))


def spoil_steps(monkeypatch, solver, spoilt, from_step=0):
    """Let a step solver give spoilt answers from one of the steps of a response on."""
    given, count = solver.solve, [0]

    def solved(self, program, options):
        answer = given(self, program, options)
        count[0] += 1
        return spoilt(program, answer) if count[0] > from_step else answer

    monkeypatch.setattr(solver, "solve", solved)


@few
@pytest.mark.parametrize("spoilt", [spoilt_plan, spoilt_reply])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("question", KINDS)
def test_spoilt_answers_of_regret_minimisation_fail_the_row(monkeypatch, question, method, spoilt):
    if question.startswith("lbr") and spoilt is spoilt_reply:
        return  # nothing is left to the other player
    spoil_steps(monkeypatch, RegretStepSolver, spoilt)
    exact, compared = rows_of(question, f"lp {method}")
    assert exact.passed
    assert "proven error" in compared.failure


@few
@pytest.mark.parametrize("question", [question for question, count in KINDS.items() if count > 1])
def test_a_spoilt_second_step_is_enough(monkeypatch, question):
    spoil_steps(monkeypatch, RegretStepSolver, spoilt_plan, from_step=1)
    exact, compared = rows_of(question, "lp cfr+@1e-3")
    assert exact.passed
    assert "proven error" in compared.failure


@few
@pytest.mark.parametrize("question", KINDS)
def test_spoilt_answers_of_linear_programs_fail_their_own_row_and_those_held_to_it(monkeypatch, question):
    spoil_steps(monkeypatch, ProgramStepSolver, spoilt_plan)
    exact, compared = rows_of(question, "lp cfr+@1e-3")
    assert "proven error" in exact.failure
    assert "proven error of the exact solution" in compared.failure


@few
@pytest.mark.parametrize("question", KINDS)
def test_wrong_values_of_any_step_fail_the_row(monkeypatch, question):
    """The bounds of one step are close enough to each other, but exclude the optimum."""
    given = suites.solve
    for number in {0, KINDS[question] - 1}:

        def wrong(problem, method, *, number=number, **limits):
            solution = given(problem, method, **limits)
            if method.name == "lp":
                return solution
            step = solution.certificate.steps[number]
            return with_steps(solution, number, objective=step.objective + 0.01, upper=step.upper + 0.01)

        monkeypatch.setattr(suites, "solve", wrong)
        exact, compared = rows_of(question, "lp dcfr@1e-3")
        assert exact.passed
        assert "the proven bounds exclude each other" in compared.failure
        assert compared.difference > 5e-3


@few
@pytest.mark.parametrize("question", KINDS)
def test_wrong_certificates_of_all_methods_fail_rows(monkeypatch, question):
    """Linear programming and regret minimisation then agree with each other, but not with HiGHS."""
    for name in ("guaranteed", "allowed"):
        given = getattr(StepProgram, name)
        monkeypatch.setattr(StepProgram, name, lambda self, plan, given=given: given(self, plan) + 0.01)
    exact, compared = rows_of(question, "lp pcfr+@1e-3")
    assert "the optimum of the first step is outside its proven bounds" in exact.failure
    assert compared.passed == (KINDS[question] == 1)


@few
@pytest.mark.parametrize("gadget", GADGETS)
@pytest.mark.parametrize("what", ["inflow", "tilt", "settled"])
def test_a_loop_that_solves_another_game_fails_the_row(monkeypatch, what, gadget):
    given, solved = RegretStepSolver.place, suites.solve

    def misplaced(self, program):
        placed = given(self, program)
        array = placed.tilt if what == "tilt" else getattr(placed.part, what)
        array[:] = 0.0
        return placed

    monkeypatch.setattr(RegretStepSolver, "place", misplaced)
    monkeypatch.setattr(suites, "solve", lambda *a, **limits: solved(*a, **limits, max_iterations=2000))
    _, compared = rows_of(f"cdrnr --opponent uniform --p 1/2 --lookahead 1 --gadget {gadget}", "lp cfr+@1e-3")
    assert "proven error" in compared.failure


def test_steps_that_forget_who_is_free_break_the_guarantee_of_the_last_one(monkeypatch):
    """All methods then solve the same wrong programs correctly."""
    given = runs.whole_game_program
    monkeypatch.setattr(
        runs, "whole_game_program", lambda view, matrix, model, p, *rest: given(view, matrix, model, 1.0, *rest)
    )
    question = "cdrnr --opponent uniform --p 1/4 --lookahead 1"
    for row in rows_of(question, "lp cfr+@1e-3"):
        assert row.error <= row.tolerance
        assert "objective -1.79 below 1.53, the value of the last step's plan" in row.failure


def with_steps(solution, number, **changes):
    found = list(solution.certificate.steps)
    found[number] = dataclasses.replace(found[number], **changes)
    return changed(solution, steps=tuple(found))


def changed(solution, **changes):
    return dataclasses.replace(solution, certificate=dataclasses.replace(solution.certificate, **changes))


@pytest.mark.parametrize("lookahead", [1, 3])
def test_every_guarantee_is_checked(lookahead):
    game = load_game(GAME)
    model = Strategy.uniform(game, 1)
    response = solve(CDBR(game, model, lookahead=lookahead), "cfr+", tol=1e-3)
    safe = solve(CDRNR(game, model, p=0.25, lookahead=lookahead), "dcfr", tol=1e-3)
    mixture = solve(CDBRNE(game, model, p=0.25, lookahead=lookahead), "pcfr+", tol=1e-3)
    resolved = solve(CDRNR(game, model, p=0.5, lookahead=lookahead, gadget="resolving"), "cfr+", tol=1e-3)
    search = solve(SES(game, model, p=0.5), "cfr+", tol=1e-3)
    for solution in (response, safe, mixture, resolved, search):
        assert not list(broken_guarantees(solution, 1e-8))
    low = response.game_value - 0.1
    broken = {
        "the upper bound -0.186 of the first step is below -0.0856, that of an equilibrium strategy": [
            with_steps(solution, 0, upper=low) for solution in (response, safe, mixture, resolved)
        ],
        "the upper bound -0.1 of the first step is below 0, that of an equilibrium strategy": [
            with_steps(search, 0, upper=-0.1)
        ],
        "the upper bound of step 4 is below the value of the plan of step 3": [
            with_steps(solution, 4, upper=solution.steps[3] - 1e-3) for solution in (response, safe, mixture)
        ],
        "objective -0.186 below": [changed(solution, objective=low) for solution in (response, safe)],
        "gain 0.1 below": [changed(mixture, gain=0.1)],
        "exploitability 9 above its bound": [changed(solution, exploitability=9.0) for solution in (safe, mixture)],
    }
    for words, solutions in broken.items():
        for solution in solutions:
            assert any(said.startswith(words) for said in broken_guarantees(solution, 1e-8))


def test_a_local_best_response_guarantees_nothing():
    game = load_game("kuhn")
    solution = solve(LBR(game, Strategy.from_dict(game, 1, {"J_b": {"p": 1}, "Q_b": {"p": 1}, "K_b": {"b": 1}})), "cfr")
    assert not list(broken_guarantees(solution, 0.0))


def test_optima_are_those_that_the_response_itself_came_to():
    """Two responses to one question have different optima from the second step on; each is right about its own."""
    game = load_game(GAME)
    problem = CDRNR(game, Strategy.uniform(game, 1), p=0.1, lookahead=1)
    exact, rough = solve(problem), solve(problem, "cfr+", tol=1e-2)
    found, others = list(step_optima(rough)), list(step_optima(exact))
    assert found[0] == pytest.approx(others[0], abs=1e-9)
    assert found[1:] != pytest.approx(others[1:], abs=1e-4)
    for solution in (exact, rough):
        difference, within = compare_steps(solution, 1e-8)
        assert within
        assert difference <= max(step.gap for step in solution.certificate.steps) + 1e-8
    assert list(step_optima(rough, slice(2, 4))) == pytest.approx(found[2:4], abs=1e-9)


@few
@pytest.mark.parametrize("kind", ["cdbr", "cdbr-ne", "ses", *GADGETS, "none at p = 1"])
def test_optima_and_guarantees_are_in_payoffs_of_the_game_that_was_given(kind):
    game = with_constant(load_game("goofspiel:cards=3"), 5)
    model, gadget = Strategy.uniform(game, 0), kind.partition(" ")[0]
    problem = {
        "cdbr": lambda: CDBR(game, model, lookahead=1),
        "cdbr-ne": lambda: CDBRNE(game, model, p=0.5, lookahead=1),
        "ses": lambda: SES(game, model, p=0.5, level=2),
    }.get(kind, lambda: CDRNR(game, model, p=1 if "=" in kind else 0.5, lookahead=1, gadget=gadget))()
    for method, tolerance in (("lp", 1e-9), ("cfr+", 1e-3)):
        solution = solve(problem, method, tol=tolerance)
        assert solution.player == 1
        assert solution.game_value == pytest.approx(5, abs=1e-9)
        difference, consistent = compare_steps(solution, 1e-8)
        assert consistent
        assert difference <= tolerance + 1e-8
        assert not list(broken_guarantees(solution, 1e-8))
        if kind != "ses":
            assert list(broken_guarantees(with_steps(solution, 0, upper=-0.1), 1e-8))


def test_a_program_that_is_not_solved_is_an_error(monkeypatch):
    game = load_game("kuhn")
    solution = solve(CDBR(game, Strategy.uniform(game, 1), lookahead=1), "cfr+", tol=1e-3)
    monkeypatch.setattr(steps.ProgramStepSolver, "solve", lambda *_: None)
    with pytest.raises(SolverError, match="cdbr on kuhn: the program of step 0: no program was solved"):
        list(step_optima(solution))


# --- styles -----------------------------------------------------------------------------------------------------------

FREE = "style --maximise 0/J_:b"
FIXED = "style --maximise 1/J_p:b"
PREFERRING = {
    FREE: ("pref-cfr:prefer=0/b@first:5@5e-3", "pref-cfr:prefer=(0/J_:b:10,0/K_:b:5),rule=br@5e-3"),
    FIXED: ("pref-cfr:prefer=1/b:5@5e-3", "pref-cfr:prefer=1/b:5,rule=br@5e-3"),
}
CASES = [(question, method) for question, methods in PREFERRING.items() for method in methods]


@pytest.mark.parametrize(("question", "method"), CASES)
def test_rows_of_styles_state_how_far_the_best_is_at_the_same_loss(question, method):
    exact, row = rows_of(question, f"highs-simplex {method}", "kuhn", "1/3")
    assert exact.passed
    assert row.passed
    assert row.error == row.exploitability <= 5e-3
    assert row.difference == abs(row.exact_value - row.value) > 0.0
    assert row.exact_value > exact.value
    # Player 1 has only one equilibrium strategy, so its style is determined; player 0 may bluff or not.
    assert (row.difference < 0.02) == (question == FIXED or "J_" in method)


@pytest.mark.parametrize(("question", "method"), CASES)
def test_spoilt_strategies_fail_the_row(monkeypatch, question, method):
    given = suites.solve

    def spoilt(problem, method, **limits):
        solution = given(problem, method, **limits)
        if not isinstance(method, PrefCFR):
            return solution
        profile = type(solution.profile)(
            Strategy(problem.game, one.player, 0.8 * one.behaviour + 0.2 * one.treeplex.uniform_behaviour())
            for one in solution.profile
        )
        return dataclasses.replace(solution, profile=profile, certificate=problem.certify(profile))

    monkeypatch.setattr(suites, "solve", spoilt)
    exact, row = rows_of(question, f"highs-simplex {method}", "kuhn", "1/3")
    assert exact.passed
    assert "proven error" in row.failure


@pytest.mark.parametrize("spoilt", ["loss", "programs", "value"])
@pytest.mark.parametrize("method", PREFERRING[FIXED])
def test_more_of_a_style_than_the_loss_allows_fails_the_row(monkeypatch, method, spoilt):
    if spoilt == "loss":
        monkeypatch.setattr(suites, "worst_case", lambda game, strategy: 1 / 18)
    elif spoilt == "programs":
        given = suites.style_range
        monkeypatch.setattr(suites, "style_range", lambda game, term, loss, **how: given(game, term, 0.0, **how))
    else:
        given = suites.Functional.value
        monkeypatch.setattr(suites.Functional, "value", lambda self, plans: given(self, plans) + 0.05)
    _, row = rows_of(FIXED, f"highs-simplex {method}", "kuhn", "1/3")
    assert "the proven bounds exclude each other" in row.failure


def test_more_exploitability_than_preferences_explain_fails_the_row(monkeypatch):
    method = PREFERRING[FREE][0]
    given = suites.preference_bound

    def tight(solution):
        bound = given(solution)
        assert bound.nash_conv is not None
        return dataclasses.replace(bound, vulnerability=(0.0, 0.0), finite_run=(1e-3, 1e-3))

    monkeypatch.setattr(suites, "preference_bound", tight)
    _, row = rows_of(FREE, f"highs-simplex {method}", "kuhn", "1/3")
    assert "above 0.002, the bound for these preferences" in row.failure


def test_preferences_that_have_no_effect_are_a_longer_distance_and_no_failure():
    """Theory does not say how far a preference goes, so rows state the distance and do not judge it."""
    _, bold, plain = rows_of(FREE, f"highs-simplex {PREFERRING[FREE][1]} pref-cfr@5e-3", "kuhn", "1/3")
    assert bold.passed
    assert plain.passed
    assert bold.difference < 0.05 < 0.1 < plain.difference


def test_styles_and_equilibria_of_one_game_compare():
    game = load_game("kuhn")
    style = solve(EpsilonSafeStyle(game, epsilon=0, minimise=np.eye(13)[2], player=0))
    timid = solve(Nash(game), PrefCFR("0/p@first:10"), tol=2e-3)
    found = compare_with_style(style, timid, 2e-3)
    assert found.passed
    assert found.exact_objective == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(UnsupportedProblemError, match="received style on kuhn and nash on rps; expected problem style"):
        compare_with_style(style, solve(Nash(load_game("rps"))), 1e-3)
    with pytest.raises(UnsupportedProblemError, match="received nash on kuhn and nash on kuhn"):
        compare_with_style(timid, timid, 1e-3)
    with pytest.raises(UnsupportedProblemError, match="different questions"):
        compare(style, timid, 1e-3)
