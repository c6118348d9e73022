"""Best responses to mixtures of routes if the first detection catches: an attacker's, and that of all units."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....seqform.arrays import Floats
from ....seqform.polytope import Treeplex, best_response_plan
from ...programs.integer_program import TOLERANCE, IntegerProgram, Runner, run_plainly
from ...programs.linear_program import ProgramBlocks
from .encounters import Encounters, routes_matrix
from .route_mixtures import Mixture
from .route_search import Search
from .walker import Whole

#: Number of detections of one route by identical units for which inequalities are added initially.
_COUNTED = 12


@dataclass(frozen=True, eq=False)
class Reply:
    """A reply to a mixture.

    Attributes
    ----------
    route : ndarray of int64
        Its sequences.
    value : float
        The attackers' payoff; for a type's route, that type's.
    bound : float
        A bound on all replies: no reply pays an attacker more, or the units' opponents less.
    """

    route: Whole
    value: float
    bound: float


def best_route(meetings: Encounters, body: int, units: Mixture, run: Runner = run_plainly, gap: float = 0.0) -> Reply:
    """Return the best route of a type of attackers against a mixture of joint routes.

    Parameters
    ----------
    meetings : Encounters
    body : int
        The type.
    units : Mixture
    run : callable
        Runs HiGHS.
    gap : float
        Permitted distance from the bound.

    Notes
    -----
    :class:`~treeplex.models.games.patrol.route_search.Search` finds it if there are not too many labels; otherwise an
    integer program does: max over routes x of b · x + Σ_j q_j t_j. Here t_j is the end of a chain t ≤ t', t ≤ (1 − p_k)
    t' + p_k D⁺ (1 − x(k)) over the contacts k at which the joint route j detects with probability p_k, starting from D,
    D⁺ is the largest D, and x(k) tells whether x reaches k. Chances of the same route are multiplied, so their order
    does not matter; if p_k is 1, the row is t_j ≤ D⁺ (1 − x(k)).
    """
    units = units.played
    quick = better_route(meetings, body, units)
    caught = float(meetings.caught[body])
    found = _search(meetings, body, units).best(quick.value + gap - caught)
    if found is not None:
        route, most = found
        if not len(route):
            return Reply(quick.route, quick.value, most + caught)
        value = _against(meetings, body, route, units)
        return Reply(route, value, max(value, most + caught))
    return _programmed(meetings, body, units, run, gap)


def _search(meetings: Encounters, body: int, units: Mixture) -> Search:
    part, joint = meetings.bodies[0][body], units.matrix
    attending = meetings.attending[part]
    logs, certain = ((attending @ (one @ joint.T)).toarray() for one in (meetings.hazards, meetings.sure))
    return Search(
        meetings.treeplexes[0],
        part,
        meetings.rewards[part],
        np.where(certain > 0.0, 0.0, np.exp(-logs)),
        units.probabilities,
        *((0.0, 1.0) if meetings.forfeits else (1.0, 0.0)),
        -float(meetings.caught[body]),
    )


def _programmed(meetings: Encounters, body: int, units: Mixture, run: Runner, gap: float) -> Reply:
    part = meetings.bodies[0][body]
    treeplex, rewards, caught = meetings.treeplexes[0], meetings.rewards[part], meetings.caught[body]
    attending = sp.csr_array(meetings.attending[part].T)
    # A contact that no route of this type reaches detects nobody.
    open_to = np.flatnonzero(np.diff(attending.indptr))
    attending, chances = attending[open_to], _detecting(meetings, units)[open_to]
    most = float(meetings.most[body])

    blocks = ProgramBlocks()
    base = 0.0 * rewards if meetings.forfeits else rewards
    count = len(units.routes)
    blocks.add_columns("route", len(rewards), objective=base, lower=0.0, upper=1.0)
    blocks.add_columns("escape", 1, lower=0.0, upper=most)
    blocks.add_columns("survival", count, objective=units.probabilities, lower=0.0, upper=most)
    _add_flow(blocks, "route", treeplex, part)
    paid = rewards[None] if meetings.forfeits else 0.0 * rewards[None]
    blocks.add_rows(
        "paid",
        {"escape": sp.csr_array([[1.0]]), "route": sp.csr_array(-paid)},
        lower=-caught, upper=-caught,
    )  # fmt: skip
    contacts, routes = np.nonzero(chances == 1.0)
    if len(routes):
        hindered = {"survival": _columns(routes, count), "route": most * attending[contacts]}
        blocks.add_rows("caught", hindered, upper=most)
    # Chains: the first link follows D, the last one is the survival.
    contacts, routes = np.nonzero(((chances > 0.0) & (chances < 1.0)).T)[::-1]
    links = len(contacts)
    first = np.append(True, routes[1:] != routes[:-1])[:links]
    blocks.add_columns("chain", links, lower=0.0, upper=most)
    here = sp.eye_array(links, format="csr")
    before = sp.csr_array(
        (np.ones(int((~first).sum())), (np.flatnonzero(~first), np.flatnonzero(~first) - 1)), (links, links)
    )
    begun = sp.csr_array(first[:, None].astype(np.float64))
    passed = chances[contacts, routes]
    if links:
        blocks.add_rows("going on", {"chain": sp.csr_array(here - before), "escape": -begun}, upper=0.0)
        left = sp.diags_array(1.0 - passed)
        blocks.add_rows(
            "detected",
            {
                "chain": sp.csr_array(here - left @ before),
                "escape": sp.csr_array(-(left @ begun)),
                "route": sp.csr_array(sp.diags_array(passed * most) @ attending[contacts]),
            },
            upper=passed * most,
        )
    last = np.flatnonzero(np.append(first[1:], True)[:links])
    ended = np.zeros(count, dtype=bool)
    ended[routes[last]] = True
    if links:
        ends = {"survival": _columns(routes[last], count), "chain": -_columns(last, links)}
        blocks.add_rows("end", ends, upper=0.0)
    free = np.flatnonzero(~ended)
    if len(free):
        unhindered = {"survival": _columns(free, count), "escape": sp.csr_array(-np.ones((len(free), 1)))}
        blocks.add_rows("free", unhindered, upper=0.0)
    program = blocks.program(maximise=True)
    found = IntegerProgram.of(program, "route").solve(run, gap)
    route = part.start + np.flatnonzero(found.columns[program.columns["route"]] > 0.5)
    value = _against(meetings, body, route, units)
    return Reply(route, value, max(value, found.bound + caught))


def better_route(meetings: Encounters, body: int, units: Mixture, emphasis: Floats | float = 1.0) -> Reply:
    """Return a good route of a type against a mixture: one that would be best if every detection counted.

    Joint routes are weighted by an emphasis each. The bound is meaningless.
    """
    part = meetings.bodies[0][body]
    chances = _detecting(meetings, units) @ (units.probabilities * emphasis)
    gradient = np.zeros(len(meetings.rewards))
    at_stake = float(meetings.most[body]) if meetings.forfeits else -float(meetings.caught[body])
    gradient[part] = meetings.rewards[part] - at_stake * (meetings.attending[part] @ chances)
    plan = best_response_plan(meetings.treeplexes[0], gradient).plan[part]
    route = part.start + np.flatnonzero(plan > 0.5)
    return Reply(route, _against(meetings, body, route, units), np.inf)


def _detecting(meetings: Encounters, units: Mixture) -> Floats:
    """Return each joint route's probability of detection at a contact, shape (contacts, joint routes)."""
    logs, certain = ((one @ units.matrix.T).toarray() for one in (meetings.hazards, meetings.sure))
    return np.where(certain > 0.0, 1.0, -np.expm1(-logs))


