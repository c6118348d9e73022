"""Gambit's ``.efg`` files read as game trees."""

import codecs
import os
from typing import Any

from ..errors import GameFileError, shown
from ..game_tree import GameTree
from .efg_nodes import NodeReader
from .efg_tokens import Cursor, fault, unquote
from .files import naming, read_bytes

#: The largest number of players that is read.
MAX_PLAYERS = 1000
# Bytes of memory for each byte of a file, nodes apart: numbers that differ take the most.
_EXPANSION = 32


def read_efg(path: str | os.PathLike[str]) -> GameTree:
    """Read a Gambit ``.efg`` file.

    Parameters
    ----------
    path : path-like
        The file, in UTF-8; where it is none, it is taken for Latin-1, as older programs write it. It is read as
        :func:`parse_efg` reads its text.

    Returns
    -------
    GameTree

    Raises
    ------
    GameFileError
        If the file cannot be read, or something in it is wrong; the error has the line and the column.
    GameTooLargeError
        If it may take more memory than the budget for building a game.
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
        return parse_efg(_decode(content))


def parse_efg(text: str) -> GameTree:
    r"""Read a game tree from text in Gambit's ``.efg`` format.

    Parameters
    ----------
    text : str

    Returns
    -------
    GameTree
        Its nodes are numbered from 0 in the order of the file, which is depth first. ``tree.graph.graph`` holds the
        file's ``"title"``, its ``"comment"`` and the names of its ``"players"``, a tuple; a node has the attribute
        ``name``, and a leaf ``outcome``, where the file's name or outcome's label is not empty.

    Raises
    ------
    GameFileError
        If something in the text is wrong; the error has the line and the column.
    ImperfectRecallError
        If a player forgets.

    Notes
    -----
    The format is that of Gambit's documentation, "The extensive game (.efg) file format", version 2, with ``R`` or
    ``D``. What is not kept as it is:

    - The payoffs of outcomes on a path are added up, and stand on its leaf.
    - Integers become ``int``, decimals and fractions ``Fraction``: all numbers are exact. Those of more than 600 digits
      are refused.
    - An infoset goes by its label if that is not empty and the player's only one of its kind, and by its number, as
      text, if not.
    - Actions of one infoset, or outcomes of one chance node, with the same label or none get ``_1``, ``_2``, … after
      it, as in Gambit.
    - Numbers and labels of chance nodes are left out, and so are those of outcomes that are no leaf's.
    - Chance probabilities may miss a sum of one by 1e-5, and are divided by it.

    What the file defines twice must agree. Unlike Gambit, numbers that differ only in how they are written do agree,
    a plus sign may stand before a number, ``\\`` in a text stands for one backslash, a label may be any text, and
    nothing but blanks may follow the tree.

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
        raise GameFileError(f"{shown(text)} is no text of an .efg file: a str is expected (read_efg takes a path)")
    cursor = Cursor(text, 1 if text.startswith("\ufeff") else 0)
    header = _read_prologue(cursor)
    graph = NodeReader(text, len(header["players"])).read(cursor.position)
    graph.graph.update(header)
    return GameTree(graph)


def _decode(content: bytes) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise GameFileError("the file is in UTF-16, expected UTF-8", line=1, column=1)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _read_prologue(cursor: Cursor) -> dict[str, Any]:
    cursor.word(("EFG",), "EFG, the first word of an extensive game's file")
    cursor.word(("2",), "2, the version of the format")
    cursor.word(("R", "D"), "R or D after the version")
    title = unquote(cursor.string("the game's title in quotes"))
    cursor.word(("{",), "{ and the players' names")
    players: list[str] = []
    while cursor.peek() != "}" or not players:
        players.append(unquote(cursor.string("a player's name in quotes" + (", or }" if players else ""))))
        if len(players) > MAX_PLAYERS:
            raise fault(cursor.text, cursor.start, f"the game has more than {MAX_PLAYERS} players")
    cursor.take()
    comment = unquote(cursor.string("a comment in quotes")) if cursor.peek().startswith('"') else ""
    return {"title": title, "players": tuple(players), "comment": comment}
