"""The pure replies of a follower, one by one: what each pays, and bounds on what a commitment earns against each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats, Integers
from ...seqform.polytope import Treeplex, best_response_value
from ..constraints import LinearConstraint
from ..programs.linear_program import LinearProgram, ProgramBlocks

#: Up to this many pure replies are listed one by one.
MOST_REPLIES = 500
#: Or up to this many, if they are replies in a commitment of a follower without types.
_MOST_OF_ONE_TYPE = 2_000
#: They may have at most this many payoffs against the leader's sequences.
MOST_PAYOFFS = 100_000
#: Payoffs of the follower that differ by less are ties, in units of its largest payoff.
TIE = 1e-11
#: Two replies pay the follower the same against every commitment if they do so up to this, in the same units.
_SAME = 1e-12
#: A reply is strictly best somewhere if it can be better than all others by more than this, in the same units.
MARGIN = 1e-9
#: How far the weights of a mixture may be from a sum of 1.
_SHARES = 1e-12


def pure_plans(treeplex: Treeplex, most: int = MOST_REPLIES) -> Floats | None:
    """Return the pure plans of a player, or ``None`` if there are more than `most`.

    Those of a flow without chance are its routes. It is ``None`` too if a pure plan may reach an infoset twice, or only
    with a probability.

    Returns
    -------
    ndarray of float64, shape (number of plans, num_sequences), or None

    Examples
    --------
    >>> from treeplex.models.problems.pure_replies import pure_plans
    >>> from treeplex.seqform.polytope import Treeplex
    >>> pure_plans(Treeplex([0, 1], [2, 2])).astype(int).tolist()
    [[1, 1, 0, 1, 0], [1, 1, 0, 0, 1], [1, 0, 1, 0, 0]]
    """
    reached = treeplex.inflow.tocoo()
    if not (reached.data == 1.0).all():
        return None
    below: list[list[int]] = [[] for _ in range(treeplex.num_sequences)]
    for infoset, sequence in zip(*(one.tolist() for one in reached.coords), strict=True):
        below[sequence].append(infoset)
    offsets = treeplex.offsets.tolist()
    plans: list[list[tuple[int, ...]]] = [[] for _ in range(treeplex.num_infosets)]

    def after(sequence: int) -> list[tuple[int, ...]] | None:
        if np.prod([float(len(plans[infoset])) for infoset in below[sequence]]) > most:
            return None
        return [(sequence, *sum(parts, ())) for parts in product(*(plans[infoset] for infoset in below[sequence]))]

    for infoset in reversed(range(treeplex.num_infosets)):
        for sequence in range(offsets[infoset], offsets[infoset + 1]):
            found = after(sequence)
            if found is None or len(plans[infoset]) + len(found) > most:
                return None
            plans[infoset] += found
    whole = after(0)
    if whole is None:
        return None
    table = np.zeros((len(whole), treeplex.num_sequences))
    for number, played in enumerate(whole):
        table[number, list(played)] = 1.0
    return table if (treeplex.e[:, None] == treeplex.E @ table.T).all() else None


def most_replies(treeplex: Treeplex) -> int:
    """Return the number of pure replies up to which a commitment lists them.

    Several infosets below the empty sequence are types, which reply for themselves: a list has all combinations.
    """
    return _MOST_OF_ONE_TYPE if treeplex.inflow[:, [0]].nnz <= 1 else MOST_REPLIES


@dataclass(frozen=True, eq=False)
class PureReplies:
    r"""What each pure reply k pays against each sequence of the leader: a_k to the follower, b_k to the leader.

    Attributes
    ----------
    plans : ndarray of float64, shape (n, num_sequences of the follower)
    theirs, mine : ndarray of float64, shape (n, num_sequences of the leader)
        The rows a_k and b_k, in units of the payoffs.
    leader : Treeplex
    constraints : sequence of LinearConstraint
        G y ≤ h, on the leader's plan y.

    Notes
    -----
    The best commitment y to which k is a best reply maximises b_k · y such that (a_k − a_j) · y ≥ 0 for all j and
    G y ≤ h. For any weights λ_j ≥ 0 and prices μ ≥ 0, it earns at most

    .. math:: \max_{y} \Big[ \big(b_k + \sum_j \lambda_j (a_k - a_j)\big) \cdot y - \mu \cdot (G y - h) \Big],

    where y is any plan: one best response computes the bound, for any λ and μ.

    If the follower breaks ties against the leader, let C be the replies that pay it as much as k against every y. Then
    b_k becomes any mixture of the rows b_j of C. A reply that is nowhere strictly better than all replies outside C
    needs no bound: every y to which it is a best reply is also one to which some other reply is, and those that are
    strictly best somewhere cover all y (B. von Stengel and S. Zamir, "Leadership games with convex strategy sets",
    Games and Economic Behavior 69, 2010).
    """

    plans: Floats
    theirs: Floats
    mine: Floats
    leader: Treeplex
    constraints: Sequence[LinearConstraint] = ()

    def __len__(self) -> int:
        return len(self.plans)

    @cached_property
    def rows(self) -> sp.csr_array:
        """G, one row per constraint."""
        rows = [
            sp.csr_array((one.coefficients, ([0] * len(one.indices), one.indices)), (1, self.leader.num_sequences))
            for one in self.constraints
        ]
        return sp.csr_array(sp.vstack(rows)) if rows else sp.csr_array((0, self.leader.num_sequences))

    @cached_property
    def limits(self) -> Floats:
        """h, one number per constraint."""
        return np.array([float(one.limit) for one in self.constraints])

    @cached_property
    def classes(self) -> Integers:
        """For each reply, the first one that pays the follower the same against every commitment."""
        rng = np.random.default_rng(0)  # so many random plans span all plans, with probability 1
        tree, spanning = self.leader, []
        for _ in range(tree.num_sequences + 1):
            drawn = rng.random(tree.num_sequences)
            totals = np.add.reduceat(drawn, tree.offsets[:-1]) if tree.num_infosets else drawn[:0]
            behaviour = np.concatenate([[1.0], drawn[1:] / np.repeat(totals, tree.num_actions)])
            spanning.append(tree.plan(behaviour))
        paid = self.theirs @ np.array(spanning).T
        first = np.full(len(self), -1, dtype=np.int32)
        for number in range(len(self)):
            if first[number] < 0:
                first[(np.abs(paid - paid[number]).max(axis=1) <= _SAME) & (first < 0)] = number
        return first

    def members(self, number: int) -> Integers:
        """Return the replies that pay the follower the same as one of them against every commitment."""
        return np.flatnonzero(self.classes == self.classes[number]).astype(np.int32)

    def program(self, number: int, members: Integers) -> LinearProgram:
        """Return the program of the best commitment for a reply, which is paid the least of some rows b_j."""
        blocks = self._blocks()
        blocks.add_columns("paid", 1, objective=1.0)
        blocks.add_rows("best", {"leader": sp.csr_array(self.theirs[[number]] - self.theirs)}, lower=0.0)
        ones = sp.csr_array(np.ones((len(members), 1)))
        blocks.add_rows("paid", {"paid": ones, "leader": sp.csr_array(-self.mine[members])}, upper=0.0)
        if self.constraints:
            blocks.add_rows("constraints", {"leader": self.rows}, upper=self.limits)
        return blocks.program(maximise=True)

    def margin_program(self, number: int, others: Integers) -> LinearProgram:
        """Return the program of the largest margin by which a reply beats others, and constraints are met."""
        blocks = self._blocks()
        blocks.add_columns("margin", 1, objective=1.0, upper=1.0)
        short = sp.csr_array(-np.ones((len(others), 1)))
        better = sp.csr_array(self.theirs[[number]] - self.theirs[others])
        blocks.add_rows("best", {"leader": better, "margin": short}, lower=0.0)
        if self.constraints:
            ones = sp.csr_array(np.ones((len(self.constraints), 1)))
            blocks.add_rows("constraints", {"leader": self.rows, "margin": ones}, upper=self.limits)
        return blocks.program(maximise=True)

    def _blocks(self) -> ProgramBlocks:
        blocks = ProgramBlocks()
        blocks.add_columns("leader", self.leader.num_sequences, lower=0.0)
        blocks.add_rows("leader's plan", {"leader": self.leader.E}, lower=self.leader.e, upper=self.leader.e)
        return blocks

    def bound(self, number: int, weights: Floats, prices: Any = (), shares: Floats | None = None) -> float:
        """Return the bound of the notes of the class on what a commitment earns against a reply.

        Parameters
        ----------
        number : int
        weights : ndarray of float64, shape (n,)
            λ.
        prices : array_like, shape (number of constraints,)
            μ.
        shares : ndarray of float64, shape (n,), optional
            The weights of a mixture of rows b_j in place of b_k.
        """
        earned = self.mine[number] if shares is None else shares @ self.mine
        return self._most(earned, number, weights, prices)

    def nowhere_best(self, number: int, weights: Floats) -> bool:
        """Whether a mixture of other replies proves that a reply is nowhere strictly best, up to round-off."""
        if weights[self.members(number)].any() or abs(weights.sum() - 1.0) > _SHARES:
            return False
        return self._most(np.zeros(self.leader.num_sequences), number, weights, ()) <= MARGIN

    def _most(self, earned: Floats, number: int, weights: Floats, prices: Any) -> float:
        gradient = earned + weights.sum() * self.theirs[number] - weights @ self.theirs
        fixed = 0.0
        if self.constraints:
            mu = np.asarray(prices, dtype=np.float64)
            gradient, fixed = gradient - self.rows.T @ mu, float(mu @ self.limits)
        return best_response_value(self.leader, gradient) + fixed

    def pessimistic(self, plan: Floats) -> int:
        """Return the best reply to a plan that is worst for the leader."""
        paid = self.theirs @ plan
        tied = np.flatnonzero(paid >= paid.max() - TIE)
        return int(tied[np.argmin(self.mine[tied] @ plan)])

    def approached(self, limit: Floats, inside: Floats) -> tuple[int, float, float]:
        """Return the best reply at `inside`, its margin there, and its shortfall from a best reply at `limit`."""
        number = int(np.argmax(self.theirs @ inside))
        others = np.flatnonzero(self.classes != self.classes[number])
        if not len(others):
            return number, np.inf, 0.0
        beaten = self.theirs[number] - self.theirs[others]
        return number, float((beaten @ inside).min()), max(0.0, -float((beaten @ limit).min()))

    def supremum(self, limit: Floats, inside: Floats) -> float | None:
        """Return what commitments near a plan on the way from `limit` to `inside` earn, in the limit.

        It is ``None`` if no reply is strictly best at `inside`. The plan is the first on the way to which the reply of
        `inside` is a best reply. After it, the reply is strictly best, so that ties do not matter.
        """
        number, margin, short = self.approached(limit, inside)
        if margin <= 0.0:
            return None
        step = short / (margin + short)
        near = (1.0 - step) * limit + step * inside
        return float((self.mine[self.members(number)] @ near).min())
