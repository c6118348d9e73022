"""Plans of patrols against uncertain payoffs: the worst case, the tail of scenarios (CVaR), and minimax regret."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..models.games.patrol import PatrolGame
from ..models.games.patrol.cases import measure_of, regret_cases, scenarios_of, worst_cases
from ..models.games.patrol.game import patrol_of
from ..models.games.patrol.robust_game import RobustGame
from ..seqform.errors import InvalidStrategyError, UnsupportedProblemError
from ..seqform.interchange.page import Content, Page, heading
from ..seqform.limits import now
from ..seqform.polytope import best_response_plan
from ..seqform.sheet import Column, Table, payoff, share
from ..seqform.strategy import Profile, Strategy, check_same_game, check_strategy
from .patrols import Tabled, WhatIf, solve_patrol, worth_of
from .solution import Solution


@dataclass(frozen=True)
class CaseOutcome:
    """The attackers' earnings in a case, given the units' plan.

    Attributes
    ----------
    case : str
        The scenario; for regret, with the uncertain values and probabilities.
    probability : float
        The probability of the scenario; only CVaR uses it.
    weight : float or None
        The weight of the case in the attackers' worst choice; ``None`` without such a choice.
    earns : float
        The most that attackers earn, with the worst values and probabilities within their intervals.
    best : float or None
        For regret, a proven lower bound on what they earn against the best plan for this case alone.
    regret : float or None
        The difference between `earns` and `best`.
    """

    case: str
    probability: float
    weight: float | None
    earns: float
    best: float | None = None
    regret: float | None = None

    @property
    def loss(self) -> float:
        """The regret if it is known, otherwise what attackers earn."""
        return self.earns if self.regret is None else self.regret


@dataclass(frozen=True, eq=False)
class RobustPlan(Tabled):
    """A plan for a patrol with uncertain payoffs.

    Attributes
    ----------
    game : PatrolGame
    robust : str
        The measure: ``worst``, ``cvar:LEVEL`` or ``regret``.
    solution : Solution
        The solution of the game in which attackers also choose the case. Its value and bounds are those of the measure,
        and its multipliers the prices of limits.
    outcomes : tuple of CaseOutcome
        One for each case; none if the limits cannot be met.
    """

    game: PatrolGame
    robust: str
    solution: Solution
    outcomes: tuple[CaseOutcome, ...]

    @property
    def value(self) -> float:
        """The measure of the plan that was found."""
        return float(self.solution.value)

    @property
    def worst(self) -> CaseOutcome:
        """The case in which attackers earn most, or in which regret is largest.

        Raises
        ------
        UnsupportedProblemError
            If the limits cannot be met.
        """
        if not self.outcomes:
            raise UnsupportedProblemError("the limits of the patrol cannot be met, so there is no worst case")
        return max(self.outcomes, key=lambda one: one.loss)

    @property
    def plan(self) -> Strategy:
        """The units' strategy, in the game of the declaration."""
        robust = self.solution.problem.game
        assert isinstance(robust, RobustGame)
        return robust.plan_of(self.solution.profile[1])

    @property
    def profile(self) -> Profile:
        """The units' strategy, and a best reply of attackers to it if the declared values are right."""
        form, plan = self.game.sequence_form, self.plan
        gradient = form.payoffs.gradient(0, [form.treeplexes[0].uniform_plan(), plan.plan])
        reply = best_response_plan(form.treeplexes[0], gradient).plan
        return Profile([Strategy(self.game, 0, form.treeplexes[0].behaviour(reply)), plan])

    @property
    def table(self) -> Table:
        """The attackers' earnings in each case, the worst first."""
        columns = [Column("case", heading=_heading(self.robust)), Column("earns", payoff, "attackers earn")]
        if self.robust == "regret":
            columns += [Column("best", payoff, "best plan for it"), Column("regret", payoff)]
        if self.robust.startswith("cvar"):
            columns.append(Column("probability", share))
        columns.append(Column("weight", share, "weight"))
        rows = [vars(one) for one in sorted(self.outcomes, key=lambda one: -one.loss)]
        return Table.of(rows, columns, _TITLES[self.robust.partition(":")[0]])

    def what_if(self, changes: Iterable[str], **how: Any) -> WhatIf:
        """Minimise the measure again, with one change of the patrol at a time; see :func:`~treeplex.solvers.what_if`.

        Raises
        ------
        UnsupportedProblemError
            If the limits cannot be met, or the measure is ``regret``: a change also changes the best plans with which
            regret compares.
        InvalidGameError
            As for :func:`~treeplex.solvers.what_if`.
        """
        if self.robust == "regret":
            raise UnsupportedProblemError(
                "what if: a change also changes the best plans with which regret compares, expected worst or cvar:LEVEL"
            )
        return worth_of(
            patrol_of(self.game), self.solution, changes, lambda game: robust_game(game, self.robust, **how), **how
        )

    def report(self, again: str = "", more: Sequence[Content] = ()) -> Page:
        """Return a page with the map, the cases, prices, routes and the certificate.

        Parameters
        ----------
        again : str
            How to obtain the plan again.
        more : sequence of content
            Blocks that follow the cases.
        """
        from .reports import solution_page

        return solution_page(self.solution, again, more=[heading("The cases"), *self.blocks, *more])

    def to_dict(self) -> dict[str, Any]:
        """Return the measure and the outcomes as JSON."""
        worst = self.worst.case if self.outcomes else None
        return {"robust": self.robust, "worst_case": worst, "cases": [vars(one) for one in self.outcomes]}


