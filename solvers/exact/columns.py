"""Games between some sequences of each player, which grow by best responses; see :class:`~treeplex.solvers.Columns`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...models.constraints import Constraint, LinearConstraint
from ...models.problems import Certificate, SaddleProblem
from ...models.saddle import Answer, PlayerView, Rows, Saddle, linear_program, read_solution
from ...seqform.arrays import Floats, Integers
from ...seqform.errors import TimeLimitError, UnsupportedProblemError, shown
from ...seqform.face import Face, cheapest, game_on_faces
from ...seqform.factored import FactoredPayoff
from ...seqform.game import Game
from ...seqform.limits import counted_now
from ...seqform.polytope import Treeplex, best_response_plan, infoset_maxima, sequence_values
from ...seqform.sequence_form import SequenceForm
from ..checkpoint import Saved
from ..iteration import Checks, Stepper, iterate
from ..outcome import Options, Outcome, Status, nearest_profile
from ..solution import RunState, starting_profile
from .highs_models import TOLERANCE, Attempt, choose_algorithm, load, run_solver, solution_of

if TYPE_CHECKING:
    from ..methods import Columns

#: The largest error of a restricted program, relative to the gap between the bounds so far.
_COARSE = 1e-3
#: Infosets that a player reaches less often than this do not call for new sequences.
_REACHED = 1e-6
#: An infoset calls for new sequences if they gain at least this fraction of the whole gain there.
_NOTABLE = 1e-3
#: The first price of a violation, relative to the game's stakes, the factor by which it grows, and the last one.
_PRICE, _DEARER, _DEAREST = 10.0, 100.0, 1e7
#: The number of sequences of both players up to which the simplex method solves the restricted program.
_SIMPLEX = 1_000


@dataclass(frozen=True)
class Grown(RunState):
    """The record of a solution by column generation.

    Attributes
    ----------
    sequences : tuple of int
        The number of sequences of each player in the last restricted game.
    whole : tuple of int
        The number of sequences of each player in the whole game.
    """

    sequences: tuple[int, int]
    whole: tuple[int, int]

    @property
    def remark(self) -> str:
        """The numbers of sequences in the last program."""
        parts = [f"{part:,} of {whole:,}" for part, whole in zip(self.sequences, self.whole, strict=True)]
        return f"the last program has {' and '.join(parts)} sequences of the players"


class _Side:
    """One player's polytope, and the sequences of its restricted polytope."""

    def __init__(self, treeplex: Treeplex) -> None:
        self.treeplex = treeplex
        self.kept = np.zeros(treeplex.num_sequences, dtype=bool)
        self.kept[0] = True
        self._leads = treeplex.inflow.T.tocsr()
        self.face = Face(treeplex, np.zeros(0, dtype=np.int64))

    def restrict(self) -> None:
        """Make the face of the kept sequences."""
        self.face = Face.spanned(self.treeplex, self.kept)

    def add(self, plan: Floats) -> None:
        """Keep the sequences of a plan."""
        self.kept |= plan > 0.0

    def grow(self, values: Floats, gradient: Floats, plan: Floats, least: float) -> bool:
        """Add the sequences that gain against the other player; return whether there are any.

        Parameters
        ----------
        values : ndarray of float64, shape (num_sequences,)
            The value of each sequence of the whole polytope, if play continues with best responses.
        gradient : ndarray of float64, shape (num_sequences,)
        plan : ndarray of float64, shape (face.treeplex.num_sequences,)
            The plan of the restricted game.
        least : float
            Smaller gains are ignored.
        """
        small, before = self.face.treeplex, int(self.kept.sum())
        if not small.num_infosets:
            return False
        within = sequence_values(small, gradient[self.face.sequences])
        numbers = self.treeplex.sequence_infosets[self.face.sequences[small.offsets[:-1]]]
        gains = infoset_maxima(self.treeplex, values)[numbers] - infoset_maxima(small, within)
        least = max(least, _NOTABLE * float(values[0] - within[0]))
        waiting = np.ones(self.treeplex.num_infosets, dtype=bool)
        waiting[numbers] = gains > least  # elsewhere, the kept sequences are good enough
        called = numbers[(gains > least) & (small.reach(plan) > _REACHED)]
        while len(called):
            waiting[called] = False
            best = self._best(called, values)
            self.kept[best] = True
            called = np.unique(self._leads[best].indices)
            called = called[waiting[called]]
        return int(self.kept.sum()) > before

    def _best(self, infosets: Integers, values: Floats) -> Integers:
        """Return the first best sequence of each infoset."""
        counts = self.treeplex.num_actions[infosets]
        ends = np.cumsum(counts)
        starts = ends - counts
        sequences = np.arange(ends[-1]) + np.repeat(self.treeplex.offsets[infosets] - starts, counts)
        own = values[sequences]
        at_best = np.flatnonzero(own == np.repeat(np.maximum.reduceat(own, starts), counts))
        found: Integers = sequences[at_best[np.searchsorted(at_best, starts)]]
        return found


