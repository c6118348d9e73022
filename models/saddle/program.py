"""The canonical program of two-player problems, and the game from the seat of one player."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from ..programs.linear_program import FARTHEST
from ..programs.triplets import Triplets, exact_payoffs

if TYPE_CHECKING:
    from ..constraints.constraint import Constraint
    from .replies import Replies
    from .rows import Rows


@dataclass(frozen=True, eq=False)
class PlayerView:
    """The game from one player's seat: its plans x, the other player's plans y, and its payoff xᵀ M y.

    M is A for player 0 and −Aᵀ for player 1.

    Parameters
    ----------
    game : Game
        A two-player zero-sum game. Methods that use only the player's own polytope work for any game.
    player : int
    exact : bool
        Whether plans, payoffs and programs are in fractions. Payoffs then come from the rules or the tree if the game
        has them; floats are converted by :func:`~treeplex.seqform.rationals.intended_fraction`.
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
        """The game between the polytopes that the players choose from, player 0 first."""
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
        """Return a pure plan y that attains min over y of xᵀ M y up to round-off, even with exact numbers."""
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
        """Return the other player's plan in proportion to a vector; an exact plan is returned unchanged."""
        if self.exact and exact_residual(self.other, given) == 0:
            return given
        behaviour = self.other.behaviour(np.maximum(np.asarray(given, dtype=np.float64), 0.0))
        return exact_plan(self.other, behaviour) if self.exact else self.other.plan(behaviour)

    def plan_of(self, strategy: Strategy) -> Any:
        """Return a strategy's realization plan, made by :func:`~treeplex.seqform.rationals.exact_plan` if exact."""
        return exact_plan(strategy.treeplex, strategy.behaviour) if self.exact else strategy.plan

    def residual(self, plans: Sequence[Any]) -> float:
        """Return the largest distance of the players' plans, player 0's first, from their polytopes."""
        residual = exact_residual if self.exact else Treeplex.residual
        treeplexes = self.game.sequence_form.treeplexes
        return float(max(residual(treeplex, plan) for treeplex, plan in zip(treeplexes, plans, strict=True)))

    def number(self, number: Any) -> Any:
        """Return a number as a fraction if exact, otherwise as a float."""
        return intended_fraction(number) if self.exact else float(number)

    @cached_property
    def unit(self) -> Any:
        """The mean absolute entry of M or of its left factor, because solvers' tolerances are absolute; 1 if exact."""
        if self.exact:
            return 1
        factored = self.game.sequence_form.factored
        entries = np.abs(self.game.sequence_form.A.data if factored is None else factored.balanced.left.data)
        _, exponent = math.frexp(entries.max(initial=0.0))  # the sum of very large payoffs would overflow
        return math.ldexp(float(np.ldexp(entries, -exponent).mean()), exponent) if len(entries) else 1.0

    @cached_property
    def scaled_matrices(self) -> tuple[Any, ...]:
        """:attr:`matrices`, with the first one in units of :attr:`unit`."""
        if self.exact:
            return self.matrices
        first, *others = self.matrices
        mantissa, exponent = math.frexp(self.unit)  # 1 / unit would overflow for denormal payoffs
        scaled = first.copy()
        scaled.data = np.ldexp(first.data, -exponent) * (1.0 / mantissa)
        return (scaled, *others)

    @cached_property
    def factored(self) -> FactoredPayoff | None:
        """The factors of M if the game stores M in factors, otherwise ``None``."""
        factored = self.game.sequence_form.factored
        if factored is None:
            return None
        factored = factored if self.exact else factored.balanced
        return factored if self.player == 0 else factored.transposed

    @cached_property
    def matrices(self) -> tuple[Any, ...]:
        """M itself, or its left and right factors; their quantities may be chained, see :attr:`factored`."""
        if self.factored is not None:
            factors: tuple[Any, ...] = self.factored.left, self.factored.right
            if self.exact:
                factors = tuple(Triplets.of(one) for one in factors)
        elif self.exact:
            factors = (exact_payoffs(self.game),)
        else:
            factors = (self.game.sequence_form.A,)
        if self.player == 1 and self.factored is None:
            factors = (-factors[0].T,)
        if self.replies is not None:
            spread: Any = self.replies.exact_spread if self.exact else self.replies.spread
            factors = (*factors[:-1], factors[-1] @ spread)
        return factors


def check_two_players(problem: str, game: Game) -> None:
    """Raise an error unless the game is a two-player constant-sum game.

    Raises
    ------
    UnsupportedProblemError
    """
    check_player_count(problem, game)
    zero_sum_of(problem, game)


