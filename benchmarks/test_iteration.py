"""Seconds of one CFR+ iteration for both players, including averaging; our implementation and others in one group."""

import time
from typing import Any

import pytest
from peers import IMPLEMENTATIONS, Implementation

GAMES = ["kuhn", "leduc", "liars_dice", "goofspiel:cards=4", "goofspiel:cards=5"]
LARGE = "goofspiel:cards=6"
#: The approximate duration of a round, for every implementation.
ROUND_SECONDS = 0.2


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS, ids=lambda one: one.name)
@pytest.mark.parametrize("game", [*GAMES, pytest.param(LARGE, marks=pytest.mark.slow)])
def test_cfr_plus_iteration(benchmark: Any, game: str, implementation: Implementation) -> None:
    if not implementation.installed:
        pytest.skip(f"{implementation.name} is not installed")
    run, _ = implementation.start(game)
    run(1)
    started = time.perf_counter()
    run(2)
    iterations = max(1, int(ROUND_SECONDS / (time.perf_counter() - started) * 2))
    benchmark.group = f"CFR+ iteration, {game}"
    benchmark.extra_info["iterations_per_round"] = iterations
    benchmark.pedantic(run, args=(iterations,), rounds=5, warmup_rounds=1)
    benchmark.extra_info["microseconds_per_iteration"] = benchmark.stats.stats.min / iterations * 1e6
