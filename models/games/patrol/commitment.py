"""The declaration of a commitment: what units win and lose, if that is not the opposite of the attackers' payoffs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Commitment:
    """The units' own payoffs. The units then commit to a plan, and attackers who know it reply for themselves.

    Parameters
    ----------
    goals : mapping of str to float, or a sequence of one for each type of attackers
        The units' payoff when an attacker arrives there: a loss is negative. Omitted goals have payoff 0.
    meeting : float
        Their payoff for each detection.
    step : float
        Their payoff for each step of an attacker.
    ties : {"strong", "weak"}
        Whether attackers who are indifferent choose the reply that is best for the units, or the worst one. Weak ties
        need attackers with few routes, and no limits on the units; see :class:`~treeplex.Stackelberg`.

    Examples
    --------
    >>> from treeplex.models.games.patrol import Commitment
    >>> Commitment({"bank": -10.0, "mill": -1.0}, meeting=5.0).goals["bank"]
    -10.0
    """

    goals: Mapping[Any, float] | Sequence[Mapping[Any, float]]
    meeting: float = 0.0
    step: float = 0.0
    ties: Literal["strong", "weak"] = "strong"
