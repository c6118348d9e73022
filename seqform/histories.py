"""The histories of a game one by one, depth first: the order in which this package numbers them."""

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
        The state of the rules.
    player : int
        The player to move, ``CHANCE`` or ``TERMINAL``.
    before : History or None
        The history before the last action; ``None`` at the root.
    action : hashable
        The action or the outcome of chance that leads here.
    place : int
        The index of the action among those of `before`.
    probability : number
        The probability of chance's last outcome; 1 after a player's action.
    number : int
        Its number from 0, in the order of the walk.
    data : object
        Data that the caller stores for use at later histories.
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
        Already checked by :func:`~treeplex.seqform.enumeration.enumerate_game`.
    watch : Watch, optional
        Checks memory on the way.
    leaves_first : bool
        Whether leaves come right after their parent, last action first, as in
        :func:`~treeplex.seqform.enumeration.enumerate_game`; if not, each comes at its position among the actions.

    Yields
    ------
    History
        The walk asks the rules for its actions only when it continues.
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
    """Return the action path of the history with a number."""
    return next(str(history) for history in walk(rules) if history.number == number)


def name_leaf(rules: Rules, leaf: int) -> str:
    """Return the action path of the leaf with a number among the leaves."""
    leaves = (history for history in walk(rules) if history.player == TERMINAL)
    return next(str(history) for number, history in enumerate(leaves) if number == leaf)


def describe_path(actions: Sequence[Hashable]) -> str:
    """Name a history by its action path, or ``the root`` if it is empty; a long path is shortened in the middle."""
    actions = list(actions)
    names = [one_line(str(action), 40) for action in (actions if len(actions) <= 20 else actions[:10] + actions[-10:])]
    if len(actions) > 20:
        names.insert(10, f"… {len(actions) - 20} more …")
    return "history " + "/".join(names) if names else "the root"
