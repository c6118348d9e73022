"""Profiles in public form, against the sequence form."""

import numpy as np
import pytest
import scipy.sparse as sp
from effort import thorough

from treeplex import (
    Game,
    Nash,
    Profile,
    Strategy,
    UnsupportedProblemError,
    expected_payoffs,
    exploitability,
    frequency,
    load_game,
    solve,
)
from treeplex.seqform import InvalidStrategyError, best_response_values, public_profile
from treeplex.seqform.factored import FactoredPayoff
from treeplex.seqform.functional import reach_matrix, reach_of_others
from treeplex.seqform.public_form import PublicForm
from treeplex.seqform.public_payoff import Leaves
from treeplex.seqform.public_profile import PublicProfile
from treeplex.solvers import PrefCFR

GAMES = ["kuhn", "kuhn:cards=7", "leduc", "leduc:ranks=6,suits=1", "liars_dice:sides=3"]


def drawn(form, seed=0):
    """Return a profile drawn at random, and the sequence form."""
    known, generator = form.sequence_form(), np.random.default_rng(seed)
    plans = [one.behaviour(generator.random(one.num_sequences) ** 2) for one in known.treeplexes]
    return Profile([Strategy(known, player, plan) for player, plan in enumerate(plans)]), known


def holdem(board="Td9d6hQc2s", stack=60):
    pytest.importorskip("phevaluator")
    from treeplex.models.games.holdem import HoldemSpot
    from treeplex.models.games.holdem.bets import Betting

    return HoldemSpot(board, ["AdKd:0.5, 8h7h, QQ", "JJ, AhTh, 6s5s:0.25"], 40, stack, Betting("50%", "a")).public_form


@pytest.fixture(params=[*GAMES, "river", "turn"])
def form(request):
    if request.param == "river":
        return holdem()
    if request.param == "turn":
        return holdem("Td9d6hQc", 20)
    return PublicForm.from_rules(load_game(request.param).rules)


def test_it_is_worth_what_the_sequence_form_says(form):
    profile, known = drawn(form)
    public = PublicProfile.from_profile(form, profile)
    for one, other in zip(public.to_profile(known), profile, strict=True):
        assert one.plan == pytest.approx(other.plan, abs=1e-12)
    scale = form.payoff_scale
    assert [public.value(0), public.value(1)] == pytest.approx(expected_payoffs(known, profile), abs=1e-12 * scale)
    assert public.best_response_values == pytest.approx(best_response_values(known, profile), abs=1e-12 * scale)
    assert public.exploitability == pytest.approx(exploitability(known, profile), abs=1e-12 * scale)


def test_states_are_paid_what_histories_say(form):
    """At every node, weighing what states are paid by how likely they arrive gives the same for both players."""
    public = PublicProfile.from_profile(form, drawn(form, 1)[0])
    for node in form.decisions.tolist():
        likely = [public.reach(player, node) * public.arrival(player, node) for player in (0, 1)]
        assert likely[0].sum() == pytest.approx(likely[1].sum(), abs=1e-13)
        paid = [np.nansum(likely[player] * public.values(player, node)) for player in (0, 1)]
        assert paid[0] == pytest.approx(-paid[1], abs=1e-12 * form.payoff_scale)
    root = public.reach(0, 0) * public.arrival(0, 0)
    assert root.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("spec", ["kuhn", "leduc"])
@pytest.mark.parametrize("player", [0, 1])
def test_how_often_actions_are_taken_is_what_histories_say(spec, player):
    tree = load_game(spec)
    game = Game.from_public_form(PublicForm.from_rules(tree.rules))
    assert game.sequence_form.leaves is None
    own = tree.sequence_form.treeplexes[player]
    for action in sorted({action for labels in own.action_labels for action in labels}):
        ours, theirs = (frequency(one, player, action).value(Strategy.uniform(one, player)) for one in (game, tree))
        assert ours == pytest.approx(theirs, abs=1e-12)


def test_how_often_infosets_are_reached_depends_on_how_the_other_player_plays():
    game = Game.from_public_form(PublicForm.from_rules(load_game("kuhn").rules))
    profile, _ = drawn(game.public_form, 4)
    profile = Profile([Strategy(game, each.player, each.behaviour) for each in profile])
    public = PublicProfile.from_profile(game.public_form, profile)
    nodes = [node for node in game.public_form.decisions.tolist() if game.public_form.players[node] == 1]
    expected = np.concatenate([public.arrival(1, node) for node in nodes])
    for others in (profile, profile[0]):
        assert reach_of_others(game, 1, others) == pytest.approx(expected, abs=1e-15)
    for player in (0, 1):
        matrix = reach_matrix(game, player)
        assert matrix @ profile[1 - player].plan == pytest.approx(reach_of_others(game, player, profile), abs=1e-14)
        some = np.arange(matrix.shape[0]) % 3 == 0
        assert abs(reach_matrix(game, player, some) - sp.diags_array(some.astype(float)) @ matrix).max() == 0.0
    with pytest.raises(InvalidStrategyError, match="expected a Profile"):
        reach_of_others(game, 1, profile[1])


