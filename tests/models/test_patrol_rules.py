"""Rules for routes of patrols: against the enumeration of all routes, in values, schedules, errors and files."""

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from treeplex import GameFileError, GameTooLargeError, InvalidGameError, Strategy, load_game
from treeplex.models.games.patrol import Attacker, Clock, Closure, PatrolGame, PatrolPlan, Unit, schedule
from treeplex.models.games.patrol.unit_rules import RULES
from treeplex.models.games.patrol.words import likely_routes
from treeplex.solvers import solve_patrol, what_if

# The reference: every route is followed leg by leg, and each rule is a condition on the whole route. A leg is (source,
# target, begin, end); rules do not see failed legs.


def legs_of(patrol, unit, node, time, last):
    """The legs that may begin at a node, without rules."""
    for target, steps in [(node, 1), *((t, d["steps"]) for t, d in patrol["graph"][node].items())]:
        if time + steps <= last and not any(
            shut.at == target and (shut.times is None or shut.times[0] <= time + steps <= shut.times[1])
            for shut in patrol["closures"]
        ):
            yield node, target, time, time + steps


def outcomes(patrol, leg):
    """The leg, and the failed leg if it may fail: (leg, whether it failed, probability)."""
    failure = patrol["failure"] if leg[0] != leg[1] and leg[2] > 0 else 0.0
    yield leg, False, 1.0 - failure
    if failure:
        yield (leg[0], leg[0], leg[2], leg[2] + 1), True, failure


def histories(patrol, unit, last):
    """Every history, with the legs after which all outcomes can be completed, as {history: [legs]}."""
    found = {}

    def completes(history):
        node, time = (unit.base, (unit.shift or (0,))[0]) if not history else (history[-1][0][1], history[-1][0][3])
        if time == last:
            return keeps(patrol, unit, [leg for leg, failed in history if not failed], node)
        good = [
            leg
            for leg in legs_of(patrol, unit, node, time, last)
            if all(completes((*history, (one, failed))) for one, failed, _ in list(outcomes(patrol, leg)))
        ]
        found[history] = good
        return bool(good)

    completes(())
    reached, queue = {}, [()]
    while queue:
        history = queue.pop()
        if history in found:
            reached[history] = found[history]
            queue += [(*history, (one, failed)) for leg in found[history] for one, failed, _ in outcomes(patrol, leg)]
        else:
            reached[history] = []
    return reached


def keeps(patrol, unit, route, end):
    waits = [source == target for source, target, *_ in route]
    moves = [number for number, wait in enumerate(waits) if not wait]
    if unit.no_return is not None:
        for first, second in pairwise(moves):
            if route[first][:2] == route[second][1::-1] and second - first - 1 < unit.no_return:
                return False
    for place, least in unit.dwell.items():
        bounds = [-1, *moves, len(route)]
        for first, second in pairwise(bounds):
            stop = second - first - 1
            if stop and route[first + 1][0] == place and stop < least:
                return False
    if unit.breaks and not taken(route, waits, list(unit.breaks), patrol["steps"]):
        return False
    if unit.refuel is not None:
        since = 0
        for _, target, begin, stop in route:
            since += stop - begin
            if since > unit.refuel["every"]:
                return False
            since *= target not in unit.refuel["at"]
    if unit.district is not None and any(leg[1] not in patrol["areas"][unit.district] for leg in route):
        return False
    for place, least in unit.min_visits.items():
        if visits(patrol, route, place) < least:
            return False
    for place, most in unit.max_visits.items():
        if visits(patrol, route, place) > most:
            return False
    if unit.max_shift is not None:
        busy = [number for number, leg in enumerate(route) if leg[:2] != (unit.base, unit.base)]
        if busy and sum(leg[3] - leg[2] for leg in route[busy[0] : busy[-1] + 1]) > unit.max_shift:
            return False
    return unit.handover is None or end == patrol["bases"][unit.handover]


def taken(route, waits, breaks, steps):
    if not breaks:
        return True
    one, rest = breaks[0], breaks[1:]
    first, last = one.get("times", (0, steps))
    for begin in range(len(route) - one["length"] + 1):
        part = route[begin : begin + one["length"]]
        good = all(waits[begin : begin + one["length"]]) and all(leg[0] in one["at"] for leg in part)
        good = good and all(first <= leg[2] and leg[3] <= last for leg in part)
        if good and taken(route[begin + one["length"] :], waits[begin + one["length"] :], rest, steps):
            return True
    return False


