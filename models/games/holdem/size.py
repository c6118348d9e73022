"""The size of a spot and its betting tree, computed without building it: the betting does not depend on the cards."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import perm
from typing import Any

from ....seqform.arrays import Indices
from ....seqform.budget import Budget
from ....seqform.errors import GameTooLargeError
from ....seqform.limits import check_time, now
from ....seqform.memory import counted, in_words
from .bets import SEATS, STREETS, Betting, Decision, Ended, first, following, moves
from .situation import Situation, SpotSize

#: Largest number of actions counted in different states of the betting, without cards: about five seconds.
_MOST_ACTIONS = 1_000_000
#: Seconds for finding changes that make a spot smaller.
_SECONDS = 5.0
#: Memory to build the sequence form, without payoffs, as a multiple of a solver's state; measured on a turn with 2,754
#: decision nodes, 167 and 250 hands.
SEQUENCE_FORM = 20


def spot_size(spot: Situation, betting: Betting | None = None) -> SpotSize:
    """Return the size of a spot, possibly with other betting.

    Raises
    ------
    GameTooLargeError
        If its betting alone has too many states to count.
    """
    betting = spot.betting if betting is None else betting
    unseen = len(spot.unseen)
    hands = [len(held) for held in spot.hands]
    exchanges = [] if spot.locks else [cards for cards, _ in spot.exchanges]
    nodes = leaves = others = numbers = boards = met = 0
    kept = 0.0
    begun = len(spot.cards) - 3
    starts = {first(betting, len(spot.cards) - 3, spot.stack): 1}
    for street in range(begun, len(STREETS)):
        # The number of card runouts so far, and the number for which each hand is still possible.
        ways, alive = perm(unseen, street - begun), perm(unseen - 2, street - begun)
        distinct = _distinct(spot.unseen, street - begun, exchanges)
        boards += distinct
        later: dict[Decision | Ended, int] = {}
        while starts:  # states of one level, each counted once even if several lines lead to it
            level: dict[Decision | Ended, int] = {}
            for state, count in starts.items():
                if isinstance(state, Decision):
                    after = [one for _, one in moves(state, betting, spot.pot, spot.stack)]
                    met += len(after)
                    check_time("the betting tree was counted")
                    if met > _MOST_ACTIONS:
                        raise GameTooLargeError(
                            f"{spot.spec or 'the spot'}: its betting has more than {_MOST_ACTIONS:,} actions, not "
                            "counting cards; leave out sizes, or lower raise_cap"
                        )
                    nodes += count * ways
                    here = count * len(after) * hands[state.mover] * alive
                    numbers += here
                    kept += here * distinct / ways
                    for one in after:
                        level[one] = level.get(one, 0) + count
                elif state.folded >= 0 or street == len(STREETS) - 1:
                    leaves += count * ways
                else:
                    others += count * ways
                    then = following(state, betting)
                    later[then] = later.get(then, 0) + count
            starts = level
        starts = later
    return SpotSize(nodes, leaves, others, numbers, round(kept), boards * sum(hands), len(STREETS) - begun)


def _distinct(cards: Sequence[int], dealt: int, exchanges: Sequence[Indices]) -> int:
    """Return the number of ways to deal cards in turn; ways that differ only by an exchange of suits count once."""
    if dealt == 0 or not exchanges:
        return perm(len(cards), dealt)
    ways, left = 0, set(cards)
    for card in cards:
        if card in left:
            left -= {card, *(int(each[card]) for each in exchanges)}
            same = [each for each in exchanges if each[card] == card]
            ways += _distinct([one for one in cards if one != card], dealt - 1, same)
    return ways


def check_size(
    spot: Situation, budget: Budget | None = None, what: str = "solving it in 16 bits", times: float = 0.5
) -> None:
    """Raise an error if a spot takes more memory than the budget, before building any part of it.

    Besides its tree and tables, the spot takes ``times`` the size of a solver's state in single precision; the default,
    a half, is the least.

    Raises
    ------
    GameTooLargeError
        The message names the changes that save most.
    """
    budget = Budget() if budget is None else budget
    size = spot.size
    needed = int(size.form_bytes + times * size.bytes)
    if budget.left(needed) < 0:
        said = "; ".join(f"{how} ({saved:.0%} less)" for how, saved in savings(spot))
        raise GameTooLargeError(
            f"{spot.spec or 'the spot'} has {counted(size.nodes)} decision nodes: {what} would take about "
            f"{in_words(needed)}, but the budget is {in_words(budget.limit)}; "
            + (f"the changes that save most: {said}" if said else "use narrower ranges, or a later street")
        )


def savings(spot: Situation, most: int = 3) -> list[tuple[str, float]]:
    """Return the changes to the betting that shrink a spot most, and the share of bytes that each saves.

    Each change leaves out a size on a street, or lowers the raise cap.
    """
    whole, end = spot.size.bytes, now() + _SECONDS
    found: dict[str, float] = {}
    for how, betting in _smaller(spot):
        if now() > end:
            break
        saved = 1.0 - spot_size(spot, betting).bytes / whole
        if saved > 0.0:
            found[how] = saved
    return sorted(found.items(), key=lambda one: -one[1])[:most]


def _smaller(spot: Situation) -> Iterator[tuple[str, Betting]]:
    betting, street = spot.betting, len(spot.cards) - 3
    if betting.raise_cap > 1:
        yield "no raises, raise_cap = 1", replace(betting, raise_cap=1)
    for when in reversed(range(street, len(STREETS))):
        for kind in ("bets", "raises", "donks"):
            given = {seat: betting.listed(kind, seat, when) for seat in (0, 1)}
            for size in dict.fromkeys((*given[0], *given[1])):
                if kind == "bets" and any(one == (size,) for one in given.values()):
                    continue  # the only size
                yield f"without {size} among the {kind} on the {STREETS[when]}", betting.without(kind, when, size)


def betting_tree(spot: Situation, most: int = 20_000) -> list[dict[str, Any]]:
    """Return the betting tree: the betting of each street, shared by all cards and by all equivalent lines.

    Parameters
    ----------
    spot : Situation
    most : int
        After this many listed actions, the remaining parts are left out.

    Returns
    -------
    list of dict
        In order of first occurrence: ``street``, ``pot`` and ``stack`` at its start; ``donk``, whether a bet out of
        position is a donk; ``line``, the preceding actions if they matter; and ``actions``, which maps each action to
        its continuation, down to ``fold``, ``showdown``, ``all-in`` or the start of the next street.
    """
    begun = first(spot.betting, len(spot.cards) - 3, spot.stack)
    queue = [begun] if isinstance(begun, Decision) else []
    listed, parts = 0, []

    def follow(state: Decision) -> dict[str, Any]:
        nonlocal listed
        check_time("the betting tree was listed")
        found: dict[str, Any] = {}
        for name, after in moves(state, spot.betting, spot.pot, spot.stack):
            listed += 1
            if listed > most:
                break
            if isinstance(after, Decision):
                found[name] = follow(after)
            elif after.folded >= 0:
                found[name] = "fold"
            elif after.street == len(STREETS) - 1:
                found[name] = "showdown"
            elif after.all_in:
                found[name] = "all-in"
            else:
                then = following(after, spot.betting)
                assert isinstance(then, Decision)
                if then not in queue:
                    queue.append(then)
                found[name] = _beginning(spot, then)
        return found

    for state in queue:  # the list grows
        if listed > most:
            break
        pot, stack = spot.pot + 2 * state.before, spot.stack - state.before
        part = {"street": STREETS[state.street], "pot": pot, "stack": stack, "donk": state.aggressor == 1}
        part |= {"line": ", ".join(state.line)} if state.line else {}
        parts.append(part | {"actions": follow(state)})
    return parts


def _beginning(spot: Situation, state: Decision) -> str:
    donk = ", donk" if state.aggressor == 1 else ""
    after = f" after {', '.join(state.line)}" if state.line else ""
    return f"{STREETS[state.street]}, pot {spot.pot + 2 * state.before:,}{donk}{after}"


def tree_lines(parts: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a betting tree: a part for each start of a street, and a line per action."""
    for part in parts:
        after = f" after {part['line']}" if "line" in part else ""
        yield f"{part['street']}, pot {part['pot']:,}{', donk' * part['donk']}{after} ({part['stack']:,} behind)"
        yield from _lines(part["actions"], 0)


def _lines(actions: Mapping[str, Any], depth: int) -> Iterator[str]:
    for name, after in actions.items():
        ends = "" if isinstance(after, Mapping) or after == "fold" else f" → {after}"
        yield f"{'  ' * (depth + 1)}{SEATS[depth % 2]} {name}{ends}"
        if isinstance(after, Mapping):
            yield from _lines(after, depth + 1)
