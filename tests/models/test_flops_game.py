"""Tests of hold'em from the blinds to the river."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treeplex import Nash, load_game, solve
from treeplex.models.games.holdem import FlopsGame, HoldemSpot, Preflop
from treeplex.models.games.holdem.classes import CLASSES
from treeplex.models.games.holdem.equities import pairs
from treeplex.models.games.holdem.flops_plan import FlopsPlan
from treeplex.models.games.holdem.flops_solved import SolvedFlops
from treeplex.seqform.errors import GameFileError, InvalidGameError

FILE = """
flops = ["Td9d6h", "AsKd2c:2"]
stack = 6
raises = 1
openings = [2.5]
limps = false
[ranges]
sb = "AA, KQs, 72o"
bb = "QQ, AKo:0.5, 54s"
[bets]
bet = "100%"
raise = ""
[bets.turn]
bet = ""
[bets.river]
bet = ""
"""


def test_all_flops_together_deal_the_pairs_of_hands_as_a_deck_does() -> None:
    together = FlopsGame("flops:all", Preflop(stack=5)).together
    assert together == pytest.approx(pairs() / pairs().sum(), rel=1e-12)


def test_hands_that_are_dealt_have_probability_one(tmp_path: Path) -> None:
    form = read(tmp_path, FILE).public_form
    assert form.weights[0] @ form.deals[0].factored.matrix @ form.weights[1] == pytest.approx(1.0)
    assert form.weights[1][CLASSES.index("AKo")] == 0.5


def read(folder: Path, text: str) -> FlopsGame:
    path = folder / "flops.toml"
    path.write_text(text, encoding="utf-8")
    game: Any = load_game(str(path))
    return game.flops


def test_lines_to_a_flop_and_their_spots(tmp_path: Path) -> None:
    game = read(tmp_path, FILE)
    assert game.lines == ("raise 2.5, call", "all-in, call", "raise 2.5, all-in, call")
    spots = game.parts[0].spots
    assert [(one.pot, one.stack) for one in spots] == [(500, 350), (1200, 0), (1200, 0)]
    assert [one.weight for one in game.boards] == [1.0, 2.0]


def test_after_the_line_a_spot_has_the_ranges_that_get_there(tmp_path: Path) -> None:
    game = read(tmp_path, FILE)
    solution = solve(Nash(game.game), "dcfr", tol=0.0, max_iterations=5)
    solved = SolvedFlops(game, solution.profile)
    node = solved.at("raise 2.5")
    assert (node.mover, node.actions, node.pot) == ("bb", ("fold", "call", "all-in"), 3.5)
    # What both seats win from there on, net of what they pay in, adds up to the pot.
    assert sum(node.likely[seat] @ np.nan_to_num(node.evs[seat]) for seat in (0, 1)) / node.likely[0].sum() == (
        pytest.approx(3.5)
    )
    spot = solved.spot("raise 2.5, call", "Td9d6h")
    assert isinstance(spot, HoldemSpot)
    assert (spot.pot, spot.stack) == (500, 350)
    assert spot.weights[1].max() == pytest.approx(solved.at("raise 2.5, call").reaches[0].max())
    with pytest.raises(InvalidGameError, match=r"no flop is dealt after 'raise 2\.5'"):
        solved.spot("raise 2.5", "Td9d6h")


def test_the_plan_tells_memory_and_traffic(tmp_path: Path) -> None:
    plan = FlopsPlan.of(read(tmp_path, FILE))
    assert (plan.flops, plan.stands_for, plan.exits) == (2, 3.0, 3)
    assert plan.bytes["half"] == 4 * plan.numbers
    assert plan.traffic == 2 * 12 * 169 * 3 * 2
    assert plan.workers(2**40) == 1
    assert plan.workers(1000) is None
    assert plan.hours(100, 2) == pytest.approx(plan.hours(100) / 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (FILE.replace("flops =", "flop ="), "flop"),
        (FILE.replace('["Td9d6h", "AsKd2c:2"]', '["Td9d6hQc"]'), "has another number of cards, expected three"),
        (FILE.replace('["Td9d6h", "AsKd2c:2"]', '"flop:25"'), "flops is 'flop:25'.*did you mean '?flops"),
        (FILE.replace("AA, KQs", "AsAh, KQs"), "the range of sb distinguishes suits, expected whole classes"),
        (FILE.replace("sb =", "button ="), "button"),
        (FILE.replace("[2.5]", "[1.5]"), "openings are .*expected numbers of at least 2"),
        (FILE.replace("[2.5]", "2.5"), "openings are 2.5, expected numbers of at least 2"),
        (FILE.replace("limps = false", "limps = 0"), "limps is 0, expected true or false"),
        (FILE.replace("stack = 6", "stack = 1"), "stack"),
        (FILE.replace("stack = 6", "stack = 6\nchips = 3"), "no whole number of chips with chips = 3"),
        (FILE.replace("raises = 1", "rises = 1"), "did you mean raises"),
    ],
)
def test_mistakes_are_named(wrong: str, message: str, tmp_path: Path) -> None:
    with pytest.raises((InvalidGameError, GameFileError), match=message):
        read(tmp_path, wrong)
