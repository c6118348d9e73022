"""Value functions: what the rest of a game is worth to both players, given with which ranges they come to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...models.depth_limited import LeafStates
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, shown


@dataclass(frozen=True, eq=False)
class BorderValues:
    """The answer of a value function; tuples are by seat.

    Attributes
    ----------
    values : tuple of ndarray of float64, shape (num_ways,)
        What each way in is worth to its player, counterfactually: chance and the other player's range multiplied in,
        payoff units. The sum of range times value over both players is 0 for exact values.
    error : float or None
        How far the value of the rest at these ranges may be off, payoff units; ``None`` where that is not measured.
    behaviours : tuple of ndarray of float64, shape (num_sequences of border.rest,), or None
        Strategies in the rest that stand behind the values, if there are any.
    """

    values: tuple[Floats, Floats]
    error: float | None = None
    behaviours: tuple[Floats, Floats] | None = None


@runtime_checkable
class ValueFunction(Protocol):
    """Anything that answers queries at a border.

    Attributes
    ----------
    name : str
    """

    @property
    def name(self) -> str:
        """How tables and messages call it."""
        ...

    def query(self, border: LeafStates, ranges: tuple[Floats, Floats]) -> BorderValues:
        """Return what all ways in of a border are worth.

        Parameters
        ----------
        border : LeafStates
        ranges : tuple of ndarray of float64, shape (num_ways,)
            By seat; not normalised.
        """
        ...


@runtime_checkable
class RememberingValue(ValueFunction, Protocol):
    """A value function whose answers depend on what it was asked before."""

    def anew(self) -> ValueFunction:
        """Return the same value function without any memory: what one solve leaves in it is not to change another."""
        ...


class CallableValue:
    """A value function of the user's own.

    Parameters
    ----------
    function : callable
        Takes a :class:`LeafStates` and the two ranges, returns the values of the ways in of player 0 and of player 1.
    name : str

    Examples
    --------
    A value function that takes it that nothing is left to win:

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
        """Return what the function answers.

        Raises
        ------
        SolverError
            If that is not one finite number for each way in of both players.
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
