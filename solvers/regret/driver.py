"""Runs the compiled loop in short calls: limits, progress, interruption, warm starts."""

import functools
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ...models.constraints import DistanceConstraint, LinearConstraint
from ...models.constraints.constraint import weighted_minorant
from ...models.distances import L2Distance
from ...models.preferences import preference_on
from ...models.problems import ConstrainedNash, LeastViolation, Problem
from ...models.saddle import PlayerView
from ...seqform.errors import InvalidStrategyError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.sequence_form import SequenceForm
from ...seqform.strategy import Profile, Strategy, check_same_game
from ..infeasibility import excluded
from ..methods import CCFR, CFVFP, DCFR, CFRPlus, DepthLimitedCFR, PCFRPlus, PrefCFR, RegretMethod
from ..outcome import Options, Outcome, certified_error, checked_seed, nearest_profile, reported
from ..solution import History, Solution
from ..status import Status
from . import kernel as kernel_rules
from .constraints import DualRule, KernelConstraints
from .doubling import MultiplierBound, next_look
from .kernel import Kernel, KernelState, Rule
from .layout import build_layout
from .preferences import kernel_preferences
from .pruning import prune

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...models.problems import Certificate
    from ...seqform.arrays import Floats
    from .loop import PreferenceArrays

#: Seconds that one call of the compiled loop should take: Ctrl-C arrives, and limits are looked at, between calls.
CALL_SECONDS = 0.05
#: The certificate is computed each time the iterations have grown by this factor, which costs a few percent.
CHECK_GROWTH = 1.2
#: What regrets of constrained CFR on the base DCFR grow by beside new ones: t to this power.
CCFR_SWELL = 0.03
#: Single precision is chosen for tolerances of this much of the largest payoff or more, and for games of so many
#: sequences or more: in smaller ones all numbers are in the first-level cache anyway.
SINGLE_TOLERANCE = 1e-5
SINGLE_SEQUENCES = 2_000
_FIRST_CALL = 32

_kernels: "WeakKeyDictionary[SequenceForm, dict[type, Kernel]]" = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class RegretState:
    """What a regret method needs to go on where it stopped."""

    method: RegretMethod
    kernel: Kernel
    state: KernelState
    constraints: tuple[object, ...] | None  # what identifies them: multipliers and regrets are of those alone
    bound: MultiplierBound | None = None


def kernel_of(form: SequenceForm, number: type = np.float64) -> Kernel:
    """Return the compiled loop laid out for a game, in numbers of a type; built once."""
    kernels = _kernels.setdefault(form, {})
    if number not in kernels:
        kernels[number] = Kernel(build_layout(form, number))
    return kernels[number]


def kernel_for(method: RegretMethod, form: SequenceForm, tol: float, curved: bool = False) -> Kernel:
    """Return the compiled loop in the precision that a method asks for; double for constraints that are not linear."""
    single = method.precision == "single" and not curved
    if method.precision == "auto" and tol > 0.0 and not curved:
        num_sequences = sum(treeplex.num_sequences for treeplex in form.treeplexes)
        if num_sequences >= SINGLE_SEQUENCES:
            single = tol >= SINGLE_TOLERANCE * kernel_of(form, np.float32).layout.unit
    return kernel_of(form, np.float32 if single else np.float64)


def _finest(problem: Problem, options: Options) -> float:
    """Return the tolerance that the precision is chosen by: that of violations, as payoffs, where it takes more digits.

    Violations are in units of their constraints. Where payoffs are small, or a penalty is large, a tolerance may be one
    of violations that single precision does not reach.
    """
    if not isinstance(problem, ConstrainedNash):
        return options.tol
    linear = [one for one in problem.constraints if isinstance(one, LinearConstraint)]
    largest = max((float(np.abs(one.coefficients).max(initial=0.0)) for one in linear), default=0.0)
    # Payoffs that a unit of violation counts as.
    price = options.tol / (options.violation or 1.0) if problem.penalty is None else float(problem.penalty)
    return options.tol / max(1.0, price * largest / problem.game.sequence_form.payoff_scale)


