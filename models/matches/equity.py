"""The average winnings of seats over the possible boards after all betting is over."""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from ...seqform.arrays import Indices
from ...seqform.errors import InvalidGameError
from ..games.holdem.showdown import ranked
from .hand import HandRecord, amounts
from .table import DEALT

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
    contested = {seat for _, eligible in record.all_in.pots for seat in eligible}
    strengths = _strengths(record, contested, record.all_in.board, rng, boards)
    won = [-float(paid) for paid in record.all_in.paid]
    for amount, eligible in record.all_in.pots:
        of_pot = np.array([strengths[seat] for seat in eligible])
        winners = of_pot == of_pot.max(axis=0)
        share, odd = np.divmod(amount, winners.sum(axis=0))
        first = winners & (winners.cumsum(axis=0) == 1)
        for seat, mean in zip(eligible, (winners * share + first * odd).mean(axis=1), strict=True):
            won[seat] += float(mean)
    return tuple(won)


def luck_free_winnings(
    record: HandRecord, rng: np.random.Generator, boards: int = BOARDS, *, decisions: bool = False
) -> tuple[float, float]:
    """Return both seats' win or loss in a heads-up hand without the luck of the board.

    Parameters
    ----------
    record : HandRecord
    rng : numpy.random.Generator
        Must not be the generator that dealt the hand.
    boards : int
        Number of boards sampled for the equity before the flop.
    decisions : bool
        Whether to remove the luck of the actions that bots draw from mixtures, too. This may add variance.

    Returns
    -------
    tuple of float
        In chips.

    Raises
    ------
    InvalidGameError
        If the table does not have two seats.

    Notes
    -----
    The equity of a seat is the share of the pot that it wins on average if both hands check down. When cards are
    dealt, the luck of a seat is the pot times the change of its equity. With `decisions`, when a bot draws its action
    from a mixture that it states, the luck is the value of the action minus the mean value of the mixture. The values
    are estimates: after a check or a call both hands check down, and after a bet or raise the other player folds so
    often that a bluff wins nothing, and otherwise calls. Given both hands and the play so far, each luck has mean
    zero, so that the mean of the results remains unbiased, for any bots that state their mixtures truly or not at
    all. These are the terms of AIVAT (Burch, Schmid, Moravčík, Morrill and Bowling, AAAI 2018) with a simple value
    function. After an all-in, without `decisions`, the result is that of :func:`expected_winnings`, up to odd chips.

    Examples
    --------
    Aces check down against kings, and lose:

    >>> import numpy as np
    >>> from treeplex.models.games.holdem.cards import read_cards
    >>> from treeplex.models.matches import Table, luck_free_winnings, play_hand
    >>> from treeplex.models.matches.simple import CallBot
    >>> rng = np.random.default_rng(1)
    >>> deck = read_cards("AsAh KsKh 2c7dKdJsQd")
    >>> record = play_hand(Table(), deck, [CallBot(), CallBot()], [rng, rng])
    >>> record.won, [round(won, -1) for won in luck_free_winnings(record, rng)]  # aces win 82 %
    ((-100, 100), [60.0, -60.0])
    """
    if record.table.seats != 2:
        raise InvalidGameError(f"the table has {record.table.seats} seats, expected 2")
    shares: dict[int, float] = {}

    def share(street: int) -> float:
        """Return the equity of seat 0 on a street; before the flop the sample is drawn first."""
        for one in (0, street):
            if one not in shares:
                shares[one] = _share(record, record.board[: DEALT[one]], rng, boards)
        return shares[street]

    won, street = float(record.won[0]), 0
    before, paid = 0, list(record.table.blinds)  # by both seats before the street, and by each seat in all

    def deal(until: int) -> float:
        """Return the luck of seat 0 when the cards up to a street are dealt."""
        return sum(2 * max(paid) * (share(one) - share(one - 1)) for one in range(street + 1, until + 1))

    done = amounts(record.table.blinds, [record.table.stack] * 2, record.history)
    mixtures = (decisions and record.mixtures) or (None,) * len(record.history)
    for (when, seat, action), mixture, after in zip(record.history, mixtures, done, strict=True):
        if when > street:
            won -= deal(when)
            street, before = when, max(paid)
        if mixture is not None and len(mixture) > 1:
            equity = share(street) if seat == 0 else 1.0 - share(street)
            worth = {
                one: _worth(one, before, record.table.stack, paid[seat], paid[1 - seat], equity) for one in mixture
            }
            luck = worth[action] - sum(chance * worth[one] for one, chance in mixture.items())
            won -= luck if seat == 0 else -luck
        paid[seat] = after.in_all
    won -= deal(DEALT.index(len(record.board)))
    return won, -won


def _worth(action: str, before: int, stack: int, own: int, other: int, equity: float) -> float:
    """Return the estimated value of an action, from what both seats have put in: before the street, and in all."""
    word, _, number = action.partition(" ")
    if word == "fold":
        return -float(own)
    if word in ("check", "call"):
        return max(own, other) * (2.0 * equity - 1.0)
    total = before + int(number) if number else stack
    folds = (total - own) / (total + other)
    return folds * other + (1.0 - folds) * total * (2.0 * equity - 1.0)


def _share(record: HandRecord, seen: Sequence[int], rng: np.random.Generator, boards: int) -> float:
    """Return the equity of seat 0 against seat 1."""
    strengths = _strengths(record, (0, 1), seen, rng, boards)
    return float((0.5 + 0.5 * np.sign(strengths[0].astype(np.int64) - strengths[1])).mean())


def _strengths(
    record: HandRecord, seats: Iterable[int], seen: Sequence[int], rng: np.random.Generator, boards: int
) -> dict[int, Indices]:
    """Return the strengths of seats' hands on the possible boards; with more than two missing cards, on samples."""
    left = np.array([card for card in range(52) if card not in (*record.deck[: 2 * record.table.seats], *seen)])
    missing = 5 - len(seen)
    if missing > 2:
        coming = left[rng.random((boards, len(left))).argpartition(missing, axis=1)[:, :missing]]
    else:
        coming = np.array(list(combinations(left.tolist(), missing)), dtype=np.int64)
    sets = _BITS[:, coming].sum(axis=2) | _BITS[:, list(seen)].sum(axis=1)[:, np.newaxis]
    return {seat: ranked(list(sets | _BITS[:, list(record.hands[seat])].sum(axis=1)[:, np.newaxis])) for seat in seats}
