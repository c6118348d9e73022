"""Checkpoints: a run in parts is the run in one, bit for bit, and what is damaged or of another run is refused."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from effort import either, some
from figures import TINY, reproduced

import treeplex
from treeplex import (
    CDRNR,
    CFR,
    EFCE,
    Checkpoint,
    CheckpointError,
    ConstrainedNash,
    EpsilonSafeResponse,
    Nash,
    OpponentModel,
    Profile,
    RestrictedNash,
    Solution,
    Strategy,
    StreamedMCCFR,
    UnsupportedProblemError,
    counter_strategy,
    load_game,
    solve,
)
from treeplex.models.constraints import parse_constraint
from treeplex.models.preferences import Prefer
from treeplex.seqform.interchange.files import read_archive, write_archive
from treeplex.solvers import ESPrefCFR, PrefCFR, calibrate_style
from treeplex.solvers.checkpoint import PREVIOUS, digest
from treeplex.validation import Case, Suite, run_suite
from treeplex.validation.papers import reproduce
from treeplex.validation.papers.experiment import as_declared, as_plain

KUHN, LEDUC = load_game("kuhn"), load_game("leduc")
UNIFORM = Strategy.uniform(LEDUC, 1)
BOUND = "0/Ks_:r <= 0.4"
PREFER = (Prefer("r", 5.0),)

RUNS = {
    "cfr": (Nash(LEDUC), "cfr"),
    "cfr+ in single precision": (Nash(LEDUC), "cfr+:precision=single"),
    "dcfr in single precision": (Nash(LEDUC), "dcfr:precision=single"),
    "pcfr+ simultaneous": (Nash(LEDUC), "pcfr+:updates=simultaneous"),
    "restarts": (Nash(LEDUC), "restarted-cfr"),
    "smooth steps": (Nash(KUHN), "smooth-cfr+"),
    "mirror prox": (Nash(KUHN), "mirror-prox"),
    "three players": (Nash(load_game("kuhn:players=3")), "cfr"),
    "first regrets": (Nash(LEDUC), "cfvfp"),
    "constraints": (ConstrainedNash(LEDUC, parse_constraint(BOUND, LEDUC)), "ccfr"),
    "a bound that is doubled": (ConstrainedNash(LEDUC, parse_constraint(BOUND, LEDUC)), "ccfr:beta=1e-4"),
    "constraints in single precision": (
        ConstrainedNash(LEDUC, parse_constraint(BOUND, LEDUC)),
        "ccfr:precision=single",
    ),
    "a tilt": (RestrictedNash(LEDUC, UNIFORM, p=0.5), "cfr+"),
    "a floor": (EpsilonSafeResponse(LEDUC, UNIFORM, epsilon=0.1), "pcfr+"),
    "preferences": (Nash(LEDUC), PrefCFR(prefer=PREFER, vulnerability=0.05)),
    "steps": (CDRNR(LEDUC, UNIFORM, p=0.5, lookahead=1), "cfr+"),
    "recommendations": (EFCE(load_game("kuhn:players=3")), "trigger-regret"),
    "external sampling": (Nash(LEDUC), "es-mccfr"),
    "batches": (Nash(LEDUC), "es-mccfr:batch=40"),
    "outcome sampling": (Nash(LEDUC), "os-mccfr"),
    "sampling with preferences": (Nash(LEDUC), ESPrefCFR(prefer=PREFER, vulnerability=0.05)),
}


def same(first: Solution, second: Solution) -> bool:
    """Whether two solutions are equal to the last bit, their histories too."""
    plans = zip(first.profile.plans, second.profile.plans, strict=True)
    histories = [
        np.array_equal(getattr(first.history, name), getattr(second.history, name), equal_nan=True)
        for name in ("iterations", "exploitability")
    ]
    return (
        all(np.array_equal(one, other) for one, other in plans)
        and all(histories)
        and (first.iterations, first.status, first.lower, first.upper, first.multipliers)
        == (second.iterations, second.status, second.lower, second.upper, second.multipliers)
    )


def going_on(path: Path) -> Checkpoint:
    return Checkpoint(path, resume=True)


@pytest.mark.parametrize("name", some([name for name in RUNS if name != "steps"], every=2))
def test_a_run_in_parts_is_the_run_in_one(name: str, tmp_path: Path) -> None:
    problem, method = RUNS[name]
    limits = {"tol": 0.0, "max_iterations": 700, "seed": 3}
    whole, path = solve(problem, method, **limits), tmp_path / "run"
    for end in (1, 64, 333, 700):
        part = solve(problem, method, **limits | {"max_iterations": end}, checkpoint=going_on(path))
        assert part.iterations == whole.iterations * end // 700
    assert same(part, whole)
    assert same(solve(problem, method, **limits, checkpoint=going_on(path)), whole)


def test_the_limits_of_steps_are_part_of_the_question(tmp_path: Path) -> None:
    problem, method = RUNS["steps"]
    solve(problem, method, tol=0, max_iterations=10, checkpoint=tmp_path / "run")
    with pytest.raises(CheckpointError, match="its limits is"):
        solve(problem, method, tol=0, max_iterations=20, checkpoint=going_on(tmp_path / "run"))


@pytest.mark.parametrize("name", either(["cfr+ in single precision", "steps", "external sampling"], list(RUNS)))
def test_a_run_that_is_stopped_anywhere_goes_on_there(name: str, tmp_path: Path) -> None:
    problem, method = RUNS[name]
    limits = {"tol": 0.0, "max_iterations": 700, "seed": 3}
    whole, rng = solve(problem, method, **limits), np.random.default_rng(4)
    for _ in range(6):  # each stops after some steps of the loop, whose lengths are a matter of the clock
        calls = iter(range(rng.integers(1, 8)))
        stopped = solve(
            problem,
            method,
            **limits,
            checkpoint=Checkpoint(tmp_path / "run", every=0.0, resume=True),
            callback=lambda report, calls=calls: next(calls, None) is None,
        )
    assert stopped.iterations > 0
    assert same(solve(problem, method, **limits, checkpoint=going_on(tmp_path / "run")), whole)


@pytest.mark.parametrize("method", ["cfr+", "cfr+:precision=single", "es-mccfr"])
def test_a_tolerance_is_met_where_it_is_without_a_stop(method: str, tmp_path: Path) -> None:
    tol = 0.2 if method == "es-mccfr" else 0.02
    whole = solve(Nash(LEDUC), method, tol=tol)
    part = solve(Nash(LEDUC), method, tol=tol, max_iterations=whole.iterations // 2, checkpoint=tmp_path / "run")
    assert part.status == "iteration_limit"
    assert same(solve(Nash(LEDUC), method, tol=tol, checkpoint=going_on(tmp_path / "run")), whole)
    finer = solve(Nash(LEDUC), method, tol=tol / 2, checkpoint=going_on(tmp_path / "run"))
    assert finer.status == "converged"
    assert finer.exploitability <= tol / 2
    assert finer.iterations > whole.iterations


@pytest.mark.parametrize("method", ["cfr", "cfr+", "dcfr", "pcfr+"])
def test_a_start_in_single_precision_goes_on_bit_for_bit(method: str) -> None:
    """Certificates between parts used to change the order of additions: 10 of 12 splits differed."""
    single = f"{method}:precision=single"
    whole = solve(Nash(LEDUC), single, tol=0, max_iterations=700)
    for end in (1, 10, 63, 64, 65, 100, 200, 301, 333, 512, 600, 699):
        first = solve(Nash(LEDUC), single, tol=0, max_iterations=end)
        second = solve(Nash(LEDUC), single, tol=0, max_iterations=700 - end, start=first)
        assert all(np.array_equal(*plans) for plans in zip(whole.profile.plans, second.profile.plans, strict=True))


def test_streamed_sampling_goes_on(tmp_path: Path) -> None:
    game = load_game("goofspiel:cards=5")
    whole = StreamedMCCFR(game, "os-mccfr", seed=1)
    whole.run(300)
    StreamedMCCFR(game, "os-mccfr", seed=1).run(120, checkpoint=tmp_path / "run")
    rest = StreamedMCCFR(game, "os-mccfr", seed=1)
    assert rest.run(300, checkpoint=going_on(tmp_path / "run")).iterations == 300
    assert (rest.touched, rest.infosets) == (whole.touched, whole.infosets)
    assert rest.regrets(0) == whole.regrets(0)
    assert dict(rest.strategy(1).items()) == dict(whole.strategy(1).items())
    with pytest.raises(CheckpointError, match="this sampler has already run"):
        rest.run(400, checkpoint=going_on(tmp_path / "run"))
    with pytest.raises(CheckpointError, match="its seed is '\\(1\\)', expected '\\(2\\)'"):
        StreamedMCCFR(game, "os-mccfr", seed=2).run(400, checkpoint=going_on(tmp_path / "run"))


def test_a_calibration_goes_on(tmp_path: Path) -> None:
    game = load_game("leduc:merge_suits=true")

    def interrupt(run: object) -> None:
        runs.append(run)
        if len(runs) == 3:
            raise KeyboardInterrupt

    whole = calibrate_style(game, "raise@first >= 0.6", 0.05)
    runs: list[object] = []
    so_far = calibrate_style(game, "raise@first >= 0.6", 0.05, progress=interrupt, checkpoint=tmp_path / "run")
    assert (so_far.status, len(so_far.runs)) == ("interrupted", 3)
    assert so_far.message.startswith("stopped by the user")
    again = calibrate_style(game, "raise@first >= 0.6", 0.05, checkpoint=going_on(tmp_path / "run"))
    assert again.to_dict() == whole.to_dict()
    with pytest.raises(CheckpointError, match="its calibration is"):
        calibrate_style(game, "raise@first >= 0.7", 0.05, checkpoint=going_on(tmp_path / "run"))


@pytest.mark.parametrize("name", either(["ccfr-figure-2a", "ccfr-figure-2b"], list(TINY)))
def test_a_figure_goes_on(name: str, tmp_path: Path) -> None:
    experiment = TINY[name]

    def interrupt(row: object) -> None:
        raise KeyboardInterrupt

    whole = reproduced(name)
    with pytest.raises(KeyboardInterrupt):
        reproduce(experiment, interrupt, checkpoint=tmp_path / "run")
    again = reproduce(experiment, checkpoint=going_on(tmp_path / "run"))
    once_more = reproduce(experiment, checkpoint=going_on(tmp_path / "run"))
    assert [timeless(row) for row in again.rows] == [timeless(row) for row in whole.rows]
    assert [row.to_dict() for row in once_more.rows] == [row.to_dict() for row in again.rows]


def timeless(row: object) -> dict[str, object]:
    """A row's entries, but for those that are seconds."""
    record = row.to_dict()
    return {
        name: value for name, value in record.items() if not ("second" in name or "ratio" in name or "time" in name)
    }