def rule_of(method: RegretMethod) -> Rule:
    """Return a method's local rule and averaging as the compiled loop's numbers."""
    power = method.averaging_power
    match method:
        case CCFR():
            rule = rule_of(method.base_method)
            return replace(rule, swell=CCFR_SWELL) if method.base == "dcfr" else rule
        case PrefCFR() | DepthLimitedCFR():
            return rule_of(method.base_method)
        case DCFR():
            return replace(kernel_rules.DCFR, positive=method.alpha, negative=method.beta, averaging=power)
        case PCFRPlus():
            return replace(kernel_rules.PCFR_PLUS, averaging=power)
        case CFRPlus():
            return replace(kernel_rules.CFR_PLUS, averaging=power)
        case _:
            return replace(kernel_rules.CFR, averaging=power)


def preferences_of(method: RegretMethod, game: Game, kernel: Kernel) -> "PreferenceArrays | None":
    """Return what a method leans to, laid out for the compiled loop; nothing for methods that have no preferences."""
    match method:
        case PrefCFR():
            preference = preference_on(game, method.prefer, method.vulnerability, method.units)
        case CFVFP():
            preference = preference_on(game)
        case _:
            return None
    return kernel_preferences(game, preference, kernel.layout, on_one=method.rule == "br")


def dual_rule_of(method: RegretMethod) -> DualRule:
    """Return how a method moves the multipliers of constraints."""
    if not isinstance(method, CCFR):
        return DualRule()
    power = 0.5 if method.steps == "decreasing" else 0.0
    return DualRule(method.step, power, 1.0 if method.steps == "optimistic" else 0.0, method.tangents)


def run(method: RegretMethod, problem: Problem, options: Options) -> Outcome:
    """Iterate until the certificate meets the tolerance or a limit comes; see :class:`~treeplex.solvers.CFR`.

    Constraints that leave no room are met by leaving out actions, not by multipliers that learn.
    """
    begun = time.perf_counter()
    pruned = prune(problem) if isinstance(problem, ConstrainedNash) else None
    if pruned is None:
        return _iterate(method, problem, options)
    if isinstance(pruned, Outcome):
        return pruned
    took = time.perf_counter() - begun
    outcome = pruned.outcome(_iterate(method, pruned.problem, pruned.options(options)))
    return replace(outcome, build_seconds=outcome.build_seconds + took)


