"""Declarations of what is not known exactly: goal values and probabilities in intervals, and scenarios."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Uncertainty:
    """Intervals of goal values and of probabilities.

    An interval is a pair ``(lower, upper)``; a number means that the value is known.

    Parameters
    ----------
    goals : mapping
        Intervals of the values of goals, for all types of attackers that have the goal: ``{"bank": (2, 4)}``. For a
        single type, use ``{"gang": {"bank": (2, 4)}}``.
    types : mapping of str to interval
        Probabilities of the types of attackers; types that are left out have any probability.
    entries : mapping of str to interval
        The probability that an attacker enters at each entry. Attackers then do not choose their entry.
    targets : mapping of str to interval
        The probability that an attacker pursues each goal. Attackers then do not choose their goal: the others are
        worth 0 to them.
    robust : str
        The measure that ``treeplex patrol`` minimises: ``worst``, ``cvar:0.9`` or ``regret``. By default, it plans for
        the declared values.

    Examples
    --------
    >>> from treeplex.models.games.patrol import Uncertainty
    >>> Uncertainty(goals={"bank": (2, 4)}, entries={"gate": (0.2, 0.5)}).goals["bank"]
    (2, 4)
    """

    goals: Mapping[Any, Any] = field(default_factory=dict)
    types: Mapping[str, Any] = field(default_factory=dict)
    entries: Mapping[Any, Any] = field(default_factory=dict)
    targets: Mapping[Any, Any] = field(default_factory=dict)
    robust: str = ""


@dataclass(frozen=True)
class Scenario:
    """A set of circumstances, in which some goal values or probabilities differ from the declared ones.

    Parameters
    ----------
    name : str, optional
        By default ``scenario 1``, ``scenario 2``, ….
    probability : float, optional
        By default equal for all scenarios. Only the tail of scenarios, ``cvar:LEVEL``, uses it.
    goals : mapping
        As in :class:`Uncertainty`; goals that are left out keep the values or intervals declared elsewhere.
    types, entries, targets : mapping of str to interval
        As in :class:`Uncertainty`; each replaces the table declared elsewhere.
    """

    name: str = ""
    probability: float | None = None
    goals: Mapping[Any, Any] = field(default_factory=dict)
    types: Mapping[str, Any] = field(default_factory=dict)
    entries: Mapping[Any, Any] = field(default_factory=dict)
    targets: Mapping[Any, Any] = field(default_factory=dict)
