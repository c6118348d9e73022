"""Games of textbooks: our equilibria are the published ones, and Gambit's."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from gambit_judge import payoffs_of_all_equilibria

from treeplex import EpsilonNash, Nash, Profile, Strategy, load_game, solve
from treeplex.models.games.textbook import CATALOGUE, Name

TWO = [name for name in CATALOGUE if name != "selten_horse"]


def game_of(name):
    return load_game(f"textbook:game={name}")


def test_the_names_are_those_of_the_catalogue():
    assert list(get_args(Name)) == list(CATALOGUE)
    assert len({known.source for known in CATALOGUE.values()}) >= 10


@pytest.mark.parametrize("name", TWO)
def test_two_players(name):
    game, known = game_of(name), CATALOGUE[name].equilibria
    paid = solve(Nash(game), "rational").values
    assert paid in known
    for weights, objective in (((1, 1), "welfare"), ((1, 0), "0"), ((0, 1), "1")):
        best = solve(EpsilonNash(game, maximise=objective))
        assert max(best.regrets) <= 1e-9
        assert best.objective == pytest.approx(max(float(np.dot(weights, one)) for one in known), abs=1e-7)


@pytest.mark.parametrize("name", TWO)
def test_gambit_finds_the_same_equilibria(name, tmp_path: Path):
    found = payoffs_of_all_equilibria(game_of(name), tmp_path)
    known = {tuple(round(float(one), 9) for one in paid) for paid in CATALOGUE[name].equilibria}
    assert {tuple(round(one, 9) for one in paid) for paid in found} == known


def paid_by_leaves(game):
    """The chance, the number of each player's actions and the payoffs of every leaf; names may differ."""
    leaves, own = game.sequence_form.leaves, []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        lengths = [0]
        for parent, count in zip(treeplex.parents, treeplex.num_actions, strict=True):
            lengths += [lengths[parent] + 1] * int(count)
        own.append(np.array(lengths)[leaves.sequences[:, player]])
    return sorted(zip(leaves.chance.tolist(), *map(list, own), leaves.payoffs.tolist(), strict=True))


@pytest.mark.parametrize(
    ("spec", "slug"),
    [
        ("textbook:game=selten_horse", "journals/ijgt/selten1975/fig1"),
        ("textbook:game=myerson_poker", "books/myerson1991/fig2_1"),
        ("signalling", "journals/mor/vonstengelforges2008/fig1"),
    ],
)
def test_payoffs_are_those_of_gambits_catalogue(spec, slug, tmp_path: Path):
    catalogue = pytest.importorskip("pygambit.catalog")
    (tmp_path / "catalogue.efg").write_text(catalogue.load(slug).to_efg())
    assert paid_by_leaves(load_game(spec)) == paid_by_leaves(load_game(tmp_path / "catalogue.efg"))


def test_constant_sum_games_are_recognised():
    game = game_of("myerson_poker")
    assert solve(Nash(game)).problem.name == "nash"
    assert game.reference_value == pytest.approx(1 / 3)
    others = [name for name in TWO if name != "myerson_poker"]
    assert {solve(Nash(game_of(name))).problem.name for name in others} == {"epsilon-nash"}


@pytest.mark.parametrize(
    ("played", "paid"),
    [
        ((("first", "D"), ("second", "c"), ("third", "L")), (3, 2, 2)),
        ((("first", "C"), ("second", "c"), ("third", "R")), (1, 1, 1)),
    ],
)
def test_the_equilibria_of_seltens_horse(played, paid):
    game = game_of("selten_horse")
    profile = Profile(
        [Strategy.from_dict(game, player, {infoset: {action: 1}}) for player, (infoset, action) in enumerate(played)]
    )
    certificate = EpsilonNash(game).certify(profile)
    assert certificate.value == paid in CATALOGUE["selten_horse"].equilibria
    assert certificate.epsilon == 0


def test_a_regret_minimiser_finds_an_equilibrium_of_seltens_horse():
    found = solve(EpsilonNash(game_of("selten_horse")), tol=1e-3)
    assert found.certificate.epsilon <= 1e-3
    assert min(np.abs(np.subtract(found.value, paid)).max() for paid in CATALOGUE["selten_horse"].equilibria) <= 0.02


def test_the_beer_and_the_quiche():
    """In the intuitive equilibrium both types have beer, and the bully duels only whoever has quiche."""
    best = solve(EpsilonNash(game_of("beer_quiche"), maximise="0"))
    assert best.profile[0]["strong"]["beer"] == best.profile[0]["weak"]["beer"] == pytest.approx(1)
    assert best.value == pytest.approx((2.9, 0.9))
