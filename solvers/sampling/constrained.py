"""Constrained CFR by the compiled samplers: the rows for walks, the stepper, and its starts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...models.constraints import Constraint
from ...models.problems import Problem
from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.limits import counted_now
from ...seqform.polytope import Treeplex
from ..certification import loop_error, proven
from ..checkpoint import Saved, fill
from ..iteration import iterate
from ..methods import CCFRSampling
from ..outcome import Options, Outcome, checked_seed
from ..solution import RunState, Solution
from . import constrained_kernel
from .constrained_kernel import CostArrays, DualNumbers, MultiplierArrays
from .sampler import Sampler, SamplerState, SamplingStepper, numbers_of, outcome_of, play_first, tree_for
from .tree import HistoryTree

Costs = Literal["auto", "exact", "sampled"]
#: The number of sequences on the paths of a player's rows up to which ``costs="auto"`` is exact.
FEW = 256


class PlayerCosts:
    """The linear rows on one player's plans, and how walks sample them.

    After a sequence, a walk continues to all infosets that lead to a row's sequence, or draws one of them in proportion
    to the possible cost of the rows below it. In outcome sampling it also draws one action at each infoset.

    Parameters
    ----------
    treeplex : Treeplex
    rows : sequence of Constraint
        Linear rows.
    costs : {"auto", "exact", "sampled"}
        Whether walks take all paths. ``auto``: if these have at most 256 sequences.
    exploration : float, optional
        In outcome sampling, the weight of the uniform policy in the walking player's sampling policy.

    Attributes
    ----------
    exact : bool
    on_the_way : ndarray of bool, shape (num_infosets,)
        The infosets that lead to sequences of the rows.
    shares : ndarray of float64, shape (num_infosets,)
        The probability with which each of them is drawn after its parent sequence.

    Examples
    --------
    >>> from treeplex import load_game, parse_constraint
    >>> game = load_game("kuhn")
    >>> (often,) = parse_constraint("bet@first >= 0.3", game)
    >>> costs = PlayerCosts(game.sequence_form.treeplexes[0], [often], "sampled")
    >>> costs.shares[costs.on_the_way].round(3)  # one of the three cards at a time
    array([0.333, 0.333, 0.333])
    >>> [round(end, 3) for end in costs.extent(often)]  # it bets with that card, or it does not
    [-0.7, 0.3]
    """

    def __init__(
        self, treeplex: Treeplex, rows: Sequence[Constraint], costs: Costs, exploration: float | None = None
    ) -> None:
        self.treeplex, self.rows, self.exploration = treeplex, tuple(rows), exploration
        sizes = np.zeros(treeplex.num_sequences)
        for row in self.rows:
            scale = float(np.abs(row.function.coefficients).max(initial=0.0)) or 1.0
            np.add.at(sizes, row.function.indices, np.abs(row.function.coefficients) / scale)
        sizes[0] = 0.0
        largest = np.zeros(treeplex.num_infosets)
        for level in reversed(treeplex.levels):
            largest[level.infosets] = np.maximum.reduceat(sizes[level.sequences], level.starts)
            level.pass_up(largest[level.infosets], sizes)
        self.on_the_way: NDArray[np.bool_] = largest > 0.0
        totals = np.bincount(treeplex.parents, weights=largest, minlength=treeplex.num_sequences)[treeplex.parents]
        self.shares = largest / np.where(self.on_the_way, totals, 1.0)
        few = int(treeplex.num_actions[self.on_the_way].sum()) <= FEW
        self.exact = costs == "exact" or (costs == "auto" and few)

    def extent(self, row: Constraint) -> tuple[float, float]:
        """Return the smallest and the largest sample of a row's value, for any plan."""
        low, high = (sign * self._most(row, sign) for sign in (-1.0, 1.0))
        constant = float(row.function.constant)
        return low + constant, high + constant

    def _most(self, row: Constraint, sign: float) -> float:
        treeplex = self.treeplex
        values, below = np.zeros(treeplex.num_sequences), np.zeros(treeplex.num_sequences)
        values[row.function.indices] = sign * row.function.coefficients
        for level in reversed(treeplex.levels):
            after = below[level.sequences]
            if self.exploration is not None and not self.exact:  # an action is drawn, and other actions have no samples
                after = np.maximum(after, 0.0) * np.repeat(level.counts, level.counts) / self.exploration
            best = np.maximum.reduceat(values[level.sequences] + after, level.starts)
            if self.exact:
                level.pass_up(best, below)
                continue
            ways = np.flatnonzero(self.on_the_way[level.infosets])
            drawn, found = np.full(len(below), -math.inf), level.infosets[ways]  # one of several after a sequence
            np.maximum.at(drawn, treeplex.parents[found], best[ways] / self.shares[found])
            below = np.where(drawn > -math.inf, drawn, below)
        return float(values[0] + below[0])


