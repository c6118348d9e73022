"""The backend of the regret methods: the compiled loop as a stepper, its starts, and the bound on multipliers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...models.problems import Certificate, Problem
from ...models.saddle import SAFETY
from ...seqform.arrays import Floats
from ...seqform.errors import InvalidOptionError, UnsupportedProblemError
from ...seqform.joint_form import JointPayoff
from ...seqform.limits import counted_now
from ...seqform.strategy import Profile
from ..certification import proven, proves
from ..checkpoint import Saved, fill
from ..exclusion import exclude_each_other
from ..iteration import CHECK_GROWTH, NEVER, Checks, Stepper, iterate
from ..methods import RegretMethod, methods_for
from ..outcome import Options, Outcome, Status, checked_seed, nearest_profile
from ..public import driver as public
from ..solution import RunState, Solution, starting_profile
from ..style.preferences import preference_record
from . import joint
from .floor_game import NEAR_STAKE, RAISE
from .kernel import Kernel, KernelState
from .multiplier_bound import MultiplierBound, next_look
from .posing import PosedProblem, posed
from .pruning import prune
from .warm_start import adopt


@dataclass(frozen=True, eq=False)
class RegretState(RunState):
    """The state from which a regret method can be resumed."""

    method: RegretMethod
    kernel: Kernel
    state: KernelState
    problem: tuple[object, ...]  # identifies the problem on the game; multipliers and regrets are valid only for it
    bound: MultiplierBound | None = None
    stake: float | None = None  # of the floor, if there is one

    @property
    def multiplier_bound(self) -> float | None:
        """The final bound on the multipliers, if there was one."""
        return None if self.bound is None else self.bound.beta

    def preference_record(self, solution: Solution) -> dict[str, Any] | None:
        """Return how often preferred actions were taken, and the proven bounds on the cost of preferences."""
        return preference_record(solution)


class RegretStepper(Stepper):
    """The compiled loop as a stepper on a posed problem.

    Parameters
    ----------
    method : RegretMethod
    problem : PosedProblem
    state : KernelState
        Changed in place.
    bound : MultiplierBound, optional
        The bound on the multipliers, if nothing else bounds them.
    stake : float, optional
        The stake of the floor; by default its first one.
    last : int, optional
        The last iteration of the run; the bound is not doubled after it.

    Attributes
    ----------
    proof : tuple of Profile and Certificate, or None
        The strategies and their certificate when it was last computed outside the loop.
    """

    def __init__(
        self,
        method: RegretMethod,
        problem: PosedProblem,
        state: KernelState,
        bound: MultiplierBound | None = None,
        stake: float | None = None,
        last: int = NEVER,
    ) -> None:
        self.method, self.problem, self.state, self.bound = method, problem, state, bound
        self.kernel, self.rule = problem.kernel, method.local_rule
        self.rows = None if problem.rows is None else replace(problem.rows, dual=method.dual_rule)
        if self.rows is not None and bound is not None:
            self.rows = self.rows.bounded(bound.beta)
        self.stake = (1.0 if problem.floor is None else problem.floor.first_stake) if stake is None else stake
        self.first_step = 32 if self.kernel.layout.size < 100_000 else 1
        self.next_check = None if problem.is_certified_within else 1
        self.begins_with_check = state.iteration > 0 and self.next_check is None
        self.aim(problem.options.tol)
        self._last = last
        # If the last run ended at a look, its consequences must still be applied.
        looks = problem.floor is not None or (self.rows is not None and not self.rows.soft)
        self._next_look = next_look(state.iteration - 1, 0 if bound is None else bound.begun) if looks else NEVER
        self.proof: tuple[Profile, Certificate] | None = None

    @property
    def iterations(self) -> int:
        """Number of updates of every player."""
        return self.state.iteration

    @property
    def room(self) -> int:
        """The number of iterations until the next check, whose result must not depend on the clock."""
        return min(super().room, self._next_look - self.iterations)

    def aim(self, tolerance: float) -> None:
        """Set the tolerance, in payoff units, at which the loop's own certificate ends a step."""
        # With a tolerance of 0 all iterations are run. Otherwise a small margin allows for round-off: the certificate
        # adds in another order than the loop.
        self._tolerance = tolerance * (1.0 - 1e-9) if tolerance > 0.0 else -np.inf

    def step(self, iterations: int) -> Checks | None:
        """Run the compiled loop, which computes the certificate itself if it knows the whole problem."""
        if self.next_check is not None:
            self.state.next_check = NEVER
        report = self.kernel.run(
            self.state,
            self.rule,
            iterations,
            tolerance=self._tolerance,
            growth=CHECK_GROWTH,
            alternating=self.method.updates == "alternating",
            last_iterate=self._takes_last,
            tilt=None if self.problem.tilt is None else self.problem.tilt / self.stake,
            scales=self.problem.scales,
            constraints=self.rows,
        )
        if self.next_check is not None:
            return None
        return Checks(report.checked, report.exploitabilities, report.converged)

    def check(self) -> float:
        """Return the error of the current strategies, from the loop's certificate or the problem's."""
        if self.next_check is not None:
            self.proof = self._prove()
            return self.problem.error(self.proof[1])
        # Use a copy: a check changes the time of the next one and, in single precision, the order of additions.
        state = self.state.copy()
        state.next_check = self.iterations
        report = self.kernel.run(state, self.rule, 0, last_iterate=self._takes_last, constraints=self.rows)
        self.state.multipliers.average[:] = state.multipliers.average
        return report.exploitability

    def confirms(self) -> bool:
        """Whether the problem's certificate meets the tolerance too, in cases where the loop's own is not reliable.

        The loop's certificate uses plans that may violate constraints and its own tangents of convex constraints, and
        it has round-off in single precision.
        """
        constrained = bool(self.problem.original.hard_constraints)
        if not constrained and (self.next_check is not None or self.kernel.layout.number is not np.float32):
            return True
        proof = self._prove()
        agrees = proves(self.problem.original, proof[1], self.problem.options.tol)
        self.proof = proof if agrees else None
        return agrees

    def look(self) -> Status | None:
        """Test from time to time whether multipliers prove infeasibility, or are held back by their bound.

        Changes that restart the averages are left to a resumed run if this is the last iteration.
        """
        if self.iterations < self._next_look:
            return None
        if self.rows is None:
            if self.iterations < self._last:
                self._raise_stake()
                self._next_look = next_look(self.iterations)
            return None
        problem, rows, state, bound = self.problem, self.rows, self.state, self.bound
        plans, averages = self.plans(), self.kernel.average_multipliers(state)
        # With a bound, averages prove more: the latest multipliers may all be at the bound.
        proofs = [state.multipliers.values] if bound is None else [state.multipliers.values, averages]
        evidence = rows.curves.evidence(state.multipliers)
        given = problem.game, problem.constraints
        if any(exclude_each_other(*given, plans, rows.multipliers(proof), evidence) for proof in proofs):
            return Status.INFEASIBLE
        if bound is not None and bound.holds_back(
            problem.constraints, plans, rows.multipliers(averages), problem.options.violation, self.iterations
        ):
            if self.iterations >= self._last:
                return None
            self.bound = bound = bound.doubled(self.iterations)
            self.rows = rows.bounded(bound.beta)
            state.average_anew()
        self._next_look = next_look(self.iterations, 0 if bound is None else bound.begun)
        return None

    def _raise_stake(self) -> None:
        """Raise the stake of the floor if the price is near it but the floor is still violated."""
        assert self.problem.floor is not None
        missed = self._prove()[1].violations[SAFETY]
        if self.multipliers[SAFETY] > NEAR_STAKE * self.stake and missed > self.problem.options.tol:
            self.stake *= RAISE
            self.state.average_anew()

    def saved(self) -> Saved:
        """Return the state of the loop, with the bound, the stake, and the times of the next check and look."""
        state, bound = self.state, self.bound
        return {
            **state.lasting,
            **({} if state.origin is None else {"origin": state.origin}),
            "bound": None if bound is None else [bound.beta, bound.doublings, bound.begun],
            "stake": self.stake,
            "due": [self.next_check, self._next_look],
        }

    def restore(self, saved: Saved) -> None:
        """Restore the state that :meth:`saved` returned."""
        fill(self.state.lasting, saved)
        origin = saved.get("origin")
        self.state.origin = None if origin is None else np.array(origin)
        self.stake, (self.next_check, self._next_look) = saved["stake"], saved["due"]
        if saved["bound"] is not None and self.rows is not None:
            self.bound = MultiplierBound(*saved["bound"])
            self.rows = self.rows.bounded(self.bound.beta)

    def plans(self) -> list[Floats]:
        """Return the players' current average plans."""
        return self.problem.plans(self.kernel.average(self.state))

    def current_plans(self) -> list[Floats]:
        """Return the players' current plans."""
        return self.problem.plans(self.state.arrays.plan)

    def answer(self) -> list[Floats]:
        """Return the plans of the method's answer: the average or the last ones."""
        return self.problem.plans(self._vector())

    def _vector(self) -> Floats:
        return self.state.arrays.plan if self._takes_last else self.kernel.average(self.state)

    @property
    def multipliers(self) -> dict[str, float]:
        """The average multipliers, by constraint."""
        of_rows = {} if self.rows is None else self.rows.multipliers(self.state.multipliers.average)
        return of_rows | self.problem.floor_price(self._vector, self.stake)

    @property
    def dual_certificate(self) -> dict[str, Floats]:
        """Arrays that help to prove bounds: subgradients by constraint, and the plan in a view's replies."""
        subgradients = {} if self.rows is None else self.rows.curves.evidence(self.state.multipliers)
        return subgradients | self.problem.reply(self._vector)

    @property
    def reached(self) -> RegretState:
        """The state from which another run can continue."""
        return RegretState(self.method, self.kernel, self.state, self.problem.identity, self.bound, self.stake)

    @property
    def _takes_last(self) -> bool:
        return self.method.iterate == "last"

    def _prove(self) -> tuple[Profile, Certificate]:
        profile = nearest_profile(self.problem.game, self.answer())
        return proven(self.problem.original, profile, self.multipliers, self.dual_certificate)