_TITLES = {
    "worst": "what attackers earn in each scenario, at the worst values within the intervals",
    "cvar": "what attackers earn in each scenario, and its weight in the mean of the worst scenarios",
    "regret": "how much more attackers earn than against the best plan for each case",
}


def _heading(robust: str) -> str:
    return "case" if robust == "regret" else "scenario"


def solve_robust(game: PatrolGame, robust: str | None = None, method: Any = None, **how: Any) -> RobustPlan:
    r"""Plan for a patrol whose goal values or attackers are uncertain.

    Parameters
    ----------
    game : PatrolGame
        With ``uncertainty`` or ``scenarios`` in its declaration.
    robust : str, optional
        By default the measure of the declaration, or ``worst``. ``worst`` minimises what attackers earn in the worst
        scenario, with the worst values in their intervals. ``cvar:LEVEL`` minimises the mean of the worst scenarios,
        whose total probability is 1 − LEVEL. ``regret`` minimises the largest difference from what they earn against
        the best plan for each case.
    method : str or Method, optional
        As for :func:`~treeplex.solvers.solve_patrol`.
    **how
        Options of :func:`~treeplex.solve`.

    Returns
    -------
    RobustPlan

    Raises
    ------
    InvalidGameError
        If there is no such measure.
    UnsupportedProblemError
        If the game is not a patrol, or `robust` is ``regret`` and there are too many cases.

    Notes
    -----
    Let V_k(y) be what attackers earn in the case k against the plan y. All three measures are maxima over weights q of
    cases, so each is the value of one game, in which attackers choose q too:

    .. math:: \min_y \max_{q \in Q} \sum_k q_k (V_k(y) - c_k),

    where c is zero except for regret, and Q contains all weights for the worst case and for regret, and those with
    :math:`q_k \le p_k / (1 - \alpha)` for CVaR (Rockafellar and Uryasev 2000). For regret, c_k is the proven lower
    bound on :math:`\min_y V_k(y)`, so the upper bound on regret is proven. The lower bound is reduced by the largest
    gap between the bounds on :math:`\min_y V_k(y)`, so it is proven too.

    References
    ----------
    R. T. Rockafellar, S. Uryasev (2000), "Optimization of conditional value-at-risk", Journal of Risk 2.

    C. Kiekintveld, T. Islam, V. Kreinovich (2013), "Security games with interval uncertainty", AAMAS.

    T. H. Nguyen, A. Yadav, B. An, M. Tambe, C. Boutilier (2014), "Regret-based optimization and preference elicitation
    for Stackelberg security games with uncertainty", AAAI.

    Examples
    --------
    The bank is worth 1 to 3:

    >>> import networkx as nx
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Uncertainty, Unit
    >>> from treeplex.solvers import solve_robust
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> gang = Attacker(["gate"], {"bank": 2.0, "inn": 1.0})
    >>> doubt = Uncertainty(goals={"bank": (1.0, 3.0)})
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[gang], uncertainty=doubt)
    >>> round(solve_robust(game, "worst").value, 4)
    1.3333
    >>> print(solve_robust(game, "regret"))
    case    attackers earn  best plan for it        regret  weight
    bank 1    0.5984848485      0.2500000000  0.3484848485  0.5455
    bank 3    1.6818181818      1.3333333333  0.3484848485  0.4545
    """
    if robust is None:
        declared = patrol_of(game).uncertainty
        robust = "worst" if declared is None else declared.robust or "worst"
    started, total = now(), how.get("time_limit")
    quiet = {name: each for name, each in how.items() if name != "progress"}
    posed, stopped = _posed(game, robust, method, **quiet)
    if isinstance(posed, Solution):
        return RobustPlan(game, robust, posed, ())
    if total is not None:
        how["time_limit"] = max(0.0, total - (now() - started))
    solution = solve_patrol(posed, method, **how)
    slack = max(case.slack for case in posed.patrol.cases)
    if slack > 0.0 and solution.lower is not None:
        certificate = replace(solution.certificate, lower=solution.lower - slack)
        solution = replace(solution, certificate=certificate)
    if stopped is not None and solution.status.is_success:
        message = f"the best plan for a case was not found in time: {stopped.message}"
        solution = replace(solution, status=stopped.status, message=message)
    found = () if solution.infeasibility is not None else _outcomes(posed, solution.profile[1], solution.profile[0])
    return RobustPlan(game, robust, solution, found)


