"""Bots that are programs: their protocols, what is done about those that fail, and that nothing of them stays."""

import json
import os
import re
import time
from copy import deepcopy

import numpy as np
import psutil
import pytest
from effort import PATIENCE

from treeplex.models.games.holdem.cards import read_cards
from treeplex.models.matches import PhhWriter, Table, match, play_hand
from treeplex.models.matches.acpc import AcpcBot
from treeplex.models.matches.programs import Program, ProgramError
from treeplex.models.matches.simple import CallBot, RandomBot, SimpleBot
from treeplex.seqform.errors import InvalidStrategyError
from treeplex.solvers.matches.bots import BOTS, MatchBot, find_bot

pokerkit = pytest.importorskip("pokerkit")
TABLE = Table(stack=2_000)

CALLS = """
import json, sys
with open("told.jsonl", "w") as told:
    for line in sys.stdin:
        told.write(line)
        if json.loads(line)["type"] == "act":
            print(json.dumps({"action": "call"}), flush=True)
"""
CRASHES = """
import sys
sys.stdin.readline()
sys.stdin.readline()
raise ValueError("out of ideas")
"""
HANGS = """
import sys, time
sys.stdin.readline()
time.sleep(600)
"""
DEAF = "import time; time.sleep(600)"
GARBAGE = """
import sys
for line in sys.stdin:
    sys.stdout.buffer.write(b'\\xff\\x00 {"action": NaN}\\n')
    sys.stdout.flush()
"""
FLOODS = """
import sys
while True:
    sys.stdout.write("x" * 100_000)
"""
TALKS = """
import json, sys
for line in sys.stdin:
    print("thinking", flush=True)
    print("still thinking", flush=True)
    if json.loads(line)["type"] == "act":
        print(json.dumps({"action": "call"}), flush=True)
"""
WITH_CHILD = """
import json, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-c", "import time; time.sleep(600)"])
open("child", "w").write(str(child.pid))
for line in sys.stdin:
    if json.loads(line)["type"] == "act":
        print(json.dumps({"action": "call"}), flush=True)
"""
ACPC = """
import socket, sys
if len(sys.argv) > 2:
    connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    lines, out = connection.makefile("r", newline="\\r\\n"), connection.makefile("w", newline="")
else:
    lines, out = sys.stdin, sys.stdout
out.write("VERSION:2.0.0\\r\\n")
out.flush()
for line in lines:
    out.write(line.strip() + ":c\\r\\n")  # to states that are not its own too
    out.flush()
"""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    after = {child.pid for child in psutil.Process().children(recursive=True)}
    assert after <= before, "a program is left over, or a zombie"


def program(tmp_path, code, kind="json", more=""):
    (tmp_path / "program.py").write_text(code)
    return find_bot(f"{kind}:command={{python}} -I program.py{more}", TABLE)


def reasons(tmp_path, code, kind="json", more="", hands=2, lost=(-750.0,)):
    found = match([program(tmp_path, code, kind, more), CallBot()], TABLE, hands)
    assert found.mbb_per_hand in lost  # the blinds, whatever the other has
    assert {each.bot for each in found.forfeits} == {0}
    assert len(found.forfeits) == hands
    return {each.reason for each in found.forfeits}


def test_a_program_is_told_of_its_hands(tmp_path):
    found = match([program(tmp_path, CALLS), CallBot()], TABLE, 2, seed=7)
    assert (found.mbb_per_hand, found.forfeits) == (0.0, ())
    told = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert [each["type"] for each in told] == (["begin"] + ["act"] * 4 + ["end"]) * 2
    begin, first, *_, last, end = told[:6]
    assert begin == {
        "type": "begin", "protocol": 1, "seats": 2, "stack": 2_000, "small_blind": 50, "big_blind": 100, "seat": 0
    }  # fmt: skip
    assert first["history"] == [["preflop", 1, "call"]]
    assert (first["street"], first["bets"], first["stacks"], first["pot"]) == ("preflop", [100, 100], [1900, 1900], 200)
    assert (first["price"], first["least"], first["most"], first["folded"]) == (0, 200, 2000, [False, False])
    assert len(first["hand"]) == 2
    assert len(last["board"]) == 5
    assert end["board"] == last["board"]
    assert end["shown"][0] == end["hand"] == first["hand"] or end["shown"][0] is None
    assert sum(end["won"]) == 0
    assert (tmp_path / "told.jsonl").read_text().count('"seed"') == 8


def test_a_program_may_say_what_nobody_asked(tmp_path):
    """But for what comes between the question and the answer."""
    # Which of the two comes first is a matter of time, and so is whether the answer still counts.
    for reason in reasons(tmp_path, TALKS, lost=(-750.0, -875.0, -1000.0)):
        assert re.match("ProgramError: its answer is '(still )?thinking', expected", reason)


