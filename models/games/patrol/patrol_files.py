"""Patrols from TOML files, with errors that name the line and the key."""

import re
from dataclasses import MISSING, fields
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ....seqform.errors import InvalidGameError
from ....seqform.interchange.files import naming
from ....seqform.interchange.toml_table import Table, read_toml
from .cases import check_uncertainty
from .clock import Clock
from .commitment import Commitment
from .declarations import KINDS, PatrolError, about
from .map_files import read_map
from .patrol import Patrol
from .road_map import RoadMap
from .uncertainty import Uncertainty
from .units_payoff import check_commitment

#: The keys of the file, and of its payoffs; the keys of other tables are the fields of their type.
KEYS = (
    *(
        "map",
        "steps",
        "begin",
        "end",
        "step",
        "timezone",
        "speed",
        "length",
        "names",
        "failure",
        "units",
        "attackers",
        "payoffs",
    ),
    *("limits", "sensors", "closures", "traffic", "areas", "uncertainty", "scenarios", "commitment"),
)
_PAYOFFS = ("meeting", "step", "detections", "forfeits")
#: Why keys that a user may expect do not exist.
_ADVICE = {
    "sightings": "units and attackers cannot react to each other, because payoffs would not be bilinear in their flows"
}
#: Speeds with a unit, for maps whose lengths are metres.
_SPEED = re.compile(r"(\d+(?:\.\d+)?)\s*(km/h|m/s|mph)", re.IGNORECASE)
_METRES_PER_SECOND = {"km/h": 1 / 3.6, "m/s": 1.0, "mph": 0.44704}
#: The contents of tables, for messages; unlisted ones contain something at a place.
_SUCH_AS = {
    "units": 'start = "gate"',
    "attackers": 'entries = ["gate"]',
    "traffic": 'speed = 0.5 and times = ["07:00", "09:00"]',
    "scenarios": 'name = "match day" and goals = { bank = 5.0 }',
}
_AT = 'at = "gate"'


def is_patrol(top: Table) -> bool:
    """Return whether a TOML file describes a patrol rather than a hold'em spot."""
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
        top.check_keys(KEYS, _ADVICE)
        clock = _clock(top)
        return declared_patrol(top, _road_map(top, Path(path).parent, clock), name=Path(path).stem, spec=fspath(path))


def declared_patrol(top: Table, road_map: RoadMap, **known: Any) -> Patrol:
    """Return the declarations of a file for a map.

    Raises
    ------
    GameFileError, InvalidGameError
        The message names the line and the key.
    """
    top.check_keys(KEYS, _ADVICE)
    payoffs = top.table("payoffs", "[payoffs] with meeting = -1.0")
    payoffs.check_keys(_PAYOFFS)
    clock = _clock(top)
    steps = _steps(top, clock)
    top.needs("units", '[[units]] with start = "gate", or units = [] for none')
    declared: dict[str, Any] = {
        name: [kind(**_values(one, kind)) for one in top.tables(name, f"[[{name}]] with {_SUCH_AS.get(name, _AT)}")]
        for name, kind in KINDS.items()
    }
    declared["limits"] = [_limit(one) for one in top.tables("limits", '[[limits]] with text = "risk <= 0.05"')]
    declared["areas"] = top.table("areas", '[areas] with north = ["gate", "mill"]').values
    if "uncertainty" in top:
        intervals = top.table("uncertainty", "[uncertainty] with goals = { bank = [2.0, 4.0] }")
        declared["uncertainty"] = Uncertainty(**_values(intervals, Uncertainty))
    if "commitment" in top:
        own = top.table("commitment", "[commitment] with goals = { bank = -10.0 }")
        declared["commitment"] = Commitment(**_values(own, Commitment))
    failure = top.values.get("failure", 0.0)
    try:
        patrol = Patrol(road_map, steps, **declared, **payoffs.values, failure=failure, clock=clock, table=top, **known)
        check_uncertainty(patrol)
        if patrol.commitment is not None:
            with about("commitment"):
                check_commitment(patrol, patrol.commitment)
        return patrol
    except PatrolError as error:
        key = f"payoffs.{error.key}" if error.key in _PAYOFFS else error.key
        raise top.error(str(error), key) from None


def _clock(top: Table) -> Clock | None:
    """Return the clock of a file, if it has one."""
    given = [key for key in ("begin", "step") if key in top]
    if len(given) < 2:
        for key in ("end", "timezone", *given):
            if key in top:
                raise top.error(
                    f'{key} is given without the other keys of a clock, expected begin = "22:00" and step = "5 min"',
                    key,
                )
        return None
    try:
        return Clock(top.values["begin"], top.values["step"], top.values.get("timezone", ""))
    except InvalidGameError as error:
        raise top.error(str(error), str(error).split()[0]) from None


def _steps(top: Table, clock: Clock | None) -> Any:
    """Return the number of steps: as given, or until the end of the day."""
    if clock is None or "end" not in top:
        return top.needs(
            "steps", 'a whole number, such as 20, or a clock with begin = "22:00", end = "06:00" and step = "5 min"'
        )
    if "steps" in top:
        raise top.error("steps and end are given together, expected only one of the two", "steps")
    with top.about("end"):
        return clock.times((clock.begin, top.values["end"]), "end")[1] or round(86_400 / clock.seconds)


def _values(table: Table, kind: type[Any]) -> dict[str, Any]:
    """Return the arguments of a type; those without a default are required."""
    table.check_keys([each.name for each in fields(kind)])
    for each in fields(kind):
        if each.default is MISSING and each.default_factory is MISSING:
            such_as = {"goals": "values of nodes, such as { bank = 1.0 }"}
            table.needs(each.name, such_as.get(each.name, "a string, or a list of strings"))
    return table.values


def _limit(table: Table) -> Any:
    table.check_keys(("text",))
    return table.needs("text", "a string, such as 'risk <= 0.05'")


def _road_map(top: Table, folder: Path, clock: Clock | None) -> RoadMap:
    name = top.needs("map", 'a file, such as "roads.graphml"')
    with top.about("map"):
        if not isinstance(name, str) or not name:
            raise top.error(f"map is {name!r}, expected the name of a file", "map")
        graph = read_map(folder / name)
        options: dict[str, Any] = {key: top.values[key] for key in ("speed", "length", "names") if key in top}
        if isinstance(options.get("speed"), str):
            options["speed"] = _speed(top, options["speed"], clock)
        for key in ("length", "names"):
            if not isinstance(options.get(key, "text"), str):
                raise top.error(f"{key} is {options[key]!r}, expected the name of an attribute", key)
        return RoadMap.from_graph(graph, **options)


def _speed(top: Table, text: str, clock: Clock | None) -> float:
    """Return a speed such as ``30 km/h`` in metres per step."""
    found = _SPEED.fullmatch(text.strip())
    if found is None:
        raise top.error(
            f"speed is {text!r}, expected a length per step such as 250, or a speed such as '30 km/h'", "speed"
        )
    if clock is None:
        raise top.error(f"speed is {text!r}, but without a clock a step has no length; add begin and step", "speed")
    return float(found[1]) * _METRES_PER_SECOND[found[2].lower()] * clock.seconds
