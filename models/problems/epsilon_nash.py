"""Approximate Nash equilibria of games that are not zero-sum."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError
from ...seqform.evaluate import best_response_values
from ...seqform.game import Game
from ...seqform.polytope import best_response_value
from ...seqform.strategy import Profile, check_same_game
from ..constraints import Constraint, LinearConstraint, collect_constraints
from ..declarations import Constraints
from ..saddle import PlayerView, Rows, Saddle, check_player_count
from .certificate import Certificate
from .features import Feature
from .problem import Problem


@dataclass(frozen=True, eq=False)
class EpsilonNash(Problem):
    r"""An ε-Nash equilibrium of a game of two or more players, whose payoffs need not sum to zero.

    The regret of player i is its gain from a best response,

    .. math:: r_i = \max_{x_i'} u_i(x_i', x_{-i}) - u_i(x_i, x_{-i}),

    and ε, the largest regret, is compared with the tolerance: no player gains more than ε by playing differently.

    Parameters
    ----------
    game : Game
        Two or more players.
    constraints : iterable of constraints, or mapping of str to constraint
        Linear constraints of two players, as for :class:`~treeplex.ConstrainedNash`. A best response x'ᵢ then meets
        the constraints of player i, and so does xᵢ.

    Raises
    ------
    InvalidGameError
        If it is not a Game.
    InvalidConstraintError
        If a constraint cannot be read, or belongs to another game.
    UnsupportedProblemError
        If the game has one player, or there are constraints that are not linear or on more than two players.

    Notes
    -----
    Such a game has no value: equilibria may pay differently, and an ε-equilibrium need not be close to one. So there
    are no bounds, and a strategy is not safe by itself. Averages of regret minimisation need not converge to an
    equilibrium either; this is proven only if payoffs sum to zero. In general only the joint distribution of the
    iterates becomes a coarse correlated equilibrium, as :class:`~treeplex.solvers.EmpiricalRun` measures (H. Moulin and
    J.-P. Vial, "Strategically zero-sum games: the class of games whose completely mixed equilibria cannot be improved
    upon", International Journal of Game Theory 7, 1978). If payoffs nearly sum to zero, as with the rake of a poker
    room, the averages mostly converge; in L. S. Shapley's game ("Some topics in two-person games", Annals of
    Mathematics Studies 52, 1964) they do not. ε is computed from the strategies in every game, and shows how close they
    are to an equilibrium.

    With constraints Gᵢ xᵢ ≤ hᵢ, no plan of player i that meets them earns more than

    .. math:: \max_{x_i'} \left[ u_i(x_i', x_{-i}) - \lambda \cdot (G_i x_i' - h_i) \right]

    over all plans, for any multipliers λ ≥ 0. The regret is computed from this bound, with the method's multipliers, so
    that ε is proven whatever the multipliers are. If constraints fix all decisions of a player, the other player's
    best response is an equilibrium, and one evaluation finds it exactly.

    Examples
    --------
    Matching pennies, except that a player who shows heads pays 0.2 for it:

    >>> from treeplex import EpsilonNash, Game, SequenceForm, solve
    >>> taxed = SequenceForm.from_payoff_matrix([[0.8, -1.2], [-1, 1]], [[-1.2, 1], [0.8, -1]])
    >>> solution = solve(EpsilonNash(Game.from_sequence_form(taxed)), tol=1e-3)
    >>> [round(value, 2) + 0.0 for value in solution.value]
    [-0.1, -0.1]
    >>> solution.certificate.epsilon <= 1e-3
    True
    """

    game: Game
    constraints: Constraints = field(default=())  # a tuple of Constraint after they have been collected

    name: ClassVar[str] = "epsilon-nash"
    question: ClassVar[str] = "Which strategies leave no player more than a little to gain by playing differently?"
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.GENERAL_SUM})
    usual_method: ClassVar[str] = "dcfr"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.constraints:  # an empty mapping too
            object.__setattr__(self, "constraints", ())
            return
        object.__setattr__(self, "constraints", collect_constraints(self.constraints, self.given_game))
        if not all(isinstance(one, LinearConstraint) for one in self.constraints):
            raise UnsupportedProblemError(f"{self.name} accepts only linear constraints")

    def _posed_on(self, game: Game) -> Game:
        if game.num_players < 2 or (self.constraints and game.num_players != 2):
            check_player_count(self.name, game)
        return game

    @property
    def hard_constraints(self) -> tuple[Constraint, ...]:
        """All constraints."""
        return tuple(self.constraints)

    @cached_property
    def canonical(self) -> Saddle:
        """The players' polytopes and constraints, from player 0's seat; its bounds assume that payoffs sum to zero."""
        own, other = (
            Rows(tuple(one for one in self.constraints if one.player == player), treeplex.num_sequences)
            for player, treeplex in enumerate(self.game.sequence_form.treeplexes)
        )
        return Saddle(PlayerView(self.game, 0), weight=1.0, own=own, other=other)

    @property
    def needs(self) -> frozenset[str]:
        """Support for payoffs that do not sum to zero, for constraints, and for more than two players if needed."""
        several = {Feature.PLAYERS} if self.game.num_players > 2 else set[str]()
        return self.always_needs | several | ({Feature.CONSTRAINTS} if self.constraints else set())

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        dual_certificate: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute the payoffs of a profile and each player's gain from a best response; there are no bounds."""
        check_same_game(profile[0], self.game)
        form = self.game.sequence_form
        if self.constraints:
            return self._constrained(profile, multipliers or {})
        return self.proven(
            form.expected_payoffs(profile.plans).tolist(),
            best_response_values(form, profile).tolist(),
            profile.residual,
        )

    def _constrained(self, profile: Profile, multipliers: Mapping[str, float]) -> Certificate:
        """Return the certificate whose regrets follow from multipliers of the players' constraints."""
        saddle, form, plans = self.canonical, self.game.sequence_form, profile.plans
        values, best = form.expected_payoffs(plans).tolist(), []
        violations: dict[str, float] = {}
        for player, rows in enumerate((saddle.own_rows, saddle.other_rows)):
            slope, offset = rows.minorant(multipliers, plans[player], {})
            most = best_response_value(form.treeplexes[player], form.gradient(player, plans) - slope) - offset
            missed = rows.values(plans[player])
            # A plan that violates a constraint by round-off may earn more than any that meets it.
            most += sum(max(0.0, multipliers.get(name, 0.0)) * max(0.0, value) for name, value in missed.items())
            best.append(float(most))
            violations |= missed
        found = self.proven(values, best, profile.residual)
        return replace(found, violations={one.name: float(violations[one.name]) for one in self.constraints})

    @staticmethod
    def proven(values: Sequence[float], best: Sequence[float], residual: float = 0.0) -> Certificate:
        """Return the certificate of strategies, given each player's payoff and that of its best response.

        Parameters
        ----------
        values, best : sequence of float
        residual : float
        """
        regrets = tuple(max(0.0, most - value) for most, value in zip(best, values, strict=True))
        return Certificate(
            value=tuple(values),
            objective=None,
            lower=None,
            upper=None,
            exploitability=sum(regrets) / len(regrets),
            residual=residual,
            violations={},
            regrets=regrets,
        )

    def error(self, certificate: Certificate) -> float:
        """Return the quantity compared with the tolerance: ε, the largest regret, or a larger violation."""
        assert certificate.epsilon is not None
        return max(certificate.epsilon, certificate.violation)
