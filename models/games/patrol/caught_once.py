"""Patrols in which an attacker is caught by its first detection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ....seqform.arrays import Floats
from ....seqform.errors import UnsupportedProblemError, shown
from ....seqform.game import Game
from ....seqform.parameters import About
from ....seqform.strategy import Profile, check_same_game
from ...constraints import LinearConstraint, collect_constraints
from ...declarations import Constraints
from ...problems.certificate import Certificate
from ...problems.features import Feature
from ...problems.problem import Problem

if TYPE_CHECKING:  # so that the command line lists problems without loading maps
    from .encounters import Encounters
    from .route_mixtures import Mixture
    from .walker import Whole

#: The names of route mixtures in a dual certificate, by player.
ROUTES = ("attackers' routes", "units' routes")


@dataclass(frozen=True, eq=False)
class CaughtOnce(Problem):
    r"""A patrol in which only the first detection of an attacker counts.

    The game of :class:`~treeplex.models.games.patrol.PatrolGame` pays for every meeting. Here an attacker is caught by
    its first detection, with probability 1 − Π (1 − p) over the meetings of its route with the units' routes and with
    sensors. :attr:`Patrol.meeting <treeplex.models.games.patrol.Patrol.meeting>` is the attacker's payoff for being
    caught. Payoffs are therefore no longer a product of flows: they depend on which routes are played together. The
    answer is a mixture of routes for each type of attacker, and a mixture of joint routes of all units.

    Parameters
    ----------
    game : PatrolGame
        Moves must not fail.
    constraints : iterable of constraints, or mapping of str to constraint, optional
        Linear constraints on the units' plan, as for :class:`~treeplex.ConstrainedNash`. The mixture meets them: its
        marginals do.
    forfeits : bool
        Whether an attacker who is caught also loses the payoffs of its route, for goals and steps; by default it keeps
        them.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol, moves may fail, being caught pays more than some route, or a constraint is not a
        linear one on the units.
    InvalidConstraintError
        If a constraint cannot be read, or belongs to another game.

    Notes
    -----
    Let A(r, j) be the payoff of a route against a joint route
    (:class:`~treeplex.models.games.patrol.encounters.Encounters`) and π the probabilities of types. Mixtures x of
    routes and q of joint routes prove

    .. math::
        \min_j \sum_c \pi_c \sum_r x_c(r) A_c(r, j) \le v \le
        \sum_c \pi_c \max_r \sum_j q(j) A_c(r, j)

    for the value v of the game to the attackers. If the joint routes must meet limits Σ_j q(j) g(j) ≤ h on average, the
    upper bound needs a mixture q that meets them, and any multipliers λ ≥ 0 prove the lower bound with λ · (g(j) − h)
    added to the payoff of each joint route. Both bounds are integer programs. The units' best response is a
    maximum coverage problem. F(j) = 1 − S(r, j) is submodular in the set of the units' sequences, and at most

        F(T) + Σ_{s ∉ T} (F(T ∪ s) − F(T)) y(s)    and    1 − e^{−h(T)} + e^{−h(T)} (h · y − h(T))

    for each set T, with h(s) = −log(1 − p(s)). The first bound is from G. L. Nemhauser and L. A. Wolsey, "Maximizing
    submodular set functions: formulations and analysis of algorithms", Annals of Discrete Mathematics 11, 1981; the
    second is a tangent. These inequalities are added wherever a reply claims to catch more than it does, until none
    does. The attacker's survival is a chain of variables, one per contact: t ≤ (1 − p) t' + p D (1 − x(k)), t ≤ t'.
    Detection probabilities from 0 to 1 are exact in both.

    The marginals of the mixtures form the profile, which gives each body's position at each time. The profile does not
    tell which routes of two units are combined, which matters here: sample from the mixtures, ``solution.state``, not
    from the profile.

    Examples
    --------
    Two units meet an attacker in each of its two steps; it is caught once:

    >>> import networkx as nx
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol import CaughtOnce
    >>> road = nx.path_graph(["gate", "mill", "bank"])
    >>> game = PatrolGame(
    ...     road, steps=2, units=[Unit(base="mill"), Unit(base="bank")], attackers=[Attacker(["gate"], {"bank": 3.0})]
    ... )
    >>> solve(Nash(game)).value, solve(CaughtOnce(game)).value
    (0.0, 2.0)
    """

    game: Game
    constraints: Constraints = field(default=(), kw_only=True)  # a tuple of Constraint after they have been collected
    forfeits: Annotated[bool, About("whether an attacker who is caught also loses the payoffs of its route")] = field(
        default=False, kw_only=True
    )

    name: ClassVar[str] = "caught-once"
    question: ClassVar[str] = (
        "Which mixtures of routes leave nobody anything to gain by another route, if one detection is enough?"
    )
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.ROUTES})
    example_game: ClassVar[str] = "patrol.toml"
    usual_method: ClassVar[str] = "double-oracle"

    def __post_init__(self) -> None:
        from .game import PatrolGame

        super().__post_init__()
        if not isinstance(self.given_game, PatrolGame):
            raise UnsupportedProblemError(f"{self.name} needs a PatrolGame, but {self.given_game.spec} is not one")
        given = collect_constraints(self.constraints, self.given_game) if self.constraints else ()
        object.__setattr__(self, "constraints", given)
        for one in given:
            if not isinstance(one, LinearConstraint) or one.player != 1:
                which = "is on the attackers" if one.player != 1 else "is not linear"
                raise UnsupportedProblemError(
                    f"{self.name}: constraint {shown(one.name)} {which}, expected a linear constraint on the units"
                )

    def check_game(self) -> None:
        """Raise an error if the game has no routes."""
        _ = self.encounters

    @cached_property
    def encounters(self) -> "Encounters":
        """The payoffs of pairs of routes."""
        from .encounters import Encounters
        from .game import PatrolGame

        assert isinstance(self.game, PatrolGame)
        return Encounters.of(self.game.patrol, self.forfeits)

    def costs(self, multipliers: Mapping[str, float]) -> Floats:
        """Return λ · (g − h) for each of the units' sequences, shape (num_sequences,); −λ · h for the empty one."""
        costs = np.zeros(self.game.sequence_form.treeplexes[1].num_sequences)
        for one in self.constraints:
            weight = max(float(multipliers.get(one.name, 0.0)), 0.0)
            costs[one.indices] += weight * one.coefficients
            costs[0] -= weight * one.limit
        return costs

    def value_of(self, attackers: "Mixture", units: "Mixture") -> float:
        """Return the attackers' payoff with given mixtures."""
        meetings = self.encounters
        found = [
            share * (own.probabilities @ meetings.payoffs(body, own.matrix, units.matrix) @ units.probabilities)
            for body, share in enumerate(meetings.shares.tolist())
            for own in [attackers.of(body)]
        ]
        return float(sum(found))

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        dual_certificate: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute the bounds that mixtures of routes prove: both best responses are recomputed by integer programs.

        Parameters
        ----------
        profile : Profile
            If no mixtures are given, those of :func:`taken_apart` are used.
        multipliers : mapping of str to float, optional
            Those of the constraints, by default 0.
        dual_certificate : mapping of str to ndarray, optional
            The mixtures under the names of :data:`ROUTES`, in the format of :meth:`Mixture.saved`.
        """
        from .route_mixtures import Mixture

        check_same_game(profile[0], self.game)
        given, form = dual_certificate or {}, self.game.sequence_form
        mixtures = [
            Mixture.restored(given[name], treeplex.num_sequences) if name in given else taken_apart(self, player, plan)
            for player, (name, treeplex, plan) in enumerate(zip(ROUTES, form.treeplexes, profile.plans, strict=True))
        ]
        return self.proven(mixtures[0], mixtures[1], multipliers or {})

    def proven(
        self,
        attackers: "Mixture",
        units: "Mixture",
        multipliers: Mapping[str, float],
        lower: float | None = None,
        upper: float | None = None,
    ) -> Certificate:
        """Return the certificate of mixtures, with known or computed bounds.

        A mixture that misses constraints by more than round-off proves no bound; after smaller violations, the bound is
        corrected by the violations times the multipliers.
        """
        from .route_responses import best_joint_route, best_route

        value = self.value_of(attackers, units)
        violations = {one.name: max(0.0, float(one.value(units.plan))) for one in self.constraints}
        if any(violations[one.name] > one.allowance for one in self.constraints):
            upper = np.inf
        if lower is None:
            lower = best_joint_route(self.encounters, attackers, costs=self.costs(multipliers)).bound
        if upper is None:
            upper = sum(
                share * best_route(self.encounters, body, units).bound
                for body, share in enumerate(self.encounters.shares.tolist())
            )
        treeplexes = self.game.sequence_form.treeplexes
        plans = zip(treeplexes, (attackers.plan, units.plan), strict=True)
        return Certificate(
            value=(value, 0 - value),
            objective=value,
            lower=lower,
            upper=upper + sum(multipliers.get(name, 0.0) * missed for name, missed in violations.items()),
            exploitability=(upper - lower) / 2,
            residual=max(treeplex.residual(plan) for treeplex, plan in plans),
            violations=violations,
        )

    def error(self, certificate: Certificate) -> float:
        """Return the quantity compared with the tolerance: half of the gap, or a larger violation of a constraint."""
        return max(certificate.exploitability, *certificate.violations.values(), 0.0)


def taken_apart(problem: CaughtOnce, player: int, plan: Floats) -> "Mixture":
    """Decompose a player's plan into routes, body by body; their mixture has the plan as its marginals.

    A flow is decomposed along the path of its largest parts. Joint routes use the same quantile for all bodies, so that
    there are few of them.
    """
    from .route_mixtures import Mixture

    treeplex, bodies = problem.game.sequence_form.treeplexes[player], problem.encounters.bodies[player]
    followers = sp.csc_array(treeplex.inflow)
    parts: list[list[tuple[float, Whole]]] = []
    for body in bodies:
        left, found, total = plan.copy(), [], 0.0
        first = int(treeplex.sequence_infosets[body.start])
        while total < 1.0 - 1e-12:
            route, amount, infoset = list[int](), np.inf, first
            while infoset >= 0:
                owned = slice(int(treeplex.offsets[infoset]), int(treeplex.offsets[infoset + 1]))
                sequence = owned.start + int(np.argmax(left[owned]))
                route.append(sequence)
                amount = min(amount, float(left[sequence]))
                below = followers.indices[followers.indptr[sequence] : followers.indptr[sequence + 1]]
                infoset = int(below[0]) if len(below) else -1
            if amount <= 0.0:
                break
            left[route] -= amount
            total += amount
            found.append((amount, np.array(route)))
        parts.append(found)
    if player == 0:
        flat = [(body, amount, route) for body, found in enumerate(parts) for amount, route in found]
        chances = np.array([amount for _, amount, _ in flat])
        owners = np.array([body for body, _, _ in flat])
        return Mixture(
            tuple(route for *_, route in flat), owners, chances / np.bincount(owners, chances)[owners], len(plan)
        )
    levels = [np.cumsum([amount for amount, _ in found]) for found in parts]
    ends = np.unique(np.concatenate([[1.0], *(each / each[-1] for each in levels)]))
    ends = ends[np.diff(ends, prepend=0.0) > 1e-12]
    middles = ends - np.diff(ends, prepend=0.0) / 2
    joint = tuple(
        np.concatenate([np.zeros(1, dtype=np.int64), *_chosen(parts, levels, middle)]) for middle in middles.tolist()
    )
    return Mixture(joint, np.zeros(len(joint), dtype=np.int64), np.diff(ends, prepend=0.0) / ends[-1], len(plan))


def _chosen(parts: Sequence[Sequence[tuple[float, Any]]], levels: Sequence[Floats], quantile: float) -> "list[Whole]":
    """Return the route of each body at a quantile of its own mixture."""
    return [
        found[min(int(np.searchsorted(level / level[-1], quantile)), len(found) - 1)][1]
        for found, level in zip(parts, levels, strict=True)
    ]
