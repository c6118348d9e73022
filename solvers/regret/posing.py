"""Conversion of a problem to the compiled loop's inputs; the other modules of the loop do not know problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...models.constraints import Constraint, LinearConstraint
from ...models.problems import Certificate, Feature, Problem, SaddleProblem
from ...models.saddle import REPLY, SAFETY, Saddle
from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.sequence_form import SequenceForm
from ...seqform.strategy import Profile, Strategy
from ..certification import loop_error
from ..methods import RegretMethod
from ..outcome import Options
from .arrays import PreferenceArrays
from .constraints import KernelConstraints
from .floor_game import FloorGame
from .kernel import Kernel, KernelState, kernel_of
from .preferences import kernel_preferences
from .warm_start import start_from

#: ``auto`` chooses single precision for tolerances of at least this fraction of the largest payoff, in games with at
#: least this number of sequences: smaller games fit in the first-level cache anyway.
SINGLE_TOLERANCE = 1e-5
SINGLE_SEQUENCES = 2_000


@dataclass(frozen=True, eq=False)
class PosedProblem:
    """A problem in the form of the compiled loop.

    Attributes
    ----------
    original : Problem
    options : Options
        Including the tolerances of the error, in payoff units, and of constraints, in their own units.
    kernel : Kernel
    saddle : Saddle, optional
        The canonical program, for two players.
    rows : KernelConstraints, optional
        The constraints in the kernel's layout.
    tilt : ndarray of float64, shape (layout.size,), optional
        Added to the gradients.
    scales : ndarray of float64, shape (num_players,), optional
        Factors of the gradients, applied before the tilt.
    floor : FloorGame, optional
        The game with a floor, if there is one; the tilt is then divided by its stake.
    preferences : PreferenceArrays, optional
    """

    original: Problem
    options: Options
    kernel: Kernel
    saddle: Saddle | None = None
    rows: KernelConstraints | None = None
    tilt: Floats | None = None
    scales: Floats | None = None
    floor: FloorGame | None = None
    preferences: PreferenceArrays | None = None

    @property
    def game(self) -> Game:
        """The original game, without the decision to call a floor."""
        return self.original.game

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints whose multipliers the loop learns."""
        return () if self.rows is None or self.saddle is None else self.saddle.constraints

    def error(self, certificate: Certificate) -> float:
        """Return the error that is compared with the tolerance."""
        return loop_error(self.original, certificate, self.options)

    @property
    def is_certified_within(self) -> bool:
        """Whether the loop's own certificate is that of the problem: it covers constraints, but not tilts and scales.

        It is half of the sum of the gains from best responses, not the larger of the two.
        """
        changed = self.saddle is not None and self.saddle.view.replies is not None
        most = Feature.GENERAL_SUM in self.original.needs
        return self.tilt is None and self.scales is None and not (changed or most)

    @cached_property
    def identity(self) -> tuple[Any, ...]:
        """A key that is equal for runs on the same problem, which can then resume each other."""
        changes = (None if each is None else each.tobytes() for each in (self.tilt, self.scales))
        return (None if self.rows is None else self.rows.identity, *changes)

    def plans(self, vector: Floats) -> list[Floats]:
        """Return the players' realization plans from a kernel vector."""
        plans = self._chosen(vector)
        if self.saddle is None:
            return plans
        player = self.saddle.view.player
        other = plans[1 - player]
        return list(self.saddle.seated(plans[player], other if self.floor is None else self.floor.reply(other)))

    def floor_price(self, vector: Callable[[], Floats], stake: float) -> dict[str, float]:
        """Return the price of the floor as a multiplier, if there is one; ``vector`` is called only in this case."""
        if self.floor is None:
            return {}
        return {SAFETY: self.floor.price(self._chosen(vector())[1 - self.floor.saddle.view.player], stake)}

    def reply(self, vector: Callable[[], Floats]) -> dict[str, Floats]:
        """Return the other player's plan in the view's replies, if there are any, as a dual certificate."""
        if self.saddle is None or self.saddle.view.replies is None:
            return {}
        return {REPLY: self._chosen(vector())[1 - self.saddle.view.player]}

    def _chosen(self, vector: Floats) -> list[Floats]:
        layout = self.kernel.layout
        return [layout.to_user(player, vector) for player in range(layout.num_players)]

    def initial_state(self, regrets: Floats | None = None) -> KernelState:
        """Return the state before the first update."""
        return self.kernel.initial_state(self.rows, self.preferences, regrets)

    def start_from(self, profile: Profile) -> KernelState:
        """Return a state that plays a profile, with regrets biased towards it."""
        layout = self.kernel.layout
        vector = np.zeros(layout.size)
        for strategy in profile:
            layout.from_user(strategy.player, self._behaviour(strategy), out=vector)
        return start_from(self.kernel, vector, constraints=self.rows, preferences=self.preferences)

    def _behaviour(self, strategy: Strategy) -> Floats:
        """Return a strategy's behaviour in the game that is solved."""
        if self.saddle is None or strategy.player == self.saddle.view.player:
            return strategy.behaviour
        replies = self.saddle.view.replies
        if replies is not None:
            return replies.treeplex.behaviour(replies.preimage(strategy.plan))
        return strategy.behaviour if self.floor is None else self.floor.behaviour(strategy.behaviour)


