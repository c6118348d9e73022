"""The method whose steps end at a depth limit, with a value function below it."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from ...models.problems import Feature
from ...seqform.errors import InvalidOptionError, shown
from ..methods.declarations import Averaging, Base, Iterate, Updates
from ..methods.successors import BasedMethod
from .value_functions import CallableValue, RememberingValue, ValueFunction


@dataclass(frozen=True)
class DepthLimitedCFR(BasedMethod):
    """Depth-limited steps by regret minimisation above the limit, with a value function below it.

    Other methods for these problems iterate on the whole rest of the game at each step, which is the exact value
    function. With this method a step looks only down to its depth limit.

    Parameters
    ----------
    base : {"cfr+", "pcfr+", "dcfr", "cfr"}
        How regrets above the limit accumulate.
    value : ValueFunction or callable, optional
        By default :class:`~treeplex.solvers.CFRValue` with 500 iterations per query. Other choices are a learned value
        function (:class:`~treeplex.solvers.LinearValue`, :class:`~treeplex.solvers.NetworkValue`), and a function of a
        border and both ranges that returns the values of both players' entries; see
        :class:`~treeplex.solvers.depth_limited.ValueFunction`.
    updates, iterate : str
        As for :class:`RegretMethod`. The iterate is the average or, if the opponent is held to the model above the
        limit (:class:`~treeplex.CDBR`, or p = 1), the best. An iteration with alternating updates makes two
        queries, or one for the best iterate.
    averaging : str or float, optional
        By default, the averaging of the base method.

    Notes
    -----
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", 2021 (arXiv:2112.12594): CFR+ with 1,000 iterations, and CFR+ with 500 per query. A step's gap is computed
    from plans in the whole game, so it is valid whatever the value function answers.

    Examples
    --------
    >>> from treeplex import CDBR, Strategy, load_game, solve
    >>> from treeplex.solvers import CFRValue, DepthLimitedCFR
    >>> game = load_game("kuhn")
    >>> method = DepthLimitedCFR("cfr+", CFRValue(iterations=50))
    >>> solution = solve(CDBR(game, Strategy.uniform(game, 1), lookahead=1), method, max_iterations=100)
    >>> round(solution.objective, 2)
    0.5
    """

    base: Base = "cfr+"
    value: Any = None
    updates: Updates = dataclasses.field(default="alternating", kw_only=True)
    averaging: Averaging = dataclasses.field(default=None, kw_only=True)
    iterate: Iterate = dataclasses.field(default="average", kw_only=True)

    #: The only step of ses reaches the end of the game.
    serves: ClassVar[frozenset[str]] = frozenset({Feature.STEPS})
    keeps_runs: ClassVar[bool] = False  # a value function may remember its queries
    default_iterations: ClassVar[int] = 1_000
    backend: ClassVar[str] = "treeplex.solvers.depth_limited.value_steps"
    backends: ClassVar[dict[str, str]] = {}

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_value_function(self.value))
        super().__post_init__()
        if self.iterate == "last":
            raise InvalidOptionError(f"{self.name}: iterate = {self.iterate}; expected average or best")

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the base method, followed by that of the value function."""
        return f"{self.base} with value {self.value.name}" if self.value is not None else str(self.base)

    def fresh_value(self) -> ValueFunction:
        """Return the value function without memory of other solves."""
        value: ValueFunction = self.value.anew() if isinstance(self.value, RememberingValue) else self.value
        return value


def as_value_function(value: Any) -> ValueFunction:
    """Return the value function for an argument: the argument itself, a :class:`CallableValue`, or CFR+ for ``None``.

    Raises
    ------
    InvalidOptionError
        If it is none of these.
    """
    from .cfr_value import CFRValue

    if value is None:
        return CFRValue()
    if isinstance(value, ValueFunction):
        return value
    if callable(value):
        return CallableValue(value, str(getattr(value, "__name__", "callable")))
    raise InvalidOptionError(
        f"value is {shown(value)}, expected a value function, or a callable with the same signature"
    )
