"""Constrained CFR compared with the linear program: the transit game with a bound on the risk, on one core.

    python benchmarks/constrained.py                       widths 6, 8 and 10 with both, in a few minutes
    python benchmarks/constrained.py --widths 6            other widths
    python benchmarks/constrained.py --large               also widths 20 and 40 with constrained CFR only
    python benchmarks/constrained.py --constraints         also the cost of constraints in an iteration
    python benchmarks/constrained.py --json FILE

A time is the CPU time of the process for the whole of ``solve``: iterations, checks, and the certificate of the result,
for both methods. Work that depends only on the game and the problem is not counted for either method: the game and the
layout of the compiled loop are built before, and ``build_seconds``, in which the linear program is written and loaded,
is subtracted from its time. Finding actions that constraints exclude is counted. Constrained CFR solves to each
tolerance in turn, and its time is the smallest of three; the linear program is solved once.
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import conftest  # noqa: F401  one core
import highspy
import numba
import numpy as np
import psutil
from memory import peak_megabytes
from rich.console import Console
from rich.table import Table

from treeplex import CCFR, ConstrainedNash, Game, load_game, solve
from treeplex.models.constraints import LinearConstraint, functional_bound
from treeplex.solvers.methods.rules import DualRule
from treeplex.solvers.regret.constraints import KernelConstraints
from treeplex.solvers.regret.kernel import KernelState
from treeplex.solvers.regret.posing import kernel_for

WIDTHS = [6, 8, 10]
LARGE = [20, 40]
BOUND = 0.1
TOLERANCES = (1e-2, 1e-3, 1e-4)
LARGE_TOLERANCE = 1e-3
RUNS = 3

CONSTRAINED = ["transit:width=6", "leduc", "goofspiel:cards=5"]
ROWS = 1_000
ENTRIES = (3, 5)
ROUNDS = 40
ROUND_SECONDS = 0.05  # a call itself takes 0.1 ms
WARM_UP = 200
#: So small that multipliers do not affect play, and the compared loops work on the same plans.
STEP = 1e-12


def under_risk(game: Game) -> ConstrainedNash:
    """Return the game with the patroller's risk bounded."""
    return ConstrainedNash(game, [functional_bound(game.functionals["risk"], at_most=BOUND, name="risk")])


def ready() -> None:
    """Compile the loop, and restrict HiGHS, whose threads belong to the process, to one thread."""
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("threads", 1)
    solver.addVar(0.0, 1.0)
    solver.run()
    solve(under_risk(load_game("transit:width=2")), "ccfr", tol=1e-1)


def timed(problem: ConstrainedNash, method: str, tolerance: float | None = None) -> dict[str, Any]:
    """Solve a problem; return the CPU seconds without building linear programs, and the results."""
    started = time.process_time()
    solution = solve(problem, method, tol=tolerance)
    seconds = time.process_time() - started
    assert solution.status.is_success, solution.status
    return {
        "seconds": seconds - (0.0 if method == "ccfr" else solution.build_seconds),
        "iterations": solution.iterations,
        "microseconds_per_iteration": seconds / max(1, solution.iterations) * 1e6,
        "value": solution.value,
        "gap": solution.gap,
        "violation": solution.violation,
    }


def pairs_of(game: Game) -> int:
    """Return the number of state-action pairs of both players."""
    return sum(treeplex.num_sequences - 1 for treeplex in game.sequence_form.treeplexes)


def to_tolerances(width: int) -> dict[str, Any]:
    """Measure the linear program and constrained CFR on the transit game of a given width."""
    game = load_game(f"transit:width={width}")
    problem = under_risk(game)
    kernel_for(CCFR(), game.sequence_form, min(TOLERANCES))
    runs: dict[float, list[dict[str, Any]]] = {tolerance: [] for tolerance in TOLERANCES}
    for _ in range(RUNS):
        for tolerance, of_tolerance in runs.items():
            of_tolerance.append(timed(problem, "ccfr", tolerance))
    return {
        "pairs": pairs_of(game),
        "linear program": timed(problem, "highs-ipm"),
        **{f"{tolerance:g}": min(of, key=lambda run: run["seconds"]) for tolerance, of in runs.items()},
    }


