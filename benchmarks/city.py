"""Patrols of a synthetic city: column generation, regret minimisation and the linear program of flows, on one core.

    python benchmarks/city.py                    a town and the city, in about twenty minutes
    python benchmarks/city.py --town             the town only, in a few minutes
    python benchmarks/city.py --json FILE

The city is a grid of 5,000 nodes with a seed: 8 % of the streets are missing, and 27 % are one-way. Ten units start at
random bases. Two types of attackers enter at four nodes of the border each, at any time in the first quarter of the 48
steps, and have three goals each inside the city. Times are CPU seconds, each method in its own process. The gap is the
distance of the proven bounds.
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

from treeplex import Nash, solve
from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
from treeplex.solvers import Columns

#: Columns and rows of the grid, steps and units.
TOWN, CITY = (40, 30, 30, 5), (100, 50, 48, 10)
#: The runs: the grid, the method, and the exploitability in payoff units (half of the gap).
RUNS = [
    (TOWN, "dcfr", 3e-3),
    (TOWN, "columns", 3e-3),
    (TOWN, "dcfr", 3e-4),
    (TOWN, "columns", 3e-4),
    (CITY, "dcfr", 3.5e-3),
    (CITY, "columns", 3.5e-3),
    (CITY, "dcfr", 7e-4),
    (CITY, "columns", 7e-4),
]
#: Seconds of wall-clock time for one run.
LIMIT = 600.0


def streets(columns: int, rows: int, seed: int = 0) -> nx.DiGraph:
    """Return the largest strongly connected part of a grid of streets, some of them missing and some one-way."""
    rng = np.random.default_rng(seed)
    roads = nx.DiGraph()
    roads.add_nodes_from(f"{column}.{row}" for row in range(rows) for column in range(columns))
    for row in range(rows):
        for column in range(columns):
            for other, line in ((column + 1, row), (column, row + 1)):
                if other >= columns or line >= rows:
                    continue
                ends, kind = (f"{column}.{row}", f"{other}.{line}"), rng.random()
                if kind < 0.08:
                    continue
                if kind < 0.35:
                    roads.add_edge(*(ends[::-1] if rng.random() < 0.5 else ends))
                else:
                    roads.add_edges_from([ends, ends[::-1]])
    return roads.subgraph(sorted(max(nx.strongly_connected_components(roads), key=len))).copy()


def city(columns: int, rows: int, steps: int, units: int, seed: int = 0) -> PatrolGame:
    """Return a patrol of such a grid."""
    roads, rng = streets(columns, rows, seed), np.random.default_rng(seed + 1)
    names = list(roads)
    bases = [names[place] for place in rng.choice(len(names), units, replace=False)]
    places = {name: tuple(map(int, name.split("."))) for name in names}
    inner = [
        name for name, (x, y) in places.items() if 0.2 * columns < x < 0.8 * columns and 0.2 * rows < y < 0.8 * rows
    ]
    border = [name for name, (x, y) in places.items() if x in (0, columns - 1) or y in (0, rows - 1)]
    goals = [inner[place] for place in rng.choice(len(inner), 6, replace=False)]
    entries = [border[place] for place in rng.choice(len(border), 8, replace=False)]
    window = (0, steps // 4)
    attackers = [
        Attacker(entries[:4], dict(zip(goals[:3], (3.0, 2.0, 4.0), strict=True)), window=window),
        Attacker(entries[4:], dict(zip(goals[3:], (2.0, 3.0, 5.0), strict=True)), window=window),
    ]
    return PatrolGame(roads, steps=steps, units=[Unit(base=base) for base in bases], attackers=attackers)


def measured(shape: tuple[int, int, int, int], method: str, tolerance: float) -> dict[str, Any]:
    """Return the measurements of one run."""
    small = city(6, 6, 8, 2)
    for one in ("dcfr", Columns(direct=0, first=1.0)):
        solve(Nash(small), one, max_iterations=2, tol=0.0)  # compiles
    began = time.process_time()
    game = city(*shape)
    sizes = [treeplex.num_sequences for treeplex in game.sequence_form.treeplexes]
    built = time.process_time()
    solution = solve(Nash(game), method, tol=tolerance, time_limit=LIMIT)
    assert solution.lower is not None
    assert solution.upper is not None
    return {
        "map": f"{game.patrol.map.num_nodes:,} nodes, {game.patrol.map.sources.size:,} edges, {shape[2]} steps",
        "units": shape[3],
        "sequences": sizes,
        "build_seconds": built - began,
        "method": method,
        "tolerance": tolerance,
        "status": str(solution.status),
        "seconds": time.process_time() - built,
        "iterations": solution.iterations,
        "lower": solution.lower,
        "upper": solution.upper,
        "peak_megabytes": peak_megabytes(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--town", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(*json.loads(arguments.one))))
        return
    records = [measured_alone(__file__, each) for each in RUNS if each[0] == TOWN or not arguments.town]
    table = Table("map", "units", "sequences", "building, s", "method", "s", "iterations", "bounds", "gap, %", "MB")
    for one in records:
        table.add_row(
            one["map"],
            str(one["units"]),
            f"{sum(one['sequences']):,}",
            f"{one['build_seconds']:.1f}",
            one["method"],
            f"{one['seconds']:.1f}",
            f"{one['iterations']:,}",
            f"{one['lower']:.4f} to {one['upper']:.4f}",
            f"{100 * (one['upper'] - one['lower']) / abs(one['lower']):.2f}",
            f"{one['peak_megabytes']:.0f}",
        )
    Console(width=160).print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
