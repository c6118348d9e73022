"""``treeplex patrol`` and ``treeplex patrol schedule``: patrols on a map, and daily routes for units."""

import datetime as dt
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import nearest, one_of, shown
from ..seqform.interchange.files import write_bytes
from ..seqform.limits import answering, now
from ..seqform.sheet import Column, Row, Sheet, Table, between, count, payoff, several, share
from .errors import CommandLineError, ExitStatus, deferring_interrupts, exit_status, print_note
from .files import STANDARD_OUTPUT, Record, check_distinct, check_files, check_writable, command_line
from .options import HtmlOption, JsonOption, Limits, reader, whole
from .outputs import Output, Outputs, page
from .progress import solving, waiting
from .solution import message_of
from .solve import KEYS
from .tables import print_sheet, print_table, seconds_text

if TYPE_CHECKING:
    from ..models.games.patrol import Attack, Attacker, Patrol, PatrolGame
    from ..seqform.interchange.page import Page
    from ..seqform.strategy import Profile
    from ..solvers import Solution
    from ..solvers.commitments import CommitmentOutcome
    from ..solvers.exact.double_oracle import RouteMixtures
    from ..solvers.patrols import WhatIf
    from ..solvers.robust_patrols import RobustPlan

#: The suffix of declarations; every other file is a map.
_DECLARATION = ".toml"
#: The keys of a unit and of a sensor.
_UNIT = (
    "base",
    "start",
    "shift",
    "speed",
    "detection",
    "name",
    "ends",
    "no_return",
    "max_shift",
    "district",
    "handover",
)
_SENSOR = ("at", "detection", "times")
_KEY = re.compile(r"(?:^|,)\s*(\w+)\s*=")
_TIMES = re.compile(r"(\d{1,6}|\d{1,2}(?::\d{2}){1,2})\s*(?:\.\.|-)\s*(\d{1,6}|\d{1,2}(?::\d{2}){1,2})")
#: The option for each argument named in the library's messages.
_OPTIONS = (
    ("attackers[1].entries", "--entry"),
    ("attackers[1].goals", "--goal"),
    ("attackers[1].window", "--window"),
    ("steps", "--steps"),
    ("meeting", "--meeting"),
    ("failure", "--failure"),
    ("detections", "--caught-once"),
    ("closures", "--close"),
    ("sensors", "--sensor"),
    ("units", "--unit"),
)
_KEYS = (*KEYS, "routes", "joint_routes", "attacks", "commitment", "robust", "worst_case", "cases", "what_if", "notes")
#: The file formats of schedules.
_SCHEDULES = (".csv", ".ics", ".gpx", ".geojson")
#: The columns of the best attacks, and the most that are printed.
_BEST = (
    Column("who"),
    Column("goal"),
    Column("earns", payoff),
    Column("detections", payoff),
    Column("route", str, "route, with times of arrival"),
)
_CAUGHT = tuple(replace(one, heading="caught") if one.key == "detections" else one for one in _BEST)
_ATTACKS = 10
#: Messages about limits on averages.
_CHECKS = (
    Column("name", heading="limit"),
    Column("expected", share, "planned on average"),
    Column("mean", share, "in these days"),
    Column("within", between(share), "within the error"),
    Column("verdict", heading=""),
)
_positive = reader(float, "a number greater than 0, such as 250", minimum=0)
_number = reader(float, "a number, such as -2")
_chance = reader(float, "a probability from 0 to 1", minimum=0, maximum=1)


