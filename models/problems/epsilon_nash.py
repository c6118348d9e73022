"""Approximate Nash equilibria of games that are not zero-sum."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ...seqform.arrays import Floats
from ...seqform.checks import check_choice
from ...seqform.errors import UnsupportedProblemError
from ...seqform.evaluate import best_response_values
from ...seqform.game import Game
from ...seqform.parameters import About
from ...seqform.polytope import best_response_value
from ...seqform.rationals import Fractions, exact_best_response_value, exact_residual
from ...seqform.strategy import Profile, check_same_game
from ..constraints import Constraint, LinearConstraint, collect_constraints
from ..declarations import Constraints
from ..saddle import PlayerView, Rows, Saddle, check_player_count
from .certificate import Certificate
from .features import Feature
from .problem import Problem

if TYPE_CHECKING:
    from .equilibria import EquilibriumProgram

#: Up to this many sequences of both players together, Lemke's algorithm finds an exact equilibrium by default.
_SMALL = 3_000


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
    maximise : {"welfare", "0", "1"}, optional
        Among the equilibria of two players, one that maximises the sum of the payoffs, or the payoff of a player. There
        must be no constraints.

    Raises
    ------
    InvalidGameError
        If it is not a Game.
    InvalidConstraintError
        If a constraint cannot be read, or belongs to another game.
    UnsupportedProblemError
        If the game has one player, or there are constraints that are not linear or on more than two players, or
        `maximise` is given for more than two players or with constraints.

    Notes
    -----
    Such a game has no value: equilibria may pay differently, and an ε-equilibrium need not be close to one. So there
    are no bounds, and a strategy is not safe by itself. In games of two players Lemke's algorithm finds an exact
    equilibrium, by default up to 3,000 sequences: :class:`Complementarity
    <treeplex.models.problems.complementarity.Complementarity>` states the conditions. If an objective is given, an
    integer program finds the best equilibrium of a small game: :class:`EquilibriumProgram
    <treeplex.models.problems.equilibria.EquilibriumProgram>`. In both cases ε proves the equilibrium; branch and bound
    claims that no other equilibrium has a larger objective.

    Averages of regret minimisation need not converge to an equilibrium; this is proven only if payoffs sum to zero. In
    general only the joint distribution of the iterates becomes a coarse correlated equilibrium, as
    :class:`~treeplex.solvers.EmpiricalRun` measures (H. Moulin and J.-P. Vial, "Strategically zero-sum games: the class
    of games whose completely mixed equilibria cannot be improved upon", International Journal of Game Theory 7, 1978).
    If payoffs nearly sum to zero, as with the rake of a poker room, the averages mostly converge; in L. S. Shapley's
    game ("Some topics in two-person games", Annals of Mathematics Studies 52, 1964) they do not. ε is computed from the
    strategies in every game, and shows how close they are to an equilibrium.

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

    Two players meet at one of two places. Of the three equilibria, this is the best for player 1:

    >>> places = SequenceForm.from_payoff_matrix([[2, 0], [0, 1]], [[1, 0], [0, 2]])
    >>> solution = solve(EpsilonNash(Game.from_sequence_form(places), maximise="1"))
    >>> solution.value, solution.objective
    ((1.0, 2.0), 2.0)
    """

    game: Game
    constraints: Constraints = field(default=())  # a tuple of Constraint after they have been collected
    maximise: Annotated[
        Literal["welfare", "0", "1"] | None,
        About("the equilibrium with the largest sum of payoffs, or payoff of player 0 or 1", shown="any equilibrium"),
    ] = field(default=None, kw_only=True)

    name: ClassVar[str] = "epsilon-nash"
    question: ClassVar[str] = "Which strategies leave no player more than a little to gain by playing differently?"
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.GENERAL_SUM})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.maximise, f"{self.name}: maximise", UnsupportedProblemError, ("welfare", "0", "1", None))
        if self.maximise is not None:
            self._check_stated_players(2)
        if not self.constraints:  # an empty mapping too
            object.__setattr__(self, "constraints", ())
            return
        object.__setattr__(self, "constraints", collect_constraints(self.constraints, self.given_game))
        if not all(isinstance(one, LinearConstraint) for one in self.constraints):
            raise UnsupportedProblemError(f"{self.name} accepts only linear constraints")
        if self.maximise is not None:
            raise UnsupportedProblemError(f"{self.name}: maximise is given with constraints, expected only one of them")

    def _posed_on(self, game: Game) -> Game:
        if game.num_players < 2 or ((self.constraints or self.maximise) and game.num_players != 2):
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
        chosen = {Feature.SELECTION} if self.maximise else set[str]()
        return self.always_needs | several | chosen | ({Feature.LIMITED_REGRETS} if self.constraints else set())

    @property
    def usual_method(self) -> str:  # type: ignore[override]
        """The default method: ``branch-and-bound`` for an objective, ``lemke`` for two players, else ``dcfr``."""
        if self.maximise is not None:
            return "branch-and-bound"
        game = self.game
        if game.num_players > 2 or self.constraints or game.public_form is not None:
            return "dcfr"
        count = sum(treeplex.num_sequences for treeplex in game.sequence_form.treeplexes)
        return "lemke" if count <= _SMALL else "dcfr"

    @property
    def error_proves(self) -> bool:  # type: ignore[override]
        """Whether ε alone proves the answer: not if an equilibrium is the best one for an objective."""
        return self.maximise is None

    @cached_property
    def weights(self) -> tuple[float, float]:
        """The weights of two players' payoffs in the objective."""
        first, second = {"welfare": (1.0, 1.0), "0": (1.0, 0.0), "1": (0.0, 1.0)}.get(self.maximise or "", (0.0, 0.0))
        return first, second

    @property
    def objective_words(self) -> str:
        """The objective in words; empty if there is none."""
        if self.maximise is None:
            return ""
        return "sum of payoffs" if self.maximise == "welfare" else f"payoff of player {self.maximise}"

    @property
    def meaning(self) -> str:
        """The meaning of the objective."""
        return self.objective_words

    @cached_property
    def equilibria(self) -> "EquilibriumProgram":
        """The integer program whose solutions are the equilibria of two players."""
        from .equilibria import EquilibriumProgram

        return EquilibriumProgram(self.game.sequence_form, self.weights)

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
        values = form.expected_payoffs(profile.plans).tolist()
        found = Certificate.of_regrets(values, best_response_values(form, profile), profile.residual)
        if self.maximise is None:
            return found
        return replace(found, objective=sum(w * value for w, value in zip(self.weights, values, strict=True)))

    def certify_exact(self, plans: Sequence[Fractions]) -> Certificate:
        """Compute a certificate from plans in fractions; all its numbers except the residual are fractions.

        Parameters
        ----------
        plans : sequence of ndarray of Fraction
            A plan per player, of two.
        """
        from ..programs.triplets import exact_payoffs

        values: list[Any] = []
        best: list[Any] = []
        residual = Fraction(0)
        for player, (treeplex, plan) in enumerate(zip(self.game.sequence_form.treeplexes, plans, strict=True)):
            payoffs = exact_payoffs(self.game, player)
            paid = (payoffs if player == 0 else payoffs.T) @ plans[1 - player]
            values.append(plan @ paid)
            best.append(exact_best_response_value(treeplex, paid))
            residual = max(residual, exact_residual(treeplex, plan))
        regrets = tuple(most - value for most, value in zip(best, values, strict=True))
        found = Certificate.of_regrets(values, best, float(residual))
        return replace(found, value=tuple(values), exploitability=sum(regrets) / 2, regrets=regrets)

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
        found = Certificate.of_regrets(values, best, profile.residual)
        return replace(found, violations={one.name: float(violations[one.name]) for one in self.constraints})

    def error(self, certificate: Certificate) -> float:
        """Return the quantity compared with the tolerance: ε, the largest regret, or a larger violation."""
        assert certificate.epsilon is not None
        return max(certificate.epsilon, certificate.violation)
