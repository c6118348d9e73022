"""What every test runs under."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from clocks import Clock

    from treeplex import Game

# Until all tests are collected: most of what is made by then stays to the end, and the collector would look through it
# again and again, for longer than it takes to import the tests.
gc.disable()

os.environ.setdefault("MPLBACKEND", "Agg")

# Helpers are imported by name (from random_trees import …): the import mode "importlib" puts no folder on the path.
sys.path.insert(0, str(Path(__file__).parent / "helpers"))
# The readable reference of all compiled rules is an example.
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

# The same examples in every run, few of them by default; "whole" also runs all cases of all tests, and "explore" looks
# for new examples: TREEPLEX_TESTS=explore.
# No deadline: the first call of a compiled function takes seconds.
base = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", base, max_examples=5)
settings.register_profile("thorough", base, max_examples=20)
settings.register_profile("whole", base, max_examples=50)
settings.register_profile("explore", base, max_examples=1000, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("TREEPLEX_TESTS", "quick"))


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled loops beside pytest's own cache, and hear Ctrl-C, in all workers and processes that tests start.

    A shell starts what it runs in the background with Ctrl-C ignored, and processes inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "NUMBA_CACHE_DIR" not in os.environ and hasattr(config, "cache"):
        from compiled import version

        os.environ["NUMBA_CACHE_DIR"] = str(config.cache.mkdir(f"numba-{version()}"))


@pytest.hookimpl(trylast=True)  # once slow tests are left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Try a few cases of some tests, unless the profile says all, and begin with the folders whose files take long.

    Else one worker would be left with such a file when the others have ended.
    """
    from effort import run_few

    run_few(config, items)
    items.sort(key=lambda item: item.path.parent.name not in ("tests", "validation", "docs"))


@pytest.fixture(autouse=True)
def no_words_of_slowness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test depend on how long things take: ``info`` says how far a count is after seconds."""
    monkeypatch.setattr("treeplex.cli.info._FIRST_WORD", float("inf"))


@pytest.fixture(autouse=True, scope="session")
def compiling_at_once() -> Iterator[None]:
    """Let all tests of this process try the compiled loop, in tiny games too, whether it is in the cache or not."""
    from treeplex.solvers.compilation import compiled_at_once

    with compiled_at_once():
        yield


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> "Clock":
    """Return the clock that the library reads in the test: it goes on when it is read."""
    from clocks import Clock

    return Clock().install(monkeypatch)


def pytest_collection_finish() -> None:
    """Spare the garbage collector the thousands of objects that stay to the end."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def kuhn() -> "Game":
    """Return Kuhn poker."""
    from treeplex import load_game

    return load_game("kuhn")


@pytest.fixture
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test in an empty folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Start Chromium for the tests of a file, or skip them without it."""
    from chromium import browser

    with browser() as started:
        yield started
