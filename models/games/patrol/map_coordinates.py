"""Coordinates of maps: degrees or a plane, lengths in metres, and drawing positions."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.errors import GameFileError, needing, shown

Place = tuple[float, ...]
#: Radius of the earth in metres.
_RADIUS = 6_371_008.8
#: Length of a degree of latitude in metres.
DEGREE = math.radians(_RADIUS)
#: The systems of longitude and latitude in degrees that need no library, by authority and code.
_DEGREES = {("EPSG", code) for code in ("4326", "4979", "4258", "4269")} | {("OGC", "CRS84"), ("OGC", "CRS84H")}
#: ``EPSG:25832``, ``urn:ogc:def:crs:EPSG::25832``, ``http://www.opengis.net/def/crs/EPSG/0/25832``.
_CODE = re.compile(r"\b(epsg|ogc|esri|ignf)\b(?:[:/][\d.]*)?[:/](\w+)\s*$", re.IGNORECASE)
#: Distances in a plane with a larger relative error are measured on the ellipsoid instead.
_DISTORTION = 2.5e-3


@dataclass(frozen=True)
class System:
    """A coordinate system.

    Attributes
    ----------
    name : str
    geographic : bool
        Whether the coordinates are longitude and latitude in degrees.
    unit : float
        Metres per unit, in a plane.
    decimals : int
        Number of decimals to which coordinates are rounded, about a centimetre: lines that meet may differ in the last
        digits.
    crs : pyproj.CRS, optional
        For a plane.
    """

    name: str = "WGS 84"
    geographic: bool = True
    unit: float = 1.0
    decimals: int = 7
    crs: Any = None

    def place(self, given: Sequence[Any], where: str) -> Place:
        """Return a position, rounded.

        Raises
        ------
        GameFileError
            If the position is not possible in this system.
        """
        first, second = given
        if self.geographic and not (abs(first) <= 180 and abs(second) <= 90):
            swapped = abs(second) <= 180 and abs(first) <= 90
            hint = "the two may be swapped" if swapped else "a map in metres needs a member 'crs' that names its system"
            raise GameFileError(
                f"{where}: a position is {shown(list(given), 60)}, expected longitude and latitude in degrees of "
                f"{self.name}; {hint}"
            )
        return round(first, self.decimals) + 0.0, round(second, self.decimals) + 0.0

    def metres(self, points: Sequence[Place]) -> float:
        """Return the length of a line in degrees or in the plane."""
        if self.geographic:
            return sum(map(_haversine, points, points[1:]))
        return self.unit * sum(math.dist(first, second) for first, second in pairwise(points))

    def degrees(self, place: Sequence[float]) -> tuple[float, float]:
        """Return a position as longitude and latitude in degrees of WGS 84."""
        if self.crs is None:
            return float(place[0]), float(place[1])
        from pyproj import Transformer

        turned = Transformer.from_crs(self.crs, "EPSG:4326", always_xy=True)
        east, north = turned.transform(place[0], place[1])
        return float(east), float(north)

    def scales(self, places: Floats) -> Floats:
        """Return the factors that convert differences of coordinates to metres near some places, shape (2,)."""
        if self.geographic:
            return DEGREE * np.array([shrinking(places), 1.0])
        return np.full(2, self.unit)


def _haversine(first: Place, second: Place) -> float:
    """Return the distance in metres between two points on a sphere, given as longitude and latitude."""
    (east, north), (other_east, other_north) = (map(math.radians, point) for point in (first, second))
    half = math.sin((other_north - north) / 2) ** 2
    half += math.cos(north) * math.cos(other_north) * math.sin((other_east - east) / 2) ** 2
    return 2.0 * _RADIUS * math.asin(math.sqrt(min(half, 1.0)))


def shrinking(places: Floats) -> float:
    """Return the ratio of a degree of longitude to one of latitude, halfway between the outermost places."""
    return max(math.cos(math.radians((places[:, 1].min() + places[:, 1].max()) / 2)), 1e-3)


def in_proportion(places: Floats) -> Floats:
    """Return longitudes and latitudes as points of a plane, with east scaled to the unit of north.

    Parameters
    ----------
    places : ndarray of float64, shape (n, 2)
        Degrees; a map that crosses the antimeridian is joined.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.games.patrol.map_coordinates import in_proportion
    >>> in_proportion(np.array([[10.0, 59.9], [10.2, 60.1]])).round(6)
    array([[ 5. , 59.9],
           [ 5.1, 60.1]])
    """
    east = places[:, 0]
    if np.ptp(east) > 180.0:
        east = np.where(east < 0.0, east + 360.0, east)
    return np.column_stack([east * shrinking(places), places[:, 1]])


def is_degrees(crs: object, places: Floats) -> bool:
    """Return whether positions are degrees in a system named by the graph, as in OSMnx's attribute ``crs``."""
    if not (np.abs(places) <= [180.0, 90.0]).all():
        return False
    known = getattr(crs, "is_geographic", None)
    if isinstance(known, bool):
        return known
    text = str(crs).strip()
    found = _CODE.search(text)
    code = (found[1].upper(), found[2].upper()) if found else None
    return code in _DEGREES or re.search(r"\+proj=(longlat|latlong)|^GEOGC", text, re.IGNORECASE) is not None


