"""Order the 1,755 flop classes so that the first N represent all flops, and measure the sampling error.

python benchmarks/flop_subsets.py [FILE]

writes the file that is shipped with treeplex, and prints the table of docs/how-to/report-over-boards.md. This takes
three minutes.
"""

import sys
from itertools import combinations
from pathlib import Path

import numba
import numpy as np

from treeplex.models.games.holdem.cards import HANDS, Range, read_board
from treeplex.models.games.holdem.classes import CLASS_OF_HAND, CLASS_SIZES
from treeplex.models.games.holdem.flops import flop_classes, strata, subset_of
from treeplex.models.games.holdem.showdown import alive, strengths

#: Ranges of oop and ip: in a single raised pot, between blinds, in a reraised pot, against any hand, and two extremes.
RANGES = {
    "single raised pot": (
        "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s",
        "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+",
    ),
    "blind against button": (
        "JJ-22,AQs-A2s,AQo-A8o,K2s+,KTo+,Q5s+,QTo+,J7s+,JTo,T7s+,T9o,97s,86s+,75s+,64s+,54s",
        "22+,A2s+,A7o+,K7s+,KTo+,Q9s+,QTo+,J9s+,T9s,98s,87s,76s",
    ),
    "reraised pot": ("TT+,AQs+,AKo,A5s-A4s,KQs", "QQ-77,AQs-ATs,AQo,KJs+,QJs,JTs,T9s"),
    "any hand": ("random", "22+,A2s+,A7o+,K7s+,KTo+,Q9s+,QTo+,J9s+,T9s,98s,87s,76s"),
    "aces against pairs": ("AA", "KK-22"),
}
SIZES = (23, 49, 95, 184)
#: Random samples of flops to compare with.
SAMPLES = 500


