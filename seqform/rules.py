"""The protocol for the rules of a game, and the size of a game."""

import inspect
import math
from collections.abc import Callable, Container, Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn, Protocol

from .checks import is_whole
from .errors import InvalidGameError, shown

#: The player who moves at a chance node.
CHANCE = -1
#: The value of :meth:`Rules.player` at a leaf.
TERMINAL = -2
#: The largest number of players: a fingerprint takes time and memory quadratic in it.
MAX_PLAYERS = 100

#: How far the sum of the probabilities of a chance node may be from one.
PROBABILITY_TOLERANCE = 1e-9

#: The types of payoffs and probabilities.
Number = int | float | Fraction | Decimal


class Rules(Protocol):
    """The rules of an extensive-form game, read one state at a time.

    A state is any immutable object that the rules choose (a tuple, a string); only these methods read it. The order of
    ``actions`` and of chance outcomes fixes the order of children. It also fixes the order of infosets and sequences: a
    depth-first walk in that order numbers each infoset when it first meets it.

    Notes
    -----
    Rules with chance nodes need a method ``chance_outcomes(state)`` that returns pairs of a label and its probability.
    The probabilities sum to one; a ``Fraction`` stays exact.

    Rules may define a method ``public_state(state)`` that returns, at every state but leaves, a hashable label of the
    public information. The label changes with every action (at least by who has moved), does not change at a private
    deal, and is the same for all histories of an infoset;
    :func:`~treeplex.seqform.public_tree.public_tree_from_rules` lists the other requirements. Without it, or with
    ``public_state = None``, public states are derived from the infosets.

    Three more methods, all or none, define what an observer sees, and therefore what a play log contains:

    - ``private_information(state, player)``, a string: what a player knows and others do not, including the player's
      own secret actions; empty if there is none.
    - ``public_history(state)``, a tuple of strings: the public events in order, so that a child's history begins with
      its parent's. Events are actions, as ``actions`` names them (with the mover if that is not clear), and public
      cards.
    - ``shows(state)``, at a leaf, a tuple: the players whose private information becomes public.

    :func:`~treeplex.seqform.observer.observer_tree` lists their requirements.

    An attribute ``action_words`` maps longer words to action labels, such as ``{"raise": "r"}``. Strings about the game
    may then use either; if a word is also a label, the label takes precedence.

    Rules of betting games may define a method ``betting(state)`` that returns the mover's possible bets and the
    strength of its hand as a :class:`~treeplex.models.games.betting.Offer`.

    Rules may define a method ``uniform_payoffs(state)`` that returns the players' expected payoffs if all actions from
    a state on are drawn uniformly, or ``None`` if it does not know them. Players who look ahead then need no simulated
    games to estimate them.

    Rules may define a method ``payoff_range()`` that returns the smallest and the largest payoff of player 0. They
    bound the value if a time limit expires before the game is built.

    Rules may define a method ``size()`` that returns a :class:`~treeplex.seqform.rules.GameSize`. A game that is too
    large for the memory is then rejected before it is enumerated.

    Examples
    --------
    >>> from treeplex import Rules, load_game
    >>> rules: Rules = load_game("kuhn").rules
    >>> state = rules.initial_state()
    >>> rules.player(state), rules.chance_outcomes(state)[0]
    (-1, ('J', Fraction(1, 3)))
    """

    @property
    def num_players(self) -> int:
        """Number of players, not counting chance."""
        ...

    def initial_state(self) -> Any:
        """Return the state at the root of the tree."""
        ...

    def player(self, state: Any) -> int:
        """Return who moves: a player (0, 1, …), :data:`CHANCE`, or :data:`TERMINAL` at a leaf."""
        ...

    def actions(self, state: Any) -> Sequence[Hashable]:
        """Return the labels of the mover's actions: distinct, and the same for all histories of an infoset."""
        ...

    def child(self, state: Any, action: Hashable) -> Any:
        """Return the state after an action or a chance outcome."""
        ...

    def infoset(self, state: Any) -> Hashable:
        """Return the label of the mover's information set, unique among that player's infosets."""
        ...

    def payoffs(self, state: Any) -> Sequence[Number]:
        """Return each player's payoff at a leaf, in payoff units."""
        ...


_MEMBERS = ("num_players", "initial_state", "player", "actions", "child", "infoset", "payoffs")


