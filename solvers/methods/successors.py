"""Methods built on CFR, CFR+, DCFR and PCFR+: under constraints, with preferences, and their successors."""

import dataclasses
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from ...models.problems import Feature
from ...seqform.errors import UnknownMethodError
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

#: What regrets of constrained CFR on the base DCFR grow by beside new ones: t to this power.
CCFR_GROWTH = 0.03


class BasedMethod(RegretMethod):
    """A method whose regrets accumulate as those of another, its ``base``, and whose averaging is that of it."""

    base: str

    def __post_init__(self) -> None:
        check_parameters(self, UnknownMethodError)
        if self.averaging is None:
            object.__setattr__(self, "averaging", BASES[self.base].averaging)
        super().__post_init__()

    @property
    def base_method(self) -> RegretMethod:
        """The method whose regrets these are."""
        return BASES[self.base](updates=self.updates, averaging=self.averaging_power, iterate=self.iterate)

    @property
    def local_rule(self) -> Rule:
        """That of the base."""
        return self.base_method.local_rule


@dataclass(frozen=True)
class CCFR(BasedMethod):
    """Constrained counterfactual regret minimisation, which learns multipliers of constraints together with strategies.

    Parameters
    ----------
    updates, iterate, precision
        As :class:`RegretMethod`; the precision is ``auto`` by default.
    averaging : str or float, optional
        Of strategies and of multipliers alike; by default that of the base.
    base : {"dcfr", "cfr+", "pcfr+", "cfr"}
        How the players' regrets accumulate.
    steps : {"optimistic", "constant", "decreasing"}
        Of multipliers, along the violations: ``optimistic`` ones count the change of a violation once more,
        ``decreasing`` ones shrink like 1/√t.
    step : float
        Their size.
    step_unit : {"scaled", "plain"}
        Whether sizes are in units of the game's largest payoff and of a constraint's largest coefficient, or in payoff
        units per squared unit of violation, as the paper has them: λ + step · f(x), whatever the game's payoffs.
    tangents : {"average", "iterate"}
        Where tangents of constraints that are convex but not linear are taken: at the average plan so far, or at the
        current one, as the paper has it.
    beta : float, optional
        What multipliers may be at first, in payoff units per unit of violation, in a problem without a penalty. It is
        doubled, and averaging begins anew, whenever the average multiplier of a violated constraint is found at 0.9 of
        it or above, after 2,048 iterations under it at half of it; the check runs 256, 512, 1,024, … iterations after
        the last doubling. By default multipliers are free.

    Notes
    -----
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), algorithm 1: a player's gradient is that of the payoff minus Σ λ ∇f, at every sequence, and λ
    moves along f(x), not below 0 nor above the penalty, if there is one. The certificate needs no linear program: the
    free player's best response bounds the value from one side, and the best response of the constrained one, which
    pays the average multipliers, from the other. Where constraints cannot be met multipliers grow without end; their
    proportions then prove it. A linear constraint whose bound is the least value of its function is met by leaving out
    the actions that break it.

    On the base ``dcfr`` positive regrets grow by 0.03 / t besides, so that late steps become a little smaller: at steps
    that stay as large, a run of ten thousand iterations now and then swings up and loses what it had.

    A constraint that is not linear counts as its tangent, which is taken anew at each iteration; averages of tangents
    prove the bound. Distances, and norms, squares, maxima and relative entropies of affine functions, are compiled;
    slopes of norms and maxima with kinks are chosen in the dual ball as multipliers are, along their arguments. For
    other functions of cvxpy the loop calls cvxpy, which takes about a hundred times as long. Of those that are
    piecewise linear it takes any slope, so that they converge slowly.

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
    step: Annotated[float, About("step size of the multipliers; tight bounds need large ones", above=0)] = 0.3
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
        """That of the base; regrets of the base ``dcfr`` grow besides."""
        rule = super().local_rule
        return replace(rule, growth=CCFR_GROWTH) if self.base == "dcfr" else rule

    @property
    def dual_rule(self) -> DualRule:
        """How multipliers move."""
        power = 0.5 if self.steps == "decreasing" else 0.0
        optimism = 1.0 if self.steps == "optimistic" else 0.0
        return DualRule(self.step, power, optimism, self.tangents, self.step_unit == "plain")

    @property
    def first_bound(self) -> float | None:
        """The first bound on multipliers, in payoff units."""
        return None if self.beta is None else float(self.beta)


@dataclass(frozen=True)
class CFVFP(RegretMethod):
    """Counterfactual-value fictitious play: all is played on the action with the largest regret.

    Where no regret is above zero actions are played alike, as in the first iteration. Plans are pure, so that much of
    a game is not visited in an iteration. Averages come to equilibrium in all that has been tried, as those of
    fictitious play do, but no rate is proven: against an adversary regret may grow in proportion to time.

    Parameters
    ----------
    updates, averaging, iterate, precision, initial_regrets
        As :class:`RegretMethod`.

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
        """No preference, but the best action alone."""
        return LocalBias(greedy=True)