def _against(meetings: Encounters, body: int, route: Whole, units: Mixture) -> float:
    own = routes_matrix([route], len(meetings.rewards))
    return float((meetings.payoffs(body, own, units.matrix) @ units.probabilities)[0])


@dataclass(frozen=True, eq=False)
class _Coverage:
    """The payoff of a mixture of attackers against joint routes: constant − Σ weights · F.

    Attributes
    ----------
    constant : float
        The mixture's payoff if only sensors detect.
    weights : ndarray of float64, shape (routes,)
        The cost of catching each route with probability 1.
    hazards, sure : csr_array, shape (routes, num_sequences of player 1)
        −log(1 − p) of each sequence of a unit against each route, and 1 if p is 1; column 0 is empty.
    costs : ndarray of float64, shape (num_sequences of player 1,)
        What the units pay for each sequence; that of the empty sequence is paid by every joint route.
    """

    constant: float
    weights: Floats
    hazards: sp.csr_array
    sure: sp.csr_array
    costs: Floats

    @classmethod
    def of(cls, meetings: Encounters, attackers: Mixture, costs: Floats | None) -> "_Coverage":
        attackers = attackers.played
        came = attackers.matrix @ meetings.attending
        hazards, sure = (sp.lil_array(came @ one) for one in (meetings.hazards, meetings.sure))
        sensed = np.where(sure[:, [0]].toarray().ravel() > 0.0, 0.0, np.exp(-hazards[:, [0]].toarray().ravel()))
        hazards[:, 0], sure[:, 0] = 0.0, 0.0
        constant, weights = 0.0, np.zeros(len(attackers.routes))
        for body, share in enumerate(meetings.shares.tolist()):
            chosen = attackers.bodies == body
            base, free = meetings.split(body, attackers.matrix[np.flatnonzero(chosen)])
            weights[chosen] = share * attackers.probabilities[chosen] * free * sensed[chosen]
            constant += share * float(attackers.probabilities[chosen] @ base) + float(weights[chosen].sum())
        costs = np.zeros(sure.shape[1]) if costs is None else costs
        return cls(constant, weights, sp.csr_array(hazards), sp.csr_array(sure), costs)

    def escaping(self, made: Floats) -> Floats:
        """Return the probability S that each route escapes the units' sequences, which are given as zeros and ones."""
        return np.where(self.sure @ made > 0.0, 0.0, np.exp(-(self.hazards @ made)))

    def value(self, made: Floats) -> float:
        """Return the mixture's payoff, plus what the units pay."""
        return self.constant - float(self.weights @ (1.0 - self.escaping(made))) + float(self.costs @ made)


