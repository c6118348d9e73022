"""Styles before the flop: what rows and claims say, and that wrong answers fail."""

import pytest
from effort import thorough
from figures import TINY, reproduced

from treeplex.validation.papers import ClaimStatus, PrefCFRFigure5, reproduce
from treeplex.validation.papers.preflop_styles import MENU, PRINTED, TABLE, _Styles


@thorough
def test_rows_are_the_styles_and_claims_stand_beside_the_paper():
    found = reproduced("pref-cfr-figure-5")
    assert [row.style for row in found.rows] == list(PRINTED)
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
    assert {(row.small_blind, row.big_blind) for row in rows} == {(one, two) for one in TABLE for two in TABLE[one]}
    assert all(row.least <= row.value <= row.most for row in rows)
    claims = {claim.quantity: claim for claim in reproduced("pref-cfr-table-2").claims}
    apart = claims["aggressive: furthest from the normal small blind against the same big blind, mBB (text: within 10)"]
    assert apart.paper == pytest.approx(14.5)
    assert apart.status is ClaimStatus.REFUTED


def test_the_printed_table_is_not_within_10_mbb():
    """By the text styles stay within 10 mBB of the normal one; by the table the aggressive one does not."""
    apart = [TABLE["normal"][other] - TABLE["aggressive"][other] for other in TABLE]
    assert apart == pytest.approx([11.6, 14.5, 12.2])


@thorough
def test_too_few_iterations_fail():
    rows = reproduce(PrefCFRFigure5(stack=6, streets=1, continuations=1, iterations=1)).rows
    assert rows[0].passed
    assert "more than 50" in rows[1].failure


def test_a_wrong_value_is_seen(monkeypatch):
    monkeypatch.setattr(_Styles, "value_against", lambda self, mine, theirs: 1.0)
    found = reproduce(TINY["pref-cfr-table-2"])
    assert not any(row.passed for row in found.rows)
