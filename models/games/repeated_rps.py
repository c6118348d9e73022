"""Several rounds of rock, paper, scissors."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from ...seqform.parameters import About
from ...seqform.rules import TERMINAL, GameSize
from .family import Family
from .rps import RockPaperScissors, symmetric_value


@dataclass(frozen=True)
class RepeatedRockPaperScissors(RockPaperScissors):
    """Rock, paper, scissors for several rounds, both moves shown after each; the payoffs of the rounds add up.

    Parameters
    ----------
    rock, paper, scissors : Fraction
        What a win with that move pays in a round.
    rounds : int
        Number of rounds.

    Notes
    -----
    *Infosets* are labelled by ``_`` and the moves of the rounds before, player 0's first: ``_``, ``_RP``, ``_RPSS``.

    *Sizes*, a player: 31 sequences and 10 infosets in two rounds, 81 leaves. The value is 0, for the game is
    symmetric. The repeated biased game is ``repeated_rps:rock=1/2,paper=1/4,scissors=1/20``.

    With positive stakes the only equilibrium plays every round as the one round of
    :class:`~treeplex.models.games.RockPaperScissors`: after any first round the second is that game again, with what
    was won before added.

    References
    ----------
    D. Milec, O. Kubicek, V. Lisy (2021), "Continual depth-limited responses for computing counter-strategies in
    sequential games", arXiv:2112.12594: a repeated biased game of two rounds, its stakes not stated there.

    Examples
    --------
    >>> rules = RepeatedRockPaperScissors(rounds=2)
    >>> state = "RPS"  # paper has won the first round
    >>> rules.player(state), rules.infoset(state)
    (1, '_RP')
    >>> rules.payoffs(rules.child(state, "P"))
    (Fraction(0, 1), Fraction(0, 1))
    """

    name: ClassVar[str] = "repeated_rps"

    rounds: Annotated[int, About("number of rounds", minimum=1, maximum=100)] = 2

    def size(self) -> GameSize:
        """Return how large the game is."""
        leaves = 9**self.rounds
        infosets = (leaves - 1) // 8  # 1 + 9 + 81 + …
        return GameSize(
            nodes=(3 * leaves - 1) // 2,  # 1 + 3 + 9 + …
            leaves=leaves,
            sequences=(1 + 3 * infosets,) * 2,
            infosets=(infosets,) * 2,
        )

    def player(self, state: Any) -> int:
        """Return who moves."""
        return TERMINAL if len(state) == 2 * self.rounds else len(state) % 2

    def infoset(self, state: Any) -> str:
        """Return the moves of the rounds before."""
        return f"_{state[: len(state) // 2 * 2]}"

    def payoffs(self, state: Any) -> Sequence[Fraction]:
        """Return each player's winnings over all rounds."""
        first = sum((self._payoffs[state[turn : turn + 2]][0] for turn in range(0, len(state), 2)), Fraction(0))
        return first, -first


FAMILY = Family(
    rules=RepeatedRockPaperScissors,
    summary="Several rounds of rock, paper, scissors, the moves shown after each",
    citation="D. Milec, O. Kubicek, V. Lisy (2021), arXiv:2112.12594, repeated biased rock, paper, scissors",
    reference=symmetric_value,
)
