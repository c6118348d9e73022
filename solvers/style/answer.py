"""Targets for what a player does, and what becomes of them: whether they can be had, at what price, a strategy."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...models.constraints import LinearConstraint, collect_constraints, parse_constraint
from ...seqform.arrays import Floats
from ...seqform.display import Drawn
from ...seqform.errors import InvalidConstraintError, shown
from ...seqform.functional import Functional
from ...seqform.game import Game
from ...seqform.interchange.pictures import Figure
from ...seqform.labels import listed
from ...seqform.rationals import fraction_text, to_fraction
from ...seqform.strategy import Profile, Strategy
from ..outcome import Status
from ..parametric.trade_off import TradeOff, trade_off
from ..solution import Solution


@dataclass(frozen=True, eq=False)
class TargetOutcome:
    """The result for one target.

    Attributes
    ----------
    name : str
    sense : {"<=", ">="}
    asked : float
        The bound.
    reached : float or None
        What the strategy has; ``None`` for the probability of an action at an infoset that it does not come to.
    missed_by : float
        By how much the bound is missed, 0 where it is met. Of a probability at an infoset to which plans come
        differently, times the reach of the infoset.
    low, high : float or None
        The least and the greatest that can be had within the loss if this is the only target; ``None`` for such a
        probability, which is not a linear functional, and where no linear program was solved.
    price : float
        What a unit more of the target costs at the least loss for all targets together: payoff per unit of the bound.
        NaN where no linear program was solved.
    functional : Functional or None
        What is bounded, where it is linear in the plan.
    """

    name: str
    sense: str
    asked: float
    reached: float | None
    missed_by: float
    low: float | None
    high: float | None
    price: float
    functional: Functional | None = field(repr=False)

    @property
    def is_within_reach(self) -> bool | None:
        """Whether the target alone can be had within the loss, as far as floats tell; ``None`` if that is not known."""
        if self.low is None or self.high is None:
            return None
        slack = 1e-9 * max(1.0, abs(self.asked))
        return self.high >= self.asked - slack if self.sense == ">=" else self.low <= self.asked + slack

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as ``treeplex style`` writes it."""
        return {
            "target": self.name,
            "sense": self.sense,
            "asked": self.asked,
            "reached": self.reached,
            "missed_by": self.missed_by,
            "low": self.low,
            "high": self.high,
        }