def check_player_count(problem: str, game: Game) -> None:
    """Raise an error unless the game has two players; payoffs are not checked.

    Raises
    ------
    UnsupportedProblemError
    """
    if game.num_players != 2:
        raise UnsupportedProblemError(f"{problem} needs two players, but {game.spec} has {game.num_players}")


def zero_sum_of(problem: str, game: Game) -> Game:
    """Return the zero-sum game that a problem is posed on: a constant sum of the payoffs is subtracted.

    A one-player game gets a second player without decisions; games of more than two players are returned unchanged.

    Raises
    ------
    UnsupportedProblemError
        If the payoffs do not have a constant sum.
    """
    found = zero_sum_part(game)
    if found is None:
        raise UnsupportedProblemError(
            f"{problem} needs a zero-sum game, but the payoffs of {game.spec} do not sum to zero at every leaf: "
            "use EpsilonNash (--problem epsilon-nash)"
        )
    return found


def zero_sum_part(game: Game) -> Game | None:
    """Return the game that :func:`zero_sum_of` returns, or ``None`` if the payoffs do not have a constant sum."""
    if game.num_players == 1:
        return game.zero_sum
    form = game.sequence_form if game.public_form is None else game.public_form
    if form.is_zero_sum:
        return game
    is_small = game.public_form is None or game.public_form.is_small
    constant = game.sequence_form.constant_sum if is_small else None
    if constant is None:
        return None
    return game.zero_sum if game.num_players == 2 else game


#: The floor's name in multipliers and violations.
SAFETY = "safety"
#: The name, in a dual certificate, of the plan of a view's replies.
REPLY = "reply"


#: The largest price at which sums of payoffs remain finite.
_LARGEST_PRICE = 1e-6 * sys.float_info.max