def test_a_crash_is_told_with_what_it_wrote(tmp_path):
    [reason] = reasons(tmp_path, CRASHES)
    assert reason.startswith("ProgramError: it ended with status 1; on standard error: Traceback")
    assert reason.endswith("ValueError: out of ideas")


@pytest.mark.parametrize("code", [HANGS, DEAF])
def test_a_program_that_hangs_is_killed(tmp_path, code):
    assert reasons(tmp_path, code, more=",seconds=0.2") == {"ProgramError: it took more than 0.2 seconds"}


def test_the_time_limit_of_a_match_holds_for_programs(tmp_path):
    found = match([program(tmp_path, HANGS), CallBot()], TABLE, 2, time_limit=0.3)
    assert {each.reason for each in found.forfeits} == {"it took more than 0.3 seconds"}


def test_nonsense_is_shown_and_forfeits(tmp_path):
    assert 'expected an answer such as {"action": "call"}' in reasons(tmp_path, GARBAGE).pop()
    assert "has no line break within 65,536 bytes" in reasons(tmp_path, FLOODS).pop()
    assert "expected VERSION:2.0.0" in reasons(tmp_path, "print('hello', flush=True)", "acpc", ",over=stdio").pop()


@pytest.mark.parametrize("command", ["no-such-program", "/", "'", " "])
def test_a_program_that_cannot_be_started_forfeits(command):
    bot = find_bot("json:command=x", TABLE)
    bot.program.command = command
    found = match([bot, CallBot()], TABLE, 2)
    assert len(found.forfeits) == 2
    assert "cannot be started" in found.forfeits[0].reason


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_children_of_programs_end_with_them(tmp_path):
    assert match([program(tmp_path, WITH_CHILD), CallBot()], TABLE, 2).forfeits == ()
    child = int((tmp_path / "child").read_text())
    for _ in range(int(PATIENCE / 0.05)):
        if not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the child of the program lives on")


def test_a_copy_starts_a_program_of_its_own(tmp_path):
    bot = program(tmp_path, CALLS)
    bot.begin(TABLE, 0)
    copy = deepcopy(bot)
    assert (bot.program.running, copy.program.running) == (True, False)
    bot.close()


@pytest.mark.parametrize("over", ["tcp", "stdio"])
def test_programs_speak_acpc(tmp_path, over):
    bot = program(tmp_path, ACPC, "acpc", f",over={over}")
    found = match([bot, RandomBot()], TABLE, 6, seed=5)
    same = match([CallBot(), RandomBot()], TABLE, 6, seed=5)
    assert found.forfeits == ()
    assert np.array_equal(found.won, same.won)


def test_a_program_that_does_not_connect_forfeits(tmp_path):
    [reason] = reasons(tmp_path, "print('hello')", "acpc")
    assert "it ended with status 0 and did not connect" in reason
    [reason] = reasons(tmp_path, DEAF, "acpc", ",seconds=0.3")
    assert "it did not connect within 0.3 seconds" in reason


class Heard:
    """In the place of a program: keeps what it is sent, and calls."""

    running = True
    seconds = 10.0

    def __init__(self):
        self.lines = []

    def send(self, line):
        self.lines.append(line)

    def receive(self):
        return self.lines[-1] + ":c"

    def close(self):
        pass


@pytest.mark.parametrize("seats", [2, 3])
def test_states_are_those_that_pokerkit_writes(tmp_path, seats):
    """Its own export of hand histories to the protocol."""
    table = Table(seats=seats, stack=1_500)
    heard = Heard()
    bot = AcpcBot(heard)
    with PhhWriter("match.phhs", ["A", "B", "C"][:seats]) as writer:
        hands = []
        match([bot, *[RandomBot()] * (seats - 1)], table, 30, seed=11, each=lambda one: (hands.append(one),
              writer.write(one)))  # fmt: skip
    with (tmp_path / "match.phhs").open("rb") as file:
        histories = list(pokerkit.HandHistory.load_all(file))
    said = iter(heard.lines)
    for number, (one, history) in enumerate(zip(hands, histories, strict=True)):
        position = one.bots.index(0)
        expected = [line for way, line in history.to_acpc_protocol(position, number) if way == "S->"]
        expected = [_sorted_hands(line.strip()) for line in expected]
        found = [_sorted_hands(next(said)) for _ in range(len(one.record.history) + 1)]
        assert found == expected
    assert next(said, None) is None


def _sorted_hands(line):
    head, _, cards = line.rpartition(":")
    hands, slash, board = cards.partition("/")
    sorted_hands = ["".join(sorted((hand[:2], hand[2:]))) for hand in hands.split("|")]
    return f"{head}:{'|'.join(sorted_hands)}{slash}{board}"


