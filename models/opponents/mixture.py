"""Mixtures of strategies: one of several is drawn before the game, and then played throughout."""

from collections.abc import Sequence
from fractions import Fraction
from numbers import Real

import numpy as np

from ...seqform.errors import InvalidStrategyError, shown
from ...seqform.strategy import Strategy, check_same_game

#: How far the weights may sum from one.
_TOLERANCE = 1e-9


def mixture(strategies: Sequence[Strategy], weights: Sequence[float | Fraction]) -> Strategy:
    """Return the strategy that draws one of several before the game, and plays it throughout.

    Parameters
    ----------
    strategies : sequence of Strategy
        Of one player in one game, at least one.
    weights : sequence of float or Fraction
        The probability of each; at least 0, and 1 in sum (within 1e-9).

    Returns
    -------
    Strategy
        Its plan is the mean of the plans, Σ w x, so that every payoff is the mean of the payoffs. Where the plan does
        not go, it plays the mean of the behaviours.

    Raises
    ------
    InvalidStrategyError
        If there is no strategy, strategies are of different players or games, or weights are no probabilities.

    Notes
    -----
    The behaviour at an infoset is the mean of the behaviours weighted by w and by how often each strategy comes there
    (H. W. Kuhn, "Extensive games and the problem of information", 1953). Mixing anew at each infoset, by w alone, is
    another strategy.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.models.opponents import mixture
    >>> game = load_game("kuhn")
    >>> passes = Strategy.from_dict(game, 0, {"K_": {"p": 1}, "K_pb": {"p": 1}})
    >>> bets = Strategy.from_dict(game, 0, {"K_": {"b": 1}, "K_pb": {"b": 1}})
    >>> half = mixture([passes, bets], [0.5, 0.5])
    >>> half["K_"], half["K_pb"]
    ({'p': 0.5, 'b': 0.5}, {'p': 1.0, 'b': 0.0})
    """
    parts, shares = list(strategies), list(weights)
    if not parts or len(parts) != len(shares):
        raise InvalidStrategyError(
            f"a mixture of {len(parts)} strategies with {len(shares)} weights: expected one weight a strategy, and at "
            "least one strategy"
        )
    for strategy in parts:
        if not isinstance(strategy, Strategy):
            raise InvalidStrategyError(f"a mixture of {shown(strategy)}: a Strategy is needed")
        check_same_game(strategy, parts[0].sequence_form)
        if strategy.player != parts[0].player:
            raise InvalidStrategyError(
                f"a mixture of strategies of players {parts[0].player} and {strategy.player}: expected one player's"
            )
    if (
        not all(isinstance(share, Real) and 0 <= share <= 1 for share in shares)
        or abs(float(sum(shares)) - 1.0) > _TOLERANCE
    ):
        raise InvalidStrategyError(f"a mixture has weights {shown(shares)}, expected probabilities that sum to 1")
    treeplex = parts[0].treeplex
    plans = np.sum([float(share) * strategy.plan for share, strategy in zip(shares, parts, strict=True)], axis=0)
    mean = np.sum([float(share) * strategy.behaviour for share, strategy in zip(shares, parts, strict=True)], axis=0)
    reached = np.repeat(treeplex.reach(plans) > 0.0, treeplex.num_actions)
    behaviour = treeplex.behaviour(plans)
    behaviour[1:] = np.where(reached, behaviour[1:], mean[1:])
    return parts[0].with_behaviour(behaviour)
