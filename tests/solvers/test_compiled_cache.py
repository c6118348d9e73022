"""The cache of compiled loops on disk: what is damaged in it is compiled again."""

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest
from effort import PATIENCE, either, few, thorough

from treeplex import SolverError
from treeplex.solvers.compilation import _CheckedCacheFile, compiled

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda content: b"",
    "cut off": lambda content: content[: len(content) // 2],
    "one bit": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "overwritten": lambda content: b"\x80\x04." * (len(content) // 3),
}


def loaded(path: Path) -> Any:
    """Return the function of a file, as a new process would have it."""
    spec = importlib.util.spec_from_file_location("doubling", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return compiled(module.double, cache=True)


@few
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_compiled_again(
    damage: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "doubling.py"
    path.write_text("def double(number):\n    return 2 * number\n")
    assert loaded(path)(21) == 42
    (file,) = (tmp_path / "cache").rglob(f"*.{suffix}")
    whole = file.read_bytes()
    again = loaded(path)
    assert again(21) == 42
    assert sum(again.stats.cache_hits.values()) == 1
    file.write_bytes(DAMAGES[damage](whole))
    healing = loaded(path)
    assert healing(21) == 42
    assert not healing.stats.cache_hits
    healed = loaded(path)
    assert healed(21) == 42
    assert sum(healed.stats.cache_hits.values()) == 1


@few
@pytest.mark.parametrize(("setting", "value"), [("OPT", 1), ("BOUNDSCHECK", 1), ("DEBUGINFO_DEFAULT", 1)])
def test_code_of_other_settings_is_compiled_again(
    setting: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "doubling.py"
    path.write_text("def double(number):\n    return 2 * number\n")
    assert loaded(path)(21) == 42
    with monkeypatch.context() as changed:
        changed.setattr(numba.config, setting, value)
        other = loaded(path)
        assert other(21) == 42
        assert not other.stats.cache_hits
    back = loaded(path)
    assert back(21) == 42
    assert not back.stats.cache_hits


def test_loops_that_may_not_be_compiled_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def double(number: int) -> int:
        return 2 * number

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert compiled(double)(21) == 42  # what only loops call
    with pytest.raises(SolverError, match=r"^NUMBA_DISABLE_JIT is set, .*: unset it"):
        compiled(double, cache=True)(21)


SHARED = """
from treeplex.solvers.compilation import compiled

{constant}

@compiled
def scale(number):
    return FACTOR * number{change}
"""

SCALING = """
from typing import NamedTuple
from shared import scale
from treeplex.solvers.compilation import compiled

class Pair(NamedTuple):
    {first}: float
    {second}: float

@compiled
def called(pair):
    return scale(pair.one) - pair.two

def run(pair):
    return called(pair)

run = compiled(run, cache=True)
"""


@thorough
def test_what_changes_in_another_file_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)

    def answer() -> tuple[float, int]:
        for name in ("scaling", "shared", "elsewhere"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        scaling: Any = importlib.import_module("scaling")
        return scaling.run(scaling.Pair(3.0, 4.0)), sum(scaling.run.stats.cache_hits.values())

    def write(constant: str = "FACTOR = 2.0", change: str = "", first: str = "one", second: str = "two") -> None:
        (tmp_path / "shared.py").write_text(SHARED.format(constant=constant, change=change))
        if not (tmp_path / "scaling.py").exists() or first != "one":
            (tmp_path / "scaling.py").write_text(SCALING.format(first=first, second=second))

    write()
    assert answer() == (2.0, 0)
    assert answer() == (2.0, 1)
    write(change=" + 1.0")
    assert answer() == (3.0, 0)
    (tmp_path / "elsewhere.py").write_text("NUMBER = 5.0\n")
    write(constant="from elsewhere import NUMBER as FACTOR")
    assert answer() == (11.0, 0)
    assert answer() == (11.0, 1)
    (tmp_path / "elsewhere.py").write_text("NUMBER = 6.0\n")
    assert answer() == (14.0, 0)
    # The named tuple's type is as it was: only the order of its names is not.
    before = (tmp_path / "scaling.py").stat()
    write(constant="FACTOR = 6.0", first="two", second="one")
    os.utime(tmp_path / "scaling.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert answer() == (21.0, 0)


def test_processes_that_compile_at_once_do_not_take_each_other_s_code(tmp_path: Path) -> None:
    """One saves a signature while the other one is saving another."""
    first, second, newer = (_CheckedCacheFile(str(tmp_path), "function", stamp) for stamp in ("old", "old", "new"))
    for one in (first, second, newer):
        one.function = loaded
    save, load_index = first._save_data, second._load_index
    second._load_index = dict  # type: ignore[method-assign]  # it looked before the first one wrote anything

    def late(name: str, data: Any) -> None:
        if name.endswith(".nbc"):
            first._save_data = save  # type: ignore[method-assign]
            second.save("second", "code of the second")
        save(name, data)

    first._save_data = late  # type: ignore[method-assign]
    first.save("first", "code of the first")
    second._load_index = load_index  # type: ignore[method-assign]
    for key in ("first", "second"):
        assert second.load(key) in (None, f"code of the {key}")
    assert second.load("first") is not None or second.load("second") is not None
    assert newer.load("first") is None


@thorough
def test_functions_of_different_processes_have_different_names() -> None:
    """Otherwise code of two processes, kept in one cache and loaded by a third, may call each other's functions."""
    code = "import treeplex.solvers.compilation, numba.core.bytecode as b; print(next(b.FunctionIdentity._unique_ids))"
    command = [sys.executable, "-c", code]
    found = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(found) == 2


RACE = """
import importlib.util, os, sys, time
from treeplex.solvers.compilation import compiled
from treeplex.solvers.progress import showing
spec = importlib.util.spec_from_file_location("summing", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
function = compiled(module.add, cache=True)
print("ready", flush=True)
sys.stdin.readline()
with showing(lambda what: print(what, flush=True)):
    assert function(1.0) == module.add(1.0)
"""


def test_one_process_compiles_while_others_wait(tmp_path: Path) -> None:
    path = tmp_path / "summing.py"
    slow = range(either(20, 40))  # loops to compile
    lines = (f"    for i in range({count}):\n        x = x * 1.5 - i\n" for count in slow)
    path.write_text("def add(x):\n" + "".join(lines) + "    return x\n")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    racing = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(either(2, 3))
    ]
    for one in racing:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in racing:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    said = [one.communicate(timeout=PATIENCE)[0].splitlines() for one in racing]
    assert {one.returncode for one in racing} == {0}
    assert sum("compiling, first time only" in lines for lines in said) == 1
    assert all(
        set(lines) <= {"compiling, first time only", "waiting for another process that compiles, first time only", ""}
        for lines in said
    )


def test_where_nothing_can_be_locked_it_is_compiled_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("filelock.FileLock.acquire", refused)
    path = tmp_path / "doubling.py"
    path.write_text("def double(number):\n    return 2 * number\n")
    assert loaded(path)(21) == 42


def test_code_that_numba_does_not_have_to_keep_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(library: Any) -> bytes:
        raise RuntimeError(f"no compiled object yet for {library}")

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("numba.core.codegen.JITCodeLibrary._get_compiled_object", nothing)
    path = tmp_path / "doubling.py"
    path.write_text("def double(number):\n    return 2 * number\n")
    assert loaded(path)(21) == 42
    assert not list((tmp_path / "cache").rglob("*.nbc"))
