"""A command ends in time, within its memory and after Ctrl-C, whatever it is doing."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from types import SimpleNamespace

import pytest
from clocks import Clock, needs_ctrl_c
from effort import PATIENCE, either, few, thorough

from treeplex import Game, load_game
from treeplex.cli import limits, main
from treeplex.cli.limits import Held, keeper, kept, time_kept
from treeplex.seqform.limits import patient, settling, taking, too_late

posix = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")


_FROM_RULES = "seqform.sequence_form.SequenceForm.from_rules"
_METHODS = ("initial_state", "player", "actions", "chance_outcomes", "child", "infoset", "payoffs")


@pytest.fixture
def watching():
    with kept(may_exit=False) as found:
        if found is None:
            pytest.skip("started with SIGINT ignored")
        yield found


def _compute():
    while True:
        pass


def _nothing(status: str, message: str) -> None:
    pass


@few
@pytest.mark.parametrize(
    "arguments",
    [
        ("leduc", "--problem", "rnr", "--p", "0.5", "--opponent", "cfr:iterations=1e15"),
        ("goofspiel:cards=6",),
        ("leduc:ranks=4", "--method", "rational"),
    ],
    ids=["opponent", "building", "fractions"],
)
def test_a_time_limit_holds_in_every_phase(arguments, tmp_path, capsys):
    main(["solve", "leduc", "--method", "cfr", "--max-iterations", "1"])  # imports and compiles
    main(["solve", "kuhn", "--method", "rational"])
    written = tmp_path / "found.json"
    limit = either("0.5", "1")
    status = main(["solve", *arguments, "--time-limit", limit, "--json", str(written)])  # without it, hours
    assert json.loads(written.read_text())["status"] == "time_limit"
    assert status in (0, 1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == status
    assert all(line.startswith("error: time limit reached") and line.isprintable() for line in lines)


_SPOT = 'board = "Ks8d4h7c2s"\npot = 60\nstack = 90\n[ranges]\noop = "AA,22"\nip = "KK,33"\n[bets]\nbet = "a"\n'


@pytest.mark.parametrize(
    ("game", "building", "said", "bounds"),
    [
        (
            "leduc:ranks=4",
            "seqform.sequence_form.SequenceForm.from_rules",
            "leduc:ranks=4 to player 0: -13 to 13",
            13.0,
        ),
        ("spot.toml", "models.games.holdem.spot.HoldemGame._public", "the EV of oop: -90 to 150", 120.0),
        ("rules.py:Own", "", "no bound on the value of own is known before the game is built", None),
    ],
)
def test_payoffs_alone_bound_a_game_that_time_does_not_suffice_to_build(
    game, building, said, bounds, tmp_path, monkeypatch, capsys
):
    def late(*given):
        raise too_late("the game was being built, after 7 histories")

    monkeypatch.chdir(tmp_path)
    (tmp_path / "spot.toml").write_text(_SPOT)
    if building:
        monkeypatch.setattr(f"treeplex.{building}", late)
    else:
        rules = load_game("kuhn").rules
        own = SimpleNamespace(**{name: getattr(rules, name) for name in _METHODS}, num_players=2)
        monkeypatch.setattr("treeplex.models.games.load_game", lambda spec: Game("own", rules=own))
        monkeypatch.setattr(f"treeplex.{_FROM_RULES}", late)
    assert main(["solve", game, "--json", "found.json", "--time-limit", "1e6"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(
        "error: time limit reached: 1e+06 s passed while the game was being built, after 7 histor"
    )
    assert shown.err.endswith(f"; raise --time-limit; {said}\n") or shown.err.endswith(f" {said}\n")
    record = json.loads((tmp_path / "found.json").read_text())
    assert (record["status"], record["value"]) == ("time_limit", None)
    assert (record["lower"], record["upper"]) == (None if bounds is None else -bounds, bounds)
    assert record["message"] == shown.err.removeprefix("error: ").removesuffix("\n")


def test_python_code_that_looks_at_no_clock_is_interrupted(watching):
    with pytest.raises(KeyboardInterrupt), time_kept(0.2, _nothing):
        _compute()
    assert watching.reached == "time"
    assert watching.message.startswith("time limit reached")


def test_an_answer_is_finished_after_the_deadline(watching, monkeypatch):
    from treeplex.seqform.limits import finishing

    clock = Clock(0.0).install(monkeypatch)
    looks, look = threading.Semaphore(0), watching._next
    monkeypatch.setattr(watching, "_next", lambda: looks.release() or look())
    with time_kept(0.0, _nothing) as deadline, finishing():
        clock.step = 10.0  # each look is later than the deadline and all grace
        for _ in range(5):
            watching.look_again()
            looks.acquire()
        deadline.at = math.inf  # the answer is finished
    assert watching.reached == ""


def test_more_memory_than_the_budget_ends_a_command(watching, monkeypatch):
    grown = iter(range(0, 10**9, 10**6))

    def memory() -> int:  # it grows until that was noticed: once more, and the test would be interrupted again
        return 0 if watching.reached else next(grown)

    monkeypatch.setattr("treeplex.seqform.budget.resident_memory", lambda: memory)
    monkeypatch.setattr(limits, "LEAST_MEMORY", 0)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 — it may come at once
        watching.limit_memory(10**7)
        _compute()
    assert watching.reached == "memory"
    assert watching.status == 2


def test_memory_is_an_option_for_the_command_alone(capsys, monkeypatch):
    monkeypatch.delenv("TREEPLEX_MEMORY", raising=False)
    assert main(["solve", "leduc:ranks=6", "--memory", "1MB"]) == 2
    assert "the budget is 1 MB" in capsys.readouterr().err
    assert "TREEPLEX_MEMORY" not in os.environ
    assert main(["solve", "kuhn", "--memory", "1XB"]) == 2
    assert "'1XB'; expected bytes, or an amount such as 500MB" in capsys.readouterr().err


def test_limits_hold_where_ctrl_c_is_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with kept(may_exit=False) as found:
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt), time_kept(0.1, _nothing):
                _compute()
            assert found.reached == "time"
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_nobody_watches_in_the_handler_of_another():
    handler = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        with kept(may_exit=False) as found:
            assert found is None
            assert keeper() is None
    finally:
        signal.signal(signal.SIGINT, handler)


_STUCK = """
import hashlib, sys
from treeplex.cli import main
import treeplex.solvers.solve

