"""The possible bets and the hand strength at a decision, which strategies for betting games can use."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...seqform.arrays import Floats, Indices
from ...seqform.errors import UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.histories import walk


@dataclass(frozen=True, eq=False)
class Offer:
    """The actions at a decision of a betting game, and the strength of the mover's hand.

    Rules of betting games provide it through a method ``betting(state)``. Amounts are in antes: in Kuhn and Leduc poker
    those of the game, in a hold'em spot half of the initial pot, and at a hold'em table big blinds.

    Parameters
    ----------
    round : int
        The betting round, from 0 on; in hold'em 1 is always the flop, even if a spot begins later.
    value : float or ndarray of float64, shape (n,)
        v = W − L of the mover's hand: its probability of winning at showdown minus that of losing, against one
        opponent's hand and future public cards, uniform over all cards that the player has not seen. Or the same for
        each of n hands.
    price : float
        The cost of a call.
    level : float
        The largest amount that any player has put in on this round.
    call : hashable
        The action that calls or checks.
    raises : mapping of hashable to float
        The actions that bet or raise, with the resulting totals on this round; the smallest first.
    fold : hashable, optional
        The action that folds, if available.

    Examples
    --------
    >>> from treeplex import load_game
    >>> rules = load_game("leduc:merge_suits=true").rules
    >>> state = rules.initial_state()
    >>> for step in ("K", "Q", "r"):
    ...     state = rules.child(state, step)
    >>> rules.betting(state)
    Offer(round=0, value=0.0, price=2, level=2, call='c', raises={'r': 4}, fold='f')
    """

    round: int
    value: float | Floats
    price: float
    level: float
    call: Hashable
    raises: Mapping[Hashable, float]
    fold: Hashable | None = None

    @property
    def actions(self) -> tuple[Hashable | None, ...]:
        """Fold (``None`` if folding is not possible), call and raises."""
        return (self.fold, self.call, *self.raises)


@dataclass(frozen=True, eq=False)
class PlacedOffer:
    """Decisions with the same betting, and their positions in the sequence form.

    Attributes
    ----------
    offer : Offer
        With a value for each of n hands.
    sequences : ndarray of int64, shape (actions, n)
        The sequence of each of the offer's actions with each hand; −1 if there is none.
    """

    offer: Offer
    sequences: Indices


def placed_offers(game: Game, player: int) -> Iterator[PlacedOffer]:
    """Yield the possible bets of a player, grouped by decisions with the same betting.

    Parameters
    ----------
    game : Game
        Rules with a method ``betting``, such as Kuhn and Leduc poker, or a hold'em spot.
    player : int

    Raises
    ------
    UnsupportedProblemError
        If the game does not describe its betting.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.games.betting import placed_offers
    >>> [placed.offer.value.tolist() for placed in placed_offers(load_game("kuhn"), 1)]
    [[0.0, 1.0, -1.0], [0.0, 1.0, -1.0]]
    """
    own = getattr(game, "placed_offers", None)
    if own is not None:
        yield from own(player)
        return
    rules: Any = game.rules
    if not hasattr(rules, "betting"):
        raise UnsupportedProblemError(
            f"{game.spec} does not describe its betting: expected a hold'em spot, Kuhn or Leduc poker, or rules with "
            "a method named betting"
        )
    treeplex = game.sequence_form.treeplexes[player]
    numbers = treeplex.infoset_numbers
    seen: set[int] = set()
    groups: dict[Any, tuple[Offer, list[float], list[list[int]]]] = {}
    for history in walk(rules):
        if history.player != player:
            continue
        infoset = numbers[rules.infoset(history.state)]
        if infoset in seen:
            continue
        seen.add(infoset)
        offer: Offer = rules.betting(history.state)
        key = offer.round, offer.price, offer.level, offer.actions, *offer.raises.values()
        _, values, places = groups.setdefault(key, (offer, [], []))
        first, labels = int(treeplex.offsets[infoset]), treeplex.action_labels[infoset]
        values.append(float(offer.value))
        places.append([-1 if action is None else first + labels.index(action) for action in offer.actions])
    for offer, values, places in groups.values():
        yield PlacedOffer(replace(offer, value=np.array(values)), np.array(places, dtype=np.int64).T)
