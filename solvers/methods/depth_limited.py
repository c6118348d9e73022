"""The method whose steps end at a depth limit, with a value function below."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from ...seqform.errors import UnknownMethodError
from ...seqform.parameters import check_parameters
from .base import STEPPED, Averaging, Base, Iterate, Updates
from .regret import BASES, RegretMethod


@dataclass(frozen=True)
class DepthLimitedCFR(RegretMethod):
    """Depth-limited steps by regret minimisation above the limit, with a value function below it.

    The other methods for these problems iterate on all that is left of the game at each step, which is the exact value
    function; here a step looks down to its depth limit alone.

    Parameters
    ----------
    base : {"cfr+", "pcfr+", "dcfr", "cfr"}
        How regrets above the limit accumulate.
    value : ValueFunction or callable, optional
        :class:`~treeplex.solvers.CFRValue` by default, of 500 iterations a query; a learnt one
        (:class:`~treeplex.solvers.LinearValue`, :class:`~treeplex.solvers.NetworkValue`), or a function of a border and
        both ranges that returns the values of both players' ways in, see
        :class:`~treeplex.solvers.depth_limited.ValueFunction`.
    updates, iterate : str
        As :class:`RegretMethod`; the iterate is the average. With alternating updates an iteration asks twice.
    averaging : str or float, optional
        By default that of the base.

    Notes
    -----
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", 2021 (arXiv:2112.12594): CFR+ of 1,000 iterations with CFR+ of 500 a query. A step's gap is that of plans in
    the whole game, and holds whatever the value function answered.

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

    #: The one step of ses sees the game to its end.
    problems: ClassVar[frozenset[str]] = STEPPED - {"ses"}
    default_iterations: ClassVar[int] = 1_000

    def __post_init__(self) -> None:
        from ..depth_limited import as_value_function

        object.__setattr__(self, "value", as_value_function(self.value))
        check_parameters(self, UnknownMethodError)
        if self.iterate != "average":
            raise UnknownMethodError(f"{self.name}: iterate = {self.iterate}; expected average")
        if self.averaging is None:
            object.__setattr__(self, "averaging", BASES[self.base]().averaging)
        super().__post_init__()

    @property
    def name(self) -> str:  # type: ignore[override]
        """The base, and the value function."""
        return f"{self.base} with value {self.value.name}" if self.value is not None else str(self.base)

    @property
    def base_method(self) -> RegretMethod:
        """The method above the limit."""
        return BASES[self.base](updates=self.updates, averaging=self.averaging_power)
