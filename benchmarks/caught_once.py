"""Patrols in which every meeting counts, compared with patrols in which only the first detection counts, on grids.

    python benchmarks/caught_once.py                 up to 100 seconds each, eight games
    python benchmarks/caught_once.py --limit 600

The grid lacks a fifth of its edges. Attackers enter on one side and go to three places; a meeting costs them 1.
"""

import argparse
import time

import conftest  # noqa: F401  one core
import networkx as nx
import numpy as np
from rich.console import Console
from rich.table import Table

from treeplex import Nash, solve
from treeplex.models.games.patrol import Attacker, CaughtOnce, PatrolGame, Unit

#: Rows, columns and steps.
GRIDS = [(4, 6, 9), (5, 7, 12)]
BASES = ["1.3", "3.2"]
TOLERANCE = 0.005


def streets(rows: int, columns: int, seed: int = 1) -> nx.Graph:
    """Return a connected grid that lacks about a fifth of its edges; nodes are ROW.COLUMN."""
    grid, rng = nx.grid_2d_graph(rows, columns), np.random.default_rng(seed)
    for edge in list(grid.edges):
        if rng.random() < 0.2:
            grid.remove_edge(*edge)
            if not nx.is_connected(grid):
                grid.add_edge(*edge)
    return nx.relabel_nodes(grid, {(row, column): f"{row}.{column}" for row, column in grid})


def patrol(rows: int, columns: int, steps: int, units: int, detection: float) -> PatrolGame:
    """Return the game of a number of units on such a grid."""
    goals = {f"0.{columns - 1}": 1.0, f"{rows - 1}.{columns - 1}": 1.5, f"1.{columns // 2}": 0.7}
    return PatrolGame(
        streets(rows, columns),
        steps=steps,
        units=[Unit(base=base, detection=detection) for base in BASES[:units]],
        attackers=[Attacker([f"{row}.0" for row in range(rows)], goals)],
        meeting=-1.0,
        step=-0.01,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=100.0, help="seconds for each game (%(default)s)")
    limit = parser.parse_args().limit
    table = Table("nodes, steps", "units", "detection", "meetings add up", "caught once", "bounds", "CPU s", "status")
    for rows, columns, steps in GRIDS:
        for units in (1, 2):
            for detection in (1.0, 0.5):
                game = patrol(rows, columns, steps, units, detection)
                additive = solve(Nash(game), "highs")
                begun = time.process_time()
                once = solve(CaughtOnce(game), tol=TOLERANCE, time_limit=limit)
                table.add_row(
                    f"{rows * columns}, {steps}",
                    str(units),
                    f"{detection:g}",
                    f"{additive.value:.3f}",
                    f"{once.value:.3f}",
                    f"{once.lower:.3f} to {once.upper:.3f}",
                    f"{time.process_time() - begun:.1f}",
                    str(once.status),
                )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