class _Columns(Stepper):
    """A restricted game, and the best strategies and bounds so far."""

    first_step = 1
    next_check = None
    may_break_off = True  # a linear program may take a long time

    def __init__(self, problem: SaddleProblem, options: Options) -> None:
        self._problem, self._options = problem, options
        self._saddle = saddle = problem.canonical
        _check(problem, saddle)
        self._begun = counted_now()
        self._scale = problem.game.stakes
        self._price = _PRICE * self._scale
        self._iterations = 0
        self._ended: Status | None = None
        self._attempt: tuple[int, Attempt] | None = None
        self.detail = "the restricted programs did not prove better bounds"
        treeplexes = saddle.view.game.sequence_form.treeplexes
        self.sides = [_Side(treeplex) for treeplex in treeplexes]
        self._multipliers: list[dict[str, Any]] = [{}, {}]
        if options.start is not None:
            self._plans = list(starting_profile(options.start, problem.game).plans)
            for side, plan in zip(self.sides, self._plans, strict=True):
                side.add(np.where(plan > _REACHED, plan, 0.0))
                side.kept &= side.treeplex.plan(side.kept.astype(np.float64)) > 0.0
        else:
            self._plans = [treeplex.uniform_plan() for treeplex in treeplexes]
        for side, payoffs in zip(self.sides, saddle.gradients(*self._plans, {}, {}), strict=True):
            side.add(best_response_plan(side.treeplex, payoffs).plan)
        for side, rows in zip(self.sides, (saddle.own_rows, saddle.other_rows), strict=True):
            for one in rows.constraints:
                costs = np.zeros(side.treeplex.num_sequences)
                costs[one.function.indices] = one.function.coefficients
                side.add(best_response_plan(side.treeplex, -costs).plan)
        self.lower, self.upper = -math.inf, math.inf

    @property
    def iterations(self) -> int:
        return self._iterations

    @property
    def remark(self) -> Grown:
        """The sizes of the restricted game."""
        (own, other), wholes = (int(side.kept.sum()) for side in self.sides), self.sides
        return Grown((own, other), (wholes[0].treeplex.num_sequences, wholes[1].treeplex.num_sequences))

    def step(self, iterations: int) -> Checks:
        """Solve restricted games, and add what they lack."""
        done, errors = list[int](), list[float]()
        while len(done) < iterations and self._ended is None and not (errors and errors[-1] <= self._options.tol):
            try:
                self._round()
            except TimeLimitError:
                self._ended = Status.TIME_LIMIT
                break
            self._iterations += 1
            done.append(self._iterations)
            errors.append(self.check())
        is_met = bool(errors) and 0.0 < self._options.tol >= errors[-1]
        return Checks(np.array(done, dtype=np.int64), np.array(errors), is_met)

    def look(self) -> Status | None:
        """Return the final status if there is nothing left to add."""
        return self._ended

    def check(self) -> float:
        """Return the error that the best strategies prove."""
        if not math.isfinite(self.upper - self.lower):
            return 2.0 * self._problem.game.payoff_scale
        middle = (self.lower + self.upper) / 2
        gap = max(0.0, self.upper - self.lower)
        found = Certificate(
            value=(middle, -middle),
            objective=middle,
            lower=middle - gap / 2,
            upper=middle + gap / 2,
            exploitability=gap / 2,
            residual=0.0,
            violations={},
        )
        return float(self._problem.error(found))

    def confirms(self) -> bool:
        """Whether the certificate of the whole answer also meets the tolerance."""
        return self.attempt().excess == 0.0

    def attempt(self) -> Attempt:
        """Return the answer and its certificate, computed once for each round."""
        if self._attempt is None or self._attempt[0] != self._iterations:
            multipliers = {**self._multipliers[0], **self._multipliers[1]}
            profile = nearest_profile(self._problem.game, self._plans)
            answer = Answer(tuple(profile.plans), multipliers)
            # The loop's tolerance bounds the error in its own unit.
            found = Attempt.of(self._problem, self._options, answer, profile)
            self._attempt = self._iterations, found
        return self._attempt[1]

    def saved(self) -> Saved:
        """Return the kept sequences, the best plans and their bounds."""
        own = {f"kept_{player}": np.flatnonzero(side.kept) for player, side in enumerate(self.sides)}
        for player, plan in enumerate(self._plans):
            own |= {f"played_{player}": np.flatnonzero(plan), f"plan_{player}": plan[np.flatnonzero(plan)]}
        numbers = [self._price, *(number if math.isfinite(number) else None for number in (self.lower, self.upper))]
        return {**own, "columns": [self._iterations, self._multipliers, numbers]}

    def restore(self, saved: Saved) -> None:
        """Restore what :meth:`saved` returned."""
        for player, side in enumerate(self.sides):
            side.kept[:] = False
            side.kept[np.asarray(saved[f"kept_{player}"])] = True
            plan = np.zeros(side.treeplex.num_sequences)
            plan[np.asarray(saved[f"played_{player}"])] = saved[f"plan_{player}"]
            self._plans[player] = plan
        self._iterations, self._multipliers, (self._price, lower, upper) = saved["columns"]
        self.lower, self.upper = (-math.inf if lower is None else lower), (math.inf if upper is None else upper)

    def _round(self) -> None:
        """Solve the restricted game, prove bounds, and add best responses."""
        saddle = self._saddle
        for side in self.sides:
            side.restrict()
        small, plans, multipliers = self._restricted()
        own, other = (
            side.face.embedded(plan, side.treeplex.num_sequences) for side, plan in zip(self.sides, plans, strict=True)
        )
        own_slope, own_offset = saddle.own_rows.minorant(multipliers, own, {})
        other_slope, other_offset = saddle.other_rows.minorant(multipliers, other, {})
        payoffs = [saddle.view.own_gradient(other) - own_slope, saddle.view.other_gradient(own) - other_slope]
        values = [sequence_values(side.treeplex, payoff) for side, payoff in zip(self.sides, payoffs, strict=True)]
        own_values, other_values = saddle.own_rows.values(own), saddle.other_rows.values(other)
        missed = self._missed(saddle.own_rows, own_values), self._missed(saddle.other_rows, other_values)
        lower = other_offset - float(values[1][0]) - saddle.own_rows.paid(own_values)
        upper = float(values[0][0]) - own_offset + saddle.other_rows.paid(other_values)
        names = set(saddle.own_rows.names)
        mine = {name: price for name, price in multipliers.items() if name in names}
        theirs = {name: price for name, price in multipliers.items() if name not in names}
        if (lower > self.lower and not missed[0]) or self._iterations == 0:
            self._plans[0], self._multipliers[1] = own, theirs
            self.lower = lower if not missed[0] else self.lower
        if (upper < self.upper and not missed[1]) or self._iterations == 0:
            self._plans[1], self._multipliers[0] = other, mine
            self.upper = upper if not missed[1] else self.upper
        least = TOLERANCE * 1e-2 * self._scale
        grown = [
            side.grow(value, payoff, plan, least)
            for side, value, payoff, plan in zip(self.sides, values, payoffs, plans, strict=True)
        ]
        if not any(grown):
            if any(missed) and self._price < _DEAREST * self._scale:
                self._price *= _DEARER
            elif any(missed):
                self._ended, self.detail = Status.INFEASIBLE, f"{' and '.join(filter(None, missed))} cannot be met"
            elif small <= TOLERANCE:
                self._ended = Status.OPTIMAL
            else:
                self._exactly = True

    _exactly = False

    def _missed(self, rows: Rows, values: Any) -> str:
        """Return the name of a hard constraint that a plan violates by more than round-off; empty if there is none."""
        if rows.penalty is not None:
            return ""
        far = [one.name for one in rows.constraints if values[one.name] > max(1e-8, one.allowance)]
        return far[0] if far else ""

    def _restricted(self) -> tuple[float, list[Floats], dict[str, Any]]:
        """Solve the game between the kept sequences; return the tolerance, the plans and the multipliers."""
        gap = self.upper - self.lower
        tolerance = TOLERANCE
        if math.isfinite(gap) and not self._exactly:
            tolerance = min(1e-5, max(TOLERANCE, _COARSE * gap / self._scale))
        elif not self._exactly:
            tolerance = 1e-5
        saddle, faces = self._saddle, [side.face for side in self.sides]
        form = _form(saddle.view.game.sequence_form, faces)
        size = sum(treeplex.num_sequences for treeplex in form.treeplexes)
        if size <= _SIMPLEX:
            tolerance = TOLERANCE
        game = Game.from_sequence_form(form, "a part")
        rows = [
            Rows(
                tuple(_on_face(one, face) for one in rows.constraints),
                face.treeplex.num_sequences,
                self._price if rows.penalty is None else rows.penalty,
                rows.shared,
            )
            for rows, face in zip((saddle.own_rows, saddle.other_rows), faces, strict=True)
        ]
        part = Saddle(PlayerView(game, 0), weight=1.0, own=rows[0], other=rows[1])
        program = linear_program(part)
        for algorithm, precision in self._ways(size, tolerance):
            solver = load(program, precision)
            choose_algorithm(solver, algorithm)
            left = self._options.time_limit - (counted_now() - self._begun)
            solver.setOptionValue("time_limit", max(0.1, left))
            if run_solver(solver, interruptible=True):
                raise KeyboardInterrupt
            if counted_now() - self._begun >= self._options.time_limit:
                raise TimeLimitError("the restricted game was being solved")
            numbers = solution_of(solver, program)
            if numbers is None or not all(np.isfinite(each).all() for each in numbers):
                continue
            answer = read_solution(
                part,
                {name: numbers[0][block] for name, block in program.columns.items()},
                {name: numbers[1][block] for name, block in program.rows.items()},
            )
            plans = [
                treeplex.plan(treeplex.behaviour(np.maximum(plan, 0.0)))
                for treeplex, plan in zip(form.treeplexes, answer.plans, strict=True)
            ]
            return precision, plans, dict(answer.multipliers)
        self._ended = Status.UNCERTIFIED
        raise TimeLimitError("HiGHS did not solve the restricted game")

    def _ways(self, size: int, tolerance: float) -> list[tuple[str, float]]:
        """Return the algorithms to try, with their tolerances."""
        if size <= _SIMPLEX:
            return [("simplex", TOLERANCE), ("ipm-crossover", TOLERANCE)]
        return [("ipm", tolerance), ("ipm-crossover", TOLERANCE)]


