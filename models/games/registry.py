"""Families of games by name, the reader of ``name:key=value,key=value``, and names of cards for rules."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from ...seqform.checks import check_attribute
from ...seqform.errors import InvalidGameError, UnknownGameError, shown
from ...seqform.extensions import summary_of
from ...seqform.grammar import Grammar
from ...seqform.parameters import Parameter, parameters_of
from ...seqform.registry import Registry
from ...seqform.rules import check_members

if TYPE_CHECKING:
    from ...seqform.game import Game


@dataclasses.dataclass(frozen=True)
class Reference:
    """A known value of a game and its source.

    Parameters
    ----------
    value : Fraction or float
        Player 0's payoff in equilibrium; a ``Fraction`` if it is exact. ``None`` in a general-sum game.
    source : str
        The source of the value, and its precision.
    """

    value: Fraction | float | None
    source: str


def known_value(value: Fraction, source: str) -> Callable[[Any], Reference]:
    """Return the reference of a family whose games all have the same value."""
    return lambda rules: Reference(value, source)


def _unknown(rules: Any) -> None:
    """Return ``None``: the reference of a family whose values are not known."""


@dataclasses.dataclass(frozen=True)
class Family:
    """A family of games under one name.

    Parameters
    ----------
    rules : type
        The frozen dataclass of the rules. Its fields declared with :class:`~.parameters.About` are the parameters, and
        its class attribute ``name`` is the name of the family.
    summary : str
        The game in a few words; by default the first line of the docstring of the rules.
    citation : str
        The source of the game.
    reference : callable
        Takes rules and returns the :class:`Reference` of that game, or ``None`` if the value is not known; by default
        always ``None``.
    """

    rules: Any
    summary: str = ""
    citation: str = ""
    reference: Callable[[Any], Reference | None] = _unknown

    def __post_init__(self) -> None:
        object.__setattr__(self, "summary", self.summary or summary_of(self.rules))

    @property
    def name(self) -> str:
        """The name in ``name:key=value``."""
        return str(self.rules.name)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order in which they are listed."""
        return parameters_of(self.rules)

    def values(self, rules: Any) -> dict[str, Any]:
        """Return all parameters of the given rules by name, including defaults."""
        return {each.name: getattr(rules, each.name) for each in self.parameters}

    def spec(self, rules: Any) -> str:
        """Return the shortest string that :func:`~.registry.load_game` reads as the given rules.

        Examples
        --------
        >>> from treeplex.models.games.leduc import FAMILY, Leduc
        >>> FAMILY.spec(Leduc(ranks=6, suits=2, merge_suits=True))
        'leduc:ranks=6,merge_suits=true'
        """
        values = self.values(rules)
        # A default may depend on other parameters, so try to leave out each one instead of comparing with a default.
        for name in list(values):
            others = {key: value for key, value in values.items() if key != name}
            try:
                needed = self.rules(**others) != rules
            except InvalidGameError:
                needed = True
            if not needed:
                values = others
        given = (f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in values.items())
        return ":".join(filter(None, (self.name, ",".join(given))))

    def game(self, values: Mapping[str, Any]) -> "Game":
        """Return the game with the given parameters and defaults for the others.

        Raises
        ------
        InvalidGameError
            If a value is not allowed for its parameter, or values contradict each other.
        """
        from ...seqform.game import Game

        rules = self.rules(**values)
        known = self.reference(rules)
        return Game(
            name=self.name,
            parameters=self.values(rules),
            spec=self.spec(rules) if values else self.name,
            **self.parts(rules),
            reference_value=None if known is None else known.value,
            reference_source="" if known is None else known.source,
            citation=self.citation,
        )

    def parts(self, rules: Any) -> dict[str, Any]:
        """Return the main arguments of :class:`~treeplex.Game`: the rules, unless a family overrides this."""
        return {"rules": rules}


Registered = TypeVar("Registered", bound=Family | type[Any])


def _accept(game: Any) -> tuple[str, Family, type[Any]]:
    """Return the name of a family, the family, and the class of its rules."""
    family = game if isinstance(game, Family) else Family(game)
    rules = family.rules
    if not isinstance(rules, type) or "__dataclass_fields__" not in vars(rules):
        raise InvalidGameError(f"expected a Family, or a frozen dataclass of rules, got {shown(game)}")
    check_attribute(rules, "name", str, "the name of the game on the command line, such as 'my_game'", InvalidGameError)
    if type(family).parts is Family.parts:  # otherwise the game is not made from the rules alone
        check_members(rules, rules.__name__, vars(rules)["__dataclass_fields__"])
    _ = family.parameters  # raises an error now if a declaration is invalid
    return family.name, family, rules


_GRAMMAR = Grammar("game", UnknownGameError, InvalidGameError)
#: The library's own games, in the order in which they are listed.
_OWN = {
    "kuhn": "kuhn:FAMILY",
    "leduc": "leduc:FAMILY",
    "liars_dice": "liars_dice:FAMILY",
    "goofspiel": "goofspiel:FAMILY",
    "matching_pennies": "matrix_games:MATCHING_PENNIES",
    "rps": "matrix_games:ROCK_PAPER_SCISSORS",
    "repeated_rps": "matrix_games:REPEATED_ROCK_PAPER_SCISSORS",
    "textbook": "textbook:FAMILY",
    "transit": "transit_family:FAMILY",
    "depth_limited_figure_2": "small_trees:FIGURE_2",
    "coin": "small_trees:COIN",
    "depth_limited_figure_10": "small_trees:FIGURE_10",
    "gadget_trap_1": "small_trees:GADGET_TRAP_1",
    "gadget_trap_2": "small_trees:GADGET_TRAP_2",
    "signalling": "mediated_games:SIGNALLING",
    "sheriff": "mediated_games:SHERIFF",
    "battleship": "mediated_games:BATTLESHIP",
    "preflop": "holdem.preflop:FAMILY",
    "three_handed": "holdem.three_handed:FAMILY",
}
#: Every family of games under its name.
GAMES: Registry[Family] = Registry(_GRAMMAR, "treeplex.games", _accept, _OWN, __package__)


