"""Runs that are interrupted at any moment: resumed, they end with the bits of the run in one piece, and stay there.

The moments are lines of the library, and clocks are the tests' own: see :mod:`interruptions`.
"""

import contextlib
import math
import random
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import either, soaked
from interruptions import Moment, differences, interrupted, own_clock, refuted
from problem_cases import Drawing
from public_games import RandomPublicGame

from treeplex import (
    CDRNR,
    Checkpoint,
    ConstrainedNash,
    Game,
    Nash,
    Profile,
    RestrictedNash,
    Solution,
    Status,
    Strategy,
    StreamedMCCFR,
    load_game,
    solve,
)
from treeplex.models.constraints import parse_constraint
from treeplex.models.preferences import Prefer
from treeplex.seqform.limits import holding_signals
from treeplex.seqform.public_form import PublicForm
from treeplex.solvers import (
    ApproximateBestResponse,
    ESPrefCFR,
    PrefCFR,
    SearchSettings,
    Stepper,
    calibrate_style,
    iterate,
)
from treeplex.solvers.methods import find_method
from treeplex.solvers.outcome import Options

KUHN, LEDUC = load_game("kuhn"), load_game("leduc:merge_suits=true")
THREE, SMALL = load_game("kuhn:players=3"), load_game("leduc:ranks=2,merge_suits=true,raises=1")
PREFER = (Prefer("b", 5.0),)
HOWS = ("INT", "TERM", "raise")

#: Every stepper that keeps runs, and what distinguishes runs of one.
METHODS = (
    "cfr", "cfr+", "dcfr", "pcfr+", "cfr+:precision=single", "dcfr:updates=simultaneous", "pcfr+:iterate=last",
    "hs-dcfr", "hs-pcfr+", "pdcfr+", "sapcfr+", "restarted-cfr", "cfvfp", "smooth-cfr+", "mirror-prox",
    "es-mccfr", "es-mccfr:batch=7", "os-mccfr",
    PrefCFR(prefer=PREFER, vulnerability=0.05), ESPrefCFR(prefer=PREFER, vulnerability=0.05),
)  # fmt: skip
#: Those for one player's problems, and the problems.
SADDLE_METHODS = ("cfr", "cfr+", "dcfr", "pcfr+")
STEPPED = {"cdbr": 2, "cdrnr": 4, "cdbr-ne": 1, "ses": 2}
SADDLES = {"rnr": 2, "epsilon-safe": 2, "constrained": 3, "constrained soft": 2}


class Saddles(Drawing):
    kinds = SADDLES | STEPPED

    def in_fractions(self):
        return True


def drawn(seed: int) -> tuple[str, Callable[[Checkpoint | None], Any]]:
    """Return a random run, by a name to find it again."""
    rng = random.Random(seed)
    iterations, share = rng.choice([10, 30, 80]), rng.random()
    tol = rng.choice([0.0, 0.0, 0.05])
    method: Any
    if share < 0.4:
        problem, method = Saddles(seed, {}, 0).case().problem, rng.choice(SADDLE_METHODS)
        if getattr(problem, "constraints", ()):
            # Multipliers are first looked at after 256 iterations.
            method, iterations = rng.choice(["ccfr", "ccfr:beta=1e-4", "ccfr:updates=simultaneous"]), 4 * iterations
        if getattr(problem, "penalty", None) is not None:
            method = method.replace(":beta=1e-4", "")  # the penalty is the bound
        if problem.name in STEPPED:
            iterations = rng.choice([5, 20])
    elif share < 0.85:
        game = rng.choice([KUHN, KUHN, KUHN, THREE])
        problem, method = Nash(game), rng.choice(METHODS)
        if game.num_players > 2:
            method = rng.choice(SADDLE_METHODS)
        if method in ("smooth-cfr+", "mirror-prox"):
            iterations //= 2
    elif share < 0.93:
        game = Game.from_public_form(PublicForm.from_rules(RandomPublicGame(seed)))
        problem, method = Nash(game), rng.choice(["cfr+", "dcfr", "dcfr:precision=half"])
    else:
        problem, method = RestrictedNash(SMALL, Strategy.uniform(SMALL, 1), p=0.5), "cfr+"
    limits: dict[str, Any] = {"tol": tol, "max_iterations": iterations, "seed": seed}
    chosen = find_method(method) if isinstance(method, str) else method
    name = f"seed {seed}: {problem.name} on {problem.game.spec} by {chosen.name}, {limits}"
    return name, lambda checkpoint: solve(problem, chosen, **limits, checkpoint=checkpoint)


@pytest.mark.soak
def test_random_runs_resume_to_the_bits_of_one_piece_and_stay_there(tmp_path: Path) -> None:
    wrong = []
    for seed in range(soaked(2)):
        folder, rng = tmp_path / str(seed), random.Random(seed)
        folder.mkdir()
        name, run = drawn(seed)
        answers, told = interrupted(run, folder / "run", rng, 1 + seed % 3, HOWS)
        wrong += refuted(answers, told, name)
        shutil.rmtree(folder)
    assert not wrong, "\n".join(wrong)


