"""A game in public form that is cut at public chance moves: a trunk, and parts that continue it."""

from collections.abc import Hashable, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from .arrays import Floats, Indices, frozen
from .errors import InvalidGameError, UnsupportedProblemError
from .payoffs import Payoff
from .public_form import PublicForm
from .public_payoff import Leaves
from .rules import CHANCE

_IN_PARTS = "the payoffs after the cuts of this game are in its parts: use solve with a method such as dcfr"


class Part(Protocol):
    """A part of a cut game: what follows the exits of the trunk for some outcomes of chance.

    Parts are pickled, and built where they are solved.
    """

    @property
    def name(self) -> str:
        """The name for messages, such as the flop."""

    @property
    def num_numbers(self) -> int:
        """Numbers for which a loop stores a regret and an average."""

    @property
    def table_bytes(self) -> int:
        """Bytes of the tables that a loop keeps in addition to these numbers."""

    @property
    def building_bytes(self) -> int:
        """Bytes that building takes for a while."""

    def form(self) -> PublicForm:
        """Return the part in public form.

        It begins with the nodes of :func:`beginning`, followed by all that this part's outcomes of chance lead to.
        Payoffs include the probabilities of these outcomes.
        """

    def trunk_states(self, player: int) -> Indices:
        """Return the private state in the trunk of each of a player's states in the part."""


def beginning(num_exits: int) -> tuple[list[int], list[int], list[Hashable]]:
    """Return the first nodes of a part: movers, parents and actions, up to one chance node per exit of the trunk.

    Player 0 chooses an exit, and player 1 has one action. So both players' reaches are different at each exit, and they
    are overwritten by those of the trunk.

    Examples
    --------
    >>> from treeplex.seqform.cut_form import beginning
    >>> players, parents, actions = beginning(2)
    >>> players, parents
    ([0, 1, 1, -1, -1], [-1, 0, 0, 1, 2])
    """
    exits = range(num_exits)
    players = [0, *(1 for _ in exits), *(CHANCE for _ in exits)]
    parents = [-1, *(0 for _ in exits), *(1 + each for each in exits)]
    return players, parents, ["", *map(str, exits), *("" for _ in exits)]


class CutForm(PublicForm):
    """The trunk of a game in public form, with the parts that continue it.

    The private states of the parts may be finer than those of the trunk, as hands are finer than classes of hands. A
    state of the trunk stands for several states of a part, which all have its reach, and its value is the sum of
    theirs. The whole game is a game in public form if the trunk's behaviour is the same for these states.

    Parameters
    ----------
    players, parents, actions, states, leaves, weights, scale
        As for :class:`~treeplex.seqform.public_form.PublicForm`; the exits are chance nodes without children.
    parts : sequence of Part
        The value at an exit is the sum of its values in all parts.
    together : Leaves
        The probability that each pair of states is dealt.
    known_as : tuple
        Identifies the parts.
    """

    is_whole = False

    def __init__(
        self,
        players: Sequence[int],
        parents: Sequence[int],
        actions: Sequence[Hashable],
        states: Sequence[Sequence[Hashable]],
        leaves: Sequence[Leaves],
        weights: Sequence[Floats],
        scale: float,
        parts: Sequence[Part],
        together: Leaves,
        known_as: tuple[Any, ...],
    ) -> None:
        super().__init__(players, parents, actions, states, leaves, weights, scale, deals=[together])
        self.parts = tuple(parts)
        self._known_as = tuple(map(str, known_as))
        #: The exits, in order.
        self.exits: Indices = frozen(np.flatnonzero(self.players == CHANCE))
        if np.isin(self.exits, self.parents).any() or not len(self.exits):
            raise InvalidGameError("a trunk needs exits, which are chance nodes without children")

    @property
    def is_small(self) -> bool:
        """False: the payoffs are not in the trunk."""
        return False

    def leaves_among(self, nodes: Indices) -> NoReturn:
        """Raise an error: no value of a cut game is known from its trunk.

        Raises
        ------
        UnsupportedProblemError
        """
        raise UnsupportedProblemError(_IN_PARTS)

    @property
    def _payoff(self) -> Payoff:
        return _InParts(self)

    def _dealt_at(self, node: int) -> dict[int, float]:
        return {0: 1.0}  # chance does not move in the trunk


class _InParts(Payoff):
    """The payoffs of a cut game, which nothing but a loop over its parts computes."""

    is_zero_sum = True

    def __init__(self, form: CutForm) -> None:
        self.form = form

    @property
    def shape(self) -> tuple[int, ...]:
        return self.form.num_sequences

    @property
    def scale(self) -> float:
        return self.form.payoff_scale

    def gradient(self, player: int, plans: Sequence[Floats]) -> NoReturn:
        raise UnsupportedProblemError(_IN_PARTS)

    def matrix_of(self, player: int) -> NoReturn:
        raise UnsupportedProblemError(_IN_PARTS)
