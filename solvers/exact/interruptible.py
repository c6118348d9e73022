"""Runs what never comes back to Python on its own, so that Ctrl-C still arrives."""

import threading
from collections.abc import Callable


def run_interruptibly(work: Callable[[], object], cancel: Callable[[], object] | None = None) -> bool:
    """Do some work in a thread of its own while the main thread waits for it and for Ctrl-C.

    Parameters
    ----------
    work : callable
        It lets go of the interpreter while it computes. What it raises is raised here.
    cancel : callable, optional
        Asks the work to end, which is then waited for. Without it the work is left alone and goes on unseen.

    Returns
    -------
    bool
        Whether Ctrl-C came. It comes to the main thread alone: from another one the work is simply done.
    """
    if threading.current_thread() is not threading.main_thread():
        work()
        return False
    finished, failures = threading.Event(), []

    def do() -> None:
        try:
            work()
        except BaseException as failure:  # raised in the thread that asked
            failures.append(failure)
        finally:
            finished.set()

    interrupted = False
    threading.Thread(target=do, daemon=True).start()
    while not finished.is_set():
        try:
            finished.wait(0.1)
        except KeyboardInterrupt:
            interrupted = True
            if cancel is None:
                return True
            cancel()
    if failures:
        raise failures[0]
    return interrupted
