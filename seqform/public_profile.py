"""Profiles in public form: the players' behaviour at each public state and in each private state, and its values."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Indices
from .errors import InvalidStrategyError
from .game import Game
from .public_form import PublicForm
from .rules import TERMINAL
from .sequence_form import SequenceForm, sequence_form_of
from .strategy import Profile, Strategy

#: The largest number of entries of an array in memory; subtrees of a larger tree are evaluated one after another.
_HELD = 2**24
#: The largest number of a player's values at all nodes of a tree that are stored.
_KEPT = 2**22


class PublicProfile:
    """A profile of a game in public form.

    All values are computed in double precision from the behaviour, regardless of its source.

    Parameters
    ----------
    form : PublicForm
    behaviours : callable or mapping
        Maps a node at which a player moves to an array of shape (actions, states of that player) with entries of at
        least 0, such as float32 probabilities or visit counts. The profile divides them by their sums over actions when
        they are read; if all are 0, actions are equally likely.
    first_values : callable, optional
        Maps a player to its counterfactual values at some nodes, such as those before public chance moves, so that a
        large tree need not be evaluated for them.

    Raises
    ------
    InvalidStrategyError
        When a node is read whose array has the wrong shape or contains negative or non-finite entries.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex import load_game
    >>> from treeplex.seqform.public_form import PublicForm
    >>> from treeplex.seqform.public_profile import PublicProfile
    >>> profile = PublicProfile.uniform(PublicForm.from_rules(load_game("kuhn").rules))
    >>> round(profile.value(0), 6), round(profile.exploitability, 6)
    (0.125, 0.458333)
    >>> profile.values(0, 0)  # of a jack, a queen and a king
    array([-0.875,  0.125,  1.125])
    """

    def __init__(
        self,
        form: PublicForm,
        behaviours: Callable[[int], npt.NDArray[Any]] | Mapping[int, npt.NDArray[Any]],
        first_values: Callable[[int], Mapping[int, Floats]] | None = None,
    ) -> None:
        self.form = form
        self._values: dict[int, Floats] = {}
        self._first_values = first_values
        self._known: dict[int, Mapping[int, Floats]] = {}
        self._read = behaviours.__getitem__ if isinstance(behaviours, Mapping) else behaviours

    def __repr__(self) -> str:
        return f"PublicProfile({self.form!r})"

    @classmethod
    def uniform(cls, form: PublicForm) -> "PublicProfile":
        """Return the profile in which all players play uniformly."""
        return cls(form, lambda node: np.ones((len(form.children[node]), len(form.states[form.players[node]]))))

    @classmethod
    def of(cls, form: PublicForm, profile: "PublicProfile | Profile") -> "PublicProfile":
        """Return a profile in public form, whether or not it is in public form already."""
        if isinstance(profile, StrategiesOnDemand):
            return profile.public
        return profile if isinstance(profile, cls) else cls.from_profile(form, profile)  # type: ignore[arg-type]

    @classmethod
    def from_profile(cls, form: PublicForm, profile: Profile) -> "PublicProfile":
        """Convert a profile of the form's sequence form to public form."""

        def behaviour(node: int) -> Floats:
            player = int(form.players[node])
            places = np.array([form.sequences(player, child) for child in form.children[node].tolist()])
            return np.where(places >= 0, profile[player].behaviour[places], 0.0)

        return cls(form, behaviour)

    def to_profile(self, game: Game | SequenceForm) -> Profile:
        """Convert the profile to one of the form's sequence form; meant for small games."""
        form, strategies = self.form, []
        for player, treeplex in enumerate(sequence_form_of(game).treeplexes):
            vector = np.ones(treeplex.num_sequences)
            for node in np.flatnonzero(form.players == player).tolist():
                played = self.behaviour(node)
                for number, child in enumerate(form.children[node].tolist()):
                    places = form.sequences(player, child)
                    vector[places[places >= 0]] = played[number, places >= 0]
            strategies.append(Strategy(game, player, vector))
        return Profile(strategies)

    def behaviour(self, node: int) -> Floats:
        """Return the probability of each action in each state of the player to move, shape (actions, states)."""
        form = self.form
        player = int(form.players[node])
        shape = (len(form.children[node]), len(form.states[player]) if player >= 0 else 0)
        given = np.asarray(self._read(node))
        if player < 0 or given.shape != shape:
            raise InvalidStrategyError(f"node {node} has behaviour of shape {given.shape}, expected {shape}")
        return self.normalised(given, node)

    @staticmethod
    def normalised(given: npt.NDArray[Any], node: int) -> Floats:
        """Return the given behaviour at a node, shape (actions, states), divided by its sums over actions.

        Raises
        ------
        InvalidStrategyError
            If it contains negative or non-finite entries.
        """
        given = np.asarray(given, dtype=np.float64)
        total = given.sum(axis=0)
        if not (np.isfinite(total).all() and (given >= 0.0).all()):
            raise InvalidStrategyError(f"the behaviour at node {node} contains numbers that are negative or not finite")
        played: Floats = np.divide(given, total, out=np.full(given.shape, 1.0 / len(given)), where=total > 0.0)
        return played

    def reach(self, player: int, node: int) -> Floats:
        """Return a player's reach of a public state, by private state: weights times own action probabilities."""
        form = self.form
        found = np.array(form.weights[player])
        while node > 0:
            parent = int(form.parents[node])
            if form.players[parent] == player:
                found *= self.behaviour(parent)[np.flatnonzero(form.children[parent] == node)[0]]
            node = parent
        return found

    def arrival(self, player: int, node: int) -> Floats:
        """Return the probability that each state reaches a public state if the player plays towards it, unweighted."""
        return self.form.arrival(player, node, self.reach(1 - player, node))

    def values(self, player: int, node: int) -> Floats:
        """Return a player's mean payoff in each state, given that it is at a public state in that state.

        Returns
        -------
        ndarray of float64, shape (number of the player's states,)
            NaN for states that cannot occur there, because the other player never holds a compatible state.
        """
        return self.conditional(self.counterfactual_values(player, node), self.arrival(player, node))

    @staticmethod
    def conditional(values: Floats, arrival: Floats) -> Floats:
        """Return counterfactual values divided by the probabilities of arrival; NaN if these are zero."""
        sure = arrival > 1e-13 * arrival.max(initial=0.0)
        paid: Floats = np.divide(values, arrival, out=np.full(len(values), np.nan), where=sure)
        return paid

    def counterfactual_values(self, player: int, node: int, best: bool = False) -> Floats:
        """Return a player's payoff in each state, weighted by the probability that the others and chance lead there.

        Parameters
        ----------
        player : {0, 1}
        node : int
        best : bool
            Whether the player plays its best response from that node on.

        Returns
        -------
        ndarray of float64, shape (number of the player's states,)
        """
        if not best:
            if len(self.form.players) * len(self.form.states[player]) <= _KEPT:
                kept: Floats = self._kept(player)[node]
                return kept
            known = self._found(player)
            if node in known:
                return known[node]
        return self._in_parts(player, node, best)

    def keep(self, nodes: Sequence[int]) -> None:
        """Compute the values of both players at some nodes in one pass over the tree, and store them.

        In a large tree, :meth:`counterfactual_values` would otherwise evaluate the subtree of each node again. The
        values take 8 bytes for each node and state.

        Parameters
        ----------
        nodes : sequence of int
        """
        form = self.form
        for player in (0, 1):
            if len(form.players) * len(form.states[player]) > _KEPT:
                known = dict(self._found(player))
                wanted = np.zeros(len(form.players), dtype=np.bool_)
                wanted[list(nodes)] = True
                self._in_parts(player, 0, False, wanted, known)
                self._known[player] = known

    def _found(self, player: int) -> Mapping[int, Floats]:
        """Return a player's stored values, by node."""
        if player not in self._known:
            self._known[player] = {} if self._first_values is None else self._first_values(player)
        return self._known[player]

    def _in_parts(
        self,
        player: int,
        node: int,
        best: bool,
        wanted: npt.NDArray[np.bool_] | None = None,
        known: dict[int, Floats] | None = None,
    ) -> Floats:
        """Return a player's values at a node, and store the requested values at and below it."""
        inside = self.form.below(node)
        if len(inside) > 1 and len(inside) * max(map(len, self.form.states)) > _HELD:
            after = self.form.children[node].tolist()
            found = self._joined(
                player, node, [self._in_parts(player, one, best, wanted, known) for one in after], best
            )
            values: Floats = found[None]
            inside = inside[:1]
        else:
            inside, values = self.all_values(player, node, best)
        if wanted is not None and known is not None:
            for place in np.flatnonzero(wanted[inside]).tolist():
                known[int(inside[place])] = values[place].copy()
        first: Floats = values[0]
        return first

    def _kept(self, player: int) -> Floats:
        """Return a player's values at every node of a small tree, computed once."""
        if player not in self._values:
            nodes, values = self.all_values(player)
            self._values[player] = np.empty_like(values)
            self._values[player][nodes] = values
        return self._values[player]

    def all_values(self, player: int, node: int = 0, best: bool = False) -> tuple[Indices, Floats]:
        """Return a public state and all its descendants, and the counterfactual values at each.

        Returns
        -------
        nodes : ndarray of int, shape (k,)
        values : ndarray of float64, shape (k, number of the player's states)
        """
        form, other = self.form, 1 - player
        nodes = form.below(node)
        place = np.full(len(form.players), -1, dtype=np.int64)
        place[nodes] = np.arange(len(nodes))
        reach = np.empty((len(nodes), len(form.states[other])))
        reach[0] = self.reach(other, node)
        inner = nodes[form.players[nodes] != TERMINAL].tolist()
        for one in inner:
            moved = self.behaviour(one) if form.players[one] == other else 1.0
            reach[place[form.children[one]]] = reach[place[one]] * moved
        values = np.zeros((len(nodes), len(form.states[player])))
        for group in form.leaves_among(place >= 0):
            np.add.at(values, place[group.nodes], group.gradient(player, reach[place[group.nodes]]))
        for one in reversed(inner):
            values[place[one]] = self._joined(player, one, values[place[form.children[one]]], best)
        return nodes, values

    def _joined(self, player: int, node: int, after: Any, best: bool) -> Floats:
        """Return the values of a public state, computed from those of its children."""
        if self.form.players[node] != player:
            joined: Floats = np.sum(after, axis=0)
        elif best:
            joined = np.max(after, axis=0)
        else:
            joined = np.sum(self.behaviour(node) * after, axis=0)
        return joined

    def value(self, player: int) -> float:
        """Return a player's mean payoff."""
        return float(self.form.weights[player] @ self.counterfactual_values(player, 0))

    @cached_property
    def best_response_values(self) -> tuple[float, float]:
        """The payoff of each player's best response to the other: player 0's value is between −second and first."""
        first, second = (
            float(weights @ self.counterfactual_values(player, 0, best=True))
            for player, weights in enumerate(self.form.weights)
        )
        return first, second

    @cached_property
    def exploitability(self) -> float:
        """Half of the sum of both players' best-response gains."""
        return sum(best - self.value(player) for player, best in enumerate(self.best_response_values)) / 2


class StrategiesOnDemand(Profile):
    """A profile in public form as strategies in sequence form, which are built on first use.

    Parameters
    ----------
    game : Game
    public : PublicProfile
    """

    def __init__(self, game: Game, public: PublicProfile) -> None:
        self.game, self.public = game, public

    @cached_property
    def _strategies(self) -> tuple[Strategy, ...]:  # type: ignore[override]
        return tuple(self.public.to_profile(self.game))

    def __len__(self) -> int:
        return 2

    def __repr__(self) -> str:
        return f"Profile(game={self.game.name!r}, num_players=2)"
