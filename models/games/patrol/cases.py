"""The cases of an uncertain patrol: scenarios, with goal values and sets of probabilities of the attackers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, product
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.checks import check_number, is_number
from ....seqform.errors import InvalidGameError, UnsupportedProblemError, nearest, one_of, shown
from .declarations import Attacker, PatrolError, about, free_names, texts
from .patrol import Patrol
from .uncertainty import Scenario, Uncertainty
from .walker import Mask

Interval = tuple[float, float]
#: The largest number of cases for regret, and of systems of equations for extreme probabilities.
_MOST_CASES, _MOST_SYSTEMS = 256, 50_000
#: Differences below this are round-off.
_ROUND_OFF = 1e-9


@dataclass(frozen=True, eq=False)
class Group:
    """Attackers of one type, possibly only those who enter at one place, or pursue one goal.

    Attributes
    ----------
    name : str
    type : int
    attacker : Attacker
        The declaration of the group.
    entry, target : str
        The node where the group enters, and its goal; empty if attackers choose them.
    comes : bool
        Whether a route leads from the entry to a goal in time; otherwise the group stays away.
    """

    name: str
    type: int
    attacker: Attacker
    entry: str = ""
    target: str = ""
    comes: bool = True


@dataclass(frozen=True, eq=False)
class Bound:
    """An interval of the probability that one of several groups comes.

    Attributes
    ----------
    words : str
    groups : ndarray of bool, shape (num_groups,)
    lower, upper : float
    """

    words: str
    groups: Mask
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Case:
    """Goal values, and the probabilities of groups or bounds on them.

    Attributes
    ----------
    name : str
    scenario : int
        The number of its scenario, from 0.
    goals : tuple of mapping of str to float
        The values of goals to each group.
    shares : ndarray of float64, shape (num_groups,), optional
        The probabilities of the groups if they are known.
    bounds : tuple of Bound
        Otherwise, the intervals of probabilities.
    shift : float, optional
        For regret, the amount that is subtracted from attackers' earnings: a lower bound on what they earn against the
        best plan for this case.
    slack : float
        The amount by which that bound may be too low.
    """

    name: str
    scenario: int
    goals: tuple[Mapping[str, float], ...]
    shares: Floats | None
    bounds: tuple[Bound, ...] = ()
    shift: float | None = None
    slack: float = 0.0


def check_uncertainty(patrol: Patrol) -> None:
    """Raise an error if intervals or scenarios do not fit the patrol.

    Raises
    ------
    PatrolError
    """
    if not isinstance(patrol.uncertainty, Uncertainty | None):
        raise PatrolError(
            f"uncertainty is {shown(patrol.uncertainty, 60)}, expected an Uncertainty, such as "
            "Uncertainty(goals={'bank': (2, 4)})",
            "uncertainty",
        )
    if patrol.uncertainty is not None:
        measure_of(patrol.uncertainty.robust or "worst", "uncertainty.robust")
    worst_cases(patrol)


def measure_of(text: Any, what: str = "robust") -> tuple[str, float]:
    """Return the name and the level of a measure: ``worst``, ``cvar:LEVEL`` or ``regret``.

    Raises
    ------
    PatrolError

    Examples
    --------
    >>> from treeplex.models.games.patrol.cases import measure_of
    >>> measure_of("cvar:0.9"), measure_of("worst")
    (('cvar', 0.9), ('worst', 1.0))
    """
    name, colon, level = text.strip().partition(":") if isinstance(text, str) else ("", "", "")
    known = ("worst", "cvar", "regret")
    if name not in known or (name == "cvar") != bool(colon):
        hint = "" if name in known else nearest(name, known)
        raise PatrolError(f"{what} is {shown(text, 60)}{hint}, expected worst, cvar:LEVEL or regret", what)
    if name != "cvar":
        return name, 1.0
    try:
        number = float(level)
    except ValueError:
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise PatrolError(f"{what} is {shown(text, 60)}, expected cvar:LEVEL with a level from 0 to 1", what)
    return name, number


def scenarios_of(patrol: Patrol) -> tuple[Scenario, ...]:
    """Return the scenarios with their names and probabilities; one that changes nothing if none are declared.

    Raises
    ------
    PatrolError
    """
    if not patrol.scenarios:
        return (Scenario("as declared", 1.0),)
    for number, one in enumerate(patrol.scenarios, 1):
        if not isinstance(one.name, str) or not one.name.isprintable():
            key = f"scenarios[{number}].name"
            raise PatrolError(f"{key} is {shown(one.name, 60)}, expected printable text", key)
    names = free_names("scenario", [one.name for one in patrol.scenarios])
    for number, name in enumerate(names, 1):
        if name in names[: number - 1]:
            key = f"scenarios[{number}].name"
            raise PatrolError(f"{key} is {shown(name, 60)} twice, expected different names", key)
    given = [one.probability for one in patrol.scenarios]
    if all(each is None for each in given):
        given = [1.0 / len(given)] * len(given)
    for number, each in enumerate(given, 1):
        key = f"scenarios[{number}].probability"
        with about(key):
            check_number(each, key, InvalidGameError, "[0, 1]")
    total = sum(float(each or 0.0) for each in given)
    if abs(total - 1.0) > _ROUND_OFF:
        raise PatrolError(f"the probabilities of scenarios sum to {total:g}, expected 1", "scenarios[1].probability")
    return tuple(
        replace(one, name=name, probability=float(each or 0.0))
        for one, name, each in zip(patrol.scenarios, names, given, strict=True)
    )


def _tables(patrol: Patrol, number: int, name: str) -> list[tuple[str, Mapping[Any, Any]]]:
    """Return the non-empty tables of one kind that apply in a scenario, the most general first, with their keys."""
    parts: list[tuple[str, Any]] = [("uncertainty", patrol.uncertainty)]
    if patrol.scenarios:
        parts.append((f"scenarios[{number + 1}]", patrol.scenarios[number]))
    found = []
    for key, part in parts:
        table = getattr(part, name, None)
        if table is not None and not isinstance(table, Mapping):
            raise PatrolError(
                f"{key}.{name} is {shown(table, 60)}, expected intervals by name, such as {{ bank = [0.2, 0.5] }}",
                f"{key}.{name}",
            )
        if table:
            found.append((f"{key}.{name}", table))
    return found


def _interval(value: Any, key: str, what: str, allowed: str) -> Interval:
    """Return an interval that is given as a pair, or as a number."""
    with about(key):
        if isinstance(value, tuple | list) and len(value) == 2 and all(map(is_number, value)):
            lower, upper = (check_number(each, what, InvalidGameError, allowed) for each in value)
            if lower <= upper:
                return lower, upper
        elif is_number(value):
            return (check_number(value, what, InvalidGameError, allowed),) * 2
        raise InvalidGameError(f"{what} is {shown(value, 60)}, expected a number, or a lower and an upper end")


def _node(patrol: Patrol, given: Any, key: str, known: Sequence[str], kind: str) -> str:
    """Return the name of a node that is a goal or an entry of attackers."""
    with about(key):
        name = patrol.map.shown_nodes[patrol.map.node(given, key)]
        if name not in known:
            raise InvalidGameError(f"{key} has {name}, which is {kind}{nearest(name, known)}; expected {one_of(known)}")
        return name


def _check_type(name: Any, known: Sequence[str], key: str) -> None:
    if name not in known:
        hint = nearest(name, known)
        raise PatrolError(
            f"{key} has {shown(name, 60)}, which is not a type of attackers{hint}; expected {one_of(known)}",
            f"{key}.{name}",
        )


def _goal_intervals(patrol: Patrol, number: int) -> list[dict[str, Interval]]:
    """Return the interval of each goal's value in a scenario, for each type."""
    found: list[dict[str, Interval]] = []
    for kind in range(len(patrol.attackers)):
        values = patrol.goal_values(kind)
        found.append({patrol.map.shown_nodes[node]: (values[node],) * 2 for node in np.flatnonzero(~np.isnan(values))})
    declared = [dict(each) for each in found]
    names = [one.name for one in patrol.attackers]
    for key, table in _tables(patrol, number, "goals"):
        for name, value in table.items():
            at = f"{key}.{name}"
            if isinstance(value, Mapping):
                _check_type(name, names, key)
                chosen, given = [names.index(name)], dict(value)
            else:
                chosen, given = list(range(len(names))), {name: value}
            goals = list(dict.fromkeys(goal for kind in chosen for goal in declared[kind]))
            for goal, interval in given.items():
                node = _node(patrol, goal, at, goals, "not a goal of attackers")
                ends = _interval(interval, at, f"{key}: {node}", "(-inf, inf)")
                for kind in chosen:
                    known = declared[kind].get(node)
                    if known is not None and key.startswith("uncertainty") and not ends[0] <= known[0] <= ends[1]:
                        raise PatrolError(
                            f"{key}: {node} is {shown(interval, 60)}, which does not contain the declared value "
                            f"{known[0]:g} to {names[kind]}",
                            at,
                        )
                    if known is not None:
                        found[kind][node] = ends
    return found


