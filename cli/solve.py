"""``treeplex solve``: solves one problem on one game with one method."""

import inspect
from typing import Any

from .curves import Responses
from .errors import deferring_interrupts
from .files import Record, check_files
from .options import Checkpointing, GameArgument, choice_of, declared, method_options, problem_options
from .outputs import Outputs
from .solve_options import Asked, Curve, Files, OfSpot, SolveLimits, Supplied

#: The keys of the JSON of every solve.
KEYS = (
    *("game", "parameters", "problem", "question", "method", "options", "tolerance", "player", "status", "message"),
    *("objective", "value", "value_exact", "values", "values_exact", "objective_exact"),
    *("gain_exact", "lower", "upper", "gap"),
    "exploitability",
    *(
        "ties",
        "scenarios",
        "regrets",
        "epsilon",
        "nash_conv",
        "logit_distance",
        "gain",
        "opponent_value",
        "game_value",
        "slack",
        "violation",
        "violations",
        "least_violation",
        "conflict",
        "relaxations",
    ),
    *("multipliers", "dual_multipliers", "prices", "multiplier_bound", "preference", "steps", "step_levels"),
    *("recommendations", "step_gaps", "value_errors"),
    *("safety_bound", "history", "iterations", "seconds", "build_seconds", "time", "sizes"),
)


def _options() -> list[inspect.Parameter]:
    from ..solvers.methods import METHODS

    names = (
        f"The method: {', '.join(METHODS)}; by default highs, exact in large games, cfr+ with more than two players, "
        "and lp for depth-limited steps. Or NAME:key=value,…, such as dcfr:alpha=1.5,beta=0,gamma=2."
    )
    return [*problem_options(), choice_of("method", None, names), *method_options()]


@declared(_options)
def solve(
    game: GameArgument,
    *,
    asked: Asked,
    limits: SolveLimits,
    checkpointing: Checkpointing,
    supplied: Supplied,
    curve: Curve,
    of_spot: OfSpot,
    files: Files,
    **options: Any,
) -> int:
    """Solve a game, and certify the solution.

    The certificate is computed from the strategies alone; it does not trust the solver. Reaching a limit is a valid
    result (exit status 0). The exit status is 1 if the strategies do not prove the claim of an exact method, or if the
    constraints cannot be met.
    """
    check_files({"GAME": game}, **vars(files), chart=of_spot.chart, profile=True, **checkpointing.files)
    record = Record(files.json, KEYS, game=game, problem=asked.problem or "nash", method=asked.method)
    with record.interruptible(limits.time_limit):
        with deferring_interrupts():
            from .solve_steps import SolveSteps, deliver_frontier

        steps = SolveSteps(record, game, limits, checkpointing, supplied, curve, of_spot, files)
        steps.read_question(**vars(asked), **options)
        steps.read_spot()
        steps.pose_problem()
        found = steps.find_frontier() if curve.frontier else steps.find_solution()
    outputs = Outputs(record)
    if isinstance(found, Responses):
        return deliver_frontier(found, outputs, record, files)
    solution = steps.finish_exactly(found, outputs)
    return steps.answer(solution, outputs).deliver(outputs, files)
