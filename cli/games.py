"""``treeplex games``: the registry."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .files import STANDARD_OUTPUT, check_files, write_json
from .options import JsonOption
from .tables import console, show

if TYPE_CHECKING:
    from ..models.games import Family, Parameter

_TYPES = {bool: "boolean", int: "integer", float: "number", Fraction: "number", str: "string"}


def games(
    json: JsonOption = None,
) -> int:
    """List the games and their parameters."""
    check_files({}, json=json)
    from .. import __version__
    from ..models.games import families

    write_json({"schema": 1, "version": __version__, "games": [family_record(family) for family in families()]}, json)
    if json != STANDARD_OUTPUT:
        _print(families())
    return 0


def family_record(family: "Family") -> dict[str, Any]:
    """Return a family of games as plain data, ready for JSON."""
    return {
        "name": family.name,
        "summary": family.summary,
        "citation": family.citation,
        "parameters": [
            {
                "name": parameter.name,
                "type": _TYPES[parameter.kind],
                "default": _plain(parameter.default),
                "default_text": parameter.shown,
                "minimum": parameter.about.minimum,
                "maximum": parameter.about.maximum,
                "choices": list(parameter.choices) or None,
                "description": parameter.about.description,
            }
            for parameter in family.parameters
        ],
    }


def _plain(default: object) -> object:
    """Return a default as JSON takes it: a fraction as a whole number or as text."""
    if isinstance(default, Fraction):
        return default.numerator if default.denominator == 1 else str(default)
    return default


def _print(families: "tuple[Family, ...]") -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    out = console()
    parameters = [parameter for family in families for parameter in family.parameters]
    width = max((len(_assignment(parameter)) for parameter in parameters), default=0)
    for family in families:
        heading = Table.grid(padding=(0, 2))
        heading.add_row(Text(family.name, style="bold cyan", no_wrap=True), family.summary)
        show(out, heading)
        table = Table.grid(padding=(0, 2), expand=False)
        table.add_column(width=width, no_wrap=True)
        table.add_column()
        for parameter in family.parameters:
            about = Text(parameter.about.description)
            about.append(f" ({parameter.expected})", style="dim")
            table.add_row(_assignment(parameter), about)
        if family.parameters:
            show(out, Padding(table, (0, 0, 0, 4)))
        show(out, Padding(Text(family.citation, style="italic dim"), (0, 0, 1, 4)))
    out.print("A game is NAME or NAME:key=value,key=value, such as leduc:ranks=6,merge_suits=true.")


def _assignment(parameter: "Parameter") -> str:
    return f"{parameter.name}={parameter.shown}"
