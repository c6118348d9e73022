"""A value function that solves the rest of the game by regret minimisation at each query."""

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from ...models.depth_limited import LeafStates
from ...seqform.arrays import Floats
from ...seqform.checks import check_number, check_whole
from ...seqform.errors import InvalidOptionError, UnknownMethodError, shown
from ..iteration import NEVER
from ..methods import CFR, DCFR, CFRPlus, PCFRPlus, RegretMethod, find_method
from ..regret.arrays import DONE, PartArrays
from ..regret.kernel import Kernel, KernelState
from ..regret.layout import layout_from_matrices
from ..regret.placement import Treeplexes
from .value_functions import BorderValues

#: Iterations before the first computation of the gap in a query with a tolerance.
_FIRST_CHECK = 8
#: The factor of undiscounted regrets between two queries, so that the regrets of earlier queries do not outweigh the
#: next one's; measured on Leduc poker and goofspiel, where 1 was worse than a cold start.
_CARRIED = 0.1
#: The number of cached answers.
_KEPT = 1024


@dataclass(eq=False)
class _Rest:
    """The rest of the game below a border, in the arrays of a kernel."""

    border: LeafStates
    kernel: Kernel
    state: KernelState
    nothing: Floats


class CFRValue:
    """A value function that solves the rest of the game by iterations of regret minimisation.

    All public states of a border are solved at once, on arrays that contain only the rest of the game. Values are those
    of best replies to the average strategies, so they are also correct at entries that a player never reaches. The sum
    of range times value over both players is the gap of the average strategies, which is the error of the query.

    Parameters
    ----------
    iterations : int
        The iterations of a query.
    method : str or RegretMethod
        ``cfr+``, ``pcfr+``, ``dcfr`` or ``cfr``.
    warm : bool
        Whether a query starts with the regrets of the previous query at the same sequences of the game.
    tolerance : float
        The gap at which a query ends early, in payoff units.

    Attributes
    ----------
    queries, answered, iterations_done : int
        The numbers of queries and of cached answers, and the iterations of all queries.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex import load_game
    >>> from treeplex.solvers import CFRValue
    >>> from treeplex.models.depth_limited import LeafStates
    >>> kuhn = load_game("kuhn")
    >>> border = LeafStates.of(kuhn, kuhn.public_tree.levels <= 1)  # player 0 passed, player 1 bet
    >>> [label for label, _ in map(tuple, border.way_labels(1))]
    ['Q_p', 'K_p', 'J_p']
    >>> answer = CFRValue(500).query(border, (np.ones(3), np.array([0.0, 1.0, 1 / 3])))  # a bluff in three jacks
    >>> [round(float(value), 3) for value in answer.values[0]], answer.error < 1e-3
    ([-0.167, -0.222, 0.111], True)
    """

    def __init__(
        self, iterations: int = 500, method: str | RegretMethod = "cfr+", warm: bool = True, tolerance: float = 0.0
    ) -> None:
        self.iterations = check_whole(iterations, "CFRValue: iterations", InvalidOptionError, "[1, inf)")
        self.tolerance = check_number(tolerance, "CFRValue: tolerance", InvalidOptionError, "[0, inf]")
        self.warm = bool(warm)
        found = find_method(method) if isinstance(method, str) else method
        if type(found) not in (CFR, CFRPlus, DCFR, PCFRPlus):
            raise UnknownMethodError(f"CFRValue: method is {shown(method)}, expected cfr, cfr+, dcfr or pcfr+")
        self.method: RegretMethod = found  # type: ignore[assignment]
        self.rule = self.method.local_rule
        self.queries = self.answered = self.iterations_done = 0
        self._rest: _Rest | None = None
        #: The latest answers at the last border, by ranges.
        self._answers: OrderedDict[bytes, BorderValues] = OrderedDict()

    def __repr__(self) -> str:
        return f"CFRValue(iterations={self.iterations}, method={self.method.name!r}, warm={self.warm})"

    @property
    def name(self) -> str:
        """The name in tables and messages."""
        return f"{self.method.name}:iterations={self.iterations}"

    def anew(self) -> "CFRValue":
        """Return the same value function without memory, so that one solve does not affect another."""
        return CFRValue(self.iterations, self.method, self.warm, self.tolerance)

    def query(self, border: LeafStates, ranges: tuple[Floats, Floats]) -> BorderValues:
        """Return the values of all entries of a border; see :class:`ValueFunction`."""
        self.queries += 1
        rest = self._begin(border)
        key = ranges[0].tobytes() + b"|" + ranges[1].tobytes()
        if key in self._answers:
            self.answered += 1
            self._answers.move_to_end(key)
            return self._answers[key]
        if not self.warm:
            rest.state = rest.kernel.initial_state()
        elif isinstance(self.method, CFR):
            rest.state.arrays.regrets[:] *= _CARRIED
        part = self._given(rest, ranges)
        alternating = self.method.updates == "alternating"
        done, step = 0, _FIRST_CHECK if self.tolerance > 0.0 else self.iterations
        while True:
            step = min(step, self.iterations - done)
            rest.state.next_check = NEVER
            rest.kernel.run(rest.state, self.rule, step, alternating=alternating, part=part)
            done += step
            answer = self._answer(rest, ranges)
            assert answer.error is not None
            if done >= self.iterations or answer.error <= self.tolerance:
                break
            step = done
        self.iterations_done += done
        self._answers[key] = answer
        if len(self._answers) > _KEPT:
            self._answers.popitem(last=False)
        return answer

    def _begin(self, border: LeafStates) -> _Rest:
        """Return the rest of the game below a border; if `warm`, it keeps the regrets from the previous border."""
        rest = self._rest
        if rest is None or rest.border is not border:
            parents, offsets = [each.parents for each in border.rest], [each.offsets for each in border.rest]
            kernel = Kernel(layout_from_matrices(Treeplexes(parents, offsets), border.payoffs))
            state, layout = kernel.initial_state(), kernel.layout
            if self.warm and rest is not None and rest.border.game is border.game:
                self._carry(rest, border, kernel, state)
            rest = self._rest = _Rest(border, kernel, state, np.zeros(layout.size))
            self._answers.clear()
        return rest

    @staticmethod
    def _carry(rest: _Rest, border: LeafStates, kernel: Kernel, state: KernelState) -> None:
        """Copy regrets and behaviour at the sequences that the previous and the new rest of the game have in common."""
        for player in (0, 1):
            _, here, there = np.intersect1d(
                border.sequences[player], rest.border.sequences[player], assume_unique=True, return_indices=True
            )
            for name, scale in (("regrets", rest.kernel.layout.unit / kernel.layout.unit), ("behaviour", 1.0)):
                of_rest = rest.kernel.layout.to_user(player, getattr(rest.state.arrays, name))
                array = getattr(state.arrays, name)
                now = kernel.layout.to_user(player, array)
                now[1 + border.num_ways[player] + here] = scale * of_rest[1 + rest.border.num_ways[player] + there]
                kernel.layout.from_user(player, now, out=array)

    def _given(self, rest: _Rest, ranges: tuple[Floats, Floats]) -> PartArrays:
        """Convert ranges to the loop's arrays, and recompute the state's plans with them."""
        kernel, state, border = rest.kernel, rest.state, rest.border
        layout = kernel.layout
        inflow = np.zeros(layout.size)
        for player, weights in enumerate(ranges):
            treeplex = border.rest[player]
            # The loop needs a weight of one at the empty sequence; no leaf is paid there.
            firsts = layout.positions[player][treeplex.offsets[: len(weights)]]
            inflow[firsts] = weights - 1.0
            plan = border.plan(player, layout.to_user(player, state.arrays.behaviour), weights)
            plan[0] = 1.0
            layout.from_user(player, plan, out=state.arrays.plan)
        state.arrays.plan_sums[:] = 0.0
        state.arrays.clock[DONE] = 0  # so that averages contain only the iterations of this query
        return PartArrays(rest.nothing, rest.nothing, inflow)

    def _answer(self, rest: _Rest, ranges: tuple[Floats, Floats]) -> BorderValues:
        border, kernel = rest.border, rest.kernel
        average = kernel.average(rest.state)
        behaviours, plans = [], []
        for player in (0, 1):
            weights = np.maximum(kernel.layout.to_user(player, average), 0.0)
            behaviour = border.rest[player].behaviour(weights)
            behaviours.append(behaviour)
            plans.append(border.plan(player, behaviour, ranges[player]))
        values = border.best_values(0, plans[1]), border.best_values(1, plans[0])
        gap = float(ranges[0] @ values[0] + ranges[1] @ values[1])
        return BorderValues(values, max(gap, 0.0), (behaviours[0], behaviours[1]))
