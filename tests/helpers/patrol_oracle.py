"""Patrols history by history: every walk of every body, and meetings from positions in continuous time.

Nothing here shares code with the library: walks are followed one by one, and whether two bodies meet is read off where
they are.
"""

import itertools
from dataclasses import dataclass
from fractions import Fraction

import networkx as nx
import numpy as np

from treeplex import TERMINAL
from treeplex.models.games.patrol import Attacker, Closure, PatrolGame, Sensor, Unit
from treeplex.seqform.rules import CHANCE


@dataclass(frozen=True)
class Leg:
    """One move: from where, to where, when it begins and ends. A failed one waits for a step."""

    source: str
    target: str
    begins: int
    ends: int


def random_patrol(seed, most=3000, failing=False):
    """Return the declaration of a random tiny patrol, as keyword arguments, with at most so many histories."""
    rng = np.random.default_rng(seed)
    while True:
        count = int(rng.integers(3, 7))
        names = [f"n{number}" for number in range(count)]
        graph = nx.DiGraph() if rng.random() < 0.3 else nx.Graph()
        graph.add_nodes_from(names)
        for number in range(1, count):
            other = names[int(rng.integers(number))]
            graph.add_edge(names[number], other, steps=int(rng.integers(1, 4)))
            if graph.is_directed():
                graph.add_edge(other, names[number], steps=int(rng.integers(1, 3)))
        for _ in range(int(rng.integers(0, 3))):
            pair = rng.choice(names, 2, replace=False)
            graph.add_edge(*map(str, pair), steps=int(rng.integers(1, 4)))
        steps = int(rng.integers(2, 5))
        goals, rest = names[:1], names[1:]
        edges = [f"{u} -- {v}" for u, v in graph.edges]
        units = []
        for _ in range(int(rng.integers(1, 3))):
            start = str(rng.choice(names))
            detection = float(rng.choice([1.0, 0.5]))
            if rng.random() < 0.3:
                detection = {start: 0.25, str(rng.choice(edges)): 0.75}
            last = steps if rng.random() < 0.7 else steps - 1
            units.append(
                Unit(
                    base=start,
                    shift=(int(rng.integers(0, 2)), last) if last > 1 else None,
                    speed=float(rng.choice([1.0, 1.0, 2.0, 0.5])),
                    detection=detection,
                    no_go=[str(rng.choice(rest))] if rng.random() < 0.2 else [],
                    ends=[start] if rng.random() < 0.2 else None,
                )
            )
        attackers = []
        for _ in range(int(rng.integers(1, 3))):
            entries = list(map(str, rng.choice(rest, int(rng.integers(1, 3)))))
            attackers.append(
                Attacker(
                    dict.fromkeys(entries, (0, int(rng.integers(0, 2)))),
                    {goal: float(rng.integers(1, 4)) for goal in goals},
                    speed=float(rng.choice([1.0, 1.0, 2.0])),
                    may_stay_away=bool(rng.random() < 0.6),
                )
            )
        closures = []
        if rng.random() < 0.4:
            at = str(rng.choice(edges if rng.random() < 0.5 else names))
            first = int(rng.integers(0, steps))
            times = (first, int(rng.integers(first, steps + 1))) if rng.random() < 0.6 else None
            closures.append(Closure(at, times, str(rng.choice(["all", "units", "attackers"]))))
        sensors = [Sensor(str(rng.choice(edges + rest)), 0.3, (1, 2))] if rng.random() < 0.3 else []
        declared = {
            "steps": steps,
            "units": units,
            "attackers": attackers,
            "closures": closures,
            "sensors": sensors,
            "meeting": -1.0,
            "step": float(rng.choice([0.0, -0.1])),
            "failure": float(rng.choice([0.1, 0.3])) if failing else 0.0,
        }
        oracle = Oracle(graph, declared)
        sizes = [len(list(walks)) for walks in oracle.all_walks()]
        own = len(attackers)
        if all(sizes) and sum(sizes[:own]) * int(np.prod(sizes[own:])) <= most:
            try:
                return PatrolGame(graph, **declared), oracle
            except ValueError:
                pass  # no way leads where it has to
        seed = int(rng.integers(2**31))
        rng = np.random.default_rng(seed)


