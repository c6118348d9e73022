"""Strategies with noise: trembles towards uniform play, and behaviours drawn around the given ones."""

from numbers import Integral, Real

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidStrategyError, shown
from ...seqform.strategy import Strategy

#: Larger concentrations leave no noise that a float would show, and overflow in sums.
_LARGEST_CONCENTRATION = 1e12


def perturbed(
    strategy: Strategy, epsilon: float = 0.0, concentration: float | None = None, seed: int | None = None
) -> Strategy:
    """Return a strategy with noise on its behaviour at every infoset.

    Parameters
    ----------
    strategy : Strategy
    epsilon : float
        Probability of a tremble: with it an infoset plays uniformly. The first step.
    concentration : float, optional
        The second step: each infoset's probabilities p are drawn from the Dirichlet distribution with parameters
        ``concentration`` · p. The draws have mean p and variance p (1 − p) / (concentration + 1). Above 0, at
        most 1e12.
    seed : int, optional
        Of the draws; needed with a concentration, since the same seed gives the same strategy.

    Returns
    -------
    Strategy

    Raises
    ------
    InvalidStrategyError
        If it is no strategy, a number is out of its range, or there is a concentration without a seed or the other way
        round.

    Notes
    -----
    Actions of probability 0 keep it in the second step: draws never leave the support. The first step gives every
    action some probability. Draws are independent between infosets, in their order, by
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
    if not isinstance(strategy, Strategy):
        raise InvalidStrategyError(f"{shown(strategy)} is no strategy: a Strategy is needed")
    if not _is_real(epsilon) or not 0 <= epsilon <= 1:
        raise InvalidStrategyError(f"epsilon is {shown(epsilon)}, expected a probability, from 0 to 1")
    behaviour = (1.0 - float(epsilon)) * strategy.behaviour + float(epsilon) * strategy.treeplex.uniform_behaviour()
    if concentration is None:
        if seed is not None:
            raise InvalidStrategyError(f"seed is {shown(seed)}, but without a concentration nothing is drawn")
        return strategy.with_behaviour(behaviour)
    if not _is_real(concentration) or not 0 < concentration <= _LARGEST_CONCENTRATION:
        raise InvalidStrategyError(
            f"concentration is {shown(concentration)}, expected a number above 0, and at most "
            f"{_LARGEST_CONCENTRATION:g}"
        )
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise InvalidStrategyError(f"a concentration needs a seed, a whole number from 0 on; received {shown(seed)}")
    return strategy.with_behaviour(_drawn(strategy, behaviour, float(concentration), int(seed)))


def _is_real(number: object) -> bool:
    return isinstance(number, Real) and not isinstance(number, bool)


def _drawn(strategy: Strategy, behaviour: Floats, concentration: float, seed: int) -> Floats:
    """Draw each infoset's probabilities from its Dirichlet distribution."""
    treeplex = strategy.treeplex
    rng = np.random.default_rng(seed)
    drawn = behaviour.copy()
    for first, last in zip(treeplex.offsets[:-1].tolist(), treeplex.offsets[1:].tolist(), strict=True):
        own = behaviour[first:last]
        support = np.flatnonzero(own > 0.0)
        # Gamma variables of tiny shape all round to 0; then the limit of the distribution, one action for certain.
        sample = rng.gamma(concentration * own[support])
        total = sample.sum()
        if not total > 0.0:
            sample = np.eye(len(support))[rng.choice(len(support), p=own[support] / own[support].sum())]
            total = 1.0
        drawn[first:last] = 0.0
        drawn[first + support] = sample / total
    return drawn
