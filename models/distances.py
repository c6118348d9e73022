"""Distances of a plan from a reference strategy: three convex functions of the plan.

A distance is a :class:`~treeplex.models.convex.ConvexFunction` with a reference strategy, and is accepted wherever such
a function is.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..seqform.arrays import Floats, Integers, floats
from ..seqform.errors import InvalidStrategyError, UnsupportedProblemError, shown
from ..seqform.polytope import Treeplex, best_response_value
from ..seqform.rationals import exact_behaviour, to_fractions
from ..seqform.rules import Number
from ..seqform.strategy import Strategy, check_same_game, check_strategy
from .convex import ConvexFunction, Norm1, Norm2, RelativeEntropy, Term
from .programs.triplets import Triplets

#: Replaces zero probabilities whose logarithm is needed: small enough not to weaken a bound.
LEAST = 1e-15


@dataclass(frozen=True, eq=False)
class Distance(ConvexFunction, ABC):
    """The distance of a player's plan x from a reference strategy b*; base class of the three distances.

    A plan differs from the reference at a sequence (I, a) by (B x)(I, a) = x(I, a) − b*(I, a) x(σ(I)); in a flow
    polytope x(σ(I)) is the whole inflow of I. So a plan's behaviour at infosets that it does not reach does not count.
    The distance is 0 exactly for the plans that play like the reference at all infosets that they reach and whose
    weight is not 0. Use :class:`L1Distance`, :class:`L2Distance` or :class:`KLDistance`.

    Parameters
    ----------
    reference : Strategy
        b*, including its behaviour at infosets that it does not reach itself.
    weights : array_like, shape (num_infosets,), optional
        w(I) ≥ 0, the weight of each infoset; by default 1. :func:`~treeplex.seqform.functional.reach_of_others` returns
        the probability that chance and the other players reach each infoset.

    Raises
    ------
    InvalidStrategyError
        If the reference is not a strategy, or the weights are not such an array.
    """

    indices: Integers = field(init=False, repr=False)
    numbers: npt.NDArray[Any] = field(init=False, repr=False)
    constant: Number = field(init=False, repr=False)
    terms: tuple[Term, ...] = field(init=False, repr=False)
    reference: Strategy
    weights: Any = None

    #: The name of the distance in messages and on the command line.
    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_strategy(self.reference, f"the reference of {type(self).__name__}")
        object.__setattr__(self, "weights", self._checked_weights())
        vars(self).update(vars(ConvexFunction.of([self._term()])))

    def _checked_weights(self) -> Floats:
        count = self.treeplex.num_infosets
        given = np.ones(count) if self.weights is None else self.weights
        weights = floats(given, "the weights of a distance are not numbers", InvalidStrategyError)
        if weights.shape != (count,):
            raise InvalidStrategyError(
                f"the weights of a distance have shape {weights.shape}, expected ({count},): one per infoset"
            )
        sound = np.isfinite(weights) & (weights >= 0.0)
        if not sound.all():
            wrong = int(np.argmin(sound))
            raise InvalidStrategyError(
                f"infoset {shown(self.treeplex.infoset_labels[wrong])} has weight {weights[wrong]:g} in a distance, "
                "expected a finite number of at least 0"
            )
        weights.flags.writeable = False
        return weights

    @abstractmethod
    def _term(self) -> Term:
        """Return the single term of the distance."""

    @property
    def player(self) -> int:
        """The player whose plan the distance measures."""
        return self.reference.player

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the game."""
        return self.reference.fingerprint

    @property
    def function(self) -> ConvexFunction:
        """The distance itself, which is a convex function."""
        return self

    @property
    def treeplex(self) -> Treeplex:
        """The polytope of the player's plans."""
        return self.reference.treeplex

    @cached_property
    def sequence_weights(self) -> Floats:
        """The weight of each sequence's infoset, shape (num_sequences − 1,); the empty sequence has none."""
        return np.repeat(self.weights, self.treeplex.num_actions)

    @cached_property
    def scale(self) -> float:
        """The order of magnitude of distances: the largest Σ_I w(I) x(σ(I)) over the plans; 1 if it is 0."""
        return best_response_value(self.treeplex, self.treeplex.inflow.T @ self.weights) or 1.0

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.weights.flags.writeable = False  # unpickled arrays are writeable

    def value(self, plan: "Strategy | npt.ArrayLike") -> Any:
        """Return the distance of a strategy, or of a plan.

        Parameters
        ----------
        plan : Strategy, or array_like of shape (num_sequences,)
            A strategy of the same player, or a plan in the player's polytope, of floats or fractions.

        Raises
        ------
        InvalidStrategyError
            If it is a strategy of another player or game, or not a vector of that shape.
        """
        if isinstance(plan, Strategy):
            check_same_game(plan, self.reference.sequence_form)
            if plan.player != self.player:
                raise InvalidStrategyError(
                    f"a distance from a strategy of player {self.player} received a strategy of player {plan.player}"
                )
            plan = plan.plan
        return super().value(self._checked_plan(plan))

    def gradient(self, plan: npt.ArrayLike) -> Floats:
        """Return a subgradient at a plan, shape (num_sequences,); the gradient if there is one.

        It is the gradient, along the polytope, of a positively homogeneous function of the plan. Its product with the
        plan is the distance.
        """
        gradient: Floats = self.minorant(plan)[0]
        return gradient

    def minorant(self, plan: npt.ArrayLike, slopes: npt.NDArray[Any] | None = None) -> tuple[Any, Any]:
        """Return a linear lower bound that is tight at a plan.

        Parameters
        ----------
        plan : array_like, shape (num_sequences,)
        slopes : ndarray of float64 or of Fraction, optional
            Slopes that define the bound instead of the plan, such as a solver's; each distance documents its slopes.
            The bound holds for any values.

        Returns
        -------
        coefficients : ndarray of float64, shape (num_sequences,)
        constant : float
            D(x) ≥ coefficients · x + constant for every x in the polytope.

        Raises
        ------
        InvalidStrategyError
            If the slopes have the wrong shape.
        """
        if slopes is not None:
            slopes = slopes if slopes.dtype == object else np.array(slopes, dtype=np.float64)
            if slopes.shape != (self.size,):
                raise InvalidStrategyError(
                    f"the slopes of a distance have shape {slopes.shape}, expected ({self.size},)"
                )
        return super().minorant(self._checked_plan(plan), slopes)

    def _checked_plan(self, plan: npt.ArrayLike) -> npt.NDArray[Any]:
        if isinstance(plan, np.ndarray) and plan.dtype == object:
            return plan
        return self.treeplex.checked_vector(plan, "realization plan")

    def best_slopes(self, payoffs: Floats) -> Floats | None:
        """Return the slopes whose minorant proves the largest bound on min over x of D(x) − payoffs · x.

        ``None`` if they do not follow from the payoffs alone.
        """
        return None


