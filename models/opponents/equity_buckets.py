"""Buckets of hands with similar equity distributions, found by k-means."""

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.checks import check_choice, check_type, check_whole
from ...seqform.errors import InvalidOptionError, UnsupportedProblemError, needing
from ...seqform.game import Game
from ..games.leduc import Leduc
from ..games.registry import rank_names
from .abstraction import Bucket

#: A hand on a street: the player, the hand, and the public cards by number.
Situation = tuple[int, Any, tuple[int, ...]]


class _Poker(NamedTuple):
    """The parts of a poker game that its equity buckets are computed from."""

    #: Returns the betting up to an infoset, and the hand's situations on all streets up to it.
    read: Callable[[int, Any], tuple[tuple[Hashable, ...], list[Situation]]]
    #: Returns the equities of a situation's hand at the end of all boards, and the boards' weights.
    equities: Callable[[Situation], tuple[Floats, Floats]]


def equity_buckets(
    game: Game,
    buckets: int | Sequence[int],
    *,
    boards: Literal["merged", "visible"] = "merged",
    bins: int = 50,
    seed: int = 0,
) -> Bucket:
    """Group the hands of a poker game by the distribution of their equity at the showdown.

    On each street, the equity histograms of all hands on all boards are grouped by k-means, separately for each player.
    Hands of a group are not distinguished. Betting is visible exactly, and later buckets remember earlier ones.

    Parameters
    ----------
    game : Game
        Leduc poker with two players, or a hold'em spot as rules (:class:`~treeplex.models.games.holdem.SpotRules`).
    buckets : int or sequence of int
        The largest number of groups on a street, for all streets or for each.
    boards : {"merged", "visible"}
        Whether players see public cards only through their hand's group, or exactly.
    bins : int
        The number of bins of a histogram of equities between 0 and 1.
    seed : int
        For the initial centres.

    Returns
    -------
    callable
        Maps a player and an infoset label to a bucket, for :class:`~treeplex.models.opponents.Abstraction`.

    Raises
    ------
    UnsupportedProblemError
        If the game is not one of these.
    InvalidOptionError
        If a number is out of range, or the number of buckets does not have one entry per street.
    MissingExtraError
        If scikit-learn is not installed.

    Notes
    -----
    The equity is the share of the pot against a random hand of the opponent's initial range. The distance of two
    histograms is the Euclidean distance of their cumulative sums; the literature often uses the L1 distance of these
    sums, the earth mover's distance (M. Johanson, N. Burch, R. Valenzano and M. Bowling, "Evaluating state-space
    abstractions in extensive-form games", AAMAS 2013). Each hand counts with its probability.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.opponents import Abstraction, equity_buckets
    >>> game = load_game("leduc:ranks=6,merge_suits=true")
    >>> abstract = Abstraction(game, equity_buckets(game, [3, 4])).abstract_game
    >>> game.sequence_form.treeplexes[0].num_infosets, abstract.sequence_form.treeplexes[0].num_infosets
    (558, 129)
    """
    check_type(game, "game", InvalidOptionError, Game)
    poker = _poker_of(game)
    check_choice(boards, "boards", InvalidOptionError, ("merged", "visible"))
    bins = check_whole(bins, "bins", InvalidOptionError, "[1, inf)")
    seed = check_whole(seed, "seed", InvalidOptionError)
    situations: list[dict[Situation, None]] = []  # by street, in order
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        for label in treeplex.infoset_labels:
            for street, one in enumerate(poker.read(player, label)[1]):
                while len(situations) <= street:
                    situations.append({})
                situations[street][one] = None
    counts = _counts(buckets, len(situations))
    groups: dict[Situation, int] = {}
    for most, street_situations in zip(counts, situations, strict=True):
        for player in range(game.num_players):
            own = [one for one in street_situations if one[0] == player]
            groups.update(zip(own, _grouped(own, poker, most, bins, seed), strict=True))

    def bucket(player: int, label: Hashable) -> Hashable:
        betting, past = poker.read(player, label)
        known = tuple(groups[one] for one in past)
        return (betting, known) if boards == "merged" else (betting, known, past[-1][2])

    return bucket


def _counts(buckets: Any, streets: int) -> list[int]:
    given = [buckets] * streets if isinstance(buckets, int) else list(buckets)
    if len(given) != streets:
        raise InvalidOptionError(f"buckets has {len(given)} numbers, expected {streets}, one per street")
    return [check_whole(each, "buckets", InvalidOptionError, "[1, inf)") for each in given]


