"""Conversion of convex cvxpy expressions of a plan to convex functions, by recognising their terms."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partialmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats
from .function import ConvexFunction
from .terms import (
    Maximum,
    Norm1,
    Norm2,
    NormInfinity,
    Opaque,
    Polyhedral,
    RelativeEntropy,
    Squares,
    Term,
    valued,
)

if TYPE_CHECKING:
    import cvxpy as cp

#: Largest difference between a recognised function and cvxpy's values, relative to the function's size.
_ROUND_OFF = 1e-9


def read_functions(expression: "cp.Expression", plan: "cp.Variable") -> list[ConvexFunction]:
    """Return the entries of a convex cvxpy expression of a plan, in column-major order.

    Parameters
    ----------
    expression : cvxpy.Expression
        An expression of the plan alone, of any shape. The reader recognises norms, maxima, sums of squares, relative
        entropies and affine functions, their sums, and expressions that can be rewritten as such. Other piecewise
        linear functions become the rows into which cvxpy converts them, and everything else becomes an opaque term.
    plan : cvxpy.Variable

    Returns
    -------
    list of ConvexFunction

    Examples
    --------
    >>> import cvxpy
    >>> from treeplex import load_game
    >>> from treeplex.models.convex.from_cvxpy import read_functions
    >>> x = load_game("kuhn").plan(0)
    >>> (found,) = read_functions(2 * cvxpy.norm(x[1:3] - 0.5) + cvxpy.sum_squares(x) - 1, x)
    >>> [(type(term).__name__, term.size) for term in found.terms], found.constant
    ([('Norm2', 2), ('Squares', 13)], -1.0)
    >>> [type(one.terms[0]).__name__ for one in read_functions(cvxpy.cumsum(cvxpy.abs(x[1:3])), x)]
    ['Norm1', 'Norm1']
    """
    reader = _Reader(plan, expression.size)
    try:
        reader.add(expression, sp.eye_array(expression.size, format="csr"))
    except NotImplementedError:
        return _unrecognised(expression, plan)
    found = reader.functions()
    return found if _agree(expression, plan, found) else _unrecognised(expression, plan)


def affine_parts(expression: "cp.Expression", plan: "cp.Variable") -> tuple[sp.csr_array, Floats]:
    """Return the coefficients and constants of the entries of an affine expression, in column-major order.

    Parameters
    ----------
    expression : cvxpy.Expression
    plan : cvxpy.Variable

    Returns
    -------
    matrix : csr_array, shape (entries, num_sequences)
    constants : ndarray of float64, shape (entries,)
    """
    (matrix,), constants = _parts_by_variable(expression, [plan])
    return matrix, constants


def _parts_by_variable(
    expression: "cp.Expression", variables: "Sequence[cp.Variable]"
) -> tuple[list[sp.csr_array], Floats]:
    """Return the coefficients of each variable, a row per entry of an affine expression, and the constants."""
    with ExitStack() as stack:
        for one in variables:
            stack.enter_context(valued(one, np.zeros(one.shape)))
        constants = _flat(expression.value)
        try:
            slopes = expression.grad
        except NotImplementedError:  # some functions of cvxpy, such as real, have a value but no gradient
            slopes = {one: _differences(expression, one) - constants for one in variables}
    matrices = []
    for one in variables:
        shape = (one.size, len(constants))
        transposed = slopes.get(one, sp.csc_array(shape))
        # cvxpy returns sparse matrices, but a bare number if the variable and the expression have one entry.
        transposed = transposed if sp.issparse(transposed) else np.reshape(transposed, shape)
        matrix = sp.csr_array(sp.csc_array(transposed).T)
        matrix.eliminate_zeros()
        matrices.append(matrix)
    return matrices, constants


def _differences(expression: "cp.Expression", variable: "cp.Variable") -> Floats:
    """Return the values of an expression at the unit vectors of a variable, one row per vector."""
    rows = []
    for unit in np.eye(variable.size):
        with valued(variable, unit.reshape(variable.shape, order="F")):
            rows.append(_flat(expression.value))
    return np.array(rows)


class _UnknownTermError(Exception):
    """An expression that is not one of the recognised terms."""


class _Reader:
    """A converter of W e, for matrices W and expressions e, which collects the terms of the rows' functions."""

    def __init__(self, plan: "cp.Variable", count: int) -> None:
        self.plan = plan
        self.terms: list[list[Term]] = [[] for _ in range(count)]
        self.linear = sp.csr_array((count, plan.size))
        self.constants = np.zeros(count)
        #: Unrecognised parts: expressions of shape (count,), with the rows to which they contribute.
        self.unknown: list[tuple[cp.Expression, npt.NDArray[np.bool_]]] = []

    def functions(self) -> list[ConvexFunction]:
        for row, term in _unknown_terms(self.unknown, self.plan):
            self.terms[row].append(term)
        linear = sp.csr_array(self.linear)
        linear.sum_duplicates()
        linear.eliminate_zeros()
        linear.sort_indices()
        ends = linear.indptr.tolist()
        functions = []
        for row, terms in enumerate(self.terms):
            part = slice(*ends[row : row + 2])
            indices = linear.indices[part].astype(np.int32)
            functions.append(ConvexFunction(indices, linear.data[part], float(self.constants[row]), tuple(terms)))
        return functions

    def add(self, expression: "cp.Expression", weights: sp.csr_array) -> None:
        """Add W e, with e in column-major order."""
        from cvxpy.atoms.affine.affine_atom import AffAtom

        if not weights.data.any():
            return
        if expression.is_affine():
            matrix, constants = affine_parts(expression, self.plan)
            self.linear = self.linear + weights @ matrix
            self.constants += weights @ constants
            return
        try:
            if isinstance(expression, AffAtom):
                self._add_arguments(expression, weights)
            else:
                self._add_term(expression, weights)
        except _UnknownTermError:
            self._leave(expression, weights)

    def _add_arguments(self, expression: Any, weights: sp.csr_array) -> None:
        """Add an affine function of other expressions by adding each of them."""
        import cvxpy as cp

        inner = [None if one.is_constant() else cp.Variable(one.shape) for one in expression.args]
        outer = expression.copy([one if new is None else new for one, new in zip(expression.args, inner, strict=True)])
        if not outer.is_affine():
            raise _UnknownTermError
        matrices, constants = _parts_by_variable(outer, [new for new in inner if new is not None])
        self.constants += weights @ constants
        given = [one for one, new in zip(expression.args, inner, strict=True) if new is not None]
        for one, matrix in zip(given, matrices, strict=True):
            self.add(one, weights @ matrix)

    def _add_term(self, expression: Any, weights: sp.csr_array) -> None:
        """Add a recognised term of an affine expression."""
        # A convex function times a negative weight is concave, and vice versa.
        convex = (weights.data >= 0.0).all()
        if not (convex or (weights.data <= 0.0).all()) or not all(one.is_affine() for one in _inner(expression)):
            raise _UnknownTermError
        name = type(expression).__name__.removesuffix("Approx")
        term = getattr(self, f"_term_{name}" if convex else f"_minus_{name}", None)
        if term is None:
            raise _UnknownTermError
        term(expression, weights)

    def _leave(self, expression: "cp.Expression", weights: sp.csr_array) -> None:
        """Record an expression that is not a recognised term."""
        count, size = weights.shape
        if count == size and not (weights - sp.eye_array(size)).nnz:
            weighted = expression if expression.shape == () else expression.flatten(order="F")
        else:
            weighted = weights @ expression.flatten(order="F")
        self.unknown.append((weighted, np.diff(weights.indptr) > 0))

    # The terms.

    def _scalar(self, expression: Any, weights: sp.csr_array, kind: type[Term]) -> None:
        """Add a function of all entries; the function is positively homogeneous, or a square."""
        if expression.size != 1 or getattr(expression, "axis", None) is not None:
            raise _UnknownTermError
        inner = expression.args[0]
        self._put_each(kind, inner, _spread(weights, inner.size))

    _term_norm1 = partialmethod(_scalar, kind=Norm1)
    _term_norm_inf = partialmethod(_scalar, kind=NormInfinity)
    _term_max = partialmethod(_scalar, kind=Maximum)
    _minus_min = _term_max

    def _term_Pnorm(self, expression: Any, weights: sp.csr_array) -> None:
        if not _is_length(expression):
            raise _UnknownTermError
        self._scalar(expression, weights, Norm2)

    def _term_abs(self, expression: Any, weights: sp.csr_array) -> None:
        self._put_each(Norm1, expression.args[0], weights)

    def _term_power(self, expression: Any, weights: sp.csr_array) -> None:
        if not _is_square(expression):
            raise _UnknownTermError
        inner, roots = expression.args[0], weights.sqrt()
        if _is_length(inner):
            self._scalar(inner, roots, Squares)
        else:
            self._put_each(Squares, inner, roots)

    _term_Power = _term_power

    def _term_quad_over_lin(self, expression: Any, weights: sp.csr_array) -> None:
        inner, divisor = expression.args
        if not divisor.is_constant() or expression.size != 1 or divisor.size != 1:
            raise _UnknownTermError
        scaled = (weights / float(_flat(divisor.value)[0])).sqrt()
        self._put_each(Squares, inner, _spread(scaled, inner.size))

    def _term_QuadForm(self, expression: Any, weights: sp.csr_array) -> None:
        inner, given = expression.args
        form = np.asarray(given.value.toarray() if sp.issparse(given.value) else given.value)
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
        matrix, constants = affine_parts(inner, self.plan)
        factors = sp.diags_array(np.sqrt(np.maximum(squares, 0.0))) @ roots
        rooted, shifts = sp.csr_array(factors @ matrix[used]), -(factors @ constants[used])
        for row, _, numbers in _by_row(weights.sqrt()):
            self._put(row, Squares, sp.csr_array(numbers[0] * rooted), numbers[0] * shifts)

    def _term_maximum(self, expression: Any, weights: sp.csr_array) -> None:
        parts = [affine_parts(one, self.plan) for one in expression.args]
        firsts = np.cumsum([0, *(len(constants) for _, constants in parts[:-1])])
        matrix = sp.csr_array(sp.vstack([one for one, _ in parts]))
        constants = np.concatenate([one for _, one in parts])
        is_vector = np.array([len(one) > 1 for _, one in parts])
        for row, places, numbers in _by_row(weights):
            for place, number in zip(places.tolist(), numbers.tolist(), strict=True):
                chosen, factors = firsts + is_vector * place, np.full(len(parts), number)
                # With a negative weight, the minimum becomes a maximum.
                self._put(row, Maximum, _scaled_rows(matrix, chosen, factors), -number * constants[chosen])

    _minus_minimum = _term_maximum

    def _minus_entr(self, expression: Any, weights: sp.csr_array) -> None:
        matrix, constants = affine_parts(expression.args[0], self.plan)
        for row, places, numbers in _by_row(-weights):
            nothing = sp.csr_array((len(places), matrix.shape[1]))
            self._put_pairs(row, _scaled_rows(matrix, places, numbers), numbers * constants[places], nothing, numbers)

    def _term_rel_entr(self, expression: Any, weights: sp.csr_array) -> None:
        if not all(one.size == expression.size for one in expression.args):
            raise _UnknownTermError
        (first, constants), (second, others) = (affine_parts(one, self.plan) for one in expression.args)
        for row, places, numbers in _by_row(weights):
            own, other = (_scaled_rows(one, places, numbers) for one in (first, second))
            self._put_pairs(row, own, numbers * constants[places], other, numbers * others[places])

    def _term_kl_div(self, expression: Any, weights: sp.csr_array) -> None:
        self._term_rel_entr(expression, weights)
        first, second = expression.args
        self.add(first, -weights)
        self.add(second, weights)

    def _put_each(self, kind: type[Term], inner: "cp.Expression", weights: sp.csr_array) -> None:
        """For each row of weights, weight the entries of an affine expression and add the term of the results."""
        matrix, constants = affine_parts(inner, self.plan)
        for row, places, numbers in _by_row(weights):
            self._put(row, kind, _scaled_rows(matrix, places, numbers), -numbers * constants[places])

    def _put_pairs(
        self, row: int, first: sp.csr_array, constants: Floats, second: sp.csr_array, others: Floats
    ) -> None:
        """Add the entropy of p relative to q, without the pairs with p = 0."""
        counted = np.flatnonzero((np.diff(first.indptr) > 0) | (constants != 0.0))
        pairs = np.stack([counted, counted + len(constants)], axis=1).ravel()
        matrix = sp.csr_array(sp.csr_array(sp.vstack([first, second]))[pairs])
        self._put(row, RelativeEntropy, matrix, -np.concatenate([constants, others])[pairs])

    def _put(self, row: int, kind: type[Term], matrix: sp.csr_array, shifts: Floats) -> None:
        if kind not in (RelativeEntropy, Maximum):
            counted = (np.diff(matrix.indptr) > 0) | (shifts != 0.0)
            if not counted.all():
                matrix, shifts = sp.csr_array(matrix[counted]), shifts[counted]
        if len(shifts):
            self.terms[row].append(kind(matrix, shifts))


