"""The methods by name: frozen hyper-parameters, and the problems that each serves."""

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from ..seqform.errors import UnknownMethodError, UnsupportedProblemError, nearest

if TYPE_CHECKING:
    from ..models.problems import Problem
    from .outcome import Options, Outcome

Updates = Literal["alternating", "simultaneous"]
Iterate = Literal["average", "last"]
Precision = Literal["double", "single", "auto"]

#: Averaging schemes by name: iterate t has weight t to this power.
AVERAGING = {"uniform": 0.0, "linear": 1.0, "quadratic": 2.0, "cubic": 3.0, "quartic": 4.0}


class Method(Protocol):
    """A way to solve some problems.

    Attributes
    ----------
    name : str
        What the command line calls it.
    problems : frozenset of str
        Names of the problems that it serves.
    default_tolerance : float
        Of the certificate, relative to the largest payoff.
    default_iterations : int
    """

    @property
    def name(self) -> str:
        """What the command line calls it."""
        ...

    @property
    def problems(self) -> frozenset[str]:
        """Names of the problems that it serves."""
        ...

    @property
    def default_tolerance(self) -> float:
        """Tolerance on the certificate where none is asked for, relative to the game's largest payoff."""
        ...

    @property
    def default_iterations(self) -> int:
        """Iteration limit where none is given."""
        ...

    def run(self, problem: "Problem", options: "Options") -> "Outcome":
        """Solve a problem that the method serves."""
        ...


# Depth-limited problems, which are solved step by step.
_STEPPED = frozenset({"cdbr", "cdrnr", "cdbr-ne", "ses"})
# The problems with a linear program.
_EXACT = frozenset(
    {
        "nash",
        "constrained",
        "least-violation",
        "best-response",
        "rnr",
        "epsilon-safe",
        "data-biased",
        "best-nash",
        "style",
    }
)


@dataclass(frozen=True)
class HiGHS:
    """The exact linear program, handed to HiGHS directly.

    Parameters
    ----------
    algorithm : {"auto", "simplex", "ipm", "ipm-crossover", "pdlp"}
        ``auto`` is the dual simplex method up to :attr:`large` sequences of both players together, in flow polytopes up
        to :attr:`large_flow`, and the interior point method without crossover above. Interior point with crossover ends
        at a vertex; PDLP is first-order.

    Notes
    -----
    Huangfu and Hall, "Parallelizing the dual revised simplex method", Mathematical Programming Computation 10 (2018).
    """

    algorithm: Literal["auto", "simplex", "ipm", "ipm-crossover", "pdlp"] = "auto"

    problems: ClassVar[frozenset[str]] = _EXACT
    #: Number of sequences of both players above which ``auto`` takes the interior point method.
    large: ClassVar[int] = 6_000
    #: The same in flow polytopes, on which the simplex method is slow.
    large_flow: ClassVar[int] = 1_000
    default_iterations: ClassVar[int] = 2**31 - 1

    def __post_init__(self) -> None:
        _check_choice(self, "algorithm", ("auto", "simplex", "ipm", "ipm-crossover", "pdlp"))

    @property
    def name(self) -> str:
        """What the command line calls it."""
        return "highs" if self.algorithm == "auto" else f"highs-{self.algorithm}"

    @property
    def default_tolerance(self) -> float:
        """1e-9 for algorithms that end at a vertex, else what HiGHS's own tolerances can give."""
        return {"pdlp": 1e-4, "ipm": 1e-8, "auto": 1e-8}.get(self.algorithm, 1e-9)

    def run(self, problem: "Problem", options: "Options") -> "Outcome":
        """Solve the problem's linear program."""
        from .exact.highs import run

        return run(self, problem, options)


