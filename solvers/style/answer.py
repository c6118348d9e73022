"""Targets for a player's actions, and their results: feasibility, price and a strategy."""

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
        The requested bound.
    reached : float or None
        The strategy's value; ``None`` for the probability of an action at an infoset that it does not reach.
    missed_by : float
        The violation of the bound, 0 if it is met. For a probability at an infoset whose reach depends on the plan,
        it is multiplied by the reach of the infoset.
    low, high : float or None
        The smallest and the largest value within the loss if this is the only target. ``None`` for such a
        probability, which is not a linear functional, and if no linear program was solved.
    price : float
        The cost per unit of the bound at the least loss for all targets together, in payoff units. NaN if no linear
        program was solved.
    functional : Functional or None
        The bounded functional, if it is linear in the plan.
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
        """Whether the target alone is feasible within the loss, in floats; ``None`` if that is not known."""
        if self.low is None or self.high is None:
            return None
        slack = 1e-9 * max(1.0, abs(self.asked))
        return self.high >= self.asked - slack if self.sense == ">=" else self.low <= self.asked + slack

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome in the JSON form of ``treeplex style``."""
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
    """Whether targets can be met within a loss, their least cost, and a strategy.

    Attributes
    ----------
    game : Game
    player : int
    targets : tuple of TargetOutcome
    max_loss : float
        The allowed expected loss of the strategy to any opponent, relative to the value of the game.
    status : Status
        ``optimal`` if the targets can be met within the loss, ``infeasible`` if they cannot, both proven;
        ``uncertified`` if the bounds do not decide it.
    message : str
        The result in one line.
    game_value : float
        The value of the game to the player.
    least_loss : float or None
        The least loss at which all targets can be met together; ``None`` if they exclude each other.
    least_loss_lower, least_loss_upper : float or None
        Proven bounds on the least loss.
    least_loss_exact : Fraction or None
        The least loss in fractions, by the method ``rational``.
    conflict : tuple of str
        The names of a minimal set of targets that exclude each other for any loss.
    least_violation : float
        The least sum of violations, in units of :attr:`units`, if the targets cannot be met within the loss;
        otherwise 0.
    units : tuple of float
        The numbers by which violations of each target are divided.
    profile : Profile
        The player's strategy, and a strategy of the other player that belongs to the proof.
    loss : float
        The largest loss of the strategy: the value of the game minus its worst case.
    solutions : mapping of str to Solution
        The solved problems: ``value``, ``targets``, and ``nearest`` if the targets cannot be met.
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
        """The player's strategy: the one with the least loss that meets the targets, or else the nearest."""
        return self.profile[self.player]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer in the JSON form of ``treeplex style``."""
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
        """Return the cost of every value of the single target's functional; see :func:`~treeplex.trade_off`.

        Raises
        ------
        InvalidConstraintError
            If there are several targets, or it is not a linear functional of the plan.
        """
        return trade_off(self.game, curve_functional(self.targets), game_value=self.game_value, accuracy=accuracy)

    def figure(self, curve: TradeOff | None = None) -> "Figure":
        """Draw the trade-off of the single target, with the request and the strategy.

        Parameters
        ----------
        curve : TradeOff, optional
            The result of :meth:`trade_off`; computed if it is not given.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InvalidConstraintError
            As for :meth:`trade_off`.
        MissingExtraError
            If matplotlib is not installed.
        """
        target = self.targets[0]
        reached = None if target.reached is None else (target.reached, self.loss)
        return (curve or self.trade_off()).figure(target.name, target.asked, self.max_loss, reached)


@dataclass(frozen=True, eq=False)
class Target:
    """A bound on a player's actions.

    Attributes
    ----------
    constraint : LinearConstraint
    functional : Functional or None
        The bounded functional. ``None`` for the probability of an action at an infoset whose reach depends on the
        plan. The bound is then in the coefficients: the constraint compares Σ x(I, a) − c · (the reach of I) with
        0, where I is the infoset of its last sequence.
    """

    constraint: LinearConstraint
    functional: Functional | None

    @property
    def name(self) -> str:
        """The name of the constraint."""
        return self.constraint.name

    @property
    def player(self) -> int:
        """The player whose plan is constrained."""
        return self.constraint.player

    def missed_by(self, plan: Any) -> Any:
        """Return the violation of the bound by a plan, 0 if the bound is met; in floats or in fractions."""
        return max(0 * plan[0], self.constraint.value(plan))

    def excess(self, plan: Floats) -> float:
        """Return the excess of a plan over the bound; negative if the bound is violated."""
        return -float(self.constraint.value(plan))

    def outcome(
        self, strategy: Strategy, extremes: tuple[float, float] | None = None, price: float = math.nan
    ) -> TargetOutcome:
        """Return the outcome of the target for a strategy.

        Parameters
        ----------
        strategy : Strategy
        extremes : tuple of float, optional
            The smallest and the largest possible value.
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
        """Return the bound on the probability, and the probability; ``None`` if the plan does not reach the infoset."""
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
        The player whose actions count if a string names no seat.
    others : Profile, Strategy or None
        The others' strategies for counting actions.

    Returns
    -------
    tuple of Target
        Equal functionals share one object.

    Raises
    ------
    InvalidConstraintError
        If a target cannot be parsed or is not linear, or targets concern different players.
    """
    entries = [given] if isinstance(given, str | LinearConstraint) else given
    if not isinstance(entries, Iterable):
        raise InvalidConstraintError(
            f'the targets are {shown(given)}, expected strings such as "raise@first >= 0.6" or linear constraints'
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
    """Return the functional that targets bound, for their trade-off curve.

    Parameters
    ----------
    targets : sequence of Target or of TargetOutcome

    Raises
    ------
    InvalidConstraintError
        If they bound several functionals, or a functional that is not linear in the plan.
    """
    first, *others = [target.functional for target in targets]
    if any(other is not first for other in others):
        raise InvalidConstraintError(
            f"the {len(targets)} targets bound several functionals, expected one: use trade_off(game, …) for each"
        )
    if first is None:
        raise InvalidConstraintError(
            f"{shown(targets[0].name)} is a probability at an infoset whose reach depends on the plan, so it has no "
            "trade-off curve; expected a realization, such as plan(…), or ACTION@INFOSET"
        )
    return first


def _functional(constraint: LinearConstraint, game: Game) -> Functional:
    """Return the functional that a constraint bounds, named by the string before the comparison."""
    coefficients = np.zeros(game.sequence_form.treeplexes[constraint.player].num_sequences)
    for sequence, number in constraint.terms.items():
        coefficients[sequence] = float(number)
    name, sense = constraint.name, constraint.sense
    title = name.partition(sense)[0].strip() if sense in name else name
    return Functional(constraint.player, coefficients, title, fingerprint=constraint.fingerprint)


def loosened(constraint: LinearConstraint, plan: Any) -> LinearConstraint:
    """Return a constraint that a plan meets: a violated bound is moved just far enough.

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
