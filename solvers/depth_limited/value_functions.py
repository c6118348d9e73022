"""Value functions: the value of the rest of a game to both players, given their ranges."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...models.depth_limited import LeafStates
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, shown


@dataclass(frozen=True, eq=False)
class BorderValues:
    """The answer of a value function; its tuples have one item per seat.

    Attributes
    ----------
    values : tuple of ndarray of float64, shape (num_ways,)
        The counterfactual value of each entry to its player, multiplied by chance and the other player's range, in
        payoff units. For exact values, the sum of range times value over both players is 0.
    error : float or None
        A bound on the error of the value at these ranges, in payoff units; ``None`` if it is not measured.
    behaviours : tuple of ndarray of float64, shape (num_sequences of border.rest,), or None
        The strategies in the rest of the game behind the values, if there are any.
    """

    values: tuple[Floats, Floats]
    error: float | None = None
    behaviours: tuple[Floats, Floats] | None = None


@runtime_checkable
class ValueFunction(Protocol):
    """An object that returns the values of a border's entries, given both players' ranges.

    Attributes
    ----------
    name : str
    """

    @property
    def name(self) -> str:
        """The name in tables and messages."""
        ...

    def query(self, border: LeafStates, ranges: tuple[Floats, Floats]) -> BorderValues:
        """Return the values of all entries of a border.

        Parameters
        ----------
        border : LeafStates
        ranges : tuple of ndarray of float64, shape (num_ways,)
            By seat; not normalised.
        """
        ...


@runtime_checkable
class RememberingValue(ValueFunction, Protocol):
    """A value function whose answers depend on earlier queries."""

    def anew(self) -> ValueFunction:
        """Return the same value function without memory, so that one solve does not affect another."""
        ...


class CallableValue:
    """A user's value function.

    Parameters
    ----------
    function : callable
        Takes a :class:`LeafStates` and the two ranges; returns the values of the entries of player 0 and of player 1.
    name : str

    Examples
    --------
    A value function that returns zero for every entry:

    >>> import numpy as np
    >>> from treeplex import load_game
    >>> from treeplex.models.depth_limited import LeafStates
    >>> from treeplex.solvers.depth_limited import CallableValue
    >>> nothing = CallableValue(lambda border, ranges: (0.0 * ranges[0], 0.0 * ranges[1]))
    >>> kuhn = load_game("kuhn")
    >>> border = LeafStates.of(kuhn, kuhn.public_tree.levels <= 1)
    >>> nothing.query(border, (np.ones(3), np.ones(3))).values[0]
    array([0., 0., 0.])
    """

    def __init__(
        self, function: Callable[[LeafStates, tuple[Floats, Floats]], tuple[Any, Any]], name: str = "callable"
    ) -> None:
        self.function, self.name = function, name

    def query(self, border: LeafStates, ranges: tuple[Floats, Floats]) -> BorderValues:
        """Return the function's answer.

        Raises
        ------
        SolverError
            If the answer is not one finite number for each entry of both players.
        """
        answer = self.function(border, ranges)
        try:
            first, second = (np.array(one, dtype=np.float64) for one in answer)
        except (TypeError, ValueError):
            raise SolverError(
                f"value function {self.name} returned {shown(answer)}, expected two arrays of numbers, one per seat"
            ) from None
        for player, values in enumerate((first, second)):
            if values.shape != (border.num_ways[player],) or not np.isfinite(values).all():
                raise SolverError(
                    f"value function {self.name} returned {shown(values)} for player {player}, expected "
                    f"{border.num_ways[player]} finite numbers, one per entry"
                )
        return BorderValues((first, second))
