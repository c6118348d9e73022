"""Histories that external and outcome sampling touch in a second; OpenSpiel's samplers beside ours."""

import importlib.util
from typing import Any

import pytest

from treeplex import load_game
from treeplex.solvers.sampling.sampler import Sampler, SamplingRule
from treeplex.solvers.sampling.tree import history_tree

OPENSPIEL_NAMES = {
    "kuhn": "kuhn_poker",
    "kuhn:players=3": "kuhn_poker(players=3)",
    "leduc": "leduc_poker",
}
RULES = {
    "external": SamplingRule(),
    "outcome": SamplingRule("outcome"),
    "outcome with baselines": SamplingRule("outcome", rate=0.5, baselines="history"),
}
ITERATIONS = 2_000


@pytest.mark.parametrize("sampling", RULES)
@pytest.mark.parametrize("game", OPENSPIEL_NAMES)
def test_histories_a_second(benchmark: Any, game: str, sampling: str) -> None:
    rule = RULES[sampling]
    sampler = Sampler(history_tree(load_game(game)))
    state = sampler.initial_state(rule)
    sampler.run(state, rule, ITERATIONS)
    before = state.iterations, state.touched
    benchmark.group = f"sampling, {game}"
    benchmark.pedantic(sampler.run, args=(state, rule, ITERATIONS), rounds=20, warmup_rounds=1)
    touched = (state.touched - before[1]) / (state.iterations - before[0])
    seconds = benchmark.stats.stats.min / ITERATIONS
    benchmark.extra_info["histories_per_iteration"] = touched
    benchmark.extra_info["million_histories_per_second"] = touched / seconds / 1e6


@pytest.mark.parametrize("sampling", ["external", "outcome"])
@pytest.mark.parametrize("game", OPENSPIEL_NAMES)
def test_openspiel(benchmark: Any, game: str, sampling: str) -> None:
    if importlib.util.find_spec("pyspiel") is None:
        pytest.skip("OpenSpiel is not installed")
    import pyspiel

    loaded = pyspiel.load_game(OPENSPIEL_NAMES[game])
    kind = pyspiel.ExternalSamplingMCCFRSolver if sampling == "external" else pyspiel.OutcomeSamplingMCCFRSolver
    solver = kind(loaded)

    def run() -> None:
        for _ in range(ITERATIONS):
            solver.run_iteration()

    benchmark.group = f"sampling, {game}"
    benchmark.pedantic(run, rounds=5, warmup_rounds=1)
    benchmark.extra_info["microseconds_per_iteration"] = benchmark.stats.stats.min / ITERATIONS * 1e6
