"""One player's strategy polytope in sequence form."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import filterfalse
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .errors import InvalidGameError, InvalidStrategyError, one_line, shown

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]

_LARGEST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Level:
    """The infosets that have the same number of own decisions above them, ready for one vectorised pass.

    Attributes
    ----------
    infosets : ndarray of int32, shape (k,)
    sequences : ndarray of int32, shape (m,)
        Their sequences, infoset after infoset.
    starts : ndarray of int32, shape (k,)
        Where each infoset's run begins in ``sequences``, for ``ufunc.reduceat``.
    counts : ndarray of int32, shape (k,)
        Number of actions of each infoset.
    parents : ndarray of int32, shape (k,)
        Parent sequence of each infoset.
    """

    infosets: Integers
    sequences: Integers
    starts: Integers
    counts: Integers
    parents: Integers


class Treeplex:
    """The polytope {x ≥ 0 : E x = e} of one player's realization plans.

    Sequence 0 is the empty sequence; every other one is an action at an infoset after the player's own past. The
    sequences of an infoset are contiguous, and infosets stand in topological order: an infoset comes after the one
    that its parent sequence belongs to. All arrays are read-only.

    Parameters
    ----------
    parents : array_like of int, shape (num_infosets,)
        The parent sequence σ(I) of each infoset: the player's last sequence before it.
    num_actions : array_like of int, shape (num_infosets,)
        Number of actions at each infoset, at least one.
    infoset_labels : sequence of hashable, optional
        Distinct labels, one an infoset; by default the infosets' numbers.
    action_labels : sequence of sequences of hashable, optional
        Each infoset's actions; by default numbers from 0.

    Attributes
    ----------
    parents, num_actions, offsets : ndarray of int32
        Infoset ``i`` owns the sequences ``offsets[i]:offsets[i + 1]``; ``offsets[0]`` is 1.
    infoset_labels : tuple of hashable
    action_labels : tuple of tuple of hashable

    Raises
    ------
    InvalidGameError
        If an array has the wrong shape or holds anything but integers, an infoset has no action, a parent sequence
        does not come before its infoset, or labels are not hashable or not distinct.

    Notes
    -----
    Row 0 of E says x(∅) = 1; row I + 1 says Σ_a x(I, a) − x(σ(I)) = 0; e = (1, 0, …, 0). Von Stengel, "Efficient
    computation of behavior strategies", Games and Economic Behavior 14 (1996), equations 3–4. The name is from Hoda,
    Gilpin, Peña and Sandholm, "Smoothing techniques for computing Nash equilibria of sequential games", Mathematics of
    Operations Research 35 (2010).

    Examples
    --------
    Two infosets: the second is reached after the first action of the first.

    >>> from treeplex.seqform.polytope import Treeplex
    >>> polytope = Treeplex(parents=[0, 1], num_actions=[2, 2])
    >>> polytope.E.toarray().astype(int)
    array([[ 1,  0,  0,  0,  0],
           [-1,  1,  1,  0,  0],
           [ 0, -1,  0,  1,  1]])
    >>> polytope.uniform_plan()
    array([1.  , 0.5 , 0.5 , 0.25, 0.25])
    """

    def __init__(
        self,
        parents: npt.ArrayLike,
        num_actions: npt.ArrayLike,
        infoset_labels: Sequence[Hashable] | None = None,
        action_labels: Sequence[Sequence[Hashable]] | None = None,
    ) -> None:
        self.parents = _int32(parents, "parents")
        self.num_actions = _int32(num_actions, "num_actions")
        count = len(self.parents)
        if len(self.num_actions) != count:
            raise InvalidGameError(
                f"num_actions has {len(self.num_actions)} entries, but parents has {count}: one each an infoset"
            )
        if count and self.num_actions.min() < 1:
            empty = int(np.argmin(self.num_actions))
            raise InvalidGameError(f"infoset {empty} has {self.num_actions[empty]} actions: at least one is needed")
        offsets = 1 + np.append(0, np.cumsum(self.num_actions, dtype=np.int64))
        if offsets[-1] > _LARGEST:
            raise InvalidGameError(f"num_actions sum to {offsets[-1] - 1}, expected at most {_LARGEST - 1} sequences")
        self.offsets = _read_only(offsets.astype(np.int32))
        early = self.parents >= self.offsets[:-1]
        if np.any(early | (self.parents < 0)):
            wrong = int(np.argmax(early | (self.parents < 0)))
            raise InvalidGameError(
                f"infoset {wrong} has parent sequence {self.parents[wrong]}: it must lie between 0 and "
                f"{self.offsets[wrong] - 1}, before the infoset's own sequences"
            )
        try:
            self.infoset_labels: tuple[Hashable, ...] = (
                tuple(range(count)) if infoset_labels is None else tuple(infoset_labels)
            )
            self.action_labels: tuple[tuple[Hashable, ...], ...] = (
                tuple(tuple(range(k)) for k in self.num_actions.tolist())
                if action_labels is None
                else tuple(map(tuple, action_labels))
            )
        except TypeError:
            raise InvalidGameError(
                f"infoset_labels are {shown(infoset_labels)} and action_labels {shown(action_labels)}: a sequence of "
                "labels and a sequence of sequences of labels are needed"
            ) from None
        try:
            self._check_labels()
        except TypeError:
            labels = (*self.infoset_labels, *(label for row in self.action_labels for label in row))
            raise InvalidGameError(
                f"label {shown(next(filterfalse(is_hashable, labels)))} is not hashable: a label must be"
            ) from None

    def _check_labels(self) -> None:
        count = self.num_infosets
        if len(self.infoset_labels) != count or len(self.action_labels) != count:
            raise InvalidGameError(
                f"{len(self.infoset_labels)} infoset labels and {len(self.action_labels)} rows of action labels for "
                f"{count} infosets: one each is needed"
            )
        for label, actions, arity in zip(
            self.infoset_labels, self.action_labels, self.num_actions.tolist(), strict=True
        ):
            if len(actions) != arity:
                raise InvalidGameError(f"infoset {shown(label)} has {len(actions)} action labels for {arity} actions")
            if len(set(actions)) != arity:
                raise InvalidGameError(f"infoset {shown(label)} has an action label twice: {shown(actions)}")
        if len(set(self.infoset_labels)) != count:
            twice = next(label for label, times in Counter(self.infoset_labels).items() if times > 1)
            raise InvalidGameError(f"infoset label {shown(twice)} stands there twice: labels must be distinct")

    @property
    def num_infosets(self) -> int:
        """Number of information sets."""
        return len(self.parents)

    @property
    def num_sequences(self) -> int:
        """Number of sequences, the empty one included."""
        return int(self.offsets[-1])

    def __getstate__(self) -> dict[str, Any]:
        # What follows from these is not stored.
        names = ("parents", "num_actions", "offsets", "infoset_labels", "action_labels")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in (self.parents, self.num_actions, self.offsets):
            array.flags.writeable = False  # stored arrays come back writeable

    def __repr__(self) -> str:
        return f"Treeplex(num_infosets={self.num_infosets}, num_sequences={self.num_sequences})"

    @cached_property
    def sequence_infosets(self) -> Integers:
        """The infoset that each sequence belongs to, shape (num_sequences,); −1 for the empty sequence."""
        owners = np.repeat(np.arange(self.num_infosets, dtype=np.int32), self.num_actions)
        return _read_only(np.concatenate([np.array([-1], dtype=np.int32), owners]))

    @cached_property
    def depths(self) -> Integers:
        """Number of own decisions above each infoset, shape (num_infosets,)."""
        return _read_only(depths_of(self.parents, self.sequence_infosets))

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The infosets grouped by depth, the top first."""
        order = np.argsort(self.depths, kind="stable").astype(np.int32)
        bounds = np.searchsorted(self.depths[order], np.arange(int(self.depths.max(initial=-1)) + 2))
        levels = []
        for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            infosets = order[start:stop]
            counts = self.num_actions[infosets]
            starts = (np.cumsum(counts) - counts).astype(np.int32)
            sequences = np.arange(int(counts.sum()), dtype=np.int32) + np.repeat(
                self.offsets[infosets] - starts, counts
            )
            levels.append(
                Level(infosets, sequences.astype(np.int32), starts, counts, self.parents[infosets]),
            )
        return tuple(levels)

    @cached_property
    def E(self) -> sp.csr_array:
        """The constraint matrix, shape (num_infosets + 1, num_sequences), float64; its arrays are read-only."""
        infosets = np.arange(self.num_infosets, dtype=np.int32)
        rows = np.concatenate([[0], infosets + 1, np.repeat(infosets + 1, self.num_actions)])
        columns = np.concatenate([[0], self.parents, np.arange(1, self.num_sequences)])
        values = np.concatenate([[1.0], np.full(self.num_infosets, -1.0), np.ones(self.num_sequences - 1)])
        return frozen(sp.csr_array((values, (rows, columns)), shape=(self.num_infosets + 1, self.num_sequences)))

    @cached_property
    def e(self) -> Floats:
        """The right-hand side (1, 0, …, 0), shape (num_infosets + 1,)."""
        right = np.zeros(self.num_infosets + 1)
        right[0] = 1.0
        right.flags.writeable = False
        return right

    def uniform_behaviour(self) -> Floats:
        """Return the behaviour strategy that plays every action alike, shape (num_sequences,)."""
        return np.concatenate([[1.0], np.repeat(1.0 / self.num_actions, self.num_actions)])

    def uniform_plan(self) -> Floats:
        """Return the realization plan of the uniform behaviour strategy, shape (num_sequences,)."""
        return self.plan(self.uniform_behaviour())

    def plan(self, behaviour: npt.ArrayLike) -> Floats:
        """Turn a behaviour strategy into a realization plan: x(I, a) = x(σ(I)) · b(I, a).

        Parameters
        ----------
        behaviour : array_like, shape (num_sequences,)
            Probability of each sequence's action at its infoset; entry 0 is ignored.

        Returns
        -------
        ndarray of float64, shape (num_sequences,)
        """
        plan = self.checked_vector(behaviour, "behaviour strategy")
        plan[0] = 1.0
        for level in self.levels:
            plan[level.sequences] *= np.repeat(plan[level.parents], level.counts)
        return plan

    def behaviour(self, plan: npt.ArrayLike) -> Floats:
        """Turn a realization plan into a behaviour strategy: b(I, a) = x(I, a) / Σ_a x(I, a).

        Where the plan never goes it says nothing, and the behaviour is uniform there.

        Parameters
        ----------
        plan : array_like, shape (num_sequences,)

        Returns
        -------
        ndarray of float64, shape (num_sequences,)
            Entry 0 is 1.
        """
        x = self.checked_vector(plan, "realization plan")
        if self.num_infosets:
            totals = np.add.reduceat(x, self.offsets[:-1])
            reached = totals > 0.0
            # Divided, not multiplied by a reciprocal: that of a deep infoset's tiny reach may overflow.
            x[1:] = np.where(
                np.repeat(reached, self.num_actions),
                x[1:] / np.repeat(np.where(reached, totals, 1.0), self.num_actions),
                np.repeat(1.0 / self.num_actions, self.num_actions),
            )
        x[0] = 1.0
        return x

    def residual(self, plan: npt.ArrayLike) -> float:
        """Return how far a vector is from the polytope: the largest of ``|E x − e|`` and of −x."""
        x = self.checked_vector(plan, "realization plan")
        return float(max(np.abs(self.E @ x - self.e).max(), -x.min(), 0.0))

    def sequence_label(self, sequence: int) -> tuple[Hashable, Hashable] | None:
        """Return the labels of a sequence's infoset and action; ``None`` for the empty sequence."""
        if sequence == 0:
            return None
        infoset = int(self.sequence_infosets[sequence])
        return self.infoset_labels[infoset], self.action_labels[infoset][sequence - int(self.offsets[infoset])]

    def sequence(self, infoset: Hashable, action: Hashable) -> int:
        """Return the number of the sequence of an action at an infoset, both by their labels.

        Raises
        ------
        InvalidStrategyError
            If there is no such infoset, or it has no such action.

        Examples
        --------
        >>> from treeplex import load_game
        >>> load_game("kuhn").sequence_form.treeplexes[0].sequence("K_", "b")
        10
        """
        number = self.find_infoset(infoset)
        if number is None:
            raise InvalidStrategyError(f"there is no infoset {shown(infoset)}")
        actions = self.action_labels[number]
        if action not in actions:
            raise InvalidStrategyError(
                f"infoset {shown(infoset)} has no action {shown(action)}: it has {shown(actions)}"
            )
        return int(self.offsets[number]) + actions.index(action)

    @cached_property
    def infoset_numbers(self) -> dict[Hashable, int]:
        """Each infoset's number by its label."""
        return {label: number for number, label in enumerate(self.infoset_labels)}

    def find_infoset(self, label: Any) -> int | None:
        """Return the number of the infoset with a label; ``None`` if there is none, or the label can be none's."""
        return self.infoset_numbers.get(label) if is_hashable(label) else None

    def checked_vector(self, values: npt.ArrayLike, what: str) -> Floats:
        """Return a copy of a vector over the sequences, in floats.

        Raises
        ------
        InvalidStrategyError
            If it is no such vector; the message calls it what `what` says.
        """
        try:
            vector = np.array(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidStrategyError(f"the {what} is no array of numbers: {one_line(str(error))}") from None
        if vector.shape != (self.num_sequences,):
            raise InvalidStrategyError(
                f"the {what} has shape {vector.shape}, expected ({self.num_sequences},): one entry a sequence, "
                "the empty one first"
            )
        return vector


def depths_of(parents: npt.NDArray[Any], sequence_infosets: npt.NDArray[Any]) -> Integers:
    """Return how many own infosets stand above each infoset, by pointer doubling: deep trees take few passes.

    Parameters
    ----------
    parents : ndarray of int, shape (num_infosets,)
        The parent sequence of each infoset.
    sequence_infosets : ndarray of int, shape (num_sequences,)
        The infoset that each sequence belongs to, which comes before the infosets below it; −1 for the empty sequence.

    Returns
    -------
    ndarray of int32, shape (num_infosets,)
    """
    ancestor = sequence_infosets[parents]  # a copy
    depths = np.zeros(len(parents), dtype=np.int32)
    above = np.flatnonzero(ancestor >= 0)
    depths[above] = 1
    while len(above):
        # Both right-hand sides are read before anything is written: each step doubles the distance to ``ancestor``.
        jump = ancestor[above]
        depths[above] += depths[jump]
        ancestor[above] = ancestor[jump]
        above = above[ancestor[above] >= 0]
    return depths


def frozen(matrix: sp.csr_array) -> sp.csr_array:
    """Make the arrays of a sparse matrix read-only, and return it."""
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    return matrix


def is_hashable(value: Any) -> bool:
    """Return whether a value, and all that it holds, can be hashed."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _read_only(array: Integers) -> Integers:
    array.flags.writeable = False
    return array


def _int32(values: npt.ArrayLike, name: str) -> Integers:
    try:
        array = np.array(values)
    except (TypeError, ValueError, OverflowError):
        raise InvalidGameError(f"{name} is {shown(values)}: a vector of integers is needed") from None
    if array.ndim != 1:
        raise InvalidGameError(f"{name} has shape {array.shape}: a vector is needed")
    if array.size and (array.dtype.kind not in "iu" or array.max() > _LARGEST or array.min() < -_LARGEST):
        raise InvalidGameError(f"{name} is {shown(values)}: a vector of integers, of at most 32 bits each, is needed")
    return _read_only(array.astype(np.int32))
