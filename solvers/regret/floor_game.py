"""A game with a floor in the form of the compiled loop: the opponent also has a stake in the floor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...models.saddle import Saddle
from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError
from ...seqform.factored import FactoredPayoff
from ...seqform.polytope import Treeplex, best_response_value
from ...seqform.sequence_form import SequenceForm

#: The first stake, relative to the possible gain of the objective per unit of payoff.
FIRST_STAKE = 4.0
#: The stake is raised by this factor if it limits the price of the floor.
RAISE = 4.0
#: The fraction of the stake from which it counts as limiting the price.
NEAR_STAKE = 0.8
#: Sequences of the other player before its own: the empty sequence, calling the floor, and not calling it.
_CALL, _BEFORE = 1, 2


@dataclass(frozen=True, eq=False)
class FloorGame:
    """A saddle program with a floor, as an equilibrium problem.

    Before the game, the other player decides whether to call the floor f. If it does, x pays it K (f − xᵀ M y_s), where
    K is a stake. So x maximises c · x − K (f − min over y_s of xᵀ M y_s)⁺, and K times the probability of a call is the
    price κ of the floor. With a stake above κ, an optimal x meets the floor. Dividing by K leaves the payoffs unchanged
    and turns the tilt c into c / K, so that the stake can be raised at any time.

    Attributes
    ----------
    saddle : Saddle
        With a tilt and a floor, and without a free opponent.
    form : SequenceForm
        The game without its tilt.
    """

    saddle: Saddle
    form: SequenceForm

    @classmethod
    def of(cls, saddle: Saddle) -> FloorGame:
        """Pose a saddle program with a floor.

        Raises
        ------
        UnsupportedProblemError
            If the objective has a part that the other player chooses.
        """
        if saddle.weight is not None:
            raise UnsupportedProblemError(
                "regret methods do not support a floor if the objective depends on the opponent: use highs"
            )
        view = saddle.view
        other, matrices = view.other, view.matrices
        inflow = sp.coo_array(other.inflow)
        shape = (1 + other.num_infosets, _BEFORE + other.num_sequences)
        sources = np.where(inflow.coords[1] > 0, inflow.coords[1] + _BEFORE, _CALL)
        places = np.append(0, inflow.coords[0] + 1), np.append(0, sources)
        calling = Treeplex.from_inflow(
            sp.csr_array((np.append(1.0, inflow.data), places), shape=shape), np.append(_BEFORE, other.num_actions)
        )
        # The empty sequence of a reply becomes the call, which costs x the floor.
        columns = np.where(np.arange(other.num_sequences) > 0, np.arange(other.num_sequences) + _BEFORE, _CALL)
        move = sp.csr_array((np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), shape[1]))
        floor = sp.csr_array(([-float(saddle.floor)], ([0], [_CALL])), shape=(1, shape[1]))
        first = sp.csr_array(([1.0], ([0], [0])), shape=(view.own.num_sequences, 1))
        left = sp.hstack([matrices[0], first], format="csr")
        right = sp.vstack([matrices[-1] @ move, floor], format="csr")
        if len(matrices) == 1:
            payoffs = sp.csr_array(matrices[0] @ move + first @ floor)
            payoffs = payoffs if view.player == 0 else sp.csr_array(-payoffs.T)
            treeplexes = (view.own, calling) if view.player == 0 else (calling, view.own)
            return cls(saddle, SequenceForm(treeplexes, payoff_matrices=(payoffs, -payoffs)))
        assert view.factored is not None
        chained = None if view.factored.chained is None else np.append(view.factored.chained, False)
        factored = FactoredPayoff(left, right, chained, view.factored.scale)
        if view.player == 0:
            return cls(saddle, SequenceForm((view.own, calling), factored=factored))
        return cls(saddle, SequenceForm((calling, view.own), factored=factored.transposed))

    @property
    def first_stake(self) -> float:
        """The initial stake."""
        size = best_response_value(self.saddle.view.own, np.abs(self.saddle.tilt))
        return FIRST_STAKE * (size or 1.0) / (self.saddle.view.game.sequence_form.payoff_scale or 1.0)

    def price(self, reply: Floats, stake: float) -> float:
        """Return κ, the price of the floor."""
        return stake * float(reply[_CALL])

    def reply(self, chosen: Floats) -> Floats:
        """Return y_s, the other player's plan after a call; uniform if it never calls."""
        called = float(chosen[_CALL])
        if called <= 0.0:
            return self.saddle.view.other.uniform_plan()
        return np.append(1.0, chosen[_BEFORE + 1 :] / called)

    def behaviour(self, of_reply: Floats) -> Floats:
        """Return a behaviour that calls half of the time, and then plays a given behaviour."""
        return np.concatenate([[1.0, 0.5, 0.5], of_reply[1:]])
