"""Refined equilibria of zero-sum games: undominated, quasi-perfect and normal-form proper."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np

from ...seqform.checks import check_choice
from ...seqform.errors import UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.polytope import Treeplex
from ...seqform.rationals import Fractions, exact_plan, to_fractions
from ..saddle import PlayerView, Saddle, check_player_count, zero_sum_part
from .certificate import Certificate
from .epsilon_nash import EpsilonNash
from .features import REFINEMENTS, Feature
from .problem import SaddleProblem


@dataclass(frozen=True, eq=False)
class RefinedNash(SaddleProblem):
    r"""The problem that :class:`~treeplex.Nash` with ``refine`` becomes.

    Parameters
    ----------
    game : Game
        Two players, constant-sum. Plans must not be flows.
    refine : {"undominated", "quasi-perfect", "proper"}

    Raises
    ------
    UnsupportedProblemError
        If the payoffs do not have a constant sum, there are more than two players, or plans are flows.

    Notes
    -----
    ``quasi-perfect`` solves the game in which player i must play every sequence σ of k actions with a realization
    probability of at least :math:`\varepsilon^k`. With lower bounds l(ε) on x and m(ε) on y, it is the program

    .. math::
        \max_{x, q} \; x^T A m + (f - F m) \cdot q \quad \text{such that} \quad E x = e, \quad F^T q \le A^T x, \quad
        x \ge l

    for all small enough ε > 0. The limits of the behaviour strategies are a quasi-perfect equilibrium: P. B. Miltersen
    and T. B. Sørensen, "Computing a quasi-perfect equilibrium of a two-player game", Economic Theory 42, 2010.
    ``undominated`` has the lower bounds ε times uniform play instead. See :doc:`/theory/refinements`.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> solve(Nash(load_game("kuhn"), refine="quasi-perfect")).value
    Fraction(-1, 18)
    """

    game: Game
    refine: str = field(kw_only=True)

    name: ClassVar[str] = "nash"
    question: ClassVar[str] = "Which strategies are {problem.article} {problem.refine} equilibrium?"
    usual_method: ClassVar[str] = "rational"

    def __post_init__(self) -> None:
        check_choice(self.refine, "nash: refine", UnsupportedProblemError, REFINEMENTS)
        super().__post_init__()

    def _posed_on(self, game: Game) -> Game:
        if game.num_players != 1:
            check_player_count(f"nash with refine={self.refine}", game)
        found = zero_sum_part(game)
        if found is None:
            raise UnsupportedProblemError(
                f"nash: refine={self.refine} needs a zero-sum game, but the payoffs of {game.spec} do not sum to zero "
                "at every leaf"
            )
        return found

    def check_game(self) -> None:
        """Reject plans that are flows."""
        check_realization_plans(f"nash with refine={self.refine}", self.game)

    @property
    def needs(self) -> frozenset[str]:
        """The feature needed: a refined equilibrium."""
        return frozenset({Feature.REFINED})

    @property
    def article(self) -> str:
        """The indefinite article of the refinement."""
        return "an" if self.refine == "undominated" else "a"

    def saddle(self, exact: bool = False) -> Saddle:
        """Return the saddle program of :class:`~treeplex.Nash`."""
        return Saddle(PlayerView(self.game, 0, exact), weight=1 if exact else 1.0)

    def error(self, certificate: Certificate) -> float:
        """Return the exploitability."""
        return certificate.exploitability


def posed_otherwise(game: Game, refine: str | None) -> RefinedNash | EpsilonNash:
    """Return the problem of a refined equilibrium, or without a refinement that of a general-sum game."""
    return EpsilonNash(game) if refine is None else RefinedNash(game, refine=refine)


def lower_bounds(game: Game, refine: str, player: int) -> list[Fractions]:
    """Return the coefficients of ε, ε², … in the lower bounds on a player's plan, one array per power.

    Parameters
    ----------
    game : Game
    refine : {"undominated", "quasi-perfect"}
    player : int

    Returns
    -------
    list of ndarray of Fraction, shape (num_sequences,)
        The bound on the empty sequence is 0.
    """
    treeplexes = game.sequence_form.treeplexes
    if refine == "undominated":
        uniform = exact_plan(treeplexes[player], treeplexes[player].uniform_behaviour())
        uniform[0] = Fraction(0)
        return [uniform]
    lengths = [num_actions(treeplex) for treeplex in treeplexes]
    most = max(max(one) for one in lengths)
    return [to_fractions(np.array(lengths[player]) == power) for power in range(1, most + 1)]


def perturbed_regret(game: Game, refine: str, player: int, plans: Sequence[Sequence[Fractions]]) -> list[Fraction]:
    """Return the coefficients of a player's gain from a best response in the perturbed game.

    Parameters
    ----------
    game : Game
    refine : {"undominated", "quasi-perfect"}
    player : int
    plans : sequence of sequence of ndarray of Fraction
        By player: the coefficients of 1, ε, ε², … of a realization plan.

    Returns
    -------
    list of Fraction
        The coefficients of a polynomial in ε; all are zero if the plan is a best response for all small enough ε.
    """
    view = PlayerView(game, player, exact=True)
    own, other = plans[player], plans[1 - player]
    gradients = [view.own_gradient(one) for one in other]
    lower = [0 * own[0], *lower_bounds(game, refine, player)]
    free = [-inflows(view.own, one) for one in lower]  # what may be moved freely at each infoset: e − E l
    free[0][0] += 1
    # max over x ≥ l of g · x is g · l plus the best values of infosets, weighted by what may be moved.
    best = best_values(view.own, list(zip(*gradients, strict=True)))
    gain = [Fraction(0)] * (len(own) + len(other) - 1)
    for power, one in enumerate(own):
        for more, gradient in enumerate(gradients):
            gain[power + more] += free[power] @ best[more] + (lower[power] - one) @ gradient
    return gain


def check_realization_plans(what: str, game: Game) -> None:
    """Raise an error if a player's plans are flows.

    Raises
    ------
    UnsupportedProblemError
    """
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        if not treeplex.single_parent:
            raise UnsupportedProblemError(
                f"{what} needs realization plans, but those of player {player} of {game.spec} are flows"
            )


def best_values(treeplex: Treeplex, gradient: list[tuple[Fraction, ...]]) -> list[Fractions]:
    """Return the value of a best response at the root and at each infoset, by power of ε.

    Polynomials are compared by their first different coefficients.

    Parameters
    ----------
    treeplex : Treeplex
    gradient : list of tuple of Fraction
        By sequence, the coefficients of the payoff per unit. On return, it includes the best values that follow.
    """
    ranges, parents = list(pairwise(treeplex.offsets.tolist())), treeplex.parents.tolist()
    best = [gradient[0]] * (1 + len(ranges))
    for infoset in reversed(range(len(ranges))):  # infosets are in topological order
        best[1 + infoset] = max(gradient[slice(*ranges[infoset])])
        parent = parents[infoset]
        gradient[parent] = tuple(one + two for one, two in zip(gradient[parent], best[1 + infoset], strict=True))
    best[0] = gradient[0]
    return [to_fractions(one) for one in zip(*best, strict=True)]


def inflows(treeplex: Treeplex, plan: Fractions) -> Fractions:
    """Return E x in fractions: the entry of the empty sequence, then what each infoset plays beyond its parent."""
    bounds = zip(treeplex.parents.tolist(), pairwise(treeplex.offsets.tolist()), strict=True)
    return to_fractions([plan[0], *(sum(plan[slice(*here)]) - plan[parent] for parent, here in bounds)])


def num_actions(treeplex: Treeplex) -> Sequence[int]:
    """Return the number of actions of each sequence.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.problems.refined import num_actions
    >>> num_actions(load_game("kuhn").sequence_form.treeplexes[0])[:6]
    [0, 1, 1, 2, 2, 1]
    """
    lengths = [0] * treeplex.num_sequences
    for parent, (first, stop) in zip(treeplex.parents.tolist(), pairwise(treeplex.offsets.tolist()), strict=True):
        lengths[first:stop] = [lengths[parent] + 1] * (stop - first)
    return lengths
