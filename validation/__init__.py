"""Exact against iterative: comparisons, the named suites and the figures of papers.

Names are imported when they are first used, so that the command line starts fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bank import SUITES, Case, Suite, find_suite
    from .comparison import Comparison, compare, compare_with_value
    from .report import Report, Row
    from .suites import run_suite

__all__ = [
    "SUITES",
    "Case",
    "Comparison",
    "Report",
    "Row",
    "Suite",
    "compare",
    "compare_with_value",
    "find_suite",
    "run_suite",
]

_MODULES = {
    "bank": ("SUITES", "Case", "Suite", "find_suite"),
    "comparison": ("Comparison", "compare", "compare_with_value"),
    "report": ("Report", "Row"),
    "suites": ("run_suite",),
}


def __getattr__(name: str) -> object:
    """Import a name when it is first asked for."""
    for module, names in _MODULES.items():
        if name in names:
            value = getattr(import_module(f".{module}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the names that are not imported yet too."""
    return sorted({*globals(), *__all__})
