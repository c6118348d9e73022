"""Linear programs restricted to the sequences that strategies play or nearly play."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...models.programs.linear_program import LinearProgram
from ...models.saddle import Saddle
from ...seqform.arrays import Floats
from ...seqform.polytope import Treeplex, infoset_maxima, sequence_values


@dataclass(frozen=True, eq=False)
class Restriction:
    """Sequences of x and of y that a saddle program may use; the others have probability 0.

    Attributes
    ----------
    saddle : Saddle
        A program with a weight, without a floor, and against all plans of the other player.
    own, other : ndarray of bool, shape (num_sequences of the player,)

    Notes
    -----
    Suppose that x and y meet their constraints and prove, with prices λ and μ, lower ≤ optimum ≤ upper. Let r(s) be the
    loss of the sequence s of x against the best one of its infoset, against y and with prices paid. An optimal x* earns
    at least the optimum against y, and exactly upper − Σ x*(s) r(s), or less if constraints have slack. So

        Σ_s x*(s) r(s) ≤ upper − lower,

    and the same for y: optimal plans hardly use sequences that lose much. The certificate, in which both players choose
    from all their sequences, finds the exceptions.
    """

    saddle: Saddle
    own: npt.NDArray[np.bool_]
    other: npt.NDArray[np.bool_]

    @classmethod
    def near(
        cls,
        saddle: Saddle,
        own: Floats,
        other: Floats,
        multipliers: Mapping[str, Any],
        subgradients: Mapping[str, Any],
        slack: float,
    ) -> "Restriction":
        """Return the sequences that lose at most ``slack`` against x and y, in units of the objective."""
        mine, theirs = saddle.gradients(own, other, multipliers, subgradients)
        view = saddle.view
        return cls(saddle, _losses(view.own, mine) <= slack, _losses(view.other, theirs) <= slack)

    def __or__(self, more: "Restriction") -> "Restriction":
        return Restriction(self.saddle, self.own | more.own, self.other | more.other)

    @property
    def size(self) -> int:
        """Number of both players' kept sequences that can be reached through kept sequences."""
        return int(sum(reached.sum() for reached in self._reached))

    @property
    def is_whole(self) -> bool:
        """Whether the restriction keeps all sequences."""
        return bool(self.own.all() and self.other.all())

    def of(self, program: LinearProgram) -> LinearProgram:
        """Return the saddle's linear program; columns of omitted sequences are fixed at 0, their rows unbounded."""
        columns, rows = program.column_upper.copy(), program.row_upper.copy()
        own, other = self._reached
        columns[program.columns["plan"]][~own] = 0.0
        rows[program.rows["response"]][~other] = np.inf
        return replace(program, column_upper=columns, row_upper=rows)

    @cached_property
    def _reached(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """The kept sequences of x and of y to which kept sequences lead."""
        view = self.saddle.view
        return view.own.plan(self.own) > 0.0, view.other.plan(self.other) > 0.0


def _losses(treeplex: Treeplex, gradient: Floats) -> Floats:
    """Return the loss of each sequence relative to the best sequence of its infoset."""
    values = sequence_values(treeplex, gradient)
    return np.append(0.0, np.repeat(infoset_maxima(treeplex, values), treeplex.num_actions) - values[1:])
