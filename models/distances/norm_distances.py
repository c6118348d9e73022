"""Distances of a plan from a reference strategy that are norms of the differences at its sequences."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.rationals import Fractions, exact_behaviour, to_fractions
from ..constraints.composition import NORM_1, NORM_2, Composition
from ..programs.program_blocks import ProgramBlocks
from ..programs.triplets import Triplets
from .distance import Distance

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class NormDistance(Distance):
    """A norm of the weighted differences R x, where row (I, a) of R is that of B times a factor of w(I).

    Slopes are a vector s, shape (num_sequences − 1,), of the dual norm's unit ball, and the minorant is s · R x.
    """

    @cached_property
    def differences(self) -> sp.csr_array:
        """R, shape (num_sequences − 1, num_sequences): a row each sequence but the empty one."""
        treeplex = self.treeplex
        spread = treeplex.inflow[treeplex.sequence_infosets[1:]]
        own = sp.eye_array(treeplex.num_sequences, format="csr")[1:]
        matrix = own - sp.diags_array(self.reference.behaviour[1:]) @ spread
        return sp.csr_array(sp.diags_array(self._factors) @ matrix)

    @property
    @abstractmethod
    def _factors(self) -> Floats: ...

    #: Which norm it is.
    norm: ClassVar[int]

    @cached_property
    def composition(self) -> Composition:
        """The norm of R x."""
        count, size = self.differences.shape
        return Composition.of(self.norm, self.differences, np.zeros(count), np.zeros(size), 0.0)

    def cvxpy_parts(self, plan: "cp.Variable") -> "tuple[cp.Expression, list[cp.Constraint]]":
        """Return the norm of a variable, and the constraint that it is R x, whose multipliers are the slopes."""
        import cvxpy as cp

        differences = cp.Variable(self.treeplex.num_sequences - 1, name="differences")
        return self._norm(differences), [differences == self.differences @ plan]

    def to_cvxpy(self, plan: "cp.Variable") -> "cp.Expression":
        """Return the norm of R x."""
        return self._norm(self.differences @ plan)

    @abstractmethod
    def _norm(self, differences: "cp.Expression") -> "cp.Expression": ...

    def _coefficients(self, slopes: Floats) -> Floats:
        product: Floats = self.differences.T @ slopes
        return product


@dataclass(frozen=True, eq=False)
class L1Distance(NormDistance):
    """The sum of absolute differences from a reference strategy: Σ_I w(I) Σ_a abs(x(I, a) − b*(I, a) x(σ(I))).

    At an infoset that no own decision comes before it is the ℓ1 distance of behaviours, twice the total variation. It
    has a linear program. Slopes are numbers from −1 to 1, a sequence but the empty one.

    Parameters
    ----------
    reference : Strategy
    weights : array_like, shape (num_infosets,), optional

    Raises
    ------
    InvalidStrategyError
        If the reference is no strategy, or the weights are not one number of at least 0 an infoset.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.models.distances import L1Distance
    >>> game = load_game("kuhn")
    >>> uniform = Strategy.uniform(game, 0)
    >>> betting = Strategy.from_dict(game, 0, {"K_": {"b": 1.0}})
    >>> L1Distance(uniform).value(betting.plan)
    1.0
    """

    kind: ClassVar[str] = "l1"
    norm: ClassVar[int] = NORM_1
    is_linear: ClassVar[bool] = True

    @property
    def _factors(self) -> Floats:
        return self.sequence_weights

    def add_to(self, blocks: ProgramBlocks, objective: float = 0, name: str = "distance") -> None:
        """Add columns ``NAME above`` and ``NAME below`` (both ≥ 0) whose sum is the distance at least, at best equal.

        Rows ``NAME`` (R x − above + below = 0); in a program that minimises, their multipliers per unit of objective
        are minus the slopes.

        Parameters
        ----------
        blocks : ProgramBlocks
            With the columns ``plan``.
        objective : float
            Of the columns.
        name : str
        """
        count = self.treeplex.num_sequences - 1
        unit = sp.eye_array(count, format="csr")
        blocks.add_columns(f"{name} above", count, objective=objective, lower=0.0)
        blocks.add_columns(f"{name} below", count, objective=objective, lower=0.0)
        differences = self.exact_differences if blocks.exact else self.differences
        terms = {"plan": differences, f"{name} above": -unit, f"{name} below": unit}
        blocks.add_rows(name, terms, lower=0.0, upper=0.0)

    @cached_property
    def exact_differences(self) -> Triplets:
        """R in fractions, shape (num_sequences − 1, num_sequences).

        The reference's behaviour is that of its :func:`~treeplex.seqform.rationals.exact_plan`, so that the distance of
        that plan is 0 exactly; weights are as :func:`~treeplex.seqform.rationals.intended_fraction` has them.
        """
        treeplex = self.treeplex
        count, inflow = treeplex.num_sequences - 1, treeplex.inflow
        played, inflows = exact_behaviour(treeplex, self.reference.behaviour)[1:], to_fractions(inflow.data)
        # A row each sequence: itself, minus its probability times what flows into its infoset.
        infosets = treeplex.sequence_infosets[1:]
        lengths = np.diff(inflow.indptr)[infosets]
        sequences = np.arange(count)
        rows = np.concatenate([sequences, np.repeat(sequences, lengths)])
        places = np.concatenate(
            [np.arange(inflow.indptr[infoset], inflow.indptr[infoset + 1]) for infoset in infosets]
            or [np.zeros(0, dtype=np.int64)]
        )
        columns = np.concatenate([sequences + 1, inflow.indices[places]])
        factors = to_fractions(self.sequence_weights)
        values = np.concatenate([factors, -(factors * played)[rows[count:]] * inflows[places]])
        shape = (count, treeplex.num_sequences)
        return Triplets(shape, rows.astype(np.int64), columns.astype(np.int64), values).compressed()

    def exact_value(self, plan: Fractions) -> Fraction:
        """Return the distance of a plan in fractions, by :attr:`exact_differences`."""
        return sum(np.abs(self.exact_differences @ plan), Fraction(0))

    def exact_minorant(self, slopes: Fractions) -> Fractions:
        """Return the coefficients of the minorant of slopes in fractions, which are cut off at −1 and 1."""
        least, most = to_fractions([-1]), to_fractions([1])
        return self.exact_differences.T @ np.minimum(np.maximum(slopes, least), most)

    def _value(self, plan: Floats) -> float:
        return float(np.abs(self.differences @ plan).sum())

    def _slopes_at(self, plan: Floats) -> Floats:
        signs: Floats = np.sign(self.differences @ plan)
        return signs

    def _valid(self, slopes: Floats) -> Floats:
        clipped: Floats = np.clip(self._checked_slopes(slopes, self.treeplex.num_sequences - 1), -1.0, 1.0)
        return clipped

    def _norm(self, differences: "cp.Expression") -> "cp.Expression":
        from cvxpy.atoms.norm1 import norm1

        return norm1(differences)


@dataclass(frozen=True, eq=False)
class L2Distance(NormDistance):
    """The Euclidean distance from a reference strategy: √(Σ_I w(I) Σ_a (x(I, a) − b*(I, a) x(σ(I)))²).

    Slopes are a vector of Euclidean length 1 at most, an entry a sequence but the empty one.

    Parameters
    ----------
    reference : Strategy
    weights : array_like, shape (num_infosets,), optional

    Raises
    ------
    InvalidStrategyError
        If the reference is no strategy, or the weights are not one number of at least 0 an infoset.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.models.distances import L2Distance
    >>> game = load_game("kuhn")
    >>> uniform = Strategy.uniform(game, 0)
    >>> betting = Strategy.from_dict(game, 0, {"K_": {"b": 1.0}, "Q_": {"b": 1.0}})
    >>> L2Distance(uniform).value(betting.plan)
    1.0
    """

    kind: ClassVar[str] = "l2"
    norm: ClassVar[int] = NORM_2

    @cached_property
    def scale(self) -> float:
        """How large distances are, but for a factor: the square root of the largest Σ_I w(I) x(σ(I)); 1 if it is 0."""
        return float(np.sqrt(super().scale))

    @property
    def _factors(self) -> Floats:
        return np.sqrt(self.sequence_weights)

    def _value(self, plan: Floats) -> float:
        return float(np.linalg.norm(self.differences @ plan))

    def _slopes_at(self, plan: Floats) -> Floats:
        return self._valid(_direction(self.differences @ plan))

    def _valid(self, slopes: Floats) -> Floats:
        vector = self._checked_slopes(slopes, self.treeplex.num_sequences - 1)
        largest = float(np.abs(vector).max(initial=0.0))
        if largest > 1.0:
            vector /= largest  # squares of what is very large would overflow
        length = float(np.linalg.norm(vector))
        return vector / length if length > 1.0 or largest > 1.0 else vector

    def _norm(self, differences: "cp.Expression") -> "cp.Expression":
        from cvxpy.atoms.pnorm import pnorm

        length: cp.Expression = pnorm(differences, 2)
        return length


def _direction(vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0.0 else vector