def test_a_suite_goes_on(tmp_path: Path) -> None:
    suite = Suite("two", "an example", (Case("kuhn", "highs", 1e-9, "exact"), Case("kuhn", "pcfr+", 1e-4)))
    with pytest.raises(KeyboardInterrupt):
        run_suite(
            suite,
            on_case=lambda case: None if case.method == "highs" else raise_interrupt(),
            checkpoint=tmp_path / "run",
        )
    first = run_suite(suite, checkpoint=going_on(tmp_path / "run"))
    second = run_suite(suite, checkpoint=going_on(tmp_path / "run"))
    assert first.passed
    assert first.to_dict() == second.to_dict()  # seconds too: nothing is solved again


def raise_interrupt() -> None:
    raise KeyboardInterrupt


def test_a_fit_goes_on(tmp_path: Path) -> None:
    model = OpponentModel.from_profile(KUHN, 0, Profile.uniform(KUHN))
    whole = counter_strategy(model, "ccfr", tol=0, max_iterations=500)
    counter_strategy(model, "ccfr", tol=0, max_iterations=200, checkpoint=tmp_path / "run")
    again = counter_strategy(model, "ccfr", tol=0, max_iterations=500, checkpoint=going_on(tmp_path / "run"))
    assert same(again.solution, whole.solution)


