"""Proofs that no commitment pays more: linear programs in which some of the follower's moves are made or excluded."""

import heapq
from itertools import count
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from ...models.problems import Stackelberg
from ...models.programs.linear_program import LinearProgram
from ...seqform.arrays import Floats
from ...seqform.limits import seconds_left
from .highs_models import load, objective_factor, run_solver

#: The largest number of linear programs, and of their multipliers.
_MOST_PROGRAMS, _MOST_MULTIPLIERS = 1_000, 4_000_000
#: The distance from the optimum at which a part needs no division, in units of the leader's payoff.
_CLOSE = 5e-8
#: Multipliers that prove that a program has no solution are scaled up to this, in steps.
_SCALES = 8.0 ** np.arange(10)
#: What the follower loses by a move counts as at least this, in units of its payoff.
_LEAST_LOSS = 1e-6
#: The states in which a linear program leaves a proof.
_SOLVED = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible)


def divided(problem: Stackelberg, earned: float, root: Floats) -> dict[str, Floats]:
    """Return a dual certificate of what any commitment earns, from parts of the follower's pure plans.

    The part with the largest bound is divided by a fractional move of its linear relaxation: the one at which the
    follower loses most, because the bound is loose where it claims moves that are not best replies. This ends when all
    bounds are near what a commitment earns, or time or the number of programs runs out.

    Parameters
    ----------
    problem : Stackelberg
    earned : float
        What the best known commitment earns, in units of the payoff.
    root : ndarray of float64
        The multipliers of the linear relaxation.

    Returns
    -------
    dict
        The arrays ``relaxation`` and ``fixed`` of :meth:`Stackelberg.certify <treeplex.Stackelberg.certify>`.
    """
    program = problem.integer_program().program
    moves = program.columns["follower"]
    size, number = moves.stop - moves.start, count()
    losses = sp.csr_array(program.matrix)[program.rows["losses"]]
    columns = np.arange(moves.start, moves.stop, dtype=np.int32)
    solver = load(program)
    solver.setOptionValue("presolve", "off")  # each program starts from the basis of the one before
    free = np.full(size, -1.0)
    parts = [(-problem.relaxed(root, free), next(number), free, root)]
    done = []
    most = min(_MOST_PROGRAMS, _MOST_MULTIPLIERS // program.shape[0])
    while parts and -parts[0][0] > earned + _CLOSE and next(number) < 3 * most and seconds_left():
        bound, _, fixed, known = heapq.heappop(parts)
        solver.changeColsBounds(size, columns, (fixed == 1.0).astype(float), (fixed != 0.0).astype(float))
        solver.setOptionValue("time_limit", seconds_left())
        interrupted = run_solver(solver, interruptible=False)
        if not interrupted and solver.getModelStatus() not in _SOLVED and seconds_left():
            solver.clearSolver()  # the basis of the program before may be a bad start
            interrupted = run_solver(solver, interruptible=False)
        if interrupted:
            heapq.heappush(parts, (bound, next(number), fixed, known))
            break
        multipliers, values = _multipliers(problem, program, solver, fixed, known, earned)
        apart = np.zeros(size) if values is None else np.minimum(values[moves], 1.0 - values[moves])
        apart[fixed >= 0.0] = 0.0
        if values is not None:
            apart[1:] *= np.maximum(losses @ values, 0.0) + _LEAST_LOSS
        move = int(np.argmax(apart))
        most_here = problem.relaxed(multipliers, fixed)
        if most_here <= earned + _CLOSE or apart[move] <= 1e-7 * _LEAST_LOSS:
            done.append((fixed, multipliers if most_here <= -bound else known))
            continue
        for made in (0.0, 1.0):
            part = fixed.copy()
            part[move] = made
            heapq.heappush(parts, (-problem.relaxed(multipliers, part), next(number), part, multipliers))
    done += [(fixed, known) for _, _, fixed, known in parts]
    return {"fixed": np.array([one for one, _ in done]), "relaxation": np.array([one for _, one in done])}


def _multipliers(
    problem: Stackelberg, program: LinearProgram, solver: Any, fixed: Floats, known: Floats, earned: float
) -> tuple[Floats, Floats | None]:
    """Return multipliers that bound a part, and the columns of its linear program if it has a solution."""
    if solver.getModelStatus() == highspy.HighsModelStatus.kOptimal:
        found = solver.getSolution()
        return np.array(found.row_dual) * objective_factor(program), np.array(found.col_value)
    if solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        _, exists, ray = solver.getDualRay()
        for scale in _SCALES if exists else ():  # the part's bound falls along the ray, without end
            for sign in (1.0, -1.0):
                tried = known + sign * scale * np.array(ray)
                if problem.relaxed(tried, fixed) <= earned:
                    return tried, None
    return known, None
