"""Public states by the labels that a game's rules give."""

from array import array
from collections.abc import Hashable
from typing import Any, NoReturn

from .enumeration import name_node
from .errors import InvalidGameError, shown
from .polytope import is_hashable
from .public_tree import PublicTree, check_order, contracted
from .rules import CHANCE, TERMINAL, Rules, public_labels
from .sequence_form import SequenceForm


def public_tree_from_rules(rules: Rules, form: SequenceForm | None = None) -> PublicTree:
    """Collect the public states of a game whose rules have the method ``public_state``, in one walk without a tree.

    Parameters
    ----------
    rules : Rules
        Walked before without complaint: :func:`~treeplex.seqform.enumeration.enumerate_game` checks all else.
    form : SequenceForm, optional
        Their sequence form, to check that it has the infosets that the walk meets.

    Returns
    -------
    PublicTree

    Raises
    ------
    InvalidGameError
        If the rules have no public states, a label is not hashable, or labels break one of the rules below. The message
        names histories by their action paths, and the infoset.
    UnsupportedProblemError
        If the sequence form is another game's.

    Notes
    -----
    ``public_state(state)`` labels every history that is no leaf. Two histories are in one public state if their labels
    are equal. Labels make a public tree if

    - all histories of an infoset have one label;
    - a player's action changes the label;
    - a chance event changes the label at all of its outcomes, or at none, where it is a private deal;
    - histories of one label were in one public state before, that is, before their label last changed.

    The labels may say less than what is common knowledge, and then make larger subgames: where cards are so few that
    everybody can infer the others', labels of what was shown are not the finest public states there are.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.public_from_rules import public_tree_from_rules
    >>> public_tree_from_rules(load_game("leduc:merge_suits=true").rules)
    PublicTree(states=101, levels=9)
    """
    label_of = public_labels(rules)
    if label_of is None:
        raise InvalidGameError(f"{shown(rules)} has no method public_state: its public states follow from infosets")
    player, actions_at, child, infoset_of = rules.player, rules.actions, rules.child, rules.infoset
    outcomes_at = rules.chance_outcomes

    numbers: dict[Hashable, int] = {}  # of each label's public state
    parents: list[int] = []
    first_met: list[int] = []  # the number of a history of each state
    players: list[set[int]] = []
    infosets: list[dict[Hashable, tuple[int, int]]] = [{} for _ in range(rules.num_players)]
    leaf_states = array("i")
    visited = 0  # inner nodes taken from the stack

    root = rules.initial_state()
    who = player(root)
    if who == TERMINAL:
        leaf_states.append(-1)
    # Of each history: its state, who moves, the public state before it, and what its siblings below a chance node have
    # done to the label (below a decision None): True once one has changed it, False once one has not.
    stack: list[tuple[Any, int, int, list[bool] | None]] = [] if who == TERMINAL else [(root, who, -1, None)]
    push, pop = stack.append, stack.pop
    while stack:
        state, who, before, changes = pop()
        label = label_of(state)
        try:
            here = numbers.get(label, -1)
        except TypeError:
            if not is_hashable(label):
                number = visited + len(leaf_states)
                raise InvalidGameError(
                    f"{name_node(rules, number)} has the public state {shown(label)}, expected a hashable label"
                ) from None
            raise
        if here < 0:
            here = len(parents)
            numbers[label] = here
            parents.append(before)
            players.append(set())
            first_met.append(visited + len(leaf_states))
        elif here == before:
            if changes is None:
                _refuse_unchanged(rules, label, visited + len(leaf_states))
        elif parents[here] != before:
            _refuse_merged(rules, label, first_met[here], visited + len(leaf_states))
        if changes is not None:
            changes.append(here != before)
            if changes[0] != changes[-1]:
                _refuse_mixed(rules, list(numbers)[before], visited + len(leaf_states))
        if who == CHANCE:
            visited += 1
            changes = []
            for action, _ in reversed(outcomes_at(state)):
                follower = child(state, action)
                next_player = player(follower)
                if next_player == TERMINAL:
                    leaf_states.append(here)
                else:
                    push((follower, next_player, here, changes))
            continue
        known = infosets[who].setdefault(infoset_of(state), (here, visited + len(leaf_states)))
        if known[0] != here:
            _refuse_infoset(rules, who, infoset_of(state), list(numbers), known, (here, visited + len(leaf_states)))
        players[here].add(int(who))
        visited += 1
        for action in reversed(actions_at(state)):
            follower = child(state, action)
            next_player = player(follower)
            if next_player == TERMINAL:
                leaf_states.append(here)
            else:
                push((follower, next_player, here, None))

    check_order(infosets, form)
    return contracted(
        parents,
        players,
        [[state for state, _ in found.values()] for found in infosets],
        leaf_states,
        list(numbers),
    )


# Each message names a history by its number in the order of the walk, which is that of enumerate_game.


def _refuse_unchanged(rules: Rules, label: Hashable, number: int) -> NoReturn:
    raise InvalidGameError(
        f"{name_node(rules, number)} has the public state {shown(label)}, as before its last action, expected another: "
        "a player's action changes what is public, if only who has moved"
    )


def _refuse_merged(rules: Rules, label: Hashable, first: int, second: int) -> NoReturn:
    raise InvalidGameError(
        f"{name_node(rules, first)} and {name_node(rules, second)} have the public state {shown(label)}, but came from "
        "different ones: public states must form a tree"
    )


def _refuse_mixed(rules: Rules, label: Hashable, number: int) -> NoReturn:
    raise InvalidGameError(
        f"{name_node(rules, number)} is an outcome of a chance node with the public state {shown(label)}, which some "
        "outcomes change and others do not: expected all, or none where the event is private"
    )


def _refuse_infoset(
    rules: Rules,
    player: int,
    infoset: Hashable,
    labels: list[Hashable],
    first: tuple[int, int],
    second: tuple[int, int],
) -> NoReturn:
    raise InvalidGameError(
        f"infoset {shown(infoset)} of player {player} lies in two public states: {name_node(rules, first[1])} has "
        f"{shown(labels[first[0]])} and {name_node(rules, second[1])} has {shown(labels[second[0]])}, expected the same"
    )
