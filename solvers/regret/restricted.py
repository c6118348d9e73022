"""Restricted Nash responses by regret minimisation, without a copy of the game."""

import time
from typing import TYPE_CHECKING

import numpy as np

from ...models.problems import Certificate, RestrictedNash
from ...seqform.errors import UnknownMethodError
from ...seqform.strategy import Profile
from ..outcome import Options, Outcome, certified_error, nearest_profile, reported
from ..solution import History
from ..status import Status
from .driver import CHECK_GROWTH, kernel_for, next_chunk, rule_of, warm

if TYPE_CHECKING:
    from ..methods import RegretMethod
    from .kernel import Kernel, KernelState

_FIRST_CALL = 32
_NEVER = 2**62  # the loop's own certificate is of an equilibrium


def run(method: "RegretMethod", problem: RestrictedNash, options: Options) -> Outcome:
    """Iterate until the certificate meets the tolerance or a limit comes.

    The player who responds learns against the mixture p ŷ + (1 − p) y of plans, so that its gradient is p M ŷ, which
    stays, and 1 − p times that of the game. The free opponent's regrets only scale with 1 − p, and are the game's.
    """
    if options.start is not None:
        raise UnknownMethodError(f"{method.name} takes no start for {problem.name}")
    begun = time.perf_counter()
    kernel = kernel_for(method, problem.game.sequence_form, options.tol)
    warm(kernel.layout.number)
    player, p = problem.player, float(problem.p)
    tilt = kernel.layout.from_user(player, p * problem.view().paid(problem.opponent.plan))
    scales = np.ones(2)
    scales[player] = 1.0 - p
    rule, state = rule_of(method), kernel.initial_state()
    build_seconds = time.perf_counter() - begun

    begun = time.perf_counter()
    stopped, chunk, next_check = Status.ITERATION_LIMIT, _FIRST_CALL, 1
    rows: list[tuple[int, float, float]] = []
    proof: tuple[Profile, Certificate] | None = None
    try:
        while True:
            if state.iteration >= next_check:
                proof = _proof(problem, kernel, state, method)
                error = certified_error(problem, proof[1], options)
                rows.append((state.iteration, time.perf_counter() - begun, error))
                next_check = max(state.iteration + 1, int(state.iteration * CHECK_GROWTH))
                if options.tol > 0.0 and error <= options.tol:
                    stopped = Status.CONVERGED
                    break
            if state.iteration >= options.max_iterations:
                break
            started = time.perf_counter()
            if started - begun >= options.time_limit:
                stopped = Status.TIME_LIMIT
                break
            if reported(options, state.iteration, started - begun, rows[-1][2] if rows else None):
                stopped = Status.INTERRUPTED
                break
            state.next_check = _NEVER
            kernel.run(
                state,
                rule,
                min(chunk, next_check - state.iteration, options.max_iterations - state.iteration),
                alternating=method.updates == "alternating",
                tilt=tilt,
                scales=scales,
            )
            now = time.perf_counter()
            chunk = next_chunk(chunk, now - started, options.time_limit - (now - begun))
    except KeyboardInterrupt:
        stopped = Status.INTERRUPTED
    if proof is None or rows[-1][0] != state.iteration:
        proof = _proof(problem, kernel, state, method)
        rows.append((state.iteration, time.perf_counter() - begun, certified_error(problem, proof[1], options)))
    iterations, seconds, errors = zip(*rows, strict=True)
    return Outcome(
        plans=proof[0].plans,
        stopped=stopped,
        detail=f"after {state.iteration} iterations",
        iterations=state.iteration,
        seconds=time.perf_counter() - begun,
        build_seconds=build_seconds,
        history=History(np.array(iterations, dtype=np.int64), np.array(seconds), np.array(errors)),
        proof=proof,
    )


def _proof(
    problem: RestrictedNash, kernel: "Kernel", state: "KernelState", method: "RegretMethod"
) -> tuple[Profile, Certificate]:
    """Return the response and the free opponent's strategy so far, and what they prove."""
    vector = state.arrays.plan if method.iterate == "last" else kernel.average(state)
    profile = nearest_profile(problem.game, [kernel.layout.to_user(player, vector) for player in range(2)])
    return profile, problem.certify(profile)
