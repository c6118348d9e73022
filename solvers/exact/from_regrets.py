"""Exact answers from regret minimisation: restricted programs for the distance from its plans to the optimum."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...models.problems import SaddleProblem
from ...models.programs.linear_program import LinearProgram
from ...models.saddle import Answer, PlayerView, Rows, Saddle, linear_program, read_solution
from ...seqform.arrays import Floats
from ...seqform.errors import TimeLimitError
from ...seqform.limits import counted_now, seconds_left
from ...seqform.polytope import Treeplex, infoset_maxima, sequence_values
from ...seqform.strategy import Profile, Strategy
from ..iteration import iterate
from ..methods import CCFR, HiGHS
from ..methods.regret import BASES
from ..outcome import Options, Outcome, Status, nearest_profile
from ..regret import driver
from ..solution import RunState
from . import highs
from .distances import Mask, NearProgram, StandardProgram
from .highs_models import TOLERANCE, Attempt
from .interior import interior_point

if TYPE_CHECKING:
    from ..methods import Exact

#: The factor of an action's loss when it is compared with the action's probability, both in units of the program.
_RATE = 0.3
#: Columns (rows) are left out if their loss (slack) times the factor above exceeds this multiple of their value.
_MARGIN = 300.0
#: An action is surely off its bound if its probability exceeds this multiple of its loss, and the uncertainty.
_SURE = 30.0
#: A smaller probability counts as zero.
_NOTHING = TOLERANCE * 1e-2
#: An action with a smaller loss, in units of the mean payoff, is a best response.
_BEST = 1e-9
#: The next attempt follows when the error has fallen to this fraction of the error at the last attempt.
_CLOSER = 0.3
#: An attempt ends after this many steps per row (doubled for each attempt) or rounds, or if the error has grown by this
#: factor; the last attempt ends later.
_STEPS, _ROUNDS, _AWAY = 0.08, 4, 100.0
_LAST_STEPS, _LAST_ROUNDS = 1.0, 20
#: The number of steps that is always allowed, and that of the last attempt.
_FEW, _MANY = 50, 10_000
#: An attempt is made if at most this many actions are uncertain by more than this, in probability and in loss.
_UNSETTLED, _DOUBTFUL = 6, 5e-4
#: The last attempt follows at the last of these errors, or if this multiple of the iterations is not enough.
_ERRORS, _PATIENCE, _LEAST = 10, 4, 10_000
#: Multipliers of constraints may converge slowly: the number of iterations per row and column to wait for them.
_SLOW = 0.5
#: HiGHS's interior point method solves programs of flows whole, without regrets, from these multiples of the size up to
#: which HiGHS solves programs of trees: all without constraints, and under constraints up to the second multiple.
_FLOW, _LIMITED_FLOW = 0.75, 3
#: The number of times a whole program is solved for the distance to its optimum, each time from the last result.
_REFINEMENTS = 2


@dataclass(frozen=True)
class Course(RunState):
    """The record of how an exact answer was found.

    Attributes
    ----------
    way : {"regrets", "polish", "highs", "bracket"}
        The final proof: by regret minimisation alone, by the program of its played sequences, by HiGHS on the whole
        program, or none.
    iterations : int
        The iterations of regret minimisation.
    attempts, rounds, pivots : int
        The numbers of attempts, of their programs, and of steps of the simplex method.
    shape, whole : tuple of int
        The rows and columns of the last program, and of the whole program.
    interior : bool
        Whether an interior point method solved the last program.
    """

    way: str
    iterations: int = 0
    attempts: int = 0
    rounds: int = 0
    pivots: int = 0
    shape: tuple[int, int] = (0, 0)
    whole: tuple[int, int] = (0, 0)
    interior: bool = False

    def after(self, polish: "_Polish") -> "Course":
        """Return the course with one more attempt."""
        rounds, pivots = self.rounds + polish.rounds, self.pivots + polish.pivots
        attempts, interior = self.attempts + 1, polish.is_whole
        return replace(self, attempts=attempts, rounds=rounds, pivots=pivots, shape=polish.shape, interior=interior)

    @property
    def _how(self) -> str:
        steps = "by an interior point method" if self.interior else f"in {self.pivots:,} simplex steps"
        if self.shape == self.whole:
            return f"{steps}, on all rows and columns"
        rows, columns = (f"{part:,} of {all_of:,}" for part, all_of in zip(self.shape, self.whole, strict=True))
        return f"{steps}, on {rows} rows and {columns} columns"

    @property
    def remark(self) -> str:
        """The course of the solve, for the message."""
        iterations = f"{self.iterations:,} iterations"
        return {
            "regrets": f"proven after {iterations}",
            "polish": f"polished after {iterations} {self._how}",
            "highs": "HiGHS solved the whole program",
            "bracket": f"best bounds found after {iterations}",
        }[self.way]


def run(method: "Exact", problem: SaddleProblem, options: Options) -> Outcome:
    """Iterate, polish the result, and prove it; see :class:`~treeplex.solvers.Exact`."""
    if options.start is not None:
        return _by_highs(problem, options, Course("highs"))
    begun = counted_now()
    saddle = problem.canonical
    size = _size(saddle) if _takes(saddle) else 0
    most = _LIMITED_FLOW * method.direct if saddle.constraints else math.inf
    if not _is_tree(saddle.view) and _FLOW * method.direct < size <= most:
        return _by_highs(problem, options, Course("highs"), "ipm")
    small = method.direct if saddle.tilt is None and not saddle.constraints else 2 * method.direct
    ground = _Ground.of(problem) if size > small else None
    if ground is None:
        return _by_highs(problem, options, Course("highs"))
    base = CCFR(base=method.base) if problem.constraints else BASES[method.base]()
    loop = driver.stepper(base, problem, options)
    assert isinstance(loop, driver.RegretStepper)
    built = counted_now()
    best, course, stopped = Attempt(), Course("bracket", whole=ground.program.shape), Status.OPTIMAL
    goal = method.first * problem.unit
    try:
        for number in range(_ERRORS):
            goal = max(goal, options.tol)
            loop.aim(goal)
            patience = max(_LEAST, _PATIENCE * loop.iterations)
            if problem.constraints:
                patience = max(0, int(_SLOW * size) - loop.iterations)
            most = min(patience, options.max_iterations - loop.iterations)
            left = options.time_limit - (counted_now() - built)
            found = iterate(loop, replace(options, tol=goal, max_iterations=most, time_limit=left, answered=None))
            course = replace(course, iterations=loop.iterations)
            loop.first_step = max(loop.first_step, loop.iterations)  # doing as many again takes no longer
            if found.stopped in (Status.TIME_LIMIT, Status.INTERRUPTED):
                stopped = found.stopped
                break
            if found.stopped is Status.INFEASIBLE:  # HiGHS proves it
                break
            is_last = number == _ERRORS - 1 or found.stopped is not Status.CONVERGED or goal <= options.tol
            near = Answer(tuple(loop.answer()), loop.multipliers, loop.dual_certificate)
            polish = _Polish(ground, problem, options, near, is_last)
            if is_last or polish.is_settled:
                left = options.time_limit - (counted_now() - built)
                best = best.or_better(polish.run(goal, _STEPS * 2.0**course.attempts, left))
                course = course.after(polish)
                if best.excess == 0.0:
                    course = replace(course, way="polish")
                    break
            if is_last or polish.is_whole:
                break
            goal *= _CLOSER
    except KeyboardInterrupt:
        stopped = Status.INTERRUPTED
    if stopped is not Status.OPTIMAL and options.answered is not None:
        options.answered()
    if best.excess > 0.0:
        profile = nearest_profile(problem.game, loop.answer())
        last = Answer(tuple(profile.plans), loop.multipliers, loop.dual_certificate)
        best = best.or_better(Attempt.of(problem, options, last, profile))
        if best.excess == 0.0:
            course, stopped = replace(course, way="regrets"), Status.OPTIMAL
    seconds = counted_now() - built
    left = min(options.time_limit - seconds, seconds_left())
    if best.excess > 0.0 and stopped is Status.OPTIMAL:
        if left <= 0.0:
            stopped = Status.TIME_LIMIT
        elif loop.iterations >= options.max_iterations:
            stopped = Status.ITERATION_LIMIT
        else:
            try:
                whole = _by_highs(problem, replace(options, time_limit=left), replace(course, way="highs"))
                error = math.inf if whole.proof is None else problem.error(whole.proof[1])
                if best.proof is None or error < problem.error(best.proof[1]):
                    building = built - begun + whole.build_seconds
                    return replace(whole, seconds=whole.seconds + seconds, build_seconds=building)
                stopped = whole.stopped
            except (KeyboardInterrupt, TimeLimitError) as ending:  # keep what is already proven
                late = isinstance(ending, TimeLimitError) or not seconds_left()
                stopped = Status.TIME_LIMIT if late else Status.INTERRUPTED
    if options.answered is not None:
        options.answered()
    assert best.answer is not None
    return Outcome(
        plans=best.answer.plans,
        multipliers=best.answer.multipliers,
        dual_certificate=best.answer.dual_certificate,
        proof=best.proof,
        stopped=stopped,
        detail=course.remark,
        iterations=loop.iterations,
        seconds=counted_now() - built,
        build_seconds=built - begun,
        state=course,
    )


def _by_highs(
    problem: SaddleProblem, options: Options, course: Course, algorithm: Literal["auto", "ipm"] = "auto"
) -> Outcome:
    found = highs.run(HiGHS(algorithm=algorithm), problem, options)
    return replace(found, state=course, iterations=course.iterations + found.iterations)


def _takes(saddle: Saddle) -> bool:
    """Whether both players of a program choose plans, with no constraints other than hard affine ones."""
    plain = bool(saddle.weight) and saddle.floor is None and saddle.view.replies is None
    hard = all(rows.penalty is None for rows in (saddle.own_rows, saddle.other_rows))
    return plain and hard and all(one.function.is_affine for one in saddle.constraints)


def _is_tree(view: PlayerView) -> bool:
    return view.own.single_parent and view.other.single_parent and view.factored is None


def _size(saddle: Saddle) -> int:
    """Return the number of rows and columns of a saddle program, without the constraints' own variables."""
    view = saddle.view
    plans = sum(treeplex.num_sequences + treeplex.num_infosets + 1 for treeplex in (view.own, view.other))
    return plans + len(saddle.constraints) + (0 if view.factored is None else 2 * view.factored.num_factors)


