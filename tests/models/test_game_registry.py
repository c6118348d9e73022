"""The registry: names, parameters read from text, errors of one line, and reference values."""

import subprocess
import sys
from fractions import Fraction

import pytest

from treeplex import Game, InvalidGameError, UnknownGameError, families, load_game
from treeplex.models.games import Goofspiel, Kuhn, Leduc, RockPaperScissors

NAMES = [
    "kuhn",
    "leduc",
    "liars_dice",
    "goofspiel",
    "matching_pennies",
    "rps",
    "repeated_rps",
    "depth_limited_figure_2",
    "coin",
    "depth_limited_figure_10",
    "gadget_trap_1",
    "gadget_trap_2",
    "signalling",
    "sheriff",
    "battleship",
    "preflop",
    "three_handed",
]


def test_families_are_listed_in_order():
    assert [family.name for family in families() if family.name in NAMES] == NAMES
    names = [family.name for family in families()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_every_family_says_what_it_is(family):
    assert family.summary
    assert "\n" not in family.summary
    assert family.citation
    assert all(each.about.description and each.shown and each.expected for each in family.parameters)
    game = load_game(family.name)
    assert isinstance(game, Game)
    assert (game.name, game.spec, game.citation) == (family.name, family.name, family.citation)
    assert list(game.parameters) == [each.name for each in family.parameters]


POSTS = {"small_blind": "1/2", "ante": "0", "bb_ante": "0", "straddle": "0"}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("kuhn", {"players": "2", "cards": "players+1"}),
        (
            "leduc",
            {
                "players": "2",
                "ranks": "3",
                "suits": "2",
                "merge_suits": "false",
                "bet1": "2",
                "bet2": "4",
                "raises": "2",
                "ties": "split",
            },
        ),
        ("liars_dice", {"players": "2", "dice": "1", "sides": "4", "wild": "true"}),
        ("goofspiel", {"cards": "4", "order": "descending", "payoff": "points"}),
        ("matching_pennies", {}),
        ("rps", {"rock": "1", "paper": "1", "scissors": "1"}),
        ("repeated_rps", {"rock": "1", "paper": "1", "scissors": "1", "rounds": "2"}),
        ("coin", {}),
        ("gadget_trap_1", {}),
        (
            "preflop",
            {"stack": "100", "continuations": "4", "chooser": "bb", "raises": "3", "streets": "1", **POSTS},
        ),
        ("three_handed", {"stack": "25", **POSTS}),
    ],
)
def test_parameters_and_their_defaults(name, parameters):
    family = next(family for family in families() if family.name == name)
    assert {each.name: each.shown for each in family.parameters} == parameters


def test_choices_are_listed():
    family = next(family for family in families() if family.name == "goofspiel")
    assert [each.choices for each in family.parameters] == [
        (),
        ("descending", "ascending", "random"),
        ("points", "win_loss"),
    ]


@pytest.mark.parametrize(
    ("spec", "rules"),
    [
        ("kuhn", Kuhn()),
        ("kuhn:players=3", Kuhn(players=3, cards=4)),
        ("leduc:ranks=6,merge_suits=true", Leduc(ranks=6, merge_suits=True)),
        (" leduc : ranks = 6 , merge_suits = True ", Leduc(ranks=6, merge_suits=True)),
        ("goofspiel:cards=5,order=random,payoff=win_loss", Goofspiel(5, "random", "win_loss")),
        ("rps:rock=0.5,paper=1/4,scissors=5e-2", RockPaperScissors(Fraction(1, 2), Fraction(1, 4), Fraction(1, 20))),
    ],
)
def test_games_are_read_from_text(spec, rules):
    assert load_game(spec).rules == rules


def test_keywords_take_precedence_over_the_text():
    game = load_game("leduc:ranks=6,suits=3", ranks=4, merge_suits=True)
    assert game.rules == Leduc(ranks=4, suits=3, merge_suits=True)
    assert game.parameters == {
        "players": 2,
        "ranks": 4,
        "suits": 3,
        "merge_suits": True,
        "bet1": 2,
        "bet2": 4,
        "raises": 2,
        "ties": "split",
    }
    assert game.spec == "leduc:ranks=4,suits=3,merge_suits=true"