def _iterate(method: RegretMethod, problem: Problem, options: Options) -> Outcome:
    """Run the compiled loop on a problem as it is."""
    begun = time.perf_counter()
    curved = not all(isinstance(one, LinearConstraint) for one in problem.constraints)
    kernel = kernel_for(method, problem.game.sequence_form, _finest(problem, options), curved)
    build_seconds = time.perf_counter() - begun
    warm(kernel.layout.number, curved, isinstance(method, PrefCFR | CFVFP))
    begun = time.perf_counter()
    constraints = None
    if isinstance(problem, ConstrainedNash):
        weight = options.tol / options.violation if options.violation > 0.0 else 1.0
        constraints = KernelConstraints.of(problem, kernel.layout, weight)
    bound = _first_bound(method, problem)
    preferences = preferences_of(method, problem.game, kernel)
    state, bound = _start(method, problem, kernel, options, constraints, bound, preferences)
    if constraints is not None and bound is not None:
        constraints = constraints.bounded(bound.beta)
    build_seconds += time.perf_counter() - begun

    begun = time.perf_counter()
    rule, dual = rule_of(method), dual_rule_of(method)
    first = state.iteration
    # With a tolerance of 0 every iteration asked for is run; otherwise a hair is kept for the order of additions, in
    # which the certificate differs from the loop.
    tolerance = options.tol * (1.0 - 1e-9) if options.tol > 0.0 else -np.inf
    stopped = Status.ITERATION_LIMIT
    # Where the last run ended at a look, what follows from it is still to be done.
    look = next_look(state.iteration - 1, 0 if bound is None else bound.begun)
    looks = constraints is not None and not constraints.soft
    chunk = _FIRST_CALL if kernel.layout.size < 100_000 else 1
    checked, errors, seconds = [], [], []
    proof = None
    try:
        while True:
            started, before = time.perf_counter(), state.iteration
            remaining = options.max_iterations - (before - first)
            if looks:
                remaining = min(remaining, look - before)  # what is found there is not to depend on the clock
            report = kernel.run(
                state,
                rule,
                min(chunk, remaining),
                tolerance=tolerance,
                growth=CHECK_GROWTH,
                alternating=method.updates == "alternating",
                last_iterate=method.iterate == "last",
                constraints=constraints,
                dual=dual,
            )
            now = time.perf_counter()
            checked.append(report.checked)
            errors.append(report.exploitabilities)
            # A call tells the time when it is over; within it iterations take equally long.
            share = (report.checked - before) / max(1, state.iteration - before)
            seconds.append(started - begun + share * (now - started))
            if report.converged:
                proof = _proof(problem, kernel, constraints, state, method)
                if proof is None or certified_error(problem, proof[1], options) <= options.tol:
                    stopped = Status.CONVERGED
                    break
                proof = None
            if constraints is not None and looks and state.iteration >= look:
                assert isinstance(problem, ConstrainedNash)
                plans, averages = _to_plans(kernel, kernel.average(state)), kernel.average_multipliers(state)
                # Those that a bound holds back prove more on average: the latest may all be at the bound.
                proofs = [state.multipliers.values] if bound is None else [state.multipliers.values, averages]
                evidence = constraints.evidence(state.multipliers)
                if any(_excluded(problem, plans, constraints.multipliers(proof), evidence) for proof in proofs):
                    stopped = Status.INFEASIBLE
                    break
                if (
                    bound is not None
                    and state.iteration - first < options.max_iterations
                    and bound.holds_back(
                        problem, plans, constraints.multipliers(averages), options.violation, state.iteration
                    )
                ):
                    bound = bound.doubled(state.iteration)
                    constraints = constraints.bounded(bound.beta)
                    state.average_anew()
                look = next_look(state.iteration, 0 if bound is None else bound.begun)
            if state.iteration - first >= options.max_iterations:
                break
            if now - begun >= options.time_limit:
                stopped = Status.TIME_LIMIT
                break
            latest = next((float(values[-1]) for values in reversed(errors) if len(values)), None)
            if reported(options, state.iteration, now - begun, latest):
                stopped = Status.INTERRUPTED
                break
            chunk = next_chunk(chunk, now - started, options.time_limit - (now - begun))
    except KeyboardInterrupt:
        stopped = Status.INTERRUPTED
    ended = time.perf_counter()
    vector = state.arrays.plan if method.iterate == "last" else kernel.average(state)
    if not any(len(rows) and rows[-1] == state.iteration for rows in checked[-1:]):
        # The history ends with the strategies that are returned.
        state.next_check = state.iteration
        last = kernel.run(state, rule, 0, last_iterate=method.iterate == "last", constraints=constraints, dual=dual)
        checked.append(last.checked)
        errors.append(last.exploitabilities)
        seconds.append(np.array([ended - begun]))
    return Outcome(
        plans=_to_plans(kernel, vector),
        stopped=stopped,
        detail=f"after {state.iteration} iterations",
        multipliers={} if constraints is None else constraints.multipliers(state.multipliers.average),
        dual_certificate={} if constraints is None else constraints.evidence(state.multipliers),
        iterations=state.iteration,
        seconds=ended - begun,
        build_seconds=build_seconds,
        history=History(
            np.concatenate([np.zeros(0, dtype=np.int64), *checked]),
            np.concatenate([np.zeros(0), *seconds]),
            np.concatenate([np.zeros(0), *errors]),
        ),
        state=RegretState(method, kernel, state, None if constraints is None else constraints.identity, bound),
        proof=proof,
    )


def _proof(
    problem: Problem,
    kernel: Kernel,
    constraints: KernelConstraints | None,
    state: KernelState,
    method: RegretMethod,
) -> "tuple[Profile, Certificate] | None":
    """Return the certificate of the strategies so far where the loop's own is not to be trusted, otherwise nothing.

    It has its own tangents of convex constraints, and in single precision it is a little off.
    """
    curved = constraints is not None and bool(constraints.curves.rows)
    if not curved and kernel.layout.number is np.float64:
        return None
    vector = state.arrays.plan if method.iterate == "last" else kernel.average(state)
    profile = nearest_profile(problem.game, _to_plans(kernel, vector))
    if constraints is None:
        return profile, problem.certify(profile)
    multipliers = constraints.multipliers(state.multipliers.average)
    return profile, problem.certify(profile, multipliers, constraints.evidence(state.multipliers))


def _first_bound(method: RegretMethod, problem: Problem) -> MultiplierBound | None:
    """Return the bound of multipliers that a method begins with, if it has one."""
    beta = method.beta if isinstance(method, CCFR) else None
    if beta is None:
        return None
    if isinstance(problem, ConstrainedNash) and problem.penalty is not None:
        raise UnsupportedProblemError(
            f"{method.name} got beta={beta!r} for a problem with penalty {shown(problem.penalty)}, which bounds the "
            "multipliers itself: leave out one of the two"
        )
    return MultiplierBound(float(beta))


