"""Rock, paper, scissors, with a stake for each way to win."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from ...seqform.parameters import About, check_parameters
from ...seqform.rules import TERMINAL, GameSize
from .family import Family, Reference


@dataclass(frozen=True)
class RockPaperScissors:
    """Rock, paper, scissors: one simultaneous choice, with a stake for each way to win.

    Both choose ``R``, ``P`` or ``S`` at once: player 0 moves first in the tree, and player 1 does not see it. Rock
    beats scissors, paper beats rock, scissors beat paper; the loser pays the stake of the winning move.

    Parameters
    ----------
    rock, paper, scissors : Fraction
        What a win with that move pays. A decimal or a float is taken as the decimal that it reads as: 0.05 is 1/20.

    Notes
    -----
    *Infosets*: each player has one, labelled ``_``. *Sizes*: 4 sequences and 1 infoset a player, 9 leaves.

    With positive stakes the only equilibrium plays R, P, S in the proportions scissors : rock : paper, and the value
    is 0. The biased game ``rps:rock=1/2,paper=1/4,scissors=1/20`` has the equilibrium (1/16, 10/16, 5/16).

    References
    ----------
    J. von Neumann, O. Morgenstern (1944), *Theory of Games and Economic Behavior*, section 14.7. The biased stakes
    are those of OpenSpiel's ``matrix_brps``: M. Lanctot et al. (2019), arXiv:1908.09453.

    Examples
    --------
    >>> rules = RockPaperScissors(rock=0.5)
    >>> rules.payoffs(rules.child(rules.child(rules.initial_state(), "S"), "R"))
    (Fraction(-1, 2), Fraction(1, 2))
    """

    name: ClassVar[str] = "rps"
    action_words: ClassVar[Mapping[str, str]] = {"rock": "R", "paper": "P", "scissors": "S"}

    rock: Annotated[Fraction, About("what a win with rock pays", minimum=0)] = Fraction(1)
    paper: Annotated[Fraction, About("what a win with paper pays", minimum=0)] = Fraction(1)
    scissors: Annotated[Fraction, About("what a win with scissors pays", minimum=0)] = Fraction(1)
    _payoffs: dict[str, tuple[Fraction, Fraction]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_parameters(self)
        payoffs = dict.fromkeys(("RR", "PP", "SS"), (Fraction(0), Fraction(0)))
        for winner, loser, stake in (("R", "S", self.rock), ("P", "R", self.paper), ("S", "P", self.scissors)):
            payoffs[winner + loser] = (stake, -stake)
            payoffs[loser + winner] = (-stake, stake)
        object.__setattr__(self, "_payoffs", payoffs)

    @property
    def num_players(self) -> int:
        """Number of players: two."""
        return 2

    def size(self) -> GameSize:
        """Return how large the game is."""
        return GameSize(nodes=13, leaves=9, sequences=(4, 4), infosets=(1, 1))

    # A state is the moves made so far.

    def initial_state(self) -> str:
        """Return the state before any move."""
        return ""

    def player(self, state: Any) -> int:
        """Return who moves."""
        return TERMINAL if len(state) == 2 else len(state)

    def actions(self, state: Any) -> Sequence[str]:
        """Return rock, paper, scissors."""
        return ("R", "P", "S")

    def chance_outcomes(self, state: Any) -> Sequence[tuple[str, Fraction]]:
        """Return nothing: there is no chance in this game."""
        return ()

    def child(self, state: Any, action: Any) -> str:
        """Return the state after a move."""
        return f"{state}{action}"

    def infoset(self, state: Any) -> str:
        """Return the mover's only infoset."""
        return "_"

    def public_state(self, state: Any) -> str:
        """Return what the mover knows, and ``?`` once player 0 has moved in this round."""
        return self.infoset(state) + "?" * (len(state) % 2)

    def private_information(self, state: Any, player: int) -> str:
        """Return player 0's move until player 1 has moved too."""
        return state[-1] if len(state) % 2 and player == 0 else ""

    def public_history(self, state: Any) -> tuple[str, ...]:
        """Return, for each round, ``?`` once player 0 has moved, and then both moves."""
        return tuple(state[turn - 1 : turn + 1] if turn % 2 else "?" for turn in range(len(state)))

    def shows(self, state: Any) -> tuple[int, ...]:
        """Return nobody: all moves are public."""
        return ()

    def payoffs(self, state: Any) -> Sequence[Fraction]:
        """Return the stake for the winner and its negative for the loser."""
        return self._payoffs[state]


def symmetric_value(rules: RockPaperScissors) -> Reference | None:
    """Return the value of a symmetric game, which is 0."""
    return Reference(Fraction(0), "symmetry: exact")


FAMILY = Family(
    rules=RockPaperScissors,
    summary="Rock, paper, scissors, with a stake for each way to win",
    citation="J. von Neumann, O. Morgenstern (1944), Theory of Games and Economic Behavior, section 14.7; biased "
    "stakes of OpenSpiel, M. Lanctot et al. (2019), arXiv:1908.09453",
    reference=symmetric_value,
)
