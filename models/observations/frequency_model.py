"""The model that a practitioner makes of an opponent: how often it took which action in hands that were shown."""

from numbers import Real
from typing import Any

import numpy as np

from ...seqform.errors import InvalidConstraintError, PlayLogError, shown
from ...seqform.strategy import Strategy
from .observations import Observations


def frequency_model(observations: Observations, *, smoothing: float = 0.0) -> Strategy:
    """Return the opponent's behaviour by frequencies, from the games alone that showed its private information.

    It is what is done easily, and it is *biased*: whether a game shows the opponent's private information depends on
    what the opponent did. One that folds weak hands shows strong ones, so that this model folds too little, as if it
    never folded at all where a fold ends the game. :class:`~treeplex.OpponentModel` uses all games, and is not biased
    so. This model is here to be compared with.

    Parameters
    ----------
    observations : Observations
    smoothing : float
        What is added to the count of each action, at infosets that were seen. Where nothing was seen the model plays
        every action alike.

    Returns
    -------
    Strategy

    Raises
    ------
    PlayLogError
        If they are no observations.
    InvalidConstraintError
        If the smoothing is no number of at least 0.

    Examples
    --------
    Kuhn poker: the opponent called a bet three times with the king, and once with the queen. Its folds were not shown.

    >>> from treeplex import Observations, frequency_model, load_game, observer_tree
    >>> game = load_game("kuhn")
    >>> view = observer_tree(game, player=0)
    >>> counts = [0] * view.num_classes
    >>> for card, times in (("K", 3), ("Q", 1)):
    ...     leaves = zip(view.private, view.public, view.shown)
    ...     counts[list(leaves).index(("J", ("b", "b"), ((1, card),)))] = times
    >>> model = frequency_model(Observations(game, 0, counts))
    >>> model["Q_b"], model["K_b"], model["J_b"]
    ({'p': 0.0, 'b': 1.0}, {'p': 0.0, 'b': 1.0}, {'p': 0.5, 'b': 0.5})
    """
    if not isinstance(observations, Observations):
        raise PlayLogError(f"received {shown(observations)}, expected Observations")
    extra = _checked_smoothing(smoothing)
    view, opponent = observations.view, observations.opponent
    treeplex = observations.game.sequence_form.treeplexes[opponent]
    taken = np.zeros(treeplex.num_sequences)
    for leaf in np.flatnonzero(observations.counts).tolist():
        sequences = np.unique(view.sequences[view.histories(leaf), opponent])
        if any(player == opponent for player, _ in view.shown[leaf]) and len(sequences) == 1:
            taken[sequences[0]] += observations.counts[leaf]
    for level in reversed(treeplex.levels):
        level.pass_up(np.add.reduceat(taken[level.sequences], level.starts), taken)
    if not treeplex.num_infosets:
        return Strategy.uniform(observations.game, opponent)
    seen = np.repeat(np.add.reduceat(taken, treeplex.offsets[:-1]), treeplex.num_actions)
    arity = np.repeat(treeplex.num_actions, treeplex.num_actions)
    played = np.where(seen > 0.0, (taken[1:] + extra) / np.maximum(seen + extra * arity, 1e-300), 1.0 / arity)
    return Strategy(observations.game, opponent, np.concatenate([[1.0], played]))


def _checked_smoothing(smoothing: Any) -> float:
    is_number = isinstance(smoothing, Real) and not isinstance(smoothing, bool)
    value = float(smoothing) if is_number else float("nan")
    if not 0.0 <= value < np.inf:
        raise InvalidConstraintError(f"smoothing is {shown(smoothing, 60)}, expected a number of at least 0, such as 1")
    return value
