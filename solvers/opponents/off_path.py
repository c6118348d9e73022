"""Sensible behaviour at infosets that a strategy does not reach itself, where an optimal plan is undefined."""

from typing import Any

import numpy as np

from ...models.constraints import LinearConstraint
from ...models.constraints.builders import behaviour_terms
from ...models.problems import ConstrainedNash
from ...seqform.checks import check_number
from ...seqform.errors import InvalidGameError, InvalidStrategyError, shown
from ...seqform.game import Game
from ...seqform.polytope import Treeplex
from ...seqform.strategy import Profile, Strategy, check_same_game
from ..solve import solve_part

#: An infoset with a smaller reach counts as not reached: solvers' zeros are inexact.
REACHED = 1e-9


def trembling_off_path(game: Game, strategies: Any, tremble: float = 0.01) -> Any:
    """Use the behaviour of an equilibrium with trembles at the infosets that strategies do not reach.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    strategies : Strategy or Profile
    tremble : float
        The least probability of every action of both players in that equilibrium; at most 1 over the largest number
        of actions.

    Returns
    -------
    Strategy or Profile
        With the same realization plans up to 1e-9, so that proofs about the strategies still hold, and with other
        behaviour at infosets that a player's own earlier actions exclude.

    Raises
    ------
    InvalidGameError
        If tremble is out of range.
    InvalidStrategyError
        If a strategy belongs to another game.
    SolverError
        If the equilibrium is not found.

    Notes
    -----
    A realization plan is zero below an action that is never taken, so any behaviour there belongs to it. A linear
    program has no reason to prefer one, and :class:`~treeplex.Strategy` plays uniformly. With trembles all infosets are
    reached, and mistakes of the opponent are punished. As trembles of actions go to 0, limits of such equilibria are
    extensive-form perfect (R. Selten, "Reexamination of the perfectness concept for equilibrium points in extensive
    games", International Journal of Game Theory 4, 1975). Here players anticipate their own trembles. In quasi-perfect
    equilibria, whose trembles are of whole sequences, they do not (P. B. Miltersen, T. B. Sørensen, "Computing a
    quasi-perfect equilibrium of a two-player game", Economic Theory 42, 2010). The result is not a refined equilibrium:
    actions that are taken stay unchanged, and the tremble has a fixed size. Trembles multiply along a path, and solvers
    ignore numbers below 1e-9, so a deeper game needs a larger tremble.

    Examples
    --------
    In Kuhn poker's equilibrium with α = 1/3 player 0 always bets a King, and so never has to answer a bet with it:

    >>> from treeplex import Strategy, load_game
    >>> from treeplex.solvers.opponents.off_path import trembling_off_path
    >>> game = load_game("kuhn")
    >>> strategy = Strategy.from_dict(game, 0, {"K_": {"b": 1.0}})
    >>> refined = trembling_off_path(game, strategy)
    >>> strategy["K_pb"]["b"], round(refined["K_pb"]["b"], 6)
    (0.5, 0.99)
    """
    given = list(strategies) if isinstance(strategies, Profile) else [strategies]
    for strategy in given:
        if not isinstance(strategy, Strategy):
            raise InvalidStrategyError(f"received {shown(strategies)}, expected a Strategy or a Profile")
        check_same_game(strategy, game)
    most = min(1.0 / int(treeplex.num_actions.max(initial=1)) for treeplex in game.sequence_form.treeplexes)
    tremble = check_number(tremble, "tremble", InvalidGameError, f"(0, {most!r}]")
    constraints = [
        constraint
        for player, treeplex in enumerate(game.sequence_form.treeplexes)
        for constraint in _trembles(player, treeplex, tremble)
    ]
    needed = f"the equilibrium with trembles of {tremble:g}"
    solution = solve_part(ConstrainedNash(game, constraints), needed=needed)
    refined = [_refined(game, strategy, solution.profile[strategy.player]) for strategy in given]
    return Profile(refined) if isinstance(strategies, Profile) else refined[0]


def _trembles(player: int, treeplex: Treeplex, tremble: float) -> list[LinearConstraint]:
    """Return the constraints that give every action a least probability."""
    constraints = []
    for sequence in range(1, treeplex.num_sequences):
        terms, limit, _ = behaviour_terms(treeplex, {sequence: 1}, tremble)
        constraints.append(LinearConstraint(player, terms, limit, f"tremble {player}/{sequence}", ">="))
    return constraints


def _refined(game: Game, strategy: Strategy, trembling: Strategy) -> Strategy:
    treeplex = strategy.treeplex
    unreached = np.repeat(treeplex.reach(strategy.plan) <= REACHED, treeplex.num_actions)
    behaviour = strategy.behaviour.copy()
    behaviour[1:][unreached] = trembling.behaviour[1:][unreached]
    return Strategy(game, strategy.player, behaviour)
