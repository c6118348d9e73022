"""JSON of solves that have no solution: those that were interrupted early, and those about many solutions."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...seqform.game import Game

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
    *(
        "objective_exact",
        "gain_exact",
        "opponent_value",
        "game_value",
        "slack",
        "violation",
        "violations",
        "least_violation",
        "conflict",
    ),
    *("multipliers", "steps", "iterations", "seconds", "build_seconds", "sizes"),
)


def partial_record(known: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of ``solve`` with what is known; every other key is there too, and null."""
    from ... import __version__
    from ...solvers.solution import json_ready

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


def sizes_of(game: "Game") -> dict[str, Any]:
    """Return the sizes of a game, as the JSON of ``solve`` has them."""
    form = game.sequence_form
    return {
        "sequences": [treeplex.num_sequences for treeplex in form.treeplexes],
        "infosets": [treeplex.num_infosets for treeplex in form.treeplexes],
        "leaves": form.num_leaves,
        "nnz": form.nnz,
    }
