"""Time limits hold in all parts of a solve."""

import dataclasses
import sys
import warnings
from importlib import import_module

import pytest

from treeplex import (
    ConstrainedNash,
    EpsilonSafeResponse,
    Game,
    Nash,
    Profile,
    Status,
    Strategy,
    TimeLimitError,
    exploitability,
    load_game,
    solve,
)
from treeplex.models.games.kuhn import Kuhn
from treeplex.seqform import limits
from treeplex.seqform.limits import finishing, time_limited, uncounted
from treeplex.seqform.number_texts import seconds_in_words
from treeplex.seqform.standard_error import warn
from treeplex.solvers.infeasibility import find_infeasibility
from treeplex.solvers.opponents.strategies import opponent_strategy
from treeplex.solvers.regret import driver, kernel


def test_the_time_limit_of_a_solve_is_that_of_all_its_parts(clock):
    with (
        time_limited(-1.0),
        pytest.raises(
            TimeLimitError,
            match=r"^time limit reached: 0 s passed while the game was being built, after [01] histories; raise it$",
        ),
    ):
        _ = load_game("leduc").sequence_form
    game = load_game("leduc")
    _ = game.sequence_form
    with pytest.raises(
        TimeLimitError, match=r"while the value of leduc that epsilon-safe needs was being computed; raise"
    ):
        solve(EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=0.1), time_limit=0.0)
    with time_limited(20), pytest.raises(TimeLimitError, match=r"while nash was being solved on leduc; raise it$"):
        opponent_strategy("cfr:iterations=1e15", game, 1)
    solution = solve(Nash(game), "cfr", tol=0, max_iterations=40)  # a limit is over with its block
    assert solution.status is Status.ITERATION_LIMIT


def test_constraints_that_cannot_be_met_are_not_explained_when_the_time_is_over():
    game = load_game("leduc")
    bounds = {"often": game.plan(0)[1] >= 0.7, "seldom": game.plan(0)[1] <= 0.4}
    problem = ConstrainedNash(game, bounds)
    with time_limited(-1.0), pytest.raises(TimeLimitError):
        find_infeasibility(problem)
    found = find_infeasibility(problem)
    assert found.conflict == ("often", "seldom")
    assert "the constraints exclude each other" in str(dataclasses.replace(found, conflict=()))


def test_time_that_does_not_count_is_added_to_every_deadline(clock):
    with time_limited(5.0) as outer, time_limited(4.0) as inner:
        before = outer.at, inner.at
        with uncounted():
            assert outer.finishing == inner.finishing == 1
            clock.now += 50.0
        assert outer.finishing == inner.finishing == 0
        assert outer.at - before[0] == pytest.approx(inner.at - before[1])
        assert inner.at - before[1] >= 50.0
        with finishing():
            assert outer.finishing == inner.finishing == 1


class Hands:
    """A clock that stands still until somebody moves it on."""

    def __init__(self, monkeypatch):
        self.time = 0.0
        monkeypatch.setattr(limits, "_read", lambda: self.time)


def test_a_limit_between_the_game_and_the_first_iteration_leaves_uniform_play(monkeypatch):
    game, hands = load_game("leduc"), Hands(monkeypatch)
    _ = game.sequence_form

    def lay_out(*arguments):
        hands.time += 10.0
        raise KeyboardInterrupt  # as what keeps a command's limits does

    monkeypatch.setattr(driver, "posed", lay_out)
    solution = solve(Nash(game), "cfr+", time_limit=5.0)
    uniform = Profile.uniform(game)
    assert (solution.status, solution.iterations) == (Status.TIME_LIMIT, 0)
    assert "the solution is uniform play" in solution.message
    assert solution.upper - solution.lower == pytest.approx(2.0 * exploitability(game, uniform))  # two best responses
    assert solution.lower <= -0.0856064240780 <= solution.upper


def test_ctrl_c_before_there_are_strategies_ends_a_solve(monkeypatch):
    game, hands = load_game("kuhn"), Hands(monkeypatch)

    def lay_out(*arguments):
        hands.time += 1.0
        raise KeyboardInterrupt

    monkeypatch.setattr(driver, "posed", lay_out)
    with pytest.raises(KeyboardInterrupt):
        solve(Nash(game), "cfr+", time_limit=5.0)


