"""Simple strategies on public forms: an equilibrium is rounded, node by node, by the loss that is certified."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...models.problems import Nash, SimpleStrategy
from ...models.problems.simple import ROUND_OFF, Complexity, menus_of
from ...models.problems.simple_limits import misplaced
from ...seqform.arrays import Floats, Indices
from ...seqform.errors import TimeLimitError
from ...seqform.limits import check_time, counted_now, seconds_left
from ...seqform.public_form import PublicForm
from ...seqform.public_profile import PublicProfile, StrategiesOnDemand
from ..methods import DCFR
from ..node_limits import WAYS, NodeLimits
from ..outcome import Options, Outcome, Status
from ..rounding import Simplified
from ..solve import solve_part
from .driver import warm
from .floors import BehaviourFloors
from .kernel import PublicKernel
from .large_rounding import OFFSETS, RoundedProfile, walk_seconds

#: The grids that are tried in turn if only the loss is limited.
GRIDS = (1, 2, 3, 4, 5, 8, 10, 20)
#: The largest number of nodes times states for which single nodes are tried, and the rest is solved again.
_SEARCHED = 2**23
#: The most sweeps over all nodes.
_SWEEPS = 4
#: The most changes of single classes that are evaluated.
_MOVES = 500
#: Iterations in which a strategy with classes or order is solved, and in which the rest of one is solved again.
_TIED, _TIED_AGAIN = 600, 150
#: The share of the time left that the equilibrium may take.
_SHARE = 0.7
#: How many times longer than a walk over a large tree it takes to round all nodes and to evaluate the result.
_AT_ONCE, _NODE_BY_NODE = 2.2, 9.0
#: The share of fixed behaviour in the loop: in single precision, its sum must not exceed 1.
_ALMOST = 1.0 - 1e-5
#: Iterations between two looks at the clock.
_TOGETHER = 20


def simplify_in_public(problem: SimpleStrategy, options: Options) -> Outcome:
    """Solve a simplification on a public form; see :class:`~treeplex.solvers.Rounding`."""
    begun, form = counted_now(), problem.game.public_form
    assert form is not None
    is_large = not _is_searched(form)
    is_at_once = is_large and all(getattr(problem, name) is None for name in ("mixed", "sizes", "classes", "monotone"))
    # What is left of the time must be enough to evaluate a rounded strategy.
    share = _SHARE
    if is_large and not np.isinf(seconds_left()):
        after = walk_seconds(form) * (_AT_ONCE if is_at_once else _NODE_BY_NODE)
        share = min(_SHARE, 1.0 - after / max(seconds_left(), 1e-9))
        if share <= 0.05:
            raise TimeLimitError(
                f"time limit too short: evaluating one rounded strategy of {problem.game.spec} takes about "
                f"{after:.0f} s; allow more than {1.2 * after + counted_now() - begun:.0f} s"
            )
    # The loss is certified for any profile, so that the equilibrium need not be finished.
    equilibrium = solve_part(
        Nash(problem.game),
        DCFR(precision="auto"),
        tol=options.tol or None,
        time_limit=share * seconds_left(),
        start=options.start,
    )
    public = PublicProfile.of(form, equilibrium.profile)
    if is_at_once:
        conceded = equilibrium.upper if problem.player == 0 else equilibrium.lower
        assert conceded is not None
        return _at_once(problem, public, conceded if problem.player == 0 else -conceded, equilibrium.iterations, begun)
    search = _Search(problem, public, max(100, equilibrium.iterations))
    stopped, detail = Status.CONVERGED, _missed(problem)
    try:
        search.run()
    except KeyboardInterrupt:
        stopped, detail = Status.INTERRUPTED, "stopped while rounding an equilibrium"
    except TimeLimitError:
        stopped, detail = Status.TIME_LIMIT, "the time limit was reached while rounding an equilibrium"
    found = search.best
    complexity = search.complexity(found)
    certificate = problem.proven(
        found.guaranteed, search.conceded, found.profile.value(problem.player), complexity, 0.0
    )
    return Outcome(
        plans=(),
        stopped=stopped,
        detail=detail,
        iterations=equilibrium.iterations,
        seconds=counted_now() - begun,
        build_seconds=0.0,
        state=Simplified(complexity, found.steps),
        proof=(StrategiesOnDemand(problem.game, found.profile), certificate),
    )


def _at_once(
    problem: SimpleStrategy, equilibrium: PublicProfile, conceded: float, iterations: int, begun: float
) -> Outcome:
    """Round an equilibrium on a large tree in several ways, as long as time is left, and keep the best strategy."""
    assert problem.steps is not None or problem.loss is not None
    best: RoundedProfile | None = None
    grids = [problem.steps] if problem.loss is None else _grids(problem.steps)
    least = np.inf if problem.loss is None else conceded - float(problem.loss)
    stopped, detail, longest = Status.CONVERGED, _missed(problem), 0.0

    def guaranteed(found: RoundedProfile) -> float:
        return -found.evaluated[0][1 - problem.player]

    # The finest grid loses least: with little time it comes first.
    tried = [(grid, offset) for grid in grids for offset in OFFSETS[: 2 if problem.loss is not None else None]]
    try:
        for grid, offset in tried:
            if best is not None and seconds_left() < 1.3 * longest:
                stopped, detail = Status.TIME_LIMIT, "the time limit was reached while rounding an equilibrium"
                break
            started = counted_now()
            found = RoundedProfile(equilibrium, problem.player, int(grid or 1), offset)
            if best is None or guaranteed(found) > guaranteed(best):
                best = found
            longest = max(longest, counted_now() - started)
            if guaranteed(best) >= least:
                break
    except KeyboardInterrupt:
        if best is None:
            raise
        stopped, detail = Status.INTERRUPTED, "stopped while rounding an equilibrium"
    assert best is not None
    replies, paid, complexity = best.evaluated
    return Outcome(
        plans=(),
        stopped=stopped,
        detail=detail,
        iterations=iterations,
        seconds=counted_now() - begun,
        build_seconds=0.0,
        state=Simplified(complexity, best.steps),
        proof=(
            StrategiesOnDemand(problem.game, best),
            problem.proven(-replies[1 - problem.player], conceded, paid, complexity, 0.0),
        ),
    )


def _missed(problem: SimpleStrategy) -> str:
    return f"rounding found no strategy within the limits that loses at most {problem.loss}"


def _grids(whole: int | None) -> list[int]:
    """Return the grids to try in turn until the loss is small enough."""
    if whole is None:
        return list(GRIDS)
    return [*(grid for grid in GRIDS if grid < whole and not whole % grid), whole]


def _is_searched(form: PublicForm) -> bool:
    """Whether a tree is small enough for single nodes to be tried."""
    return len(form.players) * max(map(len, form.states)) <= _SEARCHED


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A strategy: its behaviour by node, shape (actions, states), what it guarantees, and its grid.

    The profile also has the opponent's equilibrium strategy. It caches the results of a walk over the tree.
    """

    played: dict[int, Floats]
    profile: PublicProfile
    guaranteed: float
    steps: int | None


