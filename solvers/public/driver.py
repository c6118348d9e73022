"""Regret minimisation on games in public form, as a stepper, and what it answers."""

import functools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.problems import Certificate, Nash, Problem
from ...seqform.arrays import Floats
from ...seqform.game import Game
from ...seqform.limits import uncounted
from ...seqform.public_form import PublicForm
from ...seqform.public_profile import PublicProfile, StrategiesOnDemand
from ...seqform.rules import TERMINAL
from ..checkpoint import Saved, fill
from ..iteration import Stepper, iterate
from ..methods import RegretMethod
from ..outcome import Options, Outcome
from ..solution import RunState, Solution
from .kernel import PublicKernel
from .loop import PlayArrays

#: Single precision is chosen, where it is left to the library, for tolerances of this much of the largest payoff.
_SINGLE_TOLERANCE = 1e-6


def serves(method: RegretMethod, problem: Problem, options: Options) -> bool:
    """Whether the loop on the public form takes a problem: an equilibrium, found by turns and averaged."""
    return (
        problem.game.public_form is not None
        and isinstance(problem, Nash)
        and method.bias is None
        and method.updates == "alternating"
        and method.iterate == "average"
        and not method.initial_regrets
        and (options.start is None or _reached(method, problem.game, options.start) is not None)
    )


@dataclass(frozen=True, eq=False)
class PublicState(RunState):
    """What a run on a public form needs to go on where it stopped."""

    method: RegretMethod
    fingerprint: str
    arrays: PlayArrays


class PublicStepper(Stepper):
    """The loop on the public form of a game.

    Parameters
    ----------
    method : RegretMethod
    kernel : PublicKernel
    state : PlayArrays
        Changed in place.
    """

    first_step = 4

    def __init__(self, method: RegretMethod, kernel: PublicKernel, state: PlayArrays) -> None:
        self._rule, self.kernel, self.state = method.local_rule, kernel, state
        self.begins_with_check = self.iterations > 0
        self.best_responses = (np.inf, np.inf)

    @property
    def iterations(self) -> int:
        """Updates of both players."""
        return int(self.state.clock[0])

    def step(self, iterations: int) -> None:
        """Run the compiled loop."""
        self.kernel.run(self.state, self._rule, iterations)

    def check(self) -> float:
        """Return half of what both players' best responses to the averages earn, in payoff units."""
        first, second = (self.kernel.evaluate(self.state, player, best=True) for player in (0, 1))
        self.best_responses = first, second
        return max(0.0, (first + second) / 2.0)

    def behaviour(self, node: int) -> Floats:
        """Return the average behaviour at a public state, shape (actions, states)."""
        return self.kernel.behaviour(self.state, node)

    def values(self, player: int) -> dict[int, Floats]:
        """Return a player's counterfactual values under the averages, by node of the root's board."""
        return self.kernel.values(self.state, player)

    def saved(self) -> Saved:
        """Return where it stands."""
        return {"due": self.next_check, **_named(self.state)}

    def restore(self, saved: Saved) -> None:
        """Go on from there, in this run's precision: the tolerance may have changed it."""
        arrays = _named(self.state)
        numbers = {name: found for name in arrays if isinstance(found := saved.get(name), np.ndarray)}
        fill(arrays, {name: found.astype(arrays[name].dtype) for name, found in numbers.items()})
        self.next_check = int(saved["due"])

    def certificate(self) -> Certificate:
        """Return what the averages prove of the value to player 0, in double precision."""
        first, second = self.best_responses
        value = min(max(self.kernel.evaluate(self.state, 0, best=False), -second), first)
        return Certificate(
            value=(value, -value),
            objective=value,
            lower=-second,
            upper=first,
            exploitability=max(0.0, (first + second) / 2.0),
            residual=0.0,
            violations={},
        )


def _named(state: PlayArrays) -> dict[str, Any]:
    arrays = {"regrets": state.regrets, "sums": state.sums, "forecast": state.forecast}
    return {"clock": state.clock} | {
        f"{name} {player}": pair[player] for name, pair in arrays.items() for player in (0, 1)
    }


def run(method: RegretMethod, problem: Problem, options: Options) -> Outcome:
    """Iterate on the public form until the certificate meets the tolerance or a limit comes."""
    game = problem.game
    number = _number(method, problem, options)
    warm(number, bool(method.local_rule.prediction))
    begun = time.perf_counter()
    loop = stepper(method, game, number, options)
    build_seconds = time.perf_counter() - begun
    found = iterate(loop, options)
    profile = StrategiesOnDemand(game, PublicProfile(loop.kernel.layout.form, loop.behaviour, loop.values))
    return Outcome(
        plans=(),
        stopped=found.stopped,
        detail=f"after {found.iterations} iterations",
        iterations=found.iterations,
        seconds=found.seconds,
        build_seconds=build_seconds,
        history=found.history,
        state=PublicState(method, game.fingerprint, loop.state),
        proof=(profile, loop.certificate()),
    )


def stepper(method: RegretMethod, game: Game, number: Any, options: Options) -> PublicStepper:
    """Return the loop where a start says: in the state of a solution, or fresh."""
    assert game.public_form is not None
    kernel = PublicKernel(game.public_form, number)
    state = kernel.initial_state(bool(method.local_rule.prediction))
    reached = _reached(method, game, options.start)
    if reached is not None:
        for name, array in _named(reached).items():
            _named(state)[name][:] = array
    return PublicStepper(method, kernel, state)


def _reached(method: RegretMethod, game: Game, start: Any) -> PlayArrays | None:
    """Return the state in which a solution of the same game by the same method ended; ``None`` if it is another one."""
    kept = start.state if isinstance(start, Solution) else None
    if isinstance(kept, PublicState) and kept.method == method and kept.fingerprint == game.fingerprint:
        return kept.arrays
    return None


def _number(method: RegretMethod, problem: Problem, options: Options) -> Any:
    """Return the type of the loop's numbers."""
    if method.precision == "auto":
        return np.float32 if options.tol >= _SINGLE_TOLERANCE * problem.unit else np.float64
    return np.float32 if method.precision == "single" else np.float64


@functools.cache
def warm(number: Any, predicting: bool) -> None:
    """Compile the loop, or load it from its cache, on a tiny game, so that no solve's seconds hold that."""
    from ...seqform.factored import FactoredPayoff
    from ...seqform.public_form import Leaves
    from ..methods.rules import CFR

    with uncounted():
        leaves = Leaves(np.array([1]), np.ones(1), FactoredPayoff(np.ones((1, 1)), np.ones((1, 1))))
        form = PublicForm([0, TERMINAL], [-1, 0], ["", "end"], [["one"], ["one"]], [leaves])
        kernel = PublicKernel(form, number)
        state = kernel.initial_state(predicting)
        kernel.run(state, CFR, 1)
        kernel.evaluate(state, 0, best=True)
