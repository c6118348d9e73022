"""Runs whose tables are in memory-mapped files: the same bits as in memory, resumed, and refused if damaged."""

import re

import pytest
from effort import few
from filelock import FileLock

from treeplex import CheckpointError, InvalidOptionError, StreamedMCCFR, load_game
from treeplex.solvers import ESPrefCFR
from treeplex.solvers.sampling import disk_tables

LEDUC = load_game("leduc:ranks=6")


def same(one, other):
    assert (one.iterations, one.touched, one.infosets) == (other.iterations, other.touched, other.infosets)
    assert one.payoff_ranges == other.payoff_ranges
    for player in range(one.num_players):
        assert dict(one.strategy(player)) == dict(other.strategy(player))
        assert one.regrets(player) == other.regrets(player)
    assert one.regret_estimates() == other.regret_estimates()


@few
@pytest.mark.parametrize(
    ("game", "method", "iterations"),
    [
        (LEDUC, "es-mccfr", 150),
        (LEDUC, "os-mccfr", 800),
        (load_game("kuhn:players=3"), "es-mccfr", 60),
        (load_game("goofspiel:cards=4"), "os-mccfr:baselines=none", 300),
    ],
)
def test_a_run_on_disk_is_the_run_in_memory_bit_for_bit(game, method, iterations, tmp_path, monkeypatch):
    monkeypatch.setattr(disk_tables, "_LEAST", 64)  # files grow often
    monkeypatch.setattr(disk_tables, "_REMEMBERED", 10)
    memory = StreamedMCCFR(game, method, seed=3)
    memory.run(2 * iterations)
    first = StreamedMCCFR(game, method, seed=3, folder=tmp_path)
    first.run(iterations)
    second = StreamedMCCFR(game, method, seed=3, folder=tmp_path)
    assert second.iterations == iterations
    same(first, second)
    second.run(iterations)
    same(memory, second)
    profile = second.profile
    second.run(10)
    assert dict(profile[0]) == dict(memory.profile[0])  # later walks do not change it


def test_labels_with_equal_hashes_are_distinguished(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_tables, "_hash", lambda text: len(text) % 2)
    memory, disk = StreamedMCCFR(LEDUC, seed=1), StreamedMCCFR(LEDUC, seed=1, folder=tmp_path)
    memory.run(20)
    disk.run(20)
    same(memory, disk)


def test_a_full_disk_stops_the_run_and_more_space_continues_it(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_tables, "_LEAST", 64)
    disk = StreamedMCCFR(LEDUC, seed=3, folder=tmp_path)
    disk.run(20)
    with monkeypatch.context() as full:
        full.setattr(disk_tables, "free_bytes", lambda folder: 1000)
        run = disk.run(1000)
    assert run.stopped == "disk"
    assert f"the disk of {tmp_path} is too small: 1 kB are free" in run.message
    assert 20 <= run.iterations < 1000
    done = run.iterations
    disk.run(150 - done)
    memory = StreamedMCCFR(LEDUC, seed=3)
    memory.run(150)
    for player in range(2):  # the order of infosets and their number are those of the interrupted walk
        assert {k: v for k, v in disk.regrets(player).items() if any(v.values())} == {
            k: v for k, v in memory.regrets(player).items() if any(v.values())
        }


def test_a_disk_that_is_full_from_the_start_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_tables, "free_bytes", lambda folder: 1000)
    with pytest.raises(CheckpointError, match=r"the disk of .* is too small"):
        StreamedMCCFR(LEDUC, folder=tmp_path / "run")


def test_a_run_that_was_killed_while_writing_says_so_once(tmp_path):
    disk = StreamedMCCFR(LEDUC, folder=tmp_path)
    disk.run(5)
    disk._disk.counters[0] = 1
    with pytest.warns(UserWarning, match="was killed while it wrote the results of a walk"):
        again = StreamedMCCFR(LEDUC, folder=tmp_path)
    again.run(5)
    assert StreamedMCCFR(LEDUC, folder=tmp_path).iterations == 10


def test_other_runs_files_and_processes_are_refused(tmp_path):
    run = tmp_path / "run"
    disk = StreamedMCCFR(LEDUC, seed=1, folder=run)
    disk.run(5)
    for arguments, said in [
        ((load_game("kuhn"), "es-mccfr", 1), "its game is"),
        ((LEDUC, "os-mccfr", 1), "its method is 'es-mccfr', expected 'os-mccfr'"),
        ((LEDUC, "es-mccfr:local_rule=regret-matching+", 1), "its settings is"),
        ((LEDUC, "es-mccfr", 2), "its seed is '1', expected '2'"),
    ]:
        game, method, seed = arguments
        with pytest.raises(CheckpointError, match=re.escape(said)):
            StreamedMCCFR(game, method, seed=seed, folder=run)
    with FileLock(run / "lock"), pytest.raises(CheckpointError, match="another process uses"):
        disk.run(1)
    other = StreamedMCCFR(LEDUC, seed=1, folder=run)
    other.run(1)
    with pytest.raises(CheckpointError, match="another process has continued the run"):
        disk.run(1)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CheckpointError, match="contains other files, expected an empty folder"):
        StreamedMCCFR(LEDUC, folder=tmp_path)
    with pytest.raises(CheckpointError, match=r"notes\.txt is a file, expected a folder"):
        StreamedMCCFR(LEDUC, folder=tmp_path / "notes.txt")
    with pytest.raises(CheckpointError, match="cannot use the folder"):
        StreamedMCCFR(LEDUC, folder=tmp_path / "notes.txt" / "run")
    (run / "regrets0.bin").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"a file of .* is too short: the folder is damaged"):
        StreamedMCCFR(LEDUC, seed=1, folder=run)


def test_preferences_and_checkpoints_are_refused_with_a_folder(tmp_path):
    with pytest.raises(InvalidOptionError, match="expected es-mccfr or os-mccfr for tables on disk"):
        StreamedMCCFR(LEDUC, ESPrefCFR(), folder=tmp_path)
    with pytest.raises(InvalidOptionError, match="the run is kept in its folder, expected no checkpoint"):
        StreamedMCCFR(LEDUC, folder=tmp_path).run(1, checkpoint=tmp_path / "c")
