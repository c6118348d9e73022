"""Checks of depth-limited responses: each step against its linear program, and the certificate against theory."""

import math
from collections.abc import Iterator
from itertools import islice

from ..models.problems import CDBRNE, LBR, SES
from ..models.problems.stepped import DepthLimitedResponse, SteppedResponse
from ..seqform.errors import SolverError
from ..solvers import Solution, Status
from ..solvers.depth_limited.linear_programs import ProgramStepSolver
from ..solvers.methods import DepthLimitedLP
from ..solvers.outcome import Options

_EVERY = slice(None)
_UNLIMITED = Options(tol=0.0, violation=0.0, max_iterations=2**31 - 1, time_limit=math.inf)


def step_optima(solution: Solution, steps: slice = _EVERY) -> Iterator[float]:
    """Yield the optimal value of each step of a response, as HiGHS computes it.

    Parameters
    ----------
    solution : Solution
        A solution of a depth-limited response.
    steps : slice
        The steps to solve.

    Yields
    ------
    float
        Payoff units.

    Raises
    ------
    SolverError
        If HiGHS does not solve a step.

    Notes
    -----
    A step may have several optimal plans. Methods choose differently among them, and the programs of later steps
    contain these choices, so the solutions of two methods share only the program of the first step. This function
    solves the programs that contain the decisions of the given solution; with gadgets they also contain the values from
    its own earlier steps.

    Examples
    --------
    >>> from treeplex import CDBR, Strategy, load_game, solve
    >>> from treeplex.validation.steps import step_optima
    >>> game = load_game("kuhn")
    >>> response = solve(CDBR(game, Strategy.uniform(game, 1), lookahead=1), "cfr+", tol=1e-3)
    >>> [step.objective <= best <= step.upper for step, best in zip(response.certificate.steps, step_optima(response))]
    [True, True]
    """
    problem, game = solution.problem, solution.problem.game
    assert isinstance(problem, SteppedResponse)
    plan = solution.profile[problem.player].plan
    solver = ProgramStepSolver.of(DepthLimitedLP(), game)
    asked = range(len(solution.certificate.steps))[steps]
    replayed = problem.replayed(plan, solution.dual_certificate)
    for number, (_, program, _) in enumerate(islice(replayed, asked.stop)):
        if number in asked:
            if solver.solve(program, _UNLIMITED) is None:
                if solver.stopped is Status.INTERRUPTED:
                    raise KeyboardInterrupt
                raise SolverError(f"{problem.name} on {game.spec}: the program of step {number}: {solver.detail}")
            yield game.as_paid(solver.optimum, problem.player) if problem.steps_are_payoffs else solver.optimum


def compare_steps(solution: Solution, slack: float, steps: slice = _EVERY) -> tuple[float, bool]:
    """Compare the steps of a response with :func:`step_optima`.

    Parameters
    ----------
    solution : Solution
    slack : float
        The allowed round-off, in payoff units.
    steps : slice
        The steps to compare.

    Returns
    -------
    difference : float
        The largest difference between the value of a step's plan and the optimum of the step.
    consistent : bool
        Whether each optimum lies within the bounds that the certificate proves for its step.
    """
    pairs = list(zip(solution.certificate.steps[steps], step_optima(solution, steps), strict=True))
    difference = max((abs(step.objective - best) for step, best in pairs), default=0.0)
    return difference, all(step.objective - slack <= best <= step.upper + slack for step, best in pairs)


def broken_guarantees(solution: Solution, slack: float) -> Iterator[str]:
    """Yield a message for each guarantee of a depth-limited response that its certificate contradicts.

    Parameters
    ----------
    solution : Solution
    slack : float
        The allowed round-off, in payoff units.

    Notes
    -----
    The first step can play an equilibrium strategy, so its upper bound is at least the value of the game, or 0 for
    ``ses``, whose objective is relative to an equilibrium. The other guarantees need steps in the whole game: ``cdbr``,
    ``cdbr-ne``, and ``cdrnr`` with the full gadget or p = 1. There a step can continue with the previous step's plan,
    so its upper bound is at least the value of that plan. Along levels, the response is worth at least the plan of the
    last step, and :meth:`~treeplex.CDRNR.safety_bound` bounds its exploitability. If plans are mixed, ``cdbr-ne`` gains
    at least p times the gain of the plan of its steps, and loses at most p times its loss. ``lbr`` guarantees nothing,
    and neither do the first steps of gadgets with a blueprint.
    """
    problem, certificate = solution.problem, solution.certificate
    steps = certificate.steps
    whole = isinstance(problem, DepthLimitedResponse) and problem.start().whole
    if not steps or isinstance(problem, LBR) or (not whole and getattr(problem, "blueprint", None) is not None):
        return
    assert isinstance(problem, SteppedResponse)
    assert certificate.game_value is not None
    assert certificate.gain is not None
    least = 0.0 if isinstance(problem, SES) else certificate.game_value
    # The certificate is in the payoffs of the given game; its steps may lack the constant to which these sum.
    lacking = (
        0.0 if problem.steps_are_payoffs or isinstance(problem, SES) else problem.game.as_paid(0.0, problem.player)
    )
    lower, upper = ([getattr(step, end) + lacking for step in steps] for end in ("objective", "upper"))
    if not upper[0] >= least - slack:
        yield f"the upper bound {upper[0]:.3g} of the first step is below {least:.3g}, that of an equilibrium strategy"
    if not whole:
        return
    assert isinstance(problem, DepthLimitedResponse)
    for number, step in enumerate(problem.steps[: len(steps)]):
        if step.before is not None and not upper[number] >= lower[step.before] - slack:
            yield f"the upper bound of step {number} is below the value of the plan of step {step.before}"
    if problem.along != "level":
        return
    bound, worth = solution.safety_bound, lower[-1]
    if isinstance(problem, CDBRNE) and problem.mixing == "infoset":
        return
    if isinstance(problem, CDBRNE):
        p, decided = float(problem.p), solution.dual_certificate["decided"]
        bound = p * (problem.known_value() - problem.view().worst_case(decided))
        if not certificate.gain >= (least_gain := p * (worth - certificate.game_value)) - slack:
            yield f"gain {certificate.gain:.3g} below {least_gain:.3g}, p times that of the last step"
    elif not (certificate.objective is not None and certificate.objective >= worth - slack):
        yield f"objective {certificate.objective:.3g} below {worth:.3g}, the value of the last step's plan"
    if bound is not None and not certificate.exploitability <= bound + slack:
        yield f"exploitability {certificate.exploitability:.3g} above its bound {bound:.3g}"
