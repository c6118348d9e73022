"""Equity buckets: what k-means groups, and the exact loss of the abstract equilibria in the full game."""

import sys

import numpy as np
import pytest
from effort import few

from treeplex import (
    Game,
    InvalidOptionError,
    MissingExtraError,
    Nash,
    UnsupportedProblemError,
    exploitability,
    load_game,
    solve,
)
from treeplex.models.games.holdem import HoldemSpot, SpotRules
from treeplex.models.opponents import Abstraction, equity_buckets
from treeplex.models.opponents.equity_buckets import _poker_of

LEDUC = load_game("leduc:ranks=5,merge_suits=true")


def turn():
    spot = HoldemSpot("Td9d6hQc", ["AA, KQs, 87s", "QJs, 55, ATs"], 100, 100, bets="100%")
    return Game("turn", rules=SpotRules(spot))


def loss(game, abstraction):
    """Return the exploitability of the abstract equilibrium in the full game, and the number of abstract infosets."""
    abstract = abstraction.abstract_game
    profile = abstraction.lift_profile(solve(Nash(abstract), "highs").profile)
    return exploitability(game, profile), abstract.sequence_form.treeplexes[0].num_infosets


def test_leduc_loses_nothing_where_boards_are_visible_and_hands_distinguished():
    found, infosets = loss(LEDUC, Abstraction(LEDUC, equity_buckets(LEDUC, 5, boards="visible")))
    assert infosets == LEDUC.sequence_form.treeplexes[0].num_infosets
    assert found < 1e-9


@few
@pytest.mark.parametrize("boards", ["merged", "visible"])
def test_few_buckets_lose_and_many_lose_less(boards):
    losses = [loss(LEDUC, Abstraction(LEDUC, equity_buckets(LEDUC, k, boards=boards))) for k in (1, 3, 9)]
    assert losses[0][0] > losses[1][0] > losses[2][0]
    assert losses[0][1] < losses[1][1] < losses[2][1]


def test_equities_of_leduc_are_those_of_the_deck():
    poker = _poker_of(load_game("leduc:merge_suits=true"))  # J, Q, K, two suits
    equities, weights = poker.equities((0, 1, ()))  # a queen before the public card
    # After a public J the others hold J (a pair), Q (a tie), K or K; after a K they hold J, J, Q or K (a pair).
    np.testing.assert_allclose(equities, [0.5 / 4, 1.0, (2 + 0.5) / 4])
    np.testing.assert_allclose(weights / weights.sum(), [0.4, 0.2, 0.4])
    assert poker.equities((0, 1, (0,)))[0] == pytest.approx([0.5 / 4])


def test_equities_of_a_spot_are_those_of_its_showdowns():
    game = turn()
    poker, spot = _poker_of(game), game.rules.spot
    labels = game.sequence_form.treeplexes[1].infoset_labels
    one = poker.read(1, labels[0])[1][0]
    equities, weights = poker.equities(one)
    assert len(equities) <= 52 - 4 - 2
    assert weights.sum() == pytest.approx(spot.weights[1][0])
    # Against the same hands, the shares of both players sum to 1 on average.
    shares = [0.0, 0.0]
    for player in (0, 1):
        own = {poker.read(player, label)[1][0] for label in game.sequence_form.treeplexes[player].infoset_labels}
        found = [poker.equities(each) for each in own]
        shares[player] = sum(e @ w for e, w in found) / sum(w.sum() for _, w in found)
    assert 0.0 < min(shares) < 1.0
    assert sum(shares) == pytest.approx(1.0, abs=0.05)  # but for the cards that one hand takes from the other


def test_a_spot_with_a_bucket_for_each_equity_is_almost_the_spot():
    game = turn()
    found, infosets = loss(game, Abstraction(game, equity_buckets(game, 200, boards="visible")))
    assert infosets < game.sequence_form.treeplexes[0].num_infosets
    coarse, fewer = loss(game, Abstraction(game, equity_buckets(game, 2)))
    assert found < 0.1 < coarse  # of a pot of 100
    assert fewer < infosets


def test_groups_are_in_the_order_of_strength_and_reproducible():
    first, again = equity_buckets(LEDUC, 3, seed=4), equity_buckets(LEDUC, 3, seed=4)
    labels = LEDUC.sequence_form.treeplexes[0].infoset_labels
    assert [first(0, each) for each in labels] == [again(0, each) for each in labels]
    groups = [first(0, f"{card}_")[1][0] for card in "9TJQK" if f"{card}_" in labels]
    assert groups == sorted(groups)
    assert set(groups) == {0, 1, 2}


def test_what_is_refused(monkeypatch):
    with pytest.raises(UnsupportedProblemError, match="for leduc with two players and for SpotRules"):
        equity_buckets(load_game("kuhn"), 3)
    with pytest.raises(InvalidOptionError, match="buckets has 3 numbers, expected 2, one per street"):
        equity_buckets(LEDUC, [1, 2, 3])
    with pytest.raises(InvalidOptionError, match="buckets"):
        equity_buckets(LEDUC, 0)
    with pytest.raises(InvalidOptionError, match="boards"):
        equity_buckets(LEDUC, 3, boards="hidden")
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(MissingExtraError, match=r"equity buckets need scikit-learn.*treeplex\[learning\]"):
        equity_buckets(LEDUC, 2)
