"""How much the tests try: few examples and cases by default, more with ``TREEPLEX_TESTS=thorough``, all with ``whole``.

The profiles themselves are in ``tests/conftest.py``. Tests marked ``soak`` multiply their cases by ``TREEPLEX_SOAK``:
`make soak` runs them, and them alone, with a factor of 1,000.
"""

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest
from hypothesis import settings

Case = TypeVar("Case")

#: What a law is tried on under the profile "whole" unless it says otherwise.
ALL_EXAMPLES = 50
SHARE = settings.default.max_examples / ALL_EXAMPLES
#: Whether the tests run as they do by default.
IS_QUICK = SHARE < 0.2

#: Seconds after which a test gives up a process that it waits for: it hangs, however busy the machine is.
PATIENCE = 900.0

#: What the cases of tests marked ``soak`` are multiplied by: 1 unless ``TREEPLEX_SOAK`` says otherwise.
SOAK = float(os.environ.get("TREEPLEX_SOAK", "1"))


def soaked(count: int) -> int:
    """Return how many cases a test marked ``soak`` tries that tries so many by default."""
    return max(1, round(SOAK * count))


def examples(whole: int) -> settings:
    """Try a law on so many examples under the profile "whole", and on a share of them under the others."""
    return settings(max_examples=max(3, round(SHARE * whole)))


def some(cases: Iterable[Case], every: int) -> list[Case]:
    """Return one case in ``every`` by default, and all of them under the other profiles."""
    return list(cases)[:: every if IS_QUICK else 1]


def either(quick: Case, thorough: Case) -> Case:
    """Return the first by default, and the second under the other profiles."""
    return quick if IS_QUICK else thorough


#: Marks a test of which fewer cases stand for all under the profile "thorough".
few = pytest.mark.few
#: How many cases of a test stand for all, and of a test marked few: the first by default, else evenly spread.
CASES, FEW = (1, 1) if IS_QUICK else (4, 2)


def run_few(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of tests that others stand for, unless all cases are tried or tests are soaked."""
    if SHARE >= 1 or SOAK > 1:
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not IS_QUICK or thorough.mark not in item.iter_markers():
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for each in cases.values():
        most = FEW if each[0].get_closest_marker("few") else CASES
        if len(each) > most:
            left_out |= set(each) - {each[place * (len(each) - 1) // max(most - 1, 1)] for place in range(most)}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


#: Marks a test, or a case of one, that does not run by default.
thorough = pytest.mark.skipif(IS_QUICK, reason="runs with TREEPLEX_TESTS=thorough")
