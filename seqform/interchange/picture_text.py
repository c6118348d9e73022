"""What pictures of game trees write on nodes and edges, and in which colours."""

from collections.abc import Hashable
from fractions import Fraction
from numbers import Integral
from typing import Any

from ..errors import one_line
from ..game_tree import GameTree
from ..rules import CHANCE

#: Okabe and Ito's colours, which the colour-blind tell apart; players beyond the last begin again.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9")
CHANCE_COLOUR = "#666666"

#: Characters of a label that a picture shows.
MAX_LABEL = 24


def colour_of(player: int) -> str:
    """Return a player's colour, or chance's."""
    return CHANCE_COLOUR if player == CHANCE else _COLOURS[player % len(_COLOURS)]


def label_text(label: object) -> str:
    """Return a label on one line, its end cut off if it is long."""
    return one_line(label if isinstance(label, str) else _written(label), MAX_LABEL)


def _written(label: object) -> str:
    try:
        return str(label)
    except ValueError:  # an integer of thousands of digits
        return f"a {type(label).__name__}"


def number_text(number: Any) -> str:
    """Return a number in few characters, with a minus sign rather than a hyphen.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from treeplex.seqform.interchange.picture_text import number_text
    >>> number_text(Fraction(-1, 3)), number_text(0.123456)
    ('−1/3', '0.1235')
    """
    exact = isinstance(number, Integral | Fraction)
    short = exact and abs(number.numerator) < 10**6 and number.denominator < 10**6
    return (str(number) if short else f"{float(number):.4g}").replace("-", "−")


def edge_text(edge: dict[str, Any]) -> str:
    """Return an edge's action, with its probability below chance."""
    text = label_text(edge["action"])
    return f"{text} ({number_text(edge['prob'])})" if "prob" in edge else text


def infoset_members(tree: GameTree) -> dict[tuple[int, Hashable], list[Hashable]]:
    """Return the nodes of every infoset, by player and label, in the order of a depth-first walk."""
    members: dict[tuple[int, Hashable], list[Hashable]] = {}
    stack = [tree.root]
    while stack:
        node = stack.pop()
        attributes = tree.graph.nodes[node]
        if attributes.get("player", CHANCE) != CHANCE:
            members.setdefault((int(attributes["player"]), attributes["infoset"]), []).append(node)
        stack.extend(reversed(list(tree.graph.adj[node])))
    return members
