"""Rosters: routes for many days whose counts follow the plan, and crews that share the work equally."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.budget import Budget
from ....seqform.checks import check_choice, check_whole, is_whole
from ....seqform.errors import InvalidStrategyError, UnsupportedProblemError, one_of, shown
from ....seqform.functional import Functional
from ....seqform.game import Game
from ....seqform.interchange.files import check_suffix
from ....seqform.interchange.page import Content, Page, element, facts, first_rows, heading, prose, table
from ....seqform.polytope import best_response_value
from ....seqform.strategy import Profile, Strategy
from .crews import WEEK, assigned_crews, least_difference, repetitions
from .flow_rounding import Draw, dealt_routes, flow_in_parts, rounded_flow
from .game import patrol_of
from .patrol import Patrol
from .sampling import Walks, sampled_walks
from .schedules import MOST_DAYS, Schedule, in_words, units_strategy
from .walker import Mask, Walker, Whole

#: The number of days that are drawn together; 0 for all of them.
BLOCKS = {"all": 0, "month": 30, "week": WEEK, "none": 1}
#: The file formats of rosters.
_SUFFIXES = (".csv", ".ics", ".html")
#: Hours of the day that are not night.
_BY_DAY = range(6, 22)
#: Each crew begins on a new sheet of paper; on narrow screens each route has a line of its own.
_STYLE = """@media print { h2.crew { break-before: page } }
@media screen and (max-width: 36rem) {
  .treeplex h2.crew ~ * thead { display: none }
  .treeplex h2.crew ~ * :is(table, tbody) { display: block; width: 100% }
  .treeplex h2.crew ~ * tbody tr { display: flex; flex-wrap: wrap; gap: 0 .8rem; border-bottom: 1px solid #ddd }
  .treeplex h2.crew ~ * tbody td { border: 0; min-width: 0 }
  .treeplex h2.crew ~ * tbody td:last-child { flex-basis: 100%; max-width: none }
}"""


@dataclass(frozen=True)
class Work:
    """The work of crews in a roster.

    Attributes
    ----------
    name : str
        ``shifts``, ``nights`` or a functional.
    amounts : tuple of float
        The total of each crew.
    bound : float
        A proven lower bound on the difference between the crews with the most and with the least, without rules.
    """

    name: str
    amounts: tuple[float, ...]
    bound: float

    @property
    def difference(self) -> float:
        """The difference between the crews with the most and with the least."""
        return max(self.amounts) - min(self.amounts)


@dataclass(frozen=True, eq=False)
class Foresight:
    """How well earlier days predict a roster's days.

    Attributes
    ----------
    yesterday : float
        A proven bound on the total-variation distance between the plan and today's distribution given yesterday's
        route, on average over yesterday's routes. It compares the move in which a unit is at one step, and holds for
        each unit and step.
    distances : ndarray of float64, shape (days,)
        For each day, the total-variation distance between the plan and the distribution given all earlier days and the
        counts of the whole block; the largest over units and steps. Nobody but the holder of the seed knows these
        counts, so on average over all rosters, anyone else is at most this far from the plan.
    earnings : ndarray of float64, shape (days,)
        What the best attackers with this knowledge earn on each day.
    planned : float
        What the best attackers earn if they know only the plan.
    bits : float
        A proven bound on the mutual information between yesterday's and today's move in the same step, in bits; the
        largest over units and steps.
    """

    yesterday: float
    distances: Floats
    earnings: Floats
    planned: float
    bits: float


@dataclass(frozen=True, eq=False)
class Roster(Schedule):
    """Routes and crews for units on several days; :func:`roster` draws them.

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
    crews : tuple of str
    taken : ndarray of int64, shape (days, units)
        The index of the crew that drives each unit on each day.
    stratify : {"all", "month", "week", "none"}
        The days that are drawn together.
    fair : tuple of str
        The kinds of work, in addition to shifts, that crews share equally.
    repeated : int
        The number of times that a crew drives the same street with the same unit too many days running.
    only : str, optional
        The crew to which tables, calendars and pages are restricted.
    """

    crews: tuple[str, ...]
    taken: Whole
    stratify: str
    fair: tuple[str, ...]
    repeated: int = 0
    only: str | None = None

    @property
    def units(self) -> tuple[str, ...]:
        """The names of the units."""
        return self._units

    def of(self, crew: str) -> "Roster":
        """Return the roster whose tables, calendars and pages contain only one crew.

        Raises
        ------
        InvalidStrategyError
            If there is no such crew.
        """
        return replace(self, only=check_choice(crew, "crew", InvalidStrategyError, self.crews))

    def crew(self, place: int, unit: int) -> str:
        """Return the name of the crew that drives a unit on a day, both by index."""
        return self.crews[int(self.taken[place, unit])]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the units' activities as :meth:`Schedule.rows` does, with ``crew`` after the day."""
        names = {(day, unit): self.crew(i, j) for i, day in enumerate(self.days) for j, unit in enumerate(self._units)}
        for row in super().rows():
            crew = names[row["day"], row["unit"]]
            if self.only in (None, crew):
                yield {"day": row["day"], "crew": crew} | row

    @property
    def _columns(self) -> tuple[str, ...]:
        day, *rest = super()._columns
        return (day, "crew", *rest)

    def _summary(self, place: int, unit: int) -> str | None:
        crew = self.crew(place, unit)
        return f"{crew}: {super()._summary(place, unit)}" if self.only in (None, crew) else None

    @cached_property
    def work(self) -> tuple[Work, ...]:
        """The work of the crews: their shifts, and each kind of work that they share equally."""
        shifts = np.ones(self.taken.shape)
        amounts = {"shifts": shifts} | {name: _amounts(self.game, self.walks, name) for name in self.fair}
        totals = {
            name: np.bincount(self.taken.ravel(), each.ravel(), len(self.crews)) for name, each in amounts.items()
        }
        return tuple(
            Work(name, tuple(totals[name].tolist()), least_difference(each, len(self.crews)))
            for name, each in amounts.items()
        )

    @cached_property
    def foresight(self) -> Foresight:
        """How well earlier days predict each day."""
        return _foresight(self)

    @cached_property
    def deviation(self) -> float:
        """The largest difference, over units and moves, between the days with a move and their expected number."""
        return max(
            float(np.abs(_counts(walks) - len(self.days) * self.strategy.plan[walks.walker.sequences]).max())
            for walks in self.walks
        )

    def save(self, path: str | PathLike[str], **how: Any) -> None:
        """Write the roster to a file: ``.csv``, or ``.ics`` or ``.html`` with the arguments of :meth:`to_ics`.

        Raises
        ------
        GameFileError
            If the file has another suffix or cannot be written.
        """
        if check_suffix(path, "a roster", _SUFFIXES) == ".html":
            self.page(how.get("first")).save(path)
        else:
            super().save(path, **how)

    def page(self, first: dt.datetime | None = None) -> Page:
        """Return the roster as a page to print: the work of the crews, and the shifts of each crew by day.

        Parameters
        ----------
        first : datetime.datetime, optional
            When day 1 begins; the page then shows dates.
        """
        begins = None if first is None else self.clock(first, None)[0].date()

        def date(place: int) -> list[str]:
            day = self.days[place]
            return [str(day)] if begins is None else [str(day), f"{begins + dt.timedelta(days=day - 1):%a %Y-%m-%d}"]

        dated, chosen = ["day"] if begins is None else ["day", "date"], self.crews if self.only is None else [self.only]
        blocks: list[Content] = [heading("Roster" if self.only is None else f"Roster of {self.only}", 1)]
        blocks.append(facts({"days": str(len(self.days)), "units": ", ".join(self._units)}))
        if self.only is None:
            names = [one.name for one in self.work]
            rows = [[crew, *(f"{one.amounts[i]:g}" for one in self.work)] for i, crew in enumerate(self.crews)]
            blocks += [heading("Work"), table(["crew", *names], rows, fold=None)]
        for crew in chosen:
            title = heading(crew)
            title.set("class", "crew")
            headings = [*dated, "unit", "shift", "route"]
            blocks += [title, table(headings, self._shifts(crew, date), words=range(1, len(headings)), fold=None)]
        blocks.append(prose("Times are times of day." if patrol_of(self.game).clock else "Times are in steps."))
        return Page(f"Roster of {len(self.days)} days", tuple(blocks), _STYLE)

    def _shifts(self, crew: str, date: Any) -> list[list[Content]]:
        """Return a row for each shift of a crew: its day, unit, times and route."""
        at, rows = patrol_of(self.game).shown_time, list[list[Content]]()
        for place, unit in np.argwhere(self.taken == self.crews.index(crew)).tolist():
            route = list(self._stretches(self.walks[unit], place))
            if route:
                told = "; ".join(f"{at(one[0])} {in_words(one)}" for one in route)
                whole = element("td", told, cls="word")  # a crew needs the whole route, however long it is
                rows.append([*date(place), self._units[unit], f"{at(route[0][0])} to {at(route[-1][1])}", whole])
        return rows

    def _html_blocks(self) -> Iterator[Content]:
        rows = [[str(value) for value in row.values()] for row in self.rows()]
        yield first_rows(self._columns, rows, len(rows), "save writes all", words=(1, 2, 5, 6, 7))


def roster(
    game: Game,
    plan: Strategy | Profile,
    *,
    days: int = 365,
    crews: int | Sequence[str] = 2,
    seed: int,
    stratify: str = "all",
    fair: str | Sequence[str] = ("travel",),
    shifts_per_week: int | None = None,
    same_street: int | None = None,
) -> Roster:
    """Draw a roster for the units of a patrol: routes for many days, and a crew for each unit and day.

    Parameters
    ----------
    game : Game
        A :class:`~treeplex.models.games.patrol.PatrolGame` in which moves do not fail.
    plan : Strategy or Profile
        The units' strategy.
    days : int
        Number of days.
    crews : int or sequence of str
        The number of crews, or their names; at least as many as units.
    seed : int
        Equal seeds give equal rosters for the same days. Keep it secret.
    stratify : {"all", "month", "week", "none"}
        The days that are drawn together: all of them, blocks of 30 days or of seven days (the last block contains the
        remaining days), or each day separately. Every move is made on its expected number of days of the block, rounded
        down or up. Shorter blocks are easier to predict.
    fair : str or sequence of str
        The kinds of work that crews share as equally as possible, in addition to shifts: linear functionals of the
        units, such as ``"travel"`` or ``"visits(bank)"``, or ``"nights"``, the steps between 22:00 and 6:00.
    shifts_per_week : int, optional
        The largest number of shifts of a crew in any seven days in a row.
    same_street : int, optional
        A crew must not drive the same street with the same unit on this number of days in a row. If no exchange of
        shifts avoids this, :attr:`Roster.repeated` counts the remaining cases.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol, has no units, or its moves may fail.
    InvalidStrategyError
        If the plan belongs to another game, a number is out of range, or a kind of work is unknown.

    Notes
    -----
    Routes are drawn first, independently of crews: each day of each unit has exactly the plan's distribution of moves,
    up to a rounding of 1e-11. See :mod:`~treeplex.models.games.patrol.flow_rounding` for the routes and
    :func:`~treeplex.models.games.patrol.crews.assigned_crews` for the crews; the page on the theory of patrols proves
    the properties.

    References
    ----------
    R. Gandhi, S. Khuller, S. Parthasarathy, A. Srinivasan (2006), "Dependent rounding and its applications to
    approximation algorithms", Journal of the ACM 53.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit, roster
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 2.0})])
    >>> year = roster(game, solve(Nash(game)).profile, days=365, crews=4, seed=7)
    >>> year.deviation < 1, [(one.name, one.difference) for one in year.work]
    (True, [('shifts', 1.0), ('travel', 1.0)])
    """
    patrol = patrol_of(game)
    strategy = units_strategy(game, plan, "roster")
    if patrol.detections == "once":
        raise UnsupportedProblemError(
            'detections is "once": units drive joint routes, but a roster draws the routes of each unit independently; '
            "expected schedule(…, routes=plan.routes), or treeplex patrol schedule, which draws joint routes without "
            "crews"
        )
    if patrol.failure > 0.0:
        raise UnsupportedProblemError(
            f"{game.spec}: moves fail with probability {patrol.failure:g}, so a unit has no fixed route, and counts of "
            "moves cannot be kept; expected failure = 0, or use schedule, which draws each day independently"
        )
    days = check_whole(days, "days", InvalidStrategyError, f"[1, {MOST_DAYS}]")
    seed = check_whole(seed, "seed", InvalidStrategyError)
    check_choice(stratify, "stratify", InvalidStrategyError, tuple(BLOCKS))
    names, fair = _crews(crews, len(patrol.units)), (fair,) if isinstance(fair, str) else tuple(fair)
    for name in fair:
        _checked_work(game, patrol, name)
    _check_rules(len(patrol.units), len(names), days, shifts_per_week, same_street)
    walks = _routes(patrol, strategy, days, seed, stratify)
    kinds = [np.ones((days, len(patrol.units))), *(_amounts(game, walks, name) for name in fair)]
    forbidden = None if same_street is None else _forbidden(patrol, walks, same_street)
    rng = np.random.default_rng([seed, days, len(names)])
    taken = assigned_crews(np.stack(kinds, axis=2), len(names), rng, shifts_per_week, forbidden)
    left = repetitions(taken, forbidden)
    return Roster(game, strategy, tuple(range(1, days + 1)), seed, walks, names, taken, stratify, fair, left)


def _crews(given: Any, units: int) -> tuple[str, ...]:
    """Return the names of the crews."""
    if is_whole(given):
        count = check_whole(given, "crews", InvalidStrategyError, "[1, 10000]")
        given = [f"crew {number}" for number in range(1, count + 1)]
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(one, str) for one in given):
        raise InvalidStrategyError(f"crews is {shown(given, 60)}, expected a number or a list of names")
    if len(set(given)) < len(given):
        raise InvalidStrategyError(f"crews has {max(given, key=list(given).count)} twice, expected different names")
    if len(given) < units:
        raise InvalidStrategyError(
            f"crews has {len(given)} for {units} units, expected at least {units}: each unit needs a crew every day"
        )
    return tuple(given)


