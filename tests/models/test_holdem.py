"""Hold'em after the flop: cards, sizes, trees, payoffs, and spots whose answers are known."""

import itertools

import numpy as np
import pytest
from effort import thorough

from treeplex import ConstrainedNash, Game, Nash, RestrictedNash, SequenceForm, Strategy, solve
from treeplex.models.games.holdem import HoldemSpot, Range, read_board
from treeplex.models.games.holdem.bets import Betting, Size
from treeplex.models.games.holdem.cards import HAND_NAMES, HANDS, RangeWarning, hand_numbers, read_cards
from treeplex.models.games.holdem.showdown import fold_payoff, showdown_payoff
from treeplex.seqform import InvalidGameError

phevaluator = pytest.importorskip("phevaluator")

OOP = "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s"
IP = "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+"
ALL = "random"


def river() -> HoldemSpot:
    return HoldemSpot("Td9d6hQc2s", [OOP, IP], 200, 900, Betting("60%, e, a", "2.5x"))


# Ranges


@pytest.mark.parametrize(
    ("text", "combinations"),
    [
        ("AA", 6),
        ("66+", 54),
        ("QQ-22", 66),
        ("22-QQ", 66),
        ("AKs", 4),
        ("AKo", 12),
        ("AK", 16),
        ("KA", 16),
        ("A2s+", 48),
        ("A5s-A2s", 16),
        ("K9o+", 48),
        ("AsKh", 1),
        ("random", 1326),
        ("QQ+, AKs, A5s-A2s:0.5", 30),
        ("aa , kk:0.25,", 7.5),
        ("AA:0.25, QQ+:0.25", 4.5),
        ("98s-65s", 16),
        ("65s-98s", 16),
        ("56s-89s", 16),
        ("KQo-JTo", 36),
        ("T8s-64s", 20),
        ("K9-T6:0.5", 32),
        ("AA@50, KK@12.5%, 22@1%, QQ@100", 3 + 0.75 + 0.06 + 6),
        ("[50]AA,KK[/50],[25.0]QQ[/25]", 7.5),
        ("[50%]AKs, 98s-65s[/50%], JJ", 16),
    ],
)
def test_ranges_are_read_as_players_write_them(text, combinations):
    assert Range.parse(text).combinations == pytest.approx(combinations)


@pytest.mark.parametrize("kind", ["", "s", "o"])
def test_intervals_in_which_both_cards_fall_are_those_of_pokerkit(kind):
    pokerkit = pytest.importorskip("pokerkit")
    ranks = "AKQJT98765432"
    for start, end in [(0, 11), (3, 8), (11, 5), (4, 4)]:
        for gap in (1, 2, 3, 5):
            if max(start, end) + gap >= len(ranks):
                continue
            text = "-".join(ranks[one] + ranks[one + gap] + kind for one in (start, end))
            ours = {HAND_NAMES[hand] for hand in np.flatnonzero(Range.parse(text).weights)}
            theirs = {"".join(sorted(map(repr, two))) for two in pokerkit.parse_range(text)}
            assert {"".join(sorted((name[:2], name[2:]))) for name in ours} == theirs


@pytest.mark.parametrize(
    ("text", "said", "combinations"),
    [
        ("QQ+:0.5, KK", "at character 10, 'KK': K.K. has the weight 0.5 from an earlier item and 1 from this", 12),
        ("KK, QQ+:0.5", "at character 5, 'QQ\\+:0.5': K.K. has the weight 1 from an earlier item and 0.5 from this", 9),
        ("AA, AsAh:0", "'AsAh:0': AsAh has the weight 1 from an earlier item and 0 from this one, which applies$", 5),
        ("T9s-76s@25, [50]98s[/50]", "9.8. has the weight 0.25 from .*, which applies, and 3 more hands", 5),
        ({"random": 0.1, "72o": 0.2}, "7.2. has the weight 0.1 from .* and 0.2", 133.8),
    ],
)
def test_hands_with_several_weights_are_noted(text, said, combinations):
    with pytest.warns(RangeWarning, match=said) as caught:
        found = Range.parse(text)
    assert (len(caught), found.combinations) == (1, pytest.approx(combinations))


