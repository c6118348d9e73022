"""Limits that tie the infosets of a simple strategy together: classes played the same, and order by strength."""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...seqform.arrays import Floats, Indices
from ...seqform.errors import InvalidGameError, nearest, shown

_NUMBER = re.compile(r"\d+(?:[.,/]\d+)?")
#: The word for all actions except these.
AGGRESSION, _PASSIVE = "aggression", frozenset({"fold", "check", "call"})
_WAYS = ("falls", "rises")


def action_of(name: str) -> str:
    """Return an action's name without its size.

    Examples
    --------
    >>> from treeplex.models.problems.simple_limits import action_of
    >>> action_of("bet 50") == action_of("bet 120"), action_of("check")
    (True, 'check')
    """
    return _NUMBER.sub("#", name)


def _kind(name: str) -> str:
    """Return an action's name without its size and the space before it."""
    return action_of(name).replace("#", "").strip().lower()


@dataclass(frozen=True)
class Monotone:
    """The actions whose probability falls, and those whose probability rises, with the strength of a hand.

    Attributes
    ----------
    falling, rising : tuple of str
        Names of actions without sizes. The probability of all falling actions together never rises with strength, and
        that of all rising actions together never falls.

    Examples
    --------
    >>> from treeplex.models.problems.simple_limits import Monotone
    >>> Monotone.parse("fold, aggression")
    Monotone(falling=('fold',), rising=('aggression',))
    >>> Monotone.parse("f falls, b rises").groups(["check", "f", "b"])
    array([1, 0, 2])
    """

    falling: tuple[str, ...]
    rising: tuple[str, ...]

    @classmethod
    def parse(cls, text: Any) -> "Monotone":
        """Parse ``"fold falls, bet rises"``; without a direction ``fold`` falls, and other actions rise.

        Raises
        ------
        InvalidGameError
            If it is not a list of actions, or an action is named twice.
        """
        expected = 'expected actions, such as "fold", "aggression" or "fold falls, bet rises"'
        if isinstance(text, cls):
            return text
        if not isinstance(text, str) or not text.strip():
            raise InvalidGameError(f"simplify: monotone is {shown(text)}, {expected}")
        found: dict[str, str] = {}
        for entry in text.split(","):
            words = entry.lower().split()
            way = words.pop() if len(words) > 1 and words[-1] in _WAYS else ""
            name = " ".join(words)
            if not name or name in _WAYS:
                raise InvalidGameError(f"simplify: monotone is {shown(text)}, {expected}")
            if name in found:
                raise InvalidGameError(f"simplify: monotone names {name} twice in {shown(text)}; leave one out")
            found[name] = way or _WAYS[name != "fold"]
        falling, rising = (tuple(name for name, one in found.items() if one == way) for way in _WAYS)
        return cls(falling, rising)

    def check(self, names: Iterable[str]) -> None:
        """Reject names that are not among the actions of a player.

        Raises
        ------
        InvalidGameError
        """
        known = {_kind(name) for name in names}
        for name in (*self.falling, *self.rising):
            if name not in known | {AGGRESSION}:
                hint = nearest(name, [*known, AGGRESSION, *_WAYS])
                raise InvalidGameError(
                    f"simplify: monotone names {shown(name)}{hint}, and the player's actions are "
                    f"{', '.join(sorted(known))}"
                )

    def groups(self, names: Sequence[str]) -> Indices:
        """Return the group of each action: 0 falls, 2 rises, and 1 does neither."""

        def among(name: str, listed: tuple[str, ...]) -> bool:
            kind = _kind(name)
            return kind in listed or (AGGRESSION in listed and kind not in _PASSIVE)

        return np.array([0 if among(one, self.falling) else 2 if among(one, self.rising) else 1 for one in names])


def weaker_and_stronger(strength: Floats) -> "list[tuple[Indices, Indices]]":
    """Return each level of strength with the next one, as places; NaN has no place.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.problems.simple_limits import weaker_and_stronger
    >>> weaker_and_stronger(np.array([2.0, 1.0, 2.0, np.nan]))
    [(array([1]), array([0, 2]))]
    """
    levels = [np.flatnonzero(strength == one) for one in np.unique(strength[~np.isnan(strength)])]
    return list(pairwise(levels))


def misplaced(played: Floats, strength: Floats, groups: Indices) -> float:
    """Return by how much a stronger state plays a rising action less often, or a falling one more often.

    Parameters
    ----------
    played : ndarray of float64, shape (actions, states)
    strength : ndarray of float64, shape (states,)
        States with NaN are not compared.
    groups : ndarray of int, shape (actions,)
        As returned by :meth:`Monotone.groups`.
    """
    order = np.argsort(strength, kind="stable")[: int((~np.isnan(strength)).sum())]
    firsts = np.flatnonzero(np.diff(strength[order], prepend=-np.inf) > 0.0)
    most = 0.0
    for rising in (played[groups == 2].sum(axis=0), -played[groups == 0].sum(axis=0)):
        if len(firsts) > 1:
            highest = np.maximum.accumulate(np.maximum.reduceat(rising[order], firsts))
            lowest = np.minimum.reduceat(rising[order], firsts)
            most = max(most, float((highest[:-1] - lowest[1:]).max()))
    return most if most > 1e-12 else 0.0


#: What maps labels of infosets, or of private states, to classes or to strengths.
Lookup = Mapping[Any, Any] | Callable[[Any], Any]


def looked_up(given: Lookup, labels: Sequence[Hashable], what: str) -> list[Any]:
    """Return the value of each label, ``None`` for those that are missing from a mapping.

    Raises
    ------
    InvalidGameError
        If a mapping contains other labels, or none of these.
    """
    if not isinstance(given, Mapping):
        return [given(label) for label in labels]
    for key in given:
        if key not in labels:
            hint = nearest(str(key), map(str, labels))
            raise InvalidGameError(f"simplify: {what} has the key {shown(key)}{hint}, expected labels of the player")
    return [given.get(label) for label in labels]


def by_prefix(text: str, what: str = "strength") -> Callable[[Any], float | None]:
    """Return the function that a text such as ``"J < Q < K"`` defines: labels are ordered by how they begin.

    Examples
    --------
    >>> from treeplex.models.problems.simple_limits import by_prefix
    >>> order = by_prefix("J < Q < K")
    >>> order("Q_pb"), order("K_"), order("A_")
    (1.0, 2.0, None)
    """
    beginnings = [word.strip() for word in text.split("<")]
    if len(beginnings) < 2 or not all(beginnings) or len(set(beginnings)) < len(beginnings):
        raise InvalidGameError(
            f"simplify: {what} is {shown(text)}, "
            'expected prefixes of infoset names from weak to strong, such as "J<Q<K"'
        )

    def order(label: Any) -> float | None:
        found = [word for word in beginnings if str(label).startswith(word)]
        return float(beginnings.index(max(found, key=len))) if found else None

    return order


def numbered(values: Sequence[Any]) -> Indices:
    """Return the number of each value; each ``None`` has its own number.

    Examples
    --------
    >>> from treeplex.models.problems.simple_limits import numbered
    >>> numbered(["high", None, "low", "high"])
    array([0, 1, 2, 0])
    """
    numbers: dict[Any, int] = {}
    keys = [(place, None) if value is None else value for place, value in enumerate(values)]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
