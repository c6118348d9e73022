"""Patrols on maps: against every history of tiny ones, and the transit game as a special case."""

import numpy as np
import pytest
from effort import either
from patrol_oracle import Histories, random_patrol

from treeplex import Game, Nash, Profile, Strategy, expected_payoffs, solve


def random_profile(game, seed):
    rng = np.random.default_rng(seed)
    return Profile(
        Strategy(game, player, np.concatenate([[1.0], *(rng.dirichlet(np.ones(k)) for k in treeplex.num_actions)]))
        for player, treeplex in enumerate(game.sequence_form.treeplexes)
    )


@pytest.mark.parametrize("seed", range(either(20, 500)))
def test_payoffs_and_values_are_those_of_the_tree_of_histories(seed):
    failing = seed % 3 == 0
    game, oracle = random_patrol(seed, failing=failing, most=either(600, 3000))
    profile = random_profile(game, seed)
    assert expected_payoffs(game, profile)[0] == pytest.approx(oracle.expected(game, profile), abs=1e-12)
    tree = Game("histories", rules=Histories(oracle))
    assert solve(Nash(game)).value == pytest.approx(solve(Nash(tree)).value, abs=1e-7)
