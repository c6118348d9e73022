"""Displays of games in notebooks: their sizes, their sources, and a picture of small trees."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ..game import Game
from ..game_tree import GameTree
from ..rules import size_of
from ..sequence_form import SequenceForm
from ..sheet import Row, Sheet, count, several
from .drawing import draw
from .page import Content, code, emphasis, figure_of, prose, sheet_blocks
from .pictures import picture


def tree_blocks(tree: Game | GameTree) -> Iterator[Content]:
    """Return a picture, or nothing if the tree is too large or matplotlib is not installed."""
    with contextlib.suppress(Exception):  # a display must not raise
        yield figure_of(picture(draw(tree), "svg", text=True).decode(), wide=True)


def game_blocks(game: Game) -> Iterator[Content]:
    """Return the sizes of a game, if they are known, and its tree."""
    yield prose(emphasis(game.name), " ", code(game.spec) if game.spec != game.name else None)
    # A display does not build a game only to learn its sizes.
    size: Any = game.__dict__.get("sequence_form") or (None if game.rules is None else size_of(game.rules))
    sizes: list[Row] = []
    if isinstance(size, SequenceForm):
        forms = size.treeplexes
        infosets, sequences = [one.num_infosets for one in forms], [one.num_sequences for one in forms]
        sizes = _sizes(infosets, sequences, size.num_leaves)
    elif size is not None:
        sizes = _sizes(size.infosets, size.sequences, size.leaves)
    rows = [
        Row("players", game.num_players),
        *sizes,
        Row("parameters", [f"{name} = {value}" for name, value in game.parameters.items()], several(str)),
        Row("actions", [f"{word}: {label}" for word, label in game.action_words.items()], several(str)),
        Row("value", game.reference_value, meaning=" to player 0"),
        Row("from", game.citation),
    ]
    yield from sheet_blocks(Sheet(rows))
    yield from tree_blocks(game)


def _sizes(infosets: Sequence[int], sequences: Sequence[int], leaves: int | None) -> list[Row]:
    counts = several(count)
    return [Row("infosets", infosets, counts), Row("sequences", sequences, counts), Row("leaves", leaves, count)]
