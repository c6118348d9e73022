"""Arguments and options: how they are read, those that several commands share, and those that dataclasses declare."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.parameters import About, Parameter, as_typed
from .errors import CommandLineError, deferring_interrupts

if TYPE_CHECKING:
    from ..solvers.methods import Method

#: What an opponent may be, for the help of options that take one.
OPPONENT_HELP = (
    r"uniform, random:seed=S, nash, cfr:iterations=N, abstraction:BUCKETS, mixture:W\*O+W\*O, perturbed:O,epsilon=E, "
    "an agent such as cdrnr:opponent=O,p=P,lookahead=K[,method=M], or a strategy file."
)


def reader(kind: type, expected: str = "", **limits: Any) -> Callable[[str], Any]:
    """Return a function that reads the text of an option as a number.

    Parameters
    ----------
    kind : type
        ``int``, ``float`` or ``Fraction``.
    expected : str
        What is said to be right; by default the limits.
    **limits
        As :class:`~treeplex.seqform.parameters.About` has them.

    Examples
    --------
    >>> from treeplex.cli.options import reader
    >>> reader(int, minimum=0, large=True)("1e6")
    1000000
    """
    parameter = Parameter("", kind, None, About("", **limits))

    def read(text: str) -> Any:
        try:
            return parameter.convert(text)
        except (ValueError, OverflowError, ZeroDivisionError):
            raise typer.BadParameter(f"{as_typed(text)}, expected {expected or parameter.expected}") from None

    return read


tolerance = reader(float, "a number of at least 0, such as 1e-4", minimum=0)
seconds = reader(float, "a number of seconds of at least 0, such as 60", minimum=0)
whole = reader(int, "a whole number from 0 to 2^53, such as 1000", minimum=0, maximum=2**53, large=True)


def seat(text: str) -> int:
    """Read a seat of a two-player game, 0 or 1.

    Examples
    --------
    >>> from treeplex.cli.options import seat
    >>> seat("1")
    1
    """
    if text.strip() not in ("0", "1"):
        raise typer.BadParameter(f"{as_typed(text)}, expected 0 or 1")
    return int(text)


# What several commands take alike

GAME_HELP = (
    "NAME or NAME:key=value,… as listed by treeplex games; a file (.efg, .graphml, .json or .npz); or openspiel:NAME."
)
GameArgument = Annotated[str, typer.Argument(metavar="GAME", help=GAME_HELP)]
JsonOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write JSON to FILE, or to standard output with -.")
]
TolOption = Annotated[
    float | None,
    typer.Option(
        metavar="T",
        parser=tolerance,
        help="Tolerance on the certificate, in payoff units: on the exploitability for nash, on the gap and the "
        "largest violation for other problems. With 0, iterative methods run for exactly --max-iterations. The default "
        "depends on the method.",
    ),
]
IterationsOption = Annotated[
    int | None,
    typer.Option(metavar="N", parser=whole, help="Stop after N iterations; each updates every player."),
]
TimeOption = Annotated[float | None, typer.Option(metavar="S", parser=seconds, help="Stop after S seconds of solving.")]
SeedOption = Annotated[int | None, typer.Option(metavar="S", parser=whole, help="Random seed of methods that sample.")]


# What dataclasses declare


#: What makes the options that dataclasses declare for a command, by its name.
_DECLARED: dict[str, Callable[[], list[inspect.Parameter]]] = {}


def declared(options: Callable[[], list[inspect.Parameter]]) -> Callable[[Any], Any]:
    """Give a command options that dataclasses declare: it takes them by keyword, ``**options``."""

    def decorate(command: Any) -> Any:
        own = [each for each in inspect.signature(command).parameters.values() if each.name != "options"]
        command.__signature__ = inspect.Signature(own)
        _DECLARED[command.__name__] = options
        return command

    return decorate


def with_declared_options(command: Any) -> Any:
    """Return a command with the options that dataclasses declare for it; to find these takes a while."""
    if command.__name__ in _DECLARED:
        with deferring_interrupts(until_later=True):
            added = _DECLARED[command.__name__]()
        names = {each.name for each in added}
        kept = [each for each in inspect.signature(command).parameters.values() if each.name not in names]
        command.__signature__ = inspect.Signature(
            [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in kept] + added
        )
    return command


def option_of(name: str, about: About, panel: str, help: str | None = None) -> inspect.Parameter:  # noqa: A002
    """Return an option as a parameter of a command's signature; it takes text, which is read where it is used."""
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


def sentence(parameter: Parameter) -> str:
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


def hyperparameters(methods: Iterable[str] | None = None) -> dict[str, tuple[Parameter, ...]]:
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
        given[option] = parameters[option].from_option(flag_of(option), value, CommandLineError)
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
