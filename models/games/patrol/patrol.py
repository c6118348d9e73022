"""Patrols on a map: attackers, units, and the game between them."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.budget import Budget, FormSize
from ....seqform.checks import check_choice, check_number, check_whole, is_whole
from ....seqform.errors import InvalidGameError, nearest, one_of, shown
from ....seqform.interchange.toml_table import Table
from ....seqform.sequence_form import SequenceForm
from .clock import Clock, is_time_of_day
from .commitment import Commitment
from .declarations import (
    KINDS,
    Attacker,
    Closure,
    PatrolError,
    Sensor,
    Times,
    Traffic,
    Unit,
    about,
    free_names,
    list_of,
    texts,
)
from .meetings import Entries, Keys, assembled
from .road_map import RoadMap
from .uncertainty import Scenario, Uncertainty
from .unit_rules import kept
from .walker import Body, Mask, Party, Walker, Whole, form_size, party, sums

#: The largest number of steps of a game.
_MOST_STEPS = 10_000
#: Peak memory of building in bytes per sequence: arrays of its moves and meetings, and text for labels; and the
#: addition if moves may fail.
_SEQUENCE, _FAILING = 370, 180


@dataclass(frozen=True, eq=False)
class Patrol:
    """A patrol: a map, its units and attackers, and their payoffs.

    Parameters
    ----------
    map : RoadMap
        Or a networkx graph.
    steps : int
        Number of steps; time t is after t steps.
    units : sequence of Unit
        Use ``[]`` to compute the attackers' gain without patrols.
    attackers : sequence of Attacker
        Types of attackers.
    sensors : sequence of Sensor
    closures : sequence of Closure
    traffic : sequence of Traffic
        Other speeds at some times. Overlapping ones are multiplied.
    meeting : float
        The attacker's payoff for each meeting, multiplied by the probability of detection.
    step : float
        The attacker's payoff for each step.
    failure : float
        Probability that a move fails, which keeps the body where it is for one step. The moves of step 0 and waiting
        never fail.
    detections : {"every", "once"}
        Whether each meeting counts, or an attacker is caught by its first detection
        (:class:`~treeplex.models.games.patrol.CaughtOnce`).
    forfeits : bool
        Whether an attacker who is caught also loses the payoffs of its route; only if `detections` is ``once``.
    areas : mapping of str to sequence of str
        Named groups of nodes for functionals.
    limits : sequence of str
        Constraints as strings, for problems about the game.
    uncertainty : Uncertainty, optional
        Intervals of goal values and probabilities, for :func:`~treeplex.solvers.solve_robust`.
    scenarios : sequence of Scenario
        What may differ from the declaration, for :func:`~treeplex.solvers.solve_robust`.
    commitment : Commitment, optional
        The units' own payoffs, for :func:`~treeplex.solvers.solve_patrol`.
    clock : Clock, optional
        With a clock, times may be times of day such as ``"22:30"``, and results show times of day.
    name : str
    spec : str
        The file from which it was read.
    table : Table, optional
        The content of the file, so that errors can state the position.

    Raises
    ------
    InvalidGameError
        If the declarations do not fit the map or each other.

    Notes
    -----
    Bodies move along edges at a constant speed. If the speed changes on the way (:class:`Traffic`), a move ends
    when the lengths covered at each speed add up to the edge, and meetings are those of a constant speed between
    its ends. An attacker and a unit *meet* at a node, in every step in which both stand there at its end, by
    arriving or by waiting. They also meet inside an edge when they pass each other, at most once per edge. Bodies
    with opposite directions meet if both are on the edge in the same step; bodies with the same direction meet if
    one begins later and arrives earlier. At an attacker's entry and at the start of a shift, there are no meetings
    before the end of the first step. The costs of meetings add up over meetings and units.
    """

    map: RoadMap
    steps: int
    units: Sequence[Unit]
    attackers: Sequence[Attacker]
    sensors: Sequence[Sensor] = ()
    closures: Sequence[Closure] = ()
    traffic: Sequence[Traffic] = ()
    meeting: float = -1.0
    step: float = 0.0
    failure: float = 0.0
    detections: str = "every"
    forfeits: bool = False
    areas: Mapping[str, Sequence[Hashable]] = field(default_factory=dict)
    limits: Sequence[str] = ()
    uncertainty: Uncertainty | None = None
    scenarios: Sequence[Scenario] = ()
    commitment: Commitment | None = None
    clock: Clock | None = None
    name: str = "patrol"
    spec: str = ""
    table: Table | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "map", RoadMap.from_graph(self.map))
        if self.clock is not None and not isinstance(self.clock, Clock):
            raise PatrolError(
                f"clock is {shown(self.clock, 60)}, expected a Clock, such as Clock('22:00', '5 min')", "clock"
            )
        with about("steps"):
            check_whole(self.steps, "steps", InvalidGameError, f"[1, {_MOST_STEPS}]")
        for name, kind in KINDS.items():
            with about(name):
                object.__setattr__(self, name, tuple(list_of(getattr(self, name), name, kind)))
        if not self.attackers:
            raise PatrolError("attackers is empty, expected at least one Attacker", "attackers")
        object.__setattr__(self, "limits", tuple(texts(self.limits, "limits")))
        if not isinstance(self.areas, Mapping):
            raise PatrolError(f"areas is {shown(self.areas, 60)}, expected a mapping of area names to nodes", "areas")
        for name, interval in (("meeting", "(-inf, inf)"), ("step", "(-inf, inf)"), ("failure", "[0, 1]")):
            with about(name):
                check_number(getattr(self, name), name, InvalidGameError, interval)
        for name, choices in (("detections", ("every", "once")), ("forfeits", (True, False))):
            with about(name):
                check_choice(getattr(self, name), name, InvalidGameError, choices)
        named = zip(self.units, free_names("unit", [one.name for one in self.units]), strict=True)
        object.__setattr__(self, "units", tuple(replace(one, name=name) for one, name in named))
        names = free_names("attacker", [one.name for one in self.attackers])
        types = zip(self.attackers, names, self._shares(), strict=True)
        attackers = tuple(replace(one, name=name, probability=share) for one, name, share in types)
        object.__setattr__(self, "attackers", attackers)
        self._check_names()
        self._check_detections()
        places = (self.steps + 1) * len(self.moves)
        needed = places * (3 * (len(self.units) + len(self.attackers)) + 16 * bool(self.sensors))
        Budget().require(needed, f"the patrol has {places:,} moves at all times: who may be where")
        _ = (
            self._opened,
            self._rates,
            self._sensed,
            self.unit_bodies,
            self.attacker_bodies,
        )  # invalid declarations are rejected now

    def _shares(self) -> list[float]:
        given = [one.probability for one in self.attackers]
        if all(each is None for each in given):
            return [1.0 / len(given)] * len(given)
        for number, each in enumerate(given, 1):
            with about(f"attackers[{number}].probability"):
                check_number(each, f"attackers[{number}].probability", InvalidGameError, "(0, 1]")
        shares = [float(each) for each in given if each is not None]
        if abs(sum(shares) - 1.0) > 1e-9:
            raise PatrolError(
                f"the probabilities of attackers sum to {sum(shares):g}, expected 1", "attackers[1].probability"
            )
        return shares

    def _check_detections(self) -> None:
        """Raise an error if something does not fit ``detections = "once"``."""
        if self.detections == "every":
            if self.forfeits:
                raise PatrolError('forfeits is for detections = "once", expected both or neither', "forfeits")
            return
        wrong = [(f"failure is {self.failure:g}", "failure")] if self.failure else []
        given = ("commitment", self.commitment), ("uncertainty", self.uncertainty), ("scenarios", self.scenarios)
        wrong += [(f"{name} is given", name) for name, value in given if value]
        for text, key in wrong:
            raise PatrolError(f'{text} together with detections = "once", expected only one of the two', key)
        for number in range(len(self.attackers)):
            meeting = self.worth(number)[0]
            if meeting > 0.0:
                key = "meeting" if self.attackers[number].meeting is None else f"attackers[{number + 1}].meeting"
                raise PatrolError(f"{key} is {meeting:g}, expected at most 0: being caught must not pay", key)

    def _check_names(self) -> None:
        known: dict[str, str] = {}
        named = {"units": [one.name for one in self.units], "attackers": [one.name for one in self.attackers]}
        for kind, names in named.items():
            for number, name in enumerate(names, 1):
                key = f"{kind}[{number}].name"
                if not isinstance(name, str) or name in known or name in self.areas or name in self.map:
                    expected = "a string that does not name a node, another area or a body"
                    raise PatrolError(f"{key} is {shown(name, 60)}, expected {expected}", key)
                known[name] = key
        for name, nodes in self.areas.items():
            with about(f"areas.{name}"):
                if name in self.map:
                    raise InvalidGameError(f"areas.{name} is an area, but a node of the map has the same name")
                self.map.node_mask(texts(nodes, f"areas.{name}"), f"areas.{name}")

    @cached_property
    def _moves(self) -> list[Whole]:
        """The moves of all bodies (waiting at each node, then the map's moves): their index in the map, and ends."""
        nodes, numbers = np.arange(self.map.num_nodes), np.arange(len(self.map.sources))
        pairs = ((np.full(len(nodes), -1), numbers), (nodes, self.map.sources), (nodes, self.map.targets))
        columns = [np.concatenate(pair) for pair in pairs]
        return [each[np.argsort(columns[1], kind="stable")] for each in columns]

    @property
    def moves(self) -> Whole:
        """The index in the map of each move of a body, −1 for waiting, shape (num_nodes + m,)."""
        return self._moves[0]

    @property
    def _ends_of_moves(self) -> list[Whole]:
        return self._moves[1:]

    def of_moves(self, values: Any, waiting: Any) -> Any:
        """Return values of the map's moves as values of bodies' moves."""
        return np.where(self.moves >= 0, np.append(values, waiting)[self.moves], waiting)

    def _durations(self, one: Unit | Attacker, what: str) -> Whole:
        """Return the durations of a body's moves, by the time at which they begin if they depend on it."""
        with about(f"{what}.speed"):
            speed = check_number(one.speed, f"{what}.speed", InvalidGameError, "[0.001, 1000]")
        side, rates = "attackers" if isinstance(one, Attacker) else "units", None
        for (first, last), moves, factor, sides in self._rates:
            if {"all", side, one.name} & sides:
                rates = np.ones((self.steps, len(self.map.sources))) if rates is None else rates
                rates[first:last, moves] *= factor
        usual: Whole = self.of_moves(self.map.durations(speed), 1)
        if rates is None:
            return usual
        varying: Whole = np.where(self.moves >= 0, self.map.durations_at(rates, speed)[:, self.moves], 1)
        return varying

    @cached_property
    def _rates(self) -> list[tuple[Times, Mask, float, set[str]]]:
        """The times, the map's moves, the factor and the sides of each declared speed."""
        names = [*(unit.name for unit in self.units), *(one.name for one in self.attackers)]
        found = []
        for number, one in enumerate(self.traffic, 1):
            key = f"traffic[{number}]"
            first, last = self.times(one.times, f"{key}.times")
            if first == last:
                raise PatrolError(f"{key}.times is {shown(one.times, 60)}, expected at least one step", f"{key}.times")
            with about(f"{key}.speed"):
                speed = check_number(one.speed, f"{key}.speed", InvalidGameError, "[0.001, 1000]")
            moves = np.full(len(self.map.sources), one.at is None)
            with about(f"{key}.at"):
                for at in [] if one.at is None else texts(one.at, f"{key}.at"):
                    place = self.map.place(at, f"{key}.at")
                    if not place.moves.any():
                        raise InvalidGameError(f"{key}.at is {shown(at, 60)}, a node; expected an edge or a street")
                    moves |= place.moves
            sides = texts(one.side, f"{key}.side")
            for side in sides:
                known = ["all", "units", "attackers", *names]
                if side not in known:
                    expected = f"{one_of(known[:3])}, or the name of a unit or an attacker{nearest(str(side), known)}"
                    raise PatrolError(f"{key}.side is {shown(side, 60)}, expected {expected}", f"{key}.side")
            found.append(((first, last), moves, speed, set(sides)))
        return found

    def _no_go(self, places: Any, what: str) -> Mask:
        """Return which moves of bodies avoid some places, shape (num_nodes + m,)."""
        targets, left = self._ends_of_moves[1], np.ones(len(self.moves), dtype=bool)
        with about(f"{what}.no_go"):
            for at in texts(places, f"{what}.no_go"):
                place = self.map.place(at, f"{what}.no_go")
                left &= ~(place.nodes[targets] | self.of_moves(place.moves, False))
        return left

    @cached_property
    def _opened(self) -> dict[str, list[tuple[Any, Times]]]:
        """The closures for each side, with their times."""
        closed: dict[str, list[tuple[Any, Times]]] = {"units": [], "attackers": []}
        for number, one in enumerate(self.closures, 1):
            key = f"closures[{number}]"
            with about(f"{key}.at"):
                place = self.map.place(one.at, f"{key}.at")
            times = self.times(one.times, f"{key}.times")
            if one.side not in ("all", "units", "attackers"):
                raise PatrolError(
                    f"{key}.side is {shown(one.side, 60)}, expected one of all, units, attackers", f"{key}.side"
                )
            for side, places in closed.items():
                if one.side in ("all", side):
                    places.append((place, times))
        return closed

    def times(self, given: Any, what: str, most: int | None = None) -> Times:
        """Return a first and a last time in steps, by default the whole range; given times may be times of day."""
        most = self.steps if most is None else most
        if given is None:
            return 0, most
        asked = given
        if isinstance(given, tuple | list) and len(given) == 2 and all(map(is_time_of_day, given)):
            given = self._times_of_day(given, what)
        sound = isinstance(given, tuple | list) and len(given) == 2 and all(map(is_whole, given))
        if not sound or not 0 <= given[0] <= given[1] <= most:
            ends: list[Any] = [0, most] if self.clock is None else [self.clock.at(0), self.clock.at(most)]
            raise PatrolError(f"{what} is {shown(asked, 60)}, expected a first and a last time, such as {ends}", what)
        return int(given[0]), int(given[1])

    def _times_of_day(self, given: Sequence[str], what: str) -> Times:
        """Return a first and a last time of day as numbers of steps."""
        if self.clock is None:
            raise PatrolError(
                f"{what} is {shown(given, 60)}, but the patrol has no clock; expected numbers of steps, or a clock (in "
                "a file the keys begin and step)",
                what,
            )
        with about(what):
            return self.clock.times((given[0], given[1]), what)

    def shown_time(self, time: int) -> str:
        """Return a time as it is shown: the time of day, or without a clock the number of steps."""
        return str(time) if self.clock is None else self.clock.at(time)

    def _opened_to(self, side: str, durations: Whole, no_go: Mask) -> Mask | None:
        """Return whether each move may begin at each time; nothing if all are always allowed."""
        closed = self._opened[side]
        if not closed:
            return None if no_go.all() else np.broadcast_to(no_go, (self.steps, len(no_go)))
        opened = np.repeat(no_go[None], self.steps, axis=0)
        times = np.arange(self.steps)[:, None]
        targets = self._ends_of_moves[1]
        for place, (first, last) in closed:
            entering = np.flatnonzero(place.nodes[targets])
            arrivals = times + durations[..., entering]
            opened[:, entering] &= (arrivals < first) | (arrivals > last)
            along = np.flatnonzero(self.of_moves(place.moves, False))
            opened[:, along] &= (times > last) | (times + durations[..., along] <= first)
        return opened

    @cached_property
    def unit_bodies(self) -> tuple[Body, ...]:
        """The possible moves of each unit."""
        bodies = []
        for number, unit in enumerate(self.units, 1):
            key = f"units[{number}]"
            shift = self.times(unit.shift, f"{key}.shift")
            if shift[0] == shift[1]:
                raise PatrolError(f"{key}.shift is {shown(unit.shift, 60)}, expected at least one step", f"{key}.shift")
            start = self.unit_start(number - 1)
            with about(f"{key}.ends"):
                ends = unit.ends
                mask = None if ends is None else self.map.node_mask(texts(ends, f"{key}.ends"), f"{key}.ends")
            body = self._body(
                "units",
                key,
                unit,
                entry_times=np.array([shift[0]]),
                entry_nodes=np.array([start]),
                last=shift[1],
                ends=mask,
                label=f"u{number}.t{{time}}.{{node}}",
            )
            if not body.entered.all():
                raise PatrolError(
                    f"{key}: no route leads {unit.name} from {self.map.shown_nodes[start]} at time {shift[0]} to where "
                    f"its shift may end at time {shift[1]}, expected an open route",
                    key,
                )
            _ = self.unit_base(number - 1), self.detection(number - 1)  # rejected now if they are wrong
            bodies.append(kept(self, number - 1, body))
        return tuple(bodies)

    def unit_start(self, number: int) -> int:
        """Return the node where a unit's shift begins."""
        return self._unit_node(number, "start", "base")

    def unit_base(self, number: int) -> int:
        """Return the node where a unit should be at the end of its shift."""
        return self._unit_node(number, "base", "start")

    def _unit_node(self, number: int, first: str, second: str) -> int:
        unit, key = self.units[number], f"units[{number + 1}]"
        name = first if getattr(unit, first) is not None else second
        if getattr(unit, name) is None:
            raise PatrolError(f"{key} has no start, expected a node", key)
        with about(f"{key}.{name}"):
            return self.map.node(getattr(unit, name), f"{key}.{name}")

    def round_trip(self, number: int) -> float:
        """Return the smallest number of steps in which a unit can leave its base and return; infinite if it cannot.

        Streets that are closed at some times count as open.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        key, base, size = f"units[{number + 1}]", self.unit_base(number), self.map.num_nodes
        durations = np.atleast_2d(self._durations(self.units[number], key)).min(axis=0).astype(np.float64)
        made = (self.moves >= 0) & self._no_go(self.units[number].no_go, key)
        sources, targets = (ends[made] for ends in self._ends_of_moves)
        back = coo_array((durations[made], (targets, sources)), shape=(size, size)).tocsr()
        away = dijkstra(back, indices=base)
        return float(np.min((durations[made] + away[targets])[sources == base], initial=np.inf))

    @cached_property
    def _actions(self) -> list[str]:
        return [self.map.nodes[target] for target in self._ends_of_moves[1].tolist()]

    def _body(self, side: str, key: str, one: Unit | Attacker, **own: Any) -> Body:
        """Return the possible moves of a unit or a type of attacker."""
        durations = self._durations(one, key)
        sources, targets = self._ends_of_moves
        return Body(
            sources,
            targets,
            durations=durations,
            num_nodes=self.map.num_nodes,
            failure=float(self.failure),
            opened=self._opened_to(side, durations, self._no_go(one.no_go, key)),
            nodes=self.map.nodes,
            actions=self._actions,
            **own,
        )

    @cached_property
    def attacker_bodies(self) -> tuple[Body, ...]:
        """The possible moves of each type of attacker."""
        return tuple(self._attacker_body(number, one) for number, one in enumerate(self.attackers, 1))

    def _attacker_body(self, number: int, one: Attacker) -> Body:
        key = f"attackers[{number}]"
        window = self.times(one.window, f"{key}.window", self.steps - 1)
        with about(f"{key}.may_stay_away"):
            check_choice(one.may_stay_away, f"{key}.may_stay_away", InvalidGameError, (True, False))
        given: Any = one.entries
        if isinstance(given, Mapping) and tuple(one.window) != (0, 0):
            raise PatrolError(
                f"{key}.window is given together with entries with times, expected only one of the two", f"{key}.window"
            )
        windows = given if isinstance(given, Mapping) else dict.fromkeys(texts(given, f"{key}.entries"), window)
        entries: dict[tuple[int, int], None] = {}
        with about(f"{key}.entries"):
            for name, times in windows.items():
                node = self.map.node(name, f"{key}.entries")
                first, last = self.times(times, f"{key}.entries", self.steps - 1)
                entries |= dict.fromkeys((time, node) for time in range(first, last + 1))
            if not entries:
                raise InvalidGameError(f"{key}.entries is {shown(given, 60)}, expected at least one node")
        goals = self.goal_values(number - 1)
        gone = ~np.isnan(goals)
        for _, node in entries:
            if gone[node]:
                raise PatrolError(
                    f"{key}.entries has {self.map.shown_nodes[node]}, which is also one of its goals, expected "
                    "other nodes",
                    f"{key}.entries",
                )
        meeting, step = self.worth(number - 1)
        # An attacker who does not reach a goal gains nothing, and could as well stay away.
        idle = one.may_stay_away and self.failure == 0 and meeting <= 0 and step <= 0
        times, nodes = (np.array(each) for each in zip(*entries, strict=True))
        body = self._body(
            "attackers",
            key,
            one,
            entry_times=times,
            entry_nodes=nodes,
            last=self.steps,
            chooses=True,
            may_stay_away=one.may_stay_away,
            gone=gone,
            ends=np.zeros(self.map.num_nodes, dtype=bool) if idle else None,
            label=f"a{number}.t{{time}}.{{node}}",
            start_label=f"a{number}.start",
            entries=[f"t{time}.{self.map.nodes[node]}" for time, node in entries],
        )
        if not (body.reachable & gone).any():
            raise PatrolError(
                f"{key}.goals: no route leads {one.name} from an entry to a goal within {self.steps} steps",
                f"{key}.goals",
            )
        self._check_connected(body, f"{key}.goals")
        return body

    def _check_connected(self, body: Body, key: str) -> None:
        """Raise an error if no route leads to a goal, regardless of its length."""
        assert body.gone is not None
        missed = body.gone & ~body.reachable.any(axis=0)
        if not missed.any():
            return
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        size = self.map.num_nodes
        roads = coo_array((np.ones(len(self.map.sources)), (self.map.sources, self.map.targets)), shape=(size, size))
        away = np.isinf(dijkstra(roads.tocsr(), indices=np.unique(body.entry_nodes), unweighted=True, min_only=True))
        lost = np.flatnonzero(missed & away)
        if len(lost):
            name = self.map.shown_nodes[lost[0]]
            raise PatrolError(f"{key} has {name}, which no route from an entry reaches", key)

    def goal_values(self, number: int) -> Floats:
        """Return the value of each node to an attacker, shape (num_nodes,); NaN if it has no goal there."""
        key, goals = f"attackers[{number + 1}].goals", self.attackers[number].goals
        values = np.full(self.map.num_nodes, np.nan)
        with about(key):
            if not isinstance(goals, Mapping) or not goals:
                raise InvalidGameError(f"{key} is {shown(goals, 60)}, expected a value by node, such as {{bank: 1.0}}")
            for name, value in goals.items():
                node = self.map.node(name, key)
                if not np.isnan(values[node]):
                    raise InvalidGameError(f"{key} has {self.map.shown_nodes[node]} twice, expected one value for it")
                values[node] = check_number(value, f"{key}: {name}", InvalidGameError)
        return values

    def worth(self, number: int) -> tuple[float, float]:
        """Return an attacker's payoffs for a meeting and a step."""
        one, key = self.attackers[number], f"attackers[{number + 1}]"
        found = []
        for name in ("meeting", "step"):
            value = getattr(self, name) if getattr(one, name) is None else getattr(one, name)
            with about(f"{key}.{name}"):
                found.append(check_number(value, f"{key}.{name}", InvalidGameError))
        return found[0], found[1]

    def detection(self, number: int) -> tuple[Floats, Floats]:
        """Return the probability that a unit detects an attacker at each node, and inside the edge of each move."""
        given, key = self.units[number].detection, f"units[{number + 1}].detection"
        by_place: Mapping[Any, float] = given if isinstance(given, Mapping) else {}
        with about(key):
            usual = 1.0 if isinstance(given, Mapping) else check_number(given, key, InvalidGameError, "[0, 1]")
            nodes, moves = np.full(self.map.num_nodes, usual), np.full(len(self.map.sources), usual)
            for at, chance in by_place.items():
                place = self.map.place(at, key)
                likely = check_number(chance, f"{key}: {at}", InvalidGameError, "[0, 1]")
                nodes[place.nodes], moves[place.moves] = likely, likely
        return nodes, self.of_moves(moves, 0.0)

    @cached_property
    def _sensed(self) -> tuple[Floats, Floats] | None:
        """The sensors' probability of detecting arrivals at each node, and departures along each move, by time."""
        if not self.sensors:
            return None
        nodes = np.zeros((self.steps + 1, self.map.num_nodes))
        moves = np.zeros((self.steps + 1, len(self.map.sources)))
        for number, one in enumerate(self.sensors, 1):
            key = f"sensors[{number}]"
            with about(f"{key}.at"):
                place = self.map.place(one.at, f"{key}.at")
            with about(f"{key}.detection"):
                chance = check_number(one.detection, f"{key}.detection", InvalidGameError, "[0, 1]")
            first, last = self.times(one.times, f"{key}.times")
            nodes[first : last + 1, place.nodes] += chance
            moves[first : last + 1, place.moves] += chance
        return nodes, moves

    def sensor_chances(self, node: int, move: int, time: int) -> list[float]:
        """Return the probability of each sensor that detects arrivals at a node, or inside a move if `node` is −1."""
        found = []
        for number, one in enumerate(self.sensors, 1):
            key = f"sensors[{number}]"
            place, (first, last) = self.map.place(one.at, f"{key}.at"), self.times(one.times, f"{key}.times")
            if first <= time <= last and (place.nodes[node] if node >= 0 else place.moves[move]):
                found.append(float(one.detection))
        return found

    @cached_property
    def attacking(self) -> Party:
        """All attackers as one player."""
        return party(self.attacker_bodies)

    @cached_property
    def patrolling(self) -> Party:
        """All units as one player."""
        return party(self.unit_bodies)

    @cached_property
    def keys(self) -> Keys:
        """The keys of times and places at which bodies may meet."""
        return Keys.of(self.attacking.walkers)

    def rewards(self, number: int) -> Floats:
        """Return the part of each attacker move's payoff that does not depend on the units, shape (num_moves,)."""
        return self.paid(self.attacking.walkers[number], np.nan_to_num(self.goal_values(number)), *self.worth(number))

    def paid(self, walker: Walker, goals: Floats, meeting: float, step: float) -> Floats:
        """Return the payoffs of an attacker's moves from goals (given by node), sensors' detections and steps."""
        paid: Floats = walker.success * goals[walker.targets]
        return paid + step * (walker.success * walker.durations + walker.failure) + meeting * self.sensed(walker)

    def sensed(self, walker: Walker) -> Floats:
        """Return the expected number of sensor detections of each move of an attacker, shape (num_moves,)."""
        if self._sensed is None:
            return np.zeros(len(walker.times))
        nodes, moves = self._sensed
        there = walker.presences
        found = sums(there.moves, nodes[there.times, there.nodes] * there.chances, len(walker.times))
        along = self.moves[walker.moves]
        found += np.where(along >= 0, moves[walker.times, along] * walker.success, 0.0)
        return found

    @property
    def probabilities(self) -> list[float]:
        """The probability of each type of attacker."""
        return [float(one.probability or 0.0) for one in self.attackers]

    def coming(self, weights: Sequence[float]) -> Entries:
        """Return the contributions of the attackers' moves to each factor, multiplied by a weight."""
        pairs = zip(self.attacking.walkers, weights, strict=True)
        each = ((self.keys.standing(walker, weight), self.keys.passing(walker, weight)) for walker, weight in pairs)
        return Entries.joined([entries for both in each for entries in both])

    def watched(self, numbers: Iterable[int] | None = None) -> Entries:
        """Return the contributions of some units, by default all, to each factor (a time and place of meeting)."""
        found = []
        for number in range(len(self.units)) if numbers is None else numbers:
            walker, (at_nodes, on_moves) = self.patrolling.walkers[number], self.detection(number)
            found += [self.keys.standing(walker, at_nodes), self.keys.met(walker, on_moves)]
        return Entries.joined(found)

    def size(self) -> FormSize:
        """Return the size of the sequence form without building it."""
        return form_size((self.attacker_bodies, self.unit_bodies), _SEQUENCE + _FAILING * (self.failure > 0.0))

    @property
    def _multiplied(self) -> str:
        """The rule that gives units most states, in words; empty without rules."""
        states = [body.states.factors for body in self.unit_bodies if body.states is not None]
        name, factor = max(
            ((n, f) for each in states for n, f in each.items()), key=lambda one: one[1], default=("", 0)
        )
        return f" (the rule {name} gives {factor:.3g} states per node)" if name else ""

    def sequence_form(self) -> SequenceForm:
        """Return the game in sequence form.

        Raises
        ------
        GameTooLargeError
            If it would exceed the budget of :mod:`treeplex.seqform.budget`.
        """
        size = self.size()
        Budget().require(
            size.bytes, f"the game has {sum(size.sequences):,} sequences{self._multiplied}: its sequence form"
        )
        shares = self.probabilities
        left = self.coming([share * self.worth(number)[0] for number, share in enumerate(shares)])
        rewards = [share * self.rewards(number) for number, share in enumerate(shares)]
        payoff = assembled(self.attacking, self.patrolling, rewards, left, self.watched(), self.scale)
        return SequenceForm((self.attacking.treeplex, self.patrolling.treeplex), factored=payoff)

    @property
    def scale(self) -> float:
        """The largest absolute payoff of a goal, a meeting and a step."""
        worth = [*map(abs, (one for number in range(len(self.attackers)) for one in self.worth(number)))]
        return max(*worth, *(float(np.nanmax(abs(self.goal_values(n)))) for n in range(len(self.attackers)))) or 1.0
