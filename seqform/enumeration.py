"""The walk over rules that builds the treeplexes and the table of leaves of a game."""

from array import array
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .arrays import frozen
from .budget import Budget, Watch, sequence_form_bytes
from .checks import check_whole
from .errors import InvalidGameError
from .histories import name_history, name_leaf
from .payoffs import LeafTable
from .polytope import Treeplex
from .rationals import to_fraction
from .rule_checks import (
    KnownInfoset,
    WrongAnswer,
    check_known,
    check_label,
    checked_actions,
    checked_mover,
    checked_outcomes,
    checked_payoffs,
    not_finite,
)
from .rules import CHANCE, MAX_PLAYERS, PROBABILITY_TOLERANCE, TERMINAL, GameSize, Rules, check_rules, outcomes_of


@dataclass(frozen=True, eq=False)
class Enumeration:
    """The result of one walk over a game.

    Attributes
    ----------
    treeplexes : tuple of Treeplex
        One per player; infosets are in the order in which a depth-first walk meets them.
    leaves : LeafTable
    num_nodes : int
        Number of histories, including the root and the leaves.
    """

    treeplexes: tuple[Treeplex, ...]
    leaves: LeafTable
    num_nodes: int


def enumerate_game(rules: Rules, exact: bool = False, memory: int | str | None = None) -> Enumeration:
    """Walk a game depth first and collect its infosets, sequences and leaves.

    The walk keeps its own stack, so depth is limited only by memory and by a million moves without a leaf. It keeps
    arrays and one dictionary entry per infoset: about 60 bytes per leaf. A budget limits its memory; see
    :mod:`~treeplex.seqform.budget`.

    Parameters
    ----------
    rules : Rules
    exact : bool
        Keep chance probabilities and payoffs as fractions beside the floats.
    memory : int or str, optional
        The budget, in bytes or as a string such as ``"8GB"``. The default is the environment variable
        ``TREEPLEX_MEMORY``, or half of the available memory if it is not set.

    Returns
    -------
    Enumeration

    Raises
    ------
    InvalidGameError
        If `rules` lacks a method of :class:`Rules`, probabilities are negative, not finite or do not sum to one, the
        histories of an infoset have different actions, actions repeat, payoffs are missing or not finite, or a method
        returns a wrong type. The message names the history by its actions. Errors that the rules raise pass through.
    ImperfectRecallError
        If two histories of an infoset differ in the player's own past.
    GameTooLargeError
        If the game, or the part enumerated so far, exceeds the budget.
    InvalidMemoryError
        If `memory` or the environment variable is not an amount of memory.
    """
    check_rules(rules)
    num_players = check_whole(rules.num_players, "num_players", InvalidGameError, f"[1, {MAX_PLAYERS}]")
    budget = Budget(memory)
    budget.admit(rules, exact)
    found = _Found(num_players, exact)
    num_nodes = _walk(rules, found, Watch(budget, found.bytes_taken))
    leaves = found.leaf_table(rules)
    return Enumeration(tuple(map(found.treeplex, range(num_players))), leaves, num_nodes)


class _Found:
    """The infosets, sequences and leaves found so far in a walk."""

    def __init__(self, num_players: int, exact: bool) -> None:
        self.exact = exact
        self.infosets: list[dict[Hashable, KnownInfoset]] = [{} for _ in range(num_players)]
        self.next_sequence = [1] * num_players
        self.sequences, self.chance, self.payoffs = array("i"), array("d"), array("d")
        self.exact_chance: list[Fraction] = []
        self.exact_payoffs: list[tuple[Fraction, ...]] = []

    def bytes_taken(self) -> int:
        """Estimate the memory of the sequence form found so far."""
        size = GameSize(0, len(self.chance), tuple(self.next_sequence), tuple(map(len, self.infosets)))
        return sequence_form_bytes(size, self.exact)

    def enter(
        self, player: int, label: Hashable, parent: int, actions: tuple[Hashable, ...], history: int
    ) -> KnownInfoset:
        """Assign numbers to a new infoset and its sequences."""
        sequence = self.next_sequence[player]
        plain = all(action.__class__ is str for action in actions)
        self.infosets[player][label] = known = (sequence, parent, actions, plain, history, label)
        self.next_sequence[player] = sequence + len(actions)
        return known

    def leaf_recorder(self, payoffs_at: Callable[[Any], Any]) -> Callable[[Any, tuple[int, ...], Any], None]:
        """Return a function that records a leaf from its state, the players' sequences and chance's probability."""
        num_players, exact = len(self.infosets), self.exact
        leaf_sequences, leaf_chance, leaf_payoffs = self.sequences, self.chance, self.payoffs

        def record(state: Any, sequences: tuple[int, ...], reach: Any) -> None:
            payoffs = payoffs_at(state)
            if payoffs.__class__ is not tuple or len(payoffs) != num_players:
                payoffs = checked_payoffs(payoffs, num_players)
            leaf_sequences.extend(sequences)
            try:
                if exact:
                    self.exact_payoffs.append(tuple(map(to_fraction, payoffs)))
                    self.exact_chance.append(reach)
                leaf_payoffs.extend(payoffs)
                leaf_chance.append(reach)
            except (TypeError, ValueError, OverflowError):
                raise not_finite(payoffs) from None

        return record

    def leaf_table(self, rules: Rules) -> LeafTable:
        """Return all leaves."""
        num_players = len(self.infosets)
        payoffs = np.frombuffer(self.payoffs, dtype=np.float64).reshape(-1, num_players)
        if not np.isfinite(payoffs).all():
            wrong = int(np.argmin(np.isfinite(payoffs).all(axis=1)))
            raise InvalidGameError(
                f"{name_leaf(rules, wrong)} has payoffs {tuple(payoffs[wrong].tolist())}, expected finite numbers"
            )
        sequences = np.frombuffer(self.sequences, dtype=np.intc).astype(np.int32, copy=False)
        return LeafTable.of_arrays(
            frozen(sequences.reshape(-1, num_players)),
            frozen(np.frombuffer(self.chance, dtype=np.float64)),
            frozen(payoffs),
            tuple(self.exact_chance) if self.exact else None,
            tuple(self.exact_payoffs) if self.exact else None,
        )

    def treeplex(self, player: int) -> Treeplex:
        """Return the treeplex of a player."""
        table = self.infosets[player]
        firsts, parents, actions, plain, _, _ = zip(*table.values(), strict=True) if table else ((),) * 6
        if not all(plain):  # labels of two infosets may be equal but of different types
            return Treeplex(parents, list(map(len, actions)), list(table), actions)
        offsets = frozen(np.array([*firsts, self.next_sequence[player]], dtype=np.int32))
        above = frozen(np.array(parents, dtype=np.int32))
        return Treeplex.of_parts(above, frozen(np.diff(offsets)), offsets, tuple(table), actions)


