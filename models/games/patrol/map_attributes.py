"""The attributes of a map: names in any spelling, and the directions of streets."""

import difflib
import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import networkx as nx

from ....seqform.checks import is_number
from ....seqform.errors import InvalidGameError, nearest, one_line, shown
from ....seqform.number_texts import read_float

#: The attributes of edges and of nodes that the library reads.
OF_EDGES = ("steps", "length", "oneway", "directed", "name")
OF_NODES = ("x", "y", "lon", "lat", "longitude", "latitude", "lng", "pos", "name", "label")
#: The attributes that may name a node of GeoJSON.
IDS = ("id", "osmid", "name", "label")
#: The attributes that name the two ends of an edge.
ENDS = (("source", "target"), ("from", "to"), ("u", "v"), ("start", "end"))

#: The directions in which a street may be used: the direction in which it is drawn, and the opposite one.
Way = tuple[bool, bool]
WITH, AGAINST, BOTH = (True, False), (False, True), (True, True)
_WAYS: dict[str, Way] = {
    **dict.fromkeys(("yes", "y", "true", "1", "ft", "fromto", "forward", "with", "oneway", "directed"), WITH),
    **dict.fromkeys(("-1", "reverse", "reversed", "tf", "tofrom", "backward", "against"), AGAINST),
    **dict.fromkeys(("no", "n", "false", "0", "b", "both", "twoway", "undirected", "mutual", "bidirectional"), BOTH),
}
#: Geofabrik's letters. In lower case PostgreSQL uses them for true and false.
_LETTERS = {"F": WITH, "T": AGAINST}
#: Streets whose direction changes with time.
_CHANGING = ("reversible", "alternating")
#: The representations of missing values in pandas and JSON.
_NOTHING = ("", "nan", "none", "null", "<na>")
#: OpenStreetMap tags that make a street one-way by default.
_IMPLYING = {"junction": ("roundabout", "circular"), "highway": ("motorway",)}
_WORDS = re.compile(r"[^\W\d_]+")
#: Similarity from which one name may be a misspelling of another.
_ALIKE = 0.75


@dataclass
class Notes:
    """Notes on how a map was read: each kind of change once, with the first place where it was made."""

    _places: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, what: str, where: str = "") -> None:
        """Note a change and its place."""
        self._places.setdefault(what, [where, 0])[1] += 1

    def __iter__(self) -> Iterator[str]:
        for what, (where, count) in self._places.items():
            others = f" and {count - 1:,} other{'s' * (count > 2)}" if count > 1 else ""
            yield one_line(f"{what}: {where}{others}" if where else what, 400)


class ReadGraph(nx.MultiDiGraph):  # type: ignore[type-arg]  # networkx's own class takes none at run time
    """A graph read from a file, with the reader's notes for :meth:`RoadMap.from_graph`; a copy has none.

    Attributes
    ----------
    notes : tuple of str
    names : tuple of str or None
        The names of all attributes of edges in the file, including directions, which the graph no longer has.
    """

    notes: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None


@lru_cache(maxsize=4096)
def meaning(name: str, known: tuple[str, ...]) -> str:
    """Return the known name that equals a name up to letter case, spaces, ``_`` and ``-``; otherwise the name itself.

    Examples
    --------
    >>> from treeplex.models.games.patrol.map_attributes import OF_EDGES, meaning
    >>> meaning(" Length ", OF_EDGES), meaning("ONE_WAY", OF_EDGES), meaning("Lanes", OF_EDGES)
    ('length', 'oneway', 'Lanes')
    """
    folded = name.strip().casefold()
    if folded in known:
        return folded
    joined = re.sub(r"[\s_-]+", "", folded)
    return joined if joined in known and len(joined) > 3 else name


def meant(
    data: Mapping[Any, Any],
    known: tuple[str, ...],
    refusal: Callable[[str], InvalidGameError],
    notes: Notes | None = None,
) -> dict[Any, Any]:
    """Return attributes under their standard names, without those that are ``None``.

    Parameters
    ----------
    data : mapping of str to object
    known : tuple of str
    refusal : callable
        Returns the exception for a message, if two attributes mean the same.
    notes : Notes, optional
        Receives a note for each name with a different spelling.
    """
    found: dict[Any, Any] = {}
    spelled: dict[str, str] = {}
    for key, value in data.items():
        if value is None:
            continue
        name = meaning(key, known) if isinstance(key, str) else key
        if name in known:
            if name in spelled:
                raise refusal(f"{shown(spelled[name], 40)} and {shown(key, 40)} both mean {name}, expected only one")
            spelled[name] = key
            if notes is not None and key.strip().casefold() != name:
                notes.add(f"the attribute {shown(key, 40)} is read as {name}")
        found[name] = value
    return found