def _excluded(
    problem: ConstrainedNash,
    plans: "Sequence[Floats]",
    multipliers: "Mapping[str, float]",
    evidence: "Mapping[str, Floats]",
) -> bool:
    """Whether the proportions of a player's multipliers prove that its constraints cannot be met together."""
    for player in range(2):
        own = problem.of_player(player)
        most = max((multipliers[constraint.name] for constraint in own), default=0.0)
        # A plan that meets them all says no.
        if most > 0.0 and any(constraint.value(plans[player]) > 0.0 for constraint in own):
            shares = {constraint.name: multipliers[constraint.name] / most for constraint in own}
            weights = [shares[constraint.name] for constraint in own]
            slopes, offset = weighted_minorant(own, weights, plans[player], evidence)
            if PlayerView(problem.game, player).most(-slopes) >= offset:
                continue  # a plan exists that these proportions do not exclude
            profile = nearest_profile(problem.game, plans)
            lower = LeastViolation(problem.game, player, own).certify(profile, shares, evidence).lower
            if lower is not None and excluded(own, shares, lower, profile[player].plan):
                return True
    return False


def _to_plans(kernel: Kernel, vector: "Floats") -> "Sequence[Floats]":
    return [kernel.layout.to_user(player, vector) for player in range(kernel.layout.num_players)]


def next_chunk(chunk: int, took: float, left: float) -> int:
    """Return how many iterations fill a call, growing at most fourfold, and no longer than the time that is left."""
    fit = chunk * min(CALL_SECONDS, max(left, 0.0)) / max(took, 1e-9)
    return max(1, min(4 * chunk, int(fit)))


def _start(
    method: RegretMethod,
    problem: Problem,
    kernel: Kernel,
    options: Options,
    constraints: KernelConstraints | None,
    bound: MultiplierBound | None,
    preferences: "PreferenceArrays | None",
) -> tuple[KernelState, MultiplierBound | None]:
    """Return the state to go on from, and its bound: copies of a solution's, or a fresh one that plays the profile."""
    start = options.start
    if isinstance(start, Solution):
        kept = start.state
        identity = None if constraints is None else constraints.identity
        same = start.problem.game.fingerprint == problem.game.fingerprint
        if isinstance(kept, RegretState) and kept.method == method and same and kept.constraints == identity:
            state = kernel.adopt(kept.state, kept.kernel, constraints, preferences)
            state.next_check = state.iteration  # it may be good enough as it is
            return state, kept.bound
        start = start.profile
    if start is None:
        return kernel.initial_state(constraints, preferences, first_regrets(method, kernel, options)), bound
    if not isinstance(start, Profile):
        raise InvalidStrategyError(f"start is {shown(start)}, expected a Profile or a Solution")
    check_same_game(start[0], problem.game)
    vector = np.zeros(kernel.layout.size)
    for strategy in start:
        kernel.layout.from_user(strategy.player, strategy.behaviour, out=vector)
    return kernel.start_from(vector, constraints=constraints, preferences=preferences), bound


def first_regrets(method: RegretMethod, kernel: Kernel, options: Options) -> "Floats | None":
    """Return the random regrets that a run begins with, in the order of sequences; none where they are to be zero."""
    if not method.initial_regrets:
        return None
    random = np.random.default_rng(checked_seed(options.seed))
    regrets = np.zeros(kernel.layout.size)
    for player, count in enumerate(kernel.layout.num_sequences):
        kernel.layout.from_user(player, np.append(0.0, method.initial_regrets * random.random(count - 1)), out=regrets)
    return regrets


@functools.cache
def warm(number: type, curved: bool = False, preferring: bool = False) -> None:
    """Compile the loop, or load it from its cache, on a tiny game, so that no solve's seconds hold that."""
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[1.0, -1.0], [-1.0, 1.0]]))
    ball = DistanceConstraint(L2Distance(Strategy.uniform(game, 0)), 1.0, "ball")
    kernel = Kernel(build_layout(game.sequence_form, number))
    constraints = KernelConstraints.of(ConstrainedNash(game, [ball]), kernel.layout) if curved else None
    preferences = kernel_preferences(game, preference_on(game), kernel.layout, False) if preferring else None
    state = kernel.initial_state(constraints, preferences)
    kernel.run(state, Rule(), 2, constraints=constraints)
    kernel.average(state)
