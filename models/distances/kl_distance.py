"""The dilated Kullback–Leibler divergence of a plan from a reference strategy."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import kl_div

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidStrategyError, shown
from ..constraints.composition import RELATIVE_ENTROPY, Composition
from .distance import Distance

if TYPE_CHECKING:
    import cvxpy as cp

#: What stands for a probability of zero where its logarithm is needed: small enough to cost nothing in a bound.
LEAST = 1e-15


@dataclass(frozen=True, eq=False)
class KLDistance(Distance):
    """The dilated Kullback–Leibler divergence from a reference strategy b* that plays every action.

    Σ_I w(I) Σ_a x(I, a) log(x(I, a) / (x(σ(I)) b*(I, a))): the divergence of the behaviours at each infoset, weighted
    by how much the plan comes there.

    Parameters
    ----------
    reference : Strategy
        Positive at every action of an infoset whose weight is positive.
    weights : array_like, shape (num_infosets,), optional

    Raises
    ------
    InvalidStrategyError
        If the reference is no strategy or gives an action no probability, or the weights are not one number of at least
        0 an infoset.

    Notes
    -----
    Jointly convex in x(I, ·) and x(σ(I)), as (p, q) ↦ p log(p / q) is. The opposite divergence, Σ b* log(b* / b), is
    not convex in the plan. Slopes are a behaviour strategy z, shape (num_sequences,) with entry 0 not read: since
    the divergence of a behaviour from z is at least 0, D(x) ≥ Σ_I w(I) Σ_a x(I, a) log(z(I, a) / b*(I, a)), with
    equality where x plays like z. Dilated entropies: Hoda, Gilpin, Peña and Sandholm, "Smoothing techniques for
    computing Nash equilibria of sequential games", Mathematics of Operations Research 35 (2010).

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.models.distances import KLDistance
    >>> game = load_game("kuhn")
    >>> uniform = Strategy.uniform(game, 0)
    >>> betting = Strategy.from_dict(game, 0, {"K_": {"b": 1.0}})
    >>> round(KLDistance(uniform).value(betting.plan), 6)  # log 2
    0.693147
    """

    kind: ClassVar[str] = "kl"

    def __post_init__(self) -> None:
        super().__post_init__()
        missing = (self.reference.behaviour[1:] <= 0.0) & (self.sequence_weights > 0.0)
        if missing.any():
            infoset, action = self.treeplex.sequence_label(1 + int(np.argmax(missing))) or ("", "")
            raise InvalidStrategyError(
                f"the reference of KLDistance gives action {shown(action)} at infoset {shown(infoset)} no "
                "probability, expected a positive one everywhere: mix it with a little uniform play"
            )

    def to_cvxpy(self, plan: "cp.Variable") -> "cp.Expression":
        """Return the sum of relative entropies, for a solver of exponential cones."""
        import cvxpy as cp
        from cvxpy.atoms.elementwise.rel_entr import rel_entr

        counted = np.flatnonzero(self.sequence_weights > 0.0)
        if not len(counted):
            return cp.Constant(0.0)
        behaviour = sp.diags_array(self.reference.behaviour[1:][counted])
        expected = (behaviour @ self.treeplex.inflow[self.treeplex.sequence_infosets[1:][counted]]) @ plan
        divergence: cp.Expression = cp.Constant(self.sequence_weights[counted]) @ rel_entr(plan[counted + 1], expected)
        return divergence

    @cached_property
    def composition(self) -> Composition:
        """Relative entropies of the pairs w(I) x(I, a), w(I) b*(I, a) x(σ(I)) of sequences whose weight is positive."""
        counted, size = self._counted, self.treeplex.num_sequences
        own = sp.eye_array(size, format="csr")[1 + counted]
        spread = self.treeplex.inflow[self.treeplex.sequence_infosets[1:][counted]]
        weights = self.sequence_weights[counted]
        both = [sp.diags_array(weights) @ own, sp.diags_array(weights * self.reference.behaviour[1:][counted]) @ spread]
        pairs = np.stack([np.arange(len(counted)), np.arange(len(counted)) + len(counted)], axis=1).ravel()
        matrix = sp.csr_array(sp.csr_array(sp.vstack(both))[pairs])
        return Composition.of(RELATIVE_ENTROPY, matrix, np.zeros(len(pairs)), np.zeros(size), 0.0)

    def slopes_from(self, average: Floats) -> Floats:
        """Return the geometric mean of the behaviours whose slopes in :attr:`composition` were averaged.

        It proves at least what they prove on average: at each infoset the mean's entries sum to 1 at most, and are
        divided by the sum.
        """
        slopes = self.reference.behaviour.copy()
        counted = 1 + self._counted
        slopes[counted] *= np.exp(np.clip(average[0::2] - 1.0, -700.0, 700.0))
        return slopes

    @property
    def _counted(self) -> npt.NDArray[np.int64]:
        return np.flatnonzero(self.sequence_weights > 0.0).astype(np.int64)

    def cvxpy_slopes(self, constraints: "list[cp.Constraint]", multiplier: float = 1.0) -> Floats | None:
        """Return ``None``: :meth:`best_slopes` finds them."""
        return None

    def best_slopes(self, payoffs: Floats) -> Floats | None:
        """Return the behaviour that attains min over x of D(x) − payoffs · x.

        Bottom-up, v(I, a) = payoffs(I, a) + Σ v(J) over the infosets J that (I, a) leads to, z(I, a) is proportional to
        b*(I, a) exp(v(I, a) / w(I)), and v(I) = w(I) log Σ_a b*(I, a) exp(v(I, a) / w(I)).
        """
        values = self.treeplex.checked_vector(payoffs, "gradient")
        slopes = self.reference.behaviour.copy()
        for level in reversed(self.treeplex.levels):
            own = values[level.sequences]
            best = np.maximum.reduceat(own, level.starts)
            weights = self.weights[level.infosets]
            counted = weights > 0.0
            # With no weight the best action counts alone, and its slopes are not read.
            scale = np.where(counted, weights, 1.0)
            with np.errstate(over="ignore", under="ignore"):
                powers = np.exp((own - np.repeat(best, level.counts)) / np.repeat(scale, level.counts))
            powers *= self.reference.behaviour[level.sequences]
            totals = np.add.reduceat(powers, level.starts)
            counted &= totals > 0.0
            totals = np.where(counted, totals, 1.0)
            slopes[level.sequences] = np.where(
                np.repeat(counted, level.counts), powers / np.repeat(totals, level.counts), slopes[level.sequences]
            )
            level.pass_up(np.where(counted, best + weights * np.log(totals), best), values)
        return slopes

    def _value(self, plan: Floats) -> float:
        reach = self.treeplex.reach(plan)[self.treeplex.sequence_infosets[1:]]
        expected = reach * self.reference.behaviour[1:]
        counted = self.sequence_weights > 0.0
        # Each term is at least 0, and what it adds to x log(x / y) sums to 0 at every infoset: nothing cancels.
        terms = kl_div(np.maximum(plan[1:], 0.0)[counted], np.maximum(expected, 0.0)[counted])
        return float(self.sequence_weights[counted] @ terms)

    def _slopes_at(self, plan: Floats) -> Floats:
        """Return the plan's behaviour, the reference's where the plan does not go."""
        plan = np.maximum(plan, 0.0)
        reached = np.repeat(self.treeplex.reach(plan) > 0.0, self.treeplex.num_actions)
        slopes = self.treeplex.behaviour(plan)
        slopes[1:] = np.where(reached, slopes[1:], self.reference.behaviour[1:])
        return self._valid(slopes)

    def _valid(self, slopes: Floats) -> Floats:
        """Return the slopes as a behaviour that gives every action some probability."""
        behaviour = np.maximum(self._checked_slopes(slopes, self.treeplex.num_sequences), 0.0)
        if self.treeplex.num_infosets:
            starts, counts = self.treeplex.offsets[:-1], self.treeplex.num_actions
            largest = np.maximum.reduceat(behaviour, starts)
            behaviour[1:] /= np.repeat(np.where(largest > 0.0, largest, 1.0), counts)
            behaviour = np.maximum(behaviour, LEAST)
            behaviour[1:] /= np.repeat(np.add.reduceat(behaviour, starts), counts)
        return behaviour

    def _coefficients(self, slopes: Floats) -> Floats:
        coefficients = np.zeros(self.treeplex.num_sequences)
        counted = self.sequence_weights > 0.0
        ratios = np.log(slopes[1:][counted]) - np.log(self.reference.behaviour[1:][counted])
        coefficients[1:][counted] = self.sequence_weights[counted] * ratios
        return coefficients
