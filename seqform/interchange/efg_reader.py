"""The reader of Gambit's ``.efg`` files, which returns game trees."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, NoReturn

import networkx as nx

from ..budget import Budget
from ..errors import GameFileError, InvalidGameError, one_line, shown
from ..game_tree import DiGraph, GameTree
from ..rules import CHANCE, MAX_PLAYERS
from .efg_text import (
    NODE,
    NUMBER,
    STRING,
    TEXT,
    Cursor,
    add,
    distinct_labels,
    explain,
    fault,
    infoset_labels,
    normalised,
    parse_number,
    unquote,
)
from .files import check_memory, decoded, naming, read_bytes

#: The largest number of nodes that is read, and the largest number of nodes times players.
MAX_NODES = 10_000_000
MAX_PAYOFFS = 100_000_000
# The most bytes of memory that a node takes, and the fewest characters that it has: t""0.
_NODE, _SHORTEST = 1500, 4

_Exact = int | Fraction
_Payoffs = tuple[_Exact, ...]


@dataclass(frozen=True, slots=True)
class _Event:
    """The file's data on an infoset or on a chance node's outcomes; ``None`` for parts that the file omits."""

    label: str | None
    actions: tuple[str, ...] | None
    probabilities: tuple[_Exact, ...]  # empty for a player's infoset


@dataclass(slots=True)
class _Infoset:
    definition: str | None  # as written in the file
    number: int
    event: _Event
    attributes: dict[str, Any]  # attributes of its nodes
    edges: list[dict[str, Any]]  # attributes of the edges below each of its nodes


@dataclass(slots=True)
class _Outcome:
    definition: str | None  # as written in the file
    label: str | None  # None until one has been read
    payoffs: _Payoffs


_NO_EVENT = _Event(None, None, ())


def _label_and_list(definition: str | None) -> tuple[str | None, str | None]:
    """Return the label of a definition, and its list with the braces; ``None`` for a part that is missing."""
    if definition is None:
        return None, None
    label = STRING.match(definition)
    entries = definition if label is None else definition[label.end() :]
    return None if label is None else unquote(label.group()), entries or None


class NodeReader:
    """The nodes read so far.

    Definitions that repeat an earlier one literally, as those of infosets and outcomes do, are looked up, not parsed
    again.
    """

    def __init__(self, text: str, num_players: int) -> None:
        self.text = text
        self.num_players = num_players
        self.zeros: _Payoffs = (0,) * num_players
        self.budget = Budget()
        #: The number of nodes that fit in memory.
        self.affordable = len(text)
        if self.budget.left(len(text) // _SHORTEST * _NODE) < 0:
            self.affordable = self.budget.limit // _NODE
        self.infosets: dict[tuple[int, int], _Infoset] = {}  # by player (including CHANCE) and number
        self.outcomes: dict[int, _Outcome] = {0: _Outcome("", "", self.zeros)}
        self.number = cache(parse_number)
        # The same, by the strings of the numbers in the file.
        self.written_infosets: dict[tuple[str | None, str], _Infoset] = {}
        self.written_outcomes: dict[str, _Outcome] = {}

    def read(self, position: int) -> DiGraph:
        """Read the nodes from a position to the end of the text."""
        text, match, zeros = self.text, NODE.match, self.zeros
        written_infosets, written_outcomes = self.written_infosets, self.written_outcomes
        max_nodes = min(MAX_NODES, MAX_PAYOFFS // self.num_players, self.affordable)
        nodes: list[dict[str, Any]] = []
        parents: list[int] = []  # of all nodes but the root; so are the edges
        edges: list[dict[str, Any]] = []
        names: list[tuple[int, str]] = []
        unnamed: list[tuple[int, _Outcome]] = []  # leaves whose outcome has no label yet
        # For the node whose children are being read and for its ancestors: its number, its position in the file, its
        # edges that have not been read, and the sum of the outcomes on the path to it.
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
                if reached.label is None:
                    unnamed.append((node, reached))
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
        Cursor(text, position).take("", "nothing after the complete tree")
        self._label_infosets()
        for node, ended in unnamed:
            if ended.label:
                nodes[node]["outcome"] = ended.label
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
            cursor.take("[cpt]", f"the node after {shown(edge['action'], 40)} at the node in line {line}")
        explain(self.text, position)

    def _outcome(self, number: str, definition: str | None, place: int, definition_place: int) -> _Outcome:
        """Read an outcome whose text is new, or raise an error."""
        known = self.outcomes.get(int(number))
        label, numbers = _label_and_list(definition)
        if numbers is None and known is None:
            raise fault(self.text, place, f"outcome {number} is not defined yet; expected its payoffs")
        if definition is not None and not int(number):
            raise fault(self.text, definition_place, "outcome 0 pays nothing and cannot be defined; expected only 0")
        payoffs = None
        if definition is not None and numbers is not None:
            place = definition_place + len(definition) - len(numbers)
            payoffs = tuple(self._numbers(numbers, place, "payoff"))
            if len(payoffs) != self.num_players:
                raise fault(
                    self.text,
                    place,
                    f"outcome {number} has {len(payoffs)} payoffs, expected {self.num_players}: one per player",
                )
        if known is None:
            assert payoffs is not None
            known = _Outcome(definition, label, payoffs)
        elif label is not None and known.label is not None and known.label != label:
            raise self._disagreement(definition_place, f"outcome {number}", label, known.label)
        elif payoffs is not None and known.payoffs != payoffs:
            raise self._disagreement(place, f"outcome {number}", payoffs, known.payoffs)
        elif known.label is None:
            known.label = label
        self.outcomes[int(number)] = self.written_outcomes[number] = known
        return known

    def _infoset(
        self, player: str | None, number: str, definition: str | None, who_place: int, place: int, definition_place: int
    ) -> _Infoset:
        """Read an infoset, or a chance node's outcomes, whose text is new, or raise an error."""
        if player is not None and not 1 <= int(player) <= self.num_players:
            raise fault(self.text, who_place, f"expected a player from 1 to {self.num_players}, received {player}")
        who = CHANCE if player is None else int(player) - 1
        name = f"chance infoset {number}" if player is None else f"infoset {number} of player {player}"
        known = self.infosets.get((who, int(number)))
        event = _NO_EVENT if definition is None else self._event(definition, definition_place, chance=player is None)
        if known is None:
            if event.actions is None:
                raise fault(self.text, place, f"{name} is not defined yet; expected its actions")
            edges: list[dict[str, Any]] = [{"action": action} for action in distinct_labels(event.actions)]
            for edge, probability in zip(edges, event.probabilities, strict=False):
                edge["prob"] = probability
            known = _Infoset(definition, int(number), event, {"player": who}, edges)
        elif event != known.event:
            here, there = event, known.event
            if here.label is not None and there.label is not None and here.label != there.label:
                raise self._disagreement(definition_place, name, here.label, there.label)
            if here.actions is not None and here.actions != there.actions:
                raise self._disagreement(definition_place, name, here.actions, there.actions)
            if here.actions is not None and here.probabilities != there.probabilities:
                raise self._disagreement(definition_place, name, here.probabilities, there.probabilities)
            if there.label is None:
                known.event = replace(there, label=here.label)
        self.infosets[who, int(number)] = self.written_infosets[player, number] = known
        return known

    def _event(self, definition: str, place: int, chance: bool) -> _Event:
        """Read a label, actions and, at chance nodes, probabilities."""
        if definition.count('"') // 2 > self.affordable:  # every action must be followed by a node
            check_memory(definition.count('"') // 2 * _NODE, self.budget)
        label, entries = _label_and_list(definition)
        if entries is None:
            return _Event(label, None, ())
        probabilities: tuple[_Exact, ...] = ()
        if chance:
            blanked = STRING.sub(lambda found: " " * len(found.group()), definition)
            values = self._numbers(blanked, place, "probability")
            try:
                probabilities = normalised(values)
            except InvalidGameError as error:
                raise fault(self.text, place, f"the probabilities {error}") from None
        return _Event(label, tuple(unquote(found.group()) for found in STRING.finditer(entries)), probabilities)

    def _numbers(self, numbers: str, place: int, what: str) -> list[_Exact]:
        """Parse all numbers of a string at a position in the file."""
        values = []
        for found in NUMBER.finditer(numbers):
            written = found.group()
            try:
                value = self.number(written)
            except InvalidGameError as error:
                raise fault(self.text, place + found.start(), f"{what} {one_line(written, 40)} {error}") from None
            if value < 0 and what == "probability":
                raise fault(
                    self.text,
                    place + found.start(),
                    f"probability {one_line(written, 40)}, expected a number from 0 to 1",
                )
            values.append(value)
        return values

    def _sum(self, gained: _Payoffs, payoffs: _Payoffs, place: int) -> _Payoffs:
        """Return the sum of the payoffs on a path so far and those of a further outcome."""
        if payoffs is self.zeros:
            return gained
        try:
            return tuple(map(add, gained, payoffs))
        except InvalidGameError as error:
            raise fault(self.text, place, f"the sum of the payoffs on the path to this outcome {error}") from None

    def _disagreement(self, place: int, name: str, received: Any, expected: Any) -> GameFileError:
        return fault(
            self.text, place, f"{name} has {_shown(received)} here, expected {_shown(expected)} as in its definition"
        )

    def _label_infosets(self) -> None:
        by_player: dict[int, list[_Infoset]] = {}
        for (player, _), infoset in self.infosets.items():
            if player != CHANCE:
                by_player.setdefault(player, []).append(infoset)
        for own in by_player.values():
            labels = infoset_labels([infoset.event.label or "" for infoset in own], [infoset.number for infoset in own])
            for infoset, label in zip(own, labels, strict=True):
                infoset.attributes["infoset"] = label


def _shown(value: Any) -> str:
    """Return a label, or a tuple of numbers or labels, as messages show it."""
    if isinstance(value, str):
        return shown(value, 40)
    return one_line(" ".join(shown(part, 40) if isinstance(part, str) else str(part) for part in value[:20]), 80)


# Bytes of memory for each byte of a file, excluding nodes: distinct numbers take the most.
_EXPANSION = 32


def read_efg(path: str | os.PathLike[str]) -> GameTree:
    """Read a Gambit ``.efg`` file.

    Parameters
    ----------
    path : path-like
        A file in UTF-8. A file that is not valid UTF-8 is read as Latin-1, which older programs write. For the format
        see :func:`parse_efg`.

    Returns
    -------
    GameTree

    Raises
    ------
    GameFileError
        If the file cannot be read or is not valid; the error has the line and the column.
    GameTooLargeError
        If it may need more memory than the budget for building a game.
    ImperfectRecallError
        If a player forgets.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange.efg_reader import read_efg
    >>> from treeplex.seqform.interchange.efg_writer import write_efg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "kuhn.efg"
    ...     write_efg(load_game("kuhn").tree, path)
    ...     read_efg(path)
    GameTree(num_players=2, num_nodes=58)
    """
    content = read_bytes(path, _EXPANSION)
    with naming(path):
        return parse_efg(decoded(content))


def parse_efg(text: str) -> GameTree:
    r"""Read a game tree from text in Gambit's ``.efg`` format.

    Parameters
    ----------
    text : str

    Returns
    -------
    GameTree
        A tree whose nodes are numbered from 0 in the order of the file, which is depth first. ``tree.graph.graph``
        contains the file's ``"title"``, its ``"comment"`` and the names of its ``"players"``, a tuple. A node has the
        attribute ``name`` and a leaf ``outcome`` if the node's name or the outcome's label in the file is not empty.

    Raises
    ------
    GameFileError
        If the text is not valid; the error has the line and the column.
    ImperfectRecallError
        If a player forgets.

    Notes
    -----
    The format is described in Gambit's documentation, "The extensive game (.efg) file format", version 2, with ``R`` or
    ``D``. The reader makes these changes:

    - The payoffs of the outcomes on a path are summed and stored at its leaf.
    - Integers become ``int``, decimals and fractions ``Fraction``: all numbers are exact. Numbers of more than 600
      digits raise an error.
    - An infoset is named by its label, if the label is not empty and distinct from those of the player's other
      infosets, and otherwise by its number, as a string.
    - If actions of one infoset, or outcomes of one chance node, have equal or empty labels, ``_1``, ``_2``, … is
      appended, as in Gambit.
    - Numbers and labels of chance nodes are omitted, and so are those of outcomes that do not belong to a leaf.
    - The sum of chance probabilities may differ from one by 1e-5; the probabilities are divided by their sum.

    The file may omit labels of infosets and outcomes, as OpenSpiel does, and lists of actions and payoffs that were
    given before.

    Repeated definitions in the file must agree. The reader accepts more than Gambit: numbers that differ only in how
    they are written agree, a number may have a plus sign, ``\\`` in a string is one backslash, and a label may be any
    string. It accepts less in one respect: only whitespace may follow the tree.

    References
    ----------
    Savani, R., and Turocy, T. L., Gambit: The package for computation in game theory, https://www.gambit-project.org.

    Examples
    --------
    >>> from treeplex.seqform.interchange.efg_reader import parse_efg
    >>> tree = parse_efg('''EFG 2 R "Guess a coin" { "Ann" "Bob" }
    ... p "" 1 1 "hide" { "heads" "tails" } 0
    ... p "" 2 1 "guess" { "heads" "tails" } 0
    ... t "" 1 "Bob is right" { -1, 1 }
    ... t "" 2 "Bob is wrong" { 1/2, -1/2 }
    ... p "" 2 1 0
    ... t "" 2
    ... t "" 1
    ... ''')
    >>> tree.graph.graph["title"], tree.graph.graph["players"]
    ('Guess a coin', ('Ann', 'Bob'))
    >>> tree.graph.nodes[3]["payoffs"]
    (Fraction(1, 2), Fraction(-1, 2))
    """
    if not isinstance(text, str):
        raise GameFileError(f"{shown(text)} is not the content of an .efg file, expected a str (read_efg takes a path)")
    cursor = Cursor(text, 1 if text.startswith("\ufeff") else 0)
    header = _read_prologue(cursor)
    graph = NodeReader(text, len(header["players"])).read(cursor.position)
    graph.graph.update(header)
    return GameTree(graph)


def _read_prologue(cursor: Cursor) -> dict[str, Any]:
    cursor.take("EFG", "EFG at the beginning of an .efg file")
    cursor.take("2", "2, the version of the format")
    cursor.take("[RD]", "R or D after the version")
    title = unquote(cursor.take(TEXT, "the game's title in quotes"))
    cursor.take(r"\{", "{ and the players' names")
    players: list[str] = []
    while cursor.peek() != "}" or not players:
        players.append(unquote(cursor.take(TEXT, "a player's name in quotes" + (", or }" if players else ""))))
        if len(players) > MAX_PLAYERS:
            raise fault(cursor.text, cursor.start, f"the game has more than {MAX_PLAYERS} players")
    cursor.take("}", "}")
    comment = unquote(cursor.take(TEXT, "a comment in quotes")) if cursor.peek().startswith('"') else ""
    return {"title": title, "players": tuple(players), "comment": comment}
