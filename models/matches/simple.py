"""Simple bots, for trying out matches and as easy opponents."""

from dataclasses import dataclass

import numpy as np

from .table import HandResult, Table, View


class SimpleBot:
    """A bot without memory."""

    def begin(self, table: Table, seat: int) -> None:
        """Do nothing."""

    def end(self, result: HandResult) -> None:
        """Do nothing."""


class CallBot(SimpleBot):
    """A bot that always checks or calls.

    Examples
    --------
    >>> from treeplex.models.matches import match
    >>> from treeplex.models.matches.simple import CallBot, FoldBot
    >>> match([CallBot(), FoldBot()], hands=200).mbb_per_hand > 0.0  # who folds gives up the small blind
    True
    """

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Return the action."""
        return "call" if view.price else "check"


class FoldBot(SimpleBot):
    """A bot that checks if possible, and folds otherwise."""

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Return the action."""
        return "fold" if view.price else "check"


@dataclass(frozen=True)
class RaiseBot(SimpleBot):
    """A bot that bets and raises whenever possible, and calls otherwise.

    Parameters
    ----------
    pots : float
        The raise as a fraction of the pot after calling.
    """

    pots: float = 1.0

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Return the action."""
        if not view.most:
            return "call" if view.price else "check"
        total = max(view.bets) + int(self.pots * (view.pot + view.price))
        return f"{view.aggressive} {min(max(total, view.least), view.most)}"


class RandomBot(SimpleBot):
    """A bot that folds to a bet, checks or calls, or bets or raises any amount, each with equal probability.

    Examples
    --------
    >>> from treeplex.models.matches import match
    >>> from treeplex.models.matches.simple import CallBot, RandomBot
    >>> match([CallBot(), RandomBot()], hands=200, seed=1).mbb_per_hand > 0.0
    True
    """

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Return the action."""
        actions = ["call"] if view.price else ["check"]
        actions += ["fold"] if view.price else []
        actions += [view.aggressive] if view.most else []
        action = actions[int(rng.integers(len(actions)))]
        return f"{action} {rng.integers(view.least, view.most + 1)}" if action == view.aggressive else action
