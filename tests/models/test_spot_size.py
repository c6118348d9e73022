"""How large spots are, found without building them, against what is built; and what is said of those too large."""

import re
import subprocess
import sys

import numpy as np
import pytest
from effort import PATIENCE, thorough

from treeplex import Nash, solve
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.holdem.bets import STREETS, Betting
from treeplex.models.games.holdem.size import betting_tree, savings, spot_size, tree_lines
from treeplex.seqform.errors import GameTooLargeError, InvalidGameError
from treeplex.seqform.rules import CHANCE
from treeplex.solvers.public.layout import PublicLayout

phevaluator = pytest.importorskip("phevaluator")

OOP = "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s"
IP = "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+"
RICH = Betting("33%, 75%, e, a", "2.5x, 60%, a")


@pytest.mark.parametrize(
    ("board", "ranges", "stack", "betting"),
    [
        ("Td9d6hQc2s", [OOP, IP], 900, Betting("60%, e, a", "2.5x")),
        ("Td9d6hQc", [OOP, IP], 900, Betting("60%, e, a", "2.5x", {"river": "50%"})),
        ("Td9d6hQc", ["AA, TT", "random"], 120, Betting("50%", "3x", {"": "33%"}, raise_cap=2)),
        ("Td9d6hQc", ["AA", "KK"], 0, Betting()),
        ("Td9d6hQc2s", ["AA", "KK"], 100, Betting("", "")),
        ("Td9d6h", ["AA", "KK"], 150, Betting({"flop": "a"}, "")),
    ],
)
def test_sizes_are_those_of_what_is_built(board, ranges, stack, betting):
    spot = HoldemSpot(board, ranges, 200, stack, betting)
    form, size = spot.public_form, spot.size
    assert (size.nodes, size.leaves) == (len(form.decisions), form.num_leaves)
    assert size.others == (form.players == CHANCE).sum()
    numbers = [
        len(form.children[node]) * len(form.present[form.boards[node]][form.players[node]])
        for node in form.decisions.tolist()
    ]
    assert size.numbers == sum(numbers)
    walked = PublicLayout(form).numbers[form.boards[form.decisions]] >= 0
    assert size.kept == pytest.approx(np.array(numbers)[walked].sum(), rel=0.05)
    assert size.bytes == 8 * size.kept
    assert size.held == pytest.approx((PublicLayout(form).numbers >= 0).sum() * sum(map(len, spot.hands)))


