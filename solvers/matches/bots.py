"""Bots for matches, specified by strings such as ``call`` and ``json:command=…``."""

import importlib
import importlib.util
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ...models.games.holdem.values import SAMPLES
from ...models.matches.acpc import AcpcBot
from ...models.matches.json_lines import JsonBot
from ...models.matches.programs import Program
from ...models.matches.simple import CallBot, FoldBot, RaiseBot, RandomBot
from ...models.matches.table import Bot, HandResult, Table, View
from ...models.opponents.defence import DefendingBot
from ...models.opponents.portfolio import Portfolio, make_learner
from ...models.opponents.threshold import BOT_FILE, MOST_SAMPLES, ThresholdBot
from ...seqform.errors import InvalidGameError, InvalidStrategyError, nearest, one_line, one_of, shown
from ...seqform.extensions import accepting
from ...seqform.grammar import Grammar, usage, without_parentheses
from ...seqform.interchange.files import naming
from ...seqform.interchange.toml_table import Table as TOMLTable
from ...seqform.interchange.toml_table import read_toml
from ...seqform.parameters import About, parameters_of
from ...seqform.registry import Registry

_GRAMMAR = Grammar("bot", InvalidStrategyError, InvalidStrategyError, prefix="bot ")


class MatchBot(ABC):
    """A bot as declared by a string: a frozen dataclass of parameters, with a class attribute ``name``."""

    name: ClassVar[str]

    @property
    def remembers(self) -> bool:
        """Whether the bot's play in a hand may depend on earlier hands; true by default."""
        return True

    @abstractmethod
    def bot(self, table: Table) -> Bot:
        """Return the bot for a table; it must be picklable to play in other processes."""


def find_bot(text: str, table: Table) -> Bot:
    """Return the bot that a string names.

    Parameters
    ----------
    text : str
        One of :func:`bot_forms`, or a bot file (.toml) for :func:`declared_bot`.
    table : Table

    Returns
    -------
    Bot

    Raises
    ------
    InvalidStrategyError
        If the bot is unknown, or a parameter is invalid or missing.
    GameFileError, InvalidGameError
        If a bot file is invalid; the message names the file, the line and the key.

    Examples
    --------
    >>> from treeplex.models.matches import Table, match
    >>> from treeplex.solvers.matches.bots import find_bot
    >>> bots = [find_bot(text, Table()) for text in ("raise:pots=1/2", "call")]
    >>> match(bots, hands=100).hands
    100
    """
    return declared_bot(text).bot(table)


def declared_bot(text: str) -> MatchBot:
    r"""Return the bot that a string names, or that a bot file declares, before it sits at a table.

    A bot file is TOML: ``bot = NAME`` and the bot's parameters by name. For a threshold automaton, tables
    ``[[rounds]]`` with its numbers may replace the parameter ``file``; then ``bot`` may be omitted.

    Parameters
    ----------
    text : str
        As for :func:`find_bot`.

    Raises
    ------
    InvalidStrategyError, GameFileError, InvalidGameError
        As for :func:`find_bot`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from treeplex.solvers.matches.bots import declared_bot
    >>> _ = Path("half.toml").write_text('bot = "raise"\npots = 0.5\n')
    >>> declared_bot("half.toml") == declared_bot("raise:pots=1/2")
    True
    """
    text = without_parentheses(text)
    name, rest = _GRAMMAR.split(text)
    if name not in BOTS and Path(text).suffix.lower() == BOT_FILE:
        with naming(text):
            return _in_file(read_toml(text))
    kind = BOTS.find(name, forms=bot_forms(), known=BOTS, also=f", or a bot file ({BOT_FILE})")
    declared: MatchBot = kind(**_GRAMMAR.read(name, rest, parameters_of(kind)))
    return declared


