"""Ten thousand random problems of every kind: answers, bounds and multipliers are those that are stored.

They were written when every problem had programs and certificates of its own, so that they judge any other way to state
them, but for 81 problems with a bound that only round-off rounded up or down. Only numbers are stored that every
optimal answer has, see ``write_problem_values.py``.
"""

import pytest
from problem_cases import KINDS, draw_case
from problem_values import differences, stored

RECORDS = stored()
#: One in so many is looked at in the quick suite.
SHARE = 50


def _seeds(kind, quick):
    return [seed for seed, record in RECORDS.items() if record["kind"] == kind and (seed % SHARE == 1) == quick]


def _check(seeds):
    lines = [f"seed {seed}: {line}" for seed in seeds for line in differences(draw_case(seed), RECORDS[seed])]
    assert not lines, "\n".join(lines[:20])


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_on_record(kind):
    _check(_seeds(kind, quick=True))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_answers_are_those_on_record(kind):
    _check(_seeds(kind, quick=False))


def test_every_kind_has_multipliers_steps_or_fractions_on_record():
    assert {record["kind"] for record in RECORDS.values()} == set(KINDS)
    for key in ("multipliers", "steps", "exact", "conflict", "proven", "gain"):
        assert any(key in record for record in RECORDS.values()), key
