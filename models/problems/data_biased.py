"""Responses to a model that is trusted more at some infosets than at others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidGameError, UnsupportedProblemError, shown
from ..declarations import Confidences
from ..programs.program_blocks import ProgramBlocks
from ..programs.rational_program import RationalProgram
from .problem import Answer, Certificate
from .responses import ResponseProblem
from .side import Side

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class DataBiasedResponse(ResponseProblem):
    """A data-biased response: at each infoset the opponent plays the model with a probability of its own.

    max over x, min over y of xᵀ M y, where at every infoset I of the opponent y plays the model with probability p(I),
    and whatever it likes otherwise.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponent : Strategy
        The model ŷ.
    p : float, mapping of infoset labels to floats, or array_like of shape (num_infosets,)
        p(I) from 0 to 1, such as n / (n + k) with n the number of times that the infoset was observed. One number
        stands for all infosets; infosets that a mapping leaves out have 0.
    game_value : float, optional
        The value of the game to the player who responds, for gain and exploitability; found if it is not given.

    Raises
    ------
    InvalidGameError
        If it is no game, or p are no probabilities of the opponent's infosets.
    InvalidStrategyError
        If the opponent is no strategy of the game.
    UnsupportedProblemError
        If the game is not zero-sum, or not of two players.

    Notes
    -----
    M. Johanson, M. Bowling, "Data biased robust counter strategies", AISTATS 2009. With b̂ the model's behaviour the
    opponent's plans are those with y(I, a) ≥ p(I) b̂(I, a) y(σ(I)), that is H y ≤ 0, and the linear program is

        max f · q  such that  E x = e, x ≥ 0, Fᵀ q − Hᵀ μ ≤ Mᵀ x, μ ≥ 0,

    whose multipliers of the last rows are the opponent's plan. What a plan guarantees is computed by backward
    induction: v(I) = p(I) Σ_a b̂(I, a) v(I, a) + (1 − p(I)) min_a v(I, a). One p for all infosets is not the restricted
    Nash response for p, whose opponent decides once, at the start.

    Examples
    --------
    Kuhn poker against an opponent of whom only the first answers are known:

    >>> from treeplex import DataBiasedResponse, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> model = Strategy.uniform(game, 1)
    >>> known = {infoset: 0.9 for infoset in ("J_p", "Q_p", "K_p")}
    >>> solution = solve(DataBiasedResponse(game, model, p=known))
    >>> round(solution.objective, 6), round(solution.gain, 6)
    (0.133333, 0.222222)
    """

    p: Confidences = field(kw_only=True)
    name: ClassVar[str] = "data-biased"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "p", self._probabilities())

    def _probabilities(self) -> Floats:
        other, given = self.side.other, self.p
        if isinstance(given, Mapping):
            values = np.zeros(other.num_infosets)
            for label, number in given.items():
                infoset = other.find_infoset(label)
                if infoset is None:
                    raise InvalidGameError(f"{self.name}: player {self.opponent.player} has no infoset {shown(label)}")
                values[infoset] = _probability(self.name, number)
        else:
            try:
                values = np.array(given, dtype=np.float64)
            except (TypeError, ValueError, OverflowError):
                values = np.full(1, np.nan)
            if values.ndim == 0:
                values = np.full(other.num_infosets, float(values))
            if values.shape != (other.num_infosets,) or not ((values >= 0.0) & (values <= 1.0)).all():
                raise InvalidGameError(
                    f"{self.name}: p is {shown(given)}, expected a number from 0 to 1, a mapping of infosets to such "
                    f"numbers, or an array of {other.num_infosets} of them"
                )
        values.flags.writeable = False
        return values

    @cached_property
    def floor(self) -> Floats:
        """What the opponent plays at least, p(I) b̂(I, a), shape (num_sequences,); 0 for the empty sequence."""
        other = self.side.other
        return np.concatenate([[0.0], np.repeat(self.p, other.num_actions) * self.opponent.behaviour[1:]])

    @cached_property
    def _bounds(self) -> sp.csr_array:
        """H, a row a sequence but the empty one."""
        other = self.side.other
        owners = other.sequence_infosets[1:]
        least = sp.diags_array(self.floor[1:]) @ other.inflow[owners]
        own = sp.eye_array(other.num_sequences, format="csr")[1:]
        return sp.csr_array(least - own)

    def _blocks(self, side: Side) -> ProgramBlocks:
        blocks = ProgramBlocks()
        side.add_plan(blocks)
        blocks.add_columns("prices", self._bounds.shape[0], lower=0.0)
        side.add_response(blocks, 1.0, {"prices": -self._bounds.T})
        return blocks

    def rational_program(self) -> RationalProgram:
        """Refuse: there is no program in fractions.

        Raises
        ------
        UnsupportedProblemError
        """
        raise UnsupportedProblemError(f"{self.name} has no program in fractions: use highs")

    def _read(self, side: Side, primal: Mapping[str, Any], dual: Mapping[str, Any]) -> Answer:
        """Return the response, and the opponent's plan from the multipliers of the ``response`` rows."""
        return Answer(self._plans(primal["plan"], dual["response"] / side.unit))

    def to_cvxpy(self) -> "cp.Problem":
        """Return the same program in cvxpy, on ``game.plan`` of the player who responds and in payoff units."""
        import cvxpy as cp

        plan = self.game.plan(self.player)
        prices = cp.Variable(self._bounds.shape[0], nonneg=True, name="prices")
        values, response, definitions = self.side.cvxpy_response(plan, self._bounds.T @ prices)
        return cp.Problem(
            cp.Maximize(self.side.other.e @ values),
            [response, self.side.own.E @ plan == self.side.own.e, *definitions],
        )

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return the response and the opponent's plan from the solved program of :meth:`to_cvxpy`."""
        plan = np.asarray(self.game.plan(self.player).value)
        return Answer(self._plans(plan, np.asarray(solved.constraints[0].dual_value)))

    def _certify(
        self, side: Side, plans: Sequence[Any], multipliers: Mapping[str, Any], evidence: Mapping[str, Any]
    ) -> Certificate:
        """Compute what a response guarantees against such opponents, and what the opponent's plan allows at most."""
        own, other = plans[self.player], plans[1 - self.player]
        opponent = side.other.plan(self._biased(side.other.behaviour(other)))
        return self._certificate(side, plans, self._guaranteed(own), side.best_case(opponent))

    def _biased(self, behaviour: Floats) -> Floats:
        """Return the behaviour nearest to a given one that plays the model as often as it must."""
        offsets = self.side.other.offsets[:-1]
        counts = self.side.other.num_actions
        free = np.maximum(behaviour - self.floor, 0.0)[1:]
        totals = np.add.reduceat(free, offsets - 1)
        shares = np.where(np.repeat(totals, counts) > 0.0, free, 1.0)
        totals = np.add.reduceat(shares, offsets - 1)
        biased: Floats = self.floor + np.concatenate([[1.0], np.repeat((1.0 - self.p) / totals, counts) * shares])
        return biased

    def _guaranteed(self, own: Floats) -> float:
        """Return the least that a plan earns against opponents who play the model as often as they must."""
        other = self.side.other
        values = self.game.sequence_form.gradient(1 - self.player, [own, own]).copy()
        modelled = self.opponent.behaviour
        for level in reversed(other.levels):
            here = values[level.sequences]
            expected = np.add.reduceat(here * modelled[level.sequences], level.starts)
            best = np.maximum.reduceat(here, level.starts)
            trusted = self.p[level.infosets]
            level.pass_up(trusted * expected + (1.0 - trusted) * best, values)
        return -float(values[0])


def _probability(name: str, number: Any) -> float:
    try:
        value = float(number)
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if isinstance(number, bool) or not 0.0 <= value <= 1.0:
        raise InvalidGameError(f"{name}: p is {shown(number)}, expected a number from 0 to 1")
    return value
