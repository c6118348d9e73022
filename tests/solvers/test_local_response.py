"""Local best responses: strategies of the game, at most best responses, with intervals that cover their payoff."""

import pytest
from effort import either, few

from treeplex import (
    Game,
    InvalidOptionError,
    InvalidStrategyError,
    Nash,
    Profile,
    StreamedMCCFR,
    UnsupportedProblemError,
    expected_payoffs,
    exploitability,
    load_game,
    solve,
)
from treeplex.seqform import best_response_values
from treeplex.solvers import LocalBestResponse, estimate_exploitability

KUHN, LEDUC, DICE = load_game("kuhn"), load_game("leduc:ranks=4,merge_suits=true"), load_game("liars_dice:sides=3")
PROFILES = {
    "uniform": Profile.uniform,
    "sampled": lambda game: solve(Nash(game), "es-mccfr", tol=0, max_iterations=1000, seed=1).profile,
    "equilibrium": lambda game: solve(Nash(game), "highs").profile,
}
BOUNDS = {KUHN: (-2, 2), LEDUC: (-13, 13), DICE: (-1, 1)}


def exact(game, profile, response):
    """Return the response's payoff, and that of a best response."""
    player = response.player
    own = response.strategy().to_strategy(game)
    playing = Profile([own if other == player else profile[other] for other in range(2)])
    return expected_payoffs(game, playing)[player], best_response_values(game, profile)[player]


@few
@pytest.mark.parametrize("rule", [None, "own"])
@pytest.mark.parametrize("game", [KUHN, LEDUC, DICE], ids=["kuhn", "leduc", "liar's dice"])
@pytest.mark.parametrize("kind", PROFILES)
def test_a_local_best_response_is_at_most_a_best_response_and_its_interval_covers_it(game, kind, rule):
    profile = PROFILES[kind](game)
    for player in range(2):
        response = LocalBestResponse(game, profile, player, rule=rule, rollouts=60)
        found, best = exact(game, profile, response)
        assert found <= best + 1e-9
        low, high = BOUNDS[game] if player == 0 else tuple(-end for end in reversed(BOUNDS[game]))
        paid = response.payoff(games=4000, seed=3, confidence=0.9999, bounds=(low, high))
        assert paid.lower <= found <= paid.upper
        if kind == "uniform":
            assert found > 0.6 * best


@few
@pytest.mark.parametrize("game", [KUHN, LEDUC], ids=["kuhn", "leduc"])
def test_the_lower_end_is_below_exploitability(game):
    games, profile = either(1000, 4000), PROFILES["sampled"](game)
    found = estimate_exploitability(game, profile, games, rollouts=60, confidence=0.999, bounds=BOUNDS[game])
    assert found.lower <= exploitability(game, profile)
    assert found.lower < found.mean < found.upper
    assert found.mean == pytest.approx(sum(each.mean for each in found.payoffs) / 2)
    narrow = estimate_exploitability(game, profile, games, rollouts=60, confidence=0.5, bounds=BOUNDS[game])
    assert found.lower < narrow.lower < narrow.upper < found.upper


def test_one_step_of_its_own_strategy_improves_it():
    profile = PROFILES["sampled"](LEDUC)
    for player in range(2):
        found, _ = exact(LEDUC, profile, LocalBestResponse(LEDUC, profile, player, rule="own", rollouts=400))
        assert found > expected_payoffs(LEDUC, profile)[player] + 0.1


def test_equal_seeds_give_equal_responses_and_answers_do_not_depend_on_the_order():
    profile = PROFILES["sampled"](LEDUC)
    first, second = (LocalBestResponse(LEDUC, profile, 0, rollouts=40, seed=5) for _ in range(2))
    first.payoff(games=500)  # meets infosets in another order
    assert dict(first.strategy()) == dict(second.strategy())
    assert first.payoff(500, seed=9) == second.payoff(500, seed=9)


def test_games_too_large_to_enumerate_get_estimates():
    game = load_game("leduc:ranks=13,suits=2")
    sampler = StreamedMCCFR(game, seed=1)
    sampler.run(20)
    found = estimate_exploitability(Game("", rules=game.rules), sampler.profile, 40, rollouts=10, bounds=(-13, 13))
    assert -13 <= found.lower < found.mean < found.upper <= 13


def test_rules_may_be_functions():
    passes = LocalBestResponse(KUHN, Profile.uniform(KUHN), 0, rule=lambda label, menu: "p")
    assert passes.strategy()["K_"]["b"] == 1.0  # it would fold to a bet later
    wrong = LocalBestResponse(KUHN, Profile.uniform(KUHN), 0, rule=lambda label, menu: "fold")
    with pytest.raises(InvalidStrategyError, match="the rule plays 'fold' at infoset"):
        wrong.strategy()


def test_what_is_refused():
    uniform = Profile.uniform(KUHN)
    with pytest.raises(InvalidOptionError, match="no actions called check or call, expected rule='own' or a function"):
        LocalBestResponse(KUHN, uniform, 0, rule="passive")
    with pytest.raises(InvalidOptionError, match="rule"):
        LocalBestResponse(KUHN, uniform, 0, rule="pasive")
    with pytest.raises(InvalidOptionError, match="rollouts"):
        LocalBestResponse(KUHN, uniform, 0, rollouts=0)
    with pytest.raises(InvalidStrategyError, match="expected a profile of 2 players"):
        LocalBestResponse(KUHN, "uniform", 0)
    three = load_game("kuhn:players=3")
    with pytest.raises(UnsupportedProblemError, match="3 players, expected 2"):
        estimate_exploitability(three, Profile.uniform(three))
    for bounds in (3, (1,), (2, -2), ("a", 2)):
        with pytest.raises(InvalidStrategyError, match=r"bounds is|the (lowest|highest) payoff is"):
            estimate_exploitability(KUHN, uniform, 10, bounds=bounds)
    hunt = load_game("textbook:game=stag_hunt")  # an equilibrium pays both players 4 or 3
    with pytest.raises(UnsupportedProblemError, match=r"a game paid the players \d and \d, expected a zero-sum game"):
        estimate_exploitability(hunt, Profile.uniform(hunt), 10, rollouts=2)
    with pytest.raises(UnsupportedProblemError, match="no histories"):
        LocalBestResponse(Game("matrix", sequence_form=KUHN.sequence_form), uniform, 0)
