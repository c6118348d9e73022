"""Methods built on CFR, CFR+, DCFR and PCFR+: constrained and preference variants, and successors."""

import dataclasses
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from ...models.problems import Feature
from ...seqform.errors import InvalidOptionError
from ...seqform.parameters import About, check_parameters
from . import rules
from .declarations import (
    WEIGHTS,
    Averaging,
    Base,
    Iterate,
    Precision,
    PreferenceRule,
    Preferences,
    PreferringMethod,
    Units,
    Updates,
    Vulnerability,
)
from .registry import Method
from .regret import BASES, SADDLES, RegretMethod
from .rules import DualRule, LocalBias, Rule

#: In constrained CFR with base DCFR, regrets grow relative to new ones like t to this power.
CCFR_GROWTH = 0.03


class BasedMethod(RegretMethod):
    """A method whose regrets accumulate, and whose iterates are averaged, as in another method, its ``base``."""

    base: str

    def __post_init__(self) -> None:
        check_parameters(self, InvalidOptionError)
        if self.averaging is None:
            object.__setattr__(self, "averaging", BASES[self.base].averaging)
        super().__post_init__()

    @property
    def base_method(self) -> RegretMethod:
        """The base method."""
        return BASES[self.base](updates=self.updates, averaging=self.averaging_power, iterate=self.iterate)

    @property
    def local_rule(self) -> Rule:
        """The local rule of the base method."""
        return self.base_method.local_rule


@dataclass(frozen=True)
class CCFR(BasedMethod):
    """Constrained counterfactual regret minimisation, which learns multipliers of constraints together with strategies.

    Parameters
    ----------
    updates, iterate, precision
        As for :class:`RegretMethod`; the precision is ``auto`` by default.
    averaging : str or float, optional
        The averaging of strategies and of multipliers; by default that of the base method.
    base : {"dcfr", "cfr+", "pcfr+", "cfr"}
        How the players' regrets accumulate.
    steps : {"optimistic", "constant", "decreasing"}
        The step rule of multipliers, along the violations: ``optimistic`` steps count the change of a violation
        twice, ``decreasing`` steps shrink like 1/√t.
    step : float
        The step size.
    step_unit : {"scaled", "plain"}
        Whether the step size is in units of the game's largest payoff and of a constraint's largest coefficient
        (``scaled``), or in payoff units per squared unit of violation as in the paper (``plain``): λ + step · f(x).
    tangents : {"average", "iterate"}
        The plan at which nonlinear convex constraints are linearised: the average plan so far, or the current plan
        as in the paper.
    beta : float, optional
        The initial bound on multipliers, in payoff units per unit of violation, for a problem without a penalty.
        The bound is doubled, and averaging restarts, when the average multiplier of a violated constraint reaches
        0.9 of the bound, or half of it after 2,048 iterations under the same bound. The check runs 256, 512, 1,024,
        … iterations after the last doubling. By default multipliers are unbounded.

    Notes
    -----
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), algorithm 1. A player's gradient is the gradient of the payoff minus Σ λ ∇f, at every sequence.
    λ moves along f(x), clipped to between 0 and the penalty, if there is one. The certificate needs no linear program:
    the free player's best response bounds the value from one side. The best response of the constrained player, who
    pays the average multipliers, bounds it from the other. If constraints cannot be met, multipliers grow without
    limit, and their proportions prove the infeasibility. A linear constraint whose bound is the least value of its
    function is met by removing the actions that violate it.

    With base ``dcfr``, positive regrets also grow by 0.03 / t, so that late steps become slightly smaller. With steps
    of constant size, a run of ten thousand iterations sometimes oscillates and loses its accuracy.

    A nonlinear constraint is replaced by its tangent, which is computed anew at each iteration; averages of tangents
    prove the bound. Distances, and norms, squares, maxima and relative entropies of affine functions, are compiled.
    Slopes of norms and maxima at kinks are chosen in the dual ball, along their arguments, like multipliers. For other
    cvxpy functions the loop calls cvxpy, which takes about a hundred times as long. For piecewise linear ones it takes
    an arbitrary slope, so that they converge slowly.

    Examples
    --------
    >>> from treeplex import CCFR, ConstrainedNash, load_game, solve
    >>> from treeplex.models.constraints import behaviour_bound
    >>> game = load_game("kuhn")
    >>> bluff = behaviour_bound(game, 0, "J_", "b", at_least=0.5, name="bluff")
    >>> solution = solve(ConstrainedNash(game, [bluff]), CCFR(), tol=1e-4)
    >>> round(solution.value, 3), round(solution.multipliers["bluff"], 3)
    (-0.111, 0.333)
    """

    averaging: Averaging = None
    base: Base = "dcfr"
    steps: Annotated[Literal["optimistic", "constant", "decreasing"], About("step rule of the multipliers")] = (
        "optimistic"
    )
    step: Annotated[float, About("step size of the multipliers; tight bounds need a large one", above=0)] = 0.3
    step_unit: Annotated[Literal["scaled", "plain"], About("units of the step size")] = "scaled"
    tangents: Annotated[Literal["average", "iterate"], About("point at which nonlinear constraints are linearised")] = (
        "average"
    )
    beta: Annotated[
        float | None, About("initial bound on the multipliers, doubled when needed", above=0, shown="none")
    ] = None
    precision: Precision = dataclasses.field(default="auto", kw_only=True)

    name: ClassVar[str] = "ccfr"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.CONSTRAINTS, Feature.CONVEX})

    @property
    def local_rule(self) -> Rule:
        """The local rule of the base method; with base ``dcfr``, regrets also grow."""
        rule = super().local_rule
        return replace(rule, growth=CCFR_GROWTH) if self.base == "dcfr" else rule

    @property
    def dual_rule(self) -> DualRule:
        """The update rule of the multipliers."""
        power = 0.5 if self.steps == "decreasing" else 0.0
        optimism = 1.0 if self.steps == "optimistic" else 0.0
        return DualRule(self.step, power, optimism, self.tangents, self.step_unit == "plain")

    @property
    def first_bound(self) -> float | None:
        """The first bound on multipliers, in payoff units."""
        return None if self.beta is None else float(self.beta)


