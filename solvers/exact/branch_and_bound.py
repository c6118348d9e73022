"""Integer programs by HiGHS's branch and bound: optimal commitments, equilibria and simple strategies."""

from typing import TYPE_CHECKING

from ...models.problems import EpsilonNash, SimpleStrategy, Stackelberg
from ..outcome import Options, Outcome

if TYPE_CHECKING:
    from ..methods import BranchAndBound


def run(method: "BranchAndBound", problem: Stackelberg | EpsilonNash | SimpleStrategy, options: Options) -> Outcome:
    """Solve a problem; see :class:`~treeplex.solvers.BranchAndBound`."""
    if isinstance(problem, Stackelberg):
        from .commitment import commit

        return commit(problem, options)
    if isinstance(problem, EpsilonNash):
        from .equilibria import find_equilibrium

        return find_equilibrium(problem, options)
    from .simplification import simplify

    return simplify(problem, options)