def visits(patrol, route, place):
    if " -- " in place:
        return sum(set(leg[:2]) == set(place.split(" -- ")) for leg in route)
    nodes = patrol["areas"].get(place, [place])
    return sum(leg[1] in nodes and leg[0] not in nodes for leg in route)


def random_rules(rng, names, edges, steps, number):
    def some(most=2):
        return list(map(str, rng.choice(names, int(rng.integers(1, most + 1)), replace=False)))

    first = int(rng.integers(0, steps - 1))
    least, most = {str(rng.choice(names)): 1}, {str(rng.choice([*names, *edges, "north"])): int(rng.integers(0, 3))}
    choices = {
        "no_return": int(rng.integers(1, 3)),
        "dwell": {str(rng.choice(names)): 2, str(rng.choice(names)): 3},
        "breaks": [{"at": some(3), "length": int(rng.integers(1, 3)), "times": (first, steps)}],
        "refuel": {"at": some(), "every": int(rng.integers(2, 4))},
        "district": "north",
        "min_visits": least,
        "max_visits": most,
        "max_shift": int(rng.integers(2, 5)),
    }
    if rng.random() < 0.3:
        choices["breaks"].append({"at": some(3), "length": 1})
    if number == 0 and rng.random() < 0.15:
        choices["handover"] = "unit 2"
    names = list(rng.choice(list(choices), int(rng.integers(1, 4)), replace=False))
    return {name: choices[name] for name in names}


def random_case(seed, failing=False):
    """A random small patrol with rules that routes keep: its declaration, and for each unit its histories."""
    rng = np.random.default_rng([seed, failing])
    while True:
        names = [f"n{number}" for number in range(int(rng.integers(3, 5)))]
        graph = nx.Graph()
        for number in range(1, len(names)):
            graph.add_edge(names[number], names[int(rng.integers(number))], steps=int(rng.integers(1, 3)))
        graph.add_edge(names[0], names[-1], steps=1)
        steps = int(rng.integers(4, 6)) - failing
        north = names[: int(rng.integers(2, len(names)))]
        edges = [f"{u} -- {v}" for u, v in graph.edges]
        last = steps - 1
        units = [Unit(str(rng.choice(names)), shift=(0, last)), Unit(str(rng.choice(names)), shift=(last, steps))]
        units = [replace(one, base=one.start, name=f"unit {n + 1}") for n, one in enumerate(units)]
        if rng.random() < 0.5:
            units[1] = replace(units[1], shift=(0, steps), **random_rules(rng, names, edges, steps, 1))
        units[0] = replace(units[0], **random_rules(rng, names, edges, last, 0))
        closures = [Closure(str(rng.choice(names)), (1, 2), "units")] if rng.random() < 0.3 else []
        declared = {"steps": steps, "closures": closures, "failure": 0.2 if failing else 0.0, "areas": {"north": north}}
        declared |= {"attackers": [Attacker([names[-1]], {names[1]: 2.0}, window=(0, 1))], "meeting": -1.0}
        if units[0].handover and units[1].shift[0] != last:
            continue
        patrol = declared | {"graph": graph, "bases": {one.name: one.base for one in units}}
        all_histories = [histories(patrol, one, one.shift[1]) for one in units]
        free = [histories(patrol, Unit(base=one.base, shift=one.shift), one.shift[1]) for one in units]
        yield graph, declared, units, all_histories, all(each[()] for each in free), patrol


def solvable(seed, failing=False, fewer=True):
    """The first case of a seed in which routes keep the rules, and rules forbid some routes."""
    for graph, declared, units, found, free, patrol in random_case(seed, failing):
        if free and all(each[()] for each in found) and sum(map(len, found)) < 4000:
            return PatrolGame(graph, units=units, **declared), found, patrol
    raise AssertionError


