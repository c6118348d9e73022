"""How far optimal strategies differ from each other: a linear program over all of them."""

import numpy as np
from scipy.optimize import linprog


def optimal_range(game, player, infoset, action):
    """Return the least and the greatest realization of a sequence among a player's optimal plans.

    For two players and a zero-sum game whose reference value is known. At an infoset that no own decision comes before,
    a realization is the action's probability.
    """
    form = game.sequence_form
    value = float(game.reference_value) * (1 - 2 * player)
    own, other = (form.E, form.F) if player == 0 else (form.F, form.E)
    A = form.A.toarray() if player == 0 else -form.A.toarray().T
    own, other = own.toarray(), other.toarray()
    # Plans x and values q of the other's infosets: own x = e, otherᵀ q <= Aᵀ x, and the root's q at least the value.
    bounds = [(0, None)] * own.shape[1] + [(value - 1e-9, None)] + [(None, None)] * (len(other) - 1)
    cost = np.zeros(len(bounds))
    cost[form.treeplexes[player].sequence(infoset, action)] = 1
    ends = []
    for sign in (1, -1):
        found = linprog(
            sign * cost,
            A_ub=np.hstack([-A.T, other.T]),
            b_ub=np.zeros(A.shape[1]),
            A_eq=np.hstack([own, np.zeros((len(own), len(other)))]),
            b_eq=np.eye(len(own))[0],
            bounds=bounds,
        )
        assert found.status == 0
        ends.append(sign * found.fun)
    return ends
