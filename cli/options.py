"""Arguments and options: how they are read, those that several commands share, and those that dataclasses declare."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .errors import CommandLineError, deferring_interrupts

if TYPE_CHECKING:
    from ..seqform.game import Game
    from ..seqform.parameters import About, Parameter
    from ..solvers.methods import Method

#: What an opponent may be, for the help of options that take one.
OPPONENT_HELP = (
    r"uniform, random:seed=S, nash, cfr:iterations=N, abstraction:BUCKETS, mixture:W\*O+W\*O, perturbed:O,epsilon=E, "
    "an agent such as cdrnr:opponent=O,p=P,lookahead=K, or a strategy file."
)


def tolerance(text: str) -> float:
    """Read a tolerance: a finite number of at least 0.

    Examples
    --------
    >>> from treeplex.cli.options import tolerance
    >>> tolerance("1e-4")
    0.0001
    """
    return _number(text, "a number of at least 0, such as 1e-4", lambda number: 0.0 <= number < math.inf)


def seconds(text: str) -> float:
    """Read seconds: a finite number of at least 0.

    Examples
    --------
    >>> from treeplex.cli.options import seconds
    >>> seconds("60")
    60.0
    """
    return _number(text, "a number of seconds of at least 0, such as 60", lambda number: 0.0 <= number < math.inf)


def confidence_level(text: str) -> float:
    """Read a confidence: a number between 0 and 1.

    Examples
    --------
    >>> from treeplex.cli.options import confidence_level
    >>> confidence_level("0.99")
    0.99
    """
    return _number(text, "a number between 0 and 1, such as 0.95", lambda number: 0.0 < number < 1.0)


def _number(text: str, expected: str, allowed: Callable[[float], bool]) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not allowed(number):
        raise typer.BadParameter(f"{text!r}, expected {expected}")
    return number


def whole(text: str) -> int:
    """Read a whole number of at least 0; ``1e6`` is one too.

    Examples
    --------
    >>> from treeplex.cli.options import whole
    >>> whole("1e6")
    1000000
    """
    try:
        number = float(text)
        exact = int(text) if text.lstrip("+").isdecimal() else int(number)
    except (ValueError, OverflowError):
        number, exact = math.nan, 0
    if not (number >= 0 and exact == number and exact <= 2**53):
        raise typer.BadParameter(f"{text!r}, expected a whole number from 0 to 2^53, such as 1000")
    return exact


def seat(text: str) -> int:
    """Read a seat of a two-player game, 0 or 1.

    Examples
    --------
    >>> from treeplex.cli.options import seat
    >>> seat("1")
    1
    """
    if text.strip() not in ("0", "1"):
        raise typer.BadParameter(f"{text!r}, expected 0 or 1")
    return int(text)


def fraction(option: str, text: str) -> Fraction:
    """Read an amount of payoff exactly: a decimal or a fraction of at least 0.

    Raises
    ------
    CommandLineError

    Examples
    --------
    >>> from treeplex.cli.options import fraction
    >>> fraction("--max-loss", "1/50")
    Fraction(1, 50)
    """
    from ..models.constraints.tokens import parse_number

    try:
        number = parse_number(text.strip())
    except ValueError:
        number = Fraction(-1)
    if number < 0:
        raise CommandLineError(f"{option} {text!r}: expected a number of at least 0, such as 0.02 or 1/50")
    return number


def load(spec: str) -> "Game":
    """Return the game that ``GAME`` names.

    Raises
    ------
    TreeplexError
        If there is no such game, or it cannot be read.
    """
    from ..models.games import load_game

    return load_game(spec)


# What several commands take alike

GAME_HELP = (
    "NAME or NAME:key=value,… as treeplex games lists them; a file (.efg, .graphml, .json, .npz); or openspiel:NAME."
)
GameArgument = Annotated[str, typer.Argument(metavar="GAME", help=GAME_HELP)]
JsonOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write JSON to a file or standard output.")
]
TolOption = Annotated[
    float | None,
    typer.Option(
        metavar="T",
        parser=tolerance,
        help="Tolerance on the certificate, in payoff units: on the exploitability for nash, on the gap and the "
        "violation for other problems. With 0 iterative methods run exactly --max-iterations. By default what the "
        "method is good for.",
    ),
]
IterationsOption = Annotated[
    int | None,
    typer.Option(metavar="N", parser=whole, help="Stop after N iterations; one updates every player."),
]
TimeOption = Annotated[float | None, typer.Option(metavar="S", parser=seconds, help="Stop after S seconds of solving.")]
SeedOption = Annotated[
    int | None, typer.Option(metavar="S", parser=whole, help="Seed of methods that draw random numbers.")
]


# What dataclasses declare


def declared(options: Callable[[], list[inspect.Parameter]]) -> Callable[[Any], Any]:
    """Give a command options that dataclasses declare: it takes them by keyword, ``**options``.

    They are made when the command is about to run or to show its help, so that others start fast.
    """

    def decorate(command: Any) -> Any:
        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        command.__signature__ = signature.replace(parameters=own)

        def complete() -> None:
            with deferring_interrupts(until_later=True):
                added = options()
            names = {each.name for each in added}
            kept = [each for each in own if each.name not in names]
            command.__signature__ = signature.replace(
                parameters=[each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in kept] + added
            )

        command.complete = complete
        return command

    return decorate


def option_of(name: str, about: "About", panel: str, help: str | None = None) -> inspect.Parameter:  # noqa: A002
    """Return an option as a parameter of a command's signature; it takes text, which is read where it is used."""
    from ..seqform.parameters import Parameter

    shown = Parameter(name, about.kind or str, None, about, about.choices)
    option = typer.Option(
        flag_of(name), metavar=shown.form, help=sentence(shown) if help is None else help, rich_help_panel=panel
    )
    kind: Any = list[str] if about.many else str
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def problem_options() -> list[inspect.Parameter]:
    """Return the options that say what a problem needs beside the game."""
    from ..models.declarations import WORDS

    helps = {"opponent": f"Model of the opponent: {OPPONENT_HELP}"}
    return [option_of(name, about, "Problem", helps.get(name)) for name, about in WORDS.items()]