def run(method: RegretMethod, problem: Problem, options: Options) -> Outcome:
    """Iterate until the certificate meets the tolerance or a limit is reached; see :class:`~treeplex.solvers.CFR`.

    The first of the :data:`LOOPS` that accepts the problem runs it.

    Raises
    ------
    InvalidOptionError, UnsupportedProblemError
        If the precision or the constraints require the loop on public forms, which does not accept the problem.
    """
    loop = next(loop for loop in LOOPS if loop.takes(method, problem, options))
    return loop.run(method, problem, options)


@dataclass(frozen=True)
class Loop:
    """A loop of the regret methods: a test for the problems that it accepts, and the function that runs it."""

    takes: Callable[[RegretMethod, Problem, Options], bool]
    run: Callable[[RegretMethod, Problem, Options], Outcome]


def _on_plans(method: RegretMethod, problem: Problem, options: Options) -> Outcome:
    """Run the loop on plans; constraints that only a face satisfies are met by removing actions, not by multipliers."""
    check_precision(method, problem)
    if not problem.needs <= method.serves:
        raise UnsupportedProblemError(
            f"on games in public form, method {method.name} supports only averages, alternating updates, linear "
            "constraints that each have their own penalty, and restricted opponents with p above 0: for other problems "
            f"or a given start, use {', '.join(methods_for(problem.needs))}"
        )
    begun = counted_now()
    pruned = prune(problem) if problem.constraints else None
    if pruned is None:
        return run_steps(method, problem, options)
    if isinstance(pruned, Outcome):
        return pruned
    took = counted_now() - begun
    outcome = pruned.outcome(run_steps(method, pruned.problem, pruned.options(options)))
    return replace(outcome, build_seconds=outcome.build_seconds + took)


