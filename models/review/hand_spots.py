"""Spots at the streets of recorded hands, and hands that were played in a spot."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...seqform.errors import InvalidGameError, PlayLogError, one_of, shown
from ...seqform.rules import CHANCE, TERMINAL
from ..games.holdem.cards import CARDS, HANDS, Range
from ..games.holdem.preflop_solved import SolvedPreflop
from ..games.holdem.showdown import strengths
from ..games.holdem.spot import HoldemSpot
from ..matches import STREETS, Hand, HandRecord, Table
from ..matches.hand import amounts
from ..observations.hands import MenuLines

#: The sizes of a spot besides those of the hand.
BETS = {"bet": "50%, 100%, a", "raise": "2.5x, a"}
#: Chips of a big blind, if it has fewer in the hand or is no whole number.
_CHIPS = 100
#: Probabilities of hands in ranges are rounded to this number of decimals.
_DIGITS = 3


def spot_of_hand(
    hand: Hand,
    street: str,
    ranges: Sequence[str | Range] | Mapping[str, str | Range],
    bets: str | Mapping[str, Any] | None = None,
) -> HoldemSpot:
    """Return the spot at the beginning of a street of a hand.

    Parameters
    ----------
    hand : Hand
    street : {"flop", "turn", "river"}
    ranges : two str or Range, or mapping of seat to them
        The ranges at that point.
    bets : str or mapping, optional
        Sizes, as for :class:`~treeplex.models.games.holdem.HoldemSpot`; by default half of the pot, the pot, all-in,
        raises to 2.5 times the bet, and the sizes of the hand on this street.

    Returns
    -------
    HoldemSpot
        Its stack is the smaller one. A big blind has 100 chips, unless it has a larger whole number of chips in the
        hand.

    Raises
    ------
    PlayLogError
        If two players do not reach this street with chips left.
    InvalidGameError
        If the ranges or the sizes are not valid.

    Examples
    --------
    >>> import io
    >>> from treeplex.models.matches import HandHistories
    >>> from treeplex.models.review import spot_of_hand
    >>> text = '''variant = 'NT'
    ... antes = [0, 0]
    ... blinds_or_straddles = [1, 2]
    ... min_bet = 2
    ... starting_stacks = [206, 206]
    ... actions = ['p2 cbr 6', 'p1 cc', 'd db 2c7d9h', 'p1 cc', 'p2 cbr 8', 'p1 f']
    ... players = ['them', 'us']
    ... '''
    >>> (hand,) = HandHistories(io.BytesIO(text.encode()))
    >>> spot = spot_of_hand(hand, "flop", ["22+, A2+", "QQ+, AK"])
    >>> spot.pot, spot.stack, spot.betting.tables()[0]["bet"]
    (600, 10000, '50%, 66.7%, 100%, a')
    """
    if street not in STREETS[1:]:
        raise InvalidGameError(f"street is {shown(street, 60)}, expected {one_of(STREETS[1:])}")
    number = STREETS.index(street)
    if len(hand.board) < number + 2:
        raise PlayLogError(f"the hand ends before the {street}")
    out = {who for when, who, word in hand.history if when < number and word == "fold"}
    playing = [who for who in range(hand.seats) if who not in out]
    if len(playing) != 2:
        raise PlayLogError(f"{len(playing)} players see the {street}, expected two")
    before = hand.paid_before(number)
    left = min(hand.stacks[who] - hand.antes[who] - before[who] for who in playing)
    if left <= 0:
        raise PlayLogError(f"a player is all-in before the {street}")
    big = hand.big_blind
    factor = 1.0 if big >= _CHIPS and big == int(big) else _CHIPS / float(big)
    pot, stack = (round(factor * float(amount)) for amount in (sum(before) + sum(hand.antes), left))
    sizes = _with_sizes(hand, number, playing) if bets is None else bets
    board = "".join(CARDS[card] for card in hand.board[: number + 2])
    return HoldemSpot(board, ranges, pot, stack, bets=sizes)


def _with_sizes(hand: Hand, street: int, playing: Sequence[int]) -> dict[str, str]:
    """Return the usual sizes with those of a hand on a street."""
    stacks = [stack - ante for stack, ante in zip(hand.stacks, hand.antes, strict=True)]
    pot = float(sum(hand.paid_before(street)) + sum(hand.antes))
    paid, found = dict.fromkeys(playing, 0.0), {"bet": {50.0, 100.0}, "raise": set[float]()}
    for each, (_, _, word) in zip(amounts(hand.blinds, stacks, hand.history), hand.history, strict=True):
        if each.street == street:
            high, total = max(paid.values()), float(each.on_street)
            if word.startswith(("bet", "raise")):
                found["raise" if high else "bet"].add(round(100.0 * (total - high) / (pot + 2.0 * high), 1))
            paid[each.seat] = total
    sizes = {kind: [f"{size:g}%" for size in sorted(some) if size] for kind, some in found.items()}
    return {"bet": ", ".join([*sizes["bet"], "a"]), "raise": ", ".join(["2.5x", *sizes["raise"], "a"])}


def ranges_after_preflop(hand: Hand, solved: SolvedPreflop) -> tuple[Range, Range]:
    """Return the ranges of both players on the flop of a hand, out of position first, by a preflop strategy.

    Bets are mapped to sizes of the game as :class:`~treeplex.models.observations.hands.MenuLines` does.
    Probabilities are rounded to three decimals.

    Raises
    ------
    PlayLogError
        If the game does not contain the preflop line, or no hand takes it.

    Examples
    --------
    In a strategy that plays uniformly, the small blind raises a fifth of all hands to two big blinds.

    >>> import io
    >>> from treeplex.models.games.holdem.preflop import Preflop
    >>> from treeplex.models.games.holdem.preflop_solved import SolvedPreflop
    >>> from treeplex.models.matches import HandHistories
    >>> from treeplex.models.review import ranges_after_preflop
    >>> from treeplex.seqform.public_profile import PublicProfile
    >>> rules = Preflop(stack=20, continuations=0)
    >>> text = '''variant = 'NT'
    ... antes = [0, 0]
    ... blinds_or_straddles = [1, 2]
    ... min_bet = 2
    ... starting_stacks = [40, 40]
    ... actions = ['p2 cbr 4', 'p1 cc', 'd db 2c7d9h', 'p1 cc', 'p2 cbr 8', 'p1 f']
    ... players = ['them', 'us']
    ... '''
    >>> (hand,) = HandHistories(io.BytesIO(text.encode()))
    >>> ranges = ranges_after_preflop(hand, SolvedPreflop(rules, PublicProfile.uniform(rules.public_form)))
    >>> [round(one.combinations / 1326, 3) for one in ranges]
    [0.25, 0.2]
    """
    lines = MenuLines(solved.form, float(solved.rules.stack))
    words = [word for street, _, word in hand.history if not street]
    nodes = lines.line(words, level=float(hand.big_blind))
    if len(nodes) <= len(words):
        raise PlayLogError("the preflop line is all-in in the preflop game")
    found = []
    for one in solved.at(", ".join(map(str, solved.form.path(nodes[-1])))).ranges:
        weights = one.weights.round(_DIGITS)
        if not weights.any():
            raise PlayLogError("no hand takes the preflop line in the preflop game")
        found.append(Range(weights))
    return found[1], found[0]


def record_of_spot(spot: HoldemSpot, leaf: int, states: Sequence[int], rng: np.random.Generator) -> HandRecord:
    """Return the hand that ends at a leaf of a spot.

    Before the spot, each player puts in half of its pot, and they check down to its street. The big blind is a
    twentieth of the pot, or the smallest bet if that is less. A chip of the spot is two in the hand. Cards that the
    leaf leaves open, as after an all-in, are drawn.

    Parameters
    ----------
    spot : HoldemSpot
        A spot with a full deck and without a rake.
    leaf : int
        The public state at which the hand ends.
    states : two int
        Each player's private state, that is, the number of its hand.
    rng : numpy.random.Generator

    Returns
    -------
    HandRecord
        ``oop`` is seat 0, and ``ip`` seat 1.

    Raises
    ------
    InvalidGameError
        If the spot has a rake or a short deck, or the state is not a leaf.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.games.holdem import HoldemSpot
    >>> from treeplex.models.review.hand_spots import record_of_spot
    >>> spot = HoldemSpot("Td9d6hQc2s", ["TT", "AA"], 20, 40, bets="50%")
    >>> record = record_of_spot(spot, spot.public_form.find("check, bet 10, fold"), (0, 0), np.random.default_rng(1))
    >>> record.history[-3:], record.won
    (((3, 0, 'check'), (3, 1, 'raise 20'), (3, 0, 'fold')), (-20, 20))
    """
    form, first = spot.public_form, len(spot.cards) - 2
    if spot.rake or spot.deck != "full" or form.players[leaf] != TERMINAL:
        raise InvalidGameError("hands need a spot with a full deck and without a rake, and end at a leaf")
    history, start, street = [(0, 1, f"raise {spot.pot}"), (0, 0, "call")], 0, first
    history += [(before, seat, "check") for before in range(1, first) for seat in (0, 1)]
    nodes = [leaf]
    while form.parents[nodes[-1]] >= 0:
        nodes.append(int(form.parents[nodes[-1]]))
    for node, child in zip(nodes[:0:-1], nodes[-2::-1], strict=True):
        mover = int(form.players[node])
        if mover == CHANCE:
            street, start = street + 1, int(spot.paid[child].max())
            continue
        word, total = str(form.path(child)[-1]), 2 * (int(spot.paid[child][mover]) - start)
        history.append((street, mover, word if word in ("fold", "check", "call") else f"raise {total}"))
    numbers = np.array([spot.hands[seat][state] for seat, state in enumerate(states)])
    hands = [(int(high), int(low)) for high, low in HANDS[numbers]]
    board = list(map(int, spot.boards[form.boards[leaf]]))
    left = np.setdiff1d(np.arange(len(CARDS)), [*hands[0], *hands[1], *board])
    full = board + rng.permutation(left)[: 5 - len(board)].tolist()
    folds = history[-1][2] == "fold"
    # 1 if seat 0 wins, -1 if seat 1 does, 0 if they split
    sign = 2 * history[-1][1] - 1 if folds else int(np.sign(np.subtract(*strengths(full, numbers))))
    won = sign * (spot.pot + 2 * int(spot.paid[leaf].min()))
    least = int(spot.paid[spot.paid > 0].min(initial=spot.pot))  # no bet is below the big blind
    blind = max(1, min(spot.pot // 20, least))
    table = Table(2, spot.pot + 2 * spot.stack, blind, 2 * blind)
    shown = (None, None) if folds else tuple(hands)
    seen = board if folds else full
    return HandRecord(table, (*hands[0], *hands[1], *full), tuple(seen), tuple(history), shown, (won, -won))