@dataclass(frozen=True)
class CVXPY:
    """The exact formulation, through cvxpy.

    Parameters
    ----------
    solver : str, optional
        A solver that cvxpy has installed, by its name there; by default ``HIGHS`` for linear programs, ``CLARABEL`` for
        conic ones.

    Notes
    -----
    Goulart and Chen, "Clarabel: an interior-point solver for conic programs with quadratic objectives", 2024.
    """

    solver: str | None = None

    name: ClassVar[str] = "cvxpy"
    problems: ClassVar[frozenset[str]] = _EXACT
    #: It solves what has no linear program too.
    is_conic: ClassVar[bool] = True
    default_tolerance: ClassVar[float] = 1e-6
    default_iterations: ClassVar[int] = 2**31 - 1

    def run(self, problem: "Problem", options: "Options") -> "Outcome":
        """Solve the problem's cvxpy formulation."""
        from .exact.through_cvxpy import run

        return run(self, problem, options)


@dataclass(frozen=True)
class Rational:
    """The exact linear program in rational arithmetic: values, strategies and multipliers as fractions.

    HiGHS finds a basis in floats; its vertex and multipliers are solved for in rationals, and are optimal exactly or
    not. Where they are not, the program is shifted and scaled to what is wrong, and solved again. Numbers of the game
    are taken from its rules or its tree as they are written there, floats as their shortest decimals. In matrices and
    parameters a float of at most fifteen digits counts as that decimal, a longer one, and probabilities of an
    opponent's strategy, as the simplest fraction that rounds to it.

    Parameters
    ----------
    largest : int
        The most sequences and infosets a player, together, of games that are taken: time grows with the square of their
        number or faster, and so does memory.

    Notes
    -----
    The basis: D. L. Applegate, W. Cook, S. Dash and D. G. Espinoza, "Exact solutions to linear programming problems",
    Operations Research Letters 35, 2007. The refinement: A. M. Gleixner, D. E. Steffy and K. Wolter, "Iterative
    refinement for linear programming", INFORMS Journal on Computing 28, 2016.

    Examples
    --------
    >>> from treeplex import Nash, Rational, load_game, solve
    >>> solve(Nash(load_game("kuhn")), Rational()).value
    Fraction(-1, 18)
    """

    largest: int = 5_000

    name: ClassVar[str] = "rational"
    problems: ClassVar[frozenset[str]] = _EXACT
    #: It solves what has a rational program alone.
    is_exact: ClassVar[bool] = True
    default_tolerance: ClassVar[float] = 1e-9
    default_iterations: ClassVar[int] = 2**31 - 1

    def __post_init__(self) -> None:
        if isinstance(self.largest, bool) or not isinstance(self.largest, int) or self.largest < 1:
            raise UnknownMethodError(f"{self.name} got largest={self.largest!r}, expected a whole number from 1 on")

    def run(self, problem: "Problem", options: "Options") -> "Outcome":
        """Solve the problem's linear program exactly."""
        from .exact.rational import run

        return run(self, problem, options)


@dataclass(frozen=True)
class DepthLimitedLP:
    """The linear program of each step of a depth-limited response, by HiGHS; the value function is exact.

    Parameters
    ----------
    algorithm : {"auto", "simplex", "ipm", "ipm-crossover"}
        ``auto`` is the simplex method up to :attr:`HiGHS.large` sequences of both players together, which goes on from
        step to step, and the interior point method without crossover above.

    Notes
    -----
    Where a step has several optimal plans, it takes the one at which the algorithm ends: a vertex, by the simplex
    method. What later steps gain, and the exploitability, may depend on that; what is proven does not.

    Examples
    --------
    >>> from treeplex import CDBR, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> round(solve(CDBR(game, Strategy.uniform(game, 1), lookahead=1), "lp").objective, 6)
    0.5
    """

    algorithm: Literal["auto", "simplex", "ipm", "ipm-crossover"] = "auto"

    name: ClassVar[str] = "lp"
    problems: ClassVar[frozenset[str]] = _STEPPED
    default_tolerance: ClassVar[float] = 1e-7
    default_iterations: ClassVar[int] = 2**31 - 1

    def __post_init__(self) -> None:
        _check_choice(self, "algorithm", ("auto", "simplex", "ipm", "ipm-crossover"))

    def run(self, problem: "Problem", options: "Options") -> "Outcome":
        """Solve step after step."""
        from .depth_limited.linear_programs import run

        return run(self, problem, options)  # type: ignore[arg-type]


