"""What a plan guarantees against an opponent whose plans form a convex set: by duality of cones."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...seqform.errors import UnsupportedProblemError

if TYPE_CHECKING:
    import cvxpy as cp


def least_payoff(
    payoffs: "cp.Expression", plan: "cp.Variable", rows: "list[cp.Constraint]", cost: "cp.Expression | float" = 0.0
) -> "tuple[cp.Expression, list[cp.Constraint]]":
    """Return min over y of payoffs · y + cost(y) as a maximum, for payoffs that are not known yet.

    Parameters
    ----------
    payoffs : cvxpy.Expression, shape (n,)
        Affine in variables of the program under construction.
    plan : cvxpy.Variable, shape (n,)
        y.
    rows : list of cvxpy.Constraint
        What y, and other variables that may help to say so, are to meet.
    cost : cvxpy.Expression, optional
        Linear; of variables in the rows.

    Returns
    -------
    objective : cvxpy.Expression
        To be maximised.
    constraints : list of cvxpy.Constraint
        On the variables of the dual.

    Raises
    ------
    UnsupportedProblemError
        If the rows need cones other than linear, second-order and exponential ones.

    Notes
    -----
    cvxpy writes the set as B z + s = b, s ∈ K, with y a part of z. With c the payoffs at y and the cost elsewhere,
    min c · z = max −b · w such that Bᵀ w + c = 0, w ∈ K*, if a strictly feasible point exists (S. Boyd,
    L. Vandenberghe, "Convex Optimization", 2004, section 5.9). The dual of the exponential cone is as in the manual of
    MOSEK's modelling cookbook, section 5.1: (u, v, w) with −u exp(v / u) ≤ e w, u ≤ 0.
    """
    import cvxpy as cp

    # Attributes of variables make cvxpy put others in their place: this one keeps its columns.
    free = cp.Variable(plan.size, name="free")
    inner = cp.Problem(cp.Minimize(cost), [free == plan, *rows])
    data, _, _ = inner.get_problem_data(cp.CLARABEL)
    matrix, right, dims = sp.csc_array(data["A"]), np.asarray(data["b"]), data["dims"]
    if dims.psd or dims.p3d:
        raise UnsupportedProblemError(
            "constraints of both players are not linear, and one needs a semidefinite or power cone: write it with "
            "norms, squares, entropies or linear functions"
        )
    first = data["param_prob"].var_id_to_col[free.id]
    columns = np.arange(first, first + plan.size)
    fixed = np.asarray(data["c"], dtype=np.float64)
    rest = np.setdiff1d(np.arange(matrix.shape[1]), columns)
    dual = cp.Variable(matrix.shape[0], name="dual")
    constraints: list[Any] = [matrix[:, columns].T @ dual + payoffs == -fixed[columns]]
    if len(rest):
        constraints.append(matrix[:, rest].T @ dual == -fixed[rest])
    at = int(dims.zero)
    if dims.nonneg:
        constraints.append(dual[at : at + dims.nonneg] >= 0)
        at += int(dims.nonneg)
    for size in dims.soc:
        constraints.append(cp.SOC(dual[at], dual[at + 1 : at + size]))
        at += int(size)
    if dims.exp:
        # Triples (x, y, z) of cvxpy's cone y exp(x / y) ≤ z.
        u, v, w = (dual[at + offset : at + 3 * dims.exp : 3] for offset in range(3))
        constraints.append(cp.ExpCone(u - v, -u, w))
    objective: cp.Expression = -(cp.Constant(right) @ dual)
    return objective, constraints
