"""Comparisons, suites and their reports."""

import dataclasses
import json
import math
from fractions import Fraction

import networkx as nx
import pytest
from effort import thorough

from treeplex import CDRNR, Nash, SolverError, Strategy, UnsupportedProblemError, load_game, solve
from treeplex.models.depth_limited import GADGETS
from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
from treeplex.models.problems import PROBLEMS, Certificate, find_problem
from treeplex.models.problems.stepped import SteppedResponse
from treeplex.validation import (
    SUITES,
    Case,
    Report,
    Row,
    Suite,
    compare,
    compare_with_value,
    find_suite,
    run_suite,
    suites,
)
from treeplex.validation.html_page import html_page
from treeplex.validation.questions import Question
from treeplex.validation.steps import step_optima


@pytest.fixture(scope="module")
def problem() -> Nash:
    return Nash(load_game("kuhn"))


def with_certificate(solution, **changes):
    changed: Certificate = dataclasses.replace(solution.certificate, **changes)
    return dataclasses.replace(solution, certificate=changed)


def test_comparison_of_good_answers(problem: Nash) -> None:
    exact, iterative = solve(problem, "highs"), solve(problem, "dcfr", tol=1e-4)
    comparison = compare(exact, iterative, 1e-4)
    assert comparison.passed
    assert comparison.consistent
    assert comparison.failures == ()
    assert comparison.difference == abs(exact.value - iterative.value)
    assert comparison.error == iterative.exploitability
    assert comparison.exact_error == exact.exploitability
    assert comparison.violation == 0.0


def test_comparison_sees_a_bad_iterative_answer(problem: Nash) -> None:
    exact, rough = solve(problem, "highs"), solve(problem, "cfr", tol=0, max_iterations=3)
    comparison = compare(exact, rough, 1e-4)
    assert not comparison.passed
    assert comparison.consistent
    assert any(text.startswith("proven error") for text in comparison.failures)
    assert 1e-4 < comparison.difference <= comparison.gap


def test_comparison_sees_a_bad_exact_answer(problem: Nash) -> None:
    rough, good = solve(problem, "cfr", tol=0, max_iterations=3), solve(problem, "dcfr", tol=1e-4)
    assert any("exact solution" in text for text in compare(rough, good, 1e-4).failures)


def test_bounds_that_exclude_each_other_fail_at_any_tolerance(problem: Nash) -> None:
    exact, iterative = solve(problem, "highs"), solve(problem, "dcfr", tol=1e-4)
    wrong = with_certificate(iterative, lower=0.1, upper=0.2)
    comparison = compare(exact, wrong, 10.0)
    assert not comparison.consistent
    assert comparison.failures == ("the proven bounds exclude each other",)
    assert not compare(with_certificate(exact, lower=0.1, upper=0.2), iterative, 10.0).passed


def test_bounds_of_responses_in_steps_are_those_of_the_first(problem: Nash) -> None:
    """Bounds of the last step hold with all decisions before it as they are, and these differ from run to run."""
    posed = CDRNR(problem.game, Strategy.uniform(problem.game, 1), p=0.1, lookahead=1)
    exact, iterative = solve(posed), solve(posed, "cfr+", tol=1e-3)
    assert iterative.upper < exact.lower
    assert compare(exact, iterative, 1e-2).passed
    first, *rest = iterative.certificate.steps
    wrong = (dataclasses.replace(first, objective=first.objective + 1.0, upper=first.upper + 1.0), *rest)
    assert not compare(exact, with_certificate(iterative, steps=wrong), 10.0).consistent


def test_violation_and_nan_fail(problem: Nash) -> None:
    exact, iterative = solve(problem, "highs"), solve(problem, "dcfr", tol=1e-4)
    violating = with_certificate(iterative, violations={"risk": 0.5})
    assert compare(exact, violating, 1e-4).failures == ("violation 0.5 above 0.0001",)
    assert compare(violating, iterative, 1e-4).violation == 0.5
    assert not compare(exact, with_certificate(iterative, exploitability=math.nan), 1e-4).passed
    assert not compare(exact, with_certificate(iterative, objective=math.nan), 1e-4).passed


