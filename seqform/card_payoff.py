"""Payoffs of card games: equal for all pairs of hands without a common card, or to the stronger hand."""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from .arrays import Floats, Indices, ReadOnly, frozen
from .errors import InvalidGameError
from .factored import FactoredPayoff


class CardPayoff(ReadOnly):
    """A matrix of hands by hands: 1 for each pair that can be dealt together, or the sign of their comparison.

    A hand is two cards, and two hands can be dealt together unless they share one. The matrix has an entry for nearly
    every pair. Products with it take a number of steps proportional to the number of hands, and :attr:`factored` has a
    few non-zeros per hand.

    Parameters
    ----------
    cards : two array_like of int, shape (num_hands, 2)
        Each player's hands; cards are numbers from 0 to 63. A hand may occur twice, for two types of a player.
    alive : two array_like of int
        Each player's hands in play; the payoffs of all other hands are 0.
    strengths : two array_like of int, shape (num_hands,), optional
        Strengths of hands: player 0 is paid 1 if its hand is stronger, −1 if weaker, 0 if they are equal. By default
        every pair that can be dealt together pays 1.

    Examples
    --------
    Aces and kings, and each again in other suits. One of the four pairs shares the cards 0 and 4.

    >>> from treeplex.seqform.card_payoff import CardPayoff
    >>> hands = [[0, 1], [4, 5]], [[2, 3], [0, 4]]
    >>> CardPayoff(hands, [[0, 1], [0, 1]]).factored.matrix.toarray()
    array([[1., 0.],
           [1., 0.]])
    >>> CardPayoff(hands, [[0, 1], [0, 1]], [[2, 1], [2, 1]]).times(np.array([0.5, 0.5]))
    array([ 0. , -0.5])
    """

    def __init__(self, cards: Sequence[Any], alive: Sequence[Any], strengths: Sequence[Any] | None = None) -> None:
        first, second = (_kept(one).reshape(-1, 2) for one in cards)
        self.cards: tuple[Indices, Indices] = first, second
        mine, theirs = (_kept(one) for one in alive)
        self.alive: tuple[Indices, Indices] = mine, theirs
        self.strengths: tuple[Indices, Indices] | None = None
        for player, one in enumerate(self.cards):
            fault = _fault(one.tobytes())
            if fault:
                raise InvalidGameError(fault.format(player))
        if strengths is not None:
            strong, others = (_kept(one) for one in strengths)
            if (len(strong), len(others)) != self.shape:
                raise InvalidGameError(f"strengths have {len(strong)} and {len(others)} entries, expected {self.shape}")
            self.strengths = strong, others

    def __repr__(self) -> str:
        return f"CardPayoff(shape={self.shape}, {'folds' if self.strengths is None else 'showdowns'})"

    def twice(self, player: int) -> "CardPayoff":
        """Return the payoffs with all of a player's hands repeated after the last one."""
        cards, alive, strengths = list(self.cards), list(self.alive), None
        alive[player] = np.concatenate([alive[player], alive[player] + len(cards[player])])
        cards[player] = np.concatenate([cards[player]] * 2)
        if self.strengths is not None:
            strengths = list(self.strengths)
            strengths[player] = np.concatenate([strengths[player]] * 2)
        return CardPayoff(cards, alive, strengths)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of hands of player 0 and of player 1."""
        return len(self.cards[0]), len(self.cards[1])

    @property
    def largest(self) -> float:
        """The largest absolute payoff."""
        return 1.0

    def times(self, reach: Floats) -> Floats:
        """Return the payoffs of player 0's hands against player 1's reach, a vector or one column per vector."""
        return self.factored.times(reach)

    def transposed_times(self, reach: Floats) -> Floats:
        """Return the product of the transpose with player 0's reach, a vector or one column per vector."""
        return self.factored.transposed_times(reach)

    @cached_property
    def factored(self) -> FactoredPayoff:
        """The matrix in factors, with a few non-zeros per hand."""
        return self._pairs() if self.strengths is None else self._comparisons(self.strengths)

    def _pairs(self) -> FactoredPayoff:
        """Return the factors of pairs: the total, a sum for each card, and each hand itself.

        A hand meets all of the other player's hands except those with one of its two cards; the hand with both is
        subtracted twice.
        """
        mine, theirs = self.alive
        cards = self.cards[0][mine], self.cards[1][theirs]
        numbers = [_hand_numbers(one) for one in cards]
        both = np.intersect1d(numbers[0], numbers[1])
        of_mine, of_theirs = (np.flatnonzero(np.isin(one, both)) for one in numbers)
        own, others = (
            65 + np.searchsorted(both, one[of]) for one, of in zip(numbers, (of_mine, of_theirs), strict=True)
        )
        left = _entries(
            [mine, mine, mine, mine[of_mine]],
            [np.zeros(len(mine), dtype=np.int64), 1 + cards[0][:, 0], 1 + cards[0][:, 1], own],
            [1.0, -1.0, -1.0, 1.0],
            (self.shape[0], 65 + len(both)),
        )
        right = _entries(
            [theirs, theirs, theirs, theirs[of_theirs]],
            [np.zeros(len(theirs), dtype=np.int64), 1 + cards[1][:, 0], 1 + cards[1][:, 1], others],
            [1.0, 1.0, 1.0, 1.0],
            (self.shape[1], 65 + len(both)),
        )
        return FactoredPayoff(left, right.T, scale=1.0)

    def _comparisons(self, strengths: tuple[Indices, Indices]) -> FactoredPayoff:
        """Return the factors of comparisons: sums of player 1's hands by strength, over all hands and per card.

        The weight of weaker hands is one of the sums over all, minus those for the hand's two cards.
        """
        mine, theirs = self.alive
        levels, ranks = np.unique(strengths[1][theirs], return_inverse=True)
        step = len(levels) + 1
        # Sum 0 is over all hands, the others over the hands with one card; a number says which sum and which strength.
        own, others = (
            step * np.column_stack([np.zeros(len(hands), dtype=np.int64), 1 + cards[hands]])
            for hands, cards in zip(self.alive, self.cards, strict=True)
        )
        needed = np.isin(others, own)
        numbers = (others + ranks[:, None])[needed]
        order = np.argsort(numbers, kind="stable")
        numbers, hands = numbers[order], np.repeat(theirs, 3).reshape(-1, 3)[needed][order]
        strong = strengths[0][mine]
        # Sums of weaker hands, of hands that are not stronger, and of all.
        ends = [np.searchsorted(levels, strong, side=side) for side in ("left", "right")] + [
            np.full(len(mine), step - 1)
        ]
        columns = np.searchsorted(numbers, own + np.array(ends)[:, :, None])
        some = columns > np.searchsorted(numbers, own)
        signs = np.where(own == 0, 1.0, -1.0) * np.array([1.0, 1.0, -1.0])[:, None, None]
        rows = np.broadcast_to(mine[:, None], columns.shape)
        left = sp.coo_array((signs[some], (rows[some], columns[some] - 1)), shape=(self.shape[0], len(hands)))
        right = sp.coo_array((np.ones(len(hands)), (np.arange(len(hands)), hands)), shape=(len(hands), self.shape[1]))
        return FactoredPayoff(left, right, np.diff(numbers // step, prepend=-1) == 0, scale=1.0)


def _kept(values: Any) -> Indices:
    """Return integers as a read-only array: the same array if it already is one, because many boards share hands."""
    if isinstance(values, np.ndarray) and values.dtype == np.int64 and not values.flags.writeable:
        return values
    return frozen(np.array(values, dtype=np.int64))


@lru_cache(maxsize=16)
def _fault(cards: bytes) -> str:
    """Return the error in a player's hands, cached because boards of one game share them."""
    hands = np.frombuffer(cards, dtype=np.int64).reshape(-1, 2)
    if len(hands) and not (hands.min() >= 0 and hands.max() < 64):
        return "cards must be numbers from 0 to 63"
    if (np.unique(_hand_numbers(hands), return_counts=True)[1] > 2).any() or (hands[:, 0] == hands[:, 1]).any():
        return "the hands of player {} contain a hand three times, or a hand with the same card twice"
    return ""


def _hand_numbers(cards: Indices) -> Indices:
    """Return one number for each hand, independent of the order of its cards."""
    first, second = cards.T
    numbers: Indices = np.maximum(first, second) * 64 + np.minimum(first, second)
    return numbers


def _entries(
    rows: Sequence[Indices], columns: Sequence[Indices], values: Sequence[float], shape: tuple[int, int]
) -> sp.coo_array:
    numbers = np.concatenate([np.full(len(one), value) for one, value in zip(rows, values, strict=True)])
    return sp.coo_array((numbers, (np.concatenate(rows), np.concatenate(columns))), shape=shape)