@dataclass(frozen=True)
class CFVFP(RegretMethod):
    """Counterfactual-value fictitious play: each infoset plays only the action with the largest regret.

    If no regret is above zero, an infoset plays uniformly, as in the first iteration. Plans are pure, so that an
    iteration skips much of a game. In all tested games the averages converge to equilibrium, like those of fictitious
    play, but no rate is proven: against an adversary, regret may grow in proportion to time.

    Parameters
    ----------
    updates, averaging, iterate, precision, initial_regrets
        As for :class:`RegretMethod`.

    Notes
    -----
    Q. Ju, T. Tellier, M. Sun, Z. Fang and Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, equation 14 with δ = 1.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import CFVFP
    >>> solution = solve(Nash(load_game("kuhn")), CFVFP(), tol=0.01)
    >>> solution.status
    <Status.CONVERGED: 'converged'>
    """

    name: ClassVar[str] = "cfvfp"

    @property
    def bias(self) -> LocalBias:
        """No preference; only the best action is played."""
        return LocalBias(greedy=True)


@dataclass(frozen=True)
class PrefCFR(PreferringMethod, BasedMethod):
    """Preference-CFR: regret minimisation that prefers a style, possibly at a bounded loss.

    With averaged regrets R̄, an infoset plays its actions in proportion to δ (R̄ − β)⁺, or in proportion to δ − 1 if no
    regret is above β. Degrees δ select among equilibria if there are several. A vulnerability β allows more freedom, at
    a bounded cost.

    Parameters
    ----------
    prefer : Prefer, PreferStrategy or str, or a collection of them
        Strings have the form ``[SEAT/[INFOSET:]]ACTION[@first]:DELTA``. If several preferences apply to an infoset, the
        last one counts.
    vulnerability : float
        β ≥ 0 at the infosets of the preferences, in payoff units.
    units : {"conditional", "counterfactual"}
        The regret that β is compared with: the averaged regret conditional on chance and the others leading to the
        infoset (with their probabilities in the latest iterations), or the averaged counterfactual regret itself.
    rule : {"rm", "br"}
        ``rm`` plays in proportion, as above; ``br`` plays only the first action with the largest δ (R̄ − β)⁺.
    base : {"cfr", "cfr+", "dcfr", "pcfr+"}
        How regrets accumulate; R̄ is their average per iteration.
    updates, iterate, precision, initial_regrets
        As for :class:`RegretMethod`; updates are simultaneous by default.
    averaging : str or float, optional
        By default that of the base method.

    Notes
    -----
    Q. Ju, T. Tellier, M. Sun, Z. Fang and Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, equations 13 to 16; (16) with δ, as the text requires. For proven bounds see
    :func:`~treeplex.solvers.regret.preference_bounds.preference_bound`.

    Examples
    --------
    How often player 0 of Kuhn poker bluffs with the jack, at no cost:

    >>> from treeplex import Nash, PrefCFR, load_game, solve
    >>> for style in ("0/b@first:5", "0/p@first:5"):
    ...     solution = solve(Nash(load_game("kuhn")), PrefCFR(style), tol=0, max_iterations=10_000)
    ...     print(round(solution.profile[0]["J_"]["b"], 2), bool(solution.exploitability < 0.005))
    0.22 True
    0.18 True
    """

    prefer: Preferences = ()
    vulnerability: Vulnerability = 0.0
    units: Units = "conditional"
    rule: PreferenceRule = "rm"
    base: Base = "cfr"
    updates: Updates = dataclasses.field(default="simultaneous", kw_only=True)
    averaging: Averaging = dataclasses.field(default=None, kw_only=True)
    iterate: Iterate = dataclasses.field(default="average", kw_only=True)

    name: ClassVar[str] = "pref-cfr"