def best_joint_route(
    meetings: Encounters,
    attackers: Mixture,
    run: Runner = run_plainly,
    gap: float = 0.0,
    costs: Floats | None = None,
) -> Reply:
    """Return the joint route of all units that minimises the payoff of a mixture of attackers' routes.

    Parameters
    ----------
    meetings : Encounters
    attackers : Mixture
    run : callable
        Runs HiGHS.
    gap : float
        Permitted distance from the bound.
    costs : ndarray of float64, shape (num_sequences of player 1,), optional
        What the units pay for each sequence, in the attackers' payoff: multipliers times limits. Values and bounds
        contain these costs.

    Notes
    -----
    See :class:`~treeplex.models.games.patrol.CaughtOnce`: a maximum coverage program, to which inequalities are added
    where a reply's claimed F exceeds its actual value.
    """
    cover, treeplex = _Coverage.of(meetings, attackers, costs), meetings.treeplexes[1]
    size, count = treeplex.num_sequences, len(cover.weights)
    cuts = _Cuts(cover)
    best = better_joint_route(meetings, attackers, costs=costs)
    made = routes_matrix([best.route], size).toarray().ravel()
    cuts.begin()
    cuts.add(made, np.full(count, np.inf))
    tolerance = max(gap, 1e-9 * (float(cover.weights.sum()) or 1.0))
    bound = -np.inf
    while True:
        blocks = ProgramBlocks()
        blocks.add_columns("joint", size - 1, objective=-cover.costs[1:], lower=0.0, upper=1.0)
        blocks.add_columns("caught", count, objective=cover.weights, lower=0.0, upper=1.0)
        _add_flow(blocks, "joint", treeplex, slice(1, size))
        cuts.give(blocks)
        program = blocks.program(maximise=True)
        start = np.concatenate([made[1:], 1.0 - cover.escaping(made)])
        found = IntegerProgram.of(program, "joint").solve(run, gap / 2, start)
        bound = max(bound, cover.constant + float(cover.costs[0]) - found.bound)
        reply = np.append(1.0, found.columns[program.columns["joint"]])
        value = cover.value(reply)
        if value < best.value:
            best, made = Reply(np.flatnonzero(reply > 0.5), value, -np.inf), reply
        if best.value - bound <= tolerance or not cuts.add(reply, found.columns[program.columns["caught"]]):
            return Reply(best.route, best.value, min(best.value, bound))


