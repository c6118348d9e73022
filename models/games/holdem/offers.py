"""What may be bet at the nodes of a spot, as plans that go by the value of a hand see it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ....seqform.rules import CHANCE
from ..betting import Offer, PlacedOffer
from .values import hand_values

if TYPE_CHECKING:
    from .spot import HoldemSpot

_PASSIVE = ("fold", "check", "call")


def spot_offers(spot: "HoldemSpot", player: int) -> Iterator[PlacedOffer]:
    """Yield what a player may bet at each of its nodes, in halves of the pot with which the spot begins.

    Examples
    --------
    >>> from treeplex.models.games.holdem import HoldemSpot
    >>> from treeplex.models.games.holdem.offers import spot_offers
    >>> spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], pot=100, stack=100, bets="100%")
    >>> [(one.offer.price, one.offer.raises) for one in spot_offers(spot, 0)]
    [(0.0, {'all-in': 2.0}), (2.0, {})]
    """
    form, paid, unit = spot.public_form, spot.paid, spot.pot / 2
    before = np.zeros(len(form.players), dtype=np.int64)  # what each has put in on streets before
    for node in range(1, len(before)):
        parent = form.parents[node]
        before[node] = paid[node].max() if form.players[parent] == CHANCE else before[parent]
    for node in np.flatnonzero(form.players == player).tolist():
        after = {str(form.actions[child]): child for child in form.children[node].tolist()}
        totals = {name: float(paid[child][player] - before[node]) / unit for name, child in after.items()}
        board = spot.boards[form.boards[node]]
        offer = Offer(
            round=len(board) - 2,
            value=hand_values(board, spot.deck)[spot.hands[player]],
            price=float(paid[node].max() - paid[node][player]) / unit,
            level=float(paid[node].max() - before[node]) / unit,
            call="call" if "call" in after else "check",
            raises={name: total for name, total in totals.items() if name not in _PASSIVE},
            fold="fold" if "fold" in after else None,
        )
        nowhere = np.full(len(spot.hands[player]), -1)
        places = [nowhere if action is None else form.sequences(player, after[str(action)]) for action in offer.actions]
        yield PlacedOffer(offer, np.array(places))
