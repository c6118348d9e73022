"""How much faster: one run on one core, everything interleaved, ratios of CPU time.

    python benchmarks/ratios.py                 the small games, a few minutes with all peers
    python benchmarks/ratios.py --large         goofspiel with 6 cards too
    python benchmarks/ratios.py --json FILE

Absolute times do not carry over to other machines; the ratios within a row do.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import conftest  # noqa: F401  one core
import numpy as np
from peers import PEERS, TREEPLEX, Implementation
from rich.console import Console
from rich.table import Table
from test_building import measure

from treeplex import Nash, load_game, solve
from treeplex.solvers.exact.highs import load

SMALL = ["kuhn", "leduc", "liars_dice", "goofspiel:cards=4", "goofspiel:cards=5"]
LARGE = "goofspiel:cards=6"
ROUNDS = 7
ROUND_SECONDS = 0.1
WARM_UP = 200
WARM_UP_SECONDS = 20.0


def iteration_times(game: str, peers: list[Implementation]) -> dict[str, float]:
    """Return each implementation's CPU microseconds an iteration: the median over rounds taken in turn."""
    running = {peer.name: peer.start(game)[0] for peer in peers}
    once = {}
    for name, run in running.items():
        run(1)
        started = time.process_time()
        run(1)
        once[name] = max(time.process_time() - started, 1e-7)
    # Plans become sparse as regret matching drops actions, so early iterations are slower: all start equally late.
    warm_up = int(min(WARM_UP, WARM_UP_SECONDS / max(once.values())))
    times: dict[str, list[float]] = {name: [] for name in running}
    for run in running.values():
        run(warm_up)
    for _ in range(ROUNDS):
        for name, run in running.items():
            iterations = max(1, int(ROUND_SECONDS / once[name]))
            started = time.process_time()
            run(iterations)
            times[name].append((time.process_time() - started) / iterations * 1e6)
    return {name: float(np.median(values)) for name, values in times.items()}


def seconds_to(tolerance: float, game: str, implementation: Implementation, limit: float = 60.0) -> float | None:
    """Return CPU seconds of iterating until an exploitability, checks not counted; ``None`` past the limit."""
    run, error = implementation.start(game)
    spent, done, check = 0.0, 0, 8
    while spent < limit:
        started = time.process_time()
        run(check - done)
        spent += time.process_time() - started
        done = check
        if error() <= tolerance:
            return spent
        check = int(np.ceil(check * 1.2))
    return None


def exact_times(game: str) -> dict[str, float]:
    """Return CPU milliseconds of HiGHS alone, of the whole direct path and of DCFR to 1e-3, in turn."""
    problem = Nash(load_game(game))
    program = problem.linear_program()
    solve(problem, "dcfr", tol=1e-3)
    times: dict[str, list[float]] = {
        "HiGHS alone": [],
        "solve(…, 'highs-simplex')": [],
        "solve(…, 'dcfr', tol=1e-3)": [],
    }
    for _ in range(ROUNDS):
        solver = load(program)
        solver.setOptionValue("solver", "simplex")
        started = time.process_time()
        solver.run()
        times["HiGHS alone"].append(time.process_time() - started)
        for name, method, tolerance in (
            ("solve(…, 'highs-simplex')", "highs-simplex", None),
            ("solve(…, 'dcfr', tol=1e-3)", "dcfr", 1e-3),
        ):
            started = time.process_time()
            solution = solve(problem, method, tol=tolerance)
            times[name].append(time.process_time() - started)
            assert solution.status.is_success
    return {name: float(np.median(values)) * 1e3 for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--large", action="store_true", help="goofspiel with 6 cards too")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    console = Console()
    games = [*SMALL, LARGE] if arguments.large else SMALL
    peers = [TREEPLEX, *(peer for peer in PEERS if peer.installed)]
    figures: dict[str, Any] = {"iteration": {}, "to_exploitability": {}, "exact": {}, "building": {}}

    table = Table("game", *(peer.name for peer in peers), title="CFR+ iteration, µs (times treeplex)")
    for game in games:
        times = figures["iteration"][game] = iteration_times(game, peers)
        ours = times["treeplex"]
        table.add_row(game, *(f"{value:,.2f} ({value / ours:,.0f}×)" for value in times.values()))
    console.print(table)

    table = Table("game", "tolerance", *(peer.name for peer in peers), title="CFR+ seconds to an exploitability")
    for game in SMALL[:3]:
        for tolerance in (1e-3, 1e-4):
            reached = {peer.name: seconds_to(tolerance, game, peer) for peer in peers}
            figures["to_exploitability"][f"{game} {tolerance:g}"] = reached
            table.add_row(game, f"{tolerance:g}", *("–" if one is None else f"{one:.3g}" for one in reached.values()))
    console.print(table)

    table = Table("game", "HiGHS alone, ms", "whole exact path", "DCFR to 1e-3", title="Exact and iterative, CPU ms")
    for game in SMALL[1:3]:
        exact = figures["exact"][game] = exact_times(game)
        bare, whole, dcfr = exact.values()
        table.add_row(
            game, f"{bare:.1f}", f"{whole:.1f} (+{whole / bare - 1:.0%})", f"{dcfr:.2f} (1/{bare / dcfr:.0f})"
        )
    console.print(table)

    table = Table("game", "route", "µs a node", "peak MB", "of it imports", title="Building")
    for game in games[-1:]:
        for route in ("rules", "tree"):
            built = figures["building"][f"{game} {route}"] = measure(game, route)
            table.add_row(
                game,
                route,
                f"{built['microseconds_per_node']:.2f}",
                f"{built['peak_megabytes']:.0f}",
                f"{built['megabytes_of_imports']:.0f}",
            )
    console.print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
