"""The view of one player, the observer: the classes of histories that it can distinguish."""

import sys
from array import array
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Integers, ReadOnly, frozen
from .budget import Budget, Watch, view_bytes
from .checks import check_type
from .errors import InvalidGameError, UnsupportedProblemError, shown
from .game import Game
from .histories import History, name_history, walk
from .public_tree import check_order
from .rules import CHANCE, TERMINAL, says_what_is_observed
from .sequence_form import SequenceForm
from .strategy import checked_player


@dataclass(frozen=True, eq=False)
class ObserverTree(ReadOnly):
    """The histories of a game, grouped into the classes that one player, the observer, can distinguish.

    Two inner histories are in one *class* if the observer's private information and the public history agree. Two
    leaves are in one class if, in addition, the information that the other players reveal and the observer's payoff
    agree. A play log contains exactly this information. Classes form a tree. A depth-first walk numbers each class
    when it first meets it, so a class comes after its parent. The root is class 0. Arrays are read-only.

    A play enters a class at one history and may continue through other histories of the class, for example after a card
    that the observer does not see. The arrays list only the histories at which a class is entered, grouped by class. No
    play passes two of them, so their probabilities can be added.

    Attributes
    ----------
    player : int
        The observer.
    parents : ndarray of int32, shape (num_classes,)
        The parent of each class; −1 for the root.
    terminal : ndarray of bool, shape (num_classes,)
    own_sequences : ndarray of int32, shape (num_classes,)
        The observer's last sequence, which is the same at all histories of a class.
    infosets : ndarray of int32, shape (num_classes,)
        The observer's infoset if the observer moves at histories of the class; otherwise −1.
    results : ndarray of float64, shape (num_classes,)
        The observer's payoff at a terminal class, in payoff units; NaN for other classes.
    private : tuple of str
        The observer's private information in each class.
    public : tuple of tuple of str
        The public history of each class.
    shown : tuple of tuple of (int, str)
        The information that other players reveal at a terminal class, ordered by player; empty for other classes.
    starts : ndarray of int64, shape (num_classes + 1,)
        The histories at which class ``c`` is entered are ``starts[c]:starts[c + 1]``.
    chance : ndarray of float64, shape (num_histories,)
        Chance's probability of each history.
    sequences : ndarray of int32, shape (num_histories, num_players)
        Each player's last sequence on the path to each history, numbered as in the sequence form.
    leaf_classes : ndarray of int32, shape (num_leaves,)
        The class of each leaf, in the order of the sequence form's leaf table.
    sequence_form : SequenceForm
        The sequence form of the game.

    Notes
    -----
    With player i's realization plan x_i, a play passes class c with probability x_i(σ_i(c)) Σ_h π_c(h) Π_{j ≠ i}
    x_j(σ_j(h)), summed over the histories h at which c is entered. See T. Davis, K. Waugh, M. Bowling, "Solving large
    extensive-form games with strategy constraints", AAAI 2019, appendix D, where a class is the player's own hand with
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
        """Number of players, not counting chance."""
        return int(self.sequences.shape[1])

    @cached_property
    def history_classes(self) -> Integers:
        """The class entered at each listed history, in ascending order, shape (num_histories,)."""
        return frozen(np.repeat(np.arange(self.num_classes, dtype=np.int32), np.diff(self.starts)))

    def histories(self, number: int) -> slice:
        """Return the histories at which a class is entered, as a slice of ``chance`` and ``sequences``."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def name(self, number: int) -> str:
        """Describe a class: own private information, public history, and the information that others reveal."""
        parts = [repr(self.private[number]), "/".join(self.public[number]) or "the start"]
        parts += [f"shown {player}: {label!r}" for player, label in self.shown[number]]
        return ", ".join(parts)

    def probabilities(self, plans: Sequence[Floats]) -> Floats:
        """Return the probability that a play passes each class or ends in it.

        Parameters
        ----------
        plans : sequence of ndarray of float64
            One realization plan per player.

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
        """Return the number of games that passed each class, given the number that ended in each class.

        Parameters
        ----------
        ended : array_like of int, shape (num_classes,)
            Zero except at terminal classes.

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
    """Return whether an observer's view belongs to a game."""
    form = game.sequence_form
    return view.sequence_form is form or view.sequence_form.fingerprint == form.fingerprint


def check_view(view: Any, game: Game, player: int) -> None:
    """Raise an error if an object is not a player's view of a game.

    Raises
    ------
    InvalidGameError
    """
    check_type(game, "game", InvalidGameError, Game, "a Game (load_game returns one)")
    if not isinstance(view, ObserverTree) or view.player != player:
        raise InvalidGameError(f"the view is {shown(view)}, expected observer_tree(game, {shown(player)})")
    if not is_view_of(view, game):
        raise InvalidGameError(
            f"the view is {shown(view)} of another game, expected observer_tree(game, {shown(player)}) of {game.spec}"
        )


#: An observer's knowledge: own private information and the public history; at the end also the others' and the result.
_Label = tuple[Any, ...]
#: Parts of a label before the end of a game.
_KNOWN = 2


