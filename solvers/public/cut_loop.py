"""Regret minimisation on a game that is cut into a trunk and parts, which may be in other processes.

An update of a player takes the other player's reaches of the exits to every part, and brings back the player's values
there: hand vectors, whatever the size of the parts. The iterates are those of the whole game, up to the round-off of
these sums, which are taken in the order of the parts. So they do not depend on where the parts are.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...models.problems import Problem
from ...seqform.arrays import Floats
from ...seqform.budget import Budget
from ...seqform.cut_form import CutForm
from ...seqform.errors import SolverError
from ...seqform.limits import counted_now
from ...seqform.public_profile import PublicProfile, StrategiesOnDemand
from ..checkpoint import Saved
from ..distributed.parts import WorkerPool
from ..iteration import Stepper, iterate
from ..methods import RegretMethod
from ..outcome import Options, Outcome, Status
from ..solution import RunState
from ..uniform_play import by_best_responses
from .exits import PlayedPart, Trunk

#: The largest sum of both players' payoffs in a part that is round-off, relative to the largest payoff.
_ROUND_OFF = 1e-9


class CutStepper(Stepper):
    """The loop on a trunk and parts.

    Parameters
    ----------
    method : RegretMethod
    problem : Problem
    number : type
        The type of the parts' regrets and averages; the trunk's are in single precision if that is 16 bits.
    pool : WorkerPool
        The parts, in the order of the form.
    fixed : tuple of int and PublicProfile, optional
        A player and what it does in the trunk; then it learns in the parts only.

    Attributes
    ----------
    best_responses : tuple of float
        Each player's payoff from a best response to the averages, at the last check.
    failure : str
        Why the parts do not prove anything about the averages; empty as long as they do.
    """

    first_step = 1

    def __init__(
        self,
        method: RegretMethod,
        problem: Problem,
        number: Any,
        pool: Any,
        fixed: tuple[int, PublicProfile] | None = None,
    ) -> None:
        form = problem.game.public_form
        assert isinstance(form, CutForm)
        self.problem, self.form, self.pool = problem, form, pool
        walked = np.float32 if number is np.uint16 else number
        predicting = bool(method.local_rule.prediction)
        self.trunk = Trunk(form, form.exits, walked, method.local_rule, predicting)
        self.best_responses = (np.inf, np.inf)
        self.failure = ""
        self._fixed = None if fixed is None else fixed[0]
        if fixed is not None:
            self.trunk.play(*fixed)

    @property
    def iterations(self) -> int:
        """The number of iterations, each of which updates both players."""
        return int(self.trunk.state.clock[0])

    def step(self, iterations: int) -> None:
        """Update the players in turn."""
        for done in range(self.iterations, self.iterations + iterations):
            for player in (0, 1):
                reaches = self.trunk.descend(player, done)
                values = self._called("update", player, done, reaches)
                if player != self._fixed:
                    self.trunk.ascend(player, done, values)
            self.trunk.state.clock[0] = done + 1

    def check(self) -> float:
        """Return half of the sum of both players' gains from best responses to the averages.

        A player whose strategy is fixed in the trunk responds in the parts only.
        """
        first = second = self.form.payoff_scale  # the bounds of any strategies
        if not self.failure:
            first, second = (
                self.trunk.value(player, player != self._fixed, self._values(player, best=True)) for player in (0, 1)
            )
        self.best_responses = first, second
        return max(0.0, (first + second) / 2.0)

    def evaluate(self, player: int, best: bool) -> float:
        """Return a player's payoff if both play the averages, or that of its best response to them."""
        return self.trunk.value(player, best, self._values(player, best))

    def _values(self, player: int, best: bool) -> Floats:
        """Return a player's values at the exits if both play the averages in the parts, or of its best response."""
        return self._called("evaluate", player, best, self.trunk.descend_to_evaluate(player))

    @contextmanager
    def _surviving(self) -> Iterator[None]:
        """End the run with its averages if no worker is left, a part fails on all workers, or memory runs out.

        Raises
        ------
        KeyboardInterrupt
            As if the user had ended the run; :attr:`failure` is the reason.
        """
        try:
            yield
        except (SolverError, MemoryError) as error:
            self.failure = str(error) or type(error).__name__
            raise KeyboardInterrupt from error

    def _called(self, name: str, *arguments: Any) -> Floats:
        """Return the sum of the parts' values, in the order of the parts."""
        with self._surviving():
            found = self.pool.call(name, [arguments] * len(self.form.parts))
        total: Floats = np.zeros_like(found[0])
        for one in found:
            total += one
        return total

    def saved(self) -> Saved:
        """Return the state of the trunk and of all parts, or the names of the files in which the parts are."""
        with self._surviving():
            trunk, parts = self.trunk.saved(), self.pool.saved()
        named = {f"trunk {name}": array for name, array in trunk.items()}
        return {"due": [self.next_check], **named, **{f"part {name}": array for name, array in parts.items()}}

    def restore(self, saved: Saved) -> None:
        """Restore the state."""
        trunk, parts = (
            {name.removeprefix(prefix): array for name, array in saved.items() if name.startswith(prefix)}
            for prefix in ("trunk ", "part ")
        )
        self.trunk.restore(trunk)
        self.pool.restore(parts)
        (self.next_check,) = (int(each) for each in saved["due"])

    def answer(self) -> dict[str, Any]:
        """Return the averages before the cuts, and their proof in double precision, as fields of an outcome.

        If a part failed, or its worker computes wrong numbers, only the largest payoff bounds what players can gain.
        """
        layout, paid = self.trunk.kernel.layout, np.nan
        values: list[dict[int, Floats]] | None = None
        with suppress(KeyboardInterrupt), self._surviving():  # the bounds are known already
            if not self.failure:
                paid, values = self._paid()
        failed: dict[str, Any] = {}
        if self.failure:
            self.check()
            kept = f"the strategies before the cuts are those of {self.iterations:,} iterations, but nothing is proven"
            failed = {"stopped": Status.UNCERTIFIED, "detail": f"{self.failure}; {kept}"}
        profile = _TrunkProfile(
            self.form,
            lambda node: layout.sums(self.trunk.state.sums, node),
            None if values is None else values.__getitem__,
        )
        proof = StrategiesOnDemand(self.problem.game, profile), by_best_responses(self.best_responses, paid)
        return {"proof": proof, **failed}

    def _paid(self) -> tuple[float, list[dict[int, Floats]]]:
        """Return player 0's payoff if both play the averages, and each player's values by node of the trunk.

        Raises
        ------
        SolverError
            If the payoffs of a part do not sum to zero, because its worker computes wrong numbers.
        """
        parts, payoffs, values = self.form.parts, [], []
        sums = np.zeros(len(parts))
        for player in (0, 1):
            own = self.trunk.descend_to_evaluate(1 - player)
            found = self.pool.call("evaluate", [(player, False, self.trunk.descend_to_evaluate(player))] * len(parts))
            sums += [float((own * one).sum()) for one in found]
            payoffs.append(self.trunk.value(player, False, sum(found[1:], found[0])))
            values.append(self.trunk.kernel.layout.values(self.trunk.kernel.doubles[2][0].top, player))
        wrong = int(np.abs(sums).argmax())
        if abs(sums[wrong]) > _ROUND_OFF * self.form.payoff_scale:
            raise SolverError(
                f"{parts[wrong].name}: the players' payoffs sum to {sums[wrong]:.3g}, expected 0; the worker that has "
                "this part computes wrong numbers"
            )
        return payoffs[0], values