@dataclass(frozen=True)
class RegretMethod:
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
    precision : {"double", "single", "auto"}
        Of the numbers that are iterated on. Single ones take two thirds of the memory and, in games too large for the
        nearest caches, of the time; exploitability falls to some 1e-6 of the largest payoff with them, not further.
        ``auto`` is single for tolerances from 1e-5 of the largest payoff on, in games of 2,000 sequences or more, if
        neither violations nor a penalty want more digits. Certificates are in double precision always, and so is all
        under constraints that are not linear.
    initial_regrets : float
        The first regrets are random numbers between 0 and this, in payoff units, drawn with the seed of the solve:
        where equilibria differ, runs may end at different ones.
    """

    updates: Updates = "alternating"
    averaging: str | float = "uniform"
    iterate: Iterate = "average"
    precision: Precision = dataclasses.field(default="double", kw_only=True)
    initial_regrets: float = dataclasses.field(default=0.0, kw_only=True)

    problems: ClassVar[frozenset[str]] = frozenset({"nash"})
    default_tolerance: ClassVar[float] = 1e-4
    default_iterations: ClassVar[int] = 1_000_000
    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        _check_choice(self, "updates", ("alternating", "simultaneous"))
        _check_choice(self, "iterate", ("average", "last"))
        _check_choice(self, "precision", ("double", "single", "auto"))
        _check_number(self, "initial_regrets", 0.0)
        # One spelling of each power, so that equal methods compare equal.
        names = {power: name for name, power in AVERAGING.items()}
        power = self.averaging_power
        object.__setattr__(self, "averaging", names.get(power, power))

    @property
    def averaging_power(self) -> float:
        """The power of t in iterate t's weight."""
        if isinstance(self.averaging, str) and self.averaging in AVERAGING:
            return AVERAGING[self.averaging]
        try:
            power = float("nan") if isinstance(self.averaging, bool) else float(self.averaging)
        except (TypeError, ValueError):
            power = float("nan")
        if not 0.0 <= power <= 64.0:
            raise UnknownMethodError(
                f"{self.name} got averaging={self.averaging!r}, expected one of {', '.join(AVERAGING)} or a power of t "
                "from 0 to 64"
            )
        return power

    def run(self, problem: "Problem", options: "Options") -> "Outcome":
        """Iterate until the certificate meets the tolerance."""
        if problem.name in _STEPPED:
            from .depth_limited.regret_minimisation import run as run_steps

            return run_steps(self, problem, options)  # type: ignore[arg-type]
        from .regret.driver import run

        return run(self, problem, options)


@dataclass(frozen=True)
class CFR(RegretMethod):
    """Counterfactual regret minimisation with regret matching and the uniform average.

    Notes
    -----
    Zinkevich, Johanson, Bowling and Piccione, "Regret minimization in games with incomplete information", NeurIPS 2007,
    equations 7–8.
    """

    name: ClassVar[str] = "cfr"
    problems: ClassVar[frozenset[str]] = frozenset({"nash"}) | _STEPPED