def lookalikes(names: Iterable[Hashable], known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield unknown names with the known name that each resembles.

    Examples
    --------
    >>> from treeplex.models.games.patrol.map_attributes import lookalikes
    >>> list(lookalikes(["lenght", "step", "lanes", "length_m"], ["steps", "length"]))
    [('lenght', 'length'), ('step', 'steps'), ('length_m', 'length')]
    """
    for name in names:
        if not isinstance(name, str) or name in known:
            continue
        folded = name.casefold()[:100]
        words = _WORDS.findall(folded)
        close = [each for each in known if each in words] or difflib.get_close_matches(folded, known, 1, _ALIKE)
        if close:
            yield name, close[0]


def way_of(value: Any, name: str = "oneway") -> Way | None:
    """Return the directions in which a street may be used, from one attribute; nothing if the attribute is empty.

    Parameters
    ----------
    value : object
        A string in any case, a number or a truth value.
    name : str
        The name of the attribute: ``oneway`` or ``directed``.

    Raises
    ------
    InvalidGameError
        If the value is unknown.

    Examples
    --------
    >>> from treeplex.models.games.patrol.map_attributes import way_of
    >>> way_of("Yes"), way_of(-1.0), way_of(" no ")
    ((True, False), (False, True), (True, True))
    >>> way_of("ja")
    Traceback (most recent call last):
    treeplex.seqform.errors.InvalidGameError: oneway is 'ja', expected yes, no, or -1 against ...
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    text = str(value).strip()
    if text in _LETTERS and name == "oneway":
        return _LETTERS[text]
    folded = text.casefold()
    if folded in _NOTHING and isinstance(value, str):
        return None
    number = re.fullmatch(r"([+-]?\d+)(?:\.0*)?(?:e[+]?0+)?", folded)
    if number is not None and len(folded) < 40:
        folded = str(int(number[1]))
    joined = re.sub(r"[\s_-]+", "", folded)
    way = _WAYS.get(joined if joined.isalpha() else folded)
    if way is None:
        doubt = " (PostgreSQL writes it for true or false, Geofabrik for a direction)" if folded in ("t", "f") else ""
        raise InvalidGameError(
            f"{name} is {shown(value, 40)}{doubt}, expected yes, no, or -1 against the direction of drawing"
        )
    return way


def way_of_street(data: Mapping[str, Any], where: str, notes: Notes) -> Way:
    """Return the directions in which a street may be used, from all of its attributes.

    Parameters
    ----------
    data : mapping of str to object
        Attributes by standard name (:func:`meant`).
    where : str
        The description of the street in notes.
    notes : Notes

    Raises
    ------
    InvalidGameError
        If an attribute has an unknown value, or two contradict each other.
    """
    said: dict[str, Way] = {}
    for name in ("oneway", "directed"):
        value = data.get(name)
        if isinstance(value, str) and value.strip().casefold() in _CHANGING:
            notes.add(
                f"streets whose {name} is {value.strip().casefold()!r} lead both ways at all times (a closure with "
                "times closes one of them)",
                where,
            )
            said[name] = BOTH
            continue
        way = way_of(value, name)
        if way is not None:
            said[name] = way
    tags = {key.strip().casefold(): value for key, value in data.items() if isinstance(value, str)}
    kind = tags.get("type", "").strip().casefold()
    if kind in ("directed", "undirected", "mutual"):  # in Gephi's tables
        said["type"] = _WAYS[kind]
    if len(set(said.values())) > 1:
        raise InvalidGameError(
            " and ".join(f"{name} is {shown(tags.get(name, data.get(name)), 40)}" for name in said)
            + ", expected the same direction"
        )
    if said:
        return next(iter(said.values()))
    for key, values in _IMPLYING.items():
        if tags.get(key, "").strip().casefold() in values:
            notes.add(
                f"streets tagged {key}={tags[key].strip()} lead one way unless oneway=no, as in OpenStreetMap",
                where,
            )
            return WITH
    return BOTH


def ends_of(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of attributes, among some names, that give the two ends of an edge."""
    known = frozenset(names)
    return [pair for pair in ENDS if known.issuperset(pair)]


def number_of(value: Any) -> float:
    """Return a number that may be given as a string; NaN if it is not a number."""
    try:
        return float(value) if is_number(value) else read_float(value) if isinstance(value, str) else math.nan
    except (ValueError, OverflowError):
        return math.nan


def unknown_name(name: str, known: Collection[str]) -> str:
    """Return a suggestion in parentheses among the known names, for messages."""
    return one_line(nearest(name, known), 80) if len(known) < 10_000 else ""
