"""What hands are paid against hands, against the same pair by pair."""

import numpy as np
import pytest

from treeplex.seqform import InvalidGameError
from treeplex.seqform.card_payoff import CardPayoff

HANDS = [[0, 1], [2, 3], [0, 2]], [[0, 1], [4, 1], [5, 6]]


def test_hands_that_share_no_card_are_compared():
    strengths = [3, 1, 2], [3, 2, 1]
    expected = [[np.sign(mine - theirs) for theirs in strengths[1]] for mine in strengths[0]]
    for i, mine in enumerate(HANDS[0]):
        for j, theirs in enumerate(HANDS[1]):
            if set(mine) & set(theirs):
                expected[i][j] = 0
    everyone = [range(3), range(3)]
    payoff = CardPayoff(HANDS, everyone, strengths)
    assert payoff.factored.matrix.toarray().tolist() == expected
    reach = np.array([0.5, 0.25, 1.0])
    assert payoff.times(reach) == pytest.approx(np.array(expected) @ reach)
    assert payoff.transposed_times(reach) == pytest.approx(reach @ np.array(expected))
    some = CardPayoff(HANDS, [[0, 2], [1, 2]]).factored.matrix.toarray()
    assert some.tolist() == [[0, 0, 1], [0, 0, 0], [0, 1, 1]]


@pytest.mark.parametrize(
    ("cards", "strengths", "message"),
    [
        (([[0, 64]], [[1, 2]]), None, "cards must be numbers from 0 to 63"),
        (([[0, 1], [1, 0], [0, 1]], [[1, 2]]), None, "hands of player 0 contain a hand three times"),
        (
            ([[0, 1]], [[2, 2]]),
            None,
            "the hands of player 1 contain a hand three times, or a hand with the same card twice",
        ),
        (([[0, 1]], [[2, 3]]), ([1, 2], [1]), r"strengths have 2 and 1 entries, expected \(1, 1\)"),
    ],
)
def test_hands_are_checked(cards, strengths, message):
    with pytest.raises(InvalidGameError, match=message):
        CardPayoff(cards, [[0], [0]], strengths)


@pytest.mark.parametrize("strengths", [None, ([3, 1, 2], [2, 2, 1, 3])], ids=["folds", "showdowns"])
@pytest.mark.parametrize("player", [0, 1])
def test_hands_that_come_twice_are_paid_twice(strengths, player):
    cards = [[0, 1], [2, 3], [4, 0]], [[1, 0], [2, 5], [6, 7], [4, 3]]
    once = CardPayoff(cards, [[0, 1, 2], [0, 2, 3]], strengths)
    twice = once.twice(player).factored.matrix.toarray()
    assert np.array_equal(twice, np.concatenate([once.factored.matrix.toarray()] * 2, axis=player))