def groups_of(patrol: Patrol) -> tuple[Group, ...]:
    """Return the groups of attackers: the types, divided by entries or goals if their probabilities are given.

    Raises
    ------
    PatrolError
    """
    count = max(1, len(patrol.scenarios))
    divided = {name: any(_tables(patrol, number, name) for number in range(count)) for name in ("entries", "targets")}
    found: list[Group] = []
    for kind, one in enumerate(patrol.attackers):
        windows: Any = one.entries if isinstance(one.entries, Mapping) else dict.fromkeys(texts(one.entries, "entries"))
        entries: list[Any] = list(windows) if divided["entries"] else [None]
        targets: list[Any] = list(one.goals) if divided["targets"] else [None]
        for entry, target in product(entries, targets):
            names, changed = [one.name], dict[str, Any]()
            if entry is not None:
                names.append(f"from {_name(patrol, entry)}")
                changed["entries"] = {entry: windows[entry]} if isinstance(one.entries, Mapping) else [entry]
            if target is not None:
                names.append(f"to {_name(patrol, target)}")
                changed["goals"] = {goal: value if goal == target else 0.0 for goal, value in one.goals.items()}
            name, own = " ".join(names), replace(one, **changed)
            comes = not changed or _has_route(patrol, replace(own, probability=None))
            at, to = ("" if each is None else _name(patrol, each) for each in (entry, target))
            found.append(Group(name, kind, own, at, to, comes))
    return tuple(found)


