"""Methods of the counterfactual-regret family that sample the game."""

import dataclasses
import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from ...models.problems import Feature
from ...seqform.parameters import About
from .declarations import PreferenceRule, Preferences, PreferringMethod, SampleAveraging, Units, Vulnerability
from .registry import Method
from .rules import LocalBias, SamplingRule


@dataclass(frozen=True)
class MCCFR(Method):
    """Monte Carlo counterfactual regret minimisation; its members differ in what is sampled.

    An iteration walks a part of the game for each player in turn, and estimates counterfactual regrets without bias.

    Parameters
    ----------
    local_rule : {"regret-matching", "regret-matching+"}
        With the latter cumulative regrets never fall below zero.
    averaging : {"simple", "sampled", "full"}, optional
        How strategies are averaged, each iteration counting alike. ``simple``: when the player before it walks, a
        player adds its policy at its infosets that are met; this is right for two players, with more of them what the
        others play weighs in. ``sampled``: by a path of its own a player, on which everybody else plays uniformly.
        ``full``: every iteration adds the whole realization plan, which takes as long as the game has infosets. By
        default ``simple`` for two players and ``sampled`` for more.
    """

    local_rule: Annotated[Literal["regret-matching", "regret-matching+"], About("regret minimiser at each infoset")] = (
        "regret-matching"
    )
    averaging: SampleAveraging = None

    serves: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.PLAYERS, Feature.GENERAL_SUM})
    keeps_runs: ClassVar[bool] = True
    takes_start: ClassVar[bool] = True
    samples: ClassVar[bool] = True
    default_tolerance: ClassVar[float] = 1e-3
    default_iterations: ClassVar[int] = 100_000_000
    backend: ClassVar[str] = "treeplex.solvers.sampling.sampler"

    @property
    def draws(self) -> bool:
        """It samples."""
        return True

    def sampling_rule(self, num_players: int) -> SamplingRule:
        """Return what is sampled in a game of so many players, and how strategies are averaged."""
        averaging = self.averaging or ("simple" if num_players <= 2 else "sampled")
        return SamplingRule("external", averaging, 0.0 if self.local_rule == "regret-matching+" else -math.inf)

    @property
    def bias(self) -> LocalBias | None:
        """The preferences of the local rule, if the method has any."""
        return None


@dataclass(frozen=True)
class ExternalSamplingMCCFR(MCCFR):
    """External sampling: all actions of the player who walks, one of chance and of everybody else at each history.

    Parameters
    ----------
    local_rule, averaging
        As :class:`MCCFR`.
    batch : int
        How many walks each player does in an iteration, from 1 to 1,024. All of them follow the policies that stood
        before the first, so that threads can share them; see :ref:`walks-in-batches`. The result is the same, bit
        for bit, for any number of threads.

    Notes
    -----
    Lanctot, Waugh, Zinkevich and Bowling, "Monte Carlo sampling for regret minimization in extensive games", NeurIPS
    2009, section 3.2. Games need histories, which are held as arrays. Up to 32 lanes, one for each 16 walks of a batch,
    add up regrets on their own, which takes up to 28 bytes a lane and sequence, and 36 with preferences.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import ExternalSamplingMCCFR
    >>> solution = solve(Nash(load_game("kuhn")), ExternalSamplingMCCFR(), tol=0.02, seed=1)
    >>> solution.status, bool(solution.exploitability <= 0.02)
    (<Status.CONVERGED: 'converged'>, True)
    """

    batch: Annotated[
        int,
        About("walks of each player per iteration, divided among threads", minimum=1, maximum=1024, option=False),
    ] = dataclasses.field(default=1, kw_only=True)

    name: ClassVar[str] = "es-mccfr"

    def sampling_rule(self, num_players: int) -> SamplingRule:
        """Return what is sampled in a game of so many players, and how strategies are averaged."""
        return replace(super().sampling_rule(num_players), batch=self.batch)