#: The features that these methods serve: those of averages, except decisions in steps, where the clock restarts.
SERVES = SADDLES - {Feature.STEPS, Feature.SEARCH, Feature.LOCAL}
FIRST_WEIGHTS = "initial exponent of t in the weights of the average; it falls by 5 up to the horizon"
Horizon = Annotated[int, About("number of iterations until the exponents are constant", minimum=1, option=False)]


@dataclass(frozen=True)
class ScheduledMethod(RegretMethod):
    """A method whose exponents change in proportion to the iterations, up to a horizon."""

    averaging: Annotated[float, About(FIRST_WEIGHTS, minimum=5, maximum=64, alias="gamma")] = 30.0
    horizon: Horizon = 1000

    @property
    def local_rule(self) -> Rule:
        """The exponents, their changes, and the horizon."""
        return replace(super().local_rule, horizon=float(self.horizon))


@dataclass(frozen=True)
class HSDCFR(ScheduledMethod):
    """HS-DCFR: discounted CFR whose exponents follow a schedule, α from 1 to 4, β from −1 to −3, γ from 30 to 25.

    After t iterations they are α = 1 + 3 t / n, β = −1 − 2 t / n and γ = 30 − 5 t / n. The first plans are forgotten
    quickly, and later plans have nearly equal weights.

    Parameters
    ----------
    updates, iterate, precision, initial_regrets
        As for :class:`RegretMethod`.
    averaging : float
        The initial γ; the paper's other choice is 15.
    horizon : int
        n, in the paper the total number of iterations; afterwards the exponents are constant.

    Notes
    -----
    N. Zhang, S. McAleer and T. Sandholm, "Faster game solving via hyperparameter schedules", AAAI 2026,
    arXiv:2404.09097, equations 2 to 4.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import HSDCFR
    >>> solution = solve(Nash(load_game("kuhn")), HSDCFR(), tol=1e-6)
    >>> solution.lower <= -1 / 18 <= solution.upper
    True
    """

    name: ClassVar[str] = "hs-dcfr"
    accumulation: ClassVar[Rule] = rules.HS_DCFR
    serves: ClassVar[frozenset[str]] = SERVES


