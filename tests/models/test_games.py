"""The families of games: their trees walked to the end, hand-played histories, and OpenSpiel's games beside them."""

import itertools
import random
from collections import Counter
from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from effort import few
from optimal_plans import optimal_range

from treeplex import CHANCE, TERMINAL, Game, InvalidGameError, load_game
from treeplex.models.games import (
    Coin,
    DepthLimitedFigure2,
    DepthLimitedFigure10,
    GadgetTrap1,
    GadgetTrap2,
    Goofspiel,
    Kuhn,
    Leduc,
    LiarsDice,
    MatchingPennies,
    RepeatedRockPaperScissors,
    RockPaperScissors,
)


class Walk:
    """Everything that one walk over a game finds; it checks what has to hold at each history."""

    def __init__(self, rules):
        self.nodes = self.leaves = 0
        #: By player: label to (actions, the mover's own infosets and actions before).
        self.infosets = [{} for _ in range(rules.num_players)]
        #: Chance-weighted payoffs by what everybody did, and how many leaves share it.
        self.outcomes = {}
        stack = [(rules.initial_state(), Fraction(1), ((),) * rules.num_players)]
        while stack:
            state, reach, pasts = stack.pop()
            self.nodes += 1
            hash(state)
            mover = rules.player(state)
            if mover == TERMINAL:
                payoffs = rules.payoffs(state)
                assert len(payoffs) == rules.num_players
                assert all(type(payoff) in (int, Fraction) for payoff in payoffs)
                assert sum(payoffs) == 0
                self.leaves += 1
                self.outcomes.setdefault(pasts, []).append((reach, tuple(payoffs)))
            elif mover == CHANCE:
                outcomes = rules.chance_outcomes(state)
                assert len({outcome for outcome, _ in outcomes}) == len(outcomes)
                assert all(type(chance) is Fraction and chance > 0 for _, chance in outcomes)
                assert sum(chance for _, chance in outcomes) == 1
                stack += [(rules.child(state, outcome), reach * chance, pasts) for outcome, chance in outcomes]
            else:
                actions, label = tuple(rules.actions(state)), rules.infoset(state)
                assert actions
                assert len(set(actions)) == len(actions)
                # The same actions, and perfect recall: the same own past wherever the infoset is met.
                assert self.infosets[mover].setdefault(label, (actions, pasts[mover])) == (actions, pasts[mover])
                for action in actions:
                    past = (*pasts[mover], (label, action))
                    stack.append((rules.child(state, action), reach, (*pasts[:mover], past, *pasts[mover + 1 :])))

    @property
    def sizes(self):
        """Sequences and infosets, a pair a player."""
        return [(1 + sum(len(actions) for actions, _ in found.values()), len(found)) for found in self.infosets]

    def value(self, reach):
        """Return player 0's expected payoff where each player reaches a past with the given probability."""
        return sum(
            reach(past0) * reach(past1) * chance * payoffs[0]
            for (past0, past1), leaves in self.outcomes.items()
            for chance, payoffs in leaves
        )


def play(rules, *steps):
    """Return the state after these outcomes and actions, each checked to be there."""
    state = rules.initial_state()
    for step in steps:
        chance = rules.player(state) == CHANCE
        assert step in (dict(rules.chance_outcomes(state)) if chance else rules.actions(state))
        state = rules.child(state, step)
    return state


