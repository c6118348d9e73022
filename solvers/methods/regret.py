"""Methods of the counterfactual-regret family that walk the whole game."""

import dataclasses
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from ...models.problems import Feature
from ...seqform.errors import UnknownMethodError
from ...seqform.parameters import About, check_parameters
from . import rules
from .registry import (
    WEIGHTS,
    Averaging,
    Base,
    Iterate,
    Method,
    Precision,
    PreferenceRule,
    Preferences,
    PreferringMethod,
    Units,
    Updates,
    Vulnerability,
)
from .rules import DualRule, LocalBias, Rule

#: Averaging schemes by name: iterate t has weight t to this power.
AVERAGING = {"uniform": 0.0, "linear": 1.0, "quadratic": 2.0, "cubic": 3.0, "quartic": 4.0}


#: What the members of the family can do that average and are proven to converge.
SADDLES = frozenset(
    {
        *(
            Feature.PROGRAM,
            Feature.PLAYERS,
            Feature.GENERAL_SUM,
            Feature.TILT,
            Feature.FLOOR,
            Feature.REPLIES,
            Feature.FLOAT_REPLIES,
        ),
        *(Feature.STEPS, Feature.SEARCH),
    }
)
#: What regrets of constrained CFR on the base DCFR grow by beside new ones: t to this power.
CCFR_GROWTH = 0.03


@dataclass(frozen=True)
class RegretMethod(Method):
    """Counterfactual regret minimisation; its members differ in how regrets accumulate and iterates are averaged.

    Parameters
    ----------
    updates : {"alternating", "simultaneous"}
        Whether player 1 answers player 0's new strategy or its old one.
    averaging : str or float
        Weight of iterate t in the average: t to this power, or ``uniform`` (0), ``linear`` (1), ``quadratic`` (2),
        ``cubic`` (3), ``quartic`` (4). The first iterate is the start.
    iterate : {"average", "last"}
        Which strategies are returned and certified.
    precision : {"double", "single", "half", "auto"}
        Of the numbers that are iterated on. Single ones take two thirds of the memory and, in games too large for the
        nearest caches, of the time; exploitability falls to some 1e-6 of the largest payoff with them, not further.
        ``half`` keeps regrets and averages in 16 bits, and computes in 32: half of the memory of single ones, for
        equilibria of games in public form that are averaged by turns, and for nothing else. Exploitability falls to
        some 1e-4 of the largest payoff with them.
        ``auto`` is single for tolerances from 1e-5 of the largest payoff on, in games of 2,000 sequences or more, if
        neither violations nor a penalty want more digits; and half where single does not fit the memory and half can
        be had. Certificates are in double precision always, and so is all under constraints that are not linear.
    initial_regrets : float
        The first regrets are random numbers between 0 and this, in payoff units, drawn with the seed of the solve:
        where equilibria differ, runs may end at different ones.
    """

    updates: Updates = "alternating"
    averaging: Averaging = "uniform"
    iterate: Iterate = "average"
    precision: Precision = dataclasses.field(default="double", kw_only=True)
    initial_regrets: Annotated[
        float, About("first regrets are drawn between 0 and this, with the seed of the solve", minimum=0)
    ] = dataclasses.field(default=0.0, kw_only=True)

    serves: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.PLAYERS})
    default_tolerance: ClassVar[float] = 1e-4
    default_iterations: ClassVar[int] = 1_000_000
    keeps_runs: ClassVar[bool] = True
    takes_start: ClassVar[bool] = True
    backend: ClassVar[str] = "treeplex.solvers.regret.driver"
    backend_of_steps: ClassVar[str] = "treeplex.solvers.depth_limited.regret_steps"
    #: How regrets accumulate, whatever the averaging.
    accumulation: ClassVar[Rule] = rules.CFR

    def __post_init__(self) -> None:
        super().__post_init__()
        # One spelling of each power, so that equal methods compare equal.
        names = {power: name for name, power in AVERAGING.items()}
        power = self.averaging_power
        object.__setattr__(self, "averaging", names.get(power, power))

    @property
    def draws(self) -> bool:
        """Whether the first regrets are drawn."""
        return self.initial_regrets > 0

    @property
    def averaging_power(self) -> float:
        """The power of t in iterate t's weight."""
        assert self.averaging is not None
        return AVERAGING[self.averaging] if isinstance(self.averaging, str) else self.averaging

    @property
    def local_rule(self) -> Rule:
        """The local regret minimiser and the averaging, as numbers of the compiled loop."""
        return replace(self.accumulation, averaging=self.averaging_power)

    @property
    def dual_rule(self) -> DualRule:
        """How the multipliers of constraints move, where there are any."""
        return DualRule()

    @property
    def first_bound(self) -> float | None:
        """What multipliers are bounded by at first, payoff units; ``None`` where they are free."""
        return None

    @property
    def bias(self) -> LocalBias | None:
        """What the local rule is biased to, if the method knows preferences."""
        return None


