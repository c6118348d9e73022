"""OpenSpiel's games as rules: a walk visits OpenSpiel's states one at a time and copies no data from them.

The module checks names and parameters before OpenSpiel reads them, and shortens OpenSpiel's errors to one line.
"""

import contextlib
import math
import os
import re
import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NoReturn

from ..errors import InvalidGameError, UnknownGameError, nearest, needing, one_line, shown
from ..game import Game
from ..grammar import Grammar
from ..number_texts import read_float
from ..rules import CHANCE, TERMINAL, Number
from ..standard_error import StandardError

__doctest_requires__ = ("pyspiel",)

#: The prefix of the name of a game that OpenSpiel loads.
PREFIX = "openspiel:"
_CITATION = "M. Lanctot et al. (2019), OpenSpiel: A Framework for Reinforcement Learning in Games, arXiv:1908.09453"
#: How far the sum of OpenSpiel's probabilities may differ from one because of rounding: some are single floats.
_ROUNDING = 1e-6
#: The largest denominator of a probability that is read as a fraction; the fraction must equal the float exactly.
_LARGEST_DENOMINATOR = 1_000_000
# The moves at a decision node: OpenSpiel's numbers, our labels, and the numbers by label.
_Moves = tuple[list[int], tuple[Hashable, ...], dict[Hashable, int]]


