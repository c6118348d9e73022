"""Classes of hands to play the same way on a board: by ranks, by the suits that matter, or by made hands."""

from functools import lru_cache

import numpy as np

from ....seqform.arrays import Floats, Indices, frozen
from ....seqform.public_profile import PublicProfile
from .cards import HANDS
from .classes import CLASS_OF_HAND
from .node_numbers import ComputedNumbers
from .showdown import STRAIGHTS, strengths
from .situation import Situation

#: The names of the classes, for ``--classes``.
HAND_CLASSES = ("ranks", "suits", "made")
_RANKS, _SUITS = HANDS // 4, HANDS % 4
_CARDS = 5
#: Kinds of hands as numbers, in the order of a full deck.
_PAIR, _TWO_PAIR, _TRIPS, _STRAIGHT = 1, 2, 3, 4
_TEN = 8


@lru_cache(maxsize=4096)
def hand_classes(name: str, board: tuple[int, ...], deck: str = "full") -> Indices:
    """Return the class of every hand on a board, by number.

    Parameters
    ----------
    name : {"ranks", "suits", "made"}
        *ranks*: the 169 classes before the flop, such as AKs, AKo and 77. *suits*: as *ranks*, but hands are also
        distinguished by which of their cards have a suit in which a flush is possible. *made*: the kind of hand, the
        pair and its kicker, the rank of a straight or better among the possible ones, and the draws to a flush and to a
        straight.
    board : tuple of int
        Three to five cards.
    deck : {"full", "short"}

    Returns
    -------
    ndarray of int, shape (1326,)

    Examples
    --------
    >>> from treeplex.models.games.holdem.cards import HAND_NAMES, read_board
    >>> from treeplex.models.games.holdem.hand_classes import hand_classes
    >>> board = tuple(read_board("Ks9s4h"))
    >>> def alike(name, *hands):
    ...     return len({int(hand_classes(name, board)[HAND_NAMES.index(hand)]) for hand in hands}) == 1
    >>> alike("ranks", "AsQs", "AdQd"), alike("suits", "AsQs", "AdQd"), alike("suits", "AcQc", "AdQd")
    (True, False, True)
    >>> alike("made", "AcKh", "KdQd"), alike("made", "KdQd", "Kc8c"), alike("made", "AsQs", "As7s")
    (True, False, True)
    """
    if name == "ranks":
        return CLASS_OF_HAND
    parts = [CLASS_OF_HAND, *_suited(board)] if name == "suits" else _made(board, deck)
    found: Indices = frozen(np.unique(np.array(parts), axis=1, return_inverse=True)[1].ravel())
    return found


def classes_at(spot: Situation, name: str, player: int, node: int) -> Indices:
    """Return the class of each of a player's hands at a node of a spot's public form; see :func:`hand_classes`."""
    return hand_classes(name, spot.boards[spot.public_form.boards[node]], spot.deck)[spot.hands[player]]


def strengths_at(spot: Situation, profile: PublicProfile, player: int, node: int) -> Floats:
    """Return the equity of each of a player's hands at a node against the other player's range there.

    If the other player never reaches the node, it is the equity against its range at the root. It is NaN for hands that
    are impossible there.
    """
    form = profile.form
    numbers, board = ComputedNumbers(spot, profile), spot.boards[form.boards[node]]
    found = numbers.showdowns(board, [profile.reach(seat, node) for seat in (0, 1)])[1][player]
    if np.isnan(found).any():
        found = np.where(np.isnan(found), numbers.showdowns(board, spot.weights)[1][player], found)
    found[np.setdiff1d(np.arange(len(found)), form.present[form.boards[node]][player])] = np.nan
    return found.round(12)


def _suited(board: tuple[int, ...]) -> list[Indices]:
    """Return, for each suit that matters on a board, which cards of each hand have it, as a number from 0 to 3."""
    counts = np.bincount(np.array(board) % 4, minlength=4)
    needed = 3 if len(board) == _CARDS else 2
    return [(suit == _SUITS) @ np.array([2, 1]) for suit in np.flatnonzero(counts >= needed).tolist()]


def _made(board: tuple[int, ...], deck: str) -> list[Indices]:
    """Return numbers that describe what each hand makes on a board."""
    everything = np.arange(len(HANDS))
    strong = strengths(board, everything, deck)
    kind = strong >> 26
    ranks = np.unique(np.array(board) // 4)[::-1]
    high, low = _RANKS[:, 0], _RANKS[:, 1]
    pocket = high == low
    # How many ranks of the board are above each card, and whether the card pairs the board.
    above = np.array([(ranks > rank).sum() for rank in range(13)])
    pairs = np.isin(_RANKS, ranks)
    used = pairs.sum(axis=1)
    paired = np.where(pairs[:, 0], high, low)  # the higher card that pairs the board
    other = np.where(pairs[:, 0], low, high)
    position = np.where(pocket, above[high] * 2, np.where(used > 0, above[paired] * 2 + 1, 99))
    kicker = (kind == _PAIR) & (used == 1) & (above[paired] == 0) & (other >= _TEN)
    overcards = (above[_RANKS] == 0).sum(axis=1) * (used == 0) * ~pocket
    nothing = (used == 0) & ~pocket  # the board's own hand, with a high card
    detail = np.where(nothing, 10 * overcards + np.clip(high - 10, 0, 2), position)
    detail = np.where(kind == _TWO_PAIR, detail * 3 + used, detail)
    for number in np.unique(kind[kind >= _STRAIGHT]).tolist():
        among = kind == number
        better = np.unique(strong[among])[::-1]
        detail[among] = np.minimum(np.searchsorted(-better, -strong[among]), 2)
    draws = [np.zeros(len(HANDS), dtype=np.int64)] * 2 if len(board) == _CARDS else _draws(board, kind, deck)
    return [kind, detail, kicker.astype(np.int64), *draws]


def _draws(board: tuple[int, ...], kind: Indices, deck: str) -> list[Indices]:
    """Return whether each hand has a draw to a flush, and the number of ranks, up to 2, that make a straight."""
    straights = STRAIGHTS[deck]
    suits = np.array(board) % 4
    flush = np.zeros(len(HANDS), dtype=np.int64)
    for suit in range(4):
        held = np.equal(_SUITS, suit).sum(axis=1)
        flush |= (held > 0) & (held + (suits == suit).sum() == _CARDS - 1)
    shared = int(np.bitwise_or.reduce(1 << (np.array(board) // 4)))
    own = shared | (1 << _RANKS[:, 0]) | (1 << _RANKS[:, 1])
    outs = np.zeros(len(HANDS), dtype=np.int64)
    for rank in range(13):
        outs += np.greater(straights[own | (1 << rank)], 0) & (straights[shared | (1 << rank)] == 0)
    return [flush * (kind < _STRAIGHT), np.minimum(outs, 2) * (kind < _STRAIGHT)]
