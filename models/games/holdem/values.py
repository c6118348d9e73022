"""The strength of a single hold'em hand: its probability of winning minus that of losing against an unknown hand."""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from ....seqform.arrays import Floats, Indices, frozen
from ....seqform.checks import check_number, check_whole
from ....seqform.errors import InvalidGameError, shown
from .cards import DECKS, HANDS, hand_numbers
from .classes import CLASS_OF_HAND
from .equities import BOARDS, equities, outcomes, pairs
from .showdown import alive, ranked, strengths

#: All hands of a deck, by number.
_DEALT = {deck: frozen(np.flatnonzero((cards.start <= HANDS).all(axis=1))) for deck, cards in DECKS.items()}
#: For each suit, the rank of each card as a bit, shape (4, 52).
_BITS: Indices = np.array([[1 << card // 4 if card % 4 == suit else 0 for card in range(52)] for suit in range(4)])
_ALL = frozenset(range(52))
#: Number of hands and boards sampled for a value before the river, as in the report.
SAMPLES = 10_000


@cache
def class_values() -> Floats:
    """Return v = W − L of the 169 classes before the flop, against any other hand and board, exactly.

    Examples
    --------
    >>> from treeplex.models.games.holdem.values import class_values
    >>> class_values().shape, round(float(class_values()[0]), 6)
    ((169,), 0.704074)
    """
    wins, _ = outcomes()
    return frozen((wins - wins.T).sum(axis=1) / (BOARDS * pairs().sum(axis=1)))


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
        The probability that each hand wins at showdown minus that it loses, against one hand and future cards that are
        uniform over all unseen cards; 0 for hands that contain a card of the board.

    Notes
    -----
    A river takes a millisecond, a turn as much as 48 rivers, and a flop as much as 1,176.

    T. Chen, "2-player no limit Texas hold 'em AI report", 2020, section 1.1, samples hands and boards instead.

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
    """Return the number of hands that each hand beats on a river, minus the number that beat it."""
    hands = _DEALT[deck][alive(board, _DEALT[deck])]
    strong = strengths(board, hands, deck)
    order = np.argsort(strong, kind="stable")
    hands, strong = hands[order], strong[order]
    count, cards, place = len(hands), HANDS[hands], np.arange(len(hands))
    held = np.zeros((count + 1, 52), dtype=np.int16)  # number of weakest hands that contain each card
    held[place + 1, cards[:, 0]] = held[place + 1, cards[:, 1]] = 1
    np.cumsum(held, axis=0, out=held)
    first, last = (np.searchsorted(strong, strong, side) for side in ("left", "right"))
    weaker, upto, holding = (held[rows, cards.T].sum(axis=0) for rows in (first, last, count))
    beaten = np.zeros(len(HANDS), dtype=np.int16)
    beaten[hands] = (first - weaker) - (count - last - holding + upto)
    return beaten


@lru_cache(maxsize=512)
def _matchups(hand: tuple[int, int], board: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
    """Return a hand's equity against every other hand, the other hand's strength, and whether both can be dealt.

    Before the flop the hands of a class are equivalent, and each counts as the mean of its class.
    """
    together = alive((*hand, *board), _DEALT["full"]).astype(np.float64)
    if not board:
        own = CLASS_OF_HAND[hand_numbers(np.array([hand]))[0]]
        return frozen(equities()[own][CLASS_OF_HAND]), frozen(class_values()[CLASS_OF_HAND]), frozen(together)
    left = [card for card in range(52) if card not in (*hand, *board)]
    hands, own = np.flatnonzero(together), hand_numbers(np.array([hand]))
    won, standing, count = np.zeros(len(HANDS)), np.zeros(len(HANDS)), np.zeros(len(HANDS))
    for dealt in combinations(left, 5 - len(board)):
        cards = (*board, *dealt)
        there = hands[alive(dealt, hands)] if dealt else hands
        found = strengths(cards, np.append(there, own))
        strong, mine = found[:-1], found[-1]
        ordered = np.sort(strong)
        won[there] += (mine > strong) + 0.5 * (mine == strong)
        standing[there] += np.searchsorted(ordered, strong, "left") + np.searchsorted(ordered, strong, "right")
        count[there] += 1.0
    count = np.maximum(count, 1.0)
    return frozen(won / count), frozen(standing / count), frozen(together)


def equity_against(hand: tuple[int, int], board: Sequence[int], share: float) -> float:
    """Return the exact share of the pot that a hand wins without betting, against the strongest share of hands.

    Parameters
    ----------
    hand : (int, int)
        Two cards.
    board : sequence of int
        No cards, or three to five.
    share : float
        The share of all hands that the other player may hold, above 0. Hands are ranked by :func:`class_values` before
        the flop, and after it by the number of hands that they beat on average over the remaining boards. Equally
        strong hands at the margin have the same weight.

    Returns
    -------
    float
        Ties count half. A river takes a millisecond, a turn as much as 46 rivers, and a flop as much as 1,081.

    Raises
    ------
    InvalidGameError
        If the cards are not different, or the share is not above 0 and at most 1.

    Examples
    --------
    >>> from treeplex.models.games.holdem.cards import read_cards
    >>> from treeplex.models.games.holdem.values import equity_against
    >>> kings = tuple(read_cards("KsKh"))
    >>> [round(equity_against(kings, [], share), 4) for share in (1, 0.1, 6 / 1225)]
    [0.824, 0.7245, 0.1805]
    """
    check_number(share, "share", InvalidGameError, "(0, 1]")
    equity, standing, together = _matchups(_checked(hand, board), tuple(sorted(board)))
    possible = np.flatnonzero(together)
    _, group, sizes = np.unique(-standing[possible], return_inverse=True, return_counts=True)
    before = np.concatenate([[0.0], np.cumsum(sizes)[:-1]])
    weights = np.clip((share * len(possible) - before) / sizes, 0.0, 1.0)[group]
    return float(weights @ equity[possible] / weights.sum())


def _checked(hand: tuple[int, int], board: Sequence[int]) -> tuple[int, int]:
    """Return a hand with the higher card first, after checking that the cards are distinct and valid in number."""
    cards = [*hand, *board]
    if len(hand) != 2 or len(board) not in (0, 3, 4, 5) or not _ALL.issuperset(cards) or len(set(cards)) < len(cards):
        raise InvalidGameError(
            f"hand is {shown(hand, 60)} and board {shown(board, 60)}, expected two cards and none or three to five "
            "others, all different numbers from 0 to 51"
        )
    return max(hand), min(hand)


def hand_value(hand: tuple[int, int], board: Sequence[int], samples: int = SAMPLES) -> float:
    """Return v = W − L of one hand: exact on a river and before the flop, an estimate on a flop or turn.

    Parameters
    ----------
    hand : (int, int)
        Two cards.
    board : sequence of int
        No cards, or three to five, in any order.
    samples : int
        Number of sampled hands and boards; the standard error of an estimate is at most 1 / √samples.

    Returns
    -------
    float
        Always the same for the same cards: the random draws are determined by the cards.

    Raises
    ------
    InvalidGameError
        If the cards are not different, or their numbers are not allowed.

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
    check_whole(samples, "samples", InvalidGameError, "[1, inf)")
    high, low = _checked(hand, board)
    if not board:
        return float(class_values()[CLASS_OF_HAND[hand_numbers(np.array([hand]))[0]]])
    return _estimated((high, low), tuple(sorted(board)), samples)


@lru_cache(maxsize=2**16)
def _estimated(hand: tuple[int, int], board: tuple[int, ...], samples: int) -> float:
    left = np.array([card for card in range(52) if card not in board and card not in hand])
    missing = 5 - len(board)
    if missing:
        # Cards are drawn with repetition, and draws with a repeated card are dropped.
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