def _takes_public_form(method: RegretMethod, problem: Problem, options: Options) -> bool:
    return problem.game.public_form is not None and public.serves(method, problem, options.start)


#: The loops in the order in which they are tried: on vectors of hands in public form, on plans of several players with
#: an operator as payoffs, and on plans of two or more players, which accepts every problem.
LOOPS = (
    Loop(_takes_public_form, public.run),
    Loop(lambda method, problem, options: _is_joint(problem), joint.run),
    Loop(lambda method, problem, options: True, _on_plans),
)


def _is_joint(problem: Problem) -> bool:
    """Whether there are more than two players and their payoffs are an operator on plans."""
    return problem.game.num_players > 2 and isinstance(problem.game.sequence_form.payoffs, JointPayoff)


def stepper(method: RegretMethod, problem: Problem, options: Options) -> RegretStepper | joint.JointStepper:
    """Return a stepper on a problem without pruning, ready to begin or to be resumed."""
    if _is_joint(problem):
        return joint.JointStepper(method, problem, options)
    check_precision(method, problem)
    return _begin(method, posed(method, problem, options))


def check_precision(method: RegretMethod, problem: Problem) -> None:
    """Raise an error for 16 bits, which only the loop on public forms supports."""
    if method.precision == "half":
        raise InvalidOptionError(
            f"{method.name} got precision='half' for {problem.name}, expected single or double: half precision "
            "supports only equilibria of games in public form, with averaging and alternating updates"
        )


