"""The illustrating games of the paper on depth-limited responses: known values, equilibria and opponents' models."""

import pickle
from fractions import Fraction

import pytest
from optimal_plans import optimal_range

from treeplex import Game, Nash, Strategy, best_response, expected_payoffs, gain, load_game, solve, worst_case
from treeplex.models.games import Coin, DepthLimitedFigure2, DepthLimitedFigure10, GadgetTrap1, GadgetTrap2
from treeplex.models.games.small_trees import Deal, Decision, SmallTree
from treeplex.seqform.public_from_tree import public_tree_from_infosets
from treeplex.seqform.public_tree import public_tree_from_rules
from treeplex.seqform.strategy import Profile

VALUES = {
    "depth_limited_figure_2": Fraction(-4, 3),
    "coin": Fraction(0),
    "depth_limited_figure_10": Fraction(1, 2),
    "gadget_trap_1": Fraction(0),
    "gadget_trap_2": Fraction(0),
}


def modelled(game):
    return Strategy.from_dict(game, 1, game.rules.model)


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    game = load_game(name)
    assert game.reference_value == VALUES[name]
    solution = solve(Nash(game))
    assert solution.status.is_success
    assert solution.value == pytest.approx(float(VALUES[name]), abs=1e-9)


@pytest.mark.parametrize("name", VALUES)
def test_rules_are_values_that_can_be_pickled(name):
    game = load_game(name)
    assert pickle.loads(pickle.dumps(game.rules)) == game.rules == type(game.rules)()  # noqa: S301
    assert hash(game.rules) == hash(type(game.rules)())


@pytest.mark.parametrize("name", VALUES)
def test_public_states_are_those_that_follow_from_the_infosets(name):
    rules = load_game(name).rules
    said, derived = public_tree_from_rules(rules), public_tree_from_infosets(rules)
    assert said.parents.tolist() == derived.parents.tolist() == list(range(-1, len(said.parents) - 1))
    assert said.leaf_states.tolist() == derived.leaf_states.tolist()
    for player in (0, 1):
        assert said.infoset_states[player].tolist() == derived.infoset_states[player].tolist()
    assert said.labels == tuple(range(len(said.parents)))


@pytest.mark.parametrize("name", VALUES)
def test_a_model_is_a_strategy_for_every_infoset_of_the_opponent(name):
    game = load_game(name)
    if name == "depth_limited_figure_2":
        assert game.rules.model == {}
        return
    assert list(game.rules.model) == list(game.sequence_form.treeplexes[1].infoset_labels)
    for label, played in game.rules.model.items():
        assert sum(played.values()) == 1
        assert all(modelled(game)[label][action] == float(share) for action, share in played.items())


# Figure 2


def test_matching_pennies_with_a_choice_has_one_equilibrium():
    game = load_game("depth_limited_figure_2")
    assert optimal_range(game, 0, "_", "H") == pytest.approx([2 / 3, 2 / 3], abs=1e-7)
    assert optimal_range(game, 1, "_", "q") == pytest.approx([2 / 3, 2 / 3], abs=1e-7)
    # Heads wherever the guess is reached: realized with all of 2/3 and 1/3.
    assert optimal_range(game, 1, "_q", "h") == pytest.approx([2 / 3, 2 / 3], abs=1e-7)
    assert optimal_range(game, 1, "_p", "h") == pytest.approx([1 / 3, 1 / 3], abs=1e-7)


class Trunk(SmallTree):
    """Figure 2 with the opponent's first decision replaced by chance."""

    def __init__(self, own):
        root = DepthLimitedFigure2.tree
        self.tree = Deal({"q": own, "p": 1 - own}, root.branches)

    name = "trunk"


def fixed_trunk(own, value):
    game = Game("trunk", rules=Trunk(own), reference_value=value)
    assert solve(Nash(game)).value == pytest.approx(float(value), abs=1e-9)
    return game


def test_unsafe_resolving_loses_the_equilibrium_of_matching_pennies_with_a_choice():
    game = fixed_trunk(Fraction(2, 3), Fraction(-4, 3))
    assert optimal_range(game, 0, "_", "H") == pytest.approx([1 / 3, 3 / 4], abs=1e-7)


def test_matching_pennies_with_a_choice_under_a_uniform_trunk():
    game = fixed_trunk(Fraction(1, 2), Fraction(-7, 6))
    assert optimal_range(game, 0, "_", "H") == pytest.approx([1 / 3, 1 / 3], abs=1e-7)
    for own, value in ((1, -5 / 3), (0, -2 / 3)):  # after q, and after p
        after = Game("trunk", rules=Trunk(Fraction(own)))
        assert worst_case(after, Strategy.from_dict(after, 0, {"_": {"H": 1 / 3, "T": 2 / 3}})) == pytest.approx(value)


