"""Checks of the arrays of treeplexes and leaf tables: numbers of actions, parent sequences, labels, payoffs."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .arrays import Floats, Integers, frozen
from .errors import InvalidGameError, one_line, shown
from .labels import A_LABEL, check_one_label, has_order, is_label

_LARGEST = 2**31 - 1
Labels = tuple[Hashable, ...]


def checked_parents(parents: npt.ArrayLike, num_actions: npt.ArrayLike) -> tuple[Integers, Integers, Integers]:
    """Return the parent sequences and the numbers of actions of infosets, and the offsets of their sequences.

    Raises
    ------
    InvalidGameError
        If an argument is not a vector of integers, or a parent sequence does not come before its infoset.
    """
    given = _int32(parents, "parents")
    counts, offsets = checked_counts(num_actions, len(given), "parents")
    early = given >= offsets[:-1]
    if np.any(early | (given < 0)):
        wrong = int(np.argmax(early | (given < 0)))
        raise InvalidGameError(
            f"infoset {wrong} has parent sequence {given[wrong]}, expected a number from 0 to "
            f"{offsets[wrong] - 1}: a sequence before the sequences of the infoset"
        )
    return given, counts, offsets


def checked_counts(num_actions: npt.ArrayLike, count: int, beside: str) -> tuple[Integers, Integers]:
    """Return the numbers of actions of infosets, and the offsets of their sequences.

    Parameters
    ----------
    num_actions : array_like of int
    count : int
        The number of infosets.
    beside : str
        The name of the array that has this number of entries, for the message.

    Raises
    ------
    InvalidGameError
    """
    counts = _int32(num_actions, "num_actions")
    if len(counts) != count:
        raise InvalidGameError(f"num_actions has {len(counts)} entries, {beside} has {count}: expected one per infoset")
    if count and counts.min() < 1:
        empty = int(np.argmin(counts))
        raise InvalidGameError(f"infoset {empty} has {counts[empty]} actions: expected at least one")
    offsets = 1 + np.append(0, np.cumsum(counts, dtype=np.int64))
    if offsets[-1] > _LARGEST:
        raise InvalidGameError(f"num_actions sums to {offsets[-1] - 1}, expected at most {_LARGEST - 1} sequences")
    return counts, frozen(offsets.astype(np.int32))


def checked_labels(
    num_actions: Integers,
    infoset_labels: Sequence[Hashable] | None,
    action_labels: Sequence[Sequence[Hashable]] | None,
) -> tuple[Labels, tuple[Labels, ...]]:
    """Return the labels of infosets and of their actions; the default labels are numbers.

    Raises
    ------
    InvalidGameError
        If there is not one label per infoset and action, or labels are invalid or not distinct.
    """
    count = len(num_actions)
    try:
        infosets = tuple(range(count)) if infoset_labels is None else _tuple(infoset_labels)
        rows = (
            tuple(tuple(range(k)) for k in num_actions.tolist())
            if action_labels is None
            else tuple(map(_tuple, _tuple(action_labels)))
        )
    except TypeError:
        raise InvalidGameError(
            f"infoset_labels are {shown(infoset_labels)} and action_labels {shown(action_labels)}: expected a "
            "sequence of labels and a sequence of sequences of labels"
        ) from None
    for label in chain(infosets, chain.from_iterable(rows)):
        if label.__class__ is not str and not is_label(label):
            raise InvalidGameError(f"an infoset or an action has the label {shown(label)}, expected {A_LABEL}")
    if len(infosets) != count or len(rows) != count:
        raise InvalidGameError(
            f"{len(infosets)} infoset labels and {len(rows)} rows of action labels for {count} infosets: "
            "expected one of each per infoset"
        )
    known: dict[Hashable, Hashable] = {}
    for label, actions, arity in zip(infosets, rows, num_actions.tolist(), strict=True):
        if len(actions) != arity:
            raise InvalidGameError(f"infoset {shown(label)} has {len(actions)} action labels for {arity} actions")
        if len(set(actions)) != arity:
            raise InvalidGameError(f"infoset {shown(label)} has the same action label twice: {shown(actions)}")
        for action in actions:
            if action.__class__ is not str:
                check_one_label(action, known.setdefault(action, action), "two actions of a player")
    if len(set(infosets)) != count:
        twice = next(label for label, times in Counter(infosets).items() if times > 1)
        raise InvalidGameError(f"infoset label {shown(twice)} occurs twice, expected distinct labels")
    return infosets, rows


def _tuple(values: Iterable[Any]) -> tuple[Any, ...]:
    if not has_order(values):
        raise TypeError("a set has no order")
    return tuple(values)


def _int32(values: npt.ArrayLike, name: str) -> Integers:
    try:
        array = np.array(values)
    except (TypeError, ValueError, OverflowError):
        raise InvalidGameError(f"{name} is {shown(values)}: expected a vector of integers") from None
    if array.ndim != 1:
        raise InvalidGameError(f"{name} has shape {array.shape}: expected a vector")
    if array.size and (array.dtype.kind not in "iu" or array.max() > _LARGEST or array.min() < -_LARGEST):
        raise InvalidGameError(f"{name} is {shown(values)}: expected a vector of integers of at most 32 bits each")
    return frozen(array.astype(np.int32))


def read_only(values: npt.ArrayLike, kind: type[np.generic], name: str) -> npt.NDArray[Any]:
    """Return values as a read-only array; a writeable array is copied."""
    if isinstance(values, np.ndarray) and values.dtype == kind and not values.flags.writeable:
        return values
    try:
        given = np.array(values)
        array = given.astype(kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGameError(f"{name} of a leaf table are not an array of numbers: {one_line(str(error))}") from None
    if kind is np.int32 and (given.dtype.kind not in "iu" or not np.array_equal(array, given)):
        raise InvalidGameError(f"{name} of a leaf table are {shown(values)}, expected integers of at most 32 bits")
    return frozen(array)


def check_leaves(sequences: Integers, chance: Floats, payoffs: Floats, **exact: object) -> None:
    """Raise an error if the arrays of a table of leaves do not match, or contain invalid numbers.

    Parameters
    ----------
    sequences, chance, payoffs : ndarray
    **exact : tuple, optional
        Fractions, by the names ``chance`` and ``payoffs``.

    Raises
    ------
    InvalidGameError
    """
    if payoffs.ndim != 2 or not payoffs.size or sequences.shape != payoffs.shape or chance.shape != payoffs.shape[:1]:
        raise InvalidGameError(
            f"a leaf table has sequences of shape {sequences.shape}, chance of shape {chance.shape} and "
            f"payoffs of shape {payoffs.shape}, expected (leaves, players), (leaves,) and (leaves, players), "
            "with at least one leaf and one player"
        )
    for name, given in exact.items():
        if given is not None and (not isinstance(given, tuple) or len(given) != len(chance)):
            raise InvalidGameError(f"{name} is {shown(given)}, expected a tuple of {len(chance)} entries, one per leaf")
    for name, numbers, sound in (
        ("payoffs", payoffs, np.isfinite(payoffs).all(axis=1)),
        ("chance", chance, np.isfinite(chance) & (chance >= 0.0)),
    ):
        if not sound.all():
            wrong = int(np.argmin(sound))
            raise InvalidGameError(
                f"leaf {wrong} has {name} {numbers[wrong].tolist()}, expected finite "
                f"{'numbers' if name == 'payoffs' else 'non-negative numbers'}"
            )


def canonical(matrix: Any, name: str) -> sp.csr_array:
    """Return a copy of a matrix as CSR: floats, duplicates summed, columns sorted, zeros dropped.

    Parameters
    ----------
    matrix : array_like or sparse
    name : str
        Its name in messages.

    Raises
    ------
    InvalidGameError
        If it is not a matrix of numbers, or a sparse matrix whose indices exceed its shape.
    """
    try:
        if np.iscomplexobj(matrix):
            raise TypeError("it is complex")  # numpy would only warn and drop the imaginary part
        if sp.issparse(matrix) and hasattr(matrix, "check_format"):
            matrix = matrix.copy()
            pointers = getattr(matrix, "indptr", np.zeros(1))
            if (pointers[1:] < pointers[:-1]).any():  # scipy's check ignores a last pointer that is not positive
                raise ValueError("indptr must be a non-decreasing sequence")
            matrix.check_format(full_check=True)  # scipy's compiled functions trust indices
        result = sp.csr_array(matrix, dtype=np.float64, copy=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGameError(f"{name} is not a matrix of numbers: {one_line(str(error))}") from None
    if result.ndim != 2:
        raise InvalidGameError(f"{name} has shape {result.shape}: expected a matrix")
    result.sum_duplicates()
    result.eliminate_zeros()
    return result