def register_game(game: Registered) -> Registered:
    """Register a family of games, so that :func:`load_game` and every command find it by name.

    Installed packages register their games by entry points of the group ``treeplex.games`` instead, which work in every
    process; see :doc:`/reference/extensions`.

    Parameters
    ----------
    game : Family or type
        A family, or the frozen dataclass of its rules with a class attribute ``name``; its docstring then begins with
        the summary.

    Returns
    -------
    Family or type
        The argument, so that this function can be used as a class decorator.

    Raises
    ------
    InvalidGameError
        If a member of :class:`~treeplex.Rules` is missing, or another game has the name.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> from treeplex import TERMINAL, load_game, register_game
    >>> from treeplex.seqform.parameters import About
    >>> @register_game
    ... @dataclass(frozen=True)
    ... class Guess:
    ...     "One guesses what the other hides."
    ...
    ...     places: Annotated[int, About("number of places to hide", minimum=2)] = 2
    ...     name = "guess"
    ...     num_players = 2
    ...
    ...     def initial_state(self):
    ...         return ()
    ...
    ...     def player(self, state):
    ...         return TERMINAL if len(state) == 2 else len(state)
    ...
    ...     def actions(self, state):
    ...         return range(self.places)
    ...
    ...     def child(self, state, action):
    ...         return (*state, action)
    ...
    ...     def infoset(self, state):
    ...         return "hide" if not state else "seek"
    ...
    ...     def payoffs(self, state):
    ...         return (-1, 1) if state[0] == state[1] else (0, 0)
    >>> load_game("guess:places=3").sequence_form
    SequenceForm(sequences=[4, 4], infosets=[1, 1])

    To remove it again:

    >>> from treeplex.models.games import GAMES
    >>> GAMES.remove("guess")
    """
    GAMES.register(game)
    return game


def families() -> tuple[Family, ...]:
    """Return all families of games, in the order in which they are listed.

    Examples
    --------
    >>> from treeplex import families
    >>> [family.name for family in families()][:4]
    ['kuhn', 'leduc', 'liars_dice', 'goofspiel']
    """
    return tuple(GAMES.values())


def load_game(spec: "str | os.PathLike[str]", **parameters: Any) -> "Game":
    """Load a game by name and parameters, from a file, or from OpenSpiel.

    Parameters
    ----------
    spec : str or path-like
        One of three forms. ``name`` or ``name:key=value,key=value``, where values are integers, decimals, fractions
        (``1/3``), ``true``, ``false`` or one of a parameter's choices. The name of a file that ends with ``.efg``,
        ``.nfg``, ``.graphml``, ``.json``, ``.npz`` or ``.csv``, or with ``.toml`` for a hold'em spot, a patrol or two
        matrices. Or ``openspiel:`` followed by
        OpenSpiel's name of a game.
    **parameters
        Parameters by keyword, for games by name only; they take precedence over those in `spec`.

    Returns
    -------
    Game

    Raises
    ------
    UnknownGameError
        If there is no such game, `spec` is not a string, or the game has no such parameter.
    InvalidGameError
        If `spec` cannot be read, or a value is not allowed for its parameter.
    GameFileError
        If the file does not exist or cannot be read.
    MissingExtraError
        If OpenSpiel is needed but not installed.

    Examples
    --------
    >>> load_game("leduc:ranks=6,suits=2", merge_suits=True).parameters["ranks"]
    6
    """
    if isinstance(spec, os.PathLike):
        spec = os.fspath(spec)
    if not isinstance(spec, str):
        raise UnknownGameError(f"expected a game's name, such as 'leduc:ranks=6', got {shown(spec)}")
    name, text = _GRAMMAR.split(spec) if ":" in spec else (spec.strip(), None)
    if name not in GAMES or "." in spec:  # perhaps a file, whose name may begin with the name of a game
        from .files import game_from_elsewhere, unknown_game

        found = game_from_elsewhere(spec, parameters, family=name in GAMES)
        if found is not None:
            return found
        if name not in GAMES:
            raise unknown_game(name, GAMES, _GRAMMAR)
    family = GAMES[name]
    is_said = text is not None or any(each.required for each in family.parameters)
    values = _GRAMMAR.read(name, text, family.parameters) if is_said else {}
    for key in parameters:
        _GRAMMAR.check_key(name, key, family.parameters)
    return family.game(values | parameters)


# Names of cards

_RANKS = "23456789TJQK"
_SUITS = "shdc"
#: The number of named suits.
MAX_NAMED_SUITS = len(_SUITS)


def rank_names(number: int) -> tuple[str, ...]:
    """Return names for a number of ranks, lowest first.

    Up to twelve ranks end with the king (three are J, Q, K). Thirteen ranks are 2 to A. More ranks are numbers.

    Examples
    --------
    >>> rank_names(4)
    ('T', 'J', 'Q', 'K')
    """
    if number <= len(_RANKS):
        return tuple(_RANKS[len(_RANKS) - number :])
    if number == len(_RANKS) + 1:
        return tuple(_RANKS + "A")
    return tuple(str(rank) for rank in range(1, number + 1))


def suit_names(number: int) -> tuple[str, ...]:
    """Return names for at most :data:`MAX_NAMED_SUITS` suits: spades, hearts, diamonds, clubs."""
    return tuple(_SUITS[:number])