def _check(problem: SaddleProblem, saddle: Saddle) -> None:
    """Raise an error for programs that are not between all plans of both players under linear constraints.

    Raises
    ------
    UnsupportedProblemError
    """
    for rows in (saddle.own_rows, saddle.other_rows):
        for one in rows.constraints:
            if not isinstance(one, LinearConstraint):
                raise UnsupportedProblemError(
                    f"method columns cannot solve {problem.name} with the constraint {shown(one.name)}, which is not "
                    "linear: use highs or cvxpy"
                )


def _on_face(one: Constraint, face: Face) -> Constraint:
    """Return a constraint on the plans of a face."""
    assert isinstance(one, LinearConstraint)
    places = np.searchsorted(face.sequences, one.indices)
    places = np.minimum(places, len(face.sequences) - 1)
    kept = np.flatnonzero(face.sequences[places] == one.indices)
    terms = dict(zip(places[kept].tolist(), one.coefficients[kept].tolist(), strict=True))
    return LinearConstraint(one.player, terms, one.limit, one.name)


def _form(form: SequenceForm, faces: Sequence[Face]) -> SequenceForm:
    """Return the game on faces, without the factors in which one player has no part."""
    if form.factored is None or form.factored.chained is not None:
        return game_on_faces(form, faces)
    whole, (rows, columns) = form.factored, (face.sequences for face in faces)
    left, right = whole.left[rows], whole.right[:, columns]
    shared = np.flatnonzero((np.bincount(left.indices, minlength=whole.num_factors) > 0) & (np.diff(right.indptr) > 0))
    factored = FactoredPayoff(left[:, shared], right[shared], scale=whole.scale)
    return SequenceForm([face.treeplex for face in faces], factored=factored)


def run(method: "Columns", problem: SaddleProblem, options: Options) -> Outcome:
    """Solve a problem by column generation; see :class:`~treeplex.solvers.Columns`."""
    built = counted_now()
    stepper = _Columns(problem, options)
    begun = counted_now()
    ran = iterate(stepper, options)
    found = stepper.attempt()
    assert found.answer is not None
    return Outcome(
        plans=found.answer.plans,
        multipliers=found.answer.multipliers,
        proof=found.proof,
        stopped=ran.stopped,
        detail=stepper.detail,
        iterations=ran.iterations,
        seconds=ran.seconds,
        build_seconds=begun - built,
        history=ran.history,
        state=stepper.remark,
    )
