"""Saddle programs as linear programs, in floats or in fractions, and a reader of their solutions."""

from collections.abc import Mapping
from typing import Any

import scipy.sparse as sp

from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.rationals import to_fractions
from ..programs.linear_program import LinearProgram, ProgramBlocks
from ..programs.rational_program import RationalProgram
from .program import REPLY, SAFETY, Answer, PlayerView, Saddle

#: Multipliers below this are round-off: rows with smaller multipliers do not determine a plan.
NEGLIGIBLE = 1e-12


def linear_program(saddle: Saddle, room: float = 0.0) -> LinearProgram:
    """Return a saddle program in floats as a sparse linear program.

    Parameters
    ----------
    saddle : Saddle
    room : float
        Amount by which the floor is lowered, in payoff units.

    Returns
    -------
    LinearProgram
        Column blocks ``plan`` (x), ``auxiliary`` (s), ``excess`` (violations of soft rows), ``prices`` (μ), ``reply
        prices`` (of replies defined by rows), ``factors`` (z) and ``values`` (q); row blocks ``plan``, ``constraints``,
        ``penalty``, ``auxiliary prices``, ``response``, ``factors`` and ``safety``. Blocks that are not needed are
        absent.

    Raises
    ------
    UnsupportedProblemError
        If a constraint is neither linear nor piecewise linear.

    Notes
    -----
    By duality of the inner minimum, with rows G x + K s ≤ h on x and H y + L t ≤ k on y, the program is

        max  c · x + ω (f · q − k · μ) − penalty · v
        s.t. E x = e,  G x + K s − v ≤ h,  Fᵀ q − Hᵀ μ ≤ Mᵀ x,  Lᵀ μ = 0,  f · q ≥ floor,  x, v, μ ≥ 0,

    where μ is at most the penalty if rows on y are soft, and Lᵀ μ ≥ 0 for those t that are at least 0. The multipliers
    of the rows ``response`` are ω y + κ y_s, where κ is the multiplier of ``safety``. Solvers' tolerances are absolute
    and the entries of E and F are ones. Therefore M, q and μ are in units of M's mean absolute entry, and each
    constraint is divided by its largest coefficient; the objective is in payoff units. With factored payoffs,
    M = L D⁻¹ R, the columns and rows ``factors`` (Dᵀ z − Lᵀ x = 0) link x to the response (Fᵀ q − Rᵀ z ≤ 0), and M is
    never formed. If a program has a floor together with rows on y or replies, the floor has its own values, response
    and factors, named ``floor values`` and so on.
    """
    for rows in (saddle.own, saddle.other):
        curved = [] if rows is None else [one.name for one in rows.constraints if not one.is_linear]
        if curved:
            raise UnsupportedProblemError(
                f"constraint {shown(curved[0])} is not linear, so there is no linear program: use the method cvxpy"
            )
    return _blocks(saddle, room).program(maximise=saddle.maximises)


def rational_program(saddle: Saddle) -> RationalProgram:
    """Return a saddle program in fractions as a linear program with the blocks of :func:`linear_program`.

    All its numbers are in payoff units.

    Raises
    ------
    UnsupportedProblemError
        If a constraint cannot be written in fractions.
    """
    return RationalProgram.of_blocks(_blocks(saddle), maximise=saddle.maximises)


