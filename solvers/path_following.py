"""Quantal response equilibria by following the branch from uniform play."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise, starmap
from typing import TYPE_CHECKING

import numpy as np

from ..models.problems.quantal import LogitChoices, QuantalResponse
from ..seqform.arrays import Floats
from ..seqform.errors import InvalidOptionError, TimeLimitError
from ..seqform.limits import counted_now, seconds_left
from ..seqform.sheet import counted
from ..seqform.strategy import Profile, Strategy
from .outcome import Options, Outcome, Status, reported
from .solution import RunState

if TYPE_CHECKING:
    from .methods import PathFollowing

#: Newton's method ends at this residual, relative to λ times the largest payoff if that is larger than 1, and to this
#: share of the largest logarithm of a probability on which an equation depends. It gives up after this many steps, or
#: if a step does not reduce the residual.
_SOLVED, _DIGITS, _NEWTON = 1e-12, 4e-3, 6
#: The smallest step along the branch.
_LEAST_STEP = 1e-9
#: The longest step as a share of λ, where that is longer than the method's `longest`: for large λ the branch is nearly
#: straight in λ, and its probabilities change with the logarithm of λ.
_SHARE = 0.5
#: A step is taken if Newton's method moves no probability by more than this.
_MOVED = 0.1


@dataclass(frozen=True, eq=False)
class Branch(RunState):
    """The points of the branch, as ``solution.state``.

    Attributes
    ----------
    rationality : ndarray of float64, shape (points,)
        λ, from 0 to that of the problem. It may fall on the way if the branch turns.
    behaviour : tuple of ndarray of float64, shape (points, num_sequences)
        By player, the behaviour strategy at each point.
    logarithms : tuple of ndarray of float64, shape (num_sequences,)
        By player, the logarithms of the last point's behaviour strategy, of which the certificate is computed. They
        also distinguish probabilities that are too small for floats.
    bifurcations : int
        How many bifurcations the branch passes. Other branches leave it there, as in symmetric games.
    """

    rationality: Floats
    behaviour: tuple[Floats, ...]
    logarithms: tuple[Floats, ...]
    bifurcations: int = 0

    @property
    def remark(self) -> str:
        """The number of points in words."""
        turns = int((np.diff(np.sign(np.diff(self.rationality))) != 0).sum())
        met = [counted(turns, "turn")] if turns else []
        met += [counted(self.bifurcations, "bifurcation")] if self.bifurcations else []
        passed = f", past {' and '.join(met)}" if met else ""
        return f"the branch from uniform play was followed through {len(self.rationality):,} points{passed}"


def run(method: "PathFollowing", problem: QuantalResponse, options: Options) -> Outcome:
    """Follow the branch to the problem's λ; see :class:`~treeplex.solvers.PathFollowing`."""
    if options.start is not None:
        raise InvalidOptionError(f"{method.name} does not accept a start: it starts from uniform play")
    built = counted_now()
    choices = problem.choices
    begun = counted_now()
    deadline = begun + seconds_left(options.time_limit)
    target = float(problem.rationality)
    walk = _Walk(choices, method.first, method.longest)
    stopped, detail = Status.OPTIMAL, "the branch reached the rationality"
    try:
        while not walk.reach(target):
            if walk.step < _LEAST_STEP:
                stopped, detail = Status.UNCERTIFIED, f"the branch could not be followed beyond λ = {walk.now:.6g}"
                break
            if len(walk.points) > options.max_iterations:
                stopped, detail = Status.ITERATION_LIMIT, f"stopped at λ = {walk.now:.6g}"
                break
            if counted_now() > deadline:
                raise TimeLimitError
            if reported(options, len(walk.points), counted_now() - begun, None):
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        stopped, detail = Status.INTERRUPTED, f"stopped at λ = {walk.now:.6g}"
    except TimeLimitError:
        stopped, detail = Status.TIME_LIMIT, f"stopped at λ = {walk.now:.6g}"
    profile, branch = _read(problem, walk)
    distance = choices.distance(np.concatenate([one[1:] for one in branch.logarithms]), target)
    return Outcome(
        plans=[],
        stopped=stopped,
        detail=detail,
        iterations=len(walk.points) - 1,
        seconds=counted_now() - begun,
        build_seconds=begun - built,
        state=branch,
        proof=(profile, replace(problem.certify(profile), logit_distance=distance)),
    )


def _read(problem: QuantalResponse, walk: "_Walk") -> tuple[Profile, Branch]:
    """Return the strategies at the last point, and the whole branch."""
    points = np.array(walk.points)
    game, behaviour, logarithms, start = problem.game, [], [], 0
    for treeplex in game.sequence_form.treeplexes:
        stop = start + treeplex.num_sequences - 1
        played, last = np.ones((len(points), treeplex.num_sequences)), np.zeros(treeplex.num_sequences)
        played[:, 1:] = np.exp(points[:, start:stop])
        last[1:] = points[-1, start:stop]
        for here in starmap(slice, pairwise(treeplex.offsets.tolist())):
            total = played[:, here].sum(axis=1, keepdims=True)
            played[:, here] /= total
            last[here] -= np.log(total[-1])
        behaviour.append(played)
        logarithms.append(last)
        start = stop
    profile = Profile([Strategy(game, player, played[-1]) for player, played in enumerate(behaviour)])
    return profile, Branch(points[:, -1], tuple(behaviour), tuple(logarithms), walk.bifurcations)


