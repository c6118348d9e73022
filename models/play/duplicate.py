"""Matches of duplicate deals: every deal is played twice, with exchanged seats."""

import math
from typing import Any

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.histories import walk
from ...seqform.rules import CHANCE, TERMINAL
from ...seqform.strategy import Profile


class DuplicateDeals:
    """Duplicate play of a two-player game, many deals at once.

    A deal consists of all chance outcomes, in the order in which they are dealt. In the second game each player holds
    what the other one held. The remaining randomness of a match is in the players' own draws and in the choice of
    deals.

    Parameters
    ----------
    game : Game
        A two-player game with rules, whose deals do not depend on the players' actions.

    Raises
    ------
    UnsupportedProblemError
        If the game is of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex import Profile, load_game
    >>> from treeplex.models.opponents import Threshold
    >>> from treeplex.models.play import DuplicateDeals
    >>> game = load_game("kuhn")
    >>> bot, other = Threshold().profile(game), Profile.uniform(game)
    >>> DuplicateDeals(game).play(bot, other, deals=1_000, rng=np.random.default_rng(1)).shape
    (1000,)
    >>> np.abs(DuplicateDeals(game).play(bot, bot, deals=1_000, rng=np.random.default_rng(1))).max()
    np.float64(0.0)
    """

    def __init__(self, game: Game) -> None:
        if game.num_players != 2 or game.rules is None or game.sequence_form.leaves is None:
            raise UnsupportedProblemError(f"duplicate deals: {game.spec} is not a two-player game with rules")
        self._leaves = game.sequence_form.leaves
        dealt: dict[Any, Any] = {}
        paths: list[tuple[Any, ...]] = []
        for history in walk(game.rules):
            path, chance = ((), 1) if history.before is None else history.before.data
            if history.before is not None and history.before.player == CHANCE:
                path, chance = (*path, history.action), chance * history.probability
            history.data = path, chance
            if history.player == TERMINAL:
                paths.append(path)
                dealt[path] = float(chance)
        begun = {path[:end] for path in dealt for end in range(len(path))}
        deals = {path: number for number, path in enumerate(one for one in dealt if one not in begun)}
        self._chances = np.array([dealt[path] for path in deals])
        if not math.isclose(self._chances.sum(), 1.0, rel_tol=1e-9):
            raise UnsupportedProblemError(f"duplicate deals: the deals of {game.spec} depend on the players' actions")
        ends: dict[Any, list[int]] = {}
        for path, number in deals.items():
            for end in range(len(path) + 1):
                ends.setdefault(path[:end], []).append(number)
        pairs = np.array([(deal, leaf) for leaf, path in enumerate(paths) for deal in ends[path]])
        self._deals, self._ended = pairs[np.lexsort(pairs.T[::-1])].T

    def play(self, mine: Profile, theirs: Profile, deals: int, rng: np.random.Generator) -> Floats:
        """Play a match, and return the first profile's payoff per game on each deal, averaged over both seats.

        Parameters
        ----------
        mine, theirs : Profile
            The strategies of each in both seats.
        deals : int
        rng : Generator

        Returns
        -------
        ndarray of float64, shape (deals,)
            In payoff units.
        """
        drawn = rng.choice(len(self._chances), size=deals, p=self._chances)
        paid = np.zeros(deals)
        for seat, plans in enumerate(((mine[0].plan, theirs[1].plan), (theirs[0].plan, mine[1].plan))):
            reached = plans[0][self._leaves.sequences[:, 0]] * plans[1][self._leaves.sequences[:, 1]]
            cumulated = np.cumsum(reached[self._ended])
            first = np.searchsorted(self._deals, np.arange(len(self._chances)))
            before = np.append(0.0, cumulated)[first]
            whole = np.append(before[1:], cumulated[-1]) - before
            number = before[drawn] + whole[drawn] * rng.random(deals)
            ended = self._ended[np.searchsorted(cumulated, number, side="right")]
            paid += self._leaves.payoffs[ended, seat] / 2
        return paid
