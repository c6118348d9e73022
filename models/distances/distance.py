"""What all distances of a plan from a reference strategy have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidStrategyError, one_line, shown
from ...seqform.evaluate import best_response_value
from ...seqform.polytope import Treeplex
from ...seqform.strategy import Strategy, check_same_game
from ..constraints.composition import Composition

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class Distance(ABC):
    """How far a player's plan x is from a reference strategy b*: what the three distances have in common.

    A plan differs from the reference at a sequence (I, a) by (B x)(I, a) = x(I, a) − b*(I, a) x(σ(I)); in a flow
    polytope the whole inflow of I stands for x(σ(I)). So what a plan does where it does not go counts nothing, and a
    distance is 0 exactly at the plans that play like the reference wherever they go and the weight is not 0. Take
    :class:`L1Distance`, :class:`L2Distance` or :class:`KLDistance`.

    Parameters
    ----------
    reference : Strategy
        b*, with its behaviour also where it does not go itself.
    weights : array_like, shape (num_infosets,), optional
        w(I) ≥ 0, how much each infoset counts; 1 by default.
        :func:`~treeplex.seqform.functional.reach_of_others` returns the probability that chance and the other players
        allow each infoset.

    Raises
    ------
    InvalidStrategyError
        If the reference is no strategy, or the weights are no such array.
    """

    reference: Strategy
    weights: Any = None

    #: How the distance is called in messages and on the command line.
    kind: ClassVar[str] = ""
    #: Whether a linear program can state it.
    is_linear: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.reference, Strategy):
            raise InvalidStrategyError(
                f"the reference of {type(self).__name__} is {shown(self.reference)}, expected a Strategy"
            )
        object.__setattr__(self, "weights", self._checked_weights())

    def _checked_weights(self) -> Floats:
        count = self.treeplex.num_infosets
        try:
            weights = np.ones(count) if self.weights is None else np.array(self.weights, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidStrategyError(f"the weights of a distance are no numbers: {one_line(str(error))}") from None
        if weights.shape != (count,):
            raise InvalidStrategyError(
                f"the weights of a distance have shape {weights.shape}, expected ({count},): one an infoset"
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

    @property
    def player(self) -> int:
        """Whose plan it measures."""
        return self.reference.player

    @property
    def treeplex(self) -> Treeplex:
        """The polytope of that player."""
        return self.reference.treeplex

    @cached_property
    def sequence_weights(self) -> Floats:
        """The weight of each sequence's infoset, shape (num_sequences − 1,): the empty sequence has none."""
        return np.repeat(self.weights, self.treeplex.num_actions)

    @cached_property
    def scale(self) -> float:
        """How large distances are, but for a factor: the largest Σ_I w(I) x(σ(I)) over the plans; 1 if it is 0."""
        return best_response_value(self.treeplex, self.treeplex.inflow.T @ self.weights) or 1.0

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.weights.flags.writeable = False  # stored arrays come back writeable

    def value(self, plan: Strategy | npt.ArrayLike) -> float:
        """Return the distance of a strategy, or of a plan.

        Parameters
        ----------
        plan : Strategy, or array_like of shape (num_sequences,)
            Of the same player; a plan in the player's polytope.

        Raises
        ------
        InvalidStrategyError
            If it is a strategy of another player or game, or no vector of that shape.
        """
        if isinstance(plan, Strategy):
            check_same_game(plan, self.reference.sequence_form)
            if plan.player != self.player:
                raise InvalidStrategyError(
                    f"a distance from a strategy of player {self.player} received one of player {plan.player}"
                )
            plan = plan.plan
        return self._value(self.treeplex.checked_vector(plan, "realization plan"))

    def gradient(self, plan: npt.ArrayLike) -> Floats:
        """Return a subgradient at a plan, shape (num_sequences,); the gradient where there is one.

        It is the gradient along the polytope, that of a function which is positively homogeneous in the plan: its
        product with the plan is the distance.
        """
        return self.minorant(plan)[0]

    def minorant(self, plan: npt.ArrayLike, slopes: Floats | None = None) -> tuple[Floats, float]:
        """Return a linear lower bound that is tight at a plan.

        Parameters
        ----------
        plan : array_like, shape (num_sequences,)
        slopes : ndarray of float64, optional
            What the bound is made from instead of from the plan, such as a solver's; each distance says what they are.
            Whatever they are, the bound holds.

        Returns
        -------
        coefficients : ndarray of float64, shape (num_sequences,)
        constant : float
            With D(x) ≥ coefficients · x + constant for every x of the polytope.
        """
        vector = self.treeplex.checked_vector(plan, "realization plan")
        return self._coefficients(self._slopes_at(vector) if slopes is None else self._valid(slopes)), 0.0

    @property
    @abstractmethod
    def composition(self) -> Composition:
        """The distance as a function of B x."""

    def slopes_from(self, average: Floats) -> Floats:
        """Return slopes from an average of the slopes of :attr:`composition`: here they are the same."""
        return average

    def best_slopes(self, payoffs: Floats) -> Floats | None:
        """Return the slopes whose minorant proves the most of min over x of D(x) − payoffs · x.

        ``None`` where they do not follow from the payoffs alone.
        """
        return None

    @abstractmethod
    def to_cvxpy(self, plan: "cp.Variable") -> "cp.Expression":
        """Return the distance as a convex cvxpy expression.

        Parameters
        ----------
        plan : cvxpy.Variable, shape (num_sequences,)
            Such as ``game.plan(player)``, with E x = e and x ≥ 0 among the constraints of the problem.
        """

    def cvxpy_parts(self, plan: "cp.Variable") -> "tuple[cp.Expression, list[cp.Constraint]]":
        """Return the distance, and constraints that define it; the multipliers of the first give the slopes.

        See :meth:`cvxpy_slopes`.
        """
        return self.to_cvxpy(plan), []

    def cvxpy_slopes(self, constraints: "list[cp.Constraint]", multiplier: float = 1.0) -> Floats | None:
        """Return the slopes at the solution of a cvxpy problem with the constraints of :meth:`cvxpy_parts`.

        Parameters
        ----------
        constraints : list of cvxpy.Constraint
        multiplier : float
            How much of the distance the problem minimises: 1 where it is the objective, the multiplier of a bound on it
            otherwise.

        Returns
        -------
        ndarray of float64 or None
            ``None`` where a solver has nothing to say of them.
        """
        if not constraints or constraints[0].dual_value is None or not multiplier > 0.0:
            return None
        return np.asarray(-constraints[0].dual_value, dtype=np.float64) / multiplier

    @abstractmethod
    def _value(self, plan: Floats) -> float: ...

    @abstractmethod
    def _slopes_at(self, plan: Floats) -> Floats:
        """Return valid slopes that are tight at a plan."""

    @abstractmethod
    def _valid(self, slopes: Floats) -> Floats:
        """Return slopes that prove a bound: those given, as far as they do."""

    @abstractmethod
    def _coefficients(self, slopes: Floats) -> Floats:
        """Return the minorant of valid slopes."""

    def _checked_slopes(self, slopes: Floats, count: int) -> Floats:
        vector = np.array(slopes, dtype=np.float64)
        if vector.shape != (count,):
            raise InvalidStrategyError(f"the slopes of a distance have shape {vector.shape}, expected ({count},)")
        return np.nan_to_num(vector, nan=0.0, posinf=0.0, neginf=0.0)