def observer_tree(game: Game, player: int, memory: int | str | None = None) -> ObserverTree:
    """Find the classes of histories that one player can distinguish, in one walk over the rules.

    Parameters
    ----------
    game : Game
        Its rules define what players observe; see :class:`~treeplex.seqform.rules.Rules`.
    player : int
        The observer.
    memory : int or str, optional
        The memory budget, as for :func:`~treeplex.seqform.enumeration.enumerate_game`.

    Returns
    -------
    ObserverTree

    Raises
    ------
    UnsupportedProblemError
        If the game has no histories, its rules do not define what players observe, or its sequence form does not
        follow from the rules.
    InvalidStrategyError
        If there is no such player.
    InvalidGameError
        If the rules return a value of the wrong type or violate a requirement below. The message names histories by
        their action paths.
    GameTooLargeError
        If the view exceeds the memory budget.

    Notes
    -----
    The rules must ensure that

    - a history's public history begins with that of its predecessor;
    - the predecessors of the histories of a class are in one class, so that classes form a tree;
    - a class determines the observer's past actions and infoset: the observer's last sequence is the same at all of
      its histories, and those at which the observer moves lie in one infoset.

    Examples
    --------
    >>> from treeplex import load_game, observer_tree
    >>> observer_tree(load_game("leduc:merge_suits=true"), player=1)
    ObserverTree(player=1, classes=1096, terminal=792, histories=1936)
    """
    check_type(game, "game", InvalidGameError, Game, "a Game (load_game returns one)")
    rules = game.rules
    if rules is None or not says_what_is_observed(rules):
        raise UnsupportedProblemError(
            f"{game.spec} does not define what players observe, expected rules with the methods private_information, "
            "public_history and shows"
        )
    player = checked_player(game, player)
    form = game.sequence_form  # building it checks the rules
    if form.leaves is None or any(not treeplex.single_parent for treeplex in form.treeplexes):
        raise UnsupportedProblemError(f"{game.spec} has no table of leaves, which an observer's view needs")
    budget = Budget(memory)
    budget.require(
        view_bytes(rules.num_players, len(form.leaves), 0),
        f"{game.spec}: an observer's view of {len(form.leaves):,} leaves",
    )
    classes = _Classes(rules, player)
    classes.collect(budget)
    check_order(classes.infosets, form)
    if len(classes.of_leaves) != len(form.leaves):
        raise UnsupportedProblemError(
            f"the sequence form of {game.spec} has {len(form.leaves):,} leaves, but its rules have "
            f"{len(classes.of_leaves):,}: an observer's view needs the sequence form that follows from the rules"
        )
    return classes.tree(form)