def _in_file(top: TOMLTable) -> MatchBot:
    """Return the bot that a file declares."""
    if "rounds" in top:
        return _Rounds(ThresholdBot.from_table(top))
    name = top.needs("bot", "the name of a bot, such as bot = 'raise', or [[rounds]] of a threshold automaton")
    if not isinstance(name, str) or name not in BOTS:
        hint = nearest(name, BOTS) if isinstance(name, str) else ""
        raise top.error(f"bot is {shown(name, 60)}{hint}, expected {one_of(list(BOTS))}", "bot")
    kind = BOTS[name]
    parameters = parameters_of(kind)
    top.check_keys(("bot", *(each.name for each in parameters)))
    values = {}
    for each in parameters:
        if each.name in top:
            with top.about(each.name):
                values[each.name] = each.checked(f"bot {name}", top.values[each.name], InvalidGameError)
        elif each.required:
            raise top.error(f"{each.name} is missing, expected {each.about.description}", "bot")
    declared: MatchBot = kind(**values)
    return declared


def bot_forms() -> list[str]:
    """Return the form of the string that specifies each bot.

    Examples
    --------
    >>> from treeplex.solvers.matches.bots import bot_forms
    >>> bot_forms()[:4]
    ['call', 'fold', 'random', 'raise[:pots=P]']
    """
    return [usage(name, parameters_of(kind)) for name, kind in BOTS.items()]


class _Forgetful(MatchBot):
    """A bot that does not remember earlier hands."""

    remembers = False


@dataclass(frozen=True)
class _Call(_Forgetful):
    name: ClassVar[str] = "call"

    def bot(self, table: Table) -> Bot:
        return CallBot()


@dataclass(frozen=True)
class _Fold(_Forgetful):
    name: ClassVar[str] = "fold"

    def bot(self, table: Table) -> Bot:
        return FoldBot()


@dataclass(frozen=True)
class _Random(_Forgetful):
    name: ClassVar[str] = "random"

    def bot(self, table: Table) -> Bot:
        return RandomBot()


@dataclass(frozen=True)
class _Raise(_Forgetful):
    pots: Annotated[float, About("size of bets and raises, as a fraction of the pot", above=0, maximum=1000)] = 1.0

    name: ClassVar[str] = "raise"

    def bot(self, table: Table) -> Bot:
        return RaiseBot(self.pots)


#: Not an f-string in the annotation, which Sphinx cannot read.
_FILE_OR_SAMPLES = f"the file's, or {SAMPLES}"


@dataclass(frozen=True)
class _Threshold(_Forgetful):
    file: Annotated[str | None, About("file with its numbers", shown="made by hand", form="FILE")] = None
    samples: Annotated[
        int | None,
        About(
            "number of hands and boards to sample for a mean value",
            minimum=1,
            maximum=MOST_SAMPLES,
            large=True,
            shown=_FILE_OR_SAMPLES,
        ),
    ] = None

    name: ClassVar[str] = "threshold"

    def bot(self, table: Table) -> Bot:
        found = ThresholdBot() if self.file is None else ThresholdBot.from_file(self.file)
        return found if self.samples is None else replace(found, samples=self.samples)


@dataclass(frozen=True)
class _Rounds(_Forgetful):
    """A threshold automaton with the parameters from a bot file."""

    made: ThresholdBot

    name: ClassVar[str] = "threshold"

    def bot(self, table: Table) -> Bot:
        return self.made


@dataclass(frozen=True)
class _Python(MatchBot):
    module: Annotated[str, About("a module, or a file that ends with .py", form="MODULE")]
    object: Annotated[str, About("a bot in the module, or a callable that returns one", form="NAME", alias="name")]

    name: ClassVar[str] = "python"

    def bot(self, table: Table) -> Bot:
        bot = _ImportedBot(self.module, self.object)
        _ = bot.made  # raises an error here if there is none
        return bot


_Command = About("the program and its arguments", form="COMMAND")
_Seconds = About("time limit of an answer, in seconds", above=0, maximum=86_400)


@dataclass(frozen=True)
class _Json(MatchBot):
    command: Annotated[str, _Command]
    seconds: Annotated[float, _Seconds] = 10.0

    name: ClassVar[str] = "json"

    def bot(self, table: Table) -> Bot:
        return JsonBot(Program(self.command, self.seconds))


@dataclass(frozen=True)
class _Acpc(MatchBot):
    command: Annotated[str, _Command]
    over: Annotated[Literal["tcp", "stdio"], About("how the program communicates", form="tcp|stdio")] = "tcp"
    seconds: Annotated[float, _Seconds] = 10.0

    name: ClassVar[str] = "acpc"

    def bot(self, table: Table) -> Bot:
        return AcpcBot(Program(self.command, self.seconds, self.over == "tcp", "\r\n"))