@dataclass(frozen=True)
class OutcomeSamplingMCCFR(MCCFR):
    """Outcome sampling: one path for each player, with baselines that take out most of the noise.

    Parameters
    ----------
    local_rule, averaging
        As :class:`MCCFR`.
    exploration : float
        How much of the uniform policy is mixed into that of the player who walks, above 0 and at most 1.
    baselines : {"history", "infoset", "none"}
        What is guessed of a player's value before it is sampled: one number after every history's action, those of
        chance too, or one after every infoset's action, or nothing. The former takes 8 bytes a history and player.
    baseline_rate : float
        How far a baseline moves towards each new estimate, above 0 and at most 1.

    Notes
    -----
    Lanctot, Waugh, Zinkevich and Bowling, "Monte Carlo sampling for regret minimization in extensive games", NeurIPS
    2009, section 3.1. Baselines: Schmid, Burch, Lanctot, Moravcik, Kadlec and Bowling, "Variance reduction in Monte
    Carlo counterfactual regret minimization (VR-MCCFR) for extensive form games using baselines", AAAI 2019,
    arXiv:1809.03057: the sampled action a of h counts b(I, a) + (û(ha) − b(I, a)) / ξ(h, a), any other
    one b(I, a). By history: Davis, Schmid and Bowling, "Low-variance and zero-variance baselines for extensive-form
    games", ICML 2020, arXiv:1907.09633.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import OutcomeSamplingMCCFR
    >>> solution = solve(Nash(load_game("kuhn")), OutcomeSamplingMCCFR(), tol=0.02, seed=1)
    >>> solution.status, bool(solution.exploitability <= 0.02)
    (<Status.CONVERGED: 'converged'>, True)
    """

    exploration: Annotated[float, About("exploration rate in (0, 1]", above=0, maximum=1)] = 0.6
    baselines: Annotated[
        Literal["history", "infoset", "none"], About("the objects that have a baseline for sampled values")
    ] = "history"
    baseline_rate: Annotated[float, About("learning rate of the baselines in (0, 1]", above=0, maximum=1)] = 0.5

    name: ClassVar[str] = "os-mccfr"

    def sampling_rule(self, num_players: int) -> SamplingRule:
        """Return what is sampled in a game of so many players, and how strategies are averaged."""
        return replace(
            super().sampling_rule(num_players),
            sampling="outcome",
            exploration=float(self.exploration),
            rate=None if self.baselines == "none" else float(self.baseline_rate),
            baselines="infoset" if self.baselines == "none" else self.baselines,
        )


@dataclass(frozen=True)
class ESPrefCFR(PreferringMethod, ExternalSamplingMCCFR):
    """Preference-CFR on external samples: equilibria in a chosen style, by the regrets of sampled walks.

    Parameters
    ----------
    prefer : Prefer, PreferStrategy or str, or a collection of them
        Where δ is not 1; see :class:`~treeplex.Prefer`.
    vulnerability : float
        β of the infosets that a preference is about, in payoff units, if it has none of its own.
    rule : {"rm", "br"}
        Whether actions are played in proportion to δ (R̄ − β)⁺, or the one where that is largest, the first of equal
        ones, alone. Where no regret is above β the policy is (δ − 1) / Σ (δ − 1), and uniform where δ is 1.
    units : {"conditional", "counterfactual"}
        What the averaged regret R̄ is that β is held against. ``counterfactual``: the sum of the sampled regrets over
        the number of walks. ``conditional``: over the number of the player's own walks that came to the infoset, which
        estimates Σ π₋ᵢ(I) without bias, so that β counts payoff given that the others allow the infoset.
    averaging, batch
        As :class:`ExternalSamplingMCCFR`.
    local_rule : {"regret-matching"}
        Regrets that are cut off at zero, as in regret matching+, are no averages, and no vulnerability can be held
        against them.

    Notes
    -----
    Q. Ju, T. Tellier, M. Sun, Z. Fang and Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, equations 13 to 16, on external samples (:class:`ExternalSamplingMCCFR`). The paper's own code divides by
    visits on the walks of the *others*, on which the player follows its own policy: these are in proportion to its own
    reach too, and then β has no unit below a player's first decision. Without preferences and with ``rule="rm"`` this
    is external-sampling MCCFR, bit for bit; with ``rule="br"`` it is fictitious play like sampled CFVFP.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import ESPrefCFR
    >>> bold = ESPrefCFR("0/b@first:5")
    >>> solution = solve(Nash(load_game("kuhn")), bold, tol=0.01, seed=1)
    >>> solution.status, bool(solution.profile[0]["K_"]["b"] > 0.6)
    (<Status.CONVERGED: 'converged'>, True)
    """

    prefer: Preferences = ()
    vulnerability: Vulnerability = 0.0
    units: Units = "conditional"
    rule: PreferenceRule = "rm"
    averaging: SampleAveraging = dataclasses.field(default=None, kw_only=True)
    local_rule: Annotated[Literal["regret-matching"], About("regret minimiser at each infoset")] = dataclasses.field(
        default="regret-matching", kw_only=True
    )

    name: ClassVar[str] = "es-pref-cfr"


