"""The local rule and the schedule of discounts that the compiled loops share; :class:`Rule` defines them.

With R the cumulative regrets of an infoset, r the instantaneous regrets, d the discount and f the floor, an update is

    R ← max(d R + r, f),    behaviour ∝ (R + m r)⁺,

where m is the weight of the instantaneous regrets as a forecast. A vector register holds one action of several
infosets, which are updated together.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compilation import compiled
from ..methods.rules import Rule
from ..records import record
from .registers import larger, spread, where_positive

#: The numbers of one update: d for positive and for negative regrets, f, and m.
_DISCOUNTS = np.dtype([(name, np.float64) for name in ("positive", "negative", "floor", "forecast")])


@record
class RuleNumbers(NamedTuple):
    """A :class:`Rule` in the form of the compiled loops."""

    power: Any
    positive: Any
    negative: Any
    floor: Any
    prediction: Any
    averaging: Any
    growth: Any
    positive_change: Any
    negative_change: Any
    averaging_change: Any
    horizon: Any


def rule_numbers(rule: Rule, unit: float = 1.0) -> RuleNumbers:
    """Return the numbers of a rule for a loop whose payoffs are in units of ``unit``."""
    numbers = rule.positive, rule.negative, rule.floor / unit, rule.prediction, rule.averaging, rule.growth
    return RuleNumbers(bool(rule.power), *map(float, (*numbers, *rule.changes, rule.horizon)))


def no_discounts() -> Any:
    """Return an empty record for :func:`discount` to fill."""
    return np.zeros(1, dtype=_DISCOUNTS)[0]


@compiled
def discount(rule: Any, done: Any, now: Any) -> None:
    """Write the discounts of the next update to ``now``, after ``done`` updates."""
    now.positive, now.negative, now.floor, now.forecast = rule.positive, rule.negative, rule.floor, rule.prediction
    if rule.power:
        # t^p / (t^p + 1), including infinite p. The paper discounts after the t-th update. Discounting before the next
        # update is equivalent: a common factor of an infoset's positive regrets does not change behaviour.
        t, following = max(np.float64(done), 1.0), np.float64(done) + 1.0
        share, later = min(t / rule.horizon, 1.0), min(following / rule.horizon, 1.0)
        now.positive = (1.0 + rule.growth / t) / (1.0 + t ** -(rule.positive + share * rule.positive_change))
        now.negative = 1.0 / (1.0 + t ** -(rule.negative + share * rule.negative_change))
        # The forecast is d' R + r, with d' the next discount; here it is divided by d'.
        now.forecast = rule.prediction * (1.0 + following ** -(rule.positive + later * rule.positive_change))


@compiled
def averaging_decay(rule: Any, done: Any, count: Any) -> Any:
    """Return the factor for the sums of plans before the next plan is added; they contain ``count`` plans.

    Weights are powers, scaled so that the newest weight is one: the sums stay finite for any power.
    """
    power = rule.averaging + min(np.float64(done) / rule.horizon, 1.0) * rule.averaging_change
    return (np.float64(count) / (np.float64(count) + 1.0)) ** power


class Discounts(NamedTuple):
    """The discounts of one update, each number in all lanes of a register."""

    positive: Any
    negative: Any
    floor: Any
    forecast: Any


@compiled
def in_registers(now: Any, regrets: Any) -> Any:
    """Return the discounts in registers of the regrets' type."""
    real = regrets.dtype.type
    return Discounts(
        spread(real(now.positive)), spread(real(now.negative)), spread(real(now.floor)), spread(real(now.forecast))
    )


@compiled
def accumulated(regret: Any, gained: Any, discounts: Any) -> Any:
    """Return the regrets after adding the instantaneous ones: max(d R + r, f)."""
    kept = regret * where_positive(regret, discounts.positive, discounts.negative)
    return larger(kept + gained, discounts.floor)


@compiled
def predicted(regret: Any, gained: Any, discounts: Any) -> Any:
    """Return the predicted regrets, which determine behaviour: R + m r."""
    return regret + discounts.forecast * gained