def alone(width: int) -> dict[str, Any]:
    """Measure building and solving the transit game of a given width in this process, which has done nothing else."""
    ready()
    before = psutil.Process().memory_info().rss
    started = time.process_time()
    game = load_game(f"transit:width={width}")
    problem = under_risk(game)
    pairs = pairs_of(game)
    built = time.process_time()
    kernel_for(CCFR(), game.sequence_form, LARGE_TOLERANCE)
    laid_out = time.process_time()
    peak_before_solving = peak_megabytes()
    found = timed(problem, "ccfr", LARGE_TOLERANCE)
    peak = peak_megabytes()
    return {
        "pairs": pairs,
        "game_seconds": built - started,
        "layout_seconds": laid_out - built,
        **found,
        "peak_megabytes": peak,
        "peak_megabytes_before_solving": peak_before_solving,
        "peak_bytes_per_sequence": (peak * 1e6 - before) / (pairs + 2),
    }


def in_a_process_of_its_own(width: int) -> dict[str, Any]:
    """Return the result of :func:`alone` in a new process, so that its peak memory is its own."""
    command = [sys.executable, __file__, "--alone", str(width)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(f"width {width}: {answer.stderr.strip()}")
    result: dict[str, Any] = json.loads(answer.stdout)
    return result


def random_rows(game: Game, count: int) -> list[LinearConstraint]:
    """Return sparse constraints on random sequences of both players that every plan reaching them violates."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(count):
        player = number % 2
        size = game.sequence_form.treeplexes[player].num_sequences
        chosen = rng.choice(np.arange(1, size), size=rng.integers(ENTRIES[0], ENTRIES[1] + 1), replace=False)
        coefficients = rng.uniform(0.5, 1.0, len(chosen))
        terms = dict(zip(chosen.tolist(), coefficients.tolist(), strict=True))
        rows.append(LinearConstraint(player, terms, 0.0, f"row {number}"))
    return rows


@numba.njit
def _read(positions: Any, coefficients: Any, plan: Any, repeats: Any) -> Any:
    # Four sums, so that no addition waits for the previous one.
    sums = np.zeros(4)
    for _ in range(repeats):
        for i in range(np.uint64(0), np.uint64(len(positions)) - np.uint64(3), np.uint64(4)):
            for lane in range(np.uint64(4)):
                sums[lane] += coefficients[i + lane] * plan[positions[i + lane]]
    return sums.sum()


def reading(constraints: KernelConstraints, state: KernelState) -> float:
    """Return the CPU microseconds of reading all entries twice, for gradients and for violations, and nothing else."""
    entries = constraints.arrays.positions, constraints.arrays.coefficients
    repeats = max(1, int(2e6 / max(1, len(entries[0]))))
    _read(*entries, state.arrays.plan, 1)
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        _read(*entries, state.arrays.plan, repeats)
        times.append((time.process_time() - started) / repeats)
    return 2.0 * min(times) * 1e6


def iteration_times(spec: str) -> dict[str, float]:
    """Return the CPU microseconds of an iteration without constraints, with one, and with many: the smallest, in turn.

    The result also contains the ratios to the time without constraints: the median over rounds.
    """
    game = load_game(spec)
    kernel = kernel_for(CCFR(), game.sequence_form, min(TOLERANCES))
    rule = CCFR().local_rule
    ways: dict[str, KernelConstraints | None] = {"none": None}
    for name, count in (("one", 1), ("many", ROWS)):
        rows = KernelConstraints.of(ConstrainedNash(game, random_rows(game, count)).canonical, kernel.layout)
        ways[name] = replace(rows, dual=DualRule(step=STEP))
    # All loops continue one run in turn, because at other addresses the same loop can take a tenth longer or shorter.
    begun = kernel.initial_state()
    states = {
        name: KernelState(begun.arrays, begun.multipliers if rows is None else rows.initial_multipliers())
        for name, rows in ways.items()
    }

    def seconds(name: str, iterations: int) -> float:
        state = states[name]
        state.next_check = 2**62
        started = time.process_time()
        kernel.run(state, rule, iterations, constraints=ways[name])
        return time.process_time() - started

    for name in ways:
        seconds(name, WARM_UP)
    iterations = max(10, int(ROUND_SECONDS * WARM_UP / seconds("none", WARM_UP)))
    rounds = np.array([[seconds(name, iterations) / iterations * 1e6 for name in ways] for _ in range(ROUNDS)])
    ratios = np.median(rounds / rounds[:, :1], axis=0)  # within a round, because the load of the machine varies
    many = ways["many"]
    assert many is not None
    priced = states["many"].multipliers.values
    return {
        **dict(zip(ways, rounds.min(axis=0).tolist(), strict=True)),
        "one_over_none": float(ratios[1]),
        "many_over_none": float(ratios[2]),
        "priced": int((priced > 0.0).sum()),
        "entries": len(many.arrays.positions),
        "reading": reading(many, states["many"]),
    }


def print_to_tolerances(console: Console, widths: list[int]) -> dict[str, Any]:
    """Print and return the table of :func:`to_tolerances`."""
    table = Table(
        "width", "pairs", "", "seconds", "iterations", "µs an iteration", "gap", "violation", "from the LP", "×",
        title=f"Transit game, risk at most {BOUND:g}: CPU seconds, × the linear program's divided by them",
    )  # fmt: skip
    figures = {}
    for width in widths:
        figures[str(width)] = found = to_tolerances(width)
        program = found["linear program"]
        for name, run in list(found.items())[1:]:
            is_program = run is program
            table.add_row(
                f"{width}",
                f"{found['pairs']:,}",
                "highs-ipm" if is_program else f"ccfr to {name}",
                f"{run['seconds']:.3g}",
                f"{run['iterations']:,}",
                "" if is_program else f"{run['microseconds_per_iteration']:.1f}",
                f"{run['gap']:.1e}",
                f"{run['violation']:.1e}",
                "" if is_program else f"{abs(run['value'] - program['value']):.1e}",
                "" if is_program else f"{program['seconds'] / run['seconds']:.1f}",
            )
    console.print(table)
    return figures


def print_alone(console: Console, widths: list[int]) -> dict[str, Any]:
    """Print and return the table of :func:`alone`."""
    table = Table(
        "width", "pairs", "game, s", "layout, s", "solve, s", "iterations", "value", "gap", "violation", "peak, MB",
        "bytes a sequence",
        title=f"By constrained CFR alone, to {LARGE_TOLERANCE:g}, each in a process of its own: CPU seconds",
    )  # fmt: skip
    figures = {}
    for width in widths:
        figures[str(width)] = run = in_a_process_of_its_own(width)
        table.add_row(
            f"{width}",
            f"{run['pairs']:,}",
            *(f"{run[name]:.3g}" for name in ("game_seconds", "layout_seconds", "seconds")),
            f"{run['iterations']:,}",
            f"{run['value']:.5f}",
            f"{run['gap']:.1e}",
            f"{run['violation']:.1e}",
            f"{run['peak_megabytes']:,.0f}",
            f"{run['peak_bytes_per_sequence']:,.0f}",
        )
    console.print(table)
    return figures


def print_iterations(console: Console) -> dict[str, Any]:
    """Print and return the table of :func:`iteration_times`."""
    table = Table(
        "game", "none", "one", "one / none", f"{ROWS:,}", f"{ROWS:,} / none", "reading twice, µs",
        "without it",
        title=f"An iteration with constraints of {ENTRIES[0]} to {ENTRIES[1]} entries, all violated: CPU µs",
    )  # fmt: skip
    figures = {}
    for game in CONSTRAINED:
        figures[game] = times = iteration_times(game)
        table.add_row(
            game,
            *(f"{times[name]:.2f}" for name in ("none", "one")),
            f"{times['one_over_none']:.3f}",
            f"{times['many']:.2f}",
            f"{times['many_over_none']:.2f}",
            f"{times['reading']:.2f}",
            f"{times['many_over_none'] - times['reading'] / times['none']:.2f}",
        )
    console.print(table)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--widths", type=int, nargs="*", default=WIDTHS, help="widths of the transit game for both methods"
    )
    parser.add_argument("--large", type=int, nargs="*", help="widths for constrained CFR only, by default 20 and 40")
    parser.add_argument(
        "--constraints", action="store_true", help="also measure the cost of constraints in an iteration"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.alone is not None:
        print(json.dumps(alone(arguments.alone)))
        return
    ready()
    console = Console(width=130)
    figures: dict[str, Any] = {}
    if arguments.widths:
        figures["to_tolerances"] = print_to_tolerances(console, arguments.widths)
    if arguments.large is not None:
        figures["alone"] = print_alone(console, arguments.large or LARGE)
    if arguments.constraints:
        figures["iterations"] = print_iterations(console)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
