"""Comparisons, suites and their reports."""

import dataclasses
import json
import math

import pytest

from treeplex import Nash, SolverError, UnsupportedProblemError, load_game, solve
from treeplex.models.problems import PROBLEMS, Certificate, find_problem
from treeplex.solvers.methods import find_method
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


# Suites


def test_suites_are_sound() -> None:
    assert list(SUITES) == ["quick", "full"]
    for suite in SUITES.values():
        seen: list[str] = []
        for case in suite.cases:
            load_game(case.game)
            find_method(case.method, **case.options)
            assert 0 < case.tolerance <= 1e-2
            if not seen or seen[-1] != case.game:
                assert case.game not in seen, "the cases of a game stand together"
                seen.append(case.game)
                assert case.role != "compared", "the exact case of a game comes first"
            else:
                assert case.role != "exact", "each game is solved exactly once"
    quick = SUITES["quick"].cases
    assert SUITES["full"].cases[: len(quick)] == quick
    used = {case.method for case in quick}
    assert used >= {"highs-simplex", "highs-ipm", "highs-pdlp", "cvxpy", "cfr", "cfr+", "dcfr", "pcfr+"}


def test_games_that_are_solved_exactly_and_small_have_a_reference_value() -> None:
    for case in SUITES["quick"].cases:
        if case.role == "exact":
            assert load_game(case.game).reference_value is not None


def test_unknown_suite() -> None:
    with pytest.raises(UnsupportedProblemError, match="unknown suite 'slow'; expected one of quick, full"):
        find_suite("slow")


def test_reduced_quick_suite() -> None:
    small = {"kuhn", "kuhn:players=3", "rps:rock=3", "goofspiel:cards=4", "leduc:merge_suits=true"}
    cases = tuple(case for case in SUITES["quick"].cases if case.game in small and case.method != "cvxpy")
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
        assert row.exploitability <= case.tolerance
        assert row.method == case.label
        if case.role == "compared":
            exact = next(other for other in rows if other.game == row.game)
            assert row.exact_value == exact.value
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
    def broken(problem: object, method: object, tol: float) -> None:
        raise SolverError("no strategies")

    monkeypatch.setattr(suites, "solve", broken)
    cases = (Case("kuhn", "highs", 1e-9, "exact"), Case("kuhn", "cfr", 1e-3))
    report = run_suite(Suite("broken", "", cases))
    assert [row.failure for row in report.rows] == ["no strategies"] * 2
    assert report.rows[0].to_dict()["value"] is None
    assert "no strategies" in html_page(report)


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
    row = Row("rps", "nash", "cfr", 0.0, 0.0, 0.0, 0.0, 0.0, 1e-3, 5, 0.1, True)
    report = Report("quick", (row,), 1.0, interrupted=True)
    assert not report.passed
    assert report.summary == "1 row on 1 game: all passed, interrupted after 1.0 s"
    assert report.to_dict()["passed"] is False
    assert Report("quick", (), 1.0, interrupted=True).summary == "interrupted before the first row"


@pytest.mark.parametrize("violation", [0.0, None, 1e-4])
def test_page_shows_violations_where_there_are_any(violation: float | None) -> None:
    row = Row("rps", "nash", "cfr", 0.0, 0.0, 0.0, 0.0, violation, 1e-3, 5, 0.1, True)
    page = html_page(Report("quick", (row,), 1.0))
    assert ("violation</th>" in page) == bool(violation)
    headings, cells = page.count("<th "), page.count("<td>")
    assert headings == cells == 8 + bool(violation)
    assert page.index(">verdict</th>") < page.index(">method</th>")


def test_problems_are_found_by_name() -> None:
    assert find_problem("nash") is Nash
    assert all(find_problem(name).name == name for name in PROBLEMS)
    with pytest.raises(
        UnsupportedProblemError, match=r"unknown problem 'Nahs' \(did you mean nash\?\); expected one of"
    ):
        find_problem("Nahs")


def test_row_in_json_and_html() -> None:
    row = Row("<game>", "nash", "cfr", (1.0, math.nan), None, None, 0.0, 0.0, 1e-3, 5, 0.1, False, failure="a < b")
    assert row.to_dict()["value"] == [1.0, None]
    page = html_page(Report("<suite>", (row,), 1.0))
    assert "<game>" not in page
    assert "&lt;game&gt;" in page
    assert "a &lt; b" in page


def test_page_shows_no_minus_before_zero() -> None:
    row = Row("rps", "nash", "cfr", -1e-17, 0.0, 1e-17, 0.0, 0.0, 1e-3, 5, 0.1, True)
    page = html_page(Report("quick", (row,), 1.0))
    assert "<td>0.000000000000</td>" in page
    assert "-0.0" not in page
