"""Strategies and profiles: realization plans together with their game."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from .arrays import Floats, ReadOnly, frozen
from .checks import Named, check_player, check_type, explained, hinting, is_whole
from .display import Displayed, Drawn
from .errors import InvalidStrategyError, one_line, shown
from .labels import listed
from .polytope import Treeplex
from .sequence_form import HasSequenceForm, SequenceForm, sequence_form_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from .strategy_files import Behaviours

#: The largest distance from the polytope at which a vector is accepted as a realization plan.
PLAN_TOLERANCE = 1e-6
#: The default number of infosets in a figure.
DRAWN = 30


@hinting("treeplex.seqform.other_names:OF_STRATEGIES")
class Strategy(ReadOnly, Drawn, Displayed):
    """One player's strategy in a game: a realization plan, with a behaviour at every infoset.

    Use :meth:`from_plan`, :meth:`from_behaviour`, :meth:`from_dict`, :meth:`uniform` or :meth:`load` to make one.

    Parameters
    ----------
    game : Game or SequenceForm
    player : int
    behaviour : array_like, shape (num_sequences,)
        Probability of each sequence's action at its infoset; entry 0 is ignored. Probabilities at an infoset sum to
        one within 1e-6.

    Attributes
    ----------
    player : int
    behaviour : ndarray of float64, shape (num_sequences,)
        Also defined at infosets that the plan does not reach. Read-only.
    plan : ndarray of float64, shape (num_sequences,)
        The realization plan. Read-only.

    Raises
    ------
    InvalidStrategyError
        If the player does not exist, the shape is wrong, or the probabilities at an infoset are not a distribution; the
        message names the infoset.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> strategy = Strategy.uniform(load_game("kuhn"), player=0)
    >>> strategy["K_"]
    {'p': 0.5, 'b': 0.5}
    """

    shown_by = "treeplex.seqform.interchange.strategy_display:strategy_blocks"
    drawn_by = "treeplex.seqform.interchange.strategy_display:strategies_figure"

    @explained
    def __init__(self, game: HasSequenceForm | SequenceForm, player: int, behaviour: npt.ArrayLike) -> None:
        self.sequence_form = sequence_form_of(game)
        self.player = checked_player(game, player)
        self.game_name = game.spec if isinstance(game, HasSequenceForm) else ""
        self.behaviour: Floats = frozen(_checked_behaviour(self.treeplex, behaviour))
        self.plan: Floats = frozen(self.treeplex.plan(self.behaviour))

    @property
    def treeplex(self) -> Treeplex:
        """The player's polytope, which contains the plan."""
        return self.sequence_form.treeplexes[self.player]

    @property
    def actions(self) -> list[str]:
        """The player's actions as strings, without duplicates."""
        return list(dict.fromkeys(map(str, chain.from_iterable(self.treeplex.action_labels))))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the strategy's game."""
        return self.sequence_form.fingerprint

    def __repr__(self) -> str:
        name = f"game={self.game_name!r}, " if self.game_name else ""
        return f"Strategy({name}player={self.player}, num_infosets={self.treeplex.num_infosets})"

    @classmethod
    @explained
    def uniform(cls, game: HasSequenceForm | SequenceForm, player: int) -> "Strategy":
        """Return the strategy that plays all actions of an infoset equally often."""
        player = checked_player(game, player)
        return cls(game, player, sequence_form_of(game).treeplexes[player].uniform_behaviour())

    @classmethod
    def from_behaviour(cls, game: HasSequenceForm | SequenceForm, player: int, behaviour: npt.ArrayLike) -> "Strategy":
        """Make a strategy from a behaviour strategy; the same as the constructor."""
        return cls(game, player, behaviour)

    @classmethod
    @explained
    def from_plan(
        cls, game: HasSequenceForm | SequenceForm, player: int, plan: npt.ArrayLike, tolerance: float = PLAN_TOLERANCE
    ) -> "Strategy":
        """Make a strategy from a realization plan.

        Parameters
        ----------
        game : Game or SequenceForm
        player : int
        plan : array_like, shape (num_sequences,)
        tolerance : float
            The largest allowed distance from the polytope (the largest residual of E x = e and x ≥ 0). The strategy
            plays in the vector's proportions and lies exactly in the polytope.

        Returns
        -------
        Strategy
            With uniform behaviour at infosets that the plan does not reach.

        Raises
        ------
        InvalidStrategyError
            If the vector is farther from the polytope.
        """
        treeplex = sequence_form_of(game).treeplexes[checked_player(game, player)]
        vector = _finite_vector(treeplex, plan, "realization plan")
        residual = treeplex.residual(vector)
        if not residual <= tolerance:
            raise InvalidStrategyError(
                f"the vector is not a realization plan of player {player}: its largest residual of E x = e and x >= 0 "
                f"is {residual:.3g}, expected at most {tolerance:.3g}"
            )
        return cls(game, player, treeplex.behaviour(np.maximum(vector, 0.0)))

    @classmethod
    @explained
    def from_dict(
        cls, game: HasSequenceForm | SequenceForm, player: int, behaviour: Mapping[Hashable, Mapping[Hashable, float]]
    ) -> "Strategy":
        """Make a strategy from ``{infoset: {action: probability}}``; play at other infosets is uniform.

        Name actions by their labels or by the game's words for them
        (:attr:`Game.action_words <treeplex.Game.action_words>`).

        Raises
        ------
        InvalidStrategyError
            If an infoset or action is unknown, or probabilities do not sum to one.
        """
        from .strategy_tables import behaviour_of_dict

        treeplex = sequence_form_of(game).treeplexes[checked_player(game, player)]
        return cls(game, player, behaviour_of_dict(treeplex, player, behaviour))

    def with_behaviour(self, behaviour: npt.ArrayLike) -> "Strategy":
        """Return a strategy of the same player in the same game with another behaviour."""
        other = Strategy(self.sequence_form, self.player, behaviour)
        other.game_name = self.game_name
        return other

    def __getitem__(self, infoset: Hashable) -> dict[Hashable, float]:
        number = self.treeplex.find_infoset(infoset)
        if number is None:
            raise self.treeplex.unknown_infoset(self.player, infoset)
        return Named(self._distribution(number), f"infoset {shown(infoset)} has no action")

    def _distribution(self, infoset: int) -> dict[Hashable, float]:
        first, last = self.treeplex.offsets[infoset : infoset + 2].tolist()
        return dict(zip(self.treeplex.action_labels[infoset], self.behaviour[first:last].tolist(), strict=True))

    def to_dict(self) -> dict[Hashable, dict[Hashable, float]]:
        """Return ``{infoset: {action: probability}}``."""
        return {label: self._distribution(number) for number, label in enumerate(self.treeplex.infoset_labels)}

    def table(self, digits: int = 4) -> str:
        """Return the strategy as text with one line per infoset.

        Parameters
        ----------
        digits : int
            Decimals of the probabilities.

        Examples
        --------
        >>> from treeplex import Strategy, load_game
        >>> print(Strategy.uniform(load_game("matching_pennies"), player=0).table(2))
        infoset  reach     H     T
        _         1.00  0.50  0.50
        """
        from .strategy_tables import text_table

        return text_table(self.to_dict(), self.treeplex.reach(self.plan), digits)

    def to_frame(self) -> "pd.DataFrame":
        """Return the strategy as a DataFrame with one row per sequence: infoset, action, probability, realization.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        from .strategy_tables import frame_of

        return frame_of(self.treeplex, self.behaviour, self.plan)

    def figure(
        self,
        infosets: Collection[Hashable] | None = None,
        *,
        against: "Strategy | None" = None,
        most: int = DRAWN,
    ) -> "Figure":
        """Draw how often each action is taken, with one bar per infoset.

        Parameters
        ----------
        infosets : collection of labels, optional
            The infosets to show; by default all.
        against : Strategy, optional
            Another strategy of the player, drawn below each bar.
        most : int
            The largest number of infosets; the ones that the strategy reaches most often are shown.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        return self._drawn([self], infosets, {} if against is None else {self.player: against}, most)

    def save(self, path: str | Path) -> None:
        """Write the strategy to a file, in the format that its suffix names.

        Parameters
        ----------
        path : path-like
            ``.npz`` or no suffix for an archive of arrays with metadata as JSON (without pickling); ``.json`` or
            ``.csv`` for text.

        Raises
        ------
        InvalidStrategyError
            If the file cannot be written, or the suffix is unknown; the message names the path and the reason.
        InvalidGameError
            If the game has no fingerprint; see :attr:`SequenceForm.fingerprint
            <treeplex.seqform.sequence_form.SequenceForm.fingerprint>`.
        """
        _save(path, [self])

    @classmethod
    @explained
    def load(
        cls,
        path: str | Path,
        game: HasSequenceForm | SequenceForm,
        player: int | None = None,
        *,
        normalise: bool = False,
    ) -> "Strategy":
        """Read a strategy that :meth:`save`, :meth:`Profile.save` or another program wrote.

        The formats are those of :func:`~treeplex.seqform.strategy_files.read_strategies`, including OpenSpiel's and
        Gambit's. Play is uniform at infosets that are not in the file.

        Parameters
        ----------
        path : path-like
        game : Game or SequenceForm
            The strategy's game.
        player : int, optional
            The player whose strategy is read; not needed if the file contains only one.
        normalise : bool
            Whether to divide the probabilities of each infoset by their sum, as rounded ones need.

        Returns
        -------
        Strategy

        Raises
        ------
        InvalidStrategyError
            If the file is not a strategy file, is for another game, or contains no strategy of that player.
        GameTooLargeError
            If reading it may exceed the memory budget for building a game.
        """
        found = load_strategies(path, game, normalise)[0]
        name = one_line(str(path))
        if player is None and len(found) > 1:
            raise InvalidStrategyError(f"{name} has strategies of players {sorted(found)}: choose one with player=…")
        wanted = next(iter(found)) if player is None else player
        if not is_whole(wanted) or wanted not in found:
            raise InvalidStrategyError(f"{name} has no strategy of player {shown(wanted)}, only of {sorted(found)}")
        return found[wanted]


