"""Responses to a model that is trusted more at some infosets than at others."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats, Integers
from ...seqform.errors import InvalidGameError, UnsupportedProblemError, shown
from ...seqform.polytope import Treeplex
from ...seqform.strategy import Strategy
from ..declarations import Confidences
from ..saddle import PlayerView, Replies, Saddle
from .features import Feature
from .problem import SaddleProblem
from .responses import ResponseProblem


@dataclass(frozen=True, eq=False)
class BiasedReplies(Replies):
    """The plans of an opponent who plays a model with at least a given probability at each infoset.

    Made by :meth:`of`.

    Parameters
    ----------
    treeplex, spread
        As in :class:`~treeplex.models.saddle.Replies`.
    plans : Treeplex
        The opponent's own polytope.
    least : ndarray of float64, shape (num_sequences,)
        The least probability of each action, p(I) b̂(I, a); 0 for the empty sequence.
    sequences : ndarray of int32, shape (treeplex.num_sequences,)
        The sequences of z: those at reachable infosets.
    """

    plans: Treeplex
    least: Floats
    sequences: Integers

    @classmethod
    def of(cls, model: Strategy, probabilities: Floats) -> "BiasedReplies":
        """Return the replies for p(I), shape (num_infosets,)."""
        plans = model.treeplex
        trusted = np.append(0.0, np.repeat(probabilities, plans.num_actions))
        least = trusted * np.append(0.0, model.behaviour[1:])
        # The reach of a sequence's infoset: the sum of z over its actions.
        owners = plans.sequence_infosets[1:]
        count = plans.num_sequences
        reached = sp.csr_array((np.ones(count - 1), (owners, np.arange(1, count))), shape=(plans.num_infosets, count))
        biased = sp.diags_array(least[1:]) @ reached[owners]
        spread = sp.csr_array(sp.diags_array(1.0 - trusted) + sp.vstack([sp.csr_array((1, count)), biased]))
        # If the model is followed with probability 1, its zero-probability actions lead nowhere.
        inflow = sp.csr_array(plans.inflow @ spread)
        inflow.eliminate_zeros()
        left = np.ones(count, dtype=bool)
        for infoset, (first, stop) in enumerate(pairwise(plans.offsets.tolist())):
            left[first:stop] = left[inflow.indices[inflow.indptr[infoset] : inflow.indptr[infoset + 1]]].any()
        sequences = np.flatnonzero(left)
        infosets = np.unique(plans.sequence_infosets[sequences[1:]])
        flows = Treeplex.from_inflow(inflow[infosets][:, sequences], plans.num_actions[infosets])
        return cls(flows, sp.csr_array(spread[:, sequences]), plans, least, sequences.astype(np.int32))

    @cached_property
    def rows(self) -> sp.csr_array:
        """The matrix H: for each sequence, the model's required play minus the actual play is at most 0."""
        plans = self.plans
        trusted = sp.diags_array(self.least[1:]) @ plans.inflow[plans.sequence_infosets[1:]]
        return sp.csr_array(trusted - sp.eye_array(plans.num_sequences, format="csr")[1:])

    def preimage(self, plan: Floats) -> Floats:
        """Return the z that plays what the plan adds to the model's part; uniform where the plan adds nothing."""
        offsets, counts = self.plans.offsets[:-1], self.plans.num_actions
        behaviour = np.maximum(self.plans.behaviour(plan) - self.least, 0.0)
        if len(counts):
            totals = np.add.reduceat(behaviour[1:], offsets - 1)
            behaviour[1:] = np.where(np.repeat(totals, counts) > 0.0, behaviour[1:], 1.0)
            behaviour[1:] /= np.repeat(np.add.reduceat(behaviour[1:], offsets - 1), counts)
        return self.treeplex.plan(behaviour[self.sequences])


