"""Schedules: routes for units, drawn day by day from a strategy, as tables and as calendars."""

import datetime as dt
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, takewhile
from os import PathLike
from typing import Any

import numpy as np

from ....seqform.checks import check_number, check_whole
from ....seqform.display import Displayed
from ....seqform.errors import InvalidStrategyError, UnsupportedProblemError
from ....seqform.game import Game
from ....seqform.interchange.files import check_suffix, csv_text, write_bytes
from ....seqform.interchange.page import Content, first_rows
from ....seqform.polytope import best_response_value
from ....seqform.strategy import Profile, Strategy, check_same_game, check_strategy
from ...constraints import LinearConstraint, RiskConstraint
from ...play.simulation import mean_interval
from .game import patrol_of
from .route_mixtures import Mixture
from .sampling import Walks, drawn_walks, sampled_walks

#: Confidence level of the interval that compares a limit's expectation with the drawn days.
CONFIDENCE = 0.997
#: The largest number of days.
MOST_DAYS = 1_000_000
_COLUMNS = ("day", "unit", "leaves", "arrives", "from", "to", "street")
#: The additional columns of a patrol with a clock: times of day.
_CLOCK = ("leaves_at", "arrives_at")


@dataclass(frozen=True)
class LimitCheck:
    """The comparison of a limit's expected value with the days of a schedule.

    Attributes
    ----------
    name : str
    sense : {"<=", ">="}
    bound : float
    expected : float
        The plan's expectation over all days that might be drawn.
    mean : float
        The mean over the days of the schedule; for a convex measure, its value at the frequencies of moves on these
        days, which is larger on average.
    lower, upper : float
        An interval that contains the expectation with probability :data:`CONFIDENCE`, from the schedule; for a convex
        measure, from its tangent at the plan.
    """

    name: str
    sense: str
    bound: float
    expected: float
    mean: float
    lower: float
    upper: float

    @property
    def met(self) -> bool:
        """Whether the days themselves meet the limit."""
        return self.mean <= self.bound if self.sense == "<=" else self.mean >= self.bound

    @property
    def agrees(self) -> bool:
        """Whether the days agree with the plan, within the sampling error."""
        return self.lower - 1e-9 <= self.expected <= self.upper + 1e-9

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if not self.agrees:
            return "not as planned"
        return "met" if self.met else "met on average over many days, not on these"


