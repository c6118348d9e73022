"""Nash equilibria of zero-sum games."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidGameError, UnsupportedProblemError, shown
from ...seqform.evaluate import best_response_value
from ...seqform.game import Game
from ...seqform.rationals import Fractions
from ...seqform.strategy import Profile, check_same_game
from ..programs.linear_program import LinearProgram
from ..programs.program_blocks import ProgramBlocks
from ..programs.rational_program import RationalProgram
from .problem import Answer, Certificate
from .side import Side, check_zero_sum

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class Nash:
    """A Nash equilibrium of a zero-sum game: max over x, min over y of xᵀ A y over the players' treeplexes.

    Parameters
    ----------
    game : Game
        Zero-sum. Exact methods need two players; iterative ones take more, without a promise to converge there.

    Raises
    ------
    InvalidGameError
        If it is no game.
    UnsupportedProblemError
        If the game is not zero-sum.

    Notes
    -----
    The linear program is player 0's, max f · q over x and q, such that E x = e, x ≥ 0 and Fᵀ q ≤ Aᵀ x, q free: q(I) is
    the value of player 1's infoset I to player 0 under player 1's best response, weighted by the reach of chance and
    player 0. Its dual is player 1's program, so the multipliers of Fᵀ q ≤ Aᵀ x are player 1's equilibrium plan, and
    f · q is the value of the game (Koller, Megiddo and von Stengel, "Efficient computation of equilibria for extensive
    two-person games", Games and Economic Behavior 14, 1996, section 3).

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")))
    >>> round(solution.value, 9)
    -0.055555556
    """

    game: Game
    name: ClassVar[str] = "nash"

    def __post_init__(self) -> None:
        if not isinstance(self.game, Game):
            raise InvalidGameError(
                f"Nash needs a Game, received {shown(self.game)}: load_game(…), Game.from_tree(…) and "
                "Game.from_sequence_form(…) make one"
            )
        check_zero_sum(self.name, self.game)

    def linear_program(self) -> LinearProgram:
        """Return player 0's linear program.

        Returns
        -------
        LinearProgram
            Column blocks ``plan`` (x) and ``values`` (q); row blocks ``plan`` (E x = e) and ``response``
            (Fᵀ q − Aᵀ x ≤ 0). A and q are in units of A's mean absolute entry, since solvers' tolerances are absolute
            and E and F hold ones; the objective is in payoff units. Where the payoffs are factored, A = L R with rows
            of R in units of their largest entry, a block of free columns ``factors`` (z) and of rows ``factors``
            (z − Lᵀ x = 0) stand between x and the response (Fᵀ q − Rᵀ z ≤ 0), and A is never made.

        Raises
        ------
        UnsupportedProblemError
            If the game has more than two players.
        """
        return self._blocks(exact=False).program(maximise=True)

    def rational_program(self) -> RationalProgram:
        """Return the program of :meth:`linear_program` in exact fractions, in payoff units.

        Raises
        ------
        UnsupportedProblemError
            If the game has more than two players.
        """
        return self._blocks(exact=True).rational_program(maximise=True)

    def _blocks(self, exact: bool) -> ProgramBlocks:
        self._require_two_players()
        blocks = ProgramBlocks(exact)
        side = Side(self.game, 0, exact)
        side.add_plan(blocks)
        side.add_response(blocks, weight=1)
        return blocks

    def read_linear_program(self, primal: Mapping[str, Floats], dual: Mapping[str, Floats]) -> Answer:
        """Return both players' plans: player 1's is the multiplier of the ``response`` rows, per unit of payoff."""
        return Answer((primal["plan"], dual["response"] / Side(self.game, 0).unit))

    def read_rational_program(self, primal: Mapping[str, Fractions], dual: Mapping[str, Fractions]) -> Answer:
        """Return both players' plans, as :meth:`read_linear_program` does, in fractions."""
        plans: Any = (primal["plan"], dual["response"])
        return Answer(plans)

    def to_cvxpy(self) -> "cp.Problem":
        """Return the same program in cvxpy, on the variable ``game.plan(0)`` and in payoff units.

        Raises
        ------
        UnsupportedProblemError
            If the game has more than two players.
        """
        import cvxpy as cp

        self._require_two_players()
        side = Side(self.game, 0)
        plan = self.game.plan(0)
        values, response, definitions = side.cvxpy_response(plan)
        return cp.Problem(cp.Maximize(side.other.e @ values), [response, side.own.E @ plan == side.own.e, *definitions])

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return both players' plans from the solved program of :meth:`to_cvxpy`."""
        return Answer((np.asarray(self.game.plan(0).value), np.asarray(solved.constraints[0].dual_value)))

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        evidence: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute the bounds that a profile proves on the value of the game, and its exploitability.

        Parameters
        ----------
        profile : Profile
        multipliers, evidence : mapping, optional
            Not read: there are no constraints.

        Returns
        -------
        Certificate
            For two players ``lower`` is what player 0 gets against player 1's best response, ``upper`` what player 0's
            best response gets; the value of the game lies between.
        """
        form = self.game.sequence_form
        check_same_game(profile[0], self.game)
        gradients = [form.gradient(player, profile.plans) for player in range(form.num_players)]
        payoffs = np.array([plan @ gradient for plan, gradient in zip(profile.plans, gradients, strict=True)])
        responses = np.array(
            [best_response_value(treeplex, g) for treeplex, g in zip(form.treeplexes, gradients, strict=True)]
        )
        residual = max(strategy.treeplex.residual(strategy.plan) for strategy in profile)
        two = form.num_players == 2
        return Certificate(
            value=tuple(payoffs.tolist()),
            objective=float(payoffs[0]) if two else None,
            lower=-float(responses[1]) if two else None,
            upper=float(responses[0]) if two else None,
            exploitability=float(np.sum(responses - payoffs)) / form.num_players,
            residual=residual,
            violations={},
        )

    def certify_exact(
        self, plans: Sequence[Fractions], multipliers: Mapping[str, Fraction], evidence: Mapping[str, Fractions]
    ) -> Certificate:
        """Compute what :meth:`certify` does, from plans in fractions: all numbers but the residual are fractions."""
        self._require_two_players()
        side = Side(self.game, 0, exact=True)
        value, lower, upper = side.payoff(*plans), side.worst_case(plans[0]), side.best_case(plans[1])
        return Certificate(
            value=(value, -value),
            objective=value,
            lower=lower,
            upper=upper,
            exploitability=(upper - lower) / 2,
            residual=side.residual(plans),
            violations={},
        )

    def error(self, certificate: Certificate) -> float:
        """Return the exploitability: a tolerance bounds it."""
        return certificate.exploitability

    def _require_two_players(self) -> None:
        if self.game.num_players != 2:
            raise UnsupportedProblemError(
                f"the linear program of nash needs two players, and {self.game.spec} has {self.game.num_players}: "
                "use an iterative method (cfr, cfr+, dcfr, pcfr+)"
            )
