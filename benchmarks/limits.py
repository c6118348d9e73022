"""How late commands end after their time limit and after Ctrl-C, and how far they exceed their memory limit.

    python benchmarks/limits.py [TRIES]

The program prints a Markdown table: the worst of a number of tries, by default 20. Each try is a new process in which
all modules are loaded. The time until the process has ended counts, including writing. Random moments are drawn with a
fixed seed.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from treeplex.cli import limits as cli_limits
from treeplex.cli import main

#: Seconds of the time limits, and the range of the moment of Ctrl-C.
LIMITS = (1.0,)
#: Commands by the work that takes most of their time.
PHASES = {
    "building a game": "goofspiel:cards=6",
    "simplex": "leduc:ranks=5 --method highs-simplex",
    "interior point": "leduc:ranks=12 --method highs-ipm",
    "presolve and crossover": "leduc:ranks=12 --method highs-ipm-crossover",
    "through cvxpy": "leduc:ranks=8 --method cvxpy",
    "exact fractions": "leduc:ranks=4 --method rational",
    "explaining infeasibility": "leduc:ranks=5 --problem constrained --constrain 0/9s_:r>=0.8 --constrain 0/9s_:r<=0.1",
    "the value of the game": "leduc:ranks=6 --problem epsilon-safe --opponent uniform --epsilon 0.1",
    "an opponent that is computed": "leduc --problem rnr --p 0.5 --opponent cfr:iterations=1e15",
    "steps with a depth limit": "leduc:ranks=4 --problem cdrnr --opponent uniform --p 0.5 --lookahead 1",
    "iterating": "leduc --method cfr --tol 0",
    "sampling": "leduc --method es-mccfr --tol 0",
}
#: Commands that need more than the allowed memory of 300 MB.
GREEDY = {
    "interior point": "leduc:ranks=18 --method highs-ipm-crossover",
    "through cvxpy": "leduc:ranks=16 --method cvxpy",
}
MEMORY = 300_000_000


def ended(arguments, interrupt_after=None, limit=None):
    """Run a command; return the seconds by which it ended late, its exit status, and its peak memory."""
    with TemporaryDirectory() as folder:
        written = Path(folder) / "found.json"
        options = [] if limit is None else ["--time-limit", str(limit)]
        child = os.fork()
        if not child:
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            (Path(folder) / "before").write_text(str(psutil.Process().memory_info().rss))
            sys.argv = ["treeplex", "solve", *arguments.split(), *options, "--json", str(written)]
            os._exit(main())
        begun = time.monotonic()
        if interrupt_after is not None:
            time.sleep(interrupt_after)
            os.kill(child, signal.SIGINT)
        _, status, usage = os.wait4(child, 0)
        before = int((Path(folder) / "before").read_text())
        late = time.monotonic() - begun - (interrupt_after or limit or 0.0)
        return late, os.waitstatus_to_exitcode(status), max(0, usage.ru_maxrss * 1024 - before)


def warm():
    """Load the modules that any of the commands loads, so that all tries are alike."""
    for method in ("highs", "cvxpy", "rational", "cfr", "es-mccfr"):
        main(["solve", "leduc:ranks=2", "--method", method, "--max-iterations", "9", "--json", os.devnull])


def run(tries):
    """Print the tables."""
    draw = random.Random(1)
    warm()
    print("\n| while | " + " | ".join(f"late by, {limit:g} s" for limit in LIMITS) + " | after Ctrl-C |")
    print("|---|" + "---|" * (len(LIMITS) + 1))
    for name, arguments in PHASES.items():
        cells = []
        for limit in LIMITS:
            found = [ended(arguments, limit=limit) for _ in range(tries)]
            cells.append(_cell(found))
        cells.append(_cell([ended(arguments, draw.uniform(0.05, LIMITS[-1])) for _ in range(tries)]))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"\n| while | most memory, of {MEMORY / 1e6:.0f} MB | status |\n|---|---|---|")
    for name, arguments in GREEDY.items():
        found = [ended(f"{arguments} --memory {MEMORY}", limit=60.0) for _ in range(max(1, tries // 10))]
        most = max(each[2] for each in found)
        print(
            f"| {name} | {most / 1e6:.0f} MB, {most / MEMORY:.0%} | {sorted({each[1] for each in found})} |", flush=True
        )


def _cell(found):
    """Return the worst of some tries, and the number of tries that had ended before."""
    late = [each[0] for each in found if each[0] > 0.0]
    early = len(found) - len(late)
    return (f"{max(late):.2f} s" if late else "") + (f" ({early} had ended)" if early else "")


if __name__ == "__main__":
    assert cli_limits.LEAST_MEMORY <= MEMORY
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
