"""Histories per second touched by external and outcome sampling, compared with OpenSpiel's samplers."""

import importlib.util
import time
from typing import Any

import pytest

from treeplex import StreamedMCCFR, load_game
from treeplex.solvers import ESPrefCFR
from treeplex.solvers.methods.rules import SamplingRule
from treeplex.solvers.sampling.sampler import Sampler, SamplerState, preference_of
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


#: The required number of histories per second for external sampling of Leduc poker on one core.
LEAST = 5e6


def seconds_of(sampler: Sampler, states: list[SamplerState], rule: SamplingRule, rounds: int = 20) -> list[float]:
    """Return the smallest seconds per history from each state, measured in turn under the same conditions."""
    best = [float("inf")] * len(states)
    for _ in range(rounds):
        for place, state in enumerate(states):
            before, begun = state.touched, time.perf_counter()
            sampler.run(state, rule, ITERATIONS)
            best[place] = min(best[place], (time.perf_counter() - begun) / (state.touched - before))
    return best


@pytest.mark.parametrize("rule", ["rm", "br"])
def test_preferences_beside_external_sampling(benchmark: Any, rule: str) -> None:
    game, sampling = load_game("leduc"), SamplingRule()
    sampler = Sampler(history_tree(game))
    preference = preference_of(ESPrefCFR("0/r@first:5", vulnerability=0.05, rule=rule).bias, game)
    states = [sampler.initial_state(sampling), sampler.initial_state(sampling, preference=preference)]
    plain, preferring = benchmark.pedantic(seconds_of, args=(sampler, states, sampling), rounds=3, warmup_rounds=1)
    benchmark.group = "sampling, leduc"
    benchmark.extra_info["million_histories_per_second"] = 1e-6 / preferring
    benchmark.extra_info["times_the_seconds_of_es_mccfr"] = preferring / plain
    assert 1.0 / plain > LEAST
    assert 1.0 / preferring > LEAST


@pytest.mark.parametrize("method", ["es-mccfr", "os-mccfr", "es-pref-cfr"])
@pytest.mark.parametrize("game", ["leduc", "leduc:ranks=10", "goofspiel:cards=13"])
def test_streamed_histories_a_second(benchmark: Any, game: str, method: str) -> None:
    if game.startswith("goofspiel") and method != "os-mccfr":
        pytest.skip("a walk of external sampling takes 13! courses of actions")
    sampler = StreamedMCCFR(load_game(game), method)
    sampler.run(touched=5_000)
    before = sampler.touched
    benchmark.group = "sampling from rules"
    benchmark.pedantic(sampler.run, kwargs={"touched": 20_000}, rounds=5)
    benchmark.extra_info["histories_per_second"] = (sampler.touched - before) / benchmark.stats.stats.total
    benchmark.extra_info["bytes_per_infoset"] = sampler.memory / sum(sampler.infosets)