@dataclass(frozen=True)
class CFRPlus(RegretMethod):
    """CFR+: regrets never fall below zero, and the average is linear.

    Notes
    -----
    Tammelin, "Solving large imperfect information games using CFR+", arXiv:1407.5042 (2014).
    """

    averaging: str | float = "linear"

    name: ClassVar[str] = "cfr+"
    problems: ClassVar[frozenset[str]] = frozenset({"nash"}) | _STEPPED


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
    """

    averaging: str | float = "quadratic"
    alpha: float = 1.5
    beta: float = 0.0

    name: ClassVar[str] = "dcfr"
    problems: ClassVar[frozenset[str]] = frozenset({"nash"}) | _STEPPED

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("alpha", "beta"):
            value = getattr(self, option)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise UnknownMethodError(f"{self.name} got {option}={value!r}, expected a finite number")


@dataclass(frozen=True)
class PCFRPlus(RegretMethod):
    """Predictive CFR+: CFR+ that plays as if the last instantaneous regrets came once more; quadratic average.

    Notes
    -----
    Farina, Kroer and Sandholm, "Faster game solving via predictive Blackwell approachability", AAAI 2021,
    arXiv:2007.14358, algorithm 3 at every infoset.
    """

    averaging: str | float = "quadratic"

    name: ClassVar[str] = "pcfr+"
    problems: ClassVar[frozenset[str]] = frozenset({"nash"}) | _STEPPED


@dataclass(frozen=True)
class CCFR(RegretMethod):
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

    averaging: str | float | None = None  # type: ignore[assignment]
    base: Literal["dcfr", "cfr+", "pcfr+", "cfr"] = "dcfr"
    steps: Literal["optimistic", "constant", "decreasing"] = "optimistic"
    step: float = 0.3
    tangents: Literal["average", "iterate"] = "average"
    beta: float | None = None
    precision: Precision = dataclasses.field(default="auto", kw_only=True)

    name: ClassVar[str] = "ccfr"
    problems: ClassVar[frozenset[str]] = frozenset({"constrained"})
    is_conic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_choice(self, "tangents", ("average", "iterate"))
        _check_choice(self, "base", ("dcfr", "cfr+", "pcfr+", "cfr"))
        _check_choice(self, "steps", ("optimistic", "constant", "decreasing"))
        if isinstance(self.step, bool) or not isinstance(self.step, int | float) or not 0.0 < self.step < math.inf:
            raise UnknownMethodError(f"{self.name} got step={self.step!r}, expected a number above 0")
        beta = self.beta
        if beta is not None and (
            isinstance(beta, bool) or not isinstance(beta, int | float) or not 0.0 < beta < math.inf
        ):
            raise UnknownMethodError(f"{self.name} got beta={beta!r}, expected a number above 0, or None")
        if self.averaging is None:
            object.__setattr__(self, "averaging", _METHODS[self.base]().averaging)
        super().__post_init__()

    @property
    def base_method(self) -> RegretMethod:
        """The method of the players."""
        method: RegretMethod = _METHODS[self.base](updates=self.updates, averaging=self.averaging, iterate=self.iterate)
        return method


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
    >>> from treeplex import CFVFP, Nash, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")), CFVFP(), tol=0.01)
    >>> solution.status
    <Status.CONVERGED: 'converged'>
    """

    name: ClassVar[str] = "cfvfp"

    #: How the loop chooses of regrets.
    rule: ClassVar[str] = "br"


