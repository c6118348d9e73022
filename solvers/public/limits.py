"""Limits of behaviour: constraints on one action's probability at one infoset, which the loop meets exactly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...models.constraints import Constraint, LinearConstraint
from ...seqform.arrays import Floats, Indices
from ...seqform.polytope import Treeplex

#: The tolerance for equal bounds, and for sums of bounds above one.
_ROUND_OFF = 1e-9
#: Lower bounds that leave less than this leave nothing: in single precision their sum might exceed one.
_FULL = 3e-7


@dataclass(frozen=True)
class Bound:
    """A bound x_a ≤ u x_σ, or the same with ≥, on a sequence a at an infoset after σ.

    The multiplier of the constraint is ``factor`` times the multiplier of this bound.
    """

    constraint: str
    sequence: int
    is_upper: bool
    number: float
    factor: float


def bound_of(constraint: Constraint, treeplex: Treeplex) -> Bound | None:
    """Return the bound of a constraint, if it bounds one action given its infoset and nothing else.

    A bound on all other actions together is equivalent: they are at most u if the action is at least 1 − u.
    """
    if not isinstance(constraint, LinearConstraint):
        return None
    kept = constraint.coefficients != 0.0
    sequences, numbers = constraint.indices[kept], constraint.coefficients[kept]
    if not len(sequences) or sequences[-1] == 0:
        return None
    # Sequences are in the order of their infosets: a sequence before the last one's infoset must be its parent.
    infoset = int(treeplex.sequence_infosets[sequences[-1]])
    own, parent = np.arange(*treeplex.offsets[infoset : infoset + 2]), int(treeplex.parents[infoset])
    before = sequences < own[0]
    bounded, alpha = sequences[~before], float(numbers[-1])
    others = np.setdiff1d(own, bounded)
    if (sequences[before] != parent).any() or (numbers[~before] != alpha).any() or 1 not in (len(bounded), len(others)):
        return None
    share, limit = float(numbers[before].sum()), constraint.limit
    if parent == 0:  # whose realization is always 1
        share, limit = share - limit, 0.0
    if limit:
        return None
    number, is_upper = -share / alpha, alpha > 0.0
    if len(bounded) == 1:
        return Bound(constraint.name, int(bounded[0]), is_upper, number, 1.0 / abs(alpha))
    return Bound(constraint.name, int(others[0]), not is_upper, 1.0 - number, 1.0 / abs(alpha))


@dataclass(frozen=True, eq=False)
class Limits:
    """The least probabilities of a player's actions, and the actions that share the rest.

    A behaviour within the limits is b = ℓ + (1 − Σ ℓ) s, with the least probabilities ℓ ≥ 0 and any distribution s on
    the free actions. So only regrets of s need to be learned.

    Attributes
    ----------
    treeplex : Treeplex
    least : ndarray of float64, shape (num_sequences,)
    free : ndarray of bool, shape (num_sequences,)
    bounds : tuple of Bound
    """

    treeplex: Treeplex
    least: Floats
    free: Indices
    bounds: tuple[Bound, ...]

    @classmethod
    def among(cls, constraints: Sequence[Constraint], treeplex: Treeplex) -> "tuple[Limits | None, list[Constraint]]":
        """Return the limits among a player's constraints, if any, and the other constraints."""
        found = {one.name: bound for one in constraints if (bound := bound_of(one, treeplex)) is not None}
        least, most = np.zeros(treeplex.num_sequences), np.ones(treeplex.num_sequences)
        for one in found.values():
            if one.is_upper:
                most[one.sequence] = min(most[one.sequence], one.number)
            else:
                least[one.sequence] = max(least[one.sequence], one.number)
        kept: set[int] = set()
        free = np.ones(treeplex.num_sequences, dtype=bool)
        for infoset in sorted({int(treeplex.sequence_infosets[one.sequence]) for one in found.values()}):
            own = slice(int(treeplex.offsets[infoset]), int(treeplex.offsets[infoset + 1]))
            if _fits(least[own], most[own], free[own]):
                kept.add(infoset)
            else:
                least[own], free[own] = 0.0, True
        bounds = tuple(one for one in found.values() if int(treeplex.sequence_infosets[one.sequence]) in kept)
        names = {one.constraint for one in bounds}
        others = [one for one in constraints if one.name not in names]
        return (cls(treeplex, least, free, bounds) if bounds else None), others

    def only_behaviour(self, paid: Floats) -> Floats | None:
        """Return the behaviour of the only plan within the limits; ``None`` if there are several plans.

        Infosets that the plan does not reach, or that chance does not, have no effect. If they have no limits, the
        behaviour there is uniform.

        Parameters
        ----------
        paid : ndarray of float64, shape (num_sequences,)
            A number for each sequence that is 0 if no payoff depends on it.
        """
        treeplex, starts = self.treeplex, self.treeplex.offsets[:-1] - 1
        rest = 1.0 - np.add.reduceat(self.least[1:], starts)
        count = np.add.reduceat(self.free[1:].astype(np.int64), starts)
        decided = (rest <= _ROUND_OFF) | (count == 1)  # a single free action takes the rest
        filled = self.least[1:] + np.repeat(np.maximum(rest, 0.0), treeplex.num_actions) * self.free[1:]
        behaviour = treeplex.uniform_behaviour()
        behaviour[1:] = np.where(np.repeat(decided, treeplex.num_actions), filled, behaviour[1:])
        reached = treeplex.reach(treeplex.plan(behaviour)) > 0.0
        matters, values = np.zeros(treeplex.num_infosets, dtype=bool), np.array(paid)
        for level in reversed(treeplex.levels):
            below = np.add.reduceat(values[level.sequences], level.starts)
            matters[level.infosets] = below > 0.0
            level.pass_up(below, values)
        return None if (reached & matters & ~decided).any() else behaviour

    def prices(self, payoffs: Floats) -> dict[str, float]:
        """Return, by constraint, multipliers of the bounds; they prove that a response within the bounds is best.

        With values v of an infoset's actions, upper bounds u and lower bounds ℓ, its value is by duality the minimum of
        m + Σ u (v − m)⁺ − Σ ℓ (m − v)⁺ over levels m. The multiplier of a bound is the distance between v and m.

        Parameters
        ----------
        payoffs : ndarray of float64, shape (num_sequences,)
            The player's payoff per unit of each sequence.
        """
        treeplex, values = self.treeplex, self.treeplex.checked_vector(payoffs, "payoffs")
        at: dict[int, list[Bound]] = {}
        for one in self.bounds:
            at.setdefault(int(treeplex.sequence_infosets[one.sequence]), []).append(one)
        prices = dict.fromkeys((one.constraint for one in self.bounds), 0.0)
        for level in reversed(treeplex.levels):
            best = np.maximum.reduceat(values[level.sequences], level.starts)
            for place in np.flatnonzero(np.isin(level.infosets, list(at))).tolist():
                infoset = int(level.infosets[place])
                best[place] = _priced(
                    values, int(treeplex.offsets[infoset]), int(level.counts[place]), at[infoset], prices
                )
            level.pass_up(best, values)
        return prices


