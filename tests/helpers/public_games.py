"""Random games whose private information is all there at the root, as rules."""

from fractions import Fraction

import numpy as np

CHANCE, TERMINAL = -1, -2


class RandomPublicGame:
    """A random public tree after a random deal; cards that come later block some of the private states.

    Payoffs are whole numbers, so that some actions are equally good, unless ``ties`` says otherwise.
    """

    num_players = 2

    def __init__(self, seed, ties=True):
        self.ties = ties
        self.random = np.random.default_rng(seed)
        counts = self.random.integers(2, 5, size=2)
        self.deals = [(i, j) for i in range(counts[0]) for j in range(counts[1]) if self.random.random() < 0.8] or [
            (0, 0)
        ]
        self.likely = self.random.integers(1, 5, size=len(self.deals))
        self.tree = self._grow(int(self.random.integers(2, 5)))
        self.paid = {}

    def _grow(self, depth, dealt=False):
        kind = self.random.choice(["player", "player", "player", "chance", "end"])
        if depth == 0 or (kind == "end" and depth < 3):
            return "end"
        if kind == "chance" and not dealt:
            after = self._grow(depth - 1, dealt=True)
            # The same cards whatever was done before, and the same afterwards but for one of them.
            return "chance", [after, after, self._grow(depth - 1, dealt=True)]
        count = int(self.random.integers(1, 4))
        return int(self.random.integers(2)), [self._grow(depth - 1, dealt) for _ in range(count)]

    def initial_state(self):
        return None, ()

    def _node(self, path):
        node = self.tree
        for step in path:
            node = node[1][step]
        return node

    def player(self, state):
        if state[0] is None:
            return CHANCE
        node = self._node(state[1])
        return TERMINAL if node == "end" else CHANCE if node[0] == "chance" else node[0]

    def actions(self, state):
        return list(range(len(self._node(state[1])[1])))

    def chance_outcomes(self, state):
        if state[0] is None:
            total = int(self.likely.sum())
            return [(deal, Fraction(int(weight), total)) for deal, weight in zip(self.deals, self.likely, strict=True)]
        # Card 0 cannot come to who holds state 0: then the others come for it.
        cards = [card for card in range(3) if not (card == 0 and 0 in state[0])]
        return [(card, Fraction(1, len(cards))) for card in cards]

    def child(self, state, action):
        return (action, ()) if state[0] is None else (state[0], (*state[1], action))

    def infoset(self, state):
        return self.player(state), state[0][self.player(state)], state[1]

    def private_information(self, state, player):
        return None if state[0] is None else state[0][player]

    def public_history(self, state):
        return ("dealt", *state[1]) if state[0] is not None else ()

    def payoffs(self, state):
        if state not in self.paid:
            random = np.random.default_rng(abs(hash(state)) % 2**32)
            self.paid[state] = float(random.integers(-9, 10)) if self.ties else float(random.uniform(-9.0, 9.0))
        return self.paid[state], -self.paid[state]
