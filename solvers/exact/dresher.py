"""Normal-form proper strategies of zero-sum games by Dresher's procedure in sequence form."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from ...models.programs.linear_program import ProgramBlocks
from ...models.programs.rational_program import RationalProgram
from ...models.programs.triplets import Triplets
from ...models.saddle import PlayerView
from ...seqform.errors import TimeLimitError
from ...seqform.limits import counted_now
from ...seqform.polytope import Treeplex
from ...seqform.rationals import Fractions
from ...seqform.rationals import to_fractions as to_fractions_of
from .rational_solve import optimal_basis
from .rational_vertex import Basis, Point, to_fractions


@dataclass(frozen=True, eq=False)
class ProperPlan:
    """A normal-form proper plan of one player.

    Attributes
    ----------
    plan : ndarray of Fraction, shape (num_sequences,)
    gains : list of Fraction
        What the opponent loses at least by mistakes of each round, in increasing order.
    steps : int
        The number of linear programs.
    """

    plan: Fractions
    gains: list[Fraction]
    steps: int


def proper_plan(view: PlayerView, deadline: float) -> ProperPlan:
    """Return a normal-form proper plan of the player of a view, which is in fractions.

    Raises
    ------
    TimeLimitError

    Notes
    -----
    If the opponent plays a sequence σ, it loses at least the sum S(σ) of the slacks of Fᵀ q ≤ Mᵀ x along the way to σ,
    for any q with f · q = v. Each round maximises the least S(σ) over the sequences that are left, keeping the sums of
    earlier rounds. A sequence with a positive multiplier loses the same under all optimal plans, and is left no longer.
    :doc:`/theory/refinements` proves that the result is what Dresher's procedure finds among all pure strategies.
    """
    program = _blocks(view, is_round=False)
    columns, multipliers, _ = _solved(program, None, deadline)
    value, plan = columns[program.columns["values"]][0], columns[program.columns["plan"]]
    left = multipliers[program.rows["response"]] == 0  # the opponent may play the others in an equilibrium
    losses = np.full(len(left), Fraction(0), dtype=object)
    gains: list[Fraction] = []
    basis = None
    while left.any():
        program = _blocks(view, is_round=True, value=value, left=left, losses=losses)
        columns, multipliers, basis = _solved(program, basis, deadline)
        plan = columns[program.columns["plan"]]
        gains.append(columns[-1])
        found = left & (multipliers[program.rows["losses"]] != 0)
        losses[found] = gains[-1]
        left &= ~found
    return ProperPlan(plan, gains, 1 + len(gains))


def _solved(
    program: RationalProgram, basis: Basis | None, deadline: float
) -> tuple[Fractions, Fractions, Basis | None]:
    """Return the columns, the multipliers and the basis of a program's optimum."""
    point, found = optimal_basis(program, basis, deadline - counted_now())
    if not isinstance(point, Point):
        raise TimeLimitError("the time limit was reached before a proper strategy was proven")
    return to_fractions(point.columns), to_fractions(point.multipliers), found


def _blocks(
    view: PlayerView, *, is_round: bool, value: Any = None, left: Any = None, losses: Any = None
) -> RationalProgram:
    """Return the program of an equilibrium, with slacks, or that of a round."""
    blocks, other = ProgramBlocks(exact=True), view.other
    count, one = other.num_sequences, np.arange(other.num_sequences)
    blocks.add_columns("plan", view.own.num_sequences, lower=0.0)
    blocks.add_columns("values", other.E.shape[0], objective=to_fractions_of(other.e) * (not is_round))
    blocks.add_columns("slacks", count, lower=0.0)
    blocks.add_rows("plan", {"plan": view.own.E}, lower=view.own.e, upper=view.own.e)
    terms = {"values": other.E.T, "slacks": _ones((count, count), one, one)}
    if view.factored is None:
        terms["plan"] = -view.matrices[0].T
    else:
        first, second = view.matrices
        blocks.add_columns("factors", first.shape[1])
        terms["factors"] = -second.T
        links = {"plan": -first.T, "factors": Triplets.of(view.factored.links.T)}
        blocks.add_rows("factors", links, lower=0.0, upper=0.0)
    blocks.add_rows("response", terms, lower=0.0, upper=0.0)
    if is_round:
        blocks.add_columns("loss", 1, objective=1.0)
        bound = to_fractions_of([value])
        blocks.add_rows("value", {"values": Triplets.of(other.e[None, :])}, lower=bound, upper=bound)
        place = np.flatnonzero(left)
        loss = -_ones((count, 1), place, 0 * place)
        blocks.add_rows("losses", {"slacks": _ways(other), "loss": loss}, lower=losses)
    return RationalProgram.of_blocks(blocks, maximise=True)


def _ones(shape: tuple[int, int], rows: Any, columns: Any) -> Triplets:
    """Return a matrix of zeros and ones."""
    return Triplets(shape, rows.astype(np.int64), columns.astype(np.int64), to_fractions_of(np.ones(len(rows))))


def _ways(treeplex: Treeplex) -> Triplets:
    """Return the matrix that sums numbers of sequences along the way to each sequence."""
    ways: list[list[int]] = [[0]] + [[]] * (treeplex.num_sequences - 1)
    for parent, (first, stop) in zip(treeplex.parents.tolist(), pairwise(treeplex.offsets.tolist()), strict=True):
        ways[first:stop] = [[*ways[parent], sequence] for sequence in range(first, stop)]
    rows = np.repeat(np.arange(len(ways)), [len(way) for way in ways])
    return _ones((len(ways), len(ways)), rows, np.concatenate(ways))
