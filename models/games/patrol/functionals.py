"""Functionals of a patrol by name with arguments, built on first use."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.checks import Named
from ....seqform.errors import InvalidGameError, nearest, one_line, one_of, shown
from ....seqform.functional import Functional, split_call
from ....seqform.game import Game
from .clock import WINDOW
from .meetings import Amounts
from .patrol import Patrol
from .regions import Region, region_of
from .risks import RISKS
from .walker import Mask, Walker, Whole, sums

_WINDOW = re.compile(r"(\d+)\s*\.\.\s*(\d+)")


class _Call:
    """A requested functional: its bodies, places and times."""

    def __init__(self, patrol: Patrol, fingerprint: str, name: str, arguments: Sequence[str]) -> None:
        self.patrol, self.fingerprint, self.name = patrol, fingerprint, name
        self.window: tuple[int, int] | None = None
        units = {unit.name: number for number, unit in enumerate(self.patrol.units)}
        attackers = {one.name: number for number, one in enumerate(self.patrol.attackers)}
        places, chosen = list[str](), list[str]()
        for argument in arguments:
            window = _WINDOW.fullmatch(argument)
            clock = None if argument in self.patrol.map else WINDOW.fullmatch(argument)
            if argument in units or argument in attackers:
                chosen.append(argument)
            elif clock is not None:
                self.window = self.patrol.times((clock[1], clock[5]), "the window", patrol.steps)
            elif window is not None and argument not in self.patrol.map:
                self.window = int(window[1]), int(window[2])
                if not self.window[0] <= self.window[1] <= patrol.steps:
                    expected = f"expected times from 0 to {patrol.steps}, as in 0..3"
                    raise InvalidGameError(f"the window is {argument}, {expected}")
            else:
                places.append(argument)
        self.player = 0 if chosen and chosen[0] in attackers else 1
        self.numbers = [(units, attackers)[1 - self.player].get(one, -1) for one in chosen]
        if -1 in self.numbers:
            raise InvalidGameError("units and attackers are given together, expected only one side")
        self.bodies = chosen
        self.party = self.patrol.patrolling if self.player == 1 else self.patrol.attacking
        self.region = region_of(patrol, places, [*units, *attackers]) if places else None

    def only(self, **allowed: bool) -> None:
        """Raise an error for arguments that the functional does not take."""
        form = _KINDS[self.name][0]
        if self.region is not None and not allowed.get("places"):
            raise InvalidGameError(f"{self.region.words} is a place, expected {form}")
        if self.region is None and allowed.get("needs_place"):
            raise InvalidGameError(f"the place is missing, expected {form}")
        if self.window is not None and not allowed.get("window"):
            raise InvalidGameError(f"a window of times is given, expected {form}")
        if self.player == 0 and not allowed.get("attackers"):
            raise InvalidGameError(f"{self.bodies[0]} is an attacker, expected a unit: {form}")

    @property
    def walkers(self) -> Iterator[tuple[int, Walker]]:
        """The bodies of the functional, each with its number."""
        for number in self.numbers or range(len(self.party.walkers)):
            yield number, self.party.walkers[number]

    @property
    def whose(self) -> str:
        """A description of the bodies and the times."""
        shown_time = self.patrol.shown_time
        when = "" if self.window is None else f" from {shown_time(self.window[0])} to {shown_time(self.window[1])}"
        return (f" of {' and '.join(self.bodies)}" if self.bodies else "") + when

    def within(self, times: Whole) -> Mask:
        """Return which times lie in the window."""
        first, last = self.window or (0, self.patrol.steps)
        return (times >= first) & (times <= last)

    def made(self, description: str, amounts: Callable[[int, Walker], Floats], constant: float = 0.0) -> Functional:
        """Return the functional that sums given amounts over the moves of each body."""
        coefficients = np.zeros(self.party.treeplex.num_sequences)
        for number, walker in self.walkers:
            coefficients[walker.sequences] += amounts(number, walker)
        return Functional(self.player, coefficients, description, constant, self.fingerprint)


def _risk(call: _Call) -> Functional:
    call.only()

    def away(number: int, walker: Walker) -> Floats:
        size = call.party.treeplex.num_sequences
        return walker.ending_away(call.patrol.unit_base(number), size)[walker.sequences]

    one = len(call.bodies or call.patrol.units) == 1
    what = "probability of being away from the base" if one else "expected number of units away from their bases"
    return call.made(f"{what} at the end of the shift{call.whose}", away)


def _visits(call: _Call) -> Functional:
    call.only(places=True, needs_place=True, window=True, attackers=True)
    region = call.region
    assert region is not None

    def arriving(number: int, walker: Walker) -> Floats:
        into = region.nodes[walker.targets] & ~region.nodes[walker.sources]
        along = region.moves[walker.moves] & call.within(walker.times)
        return walker.success * (along | (into & call.within(walker.times + walker.durations)))

    return call.made(f"expected arrivals at {region.words}{call.whose}", arriving)


def _coverage(call: _Call) -> Functional:
    call.only(places=True, needs_place=True, window=True, attackers=True)
    region, (first, last) = call.region, call.window or (0, call.patrol.steps)
    assert region is not None
    if region.moves.any():
        if region.nodes.any():
            raise InvalidGameError(f"{region.words} are nodes and streets, expected only nodes or only streets")
        return _street_coverage(call, region, first, min(last, call.patrol.steps - 1))
    share = 1.0 / (last - first + 1)
    constant = 0.0
    coefficients = np.zeros(call.party.treeplex.num_sequences)
    for _, walker in call.walkers:
        there = walker.presences
        counted = np.flatnonzero(region.nodes[there.nodes] & call.within(there.times))
        sequences = walker.sequences[there.moves[counted]]
        coefficients += sums(sequences, share * there.chances[counted], len(coefficients))
        begun = region.nodes[walker.entry_nodes] & call.within(walker.entry_times)
        if walker.body.chooses:
            coefficients[walker.entry_sequences[begun]] += share
        else:
            constant += share * float(begun.sum())
    return Functional(
        call.player,
        coefficients,
        f"expected number at {region.words}, on average over times{call.whose}",
        constant,
        call.fingerprint,
    )


def _street_coverage(call: _Call, region: Region, first: int, last: int) -> Functional:
    """Return the expected number of bodies on streets in a step, averaged over the steps that begin in the window."""
    if last < first:
        raise InvalidGameError(f"no step begins in the window, expected a time before {call.patrol.steps}")

    def along(number: int, walker: Walker) -> Floats:
        steps = np.minimum(walker.times + walker.durations, last + 1) - np.maximum(walker.times, first)
        on = region.moves[walker.moves] & walker.moved
        return np.where(on, walker.success * np.maximum(steps, 0), 0.0) / (last - first + 1)

    return call.made(f"expected number on {region.words} in a step, on average over steps{call.whose}", along)


def _travel(call: _Call) -> Functional:
    call.only(window=True, attackers=True)

    def moving(number: int, walker: Walker) -> Floats:
        first, last = call.window or (0, call.patrol.steps)
        begins, ends = np.maximum(walker.times, first), np.minimum(walker.times + walker.durations, last)
        return np.where(walker.moved, walker.success * np.maximum(ends - begins, 0), 0.0)

    return call.made(f"expected steps on the road{call.whose}", moving)


def _workload(call: _Call) -> Functional:
    call.only()

    def working(number: int, walker: Walker) -> Floats:
        base = call.patrol.unit_base(number)
        failed = np.where(walker.sources != base, walker.failure, 0.0)
        lasting = np.where(walker.moved | (walker.sources != base), walker.durations, 0)
        return walker.success * lasting + failed

    return call.made(f"expected steps other than waiting at the base{call.whose}", working)


def _meetings(call: _Call) -> Functional:
    call.only(places=True)
    patrol = call.patrol
    coming = Amounts.of(patrol.coming(patrol.probabilities), patrol.attacking.treeplex.uniform_plan())
    region = call.region
    watched = patrol.watched(number for number, _ in call.walkers)
    met = coming.at(watched.keys) * watched.amounts
    if region is not None:
        spots, size = patrol.keys.read(watched.keys), len(region.nodes)
        inside = np.isin(spots.first * size + spots.second, _pairs(patrol, region))
        met = np.where(inside | ((spots.first == spots.second) & region.nodes[spots.first]), met, 0.0)
    coefficients = sums(watched.sequences, met, call.party.treeplex.num_sequences)
    where = "" if region is None else f" at {region.words}"
    words = f"expected detections{where}{call.whose} of attackers who walk at random"
    return Functional(1, coefficients, words, 0.0, call.fingerprint)


def _pairs(patrol: Patrol, region: Region) -> Whole:
    """Return the indices of the pairs of nodes connected by moves of a region."""
    body = patrol.attacker_bodies[0]
    ends = body.sources * len(region.nodes) + body.targets
    return ends[region.moves]


def _handover(call: _Call) -> Functional:
    call.only()
    if len(call.bodies) != 2:
        raise InvalidGameError(f"{len(call.bodies)} units are given, expected two: {_KINDS['handover'][0]}")
    first, second = (call.party.walkers[number] for number in call.numbers)
    if first.body.last != int(second.body.entry_times[0]):
        raise InvalidGameError(
            f"the shift of {call.bodies[1]} begins at {second.body.entry_times[0]}, expected {first.body.last}, the "
            f"end of the shift of {call.bodies[0]}"
        )
    place = int(second.body.entry_nodes[0])
    away = first.ending_away(place, call.party.treeplex.num_sequences)
    words = f"probability that {call.bodies[0]} ends its shift where {call.bodies[1]} begins"
    return Functional(1, -away, words, 1.0, call.fingerprint)


#: The syntax of each functional, and its constructor.
_KINDS: dict[str, tuple[str, Callable[[_Call], Functional]]] = {
    "risk": ("risk(UNIT)", _risk),
    "visits": ("visits(PLACE, …, FIRST..LAST, UNIT)", _visits),
    "coverage": ("coverage(PLACE, …, FIRST..LAST, UNIT)", _coverage),
    "travel": ("travel(FIRST..LAST, UNIT)", _travel),
    "workload": ("workload(UNIT)", _workload),
    "meetings": ("meetings(PLACE, …, UNIT)", _meetings),
    "handover": ("handover(UNIT, UNIT)", _handover),
}


class PatrolFunctionals(Named[str, Functional]):
    """The functionals of a patrol: those without arguments or for one unit are listed, and others are made on request.

    Parameters
    ----------
    patrol : Patrol
    game : Game
        The game made from it.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Strategy
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> town = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    >>> game = PatrolGame(town, steps=4, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 1})])
    >>> game.functionals["visits(bank, 1..3)"].description
    'expected arrivals at bank from 1 to 3'
    >>> game.functionals["visits"]
    Traceback (most recent call last):
    KeyError: 'visits: the place is missing, expected visits(PLACE, …, FIRST..LAST, UNIT)'
    """

    forms: ClassVar = {name: form for name, (form, _) in (*_KINDS.items(), *RISKS.items())}

    def __init__(self, patrol: Patrol, game: Game) -> None:
        self._patrol, self._fingerprint = patrol, game.fingerprint
        self._made: dict[str, Any] = {}
        named = [f"{name}({_argument(unit.name)})" for name in ("risk", "travel", "workload") for unit in patrol.units]
        listed = ["risk", "travel", "workload", *(named if len(patrol.units) > 1 else []), "meetings"]
        super().__init__({}, f"{game.spec} names no functional")
        if patrol.units:
            self.update({name: self[name] for name in listed})

    def __missing__(self, key: object) -> Any:
        name, arguments = split_call(str(key))
        if name not in _KINDS and name not in RISKS:
            raise KeyError(
                f"{self.what} {shown(key, 60)}{nearest(name, self.forms)}; expected {one_of(list(self.forms.values()))}"
            )
        text = f"{name}({', '.join(map(_argument, arguments))})" if arguments else name
        if text not in self._made:
            try:
                if name in RISKS:
                    self._made[text] = RISKS[name][1](self._patrol, self._fingerprint, arguments, self)
                else:
                    self._made[text] = _KINDS[name][1](_Call(self._patrol, self._fingerprint, name, arguments))
            except InvalidGameError as error:
                raise KeyError(one_line(f"{text}: {error}", 500)) from None
        return self._made[text]


def _argument(name: str) -> str:
    return json.dumps(name, ensure_ascii=False) if re.search(r'[,()"]', name) else name