@dataclass(frozen=True)
class PrefCFR(RegretMethod):
    """Preference-CFR: regret minimisation that leans towards a style, and may pay for it.

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

    prefer: Any = ()
    vulnerability: float = 0.0
    units: Literal["conditional", "counterfactual"] = "conditional"
    rule: Literal["rm", "br"] = "rm"
    base: Literal["cfr", "cfr+", "dcfr", "pcfr+"] = "cfr"
    updates: Updates = dataclasses.field(default="simultaneous", kw_only=True)
    averaging: str | float | None = dataclasses.field(default=None, kw_only=True)  # type: ignore[assignment]
    iterate: Iterate = dataclasses.field(default="average", kw_only=True)

    name: ClassVar[str] = "pref-cfr"

    def __post_init__(self) -> None:
        _settle_preferences(self)
        _check_choice(self, "base", ("cfr", "cfr+", "dcfr", "pcfr+"))
        if self.averaging is None:
            object.__setattr__(self, "averaging", _METHODS[self.base]().averaging)
        super().__post_init__()

    @property
    def base_method(self) -> RegretMethod:
        """The method whose regrets these are."""
        method: RegretMethod = _METHODS[self.base](updates=self.updates, averaging=self.averaging, iterate=self.iterate)
        return method


@dataclass(frozen=True)
class MCCFR:
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

    local_rule: Literal["regret-matching", "regret-matching+"] = "regret-matching"
    averaging: Literal["simple", "sampled", "full"] | None = None

    problems: ClassVar[frozenset[str]] = frozenset({"nash"})
    default_tolerance: ClassVar[float] = 1e-3
    default_iterations: ClassVar[int] = 100_000_000
    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        _check_choice(self, "local_rule", ("regret-matching", "regret-matching+"))
        if self.averaging is not None:
            _check_choice(self, "averaging", ("simple", "sampled", "full"))

    def run(self, problem: "Problem", options: "Options") -> "Outcome":
        """Iterate until the certificate meets the tolerance."""
        from .sampling.driver import run

        return run(self, problem, options)


@dataclass(frozen=True)
class ExternalSamplingMCCFR(MCCFR):
    """External sampling: all actions of the player who walks, one of chance and of everybody else at each history.

    Parameters
    ----------
    local_rule, averaging
        As :class:`MCCFR`.

    Notes
    -----
    Lanctot, Waugh, Zinkevich and Bowling, "Monte Carlo sampling for regret minimization in extensive games", NeurIPS
    2009, section 3.2. Games need histories, which are held as arrays.

    Examples
    --------
    >>> from treeplex import ExternalSamplingMCCFR, Nash, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")), ExternalSamplingMCCFR(), tol=0.02, seed=1)
    >>> solution.status, bool(solution.exploitability <= 0.02)
    (<Status.CONVERGED: 'converged'>, True)
    """

    name: ClassVar[str] = "es-mccfr"


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
    >>> from treeplex import Nash, OutcomeSamplingMCCFR, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")), OutcomeSamplingMCCFR(), tol=0.02, seed=1)
    >>> solution.status, bool(solution.exploitability <= 0.02)
    (<Status.CONVERGED: 'converged'>, True)
    """

    exploration: float = 0.6
    baselines: Literal["history", "infoset", "none"] = "history"
    baseline_rate: float = 0.5

    name: ClassVar[str] = "os-mccfr"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_choice(self, "baselines", ("history", "infoset", "none"))
        for option in ("exploration", "baseline_rate"):
            value = getattr(self, option)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= 1.0:
                raise UnknownMethodError(f"{self.name} got {option}={value!r}, expected a number above 0 and at most 1")


@dataclass(frozen=True)
class ESPrefCFR(ExternalSamplingMCCFR):
    """Preference-CFR on external samples: equilibria in a chosen style, by the regrets of sampled walks.

    Parameters
    ----------
    local_rule : {"regret-matching"}
        Regrets that are cut off at zero, as in regret matching+, are no averages, and no vulnerability can be held
        against them.
    averaging
        As :class:`MCCFR`.
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

    Notes
    -----
    Q. Ju, T. Tellier, M. Sun, Z. Fang and Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, equations 13 to 16, on external samples (:class:`ExternalSamplingMCCFR`). The paper's own code divides by
    visits on the walks of the *others*, on which the player follows its own policy: these are in proportion to its own
    reach too, and then β has no unit below a player's first decision. Without preferences and with ``rule="rm"`` this
    is external-sampling MCCFR, bit for bit; with ``rule="br"`` it is fictitious play like sampled CFVFP.

    Examples
    --------
    >>> from treeplex import ESPrefCFR, Nash, load_game, solve
    >>> bold = ESPrefCFR(prefer="0/b@first:5")
    >>> solution = solve(Nash(load_game("kuhn")), bold, tol=0.01, seed=1)
    >>> solution.status, bool(solution.profile[0]["K_"]["b"] > 0.6)
    (<Status.CONVERGED: 'converged'>, True)
    """

    prefer: Any = ()
    vulnerability: float = 0.0
    rule: Literal["rm", "br"] = "rm"
    units: Literal["conditional", "counterfactual"] = "conditional"

    name: ClassVar[str] = "es-pref-cfr"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_choice(self, "local_rule", ("regret-matching",))
        _settle_preferences(self)


