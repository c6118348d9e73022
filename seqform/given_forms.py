"""Sequence forms given by the user: checks of treeplexes, leaves, payoff matrices and constraints."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .array_checks import canonical
from .arrays import Floats, floats, frozen
from .errors import InvalidGameError, shown
from .flow_polytope import INFLOW_TOLERANCE
from .labels import has_order
from .payoffs import LeafPayoff, LeafTable, Payoff, WithMatrices, constant_of_sums
from .polytope import Treeplex


class MatrixPayoff(WithMatrices):
    """Two players' payoffs, given as matrices.

    Parameters
    ----------
    first, second : csr_array of float64, shape (num_sequences of player 0, num_sequences of player 1)
        Each player's payoffs, multiplied by chance.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from treeplex.seqform.given_forms import MatrixPayoff
    >>> pennies = sp.csr_array(np.array([[0.0, 0, 0], [0, 1, -1], [0, -1, 1]]))
    >>> payoff = MatrixPayoff(pennies, -pennies)
    >>> payoff.is_zero_sum, payoff.gradient(1, [np.array([1.0, 0.75, 0.25]), np.ones(3)]).tolist()
    (True, [0.0, -0.5, 0.5])
    """

    def __init__(self, first: sp.csr_array, second: sp.csr_array) -> None:
        self.matrices = first, second

    def __repr__(self) -> str:
        return f"MatrixPayoff(shape={self.shape})"

    def __getstate__(self) -> dict[str, Any]:
        return {"matrices": self.matrices}

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of sequences of each player."""
        rows, columns = self.matrices[0].shape
        return rows, columns

    @cached_property
    def scale(self) -> float:
        """The largest absolute entry; 1 if all are zero."""
        return max(float(abs(matrix).max()) for matrix in self.matrices) or 1.0

    @cached_property
    def is_zero_sum(self) -> bool:
        """Whether entries sum to zero, up to floating-point round-off."""
        first, second = self.matrices
        sums, sizes = (first + second).tocoo(), abs(first).maximum(abs(second))
        return constant_of_sums(sums.data, sizes.tocsr()[sums.coords]) == 0.0

    def _made(self, player: int) -> sp.csr_array:
        return self.matrices[player]


def checked_treeplexes(treeplexes: Any) -> tuple[Treeplex, ...]:
    """Return one treeplex per player.

    Raises
    ------
    InvalidGameError
    """
    given = tuple(treeplexes) if isinstance(treeplexes, Iterable) else ()
    if not given or not all(isinstance(treeplex, Treeplex) for treeplex in given):
        raise InvalidGameError(
            f"the treeplexes are {shown(treeplexes)}, expected a sequence of Treeplex, one per player"
        )
    return given


def checked_payoffs(treeplexes: tuple[Treeplex, ...], leaves: Any, payoff_matrices: Any, factored: Any) -> Payoff:
    """Return the payoffs of a sequence form from leaves, matrices or an operator on plans.

    Parameters are those of :class:`~treeplex.SequenceForm`.

    Raises
    ------
    InvalidGameError
    """
    if (leaves is not None) + (payoff_matrices is not None) + (factored is not None) != 1:
        raise InvalidGameError(
            "a sequence form needs exactly one of a leaf table, payoff matrices and factored payoffs"
        )
    shape = tuple(treeplex.num_sequences for treeplex in treeplexes)
    if leaves is not None:
        _check_sequences(leaves, shape)
        return LeafPayoff(leaves, shape)
    if payoff_matrices is not None:
        return MatrixPayoff(*_checked_matrices(payoff_matrices, shape))
    if not isinstance(factored, Payoff):
        raise InvalidGameError(f"the factored payoffs are {shown(factored)}, expected a FactoredPayoff")
    if factored.shape != shape:
        raise InvalidGameError(
            f"the factored payoffs have shape {factored.shape}, expected {shape}: one row per sequence of player 0, "
            "one column per sequence of player 1"
        )
    return factored


def _check_sequences(leaves: Any, shape: tuple[int, ...]) -> None:
    # Compiled functions use these numbers as indices without checks.
    if not isinstance(leaves, LeafTable):
        raise InvalidGameError(f"the leaves are {shown(leaves)}, expected a LeafTable")
    if leaves.num_players != len(shape):
        raise InvalidGameError(
            f"the leaf table has {leaves.num_players} players, but there are {len(shape)} treeplexes: "
            "expected one treeplex per player"
        )
    for player, num_sequences in enumerate(shape):
        sequences = leaves.sequences[:, player]
        if sequences.min() < 0 or sequences.max() >= num_sequences:
            leaf = int(np.argmax((sequences < 0) | (sequences >= num_sequences)))
            raise InvalidGameError(
                f"leaf {leaf} has sequence {sequences[leaf]} of player {player}, expected a number from 0 to "
                f"{num_sequences - 1}"
            )


