"""Time, peak memory and retained memory of building matrices from rules and from trees, each in its own process.

python benchmarks/test_building.py          a table of all games, a few minutes
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

GAMES = ["leduc", "liars_dice", "goofspiel:cards=5"]
# Built as flows, without histories: their nodes are sequences.
FLOWS = ["transit:width=6", "transit:width=10", "transit:width=14"]
LARGE = [
    "leduc:ranks=20,merge_suits=true",
    "leduc:ranks=10",
    "leduc:players=3,ranks=4",
    "liars_dice:sides=6",
    "kuhn:players=6",
    "goofspiel:cards=6",
]
# The states are OpenSpiel's, in C++: 549,946 histories of perfect information.
OPENSPIEL = "openspiel:tic_tac_toe()"

_PROGRAM = """
import gc, json, sys, time
import networkx, numpy, psutil, scipy.sparse
from memory import peak_megabytes
from treeplex import GameTree, SequenceForm, load_game
from treeplex.seqform.budget import sequence_form_bytes, tree_bytes
from treeplex.seqform.rules import size_of

load_game("matching_pennies").sequence_form.A
game, route = load_game(sys.argv[1]), sys.argv[2]
rules = game.rules
imported = peak_megabytes()
before = psutil.Process().memory_info().rss
started = time.process_time()
tree = GameTree.from_rules(rules) if route == "tree" else None
if route == "flow":
    form = game.sequence_form
else:
    form = SequenceForm.from_tree(tree) if tree else SequenceForm.from_rules(rules)
[treeplex.E for treeplex in form.treeplexes]
if form.num_players == 2 and route != "flow":
    form.A
seconds = time.process_time() - started
gc.collect()
kept = psutil.Process().memory_info().rss - before
nodes = form.num_nodes or sum(treeplex.num_sequences for treeplex in form.treeplexes)
size = None if rules is None else size_of(rules)
taken = max(peak_megabytes() * 1e6 - before, kept)  # what imports took for a while hides the peak of a small game
estimate = None if size is None else (tree_bytes(size) if tree else sequence_form_bytes(size)) / taken
print(json.dumps({
    "nodes": nodes, "seconds": seconds, "microseconds_per_node": seconds / nodes * 1e6,
    "peak_megabytes": peak_megabytes(), "megabytes_of_imports": imported,
    "peak_bytes_per_node": taken / nodes, "kept_bytes_per_node": kept / nodes, "estimate_over_peak": estimate,
}))
"""


def measure(game: str, route: str) -> dict[str, float]:
    """Build a game's matrices in a new process; return its CPU seconds, its memory, and the estimate relative to it."""
    answer = subprocess.run(
        [sys.executable, "-c", _PROGRAM, game, route],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
        cwd=Path(__file__).parent,  # the program imports files from this folder
    )
    result: dict[str, float] = json.loads(answer.stdout)
    return result


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read by the resource module")
@pytest.mark.parametrize("route", ["rules", "tree"])
@pytest.mark.parametrize("game", [*GAMES, *(pytest.param(game, marks=pytest.mark.slow) for game in LARGE)])
def test_building(benchmark: Any, game: str, route: str) -> None:
    benchmark.group = f"building {game}"
    benchmark.extra_info.update(benchmark.pedantic(measure, args=(game, route), rounds=1))


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read by the resource module")
@pytest.mark.parametrize("game", FLOWS)
def test_building_a_flow(benchmark: Any, game: str) -> None:
    benchmark.group = f"building {game}"
    benchmark.extra_info.update(benchmark.pedantic(measure, args=(game, "flow"), rounds=1))


@pytest.mark.slow
def test_building_from_openspiel(benchmark: Any) -> None:
    pytest.importorskip("pyspiel")
    benchmark.group = f"building {OPENSPIEL}"
    benchmark.extra_info.update(benchmark.pedantic(measure, args=(OPENSPIEL, "rules"), rounds=1))


def main() -> None:
    """Print a table of all games, in the format of the documentation."""
    cases = [(game, "rules") for game in LARGE] + [("goofspiel:cards=6", "tree")] + [(game, "flow") for game in FLOWS]
    if importlib.util.find_spec("pyspiel"):
        cases.append((OPENSPIEL, "rules"))
    print("| game | route | nodes | µs a node | peak bytes a node | kept bytes a node | estimate / peak |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for game, route in cases:
        built = measure(game, route)
        estimate = built["estimate_over_peak"]
        print(
            f"| `{game}` | {route} | {built['nodes']:,} | {built['microseconds_per_node']:.2f} "
            f"| {built['peak_bytes_per_node']:,.0f} | {built['kept_bytes_per_node']:,.0f} "
            f"| {'–' if estimate is None else f'{estimate:.2f}'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
