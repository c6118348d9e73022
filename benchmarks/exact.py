"""Exact solutions by the method ``exact`` and by HiGHS, in turn, in CPU time: ``python benchmarks/exact.py``.

Each time is that of a whole solve, including building the program, presolve and the certificate, but not compilation
and building the game. Each solve is the first one of its game or, with ``--again``, a later one, which reuses data
stored with the game: the layout of the loop, and the levels of its polytopes.
"""

import argparse
import contextlib
import gc
import statistics
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import conftest  # noqa: F401  one core
from rich.console import Console
from rich.table import Table

from treeplex import ConstrainedNash, Nash, RestrictedNash, Status, Strategy, UnsupportedProblemError, load_game, solve
from treeplex.models.constraints import functional_bound
from treeplex.models.problems import SaddleProblem
from treeplex.solvers import Exact, HiGHS, Solution
from treeplex.validation import find_suite

GAMES = ("leduc", "liars_dice", "liars_dice:sides=5", "leduc:ranks=6", "goofspiel:cards=5")
LARGE = ("goofspiel:cards=6", "leduc:ranks=10", "liars_dice:sides=6")
#: Flows with a bound on their risk.
LIMITED = ("transit:width=4", "transit:width=6", "transit:width=8")
#: Seconds after which a solve counts as one that never ends.
LIMIT = 60.0
#: HiGHS's algorithms; the fastest one counts.
ALGORITHMS = ("simplex", "ipm", "ipm-crossover")


def timed(call: Callable[[], Solution]) -> tuple[float, Solution]:
    """Return the CPU seconds and the result of a call."""
    gc.collect()  # the garbage of earlier solves
    begun = time.process_time()
    found = call()
    return time.process_time() - begun, found


def problem_of(load: Callable[[str], Any], game: str, response: bool) -> SaddleProblem:
    """Return a new problem, so that nothing is reused: an equilibrium, or a restricted response to uniform play."""
    loaded = load(game)
    if "risk" in loaded.functionals:
        return ConstrainedNash(loaded, [functional_bound(loaded.functionals["risk"], at_most=0.1, name="risk")])
    if not response:
        return Nash(loaded)
    return RestrictedNash(loaded, Strategy.uniform(loaded, 1), p=0.5, game_value=0.0)


def questions(suite: str) -> dict[str, Callable[[], SaddleProblem]]:
    """Return the questions of a suite that `exact` can answer, by game and problem."""
    found: dict[str, Callable[[], SaddleProblem]] = {}
    for case in find_suite(suite).cases:
        name = f"{case.game} {'' if case.asked == 'nash' else case.asked}".strip()
        if name not in found:
            with contextlib.suppress(UnsupportedProblemError):
                solve(case.pose(load_game(case.game)), Exact())
                found[name] = lambda case=case: case.pose(load_game(case.game))  # type: ignore[misc]
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", nargs="*", default=GAMES)
    parser.add_argument("--large", action="store_true", help=f"{', '.join(LARGE)} too, in minutes")
    parser.add_argument("--responses", action="store_true", help="restricted Nash responses instead of equilibria")
    parser.add_argument("--limits", action="store_true", help=f"instead {', '.join(LIMITED)} under a limit")
    parser.add_argument("--suite", help="instead all that a suite of `treeplex validate` asks and `exact` answers")
    parser.add_argument("--algorithms", nargs="*", default=ALGORITHMS, choices=ALGORITHMS, help="HiGHS's")
    parser.add_argument("--again", action="store_true", help="solve the same games again and again")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    algorithms = (f"HiGHS {name}, ms" for name in arguments.algorithms)
    table = Table("game", "exact, ms", *algorithms, "best / exact", "error", "iterations", "steps", "part")
    console = Console()
    games = [*(LIMITED if arguments.limits else arguments.games), *(LARGE if arguments.large else ())]
    load = cache(load_game) if arguments.again else load_game
    asked = {game: partial(problem_of, load, game, arguments.responses) for game in games}
    if arguments.suite:
        asked = questions(arguments.suite)
    for game, posed in asked.items():
        methods = [Exact(), *(HiGHS(algorithm=name) for name in arguments.algorithms)]
        runs = 1 if game.partition(" ")[0] in (*LARGE, *LIMITED[1:]) else arguments.runs
        times: list[list[float]] = [[] for _ in methods]
        solve(posed(), Exact())
        for turn in range(runs):
            for number in range(len(methods)) if turn % 2 else reversed(range(len(methods))):
                problem, method = posed(), methods[number]
                seconds, found = timed(partial(solve, problem, method, tol=1e-9 * problem.unit, time_limit=LIMIT))
                times[number].append(seconds if found.status is Status.OPTIMAL else float("inf"))
                if number == 0:
                    error, state = problem.error(found.certificate) / problem.unit, found.state
        exact, *others = (statistics.median(each) * 1e3 for each in times)
        console.print(f"{game}: {min(others) / exact:.2f}")
        table.add_row(
            game,
            f"{exact:.1f}",
            *(f"{other:.1f}" for other in others),
            f"{min(others) / exact:.2f}",
            f"{error:.0e}",
            f"{state.iterations:,}",
            f"{state.pivots:,}",
            f"{sum(state.shape) / max(1, sum(state.whole)):.0%}" if state.way == "polish" else state.way,
        )
    console.print(table)


if __name__ == "__main__":
    main()
