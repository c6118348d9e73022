"""How good a hand of hold'em is by itself: how likely it wins against a hand not seen, less how likely it loses."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from ....seqform.arrays import Floats, Indices, frozen
from .cards import DECKS, HANDS
from .showdown import alive, ranked, strengths

#: All hands of a deck, by number.
_DEALT = {deck: frozen(np.flatnonzero((cards.start <= HANDS).all(axis=1))) for deck, cards in DECKS.items()}
#: Of each suit, the rank of each card as a bit, shape (4, 52).
_BITS: Indices = np.array([[1 << card // 4 if card % 4 == suit else 0 for card in range(52)] for suit in range(4)])
#: How many hands and boards are drawn for a value before the river.
SAMPLES = 2_000
#: v of the 169 hands before the flop, against any other hand and board: aces first, suited hands above the diagonal.
#: All 2,598,960 boards and 1,225 hands of the opponent were counted for each.
_PREFLOP = np.fromstring(
    """
    0.7041 0.3409 0.3242 0.3079 0.2920 0.2556 0.2389 0.2197 0.1981 0.1985 0.1807 0.1644 0.1476
    0.3064 0.6479 0.2680 0.2513 0.2358 0.1998 0.1662 0.1508 0.1328 0.1159 0.0977 0.0811 0.0642
    0.2886 0.2291 0.5985 0.2052 0.1894 0.1533 0.1204 0.0860 0.0723 0.0554 0.0371 0.0204 0.0034
    0.2713 0.2114 0.1627 0.5494 0.1506 0.1132 0.0803 0.0465 0.0121 -0.0003 -0.0186 -0.0354 -0.0524
    0.2544 0.1948 0.1458 0.1050 0.5002 0.0806 0.0467 0.0128 -0.0212 -0.0557 -0.0694 -0.0861 -0.1032
    0.2155 0.1562 0.1072 0.0650 0.0306 0.4411 0.0160 -0.0176 -0.0514 -0.0856 -0.1228 -0.1347 -0.1517
    0.1975 0.1204 0.0720 0.0298 -0.0056 -0.0381 0.3833 -0.0413 -0.0751 -0.1091 -0.1460 -0.1825 -0.1946
    0.1768 0.1037 0.0353 -0.0064 -0.0418 -0.0740 -0.0990 0.3247 -0.0926 -0.1265 -0.1630 -0.1993 -0.2369
    0.1536 0.0845 0.0205 -0.0431 -0.0782 -0.1102 -0.1352 -0.1535 0.2657 -0.1373 -0.1733 -0.2093 -0.2466
    0.1539 0.0663 0.0024 -0.0564 -0.1150 -0.1466 -0.1714 -0.1898 -0.2011 0.2065 -0.1709 -0.2061 -0.2430
    0.1346 0.0465 -0.0174 -0.0763 -0.1299 -0.1866 -0.2111 -0.2290 -0.2398 -0.2369 0.1405 -0.2272 -0.2634
    0.1169 0.0285 -0.0356 -0.0945 -0.1481 -0.1996 -0.2503 -0.2680 -0.2784 -0.2747 -0.2971 0.0739 -0.2803
    0.0986 0.0102 -0.0541 -0.1130 -0.1666 -0.2180 -0.2634 -0.3083 -0.3185 -0.3143 -0.3360 -0.3539 0.0067
    """,
    sep=" ",
).reshape(13, 13)


@lru_cache(maxsize=64)
def hand_values(board: tuple[int, ...], deck: str = "full") -> Floats:
    """Return v = W − L of every hand on a board, exactly.

    Parameters
    ----------
    board : tuple of int
        Three to five cards.
    deck : {"full", "short"}

    Returns
    -------
    ndarray of float64, shape (1326,)
        How likely each hand wins at showdown, less how likely it loses, against one hand and cards to come that are
        uniform over all that are not seen; 0 for hands that hold a card of the board.

    Notes
    -----
    A river takes a millisecond, a turn 48 rivers, and a flop 1,176.

    T. Chen, "2-player no limit Texas hold 'em AI report", 2020, section 1.1, draws hands and boards at random instead.

    Examples
    --------
    >>> from treeplex.models.games.holdem.cards import HAND_NAMES, read_board
    >>> from treeplex.models.games.holdem.values import hand_values
    >>> values = hand_values(tuple(read_board("QcJc9c3d2d")))
    >>> [round(float(values[HAND_NAMES.index(hand)]), 4) for hand in ("AcKc", "QhQd", "8h7h")]
    [0.998, 0.8485, -0.7677]
    """
    missing = 5 - len(board)
    net = np.zeros(len(HANDS), dtype=np.int64)
    left = [card for card in DECKS[deck] if card not in board]
    for dealt in combinations(left, missing):
        net += _net(tuple(sorted((*board, *dealt))), deck)
    return frozen(net / (comb(len(left) - 2, missing) * comb(len(left) - 2 - missing, 2)))


@lru_cache(maxsize=4096)
def _net(board: tuple[int, ...], deck: str) -> npt.NDArray[np.int16]:
    """Return how many hands each one beats on a river, less how many beat it."""
    hands = _DEALT[deck][alive(board, _DEALT[deck])]
    strong = strengths(board, hands, deck)
    order = np.argsort(strong, kind="stable")
    hands, strong = hands[order], strong[order]
    count, cards, place = len(hands), HANDS[hands], np.arange(len(hands))
    held = np.zeros((count + 1, 52), dtype=np.int16)  # how many of the weakest hands hold each card
    held[place + 1, cards[:, 0]] = held[place + 1, cards[:, 1]] = 1
    np.cumsum(held, axis=0, out=held)
    first, last = (np.searchsorted(strong, strong, side) for side in ("left", "right"))
    weaker, upto, holding = (held[rows, cards.T].sum(axis=0) for rows in (first, last, count))
    beaten = np.zeros(len(HANDS), dtype=np.int16)
    beaten[hands] = (first - weaker) - (count - last - holding + upto)
    return beaten


def hand_value(hand: tuple[int, int], board: Sequence[int], samples: int = SAMPLES) -> float:
    """Return v = W − L of one hand: exact on a river and before the flop, an estimate on a flop and turn.

    Parameters
    ----------
    hand : (int, int)
        Two cards.
    board : sequence of int
        None, or three to five cards, in any order.
    samples : int
        How many hands and boards an estimate is the mean of; its standard error is at most 1 / √samples.

    Returns
    -------
    float
        The same for the same cards, whenever it is asked for: what is drawn follows from the cards.

    Examples
    --------
    >>> from treeplex.models.games.holdem.cards import read_cards
    >>> from treeplex.models.games.holdem.values import hand_value
    >>> aces = tuple(read_cards("AsAh"))
    >>> round(hand_value(aces, []), 4)
    0.7041
    >>> abs(hand_value(aces, read_cards("Kd7c2s")) - 0.77) < 0.05
    True
    """
    high, low = max(hand), min(hand)
    if not board:
        ranks = 12 - high // 4, 12 - low // 4
        return float(_PREFLOP[ranks if high % 4 == low % 4 else ranks[::-1]])
    return _estimated((high, low), tuple(sorted(board)), samples)


@lru_cache(maxsize=2**16)
def _estimated(hand: tuple[int, int], board: tuple[int, ...], samples: int) -> float:
    left = np.array([card for card in range(52) if card not in board and card not in hand])
    missing = 5 - len(board)
    if missing:
        # Cards are drawn with repetitions, and draws that have one are left out.
        drawn = np.random.default_rng((*hand, *board)).integers(0, len(left), (missing + 2, 3 * samples // 2))
        ordered = np.sort(drawn, axis=0)
        drawn = left[drawn[:, (ordered[1:] != ordered[:-1]).all(axis=0)][:, :samples]]
    else:
        drawn = left[np.array(list(combinations(range(len(left)), 2))).T]
    seen = np.bitwise_or.reduce(_BITS[:, list(board)], axis=1, keepdims=True)
    for card in drawn[2:]:
        seen = seen | _BITS[:, card]
    mine = ranked(list(seen | _BITS[:, list(hand)].sum(axis=1, keepdims=True)))
    theirs = ranked(list(seen | _BITS[:, drawn[0]] | _BITS[:, drawn[1]]))
    return float(np.sign(mine - theirs).mean())
