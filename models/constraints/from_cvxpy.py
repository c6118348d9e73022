"""Reads constraints that users write in cvxpy on ``game.plan(player)``."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...seqform.errors import InvalidConstraintError, one_line, shown
from ...seqform.game import Game
from .affine import affine_parts
from .constraint import Constraint, ConvexConstraint
from .lifted import lift
from .linear import LinearConstraint
from .polyhedral import PolyhedralConstraint

if TYPE_CHECKING:
    import cvxpy as cp


def read_cvxpy(constraint: Any, game: Game, name: str | None = None) -> list[Constraint]:
    """Return the constraints that a cvxpy constraint on one of ``game.plan(player)`` stands for.

    Parameters
    ----------
    constraint : cvxpy.Constraint
        ``<=``, ``>=`` or ``==`` between expressions; of one player's plan alone. Of vectors each entry is a constraint.
    game : Game
    name : str, optional
        By default what cvxpy prints.

    Returns
    -------
    list of Constraint
        An equality gives two, named ``… (at most)`` and ``… (at least)``; entries of vectors are numbered.

    Raises
    ------
    InvalidConstraintError
        If it is no such constraint, is on other variables, or is not convex by cvxpy's rules; cvxpy's reason is given.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.constraints.from_cvxpy import read_cvxpy
    >>> game = load_game("kuhn")
    >>> x = game.plan(0)
    >>> [constraint.name for constraint in read_cvxpy(x[2:4] <= 0.5, game, name="bets")]
    ['bets[0]', 'bets[1]']
    """
    from cvxpy.constraints.constraint import Constraint as CvxpyConstraint

    title = name or one_line(" ".join(str(constraint).split()), 80)
    if isinstance(constraint, bool | np.bool_) or not isinstance(constraint, CvxpyConstraint):
        raise InvalidConstraintError(
            f"{shown(constraint)} is no constraint: expected one in cvxpy on game.plan(player), such as "
            "game.plan(0)[2] <= 0.5"
        )
    player = _player_of(constraint, game, title)
    parts = _parts(constraint, title)
    if any(np.iscomplexobj(np.asarray(part.value)) or part.is_complex() for _, part in parts):
        raise InvalidConstraintError(f"constraint {shown(title)} is complex, expected real numbers")
    if not constraint.is_dcp():
        raise InvalidConstraintError(f"constraint {shown(title)} is not convex by cvxpy's rules: {_reason(constraint)}")
    read: list[Constraint] = []
    for suffix, expression in parts:
        names = [f"{title}[{place}]{suffix}" for place in range(expression.size)]
        names = [f"{title}{suffix}"] if len(names) == 1 else names
        if expression.is_affine():
            read += _linear(expression, game, player, names)
        else:
            read += _convex(expression, game, player, names)
    return read


def _player_of(constraint: "cp.Constraint", game: Game, title: str) -> int:
    for parameter in constraint.parameters():
        if parameter.value is None:
            raise InvalidConstraintError(
                f"constraint {shown(title)} holds the parameter {parameter}, which has no value"
            )
    plans = {game.plan(player).id: player for player in range(game.num_players)}
    players = set()
    for variable in constraint.variables():
        if variable.id not in plans:
            other = " of another game" if variable.name().startswith("plan_") else ""
            raise InvalidConstraintError(
                f"constraint {shown(title)} holds the variable {variable.name()}{other}, expected "
                f"{game.spec}'s game.plan(player) alone"
            )
        players.add(plans[variable.id])
    if not players:
        raise InvalidConstraintError(f"constraint {shown(title)} holds no plan: expected one on game.plan(player)")
    if len(players) > 1:
        raise InvalidConstraintError(
            f"constraint {shown(title)} is on both players' plans, expected one player's: together they are no longer "
            "a zero-sum game"
        )
    return players.pop()


def _parts(constraint: "cp.Constraint", title: str) -> "list[tuple[str, cp.Expression]]":
    """Return expressions that are to be at most 0, and what their names end with."""
    from cvxpy.constraints.nonpos import Inequality, NonNeg, NonPos
    from cvxpy.constraints.zero import Equality, Zero

    if isinstance(constraint, Inequality):
        return [("", constraint.args[0] - constraint.args[1])]
    if isinstance(constraint, NonPos):
        return [("", constraint.args[0])]
    if isinstance(constraint, NonNeg):
        return [("", -constraint.args[0])]
    if isinstance(constraint, Equality | Zero):
        first = constraint.args[0]
        both = first - constraint.args[1] if isinstance(constraint, Equality) else first
        return [(" (at most)", both), (" (at least)", -both)]
    raise InvalidConstraintError(
        f"constraint {shown(title)} is a {type(constraint).__name__}, expected <=, >= or == between expressions, such "
        "as cvxpy.norm(…) <= 0.5"
    )


def _entries(expression: "cp.Expression") -> "list[cp.Expression]":
    if expression.is_scalar():
        return [expression if expression.shape == () else expression.reshape((), order="F")]
    flat = expression.flatten(order="F")
    return [flat[place] for place in range(flat.size)]


def _linear(expression: "cp.Expression", game: Game, player: int, names: list[str]) -> "list[Constraint]":
    """Return the entries of an affine expression as linear constraints."""
    slopes, constants = affine_parts(expression, game.plan(player))
    read: list[Constraint] = []
    for entry, name in enumerate(names):
        part = slice(*slopes.indptr[entry : entry + 2].tolist())
        sequences, numbers = slopes.indices[part].tolist(), slopes.data[part].tolist()
        terms = {sequence: number for sequence, number in zip(sequences, numbers, strict=True) if number}
        read.append(LinearConstraint(player, terms, -float(constants[entry]), name))
    return read


def _convex(expression: "cp.Expression", game: Game, player: int, names: list[str]) -> "list[Constraint]":
    """Return the entries of a convex expression as constraints, piecewise linear ones with their rows."""
    import cvxpy as cp

    plan = game.plan(player)
    # Like linear ones, they hold for the values that parameters have now.
    for one in (*expression.constants(), *expression.parameters()):
        value = one.value.data if sp.issparse(one.value) else one.value
        if not np.isfinite(np.asarray(value, dtype=np.float64)).all():
            raise InvalidConstraintError(
                f"constraint {shown(names[0])} holds a number that is not finite: {one_line(str(one), 80)}"
            )
    constants = {id(one): cp.Constant(one.value) for one in expression.parameters()}
    expression = expression.tree_copy(constants) if constants else expression
    entries = list(zip(_entries(expression), names, strict=True))
    lifted = lift(expression, plan) if expression.is_pwl() else None
    if lifted is None:
        return [ConvexConstraint(player, plan, entry, name) for entry, name in entries]
    pairs = zip(entries, lifted, strict=True)
    return [PolyhedralConstraint(player, plan, entry, name, rows) for (entry, name), rows in pairs]


def _reason(constraint: "cp.Constraint") -> str:
    """Return cvxpy's own explanation, on one line."""
    import cvxpy as cp
    from cvxpy.utilities.debug_tools import build_non_disciplined_error_msg

    try:
        text = build_non_disciplined_error_msg(cp.Problem(cp.Minimize(0), [constraint]), "DCP")
    except Exception:  # whatever it finds hard to explain is still not convex
        text = "Problem does not follow DCP rules."
    return one_line(" ".join(text.replace("\n", " ").split()), 400)
