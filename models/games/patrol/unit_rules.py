"""The rules that a unit's declaration sets for its routes, as automata."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ....seqform.checks import check_whole
from ....seqform.errors import InvalidGameError, nearest, one_of, shown
from .clock import Clock
from .declarations import PatrolError, Times, Unit, about, texts
from .regions import Ground, Region, region_of
from .rules import Rule, conflict, keeping
from .walker import Body, Mask, Whole

_BREAK, _REFUEL = ("at", "length", "times"), ("at", "every")


class Day(Ground, Protocol):
    """The parts of a patrol to which rules refer."""

    @property
    def steps(self) -> int:
        """Number of steps."""

    @property
    def clock(self) -> Clock | None:
        """The clock."""

    def times(self, given: Any, what: str, most: int | None = None) -> Times:
        """Return a first and a last time in steps."""

    def shown_time(self, time: int) -> str:
        """Return a time as it is shown."""

    def unit_start(self, number: int) -> int:
        """Return the node where a unit's shift begins."""

    def unit_base(self, number: int) -> int:
        """Return the node where a unit should be at the end of its shift."""


@dataclass(frozen=True, eq=False)
class _Given:
    """A declared rule: the patrol, the unit with its possible moves, and the value of the key."""

    patrol: Day
    number: int
    body: Body
    value: Any
    what: str

    def steps(self, given: Any, what: str) -> int:
        """Return a length of time in steps."""
        clock = self.patrol.clock
        with about(what):
            if isinstance(given, str) and clock is not None:
                return min(clock.steps(given, what), self.patrol.steps + 1)
            if isinstance(given, str):
                raise InvalidGameError(f"{what} is {shown(given, 60)}, but the patrol has no clock; expected steps")
            return min(check_whole(given, what, InvalidGameError, "[1, inf)"), self.patrol.steps + 1)

    def lengths(self, most: int) -> tuple[Whole, Whole | None]:
        """Return the durations of moves, at most `most`, by phase, and the phase of each time if they depend on it."""
        rows = np.minimum(self.body.durations, most)
        if rows.ndim == 1:
            return rows[None], None
        found, phases = np.unique(rows, axis=0, return_inverse=True)
        return found, phases.ravel()

    def region(self, places: Any, what: str) -> Region:
        """Return a group of places."""
        with about(what):
            try:
                return region_of(self.patrol, texts(places, what))
            except PatrolError:
                raise
            except InvalidGameError as error:
                raise InvalidGameError(f"{what} is {shown(places, 60)}: {error}") from None

    def nodes(self, places: Any, what: str) -> Mask:
        """Return a group of nodes."""
        region = self.region(places, what)
        if region.moves.any() or not region.nodes.any():
            raise PatrolError(f"{what} is {shown(places, 60)}, expected nodes or areas", what)
        return region.nodes

    def keys(self, given: Any, what: str, known: tuple[str, ...], needed: tuple[str, ...]) -> Mapping[str, Any]:
        """Return a table whose keys are known."""
        if not isinstance(given, Mapping):
            raise PatrolError(f"{what} is {shown(given, 60)}, expected a table with {one_of(known)}", what)
        for key in given:
            if key not in known:
                raise PatrolError(f"{what}: unknown key {shown(key, 40)}{nearest(str(key), known)}", what)
        for key in needed:
            if key not in given:
                raise PatrolError(f"{what}.{key} is missing, expected {one_of(known)}", what)
        return given

    def entries(self, such_as: str) -> Iterator[tuple[Any, Any, str]]:
        """Yield the places and values of a table by place, with their names in messages."""
        if not isinstance(self.value, Mapping):
            raise PatrolError(f"{self.what} is {shown(self.value, 60)}, expected {such_as}", self.what)
        for place, value in self.value.items():
            yield place, value, f"{self.what}: {place}"


def _no_return(given: _Given) -> Iterator[Rule]:
    """For some steps after arriving, do not go back. A state is the last move and the steps waited since."""
    body, held = given.body, given.steps(given.value, given.what)
    pairs = body.sources * body.num_nodes + body.targets
    returns = ~body.waits & np.isin(body.targets * body.num_nodes + body.sources, pairs)
    made = np.where(returns, 1 + held * np.arange(len(pairs)), 0)

    def step(states: Whole, moves: Whole, phase: int) -> Whole:
        last, waited = np.divmod(states - 1, held)
        waits, remembers = body.waits[moves], states > 0
        back = remembers & ~waits & (body.targets[moves] == body.sources[last])
        waiting = np.where(remembers & (waited + 1 < held), states + 1, 0)
        return np.where(back, -1, np.where(waits, waiting, made[moves]))

    yield Rule("no_return", 1 + held * len(pairs), step)