def kept_after(run: Callable[[Checkpoint | None], Any], path: Path, moments: list[Moment]) -> Any:
    """Interrupt a run at each moment, one after the other, and return what it ends with."""
    for moment in moments:
        with own_clock(), moment.counting(), contextlib.suppress(KeyboardInterrupt):
            run(Checkpoint(path, every=1e9, resume=True))
    with own_clock():
        return run(Checkpoint(path, every=1e9, resume=True))


@pytest.mark.parametrize("method", either(["mirror-prox"], [*METHODS]), ids=str)
def test_signals_wait_for_the_end_of_a_step(method: Any, tmp_path: Path) -> None:
    """A signal in the middle of a step of mirror prox used to leave the averages of one player a step behind."""

    def run(checkpoint: Checkpoint | None) -> Solution:
        return solve(Nash(KUHN), method, tol=0.0, max_iterations=20, seed=1, checkpoint=checkpoint)

    with own_clock(), Moment().counting() as counted:
        whole = run(None)
    for share in either((0.4, 0.6), (0.2, 0.4, 0.5, 0.6, 0.7)):
        path = tmp_path / str(share)
        moments = [Moment(int(share * counted.lines), how) for how in ("INT", "TERM")]
        assert not differences(whole, kept_after(run, path, moments)), share


def test_what_is_half_done_is_not_kept(tmp_path: Path) -> None:
    """Exceptions that are no signals come in the middle of steps; the checkpoint before them stays."""

    class Walking(Stepper):
        next_check = None

        def __init__(self, breaks_at: int | None = None) -> None:
            self.places, self.breaks_at = np.zeros(2, dtype=np.int64), breaks_at

        @property
        def iterations(self) -> int:
            return int(self.places[0])

        def step(self, iterations: int) -> None:
            for _ in range(iterations):
                self.places[0] += 1
                if self.places[0] == self.breaks_at:
                    raise error
                self.places[1] += 1

        def check(self) -> float:
            return float(self.places[1])

        def saved(self) -> dict[str, Any]:
            return {"places": self.places}

        def restore(self, saved: Any) -> None:
            self.places[:] = saved["places"]

    def walk(stepper: Walking, **how: Any) -> Any:
        with Checkpoint(tmp_path / "run", resume=True, **how).kept({"asked": "steps"}) as keeper:
            return iterate(stepper, Options(0.0, 0.0, 1000, math.inf, checkpoint=keeper))

    for error in (KeyboardInterrupt(), MemoryError()):
        for every in (0.0, 0.03, 1e9):
            with own_clock(), contextlib.suppress(MemoryError):
                walk(Walking(breaks_at=700), every=every)
            with own_clock():
                ended = Walking()
                found = walk(ended)
            assert ended.places.tolist() == [1000, 1000], (error, every)
            assert found.history.exploitability[-1] == 1000.0
            for each in tmp_path.iterdir():
                each.unlink()


@pytest.mark.parametrize("method", either(["es-mccfr", "ccfr"], [*METHODS, "ccfr"]), ids=str)
def test_a_run_that_ends_with_a_check_that_was_due_is_finished(method: Any, tmp_path: Path) -> None:
    """Resumed, it used to list that check twice."""
    problem = ConstrainedNash(KUHN, parse_constraint("0/K_:b <= 0.5", KUHN)) if method == "ccfr" else Nash(KUHN)

    def run(end: int, tol: float = 0.0, checkpoint: Checkpoint | None = None) -> Solution:
        return solve(problem, method, tol=tol, max_iterations=end, seed=1, checkpoint=checkpoint)

    due = int(run(40).history.iterations[-2])
    checkpoint = Checkpoint(tmp_path / "run", resume=True)
    for end in (due, due, 40, 40):
        assert not differences(run(end), run(end, checkpoint=checkpoint)), end
    loose = run(40, 10.0, checkpoint)
    assert (loose.status, loose.iterations, loose.history.iterations[-1]) == (Status.CONVERGED, 40, 40)


@pytest.mark.parametrize("method", ["cfr", "cfr+"])
def test_a_finished_response_in_steps_is_finished(method: str, tmp_path: Path) -> None:
    """Resumed, its first step used to take the arrays of a later one for its own, if it was time to write."""
    problem = CDRNR(SMALL, Strategy.uniform(SMALL, 1), p=0.5, lookahead=1)

    def run() -> Solution:
        with own_clock():
            checkpoint = Checkpoint(tmp_path / "run", every=0.05, resume=True)
            return solve(problem, method, tol=0.0, max_iterations=50, checkpoint=checkpoint)

    first = run()
    assert len(first.steps) > 1
    for _ in range(3):
        again = run()
        assert not differences(first, again)
        assert again.certificate.steps == first.certificate.steps