@dataclass(frozen=True)
class HSPCFRPlus(ScheduledMethod):
    """HS-PCFR+: predictive CFR+ whose averaging exponent falls from 30 to 25, γ = 30 − 5 t / n after t iterations.

    Parameters
    ----------
    updates, iterate, precision, initial_regrets
        As for :class:`RegretMethod`.
    averaging : float
        The initial γ; the paper's other choice is 15.
    horizon : int
        n, in the paper the total number of iterations; afterwards the exponent is constant.

    Notes
    -----
    N. Zhang, S. McAleer and T. Sandholm, "Faster game solving via hyperparameter schedules", AAAI 2026,
    arXiv:2404.09097, equation 4.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import HSPCFRPlus
    >>> solution = solve(Nash(load_game("kuhn")), HSPCFRPlus(averaging=15), tol=1e-6)
    >>> solution.lower <= -1 / 18 <= solution.upper
    True
    """

    name: ClassVar[str] = "hs-pcfr+"
    accumulation: ClassVar[Rule] = rules.HS_PCFR_PLUS
    serves: ClassVar[frozenset[str]] = SERVES


@dataclass(frozen=True)
class PDCFRPlus(RegretMethod):
    """Predictive discounted CFR+: regrets are discounted as in DCFR, including those in the forecast.

    R = (d R + r)⁺ with d = (t − 1)^α / ((t − 1)^α + 1) in iteration t. The next behaviour is proportional to (d' R +
    r)⁺ with d' = t^α / (t^α + 1).

    Parameters
    ----------
    updates, averaging, iterate, precision, initial_regrets
        As for :class:`RegretMethod`; the averaging power is the paper's γ, 5 by default.
    alpha : float
        Exponent of the discount.

    Notes
    -----
    H. Xu, K. Li, B. Liu, H. Fu, Q. Fu, J. Xing and J. Cheng, "Minimizing weighted counterfactual regret with optimistic
    online mirror descent", IJCAI 2024, arXiv:2404.13891, section 4; α = 2.3 and γ = 5.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import PDCFRPlus
    >>> solution = solve(Nash(load_game("kuhn")), PDCFRPlus(), tol=1e-6)
    >>> solution.lower <= -1 / 18 <= solution.upper
    True
    """

    averaging: Annotated[Averaging, About(WEIGHTS, minimum=0, maximum=64, alias="gamma")] = 5.0
    alpha: Annotated[float, About("exponent α of the discount of regrets", option=False)] = 2.3

    name: ClassVar[str] = "pdcfr+"
    accumulation: ClassVar[Rule] = rules.PDCFR_PLUS
    serves: ClassVar[frozenset[str]] = SERVES

    @property
    def local_rule(self) -> Rule:
        """The discount and the averaging."""
        return replace(super().local_rule, positive=self.alpha)


@dataclass(frozen=True)
class SAPCFRPlus(RegretMethod):
    """Simple asymmetric predictive CFR+: the forecast of predictive CFR+, with weight one third.

    A wrong forecast costs less than in predictive CFR+, and a correct forecast gains less.

    Notes
    -----
    L. Meng, T. Yang, Y. Zhang, Z. Ge and Y. Gao, "Faster game solving via asymmetry of step sizes", AAAI 2026,
    arXiv:2503.12770: steps of 1 / (1 + α) with α = 2 along forecasts; SAPCFR+ there.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import SAPCFRPlus
    >>> solution = solve(Nash(load_game("kuhn")), SAPCFRPlus(), tol=1e-6)
    >>> solution.lower <= -1 / 18 <= solution.upper
    True
    """

    averaging: Averaging = "quadratic"

    name: ClassVar[str] = "sapcfr+"
    accumulation: ClassVar[Rule] = rules.SAPCFR_PLUS
    serves: ClassVar[frozenset[str]] = SERVES


