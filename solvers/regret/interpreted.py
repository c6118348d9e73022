"""Run the loop in Python while it is not compiled, with the same results bit for bit.

Compiling the loop takes seconds. In that time Python does a thousand iterations of a tiny game, so such a game starts
in Python. This module turns a compiled function, and every function that it calls, back into a Python function of the
same source. Vector registers are numpy arrays there.
"""

import functools
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from ...seqform.limits import holding_signals
from ..compilation import PATIENCE
from . import registers
from .arrays import DONE, LoopArrays
from .loop import run_loop
from .placement import width_of

CHUNK = 16  # updates between two checks of the budget


def interpret(loop: LoopArrays) -> tuple[float, int, int]:
    """Run the loop until it ends or the budget for interpreting is spent.

    Returns
    -------
    tuple of float, int and int
        The two values that the compiled loop returns, and the number of updates left; 0 if the loop has ended.
    """
    run, clock, size = loop.run, loop.state.clock, len(loop.state.plan)
    python = interpreted(run_loop)
    loop = loop._replace(now=SimpleNamespace())
    last, checks = clock[DONE] + run.iterations, 0
    while True:
        before = clock[DONE]
        part = run._replace(
            iterations=min(CHUNK, last - before), checked=run.checked[checks:], values=run.values[checks:]
        )
        with holding_signals(), np.errstate(all="ignore"):  # as for compiled code
            exploitability, more = python(loop._replace(run=part), True, 0)
        checks += more
        PATIENCE.left -= int(clock[DONE] - before) * size
        if exploitability <= run.tolerance or checks == len(run.checked) or clock[DONE] == last:
            return exploitability, checks, 0
        if PATIENCE.left <= 0:
            return exploitability, checks, int(last - clock[DONE])


def _width(array: Any) -> Any:
    return np.uint64(width_of(array.dtype))


def _part(array: Any, place: Any) -> Any:
    """Return the numbers of an array that a register holds, starting at a given position."""
    return array[int(place) : int(place) + width_of(array.dtype)]


def _load(array: Any, place: Any) -> Any:
    return _part(array, place).copy()


def _store(array: Any, place: Any, register: Any) -> None:
    _part(array, place)[:] = register


def _spread(number: Any) -> Any:
    return np.full(width_of(number.dtype), number)


def _gather(array: Any, indices: Any, place: Any) -> Any:
    return array[indices[int(place) : int(place) + width_of(array.dtype)]]


def _add_at(array: Any, shift: Any, indices: Any, place: Any, register: Any) -> None:
    np.add.at(array, np.uint64(shift) + indices[int(place) : int(place) + len(register)], register)


def _any_nonzero(register: Any) -> bool:
    return bool(np.any(register))


def _larger(left: Any, right: Any) -> Any:
    return np.where(left > right, left, right)


def _where_positive(tested: Any, those: Any, others: Any) -> Any:
    return np.where(tested > 0.0, those, others)


def _at_least(tested: Any, bound: Any, those: Any, others: Any) -> Any:
    return np.where(tested >= bound, those, others)


#: The Python versions of register operations.
_OPERATIONS = {
    registers.width: _width,
    registers.load: _load,
    registers.store: _store,
    registers.spread: _spread,
    registers.gather: _gather,
    registers.add_at: _add_at,
    registers.any_nonzero: _any_nonzero,
    registers.larger: _larger,
    registers.where_positive: _where_positive,
    registers.at_least: _at_least,
}


@functools.cache
def interpreted(function: Any) -> Any:
    """Return a compiled function as a Python function."""
    written = function.py_func
    names = dict(written.__globals__)
    for name in names.keys() & set(written.__code__.co_names):
        named = names[name]
        if hasattr(named, "py_func"):
            names[name] = interpreted(named)
        elif named in _OPERATIONS:
            names[name] = _OPERATIONS[named]
    return FunctionType(written.__code__, names, written.__name__, written.__defaults__, written.__closure__)
