"""Games in normal form: Gambit's ``.nfg`` files, and tables of payoffs in ``.csv`` files and declarations."""

import csv
import itertools
import math
import os
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np

from ..errors import GameFileError, GameTooLargeError, InvalidGameError, one_line, shown
from ..game import Game
from ..game_tree import DiGraph, GameTree
from ..polytope import Treeplex
from ..rationals import to_fraction
from ..rules import MAX_PLAYERS
from .efg_text import (
    NUMBER,
    TEXT,
    Cursor,
    distinct_labels,
    fault,
    format_payoff,
    label_text,
    parse_number,
    quote,
    unquote,
)
from .files import check_memory, decoded, naming, read_bytes, write_bytes
from .toml_table import Table

#: The largest number of combinations of strategies that is written.
MAX_WRITTEN = 100_000
# Bytes of memory for each byte of a file, and for each node of the tree.
_EXPANSION, _NODE = 32, 1500
_COUNT = r"\d{1,9}"

_Payoffs = tuple[Any, ...]


def read_nfg(path: str | os.PathLike[str]) -> GameTree:
    """Read a Gambit ``.nfg`` file; see :func:`parse_nfg`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    GameTree

    Raises
    ------
    GameFileError
        If the file cannot be read or is not valid; the error has the line and the column.
    GameTooLargeError
        If it may need more memory than the budget for building a game.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import read_nfg, write_nfg
    >>> write_nfg(load_game("rps"), "rps.nfg")
    >>> read_nfg("rps.nfg")
    GameTree(num_players=2, num_nodes=13)
    """
    content = read_bytes(path, _EXPANSION)
    with naming(path):
        return parse_nfg(decoded(content))


def parse_nfg(text: str) -> GameTree:
    r"""Read a game from text in Gambit's ``.nfg`` format, with payoffs or with outcomes.

    Parameters
    ----------
    text : str

    Returns
    -------
    GameTree
        Players choose in turn, and none sees the others' choices. A player's infoset has the player's name, or ``_``.
        ``tree.graph.graph`` contains the file's ``"title"``, ``"comment"`` and ``"players"``.

    Raises
    ------
    GameFileError
        If the text is not valid; the error has the line and the column.

    Notes
    -----
    The format is described in Gambit's documentation, "The strategic game (.nfg) file format": combinations of
    strategies are listed with the first player's strategy changing fastest. All numbers are exact. Empty or equal names
    of a player's strategies get ``_1``, ``_2``, … appended.

    Examples
    --------
    >>> from treeplex.seqform.interchange import parse_nfg
    >>> tree = parse_nfg(
    ...     'NFG 1 R "Battle of the sexes" { "Ann" "Bob" } { { "opera" "match" } { "opera" "match" } } '
    ...     '"" 2 1 0 0 0 0 1 2'
    ... )
    >>> tree.payoffs(2), tree.action_path(2)
    ((2, 1), ('opera', 'opera'))
    """
    if not isinstance(text, str):
        raise GameFileError(f"{shown(text)} is not the content of an .nfg file, expected a str (read_nfg takes a path)")
    cursor = Cursor(text, 1 if text.startswith("\ufeff") else 0)
    cursor.take("NFG", "NFG at the beginning of an .nfg file")
    cursor.take("1", "1, the version of the format")
    cursor.take("[RD]", "R or D after the version")
    title = unquote(cursor.take(TEXT, "the game's title in quotes"))
    cursor.take(r"\{", "{ and the players' names")
    players = _strings(cursor, "a player's name in quotes")
    if len(players) > MAX_PLAYERS:
        raise fault(text, cursor.start, f"the game has {len(players)} players, expected at most {MAX_PLAYERS}")
    cursor.take(r"\{", "{ and the players' strategies")
    strategies = [_strategies(cursor) for _ in players]
    cursor.take(r"\}", f"}} after the strategies of {len(players)} players")
    comment = unquote(cursor.take(TEXT, "a comment in quotes")) if cursor.peek().startswith('"') else ""
    total = math.prod(map(len, strategies))
    check_memory(total * _NODE)
    read = _by_outcomes if cursor.peek() == "{" else _by_payoffs
    table = read(cursor, len(players), total)
    if cursor.peek():
        raise fault(text, cursor.position, f"expected the end of the file, received {one_line(cursor.peek(), 40)}")
    # The first player's strategy changes fastest in the file, the last player's in the tree.
    order = np.arange(total).reshape([len(names) for names in strategies[::-1]]).T.ravel()
    return strategic_tree(strategies, [table[place] for place in order.tolist()], players, title=title, comment=comment)