class OpenSpielRules:
    """The rules of an OpenSpiel game.

    The states are OpenSpiel's own. A simultaneous game becomes turn-based: the players move one after the other and do
    not see what the others choose in the same turn.

    Parameters
    ----------
    game : pyspiel.Game
        A game with perfect information or information state strings. Probabilities of chance events must be known.

    Attributes
    ----------
    game : pyspiel.Game
        The game whose states are visited: the given game, or its turn-based form.

    Raises
    ------
    InvalidGameError
        If it is not an OpenSpiel game, or of an unsupported kind: a mean-field game, a game that samples its chance
        events, or a game of imperfect information without information state strings.
    MissingExtraError
        If OpenSpiel is not installed.

    Notes
    -----
    *Infosets* are labelled by the information state string. In a game of perfect information without such strings, the
    label is the history, which the players know.

    *Actions* have the labels that OpenSpiel prints in the first visited history of the infoset, or their numbers if two
    labels are equal.

    *Payoffs* are the sums of all rewards along the history. *Probabilities* are floats in OpenSpiel. They are read as
    fractions if every probability of a chance node is the nearest float to a fraction with a denominator of at most a
    million, and these fractions sum to one.

    Examples
    --------
    >>> import pyspiel
    >>> rules = OpenSpielRules(pyspiel.load_game("kuhn_poker"))
    >>> rules.chance_outcomes(rules.initial_state())[0]
    ('Deal:0', Fraction(1, 3))
    """

    def __init__(self, game: Any) -> None:
        pyspiel = import_pyspiel()
        if not isinstance(game, pyspiel.Game):
            raise InvalidGameError(f"{shown(game)} is not an OpenSpiel game, expected a pyspiel.Game")
        name = f"OpenSpiel's {one_line(_text_of(game))}"
        kind = game.get_type()
        if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
            raise InvalidGameError(f"{name} is a mean-field game: expected a game with finitely many players")
        if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
            raise InvalidGameError(
                f"{name} samples its chance events without giving their probabilities: expected the chance mode "
                "'deterministic' or 'explicit stochastic'"
            )
        with refusals(name):
            if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
                game = pyspiel.convert_to_turn_based(game)
            root = game.new_initial_state()
        simultaneous = isinstance(root, pyspiel.TurnBasedSimultaneousState)
        if simultaneous:  # the turn-based form always declares imperfect information
            kind = root.simultaneous_game_state().get_game().get_type()
        if kind.provides_information_state_string:
            self._label_of = pyspiel.State.information_state_string
        elif kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION:
            raise InvalidGameError(
                f"{name} has imperfect information but no information state strings: what its players remember is "
                "unknown (an observation is not enough, because it omits the past)"
            )
        else:
            self._label_of = pyspiel.State.history_str
            if simultaneous:
                self._label_of = lambda state: state.simultaneous_game_state().history_str()
        self.game = game
        #: Number of players, not counting chance.
        self.num_players = int(game.num_players())
        self._terminal = int(pyspiel.PlayerId.TERMINAL)
        self._moves: list[dict[str, _Moves]] = [{} for _ in range(self.num_players)]
        self._alike: dict[tuple[tuple[int, ...], tuple[Hashable, ...]], _Moves] = {}
        # The last inner node visited: state, infoset, actions or outcomes, numbers by label. A walk requests these and
        # all children of a node in turn.
        self._node: tuple[Any, str, Any, dict[Hashable, int]] = (None, "", (), {})

    def __getstate__(self) -> dict[str, Any]:
        return {"game": self.game}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["game"])  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"OpenSpielRules({_text_of(self.game)!r})"

    def initial_state(self) -> Any:
        """Return the state at the root."""
        return self.game.new_initial_state()

    def player(self, state: Any) -> int:
        """Return who moves: a player (0, 1, …), ``CHANCE``, or ``TERMINAL`` at a leaf."""
        who: int = state.current_player()
        if who.__class__ is not int:
            who = int(who)  # games written in Python return an enumeration
        if who >= CHANCE:  # chance has the same number in OpenSpiel
            return who
        if who != self._terminal:
            self._refuse(state, RuntimeError(f"player {who} moves, expected one player or chance"))
        return TERMINAL

    def actions(self, state: Any) -> tuple[Hashable, ...]:
        """Return the labels of the moving player's actions, in the order of OpenSpiel's legal actions."""
        actions: tuple[Hashable, ...] = self._at(state)[2]
        return actions

    def chance_outcomes(self, state: Any) -> list[tuple[Hashable, Number]]:
        """Return chance's outcomes with their probabilities."""
        outcomes: list[tuple[Hashable, Number]] = self._at(state)[2]
        return outcomes

    def child(self, state: Any, action: Hashable) -> Any:
        """Return the state after an action or a chance outcome."""
        number = self._at(state)[3][action]
        try:
            return state.child(number)
        except RuntimeError as error:  # the type of all of OpenSpiel's errors
            self._refuse(state, error)

    def infoset(self, state: Any) -> str:
        """Return the information state string of the moving player."""
        return self._at(state)[1]

    def legal_numbers(self, player: int, infoset: Hashable) -> Sequence[int] | None:
        """Return OpenSpiel's numbers of the actions at an infoset; ``None`` if no walk has visited it yet."""
        moves = self._moves[player].get(str(infoset))
        return None if moves is None else moves[0]

    def payoffs(self, state: Any) -> Sequence[float]:
        """Return each player's sum of rewards."""
        try:
            return tuple(state.returns())
        except RuntimeError as error:
            self._refuse(state, error)

    def _at(self, state: Any) -> tuple[Any, str, Any, dict[Hashable, int]]:
        if self._node[0] is not state:
            try:
                self._node = self._seen(state)
            except RuntimeError as error:
                self._refuse(state, error)
        return self._node

    def _seen(self, state: Any) -> tuple[Any, str, Any, dict[Hashable, int]]:
        who = int(state.current_player())
        if who == CHANCE:
            given = state.chance_outcomes()
            numbers = [number for number, _ in given]
            labels = _labels(state, who, numbers)
            outcomes = list(zip(labels, _as_written(tuple(p for _, p in given)), strict=True))
            return state, "", outcomes, dict(zip(labels, numbers, strict=True))
        label: str = self._label_of(state)
        numbers = state.legal_actions()
        known = self._moves[who]
        moves = known.get(label)
        if moves is None or moves[0] != numbers:  # the walk rejects actions that differ within an infoset
            labels = _labels(state, who, numbers)
            alike = (tuple(numbers), labels)
            moves = self._alike.get(alike)
            if moves is None:
                moves = self._alike[alike] = (numbers, labels, dict(zip(labels, numbers, strict=True)))
            known.setdefault(label, moves)
        return state, label, moves[1], moves[2]

    def _refuse(self, state: Any, error: RuntimeError) -> NoReturn:
        raise InvalidGameError(
            f"OpenSpiel's {one_line(_text_of(self.game))} fails at history {one_line(state.history_str())}: "
            f"{reason(error)}"
        ) from error


def openspiel_game(text: str) -> Game:
    """Load a game by its OpenSpiel name.

    Parameters
    ----------
    text : str
        In the form of ``pyspiel.load_game``, ``kuhn_poker(players=3)``, or as ``kuhn_poker:players=3``. A simultaneous
        game becomes turn-based.

    Returns
    -------
    Game
        A game with :class:`OpenSpielRules`.

    Raises
    ------
    UnknownGameError
        If OpenSpiel has no such game, or the game has no such parameter.
    InvalidGameError
        If the string cannot be parsed, OpenSpiel rejects a value, or the game is of an unsupported kind.
    MissingExtraError
        If OpenSpiel is not installed.

    Examples
    --------
    >>> from treeplex import load_game
    >>> load_game("openspiel:kuhn_poker(players=3)").sequence_form
    SequenceForm(sequences=[33, 33, 33], infosets=[16, 16, 16])
    """
    pyspiel = import_pyspiel()
    values = _parsed(text)
    with refusals(f"OpenSpiel's {one_line(_written(values))}"):
        game = pyspiel.load_game(values.pop("name"), values)
    return game_from_openspiel(game)


