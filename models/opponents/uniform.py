"""Uniform play that leaves an action out, such as folding: it sees most of what an opponent does."""

from collections.abc import Hashable

import numpy as np

from ...seqform.errors import InvalidStrategyError, nearest, shown
from ...seqform.game import Game
from ...seqform.strategy import Strategy, checked_player


def uniform_without(game: Game, player: int, action: Hashable) -> Strategy:
    """Return the strategy that plays all actions alike but one, which it never takes where there is another.

    Parameters
    ----------
    game : Game
    player : int
    action : hashable
        Its label, or the text of it.

    Returns
    -------
    Strategy

    Raises
    ------
    InvalidStrategyError
        If there is no such player, or no infoset of the player has such an action.

    Notes
    -----
    Without folding it is the probe of T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy
    constraints", AAAI 2019, section 5.2: games against it end in as many showdowns as the opponent lets them.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.opponents import uniform_without
    >>> probe = uniform_without(load_game("leduc"), 0, "f")
    >>> probe["Ks_"], probe["Ks_cr"]
    ({'c': 0.5, 'r': 0.5}, {'f': 0.0, 'c': 0.5, 'r': 0.5})
    """
    player = checked_player(game, player)
    treeplex = game.sequence_form.treeplexes[player]
    labels = {str(label) for actions in treeplex.action_labels for label in actions}
    if str(action) not in labels:
        known = ", ".join(sorted(labels)[:10])
        raise InvalidStrategyError(
            f"player {player} of {game.spec} has no action {shown(str(action), 60)}{nearest(str(action), labels)}; "
            f"expected one of {known}"
        )
    behaviour = [1.0]
    for actions in treeplex.action_labels:
        weights = np.array([str(label) != str(action) or len(actions) == 1 for label in actions], dtype=np.float64)
        behaviour += (weights / weights.sum()).tolist()
    return Strategy(game, player, behaviour)