SIZES = [
    (Kuhn(), 58, 30, (13, 6)),
    (Kuhn(cards=2), 21, 10, (9, 4)),
    (Kuhn(cards=12), 1201, 660, (49, 24)),
    (Kuhn(players=3), 617, 312, (33, 16)),
    (Leduc(), 9457, 5520, (1093, 468)),
    (Leduc(merge_suits=True), 1939, 1116, (337, 144)),
    (Leduc(ranks=6, merge_suits=True), 16297, 9594, (1303, 558)),
    (Leduc(suits=4, merge_suits=True), 2164, 1251, (337, 144)),
    (Leduc(players=3, ranks=2, merge_suits=True), 6913, 3786, (1443, 630)),
    (LiarsDice(), 8181, 4080, (1021, 512)),
    (LiarsDice(wild=False), 8181, 4080, (1021, 512)),
    (LiarsDice(dice=2, sides=2), 4603, 2295, (766, 384)),
    (LiarsDice(players=3, sides=2), 1023, 504, [(85, 44), (85, 42), (85, 42)]),
    (Goofspiel(cards=2), 7, 4, (3, 1)),
    (Goofspiel(), 1077, 576, (175, 81)),
    (Goofspiel(order="ascending", payoff="win_loss"), 1077, 576, (175, 81)),
    (Goofspiel(cards=5), 26931, 14400, (2284, 1062)),
    (Goofspiel(order="random"), 26773, 13824, (3737, 1804)),
    (MatchingPennies(), 7, 4, (3, 1)),
    (RockPaperScissors(), 13, 9, (4, 1)),
    (RepeatedRockPaperScissors(), 121, 81, (31, 10)),
    (RepeatedRockPaperScissors(rounds=3), 1093, 729, (274, 91)),
    (DepthLimitedFigure2(), 15, 8, [(3, 1), (7, 3)]),
    (Coin(), 15, 8, [(3, 1), (5, 2)]),
    (DepthLimitedFigure10(), 9, 5, [(3, 1), (5, 2)]),
    (GadgetTrap1(), 19, 15, [(6, 1), (4, 1)]),
    (GadgetTrap2(), 33, 25, [(6, 1), (6, 2)]),
]


@few
@pytest.mark.parametrize(("rules", "nodes", "leaves", "sizes"), SIZES, ids=lambda value: repr(value)[:60])
def test_walk(rules, nodes, leaves, sizes):
    walk = Walk(rules)
    assert (walk.nodes, walk.leaves) == (nodes, leaves)
    assert walk.sizes == (sizes if isinstance(sizes, list) else [sizes] * rules.num_players)


@pytest.mark.slow
def test_goofspiel_with_six_cards():
    walk = Walk(Goofspiel(cards=6))
    assert (walk.nodes, walk.leaves, walk.sizes) == (969_523, 518_400, [(37_039, 17_241)] * 2)
    payoffs = Counter()
    for pasts, leaves in walk.outcomes.items():
        for _, (payoff, _) in leaves:
            payoffs[pasts] += payoff
    assert sum(payoff != 0 for payoff in payoffs.values()) == 493_608


def test_rules_are_frozen_values():
    assert Leduc(ranks=6) == Leduc(ranks=6) != Leduc()
    assert Kuhn() == Kuhn(cards=3)
    assert hash(Kuhn()) == hash(Kuhn(cards=3))
    assert repr(Kuhn()) == "Kuhn(players=2, cards=3)"
    with pytest.raises(FrozenInstanceError):
        Kuhn().players = 3


def test_infosets_of_kuhn():
    walk = Walk(Kuhn())
    assert set(walk.infosets[0]) == {"J_", "Q_", "K_", "J_pb", "Q_pb", "K_pb"}
    assert set(walk.infosets[1]) == {f"{card}_{history}" for card in "JQK" for history in "pb"}
    assert {label[0] for label in Walk(Kuhn(cards=4)).infosets[0]} == set("TJQK")
    assert {label.split("_")[0] for label in Walk(Kuhn(cards=14)).infosets[0]} == {str(card) for card in range(1, 15)}
    assert {label[0] for label in Walk(Kuhn(cards=13)).infosets[0]} == set("23456789TJQKA")


@pytest.mark.parametrize(
    ("cards", "actions", "payoffs"),
    [
        ("JQ", "pp", (-1, 1)),
        ("KQ", "pp", (1, -1)),
        ("JK", "bp", (1, -1)),
        ("QK", "bb", (-2, 2)),
        ("KJ", "pbp", (-1, 1)),
        ("KJ", "pbb", (2, -2)),
        ("TJK", "ppp", (-1, -1, 2)),
        ("TJK", "bpp", (2, -1, -1)),
        ("TJK", "bpb", (-2, -1, 3)),
        ("KQT", "pbbb", (4, -2, -2)),
        ("KQT", "pbpp", (-1, 2, -1)),
        ("JQT", "ppbpb", (-1, 3, -2)),
    ],
)
def test_payoffs_of_kuhn(cards, actions, payoffs):
    rules = Kuhn(players=len(cards))
    state = play(rules, *cards, *actions)
    assert rules.player(state) == TERMINAL
    assert rules.payoffs(state) == payoffs


