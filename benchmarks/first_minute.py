"""The processor time of whole commands, before and after anything has been compiled: the time to a first answer.

    python benchmarks/first_minute.py                         a table with an empty cache and with a full one
    python benchmarks/first_minute.py --against CHECKOUT      the same for another checkout, in turn, and the ratios
    python benchmarks/first_minute.py --only river --only lock --runs 3
    python benchmarks/first_minute.py --json FILE             also write the numbers
    python benchmarks/first_minute.py --plot PICTURE FILE     draw the numbers that a run with --against has written
    python benchmarks/first_minute.py --imports               the ten modules whose import takes longest

Each command runs in its own process, several times with an empty cache, and as often with the cache that the first run
has filled. The result is the smallest user plus system time in seconds, not the wall-clock time.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import treeplex

HERE = Path(treeplex.__file__).parent
RIVER = """
board = "Td9d6hQc2s"
pot = 200
stack = 900
[ranges]
oop = "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s"
ip = "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+"
[bets]
bet = "60%, e, a"
raise = "2.5x"
"""
TOWN = """
import networkx as nx
streets = nx.grid_2d_graph(6, 7)
names = {node: f"n{number}" for number, node in enumerate(sorted(streets))}
nx.write_graphml(nx.relabel_nodes(streets, names), "town.graphml")
"""
PLAN = [
    *["--steps", "30", "--unit", "base=n0", "--unit", "base=n41", "--entry", "n6", "--entry", "n35", "--goal", "n20=2"],
    *["--goal", "n24", "--limit", "risk(unit 1) <= 0.1"],
]
NAMES = {
    "import": "import treeplex",
    "help": "--help",
    "kuhn": "solve kuhn",
    "leduc": "solve leduc",
    "cfr+": "solve kuhn by cfr+",
    "dcfr": "solve leduc by dcfr",
    "ccfr": "solve transit by ccfr",
    "river": "solve a river",
    "lock": "solve a river with a lock",
    "patrol": "patrol of a town",
    "fit": "fit to 100 games",
    "warmup": "warmup",
}
CODE, COMMAND = ["-c"], ["-m", "treeplex"]
#: The arguments of Python, by the measured command. On the command line, the first word of a name identifies it.
COMMANDS = {
    "import": [*CODE, "from treeplex import Nash, load_game, solve"],
    "help": [*COMMAND, "--help"],
    "kuhn": [*COMMAND, "solve", "kuhn"],
    "leduc": [*COMMAND, "solve", "leduc"],
    "cfr+": [*COMMAND, "solve", "kuhn", "--method", "cfr+"],
    "dcfr": [*COMMAND, "solve", "leduc", "--method", "dcfr"],
    "ccfr": [
        *[*COMMAND, "solve", "transit:width=4", "--problem", "constrained", "--constrain", "risk <= 1/10"],
        *["--method", "ccfr", "--tol", "1e-2"],
    ],
    "river": [*COMMAND, "solve", "river.toml", "--tol", "0.1%"],
    "lock": [*COMMAND, "solve", "river.toml", "--tol", "0.1%", "--lock", 'ip at "bet 120": fold 60%'],
    "patrol": [*COMMAND, "patrol", "town.graphml", *PLAN],
    "fit": [*COMMAND, "fit", "games.jsonl", "--game", "leduc", "--seat", "0"],
    "warmup": [*COMMAND, "warmup"],
}


class Checkout:
    """A checkout whose commands are measured, in its own folder."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "treeplex").symlink_to(root)
        (folder / "river.toml").write_text(RIVER, encoding="utf-8")
        self._run([*CODE, TOWN])
        played = [
            *COMMAND,
            "play",
            "leduc",
            "--seat0",
            "uniform",
            "--seat1",
            "uniform",
            "--games",
            "100",
            "--seed",
            "1",
        ]
        self._run([*played, "--out", "games.jsonl"])

    def _run(self, arguments: list[str], cache: str = "") -> float:
        """Return the seconds of user and system time that a process takes."""
        variables = {"PYTHONPATH": str(self.folder), "NUMBA_CACHE_DIR": cache or str(self.folder / "cache")}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = subprocess.run(
            [sys.executable, "-P", *arguments],
            cwd=self.folder,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if ran.returncode:
            raise SystemExit(f"{' '.join(arguments)}: exit status {ran.returncode}\n{ran.stderr}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def measure(self, name: str) -> tuple[float, float]:
        """Return the seconds of a command with an empty cache, and of the same command again."""
        with tempfile.TemporaryDirectory() as cache:
            return self._run(COMMANDS[name], cache), self._run(COMMANDS[name], cache)


def draw(found: dict[str, list[list[float]]], path: Path) -> None:
    """Draw the times of commands with an empty cache, and the part that remains with a full one, before and now.

    ``warmup`` is omitted, because it takes much longer and is not part of the first minute.
    """
    from treeplex.seqform.interchange.pictures import COLOURS, legend_below, panels, write_picture

    found = {name: numbers for name, numbers in found.items() if name != "warmup"}

    def figure() -> Any:
        drawn, axes = panels(1, 1, (7.0, 0.4 * len(found) + 1.2))
        places = range(len(found))
        for shift, who, named in ((-0.2, 1, "before"), (0.2, 0, "now")):
            empty, full = ([found[name][who][cache] for name in found] for cache in (0, 1))
            colour = COLOURS["grey" if who else "blue"]
            heights = [place + shift for place in places]
            axes.barh(heights, empty, 0.36, color=colour, alpha=0.45, label=f"{named}, first time")
            axes.barh(heights, full, 0.36, color=colour, label=f"{named}, afterwards")
        axes.set_yticks(list(places), [NAMES[name] for name in found])
        axes.invert_yaxis()
        axes.set_xlabel("CPU seconds")
        legend_below(drawn, 2)
        return drawn

    write_picture(figure, path)


def slowest_imports(count: int = 10) -> list[tuple[float, str]]:
    """Return the modules whose own import takes longest, in milliseconds of wall-clock time."""
    ran = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", *COMMANDS["import"]], capture_output=True, text=True, check=True
    )
    lines = [line.removeprefix("import time:").split("|") for line in ran.stderr.splitlines() if "|" in line]
    return sorted(((int(own) / 1e3, name.strip()) for own, _, name in lines[1:]), reverse=True)[:count]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="measure another checkout too, in turn")
    parser.add_argument("--only", action="append", choices=COMMANDS, help="measure this command; may be repeated")
    parser.add_argument(
        "--runs", type=int, default=3, help="number of runs of each command; the smallest time counts (default: 3)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    parser.add_argument(
        "--plot", type=Path, nargs=2, metavar=("PICTURE", "FILE"), help="draw the data of FILE, and stop"
    )
    parser.add_argument("--imports", action="store_true", help="print the ten slowest imports, and stop")
    options = parser.parse_args()
    if options.imports:
        for milliseconds, module in slowest_imports():
            print(f"{milliseconds:8.1f} ms  {module}")
        return
    if options.plot:
        draw(json.loads(options.plot[1].read_text(encoding="utf-8")), options.plot[0])
        return
    roots = [HERE, *([options.against] if options.against else [])]
    table = Table(
        "CPU seconds", "empty cache", "full cache", *(["empty", "full", "ratio", "ratio"] if options.against else [])
    )
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        checkouts = [Checkout(root.resolve(), Path(folder) / str(number)) for number, root in enumerate(roots)]
        for name in options.only or COMMANDS:
            runs = [[checkout.measure(name) for checkout in checkouts] for _ in range(options.runs)]
            least = [tuple(min(run[k][cache] for run in runs) for cache in (0, 1)) for k in range(len(checkouts))]
            found[name] = least
            numbers = [number for pair in least for number in pair]
            ratios = [numbers[0] / numbers[2], numbers[1] / numbers[3]] if options.against else []
            table.add_row(name, *(f"{number:.2f}" for number in [*numbers, *ratios]))
            print(name, *(f"{number:.2f}" for number in [*numbers, *ratios]), file=sys.stderr, flush=True)
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