_METHODS: dict[str, type[Any]] = {
    "highs": HiGHS,
    "cvxpy": CVXPY,
    "rational": Rational,
    "lp": DepthLimitedLP,
    "cfr": CFR,
    "cfr+": CFRPlus,
    "dcfr": DCFR,
    "pcfr+": PCFRPlus,
    "ccfr": CCFR,
    "cfvfp": CFVFP,
    "pref-cfr": PrefCFR,
    "es-mccfr": ExternalSamplingMCCFR,
    "os-mccfr": OutcomeSamplingMCCFR,
    "es-pref-cfr": ESPrefCFR,
}
_HIGHS_VARIANTS = {f"highs-{name}": name for name in ("simplex", "ipm", "ipm-crossover", "pdlp")}


def method_names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return ("highs", *_HIGHS_VARIANTS, *(name for name in _METHODS if name != "highs"))


def find_method(name: str, **options: Any) -> Method:
    """Return a method by its name.

    Parameters
    ----------
    name : str
    **options
        Hyper-parameters that differ from the method's defaults.

    Returns
    -------
    Method

    Raises
    ------
    UnknownMethodError
        If there is no such method, or it has no such option.

    Examples
    --------
    >>> from treeplex.solvers.methods import find_method
    >>> find_method("cfr+", updates="simultaneous")
    CFRPlus(updates='simultaneous', averaging='linear', iterate='average', precision='double', initial_regrets=0.0)
    """
    if name in _HIGHS_VARIANTS:
        name, options = "highs", {"algorithm": _HIGHS_VARIANTS[name], **options}
    if name not in _METHODS:
        hint = nearest(str(name), method_names())
        raise UnknownMethodError(f"unknown method {name!r}{hint}; expected one of {', '.join(method_names())}")
    fields = [entry.name for entry in dataclasses.fields(_METHODS[name])]
    for option in options:
        if option not in fields:
            raise UnknownMethodError(f"method {name} has no option {option!r}: it has {', '.join(fields)}")
    method: Method = _METHODS[name](**options)
    return method


def check_served(method: Method, problem: "Problem") -> None:
    """Refuse a problem that a method cannot solve, and say which methods can.

    Raises
    ------
    UnsupportedProblemError
    """
    if not _serves(method, problem):
        able = [name for name in method_names() if _serves(find_method(name), problem)]
        reason = ", which is no linear program here" if problem.name in method.problems else ""
        raise UnsupportedProblemError(
            f"method {method.name} cannot solve {problem.name}{reason}: use {', '.join(able)}"
        )


def default_method(problem: "Problem") -> str:
    """Return the name of the method for a problem where none is asked for: ``highs``, or ``cvxpy`` for conic programs.

    A problem may prefer another one.
    """
    linear = getattr(problem, "is_linear", True)
    usual = getattr(problem, "default_method", "highs" if linear else "cvxpy")
    return str(getattr(problem, "preferred_method", usual))


def _serves(method: Method, problem: "Problem") -> bool:
    linear = getattr(problem, "is_linear", True)
    if getattr(method, "is_exact", False) and not hasattr(problem, "rational_program"):
        return False
    return problem.name in method.problems and (linear or getattr(method, "is_conic", False))


def _check_choice(method: Any, option: str, choices: tuple[str, ...]) -> None:
    value = getattr(method, option)
    if value not in choices:
        raise UnknownMethodError(f"{method.name} got {option}={value!r}, expected one of {', '.join(choices)}")


def _check_number(method: Any, option: str, least: float) -> None:
    value = getattr(method, option)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
        raise UnknownMethodError(f"{method.name} got {option}={value!r}, expected a number of at least {least:g}")


def _settle_preferences(method: Any) -> None:
    """Check the options of a method that leans to a style, and keep its preferences as a tuple."""
    from ..models.preferences import UNITS, wishes_of

    _check_choice(method, "units", UNITS)
    _check_choice(method, "rule", ("rm", "br"))
    _check_number(method, "vulnerability", 0.0)
    object.__setattr__(method, "prefer", tuple(wishes_of(method.prefer)))
    if method.vulnerability and not method.prefer:
        raise UnknownMethodError(f"{method.name} got vulnerability={method.vulnerability!r} without anything preferred")
