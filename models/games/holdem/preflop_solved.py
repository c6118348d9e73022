"""Views of a preflop strategy: at any node, the strategy, EV and equity of each class, and both ranges."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.errors import InvalidStrategyError
from ....seqform.public_profile import PublicProfile
from ....seqform.strategy import Profile, check_same_game
from .cards import Range
from .charts import ChartedNode
from .classes import CLASS_OF_HAND, CLASS_SIZES, CLASSES
from .equities import equities, pairs
from .hand_tables import SpotTable, told
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
        return PreflopNode(self, self.form.find(line))

    def __iter__(self) -> "Iterator[PreflopNode]":
        """Iterate over all nodes at which somebody moves before the flop."""
        for node in self.form.decisions.tolist():
            found = PreflopNode(self, node)
            if not found.state.street:
                yield found


class PreflopNode(ChartedNode):
    """A node of the betting before the flop, or the flop after it.

    Parameters
    ----------
    solved : SolvedPreflop
    node : int
        The index in the public form.

    Attributes
    ----------
    path : tuple of str
        The actions that lead there.
    state : Betting
        The amounts put in, and the mover.
    mover : str
        ``sb`` or ``bb``; empty if the betting is over.
    actions : tuple of str
        At a flop, the chooser's continuations.
    pot : float
        In big blinds, antes included.
    """

    solved: SolvedPreflop
    unit = "BB"
    seats = PREFLOP_SEATS

    def __init__(self, solved: SolvedPreflop, node: int) -> None:
        self.node, form = node, solved.form
        player = int(form.players[node])
        moving = form.children[node].tolist() if player >= 0 else []
        path = tuple(map(str, form.path(node)))
        mover = PREFLOP_SEATS[player] if player >= 0 else ""
        super().__init__(solved, path, mover, tuple(str(form.actions[child]) for child in moving))
        self.state = _after(solved.rules, self.path)
        self.pot = float(solved.rules.pot(self.state))

    def _title(self, who: str) -> str:
        return f"{who or 'both'} after {', '.join(self.path) or 'the blinds'}, pot {self.pot:g} BB"

    def __str__(self) -> str:
        mean = self.averages
        taken = ", ".join(f"{action} {told(mean[action])}" for action in self.actions)
        worth = ", ".join(f"{seat} EV {told(mean[f'{seat} ev'])} BB" for seat in PREFLOP_SEATS)
        return "\n".join(filter(None, [self.title, taken, worth]))

    @cached_property
    def strategy(self) -> Floats:
        """The frequency of each action for each class of the mover, shape (actions, 169)."""
        return self.solved.profile.behaviour(self.node)

    @cached_property
    def reaches(self) -> tuple[Floats, ...]:
        """The share of each class that reaches the node, for both seats, shape (169,) each."""
        return tuple(self.solved.profile.reach(player, self.node) for player in (0, 1))

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The shares of :attr:`reaches`, as ranges over the 1,326 hands."""
        return tuple(Range(np.clip(reach, 0.0, 1.0)[CLASS_OF_HAND]) for reach in self.reaches)

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
        antes = self.solved.rules.antes
        return tuple(
            self.solved.profile.values(player, self.node) + float(self.state.paid[player] + antes[player])
            for player in (0, 1)
        )

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

    def classes(self, seat: str = "") -> SpotTable:
        """Return the strategy and earnings of each of the 169 classes of a seat, in chart order.

        Parameters
        ----------
        seat : {"sb", "bb"}, optional
            By default the mover.
        """
        who = self._seat(seat)
        likely, rows = self.likely[who], []
        for number, name in enumerate(CLASSES):
            there = likely[number] > 0.0
            row: dict[str, Any] = {
                "class": name,
                "combinations": float(self.reaches[who][number] * CLASS_SIZES[number]),
                "reach": float(self.reaches[who][number]),
                "weight": float(likely[number] / (likely.sum() or 1.0)),
                "ev": float(self.evs[who][number]) if there else None,
                "equity": float(self.equities[who][number]) if there else None,
            }
            if PREFLOP_SEATS[who] == self.mover:
                row |= dict(zip(self.actions, self.strategy[:, number].tolist(), strict=True))
            rows.append(row)
        return SpotTable(self._title(PREFLOP_SEATS[who]), tuple(rows))


def _after(rules: Preflop, path: tuple[str, ...]) -> Betting:
    """Return the state of the betting after actions; choosing a continuation does not change it."""
    state = rules.begun
    for action in path:
        state = dict(rules.moves(state)).get(action, state)
    return state
