"""Files written whole or not at all: what a kill, a full disk and other writers leave of them."""

import ast
import contextlib
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interruptions import Moment

import treeplex
from treeplex import GameTooLargeError
from treeplex.seqform.interchange.files import check_writable, read_archive, write_archive, write_bytes, writing_whole

WRITER = """
import sys, time
import treeplex
from treeplex.seqform.interchange.files import writing_whole
with writing_whole(sys.argv[1]) as passing:
    passing.write_text("half")
    print("writing", flush=True)
    time.sleep(900)
"""


def writer(path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen([sys.executable, "-P", "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def hidden(folder: Path) -> list[str]:
    return [name for name in names(folder) if name.startswith(".")]


def test_a_file_is_replaced_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text("old")
    path.chmod(0o640)
    with writing_whole(path) as passing:
        passing.write_text("new")
        assert path.read_text() == "old"
        assert passing.suffix == ".json"
    assert (path.read_text(), path.stat().st_mode & 0o777, hidden(tmp_path)) == ("new", 0o640, [])


def test_whatever_goes_wrong_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), writing_whole(path) as passing:
        passing.write_text("ne" * 10_000 + "\udc80", encoding="utf-8")
    assert (path.read_text(), hidden(tmp_path)) == ("old", [])


def test_whatever_comes_at_any_line_closes_the_file(tmp_path: Path) -> None:
    """An exception between opening the passing file and the block that closes it used to leave it open, and locked."""
    path, came = tmp_path / "game.efg", 0
    write_bytes(path, b"-1")
    with Moment().counting() as counted:
        write_bytes(path, b"old")
    for line in range(counted.lines):
        before, after = path.read_bytes(), b"%d" % line
        with Moment(line, "raise").counting() as moment, contextlib.suppress(KeyboardInterrupt):
            write_bytes(path, after)
        came += moment.lines > line
        assert path.read_bytes() in (before, after)
    gc.collect()  # which warns of files that nobody has closed
    assert came > 20
    write_bytes(path, b"whole")
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("write", [lambda path: write_bytes(path, b"1"), check_writable], ids=["write", "look"])
def test_what_is_left_of_a_killed_writer_is_removed_by_the_next_one(write: Any, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text("old")
    process = writer(path)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert path.read_text() == "old"
    assert len(hidden(tmp_path)) == 1
    write(tmp_path / "another.json")
    assert (hidden(tmp_path), path.read_text()) == ([], "old")


def test_a_file_that_somebody_else_writes_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    with writer(path) as process:
        (name,) = hidden(tmp_path)
        write_bytes(path, b"1")
        assert hidden(tmp_path) == [name]
        process.kill()


@pytest.mark.parametrize("name", [".answer.json", ".answer.treeplex-0123.json", "answer.treeplex-01234567.json"])
def test_files_of_others_are_left_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    write_bytes(tmp_path / "answer.json", b"1")
    assert (tmp_path / name).read_text() == "mine"


def test_a_link_among_what_is_left_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / ".a.treeplex-01234567.json").symlink_to(tmp_path / "precious")
    write_bytes(tmp_path / "answer.json", b"1")
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.parametrize("name", ["numbers.npz", "Zahlen für später.npz", "\U0001f0a1" * 50 + ".npz", "n" * 255])
def test_names_of_any_kind_and_length(name: str, tmp_path: Path) -> None:
    write_archive(tmp_path / name, {}, {"one": np.ones(1)})
    assert names(tmp_path) == [name]


def test_a_full_disk_leaves_the_old_archive(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "numbers.npz"
    write_archive(path, {}, {"one": np.ones(1)})
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            write_archive(path, {}, {"many": np.random.default_rng(1).random(10_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (path.read_bytes(), names(tmp_path)) == (before, ["numbers.npz"])


@pytest.mark.parametrize("packed", [False, True])
def test_an_archive_is_mapped_as_it_is_read(packed: bool, tmp_path: Path) -> None:
    arrays = {
        "numbers": np.arange(12.0, dtype=np.float32).reshape(3, 4),
        "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "none": np.zeros((0, 3)),
        "texts": np.array(["one", "other"]),
    }
    write_archive(tmp_path / "a.npz", {"is": "there"}, arrays, packed=packed)
    metadata, found = read_archive(tmp_path / "a.npz", mapped=True)
    assert metadata == {"is": "there"}
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)
    assert not found["numbers"].flags.writeable
    assert isinstance(found["numbers"].base, np.memmap) is not packed


def test_an_archive_is_mapped_beyond_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_archive(tmp_path / "a.npz", {}, {"many": np.ones(200_000)}, packed=False)
    monkeypatch.setenv("TREEPLEX_MEMORY", "1MB")
    assert read_archive(tmp_path / "a.npz", mapped=True)[1]["many"].sum() == 200_000
    with pytest.raises(GameTooLargeError):
        read_archive(tmp_path / "a.npz")


def test_a_mapped_archive_is_where_its_directory_says(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_archive(path, {}, {"many": np.ones(1000), "more": np.ones(10)}, packed=False)
    content = path.read_bytes()
    second = content.index(b"PK\x03\x04", 10)
    for damaged, message in [
        (content[:second] + b"XX" + content[second + 2 :], "does not begin where the archive says"),
        (content[: second + 26] + b"\xff\xff" + content[second + 28 :], "does not end where the archive says"),
        (content[: second + 26] + b"\x00\x00" + content[second + 28 :], "magic string is not correct"),
        (content.replace(b"(1000,)", b"(1001,)"), "which are not numeric or do not match the data"),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=message):
            read_archive(path, mapped=True)


def test_what_cannot_be_written_is_known_beforehand(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    check_writable(tmp_path / "old")
    check_writable(tmp_path / "new")
    for wrong in (tmp_path, tmp_path / "none" / "new", tmp_path / "old" / "new", tmp_path / ("n" * 256)):
        with pytest.raises(OSError, match=r"directory|name too long"):
            check_writable(wrong)
    with pytest.raises(ValueError, match="null"):
        check_writable("a\0b")
    assert names(tmp_path) == ["old"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(0o444)
    with pytest.raises(PermissionError):
        write_bytes(tmp_path / "old", b"new")


_WRITERS = ("write_text", "write_bytes", "open")


def writes_directly(call: ast.Call) -> bool:
    """Whether a call writes to a file that is not a passing one."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in _WRITERS:
        return False
    receiver = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if name != "open" and receiver:
        return receiver != "passing"
    modes = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    wrote = name == "open" and any(set(mode) <= set("wxabt+") and set(mode) & set("wxa") for mode in modes)
    # A sweep adds a line to its results, synchronised, as each comes; tables on disk add menus of actions.
    appended = ("self.path / _RESULTS", "(self.path / _RESULTS)", "self._path")
    return wrote and not receiver.startswith(("passing", "Path(os.devnull)", "self._own", "place", *appended))


def test_every_file_is_written_whole() -> None:
    """Files that the library writes all go through one function."""
    found = []
    library = Path(treeplex.__file__).parent
    for folder in ("cli", "models", "seqform", "solvers", "validation"):
        for path in (library / folder).rglob("*.py"):
            text = path.read_text("utf-8")
            if any(name in text for name in _WRITERS):
                calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
                found += [f"{path.name}:{call.lineno}" for call in calls if writes_directly(call)]
    assert found == []
