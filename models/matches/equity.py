"""The average winnings of seats over the possible boards after all betting is over."""

from itertools import combinations

import numpy as np

from ...seqform.arrays import Indices
from ..games.holdem.showdown import ranked
from .hand import HandRecord

#: Number of boards sampled if betting ended before the flop, of the 1,712,304 possible ones for two hands.
BOARDS = 1_000
#: For each suit, the rank of each card as a bit, shape (4, 52).
_BITS: Indices = np.array([[1 << card // 4 if card % 4 == suit else 0 for card in range(52)] for suit in range(4)])


def expected_winnings(record: HandRecord, rng: np.random.Generator, boards: int = BOARDS) -> tuple[float, ...]:
    """Return each seat's expected win or loss in a hand, over the cards dealt after all betting.

    Parameters
    ----------
    record : HandRecord
    rng : numpy.random.Generator
        Must not be the generator that dealt the hand.
    boards : int
        Number of boards sampled if all players were all-in before the flop.

    Returns
    -------
    tuple of float
        In chips; the actual winnings if betting continued until the river, or all but one folded.

    Notes
    -----
    The board's missing cards are uniform over those in nobody's hand, including folded hands. One or two missing cards
    are enumerated, and the result is the exact expectation. Five are sampled, and the result is an average over
    `boards` boards, independent of the board that was dealt. Either way, the expectation of the result over all hands
    equals that of the actual winnings. The mean of the results is therefore unbiased and has less variance: of the
    variance due to the board, nothing remains after enumeration, and a fraction 1 / `boards` after sampling. Odd chips
    are assigned by the rules.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.games.holdem.cards import read_cards
    >>> from treeplex.models.matches import Table, expected_winnings, play_hand
    >>> class Shover:
    ...     def begin(self, table, seat): ...
    ...     def act(self, view, rng):
    ...         return "all-in"
    ...
    ...     def end(self, result): ...
    >>> rng = np.random.default_rng(1)
    >>> deck = read_cards("AsAh KsKh 2c7d9hJsQd")
    >>> record = play_hand(Table(stack=1000), deck, [Shover(), Shover()], [rng, rng])
    >>> record.won, [round(won, -2) for won in expected_winnings(record, rng)]  # aces win 82 %
    ((1000, -1000), [600.0, -600.0])
    """
    if record.all_in is None:
        return tuple(map(float, record.won))
    seen, seats = record.all_in.board, record.table.seats
    left = np.array([card for card in range(52) if card not in (*record.deck[: 2 * seats], *seen)])
    missing = 5 - len(seen)
    if missing > 2:
        coming = left[rng.random((boards, len(left))).argpartition(missing, axis=1)[:, :missing]]
    else:
        coming = np.array(list(combinations(left.tolist(), missing)))
    sets = _BITS[:, coming].sum(axis=2) | _BITS[:, list(seen)].sum(axis=1)[:, np.newaxis]
    strengths = {
        seat: ranked(list(sets | _BITS[:, list(record.hands[seat])].sum(axis=1)[:, np.newaxis]))
        for seat in {seat for _, eligible in record.all_in.pots for seat in eligible}
    }
    won = [-float(paid) for paid in record.all_in.paid]
    for amount, eligible in record.all_in.pots:
        of_pot = np.array([strengths[seat] for seat in eligible])
        winners = of_pot == of_pot.max(axis=0)
        share, odd = np.divmod(amount, winners.sum(axis=0))
        first = winners & (winners.cumsum(axis=0) == 1)
        for seat, mean in zip(eligible, (winners * share + first * odd).mean(axis=1), strict=True):
            won[seat] += float(mean)
    return tuple(won)
