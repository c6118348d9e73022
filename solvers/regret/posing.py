"""How a problem becomes the compiled loop's inputs: the one place of the loop that knows problems."""

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

#: Single precision is chosen for tolerances of this much of the largest payoff or more, and for games of so many
#: sequences or more: in smaller ones all numbers are in the first-level cache anyway.
SINGLE_TOLERANCE = 1e-5
SINGLE_SEQUENCES = 2_000


@dataclass(frozen=True, eq=False)
class PosedProblem:
    """A problem as the compiled loop takes it.

    Attributes
    ----------
    original : Problem
    options : Options
        With the tolerances of the error, payoff units, and of constraints, in their own units.
    kernel : Kernel
    saddle : Saddle, optional
        The canonical program, for two players.
    rows : KernelConstraints, optional
        The constraints in the kernel's layout.
    tilt : ndarray of float64, shape (layout.size,), optional
        What is added to the gradients.
    scales : ndarray of float64, shape (num_players,), optional
        What the gradients are multiplied by, before the tilt.
    floor : FloorGame, optional
        How the other player calls the floor, where there is one; the tilt is then per unit of its stake.
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
        """The game, without a decision about a floor."""
        return self.original.game

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints whose multipliers the loop learns."""
        return () if self.rows is None or self.saddle is None else self.saddle.constraints

    def error(self, certificate: Certificate) -> float:
        """Return what the tolerance is held against."""
        return loop_error(self.original, certificate, self.options)

    @property
    def is_certified_within(self) -> bool:
        """Whether the loop's own certificate is of the problem: it knows constraints, and neither tilts nor scales.

        It is half of what best responses gain, and not the more of the two.
        """
        changed = self.saddle is not None and self.saddle.view.replies is not None
        most = Feature.GENERAL_SUM in self.original.needs
        return self.tilt is None and self.scales is None and not (changed or most)

    @property
    def is_curved(self) -> bool:
        """Whether a constraint is not linear."""
        return self.rows is not None and bool(self.rows.curves.rows)

    @cached_property
    def identity(self) -> tuple[Any, ...]:
        """Equal where multipliers and regrets are of the same problem: then a run can go on where another stopped."""
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
        """Return the price of the floor as a multiplier, if there is one; only then is the vector asked for."""
        if self.floor is None:
            return {}
        return {SAFETY: self.floor.price(self._chosen(vector())[1 - self.floor.saddle.view.player], stake)}

    def reply(self, vector: Callable[[], Floats]) -> dict[str, Floats]:
        """Return the plan of replies that stand for the other player's plans, if any, as a dual certificate."""
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
        """Return a state that plays a profile and is biased towards it."""
        layout = self.kernel.layout
        vector = np.zeros(layout.size)
        for strategy in profile:
            layout.from_user(strategy.player, self._behaviour(strategy), out=vector)
        return start_from(self.kernel, vector, constraints=self.rows, preferences=self.preferences)

    def _behaviour(self, strategy: Strategy) -> Floats:
        """Return a strategy as a behaviour in the game that is solved."""
        if self.saddle is None or strategy.player == self.saddle.view.player:
            return strategy.behaviour
        replies = self.saddle.view.replies
        if replies is not None:
            return replies.treeplex.behaviour(replies.preimage(strategy.plan))
        return strategy.behaviour if self.floor is None else self.floor.behaviour(strategy.behaviour)


def posed(method: RegretMethod, problem: Problem, options: Options) -> PosedProblem:
    """Return a problem as the compiled loop takes it, in the precision that a method asks for.

    Raises
    ------
    UnsupportedProblemError
        If two things bound the multipliers, or cvxpy has no gradient of a constraint.
    """
    game = problem.game
    rows = tilt = scales = None
    tolerance = options.tol
    saddle = problem.canonical if isinstance(problem, SaddleProblem) and Feature.PROGRAM in problem.needs else None
    constraints = () if saddle is None else saddle.constraints
    if saddle is not None and saddle.has_rows:
        penalty = (saddle.own or saddle.other_rows).penalty
        if saddle.tilt is not None or saddle.floor is not None:
            raise UnsupportedProblemError(f"{method.name} takes constraints with neither a tilt nor a floor: use highs")
        if method.first_bound is not None and penalty is not None:
            raise UnsupportedProblemError(
                f"{method.name} got beta={method.first_bound!r} for a problem with penalty {shown(penalty)}, "
                "which bounds the multipliers itself: leave out one of the two"
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
        # The gradient is c, which stays, and ω times that of the game.
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
    """Return what a method is biased to, laid out for the compiled loop; nothing for methods without preferences."""
    bias = method.bias
    return None if bias is None else kernel_preferences(game, bias.on(game), kernel.layout, on_one=bias.greedy)


def kernel_for(method: RegretMethod, form: SequenceForm, tol: float, curved: bool = False) -> Kernel:
    """Return the compiled loop in the precision that a method asks for; double for constraints that are not linear."""
    single = method.precision == "single" and not curved
    if method.precision == "auto" and tol > 0.0 and not curved:
        num_sequences = sum(treeplex.num_sequences for treeplex in form.treeplexes)
        if num_sequences >= SINGLE_SEQUENCES:
            single = tol >= SINGLE_TOLERANCE * kernel_of(form, np.float32).layout.unit
    return kernel_of(form, np.float32 if single else np.float64)


def _finest(constraints: Sequence[Constraint], penalty: float | None, game: Game, options: Options) -> float:
    """Return the tolerance that the precision is chosen by: that of violations, as payoffs, where it takes more digits.

    Violations are in units of their constraints. Where payoffs are small, or a penalty is large, a tolerance may be one
    of violations that single precision does not reach.
    """
    linear = [one for one in constraints if isinstance(one, LinearConstraint)]
    largest = max((float(np.abs(one.coefficients).max(initial=0.0)) for one in linear), default=0.0)
    # Payoffs that a unit of violation counts as.
    worth = options.tol / (options.violation or 1.0) if penalty is None else penalty
    return options.tol / max(1.0, worth * largest / game.sequence_form.payoff_scale)
