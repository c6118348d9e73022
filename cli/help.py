"""The format of ``--help``: plain text that fits on a screen; ``--help-all`` shows all options."""

import inspect
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: If the help is longer, options under their own headings are left out.
LONGEST = 60
#: The maximum widths of the help and of the column with option names.
_WIDEST, _NAMES = 100, 24
#: The option that every command has to show all of its options.
ALL = "--help-all"


def group_help(summary: str, groups: Mapping[str, Mapping[str, str]], epilog: str) -> str:
    """Return the help of an application: its commands grouped by purpose.

    Parameters
    ----------
    summary, epilog : str
        Text above and below.
    groups : mapping of str to mapping of str to str
        By heading, the first sentence of each command's help by command name.
    """
    lines = ["Usage: treeplex COMMAND [ARGUMENTS] [OPTIONS]", "", *_wrapped(summary)]
    width = max(map(len, (name for commands in groups.values() for name in commands)))
    for heading, commands in groups.items():
        lines += ["", f"{heading}:", *_rows((name.ljust(width), said) for name, said in commands.items())]
    more = {"treeplex COMMAND --help": "Show a command's options.", "treeplex --version": "Show the version."}
    return "\n".join([*lines, "", "More:", *_rows(more.items()), "", *_wrapped(epilog)])


def command_help(command: Any, context: Any, every: bool) -> str:
    """Return the help of a command.

    Parameters
    ----------
    command : Command
    context : object
        The context in which its arguments are parsed.
    every : bool
        Whether to show all options. Otherwise options under their own headings are left out if the command does not
        have all of its options, or if its help would be too long.
    """
    shown = [each for each in command.get_params(context) if not each.hidden]
    whole = _page(command, context, shown)
    if every or (not command.brief and whole.count("\n") < LONGEST):
        return whole
    return _page(command, context, [each for each in shown if _heading(each) == ""], more=True)


def _page(command: Any, context: Any, shown: Sequence[Any], more: bool = False) -> str:
    """Return the help of a command with the given parameters."""
    arguments = [each for each in shown if each.param_type_name == "argument"]
    options = [each for each in shown if each.param_type_name == "option"]
    usage = f"Usage: {' '.join([context.command_path, *(_named(each) for each in arguments), '[OPTIONS]'])}"
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    lines = [usage, *(line for each in paragraphs for line in ["", *_wrapped(each)])]
    if arguments:
        lines += ["", *_rows([(_named(each), each.help or "") for each in arguments])]
    for heading in dict.fromkeys(map(_heading, options)):
        own = [each.get_help_record(context) for each in options if _heading(each) == heading]
        lines += ["", f"{heading or 'Options'}:", *_rows(own, _NAMES)]
    if more:
        path = context.command_path
        said = {f"{path} {ALL}": "Show all options."}
        if command.brief:
            said |= {"treeplex problems NAME": "Show the options of a problem, such as rnr."}
            said |= {"treeplex methods NAME": "Show the parameters of a method, such as dcfr."}
        lines += ["", "More:", *_rows(said.items())]
    return "\n".join(lines)


def _heading(parameter: Any) -> str:
    """Return the heading of an option; none for common options."""
    return str(getattr(parameter, "rich_help_panel", None) or "")


def _named(argument: Any) -> str:
    """Return an argument's name, in brackets if it is optional."""
    name = argument.metavar or argument.name.upper()
    return name if argument.required or name[0] == "[" else f"[{name}]"


def _width() -> int:
    return min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)


def _wrapped(text: str, indent: int = 0) -> list[str]:
    """Return the lines of a text."""
    room = max(_width() - indent, 20)
    lines = textwrap.wrap(" ".join(text.split()), room, break_long_words=False, break_on_hyphens=False)
    return [" " * indent + line for line in lines]


def _rows(rows: Iterable[tuple[str, str]], most: int = _WIDEST, indent: int = 2) -> list[str]:
    """Return the lines of names and descriptions; a name longer than `most` has its own line."""
    rows = list(rows)
    column = min(indent + min(most, max(len(name) for name, _ in rows)) + 2, _width() // 2)
    lines = []
    for name, said in rows:
        lead, text = " " * indent + name, _wrapped(said, column)
        if text and len(lead) + 2 <= column:
            text[0] = lead.ljust(column) + text[0].lstrip()
        else:
            lines.append(lead)
        lines += text
    return lines
