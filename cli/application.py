"""Builds the command line from the commands with typer, and reports usage errors in one line."""

import functools
import importlib
import os
import shutil
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..seqform.errors import nearest, one_line, shown
from ..seqform.limits import stopwatch, timed
from .errors import CommandLineError, ExitStatus
from .files import STANDARD_OUTPUT, recording, running
from .help import ALL, command_help, group_help
from .limits import unkept
from .options import declares_options, methods_with, with_declared_options, with_groups, with_memory_option

if TYPE_CHECKING:
    from ..validation.sweeps import Found

# Older releases of typer use click's usage errors, newer ones their own: both are reachable through typer's exports.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class Command(TyperCommand):
    """A command that names itself in its usage errors and has plain-text help."""

    #: Whether the command has only its own options, for help, without those that dataclasses declare.
    brief = False

    def get_help(self, ctx: Any) -> str:
        """Return the help: all options if they fit on a screen, otherwise the most common ones."""
        return command_help(self, ctx, every=False)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; an option without its value is a usage error of this command."""
        if ALL in _before_dashes(args):
            typer.echo(command_help(self, ctx, every=True))
            raise typer.Exit
        options = {option: each for each in self.params for option in each.opts if option.startswith("--")}
        for option, value in pairwise(args):
            if option in options and value in options and not getattr(options[option], "is_flag", True):
                raise UsageError(f"{option}: the value is missing{_expected_by(option, ctx)}; got {value}", ctx)
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            if getattr(error, "ctx", None) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; help shows their placeholders instead of their types."""
        return _plain(super().get_params(ctx))


