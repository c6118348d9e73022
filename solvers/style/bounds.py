"""Targets as bounds on one player's plan: how they are read, measured, loosened and compared."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...models.constraints import LinearConstraint, collect_constraints, parse_constraint
from ...seqform.errors import InvalidConstraintError, shown
from ...seqform.functional import Functional
from ...seqform.game import Game
from ...seqform.rationals import to_fraction
from ...seqform.strategy import Profile, Strategy
from .answer import TargetOutcome


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
    for entry in entries:
        read += parse_constraint(entry, game, player=player, others=others) if isinstance(entry, str) else [entry]
    if not read:
        raise InvalidConstraintError('there is no target: expected one at least, such as "raise@first >= 0.6"')
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
                f"{targets[0].player}: expected one player's"
            )
        functional = None if one.fixed else _functional(one, game)
        if functional is not None:
            functional = known.setdefault(functional.coefficients.tobytes(), functional)
        targets.append(Target(one, functional))
    return tuple(targets)


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
