"""Partly constrained opponents, and responses to several models of them at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...seqform.errors import InvalidStrategyError, shown
from ...seqform.labels import listed
from ...seqform.polytope import Treeplex
from ...seqform.rationals import Fractions, exact_plan, intended_fraction, to_fractions
from ...seqform.strategy import Strategy, check_same_game
from ..declarations import Confidence, Opponents
from ..programs.triplets import Triplets
from ..saddle import PlayerView, Replies, Saddle
from .features import Feature
from .one_player import OnePlayerProblem
from .problem import SaddleProblem


@dataclass(frozen=True, eq=False)
class PartlyFree(Replies):
    """The plans p S z + (1 − p) y of an opponent who plays a z of a polytope with probability p, otherwise any y.

    z and y are separate decisions at the root of one polytope, with those of z first.

    Parameters
    ----------
    treeplex, spread
        As in :class:`~treeplex.models.saddle.Replies`.
    part, plans : Treeplex
        The polytopes of z and of y.
    share : float
        p.
    """

    part: Treeplex
    plans: Treeplex
    share: float

    @property
    def constrained(self) -> Treeplex:
        """The polytope of z, to which constraints on the model apply."""
        return self.part

    @classmethod
    def of(cls, part: Treeplex, plans: Treeplex, columns: Sequence[Fractions] | None, p: Any) -> "PartlyFree":
        """Return the replies for p and the columns of S except the first; without columns, z is a plan too."""
        share, count, width = intended_fraction(p), plans.num_sequences, part.num_sequences + plans.num_sequences - 1
        own = np.arange(1, count)
        if columns is None:
            rows, places, values = [own], [own], [np.full(len(own), share)]
        else:
            rows = [np.flatnonzero(column) for column in columns]
            places = [np.full(len(row), number) for number, row in enumerate(rows, 1)]
            values = [share * column[row] for column, row in zip(columns, rows, strict=True)]
        # The empty sequence of both represents that of y; the part of S z comes from it, or from the columns.
        first = intended_fraction(1) if columns is None else 1 - share
        spread = Triplets(
            (count, width),
            np.concatenate([[0], *rows, own]),
            np.concatenate([[0], *places, part.num_sequences - 1 + own]),
            to_fractions(np.concatenate([[first], *values, np.full(len(own), 1 - share)])),
        )
        blocks = [sp.coo_array(one.inflow) for one in (part, plans)]
        shifted = blocks[1].coords[1]
        entries = np.concatenate([one.data for one in blocks])
        columns_of = np.concatenate([blocks[0].coords[1], np.where(shifted > 0, shifted + part.num_sequences - 1, 0)])
        rows_of = np.concatenate([blocks[0].coords[0], blocks[1].coords[0] + part.num_infosets])
        inflow = sp.csr_array((entries, (rows_of, columns_of)), shape=(part.num_infosets + plans.num_infosets, width))
        treeplex = Treeplex.from_inflow(inflow, np.concatenate([part.num_actions, plans.num_actions]))
        return cls(treeplex, sp.csr_array(spread.to_sparse()), part, plans, float(share), exact_spread=spread)

    @classmethod
    def models(cls, models: Sequence[Strategy], p: Any) -> "PartlyFree":
        """Return the replies of a player who follows a mixture of models with probability p."""
        plans = models[0].treeplex
        choice = Treeplex.from_inflow(np.eye(1, 1 + len(models)), [len(models)])
        return cls.of(choice, plans, [exact_plan(plans, model.behaviour) for model in models], p)

    def preimage(self, plan: Any) -> Any:
        """Return the plan combined with itself, or with the uniform mixture of the models."""
        if self.part is self.plans:
            return np.concatenate([plan, plan[1:]])
        exact = plan.dtype == object
        uniform = exact_plan(self.part, self.part.uniform_behaviour()) if exact else self.part.uniform_plan()
        return np.concatenate([uniform, plan[1:]])


@dataclass(frozen=True, eq=False)
class RobustResponse(OnePlayerProblem, SaddleProblem):
    """A restricted Nash response to the worst of several models of the opponent.

    max over x of p min over k of xᵀ M ŷ_k + (1 − p) min over y of xᵀ M y. With one model it is the restricted Nash
    response. With p = 1 it maximises the payoff against the worst of the models.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    opponents : sequence of Strategy
        The models ŷ_k, at least one, all of one player.
    p : float
        Confidence that the opponent follows one of the models, from 0 to 1.
    game_value : float, optional
        The responder's value of the game, for the exploitability; computed if not given.

    Raises
    ------
    InvalidGameError
        If it is not a Game, or p is not a number from 0 to 1.
    InvalidStrategyError
        If the opponents are not strategies of one player of the game.
    UnsupportedProblemError
        If the game is not constant-sum, or does not have two players.

    Notes
    -----
    The opponent's plans p Σ z_k ŷ_k + (1 − p) y, with z in a simplex, form a polytope. The program is therefore that of
    an equilibrium against this polytope: any equilibrium method finds the response, and the plans of both sides prove
    its quality. For p < 1 the exploitability of an optimal response is at most p / (1 − p) times the gain against the
    worst model, as for one model (M. Johanson, M. Zinkevich, M. Bowling, "Computing robust counter-strategies", NIPS
    2007); with a proven gap, add gap / (1 − p).

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

    opponents: Opponents  # a tuple of Strategy after they have been checked
    p: Confidence = field(kw_only=True)

    name: ClassVar[str] = "robust"
    question: ClassVar[str] = (
        "Which strategy of player {player} earns most if player {other} follows the worst of several models with "
        "probability {problem.p}, and otherwise plays optimally?"
    )
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.REPLIES})

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.opponents if isinstance(self.opponents, Iterable) else ()
        models = listed(given, f"{self.name}: the models are", InvalidStrategyError)
        if not models or not all(isinstance(model, Strategy) for model in models):
            from ...seqform.names import how_to_write

            raise InvalidStrategyError(
                f"{self.name}: expected one or more strategies, got {shown(self.opponents)}"
                f"{how_to_write(self.opponents)}"
            )
        for model in models:
            check_same_game(model, self.given_game)
        if len({model.player for model in models}) > 1:
            raise InvalidStrategyError(f"{self.name}: expected models of one player, got models of both players")
        object.__setattr__(self, "opponents", models)

    @property
    def player(self) -> int:  # type: ignore[override]
        """The responder."""
        return 1 - int(self.opponents[0].player)

    @property
    def meaning(self) -> str:
        """The meaning of the objective."""
        return f"against the worst of the models with probability {self.p}, otherwise in the worst case"

    @cached_property
    def replies(self) -> PartlyFree:
        """The replies that the response is optimised against."""
        return PartlyFree.models(self.opponents, self.p)

    def saddle(self, exact: bool = False) -> Saddle:
        """Return max over x, min over z and y of xᵀ M (p Σ z_k ŷ_k + (1 − p) y)."""
        view = PlayerView(self.game, self.player, exact, self.replies)
        return Saddle(view, weight=view.number(1))
