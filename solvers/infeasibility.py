"""Why constraints cannot be met: the least violation, and constraints that exclude each other."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..models.constraints import Constraint, LinearConstraint
from ..models.problems import FeasibilityRelaxation, Problem, restored
from ..seqform.errors import SolverError, TimeLimitError
from ..seqform.game import Game
from ..seqform.limits import Answer
from ..seqform.strategy import Profile
from .answer_parts import Infeasibility, Relaxation
from .certification import LIMITS, proven
from .dispatch import solved
from .exclusion import EXCLUDED, proof_weights
from .methods import Method
from .outcome import Options, Outcome, Status, nearest_profile
from .relaxations import find_relaxations, is_proven, least_violation
from .second_questions import second_question
from .solution import Solution

#: The description of this computation in messages.
_SOUGHT = "whether the constraints can be met"
#: The ratio of sizes above which linear constraints are divided by their sizes.
_SPREAD = 1e3
#: Seconds after which a least violation that floats do not prove is no longer computed in fractions.
_PATIENCE = 10.0


def judged(
    problem: Any, method: Method, options: Options, outcome: Outcome, answer: Answer
) -> tuple[Outcome, Solution | None, str]:
    """Determine whether a method has no answer because constraints cannot be met.

    Parameters
    ----------
    problem : Problem
    method : Method
    options : Options
    outcome : Outcome
    answer : Answer
        The answer of the solve; Ctrl-C then ends only this computation.

    Returns
    -------
    outcome : Outcome
        With the status that ended the question, if Ctrl-C or the time limit did.
    infeasible : Solution or None
        The answer that constraints cannot be met, with the closest strategy.
    reason : str
        Why there is no result; empty if there is one.
    """
    if not _is_in_doubt(problem, options, outcome):
        return outcome, None, ""
    found: Infeasibility | None = None
    reason = ""
    try:
        with answer.seeking_more(), second_question(_SOUGHT, "infeasibility") as asked:
            # Constraints with a penalty can always be met: a method that reports otherwise lacks accuracy.
            if problem.penalty is None:
                found = find_infeasibility(problem, exact=method.is_exact, relaxations=True)
        if asked.is_late:
            plans = outcome.plans if outcome.stopped is Status.ITERATION_LIMIT else None
            outcome = replace(outcome, plans=plans, stopped=Status.TIME_LIMIT)
        elif asked.reason:
            reason = str(asked)
            outcome = replace(outcome, detail=asked.added_to(outcome.detail))
    except KeyboardInterrupt:
        if outcome.plans is None:
            raise
        outcome = replace(outcome, stopped=Status.INTERRUPTED)
    return outcome, None if found is None else _infeasible(problem, method, options, outcome, found), reason


def _is_in_doubt(problem: Problem, options: Options, outcome: Outcome) -> bool:
    """Whether constraints may be impossible to meet: the method reports it, or found no strategies that meet them.

    If constraints are only slightly incompatible, learned multipliers prove it late.
    """
    if outcome.stopped in (Status.INFEASIBLE, Status.UNBOUNDED):
        return True
    if outcome.plans is None:
        return outcome.stopped not in LIMITS
    if outcome.stopped is not Status.ITERATION_LIMIT or not problem.hard_constraints or not options.tol:
        return False
    if outcome.proof is None:
        profile = nearest_profile(problem.game, outcome.plans)
        _, certificate = proven(problem, profile, outcome.multipliers, outcome.dual_certificate)
    else:
        _, certificate = outcome.proof
    return bool(problem.missed(certificate))


def _infeasible(problem: Problem, method: Method, options: Options, outcome: Outcome, found: Infeasibility) -> Solution:
    """Return the solution that reports infeasible constraints, with the closest strategy."""
    strategies = list(Profile.uniform(problem.game))
    strategies[found.player] = found.strategy
    profile = Profile(strategies)
    certificate = replace(problem.certify(profile), objective=None, lower=None, upper=None)
    return Solution(
        problem=problem,
        method=method,
        profile=profile,
        status=Status.INFEASIBLE,
        message=f"{Status.INFEASIBLE.advice} ({found})",
        certificate=restored(problem, certificate),
        tolerance=options.tol,
        iterations=outcome.iterations,
        seconds=outcome.seconds,
        build_seconds=outcome.build_seconds,
        infeasibility=found,
    )


def find_infeasibility(
    problem: Any, exact: bool = False, *, conflict: bool = True, relaxations: bool = False
) -> Infeasibility | None:
    """Return why a problem's constraints cannot be met; ``None`` if they can, or there are none.

    Parameters
    ----------
    problem : Problem
        A problem with ``constraints``, such as :class:`~treeplex.ConstrainedNash`. Its penalty is ignored.
    exact : bool
        Whether to compute violations in fractions, and also the infeasible subsystem if floats do not prove one.
    conflict : bool
        Whether to compute an irreducible infeasible subsystem (IIS), which takes longer than everything else. There
        is none if a time limit comes first.
    relaxations : bool
        Whether also to compute how much to loosen constraints; omitted if a time limit or a solver failure ends it.

    Returns
    -------
    Infeasibility or None
        For the first player whose constraints cannot be met.

    Notes
    -----
    The multipliers of the least violation identify constraints that cannot be met together. A deletion filter then
    tests each of these and removes it if the rest still cannot be met (J. W. Chinneck, E. W. Dravnieks, "Locating
    minimal infeasible constraint sets in linear programs", ORSA Journal on Computing 3, 1991). Feasibility does not
    depend on the units of constraints, so linear constraints of very different sizes are first divided by their sizes.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game
    >>> from treeplex.solvers.infeasibility import find_infeasibility
    >>> game = load_game("kuhn")
    >>> x = game.plan(0)
    >>> bounds = {"often": x[2] >= 0.7, "seldom": x[2] <= 0.4, "never fold": x[3] <= 0.1}
    >>> print(find_infeasibility(ConstrainedNash(game, bounds)))
    often, seldom exclude each other; the least sum of violations is 0.3
    """
    if isinstance(problem, FeasibilityRelaxation):
        return None  # this program always has a solution: a solver that reports otherwise gives no information
    game: Game = problem.game
    constraints: Sequence[Constraint] = problem.constraints
    for player in range(game.num_players):
        own = [constraint for constraint in constraints if constraint.player == player]
        if not own:
            continue
        judged = _evened(own)
        proof = least_violation(game, player, judged)
        decided_exactly = exact and not is_proven(judged, proof)
        if decided_exactly:
            judged, proof = own, least_violation(game, player, own, exact=True)
        if not is_proven(judged, proof):
            continue
        if exact:
            least, largest = (least_violation(game, player, own, measure, exact=True) for measure in ("sum", "largest"))
            if not is_proven(own, least):
                continue  # the violation was only round-off
        elif judged is own:
            least, largest = proof, least_violation(game, player, own, "largest")
        else:
            least, largest = (_certified_least(game, player, own, measure) for measure in ("sum", "largest"))
        excluding: list[Constraint] = []
        with contextlib.suppress(TimeLimitError):
            excluding = _irreducible(game, player, judged, proof, decided_exactly) if conflict else []
        loosened: tuple[Relaxation, ...] = ()
        if excluding and relaxations:
            with contextlib.suppress(TimeLimitError, SolverError):  # the conflict is known even so
                loosened = find_relaxations(game, player, own, [one.name for one in excluding], exact=exact)
        return Infeasibility(
            player=player,
            least_violation=least.exact.objective if exact else least.objective,
            proven=least.lower,
            largest_violation=largest.exact.objective if exact else largest.objective,
            conflict=tuple(constraint.name for constraint in excluding),
            strategy=least.profile[player],
            violations=dict(least.certificate.violations),
            relaxations=loosened,
        )
    return None


def _certified_least(game: Game, player: int, constraints: Sequence[Constraint], measure: str = "sum") -> Any:
    """Return the least violation of constraints of very different sizes, in fractions if floats do not prove it."""
    least = least_violation(game, player, constraints, measure)
    if least.lower >= 0.999 * least.objective or not all(isinstance(one, LinearConstraint) for one in constraints):
        return least
    problem = FeasibilityRelaxation(game, player, tuple(constraints), measure)  # type: ignore[arg-type]
    exact = solved(problem, "rational", time_limit=_PATIENCE)
    return least if exact.exact is None else exact


def _evened(constraints: Sequence[Constraint]) -> Sequence[Constraint]:
    """Return constraints, with linear ones divided by their sizes if these are far apart."""
    linear = [one for one in constraints if isinstance(one, LinearConstraint)]
    sizes = [size for one in linear if (size := one.largest_coefficient)]
    if not sizes or max(*sizes, 1.0) <= _SPREAD * min(*sizes, 1.0):
        return constraints
    return [_divided(one) if isinstance(one, LinearConstraint) else one for one in constraints]


def _divided(constraint: LinearConstraint) -> LinearConstraint:
    """Return a constraint divided, without rounding, by a power of two near its largest coefficient."""
    size = constraint.largest_coefficient
    unit = 2.0 ** round(math.log2(size)) if size else 1.0
    terms = dict(zip(constraint.indices.tolist(), (constraint.coefficients / unit).tolist(), strict=True))
    return LinearConstraint(
        constraint.player, terms, constraint.limit / unit, constraint.name, fingerprint=constraint.fingerprint
    )


def _irreducible(
    game: Game, player: int, constraints: Sequence[Constraint], least: Any, exact: bool
) -> list[Constraint]:
    """Return constraints that cannot be met together, but can be if any one of them is dropped."""
    remaining = _support(constraints, least)
    for candidate in list(remaining):
        if candidate not in remaining:
            continue
        rest = [constraint for constraint in remaining if constraint is not candidate]
        without = least_violation(game, player, rest, exact=exact) if rest else None
        if without is not None and is_proven(rest, without):
            remaining = _support(rest, without)
    return remaining


def _support(constraints: Sequence[Constraint], least: Any) -> list[Constraint]:
    """Return the constraints whose multipliers prove that they cannot be met together."""
    weights = proof_weights(constraints, least.multipliers, least.strategy.plan)
    return [one for one, weight in zip(constraints, weights, strict=True) if weight > EXCLUDED * max(weights)]
