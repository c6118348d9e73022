"""How far limits that exclude each other can be met, and how much to loosen them."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..models.constraints import Constraint, LinearConstraint
from ..models.constraints.constraint import MeasureConstraint
from ..models.problems import FeasibilityRelaxation
from ..seqform.errors import SolverError
from ..seqform.game import Game
from ..seqform.polytope import best_response_value
from .answer_parts import Relaxation
from .dispatch import refuse_unfinished, solved
from .exclusion import excluded

#: The change of a limit, relative to its size, that is more than round-off.
_CHANGED = 1e-7


def find_relaxations(
    game: Game, player: int, constraints: Sequence[Constraint], conflict: Collection[str], *, exact: bool = False
) -> tuple[Relaxation, ...]:
    """Return how much to loosen the constraints of a conflict, and others that must be loosened with them.

    Parameters
    ----------
    game : Game
    player : int
    constraints : sequence of Constraint
        All constraints of the player. They cannot be met together.
    conflict : collection of str
        Names of constraints that exclude each other.
    exact : bool
        Whether to compute in fractions.

    Returns
    -------
    tuple of Relaxation
        In the order of the constraints.

    Notes
    -----
    The least loosening of constraint i alone is min f_i(x)⁺ over the plans x that meet the others. The least total
    change is min Σ f_i(x)⁺ / s_i over all plans x. The size s_i is the absolute limit, or the largest coefficient if
    the limit is 0 or multiplies the reach of an infoset. Both are :class:`FeasibilityRelaxation
    <treeplex.models.problems.FeasibilityRelaxation>`, with weights ∞ and 1 / s_i.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.constraints import collect_constraints
    >>> from treeplex.solvers.relaxations import find_relaxations
    >>> game = load_game("kuhn")
    >>> x = game.plan(0)
    >>> bounds = collect_constraints({"often": x[2] >= 0.8, "seldom": x[2] <= 0.4}, game)
    >>> for one in find_relaxations(game, 0, bounds, ["often", "seldom"]):
    ...     print(one.constraint, one.alone, *(round(number, 9) for number in (one.together, one.loosen, one.change)))
    often 1.0 0.4 0.4 0.4
    seldom 0.0 0.8 0.4 0.0
    """
    sizes = {one.name: _size(one) for one in constraints}
    weights = {name: 1 / size for name, size in sizes.items()}
    changes = least_violation(game, player, constraints, exact=exact, weights=weights).certificate.violations
    found = []
    for one in constraints:
        change = max(0.0, float(changes[one.name]))
        change = change if change > _CHANGED * sizes[one.name] else 0.0
        if one.name not in conflict and not change:
            continue
        loosen = _loosened_alone(game, player, constraints, one, exact)
        bound = _bound(one)
        alone, together = (
            None if bound is None or excess is None else _attained(one, bound, excess)
            for excess in (_least_value(game, player, one), loosen)
        )
        found.append(Relaxation(one.name, bound, alone, together, loosen, change))
    return tuple(found)


def _bound(constraint: Any) -> float | None:
    if isinstance(constraint, MeasureConstraint) or (isinstance(constraint, LinearConstraint) and not constraint.fixed):
        return float(constraint.bound)
    return None


def _size(constraint: Constraint) -> float:
    """Return the size to which changes of a limit are relative."""
    return abs(_bound(constraint) or 0.0) or constraint.largest_coefficient or 1.0


def _attained(constraint: Constraint, bound: float, excess: float) -> float:
    """Return the value of a limit's function that exceeds the limit by an amount."""
    return bound - excess if getattr(constraint, "sense", "<=") == ">=" else bound + excess


def _loosened_alone(
    game: Game, player: int, constraints: Sequence[Constraint], constraint: Constraint, exact: bool
) -> float | None:
    """Return the least loosening of one constraint after which all can be met; ``None`` if there is none."""
    rest = [one for one in constraints if one is not constraint]
    if rest and is_proven(rest, least_violation(game, player, rest, exact=exact)):
        return None
    weights = {one.name: math.inf for one in rest}
    try:
        least = least_violation(game, player, constraints, exact=exact, weights=weights)
    except SolverError:  # the others can be met only up to round-off
        return None
    return None if least.problem.missed(least.certificate) else float(least.objective)


def _least_value(game: Game, player: int, constraint: Constraint) -> float | None:
    """Return the least value of a constraint's function over all plans; ``None`` if no bound on it is known."""
    treeplex = game.sequence_form.treeplexes[player]
    slope, constant = constraint.minorant(treeplex.uniform_plan())
    least = float(constant - best_response_value(treeplex, -slope))
    if isinstance(constraint, LinearConstraint) or not math.isfinite(least):
        return least if math.isfinite(least) else None
    raised = constraint.function.with_constant(float(constraint.function.exact_constant) + abs(least))
    shifted = Constraint(player, raised, constraint.name, fingerprint=constraint.fingerprint)
    return float(least_violation(game, player, [shifted]).objective) - abs(least)


def least_violation(
    game: Game,
    player: int,
    constraints: Sequence[Constraint],
    measure: str = "sum",
    exact: bool = False,
    weights: Mapping[str, Any] | None = None,
) -> Any:
    """Return the solution of a :class:`FeasibilityRelaxation`, whose parameters these are; in fractions if `exact`."""
    problem = FeasibilityRelaxation(game, player, tuple(constraints), measure, weights=weights or {})  # type: ignore[arg-type]
    solution = solved(problem, "rational" if exact else "highs-simplex" if problem.is_linear else "cvxpy")
    refuse_unfinished(solution, "the conflicting constraints were being identified")
    if exact and solution.exact is None:
        raise SolverError(f"the least violation of the constraints was not found: {solution.message}")
    return solution


def is_proven(constraints: Sequence[Constraint], least: Any) -> bool:
    """Whether the least violation proves that constraints cannot be met together."""
    if least.exact is not None:
        return bool(least.exact.certificate.lower > 0)
    return excluded(constraints, least.multipliers, least.lower, least.strategy.plan)
