"""One player's strategy polytope in sequence form."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .arrays import Floats, Integers, ReadOnly, floats, frozen
from .errors import InvalidStrategyError, UnsupportedProblemError


@dataclass(frozen=True, eq=False)
class Level:
    """The infosets with the same number of own decisions above them, arranged for one vectorised pass.

    Attributes
    ----------
    infosets : ndarray of int32, shape (k,)
    sequences : ndarray of int32, shape (m,)
        Their sequences, grouped by infoset.
    starts : ndarray of int32, shape (k,)
        The start of each infoset's group in ``sequences``, for ``ufunc.reduceat``.
    counts : ndarray of int32, shape (k,)
        Number of actions of each infoset.
    sources : ndarray of int32, shape (s,)
        The sequences that lead to the infosets: the parent of each infoset; in a flow polytope each such sequence once.
    inflow : csr_array of float64, shape (k, s), or None
        In a flow polytope, the weight with which each of ``sources`` leads to each infoset.
    """

    infosets: Integers
    sequences: Integers
    starts: Integers
    counts: Integers
    sources: Integers
    inflow: sp.csr_array | None = None

    def reach(self, plan: Floats) -> Floats:
        """Return the plan's weight that flows into each infoset, shape (k,)."""
        above: Floats = plan[self.sources]
        return above if self.inflow is None else self.inflow @ above

    @cached_property
    def _outflow(self) -> sp.csr_array:
        assert self.inflow is not None
        return sp.csr_array(self.inflow.T)

    def pass_up(self, values: Floats, totals: Floats) -> None:
        """Add a value of each infoset, shape (k,), to the ``totals`` of the sequences that lead to it."""
        if self.inflow is None:
            np.add.at(totals, self.sources, values)
        else:
            totals[self.sources] += self._outflow @ values


def depths_of(parents: npt.NDArray[Any], sequence_infosets: npt.NDArray[Any]) -> Integers:
    """Return the number of own infosets above each infoset, by pointer doubling: deep trees take few passes.

    Parameters
    ----------
    parents : ndarray of int, shape (num_infosets,)
        The parent sequence of each infoset.
    sequence_infosets : ndarray of int, shape (num_sequences,)
        The infoset of each sequence, numbered before the infosets below it; −1 for the empty sequence.

    Returns
    -------
    ndarray of int32, shape (num_infosets,)
    """
    ancestor = sequence_infosets[parents]  # a copy
    depths = np.zeros(len(parents), dtype=np.int32)
    above = np.flatnonzero(ancestor >= 0)
    depths[above] = 1
    while len(above):
        # Both right-hand sides are read before anything is written: each pass doubles the distance to ``ancestor``.
        jump = ancestor[above]
        depths[above] += depths[jump]
        ancestor[above] = ancestor[jump]
        above = above[ancestor[above] >= 0]
    return depths


