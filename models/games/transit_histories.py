"""The transit game as a tree: every history of both players, with perfect recall. For very small games."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.budget import tell
from ...seqform.polytope import Treeplex
from ...seqform.rules import CHANCE, TERMINAL, GameSize
from .transit import FAILED, Transit


class State(NamedTuple):
    """A state of the transit game. Moves are made in turn, but neither player sees the other's."""

    time: int
    evader: int | None  # its cell; None once it has escaped
    patroller: int
    evader_seen: str
    patroller_seen: str
    tally: tuple[int, int, int]  # escapes, encounters and delays to be paid for
    evader_aim: int | None = None  # the target of this step's move, once it is made
    patroller_aim: int | None = None
    evader_end: int | None = None  # the actual result of the move, once it is known


@dataclass(frozen=True)
class TransitHistories:
    """The rules of the transit game, history by history.

    Infosets contain all actions and observations of their player: the start, then each move, with ``!`` if it failed,
    as in ``r0c0-E-SE!``.

    Parameters
    ----------
    game : Transit
        The parameters.
    """

    num_players: ClassVar[int] = 2

    game: Transit

    def size(self) -> GameSize:
        """Return the size of the tree."""
        return histories_size(self.game)

    def initial_state(self) -> State:
        """Return the state before the evader chooses where to start."""
        return State(-1, None, self.game.base_cell, "start", self.game.grid.label(self.game.base_cell), (0, 0, 0))

    def player(self, state: State) -> int:
        """Return the player to move."""
        if state.time == self.game.steps:
            return TERMINAL
        if state.time < 0:
            return 0
        if state.evader is not None and state.evader_aim is None:
            return 0
        return 1 if state.patroller_aim is None else CHANCE

    def actions(self, state: State) -> Sequence[str]:
        """Return the directions that lead to a cell; at first the cells to start from."""
        if state.time < 0:
            return tuple(self.game.grid.label(cell) for cell in self.game.start_cells)
        return self._steps[self._mover(state)][0]

    def chance_outcomes(self, state: State) -> Sequence[tuple[str, Fraction]]:
        """Return whether the current move succeeds."""
        failure = self.game.failure
        return [(name, chance) for name, chance in (("moves", 1 - failure), ("fails", failure)) if chance]

    def child(self, state: State, action: str) -> State:
        """Return the state after a choice, or after a move has succeeded or failed."""
        if state.time < 0:
            return state._replace(time=0, evader=self.game.grid.cell(action), evader_seen=action)
        evader = state.evader
        if state.patroller_aim is None:
            aim = self._steps[self._mover(state)][1][action]
            if evader is not None and state.evader_aim is None:
                return state._replace(evader_seen=f"{state.evader_seen}-{action}", evader_aim=aim)
            return self._settled(state._replace(patroller_seen=f"{state.patroller_seen}-{action}", patroller_aim=aim))
        failed = FAILED if action == "fails" else ""
        if evader is not None and state.evader_end is None:
            end = evader if failed else state.evader_aim
            return self._settled(state._replace(evader_seen=state.evader_seen + failed, evader_end=end))
        end = state.patroller if failed else state.patroller_aim
        return self._next_step(state, state.patroller_seen + failed, state.evader_end, end)

    def infoset(self, state: State) -> str:
        """Return the mover's actions and observations."""
        return state.patroller_seen if self.player(state) == 1 else state.evader_seen

    def payoffs(self, state: State) -> Sequence[Fraction]:
        """Return the evader's payoff and its negative."""
        if state.tally not in self._payoffs:
            (escapes, encounters, delays), game = state.tally, self.game
            payoff = escapes * game.escape_reward - encounters * game.encounter_cost - delays * game.time_cost
            self._payoffs[state.tally] = payoff, -payoff
        return self._payoffs[state.tally]

    @cached_property
    def _payoffs(self) -> dict[tuple[int, int, int], tuple[Fraction, Fraction]]:
        """Both players' payoffs by the counts of escapes, encounters and delays, each computed once."""
        return {}

    @cached_property
    def _steps(self) -> list[tuple[tuple[str, ...], dict[str, int]]]:
        """Each cell's directions, and their targets."""
        steps = map(self.game.grid.steps, range(self.game.grid.num_cells))
        return [(tuple(leading), leading) for leading in steps]

    def _mover(self, state: State) -> int:
        """Return the mover's cell."""
        return state.patroller if state.evader is None or state.evader_aim is not None else state.evader

    def _settled(self, state: State) -> State:
        """Skip moves that cannot fail."""
        certain = state.time == 0 or self.game.failure == 0
        end = state.evader_end
        if state.evader is not None and end is None:
            if not certain and state.evader_aim != state.evader:
                return state
            end = state.evader_aim
        assert state.patroller_aim is not None
        if certain or state.patroller_aim == state.patroller:
            return self._next_step(state, state.patroller_seen, end, state.patroller_aim)
        return state if end is state.evader_end else state._replace(evader_end=end)

    def _next_step(self, state: State, patroller_seen: str, evader_end: int | None, patroller_end: int) -> State:
        """Pay for the step and begin the next one."""
        evader, tally = None, state.tally
        if evader_end is not None:
            paid = self._pay(state, evader_end, patroller_end)
            tally = tally[0] + paid[0], tally[1] + paid[1], tally[2] + paid[2]
            evader = None if self.game.grid.in_east(evader_end) else evader_end
        return State(state.time + 1, evader, patroller_end, state.evader_seen, patroller_seen, tally)

    def _pay(self, state: State, evader_end: int, patroller_end: int) -> tuple[int, int, int]:
        """Return the escapes, encounters and delays of a step."""
        if self.game.model == "B":
            swapped = (evader_end, patroller_end) == (state.patroller, state.evader)
            escaped = self.game.grid.in_east(evader_end)
            return escaped, swapped or evader_end == patroller_end, not escaped
        aims = state.evader_aim, state.patroller_aim
        if state.evader == state.patroller or aims[0] == aims[1] or aims == (state.patroller, state.evader):
            return 0, 1, 0
        assert aims[0] is not None
        return (1, 0, state.time) if self.game.grid.in_east(aims[0]) else (0, 0, 0)