def _name(patrol: Patrol, node: Any) -> str:
    return patrol.map.shown_nodes[patrol.map.node(node, "attackers")]


def _has_route(patrol: Patrol, one: Attacker) -> bool:
    """Return whether a group can reach a goal; one that must come must be able to."""
    try:
        replace(patrol, units=[], attackers=[one], limits=[], uncertainty=None, scenarios=[])
    except PatrolError as error:
        if one.may_stay_away:
            return False
        raise PatrolError(
            f"{one.name}: {error}; the probabilities of entries and targets require such a route", error.key
        ) from None
    return True


def _bounds(patrol: Patrol, groups: Sequence[Group], number: int) -> tuple[Floats | None, tuple[Bound, ...]]:
    """Return the probabilities of the groups in a scenario if they are known, and otherwise their bounds."""
    names = [one.name for one in patrol.attackers]
    types = dict(zip(names, ((share, share) for share in patrol.probabilities), strict=True))
    key, found = "uncertainty", list[Bound]()
    for kind, attribute in (("types", "type"), ("entries", "entry"), ("targets", "target")):
        tables = _tables(patrol, number, kind)
        mine = [names[group.type] if kind == "types" else getattr(group, attribute) for group in groups]
        known = list(dict.fromkeys(filter(None, mine)))
        given: dict[str, Interval] = types if kind == "types" else {}
        if tables:
            key, table = tables[-1]
            given = {}
            for name, interval in table.items():
                at = f"{key}.{name}"
                if kind == "types":
                    _check_type(name, known, key)
                whose = "not an entry of attackers" if kind == "entries" else "not a goal of attackers"
                node = name if kind == "types" else _node(patrol, name, at, known, whose)
                given[node] = _interval(interval, at, f"{key}: {node}", "[0, 1]")
            least, most = (sum(each[end] for each in given.values()) for end in (0, 1))
            if least > 1.0 + _ROUND_OFF:
                raise PatrolError(f"{key}: the lower ends sum to {least:g}, expected at most 1", key)
            if most < 1.0 - _ROUND_OFF and len(given) == len(known):
                raise PatrolError(f"{key}: the upper ends sum to {most:g}, expected at least 1", key)
        of = {"types": "of", "entries": "from", "targets": "to"}[kind]
        found += [
            Bound(f"{of} {name}", np.array([each == name for each in mine]), *ends) for name, ends in given.items()
        ]
    if len(groups) == len(names) and all(one.lower == one.upper for one in found) and len(found) == len(groups):
        shares = np.array([one.lower for one in sorted(found, key=lambda one: int(np.argmax(one.groups)))])
        if abs(shares.sum() - 1.0) <= _ROUND_OFF:
            return shares, ()
    if len(extremes(found, len(groups), any_of_them=True)) == 0:
        raise PatrolError(
            f"{key}: no probabilities of attackers lie in all intervals of types, entries and targets", key
        )
    return None, tuple(one for one in found if not one.groups.all() and (one.lower > 0.0 or one.upper < 1.0))