@dataclass(frozen=True)
class RestartedCFR(BasedMethod):
    """Predictive CFR+, or CFR+, restarted from its averages whenever these have become much better.

    The method restarts when the exploitability of the averages, or of the last iterates if that is smaller, has fallen
    to a fifth since the last restart. The better strategies become the first plans of a new run. Regrets become
    proportional to the new behaviour and keep their Euclidean norm at each infoset, so updates remain as small as
    before. The method also restarts when the exploitability has fallen to four fifths and rises again, and when three
    fifths of all iterations have been done since the last restart.

    Parameters
    ----------
    base : {"pcfr+", "cfr+"}
        How regrets accumulate between restarts.
    updates, iterate, precision, initial_regrets
        As for :class:`RegretMethod`.
    averaging : str or float, optional
        Weights since the last restart; by default that of the base method.

    Notes
    -----
    The restart conditions are due to D. Applegate, O. Hinder, H. Lu and M. Lubin, "Faster first-order primal-dual
    methods for linear programming using restarts and sharpness", Mathematical Programming 201 (2023), arXiv:2105.12715.
    Y. Cai, G. Farina, J. Grand-Clément, C. Kroer, C.-W. Lee, H. Luo and W. Zheng, "Last-iterate convergence properties
    of regret-matching algorithms in games", ICLR 2025, arXiv:2311.00676, prove that smoothed variants of predictive
    regret matching+ converge linearly on matrix games with restarts. No theorem covers this method; in most measured
    games its error fell linearly.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import RestartedCFR
    >>> solution = solve(Nash(load_game("kuhn")), RestartedCFR(), tol=1e-12)
    >>> solution.iterations < 300, solution.exploitability <= 1e-12
    (True, True)
    """

    averaging: Averaging = None
    base: Annotated[Literal["pcfr+", "cfr+"], About("how regrets accumulate between restarts", option=False)] = "pcfr+"

    name: ClassVar[str] = "restarted-cfr"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM})
    backend: ClassVar[str] = "treeplex.solvers.regret.restarts"


@dataclass(frozen=True)
class SmoothCFRPlus(Method):
    """Smooth regret matching+ at every infoset, with predictive or extragradient steps: the last iterates converge.

    Regrets of an infoset are kept in Z = {z ≥ 0, Σ z ≥ 1}, away from zero, where a small change would turn their
    direction. Let r(z) be the instantaneous regrets of the behaviour proportional to z, and Π the projection onto Z.
    Both players update simultaneously: z = Π(w + η r'), then w = Π(w + η r(z)). Here r' is the last r(z) with
    predictive steps, and r(w) with extragradient steps, which need two gradients. The method plays and returns z.

    Parameters
    ----------
    gradients : {"predictive", "extragradient"}
    step : float
        η times L = √6 ‖A‖₂ √d, with A the payoff matrix over sequences and d the largest number of actions of an
        infoset.
    restarts : bool
        Whether regrets restart in proportion to behaviour, with Σ z = 1, when their movement ‖w' − z‖ + ‖w − z‖ has
        fallen to 8, and then each time to half of that.
    iterate : {"last", "average"}
        The strategies that are returned and certified; averages are uniform.

    Notes
    -----
    G. Farina, J. Grand-Clément, C. Kroer, C.-W. Lee and H. Luo, "Regret matching+: (in)stability and fast convergence
    in games", NeurIPS 2023, arXiv:2305.14709; Y. Cai, G. Farina, J. Grand-Clément, C. Kroer, C.-W. Lee, H. Luo and W.
    Zheng, "Last-iterate convergence properties of regret-matching algorithms in games", ICLR 2025, arXiv:2311.00676,
    algorithms 3 to 6. Their theorems cover matrix games: last iterates converge, linearly with restarts, for a step
    below 1 with extragradients and below 1/8 with predictions. On trees the method is an experiment.

    Examples
    --------
    Last iterates of regret matching+ do not converge in this game, nor do those of its predictive variant if both
    players move at once:

    >>> from treeplex import Game, Nash, solve
    >>> from treeplex.seqform import SequenceForm
    >>> from treeplex.solvers import SmoothCFRPlus
    >>> form = SequenceForm.from_payoff_matrix([[-3.0, 0.0, 3.0], [0.0, -3.0, 4.0], [0.0, 0.0, -1.0]])
    >>> problem = Nash(Game.from_sequence_form(form))
    >>> solve(problem, "pcfr+:updates=simultaneous,iterate=last", tol=0, max_iterations=1000).exploitability > 0.1
    True
    >>> bool(solve(problem, SmoothCFRPlus(), tol=0, max_iterations=2000).exploitability < 1e-6)
    True
    """

    gradients: Annotated[
        Literal["predictive", "extragradient"],
        About("regrets used in the first half of a step", option=False),
    ] = "predictive"
    step: Annotated[float, About("step size, in units of 1 / (√6 ‖A‖ √d)", above=0, option=False)] = 1.0
    restarts: Annotated[bool, About("whether regrets are reset when steps become short", option=False)] = True
    iterate: Iterate = "last"

    name: ClassVar[str] = "smooth-cfr+"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM})
    default_tolerance: ClassVar[float] = 1e-4
    default_iterations: ClassVar[int] = 1_000_000
    keeps_runs: ClassVar[bool] = True
    backend: ClassVar[str] = "treeplex.solvers.regret.smooth"