def test_a_deal_of_all_cards():
    assert Walk(Kuhn(players=3, cards=3)).leaves == 6 * 13


@pytest.mark.parametrize(
    ("rules", "steps", "payoffs"),
    [
        (Leduc(), ("Ks", "Qs", "r", "f"), (1, -1)),
        (Leduc(), ("Ks", "Qs", "r", "r", "f"), (-3, 3)),
        (Leduc(), ("Ks", "Qs", "c", "c", "Js", "c", "c"), (1, -1)),
        (Leduc(), ("Ks", "Qs", "c", "c", "Qh", "c", "r", "c"), (-5, 5)),
        (Leduc(), ("Ks", "Kh", "r", "r", "c", "Qh", "r", "r", "c"), (0, 0)),
        (Leduc(), ("Js", "Qs", "r", "r", "c", "Jh", "r", "r", "c"), (13, -13)),
        (Leduc(bet1=1, bet2=10, raises=3), ("Js", "Qs", "r", "r", "r", "c", "Ks", "c", "r", "f"), (-4, 4)),
        (Leduc(ties="suit"), ("Ks", "Kh", "r", "r", "c", "Qh", "r", "r", "c"), (13, -13)),
        (Leduc(ties="suit"), ("Kh", "Ks", "c", "r", "c", "Qh", "c", "c"), (-3, 3)),
        (Leduc(ties="suit"), ("Js", "Qs", "r", "r", "c", "Jh", "r", "r", "c"), (13, -13)),
        (Leduc(players=3, ranks=4, ties="suit"), ("Ks", "Kh", "Qs", "c", "c", "c", "Js", "c", "c", "c"), (2, -1, -1)),
        (Leduc(merge_suits=True), ("K", "K", "c", "r", "c", "J", "c", "c"), (0, 0)),
        (Leduc(ranks=1, suits=4, merge_suits=True), ("K", "K", "c", "c", "K", "c", "c"), (0, 0)),
        (
            Leduc(players=3, ranks=4),
            ("Ks", "Kh", "Qs", "r", "c", "c", "Js", "c", "c", "c"),
            (Fraction(3, 2), Fraction(3, 2), -3),
        ),
        (Leduc(players=3, ranks=4), ("Ks", "Kh", "Qs", "r", "f", "c", "Js", "r", "f"), (4, -1, -3)),
        (Leduc(players=3, ranks=4), ("Ks", "Kh", "Qs", "c", "r", "c", "f", "Qh", "c", "c"), (-1, -3, 4)),
        (
            Leduc(players=3, ranks=4),
            ("Ks", "Kh", "Qs", "c", "r", "f", "c", "Qh", "c", "c"),
            (Fraction(1, 2), Fraction(1, 2), -1),
        ),
    ],
)
def test_payoffs_of_leduc(rules, steps, payoffs):
    state = play(rules, *steps)
    assert rules.player(state) == TERMINAL
    assert rules.payoffs(state) == payoffs


def test_leduc_is_labelled_by_what_the_mover_has_seen():
    rules = Leduc()
    assert rules.infoset(play(rules, "Ks", "Qh")) == "Ks_"
    assert rules.infoset(play(rules, "Ks", "Qh", "r")) == "Qh_r"
    assert rules.infoset(play(rules, "Ks", "Qh", "r", "c", "Kh", "c")) == "Qh_rc_Kh_c"


def test_leduc_folds_and_raises_only_where_they_mean_something():
    rules = Leduc(merge_suits=True)
    assert rules.actions(play(rules, "K", "Q")) == ("c", "r")
    assert rules.actions(play(rules, "K", "Q", "r")) == ("f", "c", "r")
    assert rules.actions(play(rules, "K", "Q", "r", "r")) == ("f", "c")
    assert rules.actions(play(rules, "K", "Q", "r", "r", "c", "Q")) == ("c", "r")


def test_merged_suits_weigh_ranks_by_the_cards_left():
    rules = Leduc(merge_suits=True)
    assert dict(rules.chance_outcomes(play(rules, "K"))) == {
        "J": Fraction(2, 5),
        "Q": Fraction(2, 5),
        "K": Fraction(1, 5),
    }
    board = play(rules, "K", "K", "c", "c")
    assert dict(rules.chance_outcomes(board)) == {"J": Fraction(1, 2), "Q": Fraction(1, 2)}


