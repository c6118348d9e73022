"""Constraints and functionals as text: what is read, under which name, and what is refused in which words."""

import copy
import string
import time
from fractions import Fraction

import numpy as np
import pytest
from effort import examples
from hypothesis import example, given
from hypothesis import strategies as st

from treeplex import (
    ConstrainedNash,
    Game,
    InvalidConstraintError,
    InvalidGameError,
    InvalidStrategyError,
    SequenceForm,
    Strategy,
    frequency,
    load_game,
    solve,
)
from treeplex.models.constraints import (
    behaviour_bound,
    functional_bound,
    parse_constraint,
    parse_term,
    reach_bound,
)
from treeplex.models.constraints.tokens import parse_number
from treeplex.models.opponents import uniform_without
from treeplex.seqform.functional import Functional
from treeplex.seqform.names import sequence_name
from treeplex.seqform.polytope import Treeplex

KUHN, TRANSIT = load_game("kuhn"), load_game("transit:width=2")
PLAYER = KUHN.sequence_form.treeplexes[0]


def labelled(infosets, actions) -> Game:
    """A game whose player 0 decides twice in a row, under labels of one's own."""
    return of_one_player(Treeplex([0, 1], [2, 2], infosets, [actions, actions]))


def of_one_player(treeplex: Treeplex) -> Game:
    """A game of nothing but one player's plans."""
    payoffs = np.zeros((treeplex.num_sequences, 1))
    return Game.from_sequence_form(SequenceForm([treeplex, Treeplex([], [])], payoff_matrices=[payoffs, payoffs]))


def one(text: str, game: Game = KUHN):
    (constraint,) = parse_constraint(text, game)
    return constraint


# What is read


def test_probabilities_are_what_the_builder_bounds():
    for player, infoset, action in ((0, "K_", "b"), (0, "J_pb", "p"), (1, "Q_b", "b")):
        for number in (0.3, 0.0, 1.0):
            built = behaviour_bound(KUHN, player, infoset, action, at_most=number)
            read = one(built.name)
            assert (read.name, read.player, read.sense, read.fixed) == (
                built.name,
                built.player,
                built.sense,
                built.fixed or (infoset == "J_pb"),
            )
            assert read.exact_coefficients == built.exact_coefficients
            assert read.exact_limit == built.exact_limit
            assert read.fingerprint == KUHN.fingerprint


def test_realizations_reaches_and_functionals_are_what_the_builders_bound():
    for built, game in (
        (reach_bound(KUHN, 0, "J_pb", "b", at_most=0.25), KUHN),
        (reach_bound(KUHN, 0, "J_pb", at_least=0.25), KUHN),
        (functional_bound(TRANSIT.functionals["risk"], at_most=0.1, name="risk <= 0.1"), TRANSIT),
    ):
        read = one(built.name, game)
        assert (read.name, read.player, read.sense, read.fixed) == (built.name, built.player, built.sense, False)
        np.testing.assert_array_equal(read.indices, built.indices)
        np.testing.assert_array_equal(read.coefficients, built.coefficients)
        assert read.exact_limit == Fraction(str(built.bound)) * (1 if built.sense == "<=" else -1)