def test_hands_have_the_numbers_that_they_stand_at():
    assert np.array_equal(hand_numbers(HANDS), np.arange(len(HANDS)))
    assert np.array_equal(hand_numbers(HANDS[:, ::-1]), np.arange(len(HANDS)))


def test_hands_of_an_item_are_those_meant():
    weights = Range.parse("A5s-A4s").weights
    assert {HAND_NAMES[hand] for hand in np.flatnonzero(weights)} == {
        f"A{suit}{rank}{suit}" for suit in "cdhs" for rank in "54"
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AKs+", "range at character 1, 'AKs\\+': .* write AKs"),
        ("QQ, 54s+", "range at character 5, '54s\\+': .* write 54s"),
        ("AKx", "'AKx': expected AA, 66\\+"),
        ("AAs", "a pair is neither suited nor offsuit; write AA"),
        ("AA:1.5", "the weight is '1.5', expected a number from 0 to 1; write 0.015"),
        ("AA:", "the weight is '', expected a number from 0 to 1"),
        ("A5s-K2s", "the ends of an interval must be two pairs, or have the same higher card or gap"),
        ("A5s-A2o", "the ends of an interval"),
        ("QQ+-22", "\\+ and - cannot be combined"),
        ("AsAs", "As appears twice"),
        (7, "the range is 7, expected a string"),
    ],
)
def test_ranges_that_are_none_are_refused_where_they_are_wrong(text, message):
    with pytest.raises(InvalidGameError, match=message):
        Range.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Td9d", "2 cards, expected a flop, turn or river"),
        ("Td9d6hQc2s3s", "6 cards"),
        ("Td9dTd", "Td appears twice"),
        ("10d9d6h", "at character 1: '10' is not a card, .*; write Td9d6h"),
        ("Td9d6", "'6' is not a card"),
        (None, "board is None, expected a string"),
    ],
)
def test_boards_that_are_none_are_refused(text, message):
    with pytest.raises(InvalidGameError, match=message):
        read_board(text)


# Sizes and trees


def test_the_tree_of_a_river_has_the_sizes_on_record():
    form = river().public_form
    tree = {form.path(node): [form.actions[child] for child in form.children[node]] for node in form.decisions}
    assert len(tree) == 10
    assert form.num_leaves == 17
    assert tree[()] == tree["check",] == ["check", "bet 120", "all-in"]
    assert tree["bet 120",] == ["fold", "call", "raise 300"]
    assert tree["bet 120", "raise 300"] == ["fold", "call", "all-in"]
    assert tree["bet 120", "raise 300", "all-in"] == ["fold", "call"]


def test_the_tree_of_a_wide_river_has_the_sizes_on_record():
    spot = HoldemSpot("Td9d6hQc2s", ["AA", "KK"], 200, 900, Betting("50%, 100%, a", "2.5x, a"))
    form = spot.public_form
    tree = {form.path(node): [form.actions[child] for child in form.children[node]] for node in form.decisions}
    assert (len(tree), form.num_leaves) == (24, 45)
    assert tree[()] == ["check", "bet 100", "bet 200", "all-in"]
    assert tree["bet 100",] == ["fold", "call", "raise 250", "all-in"]
    assert tree["bet 100", "raise 250"] == ["fold", "call", "raise 625", "all-in"]
    assert tree["bet 100", "raise 250", "raise 625"] == ["fold", "call", "all-in"]
    assert tree["bet 200",] == ["fold", "call", "raise 500", "all-in"]
    assert tree["bet 200", "raise 500"] == ["fold", "call", "all-in"]