def histories_size(rules: Transit) -> GameSize:
    """Return the size of the tree of histories.

    The players move independently of each other, so a history is a pair of the players' own histories, which are
    counted by the cell that they reach.
    """
    cells = np.arange(rules.grid.num_cells).reshape(rules.grid.rows, rules.grid.columns)
    directions = _around(np.ones(cells.shape, dtype=object))
    evader, patroller = (np.isin(cells, own).astype(object) for own in (rules.start_cells, rules.base_cell))
    escaped = 0
    num_infosets, num_sequences = [1, 0], [1 + len(rules.start_cells), 1]
    nodes = 1
    for time in range(rules.steps):
        fails = time > 0 and rules.failure > 0
        ways = 2 if fails and rules.failure < 1 else 1  # the possible results of a move
        alive, standing = evader.sum(), patroller.sum()
        moving = [own * (directions - 1) for own in (evader, patroller)]  # staying is not a move
        moves = [own.sum() for own in moving]
        choices = [moves[0] + alive, moves[1] + standing]
        nodes += alive * standing + (choices[0] + escaped) * standing
        if fails:
            nodes += moves[0] * choices[1] + (alive + ways * moves[0] + escaped) * moves[1]
        for player, number in enumerate((alive, standing)):
            num_infosets[player] += number
            num_sequences[player] += choices[player]
        led = map(_around, (evader, patroller)) if not fails or rules.failure < 1 else (evader, patroller)
        evader, patroller = (own + fails * failed for own, failed in zip(led, moving, strict=True))
        escaped += evader[:, -1].sum()
        evader[:, -1] = 0
        tell(nodes)
    leaves = (evader.sum() + escaped) * patroller.sum()
    return GameSize(nodes + leaves, leaves, tuple(num_sequences), tuple(num_infosets))


def _around(own: Any) -> Any:
    """Return the sum over each cell and its neighbours."""
    for _ in range(2):  # rows, then columns
        found = own.copy()
        found[1:] += own[:-1]
        found[:-1] += own[1:]
        own = found.T
    return own


def risk_of_histories(rules: Transit, treeplex: Treeplex) -> Floats:
    """Return the contribution of each of the patroller's sequences to the probability of ending away from the base."""
    steps = [rules.grid.steps(cell) for cell in range(rules.grid.num_cells)]
    coefficients = np.zeros(treeplex.num_sequences)
    for number, label in enumerate(treeplex.infoset_labels):
        moves = str(label).split("-")[1:]
        if len(moves) != rules.steps - 1:
            continue
        cell, chance = rules.base_cell, 1.0
        for time, move in enumerate(moves):
            name = move.removesuffix(FAILED)
            if time > 0 and name != "stay":
                chance *= float(rules.failure if move != name else 1 - rules.failure)
            cell = cell if move != name else steps[cell][name]
        for place, (name, target) in enumerate(steps[cell].items()):
            failure = 0.0 if name == "stay" or not moves else float(rules.failure)
            away = (1.0 - failure) * (target != rules.base_cell) + failure * (cell != rules.base_cell)
            coefficients[treeplex.offsets[number] + place] = chance * away
    return coefficients