#: The default trust of a resolving bot: it risks up to three times what it gains.
_TRUST = Fraction(3, 4)


@dataclass(frozen=True)
class _Resolving(MatchBot):
    time: Annotated[float, About("time limit of a decision's iterations, in seconds", above=0, maximum=86_400)] = 2.0
    streets: Annotated[int, About("number of betting rounds after the flop in its model", minimum=1, maximum=3)] = 2
    learns: Annotated[bool, About("whether it learns the opponent's play")] = True
    blueprint: Annotated[
        str | None,
        About("strategy files of a preflop game, which it plays before the flop", shown="its own", form="FILE[+FILE]"),
    ] = None
    opponent: Annotated[
        str | None, About("file with hand histories of the opponent", shown="nobody's", form="FILE")
    ] = None
    player: Annotated[str | None, About("the opponent's name in that file", shown="none", form="NAME")] = None
    p: Annotated[
        Fraction | None,
        About(
            "how much the opponent's habits, or with a gadget its range, are trusted",
            minimum=0,
            maximum=1,
            shown=str(_TRUST),
        ),
    ] = None
    gadget: Annotated[
        Literal["none", "resolving"], About("what it guarantees when it solves a street again", form="none|resolving")
    ] = "none"
    effort: Annotated[int, About("factor of the number of iterations", minimum=1, maximum=1000)] = 1

    name: ClassVar[str] = "resolving"

    @property
    def remembers(self) -> bool:
        return self.learns

    @property
    def _trust(self) -> Fraction:
        return _TRUST if self.p is None else self.p

    def bot(self, table: Table) -> Bot:
        if table.seats != 2:
            raise InvalidStrategyError(f"bot resolving needs a table of two seats, but there are {table.seats}")
        # These modules import the solvers, which other bots do not need.
        if self.opponent is not None:
            if self.blueprint is not None:
                raise InvalidStrategyError("bot resolving: opponent and blueprint exclude each other, expected one")
            if self.gadget != "none":
                raise InvalidStrategyError("bot resolving: opponent and gadget exclude each other, expected one")
            return self._exploiting(self.opponent, table)
        for name, given, other in (("player", self.player, ""), ("p", self.p, " or gadget=resolving")):
            if given is not None and not (other and self.gadget != "none"):
                raise InvalidStrategyError(
                    f"bot resolving: {name} = {one_line(str(given), 60)} without an opponent; "
                    f"also give opponent=FILE{other}"
                )
        from .blueprint import ModelBlueprint
        from .resolving import ResolvingBot

        if self.blueprint is None:
            blueprint = ModelBlueprint(table, self.streets)
        else:
            blueprint = ModelBlueprint.from_files(table, *_GRAMMAR.items(self.name, self.blueprint, "+"))
        trust = float(self._trust)
        return ResolvingBot(blueprint, self.time, learns=self.learns, gadget=self.gadget, p=trust, effort=self.effort)

    def _exploiting(self, file: str, table: Table) -> Bot:
        from ...models.matches import HandHistories
        from .exploiting import ExploitingBot
        from .habits import Habits

        hands = list(HandHistories(file))
        names = dict.fromkeys(name for hand in hands for name in hand.players)
        if self.player not in names:
            given = "player is missing" if self.player is None else f"player = {one_line(self.player, 60)}"
            raise InvalidStrategyError(
                f"bot resolving: {given}; expected a name in {file}: {one_of(names or ['none'])}"
            )
        habits = Habits.read(hands, self.player, table, p=self._trust, streets=self.streets)
        return ExploitingBot(habits, self.time, learns=self.learns, effort=self.effort)


