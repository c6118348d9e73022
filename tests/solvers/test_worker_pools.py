"""Worker pools: parts in other processes, and their recovery after faults."""

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from effort import PATIENCE, either
from toy_parts import PARTS, Wave, alone, arguments, makers, processes, steps

from treeplex import CheckpointError, SolverError, UnsupportedProblemError
from treeplex.seqform.errors import MissingExtraError, TimeLimitError
from treeplex.seqform.limits import time_limited
from treeplex.solvers.distributed import clusters
from treeplex.solvers.distributed.host import digest
from treeplex.solvers.distributed.parts import WorkerPool
from treeplex.solvers.distributed.places import read_place

HELPERS = Path(__file__).parents[1] / "helpers"
needs_kills = pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")


def same(found, expected):
    return np.array_equal(found[0], expected[0]) and found[1] == expected[1]


def test_two_processes_find_what_one_finds():
    seen = []
    with WorkerPool.open(makers(), "local:2", progress=seen.append) as pool:
        assert same(steps(pool, range(8)), alone(range(8)))
        assert os.getpid() not in processes(pool)
        assert len(set(processes(pool))) == 2
    assert pool.traffic.calls == 8
    assert pool.traffic.received > 8 * PARTS * 64 * 8
    assert [standing.done for standing in seen] == [1, 2, 3, 4, 5]
    assert str(seen[-1]) == "built 5 of 5 parts on 2 workers"
    assert not multiprocessing.active_children()


@needs_kills
@pytest.mark.parametrize("sees", [True, False])
def test_a_killed_worker_changes_no_bit(sees, tmp_path):
    with WorkerPool.open(makers(tmp_path), "local:2", checkpoint_every=3) as pool:
        for seat in pool._seats:
            seat.sees = sees  # else states travel in messages, as from workers without a shared disk

        def before(turn):
            if turn == 5:  # while it waits
                os.kill(processes(pool)[0], signal.SIGKILL)
            if turn == 7:  # in the middle of a call
                (tmp_path / "kill-3").touch()

        assert same(steps(pool, range(9), before), alone(range(9)))
        assert pool.traffic.lost == 2
        assert pool.traffic.adopted == 5
        assert pool.traffic.replayed <= 3 * pool.traffic.adopted


def engine(on, monkeypatch):
    """Skip without the engine; let its workers import the helpers."""
    if on.startswith("dask"):
        pytest.importorskip("distributed")
    if on.startswith("ray"):
        pytest.importorskip("ray")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HELPERS), os.environ.get("PYTHONPATH", "")]))
        monkeypatch.setenv("RAY_DEDUP_LOGS", "0")


@needs_kills
@needs_kills
@pytest.mark.parametrize("sees", [True, False])
def test_checkpoints_that_cannot_be_written_end_no_run(sees, tmp_path, caplog):
    with WorkerPool.open(makers(tmp_path), "local:2", checkpoint_every=2, folder=tmp_path / "states") as pool:
        for seat in pool._seats:
            seat.sees = sees

        def before(turn):
            if turn == 4:
                (tmp_path / "states" / "part-00001-4.npz").mkdir()  # where the next checkpoint belongs
                (tmp_path / "kill-3").touch()

        assert same(steps(pool, range(7), before), alone(range(7)))
        assert caplog.text.count("the checkpoint of parts cannot be written") == 1
        (tmp_path / "states" / "part-00001-7.npz").mkdir()
        with pytest.raises(OSError, match="directory"):
            pool.saved()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("on", ["local:2", "dask://local:2", "ray://local:2"])
