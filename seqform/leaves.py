"""The leaves of a game as one table."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Integers
from .errors import InvalidGameError, one_line, shown


@dataclass(frozen=True, eq=False)
class LeafTable:
    """Every leaf's sequences, chance probability and payoffs; all arrays are read-only.

    Arrays that can still be written to are copied.

    Attributes
    ----------
    sequences : ndarray of int32, shape (num_leaves, num_players)
        The last sequence of each player on the way to the leaf.
    chance : ndarray of float64, shape (num_leaves,)
        Probability that chance plays to the leaf.
    payoffs : ndarray of float64, shape (num_leaves, num_players)
        Payoff units, chance not multiplied in.
    exact_chance : tuple of Fraction, optional
    exact_payoffs : tuple of tuple of Fraction, optional
        The same as fractions, where the walk was asked to keep them.

    Raises
    ------
    InvalidGameError
        If shapes do not match, there is no leaf, or a number is of the wrong kind, not finite or, for chance, negative.
    """

    sequences: Integers
    chance: Floats
    payoffs: Floats
    exact_chance: tuple[Fraction, ...] | None = None
    exact_payoffs: tuple[tuple[Fraction, ...], ...] | None = None

    def __post_init__(self) -> None:
        self.__dict__["sequences"] = _read_only(self.sequences, np.int32, "sequences")
        self.__dict__["chance"] = _read_only(self.chance, np.float64, "chance")
        self.__dict__["payoffs"] = _read_only(self.payoffs, np.float64, "payoffs")
        if (
            self.payoffs.ndim != 2
            or not self.payoffs.size
            or self.sequences.shape != self.payoffs.shape
            or self.chance.shape != self.payoffs.shape[:1]
        ):
            raise InvalidGameError(
                f"a leaf table has sequences of shape {self.sequences.shape}, chance of shape {self.chance.shape} and "
                f"payoffs of shape {self.payoffs.shape}, expected (leaves, players), (leaves,) and (leaves, players), "
                "one leaf and one player at least"
            )
        for name, exact in (("exact_chance", self.exact_chance), ("exact_payoffs", self.exact_payoffs)):
            if exact is not None and (not isinstance(exact, tuple) or len(exact) != len(self)):
                raise InvalidGameError(f"{name} is {shown(exact)}, expected a tuple with an entry a leaf, {len(self)}")
        for name, sound in (
            ("payoffs", np.isfinite(self.payoffs).all(axis=1)),
            ("chance", np.isfinite(self.chance) & (self.chance >= 0.0)),
        ):
            if not sound.all():
                wrong = int(np.argmin(sound))
                raise InvalidGameError(
                    f"leaf {wrong} has {name} {getattr(self, name)[wrong].tolist()}, expected finite "
                    f"{'numbers' if name == 'payoffs' else 'non-negative numbers'}"
                )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in (self.sequences, self.chance, self.payoffs):
            array.flags.writeable = False  # stored arrays come back writeable

    def __len__(self) -> int:
        return len(self.chance)

    @property
    def num_players(self) -> int:
        """Number of players."""
        return int(self.payoffs.shape[1])

    @property
    def is_zero_sum(self) -> bool:
        """Whether payoffs sum to zero at every leaf, within 1e-9 of the largest payoff."""
        return bool(np.abs(self.payoffs.sum(axis=1)).max(initial=0.0) <= 1e-9 * self.payoff_scale)

    @property
    def payoff_scale(self) -> float:
        """The largest absolute payoff, or 1 if all are zero."""
        return float(np.abs(self.payoffs).max(initial=0.0)) or 1.0

    def gradient(self, player: int, plans: Sequence[Floats], num_sequences: int) -> Floats:
        """Return a player's payoff per unit of each own sequence, the other players' plans given.

        Parameters
        ----------
        player : int
        plans : sequence of ndarray of float64
            One realization plan a player; the player's own is not read.
        num_sequences : int
            Length of the result.

        Returns
        -------
        ndarray of float64, shape (num_sequences,)
        """
        weights = self.chance * self.payoffs[:, player]
        for other, plan in enumerate(plans):
            if other != player:
                weights *= plan[self.sequences[:, other]]
        counts = np.bincount(self.sequences[:, player], weights=weights, minlength=num_sequences)
        return counts.astype(np.float64, copy=False)

    def expected_payoffs(self, plans: Sequence[Floats]) -> Floats:
        """Return each player's expected payoff, shape (num_players,), when all play the given plans."""
        reach = self.chance.copy()
        for player, plan in enumerate(plans):
            reach *= plan[self.sequences[:, player]]
        return reach @ self.payoffs


def _read_only(values: npt.ArrayLike, kind: type[np.generic], name: str) -> npt.NDArray[Any]:
    """Return values as a read-only array; one that is already is taken as it is, any other copied."""
    if isinstance(values, np.ndarray) and values.dtype == kind and not values.flags.writeable:
        return values
    try:
        given = np.array(values)
        array = given.astype(kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGameError(f"{name} of a leaf table are no array of numbers: {one_line(str(error))}") from None
    if kind is np.int32 and (given.dtype.kind not in "iu" or not np.array_equal(array, given)):
        raise InvalidGameError(f"{name} of a leaf table are {shown(values)}, expected integers of at most 32 bits")
    array.flags.writeable = False
    return array
