"""Nash equilibria, of constant-sum games by the canonical program."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.strategy import Profile, check_same_game
from ..saddle import PlayerView, Saddle, zero_sum_of, zero_sum_part
from .certificate import Certificate
from .features import Feature, Refine
from .problem import Problem, SaddleProblem


@dataclass(frozen=True, eq=False)
class Nash(SaddleProblem):
    """A Nash equilibrium; in a constant-sum game, max over x, min over y of xᵀ A y over the players' treeplexes.

    Parameters
    ----------
    game : Game
        If its payoffs have a constant sum, exact methods need two players; iterative methods accept more, but may not
        converge. Otherwise :func:`~treeplex.solve` solves it as :class:`~treeplex.EpsilonNash`. A one-player game is a
        decision problem, whose optimal strategy is computed.
    refine : {"undominated", "quasi-perfect", "proper"}, optional
        A refinement of the equilibrium, computed in fractions, for two players whose payoffs have a constant sum:
        strategies that no other strategy dominates, that are best responses to small mistakes at every infoset, or that
        gain the most from mistakes of the opponent that cost it little. See :doc:`/theory/refinements`.

    Raises
    ------
    InvalidGameError
        If `game` is not a Game.
    UnsupportedProblemError
        If a method of this class is called that needs payoffs with a constant sum.

    Notes
    -----
    The linear program is player 0's: max f · q over x and q, such that E x = e, x ≥ 0 and Fᵀ q ≤ Aᵀ x, with q free.
    q(I) can be interpreted as player 0's value at player 1's infoset I under player 1's best response, weighted by the
    reach of chance and player 0. q(I) is at most that value, and equal to it at infosets that a best response reaches.
    The dual is player 1's program, so the multipliers of Fᵀ q ≤ Aᵀ x are player 1's equilibrium plan, and f · q is the
    value of the game (Koller, Megiddo and von Stengel, "Efficient computation of equilibria for extensive two-person
    games", Games and Economic Behavior 14, 1996, section 3).

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")))
    >>> round(solution.value, 9)
    -0.055555556
    """

    game: Game
    refine: Refine = field(default=None, kw_only=True)
    name: ClassVar[str] = "nash"
    question: ClassVar[str] = "Which strategies leave no player anything to gain by playing differently?"

    def _posed_on(self, game: Game) -> Game:
        return zero_sum_part(game) or game

    def resolved(self) -> Problem:
        """Return the refined problem, or :class:`~treeplex.EpsilonNash` if the payoffs do not have a constant sum."""
        if self.refine is None and zero_sum_part(self.game) is not None:
            return self
        from .refined import posed_otherwise

        return posed_otherwise(self.given_game, self.refine)

    @property
    def needs(self) -> frozenset[str]:
        """The features needed: a canonical program for two players, otherwise support for more players."""
        return self.always_needs if self.game.num_players == 2 else frozenset({Feature.PLAYERS})

    def saddle(self, exact: bool = False) -> Saddle:
        """Return max over x, min over y of xᵀ A y, from player 0's seat.

        Raises
        ------
        UnsupportedProblemError
            If the game has more than two players.
        """
        if self.game.num_players != 2:
            raise UnsupportedProblemError(
                f"the linear program of nash needs two players, but {self.game.spec} has {self.game.num_players}: "
                "use an iterative method (cfr, cfr+, dcfr, pcfr+)"
            )
        _ = zero_sum_of(self.name, self.game)
        return Saddle(PlayerView(self.game, 0, exact), weight=1 if exact else 1.0)

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        dual_certificate: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute the bounds that a profile proves on the value of the game, and its exploitability.

        For two players, ``lower`` is player 0's payoff against player 1's best response, and ``upper`` is the payoff of
        player 0's best response; the value of the game lies between them. For more players there are no bounds, but
        every player's regret.
        """
        if self.game.num_players == 2:
            return super().certify(profile)
        check_same_game(profile[0], self.game)
        from ...seqform.evaluate import best_response_values, expected_payoffs

        best = best_response_values(self.game, profile)
        return Certificate.of_regrets(expected_payoffs(self.game, profile), best, profile.residual)

    def error(self, certificate: Certificate) -> float:
        """Return the quantity that is compared with the tolerance: the exploitability."""
        return certificate.exploitability
