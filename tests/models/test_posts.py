"""Antes, straddles, blinds and stacks of the preflop models, against payoffs and programs written down here."""

import io
import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from effort import thorough
from scipy.optimize import linprog

from treeplex import ConstrainedNash, Profile, TreeplexError, expected_payoffs, load_game, parse_constraint, solve
from treeplex.models.games.holdem.classes import CLASSES
from treeplex.models.games.holdem.equities import equities, pairs
from treeplex.models.games.holdem.preflop import Preflop
from treeplex.models.games.holdem.preflop_form import blueprint, played_out
from treeplex.models.games.holdem.preflop_solved import SolvedPreflop
from treeplex.models.games.holdem.three_handed import ThreeHanded
from treeplex.models.games.holdem.three_handed_form import deal, shares
from treeplex.models.matches import HandHistories
from treeplex.models.observations import hand_observations
from treeplex.seqform.public_profile import PublicProfile
from treeplex.seqform.rules import TERMINAL

#: Stacks and posts by which models are made.
POSTS = [
    {"stack": 10, "ante": 0.125},
    {"stack": 6, "bb_ante": 1},
    {"stack": "9.5", "straddle": 2},
    {"stack": "7.5", "small_blind": "2/5", "ante": "1/5", "bb_ante": 0.5},
    {"stack": 12, "straddle": "2.5", "ante": 0.25},
    {"stack": 3, "small_blind": 1},
]
DEALT = pairs() / pairs().sum()


def names(rules, *path):
    state = rules.begun
    for action in path:
        state = dict(rules.moves(state))[action]
    return [action for action, _ in rules.moves(state)]


def test_the_menu_counts_in_straddles():
    assert names(Preflop(stack=20, straddle=2)) == ["fold", "call", "raise 4", "raise 6", "all-in"]
    assert names(Preflop(stack=20, straddle=2), "call") == ["check", "raise 4", "raise 6", "all-in"]
    assert names(Preflop(stack=20, straddle="2.5"), "raise 7.5") == ["fold", "call", "all-in"]
    assert names(Preflop(stack=5, straddle=2)) == ["fold", "call", "raise 4", "all-in"]
    assert names(Preflop(stack=5, straddle=2, ante=1)) == ["fold", "call", "all-in"]
    assert names(ThreeHanded(stack=7, straddle=2), "fold") == ["fold", "call", "raise 4", "raise 6", "all-in"]
    assert names(ThreeHanded(stack=4, ante=1)) == ["fold", "call", "raise 2", "all-in"]
    assert (Preflop(straddle=2).begun.mover, Preflop(ante=1).begun.mover) == (1, 0)
    assert [ThreeHanded(straddle=2).begun.mover, ThreeHanded().begun.mover] == [1, 0]


def test_antes_are_part_of_the_pot_and_not_of_bets():
    rules = Preflop(stack=30, continuations=0, ante=1)
    state = rules.begun
    for action, pot in (("call", 4), ("check", 4), ("bet", 8), ("raise", 24)):  # a bet of 4, a raise to 4 + 12
        state = dict(rules.moves(state))[action]
        assert rules.pot(state) == pot
    assert state.paid == (17, 5)
    assert rules.most == 29


def chips(rules, form, leaf):
    """Replay a line with chips: return each player's total, who folded, and the pot."""
    count = len(rules.blinds)
    put = [float(Fraction(rules.small_blind)), 1.0] if count == 2 else [0.0, float(Fraction(rules.small_blind)), 1.0]
    put[0] = float(Fraction(rules.straddle)) or put[0]
    antes = [float(Fraction(rules.ante))] * count
    antes[-1] += float(Fraction(rules.bb_ante))
    behind = float(Fraction(rules.stack)) - max(antes)
    folded, nodes = set(), [leaf]
    while form.parents[nodes[0]] >= 0:
        nodes.insert(0, int(form.parents[nodes[0]]))
    for before, after in itertools.pairwise(nodes):
        mover, action = int(form.players[before]), str(form.actions[after])
        if action == "fold":
            folded.add(mover)
        elif action == "all-in":
            put[mover] = behind
        elif " " in action:
            put[mover] = float(action.split()[1])
        elif action in ("bet", "raise"):
            put[mover] = max(put) + count * max(put) + sum(antes)
        else:
            put[mover] = max(put)
    total = [one + ante for one, ante in zip(put, antes, strict=True)]
    return total, folded, sum(total)


