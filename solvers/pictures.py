"""Pictures of solutions: convergence, gain and risk, prices of constraints, and strategies."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..seqform.arrays import Floats
from ..seqform.checks import check_choice
from ..seqform.errors import UnsupportedProblemError
from ..seqform.interchange.pictures import COLOURS, cut, legend, panels
from ..seqform.interchange.strategy_display import draw_strategy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .solution import Solution

#: The largest number of constraints in a picture.
_CONSTRAINTS = 24
#: The largest number of infosets if strategies are drawn next to other panels.
_INFOSETS = 16


def solution_figure(solution: "Solution", *shown: str) -> "Figure":
    """Draw a solution; see :meth:`~treeplex.Solution.figure`."""
    for name in shown:
        check_choice(name, "panel", UnsupportedProblemError, tuple(PANELS))
    # Strategies of a large game are computed only if they are drawn.
    wanted = shown or [name for name in PANELS if name != "strategy"]
    found = {name: PANELS[name].of(solution) for name in wanted}
    if not shown and not any(found.values()):
        found = {"strategy": PANELS["strategy"].of(solution)}
    for name in shown:
        if not found[name]:
            there = [each for each, panel in PANELS.items() if panel.of(solution)]
            raise UnsupportedProblemError(
                f"this solution of {solution.problem.name} by {solution.method.name} has no {name} to draw, only "
                f"{', '.join(there)}"
            )
    chosen = [name for name, draws in found.items() if draws]
    draws = [draw for name in chosen for draw in found[name]]
    height = max(PANELS[name].height(solution) for name in chosen)
    figure, axes = panels(1, len(draws), (4.6 * len(draws), height), squeeze=False)
    for pane, draw in zip(axes[0], draws, strict=True):
        draw(pane)
    return figure


_Draw = Callable[[Any], None]


class _Panel:
    """A kind of panel: its drawing function (``None`` if a solution has no such panel), and its height in inches."""

    def __init__(self, of: "Callable[[Solution], list[_Draw]]", height: "Callable[[Solution], float]") -> None:
        self.of, self.height = of, height


def _convergence(solution: "Solution") -> list[_Draw]:
    history = solution.history
    if len(history) < 2:
        return []

    def draw(axes: Any) -> None:
        positive = history.exploitability > 0.0
        iterations, errors = np.maximum(history.iterations, 1)[positive], history.exploitability[positive]
        axes.plot(iterations, errors, color=COLOURS["blue"], linewidth=1.6, label=solution.method.name)
        if solution.tolerance > 0.0:
            axes.axhline(solution.tolerance, color=COLOURS["red"], linestyle="--", linewidth=1.0, label="tolerance")
        if len(errors):
            axes.set(xscale="log", yscale="log")
        error = "exploitability" if solution.player is None and not solution.problem.constraints else "proven error"
        axes.set(xlabel="iterations", ylabel=f"{error}, payoff units")
        _title(axes, f"{solution.problem.name} on {solution.problem.game.spec}")
        legend(axes, fontsize=8)

    return [draw]


def _frontier(solution: "Solution") -> list[_Draw]:
    gain, loss, player = solution.gain, solution.exploitability, solution.player
    if gain is None:
        return []

    def draw(axes: Any) -> None:
        here: Floats = np.array([max(loss, 0.0), gain])
        room = max(1.6 * here.max(), 1e-6)
        line = solution.problem.gain_line(solution.certificate, solution.dual_multipliers)
        if line is not None:
            ends = np.array([0.0, room])
            limit = line[0] + line[1] * ends
            axes.plot(
                ends, limit, color=COLOURS["slate"], linestyle="--", linewidth=1.1, label="no strategy lies above"
            )
            axes.fill_between(ends, limit, max(room, limit.max()), color=COLOURS["pale"], linewidth=0)
        axes.plot(
            *here, "o", color=COLOURS["red"], markersize=7, label=f"{solution.problem.name} response", clip_on=False
        )
        axes.set(xlim=(0.0, room), ylim=(min(0.0, 1.2 * gain), room))
        axes.set(xlabel="exploitability, payoff units", ylabel="gain, payoff units")
        _title(axes, f"player {player}: gain against the model, and possible loss")
        legend(axes, "lower right", fontsize=8)

    return [draw]


def _prices(solution: "Solution") -> list[_Draw]:
    failed = solution.infeasibility
    numbers: Mapping[str, float] = solution.multipliers if failed is None else failed.violations
    if not numbers:
        return []

    def draw(axes: Any) -> None:
        largest = sorted(numbers, key=lambda name: -abs(numbers[name]))[:_CONSTRAINTS]
        owners = {constraint.name: constraint.player for constraint in solution.problem.constraints}
        bound = {f" of player {owner}" for owner in owners.values()}
        owners = owners if len(bound) > 1 else {}
        labels = [cut(name, 34) + (f" (player {owners[name]})" if name in owners else "") for name in largest]
        lengths = [float(numbers[name]) for name in largest]
        if failed is not None:
            lengths = [max(0.0, length) for length in lengths]
        axes.barh(range(len(largest)), lengths, 0.6, color=COLOURS["blue" if failed is None else "red"])
        axes.set_yticks(range(len(largest)), labels, fontsize=8, parse_math=False)
        for place, length in enumerate(lengths):
            text, look = f" {length + 0.0:.4g}", {"va": "center", "fontsize": 8, "color": COLOURS["slate"]}
            axes.text(max(length, 0.0), place, text, **look)
        axes.set(
            ylim=(max(len(largest), 5) - 0.4, -0.6),
            xlim=(min(0.0, *lengths), 1.2 * max(lengths) if max(lengths) > 1e-12 else 1.0),
        )
        axes.grid(visible=False, axis="y")
        if failed is None:
            axes.set(xlabel="price: gain of the constrained player\nper unit of loosening, payoff units")
        else:
            axes.set(xlabel="violation by the closest strategy")
        part = f": the {len(largest)} largest of {len(numbers):,}" if len(largest) < len(numbers) else ""
        whose = bound.pop() if len(bound) == 1 else ""
        _title(axes, f"{'prices' if failed is None else 'constraints that exclude each other'}{whose}{part}")

    return [draw]


def _strategy(solution: "Solution") -> list[_Draw]:
    player, profile = solution.player, solution.profile
    asked = list(profile) if player is None else [profile[player]]
    actions = [action for each in asked for action in each.actions]
    return [
        lambda axes, each=each: draw_strategy(axes, each, most=_INFOSETS, actions=actions)  # type: ignore[misc]
        for each in asked
        if each.treeplex.num_infosets
    ]


def _bars(count: int) -> float:
    return max(2.2, 1.2 + 0.24 * count)


def _infosets(solution: "Solution") -> int:
    return min(_INFOSETS, max(treeplex.num_infosets for treeplex in solution.problem.game.sequence_form.treeplexes))


def _title(axes: Any, text: str) -> None:
    axes.set_title(cut(text, 60), loc="left", fontsize=9, parse_math=False)


#: The panels of a picture of a solution, by name, in order.
PANELS: dict[str, _Panel] = {
    "convergence": _Panel(_convergence, lambda solution: 3.4),
    "frontier": _Panel(_frontier, lambda solution: 3.4),
    "prices": _Panel(_prices, lambda solution: _bars(min(_CONSTRAINTS, len(solution.problem.constraints)))),
    "strategy": _Panel(_strategy, lambda solution: _bars(_infosets(solution))),
}