def game_from_openspiel(game: Any) -> Game:
    """Make a game from a game object of OpenSpiel.

    Parameters
    ----------
    game : pyspiel.Game
        A simultaneous game becomes turn-based.

    Returns
    -------
    Game
        A game with :class:`OpenSpielRules`.

    Raises
    ------
    InvalidGameError
        If it is not an OpenSpiel game, or of an unsupported kind; see :class:`OpenSpielRules`.
    MissingExtraError
        If OpenSpiel is not installed.

    Examples
    --------
    >>> import pyspiel
    >>> game_from_openspiel(pyspiel.load_game("matrix_rps")).sequence_form.treeplexes[1].action_labels
    (('Rock', 'Paper', 'Scissors'),)
    """
    rules = OpenSpielRules(game)
    return Game(
        PREFIX + game.get_type().short_name,
        game.get_parameters(),
        spec=PREFIX + _text_of(game),
        rules=rules,
        citation=_CITATION,
    )


def _text_of(game: Any) -> str:
    """Return the string that loads a game again: its name, and the parameters that are not the defaults."""
    kind = game.get_type()
    defaults = kind.parameter_specification
    given = {key: value for key, value in game.get_parameters().items() if value != defaults.get(key)}
    return _written({"name": kind.short_name, **given}).removesuffix("()")


def _written(values: Mapping[str, Any]) -> str:
    """Return the name of a game and its parameters as a string that :func:`_parsed` reads."""
    parameters = (f"{key}={_value_text(value)}" for key, value in values.items() if key != "name")
    return f"{values['name']}({','.join(parameters)})"


def _value_text(value: Any) -> str:
    if isinstance(value, dict):
        return _written(value)
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return f"({text})" if isinstance(value, str) and re.search(r"[,()]|^\s|\s$|^$", text) else text


def _labels(state: Any, who: int, numbers: Sequence[int]) -> tuple[Hashable, ...]:
    labels = tuple(state.action_to_string(who, number) for number in numbers)
    return labels if len(set(labels)) == len(labels) else tuple(numbers)


@lru_cache(maxsize=1024)
def _as_written(probabilities: tuple[float, ...]) -> tuple[Number, ...]:
    """Return probabilities as fractions that round to the same floats, if such fractions exist and sum to one."""
    total = sum(probabilities)
    if not all(0.0 <= p <= 1.0 for p in probabilities) or abs(total - 1.0) > _ROUNDING:
        return probabilities  # the walk rejects these
    fractions = tuple(Fraction(p).limit_denominator(_LARGEST_DENOMINATOR) for p in probabilities)
    if sum(fractions) == 1 and tuple(map(float, fractions)) == probabilities:
        return fractions
    return probabilities if abs(total - 1.0) <= 1e-12 else tuple(p / total for p in probabilities)


# Games within games, such as misere(game=kuhn_poker()): the largest depth. OpenSpiel parses them by recursion.
_DEEPEST = 10
# Parameters that are numbers of players.
_PLAYERS = ("players", "num_players", "numPlayers")

_GRAMMAR = Grammar("game", UnknownGameError, InvalidGameError, prefix="OpenSpiel: ")

# Games that read any file they are given, and quote it if it is not a game.
_FILE_GAMES = ("efg_game", "nfg_game")


def import_pyspiel() -> Any:
    """Return the module ``pyspiel``.

    Raises
    ------
    MissingExtraError
        If OpenSpiel is not installed.
    """
    with needing("OpenSpiel is not installed", "openspiel"):
        import pyspiel
    return pyspiel


def _parsed(text: str) -> dict[str, Any]:
    """Return a game's ``name`` and its parameters, each of the type that the game declares.

    The forms ``kuhn_poker``, ``kuhn_poker(players=3)`` and ``kuhn_poker:players=3`` are accepted; spaces around names
    and values do not matter. OpenSpiel itself would print an error, and some of its games crash the process if a number
    is out of range. ``pyspiel.load_game`` guesses types from the string, and rejects a string of digits, or a whole
    number for a decimal parameter.

    Raises
    ------
    UnknownGameError
        If there is no such game, or the game has no such parameter.
    InvalidGameError
        If the string cannot be parsed, or a number is out of range.
    MissingExtraError
        If OpenSpiel is not installed.
    """
    pyspiel = import_pyspiel()
    if not isinstance(text, str):
        raise UnknownGameError(
            f"{shown(text)} is not the name of an OpenSpiel game; expected a string such as 'kuhn_poker'"
        )
    text = text.strip()
    name, colon, parameters = text.partition(":")
    if colon and "(" not in name:
        text = f"{name}({parameters})"
    if text.startswith("python_"):
        _register_python_games()
    return _checked(text, {kind.short_name: kind for kind in pyspiel.registered_games()})