def test_a_limit_while_the_game_is_built_says_what_was_reached(monkeypatch):
    hands = Hands(monkeypatch)

    class Slow(Kuhn):
        def child(self, state, action):
            hands.time += 1.0
            return super().child(state, action)

    game = Game("slow", rules=Slow(3))
    with time_limited(5.0), pytest.raises(TimeLimitError) as caught:
        _ = game.sequence_form
    assert str(caught.value).startswith("time limit reached: 5 s passed while the game was being built, after ")


def test_ctrl_c_while_an_answer_is_certified_does_not_take_it_away(monkeypatch):
    module = import_module("treeplex.solvers.solve")  # which has the name of its function
    certify, pressed = module.certified, []

    def interrupted(*arguments):
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return certify(*arguments)

    monkeypatch.setattr(module, "certified", interrupted)
    solution = solve(Nash(load_game("kuhn")), "cfr+", tol=1e-3)
    assert solution.status is Status.INTERRUPTED
    assert solution.lower <= -1 / 18 <= solution.upper


# Where time goes


def test_each_second_counts_to_one_part(monkeypatch):
    hands = Hands(monkeypatch)
    with limits.stopwatch() as whole:
        hands.time += 1.0
        with limits.timed("building"):
            hands.time += 2.0
            with limits.compiling():
                hands.time += 4.0
            with limits.stopwatch() as inner:
                hands.time += 8.0
        with limits.answering("game_value"), limits.timed("certifying"):
            hands.time += 16.0
            with limits.timed("building"):
                hands.time += 32.0
    expected = {"loading": 0.0, "compiling": 4.0, "building": 42.0, "solving": 1.0, "certifying": 0.0, "writing": 0.0}
    assert whole.seconds == expected | {"game_value": 16.0}
    assert sum(inner.seconds.values()) == 8.0
    assert seconds_in_words(whole.seconds) == "4 compiling, 42 building, 1 solving, 16 game value"


def test_the_time_of_a_solve_is_all_that_the_clock_saw(monkeypatch):
    readings = [0.0]

    def read():
        readings[0] += 0.5
        return readings[0]

    monkeypatch.setattr(limits, "_read", read)
    game = load_game("leduc")
    problem = EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=0.1)
    begun = readings[0]
    solution = solve(problem)
    assert solution.time["game_value"] > 0.0
    assert solution.build_seconds >= solution.time["building"] > 0.0
    assert sum(solution.time.values()) == pytest.approx(readings[0] - begun, abs=5.0)
    assert all(took >= 0.0 for took in solution.time.values())


def test_seconds_hold_no_compiling(monkeypatch):
    hands, run = Hands(monkeypatch), kernel.Kernel.run

    def compile_first(self, *arguments, **others):
        with limits.compiling():
            hands.time += 100.0
        hands.time += 1.0
        return run(self, *arguments, **others)

    monkeypatch.setattr(kernel.Kernel, "run", compile_first)
    solution = solve(Nash(load_game("kuhn")), "cfr", tol=0.0, max_iterations=50, time_limit=60.0)
    assert solution.iterations == 50  # which a limit that counted compiling would not have let it do
    assert solution.seconds < 60.0
    assert solution.time["compiling"] >= 100.0


# Standard error


class Plain:
    def write(self, text):
        return len(text)


class Closed(Plain):
    def isatty(self):
        raise ValueError("I/O operation on closed file")


class Terminal(Plain):
    """A terminal that has neither an encoding nor a descriptor, and fails to be written to."""

    def isatty(self):
        return True

    def write(self, text):
        raise OSError(5, "Input/output error")


STREAMS = {"none": None, "only write": Plain(), "closed": Closed(), "broken terminal": Terminal(), "nothing": object()}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_progress_and_warnings_take_any_standard_error(stream, monkeypatch, capsys):
    from treeplex.cli import main

    monkeypatch.setattr(sys, "stderr", stream)
    assert solve(Nash(load_game("kuhn")), "cfr+", tol=1e-2, progress=True).value == pytest.approx(-1 / 18, abs=0.02)
    assert main(["solve", "kuhn", "--seed", "1"]) == 0  # which prints a note
    assert "proven bounds" in capsys.readouterr().out
    monkeypatch.setattr(warnings, "showwarning", warnings._showwarning_orig)  # as outside of tests
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warn("nobody reads this", RuntimeWarning)


def test_warnings_that_are_errors_are_raised():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match=r"^told$"):
            warn("told", RuntimeWarning)
