"""Runs that are interrupted at any moment: resumed, they end with the bits of the run in one piece, and stay there.

The moments are lines of the library, and clocks are the tests' own: see :mod:`interruptions`.
"""

import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import soaked
from interruptions import Moment, differences, interrupted, own_clock, refuted
from problem_cases import Drawing
from public_games import RandomPublicGame

from treeplex import (
    CDBR,
    CDRNR,
    Checkpoint,
    ConstrainedNash,
    EpsilonSafeResponse,
    Game,
    Nash,
    RestrictedNash,
    Status,
    StreamedMCCFR,
    Strategy,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.constraints import parse_constraint
from treeplex.models.preferences import Prefer
from treeplex.seqform.public_form import PublicForm
from treeplex.seqform.signals import holding_signals
from treeplex.solvers import ApproximateBestResponse, ESPrefCFR, PrefCFR, Stepper, iterate
from treeplex.solvers.methods import find_method
from treeplex.solvers.outcome import Options

KUHN, LEDUC = load_game("kuhn"), load_game("leduc:merge_suits=true")
PREFER = (Prefer("b", 5.0),)
HOWS = ("INT", "TERM", "raise")

#: Every stepper that keeps runs, and what distinguishes runs of one.
METHODS = (
    "cfr", "cfr+", "dcfr", "pcfr+", "cfr+:precision=single", "dcfr:updates=simultaneous", "pcfr+:iterate=last",
    "hs-dcfr", "hs-pcfr+", "pdcfr+", "sapcfr+", "restarted-cfr", "cfvfp", "smooth-cfr+", "mirror-prox",
    "es-mccfr", "es-mccfr:batch=7", "os-mccfr",
    PrefCFR(prefer=PREFER, vulnerability=0.05), ESPrefCFR(prefer=PREFER, vulnerability=0.05),
)  # fmt: skip
#: Those for one player's problems, and the problems.
SADDLE_METHODS = ("cfr", "cfr+", "dcfr", "pcfr+")
STEPPED = {"cdbr": 2, "cdrnr": 4, "cdbr-ne": 1, "ses": 2}
SADDLES = {"rnr": 2, "epsilon-safe": 2, "constrained": 3, "constrained soft": 2}


class Saddles(Drawing):
    kinds = SADDLES | STEPPED

    def in_fractions(self):
        return True


def drawn(seed: int) -> tuple[str, Callable[[Checkpoint | None], Any]]:
    """Return a random run, by a name to find it again."""
    rng = random.Random(seed)
    iterations, share = rng.choice([40, 120, 300]), rng.random()
    tol = rng.choice([0.0, 0.0, 0.05])
    method: Any
    if share < 0.4:
        problem, method = Saddles(seed, {}, 0).case().problem, rng.choice(SADDLE_METHODS)
        if getattr(problem, "constraints", ()):
            method = rng.choice(["ccfr", "ccfr:beta=1e-4", "ccfr:updates=simultaneous"])
        if problem.name in STEPPED:
            iterations = rng.choice([10, 40])
    elif share < 0.85:
        game = rng.choice([KUHN, KUHN, KUHN, load_game("kuhn:players=3")])
        problem, method = Nash(game), rng.choice(METHODS)
        if game.num_players > 2:
            method = rng.choice(SADDLE_METHODS)
        if method in ("smooth-cfr+", "mirror-prox"):
            iterations //= 4
    elif share < 0.93:
        game = Game.from_public_form(PublicForm.from_rules(RandomPublicGame(seed)))
        problem, method = Nash(game), rng.choice(["cfr+", "dcfr", "dcfr:precision=half"])
    else:
        problem, method = RestrictedNash(LEDUC, Strategy.uniform(LEDUC, 1), p=0.5), "cfr+"
    limits: dict[str, Any] = {"tol": tol, "max_iterations": iterations, "seed": seed}
    chosen = find_method(method) if isinstance(method, str) else method
    name = f"seed {seed}: {problem.name} on {problem.game.spec} by {chosen.name}, {limits}"
    return name, lambda checkpoint: solve(problem, chosen, **limits, checkpoint=checkpoint)


@pytest.mark.soak
def test_random_runs_resume_to_the_bits_of_one_piece_and_stay_there(tmp_path: Path) -> None:
    wrong, tried = [], 0
    for seed in range(soaked(4)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        name, run = drawn(seed)
        try:
            answers, told = interrupted(
                run, folder / "run", random.Random(seed), random.Random(-seed).randint(1, 3), HOWS
            )
        except UnsupportedProblemError:
            continue
        tried += 1
        wrong += refuted(answers, told, name)
        for each in folder.iterdir():
            each.unlink()
    assert not wrong, "\n".join(wrong)
    assert tried > 0.5 * soaked(4)
