"""Solves in a checkpoint: whole runs, and the outcomes of parts."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..models.problems import Feature, Problem
from ..seqform.limits import seconds_left
from .checkpoint import Checkpoint, Keeper, Saved, asked_of, digest
from .exact.highs_models import Basis
from .methods import Method
from .outcome import History, Options, Outcome, Status
from .solution import Solution

#: The entries of an outcome that are saved unchanged.
_KEPT = ("detail", "iterations", "seconds", "build_seconds")


def saved_outcome(outcome: Outcome) -> Saved:
    """Return the saved form of an outcome, without its certificate or state; the certificate is recomputed."""
    history = {name: value for name, value in vars(outcome.history).items() if value is not None}
    plans = outcome.plans if outcome.plans or outcome.proof is None else outcome.proof[0].plans
    basis = outcome.state if isinstance(outcome.state, Basis) else None
    return {
        "basis": None if basis is None else [list(basis.shape), basis.codes],
        "stopped": str(outcome.stopped),
        **{name: getattr(outcome, name) for name in _KEPT},
        "names": [list(outcome.multipliers), list(outcome.dual_certificate)],
        "prices": np.array(list(outcome.multipliers.values()), dtype=np.float64),
        **{f"plan {number}": plan for number, plan in enumerate(plans or ())},
        **{f"dual {number}": each for number, each in enumerate(outcome.dual_certificate.values())},
        **{f"history {name}": value for name, value in history.items()},
    }


def outcome_of(saved: Saved) -> Outcome:
    """Return the outcome from its saved form; see :func:`saved_outcome`."""
    parts: dict[str, dict[str, Any]] = {"plan": {}, "dual": {}, "history": {}}
    for name, value in saved.items():
        kind, _, rest = name.partition(" ")
        if rest:
            parts[kind][rest] = value
    constraints, certificates = saved["names"]
    state = None
    if saved.get("basis") is not None:  # prices start from the final basis of the simplex method
        state = Basis.from_codes(*saved["basis"])
    return Outcome(
        plans=list(parts["plan"].values()) or None,
        stopped=Status(saved["stopped"]),
        **{name: saved[name] for name in _KEPT},
        history=History(**parts["history"]),
        multipliers=dict(zip(constraints, saved["prices"].tolist(), strict=True)),
        dual_certificate=dict(zip(certificates, parts["dual"].values(), strict=True)),
        state=state,
    )


def kept_outcome(keeper: Keeper, part: str, method: Method, run: Callable[[], Outcome]) -> Outcome:
    """Run a method as a part of another computation, which Ctrl-C also ends, or read its outcome from a checkpoint."""
    if method.is_exact:
        return run()
    if method.keeps_runs and keeper.keeps_loops:
        with keeper.within(part):
            return run()

    def saved() -> Saved:
        outcome = run()
        if outcome.stopped is Status.INTERRUPTED and seconds_left():
            raise KeyboardInterrupt
        return saved_outcome(outcome)

    return outcome_of(keeper.part(part, saved))


@contextmanager
def keeping(given: Any, problem: Problem, method: Method, options: Options) -> "Iterator[tuple[Options, str]]":
    """Save a solve in a checkpoint, which is written when the block ends.

    Parameters
    ----------
    given : Checkpoint, path-like or Keeper
        The user's checkpoint; an open one if the solve is a part of another computation.
    problem : Problem
    method : Method
    options : Options

    Yields
    ------
    options : Options
        With the open checkpoint.
    part : str
        The name of the solve as a part of the checkpoint; empty if it is the whole run.
    """
    limits = options.tol, options.max_iterations
    if isinstance(given, Keeper):
        start = options.start
        begun = start if not isinstance(start, Solution) else (start.profile, start.iterations)
        asked = (problem, method, (*limits, options.time_limit, options.seed, begun))
        yield dataclasses.replace(options, checkpoint=given), f"{problem.name} by {method.name} {digest(asked)}"
        return
    others: dict[str, Any] = {"seed": options.seed}
    part = ""
    if Feature.STEPS in problem.needs:  # a step depends on where limits ended the earlier steps
        part, others["limits"] = "steps", digest(limits)
    with Checkpoint.of(given).kept(asked_of(problem, method, **others)) as keeper:
        keeper.asks_time = False
        yield dataclasses.replace(options, checkpoint=keeper), part