@pytest.mark.parametrize("suits", [2, 3])
def test_merging_suits_changes_no_value(suits):
    """A strategy that does not look at suits earns the same in both games, here one with a bias to raise."""

    def earned(rules):
        walk = Walk(rules)

        def reach(past):
            probability = Fraction(1)
            for label, action in past:
                player = next(seat for seat in (0, 1) if label in walk.infosets[seat])
                weights = {a: {"f": 1, "c": 2, "r": 4}[a] for a in walk.infosets[player][label][0]}
                if label[0] == "K":
                    weights[action] += 0 if action == "f" else 3
                probability *= Fraction(weights[action], sum(weights.values()))
            return probability

        return walk.value(reach)

    assert earned(Leduc(ranks=2, suits=suits)) == earned(Leduc(ranks=2, suits=suits, merge_suits=True))


@pytest.mark.parametrize(
    ("rules", "steps", "payoffs"),
    [
        (LiarsDice(), ("1", "2", "1x1", "liar"), (1, -1)),
        (LiarsDice(), ("3", "2", "1x1", "liar"), (-1, 1)),
        (LiarsDice(), ("3", "4", "1x1", "liar"), (1, -1)),
        (LiarsDice(wild=False), ("3", "4", "1x1", "liar"), (-1, 1)),
        (LiarsDice(), ("3", "4", "1x1", "2x3", "liar"), (-1, 1)),
        (LiarsDice(), ("3", "4", "1x1", "2x4", "liar"), (1, -1)),
        (LiarsDice(wild=False), ("4", "4", "1x1", "2x4", "liar"), (-1, 1)),
        (LiarsDice(dice=2), ("1.4", "2.4", "3x1", "liar"), (1, -1)),
        (LiarsDice(players=3), ("1", "1", "1", "1x1", "2x1", "3x1", "liar"), (-1, 0, 1)),
        (LiarsDice(players=3), ("1", "1", "2", "1x1", "3x1", "liar"), (0, -1, 1)),
        (LiarsDice(sides=12), ("11", "2", "1x11", "liar"), (1, -1)),
    ],
)
def test_payoffs_of_liars_dice(rules, steps, payoffs):
    state = play(rules, *steps)
    assert rules.player(state) == TERMINAL
    assert rules.payoffs(state) == payoffs


def test_liars_dice_rolls_hands_with_multinomial_chances():
    rules = LiarsDice(dice=2, sides=2)
    assert rules.chance_outcomes(rules.initial_state()) == (
        ("1.1", Fraction(1, 4)),
        ("1.2", Fraction(1, 2)),
        ("2.2", Fraction(1, 4)),
    )
    state = play(rules, "1.2", "2.2", "1x1", "4x2")
    assert rules.infoset(state) == "1.2_1x1_4x2"
    assert rules.actions(state) == ("liar",)


@pytest.mark.parametrize(
    ("rules", "steps", "payoff"),
    [
        (Goofspiel(), ("4", "1", "1", "4", "2", "3"), 4 - 3 - 2 + 1),
        (Goofspiel(), ("4", "4", "3", "3", "2", "2"), 0),
        (Goofspiel(order="ascending"), ("1", "2", "2", "3", "3", "4"), -1 - 2 - 3 + 4),
        (Goofspiel(payoff="win_loss"), ("4", "1", "1", "4", "3", "2"), 1),
        (Goofspiel(payoff="win_loss"), ("4", "1", "1", "4", "2", "3"), 0),
        (Goofspiel(order="random"), ("2", "4", "1", "1", "1", "4", "4", "2", "3"), 2 - 1 - 4 + 3),
        (Goofspiel(cards=2), ("2", "1"), 2 - 1),
    ],
)
def test_payoffs_of_goofspiel(rules, steps, payoff):
    state = play(rules, *steps)
    assert rules.player(state) == TERMINAL
    assert rules.payoffs(state) == (payoff, -payoff)


def test_goofspiel_hides_the_bids():
    rules = Goofspiel()
    bidding = [play(rules, *first) for first in ("1", "4")]
    assert {rules.player(state) for state in bidding} == {1}
    assert {rules.infoset(state) for state in bidding} == {"_"}
    after = [play(rules, "3", lower) for lower in ("1", "2")]
    assert {rules.infoset(state) for state in after} == {"_3w"}
    assert rules.infoset(play(rules, "3", "2", "1")) == "_2l"
    assert rules.infoset(play(rules, "3", "3")) == "_3t"
    random_order = Goofspiel(order="random")
    assert random_order.infoset(play(random_order, "3", "4", "1", "2")) == "_3.4w2."


