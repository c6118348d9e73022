"""A two-player zero-sum game from one player's seat, in floats or in exact fractions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...seqform.errors import UnsupportedProblemError
from ...seqform.factored import FactoredPayoff
from ...seqform.game import Game
from ...seqform.polytope import Treeplex, best_response_plan, best_response_value
from ...seqform.rationals import exact_best_response_value, exact_plan, exact_residual, intended_fraction
from ...seqform.sequence_form import SequenceForm
from ...seqform.strategy import Strategy
from ..programs.triplets import Triplets

if TYPE_CHECKING:
    from .replies import Replies


@dataclass(frozen=True, eq=False)
class PlayerView:
    """The game as one player sees it: its plans x, the other player's plans y, and its payoff xᵀ M y.

    M is A for player 0 and −Aᵀ for player 1.

    Parameters
    ----------
    game : Game
        Two players, zero-sum. Methods that use only the player's own polytope work for any game.
    player : int
    exact : bool
        Whether plans, payoffs and programs are in fractions. Payoffs are then those of the rules or the tree, if the
        game has one; floats are converted by :func:`~treeplex.seqform.rationals.intended_fraction`.
    replies : Replies, optional
        The opponent's decision polytope, if it differs from its realization plans; M T then replaces M.
    """

    game: Game
    player: int
    exact: bool = False
    replies: "Replies | None" = None

    @property
    def own(self) -> Treeplex:
        """The player's polytope."""
        return self.game.sequence_form.treeplexes[self.player]

    @property
    def other(self) -> Treeplex:
        """The other player's polytope."""
        return self.game.sequence_form.treeplexes[1 - self.player] if self.replies is None else self.replies.treeplex

    @property
    def swapped(self) -> "PlayerView":
        """The same game from the other player's seat."""
        assert self.replies is None
        return PlayerView(self.game, 1 - self.player, self.exact)

    @property
    def whole(self) -> "PlayerView":
        """The same seat against all plans of the other player."""
        return self if self.replies is None else PlayerView(self.game, self.player, self.exact)

    @cached_property
    def form(self) -> SequenceForm:
        """The game between the plans that both players choose from, player 0 first."""
        form = self.game.sequence_form
        if self.replies is None:
            return form
        payoffs = (form.payoff_matrix(self.player) if self.player == 0 else form.payoff_matrix(1).T) @ (
            self.replies.spread
        )
        first = sp.csr_array(payoffs if self.player == 0 else -payoffs.T)
        treeplexes = (self.own, self.other) if self.player == 0 else (self.other, self.own)
        return SequenceForm(treeplexes, payoff_matrices=(first, -first))

    def own_gradient(self, other: Any) -> Any:
        """Return M y: the player's payoff per unit of each of its sequences."""
        if not self.exact:
            other = other if self.replies is None else self.replies.spread @ other
            return self.game.sequence_form.gradient(self.player, [other, other])
        payoffs = self.matrices[-1] @ other
        return payoffs if self.factored is None else self.matrices[0] @ self.factored.summed(payoffs)

    def other_gradient(self, own: Any) -> Any:
        """Return −Mᵀ x: the other player's payoff per unit of each of its sequences."""
        if not self.exact:
            payoffs = self.game.sequence_form.gradient(1 - self.player, [own, own])
            return payoffs if self.replies is None else self.replies.spread.T @ payoffs
        payoffs = self.matrices[0].T @ own
        if self.factored is not None:
            payoffs = self.matrices[-1].T @ self.factored.summed(payoffs, backwards=True)
        return -payoffs

    def payoff(self, own: Any, other: Any) -> Any:
        """Return xᵀ M y."""
        return self.number(own @ self.own_gradient(other))

    def worst_case(self, own: Any) -> Any:
        """Return min over y of xᵀ M y."""
        return -self.most_of_other(self.other_gradient(own))

    def worst_reply(self, own: Any) -> Any:
        """Return a pure plan y that attains min over y of xᵀ M y, up to round-off even with exact numbers."""
        floats = PlayerView(self.game, self.player, replies=self.replies)
        found = best_response_plan(self.other, floats.other_gradient(np.asarray(own, dtype=np.float64)))
        return exact_plan(self.other, found.behaviour) if self.exact else found.plan

    def best_case(self, other: Any) -> Any:
        """Return max over x of xᵀ M y."""
        return self.most(self.own_gradient(other))

    def most(self, payoffs: Any) -> Any:
        """Return max over x of payoffs · x."""
        return (exact_best_response_value if self.exact else best_response_value)(self.own, payoffs)

    def most_of_other(self, payoffs: Any) -> Any:
        """Return max over y of payoffs · y."""
        return (exact_best_response_value if self.exact else best_response_value)(self.other, payoffs)

    def made_plan(self, given: Any) -> Any:
        """Return the other player's plan that plays as given numbers do: theirs, where they are one."""
        if self.exact and exact_residual(self.other, given) == 0:
            return given
        behaviour = self.other.behaviour(np.maximum(np.asarray(given, dtype=np.float64), 0.0))
        return exact_plan(self.other, behaviour) if self.exact else self.other.plan(behaviour)

    def plan_of(self, strategy: Strategy) -> Any:
        """Return a strategy's realization plan; in fractions by :func:`~treeplex.seqform.rationals.exact_plan`."""
        return exact_plan(strategy.treeplex, strategy.behaviour) if self.exact else strategy.plan

    def residual(self, plans: Sequence[Any]) -> float:
        """Return how far all players' plans, player 0's first, are from their polytopes."""
        residual = exact_residual if self.exact else Treeplex.residual
        treeplexes = self.game.sequence_form.treeplexes
        return float(max(residual(treeplex, plan) for treeplex, plan in zip(treeplexes, plans, strict=True)))

    def number(self, number: Any) -> Any:
        """Return a number as a fraction where exact, else as a float."""
        return intended_fraction(number) if self.exact else float(number)

    @cached_property
    def unit(self) -> Any:
        """The mean absolute entry of M, or of its left factor: solvers' tolerances are absolute. 1 where exact."""
        if self.exact:
            return 1
        factored = self.game.sequence_form.factored
        entries = np.abs(self.game.sequence_form.A.data if factored is None else factored.balanced.left.data)
        _, exponent = math.frexp(entries.max(initial=0.0))  # the sum of very large payoffs would overflow
        return math.ldexp(float(np.ldexp(entries, -exponent).mean()), exponent) if len(entries) else 1.0

    @cached_property
    def scaled_matrices(self) -> tuple[Any, ...]:
        """:attr:`matrices`, of which the first is in units of :attr:`unit`."""
        if self.exact:
            return self.matrices
        first, *others = self.matrices
        mantissa, exponent = math.frexp(self.unit)  # 1 / unit would overflow where payoffs are denormal
        scaled = first.copy()
        scaled.data = np.ldexp(first.data, -exponent) * (1.0 / mantissa)
        return (scaled, *others)

    @cached_property
    def factored(self) -> FactoredPayoff | None:
        """M in factors, if the game has it so; ``None`` else."""
        factored = self.game.sequence_form.factored
        if factored is None:
            return None
        factored = factored if self.exact else factored.balanced
        return factored if self.player == 0 else factored.transposed

    @cached_property
    def matrices(self) -> tuple[Any, ...]:
        """M itself, or its left and its right factor, of which quantities may be chained: see :attr:`factored`."""
        if self.factored is not None:
            factors: tuple[Any, ...] = self.factored.left, self.factored.right
            if self.exact:
                factors = tuple(Triplets.of(one) for one in factors)
        elif self.exact:
            factors = (_exact_payoffs(self.game),)
        else:
            factors = (self.game.sequence_form.A,)
        if self.player == 1 and self.factored is None:
            factors = (-factors[0].T,)
        if self.replies is not None:
            spread: Any = self.replies.exact_spread if self.exact else self.replies.spread
            factors = (*factors[:-1], factors[-1] @ spread)
        return factors


