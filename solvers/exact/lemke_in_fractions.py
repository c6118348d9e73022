"""Equilibria of two players in fractions: the basis that Lemke's algorithm finds, or the whole path."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint
import numpy as np

from ...models.problems import EpsilonNash
from ...models.problems.complementarity import Complementarity
from ...models.programs.triplets import Triplets, exact_payoffs
from ...seqform.arrays import Floats
from ...seqform.limits import counted_now
from ...seqform.polytope import Treeplex
from ...seqform.rationals import Fractions, exact_plan
from ..answer_parts import ExactAnswer
from ..outcome import Options, Outcome, Status, nearest_profile
from .lemke_path import Path, float_path, follow
from .rational_linear_algebra import SingularMatrixError, SparseSystem
from .rational_vertex import to_flint, to_fractions

if TYPE_CHECKING:
    from ..methods import Rational

#: Up to this many sequences, a path is followed in fractions if the last basis in floats is not that of an equilibrium.
_SMALL = 400


def run(method: "Rational", problem: EpsilonNash, options: Options) -> Outcome:
    """Find an equilibrium in fractions; see :class:`~treeplex.Rational`."""
    built = counted_now()
    path, prior = float_path(problem, options)
    begun = counted_now()
    stopped = follow(path, options, begun)
    exact, detail = None, f"{path.pivots:,} pivots"
    plans: Sequence[Any] = path.plans(prior)
    if stopped in (Status.OPTIMAL, Status.UNCERTIFIED):
        exact, stopped, detail = repaired(problem, path, prior, options, begun)
        if exact is not None:
            plans = exact.rounded_plans
    profile = nearest_profile(problem.game, plans)
    return Outcome(
        plans=plans,
        proof=(profile, problem.certify(profile)),
        stopped=stopped,
        detail=detail,
        iterations=path.pivots,
        seconds=counted_now() - begun,
        build_seconds=begun - built,
        exact=exact,
    )


def repaired(
    problem: EpsilonNash, path: Path, prior: Sequence[Floats], options: Options, begun: float
) -> tuple[ExactAnswer | None, Status, str]:
    """Return the equilibrium of a path's last basis in fractions, or that of a path in fractions.

    Returns
    -------
    tuple of ExactAnswer or None, Status and str
        ``None`` if there is no equilibrium with that basis and the game is too large for a path in fractions, or a
        limit ends it. The string describes the outcome.
    """
    payoffs = exact_payoffs(problem.game, 0), exact_payoffs(problem.game, 1).T
    treeplexes = problem.game.sequence_form.treeplexes
    answer = _proven(problem, _at_basis(treeplexes, payoffs, path.played))
    if answer is not None:
        return answer, Status.OPTIMAL, f"{path.pivots:,} pivots; the last basis was solved in fractions"
    answer = _proven(problem, _exactly(treeplexes, path.plans(prior)))  # of a degenerate game, often pure
    if answer is not None:
        return answer, Status.OPTIMAL, f"{path.pivots:,} pivots"
    size = sum(treeplex.num_sequences for treeplex in treeplexes)
    if size > _SMALL:
        return None, Status.UNCERTIFIED, f"the last of {path.pivots:,} bases in floats is not that of an equilibrium"
    begin = _exactly(treeplexes, prior)
    exactly = ExactPath(Complementarity.of(treeplexes, [_dense(matrix) for matrix in payoffs], begin))
    stopped = follow(exactly, options, begun)
    answer = _proven(problem, exactly.plans(begin)) if stopped is Status.OPTIMAL else None
    return answer, stopped, f"{exactly.pivots:,} pivots in fractions"


def _proven(problem: EpsilonNash, plans: Sequence[Fractions] | None) -> ExactAnswer | None:
    """Return plans with their certificate if no player gains anything by playing differently."""
    if plans is None:
        return None
    certificate = problem.certify_exact(plans)
    if certificate.epsilon != 0 or certificate.residual > 0:
        return None
    return ExactAnswer(tuple(plans), {}, certificate)


def _exactly(treeplexes: Sequence[Treeplex], plans: Sequence[Floats]) -> list[Fractions]:
    """Return plans with the same probabilities of actions, as fractions."""
    return [exact_plan(treeplex, treeplex.behaviour(plan)) for treeplex, plan in zip(treeplexes, plans, strict=True)]


def _at_basis(
    treeplexes: Sequence[Treeplex], payoffs: Sequence[Triplets], played: Sequence[int]
) -> list[Fractions] | None:
    """Return the plans that play only some sequences and make those of the other player equally good, in fractions.

    ``None`` if the equations are not as many as the unknowns or have no single solution.
    """
    first = treeplexes[0].num_sequences
    mine = [number for number in played if number < first]
    sequences = [mine, [number - first for number in played[len(mine) :]]]
    plans = []
    for player in (0, 1):
        own, other = sequences[player], sequences[1 - player]
        system = _Equations()
        system.add(Triplets.of(treeplexes[player].E), None, own, 0, 0)
        rows, columns = treeplexes[player].num_infosets + 1, len(own)
        system.add(payoffs[1 - player] * -1, other, own, rows, 0)
        system.add(Triplets.of(treeplexes[1 - player].E).T, other, None, rows, columns)
        if rows + len(other) != columns + treeplexes[1 - player].num_infosets + 1:
            return None
        try:
            solution = system.solve(rows + len(other))
        except SingularMatrixError:
            return None
        plan = np.full(treeplexes[player].num_sequences, Fraction(0))
        plan[own] = to_fractions(solution[:columns])
        plans.append(plan)
    return plans


class _Equations:
    """The entries of a square system whose right-hand side is the first unit vector; every row becomes integer."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, Fraction]] = []

    def add(
        self, block: Triplets, rows: Sequence[int] | None, columns: Sequence[int] | None, top: int, left: int
    ) -> None:
        """Add the given rows and columns of a block at a place; all of them by default."""
        kept = [
            {number: start + place for place, number in enumerate(range(size) if chosen is None else chosen)}
            for chosen, size, start in zip((rows, columns), block.shape, (top, left), strict=True)
        ]
        for row, column, value in zip(block.rows.tolist(), block.columns.tolist(), block.values, strict=True):
            if row in kept[0] and column in kept[1]:
                self._entries.append((kept[0][row], kept[1][column], value))

    def solve(self, size: int) -> list[flint.fmpq]:
        """Return the solution.

        Raises
        ------
        SingularMatrixError
        """
        common = [1] * size
        for row, _, value in self._entries:
            common[row] = math.lcm(common[row], value.denominator)
        rows, columns = (np.array([entry[place] for entry in self._entries], dtype=np.int64) for place in (0, 1))
        values = [flint.fmpz(int(value * common[row])) for row, _, value in self._entries]
        right = [flint.fmpq(0)] * size
        right[0] = flint.fmpq(common[0])
        return SparseSystem(size, rows, columns, values).solve(right)


