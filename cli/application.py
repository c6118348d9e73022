"""Puts the commands together with typer, and reports usage errors in one line."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..seqform.errors import nearest
from .errors import ExitStatus
from .export import export
from .fit import fit
from .games import games
from .info import info
from .options import with_declared_options
from .play import play
from .reproduce import reproduce
from .sample import sample
from .solve import solve
from .style import style
from .validate import validate

# Typer's usage errors are click's in its older releases and its own in newer ones: reach them through what it exports.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class Command(TyperCommand):
    """A command whose usage errors know it, and whose help shows no types."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; an option without its value is an error of this command."""
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            if getattr(error, "ctx", None) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, of which help shows no types but the placeholders that are given."""
        return _without_types(super().get_params(ctx))


class Commands(TyperGroup):
    """The commands in the order in which they are added; an unknown one is told what there is."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, as those of :class:`Command`."""
        return _without_types(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names."""
        name = args[0] if args else ""
        if name not in self.commands and not name.startswith("-"):
            listed = ", ".join(self.commands)
            raise UsageError(f"unknown command {name!r}{nearest(name, self.commands)}; expected one of {listed}", ctx)
        return super().resolve_command(ctx, args)


def _without_types(parameters: list[Any]) -> list[Any]:
    """Keep help from showing ``<bool>`` beside a flag and ``<str>`` beside an argument, as new releases of typer do."""
    for parameter in parameters:
        if parameter.metavar is None:
            parameter.metavar = ""
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None
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
    """Solve extensive-form games, exactly or iteratively, and prove how good the answer is."""


COMMANDS = (games, info, solve, style, sample, play, fit, validate, reproduce, export)


def application(chosen: str) -> Any:
    """Return the application; only the command that is chosen has all of its options."""
    app = typer.Typer(
        name="treeplex",
        cls=Commands,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Exit status: 0; 1 if a check failed or a model is infeasible; 2 for bad input; 130 after Ctrl-C.",
    )
    app.callback()(treeplex)
    for command in COMMANDS:
        app.command(cls=Command)(with_declared_options(command) if command.__name__ == chosen else command)
    return typer.main.get_command(app)


def invoke(arguments: list[str]) -> int:
    """Run the command that the arguments name, and return its exit status.

    Typer's own ``main`` is not used: it exits by itself when standard output is closed or Ctrl-C is pressed.
    """
    command = application(arguments[0] if arguments else "")
    try:
        with command.make_context("treeplex", arguments) as context:
            return int(command.invoke(context) or ExitStatus.SUCCESS)
    except typer.Exit as end:
        return int(end.exit_code)
    except typer.Abort:
        raise KeyboardInterrupt from None


def usage_message(error: Any) -> str:
    """Return a usage error as one line that says where to read on."""
    text = str(error.format_message()).strip().removesuffix(".")
    context = getattr(error, "ctx", None)
    if getattr(error, "possibilities", None):
        # An abbreviation means what it begins.
        begun = [name for name in error.possibilities if name.startswith(error.option_name)]
        begun += [name for name in _options(context) if name.startswith(error.option_name)]
        text = f"no such option: {error.option_name} (did you mean {(begun or error.possibilities)[0]}?)"
    elif text == "Missing command" and context is not None:
        text += f"; expected one of {', '.join(context.command.commands)}"
    elif text.endswith("requires an argument"):
        text = f"{error.option_name}: the value is missing{_expected_by(error.option_name, context)}"
    path = context.command_path if context is not None else "treeplex"
    return f"{text[:1].lower()}{text[1:]} (see {path} --help)"


def _options(context: Any) -> list[str]:
    """Return the long options of a command."""
    parameters = context.command.params if context is not None else ()
    return [option for parameter in parameters for option in parameter.opts if option.startswith("--")]


def _expected_by(option: str, context: Any) -> str:
    """Return what an option takes, as its help calls it."""
    for parameter in context.command.params if context is not None else ():
        if option in parameter.opts and parameter.metavar:
            return f", expected {parameter.metavar.replace('|-', ', or - for standard output')}"
    return ""
