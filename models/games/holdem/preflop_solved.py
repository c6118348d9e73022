"""Views of a preflop strategy: at any node, the strategy, EV and equity of each class, and both ranges."""

from collections.abc import Iterator
from functools import cached_property
from operator import add

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.errors import InvalidStrategyError
from ....seqform.public_profile import PublicProfile
from ....seqform.strategy import Profile, check_same_game
from .class_nodes import ClassNode
from .classes import CLASSES
from .equities import equities, pairs
from .preflop import PREFLOP_SEATS, Betting, Preflop


class SolvedPreflop:
    """A profile of a preflop game that can be read node by node.

    Parameters
    ----------
    rules : Preflop
    profile : Profile or PublicProfile
        For example the profile of a solution on ``rules.game``.

    Examples
    --------
    >>> from treeplex.models.games.holdem.preflop import Preflop
    >>> from treeplex.models.games.holdem.preflop_solved import SolvedPreflop
    >>> from treeplex.seqform.public_profile import PublicProfile
    >>> rules = Preflop(stack=5, continuations=0)
    >>> solved = SolvedPreflop(rules, PublicProfile.uniform(rules.public_form))
    >>> node = solved.at("raise 2, all-in")
    >>> node.mover, node.actions, node.pot
    ('sb', ('fold', 'call'), 7.0)
    >>> {action: round(often, 3) for action, often in node.frequencies.items()}
    {'fold': 0.5, 'call': 0.5}
    >>> round(node.ranges[0].combinations, 6)  # of 1,326, a fifth is raised to 2
    265.2
    """

    def __init__(self, rules: Preflop, profile: PublicProfile | Profile) -> None:
        self.rules, self.form = rules, rules.public_form
        if isinstance(profile, Profile):
            check_same_game(profile[0], rules.game)
        elif profile.form.fingerprint != self.form.fingerprint:
            raise InvalidStrategyError(f"the profile is for another game, expected a profile of {rules.game.spec}")
        self.profile = PublicProfile.of(self.form, profile)

    def __repr__(self) -> str:
        return f"SolvedPreflop({self.rules!r})"

    def at(self, line: str = "") -> "PreflopNode":
        """Return a node of the betting.

        Parameters
        ----------
        line : str
            The actions that lead there, comma separated, such as ``"raise 2, all-in"``; empty for the first node.

        Raises
        ------
        InvalidGameError
            If there is no such node; the message lists the possible continuations.
        """
        return self.node(self.form.find(line))

    def node(self, node: int) -> "PreflopNode":
        """Return the node with an index of the public form."""
        return PreflopNode(self, node)

    def __iter__(self) -> "Iterator[PreflopNode]":
        """Iterate over all nodes at which somebody moves before the flop."""
        for node in self.form.decisions.tolist():
            found = self.node(node)
            if not found.state.street:
                yield found


class PreflopNode(ClassNode):
    """A node of the betting before the flop, or the flop after it; see :class:`ClassNode`.

    Parameters
    ----------
    solved : SolvedPreflop
    node : int
        The index in the public form.

    Attributes
    ----------
    state : Betting
        The amounts put in, and the mover.
    """

    solved: SolvedPreflop
    seats = PREFLOP_SEATS

    def __init__(self, solved: SolvedPreflop, node: int) -> None:
        self.state = _after(solved.rules, tuple(map(str, solved.form.path(node))))
        super().__init__(solved, node, tuple(map(add, self.state.paid, solved.rules.antes)))

    @cached_property
    def likely(self) -> tuple[Floats, Floats]:
        """The probability that each class reaches the node, for both seats, shape (169,) each."""
        dealt = pairs() / pairs().sum()
        first, second = self.reaches
        return first * (dealt @ second), second * (first @ dealt)

    @cached_property
    def evs(self) -> tuple[Floats, ...]:
        """The winnings of each class from there on, for both seats, in big blinds; NaN for impossible classes.

        Net of the chips put in from there on: a fold is worth 0.
        """
        return tuple(self.solved.profile.values(player, self.node) + self.paid[player] for player in (0, 1))

    @cached_property
    def equities(self) -> tuple[Floats, Floats]:
        """The share of the pot that each class wins without further bets, for both seats; NaN if it meets no hand."""
        found = []
        for player in (0, 1):
            met = pairs() * self.reaches[1 - player]
            total = met.sum(axis=1)
            won = (met * equities()).sum(axis=1)
            found.append(np.divide(won, total, out=np.full(len(CLASSES), np.nan), where=total > 0.0))
        return found[0], found[1]


def _after(rules: Preflop, path: tuple[str, ...]) -> Betting:
    """Return the state of the betting after actions; choosing a continuation does not change it."""
    state = rules.begun
    for action in path:
        state = dict(rules.moves(state)).get(action, state)
    return state