def routes_in(walker):
    """Every way through the states of a unit, as legs with failures."""
    leaving = defaultdict(list)
    for number, key in enumerate(zip(walker.times.tolist(), walker.before.tolist(), strict=True)):
        leaving[key].append(number)
    (begin,), (state,) = walker.entry_times.tolist(), walker.entry_states.tolist()
    found, queue = set(), [(begin, state, ())]
    while queue:
        time, state, history = queue.pop()
        if time == walker.body.last:
            found.add(history)
        for move in leaving[time, state]:
            ends = time + int(walker.durations[move])
            leg = (int(walker.sources[move]), int(walker.targets[move]), time, ends)
            queue.append((ends, int(walker.after[move]), (*history, (leg, False))))
            if walker.failure[move]:
                failed = ((leg[0], leg[0], time, time + 1), True)
                queue.append((time + 1, int(walker.before[move]), (*history, failed)))
    return found


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_the_routes_are_those_that_keep_the_rules(seed, failing):
    game, found, _ = solvable(seed, failing)
    for walker, histories_of, unit in zip(game.patrol.patrolling.walkers, found, game.patrol.units, strict=True):
        names = game.patrol.map.nodes
        said = {
            tuple(((names[a], names[b], t, u), failed) for (a, b, t, u), failed in route) for route in routes_in(walker)
        }
        assert said == {history for history in histories_of if history and history[-1][0][3] == unit.shift[1]}
    infosets, sequences = game.patrol.size().infosets, game.patrol.size().sequences
    form = game.sequence_form
    assert infosets == tuple(one.num_infosets for one in form.treeplexes)
    assert sequences == tuple(one.num_sequences for one in form.treeplexes)


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_the_value_is_that_of_a_program_over_all_routes(seed, failing):
    game, found, patrol = solvable(seed, failing)
    units = [Unit(base=one.base, shift=one.shift, name=one.name) for one in game.patrol.units]
    free = PatrolGame(game.patrol.map, units=units, **{k: patrol[k] for k in DECLARED})
    payoff, attackers = free.sequence_form.payoff_matrix(0), free.sequence_form.treeplexes[0]
    names = game.patrol.map.nodes
    # Column 0 is the empty sequence; each other column is a leg after a history, and each row of the flow is a history.
    spread, flow, begins, count = [(0, 0, 1.0)], [(0, 0, 1.0)], [1.0], 1
    for walker, histories_of in zip(free.patrol.patrolling.walkers, found, strict=True):
        keys = zip(walker.sources.tolist(), walker.targets.tolist(), walker.times.tolist(), strict=True)
        sequences = {
            (names[a], names[b], t): sequence for (a, b, t), sequence in zip(keys, walker.sequences, strict=True)
        }
        row = {
            history: len(begins) + number
            for number, history in enumerate(h for h, legs in histories_of.items() if legs)
        }
        begins += [float(not history) for history in row]
        for history, number in row.items():
            for leg in histories_of[history]:
                spread.append((sequences[leg[:3]], count, 1.0))
                flow.append((number, count, 1.0))
                after = [((*history, (one, failed)), chance) for one, failed, chance in outcomes(patrol, leg)]
                flow += [(row[later], count, -chance) for later, chance in after if later in row]
                count += 1
    mixed, kept = (
        sp.coo_array((amounts, (rows, columns)), (size, count))
        for (rows, columns, amounts), size in (
            (zip(*spread, strict=True), payoff.shape[1]),
            (zip(*flow, strict=True), len(begins)),
        )
    )
    size = attackers.E.shape[0]  # minimise e · v for flows y and E' v >= A y
    answer = linprog(
        np.concatenate([np.zeros(count), attackers.e]),
        A_ub=sp.hstack([payoff @ mixed, -attackers.E.T]),
        b_ub=np.zeros(len(payoff.toarray())),
        A_eq=sp.hstack([kept, sp.coo_array((len(begins), size))]),
        b_eq=begins,
        bounds=[(0, None)] * count + [(None, None)] * size,
    )
    assert abs(solve_patrol(game).value - answer.fun) < 1e-7


DECLARED = ("steps", "closures", "failure", "areas", "attackers", "meeting")


ROADS = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
GANG = [Attacker(["gate"], {"bank": 2.0}, window=(0, 4))]


def crew(**rules):
    return PatrolGame(ROADS, steps=8, units=[Unit(base="mill", **rules)], attackers=GANG, clock=Clock("22:00", "5 min"))


@pytest.mark.parametrize("seed", range(20))
def test_schedules_and_listed_routes_keep_the_rules(seed):
    game, found, _ = solvable(seed)
    strategy = Strategy.uniform(game, 1)
    numbers = game.patrol.map.nodes
    for walks, histories_of, unit in zip(
        schedule(game, strategy, days=1000, seed=seed).walks, found, game.patrol.units, strict=True
    ):
        walker = walks.walker
        for made in np.unique(walks.moves, axis=0):
            own = made[made >= 0]
            ends = zip(walker.sources[own], walker.targets[own], walker.times[own], walker.durations[own], strict=True)
            history = tuple(((numbers[a], numbers[b], t, t + d), False) for a, b, t, d in ends)
            assert history in histories_of
            assert history[-1][0][3] == unit.shift[1]
    for route in likely_routes(game, strategy):
        walk = next(each for each, unit in zip(found, game.patrol.units, strict=True) if unit.name == route.who)
        arrivals = {
            tuple((leg[3], leg[1]) for leg, _ in history if leg[0] != leg[1])
            for history, legs in walk.items()
            if not legs
        }
        assert route.stops[1:] in arrivals


