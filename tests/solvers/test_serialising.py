"""Writing an answer down computes nothing: whatever it says was found before."""

import importlib
import json

import highspy
import pytest

from treeplex import (
    CDRNR,
    ConstrainedNash,
    Nash,
    RestrictedNash,
    Strategy,
    frequency,
    load_game,
    reach_style,
    solve,
)
from treeplex.models.constraints import parse_constraint
from treeplex.solvers import calibrate_style, trade_off

KUHN = load_game("kuhn")
UNIFORM = Strategy.uniform(KUHN, 1)


def constrained(*texts, **how):
    constraints = [one for text in texts for one in parse_constraint(text, KUHN)]
    return solve(ConstrainedNash(KUHN, constraints), **how)


ANSWERS = {
    "equilibrium": lambda: solve(Nash(KUHN)),
    "equilibrium in fractions": lambda: solve(Nash(KUHN), "rational"),
    "equilibrium by regrets": lambda: solve(Nash(KUHN), "cfr+"),
    "preferred equilibrium": lambda: solve(Nash(KUHN), "pref-cfr"),
    "constrained": lambda: constrained("0/J_:b <= 0.1"),
    "constrained by regrets": lambda: constrained("0/J_:b <= 0.1", method="ccfr"),
    "not feasible": lambda: constrained("0/J_:b <= 0.1", "0/J_:b >= 0.2"),
    "response": lambda: solve(RestrictedNash(KUHN, UNIFORM, p=0.5)),
    "depth-limited": lambda: solve(CDRNR(KUHN, UNIFORM, p=0.5, lookahead=1)),
    "style": lambda: reach_style(KUHN, "b@first >= 0.3"),
    "style out of reach": lambda: reach_style(KUHN, "b@first >= 0.99", max_loss=0.0),
    "calibration": lambda: calibrate_style(KUHN, "b@first >= 0.6", 0.05, iterations=30),
    "curve": lambda: trade_off(KUHN, frequency(KUHN, 0, "bet")),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_writing_an_answer_down_solves_nothing(answer, monkeypatch):
    found = ANSWERS[answer]()

    def refuse(*_args, **_options):
        raise AssertionError("something is solved")

    monkeypatch.setattr(highspy.Highs, "run", refuse)
    monkeypatch.setattr(importlib.import_module("treeplex.solvers.solve"), "_timed", refuse)
    with pytest.raises(AssertionError, match="something is solved"):
        solve(Nash(KUHN))
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()
