"""The histories of hold'em spots, against the spots' own games."""

import numpy as np
import pytest

from treeplex import CDBR, BestResponse, Game, InvalidGameError, Nash, Profile, Strategy, solve
from treeplex.models.games.holdem import HoldemSpot, SpotRules
from treeplex.models.problems import LBR
from treeplex.seqform.evaluate import expected_payoffs
from treeplex.solvers.opponents.strategies import opponent_strategy

SPOTS = {
    "river": HoldemSpot("Td9d6hQc2s", ["AA, 87s:0.5, QcQd", "QJs, 55, KK:0.25"], 100, 150, bets="100%, a"),
    "turn": HoldemSpot("Td9d6hQc", ["AsAh, 8h7h", "QhJh, 5c5d, AcAd"], 100, 100, bets="a"),
    "rake": HoldemSpot("Td9d6hQc2s", ["AA, 87s", "QJs, 55, AKs"], 100, 150, bets="100%", rake="5%", rake_cap=7),
}


@pytest.mark.parametrize("name", SPOTS)
def test_payoffs_are_those_of_the_spot(name):
    spot = SPOTS[name]
    game = Game(name, rules=SpotRules(spot))
    for seed in range(3):
        own = Profile([opponent_strategy(f"random:seed={seed}", spot.game, seat) for seat in (0, 1)])
        walked = Profile([Strategy.from_dict(game, seat, own[seat].to_dict()) for seat in (0, 1)])
        assert expected_payoffs(game, walked) == pytest.approx(expected_payoffs(spot.game, own))


def test_a_river_has_the_value_of_its_spot_and_responses_are_in_order():
    spot = SPOTS["river"]
    game = Game("river", rules=SpotRules(spot))
    value = solve(Nash(spot.game), "highs").value
    assert solve(Nash(game), "highs").value == pytest.approx(value, abs=1e-6)
    model = Strategy.uniform(game, 1)
    best = solve(BestResponse(game, model, game_value=value)).gain
    assert best == pytest.approx(
        solve(BestResponse(spot.game, Strategy.uniform(spot.game, 1), game_value=value)).gain, abs=1e-6
    )
    seen = solve(CDBR(game, model, lookahead=1, game_value=value)).gain
    local = solve(LBR(game, model, game_value=value)).gain
    assert 0.0 <= seen <= best + 1e-6
    assert local <= best + 1e-6


def test_cards_that_somebody_holds_are_not_dealt():
    rules = SpotRules(SPOTS["turn"])
    state = rules.initial_state()
    for step in ("AsAh", "AdAc", "check", "check"):
        state = rules.child(state, step)
    cards = dict(rules.chance_outcomes(state))
    assert len(cards) == 44
    assert sum(cards.values()) == pytest.approx(1.0)
    assert not {"As", "Ah", "Ac", "Ad", "Td"} & set(cards)
    first = dict(rules.chance_outcomes(rules.child(rules.initial_state(), "AsAh")))
    assert np.isclose(sum(first.values()), 1.0)


def test_it_takes_spots_alone():
    with pytest.raises(InvalidGameError, match="spot is 3"):
        SpotRules(3)
