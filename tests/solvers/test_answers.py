"""The answer sheet of a solution: what print, the terminal, pages and JSON tell is one answer."""

from fractions import Fraction

import pytest

from treeplex import (
    BestResponse,
    ConstrainedNash,
    Game,
    Nash,
    RestrictedNash,
    SequenceForm,
    Strategy,
    load_game,
    solve,
)
from treeplex.cli import main
from treeplex.models.constraints import parse_constraint
from treeplex.models.problems import EpsilonNash
from treeplex.seqform.sheet import typeset
from treeplex.solvers.answers import found_rows, solution_sheet

KUHN = load_game("kuhn")
SHARES = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[7, 4], [4, 6]], [[3, 6], [6, 4]]))
CLASHING = ("0/J_:b >= 0.7 as often", "0/J_:b <= 0.4 as seldom")
#: Rows whose values the JSON has in another form.
OTHERWISE = {"problem", "proven_bounds", "steps", "step_gaps", "regrets", "prices", "sequences", "error", "penalty"}


def constrained(*texts, **how):
    return ConstrainedNash(KUHN, [each for text in texts for each in parse_constraint(text, KUHN)], **how)


CASES = {
    "nash": (Nash(KUHN), "highs"),
    "exact": (Nash(KUHN), "rational"),
    "limited": (Nash(KUHN), "cfr+"),
    "constant": (Nash(SHARES), "highs"),
    "constrained": (constrained("0/K_:b <= 1/2 as king"), "highs"),
    "penalty": (constrained("0/J_:b >= 1/2 as bluff", penalty=0.05), "highs"),
    "infeasible": (constrained(*CLASHING), "highs"),
    "response": (BestResponse(KUHN, Strategy.uniform(KUHN, 1)), "highs"),
    "restricted": (RestrictedNash(KUHN, Strategy.uniform(KUHN, 1), p=Fraction(1, 2)), "rational"),
}


@pytest.fixture(params=CASES)
def solution(request):
    problem, method = CASES[request.param]
    return solve(problem, method, **({"max_iterations": 50, "tol": 1e-9} if request.param == "limited" else {}))


def test_the_json_has_the_values_of_all_rows(solution):
    record = solution.to_dict()
    for row in solution_sheet(solution).rows:
        if row.key in OTHERWISE:
            continue
        told = record[row.key]
        if isinstance(row.value, float | Fraction):
            assert told == pytest.approx(float(row.value), abs=1e-15)
        elif row.key != "seconds":
            assert told == (list(row.value) if isinstance(row.value, tuple) else row.value)


def test_print_and_a_page_show_the_same_rows(solution):
    assert str(solution) == str(solution_sheet(solution))
    page = solution.report().to_html()
    for row in found_rows(solution).rows:
        assert f"<dt>{row.name}</dt><dd>{row.on_page}</dd>" in page
        assert row.on_page == typeset(row.text)


def test_the_terminal_prints_the_rows_of_print(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")  # so that the seconds stay on a line, however many parts of them there are
    assert main(["solve", "kuhn", "--problem", "constrained", "--constrain", "0/K_:b <= 1/2 as king"]) == 0
    shown = capsys.readouterr().out.splitlines()
    same = str(solve(CASES["constrained"][0])).splitlines()
    assert [line for line in shown if not line.startswith("seconds")] == [
        line for line in same if not line.startswith("seconds")
    ]


def test_what_is_held_against_the_tolerance_says_so_itself():
    """With a penalty that is the gap, and not the exploitability, whose digits begin with those of a gap of 0."""
    rows = dict(solve(CASES["penalty"][0]).rows())
    assert rows["gap"].endswith("at most the tolerance of 2e-08")
    assert "tolerance" not in rows["exploitability"]


def test_an_approximate_equilibrium_shows_its_largest_regret():
    found = solve(
        EpsilonNash(Game.from_sequence_form(SequenceForm.from_payoff_matrix([[2, 0], [0, 1]], [[1, 0], [0, 2]])))
    )
    rows = dict(found.rows())
    assert rows["ε-Nash"].startswith("ε ")
    assert "tolerance" in rows["ε-Nash"]
    assert "proven bounds" not in rows
