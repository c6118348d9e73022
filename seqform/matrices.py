"""Matrices that users give, read back as treeplexes."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .arrays import canonical
from .errors import InvalidGameError, one_line
from .polytope import INFLOW_TOLERANCE, Treeplex


def polytope_from_constraints(matrix: Any, right_side: npt.ArrayLike, name: str, right_name: str) -> Treeplex:
    """Read a treeplex from its constraints E x = e.

    Parameters
    ----------
    matrix : array_like or sparse, shape (num_infosets + 1, num_sequences)
        One row with a single 1, for the empty sequence (column 0); every other row has a −1 at the infoset's parent
        sequence and a 1 at each of its own sequences, which are contiguous and come after the parent. Several entries
        −w in place of the −1 are the inflows of a flow polytope. A row may be multiplied by −1.
    right_side : array_like, shape (num_infosets + 1,)
        1 for the empty sequence's row, 0 for the others.
    name, right_name : str
        What to call them in messages.

    Returns
    -------
    Treeplex

    Raises
    ------
    InvalidGameError
        If the constraints are not of this form.
    """
    rows = canonical(matrix, name)
    try:
        right = np.asarray(right_side, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGameError(f"{right_name} is no vector of numbers: {one_line(str(error))}") from None
    if right.shape != (rows.shape[0],):
        raise InvalidGameError(f"{right_name} has shape {right.shape}, expected ({rows.shape[0]},): one entry a row")
    infosets: list[tuple[int, int, int, float]] = []  # first sequence, number of actions, row, sign
    roots = 0
    for row in range(rows.shape[0]):
        columns = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        values = rows.data[rows.indptr[row] : rows.indptr[row + 1]]
        if len(columns) == 1 and columns[0] == 0 and values[0] == right[row] != 0.0:
            roots += 1
            continue
        # Inflows come before the infoset's own sequences, so the first entry is one of them and tells the row's sign.
        sign = -1.0 if len(values) and values[0] > 0.0 else 1.0
        own = columns[sign * values > 0.0]
        before = columns[sign * values < 0.0]
        if (
            not len(before)
            or not len(own)
            or (np.abs(values[: len(before)]) > 1.0 + INFLOW_TOLERANCE).any()
            or (sign * values[len(before) :] != 1.0).any()
            or right[row] != 0.0
        ):
            raise InvalidGameError(
                f"row {row} of {name} is no infoset's: it needs one -1 (parent sequence) or several entries from -1 to "
                f"0 (inflows), then a 1 at each own sequence, and a 0 in {right_name}"
            )
        if own[-1] - own[0] != len(own) - 1 or before[-1] >= own[0]:
            raise InvalidGameError(
                f"row {row} of {name} has own sequences {own.tolist()} and parent sequence {before[-1]}: own ones must "
                "be contiguous and come after the parent"
            )
        infosets.append((int(own[0]), len(own), row, sign))
    infosets.sort()
    firsts = [first for first, _, _, _ in infosets]
    counts = [count for _, count, _, _ in infosets]
    expected = (1 + np.cumsum([0, *counts])[:-1]).tolist()
    if roots != 1 or firsts != expected or 1 + sum(counts) != rows.shape[1]:
        raise InvalidGameError(
            f"{name} is not the constraint matrix of a treeplex: one row must set column 0 (the empty sequence) to 1, "
            "and every other column must belong to exactly one infoset's row"
        )
    ordered = sp.csr_array(rows[np.array([row for _, _, row, _ in infosets], dtype=np.intp)])
    signs = np.repeat([sign for _, _, _, sign in infosets], np.diff(ordered.indptr))
    ordered.data = np.maximum(-signs * ordered.data, 0.0)
    return Treeplex.from_inflow(ordered, counts)


def constant_of(matrix: Any, first: Treeplex, second: Treeplex, tolerance: float) -> float | None:
    """Return c if xᵀ M y = c for all realization plans x and y of two players, ``None`` if it differs.

    Parameters
    ----------
    matrix : sparse, shape (num_sequences of the first player, num_sequences of the second)
    first, second : Treeplex
    tolerance : float
        How far an entry of the reduced matrix (see Notes) may be from zero.

    Notes
    -----
    Multiples of the constraints E x = e and F y = f are subtracted until no entry is left for the first action of any
    infoset. Entries at the others then say how payoffs differ between actions, and all but that of the two empty
    sequences must vanish.
    """
    reduced = _reduced(_reduced(sp.csr_array(matrix), second).T, first)
    constant = float(reduced[0, 0])
    reduced = reduced.tocoo()
    others = (reduced.coords[0] > 0) | (reduced.coords[1] > 0)
    return constant if np.abs(reduced.data[others]).max(initial=0.0) <= tolerance else None


def _reduced(matrix: Any, treeplex: Treeplex) -> Any:
    for level in reversed(treeplex.levels):
        matrix = (
            sp.csr_array(matrix)
            - sp.csr_array(matrix)[:, level.sequences[level.starts]] @ (treeplex.E[level.infosets + 1])
        )
    return matrix
