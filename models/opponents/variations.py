"""Strategies derived from others: mixtures, strategies with noise, and uniform play without one action."""

from collections.abc import Hashable, Sequence
from fractions import Fraction

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.checks import check_number, check_whole, is_number
from ...seqform.errors import InvalidStrategyError, nearest, shown
from ...seqform.game import Game
from ...seqform.labels import check_one_text
from ...seqform.strategy import Strategy, check_same_game, check_strategy, checked_player

#: Tolerance on the sum of the weights.
_TOLERANCE = 1e-9


def mixture(strategies: Sequence[Strategy], weights: Sequence[float | Fraction]) -> Strategy:
    """Return the strategy that draws one of several strategies before the game and plays it throughout.

    Parameters
    ----------
    strategies : sequence of Strategy
        At least one, all of one player in one game.
    weights : sequence of float or Fraction
        The probability of each; at least 0, with a sum of 1 (within 1e-9).

    Returns
    -------
    Strategy
        Its plan is the mean of the plans, Σ w x, so every payoff is the mean of the payoffs. Where the plan does not
        reach, it plays the mean of the behaviours.

    Raises
    ------
    InvalidStrategyError
        If there is no strategy, strategies belong to different players or games, or weights are not probabilities.

    Notes
    -----
    The behaviour at an infoset is the mean of the behaviours weighted by w and by each strategy's reach of the infoset
    (H. W. Kuhn, "Extensive games and the problem of information", 1953). Mixing again at each infoset, by w alone,
    gives another strategy.

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
            f"a mixture of {len(parts)} strategies with {len(shares)} weights: expected one weight per strategy, and "
            "at least one strategy"
        )
    for strategy in parts:
        check_strategy(strategy, "a part of the mixture")
        check_same_game(strategy, parts[0].sequence_form)
        if strategy.player != parts[0].player:
            raise InvalidStrategyError(
                f"a mixture of strategies of players {parts[0].player} and {strategy.player}: expected one player only"
            )
    if not all(is_number(share) and 0 <= share <= 1 for share in shares) or abs(float(sum(shares)) - 1.0) > _TOLERANCE:
        raise InvalidStrategyError(f"a mixture has weights {shown(shares)}, expected probabilities that sum to 1")
    treeplex = parts[0].treeplex
    plans = np.sum([float(share) * strategy.plan for share, strategy in zip(shares, parts, strict=True)], axis=0)
    mean = np.sum([float(share) * strategy.behaviour for share, strategy in zip(shares, parts, strict=True)], axis=0)
    reached = np.repeat(treeplex.reach(plans) > 0.0, treeplex.num_actions)
    behaviour = treeplex.behaviour(plans)
    behaviour[1:] = np.where(reached, behaviour[1:], mean[1:])
    return parts[0].with_behaviour(behaviour)


def perturbed(
    strategy: Strategy, epsilon: float = 0.0, concentration: float | None = None, seed: int | None = None
) -> Strategy:
    """Return a strategy with noise on its behaviour at every infoset.

    Parameters
    ----------
    strategy : Strategy
    epsilon : float
        Probability of a tremble, that is, of uniform play at an infoset. This is the first step.
    concentration : float, optional
        The second step: each infoset's probabilities p are drawn from the Dirichlet distribution with parameters
        ``concentration`` · p. The draws have mean p and variance p (1 − p) / (concentration + 1). Above 0, at
        most 1e12.
    seed : int, optional
        Seed of the draws; required with a concentration. Equal seeds give equal strategies.

    Returns
    -------
    Strategy

    Raises
    ------
    InvalidStrategyError
        If the argument is not a strategy, a number is out of range, or only one of concentration and seed is given.

    Notes
    -----
    Actions of probability 0 keep it in the second step, because draws never leave the support. The first step gives
    every action some probability. Draws are independent between infosets, in their order, by
    ``numpy.random.default_rng(seed)``.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.models.opponents import perturbed
    >>> bold = Strategy.from_dict(load_game("kuhn"), 0, {"K_": {"b": 1}})
    >>> round(perturbed(bold, epsilon=0.1)["K_"]["b"], 6)
    0.95
    >>> drawn = perturbed(bold, epsilon=0.1, concentration=10, seed=1)["K_"]
    >>> 0.0 < drawn["b"] < 1.0, drawn == perturbed(bold, epsilon=0.1, concentration=10, seed=1)["K_"]
    (True, True)
    """
    check_strategy(strategy, "strategy")
    epsilon = check_number(epsilon, "epsilon", InvalidStrategyError, "[0, 1]")
    behaviour = (1.0 - epsilon) * strategy.behaviour + epsilon * strategy.treeplex.uniform_behaviour()
    if concentration is None:
        if seed is not None:
            raise InvalidStrategyError(f"seed is {shown(seed)}, but without a concentration nothing is random")
        return strategy.with_behaviour(behaviour)
    # Larger concentrations leave no noise visible in floats, and overflow in sums.
    concentration = check_number(concentration, "concentration", InvalidStrategyError, "(0, 1e12]")
    seed = check_whole(seed, "seed of a concentration", InvalidStrategyError)
    return strategy.with_behaviour(_drawn(strategy, behaviour, concentration, seed))


def _drawn(strategy: Strategy, behaviour: Floats, concentration: float, seed: int) -> Floats:
    """Draw each infoset's probabilities from its Dirichlet distribution."""
    treeplex = strategy.treeplex
    rng = np.random.default_rng(seed)
    drawn = behaviour.copy()
    for first, last in zip(treeplex.offsets[:-1].tolist(), treeplex.offsets[1:].tolist(), strict=True):
        own = behaviour[first:last]
        support = np.flatnonzero(own > 0.0)
        # Gamma variables of tiny shape all round to 0; the limit of the distribution, one action with probability 1, is
        # used then.
        sample = rng.gamma(concentration * own[support])
        total = sample.sum()
        if not total > 0.0:
            sample = np.eye(len(support))[rng.choice(len(support), p=own[support] / own[support].sum())]
            total = 1.0
        drawn[first:last] = 0.0
        drawn[first + support] = sample / total
    return drawn


def uniform_without(game: Game, player: int, action: Hashable) -> Strategy:
    """Return the uniform strategy that never takes a given action, unless it is the only one.

    Parameters
    ----------
    game : Game
    player : int
    action : hashable
        Its label, as it is or as a string, or the game's word for it (:attr:`Game.action_words
        <treeplex.Game.action_words>`).

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
    constraints", AAAI 2019, section 5.2: against it, as many games end in a showdown as the opponent allows.

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
    known = treeplex.actions_by_name()
    check_one_text(str(action), known.get(str(action), ()), f"player {player} of {game.spec}", InvalidStrategyError)
    if str(action) not in known:
        raise InvalidStrategyError(
            f"player {player} of {game.spec} has no action {shown(str(action), 60)}{nearest(str(action), known)}; "
            f"expected one of {', '.join(sorted(known)[:10])}"
        )
    (avoided,) = known[str(action)]
    behaviour = [1.0]
    for actions in treeplex.action_labels:
        weights = np.array([label != avoided or len(actions) == 1 for label in actions], dtype=np.float64)
        behaviour += (weights / weights.sum()).tolist()
    return Strategy(game, player, behaviour)