@pytest.mark.parametrize("order", ["descending", "ascending", "random"])
def test_goofspiel_is_symmetric(order):
    walk = Walk(Goofspiel(cards=3, order=order))
    assert walk.infosets[0] == walk.infosets[1]
    swapped = {
        (second, first): sorted((chance, payoffs[::-1]) for chance, payoffs in leaves)
        for (first, second), leaves in walk.outcomes.items()
    }
    assert {pasts: sorted(leaves) for pasts, leaves in walk.outcomes.items()} == swapped


def test_biased_rock_paper_scissors_has_its_known_equilibrium():
    stakes = {"rock": Fraction(1, 2), "paper": Fraction(1, 4), "scissors": Fraction(1, 20)}
    rules = RockPaperScissors(**stakes)
    total = sum(stakes.values())
    equilibrium = {
        move: stakes[stake] / total for move, stake in zip("RPS", ("scissors", "rock", "paper"), strict=True)
    }
    assert list(equilibrium.values()) == [Fraction(1, 16), Fraction(10, 16), Fraction(5, 16)]
    for answer in "RPS":
        assert sum(chance * rules.payoffs(move + answer)[0] for move, chance in equilibrium.items()) == 0


BIASED = "rock=1/2,paper=1/4,scissors=1/20"
BIASED_EQUILIBRIUM = {"R": 1 / 16, "P": 10 / 16, "S": 5 / 16}


@pytest.mark.parametrize("player", [0, 1])
def test_biased_rock_paper_scissors_has_no_other_equilibrium(player):
    game = load_game(f"rps:{BIASED}")
    for move, chance in BIASED_EQUILIBRIUM.items():
        assert optimal_range(game, player, "_", move) == pytest.approx([chance, chance], abs=1e-6)


@pytest.mark.parametrize("player", [0, 1])
def test_each_round_of_the_repeated_biased_game_has_the_equilibrium_of_one(player):
    game = load_game(f"repeated_rps:{BIASED}")
    for label in game.sequence_form.treeplexes[player].infoset_labels:
        reach = BIASED_EQUILIBRIUM[label[1 + player]] if len(label) > 1 else 1
        for move, chance in BIASED_EQUILIBRIUM.items():
            assert optimal_range(game, player, label, move) == pytest.approx([reach * chance] * 2, abs=1e-6)


def test_the_second_round_is_the_one_shot_game_after_every_first_one():
    stakes = dict(item.split("=") for item in BIASED.split(","))
    twice, once = RepeatedRockPaperScissors(**stakes), RockPaperScissors(**stakes)
    moves = list(itertools.product("RPS", repeat=2))
    for first in moves:
        before = play(twice, *first)
        won = once.payoffs("".join(first))[0]
        assert (twice.player(before), twice.infoset(before)) == (0, f"_{first[0]}{first[1]}")
        for second in moves:
            after = play(twice, *first, *second)
            assert twice.player(after) == TERMINAL
            assert twice.payoffs(after)[0] - won == once.payoffs("".join(second))[0]
            # Player 1 sees the first round, and nothing of the second.
            assert twice.infoset(play(twice, *first, second[0])) == twice.infoset(before)


def test_floats_are_read_as_decimals():
    assert RockPaperScissors(rock=0.5, paper="1/4", scissors=0.05) == RockPaperScissors(
        Fraction(1, 2), Fraction(1, 4), Fraction(1, 20)
    )


