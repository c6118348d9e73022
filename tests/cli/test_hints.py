"""What messages say to those who guessed a name or a type."""

import pytest

from treeplex import (
    InvalidConstraintError,
    InvalidStrategyError,
    Nash,
    Profile,
    UnsupportedProblemError,
    solve,
)
from treeplex.cli import main
from treeplex.models.constraints import parse_constraint
from treeplex.validation import compare


def test_profiles_are_indexed_by_player(kuhn):
    with pytest.raises(TypeError, match=r"a profile is indexed by player, got 'J_': write profile\[0\]\['J_'\]"):
        Profile.uniform(kuhn)["J_"]
    with pytest.raises(IndexError):
        Profile.uniform(kuhn)[2]


def test_infosets_that_are_near_are_named(kuhn):
    with pytest.raises(InvalidStrategyError, match=r"no infoset 'k_' \(did you mean K_\?\)"):
        Profile.uniform(kuhn)[0]["k_"]
    with pytest.raises(InvalidStrategyError, match=r"no infoset 'K' \(did you mean K_\?\)"):
        Profile.from_dict(kuhn, {0: {"K": {"b": 1}}})


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