@dataclass(frozen=True, eq=False)
class Schedule(Displayed):
    """Routes for units on several days; :func:`schedule` draws them.

    Attributes
    ----------
    game : Game
    strategy : Strategy
        The units' strategy.
    days : tuple of int
        Their numbers, from 1.
    seed : int
    walks : tuple of Walks
        One per unit.
    """

    game: Game
    strategy: Strategy
    days: tuple[int, ...]
    seed: int
    walks: tuple[Walks, ...]

    @cached_property
    def _units(self) -> tuple[str, ...]:
        return tuple(unit.name for unit in patrol_of(self.game).units)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the units' activities, interval by interval.

        Yields
        ------
        dict
            With ``day``, ``unit``, ``leaves`` and ``arrives`` (times in steps), ``from``, ``to`` and ``street``; if the
            unit stays, the street is ``waits``, or ``held up`` if its moves failed. If the patrol has a clock, also
            ``leaves_at`` and ``arrives_at``, times of day.
        """
        patrol = patrol_of(self.game)
        for place, day in enumerate(self.days):
            for unit, walks in zip(self._units, self.walks, strict=True):
                for leaves, arrives, source, target, street in self._stretches(walks, place):
                    clock = [] if patrol.clock is None else [patrol.clock.at(leaves), patrol.clock.at(arrives)]
                    values = (day, unit, leaves, arrives, source, target, street, *clock)
                    yield dict(zip(_COLUMNS + _CLOCK, values, strict=False))  # times of day only with a clock

    @property
    def _columns(self) -> tuple[str, ...]:
        return _COLUMNS if patrol_of(self.game).clock is None else _COLUMNS + _CLOCK

    def _stretches(self, walks: Walks, place: int) -> Iterator[tuple[int, int, str, str, str]]:
        patrol, walker = patrol_of(self.game), walks.walker
        names = patrol.map.shown_nodes

        def what(made: tuple[int, bool]) -> str | int:
            """Return the common activity of an interval's steps: why the unit stays, or the move that it makes."""
            move, failed = made
            return "held up" if failed else move if walker.moved[move] else "waits"

        made = zip(walks.moves[place].tolist(), walks.failed[place].tolist(), strict=True)
        for said, steps in groupby(takewhile(lambda one: one[0] >= 0, made), what):
            moves = [move for move, _ in steps]
            begun, source = int(walker.times[moves[0]]), names[walker.sources[moves[0]]]
            if isinstance(said, str):
                yield begun, begun + len(moves), source, source, said
            else:
                street = patrol.map.street(int(patrol.moves[walker.moves[said]]))
                yield begun, begun + int(walker.durations[said]), source, names[walker.targets[said]], street

    def check(self, limits: Iterable[LinearConstraint | RiskConstraint]) -> list[LimitCheck]:
        """Compare the limits with the drawn days.

        Parameters
        ----------
        limits : iterable of LinearConstraint or RiskConstraint
            Limits on attackers' plans are skipped.
        """
        return [self._checked(limit) for limit in limits if limit.player == 1]

    def _checked(self, limit: LinearConstraint | RiskConstraint) -> LimitCheck:
        treeplex, plan = self.strategy.treeplex, self.strategy.plan
        often = np.sum([walks.frequencies(len(plan)) for walks in self.walks], axis=0)
        often[0] = 1.0
        # A limit is a function bounded by 0; the tangent of a linear one is the function itself.
        slope, constant = limit.minorant(plan)
        daily = constant + slope[0] + np.sum([walks.amounts(slope) for walks in self.walks], axis=0)
        values, counts = np.unique(daily.round(12), return_counts=True)
        least = min(constant - best_response_value(treeplex, -slope), values.min())
        most = max(constant + best_response_value(treeplex, slope), values.max())
        ends = mean_interval(values, counts, least, most, CONFIDENCE)
        bound, sense = float(limit.bound), limit.sense if isinstance(limit, LinearConstraint) else "<="
        sign = 1.0 if sense == "<=" else -1.0
        expected, mean = (bound + sign * float(limit.value(each)) for each in (plan, often))
        lower, upper = sorted(float(bound + sign * end) for end in (ends.lower, ends.upper))
        return LimitCheck(limit.name, sense, bound, expected, mean, lower, upper)

    def to_csv(self, first: dt.datetime | None = None) -> str:
        """Return the rows as comma-separated text, with the date on which each day begins if `first` is given."""
        day, *rest = self._columns
        if first is None:
            return csv_text((day, *rest), self.rows())
        begins, _ = self.clock(first, None)
        dates = {number: f"{begins + dt.timedelta(days=number - 1):%Y-%m-%d}" for number in self.days}
        return csv_text((day, "date", *rest), (row | {"date": dates[row["day"]]} for row in self.rows()))

    def to_ics(self, first: dt.datetime | None = None, minutes: float | None = None) -> str:
        """Return the days as a calendar (iCalendar, RFC 5545): an event per unit and day that describes its route.

        If the patrol's clock has a time zone and `first` is given, events are in UTC, also where clocks are changed;
        otherwise they are in local time, without a zone. Descriptions are in local time.

        Parameters
        ----------
        first : datetime.datetime, optional
            When day 1 begins, in local time; by default on 1 January 2000, when the patrol's clock begins, or at 8:00.
        minutes : float, optional
            Minutes per step; by default those of the patrol's clock, or one.

        Raises
        ------
        InvalidStrategyError
            If `minutes` is not positive, days are outside of the years 1000 to 9999, or `first` or `minutes`
            contradicts the patrol's clock.
        """
        begins, minutes = self.clock(first, minutes)
        zone = self.zone if first is not None else None
        lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//treeplex//patrol schedule//EN"]
        made = dt.datetime.now(dt.UTC)
        for place, day in enumerate(self.days):
            midnight = begins + dt.timedelta(days=day - 1)
            if zone is not None:  # in UTC, because clocks may be changed on the way
                midnight = midnight.replace(tzinfo=zone).astimezone(dt.UTC)

            def at(step: int, day_begins: dt.datetime = midnight) -> dt.datetime:
                return day_begins + dt.timedelta(minutes=minutes * step)

            def local(step: int, at: Callable[[int], dt.datetime] = at) -> str:
                return f"{at(step) if zone is None else at(step).astimezone(zone):%H:%M}"

            for number, walks in enumerate(self.walks):
                route, summary = list(self._stretches(walks, place)), self._summary(place, number)
                if not route or summary is None:
                    continue
                said = [f"{local(one[0])} {in_words(one)}" for one in route]
                said.append(f"{local(route[-1][1])} {route[-1][3]}, the end")
                lines += [
                    "BEGIN:VEVENT",
                    f"UID:{self.game.fingerprint[:16]}-{self.seed}-{day}-{number}@treeplex",
                    f"DTSTAMP:{made:%Y%m%dT%H%M%SZ}",
                    f"DTSTART:{at(route[0][0]):%Y%m%dT%H%M%S}{'' if zone is None else 'Z'}",
                    f"DTEND:{at(route[-1][1]):%Y%m%dT%H%M%S}{'' if zone is None else 'Z'}",
                    f"SUMMARY:{_escaped(summary)}",
                    f"DESCRIPTION:{_escaped(chr(10).join(said))}",
                    "END:VEVENT",
                ]
        return "".join(f"{_folded(line)}\r\n" for line in [*lines, "END:VCALENDAR"])

    def _summary(self, place: int, number: int) -> str | None:
        """Return the title of a unit's event on a day, by index; ``None`` for no event."""
        return f"{self._units[number]}, day {self.days[place]}"

    @property
    def zone(self) -> dt.tzinfo | None:
        """The time zone of the patrol's clock, if it has one."""
        clock = patrol_of(self.game).clock
        return None if clock is None else clock.zone

    def clock(self, first: dt.datetime | None, minutes: float | None) -> tuple[dt.datetime, float]:
        """Return when day 1 begins, and the minutes per step; see :meth:`to_ics`."""
        patrol = patrol_of(self.game)
        if minutes is None:
            minutes = 1.0 if patrol.clock is None else patrol.clock.seconds / 60.0
        minutes = check_number(minutes, "minutes", InvalidStrategyError, "(0, 1e5]")
        day = dt.date(2000, 1, 1)
        begins = first or (dt.datetime.combine(day, dt.time(8)) if patrol.clock is None else patrol.clock.moment(day))
        if patrol.clock is not None:
            meant = patrol.clock.moment(begins.date())
            if begins != meant:
                raise InvalidStrategyError(
                    f"day 1 begins at {begins:%H:%M}, but the patrol at {patrol.clock.begin}; expected "
                    f"{meant:%Y-%m-%dT%H:%M}"
                )
            if not math.isclose(60.0 * minutes, patrol.clock.seconds):
                raise InvalidStrategyError(
                    f"minutes is {minutes:g}, but the patrol has steps of {patrol.clock.step}; expected no minutes"
                )
        length = dt.timedelta(days=max(self.days), minutes=minutes * patrol.steps)
        if not dt.datetime(1000, 1, 1) <= begins <= dt.datetime.max - length:
            raise InvalidStrategyError(f"first is {begins}, expected a day that keeps all days in years 1000 to 9999")
        return begins, minutes

    def save(self, path: str | PathLike[str], **how: Any) -> None:
        """Write the days to a file: ``.csv`` or ``.ics``, with the arguments of :meth:`to_csv` or :meth:`to_ics`.

        :func:`~treeplex.models.games.patrol.write_schedule` writes GPX and GeoJSON.

        Raises
        ------
        GameFileError
            If the file has another suffix or cannot be written.
        """
        suffix = check_suffix(path, "a schedule", (".csv", ".ics"))
        write_bytes(path, (self.to_csv(how.get("first")) if suffix == ".csv" else self.to_ics(**how)).encode())

    def _html_blocks(self) -> Iterator[Content]:
        rows = [[str(value) for value in row.values()] for row in self.rows()]
        yield first_rows(self._columns, rows, len(rows), "save writes all", words=(1, 4, 5, 6))