class Treeplex(ReadOnly):
    """The polytope {x ≥ 0 : E x = e} of one player's realization plans.

    Sequence 0 is the empty sequence; every other sequence is an action at an infoset after the player's own past. The
    sequences of an infoset are contiguous, and infosets are in topological order: an infoset comes after the infoset
    of its parent sequence. All arrays are read-only.

    A player who forgets how an infoset was reached, without effect on later payoffs and infosets, has a *flow polytope*
    instead: several sequences lead to an infoset, each with a weight (:meth:`from_inflow`). A flow polytope has no
    parent sequences, and functions that need a tree reject it; ``single_parent`` distinguishes the two.

    Parameters
    ----------
    parents : array_like of int, shape (num_infosets,)
        The parent sequence σ(I) of each infoset: the player's last sequence before it.
    num_actions : array_like of int, shape (num_infosets,)
        Number of actions at each infoset, at least one.
    infoset_labels : sequence of hashable, optional
        Distinct labels, one per infoset; by default the infosets' numbers.
    action_labels : sequence of sequences of hashable, optional
        Each infoset's actions; by default numbers from 0.

    Attributes
    ----------
    num_actions, offsets : ndarray of int32
        Infoset ``i`` owns the sequences ``offsets[i]:offsets[i + 1]``; ``offsets[0]`` is 1.
    infoset_labels : tuple of hashable
    action_labels : tuple of tuple of hashable
    action_words : mapping of str to hashable
        Action labels by alternative words for them, such as ``raise`` for ``r``; set by the game
        (:attr:`Game.action_words <treeplex.Game.action_words>`).

    Raises
    ------
    InvalidGameError
        If an array has the wrong shape or contains non-integers, an infoset has no action, a parent sequence does not
        come before its infoset, or labels are not hashable or not distinct.

    Notes
    -----
    Row 0 of E says x(∅) = 1; row I + 1 says Σ_a x(I, a) − x(σ(I)) = 0; e = (1, 0, …, 0). In a flow polytope row I + 1
    says Σ_a x(I, a) − Σ_s w(I, s) x(s) = 0, where w(I, s) is the inflow's weight. Von Stengel, "Efficient
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

    action_words: Mapping[str, Hashable] = MappingProxyType({})

    def __init__(
        self,
        parents: npt.ArrayLike,
        num_actions: npt.ArrayLike,
        infoset_labels: Sequence[Hashable] | None = None,
        action_labels: Sequence[Sequence[Hashable]] | None = None,
    ) -> None:
        from .array_checks import checked_labels, checked_parents

        given, counts, offsets = checked_parents(parents, num_actions)
        self._put_together(given, None, counts, offsets, *checked_labels(counts, infoset_labels, action_labels))

    def _put_together(
        self,
        parents: Integers | None,
        inflow: sp.csr_array | None,
        num_actions: Integers,
        offsets: Integers,
        infoset_labels: tuple[Hashable, ...],
        action_labels: tuple[tuple[Hashable, ...], ...],
    ) -> "Treeplex":
        self._parents, self._inflow = parents, inflow
        self.num_actions, self.offsets = num_actions, offsets
        self.infoset_labels, self.action_labels = infoset_labels, action_labels
        return self

    @classmethod
    def of_parts(
        cls,
        parents: Integers,
        num_actions: Integers,
        offsets: Integers,
        infoset_labels: tuple[Hashable, ...],
        action_labels: tuple[tuple[Hashable, ...], ...],
    ) -> "Treeplex":
        """Make a treeplex from consistent read-only arrays and labels, without checks.

        The parameters are those of the class.
        """
        return cls.__new__(cls)._put_together(parents, None, num_actions, offsets, infoset_labels, action_labels)

    @classmethod
    def from_inflow(
        cls,
        inflow: Any,
        num_actions: npt.ArrayLike,
        infoset_labels: Sequence[Hashable] | None = None,
        action_labels: Sequence[Sequence[Hashable]] | None = None,
    ) -> "Treeplex":
        """Make a flow polytope: several sequences may lead to an infoset, each with a weight.

        Parameters
        ----------
        inflow : array_like or sparse, shape (num_infosets, num_sequences)
            Entry (I, s) is the probability that sequence s leads to infoset I. Every infoset has at least one non-zero
            entry, and only at sequences before its own.
        num_actions, infoset_labels, action_labels
            As for the class.

        Returns
        -------
        Treeplex
            With parent sequences, if every infoset has a single inflow of weight 1.

        Raises
        ------
        InvalidGameError
            As for the class; also if a weight is not a probability, an infoset has no inflow, or an inflow comes from a
            sequence that is not before the infoset's own.

        Notes
        -----
        Such a player has well-formed imperfect recall: Lanctot, Gibson, Burch, Zinkevich and Bowling, "No-regret
        learning in extensive-form games with imperfect recall", ICML 2012. As strategies of normal-form games with
        sequential strategies: Bošanský, Jiang, Tambe and Kiekintveld, "Combining compact representation and
        incremental generation in large games with sequential strategies", AAAI 2015.

        Examples
        --------
        Two steps: the first action always leads to the second infoset, the second action half of the time.

        >>> from treeplex.seqform.polytope import Treeplex
        >>> flow = Treeplex.from_inflow([[1, 0, 0, 0, 0], [0, 1, 0.5, 0, 0]], num_actions=[2, 2])
        >>> flow.single_parent
        False
        >>> flow.uniform_plan()
        array([1.   , 0.5  , 0.5  , 0.375, 0.375])
        """
        from .array_checks import checked_labels
        from .flow_polytope import check_finite, checked_inflow

        parents, weights, counts, offsets = checked_inflow(inflow, num_actions)
        labels = checked_labels(counts, infoset_labels, action_labels)
        made = cls.__new__(cls)._put_together(parents, weights, counts, offsets, *labels)
        if not made.single_parent:
            with np.errstate(over="ignore", invalid="ignore"):
                check_finite(made.uniform_plan(), made.sequence_infosets)
        return made

    @property
    def num_infosets(self) -> int:
        """Number of information sets."""
        return len(self.num_actions)

    @property
    def num_sequences(self) -> int:
        """Number of sequences, including the empty one."""
        return int(self.offsets[-1])

    def __getstate__(self) -> dict[str, Any]:
        # Everything else follows from these.
        names = ("_parents", "_inflow", "num_actions", "offsets", "infoset_labels", "action_labels")
        return {name: self.__dict__[name] for name in names} | {"action_words": dict(self.action_words)}

    def __repr__(self) -> str:
        flow = "" if self.single_parent else ", single_parent=False"
        return f"Treeplex(num_infosets={self.num_infosets}, num_sequences={self.num_sequences}{flow})"

    @property
    def single_parent(self) -> bool:
        """Whether a single sequence leads to each infoset, with weight 1; false in a flow polytope."""
        return self._parents is not None

    @property
    def parents(self) -> Integers:
        """The parent sequence of each infoset, shape (num_infosets,).

        Raises
        ------
        UnsupportedProblemError
            In a flow polytope, where an infoset has several.
        """
        if self._parents is None:
            raise UnsupportedProblemError(
                "this needs a treeplex in which one sequence leads to each infoset, but the player's plans form a flow "
                "polytope, in which several sequences may lead to one"
            )
        return self._parents

    @cached_property
    def inflow(self) -> sp.csr_array:
        """The weight with which each sequence leads to each infoset, shape (num_infosets, num_sequences); read-only."""
        if self._inflow is not None:
            return self._inflow
        shape = (self.num_infosets, self.num_sequences)
        starts = np.arange(self.num_infosets + 1, dtype=np.int32)
        return frozen(sp.csr_array((np.ones(self.num_infosets), self.parents.copy(), starts), shape=shape))

    @cached_property
    def sequence_infosets(self) -> Integers:
        """The infoset of each sequence, shape (num_sequences,); −1 for the empty sequence."""
        owners = np.repeat(np.arange(self.num_infosets, dtype=np.int32), self.num_actions)
        return frozen(np.concatenate([np.array([-1], dtype=np.int32), owners]))

    @cached_property
    def depths(self) -> Integers:
        """Number of own decisions above each infoset, shape (num_infosets,); in a flow polytope the largest number."""
        if self._inflow is None:
            return frozen(depths_of(self.parents, self.sequence_infosets))
        from .flow_polytope import depths_of_flow

        return frozen(depths_of_flow(self._inflow, self.sequence_infosets))

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The infosets grouped by depth, starting at the root."""
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
            sources, inflow = self._sources(infosets)
            levels.append(Level(infosets, sequences.astype(np.int32), starts, counts, sources, inflow))
        return tuple(levels)

    def _sources(self, infosets: Integers) -> tuple[Integers, sp.csr_array | None]:
        if self._inflow is None:
            return self.parents[infosets], None
        rows = self._inflow[infosets]
        sources, columns = np.unique(rows.indices, return_inverse=True)
        inflow = sp.csr_array((rows.data, columns.ravel(), rows.indptr), shape=(len(infosets), len(sources)))
        return sources.astype(np.int32), inflow

    @cached_property
    def E(self) -> sp.csr_array:
        """The constraint matrix, shape (num_infosets + 1, num_sequences), float64; its arrays are read-only."""
        inflow = self.inflow.tocoo()
        owners = self.sequence_infosets[1:] + 1
        rows = np.concatenate([[0], inflow.coords[0] + 1, owners])
        columns = np.concatenate([[0], inflow.coords[1], np.arange(1, self.num_sequences)])
        values = np.concatenate([[1.0], -inflow.data, np.ones(self.num_sequences - 1)])
        return frozen(sp.csr_array((values, (rows, columns)), shape=(self.num_infosets + 1, self.num_sequences)))

    @cached_property
    def e(self) -> Floats:
        """The right-hand side (1, 0, …, 0), shape (num_infosets + 1,)."""
        right = np.zeros(self.num_infosets + 1)
        right[0] = 1.0
        return frozen(right)

    def uniform_behaviour(self) -> Floats:
        """Return the behaviour strategy that plays all actions equally often, shape (num_sequences,)."""
        return np.concatenate([[1.0], np.repeat(1.0 / self.num_actions, self.num_actions)])

    def uniform_plan(self) -> Floats:
        """Return the realization plan of the uniform behaviour strategy, shape (num_sequences,)."""
        return self.plan(self.uniform_behaviour())

    def plan(self, behaviour: npt.ArrayLike) -> Floats:
        """Turn a behaviour strategy into a realization plan: x(I, a) = x(σ(I)) · b(I, a), along all inflows.

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
            plan[level.sequences] *= np.repeat(level.reach(plan), level.counts)
        return plan

    def reach(self, plan: Floats) -> Floats:
        """Return a plan's contribution to the probability of reaching each infoset.

        Parameters
        ----------
        plan : ndarray of float64, shape (num_sequences,)

        Returns
        -------
        ndarray of float64, shape (num_infosets,)
        """
        return plan[self._parents] if self._parents is not None else self.inflow @ plan

    def behaviour(self, plan: npt.ArrayLike) -> Floats:
        """Turn a realization plan into a behaviour strategy: b(I, a) = x(I, a) / Σ_a x(I, a).

        The behaviour is uniform at infosets that the plan does not reach.

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
            # Divide instead of multiplying by a reciprocal, which may overflow where the reach is tiny.
            x[1:] = np.where(
                np.repeat(reached, self.num_actions),
                x[1:] / np.repeat(np.where(reached, totals, 1.0), self.num_actions),
                np.repeat(1.0 / self.num_actions, self.num_actions),
            )
        x[0] = 1.0
        return x

    def residual(self, plan: npt.ArrayLike) -> float:
        """Return the distance of a vector from the polytope: the largest of ``|E x − e|`` and −x."""
        x = self.checked_vector(plan, "realization plan")
        return float(max(np.abs(self.E @ x - self.e).max(), -x.min(), 0.0))

    def sequence_label(self, sequence: int) -> tuple[Hashable, Hashable] | None:
        """Return the labels of a sequence's infoset and action; ``None`` for the empty sequence."""
        if sequence == 0:
            return None
        infoset = int(self.sequence_infosets[sequence])
        return self.infoset_labels[infoset], self.action_labels[infoset][sequence - int(self.offsets[infoset])]

    def sequence(self, infoset: Hashable, action: Hashable) -> int:
        """Return the number of a sequence, given the labels of its infoset and action.

        The action may also be one of the :attr:`action_words`.

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
        from .names import find_sequence

        return find_sequence(self, infoset, action)

    def actions_by_name(self, infoset: int | None = None) -> dict[str, list[Hashable]]:
        """Return the player's actions by their names in strings.

        Parameters
        ----------
        infoset : int, optional
            The number of an infoset, to return only its actions; by default all actions.

        Returns
        -------
        dict of str to list of labels
            Keys are first the labels as strings, then the :attr:`action_words` for these labels. A word that is also a
            label as a string means that label. Labels with equal strings share a name.

        Examples
        --------
        >>> from treeplex import load_game
        >>> load_game("kuhn").sequence_form.treeplexes[0].actions_by_name()
        {'p': ['p'], 'b': ['b'], 'pass': ['p'], 'bet': ['b']}
        """
        from .names import name_actions

        return name_actions(self, infoset)

    @cached_property
    def infoset_numbers(self) -> dict[Hashable, int]:
        """Each infoset's number by its label."""
        return {label: number for number, label in enumerate(self.infoset_labels)}

    def find_infoset(self, label: Any) -> int | None:
        """Return the number of the infoset with a label; ``None`` if there is none or the label is not valid."""
        from .names import find_infoset

        return find_infoset(self, label)

    def unknown_infoset(self, player: int, label: Any) -> InvalidStrategyError:
        """Return the error for an infoset that a player does not have."""
        from .names import unknown_label

        return unknown_label(self.infoset_labels, player, label)

    def checked_vector(self, values: npt.ArrayLike, what: str) -> Floats:
        """Return a copy of a vector over the sequences, in floats.

        Raises
        ------
        InvalidStrategyError
            If it is not such a vector; the message names it `what`.
        """
        vector = floats(values, f"the {what} is not an array of numbers", InvalidStrategyError)
        if vector.shape != (self.num_sequences,):
            raise InvalidStrategyError(
                f"the {what} has shape {vector.shape}, expected ({self.num_sequences},): one entry per sequence, "
                "the empty one first"
            )
        return vector


