"""The writer of Gambit's ``.efg`` files."""

import os
from collections.abc import Hashable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ..game import Game, tree_of
from ..game_tree import GameTree
from ..rules import CHANCE
from .efg_text import distinct_labels, exact_number, format_payoff, infoset_labels, label_text, quote
from .files import write_bytes


def write_efg(tree: GameTree | Game, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write a game tree to a Gambit ``.efg`` file, in UTF-8; see :func:`format_efg`.

    Parameters
    ----------
    tree : GameTree or Game
    path : path-like
        An existing file is replaced only when the new one is complete.
    title : str, optional
        The game's title; by default the tree's.

    Raises
    ------
    InvalidGameError
        If `tree` is not a tree, or contains a number of more than 600 digits.
    GameFileError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange.efg_writer import write_efg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "kuhn.efg"
    ...     write_efg(load_game("kuhn").tree, path, title="Kuhn poker")
    ...     path.read_text().splitlines()[0]
    'EFG 2 R "Kuhn poker" { "Player 1" "Player 2" }'
    """
    write_bytes(path, format_efg(tree, title=title).encode())


def format_efg(tree: GameTree | Game, *, title: str | None = None) -> str:
    """Return a game tree in Gambit's ``.efg`` format.

    Parameters
    ----------
    tree : GameTree or Game
        The title, the comment and the players' names come from ``tree.graph.graph`` under ``"title"``, ``"comment"``
        and ``"players"``. The names of nodes and outcomes come from their attributes ``name`` and ``outcome``. Values
        that are not strings are ignored.
    title : str, optional
        The game's title; by default the tree's, or the game's name if the tree has none.

    Returns
    -------
    str
        One line per node. :func:`~treeplex.seqform.interchange.efg_reader.parse_efg` reads the same game from it, and
        writing that game gives the same text again.

    Raises
    ------
    InvalidGameError
        If `tree` is not a tree, or contains a number of more than 600 digits.

    Notes
    -----
    - Labels become strings. Infosets whose strings are empty or equal are named by their numbers; such actions get
      ``_1``, ``_2``, … appended. Gambit, since version 16.7, accepts only labels of printable ASCII characters without
      leading, trailing or double spaces.
    - Payoffs are written as integers, as the shortest decimal that rounds to a float, or as fractions; see
      :func:`~treeplex.seqform.interchange.efg_text.format_payoff`. Chance probabilities are written as fractions and
      divided by their sum, because Gambit requires a sum of exactly one.
    - Equal payoffs with the same name form one outcome. Each chance node has an infoset of its own.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange.efg_writer import format_efg
    >>> print(format_efg(load_game("matching_pennies").tree, title="Pennies"))
    EFG 2 R "Pennies" { "Player 1" "Player 2" }
    ...
    """
    game = tree if isinstance(tree, Game) else None
    tree = tree_of(tree)
    if title is None and game is not None and "title" not in tree.graph.graph:
        title = game.spec
    return _TreeWriter(tree).text(title)


class _TreeWriter:
    def __init__(self, tree: GameTree) -> None:
        self.tree = tree
        # The key includes the type: 0.1 equals a fraction with 17 digits, and is written as 0.1.
        self.payoff_text = lru_cache(maxsize=None, typed=True)(format_payoff)
        self.outcomes: dict[str, int] = {}
        #: By player and label: number, label and actions as they are written.
        self.infosets: list[dict[Hashable, str]] = []
        for treeplex in tree.enumeration.treeplexes:
            numbers = range(1, treeplex.num_infosets + 1)
            labels = infoset_labels([label_text(label) for label in treeplex.infoset_labels], numbers)
            actions = [_action_texts(labels) for labels in treeplex.action_labels]
            self.infosets.append(
                {
                    key: f"{number} {quote(label)} {{ {' '.join(names)} }}"
                    for key, number, label, names in zip(treeplex.infoset_labels, numbers, labels, actions, strict=True)
                }
            )

    def text(self, title: str | None) -> str:
        lines = self._prologue(title)
        attributes_of, followers_of = self.tree.graph.nodes, dict(self.tree.graph.adjacency())
        num_chance_nodes = 0
        stack: list[Hashable] = [self.tree.root]
        while stack:
            node = stack.pop()
            attributes = attributes_of[node]
            name = _quoted_text(attributes.get("name"))
            followers = followers_of[node]
            if not followers:
                lines.append(f"t {name} {self._outcome(node, attributes)}")
                continue
            who = attributes["player"]
            if who == CHANCE:
                num_chance_nodes += 1
                lines.append(f'c {name} {num_chance_nodes} "" {self._chances(node)} 0')
            else:
                lines.append(f"p {name} {who + 1} {self.infosets[who][attributes['infoset']]} 0")
            stack.extend(reversed(followers))
        lines.append("")
        return "\n".join(lines)

    def _prologue(self, title: str | None) -> list[str]:
        about = self.tree.graph.graph
        names = about.get("players")
        if (
            not isinstance(names, list | tuple)
            or len(names) != self.tree.num_players
            or not all(isinstance(name, str) for name in names)
        ):
            names = [f"Player {number + 1}" for number in range(self.tree.num_players)]
        title = _quoted_text(about.get("title") if title is None else title)
        lines = [f"EFG 2 R {title} {{ {' '.join(map(_quoted_text, names))} }}"]
        comment = _quoted_text(about.get("comment"))
        return [*lines, comment, ""] if comment != '""' else [*lines, ""]

    def _outcome(self, node: Hashable, attributes: dict[str, Any]) -> str:
        payoffs = ", ".join(map(self.payoff_text, self.tree.payoffs(node)))
        outcome = f"{_quoted_text(attributes.get('outcome'))} {{ {payoffs} }}"
        return f"{self.outcomes.setdefault(outcome, len(self.outcomes) + 1)} {outcome}"

    def _chances(self, node: Hashable) -> str:
        outcomes = self.tree.chance_outcomes(node)
        probabilities = [exact_number(probability) for _, probability in outcomes]
        total = sum(probabilities, Fraction(0))
        labels = _action_texts([label for label, _ in outcomes])
        shares = [exact_number(probability / total) for probability in probabilities]
        return f"{{ {' '.join(f'{label} {share}' for label, share in zip(labels, shares, strict=True))} }}"


def _action_texts(labels: Iterable[Hashable]) -> list[str]:
    return [quote(label) for label in distinct_labels([label_text(label) for label in labels])]


def _quoted_text(text: Any) -> str:
    """Return a string in quotes; any other value becomes an empty string."""
    return quote(label_text(text)) if text.__class__ is str and text else '""'