@dataclass(frozen=True, eq=False)
class SampledRows:
    """The constraints of a problem in the form that walks use.

    Attributes
    ----------
    constraints : tuple of Constraint
        In the order of the rows.
    of_players : tuple of PlayerCosts
    arrays : CostArrays
    """

    constraints: tuple[Constraint, ...]
    of_players: tuple[PlayerCosts, ...]
    arrays: CostArrays

    @classmethod
    def of(cls, problem: Problem, tree: HistoryTree, method: CCFRSampling) -> "SampledRows":
        """Convert the constraints of a problem to a game's positions.

        Raises
        ------
        UnsupportedProblemError
            If a constraint is not linear, or the penalty is on the largest violation instead of the sum.
        """
        constraints: tuple[Constraint, ...] = tuple(problem.constraints)
        for one in constraints:
            if not one.function.is_affine:
                raise UnsupportedProblemError(
                    f"constraint {shown(one.name)} is not a linear function of a plan, which {method.name} needs: use "
                    "ccfr"
                )
        if problem.penalty is not None and getattr(problem, "penalise", "sum") == "largest":
            raise UnsupportedProblemError(
                f"{method.name} bounds each multiplier, but penalise='largest' bounds their sum: use ccfr"
            )
        rule = method.sampling_rule(tree.num_players)
        exploration = rule.exploration if rule.sampling == "outcome" else None
        treeplexes = problem.game.sequence_form.treeplexes
        of_players = tuple(
            PlayerCosts(treeplex, [one for one in constraints if one.player == player], method.costs, exploration)
            for player, treeplex in enumerate(treeplexes)
        )
        spans = [float(np.ptp(of_players[one.player].extent(one))) or 1.0 for one in constraints]
        positions = [int(tree.bases[one.player]) + one.function.indices.astype(np.int64) for one in constraints]
        counts = [len(each) for each in positions]
        joined = np.concatenate([np.zeros(0, dtype=np.int64), *positions])
        order = np.argsort(joined, kind="stable")
        on_the_way = np.flatnonzero(np.concatenate([each.on_the_way for each in of_players]))
        on_the_way = on_the_way[np.argsort(tree.infosets[on_the_way, 2], kind="stable")]
        shares = np.concatenate([each.shares for each in of_players])[on_the_way]
        size, number = tree.num_positions, len(on_the_way)
        children = np.searchsorted(tree.infosets[on_the_way, 2], np.arange(size + 1))
        unit, penalty = problem.game.sequence_form.payoff_scale or 1.0, problem.penalty
        return cls(
            constraints,
            of_players,
            CostArrays(
                entries=np.searchsorted(joined[order], np.arange(size + 1)).astype(np.uint64),
                owners=np.repeat(np.arange(len(constraints)), counts)[order].astype(np.uint64),
                coefficients=np.concatenate([np.zeros(0), *(one.function.coefficients for one in constraints)])[order],
                children=children.astype(np.uint64),
                infosets=on_the_way.astype(np.uint64),
                shares=shares,
                sums=_sums(shares, children),
                exact=np.array([each.exact for each in of_players]),
                constants=np.array([_constant(one) for one in constraints], dtype=np.float64),
                caps=np.full(len(constraints), math.inf if penalty is None else float(penalty)),
                rates=np.array([unit / span**2 for span in spans], dtype=np.float64),
                queue=np.zeros(number, dtype=np.uint64),
                weights=np.zeros((number, 2)),
                values=np.zeros(size),
            ),
        )

    def by_name(self, of_rows: Floats) -> dict[str, float]:
        """Convert numbers by row to numbers by constraint name."""
        return dict(zip((one.name for one in self.constraints), of_rows.tolist(), strict=True))

    @property
    def identity(self) -> tuple[Any, ...]:
        """A key that is equal for equal rows and bounds of multipliers: one run can then continue another."""
        arrays = self.arrays
        kept = (arrays.entries, arrays.owners, arrays.coefficients, arrays.constants, arrays.caps, arrays.exact)
        return tuple(each.tobytes() for each in kept)


def _constant(constraint: Constraint) -> float:
    """Return the part of a row's function that does not depend on its player's decisions."""
    function = constraint.function
    return float(function.constant) + float(function.coefficients[function.indices == 0].sum())


def _sums(shares: Floats, children: NDArray[np.int64]) -> Floats:
    """Return the cumulative sums of shares, starting at a sequence's first infoset; the last is 1."""
    sums = np.cumsum(shares)
    firsts, lasts = children[:-1], children[1:]
    some = firsts < lasts
    before = np.repeat((sums - shares)[firsts[some]], (lasts - firsts)[some])
    sums = np.minimum(sums - before, 1.0)
    sums[lasts[some] - 1] = 1.0
    return sums


