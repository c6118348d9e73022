"""Views of a strategy of hold'em from the blinds to the river: charts before the flop, and spots after it."""

from functools import cached_property

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.errors import InvalidGameError, UnsupportedProblemError, shown
from ....seqform.public_profile import PublicProfile
from ....seqform.rules import CHANCE
from ....seqform.strategy import Profile, check_same_game
from .cards import Range
from .classes import CLASS_OF_HAND, CLASSES
from .flops_game import FlopsGame
from .preflop_solved import PreflopNode, SolvedPreflop
from .spot import HoldemSpot


class SolvedFlops(SolvedPreflop):
    """A profile of a game on flops that can be read node by node before the flop.

    Parameters
    ----------
    flops : FlopsGame
    profile : Profile
        For example the profile of a solution on ``flops.game``.
    """

    def __init__(self, flops: FlopsGame, profile: Profile) -> None:
        check_same_game(profile[0], flops.game)
        self.flops, self.rules, self.form = flops, flops.menu, flops.public_form
        self.profile = PublicProfile.of(self.form, profile)

    def __repr__(self) -> str:
        return f"SolvedFlops({self.flops!r})"

    def node(self, node: int) -> "FlopsNode":
        """Return the node with an index of the public form."""
        return FlopsNode(self, node)

    def spot(self, line: str, board: str) -> HoldemSpot:
        """Return the spot on a flop after a line, with the ranges that get there.

        Parameters
        ----------
        line : str
            Such as ``"raise 2.5, call"``.
        board : str
            Any flop, whether or not the game has it.

        Raises
        ------
        InvalidGameError
            If no flop is dealt after the line.
        """
        node = self.form.find(line)
        if self.form.players[node] != CHANCE:
            raise InvalidGameError(f"no flop is dealt after {shown(line)}")
        found = self.flops.spot(self.flops.exits.index(node), board)
        sb, bb = (Range(np.clip(self.profile.reach(seat, node), 0.0, 1.0)[CLASS_OF_HAND]) for seat in (0, 1))
        return HoldemSpot(board, [bb, sb], found.pot, found.stack, found.betting, deck=found.deck)


class FlopsNode(PreflopNode):
    """A node of the betting before the flop; see :class:`ClassNode`. EVs include all play after the flop."""

    solved: SolvedFlops

    @cached_property
    def likely(self) -> tuple[Floats, Floats]:
        """The probability that each class reaches the node, for both seats, shape (169,) each."""
        first, second = self.reaches
        together = self.solved.flops.together
        return first * (together @ second), second * (first @ together)

    @cached_property
    def evs(self) -> tuple[Floats, ...]:
        """The winnings of each class from there on, for both seats; NaN for strategies that were read from a file.

        Files contain the strategies before the flop, which do not determine the winnings.
        """
        try:
            return super().evs
        except UnsupportedProblemError:
            return tuple(np.full(len(CLASSES), np.nan) for _ in self.seats)

    @cached_property
    def equities(self) -> tuple[Floats, Floats]:
        """The share of the pot that each class wins on all boards of a full deck; NaN with a short deck."""
        if self.solved.flops.deck == "full":
            return super().equities
        unknown = np.full(len(CLASSES), np.nan)
        return unknown, unknown
