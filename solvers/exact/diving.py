"""A dive to a simple strategy: the linear program of an equilibrium, restricted at one infoset after another."""

from collections import defaultdict
from collections.abc import Iterable

import highspy
import numpy as np

from ...models.problems import SimpleStrategy
from ...seqform.arrays import Floats, Indices
from ...seqform.limits import seconds_left
from ..rounding import rounded_plan
from .highs_models import load, objective_factor, run_solver

#: Smaller reaches, and smaller distances from a distribution, are round-off.
_ROUND_OFF = 1e-7


def dive(problem: SimpleStrategy, plan: Floats, least: float | None = None, share: float = 1.0) -> tuple[Floats, bool]:
    """Find a plan within the limits of a problem by rounding one infoset after another.

    The dive first chooses sizes, one public state after another. Then it makes infosets pure where the problem requires
    it, starting where the plan mixes least. Finally it rounds infosets to the grid, starting with early ones that are
    near it. Each infoset gets the better of its two nearest distributions, and the linear program is solved again, so
    that the infosets that are still free compensate. If time is short, the dive makes several infosets pure before it
    solves the program again. When its time is up, it rounds all remaining infosets at once.

    Parameters
    ----------
    problem : SimpleStrategy
    plan : ndarray of float64, shape (num_sequences,)
        The player's plan of an equilibrium.
    least : float, optional
        With ``loss``, the payoff that must be guaranteed. Infosets at which no pure action does so stay mixed.
    share : float
        The share of the time left that the dive may take.

    Returns
    -------
    plan : ndarray of float64, shape (num_sequences,)
    finished : bool
        Whether the time sufficed.

    Raises
    ------
    KeyboardInterrupt
    """
    found = _Dive(problem, plan, least, share)
    return found.plan(), not found.is_late


