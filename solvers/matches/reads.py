"""A bot's beliefs about its opponent: its kind, and its frequencies of actions."""

from functools import cache

import numpy as np

from ...models.games.holdem.classes import CLASS_OF_HAND, CLASS_SIZES
from ...models.games.holdem.equities import equities
from ...seqform.arrays import Floats, frozen

#: The kinds of players: one plays the equilibrium, one bets more with stronger hands, and one does anything with any
#: hand; and the weight of a uniform strategy in the play of each.
KINDS, FLOORS = ("equilibrium", "straightforward", "anything"), np.array([0.05, 0.05, 1.0])
#: The weight of the equilibrium's frequencies, as a number of observed actions.
PRIOR = 20.0
#: The lower ends of classes of amounts, in big blinds, starting with zero.
AMOUNTS = 2.0 ** np.arange(1, 7)
#: The dimensions of counts: streets; whether there is a bet to call; the amount that the player has put in before the
#: flop, or that it has put in more after the flop, which depends on its hand; the price of a call, or the pot if there
#: is no bet; and groups of actions.
COUNTED = (4, 2, len(AMOUNTS) + 2, len(AMOUNTS) + 1, 3)
#: The fraction of the knowledge about the kind of player that is forgotten with each hand.
_FORGOTTEN = 0.02


def group_of(action: str) -> int:
    """Return 0 for a fold, 1 for a check or call, 2 for a bet or raise.

    Examples
    --------
    >>> from treeplex.solvers.matches.reads import group_of
    >>> [group_of(action) for action in ("fold", "check", "raise 300", "all-in")]
    [0, 1, 2, 2]
    """
    return {"fold": 0, "check": 1, "call": 1}.get(action, 2)


def by_strength(strengths: Floats, weights: Floats, often: Floats) -> Floats:
    """Return the behaviour that takes actions with given frequencies, the later ones with the stronger hands.

    Parameters
    ----------
    strengths, weights : ndarray of float64, shape (n,)
        The strength and weight of each hand.
    often : ndarray of float64, shape (actions,)

    Returns
    -------
    ndarray of float64, shape (actions, n)

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.solvers.matches.reads import by_strength
    >>> by_strength(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4), np.array([0.25, 0.5, 0.25]))
    array([[0., 1., 0., 0.],
           [1., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """
    order = np.argsort(strengths, kind="stable")
    places = np.empty(len(order))
    places[order] = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    taken = np.minimum(np.searchsorted(np.cumsum(often), places, side="right"), len(often) - 1)
    found: Floats = (np.arange(len(often))[:, None] == taken).astype(np.float64)
    return found


@cache
def strengths_before() -> Floats:
    """Return the equity of each of the 1,326 hands against all others before the flop."""
    return frozen((equities() @ CLASS_SIZES / CLASS_SIZES.sum())[CLASS_OF_HAND])


class Reads:
    """The beliefs about the other player, learned or fixed.

    Parameters
    ----------
    kinds : ndarray of float64, shape (3,)
        The initial probability of each of :data:`KINDS`.
    learns : bool
        Whether observations in one hand count in later hands.
    """

    def __init__(self, kinds: Floats, learns: bool) -> None:
        self._first, self.kinds, self.learns = kinds, kinds, learns
        #: Counts by situation: folds, checks and calls, bets and raises.
        self.counts = np.zeros(COUNTED)

    def likely(
        self, faces: tuple[int, int, int, int], group: int, often: Floats, strengths: Floats, weights: Floats
    ) -> Floats:
        """Return the probability that a straightforward player takes a group of actions with each hand.

        Parameters
        ----------
        faces : tuple of int
            The situation: the first four indices in :data:`COUNTED`. The player's frequencies are those of all
            decisions of the street with a bet to call, or of all without.
        group : int
            A result of :func:`group_of`.
        often : ndarray of float64, shape (3,)
            The equilibrium's frequency of each group.
        strengths, weights : ndarray of float64, shape (1326,)
            The strengths and weights of the player's hands.
        """
        counts = self.counts[faces[:2]].sum(axis=(0, 1))
        mixed = (counts + PRIOR * often) / (counts.sum() + PRIOR)
        found: Floats = by_strength(strengths, weights, mixed)[group]
        return found

    def note(self, faces: tuple[int, int, int, int], group: int) -> None:
        """Learn from an action."""
        if self.learns:
            self.counts[(*faces, group)] += 1.0

    def remember(self, counts: Floats) -> None:
        """Add earlier counts, shape :data:`COUNTED`."""
        self.counts = self.counts + counts

    def judge(self, evidence: Floats) -> None:
        """Learn from a hand, given for each kind of player its probability times the likelihood of the hand."""
        if self.learns and evidence.sum() > 0.0:
            self.kinds = (1.0 - _FORGOTTEN) * evidence / evidence.sum() + _FORGOTTEN * self._first
