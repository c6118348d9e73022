"""What every problem can say of itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

from ...seqform.arrays import Floats
from ...seqform.game import Game
from ...seqform.strategy import Profile
from ..programs.linear_program import LinearProgram

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True)
class StepBounds:
    """What is proven of one step of a method that decides step after step.

    Attributes
    ----------
    level : int
        Of the decisions that the step makes, in the public tree.
    objective : float
        What the step's plan is worth in the step, in payoff units.
    upper : float
        What no plan that agrees with the decisions before the step exceeds there.
    """

    level: int
    objective: float
    upper: float

    @property
    def gap(self) -> float:
        """Upper bound minus objective."""
        return self.upper - self.objective


@dataclass(frozen=True)
class Certificate:
    """How good strategies are, computed from them alone: best responses and residuals, never a solver's word.

    Attributes
    ----------
    value : tuple of float
        Each player's expected payoff.
    objective : float or None
        What the problem optimises, at these strategies; ``None`` where it optimises nothing.
    lower, upper : float or None
        Bounds that the strategies prove on the optimal objective.
    exploitability : float
        Of a profile, NashConv divided by the number of players; of one player's strategy, the value of the game to that
        player minus the worst case. In payoff units.
    residual : float
        How far the plans are from their polytopes: the largest of ``|E x − e|`` and of −x.
    violations : mapping of str to float
        By constraint; positive where it is violated.
    player : int or None
        Whose strategy it is about; ``None`` if it is about a profile.
    opponent_value : float or None
        What that player earns against the model of the opponent.
    game_value : float or None
        The value of the game to that player.
    gain : float or None
        What it earns against the model beyond that.
    steps : tuple of StepBounds
        Of a depth-limited response, in the order in which it decides.
    """

    value: tuple[float, ...]
    objective: float | None
    lower: float | None
    upper: float | None
    exploitability: float
    residual: float
    violations: Mapping[str, float]
    player: int | None = None
    opponent_value: float | None = None
    game_value: float | None = None
    gain: float | None = None
    steps: tuple[StepBounds, ...] = ()

    @property
    def gap(self) -> float | None:
        """Upper bound minus lower bound."""
        return None if self.lower is None or self.upper is None else self.upper - self.lower

    @property
    def violation(self) -> float:
        """The largest violation, 0 if there is none."""
        return max(0.0, *self.violations.values()) if self.violations else 0.0


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solved program says: plans, which prove themselves later, and multipliers, which help to.

    Attributes
    ----------
    plans : sequence of ndarray of float64
        One a player.
    multipliers : mapping of str to float
        By constraint: the objective's gain per unit of loosening, at least 0.
    evidence : mapping of str to ndarray of float64
        What else helps to prove a bound, by names that the problem documents, such as the slopes of a function that has
        a kink at the answer. It is checked or clipped before it is used, so that no evidence proves a wrong bound.
    """

    plans: Sequence[Floats]
    multipliers: Mapping[str, float] = field(default_factory=dict)
    evidence: Mapping[str, Floats] = field(default_factory=dict)


class Problem(Protocol):
    """A question about a game, as data.

    Attributes
    ----------
    name : str
        What the command line calls it.
    game : Game
    """

    name: ClassVar[str]

    @property
    def game(self) -> Game:
        """The game that the question is about."""
        ...

    def linear_program(self) -> LinearProgram:
        """Return the exact formulation as a sparse linear program."""
        ...

    def to_cvxpy(self) -> "cp.Problem":
        """Return the exact formulation in cvxpy; :meth:`read_cvxpy` reads its solution."""
        ...

    def read_linear_program(self, primal: Mapping[str, Floats], dual: Mapping[str, Floats]) -> Answer:
        """Return plans and multipliers from the solution of :meth:`linear_program`, by its column and row blocks."""
        ...

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return one plan a player, and multipliers, from the solved :meth:`to_cvxpy`."""
        ...

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        evidence: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute how good a profile is, from its plans alone.

        Any multipliers and evidence give valid bounds; good ones give tight bounds.
        """
        ...

    def error(self, certificate: Certificate) -> float:
        """Return what a tolerance bounds in this problem, in payoff units."""
        ...
