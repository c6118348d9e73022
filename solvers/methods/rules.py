"""The parameters of methods for the compiled loops: regret updates, multiplier updates and preferences."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ...models.preferences import Preference
    from ...seqform.game import Game


@dataclass(frozen=True)
class Rule:
    """The local regret minimiser and the averaging scheme, as numbers.

    At iteration ``t`` an infoset's regrets become ``max(d R + r, floor)``, where ``r`` are the instantaneous regrets
    and ``d`` is the discount of positive or negative regrets. The next behaviour is proportional to ``(R + prediction r
    / d')⁺``, or uniform if that is zero everywhere. Here ``d'`` is the next discount of positive regrets if discounts
    are powers, otherwise 1. The plan before update ``t`` has weight ``t ** averaging`` in the average.

    Parameters
    ----------
    positive, negative : float
        The discounts themselves (``power`` false), or exponents p of the discount t^p / (t^p + 1) (``power`` true).
    power : bool
    floor : float
        Lower bound of cumulative regrets, payoff units.
    prediction : float
        The factor of the last instantaneous regrets in the forecast of the next ones.
    averaging : float
        Exponent of the iteration number in the average's weights.
    growth : float
        With ``power``, positive regrets are also multiplied by 1 + growth / t, so that they grow like t^growth
        relative to new regrets and behaviour changes less and less.
    changes : tuple of three floats
        The changes of ``positive``, ``negative`` and ``averaging`` over ``horizon`` updates, in proportion to the
        updates; afterwards they are constant. With the exponent γ(t) after t updates, the sums of plans are
        multiplied by (t / (t + 1))^γ(t) before the next plan is added.
    horizon : float
        The number of updates over which exponents change.
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
        """Return the discounts, without growth, of positive and negative regrets after a number of updates.

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
        """Return the factor of the instantaneous regrets in the forecast after a number of updates."""
        return self.prediction / self.discounts(done)[0] if self.power else self.prediction

    def weight(self, update: int) -> float:
        """Return the weight that the average gives to the plan before an update, relative to that of the first plan.

        If the exponent changes by c over h updates, the weight of update t ≤ h + 1 is t^γ(0) exp(c / h (t ln t - ln
        t!)), from the products of (s / (s - 1))^γ(s - 1).

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
    """The update of multipliers: projected gradient steps along the violations of a plan.

    λ becomes λ + a t^(−power) (v + optimism (v − v')), clipped to between 0 and its cap. Here v is the violation of the
    plan to which λ responds, and v' is the violation of the previous plan.

    Parameters
    ----------
    step : float
        a, in units of the largest payoff, for rows whose largest coefficient is 1.
    power : float
        0 for constant steps, 1/2 for decreasing ones.
    optimism : float
        1 for optimistic steps, 0 for plain ones.
    tangents : {"average", "iterate"}
        The plan at which convex constraints are linearised: the average or the current plan.
    plain : bool
        Whether a is instead in payoff units per squared unit of violation, for unscaled rows.
    """

    step: float = 1.0
    power: float = 0.0
    optimism: float = 1.0
    tangents: Literal["average", "iterate"] = "average"
    plain: bool = False


@dataclass(frozen=True)
class SamplingRule:
    """The sampling scheme and the averaging, in the form that samplers use.

    Attributes
    ----------
    sampling : {"external", "outcome"}
    averaging : {"simple", "sampled", "full"}
    floor : float
        The lower bound of cumulative regrets: minus infinity for regret matching, 0 for regret matching+.
    exploration : float
        In outcome sampling, the weight of the uniform policy in the walking player's sampling policy.
    rate : float, optional
        In outcome sampling, the learning rate of the baselines; ``None`` for no baselines.
    baselines : {"history", "infoset"}
        Whether there is a baseline for every action of a history, including chance's, or of an infoset.
    batch : int
        In external sampling, the number of walks of each player between updates of regrets.
    threads : int
        In external sampling without batches, the number of threads that walk on their own copies of the regrets.
    """

    sampling: Literal["external", "outcome"] = "external"
    averaging: Literal["simple", "sampled", "full"] = "simple"
    floor: float = -math.inf
    exploration: float = 0.6
    rate: float | None = None
    baselines: Literal["history", "infoset"] = "infoset"
    batch: int = 1
    threads: int = 1


@dataclass(frozen=True)
class LocalBias:
    """The bias of the local rule: preferences for actions, and their allowed cost.

    Parameters
    ----------
    prefer : Prefer, PreferStrategy or str, or a collection of them
    vulnerability : float
        β of preferences without their own, in payoff units.
    units : {"conditional", "counterfactual"}
        The kind of regret that β is compared with.
    greedy : bool
        Whether to play only the first action with the largest δ (R̄ − β)⁺, instead of in proportion to these numbers.
    """

    prefer: Any = ()
    vulnerability: float = 0.0
    units: Literal["conditional", "counterfactual"] = "conditional"
    greedy: bool = False

    @property
    def is_conditional(self) -> bool:
        """Whether β is compared with regrets conditional on the others' actions leading to the infoset."""
        return self.units == "conditional"

    def on(self, game: "Game") -> "Preference":
        """Return the degrees and vulnerabilities that the preferences set in a game.

        Raises
        ------
        InvalidPreferenceError
            If a preference matches nothing in the game.
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