@pytest.mark.parametrize("posts", POSTS, ids=str)
def test_payoffs_at_each_leaf_are_those_of_chips(posts):
    rules = Preflop(continuations=0, raises=2, streets=2, **posts)
    form, equal = rules.public_form, np.eye(len(CLASSES))
    assert form.is_zero_sum
    hand = CLASSES.index("AKs")
    leaves = np.flatnonzero(form.players == TERMINAL)
    found = np.zeros((len(form.players), len(CLASSES)))
    for group in form.leaves:
        reach = np.repeat(equal[hand][None], len(group.nodes), axis=0)
        np.add.at(found, group.nodes, group.gradient(0, reach))
    for leaf in leaves.tolist():
        total, folded, pot = chips(rules, form, leaf)
        won = np.zeros(len(CLASSES)) if 0 in folded else np.ones(len(CLASSES)) if folded else equities()[:, hand]
        np.testing.assert_allclose(found[leaf], DEALT[:, hand] * (won * pot - total[0]), atol=1e-12)


@pytest.mark.parametrize("posts", POSTS, ids=str)
def test_payoffs_of_three_players_are_those_of_chips(posts):
    rules = ThreeHanded(**posts | {"stack": Fraction(posts["stack"]) + 2})
    form = rules.form
    hands = tuple(CLASSES.index(name) for name in ("QQ", "AKs", "T9s"))
    found = np.zeros((3, len(form.players)))
    for group in form.joint_leaves:
        for player in range(3):
            np.add.at(found[player], group.nodes, group.amounts[player] * float(group.payoff[hands]))
    for leaf in np.flatnonzero(form.players == TERMINAL).tolist():
        total, folded, pot = chips(rules, form, leaf)
        left = [player for player in range(3) if player not in folded]
        part = [0.0, 0.0, 0.0]
        if len(left) == 1:
            part[left[0]] = 1.0
        elif len(left) == 2:
            part[left[0]] = equities()[hands[left[0]], hands[left[1]]]
            part[left[1]] = 1.0 - part[left[0]]
        else:
            part[:2] = shares()[hands], shares()[hands[1], hands[0], hands[2]]
            part[2] = 1.0 - part[0] - part[1]
        paid = np.array(part) * pot - total
        np.testing.assert_allclose(found[:, leaf] / float(deal()[hands]), paid, atol=1e-4)
        assert found[:, leaf].sum() == pytest.approx(0.0, abs=1e-9)


def push_or_fold(first, second, dead, most):
    """Solve all-in or fold, then call or fold, as a linear program over 169 classes; return the first player's payoff.

    The first player has put in `first`, the second one `second`; both may put in `most`, beside `dead` antes of each.
    """
    shown = DEALT * (equities() * (2 * most + sum(dead)) - most - dead[0])
    taken, lost = second + dead[1], first + dead[0]
    count = len(CLASSES)
    # x is the frequency of all-in; v, for each class of the second player, the smaller of calling and folding.
    fold = DEALT.sum(axis=1)
    cost = np.concatenate([-lost * fold, -np.ones(count)])  # each all-in saves what a fold would lose
    rows = np.block([[-shown.T, np.eye(count)], [-(taken * DEALT).T, np.eye(count)]])
    bounds = [(0, 1)] * count + [(None, None)] * count
    solved = linprog(cost, A_ub=rows, b_ub=np.zeros(2 * count), bounds=bounds, method="highs")
    assert solved.status == 0
    return -solved.fun - lost, float(solved.x[:count] @ fold)


@pytest.mark.parametrize(
    ("posts", "first", "second", "dead"),
    [
        ({"stack": 10, "ante": "0.125"}, 0.5, 1.0, (0.125, 0.125)),
        ({"stack": 10}, 0.5, 1.0, (0.0, 0.0)),
        ({"stack": 10, "bb_ante": 1}, 0.5, 1.0, (0.0, 1.0)),
        ({"stack": "8.5", "small_blind": "2/5"}, 0.4, 1.0, (0.0, 0.0)),
        ({"stack": 10, "straddle": 2, "ante": "0.25"}, 1.0, 2.0, (0.25, 0.25)),
    ],
    ids=str,
)
def test_all_in_or_fold_has_the_value_of_a_linear_program(posts, first, second, dead):
    """With all other first actions forbidden, the model is the game of all-in or fold."""
    rules = Preflop(continuations=0, raises=1, **posts)
    mover = 1 if rules.straddle else 0
    expected, often = push_or_fold(first, second, dead, float(rules.most))
    game = rules.game
    others = [action for action in names(rules) if action not in ("fold", "all-in")]
    forbidden = [one for each in others for one in parse_constraint(f'"{each}" <= 0', game)]
    solution = solve(ConstrainedNash(game, forbidden), "dcfr", tol=0.002)
    lower, upper = (solution.lower, solution.upper) if mover == 0 else (-solution.upper, -solution.lower)
    assert lower - 1e-6 <= expected <= upper + 1e-6
    assert upper - lower <= 0.005
    assert SolvedPreflop(rules, solution.profile).at().frequencies["all-in"] == pytest.approx(often, abs=0.05)


