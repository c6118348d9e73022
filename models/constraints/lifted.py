"""Polyhedra of plans that are written with auxiliary variables."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import lsqr

from ...seqform.arrays import Floats

if TYPE_CHECKING:
    import cvxpy as cp

#: How far from zero multipliers may leave an auxiliary variable, in units of the function's slopes: round-off.
_ROUND_OFF = 1e-12
#: How large multipliers may be, in these units: what is larger cancels with too much round-off.
_LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class LiftedRows:
    """A convex piecewise linear f(x) = min over s of G₀ x + K₀ s − h₀ such that G x + K s ≤ h in all other rows.

    Row 0 is the function's own, the others are what the auxiliary variables s must meet. A linear function is row 0
    alone, without auxiliary variables.

    Attributes
    ----------
    plan : csr_array, shape (k, num_sequences)
        G.
    auxiliary : csr_array, shape (k, num_auxiliary)
        K.
    limits : ndarray of float64, shape (k,)
        h.
    equal : ndarray of bool, shape (k,)
        Where a row is an equation; never row 0.

    Notes
    -----
    By duality of linear programs every m with m₀ = 1, Kᵀ m = 0, and m ≥ 0 but at equations, proves
    f(x) ≥ (Gᵀ m) · x − h · m for all x, and for each x one of them does so with equality.

    Examples
    --------
    f(x) = abs(x − 0.5), by s ≥ x − 0.5, s ≥ 0.5 − x:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from treeplex.models.constraints.lifted import LiftedRows
    >>> plan, auxiliary = sp.csr_array([[0.0], [1.0], [-1.0]]), sp.csr_array([[1.0], [-1.0], [-1.0]])
    >>> rows = LiftedRows(plan, auxiliary, np.array([0.0, 0.5, -0.5]), np.zeros(3, dtype=bool))
    >>> rows.minorant(np.array([1.0, 0.25, 0.75]))
    (array([-0.5]), 0.25)
    """

    plan: sp.csr_array
    auxiliary: sp.csr_array
    limits: Floats
    equal: npt.NDArray[np.bool_]

    def minorant(self, multipliers: npt.ArrayLike) -> tuple[Floats, float] | None:
        """Return g and c with f(x) ≥ g · x + c for every x, by multipliers of the rows.

        Parameters
        ----------
        multipliers : array_like, shape (k,)
            In any unit: they are divided by the first. Negative ones count as 0.

        Returns
        -------
        (ndarray of shape (num_sequences,), float) or None
            ``None`` if the multipliers prove nothing.
        """
        sound = self._sound(multipliers)
        if sound is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            slope, constant = self.plan.T @ sound, -float(self.limits @ sound)
        return (slope, constant) if np.isfinite(slope).all() and np.isfinite(constant) else None

    def best_multipliers(self, plan: Floats) -> Floats | None:
        """Return multipliers whose bound is tight at a plan; ``None`` if none were found."""
        count = len(self.limits)
        bounds = np.column_stack([np.where(self.equal, -np.inf, 0.0), np.full(count, np.inf)])
        bounds[0] = 1.0
        zeros = np.zeros(self.auxiliary.shape[1])
        found = linprog(self.limits - self.plan @ plan, A_eq=self.auxiliary.T, b_eq=zeros, bounds=bounds)
        return None if found.x is None else np.asarray(found.x, dtype=np.float64)

    def multipliers_near(self, slope: Floats) -> Floats | None:
        """Return the multipliers that prove the most of those whose bound has nearly a given slope; ``None`` if none.

        A difference of slopes costs what it takes from the bound where the plan is 1 at most.
        """
        size, num_auxiliary = len(slope), self.auxiliary.shape[1]
        count = len(self.limits)
        above = sp.eye_array(size, format="csr")
        nothing = sp.csr_array((num_auxiliary, 2 * size))
        rows = sp.vstack(
            [sp.hstack([self.plan.T, above, -above]), sp.hstack([self.auxiliary.T, nothing])], format="csr"
        )
        bounds = np.column_stack([np.zeros(count + 2 * size), np.full(count + 2 * size, np.inf)])
        bounds[:count][self.equal, 0] = -np.inf
        bounds[0] = 1.0
        costs = np.concatenate([self.limits, np.ones(2 * size)])
        found = linprog(costs, A_eq=rows, b_eq=np.concatenate([slope, np.zeros(num_auxiliary)]), bounds=bounds)
        return None if found.x is None else np.asarray(found.x[:count], dtype=np.float64)

    def to_cvxpy(self, plan: Any) -> "tuple[cp.Expression, list[cp.Constraint]]":
        """Return f in cvxpy, with what its auxiliary variables are to meet: one constraint, or none.

        :meth:`multipliers` reads their multipliers.
        """
        import cvxpy as cp

        value = self.plan[[0]] @ plan - self.limits[0]
        if not self.auxiliary.shape[1]:
            return value[0], []
        auxiliary = cp.Variable(self.auxiliary.shape[1], name="auxiliary")
        signs = self._inequalities
        left = (signs @ self.plan) @ plan + (signs @ self.auxiliary) @ auxiliary
        return (value + self.auxiliary[[0]] @ auxiliary)[0], [left <= signs @ self.limits]

    def multipliers(self, first: float, others: Floats) -> Floats:
        """Return the multipliers of all rows, by those of the two parts of :meth:`to_cvxpy`."""
        return np.append(first, (self._inequalities.T @ others)[1:])

    @cached_property
    def _inequalities(self) -> sp.csr_array:
        """The matrix that makes inequalities of all rows but the first: two of an equation."""
        signs = sp.eye_array(len(self.limits), format="csr")
        return sp.csr_array(sp.vstack([signs[1:], -signs[self.equal]]))

    def _sound(self, multipliers: npt.ArrayLike) -> Floats | None:
        """Return multipliers that prove a bound, close to those given."""
        try:
            given = np.array(multipliers, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        if given.shape != self.limits.shape or not np.isfinite(given).all() or given[0] <= 0.0:
            return None
        with np.errstate(over="ignore"):
            given = np.where(self.equal, given, np.maximum(given, 0.0)) / given[0]
        return self._repaired(given) if (np.abs(given) <= _LARGEST * self._unit).all() else None

    def _repaired(self, given: Floats) -> Floats | None:
        """Return multipliers that cancel at auxiliary variables, from ones that nearly do."""
        for _ in range(3):
            left = self.auxiliary.T @ given
            if (np.abs(left) <= _ROUND_OFF * self._unit).all():
                return given
            # Relative changes, so that no sign turns; the first multiplier stays 1.
            factors = given.copy()
            factors[0] = 0.0
            weighted = sp.diags_array(factors) @ self.auxiliary
            given += factors * lsqr(weighted.T.tocsr(), -left, atol=1e-15, btol=1e-15, conlim=0.0)[0]
            if not np.isfinite(given).all():
                break
            given = np.where(self.equal, given, np.maximum(given, 0.0))
        return None

    @cached_property
    def _unit(self) -> float:
        """The largest coefficient of the function, at least 1."""
        return float(max(1.0, *(np.abs(part[[0]].data).max(initial=0.0) for part in (self.plan, self.auxiliary))))


def lift(expression: "cp.Expression", plan: "cp.Variable") -> list[LiftedRows] | None:
    """Return each entry of a convex piecewise linear expression of a plan as rows of a linear program.

    Parameters
    ----------
    expression : cvxpy.Expression
        Of the plan alone, of any shape.
    plan : cvxpy.Variable

    Returns
    -------
    list of LiftedRows or None
        In column-major order; ``None`` if cvxpy takes more than linear rows to write it.

    Examples
    --------
    >>> import cvxpy
    >>> from treeplex import load_game
    >>> from treeplex.models.constraints.lifted import lift
    >>> x = load_game("kuhn").plan(0)
    >>> [rows.auxiliary.toarray().tolist() for rows in lift(cvxpy.abs(x[1:3]) - 1.0, x)]
    [[[1.0], [-1.0], [-1.0]], [[1.0], [-1.0], [-1.0]]]
    """
    import cvxpy as cp

    count = expression.size
    above = cp.Variable(count, name="above")
    # cvxpy puts another variable, which is free, in the place of the plan: this one tells its columns.
    link = cp.Variable(plan.size, name="link")
    problem = cp.Problem(cp.Minimize(above.sum()), [link == plan, expression.flatten(order="F") <= above])
    data, _, _ = problem.get_problem_data(cp.CLARABEL)
    dims = vars(data["dims"])
    if any(size for cone, size in dims.items() if cone not in ("zero", "nonneg")) or data.get("P") is not None:
        return None
    # In cvxpy's form A v + s = b, with s = 0 in the first rows and s ≥ 0 in the others.
    matrix, limits = sp.csr_array(data["A"]), np.asarray(data["b"], dtype=np.float64)
    matrix.eliminate_zeros()
    places = data["param_prob"].var_id_to_col
    of_link, of_heads = (np.arange(places[one.id], places[one.id] + one.size) for one in (link, above))
    links, of_plan = _linked(matrix, of_link)
    heads = _heads(matrix, of_heads)
    if of_plan is None or len(heads) != count:
        return None
    auxiliary = np.setdiff1d(np.arange(matrix.shape[1]), np.concatenate([of_link, of_heads, of_plan]))
    rest = np.setdiff1d(np.arange(len(limits)), np.concatenate([links, heads]))
    equal = np.arange(len(limits)) < dims["zero"]
    # Other rows belong to an entry if auxiliary variables connect them with it; the plan's signs belong to none.
    connections = matrix[rest][:, auxiliary]
    edges = sp.coo_array(connections)
    nodes = len(rest) + len(auxiliary)
    ends = (edges.coords[0], edges.coords[1] + len(rest))
    labels = connected_components(sp.csr_array((np.ones(edges.nnz), ends), shape=(nodes, nodes)), directed=False)[1]
    row_labels, column_labels = labels[: len(rest)], labels[len(rest) :]
    lifted = []
    for entry, head in enumerate(heads.tolist()):
        needed = np.unique(column_labels[matrix[[head]][:, auxiliary].indices])
        rows = np.concatenate([[head], rest[np.isin(row_labels, needed)]])
        columns = auxiliary[np.isin(column_labels, needed)]
        part = matrix[rows]
        # The head's coefficient of the bound is −1, up to the unit that cvxpy may choose.
        unit = np.ones(len(rows))
        unit[0] = -matrix[head, of_heads[entry]]
        scale = sp.diags_array(1.0 / unit)
        lifted.append(
            LiftedRows(
                plan=sp.csr_array(scale @ part[:, of_plan]),
                auxiliary=sp.csr_array(scale @ part[:, columns]),
                limits=limits[rows] / unit,
                equal=equal[rows],
            )
        )
    return lifted


def _linked(matrix: sp.csr_array, of_link: Any) -> tuple[Any, Any]:
    """Return the rows that link a variable to the plan, and the plan's columns; the latter ``None`` if not found."""
    part = sp.coo_array(matrix[:, of_link])
    order = np.argsort(part.coords[1])
    links = part.coords[0][order]
    linked = matrix[links]
    if len(links) != len(of_link) or (np.diff(linked.indptr) != 2).any():
        return links, None
    # Of the two columns of each row the one that is not the link's.
    return links, linked.indices.reshape(-1, 2).sum(axis=1) - of_link


def _heads(matrix: sp.csr_array, of_heads: Any) -> Any:
    """Return the row of each entry's bound: the only one that holds it."""
    part = sp.coo_array(matrix[:, of_heads])
    return part.coords[0][np.argsort(part.coords[1])]