def _dense(matrix: Triplets) -> Fractions:
    found = np.full(matrix.shape, Fraction(0))
    np.add.at(found, (matrix.rows, matrix.columns), matrix.values)
    return found


class ExactPath(Path):
    """A path in FLINT's rational numbers."""

    def __init__(self, program: Complementarity) -> None:
        super().__init__(program)
        self._entries: Any = flint.fmpq_mat([list(map(to_flint, row)) for row in program.dictionary])

    def _blocking(self, entering: int) -> tuple[list[int], list[flint.fmpq]]:
        decrease = [-self._entries[row, entering] for row in range(len(self._basic))]
        return [row for row, one in enumerate(decrease) if one > 0], decrease

    def _smallest(self, rows: Sequence[int], decrease: list[flint.fmpq], place: int) -> list[int]:
        sign = 1 if place == 0 else -1
        ratios = [sign * self._entries[row, place] / decrease[row] for row in rows]
        least = min(ratios)
        return [row for row, ratio in zip(rows, ratios, strict=True) if ratio == least]

    def _pivot(self, row: int, column: int) -> None:
        entries = self._entries
        height, width = entries.nrows(), entries.ncols()
        factors = [entries[place, column] for place in range(height)]
        solved = [-entries[row, place] / factors[row] for place in range(width)]
        solved[column] = 1 / factors[row]
        for place in range(height):
            entries[place, column] = 0
        factors[row] = flint.fmpq(0)
        entries += flint.fmpq_mat(height, 1, factors) * flint.fmpq_mat(1, width, solved)
        for place in range(width):
            entries[row, place] = solved[place]
        self._entries = entries

    @property
    def constants(self) -> list[Fraction]:
        """The values of the basic variables."""
        return list(to_fractions([self._entries[row, 0] for row in range(len(self._basic))]))