def test_antes_widen_ranges():
    found = [push_or_fold(0.5, 1.0, (ante, ante), 10 - ante)[1] for ante in (0.0, 0.125, 0.25)]
    found.append(push_or_fold(0.5, 1.0, (0.0, 1.0), 9.0)[1])
    assert found == pytest.approx([0.583, 0.629, 0.660, 0.739], abs=0.005)


def test_what_both_earn_adds_up_to_the_pot_with_antes():
    rules = Preflop(stack=5, continuations=0, ante="0.125", bb_ante="0.5")
    solved = SolvedPreflop(rules, PublicProfile.uniform(rules.public_form))
    for line, pot in (("", 2.25), ("raise 2", 3.75), ("raise 2, all-in", 7.125)):
        node = solved.at(line)
        assert node.pot == pytest.approx(pot)
        assert node.averages["sb ev"] + node.averages["bb ev"] == pytest.approx(pot)
    assert dict(solved.at("raise 2, all-in").averages)["fold"] == pytest.approx(0.5)


@thorough
def test_the_value_of_a_flop_has_antes():
    """With one continuation, payoffs are those of the blueprint in the model played out."""
    rules = Preflop(stack=4, raises=1, continuations=1, bb_ante="0.5")
    tree, form = played_out(replace(rules, continuations=0)), rules.public_form
    played = blueprint(tree.rules)

    def before(node):
        there = tree.form.find(", ".join(map(str, form.path(node))))
        return played[tree.form.children[there]]

    whole, short = PublicProfile(tree.form, lambda node: played[tree.form.children[node]]), PublicProfile(form, before)
    for player in (0, 1):
        np.testing.assert_allclose(
            whole.counterfactual_values(player, 0), short.counterfactual_values(player, 0), atol=1e-7
        )
    assert form.is_zero_sum


@thorough
def test_uniform_play_of_three_is_zero_sum():
    game = load_game("three_handed:stack=6,ante=1/8,straddle=2")
    assert expected_payoffs(game, Profile.uniform(game)).sum() == pytest.approx(0.0, abs=1e-5)


def test_defaults_leave_games_as_they_were():
    game = load_game("preflop:stack=4.0,raises=1,continuations=0,ante=0,small_blind=0.5")
    assert game.spec == "preflop:stack=4,continuations=0,raises=1"
    assert (game.public_form.fingerprint, game.parameters["stack"]) == ("1b307103549d81d4", 4)
    assert repr(Preflop(stack=Fraction(10))) == repr(Preflop(stack=10.0)) == repr(Preflop(stack=10))
    assert load_game("three_handed:bb_ante=0").spec == "three_handed"
    assert load_game("preflop:stack=10.5,ante=0.125").spec == "preflop:stack=21/2,ante=1/8"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            "preflop:stack=2,ante=1",
            "stack = 2 with ante = 1, bb_ante = 0, straddle = 0; expected a stack of more than 2",
        ),
        ("three_handed:stack=4,straddle=4", "stack = 4 with .* straddle = 4; expected a stack of more than 4"),
        ("preflop:straddle=1.5", "straddle = 3/2; expected 0, or at least 2 big blinds"),
        ("preflop:straddle=2,small_blind=2/5", "small_blind = 2/5 with straddle = 2; expected one of the two"),
        ("preflop:small_blind=2", "small_blind = 2; expected a number of big blinds from 0 to 1"),
        ("preflop:ante=-1", "ante = -1; expected a number of big blinds from 0 to 100"),
        ("preflop:antes=1", r"unknown parameter 'antes' \(did you mean ante\?\)"),
        ("three_handed:ante=big", "ante = big; expected a number of big blinds from 0 to 100"),
    ],
)
def test_posts_that_cannot_be_are_refused(spec, said):
    with pytest.raises(TreeplexError, match=said):
        load_game(spec)


def test_hands_with_antes_count_in_a_model_with_antes():
    hand = """[1]
variant = 'NT'
antes = [1, 1]
blinds_or_straddles = [2, 5]
min_bet = 5
starting_stacks = [101, 101]
actions = ['d dh p1 ????', 'd dh p2 AcAd', 'p2 cbr 10', 'p1 f']
players = ['them', 'us']
"""
    model = load_game("preflop:stack=20,continuations=0,ante=1/5,small_blind=2/5")
    seen = hand_observations(HandHistories(io.BytesIO(hand.encode())), model, 0, name="us")
    assert seen.passed[seen.form.find("raise 2, fold")] == 1
    other = hand_observations(
        HandHistories(io.BytesIO((hand + hand.replace("[1]", "[2]", 1).replace("[1, 1]", "[0, 0]")).encode())),
        model,
        0,
        name="us",
    )
    assert other.left_out == {"other blinds": 1}
