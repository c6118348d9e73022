"""Restricted games between routes, which grow by best replies; see :class:`~treeplex.solvers.DoubleOracle`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ...models.constraints import LinearConstraint
from ...models.games.patrol.caught_once import ROUTES, CaughtOnce, taken_apart
from ...models.games.patrol.encounters import routes_matrix
from ...models.games.patrol.route_mixtures import Mixture
from ...models.games.patrol.route_responses import (
    best_joint_route,
    best_route,
    better_joint_route,
    better_route,
)
from ...models.games.patrol.walker import Whole
from ...models.problems import ConstrainedNash, Nash
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, TimeLimitError
from ...seqform.game import Game
from ...seqform.limits import counted_now, seconds_left
from ...seqform.polytope import Treeplex
from ...seqform.sequence_form import SequenceForm
from ..dispatch import refuse_unfinished, solved
from ..iteration import Checks, Stepper, iterate
from ..outcome import Options, Outcome, Status, checked_seed, nearest_profile
from ..solution import RunState, Solution, starting_profile
from .highs_models import run_solver

if TYPE_CHECKING:
    from ..methods import DoubleOracle

_run = partial(run_solver, interruptible=True)
#: The number of quick replies per round, each against differently weighted routes.
_EMPHASES = 8
#: The tolerance of best replies, as a fraction of the gap between the bounds so far.
_COARSE = 0.1


@dataclass(frozen=True, eq=False)
class RouteMixtures(RunState):
    """The mixtures of routes of an answer, as ``solution.state``.

    Attributes
    ----------
    attackers, units : Mixture
        Routes with their probabilities: for each type of attackers, and joint routes of all units.
    considered : int
        The number of routes and joint routes in the last restricted game.
    """

    attackers: Mixture
    units: Mixture
    considered: int

    @property
    def remark(self) -> str:
        """The number of mixed routes, and of routes in the last restricted game."""
        routes, joint = len(self.attackers.routes), len(self.units.routes)
        mixed = f"{routes} route{'s' * (routes != 1)} and {joint} joint route{'s' * (joint != 1)}"
        return f"the solution mixes {mixed}, of {self.considered} considered"


@dataclass(eq=False)
class _Routes:
    """The routes of one type of attackers, or the joint routes of all units, in the order of discovery."""

    found: list[Whole] = field(default_factory=list)
    _known: set[bytes] = field(default_factory=set)

    def add(self, route: Whole) -> bool:
        """Add a route; return whether it is new."""
        key = np.asarray(route, dtype=np.int64).tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        self.found.append(np.asarray(route, dtype=np.int64))
        return True


class _DoubleOracle(Stepper):
    """A restricted game, and the best mixtures so far."""

    first_step = 1
    next_check = None
    may_break_off = True  # integer programs may take a long time

    def __init__(self, problem: CaughtOnce, options: Options) -> None:
        self._problem, self._meetings, self._options = problem, problem.encounters, options
        self._sizes = [treeplex.num_sequences for treeplex in self._meetings.treeplexes]
        self._attackers = [_Routes() for _ in self._meetings.shares]
        self._units = _Routes()
        self._gap = options.tol / 4
        self._iterations = 0
        self._ended: Status | None = None
        self._random = np.random.default_rng(checked_seed(options.seed))
        start, least = options.start, -math.inf
        profile = None if start is None else starting_profile(start, problem.game)
        self.multipliers: dict[str, float] = {}
        if isinstance(start, Solution) and isinstance(start.state, RouteMixtures):
            self._begin(start.state.attackers, start.state.units)
        elif profile is not None:
            self._begin(*(taken_apart(problem, player, plan) for player, plan in enumerate(profile.plans)))
        if profile is None or not self._meets(self.units):
            additive = self._additive()
            if not problem.forfeits and additive.lower is not None:
                least = additive.lower  # every caught attacker is met at least once
            self._begin(*(taken_apart(problem, player, plan) for player, plan in enumerate(additive.profile.plans)))
        # Trivial bounds before any reply is known: all escape, or all are caught.
        self.upper = sum(
            share * self._meetings.most_earned(body) for body, share in enumerate(self._meetings.shares.tolist())
        )
        caught = sum(
            share * float(own.probabilities @ self._meetings.split(body, own.matrix)[0])
            for body, share in enumerate(self._meetings.shares.tolist())
            for own in [self.attackers.of(body)]
        )
        self.lower = max(caught, least)

    def _begin(self, attackers: Mixture, units: Mixture) -> None:
        """Begin with some mixtures, and keep their routes."""
        self.attackers, self.units = attackers, units
        for body, route in zip(attackers.bodies.tolist(), attackers.routes, strict=True):
            self._attackers[body].add(route)
        for route in units.routes:
            self._units.add(route)

    def _meets(self, units: Mixture) -> bool:
        """Whether a mixture meets the constraints."""
        return all(one.value(units.plan) <= one.allowance for one in self._problem.constraints)

    def _additive(self) -> Solution:
        """Return a solution of the game in which meetings add up, whose routes meet the constraints on average."""
        problem = self._problem
        posed = ConstrainedNash(problem.game, problem.constraints) if problem.constraints else Nash(problem.game)
        additive = solved(posed, "highs-ipm-crossover")  # a vertex mixes few routes
        if additive.status is Status.INTERRUPTED and seconds_left():
            raise KeyboardInterrupt
        if problem.constraints and additive.problem.missed(additive.certificate):
            raise SolverError("no strategies were found that meet the constraints")
        return additive

    @property
    def iterations(self) -> int:
        return self._iterations

    @property
    def considered(self) -> int:
        """The number of routes and joint routes."""
        return sum(len(each.found) for each in (*self._attackers, self._units))

    def step(self, iterations: int) -> Checks:
        """Grow the restricted game until best replies have proven new bounds."""
        done, errors = list[int](), list[float]()
        while len(done) < iterations and self._ended is None and not (errors and errors[-1] <= self._options.tol):
            try:
                added = self._round()
            except TimeLimitError:
                self._ended = Status.TIME_LIMIT
                break
            self._iterations += 1
            done.append(self._iterations)
            errors.append(self.check())
            if not added:
                self._ended = Status.OPTIMAL
        is_met = bool(errors) and 0.0 < self._options.tol >= errors[-1]
        return Checks(np.array(done, dtype=np.int64), np.array(errors), is_met)

    def look(self) -> Status | None:
        """Return the final status if there is nothing left to add or the time is up."""
        return self._ended

    def check(self) -> float:
        """Return half of the gap between the bounds that the best mixtures prove."""
        return float(max(0.0, self.upper - self.lower) / 2)

    def _round(self) -> bool:
        """Prove bounds, and add the replies that prove them; return whether any is new."""
        attackers, units, values, multipliers = self._restricted()
        costs = self._problem.costs(multipliers)
        while self._better(attackers, units, values, costs):
            attackers, units, values, multipliers = self._restricted()
            costs = self._problem.costs(multipliers)
        # While bounds are far apart, nearly best replies are enough.
        gap = max(self._gap, _COARSE * (self.upper - self.lower))
        routes = [best_route(self._meetings, body, units, _run, gap) for body in range(len(values))]
        joint = best_joint_route(self._meetings, attackers, _run, gap, costs)
        upper = float(self._meetings.shares @ np.array([reply.bound for reply in routes]))
        if upper < self.upper:
            self.upper, self.units = upper, units
        if joint.bound > self.lower:
            self.lower, self.attackers, self.multipliers = joint.bound, attackers, multipliers
        added = [each.add(reply.route) for each, reply in zip(self._attackers, routes, strict=True)]
        return self._units.add(joint.route) or any(added) or gap > self._gap

    def _better(self, attackers: Mixture, units: Mixture, values: Floats, costs: Floats) -> bool:
        """Add quick replies if they gain; return whether any did."""
        added, value = False, float(self._meetings.shares @ values)
        for number in range(_EMPHASES):
            for body, each in enumerate(self._attackers):
                reply = better_route(self._meetings, body, units, self._emphasis(len(units.routes), number))
                if reply.value > values[body] + self._gap:
                    added |= each.add(reply.route)
            emphasis = self._emphasis(len(attackers.routes), number)
            reply = better_joint_route(self._meetings, attackers, emphasis, costs)
            if reply.value < value - self._gap:
                added |= self._units.add(reply.route)
        return added

    def _emphasis(self, count: int, number: int) -> Floats | float:
        """Return the weights of routes: first uniform, then random."""
        return self._random.exponential(size=count) if number else 1.0

    def _restricted(self) -> tuple[Mixture, Mixture, Floats, dict[str, float]]:
        """Solve the game between the current routes; return the mixtures, each type's payoff, and the multipliers."""
        joint = routes_matrix(self._units.found, self._sizes[1])
        tables = [
            self._meetings.payoffs(body, routes_matrix(each.found, self._sizes[0]), joint)
            for body, each in enumerate(self._attackers)
        ]
        counts = [len(each.found) for each in self._attackers]
        own = Treeplex(np.zeros(len(counts), dtype=int), counts)
        other = Treeplex([0], [len(self._units.found)])
        weighted = np.vstack([share * table for share, table in zip(self._meetings.shares, tables, strict=True)])
        payoffs = sp.csr_array(np.pad(weighted, ((1, 0), (1, 0))))
        game = Game.from_sequence_form(SequenceForm([own, other], payoff_matrices=[payoffs, -payoffs]), "routes")
        limits = [self._on_routes(one, joint) for one in self._problem.constraints]
        solution = solved(ConstrainedNash(game, limits) if limits else Nash(game), "highs-simplex")
        refuse_unfinished(solution, "the game restricted to some routes was being solved")
        x, q = (plan[1:] for plan in solution.profile.plans)
        chances = np.split(x, np.cumsum(counts)[:-1])
        values = np.array([float((table @ q).max()) for table in tables])
        return self._mixture(chances), self._joint(q), values, dict(solution.dual_multipliers)

    def _on_routes(self, limit: LinearConstraint, joint: sp.csr_array) -> LinearConstraint:
        """Return a constraint on the mixture of joint routes."""
        coefficients = np.zeros(self._sizes[1])
        coefficients[limit.indices] = limit.coefficients
        return LinearConstraint(1, dict(enumerate((joint @ coefficients).tolist(), 1)), limit.limit, limit.name)

    def _mixture(self, chances: Sequence[Floats]) -> Mixture:
        counts = [len(each.found) for each in self._attackers]
        routes = tuple(route for each in self._attackers for route in each.found)
        bodies = np.repeat(np.arange(len(counts)), counts)
        return Mixture(routes, bodies, np.concatenate(list(chances)), self._sizes[0]).played

    def _joint(self, chances: Floats) -> Mixture:
        return Mixture(tuple(self._units.found), np.zeros(len(chances), dtype=np.int64), chances, self._sizes[1]).played


def run(method: "DoubleOracle", problem: CaughtOnce, options: Options) -> Outcome:
    """Solve a problem whose pure strategies are routes; see :class:`~treeplex.solvers.DoubleOracle`."""
    built = counted_now()
    try:
        stepper = _DoubleOracle(problem, options)
    except SolverError as error:
        if not problem.constraints:
            raise
        return Outcome(None, Status.INFEASIBLE, str(error), iterations=0, seconds=0.0, build_seconds=0.0)
    begun = counted_now()
    ran = iterate(stepper, options)
    attackers, units = stepper.attackers, stepper.units
    certificate = problem.proven(attackers, units, stepper.multipliers, stepper.lower, stepper.upper)
    plans = attackers.plan, units.plan
    return Outcome(
        plans=plans,
        stopped=ran.stopped,
        detail="HiGHS's integer programs did not prove better bounds",
        iterations=ran.iterations,
        seconds=ran.seconds,
        build_seconds=begun - built,
        history=ran.history,
        multipliers=stepper.multipliers,
        dual_certificate=dict(zip(ROUTES, (attackers.saved(), units.saved()), strict=True)),
        state=RouteMixtures(attackers, units, stepper.considered),
        proof=(nearest_profile(problem.game, plans), certificate),
    )
