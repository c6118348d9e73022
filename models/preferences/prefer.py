"""Single preferences, for actions or for a whole strategy, of no game yet."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

from ...seqform.errors import InvalidPreferenceError, one_line, shown
from ...seqform.names import quoted_label
from ...seqform.polytope import is_hashable
from ...seqform.strategy import Strategy
from ..constraints.tokens import Tokens, parse_number

#: The largest degree that makes sense: beyond it the preferred action is all that is played where it is played at all.
LARGEST_DEGREE = 1e9
_FIRST = "@first"

#: Tells whether a preference is about an infoset: from the player, the infoset's label and its actions' labels.
Predicate = Callable[[int, Hashable, Sequence[Hashable]], bool]


class Wish(Protocol):
    """What a preference is to a game: degrees of the actions of an infoset."""

    @property
    def vulnerability(self) -> float | None:
        """What the preference may cost at each infoset that it is about; ``None`` for the method's own."""
        ...

    def degrees(
        self, player: int, infoset: Hashable, actions: Sequence[Hashable], is_first: bool
    ) -> list[float] | None:
        """Return δ of each action of an infoset, each 1 or more; ``None`` if the preference is not about it."""
        ...


@dataclass(frozen=True)
class Prefer:
    """A preference for actions: at the infosets that it is about, the regrets of these count ``degree`` times.

    Parameters
    ----------
    actions : label, or collection of labels
        Actions by their labels, or by the longer words that the game has for them.
    degree : float
        δ ≥ 1 of these actions; that of the others is 1.
    player : int, optional
        Whose; by default everybody's.
    infosets : label, collection of labels, or callable, optional
        Where; a callable is asked ``(player, infoset label, action labels)`` and answers true or false. By default
        wherever one of the actions is there.
    first : bool
        Whether it is about the player's first decisions alone.
    vulnerability : float, optional
        β of the infosets that it is about; by default that of the method.

    Raises
    ------
    InvalidPreferenceError
        If the degree is below 1, the vulnerability below 0, or one of them is no finite number.

    Notes
    -----
    Q. Ju, T. Tellier, M. Sun, Z. Fang and Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, equations 13 to 16.

    Examples
    --------
    >>> from treeplex import Prefer
    >>> bold = Prefer("b", 5, player=0, first=True)
    >>> bold.degrees(0, "K_", ("p", "b"), is_first=True)
    [1.0, 5.0]
    >>> bold.degrees(1, "K_b", ("p", "b"), is_first=True) is None
    True
    """

    actions: Any
    degree: float
    player: int | None = field(default=None, kw_only=True)
    infosets: Any = field(default=None, kw_only=True)
    first: bool = field(default=False, kw_only=True)
    vulnerability: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _settle(self, "degree", 1.0)
        if self.player is not None and (isinstance(self.player, bool) or not isinstance(self.player, Integral)):
            raise InvalidPreferenceError(f"a preference has player {shown(self.player)}, expected a seat, such as 0")
        if not self.labels:
            raise InvalidPreferenceError("a preference has no action, expected one at least")

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The actions, as they were given."""
        actions = self.actions
        if isinstance(actions, list | set | frozenset):
            return tuple(actions)
        return (actions,)

    def known_as(self, words: Mapping[str, Hashable]) -> "Prefer":
        """Return the same with labels in place of a game's longer words for them."""
        if not any(is_hashable(label) and label in words for label in self.labels):
            return self
        labels = [words.get(label, label) if isinstance(label, str) else label for label in self.labels]
        return replace(self, actions=labels)

    def degrees(
        self, player: int, infoset: Hashable, actions: Sequence[Hashable], is_first: bool
    ) -> list[float] | None:
        """Return δ of each action of an infoset; ``None`` if the preference is not about it."""
        if self.player not in (None, player) or (self.first and not is_first):
            return None
        wanted = [_among(action, self.labels) for action in actions]
        if not any(wanted) or not self._covers(player, infoset, actions):
            return None
        return [self.degree if each else 1.0 for each in wanted]

    def _covers(self, player: int, infoset: Hashable, actions: Sequence[Hashable]) -> bool:
        chosen = self.infosets
        if chosen is None:
            return True
        if callable(chosen):
            return bool(chosen(player, infoset, actions))
        many = isinstance(chosen, Collection) and not isinstance(chosen, str | tuple)
        return _among(infoset, tuple(chosen) if many else (chosen,))

    def __str__(self) -> str:
        seat = "" if self.player is None else f"{self.player}/"
        named = self.infosets if isinstance(self.infosets, str) else None
        where = "" if named is None else f"{quoted_label(named)}:"
        listed = "+".join(map(quoted_label, self.labels))
        return one_line(f"{seat}{where}{listed}{_FIRST if self.first else ''}:{self.degree:g}", 80)


