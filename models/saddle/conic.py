"""Saddle programs in cvxpy for conic solvers, with a reader of their solutions."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...seqform.errors import UnsupportedProblemError
from .linear import NEGLIGIBLE
from .program import REPLY, SAFETY, Answer, PlayerView, Saddle
from .rows import Rows, cvxpy_rows, excess_units, read_multipliers, read_subgradients

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class ConicProgram:
    """A saddle program in cvxpy, in payoff units.

    It is the program of the maximising player, on its ``game.plan``. If only the other player's constraints are not
    linear, it is the program of the other player, who minimises. If both have nonlinear constraints, it is the sum of
    the two programs: one objective minus the other, which is 0 at the optimum.

    Attributes
    ----------
    saddle : Saddle
    problem : cvxpy.Problem
    parts : tuple
        The program of each seat, from which :meth:`read` reads the solution.
    """

    saddle: Saddle
    problem: "cp.Problem"
    parts: "tuple[_Seat, ...]"

    @classmethod
    def of(cls, saddle: Saddle) -> "ConicProgram":
        """Write a saddle program in cvxpy, in floats.

        Raises
        ------
        UnsupportedProblemError
            If constraints of both players are not linear, and one needs a cone that is neither second-order nor
            exponential.
        """
        import cvxpy as cp

        seats = [saddle] if saddle.other is None or saddle.other.is_linear else [saddle, saddle.swapped]
        curved = [one for one in seats if not one.own_rows.is_linear]
        parts = tuple(_Seat.of(one) for one in curved or [saddle])
        rows = [row for kind in ("heads", "others", "lifted") for part in parts for row in getattr(part, kind)]
        sign = saddle.sign if parts[0].saddle is saddle else -saddle.sign
        sense = cp.Maximize if sign > 0 else cp.Minimize
        return cls(saddle, cp.Problem(sense(sign * sum(part.objective for part in parts)), rows), parts)

    def read(self) -> Answer:
        """Return plans, multipliers and subgradients after cvxpy has solved the problem."""
        multipliers: dict[str, float] = {}
        subgradients: dict[str, Any] = {}
        plans: dict[int, Any] = {}
        for part in self.parts:
            part.read(plans, multipliers, subgradients)
        player = self.saddle.view.player
        if self.saddle.view.replies is not None:
            subgradients[REPLY] = plans[1 - player]
        return Answer(self.saddle.seated(plans[player], plans.get(1 - player)), multipliers, subgradients)


@dataclass(frozen=True, eq=False)
class _Seat:
    """One player's program: its objective, and its rows, whose multipliers are read.

    Attributes
    ----------
    objective : cvxpy.Expression
    heads : list of cvxpy.Constraint
        One per constraint on the player's plan.
    others : list of cvxpy.Constraint
    lifted : list of cvxpy.Constraint
        Definitions of the auxiliary variables of piecewise linear constraints.
    response : cvxpy.Constraint, optional
        Its multipliers are the weights of the other player's sequences.
    prices : cvxpy.Variable, optional
        μ of the other player's constraints.
    safety : cvxpy.Constraint, optional
    floor_response : cvxpy.Constraint, optional
        The response in the floor, if it is not ``response``.
    """

    saddle: Saddle
    plan: "cp.Variable"
    objective: Any
    heads: list[Any]
    others: list[Any]
    lifted: list[Any]
    response: Any = None
    prices: Any = None
    safety: Any = None
    floor_response: Any = None

    @classmethod
    def of(cls, saddle: Saddle) -> "_Seat":
        import cvxpy as cp

        view, plan = saddle.view, saddle.view.game.plan(saddle.view.player)
        heads, lifted, cost = _priced_rows(saddle, plan)
        objective = -cost if saddle.tilt is None else cp.Constant(saddle.tilt) @ plan - cost
        others: list[Any] = []
        response = floor_response = prices = safety = None
        if saddle.weight is not None and not saddle.other_rows.is_linear:
            other = view.game.plan(1 - view.player)
            rows, more, other_cost = _priced_rows(saddle.swapped, other)
            polytope = [view.other.E @ other == view.other.e, other >= 0]
            payoffs, factors = _payoffs(view, plan)
            guaranteed, others = least_payoff(payoffs, other, [*polytope, *rows, *more], other_cost / view.unit)
            others += factors
            objective = objective + saddle.weight * view.unit * guaranteed
        elif saddle.weight is not None or saddle.floor is not None:
            guaranteed, response, prices, others = _linear_response(view, saddle.other_rows, plan)
            if saddle.weight is not None:
                objective = objective + saddle.weight * view.unit * guaranteed
            if saddle.floor is not None:
                whole = view.whole
                if prices is not None or whole is not view:  # against all plans, regardless of rows and replies
                    none = Rows((), whole.other.num_sequences)
                    guaranteed, floor_response, _, more = _linear_response(whole, none, plan)
                    others += more
                safety = guaranteed >= saddle.floor / view.unit
                others.append(safety)
        others.append(view.own.E @ plan == view.own.e)
        return cls(saddle, plan, objective, heads, others, lifted, response, prices, safety, floor_response)

    def read(self, plans: dict[int, Any], multipliers: dict[str, Any], subgradients: dict[str, Any]) -> None:
        """Add this seat's solution to plans, multipliers and subgradients."""
        saddle, view = self.saddle, self.saddle.view
        own = plans[view.player] = np.asarray(self.plan.value)
        rows = saddle.own_rows
        found = read_multipliers(rows.constraints, rows.sizes, self.heads)
        multipliers |= found
        subgradients |= read_subgradients(rows.constraints, found, self.lifted, soft=rows.penalty is not None)
        unit = view.unit
        if self.prices is not None:
            matrix, values = saddle.other_rows.matrix(exact=False), np.asarray(self.prices.value) * unit
            multipliers |= matrix.multipliers(values)
            subgradients |= matrix.subgradients(values)
        priced = 0.0 if saddle.weight is None else saddle.weight * unit
        if self.safety is not None:
            floor_price = float(np.asarray(self.safety.dual_value))
            floor_price = floor_price if floor_price > NEGLIGIBLE * saddle.objective_unit else 0.0
            multipliers[SAFETY] = floor_price / unit
            if self.floor_response is None:
                priced += floor_price
            elif floor_price:
                subgradients[SAFETY] = np.asarray(self.floor_response.dual_value) / floor_price
        if priced and self.response is not None:
            plans[1 - view.player] = np.asarray(self.response.dual_value) / priced
        elif 1 - view.player not in plans:
            plans[1 - view.player] = saddle.reply_to(own)


