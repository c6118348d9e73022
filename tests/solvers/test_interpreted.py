"""What is done without compiled code where there is none yet: the loop, to the same bits, and certificates of spots."""

from collections.abc import Callable

import numpy as np
import pytest
from effort import few

from treeplex import CDBR, ConstrainedNash, Nash, Strategy, load_game, solve
from treeplex.models.constraints import parse_constraint
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.holdem.bets import Betting
from treeplex.models.problems import EpsilonNash, Problem
from treeplex.solvers.compilation import PATIENCE, compiled_at_once
from treeplex.solvers.public import kernel as public_kernel
from treeplex.solvers.public.kernel import PublicKernel
from treeplex.solvers.regret import interpreted, kernel


def limited() -> Problem:
    game = load_game("kuhn")
    return ConstrainedNash(game, parse_constraint("0/K_:b <= 1/2", game))


def depth_limited() -> Problem:
    game = load_game("kuhn")
    return CDBR(game, Strategy.uniform(game, 1), lookahead=1)


def of(text: str) -> Callable[[], Problem]:
    return lambda: Nash(load_game(text))


CASES = {
    **{method: (of("kuhn"), method) for method in ("cfr", "cfr+", "dcfr", "pcfr+", "hs-dcfr", "restarted-cfr")},
    "many actions": (of("rps"), "dcfr"),
    "three players": (of("kuhn:players=3"), "cfr+"),
    "five cards": (of("kuhn:cards=5"), "cfr+:updates=simultaneous"),
    "preferences": (of("kuhn"), "pref-cfr"),
    "a limit": (limited, "ccfr"),
    "a part": (depth_limited, "cfr+"),
    "a flow": (of("transit:width=2"), "cfr+"),
}


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Forget that the loop is compiled, and return a list of how often it is interpreted."""
    calls: list[int] = []

    def interpret(loop: interpreted.LoopArrays) -> tuple[float, int, int]:
        calls.append(1)
        return run(loop)

    run = interpreted.interpret
    monkeypatch.setattr(kernel, "is_ready", lambda *arguments: False)
    monkeypatch.setattr(interpreted, "interpret", interpret)
    return calls


@few
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("effort", [1_000_000, 1_000])  # the second is over before the run is
def test_bits_are_the_same(case: str, effort: int, uncompiled: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    problem, method = CASES[case]
    with compiled_at_once():
        expected = solve(problem(), method, max_iterations=30, tol=0.0)
    assert not uncompiled
    monkeypatch.setattr(PATIENCE, "left", effort)
    monkeypatch.setattr(kernel, "TINY", 1_000)
    found = solve(problem(), method, max_iterations=30, tol=0.0)
    assert uncompiled
    assert (PATIENCE.left > 0) == (effort == 1_000_000)
    for mine, other in zip(found.profile, expected.profile, strict=True):
        np.testing.assert_array_equal(mine.plan, other.plan)
    np.testing.assert_array_equal(found.history.iterations, expected.history.iterations)
    assert found.exploitability == expected.exploitability
    np.testing.assert_array_equal(found.history.exploitability, expected.history.exploitability)


def test_games_that_are_not_tiny_are_compiled(uncompiled: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PATIENCE, "left", 1_000)
    solve(Nash(load_game("leduc")), "cfr+", max_iterations=2, tol=0.0)
    solve(Nash(load_game("kuhn")), "cfr+:precision=single", max_iterations=2, tol=0.0)
    assert not uncompiled
    assert PATIENCE.left == 1_000


@pytest.mark.parametrize("rake", [0.0, 0.05])
def test_certificates_of_small_spots_need_no_compiled_code(rake: float, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = ["AA, KQs, T9s:0.5", "QQ, JTs, 87s"]
    game = HoldemSpot("Ts9d6hQc2s", ranges, 100, 150, Betting("75%", "a"), rake=rake).game
    problem = Nash(game) if rake == 0.0 else EpsilonNash(game)
    expected = solve(problem, "dcfr", tol=0.01)
    monkeypatch.setattr(public_kernel, "is_ready", lambda *arguments: False)
    monkeypatch.setattr(PublicKernel, "evaluate", None)
    monkeypatch.setattr(PATIENCE, "left", 10_000)
    found = solve(problem, "dcfr", tol=0.01)
    assert PATIENCE.left < 10_000
    assert found.iterations == expected.iterations
    for mine, other in zip(found.profile, expected.profile, strict=True):
        np.testing.assert_array_equal(mine.plan, other.plan)
    np.testing.assert_allclose(found.history.exploitability, expected.history.exploitability, rtol=1e-9)
    assert found.values == pytest.approx(expected.values, abs=1e-9)
    assert found.exploitability == pytest.approx(expected.exploitability, rel=1e-9)


def test_patience_with_spots_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    form = HoldemSpot("Ts9d6hQc2s", ["AA", "KK"], 100, 150, Betting("75%", "a")).public_form
    kernel = PublicKernel(form)
    state = kernel.initial_state()
    monkeypatch.setattr(public_kernel, "is_ready", lambda *arguments: False)
    monkeypatch.setattr(PATIENCE, "left", 1)
    assert [kernel.evaluates(state), kernel.evaluates(state)] == [False, True]
