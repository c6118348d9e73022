"""Seconds and peak memory from rules, and from a networkx tree, to matrices; a process of its own for each."""

import json
import subprocess
import sys
from typing import Any

import pytest

GAMES = ["leduc", "liars_dice", "goofspiel:cards=5"]
LARGE = "goofspiel:cards=6"

_PROGRAM = """
import json, pathlib, resource, sys, time
import networkx, numpy, scipy.sparse
from treeplex import SequenceForm, load_game
from treeplex.seqform.game_tree import GameTree

def peak():
    # Linux's ru_maxrss keeps what the process had before it became this program: its parent's size.
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6

rules = load_game(sys.argv[1]).rules
imported = peak()
started = time.process_time()
form = SequenceForm.from_rules(rules) if sys.argv[2] == "rules" else SequenceForm.from_tree(GameTree.from_rules(rules))
form.A, form.E, form.F
seconds = time.process_time() - started
print(json.dumps({
    "nodes": form.num_nodes, "seconds": seconds, "microseconds_per_node": seconds / form.num_nodes * 1e6,
    "peak_megabytes": peak(), "megabytes_of_imports": imported,
}))
"""


def measure(game: str, route: str) -> dict[str, float]:
    """Build a game's matrices in a fresh process; return its CPU seconds and peak resident memory."""
    answer = subprocess.run(
        [sys.executable, "-c", _PROGRAM, game, route], capture_output=True, text=True, check=True, timeout=600
    )
    result: dict[str, float] = json.loads(answer.stdout)
    return result


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read by the resource module")
@pytest.mark.parametrize("route", ["rules", "tree"])
@pytest.mark.parametrize("game", [*GAMES, pytest.param(LARGE, marks=pytest.mark.slow)])
def test_building(benchmark: Any, game: str, route: str) -> None:
    benchmark.group = f"building {game}"
    benchmark.extra_info.update(benchmark.pedantic(measure, args=(game, route), rounds=1))
