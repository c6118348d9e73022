"""The luck in a player's results, by AIVAT with solved games as value functions."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from ..play.aivat import Aivat
from ..play.public_games import PublicGames
from .habits import MOST_NODES
from .solved_games import Passage, ReviewedGame


def luck_of(passages: Mapping[ReviewedGame, Sequence[tuple[int, str, Passage]]]) -> dict[int, float]:
    """Return the luck of the deal in hands, in big blinds; 0 in large games, and in spots with assumed ranges.

    Parameters
    ----------
    passages : mapping
        For each game the number of each hand, its place, and its way through the game. Of the games of a hand, the
        first one counts.

    Notes
    -----
    Nothing is known about how the players act, so the estimate removes the luck of the player's own cards, and that of
    the board after an all-in. It is unbiased if these cards are dealt as in the game: before the flop always, and in a
    spot if the player arrives there with the range of the spot.
    """
    found: dict[int, float] = defaultdict(float)
    seen: set[int] = set()
    for game, entries in passages.items():
        fresh = [(number, passage) for number, _, passage in entries if number not in seen]
        seen.update(number for number, _ in fresh)
        if len(game.form.players) > MOST_NODES or (game.assumed and game.board(0)):
            continue
        values = game.profile.to_profile(game.game)
        for seat in (0, 1):
            mine = [(number, one) for number, one in fresh if one.seat == seat and one.won is not None]
            if not mine:
                continue
            states = np.array([[one.state, one.other] for _, one in mine])
            ended, won = np.array([one.ended for _, one in mine]), np.array([one.won for _, one in mine], dtype=float)
            games = PublicGames(ended, states if seat == 0 else states[:, ::-1], won)
            free = Aivat(game.game, (), values, player=seat, observer=seat).estimate(games)
            for (number, one), luck in zip(mine, (free.raw - free.adjusted).tolist(), strict=True):
                found[number] = luck * one.unit
    return found