def _grouped(own: Sequence[Situation], poker: _Poker, most: int, bins: int, seed: int) -> list[int]:
    """Return the group of each situation; groups are numbered by their mean equity, the weakest first."""
    edges = np.linspace(0.0, 1.0, bins + 1)[1:-1]
    sums, means, weights = np.empty((len(own), bins)), np.empty(len(own)), np.empty(len(own))
    for place, one in enumerate(own):
        equities, chances = poker.equities(one)
        weights[place] = chances.sum()
        means[place] = equities @ chances / weights[place]
        which = np.searchsorted(edges, equities, side="right")
        sums[place] = np.cumsum(np.bincount(which, chances, minlength=bins)) / weights[place]
    distinct, inverse = np.unique(sums.round(9), axis=0, return_inverse=True)
    inverse = inverse.ravel()
    if len(distinct) > most:
        with needing("equity buckets need scikit-learn", "learning"):
            from sklearn.cluster import KMeans
        shares = np.bincount(inverse, weights)
        inverse = KMeans(most, n_init=10, random_state=seed).fit(distinct, sample_weight=shares).labels_[inverse]
    strength = np.bincount(inverse, weights * means) / np.bincount(inverse, weights)
    rank = np.argsort(np.argsort(strength, kind="stable"), kind="stable")
    return [int(each) for each in rank[inverse]]


def _poker_of(game: Game) -> _Poker:
    if isinstance(game.rules, Leduc) and game.num_players == 2:
        return _leduc(game.rules)
    from ..games.holdem import SpotRules

    if isinstance(game.rules, SpotRules):
        return _holdem(game.rules)
    raise UnsupportedProblemError(
        f"equity buckets are for leduc with two players and for SpotRules of a hold'em spot, not for {game.spec}"
    )


def _leduc(rules: Leduc) -> _Poker:
    ranks, suits = rank_names(rules.ranks), rules.suits
    cut = 0 if rules.merge_suits else 1

    def rank(card: str) -> int:
        return ranks.index(card[: len(card) - cut])

    def read(player: int, label: Any) -> tuple[tuple[Hashable, ...], list[Situation]]:
        card, first, *second = str(label).split("_")
        past: list[Situation] = [(player, rank(card), ())]
        if not second:
            return (first,), past
        return (first, second[1]), [*past, (player, rank(card), (rank(second[0]),))]

    def equities(one: Situation) -> tuple[Floats, Floats]:
        _, own, board = one
        left = np.full(rules.ranks, suits)
        left[own] -= 1
        boards = np.arange(rules.ranks) if not board else np.array(board)
        found = np.empty(len(boards))
        for place, public in enumerate(boards.tolist()):
            others = left.copy()
            others[public] -= 1
            strength = np.arange(rules.ranks) + rules.ranks * (np.arange(rules.ranks) == public)
            better = np.sign(strength[own] - strength)
            found[place] = others @ (0.5 + 0.5 * better) / others.sum()
        return found, np.asarray(left[boards] * suits, dtype=np.float64)

    return _Poker(read, equities)


def _holdem(rules: Any) -> _Poker:
    from ..games.holdem.cards import CARDS, HAND_NAMES, HANDS
    from ..games.holdem.showdown import strengths

    spot = rules.spot
    start = tuple(spot.boards[spot.public_form.boards[0]])
    cards = {name: number for number, name in enumerate(CARDS)}
    places = [{HAND_NAMES[hand]: place for place, hand in enumerate(held.tolist())} for held in spot.hands]
    shared = (HANDS[spot.hands[0]][:, None, :, None] == HANDS[spot.hands[1]][None, :, None, :]).any(axis=(2, 3))
    known: dict[tuple[int, ...], tuple[Floats, Floats]] = {}

    def at_the_end(board: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Return both players' equities by hand on a complete board; NaN where there is no opponent's hand."""
        if board not in known:
            mine, theirs = (strengths(board, held, spot.deck) for held in spot.hands)
            won = 0.5 + 0.5 * np.sign(mine[:, None] - theirs)
            both = ~shared & (mine > 0)[:, None] & (theirs > 0)
            with np.errstate(invalid="ignore"):
                known[board] = (
                    (won * both) @ spot.weights[1] / (both @ spot.weights[1]),
                    spot.weights[0] @ ((1.0 - won) * both) / (spot.weights[0] @ both),
                )
        return known[board]

    def read(player: int, label: Any) -> tuple[tuple[Hashable, ...], list[Situation]]:
        path, hand = label
        betting = tuple("card" if step in cards else step for step in path)
        dealt = [cards[step] for step in path if step in cards]
        boards = [tuple(sorted((*start, *dealt[:count]))) for count in range(len(dealt) + 1)]
        return betting, [(player, hand, board) for board in boards]

    def equities(one: Situation) -> tuple[Floats, Floats]:
        player, hand, board = one
        place = places[player][hand]
        held = {*HANDS[spot.hands[player][place]].tolist(), *board}
        left = [card for card in cards.values() if card not in held and _is_in(card, spot.deck)]
        ends = (tuple(sorted((*board, *more))) for more in combinations(left, 5 - len(board)))
        found = np.array([at_the_end(end)[player][place] for end in ends])
        possible = ~np.isnan(found)
        return found[possible], np.full(possible.sum(), spot.weights[player][place] / possible.sum())

    return _Poker(read, equities)


def _is_in(card: int, deck: str) -> bool:
    return deck != "short" or card // 4 >= 4
