"""Simple strategies on public forms: an equilibrium is rounded, node by node, by the loss that is certified."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...models.problems import Nash, SimpleStrategy
from ...models.problems.simple import ROUND_OFF, Complexity, menus_of
from ...seqform.arrays import Floats, Indices
from ...seqform.errors import TimeLimitError, UnsupportedProblemError
from ...seqform.limits import check_time, counted_now, seconds_left
from ...seqform.public_form import PublicForm
from ...seqform.public_profile import PublicProfile, StrategiesOnDemand
from ..methods import DCFR
from ..outcome import Options, Outcome, Status
from ..rounding import Simplified, rounded
from ..solve import solve_part
from .driver import warm
from .floors import BehaviourFloors
from .kernel import PublicKernel

#: The grids that are tried in turn if only the loss is limited.
GRIDS = (1, 2, 3, 4, 5, 8, 10, 20)
#: The largest number of nodes times states for which single nodes are tried, and the rest is solved again.
_SEARCHED = 2**23
#: The most sweeps over all nodes.
_SWEEPS = 4
#: The share of the time left that the equilibrium may take.
_SHARE = 0.7
#: The share of fixed behaviour in the loop: in single precision, its sum must not exceed 1.
_ALMOST = 1.0 - 1e-5
#: Iterations between two looks at the clock.
_TOGETHER = 20


def simplify_in_public(problem: SimpleStrategy, options: Options) -> Outcome:
    """Solve a simplification on a public form; see :class:`~treeplex.solvers.Rounding`.

    Raises
    ------
    UnsupportedProblemError
        If the number of mixed infosets is limited.
    """
    if problem.mixed is not None:
        raise UnsupportedProblemError(
            f"{problem.name}: mixed is for games without public form, and {problem.game.spec} has one: "
            "limit steps, sizes or loss instead"
        )
    begun = counted_now()
    # The loss is certified for any profile, so that the equilibrium need not be finished.
    equilibrium = solve_part(
        Nash(problem.game),
        DCFR(precision="auto"),
        tol=options.tol or None,
        time_limit=_SHARE * seconds_left(),
        start=options.start,
    )
    form = problem.game.public_form
    assert form is not None
    search = _Search(problem, PublicProfile.of(form, equilibrium.profile), max(100, equilibrium.iterations))
    stopped, detail = (
        Status.CONVERGED,
        f"rounding found no strategy within the limits that loses at most {problem.loss}",
    )
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


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A strategy: its behaviour by node, shape (actions, states), what it guarantees, and its grid.

    The profile also has the opponent's equilibrium strategy. It keeps what a walk over the tree has found.
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
        self.is_searched = len(self.form.players) * max(map(len, self.form.states)) <= _SEARCHED
        self.free = {node: np.ones(len(children[node]), dtype=np.bool_) for node in self.nodes}
        guaranteed = -equilibrium.best_response_values[1 - self.player]
        begun = _Candidate({node: equilibrium.behaviour(node) for node in own}, equilibrium, guaranteed, None)
        self.own = own
        self.start = begun
        if problem.sizes is not None:
            self._choose_sizes(begun)
            self.start = self._candidate(self._within_sizes(begun.played), None)
        grid = problem.steps or (GRIDS[-1] if problem.loss is not None else None)
        self.best = self.start if grid is None else self._rounded_at_once(self.start, grid, "nearest")

    # What strategies guarantee

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
        off = 0.0
        for node, reach in self._reaches(found.played):
            reached = reach > ROUND_OFF
            played = found.played[node][:, reached]
            infosets += int(reached.sum())
            mixed += int((played.max(axis=0, initial=0.0) < 1.0 - ROUND_OFF).sum())
            if steps is not None:
                off = max(off, float(np.abs(played * steps - np.rint(played * steps)).max(initial=0.0)) / steps)
            used = played.max(axis=1, initial=0.0) > ROUND_OFF
            sizes = max([sizes, *(int(used[menu].sum()) for menu in self._menus(node))])
        return Complexity(infosets, mixed, off, sizes)

    # The search

    def run(self) -> None:
        """Search; :attr:`best` is the best strategy within the limits so far.

        Raises
        ------
        KeyboardInterrupt, TimeLimitError
        """
        problem = self.problem
        if problem.sizes is not None and self.is_searched:
            again = self._candidate(self._solved_again(self.start, {}), None)
            self.start = max(self.start, again, key=_guaranteed)
            if problem.steps is None and problem.loss is None:
                self.best = self.start
        if problem.loss is None:
            if problem.steps is not None:
                for candidate in self._on_grid(problem.steps):
                    self.best = max(self.best, candidate, key=_guaranteed)
            return
        whole = problem.steps
        least = self.conceded - float(problem.loss)
        grids = GRIDS if whole is None else [*(grid for grid in GRIDS if grid < whole and not whole % grid), whole]
        for grid in grids:
            for candidate in self._on_grid(grid):
                self.best = max(self.best, candidate, key=_guaranteed)
                if candidate.guaranteed >= least:
                    self.best = candidate
                    return

    def _on_grid(self, steps: int) -> Iterator[_Candidate]:
        """Yield strategies on a grid: each way of rounding at all nodes, then better ones."""
        found = []
        # The order of states needs values at every node, which take too long on a large tree.
        for way in _WAYS if self.is_searched else _WAYS[-1:]:
            check_time("an equilibrium was rounded")
            found.append(self._rounded_at_once(self.start, steps, way))
            yield found[-1]
        if not self.is_searched:
            return
        yield self._swept(max(found, key=_guaranteed), self.start.played, steps)
        yield self._level_by_level(steps)

    def _rounded_at_once(self, given: _Candidate, steps: int, way: str) -> _Candidate:
        """Round every node in one way, the earlier ones first, because reaches depend on them."""
        played = dict(given.played)
        for node, reach in self._reaches(played):
            if way != _WAYS[-1]:
                check_time("an equilibrium was rounded")
            played[node] = self._rounded(reach, node, given.played[node], steps, way)
        return self._candidate(played, steps)

    def _reaches(self, played: dict[int, Floats]) -> Iterator[tuple[int, Floats]]:
        """Yield the player's nodes with several actions from the root on, and its reach of each.

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

    def _rounded(self, reach: Floats, node: int, wanted: Floats, steps: int, way: str) -> Floats:
        """Round a node's behaviour, in one of the ways of ``_WAYS``, at a reach."""
        if way == "nearest":
            return rounded(wanted, steps)
        order = self._order(node)
        return rounded(wanted, steps, reach, order[::-1] if way == "weakest last" else order)

    def _order(self, node: int) -> Indices:
        """Return the player's states at a node, from the worst to the best at the equilibrium."""
        paid = self.equilibrium.values(self.player, node)
        order: Indices = np.argsort(np.nan_to_num(paid, nan=-np.inf), kind="stable")
        return order

    def _swept(
        self, begun: _Candidate, wanted: dict[int, Floats], steps: int, only: list[int] | None = None
    ) -> _Candidate:
        """Try every way at one node after another, and keep what guarantees most, until nothing does."""
        best = begun
        tried = _Values(self, best)
        for _ in range(_SWEEPS):
            before = best.guaranteed
            for node in self.nodes if only is None else only:
                check_time("an equilibrium was rounded")
                reach = best.profile.reach(self.player, node)
                for way in _WAYS:
                    there = self._rounded(reach, node, wanted[node], steps, way)
                    guaranteed = tried.guaranteed(best, node, there)
                    if guaranteed > best.guaranteed + 1e-12 * abs(best.guaranteed):
                        best = self._changed(best, node, there, guaranteed)
                        tried = _Values(self, best)
            if best.guaranteed <= before:
                break
        return best

    def _level_by_level(self, steps: int) -> _Candidate:
        """Round the player's first nodes, solve the rest again, round the next ones, and so on."""
        current, fixed = self.start, dict[int, Floats]()
        for depth in sorted({self.depths[node] for node in self.nodes}):
            level = [node for node in self.nodes if self.depths[node] == depth]
            wanted = dict(current.played)
            begun = {
                node: self._rounded(current.profile.reach(self.player, node), node, wanted[node], steps, _WAYS[0])
                for node in level
            }
            current = self._swept(self._candidate(wanted | begun, steps), wanted, steps, level)
            fixed |= {node: current.played[node] for node in level}
            if len(fixed) < len(self.nodes):
                current = self._candidate(self._solved_again(current, fixed), steps)
        return self._swept(current, self.start.played, steps)

    # Sizes

    def _menus(self, node: int) -> list[Indices]:
        """Return the places of the sizes of each action at a node."""
        if self.problem.sizes is None:
            return []
        names = [str(self.form.actions[child]) for child in self.form.children[node].tolist()]
        return [np.array(places) for places in menus_of(names) if len(places) > self.problem.sizes]

    def _choose_sizes(self, found: _Candidate) -> None:
        """Keep the sizes that the strategy plays most at each node."""
        for node, reach in self._reaches(found.played):
            weights = found.played[node] @ reach
            for menu in self._menus(node):
                left_out = np.argsort(weights[menu], kind="stable")[: -(self.problem.sizes or 0)]
                self.free[node][menu[left_out]] = False

    def _within_sizes(self, played: dict[int, Floats]) -> dict[int, Floats]:
        """Play the nearest size that is kept for each one that is not."""
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


#: The ways to round a node: each state to its nearest point, or with what is left over given to the next state.
_WAYS = ("weakest first", "weakest last", "nearest")


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