def test_only_answers_to_one_question_compare(problem: Nash) -> None:
    exact = solve(problem, "highs")
    with pytest.raises(UnsupportedProblemError, match="different questions: nash on kuhn and nash on rps"):
        compare(exact, solve(Nash(load_game("rps")), "highs"), 1e-4)
    three = solve(Nash(load_game("kuhn:players=3")), "cfr+", tol=1e-2)
    with pytest.raises(UnsupportedProblemError, match="no objective"):
        compare(three, three, 1e-4)


def test_comparison_with_a_value(problem: Nash) -> None:
    exact = solve(problem, "highs")
    assert compare_with_value(exact, -1 / 18, 1e-9).passed
    assert compare_with_value(exact, -0.0556, 1e-4, digits=5e-5).passed
    comparison = compare_with_value(exact, -0.05, 1e-2)
    assert comparison.difference <= 1e-2
    assert not comparison.consistent


def test_responses_in_steps_compare_step_by_step() -> None:
    """The first step with that of the exact response, later ones with their own linear programs."""
    game = load_game("leduc:merge_suits=true")
    problem = CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=2)
    exact, iterative = solve(problem, "lp"), solve(problem, "cfr+", tol=1e-3)
    comparison = compare(exact, iterative, 1e-3)
    optima = [exact.steps[0], *list(step_optima(iterative))[1:]]
    largest = max(abs(found - best) for found, best in zip(iterative.steps, optima, strict=True))
    assert comparison.difference == pytest.approx(largest, abs=1e-9)
    assert comparison.difference <= max(step.gap for step in iterative.certificate.steps) <= 1e-3
    assert (comparison.objective, comparison.exact_objective) == (iterative.objective, exact.objective)
    assert comparison.passed


# Suites


def test_suites_are_sound() -> None:
    assert list(SUITES) == ["quick", "full"]
    quick, full = SUITES["quick"].cases, SUITES["full"].cases
    assert full[: len(quick)] == quick
    questions: list[tuple[str, str]] = []
    for part in (quick, full[len(quick) :]):
        games: list[str] = []
        for case in part:
            load_game(case.game)
            case.chosen_method()
            assert 0 < case.tolerance <= 1e-2
            if not games or games[-1] != case.game:
                assert case.game not in games, "the cases of a game stand together"
                games.append(case.game)
            if not questions or questions[-1] != (case.game, case.asked):
                assert (case.game, case.asked) not in questions, "and among them those of a question"
                questions.append((case.game, case.asked))
                assert case.role != "compared", "the exact case of a question comes first"
            else:
                assert case.role != "exact", "each question is solved exactly once"
            assert case.reference is None or case.role == "exact"
    used = {case.method for case in quick}
    assert used >= {
        "highs-simplex",
        "highs-ipm",
        "highs-pdlp",
        "cvxpy",
        "rational",
        "cfr",
        "cfr+",
        "dcfr",
        "pcfr+",
        "ccfr",
    }
    assert any(case.near is not None and case.method == "ccfr" for case in quick), "convex constraints are checked"
    rules = [case.options.get("rule", "rm") for case in quick if case.problem == "style" and "prefer" in case.options]
    assert {*rules} == {"rm", "br"}
    # That of patrols needs a map, which no text of a game has.
    assert {case.problem for case in quick} == set(PROBLEMS) - {"caught-once"}, "every other problem is checked"