def _exact_payoffs(game: Game) -> Triplets:
    """Return A in fractions."""
    form = game.sequence_form
    if game.rules is None or not _alike(game.exact_sequence_form, form):
        return Triplets.of(form.A)
    entries = game.exact_sequence_form.exact_payoffs(0)
    shape = (form.treeplexes[0].num_sequences, form.treeplexes[1].num_sequences)
    return Triplets.from_entries(shape, list(entries), list(entries.values()))


def _alike(one: SequenceForm, other: SequenceForm) -> bool:
    """Whether sequences of two forms of a game mean the same: a game may have a form of its own besides its rules."""
    return all(
        first.single_parent
        and second.single_parent
        and np.array_equal(first.parents, second.parents)
        and np.array_equal(first.num_actions, second.num_actions)
        and first.infoset_labels == second.infoset_labels
        and first.action_labels == second.action_labels
        for first, second in zip(one.treeplexes, other.treeplexes, strict=True)
    )


def check_two_players(problem: str, game: Game) -> None:
    """Refuse a game that is not a constant-sum game of two players.

    Raises
    ------
    UnsupportedProblemError
    """
    check_player_count(problem, game)
    zero_sum_of(problem, game)


def check_player_count(problem: str, game: Game) -> None:
    """Refuse a game that is not of two players, whatever its payoffs sum to.

    Raises
    ------
    UnsupportedProblemError
    """
    if game.num_players != 2:
        raise UnsupportedProblemError(f"{problem} needs two players, and {game.spec} has {game.num_players}")


def zero_sum_of(problem: str, game: Game) -> Game:
    """Return the zero-sum game that a problem is posed on, a constant that payoffs sum to being taken off.

    A game of one player gets a second one who never decides anything; games of more than two are returned as they are.

    Raises
    ------
    UnsupportedProblemError
        If the payoffs do not have a constant sum.
    """
    if game.num_players == 1:
        return game.zero_sum
    form = game.sequence_form if game.public_form is None else game.public_form
    if form.is_zero_sum:
        return game
    is_small = game.public_form is None or game.public_form.is_small
    constant = game.sequence_form.constant_sum if is_small else None
    if constant is None:
        check_zero_sum(problem, game)
    return game.zero_sum if game.num_players == 2 else game


def check_zero_sum(problem: str, game: Game) -> None:
    """Refuse a game that is not zero-sum, for any number of players.

    Raises
    ------
    UnsupportedProblemError
    """
    form = game.sequence_form if game.public_form is None else game.public_form
    if not form.is_zero_sum:
        advice = "; EpsilonNash (--problem epsilon-nash) takes them" if game.num_players == 2 else ""
        raise UnsupportedProblemError(
            f"{problem} needs a zero-sum game, and the payoffs of {game.spec} do not sum to zero at every leaf{advice}"
        )