@dataclass(frozen=True, eq=False)
class BestResponse:
    """A plan that maximises a linear payoff over a treeplex.

    Attributes
    ----------
    value : float
        The maximum, in payoff units.
    plan : ndarray of float64, shape (num_sequences,)
        A pure realization plan that attains it; ties go to the first action.
    behaviour : ndarray of float64, shape (num_sequences,)
        The best action at each infoset, including infosets that the plan does not reach.
    """

    value: float
    plan: Floats
    behaviour: Floats


def best_response_value(treeplex: Treeplex, gradient: Floats) -> float:
    """Return max {g · x : x in the treeplex}, in payoff units; see :func:`best_response_plan`."""
    return float(sequence_values(treeplex, gradient)[0])


def best_response_plan(treeplex: Treeplex, gradient: Floats) -> BestResponse:
    """Maximise a linear payoff over a treeplex.

    Parameters
    ----------
    treeplex : Treeplex
    gradient : ndarray of float64, shape (num_sequences,)
        Payoff per unit of each sequence, multiplied by the reach of chance and the other players.

    Returns
    -------
    BestResponse

    Notes
    -----
    Bottom-up, v(s) = g(s) + Σ_I w(I, s) max_a v(I, a) over the infosets that s leads to, with w = 1 in a tree; the
    value is v(∅). Von Stengel 1996, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.seqform.polytope import best_response_plan
    >>> from treeplex.seqform.polytope import Treeplex
    >>> best_response_plan(Treeplex([0], [2]), np.array([1.0, 0.0, 2.0]))
    BestResponse(value=3.0, plan=array([1., 0., 1.]), behaviour=array([1., 0., 1.]))
    """
    values = sequence_values(treeplex, gradient)
    behaviour = np.zeros(treeplex.num_sequences)
    for level in treeplex.levels:
        own = values[level.sequences]
        at_best = np.flatnonzero(own == np.repeat(np.maximum.reduceat(own, level.starts), level.counts))
        firsts = at_best[np.searchsorted(at_best, level.starts)]
        behaviour[level.sequences[firsts]] = 1.0
    behaviour[0] = 1.0
    return BestResponse(float(values[0]), treeplex.plan(behaviour), behaviour)


