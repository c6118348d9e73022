"""A zero-sum game of two players from one player's seat, and the linear program of what its plans guarantee."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...seqform.errors import UnsupportedProblemError
from ...seqform.evaluate import best_response_plan, best_response_value
from ...seqform.game import Game
from ...seqform.polytope import Treeplex
from ...seqform.rationals import exact_best_response_value, exact_plan, exact_residual, intended_fraction, to_fractions
from ...seqform.sequence_form import SequenceForm
from ...seqform.strategy import Strategy
from ..programs.program_blocks import ProgramBlocks
from ..programs.triplets import Triplets

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class Side:
    """One player's seat: its plans x, the other player's plans y, and what it is paid, xᵀ M y.

    M is A for player 0 and −Aᵀ for player 1.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    player : int
    exact : bool
        Whether plans, payoffs and programs are in fractions. Payoffs are then those of the rules or the tree, where the
        game has one; floats count as :func:`~treeplex.seqform.rationals.intended_fraction` has it.
    """

    game: Game
    player: int
    exact: bool = False

    @property
    def own(self) -> Treeplex:
        """The player's polytope."""
        return self.game.sequence_form.treeplexes[self.player]

    @property
    def other(self) -> Treeplex:
        """The other player's polytope."""
        return self.game.sequence_form.treeplexes[1 - self.player]

    def paid(self, other: Any) -> Any:
        """Return M y: the player's payoff per unit of each own sequence."""
        if not self.exact:
            return self.game.sequence_form.gradient(self.player, [other, other])
        product = other
        for matrix in reversed(self._matrices):
            product = matrix @ product
        return product

    def payoff(self, own: Any, other: Any) -> Any:
        """Return xᵀ M y."""
        return self.number(own @ self.paid(other))

    def worst_case(self, own: Any) -> Any:
        """Return min over y of xᵀ M y."""
        if not self.exact:
            return -best_response_value(self.other, self.game.sequence_form.gradient(1 - self.player, [own, own]))
        product = own
        for matrix in self._matrices:
            product = matrix.T @ product
        return -exact_best_response_value(self.other, -product)

    def worst_plan(self, own: Any) -> Any:
        """Return a pure plan y that attains min over y of xᵀ M y; with exact numbers, but for round-off."""
        floats = np.asarray(own, dtype=np.float64)
        found = best_response_plan(self.other, self.game.sequence_form.gradient(1 - self.player, [floats, floats]))
        return exact_plan(self.other, found.behaviour) if self.exact else found.plan

    def best_case(self, other: Any) -> Any:
        """Return max over x of xᵀ M y."""
        return self.most(self.paid(other))

    def most(self, payoffs: Any) -> Any:
        """Return max over x of payoffs · x."""
        return (exact_best_response_value if self.exact else best_response_value)(self.own, payoffs)

    def plan_of(self, strategy: Strategy) -> Any:
        """Return a strategy's realization plan; in fractions by :func:`~treeplex.seqform.rationals.exact_plan`."""
        return exact_plan(strategy.treeplex, strategy.behaviour) if self.exact else strategy.plan

    def residual(self, plans: Sequence[Any]) -> float:
        """Return how far both players' plans, player 0's first, are from their polytopes."""
        residual = exact_residual if self.exact else Treeplex.residual
        treeplexes = self.game.sequence_form.treeplexes
        return float(max(residual(treeplex, plan) for treeplex, plan in zip(treeplexes, plans, strict=True)))

    def number(self, number: Any) -> Any:
        """Return a number as a fraction where exact, else as a float."""
        return intended_fraction(number) if self.exact else float(number)

    @property
    def unit(self) -> Any:
        """The mean absolute entry of M, or of its left factor: solvers' tolerances are absolute. 1 where exact."""
        if self.exact:
            return 1
        factored = self.game.sequence_form.factored
        entries = self.game.sequence_form.A.data if factored is None else factored.balanced[0].data
        return float(np.abs(entries).mean()) if len(entries) else 1.0

    @cached_property
    def _matrices(self) -> tuple[Any, ...]:
        """The matrices whose product is M: M itself, or its two factors."""
        first = _exact_payoffs(self.game) if self.exact else _payoffs(self.game)
        return first if self.player == 0 else (*(matrix.T for matrix in reversed(first[1:])), -first[0].T)

    def add_plan(self, blocks: ProgramBlocks, objective: Any = 0.0) -> None:
        """Add the columns ``plan`` (x) and the rows ``plan`` (E x = e)."""
        blocks.add_columns("plan", self.own.num_sequences, objective=objective, lower=0.0)
        blocks.add_rows("plan", {"plan": self.own.E}, lower=self.own.e, upper=self.own.e)

    def add_response(
        self, blocks: ProgramBlocks, weight: Any, more: Mapping[str, sp.sparray | Triplets] | None = None
    ) -> None:
        """Add ``weight`` times the payoff that a plan guarantees to the objective.

        Columns ``values`` (q, in units of :attr:`unit`) and rows ``response`` (Fᵀ q − Mᵀ x ≤ 0), by which f · q is at
        most min over y of xᵀ M y; where payoffs are factored, M = L R, columns ``factors`` (z) and rows ``factors``
        (z − Lᵀ x = 0) stand between.

        Parameters
        ----------
        blocks : ProgramBlocks
        weight : float or Fraction
        more : mapping of str to sparse array or Triplets, optional
            Further terms of the rows ``response``, by blocks of columns that are there already.
        """
        unit = self.unit
        more = more or {}
        matrices = self._matrices
        objective = weight * unit * (to_fractions(self.other.e) if self.exact else self.other.e)
        if len(matrices) == 1:
            blocks.add_columns("values", self.other.E.shape[0], objective=objective)
            terms = {"plan": matrices[0].T * (-1 if self.exact else -1.0 / unit), "values": self.other.E.T}
            blocks.add_rows("response", {**terms, **more}, upper=0.0)
            return
        left, right = matrices
        count = left.shape[1]
        blocks.add_columns("factors", count)
        blocks.add_columns("values", self.other.E.shape[0], objective=objective)
        blocks.add_rows("response", {"factors": -right.T, "values": self.other.E.T, **more}, upper=0.0)
        definition = {"plan": left.T * (-1 if self.exact else -1.0 / unit), "factors": sp.eye_array(count)}
        blocks.add_rows("factors", definition, lower=0.0, upper=0.0)

    def cvxpy_payoffs(self, plan: "cp.Variable") -> "cp.Expression":
        """Return Mᵀ x: what the player is paid per unit of each sequence of the other."""
        product = plan
        for matrix in self._matrices:
            product = matrix.T @ product
        return product

    def cvxpy_response(
        self, plan: "cp.Variable", more: "cp.Expression | None" = None, unit: float = 1.0
    ) -> "tuple[cp.Variable, cp.Constraint, list[cp.Constraint]]":
        """Return q and the constraints by which f · q is at most what the plan guarantees.

        Parameters
        ----------
        plan : cvxpy.Variable
        more : cvxpy.Expression, optional
            Added to the right side of the response.
        unit : float
            Of q and of the response, in payoff units.

        Returns
        -------
        values : cvxpy.Variable
        response : cvxpy.Constraint
            Fᵀ q ≤ Mᵀ x; its multipliers are the other player's plan.
        definitions : list of cvxpy.Constraint
            Of the factors, where payoffs are factored.
        """
        import cvxpy as cp

        values = cp.Variable(self.other.E.shape[0], name="values")
        matrices = self._matrices
        if len(matrices) == 1:
            payoffs = (matrices[0].T / unit) @ plan
            return values, self.other.E.T @ values <= (payoffs if more is None else payoffs + more), []
        left, right = matrices
        factors = cp.Variable(left.shape[1], name="factors")
        payoffs = right.T @ factors
        definition = factors == (left.T / unit) @ plan
        return values, self.other.E.T @ values <= (payoffs if more is None else payoffs + more), [definition]