@dataclass(frozen=True, eq=False)
class _Differences(Norm1):
    """The function Σ w(I) abs(x(I, a) − b*(I, a) x(σ(I))), in floats or in fractions."""

    distance: "L1Distance"

    @cached_property
    def exact_matrix(self) -> Triplets:
        """The matrix B in fractions.

        The reference's behaviour is that of its :func:`~treeplex.seqform.rationals.exact_plan`, so the distance of that
        plan is exactly 0; weights are converted by :func:`~treeplex.seqform.rationals.intended_fraction`.
        """
        treeplex = self.distance.treeplex
        count, inflow = treeplex.num_sequences - 1, treeplex.inflow
        played = exact_behaviour(treeplex, self.distance.reference.behaviour)[1:]
        inflows = to_fractions(inflow.data)
        # One row per sequence: the sequence minus its probability times the inflow of its infoset.
        infosets = treeplex.sequence_infosets[1:]
        lengths = np.diff(inflow.indptr)[infosets]
        sequences = np.arange(count)
        rows = np.concatenate([sequences, np.repeat(sequences, lengths)])
        places = np.concatenate(
            [np.arange(inflow.indptr[infoset], inflow.indptr[infoset + 1]) for infoset in infosets]
            or [np.zeros(0, dtype=np.int64)]
        )
        columns = np.concatenate([sequences + 1, inflow.indices[places]])
        factors = to_fractions(self.distance.sequence_weights)
        values = np.concatenate([factors, -(factors * played)[rows[count:]] * inflows[places]])
        shape = (count, treeplex.num_sequences)
        return Triplets(shape, rows.astype(np.int64), columns.astype(np.int64), values).compressed()


@dataclass(frozen=True, eq=False)
class L1Distance(Distance):
    """The sum of absolute differences from a reference strategy: Σ_I w(I) Σ_a abs(x(I, a) − b*(I, a) x(σ(I))).

    At an infoset without an earlier decision of the player it is the ℓ1 distance of behaviours, twice the total
    variation. A linear program can express it. Slopes are numbers from −1 to 1, one for each sequence except the empty
    one.

    Parameters
    ----------
    reference : Strategy
    weights : array_like, shape (num_infosets,), optional

    Raises
    ------
    InvalidStrategyError
        If the reference is not a strategy, or the weights are not one number of at least 0 per infoset.

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

    def _term(self) -> Term:
        return _Differences(*_weighted_differences(self, self.sequence_weights), self)


@dataclass(frozen=True, eq=False)
class L2Distance(Distance):
    """The Euclidean distance from a reference strategy: √(Σ_I w(I) Σ_a (x(I, a) − b*(I, a) x(σ(I)))²).

    Slopes are a vector of Euclidean length at most 1, with one entry for each sequence except the empty one.

    Parameters
    ----------
    reference : Strategy
    weights : array_like, shape (num_infosets,), optional

    Raises
    ------
    InvalidStrategyError
        If the reference is not a strategy, or the weights are not one number of at least 0 per infoset.

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

    def _term(self) -> Term:
        return Norm2(*_weighted_differences(self, np.sqrt(self.sequence_weights)))

    @cached_property
    def scale(self) -> float:
        """The order of magnitude of distances: the square root of the largest Σ_I w(I) x(σ(I)); 1 if it is 0."""
        return float(np.sqrt(super().scale))


