"""Regret matching in plain numpy, to compare compiled loops with."""

import numpy as np


def match_regrets(treeplex, values, regrets, behaviour):
    """Update regrets and behaviour by a player's payoffs per sequence, infosets below first; all change in place."""
    for infoset in reversed(range(treeplex.num_infosets)):
        here = slice(*treeplex.offsets[infoset : infoset + 2])
        value = behaviour[here] @ values[here]
        regrets[here] += values[here] - value
        positive = np.maximum(regrets[here], 0.0)
        total = positive.sum()
        behaviour[here] = positive / total if total > 1e-12 else 1.0 / len(positive)
        values[treeplex.parents[infoset]] += value