@dataclass(frozen=True)
class PrefCFR(PreferringMethod, BasedMethod):
    """Preference-CFR: regret minimisation that prefers a style, possibly at a bounded loss.

    With R̄ the averaged regrets, an infoset plays its actions in proportion to δ (R̄ − β)⁺, and where no regret is
    above β in proportion to δ − 1. Degrees δ choose among equilibria, where there is a choice; a vulnerability β
    leaves more of it, at a price that is bounded.

    Parameters
    ----------
    prefer : Prefer, PreferStrategy or str, or a collection of them
        Texts are ``[SEAT/[INFOSET:]]ACTION[@first]:DELTA``. If several apply to an infoset, the last one counts.
    vulnerability : float
        β ≥ 0 at the infosets that preferences are about, payoff units.
    units : {"conditional", "counterfactual"}
        The regret that β is compared with: the averaged regret given that chance and the others allow the infoset,
        which they do as often as in the latest iterations, or the averaged counterfactual regret itself.
    rule : {"rm", "br"}
        In proportion, as above, or all on the first action of the largest δ (R̄ − β)⁺.
    base : {"cfr", "cfr+", "dcfr", "pcfr+"}
        How regrets accumulate; R̄ is theirs, in units of iterations.
    updates, iterate, precision, initial_regrets
        As :class:`RegretMethod`; both players at once by default.
    averaging : str or float, optional
        By default that of the base.

    Notes
    -----
    Q. Ju, T. Tellier, M. Sun, Z. Fang and Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, equations 13 to 16; (16) with δ, as the text wants it. What is proven and what is not:
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


#: What they serve: all that an average can, but for decisions in steps, whose clocks begin anew.
SERVES = SADDLES - {Feature.STEPS, Feature.SEARCH, Feature.LOCAL}
FIRST_WEIGHTS = "initial exponent of t in the weights of the average; 5 less at the horizon"
Horizon = Annotated[int, About("iterations until exponents are constant", minimum=1, option=False)]


@dataclass(frozen=True)
class ScheduledMethod(RegretMethod):
    """A method whose exponents move in proportion to the iterations, up to a horizon."""

    averaging: Annotated[float, About(FIRST_WEIGHTS, minimum=5, maximum=64, alias="gamma")] = 30.0
    horizon: Horizon = 1000

    @property
    def local_rule(self) -> Rule:
        """The exponents, how they move, and until when."""
        return replace(super().local_rule, horizon=float(self.horizon))


@dataclass(frozen=True)
class HSDCFR(ScheduledMethod):
    """HS-DCFR: discounted CFR whose exponents follow a schedule, α from 1 to 4, β from −1 to −3, γ from 30 to 25.

    After t iterations they are α = 1 + 3 t / n, β = −1 − 2 t / n and γ = 30 − 5 t / n: the first plans are forgotten
    at once, late ones weigh nearly alike.

    Parameters
    ----------
    updates, iterate, precision, initial_regrets
        As :class:`RegretMethod`.
    averaging : float
        γ at first; the paper's other choice is 15.
    horizon : int
        n, in the paper the number of iterations that are done; after it the exponents stay.

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
        As :class:`RegretMethod`.
    averaging : float
        γ at first; the paper's other choice is 15.
    horizon : int
        n, in the paper the number of iterations that are done; after it the exponent stays.

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
    """Predictive discounted CFR+: regrets are discounted as in DCFR, and so they are in the forecast.

    R = (d R + r)⁺ with d = (t − 1)^α / ((t − 1)^α + 1) in iteration t; what is played next is in proportion to
    (d' R + r)⁺ with d' = t^α / (t^α + 1).

    Parameters
    ----------
    updates, averaging, iterate, precision, initial_regrets
        As :class:`RegretMethod`; the averaging power is the paper's γ, 5 by default.
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
        """The discount, and the averaging."""
        return replace(super().local_rule, positive=self.alpha)


@dataclass(frozen=True)
class SAPCFRPlus(RegretMethod):
    """Simple asymmetric predictive CFR+: the forecast of predictive CFR+ counts a third.

    A step along a forecast that is wrong costs less, one along a forecast that is right gains less.

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
    """Predictive CFR+, or CFR+, begun anew from its averages whenever these have become much better.

    Where the exploitability of the averages, or of the last iterates if theirs is less, has fallen to a fifth since the
    last restart, the better ones become the first plans of a new run. Regrets become proportional to the new behaviour
    and keep their Euclidean norm at each infoset, by which updates are as small as they were. So they do where it has
    fallen to four fifths and rises again, and after a time that is three fifths of all iterations.

    Parameters
    ----------
    base : {"pcfr+", "cfr+"}
        How regrets accumulate between restarts.
    updates, iterate, precision, initial_regrets
        As :class:`RegretMethod`.
    averaging : str or float, optional
        Weights since the last restart; by default that of the base.

    Notes
    -----
    When to begin anew is due to D. Applegate, O. Hinder, H. Lu and M. Lubin, "Faster first-order primal-dual methods
    for linear programming using restarts and sharpness", Mathematical Programming 201 (2023), arXiv:2105.12715.
    Y. Cai, G. Farina, J. Grand-Clément, C. Kroer, C.-W. Lee, H. Luo and W. Zheng, "Last-iterate convergence properties
    of regret-matching algorithms in games", ICLR 2025, arXiv:2311.00676, prove that smoothed variants of predictive
    regret matching+ converge linearly on matrix games if they are begun anew. No theorem covers this method; in most
    games that were measured its error fell linearly.

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

    Regrets of an infoset are kept in Z = {z ≥ 0, Σ z ≥ 1}, away from zero, where their direction would turn at a touch.
    With r(z) the instantaneous regrets of the behaviour in proportion to z, both players move at once, z = Π(w + η r')
    and then w = Π(w + η r(z)), Π the projection onto Z; r' is the last r(z) if steps are predictive, and r(w) if they
    are extragradient, which takes two gradients. The method plays and returns z.

    Parameters
    ----------
    gradients : {"predictive", "extragradient"}
    step : float
        η times L = √6 ‖A‖₂ √d, with A the payoff matrix over sequences and d the most actions of an infoset.
    restarts : bool
        Whether regrets begin anew in proportion to behaviour, with Σ z = 1, when what they move by,
        ‖w' − z‖ + ‖w − z‖, has fallen to 8, and then to half of that each time.
    iterate : {"last", "average"}
        Which strategies are returned and certified; averages are uniform.

    Notes
    -----
    G. Farina, J. Grand-Clément, C. Kroer, C.-W. Lee and H. Luo, "Regret matching+: (in)stability and fast convergence
    in games", NeurIPS 2023, arXiv:2305.14709; Y. Cai, G. Farina, J. Grand-Clément, C. Kroer, C.-W. Lee, H. Luo and
    W. Zheng, "Last-iterate convergence properties of regret-matching algorithms in games", ICLR 2025,
    arXiv:2311.00676, algorithms 3 to 6. Their theorems are about matrix games, where last iterates converge, linearly
    with restarts, for a step below 1 with extragradients and below 1/8 with predictions. In trees it is an experiment.

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
        About("regrets that the first half of a step uses", option=False),
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
    """Mirror prox with a dilated Euclidean distance: an extragradient method on plans, whose error is proven to fall.

    With D(x ‖ c) = Σ β(I) x(σ(I)) ‖b_x(I) − b_c(I)‖² / 2 over infosets, β(I) being 1 and the most that is counted below
    one of its actions, each iteration maximises η g(c) · z − D(z ‖ c) over plans z of each player, and then
    η g(z) · w − D(w ‖ c), from the bottom up by projections onto simplices; w is the next c. Steps η are the longest
    that are found for which η (g(z) − g(c)) · (w − z) ≤ D(z ‖ c) + D(w ‖ z).

    Parameters
    ----------
    restarts : bool
        Whether it begins anew at the averages, or at the last iterates if these are better, as
        :class:`RestartedCFR` does.
    iterate : {"average", "last"}
        Which strategies are returned and certified; averages weigh by η, since the last restart.

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

    restarts: Annotated[bool, About("whether it restarts when errors have fallen", option=False)] = True
    iterate: Iterate = "average"

    name: ClassVar[str] = "mirror-prox"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM})
    default_tolerance: ClassVar[float] = 1e-4
    default_iterations: ClassVar[int] = 1_000_000
    keeps_runs: ClassVar[bool] = True
    backend: ClassVar[str] = "treeplex.solvers.regret.mirror_prox"
