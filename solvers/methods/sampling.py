"""Methods of the counterfactual-regret family that sample the game."""

import dataclasses
import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from ...models.problems import Feature
from ...seqform.errors import InvalidOptionError
from ...seqform.parameters import About
from .declarations import PreferenceRule, Preferences, PreferringMethod, SampleAveraging, Units, Vulnerability
from .registry import Method
from .rules import LocalBias, SamplingRule


@dataclass(frozen=True)
class MCCFR(Method):
    """Monte Carlo counterfactual regret minimisation; its members differ in how they sample.

    An iteration samples a part of the game for each player in turn, and estimates counterfactual regrets without bias.

    Parameters
    ----------
    local_rule : {"regret-matching", "regret-matching+"}
        With ``regret-matching+``, cumulative regrets never fall below zero.
    averaging : {"simple", "sampled", "full"}, optional
        How strategies are averaged; each iteration has the same weight. ``simple``: when the previous player walks,
        a player adds its policy at its infosets that the walk meets. This is correct for two players; with more
        players, the others' play affects the weights. ``sampled``: each player adds its policy on its own sampled
        path, on which all others play uniformly. ``full``: every iteration adds the whole realization plan, which
        takes time proportional to the number of infosets. The default is ``simple`` for two players and ``sampled``
        for more.
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
        """Always true: walks are random."""
        return True

    def sampling_rule(self, num_players: int) -> SamplingRule:
        """Return the sampling scheme and the averaging for a number of players."""
        averaging = self.averaging or ("simple" if num_players <= 2 else "sampled")
        return SamplingRule("external", averaging, 0.0 if self.local_rule == "regret-matching+" else -math.inf)

    @property
    def bias(self) -> LocalBias | None:
        """The preferences of the local rule, if the method has any."""
        return None


@dataclass(frozen=True)
class ExternalSamplingMCCFR(MCCFR):
    """External sampling: walks take all actions of one player, and one action of chance and of each other player.

    Parameters
    ----------
    local_rule, averaging
        As for :class:`MCCFR`.
    batch : int
        The number of walks of each player per iteration, from 1 to 1,024. All walks of an iteration follow the
        policies from before the first, so that threads can divide them; see :ref:`walks-in-batches`. The result is
        the same, bit for bit, for any number of threads.
    threads : int
        The number of threads that walk at the same time, each on its own copy of the regrets, from 1 to 256; see
        :ref:`walks-side-by-side`. The result depends on the number, but is the same, bit for bit, on any number of
        cores. It cannot be combined with ``batch``.

    Raises
    ------
    InvalidOptionError
        If an option is out of range, or both ``batch`` and ``threads`` are above 1.

    Notes
    -----
    Lanctot, Waugh, Zinkevich and Bowling, "Monte Carlo sampling for regret minimization in extensive games", NeurIPS
    2009, section 3.2. Games need histories, which are stored as arrays. Up to 32 lanes, one for each 16 walks of a
    batch, sum regrets separately, which takes up to 28 bytes per lane and sequence, or 36 with preferences. Each of
    several ``threads`` takes up to 25 bytes per sequence, or 33 with preferences.

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
        About(
            "number of walks of each player per iteration, divided among threads", minimum=1, maximum=1024, option=False
        ),
    ] = dataclasses.field(default=1, kw_only=True)
    threads: Annotated[
        int,
        About("number of threads that walk on their own copies of the regrets", minimum=1, maximum=256, option=False),
    ] = dataclasses.field(default=1, kw_only=True)

    name: ClassVar[str] = "es-mccfr"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch > 1 and self.threads > 1:
            raise InvalidOptionError(
                f"{self.name} got batch={self.batch} and threads={self.threads}, expected one of them: batches already "
                "use all threads"
            )

    def sampling_rule(self, num_players: int) -> SamplingRule:
        """Return the sampling scheme and the averaging for a number of players."""
        return replace(super().sampling_rule(num_players), batch=self.batch, threads=self.threads)