@dataclass(frozen=True)
class _Portfolio(MatchBot):
    bots: Annotated[str, About("bots from which it chooses one for each hand", form="BOT+BOT", first=True)]
    learner: Annotated[
        Literal["ucb1", "exp3", "explore-then-commit"], About("how it learns which of the bots wins", form="L")
    ] = "ucb1"
    explore: Annotated[
        int, About("number of hands for which explore-then-commit tries each bot", minimum=1, maximum=2**31, large=True)
    ] = 100
    hands: Annotated[int, About("number of hands for which exp3 plans", minimum=1, maximum=2**31, large=True)] = 1_000
    cut: Annotated[float, About("largest win or loss that counts, in big blinds", above=0)] = 20.0

    name: ClassVar[str] = "portfolio"

    def bot(self, table: Table) -> Bot:
        bots = [find_bot(text, table) for text in _GRAMMAR.items(self.name, self.bots, "+")]
        return Portfolio(bots, make_learner(self.learner, len(bots), self.hands, self.explore), -self.cut, self.cut)


@dataclass(frozen=True)
class _Defending(MatchBot):
    plays: Annotated[str, About("the bot whose play it follows, except against all-ins", form="BOT", first=True)] = (
        "threshold"
    )

    name: ClassVar[str] = "defending"

    def bot(self, table: Table) -> Bot:
        if table.seats != 2:
            raise InvalidStrategyError(f"bot defending needs a table of two seats, but there are {table.seats}")
        return DefendingBot(find_bot(self.plays, table))


@dataclass(frozen=True)
class _LocalResponse(_Forgetful):
    to: Annotated[str, About("the resolving bot whose strategy it knows", form="BOT", first=True)] = (
        "resolving:learns=false"
    )

    name: ClassVar[str] = "lbr"

    def bot(self, table: Table) -> Bot:
        opponent = declared_bot(self.to)
        if not isinstance(opponent, _Resolving) or opponent.learns:
            raise InvalidStrategyError(
                f"bot lbr: to = {one_line(self.to, 60)}, expected a bot resolving with learns=false"
            )
        from .local_response import LocalResponseBot
        from .resolving import ResolvingBot

        made = opponent.bot(table)
        assert isinstance(made, ResolvingBot)
        return LocalResponseBot(made)


@dataclass
class _ImportedBot:
    """A bot of a module, imported in each process that plays."""

    module: str
    name: str
    _made: Any = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": None}

    @property
    def made(self) -> Any:
        if self._made is None:
            what = f"bot python: {self.name} in {one_line(self.module, 60)}"
            try:
                made: Any = _imported(self.module)
                for part in self.name.split("."):
                    made = getattr(made, part)
                if isinstance(made, type) or not hasattr(made, "act"):
                    made = made()
            except (Exception, SystemExit) as error:  # other people's code may raise anything
                reason = one_line(f"{type(error).__name__}: {error}", 200)
                raise InvalidStrategyError(f"{what} cannot be created: {reason}") from None
            if not callable(getattr(made, "act", None)):
                raise InvalidStrategyError(f"{what} is {shown(made, 60)}, expected an object with a method named act")
            self._made = made
        return self._made

    def begin(self, table: Table, seat: int) -> None:
        self._tell("begin", table, seat)

    def act(self, view: View, rng: np.random.Generator) -> str:
        return self.made.act(view, rng)  # type: ignore[no-any-return]

    def end(self, result: HandResult) -> None:
        self._tell("end", result)

    def close(self) -> None:
        self._tell("close")

    def _tell(self, what: str, *arguments: Any) -> None:
        call: Callable[..., Any] | None = getattr(self.made, what, None)
        if call is not None:
            call(*arguments)


def _imported(module: str) -> ModuleType:
    if not module.endswith(".py"):
        return importlib.import_module(module)
    path = Path(module)
    name = f"treeplex_bot_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{module} is not a module")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


#: The library's own bots, in the order in which they are listed.
_OWN = {
    "call": "bots:_Call",
    "fold": "bots:_Fold",
    "random": "bots:_Random",
    "raise": "bots:_Raise",
    "threshold": "bots:_Threshold",
    "python": "bots:_Python",
    "json": "bots:_Json",
    "acpc": "bots:_Acpc",
    "resolving": "bots:_Resolving",
    "portfolio": "bots:_Portfolio",
    "defending": "bots:_Defending",
    "lbr": "bots:_LocalResponse",
}
#: Every bot under its name; other packages add some by :meth:`Registry.register` or by entry points.
BOTS: Registry[type[Any]] = Registry(
    _GRAMMAR, "treeplex.bots", accepting(MatchBot, InvalidStrategyError, "careful"), _OWN, __package__
)
