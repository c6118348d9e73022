"""JSON of solves that have no solution: those that were interrupted early, and those about many solutions."""

from typing import Any

_KEYS = (
    *(
        "schema",
        "version",
        "game",
        "parameters",
        "problem",
        "question",
        "method",
        "options",
        "tolerance",
        "player",
        "status",
    ),
    *(
        "message",
        "objective",
        "value",
        "value_exact",
        "objective_exact",
        "gain_exact",
        "lower",
        "upper",
        "gap",
        "exploitability",
        "gain",
    ),
    *("opponent_value", "game_value", "slack", "violation", "violations", "least_violation", "conflict"),
    *(
        "multipliers",
        "multiplier_bound",
        "preference",
        "steps",
        "step_levels",
        "step_gaps",
        "value_errors",
        "safety_bound",
        "iterations",
        "seconds",
        "build_seconds",
        "sizes",
    ),
)


def partial_record(known: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of ``solve`` with what is known; every other key is there too, and null."""
    from .. import __version__
    from ..solvers.solution import json_ready

    described = {"schema": 1, "version": __version__}
    return json_ready(dict.fromkeys(_KEYS) | described | known)  # type: ignore[no-any-return]


def unsolved_record(known: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a solve that was interrupted before there were strategies.

    Parameters
    ----------
    known : dict
        What is known, by key; every other key is there too, and null.
    """
    stopped = {"status": "interrupted", "message": "stopped by the user before there were strategies"}
    return partial_record(known | stopped)
