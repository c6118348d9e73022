"""The bar that ``progress=True`` shows: on terminals and in notebooks, and nowhere else."""

import io
import sys
import types

import pytest
import rich.console

from treeplex import Nash, Status, UnknownMethodError, load_game, solve
from treeplex.solvers.outcome import Progress
from treeplex.solvers.progress import Course

KUHN = load_game("kuhn")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_nearest_end_counts():
    course = Course(time_limit=10.0)
    assert course.done(Progress(1, 1.0, 1.0, 1e-2, 100)) == pytest.approx(0.1)  # a tenth of the time
    assert course.done(Progress(50, 2.0, 1.0, 1e-2, 100)) == pytest.approx(0.5)  # half of the iterations
    assert course.done(Progress(60, 3.0, 0.02, 1e-2, 100)) == pytest.approx(0.849, abs=1e-3)  # most of the digits
    assert course.done(Progress(99, 11.0, None, 1e-2, 100)) == 1.0
    assert course.standing(Progress(1234, 1.0, None, 0.0, 10)) == "1,234 iterations"


def test_a_terminal_shows_a_bar_and_takes_it_away(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    solution = solve(Nash(KUHN), "cfr", tol=0, max_iterations=200_000, progress=True)
    assert solution.status is Status.ITERATION_LIMIT
    assert "nash on kuhn by cfr" in terminal.getvalue()
    assert "iterations" in terminal.getvalue()


def test_nothing_is_shown_to_a_file(monkeypatch, capfd):
    assert solve(Nash(KUHN), "cfr+", progress=True).status is Status.CONVERGED
    assert solve(Nash(KUHN), "cfr+", progress=False).status is Status.CONVERGED
    assert capfd.readouterr() == ("", "")


def test_a_notebook_shows_one_bar_that_is_replaced(monkeypatch):
    shown = []

    class Handle:
        def update(self, what):
            shown.append(what._repr_html_())

    def display(what, *, display_id):
        assert display_id
        shown.append(what._repr_html_())
        return Handle()

    module = types.ModuleType("IPython.display")
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    solve(Nash(KUHN), "cfr", tol=0, max_iterations=200_000, progress=True)
    assert shown[0].startswith("<div>nash on kuhn by cfr <progress max")
    assert 'value="1.000"' in shown[-1]
    assert len(shown) >= 3
    assert "iterations" in shown[-2]


@pytest.mark.parametrize("listener", ["yes", 1.0, 3])
def test_what_does_not_listen_is_refused(listener):
    with pytest.raises(UnknownMethodError, match=r"progress is .*, expected True or a function"):
        solve(Nash(KUHN), "cfr", progress=listener)
