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
from ...seqform.face import Face, game_on_faces
from ...seqform.factored import FactoredPayoff
from ...seqform.game import Game
from ...seqform.limits import counted_now
from ...seqform.polytope import Treeplex, best_response_plan, infoset_maxima, sequence_values
from ...seqform.sequence_form import SequenceForm
from ..checkpoint import Saved
from ..iteration import Checks, Stepper, iterate
from ..methods import CCFR
from ..methods.regret import BASES
from ..outcome import Options, Outcome, Status, nearest_profile
from ..regret import driver
from ..solution import RunState, starting_profile
from .highs_models import TOLERANCE, Attempt, choose_algorithm, load, run_solver, solution_of

if TYPE_CHECKING:
    from ..methods import Columns

#: The tolerance of a restricted program, relative to the gap between the bounds so far, and the largest tolerance.
_PRECISE, _COARSE = 1e-3, 1e-5
#: A plan that the method starts from keeps the sequences that it plays more often than this.
_PLAYED = 1e-4
#: An infoset calls for new sequences if its gain times its reach is this fraction of the whole gain.
_NOTABLE = 1e-2
#: Gains below this fraction of the whole gain do not count; nor do those below this fraction of the stakes.
_SMALL, _NOTHING = 1e-3, 1e-11
#: The steps from the best strategies so far towards those of the restricted game, at which best responses are computed.
_STEPS = (0.1, 0.5, 1.0)
#: The first price of a violation, relative to the game's stakes, the factor by which it grows, and the last one.
_PRICE, _DEARER, _DEAREST = 10.0, 100.0, 1e7
#: The number of sequences of both players up to which the simplex method solves the restricted program.
_SIMPLEX = 1_000
#: A plan that violates a constraint by more than this proves no bound within the loop.
_MISSED = 1e-8


@dataclass(frozen=True)
class Grown(RunState):
    """The record of a solution by column generation.

    Attributes
    ----------
    sequences, whole : tuple of int
        The number of sequences of each player in the last restricted game, and in the whole game.
    """

    sequences: tuple[int, ...]
    whole: tuple[int, ...]

    @property
    def remark(self) -> str:
        """The numbers of sequences in the last program."""
        parts = [f"{part:,} of {whole:,}" for part, whole in zip(self.sequences, self.whole, strict=True)]
        return f"the last program has {' and '.join(parts)} sequences of the players"


@dataclass(frozen=True, eq=False)
class _Point:
    """Plans of both players, the maximising one's first, and multipliers of constraints."""

    plans: tuple[Floats, Floats]
    multipliers: dict[str, float]

    def towards(self, other: "_Point", step: float) -> "_Point":
        """Return a point between two points."""
        if step == 1.0:
            return other
        mine, theirs = self.multipliers, other.multipliers
        x, y = ((1.0 - step) * old + step * new for old, new in zip(self.plans, other.plans, strict=True))
        names = {**mine, **theirs}
        mixed = {name: (1.0 - step) * mine.get(name, 0.0) + step * theirs.get(name, 0.0) for name in names}
        return _Point((x, y), mixed)


