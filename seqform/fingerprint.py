"""Fingerprints: short texts that tell games apart, the same in every process and on every platform."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats
from .errors import InvalidGameError, one_line
from .factored import Factorable, FactoredPayoff
from .given_forms import MatrixPayoff
from .payoffs import Payoff
from .polytope import Treeplex

#: The sequences of all players, one array each, and one player's payoffs there, other than zero.
Entries = tuple[Sequence[npt.NDArray[Any]], Floats]

# A sum below this part of what was added up is round-off.
_ROUND_OFF = 1e-13
# Mantissas lie between _LOWEST and twice that and count in steps of 1/_STEPS. Neither number has anything to do with
# the values that games hold (integers, small fractions, probabilities): none of those lies where round-off would
# carry it over an edge.
_LOWEST = (5**0.5 - 1) / 2
_STEPS = 1e9 * 2**0.5
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def fingerprint(treeplexes: Sequence[Treeplex], payoffs: Iterable[Sequence[Entries]]) -> str:
    """Return sixteen hexadecimal digits that tell games apart.

    Parameters
    ----------
    treeplexes : sequence of Treeplex
    payoffs : iterable of sequences of Entries
        The payoffs in parts, each of which has one entry per player. How they are divided makes no difference, their
        order does: it is that of the sequences, player 0's first.

    Returns
    -------
    str

    Raises
    ------
    InvalidGameError
        If a label's ``repr`` holds an address in memory, as Python's default one does: it differs in every process.

    Notes
    -----
    Hashed are labels, structure, and of every payoff the sign, the binary exponent and nine digits of the mantissa, so
    that a small payoff beside large ones counts as much as they do.
    """
    digest = hashlib.sha256()
    for treeplex in treeplexes:
        if treeplex.single_parent:
            digest.update(treeplex.parents.astype("<i4").tobytes())
        else:
            inflow = treeplex.inflow
            for array in (inflow.indptr, inflow.indices, *_digits(inflow.data)):
                digest.update(array.astype("<i8").tobytes())
        digest.update(treeplex.num_actions.astype("<i4").tobytes())
        digest.update(_label_text((treeplex.infoset_labels, treeplex.action_labels)).encode())
    # One digest for each player's sequences, mantissas and exponents, so that parts can follow one another.
    streams = [[hashlib.sha256() for _ in range(len(treeplexes) + 2)] for _ in treeplexes]
    for part in payoffs:
        for of_player, (sequences, values) in zip(streams, part, strict=True):
            for stream, array in zip(of_player, (*sequences, *_digits(values)), strict=True):
                stream.update(array.astype("<i8").tobytes())
    for of_player in streams:
        for stream in of_player:
            digest.update(stream.digest())
    return digest.hexdigest()[:16]


def payoff_entries(payoffs: Payoff) -> Iterable[Sequence[Entries]]:
    """Return the entries of payoffs, however they are kept."""
    if isinstance(payoffs, MatrixPayoff):
        return [[matrix_entries(matrix) for matrix in payoffs.matrices]]
    factored = payoffs.factored if isinstance(payoffs, Factorable) else None
    if factored is not None:
        return factored_entries(factored)
    assert payoffs.leaves is not None
    return [leaf_entries(payoffs.leaves.sequences, payoffs.leaves.chance[:, None] * payoffs.leaves.payoffs)]


def factored_entries(payoff: FactoredPayoff) -> Iterator[tuple[Entries, Entries]]:
    """Yield what :func:`matrix_entries` says of the product and of its negative, without making it as a whole.

    Of chained factors the product would be too large: it is the factors that are told apart.
    """
    if payoff.chained is not None:
        yield matrix_entries(payoff.left), matrix_entries(payoff.right)
        places = np.flatnonzero(payoff.chained)
        yield (((places, places), np.ones(len(places))),) * 2
        return
    largest = np.zeros(payoff.shape[1])
    for _, block in payoff.blocks():
        np.maximum.at(largest, block.indices, np.abs(block.data))
    for first, block in payoff.blocks():
        (rows, columns), values = matrix_entries(block, largest)
        yield ((rows + first, columns), values), ((rows + first, columns), -values)


def matrix_entries(matrix: Any, largest_in_columns: Floats | None = None) -> Entries:
    """Return rows, columns and values of a canonical matrix's entries, round-off left out.

    How an entry came about is not known here: it counts as round-off beside entries ``1e13`` times larger both in its
    row and in its column. The largest in each column are given if the matrix is only some rows of a larger one.
    """
    entries = matrix.tocoo()
    rows, columns = entries.coords
    sizes = np.abs(entries.data)
    in_rows = np.zeros(matrix.shape[0])
    np.maximum.at(in_rows, rows, sizes)
    in_columns = largest_in_columns
    if in_columns is None:
        in_columns = np.zeros(matrix.shape[1])
        np.maximum.at(in_columns, columns, sizes)
    kept = sizes > _ROUND_OFF * np.minimum(in_rows[rows], in_columns[columns])
    return (rows[kept], columns[kept]), entries.data[kept]


def leaf_entries(sequences: npt.NDArray[Any], weighted: Floats) -> list[Entries]:
    """Sum up leaves with the same sequences, and return each player's entries as :func:`fingerprint` takes them.

    Parameters
    ----------
    sequences : ndarray of int, shape (num_leaves, num_players)
    weighted : ndarray of float64, shape (num_leaves, num_players)
        Payoffs, chance multiplied in.

    Notes
    -----
    A sum counts as round-off, and is left out, if it is below ``1e-13`` of the sum of its terms' absolute values.
    """
    order = np.lexsort(sequences.T[::-1])
    sequences, weighted = sequences[order], weighted[order]
    begins = np.append(True, np.any(sequences[1:] != sequences[:-1], axis=1))
    firsts = np.flatnonzero(begins)
    sums, sizes = np.add.reduceat(weighted, firsts), np.add.reduceat(np.abs(weighted), firsts)
    entries: list[Entries] = []
    for player in range(sequences.shape[1]):
        kept = np.abs(sums[:, player]) > _ROUND_OFF * sizes[:, player]
        entries.append((tuple(sequences[firsts[kept]].T), sums[kept, player]))
    return entries


def digest_of(parts: Iterable[Any]) -> str:
    """Return sixteen hexadecimal digits that tell such sequences of labels and arrays apart.

    Raises
    ------
    InvalidGameError
        If a label's ``repr`` holds an address in memory.
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.shape}".encode())
            for array in _digits(part) if part.dtype.kind == "f" else (part,):
                digest.update(array.astype("<i8").tobytes())
        else:
            digest.update(_label_text(part).encode())
    return digest.hexdigest()[:16]


def _digits(values: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the mantissas of non-zero values, rounded to 9 digits, with their signs; and the exponents."""
    mantissas, exponents = np.frexp(values)
    low = np.abs(mantissas) < _LOWEST
    mantissas = np.where(low, 2.0 * mantissas, mantissas)
    return np.rint(mantissas * _STEPS).astype(np.int64), exponents.astype(np.int64) - low


def _label_text(label: Any) -> str:
    """Write a label the same way in every process: a frozenset's order, for one, differs between them."""
    if isinstance(label, np.generic):
        label = label.item()
    kind = type(label)
    if kind is tuple:
        return f"({','.join(map(_label_text, label))})"
    if kind is frozenset:
        return f"{{{','.join(sorted(map(_label_text, label)))}}}"
    if kind is str:
        return repr(label)
    if kind is int:
        return f"{label:#x}"  # one of thousands of digits has no other
    text = repr(label)
    if _ADDRESS.search(text):
        raise InvalidGameError(
            f"label {one_line(text)} is printed with its address, which differs in every process: give "
            f"{kind.__name__} a __repr__ that distinguishes labels, so that the game can be recognised"
        )
    return text