def check_rules(rules: Any) -> None:
    """Raise an error if an object lacks a member of :class:`Rules`.

    Raises
    ------
    InvalidGameError
    """
    if isinstance(rules, type):
        raise InvalidGameError(f"{rules.__name__} is a class, expected an instance, such as {rules.__name__}()")
    check_members(rules)


def check_members(rules: Any, name: str = "", fields: Container[str] = ()) -> None:
    """Raise an error if an object, or a class with its fields, lacks a member of :class:`Rules`.

    Raises
    ------
    InvalidGameError
    """
    for member in _MEMBERS:
        if not hasattr(rules, member) and member not in fields:
            raise InvalidGameError(f"{name or shown(rules)} does not define the rules of a game: it has no {member}")


def outcomes_of(rules: Any) -> Callable[[Any], Sequence[tuple[Hashable, Number]]]:
    """Return the method ``chance_outcomes`` of rules, or a function that raises an error if there is none."""

    def refuse(state: Any) -> NoReturn:
        raise InvalidGameError(f"{shown(rules)} has a chance node but no method chance_outcomes; expected that method")

    found: Callable[[Any], Sequence[tuple[Hashable, Number]]] = getattr(rules, "chance_outcomes", refuse)
    return found


_OBSERVING = ("private_information", "public_history", "shows")


def says_what_is_observed(rules: Any) -> bool:
    """Return whether rules have the optional methods that define what an observer sees."""
    return all(callable(getattr(rules, member, None)) for member in _OBSERVING)


def public_labels(rules: Any) -> Callable[[Any], Hashable] | None:
    """Return the rules' optional method ``public_state``, or ``None`` if they have none."""
    return getattr(rules, "public_state", None)


@dataclass(frozen=True)
class GameSize:
    """The size of a game, as exact counts.

    Rules may define a method ``size()`` that returns one. A game that is too large for the memory is then rejected
    before it is enumerated; see :mod:`treeplex.seqform.budget`.

    Parameters
    ----------
    nodes : int
        Histories, including the root and the leaves.
    leaves : int
    sequences : tuple of int
        Sequences of each player, including the empty one.
    infosets : tuple of int
        Information sets of each player.

    Raises
    ------
    InvalidGameError
        If an entry is not a count.

    Examples
    --------
    >>> from treeplex import load_game
    >>> load_game("kuhn").rules.size()
    GameSize(nodes=58, leaves=30, sequences=(13, 13), infosets=(6, 6))
    >>> load_game("goofspiel:cards=13").rules.size().leaves
    38775788043632640000
    """

    nodes: int
    leaves: int
    sequences: tuple[int, ...]
    infosets: tuple[int, ...]

    def __post_init__(self) -> None:
        for name, given in vars(self).items():
            several = name in ("sequences", "infosets")
            counts = given if several else (given,)
            if not isinstance(counts, tuple) or not all(is_whole(count) and count >= 0 for count in counts):
                expected = "a tuple of counts, one per player" if several else "a count"
                raise InvalidGameError(f"the size of a game has {name} {shown(given)}, expected {expected}")


def size_of(rules: Any) -> GameSize | None:
    """Return the size that the method ``size()`` of rules returns, or ``None`` if there is no such method.

    An attribute of that name with another meaning, such as the size of a board, is ignored.
    """
    size = _stated(rules, "size")
    return size if isinstance(size, GameSize) else None


def payoff_range_of(rules: Any) -> tuple[float, float] | None:
    """Return the range of player 0's payoffs from the method ``payoff_range()`` of rules, or ``None`` without one.

    Examples
    --------
    >>> from treeplex.models.games import Kuhn
    >>> from treeplex.seqform.rules import payoff_range_of
    >>> payoff_range_of(Kuhn(players=3))
    (-2.0, 4.0)
    """
    stated = _stated(rules, "payoff_range")
    if not (isinstance(stated, tuple) and len(stated) == 2):
        return None
    low, high = map(float, stated)
    return (low, high) if -math.inf < low <= high < math.inf else None


def _stated(rules: Any, name: str) -> Any:
    """Return the result of a method without arguments, or ``None`` if there is no such method."""
    method = getattr(rules, name, None)
    if not callable(method):
        return None
    try:
        inspect.signature(method).bind()
    except (TypeError, ValueError):  # a method with arguments has another meaning
        return None
    return method()