class _Side:
    """One player's polytope, and the part of it that the restricted game contains.

    Attributes
    ----------
    kept : ndarray of bool, shape (num_sequences,)
        The sequences of the restricted game.
    face : Face
        The plans that take only these sequences.
    """

    def __init__(self, treeplex: Treeplex) -> None:
        self.treeplex = treeplex
        self.kept = np.zeros(treeplex.num_sequences, dtype=bool)
        self.kept[0] = True
        self._leads = treeplex.inflow.T.tocsr()

    def keep_played(self, plan: Floats) -> None:
        """Keep the sequences that a plan plays more often than rarely, and those that they need."""
        behaviour = np.where(plan > _PLAYED, self.treeplex.behaviour(plan), 0.0)
        called = np.unique(self._leads[[0]].indices)
        waiting = np.ones(self.treeplex.num_infosets, dtype=bool)
        while len(called):
            waiting[called] = False
            sequences, starts, counts = self._sequences(called)
            own = behaviour[sequences]
            lacking = np.repeat(np.maximum.reduceat(own, starts) <= 0.0, counts)
            found = np.concatenate([sequences[own > 0.0], self._best(called[lacking[starts]], plan)])
            self.kept[found] = True
            called = np.unique(self._leads[found].indices)
            called = called[waiting[called]]

    def restrict(self) -> None:
        """Make the face of the kept sequences."""
        self.face = Face.spanned(self.treeplex, self.kept)

    def grow(self, values: Floats, gradient: Floats, plan: Floats, least: float) -> bool:
        """Keep more sequences, those that gain against the other player; return whether there are any.

        Parameters
        ----------
        values : ndarray of float64, shape (num_sequences,)
            The value of each sequence, if play continues with best responses.
        gradient : ndarray of float64, shape (num_sequences,)
        plan : ndarray of float64, shape (face.treeplex.num_sequences,)
            The plan of the restricted game.
        least : float
            Smaller gains are ignored.
        """
        small = self.face.treeplex
        if not small.num_infosets:
            return False
        within = sequence_values(small, gradient[self.face.sequences])
        numbers = self.treeplex.sequence_infosets[self.face.sequences[small.offsets[:-1]]]
        gains = infoset_maxima(self.treeplex, values)[numbers] - infoset_maxima(small, within)
        gain = float(values[0] - within[0])
        lacking = gains > max(least, _SMALL * gain)
        waiting = np.ones(self.treeplex.num_infosets, dtype=bool)
        waiting[numbers] = lacking  # elsewhere, the kept sequences are good enough
        called = numbers[lacking & (small.reach(plan) * gains >= _NOTABLE * gain)]
        before = int(np.count_nonzero(self.kept))
        while len(called):
            waiting[called] = False
            best = self._best(called, values)
            self.kept[best] = True
            called = np.unique(self._leads[best].indices)
            called = called[waiting[called]]
        return int(np.count_nonzero(self.kept)) > before

    def _sequences(self, infosets: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the sequences of infosets, the start of each infoset among them, and its number of actions."""
        counts = self.treeplex.num_actions[infosets]
        starts = np.cumsum(counts) - counts
        sequences = np.arange(counts.sum()) + np.repeat(self.treeplex.offsets[infosets] - starts, counts)
        return sequences, starts, counts

    def _best(self, infosets: Integers, values: Floats) -> Integers:
        """Return the best sequence of each infoset; among equal ones, a kept one."""
        if not len(infosets):
            return np.zeros(0, dtype=np.int64)
        sequences, starts, counts = self._sequences(infosets)
        own = values[sequences]
        ranks = 2 * (own == np.repeat(np.maximum.reduceat(own, starts), counts)) + self.kept[sequences]
        first = np.flatnonzero(ranks == np.repeat(np.maximum.reduceat(ranks, starts), counts))
        found: Integers = sequences[first[np.searchsorted(first, starts)]]
        return found


class _Columns(Stepper):
    """A restricted game, and the best strategies and bounds so far."""

    first_step = 1
    next_check = None
    may_break_off = True  # a linear program may take a long time

    def __init__(self, method: "Columns", problem: SaddleProblem, options: Options) -> None:
        self._problem, self._options, self._begun = problem, options, counted_now()
        self._saddle = saddle = problem.canonical
        self._rows = saddle.own_rows, saddle.other_rows
        _check(problem, saddle)
        self._scale = problem.game.stakes
        self._price, self._is_exact = _PRICE * self._scale, False
        self._iterations = 0
        self._ended: Status | None = None
        self._proven: tuple[int, Attempt] | None = None
        self.detail = "the restricted programs did not prove better bounds"
        treeplexes = saddle.view.game.sequence_form.treeplexes
        self.sides = [_Side(treeplex) for treeplex in treeplexes]
        self.lower, self.upper = -math.inf, math.inf
        first = self._first(method)
        self._has_start = first is not None
        if first is None:
            plans = [treeplex.uniform_plan() for treeplex in treeplexes]
            self._best = _Point((plans[0], plans[1]), {})
        else:
            self._best = first
            for side, plan in zip(self.sides, first.plans, strict=True):
                side.keep_played(plan)
        for side, payoffs in zip(self.sides, self._payoffs(self._best)[0], strict=True):
            side.kept |= best_response_plan(side.treeplex, payoffs).plan > 0.0
        for side, rows in zip(self.sides, self._rows, strict=True):
            for one in rows.constraints:  # the plan that meets it best
                costs = np.zeros(side.treeplex.num_sequences)
                costs[one.function.indices] = one.function.coefficients
                side.kept |= best_response_plan(side.treeplex, -costs).plan > 0.0

    def _first(self, method: "Columns") -> _Point | None:
        """Return the strategies to start from, and set their bounds; ``None`` if the game is small."""
        start, options, problem = self._options.start, self._options, self._problem
        if start is not None:
            profile, known = starting_profile(start, problem.game), getattr(start, "dual_multipliers", {})
            multipliers = {one.name: known[one.name] for one in problem.constraints if one.name in known}
        elif sum(side.treeplex.num_sequences for side in self.sides) <= method.direct:
            return None
        else:
            base = CCFR(base="dcfr") if problem.constraints else BASES["dcfr"]()
            goal = max(options.tol, method.first * problem.unit)
            loop = driver.stepper(base, problem, replace(options, start=None, checkpoint=None))
            assert isinstance(loop, driver.RegretStepper)
            loop.aim(goal)
            how = replace(options, tol=goal, max_iterations=method.most, checkpoint=None, answered=None)
            ran = iterate(loop, how)
            if ran.stopped in (Status.TIME_LIMIT, Status.INTERRUPTED):
                self._ended = ran.stopped
            profile, multipliers = nearest_profile(problem.game, loop.answer()), dict(loop.multipliers)
        plans = profile.plans
        found = Attempt.of(problem, options, Answer(tuple(plans), multipliers), profile)
        assert found.proof is not None
        profile, certificate = found.proof
        if not problem.missed(certificate) and certificate.lower is not None and certificate.upper is not None:
            self.lower, self.upper = certificate.lower, certificate.upper
        x, y = profile.plans
        return _Point((x, y), multipliers)

    @property
    def iterations(self) -> int:
        return self._iterations

    @property
    def record(self) -> Grown:
        """The sizes of the last restricted game."""
        return Grown(
            tuple(int(np.count_nonzero(side.kept)) for side in self.sides),
            tuple(side.treeplex.num_sequences for side in self.sides),
        )

    def step(self, iterations: int) -> Checks:
        """Solve restricted games, and add the sequences that they lack."""
        done, errors = list[int](), list[float]()
        while len(done) < iterations and self._ended is None and not (errors and errors[-1] <= self._options.tol):
            try:
                self._round()
            except TimeLimitError:
                self._ended = self._ended or Status.TIME_LIMIT
                break
            self._iterations += 1
            done.append(self._iterations)
            errors.append(self._error())
        is_met = bool(errors) and 0.0 < self._options.tol >= errors[-1]
        return Checks(np.array(done, dtype=np.int64), np.array(errors), is_met)

    def look(self) -> Status | None:
        """Return the final status if there is nothing left to add."""
        return self._ended

    def confirms(self) -> bool:
        """Whether the certificate also meets the tolerance."""
        return self.attempt().excess == 0.0

    def check(self) -> float:
        """Return the proven error of the best strategies."""
        proof = self.attempt().proof
        return math.inf if proof is None else self._problem.error(proof[1])

    def _error(self) -> float:
        """Return the error of the bounds so far."""
        if not math.isfinite(self.upper - self.lower):
            return 2.0 * self._problem.game.payoff_scale
        middle, half = (self.lower + self.upper) / 2, max(0.0, self.upper - self.lower) / 2
        return float(
            self._problem.error(
                Certificate((middle, -middle), middle, middle - half, middle + half, half, residual=0.0, violations={})
            )
        )

    def attempt(self) -> Attempt:
        """Return the best strategies and their certificate, computed once for each round."""
        if self._proven is None or self._proven[0] != self._iterations:
            profile = nearest_profile(self._problem.game, self._best.plans)
            answer = Answer(tuple(profile.plans), self._best.multipliers)
            self._proven = self._iterations, Attempt.of(self._problem, self._options, answer, profile)
        return self._proven[1]

    def saved(self) -> Saved:
        """Return the kept sequences, the best plans and their bounds."""
        found: dict[str, Any] = {}
        for player, (side, plan) in enumerate(zip(self.sides, self._best.plans, strict=True)):
            played = np.flatnonzero(plan)
            found |= {f"kept_{player}": np.flatnonzero(side.kept), f"played_{player}": played}
            found[f"plan_{player}"] = plan[played]
        bounds = [number if math.isfinite(number) else None for number in (self.lower, self.upper)]
        found["columns"] = [self._iterations, dict(self._best.multipliers), self._price, self._has_start, *bounds]
        return found

    def restore(self, saved: Saved) -> None:
        """Restore what :meth:`saved` returned."""
        plans = []
        for player, side in enumerate(self.sides):
            side.kept[:] = False
            side.kept[np.asarray(saved[f"kept_{player}"])] = True
            plan = np.zeros(side.treeplex.num_sequences)
            plan[np.asarray(saved[f"played_{player}"])] = saved[f"plan_{player}"]
            plans.append(plan)
        self._iterations, multipliers, self._price, self._has_start, lower, upper = saved["columns"]
        self._best = _Point((plans[0], plans[1]), dict(multipliers))
        self.lower, self.upper = (-math.inf if lower is None else lower), (math.inf if upper is None else upper)

    def _round(self) -> None:
        """Solve the restricted game, prove bounds, and add best responses."""
        for side in self.sides:
            side.restrict()
        precision, plans, multipliers = self._restricted()
        x, y = (
            side.face.embedded(plan, side.treeplex.num_sequences) for side, plan in zip(self.sides, plans, strict=True)
        )
        centre, goal = self._best, _Point((x, y), multipliers)
        grown, missed = False, ("", "")
        for step in _STEPS if self._has_start else (1.0,):
            point = centre.towards(goal, step)
            payoffs, offsets = self._payoffs(point)
            values = [sequence_values(side.treeplex, payoff) for side, payoff in zip(self.sides, payoffs, strict=True)]
            missed = self._judge(point, offsets, values)
            if step < 1.0 or not grown:
                for side, value, payoff, plan in zip(self.sides, values, payoffs, plans, strict=True):
                    grown |= side.grow(value, payoff, plan, _NOTHING * self._scale)
        self._has_start = True
        if not grown:
            self._finish(precision, missed)

    def _finish(self, precision: float, missed: tuple[str, str]) -> None:
        """Nothing can be added: end, or solve the same program with other tolerances or prices."""
        if precision > TOLERANCE:
            self._is_exact = True
        elif any(missed) and self._price < _DEAREST * self._scale:
            self._price *= _DEARER
        elif any(missed):
            self._ended, self.detail = Status.INFEASIBLE, f"{' and '.join(filter(None, missed))} cannot be met"
        else:
            self._ended = Status.OPTIMAL

    def _payoffs(self, point: _Point) -> tuple[list[Floats], list[float]]:
        """Return the payoff of each sequence of each player, less the prices of constraints, and the constant parts."""
        view, payoffs, offsets = self._saddle.view, list[Floats](), list[float]()
        gradients = view.own_gradient(point.plans[1]), view.other_gradient(point.plans[0])
        for rows, plan, gradient in zip(self._rows, point.plans, gradients, strict=True):
            slope, offset = rows.minorant(point.multipliers, plan, {})
            payoffs.append(gradient - slope)
            offsets.append(float(offset))
        return payoffs, offsets

    def _judge(self, point: _Point, offsets: list[float], values: list[Floats]) -> tuple[str, str]:
        """Keep the plans that prove better bounds; return a violated constraint of each player, if there is one."""
        violations = [rows.values(plan) for rows, plan in zip(self._rows, point.plans, strict=True)]
        paid = [rows.paid(missed) for rows, missed in zip(self._rows, violations, strict=True)]
        missed = _missed(self._rows[0], violations[0]), _missed(self._rows[1], violations[1])
        lower = offsets[1] - float(values[1][0]) - paid[0]
        upper = float(values[0][0]) - offsets[0] + paid[1]
        x, y = self._best.plans
        prices = [dict.fromkeys(rows.names, 0.0) | self._best.multipliers for rows in self._rows]
        known = [{name: each[name] for name in rows.names} for rows, each in zip(self._rows, prices, strict=True)]
        given = [{name: point.multipliers.get(name, 0.0) for name in rows.names} for rows in self._rows]
        # The lower bound belongs to the first plan and the prices of the second player's constraints.
        if not missed[0] and lower > self.lower:
            self.lower, x, known[1] = lower, point.plans[0], given[1]
        if not missed[1] and upper < self.upper:
            self.upper, y, known[0] = upper, point.plans[1], given[0]
        if not self._has_start:  # any plans are better than uniform ones
            (x, y), known = point.plans, given
        self._best = _Point((x, y), {**known[0], **known[1]})
        return missed

    def _restricted(self) -> tuple[float, list[Floats], dict[str, float]]:
        """Solve the game between the kept sequences; return the tolerance, the plans and the multipliers."""
        faces = [side.face for side in self.sides]
        form = _form(self._saddle.view.game.sequence_form, faces)
        rows = [
            Rows(
                tuple(_on_face(one, face) for one in rows.constraints),
                face.treeplex.num_sequences,
                self._price if rows.penalty is None else rows.penalty,
                rows.shared,
            )
            for rows, face in zip(self._rows, faces, strict=True)
        ]
        game = Game.from_sequence_form(form, "restricted")
        part = Saddle(PlayerView(game, 0), weight=1.0, own=rows[0], other=rows[1])
        program = linear_program(part)
        ways = [("simplex", TOLERANCE), ("ipm-crossover", TOLERANCE)]
        if sum(treeplex.num_sequences for treeplex in form.treeplexes) > _SIMPLEX:
            gap = self.upper - self.lower
            loose = min(_COARSE, max(TOLERANCE, _PRECISE * gap / self._scale)) if math.isfinite(gap) else _COARSE
            ways = [("ipm", TOLERANCE if self._is_exact else loose), ("ipm-crossover", TOLERANCE)]
        for algorithm, precision in ways:
            numbers = self._solved(program, algorithm, precision)
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
            return precision, plans, {name: float(price) for name, price in answer.multipliers.items()}
        self._ended, self.detail = Status.UNCERTIFIED, "HiGHS did not solve a restricted program"
        raise TimeLimitError(self.detail)

    def _solved(self, program: Any, algorithm: str, precision: float) -> tuple[Floats, Floats] | None:
        """Return HiGHS's solution of a restricted program.

        Raises
        ------
        KeyboardInterrupt, TimeLimitError
        """
        solver = load(program, precision)
        choose_algorithm(solver, algorithm)
        left = self._options.time_limit - (counted_now() - self._begun)
        if left <= 0.0:
            raise TimeLimitError("a restricted program was being solved")
        solver.setOptionValue("time_limit", left)
        if run_solver(solver, interruptible=True):
            raise KeyboardInterrupt
        if counted_now() - self._begun >= self._options.time_limit:
            raise TimeLimitError("a restricted program was being solved")
        return solution_of(solver, program)


def _check(problem: SaddleProblem, saddle: Saddle) -> None:
    """Raise an error unless the program is an equilibrium between all plans of both players, under linear constraints.

    Raises
    ------
    UnsupportedProblemError
    """
    view = saddle.view
    if saddle.weight != 1 or saddle.tilt is not None or saddle.floor is not None or view.replies is not None:
        raise UnsupportedProblemError(f"method columns solves equilibria only, but the problem is {problem.name}")
    assert view.player == 0
    for one in saddle.constraints:
        if not isinstance(one, LinearConstraint):
            raise UnsupportedProblemError(
                f"method columns cannot solve {problem.name} with the constraint {shown(one.name)}, which is not "
                "linear in the plan: use highs or cvxpy"
            )


def _missed(rows: Rows, values: Any) -> str:
    """Return the name of a hard constraint that is violated by more than round-off; empty if there is none."""
    if rows.penalty is not None:
        return ""
    return next((one.name for one in rows.constraints if values[one.name] > _MISSED * one.largest_number), "")


def _on_face(one: Constraint, face: Face) -> Constraint:
    """Return a linear constraint on the plans of a face."""
    assert isinstance(one, LinearConstraint)
    places = np.minimum(np.searchsorted(face.sequences, one.indices), len(face.sequences) - 1)
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
    begun = counted_now()
    stepper = _Columns(method, problem, options)
    left = options.time_limit - (counted_now() - begun)
    ran = iterate(stepper, replace(options, time_limit=max(0.0, left)))
    found = stepper.attempt()
    assert found.answer is not None
    return Outcome(
        plans=found.answer.plans,
        multipliers=found.answer.multipliers,
        proof=found.proof,
        stopped=ran.stopped,
        detail=stepper.detail,
        iterations=ran.iterations,
        seconds=counted_now() - begun,
        build_seconds=0.0,
        history=ran.history,
        state=stepper.record,
    )
