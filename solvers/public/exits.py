"""The compiled loop on a trunk and on a part of a cut game: reaches go down through the exits, and values come up."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats, Indices
from ...seqform.cut_form import Part
from ...seqform.public_form import PublicForm
from ...seqform.public_profile import PublicProfile
from ..checkpoint import fill
from ..methods.rules import Rule
from ..regret.local_rule import rule_numbers
from .arrays import ASCEND, DESCEND, WORK, WalkArrays
from .kernel import PublicKernel, average_of
from .loop import evaluate_public, run_public
from .storage import named


class Exits:
    """Where the numbers at exits are in the scratch arrays of a kernel.

    Parameters
    ----------
    kernel : PublicKernel
    nodes : ndarray of int
        Nodes of the root's board whose children, if they have any, are on other boards.
    """

    def __init__(self, kernel: PublicKernel, nodes: Indices) -> None:
        layout = kernel.layout
        place = np.full(len(layout.form.players), -1)
        place[layout.nodes[0]] = np.arange(len(layout.nodes[0]))
        at, shape, (reaches, values) = place[nodes], layout.shapes[layout.shape_of[0]], layout.top
        self.orders = layout.orders[0]
        self._reaches, self._found, self._values = [], [], []
        for player in (0, 1):
            wide, own = int(layout.widths[0, player]), np.arange(len(self.orders[player]))
            self._reaches.append(reaches + shape.reaches[player][at][:, None] * wide + own)
            self._found.append(at[:, None] * wide + own)
            self._values.append(values + self._found[player])

    def reaches(self, room: Any, player: int) -> Any:
        """Return a player's reach of each exit, shape (exits, states in the form's order)."""
        found = np.empty(self._reaches[player].shape, dtype=room.top.dtype)
        found[:, self.orders[player]] = room.top[self._reaches[player]]
        return found

    def enter(self, room: Any, player: int, reaches: Any) -> None:
        """Set a player's reach of each exit."""
        room.top[self._reaches[player]] = reaches[:, self.orders[player]]

    def values(self, room: Any, player: int) -> Floats:
        """Return a player's values at exits, summed over groups of boards, shape (exits, states)."""
        found = np.zeros(self._found[player].shape)
        for group in room.found:
            found += group[self._found[player]]
        values = np.empty_like(found)
        values[:, self.orders[player]] = found
        return values

    def pay(self, room: Any, player: int, values: Floats) -> None:
        """Set a player's values at exits."""
        room.top[self._values[player]] = values[:, self.orders[player]]


class Piece:
    """A trunk or a part as it is played: the loop's kernel and state.

    Parameters
    ----------
    form : PublicForm
    exits : ndarray of int
    number : type
        As for :class:`~treeplex.solvers.public.kernel.PublicKernel`.
    rule : Rule
    predicting : bool
    """

    def __init__(self, form: PublicForm, exits: Indices, number: Any, rule: Rule, predicting: bool) -> None:
        self.kernel = PublicKernel(form, number, threads=1)
        self.state = self.kernel.initial_state(predicting)
        self.exits = Exits(self.kernel, exits)
        self._rule = rule_numbers(rule)

    def update(self, what: int, player: int, done: int) -> Any:
        """Do a part of an update of a player; return the scratch arrays."""
        game, terms, (room,) = self.kernel.own
        run_public(WalkArrays(game, terms, self.state, room, self._rule), what, player, 0, self._groups, 1, done)
        return room

    def evaluate(self, what: int, player: int, best: bool) -> tuple[Any, float]:
        """Do a part of an evaluation in double precision; return the scratch arrays, and the value at the root."""
        game, terms, (room,) = self.kernel.doubles
        walk = WalkArrays(game, terms, average_of(self.state), room, None)
        return room, float(evaluate_public(walk, what, player, 0, self._groups, best))

    @property
    def _groups(self) -> int:
        return len(self.kernel.layout.groups) - 1

    def saved(self) -> dict[str, Any]:
        """Return the state by name."""
        return named(self.state)

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore a state."""
        fill(named(self.state), dict(saved))


class Trunk(Piece):
    """The trunk of a cut game, as it is played."""

    def play(self, player: int, profile: PublicProfile) -> None:
        """Let a player play its strategy of a profile, as long as it does not learn."""
        layout = self.kernel.layout
        for node in np.flatnonzero(layout.form.players == player).tolist():
            places = layout.places(node)
            for numbers in (self.state.regrets[player], self.state.play[player]):
                numbers[places] = profile.behaviour(node)

    def descend(self, player: int, done: int) -> Any:
        """Begin an update of a player; return the other player's reaches of the exits."""
        return self.exits.reaches(self.update(DESCEND, player, done), 1 - player)

    def ascend(self, player: int, done: int, values: Floats) -> None:
        """End an update, given the player's values at the exits."""
        self.exits.pay(self.kernel.own[2][0], player, values)
        self.update(ASCEND, player, done)

    def descend_to_evaluate(self, player: int) -> Any:
        """Begin an evaluation; return the other player's reaches of the exits by its average."""
        return self.exits.reaches(self.evaluate(DESCEND, player, False)[0], 1 - player)

    def value(self, player: int, best: bool, values: Floats) -> float:
        """End an evaluation, given the player's values at the exits; return its payoff."""
        self.exits.pay(self.kernel.doubles[2][0], player, values)
        return self.evaluate(ASCEND, player, best)[1]


class PlayedPart(Piece):
    """A part of a cut game, as it is played; it answers calls by name, so that it may be in another process.

    Parameters
    ----------
    part : Part
    num_exits : int
    number, rule, predicting
        As for :class:`Piece`.
    slim : bool
        Whether to free what only reading its strategies needs.
    """

    def __init__(
        self, part: Part, num_exits: int, number: Any, rule: Rule, predicting: bool, slim: bool = True
    ) -> None:
        form = part.form()
        super().__init__(form, 1 + num_exits + np.arange(num_exits), number, rule, predicting)
        _ = self.kernel.doubles
        if slim:
            self.kernel.layout.slim()
        self._trunk_states = [part.trunk_states(player) for player in (0, 1)]
        self._up = [
            sp.csr_array((np.ones(len(own)), (np.arange(len(own)), own)), shape=(len(own), own.max() + 1))
            for own in self._trunk_states
        ]

    def call(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Answer a call: ``update`` or ``evaluate``, with the player's values at the exits, shape (exits, states)."""
        return {"update": self._update, "evaluate": self._evaluate}[name](*arguments)

    def _update(self, player: int, done: int, reaches: Any) -> Floats:
        self._enter(self.kernel.own[2][0], player, reaches)
        return self._values(self.update(WORK, player, done), player, reaches)

    def _evaluate(self, player: int, best: bool, reaches: Any) -> Floats:
        self._enter(self.kernel.doubles[2][0], player, reaches)
        return self._values(self.evaluate(WORK, player, best)[0], player, reaches)

    def _enter(self, room: Any, player: int, reaches: Any) -> None:
        self.exits.enter(room, 1 - player, reaches[:, self._trunk_states[1 - player]])

    def _values(self, room: Any, player: int, reaches: Any) -> Floats:
        found = self.exits.values(room, player) @ self._up[player]
        values = np.zeros((len(reaches), max(reaches.shape[1], found.shape[1])))
        values[:, : found.shape[1]] = found
        return values
