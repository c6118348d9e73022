"""Spots of hold'em on the command line: what is told before they are solved, and after."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import json_of, refusal
from effort import soaked, thorough
from locked_spots import drawn_problem
from scipy.optimize import linprog

from treeplex import DCFR, Nash, RestrictedNash, SolverError, Status, load_game, solve
from treeplex.cli import main
from treeplex.cli.spots import locked
from treeplex.seqform.evaluate import worst_case

phevaluator = pytest.importorskip("phevaluator")

RIVER = """\
board = "Td9d6hQc2s"
pot = 200
stack = 900
[ranges]
oop = "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s"
ip = "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+"
[bets]
bet = "60%, e, a"
raise = "2.5x"
"""
TOY = """\
board = "QcJc9c3d2d"
pot = 100
stack = 100
[ranges]
oop = "AcKc, 8h7h"
ip = "QdQh"
[bets]
bet = "100%"
raise = "a"
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "river.toml").write_text(RIVER, encoding="utf-8")
    (tmp_path / "toy.toml").write_text(TOY, encoding="utf-8")
    flop = RIVER.replace("Td9d6hQc2s", "Td9d6h").replace('"60%, e, a"', '"33%, 75%, e, a"')
    (tmp_path / "flop.toml").write_text(flop.replace('"2.5x"', '"2.5x, 60%, a"'), encoding="utf-8")


# info


def test_info_tells_sizes_and_betting_before_anything_is_built(capsys):
    record = json_of(capsys, "info", "river.toml")
    assert (record["game"], record["hands"], record["nodes"], record["leaves"]) == ("river.toml", [167, 246], 10, 17)
    assert (record["street"], record["bytes"]) == ("river", 8 * 5369)
    (part,) = record["tree"]
    assert (part["street"], part["pot"], part["stack"]) == ("river", 200, 900)
    assert list(part["actions"]) == list(part["actions"]["check"]) == ["check", "bet 120", "all-in"]
    assert part["actions"]["bet 120"]["raise 300"]["all-in"] == {"fold": "fold", "call": "showdown"}


