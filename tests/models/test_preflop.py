"""The game before the flop: its betting, its payoffs, multi-valued states, and what is read of solutions."""

import json
from fractions import Fraction

import numpy as np
import pytest
from effort import thorough

from treeplex import CDRNR, InvalidGameError, Nash, load_game, solve, worst_case
from treeplex.cli import main
from treeplex.models.games.holdem.classes import CLASS_OF_HAND, CLASSES
from treeplex.models.games.holdem.equities import equities, pairs
from treeplex.models.games.holdem.preflop import CONTINUATIONS, Preflop
from treeplex.models.games.holdem.preflop_form import blueprint, played_out
from treeplex.models.games.holdem.preflop_solved import SolvedPreflop
from treeplex.seqform.public_form import PublicForm
from treeplex.seqform.public_profile import PublicProfile
from treeplex.solvers.opponents.strategies import opponent_strategy

SMALL = Preflop(stack=4, raises=1)


def after(rules, *path):
    state = rules.begun
    for action in path:
        state = dict(rules.moves(state))[action]
    return state


def names(rules, *path):
    return [action for action, _ in rules.moves(after(rules, *path))]


def test_the_menu_is_that_of_the_paper():
    rules = Preflop()
    assert names(rules) == ["fold", "call", "raise 2", "raise 3", "all-in"]
    assert names(rules, "call") == ["check", "raise 2", "raise 3", "all-in"]
    assert names(rules, "raise 3") == ["fold", "call", "raise 9", "all-in"]
    assert names(rules, "raise 3", "raise 9", "raise 27") == ["fold", "call", "all-in"]
    assert names(rules, "call", "all-in") == ["fold", "call"]
    assert names(Preflop(stack=3)) == ["fold", "call", "raise 2", "all-in"]


def test_bets_after_the_flop_are_pots():
    rules = Preflop(stack=20, continuations=0, streets=2)
    flop = after(rules, "raise 2", "call")
    assert (flop.mover, flop.street, flop.paid) == (1, 1, (2, 2))
    assert names(rules, "raise 2", "call") == ["check", "bet"]
    assert after(rules, "raise 2", "call", "bet").paid == (2, 6)  # a pot of 4
    assert after(rules, "raise 2", "call", "bet", "raise").paid == (18, 6)  # and of 12 after the call
    assert names(rules, "raise 2", "call", "bet", "raise") == ["fold", "call"]
    turn = after(rules, "raise 2", "call", "check", "bet", "call")
    assert (turn.mover, turn.street, turn.paid) == (1, 2, (6, 6))
    assert names(rules, "raise 2", "call", "check", "bet", "call") == ["check", "bet"]
    assert names(rules, "raise 3", "call", "bet", "call")[1] == "all-in"  # 9 and a pot of 18 are more than 20
    assert rules.is_over(after(rules, "raise 3", "call", "bet", "call", "all-in", "call"))


@pytest.mark.parametrize(
    ("spec", "said"),
    [("preflop:stack=1", "stack = 1"), ("preflop:chooser=ip", "chooser"), ("preflop:continuations=5", "continuations")],
)
def test_parameters_out_of_range_are_refused(spec, said):
    with pytest.raises(InvalidGameError, match=said):
        load_game(spec)


def test_nobody_chooses_where_everything_is_played_out():
    with pytest.raises(InvalidGameError, match="continuations = 0"):
        Preflop(continuations=0, chooser="sb")


def test_payoffs_are_those_of_every_two_hands():
    """Call all-in with everything: both win 4 as often as equities say; fold at once: half a blind."""
    rules = Preflop(stack=4, continuations=0, raises=1)
    form = rules.public_form

    def always(*actions):
        def behaviour(node):
            after = [str(form.actions[kid]) for kid in form.children[node]]
            wanted = next(action for action in (*actions, "check", "call", "fold") if action in after)
            return np.repeat([[float(action == wanted)] for action in after], 169, axis=1)

        return PublicProfile(form, behaviour)

    dealt = pairs() / pairs().sum()
    shown = always("all-in", "call")
    won = 4 * (2 * equities() - 1)
    assert shown.value(0) == pytest.approx(float((dealt * won).sum()), abs=1e-12)
    np.testing.assert_allclose(shown.values(0, 0), (dealt * won).sum(axis=1) / dealt.sum(axis=1), atol=1e-12)
    assert always("fold").value(0) == pytest.approx(-0.5)


