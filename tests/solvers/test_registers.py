"""Vector registers in compiled code do what numpy does, number by number."""

import numba
import numpy as np
import pytest

from treeplex.solvers.regret.placement import width_of
from treeplex.solvers.regret.registers import any_nonzero, larger, load, spread, store, where_positive, width

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
