"""Optimal commitment by HiGHS's branch and bound, and a linear program for the resulting reply."""

from collections.abc import Callable

import numpy as np

from ...models.problems import Stackelberg
from ...models.programs.integer_program import IntegerAnswer, IntegerProgram
from ..outcome import Options, Outcome
from .integer_answers import Strategies, answered, columns_of, optimum


def commit(problem: Stackelberg, options: Options) -> Outcome:
    """Solve a commitment problem; see :class:`~treeplex.solvers.BranchAndBound`."""

    def pose() -> tuple[IntegerProgram, float, Callable[[IntegerAnswer], Strategies]]:
        integer = problem.integer_program()
        return integer, problem.payoffs[1].unit, lambda answer: _committed(problem, integer, answer)

    return answered(problem, options, pose, "commitment that pays more")


def _committed(problem: Stackelberg, integer: IntegerProgram, answer: IntegerAnswer) -> Strategies:
    """Return the reply and the best commitment for it, and the constraints' multipliers while the follower keeps it.

    They are computed by a linear program. If HiGHS finds no optimum, the commitment is that of the integer program.
    """
    reply = answer.columns[integer.program.columns["follower"]]
    leader, prices = answer.columns[integer.program.columns["leader"]], {}
    program = problem.reply_program(reply)
    found = optimum(program)
    if found is not None:
        leader, duals = columns_of(found)[program.columns["leader"]], np.array(found.row_dual)
        prices = {
            one.name: abs(float(duals[program.rows[f"constraint {number}"]][0])) * problem.payoffs[1].unit
            for number, one in enumerate(problem.constraints)
        }
    return Strategies((reply, leader) if problem.follower == 0 else (leader, reply), prices)
