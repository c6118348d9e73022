"""What one player sees of a game, found in one walk over the rules that say so."""

import sys
from array import array
from collections.abc import Hashable
from typing import Any, NoReturn

import numpy as np

from .budget import Budget, Watch, view_bytes
from .enumeration import name_node
from .errors import InvalidGameError, UnsupportedProblemError, shown
from .game import Game
from .observer import ObserverTree
from .public_tree import check_order
from .rules import CHANCE, TERMINAL, Rules, says_what_is_observed
from .sequence_form import SequenceForm
from .strategy import checked_player

#: What an observer knows: own private information and the public history; at the end what others show, and the result.
_Label = tuple[Any, ...]
#: Parts of a label before the end of a game.
_KNOWN = 2


def observer_tree(game: Game, player: int, memory: int | str | None = None) -> ObserverTree:
    """Find the classes of histories that one player can tell apart, in one walk over the rules.

    Parameters
    ----------
    game : Game
        Its rules say what is observed; see :class:`~treeplex.seqform.rules.Rules`.
    player : int
        The observer.
    memory : int or str, optional
        What it may take, as for :func:`~treeplex.seqform.enumeration.enumerate_game`.

    Returns
    -------
    ObserverTree

    Raises
    ------
    UnsupportedProblemError
        If the game has no histories, its rules do not say what is observed, or its sequence form does not follow from
        them.
    InvalidStrategyError
        If there is no such player.
    InvalidGameError
        If what the rules say is of the wrong kind, or breaks a rule below. The message names histories by their action
        paths.
    GameTooLargeError
        If it takes more than the budget.

    Notes
    -----
    Rules have to see to it that

    - a history's public history begins with the one before it;
    - histories of one class came from one class, so that classes form a tree;
    - a class says what the observer has done, and where the observer moves, in which infoset: all of its histories have
      the same last sequence of the observer, and those at which the observer moves lie in one infoset.

    Examples
    --------
    >>> from treeplex import load_game, observer_tree
    >>> observer_tree(load_game("leduc:merge_suits=true"), player=1)
    ObserverTree(player=1, classes=1096, terminal=792, histories=1936)
    """
    rules = _observed_rules(game)
    player = checked_player(game, player)
    form = game.sequence_form  # the walk to it checks the rules
    if form.leaves is None or any(not treeplex.single_parent for treeplex in form.treeplexes):
        raise UnsupportedProblemError(f"{game.spec} has no table of leaves: what an observer sees needs one")
    budget = Budget(memory)
    budget.require(
        view_bytes(rules.num_players, len(form.leaves), 0),
        f"{game.spec}: the game has {len(form.leaves):,} leaves: what an observer sees of them",
    )
    walk = _Walk(rules, player, Watch(budget))
    walk.run()
    check_order(walk.infosets, form)
    if len(walk.leaf_classes) != len(form.leaves):
        raise UnsupportedProblemError(
            f"the sequence form of {game.spec} has {len(form.leaves):,} leaves, but its rules have "
            f"{len(walk.leaf_classes):,}: what an observer sees needs the one that follows from the rules"
        )
    return walk.result(form)


def _observed_rules(game: Game) -> Rules:
    if not isinstance(game, Game):
        raise InvalidGameError(f"{shown(game)} is no game: a Game is needed (load_game returns one)")
    rules = game.rules
    if rules is None or not says_what_is_observed(rules):
        raise UnsupportedProblemError(
            f"{game.spec} does not say what players observe: expected rules with the methods private_information, "
            "public_history and shows"
        )
    return rules


