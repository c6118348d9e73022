"""Vector registers in compiled code do what numpy does, number by number."""

import numba
import numpy as np
import pytest

from treeplex.solvers.regret.placement import width_of
from treeplex.solvers.regret.registers import (
    WHOLE,
    any_nonzero,
    larger,
    largest,
    load,
    load_whole,
    spread,
    store,
    store_whole,
    where_positive,
    width,
)

PLACE = np.uint64(3)  # registers begin anywhere


@numba.njit
def compute(left, right, out):
    one = spread(left.dtype.type(1.0))
    a, b = load(left, PLACE), load(right, PLACE)
    store(out, np.uint64(0), a + b)
    store(out, np.uint64(8), a - b)
    store(out, np.uint64(16), a * b)
    store(out, np.uint64(24), a / b)
    store(out, np.uint64(32), larger(a, b))
    store(out, np.uint64(40), where_positive(a, b, one))
    return width(left)


@numba.njit
def holds_any(array):
    return any_nonzero(load(array, PLACE))


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_operations_are_numpys(number):
    rng = np.random.default_rng(1)
    left, right = rng.normal(size=(2, 16)).astype(number)
    left[4] = 0.0
    out = np.full(48, 7.0, dtype=number)
    count = compute(left, right, out)
    assert count == width_of(number) == 32 // np.dtype(number).itemsize
    a, b = left[3 : 3 + count], right[3 : 3 + count]
    expected = [a + b, a - b, a * b, a / b, np.maximum(a, b), np.where(a > 0.0, b, number(1.0))]
    np.testing.assert_array_equal(out.reshape(6, 8)[:, :count], expected)
    assert (out.reshape(6, 8)[:, count:] == 7.0).all(), "nothing else is written"


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_a_register_holds_something_or_nothing(number):
    array = np.ones(16, dtype=number)
    count = width_of(number)
    array[3 : 3 + count] = 0.0
    assert not holds_any(array)
    for place in range(3, 3 + count):
        array[place] = -1e-30
        assert holds_any(array)
        array[place] = 0.0


@numba.njit
def shortened(numbers, halves, wholes, factor):
    """Write numbers as halves and as whole ones; return what is read of both."""
    found = np.zeros((2, len(numbers)), dtype=np.float32)
    for place in range(np.uint64(0), np.uint64(len(numbers)), width(numbers)):
        store(halves, place, load(numbers, place))
        store(found[0], place, load(halves, place))
        store_whole(wholes, place, load(numbers, place), spread(factor))
        store(found[1], place, load_whole(wholes, place))
    return found


def through_16_bits(numbers, unit):
    empty = np.zeros((2, len(numbers)), dtype=np.uint16)
    return shortened(numbers, empty[0], empty[1], np.float32(2.0**WHOLE / unit))


def test_numbers_become_16_bits_without_bias():
    numbers = np.random.default_rng(2).uniform(1.0, 2.0, 2**16).astype(np.float32)
    unit = 2.0 / (2**16 - 2)
    halves, wholes = through_16_bits(numbers, unit)
    assert np.abs(halves - numbers).max() <= 2.0**-7
    assert np.abs(wholes * unit - numbers).max() <= 1.001 * unit
    for found, step in ((halves, 2.0**-7), (wholes * unit, unit)):
        error = (found - numbers) / step
        assert abs(error.mean()) < 4 * 0.41 / 2**8
        for part in np.array_split(error[np.argsort(numbers % step)], 16):  # whatever is lost
            assert abs(part.mean()) < 5 * 0.5 / 2**6
    assert np.array_equal(through_16_bits(numbers[::-1].copy(), unit), [halves[::-1], wholes[::-1]])


def test_numbers_of_16_bits_stay_as_they_are():
    halves = np.array([0.0, -0.0, 1.0, -1.0, 1.5, -3.0, 2.0**-100, 2.0**100], dtype=np.float32)
    assert np.array_equal(through_16_bits(halves, 2.0**120)[0], halves)
    wholes = np.array([0, 1, 2, 77, 1000, 2**15, 2**16 - 3, 2**16 - 2], dtype=np.float32)
    assert np.array_equal(through_16_bits(wholes, 1.0)[1], wholes)


@numba.njit
def largest_from(array, place):
    return largest(load(array, place))


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_the_largest_number_of_a_register(number):
    array = np.random.default_rng(3).normal(size=24).astype(number)
    for place in range(16):
        assert largest_from(array, np.uint64(place)) == array[place : place + width_of(number)].max()
