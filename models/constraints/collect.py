"""Puts the constraints that a user gives into one checked list."""

from collections.abc import Iterable, Mapping
from typing import Any

from ...seqform.errors import InvalidConstraintError, shown
from ...seqform.game import Game
from .constraint import Constraint, ConvexConstraint, DistanceConstraint
from .from_cvxpy import read_cvxpy
from .linear import LinearConstraint, check_name

_OWN = (LinearConstraint, ConvexConstraint, DistanceConstraint)


def collect_constraints(given: Any, game: Game) -> tuple[Constraint, ...]:
    """Return constraints of this library and of cvxpy as one list, checked against the game, with distinct names.

    Parameters
    ----------
    given : iterable, or mapping of str to constraint
        In a mapping, the names of constraints that are written in cvxpy.
    game : Game

    Returns
    -------
    tuple of Constraint

    Raises
    ------
    InvalidConstraintError
        If one cannot be read, is of another game or player, or two have the same name.
    """
    _check_no_text(given)
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, Iterable) and not isinstance(given, bytes):
        pairs = [(None, entry) for entry in given]
    else:
        raise InvalidConstraintError(
            f"the constraints are {shown(given)}, expected a list of constraints or a mapping of names to them"
        )
    collected: list[Constraint] = []
    for name, entry in pairs:
        if name is not None:
            check_name(name)
        _check_no_text(entry)
        collected += [entry] if isinstance(entry, _OWN) else read_cvxpy(entry, game, name)
    seen: set[str] = set()
    for constraint in collected:
        _check_game(constraint, game)
        if constraint.name in seen:
            raise InvalidConstraintError(f"two constraints are called {shown(constraint.name)}: names must be distinct")
        seen.add(constraint.name)
    return tuple(collected)


def _check_no_text(given: Any) -> None:
    if isinstance(given, str):
        raise InvalidConstraintError(
            f"{shown(given)} is text, expected a constraint; parse_constraint(text, game) makes a list of them from it"
        )


def _check_game(constraint: Constraint, game: Game) -> None:
    if constraint.player not in range(game.num_players) or isinstance(constraint.player, bool):
        raise InvalidConstraintError(
            f"constraint {shown(constraint.name)} is on player {shown(constraint.player)}, expected 0 to "
            f"{game.num_players - 1}"
        )
    if constraint.fingerprint not in (None, game.fingerprint):
        raise InvalidConstraintError(
            f"constraint {shown(constraint.name)} is of another game than {game.spec}: its fingerprint is "
            f"{constraint.fingerprint}, expected {game.fingerprint}"
        )
    if isinstance(constraint, LinearConstraint) and len(constraint.indices):
        size = game.sequence_form.treeplexes[constraint.player].num_sequences
        last = int(constraint.indices[-1])
        if last >= size:
            raise InvalidConstraintError(
                f"constraint {shown(constraint.name)} has a term of sequence {last}, expected one from 0 to {size - 1}"
            )
    if isinstance(constraint, ConvexConstraint) and constraint.plan is not game.plan(constraint.player):
        raise InvalidConstraintError(
            f"constraint {shown(constraint.name)} is on the plan of another game than {game.spec}"
        )