def schedule(
    game: Game,
    plan: Strategy | Profile,
    *,
    days: int = 30,
    seed: int,
    day: int | None = None,
    routes: Mixture | None = None,
) -> Schedule:
    """Draw random routes for the units of a patrol.

    Parameters
    ----------
    game : Game
        A :class:`~treeplex.models.games.patrol.PatrolGame`.
    plan : Strategy or Profile
        The units' strategy.
    days : int
        Number of days, from 1 to 1,000,000.
    seed : int
        The seed determines the days: keep it as secret as they are. Equal seeds give equal days, for any number of
        days.
    day : int, optional
        Draw only this day, from 1 to `days`.
    routes : Mixture, optional
        The joint routes to draw from if only the first detection counts: ``solution.state.units``, or the attribute
        ``routes`` of a saved plan.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol, or has no units; or if only the first detection counts and there are no routes.
    InvalidStrategyError
        If the plan belongs to another game, or a number is not an integer or out of range.

    Notes
    -----
    At each time and place each unit independently draws its move with the plan's probability; see
    :func:`~treeplex.models.games.patrol.sampling.sampled_walks`. If moves may fail, failures are drawn too. A route is
    then one possibility, and a unit that is held up elsewhere continues by the plan. With `routes`, all units together
    drive one joint route, drawn with its probability.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.schedules import schedule
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 2.0})])
    >>> month = schedule(game, solve(Nash(game)).profile, days=30, seed=7)
    >>> len(month.days), month.to_csv().splitlines()[0]
    (30, 'day,unit,leaves,arrives,from,to,street')
    """
    patrol, strategy = patrol_of(game), units_strategy(game, plan, "schedule")
    days = check_whole(days, "days", InvalidStrategyError, f"[1, {MOST_DAYS}]")
    seed = check_whole(seed, "seed", InvalidStrategyError)
    if day is not None:
        day = check_whole(day, "day", InvalidStrategyError, f"[1, {days}]")
    numbers: Sequence[int] = range(1, days + 1) if day is None else [day]
    if routes is not None:
        walks = drawn_walks(patrol.patrolling, routes, numbers, seed)
    elif patrol.detections == "once":
        raise UnsupportedProblemError(
            'detections is "once", so units drive joint routes; expected routes=solution.state.units, or plan.routes'
        )
    else:
        walks = sampled_walks(patrol.patrolling, strategy.behaviour, numbers, seed)
    return Schedule(game, strategy, tuple(numbers), seed, walks)