@dataclass(frozen=True)
class MirrorProx(Method):
    """Mirror prox with a dilated Euclidean distance: an extragradient method on plans with a proven rate.

    Let D(x ‖ c) = Σ β(I) x(σ(I)) ‖b_x(I) − b_c(I)‖² / 2 over infosets, where β(I) is 1 plus the largest sum of β below
    one of its actions. Each iteration maximises η g(c) · z − D(z ‖ c) over plans z of each player, and then η g(z) · w
    − D(w ‖ c), bottom-up by projections onto simplices; w is the next c. Steps η are the longest ones found with η
    (g(z) − g(c)) · (w − z) ≤ D(z ‖ c) + D(w ‖ z).

    Parameters
    ----------
    restarts : bool
        Whether it restarts from the averages, or from the last iterates if these are better, as :class:`RestartedCFR`
        does.
    iterate : {"average", "last"}
        The strategies that are returned and certified; averages since the last restart have weights η.

    Notes
    -----
    A. Nemirovski, "Prox-method with rate of convergence O(1/t) for variational inequalities with Lipschitz continuous
    monotone operators and smooth convex-concave saddle point problems", SIAM Journal on Optimization 15 (2004).
    S. Hoda, A. Gilpin, J. Peña and T. Sandholm, "Smoothing techniques for computing Nash equilibria of sequential
    games", Mathematics of Operations Research 35 (2010): dilated distances. C. Kroer, K. Waugh, F. Kılınç-Karzan and
    T. Sandholm, "Faster algorithms for extensive-form game solving via improved smoothing functions", Mathematical
    Programming 179 (2020): weights that grow towards the root. Without restarts NashConv of the averages is at most
    max D(· ‖ start) / Σ η, summed over the players.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import MirrorProx
    >>> solution = solve(Nash(load_game("kuhn")), MirrorProx(), tol=1e-9)
    >>> solution.iterations < 400, solution.exploitability <= 1e-9
    (True, True)
    """

    restarts: Annotated[bool, About("whether the method restarts when its error has fallen", option=False)] = True
    iterate: Iterate = "average"

    name: ClassVar[str] = "mirror-prox"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM})
    default_tolerance: ClassVar[float] = 1e-4
    default_iterations: ClassVar[int] = 1_000_000
    keeps_runs: ClassVar[bool] = True
    backend: ClassVar[str] = "treeplex.solvers.regret.mirror_prox"
