"""Why constraints cannot be met: the least violation, and constraints that exclude each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..models.constraints import Constraint
from ..models.problems import LeastViolation
from ..seqform.game import Game
from ..seqform.strategy import Strategy

#: From which least violation on constraints count as not to be met.
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """Proof that one player's constraints exclude each other.

    Attributes
    ----------
    player : int
    least_violation : float
        The least sum of violations, V*.
    proven : float
        What the sum of violations is proven to be at least.
    largest_violation : float
        The least possible largest violation.
    conflict : tuple of str
        Names of constraints that cannot be met together, though they can be when any one of them is left out.
    strategy : Strategy
        One whose sum of violations is :attr:`least_violation`.
    violations : mapping of str to float
        By constraint, of that strategy.
    """

    player: int
    least_violation: float
    proven: float
    largest_violation: float
    conflict: tuple[str, ...]
    strategy: Strategy = field(repr=False)
    violations: Mapping[str, float] = field(repr=False)

    def __str__(self) -> str:
        names = ", ".join(self.conflict)
        what = "excludes all strategies" if len(self.conflict) == 1 else "exclude each other"
        return f"{names} {what}; the least sum of violations is {self.least_violation:.6g}"


def find_infeasibility(problem: Any) -> Infeasibility | None:
    """Return why a problem's constraints cannot be met; ``None`` if they can, or it has none.

    Parameters
    ----------
    problem : Problem
        One with ``constraints``, such as :class:`~treeplex.ConstrainedNash`. Its penalty is not read.

    Returns
    -------
    Infeasibility or None
        About the first player whose constraints cannot be met.

    Notes
    -----
    The multipliers of the least violation single out constraints that cannot be met together. Of these one after the
    other is left out for good if the rest still cannot be met (deletion filter: J. W. Chinneck, "Feasibility and
    Infeasibility in Optimization", Springer 2008, section 6.2).

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game
    >>> from treeplex.solvers.infeasibility import find_infeasibility
    >>> game = load_game("kuhn")
    >>> x = game.plan(0)
    >>> bounds = {"often": x[2] >= 0.7, "seldom": x[2] <= 0.4, "never fold": x[3] <= 0.1}
    >>> print(find_infeasibility(ConstrainedNash(game, bounds)))
    often, seldom exclude each other; the least sum of violations is 0.3
    """
    game: Game = problem.game
    constraints: Sequence[Constraint] = getattr(problem, "constraints", ())
    for player in range(game.num_players):
        own = [constraint for constraint in constraints if constraint.player == player]
        least = _least(game, player, own) if own else None
        if least is None or least.lower is None or least.lower <= TOLERANCE:
            continue
        largest = _least(game, player, own, "largest")
        return Infeasibility(
            player=player,
            least_violation=least.objective,
            proven=least.lower,
            largest_violation=largest.objective,
            conflict=tuple(constraint.name for constraint in _irreducible(game, player, own, least)),
            strategy=least.profile[player],
            violations=dict(least.certificate.violations),
        )
    return None


def _least(game: Game, player: int, constraints: Sequence[Constraint], measure: str = "sum") -> Any:
    from .solve import solve

    problem = LeastViolation(game, player, tuple(constraints), measure)  # type: ignore[arg-type]
    return solve(problem, "highs" if problem.is_linear else "cvxpy")


def _irreducible(game: Game, player: int, constraints: Sequence[Constraint], least: Any) -> list[Constraint]:
    """Return constraints that cannot be met together, but can without any one of them."""
    remaining = _support(constraints, least)
    for candidate in list(remaining):
        if candidate not in remaining:
            continue
        rest = [constraint for constraint in remaining if constraint is not candidate]
        without = _least(game, player, rest) if rest else None
        if without is not None and without.lower > TOLERANCE:
            remaining = _support(rest, without)
    return remaining


def _support(constraints: Sequence[Constraint], least: Any) -> list[Constraint]:
    """Return the constraints whose multipliers prove that they cannot be met together."""
    return [constraint for constraint in constraints if least.multipliers[constraint.name] > TOLERANCE]