@dataclass(frozen=True, eq=False)
class Saddle:
    """A saddle program between two polytopes of plans, from the seat of the maximising player.

    Parameters
    ----------
    view : PlayerView
        The polytopes X and Y, the payoffs xᵀ M y, and whether numbers are floats or fractions.
    tilt : ndarray, shape (num_sequences of the player,), optional
        c; 0 by default.
    weight : float or Fraction, optional
        ω; by default the objective does not depend on the other player. 0 gives the same optimum but reports a worst
        reply as y, whereas ``None`` reports uniform play, unless there is a model or a floor.
    own, other : Rows, optional
        Constraints on x and on y, hard or soft.
    floor : float or Fraction, optional
        f, in payoff units: the payoff that x must guarantee against every plan of the other player, including plans
        that the rows on y or the view's replies exclude.
    model : ndarray, optional
        The opponent's plan that is reported if the program does not determine y; by default a worst reply to x.
    maximises : bool
        Whether the problem reports the objective itself; a minimising problem reports its negative.

    Notes
    -----
    The program is

        max over x in X of  c · x + ω · min over y in Y of [xᵀ M y + paid(y)] − paid(x)
        subject to          rows on x, rows on y, and min over all plans y_s of xᵀ M y_s ≥ f,

    where the rows f_i(x) ≤ 0 and h_j(y) ≤ 0 are convex, and hard or soft. For soft rows, a player pays the penalty
    times the sum of its violations, or times the largest one. Let x and y be plans in X and Y, y_s any plan, and
    κ, λ, μ ≥ 0. For soft rows, each multiplier is at most the penalty if the sum is penalised, and the sum of the
    multipliers is at most the penalty if the largest violation is penalised. Then

        upper = max over x' in X of [x' · (c + ω M y + κ M y_s) − Σ λ_i f_i(x')] − κ f + ω paid(y),
        lower = c · x + ω · min over y' in Y of [xᵀ M y' + Σ μ_j h_j(y')] − paid(x)

    satisfy lower ≤ optimum if x meets its hard rows and the floor, and optimum ≤ upper if y meets its hard rows. If
    f_i and h_j are not affine, they are replaced by affine minorants, given by subgradients. Restricted Nash responses
    are the case c = p M ŷ, ω = 1 − p (M. Johanson, M. Zinkevich and M. Bowling, "Computing robust counter-strategies",
    NIPS 2007). Constraints are as in T. Davis, K. Waugh and M. Bowling, "Solving large extensive-form games with
    strategy constraints", AAAI 2019.

    Examples
    --------
    The bounds that uniform play proves on the value of Kuhn poker:

    >>> from treeplex import load_game
    >>> from treeplex.models.saddle import PlayerView, Saddle
    >>> saddle = Saddle(PlayerView(load_game("kuhn"), 0), weight=1.0)
    >>> uniform = [treeplex.uniform_plan() for treeplex in saddle.view.game.sequence_form.treeplexes]
    >>> bounds = saddle.bounds(*uniform)
    >>> round(bounds.lower, 6), round(bounds.value, 6), round(bounds.upper, 6)
    (-0.416667, 0.125, 0.5)
    """

    view: PlayerView
    tilt: Any = None
    weight: Any = None
    own: "Rows | None" = None
    other: "Rows | None" = None
    floor: Any = None
    model: Any = None
    maximises: bool = True

    @property
    def sign(self) -> int:
        """The factor, 1 or −1, that turns the optimum into the problem's objective."""
        return 1 if self.maximises else -1

    @property
    def objective_unit(self) -> float:
        """The largest coefficient except penalties (at least 1e-19 of the largest penalty); 1 if all are 0."""
        tilt = 0.0 if self.tilt is None else float(np.abs(self.tilt).max(initial=0))
        penalty = max((float(rows.penalty or 0) for rows in (self.own, self.other) if rows is not None), default=0.0)
        largest = max(tilt, float(self.weight or 0) * float(self.view.unit))
        return max(largest, penalty / FARTHEST) if largest else 1.0

    @cached_property
    def own_rows(self) -> "Rows":
        """The constraints on x (possibly none)."""
        return self.own or _none(self.view.own)

    @cached_property
    def other_rows(self) -> "Rows":
        """The constraints on y (possibly none)."""
        return self.other or _none(self.view.other)

    @property
    def has_rows(self) -> bool:
        """Whether the problem can have constraints, even if none was given."""
        return self.own is not None or self.other is not None

    @property
    def constraints(self) -> "tuple[Constraint, ...]":
        """The constraints of both players, player 0's first."""
        own, other = self.own_rows.constraints, self.other_rows.constraints
        return own + other if self.view.player == 0 else other + own

    @property
    def is_linear(self) -> bool:
        """Whether a linear program can express the saddle program."""
        return all(rows is None or rows.is_linear for rows in (self.own, self.other))

    @cached_property
    def swapped(self) -> "Saddle":
        """The same program from the other player's seat.

        Raises
        ------
        UnsupportedProblemError
            If there is a tilt or a floor, which belong to one seat, or a weight other than 1.
        """
        if self.tilt is not None or self.floor is not None or self.weight != 1:
            raise UnsupportedProblemError(
                "constraints on the other player that are not linear cannot be combined with a linear part of the "
                "objective (tilt), a guaranteed payoff (floor) or a weight other than 1"
            )
        return Saddle(self.view.swapped, weight=self.weight, own=self.other, other=self.own)

    def reply_to(self, own: Any) -> Any:
        """Return the plan that is reported as y if the program does not determine it; ``None`` if y is not involved."""
        if self.model is not None:
            return self.model
        return None if self.weight is None and self.floor is None else self.view.worst_reply(own)

    def seated(self, own: Any, other: Any = None) -> tuple[Any, ...]:
        """Return one realization plan per player from x and y; players without a plan play uniformly."""
        view, plans = self.view, []
        if other is not None and view.replies is not None:
            other = view.replies.image(other)
        for player, treeplex in enumerate(view.game.sequence_form.treeplexes):
            plan = own if player == view.player else other
            if plan is None:
                plan = exact_plan(treeplex, treeplex.uniform_behaviour()) if view.exact else treeplex.uniform_plan()
            plans.append(plan)
        return tuple(plans)

    def bounds(
        self,
        own: Any,
        other: Any,
        multipliers: Mapping[str, Any] | None = None,
        subgradients: Mapping[str, Any] | None = None,
    ) -> "Bounds":
        """Return the bounds on the optimum that plans, multipliers and subgradients prove.

        Parameters
        ----------
        own, other : ndarray
            x and y, in the number type of :attr:`view`.
        multipliers : mapping of str to number, optional
            By constraint, with ``safety`` for the floor; 0 by default. Any multipliers prove valid bounds; good ones
            prove tight bounds.
        subgradients : mapping of str to ndarray, optional
            By constraint: slopes that select an affine minorant of a function that is not linear; any are valid.
        """
        view, given, picked = self.view, multipliers or {}, subgradients or {}
        zero = view.number(0)
        violations: dict[str, Any] = {}
        own_paid = zero
        if self.own is not None:
            violations |= self.own.values(own)
            own_paid = self.own.paid(violations)
        floor_reply = None
        if self.floor is not None and SAFETY in picked:
            floor_reply = view.whole.made_plan(picked[SAFETY])
        elif self.floor is not None and view.replies is not None:
            floor_reply = view.whole.worst_reply(own)
        free = self.weight is not None or (self.floor is not None and floor_reply is None)
        against = view.own_gradient(other) if free else None
        gradient, constant = self._gradient(against, floor_reply, given)
        upper = constant + self._most(own, gradient, given, picked)
        lower = value = -own_paid if self.tilt is None else view.number(self.tilt @ own) - own_paid
        if self.weight is None:
            upper = min(upper, zero) if self.tilt is None else upper  # the objective is then at most 0: −paid(x)
        else:
            other_paid, priced, offset = zero, view.other_gradient(own), zero
            if self.other is not None:
                other_values = self.other.values(other)
                violations |= other_values
                other_paid = self.other.paid(other_values)
                slope, offset = self.other.minorant(given, other, picked)
                priced = priced - slope
            upper += self.weight * other_paid
            value += self.weight * (view.number(own @ against) + other_paid)
            lower += self.weight * (offset - view.most_of_other(priced))
        if self.floor is not None:
            violations |= {SAFETY: self.floor - view.whole.worst_case(own)}
        return Bounds(value + zero, lower + zero, upper, violations)

    def gradients(
        self, own: Any, other: Any, multipliers: Mapping[str, Any], subgradients: Mapping[str, Any]
    ) -> tuple[Any, Any]:
        """Return the payoff per unit of each sequence of x and of y against the other plan, less the rows' prices.

        The program must have a weight and no floor.

        Parameters
        ----------
        own, other, multipliers, subgradients
            As in :meth:`bounds`.
        """
        view = self.view
        gradient, _ = self._gradient(view.own_gradient(other), None, multipliers)
        slope, _ = self.own_rows.minorant(multipliers, own, subgradients)
        priced, _ = self.other_rows.minorant(multipliers, other, subgradients)
        return gradient - slope, self.weight * (view.other_gradient(own) - priced)

    def _gradient(self, against: Any, floor_reply: Any, multipliers: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return c + ω M y + κ M y_s, and −κ f, given M y; y is used as y_s if that is not given."""
        view = self.view
        zero = view.number(0)
        floor_price = zero if self.floor is None else max(zero, multipliers.get(SAFETY, zero))
        reply = against
        if floor_price and floor_reply is not None:
            reply = view.whole.own_gradient(floor_reply)
        if floor_price and not view.exact:  # denormal payoffs can make the price infinite; any price proves a bound
            floor_price = min(floor_price, _LARGEST_PRICE / max(1.0, abs(self.floor), float(np.abs(reply).max())))
        gradient = np.full(view.own.num_sequences, zero) if self.tilt is None else self.tilt
        priced = zero if self.weight is None else self.weight
        if floor_reply is None:
            priced += floor_price
        elif floor_price:
            gradient = gradient + floor_price * reply
        if priced:
            gradient = gradient + priced * against
        return gradient, -floor_price * self.floor if floor_price else zero

    def _most(self, own: Any, gradient: Any, multipliers: Mapping[str, Any], subgradients: Mapping[str, Any]) -> Any:
        """Return an upper bound on max over x' in X of gradient · x' − Σ λ_i f_i(x').

        Each f_i is replaced by an affine minorant: that of the subgradients, or another one that tightens the bound.
        """
        view, rows = self.view, self.own
        if rows is None:
            return view.most(gradient)
        minorants = [rows.minorant(multipliers, own, subgradients)]
        best = rows.best_subgradients(multipliers, gradient)
        if best:
            minorants += [rows.minorant(multipliers, own, {}), rows.minorant(multipliers, own, best)]
        return min(view.most(gradient - slope) - offset for slope, offset in minorants)


def _none(treeplex: Treeplex) -> "Rows":
    from .rows import Rows

    return Rows((), treeplex.num_sequences)


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds on the optimum of a saddle program that plans and multipliers prove.

    Attributes
    ----------
    value : float or Fraction
        c · x + ω [xᵀ M y + paid(y)] − paid(x).
    lower, upper : float or Fraction
        Bounds on the optimum: ``lower`` if x meets its hard rows and the floor, ``upper`` if y meets its hard rows.
    violations : mapping of str to float or Fraction
        By constraint, and ``safety`` for the floor; positive if violated.
    """

    value: Any
    lower: Any
    upper: Any
    violations: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Answer:
    """The solution of a program: plans, and multipliers that help to certify them.

    Attributes
    ----------
    plans : tuple of ndarray of float64 or of Fraction
        One realization plan per player.
    multipliers : mapping of str to float or Fraction
        By constraint, at least 0: the gain of the constraint's player per unit by which f(x) ≤ 0 is loosened.
    dual_certificate : mapping of str to ndarray
        Other arrays that help to prove a bound, such as subgradients by constraint at a kink of its function. They are
        checked or clipped before use, so they cannot prove a wrong bound.
    """

    plans: tuple[Any, ...]
    multipliers: Mapping[str, Any] = field(default_factory=dict)
    dual_certificate: Mapping[str, Any] = field(default_factory=dict)
