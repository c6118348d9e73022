"""Games between agents, lookahead players and strategies, move by move, without enumerating the game."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from ...models.depth_limited.cut_off import PublicPath
from ...seqform.arrays import Floats
from ...seqform.checks import check_whole
from ...seqform.errors import InvalidStrategyError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.rules import CHANCE, TERMINAL, Rules, outcomes_of, public_labels
from ...seqform.strategy import Strategy, check_same_game
from ..sampling.streamed_play import Answer, StreamedStrategy
from .agent import Agent
from .lookahead import LookaheadPlayer, extended

_Outcomes = tuple[list[Hashable], Floats]
_Player = Callable[[Any, PublicPath], _Outcomes]
#: The types of players in a seat.
Taker = Agent | LookaheadPlayer | Strategy | StreamedStrategy | Answer


def encounter(
    game: Game,
    seats: Sequence[Taker],
    games: int,
    seed: int = 0,
    progress: Callable[[int, Floats], object] | None = None,
) -> Floats:
    """Play games, move by move, and return their payoffs.

    Parameters
    ----------
    game : Game
        A game with rules.
    seats : sequence of Agent, LookaheadPlayer, Strategy, StreamedStrategy or callable
        The player of each seat. Agents make each decision when play reaches it. A callable takes the label of an
        infoset and its actions, and returns probabilities.
    games : int
        The number of games, at least 0.
    seed : int
        The seed for ``numpy.random.default_rng``. Equal seeds give equal games, and a larger number of games starts
        with the games of a smaller one.
    progress : callable, optional
        Called after each game with the number of games so far and its payoffs.

    Returns
    -------
    ndarray of float64, shape (games, num_players)
        Each player's payoff in each game, in payoff units.

    Raises
    ------
    InvalidStrategyError
        If a seat has no valid player, or a player of another game or seat, or a number is not a whole number of at
        least 0.
    UnsupportedProblemError
        If the game has no histories.

    Notes
    -----
    Each chance event and each decision uses one uniform number u, and takes the outcome at which the cumulative
    probability first exceeds u. :func:`~treeplex.simulate` draws games of strategies faster, from the distribution of
    leaves.

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
            f"{len(players)} players were given for {game.spec}, expected {game.num_players}: one per seat"
        )
    rng = np.random.default_rng(seed)
    paid = np.zeros((games, game.num_players))
    begins = game.rules.initial_state()
    # The deal at the root is the largest chance event, with the same outcomes in every game.
    dealt = _outcomes(outcomes_of(game.rules)(begins)) if game.rules.player(begins) == CHANCE else None
    label_of = public_labels(game.rules) if any(isinstance(seat, LookaheadPlayer) for seat in seats) else None
    for number, row in enumerate(paid, 1):
        for seat in seats:
            if isinstance(seat, Agent):
                seat.new_game()
        row[:] = _play(game.rules, begins, dealt, players, rng, label_of)
        if progress is not None:
            progress(number, row)
    return paid


def _play(
    rules: Rules,
    state: Any,
    dealt: _Outcomes | None,
    players: Sequence[_Player],
    rng: np.random.Generator,
    label_of: Callable[[Any], Hashable] | None,
) -> list[float]:
    """Play one game, and return its payoffs."""
    path: PublicPath = ()
    while True:
        mover = rules.player(state)
        if mover == TERMINAL:
            return [float(payoff) for payoff in rules.payoffs(state)]
        if label_of is not None:
            path = extended(path, label_of(state), mover)
        if mover != CHANCE:
            actions, cumulated = players[mover](state, path)
        elif dealt is not None:
            (actions, cumulated), dealt = dealt, None
        else:
            actions, cumulated = _outcomes(outcomes_of(rules)(state))
        place = int(np.searchsorted(cumulated, rng.random(), side="right"))
        state = rules.child(state, actions[place])


def _outcomes(weights: Iterable[tuple[Hashable, object]]) -> _Outcomes:
    """Return outcomes, and their cumulative probabilities."""
    named = list(weights)
    cumulated = np.cumsum([float(weight) for _, weight in named])  # type: ignore[arg-type]
    return [name for name, _ in named], cumulated / cumulated[-1]


def _player(game: Game, seat: Taker, number: int) -> _Player:
    """Return the function from a state to the outcomes of the player in a seat."""
    rules = game.rules
    assert rules is not None
    if isinstance(seat, Agent | Strategy):
        check_same_game(seat.problem.opponent if isinstance(seat, Agent) else seat, game)
    elif not isinstance(seat, LookaheadPlayer | StreamedStrategy) and not callable(seat):
        raise InvalidStrategyError(f"seat {number} is taken by {shown(seat)}, expected an Agent or a Strategy")
    seated = getattr(seat, "player", number)
    if seated != number:
        raise InvalidStrategyError(f"the player in seat {number} was made for seat {seated}")
    kept: dict[Hashable, _Outcomes] = {}

    def shares(infoset: Hashable, state: Any, path: PublicPath) -> Iterable[tuple[Hashable, object]]:
        if isinstance(seat, LookaheadPlayer):
            return seat.act(infoset, path).items()
        if isinstance(seat, Agent):
            return seat.act(infoset).items()
        if isinstance(seat, Strategy):
            return seat[infoset].items()
        actions = tuple(rules.actions(state))
        answer = seat.probabilities if isinstance(seat, StreamedStrategy) else seat
        return zip(actions, answer(infoset, actions), strict=True)

    def play(state: Any, path: PublicPath) -> _Outcomes:
        infoset = rules.infoset(state)
        if infoset not in kept:
            kept[infoset] = _outcomes(shares(infoset, state, path))
        return kept[infoset]

    return play