@dataclass(frozen=True, eq=False)
class _Ground:
    """A saddle program as a linear program in standard form, with the conversion of plans."""

    saddle: Saddle
    program: LinearProgram
    standard: StandardProgram

    @classmethod
    def of(cls, problem: SaddleProblem) -> "_Ground | None":
        program = linear_program(problem.canonical)
        standard = StandardProgram.of(program)
        return None if standard is None else cls(problem.canonical, program, standard)

    @cached_property
    def unit(self) -> float:
        """The unit of the objective."""
        return self.program.objective_unit

    @cached_property
    def is_tree(self) -> bool:
        """Whether both players' plans form trees, and payoffs are a matrix."""
        return _is_tree(self.saddle.view)

    def point(self, answer: Answer) -> tuple[Floats, Floats]:
        """Return the columns and the multipliers of the rows for an answer and best responses to it."""
        saddle, view, program = self.saddle, self.saddle.view, self.program
        own, other = answer.plans[view.player], answer.plans[1 - view.player]
        mine, theirs = saddle.gradients(own, other, answer.multipliers, answer.dual_certificate)
        columns, multipliers = np.zeros(program.shape[1]), np.zeros(program.shape[0])
        columns[program.columns["plan"]] = own
        columns[program.columns["values"]] = -_values(view.other, theirs) / (saddle.weight * view.unit)
        multipliers[program.rows["response"]] = saddle.weight * view.unit * other / self.unit
        multipliers[program.rows["plan"]] = _values(view.own, mine) / self.unit
        if view.factored is not None:
            left, right = view.scaled_matrices
            columns[program.columns["factors"]] = view.factored.summed(left.T @ own, backwards=True)
            multipliers[program.rows["factors"]] = view.factored.summed(right @ multipliers[program.rows["response"]])
        if saddle.own_rows.constraints:
            multipliers[program.rows["constraints"]] = _prices(saddle.own_rows, answer) / self.unit
        if saddle.other_rows.constraints:
            columns[program.columns["prices"]] = _prices(saddle.other_rows, answer) / view.unit
        return columns, multipliers

    def part(self, own: Mask, other: Mask) -> tuple[Mask, Mask]:
        """Return the columns and rows of some sequences of x and y, and those of constraints."""
        view, columns, rows = self.saddle.view, self.program.columns, self.program.rows
        kept = np.ones(self.program.shape[1], dtype=bool), np.ones(self.program.shape[0], dtype=bool)
        kept[0][columns["plan"]], kept[1][rows["response"]] = own, other
        kept[1][rows["plan"]], kept[0][columns["values"]] = _touched(view.own, own), _touched(view.other, other)
        return kept

    def read(self, columns: Floats, multipliers: Floats) -> Answer:
        """Return the answer from columns and multipliers of rows."""
        changes = multipliers * (self.saddle.sign * self.unit)
        return read_solution(
            self.saddle,
            {name: columns[part] for name, part in self.program.columns.items()},
            {name: changes[part] for name, part in self.program.rows.items()},
        )