@dataclass(frozen=True, eq=False)
class StyleAnswer(Drawn):
    """Whether targets can be met within a loss, what that costs at least, and a strategy.

    Attributes
    ----------
    game : Game
    player : int
    targets : tuple of TargetOutcome
    max_loss : float
        What the strategy may lose in expectation to anyone, compared with the value of the game.
    status : Status
        ``optimal`` if the targets can be met within the loss, ``infeasible`` if they cannot, both proven;
        ``uncertified`` if the bounds leave it open.
    message : str
        The same in one line.
    game_value : float
        To the player.
    least_loss : float or None
        The least loss at which all targets hold together; ``None`` if they exclude each other.
    least_loss_lower, least_loss_upper : float or None
        Proven bounds on it.
    least_loss_exact : Fraction or None
        The same in fractions, by the method ``rational``.
    conflict : tuple of str
        Names of targets that exclude each other, whatever the loss, though they do not if one of them is left out.
    least_violation : float
        Where the targets cannot be met within the loss: the least sum of what they are missed by, in units of
        :attr:`units`. 0 where they can.
    units : tuple of float
        What misses of each target are divided by.
    profile : Profile
        The player's strategy, and a strategy of the other player that belongs to the proof.
    loss : float
        What the strategy loses at most: the value of the game minus its worst case.
    solutions : mapping of str to Solution
        What was solved: ``value``, ``targets``, and ``nearest`` where the targets cannot be met.
    """

    game: Game
    player: int
    targets: tuple[TargetOutcome, ...]
    max_loss: float
    status: Status
    message: str
    game_value: float
    least_loss: float | None
    least_loss_lower: float | None
    least_loss_upper: float | None
    least_loss_exact: Fraction | None
    conflict: tuple[str, ...]
    least_violation: float
    units: tuple[float, ...]
    profile: Profile
    loss: float
    solutions: Mapping[str, Solution] = field(repr=False)

    @property
    def is_feasible(self) -> bool:
        """Whether the targets can be met within the loss."""
        return self.status is Status.OPTIMAL

    @property
    def strategy(self) -> Strategy:
        """The player's strategy: the one that loses least of those that meet the targets, else the nearest."""
        return self.profile[self.player]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as ``treeplex style`` writes it."""
        exact = self.least_loss_exact
        worst = self.game_value - self.loss
        return {
            "player": self.player,
            "max_loss": self.max_loss,
            "status": str(self.status),
            "message": self.message,
            "feasible": None if self.status is Status.UNCERTIFIED else self.is_feasible,
            "least_loss": self.least_loss,
            "least_loss_lower": self.least_loss_lower,
            "least_loss_upper": self.least_loss_upper,
            "least_loss_exact": None if exact is None else fraction_text(exact),
            "exploitability": self.loss,
            "value": worst if self.player == 0 else self.solutions["value"].problem.game.constant - worst,
            "game_value": self.game_value,
            "targets": [target.to_dict() for target in self.targets],
            "violation": max(target.missed_by for target in self.targets),
            "violations": {target.name: target.missed_by for target in self.targets},
            "multipliers": {} if self.least_loss is None else {target.name: target.price for target in self.targets},
            "least_violation": None if self.is_feasible else self.least_violation,
            "conflict": list(self.conflict) or None,
            "iterations": sum(solution.iterations for solution in self.solutions.values()),
        }

    def trade_off(self, *, accuracy: float = 0.0) -> TradeOff:
        """Return what every value of the only target's functional costs; see :func:`~treeplex.trade_off`.

        Raises
        ------
        InvalidConstraintError
            If there are several targets, or it is not a linear functional of the plan.
        """
        return trade_off(self.game, curve_functional(self.targets), game_value=self.game_value, accuracy=accuracy)

    def figure(self, curve: TradeOff | None = None) -> "Figure":
        """Draw the trade-off of the only target, with what was asked and the strategy.

        Parameters
        ----------
        curve : TradeOff, optional
            As :meth:`trade_off` returns it; found if it is not given.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InvalidConstraintError
            As :meth:`trade_off`.
        MissingExtraError
            If matplotlib is not installed.
        """
        target = self.targets[0]
        reached = None if target.reached is None else (target.reached, self.loss)
        return (curve or self.trade_off()).figure(target.name, target.asked, self.max_loss, reached)


@dataclass(frozen=True, eq=False)
class Target:
    """A bound on what a player does.

    Attributes
    ----------
    constraint : LinearConstraint
    functional : Functional or None
        What is bounded; ``None`` for the probability of an action at an infoset to which plans come differently, where
        the bound stands in the coefficients: the constraint compares Σ x(I, a) − c · (what comes to I) with 0, with I
        the infoset of its last sequence.
    """

    constraint: LinearConstraint
    functional: Functional | None

    @property
    def name(self) -> str:
        """Of the constraint."""
        return self.constraint.name

    @property
    def player(self) -> int:
        """Whose plan it is about."""
        return self.constraint.player

    def missed_by(self, plan: Any) -> Any:
        """Return by how much a plan misses the bound, 0 where it meets it; in floats or in fractions."""
        return max(0 * plan[0], self.constraint.value(plan))

    def excess(self, plan: Floats) -> float:
        """Return by how much a plan exceeds the bound; negative where it misses that."""
        return -float(self.constraint.value(plan))

    def outcome(
        self, strategy: Strategy, extremes: tuple[float, float] | None = None, price: float = math.nan
    ) -> TargetOutcome:
        """Return what becomes of the target with a strategy.

        Parameters
        ----------
        strategy : Strategy
        extremes : tuple of float, optional
            The least and the greatest that can be had.
        price : float
        """
        if self.functional is None:
            asked, reached = self._probability(strategy)
        else:
            asked, reached = float(self.constraint.bound), self.functional.value(strategy)
        return TargetOutcome(
            name=self.name,
            sense=self.constraint.sense,
            asked=asked,
            reached=reached,
            missed_by=float(self.missed_by(strategy.plan)),
            low=None if extremes is None else extremes[0],
            high=None if extremes is None else extremes[1],
            price=price,
            functional=self.functional,
        )

    def _probability(self, strategy: Strategy) -> tuple[float, float | None]:
        """Return the bound on the probability, and that; ``None`` where the plan does not come there."""
        constraint, treeplex = self.constraint, strategy.treeplex
        infoset = int(treeplex.sequence_infosets[constraint.indices[-1]])
        start = int(treeplex.inflow.indptr[infoset])
        source, weight = int(treeplex.inflow.indices[start]), float(treeplex.inflow.data[start])
        asked = -float(constraint.terms.get(source, 0)) / weight
        here = slice(*treeplex.offsets[infoset : infoset + 2].tolist())
        reach = float(strategy.plan[here].sum())
        sign = 1.0 if constraint.sense == "<=" else -1.0
        return asked, asked + sign * constraint.value(strategy.plan) / reach if reach > 0.0 else None


def read_targets(given: Any, game: Game, player: int, others: Profile | Strategy | None) -> tuple[Target, ...]:
    """Return targets of one player.

    Parameters
    ----------
    given : str, LinearConstraint, or several of them
    game : Game
    player : int
        Whose actions are counted where a text names no seat.
    others : Profile, Strategy or None
        How the others play where actions are counted.

    Returns
    -------
    tuple of Target
        With one object for equal functionals.

    Raises
    ------
    InvalidConstraintError
        If a target cannot be read, is not linear, or is about the other player than another one.
    """
    entries = [given] if isinstance(given, str | LinearConstraint) else given
    if not isinstance(entries, Iterable):
        raise InvalidConstraintError(
            f'the targets are {shown(given)}, expected texts such as "raise@first >= 0.6" or linear constraints'
        )
    read: list[Any] = []
    for entry in listed(entries, "the targets are", InvalidConstraintError):
        read += parse_constraint(entry, game, player=player, others=others) if isinstance(entry, str) else [entry]
    if not read:
        raise InvalidConstraintError('there is no target: expected at least one, such as "raise@first >= 0.6"')
    known: dict[bytes, Functional] = {}
    targets: list[Target] = []
    for one in collect_constraints(read, game):
        if not isinstance(one, LinearConstraint):
            raise InvalidConstraintError(
                f"target {shown(one.name)} is not linear: expected bounds on linear functionals"
            )
        if targets and one.player != targets[0].player:
            raise InvalidConstraintError(
                f"target {shown(one.name)} is about player {one.player}, and {shown(targets[0].name)} about player "
                f"{targets[0].player}: expected targets of one player"
            )
        functional = None if one.fixed else _functional(one, game)
        if functional is not None:
            functional = known.setdefault(functional.coefficients.tobytes(), functional)
        targets.append(Target(one, functional))
    return tuple(targets)


def curve_functional(targets: "Sequence[Target | TargetOutcome]") -> Functional:
    """Return the functional that a trade-off curve of targets is about.

    Parameters
    ----------
    targets : sequence of Target or of TargetOutcome

    Raises
    ------
    InvalidConstraintError
        If they bound several functionals, or none that is linear in the plan.
    """
    first, *others = [target.functional for target in targets]
    if any(other is not first for other in others):
        raise InvalidConstraintError(
            f"there are {len(targets)} targets: a trade-off curve has one functional, trade_off(game, …)"
        )
    if first is None:
        raise InvalidConstraintError(
            f"{shown(targets[0].name)} is a probability at an infoset whose reach depends on the plan, so it has no "
            "trade-off curve; expected a realization, plan(…), or ACTION@INFOSET"
        )
    return first


def _functional(constraint: LinearConstraint, game: Game) -> Functional:
    """Return what a constraint bounds, called what the text says before the comparison."""
    coefficients = np.zeros(game.sequence_form.treeplexes[constraint.player].num_sequences)
    for sequence, number in constraint.terms.items():
        coefficients[sequence] = float(number)
    name, sense = constraint.name, constraint.sense
    title = name.partition(sense)[0].strip() if sense in name else name
    return Functional(constraint.player, coefficients, title, fingerprint=constraint.fingerprint)


def loosened(constraint: LinearConstraint, plan: Any) -> LinearConstraint:
    """Return a constraint that a plan meets: a bound that it misses is moved to where the plan is, and no further.

    Parameters
    ----------
    constraint : LinearConstraint
    plan : ndarray of float64 or of Fraction, shape (num_sequences,)
    """
    miss = constraint.value(plan)
    if miss <= 0:
        return constraint
    sign = 1 if constraint.sense == "<=" else -1
    return replace(constraint, bound=to_fraction(constraint.bound) + sign * to_fraction(miss), fixed=False)


def divided(constraint: LinearConstraint, unit: float) -> LinearConstraint:
    """Return the same constraint with violations in another unit.

    Parameters
    ----------
    constraint : LinearConstraint
    unit : float
        Above 0.
    """
    exact = to_fraction(unit)
    terms = {sequence: to_fraction(number) / exact for sequence, number in constraint.terms.items()}
    return replace(constraint, terms=terms, bound=to_fraction(constraint.bound) / exact)
