"""The value of a commitment by a linear program for each of the follower's pure replies."""

import numpy as np
from scipy.optimize import linprog

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def best_mixture(rows, paid, loose=0.0):
    """The most that a mixture earns if the rows are at least `loose`; the least of the rows `paid` counts."""
    rows, paid = np.atleast_2d(rows), np.atleast_2d(paid)
    count, width = paid.shape
    above = np.hstack([-rows, np.zeros((len(rows), 1))])
    below = np.hstack([-paid, np.ones((count, 1))])
    found = linprog(
        [*np.zeros(width), -1.0],
        A_ub=np.vstack([above, below]),
        b_ub=[*np.full(len(rows), -loose), *np.zeros(count)],
        A_eq=[[*np.ones(width), 0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * width + [(None, None)],
        options=TIGHT,
    )
    return -found.fun if found.status == 0 else -np.inf


def strong_value(theirs, mine):
    """Try every reply: the follower's and the leader's payoffs, one row per pure reply."""
    return max(best_mixture(one - theirs, paid) for one, paid in zip(theirs, mine, strict=True))


def weak_value(theirs, mine):
    """Try every reply that is strictly best somewhere, with the least that its equals pay (von Stengel and Zamir)."""
    best = -np.inf
    for one in theirs:
        same = np.abs(theirs - one).max(axis=1) <= 1e-12
        others = theirs[~same]
        if len(others):
            inside = linprog(
                [*np.zeros(len(one)), -1.0],
                A_ub=np.hstack([others - one, np.ones((len(others), 1))]),
                b_ub=np.zeros(len(others)),
                A_eq=[[*np.ones(len(one)), 0.0]],
                b_eq=[1.0],
                bounds=[(0, None)] * len(one) + [(None, None)],
                options=TIGHT,
            )
            if -inside.fun <= 1e-9:
                continue
        best = max(best, best_mixture(one - theirs, mine[same]))
    return best