def test_ten_random_kills_change_no_bit(on, tmp_path, monkeypatch):
    engine(on, monkeypatch)
    rng = np.random.default_rng(44)
    kills = dict(zip(rng.choice(np.arange(1, 60), 10, replace=False).tolist(), rng.integers(4, size=10), strict=True))
    with WorkerPool.open(makers(tmp_path), on, checkpoint_every=7) as pool:

        def before(turn):
            if kills.get(turn, 9) < 2:
                os.kill(processes(pool)[kills[turn]], signal.SIGKILL)
            elif turn in kills:
                (tmp_path / f"kill-{kills[turn]}").touch()

        assert same(steps(pool, range(60), before), alone(range(60)))
        assert pool.traffic.lost == 10
        assert pool.traffic.replayed <= 7 * pool.traffic.adopted


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("on", ["dask://local:2", "ray://local:2"])
def test_a_worker_of_a_cluster_that_hangs_is_replaced(on, tmp_path, monkeypatch):
    engine(on, monkeypatch)
    with WorkerPool.open(makers(tmp_path), on, patience=2.0) as pool:

        def before(turn):
            if turn == 2:
                (tmp_path / "hang-2").touch()

        assert same(steps(pool, range(4), before), alone(range(4)))
        assert pool.traffic.lost >= 1
        assert len(pool._seats) == 2


@pytest.mark.parametrize("fault", ["hang", "corrupt", "raise"])
def test_a_fault_costs_a_replay_and_changes_no_bit(fault, tmp_path, caplog):
    caplog.set_level(logging.WARNING, "treeplex.distributed")
    with WorkerPool.open(makers(tmp_path), "local:2", patience=0.2) as pool:

        def before(turn):
            if turn == 2:
                (tmp_path / f"{fault}-2").touch()

        assert same(steps(pool, range(4), before), alone(range(4)))
        assert pool.traffic.adopted >= 1
    assert {"hang": "no reply within", "corrupt": "was corrupted", "raise": "disk is full"}[fault] in caplog.text


@pytest.mark.parametrize("on", ["local:1", "local:2"])
def test_an_error_of_the_program_names_the_part(on):
    names = [f"flop {number}" for number in range(2)]
    with WorkerPool.open(makers(parts=2), on, names=names) as pool:
        with pytest.raises((SolverError, ValueError), match="nothing known of") as caught:
            pool.call("fail", [(1,), (1,)])
        assert "flop" in "".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
        with pytest.raises(SolverError, match=r"flop \d.* returned NaN or infinity"):
            pool.call("nan", [(), ()])
        # A failed call is as if it had not been made.
        results = pool.call("step", arguments(0, 2))
        assert np.array_equal([state for state, _ in results], alone([0])[0][0][:2])


def test_an_interrupted_call_is_as_if_it_had_not_been_made(monkeypatch):
    with WorkerPool.open(makers(), "local:2", checkpoint_every=3) as pool:
        first = steps(pool, range(5))
        with monkeypatch.context() as patch:
            patch.setattr(pool, "_finished", partial(signal.raise_signal, signal.SIGINT))
            with pytest.raises(KeyboardInterrupt):
                pool.call("step", arguments(5))
        found = [np.concatenate(pair) for pair in zip(first[:1], steps(pool, range(5, 8))[:1], strict=True)]
        assert np.array_equal(found[0], alone(range(8))[0])


@pytest.mark.parametrize("way", [("local:1", "local:2"), ("local:2", "local:1")])
@pytest.mark.parametrize("in_files", [True, False])
def test_states_continue_elsewhere(way, in_files, tmp_path):
    folder = tmp_path / "parts" if in_files else None
    with WorkerPool.open(makers(), way[0], folder=folder) as pool:
        steps(pool, range(4))
        saved = {name: np.array(array) for name, array in pool.saved().items()}
        assert (sum(array.nbytes for array in saved.values()) < PARTS * 64 * 8) == in_files
        steps(pool, range(4, 6))
    with WorkerPool.open(makers(), way[1], folder=folder) as pool:
        pool.restore(saved)
        assert np.array_equal(steps(pool, range(4, 9))[0], alone(range(9))[0][4:])
    with WorkerPool.open(makers(parts=4), folder=folder) as pool, pytest.raises(CheckpointError, match="4"):
        pool.restore(saved)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    with WorkerPool.open(makers(), folder=tmp_path) as pool:
        saved = pool.saved()
        file = tmp_path / str(saved["files"][2])
        content = bytearray(file.read_bytes())
        content[-400] ^= 1
        file.write_bytes(content)
        with pytest.raises(CheckpointError, match="part-00002"):
            pool.restore(saved)
        file.unlink()
        with pytest.raises(CheckpointError, match=r"part-00002.* is missing or damaged"):
            pool.restore(saved)


