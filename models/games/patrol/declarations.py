"""Who takes part in a patrol: units, attackers, what stands still and what is closed."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from ....seqform.errors import InvalidGameError, one_line, shown

Times = tuple[int, int]
Side = Literal["all", "units", "attackers"]


class PatrolError(InvalidGameError):
    """Something in the declaration of a patrol is wrong.

    Parameters
    ----------
    message : str
    key : str
        What of the declaration it is about, such as ``units[2].start``.
    """

    def __init__(self, message: str, key: str) -> None:
        super().__init__(one_line(message, 500))  # names of nodes may be of any length
        self.key = key


@dataclass(frozen=True)
class Unit:
    """A unit that patrols.

    Parameters
    ----------
    start : str, optional
        Where its shift begins; at its base if not given.
    base : str, optional
        Where it should be at the end of its shift, which ``risk`` is about; where it starts if not given.
    name : str, optional
        ``unit 1``, ``unit 2``, … if not given.
    shift : tuple of int, optional
        The times at which its shift begins and ends: 0 and the number of steps if not given. Before and after, it is
        not on the map.
    speed : float
        Multiple of the map's usual speed; travel times are rounded up to whole steps.
    detection : float, or mapping of place to float
        Probability that it detects an attacker whom it meets; in a mapping by node or edge (``"a -- b"``), 1 elsewhere.
    no_go : sequence of str
        Nodes and edges that it does not enter.
    ends : sequence of str, optional
        Where its shift has to end; anywhere if not given.
    """

    start: Hashable | None = None
    base: Hashable | None = None
    name: str = ""
    shift: Times | None = None
    speed: float = 1.0
    detection: float | Mapping[Any, float] = 1.0
    no_go: Sequence[Any] = ()
    ends: Sequence[Hashable] | None = None


@dataclass(frozen=True)
class Attacker:
    """An attacker, or one type of them: the units do not know which type comes.

    Parameters
    ----------
    entries : sequence of str, or mapping of str to (first, last)
        Nodes where it may enter the map; with times, when.
    goals : mapping of str to float
        What arriving at each target or exit is worth to it. There its way is over.
    probability : float, optional
        Of this type; the same for all if none is given.
    window : tuple of int
        When it may enter, for entries without times of their own; at the beginning if not given.
    name : str, optional
        ``attacker 1``, ``attacker 2``, … if not given.
    may_stay_away : bool
        Whether it may choose not to come, which is worth 0.
    meeting, step : float, optional
        What a meeting and a step are worth to it; what the patrol says if not given.
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
    """A sensor: it stands still and detects.

    Parameters
    ----------
    at : str
        A node, or an edge (``"a -- b"``, or ``"a -> b"`` for one direction).
    detection : float
        Probability that it detects an attacker who is there: at a node in each step that ends there, on an edge each
        time that the attacker passes.
    times : tuple of int, optional
        The first and the last time at which it is on: of arrival at a node, of leaving for an edge.
    """

    at: Any
    detection: float = 1.0
    times: Times | None = None


@dataclass(frozen=True)
class Closure:
    """A node or an edge that is closed.

    Parameters
    ----------
    at : str
        A node, or an edge (``"a -- b"``, or ``"a -> b"`` for one direction). Nobody arrives or waits at a closed node;
        whoever is there may leave. Nobody is on a closed edge.
    times : tuple of int, optional
        The first and the last time at which it is closed; always if not given. An edge that is closed from 3 to 5 is
        closed in the steps that begin at these times.
    side : {"all", "units", "attackers"}
        For whom.
    """

    at: Any
    times: Times | None = None
    side: Side = "all"


#: What is declared in lists, by the key of the list.
KINDS: dict[str, type[Any]] = {"units": Unit, "attackers": Attacker, "sensors": Sensor, "closures": Closure}


@contextmanager
def about(key: str) -> Iterator[None]:
    """Let errors in the block know what of the declaration they are about."""
    try:
        yield
    except PatrolError:
        raise
    except InvalidGameError as error:
        raise PatrolError(str(error), key) from None


def list_of(given: Any, name: str, kind: type) -> list[Any]:
    """Return declarations of a kind as a list; a single one counts as such a list."""
    if isinstance(given, kind):
        given = [given]
    if not isinstance(given, Sequence) or not all(isinstance(one, kind) for one in given):
        raise InvalidGameError(f"{name} is {shown(given, 80)}, expected a list of {kind.__name__}")
    return list(given)


def texts(given: Any, name: str) -> list[Any]:
    """Return a list of names; a single one counts as such a list."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Sequence):
        raise PatrolError(f"{name} is {shown(given, 60)}, expected a list of names", name)
    return [tuple(one) if isinstance(one, list) else one for one in given]  # a node of a grid, as files have it


def free_names(kind: str, given: Sequence[str]) -> list[str]:
    """Return names, with a kind and a number in the place of those that are empty."""
    numbered = (f"{kind} {number}" for number in count(1))
    free = (name for name in numbered if name not in given)
    return [name or next(free) for name in given]