def test_info_shows_the_tree_to_people(capsys):
    assert main(["info", "toy.toml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "spot            toy.toml",
        "board           QcJc9c3d2d, river",
        "pot             100, 100 behind",
        "hands           2 oop and 1 ip (2 and 1 by weight)",
    ]
    assert (
        lines[-7:]
        == [
            "  oop check",
            "    ip check → showdown",
            "    ip all-in",
            "      oop fold",
            "      oop call → showdown",
            "  oop all-in",
            "    ip fold",
            "    ip call → showdown",
        ][-7:]
    )


def test_info_of_a_flop_builds_nothing(capsys, monkeypatch):
    monkeypatch.setattr("treeplex.models.games.holdem.spot.SpotTree", None)
    monkeypatch.setenv("TREEPLEX_MEMORY", "1GB")
    record = json_of(capsys, "info", "flop.toml")
    assert (record["street"], record["nodes"]) == ("flop", 2_131_940)
    assert record["bytes"] == 5_139_181_368


def test_a_flop_beyond_the_memory_is_refused_with_what_would_save_most(capsys):
    line = refusal(capsys, "solve", "flop.toml", "--memory", "1GB")
    assert "flop.toml has 2,131,940 decision nodes" in line
    assert line.count("% less)") == 3


# solve


@thorough
def test_16_bits_are_taken_where_asked_for_or_where_memory_is_short(capsys, monkeypatch):
    asked = json_of(capsys, "solve", "river.toml", "--precision", "half")
    monkeypatch.setenv("TREEPLEX_MEMORY", "40kB")
    monkeypatch.setattr("treeplex.models.games.holdem.situation._HAND", 0)  # a river's tables alone take as much
    short = json_of(capsys, "solve", "river.toml")
    assert asked["status"] == short["status"] == "converged"
    assert asked["exploitability"] == short["exploitability"]
    assert "16 bits" in short["message"]
    assert "16 bits" not in asked["message"]
    line = refusal(capsys, "solve", "river.toml", "--precision", "single")
    assert "solve in 16 bits (precision=half)" in line


def test_a_river_is_solved_to_the_numbers_on_record(capsys):
    record = json_of(capsys, "solve", "river.toml", "--tol", "0.01%", "--hands", "QsQh,AdKd")
    assert record["status"] == "converged"
    assert record["method"] == "dcfr"
    assert record["ev"] == pytest.approx([92.7738, 107.2262], abs=0.02)
    assert sum(record["ev"]) == pytest.approx(200.0, abs=1e-9)
    assert record["ev"][0] == pytest.approx(record["value"] + 100.0, abs=1e-9)
    assert record["equity"] == pytest.approx([0.516174, 1 - 0.516174], abs=1e-6)
    assert record["exploitability"] <= 0.02
    assert record["exploitability_percent"] == pytest.approx(record["exploitability"] / 2, abs=1e-12)
    assert record["tolerance"] == pytest.approx(0.02)
    assert record["root"] == pytest.approx({"check": 0.688864, "bet 120": 0.311136, "all-in": 0.0}, abs=0.02)
    assert (record["hands"], record["nodes"], record["bytes"]) == ([167, 246], 10, 8 * 5369)
    assert list(record["by_hand"]) == ["QsQh", "AdKd"]
    queens = record["by_hand"]["QsQh"]
    assert queens["ip"]["strategy"] is None
    assert sum(queens["oop"]["strategy"].values()) == pytest.approx(1.0)
    assert record["by_hand"]["AdKd"]["ip"] is None


def test_the_nuts_and_air_earn_what_is_worked_out_by_hand(capsys):
    record = json_of(capsys, "solve", "toy.toml", "--method", "highs", "--hands", "AcKc, 8h7h, QdQh")
    assert record["status"] == "optimal"
    assert record["ev"] == pytest.approx([75.0, 25.0], abs=1e-9)
    hands = record["by_hand"]
    assert hands["AcKc"]["oop"]["ev"] == pytest.approx(150.0, abs=1e-9)
    assert hands["8h7h"]["oop"]["ev"] == pytest.approx(0.0, abs=1e-9)
    assert hands["AcKc"]["oop"]["strategy"] == pytest.approx({"check": 0.0, "all-in": 1.0}, abs=1e-9)
    assert hands["8h7h"]["oop"]["strategy"] == pytest.approx({"check": 0.5, "all-in": 0.5}, abs=1e-9)
    assert hands["QdQh"]["oop"] is None
    assert record["root"] == pytest.approx({"check": 0.25, "all-in": 0.75}, abs=1e-9)


def test_people_see_ev_equity_exploitability_and_frequencies(capsys):
    assert main(["solve", "toy.toml", "--tol", "0.1%", "--hands", "8h7h"]) == 0
    out = capsys.readouterr().out
    for text in (
        "100, 100 behind, river QcJc9c3d2d",
        "exploitability",
        "% of the pot; at most the tolerance of 0.1%",
        "equity",
        "oop acts first",
        "8h7h oop",
    ):
        assert text in out


# Rake


@pytest.fixture
def raked(tmp_path):
    (tmp_path / "raked.toml").write_text(TOY + '[rake]\nrate = "5%"\ncap = 10\n', encoding="utf-8")
    return "raked.toml"


def test_a_spot_with_a_rake_is_solved_for_an_approximate_equilibrium(raked, capsys):
    record = json_of(capsys, "solve", raked, "--tol", "0.01%")
    assert (record["problem"], record["question"], record["method"]) == ("epsilon-nash", "epsilon-nash", "dcfr")
    assert record["status"] == "converged"
    assert record["epsilon"] == max(record["regrets"]) <= 0.01
    assert record["nash_conv"] == pytest.approx(sum(record["regrets"]))
    assert record["exploitability"] == pytest.approx(record["nash_conv"] / 2)
    assert record["lower"] is record["upper"] is record["gap"] is record["objective"] is None
    # Air bets 100 times of 190, and 100 times of 195 the bet is not called.
    assert record["root"]["all-in"] == pytest.approx((1 + 100 / 190) / 2, abs=5e-3)
    assert record["rake"] == pytest.approx(5 + 5 * 95 / 195 * (1 + 100 / 190) / 2, abs=0.02)
    assert sum(record["ev"]) == pytest.approx(100 - record["rake"], abs=1e-9)
    assert record["ev"] == pytest.approx([50 + value for value in record["value"]])
    assert json_of(capsys, "solve", "toy.toml")["rake"] == 0.0
    assert json_of(capsys, "solve", "toy.toml")["regrets"] is None


def test_people_see_the_rake_and_what_each_seat_could_gain(raked, capsys):
    assert main(["solve", raked, "--tol", "0.1%", "--at", "all-in", "--out", "raked.npz", "--html", "raked.html"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for text in (
        "epsilon-nash on raked.toml",
        "rake 5% of a pot, at most 10 chips; 6.",
        "% of the pot; at most the tolerance of 0.1%",
        ": the gain of a best response; NashConv 0.",
        "; rake 7.",
    ):
        assert text in out
    assert "proven" not in out
    page = Path("raked.html").read_text(encoding="utf-8")
    assert "the house takes" in page
    assert "the value of the game lies" not in page
    record = json_of(capsys, "show", "raked.npz", "--at", "all-in")
    assert sum(record["ev"]) == pytest.approx(100 - 6.85, abs=0.1)
    assert record["at"]["rake"] == pytest.approx(
        200 - sum(record["at"]["averages"][f"{seat} ev"] for seat in ("oop", "ip"))
    )
    described = json_of(capsys, "info", raked)
    assert (described["rake"], described["rake_cap"]) == (0.05, 10.0)
    assert main(["info", raked]) == 0
    assert "rake            5% of a pot, at most 10 chips\n" in capsys.readouterr().out


def test_what_a_rake_does_not_go_with_is_refused(raked, capsys):
    assert refusal(capsys, "solve", raked, "--problem", "best-response", "--opponent", "uniform") == (
        "best-response needs a zero-sum game, but the payoffs of raked.toml do not sum to zero at every leaf: "
        "use EpsilonNash (--problem epsilon-nash)"
    )
    assert refusal(capsys, "solve", raked, "--lock", 'ip at "all-in": fold 40%', "--problem", "nash") == (
        "constrained needs a zero-sum game, but the payoffs of raked.toml do not sum to zero at every leaf: "
        "use EpsilonNash (--problem epsilon-nash)"
    )
    assert refusal(capsys, "solve", raked, "--lock", 'ip at "all-in": fold 40%', "--frontier") == (
        "--frontier is for rnr, but --problem is epsilon-nash: restricted Nash responses need a zero-sum game, such as "
        "a spot without a rake"
    )
    assert refusal(capsys, "solve", raked, "--method", "highs") == (
        "method highs cannot solve epsilon-nash: use rational, branch-and-bound, lemke, cfr, cfr+, dcfr, pcfr+, "
        "hs-dcfr, hs-pcfr+, pdcfr+, sapcfr+, cfvfp, pref-cfr"
    )


# A node, a chart, a page and the file


def test_a_node_is_shown_by_its_line(capsys):
    assert main(["solve", "toy.toml", "--method", "highs", "--at", "all-in"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("ip to act after all-in, board Qc Jc 9c 3d 2d, pot 200")
    assert lines[start + 1] == "fold 0.5000, call 0.5000"
    assert lines[start + 4].split()[:6] == ["hand", "class", "reach", "weight", "ev", "equity"]
    numbers = ["1.0000", "1.0000", "0.00", "0.3333", "0.5000", "0.5000", "0.00", "0.00"]
    assert lines[start + 5].split() == ["QhQd", "QQ", *numbers]
    record = json_of(capsys, "solve", "toy.toml", "--method", "highs", "--at", "all-in")
    assert record["at"]["averages"]["fold"] == pytest.approx(0.5)
    assert [row["hand"] for row in record["at"]["hands"]["oop"]] == ["AcKc", "8h7h"]
    assert "at" not in json_of(capsys, "solve", "toy.toml")


def test_a_solved_spot_is_kept_shown_and_started_from(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    files = ["--out", "a.npz", "--chart", "a.png", "--html", "a.html"]
    first = json_of(capsys, "solve", "toy.toml", "--method", "dcfr", "--tol", "0.01%", *files)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "Out of position earns" in (tmp_path / "a.html").read_text(encoding="utf-8")
    at_first, root = (json_of(capsys, "show", "a.npz", "--at", line)["at"] for line in ("", "root"))
    assert at_first == root
    again = json_of(capsys, "show", "a.npz", "--at", "check", "--hands", "QQ")
    assert again["ev"] == pytest.approx(first["ev"], abs=1e-4)
    assert again["exploitability"] == pytest.approx(first["exploitability"], abs=1e-4)
    assert again["certificate"]["method"] == "dcfr"
    assert again["at"]["mover"] == "ip"
    assert list(again["by_hand"]) == ["QhQd"]
    assert main(["show", "a.npz", "--at", "all-in", "--html", "b.html", "--chart", "b.svg"]) == 0
    assert "computed again" in (printed := capsys.readouterr().out)
    assert "ip to act after all-in" in printed
    assert (tmp_path / "b.html").exists()
    assert (tmp_path / "b.svg").exists()
    started = json_of(capsys, "solve", "toy.toml", "--tol", "0.02%", "--start", "a.npz")
    assert started["iterations"] < first["iterations"]
    other = (tmp_path / "toy.toml").read_text().replace("pot = 100", "pot = 90")
    (tmp_path / "other.toml").write_text(other)
    assert refusal(capsys, "solve", "other.toml", "--start", "a.npz").startswith(
        "a.npz is for the spot QcJc9c3d2d, expected "
    )
    judged = json_of(capsys, "evaluate", "toy.toml", "--strategy", "a.npz")
    assert judged["exploitability"] == pytest.approx(first["exploitability"], abs=1e-4)
    reply = json_of(capsys, "solve", "toy.toml", "--problem", "best-response", "--opponent", "a.npz", "--player", "1")
    assert reply["opponent_value"] == pytest.approx(first["ev"][1] - 50.0, abs=2 * first["exploitability"] + 1e-3)


def test_a_line_is_shown_by_the_next_card(tmp_path, capsys):
    turn = TOY.replace("QcJc9c3d2d", "QcJc9c3d").replace('"100%"', '"100%"')
    (tmp_path / "turn.toml").write_text(turn)
    arguments = ["solve", "turn.toml", "--tol", "2%", "--at", "check, check, deal *"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    (start,) = [
        place for place, line in enumerate(lines) if line.startswith("oop to act after check, check by the next card")
    ]
    assert lines[start + 1].split()[:3] == ["card", "weight", "oop"]
    assert lines[start + 2].startswith("all   1.0000")
    record = json_of(capsys, *arguments)
    assert [row["card"] for row in record["at"]["cards"]][:3] == ["all", "As", "Ah"]


def test_other_problems_take_spots(capsys):
    record = json_of(
        capsys, "solve", "toy.toml", "--problem", "rnr", "--opponent", "uniform", "--p", "0.5", "--player", "0"
    )
    assert (record["problem"], record["method"], record["status"]) == ("rnr", "highs", "optimal")
    assert record["gain"] >= -0.1  # the tolerance
    assert sum(record["ev"]) == pytest.approx(100.0)


def test_a_run_goes_on_from_its_checkpoint(capsys):
    arguments = ["solve", "river.toml", "--tol", "0"]
    first = json_of(capsys, *arguments, "--max-iterations", "40", "--checkpoint", "run.ck")
    assert first["iterations"] == 40
    again = json_of(capsys, *arguments, "--max-iterations", "80", "--resume", "run.ck")
    whole = json_of(capsys, *arguments, "--max-iterations", "80")
    assert (again["ev"], again["root"]) == (whole["ev"], whole["root"])


@pytest.mark.slow
def test_a_sweep_takes_spots_and_tolerances_in_per_cent(tmp_path, capsys):
    (tmp_path / "sweep.toml").write_text('command = "solve"\ngame = "toy.toml"\n[grid]\ntol = ["1%", "0.1%"]\n')
    assert main(["sweep", "sweep.toml", "--out", "found"]) == 0
    rows = (tmp_path / "found" / "results.csv").read_text().splitlines()
    assert len(rows) == 3
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("solve kuhn --tol 1%",
         ("--tol 1%: a percentage refers to the pot of a spot, but GAME is kuhn; expected a number of at least 0, such "
         "as 1e-4")),
        ("solve kuhn --hands AsKs", "--hands AsKs: expected a hold'em spot (.toml), but GAME is kuhn"),
        ("solve toy.toml --tol -1%",
         ("invalid value for '--tol': -1, expected a number of at least 0, such as 1e-4, or a share of a spot's pot, "
          "such as 0.1% (see treeplex solve --help)")),
        ("solve toy.toml --tol 1%%",
         ("invalid value for '--tol': 1%%, expected a number of at least 0 with one per cent sign, as in 0.1% "
         "(see treeplex solve --help)")),
        ("show toy.toml",
         "toy.toml does not name its game; give it with --game GAME (it looks like a game: treeplex info reads it)"),
        ("solve toy.toml --hands AsKx", ("--hands: range at character 1, 'AsKx': expected AA, 66+, QQ-22, AKs, AKo, "
         "AK, A2s+, A5s-A2s, 98s-65s, AsKh or random")),
        ("solve toy.toml --hands QcQd", "--hands: 'QcQd': Qc is on the board, expected hands of oop or ip"),
        ("solve toy.toml --hands AcKc,77", "--hands: '77': neither range contains it, expected hands of oop or ip"),
        ("solve toy.toml --hands ,", "--hands ',': expected hands, such as QsQh,AdKd"),
        ("solve kuhn --at pass",
         "--at pass: expected a hold'em spot (.toml), preflop or three_handed, but GAME is kuhn"),
        ("solve preflop:stack=4 --at raise",
         ("--at: there is no 'raise' at the root (did you mean raise 2?); expected "
         "fold, call, raise 2, raise 3 or all-in")),
        ("solve preflop:stack=4 --hands AA",
         "--hands AA: expected a hold'em spot (.toml), but GAME is preflop:stack=4"),
        ("solve toy.toml --at bet",
         "--at: there is no 'bet' at the root; expected check or all-in"),
        ("solve toy.toml --at check,*", "--at: no card is dealt after check; expected check or all-in"),
        ("solve toy.toml --chart a.txt", "--chart a.txt: expected a file name that ends with .svg, .png or .pdf"),
        ("solve toy.toml --chart a.png --at check,*",
         "--chart a.png: --at has 'deal *'; expected one card, as in 'deal 7s'"),
        ("solve toy.toml --chart a.png --plot a.png", "--plot and --chart name the same file, a.png"),
        ("show nash --game kuhn --at p",
         ("--at: nash is for kuhn, expected a solved spot, or strategies for a spot, preflop or three_handed")),
        ("show nash --game toy.toml --by clas", "--by clas: expected hand or class (did you mean class?)"),
        ("show nash --game toy.toml --cells ev", "--cells ev: needs --chart FILE, whose cells it sets"),
        ("show nash --game toy.toml --csv a.txt", "--csv a.txt: expected a file name that ends with .csv"),
        ("show nash --game toy.toml --seat op", "--seat: seat is 'op', expected oop or ip (did you mean oop?)"),
        ("show nash --game toy.toml --unit bb",
         "--unit: unit is 'bb', but a spot does not state its big blind; expected its chips, as in bb=2"),
        ("show nash --game toy.toml --by class --plot a.svg",
         "--plot: cannot be combined with --by, which shows the hands at a node"),
        ("show uniform --game preflop:stack=4,continuations=0 --unit chips",
         "--unit: unit is 'chips', but this game is played in big blinds; expected bb or pot"),
        ("show uniform --game preflop:stack=4,continuations=0 --by hand",
         "--by hand: before the flop, hands of one class play the same; expected class"),
        ("show nope.npz --at p", "--at: nope.npz: no such file"),
        ("info toy.toml --infosets",
         ("--infosets: toy.toml has one infoset for each hand at 4 nodes; 'treeplex solve --hands' shows the strategy "
          "of hands")),
        ("info toy.tml", ("toy.tml: the suffix is '.tml' (did you mean .toml?); expected one of .efg, .graphml, .json, "
         ".npz, .toml")),
        ("info toy.toml:pot=3", "toy.toml: a game in a file takes no parameters, received pot=3"),
        ("info nowhere.toml", "nowhere.toml: no such file"),
        ("solve to.toml", "to.toml: no such file (did you mean toy.toml?)"),
    ],
    ids=lambda one: one[:30],
)  # fmt: skip
def test_what_is_typed_wrong_is_told_in_a_line(arguments, message, capsys):
    assert refusal(capsys, *arguments.split(" ")) == message


def test_a_spot_is_loaded_again_by_its_path():
    game = load_game("toy.toml")
    assert load_game(game.spec).fingerprint == game.fingerprint
    assert game.parameters == {"board": "QcJc9c3d2d", "pot": 100, "stack": 100}


# Locks

LOCK = 'ip at "all-in": fold 60%'


def test_a_locked_spot_says_what_the_lock_gains_and_risks(capsys):
    near = json_of(capsys, "solve", "toy.toml", "--lock", LOCK, "--method", "dcfr")
    assert (near["method"], near["status"]) == ("dcfr", "converged")
    assert near["lock_gain"][0] <= 5.0 + 1e-9  # at least, and at most: by hand
    assert near["lock_risk"][0] >= 25.0 - 1e-9
    tiny = json_of(capsys, "solve", "toy.toml", "--lock", LOCK, "--tol", "0.0001%")
    assert (tiny["method"], tiny["status"]) == ("highs", "optimal")
    assert near["ev"] == pytest.approx([80.0, 20.0], abs=0.2)
    assert [near[name][0] for name in ("lock_gain", "lock_risk")] == pytest.approx([5.0, 25.0], abs=0.2)
    record = json_of(capsys, "solve", "toy.toml", "--lock", LOCK, "--method", "highs")
    assert record["locks"] == [LOCK]
    assert (record["problem"], record["question"], record["status"]) == ("constrained", "nash", "optimal")
    assert record["ev"] == pytest.approx([80.0, 20.0], abs=1e-6)
    assert record["unlocked_ev"] == pytest.approx([75.0, 25.0], abs=1e-6)
    assert record["lock_gain"] == [pytest.approx(5.0, abs=1e-6), None]
    assert record["lock_risk"] == [pytest.approx(25.0, abs=1e-6), None]
    assert sum(record["multipliers"].values()) == pytest.approx(50.0, abs=1e-6)  # chips for each unit of folds
    assert main(["solve", "toy.toml", "--lock", LOCK, "--method", "highs"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"locks {LOCK} oop gains 5.00 chips at least while ip keeps to the locks; 75.00 without locks" in printed
    assert "oop risks 25.00 chips of that EV if ip does not, as a best response proves" in printed


#: By hand, with a lock of ip at 2/5 folds: oop's kings go all-in and are paid 2/5 of 20, or of 50 what ip calls, 38 on
#: average; nothing that goes all-in would lose 10 on average. Each is as likely, so that oop is paid 19; without the
#: lock ip calls 2/5, and oop 32 / 2.
POLAR = """\
board = "9s7h5d3c2d"
pot = 20
stack = 30
[ranges]
oop = "KcKd, JhTh"
ip = "QcQd"
[bets]
bet = "a"
raise = "a"
[thresholds]
add_allin = 0
force_allin = 0
merge = 0
"""
POLAR_LOCK = 'ip at "all-in": fold 40%'


@pytest.mark.parametrize("tiny", [True, False])
@pytest.mark.parametrize("lock", [True, False])
def test_a_tiny_spot_is_solved_exactly_where_the_loop_does_not_come_so_close(lock, tiny, capsys, monkeypatch):
    Path("polar.toml").write_text(POLAR, encoding="utf-8")
    if not tiny:  # then the loop is tried first
        monkeypatch.setattr("treeplex.models.games.holdem.spot._TINY", 0)
        monkeypatch.setattr(DCFR, "default_iterations", 1)
    locks = ("--lock", POLAR_LOCK) if lock else ()
    record = json_of(capsys, "solve", "polar.toml", *locks, "--tol", "0.00001%")
    if tiny or not lock:  # with the lock the best reply is pure, which the loop plays from its first iteration on
        assert (record["method"], record["status"]) == ("highs", "optimal")
    assert record["ev"] == pytest.approx([19.0, 1.0] if lock else [16.0, 4.0], abs=1e-6)
    if lock:  # the value without it is out of the loop's reach
        assert record["unlocked_ev"] == pytest.approx([16.0, 4.0], abs=1e-6)
        assert record["lock_gain"] == [pytest.approx(3.0, abs=1e-6), None]
    asked = json_of(capsys, "solve", "polar.toml", *locks, "--tol", "0.00001%", "--max-iterations", "1")
    assert asked["method"] == "dcfr"  # who asks for a limit of the loop has the loop


@pytest.mark.soak
def test_what_locks_gain_and_risk_is_bounded_by_the_truth():
    """Of random locked spots by iterations: the truth is HiGHS's, and what opponents can take scipy's."""
    found = 0
    for seed in range(soaked(4)):
        found += hold_locks_to_the_truth(seed)
    assert found


def hold_locks_to_the_truth(seed):
    """Hold what locks gain and risk to the truth; return how many numbers were compared."""
    problem = drawn_problem(seed, narrow=True)
    if problem is None:
        return 0
    spot, random = problem.game.spot, np.random.default_rng(seed)
    exact, free = solve(problem, "highs"), solve(Nash(spot.game), "highs")
    if exact.status is not Status.OPTIMAL:
        return 0
    method = ("dcfr", "pcfr+", "ccfr", "cfr+", "exact")[seed % 5]
    responder = None
    if len({one.player for one in problem.constraints}) == 1 and random.random() < 0.4:
        responder = 1 - problem.constraints[0].player
        problem = RestrictedNash(spot.game, spot.constraints, p=float(random.choice([0.1, 0.6, 1.0])))
        method = "dcfr" if method == "ccfr" else method
    tol = 10.0 ** -random.integers(1, 5) * spot.pot
    solution = solve(problem, method, tol=tol, max_iterations=int(random.choice([4, 30, 300, 2000])))
    if solution.infeasibility is not None:
        return 0
    told, near, compared = locked(solution, spot), 1e-7 * spot.pot, 0
    if told["unlocked_ev"] is None:  # it was not found so closely, and the message says so
        assert told.get("reason") or solution.lower is None
        return 0
    for player in (0, 1) if responder is None else (responder,):
        gain, risk = told["lock_gain"][player], told["lock_risk"][player]
        if gain is None:
            continue
        compared += 1
        value = float(free.value) * (1 - 2 * player)
        strategy = solution.profile[player]
        kept = worst_under(strategy, [one for one in spot.constraints if one.player != player])
        best = float(exact.value) * (1 - 2 * player)
        assert gain <= kept - value + near, (seed, player, method)
        assert kept <= best + near or solution.violation > 0.0 or responder is not None, (seed, player, method)
        assert risk >= value - worst_case(spot.game, strategy) - near, (seed, player, method)
        # Neither is further from the truth than what was proven of the two values.
        doubt = 0.2 * solution.tolerance if responder is None else 2 * solution.problem.value_error
        assert risk <= value - worst_case(spot.game, strategy) + doubt + near, (seed, player, method)
    return compared


def worst_under(strategy, constraints):
    """Return what a strategy earns against the opponent who keeps to constraints and hurts it most, by scipy."""
    form, player = strategy.sequence_form, strategy.player
    other = form.treeplexes[1 - player]
    payoffs = -form.gradient(1 - player, [strategy.plan, strategy.plan])
    rows, limits = np.zeros((len(constraints), other.num_sequences)), np.zeros(len(constraints))
    for number, one in enumerate(constraints):
        rows[number, one.indices], limits[number] = one.coefficients, one.limit
    solved = linprog(
        payoffs, A_ub=rows if constraints else None, b_ub=limits if constraints else None, A_eq=other.E, b_eq=other.e
    )
    assert solved.success
    return float(solved.fun)


def test_a_locked_spot_is_reported_though_its_value_without_locks_is_not_found(capsys, monkeypatch):
    def fails(*_):
        raise SolverError("nothing was found")

    monkeypatch.setattr("treeplex.cli.spots._without_locks", fails)
    record = json_of(capsys, "solve", "toy.toml", "--lock", LOCK)
    assert record["ev"] == pytest.approx([80.0, 20.0], abs=1e-6)
    assert [record[name] for name in ("unlocked_ev", "lock_gain", "lock_risk")] == [None] * 3
    assert record["locks"] == [LOCK]
    assert "could not determine the value of the locks: nothing was found" in record["message"]
    assert main(["solve", "toy.toml", "--lock", LOCK]) == 0
    assert "violation 0 at most, by which a probability misses a lock" in " ".join(capsys.readouterr().out.split())


def test_a_lock_with_a_rake_is_compared_with_the_equilibrium_without_it(raked, capsys):
    fixed = ("--lock", 'ip at "all-in" each: fold 60%', "--lock", 'ip at "check" each: check 100%')
    record = json_of(capsys, "solve", raked, *fixed)
    # The rake is 5 of the pot of 100 and 10 of 300: the nuts win .6 95 + .4 190, air .6 95 - .4 100.
    assert (record["problem"], record["iterations"]) == ("epsilon-nash", 0)
    assert record["ev"][0] == pytest.approx((0.6 * 95 + 0.4 * 190 + 0.6 * 95 - 0.4 * 100) / 2, abs=1e-9)
    assert record["lock_gain"] == [pytest.approx(record["ev"][0] - record["unlocked_ev"][0], abs=1e-9), None]
    # An opponent who always calls costs every bluff 100, and the nuts win 190.
    assert record["lock_risk"] == [pytest.approx(record["unlocked_ev"][0] - (190 - 100) / 2, abs=1e-9), None]
    assert "the constraints leave player 1 only one plan" in record["message"]
    assert main(["solve", raked, *fixed]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "at the ε-equilibrium without locks" in printed
    assert "even if that costs ip chips" in printed
    assert "the gain of a best response within the locks" in printed
    assert refusal(capsys, "solve", raked, *fixed, "--frontier")
    assert "zero-sum" in refusal(capsys, "solve", raked, *fixed, "--problem", "rnr", "--opponent", "locks", "--p", "1")


def test_a_count_and_a_likely_lock_say_what_was_computed_for_them(capsys):
    counted = json_of(capsys, "solve", "toy.toml", "--lock", 'ip at "all-in": fold 48 of 80', "--method", "highs")
    (one,) = counted["lock_intervals"]
    assert one["interval"] == pytest.approx([0.4844, 0.7080], abs=1e-4)
    exact = json_of(capsys, "solve", "toy.toml", "--lock", LOCK, "--method", "highs")
    assert counted["interval_cost"] == [pytest.approx(exact["ev"][0] - counted["ev"][0], abs=1e-6), None]
    assert counted["likely_from"] is None
    likely = json_of(capsys, "solve", "toy.toml", "--lock", 'ip at "all-in" likely: fold 60%')
    assert likely["locks"] == ['ip at "all-in" likely: fold 60%']
    assert likely["ev"][0] == pytest.approx(80.0, abs=0.1)  # a single hand
    assert likely["likely_from"]["problem"] == "nash"
    assert likely["likely_from"]["error"] <= 0.01
    assert main(["solve", "toy.toml", "--lock", 'ip at "all-in" likely: fold 60%']) == 0
    assert "the hands of likely locks are those nearest to an equilibrium" in " ".join(capsys.readouterr().out.split())


def test_locks_of_the_file_and_of_the_command_line_hold_together(capsys, tmp_path):
    table = '[[locks]]\nseat = "ip"\nat = "all-in"\nstrategy = { fold = 0.6, call = 0.4 }\n'
    (tmp_path / "locked.toml").write_text(TOY + table, encoding="utf-8")
    both = json_of(capsys, "solve", "locked.toml", "--lock", "oop at root: bet <= 30%", "--method", "highs")
    assert len(both["locks"]) == 2
    # Of nuts that bet 60% of the time each bet brings 40 more than a check.
    assert both["ev"] == pytest.approx([62.0, 38.0], abs=1e-6)
    assert both["lock_gain"] == pytest.approx([-13.0, 13.0], abs=1e-6)
    safe = json_of(
        capsys, "solve", "locked.toml", "--problem", "epsilon-safe", "--opponent", "locks", "--epsilon", "10"
    )
    assert (safe["lock_gain"][0], safe["lock_risk"][0]) == pytest.approx((2.0, 10.0), abs=1e-6)
    unlocked = json_of(capsys, "solve", "toy.toml")
    assert [unlocked[name] for name in ("locks", "lock_gain", "lock_risk", "unlocked_ev")] == [None] * 4


def test_commands_that_leave_out_locks_say_so(capsys, tmp_path):
    path = tmp_path / "locked.toml"
    path.write_text(TOY + "[[locks]]\ntext = 'ip at \"all-in\": call 40%'\n", encoding="utf-8")
    note = f"note: the constraints of {path} are left out; treeplex solve applies them\n"
    assert main(["evaluate", str(path), "--strategy", "uniform", "--json", "-"]) == 0
    assert capsys.readouterr().err == note
    assert main(["solve", str(path), "--json", "-"]) == 0
    assert "are left out" not in capsys.readouterr().err


def test_the_curve_of_safety_is_a_frontier(capsys, tmp_path):
    record = json_of(capsys, "solve", "toy.toml", "--lock", LOCK, "--frontier", "--html", "curve.html")
    points = record["frontier"]
    assert len(points) == 20
    assert [one["exploitability"] for one in points] == pytest.approx([25.0 / 19.0 * k for k in range(20)], abs=1e-5)
    assert [one["gain"] for one in points] == pytest.approx([5.0 / 19.0 * k for k in range(20)], abs=1e-5)
    page = (tmp_path / "curve.html").read_text(encoding="utf-8")
    assert "20 of the best strategies were computed" in page
    assert "if player 1 keeps to" in page
    learned = json_of(capsys, "solve", "toy.toml", "--lock", LOCK, "--frontier", "--method", "dcfr", "--tol", "0.1%")
    assert (learned["method"], learned["status"]) == ("dcfr", "converged")
    assert learned["gap"] < 0.5
    assert all(one["gain"] == pytest.approx(one["exploitability"] / 5.0, abs=0.3) for one in learned["frontier"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kuhn", "--lock", LOCK], f"--lock {LOCK}: expected a hold'em spot (.toml), but GAME is kuhn"),
        (["toy.toml", "--lock", 'ip at "bet 5": fold 1'], "there is no 'bet 5' at the root; expected check or all-in"),
        (
            ["toy.toml", "--lock", LOCK, "--problem", "style", "--maximise", "bet"],
            "has constraints, which style does not take; expected --problem nash or constrained, or --opponent locks",
        ),
        (
            ["toy.toml", "--lock", LOCK, "--problem", "best-response", "--opponent", "locks", "--player", "1"],
            "--opponent locks: toy.toml has only locks of player 1",
        ),
        (["toy.toml", "--problem", "rnr", "--opponent", "locks", "--p", "1"], "toy.toml has no locks; --lock gives"),
        (
            ["toy.toml", "--lock", LOCK, "--lock", "oop at root: bet <= 30%", "--frontier"],
            "--opponent locks: toy.toml has locks of player 0 too, but responders cannot have locks; expected locks of",
        ),
    ],
)
def test_what_locks_do_not_go_with_is_refusal(capsys, arguments, message):
    assert message in refusal(capsys, "solve", *arguments)


def test_what_a_response_may_lose_is_held_against_no_tolerance(capsys):
    assert main(["solve", "toy.toml", "--problem", "best-response", "--opponent", "uniform", "--player", "1"]) == 0
    printed = capsys.readouterr().out
    assert "exploitability  25 chips, 25% of the pot\n" in printed
    assert "gap" in printed
    assert "above the tolerance" not in printed


def test_constraints_and_styles_name_the_lines_of_a_spot(capsys):
    asked = ("solve", "toy.toml", "--problem", "constrained", "--constrain", "bet <= 0.3")
    near = json_of(capsys, *asked)
    assert near["multipliers"] == pytest.approx({"bet <= 0.3": 100.0 / 3.0}, abs=0.5)
    record = json_of(capsys, *asked, "--method", "highs")
    assert record["ev"] == pytest.approx([60.0, 40.0], abs=1e-6)
    assert record["multipliers"] == pytest.approx({"bet <= 0.3": 100.0 / 3.0}, abs=1e-6)
    assert main(["style", "toy.toml", "--target", '"all-in, fold" <= 0.1', "--player", "1", "--json", "-"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["least_loss"] == pytest.approx(20.0, abs=1e-6)  # the nuts win 190, air gives up: 95 of 75


def test_a_spot_is_solved_without_its_sequence_form(capsys, monkeypatch):
    """Which a flop has no memory for: sizes are counted on the public form."""
    expected = load_game("toy.toml").sequence_form.treeplexes
    monkeypatch.setattr("treeplex.models.games.holdem.spot.HoldemGame._form", None)
    record = json_of(capsys, "solve", "toy.toml", "--method", "dcfr", "--tol", "0.1%", "--hands", "AcKc")
    assert record["status"] == "converged"
    assert record["sizes"]["sequences"] == [treeplex.num_sequences for treeplex in expected]
    assert record["sizes"]["infosets"] == [treeplex.num_infosets for treeplex in expected]
    assert main(["solve", "toy.toml", "--tol", "0.1%"]) == 0
    capsys.readouterr()


# Classes, CSV, pictures and units


def printed_columns(text, first):
    """Return the table that begins with a column, as lists of words."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(first))
    rows = [line.split() for line in lines[start:]]
    return rows[: next((number for number, row in enumerate(rows) if not row), len(rows))]


def test_hands_and_classes_are_shown_and_written_as_csv(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main(["solve", "toy.toml", "--method", "highs", "--out", "a.npz"]) == 0
    capsys.readouterr()
    files = ["--csv", "classes.csv", "--graph", "graph.pdf", "--chart", "ip.png", "--cells", "ev"]
    assert main(["show", "a.npz", "--at", "all-in", "--by", "class", "--seat", "oop", "--unit", "bb=2", *files]) == 0
    out = capsys.readouterr().out
    assert "EV oop 100.000 BB, ip 0.000 BB; equity" in out
    assert "\nhands of oop\n" in out
    shown = printed_columns(out, "class")
    assert [row[0] for row in shown] == ["class", "AKs", "87s"]
    heading, *rows = (tmp_path / "classes.csv").read_text().splitlines()
    assert heading == "class,combinations,reach,weight,ev (BB),equity"
    assert [row.split(",")[0] for row in rows] == ["AKs", "87s"]
    assert float(rows[0].split(",")[4]) == pytest.approx(125.0)  # half of the time 200 chips, half of the time 300
    assert (tmp_path / "graph.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "ip.png").read_bytes().startswith(b"\x89PNG")
    assert main(["show", "a.npz", "--hands", "all", "--csv", "hands.csv"]) == 0
    assert [row.split(",")[0] for row in (tmp_path / "hands.csv").read_text().splitlines()] == ["hand", "AcKc", "8h7h"]
    capsys.readouterr()
    record = json_of(capsys, "show", "a.npz", "--at", "all-in", "--by", "class", "--unit", "pot")
    assert len(record["at"]["classes"]["oop"]) == 169
    assert record["at"]["averages"]["oop ev"] == pytest.approx(200.0)  # JSON has chips
    assert main(["show", "a.npz", "--html", "a.html", "--unit", "bb=2"]) == 0
    assert "&quot;unit&quot;:&quot;bb&quot;,&quot;blind&quot;:2.0" in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("--unit bb", "--unit: unit is 'bb', but a spot does not state its big blind; expected its chips, as in bb=2"),
        ("--seat opp", "--seat: seat is 'opp', expected oop or ip (did you mean oop?)"),
        ("--at check,* --by class", "--by class: --at has 'deal *'; expected one card, as in 'deal 7s'"),
        ("--graph g.txt", "--graph g.txt: expected a file name that ends with .svg, .png or .pdf"),
        ("--csv a.npz", "--csv a.npz: expected a file name that ends with .csv"),
        ("--plot p.svg", "--plot: a.npz is a solved spot"),
    ],
)
def test_options_of_a_solved_spot_that_are_wrong_are_told(options, line, capsys):
    assert main(["solve", "toy.toml", "--method", "highs", "--out", "a.npz"]) == 0
    capsys.readouterr()
    assert refusal(capsys, "show", "a.npz", *options.split(" ")) == line


def test_play_before_the_flop_has_nodes_and_charts(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    game = "preflop:stack=3,continuations=0,raises=1"
    asked = ("solve", game, "--method", "dcfr", "--tol", "0.01", "--at", "raise 2")
    record = json_of(capsys, *asked, "--chart", "bb.pdf", "--out", "p.npz")
    assert (record["at"]["mover"], record["at"]["pot"]) == ("bb", 3.0)
    assert len(record["at"]["classes"]["bb"]) == 169
    assert (tmp_path / "bb.pdf").read_bytes().startswith(b"%PDF")
    shown = json_of(capsys, "show", "p.npz", "--at", "raise 2", "--by", "class", "--csv", "bb.csv", "--graph", "g.svg")
    assert shown["at"]["averages"] == pytest.approx(record["at"]["averages"])
    heading, *rows = (tmp_path / "bb.csv").read_text().splitlines()
    assert heading.startswith("class,combinations,reach,weight,ev,equity,fold,call")
    assert len(rows) == 169
    assert main(["show", "p.npz", "--at", "raise 2", "--unit", "pot", "--hands", "AA,72o"]) == 0
    out = capsys.readouterr().out
    mean = record["at"]["averages"]
    assert f"EV sb {100 * mean['sb ev'] / 3:.2f}% of pot, bb {100 * mean['bb ev'] / 3:.2f}% of pot" in out
    assert [row[0] for row in printed_columns(out, "class")] == ["class", "AA", "72o"]
    one = json_of(capsys, "show", "p.npz", "--player", "0", "--infoset", "*AA*")
    assert one["infosets"]  # without these options, a file is shown by infosets
