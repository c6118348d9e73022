"""The position of a player of the transit game at each time, according to its strategy."""

from ...seqform.arrays import Floats
from ...seqform.checks import check_type
from ...seqform.errors import UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.strategy import Strategy, check_same_game
from .transit import Transit
from .transit_flow import walkers


def transit_occupancy(game: Game, strategy: Strategy) -> Floats:
    """Return the probability of each cell of the transit game at each time.

    Parameters
    ----------
    game : Game
        ``transit`` with ``form=flow``.
    strategy : Strategy
        Of either player.

    Returns
    -------
    ndarray of float64, shape (horizon + 1, rows, columns)
        Entry (t, r, c) is the probability of standing in row r, column c before the step t; the last time is after the
        last move. It sums to one over cells at each time. An evader that has escaped counts at its exit, so the eastern
        column shows the probability of having escaped by then.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a transit game in flow form.
    InvalidStrategyError
        If the strategy belongs to another game.

    Notes
    -----
    The occupancy o is linear in the realization plan y, where y(t, k, a) is the probability of making the move a from
    the cell k in the step t. With s(t, a) the probability that it succeeds and l(k, a) the cell that it aims at, o(t +
    1, l) = Σ {s(t, a) y(t, k, a) : l(k, a) = l} + Σ {(1 − s(t, a)) y(t, k, a) : k = l}.

    The opponent's strategy does not matter, because neither player can stop the other.

    References
    ----------
    B. Bošanský, A. X. Jiang, M. Tambe, C. Kiekintveld (2015), "Combining compact representation and incremental
    generation in large games with sequential strategies", AAAI: plans as flows over time and cell.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.models.games.transit_occupancy import transit_occupancy
    >>> game = load_game("transit:width=2")
    >>> occupancy = transit_occupancy(game, Strategy.uniform(game, 1))
    >>> occupancy.shape
    (9, 2, 4)
    >>> occupancy[:2].round(3)  # from the base, r0c1, to one of six cells alike
    array([[[0.   , 1.   , 0.   , 0.   ],
            [0.   , 0.   , 0.   , 0.   ]],
    <BLANKLINE>
           [[0.167, 0.167, 0.167, 0.   ],
            [0.167, 0.167, 0.167, 0.   ]]])
    """
    rules = transit_rules(game)
    check_same_game(strategy, game)
    walker = walkers(rules)[strategy.player]
    return walker.standing(strategy.plan, rules.steps).reshape(-1, rules.grid.rows, rules.grid.columns)


def transit_rules(game: Game) -> Transit:
    """Return the parameters of a transit game in flow form.

    Raises
    ------
    UnsupportedProblemError
        If the game is of another kind.
    """
    check_type(game, "game", UnsupportedProblemError, Game, "a transit game")
    # A file may be called transit too, and then has no parameters.
    if game.name != Transit.name or "form" not in game.parameters:
        raise UnsupportedProblemError(
            f"{game.spec} has no grid to show a strategy on, expected a transit game; 'treeplex show' prints "
            "strategies of other games"
        )
    rules = Transit(**game.parameters)
    if rules.form != "flow":
        raise UnsupportedProblemError(
            f"{game.spec}: strategies over histories are not shown on the grid; expected form=flow"
        )
    return rules
