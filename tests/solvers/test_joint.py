"""The CFR family where payoffs of several players are an operator: the same iterates as on leaves."""

from pathlib import Path

import pytest
from effort import either, few
from joint_games import WithoutTies, joint_form

from treeplex import CFR, Game, Nash, PrefCFR, UnsupportedProblemError, load_game, solve
from treeplex.solvers import Checkpoint, EmpiricalRun
from treeplex.solvers.outcome import Progress

RULES = WithoutTies(load_game("kuhn:players=3").rules)
KUHN = Game("kuhn without ties", rules=RULES)
JOINT = Game("joint kuhn", sequence_form=joint_form(RULES, ("T", "J", "Q", "K")).sequence_form())


@few
@pytest.mark.parametrize(
    "method", ["cfr", "cfr+", "dcfr", "pcfr+", "cfvfp", "cfr:updates=simultaneous", "hs-dcfr:horizon=9", "pdcfr+"]
)
@pytest.mark.parametrize("iterations", [1, 2, 20])
def test_iterates_are_those_of_leaves(method: str, iterations: int) -> None:
    on_leaves = solve(Nash(KUHN), method, tol=0, max_iterations=iterations)
    found = solve(Nash(JOINT), method, tol=0, max_iterations=iterations)
    assert found.value == pytest.approx(on_leaves.value, abs=1e-5)
    assert found.exploitability == pytest.approx(on_leaves.exploitability, abs=1e-5)


@few
@pytest.mark.parametrize("units", ["conditional", "counterfactual"])
@pytest.mark.parametrize("rule", ["rm", "br"])
@pytest.mark.parametrize("base", ["cfr", "dcfr"])
def test_preferences_are_those_of_leaves(units: str, rule: str, base: str) -> None:
    method = PrefCFR("0/b@first:5", 0.05, units=units, rule=rule, base=base)  # type: ignore[arg-type]
    on_leaves = solve(Nash(KUHN), method, tol=0, max_iterations=30)
    found = solve(Nash(JOINT), method, tol=0, max_iterations=30)
    assert found.value == pytest.approx(on_leaves.value, abs=1e-4)
    assert found.exploitability == pytest.approx(on_leaves.exploitability, abs=1e-4)


def test_it_converges_and_says_how_close_it_came() -> None:
    tol = either(1e-2, 1e-3)
    found = solve(Nash(JOINT), "dcfr", tol=tol)
    assert found.status.is_success
    assert found.exploitability <= tol


def test_joint_play() -> None:
    run = EmpiricalRun(JOINT, CFR(updates="simultaneous"))
    run.run(either(20, 300))
    reference = EmpiricalRun(KUHN, CFR(updates="simultaneous"))
    reference.run(either(20, 300))
    assert run.play.cce_gap == pytest.approx(reference.play.cce_gap, abs=1e-5)


def test_what_it_does_not_do() -> None:
    with pytest.raises(UnsupportedProblemError, match="methods must start from scratch"):
        solve(Nash(JOINT), CFR(iterate="last"), max_iterations=1)


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    whole = solve(Nash(JOINT), "dcfr", tol=0, max_iterations=20)

    def stop(progress: Progress) -> bool:
        return progress.iterations >= 7

    path = tmp_path / "run"
    first = solve(Nash(JOINT), "dcfr", tol=0, max_iterations=20, callback=stop, checkpoint=path)
    assert first.iterations < 20
    again = solve(Nash(JOINT), "dcfr", tol=0, max_iterations=20, checkpoint=Checkpoint(path, resume=True))
    assert again.iterations == 20
    assert again.value == whole.value
