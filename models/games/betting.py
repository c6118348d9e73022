"""What a player may bet where it is to act, and how good its hand is: games that say so have plans that go by these."""

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
    """The actions of a player at a decision of a betting game, and the strength of its hand.

    Rules whose decisions are about betting say it by a method ``betting(state)``. Amounts are in antes: in Kuhn and
    Leduc poker those of the game, in a hold'em spot half of the pot that it begins with, at a table of hold'em big
    blinds.

    Parameters
    ----------
    round : int
        The betting round, from 0 on; in hold'em 1 is the flop, wherever a spot begins.
    value : float or ndarray of float64, shape (n,)
        v = W − L of the mover's hand: its probability of winning at showdown less that of losing, against one
        opponent's hand and public cards to come, uniform over all cards that the player has not seen. Or the same for
        each of n hands.
    price : float
        The cost of a call.
    level : float
        The most that anybody has put in on this round.
    call : hashable
        The action that calls or checks.
    raises : mapping of hashable to float
        The actions that bet or raise, and the total on this round that each comes to; the smallest first.
    fold : hashable, optional
        The action that folds, if there is one.

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
        """Fold, call and raises; ``None`` for a fold that there is not."""
        return (self.fold, self.call, *self.raises)


@dataclass(frozen=True, eq=False)
class PlacedOffer:
    """The decisions at which the betting has come to the same, and where they are in the sequence form.

    Attributes
    ----------
    offer : Offer
        With a value for each of n hands.
    sequences : ndarray of int64, shape (actions, n)
        The sequence of each of the offer's actions with each hand; −1 where there is none.
    """

    offer: Offer
    sequences: Indices


def placed_offers(game: Game, player: int) -> Iterator[PlacedOffer]:
    """Yield what a player may bet in a game, decisions of the same betting together.

    Parameters
    ----------
    game : Game
        Its rules have a method ``betting``, as Kuhn and Leduc poker do, or it is a hold'em spot.
    player : int

    Raises
    ------
    UnsupportedProblemError
        If the game does not say so.

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
            f"{game.spec} does not say what is bet: expected a hold'em spot, Kuhn or Leduc poker, or rules with a "
            "method betting"
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