@dataclass(frozen=True)
class OutcomeSamplingMCCFR(MCCFR):
    """Outcome sampling: one path per player, with baselines that remove most of the noise.

    Parameters
    ----------
    local_rule, averaging
        As for :class:`MCCFR`.
    exploration : float
        The weight of the uniform policy in the walking player's sampling policy, above 0 and at most 1.
    baselines : {"history", "infoset", "none"}
        The objects with a baseline, a guess of a player's value before it is sampled: every action of a history,
        including chance's; every action of an infoset; or none. Baselines by history take 8 bytes per history and
        player.
    baseline_rate : float
        The learning rate of the baselines, above 0 and at most 1.

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
    baselines: Annotated[Literal["history", "infoset", "none"], About("objects with a baseline for sampled values")] = (
        "history"
    )
    baseline_rate: Annotated[float, About("learning rate of the baselines in (0, 1]", above=0, maximum=1)] = 0.5

    name: ClassVar[str] = "os-mccfr"

    def sampling_rule(self, num_players: int) -> SamplingRule:
        """Return the sampling scheme and the averaging for a number of players."""
        return replace(
            super().sampling_rule(num_players),
            sampling="outcome",
            exploration=float(self.exploration),
            rate=None if self.baselines == "none" else float(self.baseline_rate),
            baselines="infoset" if self.baselines == "none" else self.baselines,
        )


@dataclass(frozen=True)
class ESPrefCFR(PreferringMethod, ExternalSamplingMCCFR):
    """Preference-CFR on external samples: equilibria in a chosen style, from the regrets of sampled walks.

    Parameters
    ----------
    prefer : Prefer, PreferStrategy or str, or a collection of them
        The preferences, where δ is not 1; see :class:`~treeplex.Prefer`.
    vulnerability : float
        β at the infosets of preferences without their own, in payoff units.
    rule : {"rm", "br"}
        Whether to play in proportion to δ (R̄ − β)⁺, or only the first action where that is largest. If no regret
        is above β, the policy is (δ − 1) / Σ (δ − 1), or uniform if δ is 1.
    units : {"conditional", "counterfactual"}
        The averaged regret R̄ that β is compared with. ``counterfactual``: the sum of the sampled regrets divided
        by the number of walks. ``conditional``: the sum divided by the number of the player's own walks that
        reached the infoset. That number estimates Σ π₋ᵢ(I) without bias, so β is a payoff conditional on the
        others' actions leading to the infoset.
    averaging, batch, threads
        As for :class:`ExternalSamplingMCCFR`.
    local_rule : {"regret-matching"}
        Regrets that are clipped at zero, as in regret matching+, are not averages, so they cannot be compared with
        a vulnerability.

    Notes
    -----
    Q. Ju, T. Tellier, M. Sun, Z. Fang and Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, equations 13 to 16, on external samples (:class:`ExternalSamplingMCCFR`). The paper's own code divides by
    visits on the walks of the *others*, on which the player follows its own policy. These visits are also proportional
    to the player's own reach, and then β has no unit below a player's first decision. Without preferences and with
    ``rule="rm"`` this is external-sampling MCCFR, bit for bit; with ``rule="br"`` it is fictitious play like sampled
    CFVFP.

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
    """Constrained CFR by sampling: walks pay the multipliers of constraints, which the method also learns.

    In an iteration each player walks once, with the policies and multipliers from before the iteration.

    Parameters
    ----------
    local_rule, averaging
        As for :class:`MCCFR`.
    costs : {"auto", "exact", "sampled"}
        How to compute the costs of a player's constraints. ``exact``: on all paths to their sequences, in each
        iteration. ``sampled``: on one sampled path, weighted by the inverse of its probability. ``auto``: exact if
        the paths of a player have at most 256 sequences.
    steps : {"decreasing", "constant"}
        The step rule of multipliers, along the constraint values of a walk; ``decreasing`` steps shrink like 1/√t.
    step : float
        The step size: 1 moves a multiplier by the game's largest payoff if a constraint's value equals the range of its
        values.
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
        As for :class:`CCFRSampling`.

    Notes
    -----
    T. Davis, K. Waugh and M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019,
    algorithm 1, on the samples of Lanctot, Waugh, Zinkevich and Bowling, NeurIPS 2009, section 3.2. For bounds on its
    regret see :func:`~treeplex.solvers.sampling.ccfr_bounds.sampled_ccfr_bounds`.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game, parse_constraint, solve
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
        As for :class:`OutcomeSamplingMCCFR`.
    costs, steps, step
        As for :class:`CCFRSampling`. Sampled costs are computed on one of the player's own paths.

    Notes
    -----
    See :class:`ExternalSamplingCCFR`; on the samples of Lanctot et al. 2009, section 3.1.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game, parse_constraint, solve
    >>> from treeplex.solvers import OutcomeSamplingCCFR
    >>> game = load_game("kuhn")
    >>> problem = ConstrainedNash(game, parse_constraint("0/J_:b >= 1/2 as bluff", game))
    >>> solution = solve(problem, OutcomeSamplingCCFR(), tol=0.02, seed=1)
    >>> solution.status, solution.violation, bool(abs(solution.value + 1 / 9) < 0.02)
    (<Status.CONVERGED: 'converged'>, 0.0, True)
    """

    name: ClassVar[str] = "os-ccfr"
