"""Random strategies of both players for tests."""

import numpy as np

from treeplex import Profile, Strategy


def random_profile(game, seed, concentration=1.0):
    """Return behaviour strategies whose probabilities at each infoset are drawn from a symmetric Dirichlet."""
    rng = np.random.default_rng(seed)
    drawn = [
        np.concatenate([[1.0], *(rng.dirichlet(np.full(count, concentration)) for count in treeplex.num_actions)])
        for treeplex in game.sequence_form.treeplexes
    ]
    return Profile(Strategy(game, player, behaviour) for player, behaviour in enumerate(drawn))