def units_strategy(game: Game, plan: Strategy | Profile, what: str) -> Strategy:
    """Return the units' strategy, checked for a game.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol, or has no units.
    InvalidStrategyError
        If the strategy belongs to another game or to the attackers.
    """
    if not patrol_of(game).units:
        raise UnsupportedProblemError(f"{game.spec} has no units, and therefore no {what}")
    strategy = plan[1] if isinstance(plan, Profile) else check_strategy(plan, "plan")
    if strategy.player != 1:
        raise InvalidStrategyError("plan is a strategy of the attackers, expected a strategy of the units")
    check_same_game(strategy, game)
    return strategy


def in_words(stretch: tuple[int, int, str, str, str]) -> str:
    """Return what a unit does in an interval."""
    _, _, source, target, street = stretch
    return f"{source}, {street}" if source == target else f"{source} to {target} by {street}"


def _escaped(text: str) -> str:
    """Return a string escaped for iCalendar."""
    for mark, written in (("\\", "\\\\"), (";", "\\;"), (",", "\\,"), ("\n", "\\n")):
        text = text.replace(mark, written)
    return text


def _folded(line: str) -> str:
    """Return a line of iCalendar folded into pieces of at most 75 bytes."""
    pieces, piece = [], b""
    for letter in line:
        more = letter.encode()
        if len(piece) + len(more) > 74:
            pieces.append(piece)
            piece = b""
        piece += more
    return "\r\n ".join(one.decode() for one in [*pieces, piece])