def _priced_rows(saddle: Saddle, plan: "cp.Variable") -> "tuple[list[Any], list[Any], Any]":
    """Return the player's constraints, those of their auxiliary variables, and the price of violations."""
    import cvxpy as cp

    rows = saddle.own_rows
    if rows.penalty is None or not rows.constraints:
        return *cvxpy_rows(rows.constraints, plan, rows.sizes), 0.0
    excess = cp.Variable(1 if rows.shared else len(rows.constraints), nonneg=True, name="excess")
    prices = [rows.penalty] if rows.shared else rows.prices
    units = excess_units(rows.constraints, rows.sizes, excess.size)
    cost = (units * [float(price or 0) for price in prices]) @ excess
    heads, others = cvxpy_rows(rows.constraints, plan, rows.sizes, excess)
    hard = [place for place, price in enumerate(prices) if price is None]
    return heads, [*([excess[hard] <= 0.0] if hard else []), *others], cost


def _payoffs(view: PlayerView, plan: "cp.Variable") -> "tuple[cp.Expression, list[cp.Constraint]]":
    """Return Mᵀ x, in units of M, and the rows that define its factors."""
    import cvxpy as cp

    left, *rest = view.scaled_matrices
    if view.factored is None:
        return left.T @ plan, []
    factors = cp.Variable(left.shape[1], name="factors")
    return rest[0].T @ factors, [view.factored.links.T @ factors == left.T @ plan]


def _linear_response(view: PlayerView, rows: Rows, plan: "cp.Variable") -> "tuple[Any, Any, Any, list[Any]]":
    """Return the payoff that a plan guarantees against an opponent under linear constraints, in units of M.

    Also returns the response constraints, whose duals are the opponent's plan, the variable μ of its constraints (or
    ``None``), and all rows.
    """
    import cvxpy as cp

    values = cp.Variable(view.other.E.shape[0], name="values")
    guaranteed = cp.Constant(view.other.e) @ values
    payoffs, others = _payoffs(view, plan)
    if not rows.constraints:
        response = view.other.E.T @ values <= payoffs
        return guaranteed, response, None, [response, *others]
    matrix = rows.matrix(exact=False)
    prices = cp.Variable(len(matrix.units), name="prices")
    response = view.other.E.T @ values <= payoffs + matrix.matrix.T @ prices
    others = [response, *others, prices[~matrix.equal] >= 0.0]
    if matrix.auxiliary.shape[1]:
        left, is_free = matrix.auxiliary.T @ prices, matrix.least < 0.0
        others += [left[is_free] == 0.0, left[~is_free] >= 0.0]
    if rows.penalty is not None:
        spent = sp.diags_array(1.0 / matrix.units[matrix.heads]) @ prices[matrix.heads]
        others.append((spent.sum() if rows.shared else spent) <= float(rows.penalty) / view.unit)
    return guaranteed - matrix.limits @ prices, response, prices, others


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
        Constraints on y, and on any auxiliary variables.
    cost : cvxpy.Expression, optional
        Linear in variables of the rows.

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
    cvxpy writes the set as B z + s = b, s ∈ K, with y a part of z. With c the payoffs at y and the cost elsewhere, min
    c · z = max −b · w such that Bᵀ w + c = 0, w ∈ K*, if a strictly feasible point exists (S. Boyd, L. Vandenberghe,
    "Convex Optimization", 2004, section 5.9); without one, the right side may be smaller, or not attained. The dual of
    the exponential cone is as in section 5.1 of MOSEK's modelling cookbook: (u, v, w) with −u exp(v / u) ≤ e w, u ≤ 0.
    """
    import cvxpy as cp

    # Attributes of variables make cvxpy replace them; this link keeps its columns.
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
