"""How much the tests try: a share of all examples and cases by default, all of them with ``TREEPLEX_TESTS=thorough``.

The profiles themselves are in ``tests/conftest.py``.
"""

from collections.abc import Iterable
from typing import TypeVar

import pytest
from hypothesis import settings

Case = TypeVar("Case")

#: What a law is tried on under the profile "thorough" unless it says otherwise.
THOROUGH_EXAMPLES = 50
SHARE = settings.default.max_examples / THOROUGH_EXAMPLES


def examples(thorough: int) -> settings:
    """Try a law on so many examples under the profile "thorough", and on a share of them under the others."""
    return settings(max_examples=max(3, round(SHARE * thorough)))


def some(cases: Iterable[Case], every: int) -> list[Case]:
    """Return one case in ``every``, or all of them under the profile "thorough"."""
    return list(cases)[:: every if SHARE < 1 else 1]


def either(quick: Case, thorough: Case) -> Case:
    """Return the first by default, and the second under the profiles that try all examples and cases."""
    return quick if SHARE < 1 else thorough


#: Marks a test, or a case of one, that runs under the profile "thorough" alone.
thorough = pytest.mark.skipif(SHARE < 1, reason="runs with TREEPLEX_TESTS=thorough")
