"""The protocol in which games are written: states, who moves, what follows, and how large the game is."""

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
#: What :meth:`Rules.player` answers where the game has ended.
TERMINAL = -2
#: The most players that a game may have: a fingerprint takes time and memory by their square.
MAX_PLAYERS = 100

#: How far the probabilities of a chance node may sum from one.
PROBABILITY_TOLERANCE = 1e-9

#: What a payoff or a probability may be written as.
Number = int | float | Fraction | Decimal


class Rules(Protocol):
    """The rules of an extensive-form game, walked one state at a time.

    A state is any immutable object that the rules choose (a tuple, a string); nothing but these methods looks into
    it. The order of ``actions`` and of chance's outcomes fixes the order of children, and with it the order of infosets
    and sequences: a depth-first walk in that order numbers an infoset when it first meets it.

    Notes
    -----
    Rules with chance have one more method, ``chance_outcomes(state)``: pairs of a label and its probability, which sum
    to one; a ``Fraction`` stays exact.

    Rules may have a method ``public_state(state)``: a hashable label, at every state but leaves, of what
    everybody knows there. Labels change with every action (if only by who has moved), stay as they are at a private
    deal, and agree all over an infoset; :func:`~treeplex.seqform.public_tree.public_tree_from_rules` says what
    else they have to keep. Without it, or with ``public_state = None``, public states are derived from the infosets.

    Three others, all or none, say what an observer sees, and with it what a log of play holds:

    - ``private_information(state, player)``, a text: what a player knows that is hidden from others; empty before there
      is any. What a player has done in secret is part of it.
    - ``public_history(state)``, a tuple of texts: what everybody has seen happen, in order, so that a child's begins
      with its parent's: actions, as ``actions`` names them, with who has moved where that does not follow, and public
      cards.
    - ``shows(state)``, at a leaf, a tuple: the players whose private information everybody then sees.

    :func:`~treeplex.seqform.observer.observer_tree` says what they have to keep.

    An attribute ``action_words``, a mapping of words to labels of actions, gives long words for short labels, such as
    ``{"raise": "r"}``. Texts about a game may then say either; the label of an action comes before a word like it.

    Rules of games whose decisions are about betting may say by a method ``betting(state)`` what the mover may bet and
    how good its hand is, as a :class:`~treeplex.models.games.betting.Offer`.

    Rules that know the least and the largest payoff of player 0 may state them in a method ``payoff_range()`` that
    returns both: they bound the value where a time limit comes before the game is built.

    Rules that know how large their game is may say so in a method ``size()`` that returns a
    :class:`~treeplex.seqform.rules.GameSize`: a game that is too large for the memory is then refused before it is
    walked.

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
        """Number of players, chance not counted."""
        ...

    def initial_state(self) -> Any:
        """Return the state at the root of the tree."""
        ...

    def player(self, state: Any) -> int:
        """Return who moves: a player (0, 1, …), :data:`CHANCE`, or :data:`TERMINAL` at a leaf."""
        ...

    def actions(self, state: Any) -> Sequence[Hashable]:
        """Return the labels of the moving player's actions: distinct, and the same all over an infoset."""
        ...

    def child(self, state: Any, action: Hashable) -> Any:
        """Return the state after an action or a chance outcome."""
        ...

    def infoset(self, state: Any) -> Hashable:
        """Return the label of the moving player's information set, unique among that player's infosets."""
        ...

    def payoffs(self, state: Any) -> Sequence[Number]:
        """Return each player's payoff at a leaf, in payoff units."""
        ...


_MEMBERS = ("num_players", "initial_state", "player", "actions", "child", "infoset", "payoffs")


def check_rules(rules: Any) -> None:
    """Refuse an object that lacks a member of :class:`Rules`.

    Raises
    ------
    InvalidGameError
    """
    if isinstance(rules, type):
        raise InvalidGameError(f"{rules.__name__} is a class, expected an object of it, such as {rules.__name__}()")
    check_members(rules)


def check_members(rules: Any, name: str = "", fields: Container[str] = ()) -> None:
    """Refuse an object, or a class with its fields, that lacks a member of :class:`Rules`.

    Raises
    ------
    InvalidGameError
    """
    for member in _MEMBERS:
        if not hasattr(rules, member) and member not in fields:
            raise InvalidGameError(f"{name or shown(rules)} does not have the rules of a game: it has no {member}")


def outcomes_of(rules: Any) -> Callable[[Any], Sequence[tuple[Hashable, Number]]]:
    """Return the method ``chance_outcomes`` of rules; if they have none, one that refuses a chance node."""

    def refuse(state: Any) -> NoReturn:
        raise InvalidGameError(f"{shown(rules)} has a chance node, and no method chance_outcomes; expected one")

    found: Callable[[Any], Sequence[tuple[Hashable, Number]]] = getattr(rules, "chance_outcomes", refuse)
    return found


_OBSERVING = ("private_information", "public_history", "shows")


def says_what_is_observed(rules: Any) -> bool:
    """Return whether rules have the optional methods that say what an observer sees."""
    return all(callable(getattr(rules, member, None)) for member in _OBSERVING)


def public_labels(rules: Any) -> Callable[[Any], Hashable] | None:
    """Return the rules' optional method ``public_state``, or ``None`` if they have none."""
    return getattr(rules, "public_state", None)


@dataclass(frozen=True)
class GameSize:
    """How large a game is: exact counts, however large.

    Rules may have a method ``size()`` that returns one. A game that is too large for the memory is then refused before
    it is walked; see :mod:`treeplex.seqform.budget`.

    Parameters
    ----------
    nodes : int
        Histories, the root and the leaves included.
    leaves : int
    sequences : tuple of int
        Sequences of each player, the empty one included.
    infosets : tuple of int
        Information sets of each player.

    Raises
    ------
    InvalidGameError
        If one is not a count.

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
    """Return the size that rules state by a method ``size()``, ``None`` if they have none.

    An attribute of that name that is something else, such as the size of a board, is left alone.
    """
    size = _stated(rules, "size")
    return size if isinstance(size, GameSize) else None


def payoff_range_of(rules: Any) -> tuple[float, float] | None:
    """Return the range of player 0's payoffs that rules state by a method ``payoff_range()``, ``None`` if they do not.

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
    """Return what a method without arguments says, ``None`` if there is none."""
    method = getattr(rules, name, None)
    if not callable(method):
        return None
    try:
        inspect.signature(method).bind()
    except (TypeError, ValueError):  # it takes arguments, so it is another
        return None
    return method()
