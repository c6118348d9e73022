"""Flow polytopes: treeplexes in which several sequences lead to an infoset, each with a weight."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .array_checks import canonical, checked_counts
from .arrays import Floats, Integers, frozen
from .errors import InvalidGameError

#: The tolerance by which the weight of an inflow may exceed one.
INFLOW_TOLERANCE = 1e-9


def checked_inflow(
    inflow: Any, num_actions: npt.ArrayLike
) -> tuple[Integers | None, sp.csr_array | None, Integers, Integers]:
    """Return parent sequences if every infoset has only one, otherwise the inflow; action counts; and offsets.

    Parameters are those of :meth:`Treeplex.from_inflow <treeplex.Treeplex.from_inflow>`.

    Raises
    ------
    InvalidGameError
    """
    weights = canonical(inflow, "inflow")
    counts, offsets = checked_counts(num_actions, weights.shape[0], "inflow")
    if weights.shape[1] != offsets[-1]:
        raise InvalidGameError(
            f"inflow has shape {weights.shape}, expected ({len(counts)}, {offsets[-1]}): one column per "
            "sequence, the empty one first"
        )
    sound = (weights.data > 0.0) & (weights.data <= 1.0 + INFLOW_TOLERANCE)
    if not sound.all():
        wrong = int(np.argmin(sound))
        raise InvalidGameError(
            f"infoset {int(np.searchsorted(weights.indptr, wrong, side='right')) - 1} has inflow "
            f"{weights.data[wrong]:g} from sequence {weights.indices[wrong]}, expected a probability"
        )
    entries = np.diff(weights.indptr)
    if not entries.all():
        raise InvalidGameError(f"infoset {int(np.argmin(entries))} has no inflow: expected at least one sequence")
    latest = np.maximum.reduceat(weights.indices, weights.indptr[:-1]) if len(entries) else entries
    if (latest >= offsets[:-1]).any():
        wrong = int(np.argmax(latest >= offsets[:-1]))
        raise InvalidGameError(
            f"infoset {wrong} has inflow from sequence {latest[wrong]}, expected sequences before its own, which "
            f"begin at {offsets[wrong]}"
        )
    if (entries == 1).all() and (weights.data == 1.0).all():
        return frozen(weights.indices.astype(np.int32)), None, counts, offsets
    return None, frozen(weights), counts, offsets


def check_finite(plan: Floats, sequence_infosets: Integers) -> None:
    """Raise an error if the flow into an infoset exceeds the range of floats in the uniform plan.

    Raises
    ------
    InvalidGameError
    """
    if not np.isfinite(plan).all():
        wrong = int(sequence_infosets[int(np.argmin(np.isfinite(plan)))])
        raise InvalidGameError(
            f"the flow into infoset {wrong} is too large for a float: the weights that leave a sequence "
            "should sum to at most 1 over the infosets that it may lead to"
        )


def depths_of_flow(inflow: sp.csr_array, sequence_infosets: npt.NDArray[Any]) -> Integers:
    """Return the largest number of own infosets above each infoset of a flow.

    Parameters
    ----------
    inflow : csr_array, shape (num_infosets, num_sequences)
        Every infoset has an inflow, from sequences before its own.
    sequence_infosets : ndarray of int, shape (num_sequences,)
        The infoset of each sequence; −1 for the empty sequence.

    Returns
    -------
    ndarray of int32, shape (num_infosets,)
    """
    above = sequence_infosets[inflow.indices].tolist()
    starts = inflow.indptr.tolist()
    num_infosets = len(starts) - 1
    depths = [0] * num_infosets + [-1]  # the last is for the empty sequence, which belongs to no infoset
    for infoset in range(num_infosets):
        depths[infoset] = 1 + max(depths[owner] for owner in above[starts[infoset] : starts[infoset + 1]])
    return np.array(depths[:-1], dtype=np.int32)
