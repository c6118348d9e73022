"""The nodes of Gambit's ``.efg`` files, read as a networkx tree."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import networkx as nx

from ..budget import Budget
from ..errors import GameFileError, InvalidGameError, one_line, shown
from ..game_tree import DiGraph
from ..rules import CHANCE
from .efg_labels import distinct_labels, infoset_labels
from .efg_numbers import add, normalised, parse_number
from .efg_tokens import NODE, NUMBER, STRING, Cursor, explain, fault, unquote
from .files import check_memory

#: The largest number of nodes, and of nodes times players, that is read.
MAX_NODES = 10_000_000
MAX_PAYOFFS = 100_000_000
# Bytes of memory that a node takes at most, and the fewest characters that one has: t""0.
_NODE, _SHORTEST = 1500, 4

_Exact = int | Fraction
_Payoffs = tuple[_Exact, ...]


@dataclass(frozen=True, slots=True)
class _Event:
    """What the file says of an infoset, or of a chance node's outcomes."""

    label: str
    actions: tuple[str, ...]
    probabilities: tuple[_Exact, ...]  # none for a player's


@dataclass(slots=True)
class _Infoset:
    definition: str  # as it stands in the file
    number: int
    event: _Event
    attributes: dict[str, Any]  # of its nodes
    edges: list[dict[str, Any]]  # attributes of the edges below a node of it


@dataclass(slots=True)
class _Outcome:
    definition: str  # as it stands in the file
    label: str
    payoffs: _Payoffs