def _register_python_games() -> None:
    # Some of OpenSpiel's games are written in Python and are registered when they are imported. If one of their own
    # dependencies is missing, their names are unknown.
    with contextlib.suppress(ImportError):
        import open_spiel.python.games  # noqa: F401


def _checked(text: str, kinds: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    name, bracket, inside = (part.strip() for part in text.partition("("))
    if bracket and not inside.endswith(")"):
        raise InvalidGameError(f"OpenSpiel: {shown(text, 60)} has no closing bracket; expected name(key=value,...)")
    if name not in kinds:
        raise UnknownGameError(
            f"OpenSpiel: unknown game {shown(name, 60)}{nearest(name, kinds)}; pyspiel.registered_names() lists them"
        )
    if name in _FILE_GAMES:
        raise InvalidGameError(f"OpenSpiel: {name} reads a file; pass the .efg or .nfg file itself to load_game")
    if depth > _DEEPEST:
        raise InvalidGameError(f"OpenSpiel: {shown(text, 60)} is nested in {depth} games; expected at most {_DEEPEST}")
    defaults = kinds[name].parameter_specification
    values: dict[str, Any] = {"name": name}
    inside = inside[:-1].strip()
    for item in _GRAMMAR.items(name, inside, ",") if inside else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals):
            raise InvalidGameError(f"OpenSpiel: {shown(item, 60)} is not a parameter of {name}; expected key=value")
        if key not in defaults:
            expected = f"expected one of {', '.join(sorted(defaults))}" if defaults else "it takes no parameters"
            raise UnknownGameError(
                f"OpenSpiel: {name} has no parameter {shown(key, 60)}{nearest(key, defaults)}; {expected}"
            )
        if key in values:
            raise InvalidGameError(f"OpenSpiel: {key} of {name} is given twice; expected once")
        kind = type(defaults[key])
        values[key] = _checked(value, kinds, depth + 1) if kind is dict else _typed(kinds[name], key, value)
    return values


def _typed(kind: Any, key: str, value: str) -> bool | int | float | str:
    """Return the value of a parameter with the type that the game declares."""
    default = kind.parameter_specification[key]
    if isinstance(default, bool):
        if value.lower() not in ("true", "false"):
            raise _wrong_value(kind, key, value, "true or false")
        return value.lower() == "true"
    if isinstance(default, int):
        return _whole(kind, key, value)
    if isinstance(default, float):
        try:
            number = read_float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise _wrong_value(kind, key, value, "a finite number")
        return number
    return value[1:-1] if value.startswith("(") and value.endswith(")") else value  # needed for values with commas


def _wrong_value(kind: Any, key: str, value: str, expected: str) -> InvalidGameError:
    return InvalidGameError(f"OpenSpiel: {kind.short_name}: {key} = {one_line(value, 40)}; expected {expected}")


def _whole(kind: Any, key: str, value: str) -> int:
    default = kind.parameter_specification[key]
    low, high = min(0, default), 2**31 - 1
    if key in _PLAYERS:
        low, high = kind.min_num_players, kind.max_num_players
    digits = value.lstrip("+-0")  # int() rejects thousands of digits
    sound = re.fullmatch(r"[+-]?\d+", value, re.ASCII) is not None and len(digits) <= 10
    if not sound or not low <= int(value) <= high:
        raise _wrong_value(kind, key, value, f"an integer from {low} to {high}")
    return int(value)


@contextlib.contextmanager
def refusals(name: str) -> Iterator[None]:
    """Turn OpenSpiel's errors into an :class:`InvalidGameError` with a one-line message, and hide what it prints."""
    try:
        with silent_stderr():
            yield
    except Exception as error:  # games written in Python may raise any error
        raise InvalidGameError(f"{name} cannot be loaded: {reason(error)}") from None


def reason(error: Exception) -> str:
    """Return an error's message on one line, without the position in OpenSpiel's C++ code."""
    text = re.sub(r"^\S+\.(cc|h):\d+ ", "", str(error).strip()) or type(error).__name__
    return one_line("; ".join(text.splitlines()), 200)


_stderr_lock = threading.Lock()


@contextlib.contextmanager
def silent_stderr() -> Iterator[None]:
    """Redirect the process's standard error in the block: OpenSpiel prints errors there before it raises them."""
    with _stderr_lock, contextlib.ExitStack() as stack:
        StandardError().flush()
        try:
            kept = os.dup(2)
        except OSError:  # there is no standard error
            yield
            return
        stack.callback(os.close, kept)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, nowhere)
        os.dup2(nowhere, 2)
        stack.callback(os.dup2, kept, 2)
        yield
