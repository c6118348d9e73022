"""A command ends in time, within its memory and after Ctrl-C, whatever it is doing."""

import json
import os
import signal
import subprocess
import sys
import time
import weakref

import pytest
from effort import PATIENCE, few, thorough

from treeplex.cli import limits, main
from treeplex.cli.limits import keeper, kept, time_kept

posix = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")


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
    status = main(["solve", *arguments, "--time-limit", "1", "--json", str(written)])  # without it, hours
    assert json.loads(written.read_text())["status"] == "time_limit"
    assert status in (0, 1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == status
    assert all(line.startswith("error: the time limit came") and line.isprintable() for line in lines)


def test_python_code_that_looks_at_no_clock_is_interrupted(watching):
    with pytest.raises(KeyboardInterrupt), time_kept(0.2, _nothing):
        _compute()
    assert watching.reached == "time"
    assert watching.message.startswith("the time limit came")


def test_an_answer_is_finished_after_the_deadline(watching):
    from treeplex.seqform.limits import finishing

    with time_kept(0.0, _nothing), finishing():
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            pass
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
import hashlib, json, sys
import treeplex.cli.solve as command
from treeplex.cli import main
command.exit_status = lambda status: hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # some minutes
print("ready", flush=True)
sys.argv = ["treeplex", "solve", "kuhn", *sys.argv[1:]]
main()
"""


@thorough
@posix
@pytest.mark.skipif(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="started with SIGINT ignored")
def test_ctrl_c_ends_what_never_comes_back_to_python():
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _STUCK], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("sequences"):  # the last that is printed
            break
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=PATIENCE)
    assert (process.returncode, error) == (130, "error: interrupted\n")


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