#: Solves a spot in a process of its own, and prints the estimate and by how much the process has grown.
_GROWTH = """
import re
import sys
from pathlib import Path
import psutil
from treeplex import Nash, solve
from treeplex.models.games.holdem import HoldemSpot

def solved(board, ranges, bets):
    spot = HoldemSpot(board, ranges, 200, 900, bets=bets)
    solve(Nash(spot.game), "dcfr:precision=single", max_iterations=3)
    return spot

solved("QsJh2c7d", ["22+,AKs", "22+,AKs"], "50%")  # what this imports is not part of the measurement
before = psutil.Process().memory_info().rss
spot = solved(sys.argv[1], sys.argv[2:4], sys.argv[4])
most = 1024 * int(re.search("VmHWM:\\s*([0-9]+)", Path("/proc/self/status").read_text())[1])
print(spot.size.total_bytes, most - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the largest size of a process is read from /proc")
@pytest.mark.parametrize(
    ("board", "ranges", "bets"),
    [
        ("Ts9s6d2c", [OOP, IP], "50%"),
        pytest.param("Ts9s6d2c", ["random", "random"], "50%", marks=thorough),
        pytest.param("AsAh7d2c", ["random", OOP], "75%", marks=thorough),
        pytest.param("Ks8s3s2d", [OOP, IP], "33%, 75%, 150%", marks=thorough),
        pytest.param("8s7s2s", ["99+, AJs+", "TT+, AQs+"], "50%", marks=thorough),
        pytest.param("Qs7h2d", ["TT+, AQs+", "TT+, AQs+"], "50%", marks=thorough),
    ],
)
def test_the_estimate_is_near_what_a_process_grows_by(board, ranges, bets):
    command = [sys.executable, "-P", "-c", _GROWTH, board, *ranges, bets]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    estimate, grown = map(int, ran.stdout.split())
    assert 0.75 < estimate / grown < 1.25


def test_the_sizes_of_spots_on_record():
    a = HoldemSpot("Td9d6hQc2s", [OOP, IP], 200, 900, Betting("60%, e, a", "2.5x"))
    b = HoldemSpot("Td9d6hQc2s", ["random", "random"], 200, 900, Betting("50%, 100%, a", "2.5x, a"))
    c = HoldemSpot("Td9d6hQc", [OOP, IP], 200, 900, Betting("60%, e, a", "2.5x", {"river": "50%"}))
    assert [(one.size.nodes, one.size.leaves) for one in (a, b)] == [(10, 17), (24, 45)]
    assert [len(held) for held in b.hands] == [1081, 1081]
    assert c.size.nodes == 18 + 2736
    assert [len(held) for held in c.hands] == [167, 250]


def test_the_tree_of_a_river_is_listed():
    spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], 100, 100, bets="100%")
    assert list(tree_lines(betting_tree(spot))) == [
        "river, pot 100 (100 behind)",
        "  oop check",
        "    ip check → showdown",
        "    ip all-in",
        "      oop fold",
        "      oop call → showdown",
        "  oop all-in",
        "    ip fold",
        "    ip call → showdown",
    ]


def test_the_tree_of_a_turn_is_listed_once_for_all_cards():
    """Every line of the public form is in it, cards taken out, and nothing else."""
    spot = HoldemSpot("Td9d6hQc", ["AA", "KK"], 200, 900, Betting("60%, e, a", "2.5x", {"river": "50%"}))
    form, parts = spot.public_form, betting_tree(spot)
    begins = {(one["street"], one["pot"], one["donk"]): one["actions"] for one in parts}
    assert len(begins) == len(parts)

    def lines(street, pot, donk):
        """Yield the lines from where a street begins, those of later streets among them."""

        def below(actions, path):
            for name, after in actions.items():
                yield (*path, name)
                if isinstance(after, dict):
                    yield from below(after, (*path, name))
                elif found := re.match(r"(\w+), pot ([\d,]*\d)(, donk)?", after):
                    key = found[1], int(found[2].replace(",", "")), bool(found[3])
                    yield from ((*path, name, *rest) for rest in lines(*key))

        yield from below(begins[street, pot, donk], ())

    known = {tuple(one for one in form.path(node) if len(one) > 2) for node in range(1, len(form.players))}
    assert set(lines("turn", 200, False)) == known


def test_a_flop_is_counted_in_no_time_and_refused_before_it_is_built(monkeypatch):
    spot = HoldemSpot("Td9d6h", [OOP, IP], 200, 900, RICH)
    monkeypatch.setenv("TREEPLEX_MEMORY", "1GB")
    assert spot.size.nodes > 2_000_000
    with pytest.raises(GameTooLargeError) as refused:
        solve(Nash(spot.game))
    said = str(refused.value)
    assert said.startswith(
        "holdem Td9d6h: the spot has 2,131,940 decision nodes: solving it in 16 bits would take about"
    )
    assert "1 GB; the changes that save most: no raises, raise_cap = 1 (71% less); without 33%" in said
    assert len(savings(spot)) == 3
    with pytest.raises(GameTooLargeError, match=r"in 16 bits would take about 3\.99 GB, but the budget is 1 GB"):
        _ = spot.public_form


def test_the_sequence_form_is_refused_where_the_public_form_fits(monkeypatch):
    spot = HoldemSpot("Td9d6hQc", [OOP, IP], 200, 900, Betting("60%, e, a", "2.5x"))
    monkeypatch.setenv("TREEPLEX_MEMORY", str(4 * spot.size.total_bytes))
    assert spot.game.public_form is not None
    with pytest.raises(GameTooLargeError, match=r"its sequence form would take about .* but the budget is"):
        solve(Nash(spot.game), "highs")


def test_what_would_save_most_saves_that_much():
    """Each change alone, made by hand."""
    spot = HoldemSpot("Td9d6h", [OOP, IP], 200, 900, Betting("60%, e, a", "2.5x"))
    assert [how for how, _ in savings(spot)] == [
        "no raises, raise_cap = 1",
        "without 60% among the bets on the river",
        "without e among the bets on the turn",
    ]
    changed = (
        Betting("60%, e, a", "2.5x", raise_cap=1),
        Betting({"": "60%, e, a", "river": "e, a"}, "2.5x"),
        Betting({"": "60%, e, a", "turn": "60%, a"}, "2.5x"),
    )
    for (_, saved), betting in zip(savings(spot), changed, strict=True):
        assert saved == pytest.approx(1 - spot_size(spot, betting).bytes / spot.size.bytes, abs=1e-12)
    others = [
        Betting({"": "60%, e, a", street: text}, "2.5x") for street in STREETS for text in ("e, a", "60%, a", "60%, e")
    ]
    assert max(1 - spot_size(spot, one).bytes / spot.size.bytes for one in others) == pytest.approx(
        savings(spot)[1][1], abs=1e-12
    )


def test_betting_without_end_is_refused_in_time(monkeypatch):
    monkeypatch.setattr("treeplex.models.games.holdem.size._MOST_ACTIONS", 20_000)
    spot = HoldemSpot(
        "Td9d6h",
        ["AA", "KK"],
        10,
        1_000_000,
        Betting(",".join(f"{n}%" for n in range(1, 60)), "1.1x, 1.5x, 2x", merge=0),
    )
    with pytest.raises(GameTooLargeError, match="its betting has more than 20,000 actions, not counting cards"):
        _ = spot.size


def test_hands_that_hold_a_card_of_a_later_board_take_no_memory():
    spot = HoldemSpot("Td9d6hQc", ["AsAh", "KsKh"], 10, 10, Betting("", ""))
    # A check each on the turn, and on 46 of 48 rivers that leave the hand: one action each.
    assert spot.size.numbers == 2 + 2 * 46
    assert np.prod([len(held) for held in spot.hands]) == 1


# Trees that are listed line by line


def test_a_tree_may_be_listed_line_by_line():
    """The tree of spot a, without a grammar."""
    lines = {
        "": "bet 120, all-in",
        "check": "check, bet 120, all-in",
        "bet 120": "fold, call, raise 300",
        "check, bet 120": "raise 300",
        "bet 120, raise 300": "all-in",
        "check, bet 120, raise 300": "all-in",
    }
    listed = HoldemSpot("Td9d6hQc2s", [OOP, IP], 200, 900, Betting("", "", lines=lines))
    ruled = HoldemSpot("Td9d6hQc2s", [OOP, IP], 200, 900, Betting("60%, e, a", "2.5x"))
    assert listed.size == ruled.size
    assert list(tree_lines(betting_tree(listed))) == list(tree_lines(betting_tree(ruled)))
    assert listed.public_form.actions == ruled.public_form.actions
    assert HoldemSpot.from_toml(listed.to_toml()).public_form.actions == ruled.public_form.actions


def test_a_line_changes_one_decision_and_leaves_the_others():
    """On the turn after one line alone, whatever card comes; sizes as usual elsewhere."""
    betting = Betting("60%", "", lines={"bet 120, call, deal 7s, check": "bet 33, bet 100"})
    spot = HoldemSpot("Td9d6hQc", ["AA", "KK"], 200, 900, betting)
    form = spot.public_form
    after = {form.path(node): [form.actions[child] for child in form.children[node]] for node in form.decisions}
    assert after["bet 120", "call", "As", "check"] == ["check", "bet 33", "bet 100"]
    assert after["bet 120", "call", "As"] == ["check", "bet 264"]
    assert after["check", "bet 120", "call", "As", "check"] == ["check", "bet 264"]
    assert spot.size.nodes == len(form.decisions)
    heads = [line for line in tree_lines(betting_tree(spot)) if not line.startswith(" ")]
    assert heads == [
        "turn, pot 200 (900 behind)",
        "river, pot 200 (900 behind)",
        "river, pot 440 (780 behind)",
        "river, pot 440 after bet 120, call (780 behind)",
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ({"": "bet 1.5"}, "lines.: 'bet 1.5', expected bet 120, raise 300 or all-in"),
        ({"check": 7}, "lines.check is 7, expected a string, such as 'bet 120, all-in'"),
        ({"": "bet 901"}, "lines.(at first): 901 is not allowed, expected 1 to 900"),
        ({"bet 120": "raise 200"}, "lines.bet 120: 200 is not allowed, expected 240 to 900"),
        ({"chek": "bet 20"}, "lines.chek: 'chek' at first (did you mean check?); expected check, bet 120 or all-in"),
        ({"bet 120, call": "bet 20"}, "lines.bet 120, call: no player acts there"),
        ({"bet 120, call, check": "bet 20"}, ("lines.bet 120, call, check: 'check' after bet 120, call; there are "
         "no more bets there")),
        ({"all-in": "raise 900"}, "lines.all-in: an all-in cannot be raised, expected an empty string"),
    ],
)  # fmt: skip
def test_lines_that_cannot_be_are_refused(lines, message):
    with pytest.raises(InvalidGameError) as refused:
        HoldemSpot("Td9d6hQc2s", ["AA", "KK"], 200, 900, Betting("60%, a", lines=lines))
    assert str(refused.value) == message
