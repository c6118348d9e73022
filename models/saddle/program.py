"""The canonical program: every problem of the library on two players is an instance of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...seqform.errors import UnsupportedProblemError
from ...seqform.rationals import exact_plan
from ..constraints.constraint import Constraint
from .rows import Rows
from .view import PlayerView

#: What the floor is called among multipliers and violations.
SAFETY = "safety"
#: What the plan z of a view's replies is called in a dual certificate.
REPLY = "reply"


@dataclass(frozen=True, eq=False)
class Saddle:
    """A saddle program between two polytopes of plans, from the seat of the player who maximises.

    Parameters
    ----------
    view : PlayerView
        The polytopes X and Y, the payoffs xᵀ M y, and whether numbers are floats or fractions.
    tilt : ndarray, shape (num_sequences of the player,), optional
        c; 0 by default.
    weight : float or Fraction, optional
        ω; by default the other player's choice is no part of the objective.
    own, other : Rows, optional
        Constraints on x and on y, hard or soft.
    floor : float or Fraction, optional
        f, in payoff units: what x is to guarantee against every plan of the other player, whatever the rows on y and
        the replies that the view allows.
    model : ndarray, optional
        A plan of the other player that stands in the answer where nothing determines y; by default a worst reply to x.
    maximises : bool
        Whether the problem reports the objective as it is; one that minimises reports its negative.

    Notes
    -----
    The program is

        max over x in X of  c · x + ω · min over y in Y of [xᵀ M y + paid(y)] − paid(x)
        subject to          rows on x, rows on y, and min over y_s of xᵀ M y_s ≥ f,

    where rows are f_i(x) ≤ 0 with f_i convex: hard, or soft, and then the player pays for the sum of its violations or
    for the largest. Plans x and y, a multiplier κ ≥ 0 of the floor with a plan y_s, and multipliers λ, μ ≥ 0 of the
    rows, which are at most the price where they are soft, prove

        upper = max over x' in X of [x' · (c + ω M y + κ M y_s) − Σ λ_i f_i(x')] − κ f + ω paid(y),
        lower = c · x + ω · min over y' in Y of [xᵀ M y' + Σ μ_j h_j(y')] − paid(x)

    for the optimum, as far as x and y meet their hard rows; f_i and h_j are replaced by affine minorants, which
    subgradients give. Restricted Nash responses are c = p M ŷ, ω = 1 − p (M. Johanson, M. Zinkevich and M. Bowling,
    "Computing robust counter-strategies", NIPS 2007); constraints as in T. Davis, K. Waugh and M. Bowling, "Solving
    large extensive-form games with strategy constraints", AAAI 2019.

    Examples
    --------
    What equilibrium strategies of Kuhn poker guarantee, as a saddle program, solved and certified:

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
    own: Rows | None = None
    other: Rows | None = None
    floor: Any = None
    model: Any = None
    maximises: bool = True

    @property
    def sign(self) -> int:
        """What the optimum is multiplied by to be the problem's objective."""
        return 1 if self.maximises else -1

    @property
    def own_rows(self) -> Rows:
        """The constraints on x; maybe none."""
        return self.own or Rows((), self.view.own.num_sequences)

    @property
    def other_rows(self) -> Rows:
        """The constraints on y; maybe none."""
        return self.other or Rows((), self.view.other.num_sequences)

    @property
    def has_rows(self) -> bool:
        """Whether a player has constraints, if only an empty list of them."""
        return self.own is not None or self.other is not None

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of both players, player 0's first."""
        own, other = self.own_rows.constraints, self.other_rows.constraints
        return own + other if self.view.player == 0 else other + own

    @property
    def is_linear(self) -> bool:
        """Whether a linear program can state it."""
        return all(rows is None or rows.is_linear for rows in (self.own, self.other))

    @cached_property
    def swapped(self) -> "Saddle":
        """The same program from the other player's seat.

        Raises
        ------
        UnsupportedProblemError
            If there is a tilt or a floor, which are of one seat alone, or a weight other than 1.
        """
        if self.tilt is not None or self.floor is not None or self.weight != 1:
            raise UnsupportedProblemError(
                "constraints on the other player that are not linear go with neither a tilt nor a floor, and with the "
                "weight 1 alone"
            )
        return Saddle(self.view.swapped, weight=self.weight, own=self.other, other=self.own)

    def reply_to(self, own: Any) -> Any:
        """Return the plan that stands for y where nothing determines it; ``None`` where it has no part at all."""
        if self.model is not None:
            return self.model
        return None if self.weight is None and self.floor is None else self.view.worst_reply(own)

    def seated(self, own: Any, other: Any = None) -> tuple[Any, ...]:
        """Return one realization plan a player, from x and y; uniform play for players of whom nothing is said."""
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
        """Return what plans, multipliers and subgradients prove of the optimum.

        Parameters
        ----------
        own, other : ndarray
            x and y, in floats or in fractions as :attr:`view` has it.
        multipliers : mapping of str to number, optional
            By constraint, ``safety`` of the floor; 0 where none is given. Any are valid, good ones prove tight bounds.
        subgradients : mapping of str to ndarray, optional
            By constraint: what picks an affine minorant of a function that is not linear; any are valid.
        """
        view, given, picked = self.view, multipliers or {}, subgradients or {}
        zero = view.number(0)
        violations = self.own_rows.values(own)
        own_paid = self.own_rows.paid(violations)
        floor_reply = None
        if self.floor is not None and SAFETY in picked:
            floor_reply = view.whole.made_plan(picked[SAFETY])
        elif self.floor is not None and view.replies is not None:
            floor_reply = view.whole.worst_reply(own)
        gradient, constant = self._gradient(other, floor_reply, given)
        upper = constant + min(
            view.most(gradient - slope) - offset for slope, offset in self._minorants(own, gradient, given, picked)
        )
        lower = value = -own_paid if self.tilt is None else view.number(self.tilt @ own) - own_paid
        if self.weight is None:
            upper = min(upper, zero) if self.tilt is None else upper  # nobody is paid for violations
        else:
            other_values = self.other_rows.values(other)
            other_paid = self.other_rows.paid(other_values)
            upper += self.weight * other_paid
            value += self.weight * (view.payoff(own, other) + other_paid)
            slope, offset = self.other_rows.minorant(given, other, picked)
            lower += self.weight * (offset - view.most_of_other(view.other_gradient(own) - slope))
            violations |= other_values
        if self.floor is not None:
            violations |= {SAFETY: self.floor - view.whole.worst_case(own)}
        return Bounds(value + zero, lower + zero, upper, violations)

    def _gradient(self, other: Any, floor_reply: Any, multipliers: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return c + ω M y + κ M y_s, and −κ f; y stands for y_s where that is not given."""
        view = self.view
        zero = view.number(0)
        floor_price = zero if self.floor is None else max(zero, multipliers.get(SAFETY, zero))
        gradient = np.full(view.own.num_sequences, zero) if self.tilt is None else self.tilt
        priced = zero if self.weight is None else self.weight
        if floor_reply is None:
            priced += floor_price
        elif floor_price:
            gradient = gradient + floor_price * view.whole.own_gradient(floor_reply)
        if priced:
            gradient = gradient + priced * view.own_gradient(other)
        return gradient, -floor_price * self.floor if floor_price else zero

    def _minorants(
        self, own: Any, gradient: Any, multipliers: Mapping[str, Any], subgradients: Mapping[str, Any]
    ) -> list[tuple[Any, Any]]:
        """Return affine minorants of Σ λ_i f_i: those that the subgradients pick, and where it may help others."""
        rows = self.own_rows
        found = [rows.minorant(multipliers, own, subgradients)]
        best = rows.best_subgradients(multipliers, gradient)
        if best:
            found += [rows.minorant(multipliers, own, {}), rows.minorant(multipliers, own, best)]
        return found


@dataclass(frozen=True, eq=False)
class Bounds:
    """What plans and multipliers prove of the optimum of a saddle program.

    Attributes
    ----------
    value : float or Fraction
        c · x + ω [xᵀ M y + paid(y)] − paid(x).
    lower, upper : float or Fraction
        Of the optimum, as far as plans meet the hard rows.
    violations : mapping of str to float or Fraction
        By constraint, and ``safety`` of the floor; positive where it is violated.
    """

    value: Any
    lower: Any
    upper: Any
    violations: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solved program says: plans, which prove themselves later, and multipliers, which help to.

    Attributes
    ----------
    plans : tuple of ndarray of float64 or of Fraction
        One realization plan a player.
    multipliers : mapping of str to float or Fraction
        By constraint: the objective's gain per unit of loosening, at least 0.
    dual_certificate : mapping of str to ndarray
        What else helps to prove a bound, such as the subgradients at an answer where a function has a kink, by
        constraint. It is checked or clipped before it is used, so that none proves a wrong bound.
    """

    plans: tuple[Any, ...]
    multipliers: Mapping[str, Any] = field(default_factory=dict)
    dual_certificate: Mapping[str, Any] = field(default_factory=dict)