def _dwell(given: _Given) -> Iterator[Rule]:
    """Wait at a node for at least some steps, or not at all. A state is the number of steps waited there."""
    body = given.body
    for place, value, what in given.entries("a number of steps by node, such as { museum = 2 }"):
        with about(given.what):
            at, least = given.patrol.map.node(place, given.what), given.steps(value, what)

        def step(states: Whole, moves: Whole, phase: int, at: int = at, least: int = least) -> Whole:
            stays = body.waits[moves] & (body.sources[moves] == at)
            early = ~stays & (states > 0) & (states < least)
            return np.where(early, -1, np.where(stays, np.minimum(states + 1, least), 0))

        def ends(states: Whole, nodes: Whole, least: int = least) -> Mask:
            complete: Mask = (states == 0) | (states == least)
            return complete

        yield Rule(f"dwell({place})", least + 1, step, ends)


def _breaks(given: _Given) -> Iterator[Rule]:
    """Take breaks in order, each by waiting at one of its nodes. A state is the number of steps of breaks taken."""
    body, patrol = given.body, given.patrol
    listed = [given.value] if isinstance(given.value, Mapping) else given.value
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise PatrolError(f"{given.what} is {shown(listed, 60)}, expected a list of breaks", given.what)
    at, lengths, within = [], list[int](), []
    for number, one in enumerate(listed, 1):
        what = f"{given.what}[{number}]"
        said = given.keys(one, what, _BREAK, ("at", "length"))
        at.append(given.nodes(said["at"], f"{what}.at"))
        lengths.append(given.steps(said["length"], f"{what}.length"))
        first, last = patrol.times(said.get("times"), f"{what}.times")
        within.append((np.arange(patrol.steps) >= first) & (np.arange(patrol.steps) < last))
    phases, of_times = np.unique(np.array(within), axis=1, return_inverse=True)
    begins = np.append(0, np.cumsum(lengths))
    allowed = np.array([*at, np.zeros(body.num_nodes, dtype=bool)])

    def step(states: Whole, moves: Whole, phase: int) -> Whole:
        number = np.searchsorted(begins, states, side="right") - 1
        counts = np.append(phases[:, phase], False)[number] & body.waits[moves]
        counts &= allowed[number, body.sources[moves]]
        return np.where(counts, states + 1, begins[number])

    yield Rule("breaks", int(begins[-1]) + 1, step, lambda states, nodes: states == begins[-1], of_times.ravel())


def _refuel(given: _Given) -> Iterator[Rule]:
    """Be at a refuelling place every so often. A state is the number of steps since."""
    said = given.keys(given.value, given.what, _REFUEL, _REFUEL)
    body, at = given.body, given.nodes(said["at"], f"{given.what}.at")
    most = given.steps(said["every"], f"{given.what}.every")
    lengths, phases = given.lengths(most + 1)

    def step(states: Whole, moves: Whole, phase: int) -> Whole:
        after = states + lengths[phase, moves]
        return np.where(after > most, -1, np.where(at[body.targets[moves]], 0, after))

    yield Rule("refuel", most + 1, step, phases=phases)


def _district(given: _Given) -> Iterator[Rule]:
    """Arrive and wait only in an area, and use only streets between its nodes."""
    inside, targets = given.nodes(given.value, given.what), given.body.targets
    yield Rule("district", 1, lambda states, moves, phase: np.where(inside[targets[moves]], states, -1))


def _counting(name: str, least: bool) -> Callable[[_Given], Iterator[Rule]]:
    def rules(given: _Given) -> Iterator[Rule]:
        """Visit a place at least or at most some times. A state is the number of visits."""
        body = given.body
        for place, value, what in given.entries("a number of visits by place, such as { museum = 1 }"):
            region = given.region([place], given.what)
            with about(given.what):
                bound = check_whole(value, what, InvalidGameError, f"[{int(least)}, {given.patrol.steps}]")
            hits = (region.nodes[body.targets] & ~region.nodes[body.sources]) | region.moves

            def step(states: Whole, moves: Whole, phase: int, hits: Mask = hits, bound: int = bound) -> Whole:
                after = states + hits[moves]
                return np.minimum(after, bound) if least else np.where(after > bound, -1, after)

            def ends(states: Whole, nodes: Whole, bound: int = bound) -> Mask:
                enough: Mask = states >= (bound if least else 0)
                return enough

            yield Rule(f"{name}({place})", bound + 1, step, ends)

    return rules