def test_the_tree_of_a_turn_has_the_sizes_on_record():
    betting = Betting("60%, e, a", "2.5x", {"river": "50%"})
    form = HoldemSpot("Td9d6hQc", ["AA", "KK"], 200, 900, betting).public_form
    dealt = [any(len(str(action)) == 2 for action in form.path(node)) for node in form.decisions]
    assert (dealt.count(False), dealt.count(True)) == (18, 2736)
    # Out of position into the player who bet last: 50 %, not 60 %.
    after = {form.path(node): [form.actions[child] for child in form.children[node]] for node in form.decisions}
    assert after["check", "bet 120", "call", "As"] == ["check", "bet 220"]
    assert after["bet 120", "call", "As"] == ["check", "bet 264", "all-in"]


def test_a_geometric_bet_is_all_in_at_the_end():
    betting = Betting("e", "e")
    assert betting.amounts([Size("e")], 100, 0, 1, 400, 2) == (100,)
    assert betting.amounts([Size("e")], 300, 0, 1, 300, 1) == (300,)
    assert betting.amounts([Size("e", 3)], 100, 0, 1, 1300, 1) == (100,)
    assert betting.amounts([Size("e", 0, 60.0)], 100, 0, 1, 400, 2) == (60,)
    assert betting.amounts([Size("e", 0, 200.0)], 100, 0, 1, 400, 2) == (100,)


def test_sizes_in_chips_and_smallest_raises():
    betting = Betting("30c, a", "100c, min, a", merge=0.0, add_all_in=0.0, force_all_in=0.0)
    after = {
        form.path(node): [form.actions[child] for child in form.children[node]]
        for form in [HoldemSpot("Td9d6hQc2s", ["AA", "KK"], 100, 500, betting).public_form]
        for node in form.decisions
    }
    assert after[()] == ["check", "bet 30", "all-in"]
    assert after["bet 30",] == ["fold", "call", "raise 60", "raise 130", "all-in"]
    assert after["bet 30", "raise 130"] == ["fold", "call", "raise 230", "all-in"]  # 100 more, twice
    assert after["bet 30", "raise 60"] == ["fold", "call", "raise 90", "raise 160", "all-in"]


def test_a_size_is_written_as_it_is_read():
    for text in ("60%", "33.3%", "1234567c", "e", "3e", "2e150%", "e66.7%", "a"):
        assert [str(size) for size in Size.read(text, "bets", raising=False)] == [text]
    assert [str(size) for size in Size.read("min, 2.5x", "raises", raising=True)] == ["min", "2.5x"]


def test_a_spot_says_where_antes_belong():
    with pytest.raises(TypeError, match="HoldemSpot: ante is not a parameter of a spot: add the antes to pot"):
        HoldemSpot("Td9d6hQc2s", ["AA", "KK"], 100, 100, ante=1)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'stacks' \(did you mean stack\?\)"):
        HoldemSpot("Td9d6hQc2s", ["AA", "KK"], 100, stacks=100)