@pytest.mark.parametrize(
    ("answer", "history"), [("c", "call"), ("f", "fold"), ("r200", "raise 200"), ("r2000", "all-in")]
)
def test_answers_in_acpc(answer, history):
    class Answers(Heard):
        def receive(self):
            return f"{self.lines[-1]}:{answer if len(self.lines) == 1 else 'c'}"

    record = play_hand(TABLE, read_cards("AsAh KsKh 2c7d9h JsQd"), [CallBot(), AcpcBot(Answers())], _rngs())
    assert record.history[0] == (0, 1, history)
    assert record.forfeits == ()


def test_amounts_in_acpc_are_of_the_whole_hand():
    class Opens(SimpleBot):
        def act(self, view, rng):
            return {0: "raise 400", 1: "bet 300"}.get(view.street, "check")

    class Answers(Heard):
        def receive(self):
            return self.lines[-1] + (":r1200" if "/" in self.lines[-1] and self.lines[-1].count("r") == 2 else ":c")

    answers = Answers()
    record = play_hand(TABLE, read_cards("AsAh KsKh 2c7d9h JsQd"), [Opens(), AcpcBot(answers)], _rngs())
    assert (1, 1, "raise 800") in record.history
    assert any("cr400c/r700r1200:" in line for line in answers.lines)


@pytest.mark.parametrize("answer", ["x", "r", "r10", "r99999", "rr", "c0", ""])
def test_what_is_not_legal_in_acpc_forfeits(answer):
    class Answers(Heard):
        def receive(self):
            return f"{self.lines[-1]}:{answer}"

    record = play_hand(TABLE, read_cards("AsAh KsKh 2c7d9h JsQd"), [CallBot(), AcpcBot(Answers())], _rngs())
    assert record.won == (50, -50)
    assert len(record.forfeits) == 1


def _rngs():
    return [np.random.default_rng(0)] * 2


# By text


def test_bots_of_modules(tmp_path):
    (tmp_path / "mine.py").write_text(
        "class Bot:\n"
        "    def act(self, view, rng):\n        return 'call'\n"
        "bot = Bot()\n"
        "def make():\n    return Bot()\n"
        "def broken():\n    raise SystemExit(1)\n"
        "number = 3\n"
    )
    for name in ("Bot", "bot", "make"):
        found = match([find_bot(f"python:module=mine.py,name={name}", TABLE), CallBot()], TABLE, 2)
        assert (found.mbb_per_hand, found.forfeits) == (0.0, ())
    for name, message in (("bots", "AttributeError"), ("broken", "SystemExit: 1"), ("number", "TypeError")):
        with pytest.raises(InvalidStrategyError, match=message):
            find_bot(f"python:module=mine.py,object={name}", TABLE)
    with pytest.raises(InvalidStrategyError, match="FileNotFoundError"):
        find_bot("python:module=other.py,object=Bot", TABLE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("calll", "unknown bot 'calll' .did you mean call"),
        ("call:size=2", "bot call: unknown parameter 'size'; it takes no parameters"),
        ("raise:pots=0", "bot raise: pots = 0; expected a number above 0"),
        ("json", "bot json needs command; expected json:command=COMMAND"),
        ("acpc:command=x,over=http", "bot acpc: over = http; expected one of tcp, stdio"),
    ],
)
def test_texts_that_are_wrong_are_refused(text, message):
    with pytest.raises(InvalidStrategyError, match=message):
        find_bot(text, TABLE)


def test_commands_with_commas_stand_in_parentheses():
    assert find_bot("json:command=(bot --sizes 1,2),seconds=3", TABLE).program == Program("bot --sizes 1,2", 3.0)


def test_bots_of_others_are_registered_like_those_of_the_library():
    from dataclasses import dataclass
    from typing import ClassVar

    @dataclass(frozen=True)
    class Mine(MatchBot):
        name: ClassVar[str] = "mine"

        def bot(self, table):
            return CallBot()

    BOTS.register(Mine)
    try:
        assert isinstance(find_bot("mine", TABLE), CallBot)
    finally:
        BOTS.remove("mine")


def test_a_program_that_does_not_run_has_no_answer():
    with pytest.raises(ProgramError, match="it is not running"):
        Program("x").receive()


def test_a_program_that_never_stops_writing_is_given_up(tmp_path):
    talks = """
import sys
print("VERSION:2.0.0", flush=True)
while True:
    print("#nothing", flush=True)
"""
    found = match([program(tmp_path, talks, "acpc", ",over=stdio,seconds=0.3"), CallBot()], TABLE, 1, duplicate=False)
    assert len(found.forfeits) == 1
