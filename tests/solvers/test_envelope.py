"""Piecewise linear functions from their supporting lines: all pieces, few lines, and round-off that does not count."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeplex.solvers.parametric.envelope import Line, find_envelope, value_at

LINES = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=1, max_size=12)


def support_of(lines, sign=1, noise=0.0):
    """Return a function that answers with a line on top (or at the bottom), with an error of its own each time."""
    errors = np.random.default_rng(0)

    def support(t):
        first, last = max(lines, key=lambda line: sign * ((1 - t) * line[0] + t * line[1]))
        return Line(*(np.array([first, last]) + noise * errors.uniform(-1, 1, 2)), payload=(first, last))

    return support


def exact_breakpoints(lines, sign):
    """Return where the envelope of lines bends, in fractions: the crossings at which both lines are on top."""
    found = set()
    for one in lines:
        for other in lines:
            left, right = one[0] - other[0], other[1] - one[1]
            if (left > 0 and right > 0) if sign > 0 else (left < 0 and right < 0):
                t = Fraction(left, left + right)
                top = max(sign * ((1 - t) * a + t * b) for a, b in lines)
                if sign * ((1 - t) * one[0] + t * one[1]) == top:
                    found.add(t)
    return sorted(found)


@given(LINES, st.sampled_from([1, -1]))
def test_every_piece_is_found_and_no_other(lines, sign):
    expected = exact_breakpoints(lines, sign)
    found = find_envelope(support_of(lines, sign), 0.0, 1.0, 1e-9)
    np.testing.assert_allclose(found.breakpoints, [float(t) for t in expected], atol=1e-9)
    assert len(found.pieces) == len(expected) + 1
    assert len(found.touching) == len(found.knots) == len(expected) + 2
    for t in np.linspace(0, 1, 7):
        top = sign * max(sign * ((1 - t) * a + t * b) for a, b in lines)
        assert found.value(float(t)) == pytest.approx(top, abs=1e-9)


@given(LINES, st.sampled_from([1, -1]))
def test_round_off_makes_no_pieces(lines, sign):
    expected = exact_breakpoints(lines, sign)
    found = find_envelope(support_of(lines, sign, noise=1e-11), 0.0, 1.0, 1e-6)
    np.testing.assert_allclose(found.breakpoints, [float(t) for t in expected], atol=1e-8)


def test_few_lines_are_asked_for_and_none_far_away():
    # Tangents of a parabola: a hundred pieces of equal length.
    slopes = np.arange(100)
    lines = [(-((s / 100) ** 2) / 2, s / 100 - (s / 100) ** 2 / 2) for s in slopes]
    asked = []

    def support(t):
        asked.append(t)
        return support_of(lines)(t)

    found = find_envelope(support, 0.0, 1.0, 1e-12)
    assert len(found.pieces) == 100
    assert found.solves == len(asked) <= 2 * 100 + 40
    assert np.abs(np.diff(asked)).mean() < 0.02


def test_an_interval_of_one_place_has_one_piece():
    found = find_envelope(lambda t: Line(3.0, 3.0, "only"), 2.0, 2.0, 1e-9)
    assert (found.breakpoints.tolist(), found.value(2.0), found.knots.tolist()) == ([], 3.0, [2.0, 2.0])


def test_lines_that_touch_at_an_end_alone_are_no_pieces():
    lines = {0.0: Line(0.0, -5.0, "left"), 1.0: Line(-5.0, 1.0, "right")}
    found = find_envelope(lambda t: lines.get(t, Line(0.0, 1.0, "middle")), 0.0, 1.0, 1e-9)
    assert [piece.payload for piece in found.pieces] == ["middle"]
    assert [line.payload for line in found.touching] == ["left", "right"]


def test_lines_that_touch_at_a_breakpoint_alone_are_no_pieces():
    # The first step of the search ends at the breakpoint, where any slope between both pieces' supports the function.
    place = 1 / 64
    left, right = Line(0.0, 0.0, "left"), Line(-place, 1.0 - place, "right")
    across = Line(-0.3 * place + 1e-16, 0.3 * (1.0 - place), "across")
    asked = []

    def support(t):
        asked.append(t)
        return across if t == place else left if t < place else right

    found = find_envelope(support, 0.0, 1.0, 1e-9)
    assert place in asked
    assert [piece.payload for piece in found.pieces] == ["left", "right"]
    assert found.breakpoints.tolist() == pytest.approx([place])


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 5e-324), (1.0, 1.0 + 2**-52), (1e16, 1e16 + 4.0), (0.0, 1e308)])
def test_intervals_that_floats_cannot_divide_or_hardly_hold_come_to_an_end(lower, upper):
    lines = [Line(1.0, 0.0, "falling"), Line(0.0, 1.0, "rising")]

    def support(at):
        return max(lines, key=lambda line: value_at(line, at, lower, upper))

    found = find_envelope(support, lower, upper, 1e-9)
    # Between neighbouring floats there is no room for a breakpoint, and one line is as good as another.
    assert found.solves < 60
    assert max(found.value(lower), found.value(upper)) == 1.0
    if upper - lower > 1.0:
        assert [found.value(lower), found.value(upper)] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("error", [0.0, 1e-10, 1e-9, 4e-9])
def test_steep_lines_whose_round_off_is_large_end_the_search(error):
    """Tangents of −log t near 0, each off by its steepness: crossings out of order would go round in circles."""
    generator = np.random.default_rng(1)
    asked = []

    def support(t):
        asked.append(t)
        assert len(asked) < 1_000, "the search goes on for ever"
        place = float(np.exp(np.round(np.log(t + 1e-9) * 4) / 4))
        value = -np.log(place) - (t - place) / place + error / place * generator.uniform(-1, 1)
        slope = -1.0 / place * (1 + error * generator.uniform(-1, 1))
        return Line(value - slope * t, value + slope * (1 - t), payload=place)

    found = find_envelope(support, 0.0, 1.0, 1e-9)
    assert 65 < len(found.pieces) < 90  # 79 tangents have a piece
