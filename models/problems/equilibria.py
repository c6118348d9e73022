"""Nash equilibria of two players as an integer program: each sequence is unplayed, or costs its player nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.polytope import infoset_values, sequence_values
from ...seqform.sequence_form import SequenceForm
from ..programs.integer_program import IntegerProgram
from ..programs.linear_program import LinearProgram, ProgramBlocks
from .stackelberg import Factors


@dataclass(frozen=True, eq=False)
class EquilibriumProgram:
    r"""The Nash equilibria of a two-player game, as the solutions of an integer program.

    Parameters
    ----------
    form : SequenceForm
        Two players.
    weights : sequence of float
        The weights of the players' payoffs in the objective, which is maximised.

    Notes
    -----
    Player i's plan is x_i, its payoff against the other's plan is :math:`u_i(s) = (A_i x_{-i})(s)` at the sequence s,
    and :math:`v_i(I)` is the worth of its infoset I. The loss of s at I is

    .. math:: r_i(s) = v_i(I) - \sum_J w(J, s)\, v_i(J) - u_i(s) \ge 0,

    where w(J, s) is the weight with which s leads to the infoset J. A plan is a best response exactly if no played
    sequence loses, :math:`x_i(s)\, r_i(s) = 0`. A binary b says which factor is zero:

    .. math:: x_i(s) \le b_i(s), \quad r_i(s) \le M_i(s)\, (1 - b_i(s)),

    with M(s) the largest possible loss, computed from the ranges of the payoffs. At an equilibrium player i earns
    :math:`\sum_J w(J, \emptyset)\, v_i(J) + u_i(\emptyset)`, so that objectives of payoffs are linear.

    For bimatrix games: T. Sandholm, A. Gilpin and V. Conitzer, "Mixed-integer programming methods for finding Nash
    equilibria", AAAI 2005. The conditions in sequence form: D. Koller, N. Megiddo and B. von Stengel, "Efficient
    computation of equilibria for extensive two-person games", Games and Economic Behavior 14, 1996.
    """

    form: SequenceForm
    weights: Sequence[float] = (0.0, 0.0)

    @cached_property
    def payoffs(self) -> tuple[Factors, Factors]:
        """Each player's payoff by its own sequences and the other player's."""
        return Factors.paid(self.form, 0, 0), Factors.paid(self.form, 1, 1)

    def integer_program(self) -> IntegerProgram:
        """Return the program in the notes of the class, with the binaries in the columns ``played 0`` and ``played 1``.

        Payoffs and worths are in the units of :attr:`payoffs`, and the objective in the larger unit of the two.
        """
        program = self._program(None)
        integer = np.zeros(program.shape[1], dtype=bool)
        for player in (0, 1):
            integer[program.columns[f"played {player}"]] = True
        return IntegerProgram(program, integer)

    def with_played(self, played: Sequence[npt.NDArray[np.bool_]]) -> LinearProgram:
        """Return the linear program of the equilibria in which only the given sequences may be played."""
        return self._program(played)

    @property
    def unit(self) -> float:
        """The unit of the objective."""
        return max(factors.unit for factors in self.payoffs)

    def _program(self, played: Sequence[npt.NDArray[np.bool_]] | None) -> LinearProgram:
        blocks, plans = ProgramBlocks(), self.form.treeplexes
        for player, plan in enumerate(plans):
            most = 1.0 if played is None else played[player].astype(np.float64)
            blocks.add_columns(f"plan {player}", plan.num_sequences, lower=0.0, upper=most)
            blocks.add_rows(f"plan {player}", {f"plan {player}": plan.E}, lower=plan.e, upper=plan.e)
        for player, (plan, factors) in enumerate(zip(plans, self.payoffs, strict=True)):
            self._add_losses(blocks, player, played)
            earned = f"earned {player}"
            blocks.add_columns(earned, 1, objective=self.weights[player] * factors.unit / self.unit)
            total = {
                f"worth {player}": -sp.csr_array(plan.inflow[:, [0]].T),
                f"quantities {player}": -factors.left[[0]],
            }
            blocks.add_rows(earned, {earned: sp.csr_array(np.ones((1, 1)))} | total, lower=0.0, upper=0.0)
        return blocks.program(maximise=True)

    def _add_losses(self, blocks: ProgramBlocks, player: int, played: Sequence[npt.NDArray[np.bool_]] | None) -> None:
        """Add the worths of a player's infosets and the losses of its sequences, which are 0 where they are played."""
        plan, factors = self.form.treeplexes[player], self.payoffs[player]
        count, size, owners = plan.num_sequences, factors.right.shape[0], plan.sequence_infosets[1:]
        (least, most), (low, high) = factors.quantities, factors.range
        quantities, worths = f"quantities {player}", f"worth {player}"
        blocks.add_columns(quantities, size, lower=least, upper=most)
        made = {quantities: sp.eye_array(size), f"plan {1 - player}": -factors.right}
        blocks.add_rows(quantities, made, lower=0.0, upper=0.0)
        highest = infoset_values(plan, high)
        blocks.add_columns(worths, plan.num_infosets, lower=infoset_values(plan, low), upper=highest)
        here = sp.csr_array((np.ones(count - 1), (np.arange(count - 1), owners)), shape=(count - 1, plan.num_infosets))
        loss = {
            worths: sp.csr_array(here - sp.csr_array(plan.inflow.T)[1:]),
            quantities: sp.csr_array(-factors.left[1:]),
        }
        if played is not None:
            upper = np.where(played[player][1:], 0.0, np.inf)
            blocks.add_rows(f"losses {player}", loss, lower=0.0, upper=upper)
            return
        largest = np.maximum(highest[owners] - sequence_values(plan, low)[1:], 0.0)
        choice, each = f"played {player}", sp.eye_array(count, format="csr")
        blocks.add_columns(choice, count, lower=0.0, upper=1.0)
        blocks.add_rows(choice, {f"plan {player}": each, choice: -each}, upper=0.0)
        blocks.add_rows(f"losses {player}", loss, lower=0.0)
        unplayed = loss | {choice: sp.csr_array(sp.diags_array(largest) @ each[1:])}
        blocks.add_rows(f"best replies {player}", unplayed, upper=largest)
