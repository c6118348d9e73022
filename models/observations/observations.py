"""Counts of observed games against one opponent, by what the observer saw."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats
from ...seqform.checks import check_type
from ...seqform.errors import InvalidGameError, InvalidStrategyError, PlayLogError, shown
from ...seqform.game import Game
from ...seqform.observer import ObserverTree, check_view, is_view_of, observer_tree
from ...seqform.strategy import Strategy, check_same_game, checked_player
from ..play.log import PlayLog
from ..saddle import check_two_players
from .events import Events, observed_events

Counts = npt.NDArray[np.int64]
#: Sums of counts must be 64-bit integers.
_MOST_GAMES = 2.0**62


@dataclass(frozen=True, eq=False)
class Observations:
    """The games observed from one seat, counted by the classes of leaves that the seat can distinguish.

    Parameters
    ----------
    game : Game
        Two players, constant-sum; its rules define private, public and shown information.
    player : int
        The observer's seat.
    counts : array_like of int, shape (num_classes,)
        Number of games by class of :func:`~treeplex.observer_tree`; 0 for classes that are not terminal.
    probe : Strategy, optional
        The observer's strategy in these games. If missing, it is estimated from how often the observer took
        each action.
    view : ObserverTree, optional
        ``observer_tree(game, player)``, if already computed.

    Raises
    ------
    InvalidGameError
        If the game is not a Game, or the view is not an ObserverTree of this game and seat.
    InvalidStrategyError
        If there is no such seat, or the probe belongs to another one.
    PlayLogError
        If the counts do not fit this tree, or contradict the probe.
    UnsupportedProblemError
        If the game is not constant-sum or does not have two players, or its rules do not define an observer's
        information.

    Notes
    -----
    The estimate of the probe at each infoset is the ratio of the number of times that an action was taken to the number
    of times that it was available; its plan is the product of these ratios. It is consistent. It is not unbiased,
    because a ratio of counts is not.

    Examples
    --------
    Three games of Kuhn poker in which the observer bet with the first card of the deck, and the opponent passed:

    >>> from treeplex import Observations, load_game, observer_tree
    >>> game = load_game("kuhn")
    >>> view = observer_tree(game, player=0)
    >>> counts = [0] * view.num_classes
    >>> counts[view.public.index(("b", "p"))] = 3
    >>> seen = Observations(game, 0, counts, view=view)
    >>> seen.num_games, dict(zip(seen.events.names, seen.event_counts.tolist()))["holding J, opponent reaches b/p"]
    (3, 3)
    """

    game: Game
    player: int
    counts: Any  # an array of int64, after checking
    probe: Strategy | None = None
    view: ObserverTree = field(default=None, kw_only=True)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_type(self.game, "game", InvalidGameError, Game)
        check_two_players("an opponent model", self.game)
        object.__setattr__(self, "player", checked_player(self.game, self.player))
        if self.view is None:
            object.__setattr__(self, "view", observer_tree(self.game, self.player))
        else:
            check_view(self.view, self.game, self.player)
        object.__setattr__(self, "counts", _checked_counts(self.counts, self.view))
        if self.probe is not None:
            self._check_probe(self.probe)

    @classmethod
    def from_log(cls, game: Game, log: PlayLog, probe: Strategy | None = None) -> "Observations":
        """Return the observations in a play log.

        Parameters
        ----------
        game : Game
            The game of the log.
        log : PlayLog
            As returned by :func:`~treeplex.read_play_log`.
        probe : Strategy, optional
            The strategy of the player who kept the log; by default estimated.

        Raises
        ------
        PlayLogError
            If the argument is not a log, belongs to another game, or contradicts the probe.

        Examples
        --------
        >>> import io
        >>> from treeplex import Observations, load_game, read_play_log
        >>> game = load_game("kuhn")
        >>> log = io.BytesIO(b'{"seat":0,"private":"J","public":["p","b","p"],"result":-1}')
        >>> Observations.from_log(game, read_play_log(log, game, seat=0)).num_games
        1
        """
        check_type(log, "log", PlayLogError, PlayLog, "a PlayLog, such as read_play_log returns")
        if isinstance(game, Game) and not is_view_of(log.view, game):
            raise PlayLogError(f"the log is for a game other than {game.spec}")
        return cls(game, log.seat, log.ended, probe, view=log.view)

    @property
    def opponent(self) -> int:
        """The other seat."""
        return 1 - self.player

    @property
    def num_games(self) -> int:
        """Number of observed games."""
        return int(self.totals[0])

    @cached_property
    def totals(self) -> Counts:
        """Number of games that passed through each class, or ended in it, shape (num_classes,)."""
        totals = self.view.totals(self.counts)
        totals.flags.writeable = False
        return totals

    @cached_property
    def events(self) -> Events:
        """The events that are informative about the opponent; :attr:`event_counts` tells how often each happened."""
        return observed_events(self.view, self.game.sequence_form.treeplexes[self.opponent])

    def with_counts(self, counts: npt.ArrayLike) -> "Observations":
        """Return observations of other games by the same observer; the parts that do not depend on counts are shared.

        Raises
        ------
        PlayLogError
            If the counts do not fit this tree.
        """
        other = replace(self, counts=counts)
        other.__dict__["events"] = self.events
        return other

    @cached_property
    def event_counts(self) -> Counts:
        """Number of games in which each event happened, shape (events,)."""
        counts: Counts = (self.events.classes @ self.totals).astype(np.int64)
        return counts

    @property
    def most_counts(self) -> Counts:
        """Number of games in which each event may have happened, shape (events,): nothing is hidden."""
        return self.event_counts

    @cached_property
    def own_plan(self) -> Floats:
        """The probe's realization plan; an estimate is 0 where the observer was never seen to play."""
        if self.probe is not None:
            return self.probe.plan
        treeplex = self.game.sequence_form.treeplexes[self.player]
        taken = self._taken
        behaviour = np.ones(treeplex.num_sequences)
        if treeplex.num_infosets:
            possible = np.add.reduceat(taken, treeplex.offsets[:-1])
            behaviour[1:] = taken[1:] / np.repeat(np.maximum(possible, 1), treeplex.num_actions)
        return treeplex.plan(behaviour)

    @cached_property
    def _taken(self) -> Counts:
        """Number of times that the observer was seen to take each of its sequences, shape (num_sequences,)."""
        view = self.view
        taken = np.zeros(self.game.sequence_form.treeplexes[self.player].num_sequences, dtype=np.int64)
        acted = np.flatnonzero(view.parents >= 0)
        acted = acted[view.own_sequences[acted] != view.own_sequences[view.parents[acted]]]
        np.add.at(taken, view.own_sequences[acted], self.totals[acted])
        return taken

    def _check_probe(self, probe: Strategy) -> None:
        check_same_game(probe, self.game)
        if probe.player != self.player:
            raise InvalidStrategyError(
                f"the probe is a strategy of player {probe.player}, expected one of the observer, player {self.player}"
            )
        wrong = np.flatnonzero((self._taken > 0) & (probe.plan == 0.0))
        if len(wrong):
            infoset, action = probe.treeplex.sequence_label(int(wrong[0])) or ("", "")
            raise PlayLogError(
                f"the counts show player {self.player} playing {shown(action)} at {shown(infoset)}, which the probe "
                "never does: it is not the strategy of these games"
            )


def _checked_counts(given: Any, view: ObserverTree) -> Counts:
    try:
        counts = np.array(given)
    except (TypeError, ValueError, OverflowError):
        counts = np.zeros(0, dtype=object)
    if counts.shape != (view.num_classes,) or counts.dtype.kind not in "iu":
        raise PlayLogError(
            f"the counts are {shown(given, 60)}, expected {view.num_classes} whole numbers, one per class"
        )
    wrong = (counts < 0) | ((counts > 0) & ~view.terminal)
    if wrong.any():
        first = int(np.argmax(wrong))
        expected = "at least 0" if view.terminal[first] else "0, since no game ends there"
        raise PlayLogError(f"class {first} ({view.name(first)}) has the count {counts[first]}, expected {expected}")
    if counts.sum(dtype=np.float64) >= _MOST_GAMES:
        raise PlayLogError(f"the counts cover {counts.sum(dtype=np.float64):.3g} games, expected fewer than 2^62")
    counts = counts.astype(np.int64)
    counts.flags.writeable = False
    return counts
