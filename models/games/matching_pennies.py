"""Matching pennies: the smallest game without an equilibrium in pure strategies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from ...seqform.rules import TERMINAL, GameSize
from .family import Family, Reference


@dataclass(frozen=True)
class MatchingPennies:
    """Matching pennies: player 0 wins 1 if both show the same side, and loses 1 otherwise.

    Both choose heads (``H``) or tails (``T``) at once: player 0 moves first in the tree, and player 1 does not see it.

    Notes
    -----
    *Infosets*: each player has one, labelled ``_``. *Sizes*: 3 sequences and 1 infoset a player, 4 leaves. In the
    only equilibrium both choose either side with probability 1/2; the value is 0.

    References
    ----------
    J. von Neumann, O. Morgenstern (1944), *Theory of Games and Economic Behavior*, section 14.7.

    Examples
    --------
    >>> rules = MatchingPennies()
    >>> rules.payoffs(rules.child(rules.child(rules.initial_state(), "H"), "T"))
    (-1, 1)
    """

    name: ClassVar[str] = "matching_pennies"
    action_words: ClassVar[Mapping[str, str]] = {"heads": "H", "tails": "T"}

    @property
    def num_players(self) -> int:
        """Number of players: two."""
        return 2

    def size(self) -> GameSize:
        """Return how large the game is."""
        return GameSize(nodes=7, leaves=4, sequences=(3, 3), infosets=(1, 1))

    # A state is the sides chosen so far.

    def initial_state(self) -> str:
        """Return the state before any choice."""
        return ""

    def player(self, state: Any) -> int:
        """Return who moves."""
        return TERMINAL if len(state) == 2 else len(state)

    def actions(self, state: Any) -> Sequence[str]:
        """Return heads and tails."""
        return ("H", "T")

    def chance_outcomes(self, state: Any) -> Sequence[tuple[str, Fraction]]:
        """Return nothing: there is no chance in this game."""
        return ()

    def child(self, state: Any, action: Any) -> str:
        """Return the state after a choice."""
        return f"{state}{action}"

    def infoset(self, state: Any) -> str:
        """Return the mover's only infoset."""
        return "_"

    def public_state(self, state: Any) -> str:
        """Return ``_``, and ``?`` once player 0 has chosen."""
        return "_?" if state else "_"

    def private_information(self, state: Any, player: int) -> str:
        """Return player 0's side until player 1 has chosen too."""
        return state if len(state) == 1 and player == 0 else ""

    def public_history(self, state: Any) -> tuple[str, ...]:
        """Return ``?`` once player 0 has chosen, and then both sides."""
        return ("?", state)[: len(state)]

    def shows(self, state: Any) -> tuple[int, ...]:
        """Return nobody: both sides are public."""
        return ()

    def payoffs(self, state: Any) -> Sequence[int]:
        """Return 1 for the winner and -1 for the loser."""
        return (1, -1) if state[0] == state[1] else (-1, 1)


def _reference(rules: MatchingPennies) -> Reference | None:
    return Reference(Fraction(0), "symmetry: exact")


FAMILY = Family(
    rules=MatchingPennies,
    summary="Matching pennies: one choice each, no equilibrium in pure strategies",
    citation="J. von Neumann, O. Morgenstern (1944), Theory of Games and Economic Behavior, section 14.7",
    reference=_reference,
)