def test_sizes_close_to_larger_ones_are_left_out():
    betting = Betting("50%", merge=0.1, add_all_in=0.0, force_all_in=0.0)
    sizes = [Size("%", 50.0), Size("%", 55.0), Size("%", 100.0)]
    assert betting.amounts(sizes, 100, 0, 1, 1000, 1) == (55, 100)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"bets": "60"}, "bets at character 1: '60', expected 60%, 120c, e or a; write 60% for a share"),
        ({"bets": "2x"}, "a bet has no earlier bet to multiply"),
        ({"raises": "0.5x"}, "expected more than 1x"),
        ({"bets": "0%"}, "expected more than 0%"),
        ({"bets": {"button": "60%"}}, "bets: 'button', expected a seat, a street or both"),
        ({"bets": 60}, "bets is 60, expected a string"),
    ],
)
def test_sizes_that_are_none_are_refused(how, message):
    with pytest.raises(InvalidGameError, match=message):
        Betting(**how)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"pot": 0}, "pot is 0, expected a whole number of chips from 1"),
        ({"stack": 1.5}, "stack is 1.5, expected a whole number"),
        ({"ranges": ["TdTh", "AA"]}, "the range of oop has no hand on the board"),
        ({"ranges": ["AsAh", "AsAc, AhKh"]}, "the ranges block each other"),
        ({"ranges": ["AA", "AKs+"]}, "ip: range at character 1"),
        ({"ranges": {"oop": "AA"}}, "expected oop and ip"),
        ({"ranges": "AA"}, "expected two: out of position and in position"),
        ({"betting": "50%"}, "betting is '50%', expected a Betting"),
    ],
)
def test_spots_that_cannot_be_are_refused(how, message):
    asked = {"board": "Td9d6hQc2s", "ranges": ["AA", "KK"], "pot": 100, "stack": 100} | how
    with pytest.raises(InvalidGameError, match=message):
        HoldemSpot(**asked)


# Payoffs


def wins(board, mine, theirs):
    strong = [phevaluator.evaluate_cards(*board, *HANDS[hand].tolist()) for hand in (mine, theirs)]
    return np.sign(strong[1] - strong[0])


def test_folds_and_showdowns_pay_what_each_pair_of_hands_is_paid():
    board = read_cards("Td9d6hQc2s")
    generator = np.random.default_rng(3)
    held = [np.sort(generator.choice(len(HANDS), size=60, replace=False)) for _ in range(2)]
    held[1][:20] = held[0][:20]
    held[1] = np.unique(held[1])
    dealt = np.zeros((len(held[0]), len(held[1])))
    compared = np.zeros_like(dealt)
    for (i, mine), (j, theirs) in itertools.product(*map(enumerate, held)):
        cards = [*board, *HANDS[mine].tolist(), *HANDS[theirs].tolist()]
        if len(set(cards)) == 9:
            dealt[i, j], compared[i, j] = 1.0, wins(board, mine, theirs)
    assert fold_payoff(board, held).factored.matrix.toarray() == pytest.approx(dealt)
    assert showdown_payoff(board, held).factored.matrix.toarray() == pytest.approx(compared)


# Spots


def test_the_nuts_bet_and_air_bluffs_half_as_often():
    spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], 100, 100, Betting("100%", "a"))
    solution = solve(Nash(spot.game))
    assert solution.value + spot.pot / 2 == pytest.approx(75.0, abs=1e-9)
    bets = solution.profile[0].behaviour
    sequence = spot.game.sequence_form.treeplexes[0].sequence
    assert bets[sequence(((), "AcKc"), "all-in")] == pytest.approx(1.0)
    assert bets[sequence(((), "8h7h"), "all-in")] == pytest.approx(0.5)


def test_a_river_has_the_value_and_equity_on_record():
    spot = river()
    assert [len(held) for held in spot.hands] == [167, 246]
    assert spot.equity[0] == pytest.approx(0.516174, abs=1e-6)
    solution = solve(Nash(spot.game), "dcfr", tol=0.02, max_iterations=2_000)
    assert solution.lower + 100 - 1e-4 <= 92.7736188 <= solution.upper + 100 + 1e-4
    assert solution.exploitability <= 0.02


def test_the_equity_of_a_flop_counts_each_turn_and_river_once():
    """Against the same by hand: all pairs of cards that neither the board nor a hand holds."""
    spot = HoldemSpot("Td9d6h", ["AsAh", "8c7c"], 10, 10)
    mine, theirs = (int(held[0]) for held in spot.hands)
    seen = {*spot.cards, *HANDS[mine].tolist(), *HANDS[theirs].tolist()}
    runouts = list(itertools.combinations([card for card in range(52) if card not in seen], 2))
    won = sum(wins((*spot.cards, *dealt), mine, theirs) for dealt in runouts)
    assert len(runouts) == 990
    assert spot.equity[0] == pytest.approx(0.5 + won / len(runouts) / 2, abs=1e-12)