@hinting("treeplex.seqform.other_names:OF_PROFILES")
class Profile(Sequence[Strategy], Drawn, Displayed):
    """One strategy per player, all of the same game.

    Parameters
    ----------
    strategies : sequence of Strategy
        Strategy ``i`` is player ``i``'s.

    Raises
    ------
    InvalidStrategyError
        If a player's strategy is missing, in the wrong position or of another game.

    Examples
    --------
    >>> from treeplex import Profile, expected_payoffs, load_game
    >>> game = load_game("kuhn")
    >>> expected_payoffs(game, Profile.uniform(game))
    array([ 0.125, -0.125])
    """

    shown_by = "treeplex.seqform.interchange.strategy_display:profile_blocks"
    drawn_by = "treeplex.seqform.interchange.strategy_display:strategies_figure"

    @explained
    def __init__(self, strategies: Sequence[Strategy]) -> None:
        given: Any = strategies if isinstance(strategies, Iterable) else ()
        if not isinstance(given, list | tuple):
            given = listed(given, "the strategies of a profile are", InvalidStrategyError)
        self._strategies: tuple[Strategy, ...] = tuple(given)
        if not self._strategies or not all(isinstance(strategy, Strategy) for strategy in self._strategies):
            raise InvalidStrategyError(f"a profile needs one Strategy per player, received {shown(strategies)}")
        form = self._strategies[0].sequence_form
        players = [strategy.player for strategy in self._strategies]
        if players != list(range(form.num_players)):
            raise InvalidStrategyError(
                f"a profile of this game needs strategies of players {list(range(form.num_players))} in this order, "
                f"received players {players}"
            )
        for strategy in self._strategies[1:]:
            check_same_game(strategy, form)

    @classmethod
    @explained
    def uniform(cls, game: HasSequenceForm | SequenceForm) -> "Profile":
        """Return the profile in which all players play uniformly."""
        return cls([Strategy.uniform(game, player) for player in range(sequence_form_of(game).num_players)])

    @classmethod
    @explained
    def from_dict(
        cls,
        game: HasSequenceForm | SequenceForm,
        behaviours: Mapping[int, Mapping[Hashable, Mapping[Hashable, float]]] | Sequence[Mapping[Hashable, Any]],
    ) -> "Profile":
        """Make a profile from each player's ``{infoset: {action: probability}}``; play elsewhere is uniform.

        Parameters
        ----------
        game : Game or SequenceForm
        behaviours : mapping of int to mapping, or sequence of mappings
            By player, in the form of :meth:`Strategy.from_dict`.

        Raises
        ------
        InvalidStrategyError
            If a player, an infoset or an action is unknown, or probabilities do not sum to one.
        """
        if not isinstance(behaviours, Mapping):
            behaviours = dict(enumerate(behaviours))
        given = {checked_player(game, player): behaviour for player, behaviour in behaviours.items()}
        players = range(sequence_form_of(game).num_players)
        return cls([Strategy.from_dict(game, player, given.get(player, {})) for player in players])

    @classmethod
    @explained
    def from_json(cls, game: HasSequenceForm | SequenceForm, text: str) -> "Profile":
        """Read a profile from the JSON of :meth:`to_json`, or from another JSON format that :meth:`load` reads."""
        from .strategy_files import parse_json

        vectors = parse_json(text, game).vectors
        return cls([Strategy(game, player, vector) for player, vector in vectors.items()])

    @property
    def plans(self) -> tuple[Floats, ...]:
        """The realization plans, one per player."""
        return tuple(strategy.plan for strategy in self._strategies)

    @property
    def residual(self) -> float:
        """The distance of the plans from their polytopes: the largest of ``|E x − e|`` and −x."""
        return max(strategy.treeplex.residual(strategy.plan) for strategy in self._strategies)

    def __len__(self) -> int:
        return len(self._strategies)

    @overload
    def __getitem__(self, player: SupportsIndex) -> Strategy: ...

    @overload
    def __getitem__(self, player: slice) -> tuple[Strategy, ...]: ...

    def __getitem__(self, player: Any) -> Any:
        try:
            return self._strategies[player]
        except IndexError:
            raise IndexError(f"player is {shown(player)}, expected a number from 0 to {len(self) - 1}") from None
        except TypeError:
            from .names import not_a_player

            raise not_a_player(player, [each.treeplex.infoset_numbers for each in self]) from None

    def __iter__(self) -> Iterator[Strategy]:
        return iter(self._strategies)

    def __repr__(self) -> str:
        name = self._strategies[0].game_name
        return f"Profile({f'game={name!r}, ' if name else ''}num_players={len(self)})"

    def to_dict(self) -> dict[int, dict[Hashable, dict[Hashable, float]]]:
        """Return ``{player: {infoset: {action: probability}}}``."""
        return {strategy.player: strategy.to_dict() for strategy in self}

    def to_json(self) -> str:
        """Return the profile as JSON, as :meth:`save` writes it to a ``.json`` file.

        Examples
        --------
        >>> from treeplex import Profile, load_game
        >>> print(Profile.uniform(load_game("matching_pennies")).to_json(), end="")
        {"format": "treeplex strategies", "version": 1, "game": "matching_pennies", "fingerprint": "...",
         "strategies": {
          "0": {
           "_": {"H": 0.5, "T": 0.5}
          },
          "1": {
           "_": {"H": 0.5, "T": 0.5}
          }
         }}
        """
        from .strategy_files import format_json

        first = self[0]
        return format_json(first.game_name, first.sequence_form, _behaviours(self))

    def to_frame(self) -> "pd.DataFrame":
        """Return the profile as a DataFrame: the rows of :meth:`Strategy.to_frame` with a column for the player.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        from .strategy_tables import joint_frame

        return joint_frame({strategy.player: strategy.to_frame() for strategy in self})

    def figure(
        self,
        infosets: Collection[Hashable] | None = None,
        *,
        against: "Profile | None" = None,
        most: int = DRAWN,
    ) -> "Figure":
        """Draw the strategies side by side; see :meth:`Strategy.figure`."""
        return self._drawn(self._strategies, infosets, dict(enumerate(against or ())), most)

    def save(self, path: str | Path) -> None:
        """Write the profile to one file; see :meth:`Strategy.save`."""
        _save(path, self._strategies)

    @classmethod
    @explained
    def load(cls, path: str | Path, game: HasSequenceForm | SequenceForm, *, normalise: bool = False) -> "Profile":
        """Read a profile that :meth:`save` or another program wrote; see :meth:`Strategy.load`."""
        found = load_strategies(path, game, normalise)[0]
        missing = [player for player in range(sequence_form_of(game).num_players) if player not in found]
        if missing:
            raise InvalidStrategyError(
                f"{one_line(str(path))} is not a complete profile: it contains no strategy of player {missing[0]}"
            )
        return cls([found[player] for player in sorted(found)])


def check_strategy(value: Any, name: str, expected: str = "a Strategy") -> Strategy:
    """Return a value that must be a Strategy; the message of the error says how to write one.

    Raises
    ------
    InvalidStrategyError

    Examples
    --------
    >>> from treeplex.seqform.strategy import check_strategy
    >>> check_strategy("uniform", "opponent")
    Traceback (most recent call last):
    ...
    treeplex.seqform.errors.InvalidStrategyError: opponent is 'uniform', expected a Strategy: write
    treeplex.solvers.opponent_strategy('uniform', game, PLAYER)
    """
    if not isinstance(value, Strategy):
        from .names import how_to_write

        expected += how_to_write(value)
    return check_type(value, name, InvalidStrategyError, Strategy, expected)


def checked_player(game: HasSequenceForm | SequenceForm, player: int) -> int:
    """Return a player's number as an ``int``; it must exist in the game.

    Raises
    ------
    InvalidStrategyError
    """
    return check_player(player, sequence_form_of(game).num_players, InvalidStrategyError)


def check_same_game(strategy: Strategy, game: HasSequenceForm | SequenceForm) -> None:
    """Raise an error if a strategy does not belong to the given game.

    Raises
    ------
    InvalidStrategyError
    """
    form = sequence_form_of(game)
    check_strategy(strategy, "strategy")
    if strategy.sequence_form is not form and strategy.fingerprint != form.fingerprint:
        named = f" ({strategy.game_name})" if strategy.game_name else ""
        raise InvalidStrategyError(
            f"the strategy of player {strategy.player} belongs to another game{named}: its fingerprint is "
            f"{strategy.fingerprint}, expected {form.fingerprint}"
        )


def _finite_vector(treeplex: Treeplex, values: npt.ArrayLike, what: str) -> Floats:
    vector = treeplex.checked_vector(values, what)
    if not np.isfinite(vector).all():
        raise InvalidStrategyError(f"the {what} contains a number that is not finite")
    return vector


def _checked_behaviour(treeplex: Treeplex, behaviour: npt.ArrayLike) -> Floats:
    vector = _finite_vector(treeplex, behaviour, "behaviour strategy")
    vector[0] = 1.0
    if not treeplex.num_infosets:
        return vector
    totals = np.add.reduceat(vector, treeplex.offsets[:-1])
    wrong = (np.abs(totals - 1.0) > PLAN_TOLERANCE) | (
        np.minimum.reduceat(vector, treeplex.offsets[:-1]) < -PLAN_TOLERANCE
    )
    if wrong.any():
        infoset = int(np.argmax(wrong))
        first, last = treeplex.offsets[infoset : infoset + 2]
        label, received = treeplex.infoset_labels[infoset], vector[first:last].tolist()
        raise InvalidStrategyError(
            f"infoset {shown(label)} has probabilities {shown(received)}, expected non-negative numbers that sum to 1"
        )
    np.maximum(vector, 0.0, out=vector)
    totals = np.add.reduceat(vector, treeplex.offsets[:-1])
    totals[np.abs(totals - 1.0) < 1e-14] = 1.0  # already normalised: saving and loading must not change it
    vector[1:] /= np.repeat(totals, treeplex.num_actions)
    return vector


def _behaviours(strategies: Iterable[Strategy]) -> dict[int, Floats]:
    return {strategy.player: strategy.behaviour for strategy in strategies}


def _save(path: str | Path, strategies: Sequence[Strategy]) -> None:
    from .strategy_files import write_strategies

    first = strategies[0]
    write_strategies(path, first.game_name, first.sequence_form, _behaviours(strategies))


def load_strategies(
    path: str | Path, game: HasSequenceForm | SequenceForm, normalise: bool = False
) -> "tuple[dict[int, Strategy], Behaviours]":
    """Return the strategies of a file by player, and the behaviours it contains; see :meth:`Strategy.load`.

    Raises
    ------
    InvalidStrategyError
        If the file cannot be read, or its probabilities are not distributions; the message names file, player and
        infoset.
    """
    from .strategy_files import read_strategies

    read, found = read_strategies(path, game, normalise=normalise), {}
    for player, vector in read.vectors.items():
        try:
            found[player] = Strategy(game, player, vector)
        except InvalidStrategyError as error:
            hint = "" if normalise else "; if they are rounded, normalise=True (--normalise) divides them by their sum"
            raise InvalidStrategyError(f"{one_line(str(path))}: player {player}: {error}{hint}") from None
    return found, read