class _Classes:
    """The classes found so far in a walk over the rules."""

    def __init__(self, rules: Any, player: int) -> None:
        self.rules = rules
        self.player = player
        self.numbers: dict[_Label, int] = {}  # of each class
        self.labels: list[_Label] = []
        self.parts: dict[Any, Any] = {}  # the parts of labels
        self.parents: list[int] = []
        self.own_sequences: list[int] = []
        self.own_infosets: list[int] = []
        self.results: list[float] = []
        self.first_met: list[int] = []  # the number of the first history of each class
        self.first_acted: dict[int, int] = {}  # the number of one history of a class at which the observer moves
        self.infosets: list[dict[Hashable, tuple[int, int]]] = [{} for _ in range(rules.num_players)]
        self.next_sequence = [1] * rules.num_players
        self.entered, self.chance, self.sequences = array("i"), array("d"), array("i")
        self.of_leaves = array("i")

    def collect(self, budget: Budget) -> None:
        num_players = len(self.infosets)
        watch = Watch(budget, lambda: view_bytes(num_players, len(self.chance), len(self.parents)))
        for history in walk(self.rules, watch):
            # The data of a history: all players' sequences, chance's probability, its class and its first sequence.
            sequences, reach, before = (0,) * num_players, 1.0, -1
            if history.before is not None:
                sequences, reach, before, first = history.before.data
                mover = history.before.player
                if mover == CHANCE:
                    reach *= float(history.probability)
                else:
                    sequences = (*sequences[:mover], first + history.place, *sequences[mover + 1 :])
            if history.player == TERMINAL:
                label = self._seen_at_end(history)
                self.of_leaves.append(self._class_of(history, label, sequences, reach, before, label[-1]))
            else:
                here = self._class_of(history, self._seen(history), sequences, reach, before)
                first = 0 if history.player == CHANCE else self._first_sequence(history, here)
                history.data = sequences, reach, here, first

    def _first_sequence(self, history: History, here: int) -> int:
        """Return the sequence of the first action at a decision, and record the observer's infoset in each class."""
        who, label = history.player, self.rules.infoset(history.state)
        known = self.infosets[who].get(label)
        if known is None:
            known = self.infosets[who][label] = len(self.infosets[who]), self.next_sequence[who]
            self.next_sequence[who] += len(tuple(self.rules.actions(history.state)))
        infoset, sequence = known
        if who == self.player and self.own_infosets[here] != infoset:
            if self.own_infosets[here] >= 0:
                labels = list(self.infosets[who])
                self._refuse_two(
                    here,
                    self.first_acted[here],
                    history,
                    f"lie in the infosets {shown(labels[self.own_infosets[here]], 40)} and "
                    f"{shown(labels[infoset], 40)}: expected a single infoset",
                )
            self.own_infosets[here] = infoset
            self.first_acted[here] = history.number
        return sequence

    def _seen(self, history: History) -> _Label:
        """Return the observer's knowledge at a history."""
        private = self._private(history, self.player)
        public = self.rules.public_history(history.state)
        if public.__class__ is not tuple or not all(event.__class__ is str for event in public):
            raise InvalidGameError(f"{history} has the public history {shown(public)}, expected a tuple of strings")
        return private, public

    def _private(self, history: History, player: int) -> str:
        private = self.rules.private_information(history.state, player)
        if private.__class__ is not str:
            raise InvalidGameError(
                f"{history} has private information {shown(private)} of player {player}, expected a string"
            )
        return private

    def _seen_at_end(self, leaf: History) -> _Label:
        """Return the observer's knowledge at a leaf, including what the others reveal and its own result."""
        seen = self._seen(leaf)
        result = float(self.rules.payoffs(leaf.state)[self.player]) + 0.0  # no negative zero
        given = self.rules.shows(leaf.state)
        players = range(len(self.infosets))
        if given.__class__ is not tuple or not all(each.__class__ is int and each in players for each in given):
            raise InvalidGameError(
                f"{leaf} reveals the private information of {shown(given)}, expected a tuple of players"
            )
        return *seen, tuple((each, self._private(leaf, each)) for each in sorted({*given} - {self.player})), result

    def _class_of(
        self,
        history: History,
        label: _Label,
        sequences: tuple[int, ...],
        reach: float,
        before: int,
        result: float = np.nan,
    ) -> int:
        """Return the class of a history, and add the history to the list if it enters the class."""
        here = self.numbers.get(label, -1)
        if here < 0:
            here = self._add(history, label, sequences, before, result)
        if here != before and self.parents[here] != before:
            self._refuse_two(
                here,
                self.first_met[here],
                history,
                "came from different classes: an observer's classes must form a tree",
            )
        if self.own_sequences[here] != sequences[self.player]:
            self._refuse_two(
                here,
                self.first_met[here],
                history,
                "differ in the observer's own actions: these must be public or private information",
            )
        if here != before:
            self.entered.append(here)
            self.chance.append(reach)
            self.sequences.extend(sequences)
        return here

    def _add(self, history: History, label: _Label, sequences: tuple[int, ...], before: int, result: float) -> int:
        if before >= 0:
            earlier, public = self.labels[before][1], label[1]
            if public[: len(earlier)] != earlier:
                raise InvalidGameError(
                    f"{history} has the public history {shown(public)} after {shown(earlier)}, expected one that "
                    "starts with it"
                )
        here = len(self.labels)
        label = self._shared(label)
        self.numbers[label] = here
        self.labels.append(label)
        self.parents.append(before)
        self.own_sequences.append(sequences[self.player])
        self.own_infosets.append(-1)
        self.results.append(result)
        self.first_met.append(history.number)
        return here

    def _shared(self, label: _Label) -> _Label:
        """Return a label whose parts are stored only once for all classes."""
        private, public, *end = label
        known = self.parts.get(public)
        if known is None:
            known = tuple(map(sys.intern, public))
            self.parts[known] = known
        return sys.intern(private), known, *(self.parts.setdefault(part, part) for part in end)

    def tree(self, form: SequenceForm) -> ObserverTree:
        """Return the view, with histories in the order of their classes."""
        classes = np.frombuffer(self.entered, dtype=np.intc)
        order = np.argsort(classes, kind="stable")
        num_classes = len(self.labels)
        starts = np.zeros(num_classes + 1, dtype=np.int64)
        np.cumsum(np.bincount(classes, minlength=num_classes), out=starts[1:])
        sequences = np.frombuffer(self.sequences, dtype=np.intc).astype(np.int32, copy=False)
        return ObserverTree(
            player=self.player,
            parents=np.array(self.parents, dtype=np.int32),
            terminal=np.array([len(label) > _KNOWN for label in self.labels]),
            own_sequences=np.array(self.own_sequences, dtype=np.int32),
            infosets=np.array(self.own_infosets, dtype=np.int32),
            results=np.array(self.results, dtype=np.float64),
            private=tuple(label[0] for label in self.labels),
            public=tuple(label[1] for label in self.labels),
            shown=tuple(label[2] if len(label) > _KNOWN else () for label in self.labels),
            starts=starts,
            chance=np.frombuffer(self.chance, dtype=np.float64)[order],
            sequences=sequences.reshape(-1, len(self.infosets))[order],
            leaf_classes=np.frombuffer(self.of_leaves, dtype=np.intc).astype(np.int32),
            sequence_form=form,
        )

    def _refuse_two(self, here: int, first: int, second: History, message: str) -> NoReturn:
        private, public, *_ = self.labels[here]
        raise InvalidGameError(
            f"{name_history(self.rules, first)} and {second} look the same to player {self.player}, who has "
            f"{shown(private)} and has seen {shown(public)}, but {message}"
        )