def test_results_of_calls_are_read_as_declared() -> None:
    row = reproduced("ccfr-figure-2a").rows[0]
    assert as_declared(json.loads(json.dumps(as_plain(row))), type(row)) == row


# What a file holds, and what is refused


def written(path: Path, *ends: int) -> Solution:
    """Keep a run so often that there are two files."""
    for end in ends or (100, 200):
        last = solve(Nash(KUHN), "cfr", tol=0, max_iterations=end, checkpoint=going_on(path))
    return last


DAMAGES = {
    "emptied": lambda content: b"",
    "cut off": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-1],
    "text": lambda content: b"not a checkpoint",
    "a bit flipped": lambda content: content[:300] + bytes([content[300] ^ 4]) + content[301:],
    "zeros in the middle": lambda content: content[:1000] + bytes(64) + content[1064:],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_refused_and_the_one_before_it_used(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    whole, told = written(path, 100, 200, 300), []
    path.write_bytes(DAMAGES[name](path.read_bytes()))
    before = (tmp_path / f"run{PREVIOUS}").read_bytes()
    checkpoint = Checkpoint(path, resume=True, tell=told.append)
    again = solve(Nash(KUHN), "cfr", tol=0, max_iterations=300, checkpoint=checkpoint)
    assert len(told) == 1
    assert "run is not a checkpoint, or is damaged: " in told[0]
    assert f"the run continues from the previous file, {path}{PREVIOUS}" in told[0]
    assert same(again, solve(Nash(KUHN), "cfr", tol=0, max_iterations=300))
    assert again.exploitability == whole.exploitability
    assert (tmp_path / f"run{PREVIOUS}").read_bytes() == before  # a damaged file does not take the place of a good one
    for each in (path, tmp_path / f"run{PREVIOUS}"):
        each.write_bytes(DAMAGES[name](each.read_bytes()))
    with pytest.raises(CheckpointError, match=r"run is not a checkpoint.* and .*run\.previous is not a checkpoint"):
        solve(Nash(KUHN), "cfr", checkpoint=going_on(path))


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "run"
    written(path, 100)
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    for place in rng.integers(0, len(content), either(20, 60)).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(damaged))
        told: list[str] = []
        try:
            found = solve(
                Nash(KUHN), "cfr", tol=0, max_iterations=100, checkpoint=Checkpoint(path, resume=True, tell=told.append)
            )
        except CheckpointError:
            continue
        # What is flipped does not count: a time of day, for one.
        assert same(found, solve(Nash(KUHN), "cfr", tol=0, max_iterations=100))