@dataclass(frozen=True, eq=False)
class DataBiasedResponse(ResponseProblem, SaddleProblem):
    """A data-biased response: the opponent plays the model with a given probability at each infoset.

    max over x, min over y of xᵀ M y, where at every infoset I of the opponent y plays the model with probability p(I)
    and is free otherwise.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    opponent : Strategy
        The model ŷ.
    p : float, mapping of infoset labels to floats, or array_like of shape (num_infosets,)
        p(I) from 0 to 1, such as n / (n + k), where n is the number of times that the infoset was observed. A single
        number applies to all infosets. Infosets missing in a mapping have 0.
    game_value : float, optional
        The responder's value of the game, for gain and exploitability; computed if not given.

    Raises
    ------
    InvalidGameError
        If it is not a Game, or p does not consist of probabilities at the opponent's infosets.
    InvalidStrategyError
        If the opponent is not a Strategy of the game.
    UnsupportedProblemError
        If the game is not constant-sum, or does not have two players.

    Notes
    -----
    M. Johanson, M. Bowling, "Data biased robust counter strategies", AISTATS 2009. Let b̂ be the model's behaviour. The
    opponent's plans are those with y(I, a) ≥ p(I) b̂(I, a) y(σ(I)). They are the images y = T z,

        y(I, a) = (1 − p(I)) z(I, a) + p(I) b̂(I, a) Σ_a' z(I, a'),

    of the plans z of a flow polytope, in which y(I, a) flows to the infosets below (I, a). The program is therefore
    that of an equilibrium between X and that polytope, with payoffs xᵀ M T z, and any equilibrium method finds the
    response. One p for all infosets does not give the restricted Nash response for p, whose opponent decides once, at
    the start.

    Examples
    --------
    Kuhn poker against an opponent of whom only the first answers are known:

    >>> from treeplex import DataBiasedResponse, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> model = Strategy.uniform(game, 1)
    >>> known = {infoset: 0.9 for infoset in ("J_p", "Q_p", "K_p")}
    >>> solution = solve(DataBiasedResponse(game, model, p=known))
    >>> round(solution.objective, 6), round(solution.gain, 6)
    (0.133333, 0.222222)
    """

    p: Confidences = field(kw_only=True)
    name: ClassVar[str] = "data-biased"
    question: ClassVar[str] = (
        "Which strategy of player {player} earns most if player {other} follows the model at each infoset with the "
        "given probability, and otherwise plays optimally?"
    )
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.REPLIES, Feature.FLOAT_REPLIES})

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "p", self._probabilities())

    def _probabilities(self) -> Floats:
        other, given = self.opponent.treeplex, self.p
        if isinstance(given, Mapping):
            values = np.zeros(other.num_infosets)
            for label, number in given.items():
                infoset = other.find_infoset(label)
                if infoset is None:
                    raise InvalidGameError(f"{self.name}: player {self.opponent.player} has no infoset {shown(label)}")
                values[infoset] = _probability(self.name, number)
        else:
            try:
                values = np.array(given, dtype=np.float64)
            except (TypeError, ValueError, OverflowError):
                values = np.full(1, np.nan)
            if values.ndim == 0:
                values = np.full(other.num_infosets, float(values))
            if values.shape != (other.num_infosets,) or not ((values >= 0.0) & (values <= 1.0)).all():
                raise InvalidGameError(
                    f"{self.name}: p is {shown(given)}, expected a number from 0 to 1, a mapping of infosets to such "
                    f"numbers, or an array of {other.num_infosets} such numbers"
                )
        values.flags.writeable = False
        return values

    @cached_property
    def replies(self) -> BiasedReplies:
        """The replies that the response is optimised against."""
        return BiasedReplies.of(self.opponent, self.p)

    @property
    def floor(self) -> Floats:
        """The least probability of each action, p(I) b̂(I, a), shape (num_sequences,); 0 for the empty sequence."""
        return self.replies.least

    @property
    def meaning(self) -> str:
        """The meaning of the objective."""
        return "against a player who follows the model with probability p at each infoset, otherwise in the worst case"

    def saddle(self, exact: bool = False) -> Saddle:
        """Return max over x, min over z of xᵀ M T z.

        Raises
        ------
        UnsupportedProblemError
            If ``exact``: the opponents' polytope exists only in floats.
        """
        if exact:
            raise UnsupportedProblemError(f"{self.name} has no program in fractions: use highs")
        return Saddle(PlayerView(self.game, self.player, replies=self.replies), weight=1.0)


def _probability(name: str, number: Any) -> float:
    try:
        value = float(number)
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if isinstance(number, bool) or not 0.0 <= value <= 1.0:
        raise InvalidGameError(f"{name}: p is {shown(number)}, expected a number from 0 to 1")
    return value
