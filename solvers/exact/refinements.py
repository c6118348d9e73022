"""Refined equilibria in fractions: by programs with a symbolic perturbation, or by Dresher's procedure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from ...models.problems import BestNash
from ...models.problems.refined import RefinedNash, best_values, inflows, lower_bounds, perturbed_regret
from ...models.programs.rational_program import RationalProgram
from ...models.saddle import PlayerView, Saddle, rational_program
from ...seqform.errors import SolverError, TimeLimitError
from ...seqform.limits import counted_now, seconds_left
from ...seqform.polytope import Treeplex
from ...seqform.rationals import Fractions, exact_plan
from ...seqform.strategy import Profile, Strategy
from ..answer_parts import ExactAnswer
from ..outcome import Options, Outcome, Status
from ..solution import RunState
from .dresher import proper_plan
from .rational_simplex import Ending, ExactSimplex, slack_basis
from .rational_solve import optimal_basis, optimum, read_point
from .rational_vertex import Point
from .series import PerturbedProgram

#: The values of ε at which a basis is found in floats and fractions before it is proven for all small enough ε.
_SMALL = (Fraction(1, 100), Fraction(1, 10_000))
_BUG = "this is a bug in treeplex"

Refinable = RefinedNash | BestNash
Plans = tuple[Fractions, ...]


@dataclass(frozen=True, eq=False)
class Refined(RunState):
    """How a refined equilibrium was found, as ``solution.state``.

    Attributes
    ----------
    refine : str
    plans : tuple of list of ndarray of Fraction, or None
        For ``undominated`` and ``quasi-perfect``, by player: the coefficients of 1, ε, ε², … of a realization plan with
        full support. The two plans are an equilibrium of the perturbed game for all small enough ε > 0, and tend to the
        answer.
    gains : tuple of list of Fraction, or None
        For ``proper``, by player: what the strategy gains from ever costlier mistakes of the opponent, in payoff units.
    steps : int
        The number of linear programs or of exact simplex steps.
    """

    refine: str
    plans: tuple[list[Fractions], ...] | None = None
    gains: tuple[list[Fraction], ...] | None = None
    steps: int = 0

    @property
    def remark(self) -> str:
        """The proof in words."""
        if self.refine == "proper":
            return f"normal-form proper by Dresher's procedure in {self.steps} linear programs"
        return f"{self.refine}: both plans are best responses in the perturbed game for all small enough ε > 0"


def run_refined(problem: Refinable, options: Options) -> Outcome:
    """Find a refined equilibrium in fractions; see :class:`~treeplex.models.problems.refined.RefinedNash`."""
    begun = counted_now()
    deadline = begun + seconds_left(options.time_limit)
    found, stopped, detail = None, Status.OPTIMAL, ""
    try:
        plans, behaviour, state = (proper if problem.refine == "proper" else perturbed)(problem, deadline)
        profile = Profile(
            [Strategy(problem.game, player, one.astype(np.float64)) for player, one in enumerate(behaviour)]
        )
        found = _certified(problem, plans, behaviour, deadline)
    except KeyboardInterrupt:
        stopped, detail = Status.INTERRUPTED, "stopped before the refinement was proven"
    except TimeLimitError:
        stopped, detail = Status.TIME_LIMIT, "the time limit was reached before the refinement was proven"
    if found is None:
        return Outcome(None, stopped, detail, iterations=0, seconds=counted_now() - begun, build_seconds=0.0)
    return Outcome(
        plans=[],
        stopped=stopped,
        detail=detail,
        iterations=state.steps,
        seconds=counted_now() - begun,
        build_seconds=0.0,
        state=state,
        exact=found,
        proof=(profile, replace(problem.certify(profile), exploitability=float(found.exploitability))),
    )


def _certified(problem: Refinable, plans: Plans, behaviour: Plans, deadline: float) -> ExactAnswer:
    """Return an answer with its certificate, in fractions."""
    if problem.model is None:
        certificate = problem.certify_exact(plans, {}, {})
        if certificate.gap:
            raise SolverError(f"the refined plans are not an equilibrium of {problem.game.spec}; {_BUG}")
        return ExactAnswer(plans, {}, certificate, behaviour)
    # The best response among all equilibrium strategies proves the upper bound.
    program = rational_program(problem.exact_canonical)
    point = optimum(program, None, deadline - counted_now())
    if not isinstance(point, Point):
        raise TimeLimitError("the time limit was reached before the upper bound was proven")
    best = read_point(problem, program, point)
    mixed = [plans[player] if player == problem.player else best.plans[player] for player in (0, 1)]
    certificate = problem.certify_exact(mixed, best.multipliers, best.dual_certificate)
    return ExactAnswer(plans, best.multipliers, certificate, behaviour)


Answer = tuple[Plans, Plans, Refined]


def perturbed(problem: Refinable, deadline: float) -> Answer:
    """Return an equilibrium of the perturbed game for all small enough ε: plans, behaviour and the proof."""
    game, refine = problem.game, problem.refine or ""
    view = PlayerView(game, problem.player or 0, exact=True)
    own, other = (lower_bounds(game, refine, player) for player in (view.player, 1 - view.player))
    base = rational_program(Saddle(view, weight=Fraction(1)))
    plan, values = base.columns["plan"], base.columns["values"]
    costs, lower = [], []
    for mine, theirs in zip(own, other, strict=True):
        costs.append(_filled(base, (plan, view.own_gradient(theirs)), (values, -inflows(view.other, theirs))))
        lower.append(_filled(base, (plan, mine)))
    if problem.model is not None:
        costs.append(_filled(base, (plan, view.own_gradient(view.plan_of(problem.model)))))
        lower.append(_filled(base))
    basis = None
    for small in _SMALL:
        _, basis = optimal_basis(_at(base, costs, lower, small), basis, deadline - counted_now())
    program = PerturbedProgram(base, costs, lower)
    simplex = ExactSimplex(program, basis or slack_basis(program))
    if simplex.run(lambda: counted_now() > deadline) is not Ending.OPTIMAL:
        raise TimeLimitError("the time limit was reached before a basis was proven")
    columns, multipliers = program.series(simplex.basis)
    zero = np.full(view.other.num_sequences, Fraction(0), dtype=object)
    # Without the power of the model, if there is one: the plans are optimal without it too.
    first = [one[plan] for one in columns[: 1 + len(own)]]
    second = [bound - one[base.rows["response"]] for bound, one in zip([zero, *other], multipliers, strict=False)]
    plans = (first, second) if view.player == 0 else (second, first)
    if any(any(perturbed_regret(game, refine, player, plans)) for player in (0, 1)):
        raise SolverError(f"the plans are not an equilibrium of the perturbed {game.spec}; {_BUG}")
    if refine == "undominated":
        behaviour = tuple(_completed(problem, player, plans[player][0], plans[1 - player]) for player in (0, 1))
    else:
        behaviour = tuple(_limits(one, plan) for one, plan in zip(view.form.treeplexes, plans, strict=True))
    return (plans[0][0], plans[1][0]), behaviour, Refined(refine, plans, steps=simplex.iterations)


def _filled(program: RationalProgram, *blocks: tuple[slice, Fractions]) -> Fractions:
    """Return numbers of a program's columns, zero outside the given blocks."""
    numbers = np.full(program.shape[1], Fraction(0), dtype=object)
    for block, entries in blocks:
        numbers[block] = entries
    return numbers


