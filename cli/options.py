"""Arguments and options: parsing, options shared by several commands, option groups, and declared options."""

import functools
import inspect
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from ..seqform.errors import one_line
from ..seqform.parameter_texts import as_typed, reason_of
from ..seqform.parameters import About, Parameter
from .errors import CommandLineError, deferring_interrupts, print_note, set_continuation
from .files import command_line
from .limits import keeper

if TYPE_CHECKING:
    from ..solvers.checkpoint import Checkpoint
    from ..solvers.methods import Method

#: The possible opponents, for the help of options that take one.
OPPONENT_HELP = (
    "uniform, random:seed=S, nash, cfr:iterations=N, abstraction:BUCKETS, mixture:W*O+W*O, perturbed:O,epsilon=E, "
    "threshold, an agent such as cdrnr:opponent=O,p=P,lookahead=K[,method=M], a strategy file, or a bot file (.toml)."
)


def reader(kind: type, expected: str = "", **limits: Any) -> Callable[[str], Any]:
    """Return a function that parses the text of an option as a number.

    Parameters
    ----------
    kind : type
        ``int``, ``float`` or ``Fraction``.
    expected : str
        The description of valid values; by default the limits.
    **limits
        As in :class:`~treeplex.seqform.parameters.About`.

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
        except (ValueError, OverflowError, ZeroDivisionError) as wrong:
            received = as_typed(text) + reason_of(wrong)
            raise typer.BadParameter(f"{received}, expected {expected or parameter.expected}") from None

    return read


tolerance = reader(float, "a number of at least 0, such as 1e-4", minimum=0)
_pot_share = reader(float, "a number of at least 0, such as 1e-4, or a share of a spot's pot, such as 0.1%", minimum=0)
seconds = reader(float, "a number of seconds of at least 0, such as 60", minimum=0)
whole = reader(int, "a whole number from 0 to 2^53, such as 1000", minimum=0, maximum=2**53, large=True)


_processes = reader(int, _PROCESSES := "a whole number of at least 1, or -1 for one per core", minimum=-1, maximum=1024)


def processes(text: str) -> int:
    """Read the number of processes."""
    found: int = _processes(text)
    if not found:
        raise typer.BadParameter(f"{as_typed(text)}, expected {_PROCESSES}")
    return found


class PotShare(float):
    """A tolerance in per cent of a reference amount of the game, such as the pot of a spot."""

    def __str__(self) -> str:
        return f"{float(self):g}%"


def pot_tolerance(text: str) -> float:
    """Parse a tolerance, possibly in per cent of the pot.

    Examples
    --------
    >>> from treeplex.cli.options import pot_tolerance
    >>> pot_tolerance("1e-4"), str(pot_tolerance("0.1%"))
    (0.0001, '0.1%')
    """
    share = text.strip().removesuffix("%")
    if share.endswith("%"):
        raise typer.BadParameter(
            f"{as_typed(text)}, expected a number of at least 0 with one per cent sign, as in 0.1%"
        )
    return PotShare(_pot_share(share)) if share != text.strip() else float(_pot_share(text))


def tolerance_of(tol: float | None, game: Any) -> float | None:
    """Return a tolerance in payoff units.

    Raises
    ------
    CommandLineError
        If it is in per cent and the game has no reference amount such as a pot.
    """
    if not isinstance(tol, PotShare):
        return tol
    if game.whole is None:
        raise CommandLineError(
            f"--tol {tol}: a percentage refers to the pot of a spot, but GAME is {game.spec}; expected a number of at "
            "least 0, such as 1e-4"
        )
    return float(tol) / 100.0 * float(game.whole[0])


def amount(text: str) -> int:
    """Parse an amount of memory.

    Examples
    --------
    >>> from treeplex.cli.options import amount
    >>> amount("2GiB")
    2147483648
    """
    from ..seqform.errors import InvalidMemoryError
    from ..seqform.memory import read_memory

    try:
        return read_memory(int(text) if text.strip().isdecimal() else text, "")
    except InvalidMemoryError as error:
        raise typer.BadParameter(str(error).removeprefix(" = ")) from None


def seat(text: str) -> int:
    """Parse a seat of a two-player game, 0 or 1.

    Examples
    --------
    >>> from treeplex.cli.options import seat
    >>> seat("1")
    1
    """
    if text.strip() not in ("0", "1"):
        raise typer.BadParameter(f"{as_typed(text)}, expected 0 or 1")
    return int(text)


#: The separator between a checkpoint's file and its seconds.
_EVERY = ":every="

# Shared by several commands

#: The option of commands that list their methods only when the options of methods are loaded.
METHOD = typer.Option("--method", metavar="M", help="The method; 'treeplex methods' lists all of them.")

#: Headings of less common options, which help leaves out if it would not fit on a screen.
RUN, SPOT, CURVE, BOUNDS = "Long runs", "Hold'em spots", "Curves", "Bounds on the opponent"

GAME_HELP = (
    "NAME or NAME:key=value,… as listed by 'treeplex games'; a file (.efg, .nfg, .graphml, .json, .npz, .csv, "
    "or .toml for a hold'em spot); or openspiel:NAME."
)
GameArgument = Annotated[str, typer.Argument(metavar="GAME", help=GAME_HELP)]
JsonOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write JSON to FILE; - writes to standard output.")
]
AtOption = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="LINE",
        rich_help_panel=SPOT,
        help="The node of a spot to show, given by the actions that lead to it, such as 'check, bet 120'; write a "
        "card as 'deal 7s', or 'deal *' for a row per card.",
    ),
]
ChartOption = Annotated[
    str | None,
    typer.Option(
        "--chart",
        metavar="FILE",
        rich_help_panel=SPOT,
        help="Draw the 13 × 13 chart of the node given by --at (by default the root) to FILE (.svg, .png or .pdf).",
    ),
]
HtmlOption = Annotated[
    str | None, typer.Option("--html", metavar="FILE", help="Write a report to FILE, a self-contained HTML page.")
]
_TOL_HELP = (
    "Tolerance on the certificate, in payoff units: on the exploitability for nash, on the largest regret for "
    "epsilon-nash, on the gap and the largest violation for other problems. With 0, iterative methods run for "
    "exactly --max-iterations. The default depends on the method."
)
TolOption = Annotated[float | None, typer.Option(metavar="T", parser=tolerance, help=_TOL_HELP)]
PotTolOption = Annotated[
    float | None,
    typer.Option(
        metavar="T[%]",
        parser=pot_tolerance,
        help=f"{_TOL_HELP} For a spot, T% is a percentage of the pot; the default is 0.1%.",
    ),
]
IterationsOption = Annotated[
    int | None, typer.Option(metavar="N", parser=whole, help="Stop after N iterations; each updates every player.")
]
TimeOption = Annotated[
    float | None,
    typer.Option(metavar="S", parser=seconds, help="Stop after S seconds, including the time to build the game."),
]
MemoryOption = Annotated[
    int | None,
    typer.Option(
        metavar="M",
        parser=amount,
        rich_help_panel=RUN,
        help="Use at most M of memory, such as 8GB. The default is TREEPLEX_MEMORY, or else half of the available "
        "memory while games are built.",
    ),
]
CheckpointOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE[:every=60s]",
        rich_help_panel=RUN,
        help="Save the run to FILE at this interval and at its end, so that it can be resumed after a kill "
        "(iterative methods). With --resume and the same FILE, which need not exist, the same command starts the "
        "run and later continues it.",
    ),
]
ResumeOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=RUN,
        help="Resume the run saved in FILE by --checkpoint, as if it had never stopped, and keep saving it there. "
        "Iterations count from the start of the run, the time limit from now.",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option(metavar="S", parser=whole, help="Random seed of sampling methods.", rich_help_panel=RUN)
]
OnOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        rich_help_panel=RUN,
        help="Where the flops of a game from the blinds to the river are solved: local:2 (two processes), "
        "dask://HOST:PORT or ray://HOST:PORT; by default in this process.",
    ),
]


# Groups of options


def with_groups(command: Any) -> Any:
    """Return a command that takes the options of its groups as separate parameters, which typer reads.

    A group is a frozen dataclass. Its fields are options, with annotations and defaults like a command's parameters. A
    command that takes a group has one parameter, annotated with the class.

    Examples
    --------
    >>> import inspect
    >>> from treeplex.cli.options import Limits, with_groups
    >>> def command(game: str, *, limits: Limits) -> float | None:
    ...     return limits.tol
    >>> list(inspect.signature(with_groups(command)).parameters)
    ['game', 'tol', 'max_iterations', 'time_limit']
    >>> with_groups(command)(game="kuhn", tol=0.1, max_iterations=None, time_limit=None)
    0.1
    """
    signature = inspect.signature(command)
    kinds = {name: each.annotation for name, each in signature.parameters.items()}
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}

    @functools.wraps(command)
    def run(**options: Any) -> Any:
        made = {
            name: group(**{each.name: options.pop(each.name) for each in fields(group)})
            for name, group in groups.items()
        }
        return command(**options, **made)

    single: list[inspect.Parameter] = []
    for name, each in signature.parameters.items():
        group = groups.get(name)
        single += [each] if group is None else [_option(one.name, one.type, one.default) for one in fields(group)]
    run.__signature__ = inspect.Signature(_by_keyword(single))  # type: ignore[attr-defined]
    return run


def _option(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    """Return an option as a parameter of a command's signature."""
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _by_keyword(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    return [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]


@dataclass(frozen=True)
class Limits:
    """The limits of a solve."""

    tol: TolOption = None
    max_iterations: IterationsOption = None
    time_limit: TimeOption = None


@dataclass(frozen=True)
class Checkpointing:
    """The files for saving and resuming a run.

    Examples
    --------
    >>> from treeplex.cli.options import Checkpointing
    >>> Checkpointing("run:every=5s").files
    {'checkpoint': 'run', 'resume': None}
    """

    checkpoint: CheckpointOption = None
    resume: ResumeOption = None

    @property
    def files(self) -> dict[str, Any]:
        """The files named by the options.

        Raises
        ------
        CommandLineError
            If anything except seconds follows the file name.
        """
        return {"checkpoint": self._parts()[0], "resume": self.resume}

    def read(self) -> "Checkpoint | None":
        """Return the checkpoint set by the options; ``None`` if neither is given.

        Raises
        ------
        CommandLineError
            If the options name different files, the file to resume does not exist, or the seconds are not a number.
        """
        if self.checkpoint is None and self.resume is None:
            return None
        from ..solvers.checkpoint import PREVIOUS, Checkpoint

        (path, every), resume = self._parts(), self.resume
        if path is not None and resume not in (None, path):
            raise CommandLineError(f"--checkpoint {path} and --resume {resume} name two files; give the same file")
        if path is None and resume is not None and not any(Path(resume + end).exists() for end in ("", PREVIOUS)):
            from ..seqform.interchange.files import absence

            raise CommandLineError(f"--resume: {resume}: {absence(resume)}; --checkpoint writes one")
        try:
            given = {} if every is None else {"every": seconds(every.removesuffix("s"))}
        except typer.BadParameter as error:
            raise CommandLineError(f"--checkpoint {self.checkpoint}: every = {error}") from None
        again = [] if resume is not None else ["--resume", str(path)]
        set_continuation(f"{command_line()} {shlex.join(again)}".rstrip())
        return Checkpoint(path or str(resume), resume=resume is not None, tell=print_note, **given)

    def _parts(self) -> tuple[str | None, str | None]:
        """Return the file named by ``--checkpoint``, and its seconds as typed, if given."""
        if self.checkpoint is None:
            return None, None
        path, colon, every = self.checkpoint.rpartition(_EVERY)
        path = path if colon else self.checkpoint
        misspelt = re.search(r":\w+=[^/\\:]*$", path)
        if misspelt:
            raise CommandLineError(
                f"--checkpoint {self.checkpoint}: expected FILE or FILE:every=60s, got {misspelt[0][1:]!r} after FILE"
            )
        return path, every if colon else None


# Declared by dataclasses


#: Options that problems and methods declare in more detail, with all possible values; help that does not load those
#: shows the command's own.
_BETTER_KNOWN = ("problem", "method", "opponent", "player", "constrain")
#: By command name, the function that creates its declared options.
_DECLARED: dict[str, Callable[[], list[inspect.Parameter]]] = {}


def declared(options: Callable[[], list[inspect.Parameter]]) -> Callable[[Any], Any]:
    """Give a command the options declared by dataclasses; it takes them as keywords, ``**options``."""

    def decorate(command: Any) -> Any:
        own = [each for each in inspect.signature(command).parameters.values() if each.name != "options"]
        command.__signature__ = inspect.Signature(own)
        _DECLARED[command.__name__] = options
        return command

    return decorate


def declares_options(command: Any) -> bool:
    """Whether dataclasses declare options for a command."""
    return command.__name__ in _DECLARED


def with_declared_options(command: Any) -> Any:
    """Return a command with the options that dataclasses declare for it, which take a while to collect.

    If a problem and methods declare the same name, the option belongs to the problem if it takes that option, and its
    help describes both. The command's own options precede declared ones, except for :data:`_BETTER_KNOWN`. Other
    declarations can be set in the name of a problem or a method, ``NAME:key=value``.
    """
    if declares_options(command):
        own = inspect.signature(command).parameters
        with deferring_interrupts(until_later=True):
            found = [
                each for each in _DECLARED[command.__name__]() if each.name not in own or each.name in _BETTER_KNOWN
            ]
        added: dict[str, inspect.Parameter] = {}
        for each in reversed(found):
            before = added.pop(each.name, None)
            added[each.name] = each if before is None else _with_help_of(each, before)
        kept = _by_keyword(each for each in own.values() if each.name not in added)
        command.__signature__ = inspect.Signature([*kept, *reversed(added.values())])
    return command


def _with_help_of(option: inspect.Parameter, other: inspect.Parameter) -> inspect.Parameter:
    """Return an option whose help is followed by that of another one."""
    kind, first = get_args(option.annotation)
    said = f"{first.help} {get_args(other.annotation)[1].help}"
    shown = typer.Option(*first.param_decls, metavar=first.metavar, help=said, rich_help_panel=first.rich_help_panel)
    return option.replace(annotation=Annotated[kind, shown])


def with_memory_option(command: Any) -> Any:
    """Give a command the option ``--memory``, which sets the budget as the environment variable does."""

    @functools.wraps(command)
    def run(*, memory: int | None = None, **options: Any) -> Any:
        from ..seqform.budget import ENVIRONMENT_VARIABLE, Budget

        before, watching = os.environ.get(ENVIRONMENT_VARIABLE), keeper()
        if memory is not None:
            os.environ[ENVIRONMENT_VARIABLE] = str(memory)
        try:
            if watching is not None and os.environ.get(ENVIRONMENT_VARIABLE, "").strip():
                watching.limit_memory(Budget().limit)
            return command(**options)
        finally:
            if memory is not None:
                os.environ.pop(ENVIRONMENT_VARIABLE)
                os.environ.update({} if before is None else {ENVIRONMENT_VARIABLE: before})

    own = _by_keyword(inspect.signature(command).parameters.values())
    run.__signature__ = inspect.Signature([*own, _option("memory", MemoryOption)])  # type: ignore[attr-defined]
    return run


#: Options that choose the subject of a command; their help lists the possible values.
CHOICES = {"problem": "P", "method": "M"}


def choice_of(name: str, default: str | None, help: str) -> inspect.Parameter:  # noqa: A002
    """Return an option of :data:`CHOICES` as a parameter of a command's signature."""
    option = typer.Option(flag_of(name), metavar=CHOICES[name], help=help, rich_help_panel=name.capitalize())
    return _option(name, Annotated[str | None, option], default)


def declared_options(
    panel: str, takers: Mapping[str, Mapping[str, Parameter]], more: Mapping[Any, str] | None = None
) -> list[inspect.Parameter]:
    """Return options for the parameters declared by problems or methods, as parameters of a command's signature.

    An option takes text, which is parsed where it is used.

    Parameters
    ----------
    panel : str
        The heading in the help.
    takers : mapping of str to mapping of str to Parameter
        By problem or method, its parameters by option name.
    more : mapping of type to str, optional
        Additional help for parameters of a type.
    """
    declared: dict[str, list[Parameter]] = {}
    said: dict[str, dict[str, list[str]]] = {}
    for taker, parameters in takers.items():
        for name, each in parameters.items():
            declared.setdefault(name, []).append(each)
            said.setdefault(name, {}).setdefault(sentence(each), []).append(taker)
    options = []
    for name, known in declared.items():
        texts = [f"{text} ({', '.join(names)})." for text, names in said[name].items()]
        texts += [(more or {})[each.kind] for each in known[:1] if each.kind in (more or {})]
        kind: Any = list[str] if any(each.about.many for each in known) else str
        option = typer.Option(flag_of(name), metavar=known[0].form, help=" ".join(texts), rich_help_panel=panel)
        options.append(_option(name, Annotated[kind | None, option]))
    return options


def problem_options() -> list[inspect.Parameter]:
    """Return the options that define a problem: its name, and what each problem needs besides the game."""
    from ..models.problems import PROBLEMS
    from ..seqform.strategy import Strategy
    from ..validation.questions import question_parameters

    names = (
        f"The problem: {', '.join(PROBLEMS)}; by default nash, and epsilon-nash for a spot with a rake. Or "
        "NAME:key=value,…, such as rnr:opponent=uniform,p=1/2."
    )
    takers = {name: question_parameters(name) for name in PROBLEMS}
    more = {Strategy: f"An opponent is {OPPONENT_HELP}"}
    return [choice_of("problem", None, names), *declared_options("Problem", takers, more)]


def method_options(methods: Iterable[str] | None = None) -> list[inspect.Parameter]:
    """Return the options for the hyper-parameters of methods, by default of all methods."""
    takers = {name: {each.name: each for each in known} for name, known in hyperparameters(methods).items()}
    return declared_options("Method", takers)


def sentence(parameter: Parameter) -> str:
    """Return the description and the possible values of a parameter, for the help.

    Examples
    --------
    >>> from treeplex.cli.options import sentence
    >>> from treeplex.solvers.methods import method_parameters
    >>> sentence(next(each for each in method_parameters("cfr") if each.name == "iterate"))
    'Which strategies are returned and certified; best is for responses computed in steps: average, last or best'
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


def methods_with(flag: str) -> list[str]:
    """Return the methods that have a hyper-parameter without an option."""
    from ..solvers.methods import method_names, method_parameters

    named = flag.lstrip("-").replace("-", "_")
    return [
        name
        for name in method_names()
        if any(named in (each.name, each.about.alias) for each in method_parameters(name))
    ]


def flag_of(option: str) -> str:
    """Return the name of an option on the command line."""
    return f"--{option.replace('_', '-')}"


def choose_method(
    text: str, options: Mapping[str, Any], methods: Sequence[str] | None = None, command: str = "solve"
) -> "Method":
    """Return the method named by ``--method`` with its hyper-parameters.

    Parameters
    ----------
    text : str
        ``name`` or ``name:key=value,key=value``.
    options : mapping of str
        Hyper-parameters by option name; ``None`` or empty if an option was not given.
    methods : sequence of str, optional
        The methods that the command accepts, if not all.
    command : str
        The name of the command.

    Raises
    ------
    UnknownMethodError
        If the method does not exist.
    CommandLineError
        If the method does not fit the command, or an option does not fit the method, has a wrong value or contradicts
        the hyper-parameter in the name.
    """
    from ..solvers.methods import METHODS, find_method, method_parameters

    name, _, rest = text.partition(":")
    name = name.strip()
    parameters = {each.name: each for each in method_parameters(name) if each.about.option}
    if methods is not None and name not in methods:
        raise CommandLineError(f"--method {name} is not for {command}; expected one of {', '.join(methods)}")
    given = {option: value for option, value in options.items() if value not in (None, [], ())}
    for option, value in given.items():
        if option not in parameters:
            takers = [one for one, known in hyperparameters(methods).items() if option in {each.name for each in known}]
            meant = f"; did you mean --method {value}?" if isinstance(value, str) and value in METHODS else ""
            reason = f"is for --method {', '.join(takers)}, but --method is {name}"
            raise CommandLineError(f"{flag_of(option)} {reason}{meant}")
        given[option] = parameters[option].from_option(flag_of(option), value, CommandLineError)
    method = find_method(text, **given)
    written = METHODS.grammar.texts(name, rest, list(method_parameters(name))) if rest else {}
    for option, value in given.items():
        if option in written and getattr(find_method(text), option) != getattr(method, option):
            flag = flag_of(option)
            raise CommandLineError(
                f"{name}: {option} is given twice, as {option}={one_line(written[option], 40)} in the name and as "
                f"{flag} {one_line(str(value), 40)}; expected it once"
            )
    return method


def with_preferences(options: Mapping[str, Any], player: int | None) -> dict[str, Any]:
    """Return options with the texts of ``--prefer`` parsed; a text without a seat refers to ``--player``.

    Raises
    ------
    InvalidPreferenceError
        If a text cannot be parsed.
    """
    from ..models.preferences import parse_preference

    texts = options.get("prefer")
    return {**options, **({"prefer": [parse_preference(text, player) for text in texts]} if texts else {})}
