"""How much the tests try: a share of all examples and cases by default, all of them with ``TREEPLEX_TESTS=thorough``.

The profiles themselves are in ``tests/conftest.py``. Tests marked ``soak`` multiply their cases by ``TREEPLEX_SOAK``:
`make soak` runs them, and them alone, with a factor of 1,000.
"""

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest
from hypothesis import settings

Case = TypeVar("Case")

#: What a law is tried on under the profile "thorough" unless it says otherwise.
THOROUGH_EXAMPLES = 50
SHARE = settings.default.max_examples / THOROUGH_EXAMPLES

#: Seconds after which a test gives up a process that it waits for: it hangs, however busy the machine is.
PATIENCE = 900.0

#: What the cases of tests marked ``soak`` are multiplied by: 1 unless ``TREEPLEX_SOAK`` says otherwise.
SOAK = float(os.environ.get("TREEPLEX_SOAK", "1"))


def soaked(count: int) -> int:
    """Return how many cases a test marked ``soak`` tries that tries so many by default."""
    return max(1, round(SOAK * count))


def examples(thorough: int) -> settings:
    """Try a law on so many examples under the profile "thorough", and on a share of them under the others."""
    return settings(max_examples=max(3, round(SHARE * thorough)))


def some(cases: Iterable[Case], every: int) -> list[Case]:
    """Return one case in ``every``, or all of them under the profile "thorough"."""
    return list(cases)[:: every if SHARE < 1 else 1]


def either(quick: Case, thorough: Case) -> Case:
    """Return the first by default, and the second under the profiles that try all examples and cases."""
    return quick if SHARE < 1 else thorough


#: Marks a test of whose cases the first stands for all by default.
few = pytest.mark.few
#: How many cases of any other test stand for all by default: the first and the last.
CASES = 2


def run_few(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of tests that others stand for, evenly, unless all cases are tried or tests are soaked."""
    if SHARE >= 1 or SOAK > 1:
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if thorough.mark not in item.iter_markers():
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for each in cases.values():
        most = 1 if each[0].get_closest_marker("few") else CASES
        if len(each) > most:
            left_out |= set(each) - {each[place * (len(each) - 1) // max(most - 1, 1)] for place in range(most)}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


#: Marks a test, or a case of one, that runs under the profile "thorough" alone.
thorough = pytest.mark.skipif(SHARE < 1, reason="runs with TREEPLEX_TESTS=thorough")
