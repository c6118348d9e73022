"""Sparse linear systems solved in exact rational numbers."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import flint
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

from .interruptible import run_apart

#: The number of unknowns from which a block is solved by p-adic lifting instead of elimination.
_LIFTED = 12
#: The number of unknowns from which a block is solved in a separate process, because nothing else can stop it: it takes
#: 0.3 s, and starting a process a twentieth of that.
_APART = 500


class SingularMatrixError(ArithmeticError):
    """A square matrix without an inverse."""


class SparseSystem:
    """A square matrix K of integers, prepared for solving K x = b and Kᵀ y = c exactly.

    Parameters
    ----------
    size : int
    rows, columns : ndarray of int64, shape (n,)
        The positions of the entries, without duplicates.
    values : sequence of flint.fmpz
        The values, none of them zero.

    Raises
    ------
    SingularMatrixError
        If the positions of the entries exclude an inverse for any values.

    Notes
    -----
    Rows and columns are permuted to block triangular form, by a maximum matching and the strongly connected components
    of the resulting graph (A. Pothen and C.-J. Fan, "Computing the block triangular form of a sparse matrix", ACM
    Transactions on Mathematical Software 16, 1990), and blocks are solved one after the other. Large blocks are solved
    by p-adic lifting (J. D. Dixon, "Exact solution of linear equations using p-adic expansions", Numerische Mathematik
    40, 1982), in FLINT.

    Examples
    --------
    >>> import flint
    >>> import numpy as np
    >>> from treeplex.solvers.exact.rational_linear_algebra import SparseSystem
    >>> system = SparseSystem(
    ...     2, np.array([0, 0, 1]), np.array([0, 1, 1]), [flint.fmpz(1), flint.fmpz(2), flint.fmpz(3)]
    ... )
    >>> system.solve([flint.fmpq(1), flint.fmpq(1)]), system.solve_transposed([flint.fmpq(1), flint.fmpq(1)])
    ([1/3, 1/3], [1, -1/3])
    """

    def __init__(
        self,
        size: int,
        rows: npt.NDArray[np.int64],
        columns: npt.NDArray[np.int64],
        values: Sequence[flint.fmpz],
    ) -> None:
        self.size = size
        self._by_row: list[list[tuple[int, flint.fmpz]]] = [[] for _ in range(size)]
        self._by_column: list[list[tuple[int, flint.fmpz]]] = [[] for _ in range(size)]
        for row, column, value in zip(rows.tolist(), columns.tolist(), values, strict=True):
            self._by_row[row].append((column, value))
            self._by_column[column].append((row, value))
        self._blocks = _triangular_blocks(size, rows, columns)

    def solve(self, right: Sequence[flint.fmpq]) -> list[flint.fmpq]:
        """Return x with K x = b.

        Raises
        ------
        SingularMatrixError
        """
        solution: list[flint.fmpq] = [flint.fmpq(0)] * self.size
        for rows, columns in self._blocks:
            _solve_block(rows, columns, self._by_row, right, solution)
        return solution

    def solve_transposed(self, right: Sequence[flint.fmpq]) -> list[flint.fmpq]:
        """Return y with Kᵀ y = c.

        Raises
        ------
        SingularMatrixError
        """
        solution: list[flint.fmpq] = [flint.fmpq(0)] * self.size
        for rows, columns in reversed(self._blocks):
            _solve_block(columns, rows, self._by_column, right, solution)
        return solution


def _solve_block(
    equations: list[int],
    unknowns: list[int],
    entries: list[list[tuple[int, flint.fmpz]]],
    right: Sequence[flint.fmpq],
    solution: list[flint.fmpq],
) -> None:
    """Solve the equations of a block for its unknowns; the values of all other unknowns in them are given."""
    if len(unknowns) == 1:
        (unknown,), (equation,) = unknowns, equations
        rest: Any = right[equation]
        own = flint.fmpz(0)
        for place, value in entries[equation]:
            if place == unknown:
                own = value
            elif solution[place]:
                rest -= value * solution[place]
        solution[unknown] = rest / own
        return
    places = {unknown: number for number, unknown in enumerate(unknowns)}
    size = len(unknowns)
    matrix: Any = flint.fmpq_mat(size, size)
    rests = []
    for number, equation in enumerate(equations):
        rest = right[equation]
        for place, value in entries[equation]:
            if place in places:
                matrix[number, places[place]] = value
            elif solution[place]:
                rest -= value * solution[place]
        rests.append(rest)
    # FLINT would multiply every row of the matrix by its own denominators, so use one common denominator.
    common = flint.fmpz(1)
    for rest in rests:
        common = common.lcm(rest.q)
    numbers = flint.fmpq_mat(size, 1, [rest * common for rest in rests])

    def solve() -> list[flint.fmpq]:
        found: list[flint.fmpq] = matrix.solve(numbers, algorithm="dixon" if size >= _LIFTED else "fflu").entries()
        return found

    try:
        found = run_apart(solve) if size >= _APART else solve()
    except ZeroDivisionError:
        raise SingularMatrixError(f"a block of {size} equations is singular") from None
    for unknown, number in zip(unknowns, found, strict=True):
        solution[unknown] = number / common


def _triangular_blocks(
    size: int, rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64]
) -> list[tuple[list[int], list[int]]]:
    """Return equations and unknowns of diagonal blocks; each block contains only its own and earlier unknowns."""
    if not size:
        return []
    pattern = sp.csr_matrix((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(size, size))
    matched = maximum_bipartite_matching(pattern, perm_type="column")
    if (matched < 0).any():
        raise SingularMatrixError("there are fewer independent equations than unknowns")
    partner = np.empty(size, dtype=np.int64)  # the equation that each unknown is matched to
    partner[matched] = np.arange(size)
    depends = sp.csr_matrix((np.ones(len(rows), dtype=np.int8), (rows, partner[columns])), shape=(size, size))
    count, labels = connected_components(depends, directed=True, connection="strong")
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(count + 1)).tolist()
    members = [order[start:stop] for start, stop in pairwise(bounds)]
    return [(members[label].tolist(), matched[members[label]].tolist()) for label in _sorted(count, labels, depends)]


def _sorted(count: int, labels: npt.NDArray[np.int32], depends: sp.csr_matrix) -> list[int]:
    """Return the components in an order in which each comes after those that it depends on."""
    entries = depends.tocoo()
    pairs = np.unique(np.stack([labels[entries.row], labels[entries.col]]), axis=1)
    pairs = pairs[:, pairs[0] != pairs[1]]
    waiting = np.bincount(pairs[0], minlength=count).tolist()
    followers: list[list[int]] = [[] for _ in range(count)]
    for one, other in pairs.T.tolist():
        followers[other].append(one)
    ready = [label for label in range(count) if not waiting[label]]
    for label in ready:
        for follower in followers[label]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    return ready
