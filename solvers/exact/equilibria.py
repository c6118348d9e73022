"""Equilibria of two players by HiGHS's branch and bound, and a linear program on the sequences that they play."""

from collections.abc import Callable

from ...models.problems import EpsilonNash
from ...models.problems.equilibria import EquilibriumProgram
from ...models.programs.integer_program import IntegerAnswer, IntegerProgram
from ..outcome import Options, Outcome
from .integer_answers import Strategies, answered, columns_of, optimum


def find_equilibrium(problem: EpsilonNash, options: Options) -> Outcome:
    """Find an equilibrium, or the best one for an objective; see :class:`~treeplex.solvers.BranchAndBound`."""

    def pose() -> tuple[IntegerProgram, float, Callable[[IntegerAnswer], Strategies]]:
        equilibria = problem.equilibria
        integer = equilibria.integer_program()
        return integer, equilibria.unit, lambda answer: _polished(equilibria, integer, answer)

    words = problem.objective_words
    return answered(problem, options, pose, words and f"equilibrium with a larger {words}")


def _polished(equilibria: EquilibriumProgram, integer: IntegerProgram, answer: IntegerAnswer) -> Strategies:
    """Return the best equilibrium that plays the same sequences; without an optimum, that of the integer program."""
    values, columns = answer.columns, integer.program.columns
    program = equilibria.with_played([values[columns[f"played {player}"]] > 0.5 for player in (0, 1)])
    found = optimum(program)
    if found is not None:
        values, columns = columns_of(found), program.columns
    return Strategies((values[columns["plan 0"]], values[columns["plan 1"]]))