def run_steps(
    method: RegretMethod, problem: Problem, options: Options, kind: type[RegretStepper] = RegretStepper
) -> Outcome:
    """Run the compiled loop on a problem without pruning, with a stepper of the given class."""
    begun = counted_now()
    ready = posed(method, problem, options)
    loop = _begin(method, ready, kind)
    build_seconds = counted_now() - begun
    found = iterate(loop, options)
    prices = {"multipliers": loop.multipliers, "dual_certificate": loop.dual_certificate}
    return found.outcome(build_seconds, plans=loop.answer(), state=loop.reached, proof=loop.proof, **prices)


def _begin(method: RegretMethod, problem: PosedProblem, kind: type[RegretStepper] = RegretStepper) -> RegretStepper:
    """Return the stepper at its start: in the state of a solution, at a profile, or fresh."""
    bound = None if method.first_bound is None else MultiplierBound(method.first_bound)
    options = problem.options
    start: Any = options.start
    state: KernelState | None = None
    stake = None
    if isinstance(start, Solution):
        kept = start.state
        same = start.problem.game.fingerprint == problem.game.fingerprint
        if isinstance(kept, RegretState) and kept.method == method and same and kept.problem == problem.identity:
            state, bound = adopt(problem.kernel, kept.state, kept.kernel, problem.rows, problem.preferences), kept.bound
            stake = kept.stake
    if state is None and start is None:
        state = problem.initial_state(_first_regrets(method, problem.kernel, options.seed))
    elif state is None:
        state = problem.start_from(starting_profile(start, problem.game))
    return kind(method, problem, state, bound, stake, state.iteration + options.max_iterations)


def _first_regrets(method: RegretMethod, kernel: Kernel, seed: int | None) -> Floats | None:
    """Return random first regrets as a kernel vector, drawn in the order of sequences; ``None`` if they are zero."""
    if not method.initial_regrets:
        return None
    random = np.random.default_rng(checked_seed(seed))
    regrets = np.zeros(kernel.layout.size)
    for player, count in enumerate(kernel.layout.num_sequences):
        kernel.layout.from_user(player, np.append(0.0, method.initial_regrets * random.random(count - 1)), out=regrets)
    return regrets