def test_every_step_solver_is_held_to_every_response_in_steps() -> None:
    stepped = [case for case in SUITES["full"].cases if issubclass(PROBLEMS[case.problem], SteppedResponse)]
    for game in ("kuhn", "leduc", "goofspiel:cards=4", "liars_dice"):
        asked: dict[str, set[str]] = {}
        for case in stepped:
            if case.game == game:
                (gadget,) = case.question.get("gadget", ("full",))
                asked.setdefault(f"{case.problem} {gadget}", set()).add(case.method)
        kinds = {f"cdrnr {gadget}" for gadget in GADGETS} | {"cdbr full", "cdbr-ne full", "ses full"}
        assert set(asked) == kinds | ({"lbr full"} if game in ("kuhn", "leduc") else set())
        assert set(map(frozenset, asked.values())) == {frozenset({"lp", "cfr", "cfr+", "dcfr", "pcfr+"})}
    values = {word: {case.question.get(word) for case in stepped} for word in ("player", "lookahead", "opponent", "p")}
    assert {word: len(found) for word, found in values.items()} == {"player": 2, "lookahead": 5, "opponent": 4, "p": 6}


def test_games_that_are_solved_exactly_and_small_have_a_reference_value() -> None:
    for case in SUITES["quick"].cases:
        if case.role == "exact" and case.problem == "nash":
            assert load_game(case.game).reference_value is not None


def test_unknown_suite() -> None:
    with pytest.raises(UnsupportedProblemError, match="unknown suite 'slow'; expected one of quick, full"):
        find_suite("slow")


@thorough
def test_reduced_quick_suite() -> None:
    small = {"kuhn", "kuhn:players=3", "rps:rock=3", "goofspiel:cards=4", "leduc:merge_suits=true"}
    cases = tuple(
        case
        for case in SUITES["quick"].cases
        if case.game in small and (case.role == "exact" or case.method != "cvxpy")
    )
    rows: list[Row] = []
    begun: list[Case] = []
    report = run_suite(Suite("reduced", "", cases), on_row=rows.append, on_case=begun.append)
    assert not report.failed_rows
    assert report.passed
    assert tuple(rows) == report.rows
    assert tuple(begun) == cases
    assert {row.game for row in rows} == small
    for row, case in zip(rows, cases, strict=True):
        assert row.exploitability is not None
        assert row.exploitability <= case.tolerance or case.problem != "nash"
        assert row.error is not None
        assert row.error <= case.tolerance
        assert (row.problem, row.question, row.method) == (case.problem, case.asked, case.label)
        if case.role == "compared" and (case.problem, case.method) != ("style", "pref-cfr"):
            exact = next(other for other in rows if (other.game, other.question) == (row.game, row.question))
            assert row.exact_value == exact.value
            if issubclass(PROBLEMS[case.problem], SteppedResponse):  # whose later steps may differ
                assert row.difference <= case.tolerance
            else:
                assert row.difference == abs(row.value - exact.value)
    json.dumps(report.to_dict(), allow_nan=False)


@pytest.mark.slow
def test_quick_suite() -> None:
    report = run_suite("quick")
    assert not report.failed_rows


def test_row_fails_where_the_tolerance_is_not_met(monkeypatch: pytest.MonkeyPatch) -> None:
    given = suites.solve
    monkeypatch.setattr(suites, "solve", lambda *a, **options: given(*a, **options | {"tol": 0.1}))
    cases = (
        Case("kuhn", "highs", 1e-9, "exact"),
        Case("kuhn", "cfr", 1e-6),
        Case("kuhn:players=3", "cfr", 1e-6, "alone"),
    )
    report = run_suite(Suite("rough", "", cases))
    assert [row.passed for row in report.rows] == [True, False, False]
    assert not report.passed
    assert "above 1e-06" in report.rows[1].failure
    assert report.rows[2].failure.startswith("proven error")
    assert report.summary.startswith("3 rows on 2 games: 2 failed")


