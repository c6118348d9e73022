"""Targets as bounds on one player's plan: how they are read, measured, loosened and compared."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...models.constraints import LinearConstraint, collect_constraints, parse_constraint
from ...seqform.errors import InvalidConstraintError, shown
from ...seqform.functional import Functional
from ...seqform.game import Game
from ...seqform.rationals import to_fraction
from ...seqform.strategy import Profile, Strategy


def read_targets(
    given: Any, game: Game, player: int, others: Profile | Strategy | None
) -> tuple[LinearConstraint, ...]:
    """Return targets as constraints of one player.

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
    tuple of LinearConstraint

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
    constraints = collect_constraints(read, game)
    for one in constraints:
        if not isinstance(one, LinearConstraint):
            raise InvalidConstraintError(
                f"target {shown(one.name)} is not linear: expected bounds on linear functionals"
            )
        if one.player != constraints[0].player:
            raise InvalidConstraintError(
                f"target {shown(one.name)} is about player {one.player}, and {shown(constraints[0].name)} about player "
                f"{constraints[0].player}: expected one player's"
            )
    return constraints  # type: ignore[return-value]


def target_functionals(constraints: Sequence[LinearConstraint], size: int) -> list[Functional | None]:
    """Return what constraints bound.

    Parameters
    ----------
    constraints : sequence of LinearConstraint
    size : int
        How many sequences the player has.

    Returns
    -------
    list of Functional or None
        One object for equal functionals; ``None`` where the bound stands in the coefficients.
    """
    known: dict[bytes, Functional] = {}
    found: list[Functional | None] = []
    for one in constraints:
        if one.fixed:
            found.append(None)
            continue
        coefficients = np.zeros(size)
        for sequence, number in one.terms.items():
            coefficients[sequence] = float(number)
        # What is bounded is called what the text says before the comparison.
        title = one.name.partition(one.sense)[0].strip() if one.sense in one.name else one.name
        functional = Functional(one.player, coefficients, title, fingerprint=one.fingerprint)
        found.append(known.setdefault(coefficients.tobytes(), functional))
    return found


def probability(constraint: LinearConstraint, strategy: Strategy) -> tuple[float, float | None]:
    """Return the bound on a probability at an infoset, and the probability; ``None`` where the plan is not there.

    Parameters
    ----------
    constraint : LinearConstraint
        With the bound in its coefficients.
    strategy : Strategy

    Notes
    -----
    The constraint compares Σ x(I, a) − c · (what comes to I) with 0, where I is the infoset of its last sequence.
    """
    treeplex = strategy.treeplex
    infoset = int(treeplex.sequence_infosets[constraint.indices[-1]])
    start = int(treeplex.inflow.indptr[infoset])
    source, weight = int(treeplex.inflow.indices[start]), float(treeplex.inflow.data[start])
    asked = -float(constraint.terms.get(source, 0)) / weight
    here = slice(*treeplex.offsets[infoset : infoset + 2].tolist())
    reach = float(strategy.plan[here].sum())
    sign = 1.0 if constraint.sense == "<=" else -1.0
    return asked, asked + sign * constraint.value(strategy.plan) / reach if reach > 0.0 else None


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
    return LinearConstraint(
        constraint.player,
        {sequence: to_fraction(number) / exact for sequence, number in constraint.terms.items()},
        to_fraction(constraint.bound) / exact,
        constraint.name,
        constraint.sense,
        fixed=constraint.fixed,
        fingerprint=constraint.fingerprint,
    )
