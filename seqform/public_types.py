"""Games in public form in which a player has one of two types as additional private information."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .arrays import Indices
from .card_payoff import CardPayoff
from .factored import FactoredPayoff
from .public_form import Boards, PublicForm
from .public_payoff import Leaves


def with_types(form: PublicForm, player: int, share: float) -> PublicForm:
    """Return the game in which a player has a first type with some probability, and otherwise a second type.

    Both types have the same cards and the same actions, and the other player does not see the type. Types are part of
    the private states: those of the first type come before those of the second.

    Parameters
    ----------
    form : PublicForm
    player : {0, 1}
    share : float
        The probability of the first type.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.public_types import with_types
    >>> form = PublicForm.from_rules(load_game("kuhn").rules)
    >>> with_types(form, 1, 0.25)
    PublicForm(decisions=4, leaves=5, states=(3, 6))
    """
    count = len(form.states[player])

    def twice(values: Any) -> list[Any]:
        """Return each player's array, repeated for the player with types."""
        return [np.concatenate([one, one + count]) if seat == player else one for seat, one in enumerate(values)]

    states: list[Any] = list(form.states)
    states[player] = [(state, kind) for kind in (0, 1) for state in form.states[player]]
    weights = list(form.weights)
    weights[player] = np.concatenate([share * weights[player], (1.0 - share) * weights[player]])
    symmetries = []
    for one in form.symmetries:
        first, second = twice(one.states)
        symmetries.append(replace(one, states=(first, second)))
    return PublicForm(
        form.players,
        form.parents,
        form.actions,
        states,
        [_typed(one, player) for one in form.leaves],
        weights,
        scale=form.payoff_scale,
        boards=Boards(form.boards, [twice(pair) for pair in form.present]),
        deals=[_typed(one, player) for one in form.deals],
        symmetries=symmetries,
    )


def _typed(leaves: Leaves, player: int) -> Leaves:
    payoff = leaves.payoff
    if isinstance(payoff, CardPayoff):
        return replace(leaves, payoff=payoff.twice(player))
    left, right = payoff.left, payoff.right
    left, right = (sp.vstack([left, left]), right) if player == 0 else (left, sp.hstack([right, right]))
    return replace(leaves, payoff=FactoredPayoff(left, right, payoff.chained, payoff.scale))


def sequences_of_types(form: PublicForm, typed: PublicForm, player: int) -> tuple[Indices, Indices]:
    """Return, for each type, the sequence that corresponds to each sequence of the player without types."""
    count = len(form.states[player])
    found = np.zeros((2, form.num_sequences[player]), dtype=np.int64)
    for node in np.flatnonzero(form.players == player).tolist():
        for child in form.children[node].tolist():
            own, both = form.sequences(player, child), typed.sequences(player, child).reshape(2, count)
            kept = own >= 0
            found[:, own[kept]] = both[:, kept]
    return found[0], found[1]