class _Walk:
    """Points (ℓ, λ) along the branch, each found by a step along the tangent and Newton's method across it."""

    def __init__(self, choices: LogitChoices, first: float, longest: float) -> None:
        self._choices, self.step, self._longest = choices, first, longest
        self._scale = float(np.abs(choices.paid.data).max(initial=0.0))
        uniform = -np.log(np.repeat(choices.counts, choices.counts).astype(np.float64))
        self.points = [np.append(uniform, 0.0)]
        self._tangent = np.append(np.zeros(len(uniform)), 1.0)
        self._orientation = 0.0
        self.bifurcations = 0

    @property
    def now(self) -> float:
        """λ at the last point."""
        return float(self.points[-1][-1])

    def reach(self, target: float) -> bool:
        """Take one step; return whether the last point has the target's λ."""
        if self.now == target:
            return True
        here = self.points[-1]
        tangent, orientation = self._tangent_at(here)
        ahead = here + self.step * tangent
        across = tangent
        if ahead[-1] >= target:  # end at the target
            share = (target - here[-1]) / (ahead[-1] - here[-1])
            ahead = here + share * self.step * tangent
            across = np.append(np.zeros(len(here) - 1), 1.0)
            ahead[-1] = target
        found, contraction = self._corrected(ahead, across)
        if found is None or self._is_far(found, ahead) or found[-1] > target * (1 + 1e-12):
            self.step /= 2
            return False
        self.bifurcations += self._orientation * orientation < 0
        self._tangent, self._orientation = tangent, orientation
        self.points.append(self._polished(found) if found[-1] == target else found)
        longest = max(self._longest, _SHARE * self.now)
        self.step = min(longest, self.step * (1.5 if contraction < 0.1 else 1.0 if contraction < 0.3 else 0.7))
        return self.now == target

    def _is_far(self, found: Floats, ahead: Floats) -> bool:
        """Return whether a point is so far from the one expected that it may be on another branch."""
        expected, moved = np.exp(np.minimum(ahead[:-1], 1.0)), np.exp(found[:-1])
        return bool(
            np.linalg.norm(found - ahead) > 0.5 * self.step or np.abs(moved - expected).max(initial=0.0) > _MOVED
        )

    def _polished(self, point: Floats) -> Floats:
        """Return a point after one more step of Newton's method with the same λ, if that reduces the residual."""
        logs, rationality = point[:-1], float(point[-1])
        residual = self._choices.residual(logs, rationality)
        try:
            better = logs - np.linalg.solve(self._choices.jacobian(logs, rationality)[:, :-1], residual)
        except np.linalg.LinAlgError:
            return point
        left = self._choices.residual(better, rationality)
        closer = float(np.abs(left).max(initial=0.0)) < float(np.abs(residual).max(initial=0.0))
        return np.append(better, rationality) if closer else point

    def _tangent_at(self, point: Floats) -> tuple[Floats, float]:
        """Return the unit vector along the branch that continues in the direction so far, and a sign.

        The sign is that of a determinant, which changes at a bifurcation and not where the branch turns.
        """
        jacobian = np.vstack([self._choices.jacobian(point[:-1], float(point[-1])), self._tangent])
        try:
            found = np.linalg.solve(jacobian, np.append(np.zeros(len(point) - 1), 1.0))
        except np.linalg.LinAlgError:  # exactly at a bifurcation
            return self._tangent, 0.0
        return found / np.linalg.norm(found), float(np.linalg.slogdet(jacobian)[0])

    def _allowed(self, point: Floats) -> Floats:
        """Return the residual of each equation that counts as zero: what round-off leaves."""
        unit = _SOLVED * max(1.0, abs(float(point[-1])) * self._scale)
        return unit * np.maximum(1.0, _DIGITS * self._choices.depths(point[:-1]))

    def _corrected(self, point: Floats, across: Floats) -> tuple[Floats | None, float]:
        """Return the point of the branch near another one, in the plane across a direction, and the contraction."""
        begun, last, contraction = point, math.inf, 0.0
        for _ in range(_NEWTON):
            with np.errstate(over="ignore", invalid="ignore"):
                residual = self._choices.residual(point[:-1], float(point[-1]))
                allowed = self._allowed(point)
            size = float(np.abs(residual / allowed).max(initial=0.0))
            if size <= 1.0:
                return point, contraction
            if not math.isfinite(size) or size > last:
                return None, math.inf
            if math.isfinite(last):
                contraction = max(contraction, size / last)
            last = size
            jacobian = self._choices.jacobian(point[:-1], float(point[-1]))
            try:
                move = np.linalg.solve(np.vstack([jacobian, across]), np.append(-residual, across @ (begun - point)))
            except np.linalg.LinAlgError:
                return None, math.inf
            point = point + move
        return None, math.inf
