"""The mean of several losses beyond a quantile, where each loss is a maximum over replies."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.polytope import Treeplex, best_response_plan, best_response_value
from .terms import POLYHEDRAL, Numbers, PiecewiseLinear, TermRows

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class Tail(PiecewiseLinear):
    """The conditional value at risk (CVaR) of losses V_i with probabilities p_i, each a maximum over replies.

    Let z = B x − c consist of parts z_i, one per loss, and V_i(z) = max over replies r in R_i of r · z_i. Then

        φ(z) = min over τ of τ + Σ p_i (V_i(z) − τ)⁺ / (1 − α) = max over q of Σ q_i V_i(z),

    where 0 ≤ q_i ≤ p_i / (1 − α) and Σ q_i = 1. This is the mean of the worst losses, of total probability 1 − α (R. T.
    Rockafellar and S. Uryasev, "Optimization of conditional value-at-risk", Journal of Risk 2, 2000, theorem 1; for
    losses with atoms "Conditional value-at-risk for general loss distributions", Journal of Banking & Finance 26,
    2002). With α = 0 it is the mean, and with α = 1 the largest loss of positive probability. Slopes are (q_i r_i). φ
    is the support function of all of them, so its conjugate is 0 there.

    Attributes
    ----------
    matrix, shifts
        B and c, whose rows are the sequences of the replies of the first loss, then of the second, and so on.
    replies : tuple of Treeplex
        R_i. A loss that is linear in x has a treeplex without infosets, whose only sequence is the empty one.
    probabilities : ndarray of float64, shape (len(replies),)
        p.
    level : float
        α, from 0 to 1.

    Examples
    --------
    The mean of the worse half of three losses with probabilities 1/2, 1/4 and 1/4:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from treeplex.models.convex import Tail
    >>> from treeplex.seqform.polytope import Treeplex
    >>> linear = (Treeplex([], []),) * 3
    >>> tail = Tail(sp.eye_array(3, format="csr"), np.zeros(3), linear, np.array([0.5, 0.25, 0.25]), 0.5)
    >>> tail.value(np.array([1.0, 4.0, 2.0])), tail.slopes_at(np.array([1.0, 4.0, 2.0])).tolist()
    (3.0, [0.0, 0.5, 0.5])
    """

    replies: tuple[Treeplex, ...]
    probabilities: Floats
    level: float

    code = POLYHEDRAL

    @cached_property
    def caps(self) -> Floats:
        """Upper bounds on each q, shape (len(replies),)."""
        return np.minimum(1.0, self.probabilities / max(1.0 - self.level, np.finfo(np.float64).tiny))

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(treeplex.num_sequences for treeplex in self.replies)]

    def _parts(self, numbers: Floats) -> Iterator[tuple[Treeplex, Floats]]:
        """Yield each loss's replies with its part of z or of the slopes."""
        return zip(self.replies, np.split(numbers, self._starts[1:-1]), strict=True)

    def losses(self, arguments: Floats) -> Floats:
        """Return V at z, shape (len(replies),)."""
        return np.array([best_response_value(treeplex, part) for treeplex, part in self._parts(arguments)])

    def to_cvxpy(self, plan: "cp.Variable") -> "cp.Expression":
        """Return the term as a convex cvxpy expression of a plan: a minimum over auxiliary variables."""
        import cvxpy as cp
        from cvxpy.transforms.partial_optimize import partial_optimize

        rows = self.linear_rows()
        auxiliary = cp.Variable(len(rows.costs), bounds=[rows.least, np.inf])
        where, across, values = rows.auxiliary
        matrix = sp.csr_array((values, (where, across)), shape=(len(rows.places), len(rows.costs)))
        arguments = (self.matrix @ plan - self.shifts)[rows.places]
        least = cp.Problem(cp.Minimize(rows.costs @ auxiliary), [arguments + matrix @ auxiliary <= 0])
        return partial_optimize(least, opt_vars=[auxiliary])

    def linear_rows(self, unit: float = 1.0) -> TermRows:
        """Return the rows on z and on auxiliary variables: τ, the excesses, and the values of the replies' infosets.

        V_i ≤ τ + u_i for each loss, and v(I) ≥ z(s) + Σ_J w(J, s) v(J) for each sequence s at an infoset I of replies:
        the dual of the best response, as in the linear program of an equilibrium.
        """
        count = len(self.replies)
        rows, columns, values = [], [], []
        place, column = np.array(self._starts[:-1]), 1 + count
        for number, treeplex in enumerate(self.replies):
            inflow = treeplex.inflow.tocoo()
            owned = np.arange(1, treeplex.num_sequences)
            # Row s of a loss belongs to its sequence s; the row of the empty sequence bounds the loss itself.
            rows.append(place[number] + np.concatenate([inflow.coords[1], owned, [0, 0]]))
            infosets = np.concatenate([inflow.coords[0], treeplex.sequence_infosets[1:]]) + column
            columns.append(np.concatenate([infosets, [0, 1 + number]]))
            values.append(np.concatenate([inflow.data, -np.ones(len(owned)), [-1.0, -1.0]]))
            column += treeplex.num_infosets
        total = self._starts[-1]
        # The weight of each excess: large enough to make it 0 if the loss may be the whole tail.
        rates = np.where(self.caps < 1.0, self.caps, 2.0)
        return TermRows(
            heads=np.zeros(0, dtype=np.int64),
            places=np.arange(total),
            signs=np.ones(total, dtype=np.int64),
            costs=unit * np.concatenate([[1.0], rates, np.zeros(column - 1 - count)]),
            auxiliary=(np.concatenate(rows), np.concatenate(columns), unit * np.concatenate(values)),
            equal=np.zeros(total, dtype=bool),
            least=np.concatenate([[-np.inf], np.zeros(count), np.full(column - 1 - count, -np.inf)]),
        )

    def slopes(self, arguments: Numbers) -> Numbers:
        """Return slopes that are tight at z."""
        replies = [best_response_plan(treeplex, part) for treeplex, part in self._parts(arguments)]
        losses = np.array([reply.value for reply in replies])
        worst = np.argsort(-losses, kind="stable")
        shares = np.empty(len(losses))
        before = np.cumsum(self.caps[worst]) - self.caps[worst]
        shares[worst] = np.clip(1.0 - before, 0.0, self.caps[worst])
        return np.concatenate([share * reply.plan for share, reply in zip(shares, replies, strict=True)])

    def _value(self, arguments: Numbers) -> float:
        return float(self.slopes(arguments) @ arguments)

    def _valid(self, slopes: Numbers) -> Numbers:
        """Return slopes that are weighted replies: the given ones, normalised and clipped to the caps."""
        given = np.minimum(np.maximum(slopes, 0.0), 1e100)
        shares = given[self._starts[:-1]]
        shares = np.minimum(shares / (shares.sum() or 1.0), self.caps)
        room = self.caps - shares
        shares += room * ((1.0 - shares.sum()) / (room.sum() or 1.0))
        replies = [treeplex.plan(treeplex.behaviour(part)) for treeplex, part in self._parts(given)]
        return np.concatenate([share * reply for share, reply in zip(shares, replies, strict=True)])
