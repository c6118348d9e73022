"""Methods of the counterfactual-regret family that traverse the whole game."""

import dataclasses
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from ...models.problems import Feature
from ...seqform.parameters import About
from . import rules
from .declarations import LIMITED, WEIGHTS, Averaging, Iterate, Precision, Updates
from .registry import Method
from .rules import DualRule, LocalBias, Rule

#: Averaging schemes by name: iterate t has weight t to this power.
AVERAGING = {"uniform": 0.0, "linear": 1.0, "quadratic": 2.0, "cubic": 3.0, "quartic": 4.0}
#: The features of the members that average and are proven to converge.
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
        *(Feature.STEPS, Feature.SEARCH, Feature.LOCAL),
    }
)


@dataclass(frozen=True)
class RegretMethod(Method):
    """Counterfactual regret minimisation; its members differ in how regrets accumulate and iterates are averaged.

    Parameters
    ----------
    updates : {"alternating", "simultaneous"}
        Whether player 1 responds to player 0's new strategy or to its old one.
    averaging : str or float
        Weight of iterate t in the average: t to this power, or ``uniform`` (0), ``linear`` (1), ``quadratic`` (2),
        ``cubic`` (3), ``quartic`` (4). The first iterate is the start.
    iterate : {"average", "last", "best"}
        The strategies that are returned and certified. ``best`` is for responses that are decided in steps, such as
        :class:`~treeplex.CDBR`: the reply is a best response to each current strategy, and of these the one that earns
        most is taken (:func:`~treeplex.solvers.depth_limited.regret_steps.best_iterate_bound`).
    precision : {"double", "single", "half", "auto"}
        Precision of the iterations. ``single`` takes two thirds of the memory and, in games that exceed the first
        caches, two thirds of the time; exploitability falls to about 1e-6 of the largest payoff.
        ``half`` stores regrets and averages in 16 bits and computes in 32 bits. It takes half the memory of ``single``;
        exploitability falls to about 1e-4 of the largest payoff. It works only for equilibria of games in public form,
        with averages and alternating updates.
        ``auto`` is ``single`` for tolerances of at least 1e-5 of the largest payoff in games with 2,000 or more
        sequences, unless violations or a penalty need more precision. It is ``half`` if ``single`` does not fit in
        memory and ``half`` is possible. Certificates are always in double precision, and so are all computations under
        constraints that are not linear.
    initial_regrets : float
        The first regrets are random numbers between 0 and this, in payoff units, drawn with the seed of the solve. If
        there are several equilibria, runs may end at different ones.
    """

    updates: Updates = "alternating"
    averaging: Averaging = "uniform"
    iterate: Iterate = "average"
    precision: Precision = dataclasses.field(default="double", kw_only=True)
    initial_regrets: Annotated[
        float,
        About("upper limit of random initial regrets, drawn with the seed of the solve", minimum=0),
    ] = dataclasses.field(default=0.0, kw_only=True)

    serves: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.PLAYERS, Feature.GENERAL_SUM})
    default_tolerance: ClassVar[float] = 1e-4
    default_iterations: ClassVar[int] = 1_000_000
    keeps_runs: ClassVar[bool] = True
    takes_start: ClassVar[bool] = True
    backend: ClassVar[str] = "treeplex.solvers.regret.driver"
    backends: ClassVar[dict[str, str]] = {Feature.STEPS: "treeplex.solvers.depth_limited.regret_steps"}
    #: How regrets accumulate, independently of the averaging.
    accumulation: ClassVar[Rule] = rules.CFR

    def __post_init__(self) -> None:
        super().__post_init__()
        # Each power has one spelling, so that equal methods compare equal.
        names = {power: name for name, power in AVERAGING.items()}
        power = self.averaging_power
        object.__setattr__(self, "averaging", names.get(power, power))

    @property
    def draws(self) -> bool:
        """Whether the first regrets are random."""
        return self.initial_regrets > 0

    @property
    def averaging_power(self) -> float:
        """The power of t in iterate t's weight."""
        assert self.averaging is not None
        return AVERAGING[self.averaging] if isinstance(self.averaging, str) else self.averaging

    @property
    def local_rule(self) -> Rule:
        """The local regret minimiser and the averaging, as numbers for the compiled loop."""
        return replace(self.accumulation, averaging=self.averaging_power)

    @property
    def dual_rule(self) -> DualRule:
        """The update rule for the multipliers of constraints, if there are any."""
        return DualRule()

    @property
    def first_bound(self) -> float | None:
        """The first bound on the multipliers, in payoff units; ``None`` if they are unbounded."""
        return None

    @property
    def bias(self) -> LocalBias | None:
        """The bias of the local rule, if the method supports preferences."""
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
    serves_in_public_form: ClassVar[frozenset[str]] = LIMITED


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
    serves_in_public_form: ClassVar[frozenset[str]] = LIMITED


@dataclass(frozen=True)
class DCFR(RegretMethod):
    """Discounted CFR: iteration t multiplies old regrets by t^α / (t^α + 1); for negative ones, β replaces α.

    Parameters
    ----------
    updates, averaging, iterate, precision
        As for :class:`RegretMethod`; the averaging power is the paper's γ, 2 by default.
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
    serves_in_public_form: ClassVar[frozenset[str]] = LIMITED

    @property
    def local_rule(self) -> Rule:
        """The discounts and the averaging."""
        return replace(super().local_rule, positive=self.alpha, negative=self.beta)


@dataclass(frozen=True)
class PCFRPlus(RegretMethod):
    """Predictive CFR+: CFR+ that expects the last instantaneous regrets to repeat, with the quadratic average.

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
    serves_in_public_form: ClassVar[frozenset[str]] = LIMITED


#: The methods that other methods are built on, by name.
BASES: dict[str, type[RegretMethod]] = {"cfr": CFR, "cfr+": CFRPlus, "dcfr": DCFR, "pcfr+": PCFRPlus}
