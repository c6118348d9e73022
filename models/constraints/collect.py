"""Collection of the user's constraints, built with this library or in cvxpy, into one checked list."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...seqform.errors import InvalidConstraintError, one_line, shown
from ...seqform.game import Game
from ...seqform.labels import listed
from ..convex.from_cvxpy import read_functions
from .constraint import Constraint, LinearConstraint, Sense, check_name

if TYPE_CHECKING:
    import cvxpy as cp


def collect_constraints(given: Any, game: Game) -> tuple[Constraint, ...]:
    """Return constraints of this library and of cvxpy as one list, checked against the game, with distinct names.

    Parameters
    ----------
    given : iterable, or mapping of str to constraint
        In a mapping, the keys are the names of the cvxpy constraints.
    game : Game

    Returns
    -------
    tuple of Constraint

    Raises
    ------
    InvalidConstraintError
        If a constraint cannot be read or belongs to another game or player, or two have the same name.
    """
    _check_no_text(given)
    if isinstance(given, Constraint):
        given = [given]
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, Iterable) and not isinstance(given, bytes):
        pairs = [(None, entry) for entry in listed(given, "the constraints are", InvalidConstraintError)]
    else:
        raise InvalidConstraintError(
            f"the constraints are {shown(given)}, expected a list of constraints or a mapping of names to them"
        )
    collected: list[Constraint] = []
    for name, entry in pairs:
        if name is not None:
            check_name(name)
        _check_no_text(entry)
        if isinstance(entry, list | tuple):
            raise InvalidConstraintError(
                f"received a list of {len(entry)} where one constraint is expected; unpack it with *constraints "
                "(parse_constraint returns a list)"
            )
        collected += [entry] if isinstance(entry, Constraint) else read_cvxpy(entry, game, name)
    seen: set[str] = set()
    for constraint in collected:
        _check_game(constraint, game)
        if constraint.name in seen:
            raise InvalidConstraintError(f"two constraints are named {shown(constraint.name)}: names must be distinct")
        seen.add(constraint.name)
    return tuple(collected)


def _check_no_text(given: Any) -> None:
    if isinstance(given, str):
        raise InvalidConstraintError(
            f"{shown(given)} is a string, expected a constraint; parse_constraint(text, game) returns a list of them"
        )


def _wrong(name: str, what: str) -> InvalidConstraintError:
    """Return the error that describes a wrong constraint."""
    return InvalidConstraintError(f"constraint {shown(name)} {what}")


def _check_game(constraint: Constraint, game: Game) -> None:
    if constraint.player not in range(game.num_players) or isinstance(constraint.player, bool):
        raise _wrong(constraint.name, f"is for player {shown(constraint.player)}, expected 0 to {game.num_players - 1}")
    if constraint.fingerprint not in (None, game.fingerprint):
        raise _wrong(
            constraint.name,
            f"is for a game other than {game.spec}: its fingerprint is {constraint.fingerprint}, expected "
            f"{game.fingerprint}",
        )
    size = game.sequence_form.treeplexes[constraint.player].num_sequences
    last = int(constraint.function.indices.max(initial=-1))
    if last >= size:
        raise _wrong(constraint.name, f"has a term for sequence {last}, expected a sequence from 0 to {size - 1}")
    if constraint.variable is not None and constraint.variable is not game.plan(constraint.player):
        raise _wrong(constraint.name, f"is on the plan of a game other than {game.spec}")


# --- constraints written in cvxpy -------------------------------------------------------------------------------------


def read_cvxpy(constraint: Any, game: Game, name: str | None = None) -> list[Constraint]:
    """Return the constraints that a cvxpy constraint on one of ``game.plan(player)`` represents.

    Parameters
    ----------
    constraint : cvxpy.Constraint
        ``<=``, ``>=`` or ``==`` between expressions of one player's plan. For vectors, each entry is a constraint.
    game : Game
    name : str, optional
        By default the string that cvxpy prints.

    Returns
    -------
    list of Constraint
        An equality gives two, named ``… (at most)`` and ``… (at least)``; entries of vectors are numbered.

    Raises
    ------
    InvalidConstraintError
        If it is not such a constraint, uses other variables, or is not convex by cvxpy's rules; the message quotes
        cvxpy's reason.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.constraints.collect import read_cvxpy
    >>> game = load_game("kuhn")
    >>> x = game.plan(0)
    >>> [constraint.name for constraint in read_cvxpy(x[2:4] <= 0.5, game, name="bets")]
    ['bets[0]', 'bets[1]']
    """
    from cvxpy.constraints.constraint import Constraint as CvxpyConstraint

    title = name or one_line(" ".join(str(constraint).split()), 80)
    if isinstance(constraint, bool | np.bool_) or not isinstance(constraint, CvxpyConstraint):
        raise InvalidConstraintError(
            f"{shown(constraint)} is not a constraint: expected a cvxpy constraint on game.plan(player), such as "
            "game.plan(0)[2] <= 0.5, or the result of functional_bound(…), behaviour_bound(…) or parse_constraint(…)"
        )
    player = _player_of(constraint, game, title)
    parts = _parts(constraint, title)
    if any(np.iscomplexobj(np.asarray(part.value)) or part.is_complex() for _, part, _ in parts):
        raise _wrong(title, "is complex, expected real numbers")
    if not constraint.is_dcp():
        raise _wrong(title, f"is not convex by cvxpy's rules: {_reason(constraint)}")
    read: list[Constraint] = []
    for suffix, expression, sense in parts:
        names = [f"{title}[{place}]{suffix}" for place in range(expression.size)]
        names = [f"{title}{suffix}"] if len(names) == 1 else names
        read += _entries(_settled(expression, names[0]), game, player, names, sense)
    return read


def _player_of(constraint: "cp.Constraint", game: Game, title: str) -> int:
    for parameter in constraint.parameters():
        if parameter.value is None:
            raise _wrong(title, f"contains the parameter {parameter}, which has no value")
    plans = {game.plan(player).id: player for player in range(game.num_players)}
    players = set()
    for variable in constraint.variables():
        if variable.id not in plans:
            other = " of another game" if variable.name().startswith("plan_") else ""
            raise _wrong(
                title, f"contains the variable {variable.name()}{other}, expected only game.plan(player) of {game.spec}"
            )
        players.add(plans[variable.id])
    if not players:
        raise _wrong(title, "contains no plan: expected a constraint on game.plan(player)")
    if len(players) > 1:
        raise _wrong(
            title, "is on both players' plans, expected one player's plan: otherwise the game is no longer zero-sum"
        )
    return players.pop()


def _parts(constraint: "cp.Constraint", title: str) -> "list[tuple[str, cp.Expression, Sense | None]]":
    """Return the suffixes of the names, the expressions bounded by 0, and the sense of each bound if it has one."""
    from cvxpy.constraints.nonpos import Inequality, NonNeg, NonPos
    from cvxpy.constraints.zero import Equality, Zero

    if isinstance(constraint, Inequality):
        left, right = constraint.args
        sense: Sense | None = "<=" if right.is_constant() else ">=" if left.is_constant() else None
        return [("", constraint.expr, sense)]
    if isinstance(constraint, NonPos):
        return [("", constraint.expr, "<=")]
    if isinstance(constraint, NonNeg):
        return [("", -constraint.expr, ">=")]
    if isinstance(constraint, Equality | Zero):
        return [(" (at most)", constraint.expr, "<="), (" (at least)", -constraint.expr, ">=")]
    raise _wrong(
        title,
        f"is a {type(constraint).__name__}, expected <=, >= or == between expressions, such as cvxpy.norm(…) <= 0.5",
    )


def _entries(
    expression: "cp.Expression", game: Game, player: int, names: list[str], sense: Sense | None
) -> "list[Constraint]":
    """Return the entries of a convex expression as constraints; linear ones keep the sense of their bound."""
    plan, read = game.plan(player), list[Constraint]()
    for name, function in zip(names, read_functions(expression, plan), strict=True):
        if function.is_affine:
            sign = -1.0 if sense == ">=" else 1.0
            terms = dict(zip(function.indices.tolist(), (sign * function.coefficients).tolist(), strict=True))
            bound = -sign * float(function.constant)
            read.append(LinearConstraint(player, terms, bound, name, sense or "<=", fixed=sense is None))
        else:
            read.append(Constraint(player, function, name, variable=plan))
    return read


def _settled(expression: "cp.Expression", name: str) -> "cp.Expression":
    """Return an expression with the current values of its parameters, after checking that its numbers are finite."""
    import cvxpy as cp

    if expression.is_affine():
        return expression  # the value is read at once, and its numbers are checked like those of a linear constraint
    for one in (*expression.constants(), *expression.parameters()):
        value = one.value.data if sp.issparse(one.value) else one.value
        if not np.isfinite(np.asarray(value, dtype=np.float64)).all():
            raise _wrong(name, f"contains a number that is not finite: {one_line(str(one), 80)}")
    constants = {id(one): cp.Constant(one.value) for one in expression.parameters()}
    return expression.tree_copy(constants) if constants else expression


def _reason(constraint: "cp.Constraint") -> str:
    """Return cvxpy's own explanation, on one line."""
    import cvxpy as cp
    from cvxpy.utilities.debug_tools import build_non_disciplined_error_msg

    try:
        text = build_non_disciplined_error_msg(cp.Problem(cp.Minimize(0), [constraint]), "DCP")
    except Exception:  # even if cvxpy fails to explain why, the expression is not convex
        text = "Problem does not follow DCP rules."
    return one_line(" ".join(text.replace("\n", " ").split()), 400)