def posed(method: RegretMethod, problem: Problem, options: Options) -> PosedProblem:
    """Return a problem in the form of the compiled loop, in the method's precision.

    Raises
    ------
    UnsupportedProblemError
        If both the method and a penalty bound the multipliers, or cvxpy has no gradient of a constraint.
    """
    game = problem.game
    rows = tilt = scales = None
    tolerance = options.tol
    saddle = problem.canonical if isinstance(problem, SaddleProblem) and Feature.PROGRAM in problem.needs else None
    constraints = () if saddle is None else saddle.constraints
    if saddle is not None and saddle.has_rows:
        penalty = (saddle.own or saddle.other_rows).penalty
        if saddle.tilt is not None or saddle.floor is not None:
            raise UnsupportedProblemError(
                f"{method.name} does not support constraints with a tilt or floor: use highs or cvxpy"
            )
        if method.first_bound is not None and penalty is not None:
            raise UnsupportedProblemError(
                f"{method.name} got beta={method.first_bound!r} for a problem with penalty {shown(penalty)}, "
                "which bounds the multipliers itself: omit one of the two"
            )
        tolerance = _finest(constraints, penalty, game, options)
    curved = not all(isinstance(one, LinearConstraint) for one in constraints)
    floor = None if saddle is None or saddle.floor is None else FloorGame.of(saddle)
    form = game.sequence_form if saddle is None else saddle.view.form if floor is None else floor.form
    kernel = kernel_for(method, form, tolerance, curved)
    if saddle is not None and saddle.has_rows:
        weight = options.tol / options.violation if options.violation > 0.0 else 1.0
        rows = KernelConstraints.of(saddle, kernel.layout, weight)
    if saddle is not None and saddle.tilt is not None:
        # The gradient is the constant c plus ω times the game's gradient.
        tilt = kernel.layout.from_user(saddle.view.player, saddle.tilt)
        if floor is None:
            scales = np.ones(2)
            scales[saddle.view.player] = saddle.weight
    return PosedProblem(
        problem,
        options,
        kernel,
        saddle=saddle,
        rows=rows,
        tilt=tilt,
        scales=scales,
        floor=floor,
        preferences=preferences_of(method, game, kernel),
    )


def preferences_of(method: RegretMethod, game: Game, kernel: Kernel) -> PreferenceArrays | None:
    """Return a method's preferences in the layout of the compiled loop, or ``None`` if it has none."""
    bias = method.bias
    return None if bias is None else kernel_preferences(game, bias.on(game), kernel.layout, on_one=bias.greedy)


def kernel_for(method: RegretMethod, form: SequenceForm, tol: float, curved: bool = False) -> Kernel:
    """Return the compiled loop in the method's precision; double for constraints that are not linear."""
    single = method.precision == "single" and not curved
    if method.precision == "auto" and tol > 0.0 and not curved:
        num_sequences = sum(treeplex.num_sequences for treeplex in form.treeplexes)
        if num_sequences >= SINGLE_SEQUENCES:
            single = tol >= SINGLE_TOLERANCE * kernel_of(form, np.float32).layout.unit
    return kernel_of(form, np.float32 if single else np.float64)


def _finest(constraints: Sequence[Constraint], penalty: float | None, game: Game, options: Options) -> float:
    """Return the tolerance that decides the precision: the finer of the tolerances of payoffs and of violations.

    Violations are in units of their constraints. With small payoffs or a large penalty, a tolerance in payoffs may
    require violations that are too small for single precision.
    """
    linear = [one for one in constraints if isinstance(one, LinearConstraint)]
    largest = max((float(np.abs(one.coefficients).max(initial=0.0)) for one in linear), default=0.0)
    # The payoff equivalent of a unit of violation.
    worth = options.tol / (options.violation or 1.0) if penalty is None else penalty
    return options.tol / max(1.0, worth * largest / game.sequence_form.payoff_scale)
