"""Classes of flops, representative subsets, and textures."""

from collections import Counter
from itertools import combinations, permutations

import pytest

from treeplex import InvalidGameError
from treeplex.models.games.holdem.cards import CARDS, read_board
from treeplex.models.games.holdem.flops import Texture, flop_classes, flop_subset


def exchanged(board: str) -> frozenset[frozenset[str]]:
    """Return all flops that exchanges of suits make of one."""
    cards = [board[place : place + 2] for place in range(0, len(board), 2)]
    suits = [dict(zip("cdhs", order, strict=True)) for order in permutations("cdhs")]
    return frozenset(frozenset(rank + one[suit] for rank, suit in cards) for one in suits)


def stratum(board: str) -> tuple[str, str]:
    texture = Texture.of(board)
    return texture.suits, texture.pairing


KINDS = sorted({stratum(one.board) for one in flop_classes()})


def test_each_flop_is_in_exactly_one_class_whose_weight_is_its_number_of_flops():
    seen = Counter()
    for one in flop_classes():
        alike = exchanged(one.board)
        assert len(alike) == one.weight
        seen.update(alike)
    assert set(seen) == {frozenset(cards) for cards in combinations(CARDS, 3)}
    assert set(seen.values()) == {1}
    assert len(flop_classes()) == 1755
    short = flop_classes("short")
    assert (len(short), sum(one.weight for one in short)) == (573, 7140)


@pytest.mark.parametrize("size", [23, 49, 95, 184, 500, 1755])
def test_subsets_keep_the_shares_of_suits_and_pairing_and_contain_smaller_ones(size):
    subset = flop_subset(size)
    assert len({one.board for one in subset}) == size
    assert {one.board for one in subset} >= {one.board for one in flop_subset(max(1, size // 2))}
    mine, every = (
        Counter({kind: sum(one.weight for one in boards if stratum(one.board) == kind) for kind in KINDS})
        for boards in (subset, flop_classes())
    )
    # A small subset has no flop of three equal ranks, 0.24% of all: the others stand for them.
    missing = sum(every[kind] for kind in KINDS if not mine[kind])
    assert missing <= 52
    for kind in KINDS:
        assert mine[kind] in (0, pytest.approx(every[kind] * 22100 / (22100 - missing)))


@pytest.mark.parametrize("rank", "AKQJT98765432")
def test_subsets_hit_each_rank_about_as_often_as_all_flops(rank):
    hit = sum(one.weight for one in flop_classes() if rank in one.board)
    assert sum(one.weight for one in flop_subset(184) if rank in one.board) == pytest.approx(hit, rel=0.1)


def test_the_whole_subset_is_all_classes_and_other_sizes_are_refused():
    assert flop_subset(1755) == flop_classes()
    for size in (0, 1756):
        with pytest.raises(InvalidGameError, match=rf"^{size:,} flops, expected from 1 to 1,755$"):
            flop_subset(size)


@pytest.mark.parametrize(
    ("board", "suits", "pairing", "high_card", "connectedness"),
    [
        ("Td9d6h", "two-tone", "unpaired", "T", "connected"),
        ("As5d2c", "rainbow", "unpaired", "A", "connected"),
        ("Kh8h3h", "monotone", "unpaired", "K", "disconnected"),
        ("Ks7d2c", "rainbow", "unpaired", "K", "disconnected"),
        ("9s9d9c", "rainbow", "trips", "9", "disconnected"),
        ("AsKd5c", "rainbow", "unpaired", "A", "semi-connected"),
        ("QsQd4s", "two-tone", "paired", "Q", "disconnected"),
        ("JsTd9c8h", "rainbow", "unpaired", "J", "connected"),
        ("JsTs9s8h", "flush possible", "unpaired", "J", "connected"),
        ("JsTs9s8s", "monotone", "unpaired", "J", "connected"),
        ("KsKd2s2d7h", "two-tone", "two pairs", "K", "disconnected"),
        ("KsKdKh2d2h", "two-tone", "full house", "K", "disconnected"),
        ("KsKdKhKc2h", "two-tone", "quads", "K", "disconnected"),
    ],
)
def test_textures(board, suits, pairing, high_card, connectedness):
    assert Texture.of(board) == Texture(suits, pairing, high_card, connectedness)
    assert {Texture.of("".join(one)) for one in exchanged(board)} == {Texture.of(board)}


def test_in_a_short_deck_an_ace_is_next_to_a_six():
    assert Texture.of("As9d6c", "short").connectedness == "connected"
    assert Texture.of("As9d6c").connectedness == "semi-connected"


def test_the_flop_of_a_class_has_the_highest_cards():
    for one in flop_classes()[::50]:
        codes = [sorted(map(CARDS.index, flop), reverse=True) for flop in exchanged(one.board)]
        assert read_board(one.board) == max(codes)