class Oracle:
    """The same patrol, walk by walk."""

    def __init__(self, graph, declared):
        self.graph, self.of = graph.to_directed(), declared
        self.steps, self.failure = declared["steps"], declared["failure"]

    def open_legs(self, side, body, node, time):
        """Every leg that may begin at a node: closures and no-go places left out."""
        targets = [(node, 1)]
        for target in self.graph[node]:
            span = Fraction(self.graph[node][target]["steps"]) / Fraction(body.speed)
            targets.append((target, -(-span.numerator // span.denominator)))
        for target, span in targets:
            leg = Leg(node, target, time, time + span)
            shut = any(self.closes(leg, at, None) for at in body.no_go)
            for closure in self.of["closures"]:
                if closure.side in ("all", side):
                    shut |= self.closes(leg, closure.at, closure.times)
            if not shut:
                yield leg

    def closes(self, leg, at, times):
        first, last = times or (0, self.steps)
        if " -- " in at:
            on = leg.source != leg.target and set(at.split(" -- ")) == {leg.source, leg.target}
            return on and (times is None or any(first <= step <= last for step in range(leg.begins, leg.ends)))
        return leg.target == at and first <= leg.ends <= last

    def outcomes(self, leg):
        """What may come of a leg, and how likely it is."""
        failure = self.failure if leg.begins > 0 and leg.source != leg.target else 0.0
        yield leg, 1.0 - failure
        if failure:
            yield Leg(leg.source, leg.source, leg.begins, leg.begins + 1), failure

    def legs(self, side, body, node, time, last):
        """The legs after which the body can be sure to end where it may."""
        return [
            leg
            for leg in self.open_legs(side, body, node, time)
            if all(self.ends_well(side, body, each.target, each.ends, last) for each, _ in self.outcomes(leg))
        ]

    def ends_well(self, side, body, node, time, last):
        if side == "attackers" and node in body.goals:
            return time <= last
        if time >= last:
            return time == last and (side == "attackers" or body.ends is None or node in body.ends)
        return bool(self.legs(side, body, node, time, last))

    def shift(self, unit):
        return unit.shift or (0, self.steps)

    def walks(self, side, body, node, time, last):
        """Every walk from a node at a time, each with its legs and the chance of their outcomes."""
        if time == last or (side == "attackers" and node in body.goals):
            yield (), 1.0
            return
        for leg in self.legs(side, body, node, time, last):
            for made, chance in self.outcomes(leg):
                for rest, further in self.walks(side, body, made.target, made.ends, last):
                    yield ((leg, made), *rest), chance * further

    def all_walks(self):
        """The walks of each attacker, staying away left out, then of each unit."""
        for body in self.of["attackers"]:
            yield [
                walk
                for node, time in self.entries(body)
                for walk in self.walks("attackers", body, node, time, self.steps)
            ]
        for body in self.of["units"]:
            first, last = self.shift(body)
            yield list(self.walks("units", body, body.base, first, last))

    def entries(self, body):
        for node, (first, last) in body.entries.items():
            for time in range(first, last + 1):
                if self.ends_well("attackers", body, node, time, self.steps):
                    yield node, time

    # What walks pay: a walk is the legs that were made.

    def pays(self, attacker, walk, units):
        """What a walk of an attacker pays against walks of all units."""
        total = 0.0
        for leg in walk:
            total += self.of["step"] * (leg.ends - leg.begins)
            if leg.target in attacker.goals:
                total += attacker.goals[leg.target]
            total += self.of["meeting"] * sum(self.sensed(sensor, leg) for sensor in self.of["sensors"])
        for unit, other in zip(self.of["units"], units, strict=True):
            total += self.of["meeting"] * self.detections(unit, walk, other)
        return total

    def sensed(self, sensor, leg):
        """How likely a sensor detects a leg."""
        first, last = sensor.times
        if " -- " in sensor.at:
            met = leg.source != leg.target and set(sensor.at.split(" -- ")) == {leg.source, leg.target}
            return sensor.detection * (met and first <= leg.begins <= last)
        return sensor.detection * (leg.target == sensor.at and first <= leg.ends <= last)

    def detections(self, unit, walk, other):
        return sum(sum(self.met(unit, mine, theirs)) for mine, theirs in itertools.product(walk, other))

    def met(self, unit, mine, theirs):
        """How likely a unit detects a leg at each place where they meet."""
        if mine.ends == theirs.ends and mine.target == theirs.target:
            yield self.detects(unit, mine.target)
        if self.pass_each_other(mine, theirs):
            yield self.detects(unit, f"{mine.source} -- {mine.target}", f"{mine.target} -- {mine.source}")

    def detects(self, unit, *names):
        """How likely a unit detects at a place that has one of some names."""
        if not isinstance(unit.detection, dict):
            return unit.detection
        return next((unit.detection[name] for name in names if name in unit.detection), 1.0)

    def pass_each_other(self, mine, theirs):
        """Whether two bodies are at one point at one time, strictly inside an edge."""
        if mine.source == mine.target or {mine.source, mine.target} != {theirs.source, theirs.target}:
            return False
        low, high = max(mine.begins, theirs.begins), min(mine.ends, theirs.ends)
        if low >= high:
            return False

        def apart(time):
            at = Fraction(time - mine.begins, mine.ends - mine.begins)
            other = Fraction(time - theirs.begins, theirs.ends - theirs.begins)
            return at - (other if mine.source == theirs.source else 1 - other)

        return apart(low) * apart(high) < 0

    # What is expected of behaviour strategies, which know time and place alone.

    def weighted(self, game, player, number, strategy):
        """Every walk of a body with the probability that a strategy makes it."""
        treeplex = game.sequence_form.treeplexes[player]
        behaviour = treeplex.behaviour(strategy.plan)
        letter = "au"[player]

        def chance(infoset, action):
            if infoset not in treeplex.infoset_labels:
                return 0.0
            return behaviour[treeplex.sequence(infoset, action)]

        def of(start, walk):
            probability = start
            for leg, made in walk:
                action = f"{letter}{number + 1}.t{leg.begins}.{leg.source}"
                actions = (
                    treeplex.action_labels[treeplex.infoset_numbers[action]]
                    if action in treeplex.infoset_labels
                    else ()
                )
                if leg.target not in actions:
                    return 0.0
                probability *= chance(action, leg.target) * dict(self.outcomes(leg))[made]
            return probability

        if player == 1:
            body = self.of["units"][number]
            first, last = self.shift(body)
            starts = [(body.base, first, last, 1.0, "units")]
        else:
            body = self.of["attackers"][number]
            label = f"a{number + 1}.start"
            known = treeplex.action_labels[treeplex.infoset_numbers[label]]
            starts = [
                (node, time, self.steps, chance(label, f"t{time}.{node}"), "attackers")
                for node, time in self.entries(body)
                if f"t{time}.{node}" in known
            ]
        for node, time, last, start, side in starts:
            for walk, _ in self.walks(side, body, node, time, last):
                probability = of(start, walk)
                if probability:
                    yield tuple(made for _, made in walk), probability

    def expected(self, game, profile):
        """What profiles pay player 0."""
        units = [list(self.weighted(game, 1, k, profile[1])) for k in range(len(self.of["units"]))]
        total = 0.0
        for number, attacker in enumerate(self.of["attackers"]):
            for walk, chance in self.weighted(game, 0, number, profile[0]):
                for others in itertools.product(*units):
                    weight = chance * np.prod([probability for _, probability in others])
                    total += weight * self.pays(attacker, walk, [other for other, _ in others])
        return total / len(self.of["attackers"])


class Histories:
    """The rules of the patrol as a tree: types, then all walks one after another; nobody sees another."""

    num_players = 2

    def __init__(self, oracle):
        self.oracle = oracle
        self.bodies = [("attackers", None), *(("units", unit) for unit in oracle.of["units"])]

    def initial_state(self):
        return (None, ((),), None)

    def _standing(self, state):
        """Whose turn it is: side, body, node, time and last; the node is missing before an entry is chosen."""
        number, walks, _ = state
        side, body = self.bodies[len(walks) - 1]
        walk = walks[-1]
        if side == "attackers":
            body = self.oracle.of["attackers"][number]
            if not walk:
                return side, body, None, None, self.oracle.steps
            if walk == ("away",):
                return side, body, "away", None, None
            node, time = walk[0] if len(walk) == 1 else (walk[-1][1].target, walk[-1][1].ends)
            return side, body, node, time, self.oracle.steps
        first, last = self.oracle.shift(body)
        node, time = (walk[-1][1].target, walk[-1][1].ends) if walk else (body.base, first)
        return side, body, node, time, last

    def _done(self, state):
        side, body, node, time, last = self._standing(state)
        return node == "away" or (node is not None and (time == last or (side == "attackers" and node in body.goals)))

    def player(self, state):
        if state[0] is None or state[2] is not None:
            return CHANCE
        if self._done(state):
            return TERMINAL
        return 0 if len(state[1]) == 1 else 1

    def actions(self, state):
        side, body, node, time, last = self._standing(state)
        if node is None:
            return [*self.oracle.entries(body), *([("away",)] if body.may_stay_away else [])]
        return [leg.target for leg in self.oracle.legs(side, body, node, time, last)]

    def chance_outcomes(self, state):
        if state[0] is None:
            count = len(self.oracle.of["attackers"])
            return [(number, Fraction(1, count)) for number in range(count)]
        return [(made, Fraction(chance)) for made, chance in self._fractions(state[2])]

    def _fractions(self, leg):
        failure = Fraction(str(self.oracle.failure))
        return [(made, (1 - failure) if made == leg else failure) for made, _ in self.oracle.outcomes(leg)]

    def child(self, state, action):
        number, walks, pending = state
        if number is None:
            return (action, walks, None)
        if pending is not None:
            return self._next((number, (*walks[:-1], (*walks[-1], (pending, action))), None))
        side, body, node, time, last = self._standing(state)
        if node is None:
            return self._next((number, ((action if action == ("away",) else (action,)),), None))
        leg = next(leg for leg in self.oracle.legs(side, body, node, time, last) if leg.target == action)
        if len(list(self.oracle.outcomes(leg))) > 1:
            return (number, walks, leg)
        return self._next((number, (*walks[:-1], (*walks[-1], (leg, leg))), None))

    def _next(self, state):
        number, walks, _ = state
        while self._done((number, walks, None)) and len(walks) < len(self.bodies):
            walks = (*walks, ())
        return (number, walks, None)

    def infoset(self, state):
        number, walks, _ = state
        return repr((number, walks) if len(walks) == 1 else walks[1:])

    def payoffs(self, state):
        number, walks, _ = state
        if walks[0] == ("away",):
            return (0, 0)
        attacker = self.oracle.of["attackers"][number]
        made = [[leg for _, leg in walk] for walk in (walks[0][1:], *walks[1:])]
        value = Fraction(self.oracle.pays(attacker, made[0], made[1:])).limit_denominator(10**6)
        return (value, -value)
