"""Sizes of the poker game and the bidding game, counted without a walk through their histories."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...seqform.rules import GameSize


def leduc_size(players: int, kinds: int, copies: int, raises: int) -> GameSize:
    """Return the size of Leduc poker.

    Parameters
    ----------
    players : int
    kinds : int
        Cards that can be told apart.
    copies : int
        Cards of each kind.
    raises : int
        Bets and raises in a round, at most.

    Returns
    -------
    GameSize

    Notes
    -----
    Cards never decide what a player may do, so a history is a deal and a course of betting, and both are counted by
    themselves. Courses are counted backwards from their ends: how many follow depends on who is still in, in which
    order they act, how many have still to answer and how many raises are left.
    """
    deals = _deals(kinds, copies, players + 1)

    # All histories: how many players are in says enough.
    live = range(2, players + 1)
    table = _Table(live=list(live), call=list(range(len(live))), fold=[number - 3 for number in live])
    nothing, one = [0] * len(live), [1] * len(live)
    second = table.opened(raises, nothing, nothing, one, 1)
    ends = [deals[players + 1] * value for value in second]
    leaves = table.opened(raises, nothing, nothing, ends, deals[players])[-1]
    second = table.opened(raises, one, one, one, 1)
    once = [deals[players]] * len(live)
    ends = [deals[players] + deals[players + 1] * value for value in second]
    nodes = table.opened(raises, once, once, ends, deals[players])[-1] + sum(deals[:players])

    # One player's decisions. A state is how many are in, how many of them sit before the player, and after how many
    # others it is the player's turn.
    states = [(number, rank, turn) for number in live for rank in range(number) for turn in range(number)]
    index = {state: position for position, state in enumerate(states)}
    table = _Table(
        live=[number for number, _, _ in states],
        call=[index[number, rank, (turn - 1) % number] for number, rank, turn in states],
        # Once the player has folded, or all others have, there is nothing left to count.
        fold=[
            index[number - 1, rank - ((rank - turn) % number < rank), turn - 1] if turn and number > 2 else -1
            for number, rank, turn in states
        ],
    )
    pairs = kinds * (kinds - 1) + kinds * (copies > 1)  # private and public card
    infosets: list[int] = []
    sequences: list[int] = []
    for counts, two, three in ((infosets, 1, 1), (sequences, 2, 3)):

        def moves(times: int, hands: int) -> list[int]:
            return [0 if turn else times * hands for _, _, turn in states]

        second = table.opened(raises, moves(two, pairs), moves(three, pairs), [0] * len(states), 0)
        ends = [second[index[number, rank, rank]] for number, rank, _ in states]
        first = table.opened(raises, moves(two, kinds), moves(three, kinds), ends, 0)
        counts += [first[index[players, player, player]] for player in range(players)]
    return GameSize(nodes, leaves, tuple(1 + count for count in sequences), tuple(infosets))


@dataclass(frozen=True)
class _Table:
    """The players around the table in a round of betting, by states with the next one to act in each.

    ``live`` is how many players are in, ``call`` the state after the next one calls or checks, ``fold`` the one after a
    fold, −1 where nobody has to act any more.
    """

    live: list[int]
    call: list[int]
    fold: list[int]

    def opened(self, raises: int, two: list[int], three: list[int], closed: list[int], alone: int) -> list[int]:
        """Return what a round counts for from each state on, before anybody has acted in it.

        A decision between two actions counts for ``two``, one between three for ``three``, the end of the round for
        ``closed``, each by state; ``alone`` is the end where ``fold`` is −1.
        """
        states = range(len(self.live))
        last = max(self.live)
        after: list[int] = []  # once the next player has raised
        for left in range(raises):
            here = [three[s] + after[s] for s in states] if left else two
            value, rows = closed, [closed]
            for _ in range(last - 1):
                ended = [*value, alone]  # index -1
                value = [here[s] + ended[self.call[s]] + ended[self.fold[s]] for s in states]
                rows.append(value)
            after = [rows[self.live[s] - 1][self.call[s]] for s in states]
        value, rows = closed, [closed]
        for _ in range(last):
            value = [two[s] + value[self.call[s]] + after[s] for s in states]
            rows.append(value)
        return [rows[self.live[s]][s] for s in states]


def _deals(kinds: int, copies: int, most: int) -> list[int]:
    """Return in how many ways 0 to `most` cards can be dealt one after the other.

    Notes
    -----
    The exponential generating function is (Σ_{j ≤ copies} x^j / j!)^kinds; powers are taken by squaring.
    """
    power = [int(number <= copies) for number in range(most + 1)]
    deals = [1] + [0] * most
    while kinds:
        if kinds & 1:
            deals = _shuffled(deals, power)
        power, kinds = _shuffled(power, power), kinds >> 1
    return deals


def _shuffled(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Return the coefficients of the product of two exponential generating functions."""
    return [
        sum(math.comb(total, number) * first[number] * second[total - number] for number in range(total + 1))
        for total in range(len(first))
    ]


def goofspiel_size(cards: int, random_order: bool) -> GameSize:
    """Return the size of goofspiel with hidden bids.

    Parameters
    ----------
    cards : int
    random_order : bool
        Whether chance draws the prizes.

    Returns
    -------
    GameSize
    """
    nodes, histories, infosets, sequences = 0, 1, 0, 1
    told = _told(cards)
    prizes = 1  # ways in which prizes have been drawn
    for done in range(cards - 1):
        held = cards - done
        if random_order:
            nodes += histories
            histories *= held
            prizes *= held
        nodes += histories * (1 + held)
        histories *= held * held
        labels = told[done] * math.factorial(done) * prizes
        infosets += labels
        sequences += labels * held
    return GameSize(nodes + histories, histories, (sequences, sequences), (infosets, infosets))


def _told(cards: int) -> list[int]:
    """Return, by number of rounds, how many sets of (own bid, won, lost or tied) some bids of the other player fit.

    Notes
    -----
    A tied bid is the other's too. Each won bid needs a lower card of the other's hand, and each lost bid a higher one,
    all different. These are intervals of the other's remaining cards that reach to its lowest or to its highest one, so
    that by Hall's theorem there are such cards if there are for the won bids alone and for the lost bids alone.
    """
    # From the lowest card up: (bids, lower cards left for bids to win against, lost bids that still need a higher one).
    counts = Counter({(0, 0, 0): 1})
    for _ in range(cards):
        grown: Counter[tuple[int, int, int]] = Counter()
        for (bids, lower, open_losses), ways in counts.items():
            met = max(open_losses - 1, 0)  # by the other's card of this height
            grown[bids, lower + 1, met] += ways  # no bid
            grown[bids + 1, lower, open_losses] += ways  # tied
            grown[bids + 1, lower + 1, met + 1] += ways  # lost
            if lower:
                grown[bids + 1, lower, met] += ways  # won
        counts = grown
    told = [0] * (cards + 1)
    for (bids, _, open_losses), ways in counts.items():
        if not open_losses:
            told[bids] += ways
    return told