def read_solution(saddle: Saddle, primal: Mapping[str, Any], dual: Mapping[str, Any]) -> Answer:
    """Return plans, multipliers and subgradients from a solution of the linear or the rational program.

    Parameters
    ----------
    saddle : Saddle
    primal : mapping of str to ndarray
        By block of columns.
    dual : mapping of str to ndarray
        By block of rows: the change of the objective per unit of a row's bound.
    """
    view, exact, sign = saddle.view, saddle.view.exact, saddle.sign
    multipliers: dict[str, Any] = {}
    subgradients: dict[str, Any] = {}
    parts = (("constraints", dual, saddle.own, sign), ("prices", primal, saddle.other, view.unit))
    for name, solution, rows, factor in parts:
        if rows is not None and name in solution:
            matrix = rows.matrix(exact)
            multipliers |= matrix.multipliers(solution[name] * factor)
            subgradients |= matrix.subgradients(solution[name] * factor)
    floor_price = view.number(sign * dual[SAFETY][0]) if SAFETY in dual else view.number(0)
    negligible = 0 if exact else NEGLIGIBLE * saddle.objective_unit
    floor_price = floor_price if floor_price > negligible else 0 * floor_price
    if saddle.floor is not None:
        multipliers[SAFETY] = floor_price / view.unit
    own = primal["plan"]
    # The rows are in units of `view.unit`, so their multipliers are the weights of y times that unit.
    priced = 0 if saddle.weight is None else saddle.weight * view.unit
    if "floor response" in dual:
        if floor_price:
            subgradients[SAFETY] = sign * dual["floor response"] / floor_price
    else:
        priced += floor_price
    other = sign * dual["response"] / priced if priced else saddle.reply_to(own)
    if view.replies is not None:
        if priced and view.replies.rows is not None:
            other = view.replies.preimage(other)
        subgradients[REPLY] = other
    return Answer(saddle.seated(own, other), multipliers, subgradients)


def _blocks(saddle: Saddle, room: Any = 0) -> ProgramBlocks:
    view = saddle.view
    blocks = ProgramBlocks(view.exact)
    tilt = 0 if saddle.tilt is None else saddle.sign * saddle.tilt
    blocks.add_columns("plan", view.own.num_sequences, objective=tilt, lower=0.0)
    blocks.add_rows("plan", {"plan": view.own.E}, lower=view.own.e, upper=view.own.e)
    if saddle.own is not None and saddle.own.constraints:
        saddle.own.add_to(blocks, saddle.sign)
    if saddle.weight is None and saddle.floor is None:
        return blocks
    weight = 0 if saddle.weight is None else saddle.sign * saddle.weight
    rows = saddle.other
    more = {} if rows is None or not rows.constraints else rows.add_prices(blocks, weight, view.unit)
    whole, limits = view.whole, None if view.replies is None else view.replies.rows
    if limits is None:
        _add_response(blocks, view, weight, more)
    else:
        blocks.add_columns("reply prices", limits.shape[0], lower=0.0)
        _add_response(blocks, whole, weight, {"reply prices": -limits.T})
    if saddle.floor is not None:
        apart = ""
        if more or whole is not view:  # the floor holds against all plans, regardless of rows on y and replies
            apart = "floor "
            _add_response(blocks, whole, 0, {}, apart)
        row = sp.coo_array(-whole.other.e[None, :])
        blocks.add_rows(SAFETY, {f"{apart}values": row}, upper=(room - saddle.floor) / view.unit)
    return blocks


def _add_response(blocks: ProgramBlocks, view: PlayerView, weight: Any, more: dict[str, Any], prefix: str = "") -> None:
    """Add to the objective ``weight`` times the payoff that x guarantees: the columns q and the rows that bound them.

    ``more`` contains additional terms of the rows by block of columns; the names of all new blocks begin with the
    prefix.
    """
    unit, matrices, other = view.unit, view.scaled_matrices, view.other
    objective = weight * unit * (to_fractions(other.e) if view.exact else other.e)
    values, factors = f"{prefix}values", f"{prefix}factors"
    if len(matrices) == 1:
        blocks.add_columns(values, other.E.shape[0], objective=objective)
        terms = {"plan": -matrices[0].T, values: other.E.T}
        blocks.add_rows(f"{prefix}response", {**terms, **more}, upper=0.0)
        return
    left, right = matrices
    count = left.shape[1]
    blocks.add_columns(factors, count)
    blocks.add_columns(values, other.E.shape[0], objective=objective)
    blocks.add_rows(f"{prefix}response", {factors: -right.T, values: other.E.T, **more}, upper=0.0)
    assert view.factored is not None
    blocks.add_rows(factors, {"plan": -left.T, factors: view.factored.links.T}, lower=0.0, upper=0.0)
