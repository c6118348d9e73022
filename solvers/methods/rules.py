"""What the compiled loops are told of a method: how regrets accumulate, how multipliers move, what is preferred."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ...models.preferences import Preference
    from ...seqform.game import Game


@dataclass(frozen=True)
class Rule:
    """The local regret minimiser and the averaging scheme, as numbers.

    At iteration ``t`` an infoset's regrets become ``max(d R + r, floor)`` with ``r`` the instantaneous regrets and
    ``d`` the discount of positive or negative regrets; the next behaviour is proportional to
    ``(R + prediction r / d')⁺``, uniform if that is zero everywhere; ``d'`` is the next discount of positive regrets if
    discounts are powers, else 1. The plan from before update ``t`` counts ``t ** averaging`` in the average.

    Parameters
    ----------
    positive, negative : float
        The discounts themselves (``power`` false), or exponents p of the discount t^p / (t^p + 1) (``power`` true).
    power : bool
    floor : float
        Lower bound of cumulative regrets, payoff units.
    prediction : float
        How much of the last instantaneous regrets is added as a forecast of the next ones.
    averaging : float
        Exponent of the iteration number in the average's weights.
    growth : float
        With ``power``, positive regrets are multiplied by 1 + growth / t besides, so that they grow like t^growth
        beside new ones and behaviour moves less and less.
    changes : tuple of three floats
        By how much ``positive``, ``negative`` and ``averaging`` have changed when ``horizon`` updates are done, in
        proportion to the updates; from then on they stay. With the exponent γ(t) after t updates the sums of plans are
        multiplied by (t / (t + 1))^γ(t) before the next plan is added.
    horizon : float
        Updates.
    """

    positive: float = 1.0
    negative: float = 1.0
    power: bool = False
    floor: float = -math.inf
    prediction: float = 0.0
    averaging: float = 0.0
    growth: float = 0.0
    changes: tuple[float, float, float] = (0.0, 0.0, 0.0)
    horizon: float = math.inf

    def discounts(self, done: int) -> tuple[float, float]:
        """Return what positive and negative regrets count in the next update, when so many are done, but for growth.

        Examples
        --------
        >>> from treeplex.solvers.methods.rules import DCFR
        >>> DCFR.discounts(4)
        (0.8888888888888888, 0.5)
        """
        if not self.power:
            return self.positive, self.negative
        done, share = max(done, 1), min(done / self.horizon, 1.0)
        exponents = (self.positive + share * self.changes[0], self.negative + share * self.changes[1])
        positive, negative = (1.0 / (1.0 + float(done) ** -exponent) for exponent in exponents)
        return positive, negative

    def forecast(self, done: int) -> float:
        """Return what instantaneous regrets count as a forecast of the next ones, when so many updates are done."""
        return self.prediction / self.discounts(done)[0] if self.power else self.prediction

    def weight(self, update: int) -> float:
        """Return what the plan from before an update counts in the average, beside 1 of the first one.

        With a change c of the exponent over h updates the weight of update t ≤ h + 1 is, from the products of
        (s / (s - 1))^γ(s - 1), t^γ(0) exp(c / h (t ln t - ln t!)).

        Examples
        --------
        >>> from treeplex.solvers.methods.rules import Rule
        >>> Rule(averaging=2.0).weight(3)
        9.0
        >>> falling = Rule(averaging=2.0, changes=(0.0, 0.0, -1.0), horizon=2)
        >>> round(falling.weight(3), 6) == round(2**1.5 * (3 / 2) ** 1, 6)
        True
        """
        change = self.changes[2]
        if not change:
            return math.pow(update, self.averaging)
        early = min(float(update), self.horizon + 1.0)
        moved = change / self.horizon * (early * math.log(early) - math.lgamma(early + 1.0))
        late = (self.averaging + change) * math.log(update / early)
        return math.exp(self.averaging * math.log(early) + moved + late)


@dataclass(frozen=True)
class DualRule:
    """How multipliers move: along the violations of a plan, by projected gradient.

    λ becomes λ + a t^(−power) (v + optimism (v − v')), not below 0 nor above its cap, with v the violation of the plan
    that it answers and v' that of the one before.

    Parameters
    ----------
    step : float
        a, in units of the largest payoff, for rows whose largest coefficient is 1.
    power : float
        0 for constant steps, 1/2 for decreasing ones.
    optimism : float
        1 for optimistic steps, 0 for plain ones.
    tangents : {"average", "iterate"}
        Where tangents of convex constraints are taken: at the average plan, or at the current one.
    plain : bool
        Whether a is in payoff units per squared unit of violation instead, for rows as they are written.
    """

    step: float = 1.0
    power: float = 0.0
    optimism: float = 1.0
    tangents: Literal["average", "iterate"] = "average"
    plain: bool = False


@dataclass(frozen=True)
class SamplingRule:
    """The sampling scheme and the averaging, as the samplers take them.

    Attributes
    ----------
    sampling : {"external", "outcome"}
    averaging : {"simple", "sampled", "full"}
    floor : float
        What cumulative regrets are held above: minus infinity for regret matching, 0 for regret matching+.
    exploration : float
        In outcome sampling, how much of the uniform policy is mixed into that of the player who walks.
    rate : float, optional
        In outcome sampling, how far baselines move towards each new value; without it there are none.
    baselines : {"history", "infoset"}
        Whether there is one after every history's action, those of chance too, or after every infoset's.
    batch : int
        In external sampling, how many walks each player does before regrets change.
    """

    sampling: Literal["external", "outcome"] = "external"
    averaging: Literal["simple", "sampled", "full"] = "simple"
    floor: float = -math.inf
    exploration: float = 0.6
    rate: float | None = None
    baselines: Literal["history", "infoset"] = "infoset"
    batch: int = 1


@dataclass(frozen=True)
class LocalBias:
    """What the local rule is biased to: preferences of actions, and what they may cost.

    Parameters
    ----------
    prefer : Prefer, PreferStrategy or str, or a collection of them
    vulnerability : float
        β of preferences that have none of their own, payoff units.
    units : {"conditional", "counterfactual"}
        What β is held against.
    greedy : bool
        Whether all is played on the first action of the largest δ (R̄ − β)⁺, instead of in proportion to these.
    """

    prefer: Any = ()
    vulnerability: float = 0.0
    units: Literal["conditional", "counterfactual"] = "conditional"
    greedy: bool = False

    @property
    def is_conditional(self) -> bool:
        """Whether β is held against regrets given that the others allow the infoset."""
        return self.units == "conditional"

    def on(self, game: "Game") -> "Preference":
        """Return degrees and vulnerabilities in a game.

        Raises
        ------
        InvalidPreferenceError
            If a preference is about nothing in the game.
        """
        from ...models.preferences import preference_on

        return preference_on(game, self.prefer, self.vulnerability, self.units)


CFR = Rule()
CFR_PLUS = Rule(floor=0.0, averaging=1.0)
PCFR_PLUS = Rule(floor=0.0, prediction=1.0, averaging=2.0)
DCFR = Rule(positive=1.5, negative=0.0, power=True, averaging=2.0)
HS_DCFR = Rule(positive=1.0, negative=-1.0, power=True, averaging=30.0, changes=(3.0, -2.0, -5.0), horizon=1000.0)
HS_PCFR_PLUS = Rule(floor=0.0, prediction=1.0, averaging=30.0, changes=(0.0, 0.0, -5.0), horizon=1000.0)
PDCFR_PLUS = Rule(positive=2.3, power=True, floor=0.0, prediction=1.0, averaging=5.0)
SAPCFR_PLUS = Rule(floor=0.0, prediction=1 / 3, averaging=2.0)
