"""Random flow polytopes for tests."""

import numpy as np

from treeplex import Treeplex


def random_flow(rng, num_infosets):
    """Return a flow whose infosets have up to three inflows each, from any sequences before them."""
    num_actions = rng.integers(1, 4, num_infosets)
    offsets = 1 + np.append(0, np.cumsum(num_actions))
    inflow = np.zeros((num_infosets, offsets[-1]))
    for infoset in range(num_infosets):
        before = int(offsets[infoset])
        sources = rng.choice(before, size=rng.integers(1, min(3, before) + 1), replace=False)
        inflow[infoset, sources] = rng.choice([0.1, 0.5, 0.9, 1.0], size=len(sources))
    return Treeplex.from_inflow(inflow, num_actions)