def test_trees_too_large_for_one_array_are_taken_in_parts(form, monkeypatch):
    public = PublicProfile.from_profile(form, drawn(form, 2)[0])
    whole = [public.counterfactual_values(player, 0, best) for player in (0, 1) for best in (False, True)]
    monkeypatch.setattr(public_profile, "_HELD", 300)
    monkeypatch.setattr(public_profile, "_KEPT", 0)
    parts = [public.counterfactual_values(player, 0, best) for player in (0, 1) for best in (False, True)]
    for one, other in zip(whole, parts, strict=True):
        assert one == pytest.approx(other, abs=1e-12 * form.payoff_scale)


def test_values_kept_from_one_pass_are_those_of_each_node(form, monkeypatch):
    behaviour = drawn(form, 3)[0]
    alone = PublicProfile.from_profile(form, behaviour)
    kept = PublicProfile.from_profile(form, behaviour)
    monkeypatch.setattr(public_profile, "_HELD", 300)
    monkeypatch.setattr(public_profile, "_KEPT", 0)
    wanted = form.decisions.tolist()[::2]
    kept.keep(wanted)
    monkeypatch.setattr(kept, "_walk", None)  # nothing is walked any more
    for player in (0, 1):
        for node in wanted:
            expected = pytest.approx(alone.counterfactual_values(player, node), abs=1e-12 * form.payoff_scale)
            assert kept.counterfactual_values(player, node) == expected


def test_an_arrival_counts_the_cards_that_are_not_there():
    """Kuhn poker by hand: a king meets a jack or a queen, each with probability 1/6 of the deal."""
    form = PublicForm.from_rules(load_game("kuhn").rules)
    checks = {"J": 0.0, "Q": 0.5, "K": 1.0}
    first = np.array([checks[card] for card in form.states[0]])
    public = PublicProfile(form, {0: np.array([first, 1.0 - first])})
    expected = {"J": 1.5 / 6, "Q": 1.0 / 6, "K": 0.5 / 6}
    arrival = dict(zip(form.states[1], public.arrival(1, int(form.children[0][0])), strict=True))
    assert arrival == pytest.approx(expected)


def test_float32_and_visits_are_divided_by_their_sums():
    form = PublicForm.from_rules(load_game("kuhn").rules)
    visits = {node: np.array([[3, 0, 1], [1, 0, 1]], dtype=np.float32) for node in form.decisions.tolist()}
    assert PublicProfile(form, visits).behaviour(0).tolist() == [[0.75, 0.5, 0.5], [0.25, 0.5, 0.5]]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((3, 3)), r"node 0 has behaviour of shape \(3, 3\), expected \(2, 3\)"),
        (-np.ones((2, 3)), "negative or not finite"),
        (np.full((2, 3), np.nan), "negative or not finite"),
    ],
)
def test_what_is_no_behaviour_is_refused(array, message):
    form = PublicForm.from_rules(load_game("kuhn").rules)
    with pytest.raises(InvalidStrategyError, match=message):
        PublicProfile(form, lambda _: array).behaviour(0)


def test_a_leaf_that_is_twice_in_a_group_pays_the_sum():
    unit = FactoredPayoff(np.ones((1, 1)), np.ones((1, 1)))
    leaves = [
        Leaves(np.array([2, 1, 2]), np.array([1.0, 5.0, 2.0]), unit),
        Leaves(np.array([2]), np.array([4.0]), unit),
    ]
    form = PublicForm([0, -2, -2], [-1, 0, 0], ["", "a", "b"], [["K"], ["Q"]], leaves)
    assert PublicProfile.uniform(form).value(0) == (5.0 + 1.0 + 2.0 + 4.0) / 2
    assert PublicProfile.uniform(form).best_response_values == (7.0, -6.0)


def test_arrivals_need_to_know_what_is_dealt():
    form = PublicForm([0, -2, -2], [-1, 0, 0], ["", "a", "b"], [["K"], ["Q"]], [])
    with pytest.raises(UnsupportedProblemError, match="no probabilities of pairs of states"):
        PublicProfile.uniform(form).values(0, 0)


@thorough
def test_conditional_vulnerabilities_are_the_same_as_on_the_tree():
    tree = load_game("kuhn")
    game = Game.from_public_form(PublicForm.from_rules(tree.rules))
    method = PrefCFR(prefer="0/b@first:5", vulnerability=0.2, units="conditional")
    ours, theirs = (solve(Nash(one), method, tol=0.0, max_iterations=200) for one in (game, tree))
    for action in ("b", "p"):
        often, expected = (frequency(one.problem.game, 0, action).value(one.profile[0]) for one in (ours, theirs))
        assert often == pytest.approx(expected, abs=1e-9)
    assert ours.exploitability == pytest.approx(theirs.exploitability, abs=1e-9)