class _Polish:
    """One attempt to make an approximate answer exact.

    Attributes
    ----------
    is_settled : bool
        Whether it is certain which actions are played, or does not matter.
    is_whole : bool
        Whether the program is whole, and an interior point method solves it.
    rounds, pivots : int
    shape : tuple of int
        The rows and columns of the last program.
    """

    def __init__(self, ground: _Ground, problem: SaddleProblem, options: Options, near: Answer, is_last: bool) -> None:
        self._ground, self._problem, self._options, self._near, self._is_last = ground, problem, options, near, is_last
        self.rounds = 0
        standard = ground.standard
        self._place = columns, multipliers = ground.point(near)
        self._slacks, self._losses = slacks, losses = standard.slacks(columns), standard.dual.slacks(multipliers)
        mine, theirs = ground.program.columns["plan"], ground.program.rows["response"]
        doubts = np.minimum(columns, _RATE * losses)[mine], np.minimum(multipliers, _RATE * slacks)[theirs]
        ordered = np.partition(np.concatenate([*doubts, np.zeros(_UNSETTLED)]), -1 - _UNSETTLED)
        self._doubt = float(ordered[-1 - _UNSETTLED])
        self.is_settled = self._doubt <= _DOUBTFUL
        # If several sequences lead to an infoset, or multipliers of constraints have not converged.
        self.is_whole = not ground.is_tree or (bool(ground.saddle.constraints) and is_last and not self.is_settled)
        self.is_settled |= self.is_whole
        self.shape = ground.program.shape

    @cached_property
    def _programs(self) -> tuple[NearProgram, NearProgram]:
        """The solved part of the program, and of its dual."""
        standard, (columns, multipliers) = self._ground.standard, self._place
        basic, tight = columns > _RATE * self._losses, multipliers > _RATE * self._slacks
        played = columns > np.maximum(self._doubt, _SURE * self._losses)
        tied = multipliers > np.maximum(self._doubt, _SURE * self._slacks)
        return (
            NearProgram(standard, columns, basic, played, ~tight),
            NearProgram(standard.dual, multipliers, tight, tied, ~basic),
        )

    @property
    def pivots(self) -> int:
        return 0 if self.is_whole else sum(program.pivots for program in self._programs)

    def run(self, error: float, steps: float, seconds: float) -> Attempt:
        """Solve programs until a solution is proven, or there is nothing left to add.

        An attempt that is not the last one ends early if it takes long or moves away from the optimum.

        Parameters
        ----------
        error : float
            The error of the polished answer.
        steps : float
            The largest number of simplex steps per row.
        seconds : float
            The time limit.
        """
        best, begun = Attempt(), counted_now()
        if not self.is_whole:
            self._own, self._other = self._kept()
        for _ in range(_REFINEMENTS if self.is_whole else _LAST_ROUNDS if self._is_last else _ROUNDS):
            self.rounds += 1
            left = max(0.0, seconds - (counted_now() - begun))
            solved = self._interior(left) if self.is_whole else self._simplex(steps, left)
            if solved is None:
                break
            found = self._judged(*solved)
            best = best.or_better(found)
            if best.excess == 0.0 or (found.excess > _AWAY * error and not self._is_last):
                break
            assert found.answer is not None
            if self.is_whole:
                self._place = self._ground.point(found.answer)
            elif not self._priced_in(found):
                break
        return best

    def _kept(self) -> tuple[Mask, Mask]:
        """Return the sequences of x and of y in the first program."""
        ground, view, (columns, multipliers) = self._ground, self._ground.saddle.view, self._place
        mine, theirs = ground.program.columns["plan"], ground.program.rows["response"]
        own = (columns * _MARGIN > _RATE * self._losses)[mine]
        other = (multipliers * _MARGIN > _RATE * self._slacks)[theirs]
        return (
            _closed(view.own, own, (self._losses - columns)[mine]),
            _closed(view.other, other, (self._slacks - multipliers)[theirs]),
        )

    def _interior(self, seconds: float) -> tuple[Floats, Floats] | None:
        return interior_point(self._ground.standard, self._place, seconds)

    def _simplex(self, steps: float, seconds: float) -> tuple[Floats, Floats] | None:
        """Return columns and multipliers near the polished answer, each by the simplex method."""
        begun = counted_now()
        columns, rows = self._ground.part(self._own, self._other)
        self.shape = int(rows.sum()), int(columns.sum())
        a_row, least = (max(steps, _LAST_STEPS), _MANY) if self._is_last else (steps, _FEW)
        most = max(least, int(a_row * min(self.shape)))
        primal, dual = self._programs
        mine = primal.solve(columns, rows, most, seconds)
        if mine is None:
            return None
        theirs = dual.solve(rows, columns, most, max(0.0, seconds - (counted_now() - begun)), primal.complement)
        return None if theirs is None else (mine, theirs)

    def _judged(self, columns: Floats, multipliers: Floats) -> Attempt:
        """Return the answer with its certificate; where the answer is undefined, players play as before."""
        found, game = self._ground.read(columns, multipliers), self._problem.game
        if self.is_whole:  # the answer is defined everywhere
            return Attempt.of(self._problem, self._options, found, nearest_profile(game, found.plans))
        strategies: list[Strategy] = []
        for player, (treeplex, plan) in enumerate(zip(game.sequence_form.treeplexes, found.plans, strict=True)):
            known = np.where(plan > _NOTHING, plan, 0.0)
            reached = np.bincount(treeplex.sequence_infosets[1:], known[1:], minlength=treeplex.num_infosets) > 0.0
            told = np.append(True, reached[treeplex.sequence_infosets[1:]])
            behaviour = treeplex.behaviour(np.where(told, known, self._near.plans[player]))
            strategies.append(Strategy(game, player, behaviour))
        profile = Profile(strategies)
        answer = replace(found, plans=tuple(profile.plans))
        return Attempt.of(self._problem, self._options, answer, profile)

    def _priced_in(self, found: Attempt) -> bool:
        """Extend the program by all best responses to an answer, at all infosets at once; return whether any is new."""
        ground, view = self._ground, self._ground.saddle.view
        assert found.answer is not None
        columns, multipliers = ground.point(found.answer)
        losses = ground.standard.dual.slacks(multipliers)[ground.program.columns["plan"]]
        slacks = ground.standard.slacks(columns)[ground.program.rows["response"]]
        before = self._own.sum() + self._other.sum()
        self._own = self._own | _reached(view.own, self._own | (losses <= _BEST))
        self._other = self._other | _reached(view.other, self._other | (slacks <= _BEST))
        return bool(self._own.sum() + self._other.sum() > before)


