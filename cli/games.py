"""``treeplex games``, ``problems`` and ``methods``: what there is, of the library and of packages that extend it."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from .files import Record, check_files
from .options import JsonOption, flag_of
from .tables import console, show

if TYPE_CHECKING:
    from ..models.games import Family
    from ..seqform.parameters import Parameter

_TYPES = {bool: "boolean", int: "integer", float: "number", Fraction: "number"}


def games(json: JsonOption = None) -> int:
    """List the games and their parameters."""
    check_files({}, json=json)
    from ..models.games import GAMES

    found = [family_record(family) | {"package": GAMES.package(name)} for name, family in GAMES.items()]
    parameters = [family.parameters for family in GAMES.values()]
    usage = "A game is NAME or NAME:key=value,key=value, such as leduc:ranks=6,merge_suits=true."
    return _listed("games", found, parameters, usage, json)


def problems(json: JsonOption = None) -> int:
    """List the problems and what they take beside the game."""
    check_files({}, json=json)
    from ..models.problems import PROBLEMS
    from ..seqform.extensions import summary_of
    from ..validation.questions import question_parameters

    parameters = [tuple(question_parameters(name).values()) for name in PROBLEMS]
    found = [
        {"name": name, "summary": summary_of(kind), "parameters": _records(taken), "package": PROBLEMS.package(name)}
        for (name, kind), taken in zip(PROBLEMS.items(), parameters, strict=True)
    ]
    return _listed("problems", found, parameters, "treeplex solve takes them as options, --p 1/2.", json, flags=True)


def methods(json: JsonOption = None) -> int:
    """List the methods, the features of problems that they have, and their hyper-parameters."""
    check_files({}, json=json)
    from ..models.problems import PROBLEMS
    from ..seqform.extensions import summary_of
    from ..solvers.methods import METHODS, class_of, method_parameters

    preset = {name: maker.keywords if isinstance(maker, partial) else {} for name, maker in METHODS.items()}
    parameters = [tuple(one for one in method_parameters(name) if one.name not in preset[name]) for name in METHODS]
    found = []
    for (name, maker), taken in zip(METHODS.items(), parameters, strict=True):
        kind = class_of(maker)
        solves = [problem for problem, each in PROBLEMS.items() if each.always_needs <= kind.serves]
        record = {"name": name, "summary": summary_of(kind), "parameters": _records(taken), "solves": solves}
        found.append(record | {"serves": sorted(map(str, kind.serves)), "package": METHODS.package(name)})
    usage = "A method is NAME or NAME:key=value,key=value; treeplex solve takes most parameters as options too."
    return _listed("methods", found, parameters, usage, json)


def family_record(family: "Family") -> dict[str, Any]:
    """Return a family of games as plain data, ready for JSON."""
    return {
        "name": family.name,
        "summary": family.summary,
        "citation": family.citation,
        "parameters": _records(family.parameters),
    }


def _records(parameters: "Sequence[Parameter]") -> list[dict[str, Any]]:
    return [
        {
            "name": parameter.name,
            "type": _TYPES.get(parameter.kind, "string"),
            "default": _plain(parameter.default),
            "default_text": parameter.shown,
            "minimum": parameter.about.minimum,
            "maximum": parameter.about.maximum,
            "choices": list(parameter.choices) or None,
            "description": parameter.about.description,
        }
        for parameter in parameters
    ]


def _plain(default: object) -> object:
    """Return a default as JSON takes it: a fraction as a whole number or as text."""
    if isinstance(default, Fraction):
        return default.numerator if default.denominator == 1 else str(default)
    return default if isinstance(default, bool | int | float | str | None) else str(default)


def _listed(
    kind: str,
    found: list[dict[str, Any]],
    parameters: "Sequence[Sequence[Parameter]]",
    usage: str,
    json: str | None,
    *,
    flags: bool = False,
) -> int:
    """Write the JSON, and print a table a thing."""
    listing = Record(json, (), **{kind: found})
    listing.write()
    if not listing.shown:
        return 0
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    def written(parameter: "Parameter") -> str:
        if flags:
            return f"{flag_of(parameter.word)} {parameter.form}"
        return f"{parameter.name}={parameter.shown}"

    out = console()
    width = max((len(written(each)) for taken in parameters for each in taken), default=0)
    for record, taken in zip(found, parameters, strict=True):
        heading = Table.grid(padding=(0, 2))
        heading.add_row(Text(record["name"], style="bold cyan", no_wrap=True), record["summary"])
        show(out, heading)
        table = Table.grid(padding=(0, 2), expand=False)
        table.add_column(width=width, no_wrap=True)
        table.add_column()
        for parameter in taken:
            about = Text(parameter.about.description)
            about.append(f" ({parameter.expected})", style="dim")
            table.add_row(written(parameter), about)
        if taken:
            show(out, Padding(table, (0, 0, 0, 4)))
        notes = [record.get("citation", ""), f"solves {', '.join(record['solves'])}" if record.get("solves") else ""]
        notes.append("" if record["package"] == "treeplex" else f"of the package {record['package']}")
        if any(notes):
            show(out, Padding(Text("\n".join(filter(None, notes)), style="italic dim"), (0, 0, 0, 4)))
        out.print()
    out.print(usage)
    return 0