class Brief(Command):
    """A command for short help only: finding all options would take longer than printing it."""

    brief = True

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show the help, whatever the arguments are."""
        typer.echo(self.get_help(ctx))
        raise typer.Exit


class Listed(Command):
    """A command of which only the name and the first sentence are loaded."""


class Commands(TyperGroup):
    """The commands in the order in which they were added; an unknown command raises an error that lists them."""

    def get_help(self, ctx: Any) -> str:
        """Return the help: the commands grouped by purpose."""
        groups = {head: {name: said for name, (_, said) in one.items()} for head, one in GROUPS.items()}
        return group_help(str(self.help), groups, str(self.epilog))

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, as :class:`Command` does."""
        return _plain(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names."""
        name = args[0] if args else ""
        if name not in self.commands and not name.startswith("-"):
            listed = ", ".join(self.commands)
            raise UsageError(f"unknown command {shown(name, 60)}{_meant(name, listed)}; expected one of {listed}", ctx)
        if isinstance(self.commands.get(name), Listed):
            self.commands[name] = application(name, brief=_asks_for_help(args)).commands[name]
        return super().resolve_command(ctx, args)


#: Names of commands in other programs, and the commands that do the same here.
_ALSO_CALLED = {
    "show FILE": "print read view open strategy",
    "browse FILE": "explore explorer gui serve server walk ui web",
    "solve GAME --plot FILE": "plot chart",
    "export GAME --out FILE.svg": "draw tree picture",
    "export GAME": "convert write save",
    "evaluate GAME --strategy FILE": "exploitability nashconv certify judge verify score",
    "play GAME": "simulate",
    "match A B": "duel poker holdem bots tournament",
    "tune BOT": "anneal fit-bot improve evolve",
    "portfolio A B --opponent C": "bandit exp3 ucb ucb1 arms explore",
    "patrol MAP": "security patrols map roads police guard",
    "patrol schedule PLAN": "schedule routes calendar days",
    "patrol roster PLAN": "crews shifts fairness year calendar",
    "patrol evaluate PLAN": "changed map closed street old plan what remains",
    "patrol learn LOG": "incidents crime uncertainty estimate interval",
    "patrol export PLAN FILE": "geojson gis gpkg geopackage qgis",
    "simplify GAME": "purify round discretise discretize",
    "solve GAME": "run train optimise optimize compute",
    "solve GAME --html FILE": "report html",
    "compare A B": "diff",
    "review HANDS": "leaks leak mistakes blunders analyse analyze",
    "fit LOG": "learn model log logs infer",
    "games": "list ls game",
    "info GAME": "describe size sizes stats tree-info",
    "doctor": "diagnose env environment",
    "warmup": "compile precompile cache warm jit",
    "validate": "check test selftest",
    "reproduce": "figure figures paper papers",
}


def _meant(name: str, commands: str) -> str:
    """Return a suggestion in parentheses for an unknown command: a similar command, a problem, a method or a game."""
    from ..models.games import GAMES
    from ..models.problems.registry import problem_meant
    from ..solvers.methods import METHODS

    word = name.casefold()
    problem = problem_meant(name)
    said = [each for each, words in _ALSO_CALLED.items() if word in words.split()]
    said += [f"solve GAME --problem {problem}"] * (problem is not None)
    said += [f"solve GAME --method {word}"] * (word in METHODS)
    said += [f"solve {name}"] * (word.partition(":")[0] in GAMES or Path(name).is_file())
    if said:
        return f" (did you mean treeplex {said[0]}?)"
    return nearest(name, [*commands.split(", "), "--help", "--version"])


def _plain(parameters: list[Any]) -> list[Any]:
    """Keep newer releases of typer from showing ``<bool>`` beside flags and ``<str>`` beside arguments.

    A missing ``--help`` is false; otherwise typer loads pydantic to convert ``None``.
    """
    for parameter in parameters:
        if parameter.metavar is None:
            parameter.metavar = ""
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None
        if parameter.name == "help" and parameter.default is None:
            parameter.default = False
    return parameters


def _print_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"treeplex {__version__}")
        raise typer.Exit


def treeplex(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Solve extensive-form games, exactly or iteratively, with certified error bounds."""


#: The commands grouped by purpose, as help lists them: the module of each, and the first sentence of its help.
GROUPS = {
    "Solve": {
        "solve": ("solve", "Solve a game, and certify the solution."),
        "style": (
            "style",
            "Find a strategy in a given style that loses little to any opponent, or prove that none exists.",
        ),
        "simplify": (
            "simplify",
            "Find the best strategy that is simple enough to be remembered, and prove how much it loses.",
        ),
        "sample": ("sample", "Run a sampling method on a game that is too large to enumerate."),
        "sweep": ("sweep", "Run a command for a grid or a list of settings, and store every result as it arrives."),
        "games": ("games", "List the games and their parameters."),
        "problems": ("games", "List the problems and their options."),
        "methods": ("games", "List the methods, the kinds of problems they solve, and their hyper-parameters."),
        "info": ("info", "Show the sizes of a game, its value if known, and its infosets."),
    },
    "Learn from play": {
        "play": ("play", "Play games between two strategies, and write a log."),
        "fit": ("fit", "Find the best strategy against the worst opponent that fits a log of games."),
        "review": ("review", "Review the decisions of a player: what they cost, and the costliest habits."),
    },
    "Poker": {
        "match": ("match", "Play no-limit hold'em between bots."),
        "tune": ("tune", "Tune a threshold automaton for no-limit hold'em by playing matches."),
        "portfolio": ("portfolio", "Learn which of several bots wins the most at no-limit hold'em."),
        "browse": (
            "browse",
            "Browse a solved spot in the browser: charts of hands, EV and equity by action and card.",
        ),
    },
    "Patrols": {
        "patrol": (
            "patrol",
            "Plan patrols on a map: where units should be, and when, so that attackers gain the least.",
        ),
        "patrol schedule": (
            "patrol",
            "Draw random daily routes for units from a plan.",
        ),
        "patrol roster": (
            "rosters",
            "Draw routes and crews for the units of a plan, for many days.",
        ),
        "patrol evaluate": (
            "patrol_evaluate",
            "Evaluate an old plan on a changed map, and compare it with the best plan there.",
        ),
        "patrol export": (
            "patrol",
            "Write a plan for a geographic information system, or as a table.",
        ),
        "patrol learn": (
            "incidents",
            "Learn intervals of the probabilities of attackers from a log of incidents.",
        ),
    },
    "Strategies and files": {
        "show": (
            "strategies",
            "Print the action probabilities of strategies, or the hands of a solved spot and their EV.",
        ),
        "evaluate": (
            "strategies",
            "Evaluate strategies from any source: payoffs, exploitability and violated constraints.",
        ),
        "compare": (
            "strategies",
            "Compare two strategies or profiles: where they differ most, and their payoffs against each other.",
        ),
        "export": (
            "export",
            "Write a game, its matrices, its linear program or a picture to a file.",
        ),
    },
    "Checks": {
        "validate": ("validate", "Solve a suite of problems exactly and iteratively, and compare the solutions."),
        "reproduce": ("reproduce", "Compute a figure or table of a paper, check it, and draw it."),
        "doctor": ("doctor", "Show what is installed and whether it works; include the output in bug reports."),
        "warmup": ("warmup", "Compile the loops of iterative methods in advance, so that later solves start at once."),
    },
}
#: All commands, in that order.
COMMANDS = {name: said for commands in GROUPS.values() for name, said in commands.items()}
#: The commands that take no game.
_WITHOUT_GAME = (
    "games",
    "problems",
    "methods",
    "match",
    "tune",
    "portfolio",
    "sweep",
    "validate",
    "reproduce",
    "doctor",
    "warmup",
)
#: The second words of two-word commands.
_SECOND = {name.partition(" ")[2]: name.partition(" ")[0] for name in COMMANDS if " " in name}


def function_of(name: str) -> Any:
    """Return the function of a command; its module is imported on first use."""
    module = importlib.import_module(f".{COMMANDS[name][0]}", __package__)
    return getattr(module, name.replace(" ", "_"))


def _whole(name: str, declared: bool) -> Any:
    """Return the function of a command with separate options, including those that dataclasses declare if requested."""
    whole = with_groups(function_of(name))
    whole = with_declared_options(whole) if declared else whole
    return whole if name in _WITHOUT_GAME else with_memory_option(whole)


def _before_dashes(arguments: list[str]) -> list[str]:
    """Return the arguments before ``--``, which may be options."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _asks_for_help(arguments: list[str]) -> bool:
    """Whether the arguments of a command ask for its short help."""
    options = _before_dashes(arguments[1:])
    return bool({"-h", "--help"} & set(options)) and ALL not in options


def application(chosen: str, every: bool = False, brief: bool = False) -> Any:
    """Return the application.

    Parameters
    ----------
    chosen : str
        The command to build with all of its options. The others are only listed, not imported.
    every : bool
        Give the other commands their options too, except those that dataclasses declare.
    brief : bool
        Leave out the chosen command's declared options as well, for help only.
    """
    app = typer.Typer(
        name="treeplex",
        cls=Commands,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Exit status: 0, even if a limit ends the run; 1 if a check fails or a model is infeasible; 2 for bad "
        "input; 130 after Ctrl-C.",
    )
    app.callback()(treeplex)
    for name, (_, summary) in COMMANDS.items():
        if every or name == chosen:
            whole = _whole(name, name == chosen and not brief)
            app.command(name, cls=Brief if brief and declares_options(whole) else Command)(whole)
        else:
            app.command(name, cls=Listed, help=summary)(lambda: None)
    return typer.main.get_command(app)


#: Lines are as wide as the terminal within these bounds; rich prints blanks if a column has no space.
NARROWEST, WIDEST = 20, 1000


def bound_width() -> None:
    """Limit the width of the terminal, or the value of ``COLUMNS``, to these bounds."""
    width = shutil.get_terminal_size((120, 24)).columns
    bounded = min(max(width, NARROWEST), WIDEST)
    if bounded != width or os.environ.get("COLUMNS", "").isdigit():
        os.environ["COLUMNS"] = str(bounded)


def invoke(arguments: list[str]) -> int:
    """Run the command that the arguments name, and return its exit status.

    Typer's own ``main`` is not used, because it exits by itself when standard output is closed or Ctrl-C is pressed.
    """
    bound_width()
    if len(arguments) > 1 and _SECOND.get(arguments[1]) == arguments[0]:
        arguments = [" ".join(arguments[:2]), *arguments[2:]]
    elif len(arguments) > 1:
        _check_second(*arguments[:2])
    command = application(arguments[0] if arguments else "", brief=_asks_for_help(arguments))
    try:
        asked = ["--help"] if arguments in ([], [ALL]) else arguments
        context = command.make_context("treeplex", asked, obj=Within())
        with running(arguments), context, timed("building"):
            return int(command.invoke(context) or ExitStatus.SUCCESS)
    except typer.Exit as end:
        return int(end.exit_code)
    except typer.Abort:
        raise KeyboardInterrupt from None


def _check_second(first: str, second: str) -> None:
    """Raise an error for a misspelt second word of a command, unless it names a file."""
    known = [name for name, command in _SECOND.items() if command == first]
    hint = "" if second.startswith("-") or Path(second).suffix or Path(second).exists() else nearest(second, known)
    if hint:
        meant = hint.replace("did you mean ", f"did you mean treeplex {first} ")
        raise CommandLineError(f"{shown(second, 60)} is neither a file nor a command of treeplex {first}{meant}")


def usage_message(error: Any) -> str:
    """Return a usage error as one line that points to the help."""
    text = str(error.format_message()).strip().removesuffix(".")
    context = getattr(error, "ctx", None)
    missing: Any = getattr(error, "param", None)
    if text.startswith("No such option"):
        text = f"no such option: {error.option_name}{_nearest_option(error.option_name, context)}"
    elif text == "Missing command" and context is not None:
        text += f"; expected one of {', '.join(context.command.commands)}"
    elif text.startswith("Missing") and getattr(missing, "help", None):
        said = missing.help.removesuffix(".")
        text += f": {said[0].lower() if said[1:2].islower() else said[0]}{one_line(said[1:], 160)}"
    elif text.startswith("Got unexpected extra argument") and context is not None:
        takes = [each.metavar for each in context.command.params if each.param_type_name == "argument"]
        expected = f"only {' and '.join(takes)}: put values that contain spaces in quotes" if takes else "only options"
        text = f"{text}; expected {expected}"
    elif text.endswith("requires an argument"):
        text = f"{error.option_name}: the value is missing{_expected_by(error.option_name, context)}"
    path = context.command_path if context is not None else "treeplex"
    return f"{text[:1].lower()}{text[1:]} (see {path} --help)"


#: Names of options in other programs, and the options that mean the same here.
_OPTIONS_ALSO_CALLED = {
    "--max-iterations": "iters iter iterations num-iterations n steps epochs",
    "--method": "algorithm algo alg solver m",
    "--problem": "task objective kind",
    "--out": "o output save file write",
    "--time-limit": "timeout time seconds max-time",
    "--tol": "tolerance accuracy precision gap",
    "--seat0": "opponent opponents player0 p0 seats players",
    "--strategy": "profile policy strategies",
    "--html": "report page",
    "--plot": "draw figure picture chart",
    "--games": "hands rounds n",
    "--hands": "games rounds n",
    "--stack": "stacks chips depth",
    "--blinds": "blind sb bb",
    "--jobs": "processes workers j",
    "--opponent": "against opponents versus vs",
    "--target": "style targets",
    "--suite": "set",
}


def _nearest_option(option: str, context: Any) -> str:
    """Return a suggestion in parentheses for an unknown option."""
    known = [*_options(context.command), "--help", ALL] if context is not None else []
    arguments = [each.metavar for each in context.command.params if each.param_type_name == "argument"] if known else []
    plain = option.strip("-").casefold()
    if plain.upper() in arguments:
        return f" (an argument: write treeplex {context.command.name} {' '.join(arguments)})"
    meant = [name for name, words in _OPTIONS_ALSO_CALLED.items() if name in known and plain in words.split()]
    if meant:
        return f" (did you mean {meant[0]}?)"
    # An abbreviation stands for the options that begin with it.
    begun = [name for name in known if len(option) > 2 and name.startswith(option)]
    begun += [name for name in known if len(name) > 4 and option.startswith(name)]
    if begun:
        return f" (did you mean {begun[0]}?)"
    methods = methods_with(option)
    if methods:
        return f" (a parameter of {', '.join(methods)}: write --method {methods[0]}:{option.lstrip('-')}=…)"
    within = context is not None and hasattr(context.find_root().command, "commands")
    others = application("", every=True).commands if within else {}
    takers = [name for name, command in others.items() if option in _options(command)]
    if takers:
        return f" (an option of {', '.join(takers)})"
    return nearest(option.lstrip("-"), [name.lstrip("-") for name in known]).replace("mean ", "mean --")


def _options(command: Any) -> list[str]:
    """Return the long options of a command."""
    return [option for parameter in command.params for option in parameter.opts if option.startswith("--")]


def _expected_by(option: str, context: Any) -> str:
    """Return the placeholder of an option's value in its help."""
    for parameter in context.command.params if context is not None else ():
        if option in parameter.opts and parameter.metavar:
            return f", expected {parameter.metavar.replace('|-', ', or - for standard output')}"
    return ""


# Commands that run within other commands

#: The suffix of the strategies that each command writes with ``--out``.
_STRATEGIES = {"solve": ".npz", "style": ".npz", "simplify": ".npz", "fit": ".npz", "sample": ".jsonl"}
#: Options that name result files.
_OWN = ("json", "out", "html", "plot", "checkpoint", "resume", "help")
_commands = functools.cache(application)


def _command(name: str) -> Any:
    """Return a command that can run within another one.

    Raises
    ------
    CommandLineError
        If the command does not exist.
    """
    known = [each for each in COMMANDS if each not in ("sweep", "doctor", "warmup", "export", "browse")]
    if name not in known:
        raise CommandLineError(
            f"unknown command {shown(name, 60)}{nearest(str(name), known)}; expected one of {', '.join(known)}"
        )
    return _commands(name).commands[name]


def _words(command: Any, setting: Mapping[str, Any]) -> list[str]:
    """Return a setting as command-line arguments.

    Raises
    ------
    CommandLineError
        If the command has no such option, or the option does not take this value.
    """
    from ..validation.sweep_settings import as_text

    arguments = {each.metavar.lower(): each for each in command.params if each.param_type_name == "argument"}
    options = {
        opt[2:]: each for each in command.params for opt in (*each.opts, *each.secondary_opts) if opt[:2] == "--"
    }
    words, positions = [], {}
    for given, value in setting.items():
        name = given.replace("_", "-")
        values = [as_text(one) for one in (value if isinstance(value, list | tuple) else [value])]
        if name in _OWN:
            raise CommandLineError(f"{given}: leave it out, because a sweep stores the results itself")
        each = arguments.get(name) or options.get(name)
        if each is None:
            known = [*arguments, *(each for each in options if each not in _OWN)]
            raise CommandLineError(
                f"{given}: {command.name} has no such option{nearest(name, known)}; expected one of {', '.join(known)}"
            )
        if isinstance(value, list | tuple) and not (name in options and each.multiple):
            raise CommandLineError(f"{given} is {shown(value, 60)}, expected one value; put a list of values in [grid]")
        if name in arguments:
            positions[name] = values[0]
        elif not each.is_flag:
            words += [f"--{name}={text}" for text in values]
        elif values[0] not in ("true", "false"):
            raise CommandLineError(f"{given} is {shown(value, 60)}, expected true or false")
        elif values[0] == "true":
            words.append(f"--{name}")
    return [*words, "--", *(positions[name] for name in arguments if name in positions)]


def _context(command: Any, words: list[str]) -> Any:
    """Return the context in which a command runs, after parsing its arguments.

    Raises
    ------
    CommandLineError
        If an argument is wrong.
    """
    try:
        return command.make_context(command.name, words)
    except UsageError as error:
        raise CommandLineError(usage_message(error)) from None


def check_command(command: str, **setting: Any) -> None:
    """Reject settings that :func:`run_command` cannot run, before anything is computed.

    Raises
    ------
    CommandLineError
    """
    found = _command(command)
    _context(found, _words(found, setting))


def run_command(command: str, **setting: Any) -> "Found":
    """Run a command within this process, and return its JSON and the file of its strategies.

    Parameters
    ----------
    command : str
        Its name.
    **setting
        Arguments and options by name, with ``_`` or ``-``: numbers, strings, true for a flag, and lists for repeatable
        options.

    Raises
    ------
    CommandLineError, TreeplexError
        If the command fails without a result.

    Examples
    --------
    >>> from treeplex.cli.application import run_command
    >>> found = run_command("solve", game="kuhn", problem="rnr", opponent="uniform", p="1/2")
    >>> found.result["status"], round(found.result["objective"], 6)
    ('optimal', 0.138889)
    """
    from ..validation.sweeps import Found

    chosen = _command(command)
    words = _words(chosen, setting)
    suffix = "" if setting.get("frontier") else _STRATEGIES.get(command, "")
    with TemporaryDirectory() as folder, recording() as records, unkept():
        file = Path(folder) / f"strategies{suffix}"
        out = [f"--out={file}"] if suffix else []
        with _context(chosen, [f"--json={STANDARD_OUTPUT}", *out, *words]) as context, stopwatch("building"):
            status = chosen.invoke(context)
        if status == ExitStatus.INTERRUPTED:
            raise KeyboardInterrupt
        return Found(records[-1], file.read_bytes() if suffix and file.is_file() else None, suffix)


class Within:
    """The result of a command that runs within another one."""

    check, run = staticmethod(check_command), staticmethod(run_command)
