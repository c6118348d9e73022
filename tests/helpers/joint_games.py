"""Games of several players whose private cards are dealt at the root, in public form, put together from their rules."""

import zlib
from typing import Any

import numpy as np

from treeplex.seqform.joint_form import JointForm, JointLeaves
from treeplex.seqform.rules import CHANCE, TERMINAL


def joint_form(rules: Any, cards: tuple[str, ...]) -> JointForm:
    """Return a game in which chance deals one card after the other, and all that follows is public."""
    count = rules.num_players
    deal = np.zeros((len(cards),) * count)
    numbers: dict[Any, int] = {}
    players: list[int] = []
    parents: list[int] = []
    actions: list[Any] = []
    paid: dict[int, np.ndarray] = {}

    def walk(state: Any, hands: tuple[int, ...], chance: float, parent: int, action: Any) -> None:
        if rules.player(state) == CHANCE:
            for card, share in rules.chance_outcomes(state):
                walk(rules.child(state, card), (*hands, cards.index(card)), chance * float(share), -1, None)
            return
        if parent < 0:
            deal[hands] += chance
        node = numbers.setdefault((parent, action), len(players))
        if node == len(players):
            players.append(rules.player(state))
            parents.append(parent)
            actions.append(action)
        if rules.player(state) == TERMINAL:
            here = paid.setdefault(node, np.zeros((count, *deal.shape)))
            here[(slice(None), *hands)] += chance * np.array(rules.payoffs(state), dtype=float)
            return
        for one in rules.actions(state):
            walk(rules.child(state, one), hands, chance, node, one)

    walk(rules.initial_state(), (), 1.0, -1, None)
    leaves = [
        JointLeaves(np.array([node]), np.eye(count)[:, [player]], each[player])
        for node, each in paid.items()
        for player in range(count)
    ]
    return JointForm(players, parents, actions, [cards] * count, leaves, deal, 1.0 + count)


class WithoutTies:
    """Rules with payoffs that differ a little everywhere, so that round-off decides nothing."""

    def __init__(self, rules: Any) -> None:
        self._rules = rules

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rules, name)

    def payoffs(self, state: Any) -> tuple[float, ...]:
        """Return payoffs that still sum to zero."""
        noise = np.random.default_rng(zlib.crc32(repr(state).encode())).normal(0.0, 0.05, self._rules.num_players)
        paid = np.array(self._rules.payoffs(state), dtype=float) + noise - noise.mean()
        return tuple(paid.tolist())
