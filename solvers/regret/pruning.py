"""Constraints without slack: the game without the actions that violate them, and their prices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...models.constraints import LinearConstraint
from ...models.constraints.constraint import weighted_minorant
from ...models.problems import ConstrainedNash, FeasibilityRelaxation, Problem
from ...models.saddle import PlayerView
from ...seqform.arrays import Floats
from ...seqform.face import ROUNDING, Face, cheapest, game_on_faces
from ...seqform.game import Game
from ...seqform.polytope import Treeplex, best_response_plan, best_response_value
from ...seqform.strategy import Profile, Strategy, check_same_game
from ..exclusion import EXCLUDED, excluded
from ..outcome import Options, Outcome, Status, nearest_profile
from ..solution import RunState, Solution

#: The slack, relative to a constraint's largest number, up to which it counts as none.
HAIR = 1e-12
#: The largest number of steps towards a multiplier. Each goes to a kink of a piecewise linear function; few are needed.
_STEPS = 1000


@dataclass(frozen=True, eq=False)
class Cut:
    """A constraint g · x ≤ h without slack, and the face on which g · x is least.

    Attributes
    ----------
    constraint : LinearConstraint
    before, after : Face
        Faces of the player's polytope, without and with the constraint.
    reduced : ndarray of float64, shape (before.treeplex.num_sequences,)
        The costs whose sum for a plan x in ``before`` is the excess of g · x over its least value; 0 for sequences
        of ``after``.
    is_met : bool
        Whether the least value is h; false if it is more.
    """

    constraint: LinearConstraint
    before: Face
    after: Face
    reduced: Floats
    is_met: bool


@dataclass(frozen=True, eq=False)
class PrunedState(RunState):
    """The state that a run on faces needs to continue."""

    faces: tuple[bytes, ...]
    state: RunState

    @property
    def multiplier_bound(self) -> float | None:
        """The bound on the multipliers, if there is one."""
        return self.state.multiplier_bound


@dataclass(frozen=True, eq=False)
class PrunedProblem:
    """A constrained problem on the faces of constraints without slack.

    Attributes
    ----------
    original : ConstrainedNash
    problem : ConstrainedNash
        The problem on the remaining game, under the constraints that have slack in it.
    faces : tuple of Face
        One per player.
    cuts : tuple of tuple of Cut
        Each player's cuts in the order in which they were found, each on the face of the previous one.
    """

    original: ConstrainedNash
    problem: ConstrainedNash
    faces: tuple[Face, ...]
    cuts: tuple[tuple[Cut, ...], ...]

    @property
    def _identity(self) -> tuple[bytes, ...]:
        return tuple(face.sequences.tobytes() for face in self.faces)

    def options(self, options: Options) -> Options:
        """Return the options of a run on the remaining game: another start and a slightly smaller tolerance.

        Multipliers of constraints without slack can be large, and increase the round-off of the certificate.
        """
        return replace(
            options, tol=0.999 * options.tol, violation=0.999 * options.violation, start=self._start(options.start)
        )

    def _start(self, start: Any) -> Any:
        """Return a start of the original game as a start of the remaining game."""
        if isinstance(start, Solution):
            kept, same = start.state, start.problem.game.fingerprint == self.original.game.fingerprint
            if isinstance(kept, PrunedState) and same and kept.faces == self._identity:
                return replace(start, problem=self.problem, profile=self._restricted(start.profile), state=kept.state)
            start = start.profile
        if not isinstance(start, Profile):
            return start
        check_same_game(start[0], self.original.game)
        return self._restricted(start)

    def _restricted(self, profile: Profile) -> Profile:
        """Return strategies without the removed actions; uniform where only removed actions were played."""
        return Profile(
            [
                Strategy(self.problem.game, player, face.treeplex.behaviour(strategy.behaviour[face.sequences]))
                for player, (face, strategy) in enumerate(zip(self.faces, profile, strict=True))
            ]
        )

    def outcome(self, outcome: Outcome) -> Outcome:
        """Return the outcome of a run on the remaining game for the original problem, including multipliers of cuts."""
        assert outcome.plans is not None
        game = self.original.game
        plans = [
            face.embedded(plan, treeplex.num_sequences)
            for face, plan, treeplex in zip(self.faces, outcome.plans, game.sequence_form.treeplexes, strict=True)
        ]
        played = nearest_profile(game, plans).plans
        multipliers = dict(outcome.multipliers)
        for player, cuts in enumerate(self.cuts):
            left = [one for one in self.original.of_player(player) if one.name in outcome.multipliers]
            weights = [max(0.0, outcome.multipliers[one.name]) for one in left]
            tilt, _ = weighted_minorant(left, weights, played[player], {})
            multipliers |= prices(cuts, PlayerView(game, player).own_gradient(played[1 - player]) - tilt)
        return replace(
            outcome,
            plans=plans,
            multipliers={one.name: multipliers[one.name] for one in self.original.constraints},
            state=PrunedState(self._identity, outcome.state),
            proof=None,  # the proof was for the remaining game
        )


def prune(problem: Problem) -> PrunedProblem | Outcome | None:
    """Remove the actions that constraints without slack exclude.

    If h is the least value of g · x, the constraint g · x ≤ h forbids all actions of positive reduced cost
    (:func:`~treeplex.seqform.face.cheapest`). On the remaining face another constraint may have no slack.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    PrunedProblem, or Outcome, or None
        ``None`` if there are no constraints, none excludes an action, violations are paid for, or a constraint is
        not linear. An infeasible outcome if a constraint cannot be met at all, or not together with the previous
        ones, and multipliers prove that.

    Notes
    -----
    A constraint whose bound is that least value has no plan in its interior. Because it is linear, multipliers still
    exist. But they are large if the smallest reduced cost is small, and learning them then takes too long. A plan that
    is cut off violates the constraint by at least :data:`HAIR` of its largest number, or the cut changes it by no more.
    """
    if not isinstance(problem, ConstrainedNash) or problem.penalty is not None:
        return None
    if not problem.constraints or not all(isinstance(one, LinearConstraint) for one in problem.constraints):
        return None
    faces: list[Face] = []
    cuts: list[tuple[Cut, ...]] = []
    left: list[LinearConstraint] = []
    for player, treeplex in enumerate(problem.game.sequence_form.treeplexes):
        face, pending = Face.whole(treeplex), list(problem.of_player(player))
        found: list[Cut] = []
        swept = False
        while not swept:
            swept = True
            for constraint in list(pending):
                assert isinstance(constraint, LinearConstraint)
                cut = _cut(constraint, treeplex, face)
                if cut is None:
                    continue
                if not cut.is_met:
                    # If an infeasibility is too small to be proven, there is no face to play on.
                    return _nothing(problem, constraint) if _is_excluded(problem, constraint, found) else None
                found.append(cut)
                pending.remove(constraint)
                face, swept = cut.after, False
        faces.append(face)
        cuts.append(tuple(found))
        left += [_on_face(one, face) for one in pending if isinstance(one, LinearConstraint)]
    form = problem.game.sequence_form
    if all(face.treeplex is treeplex for face, treeplex in zip(faces, form.treeplexes, strict=True)):
        return None
    game = Game.from_sequence_form(game_on_faces(form, faces), name=problem.game.spec)
    return PrunedProblem(problem, ConstrainedNash(game, left), tuple(faces), tuple(cuts))


def _cut(constraint: LinearConstraint, treeplex: Treeplex, face: Face) -> Cut | None:
    """Return the cut of a face of a player's polytope by a constraint; ``None`` if the constraint has slack."""
    costs = _costs(constraint, treeplex)[face.sequences]
    size = float(np.abs(constraint.coefficients).max(initial=0.0)) or abs(constraint.limit)
    hair = HAIR * max(size, abs(constraint.limit))
    if costs @ face.treeplex.uniform_plan() - constraint.limit < -2.0 * hair:
        return None  # one plan with slack is enough
    least = cheapest(face.treeplex, costs)
    room = constraint.limit - least.value
    if room > hair + least.error:
        return None
    after = Face.of(face.treeplex, least.attained).within(face)
    reduced = np.where(least.attained, 0.0, least.reduced)
    return Cut(constraint, face, after, reduced, is_met=room >= -(EXCLUDED * size + least.error))


