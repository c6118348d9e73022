"""Convergence of sampled strategies by histories touched, with the exact error and with local best responses.

    python benchmarks/sampling_curves.py [--walks N] [--games N] [--plot docs/images/sampling_curves.svg]

The left panel is Leduc poker: one run, batches, threads, and averages of four runs. The right panel is liar's dice with
six sides: exact exploitability of one run, and estimates from below by local best responses, with their intervals.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from treeplex import Nash, exploitability, load_game, solve
from treeplex.seqform.interchange.pictures import panels, write_picture
from treeplex.solvers import averaged_profile, estimate_exploitability

METHODS = {"es-mccfr": 1, "es-mccfr:batch=256": 256, "es-mccfr:threads=2": 1}
LARGE = "liars_dice:sides=6"
RUNS = 4
_SHOWN = "exploitability", "mean", "lower", "upper"


def exact_curves(walks: int) -> dict[str, tuple[list[float], list[float]]]:
    """Return histories touched and exploitability in Leduc poker, by method."""
    problem, found = Nash(load_game("leduc")), {}
    for method, each in METHODS.items():
        history = solve(problem, method, tol=0, max_iterations=walks // each, seed=1).history
        found[method] = history.touched.tolist(), history.exploitability.tolist()
    work, errors = [], []
    for part in np.geomspace(walks / 1000, walks / RUNS, 10).astype(int).tolist():
        runs = [solve(problem, "es-mccfr", tol=0, max_iterations=part, seed=seed) for seed in range(RUNS)]
        work.append(float(sum(run.history.touched[-1] for run in runs)))
        errors.append(exploitability(problem.game, averaged_profile([run.profile for run in runs])))
    return {**found, f"average of {RUNS} runs": (work, errors)}


def estimated_curve(walks: int, games: int) -> list[dict[str, float]]:
    """Return exact exploitability in the large game, and its estimates from below, by histories touched."""
    game, found, start = load_game(LARGE), [], None
    for total in np.geomspace(walks / 300, walks, 5).astype(int).tolist():
        more = total - (0 if start is None else start.iterations)
        start = solve(Nash(game), "es-mccfr", tol=0, max_iterations=more, seed=1, start=start)
        told = estimate_exploitability(game, start.profile, games, rollouts=50, seed=7)
        row = {"touched": float(start.history.touched[-1]), "exploitability": start.exploitability}
        found.append(row | {"mean": told.mean, "lower": told.lower, "upper": told.upper})
        print(
            f"| {row['touched']:,.0f} | {row['exploitability']:.3f} | {told.mean:.3f} | {told.lower:.3f} |", flush=True
        )
    return found


def draw(exact: dict[str, tuple[list[float], list[float]]], estimates: list[dict[str, float]]) -> Any:
    """Draw both panels."""
    figure, axes = panels(1, 2, (10.0, 4.2))
    left, right = axes.flat
    for name, (touched, errors) in exact.items():
        left.plot(touched, errors, linewidth=1.2, label=name, marker="." if "average" in name else None)
    columns = {name: np.array([row[name] for row in estimates]) for name in estimates[0]}
    right.plot(columns["touched"], columns["exploitability"], linewidth=1.2, label="exploitability, exact")
    ends = columns["mean"] - columns["lower"], columns["upper"] - columns["mean"]
    style = {"fmt": "o", "markersize": 3, "capsize": 3, "linewidth": 1, "label": "local best responses, 95 %"}
    right.errorbar(columns["touched"], columns["mean"], ends, **style)
    right.set(yscale="linear", title=LARGE, ylabel="exploitability (points)")
    left.set(yscale="log", title="leduc", ylabel="exploitability (antes)")
    for pane in (left, right):
        pane.set(xscale="log", xlabel="histories touched")
    left.legend(fontsize=8)
    right.axhline(0.0, linewidth=0.6, color="grey")
    right.legend(fontsize=8)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--walks", type=int, default=400_000, help="walks of each player in the longest run")
    parser.add_argument("--games", type=int, default=5000, help="games of each local best response")
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    exact = exact_curves(arguments.walks)
    for name, (touched, errors) in exact.items():
        print(f"{name}: exploitability {errors[-1]:.4f} after {touched[-1]:,.0f} histories", flush=True)
    estimates = estimated_curve(arguments.walks, arguments.games)
    if arguments.plot:
        write_picture(lambda: draw(exact, estimates), arguments.plot)


if __name__ == "__main__":
    main()
