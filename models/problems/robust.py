"""Restricted Nash responses to several models of the opponent at once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...seqform.errors import InvalidStrategyError, shown
from ...seqform.polytope import Treeplex
from ...seqform.rationals import exact_plan, intended_fraction, to_fractions
from ...seqform.strategy import Strategy, check_same_game
from ..declarations import Confidence
from ..programs.triplets import Triplets
from ..saddle import PlayerView, Replies, Saddle
from .features import Feature
from .one_player import OnePlayerProblem, checked_number
from .problem import SaddleProblem


@dataclass(frozen=True, eq=False)
class ModelsAndPlans(Replies):
    """The plans p Σ z_k ŷ_k + (1 − p) y of an opponent who follows one of several models with probability p.

    z contains a distribution over the models and a free plan y, as separate decisions at the root of one polytope.
    """

    plans: Treeplex
    num_models: int

    @classmethod
    def of(cls, models: Sequence[Strategy], p: Any) -> "ModelsAndPlans":
        """Return the replies for models of one player."""
        plans, count, share = models[0].treeplex, len(models), intended_fraction(p)
        columns = [share * exact_plan(plans, model.behaviour) for model in models]
        own = np.arange(1, plans.num_sequences)
        # The empty sequence of z stands for that of y, weighted by 1 − p; each model brings p times its own.
        rows = np.concatenate([[0], *(np.flatnonzero(column) for column in columns), own])
        places = np.concatenate(
            [[0], *(np.full(np.count_nonzero(column), 1 + k) for k, column in enumerate(columns)), count + own]
        )
        values = np.concatenate(
            [[1 - share], *(column[column != 0] for column in columns), np.full(len(own), 1 - share)]
        )
        shape = (plans.num_sequences, count + plans.num_sequences)
        spread = Triplets(shape, rows, places, to_fractions(values))
        inflow = sp.csr_array(plans.inflow)
        shifted = np.where(inflow.indices > 0, inflow.indices + count, 0)
        starts = np.concatenate([[0, 1], 1 + inflow.indptr[1:]])
        entries = np.concatenate([[1.0], inflow.data]), np.concatenate([[0], shifted]), starts
        width = count + plans.num_sequences
        treeplex = Treeplex.from_inflow(
            sp.csr_array(entries, shape=(1 + plans.num_infosets, width)), np.concatenate([[count], plans.num_actions])
        )
        return cls(treeplex, sp.csr_array(spread.to_sparse()), plans, count, exact_spread=spread)

    def preimage(self, plan: Any) -> Any:
        """Return the uniform mixture of the models together with the plan."""
        share = 1 / self.num_models if plan.dtype != object else intended_fraction(1) / self.num_models
        return np.concatenate([plan[:1], np.full(self.num_models, share, dtype=plan.dtype), plan[1:]])


@dataclass(frozen=True, eq=False)
class RobustResponse(OnePlayerProblem, SaddleProblem):
    """A restricted Nash response to the worst of several models of the opponent.

    max over x of p min over k of xᵀ M ŷ_k + (1 − p) min over y of xᵀ M y. With one model it is the restricted Nash
    response; with p = 1 it maximises the payoff against the worst of the models.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponents : sequence of Strategy
        The models ŷ_k, at least one, all of one player.
    p : float
        Confidence that the opponent follows one of the models, from 0 to 1.
    game_value : float, optional
        The value of the game to the player who responds, for the exploitability; found if not given.

    Raises
    ------
    InvalidGameError
        If it is not a Game, or p is not a number from 0 to 1.
    InvalidStrategyError
        If the opponents are not strategies of one player of the game.
    UnsupportedProblemError
        If the game is not zero-sum, or not of two players.

    Notes
    -----
    The opponent's plans p Σ z_k ŷ_k + (1 − p) y, with z in a simplex, form a polytope, so the program is that of an
    equilibrium against it: any method that finds one finds the response, and the plans of both sides prove how good it
    is. For p < 1 the exploitability of an optimal response is at most p / (1 − p) times the gain against the worst
    model, as for one model (M. Johanson, M. Zinkevich, M. Bowling, "Computing robust counter-strategies", NIPS 2007);
    with a proven gap, add gap / (1 − p).

    Examples
    --------
    An opponent in Kuhn poker who either plays uniformly or never bets:

    >>> from treeplex import Strategy, load_game, solve
    >>> from treeplex.models.problems import RobustResponse
    >>> game = load_game("kuhn")
    >>> passes = {infoset: {"p": 1.0} for infoset in game.sequence_form.treeplexes[1].infoset_labels}
    >>> passive = Strategy.from_dict(game, 1, passes)
    >>> solution = solve(RobustResponse(game, [Strategy.uniform(game, 1), passive], p=0.5))
    >>> round(solution.objective, 6), round(solution.exploitability, 6)
    (0.138889, 0.055556)
    """

    opponents: Any  # a tuple of Strategy, once they are checked
    p: Confidence = field(kw_only=True)

    name: ClassVar[str] = "robust"
    always_needs: ClassVar[frozenset[Feature]] = frozenset({Feature.PROGRAM, Feature.REPLIES})

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            models = tuple(self.opponents)
        except TypeError:
            models = ()
        if not models or not all(isinstance(model, Strategy) for model in models):
            raise InvalidStrategyError(f"{self.name}: expected one or more strategies, got {shown(self.opponents)}")
        for model in models:
            check_same_game(model, self.game)
        if len({model.player for model in models}) > 1:
            raise InvalidStrategyError(f"{self.name}: expected models of one player, got some of both")
        object.__setattr__(self, "opponents", models)
        object.__setattr__(self, "p", checked_number(self.name, "p", self.p, 0.0, 1.0))

    @property
    def player(self) -> int:  # type: ignore[override]
        """The player who responds."""
        return 1 - int(self.opponents[0].player)

    @cached_property
    def replies(self) -> ModelsAndPlans:
        """The replies that the response is optimised against."""
        return ModelsAndPlans.of(self.opponents, self.p)

    def saddle(self, exact: bool = False) -> Saddle:
        """Return max over x, min over z and y of xᵀ M (p Σ z_k ŷ_k + (1 − p) y)."""
        view = PlayerView(self.game, self.player, exact, self.replies)
        return Saddle(view, weight=view.number(1))