def _costs(constraint: LinearConstraint, treeplex: Treeplex) -> Floats:
    costs = np.zeros(treeplex.num_sequences)
    costs[constraint.indices] = constraint.coefficients
    return costs


def _on_face(constraint: LinearConstraint, face: Face) -> LinearConstraint:
    """Return a constraint on the plans of a face."""
    places = dict(zip(face.sequences.tolist(), range(len(face.sequences)), strict=True))
    terms = {places[sequence]: number for sequence, number in constraint.terms.items() if sequence in places}
    return replace(constraint, terms=terms, fingerprint=None)


def prices(cuts: Sequence[Cut], gradient: Floats) -> dict[str, float]:
    """Return the least multipliers at which no plan of a player gains by violating the constraints of cuts.

    Parameters
    ----------
    cuts : sequence of Cut
        The cuts of one player, in the order in which they were found.
    gradient : ndarray of float64, shape (num_sequences,)
        The payoff of each of its sequences against the other's plan, minus the cost of other constraints.

    Returns
    -------
    dict of str to float
        By constraint.

    Notes
    -----
    On the polytope before a cut, g · x − h = Σ x(I, a) r(I, a), with r ≥ 0 the reduced costs, which are zero on the
    face after it. So the required λ satisfy

        max over all x of (d − λ r) · x  =  max over x in the face of d · x,

    where d is the gradient. To see that λ exist, compute the values D(I, a) and W(I) bottom-up for a player restricted
    to the actions of the face. Then d · x = W(∅) + Σ x(I, a) (D(I, a) − W(I)) for all x, as in
    :func:`~treeplex.seqform.face.cheapest`. Each D − W is at most 0 within the face, so any λ that is at least (D − W)
    / r for all other actions is valid. The least λ is a zero of the left side minus the right side, which is convex,
    piecewise linear and decreasing in λ. Newton's steps from 0 increase to it and end there (W. Dinkelbach, "On
    nonlinear fractional programming", Management Science 13, 1967).

    Faces are nested, so the last cut comes first, and the cost of its constraint becomes part of the gradient of the
    previous cut: cut by cut, the maximum over the whole polytope becomes the maximum over the last face.
    """
    found: dict[str, float] = {}
    gradient = gradient.copy()
    for cut in reversed(cuts):
        best = best_response_value(cut.after.treeplex, gradient[cut.after.sequences])
        price = _price(cut, gradient[cut.before.sequences], best)
        gradient[cut.constraint.indices] -= price * cut.constraint.coefficients
        found[cut.constraint.name] = price
    return found


