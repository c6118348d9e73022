"""The bound on multipliers in a run without a penalty, and the schedule of its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...models.constraints import Constraint
from ...seqform.arrays import Floats

#: Iterations before the first check of whether the bound limits multipliers, or whether they prove that constraints
#: exclude each other; each later check is after twice as many.
FIRST_LOOK = 256
#: The fraction of the bound from which it counts as limiting averaged multipliers.
NEAR = 0.9
#: After this many iterations under one bound, half the bound already counts as limiting: with decreasing steps averages
#: approach the bound slowly.
PATIENCE = 2048
#: The largest number of doublings: the bound has then grown by a factor of 10^18.
MOST_DOUBLINGS = 60


@dataclass(frozen=True)
class MultiplierBound:
    """A bound on multipliers in a run without a penalty, which is doubled while it limits them.

    Attributes
    ----------
    beta : float
        Payoff units.
    doublings : int
        The number of doublings so far.
    begun : int
        The iterations done when averaging began under this bound.
    """

    beta: float
    doublings: int = 0
    begun: int = 0

    def doubled(self, iterations: int) -> MultiplierBound:
        """Return the doubled bound, starting at an iteration."""
        return MultiplierBound(2.0 * self.beta, self.doublings + 1, iterations)

    def holds_back(
        self,
        constraints: Sequence[Constraint],
        plans: Sequence[Floats],
        multipliers: Mapping[str, float],
        tolerance: float,
        iterations: int,
    ) -> bool:
        """Whether averaged plans violate a constraint although its averaged multiplier is near the bound.

        Parameters
        ----------
        constraints : sequence of Constraint
        plans : sequence of ndarray of float64
            Averages, one per player.
        multipliers : mapping of str to float
            Averages by constraint, in payoff units.
        tolerance : float
            The allowed violation of constraints.
        iterations : int
            Iterations done.
        """
        near = (NEAR if iterations - self.begun < PATIENCE else 0.5) * self.beta
        return self.doublings < MOST_DOUBLINGS and any(
            multipliers[one.name] >= near and one.value(plans[one.player]) > tolerance for one in constraints
        )


def next_look(iterations: int, begun: int = 0) -> int:
    """Return the iteration of the next check of multipliers, given the one at which averaging began.

    Examples
    --------
    >>> from treeplex.solvers.regret.multiplier_bound import next_look
    >>> next_look(0), next_look(255), next_look(256), next_look(1000, begun=900)
    (256, 256, 512, 1156)
    """
    look = FIRST_LOOK
    while look <= iterations - begun:
        look *= 2
    return begun + look
