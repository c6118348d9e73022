"""Faces of polytopes of plans that minimise a linear cost, and games restricted to faces."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .arrays import Floats
from .factored import FactoredPayoff
from .payoffs import LeafTable
from .polytope import Treeplex
from .sequence_form import SequenceForm

#: The relative round-off error allowed for a number: a few dozen units in the last place.
ROUNDING = 2.0**-46


@dataclass(frozen=True, eq=False)
class Cheapest:
    """The face of the plans of least cost g · x.

    Attributes
    ----------
    value : float
        The least cost.
    error : float
        A bound on its round-off error.
    reduced : ndarray of float64, shape (num_sequences,)
        Q(I, a) − V(I) ≥ 0: the cost of an action beyond the best action of its infoset; 0 for the empty sequence.
    attained : ndarray of bool, shape (num_sequences,)
        Whether each action attains the least cost of its infoset, up to round-off; at least one per infoset.
    """

    value: float
    error: float
    reduced: Floats
    attained: npt.NDArray[np.bool_]


def cheapest(treeplex: Treeplex, costs: Floats) -> Cheapest:
    """Minimise a linear cost over a polytope of plans, and find the actions that attain the minimum.

    Parameters
    ----------
    treeplex : Treeplex
    costs : ndarray of float64, shape (num_sequences,)
        g, per unit of each sequence.

    Returns
    -------
    Cheapest

    Notes
    -----
    Bottom-up, Q(s) = g(s) + Σ_I w(I, s) V(I) and V(I) = min_a Q(I, a). For every plan x

        g · x = V(∅) + Σ_(I, a) x(I, a) (Q(I, a) − V(I)),

    since Q(s) − Σ_I w(I, s) V(I) = g(s), and Σ_s w(I, s) x(s) = Σ_a x(I, a). So the plans of least cost are the plans
    without actions of positive reduced cost. The function computes a bound on the round-off of each Q along with the
    values. An action counts as more costly only if it is more costly for all numbers within these bounds. Sums of
    non-negative costs that are 0 are exact, so even a tiny cost separates an action from the free ones. If signs
    differ, costs may remain from a cancellation, and their errors are relative to the largest cost.

    Examples
    --------
    The first action leads to a second choice, which costs −1 or 2:

    >>> import numpy as np
    >>> from treeplex.seqform.face import cheapest
    >>> from treeplex.seqform.polytope import Treeplex
    >>> found = cheapest(Treeplex([0, 1], [2, 2]), np.array([0.0, 1.0, 0.0, -1.0, 2.0]))
    >>> found.value, found.reduced, found.attained
    (0.0, array([0., 0., 0., 0., 3.]), array([ True,  True,  True,  True, False]))
    """
    values = treeplex.checked_vector(costs, "vector of costs")
    sizes = np.abs(values)
    if values.min() < 0.0 < values.max():
        sizes[sizes > 0.0] = sizes.max()
    errors = ROUNDING * sizes
    reduced = np.zeros(treeplex.num_sequences)
    attained = np.ones(treeplex.num_sequences, dtype=bool)
    for level in reversed(treeplex.levels):
        own, error = values[level.sequences], errors[level.sequences]
        best = np.minimum.reduceat(own, level.starts)
        ceiling = np.minimum.reduceat(own + error, level.starts)
        near = own - error <= np.repeat(ceiling, level.counts)
        attained[level.sequences] = near
        reduced[level.sequences] = own - np.repeat(best, level.counts)
        # Actions that certainly cost more do not add to the uncertainty of the least cost.
        uncertain = np.maximum.reduceat(np.where(near, error, 0.0), level.starts)
        level.pass_up(best, values)
        level.pass_up(uncertain + ROUNDING * np.abs(best), errors)
    return Cheapest(float(values[0]), float(errors[0]), reduced, attained)


@dataclass(frozen=True, eq=False)
class Face:
    """The plans of a polytope that take only some of its actions.

    Attributes
    ----------
    treeplex : Treeplex
        The face as a polytope: the remaining actions, at the infosets that they lead to.
    sequences : ndarray of int64, shape (treeplex.num_sequences,)
        The numbers of its sequences in the larger polytope, ascending; the empty one first.
    """

    treeplex: Treeplex
    sequences: npt.NDArray[np.int64]

    @classmethod
    def whole(cls, treeplex: Treeplex) -> "Face":
        """Return the polytope as a face of itself."""
        return cls(treeplex, np.arange(treeplex.num_sequences))

    @classmethod
    def of(cls, treeplex: Treeplex, taken: npt.NDArray[np.bool_]) -> "Face":
        """Return the face of the plans that take only the given actions.

        Parameters
        ----------
        treeplex : Treeplex
        taken : ndarray of bool, shape (num_sequences,)
            At least one action of each infoset.

        Examples
        --------
        Without its first action, the second infoset is not reached:

        >>> import numpy as np
        >>> from treeplex.seqform.face import Face
        >>> from treeplex.seqform.polytope import Treeplex
        >>> face = Face.of(Treeplex([0, 1], [2, 2]), np.array([True, False, True, True, True]))
        >>> face.treeplex, face.sequences
        (Treeplex(num_infosets=1, num_sequences=2), array([0, 2]))
        """
        left = np.zeros(treeplex.num_sequences)
        left[0] = 1.0
        reached = np.zeros(treeplex.num_infosets, dtype=bool)
        for level in treeplex.levels:
            reached[level.infosets] = level.reach(left) > 0.0
            left[level.sequences] = taken[level.sequences] & np.repeat(reached[level.infosets], level.counts)
        sequences = np.flatnonzero(left)
        if len(sequences) == treeplex.num_sequences:
            return cls.whole(treeplex)
        infosets = np.flatnonzero(reached)
        owners = treeplex.sequence_infosets[sequences[1:]]
        counts = np.bincount(owners, minlength=treeplex.num_infosets)[infosets]
        labels = [treeplex.infoset_labels[infoset] for infoset in infosets.tolist()]
        actions: list[list[object]] = [[] for _ in range(treeplex.num_infosets)]
        places = sequences[1:] - treeplex.offsets[owners]
        for owner, place in zip(owners.tolist(), places.tolist(), strict=True):
            actions[owner].append(treeplex.action_labels[owner][place])
        kept = [actions[infoset] for infoset in infosets.tolist()]
        if treeplex.single_parent:
            parents = np.searchsorted(sequences, treeplex.parents[infosets])
            return cls(Treeplex(parents, counts, labels, kept), sequences)
        inflow = treeplex.inflow[infosets][:, sequences]
        return cls(Treeplex.from_inflow(inflow, counts, labels, kept), sequences)

    @classmethod
    def spanned(cls, treeplex: Treeplex, kept: npt.NDArray[np.bool_]) -> "Face":
        """Return the face of the plans that take only kept actions; its infosets and actions have numbers as labels.

        Parameters
        ----------
        treeplex : Treeplex
        kept : ndarray of bool, shape (num_sequences,)
            The empty sequence, and at least one action of exactly those infosets to which kept actions lead.

        Examples
        --------
        >>> import numpy as np
        >>> from treeplex.seqform.face import Face
        >>> from treeplex.seqform.polytope import Treeplex
        >>> Face.spanned(Treeplex([0, 1], [2, 2]), np.array([True, True, False, True, False])).sequences
        array([0, 1, 3])
        """
        sequences = np.flatnonzero(kept)
        infosets, counts = np.unique(treeplex.sequence_infosets[sequences[1:]], return_counts=True)
        if treeplex.single_parent:
            return cls(Treeplex(np.searchsorted(sequences, treeplex.parents[infosets]), counts), sequences)
        return cls(Treeplex.from_inflow(treeplex.inflow[infosets][:, sequences], counts), sequences)

    def within(self, larger: "Face") -> "Face":
        """Convert this face, whose polytope is the face ``larger``, to a face of the polytope of ``larger``."""
        return Face(self.treeplex, larger.sequences[self.sequences])

    def embedded(self, plan: Floats, size: int) -> Floats:
        """Return a plan of the face as a plan of the larger polytope, which has ``size`` sequences."""
        vector = np.zeros(size)
        vector[self.sequences] = plan
        return vector


def game_on_faces(form: SequenceForm, faces: Sequence[Face]) -> SequenceForm:
    """Return the game in which each player's plans are restricted to a face.

    Parameters
    ----------
    form : SequenceForm
    faces : sequence of Face
        One per player.

    Returns
    -------
    SequenceForm
        With payoffs in the form of the game's: factors, a table of leaves, or matrices.

    Examples
    --------
    Rock, paper, scissors without the first player's paper:

    >>> import numpy as np
    >>> from treeplex import load_game
    >>> from treeplex.seqform.face import Face, game_on_faces
    >>> form = load_game("rps").sequence_form
    >>> first = Face.of(form.treeplexes[0], np.array([True, True, False, True]))
    >>> game_on_faces(form, [first, Face.whole(form.treeplexes[1])]).A.toarray()
    array([[ 0.,  0.,  0.,  0.],
           [ 0.,  0., -1.,  1.],
           [ 0., -1.,  1.,  0.]])
    """
    treeplexes = [face.treeplex for face in faces]
    if form.leaves is not None:
        return SequenceForm(treeplexes, _leaves_on_faces(form.leaves, faces))
    rows, columns = (face.sequences for face in faces)
    if form.factored is not None:
        whole = form.factored
        factored = FactoredPayoff(whole.left[rows], whole.right[:, columns], whole.chained, whole.scale)
        return SequenceForm(treeplexes, factored=factored)
    matrices = [form.payoff_matrix(player)[rows][:, columns] for player in (0, 1)]
    return SequenceForm(treeplexes, payoff_matrices=matrices)


def _leaves_on_faces(leaves: LeafTable, faces: Sequence[Face]) -> LeafTable:
    places = []
    for player, face in enumerate(faces):
        last = max(int(face.sequences[-1]), int(leaves.sequences[:, player].max()))
        place = np.full(last + 1, -1)
        place[face.sequences] = np.arange(len(face.sequences))
        places.append(place[leaves.sequences[:, player]])
    sequences = np.stack(places, axis=1)
    left = (sequences >= 0).all(axis=1)
    if not left.any():  # a table leaves out zero payoffs, but may not be empty
        return LeafTable(0 * sequences[:1], leaves.chance[:1], 0.0 * leaves.payoffs[:1])
    return LeafTable(sequences[left], leaves.chance[left], leaves.payoffs[left])
