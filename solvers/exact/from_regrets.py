"""Exact answers that begin with regrets: what their plans play, solved for what is missing to the optimum."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...models.problems import SaddleProblem
from ...models.programs.linear_program import LinearProgram
from ...models.saddle import Answer, Saddle, linear_program, read_solution
from ...seqform.arrays import Floats
from ...seqform.evaluate import infoset_values, sequence_values
from ...seqform.limits import seconds_left
from ...seqform.polytope import Treeplex
from ...seqform.strategy import Profile, Strategy
from ..iteration import iterate
from ..methods import CCFR, HiGHS, find_method
from ..outcome import Options, Outcome, nearest_profile
from ..regret import driver
from ..solution import RunState
from ..status import Status
from . import highs
from .distances import Mask, NearProgram, StandardProgram
from .highs import Attempt

if TYPE_CHECKING:
    from ..methods import Exact

#: What a probability is held against: what an action loses, times this, both in units of the program.
_RATE = 0.3
#: Columns and rows are left out if they lose, or have slack, by so many times more than that.
_MARGIN = 30.0
#: What loses no more than this is a best response, in units of the mean payoff.
_BEST = 1e-9
#: The next attempt follows when regrets have brought the error down to this share of what it was at the last.
_CLOSER = 0.3
#: Attempts before the last are given up after so many steps a row, or as many rounds.
_STEPS, _ROUNDS = 0.15, 3
#: The last attempt follows after so many, or if so many times the iterations so far do not get any closer.
_ATTEMPTS, _PATIENCE, _LEAST = 8, 8, 2_000
_MOST_ROUNDS = 20


@dataclass(frozen=True)
class Course(RunState):
    """How an exact answer was found.

    Attributes
    ----------
    way : {"regrets", "polish", "highs", "bracket"}
        What proved it in the end: regret minimisation alone, the program of what its plans play, the whole program by
        HiGHS, or nothing.
    iterations : int
        Of regret minimisation.
    attempts, rounds, pivots : int
        How often regrets were polished, how many programs that took, and how many steps of the simplex method.
    shape, whole : tuple of int
        Rows and columns of the last program, and of the whole one.
    """

    way: str
    iterations: int = 0
    attempts: int = 0
    rounds: int = 0
    pivots: int = 0
    shape: tuple[int, int] = (0, 0)
    whole: tuple[int, int] = (0, 0)

    @property
    def remark(self) -> str:
        """What the message says of it."""
        iterations = f"{self.iterations:,} iterations"
        return {
            "regrets": f"{iterations} proved it",
            "polish": (
                f"polished after {iterations} in {self.pivots:,} steps, on {self.shape[0]:,} of {self.whole[0]:,} rows "
                f"and {self.shape[1]:,} of {self.whole[1]:,} columns"
            ),
            "highs": "the whole program by HiGHS",
            "bracket": f"what is proven after {iterations}",
        }[self.way]


def run(method: "Exact", problem: SaddleProblem, options: Options) -> Outcome:
    """Iterate, polish what was found, and prove it; see :class:`~treeplex.solvers.Exact`."""
    begun = time.perf_counter()
    ground = _Ground.of(problem) if _takes(problem.canonical) else None
    if ground is None or sum(ground.program.shape) <= method.direct:
        return _by_highs(problem, options, Course("highs"))
    base = CCFR(base=method.base) if problem.constraints else find_method(method.base)
    driver.warm(np.float64)
    loop = driver.stepper(base, problem, options)
    built = time.perf_counter()
    best, course, stopped = Attempt(), Course("bracket", whole=ground.program.shape), Status.OPTIMAL
    goal = method.first * problem.unit
    try:
        for attempt in range(_ATTEMPTS):
            tolerance = max(goal, options.tol)
            loop.aim(tolerance)
            most = min(max(_LEAST, _PATIENCE * loop.iterations), options.max_iterations - loop.iterations)
            left = options.time_limit - (time.perf_counter() - built)
            found = iterate(loop, replace(options, tol=tolerance, max_iterations=most, time_limit=left))
            profile = nearest_profile(problem.game, loop.answer())
            answer = Answer(tuple(profile.plans), loop.multipliers, loop.dual_certificate)
            near = Attempt.of(problem, options, answer, profile)
            best, course = near, replace(course, way="regrets", iterations=loop.iterations)
            if near.error == 0.0:
                break
            course = replace(course, way="bracket")
            if found.stopped in (Status.TIME_LIMIT, Status.INTERRUPTED, Status.INFEASIBLE):
                stopped = found.stopped
                break
            is_last = attempt == _ATTEMPTS - 1 or found.stopped is not Status.CONVERGED
            polish = _Polish(ground, problem, options, near)
            better = polish.run(is_last, options.time_limit - (time.perf_counter() - built))
            course = replace(
                course,
                attempts=attempt + 1,
                rounds=course.rounds + polish.rounds,
                pivots=course.pivots + polish.pivots,
                shape=polish.shape,
            )
            if better.error < best.error:
                best = better
            if best.error == 0.0:
                course = replace(course, way="polish")
                break
            if is_last:
                break
            goal *= _CLOSER
    except KeyboardInterrupt:
        stopped = Status.INTERRUPTED
    left = options.time_limit - (time.perf_counter() - built)
    seconds = time.perf_counter() - built
    if best.error > 0.0 and stopped in (Status.OPTIMAL, Status.INFEASIBLE):
        if left <= 0.0 or not seconds_left():
            stopped = Status.TIME_LIMIT
        elif loop.iterations >= options.max_iterations:
            stopped = Status.ITERATION_LIMIT
        else:
            whole = _by_highs(problem, replace(options, time_limit=left), replace(course, way="highs"))
            error = math.inf if whole.proof is None else problem.error(whole.proof[1])
            if best.proof is None or error < problem.error(best.proof[1]) or whole.stopped is Status.INFEASIBLE:
                return replace(whole, seconds=whole.seconds + seconds, build_seconds=whole.build_seconds + built - begun)
            stopped = whole.stopped
    answer = best.answer
    return Outcome(
        plans=None if answer is None else answer.plans,
        multipliers={} if answer is None else answer.multipliers,
        dual_certificate={} if answer is None else answer.dual_certificate,
        proof=best.proof,
        stopped=stopped,
        detail=course.remark,
        iterations=loop.iterations,
        seconds=time.perf_counter() - built,
        build_seconds=built - begun,
        state=course,
    )


def _by_highs(problem: SaddleProblem, options: Options, course: Course) -> Outcome:
    found = highs.run(HiGHS(), problem, replace(options, start=None))
    return replace(found, state=course, iterations=course.iterations + found.iterations)


def _takes(saddle: Saddle) -> bool:
    """Whether a program is one between plans of both players, under hard linear constraints at most."""
    plain = all(
        rows.penalty is None and rows.is_linear and all(one.function.is_affine for one in rows.constraints)
        for rows in (saddle.own_rows, saddle.other_rows)
    )
    return bool(saddle.weight) and saddle.floor is None and saddle.view.replies is None and plain


@dataclass(frozen=True, eq=False)
class _Ground:
    """A saddle program as a linear program in standard form, and what plans are in it."""

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
        """Of the objective."""
        return self.program.objective_unit

    def columns(self, own: Floats, multipliers: Mapping[str, Any]) -> Floats:
        """Return the columns of x and of the multipliers of y's constraints, with y's best response to them."""
        view, columns = self.saddle.view, self.program.columns
        found, payoffs = np.zeros(self.program.shape[1]), view.other_gradient(own)
        found[columns["plan"]] = own
        if "prices" in columns:
            rows = self.saddle.other_rows.matrix(exact=False)
            given = np.array([float(multipliers.get(name, 0.0)) for name in rows.names])
            prices = found[columns["prices"]]
            prices[rows.heads] = given * rows.units[rows.heads] / view.unit
            payoffs = payoffs - view.unit * (rows.matrix.T @ prices)
        found[columns["values"]] = -_values(view.other, payoffs) / view.unit
        if view.factored is not None:
            found[columns["factors"]] = view.factored.summed(view.scaled_matrices[0].T @ own, backwards=True)
        return found

    def multipliers(self, other: Floats, multipliers: Mapping[str, Any]) -> Floats:
        """Return the multipliers of the rows for y and those of x's constraints, with x's best response to them."""
        saddle, view, rows = self.saddle, self.saddle.view, self.program.rows
        found = np.zeros(self.program.shape[0])
        found[rows["response"]] = saddle.weight * view.unit * other / self.unit
        payoffs = saddle.weight * view.own_gradient(other)
        if saddle.tilt is not None:
            payoffs = payoffs + saddle.tilt
        if "constraints" in rows:
            own = saddle.own_rows.matrix(exact=False)
            prices = found[rows["constraints"]]
            given = np.array([float(multipliers.get(name, 0.0)) for name in own.names])
            prices[own.heads] = given * own.units[own.heads] / self.unit
            payoffs = payoffs - self.unit * (own.matrix.T @ prices)
        found[rows["plan"]] = _values(view.own, payoffs) / self.unit
        if view.factored is not None:
            found[rows["factors"]] = view.factored.summed(view.scaled_matrices[1] @ found[rows["response"]])
        return found

    def part(self, own: Mask, other: Mask) -> tuple[Mask, Mask]:
        """Return the columns and rows that belong to some of the sequences of x and y."""
        view, columns, rows = self.saddle.view, self.program.columns, self.program.rows
        kept = np.zeros(self.program.shape[1], dtype=bool), np.zeros(self.program.shape[0], dtype=bool)
        kept[0][columns["plan"]], kept[1][rows["response"]] = own, other
        kept[1][rows["plan"]], kept[0][columns["values"]] = _touched(view.own, own), _touched(view.other, other)
        if "prices" in columns:
            kept[0][columns["prices"]] = True
        if "constraints" in rows:
            kept[1][rows["constraints"]] = True
        if view.factored is not None:
            met = np.ones(view.factored.num_factors, dtype=bool)
            if view.factored.chained is None:
                left, right = view.matrices
                met = (abs(left).T @ own.astype(float) > 0.0) & (abs(right) @ other.astype(float) > 0.0)
            kept[0][columns["factors"]] = kept[1][rows["factors"]] = met
        return kept

    def read(self, columns: Floats, multipliers: Floats) -> Answer:
        """Return the answer that columns and multipliers of rows are."""
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
    rounds, pivots : int
    shape : tuple of int
        Rows and columns of the last program.
    """

    def __init__(self, ground: _Ground, problem: SaddleProblem, options: Options, near: Attempt) -> None:
        self._ground, self._problem, self._options, self._near = ground, problem, options, near
        self.rounds = 0
        self.shape = (0, 0)
        standard, view = ground.standard, ground.saddle.view
        assert near.answer is not None
        own, other = near.answer.plans[view.player], near.answer.plans[1 - view.player]
        columns, multipliers = self._point(own, other, near.answer.multipliers)
        slacks, losses = standard.slacks(columns), standard.dual.slacks(multipliers)
        basic, tight = columns > _RATE * losses, multipliers > _RATE * slacks
        self._primal = NearProgram(standard, columns, basic, ~tight)
        self._dual = NearProgram(standard.dual, multipliers, tight, ~basic)
        mine, theirs = ground.program.columns["plan"], ground.program.rows["response"]
        self._own = _closed(view.own, (columns * _MARGIN > _RATE * losses)[mine], (losses - columns)[mine])
        self._other = _closed(
            view.other, (multipliers * _MARGIN > _RATE * slacks)[theirs], (slacks - multipliers)[theirs]
        )

    @property
    def pivots(self) -> int:
        return self._primal.pivots + self._dual.pivots

    def run(self, is_last: bool, seconds: float) -> Attempt:
        """Solve programs until an answer is proven, or nothing more is found that one lacks."""
        best, begun = Attempt(), time.perf_counter()
        for _ in range(_MOST_ROUNDS if is_last else _ROUNDS):
            columns, rows = self._ground.part(self._own, self._other)
            self.shape = int(rows.sum()), int(columns.sum())
            self.rounds += 1
            solved = []
            for program, kept in ((self._primal, (columns, rows)), (self._dual, (rows, columns))):
                most = 2**31 - 1 if is_last else max(50, int(_STEPS * len(kept[1].nonzero()[0])))
                solved.append(program.solve(*kept, most, max(0.0, seconds - (time.perf_counter() - begun))))
                if solved[-1] is None:
                    return best
            found = self._judged(*solved)
            worse = found.error >= best.error
            best = best if worse else found
            if best.error == 0.0 or (worse and not is_last) or not self._priced_in(found):
                break
        return best

    def _point(self, own: Floats, other: Floats, multipliers: Mapping[str, Any]) -> tuple[Floats, Floats]:
        return self._ground.columns(own, multipliers), self._ground.multipliers(other, multipliers)

    def _judged(self, columns: Floats, multipliers: Floats) -> Attempt:
        """Return the answer, which plays as before where it does not say how to play, and what it proves."""
        found, game = self._ground.read(columns, multipliers), self._problem.game
        assert self._near.answer is not None
        strategies = []
        for player, (treeplex, plan) in enumerate(zip(game.sequence_form.treeplexes, found.plans, strict=True)):
            known = np.where(plan > highs.TOLERANCE * 1e-2, plan, 0.0)
            reached = np.bincount(treeplex.sequence_infosets[1:], known[1:], minlength=treeplex.num_infosets) > 0.0
            told = np.append(True, reached[treeplex.sequence_infosets[1:]])
            behaviour = treeplex.behaviour(np.where(told, known, self._near.answer.plans[player]))
            strategies.append(Strategy(game, player, behaviour))
        profile = Profile(strategies)
        answer = replace(found, plans=tuple(profile.plans))
        return Attempt.of(self._problem, self._options, answer, profile)

    def _priced_in(self, found: Attempt) -> bool:
        """Take in all best responses to an answer, of all infosets at once; whether there were new ones."""
        ground, view = self._ground, self._ground.saddle.view
        assert found.answer is not None
        own, other = found.answer.plans[view.player], found.answer.plans[1 - view.player]
        columns, multipliers = self._point(own, other, found.answer.multipliers)
        losses = ground.standard.dual.slacks(multipliers)[ground.program.columns["plan"]]
        slacks = ground.standard.slacks(columns)[ground.program.rows["response"]]
        before = self._own.sum() + self._other.sum()
        self._own = self._own | _reached(view.own, self._own | (losses <= _BEST))
        self._other = self._other | _reached(view.other, self._other | (slacks <= _BEST))
        return bool(self._own.sum() + self._other.sum() > before)


def _values(treeplex: Treeplex, payoffs: Floats) -> Floats:
    """Return what a best response is worth, in all and from each infoset on: the multipliers of E x = e."""
    return np.append(sequence_values(treeplex, payoffs)[0], infoset_values(treeplex, payoffs))


def _reached(treeplex: Treeplex, kept: Mask) -> Mask:
    """Return those of the sequences that others of them lead to."""
    return treeplex.plan(kept) > 0.0


def _touched(treeplex: Treeplex, kept: Mask) -> Mask:
    """Return the rows of E x = e that are about some of the sequences."""
    counts = np.bincount(treeplex.sequence_infosets[1:], kept[1:], minlength=treeplex.num_infosets)
    return np.append(True, counts > 0)


def _closed(treeplex: Treeplex, kept: Mask, order: Floats) -> Mask:
    """Return those sequences that others of them lead to, with the first in order where an infoset would have none."""
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
