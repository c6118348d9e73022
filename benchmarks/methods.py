"""Iterations and CPU seconds to exploitabilities, by game, method and tolerance; one run on one core.

    python benchmarks/methods.py                       ten games, eleven methods, in a few minutes
    python benchmarks/methods.py --seconds 10          more time for each solve
    python benchmarks/methods.py --json FILE --plot FILE.svg

Each solve runs to the smallest tolerance; its history shows when the other tolerances were met. Seconds do not carry
over to other machines, or to a machine that also does other work; iterations do.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import conftest  # noqa: F401  one core
import numpy as np

from treeplex import Nash, load_game, solve
from treeplex.seqform.interchange.pictures import Look, legend_below, panels, write_picture

GAMES = (
    "kuhn:cards=13",
    "leduc",
    "leduc:ranks=6",
    "liars_dice:sides=4",
    "liars_dice:sides=5",
    "goofspiel:cards=4",
    "goofspiel:cards=5",
    "goofspiel:cards=4,order=random",
    "repeated_rps:rock=3",
    "transit:width=2",
)
METHODS = {
    "cfr+": Look("grey"),
    "dcfr": Look("black"),
    "pcfr+": Look("blue"),
    "hs-dcfr": Look("orange", line="--"),
    "hs-pcfr+": Look("sky", line="--"),
    "pdcfr+": Look("purple"),
    "sapcfr+": Look("green"),
    "restarted-cfr": Look("red"),
    "restarted-cfr:base=cfr+": Look("red", line="--"),
    "smooth-cfr+": Look("pink"),
    "mirror-prox": Look("pink", line="--"),
}
TOLERANCES = (1e-3, 1e-6, 1e-9)


def run(game: Any, method: str, seconds: float) -> dict[str, Any]:
    """Solve to the smallest tolerance or up to a CPU time; return when each tolerance was met."""
    wall, begun = time.perf_counter(), time.process_time()
    solution = solve(Nash(game), method, tol=TOLERANCES[-1], callback=lambda _: time.process_time() - begun > seconds)
    # The history has wall-clock times, which include the time of other processes.
    share = (time.process_time() - begun) / (time.perf_counter() - wall)
    history = solution.history
    met: dict[str, Any] = {}
    for tolerance in TOLERANCES:
        first = np.flatnonzero(history.exploitability <= tolerance)[:1]
        met[f"{tolerance:g}"] = (
            {"iterations": int(history.iterations[first[0]]), "seconds": float(share * history.seconds[first[0]])}
            if len(first)
            else None
        )
    curve = {"iterations": history.iterations.tolist(), "exploitability": history.exploitability.tolist()}
    return {"method": method, "met": met, "reached": solution.exploitability} | curve


def table(rows: list[dict[str, Any]], tolerance: str, what: str) -> str:
    """Return a table for one tolerance: games by methods, with the smallest number of each row in bold."""
    lines = [f"| game | {' | '.join(f'`{name}`' for name in METHODS)} |", f"|---|{'---:|' * len(METHODS)}"]
    for row in rows:
        found = [each["met"][tolerance] for each in row["solves"]]
        numbers = [None if each is None else each[what] for each in found]
        least = min((each for each in numbers if each is not None), default=None)
        texts = ["–" if n is None else f"{n:,}" if what == "iterations" else f"{n:.2g}" for n in numbers]
        cells = [
            f"**{text}**" if n is not None and n == least else text for text, n in zip(texts, numbers, strict=True)
        ]
        lines.append(f"| `{row['game']}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]]) -> Any:
    """Draw exploitability against iterations, one panel per game."""
    figure, axes = panels(2, 5, (15.0, 6.5), sharey=True)
    for pane, row in zip(axes.flat, rows, strict=False):
        for each in row["solves"]:
            iterations, error = np.array(each["iterations"]), np.maximum(each["exploitability"], 1e-13)
            # Show only dots that are a fifth apart, and the last one.
            _, kept = np.unique(np.append(np.log(iterations[:-1]) // 0.2, np.inf), return_index=True)
            METHODS[each["method"]].plot(pane, iterations[kept], error[kept], linewidth=1.2, label=each["method"])
        pane.set(xscale="log", yscale="log", ylim=(1e-10, None), title=row["game"])
        pane.minorticks_off()
    for pane in axes[-1]:
        pane.set_xlabel("iterations")
    for pane in axes[:, 0]:
        pane.set_ylabel("exploitability")
    legend_below(figure, 6, axes.flat[0])
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0, help="CPU seconds for each solve")
    parser.add_argument("--games", nargs="*", default=GAMES)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    for method in METHODS:
        solve(Nash(load_game("kuhn")), method, max_iterations=50)  # compile before measuring
    rows = []
    for name in arguments.games:
        game = load_game(name)
        rows.append({"game": name, "solves": [run(game, method, arguments.seconds) for method in METHODS]})
        print(name, *(f"{each['method']} {each['reached']:.1e}" for each in rows[-1]["solves"]), flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(rows))
    for tolerance in TOLERANCES:
        for what in ("iterations", "seconds"):
            print(
                f"\n{what.capitalize()} to an exploitability of {tolerance:g}:\n\n{table(rows, f'{tolerance:g}', what)}"
            )
    if arguments.plot:
        write_picture(lambda: draw(rows), arguments.plot)


if __name__ == "__main__":
    main()