def system_of(member: Any) -> System:
    """Return the coordinate system named by the member ``crs`` of GeoJSON; degrees if there is none.

    Raises
    ------
    GameFileError
        If the system is unknown, or its coordinates are neither degrees nor lengths.
    MissingExtraError
        If the system needs pyproj, which is not installed.

    Examples
    --------
    >>> from treeplex.models.games.patrol.map_coordinates import system_of
    >>> system_of({"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}).geographic
    True
    """
    if member is None:
        return System()
    properties = member.get("properties") if isinstance(member, dict) else None
    given = properties if isinstance(properties, dict) else {}
    name = given.get("name", f"EPSG:{given['code']}" if "code" in given else None)
    found = _CODE.search(name) if isinstance(name, str) else None
    if found is None:
        raise GameFileError(f"crs is {shown(member, 80)}, expected the name of a system, such as EPSG:4326")
    authority, code = found[1].upper(), found[2].upper()
    name = f"{authority}:{code}"
    if (authority, code) in _DEGREES:
        return System(name)
    with needing(f"crs is {name}, which needs pyproj (longitude and latitude, EPSG:4326, do not)", "maps"):
        import pyproj
    try:
        crs = pyproj.CRS.from_authority(authority, code)
    except pyproj.exceptions.CRSError:
        raise GameFileError(f"crs is {name}, which pyproj does not know; expected one such as EPSG:4326") from None
    crs = next((part for part in crs.sub_crs_list if part.is_projected or part.is_geographic), crs)
    units = {axis.unit_conversion_factor for axis in crs.axis_info[:2]}
    if crs.is_geographic and math.isclose(max(units), math.radians(1.0)):
        return System(name)
    if not crs.is_projected or len(units) != 1:
        raise GameFileError(f"crs is {name} ({crs.name}), expected degrees or a plane with a unit of length")
    return System(name, False, units.pop(), 3, crs)


def on_the_ellipsoid(system: System, lines: Iterable[Sequence[Place]]) -> "_Ellipsoid | None":
    """Return the ellipsoid for measuring lines if a plane distorts them too much; otherwise ``None``.

    Raises
    ------
    GameFileError
        If places lie outside of the plane's area, or are degrees.
    """
    places = np.array([place for line in lines for place in line])
    if system.geographic or not len(places):
        return None
    if (np.abs(places) <= [180.0, 90.0]).all():
        first = shown(places[0].tolist(), 60)
        raise GameFileError(
            f"all positions are degrees, such as {first}, expected coordinates of the crs {system.name}"
        )
    measure = _Ellipsoid(system)
    low, high = places.min(axis=0), places.max(axis=0)
    corners = [tuple(low), (high[0], low[1]), tuple(high), (low[0], high[1]), tuple(low)]
    off = [measure.metres(each) / max(system.metres(each), 1e-9) for each in pairwise(corners) if each[0] != each[1]]
    if not all(map(math.isfinite, off)):
        raise GameFileError(f"positions such as {places[0].tolist()} lie outside of the crs {system.name}")
    return measure if any(abs(each - 1.0) > _DISTORTION for each in off) else None


class _Ellipsoid:
    """Lengths of lines in a plane, measured on its ellipsoid."""

    def __init__(self, system: System) -> None:
        from pyproj import Geod, Transformer

        self._geodesics = Geod(ellps="WGS84")
        self._turned = Transformer.from_crs(system.crs, "EPSG:4326", always_xy=True)

    def metres(self, points: Sequence[Place]) -> float:
        east, north = self._turned.transform([point[0] for point in points], [point[1] for point in points])
        return float(self._geodesics.line_length(east, north))