def _strings(cursor: Cursor, what: str) -> list[str]:
    """Read strings up to a closing brace."""
    found: list[str] = []
    while cursor.peek() != "}" or not found:
        found.append(unquote(cursor.take(TEXT, what + (", or }" if found else ""))))
    cursor.take(r"\}", "}")
    return found


def _strategies(cursor: Cursor) -> list[str]:
    """Read a player's strategies: names in braces, or their number."""
    if cursor.peek() == "{":
        cursor.take(r"\{", "{")
        return _strings(cursor, "a strategy's name in quotes")
    count = int(cursor.take(_COUNT, "a player's number of strategies, or their names in braces"))
    if not count:
        raise fault(cursor.text, cursor.start, "a player has 0 strategies, expected at least 1")
    check_memory(count * _NODE)
    return [str(number) for number in range(1, count + 1)]


def _number(cursor: Cursor, what: str) -> Any:
    word = cursor.take(NUMBER.pattern, what)
    try:
        return parse_number(word)
    except InvalidGameError as error:
        raise fault(cursor.text, cursor.start, f"{one_line(word, 40)} {error}") from None


def _by_payoffs(cursor: Cursor, num_players: int, total: int) -> list[_Payoffs]:
    """Read the payoffs of all players for every combination of strategies."""
    return [
        tuple(
            _number(cursor, f"the payoff of player {player + 1} in combination {place + 1} of {total}")
            for player in range(num_players)
        )
        for place in range(total)
    ]


def _by_outcomes(cursor: Cursor, num_players: int, total: int) -> list[_Payoffs]:
    """Read the outcomes, and the number of the outcome of every combination; the outcome 0 pays nothing."""
    outcomes: list[_Payoffs] = [(0,) * num_players]
    cursor.take(r"\{", "{")
    while cursor.peek() != "}":
        cursor.take(r"\{", "{ and an outcome, or }")
        if cursor.peek().startswith('"'):
            cursor.take(TEXT, "the outcome's label in quotes")
        paid = []
        for player in range(num_players):
            paid.append(_number(cursor, f"the payoff of player {player + 1} in outcome {len(outcomes)}"))
            if cursor.peek() == ",":
                cursor.take(",", ",")
        outcomes.append(tuple(paid))
        cursor.take(r"\}", f"}} after the payoffs of {num_players} players")
    cursor.take(r"\}", "}")
    table = []
    for place in range(total):
        number = int(cursor.take(_COUNT, f"the outcome of combination {place + 1} of {total}"))
        if number >= len(outcomes):
            raise fault(
                cursor.text, cursor.start, f"there is no outcome {number}, expected at most {len(outcomes) - 1}"
            )
        table.append(outcomes[number])
    return table


def strategic_tree(
    strategies: Sequence[Sequence[str]], table: Sequence[_Payoffs], players: Sequence[str], **about: str
) -> GameTree:
    """Return the tree of a game in normal form.

    Parameters
    ----------
    strategies : sequence of sequence of str
        Each player's strategies.
    table : sequence of tuple
        All players' payoffs for every combination of strategies, the last player's strategy changing fastest.
    players : sequence of str
        The players' names.
    **about
        Further attributes of the graph, such as its title.
    """
    names = [distinct_labels(labels) for labels in strategies]
    graph: DiGraph = nx.DiGraph()
    graph.graph.update(about, players=tuple(players))
    numbers = itertools.count()
    paid = iter(table)

    def add(player: int) -> int:
        node = next(numbers)
        if player == len(names):
            graph.add_node(node, payoffs=next(paid))
            return node
        graph.add_node(node, player=player, infoset=players[player] or "_")
        for label in names[player]:
            graph.add_edge(node, add(player + 1), action=label)
        return node

    add(0)
    return GameTree(graph)


def read_payoff_table(path: str | os.PathLike[str]) -> GameTree:
    r"""Read two players' payoffs from a table in a ``.csv`` file.

    Parameters
    ----------
    path : path-like
        The first row names player 1's strategies, after an empty cell or a title; every other row begins with the name
        of a strategy of player 0. Every other cell contains the payoffs of both players, with a blank between them, or
        that of player 0 if the game is zero-sum.

    Returns
    -------
    GameTree
        Players choose in turn, and player 1 does not see the choice.

    Raises
    ------
    GameFileError
        If the file cannot be read or is not such a table; the error has the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from treeplex.seqform.interchange import read_payoff_table
    >>> _ = Path("sexes.csv").write_text(",opera,match\nopera,2 1,0 0\nmatch,0 0,1 2\n")
    >>> read_payoff_table("sexes.csv").payoffs(6)
    (1, 2)
    """
    content = read_bytes(path, _EXPANSION)
    with naming(path):
        rows = list(csv.reader(decoded(content).removeprefix("\ufeff").splitlines()))
        filled = [(line, row) for line, row in enumerate(rows, start=1) if any(cell.strip() for cell in row)]
        if len(filled) < 2 or len(filled[0][1]) < 2:
            raise GameFileError(
                "it has no table of payoffs, expected a row with the names of player 1's strategies after an empty "
                "cell, and a row for each strategy of player 0",
                line=1,
            )
        (_, heading), *body = filled
        check_memory(sum(map(len, rows)) * _NODE)
        table = []
        for line, row in body:
            if len(row) != len(heading):
                raise GameFileError(f"the row has {len(row)} cells, expected {len(heading)}", line=line)
            table += [_cell(cell, line, column) for column, cell in enumerate(row[1:], start=2)]
        return strategic_tree(
            [[row[0].strip() for _, row in body], [cell.strip() for cell in heading[1:]]],
            table,
            ("row", "column"),
            title=heading[0].strip(),
        )


