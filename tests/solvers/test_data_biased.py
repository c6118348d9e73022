"""Data-biased responses: the ends, both formulations, an enumeration of opponents, and refusals."""

from itertools import product

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from random_trees import to_game, trees

from treeplex import (
    BestResponse,
    ConstrainedNash,
    DataBiasedResponse,
    InvalidGameError,
    Nash,
    Status,
    Strategy,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.constraints import behaviour_bound

KUHN, LEDUC = load_game("kuhn"), load_game("leduc")


@pytest.mark.parametrize("method", ["highs", "cvxpy"])
@pytest.mark.parametrize("game", [KUHN, LEDUC], ids=lambda game: game.spec)
def test_no_trust_gives_an_equilibrium_and_full_trust_a_best_response(game, method):
    model = Strategy.uniform(game, 1)
    equilibrium = solve(DataBiasedResponse(game, model, p=0.0), method)
    assert equilibrium.objective == pytest.approx(solve(Nash(game)).value, abs=1e-6)
    assert equilibrium.exploitability <= 1e-6
    best = solve(DataBiasedResponse(game, model, p=1.0), method)
    assert best.objective == pytest.approx(solve(BestResponse(game, model)).objective, abs=1e-6)


@pytest.mark.parametrize("method", ["highs", "cvxpy", "cfr+"])
def test_a_fully_trusted_model_leaves_infosets_unreached(method):
    # It always bets at once in Kuhn poker, so that nobody learns how it answers a bet after it passed.
    model = Strategy.from_dict(KUHN, 0, {f"{card}_": {"b": 1.0} for card in "JQK"})
    solution = solve(DataBiasedResponse(KUHN, model, p=1.0), method, **({"tol": 1e-3} if method == "cfr+" else {}))
    assert solution.status.is_success
    assert solution.objective == pytest.approx(solve(BestResponse(KUHN, model)).objective, abs=2e-3)


@examples(40)
@given(trees(size=10), st.integers(0, 2**32), st.integers(0, 1))
def test_it_is_the_equilibrium_against_opponents_bound_to_the_model(root, seed, player):
    game = to_game(root)
    rng = np.random.default_rng(seed)
    other = game.sequence_form.treeplexes[1 - player]
    drawn = [rng.dirichlet(np.ones(count)) for count in other.num_actions.tolist()]
    model = Strategy(game, 1 - player, np.concatenate([[1.0], *drawn]))
    trust = rng.random(other.num_infosets).round(2)
    bounds = [
        behaviour_bound(game, 1 - player, label, action, at_least=float(trust[place] * model[label][action]))
        for place, label in enumerate(other.infoset_labels)
        for action in other.action_labels[place]
    ]
    scale = game.sequence_form.payoff_scale
    expected = solve(ConstrainedNash(game, bounds)).objective
    for method in ("highs", "cvxpy"):
        solution = solve(DataBiasedResponse(game, model, p=trust), method)
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(expected if player == 0 else -expected, abs=1e-6 * scale)


def test_what_a_plan_guarantees_is_the_least_over_all_pure_choices_of_the_untrusted_rest():
    rng = np.random.default_rng(1)
    treeplex, other = KUHN.sequence_form.treeplexes
    model = Strategy(KUHN, 1, np.concatenate([[1.0], *(rng.dirichlet([1.0, 1.0]) for _ in range(6))]))
    trust = rng.random(6)
    problem = DataBiasedResponse(KUHN, model, p=trust, game_value=-1 / 18)
    plan = treeplex.plan(np.concatenate([[1.0], *(rng.dirichlet([1.0, 1.0]) for _ in range(6))]))
    worst = np.inf
    for choice in product([0, 1], repeat=6):
        free = np.array([one for action in choice for one in ((1.0, 0.0) if action == 0 else (0.0, 1.0))])
        weights = np.repeat(trust, 2)
        behaviour = np.concatenate([[1.0], weights * model.behaviour[1:] + (1.0 - weights) * free])
        worst = min(worst, plan @ KUHN.sequence_form.A @ other.plan(behaviour))
    own = Strategy.from_plan(KUHN, 0, plan)
    profile = type(solve(Nash(KUHN)).profile)([own, Strategy.uniform(KUHN, 1)])
    assert problem.certify(profile).lower == pytest.approx(worst, abs=1e-12)


def test_flows_and_mappings_of_infosets_are_taken():
    game = load_game("transit:width=2")
    solution = solve(DataBiasedResponse(game, Strategy.uniform(game, 0), p=0.5))
    assert solution.status is Status.OPTIMAL
    assert solution.gain > 0.0
    model = Strategy.uniform(KUHN, 1)
    one = solve(DataBiasedResponse(KUHN, model, p={"J_p": 0.9, "Q_p": 0.9}))
    assert solve(Nash(KUHN)).value <= one.objective <= 0.5


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (1.5, "expected a number from 0 to 1"),
        (float("nan"), "expected a number from 0 to 1"),
        ([0.1, 0.2], "an array of 6"),
        ("often", "expected a number from 0 to 1"),
        ({"J_p": 2}, "p is 2"),
        ({"J_q": 0.5}, "no infoset 'J_q'"),
    ],
)
def test_what_is_no_probability_is_refused(p, text):
    with pytest.raises(InvalidGameError, match=text):
        DataBiasedResponse(KUHN, Strategy.uniform(KUHN, 1), p=p)


def test_there_is_no_program_in_fractions():
    with pytest.raises(UnsupportedProblemError):
        solve(DataBiasedResponse(KUHN, Strategy.uniform(KUHN, 1), p=0.5), "rational")
