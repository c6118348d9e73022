"""Simple strategies by rounding others: to a grid, to few mixed infosets, to few sizes of an action."""

from dataclasses import dataclass

import numpy as np

from ..models.problems import SimpleStrategy
from ..models.problems.simple import Complexity
from ..seqform.arrays import Floats
from .node_limits import NodeLimits, rounded
from .solution import RunState


@dataclass(frozen=True, eq=False)
class Simplified(RunState):
    """The complexity of a simple strategy, as ``solution.state``.

    Attributes
    ----------
    complexity : Complexity
    steps : int, optional
        The grid: that of the problem, or on public forms the coarsest one whose loss is small enough.
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
    """Round a plan of the player to a nearby plan that is within the limits of a problem.

    The sizes that the plan plays most are kept, probabilities are rounded so that they still sum to one, and the
    infosets that stay mixed are those that would change most otherwise. With `loss`, nothing limits the number of mixed
    infosets.

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
    places = [slice(*ends) for ends in zip(treeplex.offsets[:-1].tolist(), treeplex.offsets[1:].tolist(), strict=True)]
    for own in places:
        total = behaviour[own].sum()
        # A total of 0: the plan plays only sizes that are left out.
        behaviour[own] = behaviour[own] / total if total else _unlisted(limited, own)
    classes = problem.infoset_classes
    members = [np.flatnonzero(classes == number).tolist() for number in np.unique(classes).tolist()]
    for each in members:
        if len(each) > 1:
            weights = reach[each] if reach[each].any() else np.ones(len(each))
            mean = np.average([behaviour[places[one]] for one in each], axis=0, weights=weights)
            for one in each:
                behaviour[places[one]] = mean
    given = behaviour.copy()
    _put_on_grid(problem, behaviour, places, reach, problem.steps)
    if problem.mixed is not None:
        doubts = [sum(reach[one] * (1.0 - behaviour[places[one]].max()) for one in each) for each in members]
        for number in np.argsort(-np.array(doubts), kind="stable")[problem.mixed :].tolist():
            best = np.argmax(behaviour[places[members[number][0]]])
            for one in members[number]:
                behaviour[places[one]] = np.arange(places[one].stop - places[one].start) == best
        if problem.monotone is not None:  # pure infosets may have come out of order
            _put_on_grid(problem, given, places, reach, 1)
            behaviour = given
    return treeplex.plan(behaviour)


def _put_on_grid(
    problem: SimpleStrategy, behaviour: Floats, places: list[slice], reach: Floats, steps: int | None
) -> None:
    """Round the behaviour at all infosets to the grid; infosets that are compared by strength are rounded together."""
    compared = set()
    for infosets, strength, groups in problem.comparisons():
        states = NodeLimits(np.arange(len(infosets)), strength, groups)
        played = np.array([behaviour[places[one]] for one in infosets.tolist()]).T
        found = states.rounded(played, reach[infosets], steps, states.ways[0])
        for one, there in zip(infosets.tolist(), found.T, strict=True):
            behaviour[places[one]] = there
            compared.add(one)
    if steps is not None:
        for infoset, own in enumerate(places):
            if infoset not in compared:
                behaviour[own] = rounded(behaviour[own][:, None], steps)[:, 0]


def _unlisted(limited: set[int], own: slice) -> Floats:
    """Return uniform play of an infoset's sequences that no menu limits, or of its first one if there are none."""
    found = np.array([float(sequence not in limited) for sequence in range(own.start, own.stop)])
    if not found.any():
        found[0] = 1.0
    shares: Floats = found / found.sum()
    return shares
