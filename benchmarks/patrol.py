"""Patrols on random road maps: regret minimisation on flows compared with the linear program, on one core.

    python benchmarks/patrol.py                  maps of 400 and 620 nodes, in a few minutes
    python benchmarks/patrol.py --large          also a map of 5,000 nodes, with regret minimisation only
    python benchmarks/patrol.py --json FILE

A map is a spanning tree of the triangulation of random points, with further edges of the triangulation up to the given
number, and a few long edges. Three nodes are goals; attackers enter at some distance, and units start nearby. Times are
CPU seconds for building the game and for the whole of ``solve``, after the loop has been compiled, with each map in its
own process.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import conftest  # noqa: F401  one core
import networkx as nx
import numpy as np
from memory import measured_alone, peak_megabytes
from rich.console import Console
from rich.table import Table
from scipy.spatial import Delaunay

from treeplex import ConstrainedNash, Nash, solve
from treeplex.models.constraints import parse_constraint
from treeplex.models.games.patrol import Attacker, PatrolGame, Unit

#: Nodes, directed edges, steps, units, and the exploitability relative to the largest payoff.
MAPS = [(400, 1_100, 15, 4, 1e-3), (620, 2_200, 15, 2, 1e-3)]
LARGE = (5_000, 15_000, 40, 2, 1e-2)
LIMIT = "risk(unit 1) <= 0.2"


def random_map(nodes: int, edges: int, seed: int = 0) -> nx.Graph:
    """Return a road map with given numbers of nodes and directed edges; every road leads both ways."""
    rng = np.random.default_rng(seed)
    places = rng.random((nodes, 2))
    pairs = {
        tuple(sorted(map(int, (corners[one], corners[other]))))
        for corners in Delaunay(places).simplices
        for one, other in ((0, 1), (1, 2), (0, 2))
    }
    near = nx.Graph()
    near.add_weighted_edges_from((a, b, float(np.linalg.norm(places[a] - places[b]))) for a, b in sorted(pairs))
    roads = nx.Graph(nx.minimum_spanning_edges(near, data=False))
    others = [pair for pair in sorted(pairs) if not roads.has_edge(*pair)]
    rng.shuffle(others)
    roads.add_edges_from(others[: edges // 2 - nodes // 20 - roads.number_of_edges()])
    while roads.number_of_edges() < edges // 2:
        roads.add_edge(*map(int, rng.choice(nodes, 2, replace=False)))
    return roads


def patrol(nodes: int, edges: int, steps: int, units: int) -> PatrolGame:
    """Return a game on such a map."""
    roads, rng = random_map(nodes, edges), np.random.default_rng(1)
    goals = [int(node) for node in rng.choice(nodes, 3, replace=False)]
    lengths = [nx.single_source_shortest_path_length(roads, goal) for goal in goals]
    away = {node: min(length[node] for length in lengths) for node in sorted(roads)}
    far = [node for node, steps_away in away.items() if steps // 3 <= steps_away <= 0.7 * steps]
    entries = rng.choice(far, min(len(far), 30), replace=False)
    bases = rng.choice([node for node, steps_away in away.items() if steps_away <= 3], units)
    attacker = Attacker([str(node) for node in entries], dict(zip(map(str, goals), (1.0, 0.8, 0.6), strict=True)))
    return PatrolGame(
        roads,
        steps=steps,
        units=[Unit(base=str(base)) for base in bases],
        attackers=[attacker],
        meeting=-0.3,
        step=-0.002,
    )


def measured(nodes: int, edges: int, steps: int, units: int, tolerance: float) -> dict[str, Any]:
    """Return the measurements for one map."""
    small = PatrolGame(nx.path_graph(4), steps=6, units=[Unit(base="1")], attackers=[Attacker(["0"], {"3": 1.0})])
    for problem, method in ((Nash(small), "pcfr+"), (limited(small), "ccfr")):
        solve(problem, method, max_iterations=2, tol=0.0)  # compiles
    began, before = time.process_time(), peak_megabytes()
    game = patrol(nodes, edges, steps, units)
    form = game.sequence_form
    sequences = sum(treeplex.num_sequences for treeplex in form.treeplexes)
    record: dict[str, Any] = {
        "map": f"{nodes:,} nodes, {game.patrol.map.sources.size:,} edges, {steps} steps",
        "units": units,
        "sequences": sequences,
        "build_seconds": time.process_time() - began,
        "bytes_a_sequence": (peak_megabytes() - before) * 1e6 / sequences,
        "answers": [],
    }
    runs: list[tuple[str, Any]] = [("pcfr+", Nash(game))]
    if nodes < 1_000:
        runs += [("highs-ipm", Nash(game)), ("ccfr", limited(game))]
    for method, problem in runs:
        began = time.process_time()
        options = {} if method == "highs-ipm" else {"tol": tolerance * game.payoff_scale}
        solution = solve(problem, method, **options)
        assert solution.status.is_success, solution.status
        seconds = time.process_time() - began
        answer = {"method": method, "seconds": seconds, "iterations": solution.iterations, "value": solution.value}
        record["answers"].append(answer | {"peak_megabytes": peak_megabytes()})
    return record


def limited(game: PatrolGame) -> ConstrainedNash:
    """Return the game with the first unit's risk bounded."""
    return ConstrainedNash(game, parse_constraint(LIMIT.replace("(unit 1)", f"({game.patrol.units[0].name})"), game))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(*json.loads(arguments.one))))
        return
    records = [measured_alone(__file__, each) for each in [*MAPS, *([LARGE] if arguments.large else [])]]
    table = Table(
        "map", "units", "sequences", "build, s", "bytes a sequence", "method", "s", "iterations", "value", "MB"
    )
    for one in records:
        for answer in one["answers"]:
            table.add_row(
                one["map"],
                str(one["units"]),
                f"{one['sequences']:,}",
                f"{one['build_seconds']:.2f}",
                f"{one['bytes_a_sequence']:.0f}",
                answer["method"],
                f"{answer['seconds']:.1f}",
                str(answer["iterations"]),
                f"{answer['value']:.4f}",
                f"{answer['peak_megabytes']:.0f}",
            )
    Console(width=140).print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