def _price(cut: Cut, gradient: Floats, best: float) -> float:
    """Return the least λ at which no plan before the cut is worth more than ``best``, the maximum on the face."""
    price = 0.0
    for _ in range(_STEPS):
        plan = best_response_plan(cut.before.treeplex, gradient - price * cut.reduced).plan
        gained, cost = float(plan @ gradient) - best, float(plan @ cut.reduced)
        noise = ROUNDING * (float(plan @ np.abs(gradient)) + abs(best))
        if cost <= 0.0 or gained <= price * cost + noise or not np.isfinite(gained / cost):
            break
        price = gained / cost
    return price


def _is_excluded(problem: ConstrainedNash, constraint: LinearConstraint, cuts: Sequence[Cut]) -> bool:
    """Whether multipliers prove that a constraint cannot be met together with the constraints of a player's cuts."""
    player = constraint.player
    costs = _costs(constraint, problem.game.sequence_form.treeplexes[player])
    weights = {**prices(cuts, -costs), constraint.name: 1.0}
    involved = [one for one in problem.of_player(player) if one.name in weights]
    shares = {name: weight / max(weights.values()) for name, weight in weights.items()}
    uniform = Profile.uniform(problem.game)
    lower = FeasibilityRelaxation(problem.game, player, tuple(involved)).certify(uniform, shares).lower
    return lower is not None and excluded(involved, shares, lower, uniform[player].plan)


def _nothing(problem: ConstrainedNash, constraint: LinearConstraint) -> Outcome:
    return Outcome(
        plans=Profile.uniform(problem.game).plans,
        stopped=Status.INFEASIBLE,
        detail=f"{constraint.name} cannot be met",
        iterations=0,
        seconds=0.0,
        build_seconds=0.0,
    )