def kinds(boards):
    """Return a number for each board that exchanges of suits leave unchanged."""
    suits = np.stack([np.where(boards % 4 == suit, 1 << boards // 4, 0).sum(axis=1) for suit in range(4)], axis=1)
    return (np.sort(suits, axis=1) << np.arange(0, 52, 13)).sum(axis=1)


@numba.njit
def net(cards, strength, weights):
    """Return, by hand and column of weights, the weight that the hand beats minus the weight that beats it."""
    count, columns = weights.shape
    found = np.zeros((count, columns))
    for step in (1, -1):  # hands are ordered from weak to strong
        total, held = np.zeros(columns), np.zeros((52, columns))
        group = 0 if step == 1 else count - 1
        while 0 <= group < count:
            hand = group
            while 0 <= hand < count and strength[hand] == strength[group]:
                found[hand] += step * (total - held[cards[hand, 0]] - held[cards[hand, 1]])
                hand += step
            while group != hand:
                total += weights[group]
                held[cards[group, 0]] += weights[group]
                held[cards[group, 1]] += weights[group]
                group += step
    return found


def rivers(ranges):
    """Return the kinds of rivers, and for each the sum of wins minus losses by class of hand and by pair of ranges."""
    every = np.array(list(combinations(range(52), 5)))
    known, first = np.unique(kinds(every), return_index=True)
    weights = np.concatenate([np.ones((1, len(HANDS))), ranges[:, 1]]).T
    by_class, by_ranges = np.zeros((len(known), 169)), np.zeros((len(known), len(ranges)))
    for place, board in enumerate(every[first].tolist()):
        strength = strengths(board, np.arange(len(HANDS)))
        order = np.argsort(strength, kind="stable")
        order = order[strength[order] > 0]  # the others contain a card of the board
        won = net(HANDS[order], strength[order], weights[order])
        by_class[place] = np.bincount(CLASS_OF_HAND[order], won[:, 0], 169)
        by_ranges[place] = (ranges[:, 0, order] * won[:, 1:].T).sum(axis=1)
    return known, by_class, by_ranges


def pairs_of(ranges, free):
    """Return the weight of all pairs of hands that can be dealt together, among free hands."""
    first, second = ranges * free
    held = sum(np.bincount(HANDS[:, place], second, 52) for place in (0, 1))
    return float((first * (second.sum() - held[HANDS].sum(axis=1) + second)).sum())


def flops(boards, ranges):
    """Return features of flops, and for each pair of ranges oop's equity and the weight of pairs of hands."""
    known, by_class, by_ranges = rivers(ranges)
    features, equity = np.zeros((len(boards), 169)), np.zeros((len(boards), len(ranges)))
    pairs, there = np.zeros_like(equity), np.zeros_like(features)
    for place, board in enumerate(boards.tolist()):
        left = [card for card in range(52) if card not in board]
        completed = np.array([[*board, *two] for two in combinations(left, 2)])
        at = np.searchsorted(known, kinds(completed))
        free = alive(board, np.arange(len(HANDS)))
        there[place] = np.bincount(CLASS_OF_HAND[free], minlength=169)
        features[place] = by_class[at].sum(axis=0) / np.maximum(there[place], 1) / (1081 * 990)
        pairs[place] = [pairs_of(each, free) for each in ranges]
        equity[place] = 0.5 + 0.5 * by_ranges[at].sum(axis=0) / np.maximum(pairs[place], 1e-9) / 990
    return np.where(there > 0, features, np.nan), equity, pairs


def kernel(features, counts, kinds_of_flops):
    """Return the kernel of each two flops: 1 for the same stratum, plus a Gaussian of the distance of features.

    The squared distance is the mean over hands, in units of the features' variance over all flops and hands.
    """
    mean = np.nansum(features * counts[:, None], axis=0) / (~np.isnan(features) * counts[:, None]).sum(axis=0)
    centred = np.nan_to_num(features - mean) * np.sqrt(CLASS_SIZES)
    norms = (centred**2).sum(axis=1)
    squared = np.maximum(norms[:, None] + norms - 2 * centred @ centred.T, 0.0) / (norms @ counts / counts.sum())
    return (kinds_of_flops[:, None] == kinds_of_flops) + np.exp(-squared / 2)


def ordered(kernel_of_flops, counts):
    """Return flops in the order of greedy minimisation of the maximum mean discrepancy to all flops."""
    mean = kernel_of_flops @ (counts / counts.sum())
    added, chosen = kernel_of_flops.diagonal() / 2, []
    for size in range(1, len(counts) + 1):
        score = mean - added / size
        score[chosen] = -np.inf
        chosen.append(int(score.argmax()))
        added = added + kernel_of_flops[chosen[-1]]
    return chosen


def mean_of(numbers, weights):
    return (numbers * weights).sum(axis=0) / weights.sum(axis=0)


if __name__ == "__main__":
    classes = flop_classes()
    boards = np.array([read_board(one.board) for one in classes])
    counts = np.array([one.weight for one in classes])
    ranges = np.array([[Range.parse(text).weights for text in each] for each in RANGES.values()])
    features, equity, pairs = flops(boards, ranges)
    order = ordered(kernel(features, counts, strata(one.board for one in classes)), counts)
    lines = [classes[place].board for place in order]
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="ascii")
    exact = mean_of(equity, counts[:, None] * pairs)
    places = {one.board: place for place, one in enumerate(classes)}
    rng = np.random.default_rng(0)
    print("| ranges | equity of oop |", " | ".join(f"{size} flops" for size in SIZES), "|")
    errors, random = [], []
    for size in SIZES:
        subset = subset_of(lines[:size])
        chosen = [places[one.board] for one in subset]
        weights = np.array([one.weight for one in subset])[:, None] * pairs[chosen]
        errors.append(100 * (mean_of(equity[chosen], weights) - exact))
        samples = (rng.choice(len(counts), size, p=counts / counts.sum()) for _ in range(SAMPLES))
        spread = [mean_of(equity[drawn], pairs[drawn]) - exact for drawn in samples]
        random.append(100 * np.sqrt((np.array(spread) ** 2).mean(axis=0)))
    for place, name in enumerate(RANGES):
        told = [f"{one[place]:+.2f} ({other[place]:.2f})" for one, other in zip(errors, random, strict=True)]
        print(f"| {name} | {100 * exact[place]:.2f}% |", " | ".join(told), "|")
