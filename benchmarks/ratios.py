"""Speed ratios: one run on one core, with all measurements interleaved, as ratios of CPU time.

    python benchmarks/ratios.py                 the small games, in a few minutes with all peers
    python benchmarks/ratios.py --large         also goofspiel with 6 cards
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

from treeplex import Nash, RestrictedNash, Strategy, load_game, restricted_nash_frontier, solve
from treeplex.solvers.exact.highs_models import load

SMALL = ["kuhn", "leduc", "liars_dice", "goofspiel:cards=4", "goofspiel:cards=5"]
LARGE = "goofspiel:cards=6"
ROUNDS = 7
COLD_SOLVES = 25
ROUND_SECONDS = 0.1
WARM_UP = 200
WARM_UP_SECONDS = 20.0


def iteration_times(game: str, peers: list[Implementation]) -> dict[str, float]:
    """Return each implementation's CPU microseconds per iteration: the median over rounds taken in turn."""
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
    """Return the CPU seconds of iterations to an exploitability, without checks; ``None`` if they exceed the limit."""
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
    """Return the CPU milliseconds of HiGHS alone, of building, of the direct path, of cvxpy, and of DCFR to 1e-3."""
    problem = Nash(load_game(game))
    solve(problem, "dcfr", tol=1e-3)
    times: dict[str, list[float]] = {
        "HiGHS alone": [],
        "building and loading": [],
        "solve(…, 'highs-simplex')": [],
        "solve(…, 'cvxpy')": [],
        "solve(…, 'dcfr', tol=1e-3)": [],
    }
    for _ in range(ROUNDS):
        started = time.process_time()
        solver = load(problem.linear_program())
        times["building and loading"].append(time.process_time() - started)
        solver.setOptionValue("solver", "simplex")
        started = time.process_time()
        solver.run()
        times["HiGHS alone"].append(time.process_time() - started)
        for name, method, tolerance in (
            ("solve(…, 'highs-simplex')", "highs-simplex", None),
            ("solve(…, 'cvxpy')", "cvxpy", None),
            ("solve(…, 'dcfr', tol=1e-3)", "dcfr", 1e-3),
        ):
            started = time.process_time()
            solution = solve(problem, method, tol=tolerance)
            times[name].append(time.process_time() - started)
            assert solution.status.is_success
    return {name: float(np.median(values)) * 1e3 for name, values in times.items()}


def frontier_times(game: str, player: int) -> dict[str, float]:
    """Return the CPU milliseconds of one cold solve, of loading and HiGHS alone, and of the whole frontier, in turn."""
    game_ = load_game(game)
    model = Strategy.uniform(game_, 1 - player)
    value = solve(Nash(game_), "highs-simplex").value * (1 - 2 * player)
    places = np.linspace(0.0, 1.0, COLD_SOLVES + 2)[1:-1]
    programs = [RestrictedNash(game_, model, p=float(p), game_value=value).linear_program() for p in places]
    times: dict[str, list[float]] = {"cold": [], "frontier": []}
    for _ in range(ROUNDS):
        started = time.process_time()
        for program in programs:
            solver = load(program)
            solver.setOptionValue("solver", "simplex")
            solver.run()
        times["cold"].append((time.process_time() - started) / COLD_SOLVES)
        started = time.process_time()
        found = restricted_nash_frontier(game_, model, value)
        times["frontier"].append(time.process_time() - started)
    figures = {name: float(np.median(values)) * 1e3 for name, values in times.items()}
    return {**figures, "breakpoints": len(found.breakpoints), "solves": found.solves}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--large", action="store_true", help="goofspiel with 6 cards too")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    console = Console()
    games = [*SMALL, LARGE] if arguments.large else SMALL
    peers = [TREEPLEX, *(peer for peer in PEERS if peer.installed)]
    figures: dict[str, Any] = {"iteration": {}, "to_exploitability": {}, "exact": {}, "frontier": {}, "building": {}}

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

    table = Table(
        "game",
        "HiGHS alone, ms",
        "building and loading",
        "whole exact path",
        "through cvxpy",
        "DCFR to 1e-3",
        title="Exact and iterative, CPU ms",
    )
    for game in SMALL[1:3]:
        exact = figures["exact"][game] = exact_times(game)
        bare, built, whole, modelled, dcfr = exact.values()
        table.add_row(
            game,
            f"{bare:.1f}",
            f"{built:.1f} ({built / bare:.0%})",
            f"{whole:.1f} (+{whole / bare - 1:.0%})",
            f"{modelled:.1f} (+{modelled / bare - 1:.0%})",
            f"{dcfr:.2f} (1/{bare / dcfr:.0f})",
        )
    console.print(table)

    table = Table(
        "game",
        "player",
        "breakpoints",
        "solves",
        "frontier, ms",
        "cold solves",
        f"of {COLD_SOLVES}",
        title="Frontier of restricted Nash responses",
    )
    for game in SMALL[1:3]:
        for player in (0, 1):
            walked = figures["frontier"][f"{game} {player}"] = frontier_times(game, player)
            times = walked["frontier"] / walked["cold"]
            table.add_row(
                game,
                str(player),
                *(f"{walked[name]:,.0f}" for name in ("breakpoints", "solves", "frontier")),
                f"{times:.1f}",
                f"{times / COLD_SOLVES:.2f}",
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