@dataclass(frozen=True)
class CCFRSampling(MCCFR):
    """Constrained CFR by samples: walks pay the multipliers of linear constraints, which learn beside the players.

    In an iteration each player walks once, by the policies and multipliers from before the iteration.

    Parameters
    ----------
    local_rule, averaging
        As :class:`MCCFR`.
    costs : {"auto", "exact", "sampled"}
        How the costs of a player's constraints are found. ``exact``: on all ways to their sequences, in each iteration.
        ``sampled``: on one way at a time, with the inverse of its probability as its weight. ``auto``: exact where the
        ways of a player have at most 256 sequences.
    steps : {"decreasing", "constant"}
        Of multipliers, along the values of constraints that a walk finds; ``decreasing`` ones shrink like 1/√t.
    step : float
        Their size, where 1 moves a multiplier by the game's largest payoff for a value as large as the range of values.
    """

    costs: Annotated[
        Literal["auto", "exact", "sampled"], About("whether costs of constraints are sampled or computed")
    ] = dataclasses.field(default="auto", kw_only=True)
    steps: Annotated[Literal["decreasing", "constant"], About("step rule of the multipliers")] = dataclasses.field(
        default="decreasing", kw_only=True
    )
    step: Annotated[float, About("step size of the multipliers", above=0)] = dataclasses.field(
        default=0.3, kw_only=True
    )

    serves: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.CONSTRAINTS})
    backend: ClassVar[str] = "treeplex.solvers.sampling.constrained"


@dataclass(frozen=True)
class ExternalSamplingCCFR(CCFRSampling):
    """Constrained CFR on external samples.

    Parameters
    ----------
    local_rule, averaging, costs, steps, step
        As :class:`CCFRSampling`.

    Notes
    -----
    T. Davis, K. Waugh and M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019,
    algorithm 1, on the samples of Lanctot, Waugh, Zinkevich and Bowling, NeurIPS 2009, section 3.2. For bounds on its
    regret see :func:`~treeplex.solvers.sampling.ccfr_bounds.sampled_ccfr_bounds`.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game, solve
    >>> from treeplex.models.constraints import parse_constraint
    >>> from treeplex.solvers import ExternalSamplingCCFR
    >>> game = load_game("kuhn")
    >>> problem = ConstrainedNash(game, parse_constraint("0/J_:b >= 1/2 as bluff", game))
    >>> solution = solve(problem, ExternalSamplingCCFR(), tol=0.02, seed=1)
    >>> solution.status, solution.violation, bool(abs(solution.value + 1 / 9) < 0.02)
    (<Status.CONVERGED: 'converged'>, 0.0, True)
    """

    name: ClassVar[str] = "es-ccfr"


@dataclass(frozen=True)
class OutcomeSamplingCCFR(CCFRSampling, OutcomeSamplingMCCFR):
    """Constrained CFR on outcome samples.

    Parameters
    ----------
    local_rule, averaging, exploration, baselines, baseline_rate
        As :class:`OutcomeSamplingMCCFR`.
    costs, steps, step
        As :class:`CCFRSampling`. Where costs are sampled, on one path of the player's own.

    Notes
    -----
    See :class:`ExternalSamplingCCFR`; on the samples of Lanctot et al. 2009, section 3.1.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game, solve
    >>> from treeplex.models.constraints import parse_constraint
    >>> from treeplex.solvers import OutcomeSamplingCCFR
    >>> game = load_game("kuhn")
    >>> problem = ConstrainedNash(game, parse_constraint("0/J_:b >= 1/2 as bluff", game))
    >>> solution = solve(problem, OutcomeSamplingCCFR(), tol=0.02, seed=1)
    >>> solution.status, solution.violation, bool(abs(solution.value + 1 / 9) < 0.02)
    (<Status.CONVERGED: 'converged'>, 0.0, True)
    """

    name: ClassVar[str] = "os-ccfr"