def test_hands_of_a_class_need_not_be_told_apart():
    """A profile is worth the same over 1,326 hands as over 169 classes."""
    weights = np.bincount(CLASS_OF_HAND) / 1326
    np.testing.assert_allclose(pairs().sum(axis=1) / pairs().sum(), weights, atol=1e-15)


@pytest.fixture(scope="module")
def solved():
    """Solutions with 0, 1 and 4 continuations."""
    found = {}
    for number in (0, 1, 4):
        rules = Preflop(stack=4, raises=1, continuations=number)
        found[number] = rules, solve(Nash(rules.game), "dcfr", tol=0.0005, max_iterations=3000)
    return found


def test_the_chooser_gains_by_choosing(solved):
    values = {number: solution.value for number, (_, solution) in solved.items()}
    assert values[4] < values[1] + 0.0005
    other = Preflop(stack=4, raises=1, chooser="sb")
    assert solve(Nash(other.game), "dcfr", tol=0.0005).value > values[1] - 0.0005


def test_one_continuation_is_the_blueprint(solved):
    """Its payoffs at a flop are those of the blueprint in the model played out, node for node."""
    tree, played = played_out(solved[0][0]), blueprint(solved[0][0])
    form = solved[1][0].public_form

    def behaviour(node):
        return played[tree.form.children[node]]

    def before(node):
        there = tree.form.find(", ".join(map(str, form.path(node))))
        return played[tree.form.children[there]]

    whole, short = PublicProfile(tree.form, behaviour), PublicProfile(form, before)
    for player in (0, 1):
        np.testing.assert_allclose(
            whole.counterfactual_values(player, 0), short.counterfactual_values(player, 0), atol=1e-7
        )
    assert whole.exploitability < 0.06  # it trembles


def test_biased_continuations_are_five_times_as_likely_to_do_what_they_prefer():
    rules = Preflop(stack=4, raises=1, continuations=0)
    tree, played = played_out(rules), blueprint(rules)
    form = Preflop(stack=4, raises=1).public_form
    flop = tree.form.find("raise 2, call")
    reach = np.full(169, 1.0)

    def worth(bias):  # the big blind's
        def behaviour(node):
            kids = tree.form.children[node]
            scaled = played[kids].copy()
            if tree.form.players[node] == 1:
                scaled[[tree.actions[kid] in bias for kid in kids.tolist()]] *= 5.0
            return scaled

        return PublicProfile(tree.form, behaviour)

    assert [str(form.actions[kid]) for kid in form.children[form.find("raise 2, call")]] == list(CONTINUATIONS)
    short = PublicProfile.uniform(form)
    for name, bias in zip(CONTINUATIONS, [(), ("fold",), ("check", "call"), ("bet", "raise", "all-in")], strict=True):
        leaf = form.find(f"raise 2, call, {name}")
        (group,) = (one for one in form.leaves if leaf in one.nodes)
        profile = worth(bias)
        profile.reach = lambda player, node: reach  # type: ignore[method-assign]
        np.testing.assert_allclose(group.gradient(0, reach[None])[0], profile.walk(flop)[0][0], atol=1e-9, err_msg=name)
    assert short.value(0) == pytest.approx(-short.value(1))


