"""Approximate Nash equilibria of games that are not zero-sum."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...seqform.arrays import Floats
from ...seqform.evaluate import best_response_values
from ...seqform.game import Game
from ...seqform.strategy import Profile, check_same_game
from ..saddle import check_player_count
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

    Raises
    ------
    InvalidGameError
        If it is not a Game.
    UnsupportedProblemError
        If the game has one player.

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
    name: ClassVar[str] = "epsilon-nash"
    question: ClassVar[str] = "Which strategies leave no player more than a little to gain by playing differently?"
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.GENERAL_SUM})
    usual_method: ClassVar[str] = "dcfr"

    def _posed_on(self, game: Game) -> Game:
        if game.num_players < 2:
            check_player_count(self.name, game)
        return game

    @property
    def needs(self) -> frozenset[str]:
        """Support for payoffs that do not sum to zero, and for more than two players if the game has them."""
        return self.always_needs | ({Feature.PLAYERS} if self.game.num_players > 2 else frozenset())

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        dual_certificate: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute the payoffs of a profile and each player's gain from a best response; there are no bounds."""
        check_same_game(profile[0], self.game)
        form = self.game.sequence_form
        return self.proven(
            form.expected_payoffs(profile.plans).tolist(),
            best_response_values(form, profile).tolist(),
            profile.residual,
        )

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
        """Return the quantity compared with the tolerance: ε, the largest regret."""
        assert certificate.epsilon is not None
        return certificate.epsilon
