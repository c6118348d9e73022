"""``treeplex games``, ``problems`` and ``methods``: lists of what the library and its extensions provide."""

import shlex
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.sheet import Column, Row, Sheet, Table, several
from .files import Record, check_files
from .options import JsonOption, flag_of
from .tables import console, print_sheet, show

if TYPE_CHECKING:
    from ..models.games import Family
    from ..seqform.parameters import Parameter
    from ..seqform.registry import Registry

_TYPES = {bool: "boolean", int: "integer", float: "number", Fraction: "number"}


_Name = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="Show only the item with this name, with its parameters and an example."),
]


def games(name: _Name = None, json: JsonOption = None) -> int:
    """List the games and their parameters."""
    check_files({}, json=json)
    from ..models.games import GAMES

    found = []
    for family in _chosen(GAMES, name).values():
        record, parameters = family_record(family), [each for each in family.parameters if each.default is not None]
        values = ",".join(f"{each.name}={each.shown}" for each in parameters[:2])
        example = f"treeplex solve {family.name}{':' * bool(values)}{values}"
        found.append(record | {"package": GAMES.package(family.name), "example": example})
    usage = "A game is NAME or NAME:key=value,key=value, such as leduc:ranks=6,merge_suits=true."
    return _listed("games", found, usage, json, alone=name is not None)


def problems(name: _Name = None, json: JsonOption = None) -> int:
    """List the problems and their options."""
    check_files({}, json=json)
    from ..models.problems import PROBLEMS
    from ..models.problems.registry import problem_meant
    from ..seqform.extensions import summary_of
    from ..validation.questions import question_parameters

    found = []
    for one, kind in _chosen(PROBLEMS, name, problem_meant).items():
        taken = _records(question_parameters(one).values(), flags=True)
        record = {"name": one, "summary": summary_of(kind), "parameters": taken, "package": PROBLEMS.package(one)}
        if name is not None:
            from ..solvers.methods import methods_for

            record["methods"] = methods_for(kind.always_needs)
        found.append(record | {"example": _problem_example(one)})
    return _listed("problems", found, "treeplex solve takes them as options, --p 1/2.", json, alone=name is not None)


def methods(name: _Name = None, json: JsonOption = None) -> int:
    """List the methods, the kinds of problems they solve, and their hyper-parameters."""
    check_files({}, json=json)
    from ..models.problems import PROBLEMS
    from ..seqform.extensions import summary_of
    from ..solvers.methods import METHODS, class_of, method_parameters

    found = []
    for one, maker in _chosen(METHODS, name).items():
        kind, preset = class_of(maker), maker.keywords if isinstance(maker, partial) else {}
        taken = [each for each in method_parameters(one) if each.name not in preset]
        solves = [problem for problem, each in PROBLEMS.items() if each.always_needs <= kind.serves]
        record = {"name": one, "summary": summary_of(kind), "parameters": _records(taken), "solves": solves}
        # those without an option, set only in the text
        shown = [each for each in taken if each.default is not None]
        shown = [each for each in shown if not each.about.option] or shown[:1]
        values = ",".join(f"{each.name}={each.shown}" for each in shown[:2])
        example = f"{_problem_example(solves[0])} --method {one}{':' * bool(values)}{values}" if solves else None
        record |= {"serves": sorted(map(str, kind.serves)), "package": METHODS.package(one)}
        found.append(record | {"example": example})
    usage = "A method is NAME or NAME:key=value,key=value; treeplex solve takes most parameters as options too."
    return _listed("methods", found, usage, json, alone=name is not None)


def _chosen(registry: "Registry[Any]", name: str | None, meant: Callable[[str], str | None] | None = None) -> Any:
    """Return the item with this name, or all items by name.

    Raises
    ------
    TreeplexError
        If no item has that name.
    """
    if name is None:
        return registry
    one = name.partition(":")[0].strip()
    return {one: registry.find(one, hinted=meant and meant(one))}


