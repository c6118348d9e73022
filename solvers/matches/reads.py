"""What a bot believes of the player it meets: what kind it is, and how often it bets."""

from functools import cache

import numpy as np

from ...models.games.holdem.classes import CLASS_OF_HAND, CLASS_SIZES
from ...models.games.holdem.equities import equities
from ...seqform.arrays import Floats, frozen

#: What a player may be: one who plays the equilibrium, one who puts in the more, the stronger the hand is, and one who
#: does anything with anything; and how much of a uniform strategy is mixed into what each does.
KINDS, FLOORS = ("equilibrium", "straightforward", "anything"), np.array([0.05, 0.05, 1.0])
#: How many actions the frequencies of an equilibrium count for beside those that were seen.
PRIOR = 20.0
#: Where classes of amounts begin, in big blinds, the first one at nothing.
AMOUNTS = 2.0 ** np.arange(1, 7)
#: Of what is counted: streets; whether there is something to call; what the player has put in before the flop, or that
#: it has put in more after it, which shows what it holds; amounts, which are the price of a call, or the pot if there
#: is nothing to call; and groups of actions.
COUNTED = (4, 2, len(AMOUNTS) + 2, len(AMOUNTS) + 1, 3)
#: How much of what was learned of the kind of player is forgotten with each hand.
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
    """Return what a player does who takes actions so often, the later ones with the stronger hands.

    Parameters
    ----------
    strengths, weights : ndarray of float64, shape (n,)
        Of each hand.
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
    """The beliefs about the other player, which may be learned.

    Parameters
    ----------
    kinds : ndarray of float64, shape (3,)
        How likely it is of each of :data:`KINDS` at first.
    learns : bool
        Whether what was seen in one hand counts in the next ones.
    """

    def __init__(self, kinds: Floats, learns: bool) -> None:
        self._first, self.kinds, self.learns = kinds, kinds, learns
        #: By what was faced: folds, checks and calls, bets and raises.
        self.counts = np.zeros(COUNTED)

    def likely(
        self, faces: tuple[int, int, int, int], group: int, often: Floats, strengths: Floats, weights: Floats
    ) -> Floats:
        """Return how likely a straightforward player takes one of a group of actions with each hand.

        Parameters
        ----------
        faces : tuple of int
            Of what the player faces, the first four places in :data:`COUNTED`. Its frequencies are those of all
            decisions of the street with something to call, or of all without.
        group : int
            As :func:`group_of` returns it.
        often : ndarray of float64, shape (3,)
            How often the equilibrium takes each group.
        strengths, weights : ndarray of float64, shape (1326,)
            Of the player's hands.
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
        """Count what was seen before, shape :data:`COUNTED`."""
        self.counts = self.counts + counts

    def judge(self, evidence: Floats) -> None:
        """Learn from a hand: how likely its course was for each kind of player, times how likely the kind was."""
        if self.learns and evidence.sum() > 0.0:
            self.kinds = (1.0 - _FORGOTTEN) * evidence / evidence.sum() + _FORGOTTEN * self._first