def _inner(expression: Any) -> "list[cp.Expression]":
    """Return the expression that must be affine: for a squared length, the argument of the length."""
    arguments: list[cp.Expression] = expression.args
    if _is_square(expression) and _is_length(arguments[0]):
        arguments = arguments[0].args
    return arguments


def _is_length(expression: Any) -> bool:
    name = type(expression).__name__
    return name in ("Pnorm", "PnormApprox") and float(expression.p) == 2.0 and expression.axis is None


def _is_square(expression: Any) -> bool:
    if type(expression).__name__ not in ("power", "Power", "PowerApprox"):
        return False
    exponent = getattr(expression.p, "value", expression.p)
    return exponent is not None and np.size(exponent) == 1 and float(np.asarray(exponent).item()) == 2.0


def _by_row(weights: sp.csr_array) -> "list[tuple[int, npt.NDArray[np.int32], Floats]]":
    """Return the rows that have entries, with the positions and values of the entries."""
    ends = weights.indptr.tolist()
    parts = [(row, slice(*ends[row : row + 2])) for row in range(weights.shape[0]) if ends[row] < ends[row + 1]]
    return [(row, weights.indices[part], weights.data[part]) for row, part in parts]


def _scaled_rows(matrix: sp.csr_array, places: npt.NDArray[Any], factors: Floats) -> sp.csr_array:
    """Return rows of a matrix, each multiplied by a factor."""
    rows = sp.csr_array(matrix[places])
    rows.data = rows.data * np.repeat(factors, np.diff(rows.indptr))
    rows.eliminate_zeros()
    return rows


