"""The public form of games, against their sequence forms."""

import re

import numpy as np
import pytest

from treeplex import Game, GameTooLargeError, Nash, UnsupportedProblemError, load_game, solve
from treeplex.seqform import InvalidGameError
from treeplex.seqform.factored import FactoredPayoff
from treeplex.seqform.public_form import PublicForm
from treeplex.seqform.public_payoff import Leaves

GAMES = ["kuhn", "kuhn:cards=7", "leduc", "leduc:merge_suits=true", "leduc:ranks=6,suits=1", "liars_dice:sides=3"]


def places(form, other):
    """Return where each sequence of one form is in another, by labels, for both players."""
    found = []
    for one, two in zip(form.treeplexes, other.treeplexes, strict=True):
        labels = [one.sequence_label(sequence) for sequence in range(1, one.num_sequences)]
        found.append(np.array([0] + [two.sequence(*label) for label in labels]))
    return found


@pytest.mark.parametrize("name", GAMES)
def test_its_public_tree_is_that_of_the_rules(name):
    game = load_game(name)
    own, known = Game.from_public_form(PublicForm.from_rules(game.rules)), game.public_tree
    public, order = own.public_tree, places(own.sequence_form, game.sequence_form)
    number = np.full(public.num_states, -1)
    for player, treeplex in enumerate(own.sequence_form.treeplexes):
        infosets = game.sequence_form.treeplexes[player].sequence_infosets[order[player][treeplex.offsets[:-1]]]
        states = known.infoset_states[player][infosets]
        assert (public.infoset_levels(player) == known.levels[states]).all()
        number[public.infoset_states[player]] = states
    assert (public.num_states, public.num_levels) == (known.num_states, known.num_levels)
    decided = np.flatnonzero(number >= 0)
    assert len(np.unique(number[decided])) == len(decided)
    assert [public.players[state] for state in decided] == [known.players[state] for state in number[decided]]
    above = decided[(public.parents[decided] >= 0) & (number[public.parents[decided]] >= 0)]
    assert (number[public.parents[above]] == known.parents[number[above]]).all()


@pytest.mark.parametrize("name", GAMES)
def test_it_pays_what_the_sequence_form_pays(name):
    game = load_game(name)
    form, known = PublicForm.from_rules(game.rules).sequence_form(), game.sequence_form
    order, generator = places(form, known), np.random.default_rng(1)
    assert [treeplex.num_sequences for treeplex in form.treeplexes] == [len(one) for one in order]
    for _ in range(5):
        numbers = [generator.random(treeplex.num_sequences) for treeplex in known.treeplexes]
        plans = [one.plan(one.behaviour(number)) for one, number in zip(known.treeplexes, numbers, strict=True)]
        own = [plan[one] for plan, one in zip(plans, order, strict=True)]
        assert max(one.residual(plan) for one, plan in zip(form.treeplexes, own, strict=True)) < 1e-12
        for player in (0, 1):
            expected = known.gradient(player, plans)[order[player]]
            assert form.gradient(player, own) == pytest.approx(expected, abs=1e-12)
    assert form.payoff_scale == known.payoff_scale


@pytest.mark.parametrize("name", ["kuhn", "leduc:merge_suits=true"])
@pytest.mark.parametrize("method", ["highs", "cfr+", "dcfr"])
def test_it_is_solved_as_the_sequence_form_is(name, method):
    game = load_game(name)
    public = Game(name, sequence_form=PublicForm.from_rules(game.rules).sequence_form())
    limits = {} if method == "highs" else {"tol": 0, "max_iterations": 40}
    first, second = (solve(Nash(one), method, **limits) for one in (public, game))
    assert first.value == pytest.approx(second.value, abs=1e-12)
    assert first.exploitability == pytest.approx(second.exploitability, abs=1e-12)


def test_leaves_pay_what_their_matrix_says():
    generator = np.random.default_rng(2)
    unit = generator.normal(size=(3, 4))
    leaves = Leaves(np.array([1, 2]), np.array([2.0, -1.0]), FactoredPayoff(unit, np.eye(4)))
    reach = generator.random((2, 4))
    assert leaves.gradient(0, reach) == pytest.approx(np.array([2 * unit @ reach[0], -unit @ reach[1]]))
    reach = generator.random((2, 3))
    assert leaves.gradient(1, reach) == pytest.approx(np.array([-2 * unit.T @ reach[0], unit.T @ reach[1]]))


def test_public_states_have_paths_and_children():
    form = PublicForm.from_rules(load_game("kuhn").rules)
    assert [form.path(node) for node in form.decisions] == [(), ("p",), ("b",), ("p", "b")]
    assert [form.actions[node] for node in form.children[0]] == ["p", "b"]


class Draw:
    """A player draws a card after the first bet: that is not known at the root."""

    num_players = 2

    def __init__(self):
        self.rules = load_game("kuhn").rules

    def __getattr__(self, name):
        return getattr(self.rules, name)

    def private_information(self, state, player):
        return self.rules.private_information(state, player) + str(len(self.rules.public_history(state)))


class Silent:
    """Kuhn poker without the methods that say what is public."""

    def __init__(self):
        rules = load_game("kuhn").rules
        self.num_players = 2
        for name in ("initial_state", "player", "actions", "chance_outcomes", "child", "infoset", "payoffs"):
            setattr(self, name, getattr(rules, name))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (Draw(), "needs private information that is dealt only at the root, but at history .* it changes to"),
        (Silent(), "Silent has no private_information"),
        (load_game("kuhn:players=3").rules, "needs two players, but the game has 3"),
    ],
    ids=["draw", "silent", "three players"],
)
def test_what_is_no_public_form_is_refused(rules, message):
    with pytest.raises(UnsupportedProblemError, match=message):
        PublicForm.from_rules(rules)


def test_games_that_say_that_they_are_too_large_are_not_walked():
    with pytest.raises(GameTooLargeError, match="the budget is 1 MB"):
        PublicForm.from_rules(load_game("leduc:ranks=40").rules, memory="1MB")


@pytest.mark.parametrize(
    ("players", "parents", "message"),
    [
        ([0, -2, -2], [-1, 0], "a public tree has 3 players, 2 parents"),
        ([0, -2, -2], [-1, 0, 2], "parents before their children"),
        ([0, -2, -2], [-1, 0, 1], "no nodes after its leaves"),
    ],
)
def test_trees_are_checked(players, parents, message):
    with pytest.raises(InvalidGameError, match=message):
        PublicForm(players, parents, ["", "a", "b"], [["K"], ["Q"]], [])


def test_public_states_are_found_by_the_actions_that_lead_there():
    form = PublicForm.from_rules(load_game("leduc").rules)
    for node in range(len(form.players)):
        assert form.find(", ".join(map(str, form.path(node)))) == node
    assert form.path(form.find("C, c, deal Qs")) == ("c", "c", "Qs")
    assert form.find(" ") == 0
    for text, message in [
        ("x", "there is no 'x' at the root; expected c or r"),
        ("c,, r", "there is no '' after c; "),
        ("c, c, 10", "there is no '10' after c, c; expected "),
        ("r, f, c", "there is no 'c' after r, f; no action follows there"),
    ]:
        with pytest.raises(InvalidGameError, match=re.escape(message)):
            form.find(text)
