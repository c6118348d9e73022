"""Game trees as DOT, the language of Graphviz."""

import itertools
from pathlib import Path

from ..game import Game, tree_of
from ..game_tree import GameTree
from ..rules import CHANCE
from .files import write_bytes
from .picture_text import CHANCE_COLOUR, colour_of, edge_text, infoset_members, label_text, number_text


def format_dot(tree: GameTree | Game) -> str:
    """Return a game tree in DOT: ``dot -Tsvg`` draws it.

    Parameters
    ----------
    tree : GameTree or Game

    Returns
    -------
    str
        Decisions are boxes in their player's colour with the infoset's label, chance nodes are diamonds, leaves show
        their payoffs. Dashed lines join the nodes of an infoset.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange.dot import format_dot
    >>> print(format_dot(load_game("matching_pennies").tree))
    digraph game {
      graph [ordering=out, ranksep=0.6];
      node [shape=box, style=rounded, fontname="Helvetica", fontsize=11, height=0.3, width=0.3];
      edge [arrowhead=none, color="#999999", fontname="Helvetica", fontsize=10];
      n0 [label="_", tooltip="player 0", color="#0072B2", fontcolor="#0072B2"];
      n1 [label="_", tooltip="player 1", color="#D55E00", fontcolor="#D55E00"];
      n2 [label="1, −1", shape=plaintext];
      n3 [label="−1, 1", shape=plaintext];
      n4 [label="_", tooltip="player 1", color="#D55E00", fontcolor="#D55E00"];
      n5 [label="−1, 1", shape=plaintext];
      n6 [label="1, −1", shape=plaintext];
      n0 -> n1 [label="H"];
      n0 -> n4 [label="T"];
      n1 -> n2 [label="H"];
      n1 -> n3 [label="T"];
      n4 -> n5 [label="H"];
      n4 -> n6 [label="T"];
      n1 -> n4 [style=dashed, constraint=false, color="#D55E00"];
    }
    <BLANKLINE>
    """
    tree = tree_of(tree)
    numbers = {node: number for number, node in enumerate(tree.graph)}
    lines = [
        "digraph game {",
        "  graph [ordering=out, ranksep=0.6];",
        '  node [shape=box, style=rounded, fontname="Helvetica", fontsize=11, height=0.3, width=0.3];',
        '  edge [arrowhead=none, color="#999999", fontname="Helvetica", fontsize=10];',
    ]
    for node, attributes in tree.graph.nodes(data=True):
        who = attributes.get("player")
        if who is None:
            shown = f"label={_quoted(', '.join(map(number_text, tree.payoffs(node))))}, shape=plaintext"
        elif who == CHANCE:
            shown = f'label="", tooltip="chance", shape=diamond, style=solid, color="{CHANCE_COLOUR}"'
        else:
            colour = colour_of(who)
            label = _quoted(label_text(attributes["infoset"]))
            shown = f'label={label}, tooltip="player {who}", color="{colour}", fontcolor="{colour}"'
        lines.append(f"  n{numbers[node]} [{shown}];")
    for source, target, edge in tree.graph.edges(data=True):
        lines.append(f"  n{numbers[source]} -> n{numbers[target]} [label={_quoted(edge_text(edge))}];")
    for (player, _), nodes in infoset_members(tree).items():
        lines.extend(
            f'  n{numbers[one]} -> n{numbers[other]} [style=dashed, constraint=false, color="{colour_of(player)}"];'
            for one, other in itertools.pairwise(nodes)
        )
    return "\n".join([*lines, "}", ""])


def write_dot(tree: GameTree | Game, path: str | Path) -> None:
    """Write a game tree in DOT, whole or not at all; see :func:`format_dot`.

    Raises
    ------
    GameFileError
        If the file cannot be written.
    """
    write_bytes(path, format_dot(tree).encode(errors="replace"))


def _quoted(text: str) -> str:
    r"""Return a text in quotes as DOT reads it: a backslash would begin an escape such as ``\n``."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