def _cell(cell: str, line: int, column: int) -> _Payoffs:
    """Return the payoffs in a cell."""
    words = re.split(r"[\s;,]+", cell.strip())
    if len(words) in (1, 2) and all(NUMBER.fullmatch(word) for word in words):
        try:
            paid = [parse_number(word) for word in words]
        except InvalidGameError as error:
            raise GameFileError(f"cell {column}: {one_line(cell, 40)} {error}", line=line) from None
        return (paid[0], paid[1] if len(paid) == 2 else -paid[0])
    raise GameFileError(
        f"cell {column} is {shown(cell.strip(), 40)}, expected the payoffs of both players, such as '2 1', or that of "
        "player 0",
        line=line,
    )


#: The keys of a declaration of payoffs.
KEYS = ("title", "players", "rows", "columns", "payoffs", "column_payoffs")


def declared_payoffs(declared: Table) -> GameTree:
    """Return the game of a declaration: two matrices, and optionally names.

    Parameters
    ----------
    declared : Table
        ``payoffs`` and ``column_payoffs`` contain the rows of the players' matrices; without the latter, the game is
        zero-sum. Entries are numbers, or strings such as ``"1/3"``. ``rows``, ``columns`` and ``players`` contain
        names.

    Raises
    ------
    InvalidGameError
        If a key or a value is wrong.

    Examples
    --------
    >>> from treeplex.seqform.interchange.normal_form import declared_payoffs
    >>> from treeplex.seqform.interchange.toml_table import Table
    >>> declared_payoffs(Table({"payoffs": [[3, 0], [5, 1]], "column_payoffs": [[3, 5], [0, 1]]})).payoffs(2)
    (3, 3)
    """
    declared.check_keys(KEYS)
    first = _matrix(declared, "payoffs")
    second = [[-one for one in row] for row in first]
    if "column_payoffs" in declared:
        second = _matrix(declared, "column_payoffs", (len(first), len(first[0])))
    rows, columns = (
        _names(declared, key, [str(number) for number in range(count)])
        for key, count in (("rows", len(first)), ("columns", len(first[0])))
    )
    pairs = [zip(one, other, strict=True) for one, other in zip(first, second, strict=True)]
    players = _names(declared, "players", ["row", "column"])
    title = str(declared.values.get("title", ""))
    return strategic_tree([rows, columns], list(itertools.chain(*pairs)), players, title=title)


def _matrix(declared: Table, key: str, shape: tuple[int, int] | None = None) -> list[list[Any]]:
    """Return a matrix of exact numbers; of any shape by default."""
    given = declared.needs(key, "the rows of a matrix, such as [[2, 0], [0, 1]]")
    if not (isinstance(given, list) and given and all(isinstance(row, list) and row for row in given)):
        received = shown(given, 40)
        raise declared.error(f"{key} is {received}, expected the rows of a matrix, such as [[2, 0], [0, 1]]", key)
    rows, columns = shape or (len(given), len(given[0]))
    if len(given) != rows:
        raise declared.error(f"{key} has {len(given)} rows, expected {rows}, as many as payoffs", key)
    for number, row in enumerate(given, start=1):
        if len(row) != columns:
            raise declared.error(f"{key}: row {number} has {len(row)} entries, expected {columns}", key)
        for one in row:
            if isinstance(one, bool) or not NUMBER.fullmatch(str(one).strip()):
                raise declared.error(f"{key}: {shown(one, 40)} in row {number} is not a number", key)
    with declared.about(key):
        return [[parse_number(str(one).strip()) for one in row] for row in given]


def _names(declared: Table, key: str, usual: list[str]) -> list[str]:
    given = declared.values.get(key, usual)
    if not (isinstance(given, list) and len(given) == len(usual) and all(isinstance(one, str) for one in given)):
        raise declared.error(f"{key} is {shown(given, 60)}, expected a list of {len(usual)} names", key)
    return given