def _prices(rows: Rows, answer: Answer) -> Floats:
    """Return the multipliers of constraints in the units of their rows."""
    given = np.array([answer.multipliers.get(name, 0.0) for name in rows.names])
    prices: Floats = given * rows.matrix(exact=False).units
    return prices


def _values(treeplex: Treeplex, payoffs: Floats) -> Floats:
    """Return the value of a best response, in total and at each infoset: the multipliers of E x = e."""
    values = sequence_values(treeplex, payoffs)
    return np.append(values[0], infoset_maxima(treeplex, values))


def _reached(treeplex: Treeplex, kept: Mask) -> Mask:
    """Return the given sequences to which other given sequences lead."""
    return treeplex.plan(kept) > 0.0


def _touched(treeplex: Treeplex, kept: Mask) -> Mask:
    """Return the rows of E x = e that contain some of the sequences."""
    counts = np.bincount(treeplex.sequence_infosets[1:], kept[1:], minlength=treeplex.num_infosets)
    return np.append(True, counts > 0)


def _closed(treeplex: Treeplex, kept: Mask, order: Floats) -> Mask:
    """Return the given sequences that given ones lead to; reached infosets without any add that of least ``order``."""
    kept = kept.copy()
    kept[0] = True
    while True:
        reached = _reached(treeplex, kept)
        arrived = treeplex.inflow @ reached.astype(np.float64) > 0.0
        empty = np.flatnonzero(arrived & ~_touched(treeplex, reached)[1:])
        if not len(empty):
            return reached
        for infoset in empty.tolist():
            begin, count = int(treeplex.offsets[infoset]), int(treeplex.num_actions[infoset])
            kept[begin + int(np.argmin(order[begin : begin + count]))] = True
