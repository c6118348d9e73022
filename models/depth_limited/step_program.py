"""The program of one step: a plan's value, the value that a reply allows, and the linear program that finds both."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.polytope import Treeplex, best_response_plan, infoset_values, sequence_values
from ..programs.linear_program import LinearProgram, ProgramBlocks
from .decision_steps import Flags

#: Probabilities at an infoset below this are a solver's round-off.
_ROUND_OFF = 1e-9


@dataclass(frozen=True, eq=False)
class StepAnswer:
    """The solution of a step.

    Attributes
    ----------
    plan : ndarray of float64, shape (num_sequences of the program's own,)
        A realization plan, including below the depth limit.
    reply : ndarray of float64, shape (num_sequences of the reply,)
        The reply of :class:`StepProgram` that proves the plan's quality.
    """

    plan: Floats
    reply: Floats


@dataclass(frozen=True, eq=False)
class StepProgram:
    """The program for one player's best plan if some decisions of either player are already fixed.

    max over x of constant + linear · x + min over y of (Mᵀ x + bonus) · y, such that E x = e, x ≥ 0, x as settled at
    settled infosets, y ≥ 0, and at each infoset J of the reply Σ_a y(J, a) = inflow(J) + y(parent of J), y(∅) = 0.

    Attributes
    ----------
    own : Treeplex
        The player's polytope.
    plan : ndarray of float64, shape (num_sequences of own,)
        A realization plan, used at settled infosets.
    settled : ndarray of bool, shape (num_infosets of own,)
        The infosets whose plan is given; contains all ancestors of its infosets.
    linear : ndarray of float64, shape (num_sequences of own,)
    matrix : csr_array, shape (num_sequences of own, num_sequences of reply)
        M; its first column is ignored.
    reply : Treeplex
        The other player's free decisions, including those of a gadget.
    inflow : ndarray of float64, shape (num_infosets of reply,)
        The weight with which the other player comes to each infoset in addition to its actions in the reply.
    bonus : ndarray of float64, shape (num_sequences of reply,)
    constant : float
    infosets, sequences : ndarray of int64, optional
        The game's indices of the infosets and sequences of ``own``; by default the same.
    held : ndarray of float64, shape (num_sequences of reply,), optional
        The weight with which the model fixes the other player's sequences, where linear = M held; by default 0. A value
        function receives the sum of this and the reply.

    Notes
    -----
    The minimum is that of f · q such that q(J) ≤ (Mᵀ x + bonus)(J, a) + Σ q(K) over the infosets K below (J, a), with f
    the inflow. So the step is a linear program, and the multipliers of those rows are y. Any x proves a lower bound on
    its optimum and any y an upper bound, each by one pass over a polytope.

    Examples
    --------
    Figure 10 of the paper: a player who sees only the two sides values heads at 2/3 and tails at 1/3.

    >>> from treeplex import CDBR, Strategy, load_game
    >>> game = load_game("depth_limited_figure_10")
    >>> problem = CDBR(game, Strategy.from_dict(game, 1, game.rules.model), lookahead=1)
    >>> program = problem.start().program(0)
    >>> for view in ("H", "T"):
    ...     plan = Strategy.from_dict(game, 0, {"_": {view: 1.0}}).plan
    ...     print(view, round(program.guaranteed(plan), 6))
    H 0.666667
    T 0.333333
    >>> round(program.allowed(program.flow(program.reply.uniform_behaviour())), 6)  # a reply that is not the best
    1.833333
    """

    own: Treeplex
    plan: Floats
    settled: Flags
    linear: Floats
    matrix: sp.csr_array
    reply: Treeplex
    inflow: Floats
    bonus: Floats
    constant: float = 0.0
    infosets: npt.NDArray[np.int64] | slice = field(default_factory=lambda: slice(None))
    sequences: npt.NDArray[np.int64] | slice = field(default_factory=lambda: slice(None))
    held: Floats = field(default_factory=lambda: np.zeros(0))

    @cached_property
    def unit(self) -> float:
        """The mean absolute entry of M (1 if all are 0), the unit of q, because solvers' tolerances are absolute."""
        return float(np.abs(self.matrix.data).mean() if self.matrix.nnz else 0.0) or 1.0

    @cached_property
    def settled_sequences(self) -> Flags:
        """The player's settled sequences, including the empty one, shape (num_sequences of own,)."""
        return np.append(True, np.repeat(self.settled, self.own.num_actions))

    @cached_property
    def _transposed(self) -> sp.csr_array:
        return sp.csr_array(self.matrix.T)

    @cached_property
    def replying(self) -> Flags:
        """The infosets of the reply with positive inflow, shape (num_infosets of reply,)."""
        if not self.reply.num_infosets:
            return np.zeros(0, dtype=bool)
        flows: Floats = np.add.reduceat(self.flow(self.reply.uniform_behaviour())[1:], self.reply.offsets[:-1] - 1)
        return flows > 0.0

    def bounds(self) -> tuple[Floats, Floats]:
        """Return lower and upper bounds on each entry of x."""
        given = self.settled_sequences
        return np.where(given, self.plan, 0.0), np.where(given, self.plan, np.inf)

    def costs(self) -> Floats:
        """Return the objective of :meth:`linear_program`: ``linear``, then the inflow in units of :attr:`unit`."""
        return np.concatenate([self.linear, self.inflow * self.unit])

    def response_limits(self) -> Floats:
        """Return the right-hand sides of the rows ``response``; infinite if there is no inflow."""
        replying = np.repeat(self.replying, self.reply.num_actions)
        return np.where(replying, self.bonus[1:] / self.unit, np.inf)

    def linear_program(self) -> LinearProgram:
        """Return the program without the constant.

        Columns ``plan`` (x) and ``values`` (q, in units of :attr:`unit`), rows ``plan`` (E x = e) and ``response``.
        """
        lower, upper = self.bounds()
        costs = self.costs()
        blocks = ProgramBlocks()
        count = self.own.num_sequences
        blocks.add_columns("plan", count, objective=costs[:count], lower=lower, upper=upper)
        blocks.add_columns("values", self.reply.num_infosets, objective=costs[count:])
        blocks.add_rows("plan", {"plan": self.own.E}, lower=self.own.e, upper=self.own.e)
        terms = {"plan": self._transposed[1:] * (-1.0 / self.unit), "values": self.reply.E.T.tocsr()[1:, 1:]}
        blocks.add_rows("response", terms, upper=self.response_limits())
        return blocks.program(maximise=True)

    def read(self, primal: Mapping[str, Floats], dual: Mapping[str, Floats]) -> StepAnswer:
        """Return plan and reply from a solution of :meth:`linear_program`, without round-off."""
        # The rows are in units of the matrix, so their multipliers are the reply's weights times that unit.
        behaviour = self.reply.behaviour(np.append(1.0, np.maximum(dual["response"] / self.unit, 0.0)))
        return StepAnswer(self.completed(_cleaned(self.own, primal["plan"])), self.flow(behaviour))

    def given(self, of_game: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Convert an array over the player's infosets to one over its sequences; the empty sequence gets True.

        Parameters
        ----------
        of_game : ndarray of bool, shape (num_infosets of the player in the game,)
        """
        return np.append(True, np.repeat(of_game[self.infosets], self.own.num_actions))

    def completed(self, behaviour: Floats) -> Floats:
        """Return the plan that keeps the settled part and follows a behaviour elsewhere."""
        given = self.settled_sequences
        return self.own.plan(np.where(given, self.own.behaviour(self.plan), behaviour))

    def flow(self, behaviour: Floats) -> Floats:
        """Return the reply y of a behaviour, shape (num_sequences of reply,)."""
        flow = np.array(behaviour, dtype=np.float64)
        flow[0] = 0.0
        for level in self.reply.levels:
            flow[level.sequences] *= np.repeat(level.reach(flow) + self.inflow[level.infosets], level.counts)
        return flow

    def best_reply(self, plan: Floats) -> Floats:
        """Return the behaviour of a worst-case reply to a plan, shape (num_sequences of reply,)."""
        return best_response_plan(self.reply, -self._payoffs(plan)).behaviour

    def values(self, plan: Floats) -> Floats:
        """Return a plan's worst-case value at each infoset of the reply, shape (num_infosets of reply,)."""
        return -infoset_values(self.reply, -self._payoffs(plan))

    def sequence_values(self, plan: Floats) -> Floats:
        """Return a plan's worst-case value at each sequence of the reply, shape (num_sequences of reply,)."""
        return -sequence_values(self.reply, -self._payoffs(plan))

    def _payoffs(self, plan: Floats) -> Floats:
        payoffs: Floats = self._transposed @ plan + self.bonus
        payoffs[0] = 0.0
        return payoffs

    def guaranteed(self, plan: Floats) -> float:
        """Return a plan's value in the step, a lower bound on the optimum."""
        return float(self.constant + self.linear @ plan + self.inflow @ self.values(plan))

    def allowed(self, reply: Floats) -> float:
        """Return the value that a reply allows the best plan, an upper bound on the optimum."""
        gradient = self.linear + self.matrix @ reply
        given = self.settled_sequences
        total = float(self.constant + self.bonus @ reply + self.plan[given] @ gradient[given])
        first = ~self.settled & given[self.own.parents]
        return total + float(self.plan[self.own.parents[first]] @ infoset_values(self.own, gradient)[first])

    def gap(self, answer: StepAnswer) -> float:
        """Return the proven gap of an answer: the value that its reply allows minus its plan's value."""
        return self.allowed(answer.reply) - self.guaranteed(answer.plan)


def _cleaned(treeplex: Treeplex, plan: Floats) -> Floats:
    """Return a solver's plan as a behaviour, with tiny probabilities set to zero."""
    behaviour = treeplex.behaviour(np.maximum(plan, 0.0))
    behaviour[behaviour < _ROUND_OFF] = 0.0
    return treeplex.behaviour(behaviour)  # those of an infoset then sum to one again
