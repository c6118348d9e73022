"""Work in a thread or a process of its own: Ctrl-C and deadlines end it, and what it raises is raised here."""

import os
import signal
import threading
import time

import psutil
import pytest
from effort import PATIENCE

from treeplex import TimeLimitError
from treeplex.seqform.limits import time_limited
from treeplex.solvers.exact import interruptible
from treeplex.solvers.exact.interruptible import run_apart, run_interruptibly


@pytest.fixture
def ctrl_c():
    """Return what sends Ctrl-C to this process: work does so once it has begun."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        pytest.skip("started with SIGINT ignored")
    here = os.getpid()
    return lambda: os.kill(here, signal.SIGINT)


@pytest.fixture
def patient(monkeypatch):
    """Wait for work that was asked to end, however busy the machine is."""
    monkeypatch.setattr(interruptible, "_PATIENCE", PATIENCE)


def test_work_is_done():
    done = []
    assert run_interruptibly(lambda: done.append(1)) is False
    assert done == [1]


def test_what_the_work_raises_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 / 0)


def test_work_that_cannot_be_cancelled_is_left_alone(ctrl_c):
    released, ended = threading.Event(), threading.Event()

    def work():
        ctrl_c()
        released.wait(PATIENCE)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(work)
    assert not ended.is_set()
    released.set()


@pytest.mark.usefixtures("patient")
def test_work_that_can_be_cancelled_is_waited_for(ctrl_c):
    cancelled, ended = threading.Event(), []

    def work():
        ctrl_c()
        if cancelled.wait(PATIENCE):
            ended.append(1)

    assert run_interruptibly(work, cancelled.set) is True
    assert ended == [1]


def test_in_another_thread_the_work_is_simply_done():
    results = []
    thread = threading.Thread(target=lambda: results.append(run_interruptibly(lambda: results.append("done"))))
    thread.start()
    thread.join()
    assert results == ["done", False]


@pytest.mark.parametrize("thread", [False, True])
def test_the_deadline_ends_what_cannot_be_cancelled(thread):
    released, ended = threading.Event(), []

    def run():
        with (
            time_limited(0.1),
            pytest.raises(TimeLimitError, match=r"^time limit reached: 0.1 s passed while the solver"),
        ):
            run_interruptibly(lambda: released.wait(PATIENCE))
        ended.append(not released.is_set())

    if thread:
        worker = threading.Thread(target=run)
        worker.start()
        worker.join()
    else:
        run()
    released.set()
    assert ended == [True]


@pytest.mark.usefixtures("patient")
def test_the_deadline_cancels_what_can_be():
    cancelled = threading.Event()
    with time_limited(0.0):
        assert run_interruptibly(lambda: cancelled.wait(PATIENCE), cancelled.set) is True


apart = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")


@apart
def test_work_apart_returns_or_raises_as_here():
    assert run_apart(lambda: list(range(100_000))) == list(range(100_000))
    with pytest.raises(ZeroDivisionError):
        run_apart(lambda: 1 / 0)


@apart
def test_work_apart_is_ended_by_the_deadline():
    before = psutil.Process().children()  # such as joblib's tracker, which other tests leave
    with time_limited(0.1), pytest.raises(TimeLimitError, match=r"^time limit reached: 0.1 s passed while exact"):
        run_apart(lambda: time.sleep(PATIENCE))
    assert psutil.Process().children() == before  # it was waited for


@apart
def test_work_apart_is_ended_by_ctrl_c(ctrl_c):
    with pytest.raises(KeyboardInterrupt):
        run_apart(lambda: (ctrl_c(), time.sleep(PATIENCE)))


@apart
def test_work_apart_that_is_killed_is_said_to_be():
    with pytest.raises(MemoryError, match="another program ended"):
        run_apart(lambda: os.kill(os.getpid(), signal.SIGKILL))
