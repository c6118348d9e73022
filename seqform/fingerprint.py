"""Fingerprints: short strings that identify games, the same in every process and on every platform."""

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

#: One array of sequences per player, and one player's non-zero payoffs at these sequences.
Entries = tuple[Sequence[npt.NDArray[Any]], Floats]

# A sum below this fraction of its terms' absolute values is round-off.
_ROUND_OFF = 1e-13
# Mantissas lie between _LOWEST and twice that, in steps of 1/_STEPS. Both numbers are unrelated to typical values of
# games (integers, small fractions, probabilities), so that round-off does not move such a value to another step.
_LOWEST = (5**0.5 - 1) / 2
_STEPS = 1e9 * 2**0.5
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def fingerprint(treeplexes: Sequence[Treeplex], payoffs: Iterable[Sequence[Entries]]) -> str:
    """Return sixteen hexadecimal digits that identify a game.

    Parameters
    ----------
    treeplexes : sequence of Treeplex
    payoffs : iterable of sequences of Entries
        The payoffs in parts, each with one entry per player. The division into parts does not matter, but the order
        does: it is the order of the sequences, player 0's first.

    Returns
    -------
    str

    Raises
    ------
    InvalidGameError
        If a label's ``repr`` contains a memory address, as Python's default does: it differs between processes.

    Notes
    -----
    The hash covers labels, structure, and the sign, binary exponent and nine digits of the mantissa of every payoff, so
    that a small payoff counts as much as a large one.
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
    # One digest for each player's sequences, mantissas and exponents, so that parts can be added one by one.
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
    """Return the entries of payoffs in any form."""
    if isinstance(payoffs, MatrixPayoff):
        return [[matrix_entries(matrix) for matrix in payoffs.matrices]]
    factored = payoffs.factored if isinstance(payoffs, Factorable) else None
    if factored is not None:
        return factored_entries(factored)
    assert payoffs.leaves is not None
    return [leaf_entries(payoffs.leaves.sequences, payoffs.leaves.chance[:, None] * payoffs.leaves.payoffs)]


def factored_entries(payoff: FactoredPayoff) -> Iterator[tuple[Entries, Entries]]:
    """Yield :func:`matrix_entries` of the product and of its negative, without building the whole product.

    For chained factors the product would be too large, so the entries are those of the factors.
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
    """Return rows, columns and values of a canonical matrix's entries, without round-off.

    The terms of an entry are unknown here: an entry counts as round-off if entries both in its row and in its column
    are ``1e13`` times larger. Pass the largest entry of each column if the matrix is only a block of rows.
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
    """Sum the leaves with the same sequences, and return each player's entries as :func:`fingerprint` takes them.

    Parameters
    ----------
    sequences : ndarray of int, shape (num_leaves, num_players)
    weighted : ndarray of float64, shape (num_leaves, num_players)
        Payoffs, multiplied by chance.

    Notes
    -----
    A sum counts as round-off and is omitted if it is below ``1e-13`` of the sum of its terms' absolute values.
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
    """Return sixteen hexadecimal digits that identify a sequence of labels and arrays.

    Raises
    ------
    InvalidGameError
        If a label's ``repr`` contains a memory address.
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
    """Write a label the same way in every process; for example, a frozenset's order differs between processes."""
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
        return f"{label:#x}"  # an integer of thousands of digits has no decimal text
    text = repr(label)
    if _ADDRESS.search(text):
        raise InvalidGameError(
            f"label {one_line(text)} contains a memory address, which differs in every process: give "
            f"{kind.__name__} a __repr__ that distinguishes labels, so that the game has a fingerprint"
        )
    return text
