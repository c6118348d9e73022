"""What messages say to those who guessed a name or a type."""

import pytest

from treeplex import (
    CDBR,
    SES,
    BestResponse,
    EpsilonSafeResponse,
    InvalidConstraintError,
    InvalidStrategyError,
    Nash,
    Profile,
    RestrictedNash,
    StreamedMCCFR,
    UnsupportedProblemError,
    gain,
    parse_constraint,
    restricted_nash_frontier,
    solve,
    worst_case,
)
from treeplex.cli import main
from treeplex.models.problems import RobustResponse
from treeplex.solvers import opponent_strategy
from treeplex.validation import compare


def test_profiles_are_indexed_by_player(kuhn):
    indexed = "a profile is indexed by player, 0 to 1, got"
    with pytest.raises(InvalidStrategyError, match=rf"{indexed} 'J_': write profile\[0\]\['J_'\]$"):
        Profile.uniform(kuhn)["J_"]
    with pytest.raises(InvalidStrategyError, match=rf"{indexed} 'J_p': write profile\[1\]\['J_p'\]$"):
        Profile.uniform(kuhn)["J_p"]
    near = r"no player has an infoset 'j_' \(did you mean J_\?\), as in profile\[PLAYER\]\['j_'\]"
    with pytest.raises(InvalidStrategyError, match=rf"{indexed} 'j_': {near}"):
        Profile.uniform(kuhn)["j_"]
    with pytest.raises(IndexError):
        Profile.uniform(kuhn)[2]


def test_infosets_that_are_near_are_named(kuhn):
    with pytest.raises(InvalidStrategyError, match=r"no infoset 'k_' \(did you mean K_\?\)"):
        Profile.uniform(kuhn)[0]["k_"]
    with pytest.raises(InvalidStrategyError, match=r"no infoset 'K' \(did you mean K_\?\)"):
        Profile.from_dict(kuhn, {0: {"K": {"b": 1}}})


def test_unknown_infosets_are_answered_with_those_that_exist(kuhn):
    there = "Q_p, Q_b, K_p, K_b, J_p or J_b"
    with pytest.raises(InvalidStrategyError, match=f"player 1 has no infoset 'x'; expected {there}$"):
        Profile.uniform(kuhn)[1]["x"]
    sampler = StreamedMCCFR(kuhn, seed=0)
    sampler.run(iterations=100)
    with pytest.raises(KeyError, match=r"player 0 has no infoset 'k_' \(did you mean K_\?\); expected "):
        sampler.profile[0]["k_"]
    with pytest.raises(InvalidStrategyError, match=r"a profile is indexed by player, .*: write profile\[0\]\['K_'\]$"):
        sampler.profile["K_"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda game, given: RestrictedNash(game, given, p=0.5),
        BestResponse,
        lambda game, given: EpsilonSafeResponse(game, given, epsilon=0.1),
        lambda game, given: CDBR(game, given, lookahead=1),
        lambda game, given: SES(game, given, p=0.5),
        lambda game, given: RobustResponse(game, given, p=0.5),
        restricted_nash_frontier,
        lambda game, given: gain(game, given, given),
        worst_case,
    ],
)
def test_a_strategy_given_as_text_is_answered_with_how_to_write_it(kuhn, ask):
    for text in ("uniform", "nash"):
        written = rf"treeplex\.solvers\.opponent_strategy\('{text}', game, PLAYER\)$"
        with pytest.raises(InvalidStrategyError, match=rf"'{text}'.*: write {written}"):
            ask(kuhn, text)
    opponent = opponent_strategy("uniform", kuhn, 1)
    assert opponent.behaviour.tolist() == Profile.uniform(kuhn)[1].behaviour.tolist()


def test_infosets_alone_are_no_terms(kuhn):
    with pytest.raises(InvalidConstraintError, match=r"'K_' is an infoset; .* as in 0/K_:b"):
        parse_constraint("K_ <= 1", kuhn)


def test_solutions_are_compared_and_nothing_else(kuhn):
    with pytest.raises(UnsupportedProblemError, match=r"iterative is Profile.*, expected a Solution"):
        compare(solve(Nash(kuhn)), Profile.uniform(kuhn), 1e-3)


def test_a_problem_that_nobody_serves(kuhn):
    class Other(Nash):
        name = "other"
        always_needs = frozenset({"magic"})

    with pytest.raises(UnsupportedProblemError, match="method highs cannot solve other: no method can"):
        solve(Other(kuhn), "highs")


def test_hyper_parameters_without_an_option_are_named(capsys):
    assert main(["solve", "kuhn", "--alpha", "2"]) == 2
    assert "a parameter of dcfr, pdcfr+: write --method dcfr:alpha=" in capsys.readouterr().err