def test_the_file_before_it_is_used_if_there_is_no_other(tmp_path: Path) -> None:
    path = tmp_path / "run"
    written(path)
    path.unlink()
    again = solve(Nash(KUHN), "cfr", tol=0, max_iterations=200, checkpoint=going_on(path))
    assert same(again, solve(Nash(KUHN), "cfr", tol=0, max_iterations=200))


def test_a_link_leads_to_the_file_and_the_one_before_it(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far/run")
    whole = written(tmp_path / "link", 100, 200)
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["far", "link", "run", f"run{PREVIOUS}"]
    (tmp_path / "far" / "run").write_bytes(b"")
    told: list[str] = []
    checkpoint = Checkpoint(tmp_path / "link", resume=True, tell=told.append)
    assert same(solve(Nash(KUHN), "cfr", tol=0, max_iterations=200, checkpoint=checkpoint), whole)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"problem": Nash(LEDUC)}, r"its game is 'kuhn \(\w+\)', expected 'leduc \(\w+\)'"),
        ({"method": "cfr+"}, "its method is 'cfr "),
        ({"method": CFR(updates="simultaneous")}, "its method is 'cfr "),
        ({"problem": RestrictedNash(KUHN, Strategy.uniform(KUHN, 1), p=0.5)}, "its problem is 'nash "),
        ({"seed": 5}, "its seed is"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    written(path)
    before = path.read_bytes()
    asked = {"problem": Nash(KUHN), "method": "cfr"} | changes
    with pytest.raises(CheckpointError, match=f"run contains another run: {message}"):
        solve(**asked, checkpoint=going_on(path))
    assert path.read_bytes() == before


def test_a_checkpoint_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "run")
    monkeypatch.setattr(treeplex, "__version__", "99.0")
    with pytest.raises(CheckpointError, match=r"its version is .*, expected '99\.0'"):
        written(tmp_path / "run")