@dataclass(frozen=True)
class _Declared:
    """The attackers, units and day that complete a map. A declaration file contains its own."""

    entry: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE[@T..T]", help="Where attackers may enter, and between which times; may be repeated."
        ),
    ] = None
    goal: Annotated[
        list[str] | None,
        typer.Option(metavar="NODE[=V]", help="A goal of attackers, and its value, by default 1; may be repeated."),
    ] = None
    unit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="base=NODE,…",
            help="A unit: base=NODE or start=NODE, optionally followed by shift=T..T, speed=S, detection=P, "
            "ends=NODE, name=TEXT, no_return=N, max_shift=N, district=NODE or handover=UNIT; may be repeated.",
        ),
    ] = None
    steps: Annotated[int | None, typer.Option(metavar="N", parser=whole, help="Number of steps in a day.")] = None
    speed: Annotated[
        float | None,
        typer.Option(
            metavar="S", parser=_positive, help="Length of road covered in a step; by default one edge per step."
        ),
    ] = None
    window: Annotated[
        str | None, typer.Option(metavar="T..T", help="When attackers may enter; by default at the beginning.")
    ] = None
    meeting: Annotated[
        float | None,
        typer.Option(metavar="V", parser=_number, help="An attacker's payoff for a meeting; by default -1."),
    ] = None
    failure: Annotated[
        float | None, typer.Option(metavar="P", parser=_chance, help="Probability that a move fails; by default 0.")
    ] = None
    sensor: Annotated[
        list[str] | None,
        typer.Option(metavar="at=PLACE,…", help="A sensor: at=PLACE, detection=P, times=T..T; may be repeated."),
    ] = None


@dataclass(frozen=True)
class _Payoffs:
    """Which payoffs the plan is for."""

    robust: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="Plan for uncertain payoffs: worst, cvar:LEVEL or regret.",
        ),
    ] = None
    caught_once: Annotated[
        bool,
        typer.Option("--caught-once", help="Count only the first detection: it catches the attacker."),
    ] = False
    ties: Annotated[
        str | None,
        typer.Option(
            metavar="strong|weak",
            help="Break ties for the units (strong) or against them.",
        ),
    ] = None


@dataclass(frozen=True)
class _Files:
    """Where the plan is written."""

    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the plan to FILE (.npz), for use with 'treeplex patrol schedule'."),
    ] = None
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the plan on its map (.svg, .png, .pdf or .gif)."),
    ] = None
    html: HtmlOption = None
    json: JsonOption = None


def patrol(
    map: Annotated[  # noqa: A002
        str,
        typer.Argument(
            metavar="MAP",
            help="A map (.graphml, .json, .geojson, .csv), or a file (.toml) that declares map, units and attackers.",
        ),
    ],
    *,
    declared: _Declared,
    close: Annotated[
        list[str] | None,
        typer.Option(metavar="PLACE[@T..T]", help="A node, or an edge as 'A -- B', that is closed; may be repeated."),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="LIMIT", help="A constraint, such as 'risk(unit 1) <= 0.05'; may be repeated."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="M", help="Method, as in 'treeplex solve'; by default highs, or ccfr or dcfr for large maps."
        ),
    ] = None,
    limits: Limits,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            metavar="CHANGE",
            help="Also solve with one change: 'unit NODE', 'without UNIT', 'close PLACE', 'without rule NAME', a "
            "limit, 'rules', which leaves out each rule in turn, or 'units', which tries one unit more and one fewer "
            "at each base; may be repeated.",
        ),
    ] = None,
    payoffs: _Payoffs,
    files: _Files,
) -> int:
    """Plan patrols on a map: where units should be, and when, so that attackers gain the least.

    `treeplex patrol schedule PLAN.npz` then draws routes for every day. The exit status is 1 if the limits are jointly
    infeasible.
    """
    drawn = files.plot is not None and Path(files.plot).suffix.lower() == ".gif"
    pictures = {"picture" if drawn else "plot": files.plot}
    check_files({"MAP": map}, out=files.out, json=files.json, html=files.html, profile=True, **pictures)
    record = Record(files.json, _KEYS, game=map, method=method)
    with record.interruptible(limits.time_limit):
        with deferring_interrupts():
            from ..models.games.patrol import PatrolGame
            from ..solvers.choice import choose
            from ..solvers.patrols import changed_patrols, patrol_problem, solve_patrol
            from ..solvers.patrols import what_if as changed
            from ..solvers.robust_patrols import solve_robust
        said = _declaration(map, vars(declared), close or (), limit or ())
        if payoffs.caught_once:
            with _named_as_options():
                said = replace(said, detections="once")
        if payoffs.ties is not None:
            said = _with_ties(said, payoffs.ties)
        with _named_as_options():
            game = PatrolGame(said)
            notes = game.notes  # checks the constraints now
        measure, told = _measure(said, payoffs.robust)
        notes += told
        if said.commitment is not None and (what_if or measure):
            option = "--what-if" if what_if else "--robust"
            raise CommandLineError(f"{option} is for payoffs opposed to the attackers'; leave it out, or [commitment]")
        if measure == "regret" and what_if:
            raise CommandLineError("--what-if compares what attackers earn, expected --robust worst or cvar:LEVEL")
        for change in what_if or ():
            for one in changed_patrols(said, change).values():  # checks the change now
                if one.limits != said.limits:
                    _ = PatrolGame(one).constraints
        if method is None and not measure:
            method = choose(patrol_problem(game)).name
        record.update(game=game.spec, parameters=game.parameters, method=method, notes=list(notes))
        for note in notes:
            print_note(note)
        plan = None
        with solving(f"patrols on {map}", limits.time_limit, shown=record.shown) as progress:
            if measure:
                plan = solve_robust(game, measure, method, progress=progress, **vars(limits))
            solution = solve_patrol(game, method, progress=progress, **vars(limits)) if plan is None else plan.solution
    outputs, answer = Outputs(record), None
    if what_if and solution.infeasibility is None:
        with waiting("what if", shown=record.shown), answering("what_if"):
            left = None if record.deadline is None else max(0.0, record.deadline.at - now())
            worth = partial(changed, solution) if plan is None else plan.what_if
            answer = outputs.ask("what if", lambda: worth(what_if, time_limit=left), None)
    outcome = None
    if said.commitment is not None and solution.infeasibility is None:
        from ..solvers.commitments import commitment_outcome

        with waiting("the plan for opposed payoffs", shown=record.shown), answering("commitment"):
            left = None if record.deadline is None else max(0.0, record.deadline.at - now())
            outcome = outputs.ask("commitment", lambda: commitment_outcome(solution, time_limit=left), None)
    return _Plan(game, solution, answer, plan, outcome).deliver(outputs, files)