class _Walk:
    """One walk over the rules, in the order of :func:`~treeplex.seqform.enumeration.enumerate_game`."""

    def __init__(self, rules: Any, player: int, watch: Watch) -> None:
        self.rules = rules
        self.player = player
        self.watch = watch
        self.numbers: dict[_Label, int] = {}  # of each class
        self.labels: list[_Label] = []
        self.parts: dict[Any, Any] = {}  # what labels are made of
        self.parents: list[int] = []
        self.own_sequences: list[int] = []
        self.own_infosets: list[int] = []
        self.results: list[float] = []
        self.first_met: list[int] = []  # the number of a history of each class
        self.first_acted: dict[int, int] = {}  # the number of a history of a class at which the observer moves
        self.infosets: list[dict[Hashable, tuple[int, int]]] = [{} for _ in range(rules.num_players)]
        self.entered, self.chance, self.sequences = array("i"), array("d"), array("i")
        self.leaf_classes = array("i")

    def run(self) -> None:
        rules = self.rules
        player_at, actions_at, child, infoset_of = rules.player, rules.actions, rules.child, rules.infoset
        next_sequence = [1] * rules.num_players
        visited = 0  # inner nodes taken from the stack
        root = rules.initial_state()
        who = player_at(root)
        nothing = (0,) * rules.num_players
        # Of each history: its state, who moves, everybody's sequences, chance's probability, the class before it.
        stack: list[tuple[Any, int, tuple[int, ...], float, int]] = []
        if who == TERMINAL:
            self._enter_leaf(root, nothing, 1.0, -1, 0)
        else:
            stack.append((root, who, nothing, 1.0, -1))
        push, pop = stack.append, stack.pop
        while stack:
            if visited + len(self.leaf_classes) + len(stack) >= self.watch.next:
                self.watch.look_at_view(
                    visited, len(self.leaf_classes), len(stack), len(nothing), len(self.chance), len(self.parents)
                )
            state, who, sequences, reach, before = pop()
            number = visited + len(self.leaf_classes)
            here = self._class_of(state, sequences, reach, before, number)
            visited += 1
            if who == CHANCE:
                for action, probability in reversed(rules.chance_outcomes(state)):
                    follower = child(state, action)
                    following = player_at(follower)
                    chance = reach * float(probability)
                    if following == TERMINAL:
                        self._enter_leaf(follower, sequences, chance, here, visited + len(self.leaf_classes))
                    else:
                        push((follower, following, sequences, chance, here))
                continue
            label, actions = infoset_of(state), actions_at(state)
            infoset, sequence = self.infosets[who].setdefault(label, (len(self.infosets[who]), next_sequence[who]))
            if sequence == next_sequence[who]:
                next_sequence[who] += len(actions)
            if who == self.player and self.own_infosets[here] != infoset:
                if self.own_infosets[here] >= 0:
                    self._refuse_coarse(here, self.own_infosets[here], infoset, number)
                self.own_infosets[here] = infoset
                self.first_acted[here] = number
            left, right = sequences[:who], sequences[who + 1 :]
            sequence += len(actions)
            for action in reversed(actions):
                sequence -= 1
                follower = child(state, action)
                following = player_at(follower)
                if following == TERMINAL:
                    leaf = visited + len(self.leaf_classes)
                    self._enter_leaf(follower, (*left, sequence, *right), reach, here, leaf)
                else:
                    push((follower, following, (*left, sequence, *right), reach, here))

    def _seen(self, state: Any, number: int) -> _Label:
        """Return what the observer knows at a history."""
        private = self.rules.private_information(state, self.player)
        public = self.rules.public_history(state)
        if private.__class__ is not str:
            self._refuse(number, f"has private information {shown(private)} of player {self.player}, expected a text")
        if public.__class__ is not tuple or not all(event.__class__ is str for event in public):
            self._refuse(number, f"has the public history {shown(public)}, expected a tuple of texts")
        return private, public

    def _class_of(self, state: Any, sequences: tuple[int, ...], reach: float, before: int, number: int) -> int:
        """Return the class of a history that is no leaf, and list the history if it enters the class."""
        label = self._seen(state, number)
        here = self.numbers.get(label, -1)
        if here < 0:
            here = self._add(label, sequences, before, number, np.nan)
        elif here == before:
            self._check_own(here, sequences, number)
            return here
        self._enter(here, sequences, reach, before, number)
        return here

    def _enter_leaf(self, state: Any, sequences: tuple[int, ...], reach: float, before: int, number: int) -> None:
        private, public = self._seen(state, number)
        result = float(self.rules.payoffs(state)[self.player])
        label = (private, public, self._shown(state, number), result + 0.0)  # no negative zero
        here = self.numbers.get(label, -1)
        if here < 0:
            here = self._add(label, sequences, before, number, result + 0.0)
        self._enter(here, sequences, reach, before, number)
        self.leaf_classes.append(here)

    def _shown(self, state: Any, number: int) -> tuple[tuple[int, str], ...]:
        given = self.rules.shows(state)
        players = range(len(self.infosets))
        if given.__class__ is not tuple or not all(each.__class__ is int and each in players for each in given):
            self._refuse(number, f"shows the private information of {shown(given)}, expected a tuple of players")
        labels = tuple((each, self.rules.private_information(state, each)) for each in sorted({*given} - {self.player}))
        for each, label in labels:
            if label.__class__ is not str:
                self._refuse(number, f"has private information {shown(label)} of player {each}, expected a text")
        return labels

    def _add(self, label: _Label, sequences: tuple[int, ...], before: int, number: int, result: float) -> int:
        if before >= 0:
            earlier, public = self.labels[before][1], label[1]
            if public[: len(earlier)] != earlier:
                self._refuse(
                    number,
                    f"has the public history {shown(public)} after {shown(earlier)}, expected one that begins with it",
                )
        here = len(self.labels)
        label = self._shared(label)
        self.numbers[label] = here
        self.labels.append(label)
        self.parents.append(before)
        self.own_sequences.append(sequences[self.player])
        self.own_infosets.append(-1)
        self.results.append(result)
        self.first_met.append(number)
        return here

    def _shared(self, label: _Label) -> _Label:
        """Return a label made of parts that are in memory once, however many classes have them."""
        private, public, *end = label
        known = self.parts.get(public)
        if known is None:
            known = tuple(map(sys.intern, public))
            self.parts[known] = known
        return sys.intern(private), known, *(self.parts.setdefault(part, part) for part in end)

    def _enter(self, here: int, sequences: tuple[int, ...], reach: float, before: int, number: int) -> None:
        if self.parents[here] != before:
            self._refuse_two(
                here, self.first_met[here], number, "came from different ones: what an observer sees must form a tree"
            )
        self._check_own(here, sequences, number)
        self.entered.append(here)
        self.chance.append(reach)
        self.sequences.extend(sequences)

    def _check_own(self, here: int, sequences: tuple[int, ...], number: int) -> None:
        if self.own_sequences[here] != sequences[self.player]:
            self._refuse_two(
                here,
                self.first_met[here],
                number,
                "differ in what the observer has done: a player's own actions must be public or private information",
            )

    def result(self, form: SequenceForm) -> ObserverTree:
        """Return what was found, histories in the order of their classes."""
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
            leaf_classes=np.frombuffer(self.leaf_classes, dtype=np.intc).astype(np.int32),
            sequence_form=form,
        )

    # Each message names a history by its number in the order of the walk.

    def _refuse(self, number: int, message: str) -> NoReturn:
        raise InvalidGameError(f"{name_node(self.rules, number)} {message}")

    def _refuse_two(self, here: int, first: int, second: int, message: str) -> NoReturn:
        private, public, *_ = self.labels[here]
        raise InvalidGameError(
            f"{name_node(self.rules, first)} and {name_node(self.rules, second)} are alike to player {self.player}, "
            f"who has {shown(private)} and has seen {shown(public)}, but {message}"
        )

    def _refuse_coarse(self, here: int, first: int, second: int, number: int) -> NoReturn:
        labels = list(self.infosets[self.player])
        self._refuse_two(
            here,
            self.first_acted[here],
            number,
            f"lie in the infosets {shown(labels[first], 40)} and {shown(labels[second], 40)}: expected one",
        )