def test_a_run_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "run"
    written(path)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"already contains a run: resume it \(--resume, or resume=True\)"):
        solve(Nash(KUHN), "cfr", checkpoint=path)
    path.unlink()
    with pytest.raises(CheckpointError, match=r"run\.previous already contains a run"):
        solve(Nash(KUHN), "cfr", checkpoint=path)
    assert (tmp_path / f"run{PREVIOUS}").read_bytes() != before


def test_a_checkpoint_holds_no_objects(tmp_path: Path) -> None:
    path = tmp_path / "run"
    written(path, 100)
    metadata, arrays = read_archive(path)
    assert not any(array.dtype.hasobject for array in arrays.values())
    assert metadata["treeplex"] == treeplex.__version__
    assert KUHN.fingerprint in metadata["asked"]["game"]
    with zipfile.ZipFile(path) as archive:
        assert all(name.endswith(".npy") for name in archive.namelist())


def test_a_checkpoint_that_fits_but_holds_other_arrays_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    written(path, 100)
    metadata, arrays = read_archive(path)
    del metadata["checksum"]
    from treeplex.solvers.checkpoint import _checksum

    (name,) = (each for each in arrays if each.endswith("/regrets"))
    for wrong in (arrays[name][:-1], arrays[name].astype(np.float32)):
        changed = arrays | {name: wrong}
        write_archive(path, metadata | {"checksum": _checksum(metadata, changed)}, changed)
        with pytest.raises(CheckpointError, match="the run cannot continue: regrets is "):
            solve(Nash(KUHN), "cfr", checkpoint=going_on(path))


def test_a_run_goes_on_where_the_disk_is_full(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    told: list[str] = []
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        checkpoint = Checkpoint(tmp_path / "run", every=0.0, tell=told.append)
        found = solve(Nash(KUHN), "cfr", tol=0, max_iterations=500, checkpoint=checkpoint)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert same(found, solve(Nash(KUHN), "cfr", tol=0, max_iterations=500))
    assert told
    assert "run cannot be written: " in told[0]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", ["highs", "rational", "highs-pdlp"])
def test_methods_without_iterations_keep_no_checkpoint(method: str, tmp_path: Path) -> None:
    with pytest.raises(
        UnsupportedProblemError, match=f"{method} does not support checkpoints, expected an iterative method"
    ):
        solve(Nash(KUHN), method, checkpoint=tmp_path / "run")


def test_what_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot be written"):
        solve(Nash(KUHN), "cfr", checkpoint=tmp_path / "none" / "run")
    with pytest.raises(CheckpointError, match="every is -1, expected a number of at least 0"):
        Checkpoint("run", every=-1)


def test_questions_are_told_apart() -> None:
    problems = [
        Nash(KUHN),
        Nash(LEDUC),
        RestrictedNash(KUHN, Strategy.uniform(KUHN, 1), p=0.5),
        RestrictedNash(KUHN, Strategy.uniform(KUHN, 1), p=0.6),
        RestrictedNash(KUHN, Strategy.from_dict(KUHN, 1, {"K_b": {"p": 0.0, "b": 1.0}}), p=0.5),
        ConstrainedNash(LEDUC, parse_constraint(BOUND, LEDUC)),
        ConstrainedNash(LEDUC, parse_constraint(BOUND.replace("4", "5"), LEDUC)),
    ]
    assert len({digest(problem) for problem in problems}) == len(problems)
    assert digest(problems[2]) == digest(replace(problems[2], opponent=Strategy.uniform(load_game("kuhn"), 1)))
