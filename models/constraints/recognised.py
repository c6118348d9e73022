"""Recognises norms, squares, maxima and entropies of affine functions in what users write in cvxpy."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from .affine import affine_parts, valued
from .composition import (
    MAXIMUM,
    NORM_1,
    NORM_2,
    NORM_INFINITY,
    RELATIVE_ENTROPY,
    SQUARES,
    Composition,
)

if TYPE_CHECKING:
    import cvxpy as cp

#: How far a function that was recognised may differ from cvxpy's, relative to its size.
_ROUND_OFF = 1e-9


def recognise(expression: "cp.Expression", plan: "cp.Variable") -> Composition | None:
    """Return a scalar convex cvxpy expression of a plan as a composition; ``None`` if it holds anything else.

    Parameters
    ----------
    expression : cvxpy.Expression
    plan : cvxpy.Variable

    Examples
    --------
    >>> import cvxpy
    >>> from treeplex import load_game
    >>> from treeplex.models.constraints.recognised import recognise
    >>> x = load_game("kuhn").plan(0)
    >>> found = recognise(2 * cvxpy.norm(x[1:3] - 0.5) + cvxpy.sum_squares(x) - 1, x)
    >>> found.kinds.tolist(), found.starts.tolist(), found.limit
    ([1, 4], [0, 2, 15], 1.0)
    >>> recognise(cvxpy.log_sum_exp(x), x) is None
    True
    """
    reader = _Reader(plan)
    try:
        reader.add(expression, np.ones(1))
    except (_UnknownTermError, NotImplementedError):
        return None
    found = reader.composition()
    return found if _agree(expression, plan, found) else None


class _UnknownTermError(Exception):
    """The expression holds something else than the terms of compositions."""


class _Reader:
    """Reads Σ w · e for weights w and expressions e, and collects the terms."""

    def __init__(self, plan: "cp.Variable") -> None:
        self.plan = plan
        self.kinds: list[int] = []
        self.rows: list[sp.csr_array] = []
        self.shifts: list[Floats] = []
        self.linear = np.zeros(plan.size)
        self.limit = 0.0

    def composition(self) -> Composition:
        starts = np.cumsum([0, *(len(one) for one in self.shifts)])
        matrix = sp.csr_array((0, self.plan.size)) if not self.rows else sp.csr_array(sp.vstack(self.rows))
        shifts = np.concatenate([np.zeros(0), *self.shifts])
        kinds = np.array(self.kinds, dtype=np.int64)
        return Composition(kinds, starts.astype(np.int64), matrix, shifts, self.linear, self.limit)

    def add(self, expression: "cp.Expression", weights: Floats) -> None:
        """Add the sum of the entries of an expression, in column-major order, times their weights."""
        if not weights.any():
            return
        if expression.is_affine():
            matrix, constants = affine_parts(expression, self.plan)
            self.linear += matrix @ weights
            self.limit -= float(constants @ weights)
            return
        name = type(expression).__name__.removesuffix("Approx")
        through = getattr(self, f"_through_{name}", None)
        if through is not None:
            through(expression, weights)
            return
        # A convex function times a negative weight is concave, and the other way round.
        convex = (weights >= 0.0).all()
        if not (convex or (weights <= 0.0).all()) or not all(one.is_affine() for one in self._inner(expression)):
            raise _UnknownTermError
        term = getattr(self, f"_term_{name}" if convex else f"_minus_{name}", None)
        if term is None:
            raise _UnknownTermError
        term(expression, weights)

    @staticmethod
    def _inner(expression: "cp.Expression") -> "list[cp.Expression]":
        """Return what is to be affine: what the square of a length is of, where that is the expression."""
        arguments: list[cp.Expression] = expression.args
        if _is_square(expression) and _is_length(arguments[0]):
            arguments = arguments[0].args
        return arguments

    # What passes weights on to its arguments.

    def _through_AddExpression(self, expression: Any, weights: Floats) -> None:
        for one in expression.args:
            if one.size not in (1, len(weights)):
                raise _UnknownTermError
            self.add(one, weights if one.size == len(weights) else weights.sum(keepdims=True))

    def _through_NegExpression(self, expression: Any, weights: Floats) -> None:
        self.add(expression.args[0], -weights)

    def _through_Sum(self, expression: Any, weights: Floats) -> None:
        if len(weights) != 1:
            raise _UnknownTermError
        self.add(expression.args[0], np.full(expression.args[0].size, weights[0]))

    def _through_Promote(self, expression: Any, weights: Floats) -> None:
        self.add(expression.args[0], weights.sum(keepdims=True))

    def _through_reshape(self, expression: Any, weights: Floats) -> None:
        if expression.order != "F" and max(*expression.shape, 1, *expression.args[0].shape) < len(weights):
            raise _UnknownTermError
        self.add(expression.args[0], weights)

    def _through_index(self, expression: Any, weights: Floats) -> None:
        inner = expression.args[0]
        places = np.arange(inner.size).reshape(inner.shape, order="F")[expression.key].ravel(order="F")
        spread = np.zeros(inner.size)
        np.add.at(spread, places, weights)
        self.add(inner, spread)

    _through_special_index = _through_index

    def _through_multiply(self, expression: Any, weights: Floats) -> None:
        first, second = expression.args
        constant, inner = (first, second) if first.is_constant() else (second, first)
        factors = _numbers(constant)
        if not constant.is_constant() or len({one for one in (len(factors), inner.size, len(weights)) if one > 1}) > 1:
            raise _UnknownTermError
        scaled = np.broadcast_to(weights * factors, (len(weights),))
        self.add(inner, scaled if inner.size == len(weights) else scaled.sum(keepdims=True))

    def _through_DivExpression(self, expression: Any, weights: Floats) -> None:
        inner, divisor = expression.args
        if not divisor.is_constant() or divisor.size not in (1, len(weights)) or inner.size != len(weights):
            raise _UnknownTermError
        self.add(inner, weights / _numbers(divisor))

    def _through_MulExpression(self, expression: Any, weights: Floats) -> None:
        first, second = expression.args
        if first.is_constant() and second.ndim == 1:
            matrix = np.atleast_2d(_dense(first))
        elif second.is_constant() and first.ndim == 1:
            matrix = np.atleast_2d(_dense(second).T)
        else:
            raise _UnknownTermError
        self.add(second if first.is_constant() else first, weights @ matrix)

    # The terms.

    def _term_norm1(self, expression: Any, weights: Floats) -> None:
        self._scalar(NORM_1, expression, weights)

    def _term_norm_inf(self, expression: Any, weights: Floats) -> None:
        self._scalar(NORM_INFINITY, expression, weights)

    def _term_max(self, expression: Any, weights: Floats) -> None:
        self._scalar(MAXIMUM, expression, weights)

    def _term_Pnorm(self, expression: Any, weights: Floats) -> None:
        if not _is_length(expression):
            raise _UnknownTermError
        self._scalar(NORM_2, expression, weights)

    def _term_abs(self, expression: Any, weights: Floats) -> None:
        self._put(NORM_1, *self._affine(expression.args[0], weights))

    def _term_power(self, expression: Any, weights: Floats) -> None:
        if not _is_square(expression):
            raise _UnknownTermError
        inner = expression.args[0]
        if _is_length(inner):
            self._scalar(SQUARES, inner, np.sqrt(weights))
        else:
            self._put(SQUARES, *self._affine(inner, np.sqrt(weights)))

    _term_Power = _term_power

    def _term_quad_over_lin(self, expression: Any, weights: Floats) -> None:
        inner, divisor = expression.args
        if not divisor.is_constant() or len(weights) != 1 or divisor.size != 1:
            raise _UnknownTermError
        factor = float(np.sqrt(weights[0] / _numbers(divisor)[0]))
        self._put(SQUARES, *self._affine(inner, np.full(inner.size, factor)))

    def _term_QuadForm(self, expression: Any, weights: Floats) -> None:
        inner, given = expression.args
        form = _dense(given)
        if not given.is_constant() or form.ndim != 2 or not np.isrealobj(form):
            raise _UnknownTermError
        form = (form + form.T) / 2.0
        used = np.flatnonzero(np.abs(form).max(axis=0) > 0.0)
        form = form[np.ix_(used, used)]
        if not np.count_nonzero(form - np.diag(np.diag(form))):
            squares, roots = np.diag(form), sp.eye_array(len(used), format="csr")
        else:
            squares, vectors = np.linalg.eigh(form)
            roots = sp.csr_array(vectors.T)
        if len(used) and squares.min() < -1e-13 * np.abs(squares).max():
            raise _UnknownTermError
        rows, shifts = self._affine(inner, np.ones(inner.size))
        factors = sp.diags_array(np.sqrt(weights[0] * np.maximum(squares, 0.0))) @ roots
        self._put(SQUARES, sp.csr_array(factors @ rows[used]), factors @ shifts[used])

    def _term_maximum(self, expression: Any, weights: Floats) -> None:
        parts = [self._affine(one, np.ones(one.size)) for one in expression.args]
        for place in np.flatnonzero(weights).tolist():
            chosen = [place if len(shifts) == len(weights) else 0 for _, shifts in parts]
            rows = sp.vstack([matrix[[at]] for (matrix, _), at in zip(parts, chosen, strict=True)])
            shifts = np.array([of[at] for (_, of), at in zip(parts, chosen, strict=True)])
            self._put(MAXIMUM, sp.csr_array(weights[place] * rows), weights[place] * shifts)

    # With their negative weights, smallest numbers are largest ones.
    _minus_minimum = _term_maximum
    _minus_min = _term_max

    def _minus_entr(self, expression: Any, weights: Floats) -> None:
        (rows, shifts), size = self._affine(expression.args[0], -weights), len(weights)
        pairs = np.stack([np.arange(size), np.arange(size) + size], axis=1).ravel()
        both = sp.csr_array(sp.vstack([rows, sp.csr_array(rows.shape)]))
        self._entropy(both[pairs], np.concatenate([shifts, weights])[pairs])

    def _entropy(self, rows: sp.csr_array, shifts: Floats) -> None:
        counted = np.repeat(np.diff(rows[0::2].indptr) + np.abs(shifts[0::2]) > 0.0, 2)
        self._put(RELATIVE_ENTROPY, sp.csr_array(rows[counted]), shifts[counted])

    def _term_rel_entr(self, expression: Any, weights: Floats) -> None:
        if not all(one.size == len(weights) for one in expression.args):
            raise _UnknownTermError
        (first, shifts), (second, other_shifts) = (self._affine(one, weights) for one in expression.args)
        pairs = np.stack([np.arange(len(weights)), np.arange(len(weights)) + len(weights)], axis=1).ravel()
        both = sp.csr_array(sp.vstack([first, second]))
        self._entropy(both[pairs], np.concatenate([shifts, other_shifts])[pairs])

    def _term_kl_div(self, expression: Any, weights: Floats) -> None:
        self._term_rel_entr(expression, weights)
        first, second = expression.args
        self.add(first, -weights)
        self.add(second, weights)

    def _scalar(self, kind: int, expression: Any, weights: Floats) -> None:
        """Add a function that is positively homogeneous of all entries, or a square."""
        if len(weights) != 1 or getattr(expression, "axis", None) is not None:
            raise _UnknownTermError
        inner = expression.args[0]
        self._put(kind, *self._affine(inner, np.full(inner.size, weights[0])))

    def _affine(self, expression: "cp.Expression", weights: Floats) -> tuple[sp.csr_array, Floats]:
        """Return B and c of the entries of an affine expression times their weights."""
        matrix, constants = affine_parts(expression, self.plan)
        return sp.csr_array(sp.diags_array(weights) @ matrix.T), -weights * constants

    def _put(self, kind: int, rows: sp.csr_array, shifts: Floats) -> None:
        if kind in (NORM_1, NORM_2, NORM_INFINITY, SQUARES):
            rows.eliminate_zeros()
            counted = (np.diff(rows.indptr) > 0) | (shifts != 0.0)
            rows, shifts = sp.csr_array(rows[counted]), shifts[counted]
        if len(shifts):
            self.kinds.append(kind)
            self.rows.append(rows)
            self.shifts.append(shifts)


def _is_length(expression: Any) -> bool:
    name = type(expression).__name__
    return name in ("Pnorm", "PnormApprox") and float(expression.p) == 2.0 and expression.axis is None


def _is_square(expression: Any) -> bool:
    if type(expression).__name__ not in ("power", "Power", "PowerApprox"):
        return False
    exponent = getattr(expression.p, "value", expression.p)
    return exponent is not None and np.size(exponent) == 1 and float(np.asarray(exponent).item()) == 2.0


def _numbers(constant: Any) -> Floats:
    return np.asarray(_dense(constant), dtype=np.float64).ravel(order="F")


def _dense(constant: Any) -> Any:
    value = constant.value
    return np.asarray(value.toarray() if sp.issparse(value) else value)


def _agree(expression: "cp.Expression", plan: "cp.Variable", found: Composition) -> bool:
    """Whether a composition has cvxpy's values at a few points."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        at = rng.random(plan.size) + 0.01
        with valued(plan, at), np.errstate(all="ignore"):
            expected, value = expression.value, found.value(at)
        if expected is None or not np.isfinite(value):
            return False
        size = 1.0 + abs(found.limit) + float(np.abs(found.linear) @ at) + abs(value)
        if not abs(float(np.asarray(expected).item()) - value) <= _ROUND_OFF * size:
            return False
    return True