def _max_shift(given: _Given) -> Iterator[Rule]:
    """Wait at the base before and after a time of work. A state is the number of steps since the work began."""
    body, most = given.body, given.steps(given.value, given.what)
    base, (lengths, phases) = given.patrol.unit_base(given.number), given.lengths(most + 1)

    def step(states: Whole, moves: Whole, phase: int) -> Whole:
        after = states + lengths[phase, moves]
        idle = body.waits[moves] & (body.sources[moves] == base) & ((states == 0) | (states == most))
        return np.where(idle, states, np.where(after > most, -1, after))

    yield Rule("max_shift", most + 1, step, phases=phases)


def _handover(given: _Given) -> Iterator[Rule]:
    """End the shift where and when that of another unit begins."""
    patrol, names = given.patrol, [unit.name for unit in given.patrol.units]
    if given.value not in names:
        hint = nearest(str(given.value), names)
        raise PatrolError(f"{given.what} is {shown(given.value, 60)}, which is not a unit{hint}", given.what)
    number = names.index(given.value)
    begins = patrol.times(patrol.units[number].shift, f"units[{number + 1}].shift")[0]
    if begins != given.body.last:
        at, end = patrol.shown_time(begins), patrol.shown_time(given.body.last)
        raise PatrolError(
            f"{given.what} is {shown(given.value, 60)}, whose shift begins at {at}, expected a unit whose shift begins "
            f"at {end}, when this one ends",
            given.what,
        )
    place = patrol.unit_start(number)
    yield Rule("handover", 1, lambda states, moves, phase: states, lambda states, nodes: nodes == place)


#: The keys of a unit that declare rules, and how each is read.
RULES: Mapping[str, Callable[[_Given], Iterator[Rule]]] = {
    "no_return": _no_return,
    "dwell": _dwell,
    "breaks": _breaks,
    "refuel": _refuel,
    "district": _district,
    "min_visits": _counting("min_visits", least=True),
    "max_visits": _counting("max_visits", least=False),
    "max_shift": _max_shift,
    "handover": _handover,
}


def declared_rules(unit: Unit) -> list[str]:
    """Return the keys of the rules that a unit declares."""
    return [key for key in RULES if getattr(unit, key) not in (None, (), [], {})]


def rules_of(patrol: Day, number: int, body: Body) -> list[Rule]:
    """Return the rules of a unit, given its possible moves.

    Raises
    ------
    InvalidGameError
        If a rule does not fit the map or the times.
    """
    unit, key = patrol.units[number], f"units[{number + 1}]"
    return [
        rule
        for name in declared_rules(unit)
        for rule in RULES[name](_Given(patrol, number, body, getattr(unit, name), f"{key}.{name}"))
    ]


def kept(patrol: Day, number: int, body: Body) -> Body:
    """Return the possible moves of a unit whose routes keep its rules.

    Raises
    ------
    InvalidGameError
        If a rule does not fit the map or the times, or no route keeps all; the message then names rules, one of which
        must be removed.
    GameTooLargeError
        If the states would exceed the budget.
    """
    name, rules = patrol.units[number].name, rules_of(patrol, number, body)
    found = keeping(body, rules, name)
    if found.entered.all():
        return found
    wrong = conflict(body, rules, name)
    names = [rule.name for rule in wrong]
    what = f"{', '.join(names[:-1])} and {names[-1]} together" if len(names) > 1 else names[0]
    certain = ", whatever moves fail" if body.failure > 0.0 else ""
    instead = "fewer or weaker rules" if len(names) > 1 else "a weaker rule"
    first, last = (patrol.shown_time(time) for time in (int(body.entry_times[0]), body.last))
    at = f"units[{number + 1}].{wrong[0].key}"
    raise PatrolError(f"{at}: no route of {name} from {first} to {last} keeps {what}{certain}, expected {instead}", at)