def stuck(*given):
    print("stuck", file=sys.stderr, flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # many minutes, in which Python hears of nothing

sys.modules["treeplex.solvers.solve"].run_method = stuck
sys.argv = ["treeplex", "solve", "kuhn", *sys.argv[1:]]
sys.exit(main())
"""


@thorough
@posix
@pytest.mark.skipif(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="started with SIGINT ignored")
def test_ctrl_c_ends_what_never_comes_back_to_python(tmp_path):
    written = tmp_path / "found.json"
    arguments = [sys.executable, "-P", "-c", _STUCK, "--json", str(written)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "stuck\n"
    process.send_signal(signal.SIGINT)
    printed, error = process.communicate(timeout=PATIENCE)
    assert (process.returncode, printed, error) == (130, "", "error: interrupted\n")
    assert json.loads(written.read_text())["status"] == "interrupted"


@pytest.mark.skipif(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="started with SIGINT ignored")
def test_an_interrupt_that_python_drops_comes_again() -> None:
    """Exceptions in a weak reference's callback are reported, and go no further."""

    class Thing:
        pass

    def interrupted(_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        sum(range(10))  # where Python looks for signals

    with pytest.raises(KeyboardInterrupt), kept(may_exit=False):  # noqa: PT012
        thing = Thing()
        reference = weakref.ref(thing, interrupted)
        del thing
        assert reference() is None
        for _ in range(int(PATIENCE / 0.01)):
            time.sleep(0.01)
        pytest.fail("the interrupt was lost")


# Answers


@needs_ctrl_c
def test_ctrl_c_that_comes_with_the_answer_waits_until_it_is_written(watching):
    held = Held()
    with taking(held.begin), settling() as answer:
        answer.known()
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    assert len(held.came) == 2
    assert not answer.interrupted
    held.release()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@needs_ctrl_c
def test_a_part_of_an_answer_hands_nothing_on(watching):
    held = Held()
    with taking(held.begin), settling(part=True) as answer:
        answer.known()
        signal.raise_signal(signal.SIGINT)
    assert (answer.interrupted, held.came) == (True, [])
    with pytest.raises(KeyboardInterrupt), taking(held.begin), settling():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@needs_ctrl_c
def test_what_an_answer_does_not_depend_on_is_interrupted(watching):
    with settling() as answer:
        answer.known()
        with pytest.raises(KeyboardInterrupt), answer.seeking_more():
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), answer.seeking_more():
            pytest.fail("sought although Ctrl-C came")
    assert answer.interrupted


@pytest.mark.parametrize("worth", [0.0, 10.0])
def test_a_process_is_not_ended_while_an_answer_is_worth_the_wait(worth, watching, monkeypatch):
    """The keeper hears of a signal at 0, which the main thread, in compiled code, does not; then of a second one."""
    now, ended = [0.0], []
    heard = iter(
        [(0.0, b"\2"), (0.2, b""), (0.4, b""), (0.9, b""), (1.5, b"\2"), (1.7, b""), (1.9, b""), (2.0, b"\xff")]
    )

    def hear(seconds):
        now[0], numbers = next(heard)
        return numbers

    keeping = limits.Keeper(may_exit=True)
    monkeypatch.setattr(limits, "now", lambda: now[0])
    monkeypatch.setattr(limits, "last_interrupt", lambda: -1.0)
    monkeypatch.setattr(limits, "last_held", lambda: -1.0)
    monkeypatch.setattr(keeping, "_hear", hear)
    monkeypatch.setattr(keeping, "_end", lambda number: ended.append(now[0]))
    with patient(worth), keeping._ears, keeping._mouth:
        keeping._keep()
    assert ended[0] == (1.9 if worth else 0.4)