def _payoffs(game: Game) -> tuple[sp.sparray, ...]:
    """Return A, or its two factors."""
    form = game.sequence_form
    return (form.A,) if form.factored is None else form.factored.balanced


def _exact_payoffs(game: Game) -> tuple[Triplets, ...]:
    """Return A, or its two factors, in fractions."""
    form = game.sequence_form
    if form.factored is not None:
        return Triplets.of(form.factored.left), Triplets.of(form.factored.right)
    if game.rules is None or not _alike(game.exact_sequence_form, form):
        return (Triplets.of(form.A),)
    entries = game.exact_sequence_form.exact_payoffs(0)
    shape = (form.treeplexes[0].num_sequences, form.treeplexes[1].num_sequences)
    return (Triplets.from_entries(shape, list(entries), list(entries.values())),)


def _alike(one: SequenceForm, other: SequenceForm) -> bool:
    """Whether sequences of two forms of a game mean the same: a game may bring its own form beside its rules."""
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
    """Refuse a game that is not of two players, or not zero-sum.

    Raises
    ------
    UnsupportedProblemError
    """
    if game.num_players != 2:
        raise UnsupportedProblemError(f"{problem} needs two players, and {game.spec} has {game.num_players}")
    check_zero_sum(problem, game)


def check_zero_sum(problem: str, game: Game) -> None:
    """Refuse a game that is not zero-sum, for any number of players.

    Raises
    ------
    UnsupportedProblemError
    """
    form = game.sequence_form
    if not form.is_zero_sum:
        constant = form.constant_sum
        advice = "" if constant is None else f": they sum to {constant:g}; take that off one player's payoffs"
        raise UnsupportedProblemError(
            f"{problem} needs a zero-sum game, and the payoffs of {game.spec} do not sum to zero at every leaf{advice}"
        )