class _Dive:
    """The linear program of a dive, which keeps its basis, and the distributions fixed so far."""

    def __init__(self, problem: SimpleStrategy, plan: Floats, least: float | None, share: float) -> None:
        self.problem, self.treeplex, self.least = problem, problem.view.own, least
        left = seconds_left()
        self._until = 0.0 if np.isinf(left) else (1.0 - share) * left
        self.is_late = False
        program = problem.relaxation()
        self._factor = objective_factor(program) * problem.view.unit
        self._solver = load(program)
        self._solver.setOptionValue("presolve", "off")  # each program differs from the last in one infoset
        classes = problem.infoset_classes
        first, of = np.unique(classes, return_index=True, return_inverse=True)[1:]
        self._leads: Indices = first[of]
        self._members: dict[int, list[int]] = defaultdict(list)
        for infoset, lead in enumerate(self._leads.tolist()):
            self._members[lead].append(infoset)
        self.fixed: dict[int, Floats] = {}
        self.best, self.guaranteed = plan, -np.inf
        self.is_late = not self._solve()

    def plan(self) -> Floats:
        """Return the plan at the end of the dive."""
        self._choose_sizes()
        may_mix = self._choose_mixed()
        if self.problem.steps is not None:
            self._round(may_mix)
        behaviour = self.treeplex.behaviour(self.best)
        for lead, distribution in self.fixed.items():
            for infoset in self._members[lead]:
                behaviour[self._of(infoset)] = distribution
        return rounded_plan(self.problem, self.treeplex.plan(behaviour))

    def _solve(self) -> bool:
        """Solve the program; return whether a solution was found in time."""
        if seconds_left() <= self._until:
            self.is_late = True
            return False
        self._solver.setOptionValue("time_limit", self._solver.getRunTime() + seconds_left())
        if run_solver(self._solver, interruptible=False):
            raise KeyboardInterrupt
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return False
        self.best = np.maximum(np.array(self._solver.getSolution().col_value)[: self.treeplex.num_sequences], 0.0)
        self.guaranteed = self._solver.getInfo().objective_function_value * self._factor
        return True

    def _of(self, infoset: int) -> slice:
        return slice(int(self.treeplex.offsets[infoset]), int(self.treeplex.offsets[infoset + 1]))

    def _fix(self, infoset: int, candidates: Iterable[Floats], needed: float = -np.inf) -> bool:
        """Fix an infoset to the best of some distributions; return whether one guarantees at least ``needed``."""
        solver, before = self._solver, (self.best, self.guaranteed)
        rows = solver.getNumRow()
        found: tuple[float, Floats, Floats] | None = None
        for distribution in candidates:
            self._restrict(infoset, distribution)
            solved = self._solve()
            if solved and self.guaranteed >= needed and (found is None or self.guaranteed > found[0]):
                found = self.guaranteed, self.best, distribution
            added = np.arange(rows, solver.getNumRow(), dtype=np.int32)
            solver.deleteRows(len(added), added)
            if self.is_late:
                break
        if found is None:
            self.best, self.guaranteed = before
            return False
        self.guaranteed, self.best, self.fixed[infoset] = found
        self._restrict(infoset, self.fixed[infoset])
        return True

    def _restrict(self, lead: int, distribution: Floats) -> None:
        """Add the rows x_a = b_a x_σ of a class's distribution b to the program, all but the last of an infoset."""
        for infoset in self._members[lead]:
            first, parent = self._of(infoset).start, int(self.treeplex.parents[infoset])
            for place, share in enumerate(distribution[:-1].tolist()):
                columns = np.array([first + place, parent], dtype=np.int32)
                self._solver.addRow(0.0, 0.0, 2, columns, np.array([1.0, -share]))

    def _doubts(self) -> Floats:
        """Return, for the first infoset of each class, the part of the plan that is not on its most likely action."""
        doubts = np.zeros(self.treeplex.num_infosets)
        for lead in self._members:
            played = self._played(lead)
            doubts[lead] = played.sum() - played.max()
        return doubts

    def _played(self, lead: int) -> Floats:
        """Return how often the plan plays each action, summed over the infosets of a class."""
        played: Floats = np.sum([self.best[self._of(infoset)] for infoset in self._members[lead]], axis=0)
        return played

    def _choose_sizes(self) -> None:
        """Keep the sizes that the plan plays most at each public state, and solve the program again."""
        for menu in self.problem.menus:
            played = [float(self.best[each].sum()) for each in menu]
            left_out = np.argsort(played, kind="stable")[: -(self.problem.sizes or 0)].tolist()
            places = np.array(sorted({one for place in left_out for one in menu[place]}), dtype=np.int32)
            self._solver.changeColsBounds(len(places), places, np.zeros(len(places)), np.zeros(len(places)))
            before = self.best
            if not self.is_late and not self._solve() and not self.is_late:  # an infoset has no other action
                self._solver.changeColsBounds(len(places), places, np.zeros(len(places)), np.ones(len(places)))
                self.best = before

    def _choose_mixed(self) -> set[int] | None:
        """Make infosets pure; return those that may mix, ``None`` if all may."""
        problem = self.problem
        if problem.mixed is None and (problem.loss is None or problem.steps is not None):
            return None
        kept: set[int] = set()
        begun, solves = seconds_left(), 0
        while not self.is_late:
            doubts, decided = self._doubts(), kept | set(self.fixed)
            mixed = [one for one in np.flatnonzero(doubts > _ROUND_OFF).tolist() if one not in decided]
            if not mixed or (problem.mixed is not None and len(mixed) + len(kept) <= problem.mixed):
                return kept | set(mixed)
            if problem.mixed is not None:
                surplus = len(mixed) + len(kept) - problem.mixed
                mixed.sort(key=doubts.__getitem__)
                together = self._together(surplus, begun, solves)
                for infoset in mixed[: together - 1]:
                    self.fixed[infoset] = self._pure(infoset)[0]
                    self._restrict(infoset, self.fixed[infoset])
                mixed, solves = mixed[together - 1 :], solves + 1
            infoset = min(mixed, key=doubts.__getitem__)
            if not self._fix(infoset, self._pure(infoset), -np.inf if self.least is None else self.least):
                kept.add(infoset)
        return kept

    def _together(self, surplus: int, begun: float, solves: int) -> int:
        """Return how many infosets must become pure at once, so that all are in half of the time that is left."""
        if not solves or np.isinf(begun):
            return 1
        spent, left = begun - seconds_left(), seconds_left() - self._until
        return int(np.clip(np.ceil(surplus * spent / solves / max(0.5 * left, 1e-9)), 1, surplus))

    def _pure(self, infoset: int) -> list[Floats]:
        """Return the two most likely actions as distributions."""
        played = self._played(infoset)
        return [np.eye(1, len(played), int(place))[0] for place in np.argsort(-played, kind="stable")[:2]]

    def _round(self, may_mix: set[int] | None) -> None:
        """Round infosets to the grid."""
        depths, several = self.treeplex.depths, np.diff(self.treeplex.offsets) > 1
        several &= self._leads == np.arange(len(several))
        for depth in np.unique(depths).tolist():
            left = (depths == depth) & several
            left[list(self.fixed)] = False
            while not self.is_late:
                distances = np.where(left, self._distances(), np.inf)
                infoset = int(np.argmin(distances))
                if np.isinf(distances[infoset]):  # the plan reaches none of the others
                    break
                left[infoset] = False
                pure = self._pure(infoset)
                if may_mix is not None and infoset not in may_mix:
                    self._fix(infoset, pure)
                elif self.least is None or not self._fix(infoset, pure, self.least):
                    self._fix(infoset, self._nearest(infoset))

    def _distances(self) -> Floats:
        """Return the distance of each infoset from the grid, times its reach; infinite at unreached infosets."""
        steps, found = self.problem.steps or 1, np.full(self.treeplex.num_infosets, np.inf)
        for lead in self._members:
            played = self._played(lead)
            reach = float(played.sum())
            if reach > _ROUND_OFF:
                wanted = steps * played / reach
                found[lead] = reach * float(np.abs(wanted - np.rint(wanted)).max())
        return found

    def _nearest(self, infoset: int) -> list[Floats]:
        """Return the nearest point of the grid, and the second nearest unless the first is exact."""
        played, steps = self._played(infoset), self.problem.steps or 1
        wanted = played / played.sum() * steps
        wanted = np.where(np.abs(wanted - np.rint(wanted)) < 1e-6, np.rint(wanted), wanted)
        floors = np.floor(wanted)
        missing = round(steps - float(floors.sum()))
        order: Indices = np.argsort(floors - wanted, kind="stable")
        found = [order[:missing], np.append(order[: missing - 1], order[missing : missing + 1])]
        points = []
        for raised in found if missing else found[:1]:
            point = floors.copy()
            point[raised] += 1.0
            points.append(point / steps)
        return points
