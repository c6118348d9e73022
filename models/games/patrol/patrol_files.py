"""Patrols from TOML files, with errors that name the line and the key."""

from dataclasses import MISSING, fields
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ....seqform.interchange.files import naming
from ....seqform.interchange.toml_table import Table, read_toml
from .declarations import KINDS, PatrolError
from .map_files import read_map
from .patrol import Patrol
from .road_map import RoadMap

#: The keys of the file, and of its payoffs; the keys of other tables are the fields of their type.
_KEYS = (
    *("map", "steps", "speed", "length", "names", "failure", "units", "attackers", "payoffs", "limits", "sensors"),
    *("closures", "areas"),
)
_PAYOFFS = ("meeting", "step")
#: The contents of tables, for messages; unlisted ones contain something at a place.
_SUCH_AS, _AT = {"units": 'start = "gate"', "attackers": 'entries = ["gate"]'}, 'at = "gate"'


def is_patrol(top: Table) -> bool:
    """Return whether a TOML file describes a patrol rather than a spot of hold'em."""
    return "board" not in top and any(key in top for key in ("map", "units", "attackers"))


def read_patrol(path: str | PathLike[str]) -> Patrol:
    r"""Read a patrol from a TOML file; the reference page on patrols lists its keys.

    Raises
    ------
    GameFileError, InvalidGameError
        The message names the file, the line and the key.

    Examples
    --------
    >>> from pathlib import Path
    >>> from treeplex import load_game
    >>> _ = Path("roads.csv").write_text("gate,mill\nmill,bank\n")
    >>> _ = Path("town.toml").write_text('''
    ... map = "roads.csv"
    ... steps = 4
    ... [[units]]
    ... start = "mill"
    ... [[attackers]]
    ... entries = ["gate"]
    ... goals = { bank = 1.0 }
    ... ''')
    >>> load_game("town.toml").patrol.map.nodes
    ('gate', 'mill', 'bank')
    """
    with naming(path):
        top = read_toml(path)
        top.check_keys(_KEYS)
        return declared_patrol(top, _road_map(top, Path(path).parent), name=Path(path).stem, spec=fspath(path))


def declared_patrol(top: Table, road_map: RoadMap, **known: Any) -> Patrol:
    """Return the declarations of a file for a map.

    Raises
    ------
    GameFileError, InvalidGameError
        The message names the line and the key.
    """
    top.check_keys(_KEYS)
    payoffs = top.table("payoffs", "[payoffs] with meeting = -1.0")
    payoffs.check_keys(_PAYOFFS)
    steps = top.needs("steps", "a whole number, such as 20")
    top.needs("units", '[[units]] with start = "gate", or units = [] for none')
    declared: dict[str, Any] = {
        name: [kind(**_values(one, kind)) for one in top.tables(name, f"[[{name}]] with {_SUCH_AS.get(name, _AT)}")]
        for name, kind in KINDS.items()
    }
    declared["limits"] = [_limit(one) for one in top.tables("limits", '[[limits]] with text = "risk <= 0.05"')]
    declared["areas"] = top.table("areas", '[areas] with north = ["gate", "mill"]').values
    failure = top.values.get("failure", 0.0)
    try:
        return Patrol(road_map, steps, **declared, **payoffs.values, failure=failure, table=top, **known)
    except PatrolError as error:
        key = f"payoffs.{error.key}" if error.key in _PAYOFFS else error.key
        raise top.error(str(error), key) from None


def _values(table: Table, kind: type[Any]) -> dict[str, Any]:
    """Return the arguments of a type; those without a default are required."""
    table.check_keys([each.name for each in fields(kind)])
    for each in fields(kind):
        if each.default is MISSING:
            such_as = {"goals": "values of nodes, such as { bank = 1.0 }"}
            table.needs(each.name, such_as.get(each.name, "a string, or a list of strings"))
    return table.values


def _limit(table: Table) -> Any:
    table.check_keys(("text",))
    return table.needs("text", "a string, such as 'risk <= 0.05'")


def _road_map(top: Table, folder: Path) -> RoadMap:
    name = top.needs("map", 'a file, such as "roads.graphml"')
    with top.about("map"):
        if not isinstance(name, str) or not name:
            raise top.error(f"map is {name!r}, expected the name of a file", "map")
        graph = read_map(folder / name)
        options: dict[str, Any] = {key: top.values[key] for key in ("speed", "length", "names") if key in top}
        for key in ("length", "names"):
            if not isinstance(options.get(key, "text"), str):
                raise top.error(f"{key} is {options[key]!r}, expected the name of an attribute", key)
        return RoadMap.from_graph(graph, **options)