def _at(base: RationalProgram, costs: Sequence[Fractions], lower: Sequence[Fractions], small: Fraction) -> Any:
    """Return a perturbed program for a number ε."""
    objective, bounds = base.objective, base.column_lower.copy()
    for power, (cost, bound) in enumerate(zip(costs, lower, strict=True), start=1):
        objective = objective + cost * small**power
        raised = np.flatnonzero(bound)
        bounds[raised] = bounds[raised] + bound[raised] * small**power
    return replace(base, objective=objective, column_lower=bounds)


def _limits(treeplex: Treeplex, plan: Sequence[Fractions]) -> Fractions:
    """Return the limit of the behaviour of a plan of full support as ε tends to 0."""
    behaviour = np.full(treeplex.num_sequences, Fraction(1), dtype=object)
    for parent, (first, stop) in zip(treeplex.parents.tolist(), pairwise(treeplex.offsets.tolist()), strict=True):
        leading = next(one for one in plan if one[parent])
        behaviour[first:stop] = leading[first:stop] / leading[parent]
    return behaviour


def _completed(problem: Refinable, player: int, plan: Fractions, opponent: Sequence[Fractions]) -> Fractions:
    """Return the behaviour of a plan, and a best response to the opponent at the infosets that the plan excludes.

    Parameters
    ----------
    problem : RefinedNash or BestNash
    player : int
    plan : ndarray of Fraction, shape (num_sequences,)
    opponent : sequence of ndarray of Fraction
        The coefficients of 1, ε, … of a plan with full support.
    """
    view = PlayerView(problem.game, player, exact=True)
    values = list(zip(*(view.own_gradient(one) for one in opponent), strict=True))
    best_values(view.own, values)
    behaviour = np.full(len(plan), Fraction(1), dtype=object)
    for parent, (first, stop) in zip(view.own.parents.tolist(), pairwise(view.own.offsets.tolist()), strict=True):
        if plan[parent]:
            behaviour[first:stop] = plan[first:stop] / plan[parent]
        else:
            behaviour[first:stop] = Fraction(0)
            behaviour[max(range(first, stop), key=values.__getitem__)] = Fraction(1)
    return behaviour


def proper(problem: Refinable, deadline: float) -> Answer:
    """Return a normal-form proper equilibrium: plans, behaviour and the proof.

    A plan does not determine the behaviour at infosets that it excludes. There it is a best response to the opponent's
    plan with uniformly random mistakes.
    """
    first, second = (proper_plan(PlayerView(problem.game, player, exact=True), deadline) for player in (0, 1))
    plans = first.plan, second.plan
    uniform = [exact_plan(one, one.uniform_behaviour()) for one in problem.game.sequence_form.treeplexes]
    trembling = [[plan, random] for plan, random in zip(plans, uniform, strict=True)]
    behaviour = tuple(_completed(problem, player, plans[player], trembling[1 - player]) for player in (0, 1))
    state = Refined("proper", gains=(first.gains, second.gains), steps=first.steps + second.steps)
    return plans, behaviour, state
