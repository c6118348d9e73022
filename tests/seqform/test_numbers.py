"""Numbers in texts that are too large or too small for a float: refused wherever they are read."""

import json
import re

import pytest

from treeplex import GameFileError, InvalidGameError, load_game
from treeplex.models.constraints import parse_constraint
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.holdem.bets import Betting
from treeplex.models.preferences import parse_preference
from treeplex.seqform.checks import check_exact_number
from treeplex.seqform.errors import InvalidConstraintError, InvalidPreferenceError, TreeplexError
from treeplex.seqform.interchange.efg_reader import parse_efg
from treeplex.seqform.interchange.encoding import decode, decode_number, from_json
from treeplex.seqform.interchange.graphml import parse_graphml
from treeplex.seqform.interchange.node_link import parse_json
from treeplex.seqform.interchange.toml_table import parse_toml
from treeplex.seqform.number_texts import TooLargeError, TooSmallError, read_float, read_share
from treeplex.solvers.methods import find_method
from treeplex.solvers.opponents.strategies import opponent_strategy

SMALL = ["1e-400", "-1e-324", "1E-999999999", "0.000000000000000000001e-9999", "1/1" + "0" * 400]
LARGE = ["1e400", "-1e309", "1e999999999", "1" + "0" * 400 + "/3"]
LEAF = '{"nodes": [{"id": 0, "payoffs": %s}], "edges": []}'
GRAPHML = (
    '<graphml><key id="p" for="node" attr.name="payoffs" attr.type="string"/><graph><node id="0"><data key="p">%s'
    "</data></node></graph></graphml>"
)
EFG = 'EFG 2 R "" { "A" } t "" 1 "" { %s }'
#: By what reads a number: how the number is read, and what is raised.
READERS = {
    "JSON, exact": lambda text: parse_json(LEAF % json.dumps([text])),
    "JSON, payoffs as text": lambda text: parse_json(LEAF % json.dumps(f"({text}, 0)")),
    "GraphML": lambda text: parse_graphml(GRAPHML % text),
    "efg": lambda text: parse_efg(EFG % text),
    "game": lambda text: load_game(f"rps:paper={text}"),
    "method": lambda text: find_method(f"dcfr:alpha={text}"),
    "opponent": lambda text: opponent_strategy(f"mixture:{text}*nash+1*uniform", load_game("rps"), 0),
    "constraint": lambda text: parse_constraint(f"0/J_:b <= {text}", load_game("kuhn")),
    "preference": lambda text: parse_preference(f"raise:{text}"),
    "parameter": lambda text: check_exact_number(text, "epsilon", InvalidGameError),
}


@pytest.mark.parametrize("text", SMALL + LARGE)
@pytest.mark.parametrize("reader", READERS)
def test_numbers_that_no_float_holds_are_refused(reader: str, text: str) -> None:
    with pytest.raises(TreeplexError) as caught:
        READERS[reader](text)
    said = str(caught.value)
    assert said.isprintable()
    assert len(said) < 500


@pytest.mark.parametrize("text", ["1e-400", "[-0.01e-323]", '{"a": 1e-999}'])
def test_floats_of_json_are_not_made_zero(text: str) -> None:
    with pytest.raises(InvalidGameError, match=r"e-\d+'? is too small for a float"):
        from_json(text)


def test_zero_and_the_smallest_floats_are_read() -> None:
    assert from_json("[0.0, -0e-999, 5e-324]") == [0.0, 0.0, 5e-324]
    assert float(decode_number("5e-324")) == 5e-324
    assert load_game("rps:paper=0e-999999999").rules.paper == 0
    assert decode({"decimal": "1e-400"}) != 0  # a label, not a number to compute with


@pytest.mark.parametrize("text", ["1e-400", "1e400", "1e-999999999"])
def test_bounds_and_degrees_say_what_is_wrong(text: str) -> None:
    with pytest.raises(InvalidConstraintError, match="too large or too small"):
        parse_constraint(f"0/J_:b >= {text}", load_game("kuhn"))
    with pytest.raises(InvalidPreferenceError, match="expected a degree"):
        parse_preference(f"raise:{text}")


@pytest.mark.parametrize("written", ["1e-400", "-1e-400", "0.1e-999", "1e-99999999"])
def test_numbers_that_are_nearly_zero_are_not_read_as_zero(written):
    with pytest.raises(TooSmallError):
        read_float(written)
    with pytest.raises(GameFileError, match=f"line 2: {re.escape(written)} is too small for a float"):
        parse_toml(f"a = 1\nb = {written}".encode())


@pytest.mark.parametrize("written", ["1e400", "-1e999", "123e99999999"])
def test_numbers_that_are_too_large_are_not_read_as_infinite(written):
    with pytest.raises(TooLargeError):
        read_float(written)
    with pytest.raises(GameFileError, match=f"line 2: {re.escape(written)} is too large for a float"):
        parse_toml(f"a = 1\nb = {written}".encode())
    with pytest.raises(GameFileError, match=f"'{re.escape(written)}' is too large for a float"):
        from_json(f"[{written}]")


def test_numbers_that_are_infinite_or_zero_are_read():
    assert read_float("inf") == float("inf")
    assert read_float("0e-999") == read_float("-0.0") == 0.0
    assert parse_toml(b"a = inf\nb = 0e-999").values == {"a": float("inf"), "b": 0.0}


@pytest.mark.parametrize(
    ("text", "share"), [("5%", 0.05), ("5 %", 0.05), (" 12.5% ", 0.125), ("0.05", 0.05), ("0%", 0)]
)
def test_shares_are_numbers_or_percentages(text, share):
    assert read_share(text) == share


@pytest.mark.parametrize("text", ["5%%", "%", "", "5%5", "%5", "5 % %", "1e-400", "1e-400%", "1e400%", "five"])
def test_what_is_no_share_is_refused(text):
    with pytest.raises((ValueError, ArithmeticError)):
        read_share(text)
    with pytest.raises(InvalidGameError, match=r"rake is .*expected a share of the pot"):
        HoldemSpot("QcJc9c3d2d", ["AcKc", "QdQh"], 100, 100, bets="100%", rake=text, rake_cap=1)


@pytest.mark.parametrize("name", ["add_all_in", "force_all_in", "merge"])
def test_thresholds_beyond_every_stack_are_refused(name):
    with pytest.raises(InvalidGameError, match=rf"{name} is 1e\+308, expected a number from 0 to 1,000,000"):
        Betting("50%", **{name: 1e308})
    assert getattr(Betting("50%", **{name: 1e6}), name) == 1e6