def _check_rules(units: int, crews: int, days: int, week: int | None, same_street: int | None) -> None:
    if week is not None:
        check_whole(week, "shifts_per_week", InvalidStrategyError, f"[1, {WEEK}]")
        least = -(-units * min(days, WEEK) // crews)
        if week < least:
            raise InvalidStrategyError(
                f"shifts_per_week is {week}, but {units * min(days, WEEK)} shifts in {min(days, WEEK)} days need at "
                f"least {least} from some of the {crews} crews"
            )
    if same_street is not None:
        check_whole(same_street, "same_street", InvalidStrategyError, "[2, 1000000]")


def _routes(patrol: Patrol, strategy: Strategy, days: int, seed: int, stratify: str) -> tuple[Walks, ...]:
    """Return the routes of each unit."""
    if stratify == "none":
        return sampled_walks(patrol.patrolling, strategy.behaviour, range(1, days + 1), seed)
    walkers, found = patrol.patrolling.walkers, []
    Budget().require(16 * days * len(walkers) * max(walker.body.last for walker in walkers), f"{days:,} days of routes")
    for number, walker in enumerate(walkers):
        flows, parts = dict[int, Whole](), list[Whole]()
        for place, size in enumerate(_blocks(days, stratify)):
            if size not in flows:
                flows[size] = flow_in_parts(walker, strategy.behaviour, size)
            rng = np.random.default_rng([seed, number, place])
            counts = rounded_flow(walker, flows[size], _drawing(rng))
            parts.append(dealt_routes(walker, counts, size, rng))
        moves = np.concatenate(parts)
        found.append(Walks(walker, moves, np.zeros(moves.shape, dtype=bool)))
    return tuple(found)


def _drawing(rng: np.random.Generator) -> Draw:
    return lambda numerator, denominator: int(rng.integers(denominator)) < numerator


def _blocks(days: int, stratify: str) -> list[int]:
    """Return the lengths of the blocks of days that are drawn together; the last one contains the remaining days."""
    length = BLOCKS[stratify] or days
    count = max(1, round(days / length))
    return [length] * (count - 1) + [days - length * (count - 1)]


def _counts(walks: Walks) -> Whole:
    """Return the number of days with each move, shape (num_moves,)."""
    return np.bincount(walks.moves[walks.moves >= 0], minlength=len(walks.walker.moves))


def _checked_work(game: Game, patrol: Patrol, name: str) -> Functional | None:
    """Return the functional of a kind of work; none for nights.

    Raises
    ------
    InvalidStrategyError
        If there is no such work.
    """
    if name == "nights":
        if patrol.clock is None:
            raise InvalidStrategyError("fair has nights, but the patrol has no clock; expected a patrol with a clock")
        return None
    try:
        found = game.functionals[name]
    except KeyError as error:
        raise InvalidStrategyError(f"fair: {error.args[0]}") from None
    if not isinstance(found, Functional) or found.player != 1:
        raise InvalidStrategyError(
            f"fair has {shown(name, 60)}, expected nights or a linear functional of the units, such as "
            f"{one_of(['travel', 'workload', 'visits(PLACE)'])}"
        )
    return found


def _amounts(game: Game, walks: tuple[Walks, ...], name: str) -> Floats:
    """Return the amounts of a kind of work of each shift, shape (days, units)."""
    patrol = patrol_of(game)
    found = _checked_work(game, patrol, name)
    if found is not None:
        return np.stack([one.amounts(found.coefficients) for one in walks], axis=1)
    assert patrol.clock is not None
    dark = np.array([int(patrol.clock.at(step)[:2]) not in _BY_DAY for step in range(patrol.steps)])
    until = np.append(0.0, np.cumsum(dark))
    amounts = []
    for one in walks:
        steps = until[one.walker.times + one.walker.durations] - until[one.walker.times]
        amounts.append(np.append(steps, 0.0)[one.moves].sum(axis=1))  # nothing for −1
    return np.stack(amounts, axis=1)


def _forbidden(patrol: Patrol, walks: tuple[Walks, ...], running: int) -> Mask:
    """Return whether a unit's routes of several days in a row, from each day on, share a street."""
    found = []
    for one in walks:
        streets = _streets(patrol, one.walker)
        days = len(one.moves)
        driven = np.zeros((days, streets.max(initial=0) + 1), dtype=bool)
        each, place = np.nonzero(one.moves >= 0)
        driven[each, streets[one.moves[each, place]]] = True
        driven[:, 0] = False  # waiting
        starts = max(0, days - running + 1)
        shared = np.ones((starts, driven.shape[1]), dtype=bool)
        for later in range(running if starts else 0):
            shared &= driven[later : later + starts]
        found.append(shared.any(axis=1))
    return np.stack(found, axis=1)


def _streets(patrol: Patrol, walker: Walker) -> Whole:
    """Return the number of the street of each move, from 1; 0 for waiting."""
    on_map = patrol.moves[walker.moves]
    numbers = dict[str, int]()
    roads = patrol.map

    def named(move: int) -> str:
        """Return a name that both directions of a street share."""
        ends = sorted((roads.nodes[roads.sources[move]], roads.nodes[roads.targets[move]]))
        return (roads.streets[move] if roads.streets else "") or " -- ".join(ends)

    names = ["" if move < 0 else named(move) for move in on_map.tolist()]
    return np.array([numbers.setdefault(name, len(numbers) + 1) if name else 0 for name in names], dtype=np.int64)


def _foresight(roster: Roster) -> Foresight:
    """Return how well earlier days predict the days of a roster."""
    game, plan = roster.game, roster.strategy.plan
    form, blocks = game.sequence_form, _blocks(len(roster.days), roster.stratify)
    distances, earnings, yesterday, bits = [], [], 0.0, 0.0

    def earned(units: Floats) -> float:
        return best_response_value(form.treeplexes[0], form.gradient(0, [units, units]))

    planned = earned(plan)
    steps = [_in_progress(walks.walker) for walks in roster.walks]
    for size in set(blocks) - {1}:
        for walks, during in zip(roster.walks, steps, strict=True):
            yesterday = max(yesterday, _yesterday(plan[walks.walker.sequences], during, size))
            bits = max(bits, _bits(plan[walks.walker.sequences], during, size))
    begins = 0
    for size in blocks:
        own = [walks.moves[begins : begins + size] for walks in roster.walks]
        left = [_counts(replace(walks, moves=moves)) for moves, walks in zip(own, roster.walks, strict=True)]
        for day in range(size):
            if size == 1:
                distances.append(0.0)
                earnings.append(planned)
                continue
            today, far = plan.copy(), 0.0
            for number, walks in enumerate(roster.walks):
                sequences = walks.walker.sequences
                today[sequences] = left[number] / (size - day)
                far = max(far, 0.5 * float((steps[number] @ np.abs(today[sequences] - plan[sequences])).max()))
                made = own[number][day]
                left[number][made[made >= 0]] -= 1
            distances.append(far)
            earnings.append(earned(today))
        begins += size
    return Foresight(min(1.0, yesterday), np.array(distances), np.array(earnings), planned, bits)


def _in_progress(walker: Walker) -> Any:
    """Return which moves a unit may be making in each step, as a sparse matrix of shape (last, num_moves)."""
    import scipy.sparse as sp

    moves = np.repeat(np.arange(len(walker.moves)), walker.durations)
    begun = np.cumsum(walker.durations) - walker.durations
    steps = np.arange(len(moves)) - np.repeat(begun - walker.times, walker.durations)
    return sp.csr_array((np.ones(len(moves)), (steps, moves)), shape=(walker.body.last, len(walker.moves)))


def _yesterday(plan: Floats, during: Any, days: int) -> float:
    """Return the bound on what yesterday's route reveals about today's, for days drawn together.

    The moves of one step exclude each other. The numbers F of days with the moves a and b have expectations N x and a
    covariance of at most √(v(a) v(b)), where v is the variance of a rounded number. Two days of N make the moves a and
    b with probability (E[F(a) F(b)] − [a = b] E[F(a)]) / (N (N − 1)); the distance from x(a) x(b) is summed.
    """
    part = np.mod(days * plan, 1.0)
    alone = np.max(during @ (plan * (1.0 - plan))) / (days - 1)
    rounded = np.max((during @ np.sqrt(part * (1.0 - part))) ** 2) / (2.0 * days * (days - 1))
    return float(alone + rounded)


def _bits(plan: Floats, during: Any, days: int) -> float:
    """Return the bound in bits on the mutual information of yesterday's and today's move in a step.

    It is at most log₂(1 + χ²), where χ² sums (P(a, b) − x(a) x(b))² / (x(a) x(b)) over pairs of moves, and at most the
    entropy of today's move. The differences P(a, b) − x(a) x(b) times N (N − 1) are v(a) − N x(a) (1 − x(a)) for a = b,
    and otherwise at most √(v(a) v(b)) + N x(a) x(b) in size; see :func:`_yesterday`.
    """
    part = np.mod(days * plan, 1.0)
    made, variance = plan > 0.0, part * (1.0 - part)
    ratio = np.divide(variance, plan, out=np.zeros_like(plan), where=made)

    def apart(values: Floats) -> Floats:
        """Return the sum of products over pairs of different moves of each step."""
        found: Floats = (during @ values) ** 2 - during @ values**2
        return found

    same = during @ np.where(made, (days * (1.0 - plan) - ratio) ** 2, 0.0)
    others = apart(ratio) + 2.0 * days * apart(np.sqrt(variance)) + days**2 * apart(plan)
    squared = (same + others) / (days * (days - 1.0)) ** 2
    entropy = during @ (-plan * np.log2(np.where(made, plan, 1.0)))
    return float(np.minimum(np.log1p(squared) / np.log(2.0), entropy).max())
