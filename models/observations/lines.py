"""Observations of an opponent in a game in public form: how often it took each line, and which hands it showed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats, Integers
from ...seqform.errors import InvalidStrategyError, PlayLogError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.public_form import PublicForm
from ...seqform.strategy import Strategy, check_same_game, checked_player
from ..saddle import check_two_players
from .events import Events
from .observations import Counts

#: Weight, in the estimate at an infoset, of the actions in all infosets of its public state.
_POOLED = 1.0


@dataclass(frozen=True, eq=False)
class LineObservations:
    """One seat's observations of the other seat in a game in public form; the seat knows only its own private states.

    In the basic event, the opponent takes a line: it reaches a public state by its own action, with any private state.
    If hands are shown, taking the line and showing one private state is an event too.

    Parameters
    ----------
    game : Game
        Two players, constant-sum, with a public form.
    player : int
        The observer's seat.
    passed : array_like of int, shape (num_nodes,)
        Number of games that reached each public state, for any private states; the root's entry is the number of all
        games. It is 0 if the state was not counted: only events with ``looked`` true are counted.
    held : array_like of int, shape (num_nodes, states of the observer)
        The number of these games with each of the observer's private states, if known.
    shown : array_like of int, shape (num_nodes, states of the opponent)
        At ends of lines, the number of games that ended there and in which the opponent showed each of its private
        states.
    looked : array_like of bool, shape (num_nodes,)
        Whether games at the state have been counted.
    probe : Strategy, optional
        The observer's strategy. By default it is estimated.
    left_out : mapping of str to int
        The reasons why games were left out, with their numbers.

    Raises
    ------
    InvalidStrategyError, PlayLogError, UnsupportedProblemError
        If the game has no public form, there is no such seat, or counts are inconsistent.

    Notes
    -----
    Equations 50 and 51 of T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy
    constraints", AAAI 2019, appendix D, summed over the observer's own private states. With y the opponent's plan, π
    the observer's and c the probability of the deal, P(line v) = Σ_h y(h, v) Σ_g π(g, v) c(g, h). Frequencies are
    relative to all games. Hands shown after a fold are not used, because they depend on the folded hands. Some lines
    end in a showdown in only some of the games, because more is played after them or hands are mucked. There the number
    of games with a state h is at least the number that showed h, and at most that number plus the games that showed
    nothing.

    The estimate of the probe at each public state combines the actions with each private state and, with an additional
    weight, the actions with all of them together, which is all that is known if private states are unknown.

    Examples
    --------
    Kuhn poker: of ten games, the opponent bet in four after our pass.

    >>> from treeplex import Game, OpponentModel, load_game
    >>> from treeplex.models.observations import LineObservations
    >>> from treeplex.seqform.public_form import PublicForm
    >>> form = PublicForm.from_rules(load_game("kuhn").rules)
    >>> game = Game.from_public_form(form, "kuhn")
    >>> passed = [0] * len(form.players)
    >>> passed[0] = passed[form.find("p")] = 10
    >>> passed[form.find("p, b")], passed[form.find("p, p")] = 4, 6
    >>> seen = LineObservations(game, 0, passed)
    >>> model = OpponentModel.from_observations(seen)
    >>> model.names[1]
    'opponent takes the line p, b: 0.168-0.687 (n = 10)'
    """

    game: Game
    player: int
    passed: Any
    held: Any = None
    shown: Any = None
    looked: Any = None
    probe: Strategy | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_two_players("an opponent model", self.game)
        object.__setattr__(self, "player", checked_player(self.game, self.player))
        if self.game.public_form is None:
            raise UnsupportedProblemError(f"line observations need a public form, but {self.game.spec} has none")
        nodes = len(self.form.players)
        own, theirs = (len(self.form.states[seat]) for seat in (self.player, self.opponent))
        for name, shape in (("passed", (nodes,)), ("held", (nodes, own)), ("shown", (nodes, theirs))):
            given = getattr(self, name)
            counts = np.zeros(shape, dtype=np.int64) if given is None else np.array(given)
            if counts.shape != shape or counts.dtype.kind not in "iu" or (counts < 0).any():
                raise PlayLogError(f"{name} is {shown(given, 60)}, expected counts of shape {shape}")
            object.__setattr__(self, name, counts.astype(np.int64))
        looked = self.passed > 0 if self.looked is None else np.array(self.looked, dtype=bool)
        if self.looked is None:  # every game that reached a state continued from it
            looked[1:] |= looked[self.form.parents[1:]]
        object.__setattr__(self, "looked", looked)
        if self.probe is not None:
            check_same_game(self.probe, self.game)
            if self.probe.player != self.player:
                raise InvalidStrategyError(
                    f"the probe is a strategy of player {self.probe.player}, expected one of player {self.player}"
                )

    @property
    def form(self) -> PublicForm:
        """The game in public form."""
        assert self.game.public_form is not None
        return self.game.public_form

    @property
    def opponent(self) -> int:
        """The other seat."""
        return 1 - self.player

    @property
    def num_games(self) -> int:
        """Number of observed games."""
        return int(self.passed[0])

    @cached_property
    def reach(self) -> Floats:
        """The observer's part in the reach of each public state, known or estimated: shape (num_nodes, states)."""
        form, own = self.form, self.player
        found = np.zeros((len(form.players), len(form.states[own])))
        found[0] = form.weights[own]
        for node, mover in enumerate(form.players.tolist()):
            children = form.children[node]
            found[children] = found[node]
            if mover != own or not len(children):
                continue
            if self.probe is not None:
                sequences = np.array([form.sequences(own, child) for child in children.tolist()])
                plan = np.where(sequences >= 0, self.probe.plan[sequences], 0.0)
                found[children] = plan * form.weights[own]
                continue
            together = self.passed[children] / max(self.passed[children].sum(), 1)
            counts = self.held[children] + _POOLED * together[:, None]
            found[children] *= counts / np.maximum(counts.sum(axis=0), 1e-300)
        return found

    @cached_property
    def _numbers(self) -> tuple[Integers, Integers]:
        """The public state of each event, and the private state that it shows (−1 if it covers all of them)."""
        form, own = self.form, self.player
        after_own = np.flatnonzero(self.looked & (np.arange(len(form.players)) > 0))
        lines = after_own[form.players[form.parents[after_own]] == self.opponent]
        nodes, states = [lines], [np.full(len(lines), -1)]
        for node in np.flatnonzero(self.shown.any(axis=1)).tolist():
            present = form.present[form.boards[node]][1 - own]
            nodes.append(np.full(len(present), node))
            states.append(present)
        return np.concatenate(nodes), np.concatenate(states)

    @cached_property
    def events(self) -> Events:
        """The events that are informative about the opponent; :attr:`event_counts` tells how often each happened."""
        form, opponent = self.form, self.opponent
        treeplex = self.game.sequence_form.treeplexes[opponent]
        total = self._arrival(0).sum()
        nodes, states = self._numbers
        rows, columns, values, names = [], [], [], []
        arrivals: dict[int, Floats] = {}
        for row, (node, state) in enumerate(zip(nodes.tolist(), states.tolist(), strict=True)):
            if node not in arrivals:
                arrivals[node] = self._arrival(node) / total
            sequences = form.sequences(opponent, node)
            taken = np.flatnonzero(sequences >= 0) if state < 0 else np.array([state])
            rows.append(np.full(len(taken), row))
            columns.append(sequences[taken])
            values.append(arrivals[node][taken])
            said = "" if state < 0 else f"shows {form.states[opponent][state]} after"
            names.append(f"opponent {said or 'takes'} the line {', '.join(map(str, form.path(node)))}")
        none = [np.zeros(0, dtype=np.int64)]
        places = (np.concatenate(rows or none), np.concatenate(columns or none))
        shape = (len(nodes), treeplex.num_sequences)
        matrix = sp.csr_array((np.concatenate(values or [np.zeros(0)]), places), shape=shape)
        # Each private state may or may not go there, independently of the others.
        most = np.asarray(matrix.sum(axis=1))
        least = np.where(self._chosen[nodes], 0.0, most)
        nothing = np.zeros(len(nodes), dtype=np.int32)
        return Events(tuple(names), sp.csr_array((len(nodes), 0)), nothing, matrix, least, most)

    @cached_property
    def _chosen(self) -> npt.NDArray[np.bool_]:
        """Whether the opponent had an alternative to each public state, shape (num_nodes,)."""
        form = self.form
        found = np.zeros(len(form.players), dtype=bool)
        for node, parent in enumerate(form.parents.tolist()[1:], 1):
            found[node] = found[parent] or (form.players[parent] == self.opponent and len(form.children[parent]) > 1)
        return found

    def _arrival(self, node: int) -> Floats:
        """Return, by the opponent's private state, how likely chance and the observer are to lead to a public state."""
        form = self.form
        found: Floats = form.arrival(self.opponent, node, self.reach[node]) * form.weights[self.opponent]
        return np.abs(found)

    @cached_property
    def event_counts(self) -> Counts:
        """Number of games in which each event certainly happened, shape (events,)."""
        nodes, states = self._numbers
        counts: Counts = np.where(states < 0, self.passed[nodes], self.shown[nodes, np.maximum(states, 0)])
        return counts

    @cached_property
    def most_counts(self) -> Counts:
        """Number of games in which each event may have happened, shape (events,)."""
        nodes, states = self._numbers
        hidden = self.passed[nodes] - self.shown[nodes].sum(axis=1)
        return self.event_counts + np.where(states < 0, 0, hidden)

    @property
    def own_plan(self) -> npt.NDArray[np.float64]:
        """The observer's contribution to events: 1, because the events' functions already include it."""
        return np.ones(1)
