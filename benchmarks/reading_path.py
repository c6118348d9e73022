"""How much code you have to read to follow a solve: the modules that it runs and the modules that it loads.

    python benchmarks/reading_path.py                    counts by method and their limits; exit status 1 if
        exceeded
    python benchmarks/reading_path.py --list             also the modules, with their lines of code

A module counts if one of its functions runs while ``solve(Nash(load_game("leduc")), method)`` is called a second time;
the first call imports, builds and compiles. Compiled functions count towards the module that calls them.
"""

import argparse
import ast
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import structure

import treeplex
from treeplex import Nash, load_game, solve

PACKAGE = Path(treeplex.__file__).parent
#: By method: the largest number of modules that a solve may run, and the largest number of lines of code in them.
RUN = {"highs": (29, 4_583), "dcfr": (33, 6_056)}
#: The largest number of the library's modules that ``from treeplex.solvers import solve`` may load.
LOADED = 60
#: Parts of the library that it must not load.
APART = ("holdem", "patrol", "papers", "page", "pictures", "drawing")
FLOORS = tuple(str(PACKAGE / floor) + "/" for floor in structure.FLOORS)


def modules_run(method: str) -> dict[str, int]:
    """Return the modules whose functions run in a solve, with their lines of code."""
    for _ in range(2):
        solve(Nash(load_game("leduc")), method)
    files: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        solve(Nash(load_game("leduc")), method)
    finally:
        sys.setprofile(None)
    found = {}
    for file in sorted(files):
        if file.startswith(FLOORS):
            source = Path(file).read_text(encoding="utf-8")
            nodes = list(structure.walk(ast.parse(source)))
            found[str(Path(file).relative_to(PACKAGE))] = structure.count_code_lines(source, nodes)
    return found


def modules_loaded() -> list[str]:
    """Return the library's modules that importing ``solve`` loads."""
    code = (
        "import sys; from treeplex.solvers import solve; print(*(name for name in sys.modules if 'treeplex' in name))"
    )
    ran = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    return sorted(name for name in ran.stdout.split() if name.startswith("treeplex"))


def main() -> int:
    """Count, compare with the limits, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the modules, not only their number")
    options = parser.parse_args()
    exceeded = False

    def report(what: str, count: int, limit: int) -> None:
        nonlocal exceeded
        exceeded |= count > limit
        print(f"{what:48}{count:8,}{limit:8,}{'  exceeded' if count > limit else ''}")

    print(f"{'':48}{'count':>8}{'limit':>8}")
    lists = {}
    for method, (most, lines) in RUN.items():
        found = modules_run(method)
        report(f"modules that a solve by {method} runs", len(found), most)
        report("  lines of code in them", sum(found.values()), lines)
        lists[f"run by {method}"] = [f"{count:6,} {name}" for name, count in found.items()]
    loaded = modules_loaded()
    report("modules that importing solve loads", len(loaded), LOADED)
    report("  of hold'em, patrols, papers, pages", sum(any(one in name for one in APART) for name in loaded), 0)
    lists["loaded with solve"] = loaded
    if options.list:
        for title, names in lists.items():
            print(f"\n{title}:", *names, sep="\n  ")
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())
