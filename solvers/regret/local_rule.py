"""The local rule and the schedule of discounts that the compiled loops share; :class:`Rule` says what they are.

With R the cumulative regrets of an infoset, r the instantaneous ones, d the discount and f the floor, an update is

    R ← max(d R + r, f),    behaviour ∝ (R + m r)⁺,

where m is what the instantaneous regrets count as a forecast. A register holds infosets side by side, and an action of
these takes the same steps in all of them.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compilation import compiled
from ..methods.rules import Rule
from ..records import record
from .registers import larger, spread, where_positive

#: What regrets count in one update: d for positive and for negative ones, f, and m.
_DISCOUNTS = np.dtype([(name, np.float64) for name in ("positive", "negative", "floor", "forecast")])


@record
class RuleNumbers(NamedTuple):
    """A :class:`Rule` as the compiled loops take it."""

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
    """Return a rule for a loop whose payoffs are in units of ``unit``."""
    numbers = rule.positive, rule.negative, rule.floor / unit, rule.prediction, rule.averaging, rule.growth
    return RuleNumbers(bool(rule.power), *map(float, (*numbers, *rule.changes, rule.horizon)))


def no_discounts() -> Any:
    """Return room for what :func:`discount` writes."""
    return np.zeros(1, dtype=_DISCOUNTS)[0]


@compiled
def discount(rule: Any, done: Any, now: Any) -> None:
    """Write down what regrets count in the next update, when so many are done."""
    now.positive, now.negative, now.floor, now.forecast = rule.positive, rule.negative, rule.floor, rule.prediction
    if rule.power:
        # t^p / (t^p + 1), infinite p included. The paper discounts after the t-th update; discounting before the next
        # one is the same, since a common factor of an infoset's positive regrets changes no behaviour.
        t, following = max(np.float64(done), 1.0), np.float64(done) + 1.0
        share, later = min(t / rule.horizon, 1.0), min(following / rule.horizon, 1.0)
        now.positive = (1.0 + rule.growth / t) / (1.0 + t ** -(rule.positive + share * rule.positive_change))
        now.negative = 1.0 / (1.0 + t ** -(rule.negative + share * rule.negative_change))
        # What is forecast is d' R + r, with d' the next discount; here it is divided by that.
        now.forecast = rule.prediction * (1.0 + following ** -(rule.positive + later * rule.positive_change))


@compiled
def averaging_decay(rule: Any, done: Any, count: Any) -> Any:
    """Return what sums of plans are multiplied by before the next one is added, of which so many are averaged.

    Weights are powers, scaled so that the newest is one: however large the power, the sums stay finite.
    """
    power = rule.averaging + min(np.float64(done) / rule.horizon, 1.0) * rule.averaging_change
    return (np.float64(count) / (np.float64(count) + 1.0)) ** power


class Discounts(NamedTuple):
    """What regrets count in one update, each number all over a register."""

    positive: Any
    negative: Any
    floor: Any
    forecast: Any


@compiled
def in_registers(now: Any, regrets: Any) -> Any:
    """Return what regrets count now, in registers like theirs."""
    real = regrets.dtype.type
    return Discounts(
        spread(real(now.positive)), spread(real(now.negative)), spread(real(now.floor)), spread(real(now.forecast))
    )


@compiled
def accumulated(regret: Any, gained: Any, discounts: Any) -> Any:
    """Return regrets to which instantaneous ones are added: max(d R + r, f)."""
    kept = regret * where_positive(regret, discounts.positive, discounts.negative)
    return larger(kept + gained, discounts.floor)


@compiled
def predicted(regret: Any, gained: Any, discounts: Any) -> Any:
    """Return what behaviour follows: R + m r."""
    return regret + discounts.forecast * gained