@dataclass(frozen=True)
class CFR(RegretMethod):
    """Counterfactual regret minimisation with regret matching and the uniform average.

    Notes
    -----
    Zinkevich, Johanson, Bowling and Piccione, "Regret minimization in games with incomplete information", NeurIPS 2007,
    equations 7–8.

    Examples
    --------
    >>> from treeplex import CFR, Nash, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")), CFR(averaging="linear"), tol=1e-2)
    >>> solution.status, solution.exploitability <= 1e-2
    (<Status.CONVERGED: 'converged'>, True)
    """

    name: ClassVar[str] = "cfr"
    serves: ClassVar[frozenset[str]] = SADDLES
    serves_in_public_form: ClassVar[frozenset[str]] = frozenset({Feature.CONSTRAINTS})


@dataclass(frozen=True)
class CFRPlus(RegretMethod):
    """CFR+: regrets never fall below zero, and the average is linear.

    Notes
    -----
    Tammelin, "Solving large imperfect information games using CFR+", arXiv:1407.5042 (2014).

    Examples
    --------
    >>> from treeplex import CFRPlus, Nash, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")), CFRPlus(), tol=1e-3)
    >>> solution.method.name, solution.exploitability <= 1e-3
    ('cfr+', True)
    """

    averaging: Averaging = "linear"

    name: ClassVar[str] = "cfr+"
    accumulation: ClassVar[Rule] = rules.CFR_PLUS
    serves: ClassVar[frozenset[str]] = SADDLES
    serves_in_public_form: ClassVar[frozenset[str]] = frozenset({Feature.CONSTRAINTS})


@dataclass(frozen=True)
class DCFR(RegretMethod):
    """Discounted CFR: after iteration t old regrets count t^α / (t^α + 1) if positive, with β if negative.

    Parameters
    ----------
    updates, averaging, iterate, precision
        As :class:`RegretMethod`; the averaging power is the paper's γ, 2 by default.
    alpha, beta : float
        Exponents of the discounts of positive and of negative regrets.

    Notes
    -----
    Brown and Sandholm, "Solving imperfect-information games via discounted regret minimization", AAAI 2019,
    arXiv:1809.04040, section 4; DCFR(3/2, 0, 2).

    Examples
    --------
    >>> from treeplex import DCFR, Nash, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")), DCFR(alpha=2), tol=1e-3)
    >>> solution.exploitability <= 1e-3, round(solution.value, 2)
    (True, -0.06)
    """

    averaging: Annotated[
        Averaging,
        About(WEIGHTS, minimum=0, maximum=64, alias="gamma"),
    ] = "quadratic"
    alpha: Annotated[float, About("exponent α of the discount of positive regrets", option=False)] = 1.5
    beta: Annotated[float, About("exponent β of the discount of negative regrets", option=False)] = 0.0

    name: ClassVar[str] = "dcfr"
    accumulation: ClassVar[Rule] = rules.DCFR
    serves: ClassVar[frozenset[str]] = SADDLES
    serves_in_public_form: ClassVar[frozenset[str]] = frozenset({Feature.CONSTRAINTS})

    @property
    def local_rule(self) -> Rule:
        """The discounts, and the averaging."""
        return replace(super().local_rule, positive=self.alpha, negative=self.beta)


