"""Styles before the flop: what rows and claims say, and that wrong answers fail."""

from dataclasses import replace

import pytest
from effort import thorough
from figures import TINY, reproduced

from treeplex import Nash, frequency, load_game, solve
from treeplex.validation.papers import ClaimStatus, reproduce
from treeplex.validation.papers.preflop_styles import MENU, PRINTED, TABLE, _Styles


@thorough
def test_rows_are_the_styles_and_claims_stand_beside_the_paper():
    found = reproduced("pref-cfr-figure-5")
    assert [(row.style, row.vulnerability) for row in found.rows] == [
        ("normal", 0.0),
        *((style, beta) for beta in (0.05, 0.015) for style in list(PRINTED)[1:]),
    ]
    for row in found.rows:
        assert sum(row.frequencies) == pytest.approx(1.0)
        assert all(sum(taken) == pytest.approx(1.0) for taken in row.strategy)
    claims = {claim.quantity: claim for claim in found.claims}
    assert claims["normal: call, per cent of hands"].paper == 52.7
    assert claims["aggressive: raises to 3 more than normal, points"].paper == pytest.approx(21.1)
    assert len(claims) == len(PRINTED) * len(MENU) + 3


@thorough
def test_nobody_wins_less_than_a_strategy_guarantees():
    rows = reproduced("pref-cfr-table-2").rows
    assert {(row.vulnerability, row.small_blind, row.big_blind) for row in rows} == {
        (beta, one, two) for beta in (0.05, 0.015) for one in TABLE for two in TABLE[one]
    }
    assert all(row.least <= row.value <= row.most for row in rows)
    claims = {claim.quantity: claim for claim in reproduced("pref-cfr-table-2").claims}
    words = "furthest from the normal small blind against the same big blind, mBB"
    apart = claims[f"aggressive, β = 0.05: {words} (text: within 10)"]
    assert apart.paper == pytest.approx(14.5)
    assert apart.status is ClaimStatus.REFUTED
    less = claims[f"aggressive, β = 0.015: {words}"]
    assert less.status is ClaimStatus.MET
    assert less.measured < apart.measured


def test_suits_that_break_ties_make_another_game_of_leduc_poker():
    """Appendix A.2 has spades beat hearts; the authors' code, like everybody's, splits the pot."""
    value, raises = {}, {}
    for ties in ("split", "suit"):
        game = load_game("leduc", ties=ties)
        solution = solve(Nash(game), "highs")
        assert solution.gap < 1e-9
        value[ties], raises[ties] = solution.value, frequency(game, 0, "raise", first=True).value(solution.profile)
    assert value == pytest.approx({"split": -0.085606, "suit": -0.115323}, abs=1e-6)
    assert raises == pytest.approx({"split": 0.52204, "suit": 0.25708}, abs=1e-5)


def test_the_printed_table_is_not_within_10_mbb():
    """By the text styles stay within 10 mBB of the normal one; by the table the aggressive one does not."""
    apart = [TABLE["normal"][other] - TABLE["aggressive"][other] for other in TABLE]
    assert apart == pytest.approx([11.6, 14.5, 12.2])


@thorough
def test_too_few_iterations_fail():
    rows = reproduce(replace(TINY["pref-cfr-figure-5"], iterations=1, vulnerabilities=(0.05,))).rows
    assert rows[0].passed
    assert "more than 50" in rows[1].failure


@thorough
def test_a_wrong_value_is_seen(monkeypatch):
    monkeypatch.setattr(_Styles, "value_against", lambda self, mine, theirs, beta: 1.0)
    found = reproduce(replace(TINY["pref-cfr-table-2"], iterations=1, vulnerabilities=(0.05,)))
    assert not any(row.passed for row in found.rows)