def _priced(values: Floats, first: int, count: int, bounds: Sequence[Bound], prices: dict[str, float]) -> float:
    """Record the multipliers of the bounds at an infoset, and return the infoset's value within the bounds."""
    here = values[first : first + count]
    tightest: list[dict[int, Bound]] = [{}, {}]  # for each action, the largest lower and the smallest upper bound
    for one in bounds:
        if one.number >= 1.0 if one.is_upper else one.number <= 0.0:
            continue  # it always holds
        known, sign = tightest[one.is_upper], -1.0 if one.is_upper else 1.0
        if one.sequence not in known or sign * one.number > sign * known[one.sequence].number:
            known[one.sequence] = one
    lower, upper = tightest
    found, level = np.inf, 0.0
    for m in np.sort(here)[::-1].tolist():
        if any(value > m and first + place not in upper for place, value in enumerate(here.tolist())):
            break
        worth = m + sum(max(values[s] - m, 0.0) * one.number for s, one in upper.items())
        worth -= sum(max(m - values[s], 0.0) * one.number for s, one in lower.items())
        if worth < found:
            found, level = worth, m
    for side, sign in ((lower, -1.0), (upper, 1.0)):
        for sequence, one in side.items():
            prices[one.constraint] += max(0.0, sign * float(values[sequence] - level)) * one.factor
    return float(found)


def _fits(least: Floats, most: Floats, free: Indices) -> bool:
    """Express bounds as lower bounds and free actions, if possible; return whether it is."""
    if len(least) == 2:
        least[:] = np.maximum(least, 1.0 - most[::-1])
    closed = most <= least + _ROUND_OFF
    total = least.sum()
    if (most < least - _ROUND_OFF).any() or total > 1.0 + _ROUND_OFF:
        return False
    if closed.all() and total < 1.0 - _ROUND_OFF:
        return False
    if closed.all() or total > 1.0 - _FULL:
        least /= total
        closed[:] = True
    if not (closed | (most >= 1.0 - (total - least) - _ROUND_OFF)).all():
        return False  # an upper bound that other actions' lower bounds do not imply
    free[:] = ~closed
    return True