def _problem_example(name: str) -> str:
    """Return a command that solves a problem with its required options only."""
    from ..models.problems import PROBLEMS
    from ..validation.questions import question_parameters

    kind = PROBLEMS[name]
    words = ["treeplex solve", kind.example_game, *([] if name == "nash" else [f"--problem {name}"])]
    for word, each in question_parameters(name).items():
        if each.required or each.name in (*kind.one_of[:1], *kind.some_of[:1]):
            words.append(f"{flag_of(word)} {shlex.quote(each.about.example or each.form)}")
    return " ".join(words)


def family_record(family: "Family") -> dict[str, Any]:
    """Return a family of games as plain data, ready for JSON."""
    return {
        "name": family.name,
        "summary": family.summary,
        "citation": family.citation,
        "parameters": _records(family.parameters),
    }


def _records(parameters: "Iterable[Parameter]", *, flags: bool = False) -> list[dict[str, Any]]:
    """Return parameters as plain data; with `flags`, as options of the command line."""
    return [
        {
            "name": parameter.name,
            "type": _TYPES.get(parameter.kind, "string"),
            "default": _plain(parameter.default),
            "default_text": parameter.shown,
            "required": parameter.required,
            "minimum": parameter.about.minimum,
            "maximum": parameter.about.maximum,
            "choices": list(parameter.choices) or None,
            "description": parameter.about.description,
            "expected": parameter.expected,
            "usage": f"{flag_of(parameter.word)} {parameter.form}" if flags else parameter.name,
        }
        for parameter in parameters
    ]


def _plain(default: object) -> object:
    """Return a default as JSON: a fraction as an integer or as text."""
    if isinstance(default, Fraction):
        return default.numerator if default.denominator == 1 else str(default)
    return default if isinstance(default, bool | int | float | str | None) else str(default)


def _listed(kind: str, found: list[dict[str, Any]], usage: str, json: str | None, *, alone: bool) -> int:
    """Write the JSON, and print a short list, or the requested item in full."""
    listing = Record(json, (), **{kind: found})
    listing.write()
    if not listing.shown:
        return 0
    if alone:
        print_sheet(_sheet(found[0]))
        return 0
    from rich.padding import Padding
    from rich.table import Table as Grid
    from rich.text import Text

    out = console()
    width = max((len(_short(each)) for record in found for each in record["parameters"]), default=0)
    for record in found:
        heading = Grid.grid(padding=(0, 2))
        heading.add_row(Text(record["name"], style="bold cyan", no_wrap=True), record["summary"])
        show(out, heading)
        grid = Grid.grid(padding=(0, 2), expand=False)
        grid.add_column(width=width, no_wrap=True)
        grid.add_column()
        for parameter in record["parameters"]:
            about = Text(parameter["description"])
            about.append(f" ({parameter['expected']})", style="dim")
            grid.add_row(_short(parameter), about)
        if record["parameters"]:
            show(out, Padding(grid, (0, 0, 0, 4)))
        notes = [record.get("citation", ""), f"solves {', '.join(record['solves'])}" if record.get("solves") else ""]
        notes.append("" if record["package"] == "treeplex" else f"from the package {record['package']}")
        if any(notes):
            show(out, Padding(Text("\n".join(filter(None, notes)), style="italic dim"), (0, 0, 0, 4)))
        out.print()
    out.print(usage)
    return 0


def _short(parameter: Mapping[str, Any]) -> str:
    """Return a parameter's entry in a list: an option, or a name with its default."""
    written = str(parameter["usage"])
    return written if written.startswith("--") else f"{written}={parameter['default_text']}"


def _sheet(record: Mapping[str, Any]) -> Sheet:
    """Return one item as an answer sheet."""
    rows = [
        (
            each["usage"],
            each["type"],
            "required" if each["required"] else each["default_text"],
            f"{each['description']} ({each['expected']})",
        )
        for each in record["parameters"]
    ]
    package = None if record["package"] == "treeplex" else record["package"]
    return Sheet(
        [
            Row("name", record["name"]),
            Row("summary", record["summary"], label=""),
            Row("solves", record.get("solves"), several(str)),
            Row("methods", record.get("methods"), several(str), label="solved by"),
            Row("citation", record.get("citation"), label="source"),
            Row("package", package),
            Row("example", record["example"]),
        ],
        [Table([Column("parameter"), Column("type"), Column("default"), Column("meaning")], rows)],
    )