# Declarations


def _measure(said: "Patrol", robust: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the measure of uncertain payoffs, empty for the declared ones, and notes."""
    from ..models.games.patrol.cases import measure_of

    uncertain = said.uncertainty is not None or bool(said.scenarios)
    if robust is None:
        named = said.uncertainty.robust if said.uncertainty is not None else ""
        told = "the plan is for the declared values, not for the uncertain ones; --robust worst plans for all of them"
        return named, (told,) if uncertain and not named else ()
    measure_of(robust, "--robust")
    if not uncertain:
        raise CommandLineError("--robust is for a file (.toml) with [uncertainty] or [[scenarios]]")
    return robust, ()


def _with_ties(said: "Patrol", ties: Any) -> "Patrol":
    """Return a patrol with another tie rule of its commitment."""
    if said.commitment is None:
        raise CommandLineError("--ties is for a file (.toml) with [commitment]")
    if ties not in ("strong", "weak"):
        raise CommandLineError(f"--ties is {shown(ties)}, expected one of strong, weak")
    return replace(said, commitment=replace(said.commitment, ties=ties))


def _declaration(
    path: str, declared: Mapping[str, Any], closed: "list[str] | tuple[str, ...]", limits: "list[str] | tuple[str, ...]"
) -> "Patrol":
    """Return the patrol declared in a file, or by options on a map."""
    from ..models.games.patrol import Closure, Patrol, RoadMap, Sensor, Unit
    from ..models.games.patrol.map_files import read_map
    from ..models.games.patrol.patrol_files import read_patrol

    shut = [Closure(*_place(text, "--close")) for text in closed]
    if Path(path).suffix.lower() == _DECLARATION:
        given = [name for name, value in declared.items() if value not in (None, [], ())]
        if given:
            raise CommandLineError(f"--{given[0]} is for a map, but {path} declares a patrol; set it in that file")
        said = read_patrol(path)
        if not shut and not limits:
            return said
        with _named_as_options(len(said.closures)):
            return replace(said, closures=[*said.closures, *shut], limits=[*said.limits, *limits])
    missing = [name for name in ("entry", "goal", "unit", "steps") if declared[name] in (None, [])]
    if missing:
        such_as = {"entry": "'west gate'", "goal": "bank=3", "unit": "base=police", "steps": "20"}[missing[0]]
        raise CommandLineError(f"--{missing[0]} is missing, expected one such as --{missing[0]} {such_as}")
    more = {name: declared[name] for name in ("meeting", "failure") if declared[name] is not None}
    with _named_as_options():
        return Patrol(
            RoadMap.from_graph(read_map(path), speed=declared["speed"]),
            declared["steps"],
            [Unit(**_values(text, "--unit", _UNIT)) for text in declared["unit"]],
            [_attacker(declared)],
            sensors=[Sensor(**_values(text, "--sensor", _SENSOR)) for text in declared["sensor"] or ()],
            closures=shut,
            limits=limits,
            name=Path(path).stem,
            spec=path,
            **more,
        )


def with_closures(said: "Patrol", closed: list[str]) -> "Patrol":
    """Return a patrol with the closures of ``--close`` added."""
    from ..models.games.patrol import Closure

    if not closed:
        return said
    with _named_as_options(len(said.closures)):
        return replace(said, closures=[*said.closures, *(Closure(*_place(text, "--close")) for text in closed)])


@contextmanager
def _named_as_options(closures: int = 0) -> Iterator[None]:
    """Let errors name the options that declare a patrol; the first `closures` closures are the file's."""
    from ..models.games.patrol.declarations import PatrolError

    try:
        yield
    except PatrolError as error:
        key, option = next(((key, option) for key, option in _OPTIONS if error.key.startswith(key)), ("", ""))
        text = str(error)
        at = re.match(rf"{re.escape(key)}(?:\[(\d+)\])?(?:\.(\w+))?\b:?", text) if option else None
        if at is None:
            raise
        number = f" {int(at[1]) - closures}" if at[1] else ""
        part = f": {at[2]}" if at[2] and at[2] != "at" else ""
        raise CommandLineError(f"{option}{number}{part}{text[at.end() :]}") from None


def _attacker(declared: Mapping[str, Any]) -> "Attacker":
    from ..models.games.patrol import Attacker

    window = (0, 0) if declared["window"] is None else _times(declared["window"], "--window")
    places = _distinct([_place(text, "--entry") for text in declared["entry"]], "--entry")
    entries: Any = list(places)
    if any(times is not None for times in places.values()):
        entries = {place: times or window for place, times in places.items()}
    return Attacker(entries, _distinct([_worth(text) for text in declared["goal"]], "--goal"), window=window)


def _distinct(pairs: list[tuple[str, Any]], option: str) -> dict[str, Any]:
    """Return an option's value for each node; reject nodes given twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise CommandLineError(f"{option} {max(names, key=names.count)} appears twice, expected once")
    return found


def _place(text: str, option: str) -> tuple[str, Any]:
    """Parse a place, possibly with times: ``bank@3..8`` or ``bank@22:00-23:00``."""
    place, mark, times = text.rpartition("@")
    if not mark or _TIMES.fullmatch(times.strip()) is None:
        return text.strip(), None
    return place.strip(), _times(times, option)


def _times(text: str, option: str) -> Any:
    """Parse a first and a last time: numbers of steps or, for a patrol with a clock, times of day."""
    found = _TIMES.fullmatch(text.strip())
    if found is None:
        raise CommandLineError(f"{option}: {shown(text, 60)}, expected a first and a last time, such as 3..8")
    first, last = found.groups()
    return (first, last) if ":" in text else (int(first), int(last))


def _worth(text: str) -> tuple[str, float]:
    """Parse a goal and its value: ``bank=3``."""
    name, equals, value = text.rpartition("=")
    if not equals:
        return text.strip(), 1.0
    return name.strip(), _as_number(value, f"--goal {name.strip()}")


def _as_number(text: str, what: str) -> float:
    try:
        return float(_number(text.strip()))
    except typer.BadParameter as error:
        raise CommandLineError(f"{what}: {error}") from None


def _values(text: str, option: str, known: tuple[str, ...]) -> dict[str, Any]:
    """Parse ``key=value,key=value``; a value may contain commas and blanks, as names of places do."""
    keys = list(_KEY.finditer(text))
    if not keys or keys[0].start() > 0:
        first = known[0]
        raise CommandLineError(f"{option} {shown(text, 60)}: expected {first}=NODE, as in {option} {first}=police")
    found: dict[str, Any] = {}
    for place, match in enumerate(keys):
        key, end = match[1], keys[place + 1].start() if place + 1 < len(keys) else len(text)
        value = text[match.end() : end].strip()
        if key not in known:
            raise CommandLineError(
                f"{option} {shown(text, 60)}: unknown key {shown(key, 40)}{nearest(key, known)}; expected "
                f"{one_of(known)}"
            )
        if key in found:
            raise CommandLineError(f"{option} {shown(text, 60)}: {key} is given twice")
        if key in ("shift", "times"):
            found[key] = _times(value, f"{option}: {key}")
        elif key in ("no_return", "max_shift"):
            found[key] = int(value) if value.isdecimal() else value
        elif key in ("speed", "detection"):
            found[key] = _as_number(value, f"{option}: {key}")
        else:
            found[key] = [value] if key == "ends" else value
    return found


# Results


@dataclass(frozen=True, eq=False)
class _Plan:
    """A plan for a patrol, and the value of changes to the patrol."""

    game: "PatrolGame"
    solution: "Solution"
    answer: "WhatIf | None"
    robust: "RobustPlan | None"
    outcome: "CommitmentOutcome | None"

    @cached_property
    def profile(self) -> "Profile":
        """Strategies in the game of the declaration."""
        return self.solution.profile if self.robust is None else self.robust.profile

    def deliver(self, outputs: Outputs, files: _Files) -> int:
        """Write the plan, and return the exit status; a picture needs a plan."""
        feasible = self.solution.infeasibility is None
        return outputs.deliver(
            exit_status(self.solution.status),
            self.print,
            self.to_dict,
            Output("plan", "--out", files.out if feasible else None, self.save, answers=True),
            page(files.html, self.page),
            Output("picture", "--plot", files.plot if feasible else None, self.draw),
        )

    @cached_property
    def attacks(self) -> "list[Attack]":
        """The best attack on each goal; none if the limits cannot be met."""
        from ..models.games.patrol import CaughtOnce, attacks, caught_attacks

        if self.solution.infeasibility is not None:
            return []
        if self.game.patrol.detections == "every":
            return attacks(self.game, self.profile)
        problem, mixtures = self.solution.problem, self.mixtures
        return caught_attacks(problem, mixtures.units) if isinstance(problem, CaughtOnce) and mixtures else []

    @property
    def mixtures(self) -> "RouteMixtures | None":
        """The mixtures of routes, if only the first detection counts."""
        once = self.game.patrol.detections == "once"
        return self.solution.state if once and self.solution.infeasibility is None else None

    def print(self) -> None:
        """Print the solution, and a line per change."""
        from ..solvers.answers import solution_sheet
        from ..solvers.patrol_words import sheet_in_sides

        told = solution_sheet(self.solution, "patrol", message_of(self.solution), seconds_text())
        print_sheet(sheet_in_sides(told))
        if self.robust is not None and self.robust.outcomes:
            print_table(self.robust.table)
        if self.outcome is not None:
            print_sheet(self.outcome.sheet)
            print_table(self.outcome.table)
        if self.attacks:
            rows = [vars(one) | {"route": one.way} for one in self.attacks[:_ATTACKS]]
            at = "" if self.robust is None else ", at the declared values"
            title = f"the best attack on each goal, the most profitable first{at}"
            print_table(Table.of(rows, _BEST if self.mixtures is None else _CAUGHT, title))
        if self.answer is not None:
            print_table(self.answer.table)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        from ..models.games.patrol.words import likely_routes, question_of

        solution = self.solution
        found = solution.to_dict() | {"message": message_of(solution), "question": question_of(self.game)}
        if solution.infeasibility is None:
            routes = [route for strategy in self.profile for route in likely_routes(self.game, strategy)]
            if self.mixtures is not None:
                from ..models.games.patrol.joint_routes import joint_routes, mixed_routes

                patrol, mixtures = self.game.patrol, (self.mixtures.attackers, self.mixtures.units)
                routes = [one for player in (0, 1) for one in mixed_routes(patrol, player, mixtures[player])]
                found["joint_routes"] = [one.to_dict() for one in joint_routes(patrol, mixtures[1])]
            found |= {"routes": list(map(vars, routes)), "attacks": [one.to_dict() for one in self.attacks]}
        if self.robust is not None:
            found |= self.robust.to_dict()
        found["commitment"] = None if self.outcome is None else self.outcome.to_dict()
        return found | {"what_if": None if self.answer is None else [vars(row) for row in self.answer]}

    def save(self, path: str) -> None:
        """Write the plan to a file that ``treeplex patrol schedule`` reads."""
        from ..models.games.patrol.plan_file import PatrolPlan

        solution = self.solution
        told = {"method": solution.method.name, "status": str(solution.status)}
        told |= {} if self.robust is None else {"robust": self.robust.robust}
        told |= {"lower": solution.lower, "upper": solution.upper, "prices": dict(solution.multipliers)}
        routes = None if self.mixtures is None else self.mixtures.units
        PatrolPlan(self.game, self.profile, told, routes).save(path)

    def page(self) -> "Page":
        """Return the page that ``--html`` writes."""
        from ..seqform.interchange.page import heading
        from ..solvers.reports import solution_page

        told = replace(self.solution, message=message_of(self.solution))
        parts = ("The cases", self.robust), ("The commitment", self.outcome), ("Changes and their worth", self.answer)
        more = [block for title, part in parts if part is not None for block in (heading(title), *part.blocks)]
        return solution_page(told, command_line(), more=more)

    def draw(self, path: str) -> None:
        """Draw the plan on its map."""
        from ..models.games.patrol.map_pictures import write_map

        write_map(self.game, self.profile, path, prices=self.solution.multipliers)


def patrol_export(
    plan: Annotated[
        str, typer.Argument(metavar="PLAN", help="The plan of a patrol (.npz), written by treeplex patrol … --out.")
    ],
    out: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The file to write: GeoJSON (.geojson), a GeoPackage (.gpkg), or a table by place and step (.csv).",
        ),
    ],
    *,
    detections: Annotated[
        bool,
        typer.Option(
            "--detections",
            help="Write a table (.csv) of where and when attackers on their best routes are detected.",
        ),
    ] = False,
    json: JsonOption = None,
) -> int:
    """Write a plan for a geographic information system, or as a table.

    GeoJSON and GeoPackage contain streets with the attributes of the map, places and likely routes, with the expected
    numbers of units, attackers and meetings there. Coordinates are those of the map.
    """
    check_distinct({"PLAN": plan}, {"FILE": out, "--json": json})
    check_writable(out, "FILE")
    if detections and Path(out).suffix.lower() != ".csv":
        raise CommandLineError(f"FILE is {out}, expected a file name that ends with .csv for --detections")
    with deferring_interrupts():
        from ..models.games.patrol.detection_tables import detection_table
        from ..models.games.patrol.gis import write_plan
        from ..models.games.patrol.plan_file import PatrolPlan
    record = Record(json, ("plan", "out", "streets", "places"), plan=plan)
    with record.interruptible(), waiting(f"the plan in {out}", shown=record.shown):
        loaded = PatrolPlan.load(plan)
        game, roads = loaded.game, loaded.patrol.map
        if detections:
            write_bytes(out, detection_table(game, loaded.profile).to_csv().encode())
        else:
            write_plan(game, loaded.profile, out, game.constraints, loaded.certificate.get("prices"))
    streets = set(map(frozenset, zip(roads.sources.tolist(), roads.targets.tolist(), strict=True)))
    found = {"out": out, "streets": len(streets), "places": roads.num_nodes}
    return Outputs(record).deliver(
        ExitStatus.SUCCESS,
        lambda: print_sheet(
            Sheet([Row("plan", plan), Row("streets", len(streets), count), Row("places", roads.num_nodes, count)])
        ),
        lambda: found,
    )


# Schedules


def patrol_schedule(
    plan: Annotated[
        str, typer.Argument(metavar="PLAN", help="The plan of a patrol (.npz), written by treeplex patrol … --out.")
    ],
    days: Annotated[int, typer.Option(metavar="N", parser=whole, help="Number of days; by default 30.")] = 30,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="S",
            parser=whole,
            help="Random seed that determines all days; keep it secret. By default, it is random and printed.",
        ),
    ] = None,
    day: Annotated[
        int | None,
        typer.Option(metavar="N", parser=whole, help="Write only day N, for people who must not know the other days."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the routes to FILE: a table (.csv), a calendar (.ics), tracks (.gpx) or lines (.geojson).",
        ),
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="When day 1 begins, such as 2026-05-04T08:00 (.ics, .gpx, and dates in .csv); by default today, when "
            "the patrol's clock begins, or at 8:00.",
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="M",
            parser=_positive,
            help="Minutes per step (.ics, .gpx); by default those of the patrol's clock, or 1.",
        ),
    ] = None,
    json: JsonOption = None,
) -> int:
    """Draw random daily routes for units from a plan.

    Equal seeds give equal days; a day does not depend on the other days drawn. Limits on averages are compared with the
    drawn days: the exit status is 1 if the days deviate from the plan by more than the sampling error.
    """
    check_files({"PLAN": plan}, out=out, json=json)
    if out == STANDARD_OUTPUT:
        raise CommandLineError(
            "--out: a schedule cannot be written to standard output; give a file name (or use --json -)"
        )
    if out is not None and Path(out).suffix.lower() not in _SCHEDULES:
        raise CommandLineError(f"--out {out}: expected a file name that ends with {one_of(list(_SCHEDULES))}")
    if not days:
        raise CommandLineError("--days is 0, expected at least 1")
    if day is not None and not 1 <= day <= days:
        raise CommandLineError(f"--day is {day}, expected a day from 1 to {days:,}")
    first = moment(begin)
    note_unused(out, {"--begin": begin, "--minutes": minutes})
    chosen = secrets.randbelow(2**48) if seed is None else seed  # by default one that nobody can guess
    with deferring_interrupts():
        from ..models.games.patrol.gis import write_schedule
        from ..models.games.patrol.plan_file import PatrolPlan
        from ..models.games.patrol.schedules import schedule
    record = Record(json, ("plan", "days", "seed", "day", "units", "limits", "agrees", "out"), plan=plan, out=out)
    with record.interruptible(), waiting(f"routes for {days:,} days", shown=record.shown):
        loaded = PatrolPlan.load(plan)
        draw = partial(schedule, loaded.game, loaded.profile, days=days, seed=chosen, routes=loaded.routes)
        drawn = draw(day=day)
        drawn.clock(first, minutes)  # checks both now
        whole_month = drawn if day is None else draw()
        checks = whole_month.check(loaded.game.constraints)
    agrees = all(check.agrees for check in checks)
    told = [vars(one) | {"met": one.met, "agrees": one.agrees, "verdict": one.verdict} for one in checks]
    units = [unit.name for unit in loaded.patrol.units]
    begins = first
    if begins is None:
        clock, today = loaded.patrol.clock, dt.date.today()
        begins = dt.datetime.combine(today, dt.time(8)) if clock is None else clock.moment(today)

    dated = first if out is not None and Path(out).suffix.lower() == ".csv" else begins

    def report() -> None:
        which = count(days) if day is None else f"day {day} of {count(days)}"
        print_sheet(
            Sheet(
                [Row("plan", plan), Row("units", units, several(str)), Row("days", which), Row("seed", chosen)],
                [Table.of((one | {"within": (one["lower"], one["upper"])} for one in told), _CHECKS)],
            )
        )

    return Outputs(record).deliver(
        ExitStatus.SUCCESS if agrees else ExitStatus.FAILURE,
        report,
        lambda: {"days": days, "seed": chosen, "day": day, "units": units, "limits": told, "agrees": agrees},
        Output("schedule", "--out", out, lambda path: write_schedule(drawn, path, dated, minutes), answers=True),
    )


def note_unused(out: str | None, dates: Mapping[str, object], others: Mapping[str, object] | None = None) -> None:
    """Report a length of steps for a table, which does not use it, and options for a file that is not written."""
    given = [name for name, value in {**dates, **(others or {} if out is None else {})}.items() if value is not None]
    if out is not None:
        given = [name for name in given if name == "--minutes" and Path(out).suffix.lower() == ".csv"]
    if given:
        why = "without --out" if out is None else f"in {out}: a table has times in steps"
        print_note(f"{' and '.join(given)} changes nothing {why}")


def moment(text: str | None) -> dt.datetime | None:
    """Parse the time at which day 1 begins."""
    if text is None:
        return None
    with suppress(ValueError):
        moment = dt.datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return moment
    raise CommandLineError(f"--begin {shown(text, 60)}: expected a local time such as 2026-05-04T08:00")
