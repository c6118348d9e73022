"""A game cut off at a depth limit along one path of public states: the game that a player solves at one decision."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.rules import TERMINAL, Number, Rules, outcomes_of, public_labels

#: The public states on the way to a state, including that state: the label of each, and the player who moves there.
PublicPath = tuple[tuple[Hashable, int], ...]
#: The average payoffs of both players from a state on.
Worth = Callable[[Any], Sequence[Number]]
#: Defaults: the number of playouts that estimate the worth of a state at the limit, and the probability below which
#: actions are not settled. Every settled action becomes part of all later trees.
PLAYOUTS, THRESHOLD = 8, 0.02


@dataclass(frozen=True)
class _Beyond:
    """The label of the choice of continuations beyond the limit."""

    path: PublicPath
    private: Hashable


def is_beyond(infoset: Hashable) -> bool:
    """Return whether an infoset is the choice of continuations beyond the limit."""
    return isinstance(infoset, _Beyond)


class PublicNode:
    """A public state of a cut-off game.

    Attributes
    ----------
    label : hashable
    mover : int
    above : PublicNode or None
        The previous public state.
    level : int
        Number of changes of the label since the root.
    limit : int
        The last visible level from here on.
    on_path : bool
    is_cut : bool
        Whether it lies below the limit.
    is_open : bool
        Whether it or a public state below it is cut off.
    choice : int or None
        Below the limit, the index of the continuation; ``None`` if it is still to be chosen.
    """

    __slots__ = ("above", "after", "choice", "is_cut", "is_open", "label", "level", "limit", "mover", "on_path")

    def __init__(self, label: Hashable, mover: int, above: "PublicNode | None", limit: int, on_path: bool) -> None:
        self.label, self.mover, self.above, self.limit, self.on_path = label, mover, above, limit, on_path
        self.level: int = 0 if above is None else above.level + 1
        self.after: dict[Hashable, PublicNode] = {}
        self.choice: int | None = None
        self.is_cut = self.is_open = not on_path and self.level > limit
        while self.is_open and above is not None and not above.is_open:
            above.is_open = True
            above = above.above

    @property
    def path(self) -> PublicPath:
        """The public states on the path to this one."""
        entries, node = [], self
        while True:
            entries.append((node.label, node.mover))
            if node.above is None:
                return tuple(reversed(entries))
            node = node.above


class CutOffRules:
    """The rules of a game, cut off at a depth limit around one path of public states.

    The tree begins at the root, so the other player is free at its earlier decisions too: this is the full gadget.
    Earlier decisions of the player who looks ahead follow the settled strategy, and only possible actions have a
    branch. The size of the tree therefore depends on the player's possible private states, the other player's private
    states, and the lookahead, but not on the size of the game.

    Beyond the limit states have a given worth, or one of several chosen by the other player: the multi-valued states of
    N. Brown, T. Sandholm and B. Amos, "Depth-limited solving for imperfect-information games", NeurIPS 2018.

    Parameters
    ----------
    rules : Rules
        Rules for two players, with the method ``public_state``.
    player : int
        The player who looks ahead.
    path : PublicPath
        The path to the public state of the decision.
    lookahead : int
        Number of visible levels beyond the player's action. For branches that leave the path earlier, it counts from
        the player's last decision on the path, or from its first one.
    worths : sequence of callable
        Average payoffs of both players from a state beyond the limit. If there are several, the other player chooses
        one for each of its private states: multi-valued states.
    settled : mapping
        The actions that the player takes with positive probability, by infoset on the path.
    modelled : callable, optional
        Takes an infoset of the other player and its actions, and returns the possible ones; by default all.

    Examples
    --------
    Goofspiel with 8 cards has 10⁹ leaves; one round of it has 64:

    >>> from treeplex import Game, load_game
    >>> from treeplex.models.depth_limited.cut_off import CutOffRules
    >>> rules = load_game("goofspiel:cards=8").rules
    >>> first_round = CutOffRules(rules, 0, (("_", 0),), 1, [rules.uniform_payoffs], {})
    >>> len(Game("first round", rules=first_round).sequence_form.leaves)
    64
    """

    num_players = 2

    def __init__(
        self,
        rules: Rules,
        player: int,
        path: PublicPath,
        lookahead: int,
        worths: Sequence[Worth],
        settled: Mapping[Hashable, Sequence[Hashable]],
        modelled: Callable[[Hashable, Sequence[Hashable]], Sequence[Hashable]] | None = None,
    ) -> None:
        label_of = public_labels(rules)
        if label_of is None or rules.num_players != 2:
            raise UnsupportedProblemError(
                f"{shown(rules, 60)}: looking ahead from a public state needs two-player rules with a "
                "method named public_state"
            )
        self._rules, self._player, self._path, self._lookahead = rules, player, path, lookahead
        self._worths, self._settled, self._modelled = worths, settled, modelled
        self._choices = tuple(range(len(worths)))
        self._label_of, self._outcomes = label_of, outcomes_of(rules)
        self._knows: Any = getattr(rules, "private_information", None)
        if self._knows is None and len(worths) > 1:
            raise UnsupportedProblemError(
                f"{shown(rules, 60)}: a choice of continuations needs rules with a method named private_information"
            )
        #: The public state of each of the player's infosets in the tree.
        self.nodes: dict[Hashable, PublicNode] = {}
        first = next(level for level, (_, mover) in enumerate(path) if mover == player)
        root = rules.initial_state()
        label, mover = path[0]
        self._root = root, PublicNode(label, mover, None, self._limit(0, first + lookahead), on_path=True)

    def _limit(self, level: int, before: int) -> int:
        """Return the limit below a public state on the path; the limit changes after a decision of the player."""
        return level + self._lookahead if self._path[level][1] == self._player else before

    def initial_state(self) -> Any:
        """Return the state of the whole game's root, and its public state."""
        return self._root

    def player(self, state: Any) -> int:
        """Return the player to move; nobody where the tree is cut off."""
        inner, node = state
        if node.is_cut:
            return 1 - self._player if node.choice is None else TERMINAL
        return self._rules.player(inner)

    def actions(self, state: Any) -> Sequence[Hashable]:
        """Return the possible actions."""
        inner, node = state
        if node.is_cut:
            return self._choices
        actions = self._rules.actions(inner)
        if self._rules.player(inner) == self._player:
            if node.on_path:
                return self._settled.get(self._rules.infoset(inner), actions)
        elif self._modelled is not None:
            return self._modelled(self._rules.infoset(inner), actions)
        return actions

    def chance_outcomes(self, state: Any) -> Sequence[tuple[Hashable, Number]]:
        """Return the outcomes of chance."""
        return self._outcomes(state[0])

    def child(self, state: Any, action: Hashable) -> Any:
        """Return the state after an action or a chance outcome, with its public state."""
        inner, node = state
        if node.is_cut:
            return inner, self._goes_on(node, action)
        after = self._rules.child(inner, action)
        mover = self._rules.player(after)
        if mover == TERMINAL:
            return after, node
        label = self._label_of(after)
        if label == node.label:
            node.mover = mover
            return after, node
        follower = node.after.get(label)
        if follower is None:
            level = node.level + 1
            on_path = node.on_path and level < len(self._path) and self._path[level][0] == label
            limit = self._limit(level, node.limit) if on_path else node.limit
            follower = node.after[label] = PublicNode(label, mover, node, limit, on_path)
            if follower.is_cut and len(self._worths) == 1:
                follower.choice = 0
        return after, follower

    def _goes_on(self, node: PublicNode, choice: Any) -> PublicNode:
        """Return a public state at the limit after the other player's choice, which is hidden."""
        if choice not in node.after:
            node.after[choice] = PublicNode(node.label, node.mover, node, node.limit, on_path=False)
            node.after[choice].choice = choice
        return node.after[choice]

    def infoset(self, state: Any) -> Hashable:
        """Return the label of the mover's infoset in the whole game."""
        inner, node = state
        if node.is_cut:
            return _Beyond(node.path, self._knows(inner, 1 - self._player))
        label = self._rules.infoset(inner)
        if self._rules.player(inner) == self._player:
            self.nodes[label] = node
        return label

    def payoffs(self, state: Any) -> Sequence[Number]:
        """Return the players' payoffs, or their averages where the tree is cut off."""
        inner, node = state
        return self._worths[node.choice](inner) if node.is_cut else self._rules.payoffs(inner)