def write_nfg(tree: GameTree | Game, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write the reduced normal form of a game to a Gambit ``.nfg`` file; see :func:`format_nfg`.

    Parameters
    ----------
    tree : GameTree or Game
    path : path-like
        An existing file is replaced only when the new one is complete.
    title : str, optional
        The game's title; by default the tree's, or the game's name.

    Raises
    ------
    GameTooLargeError
        If there are more than 100,000 combinations of strategies.
    GameFileError
        If the file cannot be written.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import write_nfg
    >>> write_nfg(load_game("matching_pennies"), "pennies.nfg")
    """
    write_bytes(path, format_nfg(tree, title=title).encode())


def format_nfg(tree: GameTree | Game, *, title: str | None = None) -> str:
    """Return the reduced normal form of a game in Gambit's ``.nfg`` format, with payoffs.

    Parameters
    ----------
    tree : GameTree or Game
    title : str, optional
        The game's title; by default the tree's, or the game's name.

    Returns
    -------
    str
        A strategy is named by its actions at the infosets that it can reach, separated by spaces.

    Raises
    ------
    GameTooLargeError
        If there are more than 100,000 combinations of strategies.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import format_nfg
    >>> print(format_nfg(load_game("matching_pennies"), title="Pennies"))
    NFG 1 R "Pennies" { "Player 1" "Player 2" }
    { { "H" "T" } { "H" "T" } }
    <BLANKLINE>
    1 -1
    -1 1
    -1 1
    1 -1
    <BLANKLINE>
    """
    game = tree if isinstance(tree, Game) else Game.from_tree(tree)
    about = {} if game.rules is None else getattr(getattr(game, "tree", None), "graph", nx.DiGraph()).graph
    form = game.sequence_form if game.rules is None else game.exact_sequence_form
    plans: list[list[frozenset[int]]] = []
    for treeplex in form.treeplexes:
        pure = _pure_plans(treeplex, MAX_WRITTEN // math.prod(map(len, plans)))
        if pure is None:
            raise GameTooLargeError(
                f"the normal form of {game.spec} has more than {MAX_WRITTEN:,} combinations of strategies: "
                "write it as .efg"
            )
        plans.append(pure)
    names = about.get("players") or [f"Player {number + 1}" for number in range(form.num_players)]
    shown_title = title if title is not None else about.get("title") or game.spec
    lines = [f"NFG 1 R {quote(label_text(shown_title))} {{ {' '.join(map(quote, names))} }}"]
    labels = [
        distinct_labels([_strategy_name(treeplex, plan) for plan in chosen])
        for treeplex, chosen in zip(form.treeplexes, plans, strict=True)
    ]
    lines += [f"{{ {' '.join('{ ' + ' '.join(map(quote, one)) + ' }' for one in labels)} }}", ""]
    payoffs = [_entries(game, player) for player in range(form.num_players)]
    for combination in itertools.product(*plans[::-1]):
        chosen = combination[::-1]
        totals = [
            sum((value for key, value in entries if all(map(frozenset.__contains__, chosen, key))), Fraction(0))
            for entries in payoffs
        ]
        lines.append(" ".join(map(format_payoff, totals)))
    return "\n".join([*lines, ""])


def _entries(game: Game, player: int) -> list[tuple[tuple[int, ...], Fraction]]:
    """Return a player's payoffs by sequences of all players, multiplied by chance."""
    if game.rules is not None:
        return list(game.exact_sequence_form.exact_payoffs(player).items())
    matrix = game.sequence_form.payoff_matrix(player).tocoo()
    keys = zip(*(coordinates.tolist() for coordinates in matrix.coords), strict=True)
    return [(key, to_fraction(value)) for key, value in zip(keys, matrix.data.tolist(), strict=True)]


def _pure_plans(treeplex: Treeplex, most: int) -> list[frozenset[int]] | None:
    """Return the sets of sequences that a player's pure strategies play; ``None`` if there are more than `most`."""
    plans = [frozenset({0})]
    for infoset, parent in enumerate(treeplex.parents.tolist()):
        here = range(treeplex.offsets[infoset], treeplex.offsets[infoset + 1])
        plans = [made for plan in plans for made in ([plan | {one} for one in here] if parent in plan else [plan])]
        if len(plans) > most:
            return None
    return plans


def _strategy_name(treeplex: Treeplex, plan: frozenset[int]) -> str:
    labels = (treeplex.sequence_label(sequence) for sequence in sorted(plan))
    return " ".join(label_text(label[1]) for label in labels if label is not None)
