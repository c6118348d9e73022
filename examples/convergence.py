"""Plot the exploitability of CFR, CFR+, DCFR and PCFR+ against iterations.

python examples/convergence.py --game leduc --iterations 10000 --out convergence.svg
"""

import argparse

import numpy as np

from treeplex import Nash, load_game, solve

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit('this example draws with matplotlib: pip install "treeplex[plot]"') from None

# Colours of Okabe and Ito, which colour-blind readers can tell apart.
METHODS = {"cfr": "#222222", "cfr+": "#0072B2", "dcfr": "#D55E00", "pcfr+": "#009E73"}
# The hash salt makes equal runs write equal files.
STYLE = {"font.size": 11, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "treeplex"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="leduc")
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--out", default="convergence.svg")
    arguments = parser.parse_args()
    plt.rcParams.update(STYLE)
    figure, axes = plt.subplots(figsize=(7.5, 4.4), layout="constrained")

    problem = Nash(load_game(arguments.game))
    ends = []
    for method, colour in METHODS.items():
        solution = solve(problem, method, max_iterations=arguments.iterations, tol=0)
        iterations, error = solution.history.iterations, solution.history.exploitability
        axes.loglog(iterations, error, color=colour, linewidth=1.9, clip_on=False)
        ends.append((error[-1], method.upper(), colour, "bold"))
        print(f"{method:6} exploitability {solution.exploitability:.3g} after {solution.iterations:,} iterations")
    for power, name in ((0.5, "1/√t"), (1.0, "1/t")):
        axes.loglog(iterations, error[0] * iterations**-power, ":", color="#999999", linewidth=1.2)
        ends.append((error[0] * iterations[-1] ** -power, name, "#888888", "normal"))

    axes.set(xlabel="iterations", xlim=(1, iterations[-1]))
    axes.set_title(f"{problem.game.spec}: exploitability of the average strategies", loc="left", fontsize=11)
    axes.grid(color="#e5e5e5", linewidth=0.7)
    axes.tick_params(which="minor", length=0)
    # Label the lines at their ends, from the top down, each label at least a line of text below the one before.
    figure.canvas.draw()
    above, line = np.inf, 15 * figure.dpi / 72
    for end, name, colour, weight in sorted(ends, reverse=True):
        above = min(above - line, axes.transData.transform((1, end))[1])
        place = iterations[-1], axes.transData.inverted().transform((0, above))[1]
        look = {"color": colour, "weight": weight, "va": "center", "textcoords": "offset points"}
        axes.annotate(name, place, (8, 0), annotation_clip=False, **look)
    figure.savefig(arguments.out, dpi=200, metadata={"Date": None} if arguments.out.endswith(".svg") else None)


if __name__ == "__main__":
    main()
