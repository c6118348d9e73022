"""Flops up to exchanges of suits, representative subsets of them, and the textures of boards."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from itertools import combinations, permutations

import numpy as np

from ....seqform.arrays import Indices
from ....seqform.errors import InvalidGameError
from .cards import CARDS, DECKS, RANKS, read_board

#: The exchanges of suits: the suit that each suit becomes.
_EXCHANGES = np.array(list(permutations(range(4))))
_SUITS = ("rainbow", "two-tone", "monotone")
_CONNECTED = ("disconnected", "semi-connected", "connected")
_KINDS = {"1": "unpaired", "2": "paired", "22": "two pairs", "3": "trips", "32": "full house", "4": "quads"}


@dataclass(frozen=True)
class WeightedBoard:
    """A board, and the number of boards that it stands for.

    Attributes
    ----------
    board : str
    weight : float
    """

    board: str
    weight: float = 1.0


@dataclass(frozen=True)
class Texture:
    """The texture of a board: its suits, pairs, high card and straights.

    Attributes
    ----------
    suits : str
        ``rainbow``, ``two-tone`` or ``monotone``; with four or five cards also ``flush possible``, for three or more
        cards of a suit.
    pairing : str
        ``unpaired``, ``paired`` or ``trips``; with four or five cards also ``two pairs``, ``full house`` and ``quads``.
    high_card : str
        The highest rank.
    connectedness : str
        ``connected`` if two hole cards can make a straight, ``semi-connected`` if they can make a straight draw with
        two ranks of the board, otherwise ``disconnected``. An ace counts high and low.

    Examples
    --------
    >>> from treeplex.models.games.holdem.flops import Texture
    >>> Texture.of("Td9d6h")
    Texture(suits='two-tone', pairing='unpaired', high_card='T', connectedness='connected')
    >>> Texture.of("Ks7d7c")
    Texture(suits='rainbow', pairing='paired', high_card='K', connectedness='disconnected')
    """

    suits: str
    pairing: str
    high_card: str
    connectedness: str

    @classmethod
    def of(cls, board: str, deck: str = "full") -> "Texture":
        """Return the texture of a board of three to five cards.

        Raises
        ------
        InvalidGameError
        """
        cards = np.array(read_board(board, deck))
        ranks, suits = np.divmod(cards, 4)
        most = int(np.bincount(suits).max())
        same = "".join(str(count) for count in sorted(np.bincount(ranks).tolist(), reverse=True) if count > 1)
        places = {*(ranks + 1).tolist(), *([DECKS[deck].start // 4] if 12 in ranks else [])}  # an ace counts low too
        window = max(sum(low <= place < low + 5 for place in places) for low in range(10))
        return cls(
            "monotone" if most == len(cards) else "flush possible" if most > 2 else _SUITS[most - 1],
            _KINDS[same or "1"],
            RANKS[int(ranks.max())],
            _CONNECTED[min(window, 3) - 1],
        )


#: The names of the parts of a texture.
TEXTURES = tuple(each.name for each in fields(Texture))


@cache
def flop_classes(deck: str = "full") -> tuple[WeightedBoard, ...]:
    """Return a flop of each class up to exchanges of suits, with the number of flops in its class.

    The class's flop is the one with the highest cards, spades first. Classes are in descending order.

    Examples
    --------
    >>> from treeplex.models.games.holdem.flops import flop_classes
    >>> classes = flop_classes()
    >>> len(classes), sum(one.weight for one in classes), classes[1]
    (1755, 22100.0, WeightedBoard(board='AsAhKs', weight=12.0))
    """
    flops = np.array(list(combinations(DECKS[deck], 3)))
    found, counts = np.unique(_highest(flops), return_counts=True)
    pairs = zip(found[::-1].tolist(), counts[::-1].tolist(), strict=True)
    return tuple(WeightedBoard(_named(code), float(count)) for code, count in pairs)


def _highest(flops: Indices) -> Indices:
    """Return for each flop the largest code of its cards, in descending order, over all exchanges of suits."""
    ranks, suits = np.divmod(flops, 4)
    exchanged = np.sort(4 * ranks + _EXCHANGES[:, suits], axis=-1)
    codes: Indices = (exchanged @ np.array([1, 52, 52**2])).max(axis=0)
    return codes


def strata(boards: Iterable[str]) -> Indices:
    """Return the stratum of each flop: its suits and its pairing, as a number."""
    found = [_stratum(board) for board in boards]
    known = {kind: number for number, kind in enumerate(dict.fromkeys(found))}
    return np.array([known[kind] for kind in found])


def _stratum(board: str) -> tuple[str, str]:
    texture = Texture.of(board)
    return texture.suits, texture.pairing


@cache
def _order() -> tuple[str, ...]:
    """Return the flop classes in the order in which subsets grow."""
    return tuple(resources.files(__package__).joinpath("flops.txt").read_text("ascii").split())


@cache
def flop_subset(size: int) -> tuple[WeightedBoard, ...]:
    """Return representative flops, each weighted by the number of flops that it stands for.

    Parameters
    ----------
    size : int
        From 1 to 1,755. A larger subset contains every smaller one.

    Raises
    ------
    InvalidGameError

    Notes
    -----
    Greedy minimisation of the maximum mean discrepancy, as in kernel herding (Y. Chen, M. Welling, A. Smola,
    "Super-samples from kernel herding", UAI 2010): flops are chosen one after another, so that the mean of a kernel
    over the chosen flops comes as close as possible to its mean over all 22,100 flops. The kernel of two flops is
    exp(−d²/2), plus 1 if they have the same suits and pairing. Their distance d is the root mean square difference
    between the equities of the 169 classes of hands against a random hand, weighted by the size of each class, in
    units of the standard deviation over all flops.

    The flops of each combination of suits and pairing are shared equally among the chosen ones. So from 155 flops on,
    the shares of these textures are exact. Smaller subsets have no flop of three equal ranks (0.24% of all), and from
    11 flops on the other shares are too large by a factor of 1.0024. ``benchmarks/flop_subsets.py`` computes the order
    and the sampling error.

    Examples
    --------
    >>> from treeplex.models.games.holdem.flops import flop_subset
    >>> subset = flop_subset(23)
    >>> len(subset), round(sum(one.weight for one in subset), 6)
    (23, 22100.0)
    >>> {one.board for one in subset} <= {one.board for one in flop_subset(184)}
    True
    """
    most = len(flop_classes())
    if not 1 <= size <= most:
        raise InvalidGameError(f"{size:,} flops, expected from 1 to {most:,}")
    return flop_classes() if size == most else subset_of(_order()[:size])


def random_flops(count: int, seed: int, deck: str = "full") -> tuple[WeightedBoard, ...]:
    """Return the classes of random flops, each weighted by how many of the flops it stands for.

    Parameters
    ----------
    count : int
        Different flops, each of which is equally likely; some may be in the same class.
    seed : int
    deck : {"full", "short"}

    Raises
    ------
    InvalidGameError

    Examples
    --------
    >>> from treeplex.models.games.holdem.flops import random_flops
    >>> random_flops(2, seed=1)
    (WeightedBoard(board='8s7h2s', weight=1.0), WeightedBoard(board='JsTsTh', weight=1.0))
    """
    flops = np.array(list(combinations(DECKS[deck], 3)))
    if not 1 <= count <= len(flops):
        raise InvalidGameError(f"{count:,} flops, expected from 1 to {len(flops):,}")
    drawn = _highest(flops[np.random.default_rng(seed).choice(len(flops), count, replace=False)])
    return tuple(WeightedBoard(_named(code), float(same)) for code, same in Counter(drawn.tolist()).items())


def _named(code: int) -> str:
    """Return the flop with a code of :func:`_highest`."""
    return "".join(CARDS[code // 52**place % 52] for place in (2, 1, 0))


def subset_of(chosen: Sequence[str]) -> tuple[WeightedBoard, ...]:
    """Return chosen flops, each with an equal share of all flops of its combination of suits and pairing.

    If no flop of a combination is chosen, the other flops stand for its flops.
    """
    flops, mine = Counter[tuple[str, str]](), Counter(map(_stratum, chosen))
    for one in flop_classes():
        flops[_stratum(one.board)] += int(one.weight)
    scale = flops.total() / sum(flops[kind] for kind in mine)
    return tuple(
        WeightedBoard(board, scale * flops[kind] / mine[kind]) for board in chosen for kind in [_stratum(board)]
    )