@pytest.mark.parametrize(
    ("number", "exact"),
    [
        ("3", Fraction(3)),
        ("-3", Fraction(-3)),
        ("+.5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("0.1", Fraction(1, 10)),
        ("1e-3", Fraction(1, 1000)),
        ("1E+2", Fraction(100)),
        ("1/18", Fraction(1, 18)),
        ("-1 / 18", Fraction(-1, 18)),
    ],
)
def test_numbers_are_kept_exactly(number, exact):
    assert one(f"0/K_:b <= {number}").bound == exact
    assert one(f"0/K_:b<={number}").bound == exact


def test_names_are_the_text_with_single_blanks_or_what_follows_as():
    assert one("  0 /  K_ :b\t<=   0.5 ").name == "0 / K_ :b <= 0.5"
    assert one("0/K_:b<=0.5").name == "0/K_:b<=0.5"
    assert one("0/K_:b<=0.5 as king").name == "king"
    assert one("0/K_:b<=0.5   as  the   king's bets ").name == "the king's bets"
    assert one('0/K_:b<=0.5 as "a  \\"name\\""').name == 'a  "name"'
    assert one("0/K_:b<=0.5 as as").name == "as"


def test_an_equality_is_two_constraints():
    most, least = parse_constraint("0/K_:b == 0.5 as king", KUHN)
    assert (most.name, most.sense) == ("king (at most)", "<=")
    assert (least.name, least.sense) == ("king (at least)", ">=")
    assert most.terms == least.terms
    assert most.bound == least.bound == Fraction(1, 2)


def test_sums_at_one_infoset_are_weighted_by_its_reach():
    constraint = one("0/J_pb:b + 0/J_pb:b + 0/J_pb:p <= 0.5")
    parent, played, passed = (PLAYER.sequence(*label) for label in (("J_", "p"), ("J_pb", "b"), ("J_pb", "p")))
    assert constraint.terms == {parent: Fraction(-1, 2), played: 2, passed: 1}
    assert (constraint.bound, constraint.fixed) == (0, True)
    plan = Strategy.uniform(KUHN, 0).plan
    assert constraint.value(plan) == pytest.approx(plan[parent] * (2 * 0.5 + 0.5 - 0.5))


def test_sums_over_first_decisions_and_realizations_are_linear():
    constraint = one("0/J_:b + 0/K_:b + plan(0/J_pb:b) + plan(0/J_pb:b) <= 0.75")
    bets, kings, calls = (PLAYER.sequence(*label) for label in (("J_", "b"), ("K_", "b"), ("J_pb", "b")))
    assert constraint.terms == {bets: 1, kings: 1, calls: 2}
    assert (constraint.bound, constraint.fixed) == (Fraction(3, 4), False)
    assert constraint.with_bound(0.5).bound == 0.5


def test_functionals_and_realizations_sum_up():
    risk = TRANSIT.functionals["risk"]
    treeplex = TRANSIT.sequence_form.treeplexes[1]
    name = sequence_name(1, treeplex, 5)
    plan = Strategy.uniform(TRANSIT, 1).plan
    constraint = one(f"risk + plan({name}) + risk <= 0.1", TRANSIT)
    assert constraint.player == 1
    assert constraint.value(plan) == pytest.approx(2 * float(risk.coefficients @ plan) + plan[5] - 0.1)


def test_the_constant_of_a_functional_moves_to_the_bound():
    game = load_game("kuhn")
    functional = Functional(0, np.eye(13)[2], "bluffs", constant=0.25)
    game = labelled_with_functional(game, functional)
    constraint = one("bluffs <= 1/3", game)
    assert (constraint.terms, constraint.bound) == ({2: 1}, Fraction(1, 12))
    assert parse_term("bluffs", game) is functional
    assert parse_term("bluffs + bluffs", game).value(Strategy.uniform(game, 0)) == pytest.approx(1.5)


def labelled_with_functional(game: Game, functional: Functional) -> Game:
    game.functionals = {"bluffs": functional}
    return game


def test_reaches_that_plans_share_divide_probabilities():
    flow = Treeplex.from_inflow([[0.5, 0, 0, 0, 0], [0, 1, 0.5, 0, 0]], [2, 2], ["I", "J"], [["a", "b"], ["a", "b"]])
    game = of_one_player(flow)
    names = [sequence_name(0, flow, sequence) for sequence in (1, 2)]
    for text in (f"{names[0]} <= 0.5", f"{names[0]} + plan({names[1]}) <= 1"):
        constraint = one(text, game)
        for share in (0.0, 0.3, 1.0):
            plan = flow.plan([1, share, 1 - share, 0.5, 0.5])
            bound = 0.5 if "plan" not in text else 1 - (1 - share) / 2
            holds = share <= bound + 1e-12
            assert (constraint.value(plan) <= 1e-12) == holds


def test_published_values_of_constrained_kuhn_poker():
    for texts, value in (
        (["0/K_:b<=0.5", "0/J_:b>=0.3"], -0.1),
        (["0/J_:b>=0.5"], -1 / 9),
        (["plan(0/J_pb:b)+plan(0/Q_pb:b)+plan(0/K_pb:b)<=0.8"], -1 / 18),
        (["0/Q_:b>=0.4", "plan(0/Q_pb:b)<=0.1"], -7 / 90),
    ):
        constraints = [constraint for text in texts for constraint in parse_constraint(text, KUHN)]
        assert solve(ConstrainedNash(KUHN, constraints)).value == pytest.approx(value, abs=1e-9)


def test_terms_are_functionals():
    assert parse_term("risk", TRANSIT) is TRANSIT.functionals["risk"]
    functional = parse_term("plan(0/J_pb:b)  +  0/J_:b", KUHN)
    assert (functional.player, functional.description) == (0, "plan(0/J_pb:b) + 0/J_:b")
    assert np.flatnonzero(functional.coefficients).tolist() == [2, 4]
    assert functional.fingerprint == KUHN.fingerprint


# How often actions are taken

LEDUC = load_game("leduc")


@pytest.mark.parametrize(
    ("game", "text", "player", "how"),
    [
        (KUHN, "bet@first", 0, {"actions": "b", "first": True}),
        (KUHN, "b@first", 0, {"actions": "b", "first": True}),
        (KUHN, "1/bet@first", 1, {"actions": "b", "first": True}),
        (KUHN, " 0 / pass @ all", 0, {"actions": "p"}),
        (KUHN, "bet@J_pb", 0, {"actions": "b", "infosets": ["J_pb"]}),
        (KUHN, 'bet@"K_"', 0, {"actions": "b", "infosets": ["K_"]}),
        (LEDUC, "raise@first", 0, {"actions": "r", "first": True}),
        (LEDUC, "call@first + raise@first", 0, {"actions": ["c", "r"], "first": True}),
        (LEDUC, "1/fold@all", 1, {"actions": "f"}),
        (load_game("goofspiel:cards=4"), "top@first", 0, {"actions": "4", "first": True}),
        (load_game("liars_dice"), "challenge@all", 0, {"actions": "liar"}),
        (load_game("rps"), "rock@all", 0, {"actions": "R"}),
        (load_game("matching_pennies"), "1/heads@first", 1, {"actions": "H", "first": True}),
    ],
)
def test_actions_by_name_are_counted_as_frequency_counts_them(game, text, player, how):
    counted, expected = parse_term(text, game), frequency(game, player, **how)
    assert counted.player == player
    np.testing.assert_allclose(counted.coefficients, expected.coefficients, rtol=1e-14)
    bounded = one(f"{text} >= 2/5", game)
    assert bounded.bound == Fraction(2, 5)
    np.testing.assert_allclose(bounded.coefficients, -expected.coefficients[bounded.indices], rtol=1e-14)


def test_counts_are_exact_fractions():
    assert set(one("bet@first >= 1/2").terms.values()) == {Fraction(1, 3)}
    assert set(one("1/bet@all >= 1/2").terms.values()) == {Fraction(1, 6)}
    everywhere = one("raise@all >= 1", LEDUC).terms.values()
    assert set(everywhere) == {Fraction(1, denominator) for denominator in (6, 12, 60, 90, 120, 180, 240)}


def test_counts_add_up_to_one_at_first_decisions():
    for player, names in ((0, "call@first + raise@first"), (1, "1/fold@first + 1/call@first + 1/raise@first")):
        assert parse_term(names, LEDUC).value(Strategy.uniform(LEDUC, player)) == pytest.approx(1.0)


def test_counts_can_be_made_with_another_reference():
    always = Strategy.from_dict(KUHN, 0, {card: {"b": 1.0} for card in ("J_", "Q_", "K_")})
    facing = parse_term("1/bet@Q_b", KUHN, others=always)
    assert facing.coefficients.max() == pytest.approx(1 / 3)
    assert parse_term("bet@first", KUHN, player=1).player == 1


def test_words_stand_for_labels_everywhere_and_labels_come_first():
    assert one("0/K_:bet <= 1/2").terms == one("0/K_:b <= 1/2").terms

    class Renamed(type(KUHN.rules)):
        action_words = {"p": "b", "bet": "b", "shove": "r"}  # noqa: RUF012

    game = Game("renamed", rules=Renamed())
    assert parse_term("p@first", game).coefficients[1] > 0.0  # the label, not the word
    assert parse_term("bet@first", game).coefficients[2] > 0.0
    with pytest.raises(InvalidConstraintError, match="has no action 'shove'; expected p, b, bet"):
        parse_term("shove@first", game)
    Renamed.action_words = ["bet"]
    with pytest.raises(InvalidGameError, match="the action_words of renamed are"):
        parse_term("bet@first", Game("renamed", rules=Renamed()))


def test_words_name_actions_in_python_too():
    treeplex = KUHN.sequence_form.treeplexes[0]
    assert treeplex.sequence("K_", "bet") == treeplex.sequence("K_", "b")
    assert copy.deepcopy(treeplex).sequence("K_", "bet") == treeplex.sequence(
        "K_", "b"
    )  # which stores it and reads it back
    assert Strategy.from_dict(KUHN, 0, {"K_": {"bet": 0.75, "pass": 0.25}})["K_"] == {"p": 0.25, "b": 0.75}
    by_word, by_label = (frequency(KUHN, 0, [action], first=True) for action in ("bet", "b"))
    np.testing.assert_array_equal(by_word.coefficients, by_label.coefficients)
    np.testing.assert_array_equal(uniform_without(KUHN, 1, "bet").plan, uniform_without(KUHN, 1, "b").plan)
    with pytest.raises(InvalidStrategyError, match="which names one action twice"):
        Strategy.from_dict(KUHN, 0, {"K_": {"bet": 0.5, "b": 0.5}})
    with pytest.raises(InvalidStrategyError, match="has no action 'shove'"):
        treeplex.sequence("K_", "shove")


# What is refused

REFUSED = {
    "an unknown action anywhere": ("bte@first <= 1", "player 0 of kuhn has no action 'bte' (did you mean bet?)"),
    "an action without a place": ("bet <= 1", "column 4: 'bet' is an action; expected bet@first, bet@all or @INFOSET"),
    "a seat's action without a place": ("1/bet <= 1", "'bet' is an action; expected bet@first, bet@all or @INFOSET"),
    "a place that is none": ("bet@frist <= 1", "column 5: player 0 has no infoset 'frist' (did you mean first?)"),
    "no place": ("bet@ <= 1", "column 6: received '<=', expected first, all or the label of an infoset"),
    "no action before the place": ("@first <= 1", "column 1: received '@', expected a term"),
    "another seat": ("2/bet@first <= 1", "received the seat '2', expected 0 or 1"),
    "nothing": ("", "column 1: received the end, expected a term"),
    "blanks": ("  \n ", "received the end, expected a term"),
    "no comparison": ("0/K_:b", "column 7: received the end, expected +, <=, >= or =="),
    "no number": ("0/K_:b <=", "column 10: received the end, expected a number, such as 0.25 or 1/4"),
    "a word for a number": ("0/K_:b <= half", "received 'half', expected a number"),
    "NaN": ("0/K_:b <= nan", "received 'nan', expected a number"),
    "infinity": ("0/K_:b <= inf", "received 'inf', expected a number"),
    "zero denominator": ("0/K_:b <= 1/0", "received '1/0' (the denominator is zero), expected a number"),
    "a fraction of decimals": ("0/K_:b <= 0.5/2", "received '0.5/2', expected a number"),
    "a huge exponent": ("0/K_:b <= 1e999999999", "(the number is too large or too small), expected a number"),
    "a tiny number": ("0/K_:b <= 1e-400", "(the number is too large or too small), expected a number"),
    "a number of many digits": ("0/K_:b <= " + "9" * 5000, "(the number is too long), expected a number"),
    "two numbers": ("0/K_:b <= 1 2", "column 13: received '2', expected the end, or 'as NAME'"),
    "digits apart": ("0/K_:b <= 1e -3", "received '1e', expected a number"),
    "strictly less": ("0/K_:b < 0.5", "column 8: received '<' (did you mean <=?), expected +, <=, >= or =="),
    "one equals sign": ("0/K_:b = 0.5", "received '=' (did you mean ==?), expected +, <=, >= or =="),
    "an arrow": ("0/K_:b => 0.5", "received '=' (did you mean >=?), expected +, <=, >= or =="),
    "a mathematical sign": ("0/K_:b ≤ 0.5", "received '≤' (did you mean <=?), expected +, <=, >= or =="),
    "turned around": ("0.5 >= 0/K_:b", "kuhn names no functional '0.5'"),
    "a name without text": ("0/K_:b <= 1 as", "received the end, expected a name after 'as'"),
    "text after a name": ('0/K_:b <= 1 as "king" bets', "received 'bets', expected the end"),
    "an unknown functional": (
        "risk <= 1",
        "column 1: kuhn names no functional 'risk'; expected one of its functionals",
    ),
    "an unknown seat": ("2/K_:b <= 1", "column 1: received the seat '2', expected 0 or 1"),
    "a seat in words": ("zero/K_:b <= 1", "received the seat 'zero', expected 0 or 1"),
    "an unknown infoset": ("0/A_:b <= 1", "column 3: player 0 has no infoset 'A_'; expected J_, J_pb, Q_"),
    "an infoset of the other": ("0/J_b:b <= 1", "player 0 has no infoset 'J_b' (did you mean J_pb?)"),
    "an infoset in small letters": ("0/k_:b <= 1", "player 0 has no infoset 'k_' (did you mean K_?)"),
    "an unknown action": ("0/K_:call <= 1", "column 6: infoset 0/K_ has no action 'call'; expected p, b, pass, bet"),
    "no action": ("0/K_ <= 1", "column 6: received '<=', expected : after the infoset"),
    "no infoset": ("0/:b <= 1", "received ':', expected the label of an infoset"),
    "no seat": ("plan(K_:b) <= 1", "received the seat 'K_', expected 0 or 1"),
    "an open bracket": ("plan(0/K_:b <= 1", "column 13: received '<=', expected ) after plan(SEAT/INFOSET:ACTION"),
    "a reach of an action": ("reach(0/K_:b) <= 1", "received ':', expected ) after reach(SEAT/INFOSET"),
    "an open quote": ('0/"K_:b <= 1', "column 3: unterminated string; expected a JSON string"),
    "a wrong escape": ('0/"K\\x":b <= 1', "expected a JSON string in double quotes"),
    "single quotes": ("0/'K_':b <= 1", 'column 3: received "\'"; labels are quoted with double quotes'),
    "a plus too many": ("0/K_:b + <= 1", "column 10: received '<=', expected a term"),
    "both players": ("0/K_:b + 1/K_b:b <= 1", "column 10: terms of players 1 and 0 are added"),
    "probabilities at two infosets": (
        "0/K_:b + 0/J_pb:b <= 1",
        "column 10: the reach of 0/J_pb depends on the plan, so its probabilities may be used only alone or",
    ),
    "a probability beside a realization": ("0/J_pb:b + plan(0/J_pb:b) <= 1", "expected a realization, plan(…)"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_constraint_is_refused_in_one_line(text, message):
    with pytest.raises(InvalidConstraintError) as refused:
        parse_constraint(text, KUHN)
    assert message in str(refused.value)
    assert str(refused.value).isprintable()
    assert str(refused.value).startswith("constraint ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0/K_:b <= 1", "term '0/K_:b <= 1', column 8: received '<=', expected + or the end"),
        ("0/J_pb:b", "the reach of 0/J_pb depends on the plan, so its probabilities may be used only in a constraint"),
        ("0/J_:b + 1/J_b:b", "terms of players 1 and 0 are added"),
        ("rsik", "kuhn names no functional 'rsik'"),
        ("", "received the end"),
    ],
)
def test_what_is_no_functional_is_refused_in_one_line(text, message):
    with pytest.raises(InvalidConstraintError) as refused:
        parse_term(text, KUHN)
    assert message in str(refused.value)


def test_functionals_are_suggested():
    with pytest.raises(InvalidConstraintError, match=r"no functional 'rsk' \(did you mean risk\?\); expected one of"):
        parse_constraint("rsk<=0.1", TRANSIT)


@pytest.mark.parametrize("given_text", [None, 3, b"0/K_:b<=1", ["0/K_:b<=1"]])
def test_what_is_no_text_is_refused(given_text):
    with pytest.raises(InvalidConstraintError, match="expected a string such as"):
        parse_constraint(given_text, KUHN)
    with pytest.raises(InvalidConstraintError, match="expected a Game"):
        parse_constraint("0/K_:b<=1", "kuhn")


# Labels


def test_labels_are_found_by_their_text():
    game = labelled([1, ("a", 2)], ["p", 3])
    assert one("0/1:3 <= 1/2", game).terms == {2: 1}
    assert one("plan(0/\"('a', 2)\":p) <= 1/2", game).terms == {3: 1}


def test_labels_that_read_alike_are_refused():
    game = labelled([1, "1"], ["p", "b"])
    with pytest.raises(
        InvalidConstraintError, match="player 0 has 2 infosets whose labels read '1', expected distinct labels"
    ):
        parse_constraint("0/1:p <= 1", game)
    game = labelled(["I", "J"], [1, "1"])
    with pytest.raises(InvalidConstraintError, match="infoset 0/I has 2 actions whose labels read '1'"):
        parse_constraint("0/I:1 <= 1", game)


@pytest.mark.parametrize("spec", ["kuhn", "leduc:merge_suits=true", "goofspiel:cards=4", "transit:width=2", "coin"])
def test_sequences_of_games_are_found_as_info_names_them(spec):
    game = load_game(spec)
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        for sequence in range(1, treeplex.num_sequences, 1 + treeplex.num_sequences // 40):
            constraint = one(f"plan({sequence_name(player, treeplex, sequence)}) <= 1", game)
            assert (constraint.player, constraint.terms) == (player, {sequence: 1})


LABELS = st.one_of(
    st.text(max_size=6),
    st.text(alphabet=string.whitespace + "\"':/()+<>=@\\\u200b\u2028\x7f\0é" + "asplan", max_size=8),
    st.sampled_from(
        ["as", "plan", "reach", "<=", "a <= 1", "risk", "0", "1/2", '"', '\\"', "\ud800", "-1", "1e5", "a@first"]
    ),
)


@given(
    st.lists(LABELS, min_size=2, max_size=2, unique_by=str),
    st.lists(LABELS, min_size=2, max_size=2, unique_by=str),
)
@examples(30)
@example(["a\nb", "a b"], ["<=", '"'])
@example(["plan", "as"], ["1e+5", "\u200b"])
def test_names_of_sequences_are_read_back(infosets, actions):
    game = labelled(infosets, actions)
    treeplex = game.sequence_form.treeplexes[0]
    for sequence in range(1, 5):
        name = sequence_name(0, treeplex, sequence)
        assert name.isprintable()
        assert one(f"plan({name}) <= 1/2 as x", game).terms == {sequence: 1}
        assert one(f" plan ( {name} )<=1/2", game).terms == {sequence: 1}
        assert parse_term(f"plan({name})", game).coefficients[sequence] == 1.0
        label = treeplex.sequence_label(sequence)
        built = behaviour_bound(game, 0, *label, at_most=0.5)
        read = one(built.name, game)
        assert read.name == built.name
        assert read.exact_coefficients == built.exact_coefficients
        built = reach_bound(game, 0, label[0], at_least=1e-7)
        assert one(built.name, game).terms == built.terms


# Garbage

PIECES = [
    "0",
    "1",
    "/",
    ":",
    "K_",
    "J_pb",
    "b",
    "p",
    "plan",
    "reach",
    "@",
    "first",
    "bet",
    "(",
    ")",
    "+",
    "<=",
    ">=",
    "==",
    "<",
    "as",
    '"',
    "'",
]
PIECES += [" ", "0.5", "1e-3", "1/3", "risk", "\\", "\n", "é", "-", "e", "\0"]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=40))
@example('"' * 20)
@example("0/K_:b<=1" + "/1" * 20)
@example("0/K_:b<=1 as \x00")
def test_garbage_is_read_or_refused(text):
    for read in (parse_constraint, parse_term):
        try:
            read(text, KUHN)
        except InvalidConstraintError as refused:
            message = str(refused)
        else:
            message = "read"
        assert message.isprintable()


@given(st.text(alphabet="0123456789+-./eE_ ", max_size=12) | st.text(max_size=6))
def test_numbers_are_what_python_reads_or_refused(text):
    try:
        number = parse_number(text)
    except ValueError:
        return
    assert number == Fraction(text)


def test_long_texts_are_read_in_time():
    begun = time.process_time()
    assert one("+".join(["0/K_:b"] * 5_000) + "<= 1").terms[PLAYER.sequence("K_", "b")] == 5_000
    for text in ("(" * 100_000, "a" * 1_000_000, "0/K_:b<=" + "1+" * 10_000, '"' * 10_000, " " * 1_000_000):
        with pytest.raises(InvalidConstraintError) as refused:
            parse_constraint(text, KUHN)
        assert len(str(refused.value)) < 1000
    assert time.process_time() - begun < 10.0