class _Search:
    """The search for a simple strategy near an equilibrium."""

    def __init__(self, problem: SimpleStrategy, equilibrium: PublicProfile, iterations: int) -> None:
        self.problem, self.player, self.equilibrium, self.iterations = (
            problem,
            problem.player,
            equilibrium,
            iterations,
        )
        self.form: PublicForm = equilibrium.form
        self.conceded = equilibrium.best_response_values[self.player]
        children = self.form.children
        own = np.flatnonzero(self.form.players == self.player).tolist()
        self.nodes = [node for node in own if len(children[node]) > 1]
        self.depths = _depths(self.form, self.player)
        self.is_searched = _is_searched(self.form)
        self.free = {node: np.ones(len(children[node]), dtype=np.bool_) for node in self.nodes}
        guaranteed = -equilibrium.best_response_values[1 - self.player]
        begun = _Candidate({node: equilibrium.behaviour(node) for node in own}, equilibrium, guaranteed, None)
        self.own = own
        self._limits: dict[int, NodeLimits] = {}
        self.are_tied = problem.classes is not None or problem.monotone is not None
        self.start = begun
        if problem.sizes is not None:
            self._choose_sizes(begun)
            self.start = self._candidate(self._within_sizes(begun.played), None)
        if self.are_tied:
            self.start = self._rounded_at_once(self.start, None, WAYS[-1], mixes=True)
        grid = problem.steps or (GRIDS[-1] if problem.loss is not None else None)
        self.is_rounded = grid is not None or problem.mixed is not None
        self.best = self._rounded_at_once(self.start, grid, WAYS[-1]) if self.is_rounded else self.start

    # Guarantees

    def profile(self, played: dict[int, Floats]) -> PublicProfile:
        """Return the profile of a strategy and the opponent's equilibrium strategy."""
        equilibrium = self.equilibrium
        return PublicProfile(self.form, lambda node: played[node] if node in played else equilibrium.behaviour(node))

    def _candidate(self, played: dict[int, Floats], steps: int | None) -> _Candidate:
        profile = self.profile(played)
        return _Candidate(played, profile, -profile.best_response_values[1 - self.player], steps)

    def _changed(self, found: _Candidate, node: int, there: Floats, guaranteed: float) -> _Candidate:
        """Return a strategy that plays differently at one node, given what it guarantees."""
        played = found.played | {node: there}
        return replace(found, played=played, profile=self.profile(played), guaranteed=guaranteed)

    def complexity(self, found: _Candidate) -> Complexity:
        """Return how much of a strategy must be remembered."""
        steps = self.problem.steps
        infosets = mixed = sizes = 0
        off = unlike = disorder = 0.0
        for node, reach in self._reaches(found.played):
            limits = self.limits(node)
            reached = self._alive(node) * reach > ROUND_OFF
            played, classes = found.played[node][:, reached], limits.classes[reached]
            infosets += len(np.unique(classes))
            mixed += len(np.unique(classes[played.max(axis=0, initial=0.0) < 1.0 - ROUND_OFF]))
            if steps is not None:
                off = max(off, float(np.abs(played * steps - np.rint(played * steps)).max(initial=0.0)) / steps)
            used = played.max(axis=1, initial=0.0) > ROUND_OFF
            sizes = max([sizes, *(int(used[menu].sum()) for menu in self._menus(node))])
            if self.problem.classes is not None:
                first = np.unique(classes, return_index=True, return_inverse=True)
                unlike = max(unlike, float(np.abs(played - played[:, first[1][first[2]]]).max(initial=0.0)))
            disorder = max(disorder, self._disorder(node, found.played[node], reached))
        return Complexity(infosets, mixed, off, sizes, unlike, disorder)

    # Limits between states

    def limits(self, node: int) -> NodeLimits:
        """Return the limits between the states of a node."""
        node = node if self.are_tied else 0
        if node not in self._limits:
            problem, strength, groups = self.problem, None, None
            if problem.monotone is not None:
                strength = problem.strengths_at(self.equilibrium, node)
                groups = problem.monotone.groups(self._names(node))
            found = NodeLimits(problem.classes_at(node), strength, groups)
            if self.are_tied and not self.is_searched:
                return found
            self._limits[node] = found
        return self._limits[node]

    def _disorder(self, node: int, played: Floats, which: npt.NDArray[np.bool_]) -> float:
        """Return by how much behaviour at a node is out of order, among some states."""
        limits = self.limits(node)
        if limits.strength is None or limits.groups is None:
            return 0.0
        return misplaced(played[:, which], limits.strength[which], limits.groups)

    def _names(self, node: int) -> list[str]:
        return [str(self.form.actions[child]) for child in self.form.children[node].tolist()]

    def _alive(self, node: int) -> Floats:
        """Return 1 for the player's states that are possible at a node, and 0 for others."""
        found = np.zeros(len(self.form.states[self.player]))
        found[self.form.present[self.form.boards[node]][self.player]] = 1.0
        return found

    def _mixing(self, node: int, played: Floats) -> int:
        """Return the number of classes at a node that mix, whether or not the strategy reaches them."""
        mixed = (played.max(axis=0) < 1.0 - ROUND_OFF) & (self._alive(node) > 0.0)
        return len(np.unique(self.limits(node).classes[mixed]))

    def _doubts(self, played: dict[int, Floats]) -> dict[int, Floats]:
        """Return, for each class at each node, the part of the strategy that is not on its most likely action."""
        found = {}
        for node, reach in self._reaches(played):
            limits = self.limits(node)
            mean, weights = limits.together(played[node], reach * self._alive(node))
            met = float(self.equilibrium.reach(1 - self.player, node).sum()) if self.is_searched else 1.0
            found[node] = np.where(mean.max(axis=0) < 1.0 - ROUND_OFF, met * weights * (1.0 - mean.max(axis=0)), 0.0)
        return found

    def _quotas(self, doubts: dict[int, Floats], most: int) -> dict[int, int]:
        """Divide the number of classes that may mix among the nodes, by the largest doubts."""
        together = np.concatenate([np.zeros(0), *doubts.values()])
        owners = np.repeat(list(doubts), [len(one) for one in doubts.values()]) if doubts else np.zeros(0)
        chosen = np.argsort(-together, kind="stable")[:most]
        chosen = chosen[together[chosen] > 0.0]
        return {node: int((owners[chosen] == node).sum()) for node in doubts}

    # The search

    def run(self) -> None:
        """Search; :attr:`best` is the best strategy within the limits so far.

        Raises
        ------
        KeyboardInterrupt, TimeLimitError
        """
        problem = self.problem
        if (problem.sizes is not None or self.are_tied) and self.is_searched:
            again = self._candidate(self._solved_again(self.start, {}), None)
            self.start = max(self.start, again, key=_guaranteed)
        if not self.is_rounded:
            self.best = self.start
            return
        if problem.loss is None:
            for candidate in self._on_grid(problem.steps):
                self.best = max(self.best, candidate, key=_guaranteed)
            return
        least = self.conceded - float(problem.loss)
        for grid in _grids(problem.steps):
            for candidate in self._on_grid(grid):
                self.best = max(self.best, candidate, key=_guaranteed)
                if candidate.guaranteed >= least:
                    self.best = candidate
                    return

    def _on_grid(self, steps: int | None) -> Iterator[_Candidate]:
        """Yield strategies on a grid: all nodes rounded in one way, for each way, then better strategies."""
        found = []
        # The order of states needs values at every node, which take too long on a large tree.
        ways = self.limits(self.nodes[0]).ways if self.nodes else WAYS[-1:]
        for way in ways if self.is_searched else WAYS[-1:]:
            check_time("an equilibrium was rounded")
            found.append(self._rounded_at_once(self.start, steps, way))
            yield found[-1]
        if not self.is_searched:
            return
        found.append(self._swept(max(found, key=_guaranteed), self.start.played, steps))
        yield found[-1]
        found.append(self._level_by_level(steps))
        yield found[-1]
        yield self._polished(max(found, key=_guaranteed), steps)

    def _rounded_at_once(self, given: _Candidate, steps: int | None, way: str, mixes: bool = False) -> _Candidate:
        """Round every node in one way, the earlier ones first, because reaches depend on them."""
        played, most = dict(given.played), None if mixes else self.problem.mixed
        doubts = {} if most is None else self._doubts(played)
        quotas = {} if most is None else self._quotas(doubts, most)
        for node, reach in self._reaches(played):
            if self.is_searched:
                check_time("an equilibrium was rounded")
            mixing = None if most is None else _most(doubts[node], quotas[node])
            played[node] = self._rounded(reach, node, given.played[node], steps, way, mixing)
        return self._candidate(played, steps)

    def _reaches(self, played: dict[int, Floats]) -> Iterator[tuple[int, Floats]]:
        """Yield the player's nodes with several actions, from the root on, and the player's reach of each node.

        The behaviour at a node may be changed until the next node is requested.
        """
        form = self.form
        reaches = {0: np.asarray(form.weights[self.player], dtype=np.float64)}
        for node, mover in enumerate(form.players.tolist()):
            here, children = reaches.pop(node), form.children[node].tolist()
            if mover == self.player and len(children) > 1:
                yield node, here
            for number, child in enumerate(children):
                reaches[child] = here * played[node][number] if mover == self.player else here

    def _rounded(
        self,
        reach: Floats,
        node: int,
        wanted: Floats,
        steps: int | None,
        way: str,
        mixing: npt.NDArray[np.bool_] | None = None,
    ) -> Floats:
        """Round a node's behaviour in one way, at a reach; only some classes may mix, by default all."""
        values = None
        if way in WAYS[:-1]:
            values = np.nan_to_num(self.equilibrium.values(self.player, node), nan=-np.inf)
            values = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)
        return self.limits(node).rounded(wanted, reach * self._alive(node), steps, way, values, mixing)

    def _swept(
        self,
        begun: _Candidate,
        wanted: dict[int, Floats],
        steps: int | None,
        only: list[int] | None = None,
        most: int | None = None,
    ) -> _Candidate:
        """Try every way of rounding at one node after another, and keep what raises the guarantee, until nothing does.

        At most `most` classes at these nodes may mix, by default as many as the problem allows.
        """
        best, nodes = begun, self.nodes if only is None else only
        most = self.problem.mixed if most is None else most
        doubts = {} if most is None else self._doubts(wanted)
        mixing = {} if most is None else {node: self._mixing(node, best.played[node]) for node in nodes}
        tried = _Values(self, best)
        for _ in range(_SWEEPS):
            before = best.guaranteed
            for node in nodes:
                check_time("an equilibrium was rounded")
                reach = best.profile.reach(self.player, node)
                masks: list[npt.NDArray[np.bool_] | None] = [None]
                if most is not None:
                    left = most - sum(mixing.values()) + mixing[node]
                    numbers = {0, mixing[node] // 2, mixing[node], (mixing[node] + left) // 2, left}
                    masks = [_most(doubts[node], number) for number in sorted(numbers)]
                for way in self.limits(node).ways:
                    for mask in masks:
                        there = self._rounded(reach, node, wanted[node], steps, way, mask)
                        guaranteed = tried.guaranteed(best, node, there)
                        if guaranteed <= best.guaranteed + 1e-12 * abs(best.guaranteed):
                            continue
                        if most is not None:
                            mixed = self._mixing(node, there)
                            if mixed > left:
                                continue
                            mixing[node] = mixed
                        best = self._changed(best, node, there, guaranteed)
                        tried = _Values(self, best)
            if best.guaranteed <= before:
                break
        return best

    def _level_by_level(self, steps: int | None) -> _Candidate:
        """Round the player's first nodes, solve the rest again, round the next ones, and so on."""
        current, fixed, most = self.start, dict[int, Floats](), self.problem.mixed
        for depth in sorted({self.depths[node] for node in self.nodes}):
            level = [node for node in self.nodes if self.depths[node] == depth]
            wanted, left = dict(current.played), None
            masks: dict[int, Any] = dict.fromkeys(level)
            if most is not None:
                used = sum(self._mixing(node, there) for node, there in fixed.items())
                doubts = {node: one for node, one in self._doubts(wanted).items() if node not in fixed}
                quotas = self._quotas(doubts, most - used)
                masks = {node: _most(doubts[node], quotas[node]) for node in level}
                left = sum(quotas[node] for node in level)
            begun = {
                node: self._rounded(
                    current.profile.reach(self.player, node),
                    node,
                    wanted[node],
                    steps,
                    self.limits(node).ways[0],
                    masks[node],
                )
                for node in level
            }
            current = self._swept(self._candidate(wanted | begun, steps), wanted, steps, level, left)
            fixed |= {node: current.played[node] for node in level}
            if len(fixed) < len(self.nodes):
                current = self._candidate(self._solved_again(current, fixed), steps)
        return self._swept(current, self.start.played, steps)

    def _polished(self, begun: _Candidate, steps: int | None) -> _Candidate:
        """Change the behaviour of single classes, and keep changes that raise the guarantee.

        The guaranteed payoff is concave in the plan, so a change gains at most what it earns against a best reply to
        the strategy. The changes that may gain most are tried first.
        """
        problem, best, evaluated = self.problem, begun, 0
        mixing = sum(self._mixing(node, best.played[node]) for node in self.nodes)
        while True:
            check_time("an equilibrium was rounded")
            tried = _Values(self, best)
            before = best
            changes = sorted(self._changes(best, tried, steps), key=lambda change: -change[0])
            for gain, node, states, column in changes:
                now = best.played[node][:, states[0]]
                if evaluated >= _MOVES or gain <= 1e-6 * self.problem.unit:
                    return best
                change = int(column.max() < 1.0) - int(now.max() < 1.0 - ROUND_OFF)
                if problem.mixed is not None and change > 0 and mixing + change > problem.mixed:
                    continue
                there = best.played[node].copy()
                there[:, states] = column[:, None]
                if self._disorder(node, there, self._alive(node) > 0.0) > 0.0:
                    continue
                evaluated += 1
                check_time("an equilibrium was rounded")
                guaranteed = tried.guaranteed(best, node, there)
                if guaranteed > best.guaranteed + 1e-9 * abs(best.guaranteed):
                    best, mixing = self._changed(best, node, there, guaranteed), mixing + change
                    if problem.loss is None:
                        self.best = max(self.best, best, key=_guaranteed)
                    break
            if best is before:
                return best

    def _changes(
        self, best: _Candidate, tried: "_Values", steps: int | None
    ) -> Iterator[tuple[float, int, Indices, Floats]]:
        """Yield changes of one class's behaviour at a node: the largest possible gain, node, states, new behaviour."""
        form, player = self.form, self.player
        paid = np.zeros((len(form.players), len(form.states[player])))

        def see(nodes: Indices, _: Sequence[Floats], values: Sequence[Floats]) -> None:
            paid[nodes] = values[player][0]

        replies = {node: tried.reply(node) for node in np.flatnonzero(form.players == 1 - player).tolist()}
        PublicProfile(form, {**best.played, **replies}).walk(see=see)
        for node, reach in self._reaches(best.played):
            limits, played = self.limits(node), best.played[node]
            worth = limits.summed(paid[form.children[node]] * (reach * self._alive(node)))
            firsts = np.unique(limits.classes, return_index=True)[1]
            wanted = limits.summed(self.start.played[node]) > 1e-6
            for place in np.flatnonzero(np.ptp(worth, axis=0) > 0.0).tolist():
                now = played[:, firsts[place]]
                for column in _moves(now, wanted[:, place], steps):
                    gain = float((column - now) @ worth[:, place])
                    if gain > 0.0:
                        yield gain, node, np.flatnonzero(limits.classes == place), column

    # Sizes

    def _menus(self, node: int) -> list[Indices]:
        """Return the menus of sizes at a node, each as the positions of its actions."""
        if self.problem.sizes is None:
            return []
        return [np.array(places) for places in menus_of(self._names(node)) if len(places) > self.problem.sizes]

    def _choose_sizes(self, found: _Candidate) -> None:
        """Keep the sizes that the strategy plays most at each node."""
        for node, reach in self._reaches(found.played):
            weights = found.played[node] @ reach
            for menu in self._menus(node):
                left_out = np.argsort(weights[menu], kind="stable")[: -(self.problem.sizes or 0)]
                self.free[node][menu[left_out]] = False

    def _within_sizes(self, played: dict[int, Floats]) -> dict[int, Floats]:
        """Move the probability of each size that is not kept to the nearest kept one."""
        found = dict(played)
        for node in self.nodes:
            free = self.free[node]
            if not free.all():
                found[node] = played[node].copy()
                for menu in self._menus(node):
                    kept = menu[free[menu]]
                    for place in menu[~free[menu]].tolist():
                        found[node][kept[np.argmin(np.abs(kept - place))]] += found[node][place]
                        found[node][place] = 0.0
        return found

    # Solving again

    def _solved_again(self, given: _Candidate, fixed: dict[int, Floats]) -> dict[int, Floats]:
        """Return a strategy that is best with the given sizes and with fixed behaviour at some nodes."""
        if self.are_tied:
            return self._solved_tied(given, fixed)
        floors = BehaviourFloors(self.form, self.player)
        for node in self.nodes:
            free = np.broadcast_to(self.free[node][:, None], given.played[node].shape)
            floors.set(node, _ALMOST * fixed[node] if node in fixed else None, free)
        warm(np.float32, adding=True)
        kernel = PublicKernel(self.form, np.float32, terms=floors)  # type: ignore[arg-type]
        state, rule = kernel.initial_state(), DCFR().local_rule
        for _ in range(-(-self.iterations // _TOGETHER)):
            check_time("the rest of a rounded strategy was solved")
            kernel.run(state, rule, _TOGETHER)
        solved = PublicProfile(self.form, lambda node: kernel.behaviour(state, node))
        played = {node: solved.behaviour(node) for node in self.own}
        for node in self.nodes:
            left = played[node] * self.free[node][:, None]
            played[node] = fixed[node] if node in fixed else PublicProfile.normalised([left], np.array([node]))[0]
            lost = ~(left.sum(axis=0) > 0.0)
            played[node][:, lost] = given.played[node][:, lost]
        return played

    def _solved_tied(self, given: _Candidate, fixed: dict[int, Floats]) -> dict[int, Floats]:
        """Do the same with classes and monotone actions, by CFR+ with one regret for each class.

        If the classes do not depend on the board, it converges to the best such strategy. Behaviour that must be
        monotone is fitted at each iteration.
        """
        form, players = self.form, (self.player, 1 - self.player)
        nodes = {player: np.flatnonzero(form.players == player).tolist() for player in players}
        played = {node: self.equilibrium.behaviour(node) for player in players for node in nodes[player]}
        played |= {node: given.played[node] for node in self.own}
        weights = np.asarray(form.weights[self.player])
        alone = {len(form.states[player]): NodeLimits(np.arange(len(form.states[player]))) for player in players}
        limits = {node: alone[len(form.states[players[1]])] for node in nodes[players[1]]}
        limits |= {node: self.limits(node) for node in self.nodes}
        regrets: dict[int, Floats] = {}
        sums = {node: np.zeros_like(given.played[node]) for node in self.nodes if node not in fixed}
        values, reaches = ([np.zeros((len(form.players), len(form.states[player]))) for player in (0, 1)] for _ in "12")

        def see(here: Indices, reached: Sequence[Floats], paid: Sequence[Floats]) -> None:
            for player in (0, 1):
                values[player][here], reaches[player][here] = paid[player][0], reached[player]

        for number in range(1, (_TIED_AGAIN if fixed else _TIED) + 1):
            for mover in players:
                check_time("the rest of a rounded strategy was solved")
                PublicProfile(form, played).walk(see=see)
                for node in nodes[mover]:
                    children = form.children[node]
                    if node in fixed or len(children) < 2:
                        continue
                    tied, own = limits[node], mover == self.player
                    gained = values[mover][children] - values[mover][node]
                    if own:
                        gained = gained * (weights * self._alive(node))
                    found = regrets.get(node, 0.0) + tied.summed(gained)
                    regrets[node] = np.maximum(found, 0.0)
                    there = regrets[node][:, tied.classes]
                    if own:
                        there = there * self.free[node][:, None]
                    total = there.sum(axis=0)
                    free = self.free[node][:, None] if own else np.ones((len(children), 1))
                    there = np.where(total > 0.0, there / np.where(total > 0.0, total, 1.0), free / free.sum())
                    if own:
                        there = tied.fitted(there, weights * self._alive(node))
                        sums[node] += number * reaches[mover][node] * there
                    played[node] = there
        best = {node: given.played[node] for node in self.own} | fixed
        for node, reach in self._reaches(best):
            if node in sums:
                mean = PublicProfile.normalised([sums[node]], np.array([node]))[0]
                mean = np.where(sums[node].sum(axis=0) > 0.0, mean, played[node])
                best[node] = self.limits(node).fitted(mean, reach * self._alive(node))
        return best


def _moves(now: Floats, free: npt.NDArray[np.bool_], steps: int | None) -> Iterator[Floats]:
    """Yield distributions near one: pure actions, or with a step taken from one action and given to another."""
    size = 1.0 / (steps or 4)
    for giver in np.flatnonzero(now > ROUND_OFF).tolist():
        for taker in np.flatnonzero(free).tolist():
            for amount in {min(size, float(now[giver])), float(now[giver])}:
                if taker != giver:
                    moved = now.copy()
                    moved[giver] -= amount
                    moved[taker] += amount
                    yield np.where(np.abs(moved) < ROUND_OFF, 0.0, moved)


def _most(doubts: Floats, count: int) -> npt.NDArray[np.bool_]:
    """Return a mask of at most a given number of classes: those with the largest doubts above 0."""
    chosen = np.zeros(len(doubts), dtype=np.bool_)
    chosen[np.argsort(-doubts, kind="stable")[:count]] = True
    return chosen & (doubts > 0.0)


def _guaranteed(found: _Candidate) -> float:
    return found.guaranteed


def _depths(form: PublicForm, player: int) -> npt.NDArray[Any]:
    """Return how often the player has moved before each node."""
    depths = np.zeros(len(form.players), dtype=np.int64)
    for node, parent in enumerate(form.parents.tolist()):
        if node:
            depths[node] = depths[parent] + (form.players[parent] == player)
    return depths


class _Values:
    """The opponent's best responses to a strategy at every node, so that a change at one node is quickly evaluated."""

    def __init__(self, search: _Search, found: _Candidate) -> None:
        self._search, self._other = search, 1 - search.player
        self._values = np.empty((len(search.form.players), len(search.form.states[self._other])))

        def see(nodes: Indices, _: Sequence[Floats], values: Sequence[Floats]) -> None:
            self._values[nodes] = values[self._other][1]

        found.profile.walk(see=see)

    def reply(self, node: int) -> Floats:
        """Return the opponent's best reply at one of its nodes, shape (actions, states)."""
        after = self._values[self._search.form.children[node]]
        found: Floats = np.equal(np.arange(len(after))[:, None], after.argmax(axis=0)).astype(np.float64)
        return found

    def guaranteed(self, found: _Candidate, node: int, there: Floats) -> float:
        """Return what the strategy guarantees if it plays differently at one node."""
        form, values = self._search.form, self._values
        profile = self._search.profile(found.played | {node: there})
        here: Floats = profile.walk(node)[self._other][1]
        while node > 0:
            parent = int(form.parents[node])
            after = [here if child == node else values[child] for child in form.children[parent].tolist()]
            here = np.max(after, axis=0) if form.players[parent] == self._other else np.sum(after, axis=0)
            node = parent
        return -float(form.weights[self._other] @ here)