def extremes(bounds: Sequence[Bound], size: int, any_of_them: bool = False) -> Floats:
    """Return the extreme points of the probabilities that meet bounds, or one feasible point.

    Parameters
    ----------
    bounds : sequence of Bound
    size : int
        The number of probabilities, n.
    any_of_them : bool
        Whether a single point, or none if no point is feasible, is enough.

    Returns
    -------
    ndarray of float64, shape (k, n)

    Raises
    ------
    UnsupportedProblemError
        If there are too many candidates.

    Notes
    -----
    An extreme point meets n linearly independent constraints with equality: those that always hold with equality, and
    a choice of the others.
    """
    exact = [one for one in bounds if one.lower == one.upper]
    loose = [one for one in bounds if one.lower < one.upper]
    equal = np.array([np.ones(size), *(one.groups for one in exact)], dtype=float)
    sums = np.array([1.0, *(one.lower for one in exact)])
    rows = np.concatenate([-np.eye(size), *([row.groups * sign for sign in (-1.0, 1.0)] for row in loose)])
    limits = np.concatenate([np.zeros(size), *([-row.lower, row.upper] for row in loose)])
    if any_of_them:
        from scipy.optimize import linprog

        found = linprog(np.zeros(size), rows, limits, equal, sums, bounds=(None, None))
        return np.atleast_2d(found.x) if found.status == 0 else np.zeros((0, size))
    missing = size - int(np.linalg.matrix_rank(equal))
    systems = math.comb(len(rows), missing)
    if systems > _MOST_SYSTEMS:
        raise UnsupportedProblemError(
            f"regret needs the extreme probabilities of {size} groups of attackers, up to {systems:,} candidates; "
            f"expected at most {_MOST_SYSTEMS:,}: give fewer intervals, or minimise worst"
        )
    points = dict[tuple[float, ...], Floats]()
    for chosen in combinations(range(len(rows)), missing):
        matrix = np.concatenate([equal, rows[list(chosen)]])
        if np.linalg.matrix_rank(matrix) < size:
            continue
        point = np.linalg.lstsq(matrix, np.concatenate([sums, limits[list(chosen)]]), rcond=None)[0]
        close = np.abs(equal @ point - sums).max() <= _ROUND_OFF and (rows @ point <= limits + _ROUND_OFF).all()
        if close:
            points.setdefault(tuple((point.round(9) + 0.0).tolist()), np.clip(point, 0.0, 1.0))
    return np.array(list(points.values())).reshape(-1, size)


def worst_cases(patrol: Patrol) -> tuple[tuple[Group, ...], tuple[Case, ...]]:
    """Return the groups of attackers, and a case for each scenario, with all goal values at their upper ends.

    Notes
    -----
    Attackers earn a goal's value times the probability of reaching it, which is at least 0. For every plan of the
    units, upper ends are therefore the worst values.
    """
    groups, scenarios = groups_of(patrol), scenarios_of(patrol)
    found = []
    for number, one in enumerate(scenarios):
        values = _goal_intervals(patrol, number)
        goals = tuple(
            _of_group(patrol, group, {name: ends[1] for name, ends in values[group.type].items()}) for group in groups
        )
        found.append(Case(one.name, number, goals, *_bounds(patrol, groups, number)))
    return groups, tuple(found)


