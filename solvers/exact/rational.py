"""Problems solved exactly, as linear programs in fractions."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...models.problems import EpsilonNash, Feature, SaddleProblem
from ...models.saddle import Answer, rational_program
from ...seqform.arrays import Floats
from ...seqform.errors import InvalidOptionError, TimeLimitError, UnsupportedProblemError
from ...seqform.limits import counted_now, seconds_left
from ..answer_parts import ExactAnswer
from ..outcome import Options, Outcome, Status
from .rational_solve import Refinement, read_point
from .rational_vertex import to_flint, to_float

if TYPE_CHECKING:
    from ..methods import Rational


def run(method: "Rational", problem: SaddleProblem | EpsilonNash, options: Options) -> Outcome:
    """Solve a problem's rational program; see :class:`~treeplex.solvers.Rational`."""
    if options.start is not None:
        raise InvalidOptionError(f"{method.name} does not accept a start: use an iterative method")
    built = counted_now()
    treeplexes = problem.game.sequence_form.treeplexes
    size = sum(treeplex.num_sequences + treeplex.num_infosets for treeplex in treeplexes) // 2
    if size > method.largest:
        other = "dcfr" if isinstance(problem, EpsilonNash) else "highs-simplex"
        raise UnsupportedProblemError(
            f"{problem.game.spec} has {size:,} sequences and infosets per player, too many for method {method.name}, "
            f"which accepts at most {method.largest:,}: use {other}"
        )
    if isinstance(problem, EpsilonNash):
        from .lemke_in_fractions import run as find_equilibrium

        return find_equilibrium(method, problem, options)
    if Feature.REFINED in problem.needs:
        from .refinements import run_refined

        return run_refined(problem, options)  # type: ignore[arg-type]
    program = rational_program(problem.exact_canonical)
    begun = counted_now()
    solver = Refinement(program, begun + seconds_left(options.time_limit), options.max_iterations)
    try:
        solver.run()
    except KeyboardInterrupt:
        solver.stopped = Status.INTERRUPTED
    except TimeLimitError:
        solver.stopped, solver.detail = Status.TIME_LIMIT, "the time limit was reached before a basis was proven"
    answer, exact, detail = None, None, solver.detail
    if solver.point is not None:
        answer = read_point(problem, program, solver.point)
        if solver.point.optimal:
            exact = _proven(problem, answer)
            if exact is None:
                solver.stopped, detail = Status.UNCERTIFIED, "its exact plans do not prove optimality"
    return Outcome(
        plans=None if answer is None else [_floats(plan) for plan in answer.plans],
        multipliers={}
        if answer is None
        else {name: to_float(to_flint(number)) for name, number in answer.multipliers.items()},
        dual_certificate={}
        if answer is None
        else {name: _floats(numbers) for name, numbers in answer.dual_certificate.items()},
        stopped=solver.stopped,
        detail=detail,
        iterations=solver.iterations,
        seconds=counted_now() - begun,
        build_seconds=begun - built,
        state=None if exact is None else solver.basis,
        exact=exact,
    )


def _proven(problem: SaddleProblem, answer: Answer) -> ExactAnswer | None:
    """Return the exact answer if its plans and multipliers prove it independently of the program."""
    certificate = problem.certify_exact(answer.plans, answer.multipliers, answer.dual_certificate)
    if certificate.gap != 0 or problem.error(certificate) > 0 or certificate.residual > 0:
        return None
    plans: Any = answer.plans
    multipliers: Any = answer.multipliers
    return ExactAnswer(tuple(plans), multipliers, certificate)


def _floats(numbers: Any) -> Floats:
    return np.array([to_float(to_flint(number)) for number in np.asarray(numbers).tolist()])