@thorough
def test_a_flop_that_is_checked_down_pays_the_equity():
    spot = HoldemSpot("Td9d6h", ["AsAh", "8c7c"], 10, 10, Betting({}, {}))
    form = spot.game.sequence_form
    value = form.expected_payoffs([treeplex.uniform_plan() for treeplex in form.treeplexes])[0]
    assert value / spot.pot + 0.5 == pytest.approx(spot.equity[0], abs=1e-12)
    # Two decisions on the flop, on each of 49 turns and on each of their 48 rivers.
    assert len(spot.public_form.decisions) == 2 * (1 + 49 + 49 * 48)


@thorough
def test_the_equity_of_a_turn_is_on_record():
    spot = HoldemSpot("Td9d6hQc", [OOP, IP], 200, 900)
    assert [len(held) for held in spot.hands] == [167, 250]
    assert spot.equity[0] == pytest.approx(0.530603, abs=1e-6)


def test_uniform_play_is_worth_what_is_on_record():
    """Both hold any hand and every action is equally likely: a bet of half of the pot, or none."""
    for betting, expected in ((Betting({"oop": "50%"}, {}, add_all_in=0, force_all_in=0), 37.5), (Betting({}, {}), 30)):
        form = HoldemSpot("Td9d6hQc7s", [ALL, ALL], 60, 300, betting).game.sequence_form
        value = form.expected_payoffs([treeplex.uniform_plan() for treeplex in form.treeplexes])[0]
        assert value + 30 == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("board", ["Ts9d6hQc2s", "Ts9d6hQc"])
def test_small_ranges_agree_with_the_matrix(board):
    """The same game as an explicit matrix, solved by simplex."""
    spot = HoldemSpot(board, ["AA, KQs, T9s:0.5", "QQ, JTs, 87s"], 100, 150, Betting("75%", "a"))
    form = spot.game.sequence_form
    if len(board) == 8:  # a turn has forty-eight rivers: compare products
        generator = np.random.default_rng(5)
        y = form.treeplexes[1].plan(generator.random(form.treeplexes[1].num_sequences))
        assert form.gradient(0, [y, y]) == pytest.approx(form.A @ y, abs=1e-12)
        return
    matrix = Game("matrix", sequence_form=SequenceForm(form.treeplexes, payoff_matrices=(form.A, -form.A)))
    assert solve(Nash(spot.game)).value == pytest.approx(solve(Nash(matrix)).value, abs=1e-9)


def test_problems_of_other_games_are_posed_on_spots():
    """A limit on how much of the range bets, and a response to a player who calls too much."""
    spot = HoldemSpot("QcJc9c3d2d", ["AcKc, AcTc, 8h7h, 8s7s", "QdQh, JdJh"], 100, 100, Betting("100%", "a"))
    game = spot.game
    treeplex = game.sequence_form.treeplexes[0]
    bets = np.zeros(treeplex.num_sequences)
    for hand in spot.public_form.states[0]:
        bets[treeplex.sequence(((), hand), "all-in")] = 0.25
    free = solve(Nash(game))
    capped = solve(ConstrainedNash(game, [bets @ game.plan(0) <= 0.3]))
    assert capped.value < free.value
    assert float(bets @ capped.profile[0].plan) <= 0.3 + 1e-9
    other = game.sequence_form.treeplexes[1]
    labels = [other.sequence_label(sequence) for sequence in range(1, other.num_sequences)]
    calls = Strategy(game, 1, np.array([1.0, *(action in ("check", "call") for _, action in labels)], dtype=float))
    response = solve(RestrictedNash(game, calls, p=0.5))
    assert response.gain > 0
    assert response.exploitability <= 0.5 / 0.5 * response.gain + 1e-9
