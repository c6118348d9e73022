"""The histories of a game one by one, depth first: the order in which everything here numbers them."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from .budget import Watch
from .errors import one_line
from .labels import has_order, listed
from .rules import CHANCE, TERMINAL, Number, Rules, outcomes_of


class History:
    """One history on a walk over a game; ``str`` names it by its action path.

    Attributes
    ----------
    state : object
        The rules' own.
    player : int
        Who moves; ``CHANCE`` or ``TERMINAL`` where nobody does.
    before : History or None
        The one before its last action; ``None`` at the root.
    action : hashable
        The action or the outcome of chance that leads here.
    place : int
        Which of its siblings it is, from 0.
    probability : number
        With which chance leads here; 1 after a player's action.
    number : int
        From 0, in the order of the walk.
    data : object
        What whoever walks keeps with it, to be found at the histories after it.
    """

    __slots__ = ("action", "before", "data", "number", "place", "player", "probability", "state")

    def __init__(
        self, state: Any, player: int, before: "History | None", action: Hashable, place: int, probability: Number
    ) -> None:
        self.state = state
        self.player = player
        self.before = before
        self.action = action
        self.place = place
        self.probability = probability
        self.number = -1
        self.data: Any = None

    def __str__(self) -> str:
        actions = []
        history = self
        while history.before is not None:
            actions.append(history.action)
            history = history.before
        return describe_path(actions[::-1])


def walk(rules: Rules, watch: Watch | None = None, leaves_first: bool = True) -> Iterator[History]:
    """Walk a game depth first.

    Parameters
    ----------
    rules : Rules
        Walked before without complaint: :func:`~treeplex.seqform.enumeration.enumerate_game` checks them.
    watch : Watch, optional
        Looks at the memory that is taken on the way.
    leaves_first : bool
        Whether leaves come right after the history that they follow, last action first, as
        :func:`~treeplex.seqform.enumeration.enumerate_game` has them; if not, each comes in its place among the
        actions.

    Yields
    ------
    History
        The walk asks for its actions when it needs the next one.
    """
    player_at, child, outcomes_at = rules.player, rules.child, outcomes_of(rules)
    root = rules.initial_state()
    stack = [History(root, player_at(root), None, None, 0, 1)]
    number, leaves = 0, 0
    while stack:
        if watch is not None and number + len(stack) >= watch.next:
            watch.look(number, len(stack), leaves)
        history = stack.pop()
        history.number = number
        number += 1
        yield history
        if history.player == TERMINAL:
            leaves += 1
            continue
        state, chance = history.state, history.player == CHANCE
        moves: Any = outcomes_at(state) if chance else rules.actions(state)
        if not (moves.__class__ is tuple or moves.__class__ is list or has_order(moves)):
            listed(moves, f"{history} has {'chance outcomes' if chance else 'actions'}", verb="return")
        moves = list(moves if watch is None else watch.held(moves, history.number))
        place = len(moves)
        for move in reversed(moves):
            place -= 1
            action, probability = move if chance else (move, 1)
            after = child(state, action)
            follower = History(after, player_at(after), history, action, place, probability)
            if leaves_first and follower.player == TERMINAL:
                follower.number = number
                number, leaves = number + 1, leaves + 1
                yield follower
            else:
                stack.append(follower)


def name_history(rules: Rules, number: int) -> str:
    """Name a history by its number, by its action path."""
    return next(str(history) for history in walk(rules) if history.number == number)


def name_leaf(rules: Rules, leaf: int) -> str:
    """Name a leaf by its number among the leaves, by its action path."""
    leaves = (history for history in walk(rules) if history.player == TERMINAL)
    return next(str(history) for number, history in enumerate(leaves) if number == leaf)


def describe_path(actions: Sequence[Hashable]) -> str:
    """Name a history by its action path, ``the root`` if it is empty; the middle of a long one is left out."""
    actions = list(actions)
    names = [one_line(str(action), 40) for action in (actions if len(actions) <= 20 else actions[:10] + actions[-10:])]
    if len(actions) > 20:
        names.insert(10, f"… {len(actions) - 20} more …")
    return "history " + "/".join(names) if names else "the root"
