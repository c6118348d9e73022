"""A strategy for the trunk of a cut game, measured with other parts: what a choice of parts costs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..models.problems import Nash
from ..seqform.cut_form import CutForm
from ..seqform.errors import InvalidStrategyError, UnsupportedProblemError
from ..seqform.game import Game
from ..seqform.public_profile import PublicProfile
from .dispatch import chosen_method, options_of
from .iteration import iterate
from .public.cut_loop import playing
from .solution import Solution


@dataclass(frozen=True)
class WithOtherParts:
    """The bounds that a strategy for the trunk proves in a game with other parts, in that game's payoffs.

    Attributes
    ----------
    value : float
        Player 0's payoff if both play as in the trunk, and as was learnt in the parts.
    best_responses : tuple of float
        The payoff of each player's best response to that.
    iterations : int
        In the parts.
    """

    value: float
    best_responses: tuple[float, float]
    iterations: int

    @property
    def exploitability(self) -> float:
        """Half of both players' gains from best responses in the whole game: a bound on what the trunk loses there."""
        return max(0.0, sum(self.best_responses) / 2.0)


def with_other_parts(
    trunk: Solution, game: Game, method: Any = "dcfr", *, max_iterations: int = 100, on: str | None = None
) -> WithOtherParts:
    """Keep a strategy for the trunk, learn the play in other parts, and certify both together.

    A solution on representative flops is exact for the game on these flops. On an independent set of flops, the
    exploitability of its trunk, with play after the flop that is learnt there, bounds what the choice of flops costs.
    The bound contains what is left to learn after the flop, so compare it with the exploitability of a solution that
    takes as many iterations on that set.

    Parameters
    ----------
    trunk : Solution
        Of a game with the same trunk.
    game : Game
        A game that is cut into a trunk and parts.
    method : str or RegretMethod, optional
        How to learn in the parts.
    max_iterations : int
    on : str, optional
        As for :func:`~treeplex.solve`.

    Raises
    ------
    UnsupportedProblemError
        If the game is not cut.
    InvalidStrategyError
        If the solution is of a game with another trunk.
    """
    solved = trunk.problem.game
    known, form = solved.public_form, game.public_form
    if not isinstance(form, CutForm):
        raise UnsupportedProblemError(f"{game.spec} is not cut into a trunk and parts")
    same = isinstance(known, CutForm) and known.actions == form.actions and np.array_equal(known.players, form.players)
    if not (same and known is not None and known.states == form.states):
        raise InvalidStrategyError(f"the solution is of {solved.spec}, whose trunk is not that of {game.spec}")
    problem = Nash(game)
    chosen: Any = chosen_method(method, problem)
    options = options_of(chosen, problem, tol=0.0, max_iterations=max_iterations, on=on)
    public = PublicProfile.of(known, trunk.profile)
    with playing(chosen, problem, options, np.float32, public) as loop:
        run = iterate(loop, options)
        loop.check()
        return WithOtherParts(loop.evaluate(0, best=False), loop.best_responses, run.iterations)
