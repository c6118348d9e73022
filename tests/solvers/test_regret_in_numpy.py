"""The compiled loops against the readable reference: all rules, trees and flows, two and three players."""

from itertools import islice

import numpy as np
import pytest
from effort import either
from random_trees import seeded_tree, to_game
from regret_in_numpy import RULES, Learner, play

from treeplex import Nash, load_game, solve


def averages_of(game, method, iterations, alternating):
    """Return the average plans of the reference."""
    form = game.sequence_form
    learners = [Learner(treeplex, RULES[method]) for treeplex in form.treeplexes]
    return next(islice(play(form, learners, alternating), iterations - 1, None))


@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
@pytest.mark.parametrize("method", RULES)
def test_methods_average_the_plans_of_the_reference(method, updates):
    # Payoffs are never tied, so that round-off does not choose.
    trees = [seeded_tree(seed, num_players=3 if seed % 2 else 2) for seed in range(either(2, 10))]
    for game in [load_game("kuhn:cards=4"), *map(to_game, trees)]:
        for iterations in (1, 7, 40):
            found = solve(Nash(game), f"{method}:updates={updates}", tol=0, max_iterations=iterations)
            expected = averages_of(game, method, iterations, updates == "alternating")
            for own, plan in zip(found.profile.plans, expected, strict=True):
                np.testing.assert_allclose(own, plan, atol=1e-9)
