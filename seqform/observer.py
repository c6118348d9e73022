"""The histories of a game in the classes that one player, the observer, can tell apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Integers
from .errors import InvalidGameError, shown
from .game import Game
from .sequence_form import SequenceForm


@dataclass(frozen=True, eq=False)
class ObserverTree:
    """The histories of a game in the classes that one player, the observer, can tell apart; arrays are read-only.

    Two histories that are no leaves are in one *class* if the observer's private information and the public history
    agree. Two leaves are in one class if these agree, and so do what the other players show and what the observer is
    paid. That is what a log of play holds. Classes form a tree; they are numbered in the order in which a depth-first
    walk first meets them, so that a class comes after its parent. The root is class 0.

    A class is entered at some of its histories, and goes on through others, such as those after a card that the
    observer does not see. No play passes two of those at which it is entered: they alone are listed, so that
    probabilities add up. They stand class after class.

    Attributes
    ----------
    player : int
        The observer.
    parents : ndarray of int32, shape (num_classes,)
        The class before each one; −1 for the root.
    terminal : ndarray of bool, shape (num_classes,)
    own_sequences : ndarray of int32, shape (num_classes,)
        The observer's last sequence, the same at all histories of a class.
    infosets : ndarray of int32, shape (num_classes,)
        The observer's infoset where the observer moves at histories of the class, elsewhere −1.
    results : ndarray of float64, shape (num_classes,)
        What the observer is paid at a terminal class, in payoff units; elsewhere not a number.
    private : tuple of str
        The observer's private information in each class.
    public : tuple of tuple of str
        The public history of each class.
    shown : tuple of tuple of (int, str)
        What other players show at a terminal class, by player in rising order; elsewhere empty.
    starts : ndarray of int64, shape (num_classes + 1,)
        The histories at which class ``c`` is entered are ``starts[c]:starts[c + 1]``.
    chance : ndarray of float64, shape (num_histories,)
        Probability that chance plays to each history.
    sequences : ndarray of int32, shape (num_histories, num_players)
        Each player's last sequence on the way to each history, numbered as in the sequence form.
    leaf_classes : ndarray of int32, shape (num_leaves,)
        The class of each leaf, in the order of the sequence form's leaf table.
    sequence_form : SequenceForm
        That of the game.

    Notes
    -----
    With player i's realization plan x_i, a play passes class c with probability x_i(σ_i(c)) Σ_h π_c(h)
    Π_{j ≠ i} x_j(σ_j(h)), the sum over the histories h at which c is entered: T. Davis, K. Waugh, M. Bowling, "Solving
    large extensive-form games with strategy constraints", AAAI 2019, appendix D, where a class is one's own hand with
    the public cards and actions.

    Examples
    --------
    >>> from treeplex import load_game, observer_tree
    >>> view = observer_tree(load_game("kuhn"), player=0)
    >>> view
    ObserverTree(player=0, classes=37, terminal=24, histories=52)
    >>> view.name(4), view.name(5)
    ("'J', p/b", "'J', p/b/b, shown 1: 'Q'")
    """

    player: int
    parents: Integers
    terminal: npt.NDArray[np.bool_]
    own_sequences: Integers
    infosets: Integers
    results: Floats
    private: tuple[str, ...]
    public: tuple[tuple[str, ...], ...]
    shown: tuple[tuple[tuple[int, str], ...], ...]
    starts: npt.NDArray[np.int64]
    chance: Floats
    sequences: Integers
    leaf_classes: Integers
    sequence_form: SequenceForm

    def __post_init__(self) -> None:
        for array_ in self._arrays():
            array_.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array_ in self._arrays():
            array_.flags.writeable = False  # stored arrays come back writeable

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [value for value in self.__dict__.values() if isinstance(value, np.ndarray)]

    def __repr__(self) -> str:
        return (
            f"ObserverTree(player={self.player}, classes={self.num_classes}, terminal={int(self.terminal.sum())}, "
            f"histories={self.num_histories})"
        )

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return len(self.parents)

    @property
    def num_histories(self) -> int:
        """Number of histories at which classes are entered."""
        return len(self.chance)

    @property
    def num_players(self) -> int:
        """Number of players, chance not counted."""
        return int(self.sequences.shape[1])

    @cached_property
    def history_classes(self) -> Integers:
        """The class that is entered at each listed history, in rising order, shape (num_histories,)."""
        classes = np.repeat(np.arange(self.num_classes, dtype=np.int32), np.diff(self.starts))
        classes.flags.writeable = False
        return classes

    def histories(self, number: int) -> slice:
        """Return where the histories stand at which a class is entered, as a slice of ``chance`` and ``sequences``."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def name(self, number: int) -> str:
        """Return a class in words: own private information, public history, and what others show."""
        parts = [repr(self.private[number]), "/".join(self.public[number]) or "the start"]
        parts += [f"shown {player}: {label!r}" for player, label in self.shown[number]]
        return ", ".join(parts)

    def probabilities(self, plans: Sequence[Floats]) -> Floats:
        """Return with which probability a play passes each class, or ends in it.

        Parameters
        ----------
        plans : sequence of ndarray of float64
            One realization plan a player.

        Returns
        -------
        ndarray of float64, shape (num_classes,)

        Examples
        --------
        >>> from treeplex import Profile, load_game, observer_tree
        >>> game = load_game("kuhn")
        >>> view = observer_tree(game, player=0)
        >>> view.probabilities(Profile.uniform(game).plans)[:4].round(6).tolist()  # the root; J; J, p; J, p/p with Q
        [1.0, 0.333333, 0.166667, 0.041667]
        """
        reach = self.chance.copy()
        for player, plan in enumerate(plans):
            reach *= plan[self.sequences[:, player]]
        found = np.bincount(self.history_classes, weights=reach, minlength=self.num_classes)
        return found.astype(np.float64, copy=False)

    def totals(self, ended: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return how many games passed each class, from how many ended in each.

        Parameters
        ----------
        ended : array_like of int, shape (num_classes,)
            Zero but at terminal classes.

        Returns
        -------
        ndarray of int64, shape (num_classes,)
        """
        totals: list[int] = np.asarray(ended).tolist()
        parents: list[int] = self.parents.tolist()
        for number in range(self.num_classes - 1, 0, -1):  # a class comes after its parent
            totals[parents[number]] += totals[number]
        return np.array(totals, dtype=np.int64)


def is_view_of(view: ObserverTree, game: Game) -> bool:
    """Return whether an observer's view is of a game, and not of another one."""
    form = game.sequence_form
    return view.sequence_form is form or view.sequence_form.fingerprint == form.fingerprint


def check_view(view: Any, game: Game, player: int) -> None:
    """Refuse what is no view of a player on a game.

    Raises
    ------
    InvalidGameError
    """
    if not isinstance(game, Game):
        raise InvalidGameError(f"{shown(game)} is no game: a Game is needed (load_game returns one)")
    if not isinstance(view, ObserverTree) or view.player != player:
        raise InvalidGameError(f"the view is {shown(view)}, expected observer_tree(game, {shown(player)})")
    if not is_view_of(view, game):
        raise InvalidGameError(
            f"the view is {shown(view)} of another game, expected observer_tree(game, {shown(player)}) of {game.spec}"
        )