def test_method_that_breaks_down_is_a_failed_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(problem: object, method: object, **limits: object) -> None:
        raise SolverError("no strategies")

    monkeypatch.setattr(suites, "solve", broken)
    cases = (Case("kuhn", "highs", 1e-9, "exact"), Case("kuhn", "cfr", 1e-3))
    report = run_suite(Suite("broken", "", cases))
    assert [row.failure for row in report.rows] == ["no strategies"] * 2
    assert report.rows[0].to_dict()["value"] is None
    assert "no strategies" in html_page(report).to_html()


def test_compared_without_an_exact_solution_fails() -> None:
    report = run_suite(Suite("alone", "", (Case("kuhn", "dcfr", 1e-3),)))
    assert not report.passed
    assert "no exact solution" in report.rows[0].failure


def test_interrupted_solve_ends_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    given = suites.solve
    monkeypatch.setattr(suites, "solve", lambda *a, **options: given(*a, **options, callback=lambda report: True))
    with pytest.raises(KeyboardInterrupt):
        run_suite(Suite("interrupted", "", (Case("leduc:merge_suits=true", "cfr", 1e-12, "alone"),)))


def test_empty_report_is_no_pass() -> None:
    report = Report("none", (), 0.0)
    assert not report.passed
    assert report.to_dict() == {"passed": False, "suite": "none", "rows": []}


def test_interrupted_report_is_no_pass() -> None:
    row = Row("rps", "nash", "cfr", 0.0, 0.0, 0.0, 0.0, 0.0, 1e-3, 5, 0.1)
    report = Report("quick", (row,), 1.0, interrupted=True)
    assert not report.passed
    assert report.summary == "1 row on 1 game: all passed, interrupted after 1.0 s"
    assert report.to_dict()["passed"] is False
    assert Report("quick", (), 1.0, interrupted=True).summary == "interrupted before the first row"


@pytest.mark.parametrize("violation", [0.0, None, 1e-4])
def test_page_shows_violations_where_there_are_any(violation: float | None) -> None:
    row = Row("rps", "nash", "cfr", 0.0, 0.0, 0.0, 0.0, violation, 1e-3, 5, 0.1)
    page = html_page(Report("quick", (row,), 1.0)).to_html()
    assert ("violation</th>" in page) == bool(violation)
    headings, cells = page.count("<th "), page.count("<td ") + page.count("<td>") - page.count("colspan")
    assert headings == cells == 8 + bool(violation)
    assert page.index(">verdict</th>") < page.index(">method</th>")


def test_problems_are_found_by_name() -> None:
    assert find_problem("nash") is Nash
    assert all(find_problem(name).name == name for name in PROBLEMS)
    with pytest.raises(
        UnsupportedProblemError, match=r"unknown problem 'Nahs' \(did you mean nash\?\); expected one of"
    ):
        find_problem("Nahs")


RNR = {"opponent": "uniform", "p": "1/2"}


def test_rows_are_held_to_known_objectives_and_to_the_exact_solution() -> None:
    cases = (
        Case("kuhn", "highs", 1e-9, "exact", problem="rnr", question=RNR, reference=5 / 36),
        Case("kuhn", "rational", 1e-12, problem="rnr", question=RNR),
        Case(
            "kuhn", "highs", 1e-9, "exact", problem="rnr", question=RNR | {"p": "0.75"}, reference=0.2917, digits=5e-5
        ),
        Case("kuhn", "highs", 1e-9, "exact", problem="rnr", question=RNR | {"player": "1"}, reference=0.2),
    )
    rows = run_suite(Suite("responses", "", cases)).rows
    assert [row.passed for row in rows] == [True, True, True, False]
    assert [row.question for row in rows][::2] == ["rnr --opponent uniform --p 1/2", "rnr --opponent uniform --p 0.75"]
    assert rows[1].exact_value == rows[0].value
    assert rows[2].difference is not None
    assert 1e-9 < rows[2].difference <= 5e-5
    assert "difference" in rows[3].failure
    assert "the proven bounds exclude each other" in rows[3].failure


