"""Games of simultaneous choices: matching pennies, and rock, paper, scissors, once or repeated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from ...seqform.parameters import About, check_parameters
from ...seqform.rules import TERMINAL, GameSize
from .registry import Family, known_value


class _Simultaneous:
    """The common part of two-player games in which both choose simultaneously and then see both choices.

    Player 0 moves first in the tree, and player 1 does not see the move. A state is the string of the choices so far.
    """

    num_players: ClassVar[int] = 2

    def initial_state(self) -> str:
        """Return the state before any choice."""
        return ""

    def player(self, state: Any) -> int:
        """Return the player to move."""
        return TERMINAL if len(state) == 2 else len(state)

    def child(self, state: Any, action: Any) -> str:
        """Return the state after a choice."""
        return f"{state}{action}"

    def infoset(self, state: Any) -> str:
        """Return the mover's only infoset."""
        return "_"

    def public_state(self, state: Any) -> str:
        """Return the mover's information, and ``?`` once player 0 has chosen in this round."""
        return self.infoset(state) + "?" * (len(state) % 2)

    def private_information(self, state: Any, player: int) -> str:
        """Return player 0's choice until player 1 has chosen too."""
        return str(state[-1]) if len(state) % 2 and player == 0 else ""

    def public_history(self, state: Any) -> tuple[str, ...]:
        """Return, for each round, ``?`` once player 0 has chosen, and then both choices."""
        return tuple(state[turn - 1 : turn + 1] if turn % 2 else "?" for turn in range(len(state)))

    def shows(self, state: Any) -> tuple[int, ...]:
        """Return no players: all choices are public."""
        return ()


@dataclass(frozen=True)
class MatchingPennies(_Simultaneous):
    """Matching pennies: player 0 wins 1 if both show the same side, and loses 1 otherwise.

    Both choose heads (``H``) or tails (``T``) at once: player 0 moves first in the tree, and player 1 does not see it.

    Notes
    -----
    *Infosets*: each player has one, labelled ``_``. *Sizes* per player: 3 sequences and 1 infoset, 4 leaves. In the
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

    def size(self) -> GameSize:
        """Return the size of the game."""
        return GameSize(nodes=7, leaves=4, sequences=(3, 3), infosets=(1, 1))

    def actions(self, state: Any) -> Sequence[str]:
        """Return heads and tails."""
        return ("H", "T")

    def payoffs(self, state: Any) -> Sequence[int]:
        """Return 1 for the winner and -1 for the loser."""
        return (1, -1) if state[0] == state[1] else (-1, 1)


@dataclass(frozen=True)
class RockPaperScissors(_Simultaneous):
    """Rock, paper, scissors: one simultaneous choice, with a stake for each way to win.

    Both choose ``R``, ``P`` or ``S`` at once: player 0 moves first in the tree, and player 1 does not see it. Rock
    beats scissors, paper beats rock, scissors beat paper; the loser pays the stake of the winning move.

    Parameters
    ----------
    rock, paper, scissors : Fraction
        The payment for a win with that move. A decimal or a float is read as a decimal fraction: 0.05 is 1/20.

    Notes
    -----
    *Infosets*: each player has one, labelled ``_``. *Sizes* per player: 4 sequences and 1 infoset, 9 leaves.

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

    rock: Annotated[Fraction, About("payment for a win with rock", minimum=0)] = Fraction(1)
    paper: Annotated[Fraction, About("payment for a win with paper", minimum=0)] = Fraction(1)
    scissors: Annotated[Fraction, About("payment for a win with scissors", minimum=0)] = Fraction(1)
    _payoffs: dict[str, tuple[Fraction, Fraction]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_parameters(self)
        payoffs = dict.fromkeys(("RR", "PP", "SS"), (Fraction(0), Fraction(0)))
        for winner, loser, stake in (("R", "S", self.rock), ("P", "R", self.paper), ("S", "P", self.scissors)):
            payoffs[winner + loser] = (stake, -stake)
            payoffs[loser + winner] = (-stake, stake)
        object.__setattr__(self, "_payoffs", payoffs)

    def size(self) -> GameSize:
        """Return the size of the game."""
        return GameSize(nodes=13, leaves=9, sequences=(4, 4), infosets=(1, 1))

    def actions(self, state: Any) -> Sequence[str]:
        """Return rock, paper, scissors."""
        return ("R", "P", "S")

    def payoffs(self, state: Any) -> Sequence[Fraction]:
        """Return the stake for the winner and its negative for the loser."""
        return self._payoffs[state]


@dataclass(frozen=True)
class RepeatedRockPaperScissors(RockPaperScissors):
    """Rock, paper, scissors for several rounds, with both moves shown after each; the payoffs of the rounds add up.

    Parameters
    ----------
    rock, paper, scissors : Fraction
        The payment for a win with that move in a round.
    rounds : int
        Number of rounds.

    Notes
    -----
    *Infosets* are labelled by ``_`` and the moves of the rounds before, player 0's first: ``_``, ``_RP``, ``_RPSS``.

    *Sizes* per player: 31 sequences and 10 infosets in two rounds, 81 leaves. The value is 0, because the game is
    symmetric. The repeated biased game is ``repeated_rps:rock=1/2,paper=1/4,scissors=1/20``.

    With positive stakes the only equilibrium plays every round like the single round of
    :class:`~treeplex.models.games.RockPaperScissors`: after any first round, the second is that game again plus the
    earlier winnings.

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
        """Return the size of the game."""
        leaves = 9**self.rounds
        infosets = (leaves - 1) // 8  # 1 + 9 + 81 + …
        return GameSize(
            nodes=(3 * leaves - 1) // 2,  # 1 + 3 + 9 + …
            leaves=leaves,
            sequences=(1 + 3 * infosets,) * 2,
            infosets=(infosets,) * 2,
        )

    def player(self, state: Any) -> int:
        """Return the player to move."""
        return TERMINAL if len(state) == 2 * self.rounds else len(state) % 2

    def infoset(self, state: Any) -> str:
        """Return the moves of the rounds before."""
        return f"_{state[: len(state) // 2 * 2]}"

    def payoffs(self, state: Any) -> Sequence[Fraction]:
        """Return each player's winnings over all rounds."""
        first = sum((self._payoffs[state[turn : turn + 2]][0] for turn in range(0, len(state), 2)), Fraction(0))
        return first, -first


_BOOK = "J. von Neumann, O. Morgenstern (1944), Theory of Games and Economic Behavior, section 14.7"

MATCHING_PENNIES = Family(
    rules=MatchingPennies,
    summary="Matching pennies: one choice each, no equilibrium in pure strategies",
    citation=_BOOK,
    reference=known_value(Fraction(0), "symmetry: exact"),
)
ROCK_PAPER_SCISSORS = Family(
    rules=RockPaperScissors,
    summary="Rock, paper, scissors, with a stake for each way to win",
    citation=f"{_BOOK}; biased stakes of OpenSpiel, M. Lanctot et al. (2019), arXiv:1908.09453",
    reference=known_value(Fraction(0), "symmetry: exact"),
)
REPEATED_ROCK_PAPER_SCISSORS = Family(
    rules=RepeatedRockPaperScissors,
    summary="Several rounds of rock, paper, scissors, the moves shown after each",
    citation="D. Milec, O. Kubicek, V. Lisy (2021), arXiv:2112.12594, repeated biased rock, paper, scissors",
    reference=known_value(Fraction(0), "symmetry: exact"),
)