@pytest.mark.parametrize(
    ("spec", "shortest"),
    [
        ("kuhn:players=2,cards=3", "kuhn"),
        ("kuhn:players=3,cards=3", "kuhn:players=3,cards=3"),
        ("kuhn:players=3,cards=4", "kuhn:players=3"),
        ("leduc:raises=2,ranks=6,merge_suits=false", "leduc:ranks=6"),
        ("leduc:ranks=1,suits=4", "leduc:ranks=1,suits=4"),
        ("leduc:suits=9,merge_suits=true", "leduc:suits=9,merge_suits=true"),
        ("rps:rock=0.5", "rps:rock=1/2"),
        ("goofspiel:payoff=win_loss,cards=4", "goofspiel:payoff=win_loss"),
    ],
)
def test_a_game_knows_the_shortest_text_that_loads_it(spec, shortest):
    game = load_game(spec)
    assert game.spec == shortest
    assert load_game(shortest).rules == game.rules


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("leducc", UnknownGameError, "unknown game 'leducc' (did you mean leduc?); expected one of kuhn, leduc, "),
        ("Kuhn", UnknownGameError, "unknown game 'Kuhn' (did you mean kuhn?); expected one of kuhn, leduc, "),
        ("liars-dice", UnknownGameError, "unknown game 'liars-dice' (did you mean liars_dice?); expected one of"),
        ("xyzzy", UnknownGameError, "unknown game 'xyzzy'; expected one of kuhn, leduc, liars_dice, goofspiel"),
        ("", UnknownGameError, "unknown game ''; expected one of kuhn"),
        (":ranks=3", UnknownGameError, "unknown game ''; expected one of kuhn"),
        (
            "leduc:rank=3",
            UnknownGameError,
            "leduc: unknown parameter 'rank' (did you mean ranks?); expected one of players, ranks, suits, merge_suits",
        ),
        ("matching_pennies:bias=2", UnknownGameError, "matching_pennies: unknown parameter 'bias'; it takes none"),
        ("leduc:", InvalidGameError, "leduc: expected key=value at character 7, got ''"),
        ("leduc:ranks", InvalidGameError, "leduc: expected key=value at character 7, got 'ranks'"),
        ("leduc:ranks=", InvalidGameError, "leduc: ranks has no value at character 7; write leduc"),
        ("leduc:=3", InvalidGameError, "leduc: expected key=value at character 7, got '=3'"),
        ("leduc:ranks=3,", InvalidGameError, "leduc: expected key=value at character 15, got ''"),
        ("leduc:ranks=(3", InvalidGameError, "leduc: the parenthesis at character 13 is not closed in 'ranks=(3'"),
        ("leduc:ranks=3,ranks=4", InvalidGameError, "leduc: ranks is given twice, as 3 and 4; expected it once"),
        ("leduc:ranks=0", InvalidGameError, "leduc: ranks = 0; expected an integer from 1 to 1000"),
        ("leduc:ranks=many", InvalidGameError, "leduc: ranks = many; expected an integer from 1 to 1000"),
        ("leduc:ranks=2.5", InvalidGameError, "leduc: ranks = 2.5; expected an integer from 1 to 1000"),
        ("leduc:ranks=1e3", InvalidGameError, "leduc: ranks = 1e3; expected an integer from 1 to 1000"),
        ("leduc:ties=suits", InvalidGameError, "leduc: ties = suits (did you mean suit?); expected one of split, suit"),
        ("leduc:merge_suits=yes", InvalidGameError, "leduc: merge_suits = yes; expected true or false"),
        ("kuhn:cards=1", InvalidGameError, "kuhn: cards = 1; expected an integer from 2 to 1000"),
        ("kuhn:players=3,cards=2", InvalidGameError, "kuhn: cards = 2 for 3 players; expected at least one card each"),
        ("goofspiel:cards=1", InvalidGameError, "goofspiel: cards = 1; expected an integer from 2 to 13"),
        (
            "goofspiel:order=up",
            InvalidGameError,
            "goofspiel: order = up; expected one of descending, ascending, random",
        ),
        ("rps:rock=1/0", InvalidGameError, "rps: rock = 1/0; expected a number of at least 0"),
        (
            "rps:rock=1e999",
            InvalidGameError,
            "rps: rock = 1e999 (too large for a float); expected a number",
        ),
        ("rps:rock=inf", InvalidGameError, "rps: rock = inf; expected a number of at least 0"),
        (
            "rps:rock=1" + 309 * "0" + "/1",
            InvalidGameError,
            "rps: rock = 1" + 36 * "0" + "...; expected a number of at",
        ),
        (
            "transit:time_cost=1" + 309 * "0" + "/1",
            InvalidGameError,
            "transit: time_cost = 1" + 36 * "0" + "...; expected a",
        ),
        ("leduc:ranks=" + "9" * 6000, InvalidGameError, "leduc: ranks = " + "9" * 37 + "...; expected an integer"),
    ],
)
def test_errors_say_what_is_wrong_in_one_line(spec, error, message):
    with pytest.raises(error) as caught:
        load_game(spec)
    assert type(caught.value) is error
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", [3, None, b"kuhn", ["kuhn"], Kuhn()])
def test_what_is_no_name_is_refused(spec):
    with pytest.raises(UnknownGameError, match="expected a game's name, such as 'leduc:ranks=6', got"):
        load_game(spec)


