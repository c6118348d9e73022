"""The experiments on the bot of the report."""

import dataclasses

import numpy as np
import pytest
from effort import thorough
from figures import reproduced

from treeplex.validation.papers import nlhe_bot_exploited, nlhe_bot_samples, nlhe_bot_tuning


def test_tuning_improves_exactly_and_most_rises_that_matches_show_are_none() -> None:
    exact, matches = reproduced("nlhe-bot-tuning").rows
    assert (exact.judge, matches.judge) == ("exact", "matches")
    assert exact.passed
    assert exact.after > exact.before + 0.1
    assert exact.believed == pytest.approx(exact.after - exact.before)
    assert exact.noise == 0 < matches.noise
    assert matches.mistaken > 0.5
    assert exact.mistaken == 0
    assert exact.idle > 0.5


def test_tuning_that_changes_nothing_does_not_pass() -> None:
    run = nlhe_bot_tuning.TuningRow(
        *("cautious", "uniform", "exact"), *(0.6, 0.6, 0.6, 0.8, 0.0), *(0.5, 0.5, 10, 1.0, 0.0, 0.0, None)
    )
    assert "expected an improvement" in nlhe_bot_tuning._over_runs([run]).failure
    sure = dataclasses.replace(run, judge="matches", mistaken=0.2)
    assert "expected more than half" in nlhe_bot_tuning._over_runs([sure]).failure
    assert nlhe_bot_tuning._over_runs([run, dataclasses.replace(run, after=1.2)]).after == pytest.approx(0.9)


def test_restricted_responses_take_most_of_the_gain_for_little() -> None:
    rows = {row.response: row for row in reproduced("nlhe-bot-exploited").rows}
    assert rows["best response"].share == pytest.approx(1.0, abs=0.05)
    for name in ("RNR", "CDRNR"):
        assert rows[name].passed
        assert 0.5 < rows[name].share <= 1.0
        assert rows[name].risk < 0.2 < rows["best response"].risk


def test_responses_that_take_little_or_risk_much_do_not_pass() -> None:
    answer = nlhe_bot_exploited.Exploited(0.5, gain=0.1, exploitability=2.0)
    row = nlhe_bot_exploited._row(0, "RNR", [answer], 1.0, 4.0)
    assert "expected over 50%" in row.failure
    assert "expected below 20%" in row.failure
    assert nlhe_bot_exploited._row(0, "best response", [answer], 1.0, 4.0).passed


@thorough
def test_more_samples_come_closer_to_exact_values() -> None:
    few, some, many = reproduced("nlhe-bot-samples").rows[3:]
    assert few.error > 3 * some.error > 5 * many.error
    assert few.changed > many.changed
    assert many.worst < 0.05


def test_errors_that_samples_do_not_explain_do_not_pass() -> None:
    exact = np.linspace(-0.9, 0.9, 40)
    bounds = (-0.1, 0.3, 0.8)
    row = nlhe_bot_samples._row("turn", 10_000, exact + 0.02, exact, bounds)
    assert "error 0.0200, expected at most" in row.failure
    assert nlhe_bot_samples._row("turn", 1_000, exact + 0.02, exact, bounds).passed
    experiment = nlhe_bot_samples.NLHEBotSamples()
    assert [str(each.status) for each in experiment.claims([row])] == ["not met"]