def test_questions_about_one_game_are_not_mixed() -> None:
    compared = Case("kuhn", "cvxpy", 1e-6, problem="rnr", question=RNR | {"p": "0.9"})
    cases = (Case("kuhn", "highs", 1e-9, "exact", problem="rnr", question=RNR), compared)
    rows = run_suite(Suite("mixed", "", cases)).rows
    assert rows[1].failure == "there is no exact solution to compare with"


def test_violations_that_are_paid_for_are_no_failures() -> None:
    question = {"constrain": ("0/J_:b>=0.5",), "penalty": "1/20"}
    methods = (("highs", "exact"), ("cvxpy", "compared"))
    cases = tuple(Case("kuhn", name, 1e-6, role, problem="constrained", question=question) for name, role in methods)
    report = run_suite(Suite("paid", "", cases))
    assert report.passed
    assert min(row.violation for row in report.rows) > 0.1


def test_constraints_that_cannot_be_met_fail_the_row() -> None:
    question = {"constrain": ("0/J_:b>=0.7 as often", "0/J_:b<=0.4 as seldom")}
    case = Case("kuhn", "highs", 1e-9, "exact", problem="constrained", question=question)
    (row,) = run_suite(Suite("infeasible", "", (case,))).rows
    assert not row.passed
    assert row.value is None
    assert "often, seldom exclude each other" in row.failure


def test_page_shows_what_a_row_asks() -> None:
    case = Case("kuhn", "highs", 1e-9, "exact", problem="constrained", question={"constrain": ("0/K_:b<=0.5",)})
    page = html_page(run_suite(Suite("asked", "", (case,)))).to_html()
    assert "<code>constrained --constrain '0/K_:b&lt;=0.5'</code>" in page


def test_rows_show_the_error_that_is_held_to_the_tolerance() -> None:
    bounds = ("0/K_:b<=0.5", "0/J_:b>=0.3")
    case = Case("kuhn", "highs", 1e-9, "exact", problem="constrained", question={"constrain": bounds})
    report = run_suite(Suite("bound", "", (case,)))
    (row,) = report.rows
    # Free play is better than bounded play, which is no error of the solution.
    assert row.passed
    assert row.exploitability == pytest.approx(7 / 90)
    assert row.error <= row.tolerance
    page = html_page(report).to_html()
    assert ">proven error</th>" in page
    assert "7.8e-02" not in page


def test_row_in_json_and_html() -> None:
    row = Row("<game>", "nash", "cfr", (1.0, math.nan), None, None, 0.0, 0.0, 1e-3, 5, 0.1, failure="a < b")
    assert row.to_dict()["value"] == [1.0, None]
    page = html_page(Report("<suite>", (row,), 1.0)).to_html()
    assert "<game>" not in page
    assert "&lt;game&gt;" in page
    assert "a &lt; b" in page


def test_page_shows_no_minus_before_zero() -> None:
    row = Row("rps", "nash", "cfr", -1e-17, 0.0, 1e-17, 0.0, 0.0, 1e-3, 5, 0.1)
    page = html_page(Report("quick", (row,), 1.0)).to_html()
    assert "<td>0.000000000000</td>" in page
    assert "-0.0" not in page


# Questions