def _spread(weights: sp.csr_array, size: int) -> sp.csr_array:
    """Return a column repeated a number of times."""
    return sp.csr_array(weights @ np.ones((1, size)))


def _flat(value: Any) -> Floats:
    dense = value.toarray() if sp.issparse(value) else value
    return np.asarray(dense, dtype=np.float64).ravel(order="F")


def _agree(expression: "cp.Expression", plan: "cp.Variable", found: list[ConvexFunction]) -> bool:
    """Return whether functions agree with cvxpy's values at a few points."""
    if all(one.is_affine for one in found):
        return True
    rng = np.random.default_rng(0)
    for _ in range(3):
        at = rng.random(plan.size) + 0.01
        with valued(plan, at), np.errstate(all="ignore"):
            expected = expression.value
        if expected is None:
            return False
        with np.errstate(all="ignore"):
            values = np.array([one.value(at) for one in found])
            linear = [float(np.abs(one.coefficients) @ at[one.indices]) + abs(float(one.constant)) for one in found]
        sizes = 1.0 + np.array(linear) + np.abs(values)
        if not (np.abs(_flat(expected) - values) <= _ROUND_OFF * sizes).all():
            return False
    return True


# --- unrecognised expressions
# ------------------------------------------------------------------------------------------


def _unrecognised(expression: "cp.Expression", plan: "cp.Variable") -> list[ConvexFunction]:
    """Return the entries of an expression as functions with one polyhedral or opaque term each."""
    flat = expression if expression.shape == () else expression.flatten(order="F")
    terms = _unknown_terms([(flat, np.ones(expression.size, dtype=bool))], plan)
    return [ConvexFunction.of([term]) for _, term in terms]


