"""Simple strategies by rounding others: to a grid, to few mixed infosets, to few sizes of an action."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..models.problems import SimpleStrategy
from ..models.problems.simple import Complexity
from ..seqform.arrays import Floats
from .solution import RunState


@dataclass(frozen=True, eq=False)
class Simplified(RunState):
    """How simple a strategy is, as ``solution.state``.

    Attributes
    ----------
    complexity : Complexity
    steps : int, optional
        The grid: that of the problem, or on public forms the coarsest one that loses little enough.
    bound : float, optional
        HiGHS's bound on the objective, within its tolerances; not recomputed from the strategies.
    claim : str
        The bound in words.
    """

    complexity: Complexity
    steps: int | None = None
    bound: float | None = None
    claim: str = ""

    @property
    def remark(self) -> str:
        """How often the strategy mixes, and the bound."""
        grid = "" if self.steps in (None, 1) else f" in steps of 1/{self.steps}"
        found = self.complexity
        told = f"the loss is certified, and the strategy mixes{grid} at {found.mixed} of {found.infosets} infosets"
        return f"{told}; HiGHS's branch and bound found {self.claim}" if self.claim else told


def rounded_plan(problem: SimpleStrategy, plan: Floats) -> Floats:
    """Return a plan within the limits of a problem near another plan of the player.

    Sizes are kept where the plan plays them most, probabilities are rounded so that they still sum to one, and the
    infosets that stay mixed are those where the most would change otherwise. With `loss`, nothing limits the number of
    mixed infosets.

    Parameters
    ----------
    problem : SimpleStrategy
    plan : ndarray of float64, shape (num_sequences,)
    """
    treeplex = problem.view.own
    behaviour, reach = treeplex.behaviour(plan), treeplex.reach(plan)
    for menu in problem.menus:
        played = [float(plan[each].sum()) for each in menu]
        for place in np.argsort(played, kind="stable")[: -(problem.sizes or 0)].tolist():
            behaviour[menu[place]] = 0.0
    limited = {sequence for menu in problem.menus for each in menu for sequence in each}
    doubts = np.zeros(treeplex.num_infosets)
    for infoset in range(treeplex.num_infosets):
        own = slice(int(treeplex.offsets[infoset]), int(treeplex.offsets[infoset + 1]))
        total = behaviour[own].sum()
        if not total:  # the plan plays only sizes that are left out
            behaviour[own] = _unlisted(limited, own)
        else:
            behaviour[own] /= total
        if problem.steps is not None:
            behaviour[own] = rounded(behaviour[own][:, None], problem.steps)[:, 0]
        doubts[infoset] = reach[infoset] * (1.0 - behaviour[own].max())
    if problem.mixed is not None:
        for infoset in np.argsort(-doubts, kind="stable")[problem.mixed :].tolist():
            own = slice(int(treeplex.offsets[infoset]), int(treeplex.offsets[infoset + 1]))
            behaviour[own] = np.arange(own.stop - own.start) == np.argmax(behaviour[own])
    return treeplex.plan(behaviour)


def _unlisted(limited: set[int], own: slice) -> Floats:
    """Return the uniform distribution on the sequences at an infoset that no menu limits, or the first one."""
    found = np.array([float(sequence not in limited) for sequence in range(own.start, own.stop)])
    if not found.any():
        found[0] = 1.0
    shares: Floats = found / found.sum()
    return shares


def rounded(
    behaviour: Floats, steps: int, weights: Floats | None = None, order: npt.NDArray[np.int64] | None = None
) -> Floats:
    """Round probabilities to multiples of 1 / steps; each column still sums to one.

    Parameters
    ----------
    behaviour : ndarray of float64, shape (actions, states)
    steps : int
    weights : ndarray of float64, shape (states,), optional
        With weights, what rounding one state takes from an action is given to the next ones, so that the frequencies
        over all states hardly change (error diffusion). Actions that a state does not play stay unplayed.
    order : ndarray of int, shape (states,), optional
        The order of the states, by default as given.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.solvers.rounding import rounded
    >>> thirds = np.full((2, 4), 1 / 2)
    >>> rounded(thirds, 1)[0], rounded(thirds, 1, np.ones(4))[0]
    (array([1., 1., 1., 1.]), array([1., 0., 1., 0.]))
    """
    wanted = behaviour * steps
    if weights is None:
        floors = np.floor(wanted + 1e-9)
        missing = np.rint(steps - floors.sum(axis=0)).astype(np.int64)
        ranks = np.argsort(np.argsort(floors - wanted, axis=0, kind="stable"), axis=0, kind="stable")
        return np.asarray((floors + (ranks < missing)) / steps)
    found, owed = np.zeros(behaviour.shape), np.zeros(len(behaviour))
    for state in range(behaviour.shape[1]) if order is None else order.tolist():
        weight = float(weights[state])
        played = behaviour[:, state] > 1e-6
        due = np.where(played, wanted[:, state] + (owed / weight if weight > 0.0 else 0.0), -np.inf)
        given = np.zeros(len(behaviour))
        for _ in range(steps):
            given[np.argmax(due - given)] += 1.0
        found[:, state] = given
        owed += weight * (wanted[:, state] - given)
    return found / steps