class _TrunkProfile(PublicProfile):
    """The averages before the cuts, with the values that the parts returned."""

    def _found(self, player: int) -> Mapping[int, Floats]:
        if self._first_values is None:
            return super()._found(player)
        return self._first_values(player)


@dataclass(frozen=True, eq=False)
class CutState(RunState):
    """What is kept of a run on a cut game: it is continued from a checkpoint only."""

    method: RegretMethod


def _taken(form: CutForm, size: int) -> int:
    """Return the bytes that all parts take, with this many bytes for each regret and average together."""
    kept = sum(size * part.num_numbers + part.table_bytes for part in form.parts)
    return kept + max(part.building_bytes for part in form.parts)


def run(
    method: RegretMethod,
    problem: Problem,
    options: Options,
    number: Any,
    fixed: tuple[int, PublicProfile] | None = None,
) -> Outcome:
    """Build the parts, and iterate until the certificate meets the tolerance or a limit is reached.

    If a player's strategy is fixed in the trunk, the certificate bounds the value of the game in which it is.
    """
    begun = counted_now()
    with playing(method, problem, options, number, fixed) as loop:
        build_seconds = counted_now() - begun
        return iterate(loop, options).outcome(build_seconds, state=CutState(method), **loop.answer())


@contextmanager
def playing(
    method: RegretMethod,
    problem: Problem,
    options: Options,
    number: Any,
    fixed: tuple[int, PublicProfile] | None = None,
) -> Iterator[CutStepper]:
    """Build the parts where they are wanted, yield the loop at its start, and close the parts at the end."""
    form = problem.game.public_form
    assert isinstance(form, CutForm)
    if method.precision == "auto" and number is np.float32 and Budget().left(_taken(form, 8)) < 0:
        number = np.uint16
    if options.on is None:
        shorter = "" if number is np.uint16 else "solve in 16 bits (precision=half), "
        taken = _taken(form, 2 * np.dtype(number).itemsize)
        Budget().require(taken, "all parts with their regrets and averages", f"{shorter}use more machines (on), ")
    rule = method.local_rule
    makers: list[Callable[[], PlayedPart]] = [
        partial(PlayedPart, part, len(form.exits), number, rule, bool(rule.prediction)) for part in form.parts
    ]
    names, costs = zip(*((part.name, float(part.num_numbers)) for part in form.parts), strict=True)
    folder = None if options.checkpoint is None else options.checkpoint.folder()
    with WorkerPool.open(makers, options.on or "local:1", names=names, costs=costs, folder=folder) as pool:
        yield CutStepper(method, problem, number, pool, fixed)
