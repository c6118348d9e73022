"""The parts of a patrol: units, attackers, sensors and closures."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from ....seqform.errors import InvalidGameError, one_line, shown
from .uncertainty import Scenario

Times = tuple[int, int]
Side = Literal["all", "units", "attackers"]


class PatrolError(InvalidGameError):
    """An error in the declaration of a patrol.

    Parameters
    ----------
    message : str
    key : str
        The affected part of the declaration, such as ``units[2].start``.
    """

    def __init__(self, message: str, key: str) -> None:
        super().__init__(one_line(message, 500))  # names of nodes may have any length
        self.key = key


@dataclass(frozen=True)
class Unit:
    """A unit that patrols.

    Parameters
    ----------
    start : str, optional
        Where its shift begins; by default at its base.
    base : str, optional
        Where it should be at the end of its shift (used by ``risk``); by default where it starts.
    name : str, optional
        By default ``unit 1``, ``unit 2``, ….
    shift : tuple of int, optional
        The times at which its shift begins and ends; by default 0 and the number of steps. At other times it is not on
        the map.
    speed : float
        Multiple of the map's usual speed; travel times are rounded up to whole steps.
    detection : float, or mapping of place to float
        Probability that it detects an attacker whom it meets. A mapping gives it by node or edge (``"a -- b"``), with 1
        elsewhere.
    no_go : sequence of str
        Nodes and edges that it does not enter.
    ends : sequence of str, optional
        Where its shift must end; by default anywhere.
    no_return : int or str, optional
        Number of steps after arriving during which it does not go back along the same edge; with 1, it does not turn
        back at once. Here and below, lengths of time are steps, or strings such as ``"10 min"`` with a clock.
    dwell : mapping of str to int or str
        The shortest stop at a node: it passes without waiting, or waits for at least this time.
    breaks : sequence of mapping
        Breaks in the order in which it takes them, each with ``at`` (nodes or areas), ``length`` and optionally
        ``times`` (first, last): it waits at one of the places, uninterrupted and within these times.
    refuel : mapping, optional
        With ``at`` (nodes or areas) and ``every``, the longest time between two refuellings. It refuels whenever it is
        there, and begins its shift refuelled.
    district : str or sequence of str, optional
        Nodes or areas that it does not leave; its shift may begin elsewhere.
    min_visits, max_visits : mapping of str to int
        The least and the largest number of visits to a place on every route: arrivals at a node, arrivals at an area
        from outside, or passes along a street. The start does not count.
    max_shift : int or str, optional
        The longest time from when it first leaves its base until it is back; before and after, it waits there.
    handover : str, optional
        The name of a unit that takes over: its shift ends where and when the shift of that unit begins.
    """

    start: Hashable | None = None
    base: Hashable | None = None
    name: str = ""
    shift: Times | None = None
    speed: float = 1.0
    detection: float | Mapping[Any, float] = 1.0
    no_go: Sequence[Any] = ()
    ends: Sequence[Hashable] | None = None
    no_return: int | str | None = None
    dwell: Mapping[Any, int | str] = field(default_factory=dict)
    breaks: Sequence[Mapping[str, Any]] = ()
    refuel: Mapping[str, Any] | None = None
    district: str | Sequence[Any] | None = None
    min_visits: Mapping[Any, int] = field(default_factory=dict)
    max_visits: Mapping[Any, int] = field(default_factory=dict)
    max_shift: int | str | None = None
    handover: str | None = None


@dataclass(frozen=True)
class Attacker:
    """An attacker, or one type of attacker: the units do not know which type comes.

    Parameters
    ----------
    entries : sequence of str, or mapping of str to (first, last)
        Nodes where it may enter the map, possibly with times.
    goals : mapping of str to float
        Its payoff for arriving at each target or exit. Its route ends there.
    probability : float, optional
        Probability of this type; by default equal for all types.
    window : tuple of int
        When it may enter, for entries without times; by default at the beginning.
    name : str, optional
        By default ``attacker 1``, ``attacker 2``, ….
    may_stay_away : bool
        Whether it may choose not to come, with payoff 0.
    meeting, step : float, optional
        Its payoffs for a meeting and for a step; by default those of the patrol.
    speed : float
        Multiple of the map's usual speed.
    no_go : sequence of str
        Nodes and edges that it does not enter.
    """

    entries: Sequence[Hashable] | Mapping[Any, Times]
    goals: Mapping[Any, float]
    probability: float | None = None
    window: Times = (0, 0)
    name: str = ""
    may_stay_away: bool = True
    meeting: float | None = None
    step: float | None = None
    speed: float = 1.0
    no_go: Sequence[Any] = ()


@dataclass(frozen=True)
class Sensor:
    """A stationary sensor.

    Parameters
    ----------
    at : str
        A node, or an edge (``"a -- b"``, or ``"a -> b"`` for one direction).
    detection : float
        Probability that it detects an attacker there: at a node in each step that ends there, on an edge each time that
        the attacker passes.
    times : tuple of int, optional
        The first and the last time at which it is on: of arrival at a node, or of departure on an edge.
    """

    at: Any
    detection: float = 1.0
    times: Times | None = None


@dataclass(frozen=True)
class Closure:
    """A closed node or edge.

    Parameters
    ----------
    at : str
        A node, or an edge (``"a -- b"``, or ``"a -> b"`` for one direction). Nobody arrives or waits at a closed node,
        but bodies that are there may leave. Nobody is on a closed edge.
    times : tuple of int, optional
        The first and the last time at which it is closed; by default always. An edge closed from 3 to 5 is closed in
        the steps that begin at these times.
    side : {"all", "units", "attackers"}
        The side to which it applies.
    """

    at: Any
    times: Times | None = None
    side: Side = "all"


@dataclass(frozen=True)
class Traffic:
    """Other speeds at some times.

    Parameters
    ----------
    speed : float
        Multiple of the usual speed, such as 0.5 in the rush hour.
    times : tuple of int, optional
        The first and the last time: the speed holds from one to the other; by default always.
    at : str or sequence of str, optional
        Edges (``"a -- b"``, or ``"a -> b"`` for one direction) or streets; by default everywhere.
    side : str or sequence of str
        ``all``, ``units`` or ``attackers``, or the names of units and of types of attackers.
    """

    speed: float
    times: Times | None = None
    at: str | Sequence[Any] | None = None
    side: str | Sequence[str] = "all"


#: Declarations in lists, by the key of the list.
KINDS: dict[str, type[Any]] = {
    "units": Unit,
    "attackers": Attacker,
    "sensors": Sensor,
    "closures": Closure,
    "traffic": Traffic,
    "scenarios": Scenario,
}


@contextmanager
def about(key: str) -> Iterator[None]:
    """Name a part of the declaration in errors of the block."""
    try:
        yield
    except PatrolError:
        raise
    except InvalidGameError as error:
        raise PatrolError(str(error), key) from None


def list_of(given: Any, name: str, kind: type) -> list[Any]:
    """Return declarations of one type as a list; a single declaration is accepted too."""
    if isinstance(given, kind):
        given = [given]
    if not isinstance(given, Sequence) or not all(isinstance(one, kind) for one in given):
        raise InvalidGameError(f"{name} is {shown(given, 80)}, expected a list of {kind.__name__}")
    return list(given)


def texts(given: Any, name: str) -> list[Any]:
    """Return a list of names; a single name is accepted too."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Sequence):
        raise PatrolError(f"{name} is {shown(given, 60)}, expected a list of names", name)
    return [tuple(one) if isinstance(one, list) else one for one in given]  # a node of a grid, in the format of files


def free_names(kind: str, given: Sequence[str]) -> list[str]:
    """Return names, with a type and a number instead of empty ones."""
    numbered = (f"{kind} {number}" for number in count(1))
    free = (name for name in numbered if name not in given)
    return [name or next(free) for name in given]