def method_options(methods: Iterable[str] | None = None) -> list[inspect.Parameter]:
    """Return the options for the hyper-parameters of methods, of all by default, each with the methods that take it."""
    found: dict[str, dict[str, list[str]]] = {}
    abouts: dict[str, About] = {}
    for method, parameters in hyperparameters(methods).items():
        for each in parameters:
            abouts[each.name] = each.about
            found.setdefault(each.name, {}).setdefault(sentence(each), []).append(method)
    return [
        option_of(
            name, abouts[name], "Method", " ".join(f"{text} ({', '.join(names)})." for text, names in said.items())
        )
        for name, said in found.items()
    ]


def sentence(parameter: "Parameter") -> str:
    """Return what a parameter is and what it may be, as help says it.

    Examples
    --------
    >>> from treeplex.cli.options import sentence
    >>> from treeplex.solvers.methods import method_parameters
    >>> sentence(next(each for each in method_parameters("cfr") if each.name == "iterate"))
    'Which strategies are returned and certified: average or last'
    """
    description = parameter.about.description
    text = description[:1].upper() + description[1:]
    if not parameter.choices:
        return text
    *first, last = parameter.choices
    return f"{text}: {', '.join(first)} or {last}" if first else f"{text}: {last}"


def hyperparameters(methods: Iterable[str] | None = None) -> "dict[str, tuple[Parameter, ...]]":
    """Return the hyper-parameters of each method that have options."""
    from ..solvers.methods import method_names, method_parameters

    return {
        name: tuple(each for each in method_parameters(name) if each.about.option)
        for name in (method_names() if methods is None else methods)
    }


def flag_of(option: str) -> str:
    """Return how an option is written on the command line."""
    return f"--{option.replace('_', '-')}"


def choose_method(
    text: str, options: Mapping[str, Any], methods: Sequence[str] | None = None, command: str = "solve"
) -> "Method":
    """Return the method that ``--method`` names, with its hyper-parameters.

    Parameters
    ----------
    text : str
        ``name`` or ``name:key=value,key=value``.
    options : mapping of str
        Hyper-parameters by the names of options; ``None`` or empty where an option was not given.
    methods : sequence of str, optional
        Those that the command takes, if not all.
    command : str
        What it is called.

    Raises
    ------
    UnknownMethodError
        If there is no such method.
    CommandLineError
        If it is not for the command, or an option is not for it, or has no such value.
    """
    from ..solvers.methods import find_method, method_parameters

    name = text.partition(":")[0].strip()
    parameters = {each.name: each for each in method_parameters(name) if each.about.option}
    if methods is not None and name not in methods:
        raise CommandLineError(f"--method {name} is not for {command}; expected one of {', '.join(methods)}")
    given = {option: value for option, value in options.items() if value not in (None, [], ())}
    for option, value in given.items():
        if option not in parameters:
            takers = [one for one, known in hyperparameters(methods).items() if option in {each.name for each in known}]
            raise CommandLineError(f"{flag_of(option)} is for --method {', '.join(takers)}, and --method is {name}")
        try:
            given[option] = parameters[option].convert(value)
        except (ValueError, OverflowError, ZeroDivisionError):
            expected = parameters[option].expected
            raise CommandLineError(f"{flag_of(option)} {value!r}: expected {expected}") from None
    return find_method(text, **given)


def with_preferences(options: Mapping[str, Any], player: int | None) -> dict[str, Any]:
    """Return options with the texts of ``--prefer`` read: of ``--player`` where a text names no seat.

    Raises
    ------
    InvalidPreferenceError
        If a text cannot be read.
    """
    from ..models.preferences import parse_preference

    texts = options.get("prefer")
    return {**options, **({"prefer": [parse_preference(text, player) for text in texts]} if texts else {})}