@pytest.mark.parametrize("value", [10**5000, -(10**5000), [1], None, "a\nb", object()], ids=range(6))
def test_values_of_every_kind_are_refused_in_one_line(value):
    with pytest.raises(InvalidGameError, match="leduc: ranks = ") as caught:
        load_game("leduc", ranks=value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 120


def test_numbers_of_numpy_are_numbers():
    np = pytest.importorskip("numpy")
    assert load_game("kuhn", cards=np.int64(5)).rules == Kuhn(cards=5)
    assert load_game("rps", rock=np.float64(0.05)).rules == RockPaperScissors(rock=Fraction(1, 20))


def test_unknown_keywords_are_refused():
    with pytest.raises(UnknownGameError, match=r"leduc: unknown parameter 'suit' \(did you mean suits\?\)"):
        load_game("leduc", suit=3)


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        ("kuhn", Fraction(-1, 18)),
        ("kuhn:cards=4", None),
        ("kuhn:players=3", None),
        ("leduc", -0.0856064240780),
        ("leduc:merge_suits=true", -0.0856064240780),
        ("leduc:ranks=6", -0.1045436022),
        ("leduc:suits=4,merge_suits=true", -0.1057838705),
        ("leduc:raises=3", None),
        ("leduc:ties=suit", None),
        ("leduc:bet1=4,bet2=8", None),
        ("liars_dice", Fraction(1, 16)),
        ("liars_dice:wild=false", Fraction(-1, 8)),
        ("liars_dice:sides=6", None),
        ("goofspiel:cards=6", Fraction(0)),
        ("goofspiel:order=random,payoff=win_loss", Fraction(0)),
        ("matching_pennies", Fraction(0)),
        ("rps:rock=1/2,paper=1/4,scissors=1/20", Fraction(0)),
        ("repeated_rps:rounds=3", Fraction(0)),
        ("depth_limited_figure_2", Fraction(-4, 3)),
        ("coin", Fraction(0)),
        ("depth_limited_figure_10", Fraction(1, 2)),
        ("gadget_trap_1", Fraction(0)),
        ("gadget_trap_2", Fraction(0)),
    ],
)
def test_reference_values(spec, value):
    game = load_game(spec)
    assert game.reference_value == value
    assert type(game.reference_value) is type(value)
    assert bool(game.reference_source) == (value is not None)


def test_the_registry_imports_nothing_heavy():
    code = (
        "import sys, treeplex.models.games\n"
        "heavy = {'numpy', 'scipy', 'networkx', 'numba', 'cvxpy', 'highspy', 'pyspiel'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