def better_joint_route(
    meetings: Encounters, attackers: Mixture, emphasis: Floats | float = 1.0, costs: Floats | None = None
) -> Reply:
    """Return a good joint route: in two rounds, each unit in turn catches as much as it can of what the others miss.

    The attackers' routes are weighted by an emphasis each. The bound is meaningless.
    """
    cover, treeplex = _Coverage.of(meetings, attackers, costs), meetings.treeplexes[1]
    made = np.zeros(treeplex.num_sequences)
    made[0] = 1.0
    for body in meetings.bodies[1] * 2:
        made[body] = 0.0
        gains = _chances(cover.hazards, cover.sure).T @ (cover.weights * emphasis * cover.escaping(made))
        gradient = np.zeros(len(made))
        gradient[body] = gains[body] - cover.costs[body]
        made[body] = best_response_plan(treeplex, gradient).plan[body]
    return Reply(np.flatnonzero(made > 0.5), cover.value(made), -np.inf)


def _chances(hazards: sp.csr_array, sure: sp.csr_array) -> sp.csr_array:
    """Return each sequence's probability p of catching each route."""
    chances = hazards.copy()
    chances.data = -np.expm1(-chances.data)
    chances = chances - chances * sure.sign() + sure.sign()
    return sp.csr_array(chances)


class _Cuts:
    """Inequalities F ≤ c · y + c₀ for the routes of a mixture."""

    def __init__(self, cover: _Coverage) -> None:
        self._cover = cover
        self._chances = _chances(cover.hazards, cover.sure)
        self._certain = cover.sure.sign()
        self._rows: list[tuple[Whole, sp.csr_array, Floats]] = []

    def begin(self) -> None:
        """Add the inequalities for one detection and, if all chances of a route are equal, for a few more."""
        chances, every = self._chances, np.arange(len(self._cover.weights))
        self._rows.append((every, chances, np.zeros(len(every))))
        sizes = np.diff(chances.indptr)
        firsts = np.append(chances.data, 0.0)[np.minimum(chances.indptr[:-1], len(chances.data))]
        spread = np.abs(chances.data - np.repeat(firsts, sizes))
        alike = np.bincount(np.repeat(every, sizes), spread, len(every)) <= 1e-12
        chosen = np.flatnonzero(alike & (sizes > 1) & (firsts < 1.0))
        for number in range(1, _COUNTED):
            left = (1.0 - firsts[chosen]) ** number
            slopes = sp.csr_array(sp.diags_array(left) @ chances[chosen])
            self._rows.append((chosen, slopes, 1.0 - left - left * firsts[chosen] * number))

    def add(self, made: Floats, claimed: Floats) -> bool:
        """Add both inequalities at a joint route, for the attackers' routes whose detection the program overstates."""
        cover = self._cover
        escaping = cover.escaping(made)
        # Beyond HiGHS's tolerance; otherwise the same inequalities would be added forever.
        wrong = np.flatnonzero((claimed > 1.0 - escaping + 10.0 * TOLERANCE) & (escaping > 0.0))
        if not len(wrong):
            return False
        left, reached = sp.diags_array(escaping[wrong]), cover.hazards[wrong] @ made
        others = sp.csr_array(self._chances[wrong] @ sp.diags_array(1.0 - made))
        self._rows.append((wrong, sp.csr_array(left @ others), 1.0 - escaping[wrong]))
        certain = self._certain[wrong]
        certain = sp.diags_array(1.0 + reached) @ certain
        tangent = sp.csr_array(left @ (cover.hazards[wrong] + certain))
        self._rows.append((wrong, tangent, 1.0 - escaping[wrong] * (1.0 + reached)))
        return True

    def give(self, blocks: ProgramBlocks) -> None:
        """Add the inequalities to a program with columns ``joint`` and ``caught``."""
        count = len(self._cover.weights)
        for number, (routes, slopes, constants) in enumerate(self._rows):
            if not len(routes):
                continue
            cut = {"caught": _columns(routes, count), "joint": sp.csr_array(-slopes[:, 1:])}
            blocks.add_rows(f"cut {number}", cut, upper=constants)


def _add_flow(blocks: ProgramBlocks, columns: str, treeplex: Treeplex, part: slice) -> None:
    """Add the flow constraints of some bodies: their sequences are the columns, and the empty sequence has reach 1."""
    rows = treeplex.E[np.unique(treeplex.sequence_infosets[part]) + 1]
    limits = -rows[:, [0]].toarray().ravel()
    blocks.add_rows("flow", {columns: sp.csr_array(rows[:, part])}, lower=limits, upper=limits)


def _columns(chosen: Whole, count: int) -> sp.csr_array:
    """Return the matrix whose rows select some of the columns."""
    each = np.arange(len(chosen))
    return sp.csr_array((np.ones(len(chosen)), (each, chosen)), (len(chosen), count))
