"""Distributions over pairs of whole plans, of which a mediator tells each player its own before the game."""

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError
from ...seqform.sequence_form import SequenceForm
from .pairs import SequencePairs
from .polytope import VonStengelForges, count_pure_plans, mixed_strategy, pure_plans, short_number

#: The largest number of combinations of a plan and a deviation of one player and a plan of the other.
MOST_COMBINATIONS = 250_000


class WholePlans(VonStengelForges):
    r"""The distributions over pairs of reduced pure plans of a small game, as correlation plans of its normal form.

    Parameters
    ----------
    game_pairs : SequencePairs
        The pairs of sequences of the game. :attr:`pairs` are those of the matrix game between reduced pure plans, in
        which a sequence is a whole plan.

    Raises
    ------
    UnsupportedProblemError
        If there are more than :data:`MOST_COMBINATIONS` combinations of a plan and a deviation of one player and a plan
        of the other.

    Notes
    -----
    Reduced plans lose nothing: joint distributions over plans that differ only at infosets which the plan itself
    excludes can be added up, because the payoffs are the same and the players know less.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.correlation import SequencePairs, WholePlans
    >>> WholePlans(SequencePairs(load_game("kuhn").sequence_form)).pairs.num_pairs  # 27 and 64 plans
    1820
    """

    def __init__(self, game_pairs: SequencePairs) -> None:
        self._form = form = game_pairs.form
        first, second = (count_pure_plans(treeplex) for treeplex in form.treeplexes)
        combinations = first * second * (first + second)
        if combinations > MOST_COMBINATIONS:
            raise UnsupportedProblemError(
                f"correlated equilibria of whole plans: the players have {short_number(first)} and "
                f"{short_number(second)} pure plans, which makes {short_number(combinations)} combinations of a plan "
                f"and a deviation of one player and a plan of the other; expected at most {MOST_COMBINATIONS:,}"
            )
        self._plans = tuple(pure_plans(treeplex).astype(float) for treeplex in form.treeplexes)
        own, other = self._plans
        paid = [own @ (form.payoff_matrix(player) @ other.T) for player in (0, 1)]
        super().__init__(SequencePairs(SequenceForm.from_payoff_matrix(*paid)))

    @property
    def form(self) -> SequenceForm:
        """The sequence form of the game itself."""
        return self._form

    def marginals(self, player: int) -> sp.csr_array:
        """Return the matrix to a player's realization plan: each plan adds its probability to its sequences."""
        places = self.pairs.marginal(player)[1:]
        count = len(places)
        each = sp.csr_array((np.ones(count), (np.arange(count), places)), shape=(count, self.pairs.num_pairs))
        return sp.csr_array(sp.csr_array(self._plans[player].T) @ each)

    def independent(self, x: Floats, y: Floats) -> Floats:
        """Return the products of the probabilities of both plans."""
        plans = [
            np.concatenate([[1.0], mixed_strategy(treeplex, pure > 0.5, plan)])
            for treeplex, pure, plan in zip(self._form.treeplexes, self._plans, (x, y), strict=True)
        ]
        return self.of_plans(*plans)
