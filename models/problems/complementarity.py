"""Nash equilibria of two players as a linear complementarity problem in sequence form, in floats or exact numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...seqform.polytope import Treeplex
from ...seqform.rationals import to_fractions


@dataclass(frozen=True, eq=False)
class Complementarity:
    r"""The equilibrium conditions of two players, solved for the variables that are basic at a prior.

    Variables come in pairs. For the k-th of all n sequences, player 0's first, variable 2k is the sequence's weight in
    the plan, and variable 2k + 1 its loss. Variable 2n is w, the weight of the plans against the prior, and variable
    2n + 1 is 1 − w.

    Attributes
    ----------
    dictionary : ndarray, shape (n + 1, n + 2)
        The basic variables as affine functions of the others. Row k is the basic variable of pair k, column k + 1 the
        other variable of that pair, and column 0 contains the constants, which are not negative.
    basic : ndarray of int64, shape (n + 1,)
        The basic variables: 1 − w, the weights of the best responses to the prior, and the losses of other sequences.

    Notes
    -----
    Let A and B be the players' payoffs by sequences, p and q the worths of their infosets. Plans x and y form an
    equilibrium if

    .. math::

        E x = e, \quad r = E^\top p - A y \ge 0, \quad x \ge 0, \quad x^\top r = 0,

        F y = f, \quad s = F^\top q - B^\top x \ge 0, \quad y \ge 0, \quad y^\top s = 0

    (D. Koller, N. Megiddo and B. von Stengel, "Efficient computation of equilibria for extensive two-person games",
    Games and Economic Behavior 14, 1996). A prior :math:`(\bar x, \bar y)` replaces a part 1 − w of the plans:

    .. math::

        E x = w e, \quad r = E^\top p - A (y + (1 - w) \bar y), \quad
        F y = w f, \quad s = F^\top q - B^\top (x + (1 - w) \bar x)

    (B. von Stengel, A. van den Elzen and D. Talman, "Computing normal form perfect equilibria for extensive two-person
    games", Econometrica 70, 2002). At w = 0 the best responses to the prior solve the conditions; solutions at w = 1
    are equilibria. Worths are free variables; the losses of the best responses replace them.
    """

    dictionary: npt.NDArray[Any]
    basic: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls, treeplexes: Sequence[Treeplex], payoffs: Sequence[npt.NDArray[Any]], prior: Sequence[npt.NDArray[Any]]
    ) -> "Complementarity":
        """Return the conditions.

        Parameters
        ----------
        treeplexes : sequence of Treeplex
            Of two players.
        payoffs : sequence of ndarray
            Each player's payoffs by its own sequences, in rows, and the other player's; floats or exact numbers.
        prior : sequence of ndarray
            A plan per player, in the same numbers.
        """
        first, second = treeplexes
        sides = (
            _Side.of(first, payoffs[0] @ prior[1], 0),
            _Side.of(second, payoffs[1] @ prior[0], first.num_sequences),
        )
        size = first.num_sequences + second.num_sequences
        one = _one(payoffs[0])
        dictionary = np.full((size + 1, size + 2), 0 * one)
        basic = 2 * np.arange(size + 1, dtype=np.int64) + 1
        for player, (own, other) in enumerate((sides, sides[::-1])):
            basic[own.best] -= 1
            weights = own.weights()
            dictionary[np.ix_(own.best, own.rest + 1)], dictionary[own.best, -1] = weights[:, :-1], weights[:, -1]
            dictionary[np.ix_(own.rest, own.best + 1)] = -weights[:, :-1].T
            _, gained = own.deviations(payoffs[player])
            against_best, against_rest = other.deviations(gained.T)
            dictionary[np.ix_(own.rest, other.rest + 1)] = -against_rest.T
            lost = -(gained @ prior[1 - player])
            dictionary[own.rest, 0], dictionary[own.rest, -1] = lost, -lost - against_best
        dictionary[-1, 0], dictionary[-1, -1] = one, -one
        return cls(dictionary, basic)


@dataclass(frozen=True, eq=False)
class _Side:
    """A player's sequences, divided into those of a best response and the rest.

    Attributes
    ----------
    best, rest : ndarray of int64
        Numbers among the sequences of both players. `best` begins with the empty sequence; then follows the best
        sequence of every infoset.
    inflow : list of list of tuple
        The sequences that lead to each infoset, with weights.
    one : float or Fraction
    """

    treeplex: Treeplex
    first: int
    best: npt.NDArray[np.int64]
    rest: npt.NDArray[np.int64]
    inflow: list[list[tuple[int, Any]]]
    one: Any

    @classmethod
    def of(cls, treeplex: Treeplex, payoffs: npt.NDArray[Any], first: int) -> "_Side":
        """Find a best response if a player's sequences, numbered from `first` on, earn the given payoffs."""
        given, totals, offsets = treeplex.inflow, payoffs.copy(), treeplex.offsets.tolist()
        weights = (to_fractions(given.data) if payoffs.dtype == object else given.data).tolist()
        entries = list(zip(given.indices.tolist(), weights, strict=True))
        inflow = [entries[begin:end] for begin, end in pairwise(given.indptr.tolist())]
        best = np.zeros(treeplex.num_infosets + 1, dtype=np.int64)
        for infoset in range(treeplex.num_infosets - 1, -1, -1):
            begin, end = offsets[infoset : infoset + 2]
            best[infoset + 1] = chosen = begin + int(np.argmax(totals[begin:end]))
            for source, weight in inflow[infoset]:
                totals[source] += weight * totals[chosen]
        rest = np.setdiff1d(np.arange(treeplex.num_sequences), best)
        return cls(treeplex, first, first + best, first + rest, inflow, _one(payoffs))

    def weights(self) -> npt.NDArray[Any]:
        """Return the weights of the best sequences as linear functions of those of the rest, and of w."""
        owners, rest = self.treeplex.sequence_infosets, self.rest - self.first
        found = np.full((len(self.best), len(rest) + 1), 0 * self.one)
        found[0, -1] = self.one
        found[owners[rest] + 1, np.arange(len(rest))] = -self.one
        columns = np.full(self.treeplex.num_sequences, -1)
        columns[rest] = np.arange(len(rest))
        for infoset, sources in enumerate(self.inflow):
            for source, weight in sources:
                if columns[source] < 0:
                    found[infoset + 1] += weight * found[owners[source] + 1]
                else:
                    found[infoset + 1, columns[source]] += weight
        return found

    def deviations(self, payoffs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the payoffs of the best response, and what the player gains by each other sequence in its place.

        Parameters
        ----------
        payoffs : ndarray, shape (num_sequences, k)
            The payoffs of all sequences in k situations.
        """
        totals, best, rest = payoffs.copy(), self.best - self.first, self.rest - self.first
        for infoset in range(len(self.inflow) - 1, -1, -1):
            for source, weight in self.inflow[infoset]:
                totals[source] += weight * totals[best[infoset + 1]]
        return totals[0], totals[rest] - totals[best[self.treeplex.sequence_infosets[rest] + 1]]


def _one(like: npt.NDArray[Any]) -> Any:
    return Fraction(1) if like.dtype == object else 1.0