def test_plans_are_kept_with_their_rules_and_what_if_leaves_them_out(tmp_path):
    game = crew(no_return="5 min", breaks=[{"at": ["inn"], "length": "10 min", "times": ["22:10", "22:30"]}])
    solution = solve_patrol(game)
    PatrolPlan(game, solution.profile).save(tmp_path / "plan.npz")
    assert PatrolPlan.load(tmp_path / "plan.npz").game.fingerprint == game.fingerprint
    rows = {row.change: row for row in what_if(solution, ["rules", "without rule breaks(unit 1)"])}
    assert list(rows) == ["without rule no_return", "without rule breaks", "without rule breaks(unit 1)"]
    free = solve_patrol(crew(no_return=1)).value
    assert rows["without rule breaks"].worth == pytest.approx(solution.value - free, abs=1e-9)
    assert rows["without rule breaks"].worth > 0.01
    with pytest.raises(InvalidGameError, match=r"without rule 'brakes', which no unit has \(did you mean breaks"):
        what_if(solution, ["without rule brakes"])
    with pytest.raises(InvalidGameError, match="what if: rules, but no unit has a rule"):
        what_if(solve_patrol(crew()), ["rules"])
    assert any("states per node by rule: no_return" in note for note in game.notes)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"min_visits": {"bank": 1}, "max_visits": {"bank": 0}, "no_return": 1}, "keeps min_visits.* and max_visits"),
        ({"breaks": [{"at": "gate", "length": 2, "times": (0, 2)}]}, "keeps breaks, expected a weaker rule"),
        ({"breaks": [{"at": "gate", "lenght": 2}]}, "unknown key 'lenght' .did you mean length"),
        ({"breaks": [{"at": "gaet", "length": 2}]}, "did you mean gate"),
        ({"dwell": {"bnak": 2}}, "units.1..dwell is 'bnak', which is not a node of the map .did you mean bank"),
        ({"dwell": 2}, "units.1..dwell is 2, expected a number of steps by node"),
        ({"no_return": 0}, r"no_return is 0, expected a whole number"),
        ({"no_return": "7 min"}, "expected a length such as '30 min', in whole steps of 5 min"),
        ({"refuel": {"at": "inn"}}, "refuel.every is missing"),
        ({"handover": "unit 3"}, "handover is 'unit 3', which is not a unit"),
        ({"district": "nowhere"}, "district"),
        ({"min_visits": {"bank": -1}}, "min_visits: bank is -1"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said_in_one_line(rules, message):
    with pytest.raises(InvalidGameError, match=message) as raised:
        crew(**rules)
    assert "\n" not in str(raised.value)


def test_files_declare_rules_and_errors_name_the_line(tmp_path):
    (tmp_path / "roads.csv").write_text("gate,mill\ngate,inn\nmill,bank\ninn,bank\nmill,inn\n")
    text = 'map = "roads.csv"\nsteps = 8\n[[units]]\nstart = "mill"\nno_return = 1\n'
    text += 'breaks = [{ at = ["inn"], length = 2 }]\n'
    text += '[[attackers]]\nentries = ["gate"]\ngoals = { bank = 2.0 }\n'
    (tmp_path / "town.toml").write_text(text)
    assert load_game(tmp_path / "town.toml").patrol.unit_bodies[0].states is not None
    (tmp_path / "town.toml").write_text(text.replace("no_return = 1", 'district = "nrth"'))
    with pytest.raises(GameFileError, match="line 5"):
        load_game(tmp_path / "town.toml")


def test_the_message_about_memory_names_the_rule(monkeypatch):
    monkeypatch.setenv("TREEPLEX_MEMORY", "1 MiB")
    with pytest.raises(GameTooLargeError, match="no_return"):
        PatrolGame(
            nx.complete_graph(30), steps=8, units=[Unit(base=0, no_return=3)], attackers=[Attacker([1], {2: 1.0})]
        )


def test_without_rules_nothing_changes():
    assert crew().patrol.unit_bodies[0].states is None
    assert set(RULES) <= set(Unit.__dataclass_fields__)
