"""Work in a thread of its own: Ctrl-C arrives while it runs, and what it raises is raised where it was asked for."""

import os
import signal
import threading
import time

import pytest

from treeplex.solvers.exact.interruptible import run_interruptibly


@pytest.fixture
def soon_interrupted():
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        pytest.skip("started with SIGINT ignored")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    yield
    timer.join()


def test_work_is_done():
    done = []
    assert run_interruptibly(lambda: done.append(1)) is False
    assert done == [1]


def test_what_the_work_raises_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 / 0)


def test_work_that_cannot_be_cancelled_is_left_alone(soon_interrupted):
    released = threading.Event()
    begun = time.perf_counter()
    assert run_interruptibly(lambda: released.wait(30.0)) is True
    assert time.perf_counter() - begun < 10.0
    released.set()


def test_work_that_can_be_cancelled_is_waited_for(soon_interrupted):
    cancelled, ended = threading.Event(), []

    def work():
        cancelled.wait(30.0)
        ended.append(1)

    assert run_interruptibly(work, cancelled.set) is True
    assert ended == [1]


def test_in_another_thread_the_work_is_simply_done():
    results = []
    thread = threading.Thread(target=lambda: results.append(run_interruptibly(lambda: results.append("done"))))
    thread.start()
    thread.join()
    assert results == ["done", False]