def _walk(rules: Rules, found: _Found, watch: Watch) -> int:
    """Visit every history once, each leaf right after its parent; return the number of histories."""
    player, actions_at, child, infoset_of = rules.player, rules.actions, rules.child, rules.infoset
    outcomes_at, record_leaf = outcomes_of(rules), found.leaf_recorder(rules.payoffs)
    exact, leaf_chance, next_sequence = found.exact, found.chance, found.next_sequence
    num_players, entry_of = len(found.infosets), [table.get for table in found.infosets]
    stack: list[tuple[Any, int, tuple[int, ...], Any]] = []
    push, pop = stack.append, stack.pop
    visited = 0  # inner nodes popped from the stack
    try:
        root = rules.initial_state()
        who = player(root)
        sequences, reach = (0,) * num_players, Fraction(1) if exact else 1.0
        if who == TERMINAL:
            record_leaf(root, sequences, reach)
        else:
            push((root, who, sequences, reach))
        while stack:
            number = visited + len(leaf_chance)
            if number + len(stack) >= watch.next:
                watch.look(number, len(stack), len(leaf_chance), next_sequence)
            state, who, sequences, reach = pop()
            if who.__class__ is not int:
                who = checked_mover(who, num_players)
            if 0 <= who < num_players:
                label, actions, parent = infoset_of(state), actions_at(state), sequences[who]
                try:
                    entry = entry_of[who](label)
                except TypeError:
                    check_label(label, "infoset")
                    raise
                if entry is None:
                    entry = found.enter(who, label, parent, _actions_of(label, actions, watch, number), number)
                    actions = entry[2]
                sequence, above, known, plain, _, _ = entry
                if (
                    parent != above
                    or label.__class__ is not str
                    or not (actions is known or (plain and actions.__class__ is tuple and actions == known))
                ):
                    check_known(rules, who, label, parent, actions, entry, number)
                visited += 1
                left, right = sequences[:who], sequences[who + 1 :]
                sequence += len(known)
                for action in reversed(known):
                    sequence -= 1
                    follower = child(state, action)
                    next_player = player(follower)
                    if next_player == TERMINAL:
                        record_leaf(follower, (*left, sequence, *right), reach)
                    else:
                        push((follower, next_player, (*left, sequence, *right), reach))
            elif who == CHANCE:
                given = outcomes_at(state)
                outcomes = None if exact else _plain_outcomes(given)
                if outcomes is None:
                    outcomes = checked_outcomes(given, exact, watch, number)
                visited += 1
                for action, probability in reversed(outcomes):
                    follower = child(state, action)
                    next_player = player(follower)
                    if next_player == TERMINAL:
                        record_leaf(follower, sequences, reach * probability)
                    else:
                        push((follower, next_player, sequences, reach * probability))
            else:
                checked_mover(who, num_players)
    except WrongAnswer as refused:
        raise InvalidGameError(f"{name_history(rules, visited + len(leaf_chance))} {refused}") from None
    return visited + len(leaf_chance)


def _actions_of(label: Hashable, actions: Any, watch: Watch, number: int) -> tuple[Hashable, ...]:
    """Return the actions of a new infoset: a tuple of distinct labels, at least one."""
    if label.__class__ is str and actions.__class__ is tuple and actions:
        taken: tuple[Hashable, ...] = actions
        if all(action.__class__ is str for action in taken) and len(set(taken)) == len(taken):
            return taken
    check_label(label, "infoset")
    return checked_actions(label, actions, watch, number)


def _plain_outcomes(given: Any) -> list[tuple[Hashable, Any]] | None:
    """Return chance outcomes with float probabilities if labels are distinct strings and probabilities sum to one."""
    if given.__class__ is not list and given.__class__ is not tuple:
        return None
    for pair in given:
        if pair.__class__ is not tuple or len(pair) != 2 or pair[0].__class__ is not str:
            return None
        if pair[1].__class__ is not Fraction and pair[1].__class__ is not float:
            return None
    outcomes: list[tuple[Hashable, Any]] = [(action, float(probability)) for action, probability in given]
    chances = [probability for _, probability in outcomes]
    if min(chances, default=-1.0) < 0.0 or not abs(sum(chances) - 1.0) <= PROBABILITY_TOLERANCE:
        return None
    return outcomes if len({action for action, _ in outcomes}) == len(outcomes) else None
