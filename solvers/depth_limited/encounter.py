"""Games that are played out move by move, so that agents decide only where play comes to."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.checks import check_whole
from ...seqform.errors import InvalidStrategyError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.rules import CHANCE, TERMINAL, Rules
from ...seqform.strategy import Strategy, check_same_game
from .agent import Agent

_Outcomes = tuple[list[Hashable], Floats]
_Player = Callable[[Hashable], _Outcomes]


def encounter(game: Game, seats: Sequence[Agent | Strategy], games: int, seed: int = 0) -> Floats:
    """Play games, move by move, and return what each paid.

    Parameters
    ----------
    game : Game
        With rules.
    seats : sequence of Agent or Strategy
        Who plays in each seat. Agents decide when they have to.
    games : int
        How many, at least 0.
    seed : int
        For ``numpy.random.default_rng``. Equal seeds give equal games, and more games begin with those of fewer.

    Returns
    -------
    ndarray of float64, shape (games, num_players)
        What each player was paid in each game, payoff units.

    Raises
    ------
    InvalidStrategyError
        If a seat is taken by nobody, by somebody of another game or seat, or a number is not whole or below 0.
    UnsupportedProblemError
        If the game has no histories to walk.

    Notes
    -----
    Each chance event and each decision takes one uniform number u, and the outcome at which the cumulated probabilities
    first exceed u. :func:`~treeplex.simulate` draws games of strategies faster, from the distribution of leaves.

    Examples
    --------
    >>> from treeplex import CDBR, Agent, Strategy, load_game
    >>> from treeplex.solvers import encounter
    >>> game = load_game("kuhn")
    >>> model = Strategy.uniform(game, 1)
    >>> agent = Agent(CDBR(game, model, lookahead=1), "lp")
    >>> paid = encounter(game, [agent, model], games=2_000, seed=1)
    >>> agent.certificate().opponent_value  # what it earns against the model in expectation
    0.5
    >>> float(paid[:, 0].mean().round(1))
    0.5
    """
    games = check_whole(games, "games", InvalidStrategyError)
    seed = check_whole(seed, "seed", InvalidStrategyError)
    if game.rules is None:
        raise UnsupportedProblemError(f"{game.spec} has no histories, so it cannot be played")
    players = [_player(game, seat, number) for number, seat in enumerate(seats)]
    if len(players) != game.num_players:
        raise InvalidStrategyError(
            f"{len(players)} seats are taken at {game.spec}, expected {game.num_players}: one player a seat"
        )
    rng = np.random.default_rng(seed)
    paid = np.zeros((games, game.num_players))
    begins = game.rules.initial_state()
    # The deal at the root is the largest chance event, and the same in every game.
    dealt = _outcomes(game.rules.chance_outcomes(begins)) if game.rules.player(begins) == CHANCE else None
    for row in paid:
        for seat in seats:
            if isinstance(seat, Agent):
                seat.new_game()
        row[:] = _play(game.rules, begins, dealt, players, rng)
    return paid


def _play(
    rules: Rules, state: Any, dealt: _Outcomes | None, players: Sequence[_Player], rng: np.random.Generator
) -> list[float]:
    """Play one game, and return what it paid."""
    while True:
        mover = rules.player(state)
        if mover == TERMINAL:
            return [float(payoff) for payoff in rules.payoffs(state)]
        if mover != CHANCE:
            actions, cumulated = players[mover](rules.infoset(state))
        elif dealt is not None:
            (actions, cumulated), dealt = dealt, None
        else:
            actions, cumulated = _outcomes(rules.chance_outcomes(state))
        place = int(np.searchsorted(cumulated, rng.random(), side="right"))
        state = rules.child(state, actions[place])


def _outcomes(weights: Iterable[tuple[Hashable, object]]) -> _Outcomes:
    """Return outcomes, and their cumulated probabilities."""
    named = list(weights)
    cumulated = np.cumsum([float(weight) for _, weight in named])  # type: ignore[arg-type]
    return [name for name, _ in named], cumulated / cumulated[-1]


def _player(game: Game, seat: Agent | Strategy, number: int) -> _Player:
    """Return what somebody in a seat plays at an infoset."""
    if isinstance(seat, Agent):
        check_same_game(seat.problem.opponent, game)
    elif isinstance(seat, Strategy):
        check_same_game(seat, game)
    else:
        raise InvalidStrategyError(f"seat {number} is taken by {shown(seat)}, expected an Agent or a Strategy")
    if seat.player != number:
        raise InvalidStrategyError(f"seat {number} is taken by somebody who plays in seat {seat.player}")
    kept: dict[Hashable, _Outcomes] = {}

    def play(infoset: Hashable) -> _Outcomes:
        if infoset not in kept:
            kept[infoset] = _outcomes((seat.act(infoset) if isinstance(seat, Agent) else seat[infoset]).items())
        return kept[infoset]

    return play