def _checked_matrices(payoff_matrices: Sequence[Any], shape: tuple[int, ...]) -> tuple[sp.csr_array, sp.csr_array]:
    if len(shape) != 2:
        raise InvalidGameError(f"payoff matrices are for two players, but there are {len(shape)} treeplexes")
    try:
        first, second = payoff_matrices
    except (TypeError, ValueError):
        raise InvalidGameError(
            f"the payoff matrices are {shown(payoff_matrices)}, expected two, one per player"
        ) from None
    matrices = []
    for player, given in enumerate((first, second)):
        name = f"the payoff matrix of player {player}"
        matrix = canonical(given, name)
        if matrix.shape != shape:
            raise InvalidGameError(
                f"{name} has shape {matrix.shape}, expected {shape}: one row per sequence of player 0, one column per "
                "sequence of player 1"
            )
        if not np.isfinite(matrix.data).all():
            raise InvalidGameError(f"{name} contains a number that is not finite")
        matrices.append(frozen(matrix))
    return matrices[0], matrices[1]


def matrix_game(
    payoffs: npt.ArrayLike, column_payoffs: npt.ArrayLike | None, labels: tuple[Sequence[Any], Sequence[Any]] | None
) -> tuple[list[Treeplex], list[Floats]]:
    """Return the treeplexes and payoff matrices of a matrix game.

    Parameters are those of :meth:`SequenceForm.from_payoff_matrix <treeplex.SequenceForm.from_payoff_matrix>`.

    Raises
    ------
    InvalidGameError
    """
    wrong = "the payoffs are not a matrix of numbers"
    tables = [floats(payoffs, wrong)]
    tables.append(-tables[0] if column_payoffs is None else floats(column_payoffs, wrong))
    if tables[0].ndim != 2 or not tables[0].size or tables[1].shape != tables[0].shape:
        raise InvalidGameError(
            f"payoff matrices have shapes {tables[0].shape} and {tables[1].shape}: expected equal shapes with at least "
            "one row and one column"
        )
    shape = tables[0].shape
    try:
        rows, columns = (range(shape[0]), range(shape[1])) if labels is None else labels
        if not all(map(has_order, (labels, rows, columns))):
            raise TypeError("a set has no order")
        rows, columns = tuple(rows), tuple(columns)
    except (TypeError, ValueError):
        raise InvalidGameError(
            f"labels is {shown(labels)}, expected a pair of sequences: names of the rows and of the columns"
        ) from None
    treeplexes = [Treeplex([0], [shape[0]], ["row"], [rows]), Treeplex([0], [shape[1]], ["column"], [columns])]
    return treeplexes, [np.pad(table, ((1, 0), (1, 0))) for table in tables]


def constrained_game(
    E: Any, e: npt.ArrayLike, F: Any, f: npt.ArrayLike, A: Any, B: Any | None
) -> tuple[list[Treeplex], list[sp.csr_array]]:
    """Return the treeplexes and payoff matrices of a game given by its constraints and payoffs.

    Parameters are those of :meth:`SequenceForm.from_matrices <treeplex.SequenceForm.from_matrices>`.

    Raises
    ------
    InvalidGameError
    """
    treeplexes = [treeplex_from_constraints(E, e, "E", "e"), treeplex_from_constraints(F, f, "F", "f")]
    first = canonical(A, "A")
    return treeplexes, [first, -first if B is None else canonical(B, "B")]


def treeplex_from_constraints(matrix: Any, right_side: npt.ArrayLike, name: str, right_name: str) -> Treeplex:
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
        Their names in messages.

    Returns
    -------
    Treeplex

    Raises
    ------
    InvalidGameError
        If the constraints are not of this form.
    """
    rows = canonical(matrix, name)
    right = floats(right_side, f"{right_name} is not a vector of numbers")
    if right.shape != (rows.shape[0],):
        raise InvalidGameError(f"{right_name} has shape {right.shape}, expected ({rows.shape[0]},): one entry per row")
    infosets: list[tuple[int, int, int, float]] = []  # first sequence, number of actions, row, sign
    roots = 0
    for row in range(rows.shape[0]):
        columns = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        values = rows.data[rows.indptr[row] : rows.indptr[row + 1]]
        if len(columns) == 1 and columns[0] == 0 and values[0] == right[row] != 0.0:
            roots += 1
            continue
        # Inflows come before the infoset's own sequences, so the first entry is an inflow and gives the row's sign.
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
                f"row {row} of {name} does not belong to an infoset: it needs one -1 (the parent sequence) or several "
                f"entries from -1 to 0 (inflows), then a 1 at each of its own sequences, and a 0 in {right_name}"
            )
        if own[-1] - own[0] != len(own) - 1 or before[-1] >= own[0]:
            raise InvalidGameError(
                f"row {row} of {name} has own sequences {own.tolist()} and parent sequence {before[-1]}: its own "
                "sequences must be contiguous and come after the parent"
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