@dataclass(frozen=True)
class PCFRPlus(RegretMethod):
    """Predictive CFR+: CFR+ that plays as if the last instantaneous regrets came once more; quadratic average.

    Notes
    -----
    Farina, Kroer and Sandholm, "Faster game solving via predictive Blackwell approachability", AAAI 2021,
    arXiv:2007.14358, algorithm 3 at every infoset.

    Examples
    --------
    >>> from treeplex import Nash, PCFRPlus, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")), PCFRPlus(), tol=1e-6)
    >>> solution.lower <= -1 / 18 <= solution.upper
    True
    """

    averaging: Averaging = "quadratic"

    name: ClassVar[str] = "pcfr+"
    accumulation: ClassVar[Rule] = rules.PCFR_PLUS
    serves: ClassVar[frozenset[str]] = SADDLES
    serves_in_public_form: ClassVar[frozenset[str]] = frozenset({Feature.CONSTRAINTS})


#: Methods that others are built on, by name.
BASES: dict[str, type[RegretMethod]] = {"cfr": CFR, "cfr+": CFRPlus, "dcfr": DCFR, "pcfr+": PCFRPlus}


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
    """Constrained counterfactual regret minimisation: the multipliers of constraints learn beside the players.

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
        Their size, in units of the game's largest payoff and of a constraint's largest coefficient.
    tangents : {"average", "iterate"}
        Where tangents of constraints that are convex but not linear are taken: at the average plan so far, or at the
        current one, as the paper has it.
    beta : float, optional
        What multipliers may be at first, in payoff units per unit of violation, in a problem without a penalty. It is
        doubled, and averaging begins anew, whenever the average multiplier of a violated constraint is found at 0.9 of
        it or above, after 2,048 iterations under it at half of it; it is looked at 256, 512, 1,024, … iterations after
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
    other functions of cvxpy the loop calls cvxpy, which takes some hundred times as long. Of those that are piecewise
    linear it takes any slope, so that they converge slowly.

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
    steps: Annotated[
        Literal["optimistic", "constant", "decreasing"], About("how steps of the multipliers are taken")
    ] = "optimistic"
    step: Annotated[float, About("step size of the multipliers; tight bounds need large ones", above=0)] = 0.3
    tangents: Annotated[Literal["average", "iterate"], About("where tangents of curved constraints are taken")] = (
        "average"
    )
    beta: Annotated[
        float | None, About("bound on the multipliers at first, doubled as needed", above=0, shown="none")
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
        return DualRule(self.step, power, 1.0 if self.steps == "optimistic" else 0.0, self.tangents)

    @property
    def first_bound(self) -> float | None:
        """What multipliers are bounded by at first, payoff units."""
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
    """Preference-CFR: regret minimisation that is biased towards a style, and may pay for it.

    With R̄ the averaged regrets, an infoset plays its actions in proportion to δ (R̄ − β)⁺, and where no regret is
    above β in proportion to δ − 1. Degrees δ choose among equilibria, where there is a choice; a vulnerability β
    leaves more of it, at a price that is bounded.

    Parameters
    ----------
    prefer : Prefer, PreferStrategy or str, or a collection of them
        Texts are ``[SEAT/[INFOSET:]]ACTION[@first]:DELTA``. Of several that are about an infoset the last one counts.
    vulnerability : float
        β ≥ 0 at the infosets that preferences are about, payoff units.
    units : {"conditional", "counterfactual"}
        What β is held against: the averaged regret given that chance and the others allow the infoset, which they do
        as often as in the latest iterations, or the averaged counterfactual regret itself.
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