def test_repeated_rounds_add_up_and_are_seen():
    rules = RepeatedRockPaperScissors(rock=Fraction(3), rounds=3)
    state = play(rules, *"RSPP")
    assert (rules.player(state), rules.infoset(state)) == (0, "_RSPP")
    assert rules.infoset(rules.child(state, "R")) == "_RSPP"
    assert rules.payoffs(play(rules, *"RSPPSP")) == (4, -4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Kuhn(players=1), "kuhn: players = 1; expected an integer from 2 to 10"),
        (lambda: Kuhn(players=4, cards=3), "kuhn: cards = 3 for 4 players; expected at least one card each"),
        (lambda: Kuhn(players=2.0), "kuhn: players = 2.0; expected an integer from 2 to 10"),
        (lambda: Kuhn(players=True), "kuhn: players = true; expected an integer from 2 to 10"),
        (lambda: Leduc(ranks=1), "leduc: ranks = 1 and suits = 2 make 2 cards; expected at least 3"),
        (lambda: Leduc(suits=5), "leduc: suits = 5; expected at most 4, or any number with merge_suits=true"),
        (lambda: Leduc(ties="suit", merge_suits=True), "expected ties=split or merge_suits=false"),
        (lambda: Leduc(merge_suits=1), "leduc: merge_suits = 1; expected true or false"),
        (lambda: Goofspiel(order="shuffled"), "goofspiel: order = shuffled; expected one of descending, ascending"),
        (lambda: Goofspiel(order=[]), r"goofspiel: order = \[\]; expected one of descending, ascending"),
        (lambda: RockPaperScissors(rock=-1), "rps: rock = -1; expected a number of at least 0"),
        (lambda: RockPaperScissors(rock=float("nan")), "rps: rock = nan; expected a number"),
        (lambda: RockPaperScissors(rock=None), "rps: rock = None; expected a number"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(InvalidGameError, match=message):
        make()


# OpenSpiel's games, walked beside ours. Its actions are numbers; each translation below says what ours are called.


def _kuhn(rules, state, mover, action):
    return rules._deck[action] if mover == CHANCE else "pb"[action]


def _leduc(rules, state, mover, action):
    if mover == CHANCE:
        ranks = list(rules._strength)
        return ranks[action]
    return "fcr"[action]


def _liars_dice(rules, state, mover, action):
    if mover == CHANCE:
        return str(action + 1)
    return (*rules._bids, "liar")[action]


def _goofspiel(rules, state, mover, action):
    return str(action + 1)


def compare(rules, spiel_state, translate, scale=1):
    """Walk both games at once; return how many histories, leaves and infosets a player they have."""
    nodes = leaves = 0
    pairs = [set() for _ in range(rules.num_players)]
    stack = [(rules.initial_state(), spiel_state)]
    while stack:
        state, spiel = stack.pop()
        nodes += 1
        mover = rules.player(state)
        if mover == TERMINAL:
            assert spiel.is_terminal()
            assert [scale * payoff for payoff in spiel.returns()] == pytest.approx(rules.payoffs(state), abs=1e-12)
            leaves += 1
            continue
        assert spiel.current_player() == mover
        if mover == CHANCE:
            theirs = {translate(rules, state, mover, action): chance for action, chance in spiel.chance_outcomes()}
            assert theirs == pytest.approx({label: float(chance) for label, chance in rules.chance_outcomes(state)})
        else:
            theirs = [translate(rules, state, mover, action) for action in spiel.legal_actions()]
            assert theirs == list(rules.actions(state))
            pairs[mover].add((rules.infoset(state), spiel.information_state_string(mover)))
        for action in spiel.legal_actions():
            follower = spiel.child(action)
            # A draw of the only prize left is an event there and none here.
            while follower.is_chance_node() and len(follower.legal_actions()) == 1:
                follower.apply_action(follower.legal_actions()[0])
            stack.append((rules.child(state, translate(rules, state, mover, action)), follower))
    for found in pairs:
        # Each of our infosets is one of theirs, and the other way round.
        assert len({ours for ours, _ in found}) == len({theirs for _, theirs in found}) == len(found)
    return nodes, leaves, [len(found) for found in pairs]


@pytest.mark.parametrize(
    ("rules", "spec", "translate", "scale"),
    [
        (Kuhn(), "kuhn_poker", _kuhn, 1),
        (Kuhn(players=3), "kuhn_poker(players=3)", _kuhn, 1),
        (Kuhn(players=4), "kuhn_poker(players=4)", _kuhn, 1),
        (Leduc(), "leduc_poker", _leduc, 1),
        (LiarsDice(), "liars_dice(dice_sides=4)", _liars_dice, 1),
        (LiarsDice(sides=3), "liars_dice(dice_sides=3)", _liars_dice, 1),
        *(
            (
                Goofspiel(order=order, payoff=payoff),
                f"goofspiel(imp_info=True,num_cards=4,points_order={order},returns_type={returns})",
                _goofspiel,
                scale,
            )
            for order, payoff, returns, scale in [
                ("descending", "points", "point_difference", 2),
                ("ascending", "points", "point_difference", 2),
                ("descending", "win_loss", "win_loss", 1),
                ("random", "points", "point_difference", 2),
            ]
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_same_game_as_in_openspiel(rules, spec, translate, scale):
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game_as_turn_based(spec)
    nodes, leaves, infosets = compare(rules, game.new_initial_state(), translate, scale)
    walk = Walk(rules)
    assert (nodes, leaves, infosets) == (walk.nodes, walk.leaves, [count for _, count in walk.sizes])


def test_leduc_for_three_players_along_random_histories_of_openspiel():
    pyspiel = pytest.importorskip("pyspiel")
    rng = random.Random(1)
    rules = Leduc(players=3, ranks=4)
    game = pyspiel.load_game("leduc_poker(players=3)")
    for _ in range(20_000):
        state, spiel = rules.initial_state(), game.new_initial_state()
        while not spiel.is_terminal():
            mover = spiel.current_player()
            assert rules.player(state) == mover
            if mover != CHANCE:
                assert ["fcr"[action] for action in spiel.legal_actions()] == list(rules.actions(state))
            action = rng.choice(spiel.legal_actions())
            state = rules.child(state, _leduc(rules, state, mover, action))
            spiel.apply_action(action)
        assert rules.player(state) == TERMINAL
        assert spiel.returns() == pytest.approx(rules.payoffs(state))


def test_liars_dice_with_two_dice_is_openspiels_with_the_rolls_merged():
    pyspiel = pytest.importorskip("pyspiel")
    rules = LiarsDice(dice=2, sides=2)
    game = pyspiel.load_game("liars_dice(numdice=2,dice_sides=2)")
    pairs = [set(), set()]
    leaves = 0

    def bid(state, spiel):
        nonlocal leaves
        if spiel.is_terminal():
            leaves += 1
            assert spiel.returns() == list(rules.payoffs(state))
            return
        mover = spiel.current_player()
        assert rules.player(state) == mover
        pairs[mover].add((rules.infoset(state), spiel.information_state_string(mover)))
        labels = [_liars_dice(rules, state, mover, action) for action in spiel.legal_actions()]
        assert labels == list(rules.actions(state))
        for action, label in zip(spiel.legal_actions(), labels, strict=True):
            bid(rules.child(state, label), spiel.child(action))

    for rolls in range(16):
        dice = [1 + (rolls >> die & 1) for die in range(4)]
        spiel = game.new_initial_state()
        for die in dice:
            spiel.apply_action(die - 1)
        hands = [".".join(map(str, sorted(hand))) for hand in (dice[:2], dice[2:])]
        bid(play(rules, *hands), spiel)
    # Four orders of rolls where ours are three hands, for each player.
    assert leaves == Walk(rules).leaves // 9 * 16
    for found in pairs:
        assert len({ours for ours, _ in found}) == len({theirs for _, theirs in found}) == len(found) == 384


@pytest.mark.parametrize(
    "spec",
    ["kuhn", "kuhn:players=3,cards=5", "leduc", "leduc:players=3,ranks=2,merge_suits=true",
     "leduc:ranks=2,bet1=3,bet2=7,raises=3", "goofspiel:cards=3", "goofspiel:cards=3,payoff=win_loss",
     "goofspiel:cards=3,order=random", "liars_dice:dice=1,sides=3", "coin"],
)  # fmt: skip
def test_payoff_ranges_are_those_of_the_leaves(spec):
    """What rules state without being walked is what their leaves have, which are walked here; trees are looked at."""
    game = load_game(spec)
    stated = game.payoff_range or Game.from_tree(game.tree).payoff_range
    paid = game.sequence_form.leaves.payoffs[:, 0]
    assert stated == (paid.min(), paid.max()) or (spec.startswith("goofspiel") and stated[0] < paid.min())
    assert stated[0] <= paid.min() <= paid.max() <= stated[1]


def test_payoff_ranges_that_are_not_stated_are_not_known():
    assert load_game("matching_pennies").payoff_range is None
    assert Game.from_sequence_form(load_game("kuhn").sequence_form).payoff_range is None
