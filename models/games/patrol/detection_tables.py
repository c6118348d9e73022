"""Where and when attackers on their best routes are detected: a table by goal, type, place and time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....seqform.display import Displayed
from ....seqform.errors import InvalidStrategyError, UnsupportedProblemError, needing
from ....seqform.game import Game
from ....seqform.interchange.files import csv_text
from ....seqform.interchange.page import Content, sheet_table
from ....seqform.polytope import best_response_plan
from ....seqform.sheet import Column, Table, payoff, share
from ....seqform.strategy import Profile, Strategy
from .game import patrol_of
from .meetings import Amounts, Entries
from .patrol import Patrol
from .risks import by_attacker_and_goal
from .schedules import units_strategy
from .walker import Walker

if TYPE_CHECKING:
    import pandas as pd

#: Smaller numbers of detections are left out.
_LEAST = 1e-9
_COLUMNS = ("goal", "who", "place", "kind", "time", "hour", "probability", "detections")


@dataclass(frozen=True)
class Contact:
    """A place and time at which an attacker may be detected on its best route to a goal.

    Attributes
    ----------
    goal, who : str
        The goal, and the type of attacker.
    place : str
        The node, or the name of the street.
    kind : {"place", "street"}
    time : str
        When the attacker arrives at the node, or enters the street, as it is shown.
    hour : str
        The hour of this time of day; without a clock the same as `time`.
    probability : float
        The probability that at least one unit or sensor detects it there, if each unit draws its route independently.
    detections : float
        The expected number of detections there.
    """

    goal: str
    who: str
    place: str
    kind: str
    time: str
    hour: str
    probability: float
    detections: float


@dataclass(frozen=True)
class DetectionTable(Displayed):
    """The detections on the best route of each type of attacker to each goal; :func:`detection_table` returns it.

    Attributes
    ----------
    contacts : tuple of Contact
        By goal and type, in order of time.
    """

    contacts: tuple[Contact, ...]

    def __iter__(self) -> Iterator[Contact]:
        return iter(self.contacts)

    @property
    def table(self) -> Table:
        """The contacts as a table."""
        formats = {"probability": share, "detections": payoff}
        names = ("time", "place", "probability", "detections", "goal", "who")  # the numbers fit on narrow screens
        columns = [Column(name, formats.get(name, str)) for name in names]
        return Table.of([*map(vars, self.contacts)], columns, "where attackers on their best routes are detected")

    def __str__(self) -> str:
        return str(self.table)

    def by(self, *keys: str) -> list[dict[str, Any]]:
        """Return the expected detections summed by some of the columns, such as ``"place", "hour"``.

        Raises
        ------
        InvalidStrategyError
            If a key is not one of the columns ``goal``, ``who``, ``place``, ``kind``, ``time`` and ``hour``.
        """
        for key in keys:
            if key not in _COLUMNS[:-2]:
                raise InvalidStrategyError(f"by: {key!r}, expected one of {', '.join(_COLUMNS[:-2])}")
        sums: dict[tuple[str, ...], float] = {}
        for one in self.contacts:
            place = tuple(str(getattr(one, key)) for key in keys)
            sums[place] = sums.get(place, 0.0) + one.detections
        return [{**dict(zip(keys, place, strict=True)), "detections": total} for place, total in sums.items()]

    def to_csv(self) -> str:
        """Return the contacts as comma-separated text."""
        return csv_text(_COLUMNS, map(vars, self.contacts))

    def to_pandas(self) -> "pd.DataFrame":
        """Return the contacts as a pandas DataFrame.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        with needing("a DataFrame needs pandas", "frames"):
            import pandas as pd
        return pd.DataFrame([*map(vars, self.contacts)], columns=list(_COLUMNS))

    def _html_blocks(self) -> Iterator[Content]:
        yield sheet_table(self.table, fold=12)


def detection_table(game: Game, plan: Strategy | Profile) -> DetectionTable:
    """Return where and when attackers are detected on the best route of each type to each of its goals.

    Parameters
    ----------
    game : Game
        A :class:`~treeplex.models.games.patrol.PatrolGame`.
    plan : Strategy or Profile
        The units' strategy.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol or has no units, moves may fail, or only the first detection counts.
    InvalidStrategyError
        If the strategy belongs to another game or to the attackers.

    Notes
    -----
    The routes are those of :func:`~treeplex.models.games.patrol.attacks`, also where it is better to stay away. Let a_u
    be the probability that the unit u is there and detects the attacker. The probability of detection is 1 − Π_u (1 −
    a_u), and the expected number Σ_u a_u; sensors count as units. The sum of the expected numbers over a route is the
    number of detections of the attack.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit, detection_table
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 2.0})])
    >>> table = detection_table(game, solve(Nash(game)).profile)
    >>> last = table.contacts[-1]
    >>> last.place, last.time, round(last.probability, 4), round(sum(one.detections for one in table), 4)
    ('bank', '2', 0.8, 1.3)
    """
    patrol, strategy = patrol_of(game), units_strategy(game, plan, "table of detections")
    if patrol.failure or patrol.detections == "once":
        needs = "a table of detections needs fixed routes and flows of units"
        if patrol.failure:
            raise UnsupportedProblemError(f"moves fail with probability {patrol.failure:g}, but {needs}")
        raise UnsupportedProblemError(
            f'detections is "once", so units drive joint routes, but {needs}; expected detections = "every", or '
            "caught_attacks(solution.problem, solution.state.units) for the best attack on each goal"
        )
    watching = [Amounts.of(patrol.watched([number]), strategy.plan) for number in range(len(patrol.units))]
    contacts = []
    for number, goal, payoffs in by_attacker_and_goal(patrol):
        walker = patrol.attacking.walkers[number]
        best = best_response_plan(patrol.attacking.treeplex, payoffs @ strategy.plan).plan
        made = np.flatnonzero(best[walker.sequences] > 0.5)
        known = patrol.map.shown_nodes[goal], patrol.attackers[number].name
        contacts += [Contact(*known, *one) for one in _along(patrol, walker, made, watching)]
    return DetectionTable(tuple(contacts))


def _along(patrol: Patrol, walker: Walker, made: Any, watching: list[Amounts]) -> Iterator[tuple[Any, ...]]:
    """Yield place, kind, time, hour, probability and expected number of the detections on a route."""
    standing, passing = patrol.keys.standing(walker), patrol.keys.passing(walker)
    for move in made[np.argsort(walker.times[made], kind="stable")].tolist():
        sequence = int(walker.sequences[move])
        begins, arrives = int(walker.times[move]), int(walker.times[move] + walker.durations[move])
        of_map = int(patrol.moves[walker.moves[move]])
        spots: list[tuple[Entries, str, str, int]] = [
            (standing, patrol.map.shown_nodes[int(walker.targets[move])], "place", arrives)
        ]
        if of_map >= 0:
            spots.insert(0, (passing, patrol.map.shown_streets[of_map], "street", begins))
        for entries, place, kind, time in spots:
            keys = entries.keys[(entries.sequences == sequence) & (entries.amounts > 0.0)]
            seen = [float(each.at(keys).sum()) for each in watching]
            seen += patrol.sensor_chances(int(walker.targets[move]) if kind == "place" else -1, of_map, time)
            total = sum(seen)
            if total > _LEAST:
                likely = 1.0 - float(np.prod([1.0 - min(one, 1.0) for one in seen]))
                shown = patrol.shown_time(time)
                hour = shown if patrol.clock is None else f"{shown[:-2]}00"
                yield place, kind, shown, hour, likely, total
