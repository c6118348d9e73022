"""The method that approaches a correlated equilibrium of any number of players."""

from dataclasses import dataclass
from typing import ClassVar

from ...models.problems import Feature
from .registry import Method


@dataclass(frozen=True)
class TriggerRegret(Method):
    """Trigger-regret minimisation, whose joint play approaches a correlated equilibrium of any number of players.

    Notes
    -----
    The players minimise their regrets for not having deviated from recommendations, as in
    :class:`~treeplex.solvers.CorrelatedRun`. The answer is the mixture of their strategies over the iterations, with
    the gain of each player's best deviations, which is compared with the tolerance. It need not be an optimal
    equilibrium: the objective is reported, not maximised, and there is no upper bound.

    It is an approximate EFCE, and therefore also an approximate EFCCE and NFCCE.

    Examples
    --------
    >>> from treeplex import EFCE, load_game, solve
    >>> solution = solve(EFCE(load_game("kuhn:players=3")), "trigger-regret", tol=0.05)
    >>> str(solution.status), max(solution.regrets) <= 0.05, solution.upper
    ('converged', True, None)
    >>> first, second, third = solution.state.recommend(seed=1)
    """

    name: ClassVar[str] = "trigger-regret"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.CORRELATION, Feature.PLAYERS})
    keeps_runs: ClassVar[bool] = True
    default_tolerance: ClassVar[float] = 1e-3
    default_iterations: ClassVar[int] = 10_000
    backend: ClassVar[str] = "treeplex.solvers.trigger_regret"
