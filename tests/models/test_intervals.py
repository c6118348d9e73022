"""Intervals for a proportion: known numbers, laws, and how often they hold what they are to hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from treeplex import InvalidConstraintError
from treeplex.models.observations import clopper_pearson_intervals, proportion_intervals, wilson_intervals

NAMES = ("wilson", "clopper-pearson")
SCIPY = {"wilson": "wilson", "clopper-pearson": "exact"}


@pytest.mark.parametrize(
    ("successes", "trials", "lower", "upper"),
    [(5, 10, 0.236593, 0.763407), (0, 100, 0.0, 0.036993), (100, 100, 0.963007, 1.0), (0, 0, 0.0, 1.0)],
)
def test_wilson_has_the_known_numbers(successes: int, trials: int, lower: float, upper: float) -> None:
    interval = wilson_intervals(successes, trials, 0.95)
    assert interval.lower == pytest.approx(lower, abs=5e-7)
    assert interval.upper == pytest.approx(upper, abs=5e-7)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_both_agree_with_scipy(name: str, confidence: float) -> None:
    cases = [(s, n) for n in (1, 2, 7, 40, 1000) for s in sorted({0, 1, n // 3, n // 2, n - 1, n})]
    found = proportion_intervals(name, [s for s, _ in cases], [n for _, n in cases], confidence)
    for place, (successes, trials) in enumerate(cases):
        expected = stats.binomtest(successes, trials).proportion_ci(confidence, method=SCIPY[name])
        assert found.lower[place] == pytest.approx(expected.low, abs=1e-10)
        assert found.upper[place] == pytest.approx(expected.high, abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
@given(trials=st.integers(0, 10**9), share=st.floats(0, 1), confidence=st.floats(1e-6, 1 - 1e-9))
def test_an_interval_holds_the_share_and_stays_within_0_and_1(
    name: str, trials: int, share: float, confidence: float
) -> None:
    successes = min(trials, int(share * trials))
    interval = proportion_intervals(name, successes, trials, confidence)
    observed = successes / trials if trials else 0.5
    assert 0.0 <= float(interval.lower) <= observed * (1 + 1e-12)
    assert observed <= float(interval.upper) * (1 + 1e-12) <= 1.0 + 1e-12
    mirrored = proportion_intervals(name, trials - successes, trials, confidence)
    assert float(mirrored.lower) == pytest.approx(1 - float(interval.upper), abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_intervals_are_wider_for_more_confidence_and_for_more_comparisons(name: str) -> None:
    successes, trials = np.arange(0, 31), 30
    narrow, wide, many = (
        proportion_intervals(name, successes, trials, 0.9),
        proportion_intervals(name, successes, trials, 0.99),
        proportion_intervals(name, successes, trials, 0.9, comparisons=10),
    )
    assert (wide.lower <= narrow.lower).all()
    assert (wide.upper >= narrow.upper).all()
    assert many.lower == pytest.approx(wide.lower)  # 1 − (1 − 0.9) / 10 = 0.99
    assert many.upper == pytest.approx(wide.upper)


def coverage(name: str, trials: int, confidence: float, shares: np.ndarray) -> np.ndarray:
    """Return the exact probability, at each share, that the interval holds it."""
    successes = np.arange(trials + 1)
    interval = proportion_intervals(name, successes, trials, confidence)
    held = (interval.lower <= shares[:, None]) & (shares[:, None] <= interval.upper)
    return np.sum(held * stats.binom.pmf(successes, trials, shares[:, None]), axis=1)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("trials", [1, 5, 20, 100, 317])
def test_clopper_and_pearson_hold_every_share_as_often_as_they_say(trials: int, confidence: float) -> None:
    shares = np.linspace(0, 1, 2001)
    assert coverage("clopper-pearson", trials, confidence, shares).min() >= confidence - 1e-12


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_holds_shares_as_often_as_it_says_on_the_average_but_not_everywhere(confidence: float) -> None:
    shares = np.linspace(0.0005, 0.9995, 2000)
    held = coverage("wilson", 100, confidence, shares)
    assert held.mean() == pytest.approx(confidence, abs=0.015)
    assert held.min() < confidence  # what a guarantee would exclude


def test_wilson_holds_in_simulated_games_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    for share in (0.03, 0.2, 0.5):
        interval = wilson_intervals(rng.binomial(1000, share, size=20_000), 1000, 0.95)
        held = (interval.lower <= share) & (share <= interval.upper)
        assert held.mean() == pytest.approx(0.95, abs=0.012)


def test_the_bounds_of_many_comparisons_hold_together() -> None:
    rng = np.random.default_rng(8)
    shares = np.linspace(0.02, 0.98, 40)
    drawn = rng.binomial(200, shares, size=(4000, 40))
    alone = clopper_pearson_intervals(drawn, 200, 0.9)
    together = clopper_pearson_intervals(drawn, 200, 0.9, comparisons=40)
    all_held = [((one.lower <= shares) & (shares <= one.upper)).all(axis=1).mean() for one in (alone, together)]
    assert all_held[0] < 0.5
    assert all_held[1] >= 0.9


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.5, float("nan"), "0.95", None, True])
def test_a_confidence_that_is_none_is_refused(confidence: object) -> None:
    with pytest.raises(InvalidConstraintError, match="the confidence is"):
        wilson_intervals(1, 2, confidence)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("successes", "trials", "message"),
    [
        (3, 2, "received 3 successes in 2 trials; expected no more"),
        (-1, 2, "-1 successes in 2"),
        (0.5, 2, "whole numbers"),
        ([1, 2], [3, 3, 3], "shapes"),
    ],
)
def test_counts_that_are_none_are_refused(successes: object, trials: object, message: str) -> None:
    with pytest.raises(InvalidConstraintError, match=message):
        clopper_pearson_intervals(successes, trials, 0.95)  # type: ignore[arg-type]


def test_an_unknown_interval_and_a_wrong_number_of_comparisons_are_refused() -> None:
    with pytest.raises(InvalidConstraintError, match="did you mean wilson"):
        proportion_intervals("wilsom", 1, 2, 0.95)
    with pytest.raises(InvalidConstraintError, match="comparisons is 0"):
        wilson_intervals(1, 2, 0.95, comparisons=0)