def test_every_problem_can_be_posed_in_words() -> None:
    words = {
        "opponent": "uniform",
        "p": "1/3",
        "epsilon": "1/18",
        "constrain": ("0/K_:b<=0.5", "0/J_:b>=0.3"),
        "maximise": "0/J_:b",
        "lookahead": "1",
        "gadget": "resolving",
        "along": "path",
        "level": "2",
        "steps": "3",
        "scenario": ("kuhn", "kuhn"),
        "rationality": "2",
        "refine": "proper",
    }
    takes = {
        "nash": ("refine",),
        "epsilon-nash": (),
        "constrained": ("constrain",),
        "best-response": ("opponent",),
        "rnr": ("opponent", "p"),
        "data-biased": ("opponent", "p"),
        "robust": ("opponent", "p"),
        "epsilon-safe": ("opponent", "epsilon"),
        "uncertain": ("scenario",),
        "best-nash": ("opponent", "refine"),
        "style": ("maximise", "epsilon"),
        "cdbr": ("opponent", "lookahead"),
        "cdrnr": ("opponent", "p", "lookahead", "gadget", "along"),
        "cdbr-ne": ("opponent", "p", "lookahead"),
        "ses": ("opponent", "p", "level"),
        "lbr": ("opponent",),
        "stackelberg": (),
        "efce": (),
        "sefce": (),
        "efcce": (),
        "nfcce": (),
        "nfce": (),
        "simplify": ("steps",),
        "qre": ("rationality",),
    }
    assert {*takes, "caught-once"} == set(PROBLEMS)  # a patrol alone has routes
    game = load_game("kuhn")
    for name, needed in takes.items():
        question = Question(name, **{word: words[word] for word in needed})
        assert question.text.split()[0] == name
        posed = question.pose(game)
        assert isinstance(posed, find_problem(name))
        assert solve(posed).status == "optimal"


def test_the_constraints_of_a_game_do_for_those_that_are_not_given() -> None:
    road = nx.path_graph(["gate", "mill", "bank"])
    attackers = [Attacker(["gate"], {"bank": 3.0})]
    limited = PatrolGame(
        road, steps=2, units=[Unit(base="mill")], attackers=attackers, limits=["workload(unit 1) <= 1 as rest"]
    )
    posed = Question("constrained").pose(limited)
    assert [one.name for one in posed.constraints] == ["rest"]
    with pytest.raises(UnsupportedProblemError, match="constrained needs --constrain"):
        Question("constrained").pose(load_game("kuhn"))
    assert [one.name for one in Question("stackelberg").pose(limited).constraints] == ["rest"]
    with pytest.raises(UnsupportedProblemError, match="has constraints, which lbr does not take"):
        Question("lbr", opponent=["uniform"]).pose(limited)
    with pytest.raises(UnsupportedProblemError, match="has constraints, which nash --refine does not take"):
        Question("nash", refine="proper").pose(limited)


def test_words_that_may_be_repeated_are_read_one_by_one() -> None:
    game = load_game("kuhn")
    for question in (
        Question("robust", opponent=["uniform", "nash"], p="1/2"),
        Question("robust:opponent=(uniform,nash),p=1/2"),
    ):
        assert question.text == "robust --opponent uniform --opponent nash --p 1/2"
        assert [model.player for model in question.pose(game).opponents] == [1, 1]
    assert Question("rnr", opponent=["uniform"], p="1").text == "rnr --opponent uniform --p 1"
    with pytest.raises(UnsupportedProblemError, match="rnr takes --opponent only once, got uniform, nash"):
        Question("rnr", opponent=["uniform", "nash"], p="1")


def test_numbers_are_posed_exactly() -> None:
    game = load_game("kuhn")
    assert Question("rnr", opponent="uniform", p="1/3").pose(game).p == Fraction(1, 3)
    assert Question("epsilon-safe", opponent="uniform", epsilon="0.1").pose(game).epsilon == Fraction(1, 10)
    assert Question("style", maximise="0/J_:b").pose(game).epsilon == 0


def test_a_question_says_what_was_given_in_the_words_of_the_command_line() -> None:
    question = Question("constrained", constrain=["0/K_:b <= 0.5 as few", "0/J_:b>=0.3"], penalty="2")
    assert question.text == "constrained --constrain '0/K_:b <= 0.5 as few' --constrain '0/J_:b>=0.3' --penalty 2"
    assert repr(question).startswith("Question(")
    assert Question("rnr", opponent="uniform", p="1/2", player=1).text == "rnr --opponent uniform --p 1/2 --player 1"
    assert Question("nash").text == "nash"