def case_outcomes(
    game: PatrolGame, plan: Strategy | Profile, robust: str = "worst", **how: Any
) -> tuple[CaseOutcome, ...]:
    """Return what attackers earn in each case against any plan of the units.

    Parameters
    ----------
    game : PatrolGame
    plan : Strategy or Profile
        The units' strategy, such as that of :func:`~treeplex.solvers.solve_patrol`.
    robust : str
        ``worst`` or ``regret``.
    **how
        Options of :func:`~treeplex.solve`, to find the best plan for each case.

    Raises
    ------
    InvalidStrategyError
        If the strategy belongs to another game or to the attackers.
    InvalidGameError
        If there is no such measure.

    Examples
    --------
    A plan for the declared values, if the bank is worth more:

    >>> import networkx as nx
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Scenario, Unit
    >>> from treeplex.solvers import case_outcomes, solve_patrol
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> gang = Attacker(["gate"], {"bank": 2.0})
    >>> market = Scenario("market day", goals={"bank": 4.0})
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[gang], scenarios=[market])
    >>> [(one.case, round(one.earns, 4)) for one in case_outcomes(game, solve_patrol(game).profile)]
    [('market day', 2.7)]
    """
    patrol_of(game)
    strategy = plan[1] if isinstance(plan, Profile) else check_strategy(plan, "plan")
    if strategy.player != 1:
        raise InvalidStrategyError("plan is a strategy of the attackers, expected a strategy of the units")
    check_same_game(strategy, game)
    posed = robust_game(game, robust, **how)
    if isinstance(posed, Solution):
        raise UnsupportedProblemError("the limits of the patrol cannot be met, so no plan is best for a case")
    return _outcomes(posed, strategy)


def robust_game(game: PatrolGame, robust: str, method: Any = None, **how: Any) -> RobustGame | Solution:
    """Return the game whose value is the measure, or the solution of a case whose limits cannot be met.

    Raises
    ------
    InvalidGameError, UnsupportedProblemError
        As for :func:`solve_robust`.
    """
    return _posed(game, robust, method, **how)[0]


def _posed(
    game: PatrolGame, robust: str, method: Any = None, **how: Any
) -> tuple[RobustGame | Solution, Solution | None]:
    """Return what :func:`robust_game` returns, and the solution of a case that was stopped, if any."""
    patrol = patrol_of(game)
    if measure_of(robust)[0] != "regret":
        return RobustGame(game, *worst_cases(patrol), robust), None
    groups, cases = regret_cases(patrol)
    shifted, total, started = [], how.pop("time_limit", None), now()
    stopped = None
    for number, case in enumerate(cases):
        if total is not None:  # the best plans for the cases share half of the time equally
            how["time_limit"] = max(0.0, total / 2 - (now() - started)) / (len(cases) - number)
        alone = solve_patrol(RobustGame(game, groups, (case,)), method, **how)
        if alone.infeasibility is not None:
            return alone, None
        stopped = stopped if alone.status.is_success else alone
        if alone.lower is None or alone.upper is None:
            raise UnsupportedProblemError(f"regret: no bound is known for the case {case.name}; expected more time")
        slack = max(0.0, float(alone.upper) - float(alone.lower))
        shifted.append(replace(case, shift=float(alone.lower), slack=slack))
    return RobustGame(game, groups, tuple(shifted), robust), stopped


def _outcomes(game: RobustGame, plan: Strategy, attackers: Strategy | None = None) -> tuple[CaseOutcome, ...]:
    form, patrol = game.sequence_form, game.patrol
    gradient = form.payoffs.gradient(0, [form.treeplexes[0].uniform_plan(), plan.plan])
    weights = [None] * len(patrol.cases) if attackers is None else game.weights(attackers.plan)
    scenarios = scenarios_of(game.declared.patrol)
    found = []
    for case, weight, loss in zip(patrol.cases, weights, patrol.earnings(gradient), strict=True):
        chance = float(scenarios[case.scenario].probability or 0.0)
        best = () if case.shift is None else (case.shift, loss)
        found.append(CaseOutcome(case.name, chance, weight, loss + (case.shift or 0.0), *best))
    return tuple(found)