@dataclass(frozen=True, eq=False)
class PreferStrategy:
    """A preference for a whole strategy: δ(I, a) = 1 + strength · σ(I, a).

    Parameters
    ----------
    strategy : Strategy
    strength : float
        At least 0.
    vulnerability : float, optional
        β of the infosets where σ is not uniform; by default that of the method.

    Raises
    ------
    InvalidPreferenceError
        If it is no strategy, or a number is negative or not finite.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.models.preferences import PreferStrategy
    >>> cautious = Strategy.from_dict(load_game("kuhn"), 0, {"K_": {"p": 1, "b": 0}})
    >>> PreferStrategy(cautious, strength=4).degrees(0, "K_", ("p", "b"), is_first=True)
    [5.0, 1.0]
    """

    strategy: Strategy
    strength: float
    vulnerability: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, Strategy):
            raise InvalidPreferenceError(f"a preference is for {shown(self.strategy)}, expected a Strategy")
        _settle(self, "strength", 0.0)

    @property
    def player(self) -> int:
        """Whose strategy it is."""
        return self.strategy.player

    def known_as(self, words: Mapping[str, Hashable]) -> "PreferStrategy":
        """Return the same: strategies know their game's labels."""
        return self

    def degrees(
        self, player: int, infoset: Hashable, actions: Sequence[Hashable], is_first: bool
    ) -> list[float] | None:
        """Return δ of each action of an infoset; ``None`` where the strategy says nothing or plays uniformly."""
        treeplex = self.strategy.treeplex
        number = treeplex.find_infoset(infoset) if player == self.player else None
        if number is None:
            return None
        start, stop = treeplex.offsets[number : number + 2].tolist()
        behaviour = dict(zip(treeplex.action_labels[number], self.strategy.behaviour[start:stop].tolist(), strict=True))
        shares = [behaviour.get(action, 0.0) for action in actions]
        if np.ptp(shares) == 0.0:
            return None
        return [1.0 + self.strength * share for share in shares]

    def __str__(self) -> str:
        return f"player {self.player}'s strategy, strength {self.strength:g}"


class _PreferenceText(Tokens):
    failure = InvalidPreferenceError
    example = "raise:5"


def parse_preference(text: str, player: int | None = None) -> Prefer:
    """Read a preference: ``[SEAT/[INFOSET:]]ACTION[@first]:DELTA``.

    Parameters
    ----------
    text : str
        ACTION is a label, or a word that the game has for one; with ``@first`` it is about first decisions alone, with
        INFOSET about that one. DELTA is a number of at least 1. Labels stand in double quotes where they hold blanks or
        one of ``"':/()+<>=``.
    player : int, optional
        Whose it is, where the text names no seat; by default everybody's.

    Returns
    -------
    Prefer

    Raises
    ------
    InvalidPreferenceError
        If it cannot be read.

    Examples
    --------
    >>> from treeplex.models.preferences import parse_preference
    >>> parse_preference("0/J_:b:10")
    Prefer(actions='b', degree=10.0, player=0, infosets='J_', first=False, vulnerability=None)
    >>> print(parse_preference("raise@first:5"))
    raise@first:5
    """
    reader = _PreferenceText("preference", text)
    if not text.strip():
        raise InvalidPreferenceError(f"the preference is {shown(text)}, expected text such as 'raise:5'")
    head, colon, number = text.rpartition(":")
    if not colon or not head.strip():
        raise reader.error(0, "it has no degree; expected ACTION:DELTA, such as raise:5")
    try:
        degree = float(parse_number(number.strip()))
    except ValueError:
        column = len(text) - len(number)
        raise reader.error(column, f"received {shown(number.strip())}, expected a degree, such as 5") from None
    if degree < 1.0:
        raise reader.error(len(text) - len(number), f"received the degree {number.strip()}, expected 1 or more")
    reader = _PreferenceText("preference", head)
    first_label = reader.take_label("an action, such as raise")
    seat, infoset, action = player, None, first_label
    if reader.follows("/"):
        reader.take()
        if not first_label.text.isdecimal():
            raise reader.error(
                first_label.start, f"received the seat {first_label.shown}, expected a number, such as 0"
            )
        seat = int(first_label.text)
        action = reader.take_label("an action, or the label of an infoset")
        if reader.follows(":"):
            reader.take()
            infoset, action = action.text, reader.take_label("the label of an action")
    label, first = action.text, False
    if action.kind == "word" and label.endswith(_FIRST):
        label, first = label.removesuffix(_FIRST), True
    elif reader.peek().kind == "word" and reader.peek().text == _FIRST:
        reader.take()
        first = True
    rest = reader.peek()
    if rest.kind != "end":
        raise reader.error(rest.start, f"received {rest.shown}, expected : and a degree")
    if not label:
        raise reader.error(action.start, f"received {action.shown}, expected an action before {_FIRST}")
    return Prefer(label, degree, player=seat, infosets=infoset, first=first)


def _settle(wish: Any, amount: str, least: float) -> None:
    """Check how much a preference is preferred, and its vulnerability, and keep both as floats."""
    number = checked(getattr(wish, amount), amount, least, f"a number of at least {least:g}")
    if number > LARGEST_DEGREE:
        raise InvalidPreferenceError(f"a preference has {amount} {shown(getattr(wish, amount))}, expected at most 1e9")
    object.__setattr__(wish, amount, number)
    if wish.vulnerability is not None:
        beta = checked(wish.vulnerability, "vulnerability", 0.0, "a number of at least 0")
        object.__setattr__(wish, "vulnerability", beta)


def checked(value: Any, what: str, least: float, expected: str) -> float:
    """Return a number of a preference, or refuse it."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else float("nan")
    if not least <= number < float("inf"):
        raise InvalidPreferenceError(f"a preference has {what} {shown(value)}, expected {expected}")
    return number


def _among(label: Hashable, wanted: Collection[Hashable]) -> bool:
    """Whether a label, or its text, is one of those wanted."""
    return any(label == each or (isinstance(each, str) and str(label) == each) for each in wanted)
