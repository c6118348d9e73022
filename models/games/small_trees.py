"""Games that are written out: a whole tree as nested data, walked as rules."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from ...seqform.rules import CHANCE, TERMINAL

#: What a player does with which probability, by infoset and action.
Model = Mapping[Hashable, Mapping[Hashable, Fraction]]


@dataclass(frozen=True)
class Decision:
    """A history at which a player moves.

    Parameters
    ----------
    player : int
    infoset : str
        The label of the infoset.
    branches : mapping
        What follows each action: another node, or what player 0 is paid.
    """

    player: int
    infoset: str
    branches: "Mapping[str, Decision | Deal | int]"


@dataclass(frozen=True)
class Deal:
    """A history at which chance moves in secret: at least one player does not see the outcome.

    Parameters
    ----------
    chances : mapping
        The probability of each outcome.
    branches : mapping
        What follows each outcome.
    """

    chances: Mapping[str, Fraction]
    branches: "Mapping[str, Decision | Deal | int]"


class SmallTree:
    """The rules of a zero-sum game of two players whose tree is written out.

    A family derives from it a frozen dataclass without fields and gives it a ``name`` and a ``tree``.

    Attributes
    ----------
    tree : Decision or Deal
        The root.
    model : mapping
        How the opponent, player 1, is modelled: ``{infoset: {action: probability}}``, as
        :meth:`Strategy.from_dict <treeplex.Strategy.from_dict>` takes it. Empty if the game comes with no model.

    Notes
    -----
    No action is seen by everybody, so what is public is only how many actions have been taken.

    Examples
    --------
    >>> from treeplex.models.games.small_trees import Decision, SmallTree
    >>> class Guess(SmallTree):
    ...     tree = Decision(1, "_", {side: Decision(0, "_", {"H": side == "H", "T": side == "T"}) for side in "HT"})
    >>> rules = Guess()
    >>> state = rules.child(rules.initial_state(), "T")
    >>> rules.player(state), rules.infoset(state), rules.public_state(state), rules.actions(state)
    (0, '_', 1, ('H', 'T'))
    """

    tree: ClassVar[Decision | Deal]
    model: ClassVar[Model] = {}

    @property
    def num_players(self) -> int:
        """Number of players: two."""
        return 2

    # A state is the outcomes and actions so far.

    def _node(self, state: Any) -> Any:
        node: Any = self.tree
        for step in state:
            node = node.branches[step]
        return node

    def initial_state(self) -> tuple[str, ...]:
        """Return the state before any action."""
        return ()

    def player(self, state: Any) -> int:
        """Return who moves."""
        node = self._node(state)
        if isinstance(node, Decision):
            return node.player
        return CHANCE if isinstance(node, Deal) else TERMINAL

    def actions(self, state: Any) -> Sequence[str]:
        """Return the actions in the order in which they are written."""
        return tuple(self._node(state).branches)

    def chance_outcomes(self, state: Any) -> Sequence[tuple[str, Fraction]]:
        """Return the outcomes with their probabilities."""
        return list(self._node(state).chances.items())

    def child(self, state: Any, action: Any) -> tuple[str, ...]:
        """Return the state after an outcome or an action."""
        return (*state, action)

    def infoset(self, state: Any) -> str:
        """Return the label that is written at the decision."""
        label: str = self._node(state).infoset
        return label

    def public_state(self, state: Any) -> int:
        """Return how many actions the players have taken."""
        return sum(isinstance(self._node(state[:depth]), Decision) for depth in range(len(state)))

    def payoffs(self, state: Any) -> Sequence[int]:
        """Return what is written at the leaf, and its negative for player 1."""
        payoff: int = self._node(state)
        return payoff, -payoff