def _unknown_terms(
    given: "list[tuple[cp.Expression, npt.NDArray[np.bool_]]]", plan: "cp.Variable"
) -> "list[tuple[int, Term]]":
    """Return, for each entry, the terms of a sum of expressions; piecewise linear expressions form one term."""
    terms: list[tuple[int, Term]] = []
    for is_linear in (True, False):
        parts = [(expression, counted) for expression, counted in given if expression.is_pwl() == is_linear]
        if not parts:
            continue
        total = parts[0][0]
        for expression, _ in parts[1:]:
            total = total + expression
        rows = np.flatnonzero(np.any([counted for _, counted in parts], axis=0)).tolist()
        entries = [total] if total.shape == () else [total[row] for row in rows]
        vector = total if total.shape == () or len(rows) == total.size else total[rows]
        lifted: Sequence[Term] | None = lift(vector.flatten(order="F"), entries, plan) if is_linear else None
        terms += zip(rows, lifted or [Opaque.of(entry, plan) for entry in entries], strict=True)
    return terms


def lift(expression: "cp.Expression", entries: "list[cp.Expression]", plan: "cp.Variable") -> list[Polyhedral] | None:
    """Return each entry of a convex piecewise linear vector of a plan as rows of a linear program.

    Parameters
    ----------
    expression : cvxpy.Expression
        A one-dimensional expression of the plan alone.
    entries : list of cvxpy.Expression
        Its entries.
    plan : cvxpy.Variable

    Returns
    -------
    list of Polyhedral or None
        ``None`` if cvxpy needs more than linear rows for the entry.

    Examples
    --------
    >>> import cvxpy
    >>> from treeplex import load_game
    >>> from treeplex.models.convex.from_cvxpy import lift
    >>> x = load_game("kuhn").plan(0)
    >>> above = cvxpy.abs(x[1:3]) - 1.0
    >>> [rows.auxiliary.toarray().tolist() for rows in lift(above, list(above), x)]
    [[[1.0], [-1.0], [-1.0]], [[1.0], [-1.0], [-1.0]]]
    """
    import cvxpy as cp

    count = expression.size
    above = cp.Variable(count, name="above")
    # cvxpy replaces the plan with another, free variable; this link identifies the plan's columns.
    link = cp.Variable(plan.size, name="link")
    problem = cp.Problem(cp.Minimize(above.sum()), [link == plan, expression <= above])
    data, _, _ = problem.get_problem_data(cp.CLARABEL)
    dims = vars(data["dims"])
    if any(size for cone, size in dims.items() if cone not in ("zero", "nonneg")) or data.get("P") is not None:
        return None
    # In cvxpy's form A v + s = b, the first rows have s = 0 and the others s ≥ 0.
    matrix, limits = sp.csr_array(data["A"]), np.asarray(data["b"], dtype=np.float64)
    matrix.eliminate_zeros()
    places = data["param_prob"].var_id_to_col
    of_link, of_heads = (np.arange(places[one.id], places[one.id] + one.size) for one in (link, above))
    links, of_plan = _linked(matrix, of_link)
    heads = _rows_of(matrix, of_heads)  # the row of each entry's bound: the only one with that variable
    if of_plan is None or len(heads) != count:
        return None
    auxiliary = np.setdiff1d(np.arange(matrix.shape[1]), np.concatenate([of_link, of_heads, of_plan]))
    rest = np.setdiff1d(np.arange(len(limits)), np.concatenate([links, heads]))
    equal = np.arange(len(limits)) < dims["zero"]
    # Another row belongs to an entry if auxiliary variables connect it with the entry; the plan's signs belong to no
    # entry.
    connections = matrix[rest][:, auxiliary]
    edges = sp.coo_array(connections)
    nodes = len(rest) + len(auxiliary)
    ends = (edges.coords[0], edges.coords[1] + len(rest))
    from scipy.sparse.csgraph import connected_components

    labels = connected_components(sp.csr_array((np.ones(edges.nnz), ends), shape=(nodes, nodes)), directed=False)[1]
    row_labels, column_labels = labels[: len(rest)], labels[len(rest) :]
    lifted = []
    for place, head in enumerate(heads.tolist()):
        needed = np.unique(column_labels[matrix[[head]][:, auxiliary].indices])
        rows = np.concatenate([[head], rest[np.isin(row_labels, needed)]])
        columns = auxiliary[np.isin(column_labels, needed)]
        part = matrix[rows]
        # The bound's coefficient in the entry's row is −1, up to a unit that cvxpy may choose.
        unit = np.ones(len(rows))
        unit[0] = -matrix[head, of_heads[place]]
        scale = sp.diags_array(1.0 / unit)
        lifted.append(
            Polyhedral(
                matrix=sp.csr_array(scale @ part[:, of_plan]),
                shifts=limits[rows] / unit,
                auxiliary=sp.csr_array(scale @ part[:, columns]),
                equal=equal[rows],
                expression=entries[place],
                variable=plan,
            )
        )
    return lifted


def _linked(matrix: sp.csr_array, of_link: Any) -> tuple[Any, Any]:
    """Return the rows that link a variable to the plan, and the plan's columns (``None`` if the rows do more)."""
    links = _rows_of(matrix, of_link)
    linked = matrix[links]
    if len(links) != len(of_link) or (np.diff(linked.indptr) != 2).any():
        return links, None
    # Of the two columns of each row, the one that is not the link's.
    return links, linked.indices.reshape(-1, 2).sum(axis=1) - of_link


def _rows_of(matrix: sp.csr_array, columns: Any) -> Any:
    """Return the rows of the entries in some columns, column by column."""
    part = sp.coo_array(matrix[:, columns])
    return part.coords[0][np.argsort(part.coords[1])]
