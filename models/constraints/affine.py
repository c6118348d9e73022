"""What cvxpy expressions of a plan are where they are affine, and their values at plans."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats

if TYPE_CHECKING:
    import cvxpy as cp


def affine_parts(expression: "cp.Expression", plan: "cp.Variable") -> tuple[sp.csc_array, Floats]:
    """Return the slopes and constants of the entries of an affine expression, in column-major order.

    Parameters
    ----------
    expression : cvxpy.Expression
    plan : cvxpy.Variable

    Returns
    -------
    slopes : csc_array, shape (num_sequences, entries)
    constants : ndarray of float64, shape (entries,)
    """
    with valued(plan, np.zeros(plan.size)):
        constants = _flat(expression.value)
    try:
        with valued(plan, np.zeros(plan.size)):
            given = expression.grad[plan] if expression.variables() else np.zeros((plan.size, len(constants)))
    except NotImplementedError:  # some functions of cvxpy have a value but no gradient, such as real
        rows = []
        for unit in np.eye(plan.size):
            with valued(plan, unit):
                rows.append(_flat(expression.value) - constants)
        given = np.array(rows)
    # cvxpy gives sparse matrices, and a bare number where the plan and the expression have one entry.
    slopes = sp.csc_array(given if sp.issparse(given) else np.reshape(given, (plan.size, len(constants))))
    return slopes, constants


@contextmanager
def valued(variable: "cp.Variable", value: Floats) -> Iterator[None]:
    """Give a cvxpy variable a value for a while."""
    before = variable.value
    try:
        variable.save_value(np.asarray(value, dtype=np.float64))
        yield
    finally:
        variable.save_value(before)


def _flat(value: Any) -> Floats:
    dense = value.toarray() if sp.issparse(value) else value
    return np.asarray(dense, dtype=np.float64).ravel(order="F")