@dataclass(frozen=True, eq=False)
class KLDistance(Distance):
    """The dilated Kullback–Leibler divergence from a reference strategy b* that plays every action.

    Σ_I w(I) Σ_a x(I, a) log(x(I, a) / (x(σ(I)) b*(I, a))): the divergence of the behaviours at each infoset, weighted
    by the plan's reach of the infoset.

    Parameters
    ----------
    reference : Strategy
        Positive at every action of an infoset whose weight is positive.
    weights : array_like, shape (num_infosets,), optional

    Raises
    ------
    InvalidStrategyError
        If the reference is not a strategy or gives an action probability 0, or the weights are not one number of at
        least 0 per infoset.

    Notes
    -----
    The divergence is jointly convex in x(I, ·) and x(σ(I)), because (p, q) ↦ p log(p / q) is. The opposite divergence,
    Σ b* log(b* / b), is not convex in the plan. Slopes are a behaviour strategy z, shape (num_sequences,), whose entry
    0 is ignored. Since the divergence of a behaviour from z is at least 0, D(x) ≥ Σ_I w(I) Σ_a x(I, a) log(z(I, a) /
    b*(I, a)), with equality if x plays like z. Dilated entropies: Hoda, Gilpin, Peña and Sandholm, "Smoothing
    techniques for computing Nash equilibria of sequential games", Mathematics of Operations Research 35 (2010).

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

    def _term(self) -> Term:
        missing = (self.reference.behaviour[1:] <= 0.0) & (self.sequence_weights > 0.0)
        if missing.any():
            infoset, action = self.treeplex.sequence_label(1 + int(np.argmax(missing))) or ("", "")
            raise InvalidStrategyError(
                f"the reference of KLDistance gives action {shown(action)} at infoset {shown(infoset)} probability 0, "
                "expected positive probabilities everywhere: mix it with a little uniform play"
            )
        return DilatedEntropy.of(self.treeplex, self.reference.behaviour, self.sequence_weights)

    def best_slopes(self, payoffs: Floats) -> Floats | None:
        """Return the behaviour that attains min over x of D(x) − payoffs · x.

        Bottom-up, v(I, a) = payoffs(I, a) + Σ v(J) over the infosets J that follow (I, a). z(I, a) is proportional to
        b*(I, a) exp(v(I, a) / w(I)), and v(I) = w(I) log Σ_a b*(I, a) exp(v(I, a) / w(I)).
        """
        values = self.treeplex.checked_vector(payoffs, "gradient")
        slopes = self.reference.behaviour.copy()
        for level in reversed(self.treeplex.levels):
            own = values[level.sequences]
            best = np.maximum.reduceat(own, level.starts)
            weights = self.weights[level.infosets]
            counted = weights > 0.0
            # Where the weight is 0, only the best action counts, and the slopes are ignored.
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


@dataclass(frozen=True, eq=False)
class DilatedEntropy(RelativeEntropy):
    """The entropies of the pairs w(I) x(I, a), w(I) b*(I, a) x(σ(I)) of sequences with positive weight.

    Its slopes are those of :class:`KLDistance`: a behaviour strategy, which proves more than separate slopes of the
    pairs.

    Attributes
    ----------
    treeplex : Treeplex
    behaviour : ndarray of float64, shape (num_sequences,)
        b*.
    weights : ndarray of float64, shape (num_sequences − 1,)
        Weights of all sequences except the empty one.
    """

    treeplex: Treeplex
    behaviour: Floats
    weights: Floats

    @classmethod
    def of(cls, treeplex: Treeplex, behaviour: Floats, weights: Floats) -> "DilatedEntropy":
        """Return the divergence from a behaviour."""
        counted = np.flatnonzero(weights > 0.0)
        own = sp.eye_array(treeplex.num_sequences, format="csr")[1 + counted]
        spread = treeplex.inflow[treeplex.sequence_infosets[1:][counted]]
        factors = sp.diags_array(weights[counted]), sp.diags_array(weights[counted] * behaviour[1:][counted])
        pairs = np.arange(2 * len(counted)).reshape(2, -1).T.ravel()
        matrix = sp.csr_array(sp.csr_array(sp.vstack([factors[0] @ own, factors[1] @ spread]))[pairs])
        return cls(matrix, np.zeros(len(pairs)), treeplex, behaviour, weights)

    @property
    def size(self) -> int:
        """Number of slopes."""
        return self.treeplex.num_sequences

    @property
    def _counted(self) -> npt.NDArray[np.int64]:
        return np.flatnonzero(self.weights > 0.0).astype(np.int64)

    def value(self, plan: npt.NDArray[Any]) -> Any:
        """Return the divergence at a plan."""
        reach = self.treeplex.reach(plan)[self.treeplex.sequence_infosets[1:]]
        expected, counted = reach * self.behaviour[1:], self._counted
        # Each term is at least 0, and the terms added to x log(x / y) sum to 0 at every infoset, so nothing cancels.
        from scipy.special import kl_div

        terms = kl_div(np.maximum(plan[1:], 0.0)[counted], np.maximum(expected, 0.0)[counted])
        return self.weights[counted] @ terms

    def slopes_at(self, plan: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the plan's behaviour; at infosets that the plan does not reach, the reference's."""
        plan = np.maximum(plan, 0.0)
        reached = np.repeat(self.treeplex.reach(plan) > 0.0, self.treeplex.num_actions)
        slopes = self.treeplex.behaviour(plan)
        slopes[1:] = np.where(reached, slopes[1:], self.behaviour[1:])
        return slopes

    def extent(self, low: Floats, high: Floats) -> tuple[float, float, float]:
        """Return bounds on the divergence; its slopes are unbounded, because −log 0 is infinite."""
        surprise = np.zeros(self.treeplex.num_sequences)
        counted = 1 + self._counted
        surprise[counted] = -self.weights[self._counted] * np.log(self.behaviour[counted])
        return 0.0, best_response_value(self.treeplex, surprise), np.inf

    def from_loop(self, average: Floats) -> Floats:
        """Return the geometric mean of the behaviours whose pair slopes were averaged.

        It proves at least as much as they do on average: at each infoset the mean's entries sum to at most 1, and are
        divided by the sum.
        """
        slopes = self.behaviour.copy()
        slopes[1 + self._counted] *= np.exp(np.clip(average[0::2] - 1.0, -700.0, 700.0))
        return slopes

    def _valid(self, slopes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the slopes as a behaviour that gives every action a positive probability."""
        behaviour: Floats = np.maximum(slopes, 0.0)
        if self.treeplex.num_infosets:
            starts, counts = self.treeplex.offsets[:-1], self.treeplex.num_actions
            largest = np.maximum.reduceat(behaviour, starts)
            behaviour[1:] /= np.repeat(np.where(largest > 0.0, largest, 1.0), counts)
            behaviour = np.maximum(behaviour, LEAST)
            behaviour[1:] /= np.repeat(np.add.reduceat(behaviour, starts), counts)
        return behaviour

    def minorant(self, slopes: npt.NDArray[Any]) -> tuple[Any, Any] | None:
        """Return g and k with D(x) ≥ g · x + k for every plan x; k is 0."""
        behaviour, counted = self._valid(slopes), 1 + self._counted
        coefficients = np.zeros(self.size)
        ratios = np.log(behaviour[counted]) - np.log(self.behaviour[counted])
        coefficients[counted] = self.weights[counted - 1] * ratios
        return coefficients, 0.0


def _weighted_differences(distance: Distance, factors: Floats) -> tuple[sp.csr_array, Floats]:
    """Return B and c of the weighted differences from the reference: one row for each sequence except the empty one."""
    treeplex = distance.treeplex
    spread = treeplex.inflow[treeplex.sequence_infosets[1:]]
    own = sp.eye_array(treeplex.num_sequences, format="csr")[1:]
    matrix = own - sp.diags_array(distance.reference.behaviour[1:]) @ spread
    return sp.csr_array(sp.diags_array(factors) @ matrix), np.zeros(len(factors))


#: The distances by kind.
DISTANCES: dict[str, type[Distance]] = {distance.kind: distance for distance in (L1Distance, L2Distance, KLDistance)}


def check_distance(problem: str, distance: Any) -> None:
    """Raise an error if the argument is not a distance.

    Raises
    ------
    UnsupportedProblemError
    """
    if not isinstance(distance, Distance):
        names = ", ".join(kind.__name__ for kind in DISTANCES.values())
        raise UnsupportedProblemError(f"{problem}: the distance is {shown(distance)}, expected one of {names}")