def sequence_values(treeplex: Treeplex, gradient: Floats) -> Floats:
    """Return the value of each sequence: its payoff plus the best values of the infosets below it.

    Parameters
    ----------
    treeplex : Treeplex
    gradient : ndarray of float64, shape (num_sequences,)
        Payoff per unit of each sequence, multiplied by the reach of chance and the other players.

    Returns
    -------
    ndarray of float64, shape (num_sequences,)
        Entry 0 is the value of a best response; see :func:`best_response_plan`.
    """
    values = treeplex.checked_vector(gradient, "gradient")
    for level in reversed(treeplex.levels):
        best = np.maximum.reduceat(values[level.sequences], level.starts)
        level.pass_up(best, values)
    return values


def infoset_values(treeplex: Treeplex, gradient: Floats) -> Floats:
    """Return the counterfactual best-response value of each infoset: the largest of its sequences' values.

    Parameters
    ----------
    treeplex : Treeplex
    gradient : ndarray of float64, shape (num_sequences,)

    Returns
    -------
    ndarray of float64, shape (num_infosets,)

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.seqform.polytope import infoset_values
    >>> from treeplex.seqform.polytope import Treeplex
    >>> infoset_values(Treeplex([0, 1], [2, 2]), np.array([0.0, 1.0, 2.0, 3.0, 0.0]))
    array([4., 3.])
    """
    return infoset_maxima(treeplex, sequence_values(treeplex, gradient))


def infoset_maxima(treeplex: Treeplex, values: Floats) -> Floats:
    """Return the maximum over each infoset's sequences.

    Parameters
    ----------
    treeplex : Treeplex
    values : ndarray of float64, shape (num_sequences,)

    Returns
    -------
    ndarray of float64, shape (num_infosets,)

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.seqform.polytope import infoset_maxima
    >>> from treeplex.seqform.polytope import Treeplex
    >>> infoset_maxima(Treeplex([0, 1], [2, 2]), np.array([9.0, 1.0, 2.0, 3.0, 0.0]))
    array([2., 3.])
    """
    return np.maximum.reduceat(values, treeplex.offsets[:-1]) if treeplex.num_infosets else values[1:]
