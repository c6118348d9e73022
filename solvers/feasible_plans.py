"""Feasible plans near plans that violate their constraints slightly; see :doc:`/theory/constraints`."""

from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..models.constraints import Constraint, LinearConstraint
from ..models.saddle import Rows
from ..seqform.arrays import Floats
from ..seqform.face import cheapest
from ..seqform.limits import loading
from ..seqform.polytope import Treeplex
from .public.limits import Bound, bound_of

#: The value, relative to the sizes of its terms, up to which a constraint counts as met: round-off.
ROUND_OFF = 1e-12
#: The price of violating a row in the programs that mix plans, relative to 1 for leaving the repaired plan.
_MISSED = 1e6
#: The largest number of programs per plan, and of priced plans per program.
_ROUNDS, _COLUMNS = 6, 40
#: The number of sequences of a player up to which a linear program is tried if mixtures fail.
_PROGRAM = 20_000
#: The number of bisection steps in the projection onto bounds at an infoset.
_HALVINGS = 60
#: The step towards another plan at which nonlinear functions are evaluated.
_STEPS = (1.0, 0.25, 0.05, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)

_known: "WeakKeyDictionary[Rows, FeasiblePlans]" = WeakKeyDictionary()


class FeasiblePlans:
    """The plans of a player that meet hard constraints.

    Parameters
    ----------
    rows : Rows
        The hard rows.
    treeplex : Treeplex
        The player's plans.

    Attributes
    ----------
    least, most : ndarray of float64, shape (num_sequences,)
        Bounds on behaviour from constraints on single actions.
    others : tuple of Constraint
        The other constraints.

    Examples
    --------
    A plan that bets with a Jack half of the time, although only a third is allowed:

    >>> from fractions import Fraction
    >>> from treeplex import load_game
    >>> from treeplex.models.constraints import behaviour_bound
    >>> from treeplex.models.saddle import Rows
    >>> from treeplex.solvers.feasible_plans import FeasiblePlans
    >>> game = load_game("kuhn")
    >>> treeplex = game.sequence_form.treeplexes[0]
    >>> third = behaviour_bound(game, 0, "J_", "b", at_most=Fraction(1, 3), name="third")
    >>> rows = Rows((third,), treeplex.num_sequences)
    >>> plan = FeasiblePlans(rows, treeplex).nearest(treeplex.uniform_plan())
    >>> round(float(plan[treeplex.sequence("J_", "b")]), 6)
    0.333333
    """

    def __init__(self, rows: Rows, treeplex: Treeplex) -> None:
        self.constraints, self.treeplex = rows.constraints, treeplex
        self.least, self.most = np.zeros(treeplex.num_sequences), np.ones(treeplex.num_sequences)
        found: dict[str, Bound] = {}
        if treeplex.single_parent:
            found = {one.name: bound for one in self.constraints if (bound := bound_of(one, treeplex)) is not None}
        for one in found.values():
            side, tighter = (self.most, min) if one.is_upper else (self.least, max)
            side[one.sequence] = tighter(side[one.sequence], min(1.0, max(0.0, one.number)))
        self.others: tuple[Constraint, ...] = tuple(one for one in self.constraints if one.name not in found)
        if treeplex.num_infosets:
            starts = treeplex.offsets[:-1]
            room = (np.add.reduceat(self.least, starts) <= 1.0) & (np.add.reduceat(self.most, starts) >= 1.0)
            room &= np.logical_and.reduceat(self.least <= self.most, starts)
            # If bounds contradict each other, the infoset must not be reached, which is not a bound on behaviour.
            held = [bool(room[treeplex.sequence_infosets[one.sequence]]) for one in found.values()]
            self.others += tuple(
                one
                for one in self.constraints
                if one.name in found and not room[treeplex.sequence_infosets[found[one.name].sequence]]
            )
            if not all(held):
                spread = np.concatenate([[True], np.repeat(room, treeplex.num_actions)])
                self.least, self.most = np.where(spread, self.least, 0.0), np.where(spread, self.most, 1.0)
        self._is_boxed = bool(found)
        for constraint in self.others:
            self._exclude(constraint)

    @classmethod
    def of(cls, rows: Rows, treeplex: Treeplex) -> "FeasiblePlans":
        """Return the feasible plans of the rows, computed once."""
        if rows not in _known:
            _known[rows] = cls(rows, treeplex)
        return _known[rows]

    def _exclude(self, constraint: Constraint) -> None:
        """Exclude, by bounds, the actions that a linear constraint rules out, if it leaves no plan any slack."""
        if not isinstance(constraint, LinearConstraint):
            return
        costs = np.zeros(self.treeplex.num_sequences)
        costs[constraint.indices] = constraint.coefficients
        size = float(np.abs(constraint.coefficients).max(initial=0.0))
        if costs @ self.treeplex.uniform_plan() < constraint.limit - ROUND_OFF * size:
            return  # one plan with slack is enough
        least = cheapest(self.treeplex, costs)
        if least.value < constraint.limit - (ROUND_OFF * size + least.error):
            return
        starts = self.treeplex.offsets[:-1]
        most = np.where(least.attained, self.most, 0.0)
        fits = np.add.reduceat(most, starts) >= 1.0
        fits &= np.logical_and.reduceat(self.least <= most, starts)
        kept = np.concatenate([[False], np.repeat(fits, self.treeplex.num_actions)])
        self.most = np.where(kept, most, self.most)
        self._is_boxed = True

    def violation(self, plan: Floats) -> float:
        """Return the violation of the constraints beyond round-off: 0 for a plan that meets them."""
        return max((value for one in self.constraints if (value := one.value(plan)) > _noise(one, plan)), default=0.0)

    def nearest(self, plan: Floats) -> Floats | None:
        """Return the plan itself if it meets the constraints, or a nearby plan that does; ``None`` if none was found.

        Bounds on single actions are met by projection, infoset by infoset. For other constraints the plan is mixed with
        plans that play the same where the constraints do not matter. If no mixture is found, because the plans that
        meet linear constraints have hardly any slack, a linear program finds one of the nearest plans.
        """
        if self.violation(plan) == 0.0:
            return plan
        found = self._by_mixing(plan)
        return self._by_program(plan) if found is None else found

    def _by_mixing(self, plan: Floats) -> Floats | None:
        treeplex = self.treeplex
        behaviour = treeplex.behaviour(plan)
        if self._is_boxed:
            behaviour = self._projected(behaviour)
            plan = treeplex.plan(behaviour)
        for _ in range(_ROUNDS):
            if self.violation(plan) == 0.0:
                return plan
            mixed = self._mixed(plan, behaviour)
            if mixed is None:
                return None
            plan = mixed
            behaviour = np.where(plan > 0.0, treeplex.behaviour(plan), behaviour)
            if self._is_boxed:
                behaviour = self._projected(treeplex.behaviour(plan))
                plan = treeplex.plan(behaviour)
        return plan if self.violation(plan) == 0.0 else None

    def _by_program(self, plan: Floats) -> Floats | None:
        """Return a plan that meets linear constraints with the least sum of distances; ``None`` if none was found.

        The program is in units of the violation, because the tolerances of solvers are absolute, and is solved again
        for the violation that round-off leaves.
        """
        with loading():
            from scipy.optimize import linprog

        treeplex, rows = self.treeplex, [one for one in self.constraints if isinstance(one, LinearConstraint)]
        if len(rows) < len(self.constraints) or treeplex.num_sequences > _PROGRAM:
            return None
        sizes = np.array([one.largest_coefficient or 1.0 for one in rows])
        matrix = sp.lil_array((len(rows), treeplex.num_sequences))
        for row, (one, size) in enumerate(zip(rows, sizes, strict=True)):
            matrix[row, one.indices] = one.coefficients / size
        moves, flows = sp.csr_array(matrix), sp.csr_array(treeplex.E)
        for _ in range(_ROUNDS):
            unit = self.violation(plan)
            if unit == 0.0:
                return plan
            values = np.array([one.value(plan) for one in rows]) / sizes
            unit = max(float(values.max()), 1e-15)
            solved = linprog(
                np.ones(2 * len(plan)),
                A_ub=sp.hstack([moves, -moves]),
                b_ub=-values / unit,
                A_eq=sp.hstack([flows, -flows]),
                b_eq=np.zeros(flows.shape[0]),
                bounds=np.column_stack([np.zeros(2 * len(plan)), np.append(np.full(len(plan), np.inf), plan / unit)]),
                method="highs-ds",
                options={"primal_feasibility_tolerance": 1e-10},
            )
            if not solved.success:
                return None
            more, less = np.split(solved.x, 2)
            moved = np.maximum(plan + unit * (more - less), 0.0)
            plan = treeplex.plan(treeplex.behaviour(moved))
        return plan if self.violation(plan) == 0.0 else None

    def _projected(self, behaviour: Floats) -> Floats:
        """Return the nearest behaviour within the bounds at each infoset: b + τ, clipped, with Σ b = 1."""
        treeplex, least, most = self.treeplex, self.least, self.most
        starts = treeplex.offsets[:-1]
        outside = (behaviour < least) | (behaviour > most)
        bad = np.flatnonzero(np.logical_or.reduceat(outside, starts))
        if not len(bad):
            return behaviour
        counts = treeplex.num_actions[bad]
        begins = np.cumsum(counts) - counts
        places = np.arange(int(counts.sum())) + np.repeat(treeplex.offsets[bad] - begins, counts)
        own, low, high = behaviour[places], least[places], most[places]
        below, above = -np.ones(len(bad)), np.ones(len(bad))
        for _ in range(_HALVINGS):
            middle = (below + above) / 2.0
            total = np.add.reduceat(np.clip(own + np.repeat(middle, counts), low, high), begins)
            below, above = np.where(total < 1.0, middle, below), np.where(total < 1.0, above, middle)
        kept = np.clip(own + np.repeat(above, counts), low, high)
        # The remainder of the bisection goes to actions that have slack.
        rest = np.repeat(1.0 - np.add.reduceat(kept, begins), counts)
        room = np.where(rest > 0.0, high - kept, kept - low)
        total = np.repeat(np.add.reduceat(room, begins), counts)
        kept += np.divide(rest * room, total, out=np.zeros_like(kept), where=total > 0.0)
        found = behaviour.copy()
        found[places] = np.clip(kept, low, high)
        return found

    def _mixed(self, plan: Floats, behaviour: Floats) -> Floats | None:
        """Mix a plan with others so that at most a small part of its violation of the constraints remains.

        Weights z ≥ 0, relative to 1 for the plan itself, solve min Σ z such that f(plan) + Σ z f(other) ≤ 0, in units
        of the violation. Pricing finds the other plans, starting with plans that differ only at infosets of the
        constraints.
        """
        with loading():
            from scipy.optimize import linprog

        values = np.array([one.value(plan) for one in self.others])
        if not len(values):
            return None
        sizes = np.array([one.largest_coefficient or 1.0 for one in self.others])
        values = values / sizes
        missed = float(values.max())
        if missed <= 0.0:
            return None
        # A mixture whose weights are not tiny needs no more slack than this.
        first = np.maximum(values / missed, -1e9)
        slopes = [one.minorant(plan) for one in self.others]
        plans: list[Floats] = []
        columns: list[Floats] = []
        prices = np.maximum(first, 0.0)
        weights: Floats | None = None
        for local in (True, False):
            for _ in range(_COLUMNS):
                gradient = np.zeros(len(plan))
                for price, size, (slope, _) in zip(prices, sizes, slopes, strict=True):
                    if price > 0.0:
                        gradient -= price / size * slope
                other = self._response(gradient, behaviour, local)
                column = self._values(other) / sizes
                if columns and prices @ column > -1.0 + 1e-9 * max(1.0, float(np.abs(prices).max())):
                    break  # this plan does not help, and no other plan is better
                for share in _STEPS if any(not isinstance(one, LinearConstraint) for one in self.others) else (1.0,):
                    plans.append(plan + share * (other - plan))
                    columns.append(column if share == 1.0 else self._values(plans[-1]) / sizes)
                solved = linprog(
                    np.append(np.ones(len(columns)), _MISSED),
                    A_ub=np.column_stack([*columns, -np.ones(len(first))]),
                    b_ub=-first,
                    method="highs",
                )
                if not solved.success:
                    return None
                prices = -np.asarray(solved.ineqlin.marginals)
                if solved.x[-1] <= 1e-7:
                    weights = missed * np.maximum(solved.x[:-1], 0.0)
                    break
            if weights is not None:
                break
        if weights is None:
            return None
        total = 1.0 + weights.sum()
        return np.asarray((plan + sum(weight * other for weight, other in zip(weights, plans, strict=True))) / total)

    def _values(self, plan: Floats) -> Floats:
        return np.array([one.value(plan) for one in self.others])

    def _response(self, gradient: Floats, behaviour: Floats, local: bool) -> Floats:
        """Return the plan within the bounds that maximises a gradient, unchanged where the gradient is zero.

        Parameters
        ----------
        gradient : ndarray of float64, shape (num_sequences,)
        behaviour : ndarray of float64, shape (num_sequences,)
            The given behaviour, within the bounds.
        local : bool
            Whether to change only infosets whose own sequences have a non-zero gradient.
        """
        treeplex = self.treeplex
        values, played = gradient.copy(), behaviour.copy()
        noise = ROUND_OFF * float(np.abs(gradient).max(initial=0.0))
        for level in reversed(treeplex.levels):
            own = values[level.sequences]
            direct = np.logical_or.reduceat(gradient[level.sequences] != 0.0, level.starts)
            spread = np.maximum.reduceat(own, level.starts) - np.minimum.reduceat(own, level.starts)
            moves = (spread > noise) & (direct | (not local))
            best = self._filled(level.sequences, own, level.counts, level.starts)
            now = np.where(np.repeat(moves, level.counts), best, behaviour[level.sequences])
            played[level.sequences] = now
            level.pass_up(np.add.reduceat(now * own, level.starts), values)
        return treeplex.plan(played)

    def _filled(
        self,
        sequences: npt.NDArray[np.int32],
        values: Floats,
        counts: npt.NDArray[np.int32],
        starts: npt.NDArray[np.int32],
    ) -> Floats:
        """Return behaviour at a level's infosets that plays the most valuable actions as often as the bounds allow."""
        low = self.least[sequences]
        room = self.most[sequences] - low
        owners = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((-values, owners))
        rooms = room[order]
        before = np.cumsum(rooms) - rooms
        before -= np.repeat(before[starts], counts)
        left = np.repeat(1.0 - np.add.reduceat(low, starts), counts)
        taken = np.clip(left - before, 0.0, rooms)
        found = low.copy()
        found[order] += taken
        return found


def _noise(constraint: Constraint, plan: Floats) -> float:
    """Return the value that a constraint may have from round-off alone."""
    if not isinstance(constraint, LinearConstraint):
        return ROUND_OFF
    terms = float(np.abs(constraint.coefficients) @ np.abs(plan[constraint.indices]))
    return ROUND_OFF * max(terms, abs(constraint.limit))


def feasible(rows: Rows, treeplex: Treeplex, plan: Floats) -> Floats | None:
    """Return a plan that meets hard constraints, near the given plan; ``None`` if none was found."""
    if rows.penalty is not None or not rows.constraints:
        return plan
    return FeasiblePlans.of(rows, treeplex).nearest(plan)