@dataclass(eq=False)
class ConstrainedState:
    """The state of a constrained sampler.

    Attributes
    ----------
    sampler : SamplerState
    duals : MultiplierArrays
    """

    sampler: SamplerState
    duals: MultiplierArrays

    @property
    def changing(self) -> dict[str, Any]:
        """The arrays that iterations change, by name."""
        return self.sampler.changing | {f"multiplier_{name}": each for name, each in self.duals._asdict().items()}

    def copy(self) -> "ConstrainedState":
        """Return an independent copy."""
        return ConstrainedState(self.sampler.copy(), MultiplierArrays(*(each.copy() for each in self.duals)))

    @property
    def average_multipliers(self) -> Floats:
        """The averages of multipliers over iterations, by row; before the first iteration, the current ones."""
        done = self.sampler.iterations
        averages: Floats = self.duals.sums / done if done else self.duals.values.copy()
        return averages


@dataclass(frozen=True, eq=False)
class ConstrainedSamplingState(RunState):
    """The state from which a constrained sampling method continues."""

    method: CCFRSampling
    rows: SampledRows
    state: ConstrainedState
    fresh: bool  # whether regrets began at zero


class ConstrainedStepper(SamplingStepper):
    """The compiled samplers on a problem with constraints; see :class:`SamplingStepper`.

    Parameters
    ----------
    problem : Problem
    options : Options
    sampler : Sampler
    method : CCFRSampling
    rows : SampledRows
    state : ConstrainedState
        Changed in place.
    """

    def __init__(
        self,
        problem: Problem,
        options: Options,
        sampler: Sampler,
        method: CCFRSampling,
        rows: SampledRows,
        state: ConstrainedState,
    ) -> None:
        super().__init__(problem, options, sampler, method.sampling_rule(sampler.tree.num_players), state.sampler)
        self.method, self.rows, self.whole = method, rows, state

    def step(self, iterations: int) -> None:
        """Do walks, and update multipliers."""
        sampler, lanes = self.sampler, self.state.lanes
        assert lanes is not None
        constrained_kernel.run_constrained(
            sampler.tree.arrays,
            sampler.tree.bases,
            self.state.arrays,
            lanes,
            sampler.scratch,
            numbers_of(self.rule, iterations, self.next_check),
            self.rows.arrays,
            self.whole.duals,
            DualNumbers(float(self.method.step), 0.5 if self.method.steps == "decreasing" else 0.0),
        )

    @property
    def multipliers(self) -> dict[str, float]:
        """The average multipliers, by constraint."""
        return self.rows.by_name(self.whole.average_multipliers)

    def check(self) -> float:
        """Return the error of strategies near the averages that meet the constraints."""
        profile = self.sampler.profile(self.problem.game, self.state)
        self.proof = proven(self.problem, profile, self.multipliers, {})
        return loop_error(self.problem, self.proof[1], self.options)

    def saved(self) -> Saved:
        """Return the state of the samplers."""
        return {**self.whole.changing, "due": self.next_check}

    def restore(self, saved: Saved) -> None:
        """Restore the state."""
        fill(self.whole.changing, saved)
        self.next_check = saved["due"]


def run(method: CCFRSampling, problem: Problem, options: Options) -> Outcome:
    """Iterate until the certificate meets the tolerance or a limit is reached."""
    begun = counted_now()
    loop = stepper(method, problem, options)
    build_seconds = counted_now() - begun
    state = ConstrainedSamplingState(method, loop.rows, loop.whole, options.start is None)
    return replace(outcome_of(loop, iterate(loop, options), build_seconds, state), multipliers=loop.multipliers)


def stepper(method: CCFRSampling, problem: Problem, options: Options) -> ConstrainedStepper:
    """Return the compiled samplers on a problem with constraints, ready to start or to be resumed."""
    seed, sampler = checked_seed(options.seed), Sampler(tree_for(problem.game))
    rows = SampledRows.of(problem, sampler.tree, method)
    state = _start(method, problem, sampler, rows, options.start, seed)
    return ConstrainedStepper(problem, options, sampler, method, rows, state)


def _start(
    method: CCFRSampling, problem: Problem, sampler: Sampler, rows: SampledRows, start: Any, seed: int
) -> ConstrainedState:
    """Return the initial state: a copy of a solution's state, or a fresh one that plays the profile."""
    if isinstance(start, Solution):
        kept: Any = start.state
        same = start.problem.game.fingerprint == problem.game.fingerprint
        same = same and isinstance(kept, ConstrainedSamplingState) and kept.method == method
        if same and kept.rows.identity == rows.identity:
            resumed: ConstrainedState = kept.state.copy()
            return resumed
    state = sampler.initial_state(method.sampling_rule(problem.game.num_players), seed, at_once=True)
    play_first(sampler, state, start, problem.game)
    count = len(rows.constraints)
    duals = MultiplierArrays(np.zeros(count), np.zeros(count), np.zeros((3, count)), np.zeros(count))
    return ConstrainedState(state, duals)
