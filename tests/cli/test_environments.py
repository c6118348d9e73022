"""The command does as on a quiet desk where there is no home, nothing but ASCII, no room, or much else going on."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from effort import PATIENCE, SHARE, few, soaked, thorough

import treeplex

FOLDER = Path(treeplex.__file__).parent
#: What Python itself needs to start and to find the library.
NEEDED = ("PATH", "PYTHONPATH", "SYSTEMROOT", "VIRTUAL_ENV", "NUMBA_CACHE_DIR")
RUN = "import json, sys; from treeplex.cli import main; print(*[main(each) for each in json.loads(sys.argv[1])])"


def run_bare(commands, folder, flags=(), **environment):
    """Run commands in one process with next to no environment; return how they ended, and what was said."""
    kept = {name: os.environ[name] for name in NEEDED if name in os.environ}
    found = subprocess.run(
        [sys.executable, "-P", *flags, "-c", RUN, json.dumps(commands)],
        env=kept | environment,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    *_, statuses = found.stdout.splitlines()
    return [int(each) for each in statuses.split()], found.stderr


@thorough
def test_no_home_no_language_a_narrow_terminal_and_names_with_blanks(tmp_path):
    folder = tmp_path / "a päth with blanks"
    folder.mkdir()
    commands = [
        ["export", "kuhn", "--out", "gäme 1.efg"],
        ["solve", "gäme 1.efg", "--out", "wäy 1.npz", "--json", "föund.json"],
        ["solve", "gäme 1.efg", "--method", "es-mccfr", "--max-iterations", "9", "--start", "wäy 1.npz"],
    ]
    statuses, errors = run_bare(commands, folder, ("-O",), LANG="C", COLUMNS="20")
    assert (statuses, errors) == ([0, 0, 0], "")
    found = json.loads((folder / "föund.json").read_text(encoding="utf-8"))
    assert found["value"] == pytest.approx(-1 / 18)


@thorough
def test_warnings_that_are_errors(tmp_path):
    methods = ("highs", "rational", "cvxpy", "cfr", "es-mccfr")
    commands = [["solve", "kuhn", "--method", method, "--tol", "0.1"] for method in methods]
    assert run_bare(commands, tmp_path, PYTHONWARNINGS="error") == ([0] * len(methods), "")


def test_homes_that_cannot_be_written_to(tmp_path):
    nowhere = tmp_path / "home"
    nowhere.write_text("a file, in which nobody makes folders, whoever they are")
    environment = {"HOME": str(nowhere), "XDG_CACHE_HOME": str(nowhere), "MPLCONFIGDIR": str(tmp_path)}
    command = ["solve", "kuhn", "--problem", "rnr", "--opponent", "uniform", "--frontier", "--plot", "found.svg"]
    assert run_bare([command], tmp_path, **environment) == ([0], "")
    assert (tmp_path / "found.svg").exists()


@few
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("NUMBA_DISABLE_JIT=1", "NUMBA_DISABLE_JIT is set"),
        ("NUMBA_NUM_THREADS=0", "numba rejects its settings"),
    ],
)
def test_settings_with_which_nothing_is_compiled(setting, said, tmp_path):
    ways = [["cfr+"], ["os-mccfr"], ["ccfr", "--problem", "constrained", "--constrain", "0/K_:b <= 1"]]
    commands = [["solve", "kuhn", "--method", *way] for way in ways]
    statuses, errors = run_bare(
        [*commands, ["solve", "kuhn", "--method", "highs"]], tmp_path, **dict([setting.split("=")])
    )
    assert statuses == [1, 1, 1, 0]
    lines = errors.splitlines()
    assert len(lines) == len(ways)
    assert all(line.startswith(f"error: {said}") for line in lines)


@thorough
@pytest.mark.parametrize("setting", ["NUMBA_BOUNDSCHECK=1", "NUMBA_NUM_THREADS=1", "NUMBA_OPT=0"])
def test_settings_that_change_compiled_code_change_no_answer(setting, tmp_path):
    environment = dict([setting.split("=")], NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    methods = ("cfr+", "es-mccfr", "os-mccfr", "es-mccfr:batch=8", "es-pref-cfr")
    commands = [["solve", "kuhn", "--method", method, "--tol", "0.05"] for method in methods]
    assert run_bare(commands, tmp_path, **environment) == ([0] * len(methods), "")


def test_clocks_that_are_set_back_do_not_matter():
    told = re.compile(r"\btime\.time\(|datetime\.(now|today|utcnow)")
    floors = ("seqform", "models", "solvers", "validation", "cli")
    sources = [path for floor in floors for path in (FOLDER / floor).rglob("*.py")]
    assert len(sources) > 300
    found = [path.name for path in sources if told.search(path.read_text(encoding="utf-8"))]
    assert found == ["schedules.py"]  # calendars say when they were written


@pytest.mark.soak
@pytest.mark.skipif(SHARE < 1 and soaked(1) == 1, reason="runs with TREEPLEX_TESTS=thorough, and in make soak")
def test_processes_that_compile_at_once_share_an_empty_cache(tmp_path):
    """Two by default, eight in the long form; the ninth finds what they have compiled."""
    command = ["solve", "kuhn", "--method", "es-mccfr", "--tol", "0", "--max-iterations", "50", "--json", "-"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    arguments = [sys.executable, "-P", "-m", "treeplex", *command]
    running = [
        subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2 if soaked(1) == 1 else 8)
    ]
    ended = [(process.communicate(), process.returncode) for process in running]
    last = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    ended.append(((last.stdout, last.stderr), last.returncode))
    assert {(status, error) for (_, error), status in ended} == {(0, "")}
    assert len({json.loads(out)["value"] for (out, _), _ in ended}) == 1