# Figure 3


def test_to_quit_is_the_only_equilibrium_strategy_of_the_coin_game():
    assert optimal_range(load_game("coin"), 0, "_", "Q") == pytest.approx([1, 1], abs=1e-7)


def test_the_opponents_freedom_in_the_coin_game():
    game = load_game("coin")
    # Even RT and as much of GT as makes up for it: ½(−1) + ½(−2 + 12 g) <= 0 for g <= 1/4.
    assert optimal_range(game, 1, "red_", "RT") == pytest.approx([0, 1], abs=1e-7)
    assert optimal_range(game, 1, "green_", "GT") == pytest.approx([0, 1 / 2], abs=1e-7)


def test_to_play_the_coin_game_is_worth_9_halves_against_the_model_and_minus_3_at_worst():
    game = load_game("coin")
    play = Strategy.from_dict(game, 0, {"_": {"P": 1}})
    assert best_response(game, Profile([play, modelled(game)]), 0).to_dict() == {"_": {"P": 1.0, "Q": 0.0}}
    assert gain(game, play, modelled(game), 0) == pytest.approx(4.5)
    assert worst_case(game, play) == pytest.approx(-3)


# Figure 10


def test_matching_pennies_with_a_gift_has_one_equilibrium():
    game = load_game("depth_limited_figure_10")
    assert optimal_range(game, 0, "_", "H") == pytest.approx([1 / 2, 1 / 2], abs=1e-7)
    assert optimal_range(game, 1, "_", "h") == pytest.approx([1 / 2, 1 / 2], abs=1e-7)
    assert optimal_range(game, 1, "_Tt", "y") == pytest.approx([1 / 2, 1 / 2], abs=1e-7)


def test_strategies_against_the_model_in_matching_pennies_with_a_gift():
    game = load_game("depth_limited_figure_10")

    def against_model(heads):
        profile = Profile([Strategy.from_dict(game, 0, {"_": {"H": heads, "T": 1 - heads}}), modelled(game)])
        return expected_payoffs(game, profile)[0]

    response = best_response(game, Profile([Strategy.uniform(game, 0), modelled(game)]), 0)
    assert response.to_dict() == {"_": {"H": 0.0, "T": 1.0}}
    assert against_model(0) == pytest.approx(10 / 3)
    assert against_model(1 / 2) == pytest.approx(2)
    assert against_model(1) == pytest.approx(2 / 3)


def test_a_response_that_looks_no_further_than_the_sides_shows_heads():
    game = load_game("depth_limited_figure_10")
    rational = {**game.rules.model, "_Tt": {"y": Fraction(1)}}
    opponent = Strategy.from_dict(game, 1, rational)
    response = best_response(game, Profile([Strategy.uniform(game, 0), opponent]), 0)
    assert response.to_dict() == {"_": {"H": 1.0, "T": 0.0}}
    assert 1 / 2 < expected_payoffs(game, Profile([response, modelled(game)]))[0] < 2


# The mechanism


def test_a_written_tree_is_walked_as_it_is_written():
    class Written(SmallTree):
        tree = Deal(
            {"up": Fraction(1, 3), "down": Fraction(2, 3)},
            {"up": 4, "down": Decision(1, "below", {"stay": Decision(0, "_", {"l": 1, "r": 2}), "go": -7})},
        )

    rules = Written()
    assert rules.player(()) == -1
    assert rules.chance_outcomes(()) == [("up", Fraction(1, 3)), ("down", Fraction(2, 3))]
    assert (rules.player(("up",)), rules.payoffs(("up",))) == (-2, (4, -4))
    assert rules.actions(("down",)) == ("stay", "go")
    assert [rules.public_state(("down", "stay", "l")[:depth]) for depth in range(3)] == [0, 0, 1]
    form = Game("written", rules=rules).sequence_form
    assert (form.num_leaves, form.num_nodes) == (4, 7)
    assert (form.treeplexes[0].num_sequences, form.treeplexes[1].infoset_labels) == (3, ("below",))


@pytest.mark.parametrize("rules", [Coin(), DepthLimitedFigure2(), DepthLimitedFigure10(), GadgetTrap1(), GadgetTrap2()])
def test_every_infoset_has_one_public_state(rules):
    seen, stack = {}, [rules.initial_state()]
    while stack:
        state = stack.pop()
        if rules.player(state) == -2:
            continue
        if rules.player(state) >= 0:
            key = rules.player(state), rules.infoset(state)
            assert seen.setdefault(key, rules.public_state(state)) == rules.public_state(state)
            stack += [rules.child(state, action) for action in rules.actions(state)]
        else:
            followers = [rules.child(state, outcome) for outcome, _ in rules.chance_outcomes(state)]
            assert {rules.public_state(follower) for follower in followers} == {rules.public_state(state)}
            stack += followers
