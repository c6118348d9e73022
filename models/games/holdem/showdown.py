"""The payoffs of folds and showdowns for every pair of hands."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ....seqform.arrays import Indices, frozen
from ....seqform.card_payoff import CardPayoff
from .cards import HANDS


def _straights(wheel: int) -> Indices:
    """Return one plus the highest rank of the best straight in each set of ranks, 0 if there is none.

    Parameters
    ----------
    wheel : int
        The ranks of the lowest straight, as bits, in which the ace counts low.
    """
    found = np.zeros(2**13, dtype=np.int64)
    below = wheel & ~_ACE
    found[(_SETS & wheel) == wheel] = below.bit_length()
    for low in range(9):
        five = 0b11111 << low
        found[(_SETS & five) == five] = low + 5
    return found


def _highest(count: int) -> Indices:
    """Return the given number of highest ranks of each set of ranks."""
    kept = np.zeros_like(_SETS)
    for rank in range(12, -1, -1):
        bit = (_SETS >> rank) & 1
        kept |= np.where(np.bitwise_count(kept) < count, bit, 0) << rank
    return kept


#: The cards of each hand as bits.
_HAND_BITS: Indices = (1 << HANDS).sum(axis=1)
#: By suit, the ranks in each hand, as bits.
_SUITS = [(np.equal(HANDS % 4, suit) << (HANDS // 4)).sum(axis=1) for suit in range(4)]
#: Sets of ranks as bits, with a deuce lowest.
_SETS: Indices = np.arange(2**13, dtype=np.int64)
_ACE = 1 << 12
_HIGHEST = tuple(_highest(count) for count in range(6))
#: By deck: straights, and the values of flushes and full houses, larger for better hands.
_ORDERS = {
    "full": (_straights(0b1000000001111), 5, 6),
    "short": (_straights(0b1000011110000), 6, 5),
}

#: By deck, one plus the highest rank of the best straight in each set of ranks, 0 if there is none.
STRAIGHTS = {deck: order[0] for deck, order in _ORDERS.items()}


def strengths(board: Sequence[int], hands: Indices, deck: str = "full") -> Indices:
    """Return the strength of hands on a board of five cards: larger is stronger, and equal hands split.

    Parameters
    ----------
    board : sequence of int
    hands : ndarray of int, shape (n,)
        Numbers of hands. Hands that contain a card of the board have strength 0, below all others.
    deck : {"full", "short"}
        In a short deck a flush beats a full house, and A6789 is a straight.

    Notes
    -----
    All hands are evaluated at once. The cards of a suit are a set of ranks, an integer of 13 bits, so pairs, trips and
    quads are intersections of the four sets. A hand's strength is its kind, then the ranks that make it, then the
    others.
    """
    suits = [sum(1 << (card // 4) for card in board if card % 4 == suit) | _SUITS[suit][hands] for suit in range(4)]
    return np.where(alive(board, hands), ranked(suits, deck), 0)


def ranked(suits: Sequence[Indices], deck: str = "full") -> Indices:
    """Return the strength of sets of seven cards.

    Parameters
    ----------
    suits : four ndarrays of int, shape (n,)
        The ranks of each suit in each set, as bits.
    deck : {"full", "short"}
    """
    straights, flush_counts, full_counts = _ORDERS[deck]
    first, second, third, fourth = suits
    ranks = first | second | third | fourth
    pairs = (first & second) | ((first | second) & (third | fourth)) | (third & fourth)
    trips = (first & second & (third | fourth)) | ((first | second) & third & fourth)
    quads = first & second & third & fourth
    flush = np.zeros_like(ranks)
    for suit in suits:
        flush = np.where(np.bitwise_count(suit) >= 5, suit, flush)
    three, two = _HIGHEST[1][trips], _HIGHEST[2][pairs]
    two_pairs = np.bitwise_count(two) == 2
    full = _HIGHEST[1][pairs & ~three]
    none = np.zeros_like(ranks)
    best = none
    for kind, there, made, others in (
        (0, ranks > 0, _HIGHEST[5][ranks], none),
        (1, pairs > 0, two, _HIGHEST[3][ranks & ~two]),
        (2, two_pairs, two, _HIGHEST[1][ranks & ~two]),
        (3, trips > 0, three, _HIGHEST[2][ranks & ~three]),
        (4, straights[ranks] > 0, straights[ranks], none),
        (flush_counts, flush > 0, _HIGHEST[5][flush], none),
        (full_counts, (trips > 0) & (full > 0), three, full),
        (7, quads > 0, _HIGHEST[1][quads], _HIGHEST[1][ranks & ~quads]),
        (8, straights[flush] > 0, straights[flush], none),
    ):
        best = np.where(there, np.maximum(best, (kind << 26) + (made << 13) + others), best)
    return best


def alive(board: Sequence[int], hands: Indices) -> npt.NDArray[np.bool_]:
    """Return which hands contain no card of a board."""
    free: npt.NDArray[np.bool_] = _HAND_BITS[hands] & sum(1 << card for card in board) == 0
    return free


def fold_payoff(board: Sequence[int], hands: Sequence[Indices]) -> CardPayoff:
    """Return 1 for every pair of hands that can be dealt together, 0 for others.

    Parameters
    ----------
    board : sequence of int
    hands : two ndarrays of int
        Each player's hands, as numbers.
    """
    cards = [_cards_of(one.tobytes()) for one in hands]
    return CardPayoff(cards, [np.flatnonzero(alive(board, one)) for one in hands])


@lru_cache(maxsize=8)
def _cards_of(hands: bytes) -> Indices:
    """Return the cards of hands, by number; the boards of a spot share this array."""
    return frozen(HANDS[np.frombuffer(hands, dtype=np.int64)])


def showdown_payoff(board: Sequence[int], hands: Sequence[Indices], deck: str = "full") -> CardPayoff:
    """Return 1 if player 0's hand wins, −1 if it loses, and 0 if hands split or cannot be dealt together.

    Parameters
    ----------
    board : sequence of int
        Five cards.
    hands : two ndarrays of int
    deck : {"full", "short"}
    """
    folds = fold_payoff(board, hands)
    return CardPayoff(folds.cards, folds.alive, [all_strengths(tuple(board), deck)[one] for one in hands])


@lru_cache(maxsize=512)
def all_strengths(board: tuple[int, ...], deck: str) -> Indices:
    """Return the strength of all hands on a board, shared by spots that differ only in ranges or betting."""
    return frozen(strengths(board, np.arange(len(HANDS)), deck))