def test_steps_that_time_has_ended_go_on(tmp_path: Path) -> None:
    problem = CDRNR(SMALL, Strategy.uniform(SMALL, 1), p=0.5, lookahead=1)
    limits: dict[str, Any] = {"tol": 0.0, "max_iterations": 100}
    whole = solve(problem, "cfr+", **limits)
    for _ in range(2):
        with own_clock(tick=0.5):
            checkpoint = Checkpoint(tmp_path / "run", resume=True)
            hurried = solve(problem, "cfr+", **limits, time_limit=20.0, checkpoint=checkpoint)
        assert hurried.status is Status.TIME_LIMIT
    resumed = solve(problem, "cfr+", **limits, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    assert not differences(whole, resumed)


def test_a_bound_is_doubled_where_a_run_in_parts_ends(tmp_path: Path) -> None:
    """At the last iteration of a run it is not; that used to be forgotten when the run went on."""
    problem = ConstrainedNash(LEDUC, parse_constraint("0/K_:r <= 0.4", LEDUC))
    limits: dict[str, Any] = {"tol": 0.0, "max_iterations": 600}
    whole = solve(problem, "ccfr:beta=1e-4", **limits)
    assert whole.state.bound.doublings > 0
    for end in (256, 512, 600):
        checkpoint = Checkpoint(tmp_path / "run", resume=True)
        part = solve(problem, "ccfr:beta=1e-4", **limits | {"max_iterations": end}, checkpoint=checkpoint)
    assert not differences(whole, part)


def test_what_cannot_be_met_cannot_be_met_when_it_is_asked_again(tmp_path: Path) -> None:
    texts = ("0/K_:b + 0/Q_:b <= 0.2", "0/K_:b >= 0.7")
    problem = ConstrainedNash(KUHN, [one for text in texts for one in parse_constraint(text, KUHN)])
    checkpoint = Checkpoint(tmp_path / "run", resume=True)
    first, again = (solve(problem, "ccfr", max_iterations=5_000, checkpoint=checkpoint) for _ in range(2))
    assert first.status is again.status is Status.INFEASIBLE
    assert first.iterations == again.iterations > 0


@pytest.mark.parametrize("kind", ["sampling", "response", "calibration"])
def test_other_runs_are_interrupted_anywhere(kind: str, tmp_path: Path) -> None:
    def sampled(checkpoint: Checkpoint | None) -> Any:
        sampler = StreamedMCCFR(load_game("goofspiel:cards=3"), "os-mccfr", seed=1)
        sampler.run(60, checkpoint=checkpoint)
        return sampler.iterations, sampler.touched, sampler.regrets(0), sampler.regrets(1)

    def learned(checkpoint: Checkpoint | None) -> Any:
        settings = SearchSettings(decision_simulations=50, buckets=2**12)
        response = ApproximateBestResponse(KUHN, Profile.uniform(KUHN), 0, settings, seed=3)
        games = response.run(games=8, checkpoint=checkpoint).iterations
        return games, [array.tobytes() for array in response._learner]

    def calibrated(checkpoint: Checkpoint | None) -> Any:
        return calibrate_style(SMALL, "raise@first >= 0.6", 0.05, iterations=30, checkpoint=checkpoint).to_dict()

    run = {"sampling": sampled, "response": learned, "calibration": calibrated}[kind]
    for seed in range(either(1, 5) if kind != "calibration" else 1):
        (tmp_path / str(seed)).mkdir()
        # What is in the midst of a walk or a game when anything else than a signal comes is not written either.
        answers, told = interrupted(run, tmp_path / str(seed) / "run", random.Random(seed), 2, ("INT", "TERM"))
        assert not refuted(answers, told, f"{kind}, seed {seed}")


# Signals that wait


def test_a_second_signal_waits_no_longer_than_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now, done = [0.0], []
    monkeypatch.setattr("treeplex.seqform.limits.now", lambda: now[0])

    def work() -> None:
        with holding_signals():
            for second in (0.0, 0.2, 0.9, 1.1):
                now[0] = second
                signal.raise_signal(signal.SIGINT)
                done.append(second)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [0.0, 0.2, 0.9]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_signals_that_wait_are_handled_by_who_handles_them() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        with holding_signals(forget=True):
            signal.raise_signal(signal.SIGTERM)
        assert not came
        with holding_signals(), holding_signals():
            signal.raise_signal(signal.SIGTERM)
            assert not came
        assert came == [signal.SIGTERM]
        thread = threading.Thread(target=lambda: holding_signals().__enter__())
        thread.start()
        thread.join()
        signal.raise_signal(signal.SIGTERM)  # another thread holds nothing
        assert came == [signal.SIGTERM] * 2
    finally:
        signal.signal(signal.SIGTERM, before)
