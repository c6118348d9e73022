"""The compiled loop on one game in public form: its state, its threads, and calls with arguments of the right types."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from threading import Event
from typing import Any

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.budget import Budget, most_threads
from ...seqform.public_form import PublicForm
from ...seqform.public_profile import PublicProfile
from ...seqform.rules import TERMINAL
from ..compilation import PATIENCE, is_ready
from ..methods.rules import Rule
from ..regret.local_rule import rule_numbers
from .arrays import ASCEND, DESCEND, ITERATE, WORK, AverageArrays, PlayArrays, TermArrays, WalkArrays
from .layout import PublicLayout
from .loop import evaluate_public, run_public
from .terms import PublicTerms, no_terms

#: One thread walks games with fewer numbers, because such a walk takes no longer than starting other threads.
_SMALL = 200_000
#: The size (nodes times private states) up to which certificates take milliseconds in numpy.
_FEW = 2**14
_SHARE_OF_BUDGET = 4  # a certificate takes the game's size divided by this from the budget


def average_of(state: PlayArrays) -> AverageArrays:
    """Return the averages of a state, for evaluations."""
    return AverageArrays(tuple(sums.view(np.uint8) for sums in state.sums), state.sums[0].itemsize)


def threads_for(layout: PublicLayout) -> int:
    """Return the number of threads for a game; see :func:`~treeplex.seqform.budget.most_threads`."""
    most = most_threads()
    return 1 if sum(layout.sizes) < _SMALL or len(layout.groups) < 3 else most


class PublicKernel:
    """The compiled loop on one game.

    Parameters
    ----------
    form : PublicForm
    number : type
        The type of regrets and sums: float32, float64, or uint16 for 16 bits, which walks use as float32.
        Certificates are always in float64.
    threads : int, optional
        Walks are the same, bit for bit, for any number; by default :func:`threads_for`.
    terms : PublicTerms, optional
        The terms that a problem adds to the game, if any.

    Attributes
    ----------
    layout : PublicLayout
    """

    def __init__(
        self, form: PublicForm, number: Any = np.float32, threads: int | None = None, terms: PublicTerms | None = None
    ) -> None:
        self.layout = PublicLayout(form) if terms is None else terms.layout
        self.number, self.terms = number, terms
        self._walked = np.float32 if number is np.uint16 else number
        self._game = self.layout.arrays(self._walked)
        # One compiled function walks all games in float64. Shorter types have another one for games without terms.
        self._terms = self._term_arrays(self._walked) if terms is not None or number is np.float64 else None
        self._num_groups = len(self.layout.groups) - 1
        wanted = threads_for(self.layout) if threads is None else threads
        self.threads = max(1, min(wanted, self._num_groups))

    def __getstate__(self) -> dict[str, Any]:
        """Omit the threads, which cannot be copied, and cached data."""
        return {name: value for name, value in vars(self).items() if name not in ("_pool", "_rooms", "doubles")}

    def _term_arrays(self, number: Any) -> TermArrays:
        return no_terms(number, len(self.layout.boards)) if self.terms is None else self.terms.arrays(number)

    @property
    def _num_rows(self) -> int:
        return 0 if self.terms is None else len(self.terms.rows)

    @cached_property
    def _rooms(self) -> list[Any]:
        return self.layout.rooms(self._walked, self.threads, self._num_rows)

    @property
    def own(self) -> tuple[Any, Any, list[Any]]:
        """The game, a problem's terms, and each thread's scratch arrays, in the precision of runs."""
        return self._game, self._terms, self._rooms

    @cached_property
    def doubles(self) -> tuple[Any, Any, Any]:
        """The game, a problem's terms, and scratch arrays, in float64."""
        terms = self._term_arrays(np.float64)
        if self.number is np.float64:
            return self._game, terms, self._rooms
        return self.layout.arrays(np.float64), terms, self.layout.rooms(np.float64, self.threads, self._num_rows)

    @property
    def _shares(self) -> list[tuple[int, int]]:
        """The groups of each call, many at first to save calls, and few at last so that threads end together."""
        found, first = [], 0
        while first < self._num_groups:
            end = first + max(1, (self._num_groups - first) // self.threads)
            found.append((first, end))
            first = end
        return found

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads, thread_name_prefix="treeplex")

    def taken(self, predicting: bool = False) -> int:
        """Return the memory of a state in bytes."""
        numbers = sum(self.layout.sizes) * np.dtype(self.number).itemsize * (3 if predicting else 2)
        return int(numbers) + (4 * int(self.layout.scales[-1].sum()) if self.number is np.uint16 else 0)

    def initial_state(self, predicting: bool = False) -> PlayArrays:
        """Return the state before the first update.

        Raises
        ------
        GameTooLargeError
            If it exceeds the memory budget.
        """
        shorter = "" if self.number is np.uint16 or self.terms else "solve in 16 bits (precision=half), "
        Budget().require(self.taken(predicting), "the regrets and averages in this precision", shorter)
        state = self.layout.state(self.number, predicting, self._num_rows)
        if self.terms is not None:
            state.calls[:] = self.terms.first_calls()
        return state

    def start_from(self, profile: PublicProfile, predicting: bool = False) -> PlayArrays:
        """Return the state before the first update, with a profile as the average that is certified until then.

        Its regrets are zero: the first update forgets the start, so that a run takes as many iterations as a fresh one
        if the start does not meet the tolerance. More trust in the start was tested on rivers and turns, as regrets of
        the size of updates and as sums that count as iterations. With little trust, runs to a closer tolerance took as
        many iterations as fresh ones; with much, up to twenty times as many.
        """
        form, layout = self.layout.form, self.layout
        walked = layout.numbers[form.boards] >= 0
        found = layout.state(self._walked, predicting, self._num_rows)
        if self.terms is not None:
            found.calls[:] = self.terms.first_calls()
        reaches: dict[int, Any] = {0: form.weights}
        for node in range(len(form.players)):
            here, player = reaches.pop(node, None), int(form.players[node])
            if here is None or player == TERMINAL:
                continue
            played = profile.behaviour(node) if player >= 0 else None
            for number, child in enumerate(form.children[node].tolist()):
                if not walked[child]:
                    continue
                first, second = here
                if played is not None:
                    first, second = (
                        (first * played[number], second) if player == 0 else (first, second * played[number])
                    )
                reaches[child] = first, second
            if played is not None:
                places = layout.places(node)
                kept = places >= 0
                found.sums[player][places[kept]] = (here[player] * played)[kept]
        for player in (0, 1):
            found.sums[player][:] = found.sums[player][layout.stands_for(player)]  # equal states stay equal
        return found

    def run(self, state: PlayArrays, rule: Rule, iterations: int) -> None:
        """Do more iterations. The state is changed in place; after Ctrl-C, it records how many iterations were done."""
        numbers, begun = rule_numbers(rule), int(state.clock[0])

        def call(room: Any, what: int, player: int, first: int, last: int, done: int, count: int) -> None:
            walk = WalkArrays(self._game, self._terms, state, room, numbers)
            run_public(walk, what, player, first, last, count, done)

        if self.threads == 1:
            call(self._rooms[0], ITERATE, 0, 0, self._num_groups, begun, iterations)
            return
        stopped = Event()

        def iterate() -> None:
            for done in range(begun, begun + iterations):
                for player in (0, 1):
                    self._in_parts(
                        self._rooms,
                        lambda room, what, first, last, player=player, done=done: call(  # type: ignore[misc]
                            room, what, player, first, last, done, 1
                        ),
                    )
                state.clock[0] = done + 1
                if stopped.is_set():
                    return

        # Not in the main thread, where Ctrl-C could interrupt an iteration.
        running = self._pool.submit(iterate)
        try:
            running.result()
        finally:
            stopped.set()
            running.result()

    def _in_parts(self, rooms: Sequence[Any], call: Callable[[Any, int, int, int], Any]) -> Any:
        """Walk down the root's board, let threads take groups in turn, and walk up; return the last call's result."""
        call(rooms[0], DESCEND, 0, self._num_groups)
        left = deque(self._shares)

        def work(room: Any) -> None:
            while True:
                try:
                    first, end = left.popleft()
                except IndexError:
                    return
                call(room, WORK, first, end)

        others = [self._pool.submit(work, room) for room in rooms[1:]]
        try:
            work(rooms[0])
        finally:
            left.clear()
            for one in others:
                one.result()
        return call(rooms[0], ASCEND, 0, self._num_groups)

    def price(self, prices: Floats) -> None:
        """Use these multipliers of the rows in evaluations, instead of none."""
        _, terms, _ = self.doubles
        for player in (0, 1):
            paid = terms.payments[player]
            paid[:] = terms.tilts[player] if len(terms.tilts[player]) else 0.0
        for row, owner in enumerate(terms.owners.tolist()):
            own = slice(int(terms.starts[row]), int(terms.starts[row + 1]))
            terms.payments[owner][terms.places[own]] -= prices[row] * terms.coefficients[own]

    def excesses(self) -> Floats:
        """Return by how much the rows of the last evaluated player exceed their limits."""
        _, terms, rooms = self.doubles
        found: Floats = rooms[0].tally[-1] - terms.limits
        return found

    def evaluates(self, state: PlayArrays) -> bool:
        """Return whether to compute certificates by :meth:`evaluate`, not by numpy.

        For a small game, :class:`~treeplex.seqform.public_profile.PublicProfile` computes the same numbers, up to
        round-off, in milliseconds. It does so until :meth:`evaluate` is compiled, as long as the budget lasts.
        """
        numbers = len(self.layout.form.players) * max(map(len, self.layout.form.states))
        if self.terms is not None or numbers > _FEW or PATIENCE.left <= 0:
            return True
        game, terms, rooms = self.doubles
        if is_ready(
            evaluate_public, WalkArrays(game, terms, average_of(state), rooms[0], None), ITERATE, 0, 0, 1, True
        ):
            return True
        PATIENCE.left -= numbers // _SHARE_OF_BUDGET
        return False

    def evaluate(self, state: PlayArrays, player: int, best: bool, scale: float = 1.0) -> float:
        """Return a player's payoff, in payoff units, if both play the averages, or that of its best response to them.

        The averages are those of runs: equal parts of the game have equal averages, so that one board represents
        others. Payoffs at leaves are multiplied by ``scale``. Other payments of a problem, and limits of the player's
        actions, are included.
        """
        game, terms, rooms = self.doubles
        average = average_of(state)
        terms.scales[player] = scale

        def call(room: Any, what: int, first: int, end: int) -> float:
            value: float = evaluate_public(WalkArrays(game, terms, average, room, None), what, player, first, end, best)
            return value

        if self.threads == 1:
            return call(rooms[0], ITERATE, 0, self._num_groups)
        return float(self._in_parts(rooms, call))

    def behaviour(self, state: PlayArrays, node: int) -> Floats:
        """Return the average behaviour at a public state, shape (actions, states); zero for absent states."""
        return self.layout.behaviour(state.sums, node)

    def values(self, state: PlayArrays, player: int, *, best: bool = False) -> dict[int, Floats]:
        """Return a player's counterfactual values by node of the root's board, in payoff units.

        Both players play the averages or, if `best`, the player responds to those of the other one.
        """
        self.evaluate(state, player, best)
        return self.layout.values(self.doubles[2][0].top, player)