def test_only_files_that_something_names_stay(tmp_path):
    with WorkerPool.open(makers(), "local:2", folder=tmp_path, checkpoint_every=1) as pool:
        for turn in range(5):
            steps(pool, [turn])
            saved = pool.saved()
    assert len(list(tmp_path.iterdir())) == 2 * PARTS
    assert {str(name) for name in saved["files"]} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("on", either(["local:1"], ["local:1", "local:2"]))
def test_runs_that_continue_keep_no_more_than_two_states(on, tmp_path):
    (tmp_path / "other.npz").touch()
    saved = None
    for begin in (0, 3, 6):
        with WorkerPool.open(makers(), on, folder=tmp_path) as pool:
            if saved is not None:
                pool.restore(saved)
            for turn in range(begin, begin + 3):
                steps(pool, [turn])
                saved = pool.saved()
    with WorkerPool.open(makers(), folder=tmp_path) as pool:
        pool.restore(saved)
        assert np.array_equal(steps(pool, [9])[0], alone(range(10))[0][9:])
    assert len(list(tmp_path.iterdir())) == 2 * PARTS + 1


def driver(folder, way, on="local:2"):
    path = os.pathsep.join([str(HELPERS), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(HELPERS / "killed_driver.py"), str(folder), way, on]
    return subprocess.Popen(
        command, env=os.environ | {"PYTHONPATH": path}, stderr=subprocess.PIPE, start_new_session=True
    )


def wait_until(is_so):
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)


@needs_kills
@pytest.mark.slow
def test_a_killed_driver_continues_from_its_folder_and_leaves_no_process(tmp_path):
    process = driver(tmp_path, "kill")
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    workers = [int(each) for each in (tmp_path / "processes").read_text().split()]
    wait_until(lambda: not any(map(psutil.pid_exists, workers)))
    saved = dict(np.load(tmp_path / "driver.npz"))
    with WorkerPool.open(makers(), "local:2", folder=tmp_path / "parts") as pool:
        pool.restore(saved)
        assert np.array_equal(steps(pool, range(10, 20))[0], alone(range(20))[0][10:])


@needs_kills
@pytest.mark.slow
@pytest.mark.parametrize("on", ["local:2", "dask://local:2", "ray://local:2"])
def test_ctrl_c_ends_a_call_and_all_processes_without_a_traceback(on, tmp_path, monkeypatch):
    engine(on, monkeypatch)
    process = driver(tmp_path, "wait", on)
    wait_until((tmp_path / "processes").exists)
    wait_until(lambda: not (tmp_path / "hang-1").exists())
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (77, b"")
    workers = [int(each) for each in (tmp_path / "processes").read_text().split()]
    wait_until(lambda: not any(map(psutil.pid_exists, workers)))


def test_a_time_limit_stops_building():
    with time_limited(-1.0), pytest.raises(TimeLimitError, match="of 5 parts were built"):
        WorkerPool.open(makers(), "local:2")
    assert not multiprocessing.active_children()


