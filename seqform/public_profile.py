"""Profiles in public form: the players' behaviour at each public state and in each private state, and its values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Indices
from .errors import InvalidStrategyError
from .game import Game
from .public_form import PublicForm
from .sequence_form import SequenceForm, sequence_form_of
from .strategy import Profile, Strategy

#: The largest number of entries of an array for one board; subtrees of a larger board are evaluated one after another.
_HELD = 2**22
#: The largest number of a player's values at all nodes of a tree that are stored.
_KEPT = 2**22

#: A callback of :meth:`PublicProfile.walk`.
See = Callable[[Indices, Sequence[Floats], Sequence[Floats]], None]


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
        found: Floats = self.behaviours(np.array([node]))[0]
        return found

    def behaviours(self, nodes: Indices) -> Floats:
        """Return the behaviour at public states with equal movers and action counts, shape (k, actions, states)."""
        form, first = self.form, nodes[0]
        player = int(form.players[first])
        shape = (int(form.ends[first + 1] - form.ends[first]), len(form.states[player]) if player >= 0 else 0)
        given = []
        for node in nodes.tolist():
            given.append(np.asarray(self._read(node)))
            if player < 0 or given[-1].shape != shape:
                raise InvalidStrategyError(f"node {node} has behaviour of shape {given[-1].shape}, expected {shape}")
        return self.normalised(given, nodes)

    @staticmethod
    def normalised(given: npt.ArrayLike, nodes: Indices) -> Floats:
        """Return the given behaviour at some nodes, shape (k, actions, states), divided by its sums over actions.

        Raises
        ------
        InvalidStrategyError
            If it contains negative or non-finite entries.
        """
        played: Floats = np.array(given, dtype=np.float64)
        total = played.sum(axis=1, keepdims=True)
        if not (np.isfinite(total).all() and played.min(initial=0.0) >= 0.0):
            node = nodes[~(np.isfinite(total) & (played >= 0.0)).all(axis=(1, 2))][0]
            raise InvalidStrategyError(f"the behaviour at node {node} contains numbers that are negative or not finite")
        np.divide(played, total, out=played, where=total > 0.0)
        played[np.broadcast_to(total == 0.0, played.shape)] = 1.0 / played.shape[1]
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
        """Return the unweighted probability that each state reaches a public state if the player plays towards it."""
        return self.form.arrival(player, node, self.reach(1 - player, node))

    def values(self, player: int, node: int) -> Floats:
        """Return a player's mean payoff in each state, given that the player has reached a public state in that state.

        Returns
        -------
        ndarray of float64, shape (number of the player's states,)
            NaN for states that cannot occur there, because the other player never holds a compatible state.
        """
        return self.conditional(self.counterfactual_values(player, node), self.arrival(player, node))

    @staticmethod
    def conditional(values: Floats, arrival: Floats) -> Floats:
        """Return counterfactual values divided by the probabilities of arrival; NaN if these are zero."""
        sure = arrival > 1e-13 * arrival.max(axis=-1, initial=0.0, keepdims=True)
        paid: Floats = np.divide(values, arrival, out=np.full(values.shape, np.nan), where=sure)
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
        known = {} if best else self._found(player)
        if node in known:
            return known[node]
        values: Floats = (self._root if node == 0 else self.walk(node))[player][int(best)]
        return values

    def keep(self, nodes: Iterable[int], see: See | None = None) -> None:
        """Compute and store the values of both players at the root and at the given nodes, in one walk.

        Without it, :meth:`counterfactual_values` walks the subtree of each node of a large tree. Values take 8 bytes
        for each node and state.

        Parameters
        ----------
        nodes : iterable of int
        see : callable, optional
            Called during the walk; see :meth:`walk`.
        """
        form, wanted = self.form, np.zeros(len(self.form.players), dtype=np.bool_)
        wanted[list(nodes)] = True
        found: tuple[dict[int, Floats], dict[int, Floats]] = {}, {}

        def both(here: Indices, reaches: Sequence[Floats], values: Sequence[Floats]) -> None:
            for place in np.flatnonzero(wanted[here] & (form.boards[here] == form.boards[here[0]])).tolist():
                for known, paid in zip(found, values, strict=True):
                    known[int(here[place])] = paid[0, place].copy()
            if see is not None:
                see(here, reaches, values)

        self._root = self.walk(see=both)
        self._known |= {
            player: {**self._known.get(player, {}), 0: self._root[player][0], **known}
            for player, known in enumerate(found)
        }

    def _found(self, player: int) -> Mapping[int, Floats]:
        """Return a player's stored values by node; in a small tree, those of all nodes."""
        if player not in self._known:
            if len(self.form.players) * max(map(len, self.form.states)) <= _KEPT:
                self.keep(range(len(self.form.players)))
            else:
                self._known[player] = {} if self._first_values is None else self._first_values(player)
        return self._known[player]

    @cached_property
    def _root(self) -> tuple[Floats, Floats]:
        return self.walk()

    def walk(self, node: int = 0, see: See | None = None) -> tuple[Floats, Floats]:
        """Return both players' counterfactual values at a public state, by one walk over its subtree.

        Parameters
        ----------
        node : int
        see : callable, optional
            Called for each board, after the boards that follow it, with its public states, shape (k,), both players'
            reaches there, shapes (k, states), and both players' values, shapes (2, k, states). The first states of the
            following boards are included; the first public state of all is on the board itself.

        Returns
        -------
        two ndarrays of float64, shape (2, number of the player's states)
            What the player is paid if it follows the profile, and if it plays its best response from there on.
        """
        reaches = [self.reach(player, node)[None] for player in (0, 1)]
        first, second = (values[:, 0] for values in self._walk(np.array([node]), reaches, see))
        return first, second

    def _walk(self, roots: Indices, reaches: Sequence[Floats], see: See | None) -> list[Floats]:
        """Return both players' values at public states on a board, shapes (2, number of roots, states)."""
        form, sizes = self.form, [len(states) for states in self.form.states]
        nodes, steps, beyond = form.on_board(roots)
        if len(nodes) * max(sizes) > _HELD:
            nodes, steps, beyond = form.on_board(roots, whole=False)
        reach = [np.empty((len(nodes), size)) for size in sizes]
        for one, given in zip(reach, reaches, strict=True):
            one[: len(roots)] = given
        moves = [self.behaviours(nodes[above]) if mover >= 0 else np.ones(1) for mover, above, _ in steps]
        for (mover, above, below), played in zip(steps, moves, strict=True):
            for player, one in enumerate(reach):
                one[below] = one[above][:, None] * (played if player == mover else 1.0)
        values = [np.zeros((2, len(nodes), size)) for size in sizes]
        inside = np.ones(len(nodes), dtype=np.bool_)
        for places in beyond:
            inside[places] = False
            for found, after in zip(
                values, self._walk(nodes[places], [one[places] for one in reach], see), strict=True
            ):
                found[:, places] = after
        own = np.flatnonzero(inside)
        for places, leaves in form.leaves_among(nodes[own]):
            at = own[places]
            for player, found in enumerate(values):
                found[:, at] += leaves.gradient(player, reach[1 - player][at])
        for (mover, above, below), played in zip(reversed(steps), reversed(moves), strict=True):
            for player, found in enumerate(values):
                after = found[:, below]
                if player == mover:
                    found[:, above] = (played * after[0]).sum(axis=1), after[1].max(axis=1)
                else:
                    found[:, above] = after.sum(axis=2)
        if see is not None:
            see(nodes, reach, values)
        return [found[:, : len(roots)].copy() for found in values]

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