class NodeReader:
    """What has been read of the nodes.

    Texts that repeat one letter for letter, as those of infosets and outcomes do, are looked up and not read again.
    """

    def __init__(self, text: str, num_players: int) -> None:
        self.text = text
        self.num_players = num_players
        self.zeros: _Payoffs = (0,) * num_players
        self.budget = Budget()
        #: How many nodes there is memory for.
        self.affordable = len(text)
        if self.budget.left(len(text) // _SHORTEST * _NODE) < 0:
            self.affordable = self.budget.limit // _NODE
        self.infosets: dict[tuple[int, int], _Infoset] = {}  # by player (CHANCE too) and number
        self.outcomes: dict[int, _Outcome] = {0: _Outcome("", "", self.zeros)}
        self.numbers: dict[str, _Exact] = {}
        self.events: dict[str, _Event] = {}
        # The same by the texts of the numbers in the file.
        self.written_infosets: dict[tuple[str | None, str], _Infoset] = {}
        self.written_outcomes: dict[str, _Outcome] = {}

    def read(self, position: int) -> DiGraph:
        """Read the nodes that begin at a position, to the end of the text."""
        text, match, zeros = self.text, NODE.match, self.zeros
        written_infosets, written_outcomes = self.written_infosets, self.written_outcomes
        max_nodes = min(MAX_NODES, MAX_PAYOFFS // self.num_players, self.affordable)
        nodes: list[dict[str, Any]] = []
        parents: list[int] = []  # of all nodes but the root, as are the edges
        edges: list[dict[str, Any]] = []
        names: list[tuple[int, str]] = []
        # Of the node whose children are being read, and of those above it: its number, where it begins, its edges
        # that are still to come, and what the outcomes down to it add up to.
        parent, start, gained = -1, position, zeros
        remaining: Iterator[dict[str, Any]] = iter(())
        above: list[tuple[int, int, Iterator[dict[str, Any]], _Payoffs]] = []
        edge: dict[str, Any] | None = {}
        while edge is not None:
            found = match(text, position)
            if found is None:
                self._refuse_node(position, start, edge)
            leaf, decision, player, number, actions, chance, event, chances, outcome, payoffs = found.groups()
            node = len(nodes)
            if node >= max_nodes:
                check_memory((node + 1) * _NODE * len(text) // max(1, position), self.budget)
                raise fault(text, position, f"expected at most {max_nodes} nodes for {self.num_players} players")
            if parent >= 0:
                parents.append(parent)
                edges.append(edge)
            reached = written_outcomes.get(outcome)
            if reached is None or (payoffs is not None and payoffs != reached.definition):
                reached = self._outcome(outcome, payoffs, found.start(9), found.start(10))
            total = reached.payoffs if gained is zeros else self._sum(gained, reached.payoffs, found.start(9))
            if leaf is not None:
                nodes.append({"payoffs": total, "outcome": reached.label} if reached.label else {"payoffs": total})
                if leaf != '""':
                    names.append((node, leaf))
            else:
                if decision is None:
                    decision, number, actions = chance, event, chances
                infoset = written_infosets.get((player, number))
                if infoset is None or (actions is not None and actions != infoset.definition):
                    groups = (3, 4, 5) if chance is None else (7, 7, 8)
                    infoset = self._infoset(player, number, actions, *map(found.start, groups))
                nodes.append(infoset.attributes)
                if decision != '""':
                    names.append((node, decision))
                above.append((parent, start, remaining, gained))
                parent, start, remaining, gained = node, position, iter(infoset.edges), total
            position = found.end()
            edge = next(remaining, None)
            while edge is None and above:
                parent, start, remaining, gained = above.pop()
                edge = next(remaining, None)
        Cursor(text, position).expect_end("the tree, which is complete")
        self._label_infosets()
        graph: DiGraph = nx.DiGraph()
        graph.add_nodes_from(enumerate(nodes))  # networkx copies the attributes
        graph.add_edges_from(zip(parents, range(1, len(nodes)), edges, strict=True))
        for node, name in names:
            graph.nodes[node]["name"] = unquote(name)
        return graph

    def _refuse_node(self, position: int, parent_start: int, edge: dict[str, Any]) -> NoReturn:
        cursor = Cursor(self.text, position)
        if edge and not cursor.peek():
            above = Cursor(self.text, parent_start).position
            line = self.text.count("\n", 0, above) + 1
            cursor.take()
            cursor.refuse(f"the node that {shown(edge['action'], 40)} of the node in line {line} leads to")
        explain(self.text, position)

    def _outcome(self, number: str, definition: str | None, place: int, definition_place: int) -> _Outcome:
        """Read an outcome whose text is new, or refuse it."""
        known = self.outcomes.get(int(number))
        if definition is None:
            if known is None:
                raise fault(self.text, place, f"outcome {number} is not defined before; expected its label and payoffs")
        elif not int(number):
            raise fault(self.text, definition_place, "outcome 0, which pays nothing, has a label; expected none")
        else:
            label = STRING.match(definition)
            assert label is not None
            place = definition_place + label.end()
            payoffs = self._numbers(definition[label.end() :], place, "payoff")
            if len(payoffs) != self.num_players:
                raise fault(
                    self.text,
                    place,
                    f"outcome {number} has {len(payoffs)} payoffs, expected {self.num_players}: one a player",
                )
            if known is None:
                known = _Outcome(definition, unquote(label.group()), tuple(payoffs))
            elif known.label != unquote(label.group()):
                raise self._disagreement(definition_place, f"outcome {number}", unquote(label.group()), known.label)
            elif known.payoffs != tuple(payoffs):
                raise self._disagreement(place, f"outcome {number}", payoffs, known.payoffs)
        self.outcomes[int(number)] = self.written_outcomes[number] = known
        return known

    def _infoset(
        self, player: str | None, number: str, definition: str | None, who_place: int, place: int, definition_place: int
    ) -> _Infoset:
        """Read an infoset, or a chance node's outcomes, whose text is new, or refuse it."""
        if player is not None and not 1 <= int(player) <= self.num_players:
            raise fault(self.text, who_place, f"expected a player from 1 to {self.num_players}, received {player}")
        who = CHANCE if player is None else int(player) - 1
        name = f"chance infoset {number}" if player is None else f"infoset {number} of player {player}"
        known = self.infosets.get((who, int(number)))
        if definition is None:
            if known is None:
                raise fault(self.text, place, f"{name} is not defined before; expected its label and actions")
        else:
            event = self._event(definition, definition_place, chance=player is None)
            if known is None:
                edges: list[dict[str, Any]] = [{"action": action} for action in distinct_labels(event.actions)]
                for edge, probability in zip(edges, event.probabilities, strict=False):
                    edge["prob"] = probability
                known = _Infoset(definition, int(number), event, {"player": who}, edges)
            elif event != known.event:
                parts = zip(
                    (event.label, event.actions, event.probabilities),
                    (known.event.label, known.event.actions, known.event.probabilities),
                    strict=True,
                )
                received, expected = next(pair for pair in parts if pair[0] != pair[1])
                raise self._disagreement(definition_place, name, received, expected)
        self.infosets[who, int(number)] = self.written_infosets[player, number] = known
        return known

    def _event(self, definition: str, place: int, chance: bool) -> _Event:
        """Read a label, actions and, at chance nodes, probabilities."""
        known = self.events.get(definition)
        if known is None:
            if definition.count('"') // 2 > self.affordable:  # a node has to follow for every action
                check_memory(definition.count('"') // 2 * _NODE, self.budget)
            strings = [unquote(found.group()) for found in STRING.finditer(definition)]
            probabilities: tuple[_Exact, ...] = ()
            if chance:
                blanked = STRING.sub(lambda found: " " * len(found.group()), definition)
                values = self._numbers(blanked, place, "probability")
                try:
                    probabilities = normalised(values)
                except InvalidGameError as error:
                    raise fault(self.text, place, f"the probabilities {error}") from None
            known = self.events[definition] = _Event(strings[0], tuple(strings[1:]), probabilities)
        return known

    def _numbers(self, numbers: str, place: int, what: str) -> list[_Exact]:
        """Read all numbers of a text that stands at a place in the file."""
        values = []
        for found in NUMBER.finditer(numbers):
            written = found.group()
            value = self.numbers.get(written)
            if value is None:
                try:
                    value = self.numbers[written] = parse_number(written)
                except InvalidGameError as error:
                    raise fault(self.text, place + found.start(), f"{what} {one_line(written, 40)} {error}") from None
            if value < 0 and what == "probability":
                raise fault(
                    self.text, place + found.start(), f"probability {one_line(written, 40)}, expected one from 0 to 1"
                )
            values.append(value)
        return values

    def _sum(self, gained: _Payoffs, payoffs: _Payoffs, place: int) -> _Payoffs:
        """Return what outcomes on a path add up to."""
        if payoffs is self.zeros:
            return gained
        try:
            return tuple(map(add, gained, payoffs))
        except InvalidGameError as error:
            raise fault(self.text, place, f"the sum of the payoffs on the way to this outcome {error}") from None

    def _disagreement(self, place: int, name: str, received: Any, expected: Any) -> GameFileError:
        return fault(
            self.text, place, f"{name} has {_shown(received)} here, expected {_shown(expected)} as where it is defined"
        )

    def _label_infosets(self) -> None:
        by_player: dict[int, list[_Infoset]] = {}
        for (player, _), infoset in self.infosets.items():
            if player != CHANCE:
                by_player.setdefault(player, []).append(infoset)
        for own in by_player.values():
            labels = infoset_labels([infoset.event.label for infoset in own], [infoset.number for infoset in own])
            for infoset, label in zip(own, labels, strict=True):
                infoset.attributes["infoset"] = label


def _shown(value: Any) -> str:
    """Return a label, or the numbers or labels of a tuple, for a message."""
    if isinstance(value, str):
        return shown(value, 40)
    return one_line(" ".join(shown(part, 40) if isinstance(part, str) else str(part) for part in value[:20]), 80)
