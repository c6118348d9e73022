"""Treeplexes read back from their constraint matrices."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .errors import InvalidGameError
from .polytope import Treeplex


def polytope_from_constraints(matrix: Any, right_side: npt.ArrayLike, name: str, right_name: str) -> Treeplex:
    """Read a treeplex from its constraints E x = e.

    Parameters
    ----------
    matrix : array_like or sparse, shape (num_infosets + 1, num_sequences)
        One row with a single 1, for the empty sequence (column 0); every other row has a −1 at the infoset's parent
        sequence and a 1 at each of its own sequences, which are contiguous and come after the parent. A row may be
        multiplied by −1.
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
    try:
        rows = sp.csr_array(matrix, dtype=np.float64, copy=True)  # what follows changes it in place
        right = np.asarray(right_side, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidGameError(f"{name} and {right_name} are no arrays of numbers: {error}") from None
    if rows.ndim != 2:
        raise InvalidGameError(f"{name} has shape {rows.shape}: a matrix is needed")
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if right.shape != (rows.shape[0],):
        raise InvalidGameError(f"{right_name} has shape {right.shape}, expected ({rows.shape[0]},): one entry a row")
    infosets: list[tuple[int, int, int]] = []  # first sequence, number of actions, parent sequence
    roots = 0
    for row in range(rows.shape[0]):
        columns = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        values = rows.data[rows.indptr[row] : rows.indptr[row + 1]]
        if len(columns) == 1 and columns[0] == 0 and values[0] == right[row] != 0.0:
            roots += 1
            continue
        # The parent comes before the infoset's own sequences, so its entry comes first and tells the row's sign.
        sign = -1.0 if len(values) and values[0] == 1.0 else 1.0
        parent = columns[sign * values == -1.0]
        own = columns[sign * values == 1.0]
        if len(parent) != 1 or len(own) != len(columns) - 1 or not len(own) or right[row] != 0.0:
            raise InvalidGameError(
                f"row {row} of {name} is no infoset's: it needs one -1 (parent sequence), a 1 at each own sequence and "
                f"a 0 in {right_name}"
            )
        if own[-1] - own[0] != len(own) - 1 or parent[0] >= own[0]:
            raise InvalidGameError(
                f"row {row} of {name} has own sequences {own.tolist()} and parent sequence {parent[0]}: own ones must "
                "be contiguous and come after the parent"
            )
        infosets.append((int(own[0]), len(own), int(parent[0])))
    infosets.sort()
    firsts = [first for first, _, _ in infosets]
    expected = (1 + np.cumsum([0, *(count for _, count, _ in infosets)])[:-1]).tolist()
    covered = 1 + sum(count for _, count, _ in infosets)
    if roots != 1 or firsts != expected or covered != rows.shape[1]:
        raise InvalidGameError(
            f"{name} is not the constraint matrix of a treeplex: one row must set column 0 (the empty sequence) to 1, "
            "and every other column must belong to exactly one infoset's row"
        )
    return Treeplex([parent for _, _, parent in infosets], [count for _, count, _ in infosets])