def _of_group(patrol: Patrol, group: Group, values: Mapping[str, float]) -> Mapping[str, float]:
    """Return the values of goals to a group: 0 for those that it does not pursue."""
    return {name: value if group.target in ("", name) else 0.0 for name, value in values.items()}


def regret_cases(patrol: Patrol) -> tuple[tuple[Group, ...], tuple[Case, ...]]:
    """Return the groups of attackers, and the cases in which the regret of some plan may be largest.

    Raises
    ------
    UnsupportedProblemError
        If there are too many cases, or if moves may fail and goal values are intervals.

    Notes
    -----
    Let V(v, π) be the value of the game for goal values v and probabilities π. It is concave in π, so that regret is
    convex in π, and largest at extreme points. Each route ends at one goal g at most. V rises by at most π(c) per unit
    of the value v(c, g) to the group c, and never falls. The regret from a route to g is therefore largest if v(c, g)
    is at its upper end, and the values of the group's other goals are at their lower ends.
    """
    groups, scenarios = groups_of(patrol), scenarios_of(patrol)
    found: list[Case] = []
    for number, one in enumerate(scenarios):
        intervals = _goal_intervals(patrol, number)
        shares, bounds = _bounds(patrol, groups, number)
        points = extremes(bounds, len(groups)) if shares is None else shares[None]
        options = [list(_extreme_goals(patrol, group, intervals[group.type])) for group in groups]
        uncertain = any(low < high for each in intervals for low, high in each.values())
        if uncertain and patrol.failure > 0.0:
            raise UnsupportedProblemError(
                "regret with intervals of goal values needs moves that cannot fail, because a route that fails may end "
                "at several goals; expected failure = 0, scenarios instead of intervals, or the measure worst"
            )
        cases = len(found) + len(points) * reduce(lambda total, each: total * len(each), options, 1)
        if cases > _MOST_CASES:
            raise UnsupportedProblemError(
                f"regret has {cases:,} extreme cases, expected at most {_MOST_CASES}: give fewer intervals, or "
                "minimise worst"
            )
        for goals, point in product(product(*options), points):
            words = _words(groups, goals, intervals, point if shares is None else None)
            names = ([one.name] if len(scenarios) > 1 else []) + ([words] if words else [])
            found.append(Case(", ".join(names) or one.name, number, goals, point))
    return groups, tuple(found)


def _extreme_goals(patrol: Patrol, group: Group, intervals: Mapping[str, Interval]) -> Iterator[Mapping[str, float]]:
    """Yield the values in which a group's goals are uncertain: one at its upper end, the others at their lower ends."""
    own = {name: ends if group.target in ("", name) else (0.0, 0.0) for name, ends in intervals.items()}
    low = {name: ends[0] for name, ends in own.items()}
    uncertain = [name for name, ends in own.items() if ends[0] < ends[1]]
    meeting, step = patrol.worth(group.type)
    # A route to no uncertain goal: to another goal, or to none if the group cannot gain nothing by staying away.
    if len(uncertain) < len(own) or not group.attacker.may_stay_away or max(meeting, step) > 0.0:
        yield low
    for name in uncertain:
        yield low | {name: own[name][1]}


def _words(
    groups: Sequence[Group],
    goals: Sequence[Mapping[str, float]],
    intervals: Sequence[Mapping[str, Interval]],
    point: Floats | None,
) -> str:
    """Return the values and the probabilities that distinguish a case."""
    found = []
    for group, values in zip(groups, goals, strict=True):
        ends = intervals[group.type]
        uncertain = [name for name, (low, high) in ends.items() if low < high and group.target in ("", name)]
        each = [f"{name} {values[name]:g}" for name in uncertain]
        if each:
            found.append(" ".join([*([f"{group.name}:"] if len(groups) > 1 else []), ", ".join(each)]))
    if point is not None:
        found.append(", ".join(f"{share:.3g} {group.name}" for group, share in zip(groups, point, strict=True)))
    return "; ".join(found)