@needs_kills
def test_calls_that_are_not_deterministic_are_said(caplog):
    with WorkerPool.open(makers(parts=2), "local:2") as pool:
        pool.call("random", [(), ()])
        os.kill(processes(pool)[1], signal.SIGKILL)
        pool.call("random", [(), ()])
    assert "part 1: its replayed calls gave other results" in caplog.text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"on": "locl:2"}, r"on is 'locl:2' \(did you mean local\?\), expected local:N, dask"),
        ({"on": "local:0"}, "on is 'local:0', expected"),
        ({"on": "dask://local:x"}, "on is 'dask://local:x', expected"),
        ({"on": "dask:/host:1"}, "on is 'dask:/host:1', expected"),
        ({"on": "dask://host"}, "on is 'dask://host', expected"),
        ({"on": "dask://host:65536"}, "on is 'dask://host:65536', expected"),
        ({"on": "ray://host:0"}, "on is 'ray://host:0', expected"),
        ({"on": "dask://auto"}, "on is 'dask://auto', expected"),
        ({"on": 3}, "on is 3, expected"),
        ({"makers": []}, "makers is .*, expected functions"),
        ({"makers": Wave}, "makers is .*, expected functions"),
        ({"makers": [lambda: Wave(0)], "on": "local:2"}, r"makers\[0\]: .*cannot be sent"),
        ({"names": ["one"]}, "names has 1 entries, expected 5"),
        ({"checkpoint_every": 0}, "checkpoint_every is 0, expected"),
        ({"patience": 0}, "patience is 0, expected"),
    ],
)
def test_mistakes_are_one_line(options, expected):
    with pytest.raises(UnsupportedProblemError, match=expected) as caught:
        WorkerPool.open(**{"makers": makers()} | options)
    assert "\n" not in str(caught.value)


def test_arguments_are_one_tuple_per_part():
    with WorkerPool.open(makers()) as pool, pytest.raises(UnsupportedProblemError, match="4 entries, expected 5"):
        pool.call("step", arguments(0, 4))


@pytest.mark.parametrize(("on", "module"), [("dask://local:2", "distributed"), ("ray://local:2", "ray")])
def test_a_missing_engine_says_what_to_install(on, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'treeplex\[(dask|ray)\]'"):
        WorkerPool.open(makers(), on)


def test_a_missing_client_of_ray_says_what_to_install(monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr(clusters, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"ray://head:1 needs Ray's client: pip install 'ray\[client\]'"):
        WorkerPool.open(makers(), "ray://head:1")


def test_a_scheduler_that_ends_takes_its_workers_along():
    pytest.importorskip("distributed")
    engine = object.__new__(clusters.DaskEngine)
    engine._known, engine._used, engine._place = (0.0, {"tcp://a:1"}), set(), read_place("dask://b:1")
    engine._connection = None  # every call fails, as those of a client that has lost its scheduler
    assert engine.addresses() == set()
    assert engine._tried("tcp://a:1") == []
    assert engine.replace(None, 0.01) is None


@pytest.mark.parametrize("text", ["local", "local:3", "dask://local", "dask://a:1", "ray://auto", "ray://[::1]:9"])
def test_places_are_written_as_they_are_read(text):
    assert str(read_place(f" {text} ")) == text


def test_checksums_tell_values_apart():
    values = [
        *(np.zeros(2), np.zeros(3), np.zeros((2, 1)), np.zeros(2, dtype=np.int64), np.array([0.0, -0.0])),
        *(0, 0.0, False, None, "", b"", (), [], {}, (1, 2), ((1,), 2), {"a": 1}, {"b": 1}, np.float64(0.0)),
    ]
    assert len({digest(value) for value in values}) == len(values)
    assert digest(np.arange(6).reshape(2, 3).T) == digest(np.arange(6).reshape(2, 3).T.copy())
    with pytest.raises(TypeError, match="expected nested tuples"):
        digest({1})


def test_a_solve_on_one_machine_imports_nothing_of_this():
    program = (
        "import sys; from treeplex import Nash, load_game, solve; solve(Nash(load_game('kuhn')), 'cfr+', tol=1e-2); "
        "print([name for name in sys.modules if 'distributed' in name or name == 'ray'])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