@pytest.mark.parametrize(
    "rules",
    [
        Preflop(stack=2),
        pytest.param(Preflop(stack=6), marks=pytest.mark.slow),
        pytest.param(Preflop(stack=3, raises=1, continuations=1, ante=0.125, bb_ante=0.5), marks=pytest.mark.slow),
        pytest.param(Preflop(stack=4.5, raises=1, straddle=2), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_regret_minimisation_agrees_with_the_linear_program(rules):
    exact = solve(Nash(rules.game), "highs")
    learned = solve(Nash(rules.game), "dcfr", tol=0.0005)
    assert exact.exploitability < 1e-9
    assert learned.exploitability < 0.0005
    assert learned.lower - 1e-9 <= exact.value <= learned.upper + 1e-9


def test_what_is_read_of_a_solution(solved):
    rules, solution = solved[4]
    read = SolvedPreflop(rules, solution.profile)
    root = read.at()
    assert (root.mover, root.pot, root.actions[0]) == ("sb", 1.5, "fold")
    assert sum(root.frequencies.values()) == pytest.approx(1.0)
    assert root.averages["sb ev"] + root.averages["bb ev"] == pytest.approx(1.5)
    assert root.averages["sb ev"] - 0.5 == pytest.approx(solution.value, abs=1e-6)
    node = read.at("all-in")
    assert (node.mover, node.actions, node.state.paid) == ("bb", ("fold", "call"), (4, Fraction(1)))
    aces = node.strategy[:, CLASSES.index("AA")]
    assert aces == pytest.approx([0.0, 1.0], abs=1e-3)
    row = node.classes()[0]
    assert (row["class"], row["call"]) == ("AA", pytest.approx(1.0, abs=1e-3))
    np.testing.assert_allclose(node.ranges[1].weights, 1.0)
    np.testing.assert_allclose(node.ranges[0].weights, root.strategy[root.actions.index("all-in")][CLASS_OF_HAND])
    assert {one.mover for one in read} == {"sb", "bb"}
    assert "raise 2" in str(root)
    with pytest.raises(InvalidGameError, match="expected sb or bb"):
        node.classes("ip")
    with pytest.raises(InvalidGameError, match="raise 2"):
        read.at("raise 9")


def test_charts_of_nodes_before_the_flop(solved):
    pytest.importorskip("matplotlib")
    rules, solution = solved[4]
    node = SolvedPreflop(rules, solution.profile).at("call")
    for by in ("action", "ev", "equity"):
        figure = node.figure(by=by)
        said = [text.get_text() for axes in [figure, *figure.axes] for text in axes.texts]
        assert "BB to act  ·  call" in said
        assert set(CLASSES) <= set(said)


def test_the_form_is_one_of_169_classes():
    form = SMALL.public_form
    assert isinstance(form, PublicForm)
    assert form.states == (CLASSES, CLASSES)
    assert form.is_zero_sum
    assert form.payoff_scale == 4.0


@pytest.mark.parametrize(
    ("options", "method", "tolerance"),
    [([], "dcfr", 0.004), (["--tol", "0.01"], "dcfr", 0.01), (["--method", "cfr+"], "cfr+", 0.004)],
)
def test_the_command_line_learns_to_the_papers_bar(options, method, tolerance, capsys):
    assert main(["solve", "preflop:stack=4,raises=1", *options, "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["method"], record["status"]) == (method, "converged")
    assert record["exploitability"] <= tolerance


@thorough
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(
    "opponent",
    [
        "uniform",
        "random:seed=1",
        "uniform:without=fold",
        "cfr:iterations=10",
        "perturbed:(cfr:iterations=10),epsilon=0.2",
    ],
)
def test_a_robust_response_looks_ahead_before_the_flop_and_its_worst_case_is_proven(opponent, player):
    game = Preflop(stack=2, continuations=1).game
    problem = CDRNR(game, opponent_strategy(opponent, game, 1 - player), p=0.5, lookahead=1)
    solution = solve(problem, "cfr+", tol=0.01)
    assert solution.gain >= -sum(step.gap for step in solution.certificate.steps) / 0.5
    assert 0.0 <= solution.exploitability <= problem.safety_bound(solution.certificate)
    value = solution.opponent_value - solution.gain
    assert worst_case(game, solution.profile[player]) == pytest.approx(value - solution.exploitability, abs=1e-9)
    assert game.sequence_form.leaves is None
